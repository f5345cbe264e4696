/* SPDX-License-Identifier: Apache-2.0 */
#include "record/translate.h"

#include <linux/futex.h>
#include <string.h>
#include <unistd.h>

#include "record/row.h"

#define NR_FUTEX_WAITV 449
#define NR_FUTEX_WAKE 454
#define NR_FUTEX_WAIT 455
#define NR_FUTEX_REQUEUE 456

/* Who called, what, and with which words; those that the record does not carry are 0. */
struct call {
	const struct ring_call *is;
	const struct probe_spec *spec;
	__u64 word[CALL_WORDS];
};

static int call_open(struct call *c, struct row *row, const void *record, size_t nwords, struct fault *why)
{
	const struct ring_call_all *r = record;

	memset(c, 0, sizeof(*c));
	c->is = &r->call;
	c->spec = probe_find(c->is->probe);
	if (!c->spec || c->spec->id < PROBE_HOST_END)
		return fault_set(why, ERR_FORMAT, FAULT_NOWHERE, "a ring record names an unknown probe, %u",
				 c->is->probe);
	memcpy(c->word, (const uint8_t *)record + sizeof(r->call), nwords * sizeof(c->word[0]));
	row->kind = c->spec->kind;
	row->v[F_call_pid] = c->is->pid;
	row->v[F_call_tid] = c->is->tid;
	row->v[F_call_cpu] = c->is->head.cpu;
	row->v[F_call_dur] = c->is->dur_ns;
	row->v[F_call_probe] = c->spec->id;
	row->v[F_call_ret] = (uint64_t)(int64_t)c->is->ret;
	row->v[F_call_flags] = c->is->flags;
	for (size_t i = 0; i < VALUES_MAX && NFIELDS_call + i < probe_stack_field(c->spec->kind); i++)
		row->v[NFIELDS_call + i] = probe_value(c->spec->value[i], c->word);
	return 0;
}

/* Whom the call is about, to those who keep the names. A name that finds no memory is one that is not known. */
static int emit_names(struct translator *t, const struct row *row, const struct call *c, const char *text, size_t n,
		      struct fault *why)
{
	struct kernel_of of = {.pid = c->is->pid, .start_ns = c->is->start_ns, .at_ns = row->v[0]};
	int r = 0;

	if (!t->kernels)
		return 0;
	of.at_ns -= of.at_ns > t->begin_ns; /* before the launch that it names */
	if (c->spec->plan.name) {
		of.function = c->word[c->spec->plan.name_of];
		if (c->spec->plan.name == PLAN_ALIAS)
			r = kernels_alias(t->kernels, t->writer, &of, c->word[c->spec->plan.name_at], why);
		else if (n)
			r = kernels_name(t->kernels, &of, text, n, why);
	} else if (row->kind == KIND_launch) {
		of.function = row->v[F_launch_function];
		r = kernels_launched(t->kernels, t->writer, &of, why);
	}
	return r == ERR_MEMORY ? 0 : r;
}

static int take_call(struct translator *t, struct row *row, const void *record, size_t nwords, struct fault *why)
{
	struct call c;
	int r = call_open(&c, row, record, nwords, why);

	return r < 0 ? r : emit_names(t, row, &c, NULL, 0, why);
}

static int take_call_name(struct translator *t, struct row *row, const void *record, size_t nwords, struct fault *why)
{
	const struct ring_call_name *named = record;
	struct call c;
	int r = call_open(&c, row, record, nwords, why);

	if (r == 0 && named->nbytes >= NAME_BYTES)
		return fault_set(why, ERR_FORMAT, FAULT_NOWHERE, "a ring record claims a name of %llu bytes, limit %d",
				 (unsigned long long)named->nbytes, NAME_BYTES - 1);
	return r < 0 ? r : emit_names(t, row, &c, named->text, (size_t)named->nbytes, why);
}

static int take_frames(struct translator *t, struct row *row, const struct ring_call *c, const __u64 *frame, size_t n,
		       struct fault *why)
{
	uint64_t frames[STACK_FRAMES];
	uint32_t id = 0;
	int r;

	for (size_t i = 0; i < n; i++)
		frames[i] = frame[i];
	r = stacks_number(t->stacks, t->writer, row->v[0], c->pid, c->start_ns, frames, n, false, &id, why);
	if (r == ERR_MEMORY || (r == 0 && !id)) {
		/* The call itself can still be reported. */
		counters_add(t->counters, c->probe, COUNT_no_stack);
		r = 0;
	}
	row->v[probe_stack_field(row->kind)] = id;
	return r;
}

static int take_call_caller(struct translator *t, struct row *row, const void *record, size_t nwords, struct fault *why)
{
	const struct ring_call_caller *c = record;
	int r = take_call(t, row, record, nwords, why);

	return r < 0 || !c->frame ? r : take_frames(t, row, &c->call, &c->frame, 1, why);
}

static int take_call_stack(struct translator *t, struct row *row, const void *record, size_t nwords, struct fault *why)
{
	const struct ring_call_stack *s = record;
	int r = take_call(t, row, record, nwords, why);

	if (r == 0 && s->nframes > STACK_FRAMES)
		return fault_set(why, ERR_FORMAT, FAULT_NOWHERE, "a ring record claims %llu stack frames, limit %d",
				 (unsigned long long)s->nframes, STACK_FRAMES);
	return r < 0 || !s->nframes ? r : take_frames(t, row, &s->all.call, s->frame, (size_t)s->nframes, why);
}

static void fill_switch(struct row *row, const void *record)
{
	const struct ring_switch *s = record;

	row->v[F_switch_cpu] = s->head.cpu;
	row->v[F_switch_prev_tid] = s->prev_tid;
	row->v[F_switch_prev_state] = s->prev_state;
	row->v[F_switch_next_tid] = s->next_tid;
	row->v[F_switch_prev_syscall] = s->prev_syscall;
	row->v[F_switch_prev_flags] = s->prev_flags;
	row->v[F_switch_next_queue] = s->next_queue;
}

static void fill_waking(struct row *row, const void *record)
{
	const struct ring_waking *w = record;

	row->v[F_waking_cpu] = w->head.cpu;
	row->v[F_waking_tid] = w->tid;
	row->v[F_waking_waker_tid] = w->waker_tid;
	row->v[F_waking_context] = w->context;
}

/* The newer system calls are reported as the command of futex(2) that does the same. */
static void fill_futex(struct row *row, const void *record)
{
	const struct ring_futex *f = record;
	uint64_t op, flags, val;

	switch (f->nr) {
	case NR_FUTEX_WAITV: /* waiters, how many, flags */
		op = FUTEX_WAIT_BITSET, val = f->arg[1], flags = f->arg[2];
		break;
	case NR_FUTEX_WAKE: /* address, mask, how many, flags */
		op = FUTEX_WAKE_BITSET, val = f->arg[2], flags = f->arg[3];
		break;
	case NR_FUTEX_WAIT: /* address, value, mask, flags */
		op = FUTEX_WAIT_BITSET, val = f->arg[1], flags = f->arg[3];
		break;
	case NR_FUTEX_REQUEUE: /* waiters, flags, how many to wake, to requeue */
		op = FUTEX_CMP_REQUEUE, val = f->arg[2], flags = f->arg[1];
		break;
	default: /* address, operation, value */
		op = f->arg[1] & (uint32_t)FUTEX_CMD_MASK, flags = f->arg[1] & ~(uint32_t)FUTEX_CMD_MASK;
		val = f->arg[2];
	}
	row->v[F_futex_pid] = f->pid;
	row->v[F_futex_tid] = f->tid;
	row->v[F_futex_cpu] = f->head.cpu;
	row->v[F_futex_dur] = f->dur_ns;
	row->v[F_futex_op] = op;
	row->v[F_futex_flags] = flags & UINT32_MAX;
	row->v[F_futex_addr] = f->addr;
	row->v[F_futex_val] = val & UINT32_MAX;
	row->v[F_futex_ret] = (uint64_t)f->ret;
	row->v[F_futex_addr2] = f->addr2;
}

static void fill_fault(struct row *row, const void *record)
{
	const struct ring_fault *f = record;

	row->v[F_fault_pid] = f->pid;
	row->v[F_fault_tid] = f->tid;
	row->v[F_fault_cpu] = f->head.cpu;
	row->v[F_fault_dur] = f->dur_ns;
	row->v[F_fault_addr] = f->addr;
}

static void fill_reclaim(struct row *row, const void *record)
{
	const struct ring_reclaim *m = record;

	row->v[F_reclaim_pid] = m->pid;
	row->v[F_reclaim_tid] = m->tid;
	row->v[F_reclaim_cpu] = m->head.cpu;
	row->v[F_reclaim_dur] = m->dur_ns;
	row->v[F_reclaim_cause] = m->cause;
	row->v[F_reclaim_pages] = m->pages;
}

static void fill_throttled(struct row *row, const void *record)
{
	const struct ring_throttled *h = record;

	row->v[F_throttled_pid] = h->pid;
	row->v[F_throttled_tid] = h->tid;
	row->v[F_throttled_cpu] = h->head.cpu;
	row->v[F_throttled_wait] = h->dur_ns;
}

static void fill_follow(struct row *row, const void *record)
{
	const struct ring_follow *f = record;

	row->v[F_follow_pid] = f->pid;
	row->v[F_follow_tid] = f->tid;
	row->v[F_follow_cpu] = f->head.cpu;
	row->v[F_follow_waiter_tid] = f->waiter_tid;
	row->v[F_follow_slept] = f->slept_ns;
}

static void fill_signal(struct row *row, const void *record)
{
	const struct ring_signal *s = record;

	row->v[F_signal_pid] = s->pid;
	row->v[F_signal_tid] = s->tid;
	row->v[F_signal_cpu] = s->head.cpu;
	row->v[F_signal_signal] = s->number;
	row->v[F_signal_code] = (uint64_t)(int64_t)s->code;
	row->v[F_signal_sender_tid] = s->sender_tid;
}

/* The kernel's bits, from include/linux/sched.h: the most important first. */
static uint64_t state_of(uint32_t bits)
{
	static const struct {
		uint32_t bit;
		uint8_t state;
	} states[] = {
		{STATE_GONE, THREAD_DEAD},     {0x8, THREAD_TRACED},   {0x4, THREAD_STOPPED},
		{0x2, THREAD_UNINTERRUPTIBLE}, {0x1, THREAD_SLEEPING},
	};

	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
		if (bits & states[i].bit)
			return states[i].state;
	return bits ? THREAD_OTHER : THREAD_RUNNING;
}

static void fill_state(struct row *row, const void *record)
{
	const struct ring_state *s = record;

	row->v[F_state_pid] = s->pid;
	row->v[F_state_tid] = s->tid;
	row->v[F_state_moment] = s->moment;
	row->v[F_state_state] = state_of(s->state);
	row->v[F_state_syscall] = s->syscall;
	row->v[F_state_argument] = s->argument;
}

static void fill_in_flight(struct row *row, const void *record)
{
	const struct ring_in_flight *f = record;

	row->v[F_in_flight_pid] = f->pid;
	row->v[F_in_flight_tid] = f->tid;
	row->v[F_in_flight_moment] = f->moment;
	row->v[F_in_flight_dur] = f->dur_ns;
	row->v[F_in_flight_probe] = f->probe;
	row->v[F_in_flight_argument] = f->argument;
	row->v[F_in_flight_flags] = f->flags;
}

static void fill_oom(struct row *row, const void *record)
{
	const struct ring_oom *o = record;

	row->v[F_oom_pid] = o->pid;
	row->v[F_oom_rss] = o->pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void fill_metric(struct row *row, const void *record)
{
	const struct ring_metric *m = record;

	row->v[F_metric_cpu] = m->head.cpu;
	row->v[F_metric_busy] = m->busy_ns;
	row->v[F_metric_switches] = m->switches;
	row->v[F_metric_waiting] = m->waiting;
	row->v[F_metric_forced] = m->forced;
}

static void fill_fork(struct row *row, const void *record)
{
	const struct ring_fork *f = record;

	row->v[F_fork_pid] = f->pid;
	row->v[F_fork_tid] = f->tid;
	row->v[F_fork_child_pid] = f->child_pid;
	row->v[F_fork_child_tid] = f->child_tid;
}

static void fill_exec(struct row *row, const void *record)
{
	const struct ring_exec *e = record;

	row->v[F_exec_pid] = e->pid;
	row->v[F_exec_tid] = e->tid;
}

static void fill_exit(struct row *row, const void *record)
{
	const struct ring_exit *e = record;

	row->v[F_exit_pid] = e->pid;
	row->v[F_exit_tid] = e->tid;
	row->v[F_exit_code] = e->code;
	row->v[F_exit_last] = e->last;
}

static void fill_thread(struct row *row, const void *record)
{
	const struct ring_thread *n = record;

	row->v[F_thread_tid] = n->tid;
	row->v[F_thread_pid] = n->pid;
	row->v[F_thread_start] = n->start_ns;
	row_bytes(row, F_thread_name, n->comm, strnlen(n->comm, sizeof(n->comm)));
}

static void fill_process(struct row *row, const void *record)
{
	const struct ring_process *p = record;

	row->v[F_process_pid] = p->pid;
	row->v[F_process_start] = p->start_ns;
	row->v[F_process_ppid] = p->ppid;
	row->v[F_process_uid] = p->uid;
	row->v[F_process_tracked] = p->tracked;
	row_bytes(row, F_process_name, p->comm, strnlen(p->comm, sizeof(p->comm)));
}

/* The first row of a device is preceded by its name. */
static int name_disk(struct translator *t, uint64_t at_ns, const struct ring_disk *d, struct fault *why)
{
	struct row row = row_of(KIND_disk_device, at_ns);
	int r;

	for (unsigned i = 0; i < t->ndisks; i++)
		if (t->disks[i] == d->device)
			return 0;
	if (t->ndisks == DISKS_MAX || !d->device)
		return 0;
	row.v[F_disk_device_number] = d->device;
	row_bytes(&row, F_disk_device_name, d->name, strnlen(d->name, sizeof(d->name)));
	r = row_emit(&row, t->writer, why);
	if (r == 0)
		t->disks[t->ndisks++] = d->device;
	return r == ERR_MEMORY ? 0 : r;
}

static int take_disk(struct translator *t, struct row *row, const void *record, size_t nwords, struct fault *why)
{
	const struct ring_disk *d = record;

	(void)nwords;
	row->v[F_disk_pid] = d->pid;
	row->v[F_disk_tid] = d->tid;
	row->v[F_disk_cpu] = d->head.cpu;
	row->v[F_disk_dur] = d->dur_ns;
	row->v[F_disk_service] = d->service_ns < d->dur_ns ? d->service_ns : d->dur_ns;
	row->v[F_disk_operation] = d->operation;
	row->v[F_disk_bytes] = d->bytes;
	row->v[F_disk_error] = d->error;
	row->v[F_disk_device] = d->device;
	return name_disk(t, row->v[0], d, why);
}

static int take_network(struct translator *t, struct row *row, const void *record, size_t nwords, struct fault *why)
{
	const struct ring_network *n = record;

	(void)nwords;
	row->v[F_network_pid] = n->pid;
	row->v[F_network_tid] = n->tid;
	row->v[F_network_cpu] = n->head.cpu;
	row->v[F_network_dur] = n->dur_ns;
	row->v[F_network_unread] = n->unread;
	row->v[F_network_retransmitted] = n->retransmitted;
	row->v[F_network_disordered] = n->disordered;
	row->v[F_network_rtt] = (uint64_t)n->rtt_us * 1000;
	row->v[F_network_sender_tid] = n->sender_tid;
	return t->connections ? connections_name(t->connections, t->writer, row, n, why) : 0;
}

/* A process's addresses are of another program, or of none, from then on. */
static int take_exec(struct translator *t, struct row *row, const void *record, size_t nwords, struct fault *why)
{
	const struct ring_exec *e = record;

	(void)row, (void)nwords, (void)why;
	if (t->kernels)
		kernels_forget(t->kernels, e->pid, e->head.at_ns);
	return 0;
}

static int take_exit(struct translator *t, struct row *row, const void *record, size_t nwords, struct fault *why)
{
	const struct ring_exit *e = record;

	(void)row, (void)nwords, (void)why;
	if (t->kernels && e->last)
		kernels_forget(t->kernels, e->pid, e->head.at_ns);
	return 0;
}

static int take_scheduling(struct translator *t, struct row *row, const void *record, size_t nwords, struct fault *why)
{
	const struct ring_scheduling *s = record;
	uint64_t words[CPU_WORDS_MAX];
	size_t known = s->nwords < CPU_WORDS_MAX ? s->nwords : CPU_WORDS_MAX;

	(void)nwords, (void)why;
	for (size_t i = 0; i < known; i++)
		words[i] = s->cpus[i];
	row->v[F_scheduling_pid] = s->pid;
	row->v[F_scheduling_tid] = s->tid;
	row->v[F_scheduling_policy] = s->policy;
	row->v[F_scheduling_nice] = (uint64_t)(int64_t)s->nice;
	row->v[F_scheduling_priority] = s->priority;
	row_bytes(row, F_scheduling_cpus, t->cpus, cpu_list_write(words, known, t->cpus, sizeof(t->cpus)));
	return 0;
}

/* No row of its own: what is attached then has one. Who is noticed counts what becomes of it. */
static int take_mapped(struct translator *t, struct row *row, const void *record, size_t nwords, struct fault *why)
{
	(void)row, (void)record, (void)nwords, (void)why;
	if (!t->notice)
		counters_add(t->counters, PROBE_MAPPED, COUNT_recorded);
	return 0;
}

/* What becomes of a record: it fills a row, or is taken by a function, which may set the row's kind; or both. */
static const struct record_type {
	uint32_t bytes;
	uint16_t kind, probe;
	void (*fill)(struct row *row, const void *record);
	int (*take)(struct translator *t, struct row *row, const void *record, size_t nwords, struct fault *why);
	uint8_t nwords; /* of a call that the record has */
	bool noticed;
} types[RING_TYPES] = {
#define FILLED(name, by) sizeof(struct ring_##name), KIND_##name, by, fill_##name
#define CALL(name, by, n) .bytes = sizeof(struct ring_##name), .take = by, .nwords = n
	[RING_CALL_FEW] = {CALL(call_few, take_call, CALL_WORDS_FEW)},
	[RING_CALL_MANY] = {CALL(call_many, take_call, CALL_WORDS_MANY)},
	[RING_CALL_ALL] = {CALL(call_all, take_call, CALL_WORDS)},
	[RING_CALL_CALLER] = {CALL(call_caller, take_call_caller, CALL_WORDS_FEW)},
	[RING_CALL_STACK] = {CALL(call_stack, take_call_stack, CALL_WORDS)},
	[RING_CALL_NAME] = {CALL(call_name, take_call_name, CALL_WORDS)},
	[RING_SWITCH] = {FILLED(switch, PROBE_SWITCH)},
	[RING_WAKING] = {FILLED(waking, PROBE_WAKING)},
	[RING_FUTEX] = {FILLED(futex, PROBE_FUTEX)},
	[RING_FORK] = {FILLED(fork, PROBE_FORK), .noticed = true},
	[RING_EXEC] = {FILLED(exec, PROBE_EXEC), .take = take_exec, .noticed = true},
	[RING_EXIT] = {FILLED(exit, PROBE_EXIT), .take = take_exit, .noticed = true},
	[RING_THREAD] = {FILLED(thread, PROBE_THREAD_NAME)},
	[RING_PROCESS] = {FILLED(process, PROBE_PROCESS_NAME), .noticed = true},
	[RING_MAPPED] = {sizeof(struct ring_mapped), .take = take_mapped, .noticed = true},
	[RING_FAULT] = {FILLED(fault, PROBE_FAULT)},
	[RING_RECLAIM] = {FILLED(reclaim, PROBE_RECLAIM)},
	[RING_OOM] = {FILLED(oom, PROBE_OOM)},
	[RING_METRIC] = {FILLED(metric, PROBE_METRIC)},
	[RING_THROTTLED] = {FILLED(throttled, PROBE_THROTTLED), .noticed = true},
	[RING_SIGNAL] = {FILLED(signal, PROBE_SIGNAL)},
	[RING_STATE] = {FILLED(state, PROBE_STATE), .noticed = true},
	[RING_IN_FLIGHT] = {FILLED(in_flight, PROBE_IN_FLIGHT)},
	[RING_FOLLOW] = {FILLED(follow, PROBE_FOLLOW), .noticed = true},
	[RING_DISK] = {sizeof(struct ring_disk), KIND_disk, PROBE_DISK, .take = take_disk},
	[RING_NETWORK] = {sizeof(struct ring_network), KIND_network, PROBE_NETWORK, .take = take_network},
	[RING_SCHEDULING] = {sizeof(struct ring_scheduling), KIND_scheduling, PROBE_SCHEDULING,
			     .take = take_scheduling},
#undef FILLED
#undef CALL
};

static int stage(struct translator *t, const struct row *row, uint16_t probe, struct fault *why)
{
	int r = row_emit(row, t->writer, why);

	if (r == ERR_MEMORY) {
		counters_add(t->counters, probe, COUNT_not_staged);
		return 0;
	}
	if (r == 0)
		counters_add(t->counters, probe, COUNT_recorded);
	return r;
}

/* A name is followed by its text, in one of three rooms. */
static bool right_size(uint32_t type, uint32_t n)
{
	uint32_t text = n - types[type].bytes;

	if (type != RING_CALL_NAME)
		return text == 0;
	return text == NAME_BYTES_FEW || text == NAME_BYTES_MANY || text == NAME_BYTES;
}

int translate(void *self, const void *record, uint32_t n, struct fault *why)
{
	const struct ring_head *head = record;
	const struct record_type *type;
	struct translator *t = self;
	struct row row;
	int r = 0;

	if (n < sizeof(*head) || head->type >= RING_TYPES || !types[head->type].bytes || !right_size(head->type, n))
		return fault_set(why, ERR_FORMAT, FAULT_NOWHERE, "a ring record of %u bytes and type %u is unknown", n,
				 n < sizeof(*head) ? 0 : head->type);
	type = &types[head->type];
	row = row_of(type->kind, head->at_ns < t->begin_ns ? t->begin_ns : head->at_ns);
	if (type->fill)
		type->fill(&row, record);
	if (type->take)
		r = type->take(t, &row, record, type->nwords, why);
	if (r == 0 && row.kind)
		r = stage(t, &row, type->probe ? type->probe : (uint16_t)row.v[F_call_probe], why);
	if (r == 0 && type->noticed && t->notice)
		r = t->notice(t->self, head, why);
	return r;
}
