/* SPDX-License-Identifier: Apache-2.0 */
#include "keys/tool/tool.h"

#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "format/base/escape.h"
#include "keys/tool/wrap.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define MESSAGE_MAX 2048 /* bytes of a message before escaping; what is longer is cut */

bool tool_quiet;
int tool_verbose;
bool tool_ascii;

/* Set once by tool_init(), before there is a second thread. */
static const char *tool_name = "gpurec";

static bool locale_has_utf8(void)
{
	locale_t locale = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
	bool has = locale && strcmp(nl_langinfo_l(CODESET, locale), "UTF-8") == 0;

	/* One that is not installed is the C locale. */
	if (locale)
		freelocale(locale);
	return has;
}

void tool_init(const char *name)
{
	int fd;

	tool_name = name;
	tool_ascii = !locale_has_utf8();
	/* Otherwise the first file opened would become "standard error" and messages would land in a capture. */
	do {
		fd = open("/dev/null", O_RDWR);
	} while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* a file size limit is reported as a full disk is, and nothing half written stays */
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/*
 * The signs beside numbers, in ASCII where the locale has no UTF-8; returns the new length. Names that hold such a sign
 * stay as they are, unless they look like a number with its unit.
 */
static size_t spell(char *text, size_t n)
{
	static const struct {
		const char *sign, *ascii;
		bool before; /* the number follows it */
	} signs[] = {{"µs", "us", false}, {"±", "+-", true}, {"°C", "C", false}};
	size_t len = 0;

	for (size_t i = 0, k; i < n && tool_ascii;) {
		for (k = 0; k < COUNT(signs); k++) {
			size_t sign = strlen(signs[k].sign), number = len - (len && text[len - 1] == ' ');

			if (n - i >= sign && !memcmp(text + i, signs[k].sign, sign) &&
			    (signs[k].before ? i + sign < n && is_digit(text[i + sign])
					     : number && is_digit(text[number - 1])))
				break;
		}
		if (k == COUNT(signs)) {
			text[len++] = text[i++];
			continue;
		}
		i += strlen(signs[k].sign);
		memcpy(text + len, signs[k].ascii, strlen(signs[k].ascii));
		len += strlen(signs[k].ascii);
	}
	return tool_ascii ? len : n;
}

void tool_print(char *text, size_t n)
{
	struct winsize window;

	if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &window))
		window.ws_col = 0;
	wrap_print(stdout, text, spell(text, n), window.ws_col);
}

/* "name: before: text after\n" in one write; `before` and `after` may be "". */
static void message(const char *before, const char *text, const char *after)
{
	char line[MESSAGE_MAX], shown[MESSAGE_MAX * ESCAPE_GROWTH + 1];
	int saved = errno;

	snprintf(line, sizeof(line), "%s%s%s", before, *before ? ": " : "", text);
	escape_terminal(shown, sizeof(shown), line, strlen(line));
	shown[spell(shown, strlen(shown))] = '\0';
	fprintf(stderr, "%s: %s%s\n", tool_name, shown, after);
	errno = saved;
}

void tool_note(const char *fmt, ...)
{
	char text[MESSAGE_MAX];
	va_list args;

	if (tool_quiet)
		return;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	message("", text, "");
}

void tool_error(const char *fmt, ...)
{
	char text[MESSAGE_MAX];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	message("", text, "");
}

int tool_usage(const char *fmt, ...)
{
	char text[MESSAGE_MAX], hint[128];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	snprintf(hint, sizeof(hint), " (%s --help shows the options)", tool_name);
	message("", text, hint);
	return TOOL_USAGE;
}

int tool_fault(const char *about, const struct fault *why)
{
	char where[64] = "";

	if (why->offset != FAULT_NOWHERE)
		snprintf(where, sizeof(where), " (at byte %llu)", (unsigned long long)why->offset);
	message(about ? about : "", why->text, where);
	return TOOL_FAILED;
}

/* Whether stdout is a pipe or socket whose reader has left. */
static bool reader_has_left(void)
{
	struct pollfd out = {.fd = STDOUT_FILENO};

	return poll(&out, 1, 0) == 1 && (out.revents & (POLLERR | POLLHUP));
}

int tool_finish(int status)
{
	bool failed = ferror(stdout) != 0;

	errno = 0;
	if (fflush(stdout) != 0)
		failed = true;
	/* A reader that has seen enough and left misses nothing. errno is 0 when an earlier write failed, not this one.
	 */
	if (!failed || errno == EPIPE || (errno == 0 && reader_has_left()))
		return status;
	/* The output is cut short anyway: one more byte finds the reason of the earlier failure. */
	if (errno == 0 && write(STDOUT_FILENO, "\n", 1) == 1)
		errno = EIO;
	tool_error("cannot write to standard output: %s", strerror(errno));
	return TOOL_FAILED;
}

const char *tool_get_name(void)
{
	return tool_name;
}
