/* SPDX-License-Identifier: Apache-2.0 */
/* One question at a time is worked at; answers wait here until who asked asks again. */
#include "record/inspect/inspector_internal.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "format/base/clock.h"

int inspector_new(struct inspector **out, const struct procfs *fs, struct attach *attach, struct fault *why)
{
	struct inspector *i = calloc(1, sizeof(*i));
	int r;

	if (!i)
		return fault_no_memory(why);
	i->fs = fs;
	i->attach = attach;
	r = bench_new(&i->bench, fs, attach, why);
	if (r < 0) {
		free(i);
		return r;
	}
	*out = i;
	return 0;
}

int inspector_start(struct inspector *i, struct fault *why)
{
	return helper_start(&i->helper, i->fs, i->attach, why);
}

void inspector_free(struct inspector *i)
{
	if (!i)
		return;
	helper_stop(&i->helper);
	for (size_t k = 0; k < INSPECT_ANSWERS; k++) {
		bytes_free(&i->answers[k].bytes);
	}
	bytes_free(&i->local.bytes);
	bench_free(i->bench);
	free(i);
}

void inspector_give_up_rights(struct inspector *i)
{
	if (!i->helper.keeper)
		return;
	if (i->coming)
		i->coming->number = 0;
	i->coming = NULL;
	helper_replace(&i->helper, HELPER_NARROW);
}

int inspector_fd(const struct inspector *i)
{
	return i->helper.keeper ? i->helper.answer : -1;
}

void inspector_wait_until(struct inspector *i, uint64_t until_ns)
{
	i->patient_until_ns = until_ns;
}

void inspector_forget(struct inspector *i, uint32_t pid)
{
	for (size_t k = 0; k < INSPECT_ANSWERS; k++)
		if (i->answers[k].ask.pid == pid && !i->answers[k].ask.inode)
			i->answers[k].ask.op = 0;
}

uint64_t inspector_given_up(const struct inspector *i)
{
	return i->given_up;
}

void inspector_give_file(struct inspector *i, int fd)
{
	i->given = fd >= 0;
	bench_give_file(i->bench, fd);
}

/* --- what took too long --- */

/* A question is about a file, or about a process where it is not; or about its memory. */
static struct penalty subject_of(const struct inspect_ask *ask)
{
	bool file = ask->inode != 0;

	return (struct penalty){.pid = file ? 0 : ask->pid,
				.stack = ask->op == INSPECT_STACK,
				.inode = ask->inode,
				.device = (uint64_t)ask->dev_major << 32 | ask->dev_minor};
}

static bool same_subject(const struct penalty *a, const struct penalty *b)
{
	return a->pid == b->pid && a->stack == b->stack && a->inode == b->inode && a->device == b->device;
}

static struct penalty *penalty_of(struct inspector *i, const struct inspect_ask *ask)
{
	const struct penalty subject = subject_of(ask);

	for (size_t k = 0; k < INSPECT_PENALTIES; k++)
		if (i->penalties[k].times && same_subject(&i->penalties[k], &subject))
			return &i->penalties[k];
	return NULL;
}

static void punish(struct inspector *i, const struct inspect_ask *ask)
{
	struct penalty *p = penalty_of(i, ask);
	unsigned doubled;

	if (!p) {
		p = &i->penalties[i->next_penalty++ % INSPECT_PENALTIES];
		*p = subject_of(ask);
	}
	doubled = p->times++ < INSPECT_REFUSE_DOUBLED ? p->times - 1 : INSPECT_REFUSE_DOUBLED;
	p->until_ns = clock_ns(CLOCK_MONOTONIC) + (INSPECT_REFUSE_NS << doubled);
}

static int too_slow(struct fault *why)
{
	return fault_set(why, ERR_IO, FAULT_NOWHERE, "it did not answer within %llu ms", INSPECT_DEADLINE_NS / 1000000);
}

/* --- answers --- */

static bool same_ask(const struct inspect_ask *a, const struct inspect_ask *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

static struct answer *answer_to(struct inspector *i, const struct inspect_ask *ask)
{
	for (size_t k = 0; k < INSPECT_ANSWERS; k++)
		if (i->answers[k].whole && clock_ns(CLOCK_MONOTONIC) - i->answers[k].came_ns < INSPECT_DEADLINE_NS &&
		    same_ask(&i->answers[k].ask, ask))
			return &i->answers[k];
	return NULL;
}

/* For the answer to come: of those that nobody came for, the oldest goes. */
static struct answer *make_room(struct inspector *i)
{
	struct answer *oldest = &i->answers[0];

	for (size_t k = 0; k < INSPECT_ANSWERS && oldest->number; k++)
		if (i->answers[k].number < oldest->number)
			oldest = &i->answers[k];
	bytes_reset(&oldest->bytes);
	oldest->whole = false;
	return oldest;
}

static void give_up(struct inspector *i)
{
	struct answer *a = i->coming;

	helper_replace(&i->helper, HELPER_REPLACE);
	punish(i, &a->ask);
	i->given_up += a->ask.op != INSPECT_STACK; /* who asks counts those */
	a->number = 0;
	i->coming = NULL;
}

/* Take in what has come. What is not as it should be is an answer that never comes. */
static void receive(struct inspector *i)
{
	struct answer *a = i->coming;

	if (!a || !helper_receive(&i->helper, a->number, &a->bytes))
		return;
	if (a->bytes.failed || a->bytes.len < sizeof(struct inspect_head)) {
		give_up(i);
		return;
	}
	a->whole = true;
	a->came_ns = clock_ns(CLOCK_MONOTONIC);
	i->coming = NULL;
}

/* How long asking may wait now. */
static uint64_t may_wait(struct inspector *i, uint64_t now_ns)
{
	uint64_t left;

	if (i->patient_until_ns > now_ns)
		return i->patient_until_ns - now_ns < INSPECT_DEADLINE_NS ? i->patient_until_ns - now_ns
									  : INSPECT_DEADLINE_NS;
	if (now_ns - i->second_ns >= 1000000000u) {
		i->second_ns = now_ns;
		i->waited_ns = 0;
	}
	left = i->waited_ns < INSPECT_BUDGET_NS ? INSPECT_BUDGET_NS - i->waited_ns : 0;
	return left < INSPECT_WAIT_NS ? left : INSPECT_WAIT_NS;
}

/* Wait for the answer that is coming until there is none, or the time is over. */
static void await(struct inspector *i)
{
	uint64_t begin_ns = clock_ns(CLOCK_MONOTONIC), most_ns = may_wait(i, begin_ns), at_ns = begin_ns;

	receive(i);
	while (i->coming && at_ns - begin_ns < most_ns && at_ns < i->coming_ns + INSPECT_DEADLINE_NS) {
		struct pollfd p = {.fd = i->helper.answer, .events = POLLIN};
		uint64_t left_ns = most_ns - (at_ns - begin_ns);
		struct timespec t = {.tv_sec = (time_t)(left_ns / 1000000000u),
				     .tv_nsec = (long)(left_ns % 1000000000u)};

		(void)ppoll(&p, 1, &t, NULL);
		receive(i);
		at_ns = clock_ns(CLOCK_MONOTONIC);
	}
	i->waited_ns += at_ns - begin_ns;
	if (i->coming && clock_ns(CLOCK_MONOTONIC) >= i->coming_ns + INSPECT_DEADLINE_NS)
		give_up(i);
}

static bool send_ask(struct inspector *i, const struct inspect_ask *ask, const struct attach_site *sites)
{
	struct answer *a = make_room(i);

	if (!helper_send(&i->helper, ++i->number, ask, sites))
		return false;
	a->ask = *ask;
	a->number = i->number;
	i->coming = a;
	i->coming_ns = clock_ns(CLOCK_MONOTONIC);
	return true;
}

static int ask_helper(struct inspector *i, const struct inspect_ask *ask, const struct attach_site *sites,
		      struct answer **out, struct fault *why)
{
	const struct penalty *p;
	bool sent = false;

	for (;;) {
		*out = answer_to(i, ask);
		if (*out)
			return INSPECT_DONE;
		p = penalty_of(i, ask);
		if (p && clock_ns(CLOCK_MONOTONIC) < p->until_ns)
			return too_slow(why);
		if (!i->coming) {
			if (sent || !send_ask(i, ask, sites))
				return fault_set(why, ERR_IO, FAULT_NOWHERE,
						 "the process that inspects files has failed");
			sent = true;
		}
		await(i);
		if (i->coming)
			return INSPECT_LATER;
	}
}

int inspect_question(struct inspector *i, const struct inspect_ask *ask, struct attach_site *sites, struct answer **out,
		     struct fault *why)
{
	struct inspect_head head;
	int r = INSPECT_DONE;

	*out = &i->local;
	if (i->helper.keeper && !i->given)
		r = ask_helper(i, ask, sites, out, why);
	else if (!bench_work(i->bench, ask, sites, &i->local.bytes))
		r = fault_no_memory(why);
	if (r != INSPECT_DONE)
		return r;
	memcpy(&head, (*out)->bytes.data, sizeof(head));
	(*out)->at = sizeof(head);
	if (head.result >= INSPECT_DONE)
		return INSPECT_DONE;
	inspect_done(*out);
	head.text[sizeof(head.text) - 1] = '\0';
	return head.result < 0 ? fault_set(why, head.result, FAULT_NOWHERE, "%s", head.text) : INSPECT_GONE;
}

void inspect_done(struct answer *a)
{
	bytes_reset(&a->bytes);
	a->number = 0;
	a->whole = false;
}

bool inspect_take(struct answer *a, void *to, size_t n)
{
	if (a->at > a->bytes.len || n > a->bytes.len - a->at)
		return false;
	memcpy(to, a->bytes.data + a->at, n);
	a->at += n;
	return true;
}
