/* SPDX-License-Identifier: Apache-2.0 */
/* The verdict on a capture, but for trust in its signer (keys/evidence.h adds that). */
#ifndef GPUREC_FORMAT_VERIFY_H
#define GPUREC_FORMAT_VERIFY_H

#include "format/reader.h"

/* Ascending in how bad they are. */
enum verdict {
	VERDICT_OK = 0,
	VERDICT_OK_SLICE,    /* authentic; events before or after an interval are withheld */
	VERDICT_OK_REDACTED, /* authentic; other content is withheld */
	VERDICT_UNCHECKED,   /* could not be checked: I/O, memory, version */
	VERDICT_UNSEALED,
	VERDICT_UNTRUSTED, /* never given by verify() itself */
	VERDICT_MALFORMED,
	VERDICT_FORGED,
};

/* How far to look. Signatures, hash chain, clocks, counters and END are checked in any case. */
enum verify_scope {
	VERIFY_ROWS = 0, /* all: every byte is what was sealed, every row decodes and is what its seal counts */
	VERIFY_BYTES,    /* every byte is what was sealed: what a plain signature proves. Rows are not decoded */
	VERIFY_SEALS,    /* no chunk is read: for a reader that checks each against its commitment as it comes to it */
};

struct verification {
	enum verdict verdict;
	enum verify_scope scope;
	struct fault why;   /* for all but the OK ones */
	uint64_t nepochs;   /* that are sealed and authentic, from the start */
	uint64_t end_ns;    /* boot clock, end of the last authentic epoch; start_boot_ns if none */
	uint64_t nevents;   /* rows in them, withheld ones too */
	uint64_t nwithheld; /* chunks withheld in them */
	uint64_t nlost;     /* LOST counters of the last authentic seal or END */
};

/*
 * Check signatures, hash chain, commitments and the content of every chunk, on `nthreads` threads (0: as many as there
 * are CPUs that this process may use). Always fills *v; for a capture that reader_open() refused, use
 * verification_refused().
 */
void verify(const struct reader *r, unsigned nthreads, struct verification *v);
void verify_within(const struct reader *r, enum verify_scope scope, unsigned nthreads, struct verification *v);

/* The same; `progress` (NULL: none) is called by this thread now and then: so many epochs were handed out. */
void verify_watched(const struct reader *r, enum verify_scope scope, unsigned nthreads,
		    void (*progress)(uint64_t epoch, uint64_t nepochs), struct verification *v);

/* The verification of a file whose header cannot be read, from the fault that said so. */
void verification_refused(struct verification *v, const struct fault *why);

const char *verdict_word(enum verdict v); /* "OK", "OK-SLICE", ... */
int verdict_exit_status(enum verdict v);  /* 0, 0, 0, 3, 5, 6, 4, 1 */

#endif
