/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a finding names: processes and threads (replay/model/tasks.h), modules and stacks, as the rows of the classes
 * process, path and symbol report them. Where those are withheld there are numbers without names.
 */
#ifndef GPUREC_ANALYZE_PEOPLE_H
#define GPUREC_ANALYZE_PEOPLE_H

#include <stdbool.h>

#include "analyze/facts/capture_facts.h"
#include "analyze/facts/control_groups.h"
#include "analyze/facts/disk_waits.h"
#include "analyze/facts/network_waits.h"
#include "analyze/facts/stop_signals.h"
#include "analyze/facts/syscall_names.h"
#include "format/base/table.h"
#include "replay/model/kernel_names.h"

#define PROCESSES_MAX 262144 /* process instances distinguished in one capture */
#define PROCESSES_RECENT 64
#define STACKS_MAX 262144 /* stacks whose frames are kept */
#define FRAMES_KEPT 16    /* innermost frames of a stack */
#define SYMBOL_KEPT_BYTES 512
#define MODULES_MAX 65536
#define KERNEL_NAMES_MAX 65536 /* GPU functions whose names are kept */

/* A thread as a finding names it. */
struct who {
	uint64_t tid;
	uint64_t pid; /* 0: not known */
	struct name name;
	struct scheduling scheduling; /* then; its set of CPUs lasts as long as the names do */
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
	struct tasks tasks;                /* its owner sets processes_max */
	uint32_t recent[PROCESSES_RECENT]; /* by PID: current ones, looked up since the last row of tasks; 0: none */
	struct table stacks;               /* struct stack */
	struct table modules;              /* struct module */
	struct kernels kernels;            /* its owner sets max */
	struct refusal refusals[REFUSALS_KEPT]; /* the first ones */
	uint64_t nrefusals;
	uint64_t nunkept;     /* rows beyond the limits above */
	enum machine machine; /* whose numbers system calls have */
	struct control_groups control_groups;
	struct stop_signals stops;
	struct disk_waits disks;
	struct network_waits network;
	struct about about; /* the host, and what the recorder could not see */
};

/*
 * Take in a row of a kind that names something, or fork, exec, exit; others change nothing. Returns 1 when the row
 * shows that `*tid` is from now on another thread than before, else 0, or ERR_MEMORY.
 */
int names_feed(struct names *n, const struct event *ev, uint64_t *tid, struct fault *why);

/* Whether names_feed() does anything with rows of this kind. */
bool names_wants(uint16_t kind);

/* As names_process(), for one that was not looked up lately. */
const struct process *names_look_up(struct names *n, uint64_t pid, uint64_t at_ns);

/*
 * The current instance of a PID, implied if nothing named it before. Valid until the next row is taken in. NULL: the
 * idle task's PID, no memory, or beyond PROCESSES_MAX.
 */
static inline const struct process *names_process(struct names *n, uint64_t pid, uint64_t at_ns)
{
	uint32_t recent = n->recent[pid % PROCESSES_RECENT];

	if (recent && n->tasks.processes[recent].pid == pid)
		return &n->tasks.processes[recent];
	return names_look_up(n, pid, at_ns);
}

/* An instance by number; NULL if there is none. */
static inline const struct process *names_instance(const struct names *n, uint64_t number)
{
	return number && number <= n->tasks.nprocesses ? &n->tasks.processes[number] : NULL;
}

void names_who(const struct names *n, uint64_t tid, struct who *who);
/* The same of an instance by number; 0: whoever has the number `tid` now. */
void names_who_was(const struct names *n, uint64_t tid, uint32_t thread, struct who *who);
/* The control group with the CPU quota that bounds this thread; NULL: none is known. */
const struct control_group *names_quota_of(const struct names *n, uint64_t tid);
/* Likewise of an instance by number. */
const struct control_group *names_quota_of_instance(const struct names *n, uint64_t number);
/* Of its control groups the one that came up against its limit of memory most often; NULL: none is known. */
const struct control_group *names_memory_of(const struct names *n, uint64_t tid);
/* Likewise of an instance by number. */
const struct control_group *names_memory_of_instance(const struct names *n, uint64_t number);
/* For how long the recorder stopped that instance of a process, to attach its probes. */
uint64_t names_held_ns(const struct names *n, uint64_t number);
/* The signal that stopped this thread, which was found stopped at at_ns; NULL: not known. */
const struct stop_signal *names_stop_of(const struct names *n, uint32_t tid, uint64_t at_ns);
/* A symbol's length without the "+0x1f" that says where in the function. */
size_t symbol_function_bytes(const char *symbol, size_t n);
const struct stack *names_stack(const struct names *n, uint64_t number);
const struct module *names_module(const struct names *n, uint64_t number);

void names_clear(struct names *n);

#endif
