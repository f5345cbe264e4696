/* SPDX-License-Identifier: Apache-2.0 */
/* The file that says what a run planted and called (README.md describes it). */
#ifndef WORKLOAD_TRUTH_H
#define WORKLOAD_TRUTH_H

#include "tests/workload/workload.h"

/* 0, or -1 with errno set; then there is no file under `path`. scenarios: those that ran, none for a flood. */
int truth_write(const struct run *run, const struct scenario *const scenarios[], unsigned nscenarios, const char *path);

#endif
