/* SPDX-License-Identifier: Apache-2.0 */
/* What a recording does when the kernel tells of a process: where it came from, what it runs, what it mapped. */
#include "record/recording_inside.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

bool pid_set_has(const struct pid_set *set, uint32_t pid)
{
	for (size_t i = 0; i < set->n; i++)
		if (set->pids[i] == pid)
			return true;
	return false;
}

int pid_set_add(struct pid_set *set, uint32_t pid, struct fault *why)
{
	uint32_t *more;

	if (pid_set_has(set, pid))
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

static int on_process(struct recording *s, const struct ring_process *p, struct fault *why)
{
	int r;

	if (!p->tracked)
		return 0;
	r = pid_set_add(&s->tracked, p->pid, why);
	/* It may also be but another name of one that we know. */
	return r < 0 ? r : recording_tell_process(s, p->pid, p->start_ns, NULL, why);
}

static int on_exec(struct recording *s, const struct ring_exec *e, struct fault *why)
{
	symbolizer_forget(s->symbolizer, e->pid);
	discover_forget(s->discover, e->pid);
	return recording_tell_process(s, e->pid, e->start_ns, e, why);
}

static int on_end(struct recording *s, const struct ring_exit *e, struct fault *why)
{
	if (s->rotation.standing)
		standing_ended(s->rotation.standing, e->pid, e->tid, e->last, e->head.at_ns);
	if (!e->last)
		return 0;
	pid_set_remove(&s->tracked, e->pid);
	recording_leave_process(s, e->pid);
	discover_forget(s->discover, e->pid);
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
	if (counts->stripped > s->nstripped)
		recording_note(s, 0,
			       "%s%s: the CUDA runtime is linked in and stripped, so that only the driver's calls are "
			       "recorded",
			       counts->last_stripped, counts->stripped - s->nstripped > 1 ? " and other files" : "");
	s->nrefused = counts->refused;
	s->nunread = counts->unread;
	s->nstripped = counts->stripped;
}

/*
 * The kernel side saw a process map a CUDA library, and we do not find it there: the process has ended, or replaced the
 * mapping, or /proc does not show it to us.
 */
static void note_unseen(struct recording *s, const struct ring_mapped *m)
{
	char path[PROCFS_PATH_MAX];
	/* One that is ending has no program any more; one that is hidden shows none either, but its number is taken. */
	bool lives = procfs_exe(&s->fs, m->pid, path, sizeof(path), NULL, NULL) != 0 ||
		     (procfs_hides(&s->fs) && getpgid((pid_t)m->pid) >= 0);

	s->libraries_unseen += lives;
	recording_note(s, lives ? 0 : 1,
		       lives ? "process %u mapped a CUDA library that /proc does not show: its calls may go unrecorded"
			     : "process %u ended before its CUDA library could be looked at",
		       m->pid);
}

/* Attach while the process stands still, if it does, and let it go on in any case. */
static int on_mapped(struct recording *s, const struct ring_mapped *m, struct fault *why)
{
	bool found = false;
	uint64_t now_ns;
	int r = 0;

	if (s->ending) {
		r = discover_too_late(s->discover, m->pid, &m->file, why);
	} else {
		r = discover_mapped(s->discover, m->pid, &m->file, why);
		found = r > 0;
		if (r == 0 && m->named)
			note_unseen(s, m);
		if (found && records_all(s) && !pid_set_has(&s->tracked, m->pid))
			r = attach_track(s->attach, m->pid, 0, 0, why);
		if (found && r >= 0)
			r = learn_code(s, m->pid, clock_ns(CLOCK_BOOTTIME), why);
	}
	if (m->held && kill((pid_t)m->pid, SIGCONT) < 0 && errno != ESRCH)
		recording_note(
			s, 0,
			"process %u was held to attach to its CUDA library and cannot be continued: %s; kill -CONT %u",
			m->pid, strerror(errno), m->pid);
	if (s->ending || r < 0 || !found)
		return r < 0 ? r : 0;
	now_ns = clock_ns(CLOCK_BOOTTIME);
	recording_note(s, 1, "process %u has a CUDA library; %s %.1f ms", m->pid, m->held ? "held for" : "seen after",
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
