/* SPDX-License-Identifier: Apache-2.0 */
#include "format/tracepoints.h"

#include <string.h>

#define TRACING "CONFIG_TRACEPOINTS and CONFIG_BPF_EVENTS"
#define NETWORK "for which connection a thread slept"
#define RECLAIM "when threads had to free memory by themselves"
#define SYSCALLS "CONFIG_FTRACE_SYSCALLS"

const struct tracepoint tracepoints[] = {
	{"sched_process_fork", "processes and threads that recorded ones started", TRACING, false},
	{"sched_process_exec", "when a process began to run another program", TRACING, false},
	{"sched_process_exit", "when threads and processes ended", TRACING, false},
	{"task_rename", "new names of threads", TRACING, true},
	{"sched_switch", "when threads ran, waited for a CPU or slept", TRACING, false},
	{"sched_waking", "who woke a thread, and when", TRACING, false},
	{"sched_wakeup", "for which CPU a woken thread waits, and who has that", TRACING, true},
	{"hrtimer_expire_entry", "which sleeps ended because their time was up", TRACING, true},
	{"mark_victim", "processes that were killed because memory ran out", TRACING, false},
	{"page_fault_user", "page faults, which then look like some sleep", TRACING " (x86 alone has it)", true},
	{"signal_generate", "who stopped, continued or ended processes by a signal", TRACING, true},
	{"block_rq_complete", "for which request to which disk a thread slept", TRACING " and CONFIG_BLOCK", true},
	{"balance_dirty_pages", "whose writes were held back for a disk", TRACING, true},
	{"tcp_probe", NETWORK, TRACING " and CONFIG_INET", true},
	{"inet_sock_set_state", NETWORK ", when that began or ended", TRACING " and CONFIG_INET", true},
	{"mm_vmscan_direct_reclaim_begin", RECLAIM, TRACING, true},
	{"mm_vmscan_direct_reclaim_end", RECLAIM, TRACING, true},
	{"mm_vmscan_memcg_reclaim_begin", RECLAIM " at a limit", TRACING " and CONFIG_MEMCG", true},
	{"mm_vmscan_memcg_reclaim_end", RECLAIM " at a limit", TRACING " and CONFIG_MEMCG", true},
	{"mm_compaction_begin", RECLAIM " in one piece", TRACING " and CONFIG_COMPACTION", true},
	{"mm_compaction_end", RECLAIM " in one piece", TRACING " and CONFIG_COMPACTION", true},
	{"sys_enter", "waits in futexes, and in which system call a thread slept", SYSCALLS, false},
	{"sys_exit", "waits in futexes, and when libraries are loaded (they are found within a second)", SYSCALLS,
	 false},
};
const size_t ntracepoints = sizeof(tracepoints) / sizeof(tracepoints[0]);

const struct tracepoint *tracepoint_find(const char *name, size_t n)
{
	for (size_t i = 0; i < ntracepoints; i++)
		if (strlen(tracepoints[i].name) == n && memcmp(tracepoints[i].name, name, n) == 0)
			return &tracepoints[i];
	return NULL;
}

const char *tracepoint_next(const char **at, size_t *n)
{
	const char *name = *at + strspn(*at, ", ");

	*n = strcspn(name, ", ");
	*at = name + *n;
	return *n ? name : NULL;
}

bool tracepoint_named(const char *text, const char *tracepoint)
{
	const char *name;
	size_t n;

	while ((name = tracepoint_next(&text, &n)))
		if (n == strlen(tracepoint) && memcmp(name, tracepoint, n) == 0)
			return true;
	return false;
}
