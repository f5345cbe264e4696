/* SPDX-License-Identifier: Apache-2.0 */
/* Little-endian numbers in byte buffers, and a buffer that grows. */
#ifndef GPUREC_FORMAT_BASE_BYTES_H
#define GPUREC_FORMAT_BASE_BYTES_H

#include <stddef.h>
#include <stdint.h>

static inline uint16_t get_le16(const uint8_t *p)
{
	return (uint16_t)(p[0] | p[1] << 8);
}

static inline uint32_t get_le32(const uint8_t *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline uint64_t get_le64(const uint8_t *p)
{
	return (uint64_t)get_le32(p) | (uint64_t)get_le32(p + 4) << 32;
}

static inline void put_le16(uint8_t *p, uint16_t v)
{
	p[0] = (uint8_t)v;
	p[1] = (uint8_t)(v >> 8);
}

static inline void put_le32(uint8_t *p, uint32_t v)
{
	put_le16(p, (uint16_t)v);
	put_le16(p + 2, (uint16_t)(v >> 16));
}

static inline void put_le64(uint8_t *p, uint64_t v)
{
	put_le32(p, (uint32_t)v);
	put_le32(p + 4, (uint32_t)(v >> 32));
}

/*
 * A growing buffer. An allocation that fails sets `failed` and drops what was to be added, so that a
 * sequence of adds is checked once at its end.
 */
struct bytes {
	uint8_t *data;
	size_t len, room;
	int failed;
};

/* Room for `n` more bytes, counted as used; NULL (and failed) without memory. */
uint8_t *bytes_grow(struct bytes *b, size_t n);
void bytes_add(struct bytes *b, const void *data, size_t n);
void bytes_add_u8(struct bytes *b, uint8_t v);
void bytes_add_le16(struct bytes *b, uint16_t v);
void bytes_add_le32(struct bytes *b, uint32_t v);
void bytes_add_le64(struct bytes *b, uint64_t v);
/* Empty it, keeping the memory. */
void bytes_reset(struct bytes *b);
void bytes_free(struct bytes *b);

#endif
