// SPDX-License-Identifier: Apache-2.0
#include "analyze/people.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "replay/model/timeline.h"

const struct process *names_look_up(struct names *n, uint64_t pid, uint64_t at_ns)
{
	struct process *p;
	struct fault ignored;

	if (tasks_name_process(&n->tasks, (uint32_t)pid, at_ns, &p, &ignored) || !p)
		return NULL;
	n->recent[pid % PROCESSES_RECENT] = p->number;
	return p;
}

/* A row about tasks. `tid`: the thread that it names, if it can be another one of that number. */
static int feed_tasks(struct names *n, const struct event *ev, uint64_t tid, uint64_t *changed, struct fault *why)
{
	uint32_t before = tid ? tasks_thread(&n->tasks, (uint32_t)tid) : 0;
	int r = tasks_feed(&n->tasks, ev, why);

	memset(n->recent, 0, sizeof(n->recent));
	*changed = tid;
	return r < 0 ? r : before && tasks_thread(&n->tasks, (uint32_t)tid) != before;
}

static char *copy_bytes(const char *s, size_t n)
{
	char *copy = malloc(n + 1);

	if (!copy)
		return NULL;
	if (n)
		memcpy(copy, s, n);
	copy[n] = 0;
	return copy;
}

static int feed_module(struct names *n, const struct event *ev, struct fault *why)
{
	struct module *m = table_find(&n->modules, ev->v[F_module_id], 0);
	size_t len = (size_t)ev->v[F_module_path];
	char *path;

	if (!m && n->modules.nitems >= MODULES_MAX) {
		n->nunkept++;
		return 0;
	}
	if (!m)
		m = table_add(&n->modules, ev->v[F_module_id], 0, sizeof(*m));
	path = copy_bytes(ev->text[F_module_path], len);
	if (!m || !path) {
		free(path);
		return fault_no_memory(why);
	}
	free(m->path);
	m->path = path;
	m->path_len = len;
	return 0;
}

static int feed_frame(struct names *n, const struct event *ev, struct fault *why)
{
	struct stack *s = table_find(&n->stacks, ev->v[F_frame_stack], 0);
	uint64_t depth = ev->v[F_frame_depth];
	struct frame *f;
	char *symbol = NULL;
	size_t len = (size_t)ev->v[F_frame_symbol];

	if (depth >= FRAMES_KEPT)
		return 0;
	if (!s && n->stacks.nitems >= STACKS_MAX) {
		n->nunkept++;
		return 0;
	}
	if (!s)
		s = table_add(&n->stacks, ev->v[F_frame_stack], 0, sizeof(*s));
	if (!s)
		return fault_no_memory(why);
	if (len > SYMBOL_KEPT_BYTES)
		len = SYMBOL_KEPT_BYTES;
	if (len > 0) {
		symbol = copy_bytes(ev->text[F_frame_symbol], len);
		if (!symbol)
			return fault_no_memory(why);
	}
	f = &s->frames[depth];
	free(f->symbol);
	*f = (struct frame){.address = ev->v[F_frame_address],
			    .offset = ev->v[F_frame_offset],
			    .module = ev->v[F_frame_module],
			    .symbol = symbol,
			    .symbol_len = len};
	if (s->nframes <= depth)
		s->nframes = (unsigned)depth + 1;
	return 0;
}

static void feed_attach(struct names *n, const struct event *ev)
{
	if (ev->v[F_attach_error] == 0)
		return;
	if (n->nrefusals < REFUSALS_KEPT)
		n->refusals[n->nrefusals] =
			(struct refusal){ev->v[F_attach_probe], ev->v[F_attach_module], ev->v[F_attach_error]};
	n->nrefusals++;
}

/* The number of the group that a field names, if it does. */
static int take_group(struct names *n, const struct event *ev, int field, uint64_t *number, struct fault *why)
{
	if (!ev->text[field] || !ev->v[field])
		return 0;
	return control_groups_number(&n->control_groups, ev->text[field], (size_t)ev->v[field], number, why);
}

static int feed_cgroup(struct names *n, const struct event *ev, struct fault *why)
{
	struct process *p;
	int r = tasks_name_process(&n->tasks, (uint32_t)ev->v[F_cgroup_pid], ev->at_ns, &p, why);

	if (r < 0 || !p)
		return r;
	r = take_group(n, ev, F_cgroup_cpu, &p->cpu_group, why);
	return r < 0 ? r : take_group(n, ev, F_cgroup_memory_group, &p->memory_group, why);
}

bool names_wants(uint16_t kind)
{
	switch (kind) {
	case KIND_process:
	case KIND_thread:
	case KIND_namespaces:
	case KIND_follow:
	case KIND_scheduling:
	case KIND_fork:
	case KIND_exec:
	case KIND_exit:
	case KIND_module:
	case KIND_attach:
	case KIND_frame:
	case KIND_cgroup:
	case KIND_quota:
	case KIND_memory_limit:
	case KIND_signal:
	case KIND_disk:
	case KIND_disk_device:
	case KIND_network:
	case KIND_connection:
	case KIND_kernel:
		return true;
	default:
		return about_wants(kind);
	}
}

static int feed_signal(struct names *n, const struct event *ev, struct fault *why)
{
	const struct thread *sender = tasks_find_thread(&n->tasks, as_tid(ev->v[F_signal_sender_tid]));

	return stop_signals_feed(&n->stops, ev, sender ? n->tasks.processes[sender->process].pid : 0, why);
}

int names_feed(struct names *n, const struct event *ev, uint64_t *tid, struct fault *why)
{
	switch (ev->kind) {
	case KIND_process:
	case KIND_namespaces:
	case KIND_follow:
	case KIND_scheduling:
	case KIND_exec:
	case KIND_exit:
		return feed_tasks(n, ev, 0, tid, why);
	case KIND_thread:
		return feed_tasks(n, ev, ev->v[F_thread_tid], tid, why);
	case KIND_fork:
		return feed_tasks(n, ev, ev->v[F_fork_child_tid], tid, why);
	case KIND_module:
		return feed_module(n, ev, why);
	case KIND_attach:
		feed_attach(n, ev);
		return 0;
	case KIND_frame:
		return feed_frame(n, ev, why);
	case KIND_cgroup:
		return feed_cgroup(n, ev, why);
	case KIND_quota:
		return control_groups_feed_quota(&n->control_groups, ev, why);
	case KIND_memory_limit:
		return control_groups_feed_memory(&n->control_groups, ev, why);
	case KIND_signal:
		return feed_signal(n, ev, why);
	case KIND_disk:
	case KIND_disk_device:
		return disk_waits_feed(&n->disks, ev, why);
	case KIND_network:
	case KIND_connection:
		return network_waits_feed(&n->network, ev, why);
	case KIND_kernel:
		return kernels_see(&n->kernels, &n->tasks, ev, why);
	case KIND_fact:
		if (event_text_is(ev, F_fact_name, "machine") && ev->text[F_fact_value])
			n->machine = machine_by_name(ev->text[F_fact_value], (size_t)ev->v[F_fact_value]);
		return about_feed(&n->about, ev, why);
	default:
		return about_feed(&n->about, ev, why);
	}
}

void names_who_was(const struct names *n, uint64_t tid, uint32_t number, struct who *who)
{
	const struct thread *thread = number ? &n->tasks.threads[number] : tasks_find_thread(&n->tasks, (uint32_t)tid);

	memset(who, 0, sizeof(*who));
	who->tid = tid;
	if (thread) {
		who->pid = thread->process ? n->tasks.processes[thread->process].pid : 0;
		who->name = thread->name;
		who->scheduling = thread->scheduling;
	}
}

void names_who(const struct names *n, uint64_t tid, struct who *who)
{
	names_who_was(n, tid, 0, who);
}

const struct control_group *names_quota_of_instance(const struct names *n, uint64_t number)
{
	const struct process *p = names_instance(n, number);

	return p && p->cpu_group ? control_groups_throttled(&n->control_groups, p->cpu_group) : NULL;
}

const struct control_group *names_quota_of(const struct names *n, uint64_t tid)
{
	const struct thread *thread = tasks_find_thread(&n->tasks, (uint32_t)tid);

	return names_quota_of_instance(n, thread ? thread->process : 0);
}

const struct control_group *names_memory_of_instance(const struct names *n, uint64_t number)
{
	const struct process *p = names_instance(n, number);

	return p && p->memory_group ? control_groups_short(&n->control_groups, p->memory_group) : NULL;
}

const struct control_group *names_memory_of(const struct names *n, uint64_t tid)
{
	const struct thread *thread = tasks_find_thread(&n->tasks, (uint32_t)tid);

	return names_memory_of_instance(n, thread ? thread->process : 0);
}

uint64_t names_held_ns(const struct names *n, uint64_t number)
{
	const struct process *p = names_instance(n, number);

	return p ? stop_signals_held(&n->stops, p->pid) : 0;
}

const struct stop_signal *names_stop_of(const struct names *n, uint32_t tid, uint64_t at_ns)
{
	uint32_t pid = tasks_tid_pid(&n->tasks, tid);

	return pid ? stop_signals_find(&n->stops, pid, tid, at_ns) : NULL;
}

size_t symbol_function_bytes(const char *symbol, size_t n)
{
	size_t digits = 0;

	while (digits < n && isxdigit((unsigned char)symbol[n - 1 - digits]))
		digits++;
	if (digits == 0 || n < digits + 4 || memcmp(symbol + n - digits - 3, "+0x", 3) != 0)
		return n;
	return n - digits - 3;
}

const struct stack *names_stack(const struct names *n, uint64_t number)
{
	return table_find(&n->stacks, number, 0);
}

const struct module *names_module(const struct names *n, uint64_t number)
{
	return table_find(&n->modules, number, 0);
}

void names_clear(struct names *n)
{
	for (size_t i = 0; i < n->stacks.nitems; i++) {
		struct stack *s = (struct stack *)n->stacks.items[i];

		for (unsigned f = 0; f < s->nframes; f++)
			free(s->frames[f].symbol);
	}
	for (size_t i = 0; i < n->modules.nitems; i++)
		free(((struct module *)n->modules.items[i])->path);
	about_clear(&n->about);
	control_groups_clear(&n->control_groups);
	stop_signals_clear(&n->stops);
	disk_waits_clear(&n->disks);
	network_waits_clear(&n->network);
	kernels_clear(&n->kernels);
	tasks_clear(&n->tasks);
	table_clear(&n->stacks);
	table_clear(&n->modules);
}
