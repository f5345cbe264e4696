/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/model/allocations.h"
#include "format/base/array.h"

#include <stdlib.h>
#include <string.h>

#include "replay/model/enum_names.h"

#define SEVERAL_DEVICES UINT64_MAX

/* A process that has, or had, memory or a context. */
struct alloc_holder {
	uint32_t first, last; /* its allocations that have not ended, by age */
	uint64_t device;      /* + 1, the one it was seen with; 0: none yet */
	uint64_t bytes[MEMORY_KINDS];
};

/* A row of kind alloc, free or context, as far as it matters. */
struct change {
	uint16_t kind;
	uint8_t memory;
	uint8_t effect; /* enum effect */
	bool destroys;  /* a context, with what was made in it */
	uint32_t process;
	uint64_t id, tid, probe;
	uint64_t begin_ns, at_ns;
	uint64_t addr, bytes, stack, device;
};

/* What a call does to memory or an object at an address. */
enum effect {
	EFFECT_NONE,
	EFFECT_MAKES,
	EFFECT_MAKES_ONCE, /* or returns one that was made before */
	EFFECT_ENDS,
};

/*
 * Functions that make and destroy objects, by the begins of their names behind "cuda" or "cu". Primary contexts, which
 * are retained and released, are not among them: no row shows how often they were before.
 */
static const struct object_call {
	const char *name;
	uint16_t kind;
	uint8_t object, effect, field;
} object_functions[] = {
	{"StreamCreate", KIND_stream, OBJECT_STREAM, EFFECT_MAKES, F_stream_stream},
	{"GreenCtxStreamCreate", KIND_stream, OBJECT_STREAM, EFFECT_MAKES, F_stream_stream},
	{"StreamDestroy", KIND_stream, OBJECT_STREAM, EFFECT_ENDS, F_stream_stream},
	{"EventCreate", KIND_stream, OBJECT_EVENT, EFFECT_MAKES, F_stream_object},
	{"EventDestroy", KIND_stream, OBJECT_EVENT, EFFECT_ENDS, F_stream_object},
	{"StreamEndCapture", KIND_stream, OBJECT_GRAPH, EFFECT_MAKES_ONCE, F_stream_object},
	{"GraphCreate", KIND_graph, OBJECT_GRAPH, EFFECT_MAKES, F_graph_graph},
	{"GraphClone", KIND_graph, OBJECT_GRAPH, EFFECT_MAKES, F_graph_graph},
	{"GraphDestroy", KIND_graph, OBJECT_GRAPH, EFFECT_ENDS, F_graph_graph},
	{"GraphInstantiate", KIND_graph, OBJECT_EXEC, EFFECT_MAKES, F_graph_exec},
	{"GraphExecDestroy", KIND_graph, OBJECT_EXEC, EFFECT_ENDS, F_graph_exec},
	{"CtxCreate", KIND_context, OBJECT_CONTEXT, EFFECT_MAKES, F_context_context},
	{"CtxDestroy", KIND_context, OBJECT_CONTEXT, EFFECT_ENDS, F_context_context},
	{"GreenCtxCreate", KIND_context, OBJECT_CONTEXT, EFFECT_MAKES, F_context_context},
	{"GreenCtxDestroy", KIND_context, OBJECT_CONTEXT, EFFECT_ENDS, F_context_context},
	{"ModuleLoad", KIND_load, OBJECT_MODULE, EFFECT_MAKES, F_load_module},
	{"ModuleUnload", KIND_load, OBJECT_MODULE, EFFECT_ENDS, F_load_module},
	{"LibraryLoad", KIND_load, OBJECT_MODULE, EFFECT_MAKES, F_load_module},
	{"LibraryUnload", KIND_load, OBJECT_MODULE, EFFECT_ENDS, F_load_module},
};
#define NOBJECT_CALLS (sizeof(object_functions) / sizeof(object_functions[0]))

struct nested {
	struct table_key key; /* a: TID */
	struct change rows[NESTED_KEPT_MAX];
	unsigned n;
};

void allocations_clear(struct allocations *m)
{
	free(m->all);
	free(m->holders);
	free(m->object_calls);
	map_clear(&m->open);
	table_clear(&m->nested);
	*m = (struct allocations){
		.schema = m->schema, .objects = m->objects, .watch = m->watch, .self = m->self, .max = m->max};
}

const char *memory_word(unsigned memory)
{
	const char *word = enum_word(KIND_alloc, F_alloc_memory, memory);

	return word ? word : "other";
}

const char *object_word(unsigned object)
{
	static const char *const words[OBJECTS] = {
		[OBJECT_STREAM] = "stream",         [OBJECT_EVENT] = "event",     [OBJECT_GRAPH] = "graph",
		[OBJECT_EXEC] = "executable graph", [OBJECT_CONTEXT] = "context", [OBJECT_MODULE] = "module"};

	return words[object];
}

uint64_t allocations_held(const struct allocations *m, uint32_t process, unsigned memory)
{
	return process < m->nholders ? m->holders[process].bytes[memory] : 0;
}

const struct allocation *allocations_next(const struct allocations *m, uint32_t process, const struct allocation *a)
{
	uint32_t n = a ? a->next : process < m->nholders ? m->holders[process].first : 0;

	return n ? &m->all[n] : NULL;
}

/* NULL without memory. */
static struct alloc_holder *holder_of(struct allocations *m, uint32_t process)
{
	return array_at(&m->holders, &m->nholders, process, sizeof(*m->holders));
}

/* --- one allocation --- */

/* Its number; 0 without memory. */
static uint32_t make(struct allocations *m)
{
	uint32_t n = m->unused;

	if (n) {
		m->unused = m->all[n].next;
		return n;
	}
	return array_at(&m->all, &m->room, (size_t)m->n + 1, sizeof(*m->all)) ? ++m->n : 0;
}

/* Its bytes are held no longer. */
static int let_go(struct allocations *m, struct allocation *a, uint64_t at_ns, struct fault *why)
{
	if (!a->held)
		return 0;
	a->held = false;
	m->holders[a->process].bytes[a->memory] -= a->bytes;
	return m->watch && m->watch->gone ? m->watch->gone(m->self, a, at_ns, why) : 0;
}

/* The oldest one at its address ended; by: see struct alloc_watch. */
static int end_oldest(struct allocations *m, uint32_t n, enum alloc_end how, uint64_t end_ns, uint64_t by,
		      struct fault *why)
{
	struct allocation *a = &m->all[n];
	struct alloc_holder *h = &m->holders[a->process];
	int r = let_go(m, a, end_ns, why);

	if (!r && m->watch && m->watch->end)
		r = m->watch->end(m->self, a, how, end_ns, by, why);
	if (a->younger) {
		m->all[a->younger].youngest = a->youngest;
		map_put(&m->open, a->process, a->addr, a->younger); /* is there already: needs no memory */
	} else {
		map_remove(&m->open, a->process, a->addr);
	}
	*(a->previous ? &m->all[a->previous].next : &h->first) = a->next;
	*(a->next ? &m->all[a->next].previous : &h->last) = a->previous;
	*a = (struct allocation){.next = m->unused};
	m->unused = n;
	m->nopen--;
	return r;
}

/* As end_oldest(), unless the address was handed out again: that was its end, then. */
static int end_by(struct allocations *m, uint32_t n, enum alloc_end how, uint64_t end_ns, uint64_t by,
		  struct fault *why)
{
	uint32_t younger = m->all[n].younger;

	return younger ? end_oldest(m, n, ALLOC_UNSEEN, m->all[younger].at_ns, 0, why)
		       : end_oldest(m, n, how, end_ns, by, why);
}

/* --- rows that count --- */

static int changed(struct allocations *m, uint32_t process, uint64_t at_ns, struct fault *why)
{
	return m->watch && m->watch->changed ? m->watch->changed(m->self, process, at_ns, why) : 0;
}

/* Put a new one behind the others of its address and of its process. */
static int link_in(struct allocations *m, uint32_t n, struct alloc_holder *h, struct fault *why)
{
	struct allocation *a = &m->all[n];
	uint32_t oldest = map_get(&m->open, a->process, a->addr), before;
	int r = 0;

	if (oldest) {
		before = m->all[oldest].youngest;
		r = let_go(m, &m->all[before], a->at_ns, why);
		m->all[before].younger = n;
		m->all[oldest].youngest = n;
	} else if (map_put(&m->open, a->process, a->addr, n)) {
		a->next = m->unused;
		m->unused = n;
		return fault_no_memory(why);
	}
	a->previous = h->last;
	*(h->last ? &m->all[h->last].next : &h->first) = n;
	h->last = n;
	h->bytes[a->memory] += a->bytes;
	m->nopen++;
	return r;
}

static struct allocation allocation_of(const struct change *c)
{
	return (struct allocation){.id = c->id,
				   .at_ns = c->at_ns,
				   .bytes = c->bytes,
				   .addr = c->addr,
				   .stack = c->stack,
				   .probe = c->probe,
				   .tid = c->tid,
				   .process = c->process,
				   .memory = c->memory};
}

static int apply_alloc(struct allocations *m, const struct change *c, struct fault *why)
{
	struct alloc_holder *h;
	uint32_t n;
	int r;

	if (c->effect == EFFECT_MAKES_ONCE && map_get(&m->open, c->process, c->addr))
		return 0;
	if (c->addr == 0 || (m->max && m->nopen >= m->max)) {
		m->nunfollowed++;
		return 0;
	}
	h = holder_of(m, c->process);
	n = h ? make(m) : 0;
	if (!n)
		return fault_no_memory(why);
	m->all[n] = allocation_of(c);
	m->all[n].held = true;
	m->all[n].youngest = n;
	r = link_in(m, n, h, why);
	if (!r && m->watch && m->watch->begin)
		r = m->watch->begin(m->self, &m->all[n], why);
	return r ? r : changed(m, c->process, c->at_ns, why);
}

static int apply_free(struct allocations *m, const struct change *c, struct fault *why)
{
	uint32_t n = map_get(&m->open, c->process, c->addr), younger;
	uint64_t end_ns = c->at_ns;
	int r = 0;

	if (c->addr == 0)
		return 0;
	if (!n) {
		m->nunmatched++; /* allocated before recording began, or not recorded */
		return 0;
	}
	while (!r && (younger = m->all[n].younger) && c->begin_ns >= m->all[younger].at_ns) {
		r = end_oldest(m, n, ALLOC_UNSEEN, m->all[younger].at_ns, 0, why);
		n = younger;
	}
	if (younger && m->all[younger].at_ns < end_ns)
		end_ns = m->all[younger].at_ns;
	if (!r)
		r = end_oldest(m, n, ALLOC_FREED, end_ns, c->id, why);
	return r ? r : changed(m, c->process, c->at_ns, why);
}

/* All that a process has. */
static int end_all(struct allocations *m, uint32_t process, enum alloc_end how, uint64_t end_ns, uint64_t by,
		   struct fault *why)
{
	bool any = process < m->nholders && m->holders[process].first;
	int r = 0;

	while (!r && process < m->nholders && m->holders[process].first)
		r = end_by(m, m->holders[process].first, how, end_ns, by, why);
	return r || !any ? r : changed(m, process, end_ns, why);
}

static int apply_context(struct allocations *m, const struct change *c, struct fault *why)
{
	struct alloc_holder *h = holder_of(m, c->process);

	if (!h)
		return fault_no_memory(why);
	if (c->device)
		h->device = h->device && h->device != c->device ? SEVERAL_DEVICES : c->device;
	if (!c->destroys || h->device == SEVERAL_DEVICES)
		return 0;
	return end_all(m, c->process, ALLOC_CONTEXT, c->at_ns, c->id, why);
}

static int apply(struct allocations *m, const struct change *c, struct fault *why)
{
	int r = c->effect == EFFECT_NONE   ? 0
		: c->effect == EFFECT_ENDS ? apply_free(m, c, why)
					   : apply_alloc(m, c, why);

	return r || c->kind != KIND_context ? r : apply_context(m, c, why);
}

/* --- nested rows --- */

static int settle(struct allocations *m, struct nested *w, struct fault *why)
{
	int r = 0;

	for (unsigned i = 0; i < w->n && !r; i++)
		r = apply(m, &w->rows[i], why);
	m->nwaiting -= w->n;
	w->n = 0;
	return r;
}

/* Rows of the thread that are the inside of this call count no longer. */
static int take_inner(struct allocations *m, struct nested *w, uint16_t kind, uint64_t begin_ns, struct fault *why)
{
	unsigned kept = 0;
	int r = 0;

	for (unsigned i = 0; i < w->n; i++) {
		const struct change *c = &w->rows[i];

		if (c->kind != kind || c->begin_ns < begin_ns)
			w->rows[kept++] = *c;
		else if (!r && m->watch && m->watch->inner)
			r = m->watch->inner(m->self, c->id, why);
	}
	m->nwaiting -= w->n - kept;
	w->n = kept;
	return r;
}

static int wait_for_outer(struct allocations *m, struct nested *w, const struct change *c, struct fault *why)
{
	int r = 0;

	if (!w)
		w = table_add(&m->nested, c->tid, 0, sizeof(*w));
	if (!w)
		return fault_no_memory(why);
	if (w->n == NESTED_KEPT_MAX)
		r = settle(m, w, why);
	w->rows[w->n++] = *c;
	m->nwaiting++;
	return r;
}

/* Whether a call took a context away, and what was allocated in it: by the name of its function. */
static bool destroys_context(const struct schema *schema, const struct event *ev)
{
	const struct probe *probe = schema_probe(schema, ev->v[F_context_probe]);

	return probe && (strstr(probe->name, "Reset") ||
			 (strstr(probe->name, "CtxDestroy") && !strstr(probe->name, "GreenCtx")));
}

static uint8_t find_object_call(const char *name)
{
	const char *behind = name + (strncmp(name, "cuda", 4) == 0 ? 4 : 2);
	uint8_t i = 0;

	if (strncmp(name, "cu", 2) != 0)
		return NOBJECT_CALLS;
	while (i < NOBJECT_CALLS && strncmp(behind, object_functions[i].name, strlen(object_functions[i].name)) != 0)
		i++;
	return i;
}

/* What the function does to objects; *out NULL: nothing. */
static int object_call_of(struct allocations *m, const struct event *ev, const struct object_call **out,
			  struct fault *why)
{
	const struct probe *probe = schema_probe(m->schema, ev->v[F_call_probe]);
	uint8_t *known;

	if (!probe)
		return 0;
	if (!m->object_calls)
		m->object_calls = calloc(UINT16_MAX + 1, 1);
	if (!m->object_calls)
		return fault_no_memory(why);
	known = &m->object_calls[probe->id];
	if (!*known)
		*known = find_object_call(probe->name) + 1;
	if (*known <= NOBJECT_CALLS && object_functions[*known - 1].kind == ev->kind)
		*out = &object_functions[*known - 1];
	return 0;
}

static uint64_t stack_of(const struct event *ev)
{
	switch (ev->kind) {
	case KIND_stream:
		return ev->v[F_stream_stack];
	case KIND_graph:
		return ev->v[F_graph_stack];
	case KIND_context:
		return ev->v[F_context_stack];
	default:
		return ev->v[F_load_stack];
	}
}

/* o: what it does to an object; NULL: to memory, or to none. */
static struct change change_of(const struct allocations *m, uint32_t process, const struct event *ev, uint64_t id,
			       uint64_t begin_ns, const struct object_call *o)
{
	struct change c = {.kind = ev->kind,
			   .process = process,
			   .id = id,
			   .tid = ev->v[F_call_tid],
			   .probe = ev->v[F_call_probe],
			   .begin_ns = begin_ns,
			   .at_ns = ev->at_ns};

	if (o) {
		c.effect = o->effect;
		c.addr = ev->v[o->field];
		c.bytes = 1;
		c.memory = o->object;
		c.stack = stack_of(ev);
	} else if (ev->kind == KIND_alloc) {
		c.effect = EFFECT_MAKES;
		c.addr = ev->v[F_alloc_addr];
		c.bytes = ev->v[F_alloc_bytes];
		c.memory = ev->v[F_alloc_memory] < MEMORY_KINDS ? (uint8_t)ev->v[F_alloc_memory] : 0;
		c.stack = ev->v[F_alloc_stack];
	} else if (ev->kind == KIND_free) {
		c.effect = EFFECT_ENDS;
		c.addr = ev->v[F_free_addr];
	}
	if (ev->kind == KIND_context) {
		c.device = ev->v[F_context_device];
		c.destroys = destroys_context(m->schema, ev);
	}
	return c;
}

static int refuse(struct allocations *m, const struct change *c, struct fault *why)
{
	const struct allocation a = allocation_of(c);
	bool makes = c->effect == EFFECT_MAKES || c->effect == EFFECT_MAKES_ONCE;

	return makes && m->watch && m->watch->refused ? m->watch->refused(m->self, &a, why) : 0;
}

static int feed_call(struct allocations *m, uint32_t process, const struct event *ev, uint64_t id, struct fault *why)
{
	const struct object_call *o = NULL;
	bool inner = ev->v[F_call_flags] & CALL_NESTED;
	uint64_t begin_ns = ev->v[F_call_dur] < ev->at_ns ? ev->at_ns - ev->v[F_call_dur] : 0;
	struct nested *w = m->nwaiting || inner ? table_find(&m->nested, ev->v[F_call_tid], 0) : NULL;
	struct change c;
	int r = m->objects ? object_call_of(m, ev, &o, why) : 0;

	if (!r && w && w->n) {
		r = take_inner(m, w, ev->kind, begin_ns, why);
		if (!r && !inner)
			r = settle(m, w, why);
	}
	if (r || !(o || ev->kind == KIND_context || (!m->objects && (ev->kind == KIND_alloc || ev->kind == KIND_free))))
		return r;
	c = change_of(m, process, ev, id, begin_ns, o);
	if (ev->v[F_call_ret] != 0)
		return refuse(m, &c, why);
	return inner ? wait_for_outer(m, w, &c, why) : apply(m, &c, why);
}

/* A program is gone, with its contexts and all that it held. */
static int end_process(struct allocations *m, uint32_t process, enum alloc_end how, uint64_t at_ns, struct fault *why)
{
	int r = allocations_settle(m, process, why);

	if (r == 0)
		r = end_all(m, process, how, at_ns, 0, why);
	if (process < m->nholders)
		m->holders[process].device = 0;
	return r;
}

static int feed_exit(struct allocations *m, uint32_t process, const struct event *ev, struct fault *why)
{
	struct nested *w = m->nwaiting ? table_find(&m->nested, ev->v[F_exit_tid], 0) : NULL;
	int r = w ? settle(m, w, why) : 0;

	return r || !ev->v[F_exit_last] ? r : end_process(m, process, ALLOC_EXITED, ev->at_ns, why);
}

int allocations_feed(struct allocations *m, uint32_t process, const struct event *ev, uint64_t id, struct fault *why)
{
	if (!allocations_concern(m, ev))
		return 0;
	return ev->kind == KIND_exit   ? feed_exit(m, process, ev, why)
	       : ev->kind == KIND_exec ? end_process(m, process, ALLOC_REPLACED, ev->at_ns, why)
				       : feed_call(m, process, ev, id, why);
}

int allocations_settle(struct allocations *m, uint32_t process, struct fault *why)
{
	int r = 0;

	for (size_t i = 0; i < m->nested.nitems && m->nwaiting && !r; i++) {
		struct nested *w = (struct nested *)m->nested.items[i];

		if (w->n && (!process || w->rows[0].process == process))
			r = settle(m, w, why);
	}
	return r;
}

int allocations_finish(struct allocations *m, const struct tasks *tasks, struct fault *why)
{
	int r = allocations_settle(m, 0, why);

	for (uint32_t p = 0; p < m->nholders && !r; p++) {
		uint64_t end_ns = p && p <= tasks->nprocesses ? tasks->processes[p].end_ns : NO_TIME;
		uint32_t n = m->holders[p].first, next;

		if (end_ns != NO_TIME)
			r = end_all(m, p, ALLOC_EXITED, end_ns, 0, why);
		for (; end_ns == NO_TIME && n && !r; n = next) {
			next = m->all[n].next;
			if (m->all[n].younger)
				r = end_by(m, n, ALLOC_UNSEEN, 0, 0, why);
		}
	}
	return r;
}
