/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a capture: rows are staged, an epoch at a time is sealed and put on disk. Append only.
 *
 *	writer_open → (writer_add* → writer_seal)* → writer_end → writer_close
 *
 * and, where another capture continues it, writer_prepare_end → writer_continue → writer_put_end for the last but one.
 *
 * writer_close() at any moment leaves a file whose sealed epochs verify (UNSEALED without END). After an error of
 * writer_seal() or writer_end() the writer refuses everything but writer_close().
 */
#ifndef GPUREC_FORMAT_WRITER_H
#define GPUREC_FORMAT_WRITER_H

#include "format/reader.h"

/* Where bytes go. Replaced in tests to fail the nth write. */
struct sink {
	int (*write)(void *self, const void *buf, size_t n, struct fault *why); /* all of it, or an error */
	int (*sync)(void *self, struct fault *why);
	void (*close)(void *self);
	void *self;
};

/* A file made anew, never an existing one: ERR_EXISTS, unless `force`, which removes a regular file first. */
int sink_open_file(struct sink *sink, const char *path, bool force, struct fault *why);
/* The empty file `fd`, which stays the caller's and gets the rights of a capture, if they are fewer than it has. */
int sink_open_fd(struct sink *sink, int fd, struct fault *why);

struct identity {
	uint8_t keynum[KEYNUM_BYTES];
	uint8_t public_key[PUBLIC_KEY_BYTES];
	uint8_t secret_key[SECRET_KEY_BYTES]; /* libsodium's Ed25519 layout: seed, public key */
};

/* What the header says beside the identity, the probes and the clock; zeros: nothing of it. */
struct origin {
	uint8_t series[SERIES_ID_BYTES];
	bool has_series; /* the first capture of that series */
	uint8_t challenge[CHALLENGE_BYTES_MAX];
	size_t challenge_bytes;
	bool by_process; /* chunks have parts, so that those of a process can be kept alone */
};

struct writer;

/*
 * Writes the header. Signs with `id` once; the caller wipes it right after. Takes `sink` over, also on failure.
 * start->boot_ns is epoch 0's begin.
 */
int writer_open(struct writer **w, struct sink sink, const struct identity *id, const struct probe *probes,
		size_t nprobes, const struct clock_anchor *start, struct fault *why);
/* The same with an origin, which is copied. */
int writer_open_from(struct writer **w, struct sink sink, const struct identity *id, const struct probe *probes,
		     size_t nprobes, const struct clock_anchor *start, const struct origin *origin, struct fault *why);

/*
 * The capture that goes on where `before` stopped: it begins at the end of its last epoch, names the hashes of its last
 * seal and of the END that writer_prepare_end(before) has made, and is the next one of its series. Rows that are not
 * sealed yet are taken over, so that writer_put_end(before) is all that is left to do to it. `wall_ns`: of that begin.
 * Else as writer_open(); on failure `before` is as it was, and can be written to.
 */
int writer_continue(struct writer **w, struct sink sink, const struct identity *id, const struct probe *probes,
		    size_t nprobes, struct writer *before, uint64_t wall_ns, struct fault *why);

/*
 * Have each row of a kind that is not counted shown once it is staged, as writer_add() got it. `saw` fails by itself.
 */
void writer_watch(struct writer *w, void (*saw)(void *self, uint16_t kind, const uint64_t *v, const char *const *text),
		  void *self);

/* Rows of these classes (bit CLASS_x), of kinds that are not counted, are taken from now on, and left out. */
void writer_leave_out(struct writer *w, uint32_t classes);

/*
 * Stage a row. v: the kind's values in field order (SINT: cast; TEXT: byte length, at most TEXT_MAX, longer is cut);
 * text: NULL for a kind without TEXT, else pointers by field. All is copied. v[0] (`at`) may be in any order.
 * ERR_INPUT: no such kind, or `at` before the open epoch's begin. ERR_MEMORY: not staged; nothing else changed.
 */
int writer_add(struct writer *w, uint16_t kind, const uint64_t *v, const char *const *text, struct fault *why);

/* Bytes staged so far, before encoding: when to seal early. */
size_t writer_staged_bytes(const struct writer *w);

/*
 * Close the epoch [begin, end_ns): rows before end_ns are sorted, encoded, sealed, written and synced; later ones stay
 * for the next epoch. counters: cumulative, ascending by (probe, id), without zeros.
 */
int writer_seal(struct writer *w, uint64_t end_ns, const struct clock_anchor *anchor, const struct self_stats *self,
		const struct counter *counters, size_t ncounters, struct fault *why);

/* END: after the last writer_seal(), with nothing staged. exit_status: NULL when no COMMAND ended. */
int writer_end(struct writer *w, enum reason reason, const int *exit_status, const struct clock_anchor *anchor,
	       const struct counter *counters, size_t ncounters, struct fault *why);

/*
 * writer_end() in two steps. The first makes and signs END for what is sealed by now, and writes nothing; rows may be
 * staged, which another capture is to take over. Another writer_seal() drops it. The second writes it.
 */
int writer_prepare_end(struct writer *w, enum reason reason, const int *exit_status, const struct clock_anchor *anchor,
		       const struct counter *counters, size_t ncounters, struct fault *why);
int writer_put_end(struct writer *w, struct fault *why);

uint64_t writer_begin_ns(const struct writer *w); /* of the open epoch */
uint64_t writer_written_bytes(const struct writer *w);
uint64_t writer_nrows(const struct writer *w); /* sealed so far */

/* Wipes the session key, closes the sink. NULL is fine. */
void writer_close(struct writer *w);

#endif
