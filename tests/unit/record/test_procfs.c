/* SPDX-License-Identifier: Apache-2.0 */
/* Reading /proc, the real one and forged ones: record/host/procfs.h. */
#include "tests/unit/made.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>

#include "record/host/procfs.h"

#define LEN(a) (sizeof(a) / sizeof((a)[0]))

static struct procfs real;

static int open_real(void **state)
{
	(void)state;
	return procfs_open(&real, PROCFS_ROOT, NULL);
}

static int close_real(void **state)
{
	procfs_close(&real);
	return made_clear(state);
}

static uint64_t boot_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000ULL + (uint64_t)t.tv_nsec;
}

/* A child that lives until it is ended by end_child(). */
static pid_t start_child(const char *comm)
{
	int ready[2];
	char c;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, comm);
		if (write(ready[1], "", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &c, 1), 1);
	close(ready[0]);
	return pid;
}

static void end_child(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void a_process_is_reported_as_it_is(void **state)
{
	struct process_info info;
	uint64_t before = boot_ns(), after;
	pid_t pid = start_child("plain");

	(void)state;
	after = boot_ns();
	assert_int_equal(procfs_process(&real, (uint32_t)pid, &info, NULL), 1);
	assert_int_equal(info.pid, pid);
	assert_int_equal(info.tid, pid);
	assert_int_equal(info.ppid, getpid());
	assert_int_equal(info.uid, getuid());
	assert_string_equal(info.comm, "plain");
	assert_true(info.start_ns + real.ns_per_tick > before && info.start_ns <= after);
	assert_int_equal(info.start_ns % real.ns_per_tick, 0);
	end_child(pid);
}

static void no_name_of_a_process_confuses_the_reader(void **state)
{
	static const char *const names[] = {"a) R 77 88 (b", ")", "(", ") ", "x\ny) Z 1", "", "Uid:\t9", "\nUid:\t77"};

	(void)state;
	for (size_t i = 0; i < LEN(names); i++) {
		pid_t pid = start_child(names[i]);
		struct process_info info;

		assert_int_equal(procfs_process(&real, (uint32_t)pid, &info, NULL), 1);
		assert_string_equal(info.comm, names[i]);
		assert_int_equal(info.ppid, getpid());
		assert_int_equal(info.uid, getuid());
		assert_non_null(strchr("RS", info.state));
		end_child(pid);
	}
}

static void *wait_for(void *arg)
{
	int *ends = arg;
	char c;

	prctl(PR_SET_NAME, "second");
	*(volatile int *)&ends[2] = gettid();
	if (write(ends[4], "", 1) != 1)
		return NULL;
	return read(ends[0], &c, 1) == 1 ? NULL : arg;
}

static void threads_are_listed_and_lead_to_their_process(void **state)
{
	int ends[5];
	struct procfs_list list;
	struct process_info info;
	pthread_t thread;
	unsigned seen = 0;
	uint32_t tid;
	int started[2];
	char c;

	(void)state;
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(pipe(started), 0);
	ends[4] = started[1];
	assert_int_equal(pthread_create(&thread, NULL, wait_for, ends), 0);
	assert_int_equal(read(started[0], &c, 1), 1);

	assert_int_equal(procfs_threads_open(&list, &real, (uint32_t)getpid(), NULL), 1);
	while (procfs_list_next(&list, &tid, NULL) > 0)
		seen += tid == (uint32_t)ends[2] || tid == (uint32_t)getpid();
	procfs_list_close(&list);
	assert_int_equal(seen, 2);

	assert_int_equal(procfs_thread(&real, (uint32_t)getpid(), (uint32_t)ends[2], &info, NULL), 1);
	assert_int_equal(info.tid, ends[2]);
	assert_int_equal(info.pid, getpid());
	assert_string_equal(info.comm, "second");
	assert_int_equal(procfs_process(&real, (uint32_t)ends[2], &info, NULL), 1);
	assert_int_equal(info.pid, getpid());
	assert_int_equal(procfs_thread(&real, 1, (uint32_t)ends[2], &info, NULL), 0);

	assert_int_equal(write(ends[1], "", 1), 1);
	pthread_join(thread, NULL);
	close(ends[0]);
	close(ends[1]);
	close(started[0]);
	close(started[1]);
}

static void all_processes_are_listed_and_nothing_else(void **state)
{
	pid_t pid = start_child("listed");
	struct procfs_list list;
	bool child = false, self = false;
	uint32_t id;
	int r;

	(void)state;
	assert_int_equal(procfs_pids_open(&list, &real, NULL), 1);
	while ((r = procfs_list_next(&list, &id, NULL)) > 0) {
		child |= id == (uint32_t)pid;
		self |= id == (uint32_t)getpid();
	}
	procfs_list_close(&list);
	assert_int_equal(r, 0);
	assert_true(child && self);
	end_child(pid);
}

static void a_process_that_is_gone_is_no_error_and_leaves_outputs_alone(void **state)
{
	static struct procfs_maps maps;
	static struct mapping m = {.start = 1, .end = 2, .inode = 3, .path = "/x"};
	struct fault why = {.code = ERR_NONE};
	struct process_info info = {.pid = 4711};
	struct procfs_list list;
	pid_t pid = start_child("gone");
	char path[64] = "kept";
	bool deleted;
	int fd = 33;

	(void)state;
	end_child(pid);
	assert_int_equal(procfs_process(&real, (uint32_t)pid, &info, &why), 0);
	assert_int_equal(procfs_thread(&real, (uint32_t)pid, (uint32_t)pid, &info, &why), 0);
	assert_int_equal(info.pid, 4711);
	assert_int_equal(procfs_exe(&real, (uint32_t)pid, path, sizeof(path), &deleted, &why), 0);
	assert_string_equal(path, "kept");
	assert_int_equal(procfs_threads_open(&list, &real, (uint32_t)pid, &why), 0);
	assert_int_equal(procfs_maps_open(&maps, &real, (uint32_t)pid, &why), 0);
	assert_int_equal(procfs_open_mapped(&real, (uint32_t)pid, &m, &fd, &why), 0);
	assert_int_equal(fd, 33);
	assert_int_equal(why.code, ERR_NONE);
}

static void a_process_that_ends_while_it_is_read_is_no_error(void **state)
{
	static struct procfs_maps maps;
	static struct mapping m;
	struct procfs_list list;
	pid_t pid = start_child("ending");
	uint32_t tid;

	(void)state;
	assert_int_equal(procfs_maps_open(&maps, &real, (uint32_t)pid, NULL), 1);
	assert_int_equal(procfs_threads_open(&list, &real, (uint32_t)pid, NULL), 1);
	end_child(pid);
	assert_int_equal(procfs_maps_next(&maps, &m, NULL), 0);
	assert_int_equal(procfs_list_next(&list, &tid, NULL), 0);
	procfs_maps_close(&maps);
	procfs_list_close(&list);
}

static void start_times_agree_within_a_tick(void **state)
{
	(void)state;
	assert_true(procfs_same_start(&real, 5 * real.ns_per_tick, 6 * real.ns_per_tick - 1));
	assert_false(procfs_same_start(&real, 5 * real.ns_per_tick, 6 * real.ns_per_tick));
}

static void the_executable_is_named_also_when_it_is_deleted(void **state)
{
	char want[PROCFS_PATH_MAX], path[PROCFS_PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", want, sizeof(want) - 1);
	struct fault why;
	bool deleted = true;
	pid_t pid;

	(void)state;
	assert_true(n > 0);
	want[n] = '\0';
	assert_int_equal(procfs_exe(&real, (uint32_t)getpid(), path, sizeof(path), &deleted, NULL), 1);
	assert_string_equal(path, want);
	assert_false(deleted);
	assert_int_equal(procfs_exe(&real, (uint32_t)getpid(), path, 4, &deleted, &why), ERR_INPUT);

	made_run("cp \"$(command -v sleep)\" napper");
	pid = fork();
	if (pid == 0) {
		execl(made_path("napper"), "napper", "60", NULL);
		_exit(1);
	}
	for (int i = 0; i < 1000; i++) {
		assert_int_equal(procfs_exe(&real, (uint32_t)pid, path, sizeof(path), NULL, NULL), 1);
		if (strcmp(path, want) != 0)
			break;
		usleep(10000); /* speed: once more, until it is so */
	}
	assert_int_equal(unlink(made_path("napper")), 0);
	assert_int_equal(procfs_exe(&real, (uint32_t)pid, path, sizeof(path), &deleted, NULL), 1);
	assert_string_equal(path, made_path("napper"));
	assert_true(deleted);
	end_child(pid);
}

/* The mapping of ours that `address` lies in. */
static bool mapping_of(const void *address, struct mapping *m)
{
	static struct procfs_maps maps;
	bool found = false;

	assert_int_equal(procfs_maps_open(&maps, &real, (uint32_t)getpid(), NULL), 1);
	while (!found && procfs_maps_next(&maps, m, NULL) > 0)
		found = (uintptr_t)address >= m->start && (uintptr_t)address < m->end;
	procfs_maps_close(&maps);
	return found;
}

static void our_own_code_is_found_in_maps(void **state)
{
	static struct mapping m;
	char exe[PROCFS_PATH_MAX];
	struct stat st;

	(void)state;
	assert_true(mapping_of((const void *)(uintptr_t)our_own_code_is_found_in_maps, &m));
	assert_int_equal(m.prot, PROT_READ | PROT_EXEC);
	assert_int_equal(procfs_exe(&real, (uint32_t)getpid(), exe, sizeof(exe), NULL, NULL), 1);
	assert_string_equal(m.path, exe);
	assert_int_equal(stat(exe, &st), 0);
	assert_int_equal(m.inode, st.st_ino);
	assert_false(m.deleted || m.shared || m.path_cut);
}

/* Map FOLDER/name, holding `text`, for as long as the test runs. */
static void *map_file(const char *name, const char *text)
{
	int fd;
	void *p;

	made_write(made_path(name), text, strlen(text));
	fd = open(made_path(name), O_RDONLY);
	assert_true(fd >= 0);
	p = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_ptr_not_equal(p, MAP_FAILED);
	close(fd);
	return p;
}

static void assert_holds(int fd, const char *text)
{
	char buf[64] = "";

	assert_true(read(fd, buf, sizeof(buf) - 1) >= 0);
	assert_string_equal(buf, text);
	close(fd);
}

static void a_mapped_file_is_opened_whatever_it_is_called(void **state)
{
	static const char *const names[] = {"usual", "two\nlines", "ends (deleted)", " blank ", "back\\slash"};
	static struct mapping m;

	(void)state;
	for (size_t i = 0; i < LEN(names); i++) {
		void *p = map_file(names[i], names[i]);
		int fd;

		assert_true(mapping_of(p, &m));
		if (i != 2)
			assert_string_equal(m.path, made_path(names[i]));
		assert_int_equal(m.deleted, i == 2);
		assert_int_equal(procfs_open_mapped(&real, (uint32_t)getpid(), &m, &fd, NULL), 1);
		assert_holds(fd, names[i]);
		munmap(p, 4096);
	}
}

static void a_replaced_file_is_never_taken_for_the_mapped_one(void **state)
{
	static struct mapping m;
	void *p = map_file("library", "old");
	struct fault why;
	int fd, r;

	(void)state;
	made_write(made_path("library.new"), "new", 3);
	assert_int_equal(rename(made_path("library.new"), made_path("library")), 0);
	assert_true(mapping_of(p, &m));
	assert_true(m.deleted);
	r = procfs_open_mapped(&real, (uint32_t)getpid(), &m, &fd, &why);
	if (r == 1) /* privileged: the kernel leads to the old one */
		assert_holds(fd, "old");
	else
		assert_int_equal(r, ERR_DENIED);
	munmap(p, 4096);
}

/* A proc filesystem of files that a test writes. */
static void open_forged(struct procfs *fs)
{
	made_run("mkdir -p proc/7/root proc/7/task/7");
	assert_int_equal(procfs_open(fs, made_path("proc"), NULL), 0);
}

#define SOCKETS_HEAD                                                                                                   \
	"  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
#define REST " 00000000:00000000 00:00000000 00000000     0        0 1 1 0000000000000000 100 0 0 10 0\n"

static int listens_forged(const struct procfs *fs, const char *four, const char *six, uint16_t port)
{
	made_run("mkdir -p proc/7/net && rm -f proc/7/net/tcp*");
	if (four)
		made_write(made_path("proc/7/net/tcp"), four, strlen(four));
	if (six)
		made_write(made_path("proc/7/net/tcp6"), six, strlen(six));
	return procfs_listens(fs, 7, port);
}

static void who_listens_is_in_the_first_lines_of_two_lists(void **state)
{
	static const char none[] = SOCKETS_HEAD;
	static const char four[] =
		SOCKETS_HEAD "   0: 0100007F:1F90 00000000:0000 0A" REST "   1: 00000000:0016 00000000:0000 0A" REST
			     "   2: 0100007F:0050 0100007F:C350 01" REST "   3: 0100007F:C350 0100007F:0050 01" REST;
	static const char six[] = SOCKETS_HEAD
		"   0: 00000000000000000000000001000000:FFFE 00000000000000000000000000000000:0000 0A" REST;
	static const char other[] = SOCKETS_HEAD "something else\n";
	char *many = malloc(sizeof(SOCKETS_HEAD) + 200000);
	struct procfs fs;
	size_t n;

	(void)state;
	assert_non_null(many);
	open_forged(&fs);
	assert_int_equal(listens_forged(&fs, four, six, 8080), 1);
	assert_int_equal(listens_forged(&fs, four, six, 22), 1);
	assert_int_equal(listens_forged(&fs, four, six, 65534), 1);
	assert_int_equal(listens_forged(&fs, four, six, 80), 0); /* connected, to one that is listed as such */
	assert_int_equal(listens_forged(&fs, four, six, 50000), 0);
	assert_int_equal(listens_forged(&fs, none, none, 22), 0);
	assert_int_equal(listens_forged(&fs, other, none, 22), 0);
	assert_int_equal(listens_forged(&fs, four, NULL, 8080), 1); /* without IPv6 */
	assert_int_equal(listens_forged(&fs, four, NULL, 80), 0);
	assert_true(listens_forged(&fs, NULL, NULL, 80) < 0);
	assert_true(procfs_listens(&fs, 8, 80) < 0);
	/* More than are read. */
	n = (size_t)sprintf(many, SOCKETS_HEAD);
	while (n < 100000)
		n += (size_t)sprintf(many + n, "   0: 0100007F:1F90 00000000:0000 0A" REST);
	assert_true(listens_forged(&fs, many, none, 80) < 0);
	assert_int_equal(listens_forged(&fs, many, none, 8080), 1);
	/* Cut anywhere, it is not known, or right. */
	for (size_t cut = 0; cut < sizeof(four) - 1; cut++) {
		memcpy(many, four, cut);
		many[cut] = '\0';
		assert_int_not_equal(listens_forged(&fs, many, none, 80), 1);
	}
	free(many);
	procfs_close(&fs);
}

static void by_path_only_the_same_device_and_inode_count(void **state)
{
	static struct mapping m;
	struct procfs fs;
	struct stat st;
	int fd = -1;

	(void)state;
	open_forged(&fs);
	made_write(made_path("proc/7/root/lib.so"), "inside", 6);
	assert_int_equal(stat(made_path("proc/7/root/lib.so"), &st), 0);
	m = (struct mapping){.start = 4096, .end = 8192, .inode = st.st_ino, .path = "/lib.so"};
	m.dev_major = major(st.st_dev);
	m.dev_minor = minor(st.st_dev);
	assert_int_equal(procfs_open_mapped(&fs, 7, &m, &fd, NULL), 1);
	assert_holds(fd, "inside");
	m.inode++;
	assert_int_equal(procfs_open_mapped(&fs, 7, &m, &fd, NULL), 0);
	m.inode--;
	m.dev_minor++;
	assert_int_equal(procfs_open_mapped(&fs, 7, &m, &fd, NULL), 0);
	m.dev_minor--;
	m.inode = 0;
	assert_int_equal(procfs_open_mapped(&fs, 7, &m, &fd, NULL), 0);

	/* A file that is really called as if it were deleted. */
	assert_int_equal(rename(made_path("proc/7/root/lib.so"), made_path("proc/7/root/lib.so (deleted)")), 0);
	m.inode = st.st_ino;
	m.deleted = true;
	assert_int_equal(procfs_open_mapped(&fs, 7, &m, &fd, NULL), 1);
	assert_holds(fd, "inside");
	m.deleted = false;
	assert_int_equal(procfs_open_mapped(&fs, 7, &m, &fd, NULL), 0);
	assert_int_equal(rename(made_path("proc/7/root/lib.so (deleted)"), made_path("proc/7/root/lib.so")), 0);

	/* What the kernel leads to counts with another device number too. */
	assert_int_equal(mkdir(made_path("proc/7/map_files"), 0700), 0);
	assert_int_equal(symlink(made_path("proc/7/root/lib.so"), made_path("proc/7/map_files/1000-2000")), 0);
	m.inode = st.st_ino;
	m.dev_minor++;
	assert_int_equal(procfs_open_mapped(&fs, 7, &m, &fd, NULL), 1);
	assert_holds(fd, "inside");
	m.inode++;
	assert_int_equal(procfs_open_mapped(&fs, 7, &m, &fd, NULL), 0);
	snprintf(m.path, sizeof(m.path), "%s", made_path("proc/7/root/lib.so"));
	assert_int_equal(procfs_open_mapped(&fs, 7, &m, &fd, NULL), 1);
	assert_holds(fd, "inside");
	made_run("rm -r proc/7/map_files");
	procfs_close(&fs);
}

static void a_pipe_or_a_device_is_never_opened(void **state)
{
	static struct mapping m;
	struct procfs fs;
	struct stat st;
	int fd = -1;

	(void)state;
	open_forged(&fs);
	assert_int_equal(mkfifo(made_path("proc/7/root/pipe"), 0600), 0);
	assert_int_equal(stat(made_path("proc/7/root/pipe"), &st), 0);
	m = (struct mapping){.start = 4096, .end = 8192, .inode = st.st_ino, .path = "/pipe"};
	m.dev_major = major(st.st_dev);
	m.dev_minor = minor(st.st_dev);
	alarm(20); /* opening would wait for a writer */
	assert_int_equal(procfs_open_mapped(&fs, 7, &m, &fd, NULL), 0);
	alarm(0);
	procfs_close(&fs);
}

static void lines_of_maps_are_taken_apart_or_refused(void **state)
{
	static const struct {
		const char *line;
		int err;
	} cases[] = {
		{"00400000-00452000 r-xp 00000000 08:02 173521      /usr/bin/dbus-daemon", 0},
		{"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]", 0},
		{"7f00-7f01 rw-s 00000000 00:00 0", 0},
		{"7f00-7f01 rw-s 00000000 00:00 0 ", 0},
		{"0-ffffffffffffffff rwxp 0 ffffffff:ffffffff 18446744073709551615 /x", 0},
		{"", ERR_FORMAT},
		{"7f00", ERR_FORMAT},
		{"7f01-7f00 r-xp 00000000 08:02 1 /x", ERR_FORMAT},
		{"7f00-7f00 r-xp 00000000 08:02 1 /x", ERR_FORMAT},
		{"7f00-7f01 r-xp 00000000 08:02 18446744073709551616 /x", ERR_FORMAT},
		{"7f00-7f01 r-xp 10000000000000000 08:02 1 /x", ERR_FORMAT},
		{"7f00-7f01 r-xp ffffffffffffffff 08:02 1 /x", ERR_FORMAT},
		{"7f00-7f01 r-xp 00000000 100000000:02 1 /x", ERR_FORMAT},
		{"7f00-7f01 r-xp 00000000 08:02 1/x", ERR_FORMAT},
		{"7f00-7f01 r-xq 00000000 08:02 1 /x", ERR_FORMAT},
		{"7f00-7f01 rwx 00000000 08:02 1 /x", ERR_FORMAT},
		{"-7f00-7f01 r-xp 00000000 08:02 1 /x", ERR_FORMAT},
		{"7F00-7F01 r-xp 00000000 08:02 1 /x", ERR_FORMAT},
		{"7f00-7f01 r-xp 00000000 08:02", ERR_FORMAT},
	};
	static struct mapping m;

	(void)state;
	for (size_t i = 0; i < LEN(cases); i++)
		if (mapping_parse(&m, cases[i].line, strlen(cases[i].line), NULL) != cases[i].err)
			fail_msg("not as expected: '%s'", cases[i].line);
	assert_int_equal(mapping_parse(&m, "7f00-7f01 r-xp 0 08:02 1 /a\0b", 29, NULL), ERR_FORMAT);
	assert_int_equal(mapping_parse(&m, cases[0].line, strlen(cases[0].line), NULL), 0);
	assert_true(m.start == 0x400000 && m.end == 0x452000 && m.inode == 173521);
	assert_true(m.dev_major == 8 && m.dev_minor == 2 && mapping_device(&m) == makedev(8, 2));
	assert_string_equal(m.path, "/usr/bin/dbus-daemon");
}

static void every_cut_and_flip_of_a_line_is_taken_apart_or_refused(void **state)
{
	static const char line[] = "7f0012340000-7f0012345000 r-xp 00012000 08:02 173521    /tmp/a\\012b (deleted)";
	static struct mapping m;

	(void)state;
	for (size_t n = 0; n < sizeof(line); n++) {
		char *copy = malloc(n ? n : 1); /* exactly as long, so that a sanitizer sees one byte too far */

		assert_non_null(copy);
		memcpy(copy, line, n);
		(void)mapping_parse(&m, copy, n, NULL);
		for (size_t i = 0; i < n; i++)
			for (unsigned v = 0; v < 256; v += 5) {
				copy[i] = (char)v;
				if (mapping_parse(&m, copy, n, NULL) == 0)
					assert_true(m.start < m.end && strlen(m.path) < n);
				copy[i] = line[i];
			}
		free(copy);
	}
}

/* Read forged maps; returns how many lines came before `*last`, what next() returned last. */
static size_t read_forged(const char *text, size_t n, struct mapping *m, int *last, struct fault *why)
{
	static struct procfs_maps maps;
	struct procfs fs;
	size_t lines = 0;

	open_forged(&fs);
	made_write(made_path("proc/7/maps"), text, n);
	assert_int_equal(procfs_maps_open(&maps, &fs, 7, why), 1);
	while ((*last = procfs_maps_next(&maps, m, why)) > 0)
		lines++;
	procfs_maps_close(&maps);
	procfs_close(&fs);
	return lines;
}

static void a_line_of_any_length_is_survived_and_the_next_one_read(void **state)
{
	static const char start[] = "1000-2000 r-xp 0 08:02 9 /", next[] = "\n3000-4000 r--p 0 08:02 8 /next\n";
	static const size_t lengths[] = {PROCFS_PATH_MAX - 2,  PROCFS_PATH_MAX - 1, PROCFS_LINE_MAX - 27,
					 PROCFS_LINE_MAX - 26, PROCFS_LINE_MAX,     5 * PROCFS_LINE_MAX};
	static struct mapping m;

	(void)state;
	for (size_t i = 0; i < LEN(lengths); i++) {
		size_t n = strlen(start) + lengths[i] + strlen(next);
		char *text = malloc(n + 1);
		struct fault why;
		int last;

		assert_non_null(text);
		memcpy(text, start, strlen(start));
		memset(text + strlen(start), 'p', lengths[i]);
		strcpy(text + strlen(start) + lengths[i], next);
		assert_int_equal(read_forged(text, n, &m, &last, &why), 2);
		assert_int_equal(last, 0);
		assert_string_equal(m.path, "/next");
		assert_false(m.path_cut);
		/* Alone and without its newline. */
		assert_int_equal(read_forged(text, strlen(start) + lengths[i], &m, &last, &why), 1);
		assert_int_equal(m.path_cut, lengths[i] > PROCFS_PATH_MAX - 2);
		assert_int_equal(m.inode, 9);
		free(text);
	}
}

static void garbage_in_maps_is_an_error_that_names_the_line(void **state)
{
	static const char text[] = "1000-2000 r-xp 0 08:02 9 /a\nrubbish\n";
	static struct mapping m;
	struct fault why;
	int last;

	(void)state;
	assert_int_equal(read_forged(text, strlen(text), &m, &last, &why), 1);
	assert_int_equal(last, ERR_FORMAT);
	assert_non_null(strstr(why.text, "line 2"));
	assert_int_equal(read_forged("", 0, &m, &last, &why), 0);
	assert_int_equal(last, 0);
}

static void every_cut_of_stat_is_refused_or_right(void **state)
{
	static const char stat[] = "7 (a) b) S 3 7 7 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 12345 0 0";
	static const char status[] = "Name:\tx\nTgid:\t7\nUid:\t1000\t0\t0\t0\n";
	struct process_info info;
	struct procfs fs;

	(void)state;
	open_forged(&fs);
	made_write(made_path("proc/7/status"), status, strlen(status));
	for (size_t n = 0; n <= strlen(stat); n++) {
		int r;

		made_write(made_path("proc/7/stat"), stat, n);
		r = procfs_process(&fs, 7, &info, NULL);
		assert_true(n == 0 ? r == 0 : r == ERR_FORMAT || r == 1);
		if (r == 1)
			assert_true(info.ppid == 3 && info.start_ns == 12345 * fs.ns_per_tick);
	}
	assert_string_equal(info.comm, "a) b");
	assert_int_equal(info.start_ns, 12345 * fs.ns_per_tick);
	assert_int_equal(info.uid, 1000);
	for (size_t n = 0; n < strlen("Name:\tx\nTgid:\t7\nUid:\t"); n++) {
		made_write(made_path("proc/7/status"), status, n);
		assert_true(procfs_process(&fs, 7, &info, NULL) != 1);
	}
	procfs_close(&fs);
}

static void numbers_in_stat_that_are_too_large_are_refused(void **state)
{
	static const char *const stats[] = {
		"4294967296 (a) S 3 7 7 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 12345 0 0",
		"7 (a) S 4294967296 7 7 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 12345 0 0",
		"7 (a) S 3 7 7 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 18446744073709551615 0 0",
		"7 )a( S 3 7 7 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 12345 0 0",
		"7 a S 3 7 7 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 12345 0 0",
	};
	struct process_info info;
	struct procfs fs;

	(void)state;
	open_forged(&fs);
	made_write(made_path("proc/7/status"), "N:\nTgid:\t7\nUid:\t0\n", 19);
	for (size_t i = 0; i < LEN(stats); i++) {
		made_write(made_path("proc/7/stat"), stats[i], strlen(stats[i]));
		assert_int_equal(procfs_process(&fs, 7, &info, NULL), ERR_FORMAT);
	}
	procfs_close(&fs);
}

static void without_permission_the_error_says_so(void **state)
{
	pid_t pid = fork();
	int status;

	(void)state;
	assert_true(pid >= 0);
	if (pid == 0) {
		static struct procfs_maps maps;
		struct fault why = {.code = ERR_NONE};

		if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0))
			_exit(2);
		_exit(procfs_maps_open(&maps, &real, 1, &why) == ERR_DENIED && why.text[0] ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void a_folder_that_is_not_there_is_an_error(void **state)
{
	struct procfs fs;
	struct fault why;

	(void)state;
	assert_true(procfs_open(&fs, made_path("nowhere"), &why) < 0);
	assert_true(why.text[0] != '\0');
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_process_is_reported_as_it_is),
		cmocka_unit_test(no_name_of_a_process_confuses_the_reader),
		cmocka_unit_test(threads_are_listed_and_lead_to_their_process),
		cmocka_unit_test(all_processes_are_listed_and_nothing_else),
		cmocka_unit_test(a_process_that_is_gone_is_no_error_and_leaves_outputs_alone),
		cmocka_unit_test(a_process_that_ends_while_it_is_read_is_no_error),
		cmocka_unit_test(start_times_agree_within_a_tick),
		cmocka_unit_test(the_executable_is_named_also_when_it_is_deleted),
		cmocka_unit_test(our_own_code_is_found_in_maps),
		cmocka_unit_test(a_mapped_file_is_opened_whatever_it_is_called),
		cmocka_unit_test(a_replaced_file_is_never_taken_for_the_mapped_one),
		cmocka_unit_test(by_path_only_the_same_device_and_inode_count),
		cmocka_unit_test(a_pipe_or_a_device_is_never_opened),
		cmocka_unit_test(lines_of_maps_are_taken_apart_or_refused),
		cmocka_unit_test(every_cut_and_flip_of_a_line_is_taken_apart_or_refused),
		cmocka_unit_test(a_line_of_any_length_is_survived_and_the_next_one_read),
		cmocka_unit_test(garbage_in_maps_is_an_error_that_names_the_line),
		cmocka_unit_test(every_cut_of_stat_is_refused_or_right),
		cmocka_unit_test(numbers_in_stat_that_are_too_large_are_refused),
		cmocka_unit_test(who_listens_is_in_the_first_lines_of_two_lists),
		cmocka_unit_test(without_permission_the_error_says_so),
		cmocka_unit_test(a_folder_that_is_not_there_is_an_error),
	};

	return cmocka_run_group_tests_name("procfs", tests, open_real, close_real);
}
