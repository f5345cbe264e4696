/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/verify/custody_check.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/escape.h"
#include "format/base/units.h"
#include "keys/tool/tool.h"

#define NS_PER_SECOND 1000000000ull
#define TIME_MAX_S (INT64_MAX / (int64_t)NS_PER_SECOND)

static int ask_trust(struct chain *c, const char *capture, const struct evidence_options *o, struct fault *why)
{
	struct trust_sources sources;
	int r = trust_sources_read(&sources, o->trust_files, o->ntrust_files, o->delegation_files, o->ndelegation_files,
				   capture, why);

	if (r == 0 && c->custody.nlines) {
		c->trust = calloc(c->custody.nlines, sizeof(*c->trust));
		if (!c->trust)
			r = fault_no_memory(why);
	}
	for (size_t i = 0; r == 0 && i < c->custody.nlines; i++) {
		const struct custody_line *l = &c->custody.lines[i];
		/* What is too far in the future for nanoseconds is as far as they go. */
		uint64_t at = (uint64_t)(l->time_s < TIME_MAX_S ? l->time_s : TIME_MAX_S) * NS_PER_SECOND;

		r = trust_ask(&sources, &l->key, ROLE_CUSTODY, at, at, &c->trust[i], why);
	}
	trust_sources_clear(&sources);
	return r;
}

/* A whole chain: do we believe who signed, and is it the one that was asked for? */
static void judge_signers(struct chain *c, const struct chain_options *o)
{
	char head[HASH_BYTES * 2 + 1];

	if (c->custody.state != CUSTODY_INTACT)
		return;
	if (o->head && !custody_has(&c->custody, o->head)) {
		c->custody.state = CUSTODY_MISSING;
		fault_set(&c->custody.why, ERR_FORGED, FAULT_NOWHERE,
			  "no line has the hash %s: lines are missing at the end, or it is another chain",
			  hex_text(head, o->head, HASH_BYTES));
		return;
	}
	for (size_t i = 0; i < c->custody.nlines; i++) {
		if (c->trust[i].trust >= TRUST_DIRECT)
			continue;
		c->untrusted = true;
		fault_set(&c->custody.why, ERR_KEY, FAULT_NOWHERE, "line %zu: %s", i + 1, c->trust[i].why.text);
		return;
	}
}

int chain_check(struct chain *c, const char *capture, const struct evidence *e, const struct chain_options *o,
		struct fault *why)
{
	const struct custody_subject subject = custody_subject_of(e);
	char path[PATH_MAX];
	uint8_t hash[HASH_BYTES];
	int r = 0;

	memset(c, 0, sizeof(*c));
	if (!o->path)
		r = custody_path(path, capture, why);
	if (r == 0)
		r = custody_read(&c->custody, o->path ? o->path : path, &subject, why);
	if (r == 0 && o->path)
		return fault_set(why, ERR_IO, FAULT_NOWHERE, "%.150s: there is no such file", o->path);
	if (r == 0 && o->head) {
		c->asked = true;
		c->custody.state = CUSTODY_MISSING;
		fault_set(&c->custody.why, ERR_FORGED, FAULT_NOWHERE, "all lines are missing: there is no %.150s",
			  path);
	}
	if (r <= 0)
		return r;
	c->asked = true;
	c->begun_s = (int64_t)(e->reader.header.start_wall_ns / NS_PER_SECOND);
	r = ask_trust(c, capture, o->trust, why);
	if (r == 0 && c->custody.nlines) {
		r = custody_hash_file(hash, &e->source, why);
		c->same_file = r == 0 && memcmp(hash, c->custody.lines[c->custody.nlines - 1].file, HASH_BYTES) == 0;
	}
	if (r == 0)
		judge_signers(c, o);
	return r;
}

void chain_clear(struct chain *c)
{
	custody_clear(&c->custody);
	free(c->trust);
	memset(c, 0, sizeof(*c));
}

enum verdict chain_verdict(const struct chain *c)
{
	if (!c->asked || (c->custody.state == CUSTODY_INTACT && !c->untrusted))
		return VERDICT_OK;
	if (c->custody.state == CUSTODY_UNCHECKED)
		return VERDICT_UNCHECKED;
	return c->custody.state == CUSTODY_INTACT ? VERDICT_UNTRUSTED : VERDICT_FORGED;
}

static const char *word_of(const struct chain *c)
{
	return c->untrusted ? "UNTRUSTED" : custody_state_word(c->custody.state);
}

void chain_sentence(const struct chain *c, char *buf, size_t size)
{
	char text[sizeof(c->custody.why.text) * ESCAPE_GROWTH + 1];

	if (chain_verdict(c) == VERDICT_OK) {
		snprintf(buf, size, "%s: %zu act%s", word_of(c), c->custody.nlines, plural(c->custody.nlines));
		return;
	}
	escape_terminal(text, sizeof(text), c->custody.why.text, strlen(c->custody.why.text));
	snprintf(buf, size, "%s: %s", word_of(c), text);
}

/* By the signers' clocks and the recording host's, which may be wrong: a remark, and no fault of the chain. */
static const char *remark_on(const struct chain *c, size_t i)
{
	const struct custody_line *l = &c->custody.lines[i];

	if (i > 0 && l->time_s < l[-1].time_s)
		return "is dated before the act before it";
	if (l->time_s < c->begun_s)
		return "is dated before the recording began";
	return NULL;
}

static void print_act(FILE *f, const struct custody_line *l, const struct trust_answer *trust)
{
	char who[CUSTODY_WHO_MAX * ESCAPE_GROWTH + 1], note[CUSTODY_NOTE_MAX * ESCAPE_GROWTH + 1];
	char at[64], keyid[KEY_ID_CHARS + 1], name[TRUST_SHOWN_MAX * ESCAPE_GROWTH + 1], *dot;
	uint64_t wall_s = (uint64_t)(l->time_s < TIME_MAX_S ? l->time_s : TIME_MAX_S);

	escape_terminal(who, sizeof(who), l->who, strlen(l->who));
	escape_terminal(note, sizeof(note), l->note, strlen(l->note));
	escape_terminal(name, sizeof(name), trust->name, strlen(trust->name));
	wall_text(at, wall_s * NS_PER_SECOND);
	dot = strchr(at, '.');
	if (dot)
		*dot = '\0';
	fprintf(f, "             %" PRIu64 " %s UTC %s by \"%s\", who found it %s; signed by %s", l->number, at,
		custody_action_word(l->action), who, verdict_word(l->verdict), key_id(keyid, l->key.keynum));
	if (trust->trust >= TRUST_DIRECT)
		fprintf(f, " (%s), trusted here\n", name);
	else
		fprintf(f, ", which is not trusted on this machine\n");
	if (l->note[0])
		fprintf(f, "               \"%s\"\n", note);
}

void chain_print(FILE *f, const struct chain *c)
{
	char sentence[1024], hash[HASH_BYTES * 2 + 1];
	const struct custody *k = &c->custody;

	if (!c->asked)
		return;
	chain_sentence(c, sentence, sizeof(sentence));
	fprintf(f, "  custody    %s\n", sentence);
	/* Of a chain that is broken nothing is reported as if it had happened. */
	if (k->state != CUSTODY_INTACT || k->nlines == 0)
		return;
	for (size_t i = 0; i < k->nlines; i++) {
		print_act(f, &k->lines[i], &c->trust[i]);
		if (remark_on(c, i))
			fprintf(f, "             remark: act %zu %s, by the clocks of who signed and who recorded\n",
				i + 1, remark_on(c, i));
	}
	if (!c->same_file)
		fprintf(f, "             the file has other bytes than at act %zu: it was narrowed, or cut, since\n",
			k->nlines);
	fprintf(f, "  head       %s\n", hex_text(hash, k->lines[k->nlines - 1].hash, HASH_BYTES));
}

static void json_act(struct json *j, const struct custody_line *l, const struct trust_answer *trust)
{
	char keyid[KEY_ID_CHARS + 1];

	json_open(j, NULL, '{');
	json_u64(j, "number", l->number);
	json_string(j, "action", custody_action_word(l->action));
	json_s64(j, "time", l->time_s);
	json_string(j, "who", l->who);
	json_string(j, "note", l->note);
	json_string(j, "verdict", verdict_word(l->verdict));
	json_bytes(j, "seal", l->seal, HASH_BYTES);
	json_bytes(j, "file_hash", l->file, HASH_BYTES);
	json_bytes(j, "hash", l->hash, HASH_BYTES);
	json_string(j, "signer", key_id(keyid, l->key.keynum));
	if (trust->trust >= TRUST_DIRECT)
		json_string(j, "signer_name", trust->name);
	json_close(j, '}');
}

/* Nothing where there are none. */
static void json_remarks(struct json *j, const struct chain *c)
{
	bool any = false;

	for (size_t i = 0; i < c->custody.nlines; i++) {
		if (!remark_on(c, i))
			continue;
		if (!any)
			json_open(j, "remarks", '[');
		any = true;
		json_open(j, NULL, '{');
		json_u64(j, "act", i + 1);
		json_string(j, "remark", remark_on(c, i));
		json_close(j, '}');
	}
	if (any)
		json_close(j, ']');
}

void chain_json(struct json *j, const struct chain *c)
{
	const struct custody *k = &c->custody;

	if (!c->asked)
		return;
	json_open(j, "custody", '{');
	json_string(j, "state", word_of(c));
	if (chain_verdict(c) != VERDICT_OK)
		json_string(j, "why", k->why.text);
	if (k->state == CUSTODY_INTACT && k->nlines) {
		json_bytes(j, "head", k->lines[k->nlines - 1].hash, HASH_BYTES);
		json_bool(j, "same_file", c->same_file);
		json_open(j, "acts", '[');
		for (size_t i = 0; i < k->nlines; i++)
			json_act(j, &k->lines[i], &c->trust[i]);
		json_close(j, ']');
		json_remarks(j, c);
	}
	json_close(j, '}');
}
