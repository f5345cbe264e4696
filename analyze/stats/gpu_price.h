/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the time that host threads lost cost the GPU, as far as calls show: for how much of it the GPU had no work of
 * their process, and for how much it had some left (ledger_idle(), ledger_left()). Both are lower bounds.
 */
#ifndef GPUREC_ANALYZE_STATS_GPU_PRICE_H
#define GPUREC_ANALYZE_STATS_GPU_PRICE_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/text.h"
#include "replay/model/ledger.h"

struct context;
struct finding;

/* A zeroed one is empty: nothing is known, or to be said. */
struct gpu_price {
	uint64_t lost_ns, idle_ns, left_ns;
	uint64_t nthreads, nunknown; /* of how many of these nothing is known */
};

/* lost_ns of the time that a thread of a process instance spent in that part. */
void gpu_price_add(struct gpu_price *p, const struct context *ctx, uint64_t tid, uint64_t process,
		   enum ledger_part part, uint64_t lost_ns);
/* The same, where idle_ns and left_ns of part_ns are known already. */
void gpu_price_add_part(struct gpu_price *p, uint64_t lost_ns, uint64_t part_ns, uint64_t idle_ns, uint64_t left_ns);

/* The part that a thread's time is in while it is kept from running so. */
enum ledger_part gpu_price_part(enum cause_class class);

/* The advice then. */
#define GPU_IS_SLOW "Make the GPU's own work shorter: as long as it takes so much, these waits do not matter"

/* Nine tenths of it cost the GPU nothing: it had work. */
bool gpu_price_is_nothing(const struct gpu_price *p);

/* The finding has this price; of one whose price is nothing it is the GPU that took long. */
void gpu_price_give(const struct gpu_price *p, struct finding *f);

/* ", of which the GPU had no work of this process for at least 1.00 s"; nothing where nothing is to be said. */
void gpu_price_write(struct text *t, const struct gpu_price *p);

#endif
