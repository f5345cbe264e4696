/* SPDX-License-Identifier: Apache-2.0 */
/* gpureplay: a capture's events, as text, lines of JSON, or whatever the name of the output says. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "keys/files.h"
#include "keys/tool/reach.h"
#include "keys/tool/confine.h"
#include "keys/tool/tool.h"
#include "replay/diff/diff.h"
#include "replay/gpureplay_internal.h"
#include "format/base/output_file.h"

static int write_stdout(const struct settings *s, const struct replay *replay)
{
	struct fault why;
	int r = (s->json ? jsonl_write : text_write)(replay, STDOUT_FILENO, &why);

	if (r == 0)
		return TOOL_FINE;
	tool_fault(r > 0 ? "the events end early" : NULL, &why);
	return status_of(r);
}

/* Open the capture and see whether it may be read. -1, or the status to leave with; evidence_close() in any case. */
static int open_capture(struct evidence *e, const struct settings *s, const char *path)
{
	const struct evidence_options o = {.trust_files = s->trust.items,
					   .ntrust_files = s->trust.n,
					   .delegation_files = s->delegations.items,
					   .ndelegation_files = s->delegations.n,
					   .unverified = s->unverified,
					   .progress = tool_progress};
	char sentence[512];
	struct fault why;
	int r;

	tool_progress_begin("verifying");
	r = evidence_judge(e, path, &o, &why);
	tool_progress_end();
	if (r < 0)
		return tool_fault(NULL, &why);
	if (!evidence_acceptable(e, &o, &why)) {
		tool_fault(path, &why);
		return e->verification.verdict == VERDICT_UNCHECKED ? TOOL_FAILED : TOOL_BAD;
	}
	evidence_sentence(e, sentence, sizeof(sentence));
	tool_note("%s: %s", path, sentence);
	return -1;
}

static int replay_capture(struct settings *s, const char *path, const struct exporter *exporter)
{
	struct evidence e;
	struct replay replay = {.evidence = &e,
				.filter = &s->filter,
				.clock = s->clock == CLOCK_NONE ? REPLAY_RELATIVE : (enum replay_clock)s->clock,
				.clock_asked = s->clock != CLOCK_NONE,
				.pace = s->pace,
				.ascii = tool_ascii && !exporter,
				.unverified = s->unverified};
	struct fault why;
	int status;

	/* Before the capture is verified, which may take minutes. */
	if (s->output && target_check(s->output, s->force, &why) < 0)
		return tool_fault(NULL, &why);
	status = open_capture(&e, s, path);
	s->capture = path;
	if (status < 0)
		status = settings_complete(s, &e.reader);
	if (status < 0)
		status = settings_complete_narrowing(s, &replay);
	if (status < 0)
		status = exporter ? write_output(s, &replay, exporter) : write_stdout(s, &replay);
	evidence_close(&e);
	return status;
}

/* One side of a comparison. -1, or the status to leave with. */
static int collect_side(struct diff_side **side, struct settings *s, const char *path)
{
	struct evidence e;
	struct replay replay = {
		.evidence = &e, .filter = &s->filter, .unverified = s->unverified, .progress = tool_progress};
	int status = open_capture(&e, s, path), r = 0;
	struct fault why;

	if (status < 0)
		status = settings_complete(s, &e.reader);
	tool_progress_begin("reading");
	if (status < 0)
		r = diff_collect(side, &replay, &why);
	tool_progress_end();
	if (r) {
		tool_fault(r > 0 ? "the events end early" : path, &why);
		status = status_of(r);
	}
	evidence_close(&e);
	return status;
}

/* For scripts: that nothing could be reported is no "no change". */
static int diff_status(const struct settings *s, const struct diff_result *result)
{
	if (!s->exit_code)
		return TOOL_FINE;
	if (result->nreported == 0) {
		tool_error("--exit-code: there is too little data to compare; record each run for longer");
		return TOOL_FAILED;
	}
	return result->nchanges ? TOOL_BAD : TOOL_FINE;
}

static int write_comparison(const struct settings *s, const struct diff_side *a, const struct diff_side *b)
{
	struct diff_result result;
	struct text t = {0};
	struct json j = {.out = &t, .line = true};
	struct fault why;
	int r = s->json ? diff_json(a, b, NULL, &j, &result, &why)
			: diff_text(a, b, tool_verbose ? DIFF_ALL : DIFF_CHANGES, &t, &result, &why);

	if (r == 0 && t.failed)
		r = fault_no_memory(&why);
	if (r == 0 && s->json)
		fwrite(t.s, 1, t.len, stdout);
	else if (r == 0)
		tool_print(t.s, t.len);
	text_clear(&t);
	return r ? tool_fault(NULL, &why) : diff_status(s, &result);
}

static int compare_captures(struct settings *s, const char *const *paths)
{
	struct diff_side *a = NULL, *b = NULL;
	int status = collect_side(&a, s, paths[0]);

	if (status < 0)
		status = collect_side(&b, s, paths[1]);
	if (status < 0)
		status = write_comparison(s, a, b);
	diff_free(a);
	diff_free(b);
	return status;
}

/* From here on only what was named is opened, and what lies beside it; SQLite sorts in the folder that it writes to. */
static int confine(const struct settings *s, const char *const *paths, struct fault *why)
{
	char folder[PATH_MAX];
	struct landlock l;
	int r = reach_begin(&l, false, why);

	if (r == 0)
		r = reach_trusted(&l, s->trust.items, s->trust.n, why);
	if (r == 0)
		r = reach_files(&l, s->delegations.items, s->delegations.n, why);
	for (int i = 0; i < 2 && paths[i] && r == 0; i++)
		r = reach_capture(&l, paths[i], why);
	if (r == 0 && s->output) {
		r = reach_output(&l, s->output, why);
		file_folder(folder, s->output);
		setenv("SQLITE_TMPDIR", folder, 1);
	}
	if (r == 0)
		r = confine_offline(&l, -1, why);
	landlock_close(&l);
	return r;
}

int main(int argc, char **argv)
{
	static struct settings s;
	const struct exporter *exporter = NULL;
	const char *paths[2] = {NULL, NULL};
	struct fault why;
	int status;

	tool_init("gpureplay");
	status = settings_read(&s, argc, argv, &exporter, paths);
	if (status < 0 && confine(&s, paths, &why))
		status = tool_fault(NULL, &why);
	if (status < 0)
		status = s.diff ? compare_captures(&s, paths) : replay_capture(&s, paths[0], exporter);
	settings_clear(&s);
	return tool_finish(status);
}
