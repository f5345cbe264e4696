// SPDX-License-Identifier: Apache-2.0
/* The capture itself: what it lacks, and what is odd about it. */
#include <stdlib.h>
#include <string.h>

#include "analyze/rule.h"

enum { SET_STEP };

static const struct setting settings[] = {
	[SET_STEP] =
		{"step", SETTING_NS, 20000000, 1000000, 1000000000000000,
		 "the wall clock was set if it moved by so much more or less than the boot clock between two seals; "
		 "keeping time with NTP moves it by half a millisecond a second at most"},
};

static int no_memory(struct fault *why)
{
	return fault_set(why, ERR_MEMORY, FAULT_NOWHERE, "out of memory in rule evidence");
}

#define NAMED_PROBES 8
#define SKIPPED_FACT "probe_runs_skipped" /* as gpurec calls it */

/* What rows tell of the recording; all else stands in the seals. */
struct seen {
	uint64_t nrefused; /* functions of libraries that could not be probed */
	uint16_t refused[NAMED_PROBES];
	struct text skipped; /* probe runs that the kernel left out, as the recorder told them */
};

static int evidence_open(void **state, struct fault *why)
{
	*state = calloc(1, sizeof(struct seen));
	return *state ? 0 : no_memory(why);
}

static bool is_fact(const struct event *ev, const char *name)
{
	return ev->text[F_fact_name] && ev->v[F_fact_name] == strlen(name) &&
	       memcmp(ev->text[F_fact_name], name, strlen(name)) == 0;
}

static int evidence_feed(void *state, const struct context *ctx, const uint64_t *set, const struct event *ev,
			 struct fault *why)
{
	struct seen *seen = state;

	(void)ctx, (void)set;
	if (ev->kind == KIND_attach && ev->v[F_attach_error] != 0) {
		if (seen->nrefused < NAMED_PROBES)
			seen->refused[seen->nrefused] = (uint16_t)ev->v[F_attach_probe];
		seen->nrefused++;
	}
	if (ev->kind == KIND_fact && is_fact(ev, SKIPPED_FACT) && ev->text[F_fact_value])
		text_add_escaped(&seen->skipped, ev->text[F_fact_value], ev->v[F_fact_value]);
	return seen->skipped.failed ? no_memory(why) : 0;
}

static struct finding *tell(struct findings *out, enum severity severity, const char *class)
{
	struct finding *f = findings_add(out);

	if (!f)
		return NULL;
	f->rule = evidence_rule.name;
	f->class = class;
	f->severity = severity;
	f->confidence = CONFIDENCE_HIGH;
	return f;
}

static bool any_text_failed(const struct finding *f)
{
	return f->headline.failed || f->advice.failed;
}

/*
 * Calls open when recording began or ended, or left without returning, are lost on any host: shown, but no finding.
 * What was left out on purpose is a finding of its own.
 */
static bool is_alarming(const struct schema *schema, const struct counter *c)
{
	static const uint8_t ordinary[] = {COUNTER_no_entry,  COUNTER_thread_exit, COUNTER_in_flight,
					   COUNTER_no_return, COUNTER_sampled_out, COUNTER_over_rate};
	const struct counter_type *type = schema_counter(schema, c->id);

	return type && type->role == ROLE_LOST && !memchr(ordinary, c->id, sizeof(ordinary));
}

/* The last that is told of the counters. */
static const struct counter *last_counters(const struct reader *r, uint32_t *n)
{
	const struct epoch *last = r->nepochs ? &r->epochs[r->nepochs - 1] : NULL;

	*n = r->tail == TAIL_END ? r->end.ncounters : last ? last->ncounters : 0;
	return r->tail == TAIL_END ? r->end.counters : last ? last->counters : NULL;
}

static bool is_left_out(const struct schema *schema, const struct counter *c)
{
	(void)schema;
	return c->id == COUNTER_sampled_out || c->id == COUNTER_over_rate;
}

/* A GPU call that had not returned when recording ended: a hang looks like that. Sleeps in futexes always do. */
static bool is_open_call(const struct schema *schema, const struct counter *c)
{
	const struct probe *p = c->id == COUNTER_in_flight ? schema_probe(schema, c->probe) : NULL;
	const struct kind *kind = p ? schema_kind(schema, p->kind) : NULL;

	return kind && (kind->flags & KIND_CALL) == KIND_CALL;
}

/* A finding that adds up some counters and names the probes: `what` is the sentence's begin. */
static int tell_counted(const struct context *ctx, struct findings *out,
			bool (*counts)(const struct schema *schema, const struct counter *c), const char *class,
			const char *what, const char *advice, struct fault *why)
{
	uint32_t n;
	const struct counter *counters = last_counters(ctx->reader, &n);
	uint64_t total = 0;
	unsigned told = 0;
	struct finding *f;

	for (uint32_t i = 0; i < n; i++)
		total += counts(ctx->schema, &counters[i]) ? counters[i].value : 0;
	if (total == 0)
		return 0;
	f = tell(out, SEVERITY_INFO, class);
	if (!f)
		return no_memory(why);
	f->count = f->weight = total;
	f->unit = WEIGHT_EVENTS;
	text_add(&f->headline, "%llu %s:", (unsigned long long)total, what);
	for (uint32_t i = 0; i < n && told < NAMED_PROBES; i++)
		if (counts(ctx->schema, &counters[i]) && counters[i].value)
			text_add(&f->headline, "%s %llu of %s", told++ ? "," : "",
				 (unsigned long long)counters[i].value, call_name(ctx->schema, counters[i].probe));
	text_add(&f->advice, "%s", advice);
	finding_number(f, "events", total);
	return any_text_failed(f) ? no_memory(why) : 0;
}

static int tell_losses(const struct context *ctx, struct findings *out, struct fault *why)
{
	uint32_t n;
	const struct counter *counters = last_counters(ctx->reader, &n);
	uint64_t total = 0;
	unsigned told = 0;
	struct finding *f;

	for (uint32_t i = 0; i < n; i++)
		total += is_alarming(ctx->schema, &counters[i]) ? counters[i].value : 0;
	if (total == 0)
		return 0;
	f = tell(out, SEVERITY_WARNING, "lost-rows");
	if (!f)
		return no_memory(why);
	f->count = f->weight = total;
	f->unit = WEIGHT_EVENTS;
	text_add(&f->headline, "%llu events happened and were not recorded:", (unsigned long long)total);
	for (uint32_t i = 0; i < n && told < 8; i++) {
		const struct counter_type *type = schema_counter(ctx->schema, counters[i].id);

		if (!is_alarming(ctx->schema, &counters[i]))
			continue;
		text_add(&f->headline, "%s %llu of %s (%s)", told ? "," : "", (unsigned long long)counters[i].value,
			 call_name(ctx->schema, counters[i].probe), type->name);
		told++;
	}
	text_add(&f->headline, "; what happened then is told as unknown");
	text_add(&f->advice, "Record with a bigger ring, fewer processes, or without futex recording");
	finding_number(f, "lost", total);
	return any_text_failed(f) ? no_memory(why) : 0;
}

static int tell_refused(const struct seen *seen, const struct context *ctx, struct findings *out, struct fault *why)
{
	struct finding *f;

	if (seen->nrefused == 0)
		return 0;
	f = tell(out, SEVERITY_WARNING, "not-probed");
	if (!f)
		return no_memory(why);
	f->count = f->weight = seen->nrefused;
	f->unit = WEIGHT_EVENTS;
	text_add(&f->headline, "%llu functions could not be probed, and their calls are not in the capture:",
		 (unsigned long long)seen->nrefused);
	for (uint64_t i = 0; i < seen->nrefused && i < NAMED_PROBES; i++)
		text_add(&f->headline, "%s %s", i ? "," : "", call_name(ctx->schema, seen->refused[i]));
	if (seen->nrefused > NAMED_PROBES)
		text_add(&f->headline, " and others");
	text_add(&f->advice, "The `attach` rows say which files, and why the kernel refused");
	finding_number(f, "functions", seen->nrefused);
	return any_text_failed(f) ? no_memory(why) : 0;
}

static int tell_skipped(const struct seen *seen, struct findings *out, struct fault *why)
{
	struct finding *f;

	if (seen->skipped.len == 0)
		return 0;
	f = tell(out, SEVERITY_INFO, "runs-skipped");
	if (!f)
		return no_memory(why);
	text_add(&f->headline,
		 "the kernel left out runs of probes that fired inside themselves, somewhere on the host (%s); "
		 "whether recorded threads were concerned is not known",
		 text_string(&seen->skipped));
	text_add(&f->advice, "Find what else traces this host (other BPF programs, perf), and record without it");
	return any_text_failed(f) ? no_memory(why) : 0;
}

static int tell_withheld(const struct context *ctx, struct findings *out, struct fault *why)
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
		return 0;
	f = tell(out, SEVERITY_INFO, "withheld");
	if (!f)
		return no_memory(why);
	f->count = f->weight = total;
	f->unit = WEIGHT_EVENTS;
	text_add(&f->headline,
		 "%llu chunks were withheld by whoever passed the capture on:", (unsigned long long)total);
	for (unsigned c = 0; c <= CLASSES_MAX; c++) {
		const char *name = c < CLASSES_MAX ? schema_class_name(ctx->schema, (uint8_t)c) : NULL;

		if (n[c] == 0)
			continue;
		text_add(&f->headline, "%s %llu of class %s", first ? "" : ",", (unsigned long long)n[c],
			 name ? name : "(unknown)");
		first = false;
	}
	text_add(&f->advice, "Ask them for the whole capture if that is needed");
	finding_number(f, "chunks", total);
	return any_text_failed(f) ? no_memory(why) : 0;
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

static int tell_clock(const struct clock_anchor *a, const struct clock_anchor *b, const uint64_t *set,
		      struct findings *out, struct fault *why)
{
	bool forward;
	uint64_t step_ns = drift(a->wall_ns, b->wall_ns, a->boot_ns, b->boot_ns, &forward);
	uint64_t slept_ns;
	struct finding *f;

	if (step_ns >= set[SET_STEP]) {
		f = tell(out, SEVERITY_INFO, "clock-step");
		if (!f)
			return no_memory(why);
		text_add(&f->headline, "the wall clock was set %s by ", forward ? "forward" : "back");
		text_add_ns(&f->headline, step_ns);
		text_add(&f->headline, " while recording; durations are not touched by it, wall-clock times are");
		finding_number(f, "boot_ns", b->boot_ns);
		finding_number(f, "step_ns", step_ns);
		finding_bool(f, "forward", forward);
		f->weight = step_ns;
		if (any_text_failed(f))
			return no_memory(why);
	}
	slept_ns = drift(b->boot_ns, a->boot_ns, b->mono_ns, a->mono_ns, &forward);
	if (a->mono_ns == 0 || b->mono_ns == 0 || forward || slept_ns < set[SET_STEP])
		return 0;
	f = tell(out, SEVERITY_INFO, "suspended");
	if (!f)
		return no_memory(why);
	text_add(&f->headline, "the machine was suspended for ");
	text_add_ns(&f->headline, slept_ns);
	text_add(&f->headline, " while recording; calls that were open then took that much longer");
	finding_number(f, "boot_ns", b->boot_ns);
	finding_number(f, "suspended_ns", slept_ns);
	f->weight = slept_ns;
	return any_text_failed(f) ? no_memory(why) : 0;
}

static int tell_clocks(const struct context *ctx, const uint64_t *set, struct findings *out, struct fault *why)
{
	const struct reader *r = ctx->reader;
	struct clock_anchor last = {.boot_ns = r->header.start_boot_ns, .wall_ns = r->header.start_wall_ns};
	int ret = 0;

	for (uint64_t e = 0; e < r->nepochs && ret == 0; e++) {
		ret = tell_clock(&last, &r->epochs[e].anchor, set, out, why);
		last = r->epochs[e].anchor;
	}
	if (ret == 0 && r->tail == TAIL_END)
		ret = tell_clock(&last, &r->end.anchor, set, out, why);
	return ret;
}

static int evidence_finish(void *state, const struct context *ctx, const uint64_t *set, struct findings *out,
			   struct fault *why)
{
	const struct seen *seen = state;
	struct finding *f;
	int r;

	if (!ctx->reader)
		return 0;
	if (ctx->unverified) {
		f = tell(out, SEVERITY_WARNING, "unverified");
		if (!f)
			return no_memory(why);
		text_add(&f->headline,
			 "this capture is no evidence: it was read with --unverified, and anybody may have "
			 "written what it says");
		if (any_text_failed(f))
			return no_memory(why);
	}
	if (ctx->unsealed) {
		f = tell(out, SEVERITY_WARNING, "unsealed");
		if (!f)
			return no_memory(why);
		text_add(&f->headline,
			 "the capture stops without an end seal (a crash, a cut): what came after its last "
			 "seal is not in it");
		if (any_text_failed(f))
			return no_memory(why);
	}
	r = tell_losses(ctx, out, why);
	if (r == 0)
		r = tell_counted(
			ctx, out, is_left_out, "reduced", "events were left out on purpose (sampling, a rate limit)",
			"Counts and times are of what was recorded: multiply with care, or record without the limit",
			why);
	if (r == 0)
		r = tell_counted(ctx, out, is_open_call, "in-flight", "GPU calls had not returned when recording ended",
				 "If the program hung, these are the calls it hung in", why);
	if (r == 0)
		r = tell_refused(seen, ctx, out, why);
	if (r == 0)
		r = tell_skipped(seen, out, why);
	if (r == 0)
		r = tell_withheld(ctx, out, why);
	return r == 0 ? tell_clocks(ctx, set, out, why) : r;
}

static void evidence_close_rule(void *state)
{
	struct seen *seen = state;

	if (seen)
		text_clear(&seen->skipped);
	free(seen);
}

const struct rule evidence_rule = {
	.name = "evidence",
	.severity = SEVERITY_INFO,
	.summary = "the capture itself: what was lost, left out, withheld or not probed, a missing end, clock steps",
	.meaning =
		"Something about the capture itself limits what it can prove: events that were lost or left out, parts "
		"withheld, functions that could not be probed, clocks that were set, calls that never returned.",
	.wrong = "Runs of probes that the kernel skipped are counted for the whole host. A call that had not returned "
		 "may "
		 "have been about to.",
	.remedy = "Record again with a bigger ring or fewer processes, or ask for what was withheld.",
	.settings = settings,
	.nsettings = sizeof(settings) / sizeof(settings[0]),
	.kinds = {KIND_attach, KIND_fact, 0},
	.open = evidence_open,
	.feed = evidence_feed,
	.finish = evidence_finish,
	.close = evidence_close_rule,
};
