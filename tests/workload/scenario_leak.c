/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Three allocation sites, each a function and a thread of its own. One leaks all through the run. Beside it stand two
 * that a careless detector would blame: a working set that is forever freed and allocated again, and a cache that grows
 * at the start, stays, and is left for the process's exit to give back.
 */
#include <errno.h>
#include <stdlib.h>

#include "tests/workload/json.h"
#include "tests/workload/worker.h"

#define LEAK_PERIOD_NS (10 * BEAT_NS)
#define LEAK_UNIT_BYTES (UINT64_C(16) << 10)
#define PLATEAU_PERIOD_NS (12 * BEAT_NS)
#define PLATEAU_BUFFERS 12
#define PLATEAU_BYTES (UINT64_C(256) << 10)
#define CACHE_PERIOD_NS (5 * BEAT_NS)
#define CACHE_BLOCKS 40
#define CACHE_BYTES (UINT64_C(2) << 20)

struct leak {
	bool leaks;
	void *latest; /* without the fault, the leaking site gives back what it took a tick before */
	uint64_t latest_bytes;
	void *plateau[PLATEAU_BUFFERS];
	unsigned next;
	struct site leak_site, plateau_site, cache_site;
};

/* A site must keep its own frame under its own name, whatever the optimizer thinks of it. */
#define SITE __attribute__((noipa))

SITE void *leak_site(struct worker *w, uint64_t bytes);
SITE void *plateau_site(struct worker *w, uint64_t bytes);
SITE void *cache_site(struct worker *w, uint64_t bytes);

static void *site_take(struct site *site, const struct worker *w, int error, void *addr, uint64_t bytes)
{
	uint64_t held;

	if (error)
		return NULL;
	if (site->allocated == 0)
		site->first_ns = w->call_begin_ns;
	site->last_ns = w->call_end_ns;
	site->allocated++;
	site->allocated_bytes += bytes;
	held = site->allocated_bytes - site->freed_bytes;
	if (held > site->peak_bytes)
		site->peak_bytes = held;
	return addr;
}

static void site_give(struct site *site, struct worker *w, void *addr, uint64_t bytes)
{
	if (!addr || CALL(w, cudaFree, addr))
		return;
	site->freed++;
	site->freed_bytes += bytes;
}

void *leak_site(struct worker *w, uint64_t bytes)
{
	void *addr = NULL;
	int error = CALL(w, cudaMalloc, &addr, bytes);

	return site_take(&w->run->leak->leak_site, w, error, addr, bytes);
}

void *plateau_site(struct worker *w, uint64_t bytes)
{
	void *addr = NULL;
	int error = CALL(w, cudaMalloc, &addr, bytes);

	return site_take(&w->run->leak->plateau_site, w, error, addr, bytes);
}

void *cache_site(struct worker *w, uint64_t bytes)
{
	void *addr = NULL;
	int error = CALL(w, cudaMalloc, &addr, bytes);

	return site_take(&w->run->leak->cache_site, w, error, addr, bytes);
}

static void loader_tick(struct worker *w)
{
	struct leak *l = w->run->leak;
	uint64_t bytes = LEAK_UNIT_BYTES * worker_random(w, 2, 7);
	void *addr = leak_site(w, bytes);

	if (l->leaks)
		return;
	site_give(&l->leak_site, w, l->latest, l->latest_bytes);
	l->latest = addr;
	l->latest_bytes = bytes;
}

static uint64_t plateau_bytes(unsigned i)
{
	return PLATEAU_BYTES * (1 + i % 4);
}

static void batcher_tick(struct worker *w)
{
	struct leak *l = w->run->leak;
	unsigned i = l->next++ % PLATEAU_BUFFERS;

	site_give(&l->plateau_site, w, l->plateau[i], plateau_bytes(i));
	l->plateau[i] = plateau_site(w, plateau_bytes(i));
}

static void cacher_tick(struct worker *w)
{
	if (w->run->leak->cache_site.allocated < CACHE_BLOCKS)
		cache_site(w, CACHE_BYTES);
}

static int leak_open(struct run *run)
{
	struct leak *l = calloc(1, sizeof(*l));

	if (!l)
		return ENOMEM;
	l->leaks = run_plants(run, &leak_scenario);
	l->leak_site.name = "leak_site";
	l->plateau_site.name = "plateau_site";
	l->cache_site.name = "cache_site";
	run->leak = l;
	return 0;
}

static bool leak_planted(const struct run *run)
{
	(void)run;
	return true; /* there is nothing about it that could fail to take */
}

static void site_json(const struct run *run, struct json *out, const struct site *site, const char *role, bool fault)
{
	json_open(out, NULL, '{');
	if (fault)
		json_text(out, "fault", leak_scenario.name);
	json_text(out, "site", site->name);
	json_text(out, "function", "cudaMalloc");
	json_number(out, "tid", (uint64_t)run_worker(run, role)->tid);
	json_text(out, "thread", role);
	json_number(out, "begin_ns", site->first_ns);
	json_number(out, "end_ns", site->last_ns);
	json_number(out, "bytes", site->allocated_bytes - site->freed_bytes);
	json_number(out, "count", site->allocated - site->freed);
	json_number(out, "allocated_bytes", site->allocated_bytes);
	json_number(out, "allocated_count", site->allocated);
	json_number(out, "freed_bytes", site->freed_bytes);
	json_number(out, "freed_count", site->freed);
	json_number(out, "peak_bytes", site->peak_bytes);
	json_close(out);
}

static void leak_faults_json(const struct run *run, struct json *out)
{
	if (run->leak->leaks)
		site_json(run, out, &run->leak->leak_site, "loader", true);
}

static void leak_innocent_json(const struct run *run, struct json *out)
{
	if (!run->leak->leaks)
		site_json(run, out, &run->leak->leak_site, "loader", false);
	site_json(run, out, &run->leak->plateau_site, "batcher", false);
	site_json(run, out, &run->leak->cache_site, "cacher", false);
}

uint64_t leak_held_bytes(const struct run *run)
{
	const struct leak *l = run->leak;
	const struct site *sites[] = {&l->leak_site, &l->plateau_site, &l->cache_site};
	uint64_t held = 0;

	for (unsigned i = 0; i < sizeof(sites) / sizeof(sites[0]); i++)
		held += sites[i]->allocated_bytes - sites[i]->freed_bytes;
	return held;
}

static void leak_close(struct run *run)
{
	free(run->leak);
	run->leak = NULL;
}

static const struct role roles[] = {
	{"loader", RANK_CALLER, false, LEAK_PERIOD_NS, 400 * US, loader_tick, NULL},
	{"batcher", RANK_CALLER, false, PLATEAU_PERIOD_NS, 600 * US, batcher_tick, NULL},
	{"cacher", RANK_CALLER, false, CACHE_PERIOD_NS, 800 * US, cacher_tick, NULL},
};

const struct scenario leak_scenario = {
	.name = "leak",
	.help = "leak_site never frees, beside a working set and a cache that are in order",
	.roles = roles,
	.nroles = sizeof(roles) / sizeof(roles[0]),
	.open = leak_open,
	.planted = leak_planted,
	.faults_json = leak_faults_json,
	.innocent_json = leak_innocent_json,
	.close = leak_close,
};
