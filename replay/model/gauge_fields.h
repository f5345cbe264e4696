/* SPDX-License-Identifier: Apache-2.0 */
/* Figures of a GPU or a CPU that are drawn as curves: which fields of which kinds, and what they are called. */
#ifndef GPUREC_REPLAY_MODEL_GAUGE_FIELDS_H
#define GPUREC_REPLAY_MODEL_GAUGE_FIELDS_H

#include "format/cursor.h"

enum gauge_unit { GAUGE_NUMBER, GAUGE_BYTES, GAUGE_NS };

struct gauge {
	uint16_t kind;
	uint8_t id, field;  /* fields: whose figure it is, and the figure */
	uint8_t unit;       /* enum gauge_unit */
	const char *device; /* "GPU" */
	const char *name;   /* with its unit if that is a GAUGE_NUMBER */
};

#define GAUGES_MAX 16      /* of all kinds */
#define GAUGE_IDS_MAX 4096 /* GPUs or CPUs with curves of their own: no host has more */

/* All of them. */
const struct gauge *gauges(size_t *n);

/* Whether a row of kind health has its field `field`, which not every GPU reports. */
static inline bool health_has(const struct event *ev, unsigned field)
{
	return ev->v[F_health_known] >> (field - F_health_known) & 1;
}

/* Whether an event has this figure, of a device that gets a curve. */
bool gauge_reported(const struct gauge *g, const struct event *ev);

#endif
