/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the JSON, between report_json*.c. */
#ifndef GPUREC_ANALYZE_REPORT_REPORT_JSON_H
#define GPUREC_ANALYZE_REPORT_REPORT_JSON_H

#include "analyze/report/report.h"

/* A thread's number, null if there is none. */
void json_tid(struct json *j, const char *key, uint32_t tid);
/* An occurrence with its cause, as an element of the array "worst". */
void json_worst(struct json *j, const struct worst *w);

#endif
