/* SPDX-License-Identifier: Apache-2.0 */
/* When each process made GPU calls: what shares of its time are taken of. */
#ifndef GPUREC_ANALYZE_LIVES_H
#define GPUREC_ANALYZE_LIVES_H

#include "analyze/rule.h"

struct life {
	struct table_key key;      /* a: process instance */
	uint64_t begin_ns, end_ns; /* from its first GPU call's begin to its last one's end */
};

/* A zeroed one is empty. */
struct lives {
	struct table table;
};

/* Take in a call, nested ones too. False: no memory. */
bool lives_add(struct lives *l, uint64_t process, const struct event *ev);
/* 0 if there was none. */
uint64_t lives_length(const struct lives *l, uint64_t process);
void lives_clear(struct lives *l);

#endif
