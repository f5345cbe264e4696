/* SPDX-License-Identifier: Apache-2.0 */
/* The analysis's small parts: tables, quantiles, rings, levels, allocations, texts, JSON, settings. */
#include <unistd.h>

#include "analyze/stats/call_stats.h"
#include "analyze/stats/alloc_sites.h"
#include "format/base/json.h"
#include "replay/model/recent_intervals.h"
#include "tests/unit/feed.h"

static void a_table_finds_what_was_added_and_not_removed(void **state)
{
	struct table t = {0};
	struct item {
		struct table_key key;
		uint64_t value;
	} * item;
	const unsigned n = 5000;

	(void)state;
	assert_null(table_find(&t, 1, 2));
	table_remove(&t, 1, 2);
	for (unsigned i = 0; i < n; i++) {
		item = table_add(&t, i % 7, i, sizeof(*item));
		assert_non_null(item);
		item->value = i;
	}
	for (unsigned i = 0; i < n; i += 3)
		table_remove(&t, i % 7, i);
	for (unsigned i = 0; i < n; i++) {
		item = table_find(&t, i % 7, i);
		if (i % 3 == 0) {
			assert_null(item);
		} else {
			assert_non_null(item);
			assert_int_equal(item->value, i);
		}
	}
	assert_int_equal(t.nitems, n - (n + 2) / 3);
	for (size_t i = 0; i < t.nitems; i++)
		assert_ptr_equal(table_find(&t, t.items[i]->a, t.items[i]->b), t.items[i]);
	table_clear(&t);
	assert_null(table_find(&t, 1, 1));
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void a_quantile_is_off_by_a_sixty_fourth_at_most(void **state)
{
	static uint64_t values[10000];
	struct hist *h = calloc(1, sizeof(*h));
	uint64_t x = 1;
	const size_t n = sizeof(values) / sizeof(values[0]);

	(void)state;
	assert_non_null(h);
	for (size_t i = 0; i < n; i++) {
		x = x * 6364136223846793005U + 1442695040888963407U;
		values[i] = (x >> 33) % (1ULL << (x >> 59));
		hist_add(h, values[i]);
	}
	qsort(values, n, sizeof(values[0]), by_value);
	for (unsigned percent = 1; percent <= 100; percent++) {
		uint64_t exact = values[(n * percent + 99) / 100 - 1], emitted = hist_quantile(h, NULL, percent);
		uint64_t off = emitted > exact ? emitted - exact : exact - emitted;

		assert_true(off * 64 <= exact);
	}
	free(h);
}

static void quantiles_hold_at_the_ends(void **state)
{
	struct hist *h = calloc(1, sizeof(*h));

	(void)state;
	assert_non_null(h);
	assert_int_equal(hist_quantile(h, NULL, 50), 0);
	hist_add(h, 0);
	assert_int_equal(hist_quantile(h, NULL, 50), 0);
	hist_add(h, UINT64_MAX);
	assert_int_equal(hist_quantile(h, NULL, 50), 0);
	assert_true(hist_quantile(h, NULL, 100) > 1ULL << 43);
	free(h);
}

static void a_baseline_follows_a_drift_and_ignores_a_spike(void **state)
{
	struct baseline *b = calloc(1, sizeof(*b));
	uint64_t median;

	(void)state;
	assert_non_null(b);
	for (unsigned i = 0; i < 1000; i++)
		baseline_add(b, i % 50 ? 17000 : 20000000);
	median = baseline_median(b);
	assert_in_range(median, 16700, 17300);
	for (unsigned i = 0; i < 3 * BASELINE_WINDOW; i++)
		baseline_add(b, 34000);
	median = baseline_median(b);
	assert_in_range(median, 33400, 34600);
	free(b);
}

static void a_baseline_loses_no_value_when_its_window_turns(void **state)
{
	struct baseline *b = calloc(1, sizeof(*b));

	(void)state;
	assert_non_null(b);
	for (unsigned i = 0; i < BASELINE_WINDOW; i++)
		baseline_add(b, 40);
	assert_int_equal(baseline_quantile(b, 100), 40);
	baseline_add(b, 50);
	assert_int_equal(b->n, BASELINE_WINDOW + 1);
	assert_int_equal(baseline_quantile(b, 100), 50);
	free(b);
}

static void a_ring_keeps_the_last_ones_in_order(void **state)
{
	struct ring r = {0};

	(void)state;
	for (uint64_t i = 0; i < 120; i++) {
		struct interval *one;

		assert_int_equal(ring_has_room(&r, sizeof(*one)),
				 i == 7 || (i > 14 && i < 24) || (i > 30 && i % 51 < 43));
		one = ring_has_room(&r, sizeof(*one)) ? ring_keep(&r, sizeof(*one))
						      : ring_keep_more(&r, sizeof(*one), 50);
		*one = (struct interval){10 * i, 10 * i + 10};
		assert_int_equal(ring_n(&r), i < 50 ? i + 1 : 50);
		assert_int_equal(r.truncated, i >= 50);
	}
	for (unsigned i = 0; i < 50; i++)
		assert_int_equal(((struct interval *)ring_at(&r, i))->begin_ns, 700 + 10 * i);
	assert_int_equal(ring_first_after(&r, 0), 0);
	assert_int_equal(ring_first_after(&r, 710), 1);
	assert_int_equal(ring_first_after(&r, 715), 1);
	assert_int_equal(ring_first_after(&r, 1200), 50);
	ring_clear(&r);
}

static void levels_remember_how_low_it_was(void **state)
{
	struct levels l = {0};

	(void)state;
	assert_int_equal(levels_lowest(&l, 100, 0, 100), 0);
	/* Rises to 100 by 1 s, falls to 40 at 1.5 s for a moment, stays at 100 until 4 s. */
	for (unsigned i = 1; i <= 100; i++)
		levels_change(&l, T0 + i * 10 * MS, i);
	levels_change(&l, T0 + 1500 * MS, 40);
	levels_change(&l, T0 + 1501 * MS, 100);
	assert_int_equal(levels_lowest(&l, T0 + 4000 * MS, 25, 50), 40);
	assert_int_equal(levels_lowest(&l, T0 + 4000 * MS, 50, 75), 100);
	assert_in_range(levels_lowest(&l, T0 + 4000 * MS, 12, 24), 40, 52);
	assert_int_equal(levels_lowest(&l, T0 + 400000 * MS, 75, 90), 100);
}

/* The value of a rule's setting by number. */
static uint64_t value_of_setting(const struct settings *s, const struct rule *rule, unsigned key)
{
	for (unsigned r = 0; r < NRULES; r++)
		if (rules[r] == rule)
			return s->v[r][key];
	return 0;
}

static void settings_are_read_with_their_units_and_limits(void **state)
{
	struct settings s;
	struct fault why;

	(void)state;
	settings_default(&s);
	assert_int_equal(settings_set(&s, "launch-latency.min=2ms", &why), 0);
	assert_int_equal(settings_set(&s, "launch-latency.factor=20", &why), 0);
	assert_int_equal(settings_set(&s, "alloc-leak.bytes=1M", &why), 0);
	assert_int_equal(settings_set(&s, "alloc-leak.quarter=5%", &why), 0);
	assert_int_equal(value_of_setting(&s, &launch_latency_rule, 1), 2 * MS);
	assert_int_equal(value_of_setting(&s, &launch_latency_rule, 0), 20);
	assert_int_equal(value_of_setting(&s, &alloc_leak_rule, 1), 1 << 20);
	for (unsigned r = 0; r < NRULES; r++)
		assert_in_range(rules[r]->nsettings, 1, SETTINGS_MAX);
}

static void a_wrong_setting_is_refused_with_a_sentence(void **state)
{
	static const char *const wrong[] = {
		"",
		"launch-latency",
		"launch-latency=3",
		"launch-latency.min",
		"launch-latency.min=",
		"launch-latency.min=5",
		"launch-latency.min=5x",
		"launch-latency.min=-5ms",
		"launch-latency.min=99999999999999999999ms",
		"launch-latency.min=18446744073709551615s",
		"launch-latency.factor=1",
		"launch-latency.nothing=1",
		"nothing.min=1ms",
		".=1",
	};
	struct settings s, before;
	struct fault why;

	(void)state;
	settings_default(&s);
	before = s;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		why.text[0] = 0;
		assert_int_equal(settings_set(&s, wrong[i], &why), ERR_INPUT);
		assert_true(strlen(why.text) > 10);
	}
	assert_memory_equal(&s, &before, sizeof(s));
}

static void a_pid_that_comes_round_is_another_process(void **state)
{
	struct feed f = {0};
	struct names *names;
	uint64_t first, second;

	(void)state;
	feed_open(&f);
	names = engine_context(f.engine)->names;
	feed_process(&f, T0, 100, T0 - MS, true, "one");
	first = tasks_process(&names->tasks, 100);
	feed_process(&f, T0 + 1, 100, T0 - MS + 10, true, "renamed");
	assert_int_equal(tasks_process(&names->tasks, 100), first);
	assert_memory_equal(tasks_find_process(&names->tasks, 100)->name.s, "renamed", 7);
	feed_process(&f, T0 + 2, 100, T0 + 100 * MS, true, "other start");
	second = tasks_process(&names->tasks, 100);
	assert_int_not_equal(second, first);
	/* Without a start to distinguish them, by the exit between them. */
	feed_process(&f, T0 + 3, 200, 0, true, "one");
	first = tasks_process(&names->tasks, 200);
	feed_process(&f, T0 + 4, 200, 0, true, "renamed");
	assert_int_equal(tasks_process(&names->tasks, 200), first);
	FEED(&f, KIND_exit, T0 + 5, 200, 200, 0, 1);
	feed_settle(&f, T0 + 6);
	feed_process(&f, T0 + 7, 200, 0, true, "two");
	assert_int_not_equal(tasks_process(&names->tasks, 200), first);
	feed_close(&f);
}

static void births_are_counted_by_quarter_of_the_sites_life(void **state)
{
	struct feed f = {0};
	struct sites s;
	struct event ev;

	(void)state;
	feed_open(&f);
	sites_init(&s, &f.schema, false);
	for (uint64_t i = 0; i < 125; i++) {
		bool alloc = i < 100;

		ev = event_made(alloc ? KIND_alloc : KIND_free, schema_kind(&f.schema, alloc ? KIND_alloc : KIND_free),
				alloc ? 1000 + 10 * i : 2000);
		event_set(&ev, alloc ? F_alloc_bytes : F_free_dur, 1);
		event_set(&ev, alloc ? F_alloc_addr : F_free_addr, 16 + i % 100);
		assert_int_equal(allocations_feed(&s.allocations, 1, &ev, i, NULL), 0);
	}
	sites_count_births(&s, 1, 2000);
	assert_int_equal(sites_of(&s, 1)->births[0], 0);
	for (unsigned q = 1; q < 4; q++)
		assert_int_equal(sites_of(&s, 1)->births[q], 25);
	assert_int_equal(sites_of(&s, 1)->freed_count, 25);
	assert_null(sites_of(&s, 1)->next);
	sites_forget(&s, 1);
	assert_null(sites_of(&s, 1));
	sites_clear(&s);
	feed_close(&f);
}

static void the_table_of_calls_is_exact(void **state)
{
	struct feed f = {0};
	const struct call_stats **all;
	const struct calls *calls;

	(void)state;
	feed_open(&f);
	for (uint64_t i = 1; i <= 4; i++)
		feed_launch(&f, T0 + i * MS, T0 + i * MS + 10 * i, 101, 0);
	feed_call(&f, KIND_wait, T0 + 9 * MS, T0 + 9 * MS + 5000, 101, 0);
	feed_settle(&f, T0 + 10 * MS);
	calls = engine_calls(f.engine);
	all = calls_sorted(calls);
	assert_non_null(all);
	assert_int_equal(calls->table.nitems, 2);
	assert_int_equal(calls->total_ns, 5100);
	assert_int_equal(all[0]->key.a, PROBE_wait);
	assert_int_equal(all[1]->n, 4);
	assert_int_equal(all[1]->total_ns, 100);
	assert_int_equal(all[1]->min_ns, 10);
	assert_int_equal(all[1]->max_ns, 40);
	assert_int_equal(call_stats_average(all[1]), 25);
	assert_int_equal(call_stats_median(all[1]), 20);
	assert_int_equal(call_stats_deviation(all[1]), 11); /* sqrt(125) */
	free(all);
	feed_close(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_table_finds_what_was_added_and_not_removed),
		cmocka_unit_test(a_quantile_is_off_by_a_sixty_fourth_at_most),
		cmocka_unit_test(quantiles_hold_at_the_ends),
		cmocka_unit_test(a_baseline_follows_a_drift_and_ignores_a_spike),
		cmocka_unit_test(a_baseline_loses_no_value_when_its_window_turns),
		cmocka_unit_test(a_ring_keeps_the_last_ones_in_order),
		cmocka_unit_test(levels_remember_how_low_it_was),
		cmocka_unit_test(settings_are_read_with_their_units_and_limits),
		cmocka_unit_test(a_wrong_setting_is_refused_with_a_sentence),
		cmocka_unit_test(a_pid_that_comes_round_is_another_process),
		cmocka_unit_test(births_are_counted_by_quarter_of_the_sites_life),
		cmocka_unit_test(the_table_of_calls_is_exact),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
