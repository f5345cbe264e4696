// SPDX-License-Identifier: Apache-2.0
#include "analyze/names.h"

#include <stdlib.h>
#include <string.h>

#define START_SLACK_NS 10000000 /* a tick of the slowest clock that /proc counts in */

struct task {
	struct table_key key;
	uint64_t pid;
	uint64_t start_ns;
	bool exited;
	struct name name;
};

static int no_memory(struct fault *why)
{
	return fault_set(why, ERR_MEMORY, FAULT_NOWHERE, "out of memory while taking in names");
}

static void name_set(struct name *name, const char *s, uint64_t n)
{
	name->len = (uint8_t)(n < NAME_KEPT_BYTES ? n : NAME_KEPT_BYTES);
	if (name->len)
		memcpy(name->s, s, name->len);
}

/* /proc tells starts in ticks, the kernel in ns: the same start may be told both ways. */
static bool same_start(uint64_t a_ns, uint64_t b_ns)
{
	return (a_ns > b_ns ? a_ns - b_ns : b_ns - a_ns) < START_SLACK_NS;
}

/* A new instance takes the pid over. */
struct process *names_make(struct names *n, uint64_t pid)
{
	struct pid_entry *entry = table_find(&n->by_pid, pid, 0);
	struct process *p;

	if (n->processes.nitems >= PROCESSES_MAX) {
		n->nunkept++;
		return NULL;
	}
	if (!entry)
		entry = table_add(&n->by_pid, pid, 0, sizeof(*entry));
	if (!entry)
		return NULL;
	p = table_add(&n->processes, n->processes.nitems + 1, 0, sizeof(*p));
	if (!p)
		return NULL;
	p->pid = pid;
	entry->process = p;
	return p;
}

static struct process *current(const struct names *n, uint64_t pid)
{
	const struct pid_entry *entry = table_find(&n->by_pid, pid, 0);

	return entry ? entry->process : NULL;
}

static int feed_process(struct names *n, const struct event *ev, struct fault *why)
{
	uint64_t pid = ev->v[F_process_pid], start_ns = ev->v[F_process_start];
	struct process *p = current(n, pid);

	if (!p || (p->start_ns && start_ns ? !same_start(p->start_ns, start_ns) : p->ended))
		p = names_make(n, pid);
	if (!p)
		return n->processes.nitems >= PROCESSES_MAX ? 0 : no_memory(why);
	p->start_ns = start_ns;
	if (ev->v[F_process_tracked] && !p->tracked) {
		p->tracked = true;
		p->tracked_since_ns = ev->at_ns;
	}
	name_set(&p->name, ev->text[F_process_name], ev->v[F_process_name]);
	return 0;
}

static int feed_thread(struct names *n, const struct event *ev, uint64_t *tid, struct fault *why)
{
	uint64_t start_ns = ev->v[F_thread_start];
	struct task *task = table_find(&n->tasks, ev->v[F_thread_tid], 0);
	bool reused = task && (task->start_ns && start_ns ? !same_start(task->start_ns, start_ns) : task->exited);

	if (!task)
		task = table_add(&n->tasks, ev->v[F_thread_tid], 0, sizeof(*task));
	if (!task)
		return no_memory(why);
	task->pid = ev->v[F_thread_pid];
	task->start_ns = start_ns;
	task->exited = false;
	name_set(&task->name, ev->text[F_thread_name], ev->v[F_thread_name]);
	*tid = ev->v[F_thread_tid];
	return reused;
}

/*
 * The thread row of a new thread stands before its fork row and has told of a reused tid already; without thread rows
 * (withheld) the fork itself must.
 */
static int feed_fork(struct names *n, const struct event *ev, uint64_t *tid, struct fault *why)
{
	uint64_t child_tid = ev->v[F_fork_child_tid], child_pid = ev->v[F_fork_child_pid];
	struct task *task = table_find(&n->tasks, child_tid, 0);
	struct process *p = current(n, child_pid);
	bool reused = task && task->exited;

	if (child_pid == child_tid && p && p->ended && !names_make(n, child_pid) && n->processes.nitems < PROCESSES_MAX)
		return no_memory(why);
	if (!task)
		task = table_add(&n->tasks, child_tid, 0, sizeof(*task));
	if (!task)
		return no_memory(why);
	if (reused) {
		task->exited = false;
		task->start_ns = 0;
		task->name.len = 0;
	}
	task->pid = child_pid;
	*tid = child_tid;
	return reused;
}

static void feed_exit(struct names *n, const struct event *ev)
{
	struct task *task = table_find(&n->tasks, ev->v[F_exit_tid], 0);
	struct process *p = current(n, ev->v[F_exit_pid]);

	if (task)
		task->exited = true;
	if (p && ev->v[F_exit_last]) {
		p->ended = true;
		p->end_ns = ev->at_ns;
	}
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
		return no_memory(why);
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
		return no_memory(why);
	if (len > SYMBOL_KEPT_BYTES)
		len = SYMBOL_KEPT_BYTES;
	if (len > 0) {
		symbol = copy_bytes(ev->text[F_frame_symbol], len);
		if (!symbol)
			return no_memory(why);
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

const struct process *names_current(const struct names *n, uint64_t pid)
{
	return current(n, pid);
}

bool names_wants(uint16_t kind)
{
	switch (kind) {
	case KIND_process:
	case KIND_thread:
	case KIND_fork:
	case KIND_exec:
	case KIND_exit:
	case KIND_module:
	case KIND_attach:
	case KIND_frame:
		return true;
	default:
		return about_wants(kind);
	}
}

int names_feed(struct names *n, const struct event *ev, uint64_t *tid, struct fault *why)
{
	struct process *p;

	switch (ev->kind) {
	case KIND_process:
		return feed_process(n, ev, why);
	case KIND_thread:
		return feed_thread(n, ev, tid, why);
	case KIND_fork:
		return feed_fork(n, ev, tid, why);
	case KIND_exec:
		p = names_process(n, ev->v[F_exec_pid]);
		if (p)
			p->exec_seen = true;
		return p || n->processes.nitems >= PROCESSES_MAX ? 0 : no_memory(why);
	case KIND_exit:
		feed_exit(n, ev);
		return 0;
	case KIND_module:
		return feed_module(n, ev, why);
	case KIND_attach:
		feed_attach(n, ev);
		return 0;
	case KIND_frame:
		return feed_frame(n, ev, why);
	case KIND_fact:
		if (event_text_is(ev, F_fact_name, "machine") && ev->text[F_fact_value])
			n->machine = machine_by_name(ev->text[F_fact_value], (size_t)ev->v[F_fact_value]);
		return about_feed(&n->about, ev, why);
	default:
		return about_feed(&n->about, ev, why);
	}
}

const struct process *names_instance(const struct names *n, uint64_t number)
{
	return table_find(&n->processes, number, 0);
}

uint64_t names_pid_of(const struct names *n, uint64_t tid)
{
	const struct task *task = table_find(&n->tasks, tid, 0);

	return task ? task->pid : 0;
}

void names_who(const struct names *n, uint64_t tid, struct who *who)
{
	const struct task *task = table_find(&n->tasks, tid, 0);

	memset(who, 0, sizeof(*who));
	who->tid = tid;
	if (task) {
		who->pid = task->pid;
		who->name = task->name;
	}
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
	table_clear(&n->processes);
	table_clear(&n->by_pid);
	table_clear(&n->tasks);
	table_clear(&n->stacks);
	table_clear(&n->modules);
}
