/* SPDX-License-Identifier: Apache-2.0 */
/* The chain of custody: whatever happens to its lines shows, and is distinguished. */
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "keys/custody.h"
#include "keys/files.h"
#include "tests/unit/home.h"
#include "tests/unit/sample.h"

#define NACTS 5
#define PATH "run.cap.custody"

/* A capture, judged, and a chain of NACTS acts about it. */
struct made {
	struct evidence e;
	struct custody_subject subject;
	char *text;
	size_t len, ends[NACTS + 1]; /* where each line ends; ends[0] is 0 */
};

static void put(const char *path, const void *bytes, size_t len)
{
	struct fault why;

	assert_int_equal(file_make(path, 0644, true, bytes, len, &why), 0);
}

static void make_capture(struct evidence *e, const char *path, unsigned nepochs, bool end)
{
	const struct evidence_options o = {.nthreads = 1};
	struct memory_sink m = {0};
	struct fault why;

	assert_int_equal(sample_write(&m, nepochs, end), 0);
	put(path, m.bytes.data, m.bytes.len);
	bytes_free(&m.bytes);
	assert_int_equal(evidence_judge(e, path, &o, &why), 0);
	assert_true(e->readable);
}

static char said[256]; /* why, by the last record() that failed, or the last state_of() */

static int record(const struct evidence *e, enum custody_action action, const char *who, const char *note, uint8_t seed)
{
	const struct custody_request q = {.action = action, .who = who, .note = note, .path = PATH};
	struct identity id = sample_identity(seed);
	struct custody_line l;
	struct fault why;
	int r = custody_record(&q, e, &id, &l, &why);

	if (r < 0)
		snprintf(said, sizeof(said), "%s", why.text);
	return r;
}

static char *slurp(size_t *len)
{
	char *text = malloc(CUSTODY_FILE_MAX);
	struct fault why;

	assert_non_null(text);
	assert_int_equal(file_read(PATH, FILE_PUBLIC, text, CUSTODY_FILE_MAX, len, &why), 0);
	return text;
}

static void make_chain(struct made *m)
{
	const char *eol;

	make_capture(&m->e, "run.cap", 2, true);
	m->subject = custody_subject_of(&m->e);
	for (int i = 0; i < NACTS; i++)
		assert_int_equal(record(&m->e, (enum custody_action)i, "ops", i ? "a reason" : NULL, 1), 0);
	m->text = slurp(&m->len);
	m->ends[0] = 0;
	for (int i = 0; i < NACTS; i++) {
		eol = memchr(m->text + m->ends[i], '\n', m->len - m->ends[i]);
		assert_non_null(eol);
		m->ends[i + 1] = (size_t)(eol - m->text) + 1;
	}
	assert_int_equal(m->ends[NACTS], m->len);
}

static void clear(struct made *m)
{
	free(m->text);
	evidence_close(&m->e);
}

static enum custody_state state_of(const struct made *m, const char *text, size_t len)
{
	struct custody c;
	enum custody_state s;

	custody_judge(&c, text, len, &m->subject);
	s = c.state;
	assert_true((s == CUSTODY_INTACT) == (c.why.code == ERR_NONE));
	snprintf(said, sizeof(said), "%s", s == CUSTODY_INTACT ? "" : c.why.text);
	custody_clear(&c);
	return s;
}

/* The chain made of these lines (numbers from 0). */
static enum custody_state state_of_lines(const struct made *m, const int *lines, int n)
{
	char *text = malloc(m->len * 2 + 1);
	enum custody_state s;
	size_t len = 0;

	assert_non_null(text);
	for (int i = 0; i < n; i++) {
		size_t size = m->ends[lines[i] + 1] - m->ends[lines[i]];

		memcpy(text + len, m->text + m->ends[lines[i]], size);
		len += size;
	}
	s = state_of(m, text, len);
	free(text);
	return s;
}

static void test_what_is_recorded_is_read_again(void **state)
{
	struct made m;
	struct custody c;
	struct fault why;

	(void)state;
	make_chain(&m);
	assert_int_equal(custody_read(&c, PATH, &m.subject, &why), 1);
	assert_int_equal(c.state, CUSTODY_INTACT);
	assert_int_equal(c.nlines, NACTS);
	for (size_t i = 0; i < NACTS; i++) {
		assert_int_equal(c.lines[i].number, i + 1);
		assert_int_equal(c.lines[i].action, (int)i);
		assert_string_equal(c.lines[i].who, "ops");
		assert_string_equal(c.lines[i].note, i ? "a reason" : "");
		assert_memory_equal(c.lines[i].seal, m.e.reader.end.hash, HASH_BYTES);
		assert_true(custody_has(&c, c.lines[i].hash));
		if (i > 0)
			assert_memory_equal(c.lines[i].previous, c.lines[i - 1].hash, HASH_BYTES);
	}
	assert_false(custody_has(&c, m.e.reader.end.hash));
	custody_clear(&c);
	assert_int_equal(custody_read(&c, "none.custody", &m.subject, &why), 0);
	clear(&m);
}

static void test_no_flipped_bit_leaves_the_chain_intact(void **state)
{
	struct made m;
	size_t tried = 0;

	(void)state;
	make_chain(&m);
	for (size_t i = 0; i < m.len; i++) {
		for (int bit = 0; bit < 8; bit++, tried++) {
			m.text[i] = (char)(m.text[i] ^ (1 << bit));
			if (state_of(&m, m.text, m.len) == CUSTODY_INTACT)
				fail_msg("bit %d of byte %zu flipped, and the chain is intact", bit, i);
			m.text[i] = (char)(m.text[i] ^ (1 << bit));
		}
	}
	print_message("%zu flips, none accepted\n", tried);
	assert_int_equal(state_of(&m, m.text, m.len), CUSTODY_INTACT);
	clear(&m);
}

static void test_every_cut_inside_a_line_is_seen(void **state)
{
	struct made m;
	size_t tried = 0;

	(void)state;
	make_chain(&m);
	for (size_t n = 0; n < m.len; n++) {
		bool whole = false;

		/* What no list of lines can show: --custody-head is there for it. A line's end may be missing. */
		for (int i = 1; i <= NACTS; i++)
			whole = whole || n == m.ends[i] || n + 1 == m.ends[i];
		if (whole) {
			assert_int_equal(state_of(&m, m.text, n), CUSTODY_INTACT);
			continue;
		}
		assert_int_equal(state_of(&m, m.text, n), n == 0 ? CUSTODY_MISSING : CUSTODY_CUT);
		tried++;
	}
	print_message("%zu cuts, none accepted\n", tried);
	clear(&m);
}

static void test_every_missing_line_before_the_last_is_seen(void **state)
{
	struct made m;

	(void)state;
	make_chain(&m);
	for (int gone = 1; gone < (1 << (NACTS - 1)); gone++) {
		int lines[NACTS], n = 0;

		for (int i = 0; i < NACTS; i++)
			if (!(gone >> i & 1))
				lines[n++] = i;
		assert_int_equal(state_of_lines(&m, lines, n), CUSTODY_MISSING);
	}
	clear(&m);
}

static void test_every_swap_is_reported_as_another_order(void **state)
{
	struct made m;

	(void)state;
	make_chain(&m);
	for (int a = 0; a < NACTS; a++) {
		for (int b = a + 1; b < NACTS; b++) {
			int lines[NACTS] = {0, 1, 2, 3, 4};

			lines[a] = b;
			lines[b] = a;
			assert_int_equal(state_of_lines(&m, lines, NACTS), CUSTODY_REORDERED);
		}
	}
	clear(&m);
}

static void test_a_line_that_stands_twice_is_forged(void **state)
{
	struct made m;

	(void)state;
	make_chain(&m);
	for (int twice = 0; twice < NACTS; twice++) {
		int lines[NACTS + 1], n = 0;

		for (int i = 0; i < NACTS; i++) {
			lines[n++] = i;
			if (i == twice)
				lines[n++] = i;
		}
		assert_int_equal(state_of_lines(&m, lines, n), CUSTODY_FORGED);
		assert_non_null(strstr(said, "which is in an earlier line, too"));
	}
	clear(&m);
}

/* Line `at` (from 0) replaced by `l`. */
static enum custody_state state_with(const struct made *m, size_t at, const struct custody_line *l)
{
	char line[CUSTODY_LINE_MAX], *text = malloc(m->len + CUSTODY_LINE_MAX);
	size_t n = custody_line_format(line, l), rest = m->len - m->ends[at + 1];
	enum custody_state s;

	assert_non_null(text);
	memcpy(text, m->text, m->ends[at]);
	memcpy(text + m->ends[at], line, n);
	memcpy(text + m->ends[at] + n, m->text + m->ends[at + 1], rest);
	s = state_of(m, text, m->ends[at] + n + rest);
	free(text);
	return s;
}

static void parse_line(const struct made *m, size_t at, struct custody_line *l)
{
	struct fault why;

	assert_int_equal(custody_line_parse(l, m->text + m->ends[at], m->ends[at + 1] - m->ends[at] - 1, &why), 0);
}

static void test_a_line_forged_and_signed_anew_breaks_the_links(void **state)
{
	struct identity same = sample_identity(1), other = sample_identity(2);
	struct custody_line l, next;
	struct made m;

	(void)state;
	make_chain(&m);
	for (size_t at = 0; at + 1 < NACTS; at++) {
		parse_line(&m, at, &l);
		assert_int_equal(state_with(&m, at, &l), CUSTODY_INTACT);
		strcpy(l.note, "another reason");
		assert_int_equal(state_with(&m, at, &l), CUSTODY_FORGED); /* the old signature */
		custody_line_sign(&l, &other);
		assert_int_equal(state_with(&m, at, &l), CUSTODY_FORGED); /* the next line does not follow it */
		custody_line_sign(&l, &same);
		assert_int_equal(state_with(&m, at, &l), CUSTODY_FORGED);
	}
	/* Who signs the whole rest anew makes a chain of their own: it holds, by a key that has to be trusted. */
	parse_line(&m, NACTS - 1, &next);
	strcpy(next.note, "mine");
	custody_line_sign(&next, &other);
	assert_int_equal(state_with(&m, NACTS - 1, &next), CUSTODY_INTACT);
	parse_line(&m, NACTS - 1, &l);
	assert_false(key_equal(&l.key, &next.key));
	clear(&m);
}

static void test_a_key_that_did_not_sign_cannot_be_named(void **state)
{
	struct identity other = sample_identity(2);
	struct custody_line l;
	struct made m;

	(void)state;
	make_chain(&m);
	parse_line(&m, NACTS - 1, &l);
	key_of_identity(&l.key, &other);
	assert_int_equal(state_with(&m, NACTS - 1, &l), CUSTODY_FORGED);
	parse_line(&m, NACTS - 1, &l);
	l.key.keynum[0] ^= 1;
	assert_int_equal(state_with(&m, NACTS - 1, &l), CUSTODY_FORGED);
	clear(&m);
}

static void test_a_line_of_another_capture_or_seal_is_reported(void **state)
{
	struct identity id = sample_identity(1);
	struct custody_line l;
	struct made m;

	(void)state;
	make_chain(&m);
	parse_line(&m, NACTS - 1, &l);
	l.capture_id[3] ^= 1;
	custody_line_sign(&l, &id);
	assert_int_equal(state_with(&m, NACTS - 1, &l), CUSTODY_OTHER);
	parse_line(&m, NACTS - 1, &l);
	l.seal[3] ^= 1;
	custody_line_sign(&l, &id);
	assert_int_equal(state_with(&m, NACTS - 1, &l), CUSTODY_OTHER);
	parse_line(&m, NACTS - 1, &l);
	memcpy(l.seal, m.e.reader.epochs[0].hash, HASH_BYTES); /* an act on a copy that stopped there */
	custody_line_sign(&l, &id);
	assert_int_equal(state_with(&m, NACTS - 1, &l), CUSTODY_INTACT);
	/* The end of the capture is not authentic, or gone: who signed has seen more than is left. */
	m.subject.ended = false;
	assert_int_equal(state_of(&m, m.text, m.len), CUSTODY_OTHER);
	clear(&m);
}

static void test_a_line_is_written_in_one_way_only(void **state)
{
	static const struct {
		const char *from, *to;
	} twists[] = {
		{"ops", "o%70s"},
		{"ops", ""},
		{"ops", "o\x80s"},
		{"ops", "o%00s"},
		{"ops", "o%7"},
		{"ops", "o%zzs"},
		{"a reason", "a\x01r"},
		{"custody-2\t1", "custody-2\t01"},
		{"custody-2\t1", "custody-2\t+1"},
		{"recorded", "Recorded"},
		{"recorded", "stolen"},
		{"UNTRUSTED", "FORGED"},
		{"UNTRUSTED", "UNCHECKED"},
		{"Z\t", "z\t"},
		{"\t", " "},
		{"\t", "\t\t"},
		{"\n", " \n"},
		{"\n", "\r\n"},
		{"gpurec", "gpurek"},
	};
	struct made m;

	(void)state;
	make_chain(&m);
	for (size_t i = 0; i < sizeof(twists) / sizeof(twists[0]); i++) {
		char *at = memmem(m.text, m.len, twists[i].from, strlen(twists[i].from)), *text;
		size_t before, from = strlen(twists[i].from), to = strlen(twists[i].to);

		assert_non_null(at);
		before = (size_t)(at - m.text);
		text = malloc(m.len + to);
		assert_non_null(text);
		memcpy(text, m.text, before);
		memcpy(text + before, twists[i].to, to);
		memcpy(text + before + to, at + from, m.len - before - from);
		assert_int_equal(state_of(&m, text, m.len - from + to), CUSTODY_MALFORMED);
		free(text);
	}
	clear(&m);
}

static void test_hostile_names_come_back_as_they_were(void **state)
{
	char who[CUSTODY_WHO_MAX + 1], note[CUSTODY_NOTE_MAX + 2];
	struct custody c;
	struct made m;
	struct fault why;

	(void)state;
	make_chain(&m);
	unlink(PATH);
	for (int i = 0; i < CUSTODY_WHO_MAX; i++)
		who[i] = (char)(i ? i : 1);
	who[CUSTODY_WHO_MAX] = '\0';
	memset(note, '\n', sizeof(note));
	note[CUSTODY_NOTE_MAX] = '\0';
	assert_int_equal(record(&m.e, CUSTODY_archived, who, note, 1), 0);
	assert_int_equal(custody_read(&c, PATH, &m.subject, &why), 1);
	assert_int_equal(c.state, CUSTODY_INTACT);
	assert_int_equal(c.nlines, 1);
	assert_string_equal(c.lines[0].who, who);
	assert_string_equal(c.lines[0].note, note);
	custody_clear(&c);
	note[CUSTODY_NOTE_MAX] = 'x';
	note[CUSTODY_NOTE_MAX + 1] = '\0';
	assert_int_equal(record(&m.e, CUSTODY_archived, "x", note, 1), ERR_INPUT);
	assert_int_equal(record(&m.e, CUSTODY_archived, "", NULL, 1), ERR_INPUT);
	clear(&m);
}

static void test_a_chain_whose_last_line_has_no_end_gets_one_with_the_next_act(void **state)
{
	struct custody c;
	struct made m;
	struct fault why;

	(void)state;
	make_chain(&m);
	for (size_t cr = 0; cr < 2; cr++) {
		char *copy = malloc(m.len);

		assert_non_null(copy);
		memcpy(copy, m.text, m.len);
		copy[m.len - 1] = '\r';
		put(PATH, copy, m.len - 1 + cr);
		free(copy);
		assert_int_equal(record(&m.e, CUSTODY_received, "x", NULL, 1), 0);
		assert_int_equal(custody_read(&c, PATH, &m.subject, &why), 1);
		assert_int_equal(c.state, CUSTODY_INTACT);
		assert_int_equal(c.nlines, NACTS + 1);
		custody_clear(&c);
	}
	clear(&m);
}

static void test_a_broken_chain_is_never_extended(void **state)
{
	struct made m;
	struct stat st;

	(void)state;
	make_chain(&m);
	put(PATH, m.text, m.len - 2);
	assert_int_equal(record(&m.e, CUSTODY_received, "x", NULL, 1), ERR_FORGED);
	assert_int_equal(stat(PATH, &st), 0);
	assert_int_equal(st.st_size, m.len - 2);
	put(PATH, m.text + m.ends[1], m.len - m.ends[1]);
	assert_int_equal(record(&m.e, CUSTODY_received, "x", NULL, 1), ERR_FORGED);
	put(PATH, m.text, m.ends[3]); /* a shorter chain is a chain */
	assert_int_equal(record(&m.e, CUSTODY_received, "x", NULL, 1), 0);
	unlink(PATH);
	assert_int_equal(symlink("elsewhere", PATH), 0);
	assert_int_equal(record(&m.e, CUSTODY_received, "x", NULL, 1), ERR_INPUT);
	assert_int_equal(access("elsewhere", F_OK), -1);
	clear(&m);
}

static void test_nothing_is_recorded_on_what_is_not_authentic(void **state)
{
	struct made m;

	(void)state;
	make_chain(&m);
	m.e.verification.verdict = VERDICT_FORGED;
	assert_int_equal(record(&m.e, CUSTODY_verified, "x", NULL, 1), ERR_FORGED);
	assert_non_null(strstr(said, "no act is recorded on a capture that is FORGED"));
	m.e.verification.verdict = VERDICT_MALFORMED;
	assert_int_equal(record(&m.e, CUSTODY_verified, "x", NULL, 1), ERR_FORGED);
	assert_non_null(strstr(said, "no act is recorded on a capture that is MALFORMED"));
	m.e.verification.verdict = VERDICT_UNCHECKED;
	assert_int_equal(record(&m.e, CUSTODY_verified, "x", NULL, 1), ERR_FORGED);
	assert_non_null(strstr(said, "no act is recorded on a capture that is UNCHECKED"));
	m.e.verification.verdict = VERDICT_OK;
	m.e.readable = false;
	assert_int_equal(record(&m.e, CUSTODY_verified, "x", NULL, 1), ERR_FORGED);
	m.e.readable = true;
	assert_int_equal(record(&m.e, CUSTODY_verified, "x", NULL, 1), 0);
	clear(&m);
}

static void test_processes_that_append_at_once_make_one_chain(void **state)
{
	enum { NPROCESSES = 4, NEACH = 10 };
	struct custody c;
	struct made m;
	struct fault why;
	int status;

	(void)state;
	make_chain(&m);
	for (int i = 0; i < NPROCESSES; i++) {
		pid_t pid = fork();

		assert_true(pid >= 0);
		if (pid == 0) {
			for (int k = 0; k < NEACH; k++)
				if (record(&m.e, CUSTODY_verified, "one of many", NULL, (uint8_t)(i + 1)) != 0)
					_exit(1);
			_exit(0);
		}
	}
	for (int i = 0; i < NPROCESSES; i++) {
		assert_true(wait(&status) > 0);
		assert_int_equal(status, 0);
	}
	assert_int_equal(custody_read(&c, PATH, &m.subject, &why), 1);
	assert_int_equal(c.state, CUSTODY_INTACT);
	assert_int_equal(c.nlines, NACTS + NPROCESSES * NEACH);
	custody_clear(&c);
	clear(&m);
}

static void test_limits_are_kept(void **state)
{
	size_t big = (size_t)CUSTODY_LINE_MAX + 1;
	struct custody c = {0};
	struct made m;
	struct fault why;
	char *text;

	(void)state;
	make_chain(&m);
	text = malloc(big + 1);
	assert_non_null(text);
	memset(text, 'x', big);
	memcpy(text, m.text, m.ends[1] - 1);
	text[big] = '\n';
	assert_int_equal(state_of(&m, text, big + 1), CUSTODY_MALFORMED);
	free(text);
	put(PATH, "", 0);
	assert_int_equal(truncate(PATH, (off_t)CUSTODY_FILE_MAX + 1), 0);
	assert_int_equal(custody_read(&c, PATH, &m.subject, &why), ERR_INPUT);
	unlink(PATH);
	assert_int_equal(mkfifo(PATH, 0600), 0);
	assert_int_equal(custody_read(&c, PATH, &m.subject, &why), ERR_INPUT);
	clear(&m);
}

static void test_paths_that_are_too_long_or_lead_nowhere_are_reported(void **state)
{
	static char longest[PATH_MAX + 1];
	const struct custody_subject none = {0};
	char path[PATH_MAX];
	struct custody c;
	struct made m;
	struct fault why;

	(void)state;
	make_chain(&m);
	memset(longest, 'x', PATH_MAX - strlen(CUSTODY_SUFFIX) - 1);
	assert_int_equal(custody_path(path, longest, &why), 0);
	assert_int_equal(strlen(path), PATH_MAX - 1);
	strcat(longest, "x");
	assert_int_equal(custody_path(path, longest, &why), ERR_INPUT);
	assert_non_null(strstr(why.text, "the path is too long"));
	assert_int_equal(custody_copy(longest, "part.cap", false, &why), ERR_INPUT);
	assert_int_equal(custody_copy("run.cap", longest, false, &why), ERR_INPUT);
	assert_int_equal(custody_read(&c, "run.cap/x", &none, &why), ERR_IO);
	assert_non_null(strstr(why.text, "run.cap/x: cannot be opened"));
	{
		const struct custody_request q = {.action = CUSTODY_verified, .who = "x", .path = "run.cap/x"};
		struct identity id = sample_identity(1);
		struct custody_line l;

		assert_int_equal(custody_record(&q, &m.e, &id, &l, &why), ERR_IO);
		assert_non_null(strstr(why.text, "run.cap/x: cannot be opened"));
	}
	clear(&m);
}

/* 10000 acts, signed one after the other, are a chain, and no further one is added. */
static void test_a_full_chain_is_not_extended(void **state)
{
	struct identity id = sample_identity(1);
	struct custody_line l;
	struct custody c;
	struct made m;
	struct fault why;
	char *text = malloc(1024 * (size_t)CUSTODY_LINES_MAX);
	size_t len = 0;

	(void)state;
	assert_non_null(text);
	make_chain(&m);
	parse_line(&m, 0, &l);
	for (l.number = 1; l.number <= CUSTODY_LINES_MAX; l.number++) {
		char line[CUSTODY_LINE_MAX];
		size_t n;

		custody_line_sign(&l, &id);
		n = custody_line_format(line, &l);
		assert_true(n < 1024);
		memcpy(text + len, line, n);
		len += n;
		memcpy(l.previous, l.hash, HASH_BYTES);
	}
	put(PATH, text, len);
	assert_int_equal(record(&m.e, CUSTODY_received, "x", NULL, 1), ERR_INPUT);
	assert_int_equal(custody_read(&c, PATH, &m.subject, &why), 1);
	assert_int_equal(c.state, CUSTODY_INTACT);
	assert_int_equal(c.nlines, CUSTODY_LINES_MAX);
	custody_clear(&c);
	free(text);
	clear(&m);
}

static void test_more_acts_than_may_be_are_refused(void **state)
{
	size_t size, at = 0;
	struct custody c;
	struct made m;
	char *text;

	(void)state;
	make_chain(&m);
	size = m.ends[1];
	/* A signature that does not fit ends the judgement early, once all lines are read. */
	m.text[size - 40] = m.text[size - 40] == 'A' ? 'B' : 'A';
	text = malloc(size * (CUSTODY_LINES_MAX + 1));
	assert_non_null(text);
	for (int i = 0; i <= CUSTODY_LINES_MAX; i++, at += size)
		memcpy(text + at, m.text, size);
	assert_int_equal(state_of(&m, text, at - size), CUSTODY_FORGED);
	custody_judge(&c, text, at, &m.subject);
	assert_int_equal(c.state, CUSTODY_MALFORMED);
	assert_non_null(strstr(c.why.text, "more than 10000 lines"));
	custody_clear(&c);
	free(text);
	clear(&m);
}

static void test_a_copy_goes_with_a_narrower_capture(void **state)
{
	struct custody c;
	struct made m;
	struct fault why;

	(void)state;
	make_chain(&m);
	assert_int_equal(custody_copy("run.cap", "part.cap", false, &why), 1);
	assert_int_equal(custody_read(&c, "part.cap.custody", &m.subject, &why), 1);
	assert_int_equal(c.nlines, NACTS);
	custody_clear(&c);
	assert_int_equal(custody_copy("run.cap", "part.cap", false, &why), ERR_EXISTS);
	assert_int_equal(custody_copy("run.cap", "part.cap", true, &why), 1);
	assert_int_equal(custody_copy("none.cap", "other.cap", false, &why), 0);
	clear(&m);
}

int main(void)
{
#define TEST(t) cmocka_unit_test_setup_teardown(t, make_home, remove_home)
	const struct CMUnitTest tests[] = {
		TEST(test_what_is_recorded_is_read_again),
		TEST(test_no_flipped_bit_leaves_the_chain_intact),
		TEST(test_every_cut_inside_a_line_is_seen),
		TEST(test_every_missing_line_before_the_last_is_seen),
		TEST(test_every_swap_is_reported_as_another_order),
		TEST(test_a_line_that_stands_twice_is_forged),
		TEST(test_a_line_forged_and_signed_anew_breaks_the_links),
		TEST(test_a_key_that_did_not_sign_cannot_be_named),
		TEST(test_a_line_of_another_capture_or_seal_is_reported),
		TEST(test_a_line_is_written_in_one_way_only),
		TEST(test_hostile_names_come_back_as_they_were),
		TEST(test_a_chain_whose_last_line_has_no_end_gets_one_with_the_next_act),
		TEST(test_a_broken_chain_is_never_extended),
		TEST(test_nothing_is_recorded_on_what_is_not_authentic),
		TEST(test_processes_that_append_at_once_make_one_chain),
		TEST(test_limits_are_kept),
		TEST(test_paths_that_are_too_long_or_lead_nowhere_are_reported),
		TEST(test_a_full_chain_is_not_extended),
		TEST(test_more_acts_than_may_be_are_refused),
		TEST(test_a_copy_goes_with_a_narrower_capture),
	};

	if (sodium_init() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
