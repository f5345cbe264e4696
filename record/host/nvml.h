/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVIDIA's management library, opened at run time and never linked: what it knows of the GPUs of this host, and how
 * they are now. It is other people's code: record/host/gpu_health.c has it in a process of its own.
 */
#ifndef GPUREC_RECORD_HOST_NVML_H
#define GPUREC_RECORD_HOST_NVML_H

#include <stdint.h>

#include "format/base/fault.h"
#include "format/schema.h"

#define NVML_LIBRARY "libnvidia-ml.so.1"
#define NVML_GPUS_MAX 64
#define NVML_TEXT 96

struct nvml;

/* ERR_INPUT: there is no such library, or it has not what is needed, or it finds no driver: with its own words. */
int nvml_open(struct nvml **n, const char *library, struct fault *why);
void nvml_close(struct nvml *n);

uint32_t nvml_ngpus(const struct nvml *n); /* at most NVML_GPUS_MAX */
/* Version of the driver, "" if it is not reported. */
void nvml_driver(const struct nvml *n, char text[NVML_TEXT]);

/* What does not change. What is not reported is empty or 0. */
struct nvml_gpu {
	char name[NVML_TEXT], uuid[NVML_TEXT], pci[NVML_TEXT];
	uint64_t memory_bytes;
};
void nvml_describe(const struct nvml *n, uint32_t gpu, struct nvml_gpu *out);

/* A `health` row's values but the time. */
void nvml_sample(const struct nvml *n, uint32_t gpu, uint64_t v[NFIELDS_health]);

#endif
