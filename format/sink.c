/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/writer.h"
#include "format/base/output_file.h"

struct file_sink {
	int fd;
};

static int file_write(void *self, const void *buf, size_t n, struct fault *why)
{
	const struct file_sink *file = self;

	return write_all(file->fd, buf, n) < 0 ? fault_errno(why, "cannot write the capture") : 0;
}

static int file_sync(void *self, struct fault *why)
{
	const struct file_sink *file = self;

	if (fdatasync(file->fd) < 0)
		return fault_errno(why, "cannot bring the capture to disk");
	return 0;
}

static void file_close(void *self)
{
	struct file_sink *file = self;

	close(file->fd); /* all that counts has been synced */
	free(file);
}

static int remove_old(const char *path, struct fault *why)
{
	struct stat st;

	if (lstat(path, &st) < 0) {
		if (errno == ENOENT)
			return 0;
		return fault_errno(why, "cannot inspect the output");
	}
	if (!S_ISREG(st.st_mode))
		return fault_set(why, ERR_EXISTS, FAULT_NOWHERE, "the output exists and is not a regular file");
	if (unlink(path) < 0)
		return fault_errno(why, "cannot remove the old output");
	return 0;
}

#define CAPTURE_MODE 0640

/* Takes `fd`, also when it fails. */
static int take_fd(struct sink *sink, int fd, struct fault *why)
{
	struct file_sink *file = malloc(sizeof(*file));

	if (!file) {
		close(fd);
		return fault_no_memory(why);
	}
	file->fd = fd;
	*sink = (struct sink){file_write, file_sync, file_close, file};
	return 0;
}

int sink_open_file(struct sink *sink, const char *path, bool force, struct fault *why)
{
	int fd, r = force ? remove_old(path, why) : 0;

	if (r < 0)
		return r;
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY, CAPTURE_MODE);
	if (fd < 0 && errno == EEXIST)
		return fault_set(why, ERR_EXISTS, FAULT_NOWHERE,
				 "the output exists already; choose another name, or give --force to replace it");
	if (fd < 0)
		return fault_errno(why, "cannot make the output");
	if (sync_folder_of(path) == 0) {
		r = take_fd(sink, fd, why);
	} else {
		r = fault_errno(why, "cannot bring the folder of the capture to disk");
		close(fd);
	}
	if (r < 0)
		unlink(path);
	return r;
}

int sink_open_fd(struct sink *sink, int fd, struct fault *why)
{
	struct stat st;
	int own;

	if (fstat(fd, &st) < 0 || fchmod(fd, st.st_mode & CAPTURE_MODE) < 0)
		return fault_errno(why, "cannot set the output's permissions");
	own = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	return own < 0 ? fault_errno(why, "cannot write the output") : take_fd(sink, own, why);
}
