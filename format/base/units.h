/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Durations, sizes, numbers and times as people write and read them: one notation for all tools, in and out. What is
 * printed here is accepted here, to within its rounding. No locale, no floating point: the same numbers give the same
 * bytes everywhere.
 */
#ifndef GPUREC_FORMAT_BASE_UNITS_H
#define GPUREC_FORMAT_BASE_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/fault.h"

enum amount_kind { AMOUNT_NUMBER, AMOUNT_DURATION, AMOUNT_SIZE };

enum amount_result {
	AMOUNT_FINE,
	AMOUNT_NO_NUMBER,  /* no digit where one is needed */
	AMOUNT_FRACTION,   /* the digits behind the point: none, or more than 18 */
	AMOUNT_NO_UNIT,    /* a fraction, and no unit of which it could be a part */
	AMOUNT_WRONG_UNIT, /* letters that are no unit */
	AMOUNT_NOT_WHOLE,  /* no whole number of nanoseconds or bytes */
	AMOUNT_TOO_LARGE,  /* for 64 bits */
};

/* A number with or without a unit. */
struct amount {
	uint64_t value; /* in nanoseconds or bytes; without a unit as written */
	enum amount_kind kind;
	size_t unit_at, length; /* in the text: where the unit begins, and how much of it all takes */
};

/*
 * Read decimal digits, perhaps a fraction, perhaps a unit, which may come after one blank if `blank`: ns us µs ms s m
 * min h d, or K M G T KiB MiB GiB TiB (powers of 1024). Something else may follow.
 */
enum amount_result amount_read(const char *text, bool blank, struct amount *m);

/*
 * All of `text`; 0, or ERR_INPUT with a sentence that quotes it. A duration needs its unit ("90s", "1.5 ms"), for a
 * bare number could be seconds or nanoseconds; seconds_parse() takes it for seconds, as sleep(1) does. A size needs
 * none.
 */
int duration_parse(const char *text, uint64_t *ns, struct fault *why);
int seconds_parse(const char *text, uint64_t *ns, struct fault *why);
int size_parse(const char *text, uint64_t *bytes, struct fault *why);
/* Decimal digits only, within [min, max]. */
int number_parse(const char *text, uint64_t min, uint64_t max, uint64_t *value, struct fault *why);

/* Behind a word that `n` counts: "" of one, else "s". */
static inline const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

/* For people, into `buf`, which they return. */
#define UNITS_CHARS 40
/* Three significant digits, rounded: "870 ns", "17.2 µs", "13.1 ms", "4.00 s"; from 1000 s on "16.7 min", "2.00 h". */
char *duration_text(char buf[UNITS_CHARS], uint64_t ns);
/* The same as one word: "17.2µs". */
char *duration_word(char buf[UNITS_CHARS], uint64_t ns);
/* "512 B", "64.0 MiB": powers of 1024. */
char *size_text(char buf[UNITS_CHARS], uint64_t bytes);
/* "2026-11-21 09:58:26.123456789Z" */
char *wall_text(char buf[UNITS_CHARS], uint64_t wall_ns);
/* Lower-case hex of n bytes; buf holds 2 * n + 1. */
char *hex_text(char *buf, const uint8_t *bytes, size_t n);

#endif
