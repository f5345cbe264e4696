/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a process is: the rows about a tracked process instance beyond its name, reported when it is first met and again
 * after exec. All is read before anything is reported, and reported only if the process is still the same one then: so
 * no row mixes two processes that bore one number.
 */
#include "record/recording_internal.h"
#include "format/base/array.h"

#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "format/base/units.h"
#include "record/host/hostfacts.h"
#include "record/row.h"

/* Large: not for the stack. Parts that could not be had are empty. */
struct process_facts {
	char exe[PROCFS_PATH_MAX];
	uint32_t module;
	char arguments[TEXT_MAX + 1];
	uint64_t arguments_bytes;
	bool has_arguments, has_cgroup, has_namespaces;
	struct process_cgroup cgroup;
	struct process_namespaces ns;
};

/* Answers about it. Large, too. */
struct asked {
	struct inspect_arguments arguments;
	struct inspect_program program;
};

#define READ_TRIES 3 /* of a process that runs one program after the other */

/* The module of the executable, 0 when its file cannot be had. INSPECT_LATER. */
static int find_module(struct recording *s, uint32_t pid, struct process_facts *f, struct fault *why)
{
	struct fault said;
	int r = inspector_exe(s->inspector, pid, &s->instances.line, &said);

	if (r == INSPECT_DONE)
		r = inspector_open(s->inspector, pid, &s->instances.line, &s->instances.file, &said);
	if (r != INSPECT_DONE)
		return r == INSPECT_LATER ? r : 0;
	return symbolizer_module(s->symbolizer, &s->instances.file, &s->instances.line, &f->module, why);
}

/* What is known of a process that has ended meanwhile: what it ran, as far as it was read. */
static void keep_program(struct process_facts *f)
{
	memset(&f->cgroup, 0, sizeof(f->cgroup));
	memset(&f->ns, 0, sizeof(f->ns));
	f->has_cgroup = f->has_namespaces = false;
}

/*
 * Whether all that was read is of this instance and of one program. One that is ending loses its program first, and
 * then shows a control group and namespaces that are not its own: so its program was asked for again behind all else.
 *
 * 1; 0: it has ended, or another process has its number; -1: it runs another program by now.
 */
static int read_whole(struct recording *s, uint32_t pid, uint64_t start_ns, const struct asked *a,
		      struct process_facts *f)
{
	const struct inspect_program *p = &a->program;
	struct process_info info;

	if (procfs_process(&s->fs, pid, &info, NULL) <= 0 || !procfs_same_start(&s->fs, info.start_ns, start_ns)) {
		memset(f, 0, sizeof(*f));
		return 0;
	}
	if (!a->arguments.exe_result || !p->exe_result || !p->again_result) {
		keep_program(f);
		return 0;
	}
	if (p->exe_result > 0 && p->again_result > 0 && strcmp(p->exe, p->again) != 0)
		return -1;
	return p->exe_result > 0 && f->exe[0] && strcmp(p->exe, f->exe) != 0 ? -1 : 1;
}

/*
 * Ask for all there is, its arguments apart: a process that makes us wait for them hides nothing else. 1,
 * INSPECT_LATER, or negative.
 */
static int ask_facts(struct recording *s, uint32_t pid, struct asked *a, struct process_facts *f, struct fault *why)
{
	struct fault said;
	int r, arguments =
		       inspector_arguments(s->inspector, pid, &a->arguments, f->arguments, sizeof(f->arguments), &said);

	if (arguments == INSPECT_LATER)
		return arguments;
	if (arguments != INSPECT_DONE)
		a->arguments.exe_result = a->arguments.result = arguments;
	if (a->arguments.exe_result > 0)
		strcpy(f->exe, a->arguments.exe);
	f->has_arguments = a->arguments.result > 0;
	f->arguments_bytes = f->has_arguments ? a->arguments.bytes : 0;
	r = a->arguments.exe_result ? find_module(s, pid, f, why) : 0;
	if (r < 0 || r == INSPECT_LATER)
		return r;
	r = inspector_program(s->inspector, pid, &a->program, &said);
	if (r == INSPECT_LATER)
		return r;
	if (r != INSPECT_DONE)
		a->program.exe_result = a->program.cgroup_result = a->program.namespaces_result =
			a->program.again_result = r;
	if (!f->exe[0] && a->program.exe_result > 0)
		strcpy(f->exe, a->program.exe);
	f->has_cgroup = a->program.cgroup_result > 0;
	if (f->has_cgroup)
		f->cgroup = a->program.cgroup;
	f->has_namespaces =
		a->program.namespaces_result > 0 && (a->program.namespaces.mount || a->program.namespaces.pids);
	if (f->has_namespaces)
		f->ns = a->program.namespaces;
	return 1;
}

/*
 * 1; 0: it is gone, and *f has what was read of its program and arguments before, or another process has its number;
 * INSPECT_LATER; negative. *denied: something may not be read.
 */
static int read_facts(struct recording *s, uint32_t pid, uint64_t start_ns, struct process_facts *f, bool *denied,
		      struct fault *why)
{
	struct asked *a = calloc(1, sizeof(*a));
	int whole = -1, r = a ? 0 : fault_no_memory(why);

	for (int i = 0; i < READ_TRIES && r >= 0 && r != INSPECT_LATER && whole < 0; i++) {
		memset(f, 0, sizeof(*f)); /* also between its members: it is hashed */
		r = ask_facts(s, pid, a, f, why);
		if (r < 0 || r == INSPECT_LATER)
			break;
		inspector_forget(s->inspector, pid);
		*denied = a->program.exe_result == ERR_DENIED || a->arguments.result == ERR_DENIED ||
			  a->program.cgroup_result == ERR_DENIED ||
			  (a->program.namespaces_result > 0 && !f->has_namespaces);
		whole = read_whole(s, pid, start_ns, a, f);
	}
	free(a);
	if (r < 0 || r == INSPECT_LATER)
		return r;
	if (whole < 0)
		memset(f, 0, sizeof(*f));
	return whole > 0;
}

static int emit_executable(struct recording *s, const struct instance *in, const struct process_facts *f,
			   uint64_t at_ns, struct fault *why)
{
	struct row row = row_of(KIND_executable, at_ns);
	int r = stacks_emit_modules(s->stacks, s->writer, at_ns, why);

	if (r < 0)
		return r;
	row.v[F_executable_pid] = in->pid;
	row.v[F_executable_start] = in->start_ns;
	row_text(&row, F_executable_path, f->exe);
	row.v[F_executable_module] = f->module;
	return row_emit(&row, s->writer, why);
}

static int emit_arguments(struct recording *s, const struct instance *in, const struct process_facts *f, uint64_t at_ns,
			  struct fault *why)
{
	struct row row = row_of(KIND_command_line, at_ns);

	row.v[F_command_line_pid] = in->pid;
	row.v[F_command_line_start] = in->start_ns;
	row.v[F_command_line_bytes] = f->arguments_bytes;
	row_text(&row, F_command_line_text, f->arguments);
	return row_emit(&row, s->writer, why);
}

static int emit_cgroup(struct recording *s, const struct instance *in, const struct process_facts *f, uint64_t at_ns,
		       struct fault *why)
{
	struct row row = row_of(KIND_cgroup, at_ns);
	int r;

	row.v[F_cgroup_pid] = in->pid;
	row.v[F_cgroup_start] = in->start_ns;
	row_text(&row, F_cgroup_path, f->cgroup.path);
	row_text(&row, F_cgroup_container, f->cgroup.container);
	row_text(&row, F_cgroup_cpu, f->cgroup.cpu);
	row_text(&row, F_cgroup_memory_group, f->cgroup.memory);
	r = row_emit(&row, s->writer, why);
	if (r == 0)
		r = limits_meet(s->host.quotas, f->cgroup.cpu, s->writer, at_ns, why);
	return r < 0 ? r : limits_meet(s->host.memory, f->cgroup.memory, s->writer, at_ns, why);
}

static int emit_namespaces(struct recording *s, const struct instance *in, const struct process_facts *f,
			   uint64_t at_ns, struct fault *why)
{
	struct row row = row_of(KIND_namespaces, at_ns);

	row.v[F_namespaces_pid] = in->pid;
	row.v[F_namespaces_start] = in->start_ns;
	row.v[F_namespaces_mount] = f->ns.mount;
	row.v[F_namespaces_pids] = f->ns.pids;
	row.v[F_namespaces_net] = f->ns.net;
	row.v[F_namespaces_user] = f->ns.user;
	row.v[F_namespaces_pid_inside] = f->ns.pid_inside;
	return row_emit(&row, s->writer, why);
}

/* Of a program whose process ended too soon: what the kernel side saw. Its file, unless known, is the one in *f if any.
 */
static void facts_of_exec(struct recording *s, const struct ring_exec *e, struct process_facts *f)
{
	dev_t device = makedev(e->file.device >> 20, e->file.device & 0xfffff);
	const struct module *m = symbolizer_find(s->symbolizer, device, e->file.inode);
	bool same = m && (e->known || m->id == f->module);
	uint32_t n = e->nargs < EXEC_ARGS ? e->nargs : EXEC_ARGS;

	memset(f, 0, sizeof(*f));
	if (same) {
		memcpy(f->exe, m->path, strnlen(m->path, sizeof(f->exe) - 1));
		f->module = m->id;
	}
	for (uint32_t i = 0; i < n; i++)
		f->arguments[i] = e->args[i] ? e->args[i] : ' ';
	f->has_arguments = n > 0;
	f->arguments_bytes = e->args_bytes;
	if (n && e->args[n - 1] == '\0') { /* the end of the last argument is no blank */
		f->arguments[n - 1] = '\0';
		f->arguments_bytes--;
	}
}

/*
 * One row for each part that is there and is not what the last row said: a part may be read anew because another one
 * changed, as when exec has put the program in place, and its arguments not yet.
 */
static int emit_facts(struct recording *s, struct instance *in, const struct process_facts *f, struct fault *why)
{
	const struct {
		bool there;
		size_t begin, end; /* in *f */
		int (*emit)(struct recording *s, const struct instance *in, const struct process_facts *f,
			    uint64_t at_ns, struct fault *why);
	} parts[INSTANCE_FACTS] = {
		{f->exe[0], offsetof(struct process_facts, exe), offsetof(struct process_facts, arguments),
		 emit_executable},
		{f->has_arguments && s->o.command_lines, offsetof(struct process_facts, arguments),
		 offsetof(struct process_facts, has_arguments), emit_arguments},
		{f->has_cgroup, offsetof(struct process_facts, cgroup), offsetof(struct process_facts, ns),
		 emit_cgroup},
		{f->has_namespaces, offsetof(struct process_facts, ns), sizeof(*f), emit_namespaces},
	};
	uint64_t at_ns = kernel_boot_ns(&s->fs.clock);
	uint8_t hash[sizeof(in->facts[0])];
	int r = 0;

	for (size_t i = 0; i < INSTANCE_FACTS && r == 0; i++) {
		if (!parts[i].there)
			continue;
		crypto_generichash(hash, sizeof(hash), (const uint8_t *)f + parts[i].begin,
				   parts[i].end - parts[i].begin, NULL, 0);
		if (memcmp(in->facts[i], hash, sizeof(hash)) == 0)
			continue;
		r = parts[i].emit(s, in, f, at_ns, why);
		if (r == 0)
			memcpy(in->facts[i], hash, sizeof(hash));
	}
	return r;
}

/* The place of an instance in s->instances.list; a new one is all zero but for its key. NULL: no memory. */
static struct instance *instance_of(struct instance_list *l, uint32_t pid, uint64_t start_ns)
{
	struct instance *more;

	for (size_t i = 0; i < l->n; i++)
		if (l->list[i].pid == pid && l->list[i].start_ns == start_ns)
			return &l->list[i];
	more = array_grow(l->list, &l->room, l->n + 1, sizeof(*more));
	if (!more)
		return NULL;
	l->list = more;
	l->list[l->n] = (struct instance){.pid = pid, .start_ns = start_ns};
	return &l->list[l->n++];
}

int recording_emit_unread(struct recording *s, uint32_t pid, uint64_t start_ns, const struct ring_exec *exec,
			  struct fault *why)
{
	struct instance *instance;
	struct process_facts *f;
	int r;

	s->instances.gone++;
	inspector_forget(s->inspector, pid);
	if (!exec)
		return 0;
	instance = instance_of(&s->instances, pid, start_ns);
	f = calloc(1, sizeof(*f));
	if (f && instance) {
		facts_of_exec(s, exec, f);
		r = emit_facts(s, instance, f, why);
	} else {
		r = fault_no_memory(why);
	}
	free(f);
	return r;
}

int recording_emit_process(struct recording *s, uint32_t pid, uint64_t start_ns, const struct ring_exec *exec,
			   struct fault *why)
{
	struct instance *instance = instance_of(&s->instances, pid, start_ns);
	struct process_facts *f = calloc(1, sizeof(*f)); /* zero also between its members: it is hashed */
	bool denied = false;
	int r = 0;

	if (!f || !instance) {
		r = fault_no_memory(why);
		goto out;
	}
	if (instance->met && !exec)
		goto out;
	r = read_facts(s, pid, start_ns, f, &denied, why);
	if (r == INSPECT_LATER)
		goto out;
	instance->met = true;
	s->instances.gone += r == 0;
	s->instances.denied += r > 0 && denied;
	if (r < 0 || (r == 0 && !exec && !f->exe[0]))
		goto out;
	if (r == 0 && exec)
		facts_of_exec(s, exec, f);
	r = emit_facts(s, instance, f, why);
out:
	free(f);
	return r;
}

int recording_look_at_cgroup(struct recording *s, uint32_t pid, struct fault *why)
{
	uint64_t now_ns = kernel_boot_ns(&s->fs.clock);
	struct instance *in = NULL;
	struct process_facts *f;
	uint8_t hash[sizeof(in->cgroup)];
	int r = 0;

	for (size_t i = 0; i < s->instances.n && !in; i++)
		in = s->instances.list[i].pid == pid ? &s->instances.list[i] : NULL;
	if (!in || now_ns - in->cgroup_ns < CGROUP_AGAIN_NS)
		return 0;
	in->cgroup_ns = now_ns;
	f = calloc(1, sizeof(*f)); /* zero also between its members: it is hashed */
	if (!f)
		return fault_no_memory(why);
	if (procfs_cgroup(&s->fs, pid, &f->cgroup, NULL) > 0) {
		crypto_generichash(hash, sizeof(hash), (const uint8_t *)&f->cgroup, sizeof(f->cgroup), NULL, 0);
		if (memcmp(hash, in->cgroup, sizeof(hash)) != 0)
			r = emit_cgroup(s, in, f, now_ns, why);
		memcpy(in->cgroup, hash, sizeof(hash));
	}
	free(f);
	return r;
}

void recording_leave_process(struct recording *s, uint32_t pid)
{
	struct instance_list *l = &s->instances;

	for (size_t i = 0; i < l->n;) {
		if (l->list[i].pid == pid)
			l->list[i] = l->list[--l->n];
		else
			i++;
	}
}

/* What was counted; the words are for one, and for more. */
struct lack {
	const char *name, *one, *more;
	uint64_t n;
	bool ordinary, calls;
};
#define NLACKS 18

static void count_lacks(const struct recording *s, struct lack lacks[NLACKS])
{
	const struct discover_counts *found = discover_counts(s->discover);
	const struct symbolizer_counts *named = symbolizer_counts(s->symbolizer);
	const struct lack all[NLACKS] = {
		{"not_attached", "time that a process had a CUDA library mapped, and ran, without probes on it",
		 "times that a process had a CUDA library mapped, and ran, without probes on it",
		 s->processes.not_attached, false, true},
		{"questions_given_up", "question about a file or process that was not answered in time",
		 "questions about files or processes that were not answered in time", inspector_given_up(s->inspector),
		 false, true},
		{"processes_denied", "process of which not all could be read (permission denied)",
		 "processes of which not all could be read (permission denied)", s->instances.denied, false, false},
		{"mappings_denied",
		 "memory map of a process could not be read (permission denied); its CUDA libraries were not traced",
		 "memory maps of processes could not be read (permission denied); their CUDA libraries were not traced",
		 found->denied, false, true},
		{"libraries_unseen", "CUDA library mapped by a process that /proc does not show",
		 "CUDA libraries mapped by processes that /proc does not show", s->processes.libraries_unseen, false,
		 true},
		{"libraries_unread", "CUDA library that could not be read", "CUDA libraries that could not be read",
		 found->unread, false, true},
		{"runtimes_stripped",
		 "file with the CUDA runtime linked in and stripped: of its calls only the driver's",
		 "files with the CUDA runtime linked in and stripped: of their calls only the driver's",
		 found->stripped, false, true},
		{"files_not_looked_at", "file skipped: scan limit reached", "files skipped: scan limit reached",
		 found->over, false, true},
		{"modules_not_numbered", "module skipped: limit reached", "modules skipped: limit reached",
		 named->modules_over, false, false},
		{"cgroups_not_looked_at", "control group skipped: scan limit for quotas and limits reached",
		 "control groups skipped: scan limit for quotas and limits reached",
		 limits_skipped(s->host.quotas) + limits_skipped(s->host.memory), false, false},
		{"states_unread", "moment at which the kernel did not report what threads were in",
		 "moments at which the kernel did not report what threads were in", s->processes.states_unread, false,
		 false},
		{"states_beyond", "thread or open call at the beginning or end is not listed: limit reached",
		 "threads and open calls at the beginning or end are not listed: limit reached",
		 attach_states_beyond(s->attach), false, false},
		{"follow_beyond", "wait ended by a thread that was not followed: limit reached",
		 "waits ended by threads that were not followed: limit reached", attach_unfollowed(s->attach), true,
		 false},
		{"stacks_unread", "thread whose user stack at the beginning or end could not be read",
		 "threads whose user stacks at the beginning or end could not be read", s->processes.stacks.unread,
		 true, false},
		{"stacks_unnamed", "stack of which not all functions could be looked up in time",
		 "stacks of which not all functions could be looked up in time", stacks_unnamed(s->stacks), true,
		 false},
		{"processes_gone", "process ended before all of it could be read",
		 "processes ended before all of them could be read", s->instances.gone, true, false},
		{"files_gone", "short-lived process ended before its libraries could be inspected",
		 "short-lived processes ended before their libraries could be inspected", found->gone, true, true},
		{"frames_unplaced", "frame of a stack of which the process was gone or may not be read",
		 "frames of stacks of which the process was gone or may not be read", named->no_process + named->denied,
		 true, false},
	};

	memcpy(lacks, all, sizeof(all));
}

int recording_emit_missing(struct recording *s, struct fault *why)
{
	uint64_t now_ns = kernel_boot_ns(&s->fs.clock);
	struct lack lacks[NLACKS];
	int r = 0;

	if (s->others_hidden)
		r = fact_emitf(s->writer, now_ns, why, "proc_hidepid",
			       "%d: /proc hides processes from those who lack CAP_SYS_PTRACE", procfs_hides(&s->fs));
	count_lacks(s, lacks);
	for (size_t i = 0; i < NLACKS && r == 0; i++)
		if (lacks[i].n)
			r = fact_emitf(s->writer, now_ns, why, lacks[i].name, "%llu %s", (unsigned long long)lacks[i].n,
				       lacks[i].n == 1 ? lacks[i].one : lacks[i].more);
	return r;
}

__attribute__((format(printf, 4, 5))) static size_t add_missing(struct missing *m, bool ordinary, bool calls,
								const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(m->text, sizeof(m->text), fmt, args);
	va_end(args);
	m->ordinary = ordinary;
	m->calls = calls;
	return 1;
}

size_t recording_list_missing(const struct recording *s, struct missing list[MISSING_MAX])
{
	const struct discover_counts *found = discover_counts(s->discover);
	struct lack lacks[NLACKS];
	size_t n = 0;

	if (s->others_hidden)
		n += add_missing(&list[n], false, true,
				 "/proc (hidepid) hides processes of other users from those who lack CAP_SYS_PTRACE");
	count_lacks(s, lacks);
	for (size_t i = 0; i < NLACKS; i++)
		if (lacks[i].n)
			n += add_missing(&list[n], lacks[i].ordinary, lacks[i].calls, "%llu %s",
					 (unsigned long long)lacks[i].n,
					 lacks[i].n == 1 ? lacks[i].one : lacks[i].more);
	if (found->refused)
		n += add_missing(&list[n], false, true, "%zu function%s that cannot be probed", found->refused,
				 plural(found->refused));
	if (!s->o.late_attach)
		n += add_missing(&list[n], false, true,
				 "libraries that were loaded after recording began (--no-late-attach)");
	if (!attach_facts(s->attach)->futex)
		n += add_missing(&list[n], false, false, "futexes, and with them waits for locks (%s)",
				 s->o.futex ? "this kernel does not offer them" : "--no-futex");
	if (!s->o.quota)
		n += add_missing(&list[n], false, false, "when a CPU quota kept threads from running (--no-quota)");
	if (!s->o.signals)
		n += add_missing(&list[n], false, false,
				 "who stopped, continued or ended processes by a signal (--no-signals)");
	if (!s->o.disks)
		n += add_missing(&list[n], false, false, "for which request to a disk threads waited (--no-disks)");
	if (!s->o.network)
		n += add_missing(&list[n], false, false,
				 "through which connection came what threads waited for (--no-network)");
	if (!s->o.reclaim)
		n += add_missing(&list[n], false, false,
				 "when threads had to free memory by themselves (--no-reclaim)");
	if (!s->o.follow)
		n += add_missing(
			&list[n], false, false,
			"what those did that are not recorded, and kept recorded threads waiting (--no-follow)");
	if (!s->o.command_lines)
		n += add_missing(&list[n], true, false, "the arguments of processes (--no-command-lines)");
	if (!s->o.paths)
		n += add_missing(&list[n], true, false, "where files are, and the arguments of processes (--no-paths)");
	return n;
}
_Static_assert(NLACKS + 12 <= MISSING_MAX, "room for all");
