/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Through which TCP connection came what a thread slept for, and who of this host sent it. Part of gpurec.bpf.c.
 *
 * A segment comes in, or a connection gets to another state: the kernel wakes at once, on the same CPU, who waits for
 * it. That a woken thread waited for this connection its wait queue proves, in which the kernel has it then: by itself
 * (it reads, writes, connects), for poll() or select(), or for an epoll instance in whose queue it is.
 */
#ifndef GPUREC_BPF_NETWORK_H
#define GPUREC_BPF_NETWORK_H

#include "bpf/names.h"

/* Longer ago it did not wake anybody. (Reading a clock would take longer than all else that is done at a segment.) */
#define SEGMENT_RECENT_TICKS 1
/* Of a queue so many are looked at: nearly always there is one. */
#define WAITERS_MAX 4

enum network_wait {
	NETWORK_NONE = 0,
	NETWORK_BLOCKED, /* in a system call for this connection alone */
	NETWORK_POLLED,  /* for others or a time as well */
};

static __always_inline int network_noted(void *sk, bool changed)
{
	struct cpu_state *here = running ? cpu_state(bpf_get_smp_processor_id()) : 0;

	if (here) {
		here->segment.sk = (__u64)sk;
		here->segment.changed = changed;
		here->segment.tick = bpf_jiffies64();
	}
	return 0;
}

SEC("tp_btf/tcp_probe")
int on_segment(__u64 *ctx)
{
	return network_noted((void *)ctx[0], false);
}

SEC("tp_btf/inet_sock_set_state")
int on_connection(__u64 *ctx)
{
	__u32 role = ctx[1] == KERNEL_TCP_SYN_SENT ? CONNECTION_MADE : CONNECTION_ACCEPTED;
	__u64 sk = ctx[0];

	if (running && ctx[2] == KERNEL_TCP_ESTABLISHED)
		(void)bpf_map_update_elem(&roles, &sk, &role, BPF_ANY);
	return network_noted((void *)ctx[0], true);
}

/* The CPU turns to another thread. */
static __always_inline void network_forget(struct cpu_state *here)
{
	if (here && here->segment.sk)
		here->segment.sk = 0;
}

/* The address of an entry of a list of waiters, or NULL behind the last one. */
static __always_inline struct wait_queue_entry *waiter_at(struct list_head *head, struct list_head *at)
{
	return at && at != head ? (void *)at - bpf_core_field_offset(struct wait_queue_entry, entry) : 0;
}

/* Whether the thread is in the queue by itself. */
static __noinline bool is_in_queue(struct wait_queue_head *queue, struct task_struct *t)
{
	struct list_head *head = &queue->head, *at = BPF_CORE_READ(queue, head.next);

	for (int i = 0; i < WAITERS_MAX; i++) {
		struct wait_queue_entry *w = waiter_at(head, at);

		if (!w)
			break;
		if (BPF_CORE_READ(w, private) == t)
			return true;
		at = BPF_CORE_READ(w, entry.next);
	}
	return false;
}

/* The entry is that of an epoll instance, if it is one, which the thread waits for. */
static __always_inline bool is_for_epoll(struct wait_queue_entry *w, struct task_struct *t)
{
	struct eppoll_entry *e = (void *)w - bpf_core_field_offset(struct eppoll_entry, wait);
	struct eventpoll *ep = BPF_CORE_READ(e, base, ep);

	return ep && is_in_queue(&ep->wq, t);
}

/* How the thread waits for the connection. */
static __noinline enum network_wait network_wait(struct sock *sk, struct task_struct *t)
{
	struct socket_wq *queue = BPF_CORE_READ(sk, sk_wq);
	struct list_head *head = &queue->wait.head, *at = queue ? BPF_CORE_READ(queue, wait.head.next) : 0;

	for (int i = 0; i < WAITERS_MAX; i++) {
		struct wait_queue_entry *w = waiter_at(head, at);
		struct poll_wqueues *poll;

		if (!w)
			break;
		poll = BPF_CORE_READ(w, private);
		if ((void *)poll == t)
			return NETWORK_BLOCKED;
		if (poll ? BPF_CORE_READ(poll, polling_task) == t : is_for_epoll(w, t))
			return NETWORK_POLLED;
		at = BPF_CORE_READ(w, entry.next);
	}
	return NETWORK_NONE;
}

/* Both ends, as IPv6 has them. */
static __always_inline void network_ends(struct network_ends *ends, struct sock *sk)
{
	__builtin_memset(ends, 0, sizeof(*ends));
	ends->local_port = BPF_CORE_READ(sk, __sk_common.skc_num);
	ends->peer_port = __builtin_bswap16(BPF_CORE_READ(sk, __sk_common.skc_dport));
	if (BPF_CORE_READ(sk, __sk_common.skc_family) == KERNEL_AF_INET) {
		ends->local[10] = ends->local[11] = ends->peer[10] = ends->peer[11] = 0xff;
		(void)bpf_probe_read_kernel(ends->local + 12, 4, &sk->__sk_common.skc_rcv_saddr);
		(void)bpf_probe_read_kernel(ends->peer + 12, 4, &sk->__sk_common.skc_daddr);
	} else if (bpf_core_field_exists(sk->__sk_common.skc_v6_daddr)) {
		(void)bpf_probe_read_kernel(ends->local, 16, &sk->__sk_common.skc_v6_rcv_saddr);
		(void)bpf_probe_read_kernel(ends->peer, 16, &sk->__sk_common.skc_v6_daddr);
	}
}

static __always_inline bool same_address(const __u8 *a, const __u8 *b)
{
	for (int i = 0; i < 16; i++)
		if (a[i] != b[i])
			return false;
	return true;
}

/*
 * Whether the current task is in a system call for the other end of this connection, so that what came is its doing:
 * what it sends to this host comes in before the call is over, in a soft interrupt that it begins itself.
 */
static __noinline bool network_by_task(const struct network_ends *ends)
{
	struct task_struct *t = bpf_get_current_task_btf();
	struct pt_regs *user = (struct pt_regs *)bpf_task_pt_regs(t);
	struct network_ends other;
	struct socket *socket;
	struct file *file;
	struct sock *sk;

	if (!ends || t->flags & KERNEL_PF_KTHREAD || SYSCALL_NR(user) < 0)
		return false;
	file = file_of(t, (__u32)SYSCALL_0(user));
	socket = file ? BPF_CORE_READ(file, private_data) : 0;
	sk = socket ? BPF_CORE_READ(socket, sk) : 0;
	/* A file of another sort has something else there. */
	if (!sk || BPF_CORE_READ(sk, sk_socket) != socket)
		return false;
	network_ends(&other, sk);
	return other.local_port == ends->peer_port && other.peer_port == ends->local_port &&
	       same_address(other.local, ends->peer) && same_address(other.peer, ends->local);
}

/* What has just come through the connection has woken the thread. */
static __always_inline void emit_network(struct task_struct *t, struct cpu_state *here, __u32 unread, __u32 sender_tid)
{
	struct tcp_sock *tcp = (void *)here->segment.sk;
	struct thread_state *s;
	struct ring_network *r;
	__u32 *role;

	count(PROBE_NETWORK, COUNT_fired);
	if (drop(PROBE_NETWORK))
		return;
	r = bpf_ringbuf_reserve(&bulk, sizeof(*r), 0);
	if (!r) {
		count(PROBE_NETWORK, COUNT_ring_full);
		return;
	}
	head_fill(&r->head, RING_NETWORK);
	s = bpf_task_storage_get(&threads, t, 0, 0);
	r->pid = t->tgid;
	r->tid = t->pid;
	r->dur_ns = s && s->left_ns && r->head.at_ns > s->left_ns ? r->head.at_ns - s->left_ns : 0;
	r->unread = unread;
	r->retransmitted = BPF_CORE_READ(tcp, total_retrans);
	r->disordered = BPF_CORE_READ(tcp, rcv_ooopack);
	r->rtt_us = BPF_CORE_READ(tcp, srtt_us) >> 3;
	role = bpf_map_lookup_elem(&roles, &here->segment.sk);
	r->role = role ? *role : CONNECTION_UNKNOWN;
	r->net = BPF_CORE_READ((struct sock *)tcp, __sk_common.skc_net.net, ns.inum);
	r->ends = here->segment.ends;
	r->sender_tid = sender_tid;
	submit_bulk(r);
}

/* Whether it can have ended the wait: who reads, or polls, is not woken because something was acknowledged. */
static __always_inline bool network_ends_wait(struct task_struct *t, enum network_wait wait,
					      const struct segment *segment, __s32 unread)
{
	struct pt_regs *user = (struct pt_regs *)bpf_task_pt_regs(t);
	__s64 nr = SYSCALL_NR(user);

	return unread > 0 || segment->changed || (wait == NETWORK_BLOCKED && NR_sends(nr));
}

enum network_waker { NETWORK_WAKES_NOT = 0, NETWORK_WAKES, NETWORK_TASK_WAKES };

static __noinline enum network_waker network_waker(struct task_struct *t, struct cpu_state *here, bool from_outside)
{
	enum network_wait wait;
	struct tcp_sock *tcp;
	struct sock *sk;
	bool by_task;
	__s32 unread;

	if (!here)
		return NETWORK_WAKES_NOT;
	sk = (void *)here->segment.sk;
	tcp = (void *)sk;
	wait = BPF_CORE_READ(sk, sk_protocol) == KERNEL_IPPROTO_TCP ? network_wait(sk, t) : NETWORK_NONE;
	unread = (__s32)(BPF_CORE_READ(tcp, rcv_nxt) - BPF_CORE_READ(tcp, copied_seq));
	if (wait == NETWORK_NONE || !network_ends_wait(t, wait, &here->segment, unread))
		return NETWORK_WAKES_NOT;
	network_ends(&here->segment.ends, sk);
	by_task = network_by_task(&here->segment.ends);
	if (!by_task && !from_outside)
		return NETWORK_WAKES_NOT;
	emit_network(t, here, unread > 0 ? (__u32)unread : 0, by_task ? (__u32)bpf_get_current_pid_tgid() : 0);
	return by_task ? NETWORK_TASK_WAKES : NETWORK_WAKES;
}

/*
 * A thread whose switches are recorded is woken. Whether by an interrupt: what comes in wakes in one, or in a thread of
 * the kernel's; what a task of this host sends is that one's doing.
 */
static __always_inline bool network_woken(struct task_struct *t, bool interrupted)
{
	struct cpu_state *here = cpu_state(bpf_get_smp_processor_id());
	struct task_struct *waker = bpf_get_current_task_btf();
	enum network_waker found;

	if (!network_on || !here || !here->segment.sk || BPF_CORE_READ_BITFIELD(t, in_iowait) ||
	    (bpf_core_field_exists(t->on_cpu) && t->on_cpu) ||
	    bpf_jiffies64() - here->segment.tick > SEGMENT_RECENT_TICKS)
		return interrupted;
	found = network_waker(t, here, interrupted || waker->flags & KERNEL_PF_KTHREAD);
	return found == NETWORK_WAKES_NOT ? interrupted : found == NETWORK_WAKES;
}

#endif
