/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rate EVENTS-PER-SECOND SECONDS FILE [bare]: what an event costs the recorder from the ring to the disk, and whether
 * it keeps up.
 *
 * A program in the kernel fills a ring of the recorder's size with records of calls, paced by another thread; this one
 * does what gpurec's loop does with them: drain, translate, stage, and once a second, or when as much is staged as
 * gpurec allows, encode, sign, write, sync. `bare`: drains, and writes and syncs the records as they are, a mebibyte at
 * a time: what no recorder can be below. Prints: events, events that found no room, CPU nanoseconds of this side per
 * event.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <pthread.h>
#include <sodium.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "record/recording_internal.h"
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-conversion"
#include "tests/bench/fill.skel.h"
#pragma GCC diagnostic pop

#define PROBE 114 /* cudaStreamSynchronize */
#define TICK_NS 1000000ull

struct fill_args {
	__u64 n;
	__u32 probe;
	__u32 pad;
};

struct generator {
	struct fill_bpf *skel;
	uint64_t per_second, ticks;
	atomic_bool done;
};

static void fail(const char *what, const struct fault *why)
{
	fprintf(stderr, "rate: %s: %s\n", what, why ? why->text : "it failed");
	exit(1);
}

static uint64_t now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Each millisecond what is due by then. */
static void *generate(void *arg)
{
	struct generator *g = arg;
	uint64_t begin = now(CLOCK_MONOTONIC), made = 0;
	int fd = bpf_program__fd(g->skel->progs.fill);

	for (uint64_t tick = 1; tick <= g->ticks; tick++) {
		uint64_t due = g->per_second * tick / 1000, at = begin + tick * TICK_NS;
		struct timespec until = {(time_t)(at / 1000000000u), (long)(at % 1000000000u)};

		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
		while (made < due) {
			struct fill_args args = {.n = due - made < 65536 ? due - made : 65536, .probe = PROBE};
			LIBBPF_OPTS(bpf_test_run_opts, o, .ctx_in = &args, .ctx_size_in = sizeof(args));

			if (bpf_prog_test_run_opts(fd, &o) < 0)
				fail("the generator", NULL);
			made += args.n;
		}
	}
	atomic_store(&g->done, true);
	return NULL;
}

/* Records as they are. */
struct dump {
	int fd;
	size_t n;
	uint8_t bytes[1 << 20];
};

static void dump_out(struct dump *d)
{
	if (write(d->fd, d->bytes, d->n) != (ssize_t)d->n)
		fail("writing", NULL);
	d->n = 0;
}

static int dump_take(void *self, const void *record, uint32_t n, struct fault *why)
{
	struct dump *d = self;

	(void)why;
	if (d->n + n > sizeof(d->bytes))
		dump_out(d);
	memcpy(d->bytes + d->n, record, n);
	d->n += n;
	return 0;
}

static void dump_sync(struct dump *d)
{
	dump_out(d);
	if (fdatasync(d->fd) < 0)
		fail("the disk", NULL);
}

static void seal(struct writer *w, struct counters *c, uint64_t end_ns)
{
	struct clock_anchor anchor = {now(CLOCK_BOOTTIME), now(CLOCK_REALTIME), now(CLOCK_MONOTONIC)};
	uint64_t n = c->own[PROBE].n[COUNT_recorded];
	const struct counter rows[] = {{PROBE, COUNTER_fired, n}, {PROBE, COUNTER_recorded, n}};
	struct self_stats self = {0};
	struct fault why;

	if (writer_seal(w, end_ns, &anchor, &self, rows, n ? 2 : 0, &why) < 0)
		fail("the writer", &why);
}

int main(int argc, char **argv)
{
	struct generator g = {.skel = fill_bpf__open_and_load()};
	struct clock_anchor start = {now(CLOCK_BOOTTIME), now(CLOCK_REALTIME), now(CLOCK_MONOTONIC)};
	struct probe *probes = calloc(nprobes, sizeof(*probes));
	static struct counters counters;
	struct translator t = {.counters = &counters, .begin_ns = start.boot_ns};
	struct identity id = {0};
	static struct dump dump;
	struct writer *w = NULL;
	struct sink sink;
	struct ring ring;
	struct fault why;
	pthread_t thread;
	uint64_t cpu, next, cut;
	bool last = false, bare = argc == 5 && !strcmp(argv[4], "bare");

	if ((argc != 4 && !bare) || !g.skel || !probes || sodium_init() < 0)
		fail("rate EVENTS-PER-SECOND SECONDS FILE [bare], as root", NULL);
	g.per_second = strtoull(argv[1], NULL, 10);
	g.ticks = strtoull(argv[2], NULL, 10) * 1000;
	probe_describe(probes);
	crypto_sign_keypair(id.public_key, id.secret_key);
	if (sink_open_file(&sink, argv[3], true, &why) < 0 ||
	    writer_open(&w, sink, &id, probes, nprobes, &start, &why) < 0)
		fail("the capture", &why);
	t.writer = w;
	dump.fd = bare ? open(argv[3], O_WRONLY | O_TRUNC | O_CLOEXEC) : -1;
	if (bare && dump.fd < 0)
		fail(argv[3], NULL);
	if (ring_open(&ring, bpf_map__fd(g.skel->maps.bulk), 16u << 20, &why) < 0)
		fail("the ring", &why);
	if (pthread_create(&thread, NULL, generate, &g))
		fail("a thread", NULL);
	cpu = now(CLOCK_THREAD_CPUTIME_ID);
	next = start.boot_ns + EPOCH_NS;
	while (!last) {
		struct timespec wait = {0, 20000000};

		last = atomic_load(&g.done);
		/* gpurec is woken when the ring is half full, and looks after WAIT_MS at the latest. */
		for (int i = 0; i < 5 && !last && ring_head(&ring) - *ring.consumer < ring.bytes / 2; i++)
			clock_nanosleep(CLOCK_MONOTONIC, 0, &wait, NULL);
		/* Records behind the head that is read now are from `cut` or later. */
		cut = now(CLOCK_BOOTTIME);
		if (ring_drain(&ring, ring_head(&ring), bare ? dump_take : translate, bare ? (void *)&dump : &t, &why) <
		    0)
			fail("draining", &why);
		if (bare && (cut >= next || last)) {
			dump_sync(&dump);
			next = cut + EPOCH_NS;
		} else if (!bare && (cut >= next || writer_staged_bytes(w) >= EPOCH_BYTES || last)) {
			seal(w, &counters, cut);
			t.begin_ns = cut;
			next = cut + EPOCH_NS;
		}
	}
	cpu = now(CLOCK_THREAD_CPUTIME_ID) - cpu;
	pthread_join(thread, NULL);
	printf("%llu %llu %.1f\n", (unsigned long long)g.skel->bss->written, (unsigned long long)g.skel->bss->refused,
	       (double)cpu / (double)g.skel->bss->written);
	writer_close(w);
	ring_close(&ring);
	fill_bpf__destroy(g.skel);
	free(probes);
	return 0;
}
