/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is probed: one table, in ascending order of ids, which stand in every capture's header. Library functions are
 * looked up by name; every variant that a library exports is probed.
 */
#ifndef GPUREC_RECORD_PROBES_H
#define GPUREC_RECORD_PROBES_H

#include <linux/types.h>
#include <stddef.h>

#include "bpf/ring.h"
#include "format/schema.h"

#define VALUES_MAX 9 /* fields that a kind has beyond CALL_FIELDS */

/*
 * Where a field's value comes from: the product of up to three factors, each a word of struct ring_call, whole or
 * half; or a constant. 0: the value is 0.
 */
#define WORD(n) (0x80u | (n))
#define LOW(n) (0x90u | (n))
#define HIGH(n) (0xa0u | (n))
#define PRODUCT(a, b) ((a) | (b) << 8)
#define PRODUCT3(a, b, c) ((a) | (b) << 8 | (c) << 16)
#define CONSTANT(x) (0x80000000u | (x))

struct probe_spec {
	const char *name;
	uint16_t id;
	uint16_t kind;
	struct call_plan plan;
	uint32_t value[VALUES_MAX]; /* the kind's own fields, in order */
};

extern const struct probe_spec probe_table[];
extern const size_t nprobes;

/* By id; NULL if there is none. */
const struct probe_spec *probe_find(uint32_t id);

/* Value of one field from the words of a call. */
uint64_t probe_value(uint32_t value, const __u64 word[CALL_WORDS]);

/* The table as a capture's header has it, in out[nprobes]. */
void probe_describe(struct probe *out);

#endif
