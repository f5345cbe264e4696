/* SPDX-License-Identifier: Apache-2.0 */
/*
 * detect: how fast a capture goes through the default rules, on one core.
 *
 *	detect FILE.cap
 *
 * Reads it twice with the cursor, without verifying: first only so, then with every event fed to the engine. Prints
 * the number of events and of findings, the CPU nanoseconds an event of each, and the memory that was held at most
 *(KiB).
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "analyze/engine.h"

static struct fault why;

static void must(int r)
{
	if (r >= 0)
		return;
	fprintf(stderr, "detect: %s\n", why.text);
	exit(1);
}

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* CPU time of one pass; with an engine, events go through it. */
static uint64_t pass(const struct reader *reader, struct engine *engine, uint64_t *nevents)
{
	uint64_t begin = cpu_ns();
	struct cursor *cur;
	struct event ev;
	int r;

	*nevents = 0;
	must(cursor_open(&cur, reader, true, &why));
	while ((r = cursor_next(cur, &ev, &why)) > 0) {
		*nevents += ev.kind != KIND_epoch;
		if (engine)
			must(engine_feed(engine, &ev, &why));
	}
	must(r);
	cursor_close(cur);
	return cpu_ns() - begin;
}

int main(int argc, char **argv)
{
	struct settings settings;
	struct findings findings = {0};
	struct context ctx = {0};
	struct engine *engine;
	struct reader reader;
	struct source source;
	struct rusage usage;
	uint64_t n, bare_ns, all_ns;

	if (argc != 2) {
		fputs("usage: detect FILE.cap\n", stderr);
		return 2;
	}
	must(source_open_file(&source, argv[1], &why));
	must(reader_open(&reader, &source, &why));
	ctx.schema = &reader.header.schema;
	ctx.reader = &reader;
	ctx.unverified = true;
	settings_default(&settings);
	bare_ns = pass(&reader, NULL, &n);
	must(engine_open(&engine, &ctx, &settings, &why));
	all_ns = pass(&reader, engine, &n);
	must(engine_finish(engine, &findings, &why));
	getrusage(RUSAGE_SELF, &usage);
	printf("%" PRIu64 " %zu %.2f %.2f %ld\n", n, findings.n, (double)bare_ns / (double)n,
	       (double)all_ns / (double)n, usage.ru_maxrss);
	findings_clear(&findings);
	engine_close(engine);
	reader_close(&reader);
	return 0;
}
