/* SPDX-License-Identifier: Apache-2.0 */
/* The explanation of one moment (analyze/at.h), for people and as a JSON object. */
#ifndef GPUREC_ANALYZE_REPORT_REPORT_AT_H
#define GPUREC_ANALYZE_REPORT_REPORT_AT_H

#include "analyze/pass.h"

void at_text(const struct at *a, const struct pass *p, const struct evidence *e, struct text *t);
void at_json(const struct at *a, const struct pass *p, const struct evidence *e, struct text *t);

#endif
