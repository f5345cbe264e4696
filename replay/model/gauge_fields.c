/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/model/gauge_fields.h"

#define HEALTH(field, unit, name)                                                                                      \
	{                                                                                                              \
		KIND_health, F_health_gpu, F_health_##field, GAUGE_##unit, "GPU", name                                 \
	}

static const struct gauge all[] = {
	HEALTH(busy_percent, NUMBER, "busy (%)"),
	HEALTH(memory_busy_percent, NUMBER, "memory busy (%)"),
	HEALTH(memory_used, BYTES, "memory used"),
	HEALTH(power_mw, NUMBER, "power (mW)"),
	HEALTH(temperature_c, NUMBER, "temperature (C)"),
	HEALTH(sm_mhz, NUMBER, "SM clock (MHz)"),
	HEALTH(memory_mhz, NUMBER, "memory clock (MHz)"),
	HEALTH(throttle, NUMBER, "reasons for a lower clock (bits)"),
	HEALTH(ecc_corrected, NUMBER, "corrected memory errors"),
	HEALTH(ecc_uncorrected, NUMBER, "uncorrected memory errors"),
	{KIND_cpu, F_cpu_cpu, F_cpu_steal, GAUGE_NS, "CPU", "time taken by the hypervisor"},
	{KIND_cpu, F_cpu_cpu, F_cpu_khz, GAUGE_NUMBER, "CPU", "frequency (kHz)"},
	{KIND_metric, F_metric_cpu, F_metric_busy, GAUGE_NS, "CPU", "busy time"},
	{KIND_metric, F_metric_cpu, F_metric_switches, GAUGE_NUMBER, "CPU", "switches"},
	{KIND_metric, F_metric_cpu, F_metric_waiting, GAUGE_NUMBER, "CPU", "threads that wait"},
};
_Static_assert(sizeof(all) / sizeof(all[0]) <= GAUGES_MAX, "there is room for all gauges");

const struct gauge *gauges(size_t *n)
{
	*n = sizeof(all) / sizeof(all[0]);
	return all;
}

bool gauge_reported(const struct gauge *g, const struct event *ev)
{
	if (g->kind != ev->kind || ev->v[g->id] >= GAUGE_IDS_MAX)
		return false;
	if (g->kind == KIND_health)
		return health_has(ev, g->field);
	return g->kind != KIND_cpu || g->field != F_cpu_khz || ev->v[F_cpu_khz] != 0;
}
