/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hash table of .dynsym (DT_GNU_HASH): header, a filter, buckets, and behind them a word for each hashed symbol,
 * the last of a bucket's marked by its lowest bit. Format: https://flapenguin.me/elf-dt-gnu-hash, glibc's
 * elf/dl-lookup.c. The file's author may have made it so that a chain goes on for ever: it is left after CHAIN_MAX.
 */
#include "record/symbols/elf_internal.h"

#include <stdlib.h>
#include <string.h>

#define CHAIN_MAX 256 /* words of one bucket; linkers make buckets of a few */
#define FILTER_BITS 64
#define COPY_BYTES 512 /* a table of so many for each name is read at once, a larger one word by word */

struct hash_head {
	uint32_t nbuckets;
	uint32_t first; /* symbol that is hashed */
	uint32_t filter_words;
	uint32_t filter_shift;
};

static uint32_t hash_of(const char *name, size_t len)
{
	uint32_t h = 5381;

	for (size_t i = 0; i < len; i++)
		h = h * 33 + (uint8_t)name[i];
	return h;
}

/* n bytes, `at` bytes behind the table's begin: 1; 0: they are not in it; negative. */
static int read_at(struct image *img, uint64_t at, void *buf, size_t n, struct fault *why)
{
	int err = 0;

	if (at > img->hash.bytes || n > img->hash.bytes - at)
		return 0;
	if (img->hash.copy)
		memcpy(buf, img->hash.copy + at, n);
	else
		err = image_pread(img, buf, n, img->hash.at + at, why);
	return err ? err : 1;
}

int image_hash_read(struct image *img, size_t nnames, struct fault *why)
{
	struct hash_table *h = &img->hash;
	unsigned char *copy;
	int err;

	if (h->copy || !h->bytes || h->bytes / COPY_BYTES > nnames)
		return 0;
	copy = malloc((size_t)h->bytes);
	if (!copy)
		return fault_no_memory(why);
	err = image_pread(img, copy, (size_t)h->bytes, h->at, why);
	if (err)
		free(copy);
	else
		h->copy = copy;
	return err;
}

/* 1, with *absent when the filter knows that the name is not there; 0: the table contradicts itself; negative. */
static int ask_filter(struct image *img, const struct hash_head *head, uint32_t hash, bool *absent, struct fault *why)
{
	uint64_t word = 0, at = sizeof(*head) + (uint64_t)(hash / FILTER_BITS % head->filter_words) * sizeof(word);
	int r = read_at(img, at, &word, sizeof(word), why);

	*absent = r > 0 && !(word >> (hash % FILTER_BITS) & word >> ((hash >> head->filter_shift) % FILTER_BITS) & 1);
	return r;
}

/* Whether the symbol bears this name. */
static int has_name(struct image *img, const Elf64_Sym *sym, const char *name, size_t len, struct fault *why)
{
	const struct table *t = &img->tables[TABLE_DYNSYM];
	char text[IMAGE_NAME_MAX];
	int err;

	if (sym->st_name >= t->names_bytes || len >= sizeof(text) || t->names_bytes - sym->st_name <= len)
		return 0;
	err = image_pread(img, text, len + 1, t->names_at + sym->st_name, why);
	return err ? err : memcmp(text, name, len) == 0 && text[len] == '\0';
}

int image_hash_find(struct image *img, const char *name, size_t len,
		    int (*found)(void *self, const Elf64_Sym *sym, struct fault *why), void *self, struct fault *why)
{
	const struct table *t = &img->tables[TABLE_DYNSYM];
	uint32_t hash = hash_of(name, len), index = 0, word = 0;
	struct hash_head head;
	uint64_t buckets_at, words_at;
	bool absent;
	int r = read_at(img, 0, &head, sizeof(head), why);

	if (r <= 0 || !head.nbuckets || !head.filter_words || head.filter_shift >= 32)
		return r < 0 ? r : 0;
	buckets_at = sizeof(head) + (uint64_t)head.filter_words * sizeof(uint64_t);
	words_at = buckets_at + (uint64_t)head.nbuckets * sizeof(uint32_t);
	r = ask_filter(img, &head, hash, &absent, why);
	if (r <= 0 || absent)
		return r;
	r = read_at(img, buckets_at + (uint64_t)(hash % head.nbuckets) * sizeof(index), &index, sizeof(index), why);
	if (r <= 0 || index == 0)
		return r;
	if (index < head.first)
		return 0;
	for (unsigned i = 0; i < CHAIN_MAX && r > 0 && !(word & 1); i++, index++) {
		Elf64_Sym sym;

		r = index < t->nsymbols ? read_at(img, words_at + (uint64_t)(index - head.first) * sizeof(word), &word,
						  sizeof(word), why)
					: 0;
		if (r <= 0 || (word | 1) != (hash | 1))
			continue;
		r = image_pread(img, &sym, sizeof(sym), t->symbols_at + (uint64_t)index * sizeof(sym), why);
		if (r == 0)
			r = has_name(img, &sym, name, len, why);
		if (r > 0)
			r = found(self, &sym, why);
		if (r == 0)
			r = 1;
	}
	return r;
}
