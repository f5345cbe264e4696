// SPDX-License-Identifier: Apache-2.0
/*
 * Every length of the format at 0, its maximum, one more, and all ones. Where a hash or a signature covers the length
 * they are repaired, so that the check of the length itself is what refuses.
 */
#include "tests/tools/attacks_remake.h"

#include <stdlib.h>
#include <string.h>

enum where {
	/* In the head of a frame, which nothing signs: `at` from the frame's magic. */
	HEAD_HEADER = 1,
	HEAD_CHUNK,
	HEAD_WITHHELD,
	HEAD_SEAL,
	HEAD_END,
	/* In a payload: `at` from its start; or in the schema, where `at` is one of enum schema_length. */
	IN_SEAL,
	IN_ENTRY,
	IN_END,
	IN_SCHEMA,
	/* In a chunk's raw content: `at` from its start. */
	IN_CONTENT,
};

enum schema_length {
	NCLASSES,
	CLASS_NAME,
	NKINDS,
	KIND_NAME,
	NFIELDS,
	FIELD_NAME,
	NCOUNTERS,
	COUNTER_NAME,
	NPROBES,
	PROBE_NAME
};

/* Where a length is in a schema: of the first class, kind and so on. */
static uint32_t schema_at(const uint8_t *s, enum schema_length what)
{
	uint32_t at = 0, found[PROBE_NAME + 1] = {0};
	uint32_t n = s[at], nfields;

	found[NCLASSES] = at++;
	found[CLASS_NAME] = at + 1;
	for (; n > 0; n--)
		at += 2u + s[at + 1];
	n = get_le16(s + at);
	found[NKINDS] = at;
	at += 2;
	found[KIND_NAME] = at + 4;
	found[NFIELDS] = at + 5 + s[at + 4];
	found[FIELD_NAME] = found[NFIELDS] + 3;
	for (; n > 0; n--) {
		at += 5u + s[at + 4];
		nfields = s[at++];
		for (; nfields > 0; nfields--)
			at += 3u + s[at + 2];
	}
	n = s[at];
	found[NCOUNTERS] = at++;
	found[COUNTER_NAME] = at + 2;
	for (; n > 0; n--)
		at += 3u + s[at + 2];
	found[NPROBES] = at;
	found[PROBE_NAME] = at + 6;
	return found[what];
}

/* Where the schema begins in a header's payload that is in order. */
static size_t schema_start(const uint8_t *payload)
{
	uint64_t features = get_le64(payload + HEADER_AT_INCOMPATIBLE);
	size_t at = HEADER_AT_SCHEMA + (features & FEATURE_CONTINUES ? HASH_BYTES : 0);
	unsigned n = features & FEATURE_EXTENSIONS ? payload[at++] : 0;

	for (; n > 0; n--)
		at += EXTENSION_HEAD_BYTES + get_le16(payload + at + 2);
	return at;
}

/* The nth frame of a magic by chance; len if there is none. */
static size_t find_head(struct attempt *a, uint32_t magic)
{
	size_t at, n = 0, nth = SIZE_MAX;

	for (int pass = 0; pass < 2; pass++) {
		for (at = EMPTY_FRAME_BYTES; a->len - at >= FRAME_HEAD_BYTES;) {
			const uint8_t *p = a->bytes + at;

			if (get_le32(p) == magic && (pass == 0 ? n++, false : nth-- == 0))
				return at;
			at += FRAME_HEAD_BYTES + get_le32(p + 4) +
			      (get_le32(p) == MAGIC_CHUNK ? get_le32(p + FRAME_HEAD_BYTES) : 0);
			if (at > a->len)
				break;
		}
		if (n == 0)
			break;
		nth = pass == 0 ? attack_pick(a, n) : nth;
	}
	return a->len;
}

static int length_in_head(const struct attack *self, struct attempt *a, struct fault *why)
{
	static const uint32_t magic[] = {[HEAD_HEADER] = MAGIC_HEADER,
					 [HEAD_CHUNK] = MAGIC_CHUNK,
					 [HEAD_WITHHELD] = MAGIC_WITHHELD,
					 [HEAD_SEAL] = MAGIC_SEAL,
					 [HEAD_END] = MAGIC_END};
	size_t at = find_head(a, magic[self->where]);

	if (at == a->len)
		return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "the capture has no such frame");
	bytes_add(&a->out, a->bytes, a->len);
	if (!a->out.failed)
		put_le32(a->out.data + at + self->at, (uint32_t)self->value);
	return 0;
}

static int length_in_content(struct remake *m, const struct attack *self, struct attempt *a, struct fault *why)
{
	struct bytes raw = {0};
	uint64_t epoch;
	uint32_t chunk;
	int r = remake_pick(m, a, 0, &epoch, &chunk, why);

	if (r == 0)
		r = remake_raw(m, epoch, chunk, &raw, why);
	if (r == 0 && raw.data[self->at] == (uint8_t)self->value)
		r = fault_set(why, ERR_INPUT, FAULT_NOWHERE, "nothing changes there");
	if (r == 0) {
		for (uint32_t i = 0; i < self->width; i++)
			raw.data[self->at + i] = (uint8_t)(self->value >> (8 * i));
		r = remake_set_raw(m, epoch, chunk, &raw, why);
	}
	bytes_free(&raw);
	return r;
}

static int length_inside(const struct attack *self, struct attempt *a, struct fault *why)
{
	struct remake m;
	const uint8_t *header;
	uint64_t epoch = 0;
	uint32_t chunk = 0;
	int r = remake_load(&m, a->bytes, a->len, why);

	if (r < 0)
		goto out;
	header = m.original.data + EMPTY_FRAME_BYTES + FRAME_HEAD_BYTES;
	m.patch.at = self->at;
	m.patch.width = self->width;
	m.patch.value = self->value;
	if (self->where == IN_CONTENT) {
		r = length_in_content(&m, self, a, why);
	} else if (self->where == IN_SCHEMA) {
		m.patch.part = PART_HEADER;
		m.patch.at = (uint32_t)(schema_start(header) +
					schema_at(header + schema_start(header), (enum schema_length)self->at));
	} else if (self->where == IN_END) {
		m.patch.part = PART_END;
		if (!m.has_end)
			r = fault_set(why, ERR_INPUT, FAULT_NOWHERE, "the capture has no end");
	} else {
		r = remake_pick(&m, a, 0, &epoch, &chunk, why);
		m.patch.part = PART_SEAL;
		m.patch.epoch = epoch;
		if (self->where == IN_ENTRY)
			m.patch.at += SEAL_AT_TABLES + chunk * ENTRY_BYTES;
	}
	if (r == 0)
		r = remake_write(&m, &a->out, why);
out:
	remake_clear(&m);
	return r;
}

/* Four entries for a length: at 0, at its maximum, one more, all ones. */
#define LENGTH(name, attacker, run, where, at, width, max, zero, most, above, ones)                                      \
	{name "-0", attacker, zero, NULL, "length 0", run, where, at, width, 0, NULL},                                   \
		{name "-max", attacker, most, NULL, "the greatest length allowed", run, where, at, width, max, NULL},    \
		{name "-above", attacker, above, NULL, "one more than allowed", run, where, at, width, (max) + 1, NULL}, \
	{                                                                                                                \
		name "-overflow", attacker, ones, NULL, "all ones", run, where, at, width, UINT64_MAX, NULL              \
	}
#define HEAD(name, where, at, max, zero, most, above, ones)                                                            \
	LENGTH(name, ANYONE, length_in_head, where, at, 4, max, zero, most, above, ones)
#define INSIDE(name, where, at, width, max, zero, most, above, ones)                                                   \
	LENGTH(name, INSIDER, length_inside, where, at, width, max, zero, most, above, ones)
#define BAD VERDICT_MALFORMED
#define CUT VERDICT_UNSEALED

const struct attack attacks_on_lengths[] = {
	HEAD("frame-header", HEAD_HEADER, 4, HEADER_BYTES_MAX, BAD, BAD, BAD, BAD),
	HEAD("frame-chunk", HEAD_CHUNK, 4, CHUNK_BYTES, BAD, ATTACK_SAME, BAD, BAD),
	HEAD("frame-packed", HEAD_CHUNK, FRAME_HEAD_BYTES, CHUNK_PACKED_MAX, BAD, BAD, BAD, BAD),
	HEAD("frame-withheld", HEAD_WITHHELD, 4, 0, ATTACK_SAME, ATTACK_SAME, BAD, BAD),
	HEAD("frame-seal", HEAD_SEAL, 4, SEAL_BYTES_MAX, BAD, BAD, BAD, BAD),
	HEAD("frame-end", HEAD_END, 4, END_BYTES_MAX, BAD, CUT, BAD, BAD),
	INSIDE("seal-chunks", IN_SEAL, SEAL_AT_NCHUNKS, 4, EPOCH_CHUNKS_MAX, BAD, BAD, BAD, BAD),
	INSIDE("seal-counts", IN_SEAL, SEAL_AT_NCOUNTS, 4, KINDS_MAX, BAD, BAD, BAD, BAD),
	INSIDE("seal-counters", IN_SEAL, SEAL_AT_NCOUNTERS, 4, COUNTER_ROWS_MAX, BAD, BAD, BAD, BAD),
	INSIDE("entry-raw", IN_ENTRY, ENTRY_AT_RAW_BYTES, 4, CHUNK_RAW_MAX, BAD, BAD, BAD, BAD),
	INSIDE("entry-packed", IN_ENTRY, ENTRY_AT_PACKED_BYTES, 4, CHUNK_PACKED_MAX, BAD, VERDICT_FORGED, BAD, BAD),
	INSIDE("entry-rows", IN_ENTRY, ENTRY_AT_NROWS, 4, CHUNK_ROWS_MAX, BAD, BAD, BAD, BAD),
	INSIDE("entry-first", IN_ENTRY, ENTRY_AT_FIRST, 8, UINT64_MAX - 1, BAD, BAD, BAD, BAD),
	INSIDE("entry-last", IN_ENTRY, ENTRY_AT_LAST, 8, UINT64_MAX - 1, BAD, BAD, BAD, BAD),
	INSIDE("end-totals", IN_END, END_AT_NTOTALS, 4, KINDS_MAX, BAD, BAD, BAD, BAD),
	INSIDE("end-counters", IN_END, END_AT_NCOUNTERS, 4, COUNTER_ROWS_MAX, BAD, BAD, BAD, BAD),
	INSIDE("end-epochs", IN_END, END_AT_NEPOCHS, 8, UINT64_MAX - 1, VERDICT_FORGED, VERDICT_FORGED, VERDICT_FORGED,
	       VERDICT_FORGED),
	INSIDE("schema-classes", IN_SCHEMA, NCLASSES, 1, CLASSES_MAX, ATTACK_REFUSED, BAD, BAD, BAD),
	INSIDE("schema-class-name", IN_SCHEMA, CLASS_NAME, 1, NAME_MAX_BYTES, BAD, BAD, BAD, BAD),
	INSIDE("schema-kinds", IN_SCHEMA, NKINDS, 2, KINDS_MAX, ATTACK_REFUSED, ATTACK_REFUSED, BAD, BAD),
	INSIDE("schema-kind-name", IN_SCHEMA, KIND_NAME, 1, NAME_MAX_BYTES, BAD, BAD, BAD, BAD),
	INSIDE("schema-fields", IN_SCHEMA, NFIELDS, 1, FIELDS_MAX, BAD, ATTACK_REFUSED, BAD, BAD),
	INSIDE("schema-field-name", IN_SCHEMA, FIELD_NAME, 1, NAME_MAX_BYTES, BAD, BAD, BAD, BAD),
	INSIDE("schema-counters", IN_SCHEMA, NCOUNTERS, 1, COUNTERS_MAX, ATTACK_REFUSED, ATTACK_REFUSED, BAD, BAD),
	INSIDE("schema-counter-name", IN_SCHEMA, COUNTER_NAME, 1, NAME_MAX_BYTES, BAD, BAD, BAD, BAD),
	INSIDE("schema-probes", IN_SCHEMA, NPROBES, 2, PROBES_MAX, BAD, BAD, BAD, BAD),
	INSIDE("schema-probe-name", IN_SCHEMA, PROBE_NAME, 1, NAME_MAX_BYTES, BAD, BAD, BAD, BAD),
	INSIDE("group-rows", IN_CONTENT, 2, 4, CHUNK_ROWS_MAX, BAD, BAD, BAD, BAD),
	INSIDE("column-width", IN_CONTENT, 6, 1, 8, BAD, BAD, BAD, BAD),
	{0},
};
