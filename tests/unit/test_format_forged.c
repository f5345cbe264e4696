/* SPDX-License-Identifier: Apache-2.0 */
/* Forged fields behind repaired hashes and signatures: the checks of form have to hold by themselves. */
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
CHANGE(class_unknown, f->epochs[0].chunks[2].class = 31)
CHANGE(class_order, f->epochs[0].chunks[0].class = CLASS_symbol)
CHANGE(commitment_other, f->epochs[0].chunks[0].commitment[5] ^= 1)
CHANGE(salt_other, f->epochs[0].chunks[0].salt[5] ^= 1)
CHANGE(number_skips, f->epochs[1].number = 2)
CHANGE(begin_gap, f->epochs[1].begin_ns++)
CHANGE(end_before_begin, f->epochs[1].end_ns = f->epochs[1].begin_ns - 1)
CHANGE(seal_of_other_capture, f->epochs[1].capture_id[0] ^= 1)
CHANGE(chain_broken, f->keep_chain = true)
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
CHANGE(start_moved, f->header.start_boot_ns--)
CHANGE(field_renamed, strcpy(f->header.schema.kinds[0].fields[1].name, "dip"))
CHANGE(field_encoding, f->header.schema.kinds[0].fields[3].encoding = ENC_SINT)
CHANGE(field_encoding_future, f->header.schema.kinds[0].fields[3].encoding = 9)
CHANGE(second_time, f->header.schema.kinds[0].fields[3].encoding = ENC_TIME)
CHANGE(kind_flags_future, f->header.schema.kinds[0].flags = 8)
CHANGE(kind_class_unlisted, f->header.schema.kinds[0].class = 30)
CHANGE(kinds_order, f->header.schema.kinds[1].id = 1)
CHANGE(counter_role_future, f->header.schema.counters[2].role = 9)
CHANGE(probe_yields_nothing_known, f->header.schema.probes[0].kind = 4321)
CHANGE(probe_name_hostile, strcpy(f->header.schema.probes[0].name, "a\033[2J"))
CHANGE(kind_renumbered, f->header.schema.kinds[f->header.schema.nkinds - 1].id = 9000)

static const struct forgery forgeries[] = {
	{"nothing at all", true, nothing, VERDICT_OK},
	{"column 9 bytes wide", true, width_9, VERDICT_MALFORMED},
	{"column narrower than its values", true, width_0, VERDICT_MALFORMED},
	{"group of no rows", true, rows_0, VERDICT_MALFORMED},
	{"group of more rows", true, rows_more, VERDICT_MALFORMED},
	{"group of 2^32-1 rows", true, rows_max, VERDICT_MALFORMED},
	{"group of an unknown kind", true, kind_unknown, VERDICT_MALFORMED},
	{"group of a kind of another class", true, kind_of_other_class, VERDICT_MALFORMED},
	{"two groups of a kind", true, kind_repeated, VERDICT_MALFORMED},
	{"a byte left over in a chunk", true, byte_left_over, VERDICT_MALFORMED},
	{"a byte missing in a chunk", true, byte_missing, VERDICT_MALFORMED},
	{"first later than the first row", false, first_later, VERDICT_MALFORMED},
	{"last earlier than the last row", false, last_later, VERDICT_MALFORMED},
	{"first before the epoch", false, first_before_epoch, VERDICT_MALFORMED},
	{"last after the epoch", false, last_after_epoch, VERDICT_MALFORMED},
	{"first after last", false, first_after_last, VERDICT_MALFORMED},
	{"raw bytes 0", false, raw_0, VERDICT_MALFORMED},
	{"raw bytes one more", false, raw_more, VERDICT_MALFORMED},
	{"raw bytes at the limit", false, raw_max, VERDICT_MALFORMED},
	{"raw bytes above the limit", false, raw_above, VERDICT_MALFORMED},
	{"raw bytes 2^32-1", false, raw_all_ones, VERDICT_MALFORMED},
	{"packed bytes 0", false, packed_0, VERDICT_MALFORMED},
	{"packed bytes one more", false, packed_more, VERDICT_FORGED},
	{"packed bytes above the limit", false, packed_above, VERDICT_MALFORMED},
	{"rows 0", false, nrows_0, VERDICT_MALFORMED},
	{"rows one more", false, nrows_more, VERDICT_MALFORMED},
	{"rows one fewer", false, nrows_fewer, VERDICT_MALFORMED},
	{"rows above the limit", false, nrows_above, VERDICT_MALFORMED},
	{"events under another class", false, class_other, VERDICT_MALFORMED},
	{"an unknown class", false, class_unknown, VERDICT_MALFORMED},
	{"classes out of order", false, class_order, VERDICT_MALFORMED},
	{"another commitment", false, commitment_other, VERDICT_FORGED},
	{"another salt", false, salt_other, VERDICT_FORGED},
	{"an epoch number left out", false, number_skips, VERDICT_FORGED},
	{"a gap between epochs", false, begin_gap, VERDICT_MALFORMED},
	{"an epoch that ends before it begins", false, end_before_begin, VERDICT_MALFORMED},
	{"a seal of another capture", false, seal_of_other_capture, VERDICT_FORGED},
	{"a broken chain", false, chain_broken, VERDICT_FORGED},
	{"a count of 0", false, counts_zero, VERDICT_MALFORMED},
	{"a count one more", false, counts_more, VERDICT_MALFORMED},
	{"a count one fewer", false, counts_fewer, VERDICT_MALFORMED},
	{"a count moved to another kind", false, counts_moved, VERDICT_MALFORMED},
	{"counts out of order", false, counts_order, VERDICT_MALFORMED},
	{"a count of an unknown kind", false, counts_unknown, VERDICT_MALFORMED},
	{"counts that overflow", false, counts_overflow, VERDICT_MALFORMED},
	{"losses that go down", false, lost_goes_down, VERDICT_MALFORMED},
	{"losses that vanish", false, lost_vanishes, VERDICT_MALFORMED},
	{"a counter of 0", false, counter_zero, VERDICT_MALFORMED},
	{"counters out of order", false, counter_order, VERDICT_MALFORMED},
	{"a counter of an unknown probe", false, counter_of_no_probe, VERDICT_MALFORMED},
	{"an unknown counter", false, counter_unknown, VERDICT_MALFORMED},
	{"more fired than accounted for", false, sum_off, VERDICT_MALFORMED},
	{"more lost than fired", false, lost_more_at_end, VERDICT_MALFORMED},
	{"more recorded than rows", false, recorded_off, VERDICT_MALFORMED},
	{"losses that vanish at the end", false, end_lost_vanishes, VERDICT_MALFORMED},
	{"a total one more", false, totals_off, VERDICT_MALFORMED},
	{"a total missing", false, totals_missing, VERDICT_MALFORMED},
	{"an end record of more epochs", false, end_nepochs, VERDICT_FORGED},
	{"an end record of another capture", false, end_of_other_capture, VERDICT_FORGED},
	{"no reason to end", false, end_reason_none, VERDICT_MALFORMED},
	{"a reason of a later version", false, end_reason_future, VERDICT_OK},
	{"a status without a command", false, end_status_without, VERDICT_MALFORMED},
	{"major version 2", false, major_2, VERDICT_UNCHECKED},
	{"minor version 9", false, minor_9, VERDICT_OK},
	{"an incompatible feature", false, incompatible, VERDICT_UNCHECKED},
	{"all compatible features", false, compatible, VERDICT_OK},
	{"another start", false, start_moved, VERDICT_MALFORMED},
	{"a known field renamed", false, field_renamed, VERDICT_MALFORMED},
	{"a known field with another encoding", false, field_encoding, VERDICT_MALFORMED},
	{"an encoding of a later version", false, field_encoding_future, VERDICT_UNCHECKED},
	{"a second time field", false, second_time, VERDICT_MALFORMED},
	{"kind flags of a later version", false, kind_flags_future, VERDICT_UNCHECKED},
	{"a kind of an unlisted class", false, kind_class_unlisted, VERDICT_MALFORMED},
	{"kinds out of order", false, kinds_order, VERDICT_MALFORMED},
	{"a counter role of a later version", false, counter_role_future, VERDICT_UNCHECKED},
	{"a probe that yields an unlisted kind", false, probe_yields_nothing_known, VERDICT_MALFORMED},
	{"a probe name with an escape sequence", false, probe_name_hostile, VERDICT_MALFORMED},
	{"a kind of a later version", false, kind_renumbered, VERDICT_OK},
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
		if (v.verdict != forgeries[i].verdict) {
			print_error("%s: %s, should be %s (%s)\n", forgeries[i].name, verdict_word(v.verdict),
				    verdict_word(forgeries[i].verdict), v.why.text);
			wrong++;
		}
	}
	assert_int_equal(wrong, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_forged_field_gets_its_verdict_with_hashes_and_seals_repaired),
	};

	if (sodium_init() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
