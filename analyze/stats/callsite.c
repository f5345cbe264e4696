// SPDX-License-Identifier: Apache-2.0
#include "analyze/stats/callsite.h"

#include <string.h>

#include "replay/demangle/demangle.h"

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

#define NO_STACK (1ULL << 63)

uint64_t place_key(uint64_t stack, uint64_t probe)
{
	return stack ? stack & ~NO_STACK : probe | NO_STACK;
}

static bool holds(const struct frame *f, const char *word)
{
	return f->symbol && memmem(f->symbol, f->symbol_len, word, strlen(word));
}

/*
 * What nvcc puts between a caller and the runtime's launch, and names the innermost frames by: its stub
 * ("__device_stub__Z5scalePf"), before it a helper, and behind it the kernel's own name, which the stub's ends in.
 */
static bool is_launch_stub(const struct frame *f, const struct frame *inner)
{
	static const char stub[] = "__device_stub_";
	const char *of =
		inner && holds(inner, stub) ? memmem(inner->symbol, inner->symbol_len, stub, strlen(stub)) : NULL;
	size_t n = f->symbol ? symbol_function_bytes(f->symbol, f->symbol_len) : 0;

	if (holds(f, stub) || holds(f, "__cudaLaunchKernel") || holds(f, "cudaLaunchKernel<"))
		return true;
	of = of ? of + strlen(stub) : NULL;
	return of && n && (size_t)(inner->symbol + inner->symbol_len - of) >= n && memcmp(of, f->symbol, n) == 0;
}

/* The innermost frame that a person wrote, or the innermost of all. */
static const struct frame *frame_of(const struct stack *s)
{
	unsigned i = 0;

	if (!s || s->nframes == 0)
		return NULL;
	while (i < s->nframes && is_launch_stub(&s->frames[i], i ? &s->frames[i - 1] : NULL))
		i++;
	return &s->frames[i < s->nframes ? i : 0];
}

/* As the capture has it: not demangled, not escaped. */
static void place_name(struct text *t, const struct context *ctx, uint64_t number, uint64_t probe)
{
	const struct stack *stack = number ? names_stack(ctx->names, number) : NULL;
	const struct frame *f = frame_of(stack);
	const struct module *m = f && f->module ? names_module(ctx->names, f->module) : NULL;

	if (f && f->symbol) {
		text_add_bytes(t, f->symbol, symbol_function_bytes(f->symbol, f->symbol_len));
	} else if (m && m->path) {
		const char *slash = memrchr(m->path, '/', m->path_len);
		const char *base = slash ? slash + 1 : m->path;

		text_add_bytes(t, base, m->path_len - (size_t)(base - m->path));
		text_add(t, "+0x%llx", (unsigned long long)f->offset);
	} else if (f) {
		text_add(t, "0x%llx", (unsigned long long)f->address);
	} else if (number) {
		text_add(t, "the place with stack %llu", (unsigned long long)number);
	} else {
		text_add(t, "a caller of %s", call_name(ctx->schema, probe));
	}
}

void text_add_symbol(struct text *t, const char *symbol, size_t n)
{
	text_add_function(t, symbol, symbol_function_bytes(symbol, n));
}

void text_add_function(struct text *t, const char *name, size_t n)
{
	char said[DEMANGLED_MAX];

	demangle(name, n, said, sizeof(said));
	text_add_escaped(t, said, strlen(said));
}

void place_add_name(struct text *t, const struct context *ctx, uint64_t stack, uint64_t probe)
{
	struct text name = {0};

	place_name(&name, ctx, stack, probe);
	text_add_function(t, text_string(&name), name.len);
	t->failed |= name.failed;
	text_clear(&name);
}

void place_fact(struct finding *f, const struct context *ctx, uint64_t stack, uint64_t probe)
{
	struct text name = {0};

	place_name(&name, ctx, stack, probe);
	finding_text(f, "site", text_string(&name), name.len);
	f->failed |= name.failed;
	text_clear(&name);
}

void place_add(struct text *t, const struct context *ctx, uint64_t stack)
{
	if (stack == 0)
		return;
	text_add(t, " at ");
	place_add_name(t, ctx, stack, 0);
}

static const char *kernel_of(const struct context *ctx, uint64_t process, uint64_t function)
{
	const struct kernel_name *k = function ? kernels_find(&ctx->names->kernels, (uint32_t)process, function) : NULL;

	return k ? k->terminal : NULL;
}

void kernel_add(struct text *t, const struct context *ctx, uint64_t process, uint64_t function)
{
	const char *name = kernel_of(ctx, process, function);

	if (name)
		text_add(t, " of %s", name);
}

void kernel_fact(struct finding *f, const struct context *ctx, uint64_t process, uint64_t function)
{
	const char *name = kernel_of(ctx, process, function);

	if (name)
		finding_string(f, "kernel", name);
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
	if (process_alias(p))
		text_add(t, " (PID %u in its namespace)", process_alias(p));
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
