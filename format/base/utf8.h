/* SPDX-License-Identifier: Apache-2.0 */
/* UTF-8 by RFC 3629: shortest form, no surrogates, up to U+10FFFF. */
#ifndef GPUREC_FORMAT_BASE_UTF8_H
#define GPUREC_FORMAT_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UTF8_BYTES 4                    /* bytes of a character */
#define UTF8_REPLACEMENT "\xef\xbf\xbd" /* U+FFFD, for bytes that are no character */

/* The character that the n > 0 bytes at `p` begin with: its length, and *cp; 0: they begin with none. */
size_t utf8_decode(const char *p, size_t n, uint32_t *cp);

/* Write `cp`. How many bytes; 0: it is no character. */
size_t utf8_encode(char out[UTF8_BYTES], uint32_t cp);

/* Whether all n bytes are well-formed. */
bool utf8_valid(const char *text, size_t n);

#endif
