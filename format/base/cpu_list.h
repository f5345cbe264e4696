/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of CPUs as the kernel lists them: "0-3,8" (Linux, Documentation/admin-guide/cputopology.rst). */
#ifndef GPUREC_FORMAT_BASE_CPU_LIST_H
#define GPUREC_FORMAT_BASE_CPU_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Room for the list of any set of so many words: numbers of at most five digits, every second CPU. */
#define CPU_LIST_BYTES(nwords) ((nwords)*32 * 6)

/* The set's list, without a NUL: bit i of word n is CPU 64 n + i. Returns its bytes; what does not fit is left out. */
size_t cpu_list_write(const uint64_t *words, size_t nwords, char *to, size_t room);

/* Whether the CPU is on the list. One that is none is taken as far as it is one. */
bool cpu_list_has(const char *list, size_t nbytes, uint64_t cpu);

/* How many CPUs are on it. */
uint64_t cpu_list_count(const char *list, size_t nbytes);

#endif
