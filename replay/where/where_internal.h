/* SPDX-License-Identifier: Apache-2.0 */
/* Between where_parse.c, which reads a condition, and where.c, which looks whether it holds. */
#ifndef GPUREC_REPLAY_WHERE_WHERE_INTERNAL_H
#define GPUREC_REPLAY_WHERE_WHERE_INTERNAL_H

#include "replay/where/where.h"

enum where_op { WHERE_EQ, WHERE_NE, WHERE_LT, WHERE_LE, WHERE_GT, WHERE_GE, WHERE_HAS };

/* What a value looks like, and so what it can be compared with. */
enum where_form { WHERE_NUMBER, WHERE_DURATION, WHERE_SIZE, WHERE_WORD };

/* A number beyond both int64_t and uint64_t: values of signed and unsigned fields compare as what they are. */
__extension__ typedef __int128 where_number;

/* How a term is decided for events of one kind. */
enum where_way {
	WAY_NEVER,  /* the kind has no such field */
	WAY_ALWAYS, /* the kind's name decides */
	WAY_UINT,   /* field `field` against `value` */
	WAY_SINT,
	WAY_TEXT,    /* its bytes */
	WAY_PROBE,   /* the probe's name: term's `probes` */
	WAY_STATE,   /* the kernel's state bits, in a word */
	WAY_THREAD,  /* name of the thread whose id the field holds */
	WAY_PROCESS, /* name of the process; of the process of the thread, if the field is a thread's id */
};

struct where_bound {
	uint8_t way;
	uint8_t field;
	bool is_tid; /* WAY_PROCESS */
	where_number value;
};

struct where_term {
	char kind[NAME_MAX_BYTES + 1]; /* "" if the name was not KIND.FIELD */
	char name[NAME_MAX_BYTES + 1];
	size_t name_at, op_at, value_at; /* in the text, for messages */
	enum where_op op;
	enum where_form form;
	where_number value; /* ns, bytes or plain */
	char *word;         /* WHERE_WORD: word_len bytes and a NUL */
	size_t word_len;
	char *shown; /* the word as names are kept: escaped for a terminal */

	struct where_bound *bound; /* by the kind's place in the schema */
	uint8_t *probes;           /* a bit for each probe id whose name fits; NULL: not needed */
};

enum where_node_type { NODE_TERM, NODE_AND, NODE_OR, NODE_NOT };

struct where_node {
	uint8_t type;
	uint16_t a, b; /* nodes; of NODE_TERM a is the term */
};

#define WHERE_NODES_MAX (2 * WHERE_TERMS_MAX + WHERE_TERMS_MAX * WHERE_DEPTH_MAX)

struct where {
	char text[WHERE_TEXT_MAX + 1];
	struct where_term terms[WHERE_TERMS_MAX];
	size_t nterms;
	struct where_node nodes[WHERE_NODES_MAX];
	size_t nnodes;
	uint16_t root;
	const struct schema *schema; /* bound to; NULL: not yet */
};

#endif
