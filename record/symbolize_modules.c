/* SPDX-License-Identifier: Apache-2.0 */
/* Files: their numbers, and the symbols of those used last. */
#include "record/symbolize_inside.h"

#include <stdlib.h>
#include <string.h>

static size_t bucket_of(uint64_t device, uint64_t inode)
{
	uint64_t h = (inode ^ device * 0x9e3779b97f4a7c15ULL) * 0x9e3779b97f4a7c15ULL;

	return (size_t)(h >> 52) % BUCKETS;
}

static void drop_image(struct registry *reg, size_t i)
{
	struct known *k = reg->loaded[i];

	reg->nsymbols -= k->nsymbols;
	image_close(k->image);
	k->image = NULL;
	k->nsymbols = 0;
	reg->loaded[i] = reg->loaded[--reg->nloaded];
}

void registry_clear(struct registry *reg)
{
	while (reg->nloaded)
		drop_image(reg, reg->nloaded - 1);
	for (uint32_t i = 0; i < reg->n; i++) {
		free((char *)reg->known[i]->module.path);
		free(reg->known[i]);
	}
	memset(reg, 0, sizeof(*reg));
}

static bool same_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

/* Not a byte of the file can have changed between the two. */
static bool same_stamp(const struct stat *a, const struct stat *b)
{
	return a->st_size == b->st_size && same_time(&a->st_ctim, &b->st_ctim) && same_time(&a->st_mtim, &b->st_mtim);
}

/* Build-id of an open file: "" when it has none or is nothing we can read. Returns 0 or ERR_MEMORY. */
static int read_build_id(int fd, char *build_id, size_t size, bool *refused, struct symbolizer_counts *counts,
			 struct fault *why)
{
	struct image *img = NULL;
	struct fault fault;
	int err = image_open(&img, fd, &fault);

	build_id[0] = '\0';
	*refused = err != 0;
	if (err == ERR_MEMORY) {
		if (why)
			*why = fault;
		return err;
	}
	if (err) {
		counts->files_refused++;
		return 0;
	}
	memcpy(build_id, image_build_id(img), strnlen(image_build_id(img), size - 1) + 1);
	image_close(img);
	return 0;
}

/* A new number; *out is NULL when there is none left. */
static int add_known(struct registry *reg, const struct mapping *m, const char *build_id, struct known **out,
		     struct symbolizer_counts *counts, struct fault *why)
{
	size_t bucket = bucket_of(mapping_device(m), m->inode);
	struct known *k;
	char *path;

	*out = NULL;
	if (reg->n == SYMBOLIZE_MODULES_MAX) {
		counts->modules_over++;
		return 0;
	}
	k = calloc(1, sizeof(*k));
	path = strdup(m->path);
	if (!k || !path) {
		free(k);
		free(path);
		return fault_set(why, ERR_MEMORY, FAULT_NOWHERE, "out of memory for the list of modules");
	}
	k->module.id = reg->n + 1;
	k->module.device = mapping_device(m);
	k->module.inode = m->inode;
	k->module.path = path;
	k->module.deleted = m->deleted;
	k->module.mount_namespace = m->mount_namespace;
	memcpy(k->module.build_id, build_id, strlen(build_id) + 1);
	k->older = reg->bucket[bucket];
	reg->bucket[bucket] = k;
	reg->known[reg->n++] = k;
	*out = k;
	return 0;
}

static struct known *next_of(struct known *k, const struct mapping *m)
{
	while (k && (k->module.device != mapping_device(m) || k->module.inode != m->inode))
		k = k->older;
	return k;
}

/* The same file, touched since? Without a build-id, only its length can tell. */
static bool same_content(const struct known *k, const char *build_id, const struct stat *st)
{
	return k->seen && strcmp(k->module.build_id, build_id) == 0 && (build_id[0] || k->stamp.st_size == st->st_size);
}

int registry_find(struct registry *reg, int fd, const struct mapping *m, struct known **known,
		  struct symbolizer_counts *counts, struct fault *why)
{
	struct known *first = next_of(reg->bucket[bucket_of(mapping_device(m), m->inode)], m);
	char build_id[2 * IMAGE_BUILD_ID_MAX + 1] = "";
	bool refused = false;
	struct known *k;
	struct stat st;
	int err;

	if (fd < 0 || fstat(fd, &st) != 0) {
		*known = first;
		return first ? 0 : add_known(reg, m, "", known, counts, why);
	}
	if (first && first->seen && same_stamp(&first->stamp, &st)) {
		*known = first;
		return 0;
	}
	err = read_build_id(fd, build_id, sizeof(build_id), &refused, counts, why);
	if (err)
		return err;
	for (k = first; k; k = next_of(k->older, m))
		if (same_content(k, build_id, &st))
			break;
	if (!k) {
		err = add_known(reg, m, build_id, &k, counts, why);
		if (err)
			return err;
	}
	if (k) {
		k->seen = true;
		k->stamp = st;
		k->refused = refused;
	}
	*known = k;
	return 0;
}

/* Make room: the images used longest ago go, but never `keep`. */
static void drop_old(struct registry *reg, const struct known *keep)
{
	while (reg->nloaded > 1 && (reg->nloaded > SYMBOLIZE_FILES_MAX || reg->nsymbols > SYMBOLIZE_SYMBOLS_MAX)) {
		size_t oldest = SIZE_MAX;

		for (size_t i = 0; i < reg->nloaded; i++)
			if (reg->loaded[i] != keep &&
			    (oldest == SIZE_MAX || reg->loaded[i]->used < reg->loaded[oldest]->used))
				oldest = i;
		drop_image(reg, oldest);
	}
}

int registry_load(struct registry *reg, struct known *known, int fd, struct symbolizer_counts *counts,
		  struct fault *why)
{
	struct image *img = NULL;
	struct fault fault;
	size_t n = 0;
	int err;

	known->used = ++reg->clock;
	if (known->image || known->refused || fd < 0)
		return 0;
	err = image_open(&img, fd, &fault);
	if (!err)
		err = image_load_symbols(img, SYMBOLIZE_SYMBOLS_MAX, &n, &fault);
	if (err) {
		image_close(img);
		if (err == ERR_MEMORY) {
			if (why)
				*why = fault;
			return err;
		}
		counts->files_refused++;
		known->refused = true;
		return 0;
	}
	reg->loaded[reg->nloaded++] = known;
	known->image = img;
	known->nsymbols = n;
	reg->nsymbols += n;
	drop_old(reg, known);
	return 0;
}

const struct module *registry_newest(const struct registry *reg, dev_t device, uint64_t inode)
{
	for (const struct known *k = reg->bucket[bucket_of(device, inode)]; k; k = k->older)
		if (k->module.device == device && k->module.inode == inode)
			return &k->module;
	return NULL;
}
