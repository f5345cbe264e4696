/* SPDX-License-Identifier: Apache-2.0 */
/* Whose rights and process numbers ours are, and which rights a recording takes. */
#include <linux/capability.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include "record/check/check_internal.h"

static bool is_foreign(const char *path, ino_t initial)
{
	struct stat st;

	return stat(path, &st) == 0 && st.st_ino != initial;
}

void check_namespaces(struct check *c)
{
	c->foreign_pids = is_foreign("/proc/self/ns/pid", INITIAL_PID_NAMESPACE);
	c->foreign_user = is_foreign("/proc/self/ns/user", INITIAL_USER_NAMESPACE);
	if (c->foreign_pids) {
		check_report(c, "pid namespace", CHECK_NO,
			     "not the host's: processes have other numbers than for the kernel");
		check_remedy(c, "run on the host, or the container with --pid=host");
	} else {
		check_report(c, "pid namespace", CHECK_OK, "the host's");
	}
	if (c->foreign_user) {
		check_report(c, "user namespace", CHECK_NO,
			     "not the host's: rights held in it, root's too, do not reach the kernel");
		check_remedy(
			c, "run on the host, or the container without a user namespace (not rootless, --userns=host)");
	} else {
		check_report(c, "user namespace", CHECK_OK, "the host's");
	}
}

enum need {
	NEED_ALWAYS,
	NEED_ONE_BY_ONE, /* where functions are attached one by one */
	NEED_NEVER       /* without it less is found */
};

/* The table of docs/PRIVILEGES.md. */
static const struct {
	cap_value_t cap;
	enum need need;
	bool by_admin; /* CAP_SYS_ADMIN includes it */
	const char *name, *setcap, *what_for;
} rights[] = {
	{CAP_BPF, NEED_ALWAYS, true, "CAP_BPF", "cap_bpf", "loads programs"},
	{CAP_PERFMON, NEED_ALWAYS, true, "CAP_PERFMON", "cap_perfmon", "attaches them"},
	{CAP_SYS_ADMIN, NEED_ONE_BY_ONE, false, "CAP_SYS_ADMIN", "cap_sys_admin", "attaches functions one by one"},
	{CAP_SYS_PTRACE, NEED_NEVER, false, "CAP_SYS_PTRACE", "cap_sys_ptrace",
	 "sees what processes of other users have mapped"},
	{CAP_DAC_READ_SEARCH, NEED_NEVER, false, "CAP_DAC_READ_SEARCH", "cap_dac_read_search",
	 "reads libraries in folders that are closed to others"},
	{CAP_CHECKPOINT_RESTORE, NEED_NEVER, true, "CAP_CHECKPOINT_RESTORE", "cap_checkpoint_restore",
	 "finds deleted libraries and those of containers"},
	{CAP_KILL, NEED_NEVER, false, "CAP_KILL", "cap_kill", "lets a command of another user go on"},
	{CAP_SYSLOG, NEED_NEVER, true, "CAP_SYSLOG", "cap_syslog", "reads Xid errors"},
};
#define NRIGHTS (sizeof(rights) / sizeof(rights[0]))

__attribute__((format(printf, 3, 4))) static void append(char *text, size_t size, const char *fmt, ...)
{
	size_t used = strlen(text);
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(text + used, size - used, fmt, args);
	va_end(args);
}

static bool one_by_one(const struct check *c)
{
	struct utsname name = {0};

	(void)uname(&name);
	return c->o->single || check_older_than(&name, 6, 6);
}

static bool is_held(cap_t caps, size_t i)
{
	cap_flag_value_t set = CAP_CLEAR, admin = CAP_CLEAR;

	if (caps) {
		cap_get_flag(caps, rights[i].cap, CAP_EFFECTIVE, &set);
		cap_get_flag(caps, CAP_SYS_ADMIN, CAP_EFFECTIVE, &admin);
	}
	return set == CAP_SET || (rights[i].by_admin && admin == CAP_SET);
}

void check_capabilities(struct check *c)
{
	char held[200] = "", missing[100] = "", setcap[100] = "";
	bool single = one_by_one(c);
	cap_t caps = cap_get_proc();

	for (size_t i = 0; i < NRIGHTS; i++) {
		bool needed = rights[i].need == NEED_ALWAYS || (rights[i].need == NEED_ONE_BY_ONE && single);

		if (is_held(caps, i)) {
			if (rights[i].need != NEED_ONE_BY_ONE || single)
				append(held, sizeof(held), " %s", rights[i].name);
		} else if (needed) {
			append(missing, sizeof(missing), " %s", rights[i].name);
			append(setcap, sizeof(setcap), "%s%s", setcap[0] ? "," : "", rights[i].setcap);
		}
	}
	if (c->foreign_user) {
		check_report(c, "capabilities", CHECK_NO,
			     "of a user namespace, in which they count for nothing here:%s", held[0] ? held : " none");
		check_remedy(c, "run as root of the host");
	} else if (missing[0]) {
		check_report(c, "capabilities", CHECK_NO, "held:%s; needed and missing:%s", held[0] ? held : " none",
			     missing);
		check_remedy(c, "run as root, or setcap %s=ep on gpurec", setcap);
	} else {
		check_report(c, "capabilities", CHECK_OK, "held:%s", held);
	}
	for (size_t i = 0; i < NRIGHTS && !c->foreign_user; i++) {
		if (rights[i].need != NEED_NEVER || is_held(caps, i))
			continue;
		check_report(c, rights[i].name, CHECK_NOTE, "is not held: it %s", rights[i].what_for);
		check_remedy(c, "where that is wanted, add %s to those of setcap", rights[i].setcap);
	}
	if (caps)
		cap_free(caps);
}
