/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Custody, signatures, revocations and trust when the nth read, write, sync, rename, close, lock or allocation fails,
 * for every n: nothing half is left, no temporary file, and nothing is believed that would not be without the fault.
 */
#undef _FORTIFY_SOURCE /* see faults.h */
#include "tests/unit/faults.h"
#include "tests/unit/home.h"
#include "tests/unit/sample.h"

#include <time.h>

#include "keys/custody.h"
#include "keys/files.h"
#include "keys/signature.h"
#include "keys/trust.h"

#define HOST 1 /* signs the samples */
#define AUTHORITY 2
#define OTHER 3
#define CHAIN "run.cap.custody"

/* One thing that is done, and what must be true of it whichever of its calls fails. */
struct operation {
	const char *name;
	void (*prepare)(void);
	int (*run)(struct fault *why);
	void (*check)(int r);     /* with all calls working again */
	int wanted;               /* what run() returns when nothing fails */
	unsigned long io, memory; /* faults that it has at least */
	bool lenient;             /* a failed read or write may be passed over; check() then sees to it */
	bool strict;              /* a failed lock or close is told, too */
};

static const struct evidence_options plain = {.nthreads = 1};
static struct evidence capture; /* run.cap, judged */
static struct custody chain;    /* as run() read it */
static struct signature got;    /* as run() read it */
static enum verdict verdict;    /* as run() judged */
static enum sort tried;         /* the sort of fault */
static char *bytes_before;
static size_t nbefore;

static void put(const char *path, const void *bytes, size_t len)
{
	struct fault why;

	assert_int_equal(file_make(path, 0644, true, bytes, len, &why), 0);
}

static char *get(const char *path, size_t *len)
{
	char *bytes = malloc(1 << 20);
	struct fault why;

	assert_non_null(bytes);
	assert_int_equal(file_read(path, FILE_PUBLIC, bytes, 1 << 20, len, &why), 0);
	return bytes;
}

/* Where nothing can do without memory (qsort() can), all cannot be well when some was refused. */
static bool out_of_memory(void)
{
	return tried == OF_MEMORY && atomic_load(&failed);
}

/* Whether the file holds exactly these bytes. */
static bool holds(const char *path, const char *bytes, size_t n)
{
	size_t len;
	char *have = get(path, &len);
	bool same = len == n && memcmp(have, bytes, n) == 0;

	free(have);
	return same;
}

static bool is_there(const char *path)
{
	return access(path, F_OK) == 0;
}

static struct public_key public_of(uint8_t seed)
{
	struct identity id = sample_identity(seed);
	struct public_key pk;

	key_of_identity(&pk, &id);
	return pk;
}

static int judge(struct fault *why)
{
	struct evidence e;
	int r = evidence_judge(&e, "run.cap", &plain, why);

	verdict = e.verification.verdict;
	evidence_close(&e);
	return r;
}

static int record(struct fault *why)
{
	const struct custody_request q = {.action = CUSTODY_verified, .who = "ops", .note = "why", .path = CHAIN};
	struct identity id = sample_identity(HOST);
	struct custody_line l;

	return custody_record(&q, &capture, &id, &l, why);
}

/* The acts of an intact chain; fails for any other. */
static size_t acts(const char *path)
{
	const struct custody_subject s = custody_subject_of(&capture);
	struct custody c;
	struct fault why;
	size_t n;

	assert_int_equal(custody_read(&c, path, &s, &why), 1);
	assert_int_equal(c.state, CUSTODY_INTACT);
	n = c.nlines;
	custody_clear(&c);
	return n;
}

/* --- custody --- */

static void no_chain(void)
{
	unlink(CHAIN);
}

/* A file without a byte may be left: it is begun as one that is not there. */
static void check_begun(int r)
{
	struct stat st;

	if (r == 0)
		assert_int_equal(acts(CHAIN), 1);
	else if (stat(CHAIN, &st) == 0 && st.st_size > 0)
		assert_int_equal(acts(CHAIN), 1);
}

static void two_acts(void)
{
	put(CHAIN, bytes_before, nbefore);
}

static void check_extended(int r)
{
	size_t n = acts(CHAIN);

	/* Written, synced, and only then not closed: the act stands there, and whoever asked is told to look. */
	assert_true(n == 3 || (r < 0 && n == 2));
}

static int read_chain(struct fault *why)
{
	const struct custody_subject s = custody_subject_of(&capture);

	return custody_read(&chain, CHAIN, &s, why);
}

static void check_chain_read(int r)
{
	if (r == 1 && chain.state == CUSTODY_INTACT)
		assert_true(chain.nlines == 2 && !out_of_memory());
	else if (r == 1)
		assert_int_equal(chain.state, CUSTODY_UNCHECKED);
	custody_clear(&chain);
}

/* The second act alone. */
static void first_act_missing(void)
{
	const char *second = (const char *)memchr(bytes_before, '\n', nbefore) + 1;

	put(CHAIN, second, nbefore - (size_t)(second - bytes_before));
}

static void check_missing(int r)
{
	if (r == 1 && chain.state != CUSTODY_UNCHECKED)
		assert_int_equal(chain.state, CUSTODY_MISSING);
	custody_clear(&chain);
}

static int extend_broken(struct fault *why)
{
	return record(why);
}

static void check_not_extended(int r)
{
	const char *second = (const char *)memchr(bytes_before, '\n', nbefore) + 1;

	assert_true(r < 0);
	assert_true(holds(CHAIN, second, nbefore - (size_t)(second - bytes_before)));
}

static void no_copy(void)
{
	two_acts();
	unlink("part.cap" CUSTODY_SUFFIX);
}

static int copy_chain(struct fault *why)
{
	return custody_copy("run.cap", "part.cap", false, why);
}

static void check_copied(int r)
{
	assert_true(r == 1 ? is_there("part.cap" CUSTODY_SUFFIX) : r < 0);
	if (is_there("part.cap" CUSTODY_SUFFIX))
		assert_true(holds("part.cap" CUSTODY_SUFFIX, bytes_before, nbefore));
}

static void older_copy(void)
{
	two_acts();
	put("part.cap" CUSTODY_SUFFIX, "old", 3);
}

static int replace_chain(struct fault *why)
{
	return custody_copy("run.cap", "part.cap", true, why);
}

static void check_replaced(int r)
{
	bool is_new = holds("part.cap" CUSTODY_SUFFIX, bytes_before, nbefore);

	assert_true(is_new || (r < 0 && holds("part.cap" CUSTODY_SUFFIX, "old", 3)));
}

static const struct operation custody_operations[] = {
	{"a chain is begun", no_chain, record, check_begun, 0, 6, 2, false, false},
	{"a chain is extended", two_acts, record, check_extended, 0, 6, 3, false, true},
	{"a chain is read", two_acts, read_chain, check_chain_read, 1, 2, 2, false, false},
	{"a chain with a gap is read", first_act_missing, read_chain, check_missing, 1, 2, 3, false, false},
	{"a chain with a gap is to be extended", first_act_missing, extend_broken, check_not_extended, ERR_FORGED, 3, 4,
	 false, false},
	{"a chain is copied", no_copy, copy_chain, check_copied, 1, 7, 1, false, false},
	{"a chain replaces another", older_copy, replace_chain, check_replaced, 1, 7, 1, false, false},
};

/* --- signatures --- */

static int check_signature(struct fault *why)
{
	struct public_key pk = public_of(HOST);

	memset(&got, 0x5a, sizeof(got));
	return signature_check("file", "sig", &pk, &got, why);
}

/* Whether the signature in "sig" is whole and of "file". */
static bool is_good(void)
{
	struct fault why;

	return check_signature(&why) == 0;
}

static void unsigned_file(void)
{
	put("file", "what was recorded\n", 18);
	unlink("sig");
}

static int sign(struct fault *why)
{
	struct identity id = sample_identity(HOST);

	return signature_make("file", "sig", false, &id, NULL, "timestamp:1", why);
}

static void check_signed(int r)
{
	assert_true(r == 0 ? is_good() : !is_there("sig") || is_good());
}

static void signed_file(void)
{
	struct fault why;

	unsigned_file();
	assert_int_equal(sign(&why), 0);
}

static int sign_again(struct fault *why)
{
	struct identity id = sample_identity(HOST);

	return signature_make("file", "sig", true, &id, NULL, "timestamp:2", why);
}

static void check_signed_again(int r)
{
	assert_true(is_good()); /* the one or the other */
	assert_true(r < 0 || strcmp(got.trusted, "timestamp:2") == 0);
}

static void check_checked(int r)
{
	static struct signature untouched;

	memset(&untouched, 0x5a, sizeof(untouched));
	if (r == 0)
		assert_string_equal(got.trusted, "timestamp:1");
	else
		assert_memory_equal(&got, &untouched, sizeof(got));
}

static void altered_file(void)
{
	signed_file();
	put("file", "what was recordeD\n", 18);
}

static void check_forged(int r)
{
	assert_true(r < 0);
	check_checked(r);
}

static const struct operation signature_operations[] = {
	{"a file is signed", unsigned_file, sign, check_signed, 0, 9, 0, false, false},
	{"a signature is replaced", signed_file, sign_again, check_signed_again, 0, 9, 0, false, false},
	{"a signature is checked", signed_file, check_signature, check_checked, 0, 6, 0, false, false},
	{"a forged signature is checked", altered_file, check_signature, check_forged, ERR_FORGED, 6, 0, false, false},
};

/* --- revocations and trust --- */

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
	int r = trust_add(&pk, name, &why);

	assert_true(r == 0 || r == ERR_EXISTS);
}

static void nothing_trusted(void)
{
	assert_int_equal(system("rm -rf trust run.cap.delegation"), 0);
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

	return trust_add(&pk, "recorder", why);
}

static void check_added(int r)
{
	struct trust_list list;
	struct fault why;

	assert_int_equal(trust_list_read(&list, &why), 0);
	assert_true(list.nkeys == 1 || (r < 0 && list.nkeys == 0));
	for (size_t i = 0; i < list.nkeys; i++)
		assert_int_equal(list.keys[i].broken.code, ERR_NONE);
	trust_list_clear(&list);
}

static struct revocations two_revoked; /* in memory of its own */
static struct revocation of_two[2];

static void no_list(void)
{
	nothing_trusted();
	assert_int_equal(system("rm -f host.revocations host.revocations.minisig"), 0);
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
	{"what trust rests on is read", nothing_trusted, read_sources, check_sources, 0, 0, 2, false, false},
	{"a trusted capture is judged", trusted_host, judge, check_host_trusted, 0, 15, 8, true, false},
	{"a capture of a revoked key is judged", revoked_host, judge, check_host_revoked, 0, 20, 10, true, false},
	{"a capture of a vouched-for key is judged", delegated_host, judge, check_host_trusted, 0, 15, 8, true, false},
	{"a capture of a revoked authority is judged", revoked_authority, judge, check_host_revoked, 0, 20, 10, true,
	 false},
	{"a revocation list is written", no_list, write_revocations, check_list_written, 0, 8, 2, false, false},
	{"a revocation list is read", a_list, read_revocations, check_list_read, 0, 6, 3, false, false},
	{"a longer list replaces a shorter one", longer_list, add_revocations, check_still_revoked, 0, 20, 6, true,
	 false},
};

/* --- the loop --- */

static void no_temporary_file_in(const char *folder)
{
	DIR *d = opendir(folder);

	if (!d)
		return;
	for (struct dirent *f; (f = readdir(d));)
		if (f->d_name[0] == '.' && strcmp(f->d_name, ".") != 0 && strcmp(f->d_name, "..") != 0)
			fail_msg("%s/%s was left", folder, f->d_name);
	closedir(d);
}

/* Each fault of one sort. Returns how many there were. */
static unsigned long survive(const struct operation *op, enum sort sort)
{
	unsigned long n;
	int r;

	for (n = 1;; n++) {
		struct fault why = {0};

		op->prepare();
		tried = sort;
		arm(sort, n);
		r = op->run(&why);
		disarm();
		if (r < 0 && !why.text[0])
			fail_msg("%s: fault %lu of sort %d is not told", op->name, n, (int)sort);
		if (r != ERR_IO && atomic_load(&failed) && sort == OF_IO && !op->lenient)
			fail_msg("%s: failed call %lu ends as %d (%s)", op->name, n, r, why.text);
		if (r != ERR_IO && atomic_load(&failed) && sort == OF_SOFT && op->strict)
			fail_msg("%s: failed soft call %lu ends as %d (%s)", op->name, n, r, why.text);
		if (r < 0 && r != op->wanted && r != ERR_MEMORY && sort == OF_MEMORY && !op->lenient)
			fail_msg("%s: without memory %lu it ends as %d (%s)", op->name, n, r, why.text);
		if (r < 0 && r != op->wanted && r != ERR_IO && r != ERR_MEMORY && !op->lenient)
			fail_msg("%s: fault %lu of sort %d ends as %d (%s)", op->name, n, (int)sort, r, why.text);
		op->check(r);
		no_temporary_file_in(".");
		no_temporary_file_in("trust");
		if (!atomic_load(&failed))
			break;
	}
	if (r != op->wanted)
		fail_msg("%s: %d without a fault, should be %d", op->name, r, op->wanted);
	return n - 1;
}

static void survive_all(const struct operation *ops, size_t n)
{
	unsigned long total = 0;

	for (size_t i = 0; i < n; i++) {
		unsigned long io = survive(&ops[i], OF_IO);

		total += io + survive(&ops[i], OF_SOFT);
		if (io < ops[i].io)
			fail_msg("%s: only %lu calls could fail", ops[i].name, io);
#ifdef CAN_FAIL_MALLOC
		unsigned long memory = survive(&ops[i], OF_MEMORY);

		total += memory;
		if (memory < ops[i].memory)
			fail_msg("%s: only %lu allocations could fail", ops[i].name, memory);
#endif
	}
	print_message("# %lu faults\n", total);
}

static int make_files(void **state)
{
	struct memory_sink m = {0};
	struct fault why;

	if (make_home(state) < 0)
		return -1;
	assert_int_equal(sample_write(&m, 2, true), 0);
	put("run.cap", m.bytes.data, m.bytes.len);
	bytes_free(&m.bytes);
	assert_int_equal(evidence_judge(&capture, "run.cap", &plain, &why), 0);
	assert_true(capture.readable);
	assert_int_equal(record(&why), 0);
	assert_int_equal(record(&why), 0);
	bytes_before = get(CHAIN, &nbefore);
	return 0;
}

static int remove_files(void **state)
{
	free(bytes_before);
	evidence_close(&capture);
	return remove_home(state);
}

/* Waiting takes no time here. */
int nanosleep(const struct timespec *pause, struct timespec *left)
{
	(void)pause;
	(void)left;
	return 0;
}

static void a_chain_that_another_program_holds_is_left_alone(void **state)
{
	struct fault why;

	(void)state;
	lock_is_held = true;
	assert_int_equal(record(&why), ERR_IO);
	lock_is_held = false;
	assert_non_null(strstr(why.text, "another program holds it locked; try again"));
	assert_true(holds(CHAIN, bytes_before, nbefore));
	assert_int_equal(record(&why), 0);
	/* Who only reads waits for it, but not for ever. */
	lock_is_held = true;
	assert_int_equal(read_chain(&why), 1);
	lock_is_held = false;
	assert_int_equal(chain.state, CUSTODY_INTACT);
	custody_clear(&chain);
}

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

#define ALL(ops) survive_all(ops, sizeof(ops) / sizeof((ops)[0]))

static void whatever_fails_a_chain_of_custody_is_whole_and_never_called_broken(void **state)
{
	(void)state;
	ALL(custody_operations);
}

static void whatever_fails_a_signature_is_whole_and_never_good_by_accident(void **state)
{
	(void)state;
	ALL(signature_operations);
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
		TEST(whatever_fails_a_chain_of_custody_is_whole_and_never_called_broken),
		TEST(a_chain_that_another_program_holds_is_left_alone),
		TEST(whatever_fails_a_signature_is_whole_and_never_good_by_accident),
		TEST(a_store_that_cannot_be_listed_to_its_end_is_an_error),
		TEST(whatever_fails_nothing_is_trusted_that_was_not),
	};

	if (sodium_init() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
