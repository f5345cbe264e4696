/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the format by themselves: columns, LZ4 frames, schemas, session keys, and text made safe to show. */
#include "tests/unit/sample.h"

#include <errno.h>
#include <lz4frame.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "format/columns.h"
#include "format/base/escape.h"
#include "format/pack.h"
#include "format/frames.h"
#include "format/tracepoints.h"
#include "tests/tools/lz4_form.h"

#define MANY 3

/* Decode `n` bytes as a column of MANY values. */
static int decode(const uint8_t *bytes, size_t n, enum encoding enc, uint64_t first_ns, uint64_t v[MANY],
		  struct fault *why)
{
	uint8_t *copy = malloc(n ? n : 1);
	struct column_input in = {copy, copy + n, 0}, checked = in;
	struct fault other = {0};
	uint64_t times[2];
	int r;

	assert_non_null(copy);
	if (n)
		memcpy(copy, bytes, n);
	memset(v, 0xa5, MANY * sizeof(*v)); /* nothing that is there before matters */
	r = column_decode(&in, enc, v, MANY, first_ns, why);
	/* The check without the values says the same. */
	assert_int_equal(column_check(&checked, enc, MANY, first_ns, times, &other), r);
	if (r == 0) {
		assert_int_equal(in.at, in.p - copy);
		assert_ptr_equal(checked.p, in.p);
		assert_int_equal(checked.at, in.at);
	} else {
		assert_string_equal(other.text, why->text);
	}
	if (r == 0 && enc == ENC_TIME) {
		assert_true(times[0] == v[0]);
		assert_true(times[1] == v[MANY - 1]);
	}
	free(copy);
	return r;
}

static void columns_of_extreme_values_come_back(void **state)
{
	static const struct {
		enum encoding enc;
		uint64_t first_ns, v[MANY];
	} cases[] = {
		{ENC_UINT, 0, {0, 0, 0}},          {ENC_UINT, 0, {0, 255, 1}},
		{ENC_UINT, 0, {256, 255, 1}},      {ENC_UINT, 0, {0, UINT64_MAX, 1ull << 56}},
		{ENC_SINT, 0, {0, UINT64_MAX, 1}}, {ENC_SINT, 0, {(uint64_t)INT64_MIN, INT64_MAX, (uint64_t)-128}},
		{ENC_TIME, 5, {5, 5, UINT64_MAX}}, {ENC_TIME, 0, {7, 300, 300}},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct bytes b = {0};
		uint64_t v[MANY];
		struct fault why;

		memcpy(v, cases[i].v, sizeof(v));
		column_encode(&b, cases[i].enc, v, MANY, cases[i].first_ns);
		assert_int_equal(decode(b.data, b.len, cases[i].enc, cases[i].first_ns, v, &why), 0);
		assert_memory_equal(v, cases[i].v, sizeof(v));
		for (size_t n = 0; n < b.len; n++)
			assert_int_equal(decode(b.data, n, cases[i].enc, cases[i].first_ns, v, &why), ERR_FORMAT);
		assert_int_equal(decode(b.data, 0, cases[i].enc, cases[i].first_ns, v, &why), ERR_FORMAT);
		assert_non_null(strstr(why.text, "a column is missing"));
		bytes_free(&b);
	}
}

static void a_column_that_could_be_written_otherwise_is_refused(void **state)
{
	static const uint8_t wide[] = {2, 1, 2, 3, 0, 0, 0}, zeros[] = {1, 0, 0, 0},
			     nine[] = {9, 1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3, 1,
				       2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3},
			     small[] = {1, 0, 0, 1};
	uint64_t v[MANY];
	struct fault why;

	(void)state;
	assert_int_equal(decode(wide, sizeof(wide), ENC_UINT, 0, v, &why), ERR_FORMAT);
	assert_int_equal(decode(zeros, sizeof(zeros), ENC_UINT, 0, v, &why), ERR_FORMAT);
	assert_int_equal(decode(nine, sizeof(nine), ENC_UINT, 0, v, &why), ERR_FORMAT);
	assert_int_equal(decode(small, sizeof(small), ENC_UINT, 0, v, &why), 0);
	assert_int_equal(decode(small, sizeof(small), ENC_TIME, UINT64_MAX - 1, v, &why), 0);
	assert_int_equal(decode(small, sizeof(small), ENC_TIME, UINT64_MAX, v, &why), ERR_FORMAT);
}

/* Differences of 8 bytes: those of the lower planes carry over, too. */
static void times_that_overflow_anywhere_are_refused(void **state)
{
	uint8_t bytes[1 + 8 * MANY];
	uint64_t v[MANY];
	struct fault why;

	(void)state;
	memset(bytes, 0, sizeof(bytes));
	bytes[0] = 8;
	memset(bytes + 1 + 7 * MANY, 0x55, MANY);
	assert_int_equal(decode(bytes, sizeof(bytes), ENC_TIME, 0, v, &why), 0);
	for (size_t plane = 0; plane < 7; plane++)
		memset(bytes + 1 + plane * MANY, 0x55, MANY);
	assert_int_equal(decode(bytes, sizeof(bytes), ENC_TIME, 0, v, &why), 0);
	assert_true(v[MANY - 1] == UINT64_MAX);
	assert_int_equal(decode(bytes, sizeof(bytes), ENC_TIME, 1, v, &why), ERR_FORMAT);
	bytes[1]++;
	assert_int_equal(decode(bytes, sizeof(bytes), ENC_TIME, 0, v, &why), ERR_FORMAT);
	bytes[1]--;
	bytes[1 + 7 * MANY] = 0x56;
	assert_int_equal(decode(bytes, sizeof(bytes), ENC_TIME, 0, v, &why), ERR_FORMAT);
	/* And those of the first row only: beyond it, the times go on from what has come round. */
	memset(bytes + 1, 0, sizeof(bytes) - 1);
	for (size_t plane = 0; plane < 8; plane++)
		bytes[1 + plane * MANY] = 0xff;
	assert_int_equal(decode(bytes, sizeof(bytes), ENC_TIME, 1, v, &why), ERR_FORMAT);
}

#define BLOCK_ROWS (2 * COLUMNS_BLOCK + 9)

/* A column of values that need `width` bytes, decoded in blocks from row `first` on, beside a column of zeros. */
#define PITCH 5

static void check_blocks(enum encoding enc, unsigned width, uint32_t first)
{
	static uint64_t want[BLOCK_ROWS], v[BLOCK_ROWS], times[BLOCK_ROWS], out[COLUMNS_BLOCK * PITCH];
	struct kind kind = {.nfields = 3,
			    .fields = {{.encoding = ENC_TIME}, {.encoding = ENC_UINT}, {.encoding = enc}}};
	struct column columns[3] = {{.width = 0}};
	struct rows rows = {.kind = &kind, .nrows = BLOCK_ROWS, .v = times, .columns = columns};
	struct bytes b = {0};

	for (uint32_t i = 0; i < BLOCK_ROWS; i++) {
		uint64_t raw = (i + 1) * 0x9e3779b97f4a7c15U | 1ULL << 63;

		raw >>= 64 - 8 * width;
		want[i] = v[i] = enc == ENC_SINT ? raw >> 1 ^ (0 - (raw & 1)) : raw;
		times[i] = 1000 + i;
	}
	column_encode(&b, enc, v, BLOCK_ROWS, 0);
	assert_int_equal(b.data[0], width);
	columns[2] = (struct column){b.data + 1, b.data[0]};
	memset(out, 0, sizeof(out));
	while (first < BLOCK_ROWS) {
		uint32_t n = BLOCK_ROWS - first < COLUMNS_BLOCK ? BLOCK_ROWS - first : COLUMNS_BLOCK;

		columns_block(&rows, first, n, out, PITCH);
		for (uint32_t i = 0; i < n; i++) {
			assert_true(out[i * PITCH] == times[first + i]);
			assert_true(out[i * PITCH + 1] == 0);
			assert_true(out[i * PITCH + 2] == want[first + i]);
			assert_true(out[i * PITCH + 3] == 0);
		}
		first += n;
	}
	bytes_free(&b);
}

static void columns_are_decoded_in_blocks_from_any_row_on(void **state)
{
	(void)state;
	for (unsigned width = 1; width <= 8; width++) {
		for (uint32_t first = 0; first < BLOCK_ROWS; first += first < 3 ? 1 : 31) {
			check_blocks(ENC_UINT, width, first);
			check_blocks(ENC_SINT, width, first);
		}
	}
}

static void a_header_of_another_kind_of_file_is_refused(void **state)
{
	struct header h = {.major = FORMAT_MAJOR}, parsed;
	struct bytes out = {0};
	struct schema s;
	uint8_t *schema;
	size_t len;
	struct fault why;

	(void)state;
	assert_int_equal(schema_build(&s, NULL, 0, &why), 0);
	assert_int_equal(schema_encode(&s, &schema, &len, &why), 0);
	header_encode(&out, &h, schema, len);
	assert_int_equal(header_parse(&parsed, out.data + 8, out.len - 8, 0, &why), 0);
	header_clear(&parsed);
	out.data[8 + 7] ^= 1;
	assert_int_equal(header_parse(&parsed, out.data + 8, out.len - 8, 0, &why), ERR_FORMAT);
	bytes_free(&out);
	free(schema);
	schema_clear(&s);
}

static void a_text_is_at_most_its_limit_and_what_is_there(void **state)
{
	uint8_t *bytes = calloc(1, TEXT_MAX + 1);
	struct column_input in = {bytes, bytes + TEXT_MAX + 1, 0};
	uint64_t lengths[2] = {TEXT_MAX, 1};
	const char *text[2];
	struct fault why;

	(void)state;
	assert_non_null(bytes);
	assert_int_equal(column_decode_text(&in, lengths, text, 2, &why), 0);
	assert_ptr_equal(text[1], bytes + TEXT_MAX);
	assert_int_equal(in.at, TEXT_MAX + 1);
	assert_int_equal(column_decode_text(&in, lengths + 1, text, 1, &why), ERR_FORMAT);
	in = (struct column_input){bytes, bytes + TEXT_MAX + 1, 0};
	lengths[0] = TEXT_MAX + 1;
	assert_int_equal(column_decode_text(&in, lengths, text, 1, &why), ERR_FORMAT);
	free(bytes);
}

/* A frame with preferences of our own, of `n` bytes. */
static size_t frame_of(uint8_t *out, size_t room, const uint8_t *raw, size_t n, LZ4F_preferences_t prefs)
{
	size_t packed = LZ4F_compressFrame(out, room, raw, n, &prefs);

	assert_false(LZ4F_isError(packed));
	return packed;
}

static void only_the_one_form_of_lz4_frame_is_unpacked(void **state)
{
	static const uint8_t raw[1000] = {1, 2, 3};
	uint8_t frame[4096], out[1001];
	LZ4F_preferences_t prefs = captures_form(sizeof(raw)), other;
	struct fault why;
	size_t n;

	(void)state;
	n = frame_of(frame, sizeof(frame), raw, sizeof(raw), prefs);
	assert_int_equal(unpack_frame(out, sizeof(raw), frame, n, 0, &why), 0);
	assert_memory_equal(out, raw, sizeof(raw));
	assert_int_equal(unpack_frame(out, sizeof(raw), frame, n + 1, 0, &why), ERR_FORMAT);
	assert_string_equal(why.text, "a chunk's LZ4 frame has another length than in its seal");
	assert_int_equal(unpack_frame(out, sizeof(raw) + 1, frame, n, 0, &why), ERR_FORMAT);
	assert_int_equal(unpack_frame(out, sizeof(raw) - 1, frame, n, 0, &why), ERR_FORMAT);
	for (size_t cut = 0; cut < n; cut++) {
		uint8_t *copy = malloc(cut ? cut : 1);

		assert_non_null(copy);
		memcpy(copy, frame, cut);
		assert_int_equal(unpack_frame(out, sizeof(raw), copy, cut, 0, &why), ERR_FORMAT);
		free(copy);
	}
	frame[n / 2] ^= 1;
	assert_int_equal(unpack_frame(out, sizeof(raw), frame, n, 0, &why), ERR_FORMAT);
	assert_non_null(strstr(why.text, "a chunk does not decompress: ERROR_"));
	other = prefs;
	other.frameInfo.blockChecksumFlag = LZ4F_noBlockChecksum;
	n = frame_of(frame, sizeof(frame), raw, sizeof(raw), other);
	assert_int_equal(unpack_frame(out, sizeof(raw), frame, n, 0, &why), ERR_FORMAT);
	assert_string_equal(why.text, "a chunk's LZ4 frame is not of the form that captures use");
	other = prefs;
	other.frameInfo.contentChecksumFlag = LZ4F_noContentChecksum;
	n = frame_of(frame, sizeof(frame), raw, sizeof(raw), other);
	assert_int_equal(unpack_frame(out, sizeof(raw), frame, n, 0, &why), ERR_FORMAT);
	assert_string_equal(why.text, "a chunk's LZ4 frame is not of the form that captures use");
	other = prefs;
	other.frameInfo.contentSize = 0; /* not reported */
	n = frame_of(frame, sizeof(frame), raw, sizeof(raw), other);
	assert_int_equal(unpack_frame(out, sizeof(raw), frame, n, 0, &why), ERR_FORMAT);
}

/* Blocks of 64 KiB: some that shrink and some that do not, which stand as they are. */
static void any_flipped_bit_of_an_lz4_frame_is_seen(void **state)
{
	static uint8_t raw[3 * 65536 + 100], out[sizeof(raw)], frame[sizeof(raw) + 4096];
	LZ4F_preferences_t prefs = captures_form(sizeof(raw));
	uint64_t x = 1;
	struct fault why;
	size_t n;

	(void)state;
	for (size_t i = 0; i < sizeof(raw); i++) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		raw[i] = i / 65536 == 1 ? (uint8_t)(x >> 56) : (uint8_t)(i / 999);
	}
	prefs.frameInfo.blockSizeID = LZ4F_max64KB;
	n = frame_of(frame, sizeof(frame), raw, sizeof(raw), prefs);
	assert_in_range(n, 65536, 2 * 65536);
	assert_int_equal(unpack_frame(out, sizeof(raw), frame, n, 0, &why), 0);
	assert_memory_equal(out, raw, sizeof(raw));
	/* All bits of what is not stored, and one here and there of what is. */
	for (size_t bit = 0; bit < n * 8; bit++) {
		if (bit / 8 > 600 && bit / 8 < n - 1200 && bit % 401)
			continue;
		frame[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_int_equal(unpack_frame(out, sizeof(raw), frame, n, 0, &why), ERR_FORMAT);
		frame[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	frame[n - 1] ^= 1;
	assert_int_equal(unpack_frame(out, sizeof(raw), frame, n, 0, &why), ERR_FORMAT);
	assert_string_equal(why.text, "a chunk does not decompress: an LZ4 checksum is wrong");
}

static void probes_that_cannot_be_written_are_refused(void **state)
{
	static struct probe many[PROBES_MAX + 1];
	struct probe two[2] = {{"a", 2, KIND_launch}, {"b", 3, 0}};
	struct schema s;
	struct fault why;

	(void)state;
	assert_int_equal(schema_build(&s, two, 2, &why), 0);
	schema_clear(&s);
	two[1].id = 2;
	assert_int_equal(schema_build(&s, two, 2, &why), ERR_INPUT);
	two[1].id = 3;
	two[1].kind = 9999;
	assert_int_equal(schema_build(&s, two, 2, &why), ERR_INPUT);
	two[1].kind = 0;
	strcpy(two[1].name, "a b");
	assert_int_equal(schema_build(&s, two, 2, &why), ERR_INPUT);
	memset(two[1].name, 'x', NAME_MAX_BYTES);
	two[1].name[NAME_MAX_BYTES] = '\0';
	assert_int_equal(schema_build(&s, two, 2, &why), 0);
	schema_clear(&s);
	for (uint16_t i = 0; i <= PROBES_MAX; i++) {
		many[i].id = i;
		strcpy(many[i].name, "p");
	}
	assert_int_equal(schema_build(&s, many, PROBES_MAX, &why), 0);
	schema_clear(&s);
	assert_int_equal(schema_build(&s, many, PROBES_MAX + 1, &why), ERR_INPUT);
}

static void a_schema_from_an_older_version_may_lack_fields_at_the_end(void **state)
{
	struct schema s, back;
	uint8_t *bytes;
	size_t n;
	struct fault why;

	(void)state;
	assert_int_equal(schema_build(&s, sample_probes, SAMPLE_NPROBES, &why), 0);
	s.kinds[0].nfields--;
	assert_int_equal(schema_encode(&s, &bytes, &n, &why), 0);
	assert_int_equal(schema_parse(&back, bytes, n, 0, &why), 0);
	assert_int_equal(back.kinds[0].nfields, NFIELDS_launch - 1);
	schema_clear(&back);
	for (size_t cut = 0; cut < n; cut++) {
		uint8_t *copy = malloc(cut ? cut : 1); /* so that a read behind the end is seen */

		assert_non_null(copy);
		memcpy(copy, bytes, cut);
		assert_int_equal(schema_parse(&back, copy, cut, 0, &why), ERR_FORMAT);
		free(copy);
	}
	bytes[0] = CLASSES_MAX + 1;
	assert_int_equal(schema_parse(&back, bytes, n, 0, &why), ERR_FORMAT);
	assert_non_null(strstr(why.text, "too many classes"));
	bytes[0] = 6;
	bytes[2] = NAME_MAX_BYTES + 1; /* the first name's length */
	assert_int_equal(schema_parse(&back, bytes, n, 0, &why), ERR_FORMAT);
	assert_non_null(strstr(why.text, "too long"));
	free(bytes);
	schema_clear(&s);
}

static void a_name_is_at_most_its_limit_and_what_is_there(void **state)
{
	uint8_t bytes[128] = {1, CLASSES_MAX - 1, NAME_MAX_BYTES};
	struct schema s;
	struct fault why;

	(void)state;
	memset(bytes + 3, 'a', NAME_MAX_BYTES + 1);
	bytes[3 + NAME_MAX_BYTES] = 0; /* no kinds */
	assert_int_equal(schema_parse(&s, bytes, 3 + NAME_MAX_BYTES + 5, 0, &why), 0);
	assert_int_equal(strlen(schema_class_name(&s, CLASSES_MAX - 1)), NAME_MAX_BYTES);
	schema_clear(&s);
	assert_int_equal(schema_parse(&s, bytes, 3 + NAME_MAX_BYTES - 1, 0, &why), ERR_FORMAT);
	assert_non_null(strstr(why.text, "longer than the schema"));
	bytes[2]++;
	bytes[3 + NAME_MAX_BYTES] = 'a';
	assert_int_equal(schema_parse(&s, bytes, 3 + NAME_MAX_BYTES + 6, 0, &why), ERR_FORMAT);
	assert_non_null(strstr(why.text, "too long"));
}

static void a_buffer_does_not_grow_beyond_all_bounds(void **state)
{
	struct bytes b = {0};

	(void)state;
	bytes_add(&b, "abc", 3);
	assert_null(bytes_grow(&b, SIZE_MAX));
	assert_true(b.failed);
	assert_int_equal(b.len, 3);
	bytes_free(&b);
}

static void session_keys_change_with_each_epoch_and_a_child_finds_none(void **state)
{
	static const uint8_t zeros[PUBLIC_KEY_BYTES];
	static const uint8_t hash[HASH_BYTES] = {7};
	uint8_t next[PUBLIC_KEY_BYTES], after[PUBLIC_KEY_BYTES], signature[SIGNATURE_BYTES];
	const uint8_t *gone;
	struct session_keys *s;
	struct fault why;
	int status, pipes[2];
	pid_t child;

	(void)state;
	assert_int_equal(session_open(&s, &why), 0);
	session_sign(s, signature, domain_seal, hash);
	assert_true(crypt_signed_by(signature, domain_seal, hash, session_public(s)));
	assert_false(crypt_signed_by(signature, domain_end, hash, session_public(s)));
	memcpy(next, session_next_public(s), sizeof(next));
	session_advance(s);
	assert_memory_equal(session_public(s), next, sizeof(next));
	memcpy(after, session_next_public(s), sizeof(after));
	assert_memory_not_equal(after, next, sizeof(after));
	session_sign(s, signature, domain_seal, hash);
	assert_true(crypt_signed_by(signature, domain_seal, hash, next));
	session_advance(s);
	assert_memory_equal(session_public(s), after, sizeof(after));
	child = fork();
	assert_true(child >= 0);
	if (child == 0)
		_exit(memcmp(session_public(s), zeros, sizeof(zeros)) != 0 ||
		      memcmp(session_next_public(s), zeros, sizeof(zeros)) != 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	gone = session_public(s);
	session_close(s);
	/* The kernel is asked whether anything still is there. */
	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(write(pipes[1], gone, 1), -1);
	assert_int_equal(errno, EFAULT);
	close(pipes[0]);
	close(pipes[1]);
}

/* Root may lock memory whatever the limit, so a child that is nobody looks. */
static void session_keys_are_locked_in_memory_or_there_are_none(void **state)
{
	static const struct rlimit none = {0, 0};
	int status;
	pid_t child;

	(void)state;
#ifdef __SANITIZE_ADDRESS__
	print_message("# the address sanitizer makes mlock() do nothing\n");
	skip();
#endif
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		struct session_keys *s;
		struct fault why;

		if (setrlimit(RLIMIT_MEMLOCK, &none) < 0 || (geteuid() == 0 && setuid(65534) < 0))
			_exit(2);
		_exit(session_open(&s, &why) != ERR_MEMORY || !strstr(why.text, "ulimit -l"));
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

/* Not a page more of address space: what libsodium takes from the kernel is refused. */
static void without_memory_there_are_no_session_keys(void **state)
{
	static const struct rlimit none = {0, 0};
	int status;
	pid_t child;

	(void)state;
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		struct session_keys *s;
		struct fault why;

		if (setrlimit(RLIMIT_AS, &none) < 0)
			_exit(2);
		_exit(session_open(&s, &why) != ERR_MEMORY || strcmp(why.text, "out of memory") != 0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static void a_chunk_is_bound_to_its_capture_epoch_and_index(void **state)
{
	static const uint8_t id[CAPTURE_ID_BYTES] = {1}, other_id[CAPTURE_ID_BYTES] = {2}, salt[SALT_BYTES] = {3},
			     other_salt[SALT_BYTES] = {4}, frame[] = "frame";
	uint8_t c[6][HASH_BYTES];

	(void)state;
	crypt_commit(c[0], id, 5, 6, salt, frame, 5);
	crypt_commit(c[1], other_id, 5, 6, salt, frame, 5);
	crypt_commit(c[2], id, 6, 6, salt, frame, 5);
	crypt_commit(c[3], id, 5, 5, salt, frame, 5);
	crypt_commit(c[4], id, 5, 6, other_salt, frame, 5);
	crypt_commit(c[5], id, 5, 6, salt, frame, 4);
	for (size_t i = 0; i < 6; i++)
		for (size_t k = 0; k < i; k++)
			assert_memory_not_equal(c[i], c[k], HASH_BYTES);
}

static void errors_of_the_system_keep_their_reason(void **state)
{
	struct fault why;

	(void)state;
	errno = EEXIST;
	assert_int_equal(fault_errno(&why, "cannot %s", "go"), ERR_EXISTS);
	assert_string_equal(why.text, "cannot go: File exists");
	errno = EACCES;
	assert_int_equal(fault_errno(&why, "no"), ERR_DENIED);
	errno = ENOMEM;
	assert_int_equal(fault_errno(&why, "no"), ERR_MEMORY);
	errno = ENOSPC;
	assert_int_equal(fault_errno(NULL, "no"), ERR_IO);
}

static void text_is_made_safe_to_show(void **state)
{
	static const struct {
		const char *in, *terminal, *json;
	} cases[] = {
		{"plain \xc3\xa9 \xf0\x9f\x98\x80", "plain \xc3\xa9 \xf0\x9f\x98\x80",
		 "plain \xc3\xa9 \xf0\x9f\x98\x80"},
		{"\033[2J\n\x7f", "\\x1b[2J\\x0a\\x7f", "\\u001b[2J\\u000a\\u007f"},
		{"a\\\"b", "a\\\\\"b", "a\\\\\\\"b"},
		{"\xc2\x85", "\\u{0085}", "\\u0085"},                    /* a control character of two bytes */
		{"\xe2\x80\xae", "\\u{202e}", "\\u202e"},                /* right to left */
		{"\xe2\x80\xa8", "\\u{2028}", "\\u2028"},                /* line separator */
		{"\xf3\xa0\x81\x81", "\\u{e0041}", "\xf3\xa0\x81\x81"},  /* a tag */
		{"\xf4\x8f\xbf\xbf", "\\u{10ffff}", "\xf4\x8f\xbf\xbf"}, /* the last one */
		{"\xff", "\\xff", "\xef\xbf\xbd"},                       /* never in UTF-8 */
		{"\xc0\xaf", "\\xc0\\xaf", "\xef\xbf\xbd\xef\xbf\xbd"},  /* longer than needed */
		{"\xe0\x80\xaf", "\\xe0\\x80\\xaf", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
		{"\xed\xa0\x80", "\\xed\\xa0\\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"}, /* a surrogate */
		{"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
		{"x\xe2\x82", "x\\xe2\\x82", "x\xef\xbf\xbd\xef\xbf\xbd"}, /* cut */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		size_t n = strlen(cases[i].in), len;
		char *copy = malloc(n), out[64];

		assert_non_null(copy);
		memcpy(copy, cases[i].in, n); /* without a NUL behind it */
		len = escape_json(out, sizeof(out), copy, n);
		assert_string_equal(out, cases[i].json);
		assert_int_equal(len, strlen(out));
		len = escape_terminal(out, sizeof(out), copy, n);
		assert_string_equal(out, cases[i].terminal);
		for (size_t room = 0; room <= len + 1; room++) {
			memset(out, '~', sizeof(out));
			assert_true(escape_terminal(out, room, copy, n) <= room);
			assert_int_equal(out[room], '~');
			if (room)
				assert_memory_equal(out, cases[i].terminal, strlen(out));
		}
		free(copy);
	}
}

static void tracepoints_are_found_in_a_list_by_their_whole_name(void **state)
{
	const char *list = "sched_switch, sys_enter", *at = list;
	size_t n;

	(void)state;
	assert_ptr_equal(tracepoint_next(&at, &n), list);
	assert_int_equal(n, strlen("sched_switch"));
	assert_ptr_equal(tracepoint_next(&at, &n), list + strlen("sched_switch, "));
	assert_int_equal(n, strlen("sys_enter"));
	assert_null(tracepoint_next(&at, &n));
	assert_true(tracepoint_named(list, "sched_switch"));
	assert_true(tracepoint_named(list, "sys_enter"));
	assert_false(tracepoint_named(list, "sys"));
	assert_false(tracepoint_named(list, "enter"));
	assert_false(tracepoint_named("sys_enter_futex", "sys_enter"));
	assert_false(tracepoint_named("sys", "sys_enter"));
	assert_false(tracepoint_named("", "sys_enter"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(columns_of_extreme_values_come_back),
		cmocka_unit_test(a_column_that_could_be_written_otherwise_is_refused),
		cmocka_unit_test(times_that_overflow_anywhere_are_refused),
		cmocka_unit_test(columns_are_decoded_in_blocks_from_any_row_on),
		cmocka_unit_test(a_header_of_another_kind_of_file_is_refused),
		cmocka_unit_test(a_text_is_at_most_its_limit_and_what_is_there),
		cmocka_unit_test(only_the_one_form_of_lz4_frame_is_unpacked),
		cmocka_unit_test(any_flipped_bit_of_an_lz4_frame_is_seen),
		cmocka_unit_test(probes_that_cannot_be_written_are_refused),
		cmocka_unit_test(a_schema_from_an_older_version_may_lack_fields_at_the_end),
		cmocka_unit_test(a_name_is_at_most_its_limit_and_what_is_there),
		cmocka_unit_test(a_buffer_does_not_grow_beyond_all_bounds),
		cmocka_unit_test(session_keys_change_with_each_epoch_and_a_child_finds_none),
		cmocka_unit_test(session_keys_are_locked_in_memory_or_there_are_none),
		cmocka_unit_test(without_memory_there_are_no_session_keys),
		cmocka_unit_test(a_chunk_is_bound_to_its_capture_epoch_and_index),
		cmocka_unit_test(errors_of_the_system_keep_their_reason),
		cmocka_unit_test(text_is_made_safe_to_show),
		cmocka_unit_test(tracepoints_are_found_in_a_list_by_their_whole_name),
	};

	if (sodium_init() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
