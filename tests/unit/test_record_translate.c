/* SPDX-License-Identifier: Apache-2.0 */
/* Ring records in, rows out: the writer here keeps the last row, or refuses it. */
#include <linux/futex.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "record/translate.h"

struct writer {
	unsigned n;
	uint16_t kind;
	uint64_t v[FIELDS_MAX];
	const char *text[FIELDS_MAX];
	enum err answer;
};

int writer_add(struct writer *w, uint16_t kind, const uint64_t *v, const char *const *text, struct fault *why)
{
	if (w->answer)
		return fault_set(why, w->answer, FAULT_NOWHERE, "asked to");
	w->n++;
	w->kind = kind;
	memcpy(w->v, v, sizeof(w->v));
	memcpy(w->text, text, sizeof(w->text));
	return 0;
}

union record {
	struct ring_head head;
	struct ring_call call;
	struct ring_call_stack call_stack;
	struct ring_switch sched;
	struct ring_waking waking;
	struct ring_futex futex;
	struct ring_fork fork;
	struct ring_exec exec;
	struct ring_exit exit;
	struct ring_thread thread;
	struct ring_process process;
	struct ring_mapped mapped;
	uint8_t bytes[512];
};

static const struct {
	uint32_t bytes;
	uint16_t kind;  /* 0: no row */
	uint16_t probe; /* that is counted */
	bool noticed;
} types[RING_TYPES] = {
	[RING_CALL] = {sizeof(struct ring_call), KIND_free, 53, false},
	[RING_CALL_STACK] = {sizeof(struct ring_call_stack), KIND_free, 53, false},
	[RING_SWITCH] = {sizeof(struct ring_switch), KIND_switch, PROBE_SWITCH, false},
	[RING_WAKING] = {sizeof(struct ring_waking), KIND_waking, PROBE_WAKING, false},
	[RING_FUTEX] = {sizeof(struct ring_futex), KIND_futex, PROBE_FUTEX, false},
	[RING_FORK] = {sizeof(struct ring_fork), KIND_fork, PROBE_FORK, true},
	[RING_EXEC] = {sizeof(struct ring_exec), KIND_exec, PROBE_EXEC, true},
	[RING_EXIT] = {sizeof(struct ring_exit), KIND_exit, PROBE_EXIT, true},
	[RING_THREAD] = {sizeof(struct ring_thread), KIND_thread, PROBE_THREAD_NAME, false},
	[RING_PROCESS] = {sizeof(struct ring_process), KIND_process, PROBE_PROCESS_NAME, true},
	[RING_MAPPED] = {sizeof(struct ring_mapped), 0, PROBE_MAPPED, true},
};

struct made {
	struct writer writer;
	struct counters counters;
	struct translator t;
	union record record;
	unsigned noticed;
	struct fault why;
};

static int notice(void *self, const struct ring_head *record, struct fault *why)
{
	struct made *m = self;

	(void)why;
	m->noticed += record == &m->record.head;
	return 0;
}

static int setup(void **state)
{
	struct made *m = calloc(1, sizeof(*m));

	assert_non_null(m);
	m->t = (struct translator){.writer = &m->writer, .counters = &m->counters, .notice = notice, .self = m};
	*state = m;
	return 0;
}

static int teardown(void **state)
{
	free(*state);
	return 0;
}

static union record *begin(struct made *m, uint32_t type)
{
	memset(&m->record, 0, sizeof(m->record));
	m->record.head = (struct ring_head){.type = type, .cpu = 3, .at_ns = 1000};
	if (type == RING_CALL || type == RING_CALL_STACK)
		m->record.call.probe = 53; /* cudaFree */
	return &m->record;
}

static int take(struct made *m)
{
	return translate(&m->t, &m->record, types[m->record.head.type].bytes, &m->why);
}

static void every_type_yields_its_kind_counted_and_noticed(void **state)
{
	struct made *m = *state;

	for (uint32_t type = 1; type < RING_TYPES; type++) {
		unsigned rows = m->writer.n, noticed = m->noticed;
		uint64_t before = m->counters.own[types[type].probe].n[COUNT_recorded];

		begin(m, type);
		assert_int_equal(take(m), 0);
		assert_int_equal(m->writer.n - rows, types[type].kind != 0);
		if (types[type].kind) {
			assert_int_equal(m->writer.kind, types[type].kind);
			assert_int_equal(m->writer.v[0], 1000);
		}
		assert_int_equal(m->counters.own[types[type].probe].n[COUNT_recorded], before + 1);
		assert_int_equal(m->noticed - noticed, types[type].noticed);
	}
}

static void any_other_length_is_refused(void **state)
{
	struct made *m = *state;

	for (uint32_t type = 1; type < RING_TYPES; type++) {
		begin(m, type);
		for (uint32_t n = 0; n < sizeof(m->record); n++)
			if (n != types[type].bytes)
				assert_int_equal(translate(&m->t, &m->record, n, &m->why), ERR_FORMAT);
	}
	assert_int_equal(m->writer.n + m->noticed, 0);
}

static void a_type_that_is_none_is_refused(void **state)
{
	static const uint32_t none[] = {0, RING_TYPES, RING_TYPES + 1, 0x80000001u, UINT32_MAX};
	struct made *m = *state;

	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		begin(m, none[i]);
		for (uint32_t n = 0; n < sizeof(m->record); n++)
			assert_int_equal(translate(&m->t, &m->record, n, &m->why), ERR_FORMAT);
	}
}

static void a_call_of_an_unknown_probe_or_with_too_many_frames_is_refused(void **state)
{
	static const uint32_t none[] = {0, PROBE_SWITCH, PROBE_HOST_END - 1, PROBES_LIMIT, UINT32_MAX};
	struct made *m = *state;

	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		begin(m, RING_CALL)->call.probe = none[i];
		assert_int_equal(take(m), ERR_FORMAT);
	}
	begin(m, RING_CALL_STACK)->call_stack.nframes = STACK_FRAMES + 1;
	assert_int_equal(take(m), ERR_FORMAT);
	assert_int_equal(m->writer.n, 0);
}

static void a_call_carries_its_fields(void **state)
{
	struct made *m = *state;
	struct ring_call *c = &begin(m, RING_CALL)->call;

	c->pid = 10, c->tid = 11, c->dur_ns = 77, c->ret = -2, c->flags = CALL_NESTED;
	c->word[0] = 0xdead0000;
	assert_int_equal(take(m), 0);
	assert_int_equal(m->writer.v[F_call_pid], 10);
	assert_int_equal(m->writer.v[F_call_tid], 11);
	assert_int_equal(m->writer.v[F_call_cpu], 3);
	assert_int_equal(m->writer.v[F_call_dur], 77);
	assert_int_equal(m->writer.v[F_call_probe], 53);
	assert_true((int64_t)m->writer.v[F_call_ret] == -2);
	assert_int_equal(m->writer.v[F_call_flags], CALL_NESTED);
	assert_int_equal(m->writer.v[F_free_addr], 0xdead0000);
}

static void names_are_bytes_of_a_length_and_never_run_over_their_end(void **state)
{
	struct made *m = *state;
	char full[COMM_BYTES];

	memset(full, 0xff, sizeof(full)); /* no NUL */
	full[0] = '\n', full[1] = 27;
	memcpy(begin(m, RING_THREAD)->thread.comm, full, sizeof(full));
	m->record.bytes[sizeof(struct ring_thread)] = 'x'; /* what stands behind it in the ring */
	assert_int_equal(take(m), 0);
	assert_int_equal(m->writer.v[F_thread_name], COMM_BYTES);
	assert_memory_equal(m->writer.text[F_thread_name], full, COMM_BYTES);
	memcpy(begin(m, RING_PROCESS)->process.comm, "a\0b", 3);
	assert_int_equal(take(m), 0);
	assert_int_equal(m->writer.v[F_process_name], 1);
	memcpy(begin(m, RING_PROCESS)->process.comm, full, sizeof(full));
	assert_int_equal(take(m), 0);
	assert_int_equal(m->writer.v[F_process_name], COMM_BYTES);
}

static void a_time_before_the_epoch_becomes_its_begin(void **state)
{
	struct made *m = *state;

	m->t.begin_ns = 1001;
	begin(m, RING_SWITCH);
	assert_int_equal(take(m), 0);
	assert_int_equal(m->writer.v[0], 1001);
	m->record.head.at_ns = 1002;
	assert_int_equal(take(m), 0);
	assert_int_equal(m->writer.v[0], 1002);
}

static void newer_futex_calls_are_told_as_the_old_ones(void **state)
{
	static const struct {
		uint64_t nr, op, flags, val;
	} calls[] = {
		{202, 1, 128, 3}, /* arg[1] = FUTEX_PRIVATE_FLAG | FUTEX_WAKE */
		{449, FUTEX_WAIT_BITSET, 3, 129},
		{454, FUTEX_WAKE_BITSET, 4, 3},
		{455, FUTEX_WAIT_BITSET, 4, 129},
		{456, FUTEX_CMP_REQUEUE, 129, 3},
	};
	struct made *m = *state;

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		struct ring_futex *f = &begin(m, RING_FUTEX)->futex;

		f->nr = calls[i].nr, f->addr = 0x1234, f->ret = -110;
		f->arg[0] = 0x1234, f->arg[1] = 129, f->arg[2] = 3, f->arg[3] = 4;
		assert_int_equal(take(m), 0);
		assert_int_equal(m->writer.v[F_futex_op], calls[i].op);
		assert_int_equal(m->writer.v[F_futex_flags], calls[i].flags);
		assert_int_equal(m->writer.v[F_futex_val], calls[i].val);
		assert_int_equal(m->writer.v[F_futex_addr], 0x1234);
		assert_true((int64_t)m->writer.v[F_futex_ret] == -110);
	}
}

static void no_memory_is_a_counted_loss_and_any_other_error_ends_it(void **state)
{
	struct made *m = *state;

	m->writer.answer = ERR_MEMORY;
	begin(m, RING_FORK);
	assert_int_equal(take(m), 0);
	assert_int_equal(m->counters.own[PROBE_FORK].n[COUNT_not_staged], 1);
	assert_int_equal(m->counters.own[PROBE_FORK].n[COUNT_recorded], 0);
	assert_int_equal(m->noticed, 1); /* the process is there all the same */
	m->writer.answer = ERR_IO;
	assert_int_equal(take(m), ERR_IO);
	assert_int_equal(m->noticed, 1);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(every_type_yields_its_kind_counted_and_noticed),
		T(any_other_length_is_refused),
		T(a_type_that_is_none_is_refused),
		T(a_call_of_an_unknown_probe_or_with_too_many_frames_is_refused),
		T(a_call_carries_its_fields),
		T(names_are_bytes_of_a_length_and_never_run_over_their_end),
		T(a_time_before_the_epoch_becomes_its_begin),
		T(newer_futex_calls_are_told_as_the_old_ones),
		T(no_memory_is_a_counted_loss_and_any_other_error_ends_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
