/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/export/text_plan.h"

#include <stdio.h>
#include <string.h>

static uint8_t field_named(const struct kind *k, const char *name)
{
	for (uint8_t i = 0; i < k->nfields; i++)
		if (!strcmp(k->fields[i].name, name))
			return i;
	return NO_FIELD;
}

static bool ends_with(const char *name, const char *end)
{
	size_t len = strlen(name), n = strlen(end);

	return len >= n && !strcmp(name + len - n, end);
}

/* Fields that are not shown as their unit says. */
static const struct own {
	uint16_t kind;
	uint8_t field;
	uint8_t style;
	bool unless_zero, less_one;
} owns[] = {
	{KIND_switch, F_switch_prev_state, STYLE_STATE, false, false},
	{KIND_switch, F_switch_prev_syscall, STYLE_UINT, true, true},
	{KIND_switch, F_switch_prev_flags, STYLE_SWITCH_FLAGS, true, false},
	{KIND_switch, F_switch_next_queue, STYLE_UINT, true, true},
	{KIND_signal, F_signal_tid, STYLE_THREAD, true, false},
	{KIND_state, F_state_syscall, STYLE_UINT, true, true},
	{KIND_state, F_state_argument, STYLE_HEX, true, false},
	{KIND_in_flight, F_in_flight_probe, STYLE_PROBE, false, false},
	{KIND_in_flight, F_in_flight_flags, STYLE_FLIGHT, false, false},
	{KIND_futex, F_futex_addr2, STYLE_HEX, true, false},
	{KIND_copy, F_copy_dst_device, STYLE_UINT, true, true},
	{KIND_copy, F_copy_src_device, STYLE_UINT, true, true},
	{KIND_copy, F_copy_count, STYLE_UINT, true, false},
	{KIND_collective, F_collective_peer, STYLE_UINT, true, true},
	{KIND_context, F_context_device, STYLE_UINT, true, true},
	{KIND_reduction, F_reduction_of_kind, STYLE_KIND, false, false},
	{KIND_reduction, F_reduction_counter, STYLE_COUNTER, false, false},
	{KIND_reduction, F_reduction_keep, STYLE_UINT, true, false},
	{KIND_reduction, F_reduction_rate, STYLE_UINT, true, false},
	{KIND_exit, F_exit_code, STYLE_STATUS, false, false},
	{KIND_attach, F_attach_probe, STYLE_PROBE, false, false},
	{KIND_frame, F_frame_symbol, STYLE_NAME, false, false},
	{KIND_kernel, F_kernel_name, STYLE_NAME, false, false},
};

static enum style style_of(const struct kind *k, uint8_t f)
{
	const struct field *field = &k->fields[f];

	if (k->flags == KIND_CALL && f == F_call_flags)
		return STYLE_NESTED;
	if (field->encoding == ENC_TEXT)
		return STYLE_TEXT;
	if (field_is_signed(field))
		return STYLE_SINT;
	if (field->unit == UNIT_ID && ends_with(field->name, "tid"))
		return STYLE_THREAD;
	switch (field->unit) {
	case UNIT_ADDRESS:
	case UNIT_FLAGS:
		return STYLE_HEX;
	case UNIT_NS:
		return STYLE_DURATION;
	case UNIT_BOOT_NS:
		return STYLE_TIME;
	default:
		return STYLE_UINT;
	}
}

/* The words of a field stand side by side in the table. */
static void find_words(struct step *s, const struct kind *k)
{
	size_t n;
	const struct enum_word *words = enum_words(&n);

	for (size_t i = 0; i < n; i++) {
		if (words[i].kind != k->id || words[i].field != s->field)
			continue;
		if (!s->nwords)
			s->words = &words[i];
		s->nwords++;
	}
	if (s->nwords)
		s->style = STYLE_ENUM;
}

static void add_step(struct plan *p, const struct kind *k, uint8_t f)
{
	struct step *s = &p->steps[p->nsteps++];
	const char *name = k->fields[f].name;
	bool tail = ends_with(name, "_y") || ends_with(name, "_z");

	/* grid_x, grid_y, grid_z become grid=256x1x1. */
	if (tail)
		snprintf(s->prefix, sizeof(s->prefix), "x");
	else if (ends_with(name, "_x"))
		snprintf(s->prefix, sizeof(s->prefix), " %.*s=", (int)strlen(name) - 2, name);
	else
		snprintf(s->prefix, sizeof(s->prefix), " %s=", name);
	s->prefix_len = (uint8_t)strlen(s->prefix);
	s->field = f;
	s->style = (uint8_t)style_of(k, f);
	/* 0 is no stack. */
	s->unless_zero = k->flags == KIND_CALL && k->fields[f].unit == UNIT_ID && !strcmp(name, "stack");
	if (k->id == KIND_health && f > F_health_known)
		s->known_bit = (uint8_t)(f - F_health_known);
	for (size_t i = 0; i < sizeof(owns) / sizeof(owns[0]); i++) {
		if (owns[i].kind != k->id || owns[i].field != f)
			continue;
		s->style = owns[i].style;
		s->unless_zero = owns[i].unless_zero;
		s->less_one = owns[i].less_one;
	}
	find_words(s, k);
}

/* Who did it or whom it is about, and which fields that leaves. */
static void plan_head(struct plan *p, const struct kind *k)
{
	*p = (struct plan){.who = field_named(k, "tid"), .what = NO_FIELD};
	if (k->id == KIND_switch)
		p->who = F_switch_prev_tid;
	if (k->id == KIND_waking)
		p->who = F_waking_waker_tid; /* who does it stands first */
	if (k->id == KIND_signal)
		p->who = F_signal_sender_tid;
	if (k->id == KIND_oom || k->id == KIND_xid) {
		p->who = k->id == KIND_oom ? (uint8_t)F_oom_pid : (uint8_t)F_xid_pid;
		p->who_is_process = true;
	}
	if (k->flags == KIND_CALL)
		p->what = F_call_probe;
}

/* Of a CPU: it stands first. */
static bool cpu_leads(const struct kind *k)
{
	return k->id == KIND_cpu || k->id == KIND_metric;
}

void plan_kind(struct plan *p, const struct kind *k)
{
	static const char *const last[] = {"dur", "ret", "flags", "cpu"}; /* the same everywhere: after what differs */
	uint8_t hidden[] = {0, NO_FIELD, NO_FIELD, NO_FIELD, NO_FIELD};

	plan_head(p, k);
	hidden[1] = p->who;
	hidden[2] = p->what;
	hidden[3] = p->who != NO_FIELD && !strcmp(k->fields[p->who].name, "tid") ? field_named(k, "pid") : NO_FIELD;
	hidden[4] = k->id == KIND_health ? (uint8_t)F_health_known : NO_FIELD;
	for (uint8_t f = 0; f < k->nfields; f++) {
		bool later = memchr(hidden, f, sizeof(hidden)) != NULL;

		for (size_t i = 0; i < sizeof(last) / sizeof(last[0]) && !cpu_leads(k); i++)
			later |= !strcmp(k->fields[f].name, last[i]);
		if (!later)
			add_step(p, k, f);
	}
	for (size_t i = 0; i < sizeof(last) / sizeof(last[0]) && !cpu_leads(k); i++) {
		uint8_t f = field_named(k, last[i]);

		if (f != NO_FIELD)
			add_step(p, k, f);
	}
}
