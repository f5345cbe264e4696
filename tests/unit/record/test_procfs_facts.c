/* SPDX-License-Identifier: Apache-2.0 */
/* What a process runs and where: the rest of record/host/procfs.h. */
#include "tests/unit/made.h"

#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#include "record/host/procfs.h"

#define LEN(a) (sizeof(a) / sizeof((a)[0]))
#define HEX "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define OTHER "ffff456789abcdef0123456789abcdef0123456789abcdef0123456789abffff"
#define POD "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod6f1_2.slice"

static struct procfs real, forged;
static struct process_cgroup group; /* large */

/* The real one, and a folder that looks like it, with process 7. */
static int open_both(void **state)
{
	(void)state;
	made_run("mkdir -p proc/7/ns proc/self");
	return procfs_open(&real, PROCFS_ROOT, NULL) < 0 || procfs_open(&forged, made_path("proc"), NULL) < 0;
}

static int close_both(void **state)
{
	procfs_close(&real);
	procfs_close(&forged);
	return made_clear(state);
}

static void assert_group(const char *text, const char *path, const char *container)
{
	assert_true(cgroup_parse(text, strlen(text), &group));
	assert_string_equal(group.path, path);
	assert_string_equal(group.container, container);
}

static void the_cpu_controllers_group_is_reported_beside(void **state)
{
	static const struct {
		const char *text, *path, *cpu;
	} files[] = {
		{"0::/a\n", "/a", "/a"},
		{"4:memory:/m\n3:cpuset:/s\n2:cpu,cpuacct:/c\n0::/\n", "/m", "/c"},
		{"2:cpuacct:/x\n1:cpu:/\n0::/u\n", "/u", "/"},
		{"4:memory:/m\n0::/u\n", "/u", "/u"},
		{"4:memory:/m\n", "/m", ""},
	};

	(void)state;
	for (size_t i = 0; i < LEN(files); i++) {
		assert_true(cgroup_parse(files[i].text, strlen(files[i].text), &group));
		assert_string_equal(group.path, files[i].path);
		assert_string_equal(group.cpu, files[i].cpu);
	}
}

static void each_engine_names_its_containers_in_its_own_way(void **state)
{
	static const struct {
		const char *path, *container;
	} groups[] = {
		{"/docker/" HEX, HEX},
		{"/system.slice/docker-" HEX ".scope", HEX},
		{"/system.slice/docker.service", ""},
		{POD "/cri-containerd-" HEX ".scope", HEX},
		{POD "/crio-" HEX ".scope", HEX},
		{POD "/crio-conmon-" HEX ".scope", ""},
		{"/kubepods/besteffort/pod6f1-2/" HEX, HEX},
		{"/system.slice/containerd.service/kubepods-pod6f1.slice:cri-containerd:" HEX, HEX},
		{"/machine.slice/libpod-" HEX ".scope", HEX},
		{"/machine.slice/libpod-" HEX ".scope/container", HEX},
		{"/machine.slice/libpod-conmon-" HEX ".scope", ""},
		{"/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" HEX ".scope", HEX},
		{"/machine.slice/systemd-nspawn@my\\x2dbox.service/payload", "my-box"},
		{"/machine.slice/machine-my\\x2dbox.scope", "my-box"},
		{"/machine.slice/machine-qemu\\x2d1\\x2dvm.scope", ""},
		{"/lxc/web", "web"},
		{"/lxc.payload.web", "web"},
		{"/lxc.payload/web/system.slice/cron.service", "web"},
		{"/lxc.monitor.web", ""},
		{"/docker/" HEX "/docker/" OTHER, OTHER},
		{"/ecs/task-1/" HEX, HEX},
		{"/user.slice/user-0.slice/session-1.scope", ""},
		{"/docker/" HEX "0", ""},
		{"/docker/0123456789ABCDEF", ""},
		{"/", ""},
	};

	(void)state;
	for (size_t i = 0; i < LEN(groups); i++) {
		char text[512];

		snprintf(text, sizeof(text), "0::%s\n", groups[i].path);
		assert_group(text, groups[i].path, groups[i].container);
	}
}

static void of_both_versions_the_second_is_reported_where_it_says_something(void **state)
{
	(void)state;
	/* version 1 alone */
	assert_group("12:cpu,cpuacct:/docker/" HEX "\n11:memory:/other\n", "/docker/" HEX, HEX);
	/* both, with systemd in both */
	assert_group("4:memory:/x\n1:name=systemd:/system.slice/a.service\n0::/system.slice/a.service\n",
		     "/system.slice/a.service", "");
	/* both, but all that matters is in version 1 */
	assert_group("9:name=systemd:/\n4:memory:/docker/" HEX "\n0::/\n", "/docker/" HEX, HEX);
	/* both, the container only in version 1 */
	assert_group("4:memory:/docker/" HEX "\n0::/system.slice/containerd.service\n",
		     "/system.slice/containerd.service", HEX);
	assert_group("9:name=systemd:/\n0::/\n", "/", "");
	assert_group("9:name=systemd:/\n", "/", "");
}

static void a_removed_group_and_one_with_colons_are_reported_by_their_path(void **state)
{
	(void)state;
	assert_group("0::/a.slice (deleted)\n", "/a.slice", "");
	assert_group("0::/a:b:c\n", "/a:b:c", "");
	assert_group("0::/last-line-without-newline", "/last-line-without-newline", "");
}

static void what_is_no_list_of_groups_is_refused(void **state)
{
	static const char *const texts[] = {"",        "\n",      "0:",     "0::",     "0::relative\n",
					    "x::/a\n", ":::/a\n", "0:/a\n", "-1::/a\n"};

	(void)state;
	for (size_t i = 0; i < LEN(texts); i++)
		assert_false(cgroup_parse(texts[i], strlen(texts[i]), &group));
}

static void garbage_in_a_list_of_groups_stays_in_bounds(void **state)
{
	static const char text[] =
		"12:cpu,cpuacct:/docker/" HEX "\n1:name=systemd:/machine.slice/machine-a\\x2d.scope\n0::/\n";

	(void)state;
	for (size_t cut = 0; cut < sizeof(text); cut++)
		for (unsigned bit = 0; bit < 8; bit++) {
			char *copy = malloc(cut + 1); /* sanitizers see a byte too many */

			assert_non_null(copy);
			memcpy(copy, text, cut);
			if (cut)
				copy[cut / 2] = (char)(copy[cut / 2] ^ 1 << bit);
			(void)cgroup_parse(copy, cut, &group);
			assert_true(strlen(group.container) < sizeof(group.container));
			free(copy);
		}
}

static void our_own_group_is_read(void **state)
{
	(void)state;
	assert_int_equal(procfs_cgroup(&real, (uint32_t)getpid(), &group, NULL), 1);
	assert_int_equal(group.path[0], '/');
	assert_int_equal(procfs_cgroup(&forged, 7, &group, NULL), 0); /* a kernel without groups */
	assert_int_equal(procfs_cgroup(&real, 0x3fffffff, &group, NULL), 0);
}

/* --- arguments --- */

static void assert_arguments(const char *bytes, size_t n, const char *text, size_t room, uint64_t want)
{
	char *out = malloc(room);
	uint64_t total = 99;

	assert_non_null(out);
	made_write(made_path("proc/7/cmdline"), bytes, n);
	assert_int_equal(procfs_command_line(&forged, 7, out, room, &total, NULL), 1);
	assert_string_equal(out, text);
	assert_int_equal(total, want);
	free(out);
}

static void arguments_have_blanks_between_them(void **state)
{
	(void)state;
	assert_arguments("a\0-b\0c d\0", 9, "a -b c d", 64, 8);
	assert_arguments("a\0\0", 3, "a ", 64, 2);                            /* the last one is empty */
	assert_arguments("title of its own", 16, "title of its own", 64, 16); /* a process may write over them */
	assert_arguments("\0", 1, "", 64, 0);
}

static void arguments_that_do_not_fit_are_cut_and_their_length_reported(void **state)
{
	char *many = malloc(3u << 20);
	char out[5000];
	uint64_t bytes;

	(void)state;
	assert_arguments("abcdef\0g", 8, "abc", 4, 8);
	assert_arguments("abcd\0", 5, "abcd", 5, 4);
	assert_arguments("abcde\0", 6, "abcd", 5, 5);
	assert_non_null(many);
	memset(many, 'x', 3u << 20);
	made_write(made_path("proc/7/cmdline"), many, 3u << 20);
	free(many);
	assert_int_equal(procfs_command_line(&forged, 7, out, sizeof(out), &bytes, NULL), 1);
	assert_int_equal(strlen(out), sizeof(out) - 1);
	assert_true(bytes >= PROCFS_ARGUMENTS_MAX && bytes < PROCFS_ARGUMENTS_MAX + 65536); /* and no further */
}

static void a_process_without_arguments_or_that_is_gone_has_none(void **state)
{
	char out[8] = "same";
	uint64_t bytes = 5;

	(void)state;
	made_write(made_path("proc/7/cmdline"), "", 0); /* a kernel thread */
	assert_int_equal(procfs_command_line(&forged, 7, out, sizeof(out), &bytes, NULL), 0);
	assert_int_equal(procfs_command_line(&real, 0x3fffffff, out, sizeof(out), &bytes, NULL), 0);
	assert_string_equal(out, "same");
	assert_int_equal(bytes, 5);
}

/* --- namespaces --- */

static void namespaces_are_numbers_in_links(void **state)
{
	struct process_namespaces ns;
	char link[64];
	ssize_t n;

	(void)state;
	assert_int_equal(procfs_namespaces(&real, (uint32_t)getpid(), &ns, NULL), 1);
	n = readlink("/proc/self/ns/mnt", link, sizeof(link) - 1);
	assert_true(n > 0);
	link[n] = '\0';
	assert_int_equal(strtoull(link + 5, NULL, 10), ns.mount);
	assert_true(ns.pids && ns.net && ns.user);
	assert_int_equal(ns.pid_inside, getpid());
}

static void of_several_ids_the_innermost_is_reported(void **state)
{
	static const char status[] = "Name:\tNStgid:\\n\nTgid:\t7\nNStgid:\t7\t12\t1\nNSpid:\t9\t13\t2\n";
	struct process_namespaces ns;

	(void)state;
	made_write(made_path("proc/7/status"), status, sizeof(status) - 1);
	made_run("ln -sf 'mnt:[4026531841]' proc/7/ns/mnt; ln -sf 'pid:[x]' proc/7/ns/pid; ln -sf net: proc/7/ns/net");
	assert_int_equal(procfs_namespaces(&forged, 7, &ns, NULL), 1);
	assert_int_equal(ns.mount, 4026531841);
	assert_int_equal(ns.pids, 0);
	assert_int_equal(ns.net, 0);
	assert_int_equal(ns.user, 0); /* a kernel without them */
	assert_int_equal(ns.pid_inside, 1);
}

static void switches_are_a_sum_and_come_with_the_state(void **state)
{
	static const char status[] = "Name:\tState:\\n\nState:\tD (disk sleep)\n"
				     "voluntary_ctxt_switches:\t7\nnonvoluntary_ctxt_switches:\t12\n";
	uint64_t n = 0;
	char is = 0;

	(void)state;
	made_run("mkdir -p proc/7/task/8");
	made_write(made_path("proc/7/task/8/status"), status, sizeof(status) - 1);
	assert_int_equal(procfs_switches(&forged, 7, 8, &n, &is, NULL), 1);
	assert_true(n == 19 && is == 'D');
	assert_int_equal(procfs_switches(&forged, 7, 9, &n, &is, NULL), 0);
	made_write(made_path("proc/7/task/8/status"), status, sizeof(status) - 20);
	assert_int_equal(procfs_switches(&forged, 7, 8, &n, &is, NULL), ERR_FORMAT);
	assert_int_equal(procfs_switches(&real, (uint32_t)getpid(), (uint32_t)getpid(), &n, &is, NULL), 1);
	assert_int_equal(is, 'R');
}

static void maps_report_the_mount_namespace_of_their_process(void **state)
{
	struct procfs_maps *maps = malloc(sizeof(*maps));
	struct mapping *m = malloc(sizeof(*m));
	struct process_namespaces ns;

	(void)state;
	assert_true(maps && m);
	assert_int_equal(procfs_namespaces(&real, (uint32_t)getpid(), &ns, NULL), 1);
	assert_int_equal(procfs_maps_open(maps, &real, (uint32_t)getpid(), NULL), 1);
	assert_int_equal(procfs_maps_next(maps, m, NULL), 1);
	assert_int_equal(m->mount_namespace, ns.mount);
	procfs_maps_close(maps);
	free(maps);
	free(m);
}

/* --- the executable's mapping --- */

static void the_executable_is_found_among_its_mappings(void **state)
{
	struct procfs_maps *maps = malloc(sizeof(*maps));
	struct mapping *m = malloc(sizeof(*m));
	char path[PROCFS_PATH_MAX];
	struct stat st;

	(void)state;
	assert_true(maps && m);
	assert_int_equal(procfs_exe(&real, (uint32_t)getpid(), path, sizeof(path), NULL, NULL), 1);
	assert_int_equal(procfs_exe_mapping(&real, (uint32_t)getpid(), path, maps, m, NULL), 1);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(m->inode, st.st_ino);
	assert_int_equal(procfs_exe_mapping(&real, (uint32_t)getpid(), "/no/such", maps, m, NULL), 0);
	assert_int_equal(procfs_exe_mapping(&real, 0x3fffffff, path, maps, m, NULL), 0);
	free(maps);
	free(m);
}

/* --- a /proc that hides --- */

static void assert_hides(const char *options, int want)
{
	char text[512];
	struct stat st;

	assert_int_equal(fstat(forged.root_fd, &st), 0);
	snprintf(text, sizeof(text),
		 "24 1 0:999 / /sys rw,relatime - sysfs sysfs rw,hidepid=1\n25 1 %u:%u / /proc rw,relatime shared:7 - "
		 "proc proc %s\n",
		 major(st.st_dev), minor(st.st_dev), options);
	made_write(made_path("proc/self/mountinfo"), text, strlen(text));
	assert_int_equal(procfs_hides(&forged), want);
}

static void whether_proc_hides_is_seen_in_its_mount(void **state)
{
	(void)state;
	assert_hides("rw", 0);
	assert_hides("rw,hidepid=2", 2);
	assert_hides("rw,gid=5,hidepid=invisible", 2);
	assert_hides("rw,hidepid=noaccess", 1);
	assert_hides("rw,hidepid=ptraceable", 4);
	assert_hides("rw,hidepid=off", 0);
	assert_hides("rw,hidepid=", 0);
	made_run("rm proc/self/mountinfo");
	assert_int_equal(procfs_hides(&forged), 0);
}

/* A process that ends while it is read: never an error, never half an answer. */
static void a_process_that_ends_at_any_moment_is_whole_or_gone(void **state)
{
	char out[64];
	uint64_t bytes;

	(void)state;
	for (int i = 0; i < 60; i++) {
		struct process_namespaces ns = {.pid_inside = 99};
		pid_t pid = fork();
		int r;

		assert_true(pid >= 0);
		if (pid == 0)
			_exit(0);
		r = procfs_namespaces(&real, (uint32_t)pid, &ns, NULL);
		assert_true(r == 0 || r == 1);
		assert_true(r == 1 || ns.pid_inside == 99);
		r = procfs_cgroup(&real, (uint32_t)pid, &group, NULL);
		assert_true(r == 0 || r == 1);
		r = procfs_command_line(&real, (uint32_t)pid, out, sizeof(out), &bytes, NULL);
		assert_true(r == 0 || r == 1);
		assert_int_equal(waitpid(pid, NULL, 0), pid);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_cpu_controllers_group_is_reported_beside),
		cmocka_unit_test(each_engine_names_its_containers_in_its_own_way),
		cmocka_unit_test(of_both_versions_the_second_is_reported_where_it_says_something),
		cmocka_unit_test(a_removed_group_and_one_with_colons_are_reported_by_their_path),
		cmocka_unit_test(what_is_no_list_of_groups_is_refused),
		cmocka_unit_test(garbage_in_a_list_of_groups_stays_in_bounds),
		cmocka_unit_test(our_own_group_is_read),
		cmocka_unit_test(arguments_have_blanks_between_them),
		cmocka_unit_test(arguments_that_do_not_fit_are_cut_and_their_length_reported),
		cmocka_unit_test(a_process_without_arguments_or_that_is_gone_has_none),
		cmocka_unit_test(namespaces_are_numbers_in_links),
		cmocka_unit_test(of_several_ids_the_innermost_is_reported),
		cmocka_unit_test(switches_are_a_sum_and_come_with_the_state),
		cmocka_unit_test(maps_report_the_mount_namespace_of_their_process),
		cmocka_unit_test(the_executable_is_found_among_its_mappings),
		cmocka_unit_test(whether_proc_hides_is_seen_in_its_mount),
		cmocka_unit_test(a_process_that_ends_at_any_moment_is_whole_or_gone),
	};

	return cmocka_run_group_tests_name("procfs_facts", tests, open_both, close_both);
}
