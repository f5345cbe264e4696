/* SPDX-License-Identifier: Apache-2.0 */
/* "did you mean": the word that somebody may have meant. */
#ifndef GPUREC_KEYS_TOOL_NEAREST_H
#define GPUREC_KEYS_TOOL_NEAREST_H

#include <stddef.h>

#define NEAREST_MAX 63 /* bytes of a word; longer ones resemble nothing */

/* A search; a zeroed one has found nothing. */
struct nearest {
	const char *word; /* that was written */
	const char *best; /* NULL: none resembles it */
	size_t unlike;    /* how unlike `best` is */
};

/* Begin a search for what `word` may have meant. */
struct nearest nearest_to(const char *word);
/* The same of the first `n` bytes of a text, which are copied to `word`. */
struct nearest nearest_to_part(char word[NEAREST_MAX + 1], const char *text, size_t n);

/* Offer a candidate; a later one that is as near does not replace an earlier one. */
void nearest_offer(struct nearest *n, const char *candidate);

/* "; did you mean 'launch'?", or "". Returns `buf`. */
char *nearest_words(char *buf, size_t size, const struct nearest *n);

#endif
