/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is probed: one table, in ascending order of ids, which are in every capture's header. Library functions are
 * looked up by name; every variant that a library exports is probed.
 */
#ifndef GPUREC_RECORD_PROBE_PROBES_H
#define GPUREC_RECORD_PROBE_PROBES_H

#include <linux/types.h>
#include <stddef.h>

#include "bpf/ring.h"
#include "format/schema.h"

#define VALUES_MAX 11 /* fields that a kind has beyond CALL_FIELDS, its `stack` not counted */

/*
 * Where a field's value comes from: the product of up to three factors, each taken from a word of struct ring_call; or
 * a constant. 0: the value is 0.
 */
#define BYTE(n) (0x10u | (n)) /* the lowest 8, 16, 32 bits, */
#define HALF(n) (0x20u | (n))
#define LOW(n) (0x90u | (n))
#define HIGH(n) (0xa0u | (n)) /* the highest 32, */
#define WORD(n) (0x80u | (n)) /* the whole */
#define NEXT(n) (0xd0u | (n)) /* the lowest 32 bits, plus 1: where 0 means that nothing is reported */
#define PICK(n) (0xb0u | (n)) /* CUmemorytype in word n chooses host, device or array from the three behind it */
#define DIRECTION(n)                                                                                                   \
	(0xc0u | (n))            /* of a copy, from the CUmemorytype of its source in word n, of its target in n + 4 */
#define ELEMENT(n) (0xe0u | (n)) /* bytes of an element of the ncclDataType_t in word n */
#define FACTOR(x) (0xf0u | (x))  /* x itself, below 16 */
#define PRODUCT(a, b) ((a) | (b) << 8)
#define PRODUCT3(a, b, c) ((a) | (b) << 8 | (c) << 16)
#define CONSTANT(x) (0x80000000u | (x))

struct probe_spec {
	const char *name;
	uint16_t id;
	uint16_t kind;
	uint16_t library; /* LIBRARY_RUNTIME, _DRIVER or _NCCL: which one exports it; 0: the kernel's */
	struct call_plan plan;
	uint32_t value[VALUES_MAX]; /* the kind's own fields, in order, but for `stack`, the last */
};

extern const struct probe_spec probe_table[];
extern const size_t nprobes;

/* By id; NULL if there is none. */
const struct probe_spec *probe_find(uint32_t id);
/* Those of libraries, which end the table: how many, and the first of them. */
size_t library_probes(const struct probe_spec **first);

/* Value of one field from the words of a call. */
uint64_t probe_value(uint32_t value, const __u64 word[CALL_WORDS]);

/* What the kernel side needs to know of it: the plan of the table, completed. */
struct call_plan probe_plan(const struct probe_spec *spec);

/* Which field of a kind of calls is `stack`: the last. */
uint32_t probe_stack_field(uint16_t kind);

/* The table as a capture's header has it, in out[nprobes]. */
void probe_describe(struct probe *out);

#endif
