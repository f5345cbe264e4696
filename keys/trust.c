/* SPDX-License-Identifier: Apache-2.0 */
#include "keys/trust.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/base/escape.h"
#include "format/base/output_file.h"
#include "keys/files.h"
#include "keys/plain_text.h"

/* What a key file given with --trust is called: its name without folder and ".pub". */
static void name_of_file(char *name, size_t size, const char *path)
{
	const char *leaf = file_leaf(path);

	escape_terminal(name, size, leaf, file_stem(leaf, PUBLIC_SUFFIX));
}

/* All are read, so that a wrong one is reported whatever the capture is. */
static int read_given(struct trust_sources *s, const char *const *files, size_t n, struct fault *why)
{
	int r = 0;

	s->given = calloc(n ? n : 1, sizeof(*s->given));
	if (!s->given)
		return fault_no_memory(why);
	for (; r == 0 && s->ngiven < n; s->ngiven++) {
		struct given_key *g = &s->given[s->ngiven];
		const char *path = roles_of_argument(&g->roles, files[s->ngiven]);

		r = minisign_read_public(&g->key, path, why);
		if (r < 0)
			break;
		name_of_file(g->name, sizeof(g->name), path);
	}
	return r;
}

static int read_offer(struct stored_delegation *d, const char *path)
{
	d->file.broken.code = ERR_NONE;
	snprintf(d->file.path, sizeof(d->file.path), "%s", path);
	return delegation_read(&d->delegation, path, &d->file.broken);
}

/* A stranger's file: if it is there, it may help, and whatever is wrong with it is no more than that. */
static void read_beside(struct trust_sources *s, const char *capture)
{
	char path[PATH_MAX];

	if (file_beside(path, capture, DELEGATION_SUFFIX, NULL) < 0 ||
	    (faccessat(AT_FDCWD, path, F_OK, AT_EACCESS) < 0 && is_absent(errno)))
		return;
	read_offer(&s->offered[s->noffered++], path);
}

static int read_offered(struct trust_sources *s, const char *const *files, size_t n, const char *capture,
			struct fault *why)
{
	int r;

	s->offered = calloc(n + 1, sizeof(*s->offered));
	if (!s->offered)
		return fault_no_memory(why);
	while (s->noffered < n) {
		struct stored_delegation *d = &s->offered[s->noffered];

		r = read_offer(d, files[s->noffered]);
		if (r < 0 && r != ERR_FORGED)
			return fault_set(why, r, d->file.broken.offset, "%s", d->file.broken.text);
		s->noffered++;
	}
	if (capture)
		read_beside(s, capture);
	return 0;
}

int trust_sources_read(struct trust_sources *s, const char *const *trust_files, size_t ntrust_files,
		       const char *const *delegation_files, size_t ndelegation_files, const char *capture,
		       struct fault *why)
{
	int r;

	memset(s, 0, sizeof(*s));
	r = read_given(s, trust_files, ntrust_files, why);
	if (r == 0)
		r = read_offered(s, delegation_files, ndelegation_files, capture, why);
	if (r == 0)
		r = trust_list_read(&s->store, why);
	return r;
}

void trust_sources_clear(struct trust_sources *s)
{
	trust_list_clear(&s->store);
	free(s->given);
	free(s->offered);
	memset(s, 0, sizeof(*s));
}

/* --- judging --- */

/* How far a delegation that is no use has come: the sentence is about the one that came farthest. */
enum obstacle { OBSTACLE_NONE, OBSTACLE_BROKEN, OBSTACLE_STRANGER, OBSTACLE_REVOKED, OBSTACLE_ROLE, OBSTACLE_TIME };

struct question {
	const struct trust_sources *s;
	const struct public_key *pk;
	unsigned roles; /* one of them is needed */
	uint64_t first_ns, last_ns;
	struct trust_answer *answer;
	enum obstacle obstacle; /* so far */
	struct fault broken;    /* of the store: a key file that might be the one looked for */
};

/* What is known here about a key: by --trust, by the store. */
struct known {
	const char *name; /* NULL: it is not trusted */
	const struct trusted *stored;
	unsigned roles; /* of both */
};

static struct known known_here(struct question *q, const struct public_key *pk)
{
	struct known k = {.roles = trust_roles(&q->s->store, pk)};
	const struct given_key *g;
	struct fault why;
	int r;

	for (g = q->s->given; g < q->s->given + q->s->ngiven; g++) {
		if (!key_equal(&g->key, pk))
			continue;
		k.name = k.name ? k.name : g->name;
		k.roles |= g->roles;
	}
	r = trust_find(&q->s->store, pk, &k.stored, &why);
	if (r < 0 && !k.name)
		q->broken = why;
	if (r > 0 && !k.name)
		k.name = k.stored->file.name;
	return k;
}

#define HINT_CHARS (ROLE_COMMAND_CHARS + 16)

/* How to give a known key the roles that it lacks. */
static const char *role_hint(char buf[HINT_CHARS + 1], const struct question *q, const struct known *k, unsigned needed)
{
	char roles[ROLES_CHARS + 1];

	if (k->stored)
		return trust_role_command(buf, &q->s->store, k->stored, needed);
	snprintf(buf, HINT_CHARS + 1, "--trust %s:FILE", roles_format(roles, k->roles | needed));
	return buf;
}

const struct revocation *trust_revocation(const struct trust_list *store, const struct public_key *pk,
					  const uint8_t *hash)
{
	const struct revocation *found, *earliest = NULL;
	const struct stored_revocations *l;

	for (l = store->lists; l < store->lists + store->nlists; l++) {
		found = pk ? revocations_find_key(&l->list, pk) : revocations_find_delegation(&l->list, hash);
		if (found && (!earliest || found->since_ns < earliest->since_ns))
			earliest = found;
	}
	return earliest;
}

/* Note a revocation in the answer; true if it hits this capture, false if the capture was over before. */
static bool is_hit(struct question *q, const struct revocation *r)
{
	struct trust_answer *a = q->answer;

	if (!r)
		return false;
	if (!a->revoked_later || r->since_ns < a->revoked_ns) {
		a->revoked_later = true;
		a->revoked_ns = r->since_ns;
		memcpy(a->revoked_reason, r->reason, sizeof(a->revoked_reason));
	}
	return q->last_ns >= r->since_ns;
}

/* " since 2026-...", or "" for always. */
static const char *since_words(char buf[DATE_CHARS + 8], uint64_t since_ns)
{
	char date[DATE_CHARS + 1];

	snprintf(buf, DATE_CHARS + 8, "%s%s", since_ns ? " since " : "", since_ns ? date_format(date, since_ns) : "");
	return buf;
}

/* Let the sentence be about this obstacle, unless there is one about a better delegation. */
static bool is_farther(struct question *q, enum obstacle obstacle)
{
	if (obstacle <= q->obstacle)
		return false;
	q->obstacle = obstacle;
	return true;
}

static void refuse_time(struct question *q, const struct delegation *d, const char *signer, const char *authority)
{
	bool early = q->first_ns < d->from_ns;
	char limit[DATE_CHARS + 1], seen[DATE_CHARS + 1];

	fault_set(
		&q->answer->why, ERR_KEY, FAULT_NOWHERE,
		"signed by the key %s, for which %s vouches as \"%s\" only %s %s; by its own clock this capture %s %s",
		signer, authority, d->name, early ? "from" : "until",
		date_format(limit, early ? d->from_ns : d->until_ns), early ? "begins" : "reaches to",
		date_format(seen, early ? q->first_ns : q->last_ns));
}

/* Why the revoked authority's word, or the revoked delegation, does not count. */
static void refuse_revoked(struct question *q, const struct delegation *d, const char *signer, const char *authority,
			   const struct revocation *r)
{
	char since[DATE_CHARS + 8];

	fault_set(&q->answer->why, ERR_KEY, FAULT_NOWHERE,
		  "signed by the key %s, vouched for as \"%s\" by %s, %s is revoked%s: %s", signer, d->name, authority,
		  r->is_delegation ? "but that delegation" : "whose key", since_words(since, r->since_ns), r->reason);
}

/* Why the word of a key that is trusted, but not as an authority, does not count. */
static void refuse_authority(struct question *q, const struct delegation *d, const char *signer,
			     const struct known *authority, unsigned needed)
{
	char lacking[ROLES_CHARS + 1], hint[HINT_CHARS + 1], keyid[KEY_ID_CHARS + 1];

	fault_set(&q->answer->why, ERR_KEY, FAULT_NOWHERE,
		  "signed by the key %s, vouched for as \"%.40s\" by %s, trusted here without the role %s; to give it: "
		  "%s",
		  signer, d->name, key_id(keyid, d->authority.keynum),
		  roles_format(lacking, needed & ~authority->roles), role_hint(hint, q, authority, needed));
}

/* The roles that an authority must have to lend what is asked for. */
static unsigned to_lend(const struct question *q)
{
	return ROLE_VOUCH | (q->roles == ROLE_CUSTODY ? (unsigned)ROLE_CUSTODY : 0);
}

/* Whether this delegation makes the signer trusted: then the answer is filled; else perhaps its sentence. */
static bool try_delegation(struct question *q, const struct stored_delegation *stored)
{
	const struct delegation *d = &stored->delegation;
	char signer[KEY_ID_CHARS + 1], authority[KEY_ID_CHARS + 1];
	struct trust_answer *a = q->answer;
	const struct revocation *of_authority, *of_itself;
	struct known known;

	key_id(signer, q->pk->keynum);
	if (stored->file.broken.code != ERR_NONE) {
		if (is_farther(q, OBSTACLE_BROKEN))
			fault_set(&a->why, ERR_KEY, FAULT_NOWHERE,
				  "signed by the key %s, which is not trusted on this machine; %.160s", signer,
				  stored->file.broken.text);
		return false;
	}
	if (!key_equal(&d->host, q->pk))
		return false;
	key_id(authority, d->authority.keynum);
	known = known_here(q, &d->authority);
	if (!known.name) {
		if (is_farther(q, OBSTACLE_STRANGER))
			fault_set(&a->why, ERR_KEY, FAULT_NOWHERE,
				  "signed by the key %s, vouched for as \"%s\" by the key %s, which is not trusted on "
				  "this machine; "
				  "bring that one's public key and run 'gpukey trust', or name it with --trust",
				  signer, d->name, authority);
		return false;
	}
	of_authority = trust_revocation(&q->s->store, &d->authority, NULL);
	of_itself = trust_revocation(&q->s->store, NULL, d->hash);
	if (is_hit(q, of_authority) || is_hit(q, of_itself)) {
		if (is_farther(q, OBSTACLE_REVOKED))
			refuse_revoked(q, d, signer, authority,
				       of_authority && q->last_ns >= of_authority->since_ns ? of_authority : of_itself);
		return false;
	}
	if ((known.roles & to_lend(q)) != to_lend(q)) {
		if (is_farther(q, OBSTACLE_ROLE))
			refuse_authority(q, d, signer, &known, to_lend(q));
		return false;
	}
	if (q->first_ns < d->from_ns || q->last_ns >= d->until_ns) {
		if (is_farther(q, OBSTACLE_TIME))
			refuse_time(q, d, signer, authority);
		return false;
	}
	a->trust = TRUST_DELEGATED;
	snprintf(a->name, sizeof(a->name), "%s", d->name);
	a->authority = d->authority;
	snprintf(a->authority_name, sizeof(a->authority_name), "%s", known.name);
	a->from_ns = d->from_ns;
	a->until_ns = d->until_ns;
	memcpy(a->delegation, stored->file.path, sizeof(a->delegation));
	return true;
}

static bool try_delegations(struct question *q)
{
	const struct trust_sources *s = q->s;
	struct trust_answer before =
		*q->answer; /* what is said of a delegation is no note about the next one's trust */
	const struct stored_delegation *d;
	size_t i;

	for (i = 0; i < s->noffered + s->store.ndelegations; i++) {
		d = i < s->noffered ? &s->offered[i] : &s->store.delegations[i - s->noffered];
		if (try_delegation(q, d))
			return true;
		before.why = q->answer->why;
		*q->answer = before;
	}
	return false;
}

/* A list that cannot be read may hold any key: then none is trusted. */
static bool is_blind(const struct trust_list *store, struct trust_answer *a)
{
	const struct stored_revocations *l;

	for (l = store->lists; l < store->lists + store->nlists; l++) {
		if (l->file.broken.code == ERR_NONE)
			continue;
		a->trust = TRUST_BLIND;
		fault_set(&a->why, ERR_KEY, FAULT_NOWHERE,
			  "nothing is trusted here while a revocation list cannot be believed: %.188s",
			  l->file.broken.text);
		return true;
	}
	return false;
}

/* Nothing speaks for the key, or what does is of no use: why, unless a delegation has said. */
static void refuse_unknown(struct question *q, const struct known *k, const char *signer)
{
	struct trust_answer *a = q->answer;
	char hint[HINT_CHARS + 1], lacking[ROLES_CHARS + 1];

	a->stranger = q->obstacle == OBSTACLE_NONE && !k->name;
	if (a->stranger)
		fault_set(&a->why, ERR_KEY, FAULT_NOWHERE,
			  "signed by the key %s, which is not trusted on this machine; bring its public key from the "
			  "recording host ('gpukey show' there) and run 'gpukey trust' here, or name it with --trust",
			  signer);
	else if (k->name)
		fault_set(&a->why, ERR_KEY, FAULT_NOWHERE,
			  "signed by the key %s (%.40s), trusted here without the role %s; to give it: %s", signer,
			  k->name, roles_format(lacking, q->roles), role_hint(hint, q, k, q->roles));
}

int trust_ask(const struct trust_sources *s, const struct public_key *pk, unsigned roles, uint64_t first_ns,
	      uint64_t last_ns, struct trust_answer *answer, struct fault *why)
{
	struct trust_answer a = {.trust = TRUST_UNKNOWN};
	struct question q = {.s = s, .pk = pk, .roles = roles, .first_ns = first_ns, .last_ns = last_ns, .answer = &a};
	char signer[KEY_ID_CHARS + 1], since[DATE_CHARS + 8];
	struct known known;

	key_id(signer, pk->keynum);
	if (is_blind(&s->store, &a))
		goto out;
	if (is_hit(&q, trust_revocation(&s->store, pk, NULL))) {
		a.trust = TRUST_REVOKED;
		a.revoked_later = false;
		fault_set(&a.why, ERR_KEY, FAULT_NOWHERE, "signed by the key %s, which is revoked%s: %s", signer,
			  since_words(since, a.revoked_ns), a.revoked_reason);
		goto out;
	}
	known = known_here(&q, pk);
	if (known.roles & roles) {
		a.trust = TRUST_DIRECT;
		snprintf(a.name, sizeof(a.name), "%s", known.name);
		goto out;
	}
	if (try_delegations(&q))
		goto out;
	if (q.broken.code != ERR_NONE)
		return fault_set(why, q.broken.code, q.broken.offset, "%s", q.broken.text);
	refuse_unknown(&q, &known, signer);
out:
	*answer = a;
	return 0;
}
