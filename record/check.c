/* SPDX-License-Identifier: Apache-2.0 */
#include "record/check.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/futex.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "keys/confine.h"
#include "record/attach.h"
#include "record/check_inside.h"
#include "record/discover.h"
#include "record/ring.h"

void check_say(struct check *c, const char *what, enum check_result result, const char *fmt, ...)
{
	struct check_line *line;
	va_list args;

	if (c->n == CHECK_LINES_MAX)
		return;
	line = &c->lines[c->n++];
	memset(line, 0, sizeof(*line));
	line->what = what;
	line->result = result;
	va_start(args, fmt);
	vsnprintf(line->text, sizeof(line->text), fmt, args);
	va_end(args);
}

void check_remedy(struct check *c, const char *fmt, ...)
{
	struct check_line *line = &c->lines[c->n - 1];
	va_list args;

	if (line->remedy[0])
		return;
	va_start(args, fmt);
	vsnprintf(line->remedy, sizeof(line->remedy), fmt, args);
	va_end(args);
}

/* Those that matter, the ones that nothing works without first. */
static const struct {
	cap_value_t cap;
	bool needed, by_admin; /* CAP_SYS_ADMIN includes it */
	const char *name, *what_for;
} rights[] = {
	{CAP_BPF, true, true, "CAP_BPF", "loads programs"},
	{CAP_PERFMON, true, true, "CAP_PERFMON", "attaches them"},
	{CAP_SYS_PTRACE, false, false, "CAP_SYS_PTRACE", "sees what processes of other users have mapped"},
	{CAP_DAC_READ_SEARCH, false, false, "CAP_DAC_READ_SEARCH", "reads libraries in other users' folders"},
	{CAP_CHECKPOINT_RESTORE, false, true, "CAP_CHECKPOINT_RESTORE",
	 "finds deleted libraries and those of containers"},
	{CAP_KILL, false, false, "CAP_KILL", "lets a command of another user go on"},
	{CAP_SYSLOG, false, true, "CAP_SYSLOG", "reads Xid errors"},
};

static void check_capabilities(struct check *c)
{
	char held[200] = "", missing[200] = "", wanted[200] = "";
	cap_flag_value_t set, admin = CAP_CLEAR;
	cap_t caps = cap_get_proc();

	if (caps)
		cap_get_flag(caps, CAP_SYS_ADMIN, CAP_EFFECTIVE, &admin);
	for (size_t i = 0; i < sizeof(rights) / sizeof(rights[0]); i++) {
		char *to = rights[i].needed ? missing : wanted;

		set = CAP_CLEAR;
		if (caps)
			cap_get_flag(caps, rights[i].cap, CAP_EFFECTIVE, &set);
		if (set == CAP_SET || (rights[i].by_admin && admin == CAP_SET))
			to = held;
		snprintf(to + strlen(to), sizeof(held) - strlen(to), " %s", rights[i].name);
	}
	if (caps)
		cap_free(caps);
	if (!missing[0] && !wanted[0]) {
		check_say(c, "capabilities", CHECK_OK, "all that recording needs:%s", held);
		return;
	}
	check_say(c, "capabilities", missing[0] ? CHECK_NO : CHECK_NOTE, "held:%s; missing:%s%s",
		  held[0] ? held : " none", missing, wanted);
	check_remedy(c, "run as root, or setcap cap_bpf,cap_perfmon,cap_sys_ptrace,cap_dac_read_search,"
			"cap_checkpoint_restore,cap_kill,cap_syslog=ep on gpurec");
	for (size_t i = 0; i < sizeof(rights) / sizeof(rights[0]); i++)
		if (strstr(wanted, rights[i].name))
			check_say(c, rights[i].name, CHECK_NOTE, "is not held: it %s", rights[i].what_for);
}

/* The function that the probe is put on. */
__attribute__((noinline)) static int probed_function(void)
{
	__asm__ volatile("");
	return 0;
}

static int take(void *self, const void *record, uint32_t n, struct fault *why)
{
	const struct ring_head *head = record;
	struct check *c = self;

	(void)why;
	if (n >= sizeof(*head) && head->type < RING_TYPES)
		c->seen[head->type]++;
	return 0;
}

/* The file offset of probed_function() in our own executable. */
static bool own_offset(struct check *c, uint64_t *offset)
{
	uint64_t address = (uint64_t)(uintptr_t)probed_function;
	struct procfs_maps *maps = malloc(sizeof(*maps));
	struct mapping *m = malloc(sizeof(*m));
	bool found = false;

	if (maps && m && procfs_maps_open(maps, &c->fs, (uint32_t)getpid(), NULL) > 0) {
		while (!found && procfs_maps_next(maps, m, NULL) > 0) {
			if (address < m->start || address >= m->end)
				continue;
			*offset = address - m->start + m->offset;
			found = true;
		}
		procfs_maps_close(maps);
	}
	free(maps);
	free(m);
	return found;
}

static int put_probe(struct check *c)
{
	struct attach_site site = {.probe = probe_table[nprobes - 1].id};
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int error = ENOENT;

	if (fd >= 0 && own_offset(c, &site.offset)) {
		attach_library(c->attach, fd, &site, 1);
		error = site.error;
	}
	if (fd >= 0)
		close(fd);
	return error;
}

/* Do one of everything that is recorded. */
static void make_events(void)
{
	int word = 0;
	pid_t child;

	probed_function();
	syscall(SYS_futex, &word, FUTEX_WAKE, 1, NULL, NULL, 0);
	child = fork();
	if (child == 0)
		_exit(0);
	if (child > 0)
		waitpid(child, NULL, 0);
	usleep(1000);
}

static void check_events(struct check *c, int probe_error)
{
	static const struct {
		const char *what;
		enum ring_type type;
	} kinds[] = {
		{"sched_switch", RING_SWITCH}, {"sched_waking", RING_WAKING}, {"futex", RING_FUTEX},
		{"fork", RING_FORK},           {"exit", RING_EXIT},           {"names", RING_THREAD},
	};

	if (c->seen[RING_CALL_FEW] || c->seen[RING_CALL_MANY] || c->seen[RING_CALL_ALL] || c->seen[RING_CALL_STACK])
		check_say(c, "uprobe", CHECK_OK, "fired on entry and return (%s), per-thread state kept",
			  attach_is_multi(c->attach) ? "uprobe_multi" : "one by one: Linux 6.6 attaches faster");
	else {
		check_say(c, "uprobe", CHECK_NO, "did not fire: %s",
			  probe_error ? strerror(probe_error) : "no record came");
		check_remedy(c, "the kernel needs CONFIG_UPROBE_EVENTS");
	}
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (c->seen[kinds[i].type])
			check_say(c, kinds[i].what, CHECK_OK, "fired");
		else {
			check_say(c, kinds[i].what, CHECK_NO, "did not fire");
			check_remedy(c, "the kernel needs CONFIG_TRACEPOINTS and CONFIG_FTRACE_SYSCALLS");
		}
	}
	if (attach_knows_interrupts(c->attach))
		check_say(c, "interrupts", CHECK_OK, "wakings by interrupts are told apart");
	else
		check_say(c, "interrupts", CHECK_NOTE,
			  "that wakings by interrupts are told apart could not be proven here");
}

static void check_recording(struct check *c)
{
	const struct attach_options o = {.ring_bytes = 1 << 20, .futex = true};
	struct ring life = {0}, bulk = {0};
	struct fault why = {0};
	int probe_error;

	if (attach_open(&c->attach, &o, &why) < 0) {
		check_say(c, "BPF", CHECK_NO, "%s", why.text);
		return;
	}
	check_say(c, "BPF", CHECK_OK, "programs load and attach");
	if (ring_open(&life, attach_life_fd(c->attach), LIFE_RING_BYTES, &why) < 0 ||
	    ring_open(&bulk, attach_bulk_fd(c->attach), o.ring_bytes, &why) < 0 ||
	    attach_track(c->attach, (uint32_t)getpid(), 0, 0, &why) < 0 || attach_scan_threads(c->attach, &why) < 0) {
		check_say(c, "ring buffer", CHECK_NO, "%s", why.text);
		ring_close(&life);
		return;
	}
	probe_error = put_probe(c);
	attach_start(c->attach);
	make_events();
	attach_stop(c->attach);
	ring_drain(&life, ring_head(&life), take, c, &why);
	ring_drain(&bulk, ring_head(&bulk), take, c, &why);
	check_say(c, "ring buffer", CHECK_OK, "records arrive");
	check_events(c, probe_error);
	ring_close(&life);
	ring_close(&bulk);
}

static void check_confinement(struct check *c)
{
	int status = -1;
	pid_t child = fork();

	if (child == 0)
		_exit(confine_offline(NULL) == 0 ? 0 : 1);
	if (child > 0)
		waitpid(child, &status, 0);
	if (status == 0)
		check_say(c, "seccomp", CHECK_OK, "rights can be given up for good");
	else {
		check_say(c, "seccomp", CHECK_NO, "refused");
		check_remedy(c, "a container may forbid it; the kernel needs CONFIG_SECCOMP_FILTER");
	}
}

static int count_process(void *self, uint32_t pid, struct fault *why)
{
	(void)pid, (void)why;
	++*(unsigned *)self;
	return 0;
}

static void check_libraries(struct check *c)
{
	struct symbolizer *symbolizer = NULL;
	struct discover *d = NULL;
	struct fault why = {0};
	unsigned n = 0;

	if (!c->attach || symbolizer_new(&symbolizer, &c->fs, &why) < 0 ||
	    discover_new(&d, &c->fs, symbolizer, c->attach, &why) < 0 ||
	    discover_all(d, 0, count_process, &n, &why) < 0)
		check_say(c, "CUDA", CHECK_NOTE, "could not look for it: %s",
			  why.text[0] ? why.text : "BPF does not work");
	else if (!n)
		check_say(c, "CUDA", CHECK_NOTE, "no process uses it now; one that starts later is recorded");
	else
		check_say(c, "CUDA", CHECK_OK,
			  "in use by %u process%s: %zu librar%s, %zu functions probed, %zu refused", n,
			  n == 1 ? "" : "es", discover_counts(d)->libraries,
			  discover_counts(d)->libraries == 1 ? "y" : "ies", discover_counts(d)->sites,
			  discover_counts(d)->refused);
	discover_free(d);
	symbolizer_free(symbolizer);
}

size_t check_host(struct check_line lines[CHECK_LINES_MAX], const char *folder, const char *nvml)
{
	struct check c = {.lines = lines};
	struct fault why = {0};

	check_kernel(&c);
	check_capabilities(&c);
	if (procfs_open(&c.fs, PROCFS_ROOT, &why) < 0) {
		check_say(&c, "/proc", CHECK_NO, "%s", why.text);
		return c.n;
	}
	check_recording(&c);
	check_confinement(&c);
	check_libraries(&c);
	check_gpus(&c, nvml);
	check_output(&c, folder);
	attach_close(c.attach);
	procfs_close(&c.fs);
	return c.n;
}
