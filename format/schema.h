/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The schema: which kinds of events a capture holds and what their fields mean. It stands inside
 * the signed header, so a capture explains itself: a kind that this build does not know is read,
 * counted and shown by name all the same.
 */
#ifndef GPUREC_FORMAT_SCHEMA_H
#define GPUREC_FORMAT_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/fault.h"
#include "format/kinds.h"

/* Limits, all in FORMAT.md. */
#define NAME_MAX_BYTES 64 /* a name in the schema */
#define CLASSES_MAX 32
#define KINDS_MAX 256
#define FIELDS_MAX 32 /* of one kind */
#define PROBES_MAX 2048
#define COUNTERS_MAX 64
#define TEXT_MAX 4096 /* bytes of a TEXT value */

enum class_id {
#define C(id, name) CLASS_##name = id,
	CLASSES(C)
#undef C
};

/* KIND_launch, ...; KIND_epoch is no kind on disk: the cursor's mark between epochs. */
enum kind_id {
	KIND_epoch = 0,
#define K(id, name, class, flags) KIND_##name = id,
	KINDS(K)
#undef K
};

enum kind_flags { KIND_PLAIN = 0, KIND_COUNTED = 1, KIND_CALL = 1 | 2 };

/* F_launch_grid_x, ...: index of a field in struct event's v[] and text[]. */
#define F(kind, name, encoding, unit) F_##kind##_##name,
#define K(id, name, class, flags) enum field_##name{FIELDS_##name(F) NFIELDS_##name};
KINDS(K)
#undef K
enum field_call { CALL_FIELDS(F, call) NFIELDS_call }; /* F_call_tid, ...: the same in all CALL kinds */
#undef F

enum encoding { ENC_TIME = 1, ENC_UINT = 2, ENC_SINT = 3, ENC_TEXT = 4 };

enum unit {
	UNIT_NONE = 0,
	UNIT_NUMBER = 1,
	UNIT_ID = 2,
	UNIT_CPU = 3,
	UNIT_BOOT_NS = 4, /* time on CLOCK_BOOTTIME */
	UNIT_NS = 5,      /* duration */
	UNIT_BYTES = 6,
	UNIT_ADDRESS = 7, /* shown in hex */
	UNIT_FLAGS = 8,   /* shown in hex */
	UNIT_ENUM = 9,
};

enum counter_role { ROLE_FIRED = 1, ROLE_RECORDED = 2, ROLE_LOST = 3, ROLE_NOTED = 4 };

enum counter_id {
#define C(id, name, role, words) COUNTER_##name = id,
	COUNTERS(C)
#undef C
};

enum reason {
#define R(id, name, text) REASON_##name = id,
	REASONS(R)
#undef R
};

struct field {
	char name[NAME_MAX_BYTES + 1];
	uint8_t encoding; /* enum encoding */
	uint8_t unit;     /* enum unit; others from later versions are shown as plain numbers */
};

/*
 * Whether tools show its numbers as signed. Sizes, too: no memory has 2^63 bytes, so that a program which asks for more
 * has computed something negative.
 */
static inline bool field_is_signed(const struct field *f)
{
	return f->encoding == ENC_SINT || f->unit == UNIT_BYTES;
}

struct kind {
	char name[NAME_MAX_BYTES + 1];
	uint16_t id;
	uint8_t class;
	uint8_t flags; /* enum kind_flags */
	uint8_t nfields;
	struct field fields[FIELDS_MAX];
};

/*
 * How many values an event of this kind has: one for each field that it has in the capture or in this build, whichever
 * are more, and at least those that all calls have.
 */
size_t kind_nvalues(const struct kind *k);

struct probe {
	char name[NAME_MAX_BYTES + 1]; /* "cudaLaunchKernel", "sched_switch" */
	uint16_t id;
	uint16_t kind; /* what it yields; 0: nothing of its own */
};

struct counter_type {
	char name[NAME_MAX_BYTES + 1];
	uint8_t id;
	uint8_t role; /* enum counter_role */
};

struct class_name {
	char name[NAME_MAX_BYTES + 1];
	uint8_t id;
};

/* All tables ascend strictly by id. */
struct schema {
	struct class_name classes[CLASSES_MAX];
	size_t nclasses;
	struct kind *kinds;
	size_t nkinds;
	struct counter_type counters[COUNTERS_MAX];
	size_t ncounters;
	struct probe *probes;
	size_t nprobes;
};

/*
 * The schema of this build with the given probe table (ascending by id, names [A-Za-z0-9_.:]).
 * Fills *s, which the caller gives to schema_clear().
 */
int schema_build(struct schema *s, const struct probe *probes, size_t nprobes, struct fault *why);
void schema_clear(struct schema *s);

/* Bytes of the schema: into *out (malloc, the caller frees), its length into *len. */
int schema_encode(const struct schema *s, uint8_t **out, size_t *len, struct fault *why);

/*
 * Parse exactly `len` bytes, which are at `at` in the file (for messages). Strict: every table sorted, every
 * name well-formed, known kinds with their known fields first and unchanged, nothing left over.
 */
int schema_parse(struct schema *s, const uint8_t *bytes, size_t len, uint64_t at, struct fault *why);

/* By id; NULL if the capture's schema has none. A row may have any number for its probe. */
const struct kind *schema_kind(const struct schema *s, uint16_t id);
const struct probe *schema_probe(const struct schema *s, uint64_t id);
const struct counter_type *schema_counter(const struct schema *s, uint8_t id);
const char *schema_class_name(const struct schema *s, uint8_t id); /* NULL if none */

/* A cause in words, for all that speak of it: "no room in the ring"; NULL for one of a later version. */
const char *counter_text(uint8_t id);
/* The same; of one of a later version its name. */
const char *counter_words(const struct counter_type *c);

/* "interrupted (Ctrl-C)", ...; NULL for a reason of a later version. */
const char *reason_text(uint32_t reason);

/* 1 to NAME_MAX_BYTES characters of those that a name may have. */
bool schema_name_valid(const char *name, size_t n);

/* Which field of a kind is the process that a row is of: the one called `pid`; 0: there is none. */
uint8_t kind_pid_field(const struct kind *k);

#endif
