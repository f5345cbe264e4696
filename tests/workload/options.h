/* SPDX-License-Identifier: Apache-2.0 */
/* The driver program's command line; --help describes each. */
#ifndef WORKLOAD_OPTIONS_H
#define WORKLOAD_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define EXIT_USAGE 2

struct options {
	const char *truth;
	const char *faults;
	const char *priority; /* NULL: the best that is permitted */
	uint64_t seconds, count, seed, flood, rate, threads, load_after_ms, settle_ms, exit_code;
	bool clean, dlopen, late_dlopen, quiet;
};

/* Fills *opt. Returns 0; EXIT_USAGE after one line on stderr; or -1 when help was asked for. */
int options_read(int argc, char **argv, struct options *opt);

/* All but the list of faults, which is to follow. */
void options_help(FILE *out);

#endif
