/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Captures that a fuzzer can change and that still pass every hash. A *loose* capture is a capture in which each chunk
 * stands unpacked: the 20 bytes of CHUNK report the number of raw bytes, which follow instead of an LZ4 frame. repair()
 * packs, commits, chains and signs whatever such bytes say, with keys of its own; all other fields stay as they are.
 */
#ifndef GPUREC_TESTS_FUZZ_REPAIR_H
#define GPUREC_TESTS_FUZZ_REPAIR_H

#include <stdarg.h>

#include "tests/unit/sample.h"
#include "tests/unit/sign_as.h"

#include "format/chunk.h"
#include "format/layout.h"
#include "format/pack.h"
#include "tests/fuzz/fuzz.h"

#define REPAIR_EPOCHS_MAX 16 /* later ones are left unsigned */
#define REPAIR_CHUNKS_MAX 64 /* of an epoch; later ones keep their entries */

struct repair {
	struct bytes *out;
	uint8_t capture_id[CAPTURE_ID_BYTES];
	uint8_t previous[HASH_BYTES];
	uint64_t features;       /* of the header */
	unsigned epoch, nchunks; /* chunks seen in the open epoch */
	struct {
		bool withheld; /* its entry stays */
		uint32_t raw_bytes, packed_bytes;
		uint8_t commitment[HASH_BYTES];
	} chunks[REPAIR_CHUNKS_MAX];
};

/* The key that seals an epoch; those behind the last are all the same. */
static inline const struct identity *repair_key(unsigned epoch)
{
	static struct identity keys[REPAIR_EPOCHS_MAX + 2];

	for (uint8_t i = 0; keys[0].keynum[0] == 0 && i < REPAIR_EPOCHS_MAX + 2; i++)
		keys[REPAIR_EPOCHS_MAX + 1 - i] = sample_identity((uint8_t)(100 + i));
	return &keys[epoch <= REPAIR_EPOCHS_MAX ? epoch : REPAIR_EPOCHS_MAX + 1];
}

/* Hash and sign a payload of `len` bytes that ends the output. */
static inline void repair_sign(struct repair *r, size_t len, const char *domain, const struct identity *key)
{
	uint8_t *payload = r->out->data + r->out->len - len;

	crypt_hash(r->previous, domain, payload, len - SIGNATURE_BYTES);
	sign_as(r->features, payload + len - SIGNATURE_BYTES, domain, r->previous, key->secret_key);
}

static inline void repair_header(struct repair *r, uint8_t *p, size_t len)
{
	struct identity id = sample_identity(1);

	if (len < HEADER_AT_SCHEMA + SIGNATURE_BYTES)
		return;
	memcpy(p + HEADER_AT_IDENTITY, id.public_key, PUBLIC_KEY_BYTES);
	memcpy(p + HEADER_AT_FIRST_KEY, repair_key(0)->public_key, PUBLIC_KEY_BYTES);
	memcpy(r->capture_id, p + HEADER_AT_CAPTURE_ID, CAPTURE_ID_BYTES);
	r->features = get_le64(p + HEADER_AT_INCOMPATIBLE);
	repair_sign(r, len, domain_header, &id);
}

static inline void repair_seal(struct repair *r, uint8_t *p, size_t len)
{
	uint32_t nchunks;

	if (len < SEAL_AT_TABLES + SIGNATURE_BYTES)
		return;
	memcpy(p + SEAL_AT_CAPTURE_ID, r->capture_id, CAPTURE_ID_BYTES);
	memcpy(p + SEAL_AT_PREVIOUS, r->previous, HASH_BYTES);
	memcpy(p + SEAL_AT_NEXT_KEY, repair_key(r->epoch + 1)->public_key, PUBLIC_KEY_BYTES);
	nchunks = get_le32(p + SEAL_AT_NCHUNKS);
	for (uint32_t i = 0; i < nchunks && i < r->nchunks; i++) {
		uint8_t *entry = p + SEAL_AT_TABLES + i * ENTRY_BYTES;

		if ((size_t)(entry - p) + ENTRY_BYTES + SIGNATURE_BYTES > len || r->chunks[i].withheld)
			continue;
		put_le32(entry + ENTRY_AT_RAW_BYTES, r->chunks[i].raw_bytes);
		put_le32(entry + ENTRY_AT_PACKED_BYTES, r->chunks[i].packed_bytes);
		memcpy(entry + ENTRY_AT_COMMITMENT, r->chunks[i].commitment, HASH_BYTES);
	}
	repair_sign(r, len, domain_seal, repair_key(r->epoch));
	r->epoch += r->epoch <= REPAIR_EPOCHS_MAX;
	r->nchunks = 0;
}

static inline void repair_end(struct repair *r, uint8_t *p, size_t len)
{
	if (len < END_AT_TABLES + SIGNATURE_BYTES)
		return;
	memcpy(p + END_AT_CAPTURE_ID, r->capture_id, CAPTURE_ID_BYTES);
	memcpy(p + END_AT_LAST_SEAL, r->previous, HASH_BYTES);
	repair_sign(r, len, domain_end, repair_key(r->epoch));
}

/* A chunk whose payload was just added, and its raw bytes. Returns how many of them it takes. */
static inline size_t repair_chunk(struct repair *r, const uint8_t *raw, size_t left)
{
	size_t payload = r->out->len - CHUNK_BYTES, start = r->out->len;
	size_t n = get_le32(r->out->data + payload);
	struct fault why;

	n = n < left ? n : left;
	MUST(pack_frame(r->out, raw, n, &why) == 0);
	put_le32(r->out->data + payload, (uint32_t)(r->out->len - start));
	if (r->nchunks < REPAIR_CHUNKS_MAX) {
		r->chunks[r->nchunks].withheld = false;
		r->chunks[r->nchunks].raw_bytes = (uint32_t)n;
		r->chunks[r->nchunks].packed_bytes = (uint32_t)(r->out->len - start);
		crypt_commit(r->chunks[r->nchunks].commitment, r->capture_id, r->epoch, r->nchunks,
			     r->out->data + payload + CHUNK_AT_SALT, r->out->data + start, r->out->len - start);
		r->nchunks++;
	}
	return n;
}

/* A capture out of a loose one. What is no whole frame is copied as it is. */
static inline void repair(struct bytes *out, const uint8_t *bytes, size_t n)
{
	struct repair r = {.out = out};
	size_t at = n < EMPTY_FRAME_BYTES ? n : EMPTY_FRAME_BYTES;

	bytes_add(out, empty_frame, EMPTY_FRAME_BYTES);
	while (n - at >= FRAME_HEAD_BYTES) {
		uint32_t magic = get_le32(bytes + at), len = get_le32(bytes + at + 4);

		if (len > n - at - FRAME_HEAD_BYTES)
			break;
		bytes_add(out, bytes + at, FRAME_HEAD_BYTES + len);
		at += FRAME_HEAD_BYTES + len;
		MUST(!out->failed);
		if (magic == MAGIC_HEADER)
			repair_header(&r, out->data + out->len - len, len);
		else if (magic == MAGIC_CHUNK && len == CHUNK_BYTES)
			at += repair_chunk(&r, bytes + at, n - at);
		else if (magic == MAGIC_WITHHELD && r.nchunks < REPAIR_CHUNKS_MAX)
			r.chunks[r.nchunks++].withheld = true;
		else if (magic == MAGIC_SEAL)
			repair_seal(&r, out->data + out->len - len, len);
		else if (magic == MAGIC_END)
			repair_end(&r, out->data + out->len - len, len);
	}
	bytes_add(out, bytes + at, n - at);
	MUST(!out->failed);
}

/* The other way: add the loose form of a capture that can be read. */
static inline void loosen(struct bytes *out, const uint8_t *bytes, size_t n)
{
	struct content content = {.ngroups = 0};
	struct source src;
	struct reader r;
	struct fault why;
	size_t at;

	source_open_memory(&src, bytes, n);
	MUST(reader_open(&r, &src, &why) == 0);
	at = EMPTY_FRAME_BYTES + FRAME_HEAD_BYTES + get_le32(bytes + EMPTY_FRAME_BYTES + 4);
	bytes_add(out, bytes, at);
	for (uint64_t i = 0; i < r.nepochs; i++) {
		const struct epoch *e = &r.epochs[i];
		size_t seal_bytes = FRAME_HEAD_BYTES + get_le32(bytes + e->seal_offset + 4);

		for (uint32_t c = 0; c < e->nchunks; c++) {
			uint64_t offset = e->chunks[c].offset;

			if (e->chunks[c].withheld) {
				bytes_add(out, bytes + offset, FRAME_HEAD_BYTES);
				continue;
			}
			MUST(content_load(&content, &r, e, c, true, &why) == 0);
			bytes_add(out, bytes + offset, FRAME_HEAD_BYTES);
			bytes_add_le32(out, (uint32_t)content.raw.len);
			bytes_add(out, e->chunks[c].salt, SALT_BYTES);
			bytes_add(out, content.raw.data, content.raw.len);
		}
		bytes_add(out, bytes + e->seal_offset, seal_bytes);
		at = (size_t)e->seal_offset + seal_bytes;
	}
	bytes_add(out, bytes + at, n - at);
	MUST(!out->failed);
	content_free(&content);
	reader_close(&r);
}

/* Loose samples, each behind `nhead` bytes of `head` that tell a target what to do. */
static inline unsigned repair_seeds(void (*give)(void *arg, const uint8_t *bytes, size_t n), void *arg,
				    const uint8_t *head, size_t nhead)
{
	static const struct {
		unsigned nepochs;
		bool end;
	} shapes[] = {{0, true}, {1, true}, {3, true}, {2, false}};
	unsigned i;

	for (i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		struct memory_sink m = {.fail_at = 0};
		struct bytes seed = {.failed = 0}, again = {.failed = 0};
		struct verification v;

		MUST(sample_write(&m, shapes[i].nepochs, shapes[i].end) == 0);
		bytes_add(&seed, head, nhead);
		loosen(&seed, m.bytes.data, m.bytes.len);
		/* A target that never gets behind the hashes would find nothing. */
		repair(&again, seed.data + nhead, seed.len - nhead);
		MUST(sample_verdict(again.data, again.len, &v) == (shapes[i].end ? VERDICT_OK : VERDICT_UNSEALED));
		MUST(v.nepochs == shapes[i].nepochs && again.len == m.bytes.len);
		give(arg, seed.data, seed.len);
		bytes_free(&seed);
		bytes_free(&again);
		bytes_free(&m.bytes);
	}
	return i;
}

static inline bool verdict_is_ok(enum verdict v)
{
	return v == VERDICT_OK || v == VERDICT_OK_SLICE || v == VERDICT_OK_REDACTED;
}

#endif
