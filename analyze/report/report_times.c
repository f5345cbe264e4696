// SPDX-License-Identifier: Apache-2.0
#include "analyze/report/report_times.h"

#include <inttypes.h>

static uint64_t since(uint64_t begin_ns, uint64_t at_ns)
{
	return at_ns > begin_ns ? at_ns - begin_ns : 0;
}

void text_add_since(struct text *t, uint64_t begin_ns, uint64_t at_ns)
{
	uint64_t us = since(begin_ns, at_ns) / 1000;

	text_add(t, "+%" PRIu64 ".%06" PRIu64 " s", us / 1000000, us % 1000000);
}

void text_add_replay(struct text *t, uint64_t begin_ns, uint64_t from_ns, uint64_t to_ns, uint32_t tid)
{
	uint64_t from_us = since(begin_ns, from_ns) / 1000, to_us = since(begin_ns, to_ns) / 1000 + 1;

	text_add(t, "gpureplay CAPTURE --from +%" PRIu64 ".%06" PRIu64 "s --to +%" PRIu64 ".%06" PRIu64 "s --tid %u",
		 from_us / 1000000, from_us % 1000000, to_us / 1000000, to_us % 1000000, tid);
}
