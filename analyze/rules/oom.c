// SPDX-License-Identifier: Apache-2.0
/* Memory that ran out: allocations that CUDA refused, and processes that the kernel killed. */
#include <inttypes.h>

#include "analyze/facts/codes.h"
#include "analyze/stats/callsite.h"
#include "replay/model/gauge_fields.h"

enum { SET_COUNT, SET_RETRY };

static const struct setting settings[] = {
	[SET_COUNT] = {"count", SETTING_COUNT, 1, 1, 1000000000,
		       "refused allocations of a process that make a finding"},
	[SET_RETRY] =
		{"retry", SETTING_NS, 5000000000, 1000, 1000000000000,
		 "a process that gets as much within this time has helped itself (caching allocators give back what "
		 "they keep and ask again): that is info"},
};

#define GROUPS_MAX 4096
#define KILLS_MAX 64

/* Which memory was asked for; REQUEST_IMPOSSIBLE: more of it than a program can address. */
enum request { REQUEST_GPU, REQUEST_PINNED, REQUEST_IMPOSSIBLE };
#define POSSIBLE_BYTES (UINT64_C(1) << 47) /* what a program can address (x86-64, arm64 with four levels of pages) */

struct group {
	struct table_key key;  /* a: process instance, b: enum request */
	uint64_t probe, stack; /* of the first */
	uint64_t first_bytes, largest_bytes;
	uint64_t pending_bytes, pending_ns; /* the latest refusal that was not made good yet; ns 0: none */
	uint64_t nhelped;
	uint64_t gpu_used; /* when it was first refused, of the fullest GPU; 0: not known */
	struct tally tally;
};

struct kill {
	uint64_t at_ns, pid, process, rss;
};

struct used {
	struct table_key key; /* a: GPU */
	uint64_t bytes;
};

struct oom_state {
	struct groups groups, used;
	struct kill kills[KILLS_MAX];
	uint64_t nkills;
	struct explained scratch;
};

static int take_health(struct oom_state *s, const struct event *ev)
{
	struct used *u;

	if (!health_has(ev, F_health_memory_used))
		return 0;
	u = groups_get(&s->used, ev->v[F_health_gpu], 0);
	if (!u)
		return s->used.error;
	u->bytes = ev->v[F_health_memory_used];
	return 0;
}

static void take_kill(struct oom_state *s, const struct context *ctx, const struct event *ev)
{
	const struct process *p = names_process(ctx->names, ev->v[F_oom_pid], ev->at_ns);

	if (s->nkills < KILLS_MAX)
		s->kills[s->nkills] = (struct kill){ev->at_ns, ev->v[F_oom_pid], p ? p->number : 0, ev->v[F_oom_rss]};
	s->nkills++;
}

static uint64_t fullest(const struct oom_state *s)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < s->used.table.nitems; i++) {
		const struct used *u = groups_at(&s->used, i);

		bytes = u->bytes > bytes ? u->bytes : bytes;
	}
	return bytes;
}

static enum request request_of(const struct event *ev)
{
	if (ev->v[F_alloc_bytes] > POSSIBLE_BYTES)
		return REQUEST_IMPOSSIBLE;
	return ev->v[F_alloc_memory] == MEM_PINNED || ev->v[F_alloc_memory] == MEM_REGISTERED ? REQUEST_PINNED
											      : REQUEST_GPU;
}

static int take_alloc(struct oom_state *s, const struct context *ctx, const uint64_t *set, const struct event *ev)
{
	bool refused = (int64_t)ev->v[F_call_ret] == CUDA_OUT_OF_MEMORY;
	enum request request = request_of(ev);
	const struct caller *caller = ctx->caller;
	struct group *g;

	if (event_is_nested(ev) || (!refused && s->groups.table.nitems == 0))
		return 0;
	g = caller ? groups_find(&s->groups, caller->key.b, request) : NULL;
	if (!refused) {
		if (g && g->pending_ns && ev->v[F_call_ret] == 0 && ev->v[F_alloc_bytes] >= g->pending_bytes &&
		    ev->at_ns - g->pending_ns <= set[SET_RETRY]) {
			g->nhelped++;
			g->pending_ns = 0;
		}
		return 0;
	}
	if (!caller) {
		s->groups.nskipped++;
		return 0;
	}
	g = groups_get(&s->groups, caller->key.b, request);
	if (!g)
		return s->groups.error;
	if (g->tally.count == 0) {
		g->probe = ev->v[F_call_probe];
		g->stack = ev->v[F_alloc_stack];
		g->first_bytes = ev->v[F_alloc_bytes];
		g->gpu_used = request == REQUEST_GPU ? fullest(s) : 0;
	}
	/* Asked again and refused again, it is the same trouble. */
	if (g->pending_ns && ev->v[F_alloc_bytes] == g->pending_bytes && ev->at_ns - g->pending_ns <= set[SET_RETRY])
		g->nhelped++;
	g->pending_ns = ev->at_ns;
	g->pending_bytes = ev->v[F_alloc_bytes];
	if (ev->v[F_alloc_bytes] > g->largest_bytes)
		g->largest_bytes = ev->v[F_alloc_bytes];
	return rule_count_call(&g->tally, ctx, ev, &s->scratch);
}

static int oom_feed(void *state, const struct context *ctx, const uint64_t *set, const struct event *ev)
{
	if (ev->kind == KIND_health)
		return take_health(state, ev);
	if (ev->kind == KIND_oom) {
		take_kill(state, ctx, ev);
		return 0;
	}
	return take_alloc(state, ctx, set, ev);
}

/* The size shows a bug in what computed it. */
static void describe_impossible(struct finding *f, const struct group *g, const struct context *ctx, const char *name)
{
	int64_t bytes = (int64_t)g->first_bytes;

	f->class = "impossible-size";
	if (bytes < 0) {
		text_add(&f->headline, "A negative size: ");
		process_add(&f->headline, ctx, g->key.a);
		text_add(&f->headline, " asked %s", name);
		place_add(&f->headline, ctx, g->stack);
		text_add(&f->headline, " for %" PRId64 " bytes", bytes);
	} else {
		text_add(&f->headline, "An impossible size: ");
		process_add(&f->headline, ctx, g->key.a);
		text_add(&f->headline, " asked %s", name);
		place_add(&f->headline, ctx, g->stack);
		text_add(&f->headline, " for ");
		text_add_size(&f->headline, g->first_bytes);
		text_add(&f->headline, ", more than a program can address");
	}
	if (g->tally.count > 1)
		text_add(&f->headline, ", the first of %" PRIu64 " such calls", g->tally.count);
	text_add(&f->cost, "What needed that memory was not done");
	text_add(
		&f->advice, "%s",
		bytes < INT32_MIN || bytes >= 0
			? "Find where that size is computed: it is a bug there, not a lack of memory"
			: "Find where that size is computed: it does not fit into 32 bits (int) there; compute it in 64 "
			  "bits, before numbers are multiplied");
	finding_signed(f, "bytes", bytes);
}

static void describe_lack(struct finding *f, const struct group *g, const struct context *ctx, const char *name)
{
	bool helped = g->nhelped >= g->tally.count, pinned = g->key.b == REQUEST_PINNED;

	f->class = helped ? "recovered" : pinned ? "pinned-memory" : "gpu-memory";
	if (helped)
		f->severity = SEVERITY_INFO;
	f->weight = g->largest_bytes;
	f->unit = WEIGHT_BYTES;
	text_add(&f->headline, "Out of %s: %llu allocation%s of ", pinned ? "pinned host memory" : "GPU memory",
		 (unsigned long long)g->tally.count, g->tally.count == 1 ? "" : "s");
	process_add(&f->headline, ctx, g->key.a);
	text_add(&f->headline, g->tally.count == 1 ? " failed, of " : " failed, the largest of ");
	text_add_size(&f->headline, g->largest_bytes);
	text_add(&f->headline, " (%s", name);
	place_add(&f->headline, ctx, g->stack);
	text_add(&f->headline, ")");
	if (g->gpu_used) {
		text_add(&f->headline, ", when ");
		text_add_size(&f->headline, g->gpu_used);
		text_add(&f->headline, " of the fullest GPU were in use");
	}
	if (helped)
		text_add(&f->headline, "; it got as much soon after");
	text_add(&f->cost, helped ? "Giving memory back and asking again took time; the program went on"
				  : "What needed that memory was not done");
	text_add(&f->advice, "%s",
		 helped ? "Nothing, if it is rare; else leave the allocator more room"
			: "Take smaller batches, check alloc-leak for memory that is not freed, and other "
			  "processes on that GPU");
	finding_number(f, "largest_bytes", g->largest_bytes);
	finding_number(f, "recovered", g->nhelped);
	finding_number(f, "gpu_used_bytes", g->gpu_used);
}

static void report_group(struct group *g, const struct context *ctx, struct findings *out)
{
	struct finding *f = rule_finding(out, &oom_rule, NULL, CONFIDENCE_HIGH);
	const char *name = call_name(ctx->schema, g->probe);

	f->process = g->key.a;
	f->probe = g->probe;
	f->stack = g->stack;
	(g->key.b == REQUEST_IMPOSSIBLE ? describe_impossible : describe_lack)(f, g, ctx, name);
	finding_string(f, "function", name);
	tally_give(&g->tally, f);
}

/* Whose memory ran out, where one of the two only is known to have had none left. */
static void add_reason(struct text *t, const struct kill *k, const struct context *ctx)
{
	const struct control_group *group = names_memory_of_instance(ctx->names, k->process);
	const struct control_group *host = control_groups_host(&ctx->names->control_groups);
	bool group_full = group && control_group_times_max(group);
	bool host_full = host && host->memory_last.used >= host->memory_last.max / 10 * 9;

	if (group_full && host && !host_full) {
		text_add(t, "its control group ");
		text_add_escaped(t, group->path, group->path_bytes);
		text_add(t, " came up against its memory limit of ");
		text_add_size(t, group->memory_last.max);
	} else if (host_full && !group_full) {
		text_add(t, "host memory ran out");
	} else {
		text_add(t, "memory ran out, the host's or what its control group may have");
	}
}

static void report_kill(const struct kill *k, const struct context *ctx, struct findings *out)
{
	struct finding *f = rule_finding(out, &oom_rule, "killed", CONFIDENCE_HIGH);

	f->process = k->process;
	f->weight = k->rss;
	f->unit = WEIGHT_BYTES;
	f->count = 1;
	f->first[0] = (struct occurrence){k->at_ns, k->at_ns, TID_NONE, TID_NONE, TID_NONE};
	f->nfirst = 1;
	text_add(&f->headline, "The kernel killed ");
	if (k->process)
		process_add(&f->headline, ctx, k->process);
	else
		text_add(&f->headline, "process %" PRIu64, k->pid);
	text_add(&f->headline, " after ");
	text_add_ns(&f->headline, k->at_ns > ctx->begin_ns ? k->at_ns - ctx->begin_ns : 0);
	text_add(&f->headline, " because ");
	add_reason(&f->headline, k, ctx);
	if (k->rss) {
		text_add(&f->headline, "; it held ");
		text_add_size(&f->headline, k->rss);
	}
	text_add(&f->sure, "High confidence: the kernel itself reported it");
	text_add(&f->cost, "All that the process had not saved is lost");
	text_add(&f->advice, "Give the host or the container more memory, or let fewer DataLoader workers hold less");
	finding_number(f, "pid", k->pid);
	finding_number(f, "rss_bytes", k->rss);
	finding_number(f, "at_ns", k->at_ns);
}

static void oom_finish(void *state, const struct context *ctx, const uint64_t *set, struct findings *out)
{
	struct oom_state *s = state;

	for (size_t i = 0; i < s->groups.table.nitems; i++) {
		struct group *g = groups_at(&s->groups, i);

		if (g->tally.count >= set[SET_COUNT])
			report_group(g, ctx, out);
	}
	for (uint64_t i = 0; i < s->nkills && i < KILLS_MAX; i++)
		report_kill(&s->kills[i], ctx, out);
	if (s->nkills > KILLS_MAX)
		s->groups.nskipped += s->nkills - KILLS_MAX;
	findings_add_limit(out, oom_rule.name, s->groups.nskipped, "refusals and kills");
}

const struct rule oom_rule = {
	.name = "oom",
	.severity = SEVERITY_ERROR,
	.summary = "memory that ran out: allocations that CUDA refused, and processes that the kernel killed",
	.meaning = "CUDA had not as much memory as was asked for, or the kernel killed a process because the host, or "
		   "its control group, had none left.",
	.wrong = "A program may ask for more than there is to find out how much it can get. How full the GPU was is "
		 "what the last reading before it showed.",
	.remedy = "Smaller batches, fewer processes on the GPU; see alloc-leak for memory that is not freed.",
	RULE_SETTINGS(settings),
	.kinds = {KIND_alloc, KIND_oom, KIND_health, 0},
	.state_size = sizeof(struct oom_state),
	.groups = {{offsetof(struct oom_state, groups), sizeof(struct group), GROUPS_MAX,
		    offsetof(struct group, tally)},
		   {offsetof(struct oom_state, used), sizeof(struct used), GROUPS_MAX, 0}},
	.feed = oom_feed,
	.finish = oom_finish,
};
