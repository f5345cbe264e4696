/* SPDX-License-Identifier: Apache-2.0 */
/* Ordinary life: every function of every kind in turn, short-lived memory included. Plants nothing. */
#include "tests/workload/variants.h"
#include "tests/workload/worker.h"

#define FEEDER_PERIOD_NS (5 * BEAT_NS)
#define FEEDER_BYTES (UINT64_C(64) << 10)

static void feeder_tick(struct worker *w)
{
	uint64_t turn = w->tick_ns / FEEDER_PERIOD_NS;
	struct taken taken;

	variant_launch(w, turn);
	variant_copy(w, turn);
	variant_set(w, turn);
	variant_wait(w, turn);
	if (turn % 4)
		return;
	if (variant_alloc(w, turn / 4, FEEDER_BYTES, &taken) == GPU_OK)
		variant_free(w, turn / 4, &taken);
}

static const struct role roles[] = {
	{"feeder", RANK_CALLER, false, FEEDER_PERIOD_NS, 1000 * US, feeder_tick, NULL},
};

const struct scenario traffic_scenario = {
	.name = "traffic",
	.help = "nothing: ordinary calls of every function",
	.roles = roles,
	.nroles = sizeof(roles) / sizeof(roles[0]),
};
