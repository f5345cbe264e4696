/* SPDX-License-Identifier: Apache-2.0 */
/* gpurec: record what GPU programs do on this host into a sealed capture. */
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <libgen.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "format/escape.h"
#include "keys/tool.h"
#include "record/check.h"
#include "record/counters.h"
#include "record/recording.h"
#include "record/words.h"

#define PIDS_MAX 1024
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
	OPT_FORCE,
	OPT_RING,
	OPT_NO_FUTEX,
	OPT_NO_LATE,
	OPT_UPROBES,
	OPT_NVML,
	OPT_CHECK,
	OPT_JSON,
};

static const struct tool_option option_table[] = {
	{"output", 'o', "FILE", "the capture to make", OPT_OUTPUT},
	{"duration", 'd', "TIME", "stop after TIME: 90s, 5m, 1h", OPT_DURATION},
	{"rotate", 0, "TIME", "begin another capture after each TIME, nothing lost between: FILE-00001.cap, ...",
	 OPT_ROTATE},
	{"max-size", 0, "SIZE", "end before the capture (with --rotate: all together) is larger: 10G", OPT_MAX_SIZE},
	{"max-rate", 0, "N", "record at most N events a second; the others are counted", OPT_MAX_RATE},
	{"sample", 0, "KIND=N", "record one in N of this kind, launch for example; the others are counted (repeatable)",
	 OPT_SAMPLE},
	{"metrics", 0, "TIME", "sample how busy each CPU is, once in TIME, from 1ms to 1h", OPT_METRICS},
	{"pid", 'p', "PID", "record this process and its children (repeatable)", OPT_PID},
	{"lib", 0, "PATH", "probe this library or program too (repeatable)", OPT_LIB},
	{"key", 0, "FILE", "sign with this secret key instead of the host's", OPT_KEY},
	{"passphrase-fd", 0, "N", "read the key's passphrase from descriptor N, not from the terminal",
	 OPT_PASSPHRASE_FD},
	{"force", 0, NULL, "replace FILE if it is there", OPT_FORCE},
	{"ring", 0, "SIZE", "kernel buffer, a power of two: 16M", OPT_RING},
	{"no-futex", 0, NULL,
	 "leave system calls alone: no futex events, libraries loaded later are found within a second", OPT_NO_FUTEX},
	{"no-late-attach", 0, NULL, "give up every capability; libraries loaded later are not probed", OPT_NO_LATE},
	{"uprobes", 0, "HOW",
	 "single: attach functions one by one, as kernels before 6.6 need; plain: at once; multi: as this one can best",
	 OPT_UPROBES},
	{"nvml", 0, "PATH",
	 "ask this library for the GPUs' health; no: none (libnvidia-ml.so.1, where there is a driver)", OPT_NVML},
	{"check", 0, NULL, "say what this host allows, and end", OPT_CHECK},
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

static int take_pid(struct settings *s, const char *value)
{
	struct fault why;
	uint64_t pid;

	if (tool_parse_number(value, 1, 4194304, &pid, &why) < 0)
		return tool_usage("-p %s: %s", value, why.text);
	if (s->o.npids == PIDS_MAX)
		return tool_usage("more than %d processes", PIDS_MAX);
	s->pids[s->o.npids++] = (uint32_t)pid;
	return 0;
}

static int take_passphrase_fd(struct settings *s, const char *value)
{
	struct fault why;
	uint64_t fd;

	if (tool_parse_number(value, 0, FD_MAX, &fd, &why) < 0)
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
		if (tool_parse_number(value, 1, UINT32_MAX, &n, &why) < 0)
			return tool_usage("--max-rate %s: %s", value, why.text);
		b->max_rate = (uint32_t)n;
		return 0;
	}
	if (tool_parse_size(value, &b->max_bytes, &why) < 0)
		return tool_usage("--max-size %s: %s", value, why.text);
	return b->max_bytes >= BUDGET_BYTES_MIN ? 0 : tool_usage("--max-size %s: 1M is the least", value);
}

static int take_metrics(struct settings *s, const char *value)
{
	struct fault why;

	if (tool_parse_duration(value, &s->o.metrics_ns, &why) < 0)
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
	case OPT_NO_LATE:
		s->o.late_attach = false;
		break;
	default:
		s->check = true;
	}
}

static int take_option(struct settings *s, int id, const char *value)
{
	struct fault why;

	switch (id) {
	case OPT_OUTPUT:
		if (strcmp(value, "-") == 0)
			return tool_usage("-o -: a capture is sealed on disk; name a file");
		s->o.path = value;
		return 0;
	case OPT_DURATION:
		if (tool_parse_duration(value, &s->o.duration_ns, &why) < 0)
			return tool_usage("-d %s: %s", value, why.text);
		return s->o.duration_ns ? 0 : tool_usage("-d %s: it must be longer than nothing", value);
	case OPT_ROTATE:
		if (tool_parse_duration(value, &s->o.rotate_ns, &why) < 0)
			return tool_usage("--rotate %s: %s", value, why.text);
		return s->o.rotate_ns >= ROTATE_NS_MIN ? 0 : tool_usage("--rotate %s: 1s is the least", value);
	case OPT_METRICS:
		return take_metrics(s, value);
	case OPT_MAX_SIZE:
	case OPT_MAX_RATE:
	case OPT_SAMPLE:
		return take_budget(s, id, value);
	case OPT_PID:
		return take_pid(s, value);
	case OPT_LIB:
		if (s->o.nlibs == LIBS_MAX)
			return tool_usage("more than %d libraries", LIBS_MAX);
		s->libs[s->o.nlibs++] = value;
		return 0;
	case OPT_KEY:
		s->o.key_path = value;
		return 0;
	case OPT_PASSPHRASE_FD:
		return take_passphrase_fd(s, value);
	case OPT_RING:
		if (tool_parse_size(value, &s->o.ring_bytes, &why) < 0)
			return tool_usage("--ring %s: %s", value, why.text);
		return attach_ring_valid(s->o.ring_bytes)
			       ? 0
			       : tool_usage("--ring %s: a power of two from 4K to 1G is needed", value);
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

	s->o = (struct recording_options){
		.passphrase_fd = -1, .ring_bytes = RING_BYTES_DEFAULT, .futex = true, .late_attach = true};
	s->o.pids = s->pids;
	s->o.libs = s->libs;
	s->o.note = note;
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
		printf(lines[i].remedy[0] ? ",\"remedy\":\"%s\"}" : "%s}", text);
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

static void tell_losses(const struct recording_result *result)
{
	for (size_t i = 0; i < result->ncounters; i++) {
		const struct counter *c = &result->counters[i];
		const struct probe_spec *probe = probe_find(c->probe);

		if (counter_is_loss(c->id) && c->id != COUNTER_sampled_out && c->id != COUNTER_over_rate)
			tool_note("  %s: %llu lost: %s", probe ? probe->name : "?", (unsigned long long)c->value,
				  loss_words(c->id));
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
			tool_note("  not in it: %s", m->text);
	}
	if (!calls)
		tool_note(blind ? "  no CUDA call was seen in what could be looked at"
				: "  no CUDA call was seen: nothing recorded used a CUDA library meanwhile");
}

static void tell_self(const struct settings *s, const struct recording_result *result)
{
	char memory[32], ring[32], written[32], busy[32] = "";

	/* Getting ready takes more than a short recording does. */
	if (result->duration_ns >= 10000000000u)
		snprintf(busy, sizeof(busy), " (%.1f %% of one)",
			 100.0 * (double)result->cpu_ns / (double)result->duration_ns);
	tool_note("  gpurec itself: %.2f s of CPU%s, %s of memory, ring up to %s (%.0f %%), %s written",
		  (double)result->cpu_ns / 1e9, busy, tool_format_bytes(memory, sizeof(memory), result->peak_bytes),
		  tool_format_bytes(ring, sizeof(ring), result->ring_high_bytes),
		  100.0 * (double)result->ring_high_bytes / (double)s->o.ring_bytes,
		  tool_format_bytes(written, sizeof(written), result->written_bytes));
}

static void tell_result(const struct settings *s, const struct recording_result *result)
{
	struct counter_sums sums;
	struct budget_sums left_out;
	char size[32], captures[64] = "";

	counters_sum(result->counters, result->ncounters, &sums);
	budget_sum(result->counters, result->ncounters, &left_out);
	sums.lost -= left_out.sampled_out + left_out.over_rate;
	if (result->ncaptures > 1)
		snprintf(captures, sizeof(captures), " and the %llu before it",
			 (unsigned long long)result->ncaptures - 1);
	tool_note("%s%s: %llu events, %llu lost, %s, signed by %s: %s", result->path, captures,
		  (unsigned long long)result->nrows, (unsigned long long)sums.lost,
		  tool_format_bytes(size, sizeof(size), result->written_bytes), result->key_id,
		  reason_text(result->reason));
	tell_missing(result);
	tell_losses(result);
	if (left_out.sampled_out)
		tool_note("  %llu left out by --sample, and counted", (unsigned long long)left_out.sampled_out);
	if (left_out.over_rate)
		tool_note("  %llu left out by --max-rate, and counted", (unsigned long long)left_out.over_rate);
	if (result->misses == UINT64_MAX)
		tool_note("  the kernel does not tell how many runs of a probe it skipped, if any");
	else if (result->misses)
		tool_note("  %llu runs of a probe were skipped by the kernel and are in no count: %s",
			  (unsigned long long)result->misses, result->missed);
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
		tool_error("whether the end of %s reached the disk is not known, gpuverify tells: what its seals cover "
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

static int run_recording(struct settings *s)
{
	struct recording_result result;
	struct recording *recording;
	struct fault why;
	int r;

	if (may_show_status(s))
		s->o.status = show_status;
	r = recording_open(&recording, &s->o, &why);
	if (r < 0)
		return tool_fault(NULL, &why);
	if (!s->o.duration_ns && !s->o.command)
		tool_note("recording to %s%s; Ctrl-C seals and ends", s->o.path, s->o.rotate_ns ? ", numbered" : "");
	r = recording_run(recording, &result, &why);
	clear_status();
	if (r == 0)
		tell_result(s, &result);
	if (result.slow_close)
		tool_note("taking the probes off one by one: this kernel needs some seconds for it");
	recording_close(recording);
	if (r < 0)
		tell_failure(&result, &why);
	free(result.counters);
	return r < 0 ? TOOL_FAILED : command_exit_status(&result);
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
