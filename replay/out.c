/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/out.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "format/base/escape.h"
#include "format/base/units.h"
#include "format/schema.h"

static const char two_digits[] = "00010203040506070809101112131415161718192021222324252627282930313233343536373839"
				 "40414243444546474849505152535455565758596061626364656667686970717273747576777879"
				 "8081828384858687888990919293949596979899";
static const char hex_digits[] = "0123456789abcdef";

_Static_assert(TEXT_MAX *ESCAPE_GROWTH + 1 <= OUT_ROOM, "a text fits the buffer");

int out_open(struct out *o, int fd, struct fault *why)
{
	char *buf = malloc(OUT_ROOM);

	if (!buf)
		return fault_no_memory(why);
	*o = (struct out){.fd = fd, .buf = buf, .room = OUT_ROOM};
	return 0;
}

void out_close(struct out *o)
{
	free(o->buf);
	*o = (struct out){.fd = -1};
}

void out_flush(struct out *o)
{
	size_t done = 0;

	while (!o->error && done < o->len) {
		ssize_t n = write(o->fd, o->buf + done, o->len - done);

		if (n >= 0)
			done += (size_t)n;
		else if (errno != EINTR)
			o->error = errno;
	}
	o->len = 0;
}

int out_finish(struct out *o, struct fault *why)
{
	out_flush(o);
	if (!o->error || o->error == EPIPE)
		return 0;
	errno = o->error;
	return fault_errno(why, "cannot write the output");
}

/* Decimal digits of `value` so that they end just before `end`; returns where they begin. */
static char *digits_before(char *end, uint64_t value)
{
	while (value >= 100) {
		end -= 2;
		memcpy(end, two_digits + value % 100 * 2, 2);
		value /= 100;
	}
	if (value >= 10) {
		end -= 2;
		memcpy(end, two_digits + value * 2, 2);
	} else {
		*--end = (char)('0' + value);
	}
	return end;
}

void out_u64(struct out *o, uint64_t value)
{
	char text[20], *end = text + sizeof(text), *from = digits_before(end, value);

	out_bytes(o, from, (size_t)(end - from));
}

void out_s64(struct out *o, int64_t value)
{
	if (value < 0) {
		out_char(o, '-');
		out_u64(o, 0 - (uint64_t)value);
	} else {
		out_u64(o, (uint64_t)value);
	}
}

void out_hex(struct out *o, uint64_t value)
{
	char text[18], *from = text + sizeof(text);

	do {
		*--from = hex_digits[value & 15];
		value >>= 4;
	} while (value);
	*--from = 'x';
	*--from = '0';
	out_bytes(o, from, (size_t)(text + sizeof(text) - from));
}

void out_digits(struct out *o, uint64_t value, unsigned width)
{
	char *p = out_reserve(o, width);

	for (unsigned i = width; i > 0; i--, value /= 10)
		p[i - 1] = (char)('0' + value % 10);
	o->len += width;
}

void out_seconds(struct out *o, uint64_t ns)
{
	out_u64(o, ns / 1000000000);
	out_char(o, '.');
	out_digits(o, ns % 1000000000, 9);
}

void out_duration(struct out *o, uint64_t ns)
{
	char buf[UNITS_CHARS], *micro;

	duration_word(buf, ns);
	if (o->ascii && (micro = strstr(buf, "µ"))) {
		*micro = 'u';
		memmove(micro + 1, micro + strlen("µ"), strlen(micro + strlen("µ")) + 1);
	}
	out_string(o, buf);
}

void out_terminal(struct out *o, const char *text, size_t n)
{
	char *p = out_reserve(o, n * ESCAPE_GROWTH + 1);

	o->len += escape_terminal(p, n * ESCAPE_GROWTH + 1, text, n);
}

void out_terminal_quoted(struct out *o, const char *text, size_t n)
{
	const char *quote;

	out_char(o, '"');
	for (; (quote = memchr(text, '"', n)); n -= (size_t)(quote + 1 - text), text = quote + 1) {
		out_terminal(o, text, (size_t)(quote - text));
		out_bytes(o, "\\\"", 2);
	}
	out_terminal(o, text, n);
	out_char(o, '"');
}

void out_json(struct out *o, const char *text, size_t n)
{
	char *p;

	out_char(o, '"');
	p = out_reserve(o, n * ESCAPE_GROWTH + 1);
	o->len += escape_json(p, n * ESCAPE_GROWTH + 1, text, n);
	out_char(o, '"');
}

void out_hex_bytes(struct out *o, const uint8_t *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		out_char(o, hex_digits[bytes[i] >> 4]);
		out_char(o, hex_digits[bytes[i] & 15]);
	}
}

void out_pad(struct out *o, size_t from, size_t width)
{
	size_t n = o->len - from < width ? width - (o->len - from) : 0;

	memset(out_reserve(o, n), ' ', n);
	o->len += n;
}
