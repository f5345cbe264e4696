// SPDX-License-Identifier: Apache-2.0
#include "analyze/report/report_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static int refuse(const char *path, struct fault *why)
{
	return fault_set(why, ERR_EXISTS, FAULT_NOWHERE, "%s is there already; --force replaces it", path);
}

int output_check(const char *path, bool force, struct fault *why)
{
	struct stat st;

	if (lstat(path, &st)) {
		if (errno == ENOENT)
			return 0;
		return fault_errno(why, "cannot write %s", path);
	}
	if (!force)
		return refuse(path, why);
	if (!S_ISREG(st.st_mode))
		return fault_set(why, ERR_EXISTS, FAULT_NOWHERE,
				 "%s is not a regular file and is not replaced; name another file", path);
	return 0;
}

static int write_all(int fd, const char *bytes, size_t n)
{
	while (n > 0) {
		ssize_t done = write(fd, bytes, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return -1;
		bytes += done;
		n -= (size_t)done;
	}
	return 0;
}

int output_write(const char *path, const char *bytes, size_t n, bool force, mode_t mode, struct fault *why)
{
	char *temporary = NULL;
	int fd = -1, r = force ? output_check(path, force, why) : 0;

	if (r < 0)
		return r;
	if (asprintf(&temporary, "%s.%ld.tmp", path, (long)getpid()) < 0)
		return fault_no_memory(why);
	fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
	if (fd < 0) {
		r = fault_errno(why, "cannot write %s", path);
		goto out;
	}
	if (write_all(fd, bytes, n) || fsync(fd)) {
		r = fault_errno(why, "cannot write %s", path);
		goto undo;
	}
	r = close(fd) ? fault_errno(why, "cannot write %s", path) : 0;
	fd = -1;
	if (r < 0)
		goto undo;
	if (renameat2(AT_FDCWD, temporary, AT_FDCWD, path, force ? 0 : RENAME_NOREPLACE)) {
		r = errno == EEXIST ? refuse(path, why) : fault_errno(why, "cannot write %s", path);
		goto undo;
	}
	goto out;
undo:
	unlink(temporary); /* whatever it says: the first error is the one to report */
out:
	if (fd >= 0)
		close(fd);
	free(temporary);
	return r;
}
