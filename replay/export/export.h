/* SPDX-License-Identifier: Apache-2.0 */
/* What exporters share: the file they write, what the capture is, and how its threads are called. */
#ifndef GPUREC_REPLAY_EXPORT_EXPORT_H
#define GPUREC_REPLAY_EXPORT_EXPORT_H

#include "format/base/civil.h"
#include "keys/completeness.h"
#include "replay/export/exporter.h"
#include "replay/out.h"

#define SENTENCE_MAX 800

/*
 * Run `write` on the open file `fd`, which stays the caller's. Returns what `write` did, or ERR_IO when the file cannot
 * be written. What `write` put out before it failed is in the file.
 */
int export_file(const struct replay *replay, int fd,
		int (*write)(const struct replay *replay, struct out *o, struct fault *why), struct fault *why);

/*
 * The verdict in a sentence, how many events are missing of the whole capture, whatever part of it is exported, and
 * whether the verdict was overridden: for the mark that every export has.
 */
void export_sentence(const struct replay *replay, char *buf, size_t size);

/* Whether a counter's growth is a loss, or incomplete rows, of what was asked for; and whether a withheld chunk is. */
bool export_shows_growth(const struct walk *w, const struct growth *g);
bool export_shows_withheld(const struct walk *w, const struct chunk *c);

/* Why what the counter counts has no row; NONE: it has, and lacks something. */
const struct absence_word *export_absence(const struct walk *w, const struct growth *g);

/* "lost 3 cudaMalloc: no room in the ring", "withheld: 5 rows of class process"; false: it is not shown. */
bool export_loss(const struct walk *w, const struct growth *g, char *buf, size_t size);
bool export_withheld(const struct walk *w, const struct chunk *c, char *buf, size_t size);

/* Boot clock: where what can be read of the capture ends. */
uint64_t export_end_ns(const struct walk *w);

/* How a capture that has no end says so, NULL if it has one. `stopped` as in struct visitor. */
const char *export_cut(const struct walk *w, const struct fault *stopped);

/* Names fit for any format (printable UTF-8, no control characters); never NULL: "?" when it is not known. */
const char *export_thread_name(const struct walk *w, uint32_t tid);
const char *export_process_name(const struct walk *w, uint32_t pid);

/* A call's function; the kind's name for what is no call or has an unknown probe. */
const char *export_event_name(const struct schema *s, const struct event *ev);

/*
 * What an event says that is not a thread's doing but happens to the host or the recording: "xid 79: GPU has fallen off
 * the bus", "oom: trainer (100) is killed". Fit for any format. false: it is no such event.
 */
bool export_note(const struct walk *w, const struct event *ev, char *buf, size_t size);

/* 2026-09-21T14:13:20.020000000Z. The text of the whole second is kept for the next call; a zeroed one keeps none. */
struct wall_text {
	uint64_t second;
	char text[CIVIL_CHARS + 1];
};
void export_wall(struct out *o, struct wall_text *t, uint64_t wall_ns);

/* Kinds with a duration: calls, futex calls and page faults. All begin as calls do, so call_begin_ns() takes any. */
static inline bool export_has_duration(const struct event *ev)
{
	return ev->shape->flags == KIND_CALL || ev->kind == KIND_futex || ev->kind == KIND_fault ||
	       ev->kind == KIND_reclaim;
}

/* The number field of that name, 0: the kind has none (field 0 is `at`). */
uint8_t export_field_named(const struct kind *k, const char *name);

/* The field with the thread that an event is about or done by; 0: none (field 0 is `at`). */
uint8_t export_tid_field(const struct kind *k);

#endif
