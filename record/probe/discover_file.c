/* SPDX-License-Identifier: Apache-2.0 */
/* One file: what it is to CUDA, and the probes on it. */
#include "record/probe/discover_internal.h"
#include "format/base/array.h"
#include "format/base/units.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define REASON_MAX 256

static const struct {
	const char *prefix;
	uint32_t role;
} library_names[] = {
	{"libcudart", LIBRARY_RUNTIME},
	{"libcuda", LIBRARY_DRIVER},
	{"libnccl", LIBRARY_NCCL},
};

uint32_t discover_role_of_name(const char *path)
{
	const char *base = strrchr(path, '/');

	base = base ? base + 1 : path;
	for (size_t i = 0; i < sizeof(library_names) / sizeof(library_names[0]); i++) {
		size_t n = strlen(library_names[i].prefix);

		/* "libcudart.so.12", "libcudart-a1b2c3.so.12.0", but not "libcudadebugger.so.1" */
		if (!strncmp(base, library_names[i].prefix, n) && (base[n] == '.' || base[n] == '-'))
			return library_names[i].role;
	}
	return 0;
}

uint32_t discover_role_of_function(const char *name)
{
	name += strspn(name, "_");
	if (!strncmp(name, "nccl", 4))
		return LIBRARY_NCCL;
	if (!strncmp(name, "cuda", 4))
		return LIBRARY_RUNTIME;
	return LIBRARY_DRIVER;
}

/*
 * Overlays show one file beneath them as a file of each, with a device of each. The kernel puts probes on the one
 * beneath, so that a second set would record each call twice. What an overlay says about inode and times is the file's
 * beneath; that two different files agree in all of it to the nanosecond is not to be expected.
 */
static const struct looked *same_beneath(const struct discover *d, const struct stamp *stamp)
{
	for (size_t i = 0; stamp->overlay && i < d->nlooked; i++)
		if (d->looked[i].probed && d->looked[i].stamp.overlay && stamp_same(&d->looked[i].stamp, stamp))
			return &d->looked[i];
	return NULL;
}

__attribute__((format(printf, 3, 4))) static int set_reason(struct looked *l, struct fault *why, const char *fmt, ...)
{
	char text[REASON_MAX];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	free(l->reason);
	l->reason = strdup(text);
	return l->reason ? 0 : fault_no_memory(why);
}

/*
 * The functions found as sites: each place once, for an alias would record every call twice. First those to be probed,
 * then those that cannot be: of a function that each program chooses for itself (an IFUNC) only what chooses is here.
 */
static size_t make_sites(const struct discover *d, const struct image_match *found, size_t nfound,
			 struct attach_site *sites, size_t *nchosen)
{
	size_t n = 0, before = 0;

	for (int chosen = 0; chosen < 2; chosen++) {
		before = n;
		for (size_t i = 0; i < nfound; i++) {
			bool taken = found[i].ifunc != chosen;

			for (size_t k = 0; k < n && !taken; k++)
				taken = sites[k].offset == found[i].offset;
			if (!taken)
				sites[n++] = (struct attach_site){found[i].offset, d->functions[found[i].name].id,
								  chosen ? EOPNOTSUPP : 0};
		}
	}
	*nchosen = n - before;
	return n;
}

static int keep_outcomes(struct discover *d, uint32_t module, const struct attach_site *sites, size_t n,
			 struct fault *why)
{
	struct outcome *more = array_grow(d->outcomes, &d->outcomes_room, d->noutcomes + n + 1, sizeof(*more));

	if (!more)
		return fault_no_memory(why);
	d->outcomes = more;
	for (size_t i = 0; i < n; i++)
		d->outcomes[d->noutcomes++] = (struct outcome){module, sites[i].probe, sites[i].error, sites[i].offset};
	return 0;
}

/* What a file is whose name does not report: by most of the functions that it has. */
static uint32_t role_of_matches(const struct discover *d, const struct image_match *found, size_t n)
{
	size_t runtime = 0, exported = 0, driver = 0, nccl = 0;

	for (size_t i = 0; i < n; i++) {
		switch (discover_role_of_function(d->functions[found[i].name].name)) {
		case LIBRARY_RUNTIME:
			runtime++;
			exported += found[i].exported;
			break;
		case LIBRARY_DRIVER:
			driver++;
			break;
		default:
			nccl++;
		}
	}
	if (runtime && runtime >= driver && runtime >= nccl)
		return exported ? LIBRARY_RUNTIME : LIBRARY_STATIC_RUNTIME;
	return driver >= nccl ? LIBRARY_DRIVER : LIBRARY_NCCL;
}

/* Probe them. INSPECT_GONE, INSPECT_LATER: nothing was done. */
static int attach_sites(struct discover *d, uint32_t pid, const struct mapping *m, struct looked *l,
			struct attach_site *sites, size_t n, struct fault *said)
{
	int r = inspector_attach(d->inspector, pid, m, &l->stamp, sites, n, said);

	for (size_t i = 0; i < n && r < 0; i++)
		sites[i].error = EIO;
	for (size_t i = 0; i < n; i++)
		l->probed += !sites[i].error;
	return r;
}

/* From `chosen` on are the functions that cannot be probed anywhere. */
static const char *failed_why(const struct fault *said, const struct attach_site *failed,
			      const struct attach_site *chosen)
{
	if (failed >= chosen)
		return "which code it is the program chooses when it is loaded (an IFUNC)";
	return said->text[0] ? said->text : strerror(failed->error);
}

/* INSPECT_DONE, INSPECT_GONE, INSPECT_LATER, or negative. */
static int probe_functions(struct discover *d, uint32_t pid, const struct mapping *m, const struct image_match *found,
			   size_t nfound, struct looked *l, struct fault *why)
{
	struct attach_site *sites = calloc(nfound, sizeof(*sites)), *failed = NULL;
	struct fault said = {0};
	size_t n, nchosen;
	int r = INSPECT_DONE;

	if (!sites)
		return fault_no_memory(why);
	n = make_sites(d, found, nfound, sites, &nchosen);
	l->functions = n;
	l->probed = 0;
	if (n > nchosen)
		r = attach_sites(d, pid, m, l, sites, n - nchosen, &said);
	if (r == INSPECT_GONE || r == INSPECT_LATER || r == ERR_MEMORY) {
		free(sites);
		return r < 0 ? fault_no_memory(why) : r;
	}
	d->counts.sites += l->probed;
	d->counts.refused += n - l->probed;
	d->counts.libraries += l->probed > 0;
	r = keep_outcomes(d, l->module, sites, n, why);
	for (size_t i = 0; i < n && !failed; i++)
		failed = sites[i].error ? &sites[i] : NULL;
	if (r == 0 && failed)
		r = set_reason(l, why, "%zu function%s could not be probed, %s is the first: %s", n - l->probed,
			       plural(n - l->probed), probe_find(failed->probe)->name,
			       failed_why(&said, failed, sites + n - nchosen));
	free(sites);
	return r < 0 ? r : INSPECT_DONE;
}

/* A file in which none of the functions that we know were found. */
static int look_at_rest(struct discover *d, const struct inspect_functions *about, const struct mapping *m,
			struct looked *l, struct fault *why)
{
	int r;

	if (l->role) {
		r = set_reason(l, why, "it has the name of a CUDA library but none of the functions that are probed");
	} else if (about->has_kernels && !about->imports_runtime) {
		l->role = LIBRARY_STATIC_RUNTIME;
		d->counts.stripped++;
		(void)snprintf(d->counts.last_stripped, sizeof(d->counts.last_stripped), "%.250s", m->path);
		r = set_reason(l, why,
			       "the CUDA runtime is linked in and its symbols are stripped: of this file only the "
			       "driver's calls are recorded");
	} else {
		return 0;
	}
	return r < 0 ? r : symbolizer_module(d->symbolizer, &d->file, m, &l->module, why);
}

static int look_inside(struct discover *d, uint32_t pid, const struct mapping *m, struct looked *l, struct fault *why)
{
	struct inspect_functions about;
	struct image_match *found = NULL;
	int r = inspector_functions(d->inspector, pid, m, &l->stamp, &about, &found, why);

	if (r != INSPECT_DONE)
		return r;
	if (!about.n) {
		r = look_at_rest(d, &about, m, l, why);
		r = r < 0 ? r : INSPECT_DONE;
	} else {
		r = symbolizer_module(d->symbolizer, &d->file, m, &l->module, why);
		for (size_t i = 0; i < about.n && r == 0; i++)
			if (found[i].name >= d->nfunctions)
				r = fault_set(why, ERR_IO, FAULT_NOWHERE, "the process that inspects files has failed");
		if (r == 0 && !l->role)
			l->role = role_of_matches(d, found, about.n);
		if (r == 0)
			r = probe_functions(d, pid, m, found, about.n, l, why);
	}
	free(found);
	return r;
}

int discover_unread(struct discover *d, const struct mapping *m, const char *reason, struct looked *l,
		    struct fault *why)
{
	int r;

	d->counts.unread++;
	(void)snprintf(d->counts.last_reason, sizeof(d->counts.last_reason), "%s", reason);
	l->unread = true;
	(void)snprintf(d->counts.last_problem, sizeof(d->counts.last_problem), "%.120s: %.120s", m->path, reason);
	l->role = discover_role_of_name(m->path);
	r = set_reason(l, why, "it cannot be read: %s", reason);
	return r < 0 || l->module ? r : symbolizer_module(d->symbolizer, NULL, m, &l->module, why);
}

/* What comes of a file that could not be read. */
static int look_failed(struct discover *d, const struct mapping *m, struct looked *l, const struct fault *said,
		       struct fault *why)
{
	int r;

	if (said->code == ERR_MEMORY)
		return fault_no_memory(why);
	/* No answer came: it may be CUDA's. */
	if (!l->role && said->code == ERR_IO)
		return INSPECT_GONE;
	/* Not every file that is mapped as code is an ELF file, and what is none of CUDA's may be as it likes. */
	r = l->role ? discover_unread(d, m, said->text, l, why) : set_reason(l, why, "%s", said->text);
	return r < 0 ? r : INSPECT_DONE;
}

int discover_look(struct discover *d, uint32_t pid, const struct mapping *m, struct looked *l, struct fault *why)
{
	const struct looked *twin;
	struct fault said;
	int r;

	l->stamp = d->file.stamp;
	l->role = discover_role_of_name(m->path);
	twin = same_beneath(d, &l->stamp);
	if (twin) {
		l->role = twin->role;
		l->functions = twin->functions;
		l->probed = twin->probed;
		r = set_reason(l, why,
			       "the same file as module %u, seen through another overlay: its probes serve both",
			       twin->module);
		if (r == 0)
			r = symbolizer_module(d->symbolizer, &d->file, m, &l->module, why);
		return r < 0 ? r : INSPECT_DONE;
	}
	r = look_inside(d, pid, m, l, &said);
	return r < 0 ? look_failed(d, m, l, &said, why) : r;
}
