/* SPDX-License-Identifier: Apache-2.0 */
#include "record/deferred.h"
#include "format/base/array.h"

#include <stdlib.h>
#include <string.h>

bool deferred_add(struct deferred_queue *q, const struct deferred *d, const struct ring_exec *exec)
{
	struct ring_exec *copy = NULL;
	struct deferred *more;
	size_t same = 0;

	for (size_t i = 0; i < q->n; i++)
		same += q->list[i].pid == d->pid;
	if (q->n == DEFERRED_MAX || same >= DEFERRED_PROCESS_MAX)
		return false;
	more = array_grow(q->list, &q->room, q->n + 1, sizeof(*more));
	if (!more)
		return false;
	q->list = more;
	if (exec) {
		copy = malloc(sizeof(*copy));
		if (!copy)
			return false;
		*copy = *exec;
	}
	if (q->current == q->n)
		q->current++;
	q->list[q->n] = *d;
	q->list[q->n++].exec = copy;
	return true;
}

static uint64_t turn_of(const struct deferred_queue *q, uint32_t uid)
{
	for (size_t i = 0; i < DEFERRED_USERS; i++)
		if (q->users[i].turn && q->users[i].uid == uid)
			return q->users[i].turn;
	return 0;
}

/* In the place of the user whose turn was longest ago. */
static void take_turn(struct deferred_queue *q, uint32_t uid)
{
	size_t oldest = 0;

	for (size_t i = 0; i < DEFERRED_USERS; i++) {
		if (q->users[i].turn && q->users[i].uid == uid) {
			oldest = i;
			break;
		}
		if (q->users[i].turn < q->users[oldest].turn)
			oldest = i;
	}
	q->users[oldest].uid = uid;
	q->users[oldest].turn = ++q->turn;
}

struct deferred *deferred_next(struct deferred_queue *q)
{
	uint64_t least = UINT64_MAX;

	if (!q->n)
		return NULL;
	if (q->current < q->n)
		return &q->list[q->current];
	for (size_t i = 0; i < q->n; i++) {
		uint64_t turn = turn_of(q, q->list[i].uid);

		if (turn < least) {
			least = turn;
			q->current = i;
		}
	}
	take_turn(q, q->list[q->current].uid);
	return &q->list[q->current];
}

void deferred_remove(struct deferred_queue *q)
{
	free(q->list[q->current].exec);
	memmove(q->list + q->current, q->list + q->current + 1, (q->n - q->current - 1) * sizeof(*q->list));
	q->current = --q->n;
}

void deferred_clear(struct deferred_queue *q)
{
	for (size_t i = 0; i < q->n; i++)
		free(q->list[i].exec);
	free(q->list);
	memset(q, 0, sizeof(*q));
}
