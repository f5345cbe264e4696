/* SPDX-License-Identifier: Apache-2.0 */
/* The part of procfs.h that reads who listens for TCP connections. The kernel lists those who listen first. */
#include "record/host/procfs_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LISTENERS_ROOM 65536 /* bytes of either list that are read: about 400 that listen */
#define STATE_LISTEN 0x0a    /* TCP_LISTEN of the kernel */

/* "   0: 0100007F:1F90 00000000:0000 0A ...": local address and port, the peer's, state. False: another line. */
static bool take_socket(const char *line, unsigned *port, unsigned *state)
{
	return sscanf(line, " %*u: %*32[0-9A-F]:%4x %*32[0-9A-F]:%*4x %2x ", port, state) == 2;
}

/* 1: somebody does, 0: nobody; negative: not known. */
static int listens_in(int dir_fd, uint32_t pid, const char *name, uint16_t port, char *text)
{
	const char *line, *end;
	unsigned at, state;
	size_t len;

	if (procfs_read_start(dir_fd, pid, name, text, LISTENERS_ROOM, &len, NULL) <= 0)
		return -1;
	line = memchr(text, '\n', len);
	for (line = line ? line + 1 : text + len; line < text + len; line = end + 1) {
		end = memchr(line, '\n', (size_t)(text + len - line));
		if (!end)
			return len < LISTENERS_ROOM - 1 ? 0 : -1;
		if (!take_socket(line, &at, &state) || state != STATE_LISTEN)
			return 0;
		if (at == port)
			return 1;
	}
	return 0;
}

int procfs_listens(const struct procfs *fs, uint32_t pid, uint16_t port)
{
	char *text = malloc(LISTENERS_ROOM);
	int fd = -1, four = -1, six = -1;

	if (text && procfs_open_process(fs, pid, &fd, NULL) > 0) {
		four = listens_in(fd, pid, "net/tcp", port, text);
		six = four > 0 ? 0 : listens_in(fd, pid, "net/tcp6", port, text);
		/* Of a kernel without IPv6 there is no such list. */
		if (six < 0 && faccessat(fd, "net/tcp6", F_OK, 0) != 0)
			six = 0;
		close(fd);
	}
	free(text);
	return four > 0 || six > 0 ? 1 : four < 0 || six < 0 ? -1 : 0;
}
