/* SPDX-License-Identifier: Apache-2.0 */
/* Looking up many function names at once: image_find(). */
#include "record/symbols/elf_internal.h"
#include "format/base/array.h"

#include <stdlib.h>
#include <string.h>

#define NAMES_WHOLE (64u << 20) /* up to so many bytes of names are read at once; above, in small windows */
#define NAMES_WINDOW 8192       /* a name longer than IMAGE_NAME_MAX is not looked for, so this is enough */

_Static_assert(NAMES_WINDOW >= IMAGE_NAME_MAX, "a name must fit into a window");

/* A table's names, through a window. */
struct names {
	struct image *img;
	const struct table *table;
	char *buf;
	size_t room;
	uint64_t first; /* offset in the table of buf[0] */
	size_t have;
};

static int names_init(struct names *names, struct image *img, const struct table *t, struct fault *why)
{
	*names = (struct names){.img = img, .table = t};
	names->room = t->names_bytes <= NAMES_WHOLE ? (size_t)t->names_bytes : NAMES_WINDOW;
	names->buf = malloc(names->room ? names->room : 1);
	if (!names->buf)
		return fault_no_memory(why);
	return 0;
}

/*
 * The bytes at `at`, `want` (at most NAMES_WINDOW) of them or as many as the table has: *text, *n. Valid until the next
 * call. *n is 0 when `at` is outside.
 */
static int names_peek(struct names *names, uint64_t at, size_t want, const char **text, size_t *n, struct fault *why)
{
	uint64_t total = names->table->names_bytes, from = at;
	size_t take;
	int err;

	*n = 0;
	if (at >= total)
		return 0;
	if (want > total - at)
		want = (size_t)(total - at);
	if (at < names->first || at + want > names->first + names->have) {
		if (names->room == total)
			from = 0;
		take = names->room < total - from ? names->room : (size_t)(total - from);
		names->have = 0;
		err = image_pread(names->img, names->buf, take, names->table->names_at + from, why);
		if (err)
			return err;
		names->first = from;
		names->have = take;
	}
	*text = names->buf + (at - names->first);
	*n = want;
	return 0;
}

/* What the caller of image_find() wants: its names, sorted. */
struct wanted {
	const char *text;
	size_t len;
	size_t index;
};

struct search {
	struct wanted *wanted;
	size_t nwanted;
	size_t longest;
	struct image_match *matches;
	size_t n, room;
};

/* Order of two byte strings. */
static int compare_text(const char *a, size_t a_len, const char *b, size_t b_len)
{
	int order = memcmp(a, b, a_len < b_len ? a_len : b_len);

	return order ? order : (a_len > b_len) - (a_len < b_len);
}

static int compare_wanted(const void *a, const void *b)
{
	const struct wanted *x = a, *y = b;

	return compare_text(x->text, x->len, y->text, y->len);
}

static int compare_match(const void *a, const void *b)
{
	const struct image_match *x = a, *y = b;

	if (x->name != y->name)
		return x->name < y->name ? -1 : 1;
	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	return (x->bytes < y->bytes) - (x->bytes > y->bytes); /* the one that reports its size first */
}

static int search_init(struct search *s, const char *const *names, size_t nnames, struct fault *why)
{
	*s = (struct search){.nwanted = nnames};
	s->wanted = calloc(nnames ? nnames : 1, sizeof(*s->wanted));
	if (!s->wanted)
		return fault_no_memory(why);
	for (size_t i = 0; i < nnames; i++) {
		size_t len = strlen(names[i]);

		if (len >= IMAGE_NAME_MAX)
			return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "a function's name has more than %d bytes",
					 IMAGE_NAME_MAX - 1);
		s->wanted[i] = (struct wanted){names[i], len, i};
		if (len > s->longest)
			s->longest = len;
	}
	qsort(s->wanted, nnames, sizeof(*s->wanted), compare_wanted);
	return 0;
}

static int search_add(struct search *s, const struct image_match *m, struct fault *why)
{
	struct image_match *more;

	/* Twice the limit: what is in both tables becomes one in the end. */
	if (s->n == (size_t)2 * IMAGE_MATCHES_MAX)
		return fault_set(why, ERR_INPUT, FAULT_NOWHERE,
				 "the ELF file has more than %d functions of the names looked for", IMAGE_MATCHES_MAX);
	more = array_grow(s->matches, &s->room, s->n + 1, sizeof(*more));
	if (!more)
		return fault_no_memory(why);
	s->matches = more;
	s->matches[s->n++] = *m;
	return 0;
}

/* Where the first of the wanted names that are `text` stands, or nwanted. */
static size_t search_name(const struct search *s, const char *text, size_t len)
{
	size_t low = 0, high = s->nwanted;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (compare_text(s->wanted[mid].text, s->wanted[mid].len, text, len) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* Length of the name at `text`, up to its version ("@V1", as .symtab writes it); n when it does not end within n bytes.
 */
static size_t name_length(const char *text, size_t n)
{
	size_t len = 0;

	while (len < n && text[len] != '\0' && text[len] != '@')
		len++;
	return len;
}

/* *m is of all the names looked for that are `text`. */
static int search_match(struct search *s, struct image_match *m, const char *text, size_t len, struct fault *why)
{
	int err = 0;

	for (size_t i = search_name(s, text, len); i < s->nwanted && !err; i++) {
		if (compare_text(s->wanted[i].text, s->wanted[i].len, text, len) != 0)
			break;
		m->name = s->wanted[i].index;
		err = search_add(s, m, why);
	}
	return err;
}

/* While one name is looked up in the hash table. */
struct hashed {
	struct search *search;
	const struct image *img;
	const struct wanted *wanted;
};

static int take_hashed(void *self, const Elf64_Sym *sym, struct fault *why)
{
	const struct hashed *h = self;
	struct image_match m = {.bytes = sym->st_size, .exported = true};

	if (!image_defines(h->img, sym, &m.offset))
		return 0;
	m.ifunc = ELF64_ST_TYPE(sym->st_info) == STT_GNU_IFUNC;
	return search_match(h->search, &m, h->wanted->text, h->wanted->len, why);
}

/* 1; 0: the table must be read through; negative. */
static int search_hash(struct search *s, struct image *img, struct fault *why)
{
	size_t before = s->n;
	int err = image_hash_read(img, s->nwanted, why), r = err ? err : 1;

	for (size_t i = 0; i < s->nwanted && r > 0; i++) {
		struct hashed h = {s, img, &s->wanted[i]};

		/* Those that are the same were all answered with the first. */
		if (i == 0 || compare_wanted(&s->wanted[i - 1], &s->wanted[i]) != 0)
			r = image_hash_find(img, s->wanted[i].text, s->wanted[i].len, take_hashed, &h, why);
	}
	if (r == 0)
		s->n = before;
	return r;
}

static int search_table(struct search *s, struct image *img, const struct table *t, bool imports, struct fault *why)
{
	struct symbol_reader *reader = NULL;
	struct names names = {0};
	uint64_t index, offset;
	Elf64_Sym sym;
	int err;

	err = symbol_reader_new(&reader, img, t, why);
	if (!err)
		err = names_init(&names, img, t, why);
	if (err)
		goto out;
	reader->imports = imports;
	while ((err = symbol_reader_next(reader, &sym, &index, &offset, why)) > 0) {
		struct image_match m = {.offset = offset, .bytes = sym.st_size};
		const char *text;
		size_t n, len;

		err = names_peek(&names, sym.st_name, s->longest + 1, &text, &n, why);
		if (err)
			goto out;
		len = n ? name_length(text, n) : 0;
		if (len == n)
			continue;
		m.ifunc = ELF64_ST_TYPE(sym.st_info) == STT_GNU_IFUNC;
		m.exported = t == &img->tables[TABLE_DYNSYM];
		err = search_match(s, &m, text, len, why);
		if (err)
			goto out;
	}
out:
	free(names.buf);
	free(reader);
	return err;
}

int image_find(struct image *img, const char *const *names, size_t nnames, struct image_match **matches, size_t *n,
	       struct fault *why)
{
	struct search s;
	size_t kept = 0;
	int err = search_init(&s, names, nnames, why);

	img->left_bytes = IMAGE_READ_MAX;
	for (size_t i = 0; !err && nnames && i < NTABLES; i++) {
		if (!img->tables[i].nsymbols)
			continue;
		err = i == TABLE_DYNSYM ? search_hash(&s, img, why) : 0;
		err = err == 0 ? search_table(&s, img, &img->tables[i], false, why) : err < 0 ? err : 0;
	}
	if (err)
		goto out;
	if (s.n)
		qsort(s.matches, s.n, sizeof(*s.matches), compare_match);
	for (size_t i = 0; i < s.n; i++) {
		if (!kept || s.matches[i].name != s.matches[kept - 1].name ||
		    s.matches[i].offset != s.matches[kept - 1].offset)
			s.matches[kept++] = s.matches[i];
		else if (s.matches[i].exported)
			s.matches[kept - 1].exported = true;
	}
	if (kept > IMAGE_MATCHES_MAX) {
		err = fault_set(why, ERR_INPUT, FAULT_NOWHERE,
				"the ELF file has more than %d functions of the names looked for", IMAGE_MATCHES_MAX);
		goto out;
	}
	*matches = s.matches;
	*n = kept;
	s.matches = NULL;
out:
	free(s.matches);
	free(s.wanted);
	return err;
}

int image_imports(struct image *img, const char *name, struct fault *why)
{
	struct search s;
	int err = search_init(&s, &name, 1, why);

	img->left_bytes = IMAGE_READ_MAX;
	if (!err && img->tables[TABLE_DYNSYM].nsymbols)
		err = search_table(&s, img, &img->tables[TABLE_DYNSYM], true, why);
	if (!err)
		err = s.n > 0;
	free(s.matches);
	free(s.wanted);
	return err;
}
