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

#define S 1000000000ull

struct parsed {
	const char *text;
	uint64_t value;
};

static void durations_are_read_with_their_unit(void **state)
{
	static const struct parsed good[] = {
		{"0s", 0},
		{"90s", 90 * S},
		{"5m", 300 * S},
		{"1h", 3600 * S},
		{"250ms", 250000000},
		{"1d", 86400 * S},
		{"7us", 7000},
		{"9ns", 9},
		{"007s", 7 * S},
		{"18446744073s", 18446744073 * S},
		{"213503d", 213503 * 86400ull * S},
		{"1.5s", S + S / 2},
		{"1 s", S},
		{"13.1 ms", 13100000},
		{"17.2 µs", 17200},
		{"17.2 us", 17200},
		{"2.0 min", 120 * S},
		{"1.000000001s", S + 1},
		{"0.25h", 900 * S},
		{"1.500000000000000000s", S + S / 2},
	};
	struct fault why;
	uint64_t ns;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_int_equal(tool_parse_duration(good[i].text, &ns, &why), 0);
		assert_true(ns == good[i].value);
	}
}

static void what_is_no_duration_is_refused_and_changes_nothing(void **state)
{
	static const char *const bad[] = {"5x",
					  "",
					  "5",
					  "-1s",
					  "+1s",
					  " 1s",
					  "1  s",
					  "1. s",
					  "1.s",
					  ".5s",
					  "1.5.5s",
					  "0.5ns",
					  "1.0000000001s",
					  "1.0000000000000000000s",
					  "18446744073.9s",
					  "1s ",
					  "s",
					  "0x5s",
					  "1S",
					  "1h30m",
					  "٣s",
					  "1e3s",
					  "18446744074s",
					  "213504d",
					  "99999999999999999999s",
					  "18446744073709551616ns"};
	struct fault why;
	uint64_t ns = 42;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		memset(&why, 0, sizeof(why));
		assert_int_equal(tool_parse_duration(bad[i], &ns, &why), ERR_INPUT);
		assert_true(ns == 42);
		assert_int_equal(why.code, ERR_INPUT);
		assert_non_null(strstr(why.text, bad[i]));
	}
}

static void where_it_is_asked_for_a_bare_number_is_seconds(void **state)
{
	struct fault why;
	uint64_t ns = 42;

	(void)state;
	assert_int_equal(tool_parse_seconds("5", &ns, &why), 0);
	assert_true(ns == 5 * S);
	assert_int_equal(tool_parse_seconds("5ms", &ns, &why), 0);
	assert_true(ns == 5000000);
	assert_int_equal(tool_parse_seconds("", &ns, &why), ERR_INPUT);
	assert_int_equal(tool_parse_seconds("1.5", &ns, &why), ERR_INPUT);
	assert_int_equal(tool_parse_seconds("-5", &ns, &why), ERR_INPUT);
	assert_int_equal(tool_parse_seconds("18446744074", &ns, &why), ERR_INPUT);
	assert_true(ns == 5000000);
}

/* What tool_format_ns() shows is read back, to within its rounding. */
static void durations_are_read_as_they_are_shown(void **state)
{
	struct fault why;
	uint64_t ns, again;
	char text[64];

	(void)state;
	for (ns = 1; ns < UINT64_MAX / 7; ns = ns * 7 + 3) {
		assert_int_equal(tool_parse_duration(tool_format_ns(text, sizeof(text), ns), &again, &why), 0);
		assert_true((again > ns ? again - ns : ns - again) <= ns / 19);
	}
}

static void sizes_are_powers_of_1024(void **state)
{
	static const struct parsed good[] = {
		{"4096", 4096},     {"0", 0},           {"64K", 65536},       {"64M", 64ull << 20},
		{"1G", 1ull << 30}, {"2T", 2ull << 40}, {"3MiB", 3ull << 20}, {"18446744073709551615", UINT64_MAX},
	};
	static const char *const bad[] = {"",     "M",   "5x",  "-1",        "1.5M",
					  "64MB", "64m", "1 M", "16777216T", "18446744073709551616"};
	struct fault why;
	uint64_t bytes;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_int_equal(tool_parse_size(good[i].text, &bytes, &why), 0);
		assert_true(bytes == good[i].value);
	}
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(tool_parse_size(bad[i], &bytes, &why), ERR_INPUT);
}

static void numbers_keep_to_their_range(void **state)
{
	struct fault why;
	uint64_t n = 0;

	(void)state;
	assert_int_equal(tool_parse_number("1", 1, 10, &n, &why), 0);
	assert_int_equal(n, 1);
	assert_int_equal(tool_parse_number("10", 1, 10, &n, &why), 0);
	assert_int_equal(n, 10);
	assert_int_equal(tool_parse_number("0", 1, 10, &n, &why), ERR_INPUT);
	assert_int_equal(tool_parse_number("11", 1, 10, &n, &why), ERR_INPUT);
	assert_non_null(strstr(why.text, "between 1 and 10"));
	assert_int_equal(tool_parse_number("18446744073709551616", 0, UINT64_MAX, &n, &why), ERR_INPUT);
	assert_int_equal(tool_parse_number("", 0, 10, &n, &why), ERR_INPUT);
	assert_int_equal(tool_parse_number("3x", 0, 10, &n, &why), ERR_INPUT);
	assert_int_equal(tool_parse_number("0x3", 0, 10, &n, &why), ERR_INPUT);
	assert_int_equal(n, 10);
}

static void times_and_sizes_are_shown_in_the_unit_that_fits(void **state)
{
	static const struct {
		uint64_t value;
		const char *ns, *bytes;
	} shown[] = {
		{0, "0 ns", "0 B"},
		{999, "999 ns", "999 B"},
		{1000, "1.0 us", "1000 B"},
		{1024, "1.0 us", "1.0 KiB"},
		{999949, "999.9 us", "976.5 KiB"},
		{999950, "1.0 ms", "976.5 KiB"},
		{1048575, "1.0 ms", "1.0 MiB"},
		{13100000, "13.1 ms", "12.5 MiB"},
		{67108864, "67.1 ms", "64.0 MiB"},
		{59999999999, "1.0 min", "55.9 GiB"},
		{90 * 60 * S, "1.5 h", "4.9 TiB"},
		{UINT64_MAX, "213504.0 d", "16.0 EiB"},
	};
	char buf[64];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(shown) / sizeof(shown[0]); i++) {
		assert_string_equal(tool_format_ns(buf, sizeof(buf), shown[i].value), shown[i].ns);
		assert_string_equal(tool_format_bytes(buf, sizeof(buf), shown[i].value), shown[i].bytes);
	}
}

static void wall_time_is_shown_in_utc_to_the_nanosecond(void **state)
{
	char buf[64];

	(void)state;
	assert_string_equal(tool_format_wall(buf, sizeof(buf), 0), "1970-01-01 00:00:00.000000000Z");
	assert_string_equal(tool_format_wall(buf, sizeof(buf), 1795255106123456789ull),
			    "2026-11-21 09:58:26.123456789Z");
	assert_string_equal(tool_format_wall(buf, sizeof(buf), UINT64_MAX), "2554-07-21 23:34:33.709551615Z");
}

static void hex_is_lower_case(void **state)
{
	const uint8_t bytes[] = {0x00, 0x0f, 0xa9, 0xff};
	char buf[9];

	(void)state;
	assert_string_equal(tool_format_hex(buf, bytes, sizeof(bytes)), "000fa9ff");
	assert_string_equal(tool_format_hex(buf, bytes, 0), "");
}

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

static const struct tool_option table[] = {
	{"from", 'f', "TIME", "begin here", 1},
	{"force", 'F', NULL, "replace", 2},
	{"report", 'r', "[=OUT]", "report to OUT", 3},
	{"a-very-long-option-name", 0, "SOMETHING", "help on a line of its own", 4},
	{0},
};
static const struct tool_options options = {"[-f TIME] FILE...\nshow FILE\n", "Does things.", table, "And more."};

/* Prints "id=value " for each option, then the operands. */
static int parse(bool stop, int argc, char **argv)
{
	const char *value = NULL;
	int id, operands, status;

	while ((id = tool_next_option(&options, stop, argc, argv, &value, &operands, &status)) > 0)
		printf("%d=%s ", id, value ? value : "-");
	if (id < 0)
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
				    "  -h, --help                show this text\n"
				    "      --version             show the version\n"
				    "  -q, --quiet               print nothing but errors\n"
				    "  -v, --verbose             print more; may be repeated\n"
				    "\nAnd more.\n");
	run(&o, STDOUT_FILENO, parse_all, ARGV("--version"));
	assert_int_equal(o.status, 0);
	assert_string_equal(o.text, "tool " TOOL_VERSION "\n");
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

static void a_full_disk_behind_stdout_is_told(void **state)
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
		cmocka_unit_test(durations_are_read_with_their_unit),
		cmocka_unit_test(what_is_no_duration_is_refused_and_changes_nothing),
		cmocka_unit_test(where_it_is_asked_for_a_bare_number_is_seconds),
		cmocka_unit_test(durations_are_read_as_they_are_shown),
		cmocka_unit_test(sizes_are_powers_of_1024),
		cmocka_unit_test(numbers_keep_to_their_range),
		cmocka_unit_test(times_and_sizes_are_shown_in_the_unit_that_fits),
		cmocka_unit_test(wall_time_is_shown_in_utc_to_the_nanosecond),
		cmocka_unit_test(hex_is_lower_case),
		cmocka_unit_test(options_come_in_all_forms_and_between_operands),
		cmocka_unit_test(options_of_a_command_are_left_to_it),
		cmocka_unit_test(a_subcommand_has_options_of_its_own),
		cmocka_unit_test(a_wrong_option_gets_one_specific_line),
		cmocka_unit_test(help_goes_to_stdout_in_aligned_columns),
		cmocka_unit_test(messages_are_one_escaped_line_each),
		cmocka_unit_test(a_full_disk_behind_stdout_is_told),
		cmocka_unit_test(a_reader_who_left_is_no_fault),
		cmocka_unit_test(a_file_never_becomes_a_standard_descriptor),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
