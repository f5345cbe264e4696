/* SPDX-License-Identifier: Apache-2.0 */
#include "format/pack.h"

#include <lz4.h>
#include <lz4frame.h>
#include <string.h>
#include <xxhash.h>

#include "format/layout.h"

/* Version 1, independent blocks, block checksums, content size, content checksum, no dictionary. */
#define FRAME_FLAGS 0x7c
#define FRAME_AT_FLAGS 4
#define FRAME_AT_CONTENT_SIZE 6
#define FRAME_AT_BLOCKS 15
#define FRAME_BYTES_MIN 19
#define STORED_BLOCK 0x80000000u /* in a block's length: it stands as it is */
#define CHECKSUM_BYTES 4

/*
 * Both checksums: with one of them only, some single flipped bits pass a stock decoder. Block sizes are picked by
 * LZ4F for the content.
 */
int pack_frame(struct bytes *out, const uint8_t *raw, size_t n, struct fault *why)
{
	LZ4F_preferences_t prefs = LZ4F_INIT_PREFERENCES;
	size_t before = out->len, bound, packed;
	uint8_t *to;

	prefs.frameInfo.blockSizeID = LZ4F_max4MB;
	prefs.frameInfo.blockMode = LZ4F_blockIndependent;
	prefs.frameInfo.contentChecksumFlag = LZ4F_contentChecksumEnabled;
	prefs.frameInfo.blockChecksumFlag = LZ4F_blockChecksumEnabled;
	prefs.frameInfo.contentSize = n;
	bound = LZ4F_compressFrameBound(n, &prefs);
	to = bytes_grow(out, bound);
	if (!to)
		return fault_no_memory(why);
	packed = LZ4F_compressFrame(to, bound, raw, n, &prefs);
	if (LZ4F_isError(packed)) {
		out->len = before;
		return fault_set(why, ERR_MEMORY, FAULT_NOWHERE, "cannot compress a chunk: %s",
				 LZ4F_getErrorName(packed));
	}
	out->len = before + packed;
	return 0;
}

int unpack_frame(uint8_t *raw, size_t n, const uint8_t *frame, size_t packed, uint64_t at, struct fault *why)
{
	return unpack_frame_into(raw, n, n, frame, packed, at, why);
}

/*
 * Whether the checksums of each block and of the content are right, in a frame that LZ4F took otherwise: block*, four
 * zeros, the content's; a block = length, bytes, its own (lz4_Frame_format.md 1.6.3). LZ4F's own XXH32 takes five times
 * as long on x86-64: a third of the time that reading a capture took.
 */
static bool checksums_hold(const uint8_t *raw, size_t n, const uint8_t *frame, size_t packed)
{
	const uint8_t *p = frame + FRAME_AT_BLOCKS, *end = frame + packed - 2 * CHECKSUM_BYTES;

	while (p < end) {
		size_t len = get_le32(p) & ~STORED_BLOCK;

		p += 4;
		if (len + CHECKSUM_BYTES > (size_t)(end - p) || XXH32(p, len, 0) != get_le32(p + len))
			return false;
		p += len + CHECKSUM_BYTES;
	}
	return XXH32(raw, n, 0) == get_le32(end + 4);
}

int unpack_frame_into(uint8_t *raw, size_t room, size_t n, const uint8_t *frame, size_t packed, uint64_t at,
		      struct fault *why)
{
	LZ4F_decompressOptions_t options = {0};
	LZ4F_dctx *ctx = NULL;
	size_t consumed = packed, made = room, r;

	if (packed < FRAME_BYTES_MIN || frame[FRAME_AT_FLAGS] != FRAME_FLAGS ||
	    get_le64(frame + FRAME_AT_CONTENT_SIZE) != n)
		return fault_set(why, ERR_FORMAT, at, "a chunk's LZ4 frame is not of the form that captures use");
	if (LZ4F_isError(LZ4F_createDecompressionContext(&ctx, LZ4F_VERSION)))
		return fault_no_memory(why);
#if LZ4_VERSION_NUMBER >= 10904
	options.skipChecksums = 1;
#endif
	r = LZ4F_decompress(ctx, raw, &made, frame, &consumed, &options);
	LZ4F_freeDecompressionContext(ctx);
	/* The one error that is not the frame's fault; only its name is part of the library's stable interface. */
	if (LZ4F_isError(r) && strcmp(LZ4F_getErrorName(r), "ERROR_allocation_failed") == 0)
		return fault_no_memory(why);
	if (LZ4F_isError(r))
		return fault_set(why, ERR_FORMAT, at, "a chunk does not decompress: %s", LZ4F_getErrorName(r));
	if (r != 0 || made != n || consumed != packed)
		return fault_set(why, ERR_FORMAT, at, "a chunk's LZ4 frame has another length than in its seal");
	if (!checksums_hold(raw, n, frame, packed))
		return fault_set(why, ERR_FORMAT, at, "a chunk does not decompress: an LZ4 checksum is wrong");
	return 0;
}
