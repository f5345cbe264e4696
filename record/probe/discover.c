/* SPDX-License-Identifier: Apache-2.0 */
/* Which files processes have mapped, which of them were inspected, and the rows about it. */
#include "record/probe/discover_internal.h"
#include "format/base/array.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "record/row.h"

int discover_new(struct discover **out, const struct procfs *fs, struct inspector *inspector,
		 struct symbolizer *symbolizer, struct attach *attach, struct fault *why)
{
	struct discover *d = calloc(1, sizeof(*d));

	if (!d)
		return fault_no_memory(why);
	d->nfunctions = library_probes(&d->functions);
	d->fs = fs;
	d->inspector = inspector;
	d->symbolizer = symbolizer;
	d->attach = attach;
	*out = d;
	return 0;
}

void discover_free(struct discover *d)
{
	if (!d)
		return;
	for (size_t i = 0; i < d->nlooked; i++)
		free(d->looked[i].reason);
	free(d->looked);
	map_clear(&d->by_file);
	free(d->outcomes);
	free(d->uses);
	free(d);
}

const struct discover_counts *discover_counts(const struct discover *d)
{
	return &d->counts;
}

/* As a struct file_key has it. */
static uint32_t device_of(const struct mapping *m)
{
	return m->dev_major << 20 | m->dev_minor;
}

static struct looked *find_looked(struct discover *d, uint32_t device, uint64_t inode)
{
	uint32_t n = map_get(&d->by_file, device, inode);

	return n ? &d->looked[n - 1] : NULL;
}

static struct looked *add_looked(struct discover *d, const struct mapping *m)
{
	struct looked *more = array_grow(d->looked, &d->looked_room, d->nlooked + 1, sizeof(*more));

	if (!more)
		return NULL;
	d->looked = more;
	if (map_put(&d->by_file, device_of(m), m->inode, (uint32_t)d->nlooked + 1))
		return NULL;
	return &d->looked[d->nlooked++];
}

/* *l joins those that were inspected, in the place of one that had its numbers before. *l's text is taken over. */
static int keep_looked(struct discover *d, const struct mapping *m, struct looked *l, struct looked **kept,
		       struct fault *why)
{
	struct looked *place = find_looked(d, device_of(m), m->inode);

	if (!place)
		place = add_looked(d, m);
	if (!place)
		return fault_no_memory(why);
	free(place->reason);
	l->inode = m->inode;
	l->device = device_of(m);
	*place = *l;
	*kept = place;
	return 0;
}

/* That this process has the library mapped, to be reported once. */
static int note_use(struct discover *d, uint32_t pid, const struct looked *l, struct fault *why)
{
	uint32_t index = (uint32_t)(l - d->looked);
	struct use *more;

	for (size_t i = 0; i < d->nuses; i++)
		if (d->uses[i].pid == pid && d->uses[i].looked == index) {
			d->uses[i].old = false;
			return 0;
		}
	more = array_grow(d->uses, &d->uses_room, d->nuses + 1, sizeof(*more));
	if (!more)
		return fault_no_memory(why);
	d->uses = more;
	d->uses[d->nuses++] = (struct use){.pid = pid, .looked = index};
	return 0;
}

void discover_forget(struct discover *d, uint32_t pid)
{
	size_t kept = 0;

	for (size_t i = 0; i < d->nuses; i++) {
		if (d->uses[i].pid == pid && d->uses[i].emitted)
			continue;
		d->uses[i].old = d->uses[i].old && d->uses[i].pid != pid; /* it had it until now */
		d->uses[kept++] = d->uses[i];
	}
	d->nuses = kept;
}

/*
 * Whether what is known of the file may be of another that had its numbers before. Of one that carries probes it
 * cannot: they hold it, and its number with it.
 */
static bool may_be_another(const struct discover *d, const struct looked *l)
{
	return d->fresh && !l->probed && l->inode == d->fresh->inode && l->device == d->fresh->device;
}

static void note_denied(struct discover *d, uint32_t pid, int r)
{
	if (r >= 0)
		return;
	d->counts.denied++;
	d->counts.last_denied = pid;
}

/*
 * Look into a mapping, unless its file is the one that is `known`. INSPECT_DONE and *l; INSPECT_GONE: there is nothing
 * (more) to be known of it now; INSPECT_LATER; negative.
 */
static int look_at_mapping(struct discover *d, uint32_t pid, const struct mapping *m, const struct looked *known,
			   struct looked *l, struct fault *why)
{
	bool named = discover_role_of_name(m->path) != 0;
	struct fault said = {0};
	int r = inspector_open(d->inspector, pid, m, &d->file, &said);

	if (r == ERR_MEMORY)
		*why = said;
	if (r == ERR_MEMORY || r == INSPECT_LATER)
		return r;
	if (r == INSPECT_DONE) {
		if (known && stamp_same(&d->file.stamp, &known->stamp))
			return INSPECT_GONE;
		r = discover_look(d, pid, m, l, why);
		if (r != INSPECT_GONE)
			return r;
		fault_set(&said, ERR_IO, FAULT_NOWHERE, "it changed while it was read");
	} else if (r == INSPECT_GONE) {
		fault_set(&said, ERR_IO, FAULT_NOWHERE, "no path leads to it any more");
	} else if (!named) {
		note_denied(d, pid, r);
	}
	/* Perhaps another process lets us. One that has ended takes what it had mapped with it. */
	if (!named || (r == INSPECT_GONE && !procfs_has_memory(d->fs, pid)))
		return INSPECT_GONE;
	r = discover_unread(d, m, said.text, l, why);
	return r < 0 ? r : INSPECT_DONE;
}

/* The mapping's file, inspected by now; *found is NULL when it could not be. INSPECT_LATER. */
static int find_or_look(struct discover *d, uint32_t pid, const struct mapping *m, struct looked **found,
			struct fault *why)
{
	struct looked *known = find_looked(d, device_of(m), m->inode);
	struct looked l = {0};
	int r;

	*found = known;
	if (known && !may_be_another(d, known))
		return 0;
	if (!known && d->nlooked >= DISCOVER_FILES_MAX && !discover_role_of_name(m->path)) {
		d->counts.over++;
		return 0;
	}
	r = look_at_mapping(d, pid, m, known, &l, why);
	if (r == INSPECT_DONE)
		return keep_looked(d, m, &l, found, why);
	free(l.reason);
	return r;
}

/* One mapping. 1: its file is one of CUDA's; 0; INSPECT_LATER; negative. */
static int take_mapping(struct discover *d, uint32_t pid, const struct mapping *m, struct fault *why)
{
	struct looked *l = NULL;
	int r;

	if (!(m->prot & PROT_EXEC) || !m->inode)
		return 0;
	r = find_or_look(d, pid, m, &l, why);
	if (r != 0 || !l || !l->role)
		return r;
	r = note_use(d, pid, l, why);
	return r < 0 ? r : 1;
}

int discover_process(struct discover *d, uint32_t pid, struct fault *why)
{
	struct inspect_list list;
	struct fault said;
	int found = 0, r = inspector_code(d->inspector, pid, &list, &said);

	if (r != INSPECT_DONE) {
		note_denied(d, pid, r == ERR_DENIED ? r : 0);
		if (r == ERR_MEMORY)
			*why = said;
		return r == INSPECT_LATER || r == ERR_MEMORY ? r : 0;
	}
	r = 0;
	d->counts.over += list.over;
	while (r >= 0 && found != INSPECT_LATER && inspect_list_next(&list, &d->mapping)) {
		r = take_mapping(d, pid, &d->mapping, why);
		if (r > found)
			found = r;
	}
	inspect_list_free(&list);
	return r < 0 ? r : found;
}

/* The mapping alone that was reported. */
static int look_at_one(struct discover *d, uint32_t pid, uint64_t address, struct fault *why)
{
	struct fault said;
	int r = address ? inspector_mapping(d->inspector, pid, address, &d->mapping, &said)
			: inspector_exe(d->inspector, pid, &d->mapping, &said);

	if (r == INSPECT_DONE) {
		d->mapping.prot |= PROT_EXEC; /* of a program it need not be the part that is code */
		return take_mapping(d, pid, &d->mapping, why);
	}
	note_denied(d, pid, r == ERR_DENIED ? r : 0);
	if (r == ERR_MEMORY)
		*why = said;
	return r == INSPECT_LATER || r == ERR_MEMORY ? r : 0;
}

int discover_mapped(struct discover *d, uint32_t pid, const struct discover_mapping *mapped, struct fault *why)
{
	const struct file_key *key = mapped->key;
	const struct looked *l;
	int r;

	d->fresh = key;
	r = look_at_one(d, pid, mapped->address, why);
	d->fresh = NULL;
	if (r < 0 || r == INSPECT_LATER)
		return r;
	/* One that could not be inspected, because its process was gone, shall be reported again. */
	l = find_looked(d, key->device, key->inode);
	if (!l) {
		d->counts.gone++;
		return 0;
	}
	r = attach_file_known(d->attach, key, l->role != 0, why);
	/* Also of a process that is gone by now. That the file is the same one is sure only while probes hold it. */
	if (r == 0 && l->probed)
		r = note_use(d, pid, l, why);
	return r < 0 ? r : l->role != 0;
}

enum discover_known discover_known(struct discover *d, const struct file_key *key)
{
	const struct looked *l = find_looked(d, key->device, key->inode);

	if (!l)
		return DISCOVER_UNKNOWN;
	if (l->probed)
		return DISCOVER_PROBED;
	return l->functions || l->unread ? DISCOVER_UNREAD : DISCOVER_PLAIN;
}

int discover_too_late(struct discover *d, uint32_t pid, const struct file_key *key, struct fault *why)
{
	const struct looked *l = find_looked(d, key->device, key->inode);

	d->counts.gone += !l;
	return l && l->probed ? note_use(d, pid, l, why) : 0;
}

void discover_anew(struct discover *d)
{
	for (size_t i = 0; i < d->nuses; i++)
		d->uses[i].old = d->uses[i].pid && !d->uses[i].emitted;
	d->counts.denied = 0;
	d->counts.over = 0;
}

void discover_anew_end(struct discover *d)
{
	size_t kept = 0;

	for (size_t i = 0; i < d->nuses; i++)
		if (!d->uses[i].old)
			d->uses[kept++] = d->uses[i];
	d->nuses = kept;
}

int discover_all(struct discover *d, int (*each)(void *self, uint32_t pid, int found, struct fault *why), void *self,
		 struct fault *why)
{
	struct procfs_list list;
	uint32_t pid;
	int r = procfs_pids_open(&list, d->fs, why);

	if (r < 0)
		return r;
	while ((r = procfs_list_next(&list, &pid, why)) > 0) {
		r = discover_process(d, pid, why);
		if (r >= 0)
			r = each(self, pid, r, why);
		if (r < 0)
			break;
	}
	procfs_list_close(&list);
	return r < 0 ? r : 0;
}

static int add_open_file(struct discover *d, int fd, const char *path, struct mapping *m, struct fault *why)
{
	struct looked l = {0}, *kept = NULL;
	struct stat st;
	int r;

	memset(m, 0, sizeof(*m));
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "%s is not a library: not a regular file", path);
	m->dev_major = major(st.st_dev);
	m->dev_minor = minor(st.st_dev);
	m->inode = st.st_ino;
	m->prot = PROT_READ | PROT_EXEC;
	if (!realpath(path, m->path))
		return fault_errno(why, "cannot resolve the path of %s", path);
	if (find_looked(d, device_of(m), m->inode))
		return 0;
	inspector_give_file(d->inspector, fd);
	r = inspector_open(d->inspector, 0, m, &d->file, why);
	if (r == INSPECT_DONE)
		r = discover_look(d, 0, m, &l, why);
	inspector_give_file(d->inspector, -1);
	if (r >= 0)
		r = r == INSPECT_DONE ? 0 : fault_set(why, ERR_IO, FAULT_NOWHERE, "%s changed while it was read", path);
	if (r == 0 && !l.functions)
		r = fault_set(why, ERR_INPUT, FAULT_NOWHERE, "%s has none of the functions that gpurec probes%s%s",
			      path, l.reason ? ": " : "", l.reason ? l.reason : "");
	if (r == 0)
		r = keep_looked(d, m, &l, &kept, why);
	if (r < 0) {
		free(l.reason);
		return r;
	}
	return note_use(d, 0, kept, why);
}

int discover_add_file(struct discover *d, const char *path, struct fault *why)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), r;

	if (fd < 0)
		return fault_errno(why, "cannot open the library %s", path);
	r = add_open_file(d, fd, path, &d->mapping, why);
	close(fd);
	return r;
}

void discover_each(const struct discover *d, void (*use)(void *self, const struct discover_use *u), void *self)
{
	for (size_t i = 0; i < d->nuses; i++) {
		const struct looked *l = &d->looked[d->uses[i].looked];
		const struct module *m = symbolizer_module_at(d->symbolizer, l->module);
		const struct discover_use u = {
			.pid = d->uses[i].pid,
			.file = d->uses[i].looked,
			.role = l->role,
			.functions = l->functions,
			.probed = l->probed,
			.path = m ? m->path : "",
			.reason = l->reason ? l->reason : "",
		};

		use(self, &u);
	}
}

uint64_t discover_uncovered(struct discover *d, bool (*recorded)(void *self, uint32_t pid), void *self)
{
	uint64_t n = 0;

	for (size_t i = 0; i < d->nuses; i++) {
		const struct looked *l = &d->looked[d->uses[i].looked];

		if (d->uses[i].counted || (l->probed == l->functions && !l->unread))
			continue;
		d->uses[i].counted = d->uses[i].pid && recorded(self, d->uses[i].pid);
		n += d->uses[i].counted;
	}
	return n;
}

void discover_counted(struct discover *d, uint32_t pid, const struct file_key *key)
{
	const struct looked *l = find_looked(d, key->device, key->inode);

	for (size_t i = 0; l && i < d->nuses; i++)
		if (d->uses[i].pid == pid && &d->looked[d->uses[i].looked] == l)
			d->uses[i].counted = true;
}

void discover_count_again(struct discover *d)
{
	for (size_t i = 0; i < d->nuses; i++)
		d->uses[i].counted = false;
}

static int emit_library(const struct looked *l, uint32_t pid, struct writer *w, uint64_t at_ns, struct fault *why)
{
	struct row row = row_of(KIND_library, at_ns);

	row.v[F_library_module] = l->module;
	row.v[F_library_pid] = pid;
	row.v[F_library_role] = l->role;
	row.v[F_library_functions] = l->functions;
	row.v[F_library_probed] = l->probed;
	row_text(&row, F_library_reason, l->reason ? l->reason : "");
	return row_emit(&row, w, why);
}

int discover_emit(struct discover *d, struct stacks *stacks, struct writer *w, uint64_t at_ns, struct fault *why)
{
	int r = stacks_emit_modules(stacks, w, at_ns, why);

	for (size_t i = 0; i < d->nuses && r == 0; i++) {
		if (d->uses[i].emitted || d->uses[i].old)
			continue;
		r = emit_library(&d->looked[d->uses[i].looked], d->uses[i].pid, w, at_ns, why);
		d->uses[i].emitted = r == 0;
	}
	for (size_t i = 0; i < d->noutcomes && r == 0; i++) {
		const struct outcome *o = &d->outcomes[i];
		struct row row = row_of(KIND_attach, at_ns);

		row.v[F_attach_module] = o->module;
		row.v[F_attach_probe] = o->probe;
		row.v[F_attach_offset] = o->offset;
		row.v[F_attach_error] = (uint64_t)o->error;
		r = row_emit(&row, w, why);
	}
	if (r == 0)
		d->noutcomes = 0;
	return r;
}
