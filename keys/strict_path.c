/* SPDX-License-Identifier: Apache-2.0 */
#include "keys/strict_path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINKS_MAX 40 /* followed, as by the kernel */
#define HANDLE (O_PATH | O_NOFOLLOW | O_CLOEXEC)

struct descent {
	int folder;              /* the one reached; owned */
	char rest[2 * PATH_MAX]; /* of the path, from there */
	char place[PATH_MAX];    /* how the one reached is called, for messages */
	unsigned nlinks;
	const char *stake;
	mode_t forbidden; /* to the last */
};

static int refuse_owner(const struct descent *d, const char *place, const struct stat *st, struct fault *why)
{
	return fault_set(why, ERR_KEY, FAULT_NOWHERE, "%.90s: user %u owns it and can change %s; run: chown %u %.60s",
			 place, (unsigned)st->st_uid, d->stake, (unsigned)geteuid(), place);
}

static int refuse_mode(const struct descent *d, const char *place, const struct stat *st, struct fault *why)
{
	const char *others = st->st_mode & S_IWOTH ? "anybody" : "its group";

	return fault_set(why, ERR_KEY, FAULT_NOWHERE, "%.90s: %s can change %s; run: chmod %s %.60s", place, others,
			 d->stake, st->st_mode & S_IWOTH ? "go-w" : "g-w", place);
}

/* Folders of the user who called sudo count as root's own; they are used only where root's GPUREC_HOME leads there. */
static bool called_sudo(uid_t uid)
{
	const char *caller = geteuid() == 0 ? getenv("SUDO_UID") : NULL;
	char text[16];

	snprintf(text, sizeof(text), "%u", (unsigned)uid);
	return caller && strcmp(caller, text) == 0;
}

/* Whether what is open as `fd` is in safe hands. */
static int check(const struct descent *d, const char *place, int fd, bool last, struct fault *why)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return fault_errno(why, "%.150s: cannot be examined", place);
	if (st.st_uid != 0 && st.st_uid != geteuid() && !called_sudo(st.st_uid))
		return refuse_owner(d, place, &st, why);
	/* A link has no mode of its own. Of a sticky folder, others can take away nothing but what is theirs. */
	if (S_ISLNK(st.st_mode) || (S_ISDIR(st.st_mode) && st.st_mode & S_ISVTX && !last))
		return 0;
	return st.st_mode & (last ? d->forbidden : S_IWGRP | S_IWOTH) ? refuse_mode(d, place, &st, why) : 0;
}

/* Begin anew at the top, or where `path` stands now. */
static int start(struct descent *d, const char *path, struct fault *why)
{
	char here[PATH_MAX] = "";
	int n;

	if (path[0] != '/' && !getcwd(here, sizeof(here)))
		return fault_errno(why, "%.150s: the current folder has no name", path);
	n = snprintf(d->rest, sizeof(d->rest), "%s/%s", here, path);
	if ((size_t)n >= sizeof(d->rest)) {
		errno = ENAMETOOLONG;
		return fault_errno(why, "%.100s...: cannot be opened", path);
	}
	d->folder = open("/", HANDLE | O_DIRECTORY);
	strcpy(d->place, "/");
	return d->folder < 0 ? fault_errno(why, "/: cannot be opened") : check(d, "/", d->folder, false, why);
}

/* The next name of d->rest into `name`; whether it is the last. */
static bool next_name(struct descent *d, char name[PATH_MAX])
{
	size_t skip = strspn(d->rest, "/"), n = strcspn(d->rest + skip, "/"), more;

	snprintf(name, PATH_MAX, "%.*s", (int)n, d->rest + skip);
	more = skip + n + strspn(d->rest + skip + n, "/");
	memmove(d->rest, d->rest + more, strlen(d->rest + more) + 1);
	return d->rest[0] == '\0';
}

/* What does not fit is left out: it is for messages. */
static void add_place(char place[PATH_MAX], const char *name)
{
	size_t n = strlen(place), len;

	if (n > 1 && n + 1 < PATH_MAX)
		place[n++] = '/';
	len = strnlen(name, PATH_MAX - 1 - n);
	memcpy(place + n, name, len);
	place[n + len] = '\0';
}

/* Put what the link `fd` holds before the rest of the path. */
static int follow(struct descent *d, int fd, struct fault *why)
{
	char target[PATH_MAX], rest[2 * PATH_MAX];
	ssize_t n = readlinkat(fd, "", target, sizeof(target) - 1);
	int len;

	if (n >= 0 && ++d->nlinks > LINKS_MAX) {
		errno = ELOOP;
		n = -1;
	}
	if (n < 0)
		return fault_errno(why, "%.150s: cannot be followed", d->place);
	target[n] = '\0';
	len = snprintf(rest, sizeof(rest), "%s/%s", target, d->rest);
	if ((size_t)len >= sizeof(rest)) {
		errno = ENAMETOOLONG;
		return fault_errno(why, "%.150s: cannot be followed", d->place);
	}
	if (target[0] == '/') {
		close(d->folder);
		d->folder = -1;
		return start(d, rest, why);
	}
	strcpy(d->rest, rest);
	return 0;
}

/* Go to `name` in the folder reached: it is the one reached then, or a link, which was put before the rest. */
static int step(struct descent *d, const char *name, const char *place, struct fault *why)
{
	int fd = openat(d->folder, name, HANDLE), r;
	struct stat st = {0};

	if (fd < 0)
		return fault_errno(why, "%.150s: cannot be opened", place);
	r = check(d, place, fd, false, why);
	if (r == 0 && fstat(fd, &st) < 0)
		r = fault_errno(why, "%.150s: cannot be examined", place);
	if (r == 0 && S_ISLNK(st.st_mode))
		r = follow(d, fd, why);
	if (r < 0 || S_ISLNK(st.st_mode)) {
		close(fd);
		return r;
	}
	close(d->folder);
	d->folder = fd;
	snprintf(d->place, sizeof(d->place), "%s", place);
	return 0;
}

/* Whether `name` in the folder reached is a link. */
static bool is_link(const struct descent *d, const char *name)
{
	struct stat st;

	return fstatat(d->folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode);
}

/* The last name: the file itself, which is no link, or one that is not to be followed. The descriptor. */
static int arrive(struct descent *d, const char *name, int flags, struct fault *why)
{
	int fd = openat(d->folder, name, flags | O_NOFOLLOW | O_CLOEXEC), r;

	if (fd < 0)
		return fault_errno(why, "%.150s: cannot be opened", d->place);
	r = check(d, d->place, fd, true, why);
	if (r < 0)
		close(fd);
	return r < 0 ? r : fd;
}

int strict_open(const char *path, int flags, mode_t forbidden, const char *stake, struct fault *why)
{
	struct descent d = {.folder = -1, .stake = stake, .forbidden = forbidden};
	char name[PATH_MAX] = "", place[PATH_MAX] = "";
	int r = start(&d, path, why), error;
	bool last = false;

	while (r >= 0 && !last) {
		last = next_name(&d, name);
		memcpy(place, d.place, sizeof(place));
		if (*name)
			add_place(place, name);
		last = last && (flags & O_NOFOLLOW || !is_link(&d, name));
		if (!last)
			r = step(&d, *name ? name : ".", place, why);
	}
	memcpy(d.place, place, sizeof(place));
	if (r >= 0)
		r = arrive(&d, *name ? name : ".", flags, why);
	error = errno;
	if (d.folder >= 0)
		close(d.folder);
	errno = error;
	return r;
}

int strict_check(const char *path, int flags, const char *stake, struct fault *why)
{
	int fd = strict_open(path, flags, S_IWGRP | S_IWOTH, stake, why);

	if (fd >= 0)
		close(fd);
	return fd < 0 ? fd : 0;
}
