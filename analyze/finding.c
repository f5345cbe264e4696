// SPDX-License-Identifier: Apache-2.0
#include "analyze/finding.h"

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

static bool make_room(struct findings *f)
{
	size_t room = f->room ? f->room * 2 : 16;
	struct finding **all;

	if (f->n < f->room)
		return true;
	all = realloc(f->all, room * sizeof(struct finding *));
	if (!all)
		return false;
	f->all = all;
	f->room = room;
	return true;
}

struct finding *findings_add(struct findings *f)
{
	struct finding *one = make_room(f) ? calloc(1, sizeof(*one)) : NULL;

	if (one)
		f->all[f->n++] = one;
	return one;
}

bool findings_add_limit(struct findings *f, const char *rule, uint64_t n, const char *what)
{
	struct finding *one;

	if (n == 0)
		return true;
	one = findings_add(f);
	if (!one)
		return false;
	one->rule = rule;
	one->class = "limit";
	one->severity = SEVERITY_INFO;
	one->confidence = CONFIDENCE_HIGH;
	one->count = one->weight = n;
	text_add(&one->headline, "%" PRIu64 " %s were not judged: there are more than this rule keeps in mind", n,
		 what);
	return !one->headline.failed;
}

bool findings_take(struct findings *f, struct findings *from, size_t i)
{
	if (!make_room(f))
		return false;
	f->all[f->n++] = from->all[i];
	from->all[i] = NULL;
	return true;
}

static bool comes_before(const struct finding *a, const struct finding *b)
{
	return a->severity != b->severity ? a->severity > b->severity : a->weight > b->weight;
}

/* Stable: what is equal stays in the order in which the rules told it. */
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

static void finding_free(struct finding *f)
{
	if (!f)
		return;
	text_clear(&f->headline);
	text_clear(&f->advice);
	for (unsigned i = 0; i < f->nworst; i++)
		free(f->worst[i].why);
	for (unsigned i = 0; i < f->nfacts; i++)
		free(f->facts[i].text);
	free(f);
}

void findings_clear(struct findings *f)
{
	for (size_t i = 0; i < f->n; i++)
		finding_free(f->all[i]);
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

void finding_address(struct finding *f, const char *key, uint64_t value)
{
	add_fact(f, key, FACT_ADDRESS, value);
}

void finding_bool(struct finding *f, const char *key, bool value)
{
	add_fact(f, key, FACT_BOOL, value);
}

bool finding_text(struct finding *f, const char *key, const char *s, size_t n)
{
	char *copy = malloc(n + 1);

	if (!copy)
		return false;
	if (n)
		memcpy(copy, s, n);
	copy[n] = 0;
	add_fact(f, key, FACT_TEXT, n)->text = copy;
	return true;
}

static uint64_t length_of(const struct worst *w)
{
	return w->at.end_ns - w->at.begin_ns;
}

/* Keep it if it is longer than one of those kept; of equals the earlier stays. */
static bool keep_worst(struct tally *t, const struct occurrence *o, const struct explained *why)
{
	struct worst one = {.at = *o};
	unsigned at = 0;

	while (at < WORST_KEPT && t->worst[at].why && length_of(&t->worst[at]) >= length_of(&one))
		at++;
	if (at == WORST_KEPT)
		return true;
	one.why = malloc(sizeof(*one.why));
	if (!one.why)
		return false;
	*one.why = *why;
	free(t->worst[WORST_KEPT - 1].why);
	memmove(&t->worst[at + 1], &t->worst[at], (WORST_KEPT - 1 - at) * sizeof(one));
	t->worst[at] = one;
	return true;
}

bool tally_add(struct tally *t, uint64_t begin_ns, uint64_t end_ns, const struct explained *why)
{
	const struct cause *cause = &why->cause;
	const struct occurrence o = {.begin_ns = begin_ns,
				     .end_ns = end_ns,
				     .tid = cause->links[0].tid,
				     .waker_tid = cause->nlinks > 1 ? cause->links[1].tid : TID_NONE,
				     .keeper_tid = explained_keeper(why)};
	uint64_t ns = end_ns - begin_ns;

	if (!t->hist)
		t->hist = calloc(1, sizeof(*t->hist));
	if (!t->hist || !keep_worst(t, &o, why))
		return false;
	if (t->count < OCCURRENCES_KEPT)
		t->first[t->count] = o;
	hist_add(t->hist, ns);
	t->min_ns = t->count == 0 || ns < t->min_ns ? ns : t->min_ns;
	t->max_ns = ns > t->max_ns ? ns : t->max_ns;
	t->count++;
	t->total_ns += ns;
	return true;
}

void tally_give(struct tally *t, struct finding *f)
{
	f->timed = true;
	f->count = t->count;
	f->total_ns = t->total_ns;
	f->min_ns = t->min_ns;
	f->max_ns = t->max_ns;
	if (t->hist)
		f->median_ns = hist_quantile(t->hist, NULL, 50);
	/* The middle of a histogram's bucket may lie outside of what was seen. */
	if (f->median_ns < f->min_ns)
		f->median_ns = f->min_ns;
	if (f->median_ns > f->max_ns)
		f->median_ns = f->max_ns;
	f->nfirst = t->count < OCCURRENCES_KEPT ? (unsigned)t->count : OCCURRENCES_KEPT;
	memcpy(f->first, t->first, sizeof(f->first));
	for (f->nworst = 0; f->nworst < WORST_KEPT && t->worst[f->nworst].why; f->nworst++)
		f->worst[f->nworst] = t->worst[f->nworst];
	free(t->hist);
	memset(t, 0, sizeof(*t));
}

void tally_clear(struct tally *t)
{
	for (unsigned i = 0; i < WORST_KEPT; i++)
		free(t->worst[i].why);
	free(t->hist);
	memset(t, 0, sizeof(*t));
}
