/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines of JSON lose nothing: of a capture with every kind of format/kinds.h, whose fields hold the least, the greatest
 * and the strangest values there are, each line is read back and compared with the cursor's event, field by field, to
 * the bit.
 */
#include "keys/evidence.h"
#include "replay/export/exporter.h"
#include "tests/unit/extreme.h"

#define LINE_MAX_BYTES ((size_t)64 << 10)

/* JSON, strictly ----------------------------------------------------------------------------------------------------
 */

struct json {
	const char *at;
	char key[NAME_MAX_BYTES + 16];
	bool is_text;
	char bytes[LINE_MAX_BYTES]; /* of a text, decoded; of a number, its digits */
	size_t n;
};

static void put_utf8(struct json *j, uint32_t cp)
{
	if (cp < 0x80) {
		j->bytes[j->n++] = (char)cp;
	} else if (cp < 0x800) {
		j->bytes[j->n++] = (char)(0xc0 | cp >> 6);
		j->bytes[j->n++] = (char)(0x80 | (cp & 63));
	} else if (cp < 0x10000) {
		j->bytes[j->n++] = (char)(0xe0 | cp >> 12);
		j->bytes[j->n++] = (char)(0x80 | (cp >> 6 & 63));
		j->bytes[j->n++] = (char)(0x80 | (cp & 63));
	} else {
		j->bytes[j->n++] = (char)(0xf0 | cp >> 18);
		j->bytes[j->n++] = (char)(0x80 | (cp >> 12 & 63));
		j->bytes[j->n++] = (char)(0x80 | (cp >> 6 & 63));
		j->bytes[j->n++] = (char)(0x80 | (cp & 63));
	}
}

static uint32_t four_hex(struct json *j)
{
	char digits[5] = {0}, *end;
	uint32_t v;

	memcpy(digits, j->at, 4);
	v = (uint32_t)strtoul(digits, &end, 16);
	assert_ptr_equal(end, digits + 4);
	j->at += 4;
	return v;
}

static void read_string(struct json *j)
{
	assert_int_equal(*j->at++, '"');
	for (j->n = 0; *j->at != '"';) {
		uint32_t cp;

		assert_true((unsigned char)*j->at >= 0x20);
		if (*j->at != '\\') {
			j->bytes[j->n++] = *j->at++;
			continue;
		}
		j->at++;
		if (*j->at != 'u') {
			assert_non_null(strchr("\"\\/", *j->at));
			j->bytes[j->n++] = *j->at++;
			continue;
		}
		j->at++;
		cp = four_hex(j);
		if (cp >= 0xd800 && cp < 0xdc00) {
			assert_memory_equal(j->at, "\\u", 2);
			j->at += 2;
			cp = 0x10000 + ((cp - 0xd800) << 10) + (four_hex(j) - 0xdc00);
		}
		put_utf8(j, cp);
	}
	j->at++;
}

/* The next member; false at the end of the object. */
static bool next_member(struct json *j)
{
	if (*j->at == '}') {
		assert_string_equal(j->at, "}\n");
		return false;
	}
	assert_true(*j->at == '{' || *j->at == ',');
	j->at++;
	read_string(j);
	assert_true(j->n < sizeof(j->key));
	memcpy(j->key, j->bytes, j->n);
	j->key[j->n] = '\0';
	assert_int_equal(*j->at++, ':');
	j->is_text = *j->at == '"';
	if (j->is_text) {
		read_string(j);
	} else {
		for (j->n = 0; *j->at == '-' || (*j->at >= '0' && *j->at <= '9');)
			j->bytes[j->n++] = *j->at++;
		assert_true(j->n > 0);
	}
	j->bytes[j->n] = '\0';
	return true;
}

static uint64_t number_of(const struct json *j)
{
	char *end;
	uint64_t v = j->bytes[0] == '-' ? (uint64_t)strtoll(j->bytes, &end, 10) : strtoull(j->bytes, &end, 0);

	assert_int_equal(*end, '\0');
	/* What a reader with binary64 numbers would round is text, but for times (docs/SCHEMA.md). */
	return v;
}

static void need(struct json *j, const char *key)
{
	if (!next_member(j) || strcmp(j->key, key) != 0)
		fail_msg("%s is missing: there is %s", key, j->key);
}

static void from_hex(struct json *j)
{
	for (size_t i = 0; i < j->n / 2; i++) {
		char digits[3] = {j->bytes[2 * i], j->bytes[2 * i + 1], 0};

		j->bytes[i] = (char)strtoul(digits, NULL, 16);
	}
	j->n /= 2;
}

static void compare_text(struct json *j, const struct event *ev, uint8_t f)
{
	char hex[NAME_MAX_BYTES + 8];
	const char *before = j->at;

	assert_true(j->is_text);
	snprintf(hex, sizeof(hex), "%s_hex", ev->shape->fields[f].name);
	if (*j->at == ',') {
		struct json *ahead = malloc(sizeof(*ahead));

		assert_non_null(ahead);
		ahead->at = before;
		if (next_member(ahead) && !strcmp(ahead->key, hex)) {
			j->at = ahead->at;
			memcpy(j->bytes, ahead->bytes, ahead->n);
			j->n = ahead->n;
			from_hex(j);
		}
		free(ahead);
	}
	if (j->n != ev->v[f] || (j->n && memcmp(j->bytes, ev->text[f], j->n) != 0))
		fail_msg("%s.%s: another text", ev->shape->name, ev->shape->fields[f].name);
}

static void compare_line(struct json *j, const char *line, const struct event *ev)
{
	j->at = line;
	need(j, "at");
	assert_int_equal(number_of(j), ev->v[0]);
	need(j, "kind");
	assert_string_equal(j->bytes, ev->shape->name);
	for (uint8_t f = 1; f < ev->shape->nfields; f++) {
		const struct field *field = &ev->shape->fields[f];

		need(j, field->name);
		if (field->encoding == ENC_TEXT) {
			compare_text(j, ev, f);
			continue;
		}
		if (field->unit == UNIT_ID && !strcmp(field->name, "probe"))
			need(j, "probe_id");
		if (number_of(j) != ev->v[f])
			fail_msg("%s.%s: %s for %llu", ev->shape->name, field->name, j->bytes,
				 (unsigned long long)ev->v[f]);
		if (!j->is_text && field->unit != UNIT_NS && field->unit != UNIT_BOOT_NS &&
		    strcmp(field->name, "probe"))
			assert_true((int64_t)ev->v[f] <= INT64_C(1) << 53 && (int64_t)ev->v[f] >= -(INT64_C(1) << 53));
	}
	/* What else is reported of an event is behind its fields. */
	while (next_member(j))
		assert_true(!strcmp(j->key, "thread") || !strcmp(j->key, "kernel"));
}

static void every_field_of_every_kind_comes_back_to_the_bit(void **state)
{
	const struct evidence_options o = {.unverified = true};
	struct filter *all = calloc(1, sizeof(*all));
	char *line = malloc(LINE_MAX_BYTES);
	struct json *j = calloc(1, sizeof(*j));
	const char *path = extreme_capture();
	struct replay replay = {.filter = all};
	uint64_t seen[KINDS_MAX] = {0};
	struct cursor *cur = NULL;
	FILE *f = tmpfile();
	struct evidence e;
	struct event ev;
	struct fault why;
	int r;

	(void)state;
	assert_true(all && line && j && f);
	all->to_ns = NO_TIME;
	assert_int_equal(evidence_judge(&e, path, &o, &why), 0);
	assert_int_equal(e.verification.verdict, VERDICT_UNTRUSTED); /* but consistent */
	replay.evidence = &e;
	if (jsonl_write(&replay, fileno(f), &why))
		fail_msg("%s", why.text);
	rewind(f);
	assert_int_equal(cursor_open(&cur, &e.reader, false, &why), 0);
	while ((r = cursor_next(cur, &ev, &why)) > 0) {
		if (ev.kind == KIND_epoch)
			continue;
		do
			assert_non_null(fgets(line, (int)LINE_MAX_BYTES, f));
		while (strncmp(line, "{\"at\":", 6) != 0);
		compare_line(j, line, &ev);
		seen[ev.shape - e.reader.header.schema.kinds]++;
	}
	assert_int_equal(r, 0);
	while (fgets(line, (int)LINE_MAX_BYTES, f))
		assert_int_not_equal(strncmp(line, "{\"at\":", 6), 0);
	for (size_t k = 0; k < e.reader.header.schema.nkinds; k++)
		assert_int_equal(seen[k], EXTREME_ROWS);
	cursor_close(cur);
	evidence_close(&e);
	fclose(f);
	free(j);
	free(line);
	free(all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_field_of_every_kind_comes_back_to_the_bit),
	};

	return cmocka_run_group_tests(tests, NULL, made_clear);
}
