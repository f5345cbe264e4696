/* SPDX-License-Identifier: Apache-2.0 */
#include "record/stacks.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "record/probes.h"

#define TABLE_FIRST 1024u /* power of two */

/* A stack is known by a keyed hash alone: 128 bits, so that nobody finds two that agree. */
struct known {
	uint8_t hash[crypto_generichash_BYTES_MIN];
	uint32_t id; /* 0: free */
};

struct stacks {
	struct symbolizer *symbolizer;
	struct known *table; /* open addressing, at most half full */
	uint32_t size, nstacks;
	uint32_t ntold; /* modules that have their row */
	uint8_t key[crypto_generichash_KEYBYTES];
};

int stacks_new(struct stacks **out, struct symbolizer *symbolizer, struct fault *why)
{
	struct stacks *s = calloc(1, sizeof(*s));

	if (s)
		s->table = calloc(TABLE_FIRST, sizeof(*s->table));
	if (!s || !s->table) {
		free(s);
		return fault_set(why, ERR_MEMORY, FAULT_NOWHERE, "out of memory");
	}
	s->size = TABLE_FIRST;
	s->symbolizer = symbolizer;
	randombytes_buf(s->key, sizeof(s->key));
	*out = s;
	return 0;
}

void stacks_free(struct stacks *s)
{
	if (s)
		free(s->table);
	free(s);
}

void stacks_forget(struct stacks *s)
{
	memset(s->table, 0, s->size * sizeof(*s->table));
	s->nstacks = 0;
}

static struct known *find(struct known *table, uint32_t size, const uint8_t *hash)
{
	uint32_t at;

	memcpy(&at, hash, sizeof(at));
	while (table[at & (size - 1)].id && memcmp(table[at & (size - 1)].hash, hash, sizeof(table->hash)))
		at++;
	return &table[at & (size - 1)];
}

static int grow(struct stacks *s, struct fault *why)
{
	struct known *bigger;

	if (s->nstacks < s->size / 2)
		return 0;
	bigger = calloc((size_t)s->size * 2, sizeof(*bigger));
	if (!bigger)
		return fault_set(why, ERR_MEMORY, FAULT_NOWHERE, "out of memory for %u stacks", s->nstacks);
	for (uint32_t i = 0; i < s->size; i++)
		if (s->table[i].id)
			*find(bigger, s->size * 2, s->table[i].hash) = s->table[i];
	free(s->table);
	s->table = bigger;
	s->size *= 2;
	return 0;
}

int stacks_tell_modules(struct stacks *s, struct writer *w, uint64_t at_ns, struct fault *why)
{
	while (s->ntold < symbolizer_nmodules(s->symbolizer)) {
		const struct module *m = symbolizer_module_at(s->symbolizer, s->ntold + 1);
		const char *text[NFIELDS_module] = {0};
		uint64_t v[NFIELDS_module] = {0};
		int r;

		v[F_module_at] = at_ns;
		v[F_module_id] = m->id;
		v[F_module_device] = m->device;
		v[F_module_inode] = m->inode;
		v[F_module_build_id] = strlen(m->build_id);
		text[F_module_build_id] = m->build_id;
		v[F_module_path] = strlen(m->path);
		text[F_module_path] = m->path;
		v[F_module_deleted] = m->deleted;
		v[F_module_mount] = m->mount_namespace;
		r = writer_add(w, KIND_module, v, text, why);
		if (r < 0)
			return r;
		s->ntold++;
	}
	return 0;
}

static int tell_frame(struct stacks *s, struct writer *w, uint64_t at_ns, uint32_t id, size_t depth, uint64_t address,
		      const struct place *place, struct fault *why)
{
	const char *text[NFIELDS_frame] = {0};
	uint64_t v[NFIELDS_frame] = {0};
	int r = stacks_tell_modules(s, w, at_ns, why);

	if (r < 0)
		return r;
	v[F_frame_at] = at_ns;
	v[F_frame_stack] = id;
	v[F_frame_depth] = depth;
	v[F_frame_address] = address;
	v[F_frame_module] = place->module;
	v[F_frame_offset] = place->offset;
	v[F_frame_symbol] = strlen(place->symbol);
	text[F_frame_symbol] = place->symbol;
	return writer_add(w, KIND_frame, v, text, why);
}

int stacks_number(struct stacks *s, struct writer *w, uint64_t at_ns, uint32_t pid, uint64_t start_ns,
		  const uint64_t *frames, size_t nframes, uint32_t *id, struct fault *why)
{
	uint64_t whole[STACK_FRAMES + 2] = {pid, start_ns};
	uint8_t hash[crypto_generichash_BYTES_MIN];
	struct known *known;
	struct place place;
	int r;

	if (nframes > STACK_FRAMES)
		nframes = STACK_FRAMES;
	memcpy(whole + 2, frames, nframes * sizeof(*frames));
	crypto_generichash(hash, sizeof(hash), (const uint8_t *)whole, (nframes + 2) * sizeof(*whole), s->key,
			   sizeof(s->key));
	known = find(s->table, s->size, hash);
	if (known->id || s->nstacks >= STACKS_MAX) {
		*id = known->id;
		return 0;
	}
	r = grow(s, why);
	for (size_t i = 0; i < nframes && r >= 0; i++) {
		/* All frames are return addresses: depth 0 is where the probed call returned to. */
		r = symbolizer_place(s->symbolizer, pid, start_ns, frames[i], true, at_ns, &place, why);
		if (r >= 0)
			r = tell_frame(s, w, at_ns, s->nstacks + 1, i, frames[i], &place, why);
	}
	if (r < 0)
		return r;
	known = find(s->table, s->size, hash);
	memcpy(known->hash, hash, sizeof(hash));
	known->id = ++s->nstacks;
	*id = known->id;
	return 0;
}
