/* SPDX-License-Identifier: Apache-2.0 */
#include "record/check/check.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "format/tracepoints.h"
#include "keys/tool/confine.h"
#include "record/probe/attach.h"
#include "record/probe/counters.h"
#include "record/check/check_internal.h"
#include "record/probe/ring_reader.h"
#include "record/rights.h"
#include "record/probe/selftest.h"

void check_report(struct check *c, const char *what, enum check_result result, const char *fmt, ...)
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

void check_detail(struct check *c, const char *text)
{
	struct check_line *line = &c->lines[c->n - 1];

	(void)snprintf(line->detail, sizeof(line->detail), "%s", text);
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

#define READS 16 /* a fast disk may have answered before the first ones sleep */

/* Sleep for a disk. False: nothing of ours is on one, or it cannot be read past the page cache. */
static bool read_disk(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC | O_DIRECT);
	void *block = NULL;
	struct stat st;
	unsigned n = 0;

	if (fd >= 0 && fstat(fd, &st) == 0 && major(st.st_dev) && posix_memalign(&block, 4096, 4096) == 0)
		while (n < READS && pread(fd, block, 4096, n * 4096) > 0)
			n++;
	free(block);
	if (fd >= 0)
		close(fd);
	return n > 0;
}

/* Do one of everything that is recorded. */
static void make_events(struct check *c)
{
	int word = 0;
	pid_t child;

	probed_function();
	syscall(SYS_futex, &word, FUTEX_WAKE, 1, NULL, NULL, 0);
	(void)raise(SIGCONT);
	child = fork();
	if (child == 0)
		_exit(0);
	if (child > 0)
		waitpid(child, NULL, 0);
	usleep(1000);
	c->read_disk = c->o->disks && read_disk();
}

/* What each proof takes of the kernel; a tracepoint that is absent has a line of its own. */
static const struct {
	const char *what;
	enum ring_type type;
	const char *tracepoint, *another;
} proofs[] = {
	{"sched_switch", RING_SWITCH, "sched_switch", NULL}, {"sched_waking", RING_WAKING, "sched_waking", NULL},
	{"futex", RING_FUTEX, "sys_enter", "sys_exit"},      {"fork", RING_FORK, "sched_process_fork", NULL},
	{"exit", RING_EXIT, "sched_process_exit", NULL},     {"names", RING_THREAD, NULL, NULL},
	{"signals", RING_SIGNAL, "signal_generate", NULL},   {"disks", RING_DISK, "block_rq_complete", NULL},
	{"scheduling", RING_SCHEDULING, NULL, NULL},         {"states", RING_STATE, NULL, NULL},
};

/* What is not tried out, for it would take a file, a long wait, or the end of somebody. */
static const struct {
	const char *what, *tracepoint, *text;
} offers[] = {
	{"exec", "sched_process_exec", "the kernel reports when a process begins to run another program"},
	{"page faults", "page_fault_user", "the kernel reports them, and so in which a thread sleeps"},
	{"OOM killer", "mark_victim", "the kernel reports which process it kills because memory ran out"},
};

static void check_absent(struct check *c)
{
	for (size_t i = 0; i < ntracepoints; i++) {
		const struct tracepoint *t = &tracepoints[i];

		if (!attach_lacks(c->attach, t->name) || attach_refuses(c->attach, t->name))
			continue;
		check_report(c, t->name, CHECK_NOTE, "this kernel has no such tracepoint; not recorded: %s", t->lacks);
		check_remedy(c, "a kernel with %s has it", t->config);
	}
}

static void check_refusals(struct check *c)
{
	char effect[REFUSAL_EFFECT_MAX];
	const struct refusal *refusals;
	size_t n = attach_refusals(c->attach, &refusals);

	for (size_t i = 0; i < n; i++) {
		check_report(c, "BPF program", CHECK_NOTE, "%s: this kernel refuses it: %s", refusals[i].program,
			     refusal_effect(&refusals[i], effect));
		check_detail(c, refusals[i].reason);
		check_remedy(c, "gpurec --check -v shows the kernel's reason; please report it with uname -r");
	}
}

static bool refuses(const struct check *c, const char *program)
{
	const struct refusal *refusals;
	size_t n = attach_refusals(c->attach, &refusals);

	for (size_t i = 0; i < n; i++)
		if (!strcmp(refusals[i].program, program))
			return true;
	return false;
}

static const char memory_remedy[] =
	"kernels since 7.0 may take a CPU with cx16 (x86-64) or atomics (arm64) in /proc/cpuinfo for that; a virtual "
	"machine can be given one";

static void check_uprobe(struct check *c, int probe_error, bool refused)
{
	const struct attach_facts *facts = attach_facts(c->attach);

	if (c->seen[RING_CALL_FEW] || c->seen[RING_CALL_MANY] || c->seen[RING_CALL_ALL] || c->seen[RING_CALL_CALLER] ||
	    c->seen[RING_CALL_STACK]) {
		check_report(c, "uprobe", CHECK_OK, "fired on entry and return (%s), per-thread state kept",
			     facts->multi ? "uprobe_multi" : "one by one: Linux 6.6 attaches faster");
		return;
	}
	if (refused) {
		check_report(c, "uprobe", CHECK_NO, "fired, but the kernel gave no memory for the thread's state");
		check_remedy(c, "%s", memory_remedy);
		return;
	}
	check_report(c, "uprobe", CHECK_NO, "did not fire: %s", probe_error ? strerror(probe_error) : "no record came");
	if (probe_error == EPERM || probe_error == EACCES)
		check_remedy(c, "%s",
			     facts->multi ? "run as root, or with CAP_BPF and CAP_PERFMON"
					  : "run as root, or with CAP_SYS_ADMIN too: one by one takes it");
	else
		check_remedy(c, "the kernel needs CONFIG_UPROBE_EVENTS");
}

static void check_quota(struct check *c)
{
	const struct attach_facts *facts = attach_facts(c->attach);

	if (!c->o->quota)
		return;
	if (facts->quota_times) {
		check_report(c, "CPU quota", CHECK_OK,
			     "the kernel reports which threads it throttles, and for how long");
		return;
	}
	check_report(c, "CPU quota", CHECK_NOTE, "%s",
		     facts->quota ? "the kernel reports which threads it throttles, but not for how long"
				  : "this kernel has no CPU quotas");
	check_remedy(c, facts->quota ? "Linux 6.6 or later keeps account of it"
				     : "threads are not throttled without CONFIG_CFS_BANDWIDTH");
}

/* That is not tried out: gpurec opens no socket. */
static void check_network(struct check *c)
{
	if (c->o->network && !attach_lacks(c->attach, "tcp_probe"))
		check_report(c, "network", CHECK_OK, "the kernel reports what comes in through TCP connections");
}

/* That is not tried out: it takes another process, which waits. */
static void check_follow(struct check *c)
{
	if (!c->o->follow || attach_lacks(c->attach, "sched_waking"))
		return;
	if (attach_facts(c->attach)->follow) {
		check_report(c, "follow", CHECK_OK, "threads that keep recorded ones waiting can be followed");
		return;
	}
	check_report(c, "follow", CHECK_NOTE,
		     "that a thread, and no interrupt, wakes another could not be proven: none is followed");
	check_remedy(c, "try again while the host is less busy");
}

/* Nor that: it takes a library. */
static void check_loading(struct check *c)
{
	if (attach_facts(c->attach)->notice_maps)
		check_report(c, "loading", CHECK_OK, "the kernel reports when a program loads a library");
}

static void check_metrics(struct check *c)
{
	const struct attach_facts *facts = attach_facts(c->attach);

	if (!facts->metrics)
		return;
	if (facts->timed) {
		check_report(c, "metrics", CHECK_OK, "of each CPU, also of those on which nothing happens");
		return;
	}
	check_report(c, "metrics", CHECK_NOTE, "only of CPUs on which threads change: the kernel lends no timer");
	check_remedy(c, "Linux 6.6 or later, or CAP_SYS_ADMIN");
}

static void check_offers(struct check *c)
{
	for (size_t i = 0; i < sizeof(offers) / sizeof(offers[0]); i++)
		if (!attach_lacks(c->attach, offers[i].tracepoint))
			check_report(c, offers[i].what, CHECK_OK, "%s", offers[i].text);
	if (c->o->disks && !c->read_disk && !attach_lacks(c->attach, "block_rq_complete"))
		check_report(c, "disks", CHECK_OK, "the kernel reports requests, and so for which a thread sleeps");
}

/* That cannot be tried out: a machine would have to be short of memory. */
static void check_reclaim(struct check *c)
{
	if (!c->o->reclaim || attach_lacks(c->attach, "mm_vmscan_direct_reclaim_end"))
		return;
	check_report(c, "memory", CHECK_OK, "the kernel reports when a thread has to free memory%s",
		     access("/proc/pressure/memory", F_OK) == 0
			     ? ", or sleeps for memory"
			     : ", but not when it sleeps for memory: no /proc/pressure here");
}

static void check_events(struct check *c, int probe_error, bool refused)
{
	const struct attach_facts *facts = attach_facts(c->attach);

	check_uprobe(c, probe_error, refused);
	check_absent(c);
	check_refusals(c);
	for (size_t i = 0; i < sizeof(proofs) / sizeof(proofs[0]); i++) {
		if ((proofs[i].tracepoint && attach_lacks(c->attach, proofs[i].tracepoint)) ||
		    (proofs[i].another && attach_lacks(c->attach, proofs[i].another)) ||
		    (proofs[i].type == RING_FUTEX && !c->o->futex) ||
		    (proofs[i].type == RING_SIGNAL && !c->o->signals) ||
		    (proofs[i].type == RING_DISK && (!c->o->disks || !c->read_disk)) ||
		    (proofs[i].type == RING_STATE && refuses(c, "on_each_task")))
			continue;
		if (c->seen[proofs[i].type])
			check_report(c, proofs[i].what, CHECK_OK, "fired");
		else {
			check_report(c, proofs[i].what, CHECK_NOTE, "did not fire: nothing of it is recorded");
			check_remedy(
				c, "%s",
				refused ? memory_remedy
					: "another program may have switched it off; please report it with uname -r");
		}
	}
	check_offers(c);
	check_loading(c);
	check_quota(c);
	check_network(c);
	check_reclaim(c);
	check_follow(c);
	check_metrics(c);
	if (attach_lacks(c->attach, "sched_waking"))
		return;
	if (facts->interrupts_known)
		check_report(c, "interrupts", CHECK_OK, "wakings by interrupts are recognized");
	else if (kernel_is_realtime()) {
		check_report(c, "interrupts", CHECK_NOTE,
			     "on this kernel (PREEMPT_RT) most timers and interrupts are handled by threads, which are "
			     "recorded as the wakers; that the others are recognized could not be proven");
		check_remedy(c, "run as root, or with CAP_SYS_NICE, for the proof takes a real-time thread");
	} else {
		check_report(c, "interrupts", CHECK_NOTE,
			     "that wakings by interrupts are recognized could not be proven here");
		check_remedy(c, "try again while the host is less busy; reports then name no waker");
	}
}

/* Whether a line before says already why it cannot be. */
static bool is_explained(const struct check *c)
{
	for (size_t i = 0; i < c->n; i++)
		if (c->lines[i].result == CHECK_NO)
			return true;
	return false;
}

/* Messages say what is wrong, then what to do. */
static void print_refused(struct check *c, const char *what, const struct fault *why)
{
	bool explained = is_explained(c);
	const char *remedy = strstr(why->text, "; ");

	check_report(c, what, CHECK_NO, "%.*s", (int)(remedy ? (size_t)(remedy - why->text) : strlen(why->text)),
		     why->text);
	if (why->code == ERR_DENIED && c->foreign_user)
		check_remedy(c, "rights of the host are needed, not of a user namespace");
	else if (remedy)
		check_remedy(c, "%s", remedy + 2);
	else if (explained)
		check_remedy(c, "it follows from what is not possible by the lines above: see their remedies");
	else
		check_remedy(c, "gpurec --check -v -v shows the kernel's message; please report it with uname -r");
}

/* Newer kernels (7.2 is one) take BPF's memory for threads from an allocator that some CPUs lack an instruction for. */
static bool memory_refused(struct check *c)
{
	struct counters counters;
	const struct counter *rows;
	struct fault why = {0};
	bool refused;
	size_t n;

	if (counters_open(&counters, attach_facts(c->attach)->tallies_fd, &why) < 0) {
		print_refused(c, "counters", &why);
		return false;
	}
	n = counters_collect(&counters, true, &rows);
	refused = counter_value(rows, (uint32_t)n, probe_table[nprobes - 1].id, COUNTER_no_state) > 0;
	counters_close(&counters);
	return refused;
}

static void check_recording(struct check *c)
{
	const struct attach_options o = {.clock = c->fs.clock,
					 .ring_bytes = 1 << 20,
					 .futex = c->o->futex,
					 .quota = c->o->quota,
					 .signals = c->o->signals,
					 .disks = c->o->disks,
					 .network = c->o->network,
					 .reclaim = c->o->reclaim,
					 .follow = c->o->follow,
					 .notice_maps = c->o->futex && c->o->late_attach,
					 .single = c->o->single,
					 .metrics_ns = c->o->metrics_ns,
					 .verifier = c->o->verifier};
	struct ring life = {0}, bulk = {0};
	struct fault why = {0};
	const struct attach_facts *facts;
	int probe_error;

	if (attach_open(&c->attach, &o, &why) < 0) {
		print_refused(c, "BPF", &why);
		return;
	}
	facts = attach_facts(c->attach);
	check_report(c, "BPF", CHECK_OK, "programs load and attach");
	if (ring_open(&life, facts->life_fd, LIFE_RING_BYTES, &why) < 0 ||
	    ring_open(&bulk, facts->bulk_fd, o.ring_bytes, &why) < 0 ||
	    attach_track(c->attach, (uint32_t)getpid(), 0, 0, &why) < 0 || attach_scan_threads(c->attach, &why) < 0) {
		print_refused(c, "ring buffer", &why);
		ring_close(&life);
		ring_close(&bulk);
		return;
	}
	if (c->foreign_pids) {
		check_report(c, "events", CHECK_NOTE, "not tried: the kernel knows this process by another number");
		check_remedy(c, "run on the host, or the container with --pid=host");
		goto out;
	}
	probe_error = put_probe(c);
	attach_start(c->attach);
	make_events(c);
	attach_stop(c->attach);
	(void)attach_emit_states(c->attach, MOMENT_BEGIN, 1, &why);
	ring_drain(&life, ring_head(&life), take, c, &why);
	ring_drain(&bulk, ring_head(&bulk), take, c, &why);
	check_report(c, "ring buffer", CHECK_OK, "records arrive");
	check_events(c, probe_error, memory_refused(c));
out:
	ring_close(&life);
	ring_close(&bulk);
}

static void check_confinement(struct check *c)
{
	int status = -1;
	pid_t child = fork();

	if (child == 0)
		_exit(confine_recorder(NULL, 0, NULL, SYSCALLS_FILES, NULL) == 0 ? 0 : 1);
	if (child > 0)
		waitpid(child, &status, 0);
	if (status == 0)
		check_report(c, "seccomp", CHECK_OK, "rights can be given up for good");
	else {
		check_report(c, "seccomp", CHECK_NO, "refused");
		check_remedy(c, "a container may forbid it; the kernel needs CONFIG_SECCOMP_FILTER");
	}
}

static void check_landlock(struct check *c)
{
	int version = landlock_version();

	if (version > 0) {
		check_report(c, "Landlock", CHECK_OK,
			     "version %d: the tools for captures open only the files they are given", version);
		return;
	}
	check_report(c, "Landlock", CHECK_NOTE, "none: the tools for captures may open all that their user may");
	check_remedy(c, "Linux 5.13 with CONFIG_SECURITY_LANDLOCK, and landlock in lsm=");
}

/* What is left to the recorder itself once it records. */
static void check_recorder(struct check *c)
{
	const struct rights rights = {
		.late = c->o->late_attach,
		.single = !c->attach || !attach_facts(c->attach)->multi,
		.hidden = procfs_hides(&c->fs),
	};

	if (rights_read_others(&rights)) {
		check_report(
			c, "recorder", CHECK_NOTE, "keeps the rights to read files and memory of others, because %s",
			rights.single ? "functions are attached one by one here" : "/proc hides processes (hidepid)");
		check_remedy(c, "--no-late-attach, or %s",
			     rights.single ? "Linux 6.6" : "mount /proc without hidepid for it");
	} else if (!landlock_version()) {
		check_report(c, "recorder", CHECK_NOTE, "gives up its capabilities, and reads what its user may");
	} else {
		check_report(c, "recorder", CHECK_OK,
			     "gives up its capabilities, and opens nothing but /proc, /sys and its captures");
	}
}

size_t check_host(struct check_line lines[CHECK_LINES_MAX], const struct recording_options *o, const char *folder)
{
	struct check c = {.lines = lines, .o = o, .fs.root_fd = -1};
	struct fault why = {0};
	int r = procfs_open(&c.fs, PROCFS_ROOT, &why);

	check_kernel(&c);
	check_capabilities(&c);
	if (r < 0) {
		check_report(&c, "/proc", CHECK_NO, "%s", why.text);
		check_remedy(&c, "mount it: mount -t proc proc /proc");
		return c.n;
	}
	check_recording(&c);
	check_confinement(&c);
	check_landlock(&c);
	check_recorder(&c);
	check_libraries(&c);
	check_gpus(&c, o->nvml);
	check_output(&c, folder);
	(void)attach_close(c.attach);
	procfs_close(&c.fs);
	return c.n;
}
