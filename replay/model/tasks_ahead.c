// SPDX-License-Identifier: Apache-2.0
/* Who is recorded, where the rows of processes are withheld: by one look ahead over the capture. */
#include "replay/model/tasks.h"
#include "replay/model/timeline.h"

/* Who is woken is recorded, or followed: the latter is known where no row is withheld that may say so. */
static bool shows_follows(const struct reader *reader)
{
	return !schema_kind(&reader->header.schema, KIND_follow) || !reader_withholds(reader, CLASS_events);
}

/* A thread of a recorded process, and that, where the row has it: 0: it does not. */
struct proven {
	uint32_t tid, pid;
};

#define PROVEN(kind) ((struct proven){as_tid(ev->v[F_##kind##_tid]), (uint32_t)ev->v[F_##kind##_pid]})

/* Its own rows, and those that wake it, are written for such a thread only. TID_NONE: this row is another one. */
static struct proven proves(const struct event *ev)
{
	switch (ev->kind) {
	case KIND_waking:
		return (struct proven){as_tid(ev->v[F_waking_tid]), 0};
	case KIND_futex:
		return PROVEN(futex);
	case KIND_fault:
		return PROVEN(fault);
	case KIND_reclaim:
		return PROVEN(reclaim);
	case KIND_network:
		return PROVEN(network);
	case KIND_exit:
		return PROVEN(exit);
	case KIND_follow:
		return PROVEN(follow);
	default:
		return event_is_call(ev) ? PROVEN(call) : (struct proven){TID_NONE, 0};
	}
}

static int see(struct tasks *t, const struct event *ev, bool shows_follows, struct fault *why)
{
	struct proven proven = proves(ev);
	struct nameless *one;

	if (proven.tid == TID_NONE || proven.tid == TID_IDLE)
		return 0;
	one = table_find(&t->nameless, proven.tid, 0);
	if (!one && ((ev->kind == KIND_waking && !shows_follows) || t->nameless.nitems >= TIMELINE_THREADS_MAX))
		return 0;
	if (!one)
		one = table_add(&t->nameless, proven.tid, 0, sizeof(*one));
	if (!one)
		return fault_no_memory(why);
	if (ev->kind == KIND_follow && !one->since_ns && !one->pid)
		one->since_ns = ev->at_ns;
	if (!one->pid)
		one->pid = proven.pid;
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
