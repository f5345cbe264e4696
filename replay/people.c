/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/people.h"

#include <stdlib.h>
#include <string.h>

#include "format/escape.h"

static int no_memory(struct fault *why)
{
	return fault_set(why, ERR_MEMORY, FAULT_NOWHERE, "no memory for the table of processes and threads");
}

void people_clear(struct people *p)
{
	for (uint32_t i = 1; i <= p->nprocesses; i++) {
		free(p->processes[i].name);
		free(p->processes[i].path);
	}
	for (uint32_t i = 1; i <= p->nthreads; i++) {
		free(p->threads[i].name);
		free(p->threads[i].json);
	}
	free(p->processes);
	free(p->threads);
	map_clear(&p->by_pid);
	map_clear(&p->by_tid);
	*p = (struct people){0};
}

uint32_t people_process(const struct people *p, uint32_t pid)
{
	return map_get(&p->by_pid, pid, 0);
}

uint32_t people_thread(const struct people *p, uint32_t tid)
{
	return map_get(&p->by_tid, tid, 0);
}

/* One more element in a table numbered from 1, or -1. */
static int make_room(void **table, uint32_t n, uint32_t *room, size_t size)
{
	uint32_t more = *room ? *room * 2 : 64;
	void *grown;

	if (n + 1 < *room)
		return 0;
	grown = reallocarray(*table, more, size);
	if (!grown)
		return -1;
	*table = grown;
	*room = more;
	return 0;
}

static int new_process(struct people *p, uint32_t pid, uint64_t at_ns, struct process **out, struct fault *why)
{
	if (make_room((void **)&p->processes, p->nprocesses, &p->processes_room, sizeof(*p->processes)) ||
	    map_put(&p->by_pid, pid, 0, p->nprocesses + 1))
		return no_memory(why);
	*out = &p->processes[++p->nprocesses];
	**out = (struct process){.pid = pid, .first_ns = at_ns, .start_ns = NO_TIME, .end_ns = NO_TIME};
	return 0;
}

static int new_thread(struct people *p, uint32_t tid, uint64_t at_ns, struct thread **out, struct fault *why)
{
	if (make_room((void **)&p->threads, p->nthreads, &p->threads_room, sizeof(*p->threads)) ||
	    map_put(&p->by_tid, tid, 0, p->nthreads + 1))
		return no_memory(why);
	*out = &p->threads[++p->nthreads];
	**out = (struct thread){.tid = tid, .first_ns = at_ns, .start_ns = NO_TIME, .end_ns = NO_TIME};
	return 0;
}

/* The current instance, an implied one if the pid was not heard of. Pid 0 (the idle threads) is nobody: *out = NULL. */
static int name_process(struct people *p, uint32_t pid, uint64_t at_ns, struct process **out, struct fault *why)
{
	uint32_t number = people_process(p, pid);

	if (pid == 0 || number) {
		*out = number ? &p->processes[number] : NULL;
		return 0;
	}
	return new_process(p, pid, at_ns, out, why);
}

static int name_thread(struct people *p, uint32_t tid, uint64_t at_ns, struct thread **out, struct fault *why)
{
	uint32_t number = people_thread(p, tid);

	if (tid == 0 || number) {
		*out = number ? &p->threads[number] : NULL;
		return 0;
	}
	return new_thread(p, tid, at_ns, out, why);
}

/* Both at once: an event that says to which process its thread belongs. */
static int name_both(struct people *p, uint32_t pid, uint32_t tid, uint64_t at_ns, struct thread **out,
		     struct fault *why)
{
	struct process *process = NULL;
	struct thread *thread = NULL;

	if (name_process(p, pid, at_ns, &process, why) || name_thread(p, tid, at_ns, &thread, why))
		return why->code;
	if (thread && process && !thread->process)
		thread->process = (uint32_t)(process - p->processes);
	*out = thread;
	return 0;
}

static int set_text(char **to, size_t (*escape)(char *, size_t, const char *, size_t), const char *text, uint64_t n,
		    struct fault *why)
{
	size_t room = n * ESCAPE_GROWTH + 1;
	char *copy = malloc(room);

	if (!copy)
		return no_memory(why);
	escape(copy, room, text, n);
	free(*to);
	*to = copy;
	return 0;
}

/* Whether a row that tells of (id, start) means this instance. */
static bool same_instance(bool told, uint64_t known_ns, uint64_t end_ns, uint64_t start_ns)
{
	if (told)
		return known_ns == start_ns;
	return end_ns == NO_TIME || start_ns <= end_ns;
}

static int see_process(struct people *p, const struct event *ev, struct fault *why)
{
	uint32_t pid = (uint32_t)ev->v[F_process_pid], number = people_process(p, pid);
	uint64_t start_ns = ev->v[F_process_start];
	struct process *process = number ? &p->processes[number] : NULL;

	if (pid == 0)
		return 0;
	if ((!process || !same_instance(process->told, process->start_ns, process->end_ns, start_ns)) &&
	    new_process(p, pid, ev->at_ns, &process, why))
		return why->code;
	process->told = true;
	process->start_ns = start_ns;
	process->ppid = (uint32_t)ev->v[F_process_ppid];
	process->uid = (uint32_t)ev->v[F_process_uid];
	process->tracked = ev->v[F_process_tracked] != 0;
	return set_text(&process->name, escape_terminal, ev->text[F_process_name], ev->v[F_process_name], why);
}

static int see_thread(struct people *p, const struct event *ev, struct fault *why)
{
	uint32_t tid = (uint32_t)ev->v[F_thread_tid], number = people_thread(p, tid);
	uint64_t start_ns = ev->v[F_thread_start];
	struct thread *thread = number ? &p->threads[number] : NULL;
	struct process *process = NULL;

	if (tid == 0)
		return 0;
	if ((!thread || !same_instance(thread->told, thread->start_ns, thread->end_ns, start_ns)) &&
	    new_thread(p, tid, ev->at_ns, &thread, why))
		return why->code;
	if (name_process(p, (uint32_t)ev->v[F_thread_pid], ev->at_ns, &process, why))
		return why->code;
	thread->told = true;
	thread->start_ns = start_ns;
	if (process)
		thread->process = (uint32_t)(process - p->processes);
	if (set_text(&thread->name, escape_terminal, ev->text[F_thread_name], ev->v[F_thread_name], why))
		return why->code;
	return set_text(&thread->json, escape_json, ev->text[F_thread_name], ev->v[F_thread_name], why);
}

/* Calls, futex calls and page faults alike: all begin with at, pid, tid. */
static int see_call(struct people *p, const struct event *ev, struct fault *why)
{
	struct thread *thread = NULL;

	if (name_both(p, (uint32_t)ev->v[F_call_pid], (uint32_t)ev->v[F_call_tid], ev->at_ns, &thread, why))
		return why->code;
	if (thread)
		thread->calls = true;
	return 0;
}
_Static_assert((int)F_futex_pid == (int)F_call_pid && (int)F_futex_tid == (int)F_call_tid, "see_call() serves both");
_Static_assert((int)F_fault_pid == (int)F_call_pid && (int)F_fault_tid == (int)F_call_tid, "see_call() serves both");

static int see_switch(struct people *p, const struct event *ev, struct fault *why)
{
	struct thread *unused;

	if (name_thread(p, (uint32_t)ev->v[F_switch_prev_tid], ev->at_ns, &unused, why) ||
	    name_thread(p, (uint32_t)ev->v[F_switch_next_tid], ev->at_ns, &unused, why))
		return why->code;
	return 0;
}

static int see_waking(struct people *p, const struct event *ev, struct fault *why)
{
	struct thread *unused;

	if (name_thread(p, (uint32_t)ev->v[F_waking_tid], ev->at_ns, &unused, why) ||
	    name_thread(p, (uint32_t)ev->v[F_waking_waker_tid], ev->at_ns, &unused, why))
		return why->code;
	return 0;
}

static int see_fork(struct people *p, const struct event *ev, struct fault *why)
{
	uint32_t child_pid = (uint32_t)ev->v[F_fork_child_pid], child_tid = (uint32_t)ev->v[F_fork_child_tid];
	uint32_t process = people_process(p, child_pid), thread = people_thread(p, child_tid);
	struct thread *unused;

	/* An id that comes round: whoever had it has ended. */
	if (thread && p->threads[thread].end_ns <= ev->at_ns)
		map_remove(&p->by_tid, child_tid, 0);
	if (process && p->processes[process].end_ns <= ev->at_ns)
		map_remove(&p->by_pid, child_pid, 0);
	if (name_both(p, (uint32_t)ev->v[F_fork_pid], (uint32_t)ev->v[F_fork_tid], ev->at_ns, &unused, why) ||
	    name_both(p, child_pid, child_tid, ev->at_ns, &unused, why))
		return why->code;
	return 0;
}

static int see_exec(struct people *p, const struct event *ev, struct fault *why)
{
	struct thread *unused;

	return name_both(p, (uint32_t)ev->v[F_exec_pid], (uint32_t)ev->v[F_exec_tid], ev->at_ns, &unused, why);
}

static int see_exit(struct people *p, const struct event *ev, struct fault *why)
{
	struct thread *thread = NULL;
	uint32_t process;

	if (name_both(p, (uint32_t)ev->v[F_exit_pid], (uint32_t)ev->v[F_exit_tid], ev->at_ns, &thread, why))
		return why->code;
	if (thread) {
		thread->end_ns = ev->at_ns;
		thread->status = (uint32_t)ev->v[F_exit_code];
	}
	process = people_process(p, (uint32_t)ev->v[F_exit_pid]);
	if (process && ev->v[F_exit_last]) {
		p->processes[process].end_ns = ev->at_ns;
		p->processes[process].status = (uint32_t)ev->v[F_exit_code];
	}
	return 0;
}

static int see_executable(struct people *p, const struct event *ev, struct fault *why)
{
	struct process *process = NULL;

	if (name_process(p, (uint32_t)ev->v[F_executable_pid], ev->at_ns, &process, why))
		return why->code;
	/* A row about an instance that is not the current one changes nothing here. */
	if (!process || (process->told && process->start_ns != ev->v[F_executable_start]))
		return 0;
	return set_text(&process->path, escape_terminal, ev->text[F_executable_path], ev->v[F_executable_path], why);
}

int people_see(struct people *p, const struct event *ev, struct fault *why)
{
	static int (*const seers[])(struct people *, const struct event *, struct fault *) = {
		[KIND_launch] = see_call,     [KIND_alloc] = see_call,
		[KIND_free] = see_call,       [KIND_copy] = see_call,
		[KIND_set] = see_call,        [KIND_wait] = see_call,
		[KIND_stream] = see_call,     [KIND_graph] = see_call,
		[KIND_collective] = see_call, [KIND_context] = see_call,
		[KIND_map] = see_call,        [KIND_load] = see_call,
		[KIND_futex] = see_call,      [KIND_fault] = see_call,
		[KIND_switch] = see_switch,   [KIND_waking] = see_waking,
		[KIND_fork] = see_fork,       [KIND_exec] = see_exec,
		[KIND_exit] = see_exit,       [KIND_process] = see_process,
		[KIND_thread] = see_thread,   [KIND_executable] = see_executable,
	};

	if (ev->kind < sizeof(seers) / sizeof(seers[0]) && seers[ev->kind])
		return seers[ev->kind](p, ev, why);
	/* A call of a kind that a later version has. */
	return ev->shape && ev->shape->flags == KIND_CALL ? see_call(p, ev, why) : 0;
}
