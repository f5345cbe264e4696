/* SPDX-License-Identifier: Apache-2.0 */
#include "record/symbols/kernel_rows.h"

#include <stdlib.h>
#include <string.h>

#include "record/row.h"

#define TABLE_FIRST 1024u /* power of two */
#define NO_NAME UINT32_MAX
#define PIDS 4096u

struct known {
	uint64_t start_ns, function, at_ns;
	uint32_t pid; /* 0: free, or (deleted) free again */
	uint32_t name;
	bool used;    /* not free: the search goes on behind it */
	bool emitted; /* its row is written, or there is nothing to be written */
};

struct kernels {
	struct symbolizer *symbolizer;
	struct stacks *stacks;
	struct known *table;         /* open addressing, at most three quarters in use */
	uint32_t size, nused, nlive; /* nused: with those that were deleted */
	uint32_t of_pid[PIDS];       /* entries by pid modulo this: most processes that end have none */
	char *text;                  /* names, each with its final NUL, one after the other */
	uint32_t ntext, text_room;
	uint32_t *by_name; /* where a name begins in `text`, plus 1; 0: free */
	uint32_t names_size, nnames;
	struct place place; /* large: not for the stack */
};

int kernels_new(struct kernels **out, struct symbolizer *symbolizer, struct stacks *stacks, struct fault *why)
{
	struct kernels *k = calloc(1, sizeof(*k));

	if (k) {
		k->table = calloc(TABLE_FIRST, sizeof(*k->table));
		k->by_name = calloc(TABLE_FIRST, sizeof(*k->by_name));
	}
	if (!k || !k->table || !k->by_name) {
		kernels_free(k);
		return fault_no_memory(why);
	}
	k->size = k->names_size = TABLE_FIRST;
	k->symbolizer = symbolizer;
	k->stacks = stacks;
	*out = k;
	return 0;
}

void kernels_free(struct kernels *k)
{
	if (!k)
		return;
	free(k->table);
	free(k->text);
	free(k->by_name);
	free(k);
}

static uint32_t mix(uint64_t x)
{
	x ^= x >> 29;
	x *= 0xbf58476d1ce4e5b9u;
	return (uint32_t)(x ^ x >> 32);
}

/* Its entry, or the free one where it belongs. */
static struct known *find(struct known *table, uint32_t size, uint32_t pid, uint64_t function)
{
	uint32_t at = mix(function + ((uint64_t)pid << 40));

	while (table[at & (size - 1)].used &&
	       !(table[at & (size - 1)].pid == pid && table[at & (size - 1)].function == function))
		at++;
	return &table[at & (size - 1)];
}

/* Also clears away what was deleted. */
static int grow(struct kernels *k, struct fault *why)
{
	uint32_t size = k->size;
	struct known *bigger;

	if (k->nlive >= KERNELS_MAX)
		return fault_set(why, ERR_MEMORY, FAULT_NOWHERE, "too many kernels");
	if (k->nused < k->size / 4 * 3)
		return 0;
	while (k->nlive >= size / 2)
		size *= 2;
	bigger = calloc(size, sizeof(*bigger));
	if (!bigger)
		return fault_no_memory(why);
	for (uint32_t i = 0; i < k->size; i++)
		if (k->table[i].pid)
			*find(bigger, size, k->table[i].pid, k->table[i].function) = k->table[i];
	free(k->table);
	k->table = bigger;
	k->size = size;
	k->nused = k->nlive;
	return 0;
}

static struct known *known_of(struct kernels *k, const struct kernel_of *of)
{
	struct known *known = find(k->table, k->size, of->pid, of->function);

	return known->used && known->start_ns == of->start_ns ? known : NULL;
}

/* The entry, made if need be; NULL: there is no room. */
static struct known *known_make(struct kernels *k, const struct kernel_of *of, struct fault *why)
{
	struct known *known = known_of(k, of);

	if (known)
		return known;
	if (grow(k, why) < 0)
		return NULL;
	known = find(k->table, k->size, of->pid, of->function);
	if (!known->used) {
		k->nused++;
		k->nlive++;
		k->of_pid[of->pid % PIDS]++;
	}
	*known = (struct known){.start_ns = of->start_ns,
				.function = of->function,
				.at_ns = of->at_ns,
				.pid = of->pid,
				.name = NO_NAME,
				.used = true};
	return known;
}

static uint32_t text_hash(const char *text, size_t n)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (size_t i = 0; i < n; i++)
		h = (h ^ (uint8_t)text[i]) * 0x100000001b3u;
	return mix(h);
}

static uint32_t *find_name(const struct kernels *k, uint32_t *by_name, uint32_t size, const char *text, size_t n)
{
	uint32_t at = text_hash(text, n);

	for (;; at++) {
		uint32_t *slot = &by_name[at & (size - 1)];

		if (!*slot || (!strncmp(k->text + *slot - 1, text, n) && !k->text[*slot - 1 + n]))
			return slot;
	}
}

static int grow_names(struct kernels *k, struct fault *why)
{
	uint32_t *bigger;

	if (k->nnames < k->names_size / 2)
		return 0;
	bigger = calloc((size_t)k->names_size * 2, sizeof(*bigger));
	if (!bigger)
		return fault_no_memory(why);
	for (uint32_t i = 0; i < k->names_size; i++)
		if (k->by_name[i]) {
			const char *text = k->text + k->by_name[i] - 1;

			*find_name(k, bigger, k->names_size * 2, text, strlen(text)) = k->by_name[i];
		}
	free(k->by_name);
	k->by_name = bigger;
	k->names_size *= 2;
	return 0;
}

/* Where the name is in k->text. Names are never freed: processes come and go, their programs are few. */
static int keep_name(struct kernels *k, const char *text, size_t n, uint32_t *at, struct fault *why)
{
	uint32_t *slot;

	if (grow_names(k, why) < 0)
		return ERR_MEMORY;
	slot = find_name(k, k->by_name, k->names_size, text, n);
	if (*slot) {
		*at = *slot - 1;
		return 0;
	}
	if (k->ntext + n + 1 > KERNEL_NAMES_BYTES_MAX)
		return fault_set(why, ERR_MEMORY, FAULT_NOWHERE, "too many names of kernels");
	if (k->ntext + n + 1 > k->text_room) {
		size_t room = (k->text_room + n + 1) * 2;
		char *more;

		if (room > KERNEL_NAMES_BYTES_MAX)
			room = KERNEL_NAMES_BYTES_MAX;
		more = realloc(k->text, room);
		if (!more)
			return fault_no_memory(why);
		k->text = more;
		k->text_room = (uint32_t)room;
	}
	memcpy(k->text + k->ntext, text, n);
	k->text[k->ntext + n] = 0;
	*at = k->ntext;
	*slot = k->ntext + 1;
	k->ntext += (uint32_t)n + 1;
	k->nnames++;
	return 0;
}

int kernels_name(struct kernels *k, const struct kernel_of *of, const char *name, size_t n, struct fault *why)
{
	struct known *known;
	uint32_t at = NO_NAME;
	int r;

	if (!of->function || !n)
		return 0;
	r = keep_name(k, name, strnlen(name, n), &at, why);
	if (r < 0)
		return r;
	known = known_make(k, of, why);
	if (!known)
		return ERR_MEMORY;
	if (known->name != at)
		known->emitted = false; /* the address has come to another function */
	known->name = at;
	known->at_ns = of->at_ns;
	return 0;
}

/* `name+0x1b` is the name only where nothing is added to it. */
static size_t whole_symbol(const char *symbol)
{
	const char *plus = strrchr(symbol, '+');

	if (!plus)
		return strlen(symbol);
	return strcmp(plus, "+0x0") ? 0 : (size_t)(plus - symbol);
}

/*
 * Write the row of a function whose name is at text[name], or is that of its symbol. Nothing known: no row.
 * INSPECT_LATER.
 */
static int emit(struct kernels *k, struct writer *w, const struct kernel_of *of, uint32_t name, struct fault *why)
{
	struct row row = row_of(KIND_kernel, of->at_ns);
	int r = symbolizer_place(k->symbolizer, of->pid, of->start_ns, of->function, false, of->at_ns, &k->place, why);

	if (r == 0 && symbolizer_late(k->symbolizer))
		return INSPECT_LATER;
	if (r == 0)
		r = stacks_emit_modules(k->stacks, w, of->at_ns, why);
	if (r < 0 || (name == NO_NAME && !k->place.module))
		return r;
	row.v[F_kernel_pid] = of->pid;
	row.v[F_kernel_start] = of->start_ns;
	row.v[F_kernel_function] = of->function;
	row.v[F_kernel_module] = k->place.module;
	row.v[F_kernel_offset] = k->place.offset;
	if (name == NO_NAME)
		row_bytes(&row, F_kernel_name, k->place.symbol, whole_symbol(k->place.symbol));
	else
		row_text(&row, F_kernel_name, k->text + name);
	return row_emit(&row, w, why);
}

int kernels_launched(struct kernels *k, struct writer *w, const struct kernel_of *of, struct fault *why)
{
	struct known *known = of->function ? known_make(k, of, why) : NULL;
	int r;

	if (!of->function || (known && known->emitted))
		return 0;
	if (!known)
		return ERR_MEMORY;
	r = emit(k, w, of, known->name, why);
	known->emitted = r != INSPECT_LATER; /* then with a later launch */
	return r < 0 ? r : 0;
}

int kernels_alias(struct kernels *k, struct writer *w, const struct kernel_of *of, uint64_t other, struct fault *why)
{
	struct kernel_of stub = *of;
	const struct known *known;
	uint32_t name;
	int r;

	stub.function = other;
	if (!of->function)
		return kernels_launched(k, w, &stub, why);
	known = known_of(k, &stub);
	name = known ? known->name : NO_NAME;
	if (name != NO_NAME)
		return kernels_name(k, of, k->text + name, strlen(k->text + name), why);
	r = symbolizer_place(k->symbolizer, of->pid, of->start_ns, other, false, of->at_ns, &k->place, why);
	if (r < 0 || symbolizer_late(k->symbolizer))
		return r;
	return kernels_name(k, of, k->place.symbol, whole_symbol(k->place.symbol), why);
}

void kernels_forget(struct kernels *k, uint32_t pid, uint64_t at_ns)
{
	for (uint32_t i = 0; i < k->size && k->of_pid[pid % PIDS]; i++) {
		if (!k->table[i].used || k->table[i].pid != pid || k->table[i].at_ns >= at_ns)
			continue;
		k->table[i].pid = 0; /* `used` stays, so that what is behind it is found */
		k->of_pid[pid % PIDS]--;
		k->nlive--;
	}
}
