/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading the proc filesystem: processes, threads, and what they have mapped.
 *
 * Processes end at any moment, so every function that inspects one returns
 *	1         done, the output is filled
 *	0         gone: there is no such process (thread, mapping, file) any more. Not a failure; *why is untouched
 *	negative  an enum err, *why is filled. ERR_DENIED: the system does not let us look
 * Outputs are written only when 1 is returned. One process is read through one directory handle, so that what is
 * returned never mixes two processes of the same number.
 *
 * Process numbers are those that the mount's pid namespace sees: open that of the initial one. Times are the kernel's,
 * whatever time namespace we are in.
 */
#ifndef GPUREC_RECORD_HOST_PROCFS_H
#define GPUREC_RECORD_HOST_PROCFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "format/base/fault.h"
#include "record/host/kernel_clock.h"

#define PROCFS_ROOT "/proc"
#define PROCFS_COMM_MAX 64    /* the kernel: 16 for user tasks, 64 for kernel threads; with the final NUL */
#define PROCFS_PATH_MAX 4096  /* with the final NUL; what is longer is cut, and marked so */
#define PROCFS_LINE_MAX 16384 /* a line of maps; the path of a longer one is cut */

struct procfs {
	int root_fd;
	struct kernel_clock clock; /* of this process: start times in it are by its clocks */
	uint64_t ns_per_tick;      /* resolution of start times: usually 10 ms */
};

/* `root`: PROCFS_ROOT, or a folder that looks like it (tests). Kept open: later mounts over it make no difference. */
int procfs_open(struct procfs *fs, const char *root, struct fault *why);
void procfs_close(struct procfs *fs);

/*
 * A process or a thread. comm is raw: it may hold any byte but NUL, so blanks, ')' and newlines too.
 * start_ns: the kernel's boot clock, rounded down to a clock tick; compare it with a finer one by procfs_same_start().
 */
struct process_info {
	uint32_t pid;      /* of the process: thread group id */
	uint32_t tid;      /* of the thread asked for; the main thread's is the process's pid */
	uint32_t ppid;     /* 0: none that this pid namespace sees */
	uint32_t uid;      /* real user id */
	uint64_t start_ns; /* of the thread asked for; the main thread's is the process's */
	char state;        /* as in stat: R, S, D, Z, ... */
	char comm[PROCFS_COMM_MAX];
};

/* Also finds any thread by its id (`pid` is then its process). */
int procfs_process(const struct procfs *fs, uint32_t pid, struct process_info *info, struct fault *why);
int procfs_thread(const struct procfs *fs, uint32_t pid, uint32_t tid, struct process_info *info, struct fault *why);

/* How often a thread was switched away from, ever, and its state as in stat. */
int procfs_switches(const struct procfs *fs, uint32_t pid, uint32_t tid, uint64_t *switches, char *state,
		    struct fault *why);

/* Its memory, to be read at the addresses that it has there. The caller closes *fd; reading may block. */
int procfs_open_memory(const struct procfs *fs, uint32_t pid, int *fd, struct fault *why);

/*
 * Whether somebody listens at this TCP port, at whatever address, in the network namespace of the process: 1 or 0;
 * negative: not known.
 */
int procfs_listens(const struct procfs *fs, uint32_t pid, uint16_t port);

/* Whether two start times, each exact or rounded down to a tick, can be the same. */
bool procfs_same_start(const struct procfs *fs, uint64_t a_ns, uint64_t b_ns);

/* Whether it has memory of its own: neither a kernel thread nor one that is ending. Anybody may ask. */
bool procfs_has_memory(const struct procfs *fs, uint32_t pid);

/*
 * Path of the executable, NUL-terminated, without the kernel's " (deleted)", of which *deleted reports (may be NULL).
 * 0 for kernel threads too: they have none. Longer than `size` allows (at least 2): ERR_INPUT.
 */
int procfs_exe(const struct procfs *fs, uint32_t pid, char *path, size_t size, bool *deleted, struct fault *why);

/*
 * The arguments, with a blank between them, as far as there is room; NUL-terminated. *bytes: how long the text is, up
 * to PROCFS_ARGUMENTS_MAX, so that it is greater than what was written when that was cut. 0 for kernel threads too.
 */
#define PROCFS_ARGUMENTS_MAX (1u << 20) /* so far it is read */
int procfs_command_line(const struct procfs *fs, uint32_t pid, char *text, size_t size, uint64_t *bytes,
			struct fault *why);

/* Those of the host: the kernel's PROC_PID_INIT_INO and PROC_USER_INIT_INO. */
#define INITIAL_PID_NAMESPACE 0xeffffffcu
#define INITIAL_USER_NAMESPACE 0xeffffffdu

/* Inode numbers of namespaces; 0: this kernel has none of the kind. pid_inside: the process's id in `pids`. */
struct process_namespaces {
	uint64_t mount, pids, net, user;
	uint32_t pid_inside;
};
int procfs_namespaces(const struct procfs *fs, uint32_t pid, struct process_namespaces *out, struct fault *why);

/* The control group: see cgroup_parse(). 0 too where the kernel has none. */
#define PROCFS_CONTAINER_MAX 256
struct process_cgroup {
	char path[PROCFS_PATH_MAX];
	char cpu[PROCFS_PATH_MAX];    /* in the hierarchy that has the CPU controller; "": no such hierarchy */
	char memory[PROCFS_PATH_MAX]; /* the same of memory's */
	char container[PROCFS_CONTAINER_MAX];
};
int procfs_cgroup(const struct procfs *fs, uint32_t pid, struct process_cgroup *out, struct fault *why);

/*
 * Take /proc/PID/cgroup apart. The path is that of version 2's hierarchy; where it is "/" (or there is none) and
 * another hierarchy reports more, as on hosts with both, it is the first other one's. The container is what docker,
 * containerd, cri-o, podman, Kubernetes, systemd-nspawn or LXC call it, the innermost one of several, out of the first
 * hierarchy that reports one; "": none does. `cpu` is the path in version 1's hierarchy of the CPU controller, `memory`
 * in that of memory's, or, where no line has that, in version 2's. False: no line is as expected.
 */
bool cgroup_parse(const char *text, size_t len, struct process_cgroup *out);
/* Whether `name` is one of n bytes of controllers or options: "cpu" of "rw,cpu,cpuacct". */
bool cgroup_lists(const char *controllers, size_t n, const char *name);

/*
 * Find the line of maps that holds the executable itself, among the first PROCFS_EXE_LINES: 1 with *m. For
 * procfs_open_mapped(). 0: not there.
 */
#define PROCFS_EXE_LINES 64
struct mapping;
struct procfs_maps;
/* The mapping that holds an address: 1 with *m. Since Linux 6.11 without reading through all of them. */
int procfs_mapping_at(const struct procfs *fs, uint32_t pid, uint64_t address, struct procfs_maps *maps,
		      struct mapping *m, struct fault *why);
int procfs_exe_mapping(const struct procfs *fs, uint32_t pid, const char *path, struct procfs_maps *maps,
		       struct mapping *m, struct fault *why);

/*
 * Whether the mount hides processes from those who may not trace them (option hidepid): 0 no, 1 and more: the option's
 * value, as a number. Who has CAP_SYS_PTRACE sees all the same. 0 also when it cannot be known.
 */
int procfs_hides(const struct procfs *fs);

/* All process ids, or all thread ids of one process. While it is open, one descriptor and a little heap are held. */
struct procfs_list {
	void *dir;
};

int procfs_pids_open(struct procfs_list *list, const struct procfs *fs, struct fault *why); /* never 0 */
int procfs_threads_open(struct procfs_list *list, const struct procfs *fs, uint32_t pid, struct fault *why);
int procfs_list_next(struct procfs_list *list, uint32_t *id, struct fault *why); /* 0: that was all, or it is gone */
void procfs_list_close(struct procfs_list *list);

/* One line of maps. */
struct mapping {
	uint64_t start;  /* first address */
	uint64_t end;    /* one past the last */
	uint64_t offset; /* in the file, of `start` */
	uint64_t inode;  /* 0: not a file (anonymous, stack, vdso, just-in-time code) */
	uint32_t dev_major;
	uint32_t dev_minor;
	int prot; /* PROT_READ | PROT_WRITE | PROT_EXEC */
	bool shared;
	bool deleted;             /* the kernel says " (deleted)", which `path` no longer has */
	bool path_cut;            /* it was longer than PROCFS_PATH_MAX or the line than PROCFS_LINE_MAX */
	uint64_t mount_namespace; /* inode number of the one that `path` is meant in; 0: not known, or not asked for */
	char path[PROCFS_PATH_MAX]; /* raw: newlines are back in it; "" or "[vdso]" and the like when not a file */
};

/* The device as stat(2) gives it. */
dev_t mapping_device(const struct mapping *m);

/*
 * Take one line apart (without its newline). 0, or ERR_FORMAT with *m undefined. The kernel writes a newline in a path
 * as \012 and leaves a backslash alone, so that a name that really holds these four characters comes out wrong.
 */
int mapping_parse(struct mapping *m, const char *line, size_t len, struct fault *why);

struct procfs_maps {
	int fd;
	uint32_t pid;
	uint64_t mount_namespace; /* of the process */
	uint64_t nlines;
	size_t at, len; /* what of buf is not yet used */
	bool ended;
	char buf[PROCFS_LINE_MAX];
};

/* In rising order of address. A process that ends while it is read makes next() return 0 early. */
int procfs_maps_open(struct procfs_maps *maps, const struct procfs *fs, uint32_t pid, struct fault *why);
int procfs_maps_next(struct procfs_maps *maps, struct mapping *m, struct fault *why);
void procfs_maps_close(struct procfs_maps *maps);

/*
 * Open, for reading, the very file that a process has mapped, never another that has come to bear its name.
 * Tried in turn: map_files/START-END (needs CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE), root/PATH as the process sees
 * it, PATH as we see it. The last two count only when device and inode are the mapping's. Through map_files the
 * inode must be, or the link's text: overlay and btrfs give stat(2) other numbers than maps.
 * Only regular files; a device is never opened. 0 too when the name leads to another file now. ERR_DENIED when
 * the file might be had with more privilege. The caller closes *fd. May block where a file system does.
 */
int procfs_open_mapped(const struct procfs *fs, uint32_t pid, const struct mapping *m, int *fd, struct fault *why);

#endif
