/* SPDX-License-Identifier: Apache-2.0 */
/* What inspector.c (asking, waiting, giving up) and answers.c (what each answer holds) share. */
#ifndef GPUREC_RECORD_INSPECT_INSPECTOR_INTERNAL_H
#define GPUREC_RECORD_INSPECT_INSPECTOR_INTERNAL_H

#include "record/inspect/helper.h"
#include "record/inspect/inspector.h"

#define INSPECT_ANSWERS 16   /* that wait for who asked */
#define INSPECT_PENALTIES 64 /* files and processes that are refused for a while */

struct answer {
	struct inspect_ask ask;
	uint64_t number; /* 0: free */
	bool whole;
	uint64_t came_ns;
	struct bytes bytes;
	size_t at; /* in them: what comes next */
};

struct penalty {
	uint32_t pid; /* or a file: */
	bool stack;   /* of one of its threads alone */
	uint32_t times;
	uint64_t inode, device;
	uint64_t until_ns;
};

struct inspector {
	const struct procfs *fs;
	struct attach *attach;
	struct bench *bench; /* of this process */
	struct answer local;
	bool given;
	struct helper helper;
	uint64_t patient_until_ns;
	uint64_t number; /* of the last question sent */
	struct answer answers[INSPECT_ANSWERS];
	struct answer *coming; /* NULL: the helper has nothing to do */
	uint64_t coming_ns;
	uint64_t second_ns, waited_ns; /* of this second */
	struct penalty penalties[INSPECT_PENALTIES];
	uint32_t next_penalty;
	uint64_t given_up;
};

/* INSPECT_DONE: the answer, behind its head, to be given to inspect_done(). INSPECT_LATER, or as its head says. */
int inspect_question(struct inspector *i, const struct inspect_ask *ask, struct attach_site *sites, struct answer **out,
		     struct fault *why);
void inspect_done(struct answer *a);
/* The next n bytes of the answer; false: it has not so many. */
bool inspect_take(struct answer *a, void *to, size_t n);

#endif
