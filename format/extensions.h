/* SPDX-License-Identifier: Apache-2.0 */
/* The extensions of a header: type, length, value, ascending by type (docs/FORMAT.md). Internal to format/. */
#ifndef GPUREC_FORMAT_EXTENSIONS_H
#define GPUREC_FORMAT_EXTENSIONS_H

#include "format/base/bytes.h"
#include "format/layout.h"

/* Whether a header has any, which sets FEATURE_EXTENSIONS. */
bool extensions_any(const struct header *h);

/* Add count and extensions of a header that has some. */
void extensions_encode(struct bytes *out, const struct header *h);

/*
 * Parse the extensions at the start of bytes[n], which are at `at` in the file, into *h, whose feature bits are set.
 * Returns how many bytes they take; ERR_FORMAT, ERR_VERSION, ERR_MEMORY: then h->later is not held.
 */
int64_t extensions_parse(struct header *h, const uint8_t *bytes, size_t n, uint64_t at, struct fault *why);

#endif
