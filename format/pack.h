/* SPDX-License-Identifier: Apache-2.0 */
/* One LZ4 frame, in the one form that a capture uses (docs/FORMAT.md, "LZ4 frames"). Internal to format/. */
#ifndef GPUREC_FORMAT_PACK_H
#define GPUREC_FORMAT_PACK_H

#include "format/bytes.h"
#include "format/fault.h"

/* Add the frame of raw[n] to *out. ERR_MEMORY. */
int pack_frame(struct bytes *out, const uint8_t *raw, size_t n, struct fault *why);

/*
 * Undo a frame of exactly `packed` bytes that gives exactly `n` bytes into raw. `at`: where it stands, for messages.
 * ERR_FORMAT for any other frame.
 */
int unpack_frame(uint8_t *raw, size_t n, const uint8_t *frame, size_t packed, uint64_t at, struct fault *why);

#endif
