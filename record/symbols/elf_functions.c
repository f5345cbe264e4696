/* SPDX-License-Identifier: Apache-2.0 */
/* From a place in the file to the function there: image_load_symbols() and image_symbol(). */
#include "record/symbols/elf_internal.h"

#include <stdlib.h>
#include <string.h>

#define WALK_BACK_MAX 16 /* how many functions that began later may lie inside the one an address is in */

#define REF_RANK_SHIFT 28
#define REF_INDEX_MASK ((1u << REF_RANK_SHIFT) - 1)
#define REF_RANK_DYNSYM 1u
#define REF_RANK_NO_SIZE 2u
#define REF_RANK_WEAK 4u
#define REF_RANK_LOCAL 8u

_Static_assert(IMAGE_SYMBOLS_MAX <= REF_INDEX_MASK, "an index must fit into struct function's ref");

static bool offset_to_address(const struct image *img, uint64_t offset, uint64_t *address)
{
	for (size_t i = 0; i < img->ncode; i++) {
		const struct segment *s = &img->code[i];

		if (offset >= s->offset && offset - s->offset < s->bytes) {
			*address = s->address + (offset - s->offset);
			return true;
		}
	}
	return false;
}

static int compare_function(const void *a, const void *b)
{
	const struct function *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return (x->ref > y->ref) - (x->ref < y->ref);
}

static uint32_t rank_of(const Elf64_Sym *sym, size_t table)
{
	unsigned bind = ELF64_ST_BIND(sym->st_info);
	uint32_t rank = table == TABLE_DYNSYM ? REF_RANK_DYNSYM : 0;

	if (!sym->st_size)
		rank |= REF_RANK_NO_SIZE;
	if (bind == STB_WEAK)
		rank |= REF_RANK_WEAK;
	else if (bind != STB_GLOBAL && bind != STB_GNU_UNIQUE)
		rank |= REF_RANK_LOCAL;
	return rank;
}

struct function_list {
	struct function *v;
	size_t n, room, max;
};

static int list_add(struct function_list *list, const struct function *f, struct fault *why)
{
	if (list->n == list->room) {
		size_t room = list->room ? 2 * list->room : 256;
		struct function *more;

		if (list->n >= list->max)
			return fault_set(why, ERR_INPUT, FAULT_NOWHERE,
					 "the ELF file has more functions than are kept");
		more = reallocarray(list->v, room, sizeof(*more));
		if (!more)
			return fault_no_memory(why);
		list->v = more;
		list->room = room;
	}
	list->v[list->n++] = *f;
	return 0;
}

static int list_table(struct function_list *list, struct image *img, size_t table, struct fault *why)
{
	struct symbol_reader *reader = NULL;
	uint64_t index, offset;
	Elf64_Sym sym;
	int err = symbol_reader_new(&reader, img, &img->tables[table], why);

	if (err)
		return err;
	while ((err = symbol_reader_next(reader, &sym, &index, &offset, why)) > 0) {
		struct function f = {.address = sym.st_value};

		f.bytes = sym.st_size < UINT32_MAX ? (uint32_t)sym.st_size : UINT32_MAX;
		f.ref = rank_of(&sym, table) << REF_RANK_SHIFT | (uint32_t)index;
		err = list_add(list, &f, why);
		if (err)
			break;
	}
	free(reader);
	return err;
}

int image_load_symbols(struct image *img, size_t max, size_t *nsymbols, struct fault *why)
{
	/* Twice, as what is in both tables becomes one in the end. */
	struct function_list list = {.max = max < SIZE_MAX / 2 ? 2 * max : SIZE_MAX};
	struct function *less;
	size_t kept = 0;
	int err = 0;

	img->left_bytes = IMAGE_READ_MAX;
	for (size_t i = 0; !img->loaded && !err && i < NTABLES; i++)
		if (img->tables[i].nsymbols)
			err = list_table(&list, img, i, why);
	if (!err && list.n) {
		qsort(list.v, list.n, sizeof(*list.v), compare_function);
		for (size_t i = 0; i < list.n; i++)
			if (!kept || list.v[i].address != list.v[kept - 1].address)
				list.v[kept++] = list.v[i];
	}
	if (!err && kept > max)
		err = fault_set(why, ERR_INPUT, FAULT_NOWHERE, "the ELF file has more than %zu functions", max);
	if (err) {
		free(list.v);
		return err;
	}
	if (!img->loaded) {
		less = kept ? reallocarray(list.v, kept, sizeof(*list.v)) : NULL;
		img->functions = less ? less : list.v;
		img->nfunctions = kept;
		img->loaded = true;
	}
	*nsymbols = img->nfunctions;
	return 0;
}

/* Whether both lie in one section of code. */
static bool same_section(const struct image *img, uint64_t a, uint64_t b)
{
	for (size_t i = 0; i < img->nsections; i++) {
		const struct section *s = &img->sections[i];

		if (a >= s->address && a - s->address < s->bytes)
			return b >= s->address && b - s->address < s->bytes;
	}
	return false;
}

/* The function that `address` lies in, or NULL. */
static const struct function *function_at(const struct image *img, uint64_t address)
{
	size_t low = 0, high = img->nfunctions;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (img->functions[mid].address <= address)
			low = mid + 1;
		else
			high = mid;
	}
	for (size_t back = 0; back < WALK_BACK_MAX && back < low; back++) {
		const struct function *f = &img->functions[low - 1 - back];

		if (address - f->address < f->bytes)
			return f;
		if (f->bytes ==
		    0) /* reaches to the next one, so holds the address only when it is the last before it */
			return back == 0 && same_section(img, f->address, address) ? f : NULL;
	}
	return NULL;
}

int image_symbol(struct image *img, uint64_t offset, char *name, size_t size, uint64_t *plus, struct fault *why)
{
	const struct function *f = NULL;
	const struct table *t;
	uint64_t address, index, left;
	Elf64_Sym sym;
	size_t n;
	int err;

	if (size < 2 || !offset_to_address(img, offset, &address))
		return 0;
	f = function_at(img, address);
	if (!f)
		return 0;
	img->left_bytes = IMAGE_READ_MAX;
	t = &img->tables[f->ref >> REF_RANK_SHIFT & REF_RANK_DYNSYM ? TABLE_DYNSYM : TABLE_SYMTAB];
	index = f->ref & REF_INDEX_MASK;
	err = image_pread(img, &sym, sizeof(sym), t->symbols_at + index * sizeof(sym), why);
	if (err)
		return err;
	if (sym.st_name >= t->names_bytes)
		return 0;
	left = t->names_bytes - sym.st_name;
	n = left < size - 1 ? (size_t)left : size - 1;
	err = image_pread(img, name, n, t->names_at + sym.st_name, why);
	if (err)
		return err;
	name[n] = '\0';
	/* Not ended within the table: no name. Empty: neither. */
	if (name[0] == '\0' || (strlen(name) == n && n == left))
		return 0;
	*plus = address - f->address;
	return 1;
}
