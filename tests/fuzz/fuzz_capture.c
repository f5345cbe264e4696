/* SPDX-License-Identifier: Apache-2.0 */
/* A whole file: opened, verified, read to the end, narrowed. What one of them says, the others must bear out. */
#include <stdarg.h>
#include <string.h>

#include "tests/unit/sample.h"

#include "format/narrow.h"
#include "tests/fuzz/fuzz.h"

/* Reads all events; whether there was no error. */
static bool read_all(const struct reader *r, uint64_t *nevents)
{
	struct cursor *cur = NULL;
	struct event ev;
	struct fault why;
	int ret;

	*nevents = 0;
	if (cursor_open(&cur, r, false, &why) < 0)
		return false;
	while ((ret = cursor_next(cur, &ev, &why)) > 0)
		*nevents += ev.kind != KIND_epoch;
	cursor_close(cur);
	return ret == 0;
}

static bool is_ok(enum verdict v)
{
	return v == VERDICT_OK || v == VERDICT_OK_SLICE || v == VERDICT_OK_REDACTED;
}

/* An authentic capture without its host class is authentic, and says that something was withheld. */
static void check_narrow(const struct reader *r)
{
	struct narrowing n = {1u << CLASS_host, 0, UINT64_MAX, NULL, 0};
	struct memory_sink m = {.fail_at = 0};
	uint64_t nwithheld = 0;
	struct fault why;

	MUST(narrow(r, &n, memory_sink_of(&m), &nwithheld, &why) == 0);
	MUST(is_ok(sample_verdict(m.bytes.data, m.bytes.len, NULL)));
	bytes_free(&m.bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	struct verification v;
	struct source src;
	struct reader r;
	struct fault why;
	uint64_t nevents;

	source_open_memory(&src, bytes, n);
	if (reader_open(&r, &src, &why) < 0) {
		MUST(why.code < 0 && why.text[0] && memchr(why.text, 0, sizeof(why.text)));
		return 0;
	}
	verify(&r, 1, &v);
	if (is_ok(v.verdict)) {
		MUST(read_all(&r, &nevents));
		MUST(nevents <= v.nevents);
		check_narrow(&r);
	} else {
		MUST(v.why.code < 0 && v.why.text[0]);
		read_all(&r, &nevents);
	}
	reader_close(&r);
	return 0;
}

unsigned fuzz_seeds(void (*give)(void *arg, const uint8_t *bytes, size_t n), void *arg)
{
	static const struct {
		unsigned nepochs;
		bool end;
	} shapes[] = {{0, true}, {1, true}, {3, true}, {2, false}};
	unsigned i;

	for (i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		struct memory_sink m = {.fail_at = 0};

		MUST(sample_write(&m, shapes[i].nepochs, shapes[i].end) == 0);
		give(arg, m.bytes.data, m.bytes.len);
		bytes_free(&m.bytes);
	}
	return i;
}
