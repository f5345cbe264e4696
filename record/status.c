/* SPDX-License-Identifier: Apache-2.0 */
#include "record/status.h"

#include <stdio.h>
#include <string.h>

#include "format/base/units.h"
#include "keys/tool/tool.h"

#define SECOND_NS 1000000000u

void status_begin(struct status *s, uint64_t now_ns)
{
	memset(s, 0, sizeof(*s));
	s->begin_ns = s->last_ns = now_ns;
}

void status_look(struct status *s, uint64_t now_ns, const struct counter *rows, size_t n)
{
	uint64_t recorded, lost, left_out, passed_ns = now_ns - s->last_ns;
	struct counter_sums sums;

	counters_sum(rows, n, &sums);
	recorded = sums.recorded;
	left_out = sums.absent[ABSENCE_LEFT_OUT];
	lost = sums.absent[ABSENCE_LOST];
	if (recorded < s->recorded || lost < s->lost || left_out < s->left_out) { /* another capture */
		s->lost_before += s->lost;
		s->left_out_before += s->left_out;
		s->recorded = 0;
	}
	if (passed_ns)
		s->rate = (uint64_t)((double)(recorded - s->recorded) * SECOND_NS / (double)passed_ns + 0.5);
	s->recorded = recorded;
	s->lost = lost;
	s->left_out = left_out;
	s->nlost = s->lost_before + lost;
	s->nleft_out = s->left_out_before + left_out;
	s->last_ns = now_ns;
}

/* "7s", "4m 12s", "3h 04m" */
static void span(char *buf, size_t size, uint64_t ns)
{
	unsigned long long s = (ns + SECOND_NS / 2) / SECOND_NS;

	if (s < 60)
		snprintf(buf, size, "%llus", s);
	else if (s < 3600)
		snprintf(buf, size, "%llum %02llus", s / 60, s % 60);
	else
		snprintf(buf, size, "%lluh %02llum", s / 3600, s / 60 % 60);
}

void status_line(char buf[STATUS_BYTES], const struct status *s, uint64_t now_ns, uint64_t written_bytes,
		 uint64_t max_bytes, uint64_t deadline_ns)
{
	char size[UNITS_CHARS], most[4 + UNITS_CHARS] = "", chosen[48] = "", time[32];

	size_text(size, written_bytes);
	if (max_bytes) {
		strcpy(most, " of ");
		size_text(most + 4, max_bytes);
	}
	if (s->nleft_out)
		snprintf(chosen, sizeof(chosen), ", %llu left out", (unsigned long long)s->nleft_out);
	if (deadline_ns)
		span(time, sizeof(time), deadline_ns > now_ns ? deadline_ns - now_ns : 0);
	else
		span(time, sizeof(time), now_ns - s->begin_ns);
	snprintf(buf, STATUS_BYTES, "%llu events/s, %llu lost%s, %s%s, %s%s", (unsigned long long)s->rate,
		 (unsigned long long)s->nlost, chosen, size, most, time, deadline_ns ? " left" : "");
}
