/* SPDX-License-Identifier: Apache-2.0 */
/* Files: their numbers, and the symbols of those used last. */
#include "record/symbols/symbolize_internal.h"

#include <stdlib.h>
#include <string.h>

static struct known *newest_of(const struct registry *reg, uint64_t device, uint64_t inode)
{
	uint32_t id = map_get(&reg->newest, device, inode);

	return id ? reg->known[id - 1] : NULL;
}

void registry_clear(struct registry *reg)
{
	for (uint32_t i = 0; i < reg->n; i++) {
		free((char *)reg->known[i]->module.path);
		free(reg->known[i]);
	}
	map_clear(&reg->newest);
	memset(reg, 0, sizeof(*reg));
}

/* A new number; *out is NULL when there is none left. */
static int add_known(struct registry *reg, const struct mapping *m, const char *build_id, struct known **out,
		     struct symbolizer_counts *counts, struct fault *why)
{
	uint64_t device = mapping_device(m);
	struct known *k, *older;
	char *path;

	*out = NULL;
	if (reg->n == SYMBOLIZE_MODULES_MAX) {
		counts->modules_over++;
		return 0;
	}
	older = newest_of(reg, device, m->inode);
	k = calloc(1, sizeof(*k));
	path = strdup(m->path);
	if (!k || !path || map_put(&reg->newest, device, m->inode, reg->n + 1)) {
		free(k);
		free(path);
		return fault_no_memory(why);
	}
	k->module.id = reg->n + 1;
	k->module.device = device;
	k->module.inode = m->inode;
	k->module.path = path;
	k->module.deleted = m->deleted;
	k->module.mount_namespace = m->mount_namespace;
	memcpy(k->module.build_id, build_id, strlen(build_id) + 1);
	k->older = older;
	reg->known[reg->n++] = k;
	*out = k;
	return 0;
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
	struct known *first = newest_of(reg, mapping_device(m), m->inode), *k;
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
	for (k = first; k && !same_content(k, file);)
		k = k->older;
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
	const struct known *k = newest_of(reg, device, inode);

	return k ? &k->module : NULL;
}
