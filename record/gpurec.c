/* SPDX-License-Identifier: Apache-2.0 */
/* gpurec: record what GPU programs do on this host into a sealed capture. */
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <malloc.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "format/base/escape.h"
#include "format/base/units.h"
#include "keys/completeness.h"
#include "keys/plain_text.h"
#include "keys/tool/tool.h"
#include "record/check/check.h"
#include "record/probe/counters.h"
#include "record/recording.h"
#include "record/command.h"

#define PIDS_MAX 1024
#define STATUS_CANNOT_RUN 126
#define STATUS_NOT_FOUND 127
#define LIBS_MAX 256
#define FD_MAX 1023
#define ROTATE_NS_MIN 1000000000ull
#define METRICS_NS_MIN 1000000ull
#define METRICS_NS_MAX 3600000000000ull

enum option {
	OPT_OUTPUT = 1,
	OPT_DURATION,
	OPT_ROTATE,
	OPT_MAX_SIZE,
	OPT_MAX_RATE,
	OPT_SAMPLE,
	OPT_METRICS,
	OPT_PID,
	OPT_LIB,
	OPT_KEY,
	OPT_PASSPHRASE_FD,
	OPT_CHALLENGE,
	OPT_FORCE,
	OPT_RING,
	OPT_NO_FUTEX,
	OPT_NO_QUOTA,
	OPT_NO_SIGNALS,
	OPT_NO_COMMAND_LINES,
	OPT_AUTHORITY,
	OPT_NO_LATE,
	OPT_UPROBES,
	OPT_NVML,
	OPT_CHECK,
	OPT_JSON,
};

static const struct tool_option option_table[] = {
	{"output", 'o', "FILE", "the capture to make", OPT_OUTPUT},
	{"duration", 'd', "TIME", "stop after TIME: 90s, 5m, 1h; a bare number is seconds", OPT_DURATION},
	{"rotate", 0, "TIME", "begin another capture after each TIME, nothing lost between: FILE-00001.cap, ...",
	 OPT_ROTATE},
	{"max-size", 0, "SIZE", "end before the capture (with --rotate: all together) is larger: 10G", OPT_MAX_SIZE},
	{"max-rate", 0, "N", "record at most N events a second; the others are counted", OPT_MAX_RATE},
	{"sample", 0, "KIND=N", "record one in N of this kind, launch for example; the others are counted (repeatable)",
	 OPT_SAMPLE},
	{"metrics", 0, "TIME", "sample how busy each CPU is, once in TIME, from 1ms to 1h", OPT_METRICS},
	{"pid", 'p', "PID,...", "record these processes and their children (repeatable)", OPT_PID},
	{"lib", 0, "PATH", "probe this library or program too (repeatable)", OPT_LIB},
	{"key", 0, "FILE", "sign with this secret key instead of the host's", OPT_KEY},
	{"passphrase-fd", 0, "N", "read the key's passphrase from descriptor N, not from the terminal",
	 OPT_PASSPHRASE_FD},
	{"challenge", 0, "HEX", "put these bytes into the signed header: a verifier's, who then knows it is no older",
	 OPT_CHALLENGE},
	{"authority", 0, "TEXT", "seal who allowed this recording, and why", OPT_AUTHORITY},
	{"force", 0, NULL, "replace FILE if it is there", OPT_FORCE},
	{"ring", 0, "SIZE", "kernel buffer, a power of two: 16M", OPT_RING},
	{"no-futex", 0, NULL, "do not trace futexes; libraries that are loaded later are detected within a second",
	 OPT_NO_FUTEX},
	{"no-quota", 0, NULL, "do not record CPU quotas, nor when one keeps a thread from running", OPT_NO_QUOTA},
	{"no-signals", 0, NULL, "do not record who stops, continues or ends processes by a signal", OPT_NO_SIGNALS},
	{"no-command-lines", 0, NULL, "do not record the arguments of processes, which may hold secrets",
	 OPT_NO_COMMAND_LINES},
	{"no-late-attach", 0, NULL, "give up every capability; libraries loaded later are not probed", OPT_NO_LATE},
	{"uprobes", 0, "HOW", "how to attach: multi (the default, fastest), plain, or single (kernels before 6.6)",
	 OPT_UPROBES},
	{"nvml", 0, "PATH",
	 "ask this library for the GPUs' health; no: none (libnvidia-ml.so.1, where there is a driver)", OPT_NVML},
	{"check", 0, NULL, "report what this host allows, and exit", OPT_CHECK},
	{"json", 0, NULL, "with --check: as one JSON object", OPT_JSON},
	{0},
};

static const struct tool_options options = {
	.synopsis = "-o FILE [-d 5m] [-p PID]... [--lib PATH]... [--key FILE] [-- COMMAND ARG...]\n--check [--json] "
		    "[OPTION]...\n",
	.summary = "Records what GPU programs do on this host into a sealed capture.",
	.table = option_table,
	.more = "Without -p and COMMAND every process that uses CUDA is recorded. Ctrl-C seals and ends.\n"
		"The exit status is COMMAND's; 3: recording failed; 2: wrong usage.\n",
};

struct settings {
	struct recording_options o;
	uint32_t pids[PIDS_MAX];
	const char *libs[LIBS_MAX];
	bool check, json;
};

/* A status line stands on the terminal: the cursor is behind it. */
static bool status_shown;

static void clear_status(void)
{
	if (status_shown)
		fputs("\r\033[K", stderr);
	status_shown = false;
}

/* Never longer than the terminal is wide, or it would not be one line that is written over. */
static void show_status(const char *text)
{
	struct winsize size;
	int room = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col - 1 : 79;

	clear_status();
	fprintf(stderr, "%.*s", room, text);
	status_shown = true;
}

/* On a terminal that can; not over what COMMAND has to say there. */
static bool may_show_status(const struct settings *s)
{
	const char *term = getenv("TERM");

	return !tool_quiet && !s->o.command && isatty(STDERR_FILENO) && term && strcmp(term, "dumb") != 0;
}

static void note(int level, const char *text)
{
	if (level <= tool_verbose)
		clear_status();
	if (level <= tool_verbose)
		tool_note("%s", text);
}

/* What libbpf has to say, the verifier's log among it: with -v -v, and in more detail with a third. */
__attribute__((format(printf, 2, 0))) static int kernel_says(enum libbpf_print_level level, const char *fmt,
							     va_list args)
{
	if (tool_verbose < (level == LIBBPF_DEBUG ? 3 : 2))
		return 0;
	clear_status();
	return vfprintf(stderr, fmt, args);
}

static void verifier_says(const char *program, const char *log)
{
	if (tool_verbose < 2)
		return;
	clear_status();
	fprintf(stderr, "program %s: -- BEGIN PROG LOAD LOG --\n%s-- END PROG LOAD LOG --\n", program, log);
}

/* "1200", "1200,1201". */
static int take_pids(struct settings *s, const char *value)
{
	struct fault why;
	char one[24];
	uint64_t pid;

	for (const char *p = value;; p++) {
		size_t n = strcspn(p, ",");

		snprintf(one, sizeof(one), "%.*s", (int)(n < sizeof(one) ? n : sizeof(one) - 1), p);
		if (number_parse(one, 1, 4194304, &pid, &why) < 0)
			return tool_usage("-p %s: %s", value, why.text);
		if (s->o.npids == PIDS_MAX)
			return tool_usage("more than %d processes", PIDS_MAX);
		s->pids[s->o.npids++] = (uint32_t)pid;
		p += n;
		if (!*p)
			return 0;
	}
}

static int take_passphrase_fd(struct settings *s, const char *value)
{
	struct fault why;
	uint64_t fd;

	if (number_parse(value, 0, FD_MAX, &fd, &why) < 0)
		return tool_usage("--passphrase-fd %s: %s", value, why.text);
	s->o.passphrase_fd = (int)fd;
	/* COMMAND must not find it; of the first three, which it does inherit, see read_arguments(). */
	if (fd > STDERR_FILENO && fcntl(s->o.passphrase_fd, F_SETFD, FD_CLOEXEC) < 0)
		return tool_usage("--passphrase-fd %s: there is no such descriptor", value);
	return 0;
}

static int take_budget(struct settings *s, int id, const char *value)
{
	struct budget *b = &s->o.budget;
	struct fault why;
	uint64_t n;

	if (id == OPT_SAMPLE)
		return budget_take_sample(b, value, &why) < 0 ? tool_usage("--sample %s", why.text) : 0;
	if (id == OPT_MAX_RATE) {
		if (number_parse(value, 1, UINT32_MAX, &n, &why) < 0)
			return tool_usage("--max-rate %s: %s", value, why.text);
		b->max_rate = (uint32_t)n;
		return 0;
	}
	if (size_parse(value, &b->max_bytes, &why) < 0)
		return tool_usage("--max-size %s: %s", value, why.text);
	return b->max_bytes >= BUDGET_BYTES_MIN ? 0 : tool_usage("--max-size %s: 1M is the least", value);
}

static int take_metrics(struct settings *s, const char *value)
{
	struct fault why;

	if (duration_parse(value, &s->o.metrics_ns, &why) < 0)
		return tool_usage("--metrics %s: %s", value, why.text);
	return s->o.metrics_ns >= METRICS_NS_MIN && s->o.metrics_ns <= METRICS_NS_MAX
		       ? 0
		       : tool_usage("--metrics %s: from 1ms to 1h", value);
}

/* Those without a value. */
static void take_flag(struct settings *s, int id)
{
	switch (id) {
	case OPT_JSON:
		s->json = true;
		break;
	case OPT_FORCE:
		s->o.force = true;
		break;
	case OPT_NO_FUTEX:
		s->o.futex = false;
		break;
	case OPT_NO_SIGNALS:
		s->o.signals = false;
		break;
	case OPT_NO_COMMAND_LINES:
		s->o.command_lines = false;
		break;
	case OPT_NO_QUOTA:
		s->o.quota = false;
		break;
	case OPT_NO_LATE:
		s->o.late_attach = false;
		break;
	default:
		s->check = true;
	}
}

/* An even number of hex digits. */
static int take_challenge(struct settings *s, const char *value)
{
	const char *end = value + strlen(value);

	if (sodium_hex2bin(s->o.challenge, sizeof(s->o.challenge), value, strlen(value), NULL, &s->o.challenge_bytes,
			   &end) ||
	    *end || s->o.challenge_bytes == 0)
		return tool_usage("--challenge: '%s' is not 2 to %d hex digits, two for a byte", value,
				  2 * CHALLENGE_BYTES_MAX);
	return 0;
}

/* Printable text; a report prints it on one line. */
static int take_authority(struct settings *s, const char *value)
{
	if (!plain_text_valid(value, strlen(value), AUTHORITY_BYTES_MAX))
		return tool_usage(
			"--authority: 1 to %d bytes of printable text without quotation mark, backslash or outer blanks",
			AUTHORITY_BYTES_MAX);
	s->o.authority = value;
	return 0;
}

static int take_option(struct settings *s, int id, const char *value)
{
	struct fault why;

	switch (id) {
	case OPT_OUTPUT:
		if (strcmp(value, "-") == 0)
			return tool_usage("-o -: a capture is sealed on disk; name a file");
		if (!*value)
			return tool_usage("-o needs the name of a file");
		s->o.path = value;
		return 0;
	case OPT_DURATION:
		if (seconds_parse(value, &s->o.duration_ns, &why) < 0)
			return tool_usage("-d %s: %s", value, why.text);
		return s->o.duration_ns ? 0 : tool_usage("-d %s: must be greater than zero", value);
	case OPT_ROTATE:
		if (duration_parse(value, &s->o.rotate_ns, &why) < 0)
			return tool_usage("--rotate %s: %s", value, why.text);
		return s->o.rotate_ns >= ROTATE_NS_MIN ? 0 : tool_usage("--rotate %s: 1s is the least", value);
	case OPT_METRICS:
		return take_metrics(s, value);
	case OPT_MAX_SIZE:
	case OPT_MAX_RATE:
	case OPT_SAMPLE:
		return take_budget(s, id, value);
	case OPT_PID:
		return take_pids(s, value);
	case OPT_LIB:
		if (s->o.nlibs == LIBS_MAX)
			return tool_usage("more than %d libraries", LIBS_MAX);
		s->libs[s->o.nlibs++] = value;
		return 0;
	case OPT_CHALLENGE:
		return take_challenge(s, value);
	case OPT_AUTHORITY:
		return take_authority(s, value);
	case OPT_KEY:
		s->o.key_path = value;
		return 0;
	case OPT_PASSPHRASE_FD:
		return take_passphrase_fd(s, value);
	case OPT_RING:
		if (size_parse(value, &s->o.ring_bytes, &why) < 0)
			return tool_usage("--ring %s: %s", value, why.text);
		return attach_ring_valid(s->o.ring_bytes)
			       ? 0
			       : tool_usage("--ring %s: a power of two from %" PRIu64 "K to 1G is needed", value,
					    attach_ring_min() >> 10);
	case OPT_NVML:
		s->o.nvml = value;
		return 0;
	case OPT_UPROBES:
		s->o.single = !strcmp(value, "single");
		s->o.plain = !strcmp(value, "plain");
		return s->o.single || s->o.plain || !strcmp(value, "multi")
			       ? 0
			       : tool_usage("--uprobes %s: single, plain or multi", value);
	default:
		take_flag(s, id);
		return 0;
	}
}

/* -1: go on; else the exit status. */
static int read_arguments(struct settings *s, int argc, char **argv)
{
	const char *value;
	int id, operands = 0, status = 0;

	s->o = (struct recording_options){.passphrase_fd = -1,
					  .ring_bytes = RING_BYTES_DEFAULT,
					  .futex = true,
					  .quota = true,
					  .signals = true,
					  .command_lines = true,
					  .late_attach = true};
	s->o.pids = s->pids;
	s->o.libs = s->libs;
	s->o.note = note;
	s->o.verifier = verifier_says;
	while ((id = tool_next_option(&options, true, argc, argv, &value, &operands, &status)) > 0) {
		status = take_option(s, id, value);
		if (status)
			return status;
	}
	if (id < 0)
		return status;
	if (operands == argc && !strcmp(argv[argc - 1], "--"))
		return tool_usage("no COMMAND after --");
	if (operands < argc)
		s->o.command = argv + operands;
	if (s->json && !s->check)
		return tool_usage("--json goes with --check; gpureplay --json shows what was recorded");
	if (s->check && s->o.command)
		return tool_usage("--check takes no COMMAND");
	if (s->o.command && s->o.passphrase_fd >= 0 && s->o.passphrase_fd <= STDERR_FILENO)
		return tool_usage("--passphrase-fd %d: COMMAND would get it, too; use another: 3<FILE",
				  s->o.passphrase_fd);
	if (s->o.rotate_ns && s->o.force)
		return tool_usage("--rotate never replaces a file: leave --force away");
	if (!s->check && !s->o.path)
		return tool_usage("no output: -o FILE is needed");
	return -1;
}

static void print_checks(const struct check_line *lines, size_t n, bool possible)
{
	static const char *const words[] = {"ok", "note", "no"};

	for (size_t i = 0; i < n; i++) {
		char text[sizeof(lines[i].text) * ESCAPE_GROWTH + 1];

		escape_terminal(text, sizeof(text), lines[i].text, strlen(lines[i].text));
		printf("%-4s  %-22s  %s%s%s\n", words[lines[i].result], lines[i].what, text,
		       lines[i].remedy[0] ? "; " : "", lines[i].remedy);
		if (tool_verbose && lines[i].detail[0]) {
			escape_terminal(text, sizeof(text), lines[i].detail, strlen(lines[i].detail));
			printf("%-4s  %-22s  the kernel: %s\n", "", "", text);
		}
	}
	printf("%s\n", possible ? "Recording is possible here." : "Recording is not possible here.");
}

static void print_checks_json(const struct check_line *lines, size_t n, bool possible)
{
	static const char *const words[] = {"ok", "note", "no"};

	printf("{\"possible\":%s,\"checks\":[", possible ? "true" : "false");
	for (size_t i = 0; i < n; i++) {
		char text[sizeof(lines[i].text) * ESCAPE_GROWTH + 1];

		escape_json(text, sizeof(text), lines[i].text, strlen(lines[i].text));
		printf("%s{\"what\":\"%s\",\"result\":\"%s\",\"text\":\"%s\"", i ? "," : "", lines[i].what,
		       words[lines[i].result], text);
		escape_json(text, sizeof(text), lines[i].remedy, strlen(lines[i].remedy));
		printf(lines[i].remedy[0] ? ",\"remedy\":\"%s\"" : "%s", text);
		escape_json(text, sizeof(text), lines[i].detail, strlen(lines[i].detail));
		printf(lines[i].detail[0] ? ",\"detail\":\"%s\"}" : "%s}", text);
	}
	printf("]}\n");
}

static int run_check(const struct settings *s)
{
	static struct check_line lines[CHECK_LINES_MAX];
	char folder[4096] = ".";
	bool possible = true;
	size_t n;

	if (s->o.path && strlen(s->o.path) < sizeof(folder)) {
		char copy[sizeof(folder)];

		strcpy(copy, s->o.path);
		snprintf(folder, sizeof(folder), "%s", dirname(copy));
	}
	n = check_host(lines, &s->o, folder);
	for (size_t i = 0; i < n; i++)
		possible = possible && lines[i].result != CHECK_NO;
	if (s->json)
		print_checks_json(lines, n, possible);
	else
		print_checks(lines, n, possible);
	return tool_finish(possible ? TOOL_FINE : TOOL_FAILED);
}

/* Calls that were in progress when recording began or ended are no losses: they happen on any host. */
static uint64_t open_calls(const struct recording_result *result)
{
	uint64_t n = 0;

	for (size_t i = 0; i < result->ncounters; i++)
		if (counter_is_loss(result->counters[i].id) && absence_of_loss(result->counters[i].id) == ABSENCE_OPEN)
			n += result->counters[i].value;
	return n;
}

static void tell_losses(const struct recording_result *result)
{
	for (size_t i = 0; i < result->ncounters; i++) {
		const struct counter *c = &result->counters[i];
		const struct probe_spec *probe = probe_find(c->probe);

		if (!counter_is_loss(c->id) || absence_of_loss(c->id) == ABSENCE_LEFT_OUT)
			continue;
		tool_note("  %s: %llu %s: %s%s", probe ? probe->name : "?", (unsigned long long)c->value,
			  absence_of_loss(c->id) == ABSENCE_LOST ? "lost"
			  : c->value == 1                        ? "call not recorded"
								 : "calls not recorded",
			  counter_text(c->id), c->id == COUNTER_ring_full ? " (--ring makes it bigger)" : "");
	}
}

/* Whether a function of a library was entered. */
static bool any_call(const struct recording_result *result)
{
	for (size_t i = 0; i < result->ncounters; i++)
		if (result->counters[i].id == COUNTER_fired && result->counters[i].probe >= PROBE_HOST_END)
			return true;
	return false;
}

/* What was not looked at; and when there is no call, whether that is so of all or only of what could be looked at. */
static void tell_missing(const struct recording_result *result)
{
	bool blind = false, calls = any_call(result);

	for (size_t i = 0; i < result->nmissing; i++) {
		const struct missing *m = &result->missing[i];

		blind = blind || m->calls;
		if (!m->ordinary || tool_verbose || (m->calls && !calls))
			tool_note("  not recorded: %s", m->text);
	}
	if (!calls)
		tool_note(
			blind ? "  no CUDA calls in the processes and libraries that could be inspected"
			      : "  no CUDA calls: no recorded process used a CUDA library; if it is linked statically: "
				"--lib PROGRAM");
}

static void tell_self(const struct settings *s, const struct recording_result *result)
{
	char memory[UNITS_CHARS], ring[UNITS_CHARS], written[UNITS_CHARS], busy[32] = "";

	/* Getting ready takes more than a short recording does. */
	if (result->duration_ns >= 10000000000u)
		snprintf(busy, sizeof(busy), " (%.1f %% of one)",
			 100.0 * (double)result->cpu_ns / (double)result->duration_ns);
	tool_note("  gpurec itself: %.2f s of CPU%s, %s of memory, ring up to %s (%.0f %%), %s written",
		  (double)result->cpu_ns / 1e9, busy, size_text(memory, result->peak_bytes),
		  size_text(ring, result->ring_high_bytes),
		  100.0 * (double)result->ring_high_bytes / (double)s->o.ring_bytes,
		  size_text(written, result->written_bytes));
}

static void tell_result(const struct settings *s, const struct recording_result *result)
{
	struct counter_sums sums;
	struct budget_sums left_out;
	char size[UNITS_CHARS], captures[64] = "";

	counters_sum(result->counters, result->ncounters, &sums);
	budget_sum(result->counters, result->ncounters, &left_out);
	sums.lost -= left_out.sampled_out + left_out.over_rate + open_calls(result);
	if (result->ncaptures > 1)
		snprintf(captures, sizeof(captures), " and the %llu before it",
			 (unsigned long long)result->ncaptures - 1);
	tool_note("%s%s: %llu events, %llu lost, %s, signed by %s: %s", result->path, captures,
		  (unsigned long long)result->nrows, (unsigned long long)sums.lost,
		  size_text(size, result->written_bytes), result->key_id,
		  reason_text(result->reason));
	tell_missing(result);
	tell_losses(result);
	if (left_out.sampled_out)
		tool_note("  %llu left out by --sample, and counted", (unsigned long long)left_out.sampled_out);
	if (left_out.over_rate)
		tool_note("  %llu left out by --max-rate, and counted", (unsigned long long)left_out.over_rate);
	if (result->skipped_runs == UINT64_MAX)
		tool_note("  the kernel does not report how many runs of a probe it skipped, if any");
	else if (result->skipped_runs)
		tool_note("  runs of probes that the kernel skipped, for recorded threads or others: %s",
			  result->skipped);
	tell_self(s, result);
	if (result->command_pid)
		tool_note("the command goes on as process %lld, no longer recorded", (long long)result->command_pid);
	tool_note("to check it: gpuverify %s", result->path);
}

static int command_exit_status(const struct recording_result *result)
{
	if (!result->command_ended)
		return TOOL_FINE;
	if (WIFSIGNALED(result->command_status))
		return 128 + WTERMSIG(result->command_status);
	return WEXITSTATUS(result->command_status);
}

static void tell_failure(const struct recording_result *result, const struct fault *why)
{
	tool_fault(result->path, why);
	if (result->nepochs && result->end_unknown)
		tool_error(
			"whether the end of %s reached the disk is unknown, gpuverify shows it: what its seals cover "
			"is authentic",
			result->path);
	else if (result->nepochs)
		tool_error("%s has no end: what its %llu seal%s authentic, gpuverify calls it UNSEALED", result->path,
			   (unsigned long long)result->nepochs, result->nepochs == 1 ? " covers is" : "s cover is");
	else
		tool_error("nothing was sealed; %s was removed", result->path);
	if (result->command_pid)
		tool_error("the command goes on as process %lld, unrecorded", (long long)result->command_pid);
}

/* Sealed and whole, but not where anybody will look for it. */
static void tell_lost_output(const struct recording_result *result)
{
	tool_error("%s %s; recording ended", result->path, result->output);
	if (result->command_pid)
		tool_error("the command goes on as process %lld, unrecorded", (long long)result->command_pid);
}

static int run_recording(struct settings *s)
{
	struct recording_result result;
	struct recording *recording;
	struct fault why;
	uint64_t left_ns;
	int r;

	s->o.close_inherited = true;
	if (may_show_status(s))
		s->o.status = show_status;
	/* As a shell does: 127 for what is not there, 126 for what cannot be run. */
	if (s->o.command && command_check(s->o.command[0], &why) < 0) {
		tool_fault(NULL, &why);
		return command_exists(s->o.command[0]) ? STATUS_CANNOT_RUN : STATUS_NOT_FOUND;
	}
	r = recording_open(&recording, &s->o, &why);
	if (r < 0)
		return tool_fault(NULL, &why);
	if (!s->o.duration_ns && !s->o.command)
		tool_note("recording to %s%s; Ctrl-C seals and ends", s->o.path, s->o.rotate_ns ? ", numbered" : "");
	r = recording_run(recording, &result, &why);
	clear_status();
	if (r == 0 && !result.output[0])
		tell_result(s, &result);
	left_ns = recording_close(recording);
	if (left_ns)
		tool_note("the kernel takes off the probes one by one, in the background: up to %.0f s",
			  (double)left_ns / 1e9 + 0.5);
	if (r < 0)
		tell_failure(&result, &why);
	else if (result.output[0])
		tell_lost_output(&result);
	free(result.counters);
	return r < 0 || result.output[0] ? TOOL_FAILED : command_exit_status(&result);
}

int main(int argc, char **argv)
{
	static struct settings settings;
	int status;

	tool_init("gpurec");
	libbpf_set_print(kernel_says);
	mallopt(M_MMAP_THRESHOLD, 256 << 10); /* what a burst took is given back, and grows without being copied */
	status = read_arguments(&settings, argc, argv);
	if (status >= 0)
		return status;
	return settings.check ? run_check(&settings) : run_recording(&settings);
}
