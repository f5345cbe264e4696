/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folded stacks, which flamegraph.pl, inferno and speedscope draw: "outer;inner 123". Time in calls, by process, thread
 * and function, each without what the calls inside it took; or bytes allocated, by process and site. Where a capture
 * is not whole, the lowest frame says so.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "keys/completeness.h"
#include "format/base/array.h"
#include "replay/export/export.h"
#include "replay/model/stacks.h"

#define PENDING_MAX 64 /* calls inside one call that wait for it to return */
#define NUMBER_BITS 56 /* of a node's key; the tag is above */
#define LINE_MAX_BYTES ((size_t)64 << 10)

/* What a node of the tree is: which table its number belongs to. */
enum tag { TAG_PROCESS = 1, TAG_THREAD, TAG_PROBE, TAG_FRAME };

struct node {
	uint64_t key; /* tag and number */
	uint64_t value;
	uint32_t parent;
};

struct call {
	uint64_t begin_ns, dur_ns, self_ns, probe;
	uint32_t parent; /* among those that wait: its place + 1, 0: none yet */
};

struct pending {
	struct call *calls;
	uint32_t n;
	uint32_t node; /* of the thread */
};

struct folded {
	struct out *out;
	const struct schema *schema;
	bool bytes;
	struct stacks stacks;
	struct node *nodes; /* numbered from 1 */
	uint32_t nnodes;
	size_t nodes_room;
	struct map by_key;       /* (parent, key) -> node */
	struct pending *pending; /* by number of the thread */
	size_t npending;
};

/* The child of `parent` (0: the root) with this key: made if there is none. 0 without memory. */
static uint32_t child(struct folded *f, uint32_t parent, enum tag tag, uint64_t number)
{
	/* A capture's numbers may have more bits: none of them is a probe's. */
	uint64_t key = (uint64_t)tag << NUMBER_BITS | (number & ((UINT64_C(1) << NUMBER_BITS) - 1));
	uint32_t n = map_get(&f->by_key, parent, key);
	struct node *new;

	if (n)
		return n;
	new = array_at(&f->nodes, &f->nodes_room, (size_t)f->nnodes + 1, sizeof(*new));
	if (!new || map_put(&f->by_key, parent, key, f->nnodes + 1))
		return 0;
	*new = (struct node){.key = key, .parent = parent};
	return ++f->nnodes;
}

/* --- time --- */

/* Callers come after what they called: from the last one back, each finds the node of its caller made. */
static int settle(struct folded *f, struct pending *p, struct fault *why)
{
	uint32_t nodes[PENDING_MAX];

	for (uint32_t i = p->n; i-- > 0;) {
		const struct call *c = &p->calls[i];

		nodes[i] = child(f, c->parent ? nodes[c->parent - 1] : p->node, TAG_PROBE, c->probe);
		if (!nodes[i])
			return fault_no_memory(why);
		f->nodes[nodes[i]].value += c->self_ns;
	}
	p->n = 0;
	return 0;
}

static struct pending *pending_of(struct folded *f, const struct walk *w, uint32_t number)
{
	struct pending *p = array_at(&f->pending, &f->npending, number, sizeof(*p));

	if (p && !p->calls) {
		uint32_t process = child(f, 0, TAG_PROCESS, number ? w->tasks.threads[number].process : 0);

		p->node = process ? child(f, process, TAG_THREAD, number) : 0;
		p->calls = p->node ? calloc(PENDING_MAX, sizeof(*p->calls)) : NULL;
	}
	return p && p->calls ? p : NULL;
}

static int add_time(struct folded *f, const struct walk *w, const struct event *ev, struct fault *why)
{
	uint32_t number = tasks_thread(&w->tasks, (uint32_t)ev->v[F_call_tid]);
	struct pending *p = pending_of(f, w, number);
	struct call c = {.begin_ns = call_begin_ns(ev), .dur_ns = ev->v[F_call_dur], .probe = ev->v[F_call_probe]};
	uint64_t inside_ns = 0;

	if (!p)
		return fault_no_memory(why);
	if (p->n == PENDING_MAX && settle(f, p, why))
		return why->code;
	for (uint32_t i = 0; i < p->n; i++) {
		if (p->calls[i].parent || p->calls[i].begin_ns < c.begin_ns)
			continue;
		p->calls[i].parent = p->n + 1;
		inside_ns += p->calls[i].dur_ns;
	}
	c.self_ns = inside_ns < c.dur_ns ? c.dur_ns - inside_ns : 0;
	p->calls[p->n++] = c;
	return ev->v[F_call_flags] & CALL_NESTED ? 0 : settle(f, p, why);
}

/* --- bytes --- */

static int add_bytes(struct folded *f, const struct walk *w, const struct event *ev, struct fault *why)
{
	uint64_t stack = ev->v[F_alloc_stack];
	uint32_t depth = stacks_depth(&f->stacks, stack), n;

	/* As in the SQL view: what succeeded, and of nested calls the outer one. */
	if (ev->kind != KIND_alloc || ev->v[F_call_ret] != 0 || ev->v[F_call_flags] & CALL_NESTED)
		return 0;
	n = child(f, 0, TAG_PROCESS, tasks_process(&w->tasks, (uint32_t)ev->v[F_call_pid]));
	while (n && depth > 0)
		n = child(f, n, TAG_FRAME, (uint64_t)(stacks_frame(&f->stacks, stack, --depth) - f->stacks.frames));
	n = n ? child(f, n, TAG_PROBE, ev->v[F_call_probe]) : 0;
	if (!n)
		return fault_no_memory(why);
	f->nodes[n].value += ev->v[F_alloc_bytes];
	return 0;
}

static int on_event(void *self, struct walk *w, const struct event *ev, struct fault *why)
{
	struct folded *f = self;

	if (ev->shape->flags != KIND_CALL)
		return 0;
	return f->bytes ? add_bytes(f, w, ev, why) : add_time(f, w, ev, why);
}

/* --- lines --- */

static void describe(const struct folded *f, const struct walk *w, uint64_t key, char *buf, size_t size)
{
	uint64_t number = key & ((UINT64_C(1) << NUMBER_BITS) - 1);
	const struct process *process;
	const struct thread *thread;
	const struct probe *probe;

	switch ((enum tag)(key >> NUMBER_BITS)) {
	case TAG_PROCESS:
		process = number ? &w->tasks.processes[number] : NULL;
		if (process)
			snprintf(buf, size, "%.200s (%" PRIu32 ")", process->shown ? process->shown : "?",
				 process->pid);
		else
			snprintf(buf, size, "? (unknown process)");
		break;
	case TAG_THREAD:
		thread = number ? &w->tasks.threads[number] : NULL;
		snprintf(buf, size, "%.200s/%" PRIu32, thread && thread->shown ? thread->shown : "?",
			 thread ? thread->tid : 0);
		break;
	case TAG_PROBE:
		probe = schema_probe(f->schema, number);
		snprintf(buf, size, "%s", probe ? probe->name : "?");
		break;
	case TAG_FRAME:
		stacks_describe(&f->stacks, &f->stacks.frames[number], buf, size);
		break;
	}
	/* What separates frames cannot be part of one. */
	for (char *c = buf; *c; c++)
		if (*c == ';')
			*c = ':';
}

struct line {
	char *text;
	uint64_t value;
};

/* "process;thread;call" of a node, in memory of its own. NULL without memory. Deeper frames that do not fit are cut. */
static char *line_of(const struct folded *f, const struct walk *w, uint32_t n, char *scratch)
{
	size_t at = LINE_MAX_BYTES - 1;
	char part[512];

	scratch[at] = '\0';
	for (; n; n = f->nodes[n].parent) {
		size_t len;

		describe(f, w, f->nodes[n].key, part, sizeof(part));
		len = strlen(part);
		if (len + 1 > at)
			break;
		if (scratch[at])
			scratch[--at] = ';';
		at -= len;
		memcpy(scratch + at, part, len);
	}
	return strdup(scratch + at);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(((const struct line *)a)->text, ((const struct line *)b)->text);
}

/* The lowest frame, if there is something to be said about the capture as a whole. */
static void root_of(const struct walk *w, const struct fault *stopped, char *buf, size_t size)
{
	const struct replay *replay = w->replay;
	struct completeness all;

	buf[0] = '\0';
	completeness_of(&all, replay->evidence);
	if (replay->unverified || stopped || completeness_absent(&all) ||
	    replay->evidence->verification.verdict != VERDICT_OK) {
		export_sentence(replay, buf, SENTENCE_MAX);
		if (stopped) {
			strncat(buf, ", ", size - strlen(buf) - 1);
			strncat(buf, stopped->text, size - strlen(buf) - 1);
		}
		for (char *c = buf; *c; c++)
			if (*c == ';')
				*c = ',';
		strncat(buf, ";", size - strlen(buf) - 1);
	}
}

/* Different stacks may read alike: lines that do are one. */
static int on_end(void *self, struct walk *w, const struct fault *stopped, struct fault *why)
{
	struct folded *f = self;
	struct line *lines = NULL;
	char *scratch = malloc(LINE_MAX_BYTES), root[SENTENCE_MAX + sizeof(stopped->text)];
	size_t nlines = 0;
	int r = scratch ? 0 : fault_no_memory(why);

	for (uint32_t i = 0; !r && i < f->npending; i++)
		if (f->pending[i].n)
			r = settle(f, &f->pending[i], why);
	if (!r) {
		lines = calloc((size_t)f->nnodes + 1, sizeof(*lines));
		r = lines ? 0 : fault_no_memory(why);
	}
	for (uint32_t n = 1; !r && n <= f->nnodes; n++) {
		if (!f->nodes[n].value)
			continue;
		lines[nlines] = (struct line){line_of(f, w, n, scratch), f->nodes[n].value};
		r = lines[nlines++].text ? 0 : fault_no_memory(why);
	}
	if (!r) {
		qsort(lines, nlines, sizeof(*lines), by_text);
		root_of(w, stopped, root, sizeof(root));
	}
	if (!r && !nlines && root[0]) { /* nothing to draw, but something to say */
		out_bytes(f->out, root, strlen(root) - 1);
		out_string(f->out, " 0\n");
	}
	for (size_t i = 0; !r && i < nlines; i++) {
		if (i + 1 < nlines && !strcmp(lines[i].text, lines[i + 1].text)) {
			lines[i + 1].value += lines[i].value;
			continue;
		}
		out_string(f->out, root);
		out_bytes(f->out, lines[i].text, strlen(lines[i].text));
		out_char(f->out, ' ');
		out_u64(f->out, lines[i].value);
		out_char(f->out, '\n');
	}
	for (size_t i = 0; i < nlines; i++)
		free(lines[i].text);
	free(lines);
	free(scratch);
	return r;
}

static int write_folded(const struct replay *replay, struct out *o, bool bytes, struct fault *why)
{
	static const struct visitor visitor = {.event = on_event, .end = on_end};
	struct folded f = {.out = o, .schema = &replay->evidence->reader.header.schema, .bytes = bytes};
	int r = bytes ? stacks_read(&f.stacks, replay, why) : 0;

	if (r >= 0)
		r = walk(replay, &visitor, &f, why);
	for (uint32_t i = 0; i < f.npending; i++)
		free(f.pending[i].calls);
	free(f.pending);
	free(f.nodes);
	map_clear(&f.by_key);
	stacks_clear(&f.stacks);
	return r;
}

static int write_time(const struct replay *replay, struct out *o, struct fault *why)
{
	return write_folded(replay, o, false, why);
}

static int write_bytes(const struct replay *replay, struct out *o, struct fault *why)
{
	return write_folded(replay, o, true, why);
}

int folded_time_write_file(const struct replay *replay, int fd, struct fault *why)
{
	return export_file(replay, fd, write_time, why);
}

int folded_bytes_write_file(const struct replay *replay, int fd, struct fault *why)
{
	return export_file(replay, fd, write_bytes, why);
}
