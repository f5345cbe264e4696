/* SPDX-License-Identifier: Apache-2.0 */
#include "format/verify.h"

#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <sodium.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "format/chunk.h"
#include "format/crypt.h"

#define THREADS_MAX 64

const char *verdict_word(enum verdict v)
{
	static const char *const words[] = {
		[VERDICT_OK] = "OK",
		[VERDICT_OK_SLICE] = "OK-SLICE",
		[VERDICT_OK_REDACTED] = "OK-REDACTED",
		[VERDICT_UNCHECKED] = "UNCHECKED",
		[VERDICT_UNSEALED] = "UNSEALED",
		[VERDICT_UNTRUSTED] = "UNTRUSTED",
		[VERDICT_MALFORMED] = "MALFORMED",
		[VERDICT_FORGED] = "FORGED",
	};

	return words[v];
}

int verdict_exit_status(enum verdict v)
{
	static const int statuses[] = {
		[VERDICT_OK] = 0,       [VERDICT_OK_SLICE] = 0,  [VERDICT_OK_REDACTED] = 0, [VERDICT_UNCHECKED] = 3,
		[VERDICT_UNSEALED] = 5, [VERDICT_UNTRUSTED] = 6, [VERDICT_MALFORMED] = 4,   [VERDICT_FORGED] = 1,
	};

	return statuses[v];
}

static enum verdict verdict_of(const struct fault *why)
{
	switch (why->code) {
	case ERR_FORGED:
		return VERDICT_FORGED;
	case ERR_FORMAT:
		return VERDICT_MALFORMED;
	case ERR_CUT:
		return VERDICT_UNSEALED;
	default:
		return VERDICT_UNCHECKED;
	}
}

void verification_refused(struct verification *v, const struct fault *why)
{
	*v = (struct verification){.verdict = verdict_of(why), .why = *why};
}

/* What the threads share: epochs are handed out one by one; the lowest one that fails decides. */
struct job {
	const struct reader *reader;
	enum verify_scope scope;
	atomic_ullong next;
	atomic_ullong failed; /* lowest epoch that failed so far */
	pthread_mutex_t lock;
	struct fault why;                                   /* of `failed` */
	void (*progress)(uint64_t epoch, uint64_t nepochs); /* NULL: none */
};

/* No clock but the wall's ever goes back. */
static bool follows(const struct clock_anchor *a, const struct epoch *before, const struct header *h)
{
	if (!before)
		return a->boot_ns >= h->start_boot_ns;
	return a->boot_ns >= before->anchor.boot_ns && a->mono_ns >= before->anchor.mono_ns;
}

static int check_chain(const struct reader *r, const struct epoch *e, uint64_t i, struct fault *why)
{
	const struct header *h = &r->header;
	const uint8_t *key = i ? e[-1].next_key : h->first_key;
	const uint8_t *previous = i ? e[-1].hash : h->hash;
	uint64_t begin = i ? e[-1].end_ns : h->start_boot_ns;
	unsigned long long n = i;

	if (!crypt_signed(&r->header, e->signature, domain_seal, e->hash, key))
		return fault_set(why, ERR_FORGED, e->seal_offset,
				 "the seal of epoch %llu is not signed by its session key", n);
	if (memcmp(e->capture_id, h->capture_id, CAPTURE_ID_BYTES) != 0)
		return fault_set(why, ERR_FORGED, e->seal_offset, "the seal of epoch %llu is of another capture", n);
	if (e->misnumbered || memcmp(e->previous, previous, HASH_BYTES) != 0)
		return fault_set(why, ERR_FORGED, e->seal_offset,
				 "the seal of epoch %llu does not follow the one before it", n);
	if (e->begin_ns != begin)
		return fault_set(why, ERR_FORMAT, e->seal_offset,
				 "epoch %llu does not begin where the one before ended", n);
	if (!follows(&e->anchor, i ? e - 1 : NULL, h))
		return fault_set(why, ERR_FORMAT, e->seal_offset, "the clock of epoch %llu went back", n);
	return 0;
}

/*
 * Every probe and counter is one of the schema's, and none has gone down since the epoch before. Their sum does not
 * overflow, so no sum of some of them does.
 */
static int check_counters(const struct reader *r, const struct counter *c, uint32_t n, const struct epoch *before,
			  uint64_t at, struct fault *why)
{
	const struct schema *s = &r->header.schema;
	uint64_t sum = 0;

	for (uint32_t i = 0; i < n; i++) {
		if (!schema_probe(s, c[i].probe) || !schema_counter(s, c[i].id))
			return fault_set(why, ERR_FORMAT, at,
					 "a counter is of a probe or kind that the header does not name");
		if (__builtin_add_overflow(sum, c[i].value, &sum))
			return fault_set(why, ERR_FORMAT, at, "the counters add up to more than can be");
	}
	for (uint32_t i = 0; before && i < before->ncounters; i++) {
		const struct counter *old = &before->counters[i];

		if (counter_value(c, n, old->probe, old->id) < old->value)
			return fault_set(why, ERR_FORMAT, at, "a cumulative counter went down");
	}
	return 0;
}

static uint64_t count_of(const struct kind_count *counts, uint32_t n, uint16_t kind)
{
	for (uint32_t i = 0; i < n; i++)
		if (counts[i].kind == kind)
			return counts[i].count;
	return 0;
}

/*
 * The seal's counts by kind against the rows that are there, and, with those withheld, their sum. Where nothing is
 * withheld the sums are the same, so that a count which is too great is beside one that is too small.
 */
static int check_counts(const struct reader *r, const struct epoch *e, const uint64_t *seen, struct fault *why)
{
	const struct schema *s = &r->header.schema;
	uint64_t rows = 0, counted = 0;

	for (uint32_t i = 0; i < e->nchunks; i++) {
		rows += e->chunks[i].nrows;
		if (!schema_class_name(s, e->chunks[i].class))
			return fault_set(why, ERR_FORMAT, e->seal_offset, "a chunk is of an unknown class");
	}
	for (uint32_t i = 0; i < e->ncounts; i++) {
		if (!schema_kind(s, e->counts[i].kind))
			return fault_set(why, ERR_FORMAT, e->seal_offset, "a seal counts events of an unknown kind");
		if (e->counts[i].count > rows - counted)
			return fault_set(why, ERR_FORMAT, e->seal_offset,
					 "a seal counts more events than its chunks hold");
		counted += e->counts[i].count;
	}
	if (counted != rows)
		return fault_set(why, ERR_FORMAT, e->seal_offset, "a seal counts fewer events than its chunks hold");
	for (size_t k = 0; k < s->nkinds; k++)
		if (seen[k] > count_of(e->counts, e->ncounts, s->kinds[k].id))
			return fault_set(why, ERR_FORMAT, e->seal_offset,
					 "a seal counts other events than its chunks hold");
	return 0;
}

/* Rows of each kind are counted in seen[], where they are decoded. */
static int check_chunks(const struct reader *r, const struct epoch *e, enum verify_scope scope, struct content *content,
			uint64_t *seen, struct fault *why)
{
	int ret = 0;

	for (uint32_t c = 0; c < e->nchunks && ret == 0; c++) {
		if (e->chunks[c].withheld)
			continue;
		ret = scope == VERIFY_ROWS ? content_check(content, r, e, c, seen, why)
					   : content_authentic(content, r, e, c, why);
	}
	return ret;
}

static int check_epoch(const struct job *job, uint64_t i, struct content *content, struct fault *why)
{
	const struct reader *r = job->reader;
	const struct epoch *e = &r->epochs[i];
	uint64_t seen[KINDS_MAX] = {0};
	int ret = check_chain(r, e, i, why);

	if (ret == 0)
		ret = check_counters(r, e->counters, e->ncounters, i ? e - 1 : NULL, e->seal_offset, why);
	if (ret == 0 && job->scope != VERIFY_SEALS)
		ret = check_chunks(r, e, job->scope, content, seen, why);
	return ret < 0 ? ret : check_counts(r, e, seen, why);
}

static void note_failure(struct job *job, uint64_t i, const struct fault *why)
{
	pthread_mutex_lock(&job->lock);
	if (i < atomic_load(&job->failed)) {
		atomic_store(&job->failed, i);
		job->why = *why;
	}
	pthread_mutex_unlock(&job->lock);
}

static void check_handed_out(struct job *job, void (*progress)(uint64_t epoch, uint64_t nepochs))
{
	struct content *content = calloc(1, sizeof(*content));
	struct fault why = {0};

	for (;;) {
		uint64_t i = atomic_fetch_add(&job->next, 1);

		/* Epochs after a failed one no longer matter; those before it still do. */
		if (i >= job->reader->nepochs || i >= atomic_load(&job->failed))
			break;
		if (progress)
			progress(i, job->reader->nepochs);
		if (!content)
			fault_no_memory(&why);
		if (!content || check_epoch(job, i, content, &why) < 0)
			note_failure(job, i, &why);
	}
	if (content)
		content_free(content);
	free(content);
}

static void *work(void *job)
{
	check_handed_out(job, NULL);
	return NULL;
}

/* All epochs; job->failed is then the number of good ones from the start. */
static void check_epochs(struct job *job, unsigned nthreads)
{
	pthread_t threads[THREADS_MAX];
	unsigned started = 0;
	cpu_set_t cores;

	/* As many as we may use: a container or a job may have some of many. A machine too large to say has enough. */
	if (nthreads == 0)
		nthreads = sched_getaffinity(0, sizeof(cores), &cores) ? THREADS_MAX : (unsigned)CPU_COUNT(&cores);
	if (nthreads > THREADS_MAX)
		nthreads = THREADS_MAX;
	if (nthreads > job->reader->nepochs)
		nthreads = (unsigned)job->reader->nepochs;
	/* This thread works too; if others cannot be started it does all. */
	while (started + 1 < nthreads && pthread_create(&threads[started], NULL, work, job) == 0)
		started++;
	check_handed_out(job, job->progress);
	for (unsigned i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
}

/* fired = recorded + lost for each probe, and the rows of each counted kind are what its probes recorded. */
static int check_sums(const struct reader *r, struct fault *why)
{
	const struct schema *s = &r->header.schema;
	const struct end *e = &r->end;

	for (size_t p = 0; p < s->nprobes; p++) {
		uint64_t fired = 0, accounted = 0;

		for (uint32_t i = 0; i < e->ncounters; i++) {
			const struct counter_type *type = schema_counter(s, e->counters[i].id);

			if (e->counters[i].probe != s->probes[p].id)
				continue;
			if (type->role == ROLE_FIRED)
				fired += e->counters[i].value;
			else if (type->role != ROLE_NOTED)
				accounted += e->counters[i].value;
		}
		if (fired != accounted)
			return fault_set(why, ERR_FORMAT, e->offset,
					 "probe %.64s fired %llu times, %llu are accounted for", s->probes[p].name,
					 (unsigned long long)fired, (unsigned long long)accounted);
	}
	for (size_t k = 0; k < s->nkinds; k++) {
		uint64_t recorded = 0, rows = count_of(e->totals, e->ntotals, s->kinds[k].id);

		if (!(s->kinds[k].flags & KIND_COUNTED))
			continue;
		for (uint32_t i = 0; i < e->ncounters; i++)
			if (schema_probe(s, e->counters[i].probe)->kind == s->kinds[k].id &&
			    schema_counter(s, e->counters[i].id)->role == ROLE_RECORDED)
				recorded += e->counters[i].value;
		if (recorded != rows)
			return fault_set(why, ERR_FORMAT, e->offset,
					 "%llu events of kind %.64s, but its probes recorded %llu",
					 (unsigned long long)rows, s->kinds[k].name, (unsigned long long)recorded);
	}
	return 0;
}

/* Of a kind that check_counts() has found to be listed. */
static size_t kind_index(const struct schema *s, uint16_t id)
{
	const struct kind *k = schema_kind(s, id);

	assert(k);
	return (size_t)(k - s->kinds);
}

static int check_totals(const struct reader *r, struct fault *why)
{
	const struct end *e = &r->end;
	const struct schema *s = &r->header.schema;
	uint64_t sums[KINDS_MAX] = {0};

	assert(r->epochs || !r->nepochs);
	for (uint64_t i = 0; i < r->nepochs; i++)
		for (uint32_t c = 0; c < r->epochs[i].ncounts; c++)
			sums[kind_index(s, r->epochs[i].counts[c].kind)] += r->epochs[i].counts[c].count;
	for (uint32_t i = 0; i < e->ntotals; i++)
		if (!schema_kind(s, e->totals[i].kind))
			return fault_set(why, ERR_FORMAT, e->offset, "the end record counts events of an unknown kind");
	for (size_t k = 0; k < s->nkinds; k++)
		if (count_of(e->totals, e->ntotals, s->kinds[k].id) != sums[k])
			return fault_set(why, ERR_FORMAT, e->offset,
					 "the end record counts other events than the seals");
	return 0;
}

static int check_end(const struct reader *r, struct fault *why)
{
	const struct end *e = &r->end;
	const struct epoch *last = r->nepochs ? &r->epochs[r->nepochs - 1] : NULL;
	const uint8_t *key = last ? last->next_key : r->header.first_key;
	const uint8_t *hash = last ? last->hash : r->header.hash;
	int ret;

	if (!crypt_signed(&r->header, e->signature, domain_end, e->hash, key))
		return fault_set(why, ERR_FORGED, e->offset, "the end record is not signed by the last session key");
	if (memcmp(e->capture_id, r->header.capture_id, CAPTURE_ID_BYTES) != 0 || e->nepochs != r->nepochs ||
	    memcmp(e->last_seal, hash, HASH_BYTES) != 0)
		return fault_set(why, ERR_FORGED, e->offset, "the end record does not belong to the epochs before it");
	if (!follows(&e->anchor, last, &r->header))
		return fault_set(why, ERR_FORMAT, e->offset, "the clock of the end record went back");
	ret = check_counters(r, e->counters, e->ncounters, last, e->offset, why);
	if (ret == 0)
		ret = check_totals(r, why);
	return ret < 0 ? ret : check_sums(r, why);
}

/* What comes after the last epoch. */
static int check_tail(const struct reader *r, struct fault *why)
{
	if (r->tail == TAIL_END)
		return check_end(r, why);
	*why = r->broken;
	return (int)r->broken.code;
}

/*
 * A slice: nothing is withheld but events, and those stand before or after all events that are there. Anything else
 * withheld makes a redacted capture.
 */
static enum verdict completeness(const struct reader *r, struct verification *v)
{
	uint64_t first = UINT64_MAX, last = 0;
	bool slice = true;

	for (uint64_t i = 0; i < v->nepochs; i++)
		for (uint32_t c = 0; c < r->epochs[i].nchunks; c++) {
			const struct chunk *chunk = &r->epochs[i].chunks[c];

			if (chunk->class != CLASS_events || chunk->withheld)
				continue;
			first = chunk->first_ns < first ? chunk->first_ns : first;
			last = chunk->last_ns > last ? chunk->last_ns : last;
		}
	for (uint64_t i = 0; i < v->nepochs; i++)
		for (uint32_t c = 0; c < r->epochs[i].nchunks; c++) {
			const struct chunk *chunk = &r->epochs[i].chunks[c];

			if (!chunk->withheld)
				continue;
			v->nwithheld++;
			if (chunk->class != CLASS_events || first > last ||
			    (chunk->last_ns > first && chunk->first_ns < last))
				slice = false;
		}
	if (v->nwithheld == 0)
		return VERDICT_OK;
	return slice ? VERDICT_OK_SLICE : VERDICT_OK_REDACTED;
}

static uint64_t lost_until(const struct reader *r, const struct verification *v)
{
	bool whole = v->nepochs == r->nepochs && r->tail == TAIL_END && v->verdict < VERDICT_UNCHECKED;
	uint32_t n;
	const struct counter *c = reader_counters_of(r, v->nepochs, whole, &n);
	uint64_t sum = 0;

	for (uint32_t i = 0; i < n; i++)
		if (schema_counter(&r->header.schema, c[i].id)->role == ROLE_LOST)
			sum += c[i].value;
	return sum;
}

void verify(const struct reader *r, unsigned nthreads, struct verification *v)
{
	verify_within(r, VERIFY_ROWS, nthreads, v);
}

void verify_within(const struct reader *r, enum verify_scope scope, unsigned nthreads, struct verification *v)
{
	verify_watched(r, scope, nthreads, NULL, v);
}

void verify_watched(const struct reader *r, enum verify_scope scope, unsigned nthreads,
		    void (*progress)(uint64_t epoch, uint64_t nepochs), struct verification *v)
{
	struct job job = {.reader = r, .scope = scope, .progress = progress, .lock = PTHREAD_MUTEX_INITIALIZER};
	struct verification out = {.scope = scope, .end_ns = r->header.start_boot_ns};
	int ret = 0;

	atomic_init(&job.next, 0);
	atomic_init(&job.failed, r->nepochs);
	if (sodium_init() < 0)
		ret = fault_set(&out.why, ERR_IO, FAULT_NOWHERE, "libsodium does not start");
	else if (!crypt_signed(&r->header, r->header.signature, domain_header, r->header.hash, r->header.identity))
		ret = fault_set(&out.why, ERR_FORGED, 0, "the header is not signed by the key that it names");
	if (ret < 0) {
		out.verdict = verdict_of(&out.why);
		*v = out;
		return;
	}
	check_epochs(&job, nthreads);
	out.nepochs = atomic_load(&job.failed);
	if (out.nepochs < r->nepochs) {
		ret = (int)job.why.code;
		out.why = job.why;
	} else {
		ret = check_tail(r, &out.why);
	}
	for (uint64_t i = 0; i < out.nepochs; i++)
		for (uint32_t c = 0; c < r->epochs[i].nchunks; c++)
			out.nevents += r->epochs[i].chunks[c].nrows;
	if (out.nepochs)
		out.end_ns = r->epochs[out.nepochs - 1].end_ns;
	out.verdict = completeness(r, &out);
	if (ret < 0)
		out.verdict = verdict_of(&out.why);
	out.nlost = lost_until(r, &out);
	*v = out;
}
