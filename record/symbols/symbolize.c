/* SPDX-License-Identifier: Apache-2.0 */
/* Processes: what they have mapped as code, and from an address there to a function's name. */
#include "record/symbols/symbolize_internal.h"

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
	struct known *known; /* NULL: not inspected, or no number was left */
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
	struct inspector *inspector;
	bool late;           /* an answer is still to come */
	struct mapping line; /* large: not for the stack */
	struct inspect_file file;
	struct place learnt;
};

int symbolizer_new(struct symbolizer **out, const struct procfs *fs, struct inspector *inspector, struct fault *why)
{
	struct symbolizer *s = calloc(1, sizeof(*s));

	if (!s)
		return fault_no_memory(why);
	s->fs = fs;
	s->inspector = inspector;
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

/* All code mappings of a process, into *code and *n. 1, 0 gone, INSPECT_LATER, or negative. */
static int collect(struct symbolizer *s, const struct space *space, struct code **code, size_t *n, struct fault *why)
{
	struct inspect_list list;
	struct code *v = NULL;
	size_t have = 0;
	int r = inspector_code(s->inspector, space->pid, &list, why);

	if (r != INSPECT_DONE)
		return r;
	s->counts.mappings_over += list.over;
	v = calloc(list.left < SYMBOLIZE_MAPPINGS_MAX ? list.left + 1 : SYMBOLIZE_MAPPINGS_MAX, sizeof(*v));
	if (!v)
		r = fault_no_memory(why);
	while (v && have < SYMBOLIZE_MAPPINGS_MAX && inspect_list_next(&list, &s->line)) {
		if (have &&
		    s->line.start < v[have - 1].end) /* it changed while it was read; what we have stays sorted */
			continue;
		v[have] = (struct code){.start = s->line.start,
					.end = s->line.end,
					.offset = s->line.offset,
					.inode = s->line.inode,
					.device = mapping_device(&s->line)};
		carry_over(space, &v[have]);
		have++;
	}
	inspect_list_free(&list);
	*code = v;
	*n = have;
	return r;
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

	r = collect(s, space, &code, &n, &fault);
	if (r == INSPECT_LATER) {
		s->late = true;
		return 0;
	}
	space->read = true;
	space->read_ns = now_ns;
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

/* What a question about its file takes of a mapping. */
static void line_of(struct symbolizer *s, const struct code *code)
{
	s->line = (struct mapping){.start = code->start,
				   .end = code->end,
				   .offset = code->offset,
				   .inode = code->inode,
				   .dev_major = major(code->device),
				   .dev_minor = minor(code->device)};
}

/* Module of a mapping of a file, as far as it can be had. Returns 0 or ERR_MEMORY. */
static int look_at(struct symbolizer *s, const struct space *space, struct code *code, struct fault *why)
{
	struct fault said;
	int r, err = 0;

	if (code->looked_at)
		return 0;
	line_of(s, code);
	r = inspector_open(s->inspector, space->pid, &s->line, &s->file, &said);
	if (r == INSPECT_LATER) {
		s->late = true;
		return 0;
	}
	if (r == ERR_MEMORY)
		return fault_set(why, r, FAULT_NOWHERE, "%s", said.text);
	if (r < 0)
		s->counts.denied++;
	else if (r == INSPECT_GONE)
		s->counts.files_gone++;
	code->unopenable = r != INSPECT_DONE;
	if (code->unopenable) {
		/* What it is called may be known all the same. */
		if (inspector_mapping(s->inspector, space->pid, code->start, &s->line, &said) != INSPECT_DONE ||
		    s->line.inode != code->inode || mapping_device(&s->line) != code->device)
			line_of(s, code);
	} else {
		memcpy(s->line.path, s->file.path, sizeof(s->line.path));
		s->line.deleted = s->file.deleted;
		s->line.mount_namespace = s->file.mount_namespace;
	}
	if (!code->known || !code->unopenable)
		err = registry_find(&s->modules, code->unopenable ? NULL : &s->file, &s->line, &code->known, &s->counts,
				    why);
	if (!err)
		code->looked_at = true;
	return err;
}

/*
 * "name+0x1b" of the function that the byte at `offset` is in; `back` bytes before the address asked for. 0 or
 * ERR_MEMORY.
 */
static int write_symbol(struct symbolizer *s, const struct space *space, const struct code *code, uint64_t offset,
			uint64_t back, char *text, size_t size, struct fault *why)
{
	struct known *known = code->known;
	size_t room = size - PLUS_ROOM, len;
	uint64_t plus = 0;
	struct fault said;
	int r = INSPECT_GONE;

	text[0] = '\0';
	if (!known->refused && known->seen) {
		line_of(s, code);
		r = inspector_symbol(s->inspector, space->pid, &s->line, &known->stamp, known->module.id, offset, text,
				     room, &plus, &said);
	}
	if (r == ERR_MEMORY)
		return fault_set(why, r, FAULT_NOWHERE, "%s", said.text);
	if (r == INSPECT_LATER)
		s->late = true;
	if (r < 0) {
		s->counts.files_refused++;
		known->refused = true;
	}
	len = r == INSPECT_DONE ? strlen(text) : 0;
	if (!len) {
		text[0] = '\0';
		return 0;
	}
	if (len == room - 1) /* cut, or just as long as that */
		memcpy(text + len - strlen(CUT_MARK), CUT_MARK, strlen(CUT_MARK));
	snprintf(text + len, size - len, "+0x%" PRIx64, plus + back);
	s->counts.named++;
	return 0;
}

int symbolizer_place(struct symbolizer *s, uint32_t pid, uint64_t start_ns, uint64_t address, bool is_return,
		     uint64_t now_ns, struct place *out, struct fault *why)
{
	uint64_t back = is_return && address ? 1 : 0, at = address - back, offset;
	struct space *space = space_of(s, pid, start_ns);
	struct known *known = NULL;
	struct code *code;
	int err;

	s->late = false;
	err = find_code(s, space, at, now_ns, &code, why);
	if (!err && code && code->inode)
		err = look_at(s, space, code, why);
	if (err)
		return err;
	out->module = 0;
	out->offset = 0;
	out->symbol[0] = '\0';
	if (s->late)
		return 0;
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
	err = write_symbol(s, space, code, offset, back, out->symbol, sizeof(out->symbol), why);
	s->counts.placed += !s->late && !err;
	return err;
}

bool symbolizer_late(const struct symbolizer *s)
{
	return s->late;
}

int symbolizer_learn(struct symbolizer *s, uint32_t pid, uint64_t start_ns, size_t most, uint64_t now_ns,
		     struct fault *why)
{
	struct space *space = space_of(s, pid, start_ns);
	bool late;
	int err;

	s->late = false;
	err = space_read(s, space, now_ns, why);
	late = s->late;
	/* A process that is loading its libraries maps more right after: the next address not found may look again. */
	space->read = false;
	for (size_t i = 0; i < space->ncode && space->ncode <= most && !err; i++) {
		struct place *place = &s->learnt;

		if (space->code[i].inode)
			err = symbolizer_place(s, pid, start_ns, space->code[i].start, false, now_ns, place, why);
		late = late || s->late;
	}
	s->late = late;
	return err;
}

void symbolizer_forget(struct symbolizer *s, uint32_t pid)
{
	for (size_t i = 0; i < SYMBOLIZE_PROCESSES_MAX; i++)
		if (s->spaces[i].taken && s->spaces[i].pid == pid)
			space_clear(&s->spaces[i]);
}

int symbolizer_module(struct symbolizer *s, const struct inspect_file *file, const struct mapping *m, uint32_t *id,
		      struct fault *why)
{
	struct known *known = NULL;
	int err = registry_find(&s->modules, file, m, &known, &s->counts, why);

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
