/* SPDX-License-Identifier: Apache-2.0 */
/* The requests to disks that threads slept for lately, as `disk` rows report them. */
#ifndef GPUREC_ANALYZE_FACTS_DISK_WAITS_H
#define GPUREC_ANALYZE_FACTS_DISK_WAITS_H

#include "format/base/table.h"
#include "format/cursor.h"

#define DISK_WAITS_MAX 16384  /* kept: the latest */
#define DISK_THREADS_MAX 8192 /* of which sums are kept */
#define DISK_NAMES_MAX 64
#define DISK_NAME_BYTES 32

struct disk_wait {
	uint64_t at_ns, dur_ns, service_ns, bytes;
	uint32_t tid;
	uint8_t operation;
	bool failed;
	uint32_t device; /* its number; 0: not known */
};

struct disk_name {
	uint32_t device;
	uint8_t nbytes;
	char s[DISK_NAME_BYTES]; /* bytes out of a capture */
};

/* What a thread slept for. */
struct disk_use {
	uint64_t requests; /* 0: nothing is known */
	uint64_t bytes, dur_ns, service_ns;
	uint64_t timed_ns; /* of dur_ns: of those of which it is known since when the device had them */
	uint64_t failed;
	uint64_t held_ns; /* of disk_waits_total(): it slept because its writes were held back, until it ran again */
	bool reads;       /* nothing else */
	bool more;        /* several devices: `longest` is of one of them */
	struct disk_wait longest;
	const struct disk_name *name; /* of its device, as long as the names last; NULL: it has none */
};

/* A zeroed one is empty. */
struct disk_waits {
	struct disk_wait *all; /* DISK_WAITS_MAX, a ring; NULL: there was none yet */
	uint64_t n;            /* ever */
	struct table totals;   /* by tid: a struct of disk_waits.c */
	struct disk_name names[DISK_NAMES_MAX];
	unsigned nnames;
	unsigned nheld; /* threads that sleep because their writes are held back */
};

/* Rows of disk and disk_device, in the order of time. ERR_MEMORY. */
int disk_waits_feed(struct disk_waits *d, const struct event *ev, struct fault *why);
/* A row of switch, likewise. */
int disk_waits_hold(struct disk_waits *d, const uint64_t *v, struct fault *why);
static inline int disk_waits_switch(struct disk_waits *d, const uint64_t *v, struct fault *why)
{
	return d->nheld || v[F_switch_prev_flags] & SWITCH_WRITES ? disk_waits_hold(d, v, why) : 0;
}
void disk_waits_clear(struct disk_waits *d);

/* Those that ended in [begin_ns, end_ns]. */
void disk_waits_sum(const struct disk_waits *d, uint32_t tid, uint64_t begin_ns, uint64_t end_ns, struct disk_use *use);
/* All of a thread's; none of one beyond DISK_THREADS_MAX. */
void disk_waits_total(const struct disk_waits *d, uint32_t tid, struct disk_use *use);

#endif
