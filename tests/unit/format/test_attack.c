/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The attack battery: small captures with rows of every kind and chunks of every class, whole, redacted, sliced; bits
 * flipped, cuts, every attack of tests/tools/attacks.h. What was tried is counted and printed.
 */
#include "tests/unit/sample.h"

#include "format/layout.h"
#include "format/narrow.h"
#include "tests/tools/attacks.h"
#include "tests/tools/attacks_remake.h"

#define SEED 20260101
/*
 * How much is tried: every flip_step-th bit (steps are prime to a byte's eight), every cut_step-th cut, each attack at
 * `seeds` places of each capture. Sanitizers slow this down tenfold. LONG=1 in the environment: all of it.
 */
static size_t flip_step = 5, cut_step = 1;
static unsigned large_flips = 500, seeds = 4;

static void set_lengths(void)
{
	const char *lasts = getenv("LONG");
	bool is_long = lasts && *lasts;
#if defined(__SANITIZE_ADDRESS__)
	flip_step = is_long ? 7 : 61;
	cut_step = is_long ? 1 : 7;
	large_flips = is_long ? 150 : 50;
	seeds = is_long ? 4 : 2;
#else
	flip_step = is_long ? 1 : flip_step;
	large_flips = is_long ? 1500 : large_flips;
#endif
}

enum base { WHOLE, REDACTED, SLICED, BASES };

static struct bytes bases[BASES], other, large;
static const enum verdict base_verdicts[BASES] = {VERDICT_OK, VERDICT_OK_REDACTED, VERDICT_OK_SLICE};
static const char *const base_names[BASES] = {"whole capture", "redacted capture", "sliced capture"};
static uint8_t stolen[SECRET_KEY_BYTES];

/* gpuverify's verdict, for one who trusts `key`. */
static enum verdict judge(const uint8_t *bytes, size_t n, const uint8_t *key, struct verification *out)
{
	struct verification v;
	struct source src;
	struct reader r;
	struct fault why;

	source_open_memory(&src, bytes, n);
	if (reader_open(&r, &src, &why) < 0) {
		verification_refused(&v, &why);
	} else {
		verify(&r, 1, &v);
		if ((v.verdict < VERDICT_UNCHECKED || v.verdict == VERDICT_UNSEALED) &&
		    memcmp(r.header.identity, key, PUBLIC_KEY_BYTES) != 0)
			v.verdict = VERDICT_UNTRUSTED;
		reader_close(&r);
	}
	if (out)
		*out = v;
	return v.verdict;
}

static bool is_accepted(enum verdict v)
{
	return v == VERDICT_OK || v == VERDICT_OK_SLICE || v == VERDICT_OK_REDACTED;
}

/* Rows of each kind in each epoch; each counted kind has a probe of its number, which fires and loses. */
static void add_rows(struct writer *w, const struct schema *s, uint64_t at, unsigned nrows)
{
	for (size_t k = 0; k < s->nkinds; k++)
		for (unsigned i = 0; i < nrows; i++) {
			uint64_t v[FIELDS_MAX] = {at + i * 1000 + k};
			const char *text[FIELDS_MAX] = {NULL};
			struct fault why;

			for (size_t f = 1; f < s->kinds[k].nfields; f++) {
				bool is_text = s->kinds[k].fields[f].encoding == ENC_TEXT;

				v[f] = is_text ? 4 : 3 * i + f;
				text[f] = is_text ? "name" : NULL;
			}
			assert_int_equal(writer_add(w, s->kinds[k].id, v, text, &why), 0);
		}
}

static uint32_t counters_of(const struct schema *s, struct counter *c, uint64_t nrows)
{
	uint32_t n = 0;

	for (size_t k = 0; k < s->nkinds; k++) {
		if (!(s->kinds[k].flags & KIND_COUNTED))
			continue;
		c[n++] = (struct counter){s->kinds[k].id, COUNTER_fired, nrows + 2};
		c[n++] = (struct counter){s->kinds[k].id, COUNTER_recorded, nrows};
		c[n++] = (struct counter){s->kinds[k].id, COUNTER_ring_full, 2};
	}
	return n;
}

static void write_capture(struct bytes *out, unsigned nepochs, unsigned nrows)
{
	struct probe probes[KINDS_MAX];
	struct counter counters[3 * KINDS_MAX];
	struct identity id;
	struct memory_sink m = {0};
	struct clock_anchor anchor = sample_anchor(SAMPLE_BOOT);
	const struct origin origin = {.series = "series attacked!", .has_series = true};
	struct self_stats self = {1, 2, 3, 4};
	struct schema s;
	struct writer *w;
	struct fault why;
	size_t nprobes = 0;

	attack_identity(&id);
	assert_int_equal(schema_build(&s, NULL, 0, &why), 0);
	for (size_t k = 0; k < s.nkinds; k++)
		if (s.kinds[k].flags & KIND_COUNTED) {
			probes[nprobes] = (struct probe){.id = s.kinds[k].id, .kind = s.kinds[k].id};
			snprintf(probes[nprobes++].name, sizeof(probes[0].name), "p%.60s", s.kinds[k].name);
		}
	assert_int_equal(writer_open_from(&w, memory_sink_of(&m), &id, probes, nprobes, &anchor, &origin, &why), 0);
	for (unsigned e = 0; e < nepochs; e++) {
		add_rows(w, &s, SAMPLE_BOOT + e * SAMPLE_SECOND, nrows);
		anchor = sample_anchor(SAMPLE_BOOT + (e + 1) * SAMPLE_SECOND);
		assert_int_equal(writer_seal(w, anchor.boot_ns, &anchor, &self, counters,
					     counters_of(&s, counters, (uint64_t)(e + 1) * nrows), &why),
				 0);
	}
	assert_int_equal(writer_end(w, REASON_duration, NULL, &anchor, counters,
				    counters_of(&s, counters, (uint64_t)nepochs * nrows), &why),
			 0);
	writer_close(w);
	schema_clear(&s);
	*out = m.bytes;
}

/* A class without a kind in this build gets one of a later version, and a chunk of it in the first epoch. */
static void add_later_kind(struct remake *m, const struct class_name *class)
{
	struct schema *s = &m->header.schema;
	struct bytes raw = {0};
	struct fault why;
	struct kind *k;
	struct chunk *c;

	for (size_t i = 0; i < s->nkinds; i++)
		if (s->kinds[i].class == class->id)
			return;
	s->kinds = realloc(s->kinds, (s->nkinds + 1) * sizeof(*s->kinds));
	assert_non_null(s->kinds);
	k = &s->kinds[s->nkinds++];
	*k = (struct kind){.id = (uint16_t)(9000 + class->id), .class = class->id, .nfields = 3};
	snprintf(k->name, sizeof(k->name), "later_%s", class->name);
	k->fields[0] = (struct field){"at", ENC_TIME, UNIT_BOOT_NS};
	k->fields[1] = (struct field){"size", ENC_SINT, 77};
	k->fields[2] = (struct field){"label", ENC_TEXT, UNIT_NONE};
	c = remake_add_chunk(m, 0);
	assert_non_null(c);
	c->class = class->id;
	c->nrows = 1;
	randombytes_buf(c->salt, sizeof(c->salt));
	c->first_ns = c->last_ns = m->epochs[0].begin_ns + 5;
	bytes_add_le16(&raw, k->id);
	bytes_add_le32(&raw, 1);
	bytes_add(&raw, "\0\1\x0b\1\5slice", 10);
	assert_int_equal(remake_set_raw(m, 0, m->epochs[0].nchunks - 1, &raw, &why), 0);
	assert_int_equal(remake_add_count(m, 0, k->id, 1), 0);
	bytes_free(&raw);
}

/* Write by the writer, add what it cannot, seal by keys that the test knows. */
static void make_capture(struct bytes *out, unsigned nepochs, unsigned nrows)
{
	struct bytes written = {0};
	struct remake m;
	struct fault why;

	write_capture(&written, nepochs, nrows);
	assert_int_equal(remake_load(&m, written.data, written.len, &why), 0);
	for (size_t i = 0; i < m.header.schema.nclasses; i++)
		add_later_kind(&m, &m.header.schema.classes[i]);
	assert_int_equal(remake_write(&m, out, &why), 0);
	remake_clear(&m);
	bytes_free(&written);
}

static void narrow_to(struct bytes *out, const struct narrowing *plan)
{
	struct memory_sink m = {0};
	struct source src;
	struct reader r;
	struct fault why;
	uint64_t n;

	source_open_memory(&src, bases[WHOLE].data, bases[WHOLE].len);
	assert_int_equal(reader_open(&r, &src, &why), 0);
	assert_int_equal(narrow(&r, plan, memory_sink_of(&m), &n, &why), 0);
	assert_true(n > 0);
	reader_close(&r);
	*out = m.bytes;
}

static int make_all(void **state)
{
	struct narrowing redacting = {1u << CLASS_process | 1u << CLASS_host, 0, UINT64_MAX, NULL, 0};
	struct narrowing slicing = {0, SAMPLE_BOOT + SAMPLE_SECOND, UINT64_MAX, NULL, 0};
	uint8_t unused[PUBLIC_KEY_BYTES];

	(void)state;
	make_capture(&bases[WHOLE], 2, 2);
	make_capture(&other, 2, 3);
	make_capture(&large, 12, 900);
	narrow_to(&bases[REDACTED], &redacting);
	narrow_to(&bases[SLICED], &slicing);
	attack_session_key(2, unused, stolen);
	return 0;
}

static int free_all(void **state)
{
	(void)state;
	for (int b = 0; b < BASES; b++)
		bytes_free(&bases[b]);
	bytes_free(&other);
	bytes_free(&large);
	return 0;
}

static void the_captures_attacked_hold_every_kind_and_class_and_are_authentic(void **state)
{
	struct identity id;
	struct source src;
	struct reader r;
	struct fault why;
	uint32_t classes = 0;

	(void)state;
	attack_identity(&id);
	for (int b = 0; b < BASES; b++)
		assert_int_equal(judge(bases[b].data, bases[b].len, id.public_key, NULL), base_verdicts[b]);
	assert_int_equal(judge(other.data, other.len, id.public_key, NULL), VERDICT_OK);
	assert_int_equal(judge(large.data, large.len, id.public_key, NULL), VERDICT_OK);
	source_open_memory(&src, bases[WHOLE].data, bases[WHOLE].len);
	assert_int_equal(reader_open(&r, &src, &why), 0);
	for (uint64_t e = 0; e < r.nepochs; e++)
		for (uint32_t c = 0; c < r.epochs[e].nchunks; c++)
			classes |= 1u << r.epochs[e].chunks[c].class;
#define C(id, name) assert_true(classes >> (id)&1);
	CLASSES(C)
#undef C
#define K(id, name, class, flags)                                                                                      \
	{                                                                                                              \
		bool found = false;                                                                                    \
                                                                                                                       \
		for (uint32_t i = 0; i < r.end.ntotals; i++)                                                           \
			found |= r.end.totals[i].kind == (id);                                                         \
		assert_true(found);                                                                                    \
	}
	KINDS(K)
#undef K
	reader_close(&r);
}

struct tally {
	unsigned tried, accepted, of[VERDICT_FORGED + 1];
};

/* The runner shows lines that begin so. */
static void print_tally(const struct tally *t, const char *what, const char *which)
{
	printf("# tried %u %s%s: %u accepted;", t->tried, what, which, t->accepted);
	for (int v = 0; v <= VERDICT_FORGED; v++)
		if (t->of[v])
			printf(" %u %s", t->of[v], verdict_word((enum verdict)v));
	printf("\n");
	fflush(stdout);
}

/* Where the epochs end that are whole. */
static uint64_t authentic_bytes(const uint8_t *bytes, size_t n, uint64_t nepochs)
{
	uint64_t end = 0;
	struct source src;
	struct reader r;
	struct fault why;

	source_open_memory(&src, bytes, n);
	if (nepochs == 0 || reader_open(&r, &src, &why) < 0)
		return 0;
	assert_true(nepochs <= r.nepochs);
	end = r.epochs[nepochs - 1].seal_offset;
	end += FRAME_HEAD_BYTES + get_le32(bytes + end + 4);
	reader_close(&r);
	return end;
}

/* One bit: never accepted; and what is called authentic ends before it. */
static void flip(struct bytes *b, size_t bit, struct tally *t, const uint8_t *key)
{
	struct verification v;
	bool spared;

	b->data[bit / 8] ^= (uint8_t)(1u << bit % 8);
	judge(b->data, b->len, key, &v);
	spared = authentic_bytes(b->data, b->len, v.nepochs) <= bit / 8;
	b->data[bit / 8] ^= (uint8_t)(1u << bit % 8);
	t->tried++;
	t->of[v.verdict]++;
	t->accepted += is_accepted(v.verdict);
	if (is_accepted(v.verdict) || !spared)
		fail_msg("bit %zu of byte %zu flipped: %s, %llu epochs", bit % 8, bit / 8, verdict_word(v.verdict),
			 (unsigned long long)v.nepochs);
}

static void no_flipped_bit_is_accepted(void **state)
{
	struct identity id;

	(void)state;
	attack_identity(&id);
	for (int b = 0; b < BASES; b++) {
		struct tally t = {0};

		for (size_t bit = 0; bit < bases[b].len * 8; bit += flip_step)
			flip(&bases[b], bit, &t, id.public_key);
		print_tally(&t, flip_step == 1 ? "single-bit flips (all), " : "single-bit flips (some), ",
			    base_names[b]);
		assert_int_equal(t.accepted, 0);
		assert_int_equal(t.tried, (bases[b].len * 8 + flip_step - 1) / flip_step);
	}
}

static void no_flipped_bit_of_a_large_capture_is_accepted(void **state)
{
	struct attempt chance = {.seed = SEED};
	struct tally t = {0};
	struct identity id;

	(void)state;
	attack_identity(&id);
	for (unsigned i = 0; i < large_flips; i++)
		flip(&large, attack_pick(&chance, large.len * 8), &t, id.public_key);
	print_tally(&t, "single-bit flips (by chance), ", "large capture");
	assert_int_equal(t.tried, large_flips);
}

/* A cut in the header: MALFORMED. Behind: UNSEALED, and authentic are just the epochs that are whole. */
static void check_cut(const struct bytes *b, const struct reader *r, size_t n, const uint8_t *key, struct tally *t)
{
	size_t header = EMPTY_FRAME_BYTES + FRAME_HEAD_BYTES + get_le32(b->data + EMPTY_FRAME_BYTES + 4);
	uint8_t *copy = malloc(n ? n : 1); /* so that a read behind the end is seen */
	struct verification v;
	uint64_t whole = 0;

	assert_non_null(copy);
	memcpy(copy, b->data, n);
	judge(copy, n, key, &v);
	free(copy);
	while (whole < r->nepochs && authentic_bytes(b->data, b->len, whole + 1) <= n)
		whole++;
	t->tried++;
	t->of[v.verdict]++;
	t->accepted += is_accepted(v.verdict);
	if (v.verdict != (n < header ? VERDICT_MALFORMED : VERDICT_UNSEALED) || v.nepochs != (n < header ? 0 : whole))
		fail_msg("cut to %zu bytes: %s, %llu epochs", n, verdict_word(v.verdict),
			 (unsigned long long)v.nepochs);
}

static void every_cut_is_unsealed_up_to_its_last_seal_or_malformed(void **state)
{
	struct identity id;

	(void)state;
	attack_identity(&id);
	for (int b = 0; b < BASES; b++) {
		struct tally t = {0};
		struct source src;
		struct reader r;
		struct fault why;

		source_open_memory(&src, bases[b].data, bases[b].len);
		assert_int_equal(reader_open(&r, &src, &why), 0);
		for (size_t n = 0; n < bases[b].len; n += cut_step)
			check_cut(&bases[b], &r, n, id.public_key, &t);
		reader_close(&r);
		print_tally(&t, cut_step == 1 ? "cuts (all), " : "cuts (some), ", base_names[b]);
		assert_int_equal(t.accepted, 0);
	}
}

/* Returns whether the attack could be tried. */
static bool try_attack(const struct attack *attack, enum base b, uint64_t seed, struct tally *t, unsigned *wrong)
{
	struct attempt a = {.bytes = bases[b].data,
			    .len = bases[b].len,
			    .other = other.data,
			    .other_len = other.len,
			    .stolen = stolen,
			    .seed = seed};
	int want = attack_expects(attack, base_verdicts[b]);
	struct verification v;
	struct identity id;
	struct fault why;
	int r = attack_run(attack, &a, &why);
	bool right;

	if (r < 0) {
		bytes_free(&a.out);
		assert_int_equal(r, ERR_INPUT);
		return false;
	}
	attack_identity(&id);
	judge(a.out.data, a.out.len, id.public_key, &v);
	right = want == ATTACK_REFUSED ? !is_accepted(v.verdict) : (int)v.verdict == want;
	if (right && attack->says && !strstr(v.why.text, attack->says))
		right = false;
	if (!right) {
		print_error("%s, %s, seed %llu: %s (%s), should be %s (%s)\n", attack->name, base_names[b],
			    (unsigned long long)seed, verdict_word(v.verdict), v.why.text,
			    want < 0 ? "refused" : verdict_word((enum verdict)want), attack->says ? attack->says : "");
		++*wrong;
	}
	t->tried++;
	t->of[v.verdict]++;
	if (want < 0 || !is_accepted((enum verdict)want))
		t->accepted += is_accepted(v.verdict);
	bytes_free(&a.out);
	return true;
}

static void every_attack_gets_the_verdict_of_the_table(void **state)
{
	struct tally t = {0};
	unsigned wrong = 0, nattacks = 0, nallowed = 0;

	(void)state;
	for (size_t i = 0; i < ATTACK_LISTS; i++)
		for (const struct attack *attack = attack_lists[i]; attack->name; attack++) {
			unsigned tried = 0;

			for (int b = 0; b < BASES; b++)
				for (unsigned s = 0; s < seeds; s++)
					tried += try_attack(attack, (enum base)b, SEED + s, &t, &wrong);
			if (tried == 0) {
				print_error("%s fits none of the captures\n", attack->name);
				wrong++;
			}
			nattacks++;
			nallowed += attack->verdict == ATTACK_SAME ||
				    (attack->verdict >= 0 && is_accepted((enum verdict)attack->verdict));
			assert_ptr_equal(attack_by_name(attack->name), attack); /* names are unique */
		}
	printf("# tried %u kinds of attack, %u of which may pass:\n", nattacks, nallowed);
	print_tally(&t, "attacked captures", "");
	assert_int_equal(wrong, 0);
	assert_int_equal(t.accepted, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_captures_attacked_hold_every_kind_and_class_and_are_authentic),
		cmocka_unit_test(no_flipped_bit_is_accepted),
		cmocka_unit_test(no_flipped_bit_of_a_large_capture_is_accepted),
		cmocka_unit_test(every_cut_is_unsealed_up_to_its_last_seal_or_malformed),
		cmocka_unit_test(every_attack_gets_the_verdict_of_the_table),
	};

	if (sodium_init() < 0)
		return 1;
	set_lengths();
	return cmocka_run_group_tests(tests, make_all, free_all);
}
