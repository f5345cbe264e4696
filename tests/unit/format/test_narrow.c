/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Narrowing: what is withheld is gone to the byte, the rest verifies, the order of steps does not matter, and whichever
 * read, write, sync, rename or allocation fails, nothing that is half stands under the output's name.
 */
#undef _FORTIFY_SOURCE /* see faults.h */
#include "tests/unit/faults.h"
#include "tests/unit/made.h"
#include "tests/unit/sample.h"

#include <dirent.h>

#include "format/layout.h"
#include "replay/export/exporter.h"
#include "replay/narrowed.h"
#include "format/base/output_file.h"

/*
 * The rows of each epoch: of every kind in format/kinds.h that any part of the recorder may report, and of two that
 * fire, from the list itself. Every text of each is a mark of its kind, field and epoch.
 */
struct row {
	const struct kind *kind;
	uint8_t texts[FIELDS_MAX]; /* fields */
	unsigned ntexts;
};

static struct schema schema;
static struct row rows[KINDS_MAX];
static size_t nrows;

#define NEPOCHS 3u
#define CLASS_BIT(id, name) | 1u << (id)
#define ALL_CLASSES (0u CLASSES(CLASS_BIT))
#define NCLASSES 7u /* from 1 on, without a gap */

static void list_rows(void)
{
	struct fault why;

	assert_int_equal(schema_build(&schema, sample_probes, SAMPLE_NPROBES, &why), 0);
	nrows = 0;
	for (size_t i = 0; i < schema.nkinds; i++) {
		const struct kind *k = &schema.kinds[i];
		struct row *row = &rows[nrows];

		*row = (struct row){.kind = k};
		for (uint8_t f = 0; f < k->nfields; f++)
			if (k->fields[f].encoding == ENC_TEXT)
				row->texts[row->ntexts++] = f;
		/* What fires needs a probe and counters: two of them will do, as long as no such kind has a text. */
		assert_true(!(k->flags & KIND_COUNTED) || row->ntexts == 0);
		nrows += !(k->flags & KIND_COUNTED) || k->id == KIND_launch || k->id == KIND_switch;
	}
}

/* Of letters without a pattern, so that LZ4 leaves them as they are, but for those at both ends by chance. */
static const char *mark_of(char buf[32], size_t row, unsigned text, unsigned epoch)
{
	uint64_t x = (row * 64 + text * 8 + epoch + 1) * 0x9e3779b97f4a7c15u;

	for (unsigned i = 0; i < 16; i++) {
		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		buf[i] = (char)('A' + x % 58);
	}
	buf[16] = '\0';
	return buf;
}

static void add_row(struct writer *w, size_t i, uint64_t at_ns, unsigned epoch)
{
	uint64_t v[FIELDS_MAX] = {at_ns, 100, 101 + epoch, 0, 17, 20};
	const char *text[FIELDS_MAX] = {NULL};
	char marks[FIELDS_MAX][32];
	struct fault why;

	for (unsigned t = 0; t < rows[i].ntexts; t++) {
		uint8_t field = rows[i].texts[t];

		text[field] = mark_of(marks[t], i, t, epoch);
		v[field] = strlen(text[field]);
	}
	assert_int_equal(writer_add(w, rows[i].kind->id, v, text, &why), 0);
}

static void make_capture(struct memory_sink *m)
{
	struct identity id = sample_identity(1);
	struct clock_anchor anchor = sample_anchor(SAMPLE_BOOT);
	struct self_stats self = {0};
	struct counter counters[4];
	struct writer *w;
	struct fault why;

	assert_int_equal(writer_open(&w, memory_sink_of(m), &id, sample_probes, SAMPLE_NPROBES, &anchor, &why), 0);
	for (unsigned e = 0; e < NEPOCHS; e++) {
		uint64_t n = e + 1;

		for (size_t i = 0; i < nrows; i++)
			add_row(w, i, SAMPLE_BOOT + e * SAMPLE_SECOND + 100 + i, e);
		counters[0] = (struct counter){1, COUNTER_fired, n};
		counters[1] = (struct counter){1, COUNTER_recorded, n};
		counters[2] = (struct counter){20, COUNTER_fired, n};
		counters[3] = (struct counter){20, COUNTER_recorded, n};
		anchor = sample_anchor(SAMPLE_BOOT + n * SAMPLE_SECOND);
		assert_int_equal(writer_seal(w, anchor.boot_ns, &anchor, &self, counters, 4, &why), 0);
	}
	assert_int_equal(writer_end(w, REASON_duration, NULL, &anchor, counters, 4, &why), 0);
	writer_close(w);
}

/* Narrow bytes to bytes. How many chunks went. */
static uint64_t narrow_bytes(const struct bytes *in, const struct narrowing *plan, struct memory_sink *out)
{
	struct source src;
	struct reader r;
	struct fault why;
	uint64_t n;

	source_open_memory(&src, in->data, in->len);
	assert_int_equal(reader_open(&r, &src, &why), 0);
	assert_int_equal(narrow(&r, plan, memory_sink_of(out), &n, &why), 0);
	reader_close(&r);
	return n;
}

static bool holds(const struct bytes *b, const void *what, size_t n)
{
	return memmem(b->data, b->len, what, n) != NULL;
}

/* Of each chunk of the whole: if it was to go, neither salt nor frame is left, else both are. How many went. */
static uint64_t check_chunks(const struct bytes *whole, const struct narrowing *plan, const struct bytes *part)
{
	struct source src;
	struct reader r;
	struct fault why;
	uint64_t gone = 0;

	source_open_memory(&src, whole->data, whole->len);
	assert_int_equal(reader_open(&r, &src, &why), 0);
	for (uint64_t e = 0; e < r.nepochs; e++) {
		for (uint32_t i = 0; i < r.epochs[e].nchunks; i++) {
			const struct chunk *c = &r.epochs[e].chunks[i];
			const uint8_t *frame = whole->data + c->offset + FRAME_HEAD_BYTES + CHUNK_BYTES;
			bool kept = !narrowing_withholds(plan, c);

			assert_int_equal(holds(part, c->salt, SALT_BYTES), kept);
			assert_int_equal(holds(part, frame, c->packed_bytes), kept);
			/* What LZ4 packed: behind the frame's head, which all have; before its checksum. */
			assert_int_equal(holds(part, frame + 19, c->packed_bytes - 19 - 12), kept);
			assert_true(holds(part, c->commitment, HASH_BYTES));
			gone += !kept;
		}
	}
	reader_close(&r);
	return gone;
}

static void check_marks(const struct narrowing *plan, const struct bytes *part)
{
	char mark[32];

	for (size_t i = 0; i < nrows; i++)
		for (unsigned e = 0; e < NEPOCHS; e++)
			for (unsigned t = 0; t < rows[i].ntexts; t++)
				assert_int_equal(holds(part, mark_of(mark, i, t, e) + 3, 10),
						 !(plan->classes >> rows[i].kind->class & 1));
}

static enum verdict want_verdict(const struct narrowing *plan)
{
	if (plan->classes & ALL_CLASSES)
		return VERDICT_OK_REDACTED;
	return plan->from_ns == 0 && plan->to_ns == UINT64_MAX ? VERDICT_OK : VERDICT_OK_SLICE;
}

static void every_class_has_a_kind_and_all_but_events_have_texts(void **state)
{
	uint32_t classes = 0, texts = 0;

	(void)state;
	for (size_t i = 0; i < nrows; i++) {
		classes |= 1u << rows[i].kind->class;
		texts |= rows[i].ntexts ? 1u << rows[i].kind->class : 0;
	}
	assert_int_equal(classes, ALL_CLASSES);
	assert_int_equal(texts, ALL_CLASSES & ~(1u << CLASS_events));
	assert_int_equal(ALL_CLASSES, (2u << NCLASSES) - 2);
}

static void of_what_is_withheld_neither_salt_nor_content_is_left(void **state)
{
	static const uint64_t times[][2] = {{0, UINT64_MAX},
					    {SAMPLE_BOOT + SAMPLE_SECOND, SAMPLE_BOOT + 2 * SAMPLE_SECOND}};
	struct memory_sink whole = {0};
	unsigned tried = 0;

	(void)state;
	make_capture(&whole);
	for (uint32_t classes = 0; classes <= ALL_CLASSES; classes += 2) {
		for (size_t t = 0; t < 2; t++) {
			struct narrowing plan = {classes, times[t][0], times[t][1], NULL, 0};
			struct memory_sink part = {0};
			struct verification v;
			uint64_t n = narrow_bytes(&whole.bytes, &plan, &part);

			assert_int_equal(check_chunks(&whole.bytes, &plan, &part.bytes), n);
			check_marks(&plan, &part.bytes);
			sample_verdict(part.bytes.data, part.bytes.len, &v);
			assert_int_equal(v.verdict, want_verdict(&plan));
			assert_int_equal(v.nwithheld, n);
			assert_int_equal(v.nevents, nrows * NEPOCHS);
			bytes_free(&part.bytes);
			tried++;
		}
	}
	assert_int_equal(tried, 2u << NCLASSES);
	bytes_free(&whole.bytes);
}

static void steps_in_any_order_give_the_same_bytes(void **state)
{
	static const uint64_t times[][2] = {
		{0, UINT64_MAX}, {SAMPLE_BOOT + SAMPLE_SECOND, UINT64_MAX}, {0, SAMPLE_BOOT + 2 * SAMPLE_SECOND}};
	struct memory_sink whole = {0};

	(void)state;
	make_capture(&whole);
	for (uint32_t pair = 0; pair < 1u << 2 * NCLASSES; pair++) {
		uint32_t a = pair % (1u << NCLASSES), b = pair >> NCLASSES, t = (a + b) % 9;
		const uint64_t *ta = times[t % 3], *tb = times[t / 3];
		struct narrowing first = {a << 1, ta[0], ta[1], NULL, 0};
		struct narrowing second = {b << 1, tb[0], tb[1], NULL, 0};
		struct narrowing both = {first.classes | second.classes, ta[0] > tb[0] ? ta[0] : tb[0],
					 ta[1] < tb[1] ? ta[1] : tb[1], NULL, 0};
		struct memory_sink one = {0}, two = {0}, once = {0};
		uint64_t n = narrow_bytes(&whole.bytes, &first, &one);

		n += narrow_bytes(&one.bytes, &second, &two);
		assert_int_equal(narrow_bytes(&whole.bytes, &both, &once), n);
		assert_int_equal(two.bytes.len, once.bytes.len);
		assert_memory_equal(two.bytes.data, once.bytes.data, once.bytes.len);
		bytes_free(&one.bytes);
		bytes_free(&two.bytes);
		bytes_free(&once.bytes);
	}
	bytes_free(&whole.bytes);
}

/* As gpureplay does it: judged, planned, written beside, checked, renamed. */
static int narrow_file(const char *in, const char *out, uint32_t withhold, uint64_t from_ns, struct fault *why)
{
	static struct filter filter;
	const struct evidence_options o = {.unverified = true, .nthreads = 1};
	struct evidence e;
	struct replay replay = {.evidence = &e, .filter = &filter, .unverified = true, .withhold = withhold};
	struct target target = {0};
	int r = evidence_judge(&e, in, &o, why);

	filter.from_ns = from_ns;
	filter.to_ns = NO_TIME;
	if (r == 0 && !evidence_acceptable(&e, &o, why))
		r = (int)why->code;
	if (r == 0)
		r = target_open(&target, out, false, 0666, why);
	if (r == 0) {
		r = narrowed_write_file(&replay, target.fd, why);
		if (r == 0)
			r = target_commit(&target, why);
		else
			target_discard(&target);
	}
	evidence_close(&e);
	return r;
}

static unsigned count_files(const char *folder)
{
	DIR *d = opendir(folder);
	unsigned n = 0;

	assert_non_null(d);
	for (struct dirent *f; (f = readdir(d));)
		n += strcmp(f->d_name, ".") != 0 && strcmp(f->d_name, "..") != 0;
	closedir(d);
	return n;
}

/* A folder of its own with in.cap; the trust store is an empty one elsewhere. */
static void make_input(const struct bytes *b)
{
	char *folder = made_path("n");

	assert_true(mkdir(folder, 0700) == 0 || errno == EEXIST);
	setenv("GPUREC_HOME", made_path("home"), 1);
	made_write(made_path("n/in.cap"), b->data, b->len);
}

static void check_result(int r, const struct bytes *want, const struct fault *why)
{
	bool there = access(made_path("n/out.cap"), F_OK) == 0;
	char *got;
	size_t n;

	if (r < 0)
		assert_true(why->text[0] != '\0');
	else
		assert_true(there);
	assert_int_equal(count_files(made_path("n")), 1 + there); /* no temporary one */
	if (!there)
		return;
	/* Once it has its name it is whole, also when what comes after (bringing the folder to disk) fails. */
	got = made_read(made_path("n/out.cap"), &n);
	assert_int_equal(n, want->len);
	assert_memory_equal(got, want->data, n);
	free(got);
	unlink(made_path("n/out.cap"));
}

static void survive_each_fault(enum sort sort, unsigned at_least)
{
	struct narrowing plan = {1u << CLASS_process | 1u << CLASS_path, SAMPLE_BOOT + SAMPLE_SECOND, UINT64_MAX, NULL,
				 0};
	struct memory_sink whole = {0}, want = {0};
	unsigned long n, errors = 0;
	struct fault why;
	int r;

	make_capture(&whole);
	narrow_bytes(&whole.bytes, &plan, &want);
	make_input(&whole.bytes);
	for (n = 1;; n++) {
		char *in = made_path("n/in.cap"), *out = made_path("n/out.cap");

		why.text[0] = '\0';
		arm(sort, n);
		r = narrow_file(in, out, plan.classes, plan.from_ns, &why);
		disarm();
		check_result(r, &want.bytes, &why);
		if (!atomic_load(&failed))
			break;
		errors += r < 0;
		/* Threads that could not be started are done without; anything else that fails is reported. */
		assert_true(r < 0 || sort == OF_MEMORY);
	}
	assert_int_equal(r, 0);
	assert_true(errors >= at_least);
	print_message("# %lu faults, %lu of them errors\n", n - 1, errors);
	bytes_free(&whole.bytes);
	bytes_free(&want.bytes);
}

static void whatever_read_write_sync_or_rename_fails_nothing_half_is_left(void **state)
{
	(void)state;
	survive_each_fault(OF_IO, 40);
}

/* Open, verify and walk a narrowed capture in a file: the first error, or 0. */
static int use_file(const char *path, unsigned *nevents)
{
	struct verification v;
	struct cursor *cur = NULL;
	struct source src;
	struct reader r;
	struct event ev;
	struct fault why;
	int ret = source_open_file(&src, path, &why);

	*nevents = 0;
	if (ret < 0)
		return ret;
	ret = reader_open(&r, &src, &why);
	if (ret < 0)
		goto out;
	verify(&r, 1, &v);
	if (v.verdict == VERDICT_UNCHECKED)
		ret = (int)v.why.code;
	else
		assert_int_equal(v.verdict, VERDICT_OK_REDACTED);
	if (ret == 0)
		ret = cursor_open(&cur, &r, false, &why);
	while (ret == 0 && (ret = cursor_next(cur, &ev, &why)) > 0) {
		++*nevents;
		ret = 0;
		if (ev.kind == KIND_process || ev.kind == KIND_thread)
			fail_msg("a withheld row was given");
	}
	cursor_close(cur);
	reader_close(&r);
out:
	source_close(&src);
	return ret;
}

static void use_despite_each_fault(enum sort sort, int error, unsigned at_least)
{
	struct narrowing plan = {1u << CLASS_process, 0, UINT64_MAX, NULL, 0};
	struct memory_sink whole = {0}, part = {0};
	unsigned want, got;
	unsigned long n;

	make_capture(&whole);
	narrow_bytes(&whole.bytes, &plan, &part);
	make_input(&part.bytes);
	assert_int_equal(use_file(made_path("n/in.cap"), &want), 0);
	for (n = 1;; n++) {
		char *in = made_path("n/in.cap");
		int r;

		arm(sort, n);
		r = use_file(in, &got);
		disarm();
		if (!atomic_load(&failed)) {
			assert_int_equal(r, 0);
			assert_int_equal(got, want);
			break;
		}
		assert_int_equal(r, error);
	}
	assert_true(n > at_least);
	bytes_free(&whole.bytes);
	bytes_free(&part.bytes);
}

static void whatever_read_fails_a_narrowed_capture_gets_no_wrong_verdict(void **state)
{
	(void)state;
	use_despite_each_fault(OF_IO, ERR_IO, 20);
}

#ifdef CAN_FAIL_MALLOC
static void whatever_allocation_fails_nothing_half_is_left(void **state)
{
	(void)state;
	survive_each_fault(OF_MEMORY, 20);
}

static void whatever_allocation_fails_a_narrowed_capture_gets_no_wrong_verdict(void **state)
{
	(void)state;
	use_despite_each_fault(OF_MEMORY, ERR_MEMORY, 10);
}

/* A thread without memory has inspected nothing: what it should have inspected must not pass for good. */
static void whatever_allocation_fails_on_any_thread_no_epoch_passes_unseen(void **state)
{
	struct memory_sink whole = {0};
	struct verification v;
	struct source src;
	struct reader r;
	struct fault why;
	unsigned long n;

	(void)state;
	make_capture(&whole);
	source_open_memory(&src, whole.bytes.data, whole.bytes.len);
	assert_int_equal(reader_open(&r, &src, &why), 0);
	for (unsigned nthreads = 1; nthreads <= 4; nthreads++) {
		for (n = 1;; n++) {
			arm(OF_MEMORY, n);
			verify(&r, nthreads, &v);
			disarm();
			if (v.verdict == VERDICT_OK) {
				assert_int_equal(v.nepochs, NEPOCHS);
				assert_int_equal(v.why.code, ERR_NONE);
			} else {
				assert_int_equal(v.verdict, VERDICT_UNCHECKED);
				assert_int_equal(v.why.code, ERR_MEMORY);
				assert_true(atomic_load(&failed) && v.nepochs < NEPOCHS);
			}
			if (!atomic_load(&failed))
				break;
		}
		assert_int_equal(v.verdict, VERDICT_OK);
		assert_true(n > 3);
	}
	reader_close(&r);
	bytes_free(&whole.bytes);
}
#endif

static void a_capture_that_changes_meanwhile_gives_no_copy(void **state)
{
	const struct evidence_options o = {.unverified = true, .nthreads = 1};
	struct filter filter = {.to_ns = NO_TIME};
	struct memory_sink whole = {0};
	struct evidence e;
	struct replay replay = {.evidence = &e, .filter = &filter, .withhold = 1u << CLASS_path};
	struct fault why;
	FILE *f;
	int fd;

	(void)state;
	make_capture(&whole);
	make_input(&whole.bytes);
	assert_int_equal(evidence_judge(&e, made_path("n/in.cap"), &o, &why), 0);
	assert_int_equal(e.verification.verdict, VERDICT_UNTRUSTED);
	f = fopen(made_path("n/in.cap"), "r+b");
	assert_non_null(f);
	assert_int_equal(
		fseek(f, (long)e.reader.epochs[0].chunks[0].offset + FRAME_HEAD_BYTES + CHUNK_BYTES + 20, SEEK_SET), 0);
	assert_int_equal(fputc('x', f), 'x');
	fclose(f);
	fd = open(made_path("n/new.cap"), O_RDWR | O_CREAT | O_EXCL, 0600);
	assert_int_equal(narrowed_write_file(&replay, fd, &why), ERR_FORGED);
	close(fd);
	assert_non_null(strstr(why.text, "changed while it was read"));
	unlink(made_path("n/new.cap"));
	evidence_close(&e);
	bytes_free(&whole.bytes);
}

static void only_of_authentic_captures_narrower_ones_are_made(void **state)
{
	static const struct {
		enum verdict verdict;
		int error;
	} cases[] = {{VERDICT_OK, 0},
		     {VERDICT_OK_SLICE, 0},
		     {VERDICT_OK_REDACTED, 0},
		     {VERDICT_UNSEALED, 0},
		     {VERDICT_UNTRUSTED, 0},
		     {VERDICT_UNCHECKED, ERR_IO},
		     {VERDICT_MALFORMED, ERR_FORMAT},
		     {VERDICT_FORGED, ERR_FORGED}};
	struct filter filter = {.to_ns = NO_TIME};
	struct memory_sink whole = {0};
	struct evidence e = {.readable = true};
	struct replay replay = {.evidence = &e, .filter = &filter, .unverified = true, .withhold = 1u << CLASS_path};
	struct narrowed n;
	char sentence[512], want[512];
	size_t first = 0, last = 0;
	unsigned of_path = 0;
	struct fault why;

	(void)state;
	make_capture(&whole);
	source_open_memory(&e.source, whole.bytes.data, whole.bytes.len);
	assert_int_equal(reader_open(&e.reader, &e.source, &why), 0);
	e.verification.nepochs = NEPOCHS;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		e.verification.verdict = cases[i].verdict;
		assert_int_equal(narrowed_plan(&n, &replay, &why), cases[i].error);
		if (cases[i].error)
			assert_non_null(strstr(why.text, "not even with --unverified"));
		else
			assert_int_equal(n.nwithheld, NEPOCHS);
	}
	e.verification.verdict = VERDICT_OK;
	assert_int_equal(narrowed_plan(&n, &replay, &why), 0);
	assert_false(narrowed_describe(&n, 0, sentence, sizeof(sentence)));
	assert_true(narrowed_describe(&n, 2, sentence, sizeof(sentence)));
	for (size_t i = 0; i < nrows; i++) {
		if (rows[i].kind->class != CLASS_path)
			continue;
		first = of_path++ == 0 ? i : first;
		last = i;
	}
	assert_true(of_path > 1);
	snprintf(want, sizeof(want),
		 "withheld from path: %u rows in 3 chunks of epochs 0 to 2, from +0.000000%zu s to +2.000000%zu s",
		 of_path * NEPOCHS, 100 + first, 100 + last);
	assert_string_equal(sentence, want);
	assert_false(narrowed_describe_kept(&n, sentence, sizeof(sentence)));
	filter.from_ns = SAMPLE_BOOT + 50 * SAMPLE_SECOND;
	assert_int_equal(narrowed_plan(&n, &replay, &why), ERR_INPUT);
	e.reader.tail = TAIL_CUT;
	e.verification.nepochs = 0;
	assert_int_equal(narrowed_plan(&n, &replay, &why), ERR_FORMAT);
	reader_close(&e.reader);
	bytes_free(&whole.bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_class_has_a_kind_and_all_but_events_have_texts),
		cmocka_unit_test(of_what_is_withheld_neither_salt_nor_content_is_left),
		cmocka_unit_test(steps_in_any_order_give_the_same_bytes),
		cmocka_unit_test(whatever_read_write_sync_or_rename_fails_nothing_half_is_left),
		cmocka_unit_test(whatever_read_fails_a_narrowed_capture_gets_no_wrong_verdict),
#ifdef CAN_FAIL_MALLOC
		cmocka_unit_test(whatever_allocation_fails_nothing_half_is_left),
		cmocka_unit_test(whatever_allocation_fails_a_narrowed_capture_gets_no_wrong_verdict),
		cmocka_unit_test(whatever_allocation_fails_on_any_thread_no_epoch_passes_unseen),
#endif
		cmocka_unit_test(a_capture_that_changes_meanwhile_gives_no_copy),
		cmocka_unit_test(only_of_authentic_captures_narrower_ones_are_made),
	};

	if (sodium_init() < 0)
		return 1;
	list_rows();
	return cmocka_run_group_tests(tests, NULL, made_clear);
}
