/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The captures of a recording: the first one, and with rotation the next ones, without an event lost between two.
 *
 * The joint is a moment T. Once all records up to T are read (loop.c), the last epoch of the old capture is sealed as
 * of T; records of T or later were held back meanwhile, and are translated for the new one. What is counted is counted
 * where it is reported, so that both have sums that are exact: what had fired at T and was neither recorded nor lost is
 * still to come, and belongs to the new capture.
 */
#include "record/recording_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "keys/store.h"
#include "keys/tool/tool.h"
#include "record/host/hostfacts.h"

#define NUMBER_MAX 99999u
#define HELD_MAX (64u << 20) /* bytes of records of the next capture; more only when something is very wrong */

/* A key that needs a passphrase cannot be loaded again while nobody is there. */
static int check_key(const char *path, struct fault *why)
{
	uint8_t *raw = sodium_init() < 0 ? NULL : sodium_malloc(MINISIGN_SECRET_BYTES);
	int r;

	if (!raw)
		return fault_set(why, ERR_MEMORY, FAULT_NOWHERE, "no locked memory for a secret key");
	r = minisign_read_secret(raw, path, why);
	if (r == 0 && minisign_is_encrypted(raw))
		r = fault_set(why, ERR_KEY, FAULT_NOWHERE,
			      "%s needs a passphrase, and --rotate loads the key again for each capture: name one "
			      "without with --key",
			      path);
	sodium_free(raw);
	return r;
}

int rotate_prepare(struct recording *s, struct fault *why)
{
	struct rotation *rot = &s->rotation;
	int r;

	rot->number = 1;
	if (!s->o.rotate_ns) {
		if (strlen(s->o.path) >= sizeof(s->capture.path))
			return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "the name of the output is too long");
		strcpy(s->capture.path, s->o.path);
		return 0;
	}
	rot->number = rotate_first_number(s->o.path);
	if (rot->number > NUMBER_MAX)
		return fault_set(why, ERR_EXISTS, FAULT_NOWHERE,
				 "the captures of %s have reached number %u; choose another name with -o", s->o.path,
				 NUMBER_MAX);
	r = rotate_path(s->capture.path, sizeof(s->capture.path), s->o.path, rot->number, why);
	if (r == 0)
		r = s->o.key_path ? 0 : store_path(rot->key_path, "host.key", why);
	if (r == 0 && s->o.key_path)
		r = check_key(s->o.key_path, why);
	else if (r == 0 && access(rot->key_path, F_OK) == 0) /* else it will be made, without a passphrase */
		r = check_key(rot->key_path, why);
	if (r == 0)
		r = standing_new(&rot->standing, why);
	if (r == 0) {
		rot->rows = calloc(nprobes * NCOUNTS, sizeof(*rot->rows));
		rot->base = calloc(nprobes * NCOUNTS, sizeof(*rot->base));
		if (!rot->rows || !rot->base)
			r = fault_no_memory(why);
	}
	return r;
}

int rotate_check(const struct recording *s, struct fault *why)
{
	char copy[PATH_MAX];
	const char *folder;

	if (!s->o.rotate_ns)
		return 0;
	strcpy(copy, s->capture.path);
	folder = dirname(copy);
	if (faccessat(AT_FDCWD, folder, W_OK | X_OK, AT_EACCESS) < 0)
		return fault_set(why, ERR_DENIED, FAULT_NOWHERE,
				 "the folder %s cannot be written once gpurec has given up its rights, which --rotate "
				 "needs: choose one that belongs to the user who records",
				 folder);
	if (faccessat(AT_FDCWD, s->rotation.key_path, R_OK, AT_EACCESS) < 0)
		return fault_set(why, ERR_DENIED, FAULT_NOWHERE,
				 "the key %s cannot be read once gpurec has given up its rights, which --rotate needs: "
				 "name one that belongs to the user who records with --key",
				 s->rotation.key_path);
	return 0;
}

void rotate_clear(struct recording *s)
{
	bytes_free(&s->rotation.held);
	standing_free(s->rotation.standing);
	free(s->rotation.rows);
	free(s->rotation.base);
}

int capture_identity(struct recording *s, struct identity *id, struct fault *why)
{
	struct identity_origin from;
	char what[512], command[512];
	int r = identity_load(id, s->o.key_path, s->o.passphrase_fd, &from, why);

	if (r < 0)
		return r;
	if (from.made) {
		identity_introduce(id, &from, what, sizeof(what), command, sizeof(command));
		recording_note(s, 0, "%s", what);
		recording_note(s, 0, "%s", command);
	}
	strcpy(s->rotation.key_path, from.path);
	key_of_identity(&s->rotation.key, id);
	return 0;
}

/* The programs that this kernel refuses, with its reasons: "on_oom: R1 invalid mem access 'inv'; on_fault: ..." */
static int emit_refusals(const struct recording *s, uint64_t at_ns, struct fault *why)
{
	const struct refusal *refusals;
	size_t n = attach_refusals(s->attach, &refusals), used = 0;
	char text[2048] = "";

	for (size_t i = 0; i < n && used < sizeof(text); i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s: %s", i ? "; " : "",
					 refusals[i].program, refusals[i].reason);
	return n ? fact_emit(s->writer, at_ns, "programs_refused", text, why) : 0;
}

int capture_emit_suspended(struct recording *s, const struct clock_anchor *now, uint64_t at_ns, struct fault *why)
{
	/* The clocks are read one after the other, so the boot clock may seem to be a moment behind. */
	uint64_t suspended_ns = now->boot_ns > now->mono_ns ? now->boot_ns - now->mono_ns : 0;

	return fact_emitf(s->writer, at_ns, why, "suspended_ns", "%llu", (unsigned long long)suspended_ns);
}

static int emit_start(struct recording *s, uint64_t at_ns, struct fault *why)
{
	const struct attach_facts *kernel = attach_facts(s->attach);
	const struct {
		const char *name, *value;
	} facts[] = {
		{"tool", "gpurec " TOOL_VERSION},
		{"mode", s->command.pid ? "command"
			 : s->o.npids   ? "processes"
					: "all that use CUDA"},
		{"futex", kernel->futex ? "recorded"
			  : s->o.futex  ? "not recorded: this kernel does not offer it"
					: "not recorded"},
		{"cpu_quota", kernel->quota_times ? "recorded"
			      : kernel->quota     ? "recorded, without its share of each wait for a CPU"
			      : s->o.quota        ? "recorded: this kernel has none"
						  : "not recorded"},
		{"signals", !s->o.signals ? "not recorded"
			    : attach_lacks(s->attach, "signal_generate")
				    ? "not recorded: this kernel does not report it"
				    : "recorded"},
		{"disks", !s->o.disks ? "not recorded"
			  : attach_lacks(s->attach, "block_rq_complete")
				  ? "not recorded: this kernel does not report it"
				  : "recorded"},
		{"network", !s->o.network                          ? "not recorded"
			    : attach_lacks(s->attach, "tcp_probe") ? "not recorded: this kernel does not report it"
								   : "recorded"},
		{"reclaim", !s->o.reclaim ? "not recorded"
			    : attach_lacks(s->attach, "mm_vmscan_direct_reclaim_end")
				    ? "not recorded: this kernel does not report it"
				    : "recorded"},
		{"follow", !s->o.follow      ? "not recorded"
			   : !kernel->follow ? "not recorded: this kernel does not report who wakes whom"
					     : "recorded"},
		{"children", s->o.no_children ? "not recorded" : "recorded"},
		{"command_lines", s->o.command_lines && s->o.paths ? "recorded" : "left out"},
		{"paths", s->o.paths ? "recorded" : "left out"},
		{"late_attach", s->o.late_attach ? "yes" : "no"},
		{"uprobes", !kernel->multi      ? "single"
			    : kernel->shortcuts ? "multi"
						: "plain"},
		{"waking_context", kernel->interrupts_known ? "known" : "not proven"},
		{"tracepoints_absent", kernel->absent[0] ? kernel->absent : "none"},
	};
	int r = hostfacts_emit(s->writer, at_ns, why);

	for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]) && r == 0; i++)
		r = fact_emit(s->writer, at_ns, facts[i].name, facts[i].value, why);
	if (r == 0)
		r = fact_emitf(s->writer, at_ns, why, "ring_bytes", "%llu", (unsigned long long)s->o.ring_bytes);
	if (r == 0 && s->o.authority)
		r = fact_emit(s->writer, at_ns, "authority", s->o.authority, why);
	if (r == 0 && s->host.health.fd < 0)
		r = fact_emit_pathless(s->writer, at_ns, "nvml", s->host.health.problem, why);
	if (r == 0 && s->host.kmsg_fd < 0)
		r = fact_emit(s->writer, at_ns, "xid", "not recorded", why);
	if (r == 0)
		r = emit_refusals(s, at_ns, why);
	if (r == 0 && s->o.metrics_ns && !kernel->metrics)
		r = fact_emit(s->writer, at_ns, "metrics", "not recorded: this kernel does not offer it", why);
	else if (r == 0 && s->o.metrics_ns)
		r = fact_emitf(s->writer, at_ns, why, "metrics", "every %llu ns%s", (unsigned long long)s->o.metrics_ns,
			       kernel->timed ? "" : ", only of CPUs on which threads change");
	return r == 0 ? budget_emit(&s->o.budget, s->writer, at_ns, why) : r;
}

int capture_emit_libraries(struct recording *s, struct fault *why)
{
	const struct discover_counts *found = discover_counts(s->discover);
	uint64_t at_ns = kernel_boot_ns(&s->fs.clock);
	int r = fact_emitf(s->writer, at_ns, why, "libraries_at_start",
			   "%zu, %zu functions probed, %zu refused, %zu unread", found->libraries, found->sites,
			   found->refused, found->unread);

	if (r == 0 && found->last_problem[0])
		r = fact_emitf(s->writer, at_ns, why, "library_problem", "(path): %s", found->last_reason);
	return r == 0 ? recording_emit_libraries(s, why) : r;
}

/* A file with the first number from `from` on that is free. On success *number is it. */
static int open_free(const struct recording *s, struct sink *sink, uint64_t from, char path[PATH_MAX], uint64_t *number,
		     struct fault *why)
{
	int r = fault_set(why, ERR_EXISTS, FAULT_NOWHERE, "no number up to %u is free", NUMBER_MAX);

	for (*number = from; *number <= NUMBER_MAX && r == ERR_EXISTS; ++*number) {
		r = rotate_path(path, PATH_MAX, s->o.path, *number, why);
		if (r == 0)
			r = sink_open_file(sink, path, false, why);
		if (r == 0)
			return 0;
	}
	return r;
}

int capture_open(struct recording *s, const struct identity *id, const struct clock_anchor *start, struct fault *why)
{
	struct probe *probes = calloc(nprobes, sizeof(*probes));
	struct origin origin = {.has_series = s->o.rotate_ns != 0};
	struct sink sink;
	struct fault said;
	char text[KEY_ID_CHARS + 1];
	int r;

	if (!probes)
		return fault_no_memory(why);
	probe_describe(probes);
	snprintf(s->capture.key_id, sizeof(s->capture.key_id), "%s", key_id(text, s->rotation.key.keynum));
	if (s->o.rotate_ns)
		r = open_free(s, &sink, s->rotation.number, s->capture.path, &s->rotation.number, why);
	else
		r = sink_open_file(&sink, s->capture.path, s->o.force, why);
	if (r == 0) {
		s->capture.file_made = true;
		output_watch_hold(&s->capture.output, s->capture.path);
		memcpy(origin.challenge, s->o.challenge, s->o.challenge_bytes);
		origin.challenge_bytes = s->o.challenge_bytes;
		origin.by_process = s->o.by_process;
		if (origin.has_series)
			randombytes_buf(origin.series, sizeof(origin.series));
		r = writer_open_from(&s->writer, sink, id, probes, nprobes, start, &origin, &said);
		if (r < 0)
			fault_set(why, r, FAULT_NOWHERE, "%s: %s", s->capture.path, said.text);
	}
	free(probes);
	if (r < 0)
		return r;
	if (!s->o.paths)
		writer_leave_out(s->writer, 1u << CLASS_path | 1u << CLASS_arguments);
	if (s->rotation.standing)
		writer_watch(s->writer, standing_saw, s->rotation.standing);
	s->translator = (struct translator){.writer = s->writer,
					    .counters = &s->counters,
					    .stacks = s->stacks,
					    .kernels = s->kernels,
					    .connections = &s->connections,
					    .begin_ns = start->boot_ns,
					    .notice = recording_notice,
					    .self = s};
	r = capture_emit_suspended(s, start, start->boot_ns, why);
	return r == 0 ? emit_start(s, start->boot_ns, why) : r;
}

/* --- what belongs to the next capture --- */

/* False: no room. */
static bool hold(struct bytes *held, const void *record, uint32_t n)
{
	size_t whole = sizeof(uint64_t) + ((size_t)n + 7) / 8 * 8;
	uint8_t *to = held->len + whole > HELD_MAX ? NULL : bytes_grow(held, whole);
	uint64_t length = n;

	if (!to)
		return false;
	memcpy(to, &length, sizeof(length));
	memcpy(to + sizeof(length), record, n);
	return true;
}

static int use_held(struct recording *s, ring_use *use, void *self, struct fault *why)
{
	struct bytes held = s->rotation.held;
	size_t at = 0;
	uint64_t n;
	int r = 0;

	s->rotation.held = (struct bytes){0};
	while (at < held.len && r >= 0) {
		memcpy(&n, held.data + at, sizeof(n));
		r = use(self, held.data + at + sizeof(n), (uint32_t)n, why);
		at += sizeof(n) + (n + 7) / 8 * 8;
	}
	if (r >= 0) {
		bytes_free(&held);
		return 0;
	}
	/* What was not used may say that somebody is held: see recording_run(). */
	held.len -= at;
	memmove(held.data, held.data + at, held.len);
	s->rotation.held = held;
	return r;
}

/* On the old beat; what passed while the machine was asleep, or this process stopped, is not made up for. */
static void due_again(struct recording *s)
{
	uint64_t now_ns = kernel_boot_ns(&s->fs.clock), every_ns = s->o.rotate_ns, *next_ns = &s->rotation.next_ns;

	*next_ns += every_ns;
	if (*next_ns <= now_ns)
		*next_ns += ((now_ns - *next_ns) / every_ns + 1) * every_ns;
}

int rotate_cancel(struct recording *s, ring_use *use, void *self, struct fault *why)
{
	if (s->rotation.cut_ns)
		due_again(s);
	s->rotation.cut_ns = 0;
	return use_held(s, use, self, why);
}

int rotate_take(void *self, const void *record, uint32_t n, struct fault *why)
{
	const struct ring_head *head = record;
	struct recording *s = self;
	struct fault ignored;
	int r;

	if (n < sizeof(*head))
		return translate(&s->translator, record, n, why);
	if (head->at_ns > s->due.latest_ns)
		s->due.latest_ns = head->at_ns;
	if (!s->rotation.cut_ns || head->at_ns < s->rotation.cut_ns)
		return translate(&s->translator, record, n, why);
	if (hold(&s->rotation.held, record, n))
		return 0;
	recording_note(s, 0, "no memory to begin another capture now; %s goes on", s->capture.path);
	r = rotate_cancel(s, translate, &s->translator, why);
	if (r == 0)
		return translate(&s->translator, record, n, why);
	(void)translate(&s->translator, record, n, &ignored); /* it may say that somebody is held */
	return r;
}

/* --- counters --- */

/* What fired and was reported or lost, so that nothing is open. Rows of one probe begin with what fired. */
static size_t settle(struct counter *rows, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n;) {
		struct counter *fired = &rows[kept];
		uint16_t probe = rows[i].probe;
		uint64_t sum = 0;
		size_t room = rows[i].id == COUNTER_fired ? 1 : 0;

		for (size_t k = i + room; k < n && rows[k].probe == probe; k++)
			if (rows[k].id == COUNTER_recorded || counter_is_loss(rows[k].id))
				sum += rows[k].value;
		if (room && sum)
			*fired = (struct counter){probe, COUNTER_fired, sum}, kept++;
		for (i += room; i < n && rows[i].probe == probe; i++)
			rows[kept++] = rows[i];
	}
	return kept;
}

static size_t subtract(struct counter *rows, size_t n, const struct counter *base, size_t nbase)
{
	size_t kept = 0, b = 0;

	for (size_t i = 0; i < n; i++) {
		struct counter c = rows[i];

		while (b < nbase && (base[b].probe < c.probe || (base[b].probe == c.probe && base[b].id < c.id)))
			b++;
		if (b < nbase && base[b].probe == c.probe && base[b].id == c.id)
			c.value -= base[b].value;
		if (c.value)
			rows[kept++] = c;
	}
	return kept;
}

size_t rotate_counters(struct recording *s, bool at_end, const struct counter **out)
{
	struct rotation *rot = &s->rotation;
	const struct counter *rows;
	size_t n = counters_collect(&s->counters, at_end, &rows);

	*out = rows;
	if (!rot->rows)
		return n;
	memcpy(rot->rows, rows, n * sizeof(*rows));
	*out = rot->rows;
	if (!at_end)
		n = settle(rot->rows, n);
	return subtract(rot->rows, n, rot->base, rot->nbase);
}

/* The totals at the joint: what was taken off before, and what this capture's END reports. */
static void rebase(struct rotation *rot, const struct counter *rows, size_t n)
{
	struct counter *base = rot->base;

	for (size_t i = 0; i < n; i++) {
		size_t at = 0;

		while (at < rot->nbase && (base[at].probe < rows[i].probe ||
					   (base[at].probe == rows[i].probe && base[at].id < rows[i].id)))
			at++;
		if (at < rot->nbase && base[at].probe == rows[i].probe && base[at].id == rows[i].id) {
			base[at].value += rows[i].value;
			continue;
		}
		memmove(base + at + 1, base + at, (rot->nbase++ - at) * sizeof(*base));
		base[at] = rows[i];
	}
}

/* --- the joint --- */

static int load_again(const struct recording *s, struct identity *id, struct fault *why)
{
	struct identity_origin from;
	struct public_key key;
	int r = identity_load(id, s->rotation.key_path, -1, &from, why);

	if (r < 0)
		return r;
	key_of_identity(&key, id);
	if (key_equal(&key, &s->rotation.key))
		return 0;
	return fault_set(why, ERR_KEY, FAULT_NOWHERE, "%s holds another key than when recording began",
			 s->rotation.key_path);
}

/* The writer that takes over, and where it writes. On failure nothing is there that was not. */
static int begin_next(struct recording *s, struct writer **next, char path[PATH_MAX], uint64_t *number,
		      struct fault *why)
{
	struct probe *probes = calloc(nprobes, sizeof(*probes));
	struct clock_anchor now;
	struct identity id;
	struct sink sink;
	int r;

	memset(&id, 0, sizeof(id));
	if (!probes)
		return fault_no_memory(why);
	probe_describe(probes);
	anchor_read(s, &now);
	r = load_again(s, &id, why);
	if (r == 0)
		r = open_free(s, &sink, s->rotation.number + 1, path, number, why);
	if (r == 0) {
		r = writer_continue(next, sink, &id, probes, nprobes, s->writer,
				    now.wall_ns - (now.boot_ns - writer_begin_ns(s->writer)), why);
		if (r < 0)
			unlink(path);
	}
	identity_wipe(&id);
	free(probes);
	return r;
}

int rotate_join(struct recording *s, const struct counter *counters, size_t ncounters, struct fault *why)
{
	struct rotation *rot = &s->rotation;
	struct clock_anchor now;
	struct writer *next = NULL;
	struct fault said;
	char path[PATH_MAX];
	uint64_t number = 0;
	int r;

	anchor_read(s, &now);
	r = writer_prepare_end(s->writer, REASON_rotated, NULL, &now, counters, ncounters, &said);
	if (r == 0)
		r = begin_next(s, &next, path, &number, &said);
	due_again(s);
	rot->cut_ns = 0;
	if (r < 0) {
		recording_note(s, 0, "cannot begin another capture, %s goes on: %s", s->capture.path, said.text);
		return use_held(s, translate, &s->translator, why);
	}
	s->capture.end_unknown = true;
	r = writer_put_end(s->writer, why);
	if (r < 0) {
		writer_close(next);
		unlink(path);
		return r;
	}
	s->capture.end_unknown = false;
	recording_note(s, 1, "%s is complete, %s continues it", s->capture.path, path);
	rebase(rot, counters, ncounters);
	rot->number = number;
	rot->written_bytes += writer_written_bytes(s->writer);
	rot->nrows += writer_nrows(s->writer);
	rot->ncaptures++;
	writer_close(s->writer);
	s->writer = s->translator.writer = next;
	s->capture.nepochs = 0;
	strcpy(s->capture.path, path);
	output_watch_hold(&s->capture.output, s->capture.path);
	recording_drop_stacks(s);
	stacks_forget(s->stacks);
	cpus_forget(s->host.cpus);
	limits_forget(s->host.quotas);
	limits_forget(s->host.memory);
	/* First, and watched, so that it replaces that of the capture before. */
	writer_watch(s->writer, standing_saw, rot->standing);
	r = capture_emit_suspended(s, &now, writer_begin_ns(s->writer), why);
	if (r == 0)
		r = standing_emit(rot->standing, s->writer, writer_begin_ns(s->writer), why);
	if (r == 0)
		r = budget_emit(&s->o.budget, s->writer, writer_begin_ns(s->writer), why);
	if (r == 0)
		r = limits_emit(s->host.quotas, true, s->writer, writer_begin_ns(s->writer), why);
	if (r == 0)
		r = limits_emit(s->host.memory, true, s->writer, writer_begin_ns(s->writer), why);
	return r < 0 ? r : use_held(s, translate, &s->translator, why);
}
