/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of delegations and revocations: made ones, and a capture whose signer they are about. */
#ifndef GPUREC_TESTS_VOUCHED_H
#define GPUREC_TESTS_VOUCHED_H

#include "keys/evidence.h"
#include "keys/files.h"
#include "tests/unit/sample.h"

#define S SAMPLE_SECOND
#define HOST 1 /* signs the samples */
#define AUTHORITY 2
#define OTHER 3

static const struct evidence_options plain = {.nthreads = 1};

static inline void put(const char *path, const void *bytes, size_t len)
{
	struct fault why;

	assert_int_equal(file_make(path, 0644, true, bytes, len, &why), 0);
}

static inline struct public_key public_of(uint8_t seed)
{
	struct identity id = sample_identity(seed);
	struct public_key pk;

	key_of_identity(&pk, &id);
	return pk;
}

static inline struct delegation make(uint8_t host, uint8_t authority, uint64_t from_ns, uint64_t until_ns)
{
	struct identity id = sample_identity(authority);
	struct public_key pk = public_of(host);
	struct delegation d;
	struct fault why;

	assert_int_equal(delegation_make(&d, &pk, "node17", from_ns, until_ns, &id, &why), 0);
	return d;
}

/* run.cap: three epochs from SAMPLE_WALL on, signed by HOST: its clock reads SAMPLE_WALL to SAMPLE_WALL + 3 s. */
static inline void make_capture(bool end)
{
	struct memory_sink m = {0};

	assert_int_equal(sample_write(&m, 3, end), 0);
	put("run.cap", m.bytes.data, m.bytes.len);
	bytes_free(&m.bytes);
}

static inline void trust_for(uint8_t seed, const char *name, unsigned roles)
{
	struct public_key pk = public_of(seed);
	struct fault why;

	assert_int_equal(trust_add(&pk, name, roles, &why), 0);
}

/* The host may record; all others are authorities, too. */
static inline void trust_key(uint8_t seed, const char *name)
{
	trust_for(seed, name, seed == HOST ? ROLE_RECORD : ROLE_RECORD | ROLE_VOUCH | ROLE_REVOKE);
}

static inline void put_delegation(const char *path, const struct delegation *d)
{
	char text[DELEGATION_FILE_MAX];

	put(path, text, delegation_format(text, d));
}

static inline struct revocation of_key(uint8_t seed, uint64_t since_ns)
{
	struct revocation item = {.key = public_of(seed), .since_ns = since_ns};

	strcpy(item.reason, "lost it");
	return item;
}

static inline void put_revocations(const char *path, uint8_t signer, const struct revocation *items, size_t n)
{
	struct identity id = sample_identity(signer);
	struct revocations list = {0};
	struct fault why;

	for (size_t i = 0; i < n; i++)
		assert_int_equal(revocations_add(&list, &items[i], &why), 0);
	assert_int_equal(revocations_write(&list, path, true, &id, &why), 0);
	revocations_clear(&list);
}

static inline void expect(enum verdict verdict, enum trust trust, const char *said)
{
	struct evidence e;
	struct fault why = {0};

	assert_int_equal(evidence_judge(&e, "run.cap", &plain, &why), 0);
	assert_int_equal(e.verification.verdict, verdict);
	assert_int_equal(e.trust.trust, trust);
	if (!strstr(e.verification.why.text, said))
		fail_msg("'%s' does not say '%s'", e.verification.why.text, said);
	assert_int_equal(e.signer_name[0] != '\0', trust >= TRUST_DIRECT);
	evidence_close(&e);
}

#endif
