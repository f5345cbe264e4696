/* SPDX-License-Identifier: Apache-2.0 */
/* Events made by hand. */
#ifndef GPUREC_TESTS_EVENT_H
#define GPUREC_TESTS_EVENT_H

#include <string.h>

#include "format/cursor.h"

/* Room for the values and texts of as many events at a time; the next one takes that of the first. */
#define EVENTS_AT_A_TIME 64

struct event_room {
	uint64_t v[FIELDS_MAX];
	const char *text[FIELDS_MAX];
};

static struct event_room event_rooms[EVENTS_AT_A_TIME];
static unsigned event_nmade;

/* An event of a kind, of the schema's `shape`; all is 0 but its time. */
static inline struct event event_made(uint16_t kind, const struct kind *shape, uint64_t at_ns)
{
	struct event_room *room = &event_rooms[event_nmade++ % EVENTS_AT_A_TIME];

	memset(room, 0, sizeof(*room));
	room->v[0] = at_ns;
	return (struct event){.kind = kind, .shape = shape, .at_ns = at_ns, .v = room->v, .text = room->text};
}

/* The room of an event so made, to write to. */
static inline struct event_room *event_room(const struct event *ev)
{
	return (struct event_room *)(uintptr_t)ev->v;
}

static inline void event_set(const struct event *ev, unsigned field, uint64_t value)
{
	event_room(ev)->v[field] = value;
}

static inline void event_set_text(const struct event *ev, unsigned field, const char *text)
{
	event_room(ev)->v[field] = strlen(text);
	event_room(ev)->text[field] = text;
}

#endif
