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

/* Text for people, to stdout, wrapped (wrap.h) where that is a terminal. Where tool_ascii is set "µs", "±" and "°C" of
 * numbers become "us", "+-" and "C" in `text`. */
void tool_print(char *text, size_t n);

/*
 * How far work has come, as a line on stderr: only on a terminal, without -q, and once it takes long enough to be
 * inspected. tool_progress() may be called as often as one likes, by one thread, between the two others; the line is
 * gone after tool_progress_end().
 */
void tool_progress_begin(const char *what); /* a literal: "verifying" */
void tool_progress(uint64_t done, uint64_t all);
void tool_progress_end(void);

#define TOOL_DESCRIPTOR_MAX 1023

/* How the value of an option is read, and of what type the object in the tool's settings is that it goes to. */
enum tool_type {
	TOOL_SET,        /* bool: true; the option takes no value */
	TOOL_CLEAR,      /* bool: false; likewise */
	TOOL_TEXT,       /* const char * */
	TOOL_FILE,       /* const char *: not "" */
	TOOL_LIST,       /* struct tool_list: one more, not ""; at most `max`, unless that is 0 */
	TOOL_NUMBER,     /* uint64_t: decimal digits */
	TOOL_DESCRIPTOR, /* int: a descriptor's number */
	TOOL_DURATION,   /* uint64_t: ns; a bare number is refused */
	TOOL_SECONDS,    /* the same, but a bare number is seconds */
	TOOL_SIZE,       /* uint64_t: bytes */
	TOOL_WORD,       /* int, or an enum: which of `words`, counted from 0 */
	TOOL_CALL,       /* take() knows */
};

/*
 * One option of a tool; a table of them ends with a zeroed one. -h/--help, --version and -q/--quiet are understood
 * everywhere and need no line. Given twice, the last one counts, but for lists.
 */
struct tool_option {
	const char *long_name; /* "from" */
	char letter;           /* 'd', or 0 */
	const char *argument;  /* "TIME"; NULL: takes none; "[=OUT]": optional, only as --name=VALUE */
	const char *help;
	enum tool_type type;
	size_t at;                /* of the object: its offset in the settings */
	uint64_t min, max;        /* of numbers, durations, sizes; max 0: any */
	const char *const *words; /* ends with NULL */
	/*
	 * Of TOOL_CALL, with the value (NULL where an optional one is missing). 0; ERR_INPUT, and the sentence why it
	 * is refused; another ERR_*: why it could not be done; or > 0, the exit status, where it has printed why
	 * itself.
	 */
	int (*take)(void *settings, const char *value, struct fault *why);
};

/* The line of a tool that prints more with -v; `help` says what. Each one adds 1 to tool_verbose. */
#define TOOL_VERBOSE(help)                                                                                             \
	{                                                                                                              \
		"verbose", 'v', NULL, help, TOOL_CALL, .take = tool_count_verbose                                      \
	}
int tool_count_verbose(void *settings, const char *value, struct fault *why);

/* What a repeated option gathered; zeroed to begin with. The texts are argv's, the array is the list's. */
struct tool_list {
	const char **items;
	size_t n;
};
void tool_list_clear(struct tool_list *l);

struct tool_options {
	const char *synopsis; /* lines after "usage: ", without the name: "FILE...\n" */
	const char *summary;  /* one sentence */
	const struct tool_option *table;
	const char *more; /* after the option list in --help; may be NULL */
};

/*
 * Read all options of argv into `settings`, whose values are the defaults. -1: go on, with the operands from
 * argv[*operands] on; else the status to leave with: help or version has been printed to stdout, or the one line about
 * a wrong option to stderr. Options may follow operands (argv is permuted as GNU getopt_long does) unless
 * `stop_at_operand`, for what is followed by a command.
 */
int tool_read_options(const struct tool_options *o, bool stop_at_operand, int argc, char **argv, void *settings,
		      int *operands);

/* Flush stdout and report what went wrong with it (full disk): TOOL_FAILED, else `status`. A closed pipe is no fault.
 */
int tool_finish(int status);

#endif
