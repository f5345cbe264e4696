/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A capture, opened: its header and the list of its epochs. Opening walks the frames and parses header and
 * seals strictly; it judges no signature and reads no events. verify() gives the verdict, a cursor the events.
 */
#ifndef GPUREC_FORMAT_READER_H
#define GPUREC_FORMAT_READER_H

#include <stdbool.h>

#include "format/schema.h"
#include "format/source.h"

#define CAPTURE_ID_BYTES 16
#define HASH_BYTES 32
#define KEYNUM_BYTES 8
#define PUBLIC_KEY_BYTES 32
#define SECRET_KEY_BYTES 64
#define SIGNATURE_BYTES 64
#define SALT_BYTES 16
#define SERIES_ID_BYTES 16
#define CHALLENGE_BYTES_MAX 64
#define APPENDIX_BYTES_MAX 65536u

#define FORMAT_MAJOR 1
#define FORMAT_MINOR 1

/* Incompatible feature bits. */
#define FEATURE_CONTINUES 1u  /* `previous` is in the header */
#define FEATURE_EXTENSIONS 2u /* extensions are in the header */
#define FEATURE_PREHASHED 4u  /* signatures are Ed25519ph; else plain Ed25519 */
#define FEATURE_PARTS 8u      /* chunks are separated by process: each has a part */
#define FEATURES_KNOWN (FEATURE_CONTINUES | FEATURE_EXTENSIONS | FEATURE_PREHASHED | FEATURE_PARTS)

/* The part of a chunk: the process that all its rows are of, by their field `pid`; or one of these. */
#define PART_OF_NONE 0u            /* rows of kinds without that field; without FEATURE_PARTS all */
#define PART_OF_SEVERAL UINT32_MAX /* rows of several processes */

/* A second signature, of an algorithm that this build does not know: what it takes in each payload. */
struct second_signature {
	uint16_t algorithm; /* 0: there is none */
	uint32_t header_bytes, seal_bytes, end_bytes;
	char name[NAME_MAX_BYTES + 1];
};

struct header {
	uint16_t major, minor;
	uint64_t compatible;   /* feature bits a reader may ignore */
	uint64_t incompatible; /* feature bits a reader must know */
	uint8_t capture_id[CAPTURE_ID_BYTES];
	uint8_t keynum[KEYNUM_BYTES]; /* the identity that signed: a hint, no reason to trust */
	uint8_t identity[PUBLIC_KEY_BYTES];
	uint8_t first_key[PUBLIC_KEY_BYTES]; /* seals epoch 0 */
	uint64_t start_boot_ns;
	uint64_t start_wall_ns; /* since 1970-01-01 UTC */
	/* Hash of the last seal (without seals: of the header) of the capture that this one continues; else zeros. */
	uint8_t previous[HASH_BYTES];
	/* The recording with rotation that this is a capture of, and its number in it from 1; 0: of none. */
	uint8_t series[SERIES_ID_BYTES];
	uint64_t series_number;
	uint8_t previous_end[HASH_BYTES]; /* END's hash of the capture before; zeros in the first one */
	/* A verifier's, so that recording began after it was known; 0 bytes: none. */
	uint8_t challenge[CHALLENGE_BYTES_MAX];
	size_t challenge_bytes;
	struct second_signature second;
	uint8_t *appendix; /* its part of the header */
	/* Extensions of later versions, which may be ignored: as they are in the file. */
	uint8_t *later;
	size_t later_bytes;
	unsigned nlater;
	struct schema schema;
	uint8_t hash[HASH_BYTES];
	uint8_t signature[SIGNATURE_BYTES];
};

/* One chunk as its seal lists it. */
struct chunk {
	uint64_t offset; /* of its frame (CHUNK or WITHHELD) in this file */
	bool withheld;
	uint8_t class;
	uint32_t raw_bytes;
	uint32_t packed_bytes;
	uint32_t nrows;
	uint32_t part;
	uint64_t first_ns, last_ns; /* `at` of its earliest and latest row */
	uint8_t commitment[HASH_BYTES];
	uint8_t salt[SALT_BYTES]; /* zero when withheld */
};

struct kind_count {
	uint16_t kind;
	uint64_t count;
};

struct counter {
	uint16_t probe;
	uint8_t id; /* enum counter_id, or one the schema names */
	uint64_t value;
};

struct clock_anchor {
	uint64_t boot_ns; /* the three clocks, read together */
	uint64_t wall_ns;
	uint64_t mono_ns; /* stands still while the machine sleeps; boot does not */
};

/* How the recorder itself fared, cumulative. */
struct self_stats {
	uint64_t cpu_ns;
	uint64_t rss_bytes;
	uint64_t ring_high_bytes; /* fullest the ring has been */
	uint64_t written_bytes;
};

struct epoch {
	uint64_t number;  /* its place in the file */
	bool misnumbered; /* its seal says another one */
	uint64_t seal_offset;
	uint64_t begin_ns, end_ns; /* events with begin <= at < end, boot clock */
	struct clock_anchor anchor;
	struct self_stats self;
	struct chunk *chunks;
	uint32_t nchunks;
	bool parted;               /* the chunks have parts */
	struct kind_count *counts; /* rows of this epoch by kind, withheld ones too; ascending */
	uint32_t ncounts;
	struct counter *counters; /* cumulative since the start; ascending by probe, id; none is 0 */
	uint32_t ncounters;
	uint8_t capture_id[CAPTURE_ID_BYTES]; /* that it names; verify() compares */
	uint8_t previous[HASH_BYTES];         /* hash of the seal before, or of the header */
	uint8_t next_key[PUBLIC_KEY_BYTES];
	uint8_t *appendix; /* the second signature's part, if there is one */
	uint32_t appendix_bytes;
	uint8_t hash[HASH_BYTES];
	uint8_t signature[SIGNATURE_BYTES];
};

struct end {
	uint64_t offset;
	uint8_t capture_id[CAPTURE_ID_BYTES];
	uint64_t nepochs;
	struct clock_anchor anchor;
	uint32_t reason;      /* enum reason */
	bool has_exit_status; /* a COMMAND was run and ended */
	int32_t exit_status;  /* wait(2) status of it */
	uint8_t last_seal[HASH_BYTES];
	struct kind_count *totals;
	uint32_t ntotals;
	struct counter *counters;
	uint32_t ncounters;
	uint8_t *appendix; /* as in an epoch */
	uint32_t appendix_bytes;
	uint8_t hash[HASH_BYTES];
	uint8_t signature[SIGNATURE_BYTES];
};

enum tail {
	TAIL_END,    /* ends with an END frame, and nothing but zeros after it */
	TAIL_CUT,    /* is cut after `nepochs` whole epochs, without END: `broken` has where and how */
	TAIL_BROKEN, /* after `nepochs` whole epochs come bytes that break the format: `broken` */
};

struct reader {
	struct source *source; /* not owned; must outlive the reader */
	struct header header;
	struct epoch *epochs;
	uint64_t nepochs;
	enum tail tail;
	uint64_t tail_offset; /* first byte after the last whole epoch (or END) */
	struct fault broken;
	struct end end; /* if TAIL_END */
};

/*
 * Fails only when not even the header can be read: ERR_FORMAT, ERR_VERSION, ERR_IO, ERR_MEMORY; then *r holds nothing.
 * Otherwise what is wrong later is in r->tail, and the epochs before it can be used.
 */
int reader_open(struct reader *r, struct source *source, struct fault *why);
void reader_close(struct reader *r);

/* Bytes after END, or after the last whole epoch where there is no END, that are not part of the capture. */
uint64_t reader_outside(const struct reader *r);

/* Wall-clock time (ns since 1970, UTC) of a boot-clock time, by the anchor at or before it. */
uint64_t reader_wall_ns(const struct reader *r, uint64_t boot_ns);

/* Counter `id` of probe `probe` in a sorted table, 0 if absent. */
uint64_t counter_value(const struct counter *counters, uint32_t n, uint16_t probe, uint8_t id);

/*
 * The counters after the first `nepochs` epochs, sorted, and how many. After all of a capture with END they are END's.
 * NULL: before the first epoch.
 */
const struct counter *reader_counters(const struct reader *r, uint64_t nepochs, uint32_t *n);
/* The same where the caller knows whether END belongs to them. */
const struct counter *reader_counters_of(const struct reader *r, uint64_t nepochs, bool ended, uint32_t *n);

/* Whether a counter is one of those to be added up. */
typedef bool counter_test(const struct schema *schema, const struct counter *c, const void *arg);
/* The sum of those that reader_counters() gives. */
uint64_t reader_sum(const struct reader *r, uint64_t nepochs, counter_test *counts, const void *arg);

/*
 * Sum of all LOST counters that grew in epoch `number` compared with the epoch before, for the probes
 * yielding `kind` (0: all probes). In the last epoch of a capture with END, END's counters count too.
 */
uint64_t reader_lost(const struct reader *r, uint64_t number, uint16_t kind);

/* Whether a chunk of this class was withheld: in an epoch, or in any. */
bool epoch_withholds(const struct epoch *e, uint8_t class);
bool reader_withholds(const struct reader *r, uint8_t class);

#endif
