// SPDX-License-Identifier: Apache-2.0
#include "analyze/report/report_ledger.h"

#include <stdlib.h>
#include <string.h>

#include "format/base/array.h"
#include "format/base/units.h"
#include "replay/model/ledger.h"

#define WIDTH 10              /* of a duration */
#define WORDS_AT 24           /* the column of the words */
#define ROW_SLICES 60         /* in a row of the strip: of a second each they are a minute */
#define WAITED_LISTED 16      /* who kept them waiting: in JSON, */
#define WAITED_NAMED 3        /* and in a sentence, */
#define WAITED_NAMED_PARTS 20 /* with no less than this part of the time */

static uint64_t whole_ns(const struct ledger_thread *t)
{
	return t->end_ns - t->begin_ns;
}

static void list(struct feeders *f, const struct ledger_thread *t)
{
	unsigned i = f->nlisted < LEDGER_LISTED ? f->nlisted++ : LEDGER_LISTED;

	for (; i > 0 && whole_ns(f->listed[i - 1]) < whole_ns(t); i--)
		if (i < LEDGER_LISTED)
			f->listed[i] = f->listed[i - 1];
	if (i < LEDGER_LISTED)
		f->listed[i] = t;
}

/* False: no memory. */
static bool add_slices(struct feeders *f, const struct ledger_thread *t)
{
	size_t end = t->first_slice + t->nslices;
	struct ledger_slice *last = t->nslices ? array_at(&f->slices, &f->slices_room, end - 1, sizeof(*last)) : NULL;

	f->nunsliced += !t->sliced;
	if (!last)
		return !t->nslices;
	for (; f->nslices < end; f->nslices++)
		f->slices[f->nslices] = (struct ledger_slice){0};
	for (size_t i = 0; i < t->nslices; i++)
		for (unsigned p = 0; p < LEDGER_PARTS; p++)
			f->slices[t->first_slice + i].ns[p] += t->slices[i].ns[p];
	return true;
}

static void add_idle(struct feeders *f, const struct ledger_thread *t)
{
	const uint64_t *idle_ns = ledger_idle(t);

	f->nidle += idle_ns != NULL;
	for (unsigned p = 0; idle_ns && p < LEDGER_PARTS; p++)
		f->idle_ns[p] += idle_ns[p];
}

static uint64_t sum_of(const uint64_t ns[LEDGER_PARTS])
{
	uint64_t sum_ns = 0;

	for (unsigned p = 0; p < LEDGER_PARTS; p++)
		sum_ns += ns[p];
	return sum_ns;
}

bool report_feeders(const struct report *r, struct feeders *f)
{
	const struct ledger *l = engine_ledger(r->engine);
	bool whole = true;

	*f = (struct feeders){.begin_ns = l->begin_ns, .slice_ns = l->slice_ns};
	for (size_t i = 0; i < l->threads.nitems; i++) {
		const struct ledger_thread *t = (const struct ledger_thread *)l->threads.items[i];

		if (!t->nfed)
			continue;
		list(f, t);
		f->n++;
		f->whole_ns += whole_ns(t);
		for (unsigned p = 0; p < LEDGER_PARTS; p++)
			f->ns[p] += t->ns[p];
		add_idle(f, t);
		whole = add_slices(f, t) && whole;
		whole = waited_gather(&f->waited, &t->waited) && whole;
	}
	waited_merge(&f->waited);
	return whole;
}

void report_feeders_clear(struct feeders *f)
{
	waited_clear(&f->waited);
	free(f->slices);
}

static bool is_somebody(const struct waited_for *w)
{
	return w->whom.tid != TID_IDLE && w->whom.tid != TID_NONE;
}

/* What the recorder took of it. */
static void add_held(struct text *t, const struct names *names, const struct ledger_thread *thread)
{
	uint64_t held_ns = names_held_ns(names, thread->key.b % LEDGER_AGAIN), stopped_ns = thread->ns[LEDGER_STOPPED];

	if (!held_ns)
		return;
	text_add(t, "by the recorder, to attach its probes (");
	text_add_ns(t, held_ns < stopped_ns ? held_ns : stopped_ns);
	text_add(t, ")");
}

/* Which disk, whom behind the network, which control group: of that thread of those listed which lost most to it. */
static void add_source(struct text *t, const struct names *names, const struct feeders *f, enum ledger_part part)
{
	const struct ledger_thread *most = f->listed[0];
	const struct control_group *group;
	struct network_use network;
	struct disk_use disk;

	for (unsigned i = 1; i < f->nlisted; i++)
		if (f->listed[i]->ns[part] > most->ns[part])
			most = f->listed[i];
	if (!most->ns[part])
		return;
	switch (part) {
	case LEDGER_DEVICE:
		disk_waits_total(&names->disks, (uint32_t)most->key.a, &disk);
		if (disk.requests)
			text_add_disk_use(t, &disk);
		break;
	case LEDGER_NETWORK:
		network_waits_sum(&names->network, (uint32_t)most->key.a, 0, UINT64_MAX, &network);
		if (network.waits)
			text_add_network_use(t, &network);
		break;
	case LEDGER_MEMORY:
		group = names_memory_of_instance(names, most->key.b % LEDGER_AGAIN);
		if (group)
			text_add_memory_limit(t, group);
		break;
	case LEDGER_STOPPED:
		add_held(t, names, most);
		break;
	default:
		break;
	}
}

void report_waited_add(struct text *t, const struct report *r, const struct feeders *f, enum ledger_part part)
{
	const struct names *names = engine_context(r->engine)->names;
	unsigned n = 0;

	for (size_t i = 0; i < f->waited.n && n < WAITED_NAMED; i++) {
		const struct waited_for *w = &f->waited.all[i];
		struct who who;

		if (w->part != part || !is_somebody(w) || w->ns < f->ns[part] / WAITED_NAMED_PARTS)
			continue;
		names_who_was(names, w->whom.tid, w->whom.thread, &who);
		text_add(t, "%s", n++ ? ", " : part == LEDGER_CPU ? "behind " : "for ");
		text_add_who(t, &who);
		text_add(t, " (");
		text_add_ns(t, w->ns);
		if (part == LEDGER_TASK)
			text_add_doing(t, ": ", w->did_ns, w->ns);
		text_add(t, ")");
	}
	if (!n && f->nlisted)
		add_source(t, names, f, part);
}

void report_feeders_add(struct text *t, const struct feeders *f)
{
	if (f->n == 1)
		text_add(t, "the thread that feeds the GPU, ");
	else
		text_add(t, "the %llu threads that feed the GPU, ", (unsigned long long)f->n);
	text_add_ns(t, f->whole_ns);
}

void report_idle_add(struct text *t, const struct feeders *f)
{
	uint64_t left_ns[LEDGER_PARTS], sum_ns = sum_of(f->idle_ns);
	const char *before = ": ";

	text_add_ns(t, sum_ns);
	text_add(t, " (");
	text_add_percent(t, sum_ns, f->whole_ns);
	text_add(t, " %%)");
	memcpy(left_ns, f->idle_ns, sizeof(left_ns));
	for (enum ledger_part most; left_ns[most = ledger_most(left_ns)]; left_ns[most] = 0) {
		text_add(t, "%s", before);
		text_add_ns(t, left_ns[most]);
		text_add(t, " %c", ledger_part_letter(most));
		before = ", ";
	}
	if (f->nidle < f->n)
		text_add(t, "; of %llu of them that is not known", (unsigned long long)(f->n - f->nidle));
}

/* What most of a slice's time went to; a blank: none of them was there. */
static char letter_of(const struct ledger_slice *slice)
{
	enum ledger_part most = ledger_most(slice->ns);

	return slice->ns[most] ? ledger_part_letter(most) : ' ';
}

/* A letter for each slice: what took most of it. */
static void add_strip(struct text *t, const struct feeders *f)
{
	struct text one = {0};

	if (f->nslices < 2)
		return;
	text_add(t, "  What took most of each ");
	if (f->slice_ns == LEDGER_SLICE_NS)
		text_add(t, "second");
	else
		text_add_ns(t, f->slice_ns);
	text_add(t, ":\n");
	for (size_t i = 0; i < f->nslices; i++) {
		if (i % ROW_SLICES == 0) {
			text_add(&one, "+%llu s", (unsigned long long)(i * f->slice_ns / 1000000000));
			text_take_right(t, &one, WIDTH);
			text_add(t, "  ");
		}
		text_add(t, "%c", letter_of(&f->slices[i]));
		if (i % ROW_SLICES == ROW_SLICES - 1 || i + 1 == f->nslices)
			text_add(t, "\n");
	}
}

void report_ledger_text(const struct report *r, struct text *t)
{
	struct feeders f;

	t->failed |= !report_feeders(r, &f);
	if (!f.n)
		return;
	text_add(t, "\nWhere the time went of ");
	report_feeders_add(t, &f);
	text_add(t, "\n");
	for (unsigned p = 0; p < LEDGER_PARTS; p++) {
		struct text one = {0};

		if (!f.ns[p])
			continue;
		text_add_ns(&one, f.ns[p]);
		text_take_right(t, &one, WIDTH);
		text_add_percent(&one, f.ns[p], f.whole_ns);
		text_take_right(t, &one, WIDTH - 3);
		text_add(t, " %%  %c  %s\n", ledger_part_letter((enum ledger_part)p),
			 ledger_part_words((enum ledger_part)p));
		report_waited_add(&one, r, &f, (enum ledger_part)p);
		if (!one.len && !one.failed)
			continue;
		text_add(t, "%*s", WORDS_AT, "");
		text_take(t, &one);
		text_add(t, "\n");
	}
	if (f.nidle) {
		text_add(t, "  In which the GPU had no work of theirs, at least ");
		report_idle_add(t, &f);
		text_add(t, "\n");
	}
	add_strip(t, &f);
	report_feeders_clear(&f);
}

static void add_parts(struct json *j, const uint64_t ns[LEDGER_PARTS])
{
	json_open(j, "parts", '{');
	for (unsigned p = 0; p < LEDGER_PARTS; p++)
		json_u64(j, ledger_part_key((enum ledger_part)p), ns[p]);
	json_close(j, '}');
}

/* Those that are not 0. */
static void add_some_parts(struct json *j, const uint64_t ns[LEDGER_PARTS])
{
	json_open(j, "parts", '{');
	for (unsigned p = 0; p < LEDGER_PARTS; p++)
		if (ns[p])
			json_u64(j, ledger_part_key((enum ledger_part)p), ns[p]);
	json_close(j, '}');
}

static void add_gpu_idle(struct json *j, const struct feeders *f)
{
	if (!f->nidle) {
		json_null(j, "gpu_idle");
		return;
	}
	json_open(j, "gpu_idle", '{');
	json_u64(j, "threads", f->nidle);
	json_u64(j, "ns", sum_of(f->idle_ns));
	add_some_parts(j, f->idle_ns);
	json_close(j, '}');
}

static void add_thread(struct json *j, const struct names *names, const struct ledger_thread *t)
{
	const struct process *p = names_instance(names, t->key.b % LEDGER_AGAIN);

	json_open(j, NULL, '{');
	json_u64(j, "tid", t->key.a);
	json_u64(j, "pid", p ? p->pid : 0);
	json_u64(j, "begin_ns", t->begin_ns);
	json_u64(j, "end_ns", t->end_ns);
	add_parts(j, t->ns);
	if (ledger_idle(t))
		json_u64(j, "gpu_idle_ns", sum_of(ledger_idle(t)));
	else
		json_null(j, "gpu_idle_ns");
	json_close(j, '}');
}

static void add_waited(struct json *j, const struct names *names, const struct feeders *f)
{
	json_open(j, "waited_for", '[');
	for (size_t i = 0; i < f->waited.n && i < WAITED_LISTED; i++) {
		const struct waited_for *w = &f->waited.all[i];
		struct who who = {0};

		if (is_somebody(w))
			names_who_was(names, w->whom.tid, w->whom.thread, &who);
		json_open(j, NULL, '{');
		json_string(j, "part", ledger_part_key((enum ledger_part)w->part));
		if (w->whom.tid == TID_NONE)
			json_null(j, "tid");
		else
			json_u64(j, "tid", w->whom.tid);
		json_u64(j, "pid", who.pid);
		json_text(j, "name", who.name.s, who.name.len);
		json_u64(j, "ns", w->ns);
		json_u64(j, "count", w->count);
		json_string(j, "did", cause_class_name(waited_did(w)));
		json_open(j, "did_ns", '{');
		for (unsigned c = 0; c < CAUSE_CLASSES; c++)
			if (w->did_ns[c])
				json_u64(j, cause_class_name((enum cause_class)c), w->did_ns[c]);
		json_close(j, '}');
		json_u64(j, "gpu_idle_ns", w->idle_ns);
		json_close(j, '}');
	}
	json_close(j, ']');
}

/* Of each slice those that are not 0. */
static void add_seconds(struct json *j, const struct feeders *f)
{
	json_open(j, "by_second", '[');
	for (size_t i = 0; i < f->nslices; i++) {
		json_open(j, NULL, '{');
		json_u64(j, "begin_ns", feeders_slice_ns(f, i));
		json_u64(j, "end_ns", feeders_slice_ns(f, i + 1));
		add_some_parts(j, f->slices[i].ns);
		json_close(j, '}');
	}
	json_close(j, ']');
}

void report_ledger_json(const struct report *r, struct json *j)
{
	const struct names *names = engine_context(r->engine)->names;
	struct feeders f;

	j->out->failed |= !report_feeders(r, &f);
	json_open(j, "ledger", '{');
	json_u64(j, "threads", f.n);
	json_u64(j, "total_ns", f.whole_ns);
	add_parts(j, f.ns);
	add_gpu_idle(j, &f);
	add_waited(j, names, &f);
	add_seconds(j, &f);
	json_open(j, "by_thread", '[');
	for (unsigned i = 0; i < f.nlisted; i++)
		add_thread(j, names, f.listed[i]);
	json_close(j, ']');
	json_close(j, '}');
	report_feeders_clear(&f);
}
