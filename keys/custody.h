/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Custody: who had a capture, when, and what was done to it. CAPTURE.custody holds one signed line for each act, each
 * linked to the line before by its hash. docs/CUSTODY.md is normative for the format, and shows what it proves.
 *
 * A line names the capture by its id, by the hash of its END (or last seal), which narrowing leaves as it is, and by a
 * hash of the very bytes, which narrowing changes.
 */
#ifndef GPUREC_KEYS_CUSTODY_H
#define GPUREC_KEYS_CUSTODY_H

#include <limits.h>

#include "keys/evidence.h"
#include "keys/minisign.h"

#define CUSTODY_SUFFIX ".custody"
#define CUSTODY_WHO_MAX 256     /* bytes of a name, 1 at least */
#define CUSTODY_NOTE_MAX 1024   /* bytes of a reason */
#define CUSTODY_LINE_MAX 8192   /* bytes of a line with its newline: more than the two above can take */
#define CUSTODY_LINES_MAX 10000 /* acts */
#define CUSTODY_FILE_MAX (64u << 20)

/* What was done. */
#define CUSTODY_ACTIONS(X) X(recorded) X(verified) X(transferred) X(narrowed) X(received) X(archived)
enum custody_action {
#define CUSTODY_ACTION_ENUM(name) CUSTODY_##name,
	CUSTODY_ACTIONS(CUSTODY_ACTION_ENUM)
#undef CUSTODY_ACTION_ENUM
		CUSTODY_NACTIONS
};

const char *custody_action_word(enum custody_action a);
/* ERR_INPUT with a sentence that lists the words. */
int custody_action_parse(enum custody_action *a, const char *word, struct fault *why);

/* One act. Texts are anybody's bytes but NUL: escape them before they are shown. */
struct custody_line {
	unsigned version;             /* 2; 1: signed by plain Ed25519 */
	uint64_t number;              /* from 1 */
	uint8_t previous[HASH_BYTES]; /* hash of the line before; of the first: custody_start() */
	uint8_t capture_id[CAPTURE_ID_BYTES];
	enum custody_action action;
	uint8_t seal[HASH_BYTES]; /* hash of END; without END of the last seal; without any, of the header */
	uint8_t file[HASH_BYTES]; /* BLAKE2b-256 of the capture's file, as `b2sum -l 256` prints it */
	enum verdict verdict;     /* that was given then: authentic, or UNSEALED or UNTRUSTED */
	int64_t time_s;           /* since 1970, by the clock of who signs */
	char who[CUSTODY_WHO_MAX + 1];
	char note[CUSTODY_NOTE_MAX + 1]; /* may be empty */
	struct public_key key;           /* of who signs: a hint, no reason to trust */
	uint8_t signature[SIGNATURE_BYTES];
	uint8_t hash[HASH_BYTES]; /* of the line; not in its text */
};

/* What the first line of a capture's chain names as the hash before it. */
void custody_start(uint8_t hash[HASH_BYTES], const uint8_t capture_id[CAPTURE_ID_BYTES]);
/* Fill l->key, l->hash and l->signature. */
void custody_line_sign(struct custody_line *l, const struct identity *id);
bool custody_line_signed(const struct custody_line *l);
/* The line with its newline into buf; returns its length. */
size_t custody_line_format(char buf[CUSTODY_LINE_MAX], const struct custody_line *l);
/*
 * From text without its newline; l->hash is made from the text. ERR_FORMAT: it is not written as docs/CUSTODY.md says;
 * ERR_VERSION: a later version's line.
 */
int custody_line_parse(struct custody_line *l, const char *text, size_t len, struct fault *why);

/* How a chain stands, but for trust in those who signed. */
enum custody_state {
	CUSTODY_INTACT,
	CUSTODY_UNCHECKED, /* a line of a later version, or no memory */
	CUSTODY_CUT,       /* ends inside a line */
	CUSTODY_MISSING,   /* a line between others, the first, or all are missing */
	CUSTODY_REORDERED, /* all lines, not in their order */
	CUSTODY_FORGED,    /* a line was altered, or put there from elsewhere */
	CUSTODY_OTHER,     /* of another capture, or of more than is left of this one */
	CUSTODY_MALFORMED, /* a line is none */
};
const char *custody_state_word(enum custody_state s); /* "INTACT", ... */

struct custody {
	struct custody_line *lines; /* up to the first that cannot be parsed */
	size_t nlines;
	size_t cut_bytes; /* of a last line that is not whole */
	enum custody_state state;
	struct fault why; /* unless INTACT */
};

/* The capture that a chain should be of: what of it is authentic. */
struct custody_subject {
	const struct reader *reader;
	uint64_t nepochs;
	bool ended;
};
struct custody_subject custody_subject_of(const struct evidence *e);
/* The hash that an act on it names now. */
const uint8_t *custody_subject_seal(const struct custody_subject *s);

/* "CAPTURE.custody". ERR_INPUT: too long. */
int custody_path(char path[PATH_MAX], const char *capture, struct fault *why);

/* Parse and judge bytes in memory. *c is filled in every case; the caller clears it. */
void custody_judge(struct custody *c, const char *text, size_t len, const struct custody_subject *s);
/* The same of a file: 1; or 0 when there is none, *c then being zero. ERR_IO, ERR_DENIED, ERR_INPUT (no such file). */
int custody_read(struct custody *c, const char *path, const struct custody_subject *s, struct fault *why);
void custody_clear(struct custody *c);
/* Whether a line has this hash. */
bool custody_has(const struct custody *c, const uint8_t hash[HASH_BYTES]);

/*
 * Add an act, on disk when it returns: number, previous, key, signature and hash of *l are filled in. A chain that is
 * not INTACT is never extended: ERR_FORGED with its fault; a file without a byte is begun. What is written is one line
 * or nothing, but for a crash, which leaves a cut line. Two that append at once do so one after the other.
 * ERR_INPUT: too many lines, a text that cannot be written, a link; ERR_IO, ERR_DENIED, ERR_MEMORY.
 */
int custody_append(const char *path, struct custody_line *l, const struct custody_subject *s, const struct identity *id,
		   struct fault *why);

/*
 * For who narrows a capture, with no key at hand: copy FROM.custody to TO.custody, as it stands. 1; 0 when there is
 * none; ERR_EXISTS unless `replace`.
 */
int custody_copy(const char *from, const char *to, bool replace, struct fault *why);

/* Whether any of class `host` was withheld: then no line should say what was taken out. */
bool custody_host_withheld(const struct evidence *e);
/* The first act by somebody at a host ("user@host"), or NULL. */
const struct custody_line *custody_with_host(const struct custody *c);

/* BLAKE2b-256 of a file. */
int custody_hash_file(uint8_t hash[HASH_BYTES], const struct source *source, struct fault *why);

/* An act on a capture that was judged: the arguments of gpukey and gpuverify. */
struct custody_request {
	enum custody_action action;
	const char *who;  /* NULL: user@host; only the user if class `host` was withheld */
	const char *note; /* NULL: none */
	const char *path; /* of the chain */
};
/*
 * Write the act into the chain, with the verdict that is in *e; *l is then the line. ERR_FORGED: of such a capture
 * nothing is recorded, or the chain is not intact; else as custody_append().
 */
int custody_record(const struct custody_request *q, const struct evidence *e, const struct identity *id,
		   struct custody_line *l, struct fault *why);

#endif
