/* SPDX-License-Identifier: Apache-2.0 */
/* The user stacks of threads at a moment: read by the helper, a little at a time, behind all else that is asked of it.
 */
#include "record/recording_internal.h"
#include "format/base/array.h"

#include <stdlib.h>

#include "record/row.h"

void recording_want_stack(struct recording *s, const struct ring_state *state)
{
	struct stack_queue *q = &s->processes.stacks;
	struct ring_state *more = NULL;

	if (q->n < THREAD_STACKS_MAX)
		more = array_grow(q->list, &q->room, q->n + 1, sizeof(*more));
	if (!more) {
		q->unread++;
		return;
	}
	q->list = more;
	more[q->n++] = *state;
}

void recording_drop_stacks(struct recording *s)
{
	struct stack_queue *q = &s->processes.stacks;

	q->unread += q->n - q->next;
	free(q->list);
	q->list = NULL;
	q->n = q->room = q->next = 0;
}

static int emit_stack(struct recording *s, const struct ring_state *of, const uint64_t *frames, size_t n,
		      uint32_t flags, struct fault *why)
{
	uint64_t at_ns = kernel_boot_ns(&s->fs.clock);
	struct row row = row_of(KIND_thread_stack, at_ns);
	uint32_t id = 0;
	int r = stacks_number(s->stacks, s->writer, at_ns, of->pid, of->start_ns, frames, n, true, &id, why);

	if (r < 0)
		return r;
	row.v[F_thread_stack_pid] = of->pid;
	row.v[F_thread_stack_tid] = of->tid;
	row.v[F_thread_stack_moment] = of->moment;
	row.v[F_thread_stack_stack] = id;
	row.v[F_thread_stack_flags] = flags;
	return id ? row_emit(&row, s->writer, why) : ERR_MEMORY;
}

/* INSPECT_LATER, 0, or negative. */
static int read_one(struct recording *s, const struct ring_state *of, struct fault *why)
{
	const struct thread_at thread = {.tid = of->tid,
					 .switches = of->state ? of->switches : 0,
					 .registers = {of->ip, of->sp, of->fp, of->lr}};
	uint64_t frames[STACK_FRAMES];
	struct fault said;
	uint32_t flags = 0;
	size_t n = 0;
	int r = inspector_stack(s->inspector, of->pid, of->start_ns, &thread, frames, STACK_FRAMES, &n, &flags, &said);

	if (r == INSPECT_LATER)
		return r;
	/* Of one that has run meanwhile: what fits together down to its first function was its stack. */
	if (r == INSPECT_DONE && n && flags)
		r = emit_stack(s, of, frames, n, flags, why);
	else
		r = ERR_MEMORY;
	s->processes.stacks.unread += r == ERR_MEMORY;
	return r == ERR_MEMORY ? 0 : r;
}

int recording_read_stacks(struct recording *s, uint64_t until_ns, struct fault *why)
{
	struct stack_queue *q = &s->processes.stacks;
	int r = 0;

	while (r == 0 && q->next < q->n) {
		const struct ring_state of = q->list[q->next];

		if (until_ns ? clock_ns(CLOCK_MONOTONIC) > until_ns : stacks_late(s->stacks))
			break;
		r = read_one(s, &of, why);
		q->next += r == 0;
	}
	if (until_ns || q->next == q->n)
		recording_drop_stacks(s);
	return r < 0 ? r : 0;
}
