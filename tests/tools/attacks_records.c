// SPDX-License-Identifier: Apache-2.0
/* What one with the identity's key could write: records and contents that lie, with every hash and seal repaired. */
#include "tests/tools/attacks_remake.h"

#include <lz4frame.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "tests/tools/lz4_form.h"

static int lacks(struct fault *why, const char *what)
{
	return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "the capture has no %s", what);
}

/* An epoch with counters, and not the last. */
static int pick_losses(struct remake *m, struct attempt *a, uint64_t *epoch, struct fault *why)
{
	if (m->nepochs < 2)
		return lacks(why, "second epoch");
	*epoch = 1 + attack_pick(a, m->nepochs - 1);
	return m->epochs[*epoch - 1].ncounters && m->epochs[*epoch].ncounters ? 0 : lacks(why, "counter there");
}

#define CHANGE(name, statement)                                                                                        \
	static int name(struct remake *m, struct attempt *a, struct fault *why)                                        \
	{                                                                                                              \
		(void)a;                                                                                               \
		(void)why;                                                                                             \
		statement;                                                                                             \
		return 0;                                                                                              \
	}
#define EPOCH(m, a) (&(m)->epochs[attack_pick(a, (m)->nepochs)])

CHANGE(version_next, m->header.major = FORMAT_MAJOR + 1)
CHANGE(version_max, m->header.major = UINT16_MAX)
CHANGE(version_0, m->header.major = 0)
CHANGE(minor_next, m->header.minor = (uint16_t)(1 + attack_pick(a, UINT16_MAX)))
CHANGE(incompatible_bit, m->header.incompatible = 2ull << attack_pick(a, 63))
CHANGE(compatible_bit, m->header.compatible = 1ull << attack_pick(a, 64))
CHANGE(start_later, m->header.start_boot_ns++)
CHANGE(name_escape, strcpy(m->header.schema.kinds[0].name, "a\033[2J"))
CHANGE(name_markup, strcpy(m->header.schema.kinds[0].name, "<script>"))
CHANGE(name_not_utf8, strcpy(m->header.schema.kinds[0].name, "\xff\xfe"))
CHANGE(name_empty, m->header.schema.kinds[0].name[0] = '\0')
CHANGE(name_path, strcpy(m->header.schema.classes[0].name, "../../x"))
CHANGE(seal_other_capture, EPOCH(m, a)->capture_id[attack_pick(a, CAPTURE_ID_BYTES)] ^= 1)
CHANGE(seal_number, EPOCH(m, a)->number ^= 1ull << attack_pick(a, 64))
CHANGE(epoch_gap, EPOCH(m, a)->begin_ns--)
CHANGE(epoch_ends_early, EPOCH(m, a)->end_ns = 0)
CHANGE(clock_back, m->epochs[m->nepochs - 1].anchor.boot_ns = 0)
CHANGE(end_other_capture, m->end.capture_id[0] ^= 1)
CHANGE(end_more_epochs, m->end.nepochs++)
CHANGE(end_reason_0, m->end.reason = 0)
CHANGE(end_reason_later, m->end.reason = 77)
CHANGE(end_clock_back, m->end.anchor.mono_ns = 0)
CHANGE(end_total_more, (m->end.ntotals ? (void)m->end.totals[attack_pick(a, m->end.ntotals)].count++ : (void)0))
CHANGE(end_without_totals, m->end.ntotals = 0)
CHANGE(end_without_losses, m->end.ncounters = 0)

#define PATCH(name, in, offset, bytes)                                                                                 \
	CHANGE(name, (m->patch.part = (in), m->patch.epoch = attack_pick(a, m->nepochs), m->patch.at = (offset),       \
		      m->patch.width = (bytes), m->patch.value = 0x5a5a5a5a5a5a5a5a))
PATCH(chain_of_seals, PART_SEAL, SEAL_AT_PREVIOUS, 8)
PATCH(next_key, PART_SEAL, SEAL_AT_NEXT_KEY, 8)
PATCH(end_last_seal, PART_END, END_AT_LAST_SEAL, 8)

static int commitment(struct remake *m, struct attempt *a, struct fault *why)
{
	uint64_t e = 0;
	uint32_t c = 0;

	if (remake_pick(m, a, 0, &e, &c, why) < 0)
		return why->code;
	m->epochs[e].chunks[c].commitment[attack_pick(a, HASH_BYTES)] ^= 1;
	return 0;
}

static int salt(struct remake *m, struct attempt *a, struct fault *why)
{
	uint64_t e = 0;
	uint32_t c = 0;

	if (remake_pick(m, a, 0, &e, &c, why) < 0)
		return why->code;
	m->epochs[e].chunks[c].salt[attack_pick(a, SALT_BYTES)] ^= 1;
	return 0;
}

static int losses_down(struct remake *m, struct attempt *a, struct fault *why)
{
	uint64_t e = 0;

	if (pick_losses(m, a, &e, why) < 0)
		return why->code;
	for (uint32_t i = 0; i < m->epochs[e - 1].ncounters; i++)
		m->epochs[e - 1].counters[i].value = m->epochs[e].counters[0].value + 1000000;
	return 0;
}

static int losses_vanish(struct remake *m, struct attempt *a, struct fault *why)
{
	uint64_t e = 0;

	if (pick_losses(m, a, &e, why) < 0)
		return why->code;
	m->epochs[e].ncounters = 0;
	return 0;
}

static int losses_overflow(struct remake *m, struct attempt *a, struct fault *why)
{
	uint64_t e = 0;

	if (pick_losses(m, a, &e, why) < 0)
		return why->code;
	if (m->epochs[e].ncounters < 2)
		return lacks(why, "two counters there");
	m->epochs[e].counters[0].value = UINT64_MAX;
	return 0;
}

static int losses_hidden_at_end(struct remake *m, struct attempt *a, struct fault *why)
{
	(void)a;
	for (uint32_t i = 0; i < m->end.ncounters; i++)
		if (m->end.counters[i].id == COUNTER_recorded) {
			m->end.counters[i].value++;
			return 0;
		}
	return lacks(why, "counter");
}

static int count_more(struct remake *m, struct attempt *a, struct fault *why)
{
	struct epoch *e = EPOCH(m, a);

	if (!e->ncounts)
		return lacks(why, "count there");
	e->counts[attack_pick(a, e->ncounts)].count++;
	return 0;
}

static int count_overflow(struct remake *m, struct attempt *a, struct fault *why)
{
	struct epoch *e = EPOCH(m, a);

	if (!e->ncounts)
		return lacks(why, "count there");
	e->counts[attack_pick(a, e->ncounts)].count = UINT64_MAX;
	return 0;
}

static int chunks_reordered(struct remake *m, struct attempt *a, struct fault *why)
{
	struct epoch *e = EPOCH(m, a);
	uint64_t n = (uint64_t)(e - m->epochs);

	for (uint32_t c = 1; c < e->nchunks; c++) {
		struct chunk was = e->chunks[c];
		struct bytes frame = m->frames[n][c];

		if (was.class == e->chunks[c - 1].class || was.withheld || e->chunks[c - 1].withheld)
			continue;
		e->chunks[c] = e->chunks[c - 1];
		m->frames[n][c] = m->frames[n][c - 1];
		e->chunks[c - 1] = was;
		m->frames[n][c - 1] = frame;
		remake_set_frame(m, n, c, &m->frames[n][c]);
		remake_set_frame(m, n, c - 1, &m->frames[n][c - 1]);
		return 0;
	}
	return lacks(why, "two classes in that epoch");
}

/* Chunks of which only the entry exists: at the limit they are just withheld ones. */
static int add_chunks(struct remake *m, uint32_t upto, struct fault *why)
{
	struct epoch *e = m->nepochs ? &m->epochs[m->nepochs - 1] : NULL;
	const struct schema *s = &m->header.schema;
	uint64_t more = 0;

	if (!e || e->end_ns <= e->begin_ns)
		return lacks(why, "epoch with time in it");
	while (e->nchunks < upto) {
		struct chunk *c = remake_add_chunk(m, m->nepochs - 1);

		if (!c)
			return fault_set(why, ERR_MEMORY, FAULT_NOWHERE, "no memory for the attack");
		*c = (struct chunk){.withheld = true,
				    .class = s->classes[s->nclasses - 1].id, /* chunks ascend by class */
				    .raw_bytes = 1,
				    .packed_bytes = 1,
				    .nrows = 1,
				    .first_ns = e->end_ns - 1,
				    .last_ns = e->end_ns - 1};
		more++;
	}
	return remake_add_count(m, m->nepochs - 1, KIND_fact, more) < 0
		       ? fault_set(why, ERR_MEMORY, FAULT_NOWHERE, "no memory for the attack")
		       : 0;
}

static int chunks_most(struct remake *m, struct attempt *a, struct fault *why)
{
	(void)a;
	return add_chunks(m, EPOCH_CHUNKS_MAX, why);
}

static int chunks_above(struct remake *m, struct attempt *a, struct fault *why)
{
	(void)a;
	return add_chunks(m, EPOCH_CHUNKS_MAX + 1, why);
}

/*
 * A new chunk of the last class that has one, at the last moment of the last epoch: `nrows` rows of `kind` of which all
 * columns but the given texts are zero.
 */
static int add_content(struct remake *m, uint16_t kind, uint32_t nrows, const struct bytes *raw, struct fault *why)
{
	struct epoch *e = m->nepochs ? &m->epochs[m->nepochs - 1] : NULL;
	const struct kind *k = schema_kind(&m->header.schema, kind);
	uint32_t at = 0;
	struct chunk *c;

	if (!e || !k || e->end_ns <= e->begin_ns)
		return lacks(why, "epoch with time in it");
	/* Behind all chunks of its class: those of later classes move on, and their commitments with them. */
	if (!remake_add_chunk(m, m->nepochs - 1))
		return fault_set(why, ERR_MEMORY, FAULT_NOWHERE, "no memory for the attack");
	while (at + 1 < e->nchunks && e->chunks[at].class <= k->class)
		at++;
	for (uint32_t i = e->nchunks - 1; i > at; i--) {
		e->chunks[i] = e->chunks[i - 1];
		m->frames[m->nepochs - 1][i] = m->frames[m->nepochs - 1][i - 1];
		if (!e->chunks[i].withheld)
			remake_set_frame(m, m->nepochs - 1, i, &m->frames[m->nepochs - 1][i]);
	}
	c = &e->chunks[at];
	*c = (struct chunk){.class = k->class, .nrows = nrows, .first_ns = e->end_ns - 1, .last_ns = e->end_ns - 1};
	m->frames[m->nepochs - 1][at] = (struct bytes){0};
	if (remake_add_count(m, m->nepochs - 1, kind, nrows) < 0)
		return fault_set(why, ERR_MEMORY, FAULT_NOWHERE, "no memory for the attack");
	return remake_set_raw(m, m->nepochs - 1, at, raw, why);
}

static void add_group(struct bytes *raw, uint16_t kind, uint32_t nrows)
{
	bytes_add_le16(raw, kind);
	bytes_add_le32(raw, nrows);
}

/* `nrows` threads without names, all zero. */
static int add_threads(struct remake *m, uint32_t nrows, struct fault *why)
{
	struct bytes raw = {0};
	int r;

	add_group(&raw, KIND_thread, nrows);
	for (int i = 0; i < NFIELDS_thread; i++)
		bytes_add_u8(&raw, 0);
	r = add_content(m, KIND_thread, nrows, &raw, why);
	bytes_free(&raw);
	return r;
}

static int rows_most(struct remake *m, struct attempt *a, struct fault *why)
{
	(void)a;
	return add_threads(m, CHUNK_ROWS_MAX, why);
}

static int rows_above(struct remake *m, struct attempt *a, struct fault *why)
{
	(void)a;
	return add_threads(m, CHUNK_ROWS_MAX + 1, why);
}

/* A fact whose name and value say that they are so long, and are. */
static int add_fact(struct remake *m, uint64_t claimed, const char *text, size_t len, struct fault *why)
{
	struct bytes raw = {0};
	unsigned width = 0;
	int r;

	add_group(&raw, KIND_fact, 1);
	bytes_add_u8(&raw, 0);
	for (int f = 0; f < 2; f++) {
		for (width = 0; width < 8 && claimed >> (8 * width); width++)
			;
		bytes_add_u8(&raw, (uint8_t)width);
		for (unsigned i = 0; i < width; i++)
			bytes_add_u8(&raw, (uint8_t)(claimed >> (8 * i)));
		bytes_add(&raw, text, len);
	}
	r = add_content(m, KIND_fact, 1, &raw, why);
	bytes_free(&raw);
	return r;
}

static const char long_text[TEXT_MAX + 1];

#define FACT(name, claimed, text, len)                                                                                 \
	static int name(struct remake *m, struct attempt *a, struct fault *why)                                        \
	{                                                                                                              \
		(void)a;                                                                                               \
		return add_fact(m, claimed, text, len, why);                                                           \
	}

static const char hostile[] = "\033]0;owned\a\033[2J\x9b"
			      "31m<script>alert(1)</script>'; DROP TABLE event;--\r\n\xff\xc0\x80 %n%s";

FACT(text_0, 0, "", 0)
FACT(text_most, TEXT_MAX, long_text, TEXT_MAX)
FACT(text_above, TEXT_MAX + 1, long_text, TEXT_MAX + 1)
FACT(text_cut, TEXT_MAX, "short", 5)
FACT(text_overflow, UINT64_MAX, "short", 5)
FACT(text_hostile, sizeof(hostile) - 1, hostile, sizeof(hostile) - 1)

/* Facts that fill a chunk to exactly `size` raw bytes. */
static int fill_raw(struct remake *m, uint32_t size, struct fault *why)
{
	const uint32_t nrows = 600;
	uint32_t left = size - 6 - 1 - (1 + 2 * nrows) - (1 + 2 * nrows);
	uint16_t len[1200];
	struct bytes raw = {0};
	int r;

	add_group(&raw, KIND_fact, nrows);
	bytes_add_u8(&raw, 0);
	for (uint32_t i = 0; i < 2 * nrows; i++) {
		uint32_t rest = 2 * nrows - 1 - i; /* texts still to come, of 256 bytes at least */

		len[i] = (uint16_t)(left - rest * 256 > TEXT_MAX ? TEXT_MAX : left - rest * 256);
		left -= len[i];
	}
	for (uint32_t f = 0; f < 2; f++) {
		uint16_t *of = len + f * nrows;
		uint8_t *texts;
		size_t sum = 0;

		bytes_add_u8(&raw, 2);
		for (uint32_t i = 0; i < nrows; i++)
			bytes_add_u8(&raw, (uint8_t)of[i]);
		for (uint32_t i = 0; i < nrows; i++) {
			bytes_add_u8(&raw, (uint8_t)(of[i] >> 8));
			sum += of[i];
		}
		texts = bytes_grow(&raw, sum);
		if (texts)
			memset(texts, 'x', sum);
	}
	r = add_content(m, KIND_fact, nrows, &raw, why);
	bytes_free(&raw);
	return r;
}

static int raw_most(struct remake *m, struct attempt *a, struct fault *why)
{
	(void)a;
	return fill_raw(m, CHUNK_RAW_MAX, why);
}

static int raw_above(struct remake *m, struct attempt *a, struct fault *why)
{
	(void)a;
	return fill_raw(m, CHUNK_RAW_MAX + 1, why);
}

/* Columns of zeros take no bytes: a few bytes that claim more values than a chunk may have. */
static int bomb_of_columns(struct remake *m, struct attempt *a, struct fault *why)
{
	struct bytes raw = {0};
	uint32_t nrows = CHUNK_VALUES_MAX / NFIELDS_process + 1;
	int r;

	(void)a;
	add_group(&raw, KIND_process, nrows > CHUNK_ROWS_MAX ? CHUNK_ROWS_MAX : nrows);
	for (int i = 0; i < NFIELDS_process; i++)
		bytes_add_u8(&raw, 0);
	add_group(&raw, KIND_thread, CHUNK_ROWS_MAX);
	for (int i = 0; i < NFIELDS_thread; i++)
		bytes_add_u8(&raw, 0);
	r = add_content(m, KIND_process, CHUNK_ROWS_MAX, &raw, why);
	bytes_free(&raw);
	return r;
}

/* The header checksum of an LZ4 frame is one byte: try which fits. */
static void repair_lz4_header(struct bytes *frame, size_t checksum_at)
{
	for (unsigned x = 0; x < 256; x++) {
		LZ4F_dctx *ctx = NULL;
		LZ4F_frameInfo_t info;
		size_t n = checksum_at + 1, r;

		frame->data[checksum_at] = (uint8_t)x;
		if (LZ4F_isError(LZ4F_createDecompressionContext(&ctx, LZ4F_VERSION)))
			return;
		r = LZ4F_getFrameInfo(ctx, &info, frame->data, &n);
		LZ4F_freeDecompressionContext(ctx);
		if (!LZ4F_isError(r))
			return;
	}
}

enum { LZ4_AT_FLAGS = 4, LZ4_AT_SIZE = 6, LZ4_AT_CHECKSUM = 14 };

/* One chunk's frame anew, in a form of our own. `claim`: put this into its content size. */
static int set_frame(struct remake *m, struct attempt *a, const LZ4F_preferences_t *prefs, const struct bytes *content,
		     bool claim_old, struct fault *why)
{
	struct bytes raw = {0}, frame = {0};
	uint64_t e = 0;
	uint32_t c = 0;
	size_t bound, n;
	uint8_t *to;
	int r = remake_pick(m, a, 0, &e, &c, why);

	if (r == 0)
		r = remake_raw(m, e, c, &raw, why);
	if (r < 0)
		goto out;
	if (!content)
		content = &raw;
	bound = LZ4F_compressFrameBound(content->len, prefs);
	to = bytes_grow(&frame, bound);
	n = to ? LZ4F_compressFrame(to, bound, content->data, content->len, prefs) : 0;
	if (!to || LZ4F_isError(n)) {
		r = fault_set(why, ERR_MEMORY, FAULT_NOWHERE, "no memory for the attack");
		goto out;
	}
	frame.len = n;
	if (claim_old) {
		put_le64(frame.data + LZ4_AT_SIZE, m->epochs[e].chunks[c].raw_bytes);
		repair_lz4_header(&frame, LZ4_AT_CHECKSUM);
	}
	remake_set_frame(m, e, c, &frame);
out:
	bytes_free(&raw);
	bytes_free(&frame);
	return r;
}

static LZ4F_preferences_t our_preferences(size_t n)
{
	LZ4F_preferences_t p = captures_form(n);

	p.frameInfo.blockSizeID = LZ4F_max4MB;
	return p;
}

/* 64 MiB of zeros in a frame that claims as few bytes as the seal does. */
static int bomb_of_lz4(struct remake *m, struct attempt *a, struct fault *why)
{
	const size_t size = 64u << 20;
	LZ4F_preferences_t p = our_preferences(size);
	struct bytes zeros = {.data = calloc(1, size), .len = size};
	int r = zeros.data ? set_frame(m, a, &p, &zeros, true, why)
			   : fault_set(why, ERR_MEMORY, FAULT_NOWHERE, "no memory for the attack");

	free(zeros.data);
	return r;
}

static int lz4_yields_less(struct remake *m, struct attempt *a, struct fault *why)
{
	LZ4F_preferences_t p = our_preferences(1);
	uint8_t one = 1;
	struct bytes few = {.data = &one, .len = 1};

	return set_frame(m, a, &p, &few, true, why);
}

#define LZ4_FORM(name, statement)                                                                                      \
	static int name(struct remake *m, struct attempt *a, struct fault *why)                                        \
	{                                                                                                              \
		LZ4F_preferences_t p = our_preferences(0);                                                             \
                                                                                                                       \
		statement;                                                                                             \
		return set_frame(m, a, &p, NULL, false, why);                                                          \
	}
LZ4_FORM(lz4_without_content_checksum, p.frameInfo.contentChecksumFlag = LZ4F_noContentChecksum)
LZ4_FORM(lz4_without_block_checksums, p.frameInfo.blockChecksumFlag = LZ4F_noBlockChecksum)
LZ4_FORM(lz4_without_size, p.frameInfo.contentSize = 0)
LZ4_FORM(lz4_with_dictionary, p.frameInfo.dictID = 7)

static int change_frame(struct remake *m, struct attempt *a, int how, struct fault *why)
{
	uint64_t e = 0;
	uint32_t c = 0;
	struct bytes *frame;

	if (remake_pick(m, a, 0, &e, &c, why) < 0)
		return why->code;
	frame = &m->frames[e][c];
	if (how == 0)
		bytes_add(frame, empty_frame, EMPTY_FRAME_BYTES);
	else if (how == 1)
		bytes_add(frame, "\x50\x2a\x4d\x18\0\0\0", 8);
	else if (how == 2)
		frame->len--;
	else
		frame->data[frame->len / 2] ^= 0x10;
	remake_set_frame(m, e, c, frame);
	return 0;
}

CHANGE(lz4_two_frames, return change_frame(m, a, 0, why))
CHANGE(lz4_hidden_frame, return change_frame(m, a, 1, why))
CHANGE(lz4_cut, return change_frame(m, a, 2, why))
CHANGE(lz4_damaged, return change_frame(m, a, 3, why))

static int act_on_records(const struct attack *self, struct attempt *a, struct fault *why)
{
	struct remake m;
	int r = remake_load(&m, a->bytes, a->len, why);

	if (r == 0 && (m.nepochs == 0 || !m.has_end))
		r = lacks(why, "epoch, or no end");
	if (r == 0)
		r = self->change(&m, a, why);
	if (r == 0)
		r = remake_write(&m, &a->out, why);
	remake_clear(&m);
	return r;
}

#define RECORDS(name, change, verdict, says, what)                                                                     \
	{                                                                                                              \
		name, INSIDER, verdict, says, what, act_on_records, 0, 0, 0, 0, change                                 \
	}
#define BAD VERDICT_MALFORMED
#define FORGED VERDICT_FORGED

const struct attack attacks_on_records[] = {
	RECORDS("version-next", version_next, VERDICT_UNCHECKED, "format version 2.1", "the next major version"),
	RECORDS("version-65535", version_max, VERDICT_UNCHECKED, "format version", "the last major version"),
	RECORDS("version-0", version_0, VERDICT_UNCHECKED, "format version", "a major version before the first"),
	RECORDS("version-minor", minor_next, ATTACK_SAME, NULL, "a later minor version: to be read"),
	RECORDS("incompatible-bit", incompatible_bit, VERDICT_UNCHECKED, "features", "an incompatible feature bit"),
	RECORDS("compatible-bit", compatible_bit, ATTACK_SAME, NULL, "a compatible feature bit: to be read"),
	RECORDS("start-later", start_later, BAD, NULL, "a start after the first epoch's begin"),
	RECORDS("name-escape", name_escape, BAD, "forbidden characters", "a name with an escape sequence"),
	RECORDS("name-markup", name_markup, BAD, "forbidden characters", "a name with markup"),
	RECORDS("name-not-utf8", name_not_utf8, BAD, "forbidden characters", "a name that is no UTF-8"),
	RECORDS("name-empty", name_empty, BAD, "a name is empty", "a name without characters"),
	RECORDS("name-path", name_path, BAD, "forbidden characters", "a name with slashes"),
	RECORDS("seal-of-other-capture", seal_other_capture, FORGED, "is of another capture",
		"a seal of another capture"),
	RECORDS("seal-number", seal_number, FORGED, "does not follow", "another epoch number"),
	RECORDS("seal-chain", chain_of_seals, FORGED, "does not follow", "another hash of the seal before"),
	RECORDS("seal-next-key", next_key, FORGED, "is not signed by", "another next key"),
	RECORDS("epoch-gap", epoch_gap, BAD, "does not begin where", "epochs that do not meet"),
	RECORDS("epoch-ends-early", epoch_ends_early, BAD, NULL, "an epoch that ends before it begins"),
	RECORDS("clock-back", clock_back, BAD, "went back", "a clock that goes back"),
	RECORDS("commitment", commitment, FORGED, "is not what was sealed", "another commitment"),
	RECORDS("salt", salt, FORGED, "is not what was sealed", "another salt"),
	RECORDS("losses-down", losses_down, BAD, "a cumulative counter went down", "losses that go down"),
	RECORDS("losses-vanish", losses_vanish, BAD, "a cumulative counter went down", "losses that vanish"),
	RECORDS("losses-overflow", losses_overflow, BAD, "add up to more", "counters that overflow"),
	RECORDS("losses-hidden", losses_hidden_at_end, BAD, "accounted for", "more recorded than fired"),
	RECORDS("count-more", count_more, BAD, "a seal counts more events", "more rows counted than there are"),
	RECORDS("count-overflow", count_overflow, BAD, "a seal counts more events", "counts that overflow"),
	RECORDS("chunks-out-of-order", chunks_reordered, BAD, "out of order", "chunks out of order, all repaired"),
	RECORDS("end-of-other-capture", end_other_capture, FORGED, "does not belong", "an END of another capture"),
	RECORDS("end-more-epochs", end_more_epochs, FORGED, "does not belong", "an END of more epochs"),
	RECORDS("end-chain", end_last_seal, FORGED, "does not belong", "an END after another seal"),
	RECORDS("end-reason-0", end_reason_0, BAD, "reason", "no reason to end"),
	RECORDS("end-reason-later", end_reason_later, ATTACK_SAME, NULL, "a reason of a later version: to be read"),
	RECORDS("end-clock-back", end_clock_back, BAD, "went back", "a clock that goes back at the end"),
	RECORDS("end-total", end_total_more, BAD, "counts other events", "a total one more"),
	RECORDS("end-without-totals", end_without_totals, BAD, "counts other events", "no totals"),
	RECORDS("end-without-losses", end_without_losses, BAD, "a cumulative counter went down", "no losses in END"),
	RECORDS("chunks-max", chunks_most, VERDICT_OK_REDACTED, NULL,
		"as many chunks as may be, the new ones withheld"),
	RECORDS("chunks-above", chunks_above, BAD, NULL, "one chunk more than may be"),
	RECORDS("rows-max", rows_most, ATTACK_SAME, NULL, "a chunk with as many rows as may be"),
	RECORDS("rows-above", rows_above, BAD, "is out of bounds", "a chunk with one row more than may be"),
	RECORDS("raw-max", raw_most, ATTACK_SAME, NULL, "a chunk with as many raw bytes as may be"),
	RECORDS("raw-above", raw_above, BAD, "is out of bounds", "a chunk with one raw byte more than may be"),
	RECORDS("text-0", text_0, ATTACK_SAME, NULL, "empty texts"),
	RECORDS("text-max", text_most, ATTACK_SAME, NULL, "texts as long as may be"),
	RECORDS("text-above", text_above, BAD, "limit 4096", "texts one byte longer than may be"),
	RECORDS("text-cut", text_cut, BAD, "does not fit", "a text that is shorter than it claims"),
	RECORDS("text-overflow", text_overflow, BAD, "does not fit", "a text that claims 2^64-1 bytes"),
	RECORDS("text-hostile", text_hostile, ATTACK_SAME, NULL,
		"texts with escape sequences, markup, SQL, no UTF-8: to be shown escaped"),
	RECORDS("bomb-columns", bomb_of_columns, BAD, "at most", "a few bytes that claim more values than may be"),
	RECORDS("bomb-lz4", bomb_of_lz4, BAD, NULL, "an LZ4 frame that yields 64 MiB and claims little"),
	RECORDS("lz4-yields-less", lz4_yields_less, BAD, NULL, "an LZ4 frame that yields less than it claims"),
	RECORDS("lz4-no-content-checksum", lz4_without_content_checksum, BAD, "not of the form",
		"an LZ4 frame without a content checksum"),
	RECORDS("lz4-no-block-checksums", lz4_without_block_checksums, BAD, "not of the form",
		"an LZ4 frame without block checksums"),
	RECORDS("lz4-no-size", lz4_without_size, BAD, "not of the form", "an LZ4 frame without its content's size"),
	RECORDS("lz4-dictionary", lz4_with_dictionary, BAD, "not of the form", "an LZ4 frame with a dictionary"),
	RECORDS("lz4-two-frames", lz4_two_frames, BAD, "another length", "two LZ4 frames in a chunk"),
	RECORDS("lz4-hidden-frame", lz4_hidden_frame, BAD, "another length", "a skippable frame hidden in a chunk"),
	RECORDS("lz4-cut", lz4_cut, BAD, NULL, "an LZ4 frame without its last byte"),
	RECORDS("lz4-damaged", lz4_damaged, BAD, NULL, "an LZ4 frame with a changed byte, committed to"),
	{0},
};
