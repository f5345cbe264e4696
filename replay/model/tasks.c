/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/model/tasks.h"
#include "format/base/array.h"

#include <stdlib.h>
#include <string.h>

#include "format/base/escape.h"

void tasks_clear(struct tasks *t)
{
	for (uint32_t i = 1; i <= t->nprocesses; i++) {
		free(t->processes[i].shown);
		free(t->processes[i].path);
	}
	for (uint32_t i = 1; i <= t->nthreads; i++) {
		if (t->threads[i].json != t->threads[i].shown)
			free(t->threads[i].json);
		free(t->threads[i].shown);
	}
	free(t->processes);
	free(t->threads);
	table_clear(&t->nameless);
	map_clear(&t->by_pid);
	map_clear(&t->by_tid);
	cpu_sets_clear(&t->cpu_sets);
	*t = (struct tasks){0};
}

static int new_process(struct tasks *t, uint32_t pid, uint64_t at_ns, struct process **out, struct fault *why)
{
	struct process *new;

	if (t->processes_max && t->nprocesses >= t->processes_max) {
		t->nbeyond++;
		*out = NULL;
		return 0;
	}
	new = array_at(&t->processes, &t->processes_room, (size_t)t->nprocesses + 1, sizeof(*new));
	if (!new || map_put(&t->by_pid, pid, 0, t->nprocesses + 1))
		return fault_no_memory(why);
	*new = (struct process){
		.number = ++t->nprocesses, .pid = pid, .first_ns = at_ns, .start_ns = NO_TIME, .end_ns = NO_TIME};
	*out = new;
	return 0;
}

static int new_thread(struct tasks *t, uint32_t tid, uint64_t at_ns, struct thread **out, struct fault *why)
{
	struct thread *new = array_at(&t->threads, &t->threads_room, (size_t)t->nthreads + 1, sizeof(*new));

	if (!new || map_put(&t->by_tid, tid, 0, t->nthreads + 1))
		return fault_no_memory(why);
	*new = (struct thread){.number = ++t->nthreads,
			       .tid = tid,
			       .first_ns = at_ns,
			       .start_ns = NO_TIME,
			       .end_ns = NO_TIME,
			       .followed_ns = NO_TIME};
	*out = new;
	return 0;
}

int tasks_name_process(struct tasks *t, uint32_t pid, uint64_t at_ns, struct process **out, struct fault *why)
{
	uint32_t number = tasks_process(t, pid);

	if (pid == 0 || number) {
		*out = number ? &t->processes[number] : NULL;
		return 0;
	}
	return new_process(t, pid, at_ns, out, why);
}

/* The same of a thread. */
static int name_thread(struct tasks *t, uint32_t tid, uint64_t at_ns, struct thread **out, struct fault *why)
{
	uint32_t number = tasks_thread(t, tid);

	if (tid == 0 || number) {
		*out = number ? &t->threads[number] : NULL;
		return 0;
	}
	return new_thread(t, tid, at_ns, out, why);
}

/* Both at once: an event that says to which process its thread belongs. */
static int name_both(struct tasks *t, uint32_t pid, uint32_t tid, uint64_t at_ns, struct thread **out,
		     struct fault *why)
{
	struct process *process = NULL;
	struct thread *thread = NULL;

	if (tasks_name_process(t, pid, at_ns, &process, why) || name_thread(t, tid, at_ns, &thread, why))
		return ERR_MEMORY;
	if (thread && process && !thread->process)
		thread->process = process->number;
	*out = thread;
	return 0;
}

/* Nothing of it needs escaping, neither for a terminal nor in a string of JSON. */
static bool is_plain(const char *text, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		if (text[i] < ' ' || text[i] > '~' || text[i] == '"' || text[i] == '\\')
			return false;
	return true;
}

/* *json: NULL, or where the text goes as JSON has it: the same memory as *shown, if it is the same. */
static int set_text(char **shown, char **json, const char *text, uint64_t n, struct fault *why)
{
	bool plain = is_plain(text, n);
	char *copy = plain ? strndup(n ? text : "", n) : escape_copy(escape_terminal, text, n);
	char *other = plain || !json ? copy : escape_copy(escape_json, text, n);

	if (!copy || !other) {
		free(copy);
		if (other != copy)
			free(other);
		return fault_no_memory(why);
	}
	if (json && *json != *shown)
		free(*json);
	free(*shown);
	*shown = copy;
	if (json)
		*json = other;
	return 0;
}

static void set_name(struct name *name, const char *text, uint64_t n)
{
	name->len = (uint8_t)(n < NAME_KEPT_BYTES ? n : NAME_KEPT_BYTES);
	if (name->len)
		memcpy(name->s, text, name->len);
}

#define TICK_NS 10000000 /* of the clock in which /proc counts starts */

/* See the head of tasks.h. */
static bool same_instance(uint64_t known_ns, uint64_t end_ns, uint64_t start_ns)
{
	bool ended = end_ns != NO_TIME;

	if (start_ns == 0)
		return !ended;
	if (ended && start_ns > end_ns)
		return false;
	return known_ns == NO_TIME || (known_ns > start_ns ? known_ns - start_ns : start_ns - known_ns) < TICK_NS;
}

bool process_is(const struct process *p, uint64_t start_ns)
{
	return same_instance(p->start_ns, p->end_ns, start_ns);
}

static int feed_process(struct tasks *t, const struct event *ev, struct fault *why)
{
	uint32_t pid = (uint32_t)ev->v[F_process_pid], number = tasks_process(t, pid);
	uint64_t start_ns = ev->v[F_process_start];
	struct process *process = number ? &t->processes[number] : NULL;

	if (pid == 0)
		return 0;
	if ((!process || !process_is(process, start_ns)) && new_process(t, pid, ev->at_ns, &process, why))
		return ERR_MEMORY;
	if (!process)
		return 0;
	process->reported = true;
	if (process->start_ns == NO_TIME && start_ns)
		process->start_ns = start_ns;
	process->ppid = (uint32_t)ev->v[F_process_ppid];
	process->uid = (uint32_t)ev->v[F_process_uid];
	if (ev->v[F_process_tracked] && !process->tracked) {
		process->tracked = true;
		process->tracked_since_ns = ev->at_ns;
	}
	set_name(&process->name, ev->text[F_process_name], ev->v[F_process_name]);
	return set_text(&process->shown, NULL, ev->text[F_process_name], ev->v[F_process_name], why);
}

static int feed_thread(struct tasks *t, const struct event *ev, struct fault *why)
{
	uint32_t tid = (uint32_t)ev->v[F_thread_tid], number = tasks_thread(t, tid);
	uint64_t start_ns = ev->v[F_thread_start];
	struct thread *thread = number ? &t->threads[number] : NULL;
	struct process *process = NULL;

	if (tid == 0)
		return 0;
	if ((!thread || !same_instance(thread->start_ns, thread->end_ns, start_ns)) &&
	    new_thread(t, tid, ev->at_ns, &thread, why))
		return ERR_MEMORY;
	if (tasks_name_process(t, (uint32_t)ev->v[F_thread_pid], ev->at_ns, &process, why))
		return ERR_MEMORY;
	thread->reported = true;
	if (thread->start_ns == NO_TIME && start_ns)
		thread->start_ns = start_ns;
	if (process)
		thread->process = process->number;
	set_name(&thread->name, ev->text[F_thread_name], ev->v[F_thread_name]);
	return set_text(&thread->shown, &thread->json, ev->text[F_thread_name], ev->v[F_thread_name], why);
}

/* Calls, futex calls and page faults alike: all begin with at, pid, tid. */
static int feed_call(struct tasks *t, const struct event *ev, struct fault *why)
{
	struct thread *thread = NULL;

	if (name_both(t, (uint32_t)ev->v[F_call_pid], (uint32_t)ev->v[F_call_tid], ev->at_ns, &thread, why))
		return ERR_MEMORY;
	if (thread)
		thread->calls = true;
	return 0;
}
_Static_assert((int)F_futex_pid == (int)F_call_pid && (int)F_futex_tid == (int)F_call_tid, "feed_call() serves both");
_Static_assert((int)F_fault_pid == (int)F_call_pid && (int)F_fault_tid == (int)F_call_tid, "feed_call() serves both");

/* What a thread is in at a moment: likewise. */
static int feed_moment(struct tasks *t, const struct event *ev, struct fault *why)
{
	struct thread *unused;

	return name_both(t, (uint32_t)ev->v[F_state_pid], (uint32_t)ev->v[F_state_tid], ev->at_ns, &unused, why);
}
_Static_assert((int)F_state_pid == (int)F_in_flight_pid && (int)F_state_tid == (int)F_in_flight_tid,
	       "feed_moment() serves both");
_Static_assert((int)F_state_pid == (int)F_disk_pid && (int)F_state_tid == (int)F_disk_tid, "and this");
_Static_assert((int)F_state_pid == (int)F_network_pid && (int)F_state_tid == (int)F_network_tid, "and this");
_Static_assert((int)F_state_pid == (int)F_reclaim_pid && (int)F_state_tid == (int)F_reclaim_tid, "and this");
_Static_assert((int)F_state_pid == (int)F_thread_stack_pid && (int)F_state_tid == (int)F_thread_stack_tid, "and these");

static int feed_follow(struct tasks *t, const struct event *ev, struct fault *why)
{
	struct thread *thread;

	if (name_both(t, (uint32_t)ev->v[F_follow_pid], (uint32_t)ev->v[F_follow_tid], ev->at_ns, &thread, why))
		return ERR_MEMORY;
	if (thread && thread->followed_ns == NO_TIME)
		thread->followed_ns = ev->at_ns;
	return 0;
}

static int feed_scheduling(struct tasks *t, const struct event *ev, struct fault *why)
{
	struct thread *thread;

	if (name_both(t, (uint32_t)ev->v[F_scheduling_pid], (uint32_t)ev->v[F_scheduling_tid], ev->at_ns, &thread, why))
		return ERR_MEMORY;
	return thread ? scheduling_feed(&thread->scheduling, &t->cpu_sets, ev, why) : 0;
}

static int feed_switch(struct tasks *t, const struct event *ev, struct fault *why)
{
	struct thread *unused;

	if (name_thread(t, (uint32_t)ev->v[F_switch_prev_tid], ev->at_ns, &unused, why) ||
	    name_thread(t, (uint32_t)ev->v[F_switch_next_tid], ev->at_ns, &unused, why))
		return ERR_MEMORY;
	return 0;
}

static int feed_waking(struct tasks *t, const struct event *ev, struct fault *why)
{
	struct thread *unused;

	if (name_thread(t, (uint32_t)ev->v[F_waking_tid], ev->at_ns, &unused, why) ||
	    name_thread(t, (uint32_t)ev->v[F_waking_waker_tid], ev->at_ns, &unused, why))
		return ERR_MEMORY;
	return 0;
}

/* A child is in the control groups of who started it, unless it is reported otherwise. */
static void begin(struct tasks *t, uint32_t child, uint32_t ppid)
{
	struct process *p = &t->processes[child];
	uint32_t parent = tasks_process(t, ppid);

	p->began = true;
	p->cpu_group = t->processes[parent].cpu_group;
	p->memory_group = t->processes[parent].memory_group;
	if (!p->reported)
		p->ppid = ppid;
}

static int feed_fork(struct tasks *t, const struct event *ev, struct fault *why)
{
	uint32_t child_pid = (uint32_t)ev->v[F_fork_child_pid], child_tid = (uint32_t)ev->v[F_fork_child_tid];
	uint32_t process = tasks_process(t, child_pid), thread = tasks_thread(t, child_tid);
	struct thread *unused;

	/* The id is reused: the instance that had it has ended. */
	if (thread && t->threads[thread].end_ns <= ev->at_ns)
		map_remove(&t->by_tid, child_tid, 0);
	if (process && child_pid == child_tid && t->processes[process].end_ns <= ev->at_ns)
		map_remove(&t->by_pid, child_pid, 0);
	if (name_both(t, (uint32_t)ev->v[F_fork_pid], (uint32_t)ev->v[F_fork_tid], ev->at_ns, &unused, why) ||
	    name_both(t, child_pid, child_tid, ev->at_ns, &unused, why))
		return ERR_MEMORY;
	process = child_pid == (uint32_t)ev->v[F_fork_pid] ? 0 : tasks_process(t, child_pid);
	if (process)
		begin(t, process, (uint32_t)ev->v[F_fork_pid]);
	return 0;
}

static int feed_exec(struct tasks *t, const struct event *ev, struct fault *why)
{
	struct thread *unused;
	uint32_t process;

	if (name_both(t, (uint32_t)ev->v[F_exec_pid], (uint32_t)ev->v[F_exec_tid], ev->at_ns, &unused, why))
		return ERR_MEMORY;
	process = tasks_process(t, (uint32_t)ev->v[F_exec_pid]);
	if (process)
		t->processes[process].began = true;
	return 0;
}

static int feed_exit(struct tasks *t, const struct event *ev, struct fault *why)
{
	struct thread *thread = NULL;
	uint32_t process;

	if (name_both(t, (uint32_t)ev->v[F_exit_pid], (uint32_t)ev->v[F_exit_tid], ev->at_ns, &thread, why))
		return ERR_MEMORY;
	if (thread) {
		thread->end_ns = ev->at_ns;
		thread->status = (uint32_t)ev->v[F_exit_code];
	}
	process = tasks_process(t, (uint32_t)ev->v[F_exit_pid]);
	if (process && ev->v[F_exit_last]) {
		t->processes[process].end_ns = ev->at_ns;
		t->processes[process].status = (uint32_t)ev->v[F_exit_code];
	}
	return 0;
}

static int feed_executable(struct tasks *t, const struct event *ev, struct fault *why)
{
	struct process *process = NULL;

	if (tasks_name_process(t, (uint32_t)ev->v[F_executable_pid], ev->at_ns, &process, why))
		return ERR_MEMORY;
	/* A row about an instance that is not the current one changes nothing here. */
	if (!process || !process_is(process, ev->v[F_executable_start]))
		return 0;
	return set_text(&process->path, NULL, ev->text[F_executable_path], ev->v[F_executable_path], why);
}

static int feed_namespaces(struct tasks *t, const struct event *ev, struct fault *why)
{
	struct process *process = NULL;

	if (tasks_name_process(t, (uint32_t)ev->v[F_namespaces_pid], ev->at_ns, &process, why))
		return ERR_MEMORY;
	if (process && process_is(process, ev->v[F_namespaces_start]))
		process->pid_inside = (uint32_t)ev->v[F_namespaces_pid_inside];
	return 0;
}

int tasks_feed(struct tasks *t, const struct event *ev, struct fault *why)
{
	static int (*const feeders[])(struct tasks *, const struct event *, struct fault *) = {
		[KIND_launch] = feed_call,
		[KIND_alloc] = feed_call,
		[KIND_free] = feed_call,
		[KIND_copy] = feed_call,
		[KIND_set] = feed_call,
		[KIND_wait] = feed_call,
		[KIND_stream] = feed_call,
		[KIND_graph] = feed_call,
		[KIND_collective] = feed_call,
		[KIND_context] = feed_call,
		[KIND_map] = feed_call,
		[KIND_load] = feed_call,
		[KIND_futex] = feed_call,
		[KIND_fault] = feed_call,
		[KIND_reclaim] = feed_moment,
		[KIND_network] = feed_moment,
		[KIND_disk] = feed_moment,
		[KIND_follow] = feed_follow,
		[KIND_scheduling] = feed_scheduling,
		[KIND_switch] = feed_switch,
		[KIND_waking] = feed_waking,
		[KIND_fork] = feed_fork,
		[KIND_exec] = feed_exec,
		[KIND_exit] = feed_exit,
		[KIND_process] = feed_process,
		[KIND_thread] = feed_thread,
		[KIND_executable] = feed_executable,
		[KIND_state] = feed_moment,
		[KIND_in_flight] = feed_moment,
		[KIND_thread_stack] = feed_moment,
		[KIND_namespaces] = feed_namespaces,
	};

	if (ev->kind < sizeof(feeders) / sizeof(feeders[0]) && feeders[ev->kind])
		return feeders[ev->kind](t, ev, why);
	/* A call of a kind that a later version has. */
	return event_is_call(ev) ? feed_call(t, ev, why) : 0;
}

bool tasks_descends(const struct tasks *t, uint32_t process, uint32_t from)
{
	for (unsigned i = 0; process && i < ANCESTORS_MAX; i++) {
		if (process == from)
			return true;
		process = tasks_process(t, t->processes[process].ppid);
	}
	return false;
}
