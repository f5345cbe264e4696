/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/model/scheduling.h"

#include <stdlib.h>
#include <string.h>

#include "format/base/array.h"
#include "format/base/cpu_list.h"

#define NICE_LEAST (-20)
#define NICE_MOST 19
#define PRIORITY_MOST 99

/* *out NULL: beyond the limit. */
static int keep(struct cpu_sets *sets, const char *list, size_t nbytes, const struct cpu_set **out, struct fault *why)
{
	struct cpu_set **more, *set;

	*out = NULL;
	for (size_t i = 0; i < sets->n; i++)
		if (sets->all[i]->nbytes == nbytes && memcmp(sets->all[i]->list, list, nbytes) == 0) {
			*out = sets->all[i];
			return 0;
		}
	if (sets->n == CPU_SETS_MAX)
		return 0;
	more = array_grow(sets->all, &sets->room, sets->n + 1, sizeof(struct cpu_set *));
	if (!more)
		return fault_no_memory(why);
	sets->all = more;
	set = malloc(sizeof(*set) + nbytes);
	if (!set)
		return fault_no_memory(why);
	set->nbytes = nbytes;
	memcpy(set->list, list, nbytes);
	sets->all[sets->n++] = set;
	*out = set;
	return 0;
}

int scheduling_feed(struct scheduling *s, struct cpu_sets *sets, const struct event *ev, struct fault *why)
{
	const uint64_t *v = ev->v;
	int64_t nice = (int64_t)v[F_scheduling_nice];

	*s = (struct scheduling){0};
	/* What no kernel says is not known. */
	if (v[F_scheduling_policy] <= UINT8_MAX && v[F_scheduling_priority] <= PRIORITY_MOST && nice >= NICE_LEAST &&
	    nice <= NICE_MOST)
		*s = (struct scheduling){.known = true,
					 .policy = (uint8_t)v[F_scheduling_policy],
					 .nice = (int8_t)nice,
					 .priority = (uint8_t)v[F_scheduling_priority]};
	if (!ev->text[F_scheduling_cpus] || !v[F_scheduling_cpus])
		return 0;
	return keep(sets, ev->text[F_scheduling_cpus], (size_t)v[F_scheduling_cpus], &s->cpus, why);
}

void cpu_sets_clear(struct cpu_sets *sets)
{
	for (size_t i = 0; i < sets->n; i++)
		free(sets->all[i]);
	free(sets->all);
	*sets = (struct cpu_sets){0};
}

bool scheduling_is_real_time(const struct scheduling *s)
{
	return s->known &&
	       (s->policy == POLICY_FIFO || s->policy == POLICY_ROUND_ROBIN || s->policy == POLICY_DEADLINE);
}

int scheduling_rank(const struct scheduling *s)
{
	if (s->policy == POLICY_DEADLINE)
		return NICE_MOST + 2 + PRIORITY_MOST + 1;
	if (scheduling_is_real_time(s))
		return NICE_MOST + 1 + s->priority;
	return s->policy == POLICY_IDLE ? -NICE_MOST - 1 : -s->nice;
}

int scheduling_may_run(const struct scheduling *s, uint32_t cpu)
{
	return s->cpus ? cpu_list_has(s->cpus->list, s->cpus->nbytes, cpu) : -1;
}
