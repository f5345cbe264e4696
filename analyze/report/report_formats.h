/* SPDX-License-Identifier: Apache-2.0 */
/* The forms that a report can take, as a list; several captures come into one document of each form. */
#ifndef GPUREC_ANALYZE_REPORT_REPORT_FORMATS_H
#define GPUREC_ANALYZE_REPORT_REPORT_FORMATS_H

#include "analyze/report/report.h"

enum form { FORM_TEXT = 0, FORM_JSON, FORM_SARIF, FORM_HTML, FORMS };

struct forms {
	bool wanted[FORMS];
	struct text out[FORMS];
	struct json json, sarif; /* into out[] */
	struct html html;
	unsigned nreports;
};

/* By how a file's name ends; FORMS: it is none of ".txt", ".json", ".sarif", ".html". */
enum form form_of(const char *path);
/* ".txt, .json, .sarif or .html", for messages. */
const char *forms_endings(void);

/* Once `wanted` is filled in; it must stay where it is. */
void forms_begin(struct forms *f);
void forms_add(struct forms *f, const struct report *r);
/* False: no memory, once; what out[] holds is incomplete then. */
bool forms_end(struct forms *f);
void forms_clear(struct forms *f);

#endif
