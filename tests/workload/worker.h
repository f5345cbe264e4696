/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread of the driver program: its name, CPU and priority, its timetable, its calls.
 * Between its ticks a worker sleeps in clock_nanosleep, never in a futex.
 */
#ifndef WORKLOAD_WORKER_H
#define WORKLOAD_WORKER_H

#include "tests/workload/workload.h"

/* Calls a runtime function of the double, counts the call, and is its result. */
#define CALL(w, name, ...) (worker_call_begins(w), worker_call_ends((w), FN_##name, (w)->run->api.name(__VA_ARGS__)))

void worker_call_begins(struct worker *w);
int worker_call_ends(struct worker *w, enum function_id id, int error);

/* 0, or the errno of pthread_create. */
int worker_start(struct worker *w);

/* Have workers of this run call their role's in_launch inside each launch. */
void worker_hook_launches(struct run *run);

/* The thread that calls takes this CPU set and priority. 0, or an errno. */
int worker_settle(const struct run *run, enum rank rank, bool victim_cpu);

/* The best order that this process may ask for. */
enum priority priority_find(void);
const char *priority_name(enum priority priority);

uint64_t boot_ns(void);
uint64_t monotonic_ns(void);
uint64_t thread_cpu_ns(void);
void sleep_until_ns(uint64_t monotonic);

/* Deterministic for a seed: from `low` up to, not including, `high`. */
uint64_t worker_random(struct worker *w, uint64_t low, uint64_t high);

/* Whether the present tick opens a slot in which this list of attempts should make one. parity 0: even slots. */
bool plants_due(struct plants *plants, const struct worker *w, unsigned parity);

/* Writes an attempt down, and says when the next may be. */
void plants_note(struct plants *plants, const struct worker *w, const struct plant *plant);

#endif
