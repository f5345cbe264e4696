/* SPDX-License-Identifier: Apache-2.0 */
/* What our programs hang on: links, and the functions of libraries. */
#include "record/probe/attach_internal.h"
#include "format/base/array.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "format/base/clock.h"

/* From <linux/bpf.h> of 6.6; older headers know neither. */
#define UPROBE_MULTI_RETURN 1u

struct link_uprobe_multi {
	__u32 prog_fd, target_fd, attach_type, flags;
	__u64 path, offsets, ref_ctr_offsets, cookies;
	__u32 count, multi_flags, pid, pad;
};

int attach_keep(struct attach *a, struct bpf_link *link)
{
	struct bpf_link **more;

	if (!link)
		return -1;
	more = array_grow(a->links, &a->room, a->nlinks + 1, sizeof(struct bpf_link *));
	if (!more) {
		bpf_link__destroy(link);
		errno = ENOMEM;
		return -1;
	}
	a->links = more;
	a->links[a->nlinks++] = link;
	return 0;
}

/*
 * A child that does nothing but hold what we have open, until we are gone: what it has open last, the kernel closes,
 * and takes off, while it ends the child. False: there is none.
 */
static bool hold_until_end(void)
{
	pid_t parent = getpid(), child = fork();

	if (child)
		return child > 0;
	/* The reader of our output is not to wait for it, and a key at the terminal is not meant for it. */
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		close(fd);
	(void)setsid();
	(void)prctl(PR_SET_NAME, ATTACH_DETACHES);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (getppid() == parent)
		pause();
	_exit(0);
}

/*
 * One by one: for each the kernel waits until nobody is in it any more, and lets nobody else meanwhile, so that doing
 * it from several threads is no faster. In a recording's 186 that is some ten seconds, or a hundred.
 */
#define DETACH_WAIT_NS 500000000u

uint64_t attach_detach_all(struct attach *a)
{
	uint64_t begin_ns = clock_ns(CLOCK_MONOTONIC), took_ns = 0;
	size_t n = a->nlinks, left;

	attach_drop_links(a);
	while (a->nlinks && (a->facts.multi || took_ns < DETACH_WAIT_NS)) {
		bpf_link__destroy(a->links[--a->nlinks]);
		took_ns = clock_ns(CLOCK_MONOTONIC) - begin_ns;
	}
	left = a->nlinks;
	if (left && !hold_until_end())
		left = 0;
	while (a->nlinks)
		bpf_link__destroy(a->links[--a->nlinks]);
	return left ? took_ns / (n - left) * left : 0;
}

/* A link for all of them at once: its descriptor, or a negative errno. */
static int link_multi(const struct bpf_program *program, const char *path, const struct attach_site *sites, size_t n,
		      uint32_t flags)
{
	uint64_t *offsets = calloc(n, sizeof(*offsets)), *cookies = calloc(n, sizeof(*cookies));
	struct link_uprobe_multi attr;
	long fd = -ENOMEM;

	if (offsets && cookies) {
		for (size_t i = 0; i < n; i++) {
			offsets[i] = sites[i].offset;
			cookies[i] = sites[i].probe;
		}
		memset(&attr, 0, sizeof(attr));
		attr.prog_fd = (__u32)bpf_program__fd(program);
		attr.attach_type = ATTACH_TYPE_UPROBE_MULTI;
		attr.path = (uintptr_t)path;
		attr.offsets = (uintptr_t)offsets;
		attr.cookies = (uintptr_t)cookies;
		attr.count = (__u32)n;
		attr.multi_flags = flags;
		fd = syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));
		if (fd < 0)
			fd = -errno;
	}
	free(offsets);
	free(cookies);
	return (int)fd;
}

/* Returns first: a call that is entered is then always seen to return. 0 or a negative errno; then nothing is on. */
static int attach_multi(struct attach *a, const char *path, const struct attach_site *sites, size_t n)
{
	int *more = realloc(a->multi_fds, (a->nmulti + 2) * sizeof(*more));
	int on_return, on_call;

	if (!more)
		return -ENOMEM;
	a->multi_fds = more;
	on_return = link_multi(a->on_return, path, sites, n, UPROBE_MULTI_RETURN);
	if (on_return < 0)
		return on_return;
	on_call = link_multi(a->on_call, path, sites, n, 0);
	if (on_call < 0) {
		close(on_return);
		return on_call;
	}
	a->multi_fds[a->nmulti++] = on_return;
	a->multi_fds[a->nmulti++] = on_call;
	return 0;
}

/* Several at once only where the kernel can. */
static int attach_some(struct attach *a, const char *path, const struct attach_site *site, size_t n)
{
	LIBBPF_OPTS(bpf_uprobe_opts, opts, .bpf_cookie = site->probe, .retprobe = true);

	if (a->facts.multi)
		return attach_multi(a, path, site, n);
	if (attach_keep(a, bpf_program__attach_uprobe_opts(a->on_return, -1, path, (size_t)site->offset, &opts)) < 0)
		return -errno;
	opts.retprobe = false;
	if (attach_keep(a, bpf_program__attach_uprobe_opts(a->on_call, -1, path, (size_t)site->offset, &opts)) < 0) {
		int error = errno;

		bpf_link__destroy(a->links[--a->nlinks]);
		return -error;
	}
	return 0;
}

/*
 * All at once; what the kernel refuses as a whole (one function with a first instruction that it cannot step over is
 * enough) is halved until the refused ones stand alone.
 */
static size_t attach_range(struct attach *a, const char *path, struct attach_site *sites, size_t n)
{
	int r;

	if (!n)
		return 0;
	r = a->facts.multi || n == 1 ? attach_some(a, path, sites, n) : -EINVAL;
	for (size_t i = 0; i < n; i++)
		sites[i].error = -r;
	if (r == 0 || n == 1)
		return r == 0 ? n : 0;
	return attach_range(a, path, sites, n / 2) + attach_range(a, path, sites + n / 2, n - n / 2);
}

size_t attach_library(struct attach *a, int fd, struct attach_site *sites, size_t nsites)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return attach_range(a, path, sites, nsites);
}

size_t attach_leave_to_child(struct attach *a, int *fds, size_t max)
{
	a->nlinks = a->nmulti = 0; /* they are the parent's */
	if (!a->facts.multi || max < 2)
		return 0;
	fds[0] = bpf_program__fd(a->on_call);
	fds[1] = bpf_program__fd(a->on_return);
	return 2;
}

size_t attach_nlinks(const struct attach *a)
{
	return a->nmulti;
}

size_t attach_take_links(struct attach *a, int *fds, size_t max)
{
	size_t n = 0;

	while (a->nmulti && n < max)
		fds[n++] = a->multi_fds[--a->nmulti];
	return n;
}

void attach_drop_links(struct attach *a)
{
	while (a->nmulti)
		close(a->multi_fds[--a->nmulti]);
}
