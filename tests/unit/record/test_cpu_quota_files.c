/* SPDX-License-Identifier: Apache-2.0 */
/* CPU quotas as files of control groups report them: folders that look like both versions; the writer here keeps rows.
 */
#include "tests/unit/made.h"

#include "record/host/cpu_quota_files.h"

#define ROWS_MAX 16
#define US UINT64_C(1000)

struct writer {
	unsigned n;
	struct row {
		uint64_t v[NFIELDS_quota];
		char path[64];
	} rows[ROWS_MAX];
	enum err answer;
};

int writer_add(struct writer *w, uint16_t kind, const uint64_t *v, const char *const *text, struct fault *why)
{
	struct row *r = &w->rows[w->n];

	if (w->answer)
		return fault_set(why, w->answer, FAULT_NOWHERE, "asked to");
	assert_int_equal(kind, KIND_quota);
	assert_true(w->n < ROWS_MAX);
	memcpy(r->v, v, sizeof(r->v));
	assert_int_equal(v[F_quota_path], strlen(text[F_quota_path]));
	snprintf(r->path, sizeof(r->path), "%s", text[F_quota_path]);
	w->n++;
	return 0;
}

/* The mounts of a host, with one at FOLDER as this says. */
static struct quotas *quotas_of(const char *type, const char *options, const char *root)
{
	struct quotas *q = NULL;
	FILE *f = fopen(made_path("mountinfo"), "w");

	assert_non_null(f);
	fprintf(f, "22 1 0:20 / /proc rw,nosuid - proc proc rw\n");
	fprintf(f, "31 23 0:26 %s %s rw,relatime shared:9 - %s cgroup %s\n", root, made_path("groups"), type, options);
	fclose(f);
	assert_int_equal(quotas_new(&q, made_path("mountinfo"), NULL), 0);
	return q;
}

static void make_v1(const char *group, const char *quota, unsigned throttled)
{
	made_run("mkdir -p groups%s && cd groups%s && echo '%s' >cpu.cfs_quota_us && echo 100000 >cpu.cfs_period_us &&"
		 " printf 'nr_periods 50\\nnr_throttled 20\\nthrottled_time %u\\nnr_bursts 0\\n' >cpu.stat",
		 group, group, quota, throttled);
}

static void make_v2(const char *group, const char *max, unsigned throttled_us)
{
	made_run("mkdir -p groups%s && cd groups%s && echo '%s' >cpu.max && printf 'usage_usec 9\\nnr_periods "
		 "50\\nnr_throttled 20\\nthrottled_usec %u\\n' >cpu.stat",
		 group, group, max, throttled_us);
}

static int remove_groups(void **state)
{
	(void)state;
	made_run("rm -rf groups && mkdir groups");
	return 0;
}

static void assert_row(const struct row *r, const char *path, uint64_t quota_ns, uint64_t throttled_ns)
{
	assert_string_equal(r->path, path);
	assert_int_equal(r->v[F_quota_quota], quota_ns);
	assert_int_equal(r->v[F_quota_period], 100000 * US);
	assert_int_equal(r->v[F_quota_periods], 50);
	assert_int_equal(r->v[F_quota_throttled_periods], 20);
	assert_int_equal(r->v[F_quota_throttled], throttled_ns);
}

static void quotas_of_a_group_and_those_above_it_are_reported_once(void **state)
{
	struct quotas *q = quotas_of("cgroup", "rw,cpuacct,cpu", "/");
	struct writer w = {0};

	(void)state;
	make_v1("/jobs", "250000", 7000);
	make_v1("/jobs/a", "-1", 0);
	make_v1("/jobs/a/b", "30000", 900);
	assert_int_equal(quotas_meet(q, "/jobs/a/b", &w, 5, NULL), 0);
	assert_int_equal(w.n, 2);
	assert_row(&w.rows[0], "/jobs/a/b", 30000 * US, 900);
	assert_row(&w.rows[1], "/jobs", 250000 * US, 7000);
	assert_int_equal(w.rows[0].v[F_quota_at], 5);
	assert_int_equal(quotas_meet(q, "/jobs/a/b", &w, 6, NULL), 0);
	assert_int_equal(quotas_meet(q, "/jobs/a", &w, 6, NULL), 0);
	assert_int_equal(quotas_meet(q, "/", &w, 6, NULL), 0);
	assert_int_equal(quotas_meet(q, "/not/there", &w, 6, NULL), 0);
	assert_int_equal(quotas_meet(q, "", &w, 6, NULL), 0);
	assert_int_equal(w.n, 2);
	quotas_free(q);
}

static void later_only_what_has_changed_is_reported(void **state)
{
	struct quotas *q = quotas_of("cgroup2", "rw,nsdelegate", "/");
	struct writer w = {0};

	(void)state;
	make_v2("/a", "30000 100000", 70);
	make_v2("/a/b", "max 100000", 0);
	assert_int_equal(quotas_meet(q, "/a/b", &w, 5, NULL), 0);
	assert_int_equal(w.n, 1);
	assert_row(&w.rows[0], "/a", 30000 * US, 70 * US);
	assert_int_equal(quotas_emit(q, false, &w, 6, NULL), 0);
	assert_int_equal(w.n, 1);
	make_v2("/a", "30000 100000", 90);
	make_v2("/a/b", "10000 100000", 3);
	assert_int_equal(quotas_emit(q, false, &w, 7, NULL), 0);
	assert_int_equal(w.n, 2);
	assert_row(&w.rows[1], "/a", 30000 * US, 90 * US);
	/* One that had no quota is inspected when all are. */
	assert_int_equal(quotas_emit(q, true, &w, 8, NULL), 0);
	assert_int_equal(w.n, 3);
	assert_row(&w.rows[2], "/a/b", 10000 * US, 3 * US);
	/* One that was taken away. */
	make_v2("/a", "max 100000", 90);
	assert_int_equal(quotas_emit(q, false, &w, 9, NULL), 0);
	assert_int_equal(w.n, 4);
	assert_row(&w.rows[3], "/a", 0, 90 * US);
	/* Another capture. */
	quotas_forget(q);
	assert_int_equal(quotas_emit(q, true, &w, 10, NULL), 0);
	assert_int_equal(w.n, 5);
	assert_row(&w.rows[4], "/a/b", 10000 * US, 3 * US);
	quotas_free(q);
}

static void groups_that_are_not_mounted_here_are_left_alone(void **state)
{
	struct quotas *q = quotas_of("cgroup2", "rw", "/kubepods/pod1");
	struct writer w = {0};

	(void)state;
	make_v2("/x", "30000 100000", 70);
	assert_int_equal(quotas_meet(q, "/kubepods/pod1/x", &w, 5, NULL), 0);
	assert_int_equal(w.n, 1);
	assert_string_equal(w.rows[0].path, "/kubepods/pod1/x");
	assert_int_equal(quotas_meet(q, "/other/x", &w, 5, NULL), 0);
	assert_int_equal(quotas_meet(q, "/../x", &w, 5, NULL), 0);
	assert_int_equal(w.n, 1);
	quotas_free(q);
	q = quotas_of("cgroup", "rw,memory", "/"); /* without the CPU controller */
	assert_int_equal(quotas_meet(q, "/x", &w, 5, NULL), 0);
	assert_int_equal(w.n, 1);
	quotas_free(q);
	quotas_free(NULL);
	assert_int_equal(quotas_meet(NULL, "/x", &w, 5, NULL), 0);
	assert_int_equal(quotas_emit(NULL, true, &w, 5, NULL), 0);
	assert_int_equal(quotas_skipped(NULL), 0);
}

static void files_that_hold_nonsense_are_no_quota(void **state)
{
	struct quotas *q = quotas_of("cgroup2", "rw", "/");
	struct writer w = {0};

	(void)state;
	make_v2("/a", "", 0);
	make_v2("/b", "x y", 0);
	make_v2("/c", "99999999999999999999999 100000", 0);
	made_run("mkdir -p groups/d && cp groups/c/cpu.max groups/d");
	assert_int_equal(quotas_meet(q, "/a", &w, 5, NULL), 0);
	assert_int_equal(quotas_meet(q, "/b", &w, 5, NULL), 0);
	assert_int_equal(quotas_meet(q, "/d", &w, 5, NULL), 0);
	assert_int_equal(w.n, 0);
	quotas_free(q);
}

static void more_groups_than_are_looked_at_are_counted(void **state)
{
	struct quotas *q = quotas_of("cgroup2", "rw", "/");
	struct writer w = {0};
	char path[32];

	(void)state;
	for (unsigned i = 0; i < QUOTA_GROUPS_MAX + 3; i++) {
		snprintf(path, sizeof(path), "/g%u", i);
		assert_int_equal(quotas_meet(q, path, &w, 5, NULL), 0);
	}
	assert_int_equal(quotas_skipped(q), 3);
	quotas_free(q);
}

static void what_the_writer_refuses_is_passed_on(void **state)
{
	struct quotas *q = quotas_of("cgroup2", "rw", "/");
	struct writer w = {.answer = ERR_IO};
	struct fault why;

	(void)state;
	make_v2("/a", "30000 100000", 70);
	assert_int_equal(quotas_meet(q, "/a", &w, 5, &why), ERR_IO);
	assert_string_equal(why.text, "asked to");
	quotas_free(q);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(quotas_of_a_group_and_those_above_it_are_reported_once, remove_groups),
		cmocka_unit_test_setup(later_only_what_has_changed_is_reported, remove_groups),
		cmocka_unit_test_setup(groups_that_are_not_mounted_here_are_left_alone, remove_groups),
		cmocka_unit_test_setup(files_that_hold_nonsense_are_no_quota, remove_groups),
		cmocka_unit_test_setup(more_groups_than_are_looked_at_are_counted, remove_groups),
		cmocka_unit_test_setup(what_the_writer_refuses_is_passed_on, remove_groups),
	};

	return cmocka_run_group_tests(tests, NULL, made_clear);
}
