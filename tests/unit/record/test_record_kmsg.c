/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's log: which lines are errors of a GPU, and what they say. */
#include "tests/unit/sample.h"

#include <fcntl.h>
#include <unistd.h>

#include "record/host/kmsg.h"

static const struct {
	const char *record;
	uint32_t code, pid;
	const char *pci; /* NULL: it is no such line */
} lines[] = {
	{"4,1234,5678901,-;NVRM: Xid (PCI:0000:3b:00): 79, pid=1234, name=python, GPU has fallen off the bus.\n"
	 " SUBSYSTEM=pci\n DEVICE=+pci:0000:3b:00.0\n",
	 79, 1234, "0000:3b:00"},
	{"3,7,1,-;NVRM: Xid (PCI:0000:01:00): 13, Graphics Exception: ESR 0x504648=0x1000e", 13, 0, "0000:01:00"},
	{"4,7,1,-;NVRM: Xid (0000:03:00): 38, 0000 00000000\n", 38, 0, "0000:03:00"},
	{"4,7,1,c,caller=T12;NVRM: Xid (PCI:0000:06:00): 63, pid='<unknown>', name=<unknown>, Row remapper\n", 63, 0,
	 "0000:06:00"},
	{"4,7,1,-;NVRM: Xid (PCI:0000:06:00): 31, pid='4711', name=a\n", 31, 4711, "0000:06:00"},
	{"4,7,1,-;NVRM: Xid (PCI:0000:06:00 GPU-I:05): 43, pid=9\n", 43, 9, "0000:06:00"},
	{"4,7,1,-;NVRM: Xid (PCI:0000:06:00): 4294967295, x\n", 4294967295u, 0, "0000:06:00"},
	/* facility 1: a program wrote it */
	{"12,1234,5678901,-;NVRM: Xid (PCI:0000:3b:00): 79, pid=1234\n", 0, 0, NULL},
	{"4,7,1,-;NVRM: loading NVIDIA UNIX x86_64 Kernel Module\n", 0, 0, NULL},
	{"4,7,1,-;evil: NVRM: Xid (PCI:0000:3b:00): 79\n", 0, 0, NULL},
	{"4,7,1,-;x\n NVRM: Xid (PCI:0000:3b:00): 79\n", 0, 0, NULL},
	{"4,7,1,-;NVRM: Xid (PCI:0000:3b:00): gone\n", 0, 0, NULL},
	{"4,7,1,-;NVRM: Xid (PCI:0000:3b:00): 99999999999, x\n", 0, 0, NULL},
	{"4,7,1,-;NVRM: Xid (PCI:0000:3b:00\n): 79", 0, 0, NULL},
	{"4,7,1,-", 0, 0, NULL},
	{"", 0, 0, NULL},
	{";NVRM: Xid (PCI:0000:3b:00): 79", 0, 0, NULL},
};

static void lines_of_the_driver_are_reported_from_others(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct xid x;
		bool is = kmsg_parse_xid(lines[i].record, strlen(lines[i].record), &x);

		if (is != (lines[i].pci != NULL))
			fail_msg("%s: %d", lines[i].record, is);
		if (!is)
			continue;
		assert_int_equal(x.code, lines[i].code);
		assert_int_equal(x.pid, lines[i].pid);
		assert_string_equal(x.pci, lines[i].pci);
		assert_memory_equal(x.text, "NVRM: Xid", 9);
		assert_null(memchr(x.text, '\n', x.text_bytes));
	}
}

static void no_cut_of_a_line_is_read_beyond(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		for (size_t n = 0; n <= strlen(lines[i].record); n++) {
			char *copy = malloc(n ? n : 1); /* so that a read behind the end is seen */
			struct xid x;

			assert_non_null(copy);
			memcpy(copy, lines[i].record, n);
			(void)kmsg_parse_xid(copy, n, &x);
			free(copy);
		}
}

static void a_long_address_is_cut(void **state)
{
	char record[512];
	struct xid x;

	(void)state;
	snprintf(record, sizeof(record), "4,1,1,-;NVRM: Xid (PCI:%0200d): 79, x", 0);
	assert_true(kmsg_parse_xid(record, strlen(record), &x));
	assert_int_equal(strlen(x.pci), sizeof(x.pci) - 1);
	assert_int_equal(x.code, 79);
}

static void a_row_does_not_hold_the_name_of_the_process(void **state)
{
	static const struct {
		const char *name, *rest; /* after "name=" */
	} cases[] = {
		{"python", ", GPU has fallen off the bus."},
		{"", ""},
		{"a", ""},
		{"fifteen chars 15", ""},
		{"acme, secret", ", Ch 00000008"},
		{",", ""},
		{"x, y, z", ", Ch"},
		{"fourteen chars", ", Ch 00000008"},
		{"fifteen chars15", ", Ch 00000008"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char record[200], line[200], tight[24];
		size_t n;
		struct xid x;

		snprintf(record, sizeof(record), "4,1,1,-;NVRM: Xid (PCI:0000:3b:00): 79, pid=7, name=%s%s\n",
			 cases[i].name, cases[i].rest);
		assert_true(kmsg_parse_xid(record, strlen(record), &x));
		n = kmsg_without_name(line, sizeof(line), &x);
		assert_int_equal(n, strlen(line));
		assert_memory_equal(line, "NVRM: Xid (PCI:0000:3b:00): 79, pid=7, name=(process)", 53);
		if (strlen(cases[i].name) > 1)
			assert_null(strstr(line, cases[i].name));
		assert_int_equal(kmsg_without_name(tight, sizeof(tight), &x), sizeof(tight) - 1);
		assert_memory_equal(tight, line, sizeof(tight) - 1);
	}
}

/* A pipe in packet mode gives one record at a time, as /dev/kmsg does. */
static void what_comes_becomes_rows(void **state)
{
	const struct identity id = sample_identity(1);
	const struct clock_anchor start = {SAMPLE_BOOT, SAMPLE_WALL, SAMPLE_BOOT};
	struct memory_sink m = {0};
	struct writer *w;
	size_t before;
	int ends[2];

	(void)state;
	assert_int_equal(pipe2(ends, O_DIRECT | O_NONBLOCK), 0);
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		if (lines[i].record[0])
			assert_int_equal(write(ends[1], lines[i].record, strlen(lines[i].record)),
					 strlen(lines[i].record));
	assert_int_equal(writer_open(&w, memory_sink_of(&m), &id, sample_probes, SAMPLE_NPROBES, &start, NULL), 0);
	before = writer_staged_bytes(w);
	assert_int_equal(kmsg_take(ends[0], w, SAMPLE_BOOT + 5, NULL), 0);
	assert_true(writer_staged_bytes(w) > before);
	{
		const struct self_stats self = {0};

		assert_int_equal(writer_seal(w, SAMPLE_BOOT + 10, &start, &self, NULL, 0, NULL), 0);
	}
	assert_int_equal(writer_nrows(w), 7);
	writer_close(w);
	bytes_free(&m.bytes);
	close(ends[0]);
	close(ends[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_of_the_driver_are_reported_from_others),
		cmocka_unit_test(no_cut_of_a_line_is_read_beyond),
		cmocka_unit_test(a_long_address_is_cut),
		cmocka_unit_test(a_row_does_not_hold_the_name_of_the_process),
		cmocka_unit_test(what_comes_becomes_rows),
	};

	return sodium_init() < 0 ? 1 : cmocka_run_group_tests_name("record_kmsg", tests, NULL, NULL);
}
