/* SPDX-License-Identifier: Apache-2.0 */
/* Running through a symbol table in windows, so that a file of any size takes little memory. */
#include "record/symbols/elf_internal.h"

#include <stdlib.h>

bool image_offset_of(const struct image *img, uint64_t address, uint64_t *offset)
{
	for (size_t i = 0; i < img->ncode; i++) {
		const struct segment *s = &img->code[i];

		if (address >= s->address && address - s->address < s->bytes) {
			*offset = s->offset + (address - s->address);
			return true;
		}
	}
	return false;
}

bool image_defines(const struct image *img, const Elf64_Sym *sym, uint64_t *offset)
{
	unsigned type = ELF64_ST_TYPE(sym->st_info);

	return (type == STT_FUNC || type == STT_GNU_IFUNC) && sym->st_shndx != SHN_UNDEF &&
	       image_offset_of(img, sym->st_value, offset);
}

static bool is_import(const Elf64_Sym *sym)
{
	unsigned type = ELF64_ST_TYPE(sym->st_info);

	return sym->st_shndx == SHN_UNDEF && (type == STT_FUNC || type == STT_NOTYPE);
}

int symbol_reader_new(struct symbol_reader **out, struct image *img, const struct table *t, struct fault *why)
{
	struct symbol_reader *r;

	if (t->nsymbols > IMAGE_SYMBOLS_MAX)
		return fault_set(why, ERR_INPUT, t->symbols_at, "the ELF file has more than %d symbols in one table",
				 IMAGE_SYMBOLS_MAX);
	r = malloc(sizeof(*r));
	if (!r)
		return fault_no_memory(why);
	r->img = img;
	r->table = t;
	r->imports = false;
	r->next = r->first = 0;
	r->have = 0;
	*out = r;
	return 0;
}

int symbol_reader_next(struct symbol_reader *r, Elf64_Sym *sym, uint64_t *index, uint64_t *offset, struct fault *why)
{
	while (r->next < r->table->nsymbols) {
		const Elf64_Sym *s;

		if (r->next >= r->first + r->have) {
			uint64_t left = r->table->nsymbols - r->next;
			size_t n = left < SYMBOLS_WINDOW ? (size_t)left : SYMBOLS_WINDOW;
			int err = image_pread(r->img, r->buf, n * sizeof(r->buf[0]),
					      r->table->symbols_at + r->next * sizeof(r->buf[0]), why);

			if (err)
				return err;
			r->first = r->next;
			r->have = n;
		}
		s = &r->buf[r->next++ - r->first];
		if (r->imports ? !is_import(s) : !image_defines(r->img, s, offset))
			continue;
		if (r->imports)
			*offset = 0;
		*sym = *s;
		*index = r->next - 1;
		return 1;
	}
	return 0;
}
