// SPDX-License-Identifier: Apache-2.0
#include "analyze/remedy.h"

/*
 * Of two that want one CPU, a gets it, or more of it. Nice values count within one control group only: of threads of
 * two processes it is not known whether they are in one.
 */
static bool goes_before(const struct who *a, const struct who *b)
{
	bool comparable = a->pid && a->pid == b->pid;

	if (scheduling_is_real_time(&a->scheduling) || scheduling_is_real_time(&b->scheduling))
		comparable = true;
	return comparable && a->scheduling.known && b->scheduling.known &&
	       scheduling_rank(&a->scheduling) > scheduling_rank(&b->scheduling);
}

const char *cpu_remedy(const struct who *without, const struct who *keeper, bool barred)
{
	if (without && keeper && goes_before(keeper, without)) {
		if (scheduling_is_real_time(&keeper->scheduling))
			return "The thread that had the CPU is real-time and goes before all that are not: take that from "
			       "it (chrt), or keep it to CPUs of its own (taskset, cpuset)";
		return "The thread that had no CPU has a lower priority than the one that ran there: give it the same (nice, "
		       "chrt), or a CPU of its own";
	}
	if (barred)
		return "Let the thread that had no CPU run on more of them (taskset, cpuset), or take others off those on "
		       "which it may run";
	return NULL;
}

const char *explained_cpu_remedy(const struct explained *e)
{
	const struct split *last = &e->cause.links[e->cause.nlinks - 1];
	const struct part *p = split_longest(last, CAUSE_RUNNABLE);

	if (!p || p->joined)
		return NULL;
	return cpu_remedy(explained_who(e, last->tid), explained_who(e, p->tid), p->idle_barred);
}

bool explained_is_inversion(const struct explained *e)
{
	const struct cause *c = &e->cause;
	const struct who *waiter = explained_who(e, c->links[0].tid);
	const struct who *holder = explained_who(e, c->links[c->nlinks - 1].tid);
	const struct who *keeper = explained_who(e, explained_keeper(e));

	return c->end == CHAIN_NO_CPU && c->nlinks > 1 && waiter && holder && keeper && goes_before(waiter, keeper) &&
	       goes_before(keeper, holder);
}

/* Requests to a disk that waited in its queue for most of the time, as far as that is known. */
static bool is_queued(const struct disk_use *use)
{
	return use->timed_ns > use->dur_ns / 2 && use->service_ns < use->timed_ns / 2;
}

const char *disk_remedy(const struct disk_use *use)
{
	if (!use)
		return NULL;
	if (use->failed)
		return "Requests to that disk failed: see what the kernel reports of it (dmesg, smartctl)";
	if (is_queued(use))
		return "Requests to that disk waited in its queue for most of the time: see who else uses it (iotop, "
		       "io.stat), or put the data on another one";
	return NULL;
}

const char *network_remedy(const struct network_use *use)
{
	if (use && (use->retransmitted || use->disordered))
		return "Segments were lost on the way: see the network between here and there (ss -ti, ip -s link, nstat)";
	return "See what the other end did then (gpurec there, or its logs); ask earlier, for more at once, or through "
	       "more connections, so that nobody waits for one answer";
}

const char *memory_remedy(uint32_t flags)
{
	if (flags & SPAN_LIMIT)
		return "Raise the limit of that control group (memory.max, memory.high), or let what is in it use less: files "
		       "that it reads and writes count, too";
	if (flags & SPAN_COMPACT)
		return "Do not have huge pages made at once (transparent_hugepage/defrag: defer), or reserve them";
	if (flags & SPAN_SWAP)
		return "Have less of it swapped out: give the host or the control group more memory, or forbid it to swap "
		       "(memory.swap.max, vm.swappiness, mlockall)";
	return "See what has the memory (/proc/meminfo, memory.stat), and let it have less, or the host more";
}

static uint32_t flags_of(const struct part *p)
{
	return p ? p->flags : 0;
}

const char *cause_remedy(const struct explained *e, enum cause_class class)
{
	switch (class) {
	case CAUSE_QUOTA:
		return "Raise the CPU quota of that control group, or start fewer computing threads in it";
	case CAUSE_STOPPED:
		return "Find why it was stopped: a job scheduler that suspends jobs, a debugger or profiler, a "
		       "snapshot";
	case CAUSE_FAULT:
		return "Touch or pin the memory before (MAP_POPULATE, mlock, pin_memory), and keep the host from "
		       "swapping";
	case CAUSE_MEMORY:
		return memory_remedy(e ? flags_of(split_longest(&e->cause.links[0], class)) : 0);
	case CAUSE_RUNNABLE:
		return e ? explained_cpu_remedy(e) : NULL;
	case CAUSE_IO:
		if (e && flags_of(split_longest(&e->cause.links[0], class)) & SPAN_WRITES)
			return WRITES_REMEDY;
		return disk_remedy(e ? &e->disk[0] : NULL);
	case CAUSE_NETWORK:
		return network_remedy(e ? &e->network[0] : NULL);
	default:
		return NULL;
	}
}
