/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every function of the six call kinds, each as a small function that makes one sound call of it.
 * `turn` numbers walk through a kind's list, over and over.
 */
#ifndef WORKLOAD_VARIANTS_H
#define WORKLOAD_VARIANTS_H

#include "tests/workload/worker.h"

/* What an allocation made, for the free that belongs to it. */
struct taken {
	void *addr;
	bool pinned;
};

int variant_launch(struct worker *w, uint64_t turn);
int variant_copy(struct worker *w, uint64_t turn);
int variant_set(struct worker *w, uint64_t turn);
int variant_wait(struct worker *w, uint64_t turn);
int variant_alloc(struct worker *w, uint64_t turn, uint64_t bytes, struct taken *taken);
int variant_free(struct worker *w, uint64_t turn, const struct taken *taken);

#endif
