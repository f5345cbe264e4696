/* SPDX-License-Identifier: Apache-2.0 */
#include "keys/evidence.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/escape.h"
#include "keys/store.h"

/* Whether a verdict speaks of an authentic capture, of which only trust in the signer is open. */
static bool is_authentic(enum verdict v)
{
	return v == VERDICT_OK || v == VERDICT_OK_SLICE || v == VERDICT_OK_REDACTED || v == VERDICT_UNSEALED;
}

/* The key files of --trust: read all, so that a wrong one is told whatever the capture is. 1: one is `pk`; 0: none. */
static int find_in_files(const struct evidence_options *o, const struct public_key *pk, const char **path,
			 struct fault *why)
{
	struct public_key key;
	int r, found = 0;
	size_t i;

	for (i = 0; i < o->ntrust_files; i++) {
		r = minisign_read_public(&key, o->trust_files[i], why);
		if (r < 0)
			return r;
		if (!found && pk && key_equal(&key, pk)) {
			*path = o->trust_files[i];
			found = 1;
		}
	}
	return found;
}

/* What a key file given with --trust is called: its name without folder and ".pub". */
static void name_of_file(char *name, size_t size, const char *path)
{
	const char *slash = strrchr(path, '/'), *leaf = slash ? slash + 1 : path;
	size_t len = strlen(leaf);

	if (len > 4 && strcmp(leaf + len - 4, ".pub") == 0)
		len -= 4;
	escape_terminal(name, size, leaf, len);
}

/* Look the signer up. Sets e->signer_name if it is trusted; 0 in both cases. */
static int find_signer(struct evidence *e, const struct evidence_options *o, struct fault *why)
{
	struct public_key pk;
	struct trust_list list = {0};
	const struct trusted *found;
	const char *path;
	int r;

	memcpy(pk.keynum, e->reader.header.keynum, sizeof(pk.keynum));
	memcpy(pk.key, e->reader.header.identity, sizeof(pk.key));
	key_id(e->signer, pk.keynum);
	r = find_in_files(o, &pk, &path, why);
	if (r > 0)
		name_of_file(e->signer_name, sizeof(e->signer_name), path);
	if (r != 0)
		return r < 0 ? r : 0;
	r = trust_list_read(&list, why);
	if (r < 0)
		return r;
	r = trust_find(&list, &pk, &found, why);
	if (r > 0)
		snprintf(e->signer_name, sizeof(e->signer_name), "%s", found->name);
	trust_list_clear(&list);
	return r < 0 ? r : 0;
}

int evidence_judge(struct evidence *e, const char *path, const struct evidence_options *o, struct fault *why)
{
	struct fault inner;
	int r;

	memset(e, 0, sizeof(*e));
	e->source.fd = -1;
	if (source_open_file(&e->source, path, &inner) < 0 || reader_open(&e->reader, &e->source, &inner) < 0) {
		verification_refused(&e->verification, &inner);
		r = find_in_files(o, NULL, NULL, why);
		return r < 0 ? r : 0;
	}
	e->readable = true;
	r = find_signer(e, o, why);
	if (r < 0)
		return r;
	verify(&e->reader, o->nthreads, &e->verification);
	if (!e->signer_name[0] && is_authentic(e->verification.verdict)) {
		e->verification.verdict = VERDICT_UNTRUSTED;
		fault_set(
			&e->verification.why, ERR_KEY, FAULT_NOWHERE,
			"signed by the key %s, which nothing here trusts; bring its public key from the recording host "
			"('gpukey show' there) and run 'gpukey trust' here, or name it with --trust",
			e->signer);
	}
	return 0;
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
	char why[sizeof(v->why.text) * ESCAPE_GROWTH + 1];

	if (!is_authentic(v->verdict)) {
		escape_terminal(why, sizeof(why), v->why.text, strlen(v->why.text));
		snprintf(buf, size, "UNVERIFIED: %s: %s", verdict_word(v->verdict), why);
	} else if (v->verdict == VERDICT_UNSEALED) {
		snprintf(buf, size, "UNSEALED after %" PRIu64 " epochs, which are signed by %s (%s)", v->nepochs,
			 e->signer, e->signer_name);
	} else {
		snprintf(buf, size, "%s, signed by %s (%s)", verdict_word(v->verdict), e->signer, e->signer_name);
	}
}

void evidence_close(struct evidence *e)
{
	reader_close(&e->reader);
	source_close(&e->source);
	e->readable = false;
}
