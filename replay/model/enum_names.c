/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/model/enum_names.h"

#include <stdio.h>

#include "format/schema.h"

static const struct enum_word words[] = {
	{KIND_alloc, F_alloc_memory, MEM_DEVICE, "device"},
	{KIND_alloc, F_alloc_memory, MEM_MANAGED, "managed"},
	{KIND_alloc, F_alloc_memory, MEM_PINNED, "pinned"},
	{KIND_alloc, F_alloc_memory, MEM_ARRAY, "array"},
	{KIND_alloc, F_alloc_memory, MEM_PHYSICAL, "physical"},
	{KIND_alloc, F_alloc_memory, MEM_REGISTERED, "registered"},
	{KIND_free, F_free_memory, MEM_DEVICE, "device"},
	{KIND_free, F_free_memory, MEM_MANAGED, "managed"},
	{KIND_free, F_free_memory, MEM_PINNED, "pinned"},
	{KIND_free, F_free_memory, MEM_ARRAY, "array"},
	{KIND_free, F_free_memory, MEM_PHYSICAL, "physical"},
	{KIND_free, F_free_memory, MEM_REGISTERED, "registered"},
	{KIND_copy, F_copy_direction, 0, "host-to-host"},
	{KIND_copy, F_copy_direction, 1, "host-to-device"},
	{KIND_copy, F_copy_direction, 2, "device-to-host"},
	{KIND_copy, F_copy_direction, 3, "device-to-device"},
	{KIND_copy, F_copy_direction, 4, "by-address"},
	{KIND_waking, F_waking_context, WAKE_TASK, "task"},
	{KIND_waking, F_waking_context, WAKE_IRQ, "irq"},
	{KIND_waking, F_waking_context, WAKE_TIMER, "timer"},
	{KIND_disk, F_disk_operation, DISK_READ, "read"},
	{KIND_disk, F_disk_operation, DISK_WRITE, "write"},
	{KIND_disk, F_disk_operation, DISK_FLUSH, "flush"},
	{KIND_disk, F_disk_operation, DISK_DISCARD, "discard"},
	{KIND_disk, F_disk_operation, DISK_SWAP_IN, "swap-in"},
	{KIND_network, F_network_role, CONNECTION_UNKNOWN, "unknown"},
	{KIND_network, F_network_role, CONNECTION_MADE, "made"},
	{KIND_network, F_network_role, CONNECTION_ACCEPTED, "accepted"},
	{KIND_reclaim, F_reclaim_cause, RECLAIM_HOST, "host"},
	{KIND_reclaim, F_reclaim_cause, RECLAIM_GROUP, "limit"},
	{KIND_reclaim, F_reclaim_cause, RECLAIM_COMPACT, "compaction"},
	{KIND_scheduling, F_scheduling_policy, POLICY_NORMAL, "SCHED_OTHER"},
	{KIND_scheduling, F_scheduling_policy, POLICY_FIFO, "SCHED_FIFO"},
	{KIND_scheduling, F_scheduling_policy, POLICY_ROUND_ROBIN, "SCHED_RR"},
	{KIND_scheduling, F_scheduling_policy, POLICY_BATCH, "SCHED_BATCH"},
	{KIND_scheduling, F_scheduling_policy, POLICY_IDLE, "SCHED_IDLE"},
	{KIND_scheduling, F_scheduling_policy, POLICY_DEADLINE, "SCHED_DEADLINE"},
	{KIND_scheduling, F_scheduling_policy, POLICY_EXT, "SCHED_EXT"},
	{KIND_library, F_library_role, LIBRARY_RUNTIME, "runtime"},
	{KIND_library, F_library_role, LIBRARY_DRIVER, "driver"},
	{KIND_library, F_library_role, LIBRARY_NCCL, "nccl"},
	{KIND_library, F_library_role, LIBRARY_STATIC_RUNTIME, "static-runtime"},
	/* ncclDataType_t and ncclRedOp_t: nccl.h of NCCL 2 */
	{KIND_collective, F_collective_datatype, 0, "int8"},
	{KIND_collective, F_collective_datatype, 1, "uint8"},
	{KIND_collective, F_collective_datatype, 2, "int32"},
	{KIND_collective, F_collective_datatype, 3, "uint32"},
	{KIND_collective, F_collective_datatype, 4, "int64"},
	{KIND_collective, F_collective_datatype, 5, "uint64"},
	{KIND_collective, F_collective_datatype, 6, "float16"},
	{KIND_collective, F_collective_datatype, 7, "float32"},
	{KIND_collective, F_collective_datatype, 8, "float64"},
	{KIND_collective, F_collective_datatype, 9, "bfloat16"},
	{KIND_collective, F_collective_datatype, 10, "float8e4m3"},
	{KIND_collective, F_collective_datatype, 11, "float8e5m2"},
	{KIND_collective, F_collective_op, 0, "sum"},
	{KIND_collective, F_collective_op, 1, "prod"},
	{KIND_collective, F_collective_op, 2, "max"},
	{KIND_collective, F_collective_op, 3, "min"},
	{KIND_collective, F_collective_op, 4, "avg"},
	/* futex(2): include/uapi/linux/futex.h */
	{KIND_futex, F_futex_op, 0, "wait"},
	{KIND_futex, F_futex_op, 1, "wake"},
	{KIND_futex, F_futex_op, 3, "requeue"},
	{KIND_futex, F_futex_op, 4, "cmp_requeue"},
	{KIND_futex, F_futex_op, 5, "wake_op"},
	{KIND_futex, F_futex_op, 6, "lock_pi"},
	{KIND_futex, F_futex_op, 7, "unlock_pi"},
	{KIND_futex, F_futex_op, 8, "trylock_pi"},
	{KIND_futex, F_futex_op, 9, "wait_bitset"},
	{KIND_futex, F_futex_op, 10, "wake_bitset"},
	{KIND_futex, F_futex_op, 11, "wait_requeue_pi"},
	{KIND_futex, F_futex_op, 12, "cmp_requeue_pi"},
	{KIND_futex, F_futex_op, 13, "lock_pi2"},
	/* signal(7): the same on x86-64 and arm64 */
	{KIND_signal, F_signal_signal, 1, "SIGHUP"},
	{KIND_signal, F_signal_signal, 2, "SIGINT"},
	{KIND_signal, F_signal_signal, 3, "SIGQUIT"},
	{KIND_signal, F_signal_signal, 4, "SIGILL"},
	{KIND_signal, F_signal_signal, 5, "SIGTRAP"},
	{KIND_signal, F_signal_signal, 6, "SIGABRT"},
	{KIND_signal, F_signal_signal, 7, "SIGBUS"},
	{KIND_signal, F_signal_signal, 8, "SIGFPE"},
	{KIND_signal, F_signal_signal, 9, "SIGKILL"},
	{KIND_signal, F_signal_signal, 10, "SIGUSR1"},
	{KIND_signal, F_signal_signal, 11, "SIGSEGV"},
	{KIND_signal, F_signal_signal, 12, "SIGUSR2"},
	{KIND_signal, F_signal_signal, 13, "SIGPIPE"},
	{KIND_signal, F_signal_signal, 14, "SIGALRM"},
	{KIND_signal, F_signal_signal, 15, "SIGTERM"},
	{KIND_signal, F_signal_signal, 16, "SIGSTKFLT"},
	{KIND_signal, F_signal_signal, 17, "SIGCHLD"},
	{KIND_signal, F_signal_signal, 18, "SIGCONT"},
	{KIND_signal, F_signal_signal, 19, "SIGSTOP"},
	{KIND_signal, F_signal_signal, 20, "SIGTSTP"},
	{KIND_signal, F_signal_signal, 21, "SIGTTIN"},
	{KIND_signal, F_signal_signal, 22, "SIGTTOU"},
	{KIND_signal, F_signal_signal, 23, "SIGURG"},
	{KIND_signal, F_signal_signal, 24, "SIGXCPU"},
	{KIND_signal, F_signal_signal, 25, "SIGXFSZ"},
	{KIND_signal, F_signal_signal, 26, "SIGVTALRM"},
	{KIND_signal, F_signal_signal, 27, "SIGPROF"},
	{KIND_signal, F_signal_signal, 28, "SIGWINCH"},
	{KIND_signal, F_signal_signal, 29, "SIGIO"},
	{KIND_signal, F_signal_signal, 30, "SIGPWR"},
	{KIND_signal, F_signal_signal, 31, "SIGSYS"},
	{KIND_signal, F_signal_code, SIGNAL_BY_KILL, "kill"},
	{KIND_signal, F_signal_code, (uint64_t)SIGNAL_BY_QUEUE, "sigqueue"},
	{KIND_signal, F_signal_code, (uint64_t)SIGNAL_BY_TKILL, "tgkill"},
	{KIND_signal, F_signal_code, SIGNAL_BY_KERNEL, "kernel"},
	{KIND_state, F_state_moment, MOMENT_BEGIN, "begin"},
	{KIND_state, F_state_moment, MOMENT_END, "end"},
	{KIND_state, F_state_state, THREAD_RUNNING, "running"},
	{KIND_state, F_state_state, THREAD_SLEEPING, "sleeping"},
	{KIND_state, F_state_state, THREAD_UNINTERRUPTIBLE, "uninterruptible"},
	{KIND_state, F_state_state, THREAD_STOPPED, "stopped"},
	{KIND_state, F_state_state, THREAD_TRACED, "traced"},
	{KIND_state, F_state_state, THREAD_DEAD, "dead"},
	{KIND_state, F_state_state, THREAD_OTHER, "other"},
	{KIND_thread_stack, F_thread_stack_moment, MOMENT_BEGIN, "begin"},
	{KIND_thread_stack, F_thread_stack_moment, MOMENT_END, "end"},
	{KIND_in_flight, F_in_flight_moment, MOMENT_BEGIN, "begin"},
	{KIND_in_flight, F_in_flight_moment, MOMENT_END, "end"},
};

const struct enum_word *enum_words(size_t *n)
{
	*n = sizeof(words) / sizeof(words[0]);
	return words;
}

const char *enum_word(uint16_t kind, uint8_t field, uint64_t value)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (words[i].kind == kind && words[i].field == field && words[i].value == value)
			return words[i].word;
	return NULL;
}

char *status_words(char *buf, uint64_t status)
{
	unsigned signal = status & 0x7f; /* as wait(2) has it on every Linux */
	const char *name = enum_word(KIND_signal, F_signal_signal, signal),
		   *core = status & 0x80 ? ", core dumped" : "";

	if (!signal)
		snprintf(buf, STATUS_WORDS, "exit status %u", (unsigned)(status >> 8 & 0xff));
	else if (name)
		snprintf(buf, STATUS_WORDS, "killed by %s%s", name, core);
	else
		snprintf(buf, STATUS_WORDS, "killed by signal %u%s", signal, core);
	return buf;
}

const char *state_word(uint64_t state)
{
	/* include/linux/sched.h: the bits that say why, the most important first. */
	static const struct {
		uint64_t bits;
		const char *word;
	} table[] = {
		{0x402, "idle"}, {0x2, "uninterruptible"}, {0x1, "sleeping"}, {0x4, "stopped"},
		{0x8, "traced"}, {0x40, "parked"},         {0xb0, "dead"},
	};

	if (state == 0)
		return "preempted";
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (table[i].bits == 0xb0 ? (state & 0xb0) != 0 : (state & table[i].bits) == table[i].bits)
			return table[i].word;
	return "other";
}
