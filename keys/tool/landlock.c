/* SPDX-License-Identifier: Apache-2.0 */
#include "keys/tool/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* What came after the kernel headers that this may be built with. */
#ifndef LANDLOCK_ACCESS_FS_REFER
#define LANDLOCK_ACCESS_FS_REFER (1ULL << 13)
#endif
#ifndef LANDLOCK_ACCESS_FS_TRUNCATE
#define LANDLOCK_ACCESS_FS_TRUNCATE (1ULL << 14)
#endif
#define NET_TCP 3ULL       /* bind, connect */
#define SCOPE_SOCKETS 1ULL /* abstract ones */
#define SCOPE_SIGNALS 2ULL

/* struct landlock_ruleset_attr with all that is known of it; older kernels take its beginning. */
struct ruleset {
	uint64_t handled_fs, handled_net, scoped;
};

#define READING (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define WRITING (LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_TRUNCATE)
#define MAKING (WRITING | LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_REMOVE_FILE)
#define OF_FILES (LANDLOCK_ACCESS_FS_READ_FILE | WRITING) /* rights that a rule on a file can give */
/* All else that changes folders or runs programs. */
#define OTHERS                                                                                                         \
	(LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_MAKE_CHAR |                   \
	 LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO |                   \
	 LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM | LANDLOCK_ACCESS_FS_REFER)

#define VERSION_REFER 2
#define VERSION_TRUNCATE 3
#define VERSION_NET 4
#define VERSION_SCOPES 6

int landlock_version(void)
{
	long version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);

	return version < 0 ? 0 : (int)version;
}

static int refused(struct fault *why, const char *what)
{
	return fault_set(why, ERR_DENIED, FAULT_NOWHERE, "cannot confine this process: Landlock: %.200s: %s", what,
			 strerror(errno));
}

int landlock_open(struct landlock *l, unsigned deny, struct fault *why)
{
	int version = landlock_version();
	struct ruleset rules = {.handled_fs = MAKING | OTHERS | (deny & LANDLOCK_DENY_READING ? READING : 0)};
	size_t size = version >= VERSION_SCOPES ? 24 : version >= VERSION_NET ? 16 : 8;

	*l = (struct landlock){.fd = -1};
	if (version == 0)
		return 0;
	if (version < VERSION_REFER)
		rules.handled_fs &= ~LANDLOCK_ACCESS_FS_REFER;
	if (version < VERSION_TRUNCATE)
		rules.handled_fs &= ~LANDLOCK_ACCESS_FS_TRUNCATE;
	rules.handled_net = version >= VERSION_NET ? NET_TCP : 0;
	if (version >= VERSION_SCOPES)
		rules.scoped = SCOPE_SOCKETS | (deny & LANDLOCK_DENY_SIGNALS ? SCOPE_SIGNALS : 0);
	l->handled = rules.handled_fs;
	l->fd = (int)syscall(SYS_landlock_create_ruleset, &rules, size, 0);
	return l->fd < 0 ? refused(why, "no rules can be made") : 0;
}

int landlock_allow(struct landlock *l, const char *path, unsigned rights, struct fault *why)
{
	struct landlock_path_beneath_attr rule = {0};
	struct stat st;
	int r = 0;

	if (l->fd < 0)
		return 0;
	rule.parent_fd = open(path, O_PATH | O_CLOEXEC);
	/* What is not there, or may not be reached, says so when it is opened. */
	if (rule.parent_fd < 0)
		return 0;
	if (rights & LANDLOCK_READ)
		rule.allowed_access |= READING;
	if (rights & LANDLOCK_WRITE)
		rule.allowed_access |= WRITING;
	if (rights & LANDLOCK_MAKE)
		rule.allowed_access |= MAKING | READING;
	if (rights & LANDLOCK_REMOVE)
		rule.allowed_access |= LANDLOCK_ACCESS_FS_REMOVE_FILE;
	if (rights & LANDLOCK_RMDIR)
		rule.allowed_access |= LANDLOCK_ACCESS_FS_REMOVE_DIR;
	rule.allowed_access &= l->handled;
	if (fstat(rule.parent_fd, &st) == 0 && !S_ISDIR(st.st_mode))
		rule.allowed_access &= OF_FILES;
	if (rule.allowed_access && syscall(SYS_landlock_add_rule, l->fd, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) < 0)
		r = refused(why, path);
	close(rule.parent_fd);
	return r;
}

int landlock_enter(struct landlock *l, struct fault *why)
{
	int r = 0;

	if (l->fd >= 0 && syscall(SYS_landlock_restrict_self, l->fd, 0) < 0)
		r = refused(why, "the rules do not come into force");
	landlock_close(l);
	return r;
}

void landlock_close(struct landlock *l)
{
	if (l->fd >= 0)
		close(l->fd);
	l->fd = -1;
}
