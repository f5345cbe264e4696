// SPDX-License-Identifier: Apache-2.0
#include "analyze/place.h"

#include <ctype.h>
#include <string.h>

uint64_t call_stack(const struct event *ev)
{
	switch (ev->kind) {
#define STACK(kind)                                                                                                    \
	case KIND_##kind:                                                                                              \
		return ev->v[F_##kind##_stack];
		STACK(launch)
		STACK(alloc)
		STACK(free)
		STACK(copy)
		STACK(set)
		STACK(wait)
		STACK(stream)
		STACK(graph)
		STACK(collective)
		STACK(context)
		STACK(map)
		STACK(load)
#undef STACK
	default:
		return 0;
	}
}

/* A symbol's length without the "+0x1f" that says where in the function. */
static size_t function_bytes(const char *symbol, size_t n)
{
	size_t digits = 0;

	while (digits < n && isxdigit((unsigned char)symbol[n - 1 - digits]))
		digits++;
	if (digits == 0 || n < digits + 4 || memcmp(symbol + n - digits - 3, "+0x", 3) != 0)
		return n;
	return n - digits - 3;
}

void place_name(struct text *t, const struct context *ctx, uint64_t number, uint64_t probe)
{
	const struct stack *stack = number ? names_stack(ctx->names, number) : NULL;
	const struct frame *f = stack && stack->nframes ? &stack->frames[0] : NULL;
	const struct module *m = f && f->module ? names_module(ctx->names, f->module) : NULL;

	if (f && f->symbol) {
		text_add_bytes(t, f->symbol, function_bytes(f->symbol, f->symbol_len));
	} else if (m && m->path) {
		const char *slash = memrchr(m->path, '/', m->path_len);
		const char *base = slash ? slash + 1 : m->path;

		text_add_bytes(t, base, m->path_len - (size_t)(base - m->path));
		text_add(t, "+0x%llx", (unsigned long long)f->offset);
	} else if (f) {
		text_add(t, "0x%llx", (unsigned long long)f->address);
	} else if (number) {
		text_add(t, "stack %llu", (unsigned long long)number);
	} else {
		text_add(t, "a caller of %s", call_name(ctx->schema, probe));
	}
}

void place_add(struct text *t, const struct context *ctx, uint64_t stack)
{
	struct text name = {0};

	if (stack == 0)
		return;
	place_name(&name, ctx, stack, 0);
	text_add(t, " at ");
	text_add_escaped(t, text_string(&name), name.len);
	t->failed |= name.failed;
	text_clear(&name);
}

void process_add(struct text *t, const struct context *ctx, uint64_t number)
{
	const struct process *p = number ? names_instance(ctx->names, number) : NULL;

	if (!p) {
		text_add(t, "a process");
		return;
	}
	text_add(t, "process %llu", (unsigned long long)p->pid);
	if (p->name.len) {
		text_add(t, " ");
		text_add_escaped(t, p->name.s, p->name.len);
	}
}

bool is_async(const char *function)
{
	return strstr(function, "Async") || strstr(function, "Batch");
}

void times_add(struct text *t, uint64_t n)
{
	if (n == 1)
		text_add(t, "once");
	else
		text_add(t, "%llu times", (unsigned long long)n);
}

void share_add(struct text *t, uint64_t part, uint64_t whole)
{
	text_add_percent(t, part, whole);
	text_add(t, " %%");
}
