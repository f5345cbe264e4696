/* SPDX-License-Identifier: Apache-2.0 */
/* What a recording does when the kernel tells of a process: where it came from, what it runs, what it mapped. */
#include "record/recording_inside.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

int pid_set_add(struct pid_set *set, uint32_t pid, struct fault *why)
{
	uint32_t *more;

	for (size_t i = 0; i < set->n; i++)
		if (set->pids[i] == pid)
			return 0;
	if (set->n == set->room) {
		more = reallocarray(set->pids, set->room * 2 + 16, sizeof(*more));
		if (!more)
			return fault_set(why, ERR_MEMORY, FAULT_NOWHERE, "out of memory");
		set->pids = more;
		set->room = set->room * 2 + 16;
	}
	set->pids[set->n++] = pid;
	return 0;
}

void pid_set_remove(struct pid_set *set, uint32_t pid)
{
	for (size_t i = 0; i < set->n; i++)
		if (set->pids[i] == pid)
			set->pids[i] = set->pids[--set->n];
}

static int tell_executable(struct recording *s, uint32_t pid, uint64_t start_ns, struct fault *why)
{
	const char *text[NFIELDS_executable] = {0};
	uint64_t v[NFIELDS_executable] = {0};
	char path[PROCFS_PATH_MAX];

	if (procfs_exe(&s->fs, pid, path, sizeof(path), NULL, NULL) <= 0)
		return 0; /* gone, or not for us to see: it has its name still */
	v[F_executable_at] = clock_ns(CLOCK_BOOTTIME);
	v[F_executable_pid] = pid;
	v[F_executable_start] = start_ns;
	v[F_executable_path] = strlen(path);
	text[F_executable_path] = path;
	return writer_add(s->writer, KIND_executable, v, text, why);
}

static int on_process(struct recording *s, const struct ring_process *p, struct fault *why)
{
	int r;

	if (!p->tracked)
		return 0;
	for (size_t i = 0; i < s->tracked.n; i++)
		if (s->tracked.pids[i] == p->pid)
			return 0; /* another name of one that we know */
	r = pid_set_add(&s->tracked, p->pid, why);
	return r < 0 ? r : tell_executable(s, p->pid, p->start_ns, why);
}

static int on_exec(struct recording *s, const struct ring_exec *e, struct fault *why)
{
	symbolizer_forget(s->symbolizer, e->pid);
	return tell_executable(s, e->pid, e->start_ns, why);
}

static int on_end(struct recording *s, const struct ring_exit *e, struct fault *why)
{
	if (!e->last)
		return 0;
	pid_set_remove(&s->tracked, e->pid);
	return pid_set_add(&s->gone, e->pid, why);
}

/*
 * Look at what a process has mapped as code by now, so that its stacks can be told in words even when it ends before we
 * read them. Only where that is soon done: a process with much more mapped does not end that soon either.
 */
static int learn_code(struct recording *s, uint32_t pid, uint64_t now_ns, struct fault *why)
{
	uint64_t address[LEARN_MAPPINGS];
	struct process_info info;
	struct place place;
	size_t n = 0;
	int r;

	if (procfs_process(&s->fs, pid, &info, NULL) <= 0)
		return 0;
	r = symbolizer_learn(s->symbolizer, pid, info.start_ns, now_ns, why);
	if (r < 0 || procfs_maps_open(&s->maps, &s->fs, pid, NULL) <= 0)
		return r;
	while (n < LEARN_MAPPINGS && procfs_maps_next(&s->maps, &s->line, NULL) > 0)
		if ((s->line.prot & PROT_EXEC) && s->line.inode)
			address[n++] = s->line.start;
	procfs_maps_close(&s->maps);
	for (size_t i = 0; i < n && n < LEARN_MAPPINGS && r >= 0; i++)
		r = symbolizer_place(s->symbolizer, pid, info.start_ns, address[i], false, now_ns, &place, why);
	return r;
}

void recording_note_refused(struct recording *s)
{
	const struct discover_counts *counts = discover_counts(s->discover);

	if (counts->refused > s->nrefused)
		recording_note(s, 0,
			       "%zu functions cannot be probed here, their calls are not recorded (`attach` rows tell)",
			       counts->refused - s->nrefused);
	if (counts->unread > s->nunread)
		recording_note(s, 0, "a CUDA library cannot be probed: %s", counts->last_problem);
	s->nrefused = counts->refused;
	s->nunread = counts->unread;
}

/* Attach while the process stands still, if it does, and let it go on in any case. */
static int on_mapped(struct recording *s, const struct ring_mapped *m, struct fault *why)
{
	uint64_t now_ns;
	int r = 0;

	if (!s->ending) {
		r = discover_process(s->discover, m->pid, why);
		if (r == 0)
			recording_note(s, 0,
				       "process %u mapped a CUDA library that could not be found in its mappings: its "
				       "calls may go unrecorded",
				       m->pid);
		if (r >= 0)
			r = attach_file_known(s->attach, &m->file, why);
		if (r >= 0)
			r = learn_code(s, m->pid, clock_ns(CLOCK_BOOTTIME), why);
	}
	if (m->held && kill((pid_t)m->pid, SIGCONT) < 0 && errno != ESRCH)
		recording_note(
			s, 0,
			"process %u was held to attach to its CUDA library and cannot be continued: %s; kill -CONT %u",
			m->pid, strerror(errno), m->pid);
	if (s->ending || r < 0)
		return r < 0 ? r : 0;
	now_ns = clock_ns(CLOCK_BOOTTIME);
	recording_note(s, 1, "process %u mapped a CUDA library; %s %.1f ms", m->pid,
		       m->held ? "held for" : "attached to it after",
		       (double)(now_ns > m->head.at_ns ? now_ns - m->head.at_ns : 0) / 1e6);
	recording_note_refused(s);
	r = attach_scan_threads(s->attach, why);
	if (r >= 0)
		r = discover_tell(s->discover, s->stacks, s->writer, now_ns, why);
	return r;
}

int recording_notice(void *self, const struct ring_head *record, struct fault *why)
{
	struct recording *s = self;
	const void *any = record;

	switch (record->type) {
	case RING_PROCESS:
		return on_process(s, any, why);
	case RING_EXEC:
		return on_exec(s, any, why);
	case RING_EXIT:
		return on_end(s, any, why);
	case RING_MAPPED:
		return on_mapped(s, any, why);
	default:
		return 0;
	}
}
