// SPDX-License-Identifier: Apache-2.0
#include "tests/tools/attacks_remake.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/sign_as.h"

void attack_identity(struct identity *id)
{
	uint8_t seed[crypto_sign_SEEDBYTES];

	memset(seed, 0xa7, sizeof(seed));
	crypto_sign_seed_keypair(id->public_key, id->secret_key, seed);
	memcpy(id->keynum,
	       "\x01"
	       "ATTACKE",
	       KEYNUM_BYTES);
}

void attack_session_key(uint64_t epoch, uint8_t public_key[PUBLIC_KEY_BYTES], uint8_t secret_key[SECRET_KEY_BYTES])
{
	uint8_t seed[crypto_sign_SEEDBYTES] = {0xa7};

	put_le64(seed + 1, epoch);
	crypto_sign_seed_keypair(public_key, secret_key, seed);
}

/* The key of one whom nobody trusts. */
static void stranger_identity(struct identity *id)
{
	uint8_t seed[crypto_sign_SEEDBYTES];

	memset(seed, 0x57, sizeof(seed));
	crypto_sign_seed_keypair(id->public_key, id->secret_key, seed);
	memcpy(id->keynum, "STRANGER", KEYNUM_BYTES);
}

static void session_key(const struct remake *m, uint64_t epoch, uint8_t public_key[PUBLIC_KEY_BYTES],
			uint8_t secret_key[SECRET_KEY_BYTES])
{
	attack_session_key(m->stranger ? ~epoch : epoch, public_key, secret_key);
}

static int no_memory(struct fault *why)
{
	return fault_set(why, ERR_MEMORY, FAULT_NOWHERE, "no memory for the attack");
}

static int load_frames(struct remake *m, const uint8_t *bytes, struct fault *why)
{
	m->frames = calloc(m->nepochs ? m->nepochs : 1, sizeof(*m->frames));
	if (!m->frames)
		return no_memory(why);
	for (uint64_t e = 0; e < m->nepochs; e++) {
		const struct epoch *epoch = &m->epochs[e];

		m->frames[e] = calloc(epoch->nchunks ? epoch->nchunks : 1, sizeof(**m->frames));
		if (!m->frames[e])
			return no_memory(why);
		for (uint32_t c = 0; c < epoch->nchunks; c++)
			if (!epoch->chunks[c].withheld)
				bytes_add(&m->frames[e][c],
					  bytes + epoch->chunks[c].offset + FRAME_HEAD_BYTES + CHUNK_BYTES,
					  epoch->chunks[c].packed_bytes);
	}
	return 0;
}

int remake_load(struct remake *m, const uint8_t *bytes, size_t len, struct fault *why)
{
	struct source src;
	struct reader r;

	memset(m, 0, sizeof(*m));
	source_open_memory(&src, bytes, len);
	if (reader_open(&r, &src, why) < 0 || r.tail == TAIL_BROKEN) {
		memset(m, 0, sizeof(*m));
		return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "an attack begins with an authentic capture");
	}
	m->header = r.header;
	m->epochs = r.epochs;
	m->nepochs = r.nepochs;
	m->end = r.end;
	m->has_end = r.tail == TAIL_END;
	bytes_add(&m->original, bytes, EMPTY_FRAME_BYTES + FRAME_HEAD_BYTES + get_le32(bytes + EMPTY_FRAME_BYTES + 4));
	return load_frames(m, bytes, why); /* the reader's tables are ours now */
}

void remake_clear(struct remake *m)
{
	for (uint64_t e = 0; e < m->nepochs; e++) {
		for (uint32_t c = 0; m->frames && m->frames[e] && c < m->epochs[e].nchunks; c++)
			bytes_free(&m->frames[e][c]);
		if (m->frames)
			free(m->frames[e]);
		epoch_clear(&m->epochs[e]);
	}
	free(m->frames);
	free(m->epochs);
	end_clear(&m->end);
	header_clear(&m->header);
	bytes_free(&m->original);
	memset(m, 0, sizeof(*m));
}

int remake_raw(const struct remake *m, uint64_t epoch, uint32_t chunk, struct bytes *raw, struct fault *why)
{
	const struct chunk *c = &m->epochs[epoch].chunks[chunk];
	const struct bytes *frame = &m->frames[epoch][chunk];

	bytes_reset(raw);
	if (!bytes_grow(raw, c->raw_bytes))
		return no_memory(why);
	return unpack_frame(raw->data, raw->len, frame->data, frame->len, 0, why);
}

void remake_set_frame(struct remake *m, uint64_t epoch, uint32_t chunk, struct bytes *frame)
{
	struct chunk *c = &m->epochs[epoch].chunks[chunk];

	if (frame != &m->frames[epoch][chunk]) {
		bytes_free(&m->frames[epoch][chunk]);
		m->frames[epoch][chunk] = *frame;
		*frame = (struct bytes){0};
	}
	frame = &m->frames[epoch][chunk];
	c->packed_bytes = (uint32_t)frame->len;
	crypt_commit(c->commitment, m->header.capture_id, epoch, chunk, c->salt, frame->data, frame->len);
}

int remake_set_raw(struct remake *m, uint64_t epoch, uint32_t chunk, const struct bytes *raw, struct fault *why)
{
	struct bytes frame = {0};
	int r = pack_frame(&frame, raw->data, raw->len, why);

	if (r < 0)
		return r;
	m->epochs[epoch].chunks[chunk].raw_bytes = (uint32_t)raw->len;
	remake_set_frame(m, epoch, chunk, &frame);
	return 0;
}

struct chunk *remake_add_chunk(struct remake *m, uint64_t epoch)
{
	struct epoch *e = &m->epochs[epoch];
	struct chunk *chunks = realloc(e->chunks, (e->nchunks + 1) * sizeof(*chunks));
	struct bytes *frames;

	if (!chunks)
		return NULL;
	e->chunks = chunks;
	frames = realloc(m->frames[epoch], (e->nchunks + 1) * sizeof(*frames));
	if (!frames)
		return NULL;
	m->frames[epoch] = frames;
	frames[e->nchunks] = (struct bytes){0};
	chunks[e->nchunks] = (struct chunk){0};
	return &chunks[e->nchunks++];
}

static int add_count(struct kind_count **counts, uint32_t *n, uint16_t kind, uint64_t more)
{
	struct kind_count *grown;
	uint32_t i = 0;

	while (i < *n && (*counts)[i].kind < kind)
		i++;
	if (i < *n && (*counts)[i].kind == kind) {
		(*counts)[i].count += more;
		return 0;
	}
	grown = realloc(*counts, (*n + 1) * sizeof(*grown));
	if (!grown)
		return ERR_MEMORY;
	*counts = grown;
	memmove(grown + i + 1, grown + i, (*n - i) * sizeof(*grown));
	grown[i] = (struct kind_count){kind, more};
	++*n;
	return 0;
}

int remake_add_count(struct remake *m, uint64_t epoch, uint16_t kind, uint64_t n)
{
	struct epoch *e = &m->epochs[epoch];
	int r = add_count(&e->counts, &e->ncounts, kind, n);

	return r < 0 || !m->has_end ? r : add_count(&m->end.totals, &m->end.ntotals, kind, n);
}

int remake_pick(const struct remake *m, struct attempt *a, uint8_t class, uint64_t *epoch, uint32_t *chunk,
		struct fault *why)
{
	uint64_t n = 0, nth;

	for (int pass = 0; pass < 2; pass++) {
		nth = pass ? attack_pick(a, n) : UINT64_MAX;
		for (uint64_t e = 0; e < m->nepochs; e++)
			for (uint32_t c = 0; c < m->epochs[e].nchunks; c++) {
				if (m->epochs[e].chunks[c].withheld || (class && m->epochs[e].chunks[c].class != class))
					continue;
				if (pass == 0) {
					n++;
				} else if (nth-- == 0) {
					*epoch = e;
					*chunk = c;
					return 0;
				}
			}
		if (n == 0)
			break;
	}
	return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "the capture has no such chunk");
}

static void put_number(uint8_t *p, uint32_t width, uint64_t value)
{
	for (uint32_t i = 0; i < width; i++)
		p[i] = (uint8_t)(value >> (8 * i));
}

/* Patch what was encoded at `start`, hash and sign it. */
static void finish(struct remake *m, struct bytes *out, size_t start, enum remake_part part, uint64_t epoch,
		   const char *domain, uint8_t *hash, const uint8_t *secret_key)
{
	uint8_t *payload = out->data + start + FRAME_HEAD_BYTES;
	size_t len = out->len - start - FRAME_HEAD_BYTES - SIGNATURE_BYTES;

	if (m->patch.part == part && (part != PART_SEAL || m->patch.epoch == epoch) &&
	    m->patch.at + m->patch.width <= len)
		put_number(payload + m->patch.at, m->patch.width, m->patch.value);
	crypt_hash(hash, domain, payload, len);
	sign_as(m->header.incompatible, payload + len, domain, hash, secret_key);
}

static int write_header(struct remake *m, struct bytes *out, struct fault *why)
{
	struct identity id;
	uint8_t unused[SECRET_KEY_BYTES], *schema = NULL;
	size_t schema_len = 0, start;

	if (m->keep_header) {
		bytes_add(out, m->original.data, m->original.len);
		return out->failed ? no_memory(why) : 0;
	}
	if (m->stranger)
		stranger_identity(&id);
	else
		attack_identity(&id);
	if (!m->keep_identity) {
		memcpy(m->header.identity, id.public_key, PUBLIC_KEY_BYTES);
		memcpy(m->header.keynum, id.keynum, KEYNUM_BYTES);
	}
	session_key(m, 0, m->header.first_key, unused);
	if (schema_encode(&m->header.schema, &schema, &schema_len, why) < 0)
		return why->code;
	bytes_add(out, empty_frame, EMPTY_FRAME_BYTES);
	start = out->len;
	header_encode(out, &m->header, schema, schema_len);
	free(schema);
	if (out->failed)
		return no_memory(why);
	finish(m, out, start, PART_HEADER, 0, domain_header, m->header.hash, id.secret_key);
	return 0;
}

static void write_chunks(const struct remake *m, uint64_t e, struct bytes *out)
{
	for (uint32_t c = 0; c < m->epochs[e].nchunks; c++) {
		const struct chunk *chunk = &m->epochs[e].chunks[c];
		const struct bytes *frame = &m->frames[e][c];

		bytes_add_le32(out, chunk->withheld ? MAGIC_WITHHELD : MAGIC_CHUNK);
		bytes_add_le32(out, chunk->withheld ? 0 : CHUNK_BYTES);
		if (chunk->withheld)
			continue;
		bytes_add_le32(out, (uint32_t)frame->len);
		bytes_add(out, chunk->salt, SALT_BYTES);
		bytes_add(out, frame->data, frame->len);
	}
}

int remake_write(struct remake *m, struct bytes *out, struct fault *why)
{
	uint8_t secret_key[SECRET_KEY_BYTES], unused[SECRET_KEY_BYTES];
	const uint8_t *previous = m->header.hash;
	int r = write_header(m, out, why);
	size_t start;

	for (uint64_t e = 0; e < m->nepochs && r == 0; e++) {
		struct epoch *epoch = &m->epochs[e];

		write_chunks(m, e, out);
		memcpy(epoch->previous, previous, HASH_BYTES);
		session_key(m, e + 1, epoch->next_key, unused);
		start = out->len;
		seal_encode(out, epoch);
		if (out->failed)
			return no_memory(why);
		session_key(m, e, unused, secret_key);
		finish(m, out, start, PART_SEAL, e, domain_seal, epoch->hash, secret_key);
		previous = epoch->hash;
	}
	if (r < 0 || !m->has_end)
		return r;
	memcpy(m->end.last_seal, previous, HASH_BYTES);
	start = out->len;
	end_encode(out, &m->end);
	if (out->failed)
		return no_memory(why);
	session_key(m, m->nepochs, unused, secret_key);
	finish(m, out, start, PART_END, 0, domain_end, m->end.hash, secret_key);
	return 0;
}
