/* SPDX-License-Identifier: Apache-2.0 */
#include "record/inspect/inspect.h"

#include "format/schema.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#define OVERLAY_MAGIC 0x794c7630 /* linux/magic.h */
#define REGISTERS_KERNELS                                                                                              \
	"__cudaRegisterFatBinary" /* the runtime calls it for programs with kernels, in the runtime                    \
				   */
#define SYMBOL_BYTES_MAX 1024

/* Symbols of a file, by the number that who asks gives it. */
struct symbols {
	uint32_t module; /* 0: free */
	struct stamp stamp;
	struct image *image;
	size_t n;
	uint64_t used; /* larger: more recently */
};

struct bench {
	const struct procfs *fs;
	struct attach *attach;
	const char **names; /* of all functions of libraries that are probed */
	size_t nnames;
	int given_fd;
	void (*publish)(struct helper_board *self, struct attach *attach, struct attach_site *sites, size_t n);
	struct helper_board *publish_self;
	struct symbols symbols[INSPECT_IMAGES_MAX];
	size_t nsymbols;
	uint64_t clock;
	struct unwinder *unwinder; /* NULL until it is needed */
	struct procfs_maps maps;   /* large: not for the stack */
	struct mapping line;
};

int stamp_read(int fd, struct stamp *stamp, struct fault *why)
{
	struct statfs fs;
	struct stat st;

	if (fstat(fd, &st) < 0)
		return fault_errno(why, "cannot inspect a file that a process has mapped");
	*stamp = (struct stamp){.inode = st.st_ino,
				.bytes = (uint64_t)st.st_size,
				.changed_s = st.st_ctim.tv_sec,
				.changed_ns = st.st_ctim.tv_nsec,
				.modified_s = st.st_mtim.tv_sec,
				.modified_ns = st.st_mtim.tv_nsec,
				.overlay = fstatfs(fd, &fs) == 0 && fs.f_type == OVERLAY_MAGIC};
	return 0;
}

bool stamp_same(const struct stamp *a, const struct stamp *b)
{
	return a->inode == b->inode && a->bytes == b->bytes && a->changed_s == b->changed_s &&
	       a->changed_ns == b->changed_ns && a->modified_s == b->modified_s && a->modified_ns == b->modified_ns;
}

int bench_new(struct bench **out, const struct procfs *fs, struct attach *attach, struct fault *why)
{
	struct bench *b = calloc(1, sizeof(*b));
	const struct probe_spec *functions;

	if (!b)
		return fault_no_memory(why);
	b->nnames = library_probes(&functions);
	b->names = calloc(b->nnames, sizeof(*b->names));
	if (!b->names) {
		free(b);
		return fault_no_memory(why);
	}
	for (size_t i = 0; i < b->nnames; i++)
		b->names[i] = functions[i].name;
	b->fs = fs;
	b->attach = attach;
	b->given_fd = -1;
	*out = b;
	return 0;
}

void bench_free(struct bench *b)
{
	if (!b)
		return;
	for (size_t i = 0; i < INSPECT_IMAGES_MAX; i++)
		image_close(b->symbols[i].image);
	unwinder_free(b->unwinder);
	free(b->names);
	free(b);
}

void bench_publish(struct bench *b,
		   void (*publish)(struct helper_board *self, struct attach *attach, struct attach_site *sites,
				   size_t n),
		   struct helper_board *self)
{
	b->publish = publish;
	b->publish_self = self;
}

void bench_give_file(struct bench *b, int fd)
{
	b->given_fd = fd;
}

/* --- mappings --- */

static void add_mapping(struct bytes *out, const struct mapping *m)
{
	const struct inspect_mapping head = {
		.start = m->start,
		.end = m->end,
		.offset = m->offset,
		.inode = m->inode,
		.dev_major = m->dev_major,
		.dev_minor = m->dev_minor,
		.prot = (uint32_t)m->prot,
		.path_bytes = (uint16_t)strlen(m->path),
		.deleted = m->deleted,
		.path_cut = m->path_cut,
	};

	bytes_add(out, &head, sizeof(head));
	bytes_add(out, m->path, head.path_bytes);
}

/* All code that is mapped: 1, 0 gone, or negative. */
static int work_code(struct bench *b, const struct inspect_ask *ask, struct bytes *out, struct fault *why)
{
	struct inspect_code code = {0};
	size_t at = out->len;
	int r = procfs_maps_open(&b->maps, b->fs, ask->pid, why);

	if (r <= 0)
		return r;
	code.mount_namespace = b->maps.mount_namespace;
	bytes_add(out, &code, sizeof(code));
	while (b->maps.nlines < INSPECT_LINES_MAX && (r = procfs_maps_next(&b->maps, &b->line, why)) > 0) {
		if (!(b->line.prot & PROT_EXEC))
			continue;
		if (code.n < INSPECT_CODE_MAX && out->len + sizeof(b->line) < INSPECT_ANSWER_MAX) {
			add_mapping(out, &b->line);
			code.n++;
		} else {
			code.over++;
		}
	}
	procfs_maps_close(&b->maps);
	if (r < 0)
		return r;
	if (!out->failed)
		memcpy(out->data + at, &code, sizeof(code));
	return 1;
}

/* One mapping, found before, into the answer. */
static int emit_line(const struct bench *b, struct bytes *out)
{
	const struct inspect_code code = {.mount_namespace = b->line.mount_namespace, .n = 1};

	bytes_add(out, &code, sizeof(code));
	add_mapping(out, &b->line);
	return 1;
}

static int work_at(struct bench *b, const struct inspect_ask *ask, struct bytes *out, struct fault *why)
{
	int r = procfs_mapping_at(b->fs, ask->pid, ask->start, &b->maps, &b->line, why);

	return r > 0 ? emit_line(b, out) : r;
}

static int work_exe(struct bench *b, const struct inspect_ask *ask, struct bytes *out, struct fault *why)
{
	char path[PROCFS_PATH_MAX];
	int r = procfs_exe(b->fs, ask->pid, path, sizeof(path), NULL, why);

	if (r > 0)
		r = procfs_exe_mapping(b->fs, ask->pid, path, &b->maps, &b->line, why);
	return r > 0 ? emit_line(b, out) : r;
}

/* --- files --- */

/* The file of the mapping that was asked for: 1 and *fd, to be closed; 0 gone or another one; negative. */
static int open_asked(struct bench *b, const struct inspect_ask *ask, int *fd, struct fault *why)
{
	int r;

	if (b->given_fd >= 0) {
		*fd = dup(b->given_fd);
		return *fd < 0 ? fault_errno(why, "cannot open a file") : 1;
	}
	r = procfs_mapping_at(b->fs, ask->pid, ask->start, &b->maps, &b->line, why);
	if (r <= 0)
		return r;
	if (b->line.inode != ask->inode || b->line.dev_major != ask->dev_major || b->line.dev_minor != ask->dev_minor)
		return 0;
	return procfs_open_mapped(b->fs, ask->pid, &b->line, fd, why);
}

/* The same, and it must be as it was when its stamp was taken. */
static int open_same(struct bench *b, const struct inspect_ask *ask, int *fd, struct fault *why)
{
	struct stamp now;
	int r = open_asked(b, ask, fd, why);

	if (r <= 0)
		return r;
	r = stamp_read(*fd, &now, why);
	if (r == 0 && stamp_same(&now, &ask->stamp))
		return 1;
	close(*fd);
	return r;
}

static int work_open(struct bench *b, const struct inspect_ask *ask, struct bytes *out, struct fault *why)
{
	struct inspect_file *f = calloc(1, sizeof(*f));
	struct image *img = NULL;
	struct fault said;
	int fd = -1, r = 0;

	if (!f)
		return fault_no_memory(why);
	r = open_asked(b, ask, &fd, why);
	if (r <= 0)
		goto out;
	r = stamp_read(fd, &f->stamp, why);
	if (r < 0)
		goto out;
	r = image_open(&img, fd, &said);
	f->elf = r == 0;
	if (r == 0)
		strcpy(f->build_id, image_build_id(img));
	if (b->given_fd < 0) {
		f->mount_namespace = b->line.mount_namespace;
		f->deleted = b->line.deleted;
		memcpy(f->path, b->line.path, sizeof(f->path));
	}
	bytes_add(out, f, sizeof(*f));
	r = r == ERR_MEMORY ? fault_set(why, r, FAULT_NOWHERE, "%s", said.text) : 1;
out:
	image_close(img);
	if (fd >= 0)
		close(fd);
	free(f);
	return r;
}

static int work_functions(struct bench *b, const struct inspect_ask *ask, struct bytes *out, struct fault *why)
{
	struct inspect_functions head = {0};
	struct image_match *found = NULL;
	struct image *img = NULL;
	size_t n = 0;
	int fd = -1, imports = 0, r = open_same(b, ask, &fd, why);

	if (r <= 0)
		return r;
	r = image_open(&img, fd, why);
	if (r == 0)
		r = image_find(img, b->names, b->nnames, &found, &n, why);
	if (r == 0 && !n && image_has_kernels(img))
		imports = image_imports(img, REGISTERS_KERNELS, why);
	if (r == 0 && imports >= 0) {
		head.n = (uint32_t)n;
		head.has_kernels = image_has_kernels(img);
		head.imports_runtime = imports > 0;
		bytes_add(out, &head, sizeof(head));
		bytes_add(out, found, n * sizeof(*found));
	}
	image_close(img);
	free(found);
	close(fd);
	return r < 0 ? r : imports < 0 ? imports : 1;
}

/* --- probes --- */

static int work_attach(struct bench *b, const struct inspect_ask *ask, struct attach_site *sites, struct bytes *out,
		       struct fault *why)
{
	struct inspect_attached head = {.n = ask->nsites};
	int fd = -1, r = open_same(b, ask, &fd, why);

	if (r <= 0)
		return r;
	head.by_caller = b->publish && !attach_facts(b->attach)->multi;
	if (!head.by_caller)
		(void)attach_library(b->attach, fd, sites, ask->nsites);
	if (!head.by_caller && b->publish)
		b->publish(b->publish_self, b->attach, sites, ask->nsites);
	close(fd);
	bytes_add(out, &head, sizeof(head));
	for (uint32_t i = 0; i < ask->nsites && !head.by_caller; i++)
		bytes_add_le32(out, (uint32_t)sites[i].error);
	return 1;
}

/* --- symbols --- */

static void drop_symbols(struct bench *b, struct symbols *s)
{
	image_close(s->image);
	b->nsymbols -= s->n;
	memset(s, 0, sizeof(*s));
}

static struct symbols *oldest_symbols(struct bench *b, const struct symbols *keep)
{
	struct symbols *oldest = NULL;

	for (size_t i = 0; i < INSPECT_IMAGES_MAX; i++) {
		struct symbols *s = &b->symbols[i];

		if (s != keep && (!oldest || s->used < oldest->used))
			oldest = s;
	}
	return oldest;
}

/* Have the symbols at hand: those of the files used longest ago may have to go. 1, 0 gone, or negative. */
static int load_symbols(struct bench *b, const struct inspect_ask *ask, struct symbols **out, struct fault *why)
{
	struct symbols *s;
	int fd = -1, r;

	for (size_t i = 0; i < INSPECT_IMAGES_MAX; i++)
		if (b->symbols[i].module == ask->module && stamp_same(&b->symbols[i].stamp, &ask->stamp)) {
			*out = &b->symbols[i];
			return 1;
		}
	r = open_same(b, ask, &fd, why);
	if (r <= 0)
		return r;
	s = oldest_symbols(b, NULL);
	drop_symbols(b, s);
	r = image_open(&s->image, fd, why);
	close(fd);
	if (r == 0)
		r = image_load_symbols(s->image, INSPECT_SYMBOLS_MAX, &s->n, why);
	if (r < 0) {
		drop_symbols(b, s);
		return r;
	}
	s->module = ask->module;
	s->stamp = ask->stamp;
	b->nsymbols += s->n;
	while (b->nsymbols > INSPECT_SYMBOLS_MAX)
		drop_symbols(b, oldest_symbols(b, s));
	*out = s;
	return 1;
}

static int work_symbol(struct bench *b, const struct inspect_ask *ask, struct bytes *out, struct fault *why)
{
	struct inspect_symbol head = {0};
	char name[SYMBOL_BYTES_MAX] = "";
	struct symbols *s;
	int r = load_symbols(b, ask, &s, why);

	if (r <= 0)
		return r;
	s->used = ++b->clock;
	if (image_symbol(s->image, ask->at, name, sizeof(name), &head.plus, NULL) <= 0)
		name[0] = '\0';
	bytes_add(out, &head, sizeof(head));
	bytes_add(out, name, strlen(name) + 1);
	return 1;
}

static int work_arguments(struct bench *b, const struct inspect_ask *ask, struct bytes *out, struct fault *why)
{
	struct inspect_arguments *a = calloc(1, sizeof(*a));
	char *text = calloc(1, TEXT_MAX + 1);
	int r = 1;

	if (a && text) {
		a->exe_result = procfs_exe(b->fs, ask->pid, a->exe, sizeof(a->exe), NULL, NULL);
		a->result = procfs_command_line(b->fs, ask->pid, text, TEXT_MAX + 1, &a->bytes, NULL);
		bytes_add(out, a, sizeof(*a));
		bytes_add(out, text, strlen(text) + 1);
	} else {
		r = fault_no_memory(why);
	}
	free(text);
	free(a);
	return r;
}

static int work_program(struct bench *b, const struct inspect_ask *ask, struct bytes *out, struct fault *why)
{
	struct inspect_program *p = calloc(1, sizeof(*p));

	if (!p)
		return fault_no_memory(why);
	p->exe_result = procfs_exe(b->fs, ask->pid, p->exe, sizeof(p->exe), NULL, NULL);
	p->cgroup_result = procfs_cgroup(b->fs, ask->pid, &p->cgroup, NULL);
	p->namespaces_result = procfs_namespaces(b->fs, ask->pid, &p->namespaces, NULL);
	p->again_result = procfs_exe(b->fs, ask->pid, p->again, sizeof(p->again), NULL, NULL);
	bytes_add(out, p, sizeof(*p));
	free(p);
	return 1;
}

static int work_stack(struct bench *b, const struct inspect_ask *ask, struct bytes *out, struct fault *why)
{
	uint64_t frames[STACK_FRAMES];
	struct inspect_stack head = {0};
	uint32_t flags;
	size_t n;
	int r = b->unwinder ? 0 : unwinder_new(&b->unwinder, b->fs, why);

	if (r == 0)
		r = unwinder_stack(b->unwinder, ask->pid, ask->start, &ask->thread, frames, STACK_FRAMES, &n, &flags,
				   why);
	if (r <= 0)
		return r;
	head.n = (uint32_t)n;
	head.flags = flags;
	bytes_add(out, &head, sizeof(head));
	bytes_add(out, frames, n * sizeof(frames[0]));
	return 1;
}

bool bench_work(struct bench *b, const struct inspect_ask *ask, struct attach_site *sites, struct bytes *answer)
{
	static int (*const works[])(struct bench *, const struct inspect_ask *, struct bytes *, struct fault *) = {
		[INSPECT_CODE] = work_code,
		[INSPECT_AT] = work_at,
		[INSPECT_EXE] = work_exe,
		[INSPECT_OPEN] = work_open,
		[INSPECT_FUNCTIONS] = work_functions,
		[INSPECT_SYMBOL] = work_symbol,
		[INSPECT_ARGUMENTS] = work_arguments,
		[INSPECT_PROGRAM] = work_program,
		[INSPECT_STACK] = work_stack,
	};
	struct inspect_head head = {0};
	struct fault why = {0};

	bytes_reset(answer);
	bytes_add(answer, &head, sizeof(head));
	if (ask->op == INSPECT_ATTACH)
		head.result = work_attach(b, ask, sites, answer, &why);
	else if (ask->op < sizeof(works) / sizeof(works[0]) && works[ask->op])
		head.result = works[ask->op](b, ask, answer, &why);
	else
		head.result = ERR_INPUT;
	if (head.result < 0)
		strcpy(head.text, why.text);
	if (!answer->failed)
		memcpy(answer->data, &head, sizeof(head));
	return !answer->failed;
}
