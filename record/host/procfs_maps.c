/* SPDX-License-Identifier: Apache-2.0 */
/* The part of procfs.h that reads /proc/PID/maps and opens what is mapped. */
#include "record/host/procfs_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

dev_t mapping_device(const struct mapping *m)
{
	return makedev(m->dev_major, m->dev_minor);
}

/* "r-xp" */
static bool take_prot(const char **p, const char *end, struct mapping *m)
{
	static const struct {
		char letter;
		int prot;
	} bits[] = {{'r', PROT_READ}, {'w', PROT_WRITE}, {'x', PROT_EXEC}};

	m->prot = PROT_NONE;
	for (size_t i = 0; i < sizeof(bits) / sizeof(bits[0]); i++) {
		if (procfs_take_char(p, end, bits[i].letter))
			m->prot |= bits[i].prot;
		else if (!procfs_take_char(p, end, '-'))
			return false;
	}
	m->shared = procfs_take_char(p, end, 's');
	return m->shared || procfs_take_char(p, end, 'p');
}

/* "7f00-7f01 r-xp 0000 08:01 99": what stands before the path. */
static bool take_numbers(const char **p, const char *end, struct mapping *m)
{
	uint64_t major, minor;

	if (!procfs_take_number(p, end, 16, UINT64_MAX, &m->start) || !procfs_take_char(p, end, '-') ||
	    !procfs_take_number(p, end, 16, UINT64_MAX, &m->end) || !procfs_take_char(p, end, ' ') ||
	    !take_prot(p, end, m) || !procfs_take_char(p, end, ' ') ||
	    !procfs_take_number(p, end, 16, UINT64_MAX, &m->offset) || !procfs_take_char(p, end, ' ') ||
	    !procfs_take_number(p, end, 16, UINT32_MAX, &major) || !procfs_take_char(p, end, ':') ||
	    !procfs_take_number(p, end, 16, UINT32_MAX, &minor) || !procfs_take_char(p, end, ' ') ||
	    !procfs_take_number(p, end, 10, UINT64_MAX, &m->inode))
		return false;
	m->dev_major = (uint32_t)major;
	m->dev_minor = (uint32_t)minor;
	m->mount_namespace = 0;
	/* So that no caller's sum of an offset and a distance can wrap round. */
	return m->start < m->end && m->end - m->start <= UINT64_MAX - m->offset;
}

/* The path, its "\012" decoded, as far as there is room. */
static void copy_path(struct mapping *m, const char *s, size_t len)
{
	size_t used = 0;

	m->deleted = len && s[0] == '/' && procfs_take_deleted(s, &len);
	m->path_cut = false;
	for (size_t i = 0; i < len; i++) {
		char c = s[i];

		if (used == sizeof(m->path) - 1) {
			m->path_cut = true;
			break;
		}
		if (c == '\\' && len - i >= 4 && memcmp(s + i, "\\012", 4) == 0) {
			c = '\n';
			i += 3;
		}
		m->path[used++] = c;
	}
	m->path[used] = '\0';
}

int mapping_parse(struct mapping *m, const char *line, size_t len, struct fault *why)
{
	const char *p = line, *end = line + len;

	if (!take_numbers(&p, end, m) || (p < end && *p != ' '))
		return fault_set(why, ERR_FORMAT, FAULT_NOWHERE, "a line of maps is not as expected");
	while (procfs_take_char(&p, end, ' '))
		;
	if (memchr(p, '\0', (size_t)(end - p)))
		return fault_set(why, ERR_FORMAT, FAULT_NOWHERE, "a line of maps has a NUL in its path");
	copy_path(m, p, (size_t)(end - p));
	return 0;
}

int procfs_maps_open(struct procfs_maps *maps, const struct procfs *fs, uint32_t pid, struct fault *why)
{
	char name[PROCFS_NAME_ROOM];

	snprintf(name, sizeof(name), "%" PRIu32 "/ns/mnt", pid);
	maps->mount_namespace = procfs_namespace(fs->root_fd, name);
	snprintf(name, sizeof(name), "%" PRIu32 "/maps", pid);
	maps->pid = pid;
	maps->nlines = 0;
	maps->at = maps->len = 0;
	maps->ended = false;
	maps->fd = openat(fs->root_fd, name, O_RDONLY | O_CLOEXEC);
	return maps->fd >= 0 ? 1 : procfs_gone_or_fault(pid, "maps", why);
}

void procfs_maps_close(struct procfs_maps *maps)
{
	if (maps && maps->fd >= 0) {
		close(maps->fd);
		maps->fd = -1;
	}
}

/* More bytes behind those that are not yet used. 0, or an error; sets `ended`. */
static int refill(struct procfs_maps *maps, struct fault *why)
{
	ssize_t n;

	memmove(maps->buf, maps->buf + maps->at, maps->len - maps->at);
	maps->len -= maps->at;
	maps->at = 0;
	n = procfs_read_some(maps->fd, maps->buf + maps->len, sizeof(maps->buf) - maps->len);
	if (n < 0) {
		int err = procfs_gone_or_fault(maps->pid, "maps", why);

		if (err < 0)
			return err;
		n = 0;
	}
	maps->ended = n == 0;
	maps->len += (size_t)n;
	return 0;
}

/* The next line: 1 with its length and whether it is only the start of one that is too long; 0 at the end. */
static int next_line(struct procfs_maps *maps, const char **line, size_t *len, bool *cut, struct fault *why)
{
	for (;;) {
		size_t have = maps->len - maps->at;
		const char *start = maps->buf + maps->at;
		const char *newline = memchr(start, '\n', have);
		int err;

		if (newline || maps->ended || have == sizeof(maps->buf)) {
			if (have == 0)
				return 0;
			*line = start;
			*cut = !newline && !maps->ended;
			*len = newline ? (size_t)(newline - start) : have;
			maps->at += *len + (newline ? 1 : 0);
			maps->nlines++;
			return 1;
		}
		err = refill(maps, why);
		if (err)
			return err;
	}
}

/* Leave out the rest of a line whose start has been used. */
static int skip_line(struct procfs_maps *maps, struct fault *why)
{
	while (!maps->ended) {
		const char *start = maps->buf + maps->at;
		const char *newline = memchr(start, '\n', maps->len - maps->at);
		int err;

		if (newline) {
			maps->at += (size_t)(newline - start) + 1;
			return 0;
		}
		maps->at = maps->len;
		err = refill(maps, why);
		if (err)
			return err;
	}
	return 0;
}

int procfs_maps_next(struct procfs_maps *maps, struct mapping *m, struct fault *why)
{
	const char *line = NULL;
	size_t len = 0;
	bool cut = false;
	int r;

	if (maps->fd < 0)
		return 0;
	r = next_line(maps, &line, &len, &cut, why);
	if (r <= 0)
		return r;
	if (mapping_parse(m, line, len, NULL) < 0)
		return fault_set(why, ERR_FORMAT, FAULT_NOWHERE,
				 "line %" PRIu64 " of maps of process %" PRIu32 " is not as expected", maps->nlines,
				 maps->pid);
	m->mount_namespace = maps->mount_namespace;
	if (cut) {
		m->path_cut = true;
		r = skip_line(maps, why);
		if (r < 0)
			return r;
	}
	return 1;
}

/* From <linux/fs.h> of 6.11. */
struct procmap_query {
	uint64_t size, flags, address;
	uint64_t start, end, prot, page_bytes, offset, inode;
	uint32_t dev_major, dev_minor, name_bytes, build_id_bytes;
	uint64_t name, build_id;
};
#define PROCMAP_QUERY _IOWR('f', 17, struct procmap_query)
#define PROCMAP_READABLE 1
#define PROCMAP_WRITABLE 2
#define PROCMAP_EXECUTABLE 4
#define PROCMAP_SHARED 8

/* 1; 0: there is none; -1: this kernel cannot be asked so, or the name is too long for it. */
static int query(int fd, uint64_t address, struct mapping *m)
{
	char name[PROCFS_PATH_MAX];
	struct procmap_query q = {.size = sizeof(q), .address = address, .name_bytes = sizeof(name)};
	size_t len;

	q.name = (uintptr_t)name;
	if (ioctl(fd, PROCMAP_QUERY, &q) < 0)
		return errno == ENOENT || errno == ESRCH ? 0 : -1;
	len = q.name_bytes ? q.name_bytes - 1 : 0;
	m->start = q.start;
	m->end = q.end;
	m->offset = q.offset;
	m->inode = q.inode;
	m->dev_major = q.dev_major;
	m->dev_minor = q.dev_minor;
	m->prot = (q.prot & PROCMAP_READABLE ? PROT_READ : 0) | (q.prot & PROCMAP_WRITABLE ? PROT_WRITE : 0) |
		  (q.prot & PROCMAP_EXECUTABLE ? PROT_EXEC : 0);
	m->shared = q.prot & PROCMAP_SHARED;
	m->path_cut = false;
	m->deleted = len && name[0] == '/' && procfs_take_deleted(name, &len);
	memcpy(m->path, name, len);
	m->path[len] = '\0';
	return m->start < m->end && m->end - m->start <= UINT64_MAX - m->offset ? 1 : -1;
}

int procfs_mapping_at(const struct procfs *fs, uint32_t pid, uint64_t address, struct procfs_maps *maps,
		      struct mapping *m, struct fault *why)
{
	int found, r = procfs_maps_open(maps, fs, pid, why);

	if (r <= 0)
		return r;
	found = query(maps->fd, address, m);
	m->mount_namespace = maps->mount_namespace;
	while (found < 0 && (r = procfs_maps_next(maps, m, why)) > 0)
		if (address < m->end) {
			found = address >= m->start;
			break;
		}
	procfs_maps_close(maps);
	return r < 0 ? r : found > 0;
}

/* errno values that say: not there, or not there under this name. */
static bool is_absent(int error)
{
	return error == ENOENT || error == ESRCH || error == ENOTDIR || error == ENAMETOOLONG || error == ELOOP ||
	       error == ESTALE || error == ENXIO;
}

/* What /proc says of a descriptor of ours: the path from our root, as maps writes it. */
static bool link_says(int fd, const struct mapping *m)
{
	char name[PROCFS_NAME_ROOM], text[PROCFS_PATH_MAX + sizeof(PROCFS_DELETED)];
	size_t len;
	ssize_t n;

	snprintf(name, sizeof(name), PROCFS_ROOT "/self/fd/%d", fd);
	n = readlink(name, text, sizeof(text));
	if (n <= 0 || (size_t)n == sizeof(text) || m->path_cut)
		return false;
	len = (size_t)n;
	return procfs_take_deleted(text, &len) == m->deleted && len == strlen(m->path) &&
	       memcmp(text, m->path, len) == 0;
}

/*
 * One name to try. 1 opened; 0 not there or another file; else an error. It is inspected before it is opened: opening
 * a device or a pipe can do something.
 */
static int try_open(int dir_fd, const char *name, const struct mapping *m, bool by_kernel, int *fd, struct fault *why)
{
	char again[PROCFS_NAME_ROOM];
	struct stat st;
	int err = 0, got = -1;
	int handle = openat(dir_fd, name, O_PATH | O_CLOEXEC);

	if (handle < 0)
		return is_absent(errno) ? 0 : fault_errno(why, "cannot open a file that a process has mapped");
	if (fstat(handle, &st) != 0) {
		err = is_absent(errno) ? 0 : fault_errno(why, "cannot inspect a file that a process has mapped");
		goto out;
	}
	if (!S_ISREG(st.st_mode))
		goto out;
	if (st.st_ino != m->inode || (!by_kernel && st.st_dev != mapping_device(m))) {
		if (!by_kernel || !link_says(handle, m))
			goto out;
	}
	snprintf(again, sizeof(again), PROCFS_ROOT "/self/fd/%d", handle);
	got = open(again, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOATIME);
	if (got < 0 && errno == EPERM) /* O_NOATIME is for the owner; that we leave no trace is a courtesy */
		got = open(again, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (got < 0) {
		err = is_absent(errno) ? 0 : fault_errno(why, "cannot open a file that a process has mapped");
		goto out;
	}
	*fd = got;
	err = 1;
out:
	close(handle);
	return err;
}

/* The names by which the file may be reached, best first: see procfs_open_mapped(). */
static size_t list_names(char names[][PROCFS_PATH_MAX + 32], const struct mapping *m)
{
	size_t n = 0, room = sizeof(names[0]);

	snprintf(names[n++], room, "map_files/%" PRIx64 "-%" PRIx64, m->start, m->end);
	if (m->path[0] != '/' || m->path_cut)
		return n;
	snprintf(names[n++], room, "root%s", m->path);
	snprintf(names[n++], room, "%s", m->path);
	if (m->deleted) /* or it is really called so */
		snprintf(names[n++], room, "root%s%s", m->path, PROCFS_DELETED);
	return n;
}

int procfs_open_mapped(const struct procfs *fs, uint32_t pid, const struct mapping *m, int *fd, struct fault *why)
{
	char names[4][PROCFS_PATH_MAX + 32];
	struct fault first = {.code = ERR_NONE};
	int dir_fd = -1, r;
	size_t n;

	if (m->inode == 0)
		return 0;
	r = procfs_open_process(fs, pid, &dir_fd, why);
	if (r <= 0)
		return r;
	n = list_names(names, m);
	for (size_t i = 0; i < n; i++) {
		struct fault fault;

		r = try_open(dir_fd, names[i], m, i == 0, fd, &fault);
		if (r > 0)
			break;
		if (r < 0 && first.code == ERR_NONE)
			first = fault;
	}
	close(dir_fd);
	if (r <= 0 && first.code != ERR_NONE) {
		if (why)
			*why = first;
		return first.code;
	}
	return r;
}
