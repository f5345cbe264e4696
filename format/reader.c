/* SPDX-License-Identifier: Apache-2.0 */
#include "format/reader.h"
#include "format/base/array.h"

#include <stdlib.h>
#include <string.h>

#include "format/crypt.h"
#include "format/frames.h"
#include "format/tail.h"

/* A frame whose head has been read. */
struct frame {
	uint64_t at;      /* of its head */
	uint64_t payload; /* of its payload */
	uint32_t magic;
	uint32_t size; /* of its payload */
	bool strange;  /* none of ours */
};

/* The least that a disk writes at once. */
#define SECTOR_BYTES 512u

#define CUT_BY_ZEROS "the file ends without an end record: from here on it is all zeros"

/* Chunks seen since the last seal. */
struct pending {
	struct chunk *chunks;
	uint32_t n;
	size_t room;
};

/* On the way from frame to frame. */
struct walk {
	uint64_t at; /* of the next frame */
	struct pending pending;
	uint64_t zeros_at; /* from here on the file is all zeros; its size: nowhere */
};

static int read_frame_head(const struct source *src, uint64_t at, struct frame *f, struct fault *why)
{
	uint8_t head[FRAME_HEAD_BYTES];
	int r = source_read(src, at, head, sizeof(head), why);

	if (r < 0)
		return r;
	*f = (struct frame){at, at + FRAME_HEAD_BYTES, get_le32(head), get_le32(head + 4), false};
	return 0;
}

/* The payload into *out (malloc), after its size has been bounded. */
static int read_payload(const struct source *src, const struct frame *f, uint32_t max, uint8_t **out, struct fault *why)
{
	uint8_t *buf;
	int r;

	if (f->size == 0 || f->size > max)
		return fault_set(why, ERR_FORMAT, f->at, "a frame claims %u bytes, limit %u", f->size, max);
	if (f->size > src->size - f->payload)
		return fault_set(why, ERR_CUT, f->at, "the file ends inside a frame of %u bytes", f->size);
	buf = malloc(f->size);
	if (!buf)
		return fault_no_memory(why);
	r = source_read(src, f->payload, buf, f->size, why);
	if (r < 0) {
		free(buf);
		return r;
	}
	*out = buf;
	return 0;
}

/* The first sector from which on the file is all zeros, if there is one. */
static uint64_t zero_sector(const struct walk *w)
{
	return (w->zeros_at + SECTOR_BYTES - 1) / SECTOR_BYTES * SECTOR_BYTES;
}

/* Whether a frame that is wrong was not written whole: such a sector is inside it. */
static bool ends_in_zeros(const struct reader *r, const struct walk *w, const struct frame *f)
{
	uint64_t end = f->payload + f->size;

	return zero_sector(w) < end && end <= r->source->size;
}

static bool header_is_signed(const struct header *h)
{
	return crypt_signed(h, h->signature, domain_header, h->hash, h->identity);
}

static int read_header(struct reader *r, struct walk *w, struct fault *why)
{
	uint8_t start[EMPTY_FRAME_BYTES];
	uint8_t *payload = NULL;
	struct frame f;
	int ret;

	if (r->source->size == 0)
		return fault_set(why, ERR_FORMAT, 0, "not a capture: the file is empty");
	if (r->source->size < EMPTY_FRAME_BYTES + FRAME_HEAD_BYTES)
		return fault_set(why, ERR_FORMAT, 0, "not a capture: too short to hold a header");
	ret = source_read(r->source, 0, start, sizeof(start), why);
	if (ret < 0)
		return ret;
	if (memcmp(start, empty_frame, sizeof(start)) != 0)
		return fault_set(why, ERR_FORMAT, 0, "not a capture: it does not begin as one");
	ret = read_frame_head(r->source, EMPTY_FRAME_BYTES, &f, why);
	if (ret < 0)
		return ret;
	if (f.magic != MAGIC_HEADER)
		return fault_set(why, ERR_FORMAT, f.at, "not a capture: the header is missing");
	ret = read_payload(r->source, &f, HEADER_BYTES_MAX, &payload, why);
	if (ret == ERR_CUT)
		return fault_set(why, ERR_FORMAT, f.at,
				 "the file ends inside its header: nothing in it can be checked");
	if (ret < 0)
		return ret;
	ret = header_parse(&r->header, payload, f.size, f.payload, why);
	free(payload);
	if (ends_in_zeros(r, w, &f) && (ret < 0 || !header_is_signed(&r->header))) {
		header_clear(&r->header);
		return fault_set(why, ERR_FORMAT, zero_sector(w),
				 "the file ends inside its header: from here on it is all zeros");
	}
	w->at = f.payload + f.size;
	return ret;
}

static int pending_add(struct pending *p, const struct chunk *c, struct fault *why)
{
	struct chunk *chunks;

	if (p->n == EPOCH_CHUNKS_MAX)
		return fault_set(why, ERR_FORMAT, c->offset, "an epoch has more than %u chunks", EPOCH_CHUNKS_MAX);
	chunks = array_grow(p->chunks, &p->room, p->n + 1, sizeof(*chunks));
	if (!chunks)
		return fault_no_memory(why);
	p->chunks = chunks;
	p->chunks[p->n++] = *c;
	return 0;
}

static int read_chunk(struct reader *r, const struct frame *f, struct walk *w, struct fault *why)
{
	struct chunk c = {.offset = f->at};
	uint8_t payload[CHUNK_BYTES];
	uint64_t lz4 = f->payload + CHUNK_BYTES;
	int ret;

	if (f->size != CHUNK_BYTES)
		return fault_set(why, ERR_FORMAT, f->at, "a chunk frame of %u bytes, must be %d", f->size, CHUNK_BYTES);
	ret = source_read(r->source, f->payload, payload, sizeof(payload), why);
	if (ret < 0)
		return ret;
	c.packed_bytes = get_le32(payload + CHUNK_AT_PACKED_BYTES);
	memcpy(c.salt, payload + CHUNK_AT_SALT, SALT_BYTES);
	if (c.packed_bytes == 0 || c.packed_bytes > CHUNK_PACKED_MAX)
		return fault_set(why, ERR_FORMAT, f->at, "a chunk claims %u packed bytes, limit %u", c.packed_bytes,
				 CHUNK_PACKED_MAX);
	if (c.packed_bytes > r->source->size - lz4)
		return fault_set(why, ERR_CUT, f->at, "the file ends inside a chunk");
	w->at = lz4 + c.packed_bytes;
	return pending_add(&w->pending, &c, why);
}

static int read_withheld(const struct frame *f, struct walk *w, struct fault *why)
{
	struct chunk c = {.offset = f->at, .withheld = true};

	if (f->size != 0)
		return fault_set(why, ERR_FORMAT, f->at, "a withheld chunk has %u bytes, must be 0", f->size);
	w->at = f->payload;
	return pending_add(&w->pending, &c, why);
}

/* Join what is in the file with what the seal lists. */
static int match_chunks(struct epoch *e, const struct pending *p, struct fault *why)
{
	if (e->nchunks != p->n)
		return fault_set(why, ERR_FORGED, e->seal_offset,
				 "the seal of epoch %llu lists %u chunks, %u precede it", (unsigned long long)e->number,
				 e->nchunks, p->n);
	for (uint32_t i = 0; i < p->n; i++) {
		const struct chunk *have = &p->chunks[i];
		struct chunk *c = &e->chunks[i];

		if (!have->withheld && have->packed_bytes != c->packed_bytes)
			return fault_set(why, ERR_FORGED, have->offset, "a chunk has %u packed bytes, its seal has %u",
					 have->packed_bytes, c->packed_bytes);
		c->offset = have->offset;
		c->withheld = have->withheld;
		memcpy(c->salt, have->salt, SALT_BYTES);
	}
	return 0;
}

static int epochs_room(struct reader *r, struct fault *why)
{
	uint64_t n = r->nepochs;
	struct epoch *grown;

	/* Room doubles at powers of two. */
	if (n & (n - 1))
		return 0;
	grown = realloc(r->epochs, (n ? 2 * n : 1) * sizeof(*grown));
	if (!grown)
		return fault_no_memory(why);
	r->epochs = grown;
	return 0;
}

/* The session key that signs what comes after the last epoch so far. */
static const uint8_t *next_key(const struct reader *r)
{
	return r->nepochs ? r->epochs[r->nepochs - 1].next_key : r->header.first_key;
}

/* Whether a SEAL or END of good form was cut all the same. Only for this is a signature looked at here. */
static bool is_torn(const struct reader *r, const struct walk *w, const struct frame *f, const uint8_t *signature,
		    const char *domain, const uint8_t *hash)
{
	return ends_in_zeros(r, w, f) && !crypt_signed(&r->header, signature, domain, hash, next_key(r));
}

static int read_seal(struct reader *r, const struct frame *f, struct walk *w, struct fault *why)
{
	uint64_t end = f->payload + f->size;
	uint8_t *payload = NULL;
	struct epoch e = {0};
	int ret = read_payload(r->source, f, SEAL_BYTES_MAX, &payload, why);

	if (ret < 0)
		return ret;
	ret = seal_parse(&e, payload, f->size, r->header.second.seal_bytes, r->header.incompatible & FEATURE_PARTS,
			 f->payload, why);
	free(payload);
	if (ret < 0)
		return ret;
	e.seal_offset = f->at;
	e.misnumbered = e.number != r->nepochs;
	e.number = r->nepochs; /* its place, whatever it says: readers of what did not verify count by it */
	ret = match_chunks(&e, &w->pending, why);
	if (ret == 0 && is_torn(r, w, f, e.signature, domain_seal, e.hash))
		ret = fault_set(why, ERR_CUT, zero_sector(w), CUT_BY_ZEROS);
	if (ret == 0)
		ret = epochs_room(r, why);
	if (ret < 0) {
		epoch_clear(&e);
		return ret;
	}
	r->epochs[r->nepochs++] = e;
	w->pending.n = 0;
	w->at = end;
	r->tail_offset = end;
	return 0;
}

static int read_end(struct reader *r, const struct frame *f, struct walk *w, struct fault *why)
{
	uint64_t end = f->payload + f->size;
	uint8_t *payload = NULL;
	struct end e = {0};
	int ret = read_payload(r->source, f, END_BYTES_MAX, &payload, why);

	if (ret < 0)
		return ret;
	ret = end_parse(&e, payload, f->size, r->header.second.end_bytes, f->payload, why);
	free(payload);
	if (ret < 0)
		return ret;
	e.offset = f->at;
	if (w->pending.n != 0)
		ret = fault_set(why, ERR_FORMAT, f->at, "chunks without a seal precede the end record");
	else if (w->zeros_at > end)
		ret = fault_set(why, ERR_FORMAT, end, "%llu bytes follow the end record, and not only zeros",
				(unsigned long long)(r->source->size - end));
	else if (is_torn(r, w, f, e.signature, domain_end, e.hash))
		ret = fault_set(why, ERR_CUT, zero_sector(w), CUT_BY_ZEROS);
	if (ret < 0) {
		end_clear(&e);
		return ret;
	}
	r->end = e;
	r->tail = TAIL_END;
	r->tail_offset = end;
	return 0;
}

/* One frame: 1 when there may be more, 0 after END, or an error. */
static int read_frame(struct reader *r, struct walk *w, struct frame *f, struct fault *why)
{
	int ret;

	*f = (struct frame){.at = w->at, .payload = w->at};
	if (r->source->size - w->at < FRAME_HEAD_BYTES)
		return fault_set(why, ERR_CUT, w->at, "the file ends without an end record");
	ret = read_frame_head(r->source, w->at, f, why);
	if (ret < 0)
		return ret;
	switch (f->magic) {
	case MAGIC_CHUNK:
		ret = read_chunk(r, f, w, why);
		break;
	case MAGIC_WITHHELD:
		ret = read_withheld(f, w, why);
		break;
	case MAGIC_SEAL:
		ret = read_seal(r, f, w, why);
		break;
	case MAGIC_END:
		return read_end(r, f, w, why);
	default:
		f->size = 0; /* it is not one of ours, nor is this a length */
		f->strange = true;
		return fault_set(why, ERR_FORMAT, f->at, "an unknown frame (magic %08x)", f->magic);
	}
	return ret < 0 ? ret : 1;
}

/*
 * A frame could not be read: whether the capture is cut there, and the rest of the file is no part of it. *said is what
 * was wrong with the frame, and becomes what is wrong with the file. ERR_IO or ERR_MEMORY, or 0.
 */
static int find_cut(const struct reader *r, const struct walk *w, const struct frame *f, struct fault *said)
{
	bool is_seal = f->magic == MAGIC_SEAL || f->magic == MAGIC_END;
	struct fault cut = *said, why;
	uint64_t more = 0;
	int found;

	if (f->strange && w->zeros_at <= f->at)
		fault_set(&cut, ERR_CUT, f->at, CUT_BY_ZEROS);
	else if (f->strange)
		fault_set(&cut, ERR_CUT, f->at,
			  "the file ends without an end record: what comes here is no part of it");
	else if (said->code != ERR_CUT && ends_in_zeros(r, w, f))
		fault_set(&cut, ERR_CUT, zero_sector(w), CUT_BY_ZEROS);
	if (cut.code != ERR_CUT)
		return 0;
	found = tail_find_id(r->source, r->header.capture_id, r->tail_offset, is_seal ? f->payload : UINT64_MAX, &more,
			     &why);
	if (found < 0)
		return fault_set(said, why.code, why.offset, "%s", why.text);
	if (!found)
		*said = cut;
	else if (said->code == ERR_CUT)
		fault_set(said, ERR_FORMAT, cut.offset, "%.160s, but its capture goes on at byte %llu", cut.text,
			  (unsigned long long)more);
	return 0;
}

/* All frames behind the header. What is wrong with the last one is in *said; ERR_IO, ERR_MEMORY, or 0. */
static int read_frames(struct reader *r, struct walk *w, struct fault *said)
{
	struct frame f = {0};
	int ret;

	do
		ret = read_frame(r, w, &f, said);
	while (ret > 0);
	if (ret < 0 && ret != ERR_IO && ret != ERR_MEMORY)
		ret = find_cut(r, w, &f, said);
	free(w->pending.chunks);
	return ret;
}

int reader_open(struct reader *r, struct source *source, struct fault *why)
{
	struct reader out = {.source = source, .tail = TAIL_BROKEN};
	struct walk w = {0};
	struct fault said = {0};
	int ret = tail_zeros(source, &w.zeros_at, why);

	if (ret == 0)
		ret = read_header(&out, &w, why);
	if (ret < 0)
		return ret;
	out.tail_offset = w.at;
	ret = read_frames(&out, &w, &said);
	if (ret < 0) {
		reader_close(&out);
		return fault_set(why, ret, said.offset, "%s", said.text);
	}
	if (out.tail != TAIL_END) {
		out.tail = said.code == ERR_CUT ? TAIL_CUT : TAIL_BROKEN;
		out.broken = said;
	}
	*r = out;
	return 0;
}

void reader_close(struct reader *r)
{
	for (uint64_t i = 0; i < r->nepochs; i++)
		epoch_clear(&r->epochs[i]);
	free(r->epochs);
	end_clear(&r->end);
	header_clear(&r->header);
	*r = (struct reader){0};
}

uint64_t reader_outside(const struct reader *r)
{
	return r->tail == TAIL_BROKEN ? 0 : r->source->size - r->tail_offset;
}

uint64_t reader_wall_ns(const struct reader *r, uint64_t boot_ns)
{
	uint64_t boot = r->header.start_boot_ns, wall = r->header.start_wall_ns;
	uint64_t lo = 0, hi = r->nepochs;

	/* The last anchor at or before the time; anchors ascend with their epochs in an authentic capture. */
	while (lo < hi) {
		uint64_t mid = lo + (hi - lo) / 2;

		if (r->epochs[mid].anchor.boot_ns <= boot_ns)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo > 0) {
		boot = r->epochs[lo - 1].anchor.boot_ns;
		wall = r->epochs[lo - 1].anchor.wall_ns;
	}
	return wall + (boot_ns - boot);
}

uint64_t counter_value(const struct counter *counters, uint32_t n, uint16_t probe, uint8_t id)
{
	uint32_t lo = 0, hi = n;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		const struct counter *c = &counters[mid];

		if (c->probe < probe || (c->probe == probe && c->id < id))
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < n && counters[lo].probe == probe && counters[lo].id == id ? counters[lo].value : 0;
}

const struct counter *reader_counters_of(const struct reader *r, uint64_t nepochs, bool ended, uint32_t *n)
{
	const struct epoch *last = nepochs > 0 ? &r->epochs[nepochs - 1] : NULL;

	*n = ended ? r->end.ncounters : last ? last->ncounters : 0;
	return ended ? r->end.counters : last ? last->counters : NULL;
}

const struct counter *reader_counters(const struct reader *r, uint64_t nepochs, uint32_t *n)
{
	return reader_counters_of(r, nepochs, nepochs == r->nepochs && r->tail == TAIL_END, n);
}

uint64_t reader_sum(const struct reader *r, uint64_t nepochs, counter_test *counts, const void *arg)
{
	uint32_t n;
	const struct counter *counters = reader_counters(r, nepochs, &n);
	uint64_t sum = 0;

	for (uint32_t i = 0; i < n; i++)
		if (counts(&r->header.schema, &counters[i], arg))
			sum += counters[i].value;
	return sum;
}

static bool is_lost(const struct schema *schema, const struct counter *c, const void *kind)
{
	const struct counter_type *type = schema_counter(schema, c->id);
	const struct probe *probe = schema_probe(schema, c->probe);
	uint16_t wanted = *(const uint16_t *)kind;

	return type && type->role == ROLE_LOST && (wanted == 0 || (probe && probe->kind == wanted));
}

uint64_t reader_lost(const struct reader *r, uint64_t number, uint16_t kind)
{
	uint64_t until = reader_sum(r, number + 1, is_lost, &kind), before = reader_sum(r, number, is_lost, &kind);

	return until > before ? until - before : 0;
}

bool epoch_withholds(const struct epoch *e, uint8_t class)
{
	for (uint32_t i = 0; i < e->nchunks; i++)
		if (e->chunks[i].withheld && e->chunks[i].class == class)
			return true;
	return false;
}

bool reader_withholds(const struct reader *r, uint8_t class)
{
	for (uint64_t i = 0; i < r->nepochs; i++)
		if (epoch_withholds(&r->epochs[i], class))
			return true;
	return false;
}
