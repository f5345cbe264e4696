/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/narrowed.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "format/base/units.h"
#include "format/cursor.h"
#include "keys/tool/nearest.h"
#include "replay/export/exporter.h"
#include "replay/model/tasks.h"
#include "replay/verify/withheld.h"

/* Arguments were of class path before they had a class of their own. */
static bool is_old_arguments(const struct schema *schema, const char *list, size_t n)
{
	return n == strlen("arguments") && !memcmp(list, "arguments", n) && !schema_class_name(schema, CLASS_arguments);
}

static int refuse_class(const struct schema *schema, const char *list, size_t n, struct fault *why)
{
	char word[NEAREST_MAX + 1], meant[NEAREST_MAX + 32], known[160] = "";
	struct nearest nearest = nearest_to_part(word, list, n);
	size_t used = 0;

	for (size_t i = 0; i < schema->nclasses && used < sizeof(known); i++) {
		nearest_offer(&nearest, schema->classes[i].name);
		used += (size_t)snprintf(known + used, sizeof(known) - used, "%s%s", i ? ", " : "",
					 schema->classes[i].name);
	}
	return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "'%s' is not a class of content here; there are %s%s", word,
			 known, nearest.best ? nearest_words(meant, sizeof(meant), &nearest) : "");
}

int narrowed_add_classes(uint32_t *classes, const struct schema *schema, const char *list, struct fault *why)
{
	for (;; list++) {
		size_t n = strcspn(list, ","), i = 0;
		bool old_arguments = is_old_arguments(schema, list, n);

		if (old_arguments)
			*classes |= UINT32_C(1) << CLASS_path;
		while (!old_arguments && i < schema->nclasses &&
		       (strlen(schema->classes[i].name) != n || memcmp(schema->classes[i].name, list, n) != 0))
			i++;
		if (!old_arguments && i == schema->nclasses)
			return refuse_class(schema, list, n, why);
		if (!old_arguments)
			*classes |= UINT32_C(1) << schema->classes[i].id;
		list += n;
		if (*list)
			continue;
		if (*classes >> CLASS_path & 1)
			*classes |= UINT32_C(1) << CLASS_arguments;
		return 0;
	}
}

/* Only of authentic bytes may something be made that others will take for evidence. */
static int check_authentic(const struct replay *replay, struct fault *why)
{
	const struct verification *v = &replay->evidence->verification;
	int code = v->verdict == VERDICT_FORGED ? ERR_FORGED : v->verdict == VERDICT_MALFORMED ? ERR_FORMAT : ERR_IO;

	if (v->verdict == VERDICT_FORGED || v->verdict == VERDICT_MALFORMED || v->verdict == VERDICT_UNCHECKED)
		return fault_set(why, (enum err)code, v->why.offset,
				 "no narrower capture is made of one that is %s, not even with --unverified: %.120s",
				 verdict_word(v->verdict), v->why.text);
	if (v->nepochs == 0 && replay->evidence->reader.tail != TAIL_END)
		return fault_set(why, ERR_FORMAT, v->why.offset,
				 "the capture stops before its first epoch was sealed: there is nothing to narrow");
	return 0;
}

/* Whether a row of class host has what is to go with another class: only captures before format 1.1 have such rows. */
static bool leaks(const struct event *ev, uint32_t classes)
{
	static const char name[] = "name=", removed[] = "name=(process)";
	const char *text;
	size_t n;

	if (ev->kind == KIND_xid && classes >> CLASS_process & 1) {
		text = ev->text[F_xid_text];
		n = text ? (size_t)ev->v[F_xid_text] : 0;
		text = text ? memmem(text, n, name, strlen(name)) : NULL;
		n = text ? n - (size_t)(text - ev->text[F_xid_text]) : 0;
		return text && (n < strlen(removed) || memcmp(text, removed, strlen(removed)) != 0);
	}
	if (ev->kind != KIND_fact || !(classes >> CLASS_path & 1) || !ev->text[F_fact_value])
		return false;
	return (event_text_is(ev, F_fact_name, "library_problem") || event_text_is(ev, F_fact_name, "nvml")) &&
	       memchr(ev->text[F_fact_value], '/', (size_t)ev->v[F_fact_value]);
}

/* Sets n->host_leaks, and lets class host go. */
static int check_host(struct narrowed *n, struct fault *why)
{
	const struct reader *r = n->reader;
	uint32_t fields[KINDS_MAX] = {0};
	const struct cursor_wish wish = {.fields = fields, .to_ns = UINT64_MAX, .unnumbered = true};
	struct cursor *cur;
	struct event ev;
	int ret;

	if (!(n->what.classes & (1u << CLASS_path | 1u << CLASS_process)) || n->what.classes >> CLASS_host & 1)
		return 0;
	for (size_t k = 0; k < r->header.schema.nkinds; k++)
		if (r->header.schema.kinds[k].id == KIND_fact || r->header.schema.kinds[k].id == KIND_xid)
			fields[k] = UINT32_MAX;
	ret = cursor_open(&cur, r, false, why);
	if (ret < 0)
		return ret;
	cursor_ask(cur, &wish);
	while ((ret = cursor_next(cur, &ev, why)) > 0 && !n->host_leaks)
		n->host_leaks = leaks(&ev, n->what.classes);
	cursor_close(cur);
	if (n->host_leaks)
		n->what.classes |= 1u << CLASS_host;
	return ret < 0 ? ret : 0;
}

/* Sets n->reused_pid: a number is reused, and a part is all that bears it. */
static int find_reused(struct narrowed *n, struct fault *why)
{
	static const uint16_t kinds[] = {KIND_fork, KIND_exec, KIND_exit, KIND_process};
	const struct schema *schema = &n->reader->header.schema;
	uint32_t fields[KINDS_MAX] = {0};
	const struct cursor_wish wish = {.fields = fields, .to_ns = UINT64_MAX, .unnumbered = true};
	struct tasks tasks = {0};
	struct cursor *cur;
	struct event ev;
	int ret;

	for (size_t k = 0; k < schema->nkinds; k++)
		for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
			if (schema->kinds[k].id == kinds[i])
				fields[k] = UINT32_MAX;
	ret = cursor_open(&cur, n->reader, false, why);
	if (ret < 0)
		return ret;
	cursor_ask(cur, &wish);
	while ((ret = cursor_next(cur, &ev, why)) > 0 && !(ret = tasks_feed(&tasks, &ev, why)))
		;
	cursor_close(cur);
	for (size_t i = 0; i < n->what.nparts; i++) {
		uint32_t number = 0;

		for (uint32_t p = 1; p <= tasks.nprocesses; p++)
			number += tasks.processes[p].pid == n->what.parts[i];
		if (number > 1 && number > n->reused_number) {
			n->reused_pid = n->what.parts[i];
			n->reused_number = number;
		}
	}
	tasks_clear(&tasks);
	return ret;
}

static void count_kept(struct narrowed *n, const struct chunk *c)
{
	if (n->kept_chunks++ == 0 || c->first_ns < n->kept_first_ns)
		n->kept_first_ns = c->first_ns;
	if (c->last_ns > n->kept_last_ns)
		n->kept_last_ns = c->last_ns;
}

/* All chunks that are there; from when to when the event chunks among them reach. */
static void count_chunks(struct narrowed *n, uint64_t *first_ns, uint64_t *last_ns)
{
	const struct reader *r = n->reader;

	*first_ns = UINT64_MAX;
	*last_ns = 0;
	for (uint64_t e = 0; e < r->nepochs; e++) {
		for (uint32_t i = 0; i < r->epochs[e].nchunks; i++) {
			const struct chunk *c = &r->epochs[e].chunks[i];
			size_t k = 0;

			if (c->withheld)
				continue;
			if (c->class == CLASS_events) {
				*first_ns = c->first_ns < *first_ns ? c->first_ns : *first_ns;
				*last_ns = c->last_ns > *last_ns ? c->last_ns : *last_ns;
			}
			while (k < n->nclasses && n->classes[k].id != c->class)
				k++;
			if (k == n->nclasses)
				continue; /* not of a capture that verifies: every chunk is of a class of the schema */
			if (narrowing_withholds(&n->what, c)) {
				withheld_add(&n->classes[k].gone, e, c);
				n->nwithheld++;
				n->nmixed += c->part == PART_OF_SEVERAL ? c->nrows : 0;
				continue;
			}
			n->classes[k].shared_rows += c->part == PART_OF_NONE ? c->nrows : 0;
			if (c->class == CLASS_events) {
				count_kept(n, c);
			} else {
				n->classes[k].kept_rows += c->nrows;
			}
		}
	}
}

int narrowed_plan(struct narrowed *n, const struct replay *replay, struct fault *why)
{
	const struct reader *r = &replay->evidence->reader;
	const struct filter *f = replay->filter;
	const bool sliced = f->from_ns > 0 || f->to_ns != NO_TIME;
	uint64_t first_ns, last_ns;
	char first[48], last[48];
	int ret = check_authentic(replay, why);

	if (ret)
		return ret;
	*n = (struct narrowed){
		.reader = r,
		.what = {replay->withhold, f->from_ns, f->to_ns, f->npids ? f->pids : NULL, f->npids},
		.nclasses = r->header.schema.nclasses,
	};
	if (f->npids && !(r->header.incompatible & FEATURE_PARTS))
		return fault_set(why, ERR_INPUT, FAULT_NOWHERE,
				 "this capture is not separated by process, so that none can be kept alone: 'gpurec "
				 "--by-process' makes one that is");
	ret = check_host(n, why);
	if (!ret && f->npids)
		ret = find_reused(n, why);
	if (ret)
		return ret;
	for (size_t i = 0; i < n->nclasses; i++) {
		const struct class_name *c = &r->header.schema.classes[i];

		n->classes[i].name = c->name;
		n->classes[i].id = c->id;
		n->classes[i].asked = n->what.classes >> c->id & 1;
	}
	count_chunks(n, &first_ns, &last_ns);
	if (!sliced || n->kept_chunks > 0 || n->what.classes >> CLASS_events & 1)
		return 0;
	if (first_ns > last_ns)
		return fault_set(why, ERR_INPUT, FAULT_NOWHERE,
				 "no events are in this capture, so that no part of them can be chosen by time");
	return fault_set(why, ERR_INPUT, FAULT_NOWHERE,
			 "no events are in that time: those of the capture reach from %s to %s",
			 since_start(first, sizeof(first), r, first_ns), since_start(last, sizeof(last), r, last_ns));
}

bool narrowed_describe(const struct narrowed *n, size_t i, char *buf, size_t size)
{
	const struct narrowed_class *k = &n->classes[i];
	char epochs[64], first[48], last[48];

	buf[0] = '\0';
	if (k->gone.chunks > 0)
		snprintf(buf, size, "withheld from %s: %" PRIu64 " row%s in %" PRIu64 " chunk%s of %s, from %s to %s",
			 k->name, k->gone.rows, plural(k->gone.rows), k->gone.chunks, plural(k->gone.chunks),
			 epochs_words(epochs, sizeof(epochs), k->gone.first_epoch, k->gone.last_epoch),
			 since_start(first, sizeof(first), n->reader, k->gone.first_ns),
			 since_start(last, sizeof(last), n->reader, k->gone.last_ns));
	else if (k->asked)
		snprintf(buf, size, "withheld from %s: nothing, for the capture has none of it", k->name);
	return buf[0] != '\0';
}

bool narrowed_describe_beyond(const struct narrowed *n, char *buf, size_t size)
{
	char rows[400] = "", names[200] = "";
	size_t used = 0, listed = 0;

	buf[0] = '\0';
	if (n->what.from_ns == 0 && n->what.to_ns == NO_TIME)
		return false;
	for (size_t i = 0; i < n->nclasses; i++) {
		const struct narrowed_class *k = &n->classes[i];

		if (k->kept_rows == 0 || used >= sizeof(rows) || listed >= sizeof(names))
			continue;
		used += (size_t)snprintf(rows + used, sizeof(rows) - used, "%s%" PRIu64 " of %s", used ? ", " : "",
					 k->kept_rows, k->name);
		listed += (size_t)snprintf(names + listed, sizeof(names) - listed, "%s%s", listed ? "," : "", k->name);
	}
	if (used)
		snprintf(
			buf, size,
			"only events are cut by time; rows about the whole recording stay (%s), also of processes that "
			"did nothing in that time: --withhold %s removes them",
			rows, names);
	return used > 0;
}

bool narrowed_describe_parts(const struct narrowed *n, char *buf, size_t size)
{
	size_t used = 0;

	buf[0] = '\0';
	if (!n->what.nparts)
		return false;
	used = (size_t)snprintf(buf, size, "of other processes, all goes; what is of no single process stays");
	for (size_t i = 0, listed = 0; i < n->nclasses && used < size; i++)
		if (n->classes[i].shared_rows)
			used += (size_t)snprintf(buf + used, size - used, "%s%" PRIu64 " row%s of %s",
						 listed++ ? ", " : ": ", n->classes[i].shared_rows,
						 plural(n->classes[i].shared_rows), n->classes[i].name);
	if (n->nmixed && used < size)
		snprintf(buf + used, size - used,
			 "; %" PRIu64 " row%s of several processes together go, too, and some may be of those kept",
			 n->nmixed, plural(n->nmixed));
	return true;
}

bool narrowed_describe_reused(const struct narrowed *n, char *buf, size_t size)
{
	buf[0] = '\0';
	if (n->reused_pid)
		snprintf(buf, size,
			 "the number %" PRIu32 " was that of %" PRIu32 " processes in turn, as numbers of processes are "
			 "reused: all of them stay",
			 n->reused_pid, n->reused_number);
	return n->reused_pid != 0;
}

bool narrowed_describe_host(const struct narrowed *n, char *buf, size_t size)
{
	buf[0] = '\0';
	if (n->host_leaks)
		snprintf(buf, size,
			 "class host is withheld, too: this capture is of an older recorder, and rows of that class "
			 "hold paths or names of processes");
	return n->host_leaks;
}

bool narrowed_describe_kept(const struct narrowed *n, char *buf, size_t size)
{
	char first[48], last[48];

	buf[0] = '\0';
	if (n->kept_chunks == 0 || (n->what.from_ns == 0 && n->what.to_ns == NO_TIME))
		return false;
	snprintf(buf, size,
		 "events are kept from %s to %s: a slice is cut between chunks, so that it may reach further "
		 "than was asked",
		 since_start(first, sizeof(first), n->reader, n->kept_first_ns),
		 since_start(last, sizeof(last), n->reader, n->kept_last_ns));
	return true;
}

/* What proves the last of what is there: of END, of the last epoch, of the header. */
static const uint8_t *head_digest(const struct reader *r)
{
	if (r->tail == TAIL_END)
		return r->end.hash;
	return r->nepochs > 0 ? r->epochs[r->nepochs - 1].hash : r->header.hash;
}

/* Whether the copy is what it should be: the capture may have changed since it was verified, and disks err. */
static int check_copy(const struct narrowed *n, int fd, struct fault *why)
{
	struct verification v;
	struct source source;
	struct reader r;
	int ret = source_open_fd(&source, fd, why);

	if (ret)
		return ret;
	ret = reader_open(&r, &source, why);
	if (ret)
		goto out;
	verify(&r, 0, &v);
	if (v.verdict == VERDICT_UNCHECKED)
		ret = fault_set(why, ERR_IO, v.why.offset, "the narrower capture could not be checked: %.150s",
				v.why.text);
	else if (v.verdict > VERDICT_UNSEALED || v.nepochs != n->reader->nepochs || r.tail != n->reader->tail ||
		 memcmp(head_digest(&r), head_digest(n->reader), HASH_BYTES) != 0)
		ret = fault_set(why, ERR_FORGED, FAULT_NOWHERE,
				"what was written does not verify: the capture changed while it was read; try again");
	reader_close(&r);
out:
	source_close(&source);
	return ret;
}

int narrowed_write_file(const struct replay *replay, int fd, struct fault *why)
{
	struct narrowed n;
	struct sink sink;
	uint64_t nwithheld;
	int r = narrowed_plan(&n, replay, why);

	if (r)
		return r;
	r = sink_open_fd(&sink, fd, why);
	if (!r)
		r = narrow(n.reader, &n.what, sink, &nwithheld, why);
	return r ? r : check_copy(&n, fd, why);
}
