/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conditions: whatever is typed is either refused with a place inside it, or reads the same a second time, binds or is
 * refused likewise, and gives the same answer about an event whenever it is asked; its negation gives the other one.
 */
#include <string.h>

#include "tests/unit/sample.h"

#include "replay/where/where.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/event.h"

static struct schema schema;

/* One event of each kind, its numbers and texts made from the input. */
static void make_event(struct event *ev, const struct kind *k, const uint8_t *bytes, size_t n)
{
	*ev = event_made(k->id, k, n);
	for (uint8_t f = 0; f < k->nfields; f++) {
		if (k->fields[f].encoding == ENC_TEXT) {
			event_room(ev)->v[f] = n < 16 ? n : 16;
			event_room(ev)->text[f] = (const char *)bytes;
		} else {
			event_room(ev)->v[f] = n > f ? (uint64_t)bytes[f] << bytes[n - 1] % 57 : f;
		}
	}
}

static void ask(const struct where *w, const struct where *contrary, const uint8_t *bytes, size_t n)
{
	struct tasks people = {0};
	struct event ev;
	struct fault why;

	for (size_t k = 0; k < schema.nkinds; k++) {
		make_event(&ev, &schema.kinds[k], bytes, n);
		MUST(tasks_feed(&people, &ev, &why) == 0);
		MUST(where_holds(w, &ev, &people) == where_holds(w, &ev, &people));
		MUST(!contrary || where_holds(w, &ev, &people) != where_holds(contrary, &ev, &people));
	}
	tasks_clear(&people);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	char text[WHERE_TEXT_MAX + 2], negated[sizeof(text) + 8];
	struct where *w = NULL, *contrary = NULL;
	struct fault why = {0};
	int r;

	if (!schema.nkinds)
		MUST(schema_build(&schema, sample_probes, SAMPLE_NPROBES, &why) == 0);
	n = n < sizeof(text) - 1 ? n : sizeof(text) - 1;
	memcpy(text, bytes, n);
	text[n] = '\0';
	r = where_parse(&w, text, &why);
	if (r) {
		MUST(r == ERR_INPUT && !w && why.text[0] && why.offset <= strlen(text));
		return 0;
	}
	MUST(!strcmp(where_text(w), text));
	snprintf(negated, sizeof(negated), "not (%s)", text);
	/* It may be too long, or too deep, for one more pair of parentheses. */
	if (where_parse(&contrary, negated, &why))
		contrary = NULL;
	r = where_bind(w, &schema, 1000, &why);
	if (r) {
		MUST(r == ERR_INPUT && why.text[0] && why.offset <= strlen(text));
		MUST(!contrary || where_bind(contrary, &schema, 1000, &why) == r);
	} else {
		MUST(!contrary || where_bind(contrary, &schema, 1000, &why) == 0);
		ask(w, contrary, bytes, n);
		MUST(where_bind(w, &schema, 1000, &why) == 0);
		ask(w, contrary, bytes, n);
	}
	where_free(w);
	where_free(contrary);
	return 0;
}

unsigned fuzz_seeds(void (*give)(void *arg, const uint8_t *bytes, size_t n), void *arg)
{
	static const char *const seeds[] = {
		"kind=launch and dur>1ms",
		"bytes>=64M or ret!=0",
		"not (call~Async or thread=\"a b\\x1b\\u{202e}\") and at<1.5s",
		"alloc.memory=pinned and addr=0x7f0000000000 and ret=-110",
		"prev_state=sleeping or process~py or name~\"x\\\"\\\\\"",
		"((((at>12s))))",
		"gpu.memory>1G or memory=device or probe=cudaMalloc",
	};

	for (size_t i = 0; i < sizeof(seeds) / sizeof(seeds[0]); i++)
		give(arg, (const uint8_t *)seeds[i], strlen(seeds[i]));
	return sizeof(seeds) / sizeof(seeds[0]);
}
