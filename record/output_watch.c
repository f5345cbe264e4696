/* SPDX-License-Identifier: Apache-2.0 */
#include "record/output_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void output_watch_release(struct output_watch *o)
{
	if (o->held)
		close(o->fd);
	memset(o, 0, sizeof(*o));
}

void output_watch_hold(struct output_watch *o, const char *path)
{
	struct stat st;
	int fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	output_watch_release(o);
	if (fd < 0)
		return;
	if (fstat(fd, &st) < 0) {
		close(fd);
		return;
	}
	*o = (struct output_watch){.held = true, .fd = fd, .device = st.st_dev, .inode = st.st_ino};
}

const char *output_watch_problem(struct output_watch *o, const char *path)
{
	struct stat held, named;
	const char *text = NULL;

	if (o->problem[0])
		return o->problem;
	if (!o->held || fstat(o->fd, &held) < 0)
		return NULL;
	if (held.st_nlink == 0)
		text = "was removed while it was recorded";
	else if (lstat(path, &named) < 0)
		text = errno == ENOENT || errno == ENOTDIR ? "was renamed while it was recorded" : NULL;
	else if (named.st_dev != o->device || named.st_ino != o->inode)
		text = "was renamed while it was recorded, and another file has its name";
	if (!text)
		return NULL;
	(void)snprintf(o->problem, sizeof(o->problem), "%s", text);
	return o->problem;
}
