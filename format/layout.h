/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes of a capture: magics, offsets and limits, as docs/FORMAT.md tables them. Internal to format/ (and to tests
 * that forge).
 */
#ifndef GPUREC_FORMAT_LAYOUT_H
#define GPUREC_FORMAT_LAYOUT_H

#include "format/reader.h"

/* empty LZ4 frame | HEADER | (chunk* SEAL)* | END;  chunk = CHUNK + LZ4 frame, or WITHHELD */
#define EMPTY_FRAME_BYTES 11
#define FRAME_HEAD_BYTES 8 /* magic, payload length: of every skippable frame */
#define MAGIC_HEADER 0x184D2A50u
#define MAGIC_CHUNK 0x184D2A51u
#define MAGIC_WITHHELD 0x184D2A52u
#define MAGIC_SEAL 0x184D2A53u
#define MAGIC_END 0x184D2A54u

#define HEADER_AT_MAGIC 0 /* "gpurecap" */
#define HEADER_AT_MAJOR 8
#define HEADER_AT_MINOR 10
#define HEADER_AT_COMPATIBLE 12
#define HEADER_AT_INCOMPATIBLE 20
#define HEADER_AT_CAPTURE_ID 28
#define HEADER_AT_KEYNUM 44
#define HEADER_AT_IDENTITY 52
#define HEADER_AT_FIRST_KEY 84
#define HEADER_AT_START_BOOT 116
#define HEADER_AT_START_WALL 124
#define HEADER_AT_SCHEMA 132   /* up to the signature, the last 64 bytes; after the next two where they are there: */
#define HEADER_AT_PREVIOUS 132 /* HASH_BYTES, with FEATURE_CONTINUES */
/* and, with FEATURE_EXTENSIONS: a count (1 byte), so many extensions */
#define EXTENSIONS_MAX 32u
#define EXTENSION_HEAD_BYTES 4        /* type, length */
#define EXTENSION_INCOMPATIBLE 0x8000 /* from this type on a reader must know it */
#define EXTENSION_SERIES 1            /* id, number, with FEATURE_CONTINUES the hash of the END before */
#define EXTENSION_CHALLENGE 2         /* 1 to CHALLENGE_BYTES_MAX bytes */
#define EXTENSION_SECOND 3            /* algorithm, bytes in HEADER, SEAL and END, name */
#define HEADER_BYTES_MAX (1u << 20)

#define CHUNK_AT_PACKED_BYTES 0
#define CHUNK_AT_SALT 4
#define CHUNK_BYTES 20

#define SEAL_AT_CAPTURE_ID 0
#define SEAL_AT_NUMBER 16
#define SEAL_AT_PREVIOUS 24
#define SEAL_AT_BEGIN 56
#define SEAL_AT_END 64
#define SEAL_AT_ANCHOR 72 /* boot, wall, mono */
#define SEAL_AT_SELF 96   /* cpu, rss, ring high, written */
#define SEAL_AT_NEXT_KEY 128
#define SEAL_AT_NCHUNKS 160
#define SEAL_AT_NCOUNTS 164
#define SEAL_AT_NCOUNTERS 168
#define SEAL_AT_TABLES 172 /* chunk entries, counts, counters; then the signature */

#define ENTRY_AT_CLASS 0 /* a chunk's entry in its seal */
#define ENTRY_AT_RAW_BYTES 1
#define ENTRY_AT_PACKED_BYTES 5
#define ENTRY_AT_NROWS 9
#define ENTRY_AT_FIRST 13
#define ENTRY_AT_LAST 21
#define ENTRY_AT_COMMITMENT 29
#define ENTRY_BYTES 61
#define ENTRY_AT_PART 61 /* with FEATURE_PARTS only */
#define ENTRY_PART_BYTES 4

#define COUNT_BYTES 10   /* kind, count */
#define COUNTER_BYTES 11 /* probe, id, value */

#define END_AT_CAPTURE_ID 0
#define END_AT_NEPOCHS 16
#define END_AT_LAST_SEAL 24
#define END_AT_ANCHOR 56
#define END_AT_REASON 80
#define END_AT_HAS_STATUS 84
#define END_AT_STATUS 88
#define END_AT_NTOTALS 92
#define END_AT_NCOUNTERS 96
#define END_AT_TABLES 100

/* Limits */
#define CHUNK_RAW_MAX (4u << 20)
#define CHUNK_PACKED_MAX (CHUNK_RAW_MAX + 65536u)
#define CHUNK_ROWS_MAX 65536u
#define CHUNK_VALUES_MAX                                                                                               \
	(CHUNK_RAW_MAX / 8) /* rows × fields, over all groups: bounds the memory of a decoded chunk                   \
			     */
#define EPOCH_CHUNKS_MAX 4096u
#define EPOCH_LANES_MAX 128 /* pairs of class and part */
#define COUNTER_ROWS_MAX 16384u
#define SEAL_BYTES_MAX                                                                                                 \
	(SEAL_AT_TABLES + EPOCH_CHUNKS_MAX * (ENTRY_BYTES + ENTRY_PART_BYTES) + KINDS_MAX * COUNT_BYTES +              \
	 COUNTER_ROWS_MAX * COUNTER_BYTES + APPENDIX_BYTES_MAX + SIGNATURE_BYTES)
#define END_BYTES_MAX                                                                                                  \
	(END_AT_TABLES + KINDS_MAX * COUNT_BYTES + COUNTER_ROWS_MAX * COUNTER_BYTES + APPENDIX_BYTES_MAX +             \
	 SIGNATURE_BYTES)

extern const uint8_t empty_frame[EMPTY_FRAME_BYTES];
extern const char header_magic[8];

#endif
