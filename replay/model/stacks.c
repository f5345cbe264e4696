/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/model/stacks.h"
#include "format/base/array.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/escape.h"
#include "replay/demangle/demangle.h"

void stacks_clear(struct stacks *s)
{
	for (uint32_t i = 1; i <= s->nframes; i++)
		free(s->frames[i].symbol);
	for (uint32_t i = 1; i <= s->npaths; i++)
		free(s->paths[i]);
	free(s->frames);
	free(s->paths);
	map_clear(&s->by_depth);
	map_clear(&s->by_module);
	*s = (struct stacks){0};
}

/* As people read it, and only here: what is compared and stored is the name as it was. */
static char *readable(const char *symbol, uint64_t n)
{
	char text[DEMANGLED_MAX + 64];

	demangle(symbol, (size_t)n, text, sizeof(text));
	return escape_copy(escape_terminal, text, strlen(text));
}

static int see_module(struct stacks *s, const struct event *ev, struct fault *why)
{
	char *path = escape_copy(escape_terminal, ev->text[F_module_path], ev->v[F_module_path]);
	char **new = array_at(&s->paths, &s->paths_room, (size_t)s->npaths + 1, sizeof(*new));

	if (!path || !new || map_put(&s->by_module, ev->v[F_module_id], 0, s->npaths + 1)) {
		free(path);
		return fault_no_memory(why);
	}
	*new = path;
	s->npaths++;
	return 0;
}

static int see_frame(struct stacks *s, const struct event *ev, struct fault *why)
{
	char *symbol = readable(ev->text[F_frame_symbol], ev->v[F_frame_symbol]);
	struct frame *new = array_at(&s->frames, &s->frames_room, (size_t)s->nframes + 1, sizeof(*new));

	if (!symbol || !new || map_put(&s->by_depth, ev->v[F_frame_stack], ev->v[F_frame_depth], s->nframes + 1)) {
		free(symbol);
		return fault_no_memory(why);
	}
	*new = (struct frame){.address = ev->v[F_frame_address],
			      .offset = ev->v[F_frame_offset],
			      .symbol = symbol,
			      .module = (uint32_t)ev->v[F_frame_module]};
	s->nframes++;
	return 0;
}

static int on_event(void *self, struct walk *w, const struct event *ev, struct fault *why)
{
	(void)w;
	if (ev->kind == KIND_module)
		return see_module(self, ev, why);
	return ev->kind == KIND_frame ? see_frame(self, ev, why) : 0;
}

int stacks_read(struct stacks *s, const struct replay *replay, struct fault *why)
{
	static const struct visitor visitor = {.event = on_event};
	struct filter *all = calloc(1, sizeof(*all));
	struct replay whole = *replay;
	int r;

	if (!all)
		return fault_no_memory(why);
	all->to_ns = NO_TIME;
	all->some_kinds = true;
	all->kinds[KIND_module] = all->kinds[KIND_frame] = true;
	whole.filter = all;
	r = walk(&whole, &visitor, s, why);
	free(all);
	return r;
}

const struct frame *stacks_frame(const struct stacks *s, uint64_t stack, uint32_t depth)
{
	uint32_t n = depth < STACK_DEPTH_MAX ? map_get(&s->by_depth, stack, depth) : 0;

	return n ? &s->frames[n] : NULL;
}

uint32_t stacks_depth(const struct stacks *s, uint64_t stack)
{
	uint32_t depth = 0;

	while (stacks_frame(s, stack, depth))
		depth++;
	return depth;
}

/* The path of a frame's file, "" if it has none or is not reported. */
static const char *path_of(const struct stacks *s, const struct frame *f)
{
	uint32_t n = f->module ? map_get(&s->by_module, f->module, 0) : 0;

	return n ? s->paths[n] : "";
}

void stacks_describe(const struct stacks *s, const struct frame *f, char *buf, size_t size)
{
	const char *path = path_of(s, f), *slash = strrchr(path, '/');

	if (f->symbol[0])
		snprintf(buf, size, "%s", f->symbol);
	else if (path[0])
		snprintf(buf, size, "%s+0x%" PRIx64, slash ? slash + 1 : path, f->offset);
	else
		snprintf(buf, size, "0x%" PRIx64, f->address);
}
