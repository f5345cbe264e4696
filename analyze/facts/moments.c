// SPDX-License-Identifier: Apache-2.0
#include "analyze/facts/moments.h"

#include <string.h>

#define PROBED_MAX 65536 /* functions, over all modules */

static int feed_process(struct moments *m, const struct event *ev)
{
	uint64_t pid = ev->v[F_state_pid];
	struct process_moments *p = table_find(&m->processes, pid, 0);

	if (ev->v[F_state_state] == THREAD_DEAD)
		return 0;
	if (!p)
		p = table_add(&m->processes, pid, 0, sizeof(*p));
	if (!p)
		return ERR_MEMORY;
	p->any_tid = ev->v[F_state_tid];
	p->begin |= ev->v[F_state_moment] == MOMENT_BEGIN;
	p->end |= ev->v[F_state_moment] == MOMENT_END;
	return 0;
}

static int feed_state(struct moments *m, const struct event *ev)
{
	uint64_t tid = ev->v[F_state_tid];
	struct thread_moments *t = table_find(&m->threads, tid, 0);
	uint64_t state = ev->v[F_state_state];
	struct moment *at;

	if (!t && m->threads.nitems >= MOMENTS_MAX)
		return 0;
	if (!t)
		t = table_add(&m->threads, tid, 0, sizeof(*t));
	if (!t)
		return ERR_MEMORY;
	/* The number of a thread that has ended. */
	if (t->pid != (uint32_t)ev->v[F_state_pid])
		t->begin.known = false;
	t->pid = (uint32_t)ev->v[F_state_pid];
	at = ev->v[F_state_moment] == MOMENT_BEGIN ? &t->begin : &t->end;
	*at = (struct moment){.known = true,
			      .state = (uint8_t)(state < THREAD_OTHER ? state : THREAD_OTHER),
			      .syscall = ev->v[F_state_syscall]};
	return feed_process(m, ev);
}

static void feed_stack(struct moments *m, const struct event *ev)
{
	struct thread_moments *t = table_find(&m->threads, ev->v[F_thread_stack_tid], 0);
	struct moment *at;

	if (!m->stacks_ns && ev->v[F_thread_stack_moment] == MOMENT_BEGIN)
		m->stacks_ns = ev->at_ns;
	if (!t || t->pid != (uint32_t)ev->v[F_thread_stack_pid])
		return;
	at = ev->v[F_thread_stack_moment] == MOMENT_BEGIN ? &t->begin : &t->end;
	at->stack = at->known ? ev->v[F_thread_stack_stack] : 0;
}

static int feed_attach(struct moments *m, const struct event *ev)
{
	uint64_t module = ev->v[F_attach_module], probe = ev->v[F_attach_probe];

	/* Of what was probed later calls may have been made that nobody saw. */
	if (ev->v[F_attach_error] || (m->stacks_ns && ev->at_ns > m->stacks_ns) || m->probed.nitems >= PROBED_MAX ||
	    table_find(&m->probed, module, probe))
		return 0;
	return table_add(&m->probed, module, probe, sizeof(struct table_key)) ? 0 : ERR_MEMORY;
}

static void feed_in_flight(struct moments *m, const struct schema *schema, const struct event *ev)
{
	const struct probe *p = schema_probe(schema, ev->v[F_in_flight_probe]);
	const struct kind *kind = p ? schema_kind(schema, p->kind) : NULL;
	struct thread_moments *t = table_find(&m->threads, ev->v[F_in_flight_tid], 0);

	if (t && t->pid != (uint32_t)ev->v[F_in_flight_pid])
		t = NULL;
	if (ev->v[F_in_flight_moment] == MOMENT_END && t && p && p->kind == KIND_futex) {
		t->futex_ns = ev->v[F_in_flight_dur];
		t->futex_flags = (uint32_t)ev->v[F_in_flight_flags];
	}
	if (ev->v[F_in_flight_moment] != MOMENT_END || !kind || kind->flags != KIND_CALL)
		return;
	if (t && (!t->calls || ev->v[F_in_flight_dur] > t->call_ns)) {
		t->calls = true;
		t->probe = (uint16_t)ev->v[F_in_flight_probe];
		t->call_ns = ev->v[F_in_flight_dur];
	}
	if (ev->v[F_in_flight_dur] > m->longest.dur_ns)
		m->longest = (struct open_call){.tid = ev->v[F_in_flight_tid],
						.pid = ev->v[F_in_flight_pid],
						.probe = ev->v[F_in_flight_probe],
						.dur_ns = ev->v[F_in_flight_dur]};
}

int moments_feed(struct moments *m, const struct schema *schema, const struct event *ev)
{
	if (ev->kind == KIND_state)
		return feed_state(m, ev);
	if (ev->kind == KIND_attach)
		return feed_attach(m, ev);
	if (ev->kind == KIND_thread_stack)
		feed_stack(m, ev);
	if (ev->kind == KIND_in_flight)
		feed_in_flight(m, schema, ev);
	return 0;
}

void moments_clear(struct moments *m)
{
	table_clear(&m->threads);
	table_clear(&m->processes);
	table_clear(&m->probed);
}

size_t moments_processes(const struct moments *m, unsigned moment, uint64_t *pids, size_t max)
{
	size_t n = 0, kept = 0;

	for (size_t i = 0; i < m->processes.nitems; i++) {
		const struct process_moments *p = (const struct process_moments *)m->processes.items[i];
		size_t at = kept;

		if (!(moment == MOMENT_BEGIN ? p->begin : p->end))
			continue;
		n++;
		while (at > 0 && pids[at - 1] > p->key.a)
			at--;
		if (at == max)
			continue;
		kept += kept < max;
		memmove(pids + at + 1, pids + at, (kept - at - 1) * sizeof(*pids));
		pids[at] = p->key.a;
	}
	return n;
}

const struct thread_moments *moments_main(const struct moments *m, uint64_t pid)
{
	const struct process_moments *p = table_find(&m->processes, pid, 0);
	const struct thread_moments *t = table_find(&m->threads, pid, 0);

	if (p && (!t || (t->begin.known && t->begin.state == THREAD_DEAD)))
		t = table_find(&m->threads, p->any_tid, 0);
	return t;
}

/* The probe on the function that a frame is in; 0: none. */
static uint16_t probed_at(const struct moments *m, const struct schema *schema, const struct frame *f)
{
	size_t n = f->symbol ? symbol_function_bytes(f->symbol, f->symbol_len) : 0;

	for (size_t i = 0; f->symbol && i < schema->nprobes; i++) {
		const struct probe *p = &schema->probes[i];

		if (strlen(p->name) == n && memcmp(p->name, f->symbol, n) == 0 &&
		    table_find(&m->probed, f->module, p->id))
			return p->id;
	}
	return 0;
}

uint16_t moments_call(const struct moments *m, const struct schema *schema, const struct names *names, uint64_t stack,
		      const struct frame **caller)
{
	const struct stack *s = stack ? names_stack(names, stack) : NULL;

	for (unsigned i = s ? s->nframes : 0; i-- > 0;) {
		uint16_t probe = probed_at(m, schema, &s->frames[i]);

		if (caller)
			*caller = i + 1 < s->nframes ? &s->frames[i + 1] : NULL;
		if (probe)
			return probe;
	}
	return 0;
}

static void add_one(struct text *t, const struct moment *at, const char *call, enum machine machine)
{
	static const char *const words[] = {
		[THREAD_RUNNING] = "ran or could",
		[THREAD_SLEEPING] = "slept",
		[THREAD_UNINTERRUPTIBLE] = "slept where no signal wakes it",
		[THREAD_STOPPED] = "was stopped by a signal",
		[THREAD_TRACED] = "was held by a debugger",
		[THREAD_DEAD] = "had ended",
		[THREAD_OTHER] = "did neither run nor sleep",
	};
	const char *name = at->syscall ? syscall_name(machine, at->syscall - 1) : NULL;

	text_add(t, "%s", words[at->state]);
	if (name)
		text_add(t, " in %s", name);
	else if (at->syscall)
		text_add(t, " in system call %llu", (unsigned long long)at->syscall - 1);
	if (*call)
		text_add(t, " inside %s", call);
}

static bool same(const struct moment *a, const struct moment *b)
{
	return a->state == b->state && a->syscall == b->syscall;
}

void moments_add(struct text *t, const struct thread_moments *thread, const char *begin_call, const char *end_call,
		 enum machine machine)
{
	const struct moment *begin = &thread->begin, *end = &thread->end;

	add_one(t, begin->known ? begin : end, begin->known ? begin_call : end_call, machine);
	if (begin->known && end->known && same(begin, end) && strcmp(begin_call, end_call) == 0) {
		text_add(t, " when the capture began and when recording ended");
		return;
	}
	text_add(t, begin->known ? " when the capture began" : " when recording ended");
	if (!begin->known || !end->known)
		return;
	text_add(t, ", and ");
	add_one(t, end, end_call, machine);
	text_add(t, " when recording ended");
}

bool moments_waits(const struct thread_moments *thread)
{
	return thread->begin.known && thread->end.known && thread->begin.state != THREAD_RUNNING &&
	       thread->begin.state != THREAD_DEAD && same(&thread->begin, &thread->end);
}
