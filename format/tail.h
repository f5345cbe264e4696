/* SPDX-License-Identifier: Apache-2.0 */
/* What is at the end of a file and may be no part of the capture (docs/FORMAT.md "The stream"). Internal to format/. */
#ifndef GPUREC_FORMAT_TAIL_H
#define GPUREC_FORMAT_TAIL_H

#include "format/reader.h"

/* Where the zeros begin that end the file; its size if its last byte is none. */
int tail_zeros(const struct source *src, uint64_t *at, struct fault *why);

/*
 * Whether a capture's id is anywhere from byte `from` on, but at byte `but`: 1, and *at is where it is first, or 0.
 */
int tail_find_id(const struct source *src, const uint8_t id[CAPTURE_ID_BYTES], uint64_t from, uint64_t but,
		 uint64_t *at, struct fault *why);

#endif
