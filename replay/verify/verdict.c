/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/verify/verdict.h"

#include <inttypes.h>
#include <string.h>

#include "format/base/escape.h"
#include "format/base/units.h"
#include "keys/minisign.h"
#include "keys/plain_text.h"
#include "keys/tool/tool.h"
#include "replay/verify/summary.h"
#include "replay/model/enum_names.h"
#include "replay/model/walk.h"
#include "replay/verify/withheld.h"

#define ROOM 1100 /* for escaped texts that are shown in a line */

static bool is_ok(enum verdict v)
{
	return v == VERDICT_OK || v == VERDICT_OK_SLICE || v == VERDICT_OK_REDACTED;
}

/* Whether the header itself is proven: then who, when and what can be reported, else it is mere claim. */
static bool header_proven(const struct evidence *e)
{
	return e->readable && (e->verification.nepochs > 0 || e->verification.verdict < VERDICT_MALFORMED);
}

static void print_trusted(FILE *f, const struct evidence *e)
{
	const struct trust_answer *t = &e->trust;
	char authority[KEY_ID_CHARS + 1], date[DATE_CHARS + 1], file[ROOM];

	if (t->trust == TRUST_DELEGATED) {
		fprintf(f, "  signed by  %s, vouched for as \"%s\" by %s (%s) until %s\n", e->signer, t->name,
			key_id(authority, t->authority.keynum), t->authority_name, date_format(date, t->until_ns));
		escape_terminal(file, sizeof(file), t->delegation, strlen(t->delegation));
		fprintf(f, "  delegation %s\n", file);
	} else {
		fprintf(f, "  signed by  %s (%s), trusted here\n", e->signer, e->signer_name);
	}
	if (t->revoked_later)
		fprintf(f, "  revoked    since %s, after this capture by its own clock: %s\n",
			date_format(date, t->revoked_ns), t->revoked_reason);
}

static void signer_key(struct public_key *pk, const struct evidence *e)
{
	memcpy(pk->keynum, e->reader.header.keynum, sizeof(pk->keynum));
	memcpy(pk->key, e->reader.header.identity, sizeof(pk->key));
}

static void print_signer(FILE *f, const struct evidence *e)
{
	char base64[MINISIGN_PUBLIC_CHARS + 1], print[FINGERPRINT_CHARS + 1];
	struct public_key pk;

	if (!header_proven(e)) {
		fprintf(f, "  claims     the key %s, which nothing here proves\n", e->signer);
		return;
	}
	if (e->signer_name[0]) {
		print_trusted(f, e);
		return;
	}
	/* A revoked key is not to be trusted again, and no key helps where nothing is trusted. */
	if (e->trust.trust != TRUST_UNKNOWN) {
		fprintf(f, "  signed by  %s, which %s\n", e->signer,
			e->trust.trust == TRUST_REVOKED ? "is revoked" : "is not trusted now");
		return;
	}
	signer_key(&pk, e);
	fprintf(f, "  signed by  %s, which is not trusted on this machine\n", e->signer);
	fprintf(f, "  compare    fingerprint %s\n", key_fingerprint(print, &pk));
	fprintf(f, "             with what 'gpukey show' prints on the recording host; only if it is the same:\n");
	fprintf(f, "  to trust   gpukey trust %s\n", key_base64(base64, &pk));
}

static void print_time(FILE *f, const struct evidence *e, const struct summary *s)
{
	const struct reader *r = &e->reader;
	char start[64], length[64];

	fprintf(f, "  recorded   %s, %s in %" PRIu64 " epoch%s\n", wall_second(start, r, r->header.start_boot_ns),
		duration_text(length, s->duration_ns), s->nepochs, plural(s->nepochs));
}

/* Nothing where the clock was not set. */
static void print_clock(FILE *f, const struct evidence *e)
{
	struct clock_steps c;
	char first[64], last[64], step[64];

	clock_steps_find(&c, e);
	if (c.n == 0)
		return;
	wall_text(first, c.first_wall_ns);
	wall_text(last, c.last_wall_ns);
	fprintf(f,
		"  clock      set %" PRIu64
		" time%s while recording, %s %s%s; it read %.19s UTC first, %.19s UTC last\n",
		c.n, plural(c.n), c.n == 1 ? "by" : "at most by", c.greatest_ns < 0 ? "-" : "+",
		duration_text(step, c.greatest_ns < 0 ? 0 - (uint64_t)c.greatest_ns : (uint64_t)c.greatest_ns), first,
		last);
}

static void print_end(FILE *f, const struct evidence *e, const struct summary *s)
{
	const struct end *end = &e->reader.end;
	const char *reason = reason_text(end->reason);
	char words[STATUS_WORDS];

	if (!s->ended) {
		fprintf(f, "  ended      unknown: no end is sealed\n");
		return;
	}
	if (reason)
		fprintf(f, "  ended      %s", reason);
	else
		fprintf(f, "  ended      for reason %" PRIu32 ", which a later version knows", end->reason);
	if (end->has_exit_status)
		fprintf(f, "%s%s", end->exit_status & 0x7f ? ", " : " with ",
			status_words(words, (uint32_t)end->exit_status));
	fputc('\n', f);
}

static void print_events(FILE *f, const struct evidence *e, const struct summary *s)
{
	const struct schema *schema = &e->reader.header.schema;
	const char *comma = ": ";

	fprintf(f, "  events     %" PRIu64, e->verification.nevents);
	for (size_t i = 0; i < schema->nkinds; i++) {
		uint64_t n = replay_count(&e->reader, s->nepochs, schema->kinds[i].id);

		if (n > 0) {
			fprintf(f, "%s%s %" PRIu64, comma, schema->kinds[i].name, n);
			comma = ", ";
		}
	}
	fputc('\n', f);
}

/* In the order in which they are shown. The last one: what recorded events lack. */
static const enum absence groups[] = {ABSENCE_LOST,      ABSENCE_NOT_ATTACHED, ABSENCE_LEFT_OUT,
				      ABSENCE_IN_FLIGHT, ABSENCE_NO_RETURN,    ABSENCE_NONE};
#define NGROUPS (sizeof(groups) / sizeof(groups[0]))

/* Counters of a group, for counters_grown(): lines of text, or objects of JSON. */
struct tally {
	FILE *f; /* NULL: JSON */
	struct json *j;
	const struct schema *schema;
	enum absence group;
	uint64_t n;
};

static int tally_one(void *arg, const struct probe *p, const struct counter_type *c, uint64_t delta, uint64_t total)
{
	struct tally *t = arg;

	(void)delta;
	if (c->role != (t->group ? ROLE_LOST : ROLE_NOTED) || absence_of(t->schema, c->id) != t->group)
		return 0;
	if (t->f) {
		fprintf(t->f, "  %-10s %" PRIu64 " %s: %s\n", t->n ? "" : absence_words[t->group].head, total, p->name,
			counter_words(c));
	} else {
		json_open(t->j, NULL, '{');
		json_string(t->j, "probe", p->name);
		json_string(t->j, "cause", c->name);
		json_u64(t->j, "count", total);
		json_close(t->j, '}');
	}
	t->n++;
	return 0;
}

/* `f` or `j`: where it goes. Returns how many there are. */
static uint64_t tally(FILE *f, struct json *j, enum absence group, const struct evidence *e, const struct summary *s)
{
	struct tally t = {.f = f, .j = j, .schema = &e->reader.header.schema, .group = group};

	counters_grown(t.schema, NULL, 0, s->counters, s->ncounters, tally_one, &t);
	return t.n;
}

static void print_why(FILE *f, const struct judgement *j)
{
	const struct verification *v = &j->evidence->verification;
	char text[sizeof(v->why.text) * ESCAPE_GROWTH + 1], until[64];

	escape_terminal(text, sizeof(text), v->why.text, strlen(v->why.text));
	fprintf(f, "  why        %s", text);
	if (v->why.offset != FAULT_NOWHERE)
		fprintf(f, " (at byte %" PRIu64 ")", v->why.offset);
	fputc('\n', f);
	if (v->verdict == VERDICT_UNTRUSTED || !j->evidence->readable)
		return;
	if (v->nepochs == 0)
		fprintf(f, "  authentic  nothing\n");
	else
		fprintf(f, "  authentic  the first %" PRIu64 " epoch%s: until %s, %" PRIu64 " event%s\n", v->nepochs,
			plural(v->nepochs), wall_second(until, &j->evidence->reader, v->end_ns), v->nevents,
			plural(v->nevents));
}

/* Bytes of the file that are not the capture's, where everything before them was proven; 0 where not. */
static uint64_t bytes_outside(const struct evidence *e)
{
	return e->readable && e->verification.nepochs == e->reader.nepochs ? reader_outside(&e->reader) : 0;
}

static void print_outside(FILE *f, const struct evidence *e)
{
	uint64_t n = bytes_outside(e);

	if (n > 0)
		fprintf(f, "  outside    %" PRIu64 " %sbyte%s after the %s %s not part of the capture\n", n,
			e->reader.tail == TAIL_END ? "zero " : "", plural(n),
			e->reader.tail == TAIL_END ? "end"
			: e->verification.nepochs  ? "last seal"
						   : "header",
			n == 1 ? "is" : "are");
}

/* The verdict, the file, and how much of what happened is not in it. */
static void print_first(FILE *f, const struct judgement *j)
{
	const struct evidence *e = j->evidence;
	char path[ROOM], missing[COMPLETENESS_WORDS] = "";

	escape_terminal(path, sizeof(path), j->path, strlen(j->path));
	if (is_ok(e->verification.verdict) || e->verification.verdict == VERDICT_UNSEALED)
		completeness_words(missing, j->completeness);
	fprintf(f, "%s %s%s%s%s\n", verdict_word(e->verification.verdict), path,
		e->readable && e->verification.scope == VERIFY_BYTES ? " (rows not decoded)" : "", *missing ? ": " : "",
		missing);
}

/* Which one it is of a recording that was rotated. */
static void print_series(FILE *f, const struct reader *r)
{
	char hex[SERIES_ID_BYTES * 2 + 1];

	if (!r->header.series_number)
		return;
	fprintf(f, "  series     %s, capture %" PRIu64 "\n", hex_text(hex, r->header.series, SERIES_ID_BYTES),
		r->header.series_number);
}

void verdict_print(FILE *f, const struct judgement *j, bool brief)
{
	const struct evidence *e = j->evidence;
	char id[CAPTURE_ID_BYTES * 2 + 1], seal[HASH_BYTES * 2 + 1];
	char challenge[CHALLENGE_BYTES_MAX * 2 + 1];
	struct summary s;

	print_first(f, j);
	if (brief)
		return;
	if (j->refused)
		fprintf(f, "  refused    %s\n", j->refused);
	/* Of a stranger the lines below say all, and what to do. */
	if (!is_ok(e->verification.verdict) && !(e->trust.stranger && header_proven(e)))
		print_why(f, j);
	if (!e->readable)
		return;
	print_signer(f, e);
	if (!header_proven(e))
		return;
	summary_make(&s, e);
	print_outside(f, e);
	print_time(f, e, &s);
	print_clock(f, e);
	print_end(f, e, &s);
	print_events(f, e, &s);
	for (size_t i = 0; i < NGROUPS; i++)
		if (tally(f, NULL, groups[i], e, &s) == 0 && i == 0)
			fprintf(f, "  lost       nothing%s\n", j->completeness->not_attached ? " that had probes" : "");
	withheld_print(f, &e->reader, &s);
	fprintf(f, "  capture    %s\n", hex_text(id, e->reader.header.capture_id, CAPTURE_ID_BYTES));
	if (e->reader.header.incompatible & FEATURE_CONTINUES)
		fprintf(f, "  continues  %s\n", hex_text(seal, e->reader.header.previous, HASH_BYTES));
	if (s.seal)
		fprintf(f, "  last seal  %s\n", hex_text(seal, s.seal, HASH_BYTES));
	print_series(f, &e->reader);
	if (e->reader.header.second.algorithm)
		fprintf(f, "  second     signature by %s (algorithm %u), which this build cannot check\n",
			e->reader.header.second.name, e->reader.header.second.algorithm);
	if (e->reader.header.challenge_bytes)
		fprintf(f, "  challenge  %s\n",
			hex_text(challenge, e->reader.header.challenge, e->reader.header.challenge_bytes));
	chain_print(f, j->chain);
}

/* --- JSON --- */

static void json_counts(struct json *j, const struct evidence *e, const struct summary *s)
{
	const struct schema *schema = &e->reader.header.schema;

	json_u64(j, "events", e->verification.nevents);
	json_open(j, "kinds", '{');
	for (size_t i = 0; i < schema->nkinds; i++) {
		uint64_t n = replay_count(&e->reader, s->nepochs, schema->kinds[i].id);

		if (n > 0)
			json_u64(j, schema->kinds[i].name, n);
	}
	json_close(j, '}');
	for (size_t i = 0; i < NGROUPS; i++) {
		json_open(j, absence_words[groups[i]].name, '[');
		tally(NULL, j, groups[i], e, s);
		json_close(j, ']');
	}
	withheld_json(j, &e->reader, s);
}

static void json_proven(struct json *j, const struct evidence *e)
{
	const struct header *h = &e->reader.header;
	struct clock_steps clock;
	struct summary s;
	const char *reason;

	summary_make(&s, e);
	json_bytes(j, "id", h->capture_id, CAPTURE_ID_BYTES);
	if (h->incompatible & FEATURE_CONTINUES)
		json_bytes(j, "continues", h->previous, HASH_BYTES);
	if (s.seal)
		json_bytes(j, "seal", s.seal, HASH_BYTES);
	if (h->second.algorithm)
		json_string(j, "second_signature_unchecked", h->second.name);
	if (h->challenge_bytes)
		json_bytes(j, "challenge", h->challenge, h->challenge_bytes);
	if (h->series_number) {
		json_bytes(j, "series", h->series, SERIES_ID_BYTES);
		json_u64(j, "series_number", h->series_number);
	}
	json_u64(j, "start", h->start_boot_ns);
	json_wall(j, "start_wall", "start_utc", h->start_wall_ns);
	json_u64(j, "duration", s.duration_ns);
	json_u64(j, "epochs", s.nepochs);
	clock_steps_find(&clock, e);
	if (clock.n) {
		json_u64(j, "clock_steps", clock.n);
		json_s64(j, "clock_step_ns", clock.greatest_ns);
		json_wall(j, "last_wall", "last_utc", clock.last_wall_ns);
	}
	json_bool(j, "ended", s.ended);
	reason = s.ended ? reason_text(e->reader.end.reason) : NULL;
	if (reason)
		json_string(j, "reason", reason);
	if (s.ended && e->reader.end.has_exit_status)
		json_s64(j, "command_status", e->reader.end.exit_status);
	json_counts(j, e, &s);
}

static void json_completeness(struct json *j, const struct completeness *c)
{
	json_bool(j, "complete", completeness_is_full(c));
	json_u64(j, "happened", c->happened);
	json_u64(j, "events_lost", c->lost);
	json_u64(j, "events_left_out", c->left_out);
	json_u64(j, "calls_open", c->open);
	json_u64(j, "libraries_not_attached", c->not_attached);
}

static void json_trust(struct json *j, const struct evidence *e)
{
	static const char *const words[] = {
		[TRUST_UNKNOWN] = "unknown", [TRUST_REVOKED] = "revoked",     [TRUST_BLIND] = "blind",
		[TRUST_DIRECT] = "direct",   [TRUST_DELEGATED] = "delegated",
	};
	const struct trust_answer *t = &e->trust;
	char keyid[KEY_ID_CHARS + 1];

	json_string(j, "trust", words[t->trust]);
	if (t->trust == TRUST_DELEGATED) {
		json_string(j, "authority", key_id(keyid, t->authority.keynum));
		json_string(j, "authority_name", t->authority_name);
		json_string(j, "delegation_file", t->delegation);
		json_u64(j, "delegated_from", t->from_ns);
		json_u64(j, "delegated_until", t->until_ns);
	}
	if (t->trust == TRUST_REVOKED || t->revoked_later) {
		json_u64(j, "revoked_since", t->revoked_ns);
		json_string(j, "revoked_reason", t->revoked_reason);
	}
}

static void json_signer(struct json *j, const struct evidence *e)
{
	char print[FINGERPRINT_CHARS + 1];
	struct public_key pk;

	json_string(j, "signer", e->signer);
	if (e->signer_name[0])
		json_string(j, "signer_name", e->signer_name);
	json_trust(j, e);
	signer_key(&pk, e);
	json_string(j, "fingerprint", key_fingerprint(print, &pk));
}

void verdict_json(struct json *j, const struct judgement *g)
{
	const struct evidence *e = g->evidence;
	const struct verification *v = &e->verification;

	json_open(j, NULL, '{');
	json_string(j, "verdict", verdict_word(v->verdict));
	json_string(j, "file", g->path);
	json_s64(j, "exit_status", g->exit_status);
	json_bool(j, "refused", g->refused);
	json_bool(j, "rows_decoded", v->scope == VERIFY_ROWS && e->readable);
	if (!is_ok(v->verdict)) {
		json_string(j, "why", v->why.text);
		if (v->why.offset != FAULT_NOWHERE)
			json_u64(j, "offset", v->why.offset);
		json_u64(j, "authentic_epochs", v->nepochs);
	}
	if (bytes_outside(e))
		json_u64(j, "bytes_outside", bytes_outside(e));
	if (e->readable)
		json_signer(j, e);
	if (header_proven(e)) {
		json_proven(j, e);
		json_completeness(j, g->completeness);
	}
	chain_json(j, g->chain);
	json_close(j, '}');
}
