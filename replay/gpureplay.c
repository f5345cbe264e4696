/* SPDX-License-Identifier: Apache-2.0 */
/* gpureplay: a capture's events, as text, lines of JSON, or whatever the name of the output says. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "keys/confine.h"
#include "keys/custody.h"
#include "keys/tool.h"
#include "replay/diff.h"
#include "replay/exporter.h"
#include "replay/narrowed.h"
#include "replay/target.h"

enum option_id {
	OPT_OUTPUT = 1,
	OPT_FORCE,
	OPT_JSON,
	OPT_KIND,
	OPT_PID,
	OPT_TID,
	OPT_FROM,
	OPT_TO,
	OPT_WITHHOLD,
	OPT_TIME,
	OPT_DIFF,
	OPT_TRUST,
	OPT_DELEGATION,
	OPT_UNVERIFIED,
};

static const struct tool_option table[] = {
	{"output", 'o', "FILE", "write FILE; its name's ending says what (below)", OPT_OUTPUT},
	{"force", 0, NULL, "replace FILE if it is there", OPT_FORCE},
	{"json", 0, NULL, "lines of JSON on standard output", OPT_JSON},
	{"kind", 0, "KIND,...", "only these kinds of events", OPT_KIND},
	{"pid", 0, "PID", "only what threads of this process take part in; may be repeated", OPT_PID},
	{"tid", 0, "TID", "only what this thread takes part in; may be repeated", OPT_TID},
	{"from", 0, "TIME", "only from then on: 12s after the start, or nanoseconds on the boot clock", OPT_FROM},
	{"to", 0, "TIME", "only before then", OPT_TO},
	{"withhold", 0, "CLASS,...", "with -o FILE.cap: leave these classes of content out (below)", OPT_WITHHOLD},
	{"time", 0, "CLOCK", "how text shows time: relative (the default), boot or wall", OPT_TIME},
	{"diff", 0, NULL, "what changed from one capture to another: --diff A.cap B.cap", OPT_DIFF},
	{"trust", 0, "PUB", "trust this public key file, too; may be repeated", OPT_TRUST},
	{"delegation", 0, "FILE", "believe this delegation by a trusted key; may be repeated", OPT_DELEGATION},
	{"unverified", 0, NULL, "read what does not verify all the same; every output says so", OPT_UNVERIFIED},
	{0},
};

static struct tool_options options = {
	.synopsis = "[OPTION]... FILE\n[OPTION]... FILE -o OUT\n",
	.summary = "Show the events of a capture in time order, or turn it into something else.",
	.table = table,
};

/* A time on the command line: relative to a start that is known only when the capture is open. */
struct moment {
	bool given, relative;
	uint64_t ns;
};

struct settings {
	const char **trust_files;
	size_t ntrust_files;
	const char **delegation_files; /* in the same memory */
	size_t ndelegation_files;
	const char *capture, *kinds, *output, *withhold;
	bool force, json, unverified, diff;
	bool some_clock;
	struct moment from, to;
	enum replay_clock clock;
	struct filter filter;
};

/* What a signal has to clean up: a half-written output under its temporary name. */
static struct target target;

static void on_signal(int number)
{
	target_discard(&target);
	signal(number, SIG_DFL);
	raise(number);
}

static int read_moment(struct moment *m, const char *name, const char *text)
{
	struct fault why;

	m->given = true;
	if (tool_parse_number(text, 0, UINT64_MAX, &m->ns, &why) == 0)
		return -1;
	m->relative = true;
	if (tool_parse_duration(text, &m->ns, &why) == 0)
		return -1;
	return tool_usage("--%s: '%s' is no time: 12s (after the start) or a number of nanoseconds on the boot clock",
			  name, text);
}

static int read_id(uint32_t *ids, size_t *n, const char *name, const char *text)
{
	struct fault why;
	uint64_t id;

	if (*n == FILTER_IDS_MAX)
		return tool_usage("--%s: at most %d of them", name, FILTER_IDS_MAX);
	if (tool_parse_number(text, 0, UINT32_MAX, &id, &why))
		return tool_usage("--%s: %s", name, why.text);
	ids[(*n)++] = (uint32_t)id;
	return -1;
}

static int read_clock(enum replay_clock *clock, const char *text)
{
	static const char *const names[] = {
		[REPLAY_RELATIVE] = "relative", [REPLAY_BOOT] = "boot", [REPLAY_WALL] = "wall"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!strcmp(names[i], text)) {
			*clock = (enum replay_clock)i;
			return -1;
		}
	}
	return tool_usage("--time: '%s' is none of relative, boot, wall", text);
}

/* One option; -1, or the status to leave with. */
static int take_option(struct settings *s, enum option_id id, const char *value)
{
	switch (id) {
	case OPT_OUTPUT:
		s->output = strcmp(value, "-") ? value : NULL;
		return -1;
	case OPT_FORCE:
		s->force = true;
		return -1;
	case OPT_JSON:
		s->json = true;
		return -1;
	case OPT_KIND:
		s->kinds = value;
		return -1;
	case OPT_PID:
		return read_id(s->filter.pids, &s->filter.npids, "pid", value);
	case OPT_TID:
		return read_id(s->filter.tids, &s->filter.ntids, "tid", value);
	case OPT_FROM:
		return read_moment(&s->from, "from", value);
	case OPT_TO:
		return read_moment(&s->to, "to", value);
	case OPT_WITHHOLD:
		s->withhold = value;
		return -1;
	case OPT_TIME:
		s->some_clock = true;
		return read_clock(&s->clock, value);
	case OPT_DIFF:
		s->diff = true;
		return -1;
	case OPT_TRUST:
		s->trust_files[s->ntrust_files++] = value;
		return -1;
	case OPT_DELEGATION:
		s->delegation_files[s->ndelegation_files++] = value;
		return -1;
	case OPT_UNVERIFIED:
		s->unverified = true;
		return -1;
	}
	return -1;
}

/* The captures that were named, in paths[2]. -1, or the status to leave with. */
static int read_operands(const struct settings *s, int n, char **operands, const char **paths)
{
	if (s->diff && n != 2)
		return tool_usage("--diff compares two captures: %d %s named", n, n == 1 ? "was" : "were");
	if (!s->diff && n != 1)
		return n == 0 ? tool_usage("which capture? No file was named")
			      : tool_usage("one capture at a time: '%s' is one too many", operands[1]);
	for (int i = 0; i < n; i++)
		paths[i] = operands[i];
	return -1;
}

static int read_options(struct settings *s, int argc, char **argv, const char **paths)
{
	const char *value;
	int id, operands = 0, status = TOOL_FINE;

	while ((id = tool_next_option(&options, false, argc, argv, &value, &operands, &status)) > 0) {
		status = take_option(s, (enum option_id)id, value);
		if (status >= 0)
			return status;
	}
	if (id < 0)
		return status;
	status = read_operands(s, argc - operands, argv + operands, paths);
	if (status >= 0)
		return status;
	if (s->diff && s->output)
		return tool_usage("--diff writes to standard output, so that -o has no meaning with it");
	if (s->json && s->output)
		return tool_usage("--json is for standard output; with -o the name's ending says what to write");
	return -1;
}

/* The filter's times and kinds, now that the capture is open. -1, or the status to leave with. */
static int complete_filter(struct settings *s, const struct reader *r)
{
	const uint64_t start_ns = r->header.start_boot_ns;
	struct fault why;

	s->filter.from_ns = s->from.given ? s->from.ns : 0;
	if (s->from.relative && __builtin_add_overflow(s->from.ns, start_ns, &s->filter.from_ns))
		s->filter.from_ns = NO_TIME;
	s->filter.to_ns = s->to.given ? s->to.ns : NO_TIME;
	if (s->to.relative && __builtin_add_overflow(s->to.ns, start_ns, &s->filter.to_ns))
		s->filter.to_ns = NO_TIME;
	if (s->filter.from_ns >= s->filter.to_ns)
		return tool_usage("--from is not before --to: nothing lies between them");
	if (s->kinds && filter_add_kinds(&s->filter, &r->header.schema, s->kinds, &why))
		return tool_usage("--kind: %s", why.text);
	return -1;
}

/* How to leave after a fault: what does not verify is a bad answer, the rest could not be done. */
static int status_of(int r)
{
	return r == WALK_STOPPED || r == ERR_FORGED || r == ERR_FORMAT ? TOOL_BAD : TOOL_FAILED;
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
	r = target_open(&target, s->output, s->force, &why);
	sigprocmask(SIG_UNBLOCK, &held, NULL);
	if (r)
		return tool_fault(NULL, &why);
	walked = exporter->write_file(replay, target.temporary, &stopped);
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

static int write_narrower(const struct settings *s, const struct replay *replay, const struct exporter *exporter)
{
	struct narrowed n;
	char sentence[512];
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
	if (n.nwithheld == 0)
		tool_note("%s: nothing was withheld: it holds all that the capture does", s->output);
	r = custody_copy(s->capture, s->output, s->force, &why);
	if (r > 0)
		tool_note("%s" CUSTODY_SUFFIX ": the chain of custody, as it was", s->output);
	return r < 0 ? tool_fault("the narrower capture is whole, but has no chain of custody", &why) : status;
}

static int write_stdout(const struct settings *s, const struct replay *replay)
{
	struct fault why;
	int r = (s->json ? jsonl_write : text_write)(replay, STDOUT_FILENO, &why);

	if (r == 0)
		return TOOL_FINE;
	tool_fault(r > 0 ? "the events end early" : NULL, &why);
	return status_of(r);
}

static bool is_narrowing(const struct exporter *e)
{
	return e && e->write_file == narrowed_write_file;
}

/* Options that do not go together, before anything is opened. -1, or the status to leave with. */
static int check_options(const struct settings *s, const struct exporter *exporter)
{
	bool sliced = s->from.given || s->to.given;

	if (!is_narrowing(exporter))
		return s->withhold ? tool_usage("--withhold is for a narrower capture: -o FILE.cap") : -1;
	if (s->kinds || s->filter.npids || s->filter.ntids || s->some_clock)
		return tool_usage("a narrower capture is cut between chunks, not events: of the filters it takes only "
				  "--from, --to and --withhold");
	if (!sliced && !s->withhold)
		return tool_usage("a narrower capture than FILE: what is to be left out? Give --withhold, --from or "
				  "--to");
	return -1;
}

/* What is to be withheld, now that the capture is open. -1, or the status to leave with. */
static int complete_narrowing(const struct settings *s, struct replay *replay)
{
	struct fault why;

	if (!s->withhold)
		return -1;
	if (narrowed_add_classes(&replay->withhold, &replay->evidence->reader.header.schema, s->withhold, &why))
		return tool_usage("--withhold: %s", why.text);
	if (replay->withhold >> CLASS_events & 1 && (s->from.given || s->to.given))
		return tool_usage("--withhold events leaves no event for --from and --to to choose from: give one or "
				  "the other");
	return -1;
}

static int write_output(const struct settings *s, const struct replay *replay, const struct exporter *exporter)
{
	if (is_input(replay->evidence, s->output)) {
		tool_error("%s is the capture that is read: it is left alone; give another name", s->output);
		return TOOL_FAILED;
	}
	return (is_narrowing(exporter) ? write_narrower : write_file)(s, replay, exporter);
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
	struct replay replay = {.evidence = &e, .filter = &s->filter, .clock = s->clock, .unverified = s->unverified};
	int status = open_capture(&e, s, path);

	s->capture = path;
	if (status < 0)
		status = complete_filter(s, &e.reader);
	if (status < 0)
		status = complete_narrowing(s, &replay);
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
		status = complete_filter(s, &e.reader);
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

/* The lines of --help about -o, from the table of exporters, and about --withhold. */
static void describe_exporters(char *buf, size_t size)
{
	static const char *const classes[] = {
#define C(id, name) #name,
		CLASSES(C)
#undef C
	};
	size_t used = (size_t)snprintf(buf, size, "-o FILE writes, by the ending of FILE:\n");

	for (const struct exporter *e = exporters(); e->suffix && used < size; e++)
		used += (size_t)snprintf(buf + used, size - used, "  %-16s %s\n", e->suffix, e->what);
	if (used < size)
		used += (size_t)snprintf(buf + used, size - used, "Classes of content, for --withhold:");
	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]) && used < size; i++)
		used += (size_t)snprintf(buf + used, size - used, " %s", classes[i]);
	if (used < size)
		snprintf(buf + used, size - used, "\n");
}

int main(int argc, char **argv)
{
	static struct settings s;
	const struct exporter *exporter = NULL;
	const char *paths[2] = {NULL, NULL};
	char more[2048];
	struct fault why;
	int status;

	tool_init("gpureplay");
	describe_exporters(more, sizeof(more));
	options.more = more;
	s.trust_files = calloc((size_t)argc * 2, sizeof(*s.trust_files));
	if (!s.trust_files) {
		tool_error("out of memory");
		return TOOL_FAILED;
	}
	s.delegation_files = s.trust_files + argc;
	status = read_options(&s, argc, argv, paths);
	if (status < 0 && s.output && exporter_for(&exporter, s.output, &why))
		status = tool_usage("%s", why.text);
	if (status < 0)
		status = check_options(&s, exporter);
	if (status < 0 && confine_offline(&why))
		status = tool_fault(NULL, &why);
	if (status < 0)
		status = s.diff ? compare_captures(&s, paths) : replay_capture(&s, paths[0], exporter);
	free(s.trust_files);
	return tool_finish(status);
}
