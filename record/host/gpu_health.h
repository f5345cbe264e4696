/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the GPUs fare, once a second. NVML is asked in a process of its own, which has no rights and no socket: a library
 * that crashes there, or a driver that does not answer, takes nothing with it. What it says comes through a pipe.
 */
#ifndef GPUREC_RECORD_HOST_GPU_HEALTH_H
#define GPUREC_RECORD_HOST_GPU_HEALTH_H

#include "format/writer.h"
#include "record/host/kernel_clock.h"
#include "record/host/nvml.h"

struct health {
	int fd; /* readable when there is something to take; -1: nothing (more) comes */
	uint64_t nsamples;
	uint32_t ngpus;
	char driver[NVML_TEXT];
	char problem[256]; /* why nothing comes; "" while it does */
};

/* Whether a driver is there that NVML could speak of. */
bool health_possible(void);

/*
 * Start the process: before there is a secret in memory, for it gets a copy of all. library: NULL for NVML_LIBRARY.
 * Never fails: h->problem says what was wrong.
 */
void health_start(struct health *h, const char *library);
void health_stop(struct health *h);

/* Take what has come: `gpu`, `health` and `fact` rows, none before begin_ns. 0 or what writer_add() returned. */
int health_take(struct health *h, const struct kernel_clock *clock, struct writer *w, uint64_t begin_ns,
		struct fault *why);

/* Wait for the first answer, at most so long, and take none: for --check. */
void health_await(struct health *h, int ms);

#endif
