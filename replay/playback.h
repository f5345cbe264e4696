/* SPDX-License-Identifier: Apache-2.0 */
/* Showing events when their time comes: --speed. */
#ifndef GPUREC_REPLAY_PLAYBACK_H
#define GPUREC_REPLAY_PLAYBACK_H

#include "replay/out.h"

#define PACE_TELL_NS 3000000000u /* a wait of at least so long is announced */

struct pace_settings {
	uint64_t thousandths; /* 1000: as fast as it happened; 0: as fast as it goes */
	uint64_t gap_ns;      /* wait at most so long between two events; 0: however long */
};

struct pace {
	struct pace_settings settings;
	bool begun;
	uint64_t base_ns, base_due_ns; /* this boot-clock time is due then (monotonic clock) */
	uint64_t last_ns, last_due_ns; /* of the event before */
	uint64_t flushed_ns;
};

/* "1x", "10x", "0.5x": up to three digits behind the point. ERR_INPUT. */
int pace_parse_speed(uint64_t *thousandths, const char *text, struct fault *why);

/*
 * When the next event (boot clock) is due, on the monotonic clock, of which `now_ns` is the present. The first one is
 * due at once. Never before the one before it.
 */
uint64_t pace_due(struct pace *p, uint64_t at_ns, uint64_t now_ns);

/* How long it is until then, if that is long enough to be announced; else 0. Without --speed always 0. */
uint64_t pace_announce(struct pace *p, uint64_t at_ns);

/*
 * Wait until the event is due; what is in `o` is written before. Ends early, with out_stopped(o), when the reader
 * has gone away.
 */
void pace_wait(struct pace *p, struct out *o, uint64_t at_ns);

#endif
