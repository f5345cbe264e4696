/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes HTML that is well-formed XML, too: elements are closed in the order in which they were opened, attributes are
 * quoted, and all text is escaped. Nothing here can write a script, a style or an address, but for what the caller
 * gives as a literal.
 */
#ifndef GPUREC_ANALYZE_REPORT_HTML_H
#define GPUREC_ANALYZE_REPORT_HTML_H

#include "format/base/text.h"

#define HTML_DEPTH_MAX 32

/* A zeroed one with `out` is ready. */
struct html {
	struct text *out;
	const char *open[HTML_DEPTH_MAX]; /* names of elements: literals */
	unsigned depth;
	bool in_tag; /* "<name" is written, attributes may follow */
	bool empty;  /* with it: the element will have no content */
};

/* An element that html_close() ends; `class` may be NULL. Attributes may follow. */
void html_open(struct html *h, const char *name, const char *class);
/* An element without content. Attributes may follow; it ends by itself. */
void html_empty(struct html *h, const char *name, const char *class);
void html_close(struct html *h);
/* Close elements until `depth` are open. */
void html_close_to(struct html *h, unsigned depth);

/* An attribute of the element just opened; the value is escaped. */
__attribute__((format(printf, 3, 4))) void html_attribute(struct html *h, const char *name, const char *fmt, ...);

/* Text, escaped. */
__attribute__((format(printf, 2, 3))) void html_text(struct html *h, const char *fmt, ...);
/* The same for bytes that are printable by now; what is not becomes U+FFFD. */
void html_bytes(struct html *h, const char *s, size_t n);
void html_string(struct html *h, const char *s);
/* What `t` holds, and empties it: for what text.h writes. Failure of `t` becomes the page's. */
void html_take(struct html *h, struct text *t);
/* Bytes out of a capture: made printable as on a terminal, then escaped. */
void html_captured(struct html *h, const char *s, size_t n);

/* <name class="class">text</name> */
__attribute__((format(printf, 4, 5))) void html_element(struct html *h, const char *name, const char *class,
							const char *fmt, ...);

/* A literal of the program's own, as it is: the style sheet. */
void html_literal(struct html *h, const char *s);

#endif
