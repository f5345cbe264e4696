/* SPDX-License-Identifier: Apache-2.0 */
/* Processes: what they have mapped as code, and from an address there to a function's name. */
#include "record/symbolize_inside.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define PLUS_ROOM 19 /* "+0x" and 16 digits */
#define CUT_MARK "..."

/* A mapping of code. */
struct code {
	uint64_t start, end, offset;
	uint64_t inode; /* 0: not a file */
	uint64_t device;
	struct known *known; /* NULL: not looked at, or no number was left */
	bool looked_at;
	bool unopenable; /* its file cannot be had through this process */
};

/* One process instance. */
struct space {
	bool taken;
	bool read; /* its mappings have been asked for, at read_ns */
	uint32_t pid;
	uint64_t start_ns;
	uint64_t read_ns;
	uint64_t used;     /* larger: more recently */
	struct code *code; /* by address */
	size_t ncode;
};

struct symbolizer {
	const struct procfs *fs;
	struct symbolizer_counts counts;
	struct space spaces[SYMBOLIZE_PROCESSES_MAX];
	uint64_t clock; /* for `used` */
	struct registry modules;
	struct procfs_maps maps; /* here, as they are large for a stack */
	struct mapping line;
};

int symbolizer_new(struct symbolizer **out, const struct procfs *fs, struct fault *why)
{
	struct symbolizer *s = calloc(1, sizeof(*s));

	if (!s)
		return fault_set(why, ERR_MEMORY, FAULT_NOWHERE, "out of memory for the symbolizer");
	s->fs = fs;
	*out = s;
	return 0;
}

static void space_clear(struct space *space)
{
	free(space->code);
	memset(space, 0, sizeof(*space));
}

void symbolizer_free(struct symbolizer *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < SYMBOLIZE_PROCESSES_MAX; i++)
		space_clear(&s->spaces[i]);
	registry_clear(&s->modules);
	free(s);
}

/* The process's space: its own, a free one, or the one used longest ago. */
static struct space *space_of(struct symbolizer *s, uint32_t pid, uint64_t start_ns)
{
	struct space *best = NULL;

	for (size_t i = 0; i < SYMBOLIZE_PROCESSES_MAX; i++) {
		struct space *space = &s->spaces[i];

		if (space->taken && space->pid == pid && procfs_same_start(s->fs, space->start_ns, start_ns)) {
			best = space;
			break;
		}
		/* A free one has never been used, so it is the oldest of all. */
		if (!best || space->used < best->used)
			best = space;
	}
	if (!best->taken || best->pid != pid || !procfs_same_start(s->fs, best->start_ns, start_ns)) {
		space_clear(best);
		best->taken = true;
		best->pid = pid;
		best->start_ns = start_ns;
	}
	best->used = ++s->clock;
	return best;
}

static struct code *code_at(struct code *code, size_t n, uint64_t address)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (code[mid].end <= address)
			low = mid + 1;
		else
			high = mid;
	}
	return low < n && code[low].start <= address ? &code[low] : NULL;
}

/* What was learnt of the same mapping the last time stays learnt. */
static void carry_over(const struct space *space, struct code *code)
{
	const struct code *was = code_at(space->code, space->ncode, code->start);

	if (was && was->start == code->start && was->end == code->end && was->offset == code->offset &&
	    was->inode == code->inode && was->device == code->device && !was->unopenable) {
		code->known = was->known;
		code->looked_at = was->looked_at;
	}
}

/* All code mappings of a process, into *code and *n. 1, 0 gone, or negative. */
static int collect(struct symbolizer *s, const struct space *space, struct code **code, size_t *n, struct fault *why)
{
	struct code *v = NULL;
	size_t room = 0, have = 0;
	int r = procfs_maps_open(&s->maps, s->fs, space->pid, why);

	if (r <= 0)
		return r;
	while ((r = procfs_maps_next(&s->maps, &s->line, why)) > 0) {
		if (!(s->line.prot & PROT_EXEC))
			continue;
		if (have && s->line.start < v[have - 1].end) /* it changed while we read; what we have stays sorted */
			continue;
		if (have == SYMBOLIZE_MAPPINGS_MAX) {
			s->counts.mappings_over++;
			continue;
		}
		if (have == room) {
			struct code *more;

			room = room ? 2 * room : 64;
			more = reallocarray(v, room, sizeof(*v));
			if (!more) {
				r = fault_set(why, ERR_MEMORY, FAULT_NOWHERE, "out of memory for a process's mappings");
				break;
			}
			v = more;
		}
		v[have] = (struct code){.start = s->line.start,
					.end = s->line.end,
					.offset = s->line.offset,
					.inode = s->line.inode,
					.device = mapping_device(&s->line)};
		carry_over(space, &v[have]);
		have++;
	}
	procfs_maps_close(&s->maps);
	if (r < 0) {
		free(v);
		return r;
	}
	*code = v;
	*n = have;
	return 1;
}

/*
 * Read the mappings again. When the process is gone, those known stay: frames of it may still come. That it is the
 * right one is asked after reading: it began before, so it was the right one all the time.
 */
static int space_read(struct symbolizer *s, struct space *space, uint64_t now_ns, struct fault *why)
{
	struct process_info info;
	struct code *code = NULL;
	struct fault fault;
	size_t n = 0;
	int r;

	space->read = true;
	space->read_ns = now_ns;
	r = collect(s, space, &code, &n, &fault);
	if (r > 0)
		r = procfs_process(s->fs, space->pid, &info, &fault);
	if (r > 0 && !procfs_same_start(s->fs, info.start_ns, space->start_ns))
		r = 0;
	if (r > 0 && n) {
		free(space->code);
		space->code = code;
		space->ncode = n;
		return 0;
	}
	free(code);
	if (r == ERR_MEMORY) {
		if (why)
			*why = fault;
		return r;
	}
	if (r < 0)
		s->counts.denied++;
	else
		s->counts.no_process++;
	return 0;
}

/* The mapping of code at an address, read again if it is time; *code is NULL when there is none. */
static int find_code(struct symbolizer *s, struct space *space, uint64_t address, uint64_t now_ns, struct code **code,
		     struct fault *why)
{
	int err = 0;

	*code = code_at(space->code, space->ncode, address);
	if (!*code && (!space->read || now_ns >= space->read_ns + SYMBOLIZE_REREAD_NS)) {
		err = space_read(s, space, now_ns, why);
		*code = code_at(space->code, space->ncode, address);
	}
	return err;
}

/* Find the line of maps for `code` again, into s->line. 1; 0: gone or replaced; negative. */
static int find_line(struct symbolizer *s, const struct space *space, const struct code *code, struct fault *why)
{
	int r = procfs_maps_open(&s->maps, s->fs, space->pid, why);

	if (r <= 0)
		return r;
	while ((r = procfs_maps_next(&s->maps, &s->line, why)) > 0)
		if (s->line.start == code->start)
			break;
	procfs_maps_close(&s->maps);
	if (r > 0 && (s->line.inode != code->inode || mapping_device(&s->line) != code->device ||
		      s->line.offset != code->offset))
		return 0;
	return r;
}

/* Open the file of a mapping: *fd stays -1 (and it is counted) when that cannot be done. s->line then still tells of
 * it. */
static bool open_code(struct symbolizer *s, const struct space *space, const struct code *code, int *fd)
{
	int line = find_line(s, space, code, NULL);
	int r = line > 0 ? procfs_open_mapped(s->fs, space->pid, &s->line, fd, NULL) : line;

	if (r < 0)
		s->counts.denied++;
	else if (r == 0)
		s->counts.files_gone++;
	return line > 0;
}

/* Module and symbols of a mapping of a file, as far as they can be had. Returns 0 or ERR_MEMORY. */
static int look_at(struct symbolizer *s, struct space *space, struct code *code, struct fault *why)
{
	int fd = -1, err = 0;

	if (code->looked_at && (!code->known || code->known->image || code->known->refused || code->unopenable)) {
		return code->known ? registry_load(&s->modules, code->known, -1, &s->counts, why) : 0;
	}
	if (!open_code(s, space, code, &fd)) {
		/* The process went before we asked what the file is called. */
		s->line = (struct mapping){
			.inode = code->inode, .dev_major = major(code->device), .dev_minor = minor(code->device)};
	}
	code->unopenable = fd < 0;
	if (!code->known || fd >= 0)
		err = registry_find(&s->modules, fd, &s->line, &code->known, &s->counts, why);
	if (!err && code->known)
		err = registry_load(&s->modules, code->known, fd, &s->counts, why);
	if (!err)
		code->looked_at = true;
	if (fd >= 0)
		close(fd);
	return err;
}

/* "name+0x1b" of the function that the byte at `offset` is in; `back` bytes before the address asked for. */
static bool write_symbol(struct image *img, uint64_t offset, uint64_t back, char *text, size_t size)
{
	size_t room = size - PLUS_ROOM, len;
	uint64_t plus;

	if (!img || image_symbol(img, offset, text, room, &plus, NULL) <= 0) {
		text[0] = '\0';
		return false;
	}
	len = strlen(text);
	if (len == room - 1) /* cut, or just as long as that */
		memcpy(text + len - strlen(CUT_MARK), CUT_MARK, strlen(CUT_MARK));
	snprintf(text + len, size - len, "+0x%" PRIx64, plus + back);
	return true;
}

int symbolizer_place(struct symbolizer *s, uint32_t pid, uint64_t start_ns, uint64_t address, bool is_return,
		     uint64_t now_ns, struct place *out, struct fault *why)
{
	uint64_t back = is_return && address ? 1 : 0, at = address - back, offset;
	struct space *space = space_of(s, pid, start_ns);
	struct known *known = NULL;
	struct code *code;
	int err;

	err = find_code(s, space, at, now_ns, &code, why);
	if (!err && code && code->inode)
		err = look_at(s, space, code, why);
	if (err)
		return err;
	out->module = 0;
	out->offset = 0;
	out->symbol[0] = '\0';
	if (!code) {
		s->counts.unmapped++;
		return 0;
	}
	if (!code->inode) {
		s->counts.anonymous++;
		return 0;
	}
	known = code->known;
	if (!known)
		return 0;
	offset = code->offset + (at - code->start);
	out->module = known->module.id;
	out->offset = offset + back;
	s->counts.placed++;
	if (write_symbol(known->image, offset, back, out->symbol, sizeof(out->symbol)))
		s->counts.named++;
	return 0;
}

int symbolizer_learn(struct symbolizer *s, uint32_t pid, uint64_t start_ns, uint64_t now_ns, struct fault *why)
{
	struct space *space = space_of(s, pid, start_ns);
	int err = space_read(s, space, now_ns, why);

	/* A process that is loading its libraries maps more right after: the next address not found may look again. */
	space->read = false;
	return err;
}

void symbolizer_forget(struct symbolizer *s, uint32_t pid)
{
	for (size_t i = 0; i < SYMBOLIZE_PROCESSES_MAX; i++)
		if (s->spaces[i].taken && s->spaces[i].pid == pid)
			space_clear(&s->spaces[i]);
}

int symbolizer_module(struct symbolizer *s, int fd, const struct mapping *m, uint32_t *id, struct fault *why)
{
	struct known *known = NULL;
	int err = registry_find(&s->modules, fd, m, &known, &s->counts, why);

	if (!err)
		*id = known ? known->module.id : 0;
	return err;
}

uint32_t symbolizer_nmodules(const struct symbolizer *s)
{
	return s->modules.n;
}

const struct module *symbolizer_module_at(const struct symbolizer *s, uint32_t id)
{
	return id && id <= s->modules.n ? &s->modules.known[id - 1]->module : NULL;
}

const struct symbolizer_counts *symbolizer_counts(const struct symbolizer *s)
{
	return &s->counts;
}

const struct module *symbolizer_find(const struct symbolizer *s, dev_t device, uint64_t inode)
{
	return registry_newest(&s->modules, device, inode);
}
