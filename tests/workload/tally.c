/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/workload/tally.h"

#include "tests/workload/json.h"

#define TALLY_INFO(kind, name, params) {#name, KIND_##kind},

const struct function_info *function_info(enum function_id id)
{
	static const struct function_info infos[FN_COUNT] = {RUNTIME_CALLS(TALLY_INFO)};

	return &infos[id];
}

const char *call_kind_name(enum call_kind kind)
{
	static const char *const names[KIND_COUNT] = {"launch", "alloc", "free", "copy", "set", "wait", "other"};

	return names[kind];
}

void tally_add(struct tally sum[FN_COUNT], const struct tally more[FN_COUNT])
{
	for (unsigned i = 0; i < FN_COUNT; i++) {
		sum[i].calls += more[i].calls;
		sum[i].failed += more[i].failed;
	}
}

void tally_json(const struct tally tally[FN_COUNT], struct json *out)
{
	struct tally kinds[KIND_COUNT] = {0};

	for (unsigned i = 0; i < FN_COUNT; i++) {
		kinds[function_info(i)->kind].calls += tally[i].calls;
		kinds[function_info(i)->kind].failed += tally[i].failed;
	}
	json_open(out, "kinds", '{');
	for (unsigned i = 0; i < KIND_COUNT; i++) {
		json_open(out, call_kind_name(i), '{');
		json_number(out, "calls", kinds[i].calls);
		json_number(out, "failed", kinds[i].failed);
		json_close(out);
	}
	json_close(out);
	json_open(out, "functions", '{');
	for (unsigned i = 0; i < FN_COUNT; i++) {
		if (tally[i].calls == 0)
			continue;
		json_open(out, function_info(i)->name, '{');
		json_text(out, "kind", call_kind_name(function_info(i)->kind));
		json_number(out, "calls", tally[i].calls);
		json_number(out, "failed", tally[i].failed);
		json_close(out);
	}
	json_close(out);
}
