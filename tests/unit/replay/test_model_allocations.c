/* SPDX-License-Identifier: Apache-2.0 */
/* Who holds which memory, and how that ended: replay/model/allocations.h, by rows made by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "replay/model/allocations.h"
#include "tests/unit/event.h"

enum {
	MALLOC = 1,
	DRIVER_MALLOC,
	FREE,
	RESET,
	CREATE,
	LAUNCH,
	STREAM,
	DRIVER_STREAM,
	STREAM_DESTROY,
	STREAM_QUERY,
	END_CAPTURE,
	GRAPH_CREATE,
	INSTANTIATE,
	EXEC_DESTROY,
	CTX_DESTROY,
	GREEN_DESTROY,
	LOAD,
	UNLOAD,
	NPROBES = UNLOAD
};

struct story {
	struct allocations m;
	struct schema schema;
	char emitted[1024]; /* what the watch was reported, in words */
	struct fault why;
};

static void say(struct story *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(struct story *s, const char *format, ...)
{
	size_t n = strlen(s->emitted);
	va_list ap;

	va_start(ap, format);
	vsnprintf(s->emitted + n, sizeof(s->emitted) - n, format, ap);
	va_end(ap);
}

static int on_begin(void *self, struct allocation *a, struct fault *why)
{
	(void)why;
	say(self, "+%d ", (int)a->id);
	return 0;
}

static int on_gone(void *self, const struct allocation *a, uint64_t at_ns, struct fault *why)
{
	(void)why;
	say(self, "-%d@%d ", (int)a->id, (int)at_ns);
	return 0;
}

static int on_end(void *self, const struct allocation *a, enum alloc_end how, uint64_t end_ns, uint64_t by,
		  struct fault *why)
{
	static const char *const words[] = {"freed", "context", "exit", "unseen", "exec"};

	(void)why;
	say(self, "%d:%s@%d/%d ", (int)a->id, words[how], (int)end_ns, (int)by);
	return 0;
}

static int on_refused(void *self, const struct allocation *a, struct fault *why)
{
	(void)why;
	say(self, "no%d ", (int)a->id);
	return 0;
}

static int on_inner(void *self, uint64_t id, struct fault *why)
{
	(void)why;
	say(self, "(%d) ", (int)id);
	return 0;
}

static int begin_story(void **state)
{
	static const struct alloc_watch watch = {
		.begin = on_begin, .refused = on_refused, .gone = on_gone, .end = on_end, .inner = on_inner};
	static const struct probe probes[NPROBES] = {
		{.id = MALLOC, .name = "cudaMalloc", .kind = KIND_alloc},
		{.id = DRIVER_MALLOC, .name = "cuMemAlloc_v2", .kind = KIND_alloc},
		{.id = FREE, .name = "cudaFree", .kind = KIND_free},
		{.id = RESET, .name = "cudaDeviceReset", .kind = KIND_context},
		{.id = CREATE, .name = "cuCtxCreate_v2", .kind = KIND_context},
		{.id = LAUNCH, .name = "cudaLaunchKernel", .kind = KIND_launch},
		{.id = STREAM, .name = "cudaStreamCreate", .kind = KIND_stream},
		{.id = DRIVER_STREAM, .name = "cuStreamCreate", .kind = KIND_stream},
		{.id = STREAM_DESTROY, .name = "cudaStreamDestroy", .kind = KIND_stream},
		{.id = STREAM_QUERY, .name = "cudaStreamQuery", .kind = KIND_stream},
		{.id = END_CAPTURE, .name = "cudaStreamEndCapture_ptsz", .kind = KIND_stream},
		{.id = GRAPH_CREATE, .name = "cudaGraphCreate", .kind = KIND_graph},
		{.id = INSTANTIATE, .name = "cuGraphInstantiateWithFlags", .kind = KIND_graph},
		{.id = EXEC_DESTROY, .name = "cudaGraphExecDestroy", .kind = KIND_graph},
		{.id = CTX_DESTROY, .name = "cuCtxDestroy_v2", .kind = KIND_context},
		{.id = GREEN_DESTROY, .name = "cuGreenCtxDestroy", .kind = KIND_context},
		{.id = LOAD, .name = "cuModuleLoadData", .kind = KIND_load},
		{.id = UNLOAD, .name = "cuModuleUnload", .kind = KIND_load}};
	struct story *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	assert_int_equal(schema_build(&s->schema, probes, NPROBES, NULL), 0);
	s->m = (struct allocations){.schema = &s->schema, .watch = &watch, .self = s};
	*state = s;
	return 0;
}

static int end_story(void **state)
{
	struct story *s = *state;

	allocations_clear(&s->m);
	schema_clear(&s->schema);
	free(s);
	return 0;
}

/* A call of thread 1 of process 1, whose id is its end's time. */
static struct event call(struct story *s, uint16_t kind, uint16_t probe, uint64_t begin, uint64_t end, bool nested)
{
	struct event ev = event_made(kind, schema_kind(&s->schema, kind), end);

	event_set(&ev, F_call_tid, 1);
	event_set(&ev, F_call_probe, probe);
	event_set(&ev, F_call_dur, end - begin);
	event_set(&ev, F_call_flags, nested ? CALL_NESTED : 0);
	return ev;
}

static void feed(struct story *s, const struct event *ev)
{
	assert_int_equal(allocations_feed(&s->m, 1, ev, ev->at_ns, &s->why), 0);
}

static void alloc(struct story *s, uint64_t begin, uint64_t end, uint64_t addr, bool nested)
{
	struct event ev = call(s, KIND_alloc, nested ? DRIVER_MALLOC : MALLOC, begin, end, nested);

	event_set(&ev, F_alloc_addr, addr);
	event_set(&ev, F_alloc_bytes, end);
	event_set(&ev, F_alloc_memory, MEM_DEVICE);
	feed(s, &ev);
}

static void release(struct story *s, uint64_t begin, uint64_t end, uint64_t addr, bool nested)
{
	struct event ev = call(s, KIND_free, FREE, begin, end, nested);

	event_set(&ev, F_free_addr, addr);
	feed(s, &ev);
}

static void launch(struct story *s, uint64_t begin, uint64_t end)
{
	struct event ev = call(s, KIND_launch, LAUNCH, begin, end, false);

	feed(s, &ev);
}

static void context(struct story *s, uint16_t probe, uint64_t begin, uint64_t end, uint64_t device, bool nested)
{
	struct event ev = call(s, KIND_context, probe, begin, end, nested);

	event_set(&ev, F_context_device, device);
	feed(s, &ev);
}

static void leave(struct story *s, uint64_t at, bool last)
{
	struct event ev = event_made(KIND_exit, schema_kind(&s->schema, KIND_exit), at);

	event_set(&ev, F_exit_tid, 1);
	event_set(&ev, F_exit_last, last);
	feed(s, &ev);
}

static uint64_t held(const struct story *s)
{
	return allocations_held(&s->m, 1, MEM_DEVICE);
}

static void memory_is_held_until_it_is_freed(void **state)
{
	struct story *s = *state;

	alloc(s, 9, 10, 0x1000, false);
	alloc(s, 19, 20, 0x2000, false);
	assert_int_equal(held(s), 30);
	release(s, 29, 30, 0x1000, false);
	release(s, 30, 31, 0x1000, false); /* once more: nothing is there */
	release(s, 31, 32, 0x9000, false); /* from before recording began */
	assert_int_equal(held(s), 20);
	assert_int_equal(s->m.nunmatched, 2);
	assert_string_equal(s->emitted, "+10 +20 -10@30 10:freed@30/30 ");
}

static void failed_calls_and_those_without_an_address_hold_nothing(void **state)
{
	struct story *s = *state;
	struct event ev = call(s, KIND_alloc, MALLOC, 9, 10, false);

	event_set(&ev, F_alloc_addr, 0x1000);
	event_set(&ev, F_call_ret, 2);
	feed(s, &ev);
	alloc(s, 11, 12, 0, false);
	assert_int_equal(held(s), 0);
	assert_int_equal(s->m.nunfollowed, 1);
	assert_string_equal(s->emitted, "no10 ");
	ev = call(s, KIND_free, FREE, 13, 14, false);
	event_set(&ev, F_call_ret, 1);
	feed(s, &ev);
	assert_string_equal(s->emitted, "no10 ");
}

static void a_call_within_one_of_its_kind_counts_as_that(void **state)
{
	struct story *s = *state;

	alloc(s, 11, 12, 0x1000, true);
	alloc(s, 13, 14, 0x8000, true);
	assert_string_equal(s->emitted, "");
	alloc(s, 10, 15, 0x1000, false);
	assert_string_equal(s->emitted, "(12) (14) +15 ");
	release(s, 21, 22, 0x1000, true);
	release(s, 20, 25, 0x1000, false);
	assert_string_equal(s->emitted + 14, "(22) -15@25 15:freed@25/25 ");
	assert_int_equal(s->m.nunmatched, 0);
}

static void a_call_within_one_of_another_kind_counts_itself(void **state)
{
	struct story *s = *state;

	alloc(s, 11, 12, 0x1000, true);
	launch(s, 10, 15);
	assert_string_equal(s->emitted, "+12 ");
	/* A launch that calls the runtime, which calls the driver. */
	alloc(s, 22, 23, 0x2000, true);
	alloc(s, 21, 24, 0x2000, true);
	assert_string_equal(s->emitted, "+12 (23) ");
	launch(s, 20, 25);
	assert_string_equal(s->emitted, "+12 (23) +24 ");
	assert_int_equal(held(s), 36);
}

static void a_call_around_which_none_is_seen_counts(void **state)
{
	struct story *s = *state;
	const struct tasks nobody = {0};

	alloc(s, 11, 12, 0x1000, true); /* the call around it was lost: the next one began later */
	alloc(s, 20, 25, 0x2000, false);
	assert_string_equal(s->emitted, "+12 +25 ");
	alloc(s, 31, 32, 0x3000, true); /* it had not returned when its thread ended */
	leave(s, 40, false);
	assert_string_equal(s->emitted, "+12 +25 +32 ");
	for (uint64_t i = 0; i <= NESTED_KEPT_MAX; i++) /* more than are kept */
		alloc(s, 101 + 2 * i, 102 + 2 * i, 0x10000 + i, true);
	assert_int_equal(s->m.nopen, 3 + NESTED_KEPT_MAX);
	assert_int_equal(allocations_finish(&s->m, &nobody, &s->why), 0); /* recording ended */
	assert_int_equal(s->m.nopen, 4 + NESTED_KEPT_MAX);
}

static void an_address_that_is_handed_out_again_was_given_back(void **state)
{
	struct story *s = *state;
	const struct tasks nobody = {0};

	alloc(s, 9, 10, 0x1000, false);
	alloc(s, 49, 50, 0x1000, false);
	assert_int_equal(held(s), 50);
	release(s, 40, 60, 0x1000, false); /* it began before: it is the older one's */
	alloc(s, 69, 70, 0x1000, false);
	release(s, 80, 81, 0x1000, false); /* it began later: the older one's is missing */
	assert_string_equal(s->emitted,
			    "+10 -10@50 +50 10:freed@50/60 -50@70 +70 50:unseen@70/0 -70@81 70:freed@81/81 ");
	assert_int_equal(held(s), 0);
	s->emitted[0] = 0;
	alloc(s, 89, 90, 0x1000, false);
	alloc(s, 91, 92, 0x1000, false);
	assert_int_equal(allocations_finish(&s->m, &nobody, &s->why), 0);
	assert_string_equal(s->emitted, "+90 -90@92 +92 90:unseen@92/0 ");
	assert_int_equal(held(s), 92);
}

static void a_reset_ends_all_of_a_process_with_one_device(void **state)
{
	struct story *s = *state;
	struct event ev = call(s, KIND_context, RESET, 28, 29, false);

	context(s, CREATE, 8, 9, 1, false);
	alloc(s, 9, 10, 0x1000, false);
	alloc(s, 11, 12, 0x2000, false);
	event_set(&ev, F_call_ret, 201);
	feed(s, &ev);
	assert_int_equal(held(s), 22);
	context(s, RESET, 31, 32, 1, true);
	context(s, RESET, 30, 33, 0, false); /* which does not say its device */
	assert_string_equal(s->emitted, "+10 +12 (32) -10@33 10:context@33/33 -12@33 12:context@33/33 ");
	alloc(s, 39, 40, 0x1000, false);
	context(s, CREATE, 41, 42, 2, false);
	context(s, RESET, 43, 44, 2, false);
	assert_int_equal(held(s), 40); /* on which device it was is not known */
}

static void an_exit_ends_the_rest(void **state)
{
	struct story *s = *state;

	alloc(s, 9, 10, 0x1000, false);
	leave(s, 20, false);
	assert_int_equal(held(s), 10); /* a thread ended, not the process */
	alloc(s, 22, 23, 0x2000, true);
	leave(s, 30, true);
	assert_string_equal(s->emitted, "+10 +23 -10@30 10:exit@30/0 -23@30 23:exit@30/0 ");
	assert_int_equal(held(s), 0);
	assert_null(allocations_next(&s->m, 1, NULL));
}

static void another_program_begins_with_nothing(void **state)
{
	struct story *s = *state;
	struct event ev = event_made(KIND_exec, schema_kind(&s->schema, KIND_exec), 30);

	context(s, CREATE, 7, 8, 1, false);
	alloc(s, 9, 10, 0x1000, false);
	alloc(s, 22, 23, 0x2000, true);
	event_set(&ev, F_exec_tid, 1);
	feed(s, &ev);
	assert_string_equal(s->emitted, "+10 +23 -10@30 10:exec@30/0 -23@30 23:exec@30/0 ");
	assert_int_equal(held(s), 0);
	alloc(s, 39, 40, 0x1000, false);
	context(s, CREATE, 41, 42, 2, false); /* the only device that this program was seen with */
	context(s, RESET, 43, 44, 2, false);
	assert_int_equal(held(s), 0);
}

/* A call that makes or destroys an object, whose handle is in `field`. */
static void object(struct story *s, uint16_t kind, uint16_t probe, uint64_t at, uint8_t field, uint64_t handle,
		   bool nested)
{
	struct event ev = call(s, kind, probe, at - (nested ? 1 : 3), at, nested);

	event_set(&ev, field, handle);
	feed(s, &ev);
}

static void objects_are_held_until_they_are_destroyed(void **state)
{
	struct story *s = *state;

	s->m.objects = true;
	alloc(s, 1, 2, 0x1000, false); /* memory is another tracker's */
	object(s, KIND_stream, DRIVER_STREAM, 10, F_stream_stream, 0xa0, true);
	object(s, KIND_stream, STREAM, 11, F_stream_stream, 0xa0, false);
	object(s, KIND_stream, STREAM_QUERY, 20, F_stream_stream, 0xa0, false);
	object(s, KIND_graph, GRAPH_CREATE, 30, F_graph_graph, 0xb0, false);
	object(s, KIND_stream, END_CAPTURE, 40, F_stream_object, 0xb0, false); /* into that graph */
	object(s, KIND_stream, END_CAPTURE, 50, F_stream_object, 0xb1, false);
	object(s, KIND_graph, INSTANTIATE, 60, F_graph_exec, 0xc0, false);
	object(s, KIND_load, LOAD, 70, F_load_module, 0xd0, false);
	assert_string_equal(s->emitted, "(10) +11 +30 +50 +60 +70 ");
	assert_int_equal(allocations_held(&s->m, 1, OBJECT_STREAM), 1);
	assert_int_equal(allocations_held(&s->m, 1, OBJECT_GRAPH), 2);
	s->emitted[0] = 0;
	object(s, KIND_stream, STREAM_DESTROY, 80, F_stream_stream, 0xa0, false);
	object(s, KIND_graph, EXEC_DESTROY, 90, F_graph_exec, 0xc0, false);
	object(s, KIND_load, UNLOAD, 100, F_load_module, 0xd0, false);
	assert_string_equal(s->emitted, "-11@80 11:freed@80/80 -60@90 60:freed@90/90 -70@100 70:freed@100/100 ");
}

static void objects_end_with_their_context(void **state)
{
	struct story *s = *state;

	s->m.objects = true;
	object(s, KIND_context, CREATE, 10, F_context_context, 0xe0, false);
	object(s, KIND_stream, STREAM, 20, F_stream_stream, 0xa0, false);
	object(s, KIND_context, GREEN_DESTROY, 30, F_context_context, 0xe9, false);
	assert_string_equal(s->emitted, "+10 +20 ");
	object(s, KIND_context, CTX_DESTROY, 40, F_context_context, 0xe0, false);
	assert_string_equal(s->emitted, "+10 +20 -10@40 10:freed@40/40 -20@40 20:context@40/40 ");
}

static void beyond_the_limit_none_is_followed_until_one_ends(void **state)
{
	struct story *s = *state;

	s->m.max = 2;
	for (uint64_t i = 0; i < 4; i++)
		alloc(s, 9 + i, 10 + i, 0x1000 + i, false);
	assert_int_equal(s->m.nunfollowed, 2);
	release(s, 19, 20, 0x1000, false);
	alloc(s, 29, 30, 0x3000, false);
	assert_int_equal(s->m.nunfollowed, 2);
	assert_int_equal(allocations_next(&s->m, 1, NULL)->id, 11);
	assert_int_equal(allocations_next(&s->m, 1, allocations_next(&s->m, 1, NULL))->id, 30);
}

int main(void)
{
#define T(test) cmocka_unit_test_setup_teardown(test, begin_story, end_story)
	const struct CMUnitTest tests[] = {
		T(memory_is_held_until_it_is_freed),
		T(failed_calls_and_those_without_an_address_hold_nothing),
		T(a_call_within_one_of_its_kind_counts_as_that),
		T(a_call_within_one_of_another_kind_counts_itself),
		T(a_call_around_which_none_is_seen_counts),
		T(an_address_that_is_handed_out_again_was_given_back),
		T(a_reset_ends_all_of_a_process_with_one_device),
		T(an_exit_ends_the_rest),
		T(another_program_begins_with_nothing),
		T(objects_are_held_until_they_are_destroyed),
		T(objects_end_with_their_context),
		T(beyond_the_limit_none_is_followed_until_one_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
