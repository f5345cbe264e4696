/* SPDX-License-Identifier: Apache-2.0 */
#include "record/probe/attach_internal.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "record/probe/counters.h"
#include "record/probe/selftest.h"

/* Generated code keeps its own style. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#include "bpf/gpurec.skel.h"
#pragma GCC diagnostic pop

uint64_t attach_ring_min(void)
{
	return (uint64_t)sysconf(_SC_PAGESIZE);
}

bool attach_ring_valid(uint64_t bytes)
{
	return bytes >= attach_ring_min() && bytes <= RING_BYTES_MAX && !(bytes & (bytes - 1));
}

/* Threads whose open calls are at hand (1.7 KB each); a power of two. */
#define SEATS 2048u
/* One in so many calls of a thread asks how full the ring is; where it holds few, each. */
#define ASK_ONE_IN 16u
#define ASK_RING_BYTES (1u << 20)

#define NTRACEPOINTS 22
#define NSYSCALL_TRACEPOINTS 2

/* Programs on the kernel's own tracepoints, in the order in which they are attached. */
static void tracepoint_programs(const struct gpurec_bpf *s, struct bpf_program *programs[NTRACEPOINTS])
{
	/* Of those at a switch metrics come first: the time that they read is that of the switch. */
	struct bpf_program *const all[NTRACEPOINTS] = {
		s->progs.on_fork,
		s->progs.on_exec,
		s->progs.on_exit,
		s->progs.on_rename,
		s->progs.on_metrics,
		s->progs.on_switch,
		s->progs.on_timer,
		s->progs.on_waking,
		s->progs.on_wakeup,
		s->progs.on_oom,
		s->progs.on_fault,
		s->progs.on_signal,
		s->progs.on_request,
		s->progs.on_held_back,
		s->progs.on_segment,
		s->progs.on_connection,
		/* For an end without its begin nothing is recorded. */
		s->progs.on_reclaim_end,
		s->progs.on_limit_end,
		s->progs.on_compact_end,
		s->progs.on_reclaim_begin,
		s->progs.on_limit_begin,
		s->progs.on_compact_begin,
	};

	memcpy(programs, all, sizeof(all));
}

/* Whether an option asks for what this one reports. */
static bool is_wanted(const struct gpurec_bpf *s, const struct bpf_program *program, const struct attach_options *o)
{
	const struct {
		const struct bpf_program *program;
		bool wanted;
	} choices[] = {
		{s->progs.on_fault, !o->no_faults},    {s->progs.on_signal, o->signals},
		{s->progs.on_request, o->disks},       {s->progs.on_held_back, o->disks && s->rodata->pause_at},
		{s->progs.on_segment, o->network},     {s->progs.on_connection, o->network},
		{s->progs.on_reclaim_end, o->reclaim}, {s->progs.on_limit_end, o->reclaim},
		{s->progs.on_compact_end, o->reclaim}, {s->progs.on_reclaim_begin, o->reclaim},
		{s->progs.on_limit_begin, o->reclaim}, {s->progs.on_compact_begin, o->reclaim},
	};

	for (size_t i = 0; i < sizeof(choices) / sizeof(choices[0]); i++)
		if (choices[i].program == program)
			return choices[i].wanted;
	return true;
}

static const char *target_of(const struct bpf_program *program)
{
	return strchr(bpf_program__section_name(program), '/') + 1;
}

static void note_absent(struct attach *a, const char *tracepoint)
{
	size_t used = strlen(a->facts.absent);

	if (!attach_lacks(a, tracepoint))
		(void)snprintf(a->facts.absent + used, sizeof(a->facts.absent) - used, "%s%s", used ? ", " : "",
			       tracepoint);
}

static bool has_tracepoint(const struct btf *btf, const struct bpf_program *program)
{
	char type[96];

	(void)snprintf(type, sizeof(type), "btf_trace_%s", target_of(program));
	return btf__find_by_name_kind(btf, type, BTF_KIND_TYPEDEF) > 0;
}

static bool is_refused(const struct attach *a, const struct bpf_program *program)
{
	return refusals_has(&a->refusals, bpf_program__name(program));
}

/* Whether this kernel has the program's tracepoint and takes the program; noted where not. */
static bool offered(struct attach *a, const struct btf *btf, const struct bpf_program *program)
{
	if (has_tracepoint(btf, program) && !is_refused(a, program))
		return true;
	note_absent(a, target_of(program));
	return false;
}

/* Futexes take both tracepoints of system calls, reporting mappings the latter. */
static void choose_syscalls(struct attach *a, const struct btf *btf, const struct attach_options *o)
{
	const struct gpurec_bpf *s = a->skel;
	bool enter = o->futex && offered(a, btf, s->progs.on_sys_enter);
	bool leave = (o->futex || o->notice_maps) && offered(a, btf, s->progs.on_sys_exit);

	a->facts.futex = enter && leave;
	a->facts.notice_maps = o->notice_maps && leave;
	(void)bpf_program__set_autoload(s->progs.on_sys_enter, a->facts.futex);
	(void)bpf_program__set_autoload(s->progs.on_sys_exit, a->facts.futex || a->facts.notice_maps);
}

static void choose_probes(struct attach *a, const struct btf *btf)
{
	const struct gpurec_bpf *s = a->skel;

	a->on_call = a->facts.shortcuts ? s->progs.on_call_multi : s->progs.on_call;
	a->on_return = a->facts.shortcuts ? s->progs.on_return_multi : s->progs.on_return;
	(void)bpf_program__set_autoload(s->progs.on_call, !a->facts.shortcuts);
	(void)bpf_program__set_autoload(s->progs.on_return, !a->facts.shortcuts);
	(void)bpf_program__set_autoload(s->progs.on_call_multi, a->facts.shortcuts);
	(void)bpf_program__set_autoload(s->progs.on_return_multi, a->facts.shortcuts);
	/* Unless we see the machine fall asleep, clocks that agree now may differ later. */
	(void)bpf_program__set_autoload(s->progs.on_suspend, a->facts.shortcuts &&
								     !is_refused(a, s->progs.on_suspend) &&
								     has_tracepoint(btf, s->progs.on_suspend));
}

/* Its tracepoint is that of on_switch, too: who lacks this program lacks no events of that. */
static void choose_metrics(struct attach *a, const struct btf *btf, const struct attach_options *o)
{
	const struct gpurec_bpf *s = a->skel;

	a->facts.metrics =
		o->metrics_ns && !is_refused(a, s->progs.on_metrics) && has_tracepoint(btf, s->progs.on_metrics);
	a->may_time = a->may_time && a->facts.metrics;
	(void)bpf_program__set_autoload(s->progs.on_metrics, a->facts.metrics);
	(void)bpf_program__set_autoload(s->progs.start_metrics, a->may_time);
}

/* Programs for what this kernel does not have, or that are not wanted, are not loaded. */
static void choose_programs(struct attach *a, const struct btf *btf, const struct attach_options *o)
{
	struct bpf_program *tracepoints[NTRACEPOINTS];
	const struct gpurec_bpf *s = a->skel;

	tracepoint_programs(s, tracepoints);
	for (size_t i = 0; i < NTRACEPOINTS; i++)
		if (tracepoints[i] != s->progs.on_metrics)
			(void)bpf_program__set_autoload(tracepoints[i], is_wanted(s, tracepoints[i], o) &&
										offered(a, btf, tracepoints[i]));
	(void)bpf_program__set_autoload(s->progs.on_each_task, !is_refused(a, s->progs.on_each_task));
	choose_metrics(a, btf, o);
	choose_syscalls(a, btf, o);
	choose_probes(a, btf);
}

/* What the tracepoint hands over, after the context: NULL, or a function type. */
static const struct btf_type *tracepoint_type(const struct btf *btf, const char *typedef_name)
{
	int id = btf__find_by_name_kind(btf, typedef_name, BTF_KIND_TYPEDEF);
	const struct btf_type *t = id > 0 ? btf__type_by_id(btf, (__u32)id) : NULL;

	t = t ? btf__type_by_id(btf, t->type) : NULL; /* pointer */
	t = t ? btf__type_by_id(btf, t->type) : NULL;
	return t && btf_is_func_proto(t) ? t : NULL;
}

/* Whether cookie_of() in bpf/calls.h holds here: what it goes through is there, and begins as it must. */
static bool has_cookie_at_hand(const struct btf *btf)
{
	int id = btf__find_by_name_kind(btf, "bpf_uprobe_multi_run_ctx", BTF_KIND_STRUCT);
	const struct btf_type *t = id > 0 ? btf__type_by_id(btf, (__u32)id) : NULL;
	const char *first = t && btf_vlen(t) ? btf__name_by_offset(btf, btf_members(t)[0].name_off) : "";

	return (!strcmp(first, "run_ctx") || !strcmp(first, "session_ctx")) &&
	       btf__find_by_name_kind(btf, "bpf_rdonly_cast", BTF_KIND_FUNC) > 0;
}

static bool has_member(const struct btf *btf, const char *type, const char *member)
{
	int id = btf__find_by_name_kind(btf, type, BTF_KIND_STRUCT);
	const struct btf_type *t = id > 0 ? btf__type_by_id(btf, (__u32)id) : NULL;

	for (__u16 i = 0; t && i < btf_vlen(t); i++)
		if (strcmp(btf__name_by_offset(btf, btf_members(t)[i].name_off), member) == 0)
			return true;
	return false;
}

/* CPU quotas: what bpf/throttle.h asks of a kernel. */
static void learn_quota(struct attach *a, const struct btf *btf, const struct attach_options *o)
{
	a->facts.quota = o->quota &&
			 (has_member(btf, "task_struct", "throttled") || has_member(btf, "cfs_rq", "throttle_count"));
	a->facts.quota_times = a->facts.quota && has_member(btf, "cfs_rq", "throttled_clock_self_time");
	a->skel->rodata->quota_on = a->facts.quota;
}

/* What this kernel's type information says of the features that matter to us. */
static int learn_kernel(struct attach *a, const struct attach_options *o, struct fault *why)
{
	struct btf *btf = btf__load_vmlinux_btf();
	const struct btf_type *t;

	if (!btf) {
		return fault_set(why, ERR_IO, FAULT_NOWHERE,
				 "this kernel has no type information (/sys/kernel/btf/vmlinux); it must be built with "
				 "CONFIG_DEBUG_INFO_BTF");
	}
	a->facts.multi = !o->single && btf__find_by_name_kind(btf, "bpf_uprobe_multi_link", BTF_KIND_STRUCT) > 0;
	a->facts.shortcuts = a->facts.multi && !a->no_shortcuts && has_cookie_at_hand(btf);
	t = tracepoint_type(btf, "btf_trace_sched_switch"); /* context, preempt, prev, next, prev_state */
	a->skel->rodata->switch_has_state = t && btf_vlen(t) >= 5;
	t = tracepoint_type(btf, "btf_trace_sched_process_exit"); /* context, task, whether it is the last */
	a->skel->rodata->exit_emits_last = t && btf_vlen(t) >= 3;
	t = tracepoint_type(btf, "btf_trace_mark_victim"); /* context, task or number */
	t = t && btf_vlen(t) >= 2 ? btf__type_by_id(btf, btf_params(t)[1].type) : NULL;
	a->skel->rodata->victim_is_task = t && btf_is_ptr(t);
	t = tracepoint_type(btf, "btf_trace_balance_dirty_pages");
	a->skel->rodata->pause_at = !t                              ? 0
				    : btf_vlen(t) == PAUSE_OF       ? PAUSE_AT
				    : btf_vlen(t) == PAUSE_OF_LATER ? PAUSE_AT_LATER
								    : 0;
	if (t && o->disks && !a->skel->rodata->pause_at)
		note_absent(a, "balance_dirty_pages");
	learn_quota(a, btf, o);
	choose_programs(a, btf, o);
	btf__free(btf);
	return 0;
}

static struct call_plan plan_of(const struct probe_spec *spec, const struct attach_options *o)
{
	struct call_plan plan = probe_plan(spec);

	if (attach_may_sample(spec->kind))
		plan.keep = o->keep[spec->kind];
	return plan;
}

static bool any_reduction(const struct attach_options *o)
{
	bool any = o->rate > 0;

	for (size_t i = 0; i < ATTACH_KINDS; i++)
		any = any || o->keep[i] > 1;
	return any;
}

static int configure(struct attach *a, const struct attach_options *o)
{
	struct gpurec_bpf *s = a->skel;
	uint32_t ncpus = (uint32_t)libbpf_num_possible_cpus();

	for (size_t i = 0; i < nprobes; i++)
		s->rodata->plans[probe_table[i].id] = plan_of(&probe_table[i], o);
	s->rodata->nslots = counters_slots();
	s->rodata->shard_mask = counters_shards() - 1;
	s->rodata->life_half_bytes = LIFE_RING_BYTES / 2;
	s->rodata->bulk_half_bytes = (uint32_t)o->ring_bytes / 2;
	s->rodata->track_all = o->track_all;
	s->rodata->follow_children = !o->no_children;
	s->rodata->follow_wakers = o->follow;
	s->rodata->own_pid = (__u32)getpid();
	s->rodata->disks_on = o->disks;
	s->rodata->network_on = o->network;
	s->rodata->cpu_words = ncpus <= CPU_WORDS_MAX * 64 ? (ncpus + 63) / 64 : 0;
	s->rodata->futex_on = a->facts.futex;
	s->rodata->notice_maps = a->facts.notice_maps;
	s->rodata->slow_ns = o->slow_ns ? o->slow_ns : SLOW_NS_DEFAULT;
	s->rodata->reducing = any_reduction(o);
	s->rodata->rate = o->rate;
	s->rodata->metrics_ns = o->metrics_ns;
	if (a->facts.multi) {
		bpf_program__set_expected_attach_type(a->on_call, ATTACH_TYPE_UPROBE_MULTI);
		bpf_program__set_expected_attach_type(a->on_return, ATTACH_TYPE_UPROBE_MULTI);
	}
	(void)bpf_map__set_autocreate(s->maps.metrics_cpus, a->facts.metrics);
	(void)bpf_map__set_autocreate(s->maps.metrics_timers, a->may_time);
	s->rodata->seat_mask = (o->plain ? 1 : SEATS) - 1;
	s->rodata->ask_mask = o->plain || o->ring_bytes < ASK_RING_BYTES ? 0 : ASK_ONE_IN - 1;
	if (bpf_map__set_max_entries(s->maps.bulk, (uint32_t)o->ring_bytes) ||
	    bpf_map__set_max_entries(s->maps.seats, s->rodata->seat_mask + 1) ||
	    bpf_map__set_max_entries(s->maps.life, LIFE_RING_BYTES) ||
	    bpf_map__set_max_entries(s->maps.cpus, ncpus ? ncpus : 1) ||
	    bpf_map__set_max_entries(s->maps.metrics_cpus, ncpus ? ncpus : 1) ||
	    bpf_map__set_max_entries(s->maps.tallies, counters_slots() * counters_shards()))
		return -1;
	return 0;
}

/* Those of these programs that were loaded. On failure those attached before stay. */
static int attach_programs(struct attach *a, struct bpf_program *const *programs, size_t n, struct fault *why)
{
	char what[96];

	for (size_t i = 0; i < n; i++) {
		if (!bpf_program__autoload(programs[i]))
			continue;
		if (attach_keep(a, bpf_program__attach(programs[i])) < 0) {
			snprintf(what, sizeof(what), "cannot attach to %s", bpf_program__section_name(programs[i]));
			return attach_refused(why, what);
		}
	}
	return 0;
}

/* By the tracepoints of all system calls. */
static int attach_syscalls(struct attach *a, struct fault *why)
{
	struct bpf_program *tracepoints[NSYSCALL_TRACEPOINTS] = {a->skel->progs.on_sys_exit,
								 a->skel->progs.on_sys_enter};

	return attach_programs(a, tracepoints, NSYSCALL_TRACEPOINTS, why);
}

static int attach_tracepoints(struct attach *a, struct fault *why)
{
	struct bpf_program *programs[NTRACEPOINTS];
	int r;

	tracepoint_programs(a->skel, programs);
	r = attach_programs(a, &a->skel->progs.on_suspend, 1, why);
	if (r == 0)
		r = attach_programs(a, programs, NTRACEPOINTS, why);
	return r == 0 ? attach_syscalls(a, why) : r;
}

/*
 * See what the probe makes of a waking by a task and of one by an interrupt. Whether it can show hangs on how the
 * kernel runs the program (see in_interrupt()); where it cannot, it is not believed. Others may get in between: tried
 * again.
 */
static void learn_interrupts(struct attach *a)
{
	struct gpurec_bpf__bss *bss = a->skel->bss;

	bss->selftest_pid = (uint32_t)getpid();
	for (int i = 0; i < 5 && !bss->selftest_task; i++)
		if (!wake_by_task())
			break;
	/* Thread creation and joining wake too; from here on only the timer counts. */
	for (int i = 0; i < 5 && !bss->selftest_interrupt; i++)
		if (!wake_by_timer())
			break;
	bss->selftest_pid = 0;
	/*
	 * A task's waking that passed for an interrupt's would disprove it. An interrupt that was not seen proves
	 * nothing (on a busy CPU it may come upon others): the capture then says that it is not proven.
	 */
	bss->interrupts_known = bss->selftest_task > 0;
	a->facts.follow = a->skel->rodata->follow_wakers && bss->interrupts_known;
	a->facts.interrupts_known = bss->selftest_task > 0 && bss->selftest_interrupt > 0;
}

/*
 * Whether the boot clock and the monotonic one, which is read faster, are the same: they are until the machine sleeps
 * for the first time. The probe has compared them while learn_interrupts() woke it.
 */
static void learn_clocks(struct attach *a)
{
	struct gpurec_bpf__bss *bss = a->skel->bss;

	if (!bpf_program__autoload(a->skel->progs.on_suspend) || !bss->selftest_clocks_same ||
	    bss->selftest_clocks_apart)
		return;
	__atomic_store_n(&bss->clocks_agree, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&bss->has_slept, __ATOMIC_SEQ_CST))
		__atomic_store_n(&bss->clocks_agree, 0, __ATOMIC_SEQ_CST);
}

/* What the kernel reads without a lock may differ by less than that; what a namespace makes of it, by more. */
#define CLOCKS_DIFFER_NS 1000000

/* Whether the boot clock that the probe read meanwhile is the one that we read. */
static int same_clock(const struct attach *a, const struct kernel_clock *clock, uint64_t before_ns, struct fault *why)
{
	uint64_t then_ns = a->skel->bss->selftest_boot_ns, after_ns = kernel_boot_ns(clock);

	if (!then_ns || (then_ns + CLOCKS_DIFFER_NS >= before_ns && then_ns <= after_ns + CLOCKS_DIFFER_NS))
		return 0;
	return fault_set(why, ERR_IO, FAULT_NOWHERE,
			 "gpurec's clock and the kernel's, whose times events carry, are %.1f s apart: it runs in a "
			 "time namespace, and /proc/self/timens_offsets shows none; run it outside: "
			 "nsenter --time=/proc/1/ns/time gpurec ...",
			 (double)llabs((int64_t)(before_ns - then_ns)) / 1e9);
}

/* For attach_run.c, which does not see the skeleton. */
static void share(struct attach *a)
{
	const struct gpurec_bpf *s = a->skel;

	a->object = s->obj;
	a->on_each_task = bpf_program__autoload(s->progs.on_each_task) ? s->progs.on_each_task : NULL;
	a->tracked_fd = bpf_map__fd(s->maps.tracked);
	a->attached_fd = bpf_map__fd(s->maps.attached);
	a->facts.life_fd = bpf_map__fd(s->maps.life);
	a->facts.bulk_fd = bpf_map__fd(s->maps.bulk);
	a->facts.tallies_fd = bpf_map__fd(s->maps.tallies);
	a->states_moment = &s->bss->states_moment;
	a->states_room = &s->bss->states_room;
	a->states_beyond = &s->bss->states_beyond;
	a->unfollowed = &s->bss->nunfollowed;
	a->running = &s->bss->running;
	a->life_woken = &s->bss->life_woken;
	a->bulk_woken = &s->bss->bulk_woken;
}

/* With fewer libbpf may take it that it gets no descriptor for what this kernel cannot do, and report that. */
#define FILES_FEW 128

static bool lacks_files(void)
{
	struct rlimit files;

	return getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < FILES_FEW;
}

/*
 * EPERM says that rights are missing. EACCES is the verifier's word, and where it has said nothing, that of a security
 * module.
 */
static int load_refused(const struct attach *a, struct fault *why)
{
	static const char what[] = "the kernel does not load the BPF programs";
	const struct bpf_program *culprit = refusals_culprit(&a->refusals, a->skel->obj);
	char reason[200];

	if (lacks_files())
		errno = EMFILE;
	if (culprit && errno != EMFILE) {
		verifier_reason(refusals_log(&a->refusals), reason, sizeof(reason));
		return fault_set(why, ERR_IO, FAULT_NOWHERE, "%s: %s: %s", what, bpf_program__name(culprit), reason);
	}
	if (errno == EACCES)
		return fault_set(why, ERR_DENIED, FAULT_NOWHERE,
				 "%s: a security module forbids it; see its log (SELinux: ausearch -m avc) and allow "
				 "gpurec bpf(2)",
				 what);
	return attach_refused(why, what);
}

static int load(struct attach *a, const struct attach_options *o, struct fault *why)
{
	int r;

	a->skel = gpurec_bpf__open();
	if (!a->skel)
		return attach_refused(why, "cannot prepare the BPF programs");
	r = learn_kernel(a, o, why);
	if (r == 0)
		r = refusals_watch(&a->refusals, a->skel->obj, why);
	if (r == 0 && (configure(a, o) < 0 || gpurec_bpf__load(a->skel)))
		r = load_refused(a, why);
	if (r == 0)
		share(a);
	return r;
}

static int load_again(struct attach *a, const struct attach_options *o, struct fault *why)
{
	gpurec_bpf__destroy(a->skel);
	a->skel = NULL;
	a->facts.absent[0] = 0;
	return load(a, o, why);
}

/* Whose events are missing without the program; "": nobody's. */
static const char *tracepoint_lost(const struct attach *a, const struct bpf_program *program)
{
	const struct gpurec_bpf *s = a->skel;

	return program == s->progs.on_metrics || program == s->progs.on_suspend || program == s->progs.on_each_task
		       ? ""
		       : target_of(program);
}

/*
 * After it was not loaded: leave out what the kernel refuses, or, where it does not say what that is, what it may. No
 * program is needed but those of calls, and these are there twice; kernels differ in whether they lend programs a timer
 * and in what of the kernel they let them read. False: nothing is left to try.
 */
static bool leave_out(struct attach *a, const struct attach_options *o)
{
	const struct bpf_program *culprit = refusals_culprit(&a->refusals, a->skel->obj);
	const struct gpurec_bpf *s = a->skel;
	bool of_calls = culprit == s->progs.on_call_multi || culprit == s->progs.on_return_multi;

	if (culprit && o->verifier)
		o->verifier(bpf_program__name(culprit), refusals_log(&a->refusals));
	if (a->may_time && (!culprit || culprit == s->progs.start_metrics)) {
		a->may_time = false;
		return true;
	}
	if (a->facts.shortcuts && (!culprit || of_calls)) {
		a->no_shortcuts = true;
		a->may_time = o->metrics_ns > 0;
		return true;
	}
	return culprit && culprit != a->on_call && culprit != a->on_return &&
	       refusals_add(&a->refusals, culprit, tracepoint_lost(a, culprit));
}

static int load_what_may(struct attach *a, const struct attach_options *o, struct fault *why)
{
	int r;

	a->no_shortcuts = o->plain;
	a->may_time = o->metrics_ns > 0;
	do
		r = load_again(a, o, why);
	while (r < 0 && a->skel && leave_out(a, o));
	return r;
}

/* Each CPU's figures begin with the first switch on it: there is one where we come to run. */
static void start_timer(struct attach *a)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);

	if (bpf_program__autoload(a->skel->progs.on_metrics))
		visit_cpus();
	a->facts.timed = a->may_time &&
			 bpf_prog_test_run_opts(bpf_program__fd(a->skel->progs.start_metrics), &opts) == 0 &&
			 opts.retval == 0;
}

int attach_open(struct attach **out, const struct attach_options *o, struct fault *why)
{
	struct attach *a = calloc(1, sizeof(*a));
	uint64_t begin_ns;
	int r;

	if (!a)
		return fault_no_memory(why);
	a->each_task_fd = -1;
	r = load_what_may(a, o, why);
	if (r < 0)
		goto fail;
	r = attach_tracepoints(a, why);
	if (r < 0)
		goto fail;
	begin_ns = kernel_boot_ns(&o->clock);
	learn_interrupts(a);
	learn_clocks(a);
	r = same_clock(a, &o->clock, begin_ns, why);
	if (r < 0)
		goto fail;
	start_timer(a);
	*out = a;
	return 0;
fail:
	(void)attach_close(a);
	return r;
}

uint64_t attach_close(struct attach *a)
{
	uint64_t left_ns;

	if (!a)
		return 0;
	if (a->each_task_fd >= 0)
		close(a->each_task_fd);
	left_ns = attach_detach_all(a);
	free(a->links);
	free(a->multi_fds);
	refusals_clear(&a->refusals);
	gpurec_bpf__destroy(a->skel);
	free(a);
	return left_ns;
}
