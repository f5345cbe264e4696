/* SPDX-License-Identifier: Apache-2.0 */
/* Files: their numbers, and the symbols of those used last. */
#include "record/symbols/symbolize_internal.h"

#include <stdlib.h>
#include <string.h>

static size_t bucket_of(uint64_t device, uint64_t inode)
{
	uint64_t h = (inode ^ device * 0x9e3779b97f4a7c15ULL) * 0x9e3779b97f4a7c15ULL;

	return (size_t)(h >> 52) % BUCKETS;
}

void registry_clear(struct registry *reg)
{
	for (uint32_t i = 0; i < reg->n; i++) {
		free((char *)reg->known[i]->module.path);
		free(reg->known[i]);
	}
	memset(reg, 0, sizeof(*reg));
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
		return fault_no_memory(why);
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

/* The same file, touched since? Without a build-id, only its length can show. */
static bool same_content(const struct known *k, const struct inspect_file *file)
{
	return k->seen && strcmp(k->module.build_id, file->build_id) == 0 &&
	       (file->build_id[0] || k->stamp.bytes == file->stamp.bytes);
}

int registry_find(struct registry *reg, const struct inspect_file *file, const struct mapping *m, struct known **known,
		  struct symbolizer_counts *counts, struct fault *why)
{
	struct known *first = next_of(reg->bucket[bucket_of(mapping_device(m), m->inode)], m);
	struct known *k;
	int err;

	if (!file) {
		*known = first;
		return first ? 0 : add_known(reg, m, "", known, counts, why);
	}
	if (first && first->seen && stamp_same(&first->stamp, &file->stamp)) {
		*known = first;
		return 0;
	}
	counts->files_refused += !file->elf;
	for (k = first; k; k = next_of(k->older, m))
		if (same_content(k, file))
			break;
	if (!k) {
		err = add_known(reg, m, file->build_id, &k, counts, why);
		if (err)
			return err;
	}
	if (k) {
		k->seen = true;
		k->stamp = file->stamp;
		k->refused = !file->elf;
	}
	*known = k;
	return 0;
}

const struct module *registry_newest(const struct registry *reg, dev_t device, uint64_t inode)
{
	for (const struct known *k = reg->bucket[bucket_of(device, inode)]; k; k = k->older)
		if (k->module.device == device && k->module.inode == inode)
			return &k->module;
	return NULL;
}
