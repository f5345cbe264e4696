/* SPDX-License-Identifier: Apache-2.0 */
/* Between the files that make up gpuanalyze: its command line, and its main(). */
#ifndef GPUREC_ANALYZE_GPUANALYZE_INTERNAL_H
#define GPUREC_ANALYZE_GPUANALYZE_INTERNAL_H

#include <sys/types.h>

#include "analyze/report/report_formats.h"
#include "analyze/rules_help.h"
#include "analyze/user_rules.h"
#include "keys/evidence.h"
#include "keys/tool/tool.h"
#include "replay/time_arg.h"

#define FAIL_NEVER SEVERITIES

/* What is asked for. */
struct request {
	struct evidence_options evidence;
	struct tool_list trust, delegations; /* those of `evidence` */
	const char *baseline;                /* NULL: none */
	struct moment at;                    /* --at */
	uint64_t tid;                        /* --tid; 0: none */
	bool force, json, list_rules, exit_code;
	mode_t mode;         /* of OUT: what all captures allow */
	bool bare_report;    /* --report without a value */
	const char *explain; /* NULL: none */
	const char *out;     /* NULL: standard output */
	enum form out_form;
	int fail_on; /* enum severity, or FAIL_NEVER */
	struct settings settings;
	struct user_rules rules;
	struct forms forms; /* of all files */
};

/*
 * The command line, into `q` whose arrays have room for `argc` files each. -1: go on with argv[*operands...]; else the
 * status to leave with, after the one sentence about it.
 */
int request_read(struct request *q, int argc, char **argv, int *operands);

#endif
