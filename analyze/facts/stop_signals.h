/* SPDX-License-Identifier: Apache-2.0 */
/* The signals that stopped processes lately, and who sent them, as `signal` rows say. */
#ifndef GPUREC_ANALYZE_FACTS_STOP_SIGNALS_H
#define GPUREC_ANALYZE_FACTS_STOP_SIGNALS_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/table.h"
#include "format/cursor.h"

#define STOP_SIGNALS_MAX 1024 /* kept; older ones are forgotten */
#define HELD_MAX 4096         /* processes that are distinguished */

/* signal(7): the same numbers on all architectures that are recorded. */
enum { SIGNAL_CONT = 18, SIGNAL_STOP, SIGNAL_TSTP, SIGNAL_TTIN, SIGNAL_TTOU };

struct stop_signal {
	uint64_t at_ns;
	uint32_t pid, tid; /* tid 0: the whole process */
	uint32_t sender_tid;
	uint8_t number;
	bool by_kernel; /* not by `sender_tid`, which happened to run */
};

/* A process that the recorder stopped, to attach its probes before that goes on. */
struct held_process {
	struct table_key key; /* a: pid */
	uint64_t since_ns;    /* it is, since then; 0: it is not */
	uint64_t ns;          /* for how long it was */
};

/* A zeroed one is empty. */
struct stop_signals {
	struct table held;                         /* struct held_process */
	struct stop_signal kept[STOP_SIGNALS_MAX]; /* a ring; those that continue a process as well */
	uint64_t n;                                /* seen so far */
};

/* Whether a process sent the signal of this row; else the kernel did. */
bool signal_is_sent(const struct event *ev);

/*
 * Take in a `signal` row. sender_pid: the process of its sender_tid, 0: not known. (A SIGSTOP that the kernel sends a
 * process in whose name it is: so the recorder's programs stop it, and nothing else does.) ERR_MEMORY.
 */
int stop_signals_feed(struct stop_signals *s, const struct event *ev, uint64_t sender_pid, struct fault *why);
void stop_signals_clear(struct stop_signals *s);

/* For how long the recorder stopped it, as far as is known. */
uint64_t stop_signals_held(const struct stop_signals *s, uint64_t pid);

/* The signal that stopped this thread, which was found stopped at at_ns; NULL: not known. */
const struct stop_signal *stop_signals_find(const struct stop_signals *s, uint64_t pid, uint32_t tid, uint64_t at_ns);

#endif
