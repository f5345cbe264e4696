// SPDX-License-Identifier: Apache-2.0
/*
 * Rows of every kind with values that make no sense go through all rules: nothing breaks (sanitizers look), what is
 * found has all that reports need, and the same rows give the same findings again.
 */
#include "tests/unit/feed.h"

#define ROWS 30000
/* The others need rows that fit together. */
#define RULES_THAT_SPEAK "failed-call", "xid", "oom", "throttle", "memcpy-sync", "memcpy-pageable"

/* splitmix64 */
static uint64_t next(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15U;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
	return z ^ (z >> 31);
}

/* Mostly small, so that rows have to do with each other; at times as large as a field can be. */
static uint64_t value(uint64_t *state, const struct field *f)
{
	uint64_t r = next(state);

	if (r % 61 == 0)
		return next(state);
	switch (f->unit) {
	case UNIT_NS:
		return r % (30 * MS);
	case UNIT_BYTES:
		return r % (1 << 20);
	case UNIT_ADDRESS:
		return (r % 64) << 12;
	case UNIT_ID:
		return r % 6;
	case UNIT_NUMBER:
		return r % 8 == 0 ? (uint64_t[]){2, 700, 600, 712, 0x20, 8, 31, 4}[r / 8 % 8] : r % 3;
	default:
		return r % 5;
	}
}

static void make_row(struct event *ev, const struct schema *schema, uint64_t *state, uint64_t *now_ns)
{
	static const char text[] = "x86_64\xff<&>";
	const struct kind *k = &schema->kinds[next(state) % schema->nkinds];

	uint64_t *v;

	*now_ns += next(state) % 4 ? next(state) % (200 * US) : 0;
	*ev = event_made(k->id, k, *now_ns);
	v = event_room(ev)->v;
	for (unsigned i = 1; i < k->nfields; i++) {
		v[i] = value(state, &k->fields[i]);
		if (k->fields[i].encoding == ENC_TEXT) {
			v[i] = next(state) % sizeof(text);
			event_room(ev)->text[i] = text;
		}
	}
	if ((k->flags & KIND_CALL) == KIND_CALL) {
		v[F_call_probe] = next(state) % 7;
		v[F_call_flags] = next(state) % 8 == 0;
		v[F_call_ret] = next(state) % 4 ? 0 : v[F_call_ret];
	}
}

/* All that was found, as text, to compare. */
static void run(uint64_t seed, struct text *out)
{
	struct findings found = {0};
	uint64_t state = seed, now_ns = T0;
	struct feed f = {0};
	struct fault why;
	struct event ev;

	feed_open(&f);
	/* Thresholds as low as they go, so that every way through the rules is taken. */
	for (unsigned r = 0; r < NRULES; r++)
		for (unsigned k = 0; k < rules[r]->nsettings; k++)
			f.settings.v[r][k] = rules[r]->settings[k].min;
	engine_close(f.engine);
	assert_int_equal(engine_open(&f.engine, &(struct context){.schema = &f.schema}, &f.settings, &why), 0);
	for (unsigned i = 0; i < ROWS; i++) {
		make_row(&ev, &f.schema, &state, &now_ns);
		assert_int_equal(engine_feed(f.engine, &ev, &why), 0);
	}
	assert_int_equal(engine_finish(f.engine, &found, &why), 0);
	for (size_t i = 0; i < found.n; i++) {
		const struct finding *one = found.all[i];

		assert_true(one->headline.len > 0 && one->sure.len > 0);
		assert_false(one->headline.failed || one->sure.failed || one->cost.failed || one->advice.failed);
		assert_true(!one->timed ||
			    (one->hist && one->min_ns <= one->median_ns && one->median_ns <= one->max_ns));
		for (unsigned w = 0; w < one->nworst; w++)
			assert_true(one->worst[w].why && one->worst[w].scene &&
				    one->worst[w].scene->nrows <= SCENE_ROWS_MAX);
		text_add(out, "%s %s %d %d %llu %llu %s | %s | %s\n", one->rule, one->class, one->severity,
			 one->confidence, (unsigned long long)one->count, (unsigned long long)one->weight,
			 text_string(&one->headline), text_string(&one->cost), text_string(&one->advice));
	}
	findings_clear(&found);
	feed_close(&f);
}

static void nonsense_goes_through_all_rules_and_comes_out_the_same(void **state)
{
	static const char *const must_speak[] = {RULES_THAT_SPEAK};
	struct text all = {0};

	(void)state;
	for (uint64_t seed = 1; seed <= 12; seed++) {
		struct text once = {0}, again = {0};

		run(seed, &once);
		run(seed, &again);
		assert_string_equal(text_string(&once), text_string(&again));
		text_add_bytes(&all, once.s, once.len);
		text_clear(&once);
		text_clear(&again);
	}
	for (size_t i = 0; i < sizeof(must_speak) / sizeof(must_speak[0]); i++)
		if (!strstr(text_string(&all), must_speak[i]))
			fail_msg("%s says nothing, whatever happens", must_speak[i]);
	text_clear(&all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nonsense_goes_through_all_rules_and_comes_out_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
