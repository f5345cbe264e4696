/* SPDX-License-Identifier: Apache-2.0 */
/* gpurec: record what GPU programs do on this host into a sealed capture. */
#include <bpf/libbpf.h>
#include <libgen.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "format/base/escape.h"
#include "format/base/json.h"
#include "format/base/units.h"
#include "keys/completeness.h"
#include "record/check/check.h"
#include "record/command.h"
#include "record/gpurec_internal.h"
#include "record/probe/counters.h"

#define STATUS_CANNOT_RUN 126
#define STATUS_NOT_FOUND 127

/* A status line is on the terminal: the cursor is behind it. */
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

static const char *const result_words[] = {[CHECK_OK] = "ok", [CHECK_NOTE] = "note", [CHECK_NO] = "no"};

static void print_checks(const struct check_line *lines, size_t n, bool possible)
{
	for (size_t i = 0; i < n; i++) {
		char text[sizeof(lines[i].text) * ESCAPE_GROWTH + 1];

		escape_terminal(text, sizeof(text), lines[i].text, strlen(lines[i].text));
		printf("%-4s  %-22s  %s%s%s\n", result_words[lines[i].result], lines[i].what, text,
		       lines[i].remedy[0] ? "; " : "", lines[i].remedy);
		if (tool_verbose && lines[i].detail[0]) {
			escape_terminal(text, sizeof(text), lines[i].detail, strlen(lines[i].detail));
			printf("%-4s  %-22s  the kernel: %s\n", "", "", text);
		}
	}
	printf("%s\n", possible ? "Recording is possible here." : "Recording is not possible here.");
}

/* False: there was no memory for it. */
static bool print_checks_json(const struct check_line *lines, size_t n, bool possible)
{
	struct text t = {0};
	struct json j = {.out = &t, .line = true};
	bool fine;

	json_open(&j, NULL, '{');
	json_bool(&j, "possible", possible);
	json_open(&j, "checks", '[');
	for (size_t i = 0; i < n; i++) {
		json_open(&j, NULL, '{');
		json_string(&j, "what", lines[i].what);
		json_string(&j, "result", result_words[lines[i].result]);
		json_string(&j, "text", lines[i].text);
		if (lines[i].remedy[0])
			json_string(&j, "remedy", lines[i].remedy);
		if (lines[i].detail[0])
			json_string(&j, "detail", lines[i].detail);
		json_close(&j, '}');
	}
	json_close(&j, ']');
	json_close(&j, '}');
	fine = !t.failed;
	if (fine)
		fwrite(t.s, 1, t.len, stdout);
	text_clear(&t);
	return fine;
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
	if (!s->json) {
		print_checks(lines, n, possible);
	} else if (!print_checks_json(lines, n, possible)) {
		tool_error("out of memory");
		return TOOL_FAILED;
	}
	return tool_finish(possible ? TOOL_FINE : TOOL_FAILED);
}

static void emit_loss(const struct counter *c)
{
	const struct probe_spec *probe = probe_find(c->probe);
	const char *name = probe ? probe->name : "?", *cause = counter_text(c->id);
	unsigned long long n = c->value;

	switch (absence_of_loss(c->id)) {
	case ABSENCE_LOST:
		tool_note("  %s: %llu lost: %s%s", name, n, cause,
			  c->id == COUNTER_ring_full ? " (--ring makes it bigger)" : "");
		break;
	case ABSENCE_IN_FLIGHT:
		tool_note("  %s: %llu %s", name, n, cause);
		break;
	case ABSENCE_NO_RETURN:
		tool_note("  %s: %llu call%s not recorded: %s", name, n, plural(n), cause);
		break;
	case ABSENCE_NOT_ATTACHED:
		tool_note("  %llu not attached: %s", n, cause);
		break;
	case ABSENCE_NONE:
	case ABSENCE_LEFT_OUT: /* in a line of its own */
		break;
	}
}

static void emit_losses(const struct recording_result *result)
{
	for (size_t i = 0; i < result->ncounters; i++)
		if (counter_is_loss(result->counters[i].id))
			emit_loss(&result->counters[i]);
}

/* Whether a function of a library was entered. */
static bool any_call(const struct recording_result *result)
{
	for (size_t i = 0; i < result->ncounters; i++)
		if (result->counters[i].id == COUNTER_fired && result->counters[i].probe >= PROBE_HOST_END)
			return true;
	return false;
}

/* What was not inspected; and when there is no call, whether that is so of all or only of what could be inspected. */
static void emit_missing(const struct recording_result *result)
{
	bool blind = false, calls = any_call(result);

	for (size_t i = 0; i < result->nmissing; i++) {
		const struct missing *m = &result->missing[i];

		blind = blind || m->calls;
		if (!m->ordinary || tool_verbose || (m->calls && !calls))
			tool_note("  not recorded: %s", m->text);
	}
	if (!calls && result->nlibraries)
		tool_note(
			"  no CUDA calls, although probes were on %zu librar%s: gpuanalyze --report has what the processes "
			"were in",
			result->nlibraries, result->nlibraries == 1 ? "y" : "ies");
	else if (!calls)
		tool_note(
			blind ? "  no CUDA calls in the processes and libraries that could be inspected"
			      : "  no CUDA calls: no recorded process used a CUDA library; if it is linked statically: "
				"--lib PROGRAM");
}

/* Who goes on where recording ended because somebody did. At any other end most of them do. */
static void emit_survivors(const struct recording_result *result)
{
	size_t shown = 0;
	char list[SURVIVORS_NAMED * 100] = "";

	if (!result->nsurvivors || (result->reason != REASON_command && result->reason != REASON_processes))
		return;
	for (; shown < result->nsurvivors && shown < SURVIVORS_NAMED; shown++) {
		const struct survivor *one = &result->survivors[shown];
		char name[sizeof(one->name) * ESCAPE_GROWTH + 1];
		size_t len = strlen(list);

		escape_terminal(name, sizeof(name), one->name, strnlen(one->name, sizeof(one->name)));
		(void)snprintf(list + len, sizeof(list) - len, "%s%.60s%s%u", shown ? ", " : "", name,
			       name[0] ? " " : "process ", one->pid);
	}
	tool_note("  %zu recorded process%s still ran, and %s no longer recorded (--wait=all waits): %s%s",
		  result->nsurvivors, result->nsurvivors == 1 ? "" : "es", result->nsurvivors == 1 ? "is" : "are", list,
		  shown < result->nsurvivors ? ", ..." : "");
}

static void emit_self(const struct settings *s, const struct recording_result *result)
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

static void emit_result(const struct settings *s, const struct recording_result *result)
{
	struct counter_sums sums;
	char size[UNITS_CHARS], captures[64] = "";

	counters_sum(result->counters, result->ncounters, &sums);
	if (result->ncaptures > 1)
		snprintf(captures, sizeof(captures), " and the %llu before it",
			 (unsigned long long)result->ncaptures - 1);
	tool_note("%s%s: %llu events, %llu lost, %s, signed by %s: %s", result->path, captures,
		  (unsigned long long)result->nrows, (unsigned long long)sums.absent[ABSENCE_LOST],
		  size_text(size, result->written_bytes), result->key_id, reason_text(result->reason));
	emit_missing(result);
	emit_losses(result);
	if (sums.sampled_out)
		tool_note("  %llu left out by --sample, and counted", (unsigned long long)sums.sampled_out);
	if (sums.over_rate)
		tool_note("  %llu left out by --max-rate, and counted", (unsigned long long)sums.over_rate);
	if (result->skipped_runs == UINT64_MAX)
		tool_note("  the kernel does not report how many runs of a probe it skipped, if any");
	else if (result->skipped_runs)
		tool_note("  runs of probes that the kernel skipped, for recorded threads or others: %s",
			  result->skipped);
	emit_survivors(result);
	if (result->nfollowed)
		tool_note(
			"  %llu thread%s of processes that are not recorded ended waits of recorded ones, and %s followed "
			"since (--no-follow: not)",
			(unsigned long long)result->nfollowed, result->nfollowed == 1 ? "" : "s",
			result->nfollowed == 1 ? "was" : "were");
	emit_self(s, result);
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

static void emit_failure(const struct recording_result *result, const struct fault *why)
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
}

/* Sealed and whole, but not where anybody will look for it. */
static void emit_lost_output(const struct recording_result *result)
{
	tool_error("%s %s; recording ended", result->path, result->output);
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
		emit_result(s, &result);
	left_ns = recording_close(recording);
	if (left_ns)
		tool_note("the kernel takes off the probes one by one, in the background: up to %.0f s",
			  (double)left_ns / 1e9 + 0.5);
	if (r < 0)
		emit_failure(&result, &why);
	else if (result.output[0])
		emit_lost_output(&result);
	if ((r < 0 || result.output[0]) && result.command_pid)
		tool_error("the command goes on as process %lld, unrecorded", (long long)result.command_pid);
	free(result.counters);
	return r < 0 || result.output[0] ? TOOL_FAILED : command_exit_status(&result);
}

int main(int argc, char **argv)
{
	static struct settings settings;
	int status;

	tool_init("gpurec");
	libbpf_set_print(kernel_says);
	mallopt(M_MMAP_THRESHOLD, 256 << 10); /* what a burst took is freed, and grows without being copied */
	status = settings_read(&settings, argc, argv);
	if (status >= 0)
		return status;
	settings.o.note = note;
	settings.o.verifier = verifier_says;
	return settings.check ? run_check(&settings) : run_recording(&settings);
}
