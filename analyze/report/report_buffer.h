/* SPDX-License-Identifier: Apache-2.0 */
/* Text that grows. No locale, no floating point: the same numbers give the same bytes everywhere. */
#ifndef GPUREC_ANALYZE_REPORT_REPORT_BUFFER_H
#define GPUREC_ANALYZE_REPORT_REPORT_BUFFER_H

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
void text_add_bytes(struct text *t, const char *s, size_t n);

/* "17.0 µs", "13.1 ms", "4.00 s": three significant digits (whole ns below 1 µs, whole seconds from 1000 s on). */
void text_add_ns(struct text *t, uint64_t ns);
/* "+12.345678 s": since begin_ns, which is before or the same. */
void text_add_since(struct text *t, uint64_t begin_ns, uint64_t at_ns);
/* What shows a thread's events of that time, to be copied: "gpureplay CAPTURE --from +1.2s --to +1.3s --tid 7". */
void text_add_replay(struct text *t, uint64_t begin_ns, uint64_t from_ns, uint64_t to_ns, uint32_t tid);
/* "64.0 MiB", "512 B": three significant digits, powers of 1024. */
void text_add_size(struct text *t, uint64_t bytes);
/* "33.3": part of whole in percent with one digit after the point; "0.0" of nothing. */
void text_add_percent(struct text *t, uint64_t part, uint64_t whole);
/* Text out of a capture, made harmless for a line of text. */
void text_add_escaped(struct text *t, const char *s, size_t n);

/* "" instead of NULL. */
const char *text_string(const struct text *t);
void text_clear(struct text *t);

#endif
