// SPDX-License-Identifier: Apache-2.0
#include "tests/tools/attacks.h"

#include <string.h>

const struct attack *const attack_lists[ATTACK_LISTS] = {
	attacks_on_frames,
	attacks_by_thieves,
	attacks_on_lengths,
	attacks_on_records,
};

const struct attack *attack_by_name(const char *name)
{
	for (size_t i = 0; i < ATTACK_LISTS; i++)
		for (const struct attack *a = attack_lists[i]; a->name; a++)
			if (strcmp(a->name, name) == 0)
				return a;
	return NULL;
}

/* splitmix64 */
uint64_t attack_pick(struct attempt *a, uint64_t n)
{
	uint64_t x = a->seed += 0x9e3779b97f4a7c15;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return n ? (x ^ x >> 31) % n : 0;
}

int attack_run(const struct attack *attack, struct attempt *a, struct fault *why)
{
	int r = attack->run(attack, a, why);

	if (r == 0 && a->out.failed)
		r = fault_set(why, ERR_MEMORY, FAULT_NOWHERE, "no memory for the attack");
	/* Chance may pick what is the same already. */
	if (r == 0 && attack->verdict != ATTACK_SAME && a->out.len == a->len &&
	    memcmp(a->out.data, a->bytes, a->len) == 0)
		r = fault_set(why, ERR_INPUT, FAULT_NOWHERE, "nothing changes there");
	if (r < 0)
		bytes_reset(&a->out);
	return r;
}

int attack_expects(const struct attack *attack, enum verdict base)
{
	if (attack->verdict == ATTACK_SAME)
		return (int)base;
	return attack->verdict;
}
