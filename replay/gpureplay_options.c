/* SPDX-License-Identifier: Apache-2.0 */
/* gpureplay's command line. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/escape.h"
#include "format/base/units.h"
#include "keys/tool/tool.h"
#include "replay/gpureplay_internal.h"
#include "replay/narrowed.h"

static const char *const clocks[] = {
	[REPLAY_RELATIVE] = "relative", [REPLAY_BOOT] = "boot", [REPLAY_WALL] = "wall", NULL};

static int take_id(uint32_t *ids, size_t *n, const char *text, struct fault *why)
{
	uint64_t id;

	if (*n == FILTER_IDS_MAX)
		return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "at most %d of them", FILTER_IDS_MAX);
	if (number_parse(text, 0, UINT32_MAX, &id, why))
		return ERR_INPUT;
	ids[(*n)++] = (uint32_t)id;
	return 0;
}

static int take_pid(void *settings, const char *value, struct fault *why)
{
	struct filter *f = &((struct settings *)settings)->filter;

	return take_id(f->pids, &f->npids, value, why);
}

static int take_tid(void *settings, const char *value, struct fault *why)
{
	struct filter *f = &((struct settings *)settings)->filter;

	return take_id(f->tids, &f->ntids, value, why);
}

static int take_from(void *settings, const char *value, struct fault *why)
{
	return moment_parse(&((struct settings *)settings)->from, value, why);
}

static int take_to(void *settings, const char *value, struct fault *why)
{
	return moment_parse(&((struct settings *)settings)->to, value, why);
}

/*
 * Why a condition cannot be used: the sentence, and below it the condition with a mark under the place. What is shown
 * is escaped, so the mark comes after as many characters as the part before the place has then.
 */
static int report_where(const char *text, const struct fault *why)
{
	char before[WHERE_TEXT_MAX * ESCAPE_GROWTH + 1];
	size_t len = strlen(text), at = why->offset < len ? (size_t)why->offset : len, column = 0, place = 1;
	int status;

	for (size_t i = 0; i < at; i++)
		place += (text[i] & 0xc0) != 0x80;
	status = tool_usage("--where: %s: at character %zu", why->text, place);
	if (len > WHERE_TEXT_MAX)
		return status;
	escape_terminal(before, sizeof(before), text, at);
	for (const char *c = before; *c; c++)
		column += (*c & 0xc0) != 0x80;
	tool_error("  %s", text);
	tool_error("  %*s^", (int)column, "");
	return status;
}

static int take_where(void *settings, const char *value, struct fault *why)
{
	struct settings *s = settings;
	int r;

	if (s->where)
		return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "one condition; put 'and' between two");
	r = where_parse(&s->where, value, why);
	return r && r != ERR_MEMORY ? report_where(value, why) : r;
}

static int take_speed(void *settings, const char *value, struct fault *why)
{
	return pace_parse_speed(&((struct settings *)settings)->pace.thousandths, value, why);
}

#define AT(member) .at = offsetof(struct settings, member)

static const struct tool_option table[] = {
	{"output", 'o', "FILE", "write FILE; its suffix selects the format (below)", TOOL_FILE, AT(output)},
	{"force", 0, NULL, "replace FILE if it is there", TOOL_SET, AT(force)},
	{"json", 0, NULL, "lines of JSON on standard output", TOOL_SET, AT(json)},
	{"kind", 0, "KIND,...", "only these kinds of events", TOOL_TEXT, AT(kinds)},
	{"pid", 0, "PID", "only events of this process; may be repeated", TOOL_CALL, .take = take_pid},
	{"tid", 0, "TID", "only what this thread takes part in; may be repeated", TOOL_CALL, .take = take_tid},
	{"from", 0, "TIME", "only from then on: 1.4s or +12.5 after the start, or 2026-09-21T14:13:20Z", TOOL_CALL,
	 .take = take_from},
	{"to", 0, "TIME", "only before then", TOOL_CALL, .take = take_to},
	{"where", 0, "CONDITION", "only where this holds: 'kind=launch and dur>1ms' (below)", TOOL_CALL,
	 .take = take_where},
	{"withhold", 0, "CLASS,...", "with -o FILE.cap: leave these classes of content out (below)", TOOL_TEXT,
	 AT(withhold)},
	{"time", 0, "CLOCK", "how time is shown: relative (text's default), boot or wall", TOOL_WORD, AT(clock),
	 .words = clocks},
	{"speed", 0, "SPEED", "show events as they happened: 1x, 10x or 0.5x as fast", TOOL_CALL, .take = take_speed},
	{"gap", 0, "DURATION", "with --speed: wait at most so long between two events", TOOL_DURATION, AT(pace.gap_ns),
	 .min = 1},
	{"diff", 0, NULL, "what changed from one capture to another: --diff A.cap B.cap", TOOL_SET, AT(diff)},
	{"exit-code", 0, NULL, "with --diff: exit with 1 if a change is more than noise, 3 if there is too little data",
	 TOOL_SET, AT(exit_code)},
	TOOL_VERBOSE("with --diff: show all comparisons"),
	{"trust", 0, "PUB",
	 "trust this public key file to record, too; vouch:PUB and so on: see gpukey(1); may be repeated", TOOL_LIST,
	 AT(trust)},
	{"delegation", 0, "FILE", "believe this delegation by a trusted key; may be repeated", TOOL_LIST,
	 AT(delegations)},
	{"unverified", 0, NULL, "read what does not verify all the same; every output is marked", TOOL_SET,
	 AT(unverified)},
	{0},
};

static struct tool_options options = {
	.synopsis = "[OPTION]... FILE\n[OPTION]... FILE -o OUT\n",
	.summary = "Show the events of a capture in time order, or turn it into something else.",
	.table = table,
};

/* The captures that were named, in paths[2]. -1, or the status to leave with. */
static int read_operands(const struct settings *s, int n, char **operands, const char **paths)
{
	if (s->diff && n != 2)
		return tool_usage("--diff compares two captures: %d %s named", n, n == 1 ? "was" : "were");
	if (!s->diff && n != 1)
		return n == 0 ? tool_usage("missing operand: a capture file")
			      : tool_usage("unexpected argument '%s': one capture at a time", operands[1]);
	for (int i = 0; i < n; i++)
		paths[i] = operands[i];
	return -1;
}

static int read_options(struct settings *s, int argc, char **argv, const char **paths)
{
	int operands = 0, status = tool_read_options(&options, false, argc, argv, s, &operands);

	if (s->output && !strcmp(s->output, "-"))
		s->output = NULL;
	if (status < 0)
		status = read_operands(s, argc - operands, argv + operands, paths);
	if (status >= 0)
		return status;
	if (s->exit_code && !s->diff)
		return tool_usage("--exit-code goes with --diff");
	if (s->diff && s->output)
		return tool_usage("--diff writes to standard output, so that -o has no meaning with it");
	if (s->pace.thousandths && (s->diff || s->output))
		return tool_usage("--speed is for events on standard output: it does not go with %s",
				  s->diff ? "--diff" : "-o");
	if (s->pace.gap_ns && !s->pace.thousandths)
		return tool_usage("--gap goes with --speed");
	if (s->json && s->output)
		return tool_usage("--json is for standard output; with -o the name's suffix selects the format");
	return -1;
}

int settings_complete(struct settings *s, const struct reader *r)
{
	const uint64_t start_ns = r->header.start_boot_ns;
	struct fault why;

	s->filter.from_ns = s->from.given ? moment_boot_ns(&s->from, r) : 0;
	s->filter.to_ns = s->to.given ? moment_boot_ns(&s->to, r) : NO_TIME;
	if (s->filter.from_ns >= s->filter.to_ns)
		return tool_usage("--from is not before --to: nothing lies between them");
	if (s->kinds && filter_add_kinds(&s->filter, &r->header.schema, s->kinds, &why))
		return tool_usage("--kind: %s", why.text);
	if (s->where) {
		int bad = where_bind(s->where, &r->header.schema, start_ns, &why);

		if (bad)
			return bad == ERR_MEMORY ? tool_fault(NULL, &why) : report_where(where_text(s->where), &why);
		s->filter.where = s->where;
	}
	return -1;
}

/* Options that do not go together, before anything is opened. -1, or the status to leave with. */
static int check_options(const struct settings *s, const struct exporter *exporter)
{
	bool sliced = s->from.given || s->to.given;

	if (!is_narrowing(exporter))
		return s->withhold ? tool_usage("--withhold is for a narrower capture: -o FILE.cap") : -1;
	if (s->kinds || s->where || s->filter.ntids || s->clock != CLOCK_NONE)
		return tool_usage("a narrower capture is cut between chunks, not events: of the filters it takes only "
				  "--from, --to, --pid and --withhold");
	if (!sliced && !s->withhold && !s->filter.npids)
		return tool_usage("a narrower capture than FILE: what is to be left out? Give --withhold, --from, --to "
				  "or --pid");
	return -1;
}

int settings_complete_narrowing(const struct settings *s, struct replay *replay)
{
	struct fault why;

	if (!s->withhold)
		return -1;
	if (narrowed_add_classes(&replay->withhold, &replay->evidence->reader.header.schema, s->withhold, &why))
		return tool_usage("--withhold: %s", why.text);
	if (replay->withhold >> CLASS_events & 1 && (s->from.given || s->to.given))
		return tool_usage("--withhold events leaves no event for --from and --to to choose from: use one or "
				  "the other");
	return -1;
}

/* The lines of --help about -o, from the table of exporters, about --withhold and --where. */
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
		used += (size_t)snprintf(buf + used, size - used, "\n");
	if (used < size)
		snprintf(buf + used, size - used,
			 "--where CONDITION: FIELD = != < <= > >= ~ VALUE, joined by and, or, not and parentheses.\n"
			 "  FIELD   one of an event's (dur, ret, bytes, alloc.bytes, ...), or kind, call, process, "
			 "thread\n"
			 "  VALUE   5, 0x7f00, 1.5ms, 64M, a word (memory=pinned) or \"a text\"; ~ asks for a part of "
			 "a text\n"
			 "Exit status: 0 fine; 1 the capture was refused; 2 wrong usage; 3 it could not be done.\n");
}

int settings_read(struct settings *s, int argc, char **argv, const struct exporter **exporter, const char **paths)
{
	char more[3072];
	struct fault why;
	int status;

	describe_exporters(more, sizeof(more));
	options.more = more;
	s->clock = CLOCK_NONE;
	status = read_options(s, argc, argv, paths);
	options.more = NULL;
	if (status < 0 && s->output && exporter_for(exporter, s->output, &why))
		status = tool_usage("%s", why.text);
	return status < 0 ? check_options(s, *exporter) : status;
}

void settings_clear(struct settings *s)
{
	tool_list_clear(&s->trust);
	tool_list_clear(&s->delegations);
	where_free(s->where);
	s->where = NULL;
}
