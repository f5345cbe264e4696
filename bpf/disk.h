/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For which request to a disk a thread slept. Part of gpurec.bpf.c.
 *
 * When a request is done, the kernel wakes at once, on the same CPU and from the same interrupt (or thread of its own),
 * who sleeps for it. So a thread that slept for a device, and is woken there and so before the CPU has turned to
 * another thread or finished another request, slept for that one. Where the wake-up takes another way (a file system
 * that finishes in a thread, a journal), nothing is recorded of the request.
 *
 * And whether it slept because its writes are held back, for so much is still to get to the disk.
 */
#ifndef GPUREC_BPF_DISK_H
#define GPUREC_BPF_DISK_H

#include "bpf/follow.h"

/* Longer ago it was another interrupt. */
#define REQUEST_RECENT_NS 1000000

static __always_inline struct gendisk *disk_of(struct request *rq)
{
	struct request___until_5_17 *old = (void *)rq;

	if (bpf_core_field_exists(old->rq_disk))
		return old->rq_disk;
	if (!bpf_core_field_exists(rq->q) || !bpf_core_field_exists(rq->q->disk))
		return 0;
	return rq->q->disk;
}

/* Who does it: the task that runs, or an interrupt that came upon it. */
static __always_inline __u32 request_by(bool interrupted)
{
	struct task_struct *t = bpf_get_current_task_btf();

	return (__u32)t->pid << 1 | interrupted;
}

/*
 * Memory that had been swapped out is read: into a page for what is no file's, of which nothing is there yet. (What a
 * program reads past the page cache goes into a page of its own, which is.)
 */
static __always_inline bool is_swap_in(struct request *rq)
{
	unsigned long flags = 0;
	struct page *page;

	if (!bpf_core_field_exists(rq->bio) || !bpf_core_enum_value_exists(enum pageflags, PG_swapbacked))
		return false;
	page = BPF_CORE_READ(rq, bio, bi_io_vec, bv_page);
	if (!page || bpf_probe_read_kernel(&flags, sizeof(flags), page))
		return false;
	return flags >> bpf_core_enum_value(enum pageflags, PG_swapbacked) & 1 &&
	       !(flags >> bpf_core_enum_value(enum pageflags, PG_uptodate) & 1);
}

static __always_inline void disk_done(struct request *rq, __u32 error, __u32 bytes, bool interrupted,
				      struct cpu_state *here)
{
	struct disk_request *r = &here->request;

	if (!bpf_core_field_exists(rq->start_time_ns) || !bpf_core_field_exists(rq->cmd_flags))
		return;
	r->start_ns = rq->start_time_ns;
	r->issue_ns = bpf_core_field_exists(rq->io_start_time_ns) ? rq->io_start_time_ns : 0;
	r->disk = (__u64)disk_of(rq);
	r->operation = rq->cmd_flags & KERNEL_REQUEST_OPERATION;
	if (r->operation == DISK_READ && is_swap_in(rq))
		r->operation = DISK_SWAP_IN;
	r->bytes = bytes;
	r->error = error;
	r->by = request_by(interrupted);
	r->done_ns = bpf_ktime_get_ns();
}

/* The CPU turns to another thread. */
static __always_inline void disk_forget(struct cpu_state *here)
{
	if (here && here->request.done_ns)
		here->request.done_ns = 0;
}

static __always_inline void disk_name(struct ring_disk *r, struct gendisk *disk)
{
	r->device = 0;
	__builtin_memset(r->name, 0, sizeof(r->name));
	if (!disk || !bpf_core_field_exists(disk->disk_name) || !bpf_core_field_exists(disk->major))
		return;
	r->device = (__u32)BPF_CORE_READ(disk, major) << 20 | (__u32)BPF_CORE_READ(disk, first_minor);
	(void)bpf_probe_read_kernel(r->name, sizeof(r->name), &disk->disk_name);
}

static __noinline void emit_disk(struct task_struct *t, struct cpu_state *here)
{
	struct disk_request *q = &here->request;
	struct ring_disk *r;
	__u64 now_ns = bpf_ktime_get_ns();

	if (!q->start_ns || now_ns - q->done_ns > REQUEST_RECENT_NS)
		return;
	count(PROBE_DISK, COUNT_fired);
	if (drop(PROBE_DISK))
		return;
	r = bpf_ringbuf_reserve(&bulk, sizeof(*r), 0);
	if (!r) {
		count(PROBE_DISK, COUNT_ring_full);
		return;
	}
	head_fill(&r->head, RING_DISK);
	r->pid = t->tgid;
	r->tid = t->pid;
	r->dur_ns = now_ns > q->start_ns ? now_ns - q->start_ns : 0;
	r->service_ns = q->issue_ns && now_ns > q->issue_ns ? now_ns - q->issue_ns : 0;
	r->operation = q->operation;
	r->bytes = q->bytes;
	r->error = q->error;
	disk_name(r, (struct gendisk *)q->disk);
	submit_bulk(r);
}

/* Just before a thread sleeps because it writes faster than the disk does. `pause`: for so many ticks; 0: it does not.
 */
static __always_inline int writes_held_back(long pause)
{
	struct task_struct *t = bpf_get_current_task_btf();
	struct thread_state *s;

	if (!running || pause <= 0 || !is_scheduled(t, track_of(t->tgid)))
		return 0;
	s = bpf_task_storage_get(&threads, t, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (s)
		s->held_back_ns = now_ns();
	return 0;
}

/* Whether the sleep that begins now is one for that. */
static __always_inline bool is_held_back(struct task_struct *t)
{
	struct thread_state *s = bpf_task_storage_get(&threads, t, 0, 0);
	__u64 since_ns;

	if (!s || !s->held_back_ns)
		return false;
	since_ns = s->held_back_ns;
	s->held_back_ns = 0;
	return now_ns() - since_ns < HELD_BACK_NS;
}

/* A thread whose switches are recorded is woken: from a sleep, by the disk's answer? */
static __always_inline void disk_woken(struct task_struct *t, bool interrupted)
{
	struct cpu_state *here;

	if (!disks_on || !BPF_CORE_READ_BITFIELD(t, in_iowait) || (bpf_core_field_exists(t->on_cpu) && t->on_cpu))
		return;
	here = cpu_state(bpf_get_smp_processor_id());
	if (here && here->request.done_ns && here->request.by == request_by(interrupted))
		emit_disk(t, here);
}

#endif
