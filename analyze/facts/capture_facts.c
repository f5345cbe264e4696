// SPDX-License-Identifier: Apache-2.0
#include "analyze/facts/capture_facts.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/finding.h"
#include "format/tracepoints.h"

/*
 * The facts that are kept. Of sort BLIND_SORTS: nothing that could not be seen. `fine`: the value begins so where all
 * is well; NULL: any value is bad. `text`: the sentence, with the value behind it if `valued`; NULL: the value is a
 * sentence.
 */
static const struct about_fact {
	const char *name;
	enum blind_sort sort;
	const char *fine;
	const char *text;
	bool valued;
} table[] = {
	{.name = "hostname", .sort = BLIND_SORTS},
	{.name = "kernel", .sort = BLIND_SORTS},
	{.name = "nvidia_driver", .sort = BLIND_SORTS},
	{.name = "virtualisation", .sort = BLIND_SORTS},
	{.name = "mode", .sort = BLIND_SORTS},
	{.name = "authority", .sort = BLIND_SORTS},
	{.name = "proc_hidepid",
	 .sort = BLIND_RIGHTS,
	 .text = "Processes of others, which /proc (hidepid) hides from those who lack CAP_SYS_PTRACE"},
	{.name = "processes_denied", .sort = BLIND_RIGHTS},
	{.name = "mappings_denied", .sort = BLIND_RIGHTS},
	{.name = "libraries_unseen", .sort = BLIND_LIBRARIES},
	{.name = "libraries_unread", .sort = BLIND_LIBRARIES},
	{.name = "library_problem", .sort = BLIND_LIBRARIES, .text = "A library or program, ", .valued = true},
	{.name = "files_not_looked_at", .sort = BLIND_LIBRARIES},
	{.name = "runtimes_stripped", .sort = BLIND_STRIPPED},
	{.name = "tracepoints_absent",
	 .sort = BLIND_TRACEPOINTS,
	 .fine = "none",
	 .text = "What this kernel has no tracepoint for: "},
	{.name = "programs_refused", .sort = BLIND_SORTS}, /* what is lacking for them is in tracepoints_absent */
	{.name = "waking_context",
	 .sort = BLIND_WAKING,
	 .fine = "known",
	 .text = "Whether a thread or an interrupt woke a sleeper: this kernel does not prove it"},
	{.name = "futex",
	 .sort = BLIND_OPTIONS,
	 .fine = "recorded",
	 .text = "Waits for locks, which are reported as some sleep: futexes were ",
	 .valued = true},
	{.name = "cpu_quota",
	 .sort = BLIND_OPTIONS,
	 .fine = "recorded",
	 .text = "When a CPU quota kept threads from running, which then looks like waiting for a CPU: ",
	 .valued = true},
	{.name = "signals",
	 .sort = BLIND_OPTIONS,
	 .fine = "recorded",
	 .text = "Who stopped, continued or ended processes by a signal: ",
	 .valued = true},
	{.name = "disks",
	 .sort = BLIND_OPTIONS,
	 .fine = "recorded",
	 .text = "For which request to a disk threads waited: ",
	 .valued = true},
	{.name = "network",
	 .sort = BLIND_OPTIONS,
	 .fine = "recorded",
	 .text = "Through which connection came what threads waited for: ",
	 .valued = true},
	{.name = "reclaim",
	 .sort = BLIND_OPTIONS,
	 .fine = "recorded",
	 .text = "When threads had to free memory by themselves: ",
	 .valued = true},
	{.name = "follow",
	 .sort = BLIND_OPTIONS,
	 .fine = "recorded",
	 .text = "What those did that are not recorded, and kept recorded threads waiting: ",
	 .valued = true},
	{.name = "follow_beyond", .sort = BLIND_ORDINARY},
	{.name = "cgroups_not_looked_at", .sort = BLIND_ORDINARY},
	{.name = "states_unread", .sort = BLIND_ORDINARY},
	{.name = "states_beyond", .sort = BLIND_ORDINARY},
	{.name = "stacks_unread", .sort = BLIND_ORDINARY},
	{.name = "stacks_unnamed", .sort = BLIND_ORDINARY},
	{.name = "children",
	 .sort = BLIND_OPTIONS,
	 .fine = "recorded",
	 .text = "What the recorded processes started (--no-children)"},
	{.name = "late_attach",
	 .sort = BLIND_OPTIONS,
	 .fine = "yes",
	 .text = "CUDA libraries that programs loaded after recording began (--no-late-attach)"},
	{.name = "nvml", .sort = BLIND_HEALTH, .fine = "driver", .text = "The health of the GPUs: ", .valued = true},
	{.name = "xid", .sort = BLIND_HEALTH, .text = "Errors that the NVIDIA driver wrote to the kernel's log (Xid)"},
	{.name = "probe_runs_skipped",
	 .sort = BLIND_ORDINARY,
	 .text = "Runs of probes that the kernel left out: ",
	 .valued = true},
	{.name = "processes_gone", .sort = BLIND_ORDINARY},
	{.name = "files_gone", .sort = BLIND_ORDINARY},
	{.name = "command_lines",
	 .sort = BLIND_ORDINARY,
	 .fine = "recorded",
	 .text = "The arguments of processes (--no-command-lines)"},
	{.name = "paths", .sort = BLIND_ORDINARY, .fine = "recorded", .text = "Where files are (--no-paths)"},
	{.name = "frames_unplaced", .sort = BLIND_ORDINARY},
	{.name = "modules_not_numbered", .sort = BLIND_ORDINARY},
};
#define NTABLE (sizeof(table) / sizeof(table[0]))
_Static_assert(NTABLE == ABOUT_FACTS, "a place for each fact");

/* A later row replaces an earlier one. */
static int keep(char **place, size_t *len, const struct event *ev, unsigned field, struct fault *why)
{
	size_t n = ev->v[field] < ABOUT_VALUE_KEPT ? (size_t)ev->v[field] : ABOUT_VALUE_KEPT;
	char *copy = malloc(n + 1);

	if (!copy)
		return fault_no_memory(why);
	if (n)
		memcpy(copy, ev->text[field], n);
	copy[n] = 0;
	free(*place);
	*place = copy;
	*len = n;
	return 0;
}

static int feed_fact(struct about *a, const struct event *ev, struct fault *why)
{
	const char *name = ev->text[F_fact_name];

	if (!name || !ev->text[F_fact_value])
		return 0;
	for (unsigned i = 0; i < NTABLE; i++)
		if (ev->v[F_fact_name] == strlen(table[i].name) &&
		    memcmp(name, table[i].name, strlen(table[i].name)) == 0)
			return keep(&a->facts[i], &a->fact_bytes[i], ev, F_fact_value, why);
	return 0;
}

/* The first process's; what it becomes by exec counts, too. */
static int feed_command(struct about *a, const struct event *ev, struct fault *why)
{
	uint64_t pid = ev->v[F_command_line_pid];

	if (!ev->text[F_command_line_text] || (a->command && a->command_pid != pid))
		return 0;
	a->command_pid = pid;
	return keep(&a->command, &a->command_bytes, ev, F_command_line_text, why);
}

static void feed_gpu(struct about *a, const struct event *ev)
{
	struct about_gpu *gpu;
	unsigned i = 0;

	while (i < a->ngpus && i < ABOUT_GPUS_KEPT && a->gpus[i].index != ev->v[F_gpu_index])
		i++;
	if (i < a->ngpus && i < ABOUT_GPUS_KEPT)
		return;
	a->ngpus++;
	if (i == ABOUT_GPUS_KEPT)
		return;
	gpu = &a->gpus[i];
	gpu->index = ev->v[F_gpu_index];
	gpu->bytes = ev->v[F_gpu_name] < sizeof(gpu->name) ? (size_t)ev->v[F_gpu_name] : sizeof(gpu->name);
	if (gpu->bytes && ev->text[F_gpu_name])
		memcpy(gpu->name, ev->text[F_gpu_name], gpu->bytes);
}

bool about_wants(uint16_t kind)
{
	return kind == KIND_fact || kind == KIND_command_line || kind == KIND_gpu || kind == KIND_cpu;
}

int about_feed(struct about *a, const struct event *ev, struct fault *why)
{
	int r;

	switch (ev->kind) {
	case KIND_fact:
		r = feed_fact(a, ev, why);
		a->unreported = about_lacks(a, "sched_switch") || about_lacks(a, "sched_waking");
		return r;
	case KIND_command_line:
		return feed_command(a, ev, why);
	case KIND_gpu:
		feed_gpu(a, ev);
		return 0;
	case KIND_cpu:
		a->steal = a->steal || ev->v[F_cpu_steal] > 0;
		return 0;
	default:
		return 0;
	}
}

void about_clear(struct about *a)
{
	for (unsigned i = 0; i < NTABLE; i++)
		free(a->facts[i]);
	free(a->command);
	memset(a, 0, sizeof(*a));
}

const char *about_fact(const struct about *a, const char *name, size_t *len)
{
	for (unsigned i = 0; i < NTABLE; i++) {
		if (strcmp(table[i].name, name) != 0 || !a->facts[i])
			continue;
		*len = a->fact_bytes[i];
		return a->facts[i];
	}
	return NULL;
}

static bool begins(const struct about *a, const char *fact, const char *with)
{
	size_t len;
	const char *value = about_fact(a, fact, &len);

	return value && strncmp(value, with, strlen(with)) == 0;
}

bool about_is_virtual(const struct about *a)
{
	size_t len;

	return about_fact(a, "virtualisation", &len) && !begins(a, "virtualisation", "none");
}

bool about_hides_steal(const struct about *a)
{
	return about_is_virtual(a) && !a->steal;
}

bool about_is_chosen(const struct about *a)
{
	return begins(a, "mode", "command") || begins(a, "mode", "processes");
}

/* The value of the fact that names the absent tracepoints; "" without it. */
static const char *absent(const struct about *a)
{
	size_t len;
	const char *value = about_fact(a, "tracepoints_absent", &len);

	return value ? value : "";
}

bool about_lacks(const struct about *a, const char *tracepoint)
{
	return tracepoint_named(absent(a), tracepoint);
}

/* In words where there are some; of what is not known the name. */
static void add_tracepoints(const struct about *a, struct text *t)
{
	const char *name, *between = "", *at = absent(a);
	size_t n;

	for (; (name = tracepoint_next(&at, &n)); between = "; ") {
		const struct tracepoint *known = tracepoint_find(name, n);

		text_add(t, "%s%s%s", between, known ? known->lacks : "", known ? " (" : "");
		text_add_escaped(t, name, n);
		text_add(t, "%s", known ? ")" : "");
	}
}

/* Whether the recorder could not see what fact `i` is about. */
static bool is_blind(const struct about *a, unsigned i)
{
	const char *fine = table[i].fine;

	return table[i].sort != BLIND_SORTS && a->facts[i] && !(fine && strncmp(a->facts[i], fine, strlen(fine)) == 0);
}

/* Where there is no NVIDIA driver there is nothing of it to see; not all that is off was switched off. */
static enum blind_sort sort_of(const struct about *a, unsigned i)
{
	if (table[i].sort == BLIND_OPTIONS && strchr(a->facts[i], ':'))
		return BLIND_TRACEPOINTS;
	return table[i].sort == BLIND_HEALTH && begins(a, "nvml", "no NVIDIA driver") ? BLIND_ORDINARY : table[i].sort;
}

static void add_blind(const struct about *a, unsigned i, struct text *t)
{
	size_t len;

	if (!strcmp(table[i].name, "tracepoints_absent") && about_fact(a, "programs_refused", &len))
		text_add(t, "What this kernel has no tracepoint for, or refuses the program for: ");
	else if (table[i].text)
		text_add(t, "%s", table[i].text);
	if (table[i].valued || !table[i].text)
		text_add_escaped(t, a->facts[i], a->fact_bytes[i]);
	if (table[i].sort == BLIND_TRACEPOINTS)
		add_tracepoints(a, t);
}

bool about_blind(const struct about *a, enum blind_sort sort, struct text *t)
{
	size_t before = t->len;

	for (unsigned i = 0; i < NTABLE; i++) {
		if (!is_blind(a, i) || sort_of(a, i) != sort)
			continue;
		add_blind(a, i, t);
		text_add(t, "\n");
	}
	if (sort == BLIND_HOST && about_hides_steal(a))
		text_add(t, "CPU steal time: the hypervisor does not report it, and stolen time shows as on CPU\n");
	return t->len > before;
}

static const struct {
	unsigned severity;
	const char *advice;
} sorts[BLIND_SORTS] = {
	[BLIND_RIGHTS] = {SEVERITY_WARNING, "Record as root, or with CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH besides"},
	[BLIND_LIBRARIES] = {SEVERITY_WARNING,
			     "Name the library with --lib, and look whether the recorder may read it"},
	[BLIND_STRIPPED] = {SEVERITY_WARNING,
			    "Link the CUDA runtime dynamically (nvcc -cudart shared), or do not strip the program"},
	[BLIND_TRACEPOINTS] = {SEVERITY_WARNING, "Record on a kernel that has them; gpurec --check shows why"},
	[BLIND_WAKING] = {SEVERITY_INFO, "Take \"woken by\" with care: an interrupt may have done it"},
	[BLIND_OPTIONS] = {SEVERITY_INFO, "Record without --no-futex and --no-late-attach to see this, too"},
	[BLIND_HEALTH] = {SEVERITY_INFO, "gpurec --check shows what it takes to see this, too"},
	[BLIND_HOST] = {SEVERITY_INFO, ""},
	[BLIND_ORDINARY] = {SEVERITY_INFO, ""},
};

/* Whether the lack of a tracepoint takes something away that findings rest on. */
static bool lacks_much(const struct about *a)
{
	const char *name, *at = absent(a);
	size_t n;

	while ((name = tracepoint_next(&at, &n))) {
		const struct tracepoint *known = tracepoint_find(name, n);

		if (!known || !known->small)
			return true;
	}
	return false;
}

unsigned blind_severity(const struct about *a, enum blind_sort sort)
{
	if (sort == BLIND_TRACEPOINTS && !lacks_much(a))
		return SEVERITY_INFO;
	return sorts[sort].severity;
}

const char *blind_advice(enum blind_sort sort)
{
	return sorts[sort].advice;
}

static void add_fact(const struct about *a, const char *name, const char *before, struct text *t)
{
	size_t len;
	const char *value = about_fact(a, name, &len);

	if (!value || len == 0)
		return;
	text_add(t, "%s%s", t->len ? ", " : "", before);
	text_add_escaped(t, value, len);
}

void about_add_host(const struct about *a, struct text *t)
{
	add_fact(a, "hostname", "", t);
	add_fact(a, "kernel", "Linux ", t);
	add_fact(a, "nvidia_driver", "", t);
	if (!begins(a, "virtualisation", "none"))
		add_fact(a, "virtualisation", "a virtual machine: ", t);
}

void about_add_hostname(const struct about *a, struct text *t)
{
	add_fact(a, "hostname", "", t);
}

void about_add_gpus(const struct about *a, struct text *t)
{
	for (unsigned i = 0; i < a->ngpus && i < ABOUT_GPUS_KEPT; i++) {
		text_add(t, "%s%llu ", i ? ", " : "", (unsigned long long)a->gpus[i].index);
		text_add_escaped(t, a->gpus[i].name, a->gpus[i].bytes);
	}
	if (a->ngpus > ABOUT_GPUS_KEPT)
		text_add(t, " and %u more", a->ngpus - ABOUT_GPUS_KEPT);
}

void about_add_authority(const struct about *a, struct text *t)
{
	add_fact(a, "authority", "", t);
}

void about_add_command(const struct about *a, struct text *t)
{
	if (a->command)
		text_add_escaped(t, a->command, a->command_bytes);
}
