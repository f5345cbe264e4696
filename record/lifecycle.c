/* SPDX-License-Identifier: Apache-2.0 */
/* What a recording does when the kernel says about a process: where it came from, what it runs, what it mapped. */
#include "record/recording_internal.h"
#include "format/base/array.h"
#include "format/base/units.h"

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
	more = array_grow(set->pids, &set->room, set->n + 1, sizeof(*more));
	if (!more)
		return fault_no_memory(why);
	set->pids = more;
	set->pids[set->n++] = pid;
	return 0;
}

void pid_set_remove(struct pid_set *set, uint32_t pid)
{
	for (size_t i = 0; i < set->n; i++)
		if (set->pids[i] == pid)
			set->pids[i] = set->pids[--set->n];
}

static struct deferred deferred_of(enum deferred_what what, uint32_t pid, uint32_t uid)
{
	return (struct deferred){.what = what, .pid = pid, .uid = uid, .since_ns = clock_ns(CLOCK_BOOTTIME)};
}

/* Rows about a process, now or when there is time. */
static int emit_process(struct recording *s, uint32_t pid, uint64_t start_ns, uint32_t uid,
			const struct ring_exec *exec, struct fault *why)
{
	struct deferred d = deferred_of(DEFERRED_FACTS, pid, uid);
	int r = s->processes.deferred.n ? INSPECT_LATER : recording_emit_process(s, pid, start_ns, exec, why);

	d.start_ns = start_ns;
	if (r == INSPECT_LATER && !deferred_add(&s->processes.deferred, &d, exec))
		r = recording_emit_unread(s, pid, start_ns, exec, why);
	return r < 0 ? r : 0;
}

static int on_process(struct recording *s, const struct ring_process *p, struct fault *why)
{
	int r;

	if (!p->tracked)
		return 0;
	r = pid_set_add(&s->processes.tracked, p->pid, why);
	/* It may also be but another name of one that we know. */
	return r < 0 ? r : emit_process(s, p->pid, p->start_ns, p->uid, NULL, why);
}

static int on_exec(struct recording *s, const struct ring_exec *e, struct fault *why)
{
	inspector_forget(s->inspector, e->pid);
	symbolizer_forget(s->symbolizer, e->pid);
	discover_forget(s->discover, e->pid);
	pid_set_remove(&s->processes.scanned, e->pid);
	return emit_process(s, e->pid, e->start_ns, e->uid, e, why);
}

static int on_end(struct recording *s, const struct ring_exit *e, struct fault *why)
{
	if (s->rotation.standing)
		standing_ended(s->rotation.standing, e->pid, e->tid, e->last, e->head.at_ns);
	if (!e->last)
		return 0;
	pid_set_remove(&s->processes.tracked, e->pid);
	pid_set_remove(&s->processes.scanned, e->pid);
	recording_leave_process(s, e->pid);
	discover_forget(s->discover, e->pid);
	return pid_set_add(&s->processes.gone, e->pid, why);
}

/*
 * Inspect what a process has mapped as code by now, so that its stacks can be named even when it ends before we
 * read them. Only where that is soon done: a process with much more mapped does not end that soon either.
 */
static int learn_code(struct recording *s, uint32_t pid, struct fault *why)
{
	struct process_info info;
	int r;

	if (procfs_process(&s->fs, pid, &info, NULL) <= 0)
		return 0;
	r = symbolizer_learn(s->symbolizer, pid, info.start_ns, LEARN_MAPPINGS, kernel_boot_ns(&s->fs.clock), why);
	return r == 0 && symbolizer_late(s->symbolizer) ? INSPECT_LATER : r;
}

void recording_note_refused(struct recording *s)
{
	const struct discover_counts *counts = discover_counts(s->discover);
	size_t refused = counts->refused - s->processes.reported.refused;

	if (refused)
		recording_note(
			s, 0,
			"%zu function%s cannot be probed here, and calls of %s are not recorded (see the `attach` rows)",
			refused, plural(refused), refused == 1 ? "it" : "them");
	if (counts->unread > s->processes.reported.unread)
		recording_note(s, 0, "a CUDA library cannot be probed: %s", counts->last_problem);
	if (counts->stripped > s->processes.reported.stripped)
		recording_note(s, 0,
			       "%s%s: the CUDA runtime is linked in and stripped, so that only the driver's calls are "
			       "recorded",
			       counts->last_stripped,
			       counts->stripped - s->processes.reported.stripped > 1 ? " and other files" : "");
	s->processes.reported.refused = counts->refused;
	s->processes.reported.unread = counts->unread;
	s->processes.reported.stripped = counts->stripped;
}

/*
 * The kernel side saw a process map a CUDA library, and we do not find it there: the process has ended, or replaced the
 * mapping, or /proc does not show it to us.
 */
static void note_unseen(struct recording *s, const struct ring_mapped *m)
{
	/* One that is ending has no memory any more; one that is hidden shows none either, but its number is taken. */
	bool lives = procfs_has_memory(&s->fs, m->pid) || (procfs_hides(&s->fs) && getpgid((pid_t)m->pid) >= 0);

	s->processes.libraries_unseen += lives;
	recording_note(s, lives ? 0 : 1,
		       lives ? "process %u mapped a CUDA library that /proc does not show: its calls may go unrecorded"
			     : "process %u ended before its CUDA library could be inspected",
		       m->pid);
}

static double ms_since(const struct recording *s, const struct ring_mapped *m)
{
	uint64_t now_ns = kernel_boot_ns(&s->fs.clock);

	return (double)(now_ns > m->head.at_ns ? now_ns - m->head.at_ns : 0) / 1e6;
}

/*
 * What happened to a mapping is counted once. A loss: the process ran, with a library of CUDA's mapped and no probes on
 * it, for a while or until it ended, so that its calls are not recorded, nor counted one by one: nobody saw them.
 */
static int count_mapped(struct recording *s, const struct ring_mapped *m, struct fault *why)
{
	enum discover_known known = discover_known(s->discover, &m->file);
	bool late = known == DISCOVER_PROBED && !m->known && !m->held;
	bool never = known == DISCOVER_UNREAD || (known == DISCOVER_UNKNOWN && m->named);

	counters_add(&s->counters, PROBE_MAPPED, late || never ? COUNT_not_attached : COUNT_recorded);
	s->processes.not_attached += late || never;
	if (late || never)
		discover_counted(s->discover, m->pid, &m->file);
	if (!(late || never) || s->processes.not_attached > NOT_ATTACHED_MAX)
		return 0;
	return fact_emitf(
		s->writer, kernel_boot_ns(&s->fs.clock), why, "library_not_attached",
		late ? "process %u had a CUDA library mapped for %.1f ms before probes were on it"
		     : "process %u mapped a CUDA library, and no probes were on it %.1f ms later, when it had "
		       "ended or was given up",
		m->pid, ms_since(s, m));
}

/* It goes on, whatever became of it. */
static void release(struct recording *s, const struct ring_mapped *m)
{
	if (m->held && kill((pid_t)m->pid, SIGCONT) < 0 && errno != ESRCH)
		recording_note(
			s, 0,
			"process %u was held to attach to its CUDA library and cannot be continued: %s; kill -CONT %u",
			m->pid, strerror(errno), m->pid);
}

static int too_late(struct recording *s, const struct ring_mapped *m, struct fault *why)
{
	int r = discover_too_late(s->discover, m->pid, &m->file, why);

	if (r >= 0)
		r = count_mapped(s, m, why);
	release(s, m);
	return r;
}

/* A process that is recorded from now on has mapped things before, that nobody reported. */
static bool looks_at_whole(struct recording *s, const struct ring_mapped *m, struct fault *why)
{
	if (!(m->named || pid_set_has(&s->processes.tracked, m->pid)) || pid_set_has(&s->processes.scanned, m->pid))
		return false;
	return pid_set_add(&s->processes.scanned, m->pid, why) == 0;
}

static bool defer(struct recording *s, enum deferred_what what, uint32_t pid, uint32_t uid)
{
	const struct deferred d = deferred_of(what, pid, uid);

	return deferred_add(&s->processes.deferred, &d, NULL);
}

void recording_defer_whole(struct recording *s, uint32_t pid)
{
	struct process_info info = {0};

	(void)procfs_process(&s->fs, pid, &info, NULL);
	(void)defer(s, DEFERRED_WHOLE, pid, info.uid);
}

/* One of CUDA's libraries was found in a process: it is recorded from now on, and known by its code. */
static int track_found(struct recording *s, uint32_t pid, uint32_t uid, struct fault *why)
{
	int r = 0;

	if (records_all(s) && !pid_set_has(&s->processes.tracked, pid))
		r = attach_track(s->attach, pid, 0, 0, why);
	if (r >= 0)
		r = s->processes.deferred.n ? INSPECT_LATER : learn_code(s, pid, why);
	if (r == INSPECT_LATER)
		(void)defer(s, DEFERRED_CODE, pid, uid);
	return r < 0 ? r : 0;
}

static bool is_recorded(void *self, uint32_t pid)
{
	const struct recording *s = self;

	return records_all(s) || pid_set_has(&s->processes.tracked, pid);
}

static void count_uncovered(struct recording *s)
{
	counters_add_lost(&s->counters, PROBE_MAPPED, COUNT_not_attached,
			  discover_uncovered(s->discover, is_recorded, s));
}

void recording_count_again(struct recording *s)
{
	discover_count_again(s->discover);
	count_uncovered(s);
}

int recording_emit_libraries(struct recording *s, struct fault *why)
{
	count_uncovered(s);
	return discover_emit(s->discover, s->stacks, s->writer, kernel_boot_ns(&s->fs.clock), why);
}

/* What is to be reported of it, which need not be done while it stands still. */
static int emit_found(struct recording *s, struct fault *why)
{
	int r;

	recording_note_refused(s);
	r = attach_scan_threads(s->attach, why);
	return r < 0 ? r : recording_emit_libraries(s, why);
}

/* Attach while the process stands still, if it does, and let it go on in any case. INSPECT_LATER: not yet. */
static int look_at_mapped(struct recording *s, const struct ring_mapped *m, struct fault *why)
{
	const struct discover_mapping mapping = {&m->file, m->address};
	int r = discover_mapped(s->discover, m->pid, &mapping, why), tracked = 0, counted;

	if (r == INSPECT_LATER)
		return r;
	if (r == INSPECT_DONE)
		tracked = track_found(s, m->pid, m->uid, why);
	release(s, m);
	if (tracked < 0)
		return tracked;
	if (r == 0 && m->named)
		note_unseen(s, m);
	counted = r < 0 ? r : count_mapped(s, m, why);
	if (counted < 0)
		return counted;
	if (looks_at_whole(s, m, why))
		(void)defer(s, DEFERRED_WHOLE, m->pid, m->uid);
	if (r == 0)
		return 0;
	recording_note(s, 1, "process %u has a CUDA library; %s %.1f ms", m->pid, m->held ? "held for" : "seen after",
		       ms_since(s, m));
	return emit_found(s, why);
}

static int on_mapped(struct recording *s, const struct ring_mapped *m, struct fault *why)
{
	struct deferred d = deferred_of(DEFERRED_MAPPED, m->pid, m->uid);
	int r;

	if (s->ending)
		return too_late(s, m, why);
	d.mapped = *m;
	r = s->processes.deferred.n ? INSPECT_LATER : look_at_mapped(s, m, why);
	if (r == INSPECT_LATER && !deferred_add(&s->processes.deferred, &d, NULL))
		r = too_late(s, m, why);
	return r < 0 ? r : 0;
}

static int look_at_whole(struct recording *s, const struct deferred *d, struct fault *why)
{
	int r = discover_process(s->discover, d->pid, why);

	if (r != INSPECT_DONE)
		return r;
	r = track_found(s, d->pid, d->uid, why);
	return r < 0 ? r : emit_found(s, why);
}

/* INSPECT_LATER, 0, or negative. */
static int work_at(struct recording *s, const struct deferred *d, struct fault *why)
{
	switch (d->what) {
	case DEFERRED_MAPPED:
		return look_at_mapped(s, &d->mapped, why);
	case DEFERRED_WHOLE:
		return look_at_whole(s, d, why);
	case DEFERRED_CODE:
		return learn_code(s, d->pid, why);
	default:
		return recording_emit_process(s, d->pid, d->start_ns, d->exec, why);
	}
}

/* No answer came in time, and none is waited for any more. */
static int give_up(struct recording *s, const struct deferred *d, struct fault *why)
{
	if (d->what == DEFERRED_FACTS)
		return recording_emit_unread(s, d->pid, d->start_ns, d->exec, why);
	return d->what == DEFERRED_MAPPED ? too_late(s, &d->mapped, why) : 0;
}

int recording_go_on(struct recording *s, bool at_end, struct fault *why)
{
	struct deferred *next;
	uint64_t until_ns = 0;
	int r = 0;

	while (r == 0 && (next = deferred_next(&s->processes.deferred))) {
		struct deferred d = *next; /* working at it may make more wait, and move it */

		r = at_end ? INSPECT_LATER : work_at(s, &d, why);
		if (r == INSPECT_LATER && (at_end || clock_ns(CLOCK_BOOTTIME) - d.since_ns > DEFERRED_EACH_NS))
			r = give_up(s, &d, why);
		if (r != INSPECT_LATER)
			deferred_remove(&s->processes.deferred);
	}
	if (at_end)
		until_ns = clock_ns(CLOCK_MONOTONIC) + LAST_ANSWERS_NS;
	inspector_wait_until(s->inspector, until_ns);
	if (r >= 0)
		r = stacks_go_on(s->stacks, s->writer, kernel_boot_ns(&s->fs.clock), false, why);
	if (r >= 0 && !s->processes.deferred.n)
		r = recording_read_stacks(s, until_ns, why);
	if (r >= 0 && at_end)
		r = stacks_go_on(s->stacks, s->writer, kernel_boot_ns(&s->fs.clock), true, why);
	if (r >= 0)
		r = kernels_go_on(s->kernels, s->writer, kernel_boot_ns(&s->fs.clock), at_end, why);
	inspector_wait_until(s->inspector, 0);
	return r < 0 ? r : 0;
}

/* It may have been put into another control group since it was first seen. */
static int on_throttled(struct recording *s, const struct ring_throttled *t, struct fault *why)
{
	return recording_look_at_cgroup(s, t->pid, why);
}

static int on_state(struct recording *s, const struct ring_state *state, struct fault *why)
{
	if (state->state & STATE_GONE)
		return 0;
	recording_want_stack(s, state);
	return state->moment != MOMENT_END ? 0 : pid_set_add(&s->processes.survivors, state->pid, why);
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
	case RING_THROTTLED:
		return on_throttled(s, any, why);
	case RING_MAPPED:
		return on_mapped(s, any, why);
	case RING_STATE:
		return on_state(s, any, why);
	case RING_FOLLOW:
		s->processes.nfollowed++;
		return 0;
	default:
		return 0;
	}
}
