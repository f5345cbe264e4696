/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Revocations and trust when the nth read, write, sync, rename, close, lock or allocation fails, for every n: nothing
 * half is left, no temporary file, and nothing is believed that would not be without the fault.
 */
#undef _FORTIFY_SOURCE /* see faults.h */
#include "tests/unit/survive.h"

static void put_revocations(const char *path, size_t n)
{
	struct identity id = sample_identity(AUTHORITY);
	struct revocations list = {0};
	struct fault why;

	for (size_t i = 0; i < n; i++) {
		struct revocation item = {.key = public_of((uint8_t)(i ? OTHER + i : HOST)), .reason = "lost"};

		assert_int_equal(revocations_add(&list, &item, &why), 0);
	}
	assert_int_equal(revocations_write(&list, path, true, &id, &why), 0);
	revocations_clear(&list);
}

static void trust_key(uint8_t seed, const char *name)
{
	struct public_key pk = public_of(seed);
	struct fault why;
	int r = trust_add(&pk, name, seed == HOST ? ROLE_RECORD : ROLE_RECORD | ROLE_VOUCH | ROLE_REVOKE, &why);

	assert_true(r == 0 || r == ERR_EXISTS);
}

static void nothing_trusted(void)
{
	assert_int_equal(remove_tree("trust") + remove_tree("run.cap.delegation"), 0);
}

static void trusted_host(void)
{
	nothing_trusted();
	trust_key(HOST, "recorder");
	trust_key(OTHER, "another");
}

static void check_host_trusted(int r)
{
	if (r == 0)
		assert_true(verdict == VERDICT_OK || verdict == VERDICT_UNTRUSTED || verdict == VERDICT_UNCHECKED);
}

static int read_sources(struct fault *why)
{
	struct trust_sources s;
	int r = trust_sources_read(&s, NULL, 0, NULL, 0, NULL, why);

	trust_sources_clear(&s);
	return r;
}

static void check_sources(int r)
{
	assert_int_equal(r, out_of_memory() ? ERR_MEMORY : atomic_load(&failed) && tried == OF_IO ? ERR_IO : 0);
}

static void revoked_host(void)
{
	trusted_host();
	trust_key(AUTHORITY, "boss");
	put_revocations("trust/boss.revocations", 2);
}

static void check_host_revoked(int r)
{
	assert_true(r < 0 || verdict == VERDICT_UNTRUSTED || verdict == VERDICT_UNCHECKED);
}

static void delegated_host(void)
{
	struct identity id = sample_identity(AUTHORITY);
	struct public_key pk = public_of(HOST);
	char text[DELEGATION_FILE_MAX];
	struct delegation d;
	struct fault why;

	nothing_trusted();
	trust_key(AUTHORITY, "boss");
	assert_int_equal(delegation_make(&d, &pk, "node17", 0, UINT64_MAX, &id, &why), 0);
	assert_int_equal(trust_add_delegation(&d, "node17", &why), 0);
	put("run.cap.delegation", text, delegation_format(text, &d));
}

/* Of a host that was vouched for, though the authority's key is revoked. */
static void revoked_authority(void)
{
	struct revocation item = {.key = public_of(AUTHORITY), .reason = "lost"};
	struct identity id = sample_identity(OTHER);
	struct revocations list = {0};
	struct fault why;

	delegated_host();
	trust_key(OTHER, "auditor");
	assert_int_equal(revocations_add(&list, &item, &why), 0);
	assert_int_equal(revocations_write(&list, "trust/x.revocations", true, &id, &why), 0);
	revocations_clear(&list);
}

static int add_key(struct fault *why)
{
	struct public_key pk = public_of(HOST);

	return trust_add(&pk, "recorder", ROLE_RECORD, why);
}

static void check_added(int r)
{
	struct trust_list list;
	struct fault why;

	assert_int_equal(trust_list_read(&list, &why), 0);
	assert_true(list.nkeys == 1 || (r < 0 && list.nkeys == 0));
	for (size_t i = 0; i < list.nkeys; i++)
		assert_int_equal(list.keys[i].file.broken.code, ERR_NONE);
	trust_list_clear(&list);
}

static int add_authority(struct fault *why)
{
	struct public_key pk = public_of(HOST);

	return trust_add(&pk, "recorder", ROLE_VOUCH, why);
}

/* Never a key that may do more than was said. */
static void check_authority_added(int r)
{
	struct trust_list list;
	struct fault why;

	check_added(r);
	assert_int_equal(trust_list_read(&list, &why), 0);
	for (size_t i = 0; i < list.nkeys; i++)
		assert_int_equal(list.keys[i].roles, ROLE_VOUCH);
	trust_list_clear(&list);
}

static void trusted_authority(void)
{
	nothing_trusted();
	trust_key(AUTHORITY, "boss");
}

static int change_roles(struct fault *why)
{
	struct trust_list list;
	int r = trust_list_read(&list, why);

	if (r < 0)
		return r;
	r = list.keys[0].file.broken.code == ERR_NONE
		    ? trust_set_roles(&list.keys[0], ROLE_VOUCH, why)
		    : fault_set(why, list.keys[0].file.broken.code, FAULT_NOWHERE, "%s", list.keys[0].file.broken.text);
	trust_list_clear(&list);
	return r;
}

static void check_roles_changed(int r)
{
	struct trust_list list;
	struct fault why;

	assert_int_equal(trust_list_read(&list, &why), 0);
	assert_int_equal(list.nkeys, 1);
	assert_true(list.keys[0].roles == ROLE_VOUCH ||
		    (r < 0 && list.keys[0].roles == (ROLE_RECORD | ROLE_VOUCH | ROLE_REVOKE)));
	trust_list_clear(&list);
}

static struct revocations two_revoked; /* in memory of its own */
static struct revocation of_two[2];

static void no_list(void)
{
	nothing_trusted();
	assert_int_equal(remove_tree("host.revocations") + remove_tree("host.revocations.minisig"), 0);
	for (size_t i = 0; i < 2; i++)
		of_two[i] = (struct revocation){.key = public_of((uint8_t)(HOST + i)), .reason = "lost"};
	two_revoked = (struct revocations){.items = of_two, .n = 2};
}

static int write_revocations(struct fault *why)
{
	struct identity id = sample_identity(AUTHORITY);

	return revocations_write(&two_revoked, "host.revocations", false, &id, why);
}

static struct revocations read_list;

static void a_list(void)
{
	struct fault why;

	no_list();
	assert_int_equal(write_revocations(&why), 0);
}

static int read_revocations(struct fault *why)
{
	struct signature sig;
	struct prehash hash;

	read_list = (struct revocations){0};
	return revocations_read(&read_list, "host.revocations", &sig, &hash, why);
}

static void check_list_read(int r)
{
	assert_int_equal(r, out_of_memory() ? ERR_MEMORY : atomic_load(&failed) && tried == OF_IO ? ERR_IO : 0);
	assert_int_equal(read_list.n, r == 0 ? 2 : 0);
	revocations_clear(&read_list);
}

/* The list without its signature may be left: it counts for nothing. */
static void check_list_written(int r)
{
	struct revocations list = {0};
	struct public_key pk = public_of(AUTHORITY);
	struct signature sig;
	struct prehash hash;
	struct fault why;
	int read = revocations_read(&list, "host.revocations", &sig, &hash, &why);

	assert_true(read == 0 || r < 0);
	if (read == 0) {
		assert_int_equal(list.n, 2);
		assert_int_equal(signature_verify(&sig, &hash, &pk, &why), 0);
	}
	revocations_clear(&list);
}

static void longer_list(void)
{
	revoked_host();
	put_revocations("longer.revocations", 3);
}

static int add_revocations(struct fault *why)
{
	struct trust_list list;
	int r = trust_list_read(&list, why);

	if (r < 0)
		return r;
	r = trust_add_revocations(&list, "longer.revocations", "boss", why);
	trust_list_clear(&list);
	return r;
}

/* Halfway, what is there reads as forged, and nothing is trusted, rather than too much. */
static void check_still_revoked(int r)
{
	struct trust_list list;
	struct fault why;

	assert_int_equal(judge(&why), 0);
	assert_int_equal(verdict, VERDICT_UNTRUSTED);
	assert_int_equal(trust_list_read(&list, &why), 0);
	assert_int_equal(list.nlists, 1);
	if (r == 0)
		assert_int_equal(list.lists[0].list.n, 3);
	trust_list_clear(&list);
}

static const struct operation trust_operations[] = {
	{"a key is added", nothing_trusted, add_key, check_added, 0, 6, 0, false, false},
	{"an authority is added", nothing_trusted, add_authority, check_authority_added, 0, 12, 0, false, false},
	{"the roles of a key are changed", trusted_authority, change_roles, check_roles_changed, 0, 10, 2, false,
	 false},
	{"what trust rests on is read", nothing_trusted, read_sources, check_sources, 0, 0, 2, false, false},
	{"a trusted capture is judged", trusted_host, judge, check_host_trusted, 0, 15, 8, true, false},
	{"a capture of a revoked key is judged", revoked_host, judge, check_host_revoked, 0, 20, 10, true, false},
	{"a capture of a vouched-for key is judged", delegated_host, judge, check_host_trusted, 0, 15, 8, true, false},
	{"a capture of a revoked authority is judged", revoked_authority, judge, check_host_revoked, 0, 20, 10, true,
	 false},
	{"a revocation list is written", no_list, write_revocations, check_list_written, 0, 8, 2, false, false},
	{"a revocation list is read", a_list, read_revocations, check_list_read, 0, 6, 2, false, false},
	{"a longer list replaces a shorter one", longer_list, add_revocations, check_still_revoked, 0, 20, 6, true,
	 false},
};

/* Of a store that is read halfway, a revocation list may be missing. */
static void a_store_that_cannot_be_listed_to_its_end_is_an_error(void **state)
{
	unsigned long n;
	struct fault why;
	int r;

	(void)state;
	revoked_host();
	for (n = 1;; n++) {
		arm(OF_FOLDER, n);
		r = judge(&why);
		disarm();
		if (!atomic_load(&failed))
			break;
		assert_int_equal(r, ERR_IO);
		assert_non_null(strstr(why.text, "cannot be read"));
	}
	assert_int_equal(r, 0);
	assert_true(n > 6);
}

static void whatever_fails_nothing_is_trusted_that_was_not(void **state)
{
	(void)state;
	ALL(trust_operations);
}

int main(void)
{
#define TEST(t) cmocka_unit_test_setup_teardown(t, make_files, remove_files)
	const struct CMUnitTest tests[] = {
		TEST(a_store_that_cannot_be_listed_to_its_end_is_an_error),
		TEST(whatever_fails_nothing_is_trusted_that_was_not),
	};

	if (sodium_init() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
