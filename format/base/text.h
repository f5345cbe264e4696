/* SPDX-License-Identifier: Apache-2.0 */
/* Text that grows. No locale, no floating point: the same numbers give the same bytes everywhere. */
#ifndef GPUREC_FORMAT_BASE_TEXT_H
#define GPUREC_FORMAT_BASE_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A zeroed one is empty. `s` is NULL or ends with a NUL. */
struct text {
	char *s;
	size_t len;
	size_t room;
	bool failed; /* no memory once: what was added since may be missing, and nothing more is added */
};

__attribute__((format(printf, 2, 3))) void text_add(struct text *t, const char *fmt, ...);
__attribute__((format(printf, 2, 0))) void text_add_args(struct text *t, const char *fmt, va_list args);
void text_add_bytes(struct text *t, const char *s, size_t n);
void text_add_string(struct text *t, const char *s);
/* What `from` holds, and empties it; where it failed, so did `t`. */
void text_take(struct text *t, struct text *from);
/* The same, right-aligned in so many columns: characters of UTF-8 (a µ has two bytes). */
void text_take_right(struct text *t, struct text *from, unsigned width);

/* As duration_text() and size_text() show them (format/base/units.h). */
void text_add_ns(struct text *t, uint64_t ns);
void text_add_size(struct text *t, uint64_t bytes);
/* "33.3": part of whole in percent with one digit after the point; "0.0" of nothing. */
void text_add_percent(struct text *t, uint64_t part, uint64_t whole);
/* Text out of a capture, made harmless for a line of text, and (no quotes added) for a JSON string. */
void text_add_escaped(struct text *t, const char *s, size_t n);
void text_add_json(struct text *t, const char *s, size_t n);

/* The line at *at, without its end, and moves behind it; false: there is none. */
bool text_next_line(const char **at, const char **line, size_t *n);

/* "" instead of NULL. */
const char *text_string(const struct text *t);
void text_clear(struct text *t);

#endif
