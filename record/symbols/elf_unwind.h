/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One step outwards on a thread's stack, by what the file of its code says of each instruction: call frame information
 * (DWARF 5, section 6.4), as libdw reads it out of .eh_frame: all of it, however large, into memory, so that the
 * process needs limits on both memory and time. Nothing in file or memory is trusted.
 */
#ifndef GPUREC_RECORD_SYMBOLS_ELF_UNWIND_H
#define GPUREC_RECORD_SYMBOLS_ELF_UNWIND_H

#include "record/symbols/elf.h"

/* Of a thread in user mode: all that is followed. lr: arm64's; without a meaning on x86-64. No padding. */
struct registers {
	uint64_t ip, sp, fp, lr;
};

/* A word of the thread's memory; false: it cannot be had. */
struct memory {
	bool (*read)(void *self, uint64_t address, uint64_t *word);
	void *self;
};

/*
 * From a function to its caller: `r` is changed. offset: of the instruction in the file; where `r->ip` is a return
 * address, of the call before it. *exact: whether the new r->ip is no return address, but where a signal interrupted.
 * 1; 0: it has no caller, the thread began there; negative: that is not known (ERR_FORMAT, ERR_MEMORY).
 */
int image_unwind(struct image *img, uint64_t offset, struct registers *r, const struct memory *memory, bool *exact,
		 struct fault *why);

/* The kernel's own code in every process ("[vdso]"), out of this one; its first byte is offset 0. As image_open(). */
int image_open_vdso(struct image **img, struct fault *why);

#endif
