/* SPDX-License-Identifier: Apache-2.0 */
#include "record/discover.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define LIBRARY_PREFIX "libcuda" /* libcudart, libcuda */

/* A file that was looked at: not again. */
struct seen {
	uint32_t major, minor;
	uint64_t inode;
};

/* One row to be written. */
struct outcome {
	uint32_t module;
	uint16_t probe;
	int error;
	uint64_t offset;
};

struct discover {
	const struct procfs *fs;
	struct symbolizer *symbolizer;
	struct attach *attach;
	struct seen *seen;
	size_t nseen;
	struct outcome *outcomes;
	size_t noutcomes;
	const char **names; /* of all library functions, and behind each index its probe */
	const struct probe_spec **specs;
	size_t nnames;
	struct discover_counts counts;
	struct mapping mapping; /* large: not for the stack */
	struct procfs_maps maps;
};

int discover_new(struct discover **out, const struct procfs *fs, struct symbolizer *symbolizer, struct attach *attach,
		 struct fault *why)
{
	struct discover *d = calloc(1, sizeof(*d));

	if (d) {
		d->names = calloc(nprobes, sizeof(*d->names));
		d->specs = calloc(nprobes, sizeof(*d->specs));
	}
	if (!d || !d->names || !d->specs) {
		discover_free(d);
		return fault_set(why, ERR_MEMORY, FAULT_NOWHERE, "out of memory");
	}
	for (size_t i = 0; i < nprobes; i++) {
		if (probe_table[i].id < PROBE_HOST_END)
			continue;
		d->names[d->nnames] = probe_table[i].name;
		d->specs[d->nnames++] = &probe_table[i];
	}
	d->fs = fs;
	d->symbolizer = symbolizer;
	d->attach = attach;
	*out = d;
	return 0;
}

void discover_free(struct discover *d)
{
	if (!d)
		return;
	free(d->seen);
	free(d->outcomes);
	free(d->names);
	free(d->specs);
	free(d);
}

const struct discover_counts *discover_counts(const struct discover *d)
{
	return &d->counts;
}

static bool was_seen(const struct discover *d, const struct mapping *m)
{
	for (size_t i = 0; i < d->nseen; i++)
		if (d->seen[i].inode == m->inode && d->seen[i].major == m->dev_major &&
		    d->seen[i].minor == m->dev_minor)
			return true;
	return false;
}

static int note_seen(struct discover *d, const struct mapping *m, struct fault *why)
{
	struct file_key key = {.inode = m->inode, .device = m->dev_major << 20 | m->dev_minor};
	struct seen *more = reallocarray(d->seen, d->nseen + 1, sizeof(*more));

	if (!more)
		return fault_set(why, ERR_MEMORY, FAULT_NOWHERE, "out of memory");
	d->seen = more;
	d->seen[d->nseen++] = (struct seen){m->dev_major, m->dev_minor, m->inode};
	return attach_file_known(d->attach, &key, why);
}

/* The functions found as sites: each place once, for an alias would record every call twice. */
static size_t make_sites(const struct discover *d, const struct image_match *found, size_t nfound,
			 struct attach_site *sites)
{
	size_t n = 0;

	for (size_t i = 0; i < nfound; i++) {
		bool taken = found[i].ifunc;

		for (size_t k = 0; k < n && !taken; k++)
			taken = sites[k].offset == found[i].offset;
		if (!taken)
			sites[n++] = (struct attach_site){found[i].offset, d->specs[found[i].name]->id, 0};
	}
	return n;
}

static int keep_outcomes(struct discover *d, uint32_t module, const struct attach_site *sites, size_t n,
			 struct fault *why)
{
	struct outcome *more = reallocarray(d->outcomes, d->noutcomes + n, sizeof(*more));

	if (!more)
		return fault_set(why, ERR_MEMORY, FAULT_NOWHERE, "out of memory");
	d->outcomes = more;
	for (size_t i = 0; i < n; i++)
		d->outcomes[d->noutcomes++] = (struct outcome){module, sites[i].probe, sites[i].error, sites[i].offset};
	return 0;
}

/* Probe the file open as fd, which is mapping m's. *nsites: functions in it that we know. */
static int probe_file(struct discover *d, int fd, const struct mapping *m, size_t *nsites, struct fault *why)
{
	struct image_match *found = NULL;
	struct attach_site *sites = NULL;
	struct image *img = NULL;
	size_t nfound = 0, n, done;
	uint32_t module;
	int r = image_open(&img, fd, why);

	if (r == 0)
		r = image_find(img, d->names, d->nnames, &found, &nfound, why);
	if (r < 0 || !nfound)
		goto out;
	sites = calloc(nfound, sizeof(*sites));
	if (!sites) {
		r = fault_set(why, ERR_MEMORY, FAULT_NOWHERE, "out of memory");
		goto out;
	}
	n = make_sites(d, found, nfound, sites);
	done = attach_library(d->attach, fd, sites, n);
	d->counts.sites += done;
	d->counts.refused += n - done;
	d->counts.libraries += done > 0;
	r = symbolizer_module(d->symbolizer, fd, m, &module, why);
	if (r == 0)
		r = keep_outcomes(d, module, sites, n, why);
out:
	if (r >= 0)
		*nsites = nfound;
	image_close(img);
	free(found);
	free(sites);
	return r;
}

/* A library that cannot be read does not end the recording: it is counted, and the reason kept. */
static int note_problem(struct discover *d, const struct mapping *m, const struct fault *fault)
{
	d->counts.unread++;
	(void)snprintf(d->counts.last_problem, sizeof(d->counts.last_problem), "%.120s: %.120s", m->path, fault->text);
	return 0;
}

static int probe_mapping(struct discover *d, uint32_t pid, const struct mapping *m, struct fault *why)
{
	struct fault local = {0};
	size_t nsites = 0;
	int fd = -1, r;

	if (was_seen(d, m))
		return 0;
	r = procfs_open_mapped(d->fs, pid, m, &fd, &local);
	if (r == 0)
		return 0; /* gone: perhaps another process has it */
	if (r > 0)
		r = probe_file(d, fd, m, &nsites, &local);
	if (fd >= 0)
		close(fd);
	if (r == ERR_MEMORY) {
		*why = local;
		return r;
	}
	if (r < 0)
		note_problem(d, m, &local);
	return note_seen(d, m, why);
}

static bool is_library(const struct discover *d, const struct mapping *m)
{
	const char *base = strrchr(m->path, '/');

	if (!(m->prot & PROT_EXEC) || !m->inode || !base)
		return false;
	return !strncmp(base + 1, LIBRARY_PREFIX, strlen(LIBRARY_PREFIX)) || was_seen(d, m);
}

int discover_process(struct discover *d, uint32_t pid, struct fault *why)
{
	struct fault local;
	int found = 0, r = procfs_maps_open(&d->maps, d->fs, pid, &local);

	if (r <= 0)
		return r == ERR_MEMORY ? fault_set(why, ERR_MEMORY, FAULT_NOWHERE, "out of memory") : 0;
	r = 0;
	while (r >= 0 && procfs_maps_next(&d->maps, &d->mapping, &local) > 0) {
		if (!is_library(d, &d->mapping))
			continue;
		found = 1;
		r = probe_mapping(d, pid, &d->mapping, why);
	}
	procfs_maps_close(&d->maps);
	return r < 0 ? r : found;
}

int discover_all(struct discover *d, uint64_t after_ns, int (*use)(void *self, uint32_t pid, struct fault *why),
		 void *self, struct fault *why)
{
	struct procfs_list list;
	struct process_info info;
	uint32_t pid;
	int r = procfs_pids_open(&list, d->fs, why);

	if (r < 0)
		return r;
	while ((r = procfs_list_next(&list, &pid, why)) > 0) {
		if (after_ns && (procfs_process(d->fs, pid, &info, NULL) <= 0 || info.start_ns < after_ns))
			continue;
		r = discover_process(d, pid, why);
		if (r > 0)
			r = use(self, pid, why);
		if (r < 0)
			break;
	}
	procfs_list_close(&list);
	return r < 0 ? r : 0;
}

int discover_add_file(struct discover *d, const char *path, struct fault *why)
{
	struct mapping *m = &d->mapping;
	struct fault said;
	struct stat st;
	size_t nsites = 0;
	int fd, r;

	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return fault_errno(why, "cannot open the library %s", path);
	memset(m, 0, sizeof(*m));
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		r = fault_set(why, ERR_INPUT, FAULT_NOWHERE, "%s is no library: not a regular file", path);
		goto out;
	}
	m->dev_major = major(st.st_dev);
	m->dev_minor = minor(st.st_dev);
	m->inode = st.st_ino;
	m->prot = PROT_READ | PROT_EXEC;
	if (!realpath(path, m->path)) {
		r = fault_errno(why, "cannot resolve the path of %s", path);
		goto out;
	}
	r = was_seen(d, m) ? 0 : probe_file(d, fd, m, &nsites, &said);
	if (r < 0)
		fault_set(why, r, FAULT_NOWHERE, "%s: %s", path, said.text);
	if (r == 0 && !was_seen(d, m)) {
		r = note_seen(d, m, why);
		if (r == 0 && !nsites)
			r = fault_set(why, ERR_INPUT, FAULT_NOWHERE, "%s has none of the functions that gpurec probes",
				      path);
	}
out:
	close(fd);
	return r;
}

int discover_tell(struct discover *d, struct stacks *stacks, struct writer *w, uint64_t at_ns, struct fault *why)
{
	int r = stacks_tell_modules(stacks, w, at_ns, why);

	for (size_t i = 0; i < d->noutcomes && r == 0; i++) {
		const struct outcome *o = &d->outcomes[i];
		uint64_t v[NFIELDS_attach] = {0};

		v[F_attach_at] = at_ns;
		v[F_attach_module] = o->module;
		v[F_attach_probe] = o->probe;
		v[F_attach_offset] = o->offset;
		v[F_attach_error] = (uint64_t)o->error;
		r = writer_add(w, KIND_attach, v, NULL, why);
	}
	if (r == 0)
		d->noutcomes = 0;
	return r;
}
