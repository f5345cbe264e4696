/* SPDX-License-Identifier: Apache-2.0 */
/* Between the files that make up gpureplay: its command line, the files that it writes, and its main(). */
#ifndef GPUREC_REPLAY_GPUREPLAY_INTERNAL_H
#define GPUREC_REPLAY_GPUREPLAY_INTERNAL_H

#include "keys/tool/tool.h"
#include "replay/export/exporter.h"
#include "replay/time_arg.h"
#include "replay/playback.h"

#define CLOCK_NONE (-1)

struct settings {
	struct tool_list trust, delegations;
	const char *capture, *kinds, *output, *withhold;
	bool force, json, unverified, diff, exit_code;
	struct moment from, to;
	int clock; /* --time: enum replay_clock, or CLOCK_NONE */
	struct pace_settings pace;
	struct where *where; /* settings_clear() */
	struct filter filter;
};

/*
 * What returns an int as a status gives -1 when all is well and work can go on, else the status to leave with, after
 * the one sentence about it.
 */

/* The command line. *exporter: what -o asks for, NULL: standard output. paths[2]: the captures that were named. */
int settings_read(struct settings *s, int argc, char **argv, const struct exporter **exporter, const char **paths);
void settings_clear(struct settings *s);

/* The filter's times, kinds and condition, now that the capture is open. */
int settings_complete(struct settings *s, const struct reader *r);

/* What is to be withheld, likewise. */
int settings_complete_narrowing(const struct settings *s, struct replay *replay);

bool is_narrowing(const struct exporter *e);

/* Write s->output. The status to leave with. */
int write_output(const struct settings *s, const struct replay *replay, const struct exporter *exporter);

/* How to leave after a fault: what does not verify is a bad answer, the rest could not be done. */
int status_of(int r);

#endif
