// SPDX-License-Identifier: Apache-2.0
#include "replay/model/ledger_slices.h"

#include <string.h>

#include "format/base/array.h"

void ledger_slices_join(struct ledger_thread *t, uint64_t slice_ns)
{
	for (; t->slice_ns < slice_ns; t->slice_ns *= 2) {
		size_t n = 0;

		for (size_t i = 0; i < t->nslices; i++) {
			size_t at = (t->first_slice + i) / 2 - t->first_slice / 2;
			struct ledger_slice one = t->slices[i];

			if (at == n)
				t->slices[n++] = one;
			else
				for (unsigned p = 0; p < LEDGER_PARTS; p++)
					t->slices[at].ns[p] += one.ns[p];
		}
		t->first_slice /= 2;
		t->nslices = n;
	}
}

struct ledger_slice *ledger_slice_at(struct ledger *l, struct ledger_thread *t, uint64_t at_ns)
{
	uint64_t i, begin_ns;

	while ((i = (at_ns - l->begin_ns) / l->slice_ns) >= LEDGER_SLICES)
		l->slice_ns *= 2;
	ledger_slices_join(t, l->slice_ns);
	if (!t->nslices)
		t->first_slice = i;
	begin_ns = l->begin_ns + i * l->slice_ns;
	i -= t->first_slice;
	if (i >= t->nslices) {
		if (!array_at(&t->slices, &t->slices_room, i, sizeof(*t->slices)))
			return NULL;
		memset(&t->slices[t->nslices], 0, (i + 1 - t->nslices) * sizeof(*t->slices));
		t->nslices = i + 1;
	}
	if (i == t->nslices - 1) {
		t->latest_ns = begin_ns;
		t->latest_end_ns = begin_ns + l->slice_ns;
	}
	return &t->slices[i];
}

uint64_t ledger_spent(const struct ledger *l, uint64_t tid, uint64_t since_ns, uint64_t ns[LEDGER_PARTS])
{
	const struct ledger_thread *t = ledger_find(l, tid);
	uint64_t first_ns = NO_TIME;

	memset(ns, 0, LEDGER_PARTS * sizeof(*ns));
	for (size_t i = t ? t->nslices : 0; i > 0; i--) {
		uint64_t slice_ns = l->begin_ns + (t->first_slice + i - 1) * t->slice_ns;

		if (slice_ns < since_ns)
			break;
		first_ns = slice_ns;
		for (unsigned p = 0; p < LEDGER_PARTS; p++)
			ns[p] += t->slices[i - 1].ns[p];
	}
	return first_ns;
}
