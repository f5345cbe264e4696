/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "replay/sqlview.h"
#include "replay/words.h"

struct open_allocation {
	uint64_t id, at_ns;
	uint32_t process;
	uint64_t addr;
	uint32_t next; /* younger one at the same address, or next in the free list; 0: none */
	uint32_t last; /* of the oldest at its address: the youngest */
	bool open;
};

struct off {
	uint64_t left_id; /* the switch it left with; 0: it is not known to be off the CPU */
	uint64_t start_ns, state, cpu, syscall, flags;
	uint64_t wakeup; /* event that made it runnable, 0: none seen; and what it said */
	uint64_t wakeup_ns, waker_tid, context;
	uint32_t waker;
};

static int no_memory(struct fault *why)
{
	return fault_set(why, ERR_MEMORY, FAULT_NOWHERE, "no memory to pair events");
}

int derive_open(struct derive *d, sqlite3 *db, struct fault *why)
{
	static const char ends[] = "INSERT INTO allocation_ends(allocation, end_ns, how, free) VALUES(?,?,?,?)";
	static const char offs[] = "INSERT INTO offcpu(id, left_id, thread, tid, cpu, start_ns, end_ns, dur_ns, state,"
				   " wakeup, runnable_ns, lossy, syscall, flags, waker_tid, waker, context)"
				   " VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)";
	static const char states[] = "INSERT INTO enums(kind, field, value, name) VALUES(?,'prev_state',?,?)";
	int r;

	*d = (struct derive){.db = db};
	r = sql_prepare(db, ends, &d->allocation_end, why);
	if (!r)
		r = sql_prepare(db, offs, &d->offcpu, why);
	return r ? r : sql_prepare(db, states, &d->state, why);
}

void derive_close(struct derive *d)
{
	sqlite3_finalize(d->allocation_end);
	sqlite3_finalize(d->offcpu);
	sqlite3_finalize(d->state);
	map_clear(&d->open);
	map_clear(&d->states);
	map_clear(&d->devices);
	free(d->pool);
	free(d->off);
	*d = (struct derive){0};
}

/* --- allocations and frees --- */

/* Success of the outer call: what a library does inside it would count the same memory twice. */
static bool counts(const struct event *ev, uint8_t addr_field)
{
	return ev->v[F_call_ret] == 0 && !(ev->v[F_call_flags] & CALL_NESTED) && ev->v[addr_field] != 0;
}

static int insert_end(struct derive *d, uint64_t id, uint64_t end_ns, const char *how, uint64_t free_id,
		      struct fault *why)
{
	sqlite3_bind_int64(d->allocation_end, 1, (sqlite3_int64)id);
	sqlite3_bind_int64(d->allocation_end, 2, (sqlite3_int64)end_ns);
	sqlite3_bind_text(d->allocation_end, 3, how, -1, SQLITE_STATIC);
	if (free_id)
		sqlite3_bind_int64(d->allocation_end, 4, (sqlite3_int64)free_id);
	else
		sqlite3_bind_null(d->allocation_end, 4);
	return sql_insert(d->db, d->allocation_end, why);
}

static uint32_t new_open(struct derive *d)
{
	uint32_t n = d->free_list;

	if (n) {
		d->free_list = d->pool[n].next;
		return n;
	}
	if (d->npool + 1 >= d->pool_room) {
		uint32_t room = d->pool_room ? d->pool_room * 2 : 1024;
		struct open_allocation *pool = reallocarray(d->pool, room, sizeof(*pool));

		if (!pool)
			return 0;
		d->pool = pool;
		d->pool_room = room;
	}
	return ++d->npool;
}

static int see_alloc(struct derive *d, const struct walk *w, const struct event *ev, uint64_t id, struct fault *why)
{
	uint32_t process = people_process(&w->people, (uint32_t)ev->v[F_alloc_pid]), n, head;
	uint64_t addr = ev->v[F_alloc_addr];

	if (!counts(ev, F_alloc_addr))
		return 0;
	n = new_open(d);
	if (!n)
		return no_memory(why);
	d->pool[n] = (struct open_allocation){
		.id = id, .at_ns = ev->at_ns, .process = process, .addr = addr, .last = n, .open = true};
	head = map_get(&d->open, process, addr);
	if (!head)
		return map_put(&d->open, process, addr, n) ? no_memory(why) : 0;
	d->pool[d->pool[head].last].next = n;
	d->pool[head].last = n;
	return 0;
}

/*
 * Which of several allocations at one address does a free mean? The driver can hand an address out again before the
 * free's return has been recorded: then the free began before the younger allocation was complete, and means the older
 * one. Else the older one's own free was lost.
 */
static int see_free(struct derive *d, const struct walk *w, const struct event *ev, uint64_t id, struct fault *why)
{
	uint32_t process = people_process(&w->people, (uint32_t)ev->v[F_free_pid]), head, next;
	uint64_t addr = ev->v[F_free_addr], start_ns = ev->at_ns - ev->v[F_free_dur];
	int r = 0;

	if (!counts(ev, F_free_addr))
		return 0;
	head = map_get(&d->open, process, addr);
	if (!head)
		return 0; /* allocated before recording began */
	while (!r) {
		struct open_allocation *a = &d->pool[head];
		uint32_t youngest = a->last;
		bool last;

		next = a->next;
		last = !next || start_ns < d->pool[next].at_ns;
		r = last ? insert_end(d, a->id, ev->at_ns, "free", id, why)
			 : insert_end(d, a->id, d->pool[next].at_ns, "unseen", 0, why);
		*a = (struct open_allocation){.next = d->free_list};
		d->free_list = head;
		head = next;
		if (head)
			d->pool[head].last = youngest;
		if (last)
			break;
	}
	if (!head)
		map_remove(&d->open, process, addr);
	else if (map_put(&d->open, process, addr, head))
		return no_memory(why);
	return r;
}

/* Whether a call took a context away, and what was allocated in it: by the name of its function. */
static bool ends_context(const struct walk *w, const struct event *ev)
{
	const struct probe *probe = schema_probe(&w->reader->header.schema, (uint16_t)ev->v[F_context_probe]);

	return probe && (strstr(probe->name, "Reset") || strstr(probe->name, "CtxDestroy"));
}

/*
 * An allocation does not tell its context. Where a process was seen with one device, all of it was in that; where with
 * several, nothing can be said.
 */
static int see_context(struct derive *d, const struct walk *w, const struct event *ev, uint64_t id, struct fault *why)
{
	uint32_t process = people_process(&w->people, (uint32_t)ev->v[F_context_pid]);
	uint32_t device = (uint32_t)ev->v[F_context_device], first = map_get(&d->devices, process, 0);
	int r = 0;

	if (ev->v[F_context_ret] != 0 || ev->v[F_context_flags] & CALL_NESTED)
		return 0;
	if (device && map_put(&d->devices, process, 0, first && first != device ? UINT32_MAX : device))
		return no_memory(why);
	if (!ends_context(w, ev) || map_get(&d->devices, process, 0) == UINT32_MAX)
		return 0;
	for (uint32_t n = 1; !r && n <= d->npool; n++) {
		struct open_allocation *a = &d->pool[n];

		if (!a->open || a->process != process)
			continue;
		r = insert_end(d, a->id, ev->at_ns, "context", id, why);
		map_remove(&d->open, process, a->addr);
		*a = (struct open_allocation){.next = d->free_list};
		d->free_list = n;
	}
	return r;
}

static int by_id(const void *a, const void *b)
{
	const struct open_allocation *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

int derive_finish(struct derive *d, const struct walk *w, struct fault *why)
{
	int r = 0;

	/* What is still held ended with its process, if that has ended. */
	map_clear(&d->open);
	if (d->npool > 1)
		qsort(d->pool + 1, d->npool, sizeof(*d->pool), by_id);
	for (uint32_t n = 1; !r && n <= d->npool; n++) {
		const struct open_allocation *a = &d->pool[n];
		uint64_t end_ns = a->open && a->process ? w->people.processes[a->process].end_ns : NO_TIME;

		if (end_ns != NO_TIME)
			r = insert_end(d, a->id, end_ns, "exit", 0, why);
	}
	return r;
}

/* --- off the CPU --- */

void derive_lost(struct derive *d, const struct growth *g)
{
	if (g->counter->role == ROLE_LOST && (g->probe->kind == KIND_switch || g->probe->kind == KIND_waking))
		d->lossy_ns = g->end_ns;
}

static struct off *off_of(struct derive *d, uint32_t thread)
{
	if (thread >= d->noff) {
		uint32_t room = thread * 2 + 64;
		struct off *off = reallocarray(d->off, room, sizeof(*off));

		if (!off)
			return NULL;
		memset(off + d->noff, 0, (room - d->noff) * sizeof(*off));
		d->off = off;
		d->noff = room;
	}
	return &d->off[thread];
}

static void bind_id(sqlite3_stmt *st, int column, uint64_t id)
{
	if (id)
		sqlite3_bind_int64(st, column, (sqlite3_int64)id);
	else
		sqlite3_bind_null(st, column);
}

/* What only a wakeup tells. */
static void bind_told(sqlite3_stmt *st, int column, uint64_t wakeup, uint64_t value)
{
	if (wakeup)
		sqlite3_bind_int64(st, column, (sqlite3_int64)value);
	else
		sqlite3_bind_null(st, column);
}

static int came_back(struct derive *d, uint32_t thread, const struct event *ev, uint64_t id, struct fault *why)
{
	struct off *off = off_of(d, thread);
	sqlite3_stmt *st = d->offcpu;

	if (!off)
		return no_memory(why);
	if (!off->left_id)
		return 0;
	sqlite3_bind_int64(st, 1, (sqlite3_int64)id);
	sqlite3_bind_int64(st, 2, (sqlite3_int64)off->left_id);
	sqlite3_bind_int64(st, 3, thread);
	sqlite3_bind_int64(st, 4, (sqlite3_int64)ev->v[F_switch_next_tid]);
	sqlite3_bind_int64(st, 5, (sqlite3_int64)off->cpu);
	sqlite3_bind_int64(st, 6, (sqlite3_int64)off->start_ns);
	sqlite3_bind_int64(st, 7, (sqlite3_int64)ev->at_ns);
	sqlite3_bind_int64(st, 8, (sqlite3_int64)(ev->at_ns - off->start_ns));
	sqlite3_bind_int64(st, 9, (sqlite3_int64)off->state);
	bind_id(st, 10, off->wakeup);
	bind_id(st, 11, off->state == 0 ? off->start_ns : off->wakeup_ns);
	sqlite3_bind_int(st, 12, d->lossy_ns > off->start_ns);
	sqlite3_bind_int64(st, 13, (sqlite3_int64)off->syscall);
	sqlite3_bind_int64(st, 14, (sqlite3_int64)off->flags);
	bind_told(st, 15, off->wakeup, off->waker_tid);
	bind_id(st, 16, off->waker);
	bind_told(st, 17, off->wakeup, off->context);
	*off = (struct off){0};
	return sql_insert(d->db, st, why);
}

/* The meaning of each state that was met, for the view. */
static int name_state(struct derive *d, uint64_t state, struct fault *why)
{
	if (map_get(&d->states, state, 0))
		return 0;
	if (map_put(&d->states, state, 0, 1))
		return no_memory(why);
	sqlite3_bind_int(d->state, 1, KIND_switch);
	sqlite3_bind_int64(d->state, 2, (sqlite3_int64)state);
	sqlite3_bind_text(d->state, 3, state_word(state), -1, SQLITE_STATIC);
	return sql_insert(d->db, d->state, why);
}

static int see_switch(struct derive *d, const struct walk *w, const struct event *ev, uint64_t id, struct fault *why)
{
	uint32_t prev = people_thread(&w->people, (uint32_t)ev->v[F_switch_prev_tid]);
	uint32_t next = people_thread(&w->people, (uint32_t)ev->v[F_switch_next_tid]);
	int r = name_state(d, ev->v[F_switch_prev_state], why);

	if (!r && next)
		r = came_back(d, next, ev, id, why);
	/* Of others' threads only some switches are recorded: no interval can be told. */
	if (!r && prev && people_is_recorded(&w->people, prev)) {
		struct off *off = off_of(d, prev);

		if (!off)
			return no_memory(why);
		*off = (struct off){.left_id = id,
				    .start_ns = ev->at_ns,
				    .state = ev->v[F_switch_prev_state],
				    .syscall = ev->v[F_switch_prev_syscall],
				    .flags = ev->v[F_switch_prev_flags],
				    .cpu = ev->v[F_switch_cpu]};
	}
	return r;
}

static int see_waking(struct derive *d, const struct walk *w, const struct event *ev, uint64_t id, struct fault *why)
{
	uint32_t thread = people_thread(&w->people, (uint32_t)ev->v[F_waking_tid]);
	struct off *off = thread ? off_of(d, thread) : NULL;

	if (thread && !off)
		return no_memory(why);
	/* The first one makes it runnable; a preempted thread is that already. */
	if (off && off->left_id && off->state != 0 && !off->wakeup) {
		off->wakeup = id;
		off->wakeup_ns = ev->at_ns;
		off->waker_tid = ev->v[F_waking_waker_tid];
		off->waker = people_thread(&w->people, (uint32_t)ev->v[F_waking_waker_tid]);
		off->context = ev->v[F_waking_context];
	}
	return 0;
}

int derive_see(struct derive *d, const struct walk *w, const struct event *ev, uint64_t id, struct fault *why)
{
	switch (ev->kind) {
	case KIND_alloc:
		return see_alloc(d, w, ev, id, why);
	case KIND_free:
		return see_free(d, w, ev, id, why);
	case KIND_context:
		return see_context(d, w, ev, id, why);
	case KIND_switch:
		return see_switch(d, w, ev, id, why);
	case KIND_waking:
		return see_waking(d, w, ev, id, why);
	default:
		return 0;
	}
}
