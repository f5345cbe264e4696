/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The payloads of HEADER, SEAL and END, as they are parsed before any signature is inspected. The first byte says
 * which. What parses must come out of the encoder as the same bytes: one meaning, one form.
 */
#include <stdarg.h>

#include "tests/unit/sample.h"

#include "format/frames.h"
#include "tests/fuzz/fuzz.h"

/* The encoder leaves room for the signature, which is the payload's last field. */
static void must_equal(const struct bytes *out, const uint8_t *payload, size_t n)
{
	MUST(!out->failed && out->len >= FRAME_HEAD_BYTES && n >= SIGNATURE_BYTES);
	MUST(out->len - FRAME_HEAD_BYTES == n);
	MUST(memcmp(out->data + FRAME_HEAD_BYTES, payload, n - SIGNATURE_BYTES) == 0);
}

static void try_header(const uint8_t *payload, size_t n)
{
	struct bytes out = {.failed = 0};
	uint8_t *schema = NULL;
	size_t schema_len = 0;
	struct fault why;
	struct header h;

	if (header_parse(&h, payload, n, 0, &why) < 0)
		return;
	MUST(schema_encode(&h.schema, &schema, &schema_len, &why) == 0);
	header_encode(&out, &h, schema, schema_len);
	must_equal(&out, payload, n);
	free(schema);
	bytes_free(&out);
	header_clear(&h);
}

static void try_seal(const uint8_t *payload, size_t n)
{
	struct bytes out = {.failed = 0};
	struct fault why;
	struct epoch e;

	if (seal_parse(&e, payload, n, 0, n % 2, 0, &why) < 0)
		return;
	seal_encode(&out, &e);
	must_equal(&out, payload, n);
	bytes_free(&out);
	epoch_clear(&e);
}

static void try_end(const uint8_t *payload, size_t n)
{
	struct bytes out = {.failed = 0};
	struct fault why;
	struct end e;

	if (end_parse(&e, payload, n, 0, 0, &why) < 0)
		return;
	end_encode(&out, &e);
	must_equal(&out, payload, n);
	bytes_free(&out);
	end_clear(&e);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	if (n == 0)
		return 0;
	switch (bytes[0] % 3) {
	case 0:
		try_header(bytes + 1, n - 1);
		break;
	case 1:
		try_seal(bytes + 1, n - 1);
		break;
	default:
		try_end(bytes + 1, n - 1);
	}
	return 0;
}

/* A header with all extensions that there are, and one of a later version. */
static void give_extended(void (*give)(void *arg, const uint8_t *bytes, size_t n), void *arg)
{
	uint8_t later[] = {0x70, 1, 2, 0, 'h', 'i'};
	struct header h = {.major = FORMAT_MAJOR,
			   .incompatible = FEATURE_CONTINUES | FEATURE_EXTENSIONS | FEATURE_PREHASHED,
			   .series_number = 2,
			   .challenge_bytes = 3,
			   .second = {.algorithm = 9, .header_bytes = 5, .name = "later"},
			   .appendix = (uint8_t[]){1, 2, 3, 4, 5},
			   .later = later,
			   .later_bytes = sizeof(later),
			   .nlater = 1};
	struct bytes out = {.failed = 0};
	uint8_t *schema = NULL;
	size_t schema_len = 0;
	struct fault why;

	MUST(schema_build(&h.schema, sample_probes, SAMPLE_NPROBES, &why) == 0);
	MUST(schema_encode(&h.schema, &schema, &schema_len, &why) == 0);
	header_encode(&out, &h, schema, schema_len);
	MUST(!out.failed);
	out.data[FRAME_HEAD_BYTES - 1] = 0;
	give(arg, out.data + FRAME_HEAD_BYTES - 1, out.len - FRAME_HEAD_BYTES + 1);
	free(schema);
	schema_clear(&h.schema);
	bytes_free(&out);
}

/* The frames of a real capture, each with the byte that names it. */
unsigned fuzz_seeds(void (*give)(void *arg, const uint8_t *bytes, size_t n), void *arg)
{
	struct memory_sink m = {.fail_at = 0};
	size_t at = EMPTY_FRAME_BYTES;
	unsigned n = 1;

	give_extended(give, arg);
	MUST(sample_write(&m, 2, true) == 0);
	while (at + FRAME_HEAD_BYTES <= m.bytes.len) {
		uint32_t magic = get_le32(m.bytes.data + at), len = get_le32(m.bytes.data + at + 4);
		uint8_t *payload = m.bytes.data + at + FRAME_HEAD_BYTES;
		static const uint32_t magics[] = {MAGIC_HEADER, MAGIC_SEAL, MAGIC_END};

		for (uint8_t k = 0; k < 3; k++) {
			if (magic != magics[k])
				continue;
			payload[-1] = k; /* over the length, which is not needed any more */
			give(arg, payload - 1, (size_t)len + 1);
			n++;
		}
		at += FRAME_HEAD_BYTES + len;
		if (magic == MAGIC_CHUNK)
			at += get_le32(payload + CHUNK_AT_PACKED_BYTES);
	}
	bytes_free(&m.bytes);
	return n;
}
