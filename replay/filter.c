/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/filter.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "keys/tool/nearest.h"

static const struct kind *kind_by_name(const struct schema *s, const char *name, size_t n)
{
	for (size_t i = 0; i < s->nkinds; i++)
		if (strlen(s->kinds[i].name) == n && !memcmp(s->kinds[i].name, name, n))
			return &s->kinds[i];
	return NULL;
}

__attribute__((format(printf, 3, 4))) static void append(char *buf, size_t size, const char *fmt, ...)
{
	size_t len = strlen(buf);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(buf + len, size - len, fmt, ap);
	va_end(ap);
}

static int refuse_kind(const struct schema *schema, const char *list, size_t n, struct fault *why)
{
	char word[NEAREST_MAX + 1], meant[NEAREST_MAX + 32];
	struct nearest nearest = nearest_to_part(word, list, n);

	for (size_t i = 0; i < schema->nkinds; i++)
		nearest_offer(&nearest, schema->kinds[i].name);
	return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "'%s' is not a kind of event%s", word,
			 nearest.best ? nearest_words(meant, sizeof(meant), &nearest)
				      : "; gpuverify lists those of a capture");
}

int filter_add_kinds(struct filter *f, const struct schema *schema, const char *list, struct fault *why)
{
	for (;; list++) {
		size_t n = strcspn(list, ",");
		const struct kind *k = kind_by_name(schema, list, n);

		if (!k)
			return refuse_kind(schema, list, n, why);
		f->some_kinds = true;
		f->kinds[k->id] = true;
		list += n;
		if (!*list)
			return 0;
	}
}

static bool listed(const uint32_t *ids, size_t n, uint64_t id)
{
	for (size_t i = 0; i < n; i++)
		if (ids[i] == id)
			return true;
	return false;
}

/* "tid" or "..._tid". */
static bool names_a(const struct field *field, const char *what)
{
	size_t len = strlen(field->name), n = strlen(what);

	return len >= n && !strcmp(field->name + len - n, what) && (len == n || field->name[len - n - 1] == '_');
}

static bool passes_ids(const struct filter *f, const struct event *ev, const struct tasks *tasks)
{
	bool pid_ok = f->npids == 0, tid_ok = f->ntids == 0;

	for (size_t i = 0; i < ev->shape->nfields && !(pid_ok && tid_ok); i++) {
		const struct thread *t;

		if (ev->shape->fields[i].unit != UNIT_ID)
			continue;
		if (names_a(&ev->shape->fields[i], "pid")) {
			pid_ok = pid_ok || listed(f->pids, f->npids, ev->v[i]);
		} else if (names_a(&ev->shape->fields[i], "tid")) {
			tid_ok = tid_ok || listed(f->tids, f->ntids, ev->v[i]);
			t = tasks_find_thread(tasks, (uint32_t)ev->v[i]);
			if (!pid_ok && t && t->process)
				pid_ok = listed(f->pids, f->npids, tasks->processes[t->process].pid);
		}
	}
	return pid_ok && tid_ok;
}

bool filter_is_open(const struct filter *f)
{
	return !f->some_kinds && !f->npids && !f->ntids && !f->from_ns && f->to_ns == UINT64_MAX && !f->where;
}

bool filter_passes(const struct filter *f, const struct event *ev, const struct tasks *tasks, bool keep_names)
{
	if (keep_names && !(ev->shape->flags & KIND_COUNTED))
		return true;
	if (ev->at_ns < f->from_ns || ev->at_ns >= f->to_ns || (f->some_kinds && !f->kinds[ev->kind]))
		return false;
	if ((f->npids || f->ntids) && !passes_ids(f, ev, tasks))
		return false;
	return !f->where || where_holds(f->where, ev, tasks);
}

bool filter_concerns(const struct filter *f, uint16_t kind, uint64_t begin_ns, uint64_t end_ns)
{
	return begin_ns < f->to_ns && end_ns > f->from_ns && (!f->some_kinds || kind == 0 || f->kinds[kind]);
}

void filter_describe(const struct filter *f, const struct schema *schema, char *buf, size_t size)
{
	const char *comma = "";

	buf[0] = '\0';
	if (f->some_kinds) {
		append(buf, size, "kind ");
		for (size_t i = 0; i < schema->nkinds; i++) {
			if (f->kinds[schema->kinds[i].id]) {
				append(buf, size, "%s%s", comma, schema->kinds[i].name);
				comma = ",";
			}
		}
		append(buf, size, "; ");
	}
	for (size_t i = 0; i < f->npids; i++)
		append(buf, size, "pid %" PRIu32 "; ", f->pids[i]);
	for (size_t i = 0; i < f->ntids; i++)
		append(buf, size, "tid %" PRIu32 "; ", f->tids[i]);
	if (f->from_ns > 0)
		append(buf, size, "from %" PRIu64 " ns; ", f->from_ns);
	if (f->to_ns != NO_TIME)
		append(buf, size, "to %" PRIu64 " ns; ", f->to_ns);
	if (f->where)
		append(buf, size, "where %s; ", where_text(f->where));
	if (buf[0] && strlen(buf) >= 2)
		buf[strlen(buf) - 2] = '\0';
	else
		snprintf(buf, size, "all");
}
