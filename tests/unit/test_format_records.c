/* SPDX-License-Identifier: Apache-2.0 */
/* HEADER, SEAL and END by themselves: to bytes and back, every cut, and each length and feature that is not so. */
#include "tests/unit/sample.h"

#include "format/record.h"

/* A header with the sample's schema. */
struct made_header {
	struct header h;
	struct bytes out; /* the frame; its payload stands behind FRAME_HEAD_BYTES */
};

static void make_header(struct made_header *m, uint64_t incompatible)
{
	struct fault why;
	uint8_t *schema;
	size_t len;

	*m = (struct made_header){.h = {.major = FORMAT_MAJOR,
					.minor = FORMAT_MINOR,
					.compatible = 5,
					.incompatible = incompatible,
					.start_boot_ns = SAMPLE_BOOT,
					.start_wall_ns = SAMPLE_WALL}};
	memset(m->h.capture_id, 1, CAPTURE_ID_BYTES);
	memset(m->h.keynum, 2, KEYNUM_BYTES);
	memset(m->h.identity, 3, PUBLIC_KEY_BYTES);
	memset(m->h.first_key, 4, PUBLIC_KEY_BYTES);
	memset(m->h.previous, 5, HASH_BYTES);
	assert_int_equal(schema_build(&m->h.schema, sample_probes, SAMPLE_NPROBES, &why), 0);
	assert_int_equal(schema_encode(&m->h.schema, &schema, &len, &why), 0);
	header_encode(&m->out, &m->h, schema, len);
	free(schema);
	assert_false(m->out.failed);
	memset(m->out.data + m->out.len - SIGNATURE_BYTES, 6, SIGNATURE_BYTES);
}

static void clear_header(struct made_header *m)
{
	schema_clear(&m->h.schema);
	bytes_free(&m->out);
}

/* Parse `len` bytes that end where their memory ends, so that a read behind them is seen. */
static int parse_header(struct header *h, const uint8_t *payload, size_t len, struct fault *why)
{
	uint8_t *copy = malloc(len ? len : 1);
	int r;

	assert_non_null(copy);
	memcpy(copy, payload, len);
	r = header_parse(h, copy, len, 100, why);
	free(copy);
	return r;
}

static void a_header_comes_back_with_or_without_a_capture_before(void **state)
{
	static const uint8_t none[HASH_BYTES];
	uint8_t hashes[2][HASH_BYTES];

	(void)state;
	for (uint64_t continues = 0; continues <= FEATURE_CONTINUES; continues += FEATURE_CONTINUES) {
		struct made_header m;
		struct header h;
		struct fault why;

		make_header(&m, continues);
		assert_int_equal(parse_header(&h, m.out.data + FRAME_HEAD_BYTES, m.out.len - FRAME_HEAD_BYTES, &why),
				 0);
		assert_int_equal(h.incompatible, continues);
		assert_int_equal(h.compatible, 5);
		assert_int_equal(h.start_boot_ns, SAMPLE_BOOT);
		assert_int_equal(h.start_wall_ns, SAMPLE_WALL);
		assert_memory_equal(h.capture_id, m.h.capture_id, CAPTURE_ID_BYTES);
		assert_memory_equal(h.keynum, m.h.keynum, KEYNUM_BYTES);
		assert_memory_equal(h.identity, m.h.identity, PUBLIC_KEY_BYTES);
		assert_memory_equal(h.first_key, m.h.first_key, PUBLIC_KEY_BYTES);
		assert_memory_equal(h.previous, continues ? m.h.previous : none, HASH_BYTES);
		assert_memory_equal(h.hash, m.h.hash, HASH_BYTES);
		assert_memory_equal(h.signature, m.out.data + m.out.len - SIGNATURE_BYTES, SIGNATURE_BYTES);
		assert_int_equal(h.schema.nprobes, SAMPLE_NPROBES);
		memcpy(hashes[continues], h.hash, HASH_BYTES);
		header_clear(&h);
		clear_header(&m);
	}
	assert_memory_not_equal(hashes[0], hashes[1], HASH_BYTES);
}

static void the_hash_of_the_capture_before_is_signed_too(void **state)
{
	struct made_header m;
	struct header h;
	struct fault why;

	(void)state;
	make_header(&m, FEATURE_CONTINUES);
	for (size_t i = 0; i < HASH_BYTES; i++) {
		m.out.data[FRAME_HEAD_BYTES + HEADER_AT_PREVIOUS + i] ^= 1;
		assert_int_equal(parse_header(&h, m.out.data + FRAME_HEAD_BYTES, m.out.len - FRAME_HEAD_BYTES, &why),
				 0);
		assert_memory_not_equal(h.hash, m.h.hash, HASH_BYTES);
		assert_memory_not_equal(h.previous, m.h.previous, HASH_BYTES);
		header_clear(&h);
		m.out.data[FRAME_HEAD_BYTES + HEADER_AT_PREVIOUS + i] ^= 1;
	}
	clear_header(&m);
}

static void every_cut_of_a_header_is_refused_and_leaves_the_output_alone(void **state)
{
	(void)state;
	for (uint64_t continues = 0; continues <= FEATURE_CONTINUES; continues += FEATURE_CONTINUES) {
		struct header h, before;
		struct made_header m;
		struct fault why;

		make_header(&m, continues);
		memset(&h, 0x5a, sizeof(h));
		before = h;
		for (size_t n = 0; n < m.out.len - FRAME_HEAD_BYTES; n++) {
			assert_int_equal(parse_header(&h, m.out.data + FRAME_HEAD_BYTES, n, &why), ERR_FORMAT);
			assert_memory_equal(&h, &before, sizeof(h));
		}
		clear_header(&m);
	}
}

static void a_header_that_continues_needs_room_to_say_what(void **state)
{
	uint8_t payload[HEADER_AT_SCHEMA + HASH_BYTES + SIGNATURE_BYTES + 7];
	struct made_header m;
	struct header h;
	struct fault why;

	(void)state;
	make_header(&m, FEATURE_CONTINUES);
	memset(payload, 0, sizeof(payload));
	memcpy(payload, m.out.data + FRAME_HEAD_BYTES, HEADER_AT_SCHEMA);
	for (size_t room = 0; room < HASH_BYTES; room++) {
		assert_int_equal(parse_header(&h, payload, HEADER_AT_SCHEMA + room + SIGNATURE_BYTES, &why),
				 ERR_FORMAT);
		assert_non_null(strstr(why.text, "the header is cut before its schema"));
		assert_int_equal(why.offset, 100);
	}
	/* With room for it and nothing else it is the schema that is missing, and said to be where it should be. */
	assert_int_equal(parse_header(&h, payload, HEADER_AT_SCHEMA + HASH_BYTES + SIGNATURE_BYTES, &why), ERR_FORMAT);
	assert_non_null(strstr(why.text, "schema"));
	assert_int_equal(why.offset, 100 + HEADER_AT_SCHEMA + HASH_BYTES);
	/* An empty schema: no classes, kinds, counters and probes. */
	assert_int_equal(parse_header(&h, payload, HEADER_AT_SCHEMA + HASH_BYTES + 6 + SIGNATURE_BYTES, &why), 0);
	assert_memory_equal(h.previous, payload + HEADER_AT_PREVIOUS, HASH_BYTES);
	header_clear(&h);
	assert_int_equal(parse_header(&h, payload, HEADER_AT_SCHEMA + HASH_BYTES + 7 + SIGNATURE_BYTES, &why),
			 ERR_FORMAT);
	clear_header(&m);
}

static void a_feature_bit_that_does_not_fit_the_bytes_is_refused(void **state)
{
	struct made_header m;
	struct header h;
	struct fault why;

	(void)state;
	make_header(&m, 0);
	m.out.data[FRAME_HEAD_BYTES + HEADER_AT_INCOMPATIBLE] = FEATURE_CONTINUES;
	assert_int_equal(parse_header(&h, m.out.data + FRAME_HEAD_BYTES, m.out.len - FRAME_HEAD_BYTES, &why),
			 ERR_FORMAT);
	clear_header(&m);
	make_header(&m, FEATURE_CONTINUES);
	m.out.data[FRAME_HEAD_BYTES + HEADER_AT_INCOMPATIBLE] = 0;
	assert_int_equal(parse_header(&h, m.out.data + FRAME_HEAD_BYTES, m.out.len - FRAME_HEAD_BYTES, &why),
			 ERR_FORMAT);
	clear_header(&m);
}

static void each_feature_that_this_build_does_not_know_is_named(void **state)
{
	struct made_header m;
	struct header h;
	struct fault why;
	char bits[40];

	(void)state;
	for (unsigned bit = 1; bit < 64; bit++) {
		make_header(&m, FEATURE_CONTINUES | 1ull << bit);
		assert_int_equal(parse_header(&h, m.out.data + FRAME_HEAD_BYTES, m.out.len - FRAME_HEAD_BYTES, &why),
				 ERR_VERSION);
		snprintf(bits, sizeof(bits), "(bits %llx)", 1ull << bit);
		assert_non_null(strstr(why.text, bits));
		clear_header(&m);
	}
}

/* The limits of payloads, though a reader bounds a frame before: other callers do not. */
static void a_record_longer_than_its_limit_is_refused(void **state)
{
	struct made_header m;
	struct header h;
	struct epoch e;
	struct end end;
	struct fault why;
	uint8_t *big = calloc(1, HEADER_BYTES_MAX + 1);

	(void)state;
	assert_non_null(big);
	assert_true(SEAL_BYTES_MAX < HEADER_BYTES_MAX && END_BYTES_MAX < HEADER_BYTES_MAX);
	make_header(&m, 0);
	memcpy(big, m.out.data + FRAME_HEAD_BYTES, m.out.len - FRAME_HEAD_BYTES);
	assert_int_equal(header_parse(&h, big, HEADER_BYTES_MAX, 0, &why), ERR_FORMAT);
	assert_non_null(strstr(why.text, "left over"));
	assert_int_equal(header_parse(&h, big, HEADER_BYTES_MAX + 1, 0, &why), ERR_FORMAT);
	assert_non_null(strstr(why.text, "not one of ours"));
	memset(big, 0, HEADER_BYTES_MAX);
	assert_int_equal(seal_parse(&e, big, SEAL_BYTES_MAX, 0, &why), ERR_FORMAT);
	assert_non_null(strstr(why.text, "does not fit its tables"));
	assert_int_equal(seal_parse(&e, big, SEAL_BYTES_MAX + 1, 0, &why), ERR_FORMAT);
	assert_non_null(strstr(why.text, "out of bounds"));
	big[END_AT_REASON] = 1;
	assert_int_equal(end_parse(&end, big, END_BYTES_MAX, 0, &why), ERR_FORMAT);
	assert_non_null(strstr(why.text, "does not fit its tables"));
	assert_int_equal(end_parse(&end, big, END_BYTES_MAX + 1, 0, &why), ERR_FORMAT);
	assert_non_null(strstr(why.text, "out of bounds"));
	free(big);
	clear_header(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_header_comes_back_with_or_without_a_capture_before),
		cmocka_unit_test(the_hash_of_the_capture_before_is_signed_too),
		cmocka_unit_test(every_cut_of_a_header_is_refused_and_leaves_the_output_alone),
		cmocka_unit_test(a_header_that_continues_needs_room_to_say_what),
		cmocka_unit_test(a_feature_bit_that_does_not_fit_the_bytes_is_refused),
		cmocka_unit_test(each_feature_that_this_build_does_not_know_is_named),
		cmocka_unit_test(a_record_longer_than_its_limit_is_refused),
	};

	if (sodium_init() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
