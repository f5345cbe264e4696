/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/playback.h"

#include <errno.h>
#include <poll.h>
#include <time.h>

#include "format/base/clock.h"

#define NS_PER_S 1000000000u
#define LOOK_NS                                                                                                        \
	100000000u /* how often a long wait looks whether somebody still reads, and a busy one shows what it has */
#define SPEED_MAX 1000000 /* times as fast */

__extension__ typedef unsigned __int128 wide;

int pace_parse_speed(uint64_t *thousandths, const char *text, struct fault *why)
{
	uint64_t whole = 0, part = 0, scale = 100;
	const char *c = text;
	bool digits = false;

	for (; *c >= '0' && *c <= '9' && whole <= SPEED_MAX; c++, digits = true)
		whole = whole * 10 + (uint64_t)(*c - '0');
	if (digits && *c == '.') {
		digits = false;
		for (c++; *c >= '0' && *c <= '9' && scale > 0; c++, scale /= 10, digits = true)
			part += (uint64_t)(*c - '0') * scale;
	}
	if (!digits || c[0] != 'x' || c[1])
		return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "'%.32s' is not a speed like 1x, 10x or 0.5x", text);
	if (whole * 1000 + part == 0 || whole * 1000 + part > (uint64_t)SPEED_MAX * 1000)
		return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "'%.32s' is not between 0.001x and %dx", text,
				 SPEED_MAX);
	*thousandths = whole * 1000 + part;
	return 0;
}

uint64_t pace_due(struct pace *p, uint64_t at_ns, uint64_t now_ns)
{
	uint64_t due_ns, gap_ns = p->settings.gap_ns;
	wide waits_ns;

	if (!p->begun) {
		p->begun = true;
		p->base_ns = p->last_ns = at_ns;
		p->base_due_ns = p->last_due_ns = p->flushed_ns = now_ns;
	}
	if (at_ns <= p->last_ns)
		return p->last_due_ns;
	/* From a fixed point, so that what is rounded away does not add up. */
	waits_ns = (wide)(at_ns - p->base_ns) * 1000 / p->settings.thousandths;
	due_ns = waits_ns > UINT64_MAX - p->base_due_ns ? UINT64_MAX : p->base_due_ns + (uint64_t)waits_ns;
	if (gap_ns && due_ns - p->last_due_ns > gap_ns) {
		due_ns = p->last_due_ns + gap_ns;
		p->base_ns = at_ns;
		p->base_due_ns = due_ns;
	}
	p->last_ns = at_ns;
	p->last_due_ns = due_ns;
	return due_ns;
}

uint64_t pace_announce(struct pace *p, uint64_t at_ns)
{
	uint64_t now_ns, due_ns;

	if (!p->settings.thousandths)
		return 0;
	now_ns = clock_ns(CLOCK_MONOTONIC);
	due_ns = pace_due(p, at_ns, now_ns);
	return due_ns > now_ns && due_ns - now_ns >= PACE_TELL_NS ? due_ns - now_ns : 0;
}

/* Whether nobody can read any more what is written to a pipe, a socket or a terminal. */
static bool reader_gone(int fd)
{
	struct pollfd one = {.fd = fd};

	return poll(&one, 1, 0) == 1 && (one.revents & (POLLERR | POLLHUP));
}

void pace_wait(struct pace *p, struct out *o, uint64_t at_ns)
{
	uint64_t now_ns, due_ns;

	if (!p->settings.thousandths)
		return;
	now_ns = clock_ns(CLOCK_MONOTONIC);
	due_ns = pace_due(p, at_ns, now_ns);
	if (now_ns < due_ns || now_ns - p->flushed_ns >= LOOK_NS) {
		out_flush(o);
		p->flushed_ns = now_ns;
	}
	while (!out_stopped(o) && (now_ns = clock_ns(CLOCK_MONOTONIC)) < due_ns) {
		uint64_t until_ns = due_ns - now_ns > LOOK_NS ? now_ns + LOOK_NS : due_ns;
		struct timespec t = {.tv_sec = (time_t)(until_ns / NS_PER_S), .tv_nsec = (long)(until_ns % NS_PER_S)};

		/* Until a point in time, so that a signal that comes between does not add to it. */
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
		if (reader_gone(o->fd))
			o->error = EPIPE;
	}
}
