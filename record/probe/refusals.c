/* SPDX-License-Identifier: Apache-2.0 */
#include "record/probe/refusals.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "format/tracepoints.h"

/*
 * Old kernels keep the beginning of a log that does not fit, and fail for that instead; so there is room for the
 * longest that they write. It takes memory only once it is written.
 */
#define LOG_BYTES (16u << 20)
#define LOG_BYTES_EACH ((LOG_BYTES - REFUSALS_MAX * LOG_STEP) - 1)
/* Logs begin at places of their own: what is written first reports whose it is. */
#define LOG_STEP 64u

void refusals_clear(struct refusals *r)
{
	if (r->log)
		munmap(r->log, LOG_BYTES);
	memset(r, 0, sizeof(*r));
}

int refusals_watch(struct refusals *r, struct bpf_object *object, struct fault *why)
{
	struct bpf_program *program;
	size_t i = 0;

	if (r->log)
		munmap(r->log, LOG_BYTES);
	r->log = mmap(NULL, LOG_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (r->log == MAP_FAILED) {
		r->log = NULL;
		return fault_no_memory(why);
	}
	bpf_object__for_each_program(program, object)
	{
		if (i < REFUSALS_MAX)
			(void)bpf_program__set_log_buf(program, r->log + i * LOG_STEP, LOG_BYTES_EACH);
		i++;
	}
	return 0;
}

/* Where the log begins that was written; NULL: none was. */
static const char *log_begin(const struct refusals *r)
{
	for (size_t i = 0; r->log && i < REFUSALS_MAX; i++)
		if (r->log[i * LOG_STEP])
			return r->log + i * LOG_STEP;
	return NULL;
}

const struct bpf_program *refusals_culprit(const struct refusals *r, struct bpf_object *object)
{
	const char *log = log_begin(r);
	struct bpf_program *program;
	size_t i = 0;

	if (!log)
		return NULL;
	bpf_object__for_each_program(program, object)
	{
		if (r->log + i++ * LOG_STEP == log)
			return program;
	}
	return NULL;
}

const char *refusals_log(const struct refusals *r)
{
	const char *log = log_begin(r);

	return log ? log : "";
}

bool refusals_add(struct refusals *r, const struct bpf_program *program, const char *tracepoint)
{
	struct refusal *one = &r->list[r->n];

	if (r->n == REFUSALS_MAX)
		return false;
	(void)snprintf(one->program, sizeof(one->program), "%s", bpf_program__name(program));
	(void)snprintf(one->tracepoint, sizeof(one->tracepoint), "%s", tracepoint);
	verifier_reason(refusals_log(r), one->reason, sizeof(one->reason));
	r->n++;
	return true;
}

bool refusals_has(const struct refusals *r, const char *program)
{
	for (size_t i = 0; i < r->n; i++)
		if (!strcmp(r->list[i].program, program))
			return true;
	return false;
}

/* Lines that are behind the reason: "processed 12 insns (limit 1000000) ...", "verification time 52 usec", ... */
static bool is_statistics(const char *line)
{
	static const char *const begin[] = {"processed ", "verification time ", "stack depth ", "max_states"};

	for (size_t i = 0; i < sizeof(begin) / sizeof(begin[0]); i++)
		if (!strncmp(line, begin[i], strlen(begin[i])))
			return true;
	return false;
}

void verifier_reason(const char *log, char *buf, size_t size)
{
	const char *reason = "";
	size_t len = 0;

	for (const char *line = log; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		size_t n = strcspn(line, "\n");

		if (!n || is_statistics(line))
			continue;
		reason = line;
		len = n;
	}
	(void)snprintf(buf, size, "%.*s", (int)(len < size ? len : size - 1), reason);
}

const char *refusal_effect(const struct refusal *r, char buf[REFUSAL_EFFECT_MAX])
{
	/* Of programs without which a tracepoint's events are there all the same. */
	static const struct {
		const char *program, *effect;
	} others[] = {
		{"on_metrics", "not recorded: how busy the CPUs are"},
		{"on_each_task",
		 "threads that ran before recording began are named only once they are seen; not recorded: what threads "
		 "are in when recording begins and ends"},
		{"on_suspend", "times are read from a slower clock"},
	};
	const struct tracepoint *t = tracepoint_find(r->tracepoint, strlen(r->tracepoint));
	const char *effect = "some events are not recorded";

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (!strcmp(others[i].program, r->program))
			effect = others[i].effect;
	(void)snprintf(buf, REFUSAL_EFFECT_MAX, "%s%s", t ? "not recorded: " : "", t ? t->lacks : effect);
	return buf;
}
