/* SPDX-License-Identifier: Apache-2.0 */
#include "record/probe/counters.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const struct {
	const char *name;
	uint8_t id;
	uint8_t role;
} kinds[NCOUNTS] = {
#define C(number, text, r, words) [COUNT_##text] = {#text, number, ROLE_##r},
	COUNTERS(C)
#undef C
};

uint32_t counters_shards(void)
{
	long ncpus = sysconf(_SC_NPROCESSORS_CONF);
	uint32_t n = 1;

	while (n < SHARDS_MAX && (long)n < ncpus)
		n *= 2;
	return n;
}

uint32_t counters_slots(void)
{
	return probe_table[nprobes - 1].id + 1u;
}

int counters_open(struct counters *c, int map_fd, struct fault *why)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *at;

	memset(c, 0, sizeof(*c));
	c->nslots = counters_slots();
	c->nshards = counters_shards();
	c->rows = calloc(nprobes * NCOUNTS, sizeof(*c->rows));
	if (!c->rows)
		return fault_no_memory(why);
	c->mapped_bytes = (sizeof(struct tally) * c->nslots * c->nshards + page - 1) / page * page;
	at = mmap(NULL, c->mapped_bytes, PROT_READ, MAP_SHARED, map_fd, 0);
	if (at == MAP_FAILED) {
		counters_close(c);
		return fault_errno(why, "cannot map the loss counters");
	}
	c->tallies = at;
	return 0;
}

void counters_close(struct counters *c)
{
	if (c->tallies)
		munmap((void *)(uintptr_t)c->tallies, c->mapped_bytes);
	free(c->rows);
	memset(c, 0, sizeof(*c));
}

void counters_add(struct counters *c, uint32_t probe, enum counter_index what)
{
	if (probe < PROBES_LIMIT)
		c->own[probe].n[what]++;
}

void counters_add_lost(struct counters *c, uint32_t probe, enum counter_index why, uint64_t n)
{
	if (probe >= PROBES_LIMIT)
		return;
	c->own[probe].n[COUNT_fired] += n;
	c->own[probe].n[why] += n;
}

static uint64_t read_one(const struct counters *c, uint32_t probe, unsigned what)
{
	uint64_t sum = c->own[probe].n[what];

	for (uint32_t shard = 0; c->tallies && shard < c->nshards; shard++)
		sum += __atomic_load_n(&c->tallies[(size_t)shard * c->nslots + probe].n[what], __ATOMIC_RELAXED);
	return sum;
}

size_t counters_collect(struct counters *c, bool at_end, const struct counter **rows)
{
	size_t n = 0;

	*rows = c->rows;
	if (c->ended)
		return c->nrows;
	for (size_t i = 0; i < nprobes; i++) {
		uint16_t probe = probe_table[i].id;
		uint64_t value[NCOUNTS], known = 0;

		if (!read_one(c, probe, COUNT_fired)) /* then nothing else of it has been counted */
			continue;
		for (unsigned k = NCOUNTS; k-- > 0;) { /* fired, the first, is read last */
			value[k] = read_one(c, probe, k);
			if (kinds[k].role == ROLE_RECORDED || kinds[k].role == ROLE_LOST)
				known += value[k];
			__atomic_thread_fence(__ATOMIC_ACQUIRE);
		}
		if (at_end && value[COUNT_fired] > known)
			value[COUNT_in_flight] += value[COUNT_fired] - known;
		for (unsigned k = 0; k < NCOUNTS; k++)
			if (value[k])
				c->rows[n++] = (struct counter){.probe = probe, .id = kinds[k].id, .value = value[k]};
	}
	c->nrows = n;
	c->ended = at_end;
	return n;
}

void counters_sum(const struct counter *rows, size_t n, struct counter_sums *sums)
{
	memset(sums, 0, sizeof(*sums));
	for (size_t i = 0; i < n; i++) {
		if (rows[i].id == COUNTER_fired)
			sums->fired += rows[i].value;
		else if (rows[i].id == COUNTER_recorded)
			sums->recorded += rows[i].value;
		else if (counter_is_loss(rows[i].id))
			sums->absent[absence_of_loss(rows[i].id)] += rows[i].value;
		if (rows[i].id == COUNTER_sampled_out)
			sums->sampled_out += rows[i].value;
		else if (rows[i].id == COUNTER_over_rate)
			sums->over_rate += rows[i].value;
	}
}

const char *counter_name(uint8_t id)
{
	for (unsigned k = 0; k < NCOUNTS; k++)
		if (kinds[k].id == id)
			return kinds[k].name;
	return "?";
}

bool counter_is_loss(uint8_t id)
{
	for (unsigned k = 0; k < NCOUNTS; k++)
		if (kinds[k].id == id)
			return kinds[k].role == ROLE_LOST;
	return false;
}
