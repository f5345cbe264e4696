/* SPDX-License-Identifier: Apache-2.0 */
/* Rows come in any order and are laid down in one: by class, time, kind, and as they came. */
#include "tests/unit/sample.h"

#include "format/staging.h"

static struct schema schema;
static uint64_t random_state = 1;

static uint64_t random_number(uint64_t below)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (random_state >> 33) % below;
}

/* Times of a pattern: in order, backwards, all equal, in runs, at random. */
static uint64_t time_of(unsigned pattern, uint64_t i, uint64_t n)
{
	switch (pattern) {
	case 0:
		return i;
	case 1:
		return n - i;
	case 2:
		return 7;
	case 3:
		return i % 5 * n + i;
	default:
		return random_number(n / 2 + 1);
	}
}

static void assert_order(const struct staging *s)
{
	for (size_t i = 1; i < s->nrows; i++) {
		const struct staged *a = &s->rows[i - 1], *b = &s->rows[i];

		assert_true(a->kind->class <= b->kind->class);
		if (a->kind->class < b->kind->class)
			continue;
		assert_true(a->at_ns <= b->at_ns);
		if (a->at_ns < b->at_ns)
			continue;
		assert_true(a->kind->id <= b->kind->id);
		if (a->kind->id == b->kind->id)
			assert_true(a->seq < b->seq);
	}
}

/* Each row is there once: their numbers add up, and so do the squares. */
static void assert_whole(const struct staging *s, uint64_t first_seq)
{
	uint64_t sum = 0, squares = 0, want = 0, want_squares = 0;

	for (size_t i = 0; i < s->nrows; i++) {
		uint64_t seq = s->rows[i].seq - first_seq;

		assert_int_equal(s->rows[i].at_ns, staging_values(s, &s->rows[i])[0]);
		sum += seq;
		squares += seq * seq;
		want += i;
		want_squares += i * i;
	}
	assert_int_equal(sum, want);
	assert_int_equal(squares, want_squares);
}

static void rows_of_any_order_are_brought_into_one(void **state)
{
	static const uint16_t kinds[] = {KIND_switch, KIND_waking, KIND_cgroup, KIND_exit, KIND_switch};
	static const char *const texts[FIELDS_MAX] = {[0 ... FIELDS_MAX - 1] = "text"};
	struct staging s;
	struct fault why;

	(void)state;
	assert_int_equal(staging_init(&s, &schema, &why), 0);
	for (uint64_t n = 0; n < 3000; n += n < 40 ? 1 : 977)
		for (unsigned pattern = 0; pattern < 6; pattern++) {
			uint64_t first_seq = s.seq;

			for (uint64_t i = 0; i < n; i++) {
				const struct kind *kind =
					schema_kind(&schema, kinds[pattern == 0 ? 0 : random_number(5)]);
				uint64_t v[FIELDS_MAX] = {time_of(pattern, i, n)};

				assert_int_equal(staging_add(&s, kind, v, texts, &why), 0);
			}
			assert_int_equal(staging_sort(&s, &why), 0);
			assert_int_equal(s.nrows, n);
			assert_order(&s);
			assert_whole(&s, first_seq);
			staging_reset(&s);
		}
	staging_clear(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(rows_of_any_order_are_brought_into_one)};
	struct fault why;

	int r;

	if (schema_build(&schema, NULL, 0, &why) < 0)
		return 1;
	r = cmocka_run_group_tests(tests, NULL, NULL);
	schema_clear(&schema);
	return r;
}
