/* SPDX-License-Identifier: Apache-2.0 */
#include "format/source.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Takes `fd`, also when it fails. */
static int take_fd(struct source *src, int fd, struct fault *why)
{
	struct stat st;

	if (fstat(fd, &st) < 0) {
		fault_errno(why, "cannot inspect the capture");
		goto refuse;
	}
	if (!S_ISREG(st.st_mode)) {
		fault_set(why, ERR_INPUT, FAULT_NOWHERE, "not a regular file but %s; name the capture file itself",
			  S_ISDIR(st.st_mode)    ? "a directory"
			  : S_ISFIFO(st.st_mode) ? "a pipe"
						 : "a device or socket");
		goto refuse;
	}
	/* Mostly from front to back. Not mapped: what is cut off meanwhile is an error then, and not a signal. */
	(void)posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	*src = (struct source){.fd = fd, .size = (uint64_t)st.st_size};
	return 0;
refuse:
	close(fd);
	return why ? (int)why->code : ERR_IO;
}

int source_open_file(struct source *src, const char *path, struct fault *why)
{
	/* O_NONBLOCK: a pipe without a writer would hold us here for ever. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

	return fd < 0 ? fault_errno(why, "cannot open the capture") : take_fd(src, fd, why);
}

int source_open_fd(struct source *src, int fd, struct fault *why)
{
	int own = fcntl(fd, F_DUPFD_CLOEXEC, 3);

	return own < 0 ? fault_errno(why, "cannot read the capture that is open") : take_fd(src, own, why);
}

void source_open_memory(struct source *src, const uint8_t *bytes, uint64_t size)
{
	*src = (struct source){.fd = -1, .mem = bytes, .size = size};
}

void source_close(struct source *src)
{
	/* A zeroed source is none: descriptor 0 is never ours (tool_init() keeps it taken). */
	if (src->fd > 0)
		close(src->fd);
	*src = (struct source){.fd = -1};
}

int source_read(const struct source *src, uint64_t offset, void *buf, size_t n, struct fault *why)
{
	uint8_t *to = buf;

	if (offset > src->size || n > src->size - offset)
		return fault_set(why, ERR_CUT, offset, "the file ends at byte %llu, %zu bytes were needed from here",
				 (unsigned long long)src->size, n);
	if (src->fd < 0) {
		if (n)
			memcpy(to, src->mem + offset, n);
		return 0;
	}
	while (n > 0) {
		ssize_t got = pread(src->fd, to, n, (off_t)offset);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return fault_errno(why, "cannot read the capture");
		if (got == 0)
			return fault_set(why, ERR_IO, offset, "the file became shorter while it was read");
		to += got;
		offset += (uint64_t)got;
		n -= (size_t)got;
	}
	return 0;
}
