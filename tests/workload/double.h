/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the test double offers beyond CUDA's own interface, to the programs that plant faults.
 * A program that opens the double with dlopen() finds these with dlsym() on libcudart.so.12 too,
 * because libcuda.so.1 is among its dependencies.
 *
 * Environment, read once when libcuda.so.1 is loaded:
 *	GPU_DOUBLE_LAUNCH_NS   CPU time that a launch burns (4000)
 *	GPU_DOUBLE_CALL_NS     CPU time that any other call burns (1000)
 *	GPU_DOUBLE_MEMORY      bytes of device memory (80 GiB); allocations beyond it fail with 2
 */
#ifndef WORKLOAD_DOUBLE_H
#define WORKLOAD_DOUBLE_H

#include <stdint.h>

/* In libcuda.so.1. The hook runs inside every later launch, on the launching thread, in the driver's part. NULL: none.
 */
void gpu_double_set_launch_hook(void (*hook)(void *), void *arg);

/* In libcuda.so.1. The same for every later call that is no launch. */
void gpu_double_set_call_hook(void (*hook)(void));

/* In libcuda.so.1. Replaces the two costs that the environment set. */
void gpu_double_set_cost_ns(uint64_t launch_ns, uint64_t call_ns);

/* In libcuda.so.1. Burns that much CPU time by counting, without a system call: preemption does not shorten it. */
void gpu_double_burn_ns(uint64_t ns);

/* In libcuda.so.1. Bytes of device and managed memory now handed out. */
uint64_t gpu_double_used_bytes(void);

/* How often the function of that name was entered; UINT64_MAX for a name that the library does not have. */
uint64_t gpu_double_driver_calls(const char *name);
uint64_t gpu_double_runtime_calls(const char *name);

#endif
