/* SPDX-License-Identifier: Apache-2.0 */
#include "keys/tool/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define DESCRIPTORS_MAX 65536
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static int refused(struct fault *why, int error, const char *what)
{
	return fault_set(why, ERR_DENIED, FAULT_NOWHERE, "cannot confine this process: %s: %s", what, strerror(error));
}

/* --- descriptors --- */

static int close_between(int first, int last)
{
	if (first > last || syscall(SYS_close_range, (unsigned)first, (unsigned)last, 0) == 0)
		return 0;
	if (errno != ENOSYS)
		return -1;
	/* Before Linux 5.9: one by one. What has a higher number than may be opened now was inherited; nobody does so.
	 */
	for (int fd = first; fd <= last && fd < DESCRIPTORS_MAX; fd++)
		close(fd);
	return 0;
}

static int order(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

int confine_close_but(int *kept, size_t n, struct fault *why)
{
	int next = STDERR_FILENO + 1, r = 0;

	if (n)
		qsort(kept, n, sizeof(*kept), order);
	for (size_t i = 0; i < n && r == 0; i++) {
		if (kept[i] < next)
			continue;
		r = close_between(next, kept[i] - 1);
		next = kept[i] + 1;
	}
	if (r == 0)
		r = close_between(next, INT_MAX);
	return r < 0 ? refused(why, errno, "inherited descriptors stay open") : 0;
}

/* Asked of a socket only: otherwise not one call is about a network (nosocket.sh). */
static bool is_network(int fd)
{
	int family;
	socklen_t size = sizeof(family);
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode) &&
	       getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &size) == 0 && family != AF_UNIX;
}

static int refuse_network(int fd, struct fault *why)
{
	static const char *const names[] = {"standard input", "standard output", "standard error"};

	return fault_set(why, ERR_DENIED, FAULT_NOWHERE,
			 "%s is a network socket, and this program talks to no network; redirect it", names[fd]);
}

int confine_descriptors(int keep, struct fault *why)
{
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		if (is_network(fd))
			return refuse_network(fd, why);
	return confine_close_but(&keep, 1, why);
}

int confine_inherited(int *kept, size_t n, struct fault *why)
{
	int null = -1, r = 0;

	if (is_network(STDERR_FILENO))
		return refuse_network(STDERR_FILENO, why);
	for (int fd = 0; fd < STDERR_FILENO && r == 0; fd++) {
		if (!is_network(fd))
			continue;
		if (null < 0)
			null = open("/dev/null", O_RDWR | O_CLOEXEC);
		if (null < 0 || dup2(null, fd) < 0)
			r = refused(why, errno, "a network socket stays open");
	}
	/* What is not to be kept is closed, `null` too. */
	return r == 0 ? confine_close_but(kept, n, why) : r;
}

/* --- capabilities --- */

/* After this neither an exec nor a change of user can bring a capability back. */
static int clear_bounding_and_ambient(struct fault *why)
{
	int cap;

	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 && errno != EINVAL)
		return refused(why, errno, "ambient capabilities stay");
	for (cap = 0; cap <= CAP_LAST_CAP; cap++) {
		if (prctl(PR_CAPBSET_READ, cap, 0, 0, 0) != 1)
			continue;
		/* Without CAP_SETPCAP this is refused: no_new_privs keeps the bounding set out of reach all the same.
		 */
		if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0 && errno != EPERM)
			return refused(why, errno, "the bounding set stays");
	}
	return 0;
}

/* Keep those of keep_caps that are there now. */
static int keep_capabilities(const int *keep_caps, int ncaps, struct fault *why)
{
	cap_t old = cap_get_proc(), new = cap_init();
	cap_flag_value_t has;
	cap_value_t cap;
	int i, r = 0;

	if (!old || !new)
		r = -1;
	for (i = 0; i < ncaps && r == 0; i++) {
		cap = keep_caps[i];
		r = cap_get_flag(old, cap, CAP_PERMITTED, &has);
		if (r == 0 && has == CAP_SET)
			r = cap_set_flag(new, CAP_PERMITTED, 1, &cap, CAP_SET);
		if (r == 0 && has == CAP_SET)
			r = cap_set_flag(new, CAP_EFFECTIVE, 1, &cap, CAP_SET);
	}
	if (r == 0)
		r = cap_set_proc(new);
	if (r < 0)
		r = refused(why, errno, "capabilities cannot be dropped");
	cap_free(old);
	cap_free(new);
	return r;
}

/* --- all together --- */

/* What is given up from here on cannot be got back by running a program. */
static int forbid_privileges(struct fault *why)
{
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? refused(why, errno, "no_new_privs cannot be set") : 0;
}

int confine_recorder(const int *keep_caps, int ncaps, struct landlock *files, unsigned allow, struct fault *why)
{
	int r = forbid_privileges(why);

	if (r == 0 && files)
		r = landlock_enter(files, why);
	if (r == 0)
		r = clear_bounding_and_ambient(why);
	if (r == 0)
		r = keep_capabilities(keep_caps, ncaps, why);
	return r == 0 ? syscalls_confine(allow, why) : r;
}

int confine_offline(struct landlock *files, int keep_fd, struct fault *why)
{
	/* Root reads and writes files of others with these tools as with any tool: `sudo gpuverify ~user/run.cap`. */
	static const int caps[] = {CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH};
	int r = forbid_privileges(why);

	/* The rules are the one descriptor that is ours by now. */
	if (r == 0)
		r = landlock_enter(files, why);
	if (r == 0)
		r = confine_descriptors(keep_fd, why);
	return r == 0 ? confine_recorder(caps, COUNT(caps), NULL, SYSCALLS_FILES, why) : r;
}
