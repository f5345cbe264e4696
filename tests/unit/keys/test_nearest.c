/* SPDX-License-Identifier: Apache-2.0 */
/* "did you mean": which word is offered, and when none is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "keys/tool/nearest.h"

static const char *best_of(const char *word)
{
	static const char *const all[] = {"launch", "alloc", "free", "copy", "set", "wait", "switch", "waking", "exit"};
	struct nearest n = nearest_to(word);

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		nearest_offer(&n, all[i]);
	return n.best ? n.best : "";
}

static void a_misspelt_word_is_found(void **state)
{
	(void)state;
	assert_string_equal(best_of("lanuch"), "launch");
	assert_string_equal(best_of("launches"), "launch");
	assert_string_equal(best_of("swich"), "switch");
	assert_string_equal(best_of("aloc"), "alloc");
	assert_string_equal(best_of("waiting"), "waking");
	assert_string_equal(best_of("swi"), "switch"); /* its beginning */
}

static void what_resembles_nothing_gets_no_offer(void **state)
{
	char word[NEAREST_MAX * 2 + 1];

	(void)state;
	assert_string_equal(best_of("xyzzy"), "");
	assert_string_equal(best_of(""), "");
	assert_string_equal(best_of("q"), "");
	memset(word, 'a', sizeof(word) - 1);
	word[sizeof(word) - 1] = '\0';
	assert_string_equal(best_of(word), "");
}

static void candidates_of_any_length_are_taken(void **state)
{
	char word[NEAREST_MAX + 1], longer[NEAREST_MAX + 2];
	struct nearest n;

	(void)state;
	memset(word, 'a', NEAREST_MAX);
	word[NEAREST_MAX] = '\0';
	memset(longer, 'a', NEAREST_MAX + 1);
	longer[NEAREST_MAX + 1] = '\0';
	n = nearest_to(word);
	nearest_offer(&n, longer);
	assert_null(n.best);
	word[3] = 'b';
	longer[NEAREST_MAX] = '\0';
	nearest_offer(&n, longer);
	assert_ptr_equal(n.best, longer);
}

static void the_offer_is_a_part_of_a_sentence(void **state)
{
	struct nearest n = nearest_to("aloc");
	char buf[32];

	(void)state;
	assert_string_equal(nearest_words(buf, sizeof(buf), &n), "");
	nearest_offer(&n, "alloc");
	assert_string_equal(nearest_words(buf, sizeof(buf), &n), "; did you mean 'alloc'?");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_misspelt_word_is_found),
		cmocka_unit_test(what_resembles_nothing_gets_no_offer),
		cmocka_unit_test(candidates_of_any_length_are_taken),
		cmocka_unit_test(the_offer_is_a_part_of_a_sentence),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
