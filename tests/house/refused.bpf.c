/* SPDX-License-Identifier: GPL-2.0 */
/* One program for each shape that bpf_kernels.sh must find; to be inspected, not to be loaded. */
#include "bpf/kernel.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

char LICENSE[] SEC("license") = "GPL";

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} ring SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u64);
	__type(value, __u64);
} map SEC(".maps");

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct task_struct___dreamt {
	int dreamt_of, guarded;
};
#pragma clang attribute pop

SEC("tp_btf/falls")
int on_falls(__u64 *ctx)
{
	long n = 4;

	asm volatile("goto 2f; 1: %0 += -1; 2: if %0 s> 0 goto 1b" : "+r"(n)); /* its last instruction falls to 2 */
	return (int)n;
}

SEC("tp_btf/jumps")
int on_jumps(__u64 *ctx)
{
	long n = 4;

	asm volatile("1: %0 += -1; if %0 s> 0 goto 1b" : "+r"(n));
	return (int)n;
}

static __noinline int look_up(const __u64 *key)
{
	return bpf_map_lookup_elem(&map, key) != 0;
}

SEC("tp_btf/key")
int on_key(__u64 *ctx)
{
	__u64 *key = bpf_ringbuf_reserve(&ring, 16, 0);
	int found;

	if (!key)
		return 0;
	found = look_up(key + 1);
	bpf_ringbuf_discard(key, 0);
	return found;
}

static __noinline int fill(__u64 n)
{
	volatile __u64 room[40];

	for (int i = 0; i < 40; i++)
		room[i] = n;
	return (int)room[n & 31];
}

SEC("tp_btf/stack")
int on_stack(__u64 *ctx)
{
	volatile __u64 room[40];

	for (int i = 0; i < 40; i++)
		room[i] = ctx[0];
	return fill(room[ctx[1] & 31]);
}

SEC("tp_btf/field")
int on_field(__u64 *ctx)
{
	struct task_struct___dreamt *t = (void *)ctx[0];

	if (bpf_core_field_exists(t->guarded))
		return BPF_CORE_READ(t, guarded);
	return BPF_CORE_READ(t, dreamt_of);
}
