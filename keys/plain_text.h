/* SPDX-License-Identifier: Apache-2.0 */
/* Names and dates as they are in delegations and revocation lists: one way to write each. */
#ifndef GPUREC_KEYS_PLAIN_TEXT_H
#define GPUREC_KEYS_PLAIN_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/fault.h"

#define DATE_CHARS 20 /* "2026-11-21T10:00:00Z" */

/*
 * Whether it can be shown anywhere as it is: 1 to `max` bytes of printable UTF-8, without quotation mark and
 * backslash, and with no blank at either end.
 */
bool plain_text_valid(const char *text, size_t n, size_t max);

/* "2026-11-21" (its beginning) or "2026-11-21T10:00:00Z", UTC, 1970 to 2554 (64 bits of ns); ns since 1970. ERR_INPUT. */
int date_parse(uint64_t *wall_ns, const char *text, struct fault *why);
/* The longer form, parts of a second left out. Returns buf. */
char *date_format(char buf[DATE_CHARS + 1], uint64_t wall_ns);

#endif
