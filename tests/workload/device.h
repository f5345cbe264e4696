/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one pretended device behind the test double's libcuda.so.1: its memory, its handles, what a call
 * costs, and how often each function was entered. Nothing here waits or enters futex(2).
 */
#ifndef WORKLOAD_DEVICE_H
#define WORKLOAD_DEVICE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "tests/workload/functions.h"
#include "tests/workload/memory.h"

#define DRIVER_ID(name, params) DRIVER_##name,
enum driver_id { DRIVER_CALLS(DRIVER_ID) DRIVER_COUNT };

enum handle_kind { HANDLE_FREE, HANDLE_STREAM, HANDLE_EVENT };

struct handle {
	_Atomic int kind;
};

#define HANDLES 4096

struct device {
	struct memory *memory;
	_Atomic uint64_t launch_ns;
	_Atomic uint64_t call_ns;
	double loops_per_ns;
	void (*_Atomic hook)(void *);
	void *_Atomic hook_arg;
	void (*_Atomic call_hook)(void); /* inside every call but a launch */
	struct handle handles[HANDLES];
	_Atomic unsigned next_handle;
	_Atomic uint64_t calls[DRIVER_COUNT];
};

/* Both count the call. Any call but a launch; a launch, with the hook inside. */
void device_call(struct device *dev, enum driver_id id);
void device_launch(struct device *dev, enum driver_id id);

/* As device_call, then the time that copying or filling takes. */
void device_transfer(struct device *dev, enum driver_id id, uint64_t bytes);

/* NULL when there are too many. */
void *device_handle_new(struct device *dev, enum handle_kind kind);
bool device_handle_end(struct device *dev, enum handle_kind kind, void *handle);

/* The default streams count as good ones; there is no default event. */
bool device_handle_good(struct device *dev, enum handle_kind kind, const void *handle);

/* Burns CPU time by counting. */
void device_burn(const struct device *dev, uint64_t ns);

/* Reads the environment, measures how fast this CPU counts, reserves memory. false: no address space. */
bool device_open(struct device *dev);

#endif
