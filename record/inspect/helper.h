/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processes behind inspector.h. A keeper, forked off once, before there is a secret: it does nothing but begin
 * workers, and kill the one there is when it is asked to. A worker reads a question, works at it, and answers.
 *
 * Keeper and worker share their descriptors, so that the probes which a worker has put on stay when it is killed; those
 * of the worker that are none are closed then. There is no socket: questions and answers are in shared memory, and
 * pipes report them.
 */
#ifndef GPUREC_RECORD_INSPECT_HELPER_H
#define GPUREC_RECORD_INSPECT_HELPER_H

#include <sys/types.h>

#include "record/inspect/inspect.h"

#define HELPER_LINKS_MAX 32768 /* descriptors by which probes stay on */

/* Shared. What the recorder reads of it, a process wrote that hostile files may have taken over. */
struct helper_board {
	uint64_t number; /* of the question */
	struct inspect_ask ask;
	struct attach_site sites[IMAGE_MATCHES_MAX];
	uint32_t nlinks;
	int links[HELPER_LINKS_MAX];
	uint8_t answer[2 * INSPECT_ANSWER_MAX];
};

/* Through the pipe back: an answer is there. */
struct helper_bell {
	uint64_t number;
	uint64_t bytes;
};

struct helper {
	pid_t keeper; /* 0: none */
	int ask;      /* numbers of questions go in here */
	int answer;   /* struct helper_bell come out of here */
	int command;  /* to the keeper: a byte asks for another worker, its end for the keeper's own */
	struct helper_board *board;
};

int helper_start(struct helper *h, const struct procfs *fs, struct attach *attach, struct fault *why);
/* The worker that there is is killed, and not waited for; another one takes its place, for good without any right. */
#define HELPER_REPLACE 'r'
#define HELPER_NARROW 'n'
void helper_replace(const struct helper *h, char how);
/* Both end, and all probes that they put on are taken off; what hangs is not waited for. */
void helper_stop(struct helper *h);

/* False: it cannot be sent now. */
bool helper_send(const struct helper *h, uint64_t number, const struct inspect_ask *ask,
		 const struct attach_site *sites);
/* Whether the answer to this question has come; it is copied into *answer. Others that come late are left aside. */
bool helper_receive(const struct helper *h, uint64_t number, struct bytes *answer);

#endif
