// SPDX-License-Identifier: GPL-2.0
/* Fills a ring with records of calls as fast as it is asked to: the recorder's other half, for tests/bench/rate.c. */
#include "bpf/kernel.h"

#include <bpf/bpf_helpers.h>

#include "bpf/ring.h"

char LICENSE[] SEC("license") = "GPL";

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 16 << 20);
} bulk SEC(".maps");

__u64 written, refused; /* how many had room in the ring, and how many not */

struct fill_args {
	__u64 n; /* records wanted */
	__u32 probe;
	__u32 pad;
};

static long one(__u32 i, __u32 *probe)
{
	struct ring_call_few *r = bpf_ringbuf_reserve(&bulk, sizeof(*r), 0);

	if (!r) {
		refused++;
		return 0;
	}
	r->call.head.type = RING_CALL_FEW;
	r->call.head.cpu = bpf_get_smp_processor_id();
	r->call.head.at_ns = bpf_ktime_get_boot_ns();
	r->call.pid = 4711;
	r->call.tid = 4711 + (i & 7);
	r->call.dur_ns = 4000 + (r->call.head.at_ns & 2047);
	r->call.start_ns = 1;
	r->call.ret = 0;
	r->call.probe = (__u16)*probe;
	r->call.flags = 0;
	r->word[0] = 0x7f0000000000ull + (i & 255) * 4096;
	r->word[1] = 0;
	r->word[2] = 0;
	r->word[3] = 0;
	bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
	written++;
	return 0;
}

SEC("syscall")
int fill(struct fill_args *args)
{
	__u32 probe = args->probe;

	bpf_loop((__u32)args->n, one, &probe, 0);
	return 0;
}
