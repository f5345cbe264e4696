/* SPDX-License-Identifier: Apache-2.0 */
/* Moments of a run, as reports name them. */
#ifndef GPUREC_ANALYZE_REPORT_REPORT_TIMES_H
#define GPUREC_ANALYZE_REPORT_REPORT_TIMES_H

#include "format/base/text.h"

/* "+12.345678 s": since begin_ns, which is before or the same. */
void text_add_since(struct text *t, uint64_t begin_ns, uint64_t at_ns);
/* What shows a thread's events of that time, to be copied: "gpureplay CAPTURE --from +1.2s --to +1.3s --tid 7". */
void text_add_replay(struct text *t, uint64_t begin_ns, uint64_t from_ns, uint64_t to_ns, uint32_t tid);

#endif
