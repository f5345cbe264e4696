/* SPDX-License-Identifier: Apache-2.0 */
#include "format/writer.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "format/columns.h"
#include "format/crypt.h"
#include "format/extensions.h"
#include "format/pack.h"
#include "format/frames.h"
#include "format/staging.h"

struct writer {
	struct sink sink;
	struct header header;
	struct session_keys *keys;
	struct staging staging;  /* rows of the open epoch */
	struct staging leftover; /* swapped in by writer_seal() */
	struct bytes out;        /* bytes of the open epoch */
	struct bytes raw;        /* one chunk before compression */
	uint64_t *column;        /* CHUNK_ROWS_MAX values */
	const uint64_t **picked; /* CHUNK_ROWS_MAX rows of a kind: their values */
	uint64_t begin_ns;       /* of the open epoch */
	uint64_t nepochs;
	uint64_t written_bytes;
	uint8_t previous[HASH_BYTES];
	uint64_t totals[KINDS_MAX]; /* by index in the schema's kinds */
	struct bytes end;           /* END, made and signed, not written; empty: not prepared */
	uint8_t end_hash[HASH_BYTES];
	bool broken; /* a write failed, or END is written: nothing but close */
	void (*saw)(void *self, uint16_t kind, const uint64_t *v, const char *const *text); /* may be NULL */
	void *watcher;
	uint32_t left_out; /* bit CLASS_x */
};

/* Hand out the collected bytes and bring them to disk. */
static int put(struct writer *w, struct fault *why)
{
	int r = w->out.failed ? fault_no_memory(why) : w->sink.write(w->sink.self, w->out.data, w->out.len, why);

	if (r == 0)
		r = w->sink.sync(w->sink.self, why);
	if (r < 0)
		return r;
	w->written_bytes += w->out.len;
	bytes_reset(&w->out);
	return 0;
}

static int put_header(struct writer *w, const struct identity *id, struct fault *why)
{
	uint8_t *schema = NULL;
	size_t schema_len = 0;
	int r = schema_encode(&w->header.schema, &schema, &schema_len, why);

	if (r < 0)
		return r;
	if (extensions_any(&w->header))
		w->header.incompatible |= FEATURE_EXTENSIONS;
	bytes_add(&w->out, empty_frame, sizeof(empty_frame));
	header_encode(&w->out, &w->header, schema, schema_len);
	free(schema);
	if (w->out.failed)
		return fault_no_memory(why);
	crypt_sign(w->out.data + w->out.len - SIGNATURE_BYTES, domain_header, w->header.hash, id->secret_key);
	memcpy(w->previous, w->header.hash, HASH_BYTES);
	return put(w, why);
}

/* All but the header. Takes `sink` over, also on failure. */
static int make(struct writer **out, struct sink sink, const struct identity *id, const struct probe *probes,
		size_t nprobes, const struct clock_anchor *start, struct fault *why)
{
	struct writer *w = calloc(1, sizeof(*w));
	int r;

	if (!w) {
		sink.close(sink.self);
		return fault_no_memory(why);
	}
	w->sink = sink;
	w->column = malloc(CHUNK_ROWS_MAX * sizeof(*w->column));
	w->picked = malloc(CHUNK_ROWS_MAX * sizeof(*w->picked));
	r = w->column && w->picked ? session_open(&w->keys, why) : fault_no_memory(why);
	if (r == 0)
		r = schema_build(&w->header.schema, probes, nprobes, why);
	if (r == 0)
		r = staging_init(&w->staging, &w->header.schema, why);
	if (r == 0)
		r = staging_init(&w->leftover, &w->header.schema, why);
	if (r < 0) {
		writer_close(w);
		return r;
	}
	w->header.major = FORMAT_MAJOR;
	w->header.minor = FORMAT_MINOR;
	w->header.incompatible = FEATURE_PREHASHED;
	randombytes_buf(w->header.capture_id, CAPTURE_ID_BYTES);
	memcpy(w->header.keynum, id->keynum, KEYNUM_BYTES);
	memcpy(w->header.identity, id->public_key, PUBLIC_KEY_BYTES);
	memcpy(w->header.first_key, session_public(w->keys), PUBLIC_KEY_BYTES);
	w->header.start_boot_ns = start->boot_ns;
	w->header.start_wall_ns = start->wall_ns;
	w->begin_ns = start->boot_ns;
	*out = w;
	return 0;
}

/* Separate rows by process, from the header on. */
static void separate(struct writer *w)
{
	w->header.incompatible |= FEATURE_PARTS;
	staging_separate(&w->staging);
	staging_separate(&w->leftover);
}

int writer_open(struct writer **out, struct sink sink, const struct identity *id, const struct probe *probes,
		size_t nprobes, const struct clock_anchor *start, struct fault *why)
{
	const struct origin none = {.has_series = false};

	return writer_open_from(out, sink, id, probes, nprobes, start, &none, why);
}

int writer_open_from(struct writer **out, struct sink sink, const struct identity *id, const struct probe *probes,
		     size_t nprobes, const struct clock_anchor *start, const struct origin *origin, struct fault *why)
{
	struct writer *w;
	int r = make(&w, sink, id, probes, nprobes, start, why);

	if (r < 0)
		return r;
	if (origin->has_series) {
		memcpy(w->header.series, origin->series, SERIES_ID_BYTES);
		w->header.series_number = 1;
	}
	memcpy(w->header.challenge, origin->challenge, origin->challenge_bytes);
	w->header.challenge_bytes = origin->challenge_bytes;
	if (origin->by_process)
		separate(w);
	r = put_header(w, id, why);
	if (r < 0)
		writer_close(w);
	else
		*out = w;
	return r;
}

/* Add a row of `from` to another staging, as that one's `kind`. */
static int copy_row(struct staging *to, const struct kind *kind, const struct staging *from, const struct staged *row,
		    struct fault *why)
{
	const uint64_t *v = staging_values(from, row);
	uint64_t values[FIELDS_MAX];
	const char *text[FIELDS_MAX];

	for (size_t f = 0; f < row->kind->nfields; f++) {
		bool is_text = row->kind->fields[f].encoding == ENC_TEXT;

		values[f] = is_text ? staging_text_bytes(v[f]) : v[f];
		text[f] = is_text ? staging_text(from, v[f]) : NULL;
	}
	return staging_add(to, kind, values, text, why);
}

int writer_continue(struct writer **out, struct sink sink, const struct identity *id, const struct probe *probes,
		    size_t nprobes, struct writer *before, uint64_t wall_ns, struct fault *why)
{
	const struct clock_anchor start = {.boot_ns = before->begin_ns, .wall_ns = wall_ns};
	const struct staging *rows = &before->staging;
	struct writer *w;
	int r = make(&w, sink, id, probes, nprobes, &start, why);

	if (r == 0 && before->end.len == 0) {
		writer_close(w);
		r = fault_set(why, ERR_INPUT, FAULT_NOWHERE, "the capture before has no end that could be named");
	}
	if (r < 0)
		return r;
	w->header.incompatible |= FEATURE_CONTINUES;
	memcpy(w->header.previous, before->previous, HASH_BYTES);
	memcpy(w->header.challenge, before->header.challenge, sizeof(w->header.challenge));
	w->header.challenge_bytes = before->header.challenge_bytes;
	if (before->header.incompatible & FEATURE_PARTS)
		separate(w);
	if (before->header.series_number) {
		memcpy(w->header.series, before->header.series, SERIES_ID_BYTES);
		w->header.series_number = before->header.series_number + 1;
		memcpy(w->header.previous_end, before->end_hash, HASH_BYTES);
	}
	for (size_t i = 0; i < rows->nrows && r == 0; i++)
		r = copy_row(&w->staging, schema_kind(&w->header.schema, rows->rows[i].kind->id), rows, &rows->rows[i],
			     why);
	if (r == 0)
		r = put_header(w, id, why);
	if (r < 0) {
		writer_close(w);
		return r;
	}
	staging_reset(&before->staging);
	writer_watch(w, before->saw, before->watcher);
	writer_leave_out(w, before->left_out);
	*out = w;
	return 0;
}

void writer_watch(struct writer *w, void (*saw)(void *self, uint16_t kind, const uint64_t *v, const char *const *text),
		  void *self)
{
	w->saw = saw;
	w->watcher = self;
}

void writer_close(struct writer *w)
{
	if (!w)
		return;
	session_close(w->keys);
	w->sink.close(w->sink.self);
	staging_clear(&w->staging);
	staging_clear(&w->leftover);
	bytes_free(&w->out);
	bytes_free(&w->raw);
	bytes_free(&w->end);
	free(w->column);
	free(w->picked);
	header_clear(&w->header);
	free(w);
}

void writer_leave_out(struct writer *w, uint32_t classes)
{
	w->left_out = classes;
}

int writer_add(struct writer *w, uint16_t kind, const uint64_t *v, const char *const *text, struct fault *why)
{
	const struct kind *k = schema_kind(&w->header.schema, kind);
	int r;

	if (!k)
		return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "there is no event kind %u", kind);
	if (v[0] < w->begin_ns)
		return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "an event of kind %s is older than the open epoch",
				 k->name);
	if (k->flags == KIND_PLAIN && w->left_out >> k->class & 1)
		return 0;
	r = staging_add(&w->staging, k, v, text, why);
	if (r == 0 && w->saw && k->flags == KIND_PLAIN)
		w->saw(w->watcher, kind, v, text);
	return r;
}

uint64_t writer_begin_ns(const struct writer *w)
{
	return w->begin_ns;
}

size_t writer_staged_bytes(const struct writer *w)
{
	return staging_bytes(&w->staging);
}

uint64_t writer_written_bytes(const struct writer *w)
{
	return w->written_bytes;
}

uint64_t writer_nrows(const struct writer *w)
{
	uint64_t sum = 0;

	for (size_t k = 0; k < w->header.schema.nkinds; k++)
		sum += w->totals[k];
	return sum;
}

/* Most bytes that a row can take in a chunk. */
static size_t row_bytes_max(const struct staging *s, const struct staged *row)
{
	const uint64_t *v = staging_values(s, row);
	size_t sum = 0;

	for (size_t f = 0; f < row->kind->nfields; f++) {
		sum += sizeof(uint64_t);
		if (row->kind->fields[f].encoding == ENC_TEXT)
			sum += staging_text_bytes(v[f]);
	}
	return sum;
}

#define GROUP_BYTES_MAX (6 + FIELDS_MAX) /* of a group without its rows */

/* How many of rows[0..n), of one class and part, fit in a chunk in any case. */
static size_t rows_that_fit(const struct staging *s, const struct staged *rows, size_t n)
{
	size_t sum = (size_t)KINDS_MAX * GROUP_BYTES_MAX, i = 0;

	while (i < n && i < CHUNK_ROWS_MAX && rows[i].kind->class == rows[0].kind->class &&
	       rows[i].part == rows[0].part) {
		sum += row_bytes_max(s, &rows[i]);
		if (sum > CHUNK_RAW_MAX)
			break;
		i++;
	}
	return i;
}

/* Add the group of one kind's rows among rows[0..n). */
static void add_group(struct writer *w, const struct kind *kind, const struct staged *rows, size_t n)
{
	const struct staging *s = &w->staging;
	uint32_t count = 0;

	for (size_t i = 0; i < n; i++)
		if (rows[i].kind == kind)
			w->picked[count++] = staging_values(s, &rows[i]);
	bytes_add_le16(&w->raw, kind->id);
	bytes_add_le32(&w->raw, count);
	for (size_t f = 0; f < kind->nfields; f++) {
		bool is_text = kind->fields[f].encoding == ENC_TEXT;

		for (uint32_t i = 0; i < count; i++)
			w->column[i] = is_text ? staging_text_bytes(w->picked[i][f]) : w->picked[i][f];
		column_encode(&w->raw, kind->fields[f].encoding, w->column, count, rows[0].at_ns);
		for (uint32_t i = 0; is_text && i < count; i++)
			bytes_add(&w->raw, staging_text(s, w->picked[i][f]), staging_text_bytes(w->picked[i][f]));
	}
}

/* The chunk of rows[0..n), sorted and of one class and part: its frames to `out`, its entry to *c. */
static int add_chunk(struct writer *w, const struct staged *rows, size_t n, uint32_t index, struct chunk *c,
		     struct fault *why)
{
	const struct schema *schema = &w->header.schema;
	bool has[KINDS_MAX] = {false};
	size_t head, lz4;
	int r;

	bytes_reset(&w->raw);
	for (size_t i = 0; i < n; i++)
		has[rows[i].kind - schema->kinds] = true;
	for (size_t k = 0; k < schema->nkinds; k++)
		if (has[k])
			add_group(w, &schema->kinds[k], rows, n);
	if (w->raw.failed)
		return fault_no_memory(why);
	*c = (struct chunk){.class = rows[0].kind->class,
			    .part = rows[0].part,
			    .raw_bytes = (uint32_t)w->raw.len,
			    .nrows = (uint32_t)n,
			    .first_ns = rows[0].at_ns,
			    .last_ns = rows[n - 1].at_ns};
	randombytes_buf(c->salt, SALT_BYTES);
	bytes_add_le32(&w->out, MAGIC_CHUNK);
	bytes_add_le32(&w->out, CHUNK_BYTES);
	head = w->out.len;
	bytes_add_le32(&w->out, 0);
	bytes_add(&w->out, c->salt, SALT_BYTES);
	lz4 = w->out.len;
	r = pack_frame(&w->out, w->raw.data, w->raw.len, why);
	if (r < 0)
		return r;
	c->packed_bytes = (uint32_t)(w->out.len - lz4);
	put_le32(w->out.data + head + CHUNK_AT_PACKED_BYTES, c->packed_bytes);
	crypt_commit(c->commitment, w->header.capture_id, w->nepochs, index, c->salt, w->out.data + lz4,
		     c->packed_bytes);
	return 0;
}

/* All chunks of the staged rows; e->chunks is filled. */
static int add_chunks(struct writer *w, struct epoch *e, struct fault *why)
{
	const struct staged *rows = w->staging.rows;
	size_t n = w->staging.nrows, done = 0;

	while (done < n) {
		size_t fit = rows_that_fit(&w->staging, rows + done, n - done);
		struct chunk *grown;
		int r;

		if (e->nchunks == EPOCH_CHUNKS_MAX)
			return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "more events in an epoch than %u chunks hold",
					 EPOCH_CHUNKS_MAX);
		grown = realloc(e->chunks, (e->nchunks + 1) * sizeof(*grown));
		if (!grown)
			return fault_no_memory(why);
		e->chunks = grown;
		r = add_chunk(w, rows + done, fit, e->nchunks, &e->chunks[e->nchunks], why);
		if (r < 0)
			return r;
		e->nchunks++;
		done += fit;
	}
	return 0;
}

/* A process of the epoch: its rows, and the classes that they are of. */
struct share {
	uint32_t part, nlanes;
	uint64_t nrows;
};

static int by_rows(const void *a, const void *b)
{
	const struct share *x = a, *y = b;

	return x->nrows != y->nrows ? (x->nrows < y->nrows ? 1 : -1) : (x->part > y->part) - (x->part < y->part);
}

static int by_part(const void *a, const void *b)
{
	const struct share *x = a, *y = b;

	return (x->part > y->part) - (x->part < y->part);
}

/* How many lanes the sorted rows take; shares[]: one for each, of a row number each. */
static size_t find_shares(const struct staging *s, struct share *shares)
{
	size_t n = 0;

	for (size_t i = 0; i < s->nrows; i++) {
		const struct staged *row = &s->rows[i];

		if (i == 0 || row->part != row[-1].part || row->kind->class != row[-1].kind->class)
			shares[n++] = (struct share){row->part, 1, 0};
		shares[n - 1].nrows++;
	}
	return n;
}

/* Those of one process become one; the number of processes. */
static size_t join_shares(struct share *shares, size_t n)
{
	size_t joined = 0;

	qsort(shares, n, sizeof(*shares), by_part);
	for (size_t i = 0; i < n; i++) {
		if (joined && shares[joined - 1].part == shares[i].part) {
			shares[joined - 1].nlanes++;
			shares[joined - 1].nrows += shares[i].nrows;
		} else {
			shares[joined++] = shares[i];
		}
	}
	return joined;
}

/*
 * An epoch has no more than EPOCH_LANES_MAX pairs of class and part: where there are more processes, those with most
 * rows keep parts of their own. Sorted before, and after.
 */
static int limit_parts(struct writer *w, struct fault *why)
{
	const size_t shared = 2 * w->header.schema.nclasses; /* what all others have: none, and several */
	struct staging *s = &w->staging;
	struct share *shares = malloc((s->nrows ? s->nrows : 1) * sizeof(*shares));
	size_t n, used = shared, kept = 0;

	if (!shares)
		return fault_no_memory(why);
	n = find_shares(s, shares);
	if (n <= EPOCH_LANES_MAX) {
		free(shares);
		return 0;
	}
	n = join_shares(shares, n);
	qsort(shares, n, sizeof(*shares), by_rows);
	while (kept < n && used + shares[kept].nlanes <= EPOCH_LANES_MAX)
		used += shares[kept++].nlanes;
	qsort(shares, kept, sizeof(*shares), by_part);
	for (size_t i = 0; i < s->nrows; i++) {
		const struct share key = {.part = s->rows[i].part};

		if (key.part != PART_OF_NONE && !bsearch(&key, shares, kept, sizeof(*shares), by_part))
			s->rows[i].part = PART_OF_SEVERAL;
	}
	free(shares);
	return staging_sort(s, why);
}

/* Rows at or after end_ns go to the staging of the next epoch. */
static int split_staging(struct writer *w, uint64_t end_ns, struct fault *why)
{
	struct staging *s = &w->staging;
	size_t keep = 0;

	staging_reset(&w->leftover);
	for (size_t i = 0; i < s->nrows; i++) {
		const struct staged *row = &s->rows[i];
		int r;

		if (row->at_ns < end_ns) {
			s->rows[keep++] = *row;
			continue;
		}
		r = copy_row(&w->leftover, row->kind, s, row, why);
		if (r < 0)
			return r;
	}
	s->nrows = keep;
	return 0;
}

/* Counts of this epoch by kind into *e, and on top of the totals. */
static int count_rows(struct writer *w, struct epoch *e, struct fault *why)
{
	const struct schema *schema = &w->header.schema;
	uint64_t counts[KINDS_MAX] = {0};

	for (size_t i = 0; i < w->staging.nrows; i++)
		counts[w->staging.rows[i].kind - schema->kinds]++;
	e->counts = calloc(schema->nkinds, sizeof(*e->counts));
	if (!e->counts)
		return fault_no_memory(why);
	for (size_t k = 0; k < schema->nkinds; k++) {
		w->totals[k] += counts[k];
		if (counts[k])
			e->counts[e->ncounts++] = (struct kind_count){schema->kinds[k].id, counts[k]};
	}
	return 0;
}

static int check_counters(const struct counter *c, size_t n, struct fault *why)
{
	if (n > COUNTER_ROWS_MAX)
		return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "%zu counters, limit %u", n, COUNTER_ROWS_MAX);
	for (size_t i = 0; i < n; i++)
		if (c[i].value == 0 ||
		    (i && (c[i].probe < c[i - 1].probe || (c[i].probe == c[i - 1].probe && c[i].id <= c[i - 1].id))))
			return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "counter %zu is zero or out of order", i);
	return 0;
}

static int check_open(const struct writer *w, struct fault *why)
{
	if (w->broken)
		return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "the capture is closed to further writing");
	return 0;
}

/*
 * Seal what has been collected in `out`, and put all of it on disk. The next session key takes over before that: the
 * disk may take long to answer, and who breaks in meanwhile must not find the key of an epoch that is sealed.
 */
static int put_seal(struct writer *w, struct epoch *e, struct fault *why)
{
	int r;

	seal_encode(&w->out, e);
	if (w->out.failed)
		return fault_no_memory(why);
	session_sign(w->keys, w->out.data + w->out.len - SIGNATURE_BYTES, domain_seal, e->hash);
	session_advance(w->keys);
	r = put(w, why);
	if (r < 0)
		return r;
	memcpy(w->previous, e->hash, HASH_BYTES);
	w->nepochs++;
	w->begin_ns = e->end_ns;
	return 0;
}

int writer_seal(struct writer *w, uint64_t end_ns, const struct clock_anchor *anchor, const struct self_stats *self,
		const struct counter *counters, size_t ncounters, struct fault *why)
{
	struct epoch e = {
		.number = w->nepochs, .begin_ns = w->begin_ns, .end_ns = end_ns, .anchor = *anchor, .self = *self};
	struct staging done;
	int r = check_open(w, why);

	if (r == 0)
		r = check_counters(counters, ncounters, why);
	if (r == 0 && end_ns < w->begin_ns)
		r = fault_set(why, ERR_INPUT, FAULT_NOWHERE, "an epoch cannot end before it begins");
	if (r < 0)
		return r;
	w->broken = true; /* until all is done */
	bytes_reset(&w->end);
	e.parted = w->header.incompatible & FEATURE_PARTS;
	memcpy(e.capture_id, w->header.capture_id, CAPTURE_ID_BYTES);
	memcpy(e.previous, w->previous, HASH_BYTES);
	memcpy(e.next_key, session_next_public(w->keys), PUBLIC_KEY_BYTES);
	bytes_reset(&w->out);
	r = split_staging(w, end_ns, why);
	if (r == 0)
		r = count_rows(w, &e, why);
	if (r < 0)
		goto out;
	r = staging_sort(&w->staging, why);
	if (r == 0 && e.parted)
		r = limit_parts(w, why);
	if (r == 0)
		r = add_chunks(w, &e, why);
	if (r < 0)
		goto out;
	e.counters = malloc((ncounters ? ncounters : 1) * sizeof(*counters));
	if (!e.counters) {
		r = fault_no_memory(why);
		goto out;
	}
	if (ncounters)
		memcpy(e.counters, counters, ncounters * sizeof(*counters));
	e.ncounters = (uint32_t)ncounters;
	r = put_seal(w, &e, why);
	if (r < 0)
		goto out;
	done = w->staging;
	w->staging = w->leftover;
	w->leftover = done;
	w->broken = false;
out:
	epoch_clear(&e);
	return r;
}

/* The bytes of END, with its signature, into w->end. */
static int make_end(struct writer *w, struct end *e, const struct counter *counters, size_t ncounters,
		    struct fault *why)
{
	const struct schema *schema = &w->header.schema;
	struct kind_count totals[KINDS_MAX];

	memcpy(e->capture_id, w->header.capture_id, CAPTURE_ID_BYTES);
	memcpy(e->last_seal, w->previous, HASH_BYTES);
	e->totals = totals;
	for (size_t k = 0; k < schema->nkinds; k++)
		if (w->totals[k])
			totals[e->ntotals++] = (struct kind_count){schema->kinds[k].id, w->totals[k]};
	e->counters = malloc((ncounters ? ncounters : 1) * sizeof(*counters));
	if (!e->counters)
		return fault_no_memory(why);
	if (ncounters)
		memcpy(e->counters, counters, ncounters * sizeof(*counters));
	e->ncounters = (uint32_t)ncounters;
	bytes_reset(&w->end);
	end_encode(&w->end, e);
	free(e->counters);
	if (w->end.failed) {
		bytes_free(&w->end);
		return fault_no_memory(why);
	}
	session_sign(w->keys, w->end.data + w->end.len - SIGNATURE_BYTES, domain_end, e->hash);
	memcpy(w->end_hash, e->hash, HASH_BYTES);
	return 0;
}

int writer_prepare_end(struct writer *w, enum reason reason, const int *exit_status, const struct clock_anchor *anchor,
		       const struct counter *counters, size_t ncounters, struct fault *why)
{
	struct end e = {.nepochs = w->nepochs,
			.anchor = *anchor,
			.reason = reason,
			.has_exit_status = exit_status != NULL,
			.exit_status = exit_status ? *exit_status : 0};
	int r = check_open(w, why);

	if (r == 0)
		r = check_counters(counters, ncounters, why);
	return r < 0 ? r : make_end(w, &e, counters, ncounters, why);
}

int writer_put_end(struct writer *w, struct fault *why)
{
	int r = check_open(w, why);

	if (r == 0 && w->end.len == 0)
		r = fault_set(why, ERR_INPUT, FAULT_NOWHERE, "no end was prepared");
	if (r == 0 && w->staging.nrows)
		r = fault_set(why, ERR_INPUT, FAULT_NOWHERE, "%zu events are not sealed yet", w->staging.nrows);
	if (r < 0)
		return r;
	w->broken = true; /* END is the last thing written, whether it succeeds or not */
	bytes_reset(&w->out);
	bytes_add(&w->out, w->end.data, w->end.len);
	return put(w, why);
}

int writer_end(struct writer *w, enum reason reason, const int *exit_status, const struct clock_anchor *anchor,
	       const struct counter *counters, size_t ncounters, struct fault *why)
{
	int r = writer_prepare_end(w, reason, exit_status, anchor, counters, ncounters, why);

	return r < 0 ? r : writer_put_end(w, why);
}
