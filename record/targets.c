/* SPDX-License-Identifier: Apache-2.0 */
/* Whom a recording is about: those that were named, all that descends from them, and who of them still lives. */
#include "record/recording_internal.h"
#include "format/base/array.h"

#include <stdlib.h>
#include <string.h>

struct kin {
	uint32_t pid, parent;
};

/* All processes and their parents as they are now; the caller frees *list. */
static int list_kin(const struct procfs *fs, struct kin **list, size_t *n, struct fault *why)
{
	struct process_info info;
	struct procfs_list pids;
	size_t room = 0;
	uint32_t pid;
	int r = procfs_pids_open(&pids, fs, why);

	*list = NULL;
	*n = 0;
	if (r < 0)
		return r;
	while ((r = procfs_list_next(&pids, &pid, why)) > 0) {
		struct kin *more = *list;

		if (procfs_process(fs, pid, &info, NULL) <= 0)
			continue; /* gone, or hidden from us: facts say that */
		more = array_grow(more, &room, *n + 1, sizeof(*more));
		if (!more) {
			r = fault_no_memory(why);
			break;
		}
		*list = more;
		more[(*n)++] = (struct kin){pid, info.ppid};
	}
	procfs_list_close(&pids);
	return r;
}

static int track_one(struct recording *s, uint32_t pid, struct fault *why)
{
	int r = attach_track(s->attach, pid, 0, 0, why);

	if (r == 0)
		r = discover_process(s->discover, pid, why);
	return r < 0 ? r : pid_set_add(&s->processes.tracked, pid, why);
}

/* The children of those that are tracked: how many there were. A child's children are found by another look. */
static int track_children(struct recording *s, struct fault *why)
{
	struct kin *kin;
	size_t n;
	int found = 0, r = list_kin(&s->fs, &kin, &n, why);

	for (size_t i = 0; i < n && r == 0; i++) {
		if (!pid_set_has(&s->processes.tracked, kin[i].parent) ||
		    pid_set_has(&s->processes.tracked, kin[i].pid))
			continue;
		r = track_one(s, kin[i].pid, why);
		found++;
	}
	free(kin);
	return r < 0 ? r : found;
}

int recording_track_named(struct recording *s, struct fault *why)
{
	int r = 0;

	for (size_t i = 0; i < s->o.npids && r == 0; i++)
		if (!pid_set_has(&s->processes.tracked, s->o.pids[i]))
			r = track_one(s, s->o.pids[i], why);
	if (r < 0 || s->o.no_children)
		return r;
	/* Until a look finds no more: the kernel side tracks what is forked off from then on. */
	do
		r = track_children(s, why);
	while (r > 0);
	return r;
}

bool recording_all_ended(struct recording *s)
{
	const struct pid_set *tracked = &s->processes.tracked;
	bool before = s->waits.all_gone;

	/* Without memory: it has ended, or waits for its parent to see that; its end may have been lost. */
	s->waits.all_gone = true;
	for (size_t i = 0; i < tracked->n && s->waits.all_gone; i++)
		s->waits.all_gone = !procfs_has_memory(&s->fs, tracked->pids[i]);
	/* Twice: what one that is gone has forked off is known once the rings are drained again. */
	return s->waits.all_gone && (before || tracked->n == 0);
}

void recording_emit_states(struct recording *s, uint32_t moment)
{
	uint64_t most = s->o.ring_bytes / 4 / sizeof(struct ring_in_flight);
	struct fault why;

	if (attach_emit_states(s->attach, moment, most < STATES_MAX ? most : STATES_MAX, &why) == 0)
		return;
	s->processes.states_unread++;
	recording_note(s, 1, "what threads are in is not recorded: %s", why.text);
}

void recording_list_survivors(const struct recording *s, struct recording_result *result)
{
	const struct pid_set *set = &s->processes.survivors;
	struct process_info info;

	result->nsurvivors = set->n;
	for (size_t i = 0; i < set->n && i < SURVIVORS_NAMED; i++) {
		struct survivor *one = &result->survivors[i];

		one->pid = set->pids[i];
		if (procfs_process(&s->fs, one->pid, &info, NULL) > 0)
			memcpy(one->name, info.comm, sizeof(one->name));
	}
}
