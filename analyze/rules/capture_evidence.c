// SPDX-License-Identifier: Apache-2.0
/* The capture itself: what it lacks, and what is odd about it. */
#include <stdlib.h>
#include <string.h>

#include "analyze/rules/capture_evidence.h"
#include "format/base/units.h"

enum { SET_STEP };

static const struct setting settings[] = {
	[SET_STEP] =
		{"step", SETTING_NS, 20000000, 1000000, 1000000000000000,
		 "the wall clock was set if it moved by so much more or less than the boot clock between two seals; "
		 "keeping time with NTP moves it by half a millisecond a second at most"},
};

#define NAMED_PROBES 8
#define SKIPPED_FACT "probe_runs_skipped" /* as gpurec calls it */
#define SKIPPED_UNTOLD "not known" /* where the kernel did not say; no finding, but reported as what was not seen */

#define SUSPENDED_FACT "suspended_ns" /* how long the machine had been suspended, ever, when the capture begins */

/* What rows say about the recording; all else is in the seals. */
struct seen {
	uint64_t begin_mono_ns; /* the monotonic clock when the capture begins; 0: not known */
	uint64_t nrefused;      /* functions of libraries that could not be probed */
	uint64_t refused[NAMED_PROBES];
	struct moments moments;
	struct text skipped; /* probe runs that the kernel left out, as the recorder reported them */
};

static bool reports_of_skipped(const struct event *ev)
{
	return ev->kind == KIND_fact && event_text_is(ev, F_fact_name, SKIPPED_FACT) && ev->text[F_fact_value] &&
	       !event_text_is(ev, F_fact_value, SKIPPED_UNTOLD);
}

/* The header's clocks, which lack the monotonic one. */
static void take_suspended(struct seen *seen, const struct context *ctx, const struct event *ev)
{
	uint64_t begin_ns = ctx->reader ? ctx->reader->header.start_boot_ns : 0, suspended_ns;
	char digits[24] = "";
	size_t n = (size_t)ev->v[F_fact_value];

	if (ev->v[F_fact_at] != begin_ns || n >= sizeof(digits) || !ev->text[F_fact_value])
		return;
	memcpy(digits, ev->text[F_fact_value], n);
	if (n == 0 || strspn(digits, "0123456789") != n)
		return;
	suspended_ns = strtoull(digits, NULL, 10);
	if (suspended_ns < begin_ns)
		seen->begin_mono_ns = begin_ns - suspended_ns;
}

static int evidence_feed(void *state, const struct context *ctx, const uint64_t *set, const struct event *ev)
{
	struct seen *seen = state;

	(void)set;
	if (ev->kind == KIND_fact && event_text_is(ev, F_fact_name, SUSPENDED_FACT))
		take_suspended(seen, ctx, ev);
	if (ev->kind == KIND_attach && ev->v[F_attach_error] != 0) {
		if (seen->nrefused < NAMED_PROBES)
			seen->refused[seen->nrefused] = ev->v[F_attach_probe];
		seen->nrefused++;
	}
	if (moments_feed(&seen->moments, ctx->schema, ev) < 0)
		return ERR_MEMORY;
	if (reports_of_skipped(ev))
		text_add_escaped(&seen->skipped, ev->text[F_fact_value], ev->v[F_fact_value]);
	return seen->skipped.failed ? ERR_MEMORY : 0;
}

struct finding *evidence_report(struct findings *out, enum severity severity, const char *class)
{
	struct finding *f = rule_finding(out, &evidence_rule, class, CONFIDENCE_HIGH);

	f->severity = severity;
	return f;
}

struct finding *evidence_counted(const struct context *ctx, struct findings *out, enum severity severity,
				 const char *class,
				 bool (*counts)(const struct schema *, const struct counter *, const void *),
				 const char *what)
{
	uint32_t n;
	const struct counter *counters = reader_counters(ctx->reader, ctx->reader->nepochs, &n);
	uint64_t fired = losses_fired(ctx->schema, counters, n);
	struct finding *f = NULL;
	struct losses l = {0};

	out->failed |= !losses_collect(&l, ctx->schema, counters, n, counts, NULL);
	if (l.total) {
		f = evidence_report(out, severity, class);
		f->count = f->weight = l.total;
		f->unit = WEIGHT_EVENTS;
		text_add(&f->headline, "%llu %s:", (unsigned long long)l.total, what);
		losses_add(&l, NAMED_PROBES, &f->headline);
		text_add(&f->sure, "High confidence: the seals of the capture count them");
		text_add(&f->cost, "That is ");
		text_add_percent(&f->cost, l.total, fired);
		text_add(&f->cost, " %% of all that happened (%llu events)", (unsigned long long)fired);
	}
	losses_clear(&l);
	return f;
}

/* Left out on purpose. From half of all on, what is there is a sample, and what was found in it too. */
static void report_reduced(const struct context *ctx, struct findings *out)
{
	uint32_t n;
	const struct counter *counters = reader_counters(ctx->reader, ctx->reader->nepochs, &n);
	struct finding *f = evidence_counted(ctx, out, SEVERITY_INFO, "reduced", loss_on_purpose,
					     "events were left out on purpose (--sample, --max-rate)");

	if (!f)
		return;
	if (f->count > losses_fired(ctx->schema, counters, n) / 2)
		f->severity = SEVERITY_WARNING;
	text_add(&f->advice,
		 "Counts and times are of what was recorded: multiply with care, or record without the limit");
	finding_number(f, "events", f->count);
}

/* "; why: no room in the ring (12)"; the cause with most of them. */
static uint8_t report_causes(const struct context *ctx, struct text *t)
{
	uint64_t sums[256] = {0};
	uint32_t n;
	const struct counter *counters = reader_counters(ctx->reader, ctx->reader->nepochs, &n);
	uint8_t worst = 0;
	bool first = true;

	for (uint32_t i = 0; i < n; i++)
		sums[counters[i].id] += loss_of_events(ctx->schema, &counters[i], NULL) ? counters[i].value : 0;
	for (unsigned id = 0; id < 256; id++) {
		if (sums[id] == 0)
			continue;
		text_add(t, "%s%s (%llu)", first ? "; why: " : ", ",
			 counter_words(schema_counter(ctx->schema, (uint8_t)id)), (unsigned long long)sums[id]);
		worst = sums[id] > sums[worst] ? (uint8_t)id : worst;
		first = false;
	}
	return worst;
}

static void report_losses(const struct context *ctx, struct findings *out)
{
	struct finding *f =
		evidence_counted(ctx, out, SEVERITY_WARNING, "lost-rows", loss_of_events, "events were lost");

	if (!f)
		return;
	text_add(&f->headline, "; those intervals appear as unknown");
	text_add(&f->advice, "%s", loss_remedy(report_causes(ctx, &f->cost)));
	finding_number(f, "lost", f->count);
}

static void report_not_attached(const struct context *ctx, struct findings *out)
{
	uint64_t n = reader_sum(ctx->reader, ctx->reader->nepochs, loss_not_attached, NULL);
	struct finding *f;

	if (!n)
		return;
	f = evidence_report(out, SEVERITY_WARNING, "not-attached");
	f->count = f->weight = n;
	f->unit = WEIGHT_EVENTS;
	text_add(&f->headline,
		 "%llu librar%s had no probes, or not all, for a while: calls that were made in %s then are not in the "
		 "capture",
		 (unsigned long long)n, n == 1 ? "y" : "ies", n == 1 ? "it" : "them");
	text_add(&f->sure, "High confidence: the seals of the capture count each time that a process mapped one");
	text_add(&f->cost, "How many calls that were is not known");
	text_add(&f->advice, "The `library` rows and the facts `library_not_attached` list which, how long and why");
	finding_number(f, "libraries", n);
}

/* "a\nb\n" as "a; b". */
static void add_joined(struct text *t, const struct text *lines)
{
	for (size_t i = 0; i + 1 < lines->len; i++)
		text_add_bytes(t, lines->s[i] == '\n' ? "; " : lines->s + i, lines->s[i] == '\n' ? 2 : 1);
}

/* What the recorder says that it could not see: a finding for each thing that can be done about it. */
static void report_blind(const struct context *ctx, struct findings *out)
{
	const struct about *about = &ctx->names->about;
	struct text lines = {0};

	for (unsigned sort = 0; sort < BLIND_SORTS; sort++) {
		const char *advice = blind_advice((enum blind_sort)sort);
		struct finding *f;

		text_clear(&lines);
		if (!*advice)
			continue;
		about_blind(about, (enum blind_sort)sort, &lines);
		out->failed |= lines.failed;
		if (lines.len == 0)
			continue;
		f = evidence_report(out, (enum severity)blind_severity(about, (enum blind_sort)sort), "blind");
		text_add(&f->headline, "Not seen: ");
		add_joined(&f->headline, &lines);
		text_add(&f->sure, "High confidence: the recorder itself recorded it");
		text_add(&f->cost, "What happened there is not in the capture, nor counted as lost");
		text_add(&f->advice, "%s", advice);
	}
	text_clear(&lines);
}

/* What was read with --unverified is not all that there is. */
static void report_unread(const struct context *ctx, struct findings *out)
{
	struct finding *f;

	if (!ctx->stopped)
		return;
	f = evidence_report(out, SEVERITY_ERROR, "unread");
	text_add(&f->headline, "Only ");
	text_add_escaped(&f->headline, ctx->stopped->text, strlen(ctx->stopped->text));
	text_add(&f->sure, "Whatever the program did after that place is unknown");
	text_add(&f->advice, "Get the capture again from its source, and compare its hash");
}

static void report_refused(const struct seen *seen, const struct context *ctx, struct findings *out)
{
	struct finding *f;

	if (seen->nrefused == 0)
		return;
	f = evidence_report(out, SEVERITY_WARNING, "not-probed");
	f->count = f->weight = seen->nrefused;
	f->unit = WEIGHT_EVENTS;
	text_add(&f->headline, "%llu function%s could not be probed, and calls of %s are not in the capture:",
		 (unsigned long long)seen->nrefused, plural(seen->nrefused), seen->nrefused == 1 ? "it" : "them");
	for (uint64_t i = 0; i < seen->nrefused && i < NAMED_PROBES; i++)
		text_add(&f->headline, "%s %s", i ? "," : "", call_name(ctx->schema, seen->refused[i]));
	if (seen->nrefused > NAMED_PROBES)
		text_add(&f->headline, " and %llu others", (unsigned long long)(seen->nrefused - NAMED_PROBES));
	text_add(&f->sure, "High confidence: the recorder itself recorded it");
	text_add(&f->cost, "Their calls were made and are not there, nor counted as lost");
	text_add(&f->advice, "The `attach` rows list the files, and why");
	finding_number(f, "functions", seen->nrefused);
}

static void report_skipped(const struct seen *seen, struct findings *out)
{
	struct finding *f;

	if (seen->skipped.len == 0)
		return;
	f = evidence_report(out, SEVERITY_INFO, "runs-skipped");
	text_add(&f->headline,
		 "The kernel left out runs of probes that fired inside themselves, somewhere on the host (%s); "
		 "whether recorded threads were concerned is not known",
		 text_string(&seen->skipped));
	text_add(&f->sure, "Sure that it happened: the kernel counts it; not to whom");
	text_add(&f->advice, "Find what else traces this host (other BPF programs, perf), and record without it");
}

static void report_withheld(const struct context *ctx, struct findings *out)
{
	uint64_t n[CLASSES_MAX + 1] = {0}, total = 0;
	bool first = true;
	struct finding *f;

	for (uint64_t e = 0; e < ctx->reader->nepochs; e++) {
		const struct epoch *epoch = &ctx->reader->epochs[e];

		for (uint32_t i = 0; i < epoch->nchunks; i++) {
			if (!epoch->chunks[i].withheld)
				continue;
			n[epoch->chunks[i].class < CLASSES_MAX ? epoch->chunks[i].class : CLASSES_MAX]++;
			total++;
		}
	}
	if (total == 0)
		return;
	f = evidence_report(out, SEVERITY_INFO, "withheld");
	f->count = f->weight = total;
	f->unit = WEIGHT_EVENTS;
	text_add(&f->headline, "%llu chunks were withheld by the sender of the capture:", (unsigned long long)total);
	for (unsigned c = 0; c <= CLASSES_MAX; c++) {
		const char *name = c < CLASSES_MAX ? schema_class_name(ctx->schema, (uint8_t)c) : NULL;

		if (n[c] == 0)
			continue;
		text_add(&f->headline, "%s %llu of class %s", first ? "" : ",", (unsigned long long)n[c],
			 name ? name : "(unknown)");
		first = false;
	}
	text_add(&f->sure, "High confidence: their hashes are in the seals");
	text_add(&f->cost, "Their content is unknown here, and was not judged");
	text_add(&f->advice, "Ask them for the whole capture if that is needed");
	finding_number(f, "chunks", total);
}

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/* What one clock moved more than the other between two anchors; *forward: the first one did. */
static uint64_t drift(uint64_t a0, uint64_t a1, uint64_t b0, uint64_t b1, bool *forward)
{
	uint64_t da = a1 - a0, db = b1 - b0;

	*forward = (int64_t)(da - db) > 0;
	return distance(da, db) > INT64_MAX ? 0 - distance(da, db) : distance(da, db);
}

static void report_clock(const struct clock_anchor *a, const struct clock_anchor *b, const uint64_t *set,
			 struct findings *out)
{
	bool forward;
	uint64_t step_ns = drift(a->wall_ns, b->wall_ns, a->boot_ns, b->boot_ns, &forward);
	uint64_t slept_ns;
	struct finding *f;

	if (step_ns >= set[SET_STEP]) {
		f = evidence_report(out, SEVERITY_INFO, "clock-step");
		text_add(&f->headline, "The wall clock was set %s by ", forward ? "forward" : "back");
		text_add_ns(&f->headline, step_ns);
		text_add(&f->headline, " while recording; durations are not touched by it, wall-clock times are");
		finding_number(f, "boot_ns", b->boot_ns);
		finding_number(f, "step_ns", step_ns);
		finding_bool(f, "forward", forward);
		f->weight = step_ns;
	}
	slept_ns = drift(b->boot_ns, a->boot_ns, b->mono_ns, a->mono_ns, &forward);
	if (a->mono_ns == 0 || b->mono_ns == 0 || forward || slept_ns < set[SET_STEP])
		return;
	f = evidence_report(out, SEVERITY_INFO, "suspended");
	text_add(&f->headline, "The machine was suspended for ");
	text_add_ns(&f->headline, slept_ns);
	text_add(&f->headline, " while recording; calls that were open then took that much longer");
	finding_number(f, "boot_ns", b->boot_ns);
	finding_number(f, "suspended_ns", slept_ns);
	f->weight = slept_ns;
}

static void report_clocks(const struct seen *seen, const struct context *ctx, const uint64_t *set, struct findings *out)
{
	const struct reader *r = ctx->reader;
	struct clock_anchor last = {
		.boot_ns = r->header.start_boot_ns, .wall_ns = r->header.start_wall_ns, .mono_ns = seen->begin_mono_ns};

	for (uint64_t e = 0; e < r->nepochs; e++) {
		report_clock(&last, &r->epochs[e].anchor, set, out);
		last = r->epochs[e].anchor;
	}
	if (r->tail == TAIL_END)
		report_clock(&last, &r->end.anchor, set, out);
}

static void evidence_finish(void *state, const struct context *ctx, const uint64_t *set, struct findings *out)
{
	const struct seen *seen = state;
	struct finding *f;

	if (!ctx->reader)
		return;
	if (ctx->unverified) {
		f = evidence_report(out, ctx->damaged ? SEVERITY_ERROR : SEVERITY_WARNING, "unverified");
		text_add(&f->headline,
			 "This capture is no evidence: it was read with --unverified, and anybody may have "
			 "written its content");
		text_add(&f->sure, "The signature is invalid or was not checked");
	}
	report_unread(ctx, out);
	if (ctx->unsealed) {
		f = evidence_report(out, SEVERITY_WARNING, "unsealed");
		text_add(&f->headline,
			 "The capture stops without an end seal (a crash, a cut): what came after its last "
			 "seal is not in it");
		text_add(&f->sure, "High confidence: the seals are numbered, and the last one is missing");
	}
	report_losses(ctx, out);
	report_reduced(ctx, out);
	evidence_processes(&seen->moments, ctx, out);
	report_blind(ctx, out);
	report_not_attached(ctx, out);
	report_refused(seen, ctx, out);
	report_skipped(seen, out);
	report_withheld(ctx, out);
	report_clocks(seen, ctx, set, out);
}

static void evidence_clear(void *state)
{
	struct seen *seen = state;

	text_clear(&seen->skipped);
	moments_clear(&seen->moments);
}

const struct rule evidence_rule = {
	.name = "evidence",
	.severity = SEVERITY_INFO,
	.summary = "the capture itself: what was lost, left out, withheld, not probed or not seen, what still ran, a "
		   "missing end, clock steps",
	.meaning =
		"Something about the capture itself limits what it can prove: events that were lost or left out, parts "
		"withheld, functions that could not be probed, processes or libraries that the recorder could not look "
		"at, tracepoints that the kernel does not have, clocks that were set, calls that never returned, "
		"processes that went on when recording ended, or no call at all.",
	.wrong = "Runs of probes that the kernel skipped are counted for the whole host. A call that had not returned "
		 "may have been about to.",
	.remedy = "By what is missing: a bigger buffer (--ring) or fewer processes, more rights, another kernel, or "
		  "the whole capture.",
	RULE_SETTINGS(settings),
	.kinds = {KIND_attach, KIND_fact, KIND_state, KIND_in_flight, KIND_thread_stack, 0},
	.state_size = sizeof(struct seen),
	.feed = evidence_feed,
	.finish = evidence_finish,
	.close = evidence_clear,
};
