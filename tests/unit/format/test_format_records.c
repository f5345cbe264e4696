/* SPDX-License-Identifier: Apache-2.0 */
/* HEADER, SEAL and END by themselves: to bytes and back, every cut, and each length and feature that is not so. */
#include "tests/unit/sample.h"

#include "format/frames.h"

/* A header with the sample's schema. */
struct made_header {
	struct header h;
	struct bytes out; /* the frame; its payload is behind FRAME_HEAD_BYTES */
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
	for (unsigned bit = 0; bit < 64; bit++) {
		if ((uint64_t)FEATURES_KNOWN >> bit & 1)
			continue;
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
	assert_int_equal(seal_parse(&e, big, SEAL_BYTES_MAX, 0, false, 0, &why), ERR_FORMAT);
	assert_non_null(strstr(why.text, "does not fit its tables"));
	assert_int_equal(seal_parse(&e, big, SEAL_BYTES_MAX + 1, 0, false, 0, &why), ERR_FORMAT);
	assert_non_null(strstr(why.text, "out of bounds"));
	big[END_AT_REASON] = 1;
	assert_int_equal(end_parse(&end, big, END_BYTES_MAX, 0, 0, &why), ERR_FORMAT);
	assert_non_null(strstr(why.text, "does not fit its tables"));
	assert_int_equal(end_parse(&end, big, END_BYTES_MAX + 1, 0, 0, &why), ERR_FORMAT);
	assert_non_null(strstr(why.text, "out of bounds"));
	free(big);
	clear_header(&m);
}

/* --- extensions --- */

/* A header with extensions, made by `fill`; parsed again into *h. */
static void comes_back(struct made_header *m, struct header *h, uint64_t features, void (*fill)(struct header *h))
{
	struct fault why;
	uint8_t *schema;
	size_t len;

	make_header(m, features);
	fill(&m->h);
	bytes_reset(&m->out);
	assert_int_equal(schema_encode(&m->h.schema, &schema, &len, &why), 0);
	header_encode(&m->out, &m->h, schema, len);
	free(schema);
	assert_false(m->out.failed);
	memset(m->out.data + m->out.len - SIGNATURE_BYTES, 6, SIGNATURE_BYTES);
	assert_int_equal(parse_header(h, m->out.data + FRAME_HEAD_BYTES, m->out.len - FRAME_HEAD_BYTES, &why), 0);
}

static void fill_series(struct header *h)
{
	memset(h->series, 8, SERIES_ID_BYTES);
	h->series_number = h->incompatible & FEATURE_CONTINUES ? 0x102030405060708 : 1;
	memset(h->previous_end, 9, HASH_BYTES);
	memset(h->challenge, 10, CHALLENGE_BYTES_MAX);
	h->challenge_bytes = h->incompatible & FEATURE_CONTINUES ? CHALLENGE_BYTES_MAX : 1;
}

static void a_series_comes_back_with_the_end_before_where_there_is_one(void **state)
{
	static const uint8_t none[HASH_BYTES];
	struct made_header m;
	struct header h;

	(void)state;
	for (uint64_t continues = 0; continues <= FEATURE_CONTINUES; continues++) {
		comes_back(&m, &h, continues | FEATURE_EXTENSIONS, fill_series);
		assert_memory_equal(h.series, m.h.series, SERIES_ID_BYTES);
		assert_int_equal(h.series_number, m.h.series_number);
		assert_memory_equal(h.previous_end, continues ? m.h.previous_end : none, HASH_BYTES);
		assert_int_equal(h.challenge_bytes, m.h.challenge_bytes);
		assert_memory_equal(h.challenge, m.h.challenge, m.h.challenge_bytes);
		assert_int_equal(h.nlater, 0);
		assert_int_equal(h.schema.nprobes, SAMPLE_NPROBES);
		header_clear(&h);
		clear_header(&m);
	}
}

/* Extensions as bytes in place of a header's schema, which then is cut: the fault says how far it was read. */
static int parse_extensions(uint64_t features, const void *bytes, size_t n, struct fault *why)
{
	uint8_t payload[HEADER_AT_SCHEMA + HASH_BYTES + 4096 + SIGNATURE_BYTES] = {0};
	size_t at = HEADER_AT_SCHEMA + (features & FEATURE_CONTINUES ? HASH_BYTES : 0);
	struct made_header m;
	struct header h;
	int r;

	assert_true(n <= 4096);
	make_header(&m, features & FEATURE_CONTINUES);
	memcpy(payload, m.out.data + FRAME_HEAD_BYTES, HEADER_AT_SCHEMA);
	payload[HEADER_AT_INCOMPATIBLE] = (uint8_t)(features | FEATURE_EXTENSIONS);
	memcpy(payload + at, bytes, n);
	r = parse_header(&h, payload, at + n + SIGNATURE_BYTES, why);
	if (r == 0)
		header_clear(&h);
	clear_header(&m);
	return r;
}

#define NONE "\0\0\0\0"
#define ONE "\1\0\0\0"
#define ABOVE "\1\0\1\0" /* APPENDIX_BYTES_MAX and one */
#define EMPTY_SCHEMA "\0\0\0\0\0\0"
#define SERIES_OF(n)                                                                                                   \
	"\1\0\x18\0"                                                                                                   \
	"0123456789abcdef" n "\0\0\0\0\0\0\0"
#define HASH32 "0123456789abcdef0123456789abcdef"

static void an_extension_that_breaks_its_form_is_refused(void **state)
{
	static const struct {
		const char *bytes;
		size_t n;
		uint64_t features;
		int code;
		const char *says;
	} cases[] = {
#define CASE(bytes, features, code, says) {bytes, sizeof(bytes) - 1, features, code, says}
		CASE("\1" SERIES_OF("\1") EMPTY_SCHEMA, 0, 0, NULL), CASE("", 0, ERR_FORMAT, "not from 1 to 32"),
		CASE("\0" EMPTY_SCHEMA, 0, ERR_FORMAT, "not from 1 to 32"),
		CASE("\41" SERIES_OF("\1") EMPTY_SCHEMA, 0, ERR_FORMAT, "not from 1 to 32"),
		CASE("\1\1\0\x18", 0, ERR_FORMAT, "cut inside its extensions"),
		CASE("\1\1\0\x18\0"
		     "0123456789abcdef\1\0\0\0\0\0\0",
		     0, ERR_FORMAT, "cut inside its extensions"),
		CASE("\2" SERIES_OF("\1") SERIES_OF("\1") EMPTY_SCHEMA, 0, ERR_FORMAT, "out of order"),
		CASE("\1\0\0\0\0" EMPTY_SCHEMA, 0, ERR_FORMAT, "out of order"),
		CASE("\1" SERIES_OF("\0") EMPTY_SCHEMA, 0, ERR_FORMAT, "capture 0 of a series"),
		CASE("\1" SERIES_OF("\2") EMPTY_SCHEMA, 0, ERR_FORMAT, "does not continue"),
		CASE("\1\1\0\x38\0"
		     "0123456789abcdef\2\0\0\0\0\0\0\0" HASH32 EMPTY_SCHEMA,
		     FEATURE_CONTINUES, 0, NULL),
		CASE("\1\1\0\x38\0"
		     "0123456789abcdef\1\0\0\0\0\0\0\0" HASH32 EMPTY_SCHEMA,
		     FEATURE_CONTINUES, ERR_FORMAT, "capture 1 of a series continues"),
		CASE("\1\1\0\x38\0"
		     "0123456789abcdef\1\0\0\0\0\0\0\0" HASH32 EMPTY_SCHEMA,
		     0, ERR_FORMAT, "takes 56 bytes, must be 24"),
		CASE("\1" SERIES_OF("\2") EMPTY_SCHEMA, FEATURE_CONTINUES, ERR_FORMAT, "takes 24 bytes, must be 56"),
		CASE("\1\2\0\1\0c" EMPTY_SCHEMA, 0, 0, NULL),
		CASE("\1\2\0\0\0" EMPTY_SCHEMA, 0, ERR_FORMAT, "takes 0 bytes, must be 1 to 64"),
		CASE("\1\2\0\x40\0" HASH32 HASH32 EMPTY_SCHEMA, 0, 0, NULL),
		CASE("\1\2\0\x41\0" HASH32 HASH32 "." EMPTY_SCHEMA, 0, ERR_FORMAT, "takes 65 bytes"),
		/* A second signature: algorithm, bytes in HEADER, SEAL and END, name. */
		CASE("\1\3\0\x10\0"
		     "\5\0" NONE ONE NONE "\1a" EMPTY_SCHEMA,
		     0, 0, NULL),
		CASE("\1\3\0\x10\0"
		     "\0\0" NONE ONE NONE "\1a" EMPTY_SCHEMA,
		     0, ERR_FORMAT, "is invalid or out of bounds"),
		CASE("\1\3\0\x10\0"
		     "\5\0" ABOVE ONE NONE "\1a" EMPTY_SCHEMA,
		     0, ERR_FORMAT, "is invalid or out of bounds"),
		CASE("\1\3\0\x10\0"
		     "\5\0" NONE ONE ABOVE "\1a" EMPTY_SCHEMA,
		     0, ERR_FORMAT, "is invalid or out of bounds"),
		CASE("\1\3\0\x10\0"
		     "\5\0" NONE ONE NONE "\2a" EMPTY_SCHEMA,
		     0, ERR_FORMAT, "is cut or has no name"),
		CASE("\1\3\0\xcf\0"
		     "\5\0" NONE ONE NONE "\xc0" HASH32 HASH32 HASH32 HASH32 HASH32 HASH32 EMPTY_SCHEMA,
		     0, ERR_FORMAT, "is cut or has no name"),
		/* Types of later versions. */
		CASE("\2" SERIES_OF("\1") "\xff\x7f\2\0hi" EMPTY_SCHEMA, 0, 0, NULL),
		CASE("\2" SERIES_OF("\1") "\0\x80\2\0hi" EMPTY_SCHEMA, 0, ERR_VERSION, "extension 32768"),
		CASE("\2\xff\x7f\2\0hi" SERIES_OF("\1") EMPTY_SCHEMA, 0, ERR_FORMAT, "out of order"),
		CASE("\2\xfe\x7f\2\0hi\xff\x7f\0\0" EMPTY_SCHEMA "x", 0, ERR_FORMAT, NULL), /* the schema is wrong */
#undef CASE
	};
	struct fault why;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(parse_extensions(cases[i].features, cases[i].bytes, cases[i].n, &why), cases[i].code);
		if (cases[i].says && !strstr(why.text, cases[i].says))
			fail_msg("case %zu says: %s", i, why.text);
	}
}

static void fill_later(struct header *h)
{
	static const uint8_t later[] = {0x70, 1, 2, 0, 'h', 'i', 0x71, 1, 1, 0, '!'};

	fill_series(h);
	h->later = malloc(sizeof(later));
	assert_non_null(h->later);
	memcpy(h->later, later, sizeof(later));
	h->later_bytes = sizeof(later);
	h->nlater = 2;
}

static void extensions_of_later_versions_are_kept_as_they_are(void **state)
{
	struct made_header m;
	struct header h;

	(void)state;
	comes_back(&m, &h, FEATURE_EXTENSIONS, fill_later);
	assert_int_equal(h.nlater, 2);
	assert_int_equal(h.later_bytes, 11);
	assert_memory_equal(h.later, m.h.later, 11);
	assert_int_equal(h.series_number, 1);
	header_clear(&h);
	assert_null(h.later);
	free(m.h.later);
	clear_header(&m);
}

static void every_cut_of_a_header_with_extensions_is_refused(void **state)
{
	struct made_header m;
	struct header h;
	struct fault why;

	(void)state;
	comes_back(&m, &h, FEATURE_CONTINUES | FEATURE_EXTENSIONS, fill_later);
	header_clear(&h);
	for (size_t n = 0; n < m.out.len - FRAME_HEAD_BYTES; n++)
		assert_int_equal(parse_header(&h, m.out.data + FRAME_HEAD_BYTES, n, &why), ERR_FORMAT);
	free(m.h.later);
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
		cmocka_unit_test(a_series_comes_back_with_the_end_before_where_there_is_one),
		cmocka_unit_test(an_extension_that_breaks_its_form_is_refused),
		cmocka_unit_test(extensions_of_later_versions_are_kept_as_they_are),
		cmocka_unit_test(every_cut_of_a_header_with_extensions_is_refused),
	};

	if (sodium_init() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
