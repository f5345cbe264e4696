// SPDX-License-Identifier: Apache-2.0
#include "analyze/report/html.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/escape.h"
#include "format/base/utf8.h"

/* The start tag is over: content or another tag follows. */
static void end_tag(struct html *h)
{
	if (!h->in_tag)
		return;
	text_add(h->out, h->empty ? "/>" : ">");
	h->in_tag = false;
	if (h->empty)
		h->depth--;
}

static void begin_tag(struct html *h, const char *name, const char *class, bool empty)
{
	end_tag(h);
	assert(h->depth < HTML_DEPTH_MAX);
	h->open[h->depth++] = name;
	h->in_tag = true;
	h->empty = empty;
	text_add(h->out, "<%s", name);
	if (class)
		html_attribute(h, "class", "%s", class);
}

void html_open(struct html *h, const char *name, const char *class)
{
	begin_tag(h, name, class, false);
}

void html_empty(struct html *h, const char *name, const char *class)
{
	begin_tag(h, name, class, true);
}

/* Where a line break before or after would show, or look odd; all others end a line, so that the page can be read. */
static bool is_inline(const char *name)
{
	static const char *const names[] = {"a", "b", "code", "span", "strong", "title", "svg", "rect", "sup"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

void html_close(struct html *h)
{
	end_tag(h);
	assert(h->depth > 0);
	text_add(h->out, "</%s>", h->open[--h->depth]);
	if (!is_inline(h->open[h->depth]))
		text_add(h->out, "\n");
}

void html_close_to(struct html *h, unsigned depth)
{
	end_tag(h);
	while (h->depth > depth)
		html_close(h);
}

/* Length of the character at s, up to n bytes; 0: there is none that XML may hold. */
static size_t character(const char *s, size_t n)
{
	uint32_t c;
	size_t len = utf8_decode(s, n, &c);

	if (len == 0 || (c & 0xfffe) == 0xfffe)
		return 0;
	return (c >= 0x20 && c < 0x7f) || c == '\n' || c >= 0xa0 ? len : 0;
}

static void escape(struct html *h, const char *s, size_t n)
{
	for (size_t i = 0, len; i < n; i += len) {
		len = character(s + i, n - i);
		switch (len ? s[i] : 0) {
		case '<':
			text_add(h->out, "&lt;");
			break;
		case '>':
			text_add(h->out, "&gt;");
			break;
		case '&':
			text_add(h->out, "&amp;");
			break;
		case '"':
			text_add(h->out, "&quot;");
			break;
		case '\'':
			text_add(h->out, "&#39;");
			break;
		default:
			text_add_bytes(h->out, len ? s + i : UTF8_REPLACEMENT, len ? len : strlen(UTF8_REPLACEMENT));
			len = len ? len : 1;
			break;
		}
	}
}

static void escape_text(struct html *h, struct text *t)
{
	escape(h, text_string(t), t->len);
	h->out->failed |= t->failed;
	text_clear(t);
}

/* Formats into memory of its own, then escapes. */
static void escape_format(struct html *h, const char *fmt, va_list args)
{
	struct text t = {0};

	text_add_args(&t, fmt, args);
	escape_text(h, &t);
}

void html_attribute(struct html *h, const char *name, const char *fmt, ...)
{
	va_list args;

	assert(h->in_tag);
	text_add(h->out, " %s=\"", name);
	va_start(args, fmt);
	escape_format(h, fmt, args);
	va_end(args);
	text_add(h->out, "\"");
}

void html_text(struct html *h, const char *fmt, ...)
{
	va_list args;

	end_tag(h);
	va_start(args, fmt);
	escape_format(h, fmt, args);
	va_end(args);
}

void html_bytes(struct html *h, const char *s, size_t n)
{
	end_tag(h);
	escape(h, s, n);
}

void html_string(struct html *h, const char *s)
{
	html_bytes(h, s, strlen(s));
}

void html_take(struct html *h, struct text *t)
{
	end_tag(h);
	escape_text(h, t);
}

void html_captured(struct html *h, const char *s, size_t n)
{
	struct text shown = {0};

	text_add_escaped(&shown, s, n);
	html_take(h, &shown);
}

void html_element(struct html *h, const char *name, const char *class, const char *fmt, ...)
{
	va_list args;

	html_open(h, name, class);
	end_tag(h);
	va_start(args, fmt);
	escape_format(h, fmt, args);
	va_end(args);
	html_close(h);
}

void html_literal(struct html *h, const char *s)
{
	end_tag(h);
	text_add(h->out, "%s", s);
}
