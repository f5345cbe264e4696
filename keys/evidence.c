/* SPDX-License-Identifier: Apache-2.0 */
#include "keys/evidence.h"

#include <sys/stat.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/escape.h"
#include "keys/plain_text.h"

/* Whether a verdict speaks of an authentic capture, of which only trust in the signer is open. */
static bool is_authentic(enum verdict v)
{
	return v == VERDICT_OK || v == VERDICT_OK_SLICE || v == VERDICT_OK_REDACTED || v == VERDICT_UNSEALED;
}

/* First and last reading of the wall clock in what is authentic; a step between two shows, for all are inspected. */
static void wall_span(const struct evidence *e, uint64_t *first_ns, uint64_t *last_ns)
{
	const struct reader *r = &e->reader;
	uint64_t first = r->header.start_wall_ns, last = first, wall, i;

	for (i = 0; i < e->verification.nepochs + (r->tail == TAIL_END); i++) {
		wall = i < e->verification.nepochs ? r->epochs[i].anchor.wall_ns : r->end.anchor.wall_ns;
		first = wall < first ? wall : first;
		last = wall > last ? wall : last;
	}
	*first_ns = first;
	*last_ns = last;
}

/* Look the signer up, after verifying: which clock readings count depends on it. */
static int find_signer(struct evidence *e, const struct trust_sources *s, struct fault *why)
{
	struct public_key pk;
	uint64_t first_ns, last_ns;
	int r;

	memcpy(pk.keynum, e->reader.header.keynum, sizeof(pk.keynum));
	memcpy(pk.key, e->reader.header.identity, sizeof(pk.key));
	key_id(e->signer, pk.keynum);
	wall_span(e, &first_ns, &last_ns);
	r = trust_ask(s, &pk, ROLE_RECORD, first_ns, last_ns, &e->trust, why);
	if (r < 0)
		return r;
	if (e->trust.trust >= TRUST_DIRECT)
		snprintf(e->signer_name, sizeof(e->signer_name), "%s", e->trust.name);
	else if (is_authentic(e->verification.verdict)) {
		e->verification.verdict = VERDICT_UNTRUSTED;
		e->verification.why = e->trust.why;
	}
	return 0;
}

int evidence_judge(struct evidence *e, const char *path, const struct evidence_options *o, struct fault *why)
{
	struct trust_sources sources;
	struct fault inner;
	int r;

	memset(e, 0, sizeof(*e));
	e->source.fd = -1;
	r = trust_sources_read(&sources, o->trust_files, o->ntrust_files, o->delegation_files, o->ndelegation_files,
			       path, why);
	if (r < 0)
		goto out;
	r = o->fd > 0 ? source_open_fd(&e->source, o->fd, &inner) : source_open_file(&e->source, path, &inner);
	if (r < 0 || reader_open(&e->reader, &e->source, &inner) < 0) {
		verification_refused(&e->verification, &inner);
		r = 0;
		goto out;
	}
	e->readable = true;
	verify_watched(&e->reader, o->scope, o->nthreads, o->progress, &e->verification);
	r = find_signer(e, &sources, why);
out:
	trust_sources_clear(&sources);
	return r;
}

bool evidence_acceptable(const struct evidence *e, const struct evidence_options *o, struct fault *why)
{
	const struct verification *v = &e->verification;

	if (!e->readable) {
		fault_set(why, v->why.code, v->why.offset, "%s: %s", verdict_word(v->verdict), v->why.text);
		return false;
	}
	if (o->unverified)
		return true;
	if (v->verdict == VERDICT_UNSEALED && v->nepochs == 0) {
		fault_set(why, v->why.code, v->why.offset,
			  "UNSEALED before its first epoch was sealed: nothing to read");
		return false;
	}
	if (is_authentic(v->verdict))
		return true;
	fault_set(why, v->why.code, v->why.offset, "%s: %s (--unverified reads it all the same)",
		  verdict_word(v->verdict), v->why.text);
	return false;
}

void evidence_sentence(const struct evidence *e, char *buf, size_t size)
{
	const struct verification *v = &e->verification;
	char why[sizeof(v->why.text) * ESCAPE_GROWTH + 1], voucher[96] = "", keyid[KEY_ID_CHARS + 1],
							   date[DATE_CHARS + 1];

	if (e->trust.trust == TRUST_DELEGATED)
		snprintf(voucher, sizeof(voucher), ", vouched for by %s until %s",
			 key_id(keyid, e->trust.authority.keynum), date_format(date, e->trust.until_ns));
	if (!is_authentic(v->verdict)) {
		escape_terminal(why, sizeof(why), v->why.text, strlen(v->why.text));
		snprintf(buf, size, "UNVERIFIED: %s: %s", verdict_word(v->verdict), why);
	} else if (v->verdict == VERDICT_UNSEALED) {
		snprintf(buf, size, "UNSEALED after %" PRIu64 " epochs, which are signed by %s (%s%s)", v->nepochs,
			 e->signer, e->signer_name, voucher);
	} else if (v->scope == VERIFY_SEALS) {
		snprintf(buf, size, "seals %s, rows are checked as they are read; signed by %s (%s%s)",
			 verdict_word(v->verdict), e->signer, e->signer_name, voucher);
	} else {
		snprintf(buf, size, "%s, signed by %s (%s%s)", verdict_word(v->verdict), e->signer, e->signer_name,
			 voucher);
	}
}

mode_t evidence_mode(const struct evidence *e)
{
	struct stat st;

	return fstat(e->source.fd, &st) == 0 ? st.st_mode & 0666 : 0600;
}

void evidence_close(struct evidence *e)
{
	reader_close(&e->reader);
	source_close(&e->source);
	e->readable = false;
}
