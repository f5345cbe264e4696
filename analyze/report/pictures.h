/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pictures of the report. Each is a <figure> whose caption reports units and whatever is to be known to read it,
 * and whose numbers are in the page as text, too. Where there is nothing to draw nothing is written.
 */
#ifndef GPUREC_ANALYZE_REPORT_PICTURES_H
#define GPUREC_ANALYZE_REPORT_PICTURES_H

#include "analyze/facts/gpu_gauges.h"
#include "analyze/report/html.h"
#include "analyze/report/report.h"
#include "analyze/report/report_ledger.h"

/* When the findings happened, over the whole capture: a row for each of the first ones. */
void picture_overview(struct html *h, const struct report *r, const struct report_facts *facts);

/* What the thread of a slow call and those behind it were doing, with the split of its time below. `what`: "the call".
 */
void picture_scene(struct html *h, const struct report_facts *facts, const struct worst *w, const char *what);
/* The split alone, as a list with the colours. */
void picture_split(struct html *h, const struct split *s);

/* How long the occurrences of a finding took, among all calls of its function (`all` may be NULL). */
void picture_durations(struct html *h, const char *function, const struct hist *all, const struct finding *f);

/* What the finding reports over time: outstanding memory, a clock, a temperature. */
void picture_series(struct html *h, const struct report_facts *facts, const struct finding *f);

/* Who waits in the futex, who wakes them, and who kept those from it. */
void picture_futex(struct html *h, const struct finding *f);

/* Where the time went of the threads that feed the GPU, over time. */
void picture_ledger(struct html *h, const struct report_facts *facts, const struct feeders *f);
/* Class of the style sheet for a part of it. */
const char *picture_part_class(enum ledger_part part);

/* Temperature, power, clock and use of the GPUs over time. */
void picture_health(struct html *h, const struct report_facts *facts, const struct gauges *gauges);

/* A thread's name, escaped, of it at most so many characters; "thread" if it has none. */
void picture_add_name(struct text *t, const struct who *who, unsigned most);
/* Class of the style sheet for a cause. */
const char *picture_class(unsigned cause_class);
/* A small square in that colour. */
void picture_swatch(struct html *h, const char *class);

#endif
