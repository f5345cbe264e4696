/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a process is: the rows about a tracked process instance beyond its name, told when it is first met and again
 * after exec. All is read before anything is told, and told only if the process is still the same one then: so no row
 * mixes two processes that bore one number.
 */
#include "record/recording_inside.h"

#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "record/hostfacts.h"

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

#define READ_TRIES 3 /* of a process that runs one program after the other */

/* The module of the executable, 0 when its file cannot be had. */
static int find_module(struct recording *s, uint32_t pid, struct process_facts *f, struct fault *why)
{
	int fd = -1, r;

	if (procfs_exe_mapping(&s->fs, pid, f->exe, &s->maps, &s->line, NULL) <= 0)
		return 0;
	if (procfs_open_mapped(&s->fs, pid, &s->line, &fd, NULL) <= 0)
		return 0;
	r = symbolizer_module(s->symbolizer, fd, &s->line, &f->module, why);
	close(fd);
	return r;
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
 * then shows a control group and namespaces that are not its own: so its program is asked for again behind all else.
 *
 * 1; 0: it has ended, or another process has its number; -1: it runs another program by now.
 */
static int read_whole(struct recording *s, uint32_t pid, uint64_t start_ns, int exe, struct process_facts *f)
{
	char *again = s->line.path; /* large: not for the stack */
	int now = procfs_exe(&s->fs, pid, again, sizeof(s->line.path), NULL, NULL);
	struct process_info info;

	if (procfs_process(&s->fs, pid, &info, NULL) <= 0 || !procfs_same_start(&s->fs, info.start_ns, start_ns)) {
		memset(f, 0, sizeof(*f));
		return 0;
	}
	if (!exe || !now) {
		keep_program(f);
		return 0;
	}
	return exe > 0 && now > 0 && strcmp(f->exe, again) != 0 ? -1 : 1;
}

/*
 * 1; 0: it is gone, and *f has what was read of its program and arguments before, or another process has its number;
 * negative. *denied: something may not be read.
 */
static int read_facts(struct recording *s, uint32_t pid, uint64_t start_ns, struct process_facts *f, bool *denied,
		      struct fault *why)
{
	struct fault said;
	int whole = -1;

	for (int i = 0; i < READ_TRIES && whole < 0; i++) {
		int exe, arguments, cgroup, ns, r = 0;

		memset(f, 0, sizeof(*f)); /* also between its members: it is hashed */
		exe = procfs_exe(&s->fs, pid, f->exe, sizeof(f->exe), NULL, &said);
		arguments = procfs_command_line(&s->fs, pid, f->arguments, sizeof(f->arguments), &f->arguments_bytes,
						&said);
		cgroup = procfs_cgroup(&s->fs, pid, &f->cgroup, &said);
		ns = procfs_namespaces(&s->fs, pid, &f->ns, &said);
		if (exe <= 0)
			f->exe[0] = '\0';
		else
			r = find_module(s, pid, f, why);
		if (r < 0)
			return r;
		f->has_arguments = arguments > 0;
		f->has_cgroup = cgroup > 0;
		f->has_namespaces = ns > 0 && (f->ns.mount || f->ns.pids);
		*denied = exe == ERR_DENIED || arguments == ERR_DENIED || cgroup == ERR_DENIED ||
			  (ns > 0 && !f->has_namespaces);
		whole = read_whole(s, pid, start_ns, exe, f);
	}
	if (whole < 0)
		memset(f, 0, sizeof(*f));
	return whole > 0;
}

static int tell_executable(struct recording *s, uint32_t pid, uint64_t start_ns, const struct process_facts *f,
			   uint64_t at_ns, struct fault *why)
{
	const char *text[NFIELDS_executable] = {0};
	uint64_t v[NFIELDS_executable] = {0};
	int r = stacks_tell_modules(s->stacks, s->writer, at_ns, why);

	if (r < 0)
		return r;
	v[F_executable_at] = at_ns;
	v[F_executable_pid] = pid;
	v[F_executable_start] = start_ns;
	v[F_executable_path] = strlen(f->exe);
	v[F_executable_module] = f->module;
	text[F_executable_path] = f->exe;
	return writer_add(s->writer, KIND_executable, v, text, why);
}

static int tell_arguments(struct recording *s, uint32_t pid, uint64_t start_ns, const struct process_facts *f,
			  uint64_t at_ns, struct fault *why)
{
	const char *text[NFIELDS_command_line] = {0};
	uint64_t v[NFIELDS_command_line] = {0};

	v[F_command_line_at] = at_ns;
	v[F_command_line_pid] = pid;
	v[F_command_line_start] = start_ns;
	v[F_command_line_bytes] = f->arguments_bytes;
	v[F_command_line_text] = strlen(f->arguments);
	text[F_command_line_text] = f->arguments;
	return writer_add(s->writer, KIND_command_line, v, text, why);
}

static int tell_cgroup(struct recording *s, uint32_t pid, uint64_t start_ns, const struct process_facts *f,
		       uint64_t at_ns, struct fault *why)
{
	const char *text[NFIELDS_cgroup] = {0};
	uint64_t v[NFIELDS_cgroup] = {0};

	v[F_cgroup_at] = at_ns;
	v[F_cgroup_pid] = pid;
	v[F_cgroup_start] = start_ns;
	v[F_cgroup_path] = strlen(f->cgroup.path);
	text[F_cgroup_path] = f->cgroup.path;
	v[F_cgroup_container] = strlen(f->cgroup.container);
	text[F_cgroup_container] = f->cgroup.container;
	return writer_add(s->writer, KIND_cgroup, v, text, why);
}

static int tell_namespaces(struct recording *s, uint32_t pid, uint64_t start_ns, const struct process_facts *f,
			   uint64_t at_ns, struct fault *why)
{
	uint64_t v[NFIELDS_namespaces] = {0};

	v[F_namespaces_at] = at_ns;
	v[F_namespaces_pid] = pid;
	v[F_namespaces_start] = start_ns;
	v[F_namespaces_mount] = f->ns.mount;
	v[F_namespaces_pids] = f->ns.pids;
	v[F_namespaces_net] = f->ns.net;
	v[F_namespaces_user] = f->ns.user;
	v[F_namespaces_pid_inside] = f->ns.pid_inside;
	return writer_add(s->writer, KIND_namespaces, v, NULL, why);
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

static int tell_facts(struct recording *s, uint32_t pid, uint64_t start_ns, const struct process_facts *f,
		      struct fault *why)
{
	uint64_t at_ns = clock_ns(CLOCK_BOOTTIME);
	int r = f->exe[0] ? tell_executable(s, pid, start_ns, f, at_ns, why) : 0;

	if (r == 0 && f->has_arguments)
		r = tell_arguments(s, pid, start_ns, f, at_ns, why);
	if (r == 0 && f->has_cgroup)
		r = tell_cgroup(s, pid, start_ns, f, at_ns, why);
	if (r == 0 && f->has_namespaces)
		r = tell_namespaces(s, pid, start_ns, f, at_ns, why);
	return r;
}

/* The place of an instance in s->told; a new one is all zero but for its key. NULL: no memory. */
static struct instance *instance_of(struct recording *s, uint32_t pid, uint64_t start_ns)
{
	struct instance *more;

	for (size_t i = 0; i < s->ntold; i++)
		if (s->told[i].pid == pid && s->told[i].start_ns == start_ns)
			return &s->told[i];
	if (s->ntold == s->told_room) {
		more = reallocarray(s->told, s->told_room * 2 + 64, sizeof(*more));
		if (!more)
			return NULL;
		s->told = more;
		s->told_room = s->told_room * 2 + 64;
	}
	s->told[s->ntold] = (struct instance){.pid = pid, .start_ns = start_ns};
	return &s->told[s->ntold++];
}

int recording_tell_process(struct recording *s, uint32_t pid, uint64_t start_ns, const struct ring_exec *exec,
			   struct fault *why)
{
	struct instance *instance = instance_of(s, pid, start_ns);
	struct process_facts *f = calloc(1, sizeof(*f)); /* zero also between its members: it is hashed */
	uint8_t hash[sizeof(instance->facts)];
	bool denied = false;
	int r = 0;

	if (!f || !instance) {
		r = fault_set(why, ERR_MEMORY, FAULT_NOWHERE, "out of memory");
		goto out;
	}
	if (instance->met && !exec)
		goto out;
	instance->met = true;
	r = read_facts(s, pid, start_ns, f, &denied, why);
	s->facts_gone += r == 0;
	s->facts_denied += r > 0 && denied;
	if (r < 0 || (r == 0 && !exec && !f->exe[0]))
		goto out;
	if (r == 0 && exec)
		facts_of_exec(s, exec, f);
	/* What was seen of it after exec may be read again when exec is told of. */
	crypto_generichash(hash, sizeof(hash), (const uint8_t *)f, sizeof(*f), NULL, 0);
	r = 0;
	if (memcmp(instance->facts, hash, sizeof(hash)) != 0)
		r = tell_facts(s, pid, start_ns, f, why);
	if (r == 0)
		memcpy(instance->facts, hash, sizeof(hash));
out:
	free(f);
	return r;
}

void recording_leave_process(struct recording *s, uint32_t pid)
{
	for (size_t i = 0; i < s->ntold;) {
		if (s->told[i].pid == pid)
			s->told[i] = s->told[--s->ntold];
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
#define NLACKS 10

static void count_lacks(const struct recording *s, struct lack lacks[NLACKS])
{
	const struct discover_counts *found = discover_counts(s->discover);
	const struct symbolizer_counts *named = symbolizer_counts(s->symbolizer);
	const struct lack all[NLACKS] = {
		{"processes_denied", "process of which not all could be read: no permission",
		 "processes of which not all could be read: no permission", s->facts_denied, false, false},
		{"mappings_denied", "time that what a process has mapped could not be looked at: no permission",
		 "times that what a process has mapped could not be looked at: no permission", found->denied, false,
		 true},
		{"libraries_unseen", "CUDA library mapped by a process that /proc does not show",
		 "CUDA libraries mapped by processes that /proc does not show", s->libraries_unseen, false, true},
		{"libraries_unread", "CUDA library that could not be read", "CUDA libraries that could not be read",
		 found->unread, false, true},
		{"runtimes_stripped",
		 "file with the CUDA runtime linked in and stripped: of its calls only the driver's",
		 "files with the CUDA runtime linked in and stripped: of their calls only the driver's",
		 found->stripped, false, true},
		{"files_not_looked_at", "file beyond those that are looked at", "files beyond those that are looked at",
		 found->over, false, true},
		{"modules_not_numbered", "module beyond those that are numbered",
		 "modules beyond those that are numbered", named->modules_over, false, false},
		{"processes_gone", "time that a process ended before all could be read of it",
		 "times that a process ended before all could be read of it", s->facts_gone, true, false},
		{"files_gone",
		 "time that a process, or the recording, ended before a new file that it ran or mapped could be looked "
		 "at",
		 "times that a process, or the recording, ended before a new file that it ran or mapped could be "
		 "looked at",
		 found->gone, true, true},
		{"frames_unplaced", "frame of a stack of which the process was gone or may not be read",
		 "frames of stacks of which the process was gone or may not be read", named->no_process + named->denied,
		 true, false},
	};

	memcpy(lacks, all, sizeof(all));
}

int recording_tell_missing(struct recording *s, struct fault *why)
{
	uint64_t now_ns = clock_ns(CLOCK_BOOTTIME);
	struct lack lacks[NLACKS];
	int r = 0;

	if (s->others_hidden)
		r = fact_tellf(s->writer, now_ns, why, "proc_hidepid",
			       "%d: /proc hides processes from those who lack CAP_SYS_PTRACE", procfs_hides(&s->fs));
	count_lacks(s, lacks);
	for (size_t i = 0; i < NLACKS && r == 0; i++)
		if (lacks[i].n)
			r = fact_tellf(s->writer, now_ns, why, lacks[i].name, "%llu %s", (unsigned long long)lacks[i].n,
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
				 "/proc (hidepid) hides processes of other users from who lacks CAP_SYS_PTRACE");
	count_lacks(s, lacks);
	for (size_t i = 0; i < NLACKS; i++)
		if (lacks[i].n)
			n += add_missing(&list[n], lacks[i].ordinary, lacks[i].calls, "%llu %s",
					 (unsigned long long)lacks[i].n,
					 lacks[i].n == 1 ? lacks[i].one : lacks[i].more);
	if (found->refused)
		n += add_missing(&list[n], false, true, "%zu function%s that the kernel does not let probe",
				 found->refused, found->refused == 1 ? "" : "s");
	if (!s->o.late_attach)
		n += add_missing(&list[n], false, true,
				 "libraries that were loaded after recording began (--no-late-attach)");
	if (!attach_has_futex(s->attach))
		n += add_missing(&list[n], false, false, "futexes, and with them waits for locks (%s)",
				 s->o.futex ? "this kernel does not offer them" : "--no-futex");
	return n;
}
_Static_assert(NLACKS + 4 <= MISSING_MAX, "room for all");
