/* SPDX-License-Identifier: Apache-2.0 */
#include "record/rights.h"

#include <limits.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>

#include "keys/files.h"
#include "keys/tool/confine.h"

bool rights_read_others(const struct rights *r)
{
	return r->late && (r->single || r->hidden);
}

/*
 * Found out by leaving each away. To read about others: their mappings (SYS_PTRACE), the files behind them where they
 * may not be read (DAC_READ_SEARCH) or are reached through map_files alone (CHECKPOINT_RESTORE: overlay, deleted
 * files). A loaded program can be attached by uprobe_multi without any; the older way needs BPF, and SYS_ADMIN, for
 * which PERFMON is no substitute to the kernel. The key for the next capture may be another user's (DAC_READ_SEARCH).
 */
static int keep_caps(const struct rights *r, int caps[8])
{
	bool others = rights_read_others(r);
	const struct {
		int cap;
		bool kept;
	} all[] = {
		{CAP_SYS_PTRACE, others},         {CAP_DAC_READ_SEARCH, others || (r->key && r->late)},
		{CAP_CHECKPOINT_RESTORE, others}, {CAP_KILL, r->signals && r->late},
		{CAP_BPF, r->late && r->single},  {CAP_SYS_ADMIN, r->late && r->single},
	};
	int n = 0;

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (all[i].kept)
			caps[n++] = all[i].cap;
	return n;
}

/* The folder of a file, and where that really lies if it is a link. */
static int allow_folder(struct landlock *l, const char *file, unsigned right, struct fault *why)
{
	char folder[PATH_MAX], real[PATH_MAX];
	int r;

	file_folder(folder, file);
	r = landlock_allow(l, folder, right, why);
	if (r < 0 || !realpath(file, real))
		return r;
	file_folder(folder, real);
	return landlock_allow(l, folder, right, why);
}

static int reach(const struct rights *r, struct landlock *l, struct fault *why)
{
	static const char *const read[] = {"/proc", "/sys"};
	char groups[64];
	int e = landlock_open(l, LANDLOCK_DENY_READING | (r->signals ? 0 : LANDLOCK_DENY_SIGNALS), why);

	for (size_t i = 0; i < sizeof(read) / sizeof(read[0]) && e == 0; i++)
		e = landlock_allow(l, read[i], LANDLOCK_READ, why);
	for (size_t i = 0; i < sizeof(r->group_fds) / sizeof(r->group_fds[0]) && e == 0; i++) {
		snprintf(groups, sizeof(groups), "/proc/self/fd/%d", r->group_fds[i]);
		e = r->group_fds[i] < 0 ? 0 : landlock_allow(l, groups, LANDLOCK_READ, why);
	}
	if (e == 0)
		e = allow_folder(l, r->output, r->key ? LANDLOCK_MAKE : LANDLOCK_REMOVE, why);
	if (e == 0 && r->key)
		e = allow_folder(l, r->key, LANDLOCK_READ, why);
	if (e < 0)
		landlock_close(l);
	return e;
}

int rights_give_up(const struct rights *r, struct fault *why)
{
	bool others = rights_read_others(r);
	unsigned allow = SYSCALLS_RECORD | (r->late ? SYSCALLS_BPF : SYSCALLS_MAPS);
	struct landlock l = {.fd = -1};
	int caps[8], n = keep_caps(r, caps), e = others ? 0 : reach(r, &l, why);

	if (r->signals)
		allow |= SYSCALLS_SIGNAL;
	/* Taking off its probes, which takes long, is left to a process of its own. */
	if (r->single)
		allow |= SYSCALLS_CHILD;
	/* The next capture is a file that is made then; nothing else is opened for writing from here on. */
	if (r->key)
		allow |= SYSCALLS_NEW;
	return e == 0 ? confine_recorder(caps, n, others ? NULL : &l, allow, why) : e;
}
