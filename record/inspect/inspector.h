/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asking about processes and files of strangers without ever waiting for long: a helper process works at the questions,
 * one after the other. One that it does not answer within INSPECT_DEADLINE_NS is given up: the helper is killed, and
 * another takes its place. One that hangs in the kernel (a file system that its daemon or server does not answer) is
 * left behind; nobody waits for it, not even at the end.
 *
 * Each question waits a little for its answer; when that is not enough, or another question is still worked at, it
 * returns INSPECT_LATER: ask again, with the very same question. What took too long, file or process, is refused for a
 * while, each time longer.
 */
#ifndef GPUREC_RECORD_INSPECT_INSPECTOR_H
#define GPUREC_RECORD_INSPECT_INSPECTOR_H

#include "record/inspect/inspect.h"

#define INSPECT_DEADLINE_NS 2000000000ull /* for one question */
#define INSPECT_WAIT_NS 20000000ull       /* that asking waits at most, */
#define INSPECT_BUDGET_NS 150000000ull    /* and all questions of a second together */
#define INSPECT_REFUSE_NS 2000000000ull   /* what took too long is not tried again for so long; doubled each time */
#define INSPECT_REFUSE_DOUBLED 5

/* All functions below return one of these, or negative. */
enum { INSPECT_GONE = 0, INSPECT_DONE = 1, INSPECT_LATER = 2 };

struct inspector;

/* Works in this process until inspector_start(). Borrowed as by bench_new(). */
int inspector_new(struct inspector **i, const struct procfs *fs, struct attach *attach, struct fault *why);
/* Have a helper process from now on. It has nothing of this process but what it needs, so begin it before there is a
 * secret in memory. */
int inspector_start(struct inspector *i, struct fault *why);
/* The helper has no more rights than any process of its user from now on: nothing is attached later. */
void inspector_give_up_rights(struct inspector *i);
void inspector_free(struct inspector *i);

/* Readable when an answer has come; -1 without a helper. */
int inspector_fd(const struct inspector *i);
/*
 * Until then (monotonic clock), asking waits as long as it takes up to the deadline, and nothing is INSPECT_LATER:
 * before recording begins (INSPECT_ALWAYS), and when it has ended. 0: no longer.
 */
#define INSPECT_ALWAYS UINT64_MAX
void inspector_wait_until(struct inspector *i, uint64_t until_ns);
/* What was answered about the process does not hold any more, as when it runs another program, or is not needed. */
void inspector_forget(struct inspector *i, uint32_t pid);
/* How many questions were given up. */
uint64_t inspector_given_up(const struct inspector *i);

/* Mappings out of an answer. */
struct inspect_list {
	struct bytes answer;
	size_t at;
	uint32_t left, over;
	uint64_t mount_namespace;
};
/* The code that a process has mapped; its mapping at `address`; that of its executable. To be given to
 * inspect_list_free(). */
int inspector_code(struct inspector *i, uint32_t pid, struct inspect_list *list, struct fault *why);
int inspector_mapping(struct inspector *i, uint32_t pid, uint64_t address, struct mapping *m, struct fault *why);
int inspector_exe(struct inspector *i, uint32_t pid, struct mapping *m, struct fault *why);
bool inspect_list_next(struct inspect_list *list, struct mapping *m);
void inspect_list_free(struct inspect_list *list);

/* Of the mapping m of a process: only address, offset, device and inode of *m are inspected. */
int inspector_open(struct inspector *i, uint32_t pid, const struct mapping *m, struct inspect_file *f,
		   struct fault *why);
/* The functions in it that are probed; the caller frees *found. Their names count as struct inspect_functions says. */
int inspector_functions(struct inspector *i, uint32_t pid, const struct mapping *m, const struct stamp *stamp,
			struct inspect_functions *head, struct image_match **found, struct fault *why);
/* As attach_library(), in sites[].error. */
int inspector_attach(struct inspector *i, uint32_t pid, const struct mapping *m, const struct stamp *stamp,
		     struct attach_site *sites, size_t nsites, struct fault *why);
/* The function that offset `at` of module number `module` lies in: as image_symbol(), "" when it is in none. */
int inspector_symbol(struct inspector *i, uint32_t pid, const struct mapping *m, const struct stamp *stamp,
		     uint32_t module, uint64_t at, char *name, size_t size, uint64_t *plus, struct fault *why);
/*
 * The program of a process and its arguments. INSPECT_DONE also where neither could be read: the results say so. Here
 * and in the next, asking again gets the same answer until inspector_forget(): who has to come again for one keeps what
 * was read before it.
 */
int inspector_arguments(struct inspector *i, uint32_t pid, struct inspect_arguments *head, char *text, size_t size,
			struct fault *why);
/* The program of a process, its control group and namespaces. INSPECT_DONE as above. */
int inspector_program(struct inspector *i, uint32_t pid, struct inspect_program *p, struct fault *why);

/* The user stack of a thread, as unwinder_stack() has it, at most STACK_FRAMES of it. */
int inspector_stack(struct inspector *i, uint32_t pid, uint64_t start_ns, const struct thread_at *thread,
		    uint64_t *frames, size_t max, size_t *n, uint32_t *flags, struct fault *why);

/* A file that a person named, for the next questions, which this process then works at itself; -1: no longer. */
void inspector_give_file(struct inspector *i, int fd);

#endif
