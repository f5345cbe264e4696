// SPDX-License-Identifier: Apache-2.0
/* The smaller parts that rules are made of. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/facts/codes.h"
#include "analyze/stats/intervals.h"
#include "analyze/stats/top_threads.h"
#include "analyze/rule.h"

#define MS UINT64_C(1000000)

static void ranges_hold_what_was_added_and_not_removed(void **state)
{
	struct ranges r = {0};

	(void)state;
	assert_false(ranges_hold(&r, 0x1000));
	assert_true(ranges_add(&r, 0x3000, 0x1000));
	assert_true(ranges_add(&r, 0x1000, 0x1000));
	assert_true(ranges_hold(&r, 0x1000));
	assert_true(ranges_hold(&r, 0x1fff));
	assert_false(ranges_hold(&r, 0x2000));
	assert_true(ranges_hold(&r, 0x3fff));
	ranges_remove(&r, 0x1001); /* nobody's begin */
	assert_true(ranges_hold(&r, 0x1001));
	ranges_remove(&r, 0x1000);
	assert_false(ranges_hold(&r, 0x1000));
	assert_true(ranges_hold(&r, 0x3000));
	ranges_clear(&r);
}

static void a_range_drives_out_those_that_it_overlaps(void **state)
{
	struct ranges r = {0};

	(void)state;
	for (uint64_t i = 0; i < 40; i++)
		assert_true(ranges_add(&r, 0x1000 * i, 0x800));
	assert_int_equal(r.n, 40);
	assert_true(ranges_add(&r, 0x1400, 0x2000)); /* over the ends of 1 and 3, and all of 2 */
	assert_int_equal(r.n, 38);
	assert_false(ranges_hold(&r, 0x1000));
	assert_true(ranges_hold(&r, 0x2900));
	assert_true(ranges_hold(&r, 0x4000));
	assert_true(ranges_add(&r, UINT64_MAX - 1, 100)); /* what a capture may claim */
	assert_true(ranges_hold(&r, UINT64_MAX - 1));
	assert_true(ranges_add(&r, 5, 0));
	ranges_clear(&r);
}

static void beyond_the_limit_ranges_say_so(void **state)
{
	struct ranges r = {0};

	(void)state;
	for (uint64_t i = 0; i < RANGES_MAX; i++)
		assert_true(ranges_add(&r, 16 * i, 8));
	assert_false(r.overflowed);
	assert_true(ranges_add(&r, 16 * RANGES_MAX, 8));
	assert_true(r.overflowed);
	assert_int_equal(r.n, RANGES_MAX);
	ranges_clear(&r);
}

static void a_roster_names_who_cost_most(void **state)
{
	struct roster r = {0}, other = {0};
	struct finding f = {0};

	(void)state;
	assert_null(roster_first(&r));
	roster_add(&r, &(struct who){.tid = 1}, 0);
	assert_int_equal(roster_only(&r), 1);
	for (uint64_t tid = 1; tid <= NAMED_MAX + 2; tid++)
		roster_add(&r, &(struct who){.tid = tid}, tid * 10);
	assert_int_equal(r.n, NAMED_MAX);
	assert_true(r.more);
	assert_int_equal(roster_only(&r), 0);
	roster_add(&r, &(struct who){.tid = 2}, 1000);
	assert_int_equal(roster_first(&r)->tid, 2);
	roster_add(&r, &(struct who){.tid = TID_IDLE}, 99999);
	assert_int_equal(roster_first(&r)->tid, 2);
	roster_add(&other, &(struct who){.tid = 3}, 5000);
	roster_join(&r, &other);
	assert_int_equal(roster_first(&r)->tid, 3);
	roster_give(&r, PART_KEEPER, &f);
	assert_int_equal(f.nparties, NAMED_MAX);
	assert_int_equal(f.parties[0].who.tid, 3);
	assert_int_equal(f.parties[0].ns, 5030);
	assert_int_equal(f.parties[0].count, 2);
	assert_int_equal(f.parties[1].who.tid, 2);
	for (unsigned i = 1; i < f.nparties; i++)
		assert_true(f.parties[i - 1].ns >= f.parties[i].ns);
}

static void groups_are_kept_up_to_their_limit(void **state)
{
	struct item {
		struct table_key key;
		uint64_t n;
		struct tally tally;
	};
	struct {
		uint64_t other;
		struct groups groups;
	} s = {0};
	const struct groups_of of[GROUPS_OF_RULE_MAX] = {
		{(size_t)((char *)&s.groups - (char *)&s), sizeof(struct item), 3, offsetof(struct item, tally)}};
	struct item *one;

	(void)state;
	groups_prepare(of, &s);
	for (uint64_t a = 1; a <= 3; a++) {
		one = groups_get(&s.groups, a, 7);
		assert_non_null(one);
		assert_int_equal(one->n, 0);
		one->n = a;
		one->tally.hist = calloc(1, sizeof(*one->tally.hist));
	}
	assert_null(groups_get(&s.groups, 4, 7));
	assert_null(groups_get(&s.groups, 4, 7));
	assert_int_equal(s.groups.nskipped, 2);
	assert_int_equal(s.groups.error, 0);
	one = groups_get(&s.groups, 2, 7);
	assert_int_equal(one->n, 2);
	assert_ptr_equal(groups_at(&s.groups, 1), one);
	tally_clear(&one->tally);
	groups_forget(&s.groups, 2);
	assert_null(groups_find(&s.groups, 2, 7));
	assert_non_null(groups_get(&s.groups, 4, 7));
	groups_clear(of, &s); /* and the tallies in them: the address sanitizer sees it */
	assert_int_equal(s.groups.table.nitems, 0);
}

/* A thread 7 that is preempted on CPU 1 by 8, sleeps on a disk, and faults; all of it tracked. */
static struct timeline *small_timeline(void)
{
	struct timeline *tl = NULL;
	struct fault why;
	const struct {
		uint64_t at_ms, prev_tid, prev_state, next_tid, prev_syscall, prev_flags;
	} rows[] = {
		{10, 7, 0, 8, 0, 0},
		{14, 8, 1, 7, 0, 0},
		{20, 7, 2, 0, 18, SWITCH_IO},
		{26, 0, 0, 7, 0, 0},
		{30, 7, 2, 0, 0, SWITCH_FAULT},
		{33, 0, 0, 7, 0, 0},
		{40, 7, 2, 0, 0, 0},
		{45, 0, 0, 7, 0, 0},
	};
	uint64_t waited_ns;

	assert_int_equal(timeline_open(&tl, &why), 0);
	assert_int_equal(timeline_call(tl, 1 * MS, 2 * MS, 7, 1, &why), 0);
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const uint64_t row[] =
			{[F_switch_at] = rows[i].at_ms * MS,         [F_switch_cpu] = 1,
			 [F_switch_prev_tid] = rows[i].prev_tid,     [F_switch_prev_state] = rows[i].prev_state,
			 [F_switch_next_tid] = rows[i].next_tid,     [F_switch_prev_syscall] = rows[i].prev_syscall,
			 [F_switch_prev_flags] = rows[i].prev_flags, [F_switch_next_queue] = 0},
			       waking[] = {[F_waking_at] = row[F_switch_at],
					   [F_waking_cpu] = 1,
					   [F_waking_tid] = 7,
					   [F_waking_waker_tid] = TID_IDLE,
					   [F_waking_context] = WAKE_IRQ};

		if (rows[i].next_tid == 7 && rows[i].prev_tid == TID_IDLE)
			assert_int_equal(timeline_waking(tl, waking, &why), 0);
		assert_int_equal(timeline_switch(tl, row, &waited_ns, &why), 0);
	}
	timeline_fault(tl, 39 * MS, 46 * MS, 7);
	assert_int_equal(timeline_call(tl, 5 * MS, 50 * MS, 7, 1, &why), 0);
	return tl;
}

static void page_faults_and_disks_are_reported_apart_and_add_up(void **state)
{
	struct timeline *tl = small_timeline();
	struct split s;
	uint64_t sum = 0;

	(void)state;
	split_make(&s, tl, 7, 5 * MS, 50 * MS);
	for (unsigned c = 0; c < CAUSE_CLASSES; c++)
		sum += s.ns[c];
	assert_int_equal(sum, 45 * MS);
	assert_int_equal(s.ns[CAUSE_RUNNABLE], 4 * MS);
	assert_int_equal(s.ns[CAUSE_IO], 6 * MS);
	assert_int_equal(s.ns[CAUSE_FAULT], 8 * MS); /* one reported by the switch, one by the fault row */
	assert_int_equal(s.ns[CAUSE_ASLEEP], 0);
	assert_int_equal(split_longest(&s, CAUSE_IO)->syscall, 18);
	assert_int_equal(split_longest(&s, CAUSE_FAULT)->syscall, 0);
	timeline_close(tl);
}

static void a_scene_shows_the_thread_and_who_had_its_cpu(void **state)
{
	struct timeline *tl = small_timeline();
	struct scene *scene;
	struct cause c;

	(void)state;
	cause_find(&c, tl, 7, 9 * MS, 17 * MS);
	scene = scene_make(tl, &c, 8);
	assert_non_null(scene);
	assert_int_equal(scene->begin_ns, 7 * MS);
	assert_int_equal(scene->end_ns, 17 * MS);
	assert_int_equal(scene->nrows, 2);
	assert_int_equal(scene->rows[0].tid, 7);
	assert_int_equal(scene->rows[1].tid, 8);
	for (unsigned r = 0; r < scene->nrows; r++) {
		const struct scene_row *row = &scene->rows[r];

		assert_int_equal(row->pieces[0].begin_ns, scene->begin_ns);
		assert_int_equal(row->pieces[row->npieces - 1].end_ns, scene->end_ns);
		for (unsigned i = 1; i < row->npieces; i++)
			assert_int_equal(row->pieces[i].begin_ns, row->pieces[i - 1].end_ns);
	}
	assert_int_equal(scene->rows[0].npieces, 3);
	assert_int_equal(scene->rows[0].pieces[1].class, CAUSE_RUNNABLE);
	assert_int_equal(scene->rows[0].pieces[1].tid, 8);
	scene_free(scene);
	timeline_close(tl);
}

static void sum_occupant(void *arg, const struct occupant *o)
{
	uint64_t *ns = arg;

	assert_int_equal(o->first_tid, 7);
	*ns += o->end_ns - o->begin_ns;
}

static int take(struct timeline *tl, uint64_t at_ns, uint32_t cpu, uint64_t steal_ns, uint64_t interrupts_ns)
{
	const uint64_t ns[TAKERS] = {[TAKER_HYPERVISOR] = steal_ns, [TAKER_INTERRUPTS] = interrupts_ns};
	struct fault why;

	return timeline_take(tl, at_ns, cpu, ns, &why);
}

static uint64_t stolen(const struct timeline *tl, uint32_t cpu, uint64_t begin_ns, uint64_t end_ns)
{
	return timeline_taken(tl, cpu, TAKER_HYPERVISOR, begin_ns, end_ns);
}

static void nobody_is_said_to_have_had_a_cpu_before_its_first_row(void **state)
{
	const uint64_t row[] = {[F_switch_at] = 10,      [F_switch_cpu] = 1,        [F_switch_prev_tid] = 8,
				[F_switch_next_tid] = 7, [F_switch_prev_flags] = 0, [F_switch_next_queue] = 0};
	struct timeline *tl = NULL;
	uint64_t waited_ns, ns = 0;
	struct fault why;

	(void)state;
	assert_int_equal(timeline_open(&tl, &why), 0);
	assert_int_equal(take(tl, 1, 1, 5, 0), 0);
	timeline_occupants(tl, 1, 0, 30, sum_occupant, &ns);
	assert_int_equal(ns, 0);
	assert_int_equal(timeline_switch(tl, row, &waited_ns, &why), 0);
	timeline_occupants(tl, 1, 0, 30, sum_occupant, &ns);
	assert_int_equal(ns, 20);
	timeline_close(tl);
}

static void a_scene_of_many_pieces_is_thinned_without_a_gap(void **state)
{
	struct timeline *tl = NULL;
	struct scene *scene;
	struct fault why;
	struct cause c;
	uint64_t end_ns = 1000 * MS, waited_ns;

	(void)state;
	assert_int_equal(timeline_open(&tl, &why), 0);
	assert_int_equal(timeline_call(tl, 0, 1, 7, 1, &why), 0);
	for (uint64_t i = 1; i < 400; i++) {
		const uint64_t away_ns = i == 200 ? 1900000 : 1000,
			       out[NFIELDS_switch] = {[F_switch_at] = i * 2 * MS,
						      [F_switch_cpu] = 1,
						      [F_switch_prev_tid] = 7,
						      [F_switch_next_tid] = 8},
			       in[NFIELDS_switch] = {[F_switch_at] = i * 2 * MS + away_ns,
						     [F_switch_cpu] = 1,
						     [F_switch_prev_tid] = 8,
						     [F_switch_prev_state] = 1,
						     [F_switch_next_tid] = 7};

		assert_int_equal(timeline_switch(tl, out, &waited_ns, &why), 0);
		assert_int_equal(waited_ns, 0);
		assert_int_equal(timeline_switch(tl, in, &waited_ns, &why), 0);
		assert_int_equal(waited_ns, away_ns);
	}
	assert_int_equal(timeline_call(tl, 0, end_ns, 7, 1, &why), 0);
	cause_find(&c, tl, 7, 400 * MS, end_ns);
	scene = scene_make(tl, &c, TID_NONE);
	assert_non_null(scene);
	assert_in_range(scene->rows[0].npieces, 3, SCENE_PIECES_MAX);
	for (unsigned i = 1; i < scene->rows[0].npieces; i++)
		assert_int_equal(scene->rows[0].pieces[i].begin_ns, scene->rows[0].pieces[i - 1].end_ns);
	scene_free(scene);
	timeline_close(tl);
}

static void stolen_time_is_an_upper_bound_of_what_was_reported(void **state)
{
	struct timeline *tl = NULL;
	struct fault why;

	(void)state;
	assert_int_equal(timeline_open(&tl, &why), 0);
	assert_int_equal(stolen(tl, 0, 0, 100 * MS), 0);
	assert_int_equal(take(tl, 10 * MS, 0, 500 * MS, 0), 0); /* since boot: nothing is known of before */
	assert_int_equal(take(tl, 20 * MS, 0, 503 * MS, 0), 0);
	assert_int_equal(take(tl, 30 * MS, 0, 503 * MS, 0), 0);
	assert_int_equal(take(tl, 40 * MS, 0, 504 * MS, 0), 0);
	assert_int_equal(stolen(tl, 0, 0, 100 * MS), 4 * MS);
	assert_int_equal(stolen(tl, 0, 21 * MS, 29 * MS), 0);
	assert_int_equal(stolen(tl, 0, 19 * MS, 21 * MS), 1 * MS); /* no more than the time itself */
	assert_int_equal(stolen(tl, 1, 0, 100 * MS), 0);
	timeline_close(tl);
}

/* Each has an account of its own. */
static void interrupts_are_apart_from_what_is_stolen(void **state)
{
	struct timeline *tl = NULL;
	struct fault why;

	(void)state;
	assert_int_equal(timeline_open(&tl, &why), 0);
	assert_int_equal(take(tl, 10 * MS, 0, 500 * MS, 70 * MS), 0);
	assert_int_equal(take(tl, 20 * MS, 0, 500 * MS, 76 * MS), 0);
	assert_int_equal(take(tl, 30 * MS, 0, 502 * MS, 76 * MS), 0);
	assert_int_equal(take(tl, 40 * MS, 0, 502 * MS, 60 * MS), 0); /* a CPU that was away begins anew */
	assert_int_equal(timeline_taken(tl, 0, TAKER_INTERRUPTS, 0, 100 * MS), 6 * MS);
	assert_int_equal(timeline_taken(tl, 0, TAKER_INTERRUPTS, 18 * MS, 100 * MS), 2 * MS);
	assert_int_equal(stolen(tl, 0, 0, 100 * MS), 2 * MS);
	timeline_close(tl);
}

static void tallies_join_as_if_they_had_been_one(void **state)
{
	struct tally both = {0}, a = {0}, b = {0};
	struct timeline *tl = small_timeline();
	struct names names = {0};
	struct explained *scratch = calloc(1, sizeof(*scratch));
	struct finding one = {0}, two = {0};

	(void)state;
	assert_non_null(scratch);
	for (uint64_t i = 0; i < 100; i++) {
		uint64_t begin_ns = i * 1000, end_ns = begin_ns + 100 + (i * 7919) % 1000;

		assert_true(tally_add_call(&both, tl, &names, 7, begin_ns, end_ns, scratch));
		assert_true(tally_add_call(i % 3 ? &a : &b, tl, &names, 7, begin_ns, end_ns, scratch));
	}
	tally_join(&a, &b);
	assert_int_equal(b.count, 0);
	tally_give(&both, &one);
	tally_give(&a, &two);
	assert_int_equal(one.count, two.count);
	assert_int_equal(one.total_ns, two.total_ns);
	assert_int_equal(one.min_ns, two.min_ns);
	assert_int_equal(one.median_ns, two.median_ns);
	assert_int_equal(one.p99_ns, two.p99_ns);
	assert_int_equal(one.nfirst, OCCURRENCES_KEPT);
	assert_memory_equal(one.first, two.first, sizeof(one.first));
	assert_int_equal(one.nworst, WORST_KEPT);
	for (unsigned i = 0; i < WORST_KEPT; i++) {
		assert_int_equal(one.worst[i].at.end_ns - one.worst[i].at.begin_ns,
				 two.worst[i].at.end_ns - two.worst[i].at.begin_ns);
		free(one.worst[i].why), free(two.worst[i].why);
		scene_free(one.worst[i].scene), scene_free(two.worst[i].scene);
	}
	free(one.hist), free(two.hist);
	free(scratch);
	names_clear(&names);
	timeline_close(tl);
}

static void numbers_of_the_driver_have_words(void **state)
{
	(void)state;
	assert_string_equal(cuda_error_text(700), "illegal address");
	assert_null(cuda_error_text(-1));
	assert_true(cuda_error_sticks(719));
	assert_false(cuda_error_sticks(1));
	assert_true(cuda_error_is_none(600));
	assert_true(cuda_error_is_harmless(712));
	assert_true(nccl_error_is_none(7));
	assert_null(nccl_error_text(99));
	assert_int_equal(xid_find(79)->severity, SEVERITY_ERROR);
	assert_non_null(strstr(xid_find(123456)->text, "no words"));
	assert_string_equal(syscall_name(machine_by_name("x86_64", 6), 16), "ioctl");
	assert_string_equal(syscall_name(machine_by_name("aarch64", 7), 29), "ioctl");
	assert_null(syscall_name(machine_by_name("riscv64", 7), 29));
	assert_null(syscall_name(MACHINE_X86_64, 1ULL << 40));
}

static void findings_come_by_the_time_that_was_lost(void **state)
{
	static const struct finding of[] = {
		{.rule = "lasted", .unit = WEIGHT_NS, .weight = 9, .severity = SEVERITY_WARNING, .lasted = true},
		{.rule = "short", .unit = WEIGHT_NS, .weight = 1, .severity = SEVERITY_WARNING},
		{.rule = "events", .unit = WEIGHT_EVENTS, .weight = 9, .severity = SEVERITY_WARNING},
		{.rule = "long", .unit = WEIGHT_NS, .weight = 3, .severity = SEVERITY_WARNING},
		{.rule = "bad", .unit = WEIGHT_NS, .weight = 2, .severity = SEVERITY_ERROR},
		{.rule = "info", .unit = WEIGHT_NS, .weight = 9, .severity = SEVERITY_INFO},
		{.rule = "error", .unit = WEIGHT_NONE, .severity = SEVERITY_ERROR},
	};
	static const char *const order[] = {"error", "long", "bad", "short", "lasted", "events", "info"};
	struct findings all = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++)
		*findings_add(&all) = of[i];
	findings_sort(&all);
	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++)
		assert_string_equal(all.all[i]->rule, order[i]);
	findings_clear(&all);
}

static void findings_say_how_sure_and_at_what_cost(void **state)
{
	struct findings all = {0};
	struct finding *f = findings_add(&all);

	(void)state;
	f->rule = "x";
	f->class = "y";
	f->weight = 250 * MS;
	f->unit = WEIGHT_NS;
	f->count = 3;
	f->confidence = CONFIDENCE_LOW;
	assert_true(findings_complete(&all, 1000 * MS));
	assert_int_equal(f->share_ppm, 250000);
	assert_string_equal(text_string(&f->cost), "It cost 250 ms in all (3 times), 25.0 % of the recorded time");
	assert_non_null(strstr(text_string(&f->sure), "Low confidence"));
	findings_clear(&all);
}

static void every_rule_explains_itself(void **state)
{
	(void)state;
	for (unsigned i = 0; i < NRULES; i++) {
		assert_true(rules[i]->summary && rules[i]->meaning && rules[i]->wrong && rules[i]->remedy);
		assert_in_range(rules[i]->nsettings, 1, SETTINGS_MAX);
		assert_true((rules[i]->kinds[0] != 0) == (rules[i]->feed != NULL));
		assert_int_equal(rules[i]->kinds[RULE_KINDS_MAX - 1], 0);
		for (unsigned k = 0; k < rules[i]->nsettings; k++) {
			const struct setting *s = &rules[i]->settings[k];

			assert_true(s->key && s->help && s->min <= s->value && s->value <= s->max);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranges_hold_what_was_added_and_not_removed),
		cmocka_unit_test(a_range_drives_out_those_that_it_overlaps),
		cmocka_unit_test(beyond_the_limit_ranges_say_so),
		cmocka_unit_test(a_roster_names_who_cost_most),
		cmocka_unit_test(groups_are_kept_up_to_their_limit),
		cmocka_unit_test(page_faults_and_disks_are_reported_apart_and_add_up),
		cmocka_unit_test(a_scene_shows_the_thread_and_who_had_its_cpu),
		cmocka_unit_test(nobody_is_said_to_have_had_a_cpu_before_its_first_row),
		cmocka_unit_test(a_scene_of_many_pieces_is_thinned_without_a_gap),
		cmocka_unit_test(stolen_time_is_an_upper_bound_of_what_was_reported),
		cmocka_unit_test(interrupts_are_apart_from_what_is_stolen),
		cmocka_unit_test(tallies_join_as_if_they_had_been_one),
		cmocka_unit_test(numbers_of_the_driver_have_words),
		cmocka_unit_test(findings_come_by_the_time_that_was_lost),
		cmocka_unit_test(findings_say_how_sure_and_at_what_cost),
		cmocka_unit_test(every_rule_explains_itself),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
