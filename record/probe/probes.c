/* SPDX-License-Identifier: Apache-2.0 */
#include "record/probe/probes.h"

#include <string.h>

/* cudaMemcpyKind */
#define HOST_TO_DEVICE CONSTANT(1)
#define DEVICE_TO_HOST CONSTANT(2)
#define DEVICE_TO_DEVICE CONSTANT(3)
#define BY_ADDRESS CONSTANT(4)

/* See struct peek: argument, words to skip behind it, how many, where to. */
#define PEEK(arg, from, n, slot)                                                                                       \
	{                                                                                                              \
		arg, from, n, slot                                                                                     \
	}

/*
 * What is taken from a call that has (at least) `n` words of arguments.
 * ARGS: these. BEFORE: and what is behind pointers at entry. AFTER: at return, of calls that succeeded.
 * ASKS: as ARGS; that something is not ready yet (600) is an answer and no failure.
 * FOUND, NAMED: as AFTER, and the string that word `from` points to names the function in word `what`; NAMED has no
 * result. ALIAS: word `what` is another name for the function in word `from`.
 */
/* clang-format off */
#define ARGS(n) {.words = (n)}
#define ASKS(n) {.words = (n), .asks = 1}
#define BEFORE(n, ...) {.peek = {__VA_ARGS__}, .words = (n), .early = 1}
#define AFTER(n, ...) {.peek = {__VA_ARGS__}, .words = (n)}
#define FOUND(n, a, what, from) {.peek = {a}, .words = (n), .name = PLAN_NAME, .name_of = (what), .name_at = (from)}
#define NAMED(n, what, from) {.words = (n), .no_result = 1, .name = PLAN_NAME, .name_of = (what), .name_at = (from)}
#define ALIAS(n, a, what, from) {.peek = {a}, .words = (n), .name = PLAN_ALIAS, .name_of = (what), .name_at = (from)}
#define VALUES(...) {__VA_ARGS__}
#define NONE {0}

/*
 * Argument words after the System V (x86-64) and AAPCS64 conventions: six or eight registers, then the stack. A dim3
 * takes two words: x and y, then z. What is larger and given by value is on the stack (x86-64), or its address does
 * in its place (arm64). Layouts are those of cuda_runtime_api.h and cuda.h: cudaLaunchConfig_t and CUlaunchConfig since
 * CUDA 11.8, the others since 4. The size of an array is not reported: its layout is the driver's. Functions that have had
 * several forms under one name (batches, graphs) yield what all forms have in the same place.
 */
#define LAUNCH_3D VALUES(WORD(0), WORD(7), LOW(1), HIGH(1), LOW(2), LOW(3), HIGH(3), LOW(4), WORD(6))
#define LAUNCH_NUMBERS VALUES(WORD(0), WORD(8), LOW(1), LOW(2), LOW(3), LOW(4), LOW(5), LOW(6), LOW(7))
#define COPY_3D_PEEKS PEEK(0, 4, 1, 2), PEEK(0, 12, 1, 3), PEEK(0, 16, 4, 4)
#define COPY_3D_PEER_PEEKS PEEK(0, 4, 1, 2), PEEK(0, 13, 1, 3), PEEK(0, 18, 3, 4)
#define DRIVER_2D_PEEKS PEEK(0, 2, 4, 2), PEEK(0, 9, 4, 6), PEEK(0, 14, 2, 10)
#define DRIVER_3D_PEEKS PEEK(0, 4, 4, 2), PEEK(0, 15, 4, 6), PEEK(0, 22, 3, 10)
#define DRIVER_2D_VALUES(stream) VALUES(PICK(6), PICK(2), PRODUCT(WORD(10), WORD(11)), DIRECTION(2), stream)
#define DRIVER_3D_VALUES(stream) VALUES(PICK(6), PICK(2), PRODUCT3(WORD(10), WORD(11), WORD(12)), DIRECTION(2), stream)
#define MALLOC_3D_VALUES VALUES(PRODUCT3(WORD(2), WORD(7), WORD(8)), WORD(1), 0, CONSTANT(MEM_DEVICE))
#if defined(__x86_64__)
#define MALLOC_3D AFTER(9, PEEK(0, 0, 2, 1))
#define SET_3D ARGS(13)
#define SET_3D_BYTES PRODUCT3(WORD(10), WORD(11), WORD(12))
#define SET_3D_VALUES VALUES(WORD(6), SET_3D_BYTES, LOW(0))
#define SET_3D_ASYNC_VALUES VALUES(WORD(6), SET_3D_BYTES, LOW(0), WORD(1))
#define COMM_INIT AFTER(3, PEEK(0, 0, 1, 4))
#define COMM_INIT_VALUES VALUES(WORD(4), 0, 0, 0, 0, 0, 0, 0, 0, LOW(2), LOW(1))
#else
#define MALLOC_3D AFTER(2, PEEK(1, 1, 2, 7), PEEK(0, 0, 2, 1))
#define SET_3D BEFORE(4, PEEK(0, 0, 1, 4), PEEK(2, 0, 3, 5))
#define SET_3D_BYTES PRODUCT3(WORD(5), WORD(6), WORD(7))
#define SET_3D_VALUES VALUES(WORD(4), SET_3D_BYTES, LOW(1))
#define SET_3D_ASYNC_VALUES VALUES(WORD(4), SET_3D_BYTES, LOW(1), WORD(3))
#define COMM_INIT AFTER(4, PEEK(0, 0, 1, 4))
#define COMM_INIT_VALUES VALUES(WORD(4), 0, 0, 0, 0, 0, 0, 0, 0, LOW(3), LOW(1))
#endif

#define HOST(id, name, kind) {#name, id, kind, 0, ARGS(0), NONE},
#define ONE(id, name, kind, ...) {#name, id, KIND_##kind, LIBRARY, __VA_ARGS__},
#define TWO(id, name, suffix, kind, ...) ONE(id, name, kind, __VA_ARGS__) ONE(id + 1, name##suffix, kind, __VA_ARGS__)

/*
 * The lines of the three lists: number (of a function with two variants the first's), name (and the ending of the
 * second), kind, what is taken, and the kind's fields in the order of format/kinds.h. A new function goes at the end of
 * its list, with a free number; numbers are never used again for something else. (Captures carry the table, so that
 * this is courtesy.) What is exported and left out on purpose is in record/probe/probes_left_out.h.
 */
const struct probe_spec probe_table[] = {
	HOST(PROBE_SWITCH, sched_switch, KIND_switch)
	HOST(PROBE_WAKING, sched_waking, KIND_waking)
	HOST(PROBE_FUTEX, futex, KIND_futex)
	HOST(PROBE_FORK, process_fork, KIND_fork)
	HOST(PROBE_EXEC, process_exec, KIND_exec)
	HOST(PROBE_EXIT, process_exit, KIND_exit)
	HOST(PROBE_THREAD_NAME, thread_name, KIND_thread)
	HOST(PROBE_PROCESS_NAME, process_name, KIND_process)
	HOST(PROBE_MAPPED, library_mapped, 0)
	HOST(PROBE_FAULT, page_fault, KIND_fault)
	HOST(PROBE_OOM, oom_victim, KIND_oom)
	HOST(PROBE_METRIC, cpu_metric, KIND_metric)
	HOST(PROBE_THROTTLED, quota_throttled, KIND_throttled)
	HOST(PROBE_LIBRARY_CALL, library_call, 0)
	HOST(PROBE_SIGNAL, signal_sent, KIND_signal)
	HOST(PROBE_STATE, thread_state, KIND_state)
	HOST(PROBE_IN_FLIGHT, call_in_flight, KIND_in_flight)
	HOST(PROBE_FOLLOW, waker_followed, KIND_follow)
	HOST(PROBE_SCHEDULING, thread_scheduling, KIND_scheduling)
	HOST(PROBE_DISK, disk_request, KIND_disk)
	HOST(PROBE_RECLAIM, memory_reclaim, KIND_reclaim)
	HOST(PROBE_NETWORK, network_wait, KIND_network)
#define LIBRARY LIBRARY_RUNTIME
#include "record/probe/probes_runtime.h"
#undef LIBRARY
#define LIBRARY LIBRARY_DRIVER
#include "record/probe/probes_driver.h"
#undef LIBRARY
#define LIBRARY LIBRARY_NCCL
#include "record/probe/probes_nccl.h"
#undef LIBRARY
};
/* clang-format on */
const size_t nprobes = sizeof(probe_table) / sizeof(probe_table[0]);

const struct probe_spec *probe_find(uint32_t id)
{
	size_t low = 0, high = nprobes;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (probe_table[mid].id == id)
			return &probe_table[mid];
		if (probe_table[mid].id < id)
			low = mid + 1;
		else
			high = mid;
	}
	return NULL;
}

size_t library_probes(const struct probe_spec **first)
{
	size_t i = 0;

	while (i < nprobes && probe_table[i].id < PROBE_HOST_END)
		i++;
	*first = &probe_table[i];
	return nprobes - i;
}

/* CUmemorytype */
#define MEMORY_HOST 1u
#define MEMORY_ARRAY 3u
#define MEMORY_UNIFIED 4u

static uint64_t pick(const __u64 *side)
{
	uint32_t type = (uint32_t)side[0];

	return side[type == MEMORY_HOST ? 1 : type == MEMORY_ARRAY ? 3 : 2];
}

/* As a cudaMemcpyKind. */
static uint64_t direction(uint32_t from, uint32_t to)
{
	if (from == MEMORY_UNIFIED || to == MEMORY_UNIFIED)
		return 4;
	return (from == MEMORY_HOST ? 0u : 2u) + (to == MEMORY_HOST ? 0u : 1u);
}

/* Of ncclDataType_t, in its order; of a type that came later we cannot know. */
static uint64_t element_bytes(uint32_t type)
{
	static const uint8_t bytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};

	return type < sizeof(bytes) ? bytes[type] : 0;
}

/* Words behind the last one, which no line of the table names, count as 0. */
static uint64_t factor_value(uint32_t factor, const __u64 given[CALL_WORDS])
{
	__u64 word[16 + 5] = {0};
	uint32_t n = factor & 15;

	memcpy(word, given, CALL_WORDS * sizeof(*word));
	switch (factor & 0xf0) {
	case BYTE(0):
		return word[n] & UINT8_MAX;
	case HALF(0):
		return word[n] & UINT16_MAX;
	case LOW(0):
		return word[n] & UINT32_MAX;
	case HIGH(0):
		return word[n] >> 32;
	case NEXT(0):
		return (word[n] & UINT32_MAX) + 1;
	case PICK(0):
		return pick(word + n);
	case DIRECTION(0):
		return direction((uint32_t)word[n], (uint32_t)word[n + 4]);
	case ELEMENT(0):
		return element_bytes((uint32_t)word[n]);
	case FACTOR(0):
		return n;
	default:
		return word[n];
	}
}

uint64_t probe_value(uint32_t value, const __u64 word[CALL_WORDS])
{
	uint64_t product = 1;

	if (value & 0x80000000u)
		return value & 0x7fffffffu;
	if (!value)
		return 0;
	for (; value; value >>= 8)
		product *= factor_value(value & 0xff, word);
	return product;
}

/* Words up to this one are needed for a factor of a value. */
static uint32_t factor_words(uint32_t factor)
{
	uint32_t n = factor & 15;

	switch (factor & 0xf0) {
	case FACTOR(0):
		return 0;
	case PICK(0):
		return n + 4;
	case DIRECTION(0):
		return n + 5;
	default:
		return n + 1;
	}
}

/* Memory, or an object by whose handle it is known: who made what is never freed is asked later. */
static bool makes_something(const struct probe_spec *spec)
{
	bool of_objects = spec->kind == KIND_stream || spec->kind == KIND_graph || spec->kind == KIND_context ||
			  spec->kind == KIND_load;

	return spec->kind == KIND_alloc ||
	       (of_objects && spec->plan.peek[0].n && !spec->plan.early && !spec->plan.name);
}

struct call_plan probe_plan(const struct probe_spec *spec)
{
	struct call_plan plan = spec->plan;
	uint32_t used = 0;

	for (size_t i = 0; i < VALUES_MAX; i++)
		for (uint32_t v = spec->value[i]; v && !(v & 0x80000000u); v >>= 8)
			if (factor_words(v & 0xff) > used)
				used = factor_words(v & 0xff);
	if (plan.name && plan.name_of >= used)
		used = plan.name_of + 1u;
	if (plan.name && plan.name_at >= used)
		used = plan.name_at + 1u;
	plan.used = (__u8)used;
	plan.kind = (__u8)spec->kind;
	plan.stack = makes_something(spec);
	return plan;
}

uint32_t probe_stack_field(uint16_t kind)
{
	static const uint8_t last[] = {
#define CALL(name) [KIND_##name] = NFIELDS_##name - 1
		CALL(launch), CALL(alloc), CALL(free),       CALL(copy),    CALL(set), CALL(wait),
		CALL(stream), CALL(graph), CALL(collective), CALL(context), CALL(map), CALL(load),
#undef CALL
	};

	return kind < sizeof(last) ? last[kind] : 0;
}

void probe_describe(struct probe *out)
{
	for (size_t i = 0; i < nprobes; i++) {
		memset(&out[i], 0, sizeof(out[i]));
		strncpy(out[i].name, probe_table[i].name, NAME_MAX_BYTES);
		out[i].id = probe_table[i].id;
		out[i].kind = probe_table[i].kind;
	}
}
