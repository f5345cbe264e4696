/* SPDX-License-Identifier: Apache-2.0 */
/* Text out of a capture is anybody's bytes. These make it safe to show. */
#ifndef GPUREC_FORMAT_BASE_ESCAPE_H
#define GPUREC_FORMAT_BASE_ESCAPE_H

#include <stddef.h>
#include <stdio.h>

/*
 * For a terminal or a line of text: valid printable UTF-8 stays; control characters, invalid bytes, bidirectional and
 * invisible format characters become \xNN or \u{NNNN}, a backslash \\. `out` always ends with a NUL and never in the
 * middle of an escape. Returns the length written (without NUL); what does not fit is left out.
 */
size_t escape_terminal(char *out, size_t out_size, const char *text, size_t n);

/* Inside a JSON string (no quotes added): valid JSON in UTF-8; invalid bytes become U+FFFD. Same rules for `out`. */
size_t escape_json(char *out, size_t out_size, const char *text, size_t n);

/* What one of the two makes of a text, in memory of its own and no larger than it has to be. NULL: no memory. */
char *escape_copy(size_t (*escape)(char *out, size_t out_size, const char *text, size_t n), const char *text, size_t n);

#define ESCAPE_GROWTH 8 /* bytes out for a byte in, at most: room for all is n * ESCAPE_GROWTH + 1 */

#endif
