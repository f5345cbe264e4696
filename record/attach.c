/* SPDX-License-Identifier: Apache-2.0 */
#include "record/attach.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/membarrier.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "record/counters.h"
#include "record/wakes.h"

/* Generated code keeps its own style. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#include "bpf/gpurec.skel.h"
#pragma GCC diagnostic pop

/* From <linux/bpf.h> of 6.6; older headers know neither. */
#define ATTACH_TYPE_UPROBE_MULTI 48
#define UPROBE_MULTI_RETURN 1u

#define PROGRAMS_MAX 32

struct link_uprobe_multi {
	__u32 prog_fd, target_fd, attach_type, flags;
	__u64 path, offsets, ref_ctr_offsets, cookies;
	__u32 count, multi_flags, pid, pad;
};

struct attach {
	struct gpurec_bpf *skel;
	struct bpf_link **links; /* all but the skeleton's own, in the order to take them off */
	size_t nlinks, room;
	int *multi_fds;
	size_t nmulti;
	bool multi;
	bool interrupts_known;
	bool may_time, timed;                 /* CPUs are sampled by a timer, too */
	char absent[128];                     /* tracepoints that are not there */
	uint64_t missed_before[PROGRAMS_MAX]; /* recording began */
};

bool attach_ring_valid(uint64_t bytes)
{
	return bytes >= RING_BYTES_MIN && bytes <= RING_BYTES_MAX && !(bytes & (bytes - 1)) &&
	       !(bytes % (uint64_t)sysconf(_SC_PAGESIZE));
}

static int silent(enum libbpf_print_level level, const char *format, va_list args)
{
	(void)level, (void)format, (void)args;
	return 0;
}

static int refused(struct fault *why, const char *what)
{
	if (errno == EPERM || errno == EACCES)
		return fault_set(why, ERR_DENIED, FAULT_NOWHERE,
				 "%s: not permitted; run as root, or with CAP_BPF, CAP_PERFMON, CAP_SYS_PTRACE and "
				 "CAP_DAC_READ_SEARCH (setcap, or --cap-add in a container)",
				 what);
	return fault_errno(why, "%s", what);
}

#define NTRACEPOINTS 9
#define NSYSCALL_TRACEPOINTS 2

/* Programs on the kernel's own tracepoints, in the order in which they are attached. */
static void tracepoint_programs(const struct gpurec_bpf *s, struct bpf_program *programs[NTRACEPOINTS])
{
	struct bpf_program *const all[NTRACEPOINTS] = {
		s->progs.on_fork,   s->progs.on_exec, s->progs.on_exit,  s->progs.on_rename,  s->progs.on_switch,
		s->progs.on_waking, s->progs.on_oom,  s->progs.on_fault, s->progs.on_metrics,
	};

	memcpy(programs, all, sizeof(all));
}

static const char *target_of(const struct bpf_program *program)
{
	return strchr(bpf_program__section_name(program), '/') + 1;
}

static void note_absent(struct attach *a, const char *tracepoint)
{
	size_t used = strlen(a->absent);

	(void)snprintf(a->absent + used, sizeof(a->absent) - used, "%s%s", used ? ", " : "", tracepoint);
}

/* Programs for what this kernel does not have, or that are not wanted, are not loaded. */
static void choose_programs(struct attach *a, const struct btf *btf, const struct attach_options *o)
{
	struct bpf_program *tracepoints[NTRACEPOINTS];
	const struct gpurec_bpf *s = a->skel;
	bool syscalls = o->futex || o->notice_maps;
	char type[96];

	tracepoint_programs(s, tracepoints);
	for (size_t i = 0; i < NTRACEPOINTS; i++) {
		bool wanted = !(tracepoints[i] == s->progs.on_fault && o->no_faults) &&
			      !(tracepoints[i] == s->progs.on_metrics && !o->metrics_ns);

		(void)snprintf(type, sizeof(type), "btf_trace_%s", target_of(tracepoints[i]));
		if (wanted && btf__find_by_name_kind(btf, type, BTF_KIND_TYPEDEF) <= 0) {
			note_absent(a, target_of(tracepoints[i]));
			wanted = false;
		}
		(void)bpf_program__set_autoload(tracepoints[i], wanted);
	}
	(void)bpf_program__set_autoload(s->progs.start_metrics, o->metrics_ns && a->may_time);
	(void)bpf_program__set_autoload(s->progs.on_sys_enter, o->futex);
	(void)bpf_program__set_autoload(s->progs.on_sys_exit, syscalls);
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

/* What this kernel's type information says of the features that matter to us. */
static int learn_kernel(struct attach *a, const struct attach_options *o, struct fault *why)
{
	struct btf *btf = btf__load_vmlinux_btf();
	const struct btf_type *t;

	if (!btf) {
		return fault_set(why, ERR_IO, FAULT_NOWHERE,
				 "this kernel has no type information (/sys/kernel/btf/vmlinux): it must be built with "
				 "CONFIG_DEBUG_INFO_BTF");
	}
	a->multi = !o->single && btf__find_by_name_kind(btf, "bpf_uprobe_multi_link", BTF_KIND_STRUCT) > 0;
	t = tracepoint_type(btf, "btf_trace_sched_switch"); /* context, preempt, prev, next, prev_state */
	a->skel->rodata->switch_has_state = t && btf_vlen(t) >= 5;
	t = tracepoint_type(btf, "btf_trace_mark_victim"); /* context, task or number */
	t = t && btf_vlen(t) >= 2 ? btf__type_by_id(btf, btf_params(t)[1].type) : NULL;
	a->skel->rodata->victim_is_task = t && btf_is_ptr(t);
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
	s->rodata->futex_on = o->futex;
	s->rodata->notice_maps = o->notice_maps;
	s->rodata->slow_ns = o->slow_ns ? o->slow_ns : SLOW_NS_DEFAULT;
	s->rodata->reducing = any_reduction(o);
	s->rodata->rate = o->rate;
	s->rodata->metrics_ns = o->metrics_ns;
	if (a->multi) {
		bpf_program__set_expected_attach_type(s->progs.on_call, ATTACH_TYPE_UPROBE_MULTI);
		bpf_program__set_expected_attach_type(s->progs.on_return, ATTACH_TYPE_UPROBE_MULTI);
	}
	(void)bpf_map__set_autocreate(s->maps.metrics_cpus, o->metrics_ns > 0);
	(void)bpf_map__set_autocreate(s->maps.metrics_timers, a->may_time);
	if (bpf_map__set_max_entries(s->maps.bulk, (uint32_t)o->ring_bytes) ||
	    bpf_map__set_max_entries(s->maps.life, LIFE_RING_BYTES) ||
	    bpf_map__set_max_entries(s->maps.cpus, ncpus ? ncpus : 1) ||
	    bpf_map__set_max_entries(s->maps.metrics_cpus, ncpus ? ncpus : 1) ||
	    bpf_map__set_max_entries(s->maps.tallies, counters_slots() * counters_shards()))
		return -1;
	return 0;
}

static int keep_link(struct attach *a, struct bpf_link *link)
{
	struct bpf_link **more;

	if (!link)
		return -1;
	if (a->nlinks == a->room) {
		more = realloc(a->links, (a->room * 2 + 64) * sizeof(*more));
		if (!more) {
			bpf_link__destroy(link);
			errno = ENOMEM;
			return -1;
		}
		a->links = more;
		a->room = a->room * 2 + 64;
	}
	a->links[a->nlinks++] = link;
	return 0;
}

/* Those of these programs that were loaded. On failure those attached before stay. */
static int attach_programs(struct attach *a, struct bpf_program *const *programs, size_t n, struct fault *why)
{
	char what[96];

	for (size_t i = 0; i < n; i++) {
		if (!bpf_program__autoload(programs[i]))
			continue;
		if (keep_link(a, bpf_program__attach(programs[i])) < 0) {
			snprintf(what, sizeof(what), "cannot attach to %s", bpf_program__section_name(programs[i]));
			return refused(why, what);
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
	r = attach_programs(a, programs, NTRACEPOINTS, why);
	return r == 0 ? attach_syscalls(a, why) : r;
}

/*
 * See what the probe makes of a waking by a task and of one by an interrupt. Whether it can tell hangs on how the
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
	a->interrupts_known = bss->selftest_task > 0 && bss->selftest_interrupt > 0;
}

static int load(struct attach *a, const struct attach_options *o, struct fault *why)
{
	int r;

	a->skel = gpurec_bpf__open();
	if (!a->skel)
		return refused(why, "cannot prepare the BPF programs");
	r = learn_kernel(a, o, why);
	if (r == 0 && (configure(a, o) < 0 || gpurec_bpf__load(a->skel)))
		r = refused(why, "the kernel does not load the BPF programs");
	return r;
}

/* Kernels differ in whether they lend programs a timer. */
static int load_what_may(struct attach *a, const struct attach_options *o, struct fault *why)
{
	int r;

	a->may_time = o->metrics_ns > 0;
	r = load(a, o, why);
	if (r < 0 && a->may_time) {
		gpurec_bpf__destroy(a->skel);
		a->skel = NULL;
		a->absent[0] = 0;
		a->may_time = false;
		r = load(a, o, why);
	}
	return r;
}

/* Each CPU's figures begin with the first switch on it: there is one where we come to run. */
static void start_timer(struct attach *a)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);

	if (bpf_program__autoload(a->skel->progs.on_metrics))
		visit_cpus();
	a->timed = a->may_time && bpf_prog_test_run_opts(bpf_program__fd(a->skel->progs.start_metrics), &opts) == 0 &&
		   opts.retval == 0;
}

int attach_open(struct attach **out, const struct attach_options *o, struct fault *why)
{
	struct attach *a = calloc(1, sizeof(*a));
	int r;

	if (!a)
		return fault_set(why, ERR_MEMORY, FAULT_NOWHERE, "out of memory");
	libbpf_set_print(silent);
	r = load_what_may(a, o, why);
	if (r < 0)
		goto fail;
	r = attach_tracepoints(a, why);
	if (r < 0)
		goto fail;
	learn_interrupts(a);
	start_timer(a);
	*out = a;
	return 0;
fail:
	attach_close(a);
	return r;
}

static void detach_all(struct attach *a)
{
	while (a->nmulti)
		close(a->multi_fds[--a->nmulti]);
	while (a->nlinks)
		bpf_link__destroy(a->links[--a->nlinks]);
}

void attach_close(struct attach *a)
{
	if (!a)
		return;
	detach_all(a);
	free(a->links);
	free(a->multi_fds);
	gpurec_bpf__destroy(a->skel);
	free(a);
}

/* A link for all of them at once: its descriptor, or a negative errno. */
static int link_multi(const struct bpf_program *program, const char *path, const struct attach_site *sites, size_t n,
		      uint32_t flags)
{
	uint64_t *offsets = calloc(n, sizeof(*offsets)), *cookies = calloc(n, sizeof(*cookies));
	struct link_uprobe_multi attr;
	long fd = -ENOMEM;

	if (offsets && cookies) {
		for (size_t i = 0; i < n; i++) {
			offsets[i] = sites[i].offset;
			cookies[i] = sites[i].probe;
		}
		memset(&attr, 0, sizeof(attr));
		attr.prog_fd = (__u32)bpf_program__fd(program);
		attr.attach_type = ATTACH_TYPE_UPROBE_MULTI;
		attr.path = (uintptr_t)path;
		attr.offsets = (uintptr_t)offsets;
		attr.cookies = (uintptr_t)cookies;
		attr.count = (__u32)n;
		attr.multi_flags = flags;
		fd = syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));
		if (fd < 0)
			fd = -errno;
	}
	free(offsets);
	free(cookies);
	return (int)fd;
}

/* Returns first: a call that is entered is then always seen to return. 0 or a negative errno; then nothing is on. */
static int attach_multi(struct attach *a, const char *path, const struct attach_site *sites, size_t n)
{
	int *more = realloc(a->multi_fds, (a->nmulti + 2) * sizeof(*more));
	int on_return, on_call;

	if (!more)
		return -ENOMEM;
	a->multi_fds = more;
	on_return = link_multi(a->skel->progs.on_return, path, sites, n, UPROBE_MULTI_RETURN);
	if (on_return < 0)
		return on_return;
	on_call = link_multi(a->skel->progs.on_call, path, sites, n, 0);
	if (on_call < 0) {
		close(on_return);
		return on_call;
	}
	a->multi_fds[a->nmulti++] = on_return;
	a->multi_fds[a->nmulti++] = on_call;
	return 0;
}

/* Several at once only where the kernel can. */
static int attach_some(struct attach *a, const char *path, const struct attach_site *site, size_t n)
{
	LIBBPF_OPTS(bpf_uprobe_opts, opts, .bpf_cookie = site->probe, .retprobe = true);

	if (a->multi)
		return attach_multi(a, path, site, n);
	if (keep_link(a, bpf_program__attach_uprobe_opts(a->skel->progs.on_return, -1, path, (size_t)site->offset,
							 &opts)) < 0)
		return -errno;
	opts.retprobe = false;
	if (keep_link(a, bpf_program__attach_uprobe_opts(a->skel->progs.on_call, -1, path, (size_t)site->offset,
							 &opts)) < 0) {
		int error = errno;

		bpf_link__destroy(a->links[--a->nlinks]);
		return -error;
	}
	return 0;
}

/*
 * All at once; what the kernel refuses as a whole (one function with a first instruction that it cannot step over is
 * enough) is halved until the refused ones stand alone.
 */
static size_t attach_range(struct attach *a, const char *path, struct attach_site *sites, size_t n)
{
	int r;

	if (!n)
		return 0;
	r = a->multi || n == 1 ? attach_some(a, path, sites, n) : -EINVAL;
	for (size_t i = 0; i < n; i++)
		sites[i].error = -r;
	if (r == 0 || n == 1)
		return r == 0 ? n : 0;
	return attach_range(a, path, sites, n / 2) + attach_range(a, path, sites + n / 2, n - n / 2);
}

size_t attach_library(struct attach *a, int fd, struct attach_site *sites, size_t nsites)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return attach_range(a, path, sites, nsites);
}

static uint64_t misses_of(const struct bpf_program *program)
{
	struct bpf_prog_info info;
	__u32 size = sizeof(info);

	memset(&info, 0, sizeof(info));
	if (bpf_program__fd(program) < 0 || bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size))
		return 0;
	return info.recursion_misses;
}

void attach_start(struct attach *a)
{
	struct bpf_program *program;
	size_t i = 0;

	bpf_object__for_each_program(program, a->skel->obj) if (i < PROGRAMS_MAX) a->missed_before[i++] =
		misses_of(program);
	__atomic_store_n(&a->skel->bss->running, 1, __ATOMIC_SEQ_CST);
}

void attach_stop(struct attach *a)
{
	__atomic_store_n(&a->skel->bss->running, 0, __ATOMIC_SEQ_CST);
	/* Waits for an RCU grace period, and programs run inside RCU read sections. */
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) == 0)
		return;
	detach_all(a);
	usleep(100000); /* far longer than a program may run */
}

int attach_track(struct attach *a, uint32_t pid, uint64_t start_ns, uint32_t flags, struct fault *why)
{
	struct track track = {.start_ns = start_ns, .flags = flags};

	if (bpf_map_update_elem(bpf_map__fd(a->skel->maps.tracked), &pid, &track, BPF_ANY))
		return refused(why, "cannot track another process");
	return 0;
}

void attach_untrack(struct attach *a, uint32_t pid)
{
	/* Not there, or not permitted any more: the table has room to spare. */
	(void)bpf_map_delete_elem(bpf_map__fd(a->skel->maps.tracked), &pid);
}

int attach_scan_threads(struct attach *a, struct fault *why)
{
	struct bpf_link *link = bpf_program__attach_iter(a->skel->progs.on_each_task, NULL);
	char buf[256];
	ssize_t n = -1;
	int fd;

	if (!link)
		return refused(why, "cannot go through the threads");
	fd = bpf_iter_create(bpf_link__fd(link));
	if (fd >= 0) {
		do {
			n = read(fd, buf, sizeof(buf));
		} while (n > 0 || (n < 0 && errno == EAGAIN));
		close(fd);
	}
	bpf_link__destroy(link);
	if (fd < 0 || n < 0)
		return refused(why, "cannot go through the threads");
	return 0;
}

int attach_file_known(struct attach *a, const struct file_key *key, bool probed, struct fault *why)
{
	__u32 known = probed ? FILE_PROBED : FILE_PLAIN;

	if (bpf_map_update_elem(bpf_map__fd(a->skel->maps.attached), key, &known, BPF_ANY))
		return refused(why, "cannot note a library as probed");
	return 0;
}

int attach_life_fd(const struct attach *a)
{
	return bpf_map__fd(a->skel->maps.life);
}

int attach_bulk_fd(const struct attach *a)
{
	return bpf_map__fd(a->skel->maps.bulk);
}

int attach_tallies_fd(const struct attach *a)
{
	return bpf_map__fd(a->skel->maps.tallies);
}

void attach_rearm(struct attach *a)
{
	__atomic_store_n(&a->skel->bss->life_woken, 0, __ATOMIC_SEQ_CST);
	__atomic_store_n(&a->skel->bss->bulk_woken, 0, __ATOMIC_SEQ_CST);
}

bool attach_knows_interrupts(const struct attach *a)
{
	return a->interrupts_known;
}

bool attach_may_sample(uint32_t kind)
{
	return (kind >= KIND_launch && kind < KIND_load) || kind == KIND_switch || kind == KIND_waking ||
	       kind == KIND_futex || kind == KIND_fault;
}

bool attach_has_timer(const struct attach *a)
{
	return a->timed;
}

const char *attach_absent(const struct attach *a)
{
	return a->absent;
}

bool attach_is_multi(const struct attach *a)
{
	return a->multi;
}

uint64_t attach_misses(const struct attach *a, char *text, size_t size)
{
	struct bpf_program *program;
	uint64_t sum = 0;
	size_t i = 0, used = 0;

	*text = 0;
	bpf_object__for_each_program(program, a->skel->obj)
	{
		uint64_t n = misses_of(program) - (i < PROGRAMS_MAX ? a->missed_before[i] : 0);

		i++;
		if (!n)
			continue;
		sum += n;
		if (used < size)
			used += (size_t)snprintf(text + used, size - used, "%s%s %llu", used ? ", " : "",
						 bpf_program__name(program), (unsigned long long)n);
	}
	return sum;
}
