/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the five command-line tools have in common: names, messages, options. Used by their main files only;
 * this is the one place below main() that prints.
 */
#ifndef GPUREC_KEYS_TOOL_TOOL_H
#define GPUREC_KEYS_TOOL_TOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/fault.h"

#define TOOL_VERSION "0.1.0"

/* Exit statuses of all tools but gpuverify (format/verify.h). */
enum tool_exit { TOOL_FINE = 0, TOOL_BAD = 1, TOOL_USAGE = 2, TOOL_FAILED = 3 };

extern bool tool_quiet;  /* -q: no notes */
extern int tool_verbose; /* -v: how many */
extern bool tool_ascii;  /* the environment's locale has no UTF-8: text for people is ASCII, but for names */

/* First thing in main(): the name before every message. Opens /dev/null on closed standard descriptors, ignores
 * SIGPIPE and SIGXFSZ: writing fails with EPIPE or EFBIG. */
void tool_init(const char *name);
const char *tool_get_name(void);

/* To stderr, "name: text\n", text escaped for a terminal. Notes are silent with -q. */
__attribute__((format(printf, 1, 2))) void tool_note(const char *fmt, ...);
__attribute__((format(printf, 1, 2))) void tool_error(const char *fmt, ...);
/* The one line of a wrong option, with "(NAME --help shows the options)"; returns TOOL_USAGE. */
__attribute__((format(printf, 1, 2))) int tool_usage(const char *fmt, ...);
/* Print the fault, with `about` (a path, or NULL) before it, and where; returns TOOL_FAILED. */
int tool_fault(const char *about, const struct fault *why);

/* Text for people, to stdout. Where tool_ascii is set "µs", "±" and "°C" of numbers become "us", "+-" and "C" in `text`. */
void tool_print(char *text, size_t n);

/*
 * How far work has come, as a line on stderr: only on a terminal, without -q, and once it takes long enough to be
 * looked at. tool_progress() may be called as often as one likes, by one thread, between the two others; the line is
 * gone after tool_progress_end().
 */
void tool_progress_begin(const char *what); /* a literal: "verifying" */
void tool_progress(uint64_t done, uint64_t all);
void tool_progress_end(void);

/*
 * One option of a tool; a table of them ends with a zeroed one. -h/--help, --version, -q/--quiet, -v/--verbose are
 * understood everywhere and need no line.
 */
struct tool_option {
	const char *long_name; /* "from" */
	char letter;           /* 'd', or 0 */
	const char *argument;  /* "TIME"; NULL: takes none; "[=OUT]": optional, only as --name=VALUE */
	const char *help;
	int id; /* what tool_next_option() returns; > 0 */
};

struct tool_options {
	const char *synopsis; /* lines after "usage: ", without the name: "FILE...\n" */
	const char *summary;  /* one sentence */
	const struct tool_option *table;
	const char *more; /* after the option list in --help; may be NULL */
};

/*
 * Steps through argv: returns an option's id with *value set (NULL if it has none); 0 at the first operand or "--"
 * (whose index is then *operands); -1 when the program should return *status at once: help and version have been
 * printed to stdout, or the one line about a wrong option to stderr. Options may follow operands for tools that set
 * no COMMAND: `stop_at_operand` false permutes as GNU getopt_long does.
 */
int tool_next_option(const struct tool_options *o, bool stop_at_operand, int argc, char **argv, const char **value,
		     int *operands, int *status);

/* Flush stdout and report what went wrong with it (full disk): TOOL_FAILED, else `status`. A closed pipe is no fault.
 */
int tool_finish(int status);

#endif
