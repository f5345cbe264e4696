/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/pass.h"

#include "keys/completeness.h"
#include "replay/sql/vtab.h"

static void stop_at(struct pass *w, const struct fault *why, const struct reader *reader, const struct cursor *cur)
{
	w->stopped = true;
	w->stop = *why;
	unread_words(&w->stop, reader, cursor_npassed(cur));
	engine_stop(w->engine, &w->stop);
}

/* All events through the engine. ERR_*; with `unverified` what cannot be read ends the events, and is in w->stop.
 */
static int run_engine(struct pass *w, const struct reader *reader, bool unverified, const struct pass_options *o,
		      struct fault *why)
{
	struct cursor *cur = NULL;
	uint64_t nmarks = 0;
	struct event ev;
	int fed = 0, r = cursor_open(&cur, reader, unverified, why);

	w->last_ns = w->gauges.begin_ns = reader->header.start_boot_ns;
	w->gauges.end_ns = reader->nepochs ? reader->epochs[reader->nepochs - 1].end_ns : w->last_ns;
	if (r < 0)
		return r;
	while (fed == 0 && (r = cursor_next(cur, &ev, why)) > 0) {
		w->last_ns = ev.at_ns;
		fed = engine_feed(w->engine, &ev, why);
		if (fed == 0 && ev.kind == KIND_health)
			fed = gauges_feed(&w->gauges, &ev, why);
		if (ev.kind == KIND_epoch && o->progress)
			o->progress(nmarks++, reader->nepochs);
		if (fed == 0 && o->at)
			at_feed(o->at, engine_context(w->engine), &ev);
	}
	if (fed == 0 && r < 0 && unverified && (r == ERR_FORMAT || r == ERR_FORGED)) {
		stop_at(w, why, reader, cur);
		r = 0;
	} else if (fed == 0 && r == 0 && reader->tail == TAIL_BROKEN) {
		stop_at(w, &reader->broken, reader, cur);
	}
	cursor_close(cur);
	return fed < 0 ? fed : r;
}

static int run_rules_over(const struct pass_options *o, const char *path, int fd, bool unverified, struct findings *out,
			  struct fault *why)
{
	const struct user_rules_view view = {.path = path,
					     .fd = fd,
					     .trust_files = o->evidence->trust_files,
					     .ntrust_files = o->evidence->ntrust_files,
					     .delegation_files = o->evidence->delegation_files,
					     .ndelegation_files = o->evidence->ndelegation_files,
					     .unverified = unverified};
	struct text sql = {0};
	int r;

	user_rules_prepare(&view, &sql);
	r = sql.failed ? fault_no_memory(why)
		       : user_rules_run(o->rules, sqlite3_gpucap_init, text_string(&sql), out, why);
	text_clear(&sql);
	return r;
}

/* The user's rules, after the built-in ones: their findings stand among the others. */
static int run_user_rules(struct pass *w, const char *path, const struct evidence *evidence,
			  const struct pass_options *o, struct fault *why)
{
	const struct context *ctx = engine_context(w->engine);
	int r;

	if (o->rules->n == 0)
		return 0;
	r = run_rules_over(o, path, evidence->source.fd, ctx->unverified, &w->findings, why);
	if (r == 0 && !findings_complete(&w->findings, engine_judged_ns(w->engine)))
		r = fault_no_memory(why);
	findings_sort(&w->findings);
	return r;
}

static void context_of(struct context *ctx, const struct evidence *e, const struct evidence_options *o)
{
	enum verdict verdict = e->verification.verdict;

	*ctx = (struct context){
		.schema = &e->reader.header.schema,
		.reader = &e->reader,
		.unverified = o->unverified && verdict >= VERDICT_UNCHECKED && verdict != VERDICT_UNSEALED,
		.damaged = verdict >= VERDICT_MALFORMED,
		.unsealed = e->reader.tail != TAIL_END,
	};
}

int pass_run(struct pass *p, const char *path, const struct evidence *evidence, const struct pass_options *o,
	     struct fault *why)
{
	struct context ctx;
	int r;

	context_of(&ctx, evidence, o->evidence);
	r = engine_open(&p->engine, &ctx, o->settings, why);
	if (r == 0)
		r = run_engine(p, &evidence->reader, ctx.unverified, o, why);
	if (r == 0)
		r = engine_finish(p->engine, &p->findings, why);
	if (r == 0 && o->at)
		at_end(o->at, engine_context(p->engine));
	if (r == 0)
		r = run_user_rules(p, path, evidence, o, why);
	if (r == 0 && !findings_relate(&p->findings))
		r = fault_no_memory(why);
	if (r == 0)
		r = handover_read(&p->custody, path, evidence, o->evidence, why);
	return r;
}

void pass_clear(struct pass *p)
{
	findings_clear(&p->findings);
	gauges_clear(&p->gauges);
	handover_clear(&p->custody);
	engine_close(p->engine);
	*p = (struct pass){0};
}
