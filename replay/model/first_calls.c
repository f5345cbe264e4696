// SPDX-License-Identifier: Apache-2.0
#include "replay/model/first_calls.h"

#include <stdlib.h>
#include <string.h>

#include "format/base/array.h"

static struct first_call *add(struct first_calls *f, uint32_t process, uint64_t a, uint64_t b)
{
	struct first_of_process *of = table_find(&f->processes, process, 0);
	struct first_call *u;

	if (f->all.nitems >= FIRST_CALLS_MAX) {
		f->nbeyond++;
		return NULL;
	}
	if (!of)
		of = table_add(&f->processes, process, 0, sizeof(*of));
	u = of ? table_add(&f->all, a, b, sizeof(*u)) : NULL;
	if (!u) {
		f->failed = true;
		return NULL;
	}
	u->before = of->latest;
	of->latest = u;
	return u;
}

static void add_next(struct first_call *u, uint64_t dur_ns)
{
	if (u->nnext < FIRST_NEXT)
		u->next_ns[u->nnext++] = dur_ns;
}

/* The function's, of which a GPU function is launched; known or new. */
static struct first_call *any_of(struct first_calls *f, uint32_t process, uint64_t a)
{
	struct first_call *any = table_find(&f->all, a, FIRST_ANY);

	return any ? any : add(f, process, a, FIRST_ANY);
}

static struct first_call *begin(struct first_call *u, const struct event *ev)
{
	u->begin_ns = call_begin_ns(ev);
	u->end_ns = ev->at_ns;
	u->nspent = 0;
	return u;
}

struct first_call *first_calls_meet(struct first_calls *f, uint32_t process, const struct event *ev)
{
	uint64_t a = first_call_key(process, ev), b = first_call_function(ev), begin_ns = call_begin_ns(ev);
	struct first_call *u, *any;

	if (ev->kind == KIND_alloc && ev->v[F_alloc_memory] != MEM_DEVICE)
		return NULL;
	u = table_find(&f->all, a, b);
	if (!u) {
		u = add(f, process, a, b);
		return u && !(ev->kind == KIND_free && ev->v[F_free_addr]) ? begin(u, ev) : NULL;
	}
	/* Of two threads that make it at once, the one that ends first may have waited for the other one. */
	if (begin_ns < u->begin_ns)
		return begin(u, ev);
	if (begin_ns < u->end_ns)
		return NULL;
	add_next(u, ev->v[F_call_dur]);
	if (u->nnext == FIRST_NEXT)
		*first_calls_known(f, a, b) = u->key;
	any = b == FIRST_ANY ? NULL : any_of(f, process, a);
	if (any)
		add_next(any, ev->v[F_call_dur]);
	return NULL;
}

void first_call_spend(struct first_calls *f, struct first_call *u, uint64_t slice_ns, uint64_t calls_ns,
		      uint64_t kernel_ns)
{
	struct first_spent *s = u->nspent ? &u->spent[u->nspent - 1] : NULL;

	if (!s || s->slice_ns != slice_ns) {
		s = array_at(&u->spent, &u->spent_room, u->nspent, sizeof(*s));
		if (!s) {
			f->failed = true;
			return;
		}
		*s = (struct first_spent){.slice_ns = slice_ns};
		u->nspent++;
	}
	s->calls_ns += calls_ns;
	s->kernel_ns += kernel_ns;
}

static int by_length(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static uint64_t middle_ns(const struct first_call *u)
{
	uint64_t sorted[FIRST_NEXT];

	memcpy(sorted, u->next_ns, sizeof(sorted));
	qsort(sorted, u->nnext, sizeof(sorted[0]), by_length);
	return sorted[u->nnext / 2];
}

bool first_call_judge(const struct first_calls *f, struct first_call *u)
{
	const struct first_call *by = u->nnext ? u : table_find(&f->all, u->key.a, FIRST_ANY);
	uint64_t spent_ns = 0;

	if (u->judged)
		return false;
	u->judged = true;
	if (!u->thread || !by || !by->nnext)
		return true;
	for (size_t i = 0; i < u->nspent; i++)
		spent_ns += u->spent[i].calls_ns + u->spent[i].kernel_ns;
	u->usual_ns = middle_ns(by);
	u->lost_ns = spent_ns > u->usual_ns ? spent_ns - u->usual_ns : 0;
	return true;
}

struct first_call *first_calls_latest(const struct first_calls *f, uint32_t process)
{
	const struct first_of_process *of = table_find(&f->processes, process, 0);

	return of ? of->latest : NULL;
}

static void drop(struct first_calls *f, struct first_call *u)
{
	free(u->spent);
	table_remove(&f->all, u->key.a, u->key.b);
}

void first_calls_forget(struct first_calls *f, uint32_t process)
{
	struct first_of_process *of = table_find(&f->processes, process, 0);
	struct first_call *u = of ? of->latest : NULL, *before;

	if (!of)
		return;
	for (; u; u = before) {
		before = u->before;
		if (u->lost_ns < FIRST_KEPT_NS)
			drop(f, u);
	}
	table_remove(&f->processes, process, 0);
}

void first_calls_clear(struct first_calls *f)
{
	for (size_t i = 0; i < f->all.nitems; i++)
		free(((struct first_call *)f->all.items[i])->spent);
	table_clear(&f->all);
	table_clear(&f->processes);
}
