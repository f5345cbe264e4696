/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A capture that verifies, with rows of every kind whose numbers and texts are the fuzzer's, through everything that
 * the tools print: the verdict, each exporter, the four forms of the report. Nothing breaks, and what comes out is what
 * it is called: JSON, a page without scripts, text that does not steer a terminal, cells that no spreadsheet runs.
 *
 * The input is a stream of choices; where it ends, so do the rows.
 */
#include <fcntl.h>
#include <sqlite3.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/unit/sample.h"

#include "analyze/pass.h"
#include "analyze/report/report.h"
#include "format/base/utf8.h"
#include "keys/minisign.h"
#include "replay/export/exporter.h"
#include "replay/verify/verdict.h"
#include "tests/fuzz/fuzz.h"

#define ROWS_MAX 150
#define EPOCH_ROWS 50
#define PROBES_FROM 64

/* An input takes some 20 ms. */
const unsigned fuzz_mutations = 100;

struct choices {
	const uint8_t *bytes;
	size_t n;
};

static uint8_t choose(struct choices *c)
{
	c->n -= c->n > 0;
	return c->n ? *c->bytes++ : 0;
}

static const char *const texts[] = {
	"trainer",
	"cudaLaunchKernel",
	"",
	"\033]0;owned\a\033[2J\x9b"
	"31m",
	"<script>alert(1)</script>",
	"]]><!--&amp;\"'/>",
	"'; DROP TABLE event;--",
	"=HYPERLINK(\"http://x\")",
	"x;=1+2",
	"\t@SUM(1)",
	"\xef\xbc\x9d"
	"1",
	"\xff\xc0\x80 %n%s%1000000d",
	"a\r\nb\rc\n",
	"\xe2\x80\xae"
	"txt.exe\xe2\x81\xa6",
	"\xed\xa0\x80\xf4\x90\x80\x80",
	"\\u0000\\\"\\",
	"{\"a\":[",
	"_ZN3fooIiLi3EE3barEPKcRSt6vectorIS_SaIS_EE",
	"/usr/lib/../../etc/passwd",
	"(null)",
};

/* Small numbers, so that rows have to do with each other, and those that overflow what adds them up. */
static uint64_t number(struct choices *c)
{
	static const uint64_t edges[] = {UINT64_MAX, UINT64_MAX - 1,    INT64_MAX,   (uint64_t)INT64_MIN, UINT32_MAX,
					 INT32_MAX,  UINT64_C(1) << 32, SAMPLE_BOOT, SAMPLE_BOOT + 5,     1000000000000,
					 65536,      0x110000};
	uint8_t b = choose(c);

	if (b < 200)
		return b % 12;
	if (b < 230)
		return edges[b % (sizeof(edges) / sizeof(edges[0]))];
	return (uint64_t)choose(c) << (b % 8 * 8) | choose(c);
}

/* A text of the table, or some of the input itself. */
static const char *text(struct choices *c, uint64_t *len)
{
	uint8_t b = choose(c);
	const char *t = texts[b % (sizeof(texts) / sizeof(texts[0]))];

	*len = strlen(t);
	if (b >= 200 && c->n > 32) {
		t = (const char *)c->bytes;
		*len = b % 32;
		c->bytes += *len;
		c->n -= *len;
	}
	return t;
}

static struct schema schema;
static struct probe probes[KINDS_MAX];
static size_t nprobes; /* one for each counted kind */

static void learn_kinds(void)
{
	struct schema bare = {0};
	struct fault why;

	if (nprobes)
		return;
	MUST(sodium_init() >= 0 && setenv("GPUREC_HOME", "/nonexistent", 1) == 0);
	MUST(schema_build(&bare, NULL, 0, &why) == 0);
	for (size_t k = 0; k < bare.nkinds; k++)
		if (bare.kinds[k].flags & KIND_COUNTED) {
			struct probe *p = &probes[nprobes];

			snprintf(p->name, sizeof(p->name), "cuda%.50s", bare.kinds[k].name);
			p->id = (uint16_t)(PROBES_FROM + nprobes++);
			p->kind = bare.kinds[k].id;
		}
	schema_clear(&bare);
	MUST(schema_build(&schema, probes, nprobes, &why) == 0);
}

static void add_row(struct writer *w, struct choices *c, uint64_t begin_ns, uint64_t *recorded)
{
	const struct kind *k = &schema.kinds[choose(c) % schema.nkinds];
	uint64_t v[FIELDS_MAX] = {0};
	const char *t[FIELDS_MAX] = {NULL};
	struct fault why;

	for (unsigned f = 1; f < k->nfields; f++) {
		if (k->fields[f].encoding == ENC_TEXT)
			t[f] = text(c, &v[f]);
		else
			v[f] = number(c);
	}
	if ((k->flags & KIND_CALL) == KIND_CALL && choose(c) < 200)
		v[F_call_probe] = PROBES_FROM + choose(c) % nprobes;
	v[0] = begin_ns + choose(c) * UINT64_C(1000000) + choose(c);
	MUST(writer_add(w, k->id, v, t, &why) == 0);
	for (size_t p = 0; p < nprobes; p++)
		recorded[p] += probes[p].kind == k->id;
}

/* What is counted of each kind; of the first one some were lost. */
static size_t count(struct counter *counters, const uint64_t *recorded)
{
	size_t n = 0;

	for (size_t p = 0; p < nprobes; p++) {
		uint16_t id = probes[p].id;

		if (recorded[p] || p == 0)
			counters[n++] = (struct counter){id, COUNTER_fired, recorded[p] + (p ? 0 : 3)};
		if (recorded[p])
			counters[n++] = (struct counter){id, COUNTER_recorded, recorded[p]};
		if (p == 0)
			counters[n++] = (struct counter){id, COUNTER_ring_full, 3};
	}
	return n;
}

static void make_capture(struct memory_sink *m, struct choices *c)
{
	struct identity id = sample_identity(1);
	struct clock_anchor anchor = sample_anchor(SAMPLE_BOOT);
	struct self_stats self = {1, 2, 3, 4};
	struct counter counters[3 * KINDS_MAX];
	uint64_t recorded[KINDS_MAX] = {0}, begin = SAMPLE_BOOT;
	struct writer *w = NULL;
	struct fault why;

	MUST(writer_open(&w, memory_sink_of(m), &id, probes, nprobes, &anchor, &why) == 0);
	do {
		for (unsigned i = 0; i < EPOCH_ROWS && c->n; i++)
			add_row(w, c, begin, recorded);
		begin += SAMPLE_SECOND;
		anchor = sample_anchor(begin);
		MUST(writer_seal(w, begin, &anchor, &self, counters, count(counters, recorded), &why) == 0);
	} while (c->n && begin < SAMPLE_BOOT + ROWS_MAX / EPOCH_ROWS * SAMPLE_SECOND);
	MUST(writer_end(w, REASON_command, NULL, &anchor, counters, count(counters, recorded), &why) == 0);
	writer_close(w);
}

static int file_of(const void *bytes, size_t n)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	MUST(fd >= 0 && write(fd, bytes, n) == (ssize_t)n && lseek(fd, 0, SEEK_SET) == 0);
	return fd;
}

/* The signer, by a file of --trust. */
static const char *trusted_key(void)
{
	static char path[64];
	char file[MINISIGN_PUBLIC_FILE_MAX];
	struct identity id = sample_identity(1);
	struct public_key pk;

	if (!path[0]) {
		key_of_identity(&pk, &id);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", file_of(file, minisign_format_public(file, &pk)));
	}
	return path;
}

/* --- what came out --- */

enum form { TEXT, JSON, JSON_LINES, PAGE, CELLS };

static void must_be_json(const char *s, size_t n)
{
	static sqlite3 *db;
	static sqlite3_stmt *ask;

	MUST(db || (sqlite3_open(":memory:", &db) == SQLITE_OK &&
		    sqlite3_prepare_v2(db, "SELECT json_valid(?1)", -1, &ask, NULL) == SQLITE_OK));
	MUST(sqlite3_bind_text(ask, 1, s, (int)n, SQLITE_STATIC) == SQLITE_OK && sqlite3_step(ask) == SQLITE_ROW);
	MUST(sqlite3_column_int(ask, 0) == 1);
	sqlite3_reset(ask);
}

/* UTF-8 without what steers a terminal or turns the direction of what is read. */
static void must_be_harmless(const char *s, size_t n)
{
	const uint8_t *at = (const uint8_t *)s, *end = at + n;

	while (at < end) {
		uint32_t c;
		size_t took = utf8_decode((const char *)at, (size_t)(end - at), &c);

		MUST(took > 0);
		at += took;
		MUST((c >= 0x20 || c == '\n' || c == '\t') && (c < 0x7f || c > 0x9f));
		MUST(c != 0x200e && c != 0x200f && (c < 0x202a || c > 0x202e) && (c < 0x2066 || c > 0x2069));
	}
}

static void must_have_no_script(const char *s, size_t n)
{
	static const char *const bad[] = {"<script", "javascript:", "<!--<", "onload=\"", "onerror=\""};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		MUST(!memmem(s, n, bad[i], strlen(bad[i])));
}

/* Nothing that begins a cell, for whichever separator, makes it a formula. */
static void must_be_no_formula(const char *s, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (s[i - 1] == ';' || s[i - 1] == ',' || s[i - 1] == '\n' ||
		    (s[i - 1] == '"' && i > 1 && s[i - 2] == ','))
			MUST(s[i] != '=' && s[i] != '@' && s[i] != '+');
}

static void check(const char *s, size_t n, enum form form)
{
	MUST(n > 0);
	must_be_harmless(s, n);
	if (form == JSON)
		must_be_json(s, n);
	for (size_t at = 0; form == JSON_LINES && at < n;) {
		const char *eol = memchr(s + at, '\n', n - at);

		MUST(eol);
		must_be_json(s + at, (size_t)(eol - s) - at);
		at = (size_t)(eol + 1 - s);
	}
	if (form == PAGE)
		must_have_no_script(s, n);
	if (form == CELLS)
		must_be_no_formula(s, n);
}

static void check_text(struct text *t, enum form form)
{
	MUST(!t->failed);
	check(text_string(t), t->len, form);
	text_clear(t);
}

static void try_verdict(const struct evidence *e)
{
	struct completeness complete;
	struct chain chain = {0};
	struct judgement j = {.path = "fuzz\033.cap", .evidence = e, .completeness = &complete, .chain = &chain};
	struct text t = {0};
	struct json json = {.out = &t, .line = true};
	char *words = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&words, &n);

	MUST(f);
	completeness_of(&complete, e);
	verdict_print(f, &j, false);
	MUST(fclose(f) == 0);
	check(words, n, TEXT);
	free(words);
	verdict_json(&json, &j);
	check_text(&t, JSON);
}

static char output[] = "/tmp/gpurec-fuzz.XXXXXX";

static void remove_output(void)
{
	unlink(output);
}

/* An empty file, with a name, as SQLite wants. */
static int output_file(void)
{
	static int fd = -1;

	if (fd < 0) {
		fd = mkstemp(output);
		MUST(fd >= 0 && atexit(remove_output) == 0);
	}
	MUST(ftruncate(fd, 0) == 0 && lseek(fd, 0, SEEK_SET) == 0);
	return fd;
}

static void try_exporter(const struct exporter *x, const struct replay *replay)
{
	int fd = output_file();
	struct fault why;
	off_t size;
	char *bytes;

	if (x->write_file(replay, fd, &why) != 0) {
		fprintf(stderr, "%s: %s\n", x->suffix, why.text);
		abort();
	}
	size = lseek(fd, 0, SEEK_END);
	bytes = size > 0 ? mmap(NULL, (size_t)size, PROT_READ, MAP_SHARED, fd, 0) : NULL;
	MUST(bytes != MAP_FAILED);
	/* Folded stacks may be none. */
	if (!strcmp(x->suffix, ".txt"))
		check(bytes, (size_t)size, TEXT);
	else if (!strcmp(x->suffix, ".jsonl") || !strcmp(x->suffix, ".otlp.json"))
		check(bytes, (size_t)size, JSON_LINES);
	else if (!strcmp(x->suffix, ".csv"))
		check(bytes, (size_t)size, CELLS);
	else if (strstr(x->suffix, ".folded") && size)
		check(bytes, (size_t)size, TEXT);
	else if (!strcmp(x->suffix, ".cap"))
		MUST(sample_verdict((const uint8_t *)bytes, (size_t)size, NULL) <= VERDICT_OK_REDACTED);
	if (bytes)
		munmap(bytes, (size_t)size);
}

static void try_exporters(const struct evidence *e, uint8_t which)
{
	static struct filter all = {.to_ns = NO_TIME};
	struct replay replay = {.evidence = e,
				.filter = &all,
				.clock = which % 3,
				.ascii = which & 8,
				.withhold = (uint32_t)which << 1 & 0xf6};

	for (const struct exporter *x = exporters(); x->suffix; x++) {
		/* A database takes as long as all others together; ".json" is ".jsonl". */
		if (strcmp(x->suffix, ".json") && (strcmp(x->suffix, ".db") || which % 4 == 0))
			try_exporter(x, &replay);
	}
}

static void try_reports(const struct evidence *e, const struct evidence_options *o)
{
	static struct user_rules none;
	struct settings settings;
	const struct pass_options options = {.evidence = o, .settings = &settings, .rules = &none};
	struct report r = {.evidence = e, .settings = &settings};
	struct json json = {0};
	struct html html = {0};
	struct text t = {0};
	struct pass p = {0};
	struct fault why;

	settings_default(&settings);
	MUST(pass_run(&p, "fuzz.cap", e, &options, &why) == 0);
	r.engine = p.engine;
	r.findings = &p.findings;
	r.custody = &p.custody;
	r.gauges = &p.gauges;
	report_text(&r, &t);
	check_text(&t, TEXT);
	json.out = &t;
	report_json_begin(&json);
	report_json(&r, &json);
	report_json_end(&json);
	check_text(&t, JSON);
	json = (struct json){.out = &t};
	report_sarif_begin(&json);
	report_sarif(&r, &json);
	report_sarif_end(&json);
	check_text(&t, JSON);
	html.out = &t;
	report_html_begin(&html, &r);
	report_html(&r, 1, &html);
	report_html_end(&html);
	check_text(&t, PAGE);
	pass_clear(&p);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	struct choices c = {bytes, n};
	const char *const trust[] = {trusted_key()};
	struct memory_sink m = {0};
	struct evidence_options o = {.trust_files = trust, .ntrust_files = 1, .nthreads = 1};
	struct evidence e;
	struct fault why;
	uint8_t which;

	learn_kinds();
	which = choose(&c);
	make_capture(&m, &c);
	o.fd = file_of(m.bytes.data, m.bytes.len);
	MUST(evidence_judge(&e, "fuzz.cap", &o, &why) == 0);
	MUST(e.verification.verdict == VERDICT_OK);
	try_verdict(&e);
	try_exporters(&e, which);
	try_reports(&e, &o);
	evidence_close(&e);
	close(o.fd);
	bytes_free(&m.bytes);
	return 0;
}

unsigned fuzz_seeds(void (*give)(void *arg, const uint8_t *bytes, size_t n), void *arg)
{
	static const size_t lengths[] = {0, 200, 1200, 4000};
	uint8_t bytes[4000];
	uint64_t x = 1;

	for (size_t i = 0; i < sizeof(bytes); i++) {
		x = x * UINT64_C(6364136223846793005) + 1442695040888963407u;
		bytes[i] = (uint8_t)(x >> 33);
	}
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
		give(arg, bytes, lengths[i]);
	return sizeof(lengths) / sizeof(lengths[0]);
}
