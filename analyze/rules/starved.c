// SPDX-License-Identifier: Apache-2.0
/*
 * Threads that feed the GPU and wait for one thread or process for a good part of their time, whatever they wait in: of
 * the ledger (replay/model/ledger.h), so that many waits count like a long one. So do the threads of one process, and
 * the children of the one that waits: of those that take turns with a lock, or do a piece of work each, none may count
 * alone.
 */
#include "analyze/remedy.h"
#include "analyze/stats/callsite.h"
#include "analyze/stats/top_threads.h"

enum { SET_SHARE, SET_MIN, SET_CALLS };

static const struct setting settings[] = {
	[SET_SHARE] =
		{"share", SETTING_PERCENT, 10, 1, 100,
		 "of a thread's recorded time, from which on that it waited for one other makes a finding, or for the "
		 "threads of one process, or for its children"},
	[SET_MIN] = {"min", SETTING_NS, 100000000, 1000, 1000000000000, "and no less than so much time"},
	[SET_CALLS] = {"calls", SETTING_COUNT, 4, 1, 1000000000,
		       "launches, copies, memsets and collectives by which a thread shows that it feeds the GPU"},
};

#define CULPRITS_MAX 1024 /* distinguished */

#define CHILDREN UINT64_MAX /* all that the process started, itself or through others: a crew */

/* For whom threads of one process waited; or for what crew one thread did. */
struct culprit {
	struct table_key key; /* a: process instance that waited, b: tid << 32 | number of its instance;
			       * or a: crew << 32 | process instance, b: tid that waited */
	uint64_t process;
	uint64_t crew; /* process instance, or CHILDREN; 0: one thread */
	struct whom whom;
	struct roster members; /* of the crew, or that one */
	uint64_t nmembers;
	bool theirs;                    /* of its children some are those of others */
	uint64_t did_ns[CAUSE_CLASSES]; /* what it did meanwhile */
	uint64_t lost_ns, whole_ns;     /* of the threads that waited for it; of all their time */
	struct gpu_price price;
	uint64_t gpu_ns; /* for which they waited for the GPU */
	uint64_t count, nthreads, tid;
	struct roster waiters;
};

/* One that a thread waited for. */
struct share {
	const struct waited_for *w;
	uint64_t crew; /* that it belongs to: process instance, or CHILDREN; 0: not known */
	bool theirs;   /* a child of a child, or further down */
	uint64_t lost_ns;
};

/* What a thread waited for. */
struct shares {
	struct share all[WAITED_FOR_MAX + 2];
	unsigned n;
};

/* Those of them that belong together. */
struct crew {
	uint64_t id;
	uint64_t lost_ns;
	const struct share *first; /* the one that it waited for most */
};

struct starved_state {
	struct groups culprits;
};

/* It did something meanwhile, or was kept from it. Who slept of its own accord waited for work as well. */
static bool is_doing(enum cause_class class)
{
	return class == CAUSE_CPU || class == CAUSE_RUNNABLE || class == CAUSE_QUOTA || class == CAUSE_STOPPED ||
	       class == CAUSE_FAULT || class == CAUSE_MEMORY || class == CAUSE_IO || class == CAUSE_NETWORK;
}

static uint64_t lost_ns(const struct waited_for *w)
{
	uint64_t ns = 0;

	for (unsigned c = 0; c < CAUSE_CLASSES; c++)
		if (is_doing((enum cause_class)c))
			ns += w->did_ns[c];
	return ns;
}

/* Who feeds the GPU itself lets it starve of nothing. */
static bool counts(const struct ledger *l, const struct waited_for *w)
{
	return w->part == LEDGER_TASK && lost_ns(w) && !ledger_fed(l, w->whom.tid);
}

static bool lasts(const struct ledger_thread *t, uint64_t ns, const uint64_t *set)
{
	return ns >= set[SET_MIN] && ns >= (t->end_ns - t->begin_ns) / 100 * set[SET_SHARE];
}

#define MEMBER_LEAST 100 /* of what was waited for a crew: who has less of it is not counted in */

#define ANCESTORS_MAX 64 /* looked at */

/* Started by that process, or by one that it started, and so on. */
static bool is_below(const struct tasks *tasks, const struct process *p, uint32_t pid)
{
	for (unsigned i = 0; p && i < ANCESTORS_MAX; i++) {
		if (p->ppid == pid)
			return true;
		p = tasks_find_process(tasks, p->ppid);
	}
	return false;
}

static struct share share_of(const struct context *ctx, const struct ledger_thread *t, const struct waited_for *w)
{
	const struct tasks *tasks = &ctx->names->tasks;
	const struct process *own = names_instance(ctx->names, t->key.b % LEDGER_AGAIN);
	uint32_t process = w->whom.thread ? tasks->threads[w->whom.thread].process : 0;
	struct share s = {.w = w, .crew = process, .lost_ns = lost_ns(w)};

	if (process && own && is_below(tasks, &tasks->processes[process], own->pid)) {
		s.crew = CHILDREN;
		s.theirs = tasks->processes[process].ppid != own->pid;
	}
	return s;
}

static void add_member(struct culprit *c, const struct names *names, const struct share *s)
{
	struct who who;

	names_who_was(names, s->w->whom.tid, s->w->whom.thread, &who);
	roster_add_times(&c->members, &who, s->lost_ns, s->w->count);
	c->nmembers++;
	c->theirs |= s->theirs;
	for (unsigned k = 0; k < CAUSE_CLASSES; k++)
		c->did_ns[k] += s->w->did_ns[k];
	c->lost_ns += s->lost_ns;
	gpu_price_add_part(&c->price, s->lost_ns, s->w->ns, s->w->idle_ns, s->w->left_ns);
	c->count += s->w->count;
}

/* One for whom threads of its process waited; or the crew for which this thread did. NULL: too many. */
static struct culprit *culprit_of(struct starved_state *s, const struct ledger_thread *t, uint64_t crew,
				  const struct whom *first)
{
	uint64_t process = t->key.b % LEDGER_AGAIN, whom = (uint64_t)first->tid << 32 | first->thread;
	struct culprit *c = crew ? groups_get(&s->culprits, (crew & UINT32_MAX) << 32 | process, t->key.a)
				 : groups_get(&s->culprits, process, whom);

	if (!c)
		return NULL;
	c->process = process;
	c->crew = crew;
	c->whom = *first;
	c->whole_ns += t->end_ns - t->begin_ns;
	c->nthreads++;
	c->price.nunknown += !ledger_idle(t);
	c->gpu_ns += t->ns[LEDGER_GPU];
	c->tid = t->key.a;
	return c;
}

/* Where it waited for one of them for most of that time, that one is named alone, and each other that counts alone. */
static void judge_crew(struct starved_state *s, const struct context *ctx, const struct ledger_thread *t,
		       const struct shares *shares, const struct crew *crew, const uint64_t *set)
{
	bool alone = crew->first->lost_ns >= crew->lost_ns / 4 * 3;
	struct culprit *c =
		!alone && lasts(t, crew->lost_ns, set) ? culprit_of(s, t, crew->id, &crew->first->w->whom) : NULL;

	for (const struct share *one = shares->all; (alone || c) && one < shares->all + shares->n; one++) {
		struct culprit *by = c;

		if (one != crew->first && (!crew->id || one->crew != crew->id))
			continue;
		if (one->lost_ns < crew->lost_ns / MEMBER_LEAST)
			continue;
		if (alone)
			by = lasts(t, one->lost_ns, set) ? culprit_of(s, t, 0, &one->w->whom) : NULL;
		if (!by)
			continue;
		add_member(by, ctx->names, one);
		if (alone)
			roster_add_thread(&by->waiters, ctx->names, t->key.a, one->lost_ns);
	}
	if (c)
		roster_add_thread(&c->waiters, ctx->names, t->key.a, crew->lost_ns);
}

static void find_shares(struct shares *shares, const struct context *ctx, const struct ledger_thread *t)
{
	shares->n = 0;
	for (size_t i = 0; i < t->waited.n && shares->n < sizeof(shares->all) / sizeof(shares->all[0]); i++) {
		const struct waited_for *w = &t->waited.all[i];

		if (counts(ctx->ledger, w))
			shares->all[shares->n++] = share_of(ctx, t, w);
	}
}

static void judge_thread(struct starved_state *s, const struct context *ctx, const struct ledger_thread *t,
			 const uint64_t *set)
{
	struct crew crews[WAITED_FOR_MAX + 2];
	struct shares shares;
	unsigned n = 0, k;

	find_shares(&shares, ctx, t);
	for (const struct share *one = shares.all; one < shares.all + shares.n; one++) {
		for (k = 0; k < n && (!one->crew || crews[k].id != one->crew); k++)
			;
		if (k == n)
			crews[n++] = (struct crew){.id = one->crew, .first = one};
		crews[k].lost_ns += one->lost_ns;
		if (one->lost_ns > crews[k].first->lost_ns)
			crews[k].first = one;
	}
	for (k = 0; k < n; k++)
		judge_crew(s, ctx, t, &shares, &crews[k], set);
}

static bool is_member(const struct culprit *c, uint64_t tid)
{
	for (unsigned i = 0; i < c->members.n; i++)
		if (c->members.who[i].tid == tid)
			return true;
	return false;
}

/* Another rule names the same one, or one of them, and most of that time. */
static bool is_known(const struct findings *out, const struct culprit *c)
{
	for (size_t i = 0; i < out->n; i++) {
		const struct finding *f = out->all[i];

		if (f->process != c->process || f->unit != WEIGHT_NS || f->weight < c->lost_ns / 2)
			continue;
		for (unsigned p = 0; p < f->nparties; p++)
			if (f->parties[p].part != PART_WAITER && is_member(c, f->parties[p].who.tid))
				return true;
	}
	return false;
}

static enum cause_class mostly(const struct culprit *c)
{
	enum cause_class best = CAUSE_CPU;

	for (unsigned k = 0; k < CAUSE_CLASSES; k++)
		if (is_doing((enum cause_class)k) && c->did_ns[k] > c->did_ns[best])
			best = (enum cause_class)k;
	return best;
}

static const char *advice_for(enum cause_class class, const struct disk_use *disk, const struct network_use *network)
{
	const char *remedy = class == CAUSE_IO        ? disk_remedy(disk)
			     : class == CAUSE_NETWORK ? network_remedy(network)
						      : cause_remedy(NULL, class);

	if (remedy)
		return remedy;
	switch (class) {
	case CAUSE_RUNNABLE:
		return "Give that thread a CPU (cpuset, taskset, priority), or start fewer threads";
	case CAUSE_IO:
		return READS_REMEDY;
	default:
		return "Let more threads or processes do what it does, or let it work ahead, so that nobody waits for "
		       "it; or profile it (perf record on that thread)";
	}
}

/* "7 loader"; "3 threads of process 7 loader, most for 8 worker (1.2 s)"; "5 of its children, most for ..." */
static void whom_add(struct text *t, const struct context *ctx, const struct culprit *c)
{
	struct who who;

	names_who_was(ctx->names, c->whom.tid, c->whom.thread, &who);
	if (c->crew) {
		text_add(t, "%llu ", (unsigned long long)c->nmembers);
		if (c->crew == CHILDREN)
			text_add(t, "of its children%s", c->theirs ? " and theirs" : "");
		else if (c->crew == c->process)
			text_add(t, "other threads of its process");
		else
			text_add(t, "threads of ");
		if (c->crew != CHILDREN && c->crew != c->process)
			process_add(t, ctx, c->crew);
		text_add(t, ", most for ");
	}
	text_add_who(t, &who);
	if (c->did_ns[mostly(c)] >= c->lost_ns - c->lost_ns / 10)
		text_add(t, ", which %s %s meanwhile", c->crew ? "were" : "was", cause_class_doing(mostly(c)));
	else
		text_add_doing(t, c->crew ? ", which meanwhile were " : ", which meanwhile was ", c->did_ns,
			       c->lost_ns);
}

/* The GPU was what took long: nothing shows that the waits cost it anything. */
static bool is_gpu_bound(const struct culprit *c)
{
	return !c->price.nunknown && c->price.idle_ns < c->lost_ns / 10 && c->gpu_ns >= c->lost_ns;
}

static void report(const struct culprit *c, const struct context *ctx, struct findings *out)
{
	enum cause_class class = mostly(c);
	struct finding *f = rule_finding(out, &starved_rule, cause_class_name(class), CONFIDENCE_MEDIUM);
	struct network_use network = {0};
	struct disk_use disk;

	if (class == CAUSE_NETWORK)
		network_waits_sum(&ctx->names->network, (uint32_t)c->whom.tid, 0, UINT64_MAX, &network);
	disk_waits_total(&ctx->names->disks, (uint32_t)c->whom.tid, &disk);
	if (is_gpu_bound(c)) {
		f->severity = SEVERITY_INFO;
		f->lasted = true;
	}
	f->process = c->process;
	f->tid = c->nthreads == 1 ? c->tid : 0;
	f->weight = c->lost_ns;
	f->unit = WEIGHT_NS;
	f->count = c->count;
	roster_give(&c->waiters, PART_WAITER, f);
	roster_give(&c->members, PART_WAKER, f);
	if (c->nthreads == 1)
		text_add_who(&f->headline, roster_first(&c->waiters));
	else
		text_add(&f->headline, "%llu threads of ", (unsigned long long)c->nthreads);
	if (c->nthreads > 1)
		process_add(&f->headline, ctx, c->process);
	text_add(&f->headline, ", which feed%s the GPU, waited ", c->nthreads == 1 ? "s" : "");
	text_add_ns(&f->headline, c->lost_ns);
	text_add(&f->headline, " (");
	share_add(&f->headline, c->lost_ns, c->whole_ns);
	text_add(&f->headline, " of %s time) for ", c->nthreads == 1 ? "its" : "their");
	whom_add(&f->headline, ctx, c);
	text_add(&f->sure, "Medium confidence: the wakings show for whom it waited, and what that one did");
	if (disk.requests && (class == CAUSE_IO || class == CAUSE_FAULT)) {
		text_add(&f->sure, "; in all, it slept for requests to ");
		text_add_disk_use(&f->sure, &disk);
	}
	if (network.waits) {
		text_add(&f->sure, "; what it waited for came from ");
		text_add_network_use(&f->sure, &network);
	}
	if (is_gpu_bound(c)) {
		text_add(&f->sure, "; for the GPU it waited ");
		text_add_ns(&f->sure, c->gpu_ns);
		text_add(&f->sure, " besides: nothing shows that these waits cost anything");
	}
	text_add(&f->advice, "%s", is_gpu_bound(c) ? GPU_IS_SLOW : advice_for(class, &disk, &network));
	finding_number(f, "lost_ns", c->lost_ns);
	finding_number(f, "threads", c->nthreads);
	finding_number(f, "threads_ns", c->whole_ns);
	finding_number(f, "waited_for", c->crew ? c->nmembers : 1);
	if (ctx->ledger->schema)
		gpu_price_give(&c->price, f);
}

static void starved_finish(void *state, const struct context *ctx, const uint64_t *set, struct findings *out)
{
	const struct ledger *l = ctx->ledger;
	struct starved_state *s = state;

	for (size_t i = 0; i < l->threads.nitems; i++) {
		const struct ledger_thread *t = (const struct ledger_thread *)l->threads.items[i];

		if (t->nfed >= set[SET_CALLS])
			judge_thread(s, ctx, t, set);
	}
	out->failed |= s->culprits.error != 0;
	for (size_t i = 0; i < s->culprits.table.nitems; i++) {
		const struct culprit *c = groups_at(&s->culprits, i);

		if (!is_known(out, c))
			report(c, ctx, out);
	}
	findings_add_limit(out, starved_rule.name, s->culprits.nskipped, "waits");
}

const struct rule starved_rule = {
	.name = "starved",
	.severity = SEVERITY_WARNING,
	.summary = "a thread that feeds the GPU waits for one other thread or process for much of its time",
	.meaning = "A thread that launches GPU work spent a good part of its time asleep until one other thread or "
		   "process was done, in whatever it waited: a queue, a pipe, a lock, the interpreter lock, wait4().",
	.wrong =
		"Where the GPU had work queued all that time, the wait cost it nothing: see how long it is known to have "
		"had none. A worker that is given little to do waits likewise for who gives it, if that one is at work.",
	.remedy = "By what that one did: more workers or working ahead; a CPU of its own; a faster disk.",
	RULE_SETTINGS(settings),
	.kinds = {0},
	.state_size = sizeof(struct starved_state),
	.groups = {{offsetof(struct starved_state, culprits), sizeof(struct culprit), CULPRITS_MAX, 0}},
	.finish = starved_finish,
};
