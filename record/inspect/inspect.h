/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is asked about processes and files of strangers, and the bench on which each question is worked at. Every file
 * here may be served by an attacker who wants us to hang, and be made to keep us busy: so a helper process does the
 * work (inspector.h), and this is what runs in it. Without a helper, as for --check and in tests, it runs in this
 * process.
 */
#ifndef GPUREC_RECORD_INSPECT_INSPECT_H
#define GPUREC_RECORD_INSPECT_INSPECT_H

#include <time.h>

#include "format/base/bytes.h"
#include "record/host/procfs.h"
#include "record/probe/attach.h"
#include "record/inspect/unwinder.h"

#define INSPECT_CODE_MAX 8192          /* mappings of code of one process that are reported */
#define INSPECT_LINES_MAX 65536        /* lines of maps that are read */
#define INSPECT_ANSWER_MAX (4u << 20)  /* bytes of one answer */
#define INSPECT_IMAGES_MAX 32          /* files whose symbols are kept; each holds a descriptor */
#define INSPECT_SYMBOLS_MAX (1u << 21) /* kept over all files: 32 MiB */

/* Reports whether a file has changed, or another has its number; and, of overlays, which file is beneath. No padding.
 */
struct stamp {
	uint64_t inode;
	uint64_t bytes;
	int64_t changed_s, changed_ns, modified_s, modified_ns;
	uint64_t overlay;
};
int stamp_read(int fd, struct stamp *stamp, struct fault *why);
bool stamp_same(const struct stamp *a, const struct stamp *b);

enum inspect_op {
	INSPECT_CODE = 1,  /* the code that a process has mapped */
	INSPECT_AT,        /* its mapping at an address */
	INSPECT_EXE,       /* the mapping of its executable */
	INSPECT_OPEN,      /* what file that is */
	INSPECT_FUNCTIONS, /* which probed functions it has */
	INSPECT_ATTACH,    /* put probes on it */
	INSPECT_SYMBOL,    /* which function an offset of it lies in */
	INSPECT_ARGUMENTS, /* of a process, and the program that they are given to */
	INSPECT_PROGRAM,   /* what a process runs, and where */
	INSPECT_STACK      /* the user stack of a thread */
};

/* A question. No padding: two are the same when their bytes are. */
struct inspect_ask {
	uint32_t op, pid;
	uint64_t start, offset, inode; /* of the mapping, as maps has it */
	uint32_t dev_major, dev_minor;
	struct stamp stamp;      /* that the file must have: FUNCTIONS, ATTACH, SYMBOL */
	uint64_t at;             /* SYMBOL: in the file */
	uint32_t module;         /* SYMBOL: the file's number, by which its symbols are kept */
	uint32_t nsites;         /* ATTACH: that come behind the question */
	struct thread_at thread; /* STACK: whose; `start` is when its process began */
};
_Static_assert(sizeof(struct inspect_ask) ==
		       2 * 4 + 3 * 8 + 2 * 4 + sizeof(struct stamp) + 8 + 2 * 4 + sizeof(struct thread_at),
	       "no padding");

/* An answer begins with this; what follows depends on the question. */
struct inspect_head {
	int32_t result; /* 1 done, 0 gone, or negative: then a sentence */
	uint32_t pad;
	char text[sizeof(((struct fault *)NULL)->text)];
};

/* CODE: this, then mappings; AT, EXE: this, then one. */
struct inspect_code {
	uint64_t mount_namespace;
	uint32_t n;
	uint32_t over; /* mappings that are not reported */
};

/* A mapping, its path behind it. */
struct inspect_mapping {
	uint64_t start, end, offset, inode;
	uint32_t dev_major, dev_minor;
	uint32_t prot;
	uint16_t path_bytes;
	uint8_t deleted, path_cut;
};

/* OPEN: this. Found by the address, inode and device that were asked for. */
struct inspect_file {
	struct stamp stamp;
	uint64_t mount_namespace;
	uint32_t elf;     /* 1: it is an ELF file that we can read */
	uint32_t deleted; /* no path leads to it any more */
	char build_id[2 * IMAGE_BUILD_ID_MAX + 8];
	char path[PROCFS_PATH_MAX];
};

/* FUNCTIONS: this, then n struct image_match; their `name` counts the functions of libraries in probe_table. */
struct inspect_functions {
	uint32_t n;
	uint32_t has_kernels;
	uint32_t imports_runtime; /* functions by which a file with kernels registers them */
	uint32_t pad;
};

/* ATTACH: this, then an errno for each site. */
struct inspect_attached {
	uint32_t n;
	uint32_t by_caller; /* probes are put on one by one here, which a helper cannot do for who asked */
};

/* SYMBOL: this, then the name with its NUL. */
struct inspect_symbol {
	uint64_t plus;
};

/* ARGUMENTS: this, then the text with its NUL. Each result is as of the function of procfs.h that reads it. */
struct inspect_arguments {
	uint64_t bytes;
	int32_t exe_result, result;
	char exe[PROCFS_PATH_MAX]; /* read before them */
};

/* PROGRAM: this, in the order in which it is read: a process that ends loses its program first. */
struct inspect_program {
	int32_t exe_result, cgroup_result, namespaces_result, again_result;
	char exe[PROCFS_PATH_MAX];
	struct process_cgroup cgroup;
	struct process_namespaces namespaces;
	char again[PROCFS_PATH_MAX]; /* the program, behind all else */
};

/* STACK: this, then n addresses, as unwinder_stack() has them. */
struct inspect_stack {
	uint32_t n;
	uint32_t flags; /* STACK_* */
};

struct bench;
struct helper_board;

/* `attach` may be NULL where nothing is to be attached. Both are borrowed. */
int bench_new(struct bench **b, const struct procfs *fs, struct attach *attach, struct fault *why);
void bench_free(struct bench *b);

/* From now on each file that is asked about is this one (-1: no longer), whatever the mapping. */
void bench_give_file(struct bench *b, int fd);

/*
 * This is a helper's: after probes were put on, publish() is called, which takes what keeps them on, or else says in
 * sites[].error why they are not on.
 */
void bench_publish(struct bench *b,
		   void (*publish)(struct helper_board *self, struct attach *attach, struct attach_site *sites,
				   size_t n),
		   struct helper_board *self);

/*
 * Work at one question. `sites`: ask->nsites of them. *answer is replaced by a head and what follows. False: no memory,
 * *answer is not whole.
 */
bool bench_work(struct bench *b, const struct inspect_ask *ask, struct attach_site *sites, struct bytes *answer);

#endif
