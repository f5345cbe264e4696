/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tile: a large capture out of a small one, to measure with.
 *
 *	tile IN.cap OUT.cap OUT.pub MIB [steady]
 *
 * The rows of IN are laid down again and again until OUT has MIB mebibytes: TILES of them side by side in each epoch of
 * a second, as on a host that is so much busier, each with times, durations, threads and addresses of its own, so that
 * no tile compresses better for the one beside it. Counters grow along, so OUT verifies. OUT.pub is the public key that
 * it is signed with.
 *
 * Each epoch has a new set of processes; steady: all have those of the first, which live on, and what they do not free
 * is not allocated. (The counts then do not fit the rows, and OUT does not verify.)
 */
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/cursor.h"
#include "format/layout.h"
#include "keys/minisign.h"

#define TILES 8
#define EPOCH_NS 1000000000ull
#define JITTER_NS 1024

/* How often a row happens in a steady program. */
enum often { NEVER, ONCE, ALWAYS };

struct row {
	uint16_t kind;
	enum often often;
	uint64_t v[FIELDS_MAX];
	char *text[FIELDS_MAX];
};

struct tile {
	struct reader reader;
	struct row *rows;
	size_t nrows, room;
	uint64_t span_ns;
	struct counter counters[COUNTER_ROWS_MAX];
	uint64_t random;
	bool steady;
};

static struct fault why;

static void must(int r)
{
	if (r >= 0)
		return;
	fprintf(stderr, "tile: %s\n", why.text);
	exit(1);
}

static void *have(void *p)
{
	if (p)
		return p;
	fprintf(stderr, "tile: out of memory\n");
	exit(1);
}

/* xorshift64: the same capture in each run, but for keys and salts. */
static uint64_t jitter(struct tile *t)
{
	t->random ^= t->random << 13;
	t->random ^= t->random >> 7;
	t->random ^= t->random << 17;
	return t->random % JITTER_NS;
}

static bool is_freed(const struct tile *t, size_t i)
{
	const struct row *alloc = &t->rows[i];

	for (size_t k = i + 1; k < t->nrows; k++) {
		const struct row *row = &t->rows[k];

		if (row->kind == KIND_free && row->v[F_free_pid] == alloc->v[F_alloc_pid] &&
		    row->v[F_free_addr] == alloc->v[F_alloc_addr])
			return true;
	}
	return false;
}

static enum often how_often(const struct tile *t, size_t i)
{
	switch (t->rows[i].kind) {
	case KIND_exit:
	case KIND_in_flight:
		return NEVER;
	case KIND_alloc:
		return is_freed(t, i) ? ALWAYS : NEVER;
	case KIND_fork:
	case KIND_exec:
	case KIND_process:
	case KIND_thread:
		return ONCE;
	default:
		return ALWAYS;
	}
}

static void read_rows(struct tile *t)
{
	struct cursor *cur;
	struct event ev;
	int r;

	must(cursor_open(&cur, &t->reader, false, &why));
	while ((r = cursor_next(cur, &ev, &why)) > 0) {
		struct row *row;

		if (ev.kind == KIND_epoch)
			continue;
		if (t->nrows == t->room) {
			t->room = t->room ? 2 * t->room : 1024;
			t->rows = have(realloc(t->rows, t->room * sizeof(*t->rows)));
		}
		row = &t->rows[t->nrows++];
		*row = (struct row){.kind = ev.kind};
		memcpy(row->v, ev.v, sizeof(row->v));
		for (size_t f = 0; f < ev.shape->nfields; f++)
			if (ev.text[f])
				row->text[f] = have(strndup(ev.text[f], ev.v[f]));
	}
	must(r);
	cursor_close(cur);
	for (size_t i = 0; i < t->nrows; i++)
		t->rows[i].often = how_often(t, i);
	t->span_ns = t->reader.epochs[t->reader.nepochs - 1].end_ns - t->reader.header.start_boot_ns;
}

/* A value of tile number `i`. */
static uint64_t vary(struct tile *t, const struct field *f, uint64_t v, uint64_t i)
{
	if (v == 0)
		return 0;
	switch (f->unit) {
	case UNIT_NS:
		return v + jitter(t);
	case UNIT_ID:
		return strcmp(f->name, "probe") == 0 ? v : v + 53 * i;
	case UNIT_ADDRESS:
		return v + (i << 12);
	default:
		return v;
	}
}

/* Tile number `slot` of the epoch that begins at `begin`. */
static void lay(struct tile *t, struct writer *w, uint64_t begin, uint64_t slot)
{
	uint64_t start = t->reader.header.start_boot_ns, v[FIELDS_MAX];

	for (size_t i = 0; i < t->nrows; i++) {
		const struct row *row = &t->rows[i];
		const struct kind *k = schema_kind(&t->reader.header.schema, row->kind);
		double part = (double)(row->v[0] - start) / (double)t->span_ns;

		if (t->steady && row->often < (begin == start ? ONCE : ALWAYS))
			continue;
		memcpy(v, row->v, sizeof(v));
		v[0] = begin + (uint64_t)(part * (double)(EPOCH_NS - JITTER_NS - 1)) + jitter(t);
		for (size_t f = 1; f < k->nfields; f++)
			v[f] = vary(t, &k->fields[f], v[f], slot);
		must(writer_add(w, row->kind, v, (const char *const *)row->text, &why));
	}
}

static struct clock_anchor anchor(const struct tile *t, uint64_t boot_ns)
{
	return (struct clock_anchor){boot_ns, t->reader.header.start_wall_ns + boot_ns, boot_ns};
}

static size_t count(struct tile *t, uint64_t ntiles)
{
	for (uint32_t i = 0; i < t->reader.end.ncounters; i++) {
		t->counters[i] = t->reader.end.counters[i];
		t->counters[i].value *= ntiles;
	}
	return t->reader.end.ncounters;
}

static void write_tiles(struct tile *t, const char *path, const struct identity *id, uint64_t size)
{
	const struct schema *s = &t->reader.header.schema;
	const struct self_stats self = {0};
	uint64_t now = t->reader.header.start_boot_ns, ntiles = 0;
	struct clock_anchor a = anchor(t, now);
	struct writer *w;
	struct sink sink;

	must(sink_open_file(&sink, path, true, &why));
	must(writer_open(&w, sink, id, s->probes, s->nprobes, &a, &why));
	while (writer_written_bytes(w) < size) {
		for (uint64_t i = 0; i < TILES; i++, ntiles++)
			lay(t, w, now, i);
		now += EPOCH_NS;
		a = anchor(t, now);
		must(writer_seal(w, now, &a, &self, t->counters, count(t, ntiles), &why));
	}
	must(writer_end(w, REASON_interrupted, NULL, &a, t->counters, count(t, ntiles), &why));
	printf("%" PRIu64 " events, %" PRIu64 " bytes\n", writer_nrows(w), writer_written_bytes(w));
	writer_close(w);
}

static void write_public(const char *path, const struct identity *id)
{
	char text[MINISIGN_PUBLIC_FILE_MAX];
	struct public_key pk;
	size_t n;
	FILE *f = fopen(path, "w");

	key_of_identity(&pk, id);
	n = minisign_format_public(text, &pk);
	if (!f || fwrite(text, 1, n, f) != n || fclose(f) != 0) {
		perror(path);
		exit(1);
	}
}

int main(int argc, char **argv)
{
	struct tile *t = have(calloc(1, sizeof(*t)));
	struct source source;
	struct identity id;

	if (argc != 5 && !(argc == 6 && strcmp(argv[5], "steady") == 0)) {
		fprintf(stderr, "usage: tile IN.cap OUT.cap OUT.pub MIB [steady]\n");
		return 2;
	}
	t->random = 88172645463325252ull;
	t->steady = argc == 6;
	must(source_open_file(&source, argv[1], &why));
	must(reader_open(&t->reader, &source, &why));
	if (t->reader.tail != TAIL_END || t->reader.nepochs == 0) {
		fprintf(stderr, "tile: %s has no end or no epoch\n", argv[1]);
		return 1;
	}
	read_rows(t);
	must(identity_generate(&id, &why));
	write_public(argv[3], &id);
	write_tiles(t, argv[2], &id, strtoull(argv[4], NULL, 10) << 20);
	for (size_t i = 0; i < t->nrows; i++)
		for (size_t f = 0; f < FIELDS_MAX; f++)
			free(t->rows[i].text[f]);
	free(t->rows);
	reader_close(&t->reader);
	source_close(&source);
	free(t);
	return 0;
}
