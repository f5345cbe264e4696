/* SPDX-License-Identifier: Apache-2.0 */
/* The part of procfs.h that reads control groups, and knows how container engines name theirs. */
#include "record/host/procfs_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define CGROUP_ROOM 16384 /* version 1 has a line for each of a dozen hierarchies */
#define ID_HEX 64         /* digits of the ids that docker, containerd, cri-o and podman give */

struct text {
	const char *s;
	size_t n;
};

static bool take_prefix(struct text *t, const char *prefix)
{
	size_t n = strlen(prefix);

	if (t->n < n || memcmp(t->s, prefix, n) != 0)
		return false;
	t->s += n;
	t->n -= n;
	return true;
}

static bool take_suffix(struct text *t, const char *suffix)
{
	size_t n = strlen(suffix);

	if (t->n < n || memcmp(t->s + t->n - n, suffix, n) != 0)
		return false;
	t->n -= n;
	return true;
}

/* "<64 hex>", also behind what an engine puts before it: "docker-<64 hex>.scope". */
static bool take_hex_id(struct text *t)
{
	(void)take_suffix(t, ".scope");
	if (t->n < ID_HEX || (t->n > ID_HEX && t->s[t->n - ID_HEX - 1] != '-' && t->s[t->n - ID_HEX - 1] != ':'))
		return false;
	/* The engine's own process that watches over a container is not in it. */
	if (memmem(t->s, t->n - ID_HEX, "conmon", 6))
		return false;
	t->s += t->n - ID_HEX;
	t->n = ID_HEX;
	for (size_t i = 0; i < t->n; i++)
		if (!(t->s[i] >= '0' && t->s[i] <= '9') && !(t->s[i] >= 'a' && t->s[i] <= 'f'))
			return false;
	return true;
}

/* Whether a component names a container by itself: *id is the part that is its id. */
static bool is_container(struct text part, struct text before, struct text *id)
{
	*id = part;
	if (take_hex_id(id))
		return true;
	*id = part;
	if (take_prefix(id, "systemd-nspawn@") && take_suffix(id, ".service"))
		return id->n > 0;
	*id = part;
	/* Virtual machines are registered in the same place: their processes are not in a container. */
	if (take_prefix(id, "machine-") && take_suffix(id, ".scope"))
		return id->n > 0 && !(id->n > 5 && memcmp(id->s, "qemu\\", 5) == 0);
	*id = part;
	if (take_prefix(id, "lxc.payload."))
		return id->n > 0;
	*id = part;
	return part.n > 0 && ((before.n == 3 && memcmp(before.s, "lxc", 3) == 0) ||
			      (before.n == 11 && memcmp(before.s, "lxc.payload", 11) == 0));
}

/* systemd writes bytes that it has another use for as "\x2d". */
static void copy_unescaped(char *out, size_t size, struct text t)
{
	size_t used = 0;

	for (size_t i = 0; i < t.n && used < size - 1; i++) {
		const char *p = t.s + i + 2;
		uint64_t byte;

		if (t.s[i] == '\\' && t.n - i >= 4 && t.s[i + 1] == 'x' &&
		    procfs_take_number(&p, t.s + i + 4, 16, 0xff, &byte) && p == t.s + i + 4 && byte) {
			out[used++] = (char)byte;
			i += 3;
		} else {
			out[used++] = t.s[i];
		}
	}
	out[used] = '\0';
}

/* The innermost container of a path. */
static bool find_container(struct text path, char *out, size_t size)
{
	struct text before = {0}, part, id, found = {0};

	while (path.n) {
		const char *slash = memchr(path.s, '/', path.n);

		part = (struct text){path.s, slash ? (size_t)(slash - path.s) : path.n};
		if (is_container(part, before, &id))
			found = id;
		before = part;
		path.s += part.n + (slash ? 1 : 0);
		path.n -= part.n + (slash ? 1 : 0);
	}
	if (!found.n)
		return false;
	copy_unescaped(out, size, found);
	return true;
}

bool cgroup_lists(const char *controllers, size_t n, const char *name)
{
	const char *end = controllers + n, *comma;

	for (const char *p = controllers; p < end; p = comma + 1) {
		comma = memchr(p, ',', (size_t)(end - p));
		comma = comma ? comma : end;
		if ((size_t)(comma - p) == strlen(name) && memcmp(p, name, strlen(name)) == 0)
			return true;
	}
	return false;
}

/* "4:memory:/docker/..": hierarchy, controllers, path. */
static bool take_line(struct text line, bool *is_v2, struct text *controllers, struct text *path)
{
	const char *p = line.s, *end = line.s + line.n, *colon;
	uint64_t hierarchy;

	if (!procfs_take_number(&p, end, 10, UINT32_MAX, &hierarchy) || !procfs_take_char(&p, end, ':'))
		return false;
	colon = memchr(p, ':', (size_t)(end - p));
	if (!colon)
		return false;
	*is_v2 = hierarchy == 0 && colon == p;
	*controllers = (struct text){p, (size_t)(colon - p)};
	*path = (struct text){colon + 1, (size_t)(end - colon) - 1};
	(void)procfs_take_deleted(path->s, &path->n);
	return path->n && path->s[0] == '/';
}

/* The path, or if it is empty that of version 2. */
static void copy_path(char out[PROCFS_PATH_MAX], struct text path, struct text v2)
{
	path = path.n ? path : v2;
	snprintf(out, PROCFS_PATH_MAX, "%.*s", (int)path.n, path.n ? path.s : "");
}

bool cgroup_parse(const char *text, size_t len, struct process_cgroup *out)
{
	struct text v2 = {0}, v1 = {0}, cpu = {0}, memory = {0}, chosen;

	out->container[0] = '\0';
	while (len) {
		const char *newline = memchr(text, '\n', len);
		struct text line = {text, newline ? (size_t)(newline - text) : len}, controllers, path;
		bool is_v2;

		if (take_line(line, &is_v2, &controllers, &path)) {
			if (cgroup_lists(controllers.s, controllers.n, "cpu"))
				cpu = path;
			if (cgroup_lists(controllers.s, controllers.n, "memory"))
				memory = path;
			if (is_v2)
				v2 = path;
			else if (v1.n <= 1 && (path.n > 1 || !v1.n))
				v1 = path;
			if (!out->container[0])
				(void)find_container(path, out->container, sizeof(out->container));
		}
		text += line.n + (newline ? 1 : 0);
		len -= line.n + (newline ? 1 : 0);
	}
	chosen = v2.n > 1 || !v1.n ? v2 : v1.n > 1 || !v2.n ? v1 : v2;
	if (!chosen.n)
		return false;
	snprintf(out->path, sizeof(out->path), "%.*s", (int)chosen.n, chosen.s);
	copy_path(out->cpu, cpu, v2);
	copy_path(out->memory, memory, v2);
	return true;
}

int procfs_cgroup(const struct procfs *fs, uint32_t pid, struct process_cgroup *out, struct fault *why)
{
	char buf[CGROUP_ROOM];
	int fd = -1, r = procfs_open_process(fs, pid, &fd, why);
	size_t len;

	if (r <= 0)
		return r;
	r = procfs_read_start(fd, pid, "cgroup", buf, sizeof(buf), &len, why);
	close(fd);
	return r <= 0 ? r : cgroup_parse(buf, len, out);
}
