/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A forger with the identity's key: takes a sample capture apart, lets a test change anything, then packs, commits,
 * chains and signs all of it again. So every check behind a hash is reached.
 */
#ifndef GPUREC_TESTS_FORGE_H
#define GPUREC_TESTS_FORGE_H

#include "tests/unit/sample.h"
#include "tests/unit/sign_as.h"

#include "format/chunk.h"
#include "format/layout.h"
#include "format/pack.h"
#include "format/frames.h"

#define FORGED_EPOCHS 2
#define FORGED_CHUNKS 4 /* of a sample's epoch: events, process, host; and one to spare */

struct forged {
	struct header header;
	struct epoch epochs[FORGED_EPOCHS];
	struct bytes raw[FORGED_EPOCHS][FORGED_CHUNKS];
	struct end end;
	struct bytes out;
	unsigned spoiled;          /* 1 + the epoch (or END) whose hash of what comes before is made wrong */
	uint64_t signed_otherwise; /* FEATURE_PREHASHED: not in the way that the header says */
	unsigned withheld;         /* 1 + the chunk of epoch 0 that is withheld */
};

/* When a change is made: before the chunks are packed, before the records are signed, or on all the bytes. */
enum moment { ON_CONTENT, ON_RECORDS, ON_BYTES };

/* One change and what has to be said about it. */
struct forgery {
	const char *name;
	enum moment moment;
	void (*change)(struct forged *f);
	enum verdict verdict;
	const char *says; /* words of the fault, so that it is the check meant here that refuses; NULL: any */
};

static inline void forge_load(struct forged *f)
{
	struct memory_sink m = {0};
	struct content *content = calloc(1, sizeof(*content));
	struct source src;
	struct reader r;
	struct fault why;

	assert_non_null(content);
	assert_int_equal(sample_write(&m, FORGED_EPOCHS, true), 0);
	source_open_memory(&src, m.bytes.data, m.bytes.len);
	assert_int_equal(reader_open(&r, &src, &why), 0);
	for (unsigned e = 0; e < FORGED_EPOCHS; e++) {
		assert_true(r.epochs[e].nchunks < FORGED_CHUNKS);
		for (uint32_t c = 0; c < r.epochs[e].nchunks; c++) {
			assert_int_equal(content_load(content, &r, &r.epochs[e], c, true, &why), 0);
			bytes_add(&f->raw[e][c], content->raw.data, content->raw.len);
		}
		f->epochs[e] = r.epochs[e];
		r.epochs[e] = (struct epoch){0}; /* its tables are ours now */
	}
	f->header = r.header;
	r.header = (struct header){0};
	f->end = r.end;
	r.end = (struct end){0};
	reader_close(&r);
	content_free(content);
	free(content);
	bytes_free(&m.bytes);
}

static inline void forge_clear(struct forged *f)
{
	for (unsigned e = 0; e < FORGED_EPOCHS; e++) {
		for (unsigned c = 0; c < FORGED_CHUNKS; c++)
			bytes_free(&f->raw[e][c]);
		epoch_clear(&f->epochs[e]);
	}
	header_clear(&f->header);
	end_clear(&f->end);
	bytes_free(&f->out);
}

static inline void forge_keypair(unsigned epoch, uint8_t *public_key, uint8_t *secret_key)
{
	uint8_t seed[crypto_sign_SEEDBYTES];

	memset(seed, (int)(100 + epoch), sizeof(seed));
	crypto_sign_seed_keypair(public_key, secret_key, seed);
}

static inline void forge_sign(struct forged *f, const char *domain, const uint8_t *hash, const uint8_t *secret_key)
{
	assert_false(f->out.failed);
	sign_as(f->header.incompatible ^ f->signed_otherwise, f->out.data + f->out.len - SIGNATURE_BYTES, domain, hash,
		secret_key);
}

static inline void forge_pack(struct forged *f, unsigned e, uint32_t c, struct bytes *frame)
{
	struct chunk *chunk = &f->epochs[e].chunks[c];
	struct fault why;

	assert_int_equal(pack_frame(frame, f->raw[e][c].data, f->raw[e][c].len, &why), 0);
	chunk->raw_bytes = (uint32_t)f->raw[e][c].len;
	chunk->packed_bytes = (uint32_t)frame->len;
	crypt_commit(chunk->commitment, f->header.capture_id, e, c, chunk->salt, frame->data, frame->len);
}

static inline void forge_put_chunks(struct forged *f, unsigned e, const struct bytes *frames)
{
	for (uint32_t c = 0; c < f->epochs[e].nchunks && c < FORGED_CHUNKS; c++) {
		if (e == 0 && f->withheld == 1 + c) {
			bytes_add_le32(&f->out, MAGIC_WITHHELD);
			bytes_add_le32(&f->out, 0);
			continue;
		}
		bytes_add_le32(&f->out, MAGIC_CHUNK);
		bytes_add_le32(&f->out, CHUNK_BYTES);
		bytes_add_le32(&f->out, (uint32_t)frames[c].len);
		bytes_add(&f->out, f->epochs[e].chunks[c].salt, SALT_BYTES);
		bytes_add(&f->out, frames[c].data, frames[c].len);
	}
}

/* All bytes anew into f->out, with the change applied at its moment. */
static inline void forge_write(struct forged *f, const struct forgery *forgery)
{
	struct identity id = sample_identity(1);
	struct bytes frames[FORGED_EPOCHS][FORGED_CHUNKS] = {0};
	uint8_t secret_key[SECRET_KEY_BYTES], previous[HASH_BYTES], unused[SECRET_KEY_BYTES];
	uint8_t *schema;
	size_t schema_len;
	struct fault why;

	if (forgery->moment == ON_CONTENT)
		forgery->change(f);
	for (unsigned e = 0; e < FORGED_EPOCHS; e++) {
		for (uint32_t c = 0; c < f->epochs[e].nchunks; c++)
			forge_pack(f, e, c, &frames[e][c]);
		forge_keypair(e + 1, f->epochs[e].next_key, unused);
	}
	forge_keypair(0, f->header.first_key, unused);
	if (forgery->moment == ON_RECORDS)
		forgery->change(f);
	assert_int_equal(schema_encode(&f->header.schema, &schema, &schema_len, &why), 0);
	bytes_add(&f->out, empty_frame, EMPTY_FRAME_BYTES);
	header_encode(&f->out, &f->header, schema, schema_len);
	free(schema);
	forge_sign(f, domain_header, f->header.hash, id.secret_key);
	memcpy(previous, f->header.hash, HASH_BYTES);
	for (unsigned e = 0; e < FORGED_EPOCHS; e++) {
		forge_put_chunks(f, e, frames[e]);
		memcpy(f->epochs[e].previous, previous, HASH_BYTES);
		f->epochs[e].previous[HASH_BYTES - 1] ^= f->spoiled == 1 + e;
		seal_encode(&f->out, &f->epochs[e]);
		forge_keypair(e, unused, secret_key);
		forge_sign(f, domain_seal, f->epochs[e].hash, secret_key);
		memcpy(previous, f->epochs[e].hash, HASH_BYTES);
		for (uint32_t c = 0; c < FORGED_CHUNKS; c++)
			bytes_free(&frames[e][c]);
	}
	memcpy(f->end.last_seal, previous, HASH_BYTES);
	f->end.last_seal[HASH_BYTES - 1] ^= f->spoiled == 1 + FORGED_EPOCHS;
	end_encode(&f->out, &f->end);
	forge_keypair(FORGED_EPOCHS, unused, secret_key);
	forge_sign(f, domain_end, f->end.hash, secret_key);
	if (forgery->moment == ON_BYTES)
		forgery->change(f);
}

#endif
