/* SPDX-License-Identifier: Apache-2.0 */
/* The probes while they record: on and off, whom they follow, and what is asked about them. */
#include "record/probe/attach_internal.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/membarrier.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "format/tracepoints.h"

int attach_refused(struct fault *why, const char *what)
{
	if (errno == EPERM || errno == EACCES)
		return fault_set(
			why, ERR_DENIED, FAULT_NOWHERE,
			"%s: not permitted; run as root, or with CAP_BPF and CAP_PERFMON, before Linux 6.6 with "
			"CAP_SYS_ADMIN, too (setcap, or --cap-add in a container)",
			what);
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

int attach_scan_threads(struct attach *a, struct fault *why)
{
	struct bpf_link *link;
	char buf[256];
	ssize_t n = -1;
	int fd;

	if (!a->on_each_task)
		return 0;
	link = bpf_program__attach_iter(a->on_each_task, NULL);
	if (!link)
		return attach_refused(why, "cannot go through the threads");
	fd = bpf_iter_create(bpf_link__fd(link));
	if (fd >= 0) {
		do {
			n = read(fd, buf, sizeof(buf));
		} while (n > 0 || (n < 0 && errno == EAGAIN));
		close(fd);
	}
	bpf_link__destroy(link);
	if (fd < 0 || n < 0)
		return attach_refused(why, "cannot go through the threads");
	return 0;
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
