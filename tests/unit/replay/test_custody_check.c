/* SPDX-License-Identifier: Apache-2.0 */
/* What is remarked of a chain that holds: acts that are dated before the one before them, or before the recording. */
#include <stdio.h>

#include "tests/unit/sample.h"

#include "replay/verify/custody_check.h"

#define NACTS 4

/* The acts are of these times; what is printed of them, as text or JSON, into buf. */
static void printed(char *buf, size_t size, const int64_t times[NACTS], int64_t begun_s, bool json)
{
	struct custody_line lines[NACTS] = {0};
	struct trust_answer trust[NACTS] = {0};
	struct chain c = {.asked = true,
			  .custody = {.state = CUSTODY_INTACT, .lines = lines, .nlines = NACTS},
			  .trust = trust,
			  .same_file = true,
			  .begun_s = begun_s};
	struct text t = {0};
	struct json j = {.out = &t, .line = true};
	FILE *f;

	for (size_t i = 0; i < NACTS; i++) {
		lines[i].number = i + 1;
		lines[i].time_s = times[i];
		strcpy(lines[i].who, "ops");
	}
	if (json) {
		json_open(&j, NULL, '{');
		chain_json(&j, &c);
		json_close(&j, '}');
		snprintf(buf, size, "%s", text_string(&t));
		text_clear(&t);
		return;
	}
	f = fmemopen(buf, size, "w");
	assert_non_null(f);
	chain_print(f, &c);
	fclose(f);
}

static unsigned count(const char *text, const char *what)
{
	unsigned n = 0;

	for (const char *at = text; (at = strstr(at, what)); at++)
		n++;
	return n;
}

static void acts_in_order_draw_no_remark(void **state)
{
	char text[8192];

	(void)state;
	printed(text, sizeof(text), (const int64_t[]){5, 5, 6, 7}, 5, false);
	assert_null(strstr(text, "remark"));
	printed(text, sizeof(text), (const int64_t[]){5, 5, 6, 7}, 5, true);
	assert_null(strstr(text, "remark"));
}

static void an_act_dated_before_another_or_before_the_recording_is_remarked(void **state)
{
	char text[8192];

	(void)state;
	printed(text, sizeof(text), (const int64_t[]){4, 30, 20, 4}, 5, false);
	assert_int_equal(count(text, "remark: "), 3);
	assert_non_null(strstr(text, "remark: act 1 is dated before the recording began"));
	assert_non_null(strstr(text, "remark: act 3 is dated before the act before it"));
	assert_non_null(strstr(text, "remark: act 4 is dated before the act before it"));
	printed(text, sizeof(text), (const int64_t[]){4, 30, 20, 21}, 5, true);
	assert_non_null(strstr(text, "\"remarks\":[{\"act\":1,\"remark\":\"is dated before the recording began\"},"
				     "{\"act\":3,\"remark\":\"is dated before the act before it\"}]"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(acts_in_order_draw_no_remark),
		cmocka_unit_test(an_act_dated_before_another_or_before_the_recording_is_remarked),
	};

	return sodium_init() < 0 ? 1 : cmocka_run_group_tests_name("custody_check", tests, NULL, NULL);
}
