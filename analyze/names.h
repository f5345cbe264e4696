/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who is who in a capture: process instances, threads, modules and stacks, as the rows of the classes process, path and
 * symbol tell them. Where those are withheld there are numbers without names.
 */
#ifndef GPUREC_ANALYZE_NAMES_H
#define GPUREC_ANALYZE_NAMES_H

#include <stdbool.h>

#include "analyze/about.h"
#include "analyze/syscalls.h"
#include "analyze/table.h"
#include "format/cursor.h"

#define NAME_KEPT_BYTES 32   /* of a thread's or process's name; the kernel gives 15 */
#define PROCESSES_MAX 262144 /* process instances told apart in one capture */
#define STACKS_MAX 262144    /* stacks whose frames are kept */
#define FRAMES_KEPT 16       /* innermost frames of a stack */
#define SYMBOL_KEPT_BYTES 512
#define MODULES_MAX 65536

/* Bytes out of a capture, not escaped, not NUL-terminated. */
struct name {
	char s[NAME_KEPT_BYTES];
	uint8_t len;
};

/* A process instance: pids come round. */
struct process {
	struct table_key key; /* a: its number, counted from 1 in order of appearance */
	uint64_t pid;
	uint64_t start_ns; /* boot clock; 0: no process row told */
	bool tracked;
	uint64_t tracked_since_ns;
	bool exec_seen; /* the program began while recording */
	bool ended;
	uint64_t end_ns;
	struct name name;
};

/* Who has a pid now. */
struct pid_entry {
	struct table_key key; /* a: pid */
	struct process *process;
};

/* A thread as a finding names it. */
struct who {
	uint64_t tid;
	uint64_t pid; /* 0: not known */
	struct name name;
};

struct frame {
	uint64_t address;
	uint64_t offset; /* in the module's file */
	uint64_t module; /* 0: not in a file */
	char *symbol;    /* NULL: none; bytes out of a capture */
	size_t symbol_len;
};

struct stack {
	struct table_key key; /* a: its number in the capture */
	struct frame frames[FRAMES_KEPT];
	unsigned nframes; /* innermost first */
};

struct module {
	struct table_key key; /* a: its number in the capture */
	char *path;           /* bytes out of a capture */
	size_t path_len;
};

#define REFUSALS_KEPT 64

/* A probe that could not be put on a function. */
struct refusal {
	uint64_t probe, module, error; /* errno */
};

/* A zeroed one is empty. */
struct names {
	struct table processes;                 /* struct process, all instances */
	struct table by_pid;                    /* struct pid_entry */
	struct table tasks;                     /* by tid */
	struct table stacks;                    /* struct stack */
	struct table modules;                   /* struct module */
	struct refusal refusals[REFUSALS_KEPT]; /* the first ones */
	uint64_t nrefusals;
	uint64_t nunkept;     /* rows beyond the limits above */
	enum machine machine; /* whose numbers system calls have */
	struct about about;   /* the host, and what the recorder could not see */
};

/*
 * Take in a row of a kind that names something, or fork, exec, exit; others change nothing. Returns 1 when the row
 * shows that `*tid` is from now on another thread than before, else 0, or ERR_MEMORY.
 */
int names_feed(struct names *n, const struct event *ev, uint64_t *tid, struct fault *why);

/* Whether names_feed() does anything with rows of this kind. */
bool names_wants(uint16_t kind);

/* As names_process(), for one of whom nobody has told. */
struct process *names_make(struct names *n, uint64_t pid);

/* The current instance of a pid, made if nobody has told of it; NULL: no memory or beyond PROCESSES_MAX. */
static inline struct process *names_process(struct names *n, uint64_t pid)
{
	const struct pid_entry *entry = table_find(&n->by_pid, pid, 0);

	return entry && entry->process ? entry->process : names_make(n, pid);
}

/* The same, but NULL if nobody has told of it. */
const struct process *names_current(const struct names *n, uint64_t pid);
/* An instance by number; NULL if there is none. */
const struct process *names_instance(const struct names *n, uint64_t number);
/* The process of a thread; 0 if not known. */
uint64_t names_pid_of(const struct names *n, uint64_t tid);
void names_who(const struct names *n, uint64_t tid, struct who *who);
const struct stack *names_stack(const struct names *n, uint64_t number);
const struct module *names_module(const struct names *n, uint64_t number);

void names_clear(struct names *n);

#endif
