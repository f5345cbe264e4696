// SPDX-License-Identifier: Apache-2.0
/*
 * Launches that took far longer than launches of that function usually take in that process, grouped by what held them
 * up. A launch probe measures the host's time to enqueue the work, not the GPU's to do it.
 */
#include <string.h>

#include "analyze/remedy.h"
#include "analyze/stats/callsite.h"
#include "analyze/facts/losses.h"
#include "analyze/rule.h"

enum { SET_FACTOR, SET_MIN, SET_MIN_CPU, SET_MIN_WAIT, SET_WARM_UP, SET_THREAD, SET_REPEAT, SET_ALONE };

static const struct setting settings[] = {
	[SET_FACTOR] =
		{"factor", SETTING_TIMES, 10, 2, 1000000,
		 "a launch is slow from so many times the median on; launches vary by a few times their median by "
		 "themselves (arguments, cold caches), not by ten"},
	[SET_MIN] = {"min", SETTING_NS, 1000000, 1000, 1000000000000,
		     "and from so long on; below a millisecond a GPU's queue hides it"},
	[SET_MIN_CPU] =
		{"min-cpu", SETTING_NS, 5000000, 1000, 1000000000000,
		 "the same for launches that ran most of the time, or waited for a thread that ran; in a virtual "
		 "machine, time that the host took away looks like running, a few milliseconds at a time"},
	[SET_MIN_WAIT] =
		{"min-wait", SETTING_NS, 8000000, 1000, 1000000000000,
		 "the same where waiting for a CPU is behind it, or nothing is known; a thread that shares a CPU "
		 "with one other waits for a slice of 3 to 6 ms now and then, on any host"},
	[SET_WARM_UP] = {"warm-up", SETTING_COUNT, 32, 4, 1000000,
			 "launches of a function before it is known what is usual; none of them is judged"},
	[SET_THREAD] = {"thread-warm-up", SETTING_COUNT, 4, 0, 1000000,
			"the first launches of a thread are not judged either: it gets to know the context"},
	[SET_REPEAT] = {"repeat", SETTING_COUNT, 2, 1, 1000000, "slow launches with one cause that make a finding"},
	[SET_ALONE] = {"alone", SETTING_NS, 20000000, 1000, 1000000000000,
		       "or so much time lost to one cause, however few they are"},
};

#define KEYS_MAX 4096     /* (process, function) pairs with a baseline */
#define KERNELS_MAX 65536 /* (process, GPU function) pairs whose first launch is known; later ones count as seen */
#define GROUPS_MAX 1024   /* causes distinguished */

struct function {
	struct table_key key; /* a: process instance, b: probe */
	struct baseline baseline;
};

/* A GPU function that was launched before. */
struct kernel {
	struct table_key key;      /* a: process instance, b: its address */
	struct function *function; /* that launched it last; NULL: not known */
};

struct group {
	struct table_key key; /* a: process instance, group_probe(), class; b: futex */
	uint64_t process;
	uint64_t probe, kernel; /* of the worst of them: which function was called, and what it launched */
	enum cause_class class;
	uint64_t median_ns; /* usual, when the worst of them happened */
	uint64_t lost_ns;   /* beyond what is usual */
	uint64_t class_ns;  /* of that class, in one part of the time of the only thread: */
	uint64_t tid;       /* TID_NONE: there are several, or parts */
	enum ledger_part part;
	uint64_t unknown_ns;
	struct tally tally;
};

struct launch_state {
	struct groups functions, kernels, groups;
	struct explained scratch;
};

/* From how long on a launch with this cause is slow. */
static uint64_t threshold_ns(const struct explained *e, const uint64_t *set)
{
	switch (split_main(&e->cause.links[0])) {
	case CAUSE_CPU:
		return set[SET_MIN_CPU];
	case CAUSE_RUNNABLE:
	case CAUSE_QUOTA:
	case CAUSE_UNKNOWN:
		return set[SET_MIN_WAIT];
	default:
		/* The thread that was waited for may be the one from which a host took time. */
		if (e->cause.end == CHAIN_RAN)
			return set[SET_MIN_CPU];
		return chain_lacks_cpu(e->cause.end) ? set[SET_MIN_WAIT] : set[SET_MIN];
	}
}

/* What a launch does itself is the function's doing; a lock or a lack of CPUs hits all of them. */
static uint64_t group_probe(enum cause_class class, uint64_t probe)
{
	return class == CAUSE_CPU || class == CAUSE_ASLEEP ? probe & 0xffff : 0;
}

/* In such a call the thread waits for the GPU, if nobody ended its sleep; or works for it. */
static enum ledger_part part_of(const struct explained *e, enum cause_class class)
{
	if (class == CAUSE_ASLEEP && e->cause.end == CHAIN_INTERRUPT)
		return LEDGER_GPU;
	return class == CAUSE_CPU ? LEDGER_CALLS : gpu_price_part(class);
}

static int add_slow(struct launch_state *s, const struct context *ctx, const struct event *ev, uint64_t median_ns)
{
	const struct split *split = &s->scratch.cause.links[0];
	enum cause_class class = split_main(split);
	const struct part *part = split_longest(split, class);
	uint64_t probe = ev->v[F_call_probe], futex = class == CAUSE_FUTEX && part ? part->futex : 0;
	uint64_t process = ctx->caller->key.b, a = process << 32 | group_probe(class, probe) << 8 | class;
	struct group *g = groups_get(&s->groups, a, futex);
	uint64_t begin_ns = call_begin_ns(ev), dur_ns = ev->at_ns - begin_ns, tid = ev->v[F_call_tid];
	enum ledger_part part_in = part_of(&s->scratch, class);

	if (!g)
		return s->groups.error;
	g->process = process;
	g->class = class;
	if (g->tally.max_ns < dur_ns) {
		g->median_ns = median_ns;
		g->probe = probe;
		g->kernel = ev->v[F_launch_function];
	}
	if (!g->tally.count) {
		g->tid = tid;
		g->part = part_in;
	} else if (g->tid != tid || g->part != part_in) {
		g->tid = TID_NONE;
	}
	g->class_ns += split->ns[class];
	g->lost_ns += dur_ns - median_ns;
	g->unknown_ns += split->ns[CAUSE_UNKNOWN];
	return rule_count(&g->tally, ctx, begin_ns, ev->at_ns, &s->scratch);
}

static int judge(struct launch_state *s, const struct context *ctx, const uint64_t *set, struct function *f,
		 const struct event *ev)
{
	uint64_t dur_ns = ev->v[F_call_dur], median_ns;

	if (dur_ns < set[SET_MIN] || ctx->caller->nlaunches < set[SET_THREAD] || f->baseline.n < set[SET_WARM_UP])
		return 0;
	median_ns = baseline_median(&f->baseline);
	if (dur_ns / set[SET_FACTOR] < median_ns)
		return 0;
	explain(&s->scratch, ctx->timeline, ctx->names, as_tid(ev->v[F_call_tid]), call_begin_ns(ev), ev->at_ns);
	if (dur_ns < threshold_ns(&s->scratch, set))
		return 0;
	return add_slow(s, ctx, ev, median_ns);
}

/* What was usual for processes that are gone: memory grows with those that live. */
static __attribute__((noinline)) void forget(struct launch_state *s, const struct context *ctx, const struct event *ev)
{
	const struct process *p = ev->v[F_exit_last] ? names_process(ctx->names, ev->v[F_exit_pid], ev->at_ns) : NULL;

	if (!p)
		return;
	groups_forget(&s->functions, p->number);
	groups_forget(&s->kernels, p->number);
}

/* One that is judged by what was usual before, and then is a part of that. */
static __attribute__((noinline)) int take_judged(struct launch_state *s, const struct context *ctx, const uint64_t *set,
						 struct function *f, const struct event *ev)
{
	int r = judge(s, ctx, set, f, ev);

	baseline_add(&f->baseline, ev->v[F_call_dur]);
	return r;
}

/* A launch of a GPU function that was not launched before, or by another function than the last time. */
static __attribute__((noinline)) int take_new(struct launch_state *s, const struct context *ctx, const uint64_t *set,
					      const struct event *ev)
{
	uint64_t process = ctx->caller->key.b;
	struct kernel *k = groups_find(&s->kernels, process, ev->v[F_launch_function]);
	struct function *f;

	/* The first launch of a GPU function loads it, which takes milliseconds and is nobody's fault. */
	if (!k && groups_add(&s->kernels, process, ev->v[F_launch_function]))
		return 0;
	if (s->kernels.error)
		return s->kernels.error;
	f = groups_get(&s->functions, process, ev->v[F_call_probe]);
	if (!f)
		return s->functions.error;
	if (k)
		k->function = f;
	return take_judged(s, ctx, set, f, ev);
}

static int launch_feed(void *state, const struct context *ctx, const uint64_t *set, const struct event *ev)
{
	struct launch_state *s = state;
	const struct kernel *k;

	if (ev->kind == KIND_exit) {
		forget(s, ctx, ev);
		return 0;
	}
	if (event_is_nested(ev) || !ctx->caller)
		return 0;
	k = table_at_hand(&s->kernels.table, ctx->caller->key.b, ev->v[F_launch_function]);
	if (!k || !k->function || k->function->key.b != ev->v[F_call_probe])
		return take_new(s, ctx, set, ev);
	if (ev->v[F_call_dur] >= set[SET_MIN])
		return take_judged(s, ctx, set, k->function, ev);
	baseline_add(&k->function->baseline, ev->v[F_call_dur]);
	return 0;
}

/* Of a sleep, by how it ended. */
static const char *advice_for_sleep(enum chain_end end)
{
	switch (end) {
	case CHAIN_QUOTA:
		return "The task that it waits for had used up the CPU quota of its control group: raise that quota";
	case CHAIN_STOPPED:
		return "The task that it waits for was stopped meanwhile: find out by whom, and why";
	case CHAIN_MEMORY:
		return "The task that it waits for had to free memory meanwhile: see what has the memory "
		       "(/proc/meminfo, memory.stat)";
	case CHAIN_NETWORK:
		return "The task that it waits for waited for the network meanwhile: see what the other end did then";
	case CHAIN_NO_CPU:
		return "The holder had no CPU: give it one, raise its priority, use a priority-inheriting mutex, or "
		       "take the lock out of the launch's way";
	case CHAIN_INTERRUPT:
		return "It waited for a device or a timer, most likely for room in the GPU's queue: see whether the "
		       "GPU was busy then; if so, queue less at a time, or leave it";
	case CHAIN_TIMED_OUT:
		return "It slept until its time was up: find who waits with a timeout there, and wake it when the "
		       "thing waited for is done";
	case CHAIN_SIGNAL:
		return "A signal ended the wait: keep signals (profilers, timers) off the threads that launch";
	case CHAIN_UNKNOWN:
		return "Find what it waits for by where it sleeps (the system call, the stack): nothing recorded shows "
		       "who woke it";
	default:
		return "Shorten what the waker does while the launch waits for it, or take that wait out of the "
		       "launch's way";
	}
}

static const char *advice_for(const struct context *ctx, enum cause_class class, const struct explained *worst)
{
	enum chain_end end = worst->cause.end;
	const char *remedy = cause_remedy(worst, class);

	if (!remedy && end == CHAIN_NO_CPU)
		remedy = explained_cpu_remedy(worst);
	if (remedy)
		return remedy;
	switch (class) {
	case CAUSE_CPU:
		return "Profile what the call does on the CPU (perf record on that thread): module loading, a big "
		       "argument copy, a callback, or time stolen by a hypervisor";
	case CAUSE_RUNNABLE:
		return "Give the launching thread a CPU of its own (cpuset, taskset) or a higher priority, or take the "
		       "other thread away from it";
	case CAUSE_IO:
		return "Read what the call needs before (files, modules, the code of kernels: "
		       "CUDA_MODULE_LOADING=EAGER), or from a faster disk";
	case CAUSE_UNKNOWN:
		return unknown_remedy(ctx);
	default:
		return advice_for_sleep(end);
	}
}

/* What may have been taken from the worst of them while it ran. */
static uint64_t taken_ns(const struct group *g, const struct context *ctx, enum taker by)
{
	const struct split *split = &g->tally.worst[0].why->cause.links[0];
	const struct part *part = split_longest(split, CAUSE_CPU);

	return part ? timeline_taken(ctx->timeline, part->cpu, by, split->begin_ns, split->end_ns) : 0;
}

static void report_taken(struct finding *f, const struct group *g, uint64_t ns, const char *by, const char *fact)
{
	if (ns == 0)
		return;
	finding_number(f, fact, ns);
	text_add(&f->headline, ", of which %s may have taken up to ", by);
	text_add_ns(&f->headline, ns);
	if (ns >= g->tally.worst[0].why->cause.links[0].ns[CAUSE_CPU] / 2)
		f->confidence = CONFIDENCE_MEDIUM;
}

/*
 * Time that interrupts, or the host of a virtual machine, took away looks like running. Of the latter once is not
 * distinguished from the host being away once, so it is for information.
 */
static void report_stolen(struct finding *f, const struct group *g, const struct context *ctx, const uint64_t *set)
{
	uint64_t ns = taken_ns(g, ctx, TAKER_HYPERVISOR);

	if (g->class != CAUSE_CPU)
		return;
	if (about_is_virtual(&ctx->names->about) && g->tally.count < set[SET_REPEAT])
		f->severity = SEVERITY_INFO;
	if (ns == 0 && about_is_virtual(&ctx->names->about)) {
		f->confidence = CONFIDENCE_MEDIUM;
		text_add(&f->sure,
			 "Medium confidence: it ran, unless the hypervisor had its CPU, which is not always reported");
	}
	report_taken(f, g, ns, "the machine's host", "stolen_at_most_ns");
	report_taken(f, g, taken_ns(g, ctx, TAKER_INTERRUPTS), "interrupts on its CPU", "interrupts_at_most_ns");
}

static enum confidence confidence_in(const struct group *g, const struct cause *worst)
{
	if (g->class == CAUSE_UNKNOWN)
		return CONFIDENCE_LOW;
	if (worst->end == CHAIN_UNKNOWN || g->unknown_ns > g->tally.total_ns / 10 || !cause_is_proven(worst))
		return CONFIDENCE_MEDIUM;
	return CONFIDENCE_HIGH;
}

static void report_price(struct finding *f, const struct group *g, const struct context *ctx)
{
	struct gpu_price price = {0};

	if (g->tid != TID_NONE)
		gpu_price_add(&price, ctx, g->tid, g->process, g->part, g->class_ns);
	price.lost_ns = g->lost_ns;
	gpu_price_give(&price, f);
}

static void report_group(struct group *g, const struct context *ctx, const uint64_t *set, struct findings *out)
{
	const struct explained *worst = g->tally.worst[0].why;
	struct finding *f =
		rule_finding(out, &launch_latency_rule, cause_class_name(g->class), confidence_in(g, &worst->cause));
	const char *name = call_name(ctx->schema, g->probe);

	f->process = g->process;
	f->weight = g->lost_ns;
	f->unit = WEIGHT_NS;
	f->probe = g->probe;
	f->usual_ns = g->median_ns;
	f->threshold_ns = g->median_ns * set[SET_FACTOR] > set[SET_MIN] ? g->median_ns * set[SET_FACTOR] : set[SET_MIN];
	text_add_escaped(&f->headline, name, strlen(name));
	kernel_add(&f->headline, ctx, g->process, g->kernel);
	text_add(&f->headline, " took ");
	text_add_ns(&f->headline, g->tally.max_ns);
	text_add(&f->headline, " (median ");
	text_add_ns(&f->headline, g->median_ns);
	text_add(&f->headline, "): ");
	text_add_cause(&f->headline, worst);
	report_stolen(f, g, ctx, set);
	text_add(&f->advice, "%s", advice_for(ctx, g->class, worst));
	if (g->class == CAUSE_CPU && taken_ns(g, ctx, TAKER_INTERRUPTS))
		text_add(&f->advice, ". Which interrupts: /proc/interrupts, /proc/softirqs; have another CPU take them "
				     "(smp_affinity, irqbalance)");
	finding_string(f, "function", name);
	kernel_fact(f, ctx, g->process, g->kernel);
	finding_number(f, "usual_ns", g->median_ns);
	finding_number(f, "lost_ns", g->lost_ns);
	if (g->class == CAUSE_FUTEX) {
		f->futex = g->key.b;
		finding_address(f, "futex", g->key.b);
	}
	report_price(f, g, ctx);
	tally_give(&g->tally, f);
}

static void launch_finish(void *state, const struct context *ctx, const uint64_t *set, struct findings *out)
{
	struct launch_state *s = state;

	for (size_t i = 0; i < s->groups.table.nitems; i++) {
		struct group *g = groups_at(&s->groups, i);

		if (g->tally.count >= set[SET_REPEAT] || g->lost_ns >= set[SET_ALONE])
			report_group(g, ctx, set, out);
	}
	findings_add_limit(out, launch_latency_rule.name, s->functions.nskipped + s->groups.nskipped, "launches");
}

const struct rule launch_latency_rule = {
	.name = "launch-latency",
	.severity = SEVERITY_WARNING,
	.meaning =
		"A call that puts work on the GPU's queue took many times longer than it usually does. The report "
		"splits that very call into what the thread did: ran, waited for a CPU, slept in a futex (and who woke "
		"it), in a page fault, on a disk, or otherwise.",
	.wrong = "A launch that waits because the GPU's queue is full is slow by design. A function that is always "
		 "slow is no finding; see the table of calls.",
	.remedy = "By cause: shorten what the lock's holder does; give the thread a CPU of its own; profile what it "
		  "runs.",
	.summary = "launches far above what is usual for that function in that process, with what held them up",
	RULE_SETTINGS(settings),
	.kinds = {KIND_launch, KIND_exit, 0},
	.state_size = sizeof(struct launch_state),
	.groups = {{offsetof(struct launch_state, functions), sizeof(struct function), KEYS_MAX, 0},
		   {offsetof(struct launch_state, kernels), sizeof(struct kernel), KERNELS_MAX, 0},
		   {offsetof(struct launch_state, groups), sizeof(struct group), GROUPS_MAX,
		    offsetof(struct group, tally)}},
	.feed = launch_feed,
	.finish = launch_finish,
};
