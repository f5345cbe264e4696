/* SPDX-License-Identifier: Apache-2.0 */
/* A capture's chain of custody, checked, its signers looked up, in words and in JSON. */
#ifndef GPUREC_REPLAY_VERIFY_CUSTODY_CHECK_H
#define GPUREC_REPLAY_VERIFY_CUSTODY_CHECK_H

#include <stdio.h>

#include "format/base/json.h"
#include "keys/custody.h"

struct chain_options {
	const char *path;    /* --custody-file: it must be there; NULL: CAPTURE.custody, which need not */
	const uint8_t *head; /* --custody-head: HASH_BYTES of a line that must be in it; NULL: none asked for */
	const struct evidence_options *trust;
};

struct chain {
	bool asked;                 /* a chain is there, or should be: there is something to report */
	struct custody custody;     /* what is wrong by trust or --custody-head is in here, too */
	bool untrusted;             /* INTACT, but a line is signed by a key that is not trusted here */
	struct trust_answer *trust; /* for each line */
	bool same_file;             /* the capture has the very bytes that the last line names */
	int64_t begun_s;            /* when recording began by the wall clock, seconds since 1970 */
};

/*
 * Read and check; *c is to be cleared in every case. e->readable. Negative for what cannot be read: ERR_IO, ERR_DENIED,
 * ERR_INPUT, ERR_KEY, ERR_MEMORY.
 */
int chain_check(struct chain *c, const char *capture, const struct evidence *e, const struct chain_options *o,
		struct fault *why);
void chain_clear(struct chain *c);

/* As which verdict it counts, when the worst of several is looked for: OK, UNCHECKED, UNTRUSTED or FORGED. */
enum verdict chain_verdict(const struct chain *c);
/* One sentence: "FORGED: line 3: ...", "INTACT: 3 acts". */
void chain_sentence(const struct chain *c, char *buf, size_t size);

/* Lines of gpuverify's block; nothing if there is no chain. */
void chain_print(FILE *f, const struct chain *c);
/* The member "custody"; nothing if there is no chain. */
void chain_json(struct json *j, const struct chain *c);

#endif
