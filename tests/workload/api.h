/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the driver program reaches the test double: through pointers, so that the same code runs
 * linked with it (api_linked.c) and opening it late (api_dlopen.c). Each program has one of the two.
 */
#ifndef WORKLOAD_API_H
#define WORKLOAD_API_H

#include <stdbool.h>

#include "tests/workload/double.h"
#include "tests/workload/functions.h"

#define API_POINTER(kind, name, params) int(*name) params;

struct api {
	RUNTIME_CALLS(API_POINTER)
	void (*set_launch_hook)(void (*hook)(void *), void *arg);
	void (*set_cost_ns)(uint64_t launch_ns, uint64_t call_ns);
	uint64_t (*used_bytes)(void);
	uint64_t (*driver_calls)(const char *name);
	uint64_t (*runtime_calls)(const char *name);
	void (*burn_ns)(uint64_t ns);
};

/* Whether this program opens the double at run time: then the library is not mapped before api_open. */
extern const bool api_opens_late;

/* Fills *api. Returns NULL, or a sentence that says what is wrong, valid until the next call. */
const char *api_open(struct api *api);

#endif
