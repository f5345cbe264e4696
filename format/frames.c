/* SPDX-License-Identifier: Apache-2.0 */
#include "format/frames.h"

#include <stdlib.h>
#include <string.h>

#include "format/crypt.h"
#include "format/extensions.h"

/* An LZ4 frame without content: version 1, 64 KiB blocks, its header checksum, the end mark. */
const uint8_t empty_frame[EMPTY_FRAME_BYTES] = {0x04, 0x22, 0x4d, 0x18, 0x60, 0x40, 0x82, 0, 0, 0, 0};
const char header_magic[8] = {'g', 'p', 'u', 'r', 'e', 'c', 'a', 'p'};

/* Start a skippable frame of a payload that is not complete yet; frame_finish() writes its length. */
static size_t frame_start(struct bytes *out, uint32_t magic)
{
	size_t start = out->len;

	bytes_add_le32(out, magic);
	bytes_add_le32(out, 0);
	return start;
}

/* Hash the payload, then leave room for its signature. */
static void frame_finish(struct bytes *out, size_t start, const char *domain, uint8_t hash[HASH_BYTES])
{
	size_t payload = start + FRAME_HEAD_BYTES;

	if (out->failed)
		return;
	crypt_hash(hash, domain, out->data + payload, out->len - payload);
	if (bytes_grow(out, SIGNATURE_BYTES))
		put_le32(out->data + start + 4, (uint32_t)(out->len - payload));
}

static void add_anchor(struct bytes *out, const struct clock_anchor *a)
{
	bytes_add_le64(out, a->boot_ns);
	bytes_add_le64(out, a->wall_ns);
	bytes_add_le64(out, a->mono_ns);
}

static void add_counts(struct bytes *out, const struct kind_count *counts, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		bytes_add_le16(out, counts[i].kind);
		bytes_add_le64(out, counts[i].count);
	}
}

static void add_counters(struct bytes *out, const struct counter *counters, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		bytes_add_le16(out, counters[i].probe);
		bytes_add_u8(out, counters[i].id);
		bytes_add_le64(out, counters[i].value);
	}
}

void header_encode(struct bytes *out, struct header *h, const uint8_t *schema, size_t schema_len)
{
	size_t start = frame_start(out, MAGIC_HEADER);

	bytes_add(out, header_magic, sizeof(header_magic));
	bytes_add_le16(out, h->major);
	bytes_add_le16(out, h->minor);
	bytes_add_le64(out, h->compatible);
	bytes_add_le64(out, h->incompatible);
	bytes_add(out, h->capture_id, CAPTURE_ID_BYTES);
	bytes_add(out, h->keynum, KEYNUM_BYTES);
	bytes_add(out, h->identity, PUBLIC_KEY_BYTES);
	bytes_add(out, h->first_key, PUBLIC_KEY_BYTES);
	bytes_add_le64(out, h->start_boot_ns);
	bytes_add_le64(out, h->start_wall_ns);
	if (h->incompatible & FEATURE_CONTINUES)
		bytes_add(out, h->previous, HASH_BYTES);
	if (h->incompatible & FEATURE_EXTENSIONS)
		extensions_encode(out, h);
	bytes_add(out, schema, schema_len);
	bytes_add(out, h->appendix, h->second.header_bytes);
	frame_finish(out, start, domain_header, h->hash);
}

void seal_encode(struct bytes *out, struct epoch *e)
{
	size_t start = frame_start(out, MAGIC_SEAL);

	bytes_add(out, e->capture_id, CAPTURE_ID_BYTES);
	bytes_add_le64(out, e->number);
	bytes_add(out, e->previous, HASH_BYTES);
	bytes_add_le64(out, e->begin_ns);
	bytes_add_le64(out, e->end_ns);
	add_anchor(out, &e->anchor);
	bytes_add_le64(out, e->self.cpu_ns);
	bytes_add_le64(out, e->self.rss_bytes);
	bytes_add_le64(out, e->self.ring_high_bytes);
	bytes_add_le64(out, e->self.written_bytes);
	bytes_add(out, e->next_key, PUBLIC_KEY_BYTES);
	bytes_add_le32(out, e->nchunks);
	bytes_add_le32(out, e->ncounts);
	bytes_add_le32(out, e->ncounters);
	for (uint32_t i = 0; i < e->nchunks; i++) {
		const struct chunk *c = &e->chunks[i];

		bytes_add_u8(out, c->class);
		bytes_add_le32(out, c->raw_bytes);
		bytes_add_le32(out, c->packed_bytes);
		bytes_add_le32(out, c->nrows);
		bytes_add_le64(out, c->first_ns);
		bytes_add_le64(out, c->last_ns);
		bytes_add(out, c->commitment, HASH_BYTES);
		if (e->parted)
			bytes_add_le32(out, c->part);
	}
	add_counts(out, e->counts, e->ncounts);
	add_counters(out, e->counters, e->ncounters);
	bytes_add(out, e->appendix, e->appendix_bytes);
	frame_finish(out, start, domain_seal, e->hash);
}

void end_encode(struct bytes *out, struct end *e)
{
	size_t start = frame_start(out, MAGIC_END);

	bytes_add(out, e->capture_id, CAPTURE_ID_BYTES);
	bytes_add_le64(out, e->nepochs);
	bytes_add(out, e->last_seal, HASH_BYTES);
	add_anchor(out, &e->anchor);
	bytes_add_le32(out, e->reason);
	bytes_add_le32(out, e->has_exit_status);
	bytes_add_le32(out, (uint32_t)e->exit_status);
	bytes_add_le32(out, e->ntotals);
	bytes_add_le32(out, e->ncounters);
	add_counts(out, e->totals, e->ntotals);
	add_counters(out, e->counters, e->ncounters);
	bytes_add(out, e->appendix, e->appendix_bytes);
	frame_finish(out, start, domain_end, e->hash);
}

static void get_anchor(struct clock_anchor *a, const uint8_t *p)
{
	a->boot_ns = get_le64(p);
	a->wall_ns = get_le64(p + 8);
	a->mono_ns = get_le64(p + 16);
}

/* The signature at the end of a payload, and the hash of all before it. */
static void signed_parse(uint8_t signature[SIGNATURE_BYTES], uint8_t hash[HASH_BYTES], const char *domain,
			 const uint8_t *payload, size_t len)
{
	size_t signed_len = len - SIGNATURE_BYTES;

	memcpy(signature, payload + signed_len, SIGNATURE_BYTES);
	crypt_hash(hash, domain, payload, signed_len);
}

/* The appendix at the end of the signed bytes: a copy of n bytes that are there, or NULL for none. */
static int appendix_parse(uint8_t **appendix, const uint8_t *bytes, uint32_t n, struct fault *why)
{
	*appendix = n ? malloc(n) : NULL;
	if (n && !*appendix)
		return fault_no_memory(why);
	if (n)
		memcpy(*appendix, bytes, n);
	return 0;
}

int header_parse(struct header *h, const uint8_t *payload, size_t len, uint64_t at, struct fault *why)
{
	struct header out = {0};
	size_t signed_len, schema = HEADER_AT_SCHEMA;
	int64_t taken;
	int r;

	if (len < HEADER_AT_SCHEMA + SIGNATURE_BYTES || len > HEADER_BYTES_MAX ||
	    memcmp(payload + HEADER_AT_MAGIC, header_magic, sizeof(header_magic)) != 0)
		return fault_set(why, ERR_FORMAT, at, "not a capture: its header is not one of ours");
	out.major = get_le16(payload + HEADER_AT_MAJOR);
	out.minor = get_le16(payload + HEADER_AT_MINOR);
	out.compatible = get_le64(payload + HEADER_AT_COMPATIBLE);
	out.incompatible = get_le64(payload + HEADER_AT_INCOMPATIBLE);
	if (out.major != FORMAT_MAJOR)
		return fault_set(why, ERR_VERSION, at, "format version %u.%u; this build reads version %d", out.major,
				 out.minor, FORMAT_MAJOR);
	if (out.incompatible & ~(uint64_t)FEATURES_KNOWN)
		return fault_set(why, ERR_VERSION, at, "needs features that this build does not know (bits %llx)",
				 (unsigned long long)(out.incompatible & ~(uint64_t)FEATURES_KNOWN));
	memcpy(out.capture_id, payload + HEADER_AT_CAPTURE_ID, CAPTURE_ID_BYTES);
	memcpy(out.keynum, payload + HEADER_AT_KEYNUM, KEYNUM_BYTES);
	memcpy(out.identity, payload + HEADER_AT_IDENTITY, PUBLIC_KEY_BYTES);
	memcpy(out.first_key, payload + HEADER_AT_FIRST_KEY, PUBLIC_KEY_BYTES);
	out.start_boot_ns = get_le64(payload + HEADER_AT_START_BOOT);
	out.start_wall_ns = get_le64(payload + HEADER_AT_START_WALL);
	signed_len = len - SIGNATURE_BYTES;
	signed_parse(out.signature, out.hash, domain_header, payload, len);
	if (out.incompatible & FEATURE_CONTINUES) {
		schema += HASH_BYTES;
		if (schema > signed_len)
			return fault_set(why, ERR_FORMAT, at, "the header is cut before its schema");
		memcpy(out.previous, payload + HEADER_AT_PREVIOUS, HASH_BYTES);
	}
	if (out.incompatible & FEATURE_EXTENSIONS) {
		taken = extensions_parse(&out, payload + schema, signed_len - schema, at + schema, why);
		if (taken < 0)
			return (int)taken;
		schema += (size_t)taken;
	}
	if (out.second.header_bytes > signed_len - schema)
		r = fault_set(why, ERR_FORMAT, at, "the header is cut inside its second signature");
	else
		r = schema_parse(&out.schema, payload + schema, signed_len - schema - out.second.header_bytes,
				 at + schema, why);
	if (r < 0) {
		free(out.later);
		return r;
	}
	r = appendix_parse(&out.appendix, payload + signed_len - out.second.header_bytes, out.second.header_bytes, why);
	if (r < 0) {
		header_clear(&out);
		return r;
	}
	*h = out;
	return 0;
}

void header_clear(struct header *h)
{
	free(h->later);
	h->later = NULL;
	free(h->appendix);
	h->appendix = NULL;
	schema_clear(&h->schema);
}

/* Table of kind counts: ascending, none zero. */
static int counts_parse(struct kind_count **out, uint32_t n, const uint8_t *p, uint64_t at, struct fault *why)
{
	struct kind_count *counts = calloc(n ? n : 1, sizeof(*counts));

	if (!counts)
		return fault_no_memory(why);
	for (uint32_t i = 0; i < n; i++, p += COUNT_BYTES) {
		counts[i].kind = get_le16(p);
		counts[i].count = get_le64(p + 2);
		if ((i && counts[i].kind <= counts[i - 1].kind) || counts[i].count == 0) {
			free(counts);
			return fault_set(why, ERR_FORMAT, at,
					 "the table of event counts is out of order or has a zero");
		}
	}
	*out = counts;
	return 0;
}

static int counters_parse(struct counter **out, uint32_t n, const uint8_t *p, uint64_t at, struct fault *why)
{
	struct counter *counters = calloc(n ? n : 1, sizeof(*counters));

	if (!counters)
		return fault_no_memory(why);
	for (uint32_t i = 0; i < n; i++, p += COUNTER_BYTES) {
		struct counter *c = &counters[i], *before = i ? c - 1 : NULL;

		c->probe = get_le16(p);
		c->id = p[2];
		c->value = get_le64(p + 3);
		if ((before && (c->probe < before->probe || (c->probe == before->probe && c->id <= before->id))) ||
		    c->value == 0) {
			free(counters);
			return fault_set(why, ERR_FORMAT, at, "the table of counters is out of order or has a zero");
		}
	}
	*out = counters;
	return 0;
}

/* The counts and, right behind them, the counters that end a payload. What was parsed stays in *counts on failure. */
static int tallies_parse(struct kind_count **counts, uint32_t ncounts, struct counter **counters, uint32_t ncounters,
			 const uint8_t *p, uint64_t at, struct fault *why)
{
	int r = counts_parse(counts, ncounts, p, at, why);

	return r < 0 ? r : counters_parse(counters, ncounters, p + (size_t)ncounts * COUNT_BYTES, at, why);
}

/* A chunk's entry: everything about it that can be bounded without the schema. */
static int entry_parse(struct chunk *c, const struct epoch *e, const uint8_t *p, uint64_t at, struct fault *why)
{
	c->class = p[ENTRY_AT_CLASS];
	c->raw_bytes = get_le32(p + ENTRY_AT_RAW_BYTES);
	c->packed_bytes = get_le32(p + ENTRY_AT_PACKED_BYTES);
	c->nrows = get_le32(p + ENTRY_AT_NROWS);
	c->first_ns = get_le64(p + ENTRY_AT_FIRST);
	c->last_ns = get_le64(p + ENTRY_AT_LAST);
	memcpy(c->commitment, p + ENTRY_AT_COMMITMENT, HASH_BYTES);
	c->part = e->parted ? get_le32(p + ENTRY_AT_PART) : PART_OF_NONE;
	if (c->raw_bytes == 0 || c->raw_bytes > CHUNK_RAW_MAX || c->packed_bytes == 0 ||
	    c->packed_bytes > CHUNK_PACKED_MAX || c->nrows == 0 || c->nrows > CHUNK_ROWS_MAX)
		return fault_set(why, ERR_FORMAT, at, "a chunk of %u rows, %u bytes, %u packed is out of bounds",
				 c->nrows, c->raw_bytes, c->packed_bytes);
	if (c->first_ns < e->begin_ns || c->last_ns < c->first_ns || c->last_ns >= e->end_ns)
		return fault_set(why, ERR_FORMAT, at, "a chunk has events outside its epoch's time");
	return 0;
}

static size_t entry_bytes(const struct epoch *e)
{
	return ENTRY_BYTES + (e->parted ? ENTRY_PART_BYTES : 0);
}

/* Whether a chunk follows another one as those of an epoch do. */
static bool is_behind(const struct chunk *c, const struct chunk *before)
{
	if (c->class != before->class)
		return c->class > before->class;
	return c->part != before->part ? c->part > before->part : c->first_ns >= before->last_ns;
}

static int entries_parse(struct epoch *e, const uint8_t *p, uint64_t at, struct fault *why)
{
	unsigned nlanes = 0;

	e->chunks = calloc(e->nchunks ? e->nchunks : 1, sizeof(*e->chunks));
	if (!e->chunks)
		return fault_no_memory(why);
	for (uint32_t i = 0; i < e->nchunks; i++, p += entry_bytes(e)) {
		struct chunk *c = &e->chunks[i];
		int r = entry_parse(c, e, p, at, why);

		if (r < 0)
			return r;
		if (i > 0 && !is_behind(c, c - 1))
			return fault_set(why, ERR_FORMAT, at, "the chunks of an epoch are out of order");
		nlanes += i == 0 || c->class != c[-1].class || c->part != c[-1].part;
	}
	if (nlanes > EPOCH_LANES_MAX)
		return fault_set(why, ERR_FORMAT, at, "an epoch has more than %d classes and parts", EPOCH_LANES_MAX);
	return 0;
}

int seal_parse(struct epoch *e, const uint8_t *payload, size_t len, uint32_t appendix, bool parted, uint64_t at,
	       struct fault *why)
{
	struct epoch out = {.parted = parted};
	const uint8_t *tables = payload + SEAL_AT_TABLES;
	size_t entries, counts, counters;
	int r;

	if (len < SEAL_AT_TABLES + SIGNATURE_BYTES || len > SEAL_BYTES_MAX)
		return fault_set(why, ERR_FORMAT, at, "a seal of %zu bytes is out of bounds", len);
	out.number = get_le64(payload + SEAL_AT_NUMBER);
	memcpy(out.previous, payload + SEAL_AT_PREVIOUS, HASH_BYTES);
	out.begin_ns = get_le64(payload + SEAL_AT_BEGIN);
	out.end_ns = get_le64(payload + SEAL_AT_END);
	get_anchor(&out.anchor, payload + SEAL_AT_ANCHOR);
	out.self.cpu_ns = get_le64(payload + SEAL_AT_SELF);
	out.self.rss_bytes = get_le64(payload + SEAL_AT_SELF + 8);
	out.self.ring_high_bytes = get_le64(payload + SEAL_AT_SELF + 16);
	out.self.written_bytes = get_le64(payload + SEAL_AT_SELF + 24);
	memcpy(out.next_key, payload + SEAL_AT_NEXT_KEY, PUBLIC_KEY_BYTES);
	out.nchunks = get_le32(payload + SEAL_AT_NCHUNKS);
	out.ncounts = get_le32(payload + SEAL_AT_NCOUNTS);
	out.ncounters = get_le32(payload + SEAL_AT_NCOUNTERS);
	if (out.nchunks > EPOCH_CHUNKS_MAX || out.ncounts > KINDS_MAX || out.ncounters > COUNTER_ROWS_MAX)
		return fault_set(why, ERR_FORMAT, at, "a seal's tables are longer than allowed");
	entries = (size_t)out.nchunks * entry_bytes(&out);
	counts = (size_t)out.ncounts * COUNT_BYTES;
	counters = (size_t)out.ncounters * COUNTER_BYTES;
	if (len != SEAL_AT_TABLES + entries + counts + counters + appendix + SIGNATURE_BYTES)
		return fault_set(why, ERR_FORMAT, at, "a seal's length does not fit its tables");
	if (out.end_ns < out.begin_ns)
		return fault_set(why, ERR_FORMAT, at, "an epoch ends before it begins");
	r = entries_parse(&out, tables, at, why);
	if (r >= 0)
		r = tallies_parse(&out.counts, out.ncounts, &out.counters, out.ncounters, tables + entries, at, why);
	out.appendix_bytes = appendix;
	if (r >= 0)
		r = appendix_parse(&out.appendix, payload + len - SIGNATURE_BYTES - appendix, appendix, why);
	if (r < 0) {
		epoch_clear(&out);
		return r;
	}
	memcpy(out.capture_id, payload + SEAL_AT_CAPTURE_ID, CAPTURE_ID_BYTES);
	signed_parse(out.signature, out.hash, domain_seal, payload, len);
	*e = out;
	return 0;
}

void epoch_clear(struct epoch *e)
{
	free(e->chunks);
	free(e->counts);
	free(e->counters);
	free(e->appendix);
	*e = (struct epoch){0};
}

int end_parse(struct end *e, const uint8_t *payload, size_t len, uint32_t appendix, uint64_t at, struct fault *why)
{
	struct end out = {0};
	uint32_t has_status;
	size_t totals, counters;
	int r;

	if (len < END_AT_TABLES + SIGNATURE_BYTES || len > END_BYTES_MAX)
		return fault_set(why, ERR_FORMAT, at, "an end record of %zu bytes is out of bounds", len);
	out.nepochs = get_le64(payload + END_AT_NEPOCHS);
	memcpy(out.last_seal, payload + END_AT_LAST_SEAL, HASH_BYTES);
	get_anchor(&out.anchor, payload + END_AT_ANCHOR);
	out.reason = get_le32(payload + END_AT_REASON);
	has_status = get_le32(payload + END_AT_HAS_STATUS);
	out.has_exit_status = has_status == 1;
	out.exit_status = (int32_t)get_le32(payload + END_AT_STATUS);
	out.ntotals = get_le32(payload + END_AT_NTOTALS);
	out.ncounters = get_le32(payload + END_AT_NCOUNTERS);
	if (has_status > 1 || (!has_status && out.exit_status) || out.reason == 0)
		return fault_set(why, ERR_FORMAT, at, "invalid reason or status in END record");
	if (out.ntotals > KINDS_MAX || out.ncounters > COUNTER_ROWS_MAX)
		return fault_set(why, ERR_FORMAT, at, "the end record's tables are longer than allowed");
	totals = (size_t)out.ntotals * COUNT_BYTES;
	counters = (size_t)out.ncounters * COUNTER_BYTES;
	if (len != END_AT_TABLES + totals + counters + appendix + SIGNATURE_BYTES)
		return fault_set(why, ERR_FORMAT, at, "the end record's length does not fit its tables");
	r = tallies_parse(&out.totals, out.ntotals, &out.counters, out.ncounters, payload + END_AT_TABLES, at, why);
	out.appendix_bytes = appendix;
	if (r >= 0)
		r = appendix_parse(&out.appendix, payload + len - SIGNATURE_BYTES - appendix, appendix, why);
	if (r < 0) {
		end_clear(&out);
		return r;
	}
	memcpy(out.capture_id, payload + END_AT_CAPTURE_ID, CAPTURE_ID_BYTES);
	signed_parse(out.signature, out.hash, domain_end, payload, len);
	*e = out;
	return 0;
}

void end_clear(struct end *e)
{
	free(e->totals);
	free(e->counters);
	free(e->appendix);
	*e = (struct end){0};
}
