/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the functions that are launched are called: `kernel` rows. A function is an address or a handle that means
 * something in one process only. Names are reported when a program registers or looks up its functions, mostly long
 * before, and often without, a launch; so they are kept, and written when a function is first launched. A host stub
 * that nobody reported (it was registered before we came) bears its kernel's name as a symbol.
 *
 * Names are kept once, however many processes have them. When there is no more room, names that are reported are
 * written at once, and those of other functions are not known.
 */
#ifndef GPUREC_RECORD_SYMBOLS_KERNEL_ROWS_H
#define GPUREC_RECORD_SYMBOLS_KERNEL_ROWS_H

#include "record/symbols/stack_rows.h"

#define KERNELS_MAX (1u << 17)             /* functions that are kept */
#define KERNEL_NAMES_BYTES_MAX (16u << 20) /* of their names */
#define KERNELS_LATE_MAX 1024              /* that wait for answers */

struct kernels;

/* All borrowed; they must outlive it. */
int kernels_new(struct kernels **k, struct symbolizer *symbolizer, struct stacks *stacks, struct fault *why);
void kernels_free(struct kernels *k);

/* Which function, of which process, when. */
struct kernel_of {
	uint32_t pid;
	uint64_t start_ns; /* of the process */
	uint64_t function;
	uint64_t at_ns;
};

/* All return 0, ERR_MEMORY (nothing is lost but the name), or what writer_add() returned. */

/* The function has this name, n bytes. */
int kernels_name(struct kernels *k, const struct kernel_of *of, const char *name, size_t n, struct fault *why);

/*
 * `of` is another handle for the function `other` of the same process; function 0: there is none, it was asked for in
 * vain. Then the name of `other` is written at once, since a launch will name nothing.
 */
int kernels_alias(struct kernels *k, struct writer *w, const struct kernel_of *of, uint64_t other, struct fault *why);

/*
 * It was launched: its row is written if it has none and its name can be known. Where answers about its place are still
 * to come, kernels_go_on() writes it.
 */
int kernels_launched(struct kernels *k, struct writer *w, const struct kernel_of *of, struct fault *why);

/*
 * Write rows for which the answers are there by now, before their launches if that epoch is still open. at_end: all of
 * them, without their place if need be.
 */
int kernels_go_on(struct kernels *k, struct writer *w, uint64_t now_ns, bool at_end, struct fault *why);

/* The process ended or became another program at that time: what was known before does not hold any more. */
void kernels_forget(struct kernels *k, uint32_t pid, uint64_t at_ns);

#endif
