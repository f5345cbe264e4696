/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was found, for people and for programs. The same capture, rules, settings and version give the same bytes: no
 * clock, no locale, no file names. docs/REPORTS.md describes all forms.
 */
#ifndef GPUREC_ANALYZE_REPORT_REPORT_H
#define GPUREC_ANALYZE_REPORT_REPORT_H

#include "analyze/engine.h"
#include "analyze/report/html.h"
#include "analyze/user_rules.h"
#include "format/base/json.h"
#include "keys/completeness.h"

#define REPORT_VERSION 1 /* of the JSON */

struct handover;
struct gauges;

struct report {
	const struct evidence *evidence;
	const char *file; /* its name where reports of several captures stand together; NULL: it is the only one */
	const struct engine *engine;
	const struct findings *findings;
	const struct settings *settings;
	const struct user_rules *user_rules; /* may be NULL */
	const struct handover *custody;      /* may be NULL, as if there were none */
	const struct gauges *gauges;         /* may be NULL */
	const struct fault *stopped;         /* why the events end early, which needs --unverified; or NULL */
	uint64_t stopped_ns;                 /* with it: the last event's time */
};

/* Lines of UTF-8 text. Failure (no memory) shows in out->failed, here and below. */
void report_text(const struct report *r, struct text *out);

/* One report of the JSON, as an element of the array "reports" which is open in `j`. */
void report_json(const struct report *r, struct json *j);
/* What stands around them. */
void report_json_begin(struct json *j);
void report_json_end(struct json *j);

/* One run of a SARIF 2.1.0 log, as an element of the array "runs". */
void report_sarif(const struct report *r, struct json *j);
void report_sarif_begin(struct json *j);
void report_sarif_end(struct json *j);

/* One report of the page; `number` counts them from 1. */
void report_html(const struct report *r, unsigned number, struct html *h);
void report_html_begin(struct html *h, const struct report *first); /* NULL: there is none */
void report_html_end(struct html *h);
extern const char report_style[];

/* What all reports say about the capture. */
struct report_facts {
	char capture_id[2 * CAPTURE_ID_BYTES + 1];
	char last_seal[2 * HASH_BYTES + 1];     /* hash of END or of the last seal; "" if there is none */
	char rules_hash[2 * HASH_BYTES + 1];    /* of the rules' names, all settings, and the user's rule files */
	char settings_hash[2 * HASH_BYTES + 1]; /* of all settings */
	uint64_t nepochs;
	uint64_t begin_ns, end_ns; /* boot clock; of what was read */
	bool ended;                /* there is an END */
	struct completeness complete;
	const struct counter *counters;
	uint32_t ncounters;
	uint64_t nrunning; /* tracked processes that ran before recording began */
	uint64_t nwithheld[CLASSES_MAX];
};

/* Lack of memory shows in out->failed. */
void report_gather(const struct report *r, struct report_facts *f, struct text *out);
/* The hash of what `t` holds, `bytes` long, in hexadecimal, and empties it; failure of `t` becomes `out`'s. */
void report_hash(struct text *t, char *hex, size_t bytes, struct text *out);

/*
 * The worst findings but those that only inform, each trouble from one side only, at most `max` of them; their number.
 */
unsigned report_summary(const struct report *r, const struct finding **worst, unsigned max);

#define SUMMARY_MAX 3

/*
 * The run in a line: "python train.py on node17, 4.25 s: 1 error, 3 warnings". What the capture does not report is left
 * out, a long command is cut.
 */
void report_run(const struct report *r, const struct report_facts *f, struct text *t);

/*
 * What the verdict means for a reader, a sentence without full stop: of the capture, not of the run. Whether anything
 * that happened is missing from it is part of the sentence.
 */
void report_meaning(const struct report *r, const struct report_facts *f, struct text *t);

/*
 * Where nothing is out of order but (maybe) the capture itself: the sentence that says so, and what that is worth.
 * False: nothing is to be said, for there are findings.
 */
bool report_nothing(const struct report *r, const struct report_facts *f, struct text *t);

/* There are no calls because they were withheld. */
bool report_withholds_calls(const struct report *r, const struct report_facts *f);

/* Why the table of calls is empty. */
const char *report_no_calls(const struct report *r, const struct report_facts *f);

/* What the capture could not see: sentences, a line each. */
void report_unseen(const struct report *r, const struct report_facts *f, struct text *t);

/* What a finding reports over time, outstanding memory too; false: nothing. */
bool report_series(const struct finding *f, struct series *s);

/* " (800 ms of it in this copy)", where the events of the rest were withheld. */
void report_cut(const struct report *r, struct text *t);

/* "1 epoch", "2 epochs". */
void report_count(struct text *t, uint64_t n, const char *singular);

#endif
