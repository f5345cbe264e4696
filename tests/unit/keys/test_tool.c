/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "keys/tool/tool.h"
#include "keys/tool/wrap.h"

/* What a child prints to `fd` and its exit status. */
struct outcome {
	int status;
	char text[4096];
};

static void run(struct outcome *o, int fd, int (*body)(int argc, char **argv), char **argv)
{
	int pipes[2], argc, status;
	ssize_t n, len = 0;
	pid_t pid;

	for (argc = 0; argv[argc]; argc++)
		;
	fflush(NULL);
	assert_int_equal(pipe(pipes), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (!freopen("/dev/null", "w", fd == STDOUT_FILENO ? stderr : stdout))
			_exit(99);
		dup2(pipes[1], fd);
		close(pipes[0]);
		close(pipes[1]);
		tool_init("tool");
		status = body(argc, argv);
		fflush(stdout);
		_exit(status);
	}
	close(pipes[1]);
	while ((n = read(pipes[0], o->text + len, sizeof(o->text) - 1 - (size_t)len)) > 0)
		len += n;
	o->text[len] = '\0';
	close(pipes[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	o->status = WEXITSTATUS(status);
}

/* Prints "ID=VALUE " when its option is read. */
#define SHOWS(id)                                                                                                      \
	static int show_##id(void *settings, const char *value, struct fault *why)                                     \
	{                                                                                                              \
		(void)settings, (void)why;                                                                             \
		printf(#id "=%s ", value ? value : "-");                                                               \
		return 0;                                                                                              \
	}
SHOWS(1)
SHOWS(2)
SHOWS(3)
SHOWS(4)

static const struct tool_option table[] = {
	{"from", 'f', "TIME", "begin here", TOOL_CALL, .take = show_1},
	{"force", 'F', NULL, "replace", TOOL_CALL, .take = show_2},
	{"report", 'r', "[=OUT]", "report to OUT", TOOL_CALL, .take = show_3},
	{"a-very-long-option-name", 0, "SOMETHING", "help on a line of its own", TOOL_CALL, .take = show_4},
	TOOL_VERBOSE("show each step"),
	{0},
};
static const struct tool_options options = {"[-f TIME] FILE...\nshow FILE\n", "Does things.", table, "And more."};

/* Then the operands. */
static int parse(bool stop, int argc, char **argv)
{
	int operands, status = tool_read_options(&options, stop, argc, argv, NULL, &operands);

	if (status >= 0)
		return status;
	printf("q%d v%d", tool_quiet, tool_verbose);
	for (; operands < argc; operands++)
		printf(" %s", argv[operands]);
	return 0;
}

static int parse_all(int argc, char **argv)
{
	return parse(false, argc, argv);
}

static int parse_first(int argc, char **argv)
{
	return parse(true, argc, argv);
}

#define ARGV(...) ((char *[]){"tool", __VA_ARGS__, NULL})

static void options_come_in_all_forms_and_between_operands(void **state)
{
	struct outcome o;

	(void)state;
	run(&o, STDOUT_FILENO, parse_all,
	    ARGV("a", "-f", "1", "b", "--from=2", "--from", "3", "-Fqvv", "--report", "--report=x"));
	assert_int_equal(o.status, 0);
	assert_string_equal(o.text, "1=1 1=2 1=3 2=- 3=- 3=x q1 v2 a b");
	run(&o, STDOUT_FILENO, parse_all, ARGV("-F", "--", "-f", "-x"));
	assert_string_equal(o.text, "2=- q0 v0 -f -x");
	run(&o, STDOUT_FILENO, parse_all, ARGV("-", "-f-"));
	assert_string_equal(o.text, "1=- q0 v0 -");
}

static void options_of_a_command_are_left_to_it(void **state)
{
	struct outcome o;

	(void)state;
	run(&o, STDOUT_FILENO, parse_first, ARGV("-F", "ls", "-l", "--from"));
	assert_int_equal(o.status, 0);
	assert_string_equal(o.text, "2=- q0 v0 ls -l --from");
}

static int parse_subcommand(int argc, char **argv)
{
	int status = parse(true, argc, argv);

	printf(" | ");
	return status ? status : parse(false, argc - 2, argv + 2);
}

static void a_subcommand_has_options_of_its_own(void **state)
{
	struct outcome o;

	(void)state;
	run(&o, STDOUT_FILENO, parse_subcommand, ARGV("-F", "list", "x", "-f", "5"));
	assert_string_equal(o.text, "2=- q0 v0 list x -f 5 | 1=5 q0 v0 x");
}

static void a_wrong_option_gets_one_specific_line(void **state)
{
	static const struct {
		char *argument;
		const char *line;
	} wrong[] = {
		{"-z", "tool: there is no option -z (tool --help shows the options)\n"},
		{"-Fz", "tool: there is no option -z (tool --help shows the options)\n"},
		{"--frm", "tool: there is no option --frm; did you mean --from? (tool --help shows the options)\n"},
		{"--frm=x", "tool: there is no option --frm; did you mean --from? (tool --help shows the options)\n"},
		{"--f", "tool: --f may mean more than one option (tool --help shows the options)\n"},
		{"-f", "tool: -f needs a value: -f TIME (tool --help shows the options)\n"},
		{"--from", "tool: --from needs a value: --from=TIME (tool --help shows the options)\n"},
		{"--force=1", "tool: --force takes no value (tool --help shows the options)\n"},
		{"--x\033[2J", "tool: there is no option --x\\x1b[2J (tool --help shows the options)\n"},
	};
	struct outcome o;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		run(&o, STDERR_FILENO, parse_all, ARGV(wrong[i].argument));
		assert_string_equal(o.text, wrong[i].line);
		assert_int_equal(o.status, TOOL_USAGE);
	}
}

/* --- values --- */

struct typed {
	bool set, clear;
	const char *text, *file;
	struct tool_list list;
	uint64_t number, any, duration, least, seconds, size;
	int fd, word, taken;
};

static const char *const colours[] = {"red", "green", "blue", NULL};

/* Each thing that take() may answer. */
static int take_answer(void *settings, const char *value, struct fault *why)
{
	struct typed *t = settings;

	if (!strcmp(value, "input"))
		return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "the value '%s' is refused", value);
	if (!strcmp(value, "io"))
		return fault_set(why, ERR_IO, FAULT_NOWHERE, "it could not be read");
	if (!strcmp(value, "said"))
		return 42;
	t->taken = atoi(value);
	return 0;
}

#define AT(member) .at = offsetof(struct typed, member)
static const struct tool_option typed_table[] = {
	{"set", 's', NULL, "", TOOL_SET, AT(set)},
	{"clear", 'c', NULL, "", TOOL_CLEAR, AT(clear)},
	{"text", 't', "TEXT", "", TOOL_TEXT, AT(text)},
	{"file", 'o', "FILE", "", TOOL_FILE, AT(file)},
	{"list", 'l', "X", "", TOOL_LIST, AT(list), .max = 3},
	{"number", 'n', "N", "", TOOL_NUMBER, AT(number), .min = 2, .max = 10},
	{"any", 0, "N", "", TOOL_NUMBER, AT(any)},
	{"descriptor", 'd', "N", "", TOOL_DESCRIPTOR, AT(fd)},
	{"duration", 0, "TIME", "", TOOL_DURATION, AT(duration), .min = 1000000, .max = 3600000000000},
	{"least", 0, "TIME", "", TOOL_DURATION, AT(least), .min = 1},
	{"seconds", 0, "TIME", "", TOOL_SECONDS, AT(seconds)},
	{"size", 0, "SIZE", "", TOOL_SIZE, AT(size), .min = 4096, .max = 1 << 20},
	{"word", 'w', "WORD", "", TOOL_WORD, AT(word), .words = colours},
	{"take", 0, "X", "", TOOL_CALL, .take = take_answer},
	{0},
};
static const struct tool_options typed_options = {"FILE\n", "Reads.", typed_table, NULL};

static int read_typed(int argc, char **argv)
{
	struct typed t = {.clear = true, .fd = -1, .word = -1};
	int operands, status = tool_read_options(&typed_options, false, argc, argv, &t, &operands);

	if (status < 0)
		printf("%d%d %s %s %llu %llu %d %llu %llu %llu %llu %d %d", t.set, t.clear, t.text ? t.text : "-",
		       t.file ? t.file : "-", (unsigned long long)t.number, (unsigned long long)t.any, t.fd,
		       (unsigned long long)t.duration, (unsigned long long)t.least, (unsigned long long)t.seconds,
		       (unsigned long long)t.size, t.word, t.taken);
	for (size_t i = 0; i < t.list.n; i++)
		printf(" %s", t.list.items[i]);
	tool_list_clear(&t.list);
	return status < 0 ? 0 : status;
}

static void values_go_where_their_types_say(void **state)
{
	struct outcome o;

	(void)state;
	run(&o, STDOUT_FILENO, read_typed, ARGV("a"));
	assert_string_equal(o.text, "01 - - 0 0 -1 0 0 0 0 -1 0");
	run(&o, STDOUT_FILENO, read_typed,
	    ARGV("-s", "-c", "-t", "", "-o", "x", "-l", "1", "-l2", "--list=3", "-n", "10",
		 "--any=18446744073709551615", "-d", "1023", "--duration", "1h", "--least=1ns", "--seconds", "5",
		 "--size", "1M", "-w", "blue", "--take", "7"));
	assert_int_equal(o.status, 0);
	assert_string_equal(o.text, "10  x 10 18446744073709551615 1023 3600000000000 1 5000000000 1048576 2 7 1 2 3");
	/* The last one counts, and bounds are within. */
	run(&o, STDOUT_FILENO, read_typed,
	    ARGV("-n", "9", "-n2", "--duration=1h", "--duration=1ms", "--size=4096", "-w", "red", "--seconds=0",
		 "-d0"));
	assert_string_equal(o.text, "01 - - 2 0 0 1000000 0 0 4096 0 0");
}

static void a_value_that_is_refused_gets_one_line(void **state)
{
	static const struct {
		char *option, *value;
		const char *sentence;
	} refused[] = {
		{"-o", "", "--file: the name of a file is missing"},
		{"-l", "", "--list: the name is missing"},
		{"-n", "1", "--number: 1 is not between 2 and 10"},
		{"-n", "11", "--number: 11 is not between 2 and 10"},
		{"-n", "x", "--number: 'x' is not a decimal number"},
		{"--any", "18446744073709551616",
		 "--any: 18446744073709551616 is not between 0 and 18446744073709551615"},
		{"-d", "1024", "--descriptor: 1024 is not between 0 and 1023"},
		{"-d", "-1", "--descriptor: '-1' is not a decimal number"},
		{"--duration", "5", "--duration: '5' is not a duration like 90s, 1.5s, 5m, 1h or 250ms"},
		{"--duration", "999us", "--duration: '999us' is less than 1.00 ms"},
		{"--duration", "61m", "--duration: '61m' is more than 1.00 h"},
		{"--least", "0s", "--least: must be greater than zero"},
		{"--seconds", "5x", "--seconds: '5x' is not a duration like 90s, 1.5s, 5m, 1h or 250ms"},
		{"--size", "4095", "--size: '4095' is less than 4.00 KiB"},
		{"--size", "1048577", "--size: '1048577' is more than 1.00 MiB"},
		{"--size", "1X", "--size: '1X' is not a size like 4096, 64K, 64M or 1G"},
		{"-w", "gren", "--word: 'gren' is not one of red, green, blue; did you mean 'green'?"},
		{"-w", "\033[2J", "--word: '\\x1b[2J' is not one of red, green, blue"},
		{"-w", "", "--word: '' is not one of red, green, blue"},
		{"--take", "input", "--take: the value 'input' is refused"},
	};
	char line[512];
	struct outcome o;

	(void)state;
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		run(&o, STDERR_FILENO, read_typed, ARGV(refused[i].option, refused[i].value));
		snprintf(line, sizeof(line), "tool: %s (tool --help shows the options)\n", refused[i].sentence);
		assert_string_equal(o.text, line);
		assert_int_equal(o.status, TOOL_USAGE);
	}
	run(&o, STDERR_FILENO, read_typed, ARGV("-l1", "-l2", "-l3", "-l4"));
	assert_string_equal(o.text, "tool: --list: at most 3 of them (tool --help shows the options)\n");
	/* What is wrong with the world is no wrong usage, and what was printed already is not printed again. */
	run(&o, STDERR_FILENO, read_typed, ARGV("--take", "io"));
	assert_string_equal(o.text, "tool: it could not be read\n");
	assert_int_equal(o.status, TOOL_FAILED);
	run(&o, STDERR_FILENO, read_typed, ARGV("--take", "said"));
	assert_string_equal(o.text, "");
	assert_int_equal(o.status, 42);
}

static void help_goes_to_stdout_in_aligned_columns(void **state)
{
	struct outcome o;

	(void)state;
	run(&o, STDOUT_FILENO, parse_all, ARGV("--help"));
	assert_int_equal(o.status, 0);
	assert_string_equal(o.text, "usage: tool [-f TIME] FILE...\n"
				    "       tool show FILE\n"
				    "Does things.\n\n"
				    "  -f, --from=TIME           begin here\n"
				    "  -F, --force               replace\n"
				    "  -r, --report[=OUT]        report to OUT\n"
				    "      --a-very-long-option-name=SOMETHING\n"
				    "                            help on a line of its own\n"
				    "  -v, --verbose             show each step\n"
				    "  -h, --help                show this text\n"
				    "      --version             show the version\n"
				    "  -q, --quiet               print nothing but errors\n"
				    "\nAnd more.\n");
	run(&o, STDOUT_FILENO, parse_all, ARGV("--version"));
	assert_int_equal(o.status, 0);
	assert_string_equal(o.text, "tool " TOOL_VERSION "\n");
}

/* What a terminal of `width` columns shows of `text`. */
static void assert_wrapped(unsigned width, const char *text, const char *lines)
{
	char *shown = NULL;
	size_t n;
	FILE *out = open_memstream(&shown, &n);

	assert_non_null(out);
	wrap_print(out, text, strlen(text), width);
	fclose(out);
	assert_string_equal(shown, lines);
	free(shown);
}

static void long_lines_are_wrapped_between_words(void **state)
{
	(void)state;
	assert_wrapped(12, "one two three four\n", "one two\nthree four\n");
	assert_wrapped(10, "one two three four", "one two\nthree four");
	assert_wrapped(12, "fits exactly\n\nshort\n", "fits exactly\n\nshort\n");
	assert_wrapped(0, "one two three four\n", "one two three four\n");
	/* What follows stands under the sentence. */
	assert_wrapped(14, "  one two three four\n", "  one two\n  three four\n");
	assert_wrapped(14, "  1. one two three\n", "  1. one two\n     three\n");
	assert_wrapped(14, "  [1] one two three\n", "  [1] one two\n      three\n");
	assert_wrapped(20, "Run        one two three\n", "Run        one two\n           three\n");
	/* µ is one column; a word longer than the line stays whole, alone. */
	assert_wrapped(9, "1 \302\265s 2 \302\265s x\n", "1 \302\265s 2 \302\265s\nx\n");
	assert_wrapped(6, "a indivisible b\n", "a\nindivisible\nb\n");
	assert_wrapped(6, "indivisible\n", "indivisible\n");
	/* Where the terminal is too narrow for that, under the margin. */
	assert_wrapped(12, "Run        one two\n", "Run        one\ntwo\n");
	/* Rows of tables stay. */
	assert_wrapped(10, "  Time  Total  Num\n", "  Time  Total  Num\n");
	assert_wrapped(3, "", "");
	assert_wrapped(3, "   \n", "   \n");
}

static int say(int argc, char **argv)
{
	struct fault why = {ERR_FORMAT, 77, "a \033 in a name"};

	(void)argc;
	tool_quiet = argv[1][0] == 'q';
	tool_note("note %s", "a\nb");
	tool_error("error %d", 5);
	return tool_fault("file\x1b", &why);
}

static void messages_are_one_escaped_line_each(void **state)
{
	struct outcome o;

	(void)state;
	run(&o, STDERR_FILENO, say, ARGV("-"));
	assert_string_equal(o.text,
			    "tool: note a\\x0ab\ntool: error 5\ntool: file\\x1b: a \\x1b in a name (at byte 77)\n");
	assert_int_equal(o.status, TOOL_FAILED);
	run(&o, STDERR_FILENO, say, ARGV("q"));
	assert_string_equal(o.text, "tool: error 5\ntool: file\\x1b: a \\x1b in a name (at byte 77)\n");
}

static int write_to_full_disk(int argc, char **argv)
{
	(void)argc;
	if (!freopen(argv[1], "w", stdout))
		return 99;
	printf("x");
	return tool_finish(TOOL_BAD);
}

static void a_full_disk_behind_stdout_is_reported(void **state)
{
	struct outcome o;

	(void)state;
	run(&o, STDERR_FILENO, write_to_full_disk, ARGV("/dev/full"));
	assert_int_equal(o.status, TOOL_FAILED);
	assert_string_equal(o.text, "tool: cannot write to standard output: No space left on device\n");
	run(&o, STDERR_FILENO, write_to_full_disk, ARGV("/dev/null"));
	assert_int_equal(o.status, TOOL_BAD);
	assert_string_equal(o.text, "");
}

static int write_to_closed_pipe(int argc, char **argv)
{
	int pipes[2], i;

	(void)argc, (void)argv;
	if (pipe(pipes) < 0 || dup2(pipes[1], STDOUT_FILENO) < 0)
		return 99;
	close(pipes[0]);
	close(pipes[1]);
	for (i = 0; i < 100000; i++)
		printf("line %d\n", i);
	return tool_finish(TOOL_FINE);
}

static void a_reader_who_left_is_no_fault(void **state)
{
	struct outcome o;

	(void)state;
	run(&o, STDERR_FILENO, write_to_closed_pipe, ARGV("-"));
	assert_string_equal(o.text, "");
	assert_int_equal(o.status, TOOL_FINE);
}

static int open_with_closed_descriptors(int argc, char **argv)
{
	FILE *f;
	int fd;

	(void)argc, (void)argv;
	close(0);
	close(1);
	close(2);
	tool_init("tool");
	f = tmpfile();
	fd = f ? fileno(f) : -1;
	return fd > STDERR_FILENO ? 0 : 1;
}

static void a_file_never_becomes_a_standard_descriptor(void **state)
{
	struct outcome o;

	(void)state;
	run(&o, STDOUT_FILENO, open_with_closed_descriptors, ARGV("-"));
	assert_int_equal(o.status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(options_come_in_all_forms_and_between_operands),
		cmocka_unit_test(options_of_a_command_are_left_to_it),
		cmocka_unit_test(a_subcommand_has_options_of_its_own),
		cmocka_unit_test(a_wrong_option_gets_one_specific_line),
		cmocka_unit_test(values_go_where_their_types_say),
		cmocka_unit_test(a_value_that_is_refused_gets_one_line),
		cmocka_unit_test(help_goes_to_stdout_in_aligned_columns),
		cmocka_unit_test(long_lines_are_wrapped_between_words),
		cmocka_unit_test(messages_are_one_escaped_line_each),
		cmocka_unit_test(a_full_disk_behind_stdout_is_reported),
		cmocka_unit_test(a_reader_who_left_is_no_fault),
		cmocka_unit_test(a_file_never_becomes_a_standard_descriptor),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
