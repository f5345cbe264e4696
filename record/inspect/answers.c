/* SPDX-License-Identifier: Apache-2.0 */
/* What each question's answer holds. It comes from a process that reads hostile bytes: it may say anything. */
#include "record/inspect/inspector_internal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static int malformed(struct fault *why)
{
	return fault_set(why, ERR_IO, FAULT_NOWHERE, "the process that inspects files has failed");
}

static struct inspect_ask ask_of(enum inspect_op op, uint32_t pid)
{
	struct inspect_ask ask;

	memset(&ask, 0, sizeof(ask));
	ask.op = op;
	ask.pid = pid;
	return ask;
}

static struct inspect_ask ask_file(enum inspect_op op, uint32_t pid, const struct mapping *m, const struct stamp *stamp)
{
	struct inspect_ask ask = ask_of(op, pid);

	ask.start = m->start;
	ask.offset = m->offset;
	ask.inode = m->inode;
	ask.dev_major = m->dev_major;
	ask.dev_minor = m->dev_minor;
	if (stamp)
		ask.stamp = *stamp;
	return ask;
}

/* Ask, and take what the answer begins with. INSPECT_DONE: *a has the rest, and is to be given to inspect_done(). */
static int ask_head(struct inspector *i, const struct inspect_ask *ask, struct attach_site *sites, struct answer **a,
		    void *head, size_t size, struct fault *why)
{
	int r = inspect_question(i, ask, sites, a, why);

	if (r != INSPECT_DONE || inspect_take(*a, head, size))
		return r;
	inspect_done(*a);
	return malformed(why);
}

/* --- mappings --- */

/* Ask, and take the answer over. */
static int ask_list(struct inspector *i, const struct inspect_ask *ask, struct inspect_list *list, struct fault *why)
{
	struct inspect_code head;
	struct answer *a;
	int r = ask_head(i, ask, NULL, &a, &head, sizeof(head), why);

	memset(list, 0, sizeof(*list));
	if (r != INSPECT_DONE)
		return r;
	*list = (struct inspect_list){.answer = a->bytes,
				      .at = a->at,
				      .left = head.n,
				      .over = head.over,
				      .mount_namespace = head.mount_namespace};
	memset(&a->bytes, 0, sizeof(a->bytes));
	inspect_done(a);
	return INSPECT_DONE;
}

bool inspect_list_next(struct inspect_list *list, struct mapping *m)
{
	struct inspect_mapping head;
	const struct bytes *b = &list->answer;

	if (!list->left || list->at > b->len || b->len - list->at < sizeof(head))
		return false;
	memcpy(&head, b->data + list->at, sizeof(head));
	list->at += sizeof(head);
	/* So that no sum of an offset and a distance can wrap round: as mapping_parse() has it. */
	if (head.path_bytes >= sizeof(m->path) || head.path_bytes > b->len - list->at || head.start >= head.end ||
	    head.end - head.start > UINT64_MAX - head.offset)
		return false;
	m->start = head.start;
	m->end = head.end;
	m->offset = head.offset;
	m->inode = head.inode;
	m->dev_major = head.dev_major;
	m->dev_minor = head.dev_minor;
	m->prot = (int)head.prot;
	m->shared = false;
	m->deleted = head.deleted;
	m->path_cut = head.path_cut;
	m->mount_namespace = list->mount_namespace;
	memcpy(m->path, b->data + list->at, head.path_bytes);
	m->path[head.path_bytes] = '\0';
	list->at += head.path_bytes;
	list->left--;
	return true;
}

void inspect_list_free(struct inspect_list *list)
{
	bytes_free(&list->answer);
	memset(list, 0, sizeof(*list));
}

int inspector_code(struct inspector *i, uint32_t pid, struct inspect_list *list, struct fault *why)
{
	const struct inspect_ask ask = ask_of(INSPECT_CODE, pid);

	return ask_list(i, &ask, list, why);
}

static int ask_mapping(struct inspector *i, const struct inspect_ask *ask, struct mapping *m, struct fault *why)
{
	struct inspect_list list;
	int r = ask_list(i, ask, &list, why);

	if (r == INSPECT_DONE && !inspect_list_next(&list, m))
		r = malformed(why);
	inspect_list_free(&list);
	return r;
}

int inspector_mapping(struct inspector *i, uint32_t pid, uint64_t address, struct mapping *m, struct fault *why)
{
	struct inspect_ask ask = ask_of(INSPECT_AT, pid);

	ask.start = address;
	return ask_mapping(i, &ask, m, why);
}

int inspector_exe(struct inspector *i, uint32_t pid, struct mapping *m, struct fault *why)
{
	const struct inspect_ask ask = ask_of(INSPECT_EXE, pid);

	return ask_mapping(i, &ask, m, why);
}

/* --- files --- */

int inspector_open(struct inspector *i, uint32_t pid, const struct mapping *m, struct inspect_file *f,
		   struct fault *why)
{
	const struct inspect_ask ask = ask_file(INSPECT_OPEN, pid, m, NULL);
	struct answer *a;
	int r = ask_head(i, &ask, NULL, &a, f, sizeof(*f), why);

	if (r != INSPECT_DONE)
		return r;
	inspect_done(a);
	f->build_id[2 * IMAGE_BUILD_ID_MAX] = '\0';
	f->path[sizeof(f->path) - 1] = '\0';
	return r;
}

int inspector_functions(struct inspector *i, uint32_t pid, const struct mapping *m, const struct stamp *stamp,
			struct inspect_functions *head, struct image_match **found, struct fault *why)
{
	const struct inspect_ask ask = ask_file(INSPECT_FUNCTIONS, pid, m, stamp);
	struct answer *a;
	int r = ask_head(i, &ask, NULL, &a, head, sizeof(*head), why);

	*found = NULL;
	if (r != INSPECT_DONE)
		return r;
	if (head->n > IMAGE_MATCHES_MAX)
		r = malformed(why);
	else
		*found = calloc(head->n + 1, sizeof(**found));
	if (r == INSPECT_DONE && !*found)
		r = fault_no_memory(why);
	if (r == INSPECT_DONE && !inspect_take(a, *found, head->n * sizeof(**found)))
		r = malformed(why);
	for (uint32_t k = 0; r == INSPECT_DONE && k < head->n; k++)
		if ((*found)[k].name >= nprobes)
			r = malformed(why);
	inspect_done(a);
	if (r != INSPECT_DONE) {
		free(*found);
		*found = NULL;
	}
	return r;
}

static int attach_here(struct inspector *i, const struct inspect_ask *ask, struct attach_site *sites, struct fault *why)
{
	struct inspect_head head;

	if (!bench_work(i->bench, ask, sites, &i->local.bytes))
		return fault_no_memory(why);
	memcpy(&head, i->local.bytes.data, sizeof(head));
	return head.result < 0 ? fault_set(why, head.result, FAULT_NOWHERE, "%s", head.text) : head.result;
}

int inspector_attach(struct inspector *i, uint32_t pid, const struct mapping *m, const struct stamp *stamp,
		     struct attach_site *sites, size_t nsites, struct fault *why)
{
	struct inspect_ask ask = ask_file(INSPECT_ATTACH, pid, m, stamp);
	struct inspect_attached head;
	struct answer *a;
	int r;

	ask.nsites = (uint32_t)nsites;
	r = ask_head(i, &ask, sites, &a, &head, sizeof(head), why);
	if (r != INSPECT_DONE)
		return r;
	if (!head.by_caller && head.n != nsites)
		r = malformed(why);
	for (size_t k = 0; k < nsites && r == INSPECT_DONE && !head.by_caller; k++) {
		int32_t error = 0;

		if (!inspect_take(a, &error, sizeof(error)))
			r = malformed(why);
		sites[k].error = error;
	}
	inspect_done(a);
	/* The helper has just read the file, so that it can be read. */
	return r == INSPECT_DONE && head.by_caller ? attach_here(i, &ask, sites, why) : r;
}

int inspector_symbol(struct inspector *i, uint32_t pid, const struct mapping *m, const struct stamp *stamp,
		     uint32_t module, uint64_t offset, char *name, size_t size, uint64_t *plus, struct fault *why)
{
	struct inspect_ask ask = ask_file(INSPECT_SYMBOL, pid, m, stamp);
	struct inspect_symbol head;
	struct answer *a;
	size_t n;
	int r;

	ask.module = module;
	ask.at = offset;
	r = ask_head(i, &ask, NULL, &a, &head, sizeof(head), why);
	if (r != INSPECT_DONE)
		return r;
	n = strnlen((const char *)a->bytes.data + a->at, a->bytes.len - a->at);
	if (n > size - 1)
		n = size - 1;
	memcpy(name, a->bytes.data + a->at, n);
	name[n] = '\0';
	*plus = head.plus;
	inspect_done(a);
	return r;
}

/* --- processes --- */

/* A text that a helper sent, in a field of `size` bytes. */
static void end_text(char *text, size_t size)
{
	text[size - 1] = '\0';
}

int inspector_arguments(struct inspector *i, uint32_t pid, struct inspect_arguments *head, char *text, size_t size,
			struct fault *why)
{
	const struct inspect_ask ask = ask_of(INSPECT_ARGUMENTS, pid);
	struct answer *a;
	int r = ask_head(i, &ask, NULL, &a, head, sizeof(*head), why);
	size_t n;

	if (r != INSPECT_DONE)
		return r;
	if (a->at >= a->bytes.len || a->bytes.data[a->bytes.len - 1]) {
		inspect_done(a);
		return malformed(why);
	}
	n = strnlen((const char *)a->bytes.data + a->at, size - 1);
	memcpy(text, a->bytes.data + a->at, n);
	text[n] = '\0';
	end_text(head->exe, sizeof(head->exe));
	return r;
}

int inspector_program(struct inspector *i, uint32_t pid, struct inspect_program *p, struct fault *why)
{
	const struct inspect_ask ask = ask_of(INSPECT_PROGRAM, pid);
	struct answer *a;
	int r = ask_head(i, &ask, NULL, &a, p, sizeof(*p), why);

	if (r != INSPECT_DONE)
		return r;
	end_text(p->exe, sizeof(p->exe));
	end_text(p->again, sizeof(p->again));
	end_text(p->cgroup.path, sizeof(p->cgroup.path));
	end_text(p->cgroup.cpu, sizeof(p->cgroup.cpu));
	end_text(p->cgroup.memory, sizeof(p->cgroup.memory));
	end_text(p->cgroup.container, sizeof(p->cgroup.container));
	return r;
}

int inspector_stack(struct inspector *i, uint32_t pid, uint64_t start_ns, const struct thread_at *thread,
		    uint64_t *frames, size_t max, size_t *n, uint32_t *flags, struct fault *why)
{
	struct inspect_ask ask = ask_of(INSPECT_STACK, pid);
	struct inspect_stack head;
	struct answer *a;
	int done;

	ask.start = start_ns;
	ask.thread = *thread;
	done = ask_head(i, &ask, NULL, &a, &head, sizeof(head), why);
	if (done != INSPECT_DONE)
		return done;
	*n = head.n < max ? head.n : max;
	*flags = head.flags & (STACK_WHOLE | STACK_STILL);
	if (!inspect_take(a, frames, *n * sizeof(*frames)))
		done = malformed(why);
	inspect_done(a);
	return done;
}
