/* SPDX-License-Identifier: Apache-2.0 */
#include "keys/completeness.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "format/base/units.h"
#include "keys/tool/tool.h"

#define SHARE_ALL 1000000u   /* millionths */
#define SHARE_PERCENT 10000u /* millionths in one */
#define SHARE_DIGITS 4       /* of a percentage, after the point */

const struct absence_word absence_words[ABSENCES] = {
	[ABSENCE_NONE] = {"incomplete", "incomplete", "incomplete"},
	[ABSENCE_LOST] = {"lost", "lost", "lost"},
	[ABSENCE_LEFT_OUT] = {"left out", "left_out", "left_out"},
	[ABSENCE_NOT_ATTACHED] = {"unattached", "not_attached", "not_attached"},
	[ABSENCE_IN_FLIGHT] = {"in flight", "in_flight", "open"},
	[ABSENCE_NO_RETURN] = {"no return", "no_return", "open"},
};

enum absence absence_of_loss(uint8_t counter)
{
	switch (counter) {
	case COUNTER_sampled_out:
	case COUNTER_over_rate:
		return ABSENCE_LEFT_OUT;
	case COUNTER_no_entry:
	case COUNTER_in_flight:
		return ABSENCE_IN_FLIGHT;
	case COUNTER_thread_exit:
	case COUNTER_no_return:
		return ABSENCE_NO_RETURN;
	case COUNTER_not_attached:
		return ABSENCE_NOT_ATTACHED;
	default:
		return ABSENCE_LOST;
	}
}

enum absence absence_of(const struct schema *schema, uint8_t counter)
{
	const struct counter_type *type = schema_counter(schema, counter);

	return type && type->role == ROLE_LOST ? absence_of_loss(counter) : ABSENCE_NONE;
}

static void add_counter(struct completeness *c, const struct schema *schema, const struct counter *counter)
{
	const struct counter_type *type = schema_counter(schema, counter->id);

	if (type && type->role == ROLE_FIRED)
		c->happened += counter->value;
	switch (absence_of(schema, counter->id)) {
	case ABSENCE_NONE:
		break;
	case ABSENCE_LOST:
		c->lost += counter->value;
		break;
	case ABSENCE_LEFT_OUT:
		c->left_out += counter->value;
		break;
	case ABSENCE_NOT_ATTACHED:
		c->not_attached += counter->value;
		break;
	case ABSENCE_IN_FLIGHT:
	case ABSENCE_NO_RETURN:
		c->open += counter->value;
		break;
	}
}

void completeness_of(struct completeness *c, const struct evidence *e)
{
	const struct verification *v = &e->verification;
	const struct reader *r = &e->reader;
	const struct counter *counters;
	uint32_t n;

	*c = (struct completeness){0};
	if (!e->readable || v->nepochs > r->nepochs)
		return;
	c->nwithheld = v->nwithheld;
	c->ended = r->tail == TAIL_END && v->nepochs == r->nepochs && v->verdict < VERDICT_MALFORMED;
	counters = reader_counters_of(r, v->nepochs, c->ended, &n);
	for (uint32_t i = 0; i < n; i++)
		add_counter(c, &r->header.schema, &counters[i]);
}

uint64_t completeness_absent(const struct completeness *c)
{
	return c->lost + c->left_out + c->not_attached;
}

bool completeness_is_full(const struct completeness *c)
{
	return c->ended && completeness_absent(c) == 0 && c->nwithheld == 0;
}

/* "71.9 %"; what is not nothing is not called 0.0 %, nor what is not all 100.0 %. */
static const char *share(char buf[16], uint64_t part, uint64_t whole)
{
	unsigned __int128 tenths = whole ? ((unsigned __int128)part * 1000 + whole / 2) / whole : 0;

	if (part > 0 && tenths == 0)
		return "less than 0.1 %";
	if (part < whole && tenths == 1000)
		return "more than 99.9 %";
	snprintf(buf, 16, "%u.%u %%", (unsigned)(tenths / 10), (unsigned)(tenths % 10));
	return buf;
}

/* Appends; `of`: what it is a part of, unless that was said before. */
static void add_part(char *buf, const char *what, uint64_t n, uint64_t of)
{
	size_t len = strlen(buf);
	char part[16], whole[40] = "";

	if (!n)
		return;
	if (!len)
		snprintf(whole, sizeof(whole), " of %" PRIu64 " events", of);
	snprintf(buf + len, COMPLETENESS_WORDS - len, "%s%" PRIu64 "%s (%s) %s %s", len ? ", " : "", n, whole,
		 share(part, n, of), n == 1 ? "was" : "were", what);
}

char *completeness_words(char *buf, const struct completeness *c)
{
	size_t len;

	buf[0] = '\0';
	add_part(buf, "lost", c->lost, c->happened);
	add_part(buf, "left out on purpose", c->left_out, c->happened);
	len = strlen(buf);
	if (c->not_attached)
		snprintf(buf + len, COMPLETENESS_WORDS - len,
			 "%s%" PRIu64 " librar%s had no probes, or not all, for a while", len ? ", " : "",
			 c->not_attached, c->not_attached == 1 ? "y" : "ies");
	return buf;
}

char *completeness_missing(char *buf, const struct evidence *e)
{
	struct completeness c;

	completeness_of(&c, e);
	return completeness_words(buf, &c);
}

void unread_words(struct fault *why, const struct reader *r, uint64_t nread)
{
	const struct fault was = *why;
	char place[48] = "";
	uint64_t whole = 0;

	for (uint64_t e = 0; e < r->nepochs; e++)
		for (uint32_t i = 0; i < r->epochs[e].nchunks; i++)
			whole += r->epochs[e].chunks[i].withheld ? 0 : r->epochs[e].chunks[i].nrows;
	if (was.offset != FAULT_NOWHERE)
		snprintf(place, sizeof(place), " at byte %" PRIu64, was.offset);
	/* What is behind a broken place is not known, nor how much that is. */
	if (r->tail == TAIL_BROKEN && nread >= whole)
		fault_set(why, was.code, FAULT_NOWHERE,
			  "%" PRIu64 " events were read: the capture is damaged%s (%.160s)", nread, place, was.text);
	else
		fault_set(why, was.code, FAULT_NOWHERE,
			  "%" PRIu64 " of %" PRIu64 " events were read: the capture is damaged%s (%.160s)", nread,
			  whole, place, was.text);
}

static int bad_limit(const char *text, struct fault *why)
{
	return fault_set(why, ERR_INPUT, FAULT_NOWHERE,
			 "'%.40s' is not a number of events like 100, nor a share like 1%% or 0.25%%", text);
}

int loss_limit_parse(struct loss_limit *l, const char *text, struct fault *why)
{
	size_t whole = strspn(text, "0123456789"), digits = 0;
	uint64_t most = 0, unit = SHARE_PERCENT;
	const char *p = text + whole;

	if (whole == 0)
		return bad_limit(text, why);
	if (*p == '\0') {
		if (number_parse(text, 0, UINT64_MAX, &most, why) < 0)
			return ERR_INPUT;
		*l = (struct loss_limit){.most = most};
		return 0;
	}
	for (size_t i = 0; i < whole && most <= SHARE_ALL; i++)
		most = most * 10 + (uint64_t)(text[i] - '0') * SHARE_PERCENT;
	if (*p == '.')
		for (p++; digits < SHARE_DIGITS && *p >= '0' && *p <= '9'; p++, digits++)
			most += (uint64_t)(*p - '0') * (unit /= 10);
	if (strcmp(p, "%") != 0 || most > SHARE_ALL)
		return bad_limit(text, why);
	*l = (struct loss_limit){.is_share = true, .most = most};
	return 0;
}

bool completeness_within(const struct completeness *c, const struct loss_limit *l)
{
	uint64_t missing = completeness_absent(c);

	if (!l->is_share)
		return missing <= l->most;
	return (unsigned __int128)missing * SHARE_ALL <= (unsigned __int128)c->happened * l->most;
}
