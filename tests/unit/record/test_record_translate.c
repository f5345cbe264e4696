/* SPDX-License-Identifier: Apache-2.0 */
/* Ring records in, rows out: the writer here keeps the last row, or refuses it. */
#include <linux/futex.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "record/translate.h"

/* cudaFree: one word */
#define SOME_CALL 53

struct writer {
	unsigned n;
	uint16_t kind;
	uint64_t v[FIELDS_MAX];
	const char *text[FIELDS_MAX];
	enum err answer;
};

uint64_t writer_begin_ns(const struct writer *w)
{
	(void)w;
	return 0;
}

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
	struct ring_call_few call_few;
	struct ring_call_many call_many;
	struct ring_call_all call_all;
	struct ring_call_stack call_stack;
	struct ring_call_name call_name;
	struct ring_switch sched;
	struct ring_waking waking;
	struct ring_futex futex;
	struct ring_fork fork;
	struct ring_exec exec;
	struct ring_exit exit;
	struct ring_thread thread;
	struct ring_process process;
	struct ring_mapped mapped;
	struct ring_fault fault;
	struct ring_oom oom;
	struct ring_metric metric;
	struct ring_state state;
	struct ring_in_flight in_flight;
	struct ring_follow follow;
	struct ring_scheduling scheduling;
	struct ring_disk disk;
	struct ring_reclaim reclaim;
	struct ring_network network;
	uint8_t bytes[sizeof(struct ring_call_name) + NAME_BYTES + 8];
};

static const struct {
	uint32_t bytes;
	uint16_t kind;  /* 0: no row */
	uint16_t probe; /* that is counted */
	bool noticed;
} types[RING_TYPES] = {
	[RING_CALL_FEW] = {sizeof(struct ring_call_few), KIND_free, SOME_CALL, false},
	[RING_CALL_MANY] = {sizeof(struct ring_call_many), KIND_free, SOME_CALL, false},
	[RING_CALL_ALL] = {sizeof(struct ring_call_all), KIND_free, SOME_CALL, false},
	[RING_CALL_CALLER] = {sizeof(struct ring_call_caller), KIND_free, SOME_CALL, false},
	[RING_CALL_STACK] = {sizeof(struct ring_call_stack), KIND_free, SOME_CALL, false},
	[RING_CALL_NAME] = {sizeof(struct ring_call_name) + NAME_BYTES_FEW, KIND_free, SOME_CALL, false},
	[RING_SWITCH] = {sizeof(struct ring_switch), KIND_switch, PROBE_SWITCH, false},
	[RING_WAKING] = {sizeof(struct ring_waking), KIND_waking, PROBE_WAKING, false},
	[RING_FUTEX] = {sizeof(struct ring_futex), KIND_futex, PROBE_FUTEX, false},
	[RING_FORK] = {sizeof(struct ring_fork), KIND_fork, PROBE_FORK, true},
	[RING_EXEC] = {sizeof(struct ring_exec), KIND_exec, PROBE_EXEC, true},
	[RING_EXIT] = {sizeof(struct ring_exit), KIND_exit, PROBE_EXIT, true},
	[RING_THREAD] = {sizeof(struct ring_thread), KIND_thread, PROBE_THREAD_NAME, false},
	[RING_PROCESS] = {sizeof(struct ring_process), KIND_process, PROBE_PROCESS_NAME, true},
	[RING_MAPPED] = {sizeof(struct ring_mapped), 0, PROBE_MAPPED, true},
	[RING_FAULT] = {sizeof(struct ring_fault), KIND_fault, PROBE_FAULT, false},
	[RING_OOM] = {sizeof(struct ring_oom), KIND_oom, PROBE_OOM, false},
	[RING_METRIC] = {sizeof(struct ring_metric), KIND_metric, PROBE_METRIC, false},
	[RING_THROTTLED] = {sizeof(struct ring_throttled), KIND_throttled, PROBE_THROTTLED, true},
	[RING_SIGNAL] = {sizeof(struct ring_signal), KIND_signal, PROBE_SIGNAL, false},
	[RING_STATE] = {sizeof(struct ring_state), KIND_state, PROBE_STATE, true},
	[RING_DISK] = {sizeof(struct ring_disk), KIND_disk, PROBE_DISK, false},
	[RING_RECLAIM] = {sizeof(struct ring_reclaim), KIND_reclaim, PROBE_RECLAIM, false},
	[RING_NETWORK] = {sizeof(struct ring_network), KIND_network, PROBE_NETWORK, false},
	[RING_SCHEDULING] = {sizeof(struct ring_scheduling), KIND_scheduling, PROBE_SCHEDULING, false},
	[RING_FOLLOW] = {sizeof(struct ring_follow), KIND_follow, PROBE_FOLLOW, true},
	[RING_IN_FLIGHT] = {sizeof(struct ring_in_flight), KIND_in_flight, PROBE_IN_FLIGHT, false},
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
	if (type <= RING_CALL_NAME)
		m->record.call.probe = SOME_CALL;
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
		/* What becomes of a mapping, who is noticed knows, and counts. */
		assert_int_equal(m->counters.own[types[type].probe].n[COUNT_recorded], before + (type != RING_MAPPED));
		assert_int_equal(m->noticed - noticed, types[type].noticed);
	}
}

static bool is_name_size(uint32_t n)
{
	n -= (uint32_t)sizeof(struct ring_call_name);
	return n == NAME_BYTES_FEW || n == NAME_BYTES_MANY || n == NAME_BYTES;
}

static void any_other_length_is_refused(void **state)
{
	struct made *m = *state;

	for (uint32_t type = 1; type < RING_TYPES; type++) {
		begin(m, type);
		for (uint32_t n = 0; n < sizeof(m->record); n++)
			if (n != types[type].bytes && !(type == RING_CALL_NAME && is_name_size(n)))
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
	static const uint16_t none[] = {0, PROBE_SWITCH, PROBE_HOST_END - 1, PROBES_LIMIT, UINT16_MAX};
	struct made *m = *state;

	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		for (uint32_t type = RING_CALL_FEW; type <= RING_CALL_NAME; type++) {
			begin(m, type)->call.probe = none[i];
			assert_int_equal(take(m), ERR_FORMAT);
		}
	}
	begin(m, RING_CALL_NAME)->call_name.nbytes = NAME_BYTES;
	assert_int_equal(take(m), ERR_FORMAT);
	begin(m, RING_CALL_STACK)->call_stack.nframes = STACK_FRAMES + 1;
	assert_int_equal(take(m), ERR_FORMAT);
	assert_int_equal(m->writer.n, 0);
}

static void a_call_carries_its_fields(void **state)
{
	struct made *m = *state;
	struct ring_call *c = &begin(m, RING_CALL_FEW)->call;

	c->pid = 10, c->tid = 11, c->dur_ns = 77, c->ret = -2, c->flags = CALL_NESTED;
	m->record.call_few.word[0] = 0xdead0000;
	assert_int_equal(take(m), 0);
	assert_int_equal(m->writer.v[F_call_pid], 10);
	assert_int_equal(m->writer.v[F_call_tid], 11);
	assert_int_equal(m->writer.v[F_call_cpu], 3);
	assert_int_equal(m->writer.v[F_call_dur], 77);
	assert_int_equal(m->writer.v[F_call_probe], SOME_CALL);
	assert_true((int64_t)m->writer.v[F_call_ret] == -2);
	assert_int_equal(m->writer.v[F_call_flags], CALL_NESTED);
	assert_int_equal(m->writer.v[F_free_addr], 0xdead0000);
}

/* A record carries as many words as its type has room for; the others count as 0. */
static void words_that_a_record_does_not_carry_are_zero(void **state)
{
	struct made *m = *state;
	union record *r = begin(m, RING_CALL_FEW);

	r->call.probe = 32; /* cudaLaunchKernel: eight words */
	memset(r->call_all.word, 0xff, sizeof(r->call_all.word));
	assert_int_equal(take(m), 0);
	assert_true(m->writer.v[F_launch_function] == UINT64_MAX);
	assert_int_equal(m->writer.v[F_launch_block_z], 0);
	assert_int_equal(m->writer.v[F_launch_stream], 0);
	r->head.type = RING_CALL_MANY;
	assert_int_equal(take(m), 0);
	assert_true(m->writer.v[F_launch_stream] == UINT64_MAX);
	assert_int_equal(m->writer.v[F_launch_stack], 0);
}

static void a_switch_reports_what_the_thread_sleeps_in(void **state)
{
	struct made *m = *state;
	struct ring_switch *s = &begin(m, RING_SWITCH)->sched;

	s->prev_tid = 7, s->next_tid = 8, s->prev_state = 2, s->prev_syscall = 203, s->prev_flags = SWITCH_IO;
	s->next_queue = 3;
	assert_int_equal(take(m), 0);
	assert_int_equal(m->writer.v[F_switch_prev_syscall], 203);
	assert_int_equal(m->writer.v[F_switch_prev_flags], SWITCH_IO);
	assert_int_equal(m->writer.v[F_switch_next_queue], 3);
	assert_int_equal(m->writer.v[F_switch_prev_state], 2);
}

static void a_fault_and_a_victim_carry_their_fields(void **state)
{
	struct made *m = *state;
	struct ring_fault *f = &begin(m, RING_FAULT)->fault;
	struct ring_oom *o = &m->record.oom;

	f->pid = 10, f->tid = 11, f->dur_ns = 77, f->addr = 0x7000;
	assert_int_equal(take(m), 0);
	assert_int_equal(m->writer.v[F_fault_pid], 10);
	assert_int_equal(m->writer.v[F_fault_tid], 11);
	assert_int_equal(m->writer.v[F_fault_cpu], 3);
	assert_int_equal(m->writer.v[F_fault_dur], 77);
	assert_int_equal(m->writer.v[F_fault_addr], 0x7000);
	begin(m, RING_OOM);
	o->pid = 12, o->pages = 3;
	assert_int_equal(take(m), 0);
	assert_int_equal(m->writer.v[F_oom_pid], 12);
	assert_int_equal(m->writer.v[F_oom_rss], 3 * (uint64_t)sysconf(_SC_PAGESIZE));
}

static void a_sample_is_of_the_cpu_that_its_head_names(void **state)
{
	struct made *m = *state;
	struct ring_metric *r = &begin(m, RING_METRIC)->metric;

	r->busy_ns = 1ull << 40, r->switches = 5, r->waiting = 2, r->forced = 1;
	assert_int_equal(take(m), 0);
	assert_int_equal(m->writer.v[F_metric_cpu], 3);
	assert_int_equal(m->writer.v[F_metric_busy], 1ull << 40);
	assert_int_equal(m->writer.v[F_metric_switches], 5);
	assert_int_equal(m->writer.v[F_metric_waiting], 2);
	assert_int_equal(m->writer.v[F_metric_forced], 1);
}

static void names_are_bytes_of_a_length_and_never_run_over_their_end(void **state)
{
	struct made *m = *state;
	char full[COMM_BYTES];

	memset(full, 0xff, sizeof(full)); /* no NUL */
	full[0] = '\n', full[1] = 27;
	memcpy(begin(m, RING_THREAD)->thread.comm, full, sizeof(full));
	m->record.bytes[sizeof(struct ring_thread)] = 'x'; /* what is behind it in the ring */
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

static void a_set_of_cpus_becomes_a_list(void **state)
{
	struct made *m = *state;
	struct ring_scheduling *r = &begin(m, RING_SCHEDULING)->scheduling;

	r->pid = 7, r->tid = 8, r->policy = 1, r->nice = -20, r->priority = 99;
	r->nwords = 2, r->cpus[0] = 0xd, r->cpus[1] = 2;
	r->cpus[2] = 1; /* beyond what is known */
	assert_int_equal(take(m), 0);
	assert_int_equal(m->writer.v[F_scheduling_pid], 7);
	assert_int_equal(m->writer.v[F_scheduling_tid], 8);
	assert_int_equal(m->writer.v[F_scheduling_policy], POLICY_FIFO);
	assert_int_equal((int64_t)m->writer.v[F_scheduling_nice], -20);
	assert_int_equal(m->writer.v[F_scheduling_priority], 99);
	assert_int_equal(m->writer.v[F_scheduling_cpus], strlen("0,2-3,65"));
	assert_memory_equal(m->writer.text[F_scheduling_cpus], "0,2-3,65", strlen("0,2-3,65"));
	r->nwords = 0;
	assert_int_equal(take(m), 0);
	assert_int_equal(m->writer.v[F_scheduling_cpus], 0);
	r->nwords = UINT32_MAX;
	memset(r->cpus, 0xaa, sizeof(r->cpus));
	assert_int_equal(take(m), 0);
	assert_true(m->writer.v[F_scheduling_cpus] <= TEXT_MAX);
}

static void a_device_is_named_before_its_first_request(void **state)
{
	struct made *m = *state;
	struct ring_disk *r = &begin(m, RING_DISK)->disk;

	r->pid = 7, r->tid = 8, r->dur_ns = 100, r->service_ns = 101, r->bytes = 4096, r->device = 254 << 20;
	memset(r->name, 'x', sizeof(r->name)); /* no NUL */
	assert_int_equal(take(m), 0);
	assert_int_equal(m->writer.n, 2);
	assert_int_equal(m->writer.kind, KIND_disk);
	assert_int_equal(m->writer.v[F_disk_device], 254 << 20);
	assert_int_equal(m->writer.v[F_disk_service], 100); /* no longer than it took */
	assert_int_equal(take(m), 0);
	assert_int_equal(m->writer.n, 3);
	for (unsigned i = 0; i < 2 * DISKS_MAX; i++) {
		r->device = 1000 + i;
		assert_int_equal(take(m), 0);
	}
	assert_int_equal(m->writer.n, 3 + 2 * DISKS_MAX + DISKS_MAX - 1);
	/* One whose name finds no memory is named later. */
	m->t.ndisks = 0;
	m->writer.answer = ERR_MEMORY;
	assert_int_equal(take(m), 0);
	assert_int_equal(m->t.ndisks, 0);
}

static void a_connection_is_named_before_its_first_row(void **state)
{
	struct made *m = *state;
	struct ring_network *r = &begin(m, RING_NETWORK)->network;
	struct procfs nowhere = {.root_fd = -1};
	struct connections *c = calloc(1, sizeof(*c));
	uint64_t first;

	assert_non_null(c);
	c->fs = &nowhere;
	m->t.connections = c;
	r->pid = 7, r->tid = 8, r->dur_ns = 100, r->unread = 5, r->retransmitted = 2, r->disordered = 3;
	r->rtt_us = 40, r->sender_tid = 12, r->net = 9, r->ends.local_port = 40000, r->ends.peer_port = 80;
	r->ends.local[15] = r->ends.peer[15] = 1;
	assert_int_equal(take(m), 0);
	assert_int_equal(m->writer.n, 2);
	assert_int_equal(m->writer.kind, KIND_network);
	assert_int_equal(m->writer.v[F_network_pid], 7);
	assert_int_equal(m->writer.v[F_network_tid], 8);
	assert_int_equal(m->writer.v[F_network_dur], 100);
	assert_int_equal(m->writer.v[F_network_role], CONNECTION_UNKNOWN);
	assert_int_equal(m->writer.v[F_network_unread], 5);
	assert_int_equal(m->writer.v[F_network_retransmitted], 2);
	assert_int_equal(m->writer.v[F_network_disordered], 3);
	assert_int_equal(m->writer.v[F_network_rtt], 40000);
	assert_int_equal(m->writer.v[F_network_sender_tid], 12);
	first = m->writer.v[F_network_connection];
	assert_in_range(first, 1, CONNECTIONS_MAX);
	assert_int_equal(take(m), 0);
	assert_int_equal(m->writer.n, 3);
	assert_int_equal(m->writer.v[F_network_connection], first);
	/* In another namespace it is another one. */
	r->net = 10;
	assert_int_equal(take(m), 0);
	assert_int_equal(m->writer.n, 5);
	assert_int_not_equal(m->writer.v[F_network_connection], first);
	/* One whose name finds no memory has no number, and is named later. */
	r->net = 11;
	m->writer.answer = ERR_MEMORY;
	assert_int_equal(take(m), 0);
	m->writer.answer = 0;
	assert_int_equal(take(m), 0);
	assert_int_equal(m->writer.n, 7);
	free(c);
}

/* Of more than have room each is named again; one that is used all the time keeps its number. */
static void of_many_connections_the_one_in_use_keeps_its_number(void **state)
{
	struct made *m = *state;
	struct ring_network *r = &begin(m, RING_NETWORK)->network;
	struct procfs nowhere = {.root_fd = -1};
	struct connections *c = calloc(1, sizeof(*c));
	uint64_t first = 0;

	assert_non_null(c);
	c->fs = &nowhere;
	m->t.connections = c;
	for (unsigned i = 0; i < 20 * CONNECTIONS_MAX; i++) {
		unsigned n = m->writer.n;

		r->ends.local_port = 1;
		assert_int_equal(take(m), 0);
		assert_int_equal(m->writer.n, n + 1 + (i == 0));
		if (i == 0)
			first = m->writer.v[F_network_connection];
		assert_int_equal(m->writer.v[F_network_connection], first);
		r->ends.local_port = (uint16_t)(2 + i);
		assert_int_equal(take(m), 0);
		assert_int_equal(m->writer.n, n + 3 + (i == 0));
	}
	free(c);
}

/* Of one whose begin was not seen it is looked up who listens, so often a second, and no more. */
static void who_began_a_connection_is_looked_up(void **state)
{
	struct made *m = *state;
	struct ring_network *r = &begin(m, RING_NETWORK)->network;
	struct connections *c = calloc(1, sizeof(*c));
	unsigned made = 0;
	struct procfs fs;

	assert_non_null(c);
	assert_int_equal(procfs_open(&fs, PROCFS_ROOT, NULL), 0);
	c->fs = &fs;
	m->t.connections = c;
	r->pid = (uint32_t)getpid();
	for (unsigned second = 1; second < 3; second++)
		for (unsigned i = 0; i < CONNECTIONS_LOOKS + 100; i++) {
			r->head.at_ns = second * 1000000000u + i;
			r->ends.local_port = 65535;
			r->ends.peer_port = (uint16_t)(second * 1000 + i);
			assert_int_equal(take(m), 0);
			made += m->writer.v[F_network_role] == CONNECTION_MADE;
		}
	assert_int_equal(made, 2 * CONNECTIONS_LOOKS);
	/* Neither port is known for anything: whoever accepted it may have ceased to listen. */
	r->head.at_ns = 4000000000u;
	r->ends.local_port = r->ends.peer_port = 65535;
	assert_int_equal(take(m), 0);
	assert_int_equal(m->writer.v[F_network_role], CONNECTION_UNKNOWN);
	r->role = CONNECTION_ACCEPTED;
	r->ends.peer_port = 22;
	assert_int_equal(take(m), 0);
	assert_int_equal(m->writer.v[F_network_role], CONNECTION_ACCEPTED);
	procfs_close(&fs);
	free(c);
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

static void newer_futex_calls_are_reported_as_the_old_ones(void **state)
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

		f->nr = calls[i].nr, f->addr = 0x1234, f->ret = -110, f->addr2 = 0x5678;
		f->arg[0] = 0x1234, f->arg[1] = 129, f->arg[2] = 3, f->arg[3] = 4;
		assert_int_equal(take(m), 0);
		assert_int_equal(m->writer.v[F_futex_op], calls[i].op);
		assert_int_equal(m->writer.v[F_futex_flags], calls[i].flags);
		assert_int_equal(m->writer.v[F_futex_val], calls[i].val);
		assert_int_equal(m->writer.v[F_futex_addr], 0x1234);
		assert_int_equal(m->writer.v[F_futex_addr2], 0x5678);
		assert_true((int64_t)m->writer.v[F_futex_ret] == -110);
	}
}

static void states_of_threads_are_those_of_the_kernel_by_their_weight(void **state)
{
	/* include/linux/sched.h */
	static const struct {
		uint32_t bits, state;
	} states[] = {
		{0, THREAD_RUNNING},           {0x1, THREAD_SLEEPING},
		{0x2001, THREAD_SLEEPING},                                      /* freezable */
		{0x2, THREAD_UNINTERRUPTIBLE}, {0x102, THREAD_UNINTERRUPTIBLE}, /* killable */
		{0x4, THREAD_STOPPED},         {0x8, THREAD_TRACED},
		{0x80, THREAD_DEAD},           {0x10, THREAD_DEAD},
		{0x20, THREAD_DEAD},           {0x40, THREAD_OTHER},
		{0x8000, THREAD_OTHER},
	};
	struct made *m = *state;

	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
		struct ring_state *s = &begin(m, RING_STATE)->state;

		s->pid = 7, s->tid = 8, s->moment = MOMENT_END, s->syscall = 203, s->argument = 0x1234;
		s->state = states[i].bits;
		assert_int_equal(take(m), 0);
		assert_int_equal(m->writer.v[F_state_pid], 7);
		assert_int_equal(m->writer.v[F_state_tid], 8);
		assert_int_equal(m->writer.v[F_state_moment], MOMENT_END);
		assert_int_equal(m->writer.v[F_state_state], states[i].state);
		assert_int_equal(m->writer.v[F_state_syscall], 203);
		assert_int_equal(m->writer.v[F_state_argument], 0x1234);
	}
}

static void a_call_in_flight_carries_its_fields(void **state)
{
	struct made *m = *state;
	struct ring_in_flight *f = &begin(m, RING_IN_FLIGHT)->in_flight;

	f->pid = 7, f->tid = 8, f->moment = MOMENT_BEGIN, f->probe = SOME_CALL, f->flags = CALL_NESTED;
	f->dur_ns = 99, f->argument = 0x1234;
	assert_int_equal(take(m), 0);
	assert_int_equal(m->writer.v[F_in_flight_pid], 7);
	assert_int_equal(m->writer.v[F_in_flight_tid], 8);
	assert_int_equal(m->writer.v[F_in_flight_moment], MOMENT_BEGIN);
	assert_int_equal(m->writer.v[F_in_flight_dur], 99);
	assert_int_equal(m->writer.v[F_in_flight_probe], SOME_CALL);
	assert_int_equal(m->writer.v[F_in_flight_argument], 0x1234);
	assert_int_equal(m->writer.v[F_in_flight_flags], CALL_NESTED);
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
		T(words_that_a_record_does_not_carry_are_zero),
		T(a_switch_reports_what_the_thread_sleeps_in),
		T(a_fault_and_a_victim_carry_their_fields),
		T(a_sample_is_of_the_cpu_that_its_head_names),
		T(names_are_bytes_of_a_length_and_never_run_over_their_end),
		T(a_set_of_cpus_becomes_a_list),
		T(a_device_is_named_before_its_first_request),
		T(a_connection_is_named_before_its_first_row),
		T(of_many_connections_the_one_in_use_keeps_its_number),
		T(who_began_a_connection_is_looked_up),
		T(a_time_before_the_epoch_becomes_its_begin),
		T(newer_futex_calls_are_reported_as_the_old_ones),
		T(states_of_threads_are_those_of_the_kernel_by_their_weight),
		T(a_call_in_flight_carries_its_fields),
		T(no_memory_is_a_counted_loss_and_any_other_error_ends_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
