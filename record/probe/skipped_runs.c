/* SPDX-License-Identifier: Apache-2.0 */
#include "record/probe/skipped_runs.h"

#include <bpf/bpf.h>
#include <stdio.h>
#include <string.h>

/* Programs that record nothing, and those that the kernel runs whatever else runs, are not here. */
static const struct {
	const char *program;
	uint16_t probe;
} runs_for[] = {
	{"on_call", PROBE_LIBRARY_CALL},
	{"on_return", PROBE_LIBRARY_CALL},
	{"on_call_multi", PROBE_LIBRARY_CALL},
	{"on_return_multi", PROBE_LIBRARY_CALL},
	{"on_switch", PROBE_SWITCH},
	{"on_waking", PROBE_WAKING},
	{"on_fault", PROBE_FAULT},
	{"on_oom", PROBE_OOM},
	{"on_signal", PROBE_SIGNAL},
	{"on_request", PROBE_DISK},
	{"on_segment", PROBE_NETWORK},
	{"on_connection", PROBE_NETWORK},
	{"on_reclaim_begin", PROBE_RECLAIM},
	{"on_reclaim_end", PROBE_RECLAIM},
	{"on_limit_begin", PROBE_RECLAIM},
	{"on_limit_end", PROBE_RECLAIM},
	{"on_compact_begin", PROBE_RECLAIM},
	{"on_compact_end", PROBE_RECLAIM},
	{"on_fork", PROBE_FORK},
	{"on_exec", PROBE_EXEC},
	{"on_exit", PROBE_EXIT},
	{"on_rename", PROBE_THREAD_NAME},
	{"on_metrics", PROBE_METRIC},
	{"on_sys_enter", PROBE_FUTEX},
	{"on_sys_exit", PROBE_FUTEX},
};

uint16_t skipped_runs_probe(const char *program)
{
	for (size_t i = 0; i < sizeof(runs_for) / sizeof(runs_for[0]); i++)
		if (!strcmp(runs_for[i].program, program))
			return runs_for[i].probe;
	return 0;
}

/* False: the kernel does not report. */
static bool skips_of(const struct bpf_program *program, uint64_t *n)
{
	struct bpf_prog_info info;
	__u32 size = sizeof(info);

	*n = 0;
	if (bpf_program__fd(program) < 0)
		return true;
	memset(&info, 0, sizeof(info));
	if (bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size))
		return false;
	*n = info.recursion_misses;
	return true;
}

void skipped_runs_begin(struct skipped_runs *s, const struct bpf_object *object)
{
	struct bpf_program *program;
	size_t i = 0;

	memset(s, 0, sizeof(*s));
	bpf_object__for_each_program(program, object)
	{
		if (i == REFUSALS_MAX)
			break;
		if (!skips_of(program, &s->before[i++]))
			s->unemitted = true;
	}
}

void skipped_runs_count(struct skipped_runs *s, const struct bpf_object *object, struct counters *c)
{
	struct bpf_program *program;
	size_t i = 0;

	bpf_object__for_each_program(program, object)
	{
		uint64_t n, all;

		if (i == REFUSALS_MAX)
			break;
		if (!skips_of(program, &n))
			s->unemitted = true;
		all = n > s->before[i] ? n - s->before[i] : 0;
		if (all > s->counted[i]) {
			counters_add_lost(c, skipped_runs_probe(bpf_program__name(program)), COUNT_not_run,
					  all - s->counted[i]);
			s->counted[i] = all;
		}
		i++;
	}
}

uint64_t skipped_runs_emit(const struct skipped_runs *s, const struct bpf_object *object, char *text, size_t size)
{
	struct bpf_program *program;
	uint64_t sum = 0;
	size_t i = 0, used = 0;

	*text = 0;
	if (s->unemitted) {
		(void)snprintf(text, size, "not known");
		return UINT64_MAX;
	}
	bpf_object__for_each_program(program, object)
	{
		uint64_t n = i < REFUSALS_MAX ? s->counted[i] : 0;

		i++;
		sum += n;
		if (n && used < size)
			used += (size_t)snprintf(text + used, size - used, "%s%s %llu", used ? ", " : "",
						 bpf_program__name(program), (unsigned long long)n);
	}
	return sum;
}
