/* SPDX-License-Identifier: Apache-2.0 */
#include "record/inspect/unwinder.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "format/kinds.h"
#include "record/inspect/inspect.h"

#define IMAGES_MAX 32    /* files that are kept open */
#define SPANS_MAX 64     /* mappings of one process that are remembered */
#define BLOCK_BYTES 4096 /* of memory read at once */

/* A file with code, as long as it stays the same. */
struct kept_image {
	struct image *image; /* NULL: free */
	uint64_t device;
	struct stamp stamp;
	uint64_t used; /* larger: more recently */
};

/* Code that the process has mapped. */
struct span {
	uint64_t start, end, offset;
	struct kept_image *kept; /* NULL: the kernel's own */
};

struct unwinder {
	const struct procfs *fs;
	struct kept_image images[IMAGES_MAX];
	struct image *vdso;
	uint64_t clock;
	uint32_t pid; /* whose stack is followed: */
	int memory_fd;
	uint64_t block_at; /* what was read last */
	size_t block_bytes;
	uint8_t block[BLOCK_BYTES];
	struct span spans[SPANS_MAX];
	size_t nspans;
	struct procfs_maps maps; /* large: not for the stack */
	struct mapping line;
};

int unwinder_new(struct unwinder **out, const struct procfs *fs, struct fault *why)
{
	struct unwinder *u = calloc(1, sizeof(*u));

	if (!u)
		return fault_no_memory(why);
	u->fs = fs;
	*out = u;
	return 0;
}

void unwinder_free(struct unwinder *u)
{
	if (!u)
		return;
	for (size_t i = 0; i < IMAGES_MAX; i++)
		image_close(u->images[i].image);
	image_close(u->vdso);
	free(u);
}

/* --- memory --- */

static bool in_block(const struct unwinder *u, uint64_t address)
{
	return address >= u->block_at && address - u->block_at < u->block_bytes &&
	       u->block_bytes - (address - u->block_at) >= sizeof(uint64_t);
}

static bool read_word(void *self, uint64_t address, uint64_t *word)
{
	struct unwinder *u = self;
	ssize_t n;

	if (!in_block(u, address)) {
		u->block_bytes = 0;
		n = pread(u->memory_fd, u->block, sizeof(u->block), (off_t)address);
		u->block_at = address;
		u->block_bytes = n > 0 ? (size_t)n : 0;
	}
	if (!in_block(u, address))
		return false;
	memcpy(word, u->block + (address - u->block_at), sizeof(*word));
	return true;
}

/* --- code --- */

/* The file of u->line; NULL: it cannot be opened, or is no ELF file that we can read. */
static struct kept_image *image_of(struct unwinder *u)
{
	struct kept_image *oldest = &u->images[0];
	struct stamp stamp;
	int fd;

	if (procfs_open_mapped(u->fs, u->pid, &u->line, &fd, NULL) <= 0)
		return NULL;
	if (stamp_read(fd, &stamp, NULL) < 0) {
		close(fd);
		return NULL;
	}
	for (size_t i = 0; i < IMAGES_MAX; i++) {
		struct kept_image *k = &u->images[i];

		if (k->image && k->device == mapping_device(&u->line) && stamp_same(&k->stamp, &stamp)) {
			close(fd);
			k->used = ++u->clock;
			return k;
		}
		if (k->used < oldest->used)
			oldest = k;
	}
	image_close(oldest->image);
	memset(oldest, 0, sizeof(*oldest));
	for (size_t i = 0; i < u->nspans; i++)
		if (u->spans[i].kept == oldest)
			u->spans[i--] = u->spans[--u->nspans];
	if (image_open(&oldest->image, fd, NULL) < 0)
		oldest->image = NULL;
	close(fd);
	oldest->device = mapping_device(&u->line);
	oldest->stamp = stamp;
	oldest->used = oldest->image ? ++u->clock : 0;
	return oldest->image ? oldest : NULL;
}

/* The code at an address: its mapping, and its file. False: no code is there, or its file cannot be had. */
static bool code_at(struct unwinder *u, uint64_t address, struct span *span)
{
	for (size_t i = 0; i < u->nspans; i++)
		if (address >= u->spans[i].start && address < u->spans[i].end) {
			*span = u->spans[i];
			return true;
		}
	if (procfs_mapping_at(u->fs, u->pid, address, &u->maps, &u->line, NULL) <= 0 || !(u->line.prot & PROT_EXEC))
		return false;
	*span = (struct span){.start = u->line.start, .end = u->line.end, .offset = u->line.offset};
	if (u->line.inode)
		span->kept = image_of(u);
	else if (strcmp(u->line.path, "[vdso]") == 0 && !u->vdso)
		(void)image_open_vdso(&u->vdso, NULL);
	if (u->line.inode ? !span->kept : strcmp(u->line.path, "[vdso]") != 0 || !u->vdso)
		return false;
	if (u->nspans < SPANS_MAX)
		u->spans[u->nspans++] = *span;
	return true;
}

/* 1; 0: it is gone, or another process has its number; negative. */
static int open_memory(struct unwinder *u, uint32_t pid, uint64_t start_ns, struct fault *why)
{
	struct process_info info;
	int r = procfs_open_memory(u->fs, pid, &u->memory_fd, why);

	if (r <= 0)
		return r;
	r = procfs_process(u->fs, pid, &info, why);
	if (r > 0 && !procfs_same_start(u->fs, info.start_ns, start_ns))
		r = 0;
	if (r <= 0)
		close(u->memory_fd);
	return r;
}

/* Whether it sleeps now as it did when it was looked at, and has not run in between. */
static bool still_sleeps(const struct unwinder *u, uint32_t pid, const struct thread_at *thread)
{
	uint64_t switches = 0;
	char state = 0;

	return thread->switches && procfs_switches(u->fs, pid, (uint32_t)thread->tid, &switches, &state, NULL) > 0 &&
	       state != 'R' && switches == thread->switches;
}

int unwinder_stack(struct unwinder *u, uint32_t pid, uint64_t start_ns, const struct thread_at *thread,
		   uint64_t *frames, size_t max, size_t *n, uint32_t *flags, struct fault *why)
{
	const struct memory memory = {read_word, u};
	struct registers r = thread->registers;
	bool exact = true;
	int step = 1, opened = open_memory(u, pid, start_ns, why);

	*n = 0;
	*flags = 0;
	if (opened <= 0)
		return opened;
	u->pid = pid;
	u->nspans = 0;
	u->block_bytes = 0;
	for (size_t i = 0; i < UNWIND_FRAMES_MAX && step > 0; i++) {
		uint64_t at = r.ip - !exact, sp = r.sp;
		struct span span;

		if (i < max)
			frames[(*n)++] = r.ip;
		if (!code_at(u, at, &span))
			break;
		step = image_unwind(span.kept ? span.kept->image : u->vdso, span.offset + (at - span.start), &r,
				    &memory, &exact, NULL);
		/* A caller's frame is above, but where a signal interrupted; the innermost may have none yet. */
		if (step > 0 && !exact && (r.sp < sp || (r.sp == sp && i > 0)))
			break;
	}
	*flags |= step == 0 ? STACK_WHOLE : 0;
	*flags |= still_sleeps(u, pid, thread) ? STACK_STILL : 0;
	close(u->memory_fd);
	return 1;
}
