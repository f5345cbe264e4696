/* SPDX-License-Identifier: Apache-2.0 */
/* Between the files that make up gpurec: its command line, and its main(). */
#ifndef GPUREC_RECORD_GPUREC_INTERNAL_H
#define GPUREC_RECORD_GPUREC_INTERNAL_H

#include "keys/tool/tool.h"
#include "record/recording.h"

#define PIDS_MAX 1024

struct settings {
	struct recording_options o;
	uint32_t pids[PIDS_MAX]; /* those of `o` */
	struct tool_list libs;   /* likewise */
	uint64_t max_rate;
	int uprobes; /* enum uprobes */
	int wait;    /* enum waits */
	bool check, json;
};

/* The command line, into zeroed settings. -1: go on; else the status to leave with. */
int settings_read(struct settings *s, int argc, char **argv);

#endif
