/* SPDX-License-Identifier: Apache-2.0 */
#include "record/limits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record/row.h"

#define KEEP_MAX 1000000000u

/* Kept free for the last seal and END, whose tables are of some thousands of bytes, and for a short last epoch. */
#define RESERVE_BYTES (256u << 10)

static const struct {
	const char *name;
	uint16_t id;
} kinds[] = {
#define K(id, name, class, flags) {#name, id},
	KINDS(K)
#undef K
};

static int no_kind(const char *text, struct fault *why)
{
	char names[200] = "";

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (attach_may_sample(kinds[i].id))
			snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s%s", names[0] ? ", " : "",
				 kinds[i].name);
	return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "%.60s: KIND=N is needed, KIND one of %s", text, names);
}

int budget_take_sample(struct budget *b, const char *text, struct fault *why)
{
	const char *equals = strchr(text, '=');
	unsigned long long n;
	char *end;

	for (size_t i = 0; equals && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strlen(kinds[i].name) != (size_t)(equals - text) ||
		    strncmp(kinds[i].name, text, (size_t)(equals - text)) != 0 || !attach_may_sample(kinds[i].id))
			continue;
		n = strtoull(equals + 1, &end, 10);
		if (equals[1] < '0' || equals[1] > '9' || *end || n < 1 || n > KEEP_MAX)
			return fault_set(why, ERR_INPUT, FAULT_NOWHERE,
					 "%.60s: one in how many? A number from 1 to %u is needed", text, KEEP_MAX);
		b->keep[kinds[i].id] = (uint32_t)n;
		return 0;
	}
	return no_kind(text, why);
}

void budget_to_attach(const struct budget *b, struct attach_options *o)
{
	memcpy(o->keep, b->keep, sizeof(o->keep));
	o->rate = b->max_rate;
}

static int emit(struct writer *w, uint64_t at_ns, uint16_t kind, uint8_t counter, uint32_t keep, uint32_t rate,
		struct fault *why)
{
	struct row row = row_of(KIND_reduction, at_ns);

	row.v[F_reduction_of_kind] = kind;
	row.v[F_reduction_counter] = counter;
	row.v[F_reduction_keep] = keep;
	row.v[F_reduction_rate] = rate;
	return row_emit(&row, w, why);
}

int budget_emit(const struct budget *b, struct writer *w, uint64_t at_ns, struct fault *why)
{
	int r = 0;

	for (uint16_t k = 0; k < ATTACH_KINDS && r == 0; k++)
		if (b->keep[k] > 1)
			r = emit(w, at_ns, k, COUNTER_sampled_out, b->keep[k], 0, why);
	if (r == 0 && b->max_rate)
		r = emit(w, at_ns, 0, COUNTER_over_rate, 0, b->max_rate, why);
	return r;
}

enum budget_state budget_state(const struct budget *b, uint64_t written_bytes, uint64_t staged_bytes)
{
	if (!b->max_bytes)
		return BUDGET_FINE;
	if (written_bytes + RESERVE_BYTES >= b->max_bytes)
		return BUDGET_SPENT;
	return written_bytes + staged_bytes + RESERVE_BYTES >= b->max_bytes ? BUDGET_SEAL : BUDGET_FINE;
}
