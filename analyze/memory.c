// SPDX-License-Identifier: Apache-2.0
#include "analyze/memory.h"

#include <string.h>

struct live {
	struct table_key key; /* a: process instance, b: address */
	uint64_t bytes;
	uint64_t born_ns;
	struct site *site;
	struct live *older, *younger; /* of the site */
};

struct holder {
	struct table_key key; /* a: process instance */
	struct site *first, *last;
};

/* A row of kind alloc or free, as far as it matters. */
struct change {
	uint16_t kind;
	uint64_t process, tid, probe;
	uint64_t begin_ns, at_ns;
	uint64_t addr, bytes, memory, stack;
};

struct nested {
	struct table_key key; /* a: tid */
	struct change rows[MEMORY_NESTED_MAX];
	unsigned n;
};

static int no_memory(struct fault *why)
{
	return fault_set(why, ERR_MEMORY, FAULT_NOWHERE, "out of memory while following allocations");
}

static int find_site(struct memory *m, const struct change *c, struct site **out, struct fault *why)
{
	uint64_t b = c->stack ? c->stack & ~SITE_NO_STACK : c->probe | SITE_NO_STACK;
	struct site *s = table_find(&m->sites, c->process, b);
	struct holder *h = table_find(&m->processes, c->process, 0);

	*out = s;
	if (s || m->sites.nitems >= MEMORY_SITES_MAX)
		return 0;
	if (!h)
		h = table_add(&m->processes, c->process, 0, sizeof(*h));
	if (h)
		s = table_add(&m->sites, c->process, b, sizeof(*s));
	if (!s)
		return no_memory(why);
	s->process = c->process;
	s->stack = c->stack;
	s->probe = c->probe;
	s->first_ns = c->at_ns;
	*(h->last ? &h->last->next : &h->first) = s;
	h->last = s;
	*out = s;
	return 0;
}

/* Take it off its site and forget it. */
static void drop_live(struct memory *m, struct live *live, uint64_t at_ns)
{
	struct site *s = live->site;

	*(live->older ? &live->older->younger : &s->oldest) = live->younger;
	*(live->younger ? &live->younger->older : &s->newest) = live->older;
	s->bytes -= live->bytes;
	s->count--;
	levels_change(&s->levels, at_ns, s->bytes);
	table_remove(&m->lives, live->key.a, live->key.b);
}

static int take_alloc(struct memory *m, const struct change *c, struct fault *why)
{
	struct live *live = table_find(&m->lives, c->process, c->addr);
	struct site *s;
	int r;

	if (live) {
		live->site->unseen_bytes += live->bytes;
		live->site->unseen_count++;
		drop_live(m, live, c->at_ns);
	}
	r = find_site(m, c, &s, why);
	if (r < 0)
		return r;
	if (!s || c->addr == 0 || m->lives.nitems >= MEMORY_LIVE_MAX) {
		m->nunfollowed++;
		return 0;
	}
	live = table_add(&m->lives, c->process, c->addr, sizeof(*live));
	if (!live)
		return no_memory(why);
	live->bytes = c->bytes;
	live->born_ns = c->at_ns;
	live->site = s;
	live->older = s->newest;
	*(s->newest ? &s->newest->younger : &s->oldest) = live;
	s->newest = live;
	s->memory = c->memory;
	s->tid = c->tid;
	s->last_ns = c->at_ns;
	s->bytes += c->bytes;
	s->count++;
	s->allocated_bytes += c->bytes;
	s->allocated_count++;
	if (s->bytes > s->peak_bytes)
		s->peak_bytes = s->bytes;
	levels_change(&s->levels, c->at_ns, s->bytes);
	return 0;
}

static void take_free(struct memory *m, const struct change *c)
{
	struct live *live = table_find(&m->lives, c->process, c->addr);

	if (c->addr == 0)
		return;
	if (!live) {
		m->nunmatched++;
		return;
	}
	live->site->freed_bytes += live->bytes;
	live->site->freed_count++;
	drop_live(m, live, c->at_ns);
}

static int take(struct memory *m, const struct change *c, struct fault *why)
{
	if (c->kind == KIND_alloc)
		return take_alloc(m, c, why);
	take_free(m, c);
	return 0;
}

/*
 * The rows of a thread that were nested in the call `around` (NULL: in one that was not seen) take effect, but for
 * those that are the inside of what `around` itself does.
 */
static int settle_nested(struct memory *m, struct nested *n, const struct event *around, struct fault *why)
{
	int r = 0;

	for (unsigned i = 0; i < n->n && r == 0; i++) {
		const struct change *c = &n->rows[i];

		if (!around || around->kind != c->kind || c->begin_ns < call_begin_ns(around))
			r = take(m, c, why);
	}
	m->nwaiting -= n->n;
	n->n = 0;
	return r;
}

static int keep_nested(struct memory *m, const struct change *c, struct fault *why)
{
	struct nested *n = table_find(&m->nested, c->tid, 0);
	int r = 0;

	if (!n)
		n = table_add(&m->nested, c->tid, 0, sizeof(*n));
	if (!n)
		return no_memory(why);
	if (n->n == MEMORY_NESTED_MAX)
		r = settle_nested(m, n, NULL, why);
	n->rows[n->n++] = *c;
	m->nwaiting++;
	return r;
}

/* What is told of memory by a row of kind alloc or free. */
static struct change change_of(uint64_t process, const struct event *ev)
{
	struct change c = {.kind = ev->kind,
			   .process = process,
			   .tid = ev->v[F_call_tid],
			   .probe = ev->v[F_call_probe],
			   .begin_ns = call_begin_ns(ev),
			   .at_ns = ev->at_ns};

	if (ev->kind == KIND_alloc) {
		c.addr = ev->v[F_alloc_addr];
		c.bytes = ev->v[F_alloc_bytes];
		c.memory = ev->v[F_alloc_memory];
		c.stack = ev->v[F_alloc_stack];
	} else {
		c.addr = ev->v[F_free_addr];
	}
	return c;
}

int memory_feed(struct memory *m, uint64_t process, const struct event *ev, struct fault *why)
{
	bool changes = (ev->kind == KIND_alloc || ev->kind == KIND_free) && (int64_t)ev->v[F_call_ret] == 0;
	bool inner = event_is_nested(ev);
	struct nested *n = inner ? NULL : table_find(&m->nested, ev->v[F_call_tid], 0);
	int r = n ? settle_nested(m, n, ev, why) : 0;
	struct change c;

	if (r < 0 || !changes)
		return r;
	c = change_of(process, ev);
	return inner ? keep_nested(m, &c, why) : take(m, &c, why);
}

int memory_settle(struct memory *m, struct fault *why)
{
	int r = 0;

	for (size_t i = 0; i < m->nested.nitems && r == 0; i++)
		r = settle_nested(m, (struct nested *)m->nested.items[i], NULL, why);
	return r;
}

struct site *memory_sites(const struct memory *m, uint64_t process)
{
	const struct holder *h = table_find(&m->processes, process, 0);

	return h ? h->first : NULL;
}

void site_births(const struct site *s, uint64_t end_ns, uint64_t quarters[4])
{
	uint64_t quarter_ns = (end_ns > s->first_ns ? end_ns - s->first_ns : 0) / 4;

	memset(quarters, 0, 4 * sizeof(quarters[0]));
	for (const struct live *live = s->oldest; live; live = live->younger) {
		uint64_t q = quarter_ns ? (live->born_ns - s->first_ns) / quarter_ns : 0;

		quarters[q < 4 ? q : 3]++;
	}
}

void memory_forget(struct memory *m, uint64_t process)
{
	struct site *next;

	for (struct site *s = memory_sites(m, process); s; s = next) {
		next = s->next;
		while (s->oldest)
			drop_live(m, s->oldest, s->levels.begin_ns);
		table_remove(&m->sites, s->key.a, s->key.b);
	}
	table_remove(&m->processes, process, 0);
}

void memory_clear(struct memory *m)
{
	table_clear(&m->lives);
	table_clear(&m->sites);
	table_clear(&m->processes);
	table_clear(&m->nested);
	m->nwaiting = 0;
}
