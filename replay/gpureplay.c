/* SPDX-License-Identifier: Apache-2.0 */
/* gpureplay: a capture's events, as text, lines of JSON, or whatever the name of the output says. */
#include <unistd.h>

#include "keys/confine.h"
#include "keys/tool.h"
#include "replay/diff.h"
#include "replay/gpureplay_inside.h"

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
	const struct evidence_options o = {.trust_files = s->trust_files,
					   .ntrust_files = s->ntrust_files,
					   .delegation_files = s->delegation_files,
					   .ndelegation_files = s->ndelegation_files,
					   .unverified = s->unverified};
	char sentence[512];
	struct fault why;

	if (evidence_judge(e, path, &o, &why))
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
				.clock = s->clock,
				.clock_asked = s->some_clock,
				.pace = s->pace,
				.unverified = s->unverified};
	int status = open_capture(&e, s, path);

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
	struct replay replay = {.evidence = &e, .filter = &s->filter, .unverified = s->unverified};
	int status = open_capture(&e, s, path), r = 0;
	struct fault why;

	if (status < 0)
		status = settings_complete(s, &e.reader);
	if (status < 0)
		r = diff_collect(side, &replay, &why);
	if (r) {
		tool_fault(r > 0 ? "the events end early" : path, &why);
		status = status_of(r);
	}
	evidence_close(&e);
	return status;
}

static int compare_captures(struct settings *s, const char *const *paths)
{
	struct diff_side *a = NULL, *b = NULL;
	int status = collect_side(&a, s, paths[0]);
	struct fault why;

	if (status < 0)
		status = collect_side(&b, s, paths[1]);
	if (status < 0)
		status = diff_write(a, b, s->json, STDOUT_FILENO, &why) ? tool_fault(NULL, &why) : TOOL_FINE;
	diff_free(a);
	diff_free(b);
	return status;
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
	if (status < 0 && confine_offline(&why))
		status = tool_fault(NULL, &why);
	if (status < 0)
		status = s.diff ? compare_captures(&s, paths) : replay_capture(&s, paths[0], exporter);
	settings_clear(&s);
	return tool_finish(status);
}
