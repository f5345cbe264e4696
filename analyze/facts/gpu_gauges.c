// SPDX-License-Identifier: Apache-2.0
#include "analyze/facts/gpu_gauges.h"

#include <stdlib.h>
#include <string.h>

#include "replay/model/gauge_fields.h"

/* Which field of a row a gauge shows. */
static const unsigned fields[GAUGES] = {
	[GAUGE_BUSY] = F_health_busy_percent,  [GAUGE_CLOCK] = F_health_sm_mhz,
	[GAUGE_POWER] = F_health_power_mw,     [GAUGE_TEMPERATURE] = F_health_temperature_c,
	[GAUGE_MEMORY] = F_health_memory_used,
};

/* NVML's reasons that are no trouble: an idle GPU, clocks that an application asked for, a setting of the display. */
#define THROTTLE_HARMLESS (1U | 2U | 0x100U)

static struct gauge_gpu *find_gpu(struct gauges *g, uint64_t gpu, struct fault *why)
{
	for (unsigned i = 0; i < g->ngpus; i++)
		if (g->gpus[i].gpu == gpu)
			return &g->gpus[i];
	if (!g->gpus)
		g->gpus = calloc(GAUGES_GPUS_MAX, sizeof(*g->gpus));
	if (!g->gpus) {
		fault_no_memory(why);
		return NULL;
	}
	g->gpus[g->ngpus].gpu = gpu;
	return &g->gpus[g->ngpus++];
}

static unsigned slice_of(const struct gauges *g, uint64_t at_ns)
{
	if (at_ns <= g->begin_ns || g->end_ns <= g->begin_ns)
		return 0;
	if (at_ns >= g->end_ns)
		return GAUGES_SLICES - 1;
	return (unsigned)((unsigned __int128)(at_ns - g->begin_ns) * GAUGES_SLICES / (g->end_ns - g->begin_ns));
}

static void take(struct gauge_gpu *gpu, enum gpu_gauge what, unsigned slice, uint64_t value)
{
	struct gauge_slice *s = &gpu->slices[what][slice];

	s->low = !s->reported || value < s->low ? value : s->low;
	s->high = !s->reported || value > s->high ? value : s->high;
	s->reported = true;
	gpu->low[what] = !gpu->reported[what] || value < gpu->low[what] ? value : gpu->low[what];
	gpu->high[what] = !gpu->reported[what] || value > gpu->high[what] ? value : gpu->high[what];
	gpu->reported[what] = true;
}

int gauges_feed(struct gauges *g, const struct event *ev, struct fault *why)
{
	struct gauge_gpu *gpu;
	unsigned slice;

	/* An index that no GPU can have is not drawn, so the table cannot overflow. */
	if (ev->kind != KIND_health || ev->v[F_health_gpu] >= GAUGES_GPUS_MAX)
		return 0;
	gpu = find_gpu(g, ev->v[F_health_gpu], why);
	if (!gpu)
		return ERR_MEMORY;
	slice = slice_of(g, ev->at_ns);
	gpu->nrows++;
	for (unsigned i = 0; i < GAUGES; i++)
		if (health_has(ev, fields[i]))
			take(gpu, (enum gpu_gauge)i, slice, ev->v[fields[i]]);
	if (ev->v[F_health_throttle] & ~(uint64_t)THROTTLE_HARMLESS)
		gpu->throttled[slice] = true;
	return 0;
}

void gauges_clear(struct gauges *g)
{
	free(g->gpus);
	memset(g, 0, sizeof(*g));
}
