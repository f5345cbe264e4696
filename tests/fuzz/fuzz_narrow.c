/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A repaired capture (repair.h), narrowed: what verified verifies, nothing but the chunks that were asked for is
 * missing, and narrowing in the same way again changes nothing.
 *
 *	0 4 classes to withhold   4 8 from   12 8 to   20 the loose capture
 */
#include "format/narrow.h"
#include "tests/fuzz/repair.h"

#define LOOSE_AT 20

/* The narrowed bytes into *out; returns the number of chunks that were withheld. */
static uint64_t must_narrow(struct bytes *out, const struct reader *r, const struct narrowing *n)
{
	struct memory_sink m = {.fail_at = 0};
	uint64_t nwithheld = UINT64_MAX;
	struct fault why;

	MUST(narrow(r, n, memory_sink_of(&m), &nwithheld, &why) == 0);
	MUST(m.closed && !m.bytes.failed && nwithheld != UINT64_MAX);
	*out = m.bytes;
	return nwithheld;
}

static bool is_asked_for(const struct narrowing *n, const struct chunk *c)
{
	bool outside = c->last_ns < n->from_ns || c->first_ns >= n->to_ns;

	return (c->class < 32 && (n->classes >> c->class & 1)) || (c->class == CLASS_events && outside);
}

/* `b` is `a` without what was asked for; returns the bytes that this saves. */
static uint64_t must_differ_by(const struct reader *a, const struct reader *b, const struct narrowing *n)
{
	uint64_t saved = 0;

	MUST(b->nepochs == a->nepochs && memcmp(b->header.hash, a->header.hash, HASH_BYTES) == 0);
	for (uint64_t i = 0; i < a->nepochs; i++) {
		const struct epoch *x = &a->epochs[i], *y = &b->epochs[i];

		MUST(x->nchunks == y->nchunks && memcmp(x->hash, y->hash, HASH_BYTES) == 0);
		for (uint32_t c = 0; c < x->nchunks; c++) {
			static const uint8_t no_salt[SALT_BYTES];
			bool asked = is_asked_for(n, &x->chunks[c]);

			MUST(y->chunks[c].withheld == (x->chunks[c].withheld || asked));
			MUST(!y->chunks[c].withheld || memcmp(y->chunks[c].salt, no_salt, SALT_BYTES) == 0);
			if (asked && !x->chunks[c].withheld)
				saved += CHUNK_BYTES + x->chunks[c].packed_bytes;
		}
	}
	return saved;
}

static void try_narrow(const struct reader *r, const struct verification *before, const struct narrowing *n)
{
	struct bytes once = {.failed = 0}, twice = {.failed = 0};
	struct source src;
	struct reader narrowed;
	struct verification v;
	struct fault why;
	uint64_t nwithheld = must_narrow(&once, r, n);

	source_open_memory(&src, once.data, once.len);
	MUST(reader_open(&narrowed, &src, &why) == 0);
	MUST(once.len + must_differ_by(r, &narrowed, n) == r->tail_offset);
	verify(&narrowed, 1, &v);
	if (verdict_is_ok(before->verdict)) {
		MUST(verdict_is_ok(v.verdict) && (v.verdict == VERDICT_OK) == (v.nwithheld == 0));
		MUST(v.nwithheld == before->nwithheld + nwithheld);
		MUST(v.nevents == before->nevents && v.nlost == before->nlost && v.end_ns == before->end_ns);
	}
	if (before->verdict == VERDICT_UNSEALED)
		MUST(v.verdict == VERDICT_UNSEALED);
	MUST(must_narrow(&twice, &narrowed, n) == 0);
	MUST(twice.len == once.len && memcmp(twice.data, once.data, once.len) == 0);
	reader_close(&narrowed);
	bytes_free(&once);
	bytes_free(&twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	struct bytes capture = {.failed = 0};
	struct narrowing narrowing;
	struct verification v;
	struct source src;
	struct reader r;
	struct fault why;

	if (n < LOOSE_AT)
		return 0;
	narrowing = (struct narrowing){get_le32(bytes), get_le64(bytes + 4), get_le64(bytes + 12), NULL, 0};
	repair(&capture, bytes + LOOSE_AT, n - LOOSE_AT);
	source_open_memory(&src, capture.data, capture.len);
	if (reader_open(&r, &src, &why) == 0) {
		verify(&r, 1, &v);
		try_narrow(&r, &v, &narrowing);
		reader_close(&r);
	}
	bytes_free(&capture);
	return 0;
}

unsigned fuzz_seeds(void (*give)(void *arg, const uint8_t *bytes, size_t n), void *arg)
{
	static const struct narrowing some[] = {
		{1u << CLASS_host, 0, UINT64_MAX, NULL, 0},
		{0, SAMPLE_BOOT + SAMPLE_SECOND, SAMPLE_BOOT + 2 * SAMPLE_SECOND, NULL, 0},
		{0, SAMPLE_BOOT + 200, SAMPLE_BOOT + 300, NULL, 0}, /* inside a chunk */
	};
	unsigned n = 0;

	for (size_t i = 0; i < sizeof(some) / sizeof(some[0]); i++) {
		uint8_t head[LOOSE_AT];

		put_le32(head, some[i].classes);
		put_le64(head + 4, some[i].from_ns);
		put_le64(head + 12, some[i].to_ns);
		n += repair_seeds(give, arg, head, sizeof(head));
	}
	return n;
}
