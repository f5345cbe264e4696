/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/memory.h"

#include <stdlib.h>
#include <string.h>

#include "replay/words.h"

struct memory_block {
	uint64_t at_ns, bytes;
	uint32_t next; /* younger one at the same address, or next unused one; 0: none */
	uint32_t last; /* of the oldest at its address: the youngest */
	uint32_t process;
	uint8_t kind;
	bool open;
};

static int no_memory(struct fault *why)
{
	return fault_set(why, ERR_MEMORY, FAULT_NOWHERE, "no memory to pair allocations with frees");
}

void held_clear(struct memory *m)
{
	free(m->blocks);
	free(m->held);
	map_clear(&m->open);
	*m = (struct memory){0};
}

const char *held_word(unsigned kind)
{
	const char *word = enum_word(KIND_alloc, F_alloc_memory, kind);

	return word ? word : "other";
}

uint64_t held_bytes_of(const struct memory *m, uint32_t process, unsigned kind)
{
	return process < m->nheld ? m->held[process][kind] : 0;
}

/* Sums start at 0 and a block is taken off once, so they cannot wrap below it; above, they come round like any sum. */
static int hold(struct memory *m, const struct memory_block *b, bool more, struct fault *why)
{
	if (b->process >= m->nheld) {
		uint32_t room = b->process * 2 + 16;
		uint64_t(*held)[MEMORY_KINDS] = reallocarray(m->held, room, sizeof(*held));

		if (!held)
			return no_memory(why);
		memset(held + m->nheld, 0, (room - m->nheld) * sizeof(*held));
		m->held = held;
		m->nheld = room;
	}
	m->held[b->process][b->kind] += more ? b->bytes : 0 - b->bytes;
	return 0;
}

static uint32_t new_block(struct memory *m)
{
	uint32_t n = m->unused;

	if (n) {
		m->unused = m->blocks[n].next;
		return n;
	}
	if (m->nblocks + 1 >= m->blocks_room) {
		uint32_t room = m->blocks_room ? m->blocks_room * 2 : 256;
		struct memory_block *blocks = reallocarray(m->blocks, room, sizeof(*blocks));

		if (!blocks)
			return 0;
		m->blocks = blocks;
		m->blocks_room = room;
	}
	return ++m->nblocks;
}

static bool counts(const struct event *ev, uint8_t addr_field)
{
	return ev->v[F_call_ret] == 0 && !(ev->v[F_call_flags] & CALL_NESTED) && ev->v[addr_field] != 0;
}

static int see_alloc(struct memory *m, uint32_t process, const struct event *ev, struct fault *why)
{
	uint64_t addr = ev->v[F_alloc_addr], kind = ev->v[F_alloc_memory];
	uint32_t n = new_block(m), head;

	if (!n)
		return no_memory(why);
	m->blocks[n] = (struct memory_block){.at_ns = ev->at_ns,
					     .bytes = ev->v[F_alloc_bytes],
					     .process = process,
					     .last = n,
					     .kind = kind < MEMORY_KINDS ? (uint8_t)kind : 0,
					     .open = true};
	head = map_get(&m->open, process, addr);
	if (!head && map_put(&m->open, process, addr, n))
		return no_memory(why);
	if (head) {
		m->blocks[m->blocks[head].last].next = n;
		m->blocks[head].last = n;
	}
	return hold(m, &m->blocks[n], true, why);
}

static int see_free(struct memory *m, uint32_t process, const struct event *ev, struct fault *why)
{
	uint64_t addr = ev->v[F_free_addr], begin_ns = ev->at_ns - ev->v[F_free_dur];
	uint32_t head = map_get(&m->open, process, addr);
	bool last = !head; /* allocated before recording began */

	while (!last) {
		struct memory_block *b = &m->blocks[head];
		uint32_t next = b->next, youngest = b->last, n = head;

		last = !next || begin_ns < m->blocks[next].at_ns;
		if (hold(m, b, false, why))
			return why->code;
		*b = (struct memory_block){.next = m->unused};
		m->unused = n;
		head = next;
		if (head)
			m->blocks[head].last = youngest;
		if (!last)
			continue;
		if (!head)
			map_remove(&m->open, process, addr);
		else if (map_put(&m->open, process, addr, head))
			return no_memory(why);
	}
	return 0;
}

/* Nobody else can have the number of a process: what it held needs no unlinking, only to be gone. */
static void see_exit(struct memory *m, uint32_t process)
{
	static const uint64_t nothing[MEMORY_KINDS];

	if (!memcmp(m->held[process], nothing, sizeof(nothing)))
		return;
	memset(m->held[process], 0, sizeof(nothing));
	for (uint32_t n = 1; n <= m->nblocks; n++)
		if (m->blocks[n].open && m->blocks[n].process == process)
			m->blocks[n].bytes = 0;
}

int held_see(struct memory *m, const struct walk *w, const struct event *ev, uint32_t *process, struct fault *why)
{
	uint32_t number = 0;
	int r = 0;

	if (ev->kind == KIND_alloc && counts(ev, F_alloc_addr)) {
		number = people_process(&w->people, (uint32_t)ev->v[F_alloc_pid]);
		r = see_alloc(m, number, ev, why);
	} else if (ev->kind == KIND_free && counts(ev, F_free_addr)) {
		number = people_process(&w->people, (uint32_t)ev->v[F_free_pid]);
		r = see_free(m, number, ev, why);
	} else if (ev->kind == KIND_exit && ev->v[F_exit_last]) {
		number = people_process(&w->people, (uint32_t)ev->v[F_exit_pid]);
		if (number >= m->nheld)
			number = 0;
		else
			see_exit(m, number);
	}
	if (!r)
		*process = number;
	return r;
}
