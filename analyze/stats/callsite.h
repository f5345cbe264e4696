/* SPDX-License-Identifier: Apache-2.0 */
/* Where in a program something was called: what rules that speak of code have in common. */
#ifndef GPUREC_ANALYZE_STATS_CALLSITE_H
#define GPUREC_ANALYZE_STATS_CALLSITE_H

#include "analyze/rule.h"

/* The number of a call's stack; 0: none was taken. */
uint64_t call_stack(const struct event *ev);

/* The place of a call as one number, for the key of a group: its stack, or the probe where none was taken. */
uint64_t place_key(uint64_t stack, uint64_t probe);

/* A function's name as people read it, C++ demangled, and escaped. */
void text_add_function(struct text *t, const char *name, size_t n);

/* The same of a frame's symbol, which may end in "+0x1f". */
void text_add_symbol(struct text *t, const char *symbol, size_t n);

/*
 * "leak_site", "libfoo.so+0x1234", "0x7f...", "the place with stack 6", or "a caller of cudaMalloc" where no stack was
 * taken; as people read it, and escaped. The stubs that nvcc puts between a caller and a launch are passed over.
 */
void place_add_name(struct text *t, const struct context *ctx, uint64_t stack, uint64_t probe);

/* The same as fact "site", as the capture has it: not demangled, not escaped. */
void place_fact(struct finding *f, const struct context *ctx, uint64_t stack, uint64_t probe);

/* " at leak_site", as people read it and escaped; nothing where no stack was taken. */
void place_add(struct text *t, const struct context *ctx, uint64_t stack);

/*
 * " of scale(float*, int)": the GPU kernel that a process knows by this function, escaped; nothing if no row reported
 * its name. kernel_fact() makes a fact of it.
 */
void kernel_add(struct text *t, const struct context *ctx, uint64_t process, uint64_t function);
void kernel_fact(struct finding *f, const struct context *ctx, uint64_t process, uint64_t function);

/* "4321 python": a process instance, escaped; "a process" if it is not known. */
void process_add(struct text *t, const struct context *ctx, uint64_t number);

/* Whether the named function comes back before the work is done: its name says so. */
bool is_async(const char *function);

/* "once", "7 times". */
void times_add(struct text *t, uint64_t n);

/* "64.5 %": part of whole. */
void share_add(struct text *t, uint64_t part, uint64_t whole);

#endif
