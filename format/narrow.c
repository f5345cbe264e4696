/* SPDX-License-Identifier: Apache-2.0 */
#include "format/narrow.h"

#include <stdlib.h>

#include "format/base/bytes.h"
#include "format/layout.h"

#define COPY_BYTES (1u << 20)

static int copy(const struct source *src, uint64_t from, uint64_t to, struct sink *sink, uint8_t *buf,
		struct fault *why)
{
	while (from < to) {
		size_t n = to - from > COPY_BYTES ? COPY_BYTES : (size_t)(to - from);
		int r = source_read(src, from, buf, n, why);

		if (r == 0)
			r = sink->write(sink->self, buf, n, why);
		if (r < 0)
			return r;
		from += n;
	}
	return 0;
}

static bool is_kept(const struct narrowing *n, uint32_t part)
{
	for (size_t i = 0; i < n->nparts; i++)
		if (n->parts[i] == part)
			return true;
	return n->nparts == 0 || part == PART_OF_NONE;
}

bool narrowing_withholds(const struct narrowing *n, const struct chunk *c)
{
	if (c->class < 32 && n->classes >> c->class & 1)
		return true;
	if (!is_kept(n, c->part))
		return true;
	return c->class == CLASS_events && (c->last_ns < n->from_ns || c->first_ns >= n->to_ns);
}

static int write_withheld(struct sink *sink, struct fault *why)
{
	uint8_t frame[FRAME_HEAD_BYTES] = {0};

	put_le32(frame, MAGIC_WITHHELD);
	return sink->write(sink->self, frame, sizeof(frame), why);
}

/* Where epoch `i` starts; for the number of epochs: where what has been read ends, behind END if there is one. */
static uint64_t epoch_start(const struct reader *r, uint64_t i)
{
	if (i == r->nepochs)
		return r->tail_offset;
	return r->epochs[i].nchunks ? r->epochs[i].chunks[0].offset : r->epochs[i].seal_offset;
}

/* Epoch `i`; `at`: where it starts, moved to where the next one does. */
static int narrow_epoch(const struct reader *r, const struct narrowing *n, uint64_t i, uint64_t *at, struct sink *sink,
			uint8_t *buf, uint64_t *nwithheld, struct fault *why)
{
	const struct epoch *e = &r->epochs[i];
	uint64_t end = epoch_start(r, i + 1);
	int ret = 0;

	for (uint32_t c = 0; c < e->nchunks && ret == 0; c++) {
		uint64_t next = c + 1 < e->nchunks ? e->chunks[c + 1].offset : e->seal_offset;

		if (!e->chunks[c].withheld && narrowing_withholds(n, &e->chunks[c])) {
			ret = write_withheld(sink, why);
			++*nwithheld;
		} else {
			ret = copy(r->source, *at, next, sink, buf, why);
		}
		*at = next;
	}
	if (ret == 0)
		ret = copy(r->source, *at, end, sink, buf, why);
	*at = end;
	return ret;
}

int narrow(const struct reader *r, const struct narrowing *n, struct sink sink, uint64_t *nwithheld, struct fault *why)
{
	uint64_t at = epoch_start(r, 0), count = 0;
	uint8_t *buf = malloc(COPY_BYTES);
	int ret;

	if (!buf) {
		ret = fault_no_memory(why);
		goto out;
	}
	ret = copy(r->source, 0, at, &sink, buf, why);
	for (uint64_t i = 0; i < r->nepochs && ret == 0; i++)
		ret = narrow_epoch(r, n, i, &at, &sink, buf, &count, why);
	if (ret == 0)
		ret = sink.sync(sink.self, why);
	if (ret == 0)
		*nwithheld = count;
out:
	free(buf);
	sink.close(sink.self);
	return ret;
}
