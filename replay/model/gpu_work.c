// SPDX-License-Identifier: Apache-2.0
#include "replay/model/gpu_work.h"

#include <stdlib.h>
#include <string.h>

#include "format/reader.h"
#include "keys/completeness.h"

#define NEVER UINT64_MAX
#define NOT_READY 600 /* cudaErrorNotReady, CUDA_ERROR_NOT_READY */
#define DEVICE_UNKNOWN UINT32_MAX

/* Handles that stand for a default stream of the current device. */
#define STREAM_NULL 0
#define STREAM_LEGACY 1
#define STREAM_PER_THREAD 2

enum act {
	ACT_NONE,
	ACT_SETS_DEVICE,
	ACT_MAKES_CONTEXT, /* or retains one */
	ACT_MAKES_STREAM,
	ACT_MARKS,   /* records an event in a stream */
	ACT_UNMARKS, /* in what is not known; or destroys it */
	ACT_STREAM_DONE,
	ACT_EVENT_DONE,
	ACT_DEVICE_DONE,
};

/* By the begins of names behind "cuda" or "cu". */
static const struct {
	const char *name;
	enum act act;
} functions[] = {
	{"SetDevice", ACT_SETS_DEVICE},        {"CtxCreate", ACT_MAKES_CONTEXT},
	{"GreenCtxCreate", ACT_MAKES_CONTEXT}, {"DevicePrimaryCtx", ACT_MAKES_CONTEXT},
	{"StreamCreate", ACT_MAKES_STREAM},    {"EventRecord", ACT_MARKS},
	{"CtxRecordEvent", ACT_UNMARKS},       {"GreenCtxRecordEvent", ACT_UNMARKS},
	{"EventDestroy", ACT_UNMARKS},         {"StreamSynchronize", ACT_STREAM_DONE},
	{"StreamQuery", ACT_STREAM_DONE},      {"EventSynchronize", ACT_EVENT_DONE},
	{"EventQuery", ACT_EVENT_DONE},        {"DeviceSynchronize", ACT_DEVICE_DONE},
	{"CtxSynchronize", ACT_DEVICE_DONE},
};

/* Without this function nobody knows for which device a call is; earlier recorders did not record it. */
static bool shows_devices(const struct schema *schema)
{
	for (uint32_t i = 0; i < schema->nprobes; i++)
		if (strcmp(schema->probes[i].name, "cudaSetDevice") == 0)
			return true;
	return false;
}

static bool is_missing(const struct schema *schema, const struct counter *c, const void *arg)
{
	const struct probe *p = schema_probe(schema, c->probe);
	const struct kind *kind = p ? schema_kind(schema, p->kind) : NULL;
	enum absence why = absence_of(schema, c->id);

	(void)arg;
	return kind && (kind->flags & KIND_CALL) == KIND_CALL &&
	       (why == ABSENCE_LOST || why == ABSENCE_LEFT_OUT || why == ABSENCE_NOT_ATTACHED);
}

bool gpu_work_shown(const struct reader *r)
{
	return !r || (shows_devices(&r->header.schema) && !reader_withholds(r, CLASS_events) &&
		      !reader_sum(r, r->nepochs, is_missing, NULL));
}

static enum act find_act(const char *name)
{
	const char *behind = name + (strncmp(name, "cuda", 4) == 0 ? 4 : 2);

	if (strncmp(name, "cu", 2) != 0)
		return ACT_NONE;
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
		if (strncmp(behind, functions[i].name, strlen(functions[i].name)) == 0)
			return functions[i].act;
	return ACT_NONE;
}

static bool ends_in(const char *name, const char *end)
{
	size_t n = strlen(name), k = strlen(end);

	return n > k && strcmp(name + n - k, end) == 0;
}

/* What calls of a probe do: an act, and these. */
#define PER_THREAD 0x40 /* each caller has a default stream of its own */
#define RETURNS_AT_ONCE 0x80

static uint8_t find_doings(const struct schema *schema, uint64_t probe)
{
	const struct probe *p = schema_probe(schema, probe);
	const char *name = p ? p->name : "";

	return (uint8_t)((find_act(name) + 1) | (ends_in(name, "_ptsz") || ends_in(name, "_ptds") ? PER_THREAD : 0) |
			 (strstr(name, "Async") ? RETURNS_AT_ONCE : 0));
}

static uint8_t doings_of(struct gpu_work *w, const struct schema *schema, uint64_t probe)
{
	if (probe > UINT16_MAX) /* of none, then */
		return find_doings(schema, probe);
	if (!w->doings[probe])
		w->doings[probe] = find_doings(schema, probe);
	return w->doings[probe];
}

bool gpu_work_feeds(uint16_t kind)
{
	return kind == KIND_launch || kind == KIND_copy || kind == KIND_set || kind == KIND_collective;
}

struct gpu_process *gpu_work_meet(struct gpu_work *w, uint32_t process, uint64_t begin_ns)
{
	struct gpu_process *p = table_find(&w->processes, process, 0);

	if (p)
		return p;
	p = table_add(&w->processes, process, 0, sizeof(*p));
	if (p)
		p->idle_ns = begin_ns;
	else
		w->failed = true;
	return p;
}

/* --- streams --- */

/* Odd, as no handle is: of a device, and of a thread where that has its own (tid; else 0). */
static uint64_t default_stream(uint32_t device, uint64_t tid)
{
	return tid << 16 | (uint64_t)(device & 0x3fff) << 2 | 1;
}

struct calling {
	struct gpu_work *work;
	struct gpu_process *process;
	const struct event *ev;
	uint8_t doings;  /* of its probe */
	uint32_t device; /* of the thread */
	uint64_t begin_ns;
};

/* What is done when it returns; of other copies that may be so, too. */
static bool copies_to_host(const struct calling *c)
{
	return c->ev->kind == KIND_copy && c->ev->v[F_copy_direction] == 2 && c->ev->v[F_call_ret] == 0 &&
	       !(c->doings & RETURNS_AT_ONCE);
}

/* NULL: too many, or no memory; then nothing is known of the process. */
static void *object(const struct calling *c, struct table *t, uint64_t handle, size_t size)
{
	void *known = table_find(t, handle, c->process->key.a);

	if (known)
		return known;
	if (c->process->nobjects < GPU_STREAMS_MAX)
		known = table_add(t, handle, c->process->key.a, size);
	if (known)
		c->process->nobjects++;
	else
		c->process->unknown = true;
	return known;
}

static struct gpu_stream *stream_of(const struct calling *c, uint64_t handle)
{
	bool own = handle == STREAM_PER_THREAD || (handle == STREAM_NULL && c->doings & PER_THREAD);
	bool is_default = own || handle == STREAM_NULL || handle == STREAM_LEGACY;
	uint64_t key = is_default ? default_stream(c->device, own ? c->ev->v[F_call_tid] : 0) : handle;
	struct gpu_stream *s = table_find(&c->work->streams, key, c->process->key.a);

	if (s)
		return s;
	s = object(c, &c->work->streams, key, sizeof(*s));
	if (s)
		s->device = is_default ? c->device : DEVICE_UNKNOWN;
	return s;
}

static uint64_t stream_fed(const struct event *ev)
{
	switch (ev->kind) {
	case KIND_launch:
		return ev->v[F_launch_stream];
	case KIND_copy:
		return ev->v[F_copy_stream];
	case KIND_set:
		return ev->v[F_set_stream];
	default:
		return ev->v[F_collective_stream];
	}
}

static void begin_busy(struct gpu_process *p, struct gpu_stream *s, uint64_t fed_ns)
{
	s->fed_ns = fed_ns;
	s->nfed++;
	if (s->busy)
		return;
	s->nfed = 1;
	s->busy = true;
	s->prev = NULL;
	s->next = p->busy;
	if (p->busy)
		p->busy->prev = s;
	p->busy = s;
}

/* What it was given by calls that had ended before before_ns is done. */
static void end_busy(struct gpu_process *p, struct gpu_stream *s, uint64_t before_ns)
{
	if (!s->busy)
		return;
	p->shown = GPU_LEFT_WAITS;
	if (s->fed_ns > before_ns)
		return;
	s->busy = s->destroyed = false;
	if (s->prev)
		s->prev->next = s->next;
	else
		p->busy = s->next;
	if (s->next)
		s->next->prev = s->prev;
}

/*
 * When it sleeps, it waits for room. (A copy within the GPU's memory waits for nothing on the host; another one may wait
 * for itself: "API synchronization behavior" in the CUDA Runtime API.)
 */
static bool waits_for_room(const struct event *ev)
{
	return ev->kind == KIND_launch || (ev->kind == KIND_copy && ev->v[F_copy_direction] == 3);
}

static void feed(const struct calling *c)
{
	struct gpu_stream *s = stream_of(c, stream_fed(c->ev));
	uint32_t device;

	if (!s)
		return;
	device = s->device == DEVICE_UNKNOWN ? c->device : s->device;
	if (!c->process->nfed)
		c->process->device = device;
	c->process->many |= device != c->process->device;
	if (copies_to_host(c))
		end_busy(c->process, s, c->begin_ns);
	if (!copies_to_host(c) || s->busy)
		begin_busy(c->process, s, c->ev->at_ns);
	c->process->shown = waits_for_room(c->ev) && s->nfed > GPU_QUEUE_LEAST ? GPU_LEFT_FULL : GPU_NOTHING;
	c->process->fed_ns = c->ev->at_ns;
	c->process->nfed++;
}

static void make_stream(const struct calling *c)
{
	struct gpu_stream *s = stream_of(c, c->ev->v[F_stream_stream]);

	if (!s)
		return;
	s->destroyed = s->busy; /* one that had the same handle */
	s->device = s->busy && s->device != c->device ? DEVICE_UNKNOWN : c->device;
}

static void mark(const struct calling *c)
{
	struct gpu_event *e = object(c, &c->work->events, c->ev->v[F_stream_object], sizeof(*e));

	if (!e)
		return;
	e->stream = stream_of(c, c->ev->v[F_stream_stream]);
	e->begin_ns = c->begin_ns;
	e->end_ns = c->ev->at_ns;
}

static void unmark(const struct calling *c)
{
	uint64_t handle = c->ev->v[F_stream_object];

	if (!table_find(&c->work->events, handle, c->process->key.a))
		return;
	table_remove(&c->work->events, handle, c->process->key.a);
	c->process->nobjects--;
}

/* --- what is done --- */

static uint64_t object_asked(const struct event *ev, bool stream)
{
	if (ev->kind == KIND_wait)
		return ev->v[F_wait_object];
	return ev->v[stream ? F_stream_stream : F_stream_object];
}

static void stream_done(const struct calling *c)
{
	struct gpu_stream *s = stream_of(c, object_asked(c->ev, true));

	if (s && !s->destroyed)
		end_busy(c->process, s, c->begin_ns);
}

static void event_done(const struct calling *c)
{
	const struct gpu_event *e = table_find(&c->work->events, object_asked(c->ev, false), c->process->key.a);

	if (e && e->stream && !e->stream->destroyed && e->end_ns <= c->begin_ns)
		end_busy(c->process, e->stream, e->begin_ns);
}

static void device_done(const struct calling *c)
{
	struct gpu_stream *next;

	for (struct gpu_stream *s = c->process->busy; s; s = next) {
		next = s->next;
		if (s->device == c->device && s->device != DEVICE_UNKNOWN)
			end_busy(c->process, s, c->begin_ns);
	}
}

static void act(const struct calling *c, enum act what, uint32_t *device)
{
	switch (what) {
	case ACT_SETS_DEVICE:
		*device = (uint32_t)c->ev->v[F_context_device] - 1;
		return;
	case ACT_MAKES_CONTEXT:
		c->process->unknown = true;
		return;
	case ACT_MAKES_STREAM:
		make_stream(c);
		return;
	case ACT_MARKS:
		mark(c);
		return;
	case ACT_UNMARKS:
		unmark(c);
		return;
	case ACT_STREAM_DONE:
		stream_done(c);
		return;
	case ACT_EVENT_DONE:
		event_done(c);
		return;
	case ACT_DEVICE_DONE:
		device_done(c);
		return;
	default:
		return;
	}
}

void gpu_work_call(struct gpu_work *w, struct gpu_process *p, uint32_t *device, const struct schema *schema,
		   const struct event *ev)
{
	struct calling c = {.work = w, .process = p, .ev = ev, .device = *device, .begin_ns = call_begin_ns(ev)};

	if (!w->doings)
		w->doings = calloc(UINT16_MAX + 1, 1);
	w->failed |= !w->doings;
	p->shown = GPU_NOTHING;
	if (p->unknown || !w->doings)
		return;
	c.doings = doings_of(w, schema, ev->v[F_call_probe]);
	if (gpu_work_feeds(ev->kind)) {
		feed(&c);
	} else if (ev->v[F_call_ret] == 0) {
		act(&c, (enum act)((c.doings & ~(PER_THREAD | RETURNS_AT_ONCE)) - 1), device);
		if (ev->kind != KIND_wait)
			p->shown = GPU_NOTHING;
	} else {
		if (ev->v[F_call_ret] == NOT_READY && !p->many)
			p->shown = GPU_LEFT;
		return;
	}
	if (p->many)
		p->shown = GPU_NOTHING;
	if (p->unknown)
		p->idle_ns = NEVER;
	else if (!p->busy && p->idle_ns == NEVER)
		p->idle_ns = ev->at_ns;
}

void gpu_work_clear(struct gpu_work *w)
{
	table_clear(&w->processes);
	table_clear(&w->streams);
	table_clear(&w->events);
	free(w->doings);
}
