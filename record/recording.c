/* SPDX-License-Identifier: Apache-2.0 */
#include "record/recording_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "format/tracepoints.h"
#include "keys/tool/confine.h"
#include "keys/identity.h"
#include "record/host/hostfacts.h"
#include "record/rights.h"

void anchor_read(const struct recording *s, struct clock_anchor *a)
{
	a->boot_ns = kernel_boot_ns(&s->fs.clock);
	a->wall_ns = clock_ns(CLOCK_REALTIME);
	a->mono_ns = kernel_mono_ns(&s->fs.clock);
}

void recording_note(const struct recording *s, int level, const char *fmt, ...)
{
	char text[512];
	va_list args;

	if (!s->o.note)
		return;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	s->o.note(level, text);
}

/* What can be known to fail is refused before anything is made. */
static int check_output(const struct recording *s, struct fault *why)
{
	const struct recording_options *o = &s->o;
	char copy[4096];
	struct stat st;
	const char *folder;

	if (strlen(s->capture.path) >= sizeof(copy))
		return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "the name of the output is too long");
	if (lstat(s->capture.path, &st) == 0 && !o->rotate_ns) { /* with rotation what is in the way is left out */
		if (!S_ISREG(st.st_mode))
			return fault_set(why, ERR_EXISTS, FAULT_NOWHERE, "%s is there and is not a regular file",
					 s->capture.path);
		if (!o->force)
			return fault_set(why, ERR_EXISTS, FAULT_NOWHERE, "%s is there already; --force replaces it",
					 s->capture.path);
	}
	strcpy(copy, s->capture.path);
	folder = dirname(copy);
	if (access(folder, W_OK | X_OK) < 0)
		return fault_errno(why, "cannot write to the folder %s", folder);
	return 0;
}

static int check_namespace(struct fault *why)
{
	struct stat st;

	if (stat("/proc/self/ns/user", &st) == 0 && st.st_ino != INITIAL_USER_NAMESPACE)
		return fault_set(
			why, ERR_DENIED, FAULT_NOWHERE,
			"rights that are held in a user namespace, root's too, do not reach the kernel: run gpurec "
			"on the host, or the container without a user namespace");
	if (stat("/proc/self/ns/pid", &st) == 0 && st.st_ino != INITIAL_PID_NAMESPACE)
		return fault_set(
			why, ERR_DENIED, FAULT_NOWHERE,
			"gpurec sees the host's process numbers only from the host's pid namespace: run it on the "
			"host, or the container with --pid=host");
	return 0;
}

/* Whether processes of others are, or will be, hidden from us: CAP_SYS_PTRACE sees them, while it is held. */
static bool hides_others(const struct recording *s)
{
	cap_flag_value_t held = CAP_CLEAR;
	cap_t caps = cap_get_proc();

	if (caps) {
		cap_get_flag(caps, CAP_SYS_PTRACE, CAP_EFFECTIVE, &held);
		cap_free(caps);
	}
	return procfs_hides(&s->fs) && (held != CAP_SET || !s->o.late_attach);
}

/* A descriptor of each -p process, so that numbers that are reused do not mislead us. */
static int hold_pids(struct recording *s, struct fault *why)
{
	struct process_info info;

	s->waits.pidfds = calloc(s->o.npids + 1, sizeof(*s->waits.pidfds));
	if (!s->waits.pidfds)
		return fault_no_memory(why);
	for (size_t i = 0; i < s->o.npids; i++) {
		uint32_t pid = s->o.pids[i];
		int r = procfs_process(&s->fs, pid, &info, why);

		if (r < 0)
			return r;
		if (r == 0)
			return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "there is no process %u", pid);
		if (info.pid != pid)
			return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "%u is a thread; its process is %u", pid,
					 info.pid);
		s->waits.pidfds[i] = (int)syscall(SYS_pidfd_open, (pid_t)pid, 0);
		if (s->waits.pidfds[i] < 0)
			return fault_errno(why, "cannot watch process %u", pid);
		s->waits.npidfds++;
	}
	s->waits.nalive = s->waits.npidfds;
	return 0;
}

static int watch(const struct recording *s, int fd, uint32_t events, struct fault *why)
{
	struct epoll_event e = {.events = events, .data.fd = fd};

	if (epoll_ctl(s->waits.epoll_fd, EPOLL_CTL_ADD, fd, &e) < 0)
		return fault_errno(why, "cannot wait for events");
	return 0;
}

static int open_signals(struct recording *s, sigset_t *before, struct fault *why)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGCHLD); /* only so that it does not interrupt */
	if (sigprocmask(SIG_BLOCK, &set, before) < 0)
		return fault_errno(why, "cannot block signals");
	sigdelset(&set, SIGCHLD);
	s->waits.signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	s->waits.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (s->waits.signal_fd < 0 || s->waits.epoll_fd < 0)
		return fault_errno(why, "cannot wait for signals");
	return watch(s, s->waits.signal_fd, EPOLLIN, why);
}

static void note_absent(const struct recording *s)
{
	char effect[REFUSAL_EFFECT_MAX];
	const struct refusal *refusals;
	size_t n = attach_refusals(s->attach, &refusals);

	for (size_t i = 0; i < ntracepoints; i++) {
		const struct tracepoint *t = &tracepoints[i];

		if (attach_lacks(s->attach, t->name) && !attach_refuses(s->attach, t->name))
			recording_note(s, 0, "this kernel has no tracepoint %s; not recorded: %s", t->name, t->lacks);
	}
	for (size_t i = 0; i < n; i++) {
		recording_note(s, 0, "this kernel refuses the BPF program %s: %s", refusals[i].program,
			       refusal_effect(&refusals[i], effect));
		recording_note(s, 1, "the kernel's reason to refuse %s: %s", refusals[i].program, refusals[i].reason);
	}
}

/* Whether the probes of another recording are coming off now. Of ours, or anybody could keep us waiting. */
static bool others_detach(const struct recording *s)
{
	struct process_info info;
	struct procfs_list list;
	bool found = false;
	uint32_t pid;

	if (procfs_pids_open(&list, &s->fs, NULL) < 0)
		return false;
	while (!found && procfs_list_next(&list, &pid, NULL) > 0)
		found = procfs_process(&s->fs, pid, &info, NULL) > 0 && !strcmp(info.comm, ATTACH_DETACHES) &&
			info.uid == geteuid();
	procfs_list_close(&list);
	return found;
}

#define DETACH_LOOK_MS 200
#define DETACH_LOOKS_MAX (300 * 1000 / DETACH_LOOK_MS)

/*
 * The kernel lets one at a time attach or detach functions one by one. Before any process is held for ours, those of
 * the recording before are to be off. A signal ends the wait, and then the recording.
 */
static void await_detaching(const struct recording *s)
{
	struct pollfd p = {.fd = s->waits.signal_fd, .events = POLLIN};

	if (attach_facts(s->attach)->multi || !others_detach(s))
		return;
	recording_note(s, 0, "waiting for the kernel, which is still taking off the probes of the recording before");
	for (int i = 0; i < DETACH_LOOKS_MAX && poll(&p, 1, DETACH_LOOK_MS) == 0 && others_detach(s); i++)
		;
}

#define FILES_WANTED 4096

/* Programs, maps and links take some hundred; old kernels two more for each probed function. COMMAND keeps its limit.
 */
static void raise_files_limit(void)
{
	struct rlimit files, more = {FILES_WANTED, FILES_WANTED};

	if (getrlimit(RLIMIT_NOFILE, &files) < 0)
		return;
	if (files.rlim_max < FILES_WANTED && setrlimit(RLIMIT_NOFILE, &more) == 0)
		return;
	files.rlim_cur = files.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &files);
}

static int open_kernel_side(struct recording *s, struct fault *why)
{
	struct attach_options o = {
		.ring_bytes = s->o.ring_bytes,
		.futex = s->o.futex,
		.quota = s->o.quota,
		.signals = s->o.signals,
		.disks = s->o.disks,
		.network = s->o.network,
		.reclaim = s->o.reclaim,
		.follow = s->o.follow,
		.notice_maps = s->o.futex && s->o.late_attach,
		.track_all = records_all(s),
		.no_children = s->o.no_children,
		.single = s->o.single,
		.plain = s->o.plain,
		.metrics_ns = s->o.metrics_ns,
		.verifier = s->o.verifier,
	};
	const struct attach_facts *facts;
	int r;

	raise_files_limit();
	budget_to_attach(&s->o.budget, &o);
	o.clock = s->fs.clock;
	r = attach_open(&s->attach, &o, why);
	if (r < 0)
		return r;
	facts = attach_facts(s->attach);
	note_absent(s);
	await_detaching(s);
	/* Now, as there is no secret yet, and what it need not have is not there either. */
	r = inspector_new(&s->inspector, &s->fs, s->attach, why);
	if (r == 0)
		r = inspector_start(s->inspector, why);
	if (r == 0)
		r = ring_open(&s->life, facts->life_fd, LIFE_RING_BYTES, why);
	if (r == 0)
		r = ring_open(&s->bulk, facts->bulk_fd, s->o.ring_bytes, why);
	if (r == 0)
		r = counters_open(&s->counters, facts->tallies_fd, why);
	/* Edge-triggered: it matters when the kernel wakes us, not that there is something in the ring. */
	if (r == 0)
		r = watch(s, facts->life_fd, EPOLLIN | EPOLLET, why);
	if (r == 0)
		r = watch(s, facts->bulk_fd, EPOLLIN | EPOLLET, why);
	if (r == 0)
		r = watch(s, inspector_fd(s->inspector), EPOLLIN | EPOLLET, why);
	if (r == 0 && s->command.pid)
		r = watch(s, s->command.pidfd, EPOLLIN, why);
	for (size_t i = 0; i < s->waits.npidfds && r == 0; i++)
		r = watch(s, s->waits.pidfds[i], EPOLLIN, why);
	return r;
}

/* What the GPUs' driver says of them. Before there is a secret in memory, and while the log may be opened. */
static void open_gpus(struct recording *s)
{
	bool possible = health_possible();

	if (s->o.nvml ? strcmp(s->o.nvml, "no") != 0 : possible)
		health_start(&s->host.health, s->o.nvml);
	else
		strcpy(s->host.health.problem, s->o.nvml ? "not asked" : "no NVIDIA driver here");
	if (possible)
		s->host.kmsg_fd = kmsg_open(KMSG_PATH);
	if (possible && s->host.kmsg_fd < 0)
		recording_note(s, 1, "Xid errors are not recorded: %s: %s", KMSG_PATH, strerror(errno));
}

static int watch_gpus(const struct recording *s, struct fault *why)
{
	int r = s->host.health.fd < 0 ? 0 : watch(s, s->host.health.fd, EPOLLIN, why);

	return r < 0 || s->host.kmsg_fd < 0 ? r : watch(s, s->host.kmsg_fd, EPOLLIN, why);
}

static int track_found(void *self, uint32_t pid, int found, struct fault *why)
{
	struct recording *s = self;

	return found == INSPECT_DONE ? attach_track(s->attach, pid, 0, 0, why) : 0;
}

/* Whom to record, and the libraries that they have mapped now. */
static int find_targets(struct recording *s, struct fault *why)
{
	int r = symbolizer_new(&s->symbolizer, &s->fs, s->inspector, why);

	if (r == 0)
		r = stacks_new(&s->stacks, s->symbolizer, why);
	if (r == 0)
		r = kernels_new(&s->kernels, s->symbolizer, s->stacks, why);
	if (r == 0)
		r = discover_new(&s->discover, &s->fs, s->inspector, s->symbolizer, s->attach, why);
	for (size_t i = 0; i < s->o.nlibs && r == 0; i++)
		r = discover_add_file(s->discover, s->o.libs[i], why);
	if (r == 0 && s->o.npids)
		r = recording_track_named(s, why);
	if (r == 0 && s->command.pid)
		r = attach_track(s->attach, (uint32_t)s->command.pid, 0, TRACK_OURS, why);
	if (r == 0 && records_all(s))
		r = discover_all(s->discover, track_found, s, why);
	if (r == 0)
		recording_note_refused(s);
	return r;
}

static int give_up_rights(const struct recording *s, struct fault *why)
{
	const struct rights rights = {
		.output = s->capture.path,
		.key = s->o.rotate_ns ? s->rotation.key_path : NULL,
		.late = s->o.late_attach,
		.single = !attach_facts(s->attach)->multi,
		.hidden = procfs_hides(&s->fs),
		.signals = s->command.pid != 0,
		.group_fds = {limits_root(s->host.quotas), limits_root(s->host.memory)},
	};

	if (!s->o.late_attach)
		inspector_give_up_rights(s->inspector);
	return rights_give_up(&rights, why);
}

/*
 * Once more, now that it records: what was mapped since find_targets() looked nobody has reported, and what it saw may
 * be gone. Of those that are here already all is read now, while we may.
 */
static int find_again(struct recording *s, struct fault *why)
{
	int r;

	discover_anew(s->discover);
	r = s->o.npids ? recording_track_named(s, why) : 0;
	if (r == 0)
		r = recording_look_again(s, why);
	if (r == 0 && (s->o.npids || !s->command.pid)) /* COMMAND has not begun */
		recording_emit_states(s, MOMENT_BEGIN);
	attach_prepare_states(s->attach);
	if (r == 0)
		r = recording_drain(s, why);
	discover_anew_end(s->discover);
	return r < 0 ? r : capture_emit_libraries(s, why);
}

/* The process that started us may have left open what leads elsewhere, a socket for instance. It is the command's, not
 * ours. */
static int close_inherited(const struct recording *s, struct fault *why)
{
	int kept[] = {s->waits.signal_fd, s->waits.epoll_fd,   s->command.pidfd,
		      s->command.go_fd,   s->command.error_fd, s->o.passphrase_fd};

	return confine_inherited(kept, sizeof(kept) / sizeof(kept[0]), why);
}

#define MOUNTS "/proc/self/mountinfo"

static int recording_start(struct recording *s, struct fault *why)
{
	struct clock_anchor start;
	struct identity id;
	sigset_t before;
	int r;

	memset(&id, 0, sizeof(id));
	r = rotate_prepare(s, why);
	if (r == 0)
		r = check_output(s, why);
	if (r == 0 && s->o.command)
		r = command_check(s->o.command[0], why);
	if (r == 0)
		r = check_namespace(why);
	if (r == 0)
		r = open_signals(s, &before, why);
	/* The command is forked off while there is no secret in memory, nor anything open, that it could inherit. */
	if (r == 0 && s->o.command)
		r = command_prepare(&s->command, s->o.command, &before, why);
	if (r == 0 && s->o.close_inherited)
		r = close_inherited(s, why);
	if (r == 0)
		r = procfs_open(&s->fs, PROCFS_ROOT, why);
	s->connections.fs = &s->fs;
	s->fs_open = r == 0;
	if (r == 0)
		s->others_hidden = hides_others(s);
	if (r == 0)
		r = hold_pids(s, why);
	if (r == 0)
		open_gpus(s);
	signal(SIGXFSZ, SIG_IGN); /* a file size limit is reported as a full disk is, not by our death; */
	signal(SIGPIPE, SIG_IGN); /* nor do we end with the process that inspects files */
	if (r == 0 && prctl(PR_SET_DUMPABLE, 0) < 0)
		r = fault_errno(why, "cannot forbid core dumps");
	if (r == 0)
		r = open_kernel_side(s, why);
	if (r == 0)
		r = watch_gpus(s, why);
	if (r == 0) {
		inspector_wait_until(s->inspector, INSPECT_ALWAYS);
		r = find_targets(s, why);
		inspector_wait_until(s->inspector, 0);
	}
	if (r == 0)
		r = cpus_new(&s->host.cpus, "/proc/stat", why);
	if (r == 0 && s->o.quota)
		r = limits_new(&s->host.quotas, &cpu_limit, &s->fs, MOUNTS, why);
	if (r == 0 && s->o.reclaim)
		r = limits_new(&s->host.memory, &memory_limit, &s->fs, MOUNTS, why);
	if (r == 0)
		r = capture_identity(s, &id, why);
	/* Those who wait for the capture to be there may count on being recorded from then on. */
	if (r == 0) {
		anchor_read(s, &start);
		attach_start(s->attach);
		r = capture_open(s, &id, &start, why);
	}
	identity_wipe(&id);
	if (r == 0)
		r = find_again(s, why);
	if (r == 0)
		r = give_up_rights(s, why);
	if (r == 0)
		r = rotate_check(s, why);
	return r == 0 && s->command.pid ? command_release(&s->command, s->o.command[0], why) : r;
}

int recording_open(struct recording **out, const struct recording_options *o, struct fault *why)
{
	struct recording *s = calloc(1, sizeof(*s));
	uint64_t begin_ns;
	int r;

	if (!s)
		return fault_no_memory(why);
	s->o = *o;
	s->waits.epoll_fd = s->waits.signal_fd = s->host.kmsg_fd = s->host.health.fd = -1;
	r = recording_start(s, why);
	if (r < 0) {
		(void)recording_close(s);
		return r;
	}
	begin_ns = writer_begin_ns(s->writer);
	s->due.seal_ns = begin_ns + EPOCH_NS;
	status_begin(&s->status, begin_ns);
	s->rotation.next_ns = o->rotate_ns ? begin_ns + o->rotate_ns : 0;
	s->due.end_ns = o->duration_ns ? begin_ns + o->duration_ns : 0;
	s->due.scan_ns = o->late_attach && !attach_facts(s->attach)->notice_maps ? s->due.seal_ns : 0;
	*out = s;
	return 0;
}

uint64_t recording_close(struct recording *s)
{
	uint64_t left_ns;

	if (!s)
		return 0;
	/* A capture in which nothing was ever sealed says nothing, and is ours and new. */
	if (s->capture.file_made && !s->capture.nepochs && !output_watch_problem(&s->capture.output, s->capture.path) &&
	    unlink(s->capture.path) < 0)
		recording_note(s, 0, "%s holds nothing and could not be removed: %s", s->capture.path, strerror(errno));
	writer_close(s->writer);
	rotate_clear(s);
	cpus_free(s->host.cpus);
	limits_free(s->host.quotas);
	limits_free(s->host.memory);
	health_stop(&s->host.health);
	if (s->host.kmsg_fd >= 0)
		close(s->host.kmsg_fd);
	command_close(&s->command);
	output_watch_release(&s->capture.output);
	ring_close(&s->life);
	ring_close(&s->bulk);
	counters_close(&s->counters);
	discover_free(s->discover);
	kernels_free(s->kernels);
	stacks_free(s->stacks);
	symbolizer_free(s->symbolizer);
	inspector_free(s->inspector);
	deferred_clear(&s->processes.deferred);
	free(s->processes.scanned.pids);
	left_ns = attach_close(s->attach);
	if (s->fs_open)
		procfs_close(&s->fs);
	for (size_t i = 0; i < s->waits.npidfds; i++)
		close(s->waits.pidfds[i]);
	if (s->waits.epoll_fd >= 0)
		close(s->waits.epoll_fd);
	if (s->waits.signal_fd >= 0)
		close(s->waits.signal_fd);
	free(s->waits.pidfds);
	free(s->processes.tracked.pids);
	free(s->processes.survivors.pids);
	free(s->processes.stacks.list);
	free(s->instances.list);
	free(s->processes.gone.pids);
	free(s->processes.long_gone.pids);
	free(s);
	return left_ns;
}
