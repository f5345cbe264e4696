/* SPDX-License-Identifier: Apache-2.0 */
/* Small captures in memory for the format's tests: written by the real writer, or forged piece by piece. */
#ifndef GPUREC_TESTS_SAMPLE_H
#define GPUREC_TESTS_SAMPLE_H

#include <stdarg.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sodium.h>

#include "format/base/bytes.h"
#include "format/crypt.h"
#include "format/cursor.h"
#include "format/verify.h"
#include "format/writer.h"

#define SAMPLE_BOOT 5000000000ull
#define SAMPLE_WALL 1700000000000000000ull
#define SAMPLE_SECOND 1000000000ull

/* A sink that keeps what it is given and can fail at its nth call. */
struct memory_sink {
	struct bytes bytes;
	unsigned calls, fail_at; /* 0: never */
	bool closed;
};

static inline int memory_write(void *self, const void *buf, size_t n, struct fault *why)
{
	struct memory_sink *m = self;

	if (++m->calls == m->fail_at) {
		bytes_add(&m->bytes, buf, n / 2); /* a short write, then the disk is full */
		return fault_set(why, ERR_IO, FAULT_NOWHERE, "no space left");
	}
	bytes_add(&m->bytes, buf, n);
	return 0;
}

static inline int memory_sync(void *self, struct fault *why)
{
	struct memory_sink *m = self;

	if (++m->calls == m->fail_at)
		return fault_set(why, ERR_IO, FAULT_NOWHERE, "sync failed");
	return 0;
}

static inline void memory_close(void *self)
{
	struct memory_sink *m = self;

	m->closed = true;
}

static inline struct sink memory_sink_of(struct memory_sink *m)
{
	return (struct sink){memory_write, memory_sync, memory_close, m};
}

static inline struct identity sample_identity(uint8_t seed_byte)
{
	struct identity id;
	uint8_t seed[crypto_sign_SEEDBYTES];

	memset(seed, seed_byte, sizeof(seed));
	crypto_sign_seed_keypair(id.public_key, id.secret_key, seed);
	memset(id.keynum, seed_byte, sizeof(id.keynum));
	return id;
}

static const struct probe sample_probes[] = {
	{"sched_switch", 1, KIND_switch},
	{"futex", 3, KIND_futex},
	{"cudaLaunchKernel", 20, KIND_launch},
	{"cudaMalloc", 21, KIND_alloc},
};
#define SAMPLE_NPROBES (sizeof(sample_probes) / sizeof(sample_probes[0]))

static inline struct clock_anchor sample_anchor(uint64_t boot_ns)
{
	return (struct clock_anchor){boot_ns, SAMPLE_WALL + (boot_ns - SAMPLE_BOOT), boot_ns - 7};
}

/* A row of any kind that makes a sample. Returns what writer_add() did. */
static inline int sample_try_add(struct writer *w, uint16_t kind, uint64_t at, uint64_t x)
{
	uint64_t v[FIELDS_MAX] = {at, 100, 101, x & 1, 1000 + x, 20, 0, 0, 0x5000 + x, 7};
	const char *text[FIELDS_MAX] = {NULL};
	struct fault why;

	if (kind == KIND_thread) {
		v[F_thread_name] = 7;
		text[F_thread_name] = "trainer";
	}
	if (kind == KIND_fact) {
		v[F_fact_name] = 6;
		text[F_fact_name] = "kernel";
		v[F_fact_value] = 5;
		text[F_fact_value] = "6.1.0";
	}
	return writer_add(w, kind, v, text, &why);
}

static inline void sample_add(struct writer *w, uint16_t kind, uint64_t at, uint64_t x)
{
	assert_int_equal(sample_try_add(w, kind, at, x), 0);
}

/* Counters of a capture in which each epoch has 3 launches and 2 switches, of which more were lost than recorded. */
static inline size_t sample_counters(struct counter c[8], uint64_t nepochs)
{
	size_t n = 0;

	if (nepochs == 0)
		return 0;
	c[n++] = (struct counter){1, COUNTER_fired, 2 * nepochs + 5};
	c[n++] = (struct counter){1, COUNTER_recorded, 2 * nepochs};
	c[n++] = (struct counter){1, COUNTER_ring_full, 5};
	c[n++] = (struct counter){20, COUNTER_fired, 3 * nepochs};
	c[n++] = (struct counter){20, COUNTER_recorded, 3 * nepochs};
	return n;
}

/* The rows of each epoch, not in time order. */
static const struct {
	uint16_t kind;
	uint64_t at;
} sample_rows[] = {
	{KIND_launch, 300},       {KIND_launch, 100},       {KIND_switch, 100}, {KIND_thread, 50},
	{KIND_launch, 999999999}, {KIND_switch, 999999999}, {KIND_fact, 0},
};

/* Epochs of one second, each with rows of three classes. Returns the first error, or 0. */
static inline int sample_write(struct memory_sink *m, unsigned nepochs, bool end)
{
	struct identity id = sample_identity(1);
	struct clock_anchor start = sample_anchor(SAMPLE_BOOT);
	struct self_stats self = {1, 2, 3, 4};
	struct counter counters[8];
	struct writer *w = NULL;
	struct fault why;
	uint64_t boot = SAMPLE_BOOT;
	int r = writer_open(&w, memory_sink_of(m), &id, sample_probes, SAMPLE_NPROBES, &start, &why);

	for (unsigned i = 0; i < nepochs && r == 0; i++) {
		struct clock_anchor anchor = sample_anchor(boot + SAMPLE_SECOND);

		for (size_t k = 0; k < sizeof(sample_rows) / sizeof(sample_rows[0]) && r == 0; k++)
			r = sample_try_add(w, sample_rows[k].kind, boot + sample_rows[k].at, i);
		if (r < 0)
			break;
		boot += SAMPLE_SECOND;
		r = writer_seal(w, boot, &anchor, &self, counters, sample_counters(counters, i + 1), &why);
	}
	if (r == 0 && end) {
		struct clock_anchor anchor = sample_anchor(boot);
		int status = 7 << 8;

		r = writer_end(w, REASON_command, &status, &anchor, counters, sample_counters(counters, nepochs), &why);
	}
	writer_close(w);
	return r;
}

/* The verdict on bytes in memory. */
static inline enum verdict sample_verdict(const uint8_t *bytes, size_t n, struct verification *out)
{
	struct verification v;
	struct source src;
	struct reader r;
	struct fault why;

	source_open_memory(&src, bytes, n);
	if (reader_open(&r, &src, &why) < 0) {
		verification_refused(&v, &why);
	} else {
		verify(&r, 1, &v);
		reader_close(&r);
	}
	if (out)
		*out = v;
	return v.verdict;
}

#endif
