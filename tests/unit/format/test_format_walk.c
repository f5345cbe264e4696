/* SPDX-License-Identifier: Apache-2.0 */
/* Walking a capture: the order of events, seeking, what is withheld or changed under the cursor; threads of verify().
 */
#include "tests/unit/sample.h"

#include "format/chunk.h"
#include "format/layout.h"
#include "format/narrow.h"

struct walk {
	struct memory_sink m;
	struct source src;
	struct reader r;
	struct cursor *cur;
};

static void walk_open(struct walk *w)
{
	struct fault why;

	source_open_memory(&w->src, w->m.bytes.data, w->m.bytes.len);
	assert_int_equal(reader_open(&w->r, &w->src, &why), 0);
	assert_int_equal(cursor_open(&w->cur, &w->r, false, &why), 0);
}

static void walk_close(struct walk *w)
{
	cursor_close(w->cur);
	reader_close(&w->r);
	bytes_free(&w->m.bytes);
}

static struct writer *start_writer(struct memory_sink *m)
{
	struct identity id = sample_identity(1);
	struct clock_anchor start = sample_anchor(SAMPLE_BOOT);
	struct writer *w;
	struct fault why;

	assert_int_equal(writer_open(&w, memory_sink_of(m), &id, sample_probes, SAMPLE_NPROBES, &start, &why), 0);
	return w;
}

static void seal(struct writer *w, uint64_t end_ns)
{
	struct clock_anchor anchor = sample_anchor(end_ns);
	struct self_stats self = {0};
	struct fault why;

	assert_int_equal(writer_seal(w, end_ns, &anchor, &self, NULL, 0, &why), 0);
}

static void expect(struct cursor *cur, uint16_t kind, uint64_t after_ns, uint64_t tid)
{
	struct event ev;
	struct fault why;

	memset(&ev, 0xff, sizeof(ev));
	assert_int_equal(cursor_next(cur, &ev, &why), 1);
	assert_int_equal(ev.kind, kind);
	assert_int_equal(ev.at_ns, SAMPLE_BOOT + after_ns);
	if (kind == KIND_epoch)
		return;
	assert_int_equal(ev.v[0], ev.at_ns);
	assert_int_equal(ev.v[2], tid);
	assert_true(kind_nvalues(ev.shape) >= ev.shape->nfields);
	for (size_t f = ev.shape->nfields; f < kind_nvalues(ev.shape); f++)
		assert_int_equal(ev.v[f], 0);
	for (size_t f = 0; f < kind_nvalues(ev.shape); f++)
		assert_true(!ev.text[f] == !(f < ev.shape->nfields && ev.shape->fields[f].encoding == ENC_TEXT));
}

static void add(struct writer *w, uint16_t kind, uint64_t after_ns, uint64_t tid)
{
	uint64_t v[FIELDS_MAX] = {SAMPLE_BOOT + after_ns, 1, tid};
	const char *text[FIELDS_MAX] = {"", "", "", "", ""};
	struct fault why;

	assert_int_equal(writer_add(w, kind, v, text, &why), 0);
}

static void at_equal_times_events_come_by_kind_and_then_as_recorded(void **state)
{
	struct walk w = {0};
	struct writer *writer = start_writer(&w.m);
	struct event ev;
	struct fault why;

	(void)state;
	add(writer, KIND_process, 5, 1);
	add(writer, KIND_waking, 5, 2);
	add(writer, KIND_launch, 5, 9);
	add(writer, KIND_launch, 5, 3);
	add(writer, KIND_launch, 5, 7);
	add(writer, KIND_waking, 4, 8);
	seal(writer, SAMPLE_BOOT + 10);
	writer_close(writer);
	walk_open(&w);
	assert_int_equal(w.r.epochs[0].nchunks, 2);
	expect(w.cur, KIND_epoch, 0, 0);
	expect(w.cur, KIND_waking, 4, 8);
	expect(w.cur, KIND_launch, 5, 9);
	expect(w.cur, KIND_launch, 5, 3);
	expect(w.cur, KIND_launch, 5, 7);
	expect(w.cur, KIND_waking, 5, 2);
	expect(w.cur, KIND_process, 5, 1);
	assert_int_equal(cursor_next(w.cur, &ev, &why), 0);
	assert_int_equal(cursor_next(w.cur, &ev, &why), 0);
	walk_close(&w);
}

static void the_last_event_of_a_moment_says_so_where_another_one_follows(void **state)
{
	static const bool lasts[] = {true, false, false, true, false, false};
	struct walk w = {0};
	struct writer *writer = start_writer(&w.m);
	struct event ev;
	struct fault why;

	(void)state;
	add(writer, KIND_waking, 4, 1);
	add(writer, KIND_launch, 5, 2);
	add(writer, KIND_launch, 5, 3);
	add(writer, KIND_waking, 5, 4);
	add(writer, KIND_launch, 6, 5); /* the row of another class at the same time comes after it */
	add(writer, KIND_process, 6, 6);
	seal(writer, SAMPLE_BOOT + 10);
	writer_close(writer);
	walk_open(&w);
	expect(w.cur, KIND_epoch, 0, 0);
	for (size_t i = 0; i < sizeof(lasts); i++) {
		assert_int_equal(cursor_next(w.cur, &ev, &why), 1);
		assert_int_equal(ev.v[2], i + 1);
		assert_int_equal(ev.last, lasts[i]);
	}
	walk_close(&w);
}

static void at_equal_times_kinds_come_in_order_across_classes(void **state)
{
	struct walk w = {0};
	struct writer *writer = start_writer(&w.m);

	(void)state;
	add(writer, KIND_launch, 1, 1);
	add(writer, KIND_process, 5, 2);
	add(writer, KIND_module, 5, 3);
	seal(writer, SAMPLE_BOOT + 10);
	writer_close(writer);
	walk_open(&w);
	expect(w.cur, KIND_epoch, 0, 0);
	expect(w.cur, KIND_launch, 1, 1);
	/* By now all is loaded: one kind becomes one of a later version, with a number above those of other classes. */
	for (size_t k = 0; k < w.r.header.schema.nkinds; k++)
		if (w.r.header.schema.kinds[k].id == KIND_process)
			w.r.header.schema.kinds[k].id = 60000;
	expect(w.cur, KIND_module, 5, 3);
	expect(w.cur, 60000, 5, 2);
	walk_close(&w);
}

static void rows_of_several_classes_come_by_time_whatever_their_kinds(void **state)
{
	struct walk w = {0};
	struct writer *writer = start_writer(&w.m);

	(void)state;
	add(writer, KIND_launch, 1, 1);
	add(writer, KIND_process, 2, 2);
	add(writer, KIND_launch, 3, 3);
	add(writer, KIND_module, 4, 4);
	add(writer, KIND_process, 5, 5);
	add(writer, KIND_launch, 6, 6);
	seal(writer, SAMPLE_BOOT + 10);
	writer_close(writer);
	walk_open(&w);
	expect(w.cur, KIND_epoch, 0, 0);
	expect(w.cur, KIND_launch, 1, 1);
	expect(w.cur, KIND_process, 2, 2);
	expect(w.cur, KIND_launch, 3, 3);
	expect(w.cur, KIND_module, 4, 4);
	expect(w.cur, KIND_process, 5, 5);
	expect(w.cur, KIND_launch, 6, 6);
	walk_close(&w);
}

static void a_text_is_compared_as_a_whole(void **state)
{
	uint64_t v[FIELDS_MAX] = {[F_fact_at] = SAMPLE_BOOT + 1, [F_fact_name] = 7, [F_fact_value] = 0};
	const char *text[FIELDS_MAX] = {[F_fact_name] = "machine", [F_fact_value] = ""};
	struct walk w = {0};
	struct writer *writer = start_writer(&w.m);
	struct event ev;
	struct fault why;

	(void)state;
	assert_int_equal(writer_add(writer, KIND_fact, v, text, &why), 0);
	seal(writer, SAMPLE_BOOT + 10);
	writer_close(writer);
	walk_open(&w);
	expect(w.cur, KIND_epoch, 0, 0);
	assert_int_equal(cursor_next(w.cur, &ev, &why), 1);
	assert_true(event_text_is(&ev, F_fact_name, "machine"));
	assert_false(event_text_is(&ev, F_fact_name, "machina"));
	assert_false(event_text_is(&ev, F_fact_name, "machin"));
	assert_false(event_text_is(&ev, F_fact_name, "machines"));
	assert_true(event_text_is(&ev, F_fact_value, ""));
	assert_false(event_text_is(&ev, F_fact_at, ""));
	ev.v = (const uint64_t[FIELDS_MAX]){0};
	assert_false(event_text_is(&ev, F_fact_at, "")); /* a number that is 0 is no text of 0 bytes */
	walk_close(&w);
}

static void more_classes_than_may_be_are_refused_without_verification_too(void **state)
{
	struct chunk chunks[EPOCH_LANES_MAX + 1] = {0}, *own;
	struct walk w = {0};
	struct event ev;
	struct fault why;

	(void)state;
	assert_int_equal(sample_write(&w.m, 1, false), 0);
	walk_open(&w);
	for (uint8_t i = 0; i <= EPOCH_LANES_MAX; i++)
		chunks[i] = (struct chunk){.class = i, .withheld = true};
	own = w.r.epochs[0].chunks;
	w.r.epochs[0].chunks = chunks;
	w.r.epochs[0].nchunks = EPOCH_LANES_MAX;
	assert_int_equal(cursor_next(w.cur, &ev, &why), 1);
	assert_int_equal(cursor_next(w.cur, &ev, &why), 0);
	w.r.epochs[0].nchunks = EPOCH_LANES_MAX + 1;
	cursor_seek(w.cur, 0);
	assert_int_equal(cursor_next(w.cur, &ev, &why), ERR_FORMAT);
	w.r.epochs[0].chunks = own;
	walk_close(&w);
}

static void equal_times_in_several_chunks_come_by_kind_too(void **state)
{
	struct walk w = {0};
	struct writer *writer = start_writer(&w.m);

	(void)state;
	for (uint32_t i = 0; i < CHUNK_ROWS_MAX; i++)
		add(writer, i % 2 ? KIND_launch : KIND_waking, 5, i);
	add(writer, KIND_waking, 5, CHUNK_ROWS_MAX);
	seal(writer, SAMPLE_BOOT + 10);
	writer_close(writer);
	walk_open(&w);
	assert_int_equal(w.r.epochs[0].nchunks, 2);
	expect(w.cur, KIND_epoch, 0, 0);
	for (uint32_t i = 1; i < CHUNK_ROWS_MAX; i += 2)
		expect(w.cur, KIND_launch, 5, i);
	for (uint32_t i = 0; i <= CHUNK_ROWS_MAX; i += 2)
		expect(w.cur, KIND_waking, 5, i);
	walk_close(&w);
}

static void a_chunk_that_does_not_decode_leaves_no_rows(void **state)
{
	struct content *content = calloc(1, sizeof(*content));
	struct walk w = {0};
	struct fault why;

	(void)state;
	assert_non_null(content);
	assert_int_equal(sample_write(&w.m, 1, true), 0);
	walk_open(&w);
	assert_int_equal(content_load(content, &w.r, &w.r.epochs[0], 0, true, &why), 0);
	assert_int_equal(content->ngroups, 2);
	w.r.epochs[0].chunks[0].nrows++;
	assert_int_equal(content_load(content, &w.r, &w.r.epochs[0], 0, true, &why), ERR_FORMAT);
	assert_int_equal(content->ngroups, 0);
	content_free(content);
	free(content);
	walk_close(&w);
}

static void a_seek_gives_all_events_from_that_time_on(void **state)
{
	struct walk w = {0};
	struct writer *writer = start_writer(&w.m);
	struct event ev;
	struct fault why;

	(void)state;
	add(writer, KIND_launch, 3, 1);
	add(writer, KIND_switch, 5, 2);
	add(writer, KIND_launch, 9, 3);
	seal(writer, SAMPLE_BOOT + 10);
	add(writer, KIND_launch, 10, 4);
	add(writer, KIND_thread, 12, 5);
	seal(writer, SAMPLE_BOOT + 20);
	writer_close(writer);
	walk_open(&w);
	for (uint64_t from = 0; from <= 10; from++) {
		cursor_seek(w.cur, SAMPLE_BOOT + from);
		if (from < 10)
			expect(w.cur, KIND_epoch, 0, 0);
		if (from <= 3)
			expect(w.cur, KIND_launch, 3, 1);
		if (from <= 5)
			expect(w.cur, KIND_switch, 5, 2);
		if (from <= 9)
			expect(w.cur, KIND_launch, 9, 3);
		expect(w.cur, KIND_epoch, 10, 0);
		expect(w.cur, KIND_launch, 10, 4);
	}
	cursor_seek(w.cur, SAMPLE_BOOT + 11); /* from the middle of an epoch into the same one */
	expect(w.cur, KIND_epoch, 10, 0);
	expect(w.cur, KIND_thread, 12, 5);
	cursor_seek(w.cur, SAMPLE_BOOT + 19);
	expect(w.cur, KIND_epoch, 10, 0);
	assert_int_equal(cursor_next(w.cur, &ev, &why), 0);
	cursor_seek(w.cur, UINT64_MAX);
	assert_int_equal(cursor_next(w.cur, &ev, &why), 0);
	cursor_seek(w.cur, 0);
	expect(w.cur, KIND_epoch, 0, 0);
	expect(w.cur, KIND_launch, 3, 1);
	walk_close(&w);
}

/* Rows as they must come: runs of a kind, of any length, that others cut short at the same time or later. */
#define RUN_ROWS 900
#define RUN_EPOCHS 3

struct runs {
	struct walk w;
	struct row {
		uint64_t after_ns, tid;
		uint16_t kind;
	} rows[RUN_EPOCHS * RUN_ROWS];
	uint64_t ends[RUN_EPOCHS]; /* of the epochs, after SAMPLE_BOOT */
	uint64_t rng;
};

static uint64_t draw(struct runs *r, uint64_t below)
{
	r->rng = r->rng * 6364136223846793005U + 1442695040888963407U;
	return (r->rng >> 33) % below;
}

static int by_time_kind_and_place(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->after_ns != y->after_ns)
		return x->after_ns < y->after_ns ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return x->tid < y->tid ? -1 : 1;
}

static void make_runs(struct runs *r, uint64_t seed)
{
	static const uint16_t kinds[] = {KIND_launch, KIND_launch, KIND_switch, KIND_switch, KIND_waking, KIND_thread};
	struct writer *writer = start_writer(&r->w.m);
	uint64_t now = 1, step = 1 + seed % 3, left = 0, tid = 0;
	uint16_t kind = 0;

	r->rng = seed;
	for (unsigned e = 0; e < RUN_EPOCHS; e++) {
		struct row *rows = r->rows + e * RUN_ROWS;

		for (unsigned i = 0; i < RUN_ROWS; i++) {
			if (left-- == 0) {
				kind = kinds[draw(r, 6)];
				left = draw(r, 4) ? draw(r, 5) : draw(r, 300);
			}
			now += draw(r, step + 1);
			rows[i] = (struct row){now, ++tid, kind};
			add(writer, kind, now, tid);
		}
		qsort(rows, RUN_ROWS, sizeof(*rows), by_time_kind_and_place);
		r->ends[e] = now += 1 + draw(r, 3);
		seal(writer, SAMPLE_BOOT + now);
	}
	writer_close(writer);
	walk_open(&r->w);
}

/* From row `from` of epoch `e` on, whose mark is next: at most n rows, and none from to_ns on. */
static void expect_rows(struct runs *r, unsigned e, unsigned from, unsigned n, uint64_t to_ns, bool unnumbered)
{
	struct event ev;
	struct fault why;

	for (; e < RUN_EPOCHS && (e ? r->ends[e - 1] : 0) < to_ns; e++, from = 0) {
		expect(r->w.cur, KIND_epoch, e ? r->ends[e - 1] : 0, 0);
		for (unsigned i = from; i < RUN_ROWS && r->rows[e * RUN_ROWS + i].after_ns < to_ns; i++) {
			const struct row *row = &r->rows[e * RUN_ROWS + i];

			if (n-- == 0)
				return;
			memset(&ev, 0xff, sizeof(ev));
			assert_int_equal(cursor_next(r->w.cur, &ev, &why), 1);
			assert_int_equal(ev.kind, row->kind);
			assert_int_equal(ev.at_ns, SAMPLE_BOOT + row->after_ns);
			assert_int_equal(ev.v[0], ev.at_ns);
			assert_int_equal(ev.v[2], row->tid);
			assert_ptr_equal(ev.epoch, r->w.r.epochs + e);
			assert_int_equal(ev.number, unnumbered ? 0 : e * RUN_ROWS + i + 1);
			if (i + 1 < RUN_ROWS && row[1].after_ns == row->after_ns)
				assert_false(ev.last);
		}
	}
	assert_int_equal(cursor_next(r->w.cur, &ev, &why), 0);
}

/* A seek to the time of any row, in the midst of whatever run. */
static void expect_after_seek(struct runs *r, uint64_t to_ns, bool unnumbered)
{
	unsigned n = (unsigned)draw(r, 200), at = (unsigned)draw(r, RUN_EPOCHS * RUN_ROWS), e = at / RUN_ROWS;
	uint64_t from_ns = r->rows[at].after_ns;

	at %= RUN_ROWS;
	while (at > 0 && r->rows[e * RUN_ROWS + at - 1].after_ns == from_ns)
		at--;
	cursor_seek(r->w.cur, SAMPLE_BOOT + from_ns);
	expect_rows(r, e, at, n, to_ns, unnumbered);
	at = (unsigned)draw(r, RUN_EPOCHS * RUN_ROWS);
	cursor_seek_number(r->w.cur, at + 1);
	expect_rows(r, at / RUN_ROWS, 0, n, to_ns, unnumbered);
}

static void runs_of_rows_come_in_order_with_their_times_and_numbers(void **state)
{
	struct runs *r = malloc(sizeof(*r));

	(void)state;
	assert_non_null(r);
	for (uint64_t seed = 1; seed <= 12; seed++) {
		*r = (struct runs){.rng = 0};
		make_runs(r, seed);
		expect_rows(r, 0, 0, UINT32_MAX, UINT64_MAX, false);
		for (unsigned i = 0; i < 40; i++) {
			uint64_t to_ns = draw(r, 2) ? r->rows[draw(r, RUN_EPOCHS * RUN_ROWS)].after_ns : UINT64_MAX;
			struct cursor_wish wish = {.to_ns = to_ns == UINT64_MAX ? to_ns : SAMPLE_BOOT + to_ns,
						   .unnumbered = draw(r, 2)};

			cursor_seek(r->w.cur, 0);
			cursor_ask(r->w.cur, &wish);
			expect_rows(r, 0, 0, (unsigned)draw(r, 900), to_ns, wish.unnumbered);
			expect_after_seek(r, to_ns, wish.unnumbered);
		}
		walk_close(&r->w);
	}
	free(r);
}

/* Rows of one kind, of which other rows are in the same chunk; their numbers are those among all. */
static void what_is_asked_for_comes_and_nothing_else(void **state)
{
	uint32_t fields[KINDS_MAX] = {0};
	struct walk w = {0};
	struct event ev, all;
	struct fault why;

	(void)state;
	assert_int_equal(sample_write(&w.m, 2, true), 0);
	walk_open(&w);
	fields[schema_kind(&w.r.header.schema, KIND_switch) - w.r.header.schema.kinds] = 1u << F_switch_next_tid;
	for (int unnumbered = 0; unnumbered < 2; unnumbered++) {
		const struct cursor_wish wish = {fields, UINT64_MAX, unnumbered};
		struct cursor *whole, *part;
		unsigned marks = 0, rows = 0;

		assert_int_equal(cursor_open(&whole, &w.r, false, &why), 0);
		assert_int_equal(cursor_open(&part, &w.r, false, &why), 0);
		cursor_ask(part, &wish);
		while (cursor_next(part, &ev, &why) > 0) {
			do
				assert_int_equal(cursor_next(whole, &all, &why), 1);
			while (all.kind != KIND_switch && all.kind != KIND_epoch);
			assert_int_equal(ev.kind, all.kind);
			assert_int_equal(ev.at_ns, all.at_ns);
			assert_int_equal(ev.number, unnumbered ? 0 : all.number);
			assert_int_equal(ev.v[F_switch_next_tid], all.v[F_switch_next_tid]);
			assert_int_equal(ev.v[F_switch_prev_tid], 0);
			marks += ev.kind == KIND_epoch;
			rows += ev.kind == KIND_switch;
		}
		assert_int_equal(marks, 2);
		assert_int_equal(rows, 4);
		cursor_close(part);
		cursor_close(whole);
	}
	walk_close(&w);
}

/* Launches of one group, each 3 ns, and a switch after each: a wish in their midst passes over some. */
static void a_wish_in_the_midst_of_an_epoch_moves_no_value_to_another_row(void **state)
{
	const struct cursor_wish all = {NULL, UINT64_MAX, false};
	struct cursor_wish switches = {NULL, UINT64_MAX, false};
	uint32_t fields[KINDS_MAX] = {0};
	struct walk w = {0};
	struct writer *writer = start_writer(&w.m);

	(void)state;
	for (uint64_t i = 1; i <= 5; i++) {
		add(writer, KIND_launch, 3 * i, i);
		add(writer, KIND_switch, 3 * i + 1, 100 + i);
	}
	seal(writer, SAMPLE_BOOT + 20);
	writer_close(writer);
	walk_open(&w);
	fields[schema_kind(&w.r.header.schema, KIND_switch) - w.r.header.schema.kinds] = UINT32_MAX;
	switches.fields = fields;
	expect(w.cur, KIND_epoch, 0, 0);
	expect(w.cur, KIND_launch, 3, 1);
	expect(w.cur, KIND_switch, 4, 101);
	cursor_ask(w.cur, &switches);
	expect(w.cur, KIND_launch, 6, 2); /* that was next already */
	expect(w.cur, KIND_switch, 7, 102);
	expect(w.cur, KIND_switch, 10, 103);
	cursor_ask(w.cur, &all);
	expect(w.cur, KIND_switch, 13, 104); /* and this was not */
	expect(w.cur, KIND_launch, 15, 5);
	expect(w.cur, KIND_switch, 16, 105);
	walk_close(&w);
}

static void what_changes_after_the_verification_is_found_unless_that_is_waived(void **state)
{
	struct walk w = {0};
	struct cursor *waived;
	struct event ev;
	struct fault why;
	int r = 1;

	(void)state;
	assert_int_equal(sample_write(&w.m, 1, true), 0);
	walk_open(&w);
	assert_int_equal(cursor_open(&waived, &w.r, true, &why), 0);
	w.r.epochs[0].chunks[0].salt[0] ^= 1; /* as good as a changed byte, but it still decompresses */
	assert_int_equal(cursor_next(w.cur, &ev, &why), 1);
	assert_int_equal(cursor_next(w.cur, &ev, &why), ERR_FORGED);
	assert_int_equal(cursor_next(w.cur, &ev, &why), ERR_FORGED);
	for (unsigned n = 0; n < 8; n++)
		assert_int_equal(cursor_next(waived, &ev, &why), 1);
	assert_int_equal(cursor_next(waived, &ev, &why), 0);
	cursor_close(waived);
	w.r.epochs[0].chunks[0].salt[0] ^= 1;
	while (r > 0) /* it stands where it stood */
		r = cursor_next(w.cur, &ev, &why);
	assert_int_equal(r, 0);
	walk_close(&w);
}

static void withheld_chunks_are_passed_over(void **state)
{
	static const struct narrowing plan = {1u << CLASS_process, SAMPLE_BOOT + SAMPLE_SECOND, UINT64_MAX, NULL, 0};
	struct walk whole = {0}, w = {0};
	unsigned threads = 0, launches = 0, facts = 0;
	struct event ev;
	struct fault why;
	uint64_t n;

	(void)state;
	assert_int_equal(sample_write(&whole.m, 2, true), 0);
	walk_open(&whole);
	assert_int_equal(narrow(&whole.r, &plan, memory_sink_of(&w.m), &n, &why), 0);
	assert_int_equal(n, 3);
	walk_open(&w);
	while (cursor_next(w.cur, &ev, &why) > 0) {
		threads += ev.kind == KIND_thread;
		launches += ev.kind == KIND_launch;
		facts += ev.kind == KIND_fact;
	}
	assert_int_equal(threads, 0);
	assert_int_equal(launches, 3);
	assert_int_equal(facts, 2);
	walk_close(&w);
	walk_close(&whole);
}

static void a_copy_that_cannot_be_written_is_an_error(void **state)
{
	static const struct narrowing plan = {1u << CLASS_process, 0, UINT64_MAX, NULL, 0};
	struct memory_sink whole = {0};
	struct walk w = {0};
	struct fault why;
	uint64_t n;

	(void)state;
	assert_int_equal(sample_write(&w.m, 2, true), 0);
	walk_open(&w);
	assert_int_equal(narrow(&w.r, &plan, memory_sink_of(&whole), &n, &why), 0);
	assert_true(whole.closed);
	for (unsigned fail_at = 1; fail_at <= whole.calls; fail_at++) {
		struct memory_sink m = {.fail_at = fail_at};

		assert_int_equal(narrow(&w.r, &plan, memory_sink_of(&m), &n, &why), ERR_IO);
		assert_true(m.closed);
		bytes_free(&m.bytes);
	}
	assert_string_equal(why.text, "sync failed");
	bytes_free(&whole.bytes);
	walk_close(&w);
}

static void a_copy_ends_with_the_last_whole_epoch(void **state)
{
	static const struct narrowing plan = {1u << CLASS_process, 0, UINT64_MAX, NULL, 0};

	(void)state;
	for (unsigned nepochs = 0; nepochs < 3; nepochs++) {
		struct memory_sink out = {0};
		struct walk w = {0};
		struct verification v;
		struct fault why;
		uint64_t n;

		assert_int_equal(sample_write(&w.m, nepochs, true), 0);
		walk_open(&w);
		assert_int_equal(narrow(&w.r, &plan, memory_sink_of(&out), &n, &why), 0);
		assert_int_equal(sample_verdict(out.bytes.data, out.bytes.len, NULL),
				 nepochs ? VERDICT_OK_REDACTED : VERDICT_OK);
		bytes_free(&out.bytes);
		cursor_close(w.cur);
		reader_close(&w.r);
		w.m.bytes.len -= 5; /* END is cut now */
		walk_open(&w);
		assert_int_equal(narrow(&w.r, &plan, memory_sink_of(&out), &n, &why), 0);
		assert_int_equal(sample_verdict(out.bytes.data, out.bytes.len, &v), VERDICT_UNSEALED);
		assert_int_equal(v.nepochs, nepochs);
		assert_true(nepochs || out.bytes.len == w.r.tail_offset);
		bytes_free(&out.bytes);
		walk_close(&w);
	}
}

/* Four epochs with rows at 0 and 2, 5 and 7, 10 and 12, 15 and 17; a slice keeps [from, to). */
static enum verdict slice(uint64_t from, uint64_t to, uint64_t *nwithheld)
{
	const struct narrowing plan = {0, SAMPLE_BOOT + from, SAMPLE_BOOT + to, NULL, 0};
	struct walk whole = {0};
	struct memory_sink out = {0};
	struct writer *writer = start_writer(&whole.m);
	struct clock_anchor anchor = sample_anchor(SAMPLE_BOOT + 20);
	enum verdict verdict;
	struct counter counters[2];
	struct fault why;

	for (uint64_t e = 0; e < 4; e++) {
		struct self_stats self = {0};

		add(writer, KIND_launch, 5 * e, 1);
		add(writer, KIND_launch, 5 * e + 2, 1);
		counters[0] = (struct counter){20, COUNTER_fired, 2 * e + 2};
		counters[1] = (struct counter){20, COUNTER_recorded, 2 * e + 2};
		anchor = sample_anchor(SAMPLE_BOOT + 5 * e + 5);
		assert_int_equal(writer_seal(writer, anchor.boot_ns, &anchor, &self, counters, 2, &why), 0);
	}
	assert_int_equal(writer_end(writer, REASON_duration, NULL, &anchor, counters, 2, &why), 0);
	writer_close(writer);
	walk_open(&whole);
	assert_int_equal(narrow(&whole.r, &plan, memory_sink_of(&out), nwithheld, &why), 0);
	assert_int_equal(out.calls > 0 && out.bytes.len > 0, 1);
	verdict = sample_verdict(out.bytes.data, out.bytes.len, NULL);
	bytes_free(&out.bytes);
	walk_close(&whole);
	return verdict;
}

static void a_slice_keeps_each_chunk_with_a_row_inside_it(void **state)
{
	uint64_t n;

	(void)state;
	assert_int_equal(slice(0, 20, &n), VERDICT_OK);
	assert_int_equal(n, 0);
	assert_int_equal(slice(2, 16, &n), VERDICT_OK);
	assert_int_equal(n, 0);
	assert_int_equal(slice(3, 16, &n), VERDICT_OK_SLICE);
	assert_int_equal(n, 1);
	assert_int_equal(slice(2, 15, &n), VERDICT_OK_SLICE);
	assert_int_equal(n, 1);
	assert_int_equal(slice(5, 10, &n), VERDICT_OK_SLICE);
	assert_int_equal(n, 3);
	assert_int_equal(slice(3, 4, &n), VERDICT_OK_REDACTED); /* none is left */
	assert_int_equal(n, 4);
}

static void a_hole_between_events_is_a_redaction(void **state)
{
	struct walk w = {0};
	struct bytes hole = {0};
	uint64_t at, next;

	(void)state;
	assert_int_equal(sample_write(&w.m, 3, true), 0);
	walk_open(&w);
	at = w.r.epochs[1].chunks[0].offset;
	next = w.r.epochs[1].chunks[1].offset;
	bytes_add(&hole, w.m.bytes.data, at);
	bytes_add_le32(&hole, MAGIC_WITHHELD);
	bytes_add_le32(&hole, 0);
	bytes_add(&hole, w.m.bytes.data + next, w.m.bytes.len - next);
	assert_int_equal(sample_verdict(hole.data, hole.len, NULL), VERDICT_OK_REDACTED);
	bytes_free(&hole);
	walk_close(&w);
}

/* Flip a byte of the last chunk of an epoch: found only after all others of it have been hashed. */
static void spoil(struct walk *w, uint64_t epoch)
{
	w->m.bytes.data[w->r.epochs[epoch].seal_offset - 1] ^= 1;
}

static void the_earliest_fault_decides_on_any_number_of_threads(void **state)
{
	struct walk w = {0};
	struct writer *writer = start_writer(&w.m);
	uint64_t x = 88172645463325252ull;

	(void)state;
	for (uint64_t e = 0; e < 8; e++) {
		/* The second epoch takes far longer than the first. */
		for (uint64_t i = 0; i < (e == 1 ? 60000 : e == 0 ? 20000 : 6000); i++) {
			x ^= x << 13, x ^= x >> 7, x ^= x << 17;
			add(writer, KIND_launch, e * 100000 + i, x);
		}
		seal(writer, SAMPLE_BOOT + e * 100000 + 100000);
	}
	writer_close(writer);
	walk_open(&w);
	spoil(&w, 0);
	spoil(&w, 1);
	spoil(&w, 5);
	for (unsigned threads = 0; threads < 9; threads++) {
		struct verification v;

		verify(&w.r, threads, &v);
		assert_int_equal(v.verdict, VERDICT_FORGED);
		assert_int_equal(v.nepochs, 0);
		assert_int_equal(v.end_ns, SAMPLE_BOOT);
		assert_non_null(strstr(v.why.text, "epoch 0"));
	}
	spoil(&w, 0);
	spoil(&w, 1);
	for (unsigned threads = 0; threads < 9; threads++) {
		struct verification v;

		verify(&w.r, threads, &v);
		assert_int_equal(v.verdict, VERDICT_FORGED);
		assert_int_equal(v.nepochs, 5);
		assert_int_equal(v.end_ns, SAMPLE_BOOT + 500000);
		assert_int_equal(v.nevents, 3 * 6000 + 60000 + 20000);
	}
	walk_close(&w);
}

static void wall_clock_times_come_from_the_anchor_before(void **state)
{
	struct walk w = {0};
	struct writer *writer = start_writer(&w.m);
	struct clock_anchor stepped = {SAMPLE_BOOT + 10, SAMPLE_WALL + 5000, SAMPLE_BOOT + 10};
	struct self_stats self = {0};
	struct fault why;

	(void)state;
	assert_int_equal(writer_seal(writer, SAMPLE_BOOT + 10, &stepped, &self, NULL, 0, &why), 0);
	stepped = (struct clock_anchor){SAMPLE_BOOT + 20, SAMPLE_WALL + 9000, SAMPLE_BOOT + 20};
	assert_int_equal(writer_seal(writer, SAMPLE_BOOT + 20, &stepped, &self, NULL, 0, &why), 0);
	writer_close(writer);
	walk_open(&w);
	assert_int_equal(reader_wall_ns(&w.r, SAMPLE_BOOT - 1), SAMPLE_WALL - 1);
	assert_int_equal(reader_wall_ns(&w.r, SAMPLE_BOOT + 9), SAMPLE_WALL + 9);
	assert_int_equal(reader_wall_ns(&w.r, SAMPLE_BOOT + 10), SAMPLE_WALL + 5000);
	assert_int_equal(reader_wall_ns(&w.r, SAMPLE_BOOT + 19), SAMPLE_WALL + 5009);
	assert_int_equal(reader_wall_ns(&w.r, SAMPLE_BOOT + 21), SAMPLE_WALL + 9001);
	walk_close(&w);
}

static void losses_are_reported_by_epoch_and_kind_with_those_of_the_end(void **state)
{
	static const struct counter first[] = {{1, COUNTER_fired, 3},
					       {1, COUNTER_ring_full, 3},
					       {1, COUNTER_no_stack, 1}},
				    second[] = {{1, COUNTER_fired, 5},
						{1, COUNTER_ring_full, 5},
						{1, COUNTER_no_stack, 1}},
				    at_end[] = {{1, COUNTER_fired, 5},
						{1, COUNTER_ring_full, 5},
						{1, COUNTER_no_stack, 1},
						{20, COUNTER_fired, 4},
						{20, COUNTER_in_flight, 4}};
	struct walk w = {0};
	struct writer *writer = start_writer(&w.m);
	struct clock_anchor a = sample_anchor(SAMPLE_BOOT);
	struct self_stats self = {0};
	struct verification v;
	struct fault why;

	(void)state;
	assert_int_equal(writer_seal(writer, SAMPLE_BOOT + 1, &a, &self, first, 3, &why), 0);
	assert_int_equal(writer_seal(writer, SAMPLE_BOOT + 2, &a, &self, second, 3, &why), 0);
	assert_int_equal(writer_end(writer, REASON_duration, NULL, &a, at_end, 5, &why), 0);
	writer_close(writer);
	walk_open(&w);
	assert_int_equal(reader_lost(&w.r, 0, 0), 3);
	assert_int_equal(reader_lost(&w.r, 1, 0), 2 + 4);
	assert_int_equal(reader_lost(&w.r, 1, KIND_switch), 2);
	assert_int_equal(reader_lost(&w.r, 1, KIND_launch), 4);
	assert_int_equal(counter_value(second, 3, 1, COUNTER_ring_full), 5);
	assert_int_equal(counter_value(second, 3, 1, COUNTER_recorded), 0);
	assert_int_equal(counter_value(at_end, 5, 20, COUNTER_fired), 4);
	assert_int_equal(sample_verdict(w.m.bytes.data, w.m.bytes.len, &v), VERDICT_OK);
	assert_int_equal(v.nlost, 9);
	/* Read without verification: a counter that the header does not name. */
	w.r.end.counters[4].id = UINT8_MAX;
	assert_int_equal(reader_lost(&w.r, 1, 0), 2);
	walk_close(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(at_equal_times_events_come_by_kind_and_then_as_recorded),
		cmocka_unit_test(the_last_event_of_a_moment_says_so_where_another_one_follows),
		cmocka_unit_test(at_equal_times_kinds_come_in_order_across_classes),
		cmocka_unit_test(rows_of_several_classes_come_by_time_whatever_their_kinds),
		cmocka_unit_test(a_text_is_compared_as_a_whole),
		cmocka_unit_test(more_classes_than_may_be_are_refused_without_verification_too),
		cmocka_unit_test(equal_times_in_several_chunks_come_by_kind_too),
		cmocka_unit_test(a_chunk_that_does_not_decode_leaves_no_rows),
		cmocka_unit_test(a_seek_gives_all_events_from_that_time_on),
		cmocka_unit_test(runs_of_rows_come_in_order_with_their_times_and_numbers),
		cmocka_unit_test(what_is_asked_for_comes_and_nothing_else),
		cmocka_unit_test(what_changes_after_the_verification_is_found_unless_that_is_waived),
		cmocka_unit_test(withheld_chunks_are_passed_over),
		cmocka_unit_test(a_copy_that_cannot_be_written_is_an_error),
		cmocka_unit_test(a_copy_ends_with_the_last_whole_epoch),
		cmocka_unit_test(a_slice_keeps_each_chunk_with_a_row_inside_it),
		cmocka_unit_test(a_wish_in_the_midst_of_an_epoch_moves_no_value_to_another_row),
		cmocka_unit_test(a_hole_between_events_is_a_redaction),
		cmocka_unit_test(the_earliest_fault_decides_on_any_number_of_threads),
		cmocka_unit_test(wall_clock_times_come_from_the_anchor_before),
		cmocka_unit_test(losses_are_reported_by_epoch_and_kind_with_those_of_the_end),
	};

	if (sodium_init() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
