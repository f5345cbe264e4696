// SPDX-License-Identifier: Apache-2.0
#include "analyze/explain.h"

#include <inttypes.h>
#include <string.h>

#include "format/base/cpu_list.h"
#include "format/base/units.h"
#include "replay/model/enum_names.h"

static void remember(struct explained *e, const struct names *names, uint32_t tid)
{
	if (tid == TID_NONE || explained_who(e, tid) || e->nwhos == EXPLAINED_WHOS_MAX)
		return;
	names_who(names, tid, &e->whos[e->nwhos++]);
}

/* The signal that stopped the link's thread in the longest stretch that it was stopped for. */
static struct stop_signal stop_of(const struct names *names, const struct split *s)
{
	const struct part *p = split_longest(s, CAUSE_STOPPED);
	const struct stop_signal *stop = NULL;

	if (p && !p->joined && !(p->flags & SPAN_FROZEN) && !(p->task_state & TASK_TRACED_BIT))
		stop = names_stop_of(names, s->tid, p->longest_begin_ns);
	return stop ? *stop : (struct stop_signal){0};
}

static struct disk_use disk_of(const struct names *names, const struct split *s)
{
	struct disk_use use = {0};

	if (s->ns[CAUSE_IO] || s->ns[CAUSE_FAULT])
		disk_waits_sum(&names->disks, s->tid, s->begin_ns, s->end_ns, &use);
	return use;
}

static struct network_use network_of(const struct names *names, const struct split *s)
{
	struct network_use use = {0};

	if (s->ns[CAUSE_NETWORK] || s->ns[CAUSE_ASLEEP])
		network_waits_sum(&names->network, s->tid, s->begin_ns, s->end_ns, &use);
	return use;
}

void explain(struct explained *e, const struct timeline *tl, const struct names *names, uint32_t tid, uint64_t begin_ns,
	     uint64_t end_ns)
{
	e->nwhos = 0;
	e->machine = names->machine;
	e->unreported = names->about.unreported;
	cause_find(&e->cause, tl, tid, begin_ns, end_ns);
	for (unsigned i = 0; i < e->cause.nlinks; i++) {
		const struct split *s = &e->cause.links[i];

		remember(e, names, s->tid);
		e->quota[i] = s->ns[CAUSE_QUOTA] ? names_quota_of(names, s->tid) : NULL;
		e->memory[i] = s->ns[CAUSE_MEMORY] ? names_memory_of(names, s->tid) : NULL;
		e->stop[i] = stop_of(names, s);
		e->disk[i] = disk_of(names, s);
		e->network[i] = network_of(names, s);
		if (e->stop[i].number && !e->stop[i].by_kernel)
			remember(e, names, e->stop[i].sender_tid);
	}
	for (unsigned i = 0; i < e->cause.nlinks; i++)
		for (unsigned k = 0; k < e->cause.links[i].nparts; k++)
			remember(e, names, e->cause.links[i].parts[k].tid);
}

void explained_copy(struct explained *to, const struct explained *from)
{
	const struct cause *cause = &from->cause;

	to->cause.nlinks = cause->nlinks;
	to->cause.end = cause->end;
	to->cause.cycle_tid = cause->cycle_tid;
	memcpy(to->cause.links, cause->links, cause->nlinks * sizeof(cause->links[0]));
	to->nwhos = from->nwhos;
	memcpy(to->quota, from->quota, cause->nlinks * sizeof(from->quota[0]));
	memcpy(to->memory, from->memory, cause->nlinks * sizeof(from->memory[0]));
	memcpy(to->stop, from->stop, cause->nlinks * sizeof(from->stop[0]));
	memcpy(to->disk, from->disk, cause->nlinks * sizeof(from->disk[0]));
	memcpy(to->network, from->network, cause->nlinks * sizeof(from->network[0]));
	memcpy(to->whos, from->whos, from->nwhos * sizeof(from->whos[0]));
	to->machine = from->machine;
	to->unreported = from->unreported;
}

const struct who *explained_who(const struct explained *e, uint32_t tid)
{
	for (unsigned i = 0; i < e->nwhos; i++)
		if (e->whos[i].tid == tid)
			return &e->whos[i];
	return NULL;
}

uint32_t explained_keeper(const struct explained *e)
{
	const struct split *last = &e->cause.links[e->cause.nlinks - 1];

	if (e->cause.end == CHAIN_NO_CPU) {
		const struct part *p = split_longest(last, CAUSE_RUNNABLE);

		return p ? p->tid : TID_NONE;
	}
	if (e->cause.end == CHAIN_STOPPED) {
		const struct stop_signal *stop = &e->stop[e->cause.nlinks - 1];

		return stop->number && !stop->by_kernel ? stop->sender_tid : TID_NONE;
	}
	return e->cause.end == CHAIN_RAN && e->cause.nlinks > 1 ? last->tid : TID_NONE;
}

/* What it did for longest, but for what is listed; CAUSE_CLASSES: nothing more. */
static unsigned next_did(const uint64_t *did_ns, unsigned listed)
{
	unsigned most = CAUSE_CLASSES;

	for (unsigned c = 0; c < CAUSE_CLASSES; c++)
		if (!(listed >> c & 1) && cause_class_doing((enum cause_class)c) && did_ns[c] &&
		    (most == CAUSE_CLASSES || did_ns[c] > did_ns[most]))
			most = c;
	return most;
}

void text_add_doing(struct text *t, const char *before, const uint64_t *did_ns, uint64_t ns)
{
	unsigned listed = 0, c;

	while ((c = next_did(did_ns, listed)) < CAUSE_CLASSES && did_ns[c] >= ns / 10) {
		text_add(t, "%s%s", listed ? ", " : before, cause_class_doing((enum cause_class)c));
		if (did_ns[c] >= ns - ns / 10)
			return;
		text_add(t, " for ");
		text_add_ns(t, did_ns[c]);
		listed |= 1U << c;
	}
}

void text_add_who(struct text *t, const struct who *who)
{
	if (!who) {
		text_add(t, "an unknown thread");
		return;
	}
	if (who->tid == TID_IDLE) {
		text_add(t, "the idle task");
		return;
	}
	text_add(t, "%" PRIu64, who->tid);
	if (who->name.len) {
		text_add(t, " ");
		text_add_escaped(t, who->name.s, who->name.len);
	}
}

static void add_tid(struct text *t, const struct explained *e, uint32_t tid)
{
	const struct who *who = explained_who(e, tid);

	if (who)
		text_add_who(t, who);
	else if (tid == TID_NONE)
		text_add(t, "an unknown thread");
	else
		text_add(t, "%u", tid);
}

void text_add_how(struct text *t, const char *before, const struct scheduling *how, const char *after)
{
	bool is_normal = how->policy == POLICY_NORMAL;
	const char *policy = enum_word(KIND_scheduling, F_scheduling_policy, how->policy);

	if (!how->known || (is_normal && how->nice == 0))
		return;
	text_add(t, "%s", before);
	if (!is_normal && policy)
		text_add(t, "%s", policy);
	else if (!is_normal)
		text_add(t, "policy %u", how->policy);
	if (how->priority)
		text_add(t, " %u", how->priority);
	if (how->nice && !how->priority)
		text_add(t, "%snice %d", is_normal ? "" : ", ", how->nice);
	text_add(t, "%s", after);
}

/* A thread with how it is scheduled. */
static void add_tid_how(struct text *t, const struct explained *e, uint32_t tid)
{
	const struct who *who = explained_who(e, tid);

	add_tid(t, e, tid);
	if (who)
		text_add_how(t, " (", &who->scheduling, ")");
}

static const char *why_unknown(const struct explained *e, const struct part *p)
{
	static const char *const reasons[] = {
		"not recorded",
		"lost, withheld or never recorded",
		"longer ago than is kept",
		"what is recorded does not fit together",
	};

	if (e->unreported && p && !p->joined && (p->reason == UNKNOWN_LOST || p->reason == UNKNOWN_CONTRADICTED))
		return "this kernel does not report it";
	return p && !p->joined ? reasons[p->reason] : "for several reasons";
}

/* " in system call ioctl (state D)"; what is known of a sleep that is none in a futex. */
static void add_sleep(struct text *t, const struct explained *e, const struct part *p)
{
	const char *name = p->syscall ? syscall_name(e->machine, p->syscall - 1) : NULL;

	if (name)
		text_add(t, " in system call %s", name);
	else if (p->syscall)
		text_add(t, " in system call %u", p->syscall - 1);
	if (p->class == CAUSE_ASLEEP)
		text_add(t, " (state %s)", task_state_letter(p->task_state));
}

void text_add_disk(struct text *t, const struct disk_use *use)
{
	uint32_t device = use->longest.device;

	if (use->name)
		text_add_escaped(t, use->name->s, use->name->nbytes);
	else if (device)
		text_add(t, "device %u:%u", device >> 20, device & 0xfffff);
	else
		text_add(t, "an unknown device");
}

void text_add_disk_use(struct text *t, const struct disk_use *use)
{
	const char *one = enum_word(KIND_disk, F_disk_operation, use->longest.operation);

	text_add_disk(t, use);
	text_add(t, "%s: ", use->more ? " and others" : "");
	if (use->requests == 1)
		text_add(t, "a %s of ", one ? one : "request");
	else
		text_add(t, "%" PRIu64 " %s of ", use->requests, use->reads ? "reads" : "requests");
	text_add_size(t, use->bytes);
	text_add(t, ", which took ");
	text_add_ns(t, use->dur_ns);
	if (use->timed_ns) {
		text_add(t, ", of that ");
		text_add_ns(t, use->service_ns);
		text_add(t, " in the device");
	}
	if (use->failed)
		text_add(t, "; %" PRIu64 " failed", use->failed);
}

/* The requests that a link's thread slept for. */
static void add_disk(struct text *t, const struct explained *e, const struct split *s)
{
	const struct disk_use *use = &e->disk[s - e->cause.links];

	if (!use->requests)
		return;
	text_add(t, " (");
	text_add_disk_use(t, use);
	text_add(t, ")");
}

void text_add_peer(struct text *t, const struct network_peer *peer)
{
	if (peer)
		text_add_escaped(t, peer->s, peer->nbytes);
	else
		text_add(t, "an unknown peer");
}

void text_add_network_use(struct text *t, const struct network_use *use)
{
	text_add_peer(t, use->longest.peer);
	text_add(t, "%s: ", use->more ? " and others" : "");
	if (use->waits == 1)
		text_add(t, "once");
	else
		text_add(t, "%" PRIu64 " times", use->waits);
	if (use->dur_ns) {
		text_add(t, ", ");
		text_add_ns(t, use->dur_ns);
		text_add(t, " in all");
	}
	if (use->retransmitted)
		text_add(t, "; %" PRIu64 " segment%s had to be sent again", use->retransmitted,
			 plural(use->retransmitted));
	if (use->disordered)
		text_add(t, "; %" PRIu64 " came out of order", use->disordered);
}

/* What a link's thread waited for. */
static void add_network(struct text *t, const struct explained *e, const struct split *s)
{
	const struct network_use *use = &e->network[s - e->cause.links];

	if (!use->waits)
		return;
	text_add(t, " (");
	text_add_network_use(t, use);
	text_add(t, ")");
}

/* "stopped by SIGSTOP from 25143 bash, let go on by 25143 bash": the longest stretch that a link was stopped for. */
static void add_stopped(struct text *t, const struct explained *e, const struct split *s)
{
	const struct part *p = split_longest(s, CAUSE_STOPPED);
	const struct stop_signal *stop = &e->stop[s - e->cause.links];
	const char *name = enum_word(KIND_signal, F_signal_signal, stop->number);
	bool frozen = p && p->flags & SPAN_FROZEN;

	text_add(t, frozen ? "frozen with its control group" : "stopped");
	if (stop->number) {
		text_add(t, " by %s from ", name ? name : "a signal");
		if (stop->by_kernel)
			text_add(t, "the kernel");
		else
			add_tid(t, e, stop->sender_tid);
	} else if (p && !frozen && p->task_state & TASK_TRACED_BIT) {
		text_add(t, " by a debugger (ptrace)");
	}
	if (p && p->tid != TID_NONE) {
		text_add(t, ", let go on by ");
		add_tid(t, e, p->tid);
	}
}

static const struct {
	uint32_t flag;
	const char *word, *why;
} shortages[] = {
	{SPAN_LIMIT, "limit", "its control group, or one above, is at a memory limit"},
	{SPAN_HOST, "host", "the host, or the part of it that it may use, has too little free"},
	{SPAN_COMPACT, "compaction", "none is free in one piece: compaction"},
	{SPAN_SWAP, "swap", "what had been swapped out had to be read back"},
};
#define NSHORTAGES (sizeof(shortages) / sizeof(shortages[0]))

const char *shortage_word(uint32_t flags)
{
	for (size_t i = 0; i < NSHORTAGES; i++)
		if (flags & shortages[i].flag)
			return shortages[i].word;
	return "unknown";
}

/* " (the host has too little free)": of the longest part of those that a link's thread had to get memory in. */
static void add_shortage(struct text *t, const struct explained *e, const struct split *s, const struct part *p)
{
	const struct control_group *group = e->memory[s - e->cause.links];

	for (size_t i = 0; p && i < NSHORTAGES; i++) {
		if (!(p->flags & shortages[i].flag))
			continue;
		text_add(t, " (%s", p->ns == s->ns[CAUSE_MEMORY] ? "" : "most of it as ");
		if (shortages[i].flag == SPAN_LIMIT && group)
			text_add_memory_limit(t, group);
		else
			text_add_string(t, shortages[i].why);
		text_add(t, ")");
	}
}

/* "13.0 ms asleep in futex 0x7f..."; how the time of one class went, without who is behind it. */
static void add_class(struct text *t, const struct explained *e, const struct split *s, enum cause_class class)
{
	const struct part *p = split_longest(s, class);
	bool one = p && !p->joined;

	text_add_ns(t, s->ns[class]);
	switch (class) {
	case CAUSE_CPU:
		text_add(t, " on CPU");
		break;
	case CAUSE_RUNNABLE:
		text_add(t, " waiting for a CPU");
		break;
	case CAUSE_QUOTA:
		text_add(t, " throttled by CPU quota");
		text_add_quota(t, e->quota[s - e->cause.links]);
		break;
	case CAUSE_STOPPED:
		text_add(t, " ");
		add_stopped(t, e, s);
		break;
	case CAUSE_FUTEX:
		if (one && p->ns == s->ns[class])
			text_add(t, " asleep in futex 0x%" PRIx64, p->futex);
		else
			text_add(t, " asleep in futexes, most in 0x%" PRIx64, p ? p->futex : 0);
		break;
	case CAUSE_FAULT:
		text_add(t, " asleep in a page fault%s", one && p->flags & SPAN_IO ? ", reading from disk" : "");
		add_disk(t, e, s);
		break;
	case CAUSE_MEMORY:
		text_add(t, " short of memory");
		add_shortage(t, e, s, p);
		break;
	case CAUSE_IO:
		text_add(t, " waiting for a disk");
		if (one)
			add_sleep(t, e, p);
		if (p && p->flags & SPAN_WRITES)
			text_add(t, ", %sits writes held back until more was on it",
				 p->ns == s->ns[class] ? "" : "for most of it ");
		add_disk(t, e, s);
		break;
	case CAUSE_NETWORK:
		text_add(t, " waiting for the network");
		add_network(t, e, s);
		break;
	case CAUSE_ASLEEP:
		text_add(t, " asleep");
		if (one)
			add_sleep(t, e, p);
		break;
	default:
		text_add(t, " unknown (%s)", why_unknown(e, p));
		break;
	}
}

/* Who had its CPU meanwhile. */
static void add_keeper(struct text *t, const struct explained *e, const struct part *p)
{
	if (p->tid == TID_NONE)
		return;
	if (p->tid == TID_IDLE) {
		text_add(t, ", which was idle");
		return;
	}
	text_add(t, p->flags & SPAN_PREEMPTED ? " by " : p->likely ? ", last had by " : ", had by ");
	add_tid_how(t, e, p->tid);
}

/* " (CPU 1 was idle meanwhile, ...)". */
static void add_idle_beside(struct text *t, const struct part *p, const struct who *who)
{
	const struct cpu_set *may = who ? who->scheduling.cpus : NULL;

	text_add(t, " (CPU %u was idle meanwhile, ", p->idle_cpu - 1);
	if (!p->idle_barred || !may) {
		text_add(t, "as far as is recorded)");
		return;
	}
	text_add(t, "but this thread may run on %s ", cpu_list_count(may->list, may->nbytes) == 1 ? "CPU" : "CPUs");
	text_add_escaped(t, may->list, may->nbytes);
	text_add(t, " only)");
}

/* tid: whose part it is. */
static void add_no_cpu(struct text *t, const struct explained *e, uint32_t tid, const struct part *p)
{
	const struct who *who = explained_who(e, tid);

	text_add(t, p->flags & SPAN_PREEMPTED ? "preempted" : "waiting");
	if (who)
		text_add_how(t, " (", &who->scheduling, ")");
	text_add(t,
		 p->flags & SPAN_PREEMPTED ? " on CPU %u"
		 : p->flags & SPAN_YIELDED ? " for CPU %u, which it gave up (sched_yield)"
					   : " for CPU %u",
		 p->cpu);
	if (p->joined)
		return;
	add_keeper(t, e, p);
	if (p->idle_cpu)
		add_idle_beside(t, p, who);
}

/* Who ended the sleep that the chain follows. */
static void add_waker(struct text *t, const struct explained *e, const struct split *s, const struct part *p)
{
	const struct network_use *use = &e->network[s - e->cause.links];

	if (p->flags & SPAN_IRQ && (p->class == CAUSE_IO || p->class == CAUSE_FAULT))
		return; /* a disk's answer is an interrupt */
	if (p->flags & (SPAN_TIMED_OUT | SPAN_TIMER)) {
		text_add(t, " until its time was up");
	} else if (p->flags & SPAN_IRQ && use->waits && use->longest.at_ns == p->longest_end_ns) {
		text_add(t, " until something came from ");
		text_add_peer(t, use->longest.peer);
	} else if (p->flags & SPAN_IRQ) {
		text_add(t, " until an interrupt (a timer or a device)");
	} else if (p->flags & SPAN_SIGNALLED) {
		text_add(t, ", ended by a signal");
		if (p->tid != TID_NONE) {
			text_add(t, " from ");
			add_tid(t, e, p->tid);
		}
	} else if (p->tid != TID_NONE) {
		text_add(t, ", woken by ");
		add_tid(t, e, p->tid);
	}
}

/* ", which ...": what the waker was doing meanwhile. */
static void add_link(struct text *t, const struct explained *e, const struct split *s)
{
	enum cause_class class = split_main(s);
	const struct part *p = split_longest(s, class);

	if (!p)
		return;
	switch (class) {
	case CAUSE_CPU:
		text_add(t, ", which was running on CPU %u for ", p->cpu);
		text_add_ns(t, s->ns[class]);
		text_add(t, " of that");
		break;
	case CAUSE_RUNNABLE:
		text_add(t, p->flags & SPAN_PREEMPTED ? ", which had been " : ", which was ");
		add_no_cpu(t, e, s->tid, p);
		text_add(t, " for ");
		text_add_ns(t, p->ns);
		break;
	case CAUSE_QUOTA:
		text_add(t, ", which was throttled by CPU quota");
		text_add_quota(t, e->quota[s - e->cause.links]);
		text_add(t, " for ");
		text_add_ns(t, s->ns[class]);
		break;
	case CAUSE_STOPPED:
		text_add(t, ", which for ");
		text_add_ns(t, p->ns);
		text_add(t, " had been ");
		add_stopped(t, e, s);
		break;
	case CAUSE_MEMORY:
		text_add(t, ", which was short of memory");
		add_shortage(t, e, s, p);
		text_add(t, " for ");
		text_add_ns(t, s->ns[class]);
		break;
	case CAUSE_NETWORK:
		text_add(t, ", which waited for the network");
		add_network(t, e, s);
		text_add(t, " for ");
		text_add_ns(t, s->ns[class]);
		break;
	case CAUSE_FUTEX:
	case CAUSE_FAULT:
	case CAUSE_IO:
	case CAUSE_ASLEEP:
		text_add(t, ", which itself was ");
		if (class == CAUSE_FUTEX) {
			text_add(t, "asleep in futex 0x%" PRIx64, p->futex);
		} else if (class == CAUSE_FAULT) {
			text_add(t, "asleep in a page fault");
			add_disk(t, e, s);
		} else {
			text_add(t, class == CAUSE_IO ? "waiting for a disk" : "asleep");
			add_sleep(t, e, p);
			if (class == CAUSE_IO)
				add_disk(t, e, s);
		}
		text_add(t, " for ");
		text_add_ns(t, p->ns);
		add_waker(t, e, s, p);
		break;
	default:
		text_add(t, "; what that one was doing is not known (%s)", why_unknown(e, p));
		break;
	}
}

void text_add_cause(struct text *t, const struct explained *e)
{
	const struct split *first = &e->cause.links[0];
	uint64_t whole_ns = first->end_ns - first->begin_ns;
	enum cause_class class = split_main(first);
	const struct part *p = split_longest(first, class);

	if (!p) {
		text_add(t, "no time at all");
		return;
	}
	add_class(t, e, first, class);
	if (class == CAUSE_RUNNABLE) {
		text_add(t, ", ");
		add_no_cpu(t, e, first->tid, p);
	} else if (cause_class_sleeps(class)) {
		add_waker(t, e, first, p);
	}
	for (unsigned i = 1; i < e->cause.nlinks; i++)
		add_link(t, e, &e->cause.links[i]);
	if (e->cause.end == CHAIN_CYCLE) {
		text_add(t, ": a cycle, ");
		add_tid(t, e, e->cause.cycle_tid);
		text_add(t, " is in this chain already");
	} else if (e->cause.end == CHAIN_TOO_LONG) {
		text_add(t, ", and so on");
	}
	for (unsigned c = 0; c < CAUSE_CLASSES; c++) {
		if (c == (unsigned)class || first->ns[c] < whole_ns / 5 || first->ns[c] == 0)
			continue;
		text_add(t, "; and ");
		add_class(t, e, first, (enum cause_class)c);
	}
}
