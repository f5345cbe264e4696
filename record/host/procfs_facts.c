/* SPDX-License-Identifier: Apache-2.0 */
/* The part of procfs.h that shows what a process runs and where: arguments, namespaces, executable. */
#include "record/host/procfs_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define READ_ROOM 4096
#define MOUNTS_ROOM 65536 /* of mountinfo that is searched */

uint64_t procfs_namespace(int dir_fd, const char *name)
{
	char text[PROCFS_NAME_ROOM];
	ssize_t n = readlinkat(dir_fd, name, text, sizeof(text));
	const char *p, *end = text + (n > 0 ? n : 0);
	uint64_t inode = 0;

	p = memchr(text, '[', (size_t)(end - text));
	if (!p)
		return 0;
	p++;
	return procfs_take_number(&p, end, 10, UINT64_MAX, &inode) && procfs_take_char(&p, end, ']') ? inode : 0;
}

/* What is behind `key`, which begins with the newline before its line; NULL: there is no such line. */
static const char *behind(const char *buf, size_t len, const char *key)
{
	const char *p = memmem(buf, len, key, strlen(key));

	return p ? p + strlen(key) : NULL;
}

/* The last number of the line "\nNStgid:\t12\t1": the process's id in the innermost namespace. */
static uint32_t innermost_id(const char *buf, size_t len)
{
	const char *p = behind(buf, len, "\nNStgid:"), *end = buf + len;
	uint64_t id = 0;

	while (p && procfs_take_char(&p, end, '\t') && procfs_take_number(&p, end, 10, UINT32_MAX, &id))
		;
	return (uint32_t)id;
}

int procfs_switches(const struct procfs *fs, uint32_t pid, uint32_t tid, uint64_t *switches, char *state,
		    struct fault *why)
{
	const char *p, *slept, *forced, *end;
	char name[PROCFS_NAME_ROOM];
	char buf[4 * READ_ROOM]; /* on large hosts the lists of CPUs in it are long */
	uint64_t nslept, nforced;
	size_t len;
	int fd = -1, r = procfs_open_process(fs, pid, &fd, why);

	if (r <= 0)
		return r;
	snprintf(name, sizeof(name), "task/%" PRIu32 "/status", tid);
	r = procfs_read_start(fd, pid, name, buf, sizeof(buf), &len, why);
	close(fd);
	if (r <= 0)
		return r;
	end = buf + len;
	p = behind(buf, len, "\nState:\t");
	slept = behind(buf, len, "\nvoluntary_ctxt_switches:\t");
	forced = behind(buf, len, "\nnonvoluntary_ctxt_switches:\t");
	if (!p || p == end || !slept || !procfs_take_number(&slept, end, 10, UINT64_MAX, &nslept) || !forced ||
	    !procfs_take_number(&forced, end, 10, UINT64_MAX, &nforced))
		return fault_set(why, ERR_FORMAT, FAULT_NOWHERE, "the status of thread %" PRIu32 " is not as expected",
				 tid);
	*state = *p;
	*switches = nslept + nforced;
	return 1;
}

bool procfs_has_memory(const struct procfs *fs, uint32_t pid)
{
	char buf[READ_ROOM];
	size_t len;
	int fd = -1, r = procfs_open_process(fs, pid, &fd, NULL);

	if (r <= 0)
		return false;
	r = procfs_read_start(fd, pid, "statm", buf, sizeof(buf), &len, NULL);
	close(fd);
	return r > 0 && len && buf[0] != '0';
}

int procfs_open_memory(const struct procfs *fs, uint32_t pid, int *fd, struct fault *why)
{
	char name[PROCFS_NAME_ROOM];

	snprintf(name, sizeof(name), "%" PRIu32 "/mem", pid);
	*fd = openat(fs->root_fd, name, O_RDONLY | O_CLOEXEC);
	return *fd >= 0 ? 1 : procfs_gone_or_fault(pid, "its memory", why);
}

int procfs_namespaces(const struct procfs *fs, uint32_t pid, struct process_namespaces *out, struct fault *why)
{
	struct process_namespaces ns = {0};
	char buf[READ_ROOM];
	int fd = -1, r = procfs_open_process(fs, pid, &fd, why);
	size_t len;

	if (r <= 0)
		return r;
	ns.mount = procfs_namespace(fd, "ns/mnt");
	ns.pids = procfs_namespace(fd, "ns/pid");
	ns.net = procfs_namespace(fd, "ns/net");
	ns.user = procfs_namespace(fd, "ns/user");
	r = procfs_read_start(fd, pid, "status", buf, sizeof(buf), &len, why);
	close(fd);
	if (r <= 0)
		return r;
	ns.pid_inside = innermost_id(buf, len);
	*out = ns;
	return 1;
}

int procfs_command_line(const struct procfs *fs, uint32_t pid, char *text, size_t size, uint64_t *bytes,
			struct fault *why)
{
	char name[PROCFS_NAME_ROOM], buf[READ_ROOM];
	uint64_t total = 0;
	ssize_t n;
	size_t kept = 0;
	int fd, r = 1;
	bool ends = false; /* in a NUL */

	snprintf(name, sizeof(name), "%" PRIu32 "/cmdline", pid);
	fd = openat(fs->root_fd, name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return procfs_gone_or_fault(pid, "cmdline", why);
	while (total < PROCFS_ARGUMENTS_MAX && (n = procfs_read_some(fd, buf, sizeof(buf))) > 0) {
		for (ssize_t i = 0; i < n && kept < size - 1; i++)
			text[kept++] = buf[i] ? buf[i] : ' ';
		ends = buf[n - 1] == '\0';
		total += (uint64_t)n;
	}
	if (total == 0)
		r = n < 0 ? procfs_gone_or_fault(pid, "cmdline", why) : 0;
	close(fd);
	if (r <= 0)
		return r;
	if (ends) {
		total--; /* the end of the last argument is no blank */
		if (kept > total)
			kept--;
	}
	text[kept] = '\0';
	*bytes = total;
	return 1;
}

int procfs_exe_mapping(const struct procfs *fs, uint32_t pid, const char *path, struct procfs_maps *maps,
		       struct mapping *m, struct fault *why)
{
	int r = procfs_maps_open(maps, fs, pid, why);

	if (r <= 0)
		return r;
	for (int i = 0; i < PROCFS_EXE_LINES && (r = procfs_maps_next(maps, m, why)) > 0; i++)
		if (m->inode && strcmp(m->path, path) == 0)
			break;
	procfs_maps_close(maps);
	return r > 0 && m->inode && strcmp(m->path, path) == 0 ? 1 : r < 0 ? r : 0;
}

/* The value of "hidepid=" among a mount's options: a number, or since Linux 5.8 a word. */
static int hidepid_of(const char *options, size_t len)
{
	static const char key[] = "hidepid=";
	static const char *const words[] = {"off", "noaccess", "invisible", NULL, "ptraceable"};
	const char *p = memmem(options, len, key, sizeof(key) - 1), *end = options + len;
	uint64_t v;

	if (!p)
		return 0;
	p += sizeof(key) - 1;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (words[i] && (size_t)(end - p) >= strlen(words[i]) && !memcmp(p, words[i], strlen(words[i])))
			return (int)i;
	return procfs_take_number(&p, end, 10, 9, &v) ? (int)v : 0;
}

/* "25 20 0:23 / /proc rw,relatime - proc proc rw,hidepid=2": the line of the device, which is in field 3. */
int procfs_hides(const struct procfs *fs)
{
	char *text = malloc(MOUNTS_ROOM), device[48];
	const char *line, *end, *next;
	struct stat st;
	size_t len;
	int value = 0;

	if (!text || fstat(fs->root_fd, &st) < 0 ||
	    procfs_read_start(fs->root_fd, 0, "self/mountinfo", text, MOUNTS_ROOM, &len, NULL) <= 0)
		goto out;
	snprintf(device, sizeof(device), " %u:%u ", major(st.st_dev), minor(st.st_dev));
	for (line = text, end = text + len; line < end; line = next + 1) {
		const char *options;

		next = memchr(line, '\n', (size_t)(end - line));
		next = next ? next : end;
		options = memmem(line, (size_t)(next - line), " - ", 3);
		if (options && memmem(line, (size_t)(options - line), device, strlen(device)))
			value = hidepid_of(options, (size_t)(next - options));
	}
out:
	free(text);
	return value;
}
