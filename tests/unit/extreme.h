/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A capture with every kind of format/kinds.h, whose fields hold the least, the greatest and the strangest values there
 * are: for tests that nothing is lost on the way to another format.
 */
#ifndef GPUREC_TESTS_EXTREME_H
#define GPUREC_TESTS_EXTREME_H

#include "tests/unit/made.h"
#include "tests/unit/sample.h"

#define EXTREME_ROWS 12 /* of each kind */

static const uint64_t extreme_numbers[] = {
	0,
	1,
	(UINT64_C(1) << 53) - 1,
	UINT64_C(1) << 53,
	(UINT64_C(1) << 53) + 1,
	INT64_MAX,
	(uint64_t)INT64_MIN,
	(uint64_t)-1,
	(uint64_t)-2,
	(uint64_t) - (INT64_C(1) << 53),
	(uint64_t) - (INT64_C(1) << 53) - 1,
	UINT32_MAX,
};
_Static_assert(sizeof(extreme_numbers) / sizeof(extreme_numbers[0]) == EXTREME_ROWS,
	       "each row has a number of its own");

/* Texts: each byte there is, alone and together; what is no UTF-8; what looks like an escape; what is long. */
static const struct {
	const char *bytes;
	size_t n;
} extreme_texts[] = {
	{"", 0},
	{"\0", 1},
	{"a\0b\0", 4},
	{"\xff\xfe\xc0\x80\xed\xa0\x80", 7},
	{"\xef\xbf\xbd", 3}, /* the very character that stands for what is no UTF-8 */
	{"\\u0041\\x41\\\\\"'", 13},
	{"\xe2\x80\xae\xe2\x80\x8b\xf0\x9f\x98\x80", 10},
	{"\n\r\t\b\f\x1b[2J\x7f", 11},
	{"\xf4\x8f\xbf\xbf\xf4\x90\x80\x80", 8},
};

static char extreme_bytes[256], many_bad[TEXT_MAX], many_quotes[TEXT_MAX];

static inline void extreme_text(unsigned row, const char **text, uint64_t *n)
{
	size_t nodd = sizeof(extreme_texts) / sizeof(extreme_texts[0]);

	if (row < nodd) {
		*text = extreme_texts[row].bytes;
		*n = extreme_texts[row].n;
		return;
	}
	*text = row == nodd ? extreme_bytes : row == nodd + 1 ? many_bad : many_quotes;
	*n = row == nodd ? sizeof(extreme_bytes) : TEXT_MAX;
}

/* A probe for each kind that counts them. */
static inline size_t extreme_probes(struct probe *probes)
{
	static const struct {
		uint16_t id;
		int flags;
		const char *name;
	} kinds[] = {
#define K(id, name, class, flags) {id, KIND_##flags, #name},
		KINDS(K)
#undef K
	};
	size_t n = 0;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (!(kinds[i].flags & KIND_COUNTED))
			continue;
		probes[n] = (struct probe){.id = (uint16_t)(n + 1), .kind = kinds[i].id};
		snprintf(probes[n++].name, sizeof(probes[0].name), "probe_of_%s", kinds[i].name);
	}
	return n;
}

static inline void extreme_add(struct writer *w, const struct kind *k, uint64_t probe, uint64_t first_ns)
{
	uint64_t v[FIELDS_MAX];
	const char *text[FIELDS_MAX];
	struct fault why;

	for (unsigned row = 0; row < EXTREME_ROWS; row++) {
		memset(text, 0, sizeof(text));
		for (uint8_t f = 0; f < k->nfields; f++) {
			v[f] = extreme_numbers[(row + f) % EXTREME_ROWS];
			if (k->fields[f].encoding == ENC_TEXT)
				extreme_text((row + f) % EXTREME_ROWS, &text[f], &v[f]);
		}
		/* The last row is at the last moment that there is. */
		v[0] = row + 1 < EXTREME_ROWS ? first_ns + row : UINT64_MAX - 1;
		if (k->flags & KIND_COUNTED && k->flags == KIND_CALL)
			v[F_call_probe] = probe;
		if (writer_add(w, k->id, v, text, &why))
			fail_msg("%s: %s", k->name, why.text);
	}
}

static inline const char *extreme_capture(void)
{
	struct probe probes[KINDS_MAX];
	size_t nprobes = extreme_probes(probes);
	struct identity id = sample_identity(1);
	struct clock_anchor start = sample_anchor(SAMPLE_BOOT), end = {UINT64_MAX, SAMPLE_WALL, UINT64_MAX};
	struct self_stats self = {0};
	struct counter counters[2 * KINDS_MAX];
	struct schema schema;
	struct writer *w = NULL;
	struct sink sink;
	struct fault why;
	const char *path = made_path("extreme.cap");

	for (size_t i = 0; i < sizeof(extreme_bytes); i++)
		extreme_bytes[i] = (char)i;
	memset(many_bad, 0x80, sizeof(many_bad));
	memset(many_quotes, '"', sizeof(many_quotes));
	assert_int_equal(schema_build(&schema, probes, nprobes, &why), 0);
	assert_int_equal(sink_open_file(&sink, path, true, &why), 0);
	assert_int_equal(writer_open(&w, sink, &id, probes, nprobes, &start, &why), 0);
	for (size_t i = 0, p = 0; i < schema.nkinds; i++) {
		while (p + 1 < nprobes && probes[p].kind != schema.kinds[i].id && probes[p].kind < schema.kinds[i].id)
			p++;
		extreme_add(w, &schema.kinds[i], probes[p].id, SAMPLE_BOOT + 100 * i);
	}
	for (size_t p = 0; p < nprobes; p++) {
		counters[2 * p] = (struct counter){probes[p].id, COUNTER_fired, EXTREME_ROWS};
		counters[2 * p + 1] = (struct counter){probes[p].id, COUNTER_recorded, EXTREME_ROWS};
	}
	if (writer_seal(w, UINT64_MAX, &end, &self, counters, (uint32_t)(2 * nprobes), &why) ||
	    writer_end(w, REASON_command, NULL, &end, counters, (uint32_t)(2 * nprobes), &why))
		fail_msg("%s", why.text);
	writer_close(w);
	schema_clear(&schema);
	return path;
}

#endif
