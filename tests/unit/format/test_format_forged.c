/* SPDX-License-Identifier: Apache-2.0 */
/* Forged fields behind repaired hashes and signatures: the checks of form have to hold by themselves. */
#undef _FORTIFY_SOURCE
#include "format/cursor.h"
#include "tests/unit/faults.h"
#include "tests/unit/forge.h"

/* The events chunk of epoch 0: group launch (3 rows), then group switch. Its first column starts at byte 6. */
#define EVENTS(f) ((f)->raw[0][0].data)
#define COLUMN 6

static void nothing(struct forged *f)
{
	(void)f;
}

#define CHANGE(name, statement)                                                                                        \
	static void name(struct forged *f)                                                                             \
	{                                                                                                              \
		statement;                                                                                             \
	}

CHANGE(width_9, EVENTS(f)[COLUMN] = 9)
CHANGE(width_0, EVENTS(f)[COLUMN] = 0)
CHANGE(rows_0, put_le32(EVENTS(f) + 2, 0))
CHANGE(rows_more, put_le32(EVENTS(f) + 2, 4))
CHANGE(rows_max, put_le32(EVENTS(f) + 2, UINT32_MAX))
static void values_above(struct forged *f)
{
	bytes_reset(&f->raw[0][0]);
	bytes_add_le16(&f->raw[0][0], KIND_launch);
	bytes_add_le32(&f->raw[0][0], CHUNK_VALUES_MAX / NFIELDS_launch + 1);
	for (int i = 0; i < NFIELDS_launch; i++)
		bytes_add_u8(&f->raw[0][0], 0); /* columns of zeros take no bytes */
	f->epochs[0].chunks[0].nrows = CHUNK_VALUES_MAX / NFIELDS_launch + 1;
}

CHANGE(kind_unknown, put_le16(EVENTS(f), 999))
CHANGE(kind_of_other_class, put_le16(EVENTS(f), KIND_thread))
CHANGE(kind_repeated, put_le16(EVENTS(f), KIND_switch))
CHANGE(byte_left_over, bytes_add_u8(&f->raw[0][0], 0))
CHANGE(byte_missing, f->raw[0][0].len--)
CHANGE(first_later, f->epochs[0].chunks[0].first_ns++)
CHANGE(last_later, f->epochs[0].chunks[0].last_ns--)
CHANGE(first_before_epoch, f->epochs[0].chunks[0].first_ns = SAMPLE_BOOT - 1)
CHANGE(last_after_epoch, f->epochs[0].chunks[0].last_ns = f->epochs[0].end_ns)
CHANGE(first_after_last, f->epochs[0].chunks[0].first_ns = f->epochs[0].chunks[0].last_ns + 1)
CHANGE(raw_0, f->epochs[0].chunks[0].raw_bytes = 0)
CHANGE(raw_more, f->epochs[0].chunks[0].raw_bytes++)
CHANGE(raw_max, f->epochs[0].chunks[0].raw_bytes = CHUNK_RAW_MAX)
CHANGE(raw_above, f->epochs[0].chunks[0].raw_bytes = CHUNK_RAW_MAX + 1)
CHANGE(raw_all_ones, f->epochs[0].chunks[0].raw_bytes = UINT32_MAX)
CHANGE(packed_0, f->epochs[0].chunks[0].packed_bytes = 0)
CHANGE(packed_more, f->epochs[0].chunks[0].packed_bytes++)
CHANGE(packed_above, f->epochs[0].chunks[0].packed_bytes = CHUNK_PACKED_MAX + 1)
CHANGE(nrows_0, f->epochs[0].chunks[0].nrows = 0)
CHANGE(nrows_more, f->epochs[0].chunks[0].nrows++)
CHANGE(nrows_fewer, f->epochs[0].chunks[0].nrows--)
CHANGE(nrows_above, f->epochs[0].chunks[0].nrows = CHUNK_ROWS_MAX + 1)
CHANGE(class_other, f->epochs[0].chunks[0].class = CLASS_process)
CHANGE(class_equal_overlap, f->epochs[0].chunks[1].class = CLASS_events)
CHANGE(class_unknown, f->epochs[0].chunks[2].class = 31)
CHANGE(class_unknown_withheld, (f->withheld = 3, f->epochs[0].chunks[2].class = 31))
CHANGE(class_order, f->epochs[0].chunks[0].class = CLASS_symbol)
CHANGE(commitment_other, f->epochs[0].chunks[0].commitment[HASH_BYTES - 1] ^= 1)
CHANGE(salt_other, f->epochs[0].chunks[0].salt[5] ^= 1)
CHANGE(number_skips, f->epochs[1].number = 2)
CHANGE(begin_gap, f->epochs[0].end_ns++)
CHANGE(begin_after_events, f->epochs[1].begin_ns++)
CHANGE(end_before_begin, f->epochs[1].end_ns = f->epochs[1].begin_ns - 1)
CHANGE(seal_of_other_capture, f->epochs[1].capture_id[0] ^= 1)
CHANGE(previous_0, f->spoiled = 1)
CHANGE(previous_1, f->spoiled = 2)
CHANGE(last_seal_other, f->spoiled = 1 + FORGED_EPOCHS)
CHANGE(counts_zero, f->epochs[0].counts[0].count = 0)
CHANGE(counts_more, f->epochs[0].counts[0].count++)
CHANGE(counts_fewer, f->epochs[0].counts[0].count--)
CHANGE(counts_moved, (f->epochs[0].counts[0].count--, f->epochs[0].counts[1].count++))
CHANGE(counts_order, f->epochs[0].counts[1].kind = KIND_launch)
CHANGE(counts_unknown, f->epochs[0].counts[f->epochs[0].ncounts - 1].kind = 9999)
CHANGE(counts_overflow, (f->epochs[0].counts[0].count = UINT64_MAX, f->epochs[0].counts[1].count = 4))
CHANGE(lost_goes_down, f->epochs[1].counters[2].value = 4)
CHANGE(lost_vanishes, f->epochs[1].ncounters = 2)
CHANGE(counter_zero, f->epochs[0].counters[0].value = 0)
CHANGE(counter_order, f->epochs[0].counters[1].id = COUNTER_fired)
CHANGE(counter_of_no_probe, f->epochs[0].counters[f->epochs[0].ncounters - 1].probe = 777)
CHANGE(counter_unknown, f->epochs[0].counters[2].id = 33)
CHANGE(sum_off, f->end.counters[0].value++)
CHANGE(lost_more_at_end, f->end.counters[2].value++)
CHANGE(recorded_off, (f->end.counters[3].value++, f->end.counters[4].value++))
CHANGE(end_lost_vanishes, f->end.ncounters = 2)
CHANGE(totals_off, f->end.totals[0].count++)
CHANGE(totals_missing, f->end.ntotals--)
CHANGE(end_nepochs, f->end.nepochs = 3)
CHANGE(end_of_other_capture, f->end.capture_id[0] ^= 1)
CHANGE(end_reason_none, f->end.reason = 0)
CHANGE(end_reason_future, f->end.reason = 77)
CHANGE(end_status_without, (f->end.has_exit_status = false))
CHANGE(major_2, f->header.major = 2)
CHANGE(minor_9, f->header.minor = 9)
CHANGE(incompatible, f->header.incompatible = 1ull << 63)
CHANGE(compatible, f->header.compatible = UINT64_MAX)
CHANGE(continues, (f->header.incompatible |= FEATURE_CONTINUES, memset(f->header.previous, 7, HASH_BYTES)))
CHANGE(signed_as_before, f->header.incompatible &= ~(uint64_t)FEATURE_PREHASHED)
CHANGE(signed_plainly, f->signed_otherwise = FEATURE_PREHASHED)
CHANGE(prehashed_as_before, (signed_as_before(f), signed_plainly(f)))
static uint8_t *some(size_t n)
{
	uint8_t *bytes = malloc(n);

	assert_non_null(bytes);
	memset(bytes, 0x5e, n);
	return bytes;
}
static void second_in(struct forged *f, uint32_t in_header, uint32_t in_seal, uint32_t in_end)
{
	f->header.incompatible |= FEATURE_EXTENSIONS;
	f->header.second = (struct second_signature){77, in_header, in_seal, in_end, "slh-dsa"};
	f->header.appendix = some(in_header + 1);
	for (unsigned e = 0; e < FORGED_EPOCHS; e++) {
		f->epochs[e].appendix = some(in_seal + 1);
		f->epochs[e].appendix_bytes = in_seal;
	}
	f->end.appendix = some(in_end + 1);
	f->end.appendix_bytes = in_end;
}
CHANGE(second, second_in(f, 7856, 1100, 33))
CHANGE(second_largest, second_in(f, APPENDIX_BYTES_MAX, APPENDIX_BYTES_MAX, APPENDIX_BYTES_MAX))
CHANGE(second_in_end_alone, second_in(f, 0, 0, 1))
CHANGE(second_too_large, second_in(f, 0, APPENDIX_BYTES_MAX + 1, 0))
CHANGE(second_empty, second_in(f, 0, 0, 0))
CHANGE(second_short_seal, (second_in(f, 5, 6, 7), f->epochs[1].appendix_bytes--))
CHANGE(second_long_end, (second_in(f, 5, 6, 7), f->end.appendix_bytes++))
CHANGE(second_unnamed, (second_in(f, 5, 6, 7), f->header.second.name[0] = '\0'))
CHANGE(second_misnamed, (second_in(f, 5, 6, 7), f->header.second.name[0] = '\033'))
CHANGE(start_moved, f->header.start_boot_ns--)
CHANGE(field_renamed, strcpy(f->header.schema.kinds[0].fields[9].name, "strum"))
CHANGE(field_encoding, f->header.schema.kinds[0].fields[9].encoding = ENC_SINT)
CHANGE(field_encoding_future, f->header.schema.kinds[0].fields[3].encoding = 9)
CHANGE(second_time, f->header.schema.kinds[0].fields[3].encoding = ENC_TIME)
CHANGE(kind_flags_future, f->header.schema.kinds[0].flags = 8)
CHANGE(kind_class_unlisted, (f->header.schema.kinds[f->header.schema.nkinds - 1].id = 9000,
			     f->header.schema.kinds[f->header.schema.nkinds - 1].class = 30))
CHANGE(kinds_order, f->header.schema.kinds[f->header.schema.nkinds - 1].id = 36)
CHANGE(kinds_equal, f->header.schema.kinds[1] = f->header.schema.kinds[0])
CHANGE(counter_role_future, f->header.schema.counters[2].role = 9)
CHANGE(probe_yields_nothing_known, f->header.schema.probes[0].kind = 4321)
CHANGE(probe_name_hostile, strcpy(f->header.schema.probes[0].name, "a\033[2J"))
CHANGE(kind_renumbered, f->header.schema.kinds[f->header.schema.nkinds - 1].id = 9000)

/* Content of our own in place of a chunk's: its rows in one group with columns of width 0 after `at`. */
static void put_group(struct bytes *raw, uint16_t kind, uint32_t nrows, size_t ncolumns)
{
	bytes_add_le16(raw, kind);
	bytes_add_le32(raw, nrows);
	for (size_t i = 0; i < ncolumns; i++)
		bytes_add_u8(raw, 0);
}

/* The process chunk has one row, at its first_ns, of kind thread. */
static struct bytes *process_chunk(struct forged *f)
{
	bytes_reset(&f->raw[0][1]);
	return &f->raw[0][1];
}

/* The events chunk anew: 3 launches and 2 switches, all at first_ns. */
static struct bytes *events_chunk(struct forged *f)
{
	f->epochs[0].chunks[0].last_ns = f->epochs[0].chunks[0].first_ns;
	bytes_reset(&f->raw[0][0]);
	return &f->raw[0][0];
}

CHANGE(all_at_once, (put_group(events_chunk(f), KIND_launch, 3, NFIELDS_launch),
		     put_group(&f->raw[0][0], KIND_switch, 2, NFIELDS_switch)))
CHANGE(group_of_other_class, put_group(process_chunk(f), KIND_switch, 1, NFIELDS_switch))
CHANGE(width_9_beside_texts, (put_group(process_chunk(f), KIND_thread, 1, NFIELDS_thread), f->raw[0][1].data[7] = 9))
CHANGE(groups_swapped, (put_group(events_chunk(f), KIND_switch, 2, NFIELDS_switch),
			put_group(&f->raw[0][0], KIND_launch, 3, NFIELDS_launch)))
CHANGE(group_split, (put_group(events_chunk(f), KIND_launch, 1, NFIELDS_launch),
		     put_group(&f->raw[0][0], KIND_launch, 2, NFIELDS_launch),
		     put_group(&f->raw[0][0], KIND_switch, 2, NFIELDS_switch)))
CHANGE(group_empty, (put_group(events_chunk(f), KIND_launch, 3, NFIELDS_launch),
		     put_group(&f->raw[0][0], KIND_alloc, 0, NFIELDS_alloc),
		     put_group(&f->raw[0][0], KIND_switch, 2, NFIELDS_switch)))
CHANGE(first_earlier,
       (put_group(process_chunk(f), KIND_thread, 1, 0), bytes_add_le16(&f->raw[0][1], 0x0101),
	bytes_add(&f->raw[0][1], (uint8_t[NFIELDS_thread]){0}, NFIELDS_thread - 1), f->epochs[0].chunks[1].first_ns--))
CHANGE(last_early, f->epochs[0].chunks[1].last_ns++)
CHANGE(ends_when_it_begins, f->epochs[1].end_ns = f->epochs[1].begin_ns)
CHANGE(clock_back, f->epochs[1].anchor.boot_ns = f->epochs[0].anchor.boot_ns - 1)
CHANGE(mono_back, f->epochs[1].anchor.mono_ns = f->epochs[0].anchor.mono_ns - 1)
CHANGE(clock_before_start, f->epochs[0].anchor.boot_ns = f->header.start_boot_ns - 1)
CHANGE(clock_back_at_end, f->end.anchor.boot_ns = f->epochs[1].anchor.boot_ns - 1)
CHANGE(counts_moved_withheld, (f->withheld = 2, f->epochs[0].counts[0].count--, f->epochs[0].counts[2].count++))
CHANGE(one_withheld, f->withheld = 2)
CHANGE(counters_overflow, f->end.counters[0].value = UINT64_MAX)
CHANGE(noted_is_no_account,
       (f->epochs[0].counters[2].id = COUNTER_unreadable, f->epochs[1].counters[2].id = COUNTER_unreadable,
	f->end.counters[2].id = COUNTER_unreadable))
CHANGE(total_unknown, f->end.totals[f->end.ntotals - 1].kind = 9999)
CHANGE(class_renamed, strcpy(f->header.schema.classes[0].name, "path2"))
CHANGE(class_0, f->header.schema.classes[0].id = 0)
CHANGE(class_32, f->header.schema.classes[f->header.schema.nclasses - 1].id = 32)
CHANGE(counter_renamed, strcpy(f->header.schema.counters[2].name, "lost"))
CHANGE(counter_role, f->header.schema.counters[2].role = ROLE_NOTED)
CHANGE(kind_renamed, strcpy(f->header.schema.kinds[0].name, "lunch"))
static struct kind *command_line(struct forged *f)
{
	struct kind *k = f->header.schema.kinds;

	while (k->id != KIND_command_line)
		k++;
	return k;
}
CHANGE(arguments_as_before, command_line(f)->class = CLASS_path)
CHANGE(arguments_elsewhere, command_line(f)->class = CLASS_host)
CHANGE(kind_class_other, f->header.schema.kinds[0].class = CLASS_process)
CHANGE(kind_flags_other, f->header.schema.kinds[0].flags = KIND_COUNTED)
CHANGE(kind_0, f->header.schema.kinds[0].id = 0)
CHANGE(kind_without_fields, f->header.schema.kinds[0].nfields = 0)
CHANGE(field_unit, f->header.schema.kinds[0].fields[9].unit = UNIT_NUMBER)
CHANGE(first_not_time, f->header.schema.kinds[0].fields[0].encoding = ENC_UINT)
#define LAST_KIND(f) (&(f)->header.schema.kinds[(f)->header.schema.nkinds - 1])
CHANGE(call_cut, (LAST_KIND(f)->id = 9000, LAST_KIND(f)->flags = KIND_CALL, LAST_KIND(f)->nfields = 2))
CHANGE(call_other, (*LAST_KIND(f) = f->header.schema.kinds[0], LAST_KIND(f)->id = 9000,
		    strcpy(LAST_KIND(f)->name, "later"), strcpy(LAST_KIND(f)->fields[1].name, "pod")))
CHANGE(call_later,
       (*LAST_KIND(f) = f->header.schema.kinds[0], LAST_KIND(f)->id = 9000, strcpy(LAST_KIND(f)->name, "later")))
CHANGE(field_encoding_0, (LAST_KIND(f)->id = 9000, LAST_KIND(f)->fields[1].encoding = 0))
CHANGE(kinds_of_one_name, (LAST_KIND(f)->id = 9000, strcpy(LAST_KIND(f)->name, "launch")))
CHANGE(fields_of_one_name,
       (LAST_KIND(f)->id = 9000, strcpy(LAST_KIND(f)->fields[1].name, LAST_KIND(f)->fields[0].name)))
CHANGE(name_empty, LAST_KIND(f)->name[0] = '\0')
CHANGE(probes_equal, f->header.schema.probes[1].id = f->header.schema.probes[0].id)

/* Frames are not signed themselves: the nth of a magic. */
static uint8_t *frame_of(struct forged *f, uint32_t magic, unsigned n)
{
	uint8_t *p = f->out.data + EMPTY_FRAME_BYTES;

	for (;;) {
		assert_true(p + FRAME_HEAD_BYTES < f->out.data + f->out.len);
		if (get_le32(p) == magic && n-- == 0)
			return p;
		p += FRAME_HEAD_BYTES + get_le32(p + 4) +
		     (get_le32(p) == MAGIC_CHUNK ? get_le32(p + FRAME_HEAD_BYTES) : 0);
	}
}

#define FRAME(f, magic, at) (frame_of(f, MAGIC_##magic, 0) + (at))
#define SEALED(f, at) FRAME(f, SEAL, FRAME_HEAD_BYTES + (at))
#define ENDED(f, at) FRAME(f, END, FRAME_HEAD_BYTES + (at))

static void cut_at(struct forged *f, const uint8_t *end)
{
	f->out.len = (size_t)(end - f->out.data);
}

/* The first chunk once more, behind itself. */
static void double_chunk(struct forged *f)
{
	size_t at = (size_t)(FRAME(f, CHUNK, 0) - f->out.data), end = f->out.len;
	size_t n = (size_t)(frame_of(f, MAGIC_CHUNK, 1) - FRAME(f, CHUNK, 0));

	assert_non_null(bytes_grow(&f->out, n));
	memmove(f->out.data + at + n, f->out.data + at, end - at);
}

/* Everything from one place on moves down to another before it. */
static void cut_out(struct forged *f, uint8_t *from, const uint8_t *to)
{
	size_t n = (size_t)(f->out.data + f->out.len - to);

	memmove(from, to, n);
	f->out.len = (size_t)(from + n - f->out.data);
}

static void drop_chunk(struct forged *f)
{
	cut_out(f, FRAME(f, CHUNK, 0), frame_of(f, MAGIC_CHUNK, 1));
}

static void end_instead_of_seal(struct forged *f)
{
	cut_out(f, FRAME(f, SEAL, 0), FRAME(f, END, 0));
}

static void add_many(struct forged *f)
{
	cut_at(f, FRAME(f, END, 0));
	for (unsigned i = 0; i <= EPOCH_CHUNKS_MAX; i++) {
		bytes_add_le32(&f->out, MAGIC_WITHHELD);
		bytes_add_le32(&f->out, 0);
	}
}

CHANGE(empty_frame_other, f->out.data[6] ^= 1)
CHANGE(header_missing, put_le32(FRAME(f, HEADER, 0), MAGIC_WITHHELD))
CHANGE(header_empty, put_le32(FRAME(f, HEADER, 4), 0))
CHANGE(header_tiny, put_le32(FRAME(f, HEADER, 4), HEADER_AT_SCHEMA + SIGNATURE_BYTES - 1))
CHANGE(header_huge, put_le32(FRAME(f, HEADER, 4), HEADER_BYTES_MAX + 1))
CHANGE(header_max, put_le32(FRAME(f, HEADER, 4), HEADER_BYTES_MAX))
CHANGE(schema_longer, put_le32(FRAME(f, HEADER, 4), get_le32(FRAME(f, HEADER, 4)) + 1))
CHANGE(header_signature, FRAME(f, CHUNK, 0)[-1] ^= 1)
CHANGE(chunk_head_21, put_le32(FRAME(f, CHUNK, 4), 21))
CHANGE(chunk_empty, put_le32(FRAME(f, CHUNK, FRAME_HEAD_BYTES), 0))
CHANGE(chunk_huge, put_le32(FRAME(f, CHUNK, FRAME_HEAD_BYTES), CHUNK_PACKED_MAX + 1))
CHANGE(chunk_max, put_le32(FRAME(f, CHUNK, FRAME_HEAD_BYTES), CHUNK_PACKED_MAX))
CHANGE(chunk_twice, double_chunk(f))
CHANGE(chunk_dropped, drop_chunk(f))
CHANGE(withheld_with_bytes, put_le32(FRAME(f, CHUNK, 0), MAGIC_WITHHELD))
CHANGE(many_withheld, add_many(f))
CHANGE(seal_longer, put_le32(FRAME(f, SEAL, 4), get_le32(FRAME(f, SEAL, 4)) + 1))
CHANGE(seal_shorter, put_le32(FRAME(f, SEAL, 4), get_le32(FRAME(f, SEAL, 4)) - 1))
CHANGE(seal_tiny, put_le32(FRAME(f, SEAL, 4), SEAL_AT_TABLES + SIGNATURE_BYTES - 1))
CHANGE(seal_max, put_le32(FRAME(f, SEAL, 4), SEAL_BYTES_MAX))
CHANGE(seal_huge, put_le32(FRAME(f, SEAL, 4), SEAL_BYTES_MAX + 1))
CHANGE(seal_chunks, put_le32(SEALED(f, SEAL_AT_NCHUNKS), EPOCH_CHUNKS_MAX + 1))
CHANGE(seal_counts, put_le32(SEALED(f, SEAL_AT_NCOUNTS), KINDS_MAX + 1))
CHANGE(seal_counters, put_le32(SEALED(f, SEAL_AT_NCOUNTERS), COUNTER_ROWS_MAX + 1))
CHANGE(seal_signature, FRAME(f, END, 0)[-1] ^= 1)
CHANGE(end_longer, (bytes_add_u8(&f->out, 0), put_le32(FRAME(f, END, 4), get_le32(FRAME(f, END, 4)) + 1)))
CHANGE(end_tiny, (put_le32(FRAME(f, END, 4), END_AT_TABLES + SIGNATURE_BYTES - 1)))
CHANGE(end_huge, put_le32(FRAME(f, END, 4), END_BYTES_MAX + 1))
CHANGE(end_totals, put_le32(ENDED(f, END_AT_NTOTALS), KINDS_MAX + 1))
CHANGE(end_counters, put_le32(ENDED(f, END_AT_NCOUNTERS), COUNTER_ROWS_MAX + 1))
CHANGE(end_status_2, put_le32(ENDED(f, END_AT_HAS_STATUS), 2))
CHANGE(end_signature, f->out.data[f->out.len - 1] ^= 1)
CHANGE(end_after_chunk, end_instead_of_seal(f))
CHANGE(zeros_behind_a_seal, (cut_at(f, FRAME(f, END, 0)), put_le64(bytes_grow(&f->out, 8), 0)))
CHANGE(cut_in_a_magic, cut_at(f, FRAME(f, END, 7)))

/* With the feature, and each chunk of the first epoch of this part. */
static void separate(struct forged *f, uint32_t part)
{
	f->header.incompatible |= FEATURE_PARTS;
	for (unsigned e = 0; e < FORGED_EPOCHS; e++) {
		f->epochs[e].parted = true;
		for (uint32_t c = 0; c < f->epochs[e].nchunks; c++)
			f->epochs[e].chunks[c].part = part;
	}
}
CHANGE(parts_none, separate(f, PART_OF_NONE))
CHANGE(parts_one, separate(f, 5))
CHANGE(parts_of_several, separate(f, PART_OF_SEVERAL))
CHANGE(parts_other, (separate(f, 5), f->withheld = 1))
CHANGE(parts_unannounced, (separate(f, 5), f->header.incompatible &= ~(uint64_t)FEATURE_PARTS))
CHANGE(parts_missing, f->header.incompatible |= FEATURE_PARTS)
CHANGE(parts_back,
       (separate(f, 5), f->epochs[0].chunks[1].class = f->epochs[0].chunks[0].class, f->epochs[0].chunks[1].part = 4))

static const struct forgery forgeries[] = {
	{"nothing at all", ON_CONTENT, nothing, VERDICT_OK, NULL},
	{"column 9 bytes wide", ON_CONTENT, width_9, VERDICT_MALFORMED, "3 values 9 bytes wide does not fit"},
	{"column narrower than its values", ON_CONTENT, width_0, VERDICT_MALFORMED,
	 "3 values 200 bytes wide does not fit"},
	{"group of no rows", ON_CONTENT, rows_0, VERDICT_MALFORMED, "a group claims 0 rows"},
	{"group of more rows", ON_CONTENT, rows_more, VERDICT_MALFORMED, "a column of"},
	{"more values than a chunk may have", ON_CONTENT, values_above, VERDICT_MALFORMED, "values, at most 524288"},
	{"group of 2^32-1 rows", ON_CONTENT, rows_max, VERDICT_MALFORMED, "a group claims"},
	{"group of an unknown kind", ON_CONTENT, kind_unknown, VERDICT_MALFORMED,
	 "a group of rows has an unknown, repeated or misplaced kind"},
	{"group of a kind of another class", ON_CONTENT, kind_of_other_class, VERDICT_MALFORMED,
	 "a group of rows has an unknown, repeated or misplaced kind"},
	{"two groups of a kind", ON_CONTENT, kind_repeated, VERDICT_MALFORMED,
	 "a group of rows has an unknown, repeated or misplaced kind"},
	{"a byte left over in a chunk", ON_CONTENT, byte_left_over, VERDICT_MALFORMED, "a group of rows is cut"},
	{"a byte missing in a chunk", ON_CONTENT, byte_missing, VERDICT_MALFORMED, "a column"},
	{"first later than the first row", ON_RECORDS, first_later, VERDICT_MALFORMED,
	 "a chunk's times are not those in its seal"},
	{"last earlier than the last row", ON_RECORDS, last_later, VERDICT_MALFORMED,
	 "a chunk's times are not those in its seal"},
	{"first before the epoch", ON_RECORDS, first_before_epoch, VERDICT_MALFORMED,
	 "a chunk has events outside its epoch's time"},
	{"last after the epoch", ON_RECORDS, last_after_epoch, VERDICT_MALFORMED,
	 "a chunk has events outside its epoch's time"},
	{"first after last", ON_RECORDS, first_after_last, VERDICT_MALFORMED,
	 "a chunk has events outside its epoch's time"},
	{"raw bytes 0", ON_RECORDS, raw_0, VERDICT_MALFORMED, "is out of bounds"},
	{"raw bytes one more", ON_RECORDS, raw_more, VERDICT_MALFORMED,
	 "a chunk's LZ4 frame is not of the form that captures use"},
	{"raw bytes at the limit", ON_RECORDS, raw_max, VERDICT_MALFORMED,
	 "a chunk's LZ4 frame is not of the form that captures use"},
	{"raw bytes above the limit", ON_RECORDS, raw_above, VERDICT_MALFORMED, "is out of bounds"},
	{"raw bytes 2^32-1", ON_RECORDS, raw_all_ones, VERDICT_MALFORMED, "is out of bounds"},
	{"packed bytes 0", ON_RECORDS, packed_0, VERDICT_MALFORMED, "is out of bounds"},
	{"packed bytes one more", ON_RECORDS, packed_more, VERDICT_FORGED, "packed bytes, its seal has"},
	{"packed bytes above the limit", ON_RECORDS, packed_above, VERDICT_MALFORMED, "is out of bounds"},
	{"rows 0", ON_RECORDS, nrows_0, VERDICT_MALFORMED, "is out of bounds"},
	{"rows one more", ON_RECORDS, nrows_more, VERDICT_MALFORMED, "1 rows fewer than in its seal"},
	{"rows one fewer", ON_RECORDS, nrows_fewer, VERDICT_MALFORMED, "a group claims"},
	{"rows above the limit", ON_RECORDS, nrows_above, VERDICT_MALFORMED, "is out of bounds"},
	{"events under another class", ON_RECORDS, class_other, VERDICT_MALFORMED,
	 "the chunks of an epoch are out of order"},
	{"a chunk that begins before the one before it ended", ON_RECORDS, class_equal_overlap, VERDICT_MALFORMED,
	 "the chunks of an epoch are out of order"},
	{"an unknown class", ON_RECORDS, class_unknown, VERDICT_MALFORMED,
	 "a group of rows has an unknown, repeated or misplaced kind"},
	{"an unknown class, withheld", ON_RECORDS, class_unknown_withheld, VERDICT_MALFORMED,
	 "a chunk is of an unknown class"},
	{"classes out of order", ON_RECORDS, class_order, VERDICT_MALFORMED, "the chunks of an epoch are out of order"},
	{"another commitment", ON_RECORDS, commitment_other, VERDICT_FORGED, "is not what was sealed"},
	{"another salt", ON_RECORDS, salt_other, VERDICT_FORGED, "is not what was sealed"},
	{"an epoch number left out", ON_RECORDS, number_skips, VERDICT_FORGED, "the seal of epoch"},
	{"an overlap of epochs", ON_RECORDS, begin_gap, VERDICT_MALFORMED, "does not begin where the one before ended"},
	{"a begin after the first event", ON_RECORDS, begin_after_events, VERDICT_MALFORMED,
	 "a chunk has events outside its epoch's time"},
	{"an epoch that ends before it begins", ON_RECORDS, end_before_begin, VERDICT_MALFORMED,
	 "an epoch ends before it begins"},
	{"a seal of another capture", ON_RECORDS, seal_of_other_capture, VERDICT_FORGED, "the seal of epoch"},
	{"a broken chain at the start", ON_RECORDS, previous_0, VERDICT_FORGED, "the seal of epoch 0 does not follow"},
	{"a broken chain", ON_RECORDS, previous_1, VERDICT_FORGED, "the seal of epoch 1 does not follow"},
	{"an end record after another seal", ON_RECORDS, last_seal_other, VERDICT_FORGED,
	 "the end record does not belong"},
	{"a count of 0", ON_RECORDS, counts_zero, VERDICT_MALFORMED,
	 "the table of event counts is out of order or has a zero"},
	{"a count one more", ON_RECORDS, counts_more, VERDICT_MALFORMED,
	 "a seal counts more events than its chunks hold"},
	{"a count one fewer", ON_RECORDS, counts_fewer, VERDICT_MALFORMED,
	 "a seal counts fewer events than its chunks hold"},
	{"a count moved to another kind", ON_RECORDS, counts_moved, VERDICT_MALFORMED,
	 "a seal counts other events than its chunks hold"},
	{"counts out of order", ON_RECORDS, counts_order, VERDICT_MALFORMED,
	 "the table of event counts is out of order or has a zero"},
	{"a count of an unknown kind", ON_RECORDS, counts_unknown, VERDICT_MALFORMED,
	 "a seal counts events of an unknown kind"},
	{"counts that overflow", ON_RECORDS, counts_overflow, VERDICT_MALFORMED,
	 "a seal counts more events than its chunks hold"},
	{"losses that go down", ON_RECORDS, lost_goes_down, VERDICT_MALFORMED, "a cumulative counter went down"},
	{"losses that vanish", ON_RECORDS, lost_vanishes, VERDICT_MALFORMED, "a cumulative counter went down"},
	{"a counter of 0", ON_RECORDS, counter_zero, VERDICT_MALFORMED,
	 "the table of counters is out of order or has a zero"},
	{"counters out of order", ON_RECORDS, counter_order, VERDICT_MALFORMED,
	 "the table of counters is out of order or has a zero"},
	{"a counter of an unknown probe", ON_RECORDS, counter_of_no_probe, VERDICT_MALFORMED,
	 "a counter is of a probe or kind that the header does not name"},
	{"an unknown counter", ON_RECORDS, counter_unknown, VERDICT_MALFORMED,
	 "a counter is of a probe or kind that the header does not name"},
	{"more fired than accounted for", ON_RECORDS, sum_off, VERDICT_MALFORMED,
	 "fired 10 times, 9 are accounted for"},
	{"more lost than fired", ON_RECORDS, lost_more_at_end, VERDICT_MALFORMED,
	 "fired 9 times, 10 are accounted for"},
	{"more recorded than rows", ON_RECORDS, recorded_off, VERDICT_MALFORMED, "its probes recorded 7"},
	{"losses that vanish at the end", ON_RECORDS, end_lost_vanishes, VERDICT_MALFORMED,
	 "a cumulative counter went down"},
	{"a total one more", ON_RECORDS, totals_off, VERDICT_MALFORMED,
	 "the end record counts other events than the seals"},
	{"a total missing", ON_RECORDS, totals_missing, VERDICT_MALFORMED,
	 "the end record counts other events than the seals"},
	{"an end record of more epochs", ON_RECORDS, end_nepochs, VERDICT_FORGED,
	 "the end record does not belong to the epochs before it"},
	{"an end record of another capture", ON_RECORDS, end_of_other_capture, VERDICT_FORGED,
	 "the end record does not belong to the epochs before it"},
	{"no reason to end", ON_RECORDS, end_reason_none, VERDICT_MALFORMED, "invalid reason or status in END record"},
	{"a reason of a later version", ON_RECORDS, end_reason_future, VERDICT_OK, NULL},
	{"a status without a command", ON_RECORDS, end_status_without, VERDICT_MALFORMED,
	 "invalid reason or status in END record"},
	{"major version 2", ON_RECORDS, major_2, VERDICT_UNCHECKED, "format version 2.1"},
	{"minor version 9", ON_RECORDS, minor_9, VERDICT_OK, NULL},
	{"an incompatible feature", ON_RECORDS, incompatible, VERDICT_UNCHECKED,
	 "needs features that this build does not know (bits"},
	{"plain signatures, as in format 1.0", ON_RECORDS, signed_as_before, VERDICT_OK, NULL},
	/* A file of 48 bytes, signed by minisign's legacy mode, is a header's domain and hash. */
	{"plain signatures where they must not be", ON_RECORDS, signed_plainly, VERDICT_FORGED,
	 "the header is not signed by the key that it names"},
	{"Ed25519ph without its feature bit", ON_RECORDS, prehashed_as_before, VERDICT_FORGED,
	 "the header is not signed by the key that it names"},
	{"a second signature of an unknown algorithm", ON_RECORDS, second, VERDICT_OK, NULL},
	{"as large a one as may be", ON_RECORDS, second_largest, VERDICT_OK, NULL},
	{"one in END alone", ON_RECORDS, second_in_end_alone, VERDICT_OK, NULL},
	{"a larger one", ON_RECORDS, second_too_large, VERDICT_MALFORMED, "is invalid or out of bounds"},
	{"one that takes nothing", ON_RECORDS, second_empty, VERDICT_MALFORMED, "is invalid or out of bounds"},
	{"one that is cut in a seal", ON_RECORDS, second_short_seal, VERDICT_MALFORMED,
	 "length does not fit its tables"},
	{"one that is too long in END", ON_RECORDS, second_long_end, VERDICT_MALFORMED,
	 "length does not fit its tables"},
	{"one without a name", ON_RECORDS, second_unnamed, VERDICT_MALFORMED, "is cut or has no name"},
	{"one with a hostile name", ON_RECORDS, second_misnamed, VERDICT_MALFORMED, "has an invalid name"},
	{"a header that continues another", ON_RECORDS, continues, VERDICT_OK, NULL},
	{"all compatible features", ON_RECORDS, compatible, VERDICT_OK, NULL},
	{"another start", ON_RECORDS, start_moved, VERDICT_MALFORMED,
	 "epoch 0 does not begin where the one before ended"},
	{"a known field renamed", ON_RECORDS, field_renamed, VERDICT_MALFORMED, "a known kind has other fields"},
	{"a known field with another encoding", ON_RECORDS, field_encoding, VERDICT_MALFORMED,
	 "schema: a known kind has other fields"},
	{"an encoding of a later version", ON_RECORDS, field_encoding_future, VERDICT_UNCHECKED,
	 "schema: a field has an encoding that this version does not know"},
	{"an encoding that there never was", ON_RECORDS, field_encoding_0, VERDICT_UNCHECKED,
	 "schema: a field has an encoding that this version does not know"},
	{"a second time field", ON_RECORDS, second_time, VERDICT_MALFORMED,
	 "schema: the time must be the first field, and no other"},
	{"kind flags of a later version", ON_RECORDS, kind_flags_future, VERDICT_UNCHECKED,
	 "schema: a kind has flags that this version does not know"},
	{"a kind of an unlisted class", ON_RECORDS, kind_class_unlisted, VERDICT_MALFORMED,
	 "a kind is in a class that is not listed"},
	{"kinds out of order", ON_RECORDS, kinds_order, VERDICT_MALFORMED, "a table is not in ascending order"},
	{"a kind twice", ON_RECORDS, kinds_equal, VERDICT_MALFORMED, "a table is not in ascending order"},
	{"a counter role of a later version", ON_RECORDS, counter_role_future, VERDICT_UNCHECKED,
	 "schema: a counter has a role that this version does not know"},
	{"a probe that yields an unlisted kind", ON_RECORDS, probe_yields_nothing_known, VERDICT_MALFORMED,
	 "schema: a probe yields a kind that is not listed"},
	{"a probe name with an escape sequence", ON_RECORDS, probe_name_hostile, VERDICT_MALFORMED,
	 "schema: a name is empty, too long or has forbidden characters"},
	{"a kind of a later version", ON_RECORDS, kind_renumbered, VERDICT_OK, NULL},
	{"rows all at one time", ON_CONTENT, all_at_once, VERDICT_OK, NULL},
	{"a group of another class", ON_CONTENT, group_of_other_class, VERDICT_MALFORMED, "misplaced kind 16"},
	{"column 9 bytes wide beside texts", ON_CONTENT, width_9_beside_texts, VERDICT_MALFORMED,
	 "1 values 9 bytes wide does not fit"},
	{"groups out of order", ON_CONTENT, groups_swapped, VERDICT_MALFORMED, "misplaced kind 1"},
	{"a group in two parts", ON_CONTENT, group_split, VERDICT_MALFORMED, "misplaced kind 1"},
	{"a group of no rows between others", ON_CONTENT, group_empty, VERDICT_MALFORMED, "a group claims 0 rows"},
	{"no row at the first time", ON_CONTENT, first_earlier, VERDICT_MALFORMED, "a chunk's times are not those"},
	{"last later than the last row", ON_RECORDS, last_early, VERDICT_MALFORMED, "a chunk's times are not those"},
	{"an epoch that ends where it begins, with events", ON_RECORDS, ends_when_it_begins, VERDICT_MALFORMED,
	 "a chunk has events outside"},
	{"a boot clock that goes back", ON_RECORDS, clock_back, VERDICT_MALFORMED, "the clock of epoch 1 went back"},
	{"a monotonic clock that goes back", ON_RECORDS, mono_back, VERDICT_MALFORMED,
	 "the clock of epoch 1 went back"},
	{"a clock before the start", ON_RECORDS, clock_before_start, VERDICT_MALFORMED,
	 "the clock of epoch 0 went back"},
	{"a clock that goes back at the end", ON_RECORDS, clock_back_at_end, VERDICT_MALFORMED,
	 "the clock of the end record went back"},
	{"one chunk withheld", ON_RECORDS, one_withheld, VERDICT_OK_REDACTED, NULL},
	{"a count moved to a kind that is withheld", ON_RECORDS, counts_moved_withheld, VERDICT_MALFORMED,
	 "a seal counts other events"},
	{"counters that overflow", ON_RECORDS, counters_overflow, VERDICT_MALFORMED, "add up to more than can be"},
	{"a loss told as a note", ON_RECORDS, noted_is_no_account, VERDICT_MALFORMED,
	 "fired 9 times, 4 are accounted for"},
	{"a total of an unknown kind", ON_RECORDS, total_unknown, VERDICT_MALFORMED,
	 "the end record counts events of an unknown kind"},
	{"a known class renamed", ON_RECORDS, class_renamed, VERDICT_MALFORMED, "a known class has another name"},
	{"class 0", ON_RECORDS, class_0, VERDICT_MALFORMED, "a class number is out of range"},
	{"class 32", ON_RECORDS, class_32, VERDICT_MALFORMED, "a class number is out of range"},
	{"a known counter renamed", ON_RECORDS, counter_renamed, VERDICT_MALFORMED,
	 "a known counter has another name or role"},
	{"a known counter in another role", ON_RECORDS, counter_role, VERDICT_MALFORMED,
	 "a known counter has another name or role"},
	{"a known kind renamed", ON_RECORDS, kind_renamed, VERDICT_MALFORMED,
	 "a known kind has another name, class or flags"},
	{"arguments in class path, as in format 1.0", ON_RECORDS, arguments_as_before, VERDICT_OK, NULL},
	{"arguments in a third class", ON_RECORDS, arguments_elsewhere, VERDICT_MALFORMED,
	 "a known kind has another name, class or flags"},
	{"a known kind in another class", ON_RECORDS, kind_class_other, VERDICT_MALFORMED,
	 "a known kind has another name, class or flags"},
	{"a known kind with other flags", ON_RECORDS, kind_flags_other, VERDICT_MALFORMED,
	 "a known kind has another name, class or flags"},
	{"kind 0", ON_RECORDS, kind_0, VERDICT_MALFORMED, "a kind has number 0 or no fields"},
	{"a kind without fields", ON_RECORDS, kind_without_fields, VERDICT_MALFORMED,
	 "a kind has number 0 or no fields"},
	{"a known field with another unit", ON_RECORDS, field_unit, VERDICT_MALFORMED, "a known kind has other fields"},
	{"a first field that is no time", ON_RECORDS, first_not_time, VERDICT_MALFORMED,
	 "the time must be the first field"},
	{"a call of a later version", ON_RECORDS, call_later, VERDICT_OK, NULL},
	{"a call with two fields", ON_RECORDS, call_cut, VERDICT_MALFORMED, "lacks a call's fields"},
	{"a call with another field", ON_RECORDS, call_other, VERDICT_MALFORMED, "lacks a call's fields"},
	{"two kinds of one name", ON_RECORDS, kinds_of_one_name, VERDICT_MALFORMED, "two kinds have one name"},
	{"two fields of one name", ON_RECORDS, fields_of_one_name, VERDICT_MALFORMED, "two fields of one name"},
	{"a kind without a name", ON_RECORDS, name_empty, VERDICT_MALFORMED, "a name is empty"},
	{"two probes of one number", ON_RECORDS, probes_equal, VERDICT_MALFORMED, "a table is not in ascending order"},
	{"another empty frame", ON_BYTES, empty_frame_other, VERDICT_MALFORMED, "it does not begin as one"},
	{"no header", ON_BYTES, header_missing, VERDICT_MALFORMED, "the header is missing"},
	{"a header of no bytes", ON_BYTES, header_empty, VERDICT_MALFORMED, "a frame claims 0 bytes"},
	{"a header too small for its parts", ON_BYTES, header_tiny, VERDICT_MALFORMED, "its header is not one of ours"},
	{"a header above the limit", ON_BYTES, header_huge, VERDICT_MALFORMED, "a frame claims"},
	{"a header longer than the file", ON_BYTES, header_max, VERDICT_MALFORMED, "the file ends inside its header"},
	{"a schema with a byte left over", ON_BYTES, schema_longer, VERDICT_MALFORMED, "bytes are left over"},
	{"another signature of the header", ON_BYTES, header_signature, VERDICT_FORGED, "the header is not signed"},
	{"a chunk's head of 21 bytes", ON_BYTES, chunk_head_21, VERDICT_MALFORMED, "a chunk frame of 21 bytes"},
	{"a chunk of no bytes", ON_BYTES, chunk_empty, VERDICT_MALFORMED, "a chunk claims 0 packed bytes"},
	{"a chunk above the limit", ON_BYTES, chunk_huge, VERDICT_MALFORMED, "a chunk claims 4259841 packed bytes"},
	{"a chunk longer than the file", ON_BYTES, chunk_max, VERDICT_MALFORMED,
	 "the file ends inside a chunk, but its capture goes on at byte"},
	{"a chunk twice", ON_BYTES, chunk_twice, VERDICT_FORGED, "lists 3 chunks, 4 precede it"},
	{"a chunk missing", ON_BYTES, chunk_dropped, VERDICT_FORGED, "lists 3 chunks, 2 precede it"},
	{"a withheld chunk with bytes", ON_BYTES, withheld_with_bytes, VERDICT_MALFORMED,
	 "a withheld chunk has 20 bytes"},
	{"more chunks than may be", ON_BYTES, many_withheld, VERDICT_MALFORMED, "an epoch has more than 4096 chunks"},
	{"a seal one byte longer", ON_BYTES, seal_longer, VERDICT_MALFORMED, "a seal's length does not fit its tables"},
	{"a seal one byte shorter", ON_BYTES, seal_shorter, VERDICT_MALFORMED,
	 "a seal's length does not fit its tables"},
	{"a seal too small for its parts", ON_BYTES, seal_tiny, VERDICT_MALFORMED,
	 "a seal of 235 bytes is out of bounds"},
	{"a seal longer than the file", ON_BYTES, seal_max, VERDICT_MALFORMED,
	 "the file ends inside a frame of 514796 bytes, but its capture goes on at byte"},
	{"a seal above the limit", ON_BYTES, seal_huge, VERDICT_MALFORMED, "a frame claims"},
	{"too many chunks in a seal", ON_BYTES, seal_chunks, VERDICT_MALFORMED,
	 "a seal's tables are longer than allowed"},
	{"too many counts in a seal", ON_BYTES, seal_counts, VERDICT_MALFORMED,
	 "a seal's tables are longer than allowed"},
	{"too many counters in a seal", ON_BYTES, seal_counters, VERDICT_MALFORMED,
	 "a seal's tables are longer than allowed"},
	{"rows of a process in a chunk of none", ON_RECORDS, parts_none, VERDICT_MALFORMED,
	 "rows that are of no process, or has no process"},
	{"a chunk of a process with rows of all sorts", ON_RECORDS, parts_one, VERDICT_MALFORMED,
	 "a chunk of process 5 has a row of another one"},
	{"rows of none in a chunk of a process", ON_RECORDS, parts_of_several, VERDICT_MALFORMED,
	 "rows that are of no process, or has no process"},
	{"a row of another process", ON_RECORDS, parts_other, VERDICT_MALFORMED,
	 "a chunk of process 5 has a row of another one"},
	{"parts that the header does not announce", ON_RECORDS, parts_unannounced, VERDICT_MALFORMED,
	 "a seal's length does not fit its tables"},
	{"parts that are announced and missing", ON_RECORDS, parts_missing, VERDICT_MALFORMED,
	 "a seal's length does not fit its tables"},
	{"parts that go down", ON_RECORDS, parts_back, VERDICT_MALFORMED, "the chunks of an epoch are out of order"},
	{"another signature of a seal", ON_BYTES, seal_signature, VERDICT_FORGED, "the seal of epoch 1 is not signed"},
	{"an end record one byte longer", ON_BYTES, end_longer, VERDICT_MALFORMED,
	 "the end record's length does not fit"},
	{"an end record too small for its parts", ON_BYTES, end_tiny, VERDICT_MALFORMED,
	 "an end record of 163 bytes is out of bounds"},
	{"an end record above the limit", ON_BYTES, end_huge, VERDICT_MALFORMED, "a frame claims"},
	{"too many totals in the end record", ON_BYTES, end_totals, VERDICT_MALFORMED,
	 "the end record's tables are longer"},
	{"too many counters in the end record", ON_BYTES, end_counters, VERDICT_MALFORMED,
	 "the end record's tables are longer"},
	{"a status that is neither there nor not", ON_BYTES, end_status_2, VERDICT_MALFORMED,
	 "invalid reason or status in END record"},
	{"another signature of the end record", ON_BYTES, end_signature, VERDICT_FORGED,
	 "the end record is not signed"},
	{"an end record in place of a seal", ON_BYTES, end_after_chunk, VERDICT_MALFORMED, "chunks without a seal"},
	{"zeros behind a seal", ON_BYTES, zeros_behind_a_seal, VERDICT_UNSEALED, "all zeros"},
	{"a cut inside a magic", ON_BYTES, cut_in_a_magic, VERDICT_UNSEALED, "the file ends without an end record"},
};

static void every_forged_field_gets_its_verdict_with_hashes_and_seals_repaired(void **state)
{
	unsigned wrong = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(forgeries) / sizeof(forgeries[0]); i++) {
		struct forged f = {0};
		struct verification v;

		forge_load(&f);
		forge_write(&f, &forgeries[i]);
		sample_verdict(f.out.data, f.out.len, &v);
		forge_clear(&f);
		if (v.verdict != forgeries[i].verdict ||
		    (forgeries[i].says && !strstr(v.why.text, forgeries[i].says))) {
			print_error("%s: %s (%s), should be %s (%s)\n", forgeries[i].name, verdict_word(v.verdict),
				    v.why.text, verdict_word(forgeries[i].verdict),
				    forgeries[i].says ? forgeries[i].says : "");
			wrong++;
		}
	}
	assert_int_equal(wrong, 0);
}

/* The verdict checks rows without building them, the cursor builds them: of what is wrong both must say the same. */
static void a_cursor_stops_at_forged_rows_with_the_verifier_s_words(void **state)
{
	unsigned tried = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(forgeries) / sizeof(forgeries[0]); i++) {
		struct forged f = {0};
		struct cursor *cur;
		struct source src;
		struct reader r;
		struct event ev;
		struct fault why;
		int given;

		if (forgeries[i].moment != ON_CONTENT)
			continue;
		forge_load(&f);
		forge_write(&f, &forgeries[i]);
		source_open_memory(&src, f.out.data, f.out.len);
		assert_int_equal(reader_open(&r, &src, &why), 0);
		assert_int_equal(cursor_open(&cur, &r, true, &why), 0);
		while ((given = cursor_next(cur, &ev, &why)) > 0)
			;
		assert_int_equal(given, forgeries[i].verdict == VERDICT_OK ? 0 : ERR_FORMAT);
		if (given < 0)
			assert_non_null(strstr(why.text, forgeries[i].says));
		tried++;
		cursor_close(cur);
		reader_close(&r);
		forge_clear(&f);
	}
	assert_int_equal(tried, 19);
}

static void assert_some(const uint8_t *bytes, size_t n)
{
	uint8_t *as_put = some(n);

	assert_non_null(bytes);
	assert_memory_equal(bytes, as_put, n);
	free(as_put);
}

/* For who knows the algorithm. */
static void a_second_signature_is_read_as_it_was_written(void **state)
{
	const struct forgery forgery = {.moment = ON_RECORDS, .change = second};
	struct forged *f = calloc(1, sizeof(*f));
	struct source src;
	struct reader r;
	struct fault why;

	(void)state;
	assert_non_null(f);
	forge_load(f);
	forge_write(f, &forgery);
	source_open_memory(&src, f->out.data, f->out.len);
	assert_int_equal(reader_open(&r, &src, &why), 0);
	assert_int_equal(r.header.second.header_bytes, 7856);
	assert_some(r.header.appendix, 7856);
	for (uint64_t e = 0; e < r.nepochs; e++) {
		assert_int_equal(r.epochs[e].appendix_bytes, 1100);
		assert_some(r.epochs[e].appendix, 1100);
	}
	assert_int_equal(r.end.appendix_bytes, 33);
	assert_some(r.end.appendix, 33);
	reader_close(&r);
	forge_clear(f);
	free(f);
}

/* What this build cannot check is signed by what it can. */
static void no_byte_of_a_second_signature_can_be_changed(void **state)
{
	const struct forgery forgery = {.moment = ON_RECORDS, .change = second};
	struct forged *f = calloc(1, sizeof(*f));
	unsigned tried = 0;

	(void)state;
	assert_non_null(f);
	forge_load(f);
	forge_write(f, &forgery);
	assert_int_equal(sample_verdict(f->out.data, f->out.len, NULL), VERDICT_OK);
	for (size_t i = 3; i < f->out.len; i++) {
		if (memcmp(f->out.data + i - 3, "\x5e\x5e\x5e", 3) != 0 || i % 7)
			continue;
		f->out.data[i - 2] ^= 1;
		assert_int_equal(sample_verdict(f->out.data, f->out.len, NULL), VERDICT_FORGED);
		f->out.data[i - 2] ^= 1;
		tried++;
	}
	assert_true(tried > 1000);
	forge_clear(f);
	free(f);
}

static void a_second_signature_that_is_longer_than_the_header_is_refused(void **state)
{
	static const uint8_t claim[] = {77, 0, 7856 & 255, 7856 >> 8, 0, 0};
	const struct forgery forgery = {.moment = ON_RECORDS, .change = second};
	struct forged *f = calloc(1, sizeof(*f));
	struct verification v;
	uint8_t *at;

	(void)state;
	assert_non_null(f);
	forge_load(f);
	forge_write(f, &forgery);
	at = memmem(f->out.data, f->out.len, claim, sizeof(claim));
	assert_non_null(at);
	at[3] = 0xff; /* about 65000 bytes, in a header of a tenth of that */
	assert_int_equal(sample_verdict(f->out.data, f->out.len, &v), VERDICT_MALFORMED);
	assert_string_equal(v.why.text, "the header is cut inside its second signature");
	forge_clear(f);
	free(f);
}

static void a_second_signature_that_there_is_no_memory_for_is_no_capture(void **state)
{
#ifdef CAN_FAIL_MALLOC
	const struct forgery forgery = {.moment = ON_RECORDS, .change = second};
	struct forged *f = calloc(1, sizeof(*f));
	struct source src;
	struct reader r;
	struct fault why;
	unsigned long n = 0;
	int opened;

	assert_non_null(f);
	forge_load(f);
	forge_write(f, &forgery);
	source_open_memory(&src, f->out.data, f->out.len);
	do {
		arm(OF_MEMORY, ++n);
		opened = reader_open(&r, &src, &why);
		disarm();
		assert_int_equal(opened, atomic_load(&failed) ? ERR_MEMORY : 0);
	} while (opened < 0);
	assert_true(n > 4);
	reader_close(&r);
	forge_clear(f);
	free(f);
#endif
	(void)state;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_cursor_stops_at_forged_rows_with_the_verifier_s_words),
		cmocka_unit_test(a_second_signature_is_read_as_it_was_written),
		cmocka_unit_test(no_byte_of_a_second_signature_can_be_changed),
		cmocka_unit_test(a_second_signature_that_is_longer_than_the_header_is_refused),
		cmocka_unit_test(a_second_signature_that_there_is_no_memory_for_is_no_capture),
		cmocka_unit_test(every_forged_field_gets_its_verdict_with_hashes_and_seals_repaired),
	};

	if (sodium_init() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
