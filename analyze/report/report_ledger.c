// SPDX-License-Identifier: Apache-2.0
#include "analyze/report/report_ledger.h"

#include <stdlib.h>

#include "format/base/units.h"
#include "replay/model/ledger.h"

#define WIDTH 10 /* of a duration */

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

void report_feeders(const struct report *r, struct feeders *f)
{
	const struct ledger *l = engine_ledger(r->engine);

	*f = (struct feeders){0};
	for (size_t i = 0; i < l->threads.nitems; i++) {
		const struct ledger_thread *t = (const struct ledger_thread *)l->threads.items[i];

		if (!t->nfed)
			continue;
		list(f, t);
		f->n++;
		f->whole_ns += whole_ns(t);
		for (unsigned p = 0; p < LEDGER_PARTS; p++)
			f->ns[p] += t->ns[p];
	}
}

void report_feeders_add(struct text *t, const struct feeders *f)
{
	if (f->n == 1)
		text_add(t, "the thread that feeds the GPU, ");
	else
		text_add(t, "the %llu threads that feed the GPU, ", (unsigned long long)f->n);
	text_add_ns(t, f->whole_ns);
}

void report_ledger_text(const struct report *r, struct text *t)
{
	struct feeders f;

	report_feeders(r, &f);
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
		text_add(t, " %%  %s\n", ledger_part_words((enum ledger_part)p));
	}
}

static void add_parts(struct json *j, const uint64_t ns[LEDGER_PARTS])
{
	json_open(j, "parts", '{');
	for (unsigned p = 0; p < LEDGER_PARTS; p++)
		json_u64(j, ledger_part_key((enum ledger_part)p), ns[p]);
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
	json_close(j, '}');
}

void report_ledger_json(const struct report *r, struct json *j)
{
	const struct names *names = engine_context(r->engine)->names;
	struct feeders f;

	report_feeders(r, &f);
	json_open(j, "ledger", '{');
	json_u64(j, "threads", f.n);
	json_u64(j, "total_ns", f.whole_ns);
	add_parts(j, f.ns);
	json_open(j, "by_thread", '[');
	for (unsigned i = 0; i < f.nlisted; i++)
		add_thread(j, names, f.listed[i]);
	json_close(j, ']');
	json_close(j, '}');
}
