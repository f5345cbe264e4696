/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/target.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

static int check_free(const struct target *t, struct fault *why)
{
	struct stat st;

	if (lstat(t->path, &st) != 0)
		return errno == ENOENT ? 0 : fault_errno(why, "cannot look at %.150s", t->path);
	if (!S_ISREG(st.st_mode))
		return fault_set(why, ERR_EXISTS, FAULT_NOWHERE,
				 "%.150s is there and no regular file; it is left alone", t->path);
	if (!t->force)
		return fault_set(why, ERR_EXISTS, FAULT_NOWHERE, "%.150s is already there; --force replaces it",
				 t->path);
	return 0;
}

#define TEMPORARY_GROWTH 32 /* ".0123456789abcdef.part", and what SQLite adds for a journal */

/* A name beside `path` that nothing has, and that is legal wherever `path` is. */
static void name_temporary(struct target *t, const char *path, uint64_t random)
{
	const char *slash = strrchr(path, '/');
	int folder = slash ? (int)(slash + 1 - path) : 0;

	snprintf(t->temporary, sizeof(t->temporary), "%.*s%.*s.%016" PRIx64 ".part", folder, path,
		 NAME_MAX - TEMPORARY_GROWTH, path + folder, random);
}

int target_open(struct target *t, const char *path, bool force, struct fault *why)
{
	uint64_t random;
	int fd, r;

	*t = (struct target){.force = force};
	if (strlen(path) + TEMPORARY_GROWTH > sizeof(t->path))
		return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "the output's name is too long");
	strcpy(t->path, path);
	r = check_free(t, why);
	if (r)
		return r;
	if (getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return fault_errno(why, "no random bytes for a temporary name");
	name_temporary(t, path, random);
	fd = open(t->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0) {
		t->temporary[0] = '\0';
		return fault_errno(why, "cannot write %.150s", path);
	}
	close(fd);
	return 0;
}

void target_discard(struct target *t)
{
	if (t->temporary[0])
		unlink(t->temporary);
	t->temporary[0] = '\0';
}

static int sync_path(const char *path, int flags, struct fault *why)
{
	int fd = open(path, flags | O_CLOEXEC), r = 0;

	/* Some file systems cannot sync a folder: then there is nothing more that could be done. */
	if (fd < 0 || (fsync(fd) != 0 && errno != EINVAL && errno != EROFS))
		r = fault_errno(why, "cannot bring %.150s to disk", path);
	if (fd >= 0)
		close(fd);
	return r;
}

int target_commit(struct target *t, struct fault *why)
{
	char folder[PATH_MAX];
	char *slash;
	int r = sync_path(t->temporary, O_RDWR, why);

	if (r)
		goto out;
	/* A file that came to stand there meanwhile is not replaced either. */
	if (renameat2(AT_FDCWD, t->temporary, AT_FDCWD, t->path, t->force ? 0 : RENAME_NOREPLACE) != 0 &&
	    (errno != EINVAL || link(t->temporary, t->path) != 0 || unlink(t->temporary) != 0)) {
		r = fault_errno(why, "cannot give %.150s its name", t->path);
		goto out;
	}
	t->temporary[0] = '\0';
	strcpy(folder, t->path);
	slash = strrchr(folder, '/');
	if (slash == folder)
		slash++;
	strcpy(slash ? slash : folder, slash ? "" : ".");
	r = sync_path(folder, O_RDONLY | O_DIRECTORY, why);
out:
	target_discard(t);
	return r;
}
