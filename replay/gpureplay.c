/* SPDX-License-Identifier: Apache-2.0 */
/* gpureplay: a capture's events, as text, lines of JSON, or whatever the name of the output says. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "keys/confine.h"
#include "keys/tool.h"
#include "replay/exporter.h"
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
	OPT_TIME,
	OPT_TRUST,
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
	{"time", 0, "CLOCK", "how text shows time: relative (the default), boot or wall", OPT_TIME},
	{"trust", 0, "PUB", "trust this public key file, too; may be repeated", OPT_TRUST},
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
	const char *kinds, *output;
	bool force, json, unverified;
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
	case OPT_TIME:
		return read_clock(&s->clock, value);
	case OPT_TRUST:
		s->trust_files[s->ntrust_files++] = value;
		return -1;
	case OPT_UNVERIFIED:
		s->unverified = true;
		return -1;
	}
	return -1;
}

static int read_options(struct settings *s, int argc, char **argv, const char **path)
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
	if (argc - operands != 1)
		return operands == argc ? tool_usage("which capture? No file was named")
					: tool_usage("one capture at a time: '%s' is one too many", argv[operands + 1]);
	if (s->json && s->output)
		return tool_usage("--json is for standard output; with -o the name's ending says what to write");
	*path = argv[operands];
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
	int r = target_open(&target, s->output, s->force, &why), walked;

	if (r)
		return tool_fault(NULL, &why);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaction(signals[i], &action, NULL);
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

static int write_stdout(const struct settings *s, const struct replay *replay)
{
	struct fault why;
	int r = (s->json ? jsonl_write : text_write)(replay, STDOUT_FILENO, &why);

	if (r == 0)
		return TOOL_FINE;
	tool_fault(r > 0 ? "the events end early" : NULL, &why);
	return status_of(r);
}

static int replay_capture(struct settings *s, const char *path, const struct exporter *exporter)
{
	const struct evidence_options o = {
		.trust_files = s->trust_files, .ntrust_files = s->ntrust_files, .unverified = s->unverified};
	struct evidence e;
	struct replay replay = {.evidence = &e, .filter = &s->filter, .clock = s->clock, .unverified = s->unverified};
	char sentence[512];
	struct fault why;
	int status;

	if (evidence_judge(&e, path, &o, &why)) {
		status = tool_fault(NULL, &why);
		goto out;
	}
	if (!evidence_acceptable(&e, &o, &why)) {
		tool_fault(path, &why);
		status = e.verification.verdict == VERDICT_UNCHECKED ? TOOL_FAILED : TOOL_BAD;
		goto out;
	}
	status = complete_filter(s, &e.reader);
	if (status >= 0)
		goto out;
	evidence_sentence(&e, sentence, sizeof(sentence));
	tool_note("%s: %s", path, sentence);
	status = exporter ? write_file(s, &replay, exporter) : write_stdout(s, &replay);
out:
	evidence_close(&e);
	return status;
}

/* The lines of --help about -o, from the table of exporters. */
static void describe_exporters(char *buf, size_t size)
{
	size_t used = (size_t)snprintf(buf, size, "-o FILE writes, by the ending of FILE:\n");

	for (const struct exporter *e = exporters(); e->suffix && used < size; e++)
		used += (size_t)snprintf(buf + used, size - used, "  %-8s %s\n", e->suffix, e->what);
}

int main(int argc, char **argv)
{
	static struct settings s;
	const struct exporter *exporter = NULL;
	const char *path = NULL;
	char more[1024];
	struct fault why;
	int status;

	tool_init("gpureplay");
	describe_exporters(more, sizeof(more));
	options.more = more;
	s.trust_files = calloc((size_t)argc, sizeof(*s.trust_files));
	if (!s.trust_files) {
		tool_error("out of memory");
		return TOOL_FAILED;
	}
	status = read_options(&s, argc, argv, &path);
	if (status < 0 && s.output && exporter_for(&exporter, s.output, &why))
		status = tool_usage("%s", why.text);
	if (status < 0 && confine_offline(&why))
		status = tool_fault(NULL, &why);
	if (status < 0)
		status = replay_capture(&s, path, exporter);
	free(s.trust_files);
	return tool_finish(status);
}
