/* SPDX-License-Identifier: Apache-2.0 */
#include "keys/tool/nearest.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* How many letters have to be changed, left out or put in to make one word of the other (Levenshtein 1966). */
static size_t distance(const char *a, const char *b)
{
	size_t row[NEAREST_MAX + 2], n = strlen(b);

	for (size_t k = 0; k <= n; k++)
		row[k] = k;
	for (size_t i = 0; a[i]; i++) {
		size_t diagonal = row[0];

		row[0] = i + 1;
		for (size_t k = 0; k < n; k++) {
			size_t change = diagonal + (a[i] != b[k]), least = row[k] < row[k + 1] ? row[k] : row[k + 1];

			diagonal = row[k + 1];
			row[k + 1] = change < least + 1 ? change : least + 1;
		}
	}
	return row[n];
}

struct nearest nearest_to(const char *word)
{
	/* One letter in three may be wrong; a word that begins otherwise is less likely to be meant. */
	return (struct nearest){.word = word, .unlike = 2 * (strlen(word) / 3 + 1) + 1};
}

struct nearest nearest_to_part(char word[NEAREST_MAX + 1], const char *text, size_t n)
{
	snprintf(word, NEAREST_MAX + 1, "%.*s", n < NEAREST_MAX ? (int)n : NEAREST_MAX, text);
	return nearest_to(word);
}

void nearest_offer(struct nearest *n, const char *candidate)
{
	size_t unlike;

	if (strlen(n->word) > NEAREST_MAX || strlen(candidate) > NEAREST_MAX)
		return;
	unlike = 2 * distance(n->word, candidate) + (n->word[0] != candidate[0]);
	if (strlen(n->word) >= 3 && !strncmp(n->word, candidate, strlen(n->word)))
		unlike = 1; /* a beginning of it */
	if (unlike < n->unlike) {
		n->unlike = unlike;
		n->best = candidate;
	}
}

char *nearest_words(char *buf, size_t size, const struct nearest *n)
{
	buf[0] = '\0';
	if (n->best)
		snprintf(buf, size, "; did you mean '%s'?", n->best);
	return buf;
}
