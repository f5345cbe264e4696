/* SPDX-License-Identifier: Apache-2.0 */
/* Captures as files: what is opened, what is made, what a writer refuses, and what is left when it is killed. */
#include "tests/unit/made.h"
#include "tests/unit/sample.h"

#include <errno.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "format/layout.h"

static void only_a_regular_file_is_opened(void **state)
{
	struct source src;
	struct fault why;

	(void)state;
	assert_int_equal(source_open_file(&src, made_folder(), &why), ERR_INPUT);
	assert_non_null(strstr(why.text, "a directory"));
	assert_int_equal(mkfifo(made_path("pipe"), 0600), 0);
	assert_int_equal(source_open_file(&src, made_path("pipe"), &why), ERR_INPUT);
	assert_non_null(strstr(why.text, "a pipe"));
	assert_int_equal(source_open_file(&src, "/dev/null", &why), ERR_INPUT);
	assert_int_equal(source_open_file(&src, made_path("nothing"), &why), ERR_IO);
}

static void a_source_gives_exactly_its_bytes(void **state)
{
	struct source src;
	struct fault why;
	uint8_t buf[8] = {0};

	(void)state;
	made_write(made_path("bytes"), "01234567", 8);
	assert_int_equal(source_open_file(&src, made_path("bytes"), &why), 0);
	assert_int_equal(source_read(&src, 2, buf, 6, &why), 0);
	assert_memory_equal(buf, "234567", 6);
	assert_int_equal(source_read(&src, 8, buf, 0, &why), 0);
	assert_int_equal(source_read(&src, 3, buf, 6, &why), ERR_CUT);
	assert_int_equal(source_read(&src, 9, buf, 0, &why), ERR_CUT);
	assert_int_equal(source_read(&src, UINT64_MAX, buf, 2, &why), ERR_CUT);
	assert_int_equal(truncate(made_path("bytes"), 4), 0);
	assert_int_equal(source_read(&src, 2, buf, 6, &why), ERR_IO);
	assert_non_null(strstr(why.text, "became shorter"));
	source_close(&src);
	source_open_memory(&src, (const uint8_t *)"0123", 4);
	assert_int_equal(source_read(&src, 1, buf, 3, &why), 0);
	assert_memory_equal(buf, "123", 3);
	assert_int_equal(source_read(&src, UINT64_MAX, buf, 2, &why), ERR_CUT);
}

static void a_file_that_shrinks_is_no_verdict(void **state)
{
	struct memory_sink m = {0};
	struct verification v;
	struct source src;
	struct reader r;
	struct fault why;

	(void)state;
	assert_int_equal(sample_write(&m, 1, true), 0);
	made_write(made_path("cap"), m.bytes.data, m.bytes.len);
	assert_int_equal(source_open_file(&src, made_path("cap"), &why), 0);
	assert_int_equal(reader_open(&r, &src, &why), 0);
	assert_int_equal(truncate(made_path("cap"), 20), 0);
	verify(&r, 1, &v);
	assert_int_equal(v.verdict, VERDICT_UNCHECKED);
	reader_close(&r);
	source_close(&src);
	made_write(made_path("cap"), m.bytes.data, m.bytes.len);
	assert_int_equal(source_open_file(&src, made_path("cap"), &why), 0);
	assert_int_equal(truncate(made_path("cap"), (off_t)m.bytes.len - 1), 0);
	assert_int_equal(reader_open(&r, &src, &why), ERR_IO);
	source_close(&src);
	bytes_free(&m.bytes);
}

static void an_output_is_made_anew_and_for_few_to_read(void **state)
{
	struct sink sink;
	struct stat st;
	struct fault why;
	mode_t mask = umask(0);
	char *bytes;
	size_t n;

	(void)state;
	assert_int_equal(sink_open_file(&sink, made_path("out"), false, &why), 0);
	assert_int_equal(sink.write(sink.self, "abc", 3, &why), 0);
	assert_int_equal(sink.write(sink.self, "de", 2, &why), 0);
	assert_int_equal(sink.sync(sink.self, &why), 0);
	sink.close(sink.self);
	umask(mask);
	assert_int_equal(stat(made_path("out"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0640);
	assert_int_equal(sink_open_file(&sink, made_path("out"), false, &why), ERR_EXISTS);
	bytes = made_read(made_path("out"), &n);
	assert_string_equal(bytes, "abcde");
	free(bytes);
	assert_int_equal(sink_open_file(&sink, made_path("out"), true, &why), 0);
	sink.close(sink.self);
	assert_int_equal(stat(made_path("out"), &st), 0);
	assert_int_equal(st.st_size, 0);
	assert_int_equal(symlink("target", made_path("link")), 0);
	assert_int_equal(sink_open_file(&sink, made_path("link"), false, &why), ERR_EXISTS);
	assert_int_equal(sink_open_file(&sink, made_path("link"), true, &why), ERR_EXISTS);
	assert_int_equal(access(made_path("target"), F_OK), -1);
	assert_int_equal(mkdir(made_path("folder"), 0700), 0);
	assert_int_equal(sink_open_file(&sink, made_path("folder"), true, &why), ERR_EXISTS);
	assert_int_equal(sink_open_file(&sink, made_path("no/such/folder"), true, &why), ERR_IO);
}

static void a_full_disk_is_an_error(void **state)
{
	struct sink sink;
	struct fault why;
	int full;

	(void)state;
	/* The sink's descriptor, which comes first in it, becomes that of /dev/full. */
	assert_int_equal(sink_open_file(&sink, made_path("full"), false, &why), 0);
	full = open("/dev/full", O_WRONLY | O_CLOEXEC);
	assert_true(full >= 0);
	assert_int_equal(dup2(full, *(int *)sink.self), *(int *)sink.self);
	close(full);
	assert_int_equal(sink.write(sink.self, "abc", 3, &why), ERR_IO);
	assert_non_null(strstr(why.text, "No space left"));
	sink.close(sink.self);
}

static void no_signal(int number)
{
	(void)number;
}

#define MUCH (1u << 20)

/* The other end of a pipe: is it `MUCH` bytes that count up? Slow, so that the writer has to wait. */
static void read_slowly(int fd)
{
	static uint8_t buf[8192];
	uint32_t sum = 0;
	ssize_t got;

	usleep(20000); /* speed: a pipe that fills is read late; sooner is as good */
	while ((got = read(fd, buf, sizeof(buf))) > 0) {
		for (ssize_t i = 0; i < got; i++)
			if (buf[i] != (uint8_t)(sum++ % 251))
				_exit(1);
		usleep(500); /* speed: as above */
	}
	_exit(sum != MUCH);
}

static void signals_and_short_writes_lose_nothing(void **state)
{
	static uint8_t much[MUCH];
	const struct sigaction action = {.sa_handler = no_signal}; /* without SA_RESTART */
	const struct itimerval often = {{0, 1000}, {0, 1000}}, never = {{0, 0}, {0, 0}};
	struct sink sink;
	struct fault why;
	int pipes[2], status, r;
	pid_t child;

	(void)state;
	for (uint32_t i = 0; i < MUCH; i++)
		much[i] = (uint8_t)(i % 251);
	assert_int_equal(sink_open_file(&sink, made_path("slow"), false, &why), 0);
	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(dup2(pipes[1], *(int *)sink.self), *(int *)sink.self);
	close(pipes[1]);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		sink.close(sink.self);
		read_slowly(pipes[0]);
	}
	close(pipes[0]);
	assert_int_equal(sigaction(SIGALRM, &action, NULL), 0);
	assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
	r = sink.write(sink.self, much, MUCH, &why);
	assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
	assert_int_equal(r, 0);
	assert_int_equal(sink.sync(sink.self, &why), ERR_IO); /* a pipe cannot be synced, and that is said */
	sink.close(sink.self);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

/* A sink over a file that kills its process in the middle of the nth call. */
struct killer {
	struct sink file;
	unsigned calls, kill_at;
};

static int killer_write(void *self, const void *buf, size_t n, struct fault *why)
{
	struct killer *k = self;

	if (++k->calls == k->kill_at) {
		k->file.write(k->file.self, buf, n / 2, why);
		raise(SIGKILL);
	}
	return k->file.write(k->file.self, buf, n, why);
}

static int killer_sync(void *self, struct fault *why)
{
	struct killer *k = self;

	if (++k->calls == k->kill_at)
		raise(SIGKILL);
	return k->file.sync(k->file.self, why);
}

static void killer_close(void *self)
{
	struct killer *k = self;

	k->file.close(k->file.self);
}

/* Two epochs and END into the file, but for the kill. */
static void write_until_killed(const char *path, unsigned kill_at)
{
	struct killer k = {.kill_at = kill_at};
	struct identity id = sample_identity(1);
	struct clock_anchor a = sample_anchor(SAMPLE_BOOT);
	struct self_stats self = {0};
	struct writer *w;
	struct fault why;

	if (sink_open_file(&k.file, path, true, &why) < 0 ||
	    writer_open(&w, (struct sink){killer_write, killer_sync, killer_close, &k}, &id, sample_probes,
			SAMPLE_NPROBES, &a, &why) < 0)
		_exit(1);
	for (uint64_t e = 1; e <= 2; e++)
		if (sample_try_add(w, KIND_thread, SAMPLE_BOOT + e, 0) < 0 ||
		    writer_seal(w, SAMPLE_BOOT + e + 1, &a, &self, NULL, 0, &why) < 0)
			_exit(1);
	_exit(writer_end(w, REASON_duration, NULL, &a, NULL, 0, &why) < 0);
}

static void whenever_it_is_killed_what_was_sealed_verifies(void **state)
{
	(void)state;
	for (unsigned kill_at = 1; kill_at <= 9; kill_at++) {
		unsigned whole = kill_at / 2; /* frames that have been written: header, epochs, END */
		struct verification v;
		uint8_t *bytes;
		int status;
		size_t n;
		pid_t child = fork();

		assert_true(child >= 0);
		if (child == 0)
			write_until_killed(made_path("killed"), kill_at);
		assert_int_equal(waitpid(child, &status, 0), child);
		if (kill_at == 9)
			assert_int_equal(status, 0);
		else
			assert_int_equal(WTERMSIG(status), SIGKILL);
		bytes = (uint8_t *)made_read(made_path("killed"), &n);
		sample_verdict(bytes, n, &v);
		assert_int_equal(v.verdict, whole == 0   ? VERDICT_MALFORMED
					    : whole == 4 ? VERDICT_OK
							 : VERDICT_UNSEALED);
		assert_int_equal(v.nepochs, whole == 0 ? 0 : whole == 4 ? 2 : whole - 1);
		free(bytes);
	}
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

static void a_writer_refuses_what_a_reader_would(void **state)
{
	static const struct counter zero[] = {{1, COUNTER_fired, 0}},
				    order[] = {{1, COUNTER_recorded, 1}, {1, COUNTER_fired, 1}},
				    probes[] = {{3, COUNTER_fired, 1}, {1, COUNTER_fired, 1}};
	static struct counter many[COUNTER_ROWS_MAX + 1];
	struct memory_sink m = {0};
	struct writer *w = start_writer(&m);
	struct clock_anchor a = sample_anchor(SAMPLE_BOOT);
	struct self_stats self = {0};
	struct fault why;

	(void)state;
	for (uint32_t i = 0; i <= COUNTER_ROWS_MAX; i++)
		many[i] = (struct counter){(uint16_t)i, COUNTER_fired, 1};
	assert_int_equal(writer_seal(w, SAMPLE_BOOT + 1, &a, &self, zero, 1, &why), ERR_INPUT);
	assert_int_equal(writer_seal(w, SAMPLE_BOOT + 1, &a, &self, order, 2, &why), ERR_INPUT);
	assert_int_equal(writer_seal(w, SAMPLE_BOOT + 1, &a, &self, probes, 2, &why), ERR_INPUT);
	assert_int_equal(writer_seal(w, SAMPLE_BOOT + 1, &a, &self, many, COUNTER_ROWS_MAX + 1, &why), ERR_INPUT);
	assert_int_equal(writer_seal(w, SAMPLE_BOOT - 1, &a, &self, NULL, 0, &why), ERR_INPUT);
	/* None of that has broken it. An epoch may be empty and take no time. */
	assert_int_equal(writer_seal(w, SAMPLE_BOOT, &a, &self, NULL, 0, &why), 0);
	assert_int_equal(writer_seal(w, SAMPLE_BOOT + 5, &a, &self, NULL, 0, &why), 0);
	assert_int_equal(sample_try_add(w, KIND_thread, SAMPLE_BOOT + 4, 0), ERR_INPUT);
	assert_int_equal(sample_try_add(w, KIND_thread, SAMPLE_BOOT + 5, 0), 0);
	assert_int_equal(writer_seal(w, SAMPLE_BOOT + 4, &a, &self, NULL, 0, &why), ERR_INPUT);
	assert_int_equal(writer_seal(w, SAMPLE_BOOT + 6, &a, &self, NULL, 0, &why), 0);
	assert_int_equal(writer_end(w, REASON_duration, NULL, &a, zero, 1, &why), ERR_INPUT);
	assert_int_equal(writer_end(w, REASON_duration, NULL, &a, NULL, 0, &why), 0);
	assert_int_equal(writer_written_bytes(w), m.bytes.len);
	assert_int_equal(writer_seal(w, SAMPLE_BOOT + 7, &a, &self, NULL, 0, &why), ERR_INPUT);
	writer_close(w);
	assert_int_equal(sample_verdict(m.bytes.data, m.bytes.len, NULL), VERDICT_OK);
	bytes_free(&m.bytes);
}

static void after_a_failed_write_nothing_more_is_signed(void **state)
{
	(void)state;
	for (unsigned fail_at = 3; fail_at <= 4; fail_at++) {
		struct memory_sink m = {.fail_at = fail_at};
		struct writer *w = start_writer(&m);
		struct clock_anchor a = sample_anchor(SAMPLE_BOOT);
		struct self_stats self = {0};
		struct fault why;
		size_t n;

		assert_int_equal(writer_seal(w, SAMPLE_BOOT + 1, &a, &self, NULL, 0, &why), ERR_IO);
		n = m.bytes.len;
		assert_int_equal(writer_seal(w, SAMPLE_BOOT + 2, &a, &self, NULL, 0, &why), ERR_INPUT);
		assert_int_equal(writer_end(w, REASON_duration, NULL, &a, NULL, 0, &why), ERR_INPUT);
		writer_close(w);
		assert_int_equal(m.bytes.len, n);
		bytes_free(&m.bytes);
	}
}

static void captures_and_chunks_differ_by_id_and_salt(void **state)
{
	struct memory_sink m[2] = {0};
	struct source src[2];
	struct reader r[2];
	struct fault why;

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(sample_write(&m[i], 2, false), 0);
		source_open_memory(&src[i], m[i].bytes.data, m[i].bytes.len);
		assert_int_equal(reader_open(&r[i], &src[i], &why), 0);
	}
	assert_memory_not_equal(r[0].header.capture_id, r[1].header.capture_id, CAPTURE_ID_BYTES);
	assert_memory_not_equal(r[0].header.first_key, r[1].header.first_key, PUBLIC_KEY_BYTES);
	assert_memory_not_equal(r[0].epochs[0].chunks[0].salt, r[0].epochs[0].chunks[1].salt, SALT_BYTES);
	assert_memory_not_equal(r[0].epochs[0].chunks[0].salt, r[1].epochs[0].chunks[0].salt, SALT_BYTES);
	assert_memory_not_equal(r[0].header.first_key, r[0].epochs[0].next_key, PUBLIC_KEY_BYTES);
	assert_memory_not_equal(r[0].epochs[0].next_key, r[0].epochs[1].next_key, PUBLIC_KEY_BYTES);
	for (unsigned i = 0; i < 2; i++) {
		reader_close(&r[i]);
		bytes_free(&m[i].bytes);
	}
}

static void texts_are_cut_at_the_limit_and_follow_their_row_into_the_next_epoch(void **state)
{
	static char longer[TEXT_MAX + 5];
	struct memory_sink m = {0};
	struct writer *w = start_writer(&m);
	struct clock_anchor a = sample_anchor(SAMPLE_BOOT);
	struct self_stats self = {0};
	uint64_t v[FIELDS_MAX] = {0};
	const char *text[FIELDS_MAX] = {NULL};
	struct cursor *cur;
	struct source src;
	struct reader r;
	struct event ev;
	struct fault why;

	(void)state;
	memset(longer, 'x', sizeof(longer));
	sample_add(w, KIND_thread, SAMPLE_BOOT + 1, 0);
	v[0] = SAMPLE_BOOT + 9;
	v[F_fact_name] = sizeof(longer);
	text[F_fact_name] = longer;
	v[F_fact_value] = 3;
	text[F_fact_value] = "abc";
	assert_int_equal(writer_add(w, KIND_fact, v, text, &why), 0);
	assert_int_equal(writer_seal(w, SAMPLE_BOOT + 5, &a, &self, NULL, 0, &why), 0);
	sample_add(w, KIND_thread, SAMPLE_BOOT + 9, 0);
	assert_true(writer_staged_bytes(w) > TEXT_MAX + 3);
	assert_int_equal(writer_seal(w, SAMPLE_BOOT + 10, &a, &self, NULL, 0, &why), 0);
	assert_int_equal(writer_staged_bytes(w), 0);
	writer_close(w);
	source_open_memory(&src, m.bytes.data, m.bytes.len);
	assert_int_equal(reader_open(&r, &src, &why), 0);
	assert_int_equal(cursor_open(&cur, &r, false, &why), 0);
	cursor_seek(cur, SAMPLE_BOOT + 5);
	assert_int_equal(cursor_next(cur, &ev, &why), 1);
	assert_int_equal(cursor_next(cur, &ev, &why), 1);
	assert_int_equal(ev.kind, KIND_thread);
	assert_memory_equal(ev.text[F_thread_name], "trainer", 7);
	assert_int_equal(cursor_next(cur, &ev, &why), 1);
	assert_int_equal(ev.kind, KIND_fact);
	assert_int_equal(ev.v[F_fact_name], TEXT_MAX);
	assert_memory_equal(ev.text[F_fact_name], longer, TEXT_MAX);
	assert_int_equal(ev.v[F_fact_value], 3);
	assert_memory_equal(ev.text[F_fact_value], "abc", 3);
	assert_int_equal(cursor_next(cur, &ev, &why), 0);
	cursor_close(cur);
	reader_close(&r);
	bytes_free(&m.bytes);
}

static void chunks_stay_below_their_limits(void **state)
{
	static char text_bytes[TEXT_MAX];
	struct memory_sink m = {0};
	struct writer *w = start_writer(&m);
	struct clock_anchor a = sample_anchor(SAMPLE_BOOT);
	struct self_stats self = {0};
	struct source src;
	struct reader r;
	struct fault why;
	uint32_t classes = 0;

	(void)state;
	/* More bytes of facts than a chunk may have, and more threads than it may have rows. */
	for (uint64_t i = 0; i < 1500; i++) {
		uint64_t v[FIELDS_MAX] = {SAMPLE_BOOT, TEXT_MAX, TEXT_MAX};
		const char *text[FIELDS_MAX] = {NULL, text_bytes, text_bytes};

		randombytes_buf(text_bytes, 64);
		assert_int_equal(writer_add(w, KIND_fact, v, text, &why), 0);
	}
	for (uint32_t i = 0; i < CHUNK_ROWS_MAX + 1; i++) {
		uint64_t v[FIELDS_MAX] = {SAMPLE_BOOT};
		const char *text[FIELDS_MAX] = {NULL};

		assert_int_equal(writer_add(w, KIND_thread, v, text, &why), 0);
	}
	assert_int_equal(writer_seal(w, SAMPLE_BOOT + 1, &a, &self, NULL, 0, &why), 0);
	writer_close(w);
	assert_int_equal(sample_verdict(m.bytes.data, m.bytes.len, NULL), VERDICT_UNSEALED);
	source_open_memory(&src, m.bytes.data, m.bytes.len);
	assert_int_equal(reader_open(&r, &src, &why), 0);
	assert_int_equal(r.nepochs, 1);
	assert_int_equal(r.epochs[0].nchunks, 5);
	for (uint32_t i = 0; i < r.epochs[0].nchunks; i++)
		classes |= 1u << r.epochs[0].chunks[i].class;
	assert_int_equal(classes, 1u << CLASS_process | 1u << CLASS_host);
	assert_int_equal(r.epochs[0].chunks[0].nrows, CHUNK_ROWS_MAX);
	assert_int_equal(r.epochs[0].chunks[1].nrows, 1);
	reader_close(&r);
	bytes_free(&m.bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_a_regular_file_is_opened),
		cmocka_unit_test(a_source_gives_exactly_its_bytes),
		cmocka_unit_test(a_file_that_shrinks_is_no_verdict),
		cmocka_unit_test(an_output_is_made_anew_and_for_few_to_read),
		cmocka_unit_test(a_full_disk_is_an_error),
		cmocka_unit_test(signals_and_short_writes_lose_nothing),
		cmocka_unit_test(whenever_it_is_killed_what_was_sealed_verifies),
		cmocka_unit_test(a_writer_refuses_what_a_reader_would),
		cmocka_unit_test(after_a_failed_write_nothing_more_is_signed),
		cmocka_unit_test(captures_and_chunks_differ_by_id_and_salt),
		cmocka_unit_test(texts_are_cut_at_the_limit_and_follow_their_row_into_the_next_epoch),
		cmocka_unit_test(chunks_stay_below_their_limits),
	};

	if (sodium_init() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, made_clear);
}
