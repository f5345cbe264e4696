/* SPDX-License-Identifier: Apache-2.0 */
#include "record/symbols/kernel_rows.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/array.h"
#include "format/base/table.h"
#include "record/row.h"

#define NO_NAME UINT32_MAX
#define PIDS 4096u

/* What was reported of a function. */
struct function_name {
	struct table_key key; /* pid, function */
	uint64_t start_ns, at_ns;
	uint32_t name;
	bool emitted; /* its row is written, or there is nothing to be written */
};

/* It was launched, and its place is not known yet. */
struct late_function {
	struct kernel_of of;
	uint32_t name;
};

struct kernels {
	struct symbolizer *symbolizer;
	struct stacks *stacks;
	struct table functions;
	uint32_t of_pid[PIDS]; /* functions by pid modulo this: most processes that end have none */
	char *text;            /* names, each with its final NUL, one after the other */
	size_t ntext, text_room;
	struct map names; /* by the keyed hash of a name: where it begins in `text`, plus 1 */
	uint8_t hash_key[crypto_generichash_KEYBYTES];
	struct late_function late[KERNELS_LATE_MAX];
	size_t nlate;
	struct place place; /* large: not for the stack */
};

int kernels_new(struct kernels **out, struct symbolizer *symbolizer, struct stacks *stacks, struct fault *why)
{
	struct kernels *k = calloc(1, sizeof(*k));

	if (!k)
		return fault_no_memory(why);
	k->symbolizer = symbolizer;
	k->stacks = stacks;
	randombytes_buf(k->hash_key, sizeof(k->hash_key));
	*out = k;
	return 0;
}

void kernels_free(struct kernels *k)
{
	if (!k)
		return;
	table_clear(&k->functions);
	map_clear(&k->names);
	free(k->text);
	free(k);
}

static struct function_name *find(const struct kernels *k, const struct kernel_of *of)
{
	struct function_name *f = table_find(&k->functions, of->pid, of->function);

	return f && f->start_ns == of->start_ns ? f : NULL;
}

/* The same, made if need be; NULL: there is no room. */
static struct function_name *find_or_add(struct kernels *k, const struct kernel_of *of, struct fault *why)
{
	struct function_name *f = find(k, of);

	if (f)
		return f;
	f = table_find(&k->functions, of->pid, of->function); /* of another process that had the number */
	if (!f && k->functions.nitems >= KERNELS_MAX) {
		fault_set(why, ERR_MEMORY, FAULT_NOWHERE, "too many kernels");
		return NULL;
	}
	if (!f) {
		f = table_add(&k->functions, of->pid, of->function, sizeof(*f));
		if (!f) {
			fault_no_memory(why);
			return NULL;
		}
		k->of_pid[of->pid % PIDS]++;
	}
	f->start_ns = of->start_ns;
	f->at_ns = of->at_ns;
	f->name = NO_NAME;
	f->emitted = false;
	return f;
}

/*
 * Where the name is in k->text. Names are never freed: processes come and go, their programs are few. A name is known
 * by a keyed hash alone: 128 bits, so that nobody finds two that agree.
 */
static int keep_name(struct kernels *k, const char *name, size_t n, uint32_t *at, struct fault *why)
{
	uint64_t hash[2];
	uint32_t known;
	char *more;

	crypto_generichash((uint8_t *)hash, sizeof(hash), (const uint8_t *)name, n, k->hash_key, sizeof(k->hash_key));
	known = map_get(&k->names, hash[0], hash[1]);
	if (known) {
		*at = known - 1;
		return 0;
	}
	if (k->ntext + n + 1 > KERNEL_NAMES_BYTES_MAX)
		return fault_set(why, ERR_MEMORY, FAULT_NOWHERE, "too many names of kernels");
	more = array_grow(k->text, &k->text_room, k->ntext + n + 1, 1);
	if (!more)
		return fault_no_memory(why);
	k->text = more;
	if (map_put(&k->names, hash[0], hash[1], (uint32_t)k->ntext + 1))
		return fault_no_memory(why);
	memcpy(k->text + k->ntext, name, n);
	k->text[k->ntext + n] = '\0';
	*at = (uint32_t)k->ntext;
	k->ntext += n + 1;
	return 0;
}

int kernels_name(struct kernels *k, const struct kernel_of *of, const char *name, size_t n, struct fault *why)
{
	struct function_name *known;
	uint32_t at = NO_NAME;
	int r;

	if (!of->function || !n)
		return 0;
	r = keep_name(k, name, strnlen(name, n), &at, why);
	if (r < 0)
		return r;
	known = find_or_add(k, of, why);
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
 * INSPECT_LATER, unless it is to be `at_once`: answers are still to come.
 */
static int emit(struct kernels *k, struct writer *w, const struct kernel_of *of, uint32_t name, uint64_t now_ns,
		bool at_once, struct fault *why)
{
	struct row row = row_of(KIND_kernel, of->at_ns);
	int r = symbolizer_place(k->symbolizer, of->pid, of->start_ns, of->function, false, now_ns, &k->place, why);

	if (r == 0 && !at_once && symbolizer_late(k->symbolizer))
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
	struct function_name *known = of->function ? find_or_add(k, of, why) : NULL;
	int r;

	if (!of->function || (known && known->emitted))
		return 0;
	if (!known)
		return ERR_MEMORY;
	r = emit(k, w, of, known->name, of->at_ns, k->nlate == KERNELS_LATE_MAX, why);
	known->emitted = true;
	if (r == INSPECT_LATER)
		k->late[k->nlate++] = (struct late_function){*of, known->name};
	return r < 0 ? r : 0;
}

int kernels_go_on(struct kernels *k, struct writer *w, uint64_t now_ns, bool at_end, struct fault *why)
{
	size_t kept = 0;
	int r = 0;

	for (size_t i = 0; i < k->nlate; i++) {
		struct late_function late = k->late[i];
		const struct function_name *known = find(k, &late.of);

		if (known && known->name != late.name) /* the address has come to another function since */
			continue;
		if (late.of.at_ns < writer_begin_ns(w))
			late.of.at_ns = writer_begin_ns(w);
		if (r >= 0)
			r = emit(k, w, &late.of, late.name, now_ns, at_end, why);
		if (r < 0 || r == INSPECT_LATER)
			k->late[kept++] = k->late[i];
	}
	k->nlate = kept;
	return r < 0 ? r : 0;
}

int kernels_alias(struct kernels *k, struct writer *w, const struct kernel_of *of, uint64_t other, struct fault *why)
{
	struct kernel_of stub = *of;
	const struct function_name *known;
	uint32_t name;
	int r;

	stub.function = other;
	if (!of->function)
		return kernels_launched(k, w, &stub, why);
	known = find(k, &stub);
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
	for (size_t i = k->functions.nitems; i-- > 0 && k->of_pid[pid % PIDS];) {
		const struct function_name *f = (const void *)k->functions.items[i];

		if (f->key.a != pid || f->at_ns >= at_ns)
			continue;
		table_remove(&k->functions, f->key.a, f->key.b); /* the last one, which was seen, takes its place */
		k->of_pid[pid % PIDS]--;
	}
}
