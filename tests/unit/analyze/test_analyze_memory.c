// SPDX-License-Identifier: Apache-2.0
/*
 * Memory that ends while rules judge: whichever allocation fails, the analysis ends with ERR_MEMORY and a sentence.
 * Memory that ends while the report is written: it is the same to the byte, or is said to have failed. Nothing is
 * missing from a report in silence.
 */
#undef _FORTIFY_SOURCE
#include "analyze/facts/gpu_gauges.h"
#include "analyze/report/report_formats.h"
#include "tests/unit/faults.h"
#include "tests/unit/feed.h"

#define RULES_THAT_SPEAK                                                                                               \
	"alloc-churn", "alloc-leak", "failed-call", "futex-stall", "launch-gap", "launch-latency", "memcpy-pageable",  \
		"memcpy-sync", "oom", "straggler", "sync-stall", "throttle", "xid"

#define LOCK 0x7f0000001000

static struct feed feed;
static uint64_t now_ns;

static int row(uint16_t kind, unsigned n, const uint64_t *values, struct fault *why)
{
	struct event ev = event_made(kind, schema_kind(&feed.schema, kind), values[0]);

	memcpy(event_room(&ev)->v, values, n * sizeof(values[0]));
	if (kind == KIND_xid) {
		event_set_text(&ev, F_xid_pci, "0000:01:00.0");
		event_set_text(&ev, F_xid_text, "Ch 00000008, <an engine> exception");
	}
	return engine_feed(feed.engine, &ev, why);
}

#define ROW(kind, ...)                                                                                                 \
	do {                                                                                                           \
		const uint64_t row_v[] = {__VA_ARGS__};                                                                \
		int row_r = row((kind), sizeof(row_v) / sizeof(row_v[0]), row_v, why);                                 \
		if (row_r < 0)                                                                                         \
			return row_r;                                                                                  \
	} while (0)

/* A call that ends now. The values of its kind follow. */
#define CALL(kind, tid, dur, probe, ret, flags, ...)                                                                   \
	ROW(kind, now_ns, (uint64_t)(tid) / 100 * 100, tid, 0, dur, probe, (uint64_t)(ret), flags, __VA_ARGS__)

static int launch_and_wait(struct fault *why)
{
	ROW(KIND_process, T0, 100, T0 - MS, 1, 0, true);
	ROW(KIND_thread, T0, 101, 100, T0 - MS);
	for (unsigned i = 0; i < 40; i++) {
		now_ns += MS;
		CALL(KIND_launch, 101, 10 * US, PROBE_launch, 0, 0, 0x1000);
	}
	for (unsigned i = 0; i < 4; i++) {
		now_ns += 30 * MS;
		CALL(KIND_wait, 101, 25 * MS, PROBE_wait, 0, 0, 0);
		now_ns += MS;
		CALL(KIND_launch, 101, 10 * US, PROBE_launch, 0, 0, 0x1000);
	}
	for (unsigned i = 0; i < 2; i++) {
		/* A launch that sleeps in two locks until 102 lets go of them. */
		for (unsigned lock = 0; lock < 2; lock++) {
			now_ns += 2 * MS;
			ROW(KIND_switch, now_ns, 0, 101, 1, 0);
			ROW(KIND_waking, now_ns + 20 * MS, 1, 101, 102, WAKE_TASK);
			ROW(KIND_switch, now_ns + 21 * MS, 0, 0, 0, 101);
			now_ns += 22 * MS;
			ROW(KIND_futex, now_ns, 100, 101, 0, 22 * MS, 0, 128, LOCK + 64 * lock, 2, 0);
		}
		now_ns += MS;
		CALL(KIND_launch, 101, 48 * MS, PROBE_launch, 0, 0, 0x1000);
		/* A gap in which 103 keeps it from a CPU. */
		ROW(KIND_switch, now_ns + MS, 0, 101, 0, 103);
		ROW(KIND_switch, now_ns + 22 * MS, 0, 103, 0, 101);
		now_ns += 25 * MS;
		CALL(KIND_launch, 101, MS, PROBE_launch, 0, 0, 0x1000);
	}
	return 0;
}

static int use_memory(struct fault *why)
{
	for (uint64_t i = 0; i < 40; i++) {
		now_ns += 2 * MS;
		CALL(KIND_alloc, 200, MS, PROBE_alloc, 0, 0, 4096, 0x100000 + i * 4096, 0, MEM_DEVICE, 7);
	}
	ROW(KIND_exit, now_ns, 200, 200, 0, true);
	for (unsigned i = 0; i < 8; i++) {
		now_ns += 2 * MS;
		CALL(KIND_alloc, 101, MS, PROBE_alloc, 0, 0, 64, 0x9000, 0, MEM_DEVICE, 8);
		now_ns += MS + 500;
		CALL(KIND_free, 101, MS, PROBE_free, 0, 0, 0x9000);
		now_ns += 12 * MS;
		CALL(KIND_copy, 101, 10 * MS, PROBE_copy, 0, 0, 0x100000, 0x5000, 8192, 1);
	}
	return 0;
}

static int meet_errors(struct fault *why)
{
	now_ns += MS;
	CALL(KIND_launch, 101, 10 * US, PROBE_launch, 700, CALL_NESTED, 0x1000);
	CALL(KIND_launch, 101, 20 * US, PROBE_launch, 719, 0, 0x1000);
	CALL(KIND_alloc, 101, 20 * US, PROBE_alloc, 2, 0, 1 << 30, 0, 0, MEM_DEVICE, 7);
	ROW(KIND_xid, now_ns, 31, 100);
	for (unsigned i = 0; i < 20; i++) {
		now_ns += MS;
		ROW(KIND_health, now_ns, 0, UINT64_MAX, 90, 50, 1 << 30, 300000, 80, 900, 800, UINT64_MAX, 0, i, 1800);
	}
	return 0;
}

static int meet_in_collectives(struct fault *why)
{
	for (uint64_t rank = 0; rank < 2; rank++)
		CALL(KIND_collective, rank ? 300 : 101, 10 * US, 9, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, rank, 2);
	for (unsigned i = 0; i < 8; i++) {
		now_ns += 4 * MS;
		CALL(KIND_collective, 101, 10 * US, 9, 0, 0, 1, 0, 0, 0, 1);
		now_ns += 2 * MS;
		CALL(KIND_collective, 300, 10 * US, 9, 0, 0, 1, 0, 0, 0, 1);
	}
	return 0;
}

/* What many rules find. 0 or an error; findings_clear() and engine_close() in any case. */
static int find(struct findings *found, struct fault *why)
{
	int r;

	now_ns = T0;
	feed.engine = NULL;
	r = engine_open(&feed.engine, &(struct context){.schema = &feed.schema}, &feed.settings, why);
	if (r == 0)
		r = launch_and_wait(why);
	if (r == 0)
		r = use_memory(why);
	if (r == 0)
		r = meet_errors(why);
	if (r == 0)
		r = meet_in_collectives(why);
	if (r == 0)
		r = engine_finish(feed.engine, found, why);
	return r;
}

/* All of it, as text. 0 or an error. */
static int analyse(struct text *out, struct fault *why)
{
	struct findings found = {0};
	int r = find(&found, why);

	disarm();
	for (size_t i = 0; i < found.n && r == 0; i++) {
		const struct finding *f = found.all[i];

		text_add(out, "%s %s %s | %s | %s | %s", f->rule, f->class, text_string(&f->headline),
			 text_string(&f->sure), text_string(&f->cost), text_string(&f->advice));
		for (unsigned k = 0; k < f->nfacts; k++)
			text_add(out, " %s=%llu %s", f->facts[k].key, (unsigned long long)f->facts[k].number,
				 f->facts[k].text ? f->facts[k].text : "");
		text_add(out, " %u %u %d%d%d\n", f->nfirst, f->nworst, f->hist != NULL, f->levels != NULL,
			 f->series != NULL);
	}
	findings_clear(&found);
	engine_close(feed.engine);
	return r;
}

static void prepare(void)
{
	feed_open(&feed);
	engine_close(feed.engine);
	/* Thresholds as low as they go, so that few rows make many findings. */
	for (unsigned r = 0; r < NRULES; r++)
		for (unsigned k = 0; k < rules[r]->nsettings; k++)
			feed.settings.v[r][k] = rules[r]->settings[k].min;
}

/* Whether a line begins with the rule's name. */
static bool speaks(const struct text *found, const char *rule)
{
	const char *line = text_string(found);
	size_t n = strlen(rule);

	for (; *line; line = strchr(line, '\n') + 1)
		if (strncmp(line, rule, n) == 0 && line[n] == ' ')
			return true;
	return false;
}

static void many_rules_speak(void **state)
{
	static const char *const must_speak[] = {RULES_THAT_SPEAK};
	struct text found = {0};
	struct fault why;

	(void)state;
	prepare();
	assert_int_equal(analyse(&found, &why), 0);
	for (size_t i = 0; i < sizeof(must_speak) / sizeof(must_speak[0]); i++)
		if (!speaks(&found, must_speak[i]))
			fail_msg("%s says nothing:\n%s", must_speak[i], text_string(&found));
	text_clear(&found);
	schema_clear(&feed.schema);
}

static void without_memory_nothing_is_missing_in_silence(void **state)
{
#ifdef CAN_FAIL_MALLOC
	static const char *const must_speak[] = {RULES_THAT_SPEAK};
	struct text found = {0}, sentences = {0};
	unsigned long nfaults = 0;
	struct fault why;
	char sentence[64];
	int r;

	prepare();
	for (unsigned long n = 1;; n++) {
		why.text[0] = 0;
		arm(OF_MEMORY, n);
		r = analyse(&found, &why);
		disarm();
		if (!atomic_load(&failed))
			break;
		nfaults++;
		if (r != ERR_MEMORY || !why.text[0])
			fail_msg("allocation %lu fails: %d (%s)", n, r, why.text);
		text_add(&sentences, "%s\n", why.text);
	}
	assert_true(nfaults > 400);
	for (size_t i = 0; i < sizeof(must_speak) / sizeof(must_speak[0]); i++) {
		snprintf(sentence, sizeof(sentence), "out of memory in rule %s\n", must_speak[i]);
		if (!strstr(text_string(&sentences), sentence))
			fail_msg("never: %s", sentence);
	}
	print_message("# %lu faults\n", nfaults);
	text_clear(&found);
	text_clear(&sentences);
	schema_clear(&feed.schema);
#endif
	(void)state;
}

#ifdef CAN_FAIL_MALLOC
#define FIRST_FAULTS 400 /* are all tried; of later ones every so many more */

/* A report in one form; false: it is said to have failed. */
static bool write_report(const struct report *r, enum form form, struct forms *f)
{
	memset(f, 0, sizeof(*f));
	f->wanted[form] = true;
	forms_begin(f);
	forms_add(f, r);
	return forms_end(f);
}

/* The number of faults. */
static unsigned long fail_each(const struct report *r, enum form form)
{
	struct forms whole, f;
	unsigned long nfaults = 0;
	bool made;

	assert_true(write_report(r, form, &whole));
	for (unsigned long n = 1;; n += n < FIRST_FAULTS ? 1 : n / 40) {
		arm(OF_MEMORY, n);
		made = write_report(r, form, &f);
		disarm();
		if (!atomic_load(&failed))
			break;
		nfaults++;
		if (made && (f.out[form].len != whole.out[form].len ||
			     memcmp(f.out[form].s, whole.out[form].s, f.out[form].len) != 0))
			fail_msg("allocation %lu fails: another report", n);
		forms_clear(&f);
	}
	forms_clear(&f);
	forms_clear(&whole);
	return nfaults;
}
#endif

static void without_memory_no_report_is_another_one(void **state)
{
#ifdef CAN_FAIL_MALLOC
	struct evidence evidence = {0};
	struct findings found = {0};
	struct gauges gauges = {0};
	struct fault why;

	prepare();
	assert_int_equal(find(&found, &why), 0);
	evidence.reader.header.schema = feed.schema;
	for (unsigned form = 0; form < FORMS; form++) {
		unsigned long nfaults = fail_each(&(struct report){.evidence = &evidence,
								   .engine = feed.engine,
								   .findings = &found,
								   .settings = &feed.settings,
								   .gauges = &gauges},
						  form);

		print_message("# form %u: %lu faults\n", form, nfaults);
		assert_true(nfaults > 20);
	}
	findings_clear(&found);
	engine_close(feed.engine);
	schema_clear(&feed.schema);
#endif
	(void)state;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(many_rules_speak),
		cmocka_unit_test(without_memory_nothing_is_missing_in_silence),
		cmocka_unit_test(without_memory_no_report_is_another_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
