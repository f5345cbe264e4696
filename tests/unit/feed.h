/* SPDX-License-Identifier: Apache-2.0 */
/* Events straight into the analysis engine, without a file. For tests/unit/analyze/test_analyze*.c. */
#ifndef TESTS_UNIT_FEED_H
#define TESTS_UNIT_FEED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/engine.h"
#include "tests/unit/event.h"

#define US UINT64_C(1000)
#define MS (1000 * US)
#define T0 (1000 * 1000 * MS) /* when recording began */

/* P(name, function, kind) */
#define FEED_PROBES(P)                                                                                                 \
	P(launch, cudaLaunchKernel, launch)                                                                            \
	P(alloc, cudaMalloc, alloc)                                                                                    \
	P(free, cudaFree, free)                                                                                        \
	P(copy, cudaMemcpy, copy)                                                                                      \
	P(wait, cudaStreamSynchronize, wait)                                                                           \
	P(futex, futex, futex)                                                                                         \
	P(launch_own, cudaLaunchKernel_ptsz, launch)                                                                   \
	P(wait_own, cudaStreamSynchronize_ptsz, wait)                                                                  \
	P(wait_device, cudaDeviceSynchronize, wait)                                                                    \
	P(wait_event, cudaEventSynchronize, wait)                                                                      \
	P(copy_async, cudaMemcpyAsync, copy)                                                                           \
	P(record, cudaEventRecord, stream)                                                                             \
	P(query, cudaEventQuery, stream)                                                                               \
	P(make_stream, cudaStreamCreate, stream)                                                                       \
	P(end_stream, cudaStreamDestroy, stream)                                                                       \
	P(end_event, cudaEventDestroy, stream)                                                                         \
	P(set_device, cudaSetDevice, context)                                                                          \
	P(make_context, cuCtxCreate_v2, context)

#define FEED_PROBE(name, function, kind) PROBE_##name,
enum feed_probe { PROBE_none, FEED_PROBES(FEED_PROBE) };

struct feed {
	struct schema schema;
	struct settings settings;
	struct engine *engine;
	struct reader *reader; /* may be set before feed_open() */
};

static inline void feed_open(struct feed *f)
{
#define FEED_FUNCTION(name, function, kind) {#function, PROBE_##name, KIND_##kind},
	static const struct probe probes[] = {FEED_PROBES(FEED_FUNCTION)};
	struct context ctx = {.schema = &f->schema, .reader = f->reader};
	struct fault why;

	assert_int_equal(schema_build(&f->schema, probes, sizeof(probes) / sizeof(probes[0]), &why), 0);
	settings_default(&f->settings);
	assert_int_equal(engine_open(&f->engine, &ctx, &f->settings, &why), 0);
}

static inline void feed_close(struct feed *f)
{
	engine_close(f->engine);
	schema_clear(&f->schema);
}

static inline void feed_row(struct feed *f, uint16_t kind, unsigned n, const uint64_t *v)
{
	struct event ev = event_made(kind, schema_kind(&f->schema, kind), v[0]);
	struct fault why;

	memcpy(event_room(&ev)->v, v, n * sizeof(v[0]));
	assert_int_equal(engine_feed(f->engine, &ev, &why), 0);
}

#define FEED(f, kind, ...)                                                                                             \
	do {                                                                                                           \
		const uint64_t feed_v[] = {__VA_ARGS__};                                                               \
		feed_row((f), (kind), sizeof(feed_v) / sizeof(feed_v[0]), feed_v);                                     \
	} while (0)

static inline void feed_switch(struct feed *f, uint64_t at, uint64_t cpu, uint64_t prev, uint64_t state, uint64_t next)
{
	FEED(f, KIND_switch, at, cpu, prev, state, next);
}

static inline void feed_waking(struct feed *f, uint64_t at, uint64_t cpu, uint64_t tid, uint64_t waker,
			       uint64_t context)
{
	FEED(f, KIND_waking, at, cpu, tid, waker, context);
}

static inline void feed_call(struct feed *f, uint16_t kind, uint64_t begin, uint64_t end, uint64_t tid, uint64_t cpu)
{
	FEED(f, kind, end, 100, tid, cpu, end - begin, kind == KIND_launch ? PROBE_launch : PROBE_wait, 0, 0, 0x1000);
}

static inline void feed_launch(struct feed *f, uint64_t begin, uint64_t end, uint64_t tid, uint64_t cpu)
{
	feed_call(f, KIND_launch, begin, end, tid, cpu);
}

/* A wait for a taken lock, unless `op` says otherwise. */
static inline void feed_futex(struct feed *f, uint64_t begin, uint64_t end, uint64_t tid, uint64_t cpu, uint64_t op,
			      uint64_t addr, int64_t ret)
{
	FEED(f, KIND_futex, end, 100, tid, cpu, end - begin, op, 128, addr, 2, (uint64_t)ret);
}

static inline void feed_named(struct feed *f, uint16_t kind, const uint64_t *v, unsigned n, unsigned field,
			      const char *name)
{
	struct event ev = event_made(kind, schema_kind(&f->schema, kind), v[0]);
	struct fault why;

	memcpy(event_room(&ev)->v, v, n * sizeof(v[0]));
	event_set_text(&ev, field, name);
	assert_int_equal(engine_feed(f->engine, &ev, &why), 0);
}

static inline void feed_process(struct feed *f, uint64_t at, uint64_t pid, uint64_t start, bool tracked,
				const char *name)
{
	const uint64_t v[] = {at, pid, start, 1, 0, tracked};

	feed_named(f, KIND_process, v, 6, F_process_name, name);
}

static inline void feed_thread(struct feed *f, uint64_t at, uint64_t tid, uint64_t pid, uint64_t start,
			       const char *name)
{
	const uint64_t v[] = {at, tid, pid, start};

	feed_named(f, KIND_thread, v, 4, F_thread_name, name);
}

/* Process 100 is tracked; its threads are 101, 102, ... */
static inline void feed_cast(struct feed *f, unsigned nthreads)
{
	feed_process(f, T0, 100, T0 - MS, true, "train");
	for (unsigned i = 1; i <= nthreads; i++) {
		char name[16];

		snprintf(name, sizeof(name), "t%u", i);
		feed_thread(f, T0, 100 + i, 100, T0 - MS, name);
	}
}

/* All that was fed so far takes effect: events of one moment wait for the next moment. */
static inline void feed_settle(struct feed *f, uint64_t after)
{
	FEED(f, KIND_exec, after, 999, 999);
}

static inline const struct timeline *feed_timeline(const struct feed *f)
{
	return engine_context(f->engine)->timeline;
}

#endif
