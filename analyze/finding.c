// SPDX-License-Identifier: Apache-2.0
#include "analyze/finding.h"
#include "format/base/array.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const char *severity_name(enum severity s)
{
	static const char *const names[SEVERITIES] = {"info", "warning", "error"};

	return names[s];
}

const char *confidence_name(enum confidence c)
{
	static const char *const names[] = {"low", "medium", "high"};

	return names[c];
}

const char *part_name(enum part_played p)
{
	static const char *const names[PARTS_PLAYED] = {"waiter", "waker", "keeper"};

	return names[p];
}

static bool make_room(struct findings *f)
{
	struct finding **all = array_grow(f->all, &f->room, f->n + 1, sizeof(struct finding *));

	if (all)
		f->all = all;
	return all != NULL;
}

static void worst_clear(struct worst *w)
{
	// NOLINTNEXTLINE(clang-analyzer-unix.Malloc): it loses sight of what join_worst() moves
	free(w->why);
	scene_free(w->scene);
	w->why = NULL;
	w->scene = NULL;
}

static void finding_clear(struct finding *f)
{
	text_clear(&f->headline);
	text_clear(&f->sure);
	text_clear(&f->cost);
	text_clear(&f->advice);
	for (unsigned i = 0; i < f->nworst; i++)
		worst_clear(&f->worst[i]);
	free(f->hist);
	free(f->levels);
	free(f->series);
	for (unsigned i = 0; i < f->nfacts; i++)
		free(f->facts[i].text);
	memset(f, 0, sizeof(*f));
}

struct finding *findings_add(struct findings *f)
{
	struct finding *one = make_room(f) ? calloc(1, sizeof(*one)) : NULL;

	if (!one) {
		f->failed = true;
		finding_clear(&f->spare);
		return &f->spare;
	}
	f->all[f->n++] = one;
	return one;
}

static void add_unjudged(struct findings *f, const char *rule, const char *class, uint64_t n, const char *what,
			 const char *reason)
{
	struct finding *one;

	if (n == 0)
		return;
	one = findings_add(f);
	one->rule = rule;
	one->class = class;
	one->severity = SEVERITY_INFO;
	one->confidence = CONFIDENCE_HIGH;
	one->count = one->weight = n;
	one->unit = WEIGHT_EVENTS;
	text_add(&one->headline, "%" PRIu64 " %s were not judged: %s", n, what, reason);
}

void findings_add_limit(struct findings *f, const char *rule, uint64_t n, const char *what)
{
	add_unjudged(f, rule, "limit", n, what, "there are more than this rule keeps in mind");
}

void findings_add_left_out(struct findings *f, const char *rule, uint64_t n, const char *what)
{
	add_unjudged(f, rule, "left-out", n, what, "calls were left out on purpose (--sample, --max-rate)");
}

void findings_take(struct findings *f, struct findings *from)
{
	size_t i = 0;

	for (; i < from->n && make_room(f); i++) {
		f->all[f->n++] = from->all[i];
		from->all[i] = NULL;
	}
	f->failed |= from->failed || i < from->n;
	findings_clear(from);
}

/* What is lost for good; what cost time, whichever its severity; what else should not be; what is worth knowing. */
static unsigned rank_of(const struct finding *f)
{
	if (f->severity == SEVERITY_INFO)
		return 3;
	if (f->unit == WEIGHT_NS)
		return 1;
	return f->severity == SEVERITY_ERROR ? 0 : 2;
}

static bool comes_before(const struct finding *a, const struct finding *b)
{
	static const uint8_t order[] = {[WEIGHT_NS] = 0, [WEIGHT_BYTES] = 1, [WEIGHT_EVENTS] = 2, [WEIGHT_NONE] = 3};

	if (rank_of(a) != rank_of(b))
		return rank_of(a) < rank_of(b);
	if (a->unit != b->unit)
		return order[a->unit] < order[b->unit];
	return a->lasted != b->lasted ? b->lasted : a->weight > b->weight;
}

/* Stable: what is equal stays in the order in which the rules reported it. */
void findings_sort(struct findings *f)
{
	for (size_t i = 1; i < f->n; i++) {
		struct finding *one = f->all[i];
		size_t k = i;

		for (; k > 0 && comes_before(one, f->all[k - 1]); k--)
			f->all[k] = f->all[k - 1];
		f->all[k] = one;
	}
}

static bool lies_within(const struct occurrence *o, const struct finding *f)
{
	for (unsigned i = 0; i < f->nfirst; i++)
		if (f->first[i].tid == o->tid && f->first[i].begin_ns <= o->begin_ns && o->end_ns <= f->first[i].end_ns)
			return true;
	return false;
}

/* Whether `f` is about nothing but what `other` reports already. */
static bool reports_the_same(const struct finding *f, const struct finding *other)
{
	if (!f->futex || f->futex != other->futex || f->process != other->process || f->rule == other->rule ||
	    f->count != other->count)
		return false;
	for (unsigned i = 0; i < f->nfirst; i++)
		if (!lies_within(&f->first[i], other))
			return false;
	return f->nfirst > 0;
}

bool findings_relate(struct findings *all)
{
	for (size_t i = 0; i < all->n; i++) {
		struct finding *f = all->all[i];

		f->same_as = 0;
		for (size_t k = 0; k < i && !f->same_as; k++)
			if (!all->all[k]->same_as && reports_the_same(f, all->all[k]))
				f->same_as = k + 1;
		if (!f->same_as)
			continue;
		text_clear(&f->cost);
		text_add(&f->cost,
			 f->count == 1 ? "Same wait as finding %zu, seen from the lock: its cost is counted there"
				       : "Same waits as finding %zu, seen from the lock: their cost is counted there",
			 f->same_as);
		if (f->cost.failed)
			return false;
	}
	return true;
}

/* "how sure": why the confidence is what it is, in general. */
static void write_sure(struct finding *f)
{
	static const char *const words[] = {
		[CONFIDENCE_HIGH] = "High confidence: every event needed for this was recorded",
		[CONFIDENCE_MEDIUM] = "Medium confidence: it happened; part of why or how much is not recorded",
		[CONFIDENCE_LOW] = "Low confidence: it happened; what was not recorded may change why or how much",
	};

	text_add(&f->sure, "%s", words[f->confidence]);
}

/* "what it cost": time and its share of the run, or bytes, or how many. */
static void write_cost(struct finding *f)
{
	switch (f->unit) {
	case WEIGHT_NS:
		text_add(&f->cost, f->lasted ? "It lasted " : "It cost ");
		text_add_ns(&f->cost, f->weight);
		if (f->count > 1)
			text_add(&f->cost, " in all (%" PRIu64 " times)", f->count);
		text_add(&f->cost, ", %" PRIu64 ".%" PRIu64 " %% of the recorded time", f->share_ppm / 10000,
			 f->share_ppm / 1000 % 10);
		gpu_price_write(&f->cost, &f->price);
		break;
	case WEIGHT_BYTES:
		text_add(&f->cost, "It concerns ");
		text_add_size(&f->cost, f->weight);
		break;
	case WEIGHT_EVENTS:
		text_add(&f->cost, f->count == 1 ? "It happened once" : "It happened %" PRIu64 " times", f->count);
		break;
	case WEIGHT_NONE:
		break;
	}
}

bool findings_complete(struct findings *all, uint64_t run_ns)
{
	for (size_t i = 0; i < all->n; i++) {
		struct finding *f = all->all[i];

		if (f->unit == WEIGHT_NS && run_ns)
			f->share_ppm = (uint64_t)(((unsigned __int128)f->weight * 1000000 + run_ns / 2) / run_ns);
		if (f->sure.len == 0)
			write_sure(f);
		if (f->cost.len == 0)
			write_cost(f);
	}
	return findings_whole(all);
}

bool findings_whole(const struct findings *all)
{
	bool failed = all->failed;

	for (size_t i = 0; i < all->n; i++) {
		const struct finding *f = all->all[i];

		failed |= f->failed || f->headline.failed || f->sure.failed || f->cost.failed || f->advice.failed;
	}
	return !failed;
}

void findings_clear(struct findings *f)
{
	for (size_t i = 0; i < f->n; i++) {
		if (f->all[i])
			finding_clear(f->all[i]);
		free(f->all[i]);
	}
	finding_clear(&f->spare);
	free(f->all);
	memset(f, 0, sizeof(*f));
}

static struct fact *add_fact(struct finding *f, const char *key, enum fact_kind kind, uint64_t number)
{
	struct fact *fact = &f->facts[f->nfacts];

	assert(f->nfacts < FACTS_MAX);
	f->nfacts++;
	*fact = (struct fact){.key = key, .kind = kind, .number = number};
	return fact;
}

void finding_number(struct finding *f, const char *key, uint64_t value)
{
	add_fact(f, key, FACT_NUMBER, value);
}

void finding_signed(struct finding *f, const char *key, int64_t value)
{
	add_fact(f, key, FACT_SIGNED, (uint64_t)value);
}

void finding_address(struct finding *f, const char *key, uint64_t value)
{
	add_fact(f, key, FACT_ADDRESS, value);
}

void finding_bool(struct finding *f, const char *key, bool value)
{
	add_fact(f, key, FACT_BOOL, value);
}

void finding_text(struct finding *f, const char *key, const char *s, size_t n)
{
	char *copy = malloc(n + 1);

	if (!copy) {
		f->failed = true;
		return;
	}
	if (n)
		memcpy(copy, s, n);
	copy[n] = 0;
	add_fact(f, key, FACT_TEXT, n)->text = copy;
}

void finding_string(struct finding *f, const char *key, const char *s)
{
	finding_text(f, key, s, strlen(s));
}

static uint64_t length_of(const struct worst *w)
{
	return w->at.end_ns - w->at.begin_ns;
}

/* Where it would stand among the worst; WORST_KEPT: nowhere. Of equals the earlier stays. */
static unsigned place_among_worst(const struct tally *t, uint64_t ns)
{
	unsigned at = 0;

	while (at < WORST_KEPT && t->worst[at].why && length_of(&t->worst[at]) >= ns)
		at++;
	return at;
}

static bool keep_worst(struct tally *t, unsigned at, const struct timeline *tl, const struct occurrence *o,
		       const struct explained *why)
{
	struct worst one = {.at = *o};

	one.why = malloc(sizeof(*one.why));
	one.scene = one.why ? scene_make(tl, &why->cause, o->keeper_tid) : NULL;
	if (!one.scene) {
		worst_clear(&one);
		return false;
	}
	explained_copy(one.why, why);
	worst_clear(&t->worst[WORST_KEPT - 1]);
	memmove(&t->worst[at + 1], &t->worst[at], (WORST_KEPT - 1 - at) * sizeof(one));
	t->worst[at] = one;
	return true;
}

static bool count_in(struct tally *t, const struct occurrence *o)
{
	uint64_t ns = o->end_ns - o->begin_ns;

	if (!t->hist)
		t->hist = calloc(1, sizeof(*t->hist));
	if (!t->hist)
		return false;
	if (t->count < OCCURRENCES_KEPT)
		t->first[t->count] = *o;
	hist_add(t->hist, ns);
	t->min_ns = t->count == 0 || ns < t->min_ns ? ns : t->min_ns;
	t->max_ns = ns > t->max_ns ? ns : t->max_ns;
	t->last_ns = o->end_ns > t->last_ns ? o->end_ns : t->last_ns;
	t->count++;
	t->total_ns += ns;
	return true;
}

static struct occurrence occurrence_of(const struct explained *why, uint64_t begin_ns, uint64_t end_ns)
{
	const struct cause *cause = &why->cause;

	return (struct occurrence){.begin_ns = begin_ns,
				   .end_ns = end_ns,
				   .tid = cause->links[0].tid,
				   .waker_tid = cause->nlinks > 1 ? cause->links[1].tid : TID_NONE,
				   .keeper_tid = explained_keeper(why)};
}

bool tally_add(struct tally *t, const struct timeline *tl, uint64_t begin_ns, uint64_t end_ns,
	       const struct explained *why)
{
	const struct occurrence o = occurrence_of(why, begin_ns, end_ns);
	unsigned at = place_among_worst(t, end_ns - begin_ns);

	return (at == WORST_KEPT || keep_worst(t, at, tl, &o, why)) && count_in(t, &o);
}

bool tally_add_call(struct tally *t, const struct timeline *tl, const struct names *names, uint32_t tid,
		    uint64_t begin_ns, uint64_t end_ns, struct explained *scratch)
{
	struct occurrence o = {
		.begin_ns = begin_ns, .end_ns = end_ns, .tid = tid, .waker_tid = TID_NONE, .keeper_tid = TID_NONE};

	if (place_among_worst(t, end_ns - begin_ns) < WORST_KEPT) {
		explain(scratch, tl, names, tid, begin_ns, end_ns);
		return tally_add(t, tl, begin_ns, end_ns, scratch);
	}
	return count_in(t, &o);
}

/* The earliest of both, in order. */
static void join_first(struct tally *t, const struct tally *from)
{
	unsigned n = t->count < OCCURRENCES_KEPT ? (unsigned)t->count : OCCURRENCES_KEPT;
	unsigned m = from->count < OCCURRENCES_KEPT ? (unsigned)from->count : OCCURRENCES_KEPT, i = 0, k = 0;
	struct occurrence both[OCCURRENCES_KEPT];

	for (unsigned at = 0; at < OCCURRENCES_KEPT && (i < n || k < m); at++)
		both[at] = k == m || (i < n && t->first[i].begin_ns <= from->first[k].begin_ns) ? t->first[i++]
												: from->first[k++];
	memcpy(t->first, both, (i + k) * sizeof(both[0]));
}

static void join_worst(struct tally *t, struct tally *from)
{
	for (unsigned i = 0; i < WORST_KEPT; i++) {
		unsigned at = from->worst[i].why ? place_among_worst(t, length_of(&from->worst[i])) : WORST_KEPT;

		if (at == WORST_KEPT) {
			worst_clear(&from->worst[i]);
			continue;
		}
		worst_clear(&t->worst[WORST_KEPT - 1]);
		memmove(&t->worst[at + 1], &t->worst[at], (WORST_KEPT - 1 - at) * sizeof(t->worst[0]));
		t->worst[at] = from->worst[i];
		from->worst[i] = (struct worst){0};
	}
}

void tally_join(struct tally *t, struct tally *from)
{
	if (from->count == 0)
		return;
	join_first(t, from);
	join_worst(t, from);
	if (t->hist)
		hist_join(t->hist, from->hist);
	else
		t->hist = from->hist;
	if (t->hist == from->hist)
		from->hist = NULL;
	t->min_ns = t->count == 0 || from->min_ns < t->min_ns ? from->min_ns : t->min_ns;
	t->max_ns = from->max_ns > t->max_ns ? from->max_ns : t->max_ns;
	t->last_ns = from->last_ns > t->last_ns ? from->last_ns : t->last_ns;
	t->total_ns += from->total_ns;
	t->count += from->count;
	tally_clear(from);
}

static uint64_t quantile_within(const struct tally *t, unsigned percent)
{
	uint64_t ns = t->hist ? hist_quantile(t->hist, NULL, percent) : 0;

	/* The middle of a histogram's bucket may lie outside of what was seen. */
	if (ns < t->min_ns)
		return t->min_ns;
	return ns > t->max_ns ? t->max_ns : ns;
}

void tally_give(struct tally *t, struct finding *f)
{
	f->timed = true;
	f->count = t->count;
	f->total_ns = t->total_ns;
	f->min_ns = t->min_ns;
	f->max_ns = t->max_ns;
	f->last_ns = t->last_ns;
	f->median_ns = quantile_within(t, 50);
	f->p90_ns = quantile_within(t, 90);
	f->p99_ns = quantile_within(t, 99);
	f->hist = t->hist;
	f->nfirst = t->count < OCCURRENCES_KEPT ? (unsigned)t->count : OCCURRENCES_KEPT;
	memcpy(f->first, t->first, sizeof(f->first));
	for (f->nworst = 0; f->nworst < WORST_KEPT && t->worst[f->nworst].why; f->nworst++)
		f->worst[f->nworst] = t->worst[f->nworst];
	memset(t, 0, sizeof(*t));
}

void tally_clear(struct tally *t)
{
	for (unsigned i = 0; i < WORST_KEPT; i++)
		worst_clear(&t->worst[i]);
	free(t->hist);
	memset(t, 0, sizeof(*t));
}
