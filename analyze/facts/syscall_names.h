/* SPDX-License-Identifier: Apache-2.0 */
/* Names of those system calls in which threads sleep. */
#ifndef GPUREC_ANALYZE_FACTS_SYSCALL_NAMES_H
#define GPUREC_ANALYZE_FACTS_SYSCALL_NAMES_H

#include <stddef.h>
#include <stdint.h>

/* As uname(2) and the fact `machine` name the host. */
enum machine { MACHINE_UNKNOWN = 0, MACHINE_X86_64, MACHINE_AARCH64 };

enum machine machine_by_name(const char *s, size_t n);
/* NULL: not in the list. */
const char *syscall_name(enum machine machine, uint64_t number);

#endif
