/* SPDX-License-Identifier: Apache-2.0 */
/* The tracks of a Perfetto trace: each is described when something is first put on it. */
#ifndef GPUREC_REPLAY_EXPORT_PERFETTO_TRACKS_H
#define GPUREC_REPLAY_EXPORT_PERFETTO_TRACKS_H

#include "replay/export/export.h"
#include "replay/model/gauge_fields.h"
#include "replay/model/allocations.h"
#include "replay/export/perfetto.h"

/* Tracks: what they are about in the upper half, its number in the lower one. */
enum track {
	TRACK_CAPTURE = 1,
	TRACK_LOSSES,
	TRACK_WITHHELD, /* by class */
	TRACK_HEALTH,   /* by figure */
	TRACK_PROCESSES,
	TRACK_THREADS,
	TRACK_MEMORY, /* number of the process * MEMORY_KINDS + kind */
	TRACK_GAUGES, /* GPU or CPU * GAUGES_MAX + gauge */
};
#define UUID(track, number) ((uint64_t)(track) << 40 | (uint64_t)(number))

struct reported {
	bool process, thread; /* its track was described */
	bool as_thread;       /* as that of a thread, not as one with a name only */
	bool memory[MEMORY_KINDS];
	uint64_t flow; /* that ends when this thread runs again; 0: none */
};

struct tracks {
	struct reported *reported; /* by the number of process or thread */
	size_t nreported;
	struct map gauges; /* (gauge, GPU or CPU): described */
};

/* A zeroed struct tracks knows of none. What returns an int does as in perfetto.h. */
void tracks_clear(struct tracks *t);

/* What is known of the tracks of a process or thread; NULL without memory. Valid until the next call. */
struct reported *tracks_reported(struct tracks *t, uint32_t number, struct fault *why);

/* Describe the track of a process or thread, once, or `again` when more is known. */
int tracks_process(struct tracks *t, struct trace *trace, const struct walk *w, uint32_t number, bool again,
		   struct fault *why);
int tracks_thread(struct tracks *t, struct trace *trace, const struct walk *w, uint32_t number, bool again,
		  struct fault *why);

/* The track of a thread, described if it is new; that of the capture for nobody's events. *r: as above. */
uint64_t tracks_of_thread(struct tracks *t, struct trace *trace, const struct walk *w, uint32_t tid, int *r,
			  struct fault *why);

/* The track of a gauge, likewise. */
uint64_t tracks_of_gauge(struct tracks *t, struct trace *trace, size_t gauge, uint64_t id, int *r, struct fault *why);

#endif
