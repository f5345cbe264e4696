/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A chunk's content behind a good seal: whatever the bytes are, they are packed, committed to, sealed and signed, so
 * that every check behind the hashes is reached.
 *
 *	0 1 class   1 2 rows claimed   3 8 first_ns   11 8 last_ns   19 content
 */
#include <stdarg.h>

#include "tests/unit/sample.h"

#include "format/chunk.h"
#include "format/pack.h"
#include "format/frames.h"
#include "tests/fuzz/fuzz.h"

#define CONTENT_AT 19

static void sign_last(struct bytes *out, const char domain[DOMAIN_BYTES], const uint8_t hash[HASH_BYTES],
		      const uint8_t secret[SECRET_KEY_BYTES])
{
	crypt_sign(out->data + out->len - SIGNATURE_BYTES, domain, hash, secret);
}

/* Empty frame and HEADER, as the sample has them, with a first key that we hold. */
static void add_header(struct bytes *out, struct header *h, const struct identity *id, const struct identity *session)
{
	uint8_t *schema = NULL;
	size_t schema_len = 0;
	struct fault why;

	memset(h, 0, sizeof(*h));
	h->major = FORMAT_MAJOR;
	h->minor = FORMAT_MINOR;
	h->incompatible = FEATURE_PREHASHED;
	memset(h->capture_id, 7, sizeof(h->capture_id));
	memcpy(h->keynum, id->keynum, sizeof(h->keynum));
	memcpy(h->identity, id->public_key, sizeof(h->identity));
	memcpy(h->first_key, session->public_key, sizeof(h->first_key));
	h->start_boot_ns = SAMPLE_BOOT;
	h->start_wall_ns = SAMPLE_WALL;
	MUST(schema_build(&h->schema, sample_probes, SAMPLE_NPROBES, &why) == 0);
	MUST(schema_encode(&h->schema, &schema, &schema_len, &why) == 0);
	bytes_add(out, empty_frame, EMPTY_FRAME_BYTES);
	header_encode(out, h, schema, schema_len);
	sign_last(out, domain_header, h->hash, id->secret_key);
	free(schema);
	schema_clear(&h->schema);
}

static void add_chunk(struct bytes *out, struct epoch *e, const struct header *h, const uint8_t *bytes, size_t n)
{
	struct bytes packed = {.failed = 0};
	struct chunk *c = e->chunks;
	struct fault why;

	MUST(pack_frame(&packed, bytes + CONTENT_AT, n - CONTENT_AT, &why) == 0);
	c->class = bytes[0];
	c->nrows = get_le16(bytes + 1);
	c->first_ns = get_le64(bytes + 3);
	c->last_ns = get_le64(bytes + 11);
	c->raw_bytes = (uint32_t)(n - CONTENT_AT);
	c->packed_bytes = (uint32_t)packed.len;
	memset(c->salt, 9, sizeof(c->salt));
	crypt_commit(c->commitment, h->capture_id, 0, 0, c->salt, packed.data, packed.len);
	bytes_add_le32(out, MAGIC_CHUNK);
	bytes_add_le32(out, CHUNK_BYTES);
	bytes_add_le32(out, c->packed_bytes);
	bytes_add(out, c->salt, SALT_BYTES);
	bytes_add(out, packed.data, packed.len);
	bytes_free(&packed);
}

static void build(struct bytes *out, const uint8_t *bytes, size_t n)
{
	struct identity id = sample_identity(1), session = sample_identity(2), next = sample_identity(3);
	struct kind_count count = {KIND_launch, get_le16(bytes + 1)};
	struct chunk chunk = {0};
	struct epoch e = {.begin_ns = SAMPLE_BOOT,
			  .end_ns = SAMPLE_BOOT + SAMPLE_SECOND,
			  .anchor = sample_anchor(SAMPLE_BOOT + SAMPLE_SECOND),
			  .chunks = &chunk,
			  .nchunks = 1,
			  .counts = &count,
			  .ncounts = 1};
	struct end end = {.nepochs = 1, .anchor = e.anchor, .reason = REASON_duration, .totals = &count, .ntotals = 1};
	struct header h;

	add_header(out, &h, &id, &session);
	add_chunk(out, &e, &h, bytes, n);
	memcpy(e.capture_id, h.capture_id, CAPTURE_ID_BYTES);
	memcpy(end.capture_id, h.capture_id, CAPTURE_ID_BYTES);
	memcpy(e.previous, h.hash, HASH_BYTES);
	memcpy(e.next_key, next.public_key, PUBLIC_KEY_BYTES);
	seal_encode(out, &e);
	sign_last(out, domain_seal, e.hash, session.secret_key);
	memcpy(end.last_seal, e.hash, HASH_BYTES);
	end_encode(out, &end);
	sign_last(out, domain_end, end.hash, next.secret_key);
	MUST(!out->failed);
}

/* What decoded must encode to the same bytes again. */
static void must_be_canonical(const struct content *c, const struct chunk *chunk)
{
	struct bytes out = {.failed = 0};

	for (size_t i = 0; i < c->ngroups; i++) {
		const struct rows *g = &c->groups[i];

		bytes_add_le16(&out, g->kind->id);
		bytes_add_le32(&out, g->nrows);
		for (size_t f = 0; f < g->kind->nfields; f++) {
			size_t at = f * g->nrows;
			bool is_text = g->kind->fields[f].encoding == ENC_TEXT;

			column_encode(&out, g->kind->fields[f].encoding, g->v + at, g->nrows, chunk->first_ns);
			for (uint32_t row = 0; is_text && row < g->nrows; row++)
				bytes_add(&out, g->text[at + row], g->v[at + row]);
		}
	}
	MUST(out.data && !out.failed && out.len == c->raw.len);
	MUST(memcmp(out.data, c->raw.data, out.len) == 0);
	bytes_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	struct bytes capture = {.failed = 0};
	struct content content = {.ngroups = 0};
	struct verification v;
	struct source src;
	struct reader r;
	struct fault why;

	if (n <= CONTENT_AT || n > CONTENT_AT + CHUNK_RAW_MAX)
		return 0;
	build(&capture, bytes, n);
	source_open_memory(&src, capture.data, capture.len);
	MUST(reader_open(&r, &src, &why) == 0);
	verify(&r, 1, &v);
	MUST(v.verdict != VERDICT_FORGED && v.verdict != VERDICT_UNCHECKED);
	if (r.nepochs == 1) {
		int ret = content_load(&content, &r, &r.epochs[0], 0, true, &why);

		MUST(ret == 0 || ret == ERR_FORMAT || ret == ERR_MEMORY);
		MUST(ret == 0 || v.verdict == VERDICT_MALFORMED);
		if (ret == 0)
			must_be_canonical(&content, &r.epochs[0].chunks[0]);
	}
	content_free(&content);
	reader_close(&r);
	bytes_free(&capture);
	return 0;
}

/* The chunks of a real capture. */
unsigned fuzz_seeds(void (*give)(void *arg, const uint8_t *bytes, size_t n), void *arg)
{
	struct memory_sink m = {.fail_at = 0};
	struct content content = {.ngroups = 0};
	struct source src;
	struct reader r;
	struct fault why;
	unsigned n = 0;

	MUST(sample_write(&m, 1, true) == 0);
	source_open_memory(&src, m.bytes.data, m.bytes.len);
	MUST(reader_open(&r, &src, &why) == 0);
	for (uint32_t i = 0; i < r.epochs[0].nchunks; i++) {
		const struct chunk *c = &r.epochs[0].chunks[i];
		struct bytes seed = {.failed = 0};

		MUST(content_load(&content, &r, &r.epochs[0], i, true, &why) == 0);
		bytes_add_u8(&seed, c->class);
		bytes_add_le16(&seed, (uint16_t)c->nrows);
		bytes_add_le64(&seed, c->first_ns);
		bytes_add_le64(&seed, c->last_ns);
		bytes_add(&seed, content.raw.data, content.raw.len);
		give(arg, seed.data, seed.len);
		bytes_free(&seed);
		n++;
	}
	content_free(&content);
	reader_close(&r);
	bytes_free(&m.bytes);
	return n;
}
