/* SPDX-License-Identifier: Apache-2.0 */
/* The recording while it runs: drain, seal, and at the end END. */
#include "record/recording_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "record/host/hostfacts.h"

#define QUIET_SEALS 10 /* in which nothing was recorded: after so many, skipped runs are asked for nevertheless */

static uint64_t own_cpu_ns(struct rusage *usage)
{
	if (getrusage(RUSAGE_SELF, usage) < 0)
		return 0;
	return (uint64_t)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * 1000000000u +
	       (uint64_t)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) * 1000u;
}

static void self_read(const struct recording *s, struct self_stats *self)
{
	struct rusage usage;
	char text[64] = {0};
	unsigned long pages = 0;
	int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);

	memset(self, 0, sizeof(*self));
	self->cpu_ns = own_cpu_ns(&usage);
	if (fd >= 0) {
		if (read(fd, text, sizeof(text) - 1) > 0 && sscanf(text, "%*u %lu", &pages) == 1)
			self->rss_bytes = (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
		close(fd);
	}
	self->ring_high_bytes = s->bulk.high_bytes;
	self->written_bytes = writer_written_bytes(s->writer);
}

/* Both rings up to these positions. 1: done; 0: a record is still being written. Calls first: their process may end. */
static int drain(struct recording *s, uint64_t bulk_until, uint64_t life_until, struct fault *why)
{
	int bulk = ring_drain(&s->bulk, bulk_until, rotate_take, s, why);
	int life = bulk < 0 ? bulk : ring_drain(&s->life, life_until, rotate_take, s, why);

	return life < 0 ? life : bulk && life;
}

static int drain_now(struct recording *s, struct fault *why)
{
	uint64_t bulk, life;

	attach_rearm(s->attach);
	bulk = ring_head(&s->bulk);
	life = ring_head(&s->life);
	if (bulk + life != s->due.heads) {
		s->due.heads = bulk + life;
		s->due.moved_ns = kernel_boot_ns(&s->fs.clock);
	}
	return drain(s, bulk, life, why);
}

/* Ended processes, a whole epoch later: their last switches are read, so that nobody asks for them any more. */
static void forget_gone(struct recording *s)
{
	struct pid_set empty = s->processes.long_gone;

	for (size_t i = 0; i < s->processes.long_gone.n; i++) {
		symbolizer_forget(s->symbolizer, s->processes.long_gone.pids[i]);
		attach_untrack(s->attach, s->processes.long_gone.pids[i]);
	}
	empty.n = 0;
	s->processes.long_gone = s->processes.gone;
	s->processes.gone = empty;
}

static uint64_t written_bytes(const struct recording *s)
{
	return s->rotation.written_bytes + writer_written_bytes(s->writer);
}

static void show_status(struct recording *s, const struct counter *counters, size_t n)
{
	uint64_t now_ns = kernel_boot_ns(&s->fs.clock);
	char line[STATUS_BYTES];

	if (!s->o.status)
		return;
	status_look(&s->status, now_ns, counters, n);
	status_line(line, &s->status, now_ns, written_bytes(s), s->o.budget.max_bytes, s->due.end_ns);
	s->o.status(line);
}

/* Runs that the kernel skipped. While nothing happens, asking each time would be a tenth of what recording costs. */
static void count_skipped(struct recording *s)
{
	if (s->due.counted == s->due.heads && !s->rotation.cut_ns && ++s->due.uncounted < QUIET_SEALS)
		return;
	s->due.counted = s->due.heads;
	s->due.uncounted = 0;
	attach_count_skipped(s->attach, &s->counters);
}

/* What the host has, and lets recorded processes have, where that has changed. */
static int emit_host(struct recording *s, uint64_t at_ns, bool all, struct fault *why)
{
	int r = cpus_emit(s->host.cpus, s->writer, at_ns, why);

	if (r == 0)
		r = limits_emit(s->host.quotas, all, s->writer, at_ns, why);
	return r < 0 ? r : limits_emit(s->host.memory, all, s->writer, at_ns, why);
}

static int seal(struct recording *s, uint64_t end_ns, bool at_end, struct fault *why)
{
	const struct counter *counters;
	struct clock_anchor anchor;
	struct self_stats self;
	size_t n;
	int r;

	if (!at_end) /* else finish() did, and reported how many */
		count_skipped(s);
	n = rotate_counters(s, at_end, &counters);
	r = end_ns > writer_begin_ns(s->writer) ? emit_host(s, end_ns - 1, at_end || s->rotation.cut_ns, why) : 0;
	if (r == 0 && s->rotation.cut_ns && !at_end)
		r = stacks_go_on(s->stacks, s->writer, end_ns - 1, true, why);
	if (r < 0)
		return r;
	anchor_read(s, &anchor);
	self_read(s, &self);
	r = writer_seal(s->writer, end_ns, &anchor, &self, counters, n, why);
	if (r < 0)
		return r;
	s->capture.nepochs++;
	(void)output_watch_problem(&s->capture.output, s->capture.path);
	s->translator.begin_ns = end_ns;
	forget_gone(s);
	show_status(s, counters, n);
	if (!s->rotation.cut_ns || at_end)
		return 0;
	r = rotate_join(s, counters, n, why);
	if (r >= 0)
		recording_count_again(s);
	return r;
}

static enum budget_state size_state(const struct recording *s)
{
	return budget_state(&s->o.budget, written_bytes(s), writer_staged_bytes(s->writer));
}

/*
 * End an epoch when it is time. What is reserved in the rings after the time was taken is younger than it (bpf/ring.h),
 * so the epoch is complete once they are read up to where they were filled then.
 */
static int seal_when_due(struct recording *s, struct fault *why)
{
	uint64_t now_ns = kernel_boot_ns(&s->fs.clock), ncaptures = s->rotation.ncaptures;
	int r;

	if (!s->due.cut_ns) {
		if (now_ns < s->due.seal_ns && writer_staged_bytes(s->writer) < EPOCH_BYTES &&
		    size_state(s) == BUDGET_FINE)
			return 0;
		/* The kernel's clock may be a hair before ours. */
		s->due.cut_ns = now_ns > s->due.latest_ns ? now_ns : s->due.latest_ns + 1;
		if (s->rotation.next_ns && now_ns >= s->rotation.next_ns)
			s->rotation.cut_ns = s->due.cut_ns;
		s->due.cut_bulk = ring_head(&s->bulk);
		s->due.cut_life = ring_head(&s->life);
	}
	r = drain(s, s->due.cut_bulk, s->due.cut_life, why);
	if (r <= 0)
		return r;
	r = seal(s, s->due.cut_ns, false, why);
	s->due.seal_ns = s->due.cut_ns + EPOCH_NS;
	s->due.cut_ns = 0;
	/* Without rights it can be done once: at the end. */
	if (s->rotation.ncaptures > ncaptures && s->o.late_attach)
		recording_emit_states(s, MOMENT_BEGIN);
	return r;
}

/* Many processes take their time, in which the rings fill. */
static int track_late(void *self, uint32_t pid, int found, struct fault *why)
{
	struct recording *s = self;
	int r = found == INSPECT_DONE && !pid_set_has(&s->processes.tracked, pid)
			? attach_track(s->attach, pid, 0, 0, why)
			: 0;

	if (found == INSPECT_LATER)
		recording_defer_whole(s, pid);
	return r < 0 ? r : drain_now(s, why);
}

int recording_look_again(struct recording *s, struct fault *why)
{
	bool all = records_all(s);
	int r = all ? discover_all(s->discover, track_late, s, why) : 0;

	for (size_t i = 0; !all && i < s->processes.tracked.n && r >= 0; i++)
		if ((r = discover_process(s->discover, s->processes.tracked.pids[i], why)) == INSPECT_LATER)
			recording_defer_whole(s, s->processes.tracked.pids[i]);
	recording_note_refused(s);
	return r < 0 ? r : 0;
}

/* Without the system call that reports mappings, look for libraries every now and then. */
static int rescan(struct recording *s, struct fault *why)
{
	uint64_t now_ns = kernel_boot_ns(&s->fs.clock);
	int r;

	if (!s->due.scan_ns || now_ns < s->due.scan_ns)
		return 0;
	s->due.scan_ns = now_ns + RESCAN_NS;
	r = recording_look_again(s, why);
	return r < 0 ? r : recording_emit_libraries(s, why);
}

/* The reason why it is over; 0: it is not. */
static uint32_t take_signal(struct recording *s)
{
	struct signalfd_siginfo info;

	if (read(s->waits.signal_fd, &info, sizeof(info)) != sizeof(info))
		return 0;
	if (info.ssi_signo == SIGINT)
		return REASON_interrupted; /* a terminal has sent it to the command as well */
	command_poll(&s->command);
	if (s->command.pid && !s->command.ended && kill(s->command.pid, (int)info.ssi_signo) < 0)
		recording_note(s, 0, "cannot pass signal %u on to the command: %s", info.ssi_signo, strerror(errno));
	return REASON_terminated;
}

/* Those that were named have ended: with wait_all their children may not have. */
static uint32_t named_ended(struct recording *s, uint32_t reason)
{
	s->waits.named_ended = true;
	return s->o.wait_all ? 0 : reason;
}

static uint32_t take_event(struct recording *s, int fd)
{
	if (fd == s->waits.signal_fd)
		return take_signal(s);
	if (s->command.pid && fd == s->command.pidfd) {
		command_poll(&s->command);
		if (!s->command.ended)
			return 0;
		epoll_ctl(s->waits.epoll_fd, EPOLL_CTL_DEL, fd, NULL);
		return named_ended(s, REASON_command);
	}
	for (size_t i = 0; i < s->waits.npidfds; i++) {
		if (s->waits.pidfds[i] != fd)
			continue;
		epoll_ctl(s->waits.epoll_fd, EPOLL_CTL_DEL, fd, NULL);
		s->waits.nalive--;
		return !s->waits.nalive && !s->command.pid ? named_ended(s, REASON_processes) : 0;
	}
	return 0; /* a ring: all are drained anyway */
}

static int wait_ms(const struct recording *s)
{
	uint64_t now_ns = kernel_boot_ns(&s->fs.clock), until_ns = s->due.seal_ns;
	unsigned most_ms = now_ns - s->due.moved_ns > QUIET_NS ? QUIET_WAIT_MS : WAIT_MS;

	if (s->due.cut_ns)
		return 1;
	if (s->processes.deferred.n || s->processes.stacks.n)
		most_ms = DEFERRED_WAIT_MS;
	if (s->due.end_ns && s->due.end_ns < until_ns)
		until_ns = s->due.end_ns;
	if (until_ns <= now_ns)
		return 0;
	return until_ns - now_ns >= most_ms * 1000000ull ? (int)most_ms : (int)((until_ns - now_ns) / 1000000 + 1);
}

/* What is no record of the kernel side: health of the GPUs, errors of theirs in the log. */
static int take_emitted(struct recording *s, int fd, struct fault *why)
{
	uint64_t now_ns = kernel_boot_ns(&s->fs.clock);

	if (fd == s->host.health.fd)
		return health_take(&s->host.health, &s->fs.clock, s->writer, s->translator.begin_ns, why);
	return fd == s->host.kmsg_fd ? kmsg_take(fd, s->writer, now_ns, why) : 0;
}

/* Until there is a reason to end. */
static int record(struct recording *s, uint32_t *reason, struct fault *why)
{
	struct epoll_event events[16];
	int r = 0;

	for (*reason = 0; !*reason && r >= 0;) {
		int n = epoll_wait(s->waits.epoll_fd, events, 16, wait_ms(s));

		if (n < 0 && errno != EINTR)
			return fault_errno(why, "cannot wait for events");
		for (int i = 0; i < n && !*reason && r >= 0; i++) {
			*reason = take_event(s, events[i].data.fd);
			r = take_emitted(s, events[i].data.fd, why);
		}
		if (r < 0)
			break;
		if (!*reason && s->due.end_ns && kernel_boot_ns(&s->fs.clock) >= s->due.end_ns)
			*reason = REASON_duration;
		if (*reason)
			break;
		r = drain_now(s, why);
		if (r > 0 && s->o.wait_all && s->waits.named_ended && recording_all_ended(s))
			*reason = REASON_processes;
		if (r >= 0)
			r = recording_go_on(s, false, why);
		if (r >= 0)
			r = rescan(s, why);
		if (r >= 0)
			r = seal_when_due(s, why);
		if (r >= 0 && size_state(s) == BUDGET_SPENT)
			*reason = REASON_size;
		if (s->capture.output.problem[0])
			*reason = REASON_output;
	}
	return r < 0 ? r : 0;
}

int recording_drain(struct recording *s, struct fault *why)
{
	int r = 0;

	for (int i = 0; i < 1000 && r == 0; i++) {
		r = drain_now(s, why);
		if (r == 0)
			usleep(1000);
	}
	return r;
}

/* A record that is not finished by now is of a call that has not returned to its caller either: it is in flight. */
static int drain_last(struct recording *s, struct fault *why)
{
	int r = recording_drain(s, why);

	if (r == 0)
		r = ring_drain_finished(&s->bulk, ring_head(&s->bulk), rotate_take, s, why);
	if (r == 0)
		r = ring_drain_finished(&s->life, ring_head(&s->life), rotate_take, s, why);
	return r < 0 ? r : 0;
}

/* A command that a signal has reached as well is given a moment to end, so that its end is known. */
static void await_command(struct recording *s, uint32_t reason)
{
	struct pollfd p = {.fd = s->command.pidfd, .events = POLLIN};

	if (s->command.pid && !s->command.ended && (reason == REASON_interrupted || reason == REASON_terminated))
		(void)poll(&p, 1, GRACE_MS);
	command_poll(&s->command);
}

static int finish(struct recording *s, uint32_t reason, struct recording_result *result, struct fault *why)
{
	const struct counter *counters;
	struct clock_anchor anchor;
	int r = rotate_cancel(s, translate, &s->translator, why);
	size_t n;

	if (r == 0)
		r = drain_last(s, why);
	if (r == 0) {
		recording_emit_states(s, MOMENT_END);
		r = drain_last(s, why);
	}
	if (r == 0)
		r = recording_go_on(s, true, why);
	recording_list_survivors(s, result);
	result->nfollowed = s->processes.nfollowed;
	if (r == 0)
		r = recording_emit_libraries(s, why);
	attach_count_skipped(s->attach, &s->counters);
	result->skipped_runs = attach_skipped(s->attach, result->skipped, sizeof(result->skipped));
	if (r == 0 && result->skipped_runs)
		r = fact_emit(s->writer, kernel_boot_ns(&s->fs.clock), "probe_runs_skipped", result->skipped, why);
	if (r == 0)
		r = recording_emit_missing(s, why);
	result->nmissing = recording_list_missing(s, result->missing);
	result->nlibraries = discover_counts(s->discover)->libraries;
	if (r == 0)
		r = seal(s, kernel_boot_ns(&s->fs.clock), true, why);
	await_command(s, reason);
	n = rotate_counters(s, true, &counters);
	anchor_read(s, &anchor);
	s->capture.end_unknown = r == 0;
	if (r == 0)
		r = writer_end(s->writer, reason, s->command.ended ? &s->command.status : NULL, &anchor, counters, n,
			       why);
	if (r < 0)
		return r;
	s->capture.end_unknown = false;
	n = counters_collect(&s->counters, true, &counters);
	result->counters = calloc(n + 1, sizeof(*counters));
	if (!result->counters)
		return fault_no_memory(why);
	memcpy(result->counters, counters, n * sizeof(*counters));
	result->ncounters = n;
	return 0;
}

/* Whatever happened, nobody stays stopped. */
static int release_held(void *self, const void *record, uint32_t n, struct fault *why)
{
	const struct ring_mapped *m = record;

	if (n == sizeof(*m) && m->head.type == RING_MAPPED)
		(void)recording_notice(self, &m->head, why);
	return 0;
}

int recording_run(struct recording *s, struct recording_result *result, struct fault *why)
{
	struct rusage usage = {0};
	uint32_t reason = 0;
	int r;

	memset(result, 0, sizeof(*result));
	r = record(s, &reason, why);
	attach_stop(s->attach);
	s->ending = true;
	if (r == 0)
		r = finish(s, reason, result, why);
	if (r < 0) {
		(void)rotate_cancel(s, release_held, s, NULL);
		(void)ring_drain_finished(&s->life, ring_head(&s->life), release_held, s, NULL);
	}
	command_poll(&s->command);
	result->reason = reason;
	result->command_ended = s->command.ended;
	result->command_status = s->command.status;
	result->command_pid = s->command.pid && !s->command.ended ? s->command.pid : 0;
	snprintf(result->path, sizeof(result->path), "%s", s->capture.path);
	(void)snprintf(result->output, sizeof(result->output), "%s", s->capture.output.problem);
	result->ncaptures = s->rotation.ncaptures + 1;
	result->written_bytes = written_bytes(s);
	result->nepochs = s->capture.nepochs;
	result->end_unknown = s->capture.end_unknown;
	result->nrows = s->rotation.nrows + writer_nrows(s->writer);
	result->duration_ns = kernel_boot_ns(&s->fs.clock) - s->status.begin_ns;
	result->cpu_ns = own_cpu_ns(&usage);
	result->peak_bytes = (uint64_t)usage.ru_maxrss * 1024;
	/* The rings are mapped twice, one view behind the other, and counted so; they take their memory once. */
	if (result->peak_bytes > s->life.bytes + s->bulk.bytes)
		result->peak_bytes -= s->life.bytes + s->bulk.bytes;
	result->ring_high_bytes = s->bulk.high_bytes;
	snprintf(result->key_id, sizeof(result->key_id), "%s", s->capture.key_id);
	return r;
}
