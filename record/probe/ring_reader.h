/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a BPF ring buffer: the kernel's documented layout, mapped. Our own consumer rather than libbpf's, because an
 * epoch is closed exactly: it matters up to which position the ring was read, and whether a record was still being
 * written.
 */
#ifndef GPUREC_RECORD_PROBE_RING_READER_H
#define GPUREC_RECORD_PROBE_RING_READER_H

#include <stddef.h>
#include <stdint.h>

#include "format/base/fault.h"

struct ring {
	uint64_t *consumer;       /* where we are; one page, written by us */
	const uint64_t *producer; /* where the kernel is; one page, read only */
	const uint8_t *data;      /* `bytes`, mapped twice in a row, so that no record wraps */
	uint64_t bytes;           /* power of two */
	uint64_t high_bytes;      /* fullest that it was found */
	size_t page_bytes;
};

/* Takes one record of n bytes; a negative enum err ends the draining. */
typedef int ring_use(void *self, const void *record, uint32_t n, struct fault *why);

/* map_fd stays the caller's. */
int ring_open(struct ring *ring, int map_fd, uint64_t bytes, struct fault *why);
void ring_close(struct ring *ring);

/* Position behind the last record reserved so far. */
uint64_t ring_head(const struct ring *ring);

/*
 * Hand every record before position `until` to `use`. 1: all of them; 0: one is still being written, come again;
 * negative: what `use` returned, or ERR_FORMAT; the record in question counts as read.
 */
int ring_drain(struct ring *ring, uint64_t until, ring_use *use, void *self, struct fault *why);

/*
 * The same at the very end, with every record that is finished: those that are still being written are passed over. No
 * room is freed, because older kernels would let others write there, too. 0, or negative as above.
 */
int ring_drain_finished(struct ring *ring, uint64_t until, ring_use *use, void *self, struct fault *why);

#endif
