/* SPDX-License-Identifier: Apache-2.0 */
/* Where the time of the threads went that feed the GPU (replay/model/ledger.h). */
#ifndef GPUREC_ANALYZE_REPORT_REPORT_LEDGER_H
#define GPUREC_ANALYZE_REPORT_REPORT_LEDGER_H

#include "analyze/report/report.h"

#define LEDGER_LISTED 64 /* threads that are listed one by one: those with the most time */

/* Those that feed the GPU. */
struct feeders {
	const struct ledger_thread *listed[LEDGER_LISTED]; /* the most time first */
	unsigned nlisted;
	uint64_t n, whole_ns;
	uint64_t ns[LEDGER_PARTS];      /* of all */
	struct waited_list waited;      /* likewise; owned */
	uint64_t nidle;                 /* of how many it is known (ledger_idle()) */
	uint64_t idle_ns[LEDGER_PARTS]; /* of these */
	/* The same over time, of those that have slices: all but those beyond LEDGER_SLICED_MAX. */
	struct ledger_slice *slices; /* owned */
	size_t nslices, slices_room;
	uint64_t begin_ns, slice_ns; /* of the first one; of each */
	uint64_t nunsliced;
};

/* When a slice begins. */
static inline uint64_t feeders_slice_ns(const struct feeders *f, size_t i)
{
	return f->begin_ns + i * f->slice_ns;
}

/* False: no memory. In any case report_feeders_clear() in the end. */
bool report_feeders(const struct report *r, struct feeders *f);
void report_feeders_clear(struct feeders *f);
/* "the thread that feeds the GPU, 4.25 s", "3 threads that feed the GPU, 12.6 s". */
void report_feeders_add(struct text *t, const struct feeders *f);

/*
 * "for 9517 loader (2.71 s: at work), 12 reader (31 ms)": who kept them waiting most in this part; or which disk, whom
 * behind the network, or which control group; "": not known.
 */
void report_waited_add(struct text *t, const struct report *r, const struct feeders *f, enum ledger_part part);

/* "2.77 s (55.4 %): 2.60 s t, 102 ms o": for how long, at least, the GPU had no work of theirs; only if nidle > 0. */
void report_idle_add(struct text *t, const struct feeders *f);

/* A few lines: all of them together. Nothing where no thread fed the GPU. */
void report_ledger_text(const struct report *r, struct text *t);

/* Member "ledger". */
void report_ledger_json(const struct report *r, struct json *j);

#endif
