/* SPDX-License-Identifier: Apache-2.0 */
#include "record/probe/tracepoints.h"

#include <string.h>

#define TRACING "CONFIG_TRACEPOINTS and CONFIG_BPF_EVENTS"
#define SYSCALLS "CONFIG_FTRACE_SYSCALLS"

const struct tracepoint_use tracepoint_uses[] = {
	{"sched_process_fork", "processes that recorded ones start are not followed", TRACING},
	{"sched_process_exec", "it is not recorded when a process begins to run another program", TRACING},
	{"sched_process_exit", "the ends of threads and processes are not recorded", TRACING},
	{"task_rename", "new names of threads are not recorded", TRACING},
	{"sched_switch", "it is not recorded when a thread ran, and when it waited for a CPU", TRACING},
	{"sched_waking", "it is not recorded who woke a thread", TRACING},
	{"mark_victim", "processes killed because memory ran out are not recorded", TRACING},
	{"page_fault_user", "page faults are not recorded", TRACING " (x86 alone has it)"},
	{"signal_generate", "it is not recorded who stops, continues or ends a process by a signal", TRACING},
	{"sys_enter", "futexes are not recorded", SYSCALLS},
	{"sys_exit", "futexes are not recorded, and libraries that are loaded later are found within a second",
	 SYSCALLS},
};
const size_t ntracepoint_uses = sizeof(tracepoint_uses) / sizeof(tracepoint_uses[0]);

/* Of programs without which a tracepoint's events are there all the same. */
static const struct {
	const char *program, *without;
} others[] = {
	{"on_metrics", "how busy the CPUs are is not recorded"},
	{"on_each_task", "threads that ran before recording began are named only once they are seen"},
	{"on_suspend", "times are read from a slower clock"},
};

const char *refusal_without(const struct refusal *r)
{
	for (size_t i = 0; i < ntracepoint_uses; i++)
		if (!strcmp(tracepoint_uses[i].name, r->tracepoint))
			return tracepoint_uses[i].without;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (!strcmp(others[i].program, r->program))
			return others[i].without;
	return "some events are not recorded";
}
