// SPDX-License-Identifier: Apache-2.0
/* Who is recorded, where the rows of processes are withheld: by one look ahead over the capture. */
#include "replay/model/tasks.h"
#include "replay/model/timeline.h"

/* Who is woken is recorded, or followed: the latter is known where no row is withheld that may say so. */
static bool shows_follows(const struct reader *reader)
{
	return !schema_kind(&reader->header.schema, KIND_follow) || !reader_withholds(reader, CLASS_events);
}

/* A thread of a recorded process: its own rows, and those that wake it, are written for such threads only. */
static uint32_t proves_tracked(const struct event *ev)
{
	switch (ev->kind) {
	case KIND_waking:
		return as_tid(ev->v[F_waking_tid]);
	case KIND_futex:
		return as_tid(ev->v[F_futex_tid]);
	case KIND_fault:
		return as_tid(ev->v[F_fault_tid]);
	case KIND_reclaim:
		return as_tid(ev->v[F_reclaim_tid]);
	case KIND_network:
		return as_tid(ev->v[F_network_tid]);
	case KIND_exit:
		return as_tid(ev->v[F_exit_tid]);
	case KIND_follow:
		return as_tid(ev->v[F_follow_tid]);
	default:
		return event_is_call(ev) ? as_tid(ev->v[F_call_tid]) : TID_NONE;
	}
}

/* The process of that thread, where the row has it; 0: it does not. */
static uint32_t proves_process(const struct event *ev)
{
	switch (ev->kind) {
	case KIND_futex:
		return (uint32_t)ev->v[F_futex_pid];
	case KIND_fault:
		return (uint32_t)ev->v[F_fault_pid];
	case KIND_reclaim:
		return (uint32_t)ev->v[F_reclaim_pid];
	case KIND_network:
		return (uint32_t)ev->v[F_network_pid];
	case KIND_exit:
		return (uint32_t)ev->v[F_exit_pid];
	case KIND_follow:
		return (uint32_t)ev->v[F_follow_pid];
	default:
		return event_is_call(ev) ? (uint32_t)ev->v[F_call_pid] : 0;
	}
}

static int see(struct tasks *t, const struct event *ev, bool shows_follows, struct fault *why)
{
	uint32_t tid = proves_tracked(ev);
	struct nameless *one;

	if (tid == TID_NONE || tid == TID_IDLE)
		return 0;
	one = table_find(&t->nameless, tid, 0);
	if (!one && ((ev->kind == KIND_waking && !shows_follows) || t->nameless.nitems >= TIMELINE_THREADS_MAX))
		return 0;
	if (!one)
		one = table_add(&t->nameless, tid, 0, sizeof(*one));
	if (!one)
		return fault_no_memory(why);
	if (ev->kind == KIND_follow && !one->since_ns && !one->pid)
		one->since_ns = ev->at_ns;
	if (!one->pid)
		one->pid = proves_process(ev);
	return 0;
}

int tasks_look_ahead(struct tasks *t, const struct reader *reader, bool unverified, struct fault *why)
{
	struct cursor *cur = NULL;
	struct event ev;
	struct fault ignored;
	int r;

	if (!reader_withholds(reader, CLASS_process))
		return 0;
	r = cursor_open(&cur, reader, unverified, why);
	while (r == 0 && cursor_next(cur, &ev, &ignored) > 0)
		r = see(t, &ev, shows_follows(reader), why);
	cursor_close(cur);
	return r;
}

static const struct nameless *nameless(const struct tasks *t, uint32_t tid)
{
	return t->nameless.nitems ? table_find(&t->nameless, tid, 0) : NULL;
}

uint32_t tasks_tid_pid(const struct tasks *t, uint32_t tid)
{
	const struct thread *thread = tasks_find_thread(t, tid);
	const struct nameless *one;

	if (thread && thread->process)
		return t->processes[thread->process].pid;
	one = nameless(t, tid);
	return one ? one->pid : 0;
}

uint64_t tasks_tid_tracked_since(const struct tasks *t, uint32_t tid)
{
	const struct nameless *one = nameless(t, tid);

	return one ? one->since_ns : tasks_tracked_since(t, tasks_find_thread(t, tid));
}
