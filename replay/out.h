/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text out, fast: a large buffer in front of a file descriptor and the few formats that lines of events need.
 * Errors stick: after the first one everything is swallowed and out_finish() returns it.
 */
#ifndef GPUREC_REPLAY_OUT_H
#define GPUREC_REPLAY_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "format/base/fault.h"

struct out {
	int fd;
	int error; /* errno of the write that failed; EPIPE: the reader went away */
	char *buf;
	size_t len, room;
	bool ascii; /* durations with "us", not "µs" */
};

#define OUT_ROOM ((size_t)1 << 18)

/* `fd` stays the caller's. ERR_MEMORY. */
int out_open(struct out *o, int fd, struct fault *why);
void out_close(struct out *o);

/* Write what is buffered. 0, also when the reader of a pipe went away; else ERR_IO. */
int out_finish(struct out *o, struct fault *why);

/* Whether writing on has no use: an error or a closed pipe. */
static inline bool out_stopped(const struct out *o)
{
	return o->error != 0;
}

/* Make room for n bytes (n <= OUT_ROOM) at o->buf + o->len. */
void out_flush(struct out *o);
static inline char *out_reserve(struct out *o, size_t n)
{
	if (o->room - o->len < n)
		out_flush(o);
	return o->buf + o->len;
}

static inline void out_bytes(struct out *o, const char *text, size_t n)
{
	memcpy(out_reserve(o, n), text, n);
	o->len += n;
}

static inline void out_string(struct out *o, const char *text)
{
	out_bytes(o, text, strlen(text));
}

static inline void out_char(struct out *o, char c)
{
	*out_reserve(o, 1) = c;
	o->len++;
}

void out_u64(struct out *o, uint64_t value);
void out_s64(struct out *o, int64_t value);
void out_hex(struct out *o, uint64_t value);                         /* 0x7f00... */
void out_digits(struct out *o, uint64_t value, unsigned width);      /* with leading zeros, cut to the last `width` */
void out_seconds(struct out *o, uint64_t ns);                        /* 12.345678901 */
void out_duration(struct out *o, uint64_t ns);                       /* as one word: duration_word() */
void out_terminal(struct out *o, const char *text, size_t n);        /* escaped; n <= TEXT_MAX */
void out_terminal_quoted(struct out *o, const char *text, size_t n); /* "...", and a quote inside as \" */
void out_json(struct out *o, const char *text, size_t n);            /* escaped, in quotes; n <= TEXT_MAX */
void out_hex_bytes(struct out *o, const uint8_t *bytes, size_t n);
void out_pad(struct out *o, size_t from,
	     size_t width); /* blanks until `width` bytes stand after buffer position `from` */

#endif
