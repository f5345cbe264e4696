/* SPDX-License-Identifier: Apache-2.0 */
/* One LZ4 frame, in the one form that a capture uses (docs/FORMAT.md, "LZ4 frames"). Internal to format/. */
#ifndef GPUREC_FORMAT_PACK_H
#define GPUREC_FORMAT_PACK_H

#include "format/base/bytes.h"
#include "format/base/fault.h"

/* Add the frame of raw[n] to *out. ERR_MEMORY. */
int pack_frame(struct bytes *out, const uint8_t *raw, size_t n, struct fault *why);

/*
 * Undo a frame of exactly `packed` bytes that gives exactly `n` bytes into raw. `at`: where it stands, for messages.
 * ERR_FORMAT for any other frame.
 */
int unpack_frame(uint8_t *raw, size_t n, const uint8_t *frame, size_t packed, uint64_t at, struct fault *why);

/*
 * The same where raw has `room` bytes, of which those behind n may be written to as well. With the room of one block
 * (UNPACK_ROOM is enough for any) LZ4 decompresses right into it, else by a copy.
 */
#define UNPACK_ROOM (4u << 20)
int unpack_frame_into(uint8_t *raw, size_t room, size_t n, const uint8_t *frame, size_t packed, uint64_t at,
		      struct fault *why);

#endif
