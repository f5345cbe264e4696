/* SPDX-License-Identifier: Apache-2.0 */
#include "format/base/cpu_list.h"

#include <stdio.h>
#include <string.h>

#define WORD_BITS 64

static bool has_bit(const uint64_t *words, size_t nwords, size_t cpu)
{
	return cpu / WORD_BITS < nwords && words[cpu / WORD_BITS] >> cpu % WORD_BITS & 1;
}

size_t cpu_list_write(const uint64_t *words, size_t nwords, char *to, size_t room)
{
	char range[48];
	size_t n = 0;

	for (size_t cpu = 0; cpu < nwords * WORD_BITS; cpu++) {
		size_t last = cpu, length;

		if (!has_bit(words, nwords, cpu))
			continue;
		while (has_bit(words, nwords, last + 1))
			last++;
		if (last == cpu)
			length = (size_t)snprintf(range, sizeof(range), ",%zu", cpu);
		else
			length = (size_t)snprintf(range, sizeof(range), ",%zu-%zu", cpu, last);
		length -= n == 0;
		if (n + length > room)
			break;
		memcpy(to + n, range + (n == 0), length);
		n += length;
		cpu = last;
	}
	return n;
}

static bool is_digit(const char *at, const char *end)
{
	return at < end && *at >= '0' && *at <= '9';
}

/* Takes a number of the list; false: none is next, or one that is too great. */
static bool take_number(const char **at, const char *end, uint64_t *number)
{
	const char *begin = *at;

	*number = 0;
	for (; is_digit(*at, end) && *number < UINT32_MAX; ++*at)
		*number = *number * 10 + (uint64_t)(**at - '0');
	return *at > begin && !is_digit(*at, end);
}

/* Takes the next range of the list; false: there is none, or it is no list from here on. */
static bool take_range(const char **at, const char *end, uint64_t *first, uint64_t *last)
{
	if (*at < end && **at == ',')
		++*at;
	if (!take_number(at, end, first))
		return false;
	*last = *first;
	if (*at == end || **at != '-')
		return true;
	++*at;
	return take_number(at, end, last) && *last >= *first;
}

bool cpu_list_has(const char *list, size_t nbytes, uint64_t cpu)
{
	const char *at = list, *end = list + nbytes;
	uint64_t first, last;

	while (take_range(&at, end, &first, &last))
		if (cpu >= first && cpu <= last)
			return true;
	return false;
}

uint64_t cpu_list_count(const char *list, size_t nbytes)
{
	const char *at = list, *end = list + nbytes;
	uint64_t first, last, n = 0;

	while (take_range(&at, end, &first, &last))
		n += last - first + 1;
	return n;
}
