/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Since when a process is known to have no work on a GPU: of what its calls prove. Work is what launches, copies,
 * memsets and collectives give to a stream. It is known to be done when a call that waits for the stream returns, or
 * for an event that was recorded in it after that work, or for the device; when a query of these says so; and when a
 * copy to the host returns that does not come back before it is done. What none of these shows may be done or not, so
 * that the time without work is a lower bound.
 *
 * It is known not to be done, since the process gave the latest, when a query says so, when a call waits for it, and
 * when one that gives more waits for room: that the two wait is the caller's to know. Of a process that has given work
 * to several GPUs that is not known: one of them may have had none.
 *
 * Nothing is known of a process whose begin was not recorded, or from the moment on in which it makes or retains a
 * context by the driver's interface: which of them a thread uses is not recorded then. Nor of one that got another
 * program after its first call. Of a capture in which calls are missing nothing is known at all: see gpu_work_shown().
 *
 * Not seen, and no work here: what is unpacked, prefetched, or given to a GPU by another interface than CUDA.
 */
#ifndef GPUREC_REPLAY_MODEL_GPU_WORK_H
#define GPUREC_REPLAY_MODEL_GPU_WORK_H

#include "format/base/table.h"
#include "format/cursor.h"

#define GPU_QUEUE_LEAST 32    /* a queue that has been given less since it was empty is not full; */
#define GPU_ROOM_LEAST 8      /* and one that is has so much left, at least */
#define GPU_STREAMS_MAX 65536 /* and events, of a process; of one that has more nothing is known */

struct gpu_stream {
	struct table_key key;           /* a: handle, or what stands for one of the default streams; b: process */
	struct gpu_stream *next, *prev; /* among the busy ones */
	uint64_t fed_ns;                /* the latest call that gave it work ended then */
	uint64_t nfed;                  /* such calls since it had none */
	uint32_t device;
	bool busy;      /* not known to have done all */
	bool destroyed; /* while busy: its handle, and events recorded in it, may mean another one */
};

/* The latest that was recorded. */
struct gpu_event {
	struct table_key key; /* a: handle, b: process */
	struct gpu_stream *stream;
	uint64_t begin_ns, end_ns; /* of the call that recorded it */
};

/* What the latest call shows of work that there was when it began. */
enum gpu_shown {
	GPU_NOTHING,
	GPU_LEFT,       /* there was some; */
	GPU_LEFT_WAITS, /* if it waited */
	GPU_LEFT_FULL   /* if it waited for room */
};

struct gpu_process {
	struct table_key key; /* a: number of the process */
	struct gpu_stream *busy;
	uint64_t nobjects;
	uint64_t idle_ns; /* since then it has no work; UINT64_MAX: it may have some */
	uint64_t fed_ns;  /* the latest call that gave it work ended then; 0: none did */
	uint64_t nfed;    /* such calls */
	enum gpu_shown shown;
	uint32_t device; /* that it gave work first */
	bool many;       /* it has given work to another one, too: that some is left on one says nothing of the other */
	bool unknown;    /* for good */
	/* Of ledger_idle.c: */
	struct ledger_thread *feeder; /* the latest */
	struct idle_span *spans;      /* the latest, in order: a ring of IDLE_SPANS_MAX, or NULL */
	unsigned first_span, nspans;
	uint64_t left_ns;    /* until then it has been counted that there was work */
	uint64_t counted_ns; /* until then they count for good */
	bool wrong;          /* one of them was none */
};

/* A zeroed one is empty. */
struct gpu_work {
	struct table processes, streams, events;
	uint8_t *doings; /* by probe: what its calls do; 0: not looked up yet */
	bool failed;     /* memory was missing */
};

/* Whether a capture shows all calls that matter here; NULL: it does. */
bool gpu_work_shown(const struct reader *r);

/* A process that began at begin_ns, and had no work then; known or new. NULL: no memory. */
struct gpu_process *gpu_work_meet(struct gpu_work *w, uint32_t process, uint64_t begin_ns);

/*
 * Whether such a call gives the GPU work: who makes one feeds it. Then the time without work ended when the call began;
 * idle_ns is the caller's to set.
 */
bool gpu_work_feeds(uint16_t kind);

/* An outermost call of the process that is over. *device: that of the thread, 0 at first. */
void gpu_work_call(struct gpu_work *w, struct gpu_process *p, uint32_t *device, const struct schema *schema,
		   const struct event *ev);

void gpu_work_clear(struct gpu_work *w);

#endif
