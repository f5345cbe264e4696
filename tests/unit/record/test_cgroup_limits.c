/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CPU quotas and limits of memory as files of control groups report them: folders that look like both versions, and
 * like /proc; the writer here keeps rows.
 */
#include "tests/unit/made.h"

#include "record/host/cgroup_limits.h"

#define ROWS_MAX 16
#define US UINT64_C(1000)
#define SECOND UINT64_C(1000000000) /* when the processes here began */

struct writer {
	unsigned n;
	struct row {
		uint64_t v[NFIELDS_memory_limit];
		char path[64], name[64];
	} rows[ROWS_MAX];
	uint64_t named; /* by the row before */
	enum err answer;
};

int writer_add(struct writer *w, uint16_t kind, const uint64_t *v, const char *const *text, struct fault *why)
{
	struct row *r = &w->rows[w->n];

	if (w->answer)
		return fault_set(why, w->answer, FAULT_NOWHERE, "asked to");
	assert_true(w->n < ROWS_MAX);
	if (kind == KIND_thread) { /* it goes before the row that mentions it */
		assert_int_equal(v[F_thread_tid], v[F_thread_pid]);
		assert_int_equal(v[F_thread_start], SECOND);
		w->named = v[F_thread_tid];
		snprintf(r->name, sizeof(r->name), "%s", text[F_thread_name]);
		return 0;
	}
	if (kind == KIND_memory_limit) {
		assert_int_equal(w->named, v[F_memory_limit_holder]);
		w->named = 0;
		memcpy(r->v, v, NFIELDS_memory_limit * sizeof(*v));
		snprintf(r->path, sizeof(r->path), "%s", text[F_memory_limit_path]);
	} else {
		assert_int_equal(kind, KIND_quota);
		memcpy(r->v, v, NFIELDS_quota * sizeof(*v));
		assert_int_equal(v[F_quota_path], strlen(text[F_quota_path]));
		snprintf(r->path, sizeof(r->path), "%s", text[F_quota_path]);
	}
	w->n++;
	return 0;
}

static struct procfs fs; /* FOLDER/proc */

/* The mounts of a host, with one at FOLDER as this says. */
static struct limits *limits_in(const struct limit_kind *kind, const char *type, const char *options, const char *root)
{
	struct limits *q = NULL;
	FILE *f = fopen(made_path("mountinfo"), "w");

	assert_non_null(f);
	fprintf(f, "22 1 0:20 / /proc rw,nosuid - proc proc rw\n");
	fprintf(f, "31 23 0:26 %s %s rw,relatime shared:9 - %s cgroup %s\n", root, made_path("groups"), type, options);
	fclose(f);
	assert_int_equal(limits_new(&q, kind, &fs, made_path("mountinfo"), NULL), 0);
	return q;
}

static struct limits *limits_of(const char *type, const char *options, const char *root)
{
	return limits_in(&cpu_limit, type, options, root);
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
	made_run("rm -rf groups proc/* && mkdir groups");
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
	struct limits *q = limits_of("cgroup", "rw,cpuacct,cpu", "/");
	struct writer w = {0};

	(void)state;
	make_v1("/jobs", "250000", 7000);
	make_v1("/jobs/a", "-1", 0);
	make_v1("/jobs/a/b", "30000", 900);
	assert_int_equal(limits_meet(q, "/jobs/a/b", &w, 5, NULL), 0);
	assert_int_equal(w.n, 2);
	assert_row(&w.rows[0], "/jobs/a/b", 30000 * US, 900);
	assert_row(&w.rows[1], "/jobs", 250000 * US, 7000);
	assert_int_equal(w.rows[0].v[F_quota_at], 5);
	assert_int_equal(limits_meet(q, "/jobs/a/b", &w, 6, NULL), 0);
	assert_int_equal(limits_meet(q, "/jobs/a", &w, 6, NULL), 0);
	assert_int_equal(limits_meet(q, "/", &w, 6, NULL), 0);
	assert_int_equal(limits_meet(q, "/not/there", &w, 6, NULL), 0);
	assert_int_equal(limits_meet(q, "", &w, 6, NULL), 0);
	assert_int_equal(w.n, 2);
	limits_free(q);
}

static void later_only_what_has_changed_is_reported(void **state)
{
	struct limits *q = limits_of("cgroup2", "rw,nsdelegate", "/");
	struct writer w = {0};

	(void)state;
	make_v2("/a", "30000 100000", 70);
	make_v2("/a/b", "max 100000", 0);
	assert_int_equal(limits_meet(q, "/a/b", &w, 5, NULL), 0);
	assert_int_equal(w.n, 1);
	assert_row(&w.rows[0], "/a", 30000 * US, 70 * US);
	assert_int_equal(limits_emit(q, false, &w, 6, NULL), 0);
	assert_int_equal(w.n, 1);
	make_v2("/a", "30000 100000", 90);
	make_v2("/a/b", "10000 100000", 3);
	assert_int_equal(limits_emit(q, false, &w, 7, NULL), 0);
	assert_int_equal(w.n, 2);
	assert_row(&w.rows[1], "/a", 30000 * US, 90 * US);
	/* One that had no quota is inspected when all are. */
	assert_int_equal(limits_emit(q, true, &w, 8, NULL), 0);
	assert_int_equal(w.n, 3);
	assert_row(&w.rows[2], "/a/b", 10000 * US, 3 * US);
	/* One that was taken away. */
	make_v2("/a", "max 100000", 90);
	assert_int_equal(limits_emit(q, false, &w, 9, NULL), 0);
	assert_int_equal(w.n, 4);
	assert_row(&w.rows[3], "/a", 0, 90 * US);
	/* Another capture. */
	limits_forget(q);
	assert_int_equal(limits_emit(q, true, &w, 10, NULL), 0);
	assert_int_equal(w.n, 5);
	assert_row(&w.rows[4], "/a/b", 10000 * US, 3 * US);
	limits_free(q);
}

static void groups_that_are_not_mounted_here_are_left_alone(void **state)
{
	struct limits *q = limits_of("cgroup2", "rw", "/kubepods/pod1");
	struct writer w = {0};

	(void)state;
	make_v2("/x", "30000 100000", 70);
	assert_int_equal(limits_meet(q, "/kubepods/pod1/x", &w, 5, NULL), 0);
	assert_int_equal(w.n, 1);
	assert_string_equal(w.rows[0].path, "/kubepods/pod1/x");
	assert_int_equal(limits_meet(q, "/other/x", &w, 5, NULL), 0);
	assert_int_equal(limits_meet(q, "/../x", &w, 5, NULL), 0);
	assert_int_equal(w.n, 1);
	limits_free(q);
	q = limits_of("cgroup", "rw,memory", "/"); /* without the CPU controller */
	assert_int_equal(limits_meet(q, "/x", &w, 5, NULL), 0);
	assert_int_equal(w.n, 1);
	limits_free(q);
	limits_free(NULL);
	assert_int_equal(limits_meet(NULL, "/x", &w, 5, NULL), 0);
	assert_int_equal(limits_emit(NULL, true, &w, 5, NULL), 0);
	assert_int_equal(limits_skipped(NULL), 0);
}

static void files_that_hold_nonsense_are_no_quota(void **state)
{
	struct limits *q = limits_of("cgroup2", "rw", "/");
	struct writer w = {0};

	(void)state;
	make_v2("/a", "", 0);
	make_v2("/b", "x y", 0);
	make_v2("/c", "99999999999999999999999 100000", 0);
	made_run("mkdir -p groups/d && cp groups/c/cpu.max groups/d");
	assert_int_equal(limits_meet(q, "/a", &w, 5, NULL), 0);
	assert_int_equal(limits_meet(q, "/b", &w, 5, NULL), 0);
	assert_int_equal(limits_meet(q, "/d", &w, 5, NULL), 0);
	assert_int_equal(w.n, 0);
	limits_free(q);
}

static void more_groups_than_are_looked_at_are_counted(void **state)
{
	struct limits *q = limits_of("cgroup2", "rw", "/");
	struct writer w = {0};
	char path[32];

	(void)state;
	for (unsigned i = 0; i < LIMIT_GROUPS_MAX + 3; i++) {
		snprintf(path, sizeof(path), "/g%u", i);
		assert_int_equal(limits_meet(q, path, &w, 5, NULL), 0);
	}
	assert_int_equal(limits_skipped(q), 3);
	limits_free(q);
}

static void what_the_writer_refuses_is_passed_on(void **state)
{
	struct limits *q = limits_of("cgroup2", "rw", "/");
	struct writer w = {.answer = ERR_IO};
	struct fault why;

	(void)state;
	make_v2("/a", "30000 100000", 70);
	assert_int_equal(limits_meet(q, "/a", &w, 5, &why), ERR_IO);
	assert_string_equal(why.text, "asked to");
	limits_free(q);
}

#define MIB (UINT64_C(1) << 20)

/* memory.max, memory.high, and how often each was come up against. */
static void make_memory(const char *group, const char *max, const char *high, unsigned times_max, unsigned times_high)
{
	made_run(
		"mkdir -p groups%s && cd groups%s && echo '%s' >memory.max && echo '%s' >memory.high && "
		"printf 'low 0\\nhigh %u\\nmax %u\\noom 0\\noom_kill 2\\noom_group_kill 0\\n' >memory.events.local && "
		"printf 'low 0\\nhigh 99\\nmax 99\\noom 99\\noom_kill 99\\n' >memory.events && echo %lu >memory.current && "
		"echo %lu >memory.swap.current && printf 'anon %lu\\nfile %lu\\nkernel 1\\nshmem %lu\\n' >memory.stat && "
		"touch cgroup.procs",
		group, group, max, high, times_high, times_max, 900 * MIB, 5 * MIB, 600 * MIB, 250 * MIB, 40 * MIB);
}

/* A process with so many pages of memory, in /proc. */
static void make_process(unsigned pid, const char *name, unsigned pages)
{
	made_run("mkdir -p proc/%u && cd proc/%u && echo '9999 %u 3 1 0 7 0' >statm && "
		 "printf 'Name:\\t%s\\nTgid:\\t%u\\nUid:\\t0\\t0\\t0\\t0\\n' >status && "
		 "echo '%u (%s) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 100 0 0' >stat",
		 pid, pid, pages, name, pid, pid, name);
}

static void assert_limit(const struct row *r, const char *path, uint64_t limit, uint64_t high, uint64_t times_max,
			 uint64_t times_high)
{
	assert_string_equal(r->path, path);
	assert_int_equal(r->v[F_memory_limit_max], limit);
	assert_int_equal(r->v[F_memory_limit_high], high);
	assert_int_equal(r->v[F_memory_limit_times_max], times_max);
	assert_int_equal(r->v[F_memory_limit_times_high], times_high);
}

static void assert_heaviest(const struct row *r, uint64_t pid, const char *name, uint64_t pages)
{
	assert_int_equal(r->v[F_memory_limit_holder], pid);
	assert_string_equal(r->name, name);
	assert_int_equal(r->v[F_memory_limit_holder_bytes], pages * (uint64_t)sysconf(_SC_PAGESIZE));
}

static void a_group_at_its_limit_of_memory_is_reported_with_who_has_it(void **state)
{
	struct limits *q = limits_in(&memory_limit, "cgroup2", "rw", "/");
	struct writer w = {0};

	(void)state;
	make_memory("/a", "1073741824", "max", 7, 0);
	make_memory("/a/b", "max", "max", 0, 0);
	make_process(71, "small", 10);
	make_process(72, "large one", 5000);
	make_process(73, "elsewhere", 9000);
	made_run("printf '71\\n' >groups/a/cgroup.procs && printf '72\\n74\\n' >groups/a/b/cgroup.procs");
	assert_int_equal(limits_meet(q, "/a/b", &w, 5, NULL), 0);
	assert_int_equal(w.n, 1); /* there is no vmstat, so that the host is not known */
	assert_limit(&w.rows[0], "/a", 1024 * MIB, 0, 7, 0);
	assert_heaviest(&w.rows[0], 0, "", 0);
	assert_int_equal(w.rows[0].v[F_memory_limit_used], 900 * MIB);
	assert_int_equal(w.rows[0].v[F_memory_limit_anon], 600 * MIB);
	assert_int_equal(w.rows[0].v[F_memory_limit_file], 250 * MIB);
	assert_int_equal(w.rows[0].v[F_memory_limit_shmem], 40 * MIB);
	assert_int_equal(w.rows[0].v[F_memory_limit_swap], 5 * MIB);
	assert_int_equal(w.rows[0].v[F_memory_limit_kills], 2);
	assert_int_equal(limits_emit(q, false, &w, 6, NULL), 0);
	assert_int_equal(w.n, 1);
	make_memory("/a", "1073741824", "max", 9, 0);
	made_run("printf '71\\n' >groups/a/cgroup.procs");
	assert_int_equal(limits_emit(q, false, &w, 7, NULL), 0);
	assert_int_equal(w.n, 2);
	assert_limit(&w.rows[1], "/a", 1024 * MIB, 0, 9, 0);
	assert_heaviest(&w.rows[1], 72, "large one", 5000);
	/* memory.high; what was set anew is found when all are inspected. */
	make_memory("/a/b", "max", "1048576", 0, 3);
	assert_int_equal(limits_emit(q, false, &w, 8, NULL), 0);
	assert_int_equal(w.n, 2);
	assert_int_equal(limits_emit(q, true, &w, 9, NULL), 0);
	assert_int_equal(w.n, 3);
	assert_limit(&w.rows[2], "/a/b", 0, MIB, 0, 3);
	limits_free(q);
}

static void version_1_says_the_same_in_other_words(void **state)
{
	struct limits *q = limits_in(&memory_limit, "cgroup", "rw,memory", "/");
	struct writer w = {0};

	(void)state;
	made_run(
		"mkdir -p groups/a groups/b && cd groups/a && echo 2097152 >memory.limit_in_bytes && "
		"echo 1048576 >memory.usage_in_bytes && echo 31 >memory.failcnt && "
		"printf 'oom_kill_disable 0\\nunder_oom 0\\noom_kill 4\\n' >memory.oom_control && "
		"printf 'cache 1\\nrss 2\\ntotal_cache 300\\ntotal_rss 400\\ntotal_rss_huge 9\\ntotal_shmem "
		"50\\ntotal_swap 60\\n' >memory.stat && cp * ../b && echo 9223372036854771712 >../b/memory.limit_in_bytes");
	assert_int_equal(limits_meet(q, "/a", &w, 5, NULL), 0);
	assert_int_equal(limits_meet(q, "/b", &w, 5, NULL), 0);
	assert_int_equal(w.n, 1);
	assert_limit(&w.rows[0], "/a", 2 * MIB, 0, 31, 0);
	assert_int_equal(w.rows[0].v[F_memory_limit_kills], 4);
	assert_int_equal(w.rows[0].v[F_memory_limit_used], MIB);
	assert_int_equal(w.rows[0].v[F_memory_limit_anon], 400);
	assert_int_equal(w.rows[0].v[F_memory_limit_file], 300);
	assert_int_equal(w.rows[0].v[F_memory_limit_shmem], 50);
	assert_int_equal(w.rows[0].v[F_memory_limit_swap], 60);
	limits_free(q);
}

static void make_host(unsigned stalls)
{
	made_run("cd proc && printf 'nr_free_pages 5\\nallocstall_dma 0\\nallocstall_normal %u\\nallocstall_movable "
		 "3\\noom_kill 1\\n' >vmstat && printf 'MemTotal:       1000 kB\\nMemFree:   100 kB\\nBuffers:  5 "
		 "kB\\nCached:   300 kB\\nSwapCached:  9 kB\\nSwapTotal:  70 kB\\nSwapFree:  50 kB\\nAnonPages: 400 "
		 "kB\\nShmem:  20 kB\\n' >meminfo",
		 stalls);
}

static void the_host_is_the_group_of_all(void **state)
{
	struct limits *q = limits_in(&memory_limit, "cgroup2", "rw", "/");
	struct writer w = {0};

	(void)state;
	make_host(4);
	make_process(71, "small", 10);
	make_process(73, "large", 9000);
	assert_int_equal(limits_meet(q, "", &w, 5, NULL), 0);
	assert_int_equal(limits_meet(q, "/", &w, 5, NULL), 0);
	assert_int_equal(w.n, 1);
	assert_limit(&w.rows[0], "/", 1000 * 1024, 0, 7, 0);
	assert_int_equal(w.rows[0].v[F_memory_limit_used], 900 * 1024);
	assert_int_equal(w.rows[0].v[F_memory_limit_anon], 400 * 1024);
	assert_int_equal(w.rows[0].v[F_memory_limit_file], 305 * 1024);
	assert_int_equal(w.rows[0].v[F_memory_limit_shmem], 20 * 1024);
	assert_int_equal(w.rows[0].v[F_memory_limit_swap], 20 * 1024);
	assert_int_equal(w.rows[0].v[F_memory_limit_kills], 1);
	assert_int_equal(limits_emit(q, false, &w, 6, NULL), 0);
	assert_int_equal(w.n, 1);
	make_host(5);
	assert_int_equal(limits_emit(q, false, &w, 7, NULL), 0);
	assert_int_equal(w.n, 2);
	assert_limit(&w.rows[1], "/", 1000 * 1024, 0, 8, 0);
	assert_heaviest(&w.rows[1], 73, "large", 9000);
	/* A group that is gone is not the host. */
	make_memory("/a", "1073741824", "max", 7, 0);
	assert_int_equal(limits_meet(q, "/a", &w, 8, NULL), 0);
	assert_int_equal(w.n, 3);
	made_run("rm -r groups/a");
	assert_int_equal(limits_emit(q, true, &w, 9, NULL), 0);
	assert_int_equal(w.n, 3);
	limits_free(q);
}

/* Who has most of what is looked at, as far as that goes. */
static void no_more_processes_than_these_are_weighed(void **state)
{
	struct limits *q = limits_in(&memory_limit, "cgroup2", "rw", "/");
	struct writer w = {0};

	(void)state;
	make_memory("/a", "1073741824", "max", 7, 0);
	make_process(71, "first", 10);
	make_process(72, "last", 5000);
	made_run("cd groups/a && echo 71 >cgroup.procs && yes 99 | head -%d >>cgroup.procs", LIMIT_WEIGHED_MAX - 2);
	made_run("cd groups/a && echo 72 >>cgroup.procs");
	assert_int_equal(limits_meet(q, "/a", &w, 5, NULL), 0);
	for (unsigned i = 0; i < 2; i++) { /* each time anew */
		made_run("cd groups/a && sed -i 's/^max .*/max %u/' memory.events.local", 8 + i);
		assert_int_equal(limits_emit(q, false, &w, 6, NULL), 0);
		assert_int_equal(w.n, 2 + i);
		assert_heaviest(&w.rows[1 + i], 72, "last", 5000);
	}
	made_run("cd groups/a && sed -i '2a 99' cgroup.procs && sed -i 's/^max .*/max 99/' memory.events.local");
	assert_int_equal(limits_emit(q, false, &w, 7, NULL), 0);
	assert_heaviest(&w.rows[3], 71, "first", 10);
	limits_free(q);
}

static int open_proc(void **state)
{
	(void)state;
	made_run("mkdir -p proc");
	return procfs_open(&fs, made_path("proc"), NULL);
}

static int close_proc(void **state)
{
	procfs_close(&fs);
	return made_clear(state);
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
		cmocka_unit_test_setup(a_group_at_its_limit_of_memory_is_reported_with_who_has_it, remove_groups),
		cmocka_unit_test_setup(version_1_says_the_same_in_other_words, remove_groups),
		cmocka_unit_test_setup(the_host_is_the_group_of_all, remove_groups),
		cmocka_unit_test_setup(no_more_processes_than_these_are_weighed, remove_groups),
	};

	return cmocka_run_group_tests(tests, open_proc, close_proc);
}
