// SPDX-License-Identifier: Apache-2.0
#include "analyze/stats/alloc_sites.h"

#include <string.h>

struct sites_process {
	struct table_key key; /* a: process instance */
	struct site *first, *last;
};

static uint64_t place_of(const struct sites *s, const struct allocation *a)
{
	uint64_t what = s->allocations.objects ? (uint64_t)a->memory << SITE_OBJECT_SHIFT : 0;

	return what | (a->stack ? a->stack & SITE_STACK_MASK : a->probe | SITE_NO_STACK);
}

static int find_site(struct sites *s, const struct allocation *a, struct site **out, struct fault *why)
{
	uint64_t b = place_of(s, a);
	struct site *site = table_find(&s->all, a->process, b);
	struct sites_process *p = table_find(&s->processes, a->process, 0);

	*out = site;
	if (site || s->all.nitems >= SITES_MAX)
		return 0;
	if (!p)
		p = table_add(&s->processes, a->process, 0, sizeof(*p));
	if (p)
		site = table_add(&s->all, a->process, b, sizeof(*site));
	if (!site)
		return fault_no_memory(why);
	site->process = a->process;
	site->stack = a->stack;
	site->probe = a->probe;
	site->first_ns = a->at_ns;
	*(p->last ? &p->last->next : &p->first) = site;
	p->last = site;
	*out = site;
	return 0;
}

static int on_begin(void *self, struct allocation *a, struct fault *why)
{
	struct sites *s = self;
	struct site *site;
	int r = find_site(s, a, &site, why);

	if (r < 0)
		return r;
	a->owner = site;
	if (!site) {
		s->nbeyond++;
		return 0;
	}
	site->memory = a->memory;
	site->tid = a->tid;
	site->last_ns = a->at_ns;
	site->nrefused = 0;
	site->bytes += a->bytes;
	site->count++;
	site->allocated_bytes += a->bytes;
	site->allocated_count++;
	if (site->bytes > site->peak_bytes)
		site->peak_bytes = site->bytes;
	levels_change(&site->levels, a->at_ns, site->bytes);
	return 0;
}

static void mark_refused(struct sites *s, const struct allocation *a)
{
	struct site *site = table_find(&s->all, a->process, place_of(s, a));

	if (site && site->nrefused++ == 0)
		site->refused_ns = a->at_ns;
}

/* Of failed calls stacks are taken that others may lack: then it is the place without one, too. */
static int on_refused(void *self, const struct allocation *a, struct fault *why)
{
	struct allocation stackless = *a;
	struct sites *s = self;

	(void)why;
	stackless.stack = 0;
	mark_refused(s, a);
	if (a->stack)
		mark_refused(s, &stackless);
	return 0;
}

static int on_gone(void *self, const struct allocation *a, uint64_t at_ns, struct fault *why)
{
	struct site *site = a->owner;

	(void)self, (void)why;
	if (!site)
		return 0;
	site->bytes -= a->bytes;
	site->count--;
	levels_change(&site->levels, at_ns, site->bytes);
	return 0;
}

static int on_end(void *self, const struct allocation *a, enum alloc_end how, uint64_t end_ns, uint64_t by,
		  struct fault *why)
{
	struct site *site = a->owner;
	bool seen = how == ALLOC_FREED || how == ALLOC_CONTEXT;

	(void)self, (void)end_ns, (void)by, (void)why;
	if (!site || how == ALLOC_EXITED || how == ALLOC_REPLACED)
		return 0;
	*(seen ? &site->freed_bytes : &site->unseen_bytes) += a->bytes;
	*(seen ? &site->freed_count : &site->unseen_count) += 1;
	return 0;
}

void sites_init(struct sites *s, const struct schema *schema, bool objects)
{
	static const struct alloc_watch watch = {
		.begin = on_begin, .refused = on_refused, .gone = on_gone, .end = on_end};

	*s = (struct sites){
		.allocations = {
			.schema = schema, .objects = objects, .watch = &watch, .self = s, .max = ALLOCATIONS_MAX}};
}

void sites_clear(struct sites *s)
{
	allocations_clear(&s->allocations);
	table_clear(&s->all);
	table_clear(&s->processes);
}

struct site *sites_of(const struct sites *s, uint64_t process)
{
	const struct sites_process *p = table_find(&s->processes, process, 0);

	return p ? p->first : NULL;
}

void sites_count_births(struct sites *s, uint64_t process, uint64_t end_ns)
{
	const struct allocation *a = NULL;

	for (struct site *site = sites_of(s, process); site; site = site->next)
		memset(site->births, 0, sizeof(site->births));
	while ((a = allocations_next(&s->allocations, (uint32_t)process, a))) {
		struct site *site = a->owner;
		uint64_t until_ns = site ? site_end_ns(site, end_ns) : 0;
		uint64_t quarter_ns = site && until_ns > site->first_ns ? (until_ns - site->first_ns) / 4 : 0;
		uint64_t q = quarter_ns ? (a->at_ns - site->first_ns) / quarter_ns : 0;

		if (site && a->held)
			site->births[q < 4 ? q : 3]++;
	}
}

bool site_grows(struct site *s, uint64_t end_ns, uint64_t percent)
{
	uint64_t low[3];

	end_ns = site_end_ns(s, end_ns);
	for (unsigned q = 0; q < 4; q++)
		if (s->births[q] < 2 || s->births[q] * 100 / s->count < percent)
			return false;
	/* The last tenth is left out: programs give much back before they end, and the leak stays. */
	low[0] = levels_lowest(&s->levels, end_ns, 25, 50);
	low[1] = levels_lowest(&s->levels, end_ns, 50, 75);
	low[2] = levels_lowest(&s->levels, end_ns, 75, 90);
	return low[0] < low[1] && low[1] < low[2];
}

void sites_forget(struct sites *s, uint64_t process)
{
	struct site *next;

	for (struct site *site = sites_of(s, process); site; site = next) {
		next = site->next;
		table_remove(&s->all, site->key.a, site->key.b);
	}
	table_remove(&s->processes, process, 0);
}
