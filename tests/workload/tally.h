/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How often which runtime function was called, kept by the caller: one array per thread, so that
 * counting needs neither atomics nor locks, added up when the threads have ended.
 */
#ifndef WORKLOAD_TALLY_H
#define WORKLOAD_TALLY_H

#include <stdint.h>

#include "tests/workload/functions.h"

enum call_kind { KIND_launch, KIND_alloc, KIND_free, KIND_copy, KIND_set, KIND_wait, KIND_other, KIND_COUNT };

#define TALLY_ID(kind, name, params) FN_##name,
enum function_id { RUNTIME_CALLS(TALLY_ID) FN_COUNT };

struct function_info {
	const char *name;
	enum call_kind kind;
};

struct tally {
	uint64_t calls;
	uint64_t failed; /* of these */
};

struct json;

const struct function_info *function_info(enum function_id id);
const char *call_kind_name(enum call_kind kind);

void tally_add(struct tally sum[FN_COUNT], const struct tally more[FN_COUNT]);

/* Writes the members "kinds" and "functions"; functions that were never called are left out. */
void tally_json(const struct tally tally[FN_COUNT], struct json *out);

#endif
