/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The test double's memory: hands out addresses, takes them back, and notices when one comes
 * back twice. Device addresses are reserved and not readable, as on a real machine; pinned and managed
 * ones are ordinary memory. An address that was freed is handed out again soon: recorders
 * must cope with that.
 *
 * Lock-free: no call sleeps, waits, or enters futex(2).
 */
#ifndef WORKLOAD_MEMORY_H
#define WORKLOAD_MEMORY_H

#include <stddef.h>
#include <stdint.h>

/* What an address was allocated as; sets of these say what a caller may free. */
#define MEMORY_DEVICE 1u
#define MEMORY_MANAGED 2u
#define MEMORY_PINNED 4u

struct memory;

/* limit_bytes bounds device and managed memory together. NULL when the address space cannot be reserved. */
struct memory *memory_open(uint64_t limit_bytes);

/* Returns GPU_OK with *addr set (0 for 0 bytes), or GPU_OUT_OF_MEMORY. */
int memory_take(struct memory *mem, unsigned what, uint64_t bytes, uint64_t *addr);

/* Returns GPU_OK, or GPU_INVALID_VALUE when addr is not outstanding as one of the kinds in `may`. 0 is always fine. */
int memory_give(struct memory *mem, unsigned may, uint64_t addr);

uint64_t memory_used_bytes(const struct memory *mem);

#endif
