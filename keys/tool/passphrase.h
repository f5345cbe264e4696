/* SPDX-License-Identifier: Apache-2.0 */
/* Asking a person, or a file descriptor, for a passphrase. */
#ifndef GPUREC_KEYS_TOOL_PASSPHRASE_H
#define GPUREC_KEYS_TOOL_PASSPHRASE_H

#include <stddef.h>

#include "format/base/fault.h"

#define PASSPHRASE_MAX 1024 /* bytes, with the final NUL; minisign's limit */

/*
 * Into buf (locked memory; the caller wipes it). fd >= 0: the first line of that descriptor. fd = -1: `prompt` is
 * shown on the controlling terminal and a line read with echo off; the terminal is put right again whatever happens,
 * also when Ctrl-C or Ctrl-Z is pressed. ERR_INPUT: no terminal, empty, too long, interrupted; ERR_IO.
 */
int passphrase_read(char buf[PASSPHRASE_MAX], int fd, const char *prompt, struct fault *why);

#endif
