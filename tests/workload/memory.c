/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/workload/memory.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/mman.h>

#include "tests/workload/functions.h"

/*
 * Sizes are rounded up to a power of two, a class. Each class has a range of addresses cut into slots,
 * and a slot's address says its number: so an address is found without a search and without a lock.
 */
#define CLASS_MIN 16 /* 64 KiB: no kernel has larger pages */
#define CLASS_MAX 36
#define CLASSES (CLASS_MAX - CLASS_MIN + 1)
#define CLASS_SLOTS_MAX (UINT64_C(1) << 18)
#define CLASS_BYTES_MAX (UINT64_C(1) << 37)
#define WHAT_SHIFT 56

struct slot {
	_Atomic uint64_t state; /* 0: free; else bytes, with MEMORY_* in the top byte */
	_Atomic uint32_t below; /* in the stack of free slots: number of the next one, plus 1 */
};

struct size_class {
	uint64_t base;
	uint64_t nslots;
	struct slot *slots;
	_Atomic uint64_t fresh; /* slots from here on were never used */
	_Atomic uint64_t top;   /* of the stack of free slots: number plus 1, with a change count above bit 32 */
};

/* Device addresses live apart from those that a program may touch. */
enum space { SPACE_DEVICE, SPACE_HOST, SPACES };

struct memory {
	struct size_class classes[SPACES][CLASSES];
	uint64_t limit_bytes;
	_Atomic uint64_t used_bytes;
};

static uint64_t class_slots(unsigned c)
{
	uint64_t n = CLASS_BYTES_MAX >> (c + CLASS_MIN);

	return n < CLASS_SLOTS_MAX ? n : CLASS_SLOTS_MAX;
}

static void *reserve(uint64_t bytes, int protection)
{
	void *p = mmap(NULL, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

struct memory *memory_open(uint64_t limit_bytes)
{
	struct memory *mem = reserve(sizeof(*mem), PROT_READ | PROT_WRITE);
	uint64_t slots = 0, bytes = 0;

	if (!mem)
		return NULL;
	for (unsigned c = 0; c < CLASSES; c++) {
		slots += class_slots(c);
		bytes += class_slots(c) << (c + CLASS_MIN);
	}
	for (unsigned s = 0; s < SPACES; s++) {
		struct slot *table = reserve(slots * sizeof(*table), PROT_READ | PROT_WRITE);
		char *range = reserve(bytes, PROT_NONE);

		if (!table || !range)
			return NULL; /* the program cannot go on without its device: what is mapped stays */
		for (unsigned c = 0; c < CLASSES; c++) {
			struct size_class *cl = &mem->classes[s][c];

			cl->nslots = class_slots(c);
			cl->slots = table;
			cl->base = (uint64_t)(uintptr_t)range;
			table += cl->nslots;
			range += cl->nslots << (c + CLASS_MIN);
		}
	}
	mem->limit_bytes = limit_bytes;
	return mem;
}

static bool class_pop(struct size_class *cl, uint64_t *number)
{
	uint64_t top = atomic_load(&cl->top);

	while ((uint32_t)top) {
		struct slot *slot = &cl->slots[(uint32_t)top - 1];
		uint64_t next = ((top >> 32) + 1) << 32 | atomic_load(&slot->below);

		if (atomic_compare_exchange_weak(&cl->top, &top, next)) {
			*number = (uint32_t)top - 1;
			return true;
		}
	}
	return false;
}

static void class_push(struct size_class *cl, uint64_t number)
{
	uint64_t top = atomic_load(&cl->top), next;

	do {
		atomic_store(&cl->slots[number].below, (uint32_t)top);
		next = ((top >> 32) + 1) << 32 | (number + 1);
	} while (!atomic_compare_exchange_weak(&cl->top, &top, next));
}

static bool class_take(struct size_class *cl, uint64_t *number)
{
	uint64_t n;

	if (class_pop(cl, number))
		return true;
	n = atomic_load(&cl->fresh);
	do {
		if (n >= cl->nslots)
			return false;
	} while (!atomic_compare_exchange_weak(&cl->fresh, &n, n + 1));
	*number = n;
	return true;
}

static unsigned class_of(uint64_t bytes)
{
	unsigned c = 0;

	while (c < CLASSES && (UINT64_C(1) << (c + CLASS_MIN)) < bytes)
		c++;
	return c;
}

/* Makes a slot of the host's space real memory, or takes the memory away again. */
static bool touchable(uint64_t addr, uint64_t bytes, bool yes)
{
	int protection = yes ? PROT_READ | PROT_WRITE : PROT_NONE;
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;

	return mmap((void *)(uintptr_t)addr, bytes, protection, flags, -1, 0) != MAP_FAILED;
}

int memory_take(struct memory *mem, unsigned what, uint64_t bytes, uint64_t *addr)
{
	uint64_t charge = what == MEMORY_PINNED ? 0 : bytes;
	enum space space = what == MEMORY_DEVICE ? SPACE_DEVICE : SPACE_HOST;
	unsigned c = class_of(bytes);
	struct size_class *cl;
	uint64_t number, at;

	if (bytes == 0) {
		*addr = 0;
		return GPU_OK;
	}
	if (c >= CLASSES || charge > mem->limit_bytes)
		return GPU_OUT_OF_MEMORY;
	if (atomic_fetch_add(&mem->used_bytes, charge) > mem->limit_bytes - charge)
		goto refuse;
	cl = &mem->classes[space][c];
	if (!class_take(cl, &number))
		goto refuse;
	at = cl->base + (number << (c + CLASS_MIN));
	if (space == SPACE_HOST && !touchable(at, bytes, true)) {
		class_push(cl, number);
		goto refuse;
	}
	atomic_store(&cl->slots[number].state, (uint64_t)what << WHAT_SHIFT | bytes);
	*addr = at;
	return GPU_OK;
refuse:
	atomic_fetch_sub(&mem->used_bytes, charge);
	return GPU_OUT_OF_MEMORY;
}

static struct size_class *class_at(struct memory *mem, uint64_t addr, enum space *space, uint64_t *number)
{
	for (unsigned s = 0; s < SPACES; s++) {
		for (unsigned c = 0; c < CLASSES; c++) {
			struct size_class *cl = &mem->classes[s][c];
			uint64_t off = addr - cl->base;

			if (addr < cl->base || off >= cl->nslots << (c + CLASS_MIN))
				continue;
			if (off & ((UINT64_C(1) << (c + CLASS_MIN)) - 1))
				return NULL;
			*space = (enum space)s;
			*number = off >> (c + CLASS_MIN);
			return cl;
		}
	}
	return NULL;
}

int memory_give(struct memory *mem, unsigned may, uint64_t addr)
{
	enum space space = SPACE_DEVICE;
	struct size_class *cl;
	uint64_t number, state, bytes;
	unsigned what;

	if (addr == 0)
		return GPU_OK;
	cl = class_at(mem, addr, &space, &number);
	if (!cl)
		return GPU_INVALID_VALUE;
	state = atomic_load(&cl->slots[number].state);
	what = (unsigned)(state >> WHAT_SHIFT);
	bytes = state & ((UINT64_C(1) << WHAT_SHIFT) - 1);
	/* Of two threads that free the same address, one wins here. */
	if (!(what & may) || !atomic_compare_exchange_strong(&cl->slots[number].state, &state, 0))
		return GPU_INVALID_VALUE;
	if (space == SPACE_HOST)
		(void)touchable(addr, bytes, false); /* on failure it merely stays readable */
	class_push(cl, number);
	if (what != MEMORY_PINNED)
		atomic_fetch_sub(&mem->used_bytes, bytes);
	return GPU_OK;
}

uint64_t memory_used_bytes(const struct memory *mem)
{
	return atomic_load(&mem->used_bytes);
}
