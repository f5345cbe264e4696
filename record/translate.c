/* SPDX-License-Identifier: Apache-2.0 */
#include "record/translate.h"

#include <linux/futex.h>
#include <string.h>

struct row {
	uint16_t kind;
	uint16_t probe; /* 0: not counted here */
	uint64_t v[FIELDS_MAX];
	const char *text[FIELDS_MAX];
};

#define NR_FUTEX_WAITV 449
#define NR_FUTEX_WAKE 454
#define NR_FUTEX_WAIT 455
#define NR_FUTEX_REQUEUE 456

static void call_fill(struct row *row, const struct ring_call *c, const struct probe_spec *spec)
{
	row->kind = spec->kind;
	row->probe = spec->id;
	row->v[F_call_pid] = c->pid;
	row->v[F_call_tid] = c->tid;
	row->v[F_call_cpu] = c->head.cpu;
	row->v[F_call_dur] = c->dur_ns;
	row->v[F_call_probe] = spec->id;
	row->v[F_call_ret] = (uint64_t)c->ret;
	row->v[F_call_flags] = c->flags;
	for (size_t i = 0; i < VALUES_MAX; i++)
		row->v[NFIELDS_call + i] = probe_value(spec->value[i], c->word);
}

static int take_call(struct translator *t, struct row *row, const void *record, struct fault *why)
{
	const struct ring_call *c = record;
	const struct probe_spec *spec = probe_find(c->probe);

	(void)t;
	if (!spec || spec->id < PROBE_HOST_END)
		return fault_set(why, ERR_FORMAT, FAULT_NOWHERE, "a ring record names probe %u, which there is none",
				 c->probe);
	call_fill(row, c, spec);
	return 0;
}

static int take_call_stack(struct translator *t, struct row *row, const void *record, struct fault *why)
{
	const struct ring_call_stack *c = record;
	uint64_t frames[STACK_FRAMES];
	uint32_t id = 0;
	int r = take_call(t, row, &c->call, why);

	if (r == 0 && c->nframes > STACK_FRAMES)
		return fault_set(why, ERR_FORMAT, FAULT_NOWHERE, "a ring record claims %llu stack frames, limit %d",
				 (unsigned long long)c->nframes, STACK_FRAMES);
	if (r < 0 || row->kind != KIND_alloc || !c->nframes)
		return r;
	for (size_t i = 0; i < STACK_FRAMES; i++)
		frames[i] = c->frame[i];
	r = stacks_number(t->stacks, t->writer, row->v[0], c->call.pid, c->start_ns, frames, (size_t)c->nframes, &id,
			  why);
	if (r == ERR_MEMORY || (r == 0 && !id)) {
		/* The call itself can still be told. */
		counters_add(t->counters, c->call.probe, COUNT_no_stack);
		r = 0;
	}
	row->v[F_alloc_stack] = id;
	return r;
}

static int take_switch(struct translator *t, struct row *row, const void *record, struct fault *why)
{
	const struct ring_switch *s = record;

	(void)t, (void)why;
	row->kind = KIND_switch;
	row->probe = PROBE_SWITCH;
	row->v[F_switch_cpu] = s->head.cpu;
	row->v[F_switch_prev_tid] = s->prev_tid;
	row->v[F_switch_prev_state] = s->prev_state;
	row->v[F_switch_next_tid] = s->next_tid;
	return 0;
}

static int take_waking(struct translator *t, struct row *row, const void *record, struct fault *why)
{
	const struct ring_waking *w = record;

	(void)t, (void)why;
	row->kind = KIND_waking;
	row->probe = PROBE_WAKING;
	row->v[F_waking_cpu] = w->head.cpu;
	row->v[F_waking_tid] = w->tid;
	row->v[F_waking_waker_tid] = w->waker_tid;
	row->v[F_waking_context] = w->context;
	return 0;
}

/* The newer system calls are told as the command of futex(2) that does the same. */
static int take_futex(struct translator *t, struct row *row, const void *record, struct fault *why)
{
	const struct ring_futex *f = record;
	uint64_t op, flags, val;

	(void)t, (void)why;
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
	row->kind = KIND_futex;
	row->probe = PROBE_FUTEX;
	row->v[F_futex_pid] = f->pid;
	row->v[F_futex_tid] = f->tid;
	row->v[F_futex_cpu] = f->head.cpu;
	row->v[F_futex_dur] = f->dur_ns;
	row->v[F_futex_op] = op;
	row->v[F_futex_flags] = flags & UINT32_MAX;
	row->v[F_futex_addr] = f->addr;
	row->v[F_futex_val] = val & UINT32_MAX;
	row->v[F_futex_ret] = (uint64_t)f->ret;
	return 0;
}

static int take_fork(struct translator *t, struct row *row, const void *record, struct fault *why)
{
	const struct ring_fork *f = record;

	(void)t, (void)why;
	row->kind = KIND_fork;
	row->probe = PROBE_FORK;
	row->v[F_fork_pid] = f->pid;
	row->v[F_fork_tid] = f->tid;
	row->v[F_fork_child_pid] = f->child_pid;
	row->v[F_fork_child_tid] = f->child_tid;
	return 0;
}

static int take_exec(struct translator *t, struct row *row, const void *record, struct fault *why)
{
	const struct ring_exec *e = record;

	(void)t, (void)why;
	row->kind = KIND_exec;
	row->probe = PROBE_EXEC;
	row->v[F_exec_pid] = e->pid;
	row->v[F_exec_tid] = e->tid;
	return 0;
}

static int take_exit(struct translator *t, struct row *row, const void *record, struct fault *why)
{
	const struct ring_exit *e = record;

	(void)t, (void)why;
	row->kind = KIND_exit;
	row->probe = PROBE_EXIT;
	row->v[F_exit_pid] = e->pid;
	row->v[F_exit_tid] = e->tid;
	row->v[F_exit_code] = e->code;
	row->v[F_exit_last] = e->last;
	return 0;
}

static int take_thread(struct translator *t, struct row *row, const void *record, struct fault *why)
{
	const struct ring_thread *n = record;

	(void)t, (void)why;
	row->kind = KIND_thread;
	row->probe = PROBE_THREAD_NAME;
	row->v[F_thread_tid] = n->tid;
	row->v[F_thread_pid] = n->pid;
	row->v[F_thread_start] = n->start_ns;
	row->v[F_thread_name] = strnlen(n->comm, sizeof(n->comm));
	row->text[F_thread_name] = n->comm;
	return 0;
}

static int take_process(struct translator *t, struct row *row, const void *record, struct fault *why)
{
	const struct ring_process *p = record;

	(void)t, (void)why;
	row->kind = KIND_process;
	row->probe = PROBE_PROCESS_NAME;
	row->v[F_process_pid] = p->pid;
	row->v[F_process_start] = p->start_ns;
	row->v[F_process_ppid] = p->ppid;
	row->v[F_process_uid] = p->uid;
	row->v[F_process_tracked] = p->tracked;
	row->v[F_process_name] = strnlen(p->comm, sizeof(p->comm));
	row->text[F_process_name] = p->comm;
	return 0;
}

/* No row of its own: what is attached then has one. */
static int take_mapped(struct translator *t, struct row *row, const void *record, struct fault *why)
{
	(void)record, (void)why;
	row->kind = 0;
	counters_add(t->counters, PROBE_MAPPED, COUNT_recorded);
	return 0;
}

static const struct {
	uint32_t bytes;
	bool noticed;
	int (*take)(struct translator *t, struct row *row, const void *record, struct fault *why);
} types[RING_TYPES] = {
	[RING_CALL] = {sizeof(struct ring_call), false, take_call},
	[RING_CALL_STACK] = {sizeof(struct ring_call_stack), false, take_call_stack},
	[RING_SWITCH] = {sizeof(struct ring_switch), false, take_switch},
	[RING_WAKING] = {sizeof(struct ring_waking), false, take_waking},
	[RING_FUTEX] = {sizeof(struct ring_futex), false, take_futex},
	[RING_FORK] = {sizeof(struct ring_fork), true, take_fork},
	[RING_EXEC] = {sizeof(struct ring_exec), true, take_exec},
	[RING_EXIT] = {sizeof(struct ring_exit), true, take_exit},
	[RING_THREAD] = {sizeof(struct ring_thread), false, take_thread},
	[RING_PROCESS] = {sizeof(struct ring_process), true, take_process},
	[RING_MAPPED] = {sizeof(struct ring_mapped), true, take_mapped},
};

static int stage(struct translator *t, const struct row *row, struct fault *why)
{
	int r = writer_add(t->writer, row->kind, row->v, row->text, why);

	if (r == ERR_MEMORY) {
		counters_add(t->counters, row->probe, COUNT_not_staged);
		return 0;
	}
	if (r == 0)
		counters_add(t->counters, row->probe, COUNT_recorded);
	return r;
}

int translate(void *self, const void *record, uint32_t n, struct fault *why)
{
	const struct ring_head *head = record;
	struct translator *t = self;
	struct row row = {0};
	int r;

	if (n < sizeof(*head) || head->type >= RING_TYPES || !types[head->type].take || n != types[head->type].bytes)
		return fault_set(why, ERR_FORMAT, FAULT_NOWHERE,
				 "a ring record of %u bytes and type %u is none of ours", n,
				 n < sizeof(*head) ? 0 : head->type);
	row.v[0] = head->at_ns < t->begin_ns ? t->begin_ns : head->at_ns;
	r = types[head->type].take(t, &row, record, why);
	if (r == 0 && row.kind)
		r = stage(t, &row, why);
	if (r == 0 && types[head->type].noticed && t->notice)
		r = t->notice(t->self, head, why);
	return r;
}
