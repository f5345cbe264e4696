/* SPDX-License-Identifier: Apache-2.0 */
#include "record/symbols/elf_unwind.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "record/symbols/elf_internal.h"

#define DEPTH_MAX 16 /* of the stack on which expressions are worked out */

/* Numbers of registers: the supplements on DWARF of the psABI of x86-64, and of Arm's. */
#if defined(__x86_64__)
enum { REG_FP = 6, REG_SP = 7, REG_IP = 16 };
#define RETURN_ADDRESS(word) (word)
#elif defined(__aarch64__)
enum { REG_FP = 29, REG_LR = 30, REG_SP = 31 };
#define RETURN_ADDRESS(word) ((word)&0xffffffffffff) /* it may be signed, above */
#else
#error "no register numbers for this architecture"
#endif

/* What an expression may use. */
struct known {
	const struct registers *r;
	const struct memory *memory;
	uint64_t cfa; /* the canonical frame address; 0: it is what is asked for */
};

static bool register_value(const struct registers *r, uint64_t number, uint64_t *value)
{
	switch (number) {
	case REG_FP:
		*value = r->fp;
		return true;
	case REG_SP:
		*value = r->sp;
		return true;
#if defined(__x86_64__)
	case REG_IP:
		*value = r->ip;
		return true;
#else
	case REG_LR:
		*value = r->lr;
		return true;
#endif
	default:
		return false;
	}
}

/* An operation that takes two words off and puts one on. */
static bool combine(uint8_t atom, uint64_t a, uint64_t b, uint64_t *result)
{
	switch (atom) {
	case DW_OP_and:
		*result = a & b;
		return true;
	case DW_OP_or:
		*result = a | b;
		return true;
	case DW_OP_plus:
		*result = a + b;
		return true;
	case DW_OP_minus:
		*result = a - b;
		return true;
	case DW_OP_mul:
		*result = a * b;
		return true;
	case DW_OP_shl:
		*result = b < 64 ? a << b : 0;
		return true;
	case DW_OP_shr:
		*result = b < 64 ? a >> b : 0;
		return true;
	case DW_OP_ge:
		*result = (int64_t)a >= (int64_t)b;
		return true;
	case DW_OP_gt:
		*result = (int64_t)a > (int64_t)b;
		return true;
	case DW_OP_le:
		*result = (int64_t)a <= (int64_t)b;
		return true;
	case DW_OP_lt:
		*result = (int64_t)a < (int64_t)b;
		return true;
	default:
		return false;
	}
}

/* An operation that puts one word on. */
static bool produce(const Dwarf_Op *op, const struct known *k, uint64_t *result)
{
	bool ok = true;

	if (op->atom >= DW_OP_lit0 && op->atom <= DW_OP_lit31) {
		*result = op->atom - DW_OP_lit0;
	} else if (op->atom >= DW_OP_const1u && op->atom <= DW_OP_consts) {
		*result = op->number;
	} else if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31) {
		ok = register_value(k->r, op->atom - DW_OP_breg0, result);
		*result += op->number;
	} else if (op->atom == DW_OP_bregx) {
		ok = register_value(k->r, op->number, result);
		*result += op->number2;
	} else {
		ok = op->atom == DW_OP_call_frame_cfa && k->cfa;
		*result = k->cfa;
	}
	return ok;
}

/* Work an expression out. *is_value: the result is the value itself, not where it stands. False: it cannot be done. */
static bool evaluate(const Dwarf_Op *ops, size_t nops, const struct known *k, uint64_t *result, bool *is_value)
{
	uint64_t stack[DEPTH_MAX] = {0};
	size_t n = 0;

	*is_value = false;
	for (size_t i = 0; i < nops; i++) {
		uint64_t *top = n ? &stack[n - 1] : NULL;

		if (ops[i].atom == DW_OP_stack_value)
			*is_value = true;
		else if (top && ops[i].atom == DW_OP_plus_uconst)
			*top += ops[i].number;
		else if (top && ops[i].atom == DW_OP_deref) {
			if (!k->memory->read(k->memory->self, *top, top))
				return false;
		} else if (n >= 2 && combine(ops[i].atom, stack[n - 2], stack[n - 1], &stack[n - 2]))
			n--;
		else if (n == DEPTH_MAX || !produce(&ops[i], k, &stack[n++]))
			return false;
	}
	if (n)
		*result = stack[n - 1];
	return n > 0;
}

/* What a register had in the caller: 1; 0: that is undefined; negative: not known. */
static int restore(Dwarf_Frame *frame, int number, const struct known *k, uint64_t *value)
{
	Dwarf_Op room[3], *ops;
	uint64_t result = 0;
	bool is_value;
	size_t n;

	if (dwarf_frame_register(frame, number, room, &ops, &n) != 0)
		return ERR_FORMAT;
	if (n == 0 && ops == room)
		return 0;
	if (n == 0)
		return register_value(k->r, (uint64_t)number, value) ? 1 : ERR_FORMAT;
	if (!evaluate(ops, n, k, &result, &is_value))
		return ERR_FORMAT;
	if (is_value)
		*value = result;
	else if (!k->memory->read(k->memory->self, result, value))
		return ERR_FORMAT;
	return 1;
}

static int unwind_frame(Dwarf_Frame *frame, struct registers *r, const struct memory *memory, bool *exact)
{
	struct known k = {.r = r, .memory = memory};
	struct registers caller = *r;
	Dwarf_Op *ops;
	bool is_value;
	int number = dwarf_frame_info(frame, NULL, NULL, exact), got;
	size_t n;

	if (number < 0 || dwarf_frame_cfa(frame, &ops, &n) != 0 || !n || !evaluate(ops, n, &k, &k.cfa, &is_value))
		return ERR_FORMAT;
	got = restore(frame, number, &k, &caller.ip);
	if (got <= 0)
		return got;
	/* In a register that the frame says nothing of is what the caller had there. */
	if (restore(frame, REG_FP, &k, &caller.fp) <= 0)
		caller.fp = 0;
	if (*exact && restore(frame, REG_SP, &k, &k.cfa) <= 0)
		return ERR_FORMAT;
	caller.ip = RETURN_ADDRESS(caller.ip);
	caller.lr = caller.ip;
	caller.sp = k.cfa;
	*r = caller;
	return caller.ip ? 1 : 0;
}

/* *address: of file offset `offset`, as the file's tables have it. */
static bool address_of(const struct image *img, uint64_t offset, uint64_t *address)
{
	for (size_t i = 0; i < img->ncode; i++)
		if (offset >= img->code[i].offset && offset - img->code[i].offset < img->code[i].bytes) {
			*address = img->code[i].address + (offset - img->code[i].offset);
			return true;
		}
	return false;
}

int image_unwind(struct image *img, uint64_t offset, struct registers *r, const struct memory *memory, bool *exact,
		 struct fault *why)
{
	Dwarf_Frame *frame = NULL;
	uint64_t address;
	int done = ERR_FORMAT;

	*exact = false;
	if (!img->elf)
		img->elf = elf_begin(img->fd, ELF_C_READ, NULL);
	if (img->elf && !img->frames)
		img->frames = dwarf_getcfi_elf(img->elf);
	if (img->frames && address_of(img, offset, &address) && dwarf_cfi_addrframe(img->frames, address, &frame) == 0)
		done = unwind_frame(frame, r, memory, exact);
	free(frame);
	return done < 0 ? fault_set(why, done, offset, "the file does not say where this code returns to") : done;
}

int image_open_vdso(struct image **out, struct fault *why)
{
	const Elf64_Ehdr *header = (const void *)getauxval(AT_SYSINFO_EHDR); // NOLINT(performance-no-int-to-ptr)
	struct image *img = calloc(1, sizeof(*img));

	if (!img)
		return fault_no_memory(why);
	img->fd = -1;
	if (header) {
		img->file_bytes = header->e_shoff + (uint64_t)header->e_shnum * header->e_shentsize;
		img->code[img->ncode++] = (struct segment){0, 0, img->file_bytes};
		(void)elf_version(EV_CURRENT);
		img->elf = elf_memory((char *)header, img->file_bytes);
	}
	if (!img->elf) {
		image_close(img);
		return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "this process has no vdso");
	}
	*out = img;
	return 0;
}
