/* SPDX-License-Identifier: Apache-2.0 */
#include "format/base/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

bool is_absent(int error)
{
	return error == ENOENT || error == ENAMETOOLONG;
}

static int check_free(const struct target *t, struct fault *why)
{
	struct stat st;

	if (fstatat(t->folder, t->leaf, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return errno == ENOENT ? 0 : fault_errno(why, "cannot inspect %.150s", t->path);
	if (!S_ISREG(st.st_mode))
		return fault_set(why, ERR_EXISTS, FAULT_NOWHERE, "%.150s is not a regular file and is not replaced",
				 t->path);
	if (!t->force)
		return fault_set(why, ERR_EXISTS, FAULT_NOWHERE, "%.150s is already there; --force replaces it",
				 t->path);
	return 0;
}

static void folder_of(char folder[PATH_MAX], const char *path)
{
	const char *slash = strrchr(path, '/');

	if (slash)
		snprintf(folder, PATH_MAX, "%.*s", (int)(slash + 1 - path), path);
	else
		strcpy(folder, ".");
}

/* The folder of t->path; its name need not lead there later. */
static int open_folder(struct target *t, struct fault *why)
{
	char folder[PATH_MAX];

	folder_of(folder, t->path);
	t->folder = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return t->folder < 0 ? fault_errno(why, "cannot write %.150s", t->path) : 0;
}

#define TEMPORARY_GROWTH 32 /* ".0123456789abcdef.part", and what SQLite adds for a journal */

/* A file under a name that nothing has, and that is legal wherever t->leaf is. */
static int make_temporary(struct target *t, mode_t mode, struct fault *why)
{
	uint64_t random;

	if (getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return fault_errno(why, "no random bytes for a temporary name");
	snprintf(t->temporary, sizeof(t->temporary), "%.*s.%016" PRIx64 ".part", NAME_MAX - TEMPORARY_GROWTH, t->leaf,
		 random);
	t->fd = openat(t->folder, t->temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);
	if (t->fd >= 0)
		return 0;
	t->temporary[0] = '\0';
	return fault_errno(why, "cannot write %.150s", t->path);
}

/* The folder, and that nothing is there that may not be replaced. */
static int find_place(struct target *t, const char *path, bool force, struct fault *why)
{
	const char *slash;
	int r;

	*t = (struct target){.force = force, .fd = -1, .folder = -1};
	if (strlen(path) + TEMPORARY_GROWTH > sizeof(t->path))
		return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "the output's name is too long");
	strcpy(t->path, path);
	slash = strrchr(t->path, '/');
	t->leaf = slash ? slash + 1 : t->path;
	r = open_folder(t, why);
	return r < 0 ? r : check_free(t, why);
}

int target_open(struct target *t, const char *path, bool force, mode_t mode, struct fault *why)
{
	int r = find_place(t, path, force, why);

	if (r == 0)
		r = make_temporary(t, mode, why);
	if (r < 0)
		target_discard(t);
	return r;
}

int target_check(const char *path, bool force, struct fault *why)
{
	struct target t;
	int r = find_place(&t, path, force, why);

	target_discard(&t);
	return r;
}

void target_discard(struct target *t)
{
	if (t->temporary[0])
		unlinkat(t->folder, t->temporary, 0);
	t->temporary[0] = '\0';
	if (t->fd > 0)
		close(t->fd);
	if (t->folder > 0)
		close(t->folder);
	t->fd = t->folder = -1;
}

/* Whether the temporary name still is that of our file: who may write to the folder can give it to another. */
static int check_ours(const struct target *t, struct fault *why)
{
	struct stat named, ours;

	if (fstatat(t->folder, t->temporary, &named, AT_SYMLINK_NOFOLLOW) != 0 || fstat(t->fd, &ours) != 0)
		return fault_errno(why, "cannot give %.150s its name", t->path);
	if (named.st_ino != ours.st_ino || named.st_dev != ours.st_dev)
		return fault_set(why, ERR_EXISTS, FAULT_NOWHERE,
				 "%.150s: somebody put another file in its place while it was made", t->path);
	return 0;
}

static int sync_folder(int dir, const char *folder)
{
	int fd = openat(dir, folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC), r, saved;

	if (fd < 0)
		return errno == EACCES ? 0 : -1;
	r = fsync(fd);
	saved = errno;
	close(fd);
	errno = saved;
	return r < 0 && errno != EINVAL && errno != EROFS ? -1 : 0;
}

int sync_folder_of(const char *path)
{
	char folder[PATH_MAX];

	if (strlen(path) >= sizeof(folder)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	folder_of(folder, path);
	return sync_folder(AT_FDCWD, folder);
}

/* The name of a file that stands beside it, with this ending. False: there is none. */
static bool is_beside(const struct target *t, const char *ending, char name[NAME_MAX + 1])
{
	struct stat st;

	/* A name that is too long nobody has. */
	if (snprintf(name, NAME_MAX + 1, "%s%s", t->leaf, ending) > NAME_MAX)
		return false;
	return fstatat(t->folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0 || !is_absent(errno);
}

int target_alone(struct target *t, const char *const *endings, struct fault *why)
{
	char name[NAME_MAX + 1];

	t->beside = endings;
	for (size_t i = 0; !t->force && endings[i]; i++)
		if (is_beside(t, endings[i], name))
			return fault_set(why, ERR_EXISTS, FAULT_NOWHERE,
					 "%.150s%s is there, and would be read along with it; --force removes it",
					 t->path, endings[i]);
	return 0;
}

static int remove_beside(const struct target *t, struct fault *why)
{
	char name[NAME_MAX + 1];

	for (size_t i = 0; t->beside && t->force && t->beside[i]; i++)
		if (is_beside(t, t->beside[i], name) && unlinkat(t->folder, name, 0) != 0)
			return fault_errno(why, "cannot remove %.150s%s, which would be read along with it", t->path,
					   t->beside[i]);
	return 0;
}

/* None came to be there meanwhile. */
static int check_alone(const struct target *t, struct fault *why)
{
	char name[NAME_MAX + 1];

	for (size_t i = 0; t->beside && t->beside[i]; i++)
		if (is_beside(t, t->beside[i], name))
			return fault_set(
				why, ERR_EXISTS, FAULT_NOWHERE,
				"somebody put %.150s%s there while the file was made, and it is read along with "
				"it: believe neither",
				t->path, t->beside[i]);
	return 0;
}

int target_commit(struct target *t, struct fault *why)
{
	int r;

	if (fsync(t->fd) != 0 && errno != EINVAL && errno != EROFS)
		r = fault_errno(why, "cannot bring %.150s to disk", t->path);
	else
		r = check_ours(t, why);
	if (r == 0)
		r = remove_beside(t, why);
	if (r == 0)
		r = check_alone(t, why);
	if (r)
		goto out;
	/* A file that came to be there meanwhile is not replaced either. */
	if (renameat2(t->folder, t->temporary, t->folder, t->leaf, t->force ? 0 : RENAME_NOREPLACE) != 0 &&
	    (errno != EINVAL || linkat(t->folder, t->temporary, t->folder, t->leaf, 0) != 0 ||
	     unlinkat(t->folder, t->temporary, 0) != 0)) {
		r = fault_errno(why, "cannot give %.150s its name", t->path);
		goto out;
	}
	t->temporary[0] = '\0';
	if (sync_folder(t->folder, ".") < 0)
		r = fault_errno(why, "cannot bring the folder of %.150s to disk", t->path);
	else
		r = check_alone(t, why);
out:
	target_discard(t);
	return r;
}

int write_all(int fd, const void *bytes, size_t n)
{
	const char *at = bytes;

	while (n > 0) {
		ssize_t done = write(fd, at, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return -1;
		at += done;
		n -= (size_t)done;
	}
	return 0;
}

int output_write(const char *path, const void *bytes, size_t n, bool force, mode_t mode, struct fault *why)
{
	struct target t;
	int r = target_open(&t, path, force, mode, why);

	if (r < 0)
		return r;
	if (write_all(t.fd, bytes, n) == 0)
		return target_commit(&t, why);
	r = fault_errno(why, "cannot write %.150s", path);
	target_discard(&t);
	return r;
}
