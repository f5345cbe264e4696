/* SPDX-License-Identifier: Apache-2.0 */
#include "record/probe/ring_reader.h"

#include <linux/bpf.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define LENGTH_MASK (~(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT))

int ring_open(struct ring *ring, int map_fd, uint64_t bytes, struct fault *why)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct ring r = {.bytes = bytes, .page_bytes = page};
	void *at;

	at = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, map_fd, 0);
	if (at == MAP_FAILED)
		return fault_errno(why, "cannot map the ring buffer");
	r.consumer = at;
	at = mmap(NULL, page + 2 * (size_t)bytes, PROT_READ, MAP_SHARED, map_fd, (off_t)page);
	if (at == MAP_FAILED) {
		munmap(r.consumer, page);
		return fault_errno(why, "cannot map the ring buffer of %llu bytes", (unsigned long long)bytes);
	}
	r.producer = at;
	r.data = (const uint8_t *)at + page;
	*ring = r;
	return 0;
}

void ring_close(struct ring *ring)
{
	if (!ring->consumer)
		return;
	munmap(ring->consumer, ring->page_bytes);
	munmap((void *)(uintptr_t)ring->producer, ring->page_bytes + 2 * (size_t)ring->bytes);
	memset(ring, 0, sizeof(*ring));
}

uint64_t ring_head(const struct ring *ring)
{
	return __atomic_load_n(ring->producer, __ATOMIC_ACQUIRE);
}

/* passing: over what is not finished. */
static int walk(struct ring *ring, uint64_t until, bool passing, ring_use *use, void *self, struct fault *why)
{
	uint64_t at = *ring->consumer;

	if (until - at > ring->high_bytes && until - at <= ring->bytes)
		ring->high_bytes = until - at;
	while (at < until) {
		const uint8_t *record = ring->data + (at & (ring->bytes - 1));
		uint32_t head = __atomic_load_n((const uint32_t *)(const void *)record, __ATOMIC_ACQUIRE);
		uint32_t n = head & LENGTH_MASK;
		int r = 0;

		if ((head & BPF_RINGBUF_BUSY_BIT) && !passing)
			return 0;
		if (n > ring->bytes)
			return fault_set(why, ERR_FORMAT, at, "the ring buffer holds a record of %u bytes", n);
		if (!(head & (BPF_RINGBUF_DISCARD_BIT | BPF_RINGBUF_BUSY_BIT)))
			r = use(self, record + BPF_RINGBUF_HDR_SZ, n, why);
		at += (n + BPF_RINGBUF_HDR_SZ + 7) & ~7ull;
		if (!passing)
			__atomic_store_n(ring->consumer, at, __ATOMIC_RELEASE);
		if (r < 0)
			return r;
	}
	return 1;
}

int ring_drain(struct ring *ring, uint64_t until, ring_use *use, void *self, struct fault *why)
{
	return walk(ring, until, false, use, self, why);
}

int ring_drain_finished(struct ring *ring, uint64_t until, ring_use *use, void *self, struct fault *why)
{
	int r = walk(ring, until, true, use, self, why);

	return r < 0 ? r : 0;
}
