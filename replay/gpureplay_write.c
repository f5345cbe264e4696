/* SPDX-License-Identifier: Apache-2.0 */
/* gpureplay -o: files that appear under their name once they are whole. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "keys/custody.h"
#include "keys/tool/tool.h"
#include "replay/gpureplay_internal.h"
#include "replay/narrowed.h"
#include "format/base/output_file.h"

/* What a signal has to clean up: a half-written output under its temporary name. */
static struct target target;

static void on_signal(int number)
{
	target_discard(&target);
	signal(number, SIG_DFL);
	raise(number);
}

int status_of(int r)
{
	return r == WALK_STOPPED || r == ERR_FORGED || r == ERR_FORMAT ? TOOL_BAD : TOOL_FAILED;
}

static int export_file(const struct replay *replay, const struct exporter *exporter, int fd, struct fault *why)
{
	struct replay watched = *replay;
	int r;

	watched.progress = tool_progress;
	tool_progress_begin("writing");
	r = exporter->write_file(&watched, fd, why);
	tool_progress_end();
	return r;
}

static int write_file(const struct settings *s, const struct replay *replay, const struct exporter *exporter)
{
	const struct sigaction action = {.sa_handler = on_signal};
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
	struct fault why, stopped;
	sigset_t held;
	int r, walked;

	/* A signal between making the temporary file and knowing how to remove it would leave it behind. */
	sigemptyset(&held);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		sigaddset(&held, signals[i]);
		sigaction(signals[i], &action, NULL);
	}
	sigprocmask(SIG_BLOCK, &held, NULL);
	r = target_open(&target, s->output, s->force, evidence_mode(replay->evidence), &why);
	sigprocmask(SIG_UNBLOCK, &held, NULL);
	if (r == 0 && exporter->write_file == sqlview_write_file)
		r = target_alone(&target, sqlview_beside, &why);
	if (r) {
		target_discard(&target);
		return tool_fault(NULL, &why);
	}
	walked = export_file(replay, exporter, target.fd, &stopped);
	if (walked < 0) {
		target_discard(&target);
		tool_fault(s->output, &stopped);
		return status_of(walked);
	}
	if (target_commit(&target, &why))
		return tool_fault(NULL, &why);
	if (walked == 0)
		return TOOL_FINE;
	tool_fault("the events end early", &stopped);
	return status_of(walked);
}

/* Whether `path` leads to the very file that is read: whatever it is called, a capture is never replaced by what was
 * made of it.
 */
static bool is_input(const struct evidence *e, const char *path)
{
	struct stat in, out;

	return fstat(e->source.fd, &in) == 0 && stat(path, &out) == 0 && in.st_dev == out.st_dev &&
	       in.st_ino == out.st_ino;
}

/* The chain comes along as it stands; it may reveal what was to be withheld. */
static int copy_chain(const struct settings *s, const struct evidence *e, bool host_withheld, struct fault *why)
{
	const struct custody_subject subject = custody_subject_of(e);
	const struct custody_line *line;
	struct custody c = {0};
	char path[PATH_MAX];
	int r = custody_copy(s->capture, s->output, s->force, why);

	if (r <= 0)
		return r;
	tool_note("%s" CUSTODY_SUFFIX ": the chain of custody, as it was", s->output);
	if (!host_withheld || custody_path(path, s->output, why) < 0)
		return 0;
	r = custody_read(&c, path, &subject, why);
	line = r > 0 ? custody_with_host(&c) : NULL;
	if (line)
		tool_note("%s names a host, \"%s\" in act %llu, though host is withheld: keep it back, or begin "
			  "another one with gpukey sign --custody narrowed --name WHO",
			  path, line->who, (unsigned long long)line->number);
	custody_clear(&c);
	return r < 0 ? r : 0;
}

static int write_narrower(const struct settings *s, const struct replay *replay, const struct exporter *exporter)
{
	struct narrowed n;
	char sentence[800];
	struct fault why;
	int status, r = narrowed_plan(&n, replay, &why);

	if (r == ERR_INPUT)
		return tool_usage("%s", why.text);
	if (r) {
		tool_fault(NULL, &why);
		return status_of(r);
	}
	status = write_file(s, replay, exporter);
	if (status != TOOL_FINE)
		return status;
	for (size_t i = 0; i < n.nclasses; i++)
		if (narrowed_describe(&n, i, sentence, sizeof(sentence)))
			tool_note("%s: %s", s->output, sentence);
	if (narrowed_describe_kept(&n, sentence, sizeof(sentence)))
		tool_note("%s: %s", s->output, sentence);
	if (narrowed_describe_parts(&n, sentence, sizeof(sentence)))
		tool_note("%s: %s", s->output, sentence);
	if (narrowed_describe_reused(&n, sentence, sizeof(sentence)))
		tool_note("%s: %s", s->output, sentence);
	if (narrowed_describe_beyond(&n, sentence, sizeof(sentence)))
		tool_note("%s: %s", s->output, sentence);
	if (narrowed_describe_host(&n, sentence, sizeof(sentence)))
		tool_note("%s: %s", s->output, sentence);
	if (n.nwithheld == 0)
		tool_note("%s: nothing was withheld: it holds all that the capture does", s->output);
	r = copy_chain(s, replay->evidence, n.what.classes >> CLASS_host & 1 || custody_host_withheld(replay->evidence),
		       &why);
	return r < 0 ? tool_fault("the narrower capture is whole, but has no chain of custody", &why) : status;
}

bool is_narrowing(const struct exporter *e)
{
	return e && e->write_file == narrowed_write_file;
}

int write_output(const struct settings *s, const struct replay *replay, const struct exporter *exporter)
{
	if (is_input(replay->evidence, s->output)) {
		tool_error("%s is the capture that is read: it is left alone; choose another name", s->output);
		return TOOL_FAILED;
	}
	return (is_narrowing(exporter) ? write_narrower : write_file)(s, replay, exporter);
}
