/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libgpucap: captures of gpurec for programs of others.
 *
 *	gpucap_open → gpucap_info, gpucap_kinds, gpucap_losses → gpucap_events_open → gpucap_next* → ... → gpucap_close
 *
 * A capture is verified when it is opened: signatures, hash chain, every byte, every row; then whether this machine
 * trusts who signed it. Nothing is read from one that does not pass, unless that is asked for. Of gpurec's documents,
 * LIBRARY.md begins where this ends, FORMAT.md says what the file promises, and SCHEMA.md which events there are and
 * what their fields mean.
 *
 * Contract
 *
 * Errors. Functions that can fail return 0 (gpucap_next: 1 for an event, 0 at the end) or a negative enum gpucap_error,
 * and write a sentence to `why`, which may be NULL. why_size: its bytes; a sentence has at most GPUCAP_WHY_BYTES.
 *
 * Times. Nanoseconds of CLOCK_BOOTTIME of the recording host. gpucap_wall_ns() gives wall-clock time.
 *
 * Ownership. What a function returns a pointer to belongs to the capture (or to the events) and lives until that is
 * closed, but for events, which live until the next gpucap_next().
 *
 * Texts. Bytes of programs that were recorded, any bytes, and not terminated: escape them before they are shown.
 *
 * Threads. One capture may be used by one thread at a time; different captures by different threads. Nothing is global.
 * Opening starts threads (options.threads) that have ended when it returns.
 *
 * The library writes no file, prints nothing, ends no program and opens no socket.
 *
 * Versions. Structs only ever grow at their end; `size` in gpucap_options says which one a program was built with.
 */
#ifndef GPUCAP_H
#define GPUCAP_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GPUCAP_API __attribute__((visibility("default")))
#define GPUCAP_WHY_BYTES 512

enum gpucap_error {
	GPUCAP_ERROR_FORMAT = -1,  /* bytes break the format */
	GPUCAP_ERROR_FORGED = -2,  /* bytes contradict a seal */
	GPUCAP_ERROR_CUT = -3,     /* nothing whole is there */
	GPUCAP_ERROR_VERSION = -4, /* of a later version than this library */
	GPUCAP_ERROR_IO = -5,
	GPUCAP_ERROR_MEMORY = -6,
	GPUCAP_ERROR_INPUT = -8,      /* what was passed cannot be used */
	GPUCAP_ERROR_KEY = -9,        /* a key file cannot be used */
	GPUCAP_ERROR_DENIED = -10,    /* the system does not permit it */
	GPUCAP_ERROR_UNTRUSTED = -11, /* consistent, but signed by a key that this machine does not trust */
};

/* Ascending in how bad they are; the words of gpuverify. */
enum gpucap_verdict {
	GPUCAP_OK = 0,
	GPUCAP_OK_SLICE,
	GPUCAP_OK_REDACTED,
	GPUCAP_UNCHECKED,
	GPUCAP_UNSEALED, /* authentic up to its last seal, and read up to there */
	GPUCAP_UNTRUSTED,
	GPUCAP_MALFORMED,
	GPUCAP_FORGED,
};

struct gpucap_options {
	size_t size;              /* sizeof(struct gpucap_options) */
	const char *const *trust; /* files of public keys that count as trusted, beside the trust store */
	size_t ntrust;
	int unverified;   /* not 0: read what can be read, whatever the verdict */
	unsigned threads; /* to verify with; 0: one for each core */
};

struct gpucap_info {
	enum gpucap_verdict verdict;
	const char *verdict_word; /* "OK-REDACTED" */
	const char *sentence;     /* verdict, signer and how it is trusted, in one line */
	const char *signer;       /* its key id, hex; a mere claim when the verdict is worse than UNSEALED */
	uint8_t capture_id[16];
	uint64_t begin_ns, end_ns; /* of what is sealed */
	uint64_t begin_wall_ns;    /* since 1970-01-01 UTC */
	uint64_t nevents;          /* rows that were sealed, withheld ones too */
	uint64_t nlost;            /* events that could not be recorded, as sealed */
	uint64_t nwithheld;        /* parts (chunks) that were withheld */
};

enum gpucap_encoding { GPUCAP_TIME = 1, GPUCAP_UINT = 2, GPUCAP_SINT = 3, GPUCAP_TEXT = 4 };

enum gpucap_unit {
	GPUCAP_UNIT_NONE = 0,
	GPUCAP_UNIT_NUMBER = 1,
	GPUCAP_UNIT_ID = 2,
	GPUCAP_UNIT_CPU = 3,
	GPUCAP_UNIT_BOOT_NS = 4,
	GPUCAP_UNIT_NS = 5,
	GPUCAP_UNIT_BYTES = 6,
	GPUCAP_UNIT_ADDRESS = 7,
	GPUCAP_UNIT_FLAGS = 8,
	GPUCAP_UNIT_ENUM = 9,
};

struct gpucap_field {
	const char *name;
	enum gpucap_encoding encoding;
	enum gpucap_unit unit; /* numbers of later versions may come: show such values as numbers */
};

/* A kind of event, as the capture itself describes it. */
struct gpucap_kind {
	uint16_t id;
	const char *name;       /* "launch" */
	const char *class_name; /* what it is withheld with: "events", "process", "path", "host", "symbol", "cgroup" */
	int is_call;            /* its first fields are at, pid, tid, cpu, dur, probe, ret, flags */
	const struct gpucap_field *fields;
	size_t nfields;
};

struct gpucap_event {
	const struct gpucap_kind *kind;
	uint64_t at_ns;          /* when it was complete; a call began at at_ns - dur */
	uint64_t epoch;          /* number of the seal that covers it */
	const uint64_t *value;   /* by field; SINT and sizes (GPUCAP_UNIT_BYTES): cast to int64_t; TEXT: its length */
	const char *const *text; /* by field; NULL but for TEXT */
};

struct gpucap;
struct gpucap_events;

/* "1.0": of the library; the format's version is the major part. */
GPUCAP_API const char *gpucap_version(void);

/* o: NULL for the trust store and nothing else. On success *c goes to gpucap_close(). */
GPUCAP_API int gpucap_open(struct gpucap **c, const char *path, const struct gpucap_options *o, char *why,
			   size_t why_size);
GPUCAP_API void gpucap_close(struct gpucap *c); /* NULL is fine; events of it must be closed before */

GPUCAP_API const struct gpucap_info *gpucap_info(const struct gpucap *c);
GPUCAP_API uint64_t gpucap_wall_ns(const struct gpucap *c, uint64_t boot_ns); /* since 1970-01-01 UTC */

/* All kinds that the capture knows, ascending by id, whether there are events of them or not. */
GPUCAP_API const struct gpucap_kind *gpucap_kinds(const struct gpucap *c, size_t *n);
/* By name; NULL if this capture has no such kind. */
GPUCAP_API const struct gpucap_kind *gpucap_kind(const struct gpucap *c, const char *name);
/* Index of a field; -1 if the kind has no such field (an older capture). */
GPUCAP_API int gpucap_field(const struct gpucap_kind *k, const char *name);
/* The function or tracepoint that a call's `probe` names; NULL if none. */
GPUCAP_API const char *gpucap_probe(const struct gpucap *c, uint64_t probe);

/*
 * What was not recorded: each probe and cause with a number that is not 0, as last sealed. each() returns 0 to go on;
 * what else it returns, gpucap_losses() returns.
 */
GPUCAP_API int gpucap_losses(const struct gpucap *c,
			     int (*each)(void *arg, const char *probe, const char *cause, uint64_t n), void *arg);

/* Events from `from_ns` (boot clock; 0: all) on, in order of time. Several may be open at once. */
GPUCAP_API int gpucap_events_open(struct gpucap_events **e, const struct gpucap *c, uint64_t from_ns, char *why,
				  size_t why_size);
GPUCAP_API void gpucap_events_close(struct gpucap_events *e); /* NULL is fine */
/* The next event: 1; 0 at the end; negative: the file changed since it was opened, or cannot be read. */
GPUCAP_API int gpucap_next(struct gpucap_events *e, struct gpucap_event *ev, char *why, size_t why_size);

#ifdef __cplusplus
}
#endif

#endif
