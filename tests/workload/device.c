/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/workload/device.h"

#include <stdlib.h>
#include <time.h>

#define LAUNCH_NS 4000
#define CALL_NS 1000
#define MEMORY_BYTES (UINT64_C(80) << 30)
#define TRANSFER_BYTES_PER_NS 64
#define TRANSFER_NS_MAX 100000
#define CALIBRATION_LOOPS 20000
#define CALIBRATION_ROUNDS 12
#define DEFAULT_STREAM_LAST 2 /* handles 0, 1 and 2: the default stream, legacy and per thread */

static void count_to(uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		__asm__ volatile("" : "+r"(i));
}

void device_burn(const struct device *dev, uint64_t ns)
{
	count_to((uint64_t)((double)ns * dev->loops_per_ns));
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* The fastest of several rounds: the others were interrupted. */
static double loops_per_ns(void)
{
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < CALIBRATION_ROUNDS; i++) {
		uint64_t begin = now_ns(), took;

		count_to(CALIBRATION_LOOPS);
		took = now_ns() - begin;
		if (took > 0 && took < best)
			best = took;
	}
	return (double)CALIBRATION_LOOPS / (double)best;
}

static uint64_t setting(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);
	char *end;
	unsigned long long n;

	if (!text || !*text)
		return otherwise;
	n = strtoull(text, &end, 10);
	return *end ? otherwise : n;
}

bool device_open(struct device *dev)
{
	atomic_store(&dev->launch_ns, setting("GPU_DOUBLE_LAUNCH_NS", LAUNCH_NS));
	atomic_store(&dev->call_ns, setting("GPU_DOUBLE_CALL_NS", CALL_NS));
	dev->loops_per_ns = loops_per_ns();
	dev->memory = memory_open(setting("GPU_DOUBLE_MEMORY", MEMORY_BYTES));
	return dev->memory != NULL;
}

void device_call(struct device *dev, enum driver_id id)
{
	void (*hook)(void) = atomic_load_explicit(&dev->call_hook, memory_order_relaxed);

	atomic_fetch_add_explicit(&dev->calls[id], 1, memory_order_relaxed);
	if (hook)
		hook();
	device_burn(dev, atomic_load_explicit(&dev->call_ns, memory_order_relaxed));
}

void device_launch(struct device *dev, enum driver_id id)
{
	void (*hook)(void *) = atomic_load(&dev->hook);

	atomic_fetch_add_explicit(&dev->calls[id], 1, memory_order_relaxed);
	if (hook)
		hook(atomic_load(&dev->hook_arg));
	device_burn(dev, atomic_load_explicit(&dev->launch_ns, memory_order_relaxed));
}

void device_transfer(struct device *dev, enum driver_id id, uint64_t bytes)
{
	uint64_t ns = bytes / TRANSFER_BYTES_PER_NS;

	device_call(dev, id);
	device_burn(dev, ns < TRANSFER_NS_MAX ? ns : TRANSFER_NS_MAX);
}

void *device_handle_new(struct device *dev, enum handle_kind kind)
{
	for (unsigned i = 0; i < HANDLES; i++) {
		struct handle *h = &dev->handles[atomic_fetch_add(&dev->next_handle, 1) % HANDLES];
		int unused = HANDLE_FREE;

		if (atomic_compare_exchange_strong(&h->kind, &unused, (int)kind))
			return h;
	}
	return NULL;
}

static struct handle *handle_at(struct device *dev, const void *handle)
{
	uintptr_t off = (uintptr_t)handle - (uintptr_t)dev->handles;

	if (off >= sizeof(dev->handles) || off % sizeof(dev->handles[0]))
		return NULL;
	return &dev->handles[off / sizeof(dev->handles[0])];
}

bool device_handle_end(struct device *dev, enum handle_kind kind, void *handle)
{
	struct handle *h = handle_at(dev, handle);
	int is = (int)kind;

	return h && atomic_compare_exchange_strong(&h->kind, &is, HANDLE_FREE);
}

bool device_handle_good(struct device *dev, enum handle_kind kind, const void *handle)
{
	struct handle *h = handle_at(dev, handle);

	if (kind == HANDLE_STREAM && (uintptr_t)handle <= DEFAULT_STREAM_LAST)
		return true;
	return h && atomic_load(&h->kind) == (int)kind;
}
