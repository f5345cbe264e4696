/* SPDX-License-Identifier: Apache-2.0 */
/* The probes while they record: on and off, whom they follow, and what is asked about them. */
#include "record/probe/attach_internal.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/membarrier.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "format/tracepoints.h"

int attach_refused(struct fault *why, const char *what)
{
	struct rlimit files;

	if (errno == EPERM || errno == EACCES)
		return fault_set(
			why, ERR_DENIED, FAULT_NOWHERE,
			"%s: not permitted; run as root, or with CAP_BPF and CAP_PERFMON, before Linux 6.6 with "
			"CAP_SYS_ADMIN, too (setcap, or --cap-add in a container)",
			what);
	if (errno == EMFILE && getrlimit(RLIMIT_NOFILE, &files) == 0)
		return fault_set(
			why, ERR_IO, FAULT_NOWHERE,
			"%s: only %llu files may be open at once here (ulimit -n), and some hundred are needed: "
			"raise the limit; with CAP_SYS_RESOURCE gpurec does it itself",
			what, (unsigned long long)files.rlim_cur);
	return fault_errno(why, "%s", what);
}

void attach_start(struct attach *a)
{
	skipped_runs_begin(&a->skipped, a->object);
	__atomic_store_n(a->running, 1, __ATOMIC_SEQ_CST);
}

void attach_stop(struct attach *a)
{
	__atomic_store_n(a->running, 0, __ATOMIC_SEQ_CST);
	/*
	 * Waits for an RCU grace period, and programs run inside RCU read sections, but for those of a call, which may
	 * sleep. Not by detaching: that waits for these, too, for as long as a process likes.
	 */
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0))
		usleep(100000); /* a kernel without it (nohz_full): far longer than a program runs */
}

int attach_track(struct attach *a, uint32_t pid, uint64_t start_ns, uint32_t flags, struct fault *why)
{
	struct track track = {.start_ns = start_ns, .flags = flags};

	if (bpf_map_update_elem(a->tracked_fd, &pid, &track, BPF_ANY))
		return attach_refused(why, "cannot track another process");
	return 0;
}

void attach_untrack(struct attach *a, uint32_t pid)
{
	struct track track;

	/* Another process may have the number by now. */
	if (bpf_map_lookup_elem(a->tracked_fd, &pid, &track) == 0 && (track.flags & TRACK_ENDED))
		(void)bpf_map_delete_elem(a->tracked_fd, &pid);
}

/* A descriptor by which on_each_task runs once, for each thread of the host, or -1 with errno. */
static int each_task_open(const struct attach *a)
{
	struct bpf_link *link = bpf_program__attach_iter(a->on_each_task, NULL);
	int fd = link ? bpf_iter_create(bpf_link__fd(link)) : -1, error = errno;

	bpf_link__destroy(link);
	errno = error;
	return fd;
}

/* Uses fd up. */
static int each_task_run(int fd, struct fault *why)
{
	char buf[256];
	ssize_t n = -1;
	int r;

	while (fd >= 0 && ((n = read(fd, buf, sizeof(buf))) > 0 || (n < 0 && errno == EAGAIN)))
		;
	r = n < 0 ? attach_refused(why, "cannot go through the threads") : 0;
	if (fd >= 0)
		close(fd);
	return r;
}

int attach_scan_threads(struct attach *a, struct fault *why)
{
	return a->on_each_task ? each_task_run(each_task_open(a), why) : 0;
}

void attach_prepare_states(struct attach *a)
{
	if (a->on_each_task && a->each_task_fd < 0)
		a->each_task_fd = each_task_open(a);
}

int attach_emit_states(struct attach *a, uint32_t moment, uint64_t most, struct fault *why)
{
	int fd = a->each_task_fd, r;

	if (!a->on_each_task)
		return 0;
	a->each_task_fd = -1;
	*a->states_room = most;
	__atomic_store_n(a->states_moment, moment, __ATOMIC_SEQ_CST);
	r = each_task_run(fd < 0 ? each_task_open(a) : fd, why);
	__atomic_store_n(a->states_moment, 0, __ATOMIC_SEQ_CST);
	return r;
}

uint64_t attach_states_beyond(const struct attach *a)
{
	return *a->states_beyond;
}

uint64_t attach_unfollowed(const struct attach *a)
{
	return *a->unfollowed;
}

int attach_file_known(struct attach *a, const struct file_key *key, bool probed, struct fault *why)
{
	__u32 known = probed ? FILE_PROBED : FILE_PLAIN;

	if (bpf_map_update_elem(a->attached_fd, key, &known, BPF_ANY))
		return attach_refused(why, "cannot note a library as probed");
	return 0;
}

const struct attach_facts *attach_facts(const struct attach *a)
{
	return &a->facts;
}

void attach_rearm(struct attach *a)
{
	__atomic_store_n(a->life_woken, 0, __ATOMIC_SEQ_CST);
	__atomic_store_n(a->bulk_woken, 0, __ATOMIC_SEQ_CST);
}

bool attach_may_sample(uint32_t kind)
{
	return (kind >= KIND_launch && kind < KIND_load) || kind == KIND_switch || kind == KIND_waking ||
	       kind == KIND_futex || kind == KIND_fault;
}

bool attach_lacks(const struct attach *a, const char *tracepoint)
{
	return tracepoint_named(a->facts.absent, tracepoint);
}

size_t attach_refusals(const struct attach *a, const struct refusal **list)
{
	*list = a->refusals.list;
	return a->refusals.n;
}

bool attach_refuses(const struct attach *a, const char *tracepoint)
{
	for (size_t i = 0; i < a->refusals.n; i++)
		if (!strcmp(a->refusals.list[i].tracepoint, tracepoint))
			return true;
	return false;
}

void attach_count_skipped(struct attach *a, struct counters *c)
{
	skipped_runs_count(&a->skipped, a->object, c);
}

uint64_t attach_skipped(const struct attach *a, char *text, size_t size)
{
	return skipped_runs_emit(&a->skipped, a->object, text, size);
}
