/* SPDX-License-Identifier: Apache-2.0 */
#include "record/symbols/stack_rows.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/map.h"
#include "record/probe/probes.h"
#include "record/row.h"

/* Its frames are not reported yet, as answers about them are still to come. */
struct late {
	uint32_t id, pid;
	uint64_t start_ns;
	bool of_thread; /* depth 0 is no return address */
	size_t nframes;
	uint64_t frame[STACK_FRAMES];
};

struct stacks {
	struct symbolizer *symbolizer;
	struct map numbers; /* of stacks, by a keyed hash alone: 128 bits, so that nobody finds two that agree */
	uint32_t nstacks;
	uint32_t nemitted; /* modules that have their row */
	uint8_t key[crypto_generichash_KEYBYTES];
	struct late late[STACKS_LATE_MAX];
	size_t nlate;
	uint64_t nunnamed;
	struct place places[STACK_FRAMES]; /* large: not for the stack */
};

int stacks_new(struct stacks **out, struct symbolizer *symbolizer, struct fault *why)
{
	struct stacks *s = calloc(1, sizeof(*s));

	if (!s)
		return fault_no_memory(why);
	s->symbolizer = symbolizer;
	randombytes_buf(s->key, sizeof(s->key));
	*out = s;
	return 0;
}

void stacks_free(struct stacks *s)
{
	if (s)
		map_clear(&s->numbers);
	free(s);
}

void stacks_forget(struct stacks *s)
{
	map_clear(&s->numbers);
	s->nstacks = 0;
	s->nlate = 0;
}

int stacks_emit_modules(struct stacks *s, struct writer *w, uint64_t at_ns, struct fault *why)
{
	while (s->nemitted < symbolizer_nmodules(s->symbolizer)) {
		const struct module *m = symbolizer_module_at(s->symbolizer, s->nemitted + 1);
		struct row row = row_of(KIND_module, at_ns);
		int r;

		row.v[F_module_id] = m->id;
		row.v[F_module_device] = m->device;
		row.v[F_module_inode] = m->inode;
		row_text(&row, F_module_build_id, m->build_id);
		row_text(&row, F_module_path, m->path);
		row.v[F_module_deleted] = m->deleted;
		row.v[F_module_mount] = m->mount_namespace;
		r = row_emit(&row, w, why);
		if (r < 0)
			return r;
		s->nemitted++;
	}
	return 0;
}

static int emit_frame(struct stacks *s, struct writer *w, uint64_t at_ns, uint32_t id, size_t depth, uint64_t address,
		      const struct place *place, struct fault *why)
{
	struct row row = row_of(KIND_frame, at_ns);
	int r = stacks_emit_modules(s, w, at_ns, why);

	if (r < 0)
		return r;
	row.v[F_frame_stack] = id;
	row.v[F_frame_depth] = depth;
	row.v[F_frame_address] = address;
	row.v[F_frame_module] = place->module;
	row.v[F_frame_offset] = place->offset;
	row_text(&row, F_frame_symbol, place->symbol);
	return row_emit(&row, w, why);
}

/* Place all frames. *late: not all is known yet. */
static int place_all(struct stacks *s, const struct late *stack, uint64_t at_ns, bool *late, struct fault *why)
{
	int r = 0;

	*late = false;
	for (size_t i = 0; i < stack->nframes && r >= 0; i++) {
		r = symbolizer_place(s->symbolizer, stack->pid, stack->start_ns, stack->frame[i],
				     i > 0 || !stack->of_thread, at_ns, &s->places[i], why);
		*late = *late || symbolizer_late(s->symbolizer);
	}
	return r;
}

static int emit_all(struct stacks *s, const struct late *stack, struct writer *w, uint64_t at_ns, struct fault *why)
{
	int r = 0;

	for (size_t i = 0; i < stack->nframes && r >= 0; i++)
		r = emit_frame(s, w, at_ns, stack->id, i, stack->frame[i], &s->places[i], why);
	return r;
}

int stacks_go_on(struct stacks *s, struct writer *w, uint64_t at_ns, bool at_end, struct fault *why)
{
	size_t kept = 0;
	int r = 0;

	for (size_t i = 0; i < s->nlate; i++) {
		bool late = true;

		if (r >= 0)
			r = place_all(s, &s->late[i], at_ns, &late, why);
		if (r >= 0 && (at_end || !late)) {
			r = emit_all(s, &s->late[i], w, at_ns, why);
			s->nunnamed += late;
		} else {
			s->late[kept++] = s->late[i];
		}
	}
	s->nlate = kept;
	return r < 0 ? r : 0;
}

bool stacks_late(const struct stacks *s)
{
	return s->nlate > 0;
}

uint64_t stacks_unnamed(const struct stacks *s)
{
	return s->nunnamed;
}

int stacks_number(struct stacks *s, struct writer *w, uint64_t at_ns, uint32_t pid, uint64_t start_ns,
		  const uint64_t *frames, size_t nframes, bool of_thread, uint32_t *id, struct fault *why)
{
	uint64_t whole[STACK_FRAMES + 2] = {pid, start_ns}, hash[2];
	struct late stack = {.id = s->nstacks + 1, .pid = pid, .start_ns = start_ns, .of_thread = of_thread};
	bool late = false;
	int r;

	stack.nframes = nframes < STACK_FRAMES ? nframes : STACK_FRAMES;
	memcpy(whole + 2, frames, stack.nframes * sizeof(*frames));
	memcpy(stack.frame, frames, stack.nframes * sizeof(*frames));
	crypto_generichash((uint8_t *)hash, sizeof(hash), (const uint8_t *)whole, (stack.nframes + 2) * sizeof(*whole),
			   s->key, sizeof(s->key));
	*id = map_get(&s->numbers, hash[0], hash[1]);
	if (*id || s->nstacks >= STACKS_MAX)
		return 0;
	if (map_put(&s->numbers, hash[0], hash[1], stack.id))
		return fault_no_memory(why);
	r = place_all(s, &stack, at_ns, &late, why);
	if (r >= 0 && late && s->nlate < STACKS_LATE_MAX) {
		s->late[s->nlate++] = stack;
	} else if (r >= 0) {
		r = emit_all(s, &stack, w, at_ns, why);
		s->nunnamed += late;
	}
	if (r < 0) {
		map_remove(&s->numbers, hash[0], hash[1]);
		return r;
	}
	s->nstacks = *id = stack.id;
	return 0;
}
