/* SPDX-License-Identifier: Apache-2.0 */
/* What a capture says of itself, what its seals count as lost, and queues at a lock. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/facts/capture_facts.h"
#include "analyze/stats/lock_convoy.h"
#include "analyze/finding.h"
#include "analyze/facts/losses.h"
#include "tests/unit/event.h"

static void emit(struct about *a, const char *name, const char *value)
{
	struct event ev = event_made(KIND_fact, NULL, 1);
	struct fault why;

	event_set_text(&ev, F_fact_name, name);
	event_set_text(&ev, F_fact_value, value);
	assert_int_equal(about_feed(a, &ev, &why), 0);
}

/* All lines, of all sorts. */
static const char *lines(const struct about *a, struct text *t)
{
	text_clear(t);
	for (unsigned sort = 0; sort < BLIND_SORTS; sort++)
		about_blind(a, (enum blind_sort)sort, t);
	return text_string(t);
}

static void what_a_recorder_could_see_is_not_reported_as_missing(void **state)
{
	static const char *const fine[][2] = {
		{"futex", "recorded"},          {"late_attach", "yes"},           {"waking_context", "known"},
		{"tracepoints_absent", "none"}, {"nvml", "driver 580.1, 8 GPUs"}, {"virtualisation", "none"},
		{"hostname", "node17"},         {"unheard_of", "1 thing"}};
	struct about a = {0};
	struct text t = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(fine) / sizeof(fine[0]); i++)
		emit(&a, fine[i][0], fine[i][1]);
	assert_string_equal(lines(&a, &t), "");
	text_clear(&t);
	about_clear(&a);
}

/* The last ones of the table. */
static void each_fact_has_room(void **state)
{
	struct about a = {0};
	struct text t = {0};

	(void)state;
	emit(&a, "modules_not_numbered", "2 modules skipped: limit reached");
	emit(&a, "frames_unplaced", "3 frames");
	emit(&a, "command_lines", "left out");
	assert_null(a.command);
	assert_int_equal(a.command_bytes + a.command_pid, 0);
	assert_non_null(strstr(lines(&a, &t), "2 modules skipped: limit reached\n"));
	text_clear(&t);
	about_clear(&a);
}

static void each_fact_of_blindness_becomes_one_sentence(void **state)
{
	static const struct {
		const char *name, *value, *line;
		enum blind_sort sort;
	} cases[] = {
		{"processes_denied", "1 process of which\x1b", "1 process of which\\x1b\n", BLIND_RIGHTS},
		{"libraries_unread", "3 CUDA libraries that could not be read",
		 "3 CUDA libraries that could not be read\n", BLIND_LIBRARIES},
		{"library_problem", "/x\x1b: bad", "A library or program, /x\\x1b: bad\n", BLIND_LIBRARIES},
		{"runtimes_stripped", "11 y", "11 y\n", BLIND_STRIPPED},
		{"futex", "not recorded",
		 "Waits for locks, which are reported as some sleep: futexes were not recorded\n", BLIND_OPTIONS},
		{"futex", "not recorded: this kernel does not offer it",
		 "Waits for locks, which are reported as some sleep: futexes were not recorded: this kernel does not "
		 "offer "
		 "it\n",
		 BLIND_TRACEPOINTS},
		{"follow", "not recorded",
		 "What those did that are not recorded, and kept recorded threads waiting: not recorded\n",
		 BLIND_OPTIONS},
		{"xid", "not recorded", "Errors that the NVIDIA driver wrote to the kernel's log (Xid)\n",
		 BLIND_HEALTH},
		{"virtualisation", "kvm",
		 "CPU steal time: the hypervisor does not report it, and stolen time shows as on CPU\n", BLIND_HOST},
		{"tracepoints_absent", "a, task_rename",
		 "What this kernel has no tracepoint for: a; new names of threads (task_rename)\n", BLIND_TRACEPOINTS},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct about a = {0};
		struct text t = {0};

		emit(&a, cases[i].name, cases[i].value);
		assert_string_equal(lines(&a, &t), cases[i].line);
		text_clear(&t);
		assert_true(about_blind(&a, cases[i].sort, &t));
		assert_string_equal(text_string(&t), cases[i].line);
		text_clear(&t);
		about_clear(&a);
	}
}

static void without_a_driver_its_silence_is_no_trouble(void **state)
{
	struct about a = {0};
	struct text t = {0};

	(void)state;
	emit(&a, "nvml", "no NVIDIA driver here");
	emit(&a, "xid", "not recorded");
	assert_false(about_blind(&a, BLIND_HEALTH, &t));
	assert_true(about_blind(&a, BLIND_ORDINARY, &t));
	emit(&a, "nvml", "NVML does not answer");
	assert_true(about_blind(&a, BLIND_HEALTH, &t));
	text_clear(&t);
	about_clear(&a);
}

static void a_tracepoint_is_lacked_by_its_whole_name(void **state)
{
	struct about a = {0};

	(void)state;
	assert_false(about_lacks(&a, "sched_switch"));
	emit(&a, "tracepoints_absent", "none");
	assert_false(about_lacks(&a, "sched_switch"));
	emit(&a, "tracepoints_absent", "sys_enter, xsched_switch, sched_switches");
	assert_false(about_lacks(&a, "sched_switch"));
	assert_true(about_lacks(&a, "sys_enter"));
	emit(&a, "tracepoints_absent", "sys_enter, sched_switch");
	assert_true(about_lacks(&a, "sched_switch"));
	about_clear(&a);
}

static void what_is_refused_is_not_called_absent_alone(void **state)
{
	struct about a = {0};
	struct text t = {0};

	(void)state;
	emit(&a, "tracepoints_absent", "task_rename");
	emit(&a, "programs_refused", "on_rename: R1 invalid mem access 'scalar'");
	assert_true(about_lacks(&a, "task_rename"));
	assert_true(about_blind(&a, BLIND_TRACEPOINTS, &t));
	assert_string_equal(text_string(&t),
			    "What this kernel has no tracepoint for, or refuses the program for: new names "
			    "of threads (task_rename)\n");
	text_clear(&t);
	about_clear(&a);
}

static void only_tracepoints_that_findings_rest_on_are_worth_a_warning(void **state)
{
	static const struct {
		const char *absent;
		enum severity severity;
	} cases[] = {
		{"page_fault_user", SEVERITY_INFO},  {"page_fault_user, task_rename", SEVERITY_INFO},
		{"sched_switch", SEVERITY_WARNING},  {"page_fault_user, mark_victim", SEVERITY_WARNING},
		{"something_new", SEVERITY_WARNING}, {"page_fault_user, signal_generate, task_rename", SEVERITY_INFO},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct about a = {0};

		emit(&a, "tracepoints_absent", cases[i].absent);
		assert_int_equal(blind_severity(&a, BLIND_TRACEPOINTS), cases[i].severity);
		about_clear(&a);
	}
}

static void a_virtual_machine_that_reports_of_stolen_time_hides_none(void **state)
{
	struct event ev = event_made(KIND_cpu, NULL, 1);
	struct about a = {0};
	struct fault why;

	(void)state;
	emit(&a, "virtualisation", "kvm");
	assert_true(about_is_virtual(&a));
	assert_int_equal(about_feed(&a, &ev, &why), 0);
	assert_true(about_hides_steal(&a));
	event_set(&ev, F_cpu_steal, 5);
	assert_int_equal(about_feed(&a, &ev, &why), 0);
	assert_false(about_hides_steal(&a));
	assert_true(about_is_virtual(&a));
	about_clear(&a);
}

static void values_and_names_are_kept_within_bounds(void **state)
{
	struct event gpu = event_made(KIND_gpu, NULL, 1), fact = event_made(KIND_fact, NULL, 1);
	static char big[4096];
	struct about a = {0};
	struct text t = {0};
	struct fault why;
	size_t len;

	(void)state;
	memset(big, 'x', sizeof(big) - 1);
	for (unsigned i = 0; i < 100; i++) {
		event_set(&gpu, F_gpu_index, i);
		event_set_text(&gpu, F_gpu_name, big);
		assert_int_equal(about_feed(&a, &gpu, &why), 0);
	}
	about_add_gpus(&a, &t);
	assert_non_null(strstr(text_string(&t), " and 92 more"));
	assert_true(t.len < 8 * 80);
	/* Texts that are not there (withheld, or of another version) are no facts. */
	assert_int_equal(about_feed(&a, &fact, &why), 0);
	event_set_text(&fact, F_fact_name, "hostname");
	assert_int_equal(about_feed(&a, &fact, &why), 0);
	assert_null(about_fact(&a, "hostname", &len));
	event_set_text(&fact, F_fact_value, big);
	assert_int_equal(about_feed(&a, &fact, &why), 0);
	assert_non_null(about_fact(&a, "hostname", &len));
	assert_int_equal(len, ABOUT_VALUE_KEPT);
	text_clear(&t);
	about_clear(&a);
}

static const struct probe probes[] = {{"aa", 1, KIND_launch}, {"bb", 2, KIND_launch}, {"aa", 3, KIND_switch}};

static bool all(const struct schema *schema, const struct counter *c, const void *arg)
{
	(void)schema, (void)arg;
	return c->id == COUNTER_ring_full;
}

static void losses_are_reported_by_function_most_first(void **state)
{
	const struct counter counters[] = {
		{1, COUNTER_fired, 20}, {1, COUNTER_ring_full, 3}, {2, COUNTER_fired, 20},   {2, COUNTER_ring_full, 5},
		{3, COUNTER_fired, 20}, {3, COUNTER_ring_full, 4}, {9, COUNTER_ring_full, 1}};
	struct schema schema = {.probes = (struct probe *)(uintptr_t)probes, .nprobes = 3};
	struct losses l;
	struct text t = {0};

	(void)state;
	assert_true(losses_collect(&l, &schema, counters, 7, all, NULL));
	assert_int_equal(l.total, 13);
	losses_add(&l, 8, &t);
	assert_string_equal(text_string(&t), " 7 of aa, 5 of bb, 1 of ");
	text_clear(&t);
	losses_add(&l, 1, &t);
	assert_string_equal(text_string(&t), " 7 of aa and 6 of 2 others");
	text_clear(&t);
	losses_clear(&l);
}

static void a_queue_is_as_long_as_the_waits_that_overlap(void **state)
{
	static const struct {
		uint64_t begin, end;
		unsigned most;
	} waits[] = {{10, 20, 1}, {20, 30, 1}, {25, 35, 2}, {5, 40, 3}, {26, 50, 4}, {60, 70, 4}, {34, 80, 4}};
	struct table convoys = {0};
	struct fault why;

	(void)state;
	assert_null(convoys_find(&convoys, 1, 0x1000));
	for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++) {
		assert_int_equal(convoys_add(&convoys, 1, 0x1000, waits[i].begin, waits[i].end, &why), 0);
		assert_int_equal(convoys_find(&convoys, 1, 0x1000)->most, waits[i].most);
	}
	/* Another futex, and the same address in another process, are others. */
	assert_int_equal(convoys_add(&convoys, 1, 0x2000, 10, 90, &why), 0);
	assert_int_equal(convoys_add(&convoys, 2, 0x1000, 10, 90, &why), 0);
	assert_int_equal(convoys_find(&convoys, 1, 0x2000)->most, 1);
	assert_int_equal(convoys_find(&convoys, 2, 0x1000)->most, 1);
	table_clear(&convoys);
}

static void a_queue_longer_than_what_is_kept_is_reported_as_that_long(void **state)
{
	struct table convoys = {0};
	struct fault why;

	(void)state;
	for (uint64_t i = 0; i < 3 * CONVOY_WAITS; i++)
		assert_int_equal(convoys_add(&convoys, 1, 1, i, 1000 + i, &why), 0);
	assert_int_equal(convoys_find(&convoys, 1, 1)->most, CONVOY_WAITS);
	for (uint64_t i = 0; i < 2 * CONVOY_FUTEXES_MAX; i++)
		assert_int_equal(convoys_add(&convoys, 2, i + 1, i, 1000 + i, &why), 0);
	assert_int_equal(convoys.nitems, CONVOY_FUTEXES_MAX);
	table_clear(&convoys);
}

#ifndef __SANITIZE_ADDRESS__

static unsigned long ncalls, fail_at;

static bool refused(void)
{
	return fail_at && ++ncalls == fail_at;
}

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);

void *malloc(size_t n)
{
	return refused() ? NULL : __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
	return refused() ? NULL : __libc_calloc(n, size);
}

void *realloc(void *p, size_t n)
{
	return refused() ? NULL : __libc_realloc(p, n);
}

/* All that is done with memory here; 0: all of it could be done. */
static int use_memory(void)
{
	static const struct counter counters[] = {{1, COUNTER_ring_full, 3}};
	struct schema schema = {.probes = (struct probe *)(uintptr_t)probes, .nprobes = 3};
	struct event fact = event_made(KIND_fact, NULL, 1), command = event_made(KIND_command_line, NULL, 1);
	struct table convoys = {0};
	struct about a = {0};
	struct losses l = {0};
	struct text t = {0};
	struct fault why;
	int r;

	event_set_text(&fact, F_fact_name, "hostname");
	event_set_text(&fact, F_fact_value, "node17");
	event_set_text(&command, F_command_line_text, "train");
	r = about_feed(&a, &fact, &why);
	if (r == 0)
		r = about_feed(&a, &command, &why);
	if (r == 0)
		r = convoys_add(&convoys, 1, 2, 3, 4, &why);
	if (r == 0 && !losses_collect(&l, &schema, counters, 1, all, NULL))
		r = ERR_MEMORY;
	losses_add(&l, 1, &t);
	about_add_host(&a, &t);
	about_add_command(&a, &t);
	if (r == 0 && t.failed)
		r = ERR_MEMORY;
	text_clear(&t);
	losses_clear(&l);
	about_clear(&a);
	table_clear(&convoys);
	return r;
}

static void where_memory_ends_that_is_reported(void **state)
{
	unsigned long n = 0;
	int r;

	(void)state;
	do {
		fail_at = ++n;
		ncalls = 0;
		r = use_memory();
		assert_true(r == 0 || r == ERR_MEMORY);
		assert_int_equal(r, ncalls >= n ? ERR_MEMORY : 0);
	} while (r);
	fail_at = 0;
	assert_true(n > 6);
}

#else

/* The address sanitizer has an allocator of its own. */
static void where_memory_ends_that_is_reported(void **state)
{
	(void)state;
}

#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_recorder_could_see_is_not_reported_as_missing),
		cmocka_unit_test(each_fact_has_room),
		cmocka_unit_test(each_fact_of_blindness_becomes_one_sentence),
		cmocka_unit_test(without_a_driver_its_silence_is_no_trouble),
		cmocka_unit_test(a_tracepoint_is_lacked_by_its_whole_name),
		cmocka_unit_test(what_is_refused_is_not_called_absent_alone),
		cmocka_unit_test(only_tracepoints_that_findings_rest_on_are_worth_a_warning),
		cmocka_unit_test(a_virtual_machine_that_reports_of_stolen_time_hides_none),
		cmocka_unit_test(values_and_names_are_kept_within_bounds),
		cmocka_unit_test(losses_are_reported_by_function_most_first),
		cmocka_unit_test(a_queue_is_as_long_as_the_waits_that_overlap),
		cmocka_unit_test(a_queue_longer_than_what_is_kept_is_reported_as_that_long),
		cmocka_unit_test(where_memory_ends_that_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
