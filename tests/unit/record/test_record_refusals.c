/* SPDX-License-Identifier: Apache-2.0 */
/* What a verifier's log gives as its reason, as kernels of several years write it. */
#include "tests/unit/sample.h"

#include "record/probe/refusals.h"

static void the_reason_is_the_last_line_before_the_statistics(void **state)
{
	static const struct {
		const char *log, *reason;
	} logs[] = {
		/* 6.1 */
		{"; known = bpf_map_lookup_elem(&attached, &r->file);\n612: (85) call bpf_map_lookup_elem#1\n"
		 "R2 type=alloc_mem expected=fp, pkt, pkt_meta, map_key, map_value\n"
		 "processed 1029 insns (limit 1000000) max_states_per_insn 1 total_states 42 peak_states 42 mark_read "
		 "9\n",
		 "R2 type=alloc_mem expected=fp, pkt, pkt_meta, map_key, map_value"},
		{"back-edge from insn 248 to 249\n"
		 "processed 0 insns (limit 1000000) max_states_per_insn 0 total_states 0 peak_states 0 mark_read 0\n",
		 "back-edge from insn 248 to 249"},
		/* with BPF_LOG_STATS */
		{"math between fp pointer and register is not allowed\nverification time 52 usec\nstack depth 0+0\n"
		 "processed 3 insns (limit 1000000) max_states_per_insn 0\n",
		 "math between fp pointer and register is not allowed"},
		/* without statistics, without a last line end, and with nothing at all */
		{"invalid func unknown#195896080\n", "invalid func unknown#195896080"},
		{"cut", "cut"},
		{"processed 3 insns\n", ""},
		{"\n\n", ""},
		{"", ""},
	};
	char buf[200];

	(void)state;
	for (size_t i = 0; i < sizeof(logs) / sizeof(logs[0]); i++) {
		verifier_reason(logs[i].log, buf, sizeof(buf));
		assert_string_equal(buf, logs[i].reason);
	}
	verifier_reason("0123456789\n", buf, 5);
	assert_string_equal(buf, "0123");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_reason_is_the_last_line_before_the_statistics),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
