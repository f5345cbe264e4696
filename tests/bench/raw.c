/* SPDX-License-Identifier: Apache-2.0 */
/*
 * raw CAPTURE: its events as a recorder without a format of its own would dump them: one C struct for each, in the
 * order of time. Kind and reserved bytes (4), then fields: 8 bytes for times, durations, sizes and addresses, 4 for
 * numbers, ids, enumerations and flags; texts as they are behind a length.
 */
#include <stdio.h>
#include <string.h>

#include "format/cursor.h"
#include "keys/evidence.h"

static size_t put(uint8_t *out, const struct event *ev)
{
	uint32_t word = ev->kind;
	size_t n = 4;

	memcpy(out, &word, 4);
	for (size_t f = 0; f < ev->shape->nfields; f++) {
		switch (ev->shape->fields[f].unit) {
		case UNIT_BOOT_NS:
		case UNIT_NS:
		case UNIT_BYTES:
		case UNIT_ADDRESS:
			memcpy(out + n, &ev->v[f], 8);
			n += 8;
			break;
		default:
			word = (uint32_t)ev->v[f];
			memcpy(out + n, &word, 4);
			n += 4;
		}
		if (ev->text[f]) {
			memcpy(out + n, ev->text[f], ev->v[f]);
			n += ev->v[f];
		}
	}
	return n;
}

int main(int argc, char **argv)
{
	static uint8_t record[FIELDS_MAX * (8 + TEXT_MAX)];
	struct evidence_options o = {.unverified = true, .scope = VERIFY_SEALS};
	struct evidence e;
	struct cursor *cur = NULL;
	struct event ev;
	struct fault why;
	int r = -1;

	if (argc != 2 || evidence_judge(&e, argv[1], &o, &why) < 0 || !e.readable) {
		fprintf(stderr, "raw: name a capture\n");
		return 1;
	}
	if (cursor_open(&cur, &e.reader, true, &why) == 0)
		while ((r = cursor_next(cur, &ev, &why)) > 0)
			if (ev.kind != KIND_epoch)
				fwrite(record, 1, put(record, &ev), stdout);
	if (r < 0)
		fprintf(stderr, "raw: %s\n", why.text);
	cursor_close(cur);
	evidence_close(&e);
	return r < 0 || fflush(stdout) != 0;
}
