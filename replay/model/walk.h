/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One pass over a capture for all exporters: events with who is who known, losses and withheld content where they
 * belong, the filter applied.
 */
#ifndef GPUREC_REPLAY_MODEL_WALK_H
#define GPUREC_REPLAY_MODEL_WALK_H

#include "keys/evidence.h"
#include "replay/filter.h"
#include "replay/model/kernel_names.h"
#include "replay/playback.h"
#include "replay/model/tasks.h"

enum replay_clock {
	REPLAY_RELATIVE, /* to the start of recording */
	REPLAY_BOOT,
	REPLAY_WALL, /* UTC */
};

/* What is to be replayed. */
struct replay {
	const struct evidence *evidence; /* readable */
	const struct filter *filter;
	enum replay_clock clock;   /* for text and lines of JSON */
	bool clock_asked;          /* by --time: lines of JSON then have it, too */
	struct pace_settings pace; /* for text and lines of JSON that go to a descriptor */
	bool ascii;                /* text shows durations with "us", for the reader's locale has no "µ" */
	bool unverified;           /* --unverified was given: chunks are not checked against their seals */
	/* NULL, or called as the walk comes to each epoch; nepochs of them will be read. */
	void (*progress)(uint64_t epoch, uint64_t nepochs);
	uint32_t withhold; /* for a narrower capture: bit CLASS_x, as in struct narrowing */
};

/* A counter grew between one seal (or the start) and the next (or END). */
struct growth {
	uint64_t begin_ns, end_ns; /* boot clock */
	uint64_t epoch;            /* its number; nepochs for what END adds */
	const struct probe *probe;
	const struct counter_type *counter;
	uint64_t delta, total;
};

struct walk {
	const struct replay *replay;
	const struct reader *reader;
	struct tasks tasks;
	struct kernels kernels;
	uint64_t nepochs; /* that may be read: the authentic ones, or all with --unverified */
	uint64_t nevents; /* seen so far, filtered ones too: the current event's number */
};

/*
 * What an exporter does. All return 0 or a negative enum err, which ends the walk; WALK_ENOUGH ends it too, without
 * being an error. Any may be NULL.
 */
#define WALK_ENOUGH 1
struct visitor {
	bool keep_names; /* filter_passes() */
	bool ahead;      /* tasks_look_ahead() */
	const struct cursor_wish
		*wish; /* what of the events is needed; NULL: all. Who is who follows from what comes */
	int (*epoch)(void *self, struct walk *w, const struct epoch *e, struct fault *why);
	int (*growth)(void *self, struct walk *w, const struct growth *g, struct fault *why); /* after its epoch */
	int (*withheld)(void *self, struct walk *w, const struct epoch *e, const struct chunk *c, struct fault *why);
	int (*event)(void *self, struct walk *w, const struct event *ev, struct fault *why);
	/* Last. stopped: NULL, or, with `unverified` only, why the events end here although the file goes on. */
	int (*end)(void *self, struct walk *w, const struct fault *stopped, struct fault *why);
};

/*
 * ERR_FORGED or ERR_FORMAT: the file changed since it was verified. Else what the visitor or the cursor says.
 * `why` is not NULL here. WALK_STOPPED: only with `unverified`; all was done, but the events end before the file does,
 * and *why says why.
 */
#define WALK_STOPPED 1
int walk(const struct replay *replay, const struct visitor *v, void *self, struct fault *why);

/* How many epochs of it may be read; see struct walk. */
uint64_t replay_nepochs(const struct replay *replay);

/* Rows of a kind in the first `nepochs` epochs, withheld ones too. */
uint64_t replay_count(const struct reader *r, uint64_t nepochs, uint16_t kind);

/*
 * Call `each` for every counter that grew from one table to the next (both as in struct epoch). Stops at the first
 * result that is not 0 and returns it.
 */
int counters_grown(const struct schema *s, const struct counter *before, uint32_t nbefore, const struct counter *after,
		   uint32_t nafter,
		   int (*each)(void *arg, const struct probe *p, const struct counter_type *c, uint64_t delta,
			       uint64_t total),
		   void *arg);

#endif
