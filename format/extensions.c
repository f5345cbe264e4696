/* SPDX-License-Identifier: Apache-2.0 */
#include "format/extensions.h"

#include <stdlib.h>
#include <string.h>

#define SERIES_BYTES (SERIES_ID_BYTES + 8)

static bool has_series(const struct header *h)
{
	return h->series_number != 0;
}

static size_t series_bytes(const struct header *h)
{
	return SERIES_BYTES + (h->incompatible & FEATURE_CONTINUES ? HASH_BYTES : 0);
}

static void series_encode(struct bytes *out, const struct header *h)
{
	bytes_add(out, h->series, SERIES_ID_BYTES);
	bytes_add_le64(out, h->series_number);
	if (h->incompatible & FEATURE_CONTINUES)
		bytes_add(out, h->previous_end, HASH_BYTES);
}

static int series_parse(struct header *h, const uint8_t *value, size_t n, uint64_t at, struct fault *why)
{
	bool continues = h->incompatible & FEATURE_CONTINUES;

	if (n != series_bytes(h))
		return fault_set(why, ERR_FORMAT, at, "a header's series takes %zu bytes, must be %zu", n,
				 series_bytes(h));
	memcpy(h->series, value, SERIES_ID_BYTES);
	h->series_number = get_le64(value + SERIES_ID_BYTES);
	if (continues)
		memcpy(h->previous_end, value + SERIES_BYTES, HASH_BYTES);
	if (h->series_number == 0 || (h->series_number > 1) != continues)
		return fault_set(why, ERR_FORMAT, at, "capture %llu of a series %s another one",
				 (unsigned long long)h->series_number, continues ? "continues" : "does not continue");
	return 0;
}

static bool has_challenge(const struct header *h)
{
	return h->challenge_bytes != 0;
}

static size_t challenge_bytes(const struct header *h)
{
	return h->challenge_bytes;
}

static void challenge_encode(struct bytes *out, const struct header *h)
{
	bytes_add(out, h->challenge, h->challenge_bytes);
}

static int challenge_parse(struct header *h, const uint8_t *value, size_t n, uint64_t at, struct fault *why)
{
	if (n == 0 || n > CHALLENGE_BYTES_MAX)
		return fault_set(why, ERR_FORMAT, at, "a header's challenge takes %zu bytes, must be 1 to %d", n,
				 CHALLENGE_BYTES_MAX);
	memcpy(h->challenge, value, n);
	h->challenge_bytes = n;
	return 0;
}

#define SECOND_BYTES 15 /* without the name */

static bool has_second(const struct header *h)
{
	return h->second.algorithm != 0;
}

static size_t second_bytes(const struct header *h)
{
	return SECOND_BYTES + strlen(h->second.name);
}

static void second_encode(struct bytes *out, const struct header *h)
{
	size_t n = strlen(h->second.name);

	bytes_add_le16(out, h->second.algorithm);
	bytes_add_le32(out, h->second.header_bytes);
	bytes_add_le32(out, h->second.seal_bytes);
	bytes_add_le32(out, h->second.end_bytes);
	bytes_add_u8(out, (uint8_t)n);
	bytes_add(out, h->second.name, n);
}

static int second_parse(struct header *h, const uint8_t *value, size_t n, uint64_t at, struct fault *why)
{
	struct second_signature s = {0};

	if (n <= SECOND_BYTES || n - SECOND_BYTES > NAME_MAX_BYTES || value[SECOND_BYTES - 1] != n - SECOND_BYTES)
		return fault_set(why, ERR_FORMAT, at, "a header's second signature is cut or has no name");
	s.algorithm = get_le16(value);
	s.header_bytes = get_le32(value + 2);
	s.seal_bytes = get_le32(value + 6);
	s.end_bytes = get_le32(value + 10);
	memcpy(s.name, value + SECOND_BYTES, n - SECOND_BYTES);
	if (s.algorithm == 0 || s.header_bytes > APPENDIX_BYTES_MAX || s.seal_bytes > APPENDIX_BYTES_MAX ||
	    s.end_bytes > APPENDIX_BYTES_MAX || !(s.header_bytes | s.seal_bytes | s.end_bytes))
		return fault_set(why, ERR_FORMAT, at, "a header's second signature is invalid or out of bounds");
	if (!schema_name_valid(s.name, n - SECOND_BYTES))
		return fault_set(why, ERR_FORMAT, at, "a header's second signature has an invalid name");
	h->second = s;
	return 0;
}

/* By type, ascending. */
static const struct {
	uint16_t type;
	bool (*has)(const struct header *h);
	size_t (*bytes)(const struct header *h);
	void (*encode)(struct bytes *out, const struct header *h);
	int (*parse)(struct header *h, const uint8_t *value, size_t n, uint64_t at, struct fault *why);
} known[] = {
	{EXTENSION_SERIES, has_series, series_bytes, series_encode, series_parse},
	{EXTENSION_CHALLENGE, has_challenge, challenge_bytes, challenge_encode, challenge_parse},
	{EXTENSION_SECOND, has_second, second_bytes, second_encode, second_parse},
};
#define NKNOWN (sizeof(known) / sizeof(known[0]))

static unsigned count(const struct header *h)
{
	unsigned n = h->nlater;

	for (size_t i = 0; i < NKNOWN; i++)
		n += known[i].has(h);
	return n;
}

bool extensions_any(const struct header *h)
{
	return count(h) > 0;
}

void extensions_encode(struct bytes *out, const struct header *h)
{
	bytes_add_u8(out, (uint8_t)count(h));
	for (size_t i = 0; i < NKNOWN; i++) {
		if (!known[i].has(h))
			continue;
		bytes_add_le16(out, known[i].type);
		bytes_add_le16(out, (uint16_t)known[i].bytes(h));
		known[i].encode(out, h);
	}
	bytes_add(out, h->later, h->later_bytes); /* of higher types than all that are known */
}

/* One that this build does not know: kept as it is. */
static int later_parse(struct header *h, uint16_t type, const uint8_t *extension, size_t n, uint64_t at,
		       struct fault *why)
{
	uint8_t *more;

	if (type >= EXTENSION_INCOMPATIBLE)
		return fault_set(why, ERR_VERSION, at, "needs a feature that this build does not know (extension %u)",
				 type);
	more = realloc(h->later, h->later_bytes + n);
	if (!more)
		return fault_no_memory(why);
	memcpy(more + h->later_bytes, extension, n);
	h->later = more;
	h->later_bytes += n;
	h->nlater++;
	return 0;
}

static int extension_parse(struct header *h, uint16_t type, const uint8_t *extension, size_t n, uint64_t at,
			   struct fault *why)
{
	for (size_t i = 0; i < NKNOWN; i++)
		if (known[i].type == type)
			return known[i].parse(h, extension + EXTENSION_HEAD_BYTES, n - EXTENSION_HEAD_BYTES, at, why);
	return later_parse(h, type, extension, n, at, why);
}

int64_t extensions_parse(struct header *h, const uint8_t *bytes, size_t n, uint64_t at, struct fault *why)
{
	size_t pos = 1;
	uint16_t before = 0;
	int r = 0;

	if (n < 1 || bytes[0] == 0 || bytes[0] > EXTENSIONS_MAX)
		return fault_set(why, ERR_FORMAT, at, "the number of extensions in the header is not from 1 to %u",
				 EXTENSIONS_MAX);
	for (unsigned i = 0; i < bytes[0] && r == 0; i++) {
		size_t left = n - pos, whole;
		uint16_t type;

		whole = left < EXTENSION_HEAD_BYTES ? SIZE_MAX
						    : EXTENSION_HEAD_BYTES + (size_t)get_le16(bytes + pos + 2);
		if (whole > left) {
			r = fault_set(why, ERR_FORMAT, at + pos, "the header is cut inside its extensions");
			break;
		}
		type = get_le16(bytes + pos);
		if (type <= before)
			r = fault_set(why, ERR_FORMAT, at + pos, "the header's extensions are out of order");
		else
			r = extension_parse(h, type, bytes + pos, whole, at + pos, why);
		before = type;
		pos += whole;
	}
	if (r == 0)
		return (int64_t)pos;
	free(h->later);
	h->later = NULL;
	return r;
}
