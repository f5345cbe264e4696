/* SPDX-License-Identifier: Apache-2.0 */
#include "keys/files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "keys/strict_path.h"
#include "format/base/output_file.h"

#define FOLDER_MODE 0755

static int check_kind(const char *path, int fd, enum file_secrecy secrecy, size_t size, struct fault *why)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return fault_errno(why, "%.150s: cannot be examined", path);
	if (!S_ISREG(st.st_mode))
		return fault_set(why, ERR_KEY, FAULT_NOWHERE, "%.150s: not a regular file, so no key file", path);
	if (secrecy == FILE_SECRET && (st.st_mode & (S_IRWXG | S_IRWXO)))
		return fault_set(why, ERR_KEY, FAULT_NOWHERE,
				 "%.90s: others may read this secret key; run: chmod 600 %.90s", path, path);
	if (st.st_size < 0 || (uint64_t)st.st_size > size)
		return fault_set(why, ERR_KEY, FAULT_NOWHERE, "%.150s: too large for a key file (%lld bytes)", path,
				 (long long)st.st_size);
	return 0;
}

static int open_secret(const char *path, int flags, struct fault *why)
{
	int fd = strict_open(path, flags, 0, "this secret key", why);

	if (fd == ERR_IO && errno == ELOOP)
		return fault_set(why, ERR_KEY, FAULT_NOWHERE, "%.150s: a link; name the secret key file itself", path);
	return fd;
}

int file_fill(int fd, const char *path, void *buf, size_t size, size_t *len, struct fault *why)
{
	size_t have = 0;
	ssize_t n = 1;

	while (n != 0 && have < size) {
		n = read(fd, (char *)buf + have, size - have);
		if (n > 0)
			have += (size_t)n;
		else if (n < 0 && errno != EINTR)
			return fault_errno(why, "%.150s: cannot be read", path);
	}
	*len = have;
	return 0;
}

size_t file_lines(char *text, size_t len)
{
	static const char mark[] = {'\xef', '\xbb', '\xbf'};
	size_t at = len >= sizeof(mark) && memcmp(text, mark, sizeof(mark)) == 0 ? sizeof(mark) : 0, n = 0;

	for (; at < len; at++)
		if (text[at] != '\r' || (at + 1 < len && text[at + 1] != '\n'))
			text[n++] = text[at];
	sodium_memzero(text + n, len - n); /* it may have been of a secret key */
	return n;
}

int file_read(const char *path, enum file_secrecy secrecy, char *buf, size_t size, size_t *len, struct fault *why)
{
	/* Not to hang on a FIFO, nor to adopt a terminal, before fstat() shows what it is. */
	int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | (secrecy == FILE_SECRET ? O_NOFOLLOW : 0);
	int r, fd = secrecy == FILE_SECRET ? open_secret(path, flags, why) : open(path, flags);

	if (fd < 0)
		return secrecy == FILE_SECRET ? fd : fault_errno(why, "%.150s: cannot be opened", path);
	r = check_kind(path, fd, secrecy, size, why);
	if (r == 0)
		r = file_fill(fd, path, buf, size, len, why);
	if (r == 0)
		*len = file_lines(buf, *len);
	close(fd);
	return r;
}

/* Give `temp` its name, which must not be taken. 0, or -1 with errno. */
static int rename_to_new(const char *temp, const char *path)
{
	if (renameat2(AT_FDCWD, temp, AT_FDCWD, path, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -1;
	/* A file system (NFS) that cannot: a second name, then away with the first. */
	if (link(temp, path) < 0)
		return -1;
	return unlink(temp);
}

int file_beside(char beside[PATH_MAX], const char *path, const char *suffix, struct fault *why)
{
	if (snprintf(beside, PATH_MAX, "%s%s", path, suffix) >= PATH_MAX)
		return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "%.100s...: the path is too long", path);
	return 0;
}

const char *file_leaf(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

size_t file_stem(const char *name, const char *suffix)
{
	size_t len = strlen(name), cut = strlen(suffix);

	return len > cut && strcmp(name + len - cut, suffix) == 0 ? len - cut : len;
}

void file_folder(char folder[PATH_MAX], const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		strcpy(folder, ".");
	else
		snprintf(folder, PATH_MAX, "%.*s", slash == path ? 1 : (int)(slash - path), path);
}

int file_make(const char *path, mode_t mode, bool replace, const void *bytes, size_t len, struct fault *why)
{
	char folder[PATH_MAX], temp[PATH_MAX + NAME_MAX];
	int fd, r;

	if (strlen(path) >= PATH_MAX)
		return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "%.100s...: the path is too long", path);
	file_folder(folder, path);
	/* The dot keeps a half-written file out of the trust store. */
	snprintf(temp, sizeof(temp), "%s/.%.200s.XXXXXX", folder, file_leaf(path));
	fd = mkostemp(temp, O_CLOEXEC);
	if (fd < 0)
		return fault_errno(why, "%.150s: cannot be made", path);
	r = write_all(fd, bytes, len);
	if (r == 0)
		r = fchmod(fd, mode);
	if (r == 0)
		r = fsync(fd);
	if (close(fd) < 0)
		r = -1;
	if (r == 0)
		r = replace ? rename(temp, path) : rename_to_new(temp, path);
	if (r == 0)
		r = sync_folder_of(path);
	if (r < 0) {
		r = fault_errno(why, "%.150s: cannot be written", path);
		unlink(temp); /* gone already when only the last step failed */
	}
	return r;
}

int file_make_folders(const char *path, struct fault *why)
{
	char folder[PATH_MAX];
	const char *slash;

	for (slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		if (slash - path >= PATH_MAX)
			return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "%.100s...: the path is too long", path);
		snprintf(folder, sizeof(folder), "%.*s", (int)(slash - path), path);
		if (mkdir(folder, FOLDER_MODE) == 0) {
			/* Against the umask: others are to read the public keys. */
			if (chmod(folder, FOLDER_MODE) < 0)
				return fault_errno(why, "%.150s: cannot be opened to readers", folder);
		} else if (errno != EEXIST) {
			return fault_errno(why, "the folder %.150s cannot be made", folder);
		}
	}
	return 0;
}
