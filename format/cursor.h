/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events in time order across all kinds. The only way in which replay/ and analyze/ see events.
 *
 *	while ((r = cursor_next(cur, &ev, why)) > 0) ...
 *
 * Order: by epoch; within one by `at`, then by kind number, then as recorded. So two runs give the same order.
 * Before the events of each epoch comes one mark with kind KIND_epoch and its `epoch` set: losses, withheld
 * chunks and clock anchors are known before the events they concern.
 */
#ifndef GPUREC_FORMAT_CURSOR_H
#define GPUREC_FORMAT_CURSOR_H

#include "format/reader.h"

struct event {
	uint16_t kind;             /* enum kind_id, or an unknown one that the schema names; KIND_epoch: a mark */
	bool last;                 /* surely no row after it has the same time */
	uint64_t at_ns;            /* boot clock; = v[0]; for a mark the epoch's begin_ns */
	const struct kind *shape;  /* name and fields, from the capture's schema; NULL for a mark */
	const struct epoch *epoch; /* where it stands */
	const uint64_t *v;         /* by field; SINT: cast to int64_t; TEXT: length in bytes */
	const char *const *text;   /* TEXT: v[i] bytes, any bytes, no terminating NUL; else NULL */
	uint64_t number;           /* its place among all rows of the file, from 1; see struct cursor_wish */
};

/*
 * There are as many values and texts as the kind has fields, here or in the capture: what an older capture does not
 * know reads as 0.
 */

/* Whether a TEXT field of an event holds just this; not if the capture has no such field. */
bool event_text_is(const struct event *ev, size_t field, const char *text);

struct cursor;

/*
 * At the first epoch. Each chunk's commitment is checked against its seal as it is loaded (the file may change after
 * verify()), unless `unverified`. The reader must outlive the cursor. *cur: cursor_close().
 */
int cursor_open(struct cursor **cur, const struct reader *r, bool unverified, struct fault *why);
void cursor_close(struct cursor *cur);

/*
 * The next event: 1; at the end: 0; negative: ERR_FORGED, ERR_FORMAT, ERR_IO, ERR_MEMORY, after which the cursor stays
 * where it was. What *ev points to, its values too, is valid until the next call.
 */
int cursor_next(struct cursor *cur, struct event *ev, struct fault *why);

/* After cursor_next() failed or came to the end: rows of the file before that place, those that did not come too. */
uint64_t cursor_npassed(const struct cursor *cur);

/*
 * What is asked for, and nothing else: rows of other kinds, or later ones, do not come; other fields read as 0. Chunks
 * and epochs without any such row are neither read nor decompressed; what is beside it in a chunk is checked, but
 * not decoded. Marks come all the same.
 */
struct cursor_wish {
	const uint32_t *fields; /* by the kind's place in the schema, bit f for field f; 0: no such rows. NULL: all */
	uint64_t to_ns;         /* only rows before it */
	bool unnumbered;        /* event.number may be 0. Else rows that do not come are counted, and for that read */
};

/*
 * To be asked before the first call of cursor_next(), or right after a seek: in what is loaded already other rows come
 * at once, but fields stay as they were asked for before. The wish is copied.
 */
void cursor_ask(struct cursor *cur, const struct cursor_wish *wish);

/*
 * Move to just before the first event at or after `at_ns` (boot clock); the mark of its epoch comes first.
 * Reads nothing, so it cannot fail: what cannot be read shows in cursor_next(). A seek behind the end gives the end.
 */
void cursor_seek(struct cursor *cur, uint64_t at_ns);

/* Move to the mark of the epoch in which row number `number` stands; behind the last one: to the end. Reads nothing. */
void cursor_seek_number(struct cursor *cur, uint64_t number);

/* A row that starts with CALL_FIELDS. */
static inline bool event_is_call(const struct event *ev)
{
	return ev->shape && (ev->shape->flags & KIND_CALL) == KIND_CALL;
}

static inline bool event_is_nested(const struct event *ev)
{
	return ev->v[F_call_flags] & CALL_NESTED;
}

/* When what took `dur_ns` until the event began. */
static inline uint64_t event_begin_ns(const struct event *ev, uint64_t dur_ns)
{
	return dur_ns < ev->at_ns ? ev->at_ns - dur_ns : 0;
}

static inline uint64_t call_begin_ns(const struct event *ev)
{
	return event_begin_ns(ev, ev->v[F_call_dur]);
}

#endif
