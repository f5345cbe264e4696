/* SPDX-License-Identifier: Apache-2.0 */
/* A file that is there whole or not at all. */
#ifndef GPUREC_ANALYZE_REPORT_REPORT_FILE_H
#define GPUREC_ANALYZE_REPORT_REPORT_FILE_H

#include <sys/types.h>

#include <stdbool.h>
#include <stddef.h>

#include "format/base/fault.h"

/*
 * Write `n` bytes to a new file: under a temporary name beside it, synced, then renamed. Without `force` a file that is
 * there stays as it is: ERR_EXISTS. It gets `mode`, as far as the umask allows. After any error nothing new is left
 * behind.
 */
int output_write(const char *path, const char *bytes, size_t n, bool force, mode_t mode, struct fault *why);

/* Whether output_write() would refuse because of what is there: asked before the work is done. */
int output_check(const char *path, bool force, struct fault *why);

#endif
