/* SPDX-License-Identifier: Apache-2.0 */
/* Text for a terminal: lines that are too long are broken between words. */
#ifndef GPUREC_KEYS_TOOL_WRAP_H
#define GPUREC_KEYS_TOOL_WRAP_H

#include <stddef.h>
#include <stdio.h>

/*
 * Print the lines of `text` in at most `width` columns (of UTF-8: characters) each, where words allow it. What follows
 * a break is indented as the sentence is: behind "  1. ", or behind a label and the blanks after it. Rows of tables
 * (two gaps of blanks or more) and lines that fit stay as they are. width 0: all of them.
 */
void wrap_print(FILE *out, const char *text, size_t n, unsigned width);

#endif
