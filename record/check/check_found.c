/* SPDX-License-Identifier: Apache-2.0 */
/* The CUDA libraries that are in use now: which copies, by whom, and what recording makes of each. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "record/check/check_internal.h"
#include "format/base/units.h"
#include "record/probe/discover.h"

#define FILES_MAX 24 /* that get a line */
#define PROCESSES_MAX 6

struct found {
	const struct check *c;
	size_t n, over;
	struct found_file {
		struct discover_use use;
		unsigned nprocesses;
		char processes[200];
	} file[FILES_MAX];
};

static void add_process(const struct check *c, struct found_file *f, uint32_t pid)
{
	size_t used = strlen(f->processes);
	struct process_info info;

	if (!pid || ++f->nprocesses > PROCESSES_MAX)
		return;
	if (procfs_process(&c->fs, pid, &info, NULL) <= 0)
		strcpy(info.comm, "ended");
	(void)snprintf(f->processes + used, sizeof(f->processes) - used, "%s%u %s", used ? ", " : "", pid, info.comm);
}

static void take_use(void *self, const struct discover_use *u)
{
	struct found *found = self;

	for (size_t i = 0; i < found->n; i++) {
		if (found->file[i].use.file == u->file) {
			add_process(found->c, &found->file[i], u->pid);
			return;
		}
	}
	if (found->n == FILES_MAX) {
		found->over++;
		return;
	}
	memset(&found->file[found->n], 0, sizeof(found->file[0]));
	found->file[found->n].use = *u;
	add_process(found->c, &found->file[found->n++], u->pid);
}

static void print_file(struct check *c, const struct found_file *f)
{
	const struct discover_use *u = &f->use;
	bool whole = u->probed && u->probed == u->functions;
	char more[32] = "";

	if (f->nprocesses > PROCESSES_MAX)
		snprintf(more, sizeof(more), " and %u more", f->nprocesses - PROCESSES_MAX);
	check_report(c, "CUDA library", whole ? CHECK_OK : CHECK_NOTE, "%.120s: %zu of %zu functions probed; %s %s%s",
		     u->path, u->probed, u->functions, f->nprocesses ? "in use by" : "given with --lib", f->processes,
		     more);
	if (!whole)
		check_remedy(c, "%.250s", u->reason[0] ? u->reason : "use one that exports its functions");
}

static int ignore(void *self, uint32_t pid, int found, struct fault *why)
{
	(void)self, (void)pid, (void)found, (void)why;
	return 0;
}

/* What a recording with these options would inspect when it begins. */
static int look(struct check *c, struct discover *d, struct fault *why)
{
	int r = 0;

	for (size_t i = 0; i < c->o->nlibs; i++) {
		if (discover_add_file(d, c->o->libs[i], why) == 0)
			continue;
		check_report(c, "--lib", CHECK_NO, "%s", why->text);
		check_remedy(c, "name a CUDA library, or a program with the runtime linked in and not stripped");
	}
	for (size_t i = 0; i < c->o->npids && r >= 0; i++) {
		struct process_info info;

		if (procfs_process(&c->fs, c->o->pids[i], &info, NULL) <= 0) {
			check_report(c, "-p", CHECK_NO, "there is no process %u", c->o->pids[i]);
			check_remedy(c, "pgrep finds the number");
		}
		r = discover_process(d, c->o->pids[i], why);
	}
	return c->o->npids || r < 0 ? r : discover_all(d, ignore, NULL, why);
}

static void print_counts(struct check *c, const struct discover_counts *n, const struct found *found)
{
	if (!found->n) {
		check_report(c, "CUDA", CHECK_NOTE, "no process that can be inspected uses it now");
		check_remedy(c, "one that starts later is recorded%s",
			     c->o->late_attach ? "" : " only if its library was probed before: omit --no-late-attach");
	}
	if (found->over) {
		check_report(c, "CUDA", CHECK_NOTE, "%zu more uses of libraries are not listed", found->over);
		check_remedy(c, "a capture's `library` rows list them all");
	}
	if (n->denied) {
		check_report(
			c, "processes", CHECK_NOTE,
			"%zu memory map%s could not be read (the last: of process %u); CUDA libraries there are missed",
			n->denied, plural(n->denied), n->last_denied);
		check_remedy(c, "run as root, or with CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH and CAP_CHECKPOINT_RESTORE; "
				"where these are held, a security module forbids it");
	}
	if (n->unread) {
		check_report(c, "CUDA", CHECK_NOTE, "%zu CUDA libraries cannot be read: %s", n->unread,
			     n->last_problem);
		check_remedy(c, "see whether the file is whole and may be read; its calls are not recorded");
	}
}

void check_libraries(struct check *c)
{
	struct inspector *inspector = NULL;
	struct symbolizer *symbolizer = NULL;
	struct found found = {.c = c};
	struct discover *d = NULL;
	struct fault why = {0};

	if (!c->attach)
		return; /* why it does not work was said */
	if (inspector_new(&inspector, &c->fs, c->attach, &why) < 0 ||
	    symbolizer_new(&symbolizer, &c->fs, inspector, &why) < 0 ||
	    discover_new(&d, &c->fs, inspector, symbolizer, c->attach, &why) < 0 || look(c, d, &why) < 0) {
		check_report(c, "CUDA", CHECK_NOTE, "libraries could not be looked for: %s", why.text);
		check_remedy(c, "see what /proc shows to this user");
	} else {
		discover_each(d, take_use, &found);
		for (size_t i = 0; i < found.n; i++)
			print_file(c, &found.file[i]);
		print_counts(c, discover_counts(d), &found);
	}
	discover_free(d);
	symbolizer_free(symbolizer);
	inspector_free(inspector);
}
