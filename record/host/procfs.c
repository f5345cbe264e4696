/* SPDX-License-Identifier: Apache-2.0 */
#include "record/host/procfs_internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define STAT_ROOM 4096 /* stat is shorter; what we want of status stands well before its list of groups */

int procfs_open(struct procfs *fs, const char *root, struct fault *why)
{
	long hz = sysconf(_SC_CLK_TCK);
	int fd;

	if (hz <= 0 || hz > 1000000000)
		return fault_set(why, ERR_IO, FAULT_NOWHERE, "the system does not report its clock tick");
	fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return fault_errno(why, "cannot open the proc filesystem");
	fs->root_fd = fd;
	kernel_clock_open(&fs->clock, fd);
	fs->ns_per_tick = 1000000000ULL / (uint64_t)hz;
	return 0;
}

void procfs_close(struct procfs *fs)
{
	if (fs && fs->ns_per_tick) {
		close(fs->root_fd);
		fs->ns_per_tick = 0;
	}
}

static bool is_gone(int error)
{
	return error == ENOENT || error == ESRCH;
}

int procfs_gone_or_fault(uint32_t pid, const char *what, struct fault *why)
{
	if (is_gone(errno))
		return 0;
	return fault_errno(why, "cannot read %s of process %" PRIu32, what, pid);
}

int procfs_open_process(const struct procfs *fs, uint32_t pid, int *fd, struct fault *why)
{
	char name[PROCFS_NAME_ROOM];
	int got;

	snprintf(name, sizeof(name), "%" PRIu32, pid);
	got = openat(fs->root_fd, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (got < 0)
		return procfs_gone_or_fault(pid, "the folder", why);
	*fd = got;
	return 1;
}

ssize_t procfs_read_some(int fd, char *buf, size_t size)
{
	ssize_t n;

	do
		n = read(fd, buf, size);
	while (n < 0 && errno == EINTR);
	return n;
}

int procfs_read_start(int dir_fd, uint32_t pid, const char *name, char *buf, size_t size, size_t *len,
		      struct fault *why)
{
	int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC);
	size_t have = 0;
	ssize_t n = 0;
	int err = 1;

	if (fd < 0)
		return procfs_gone_or_fault(pid, name, why);
	while (have < size - 1 && (n = procfs_read_some(fd, buf + have, size - 1 - have)) > 0)
		have += (size_t)n;
	if (n < 0)
		err = procfs_gone_or_fault(pid, name, why);
	else if (have == 0)
		err = 0;
	close(fd);
	if (err > 0) {
		buf[have] = '\0';
		*len = have;
	}
	return err;
}

bool procfs_take_number(const char **p, const char *end, unsigned base, uint64_t max, uint64_t *out)
{
	const char *s = *p;
	uint64_t v = 0;

	for (; s < end; s++) {
		unsigned digit;

		if (*s >= '0' && *s <= '9')
			digit = (unsigned)(*s - '0');
		else if (base == 16 && *s >= 'a' && *s <= 'f')
			digit = (unsigned)(*s - 'a') + 10;
		else
			break;
		if (v > (max - digit) / base)
			return false;
		v = v * base + digit;
	}
	if (s == *p)
		return false;
	*p = s;
	*out = v;
	return true;
}

bool procfs_take_char(const char **p, const char *end, char c)
{
	if (*p >= end || **p != c)
		return false;
	++*p;
	return true;
}

#define STAT_PPID 1   /* fields after the name, counted from 0 */
#define STAT_START 19 /* "starttime" */

/* The fields after "(comm)". The name may hold anything, also ") R 1": it ends at the last ')'. */
static bool parse_stat(const struct procfs *fs, const char *buf, size_t len, struct process_info *info)
{
	const char *open = memchr(buf, '(', len), *close = memrchr(buf, ')', len);
	const char *p, *end = buf + len;
	uint64_t v;
	size_t n;

	p = buf;
	if (!open || !close || close < open || !procfs_take_number(&p, end, 10, UINT32_MAX, &v))
		return false;
	info->tid = (uint32_t)v;
	n = (size_t)(close - open) - 1;
	if (n > sizeof(info->comm) - 1)
		n = sizeof(info->comm) - 1;
	memcpy(info->comm, open + 1, n);
	memset(info->comm + n, 0, sizeof(info->comm) - n);

	p = close + 1;
	if (!procfs_take_char(&p, end, ' ') || p >= end)
		return false;
	info->state = *p;
	for (n = 0; n < STAT_START; n++) {
		p = memchr(p, ' ', (size_t)(end - p));
		if (!p)
			return false;
		p++;
		if (n + 1 == STAT_PPID) {
			if (!procfs_take_number(&p, end, 10, UINT32_MAX, &v))
				return false;
			info->ppid = (uint32_t)v;
		}
	}
	/* The blank behind it says that it is whole. */
	if (!procfs_take_number(&p, end, 10, UINT64_MAX / fs->ns_per_tick, &v) || !procfs_take_char(&p, end, ' '))
		return false;
	info->start_ns = v * fs->ns_per_tick - (uint64_t)fs->clock.boot_ns;
	return true;
}

/* The number after "\nKey:\t". The name, in the first line, has its newlines escaped. */
static bool status_number(const char *buf, size_t len, const char *key, uint32_t *out)
{
	const char *p = memmem(buf, len, key, strlen(key));
	uint64_t v;

	if (!p)
		return false;
	p += strlen(key);
	if (!procfs_take_number(&p, buf + len, 10, UINT32_MAX, &v))
		return false;
	*out = (uint32_t)v;
	return true;
}

static int read_info(const struct procfs *fs, int dir_fd, uint32_t id, struct process_info *out, struct fault *why)
{
	struct process_info info;
	char buf[STAT_ROOM];
	size_t len;
	int r;

	memset(&info, 0, sizeof(info));
	r = procfs_read_start(dir_fd, id, "stat", buf, sizeof(buf), &len, why);
	if (r <= 0)
		return r;
	if (!parse_stat(fs, buf, len, &info))
		return fault_set(why, ERR_FORMAT, FAULT_NOWHERE, "stat of process %" PRIu32 " is not as expected", id);
	r = procfs_read_start(dir_fd, id, "status", buf, sizeof(buf), &len, why);
	if (r <= 0)
		return r;
	if (!status_number(buf, len, "\nTgid:\t", &info.pid) || !status_number(buf, len, "\nUid:\t", &info.uid))
		return fault_set(why, ERR_FORMAT, FAULT_NOWHERE, "status of process %" PRIu32 " is not as expected",
				 id);
	*out = info;
	return 1;
}

int procfs_process(const struct procfs *fs, uint32_t pid, struct process_info *info, struct fault *why)
{
	int fd = -1, r;

	r = procfs_open_process(fs, pid, &fd, why);
	if (r <= 0)
		return r;
	r = read_info(fs, fd, pid, info, why);
	close(fd);
	return r;
}

int procfs_thread(const struct procfs *fs, uint32_t pid, uint32_t tid, struct process_info *info, struct fault *why)
{
	char name[PROCFS_NAME_ROOM];
	int fd;
	int r;

	snprintf(name, sizeof(name), "%" PRIu32 "/task/%" PRIu32, pid, tid);
	fd = openat(fs->root_fd, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return procfs_gone_or_fault(pid, "a thread", why);
	r = read_info(fs, fd, tid, info, why);
	close(fd);
	return r;
}

bool procfs_same_start(const struct procfs *fs, uint64_t a_ns, uint64_t b_ns)
{
	uint64_t ahead_ns = (uint64_t)fs->clock.boot_ns; /* ticks are those of our clock */

	return (a_ns + ahead_ns) / fs->ns_per_tick == (b_ns + ahead_ns) / fs->ns_per_tick;
}

bool procfs_take_deleted(const char *path, size_t *len)
{
	size_t n = sizeof(PROCFS_DELETED) - 1;

	if (*len <= n || memcmp(path + *len - n, PROCFS_DELETED, n) != 0)
		return false;
	*len -= n;
	return true;
}

int procfs_exe(const struct procfs *fs, uint32_t pid, char *path, size_t size, bool *deleted, struct fault *why)
{
	char name[PROCFS_NAME_ROOM], text[PROCFS_PATH_MAX + sizeof(PROCFS_DELETED)];
	ssize_t n;
	size_t len;
	bool gone;

	snprintf(name, sizeof(name), "%" PRIu32 "/exe", pid);
	n = readlinkat(fs->root_fd, name, text, sizeof(text));
	if (n < 0)
		return procfs_gone_or_fault(pid, "exe", why);
	len = (size_t)n;
	gone = procfs_take_deleted(text, &len);
	if ((size_t)n == sizeof(text) || len >= size)
		return fault_set(why, ERR_INPUT, FAULT_NOWHERE,
				 "the executable's path of process %" PRIu32 " has more than %zu bytes", pid, size - 1);
	memcpy(path, text, len);
	path[len] = '\0';
	if (deleted)
		*deleted = gone;
	return 1;
}

static int list_open(struct procfs_list *list, const struct procfs *fs, const char *name, struct fault *why)
{
	int fd = openat(fs->root_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	list->dir = NULL;
	if (fd < 0)
		return is_gone(errno) ? 0 : fault_errno(why, "cannot list the proc filesystem");
	list->dir = fdopendir(fd);
	if (!list->dir) {
		int err = fault_errno(why, "cannot list the proc filesystem");

		close(fd);
		return err;
	}
	return 1;
}

int procfs_pids_open(struct procfs_list *list, const struct procfs *fs, struct fault *why)
{
	int r = list_open(list, fs, ".", why);

	return r ? r : fault_set(why, ERR_IO, FAULT_NOWHERE, "the proc filesystem is no longer there");
}

int procfs_threads_open(struct procfs_list *list, const struct procfs *fs, uint32_t pid, struct fault *why)
{
	char name[PROCFS_NAME_ROOM];

	snprintf(name, sizeof(name), "%" PRIu32 "/task", pid);
	return list_open(list, fs, name, why);
}

int procfs_list_next(struct procfs_list *list, uint32_t *id, struct fault *why)
{
	struct dirent *entry;

	if (!list->dir)
		return 0;
	while (errno = 0, (entry = readdir(list->dir))) {
		const char *p = entry->d_name, *end = p + strlen(p);
		uint64_t v;

		if (procfs_take_number(&p, end, 10, UINT32_MAX, &v) && p == end && v > 0) {
			*id = (uint32_t)v;
			return 1;
		}
	}
	if (errno && !is_gone(errno))
		return fault_errno(why, "cannot list the proc filesystem");
	return 0;
}

void procfs_list_close(struct procfs_list *list)
{
	if (list && list->dir) {
		closedir(list->dir);
		list->dir = NULL;
	}
}
