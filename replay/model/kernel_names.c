/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/model/kernel_names.h"
#include "format/base/array.h"

#include <stdlib.h>
#include <string.h>

#include "format/base/escape.h"

void kernels_clear(struct kernels *k)
{
	for (uint32_t i = 1; i <= k->nnames; i++) {
		free(k->names[i].terminal);
		free(k->names[i].json);
	}
	free(k->names);
	map_clear(&k->by_function);
	*k = (struct kernels){0};
}

/* The name's place in the table: that of the function's name before, or a new one. 0 without memory. */
static uint32_t place_for(struct kernels *k, uint32_t process, uint64_t function)
{
	uint32_t n = map_get(&k->by_function, process, function);
	struct kernel_name *new;

	if (n)
		return n;
	new = array_at(&k->names, &k->names_room, (size_t)k->nnames + 1, sizeof(*new));
	if (!new || map_put(&k->by_function, process, function, k->nnames + 1))
		return 0;
	*new = (struct kernel_name){0};
	return ++k->nnames;
}

int kernels_see(struct kernels *k, const struct tasks *tasks, const struct event *ev, struct fault *why)
{
	uint32_t process, n;
	struct kernel_name name;
	char text[DEMANGLED_MAX];

	if (ev->kind != KIND_kernel)
		return 0;
	process = tasks_process(tasks, (uint32_t)ev->v[F_kernel_pid]);
	/* A row about an instance that is not the current one says nothing about this one's functions. */
	if (process && !process_is(&tasks->processes[process], ev->v[F_kernel_start]))
		return 0;
	if (k->max && k->nnames >= k->max && !map_get(&k->by_function, process, ev->v[F_kernel_function])) {
		k->nbeyond++;
		return 0;
	}
	demangle(ev->text[F_kernel_name], (size_t)ev->v[F_kernel_name], text, sizeof(text));
	name = (struct kernel_name){escape_copy(escape_terminal, text, strlen(text)),
				    escape_copy(escape_json, text, strlen(text))};
	n = name.terminal && name.json ? place_for(k, process, ev->v[F_kernel_function]) : 0;
	if (!n) {
		free(name.terminal);
		free(name.json);
		return fault_no_memory(why);
	}
	free(k->names[n].terminal);
	free(k->names[n].json);
	k->names[n] = name;
	return 0;
}

const struct kernel_name *kernels_find(const struct kernels *k, uint32_t process, uint64_t function)
{
	uint32_t n = map_get(&k->by_function, process, function);

	return n ? &k->names[n] : NULL;
}

const struct kernel_name *kernels_of(const struct kernels *k, const struct tasks *tasks, const struct event *ev)
{
	if (ev->kind != KIND_launch || !k->nnames)
		return NULL;
	return kernels_find(k, tasks_process(tasks, (uint32_t)ev->v[F_launch_pid]), ev->v[F_launch_function]);
}

bool name_is_mangled(uint16_t kind, uint8_t field)
{
	return (kind == KIND_frame && field == F_frame_symbol) || (kind == KIND_kernel && field == F_kernel_name);
}

size_t name_shown(char buf[NAME_SHOWN_MAX], const struct event *ev, uint8_t field)
{
	demangle(ev->text[field], (size_t)ev->v[field], buf, NAME_SHOWN_MAX);
	return strlen(buf);
}
