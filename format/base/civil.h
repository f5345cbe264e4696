/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dates and times of day in UTC, by arithmetic alone: gmtime() and timegm() count the leap seconds of whatever file $TZ
 * or /etc/localtime names. The algorithm is Howard Hinnant's ("chrono-Compatible Low-Level Date Algorithms"), which
 * counts 400-year eras that begin on the 1st of March.
 */
#ifndef GPUREC_FORMAT_BASE_CIVIL_H
#define GPUREC_FORMAT_BASE_CIVIL_H

#include <stdbool.h>
#include <stdint.h>

#define CIVIL_CHARS 19           /* "2026-11-21T10:00:03" */
#define CIVIL_LAST 253402300799u /* seconds since 1970: the last one of the year 9999 */

/* What `unix_s`, of at most CIVIL_LAST (a greater one is taken for it), is; `between` is 'T' or ' '. Returns buf. */
char *civil_text(char buf[CIVIL_CHARS + 1], uint64_t unix_s, char between);

/* From the first CIVIL_CHARS characters of `text`, which has as many at least. False: not of that form, or no date of
 * the calendar from 1970 on. */
bool civil_parse(uint64_t *unix_s, const char *text, char between);

#endif
