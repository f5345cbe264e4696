/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests of what keys/ does when the nth call of a sort fails, for every n: a list of operations, and the loop that
 * tries each with every fault. Included by one file of a program, as faults.h is.
 */
#ifndef GPUREC_TESTS_SURVIVE_H
#define GPUREC_TESTS_SURVIVE_H

#include "tests/unit/faults.h"
#include "tests/unit/home.h"
#include "tests/unit/sample.h"

#include <time.h>

#include "keys/custody.h"
#include "keys/files.h"
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
	bool strict;              /* a failed lock or close is reported, too */
};

static const struct evidence_options plain = {.nthreads = 1};
static struct evidence capture; /* run.cap, judged */
static enum verdict verdict;    /* as run() judged */
static enum sort tried;         /* the sort of fault */
static char *bytes_before;
static size_t nbefore;

static inline void put(const char *path, const void *bytes, size_t len)
{
	struct fault why;

	assert_int_equal(file_make(path, 0644, true, bytes, len, &why), 0);
}

static inline char *get(const char *path, size_t *len)
{
	char *bytes = malloc(1 << 20);
	struct fault why;

	assert_non_null(bytes);
	assert_int_equal(file_read(path, FILE_PUBLIC, bytes, 1 << 20, len, &why), 0);
	return bytes;
}

/* Where nothing can do without memory (qsort() can), all cannot be well when some was refused. */
static inline bool out_of_memory(void)
{
	return tried == OF_MEMORY && atomic_load(&failed);
}

/* Whether the file holds exactly these bytes. */
static inline bool holds(const char *path, const char *bytes, size_t n)
{
	size_t len;
	char *have = get(path, &len);
	bool same = len == n && memcmp(have, bytes, n) == 0;

	free(have);
	return same;
}

static inline bool is_there(const char *path)
{
	return access(path, F_OK) == 0;
}

static inline struct public_key public_of(uint8_t seed)
{
	struct identity id = sample_identity(seed);
	struct public_key pk;

	key_of_identity(&pk, &id);
	return pk;
}

static inline int judge(struct fault *why)
{
	struct evidence e;
	int r = evidence_judge(&e, "run.cap", &plain, why);

	verdict = e.verification.verdict;
	evidence_close(&e);
	return r;
}

static inline int record(struct fault *why)
{
	const struct custody_request q = {.action = CUSTODY_verified, .who = "ops", .note = "why", .path = CHAIN};
	struct identity id = sample_identity(HOST);
	struct custody_line l;

	return custody_record(&q, &capture, &id, &l, why);
}

/* The acts of an intact chain; fails for any other. */
static inline size_t acts(const char *path)
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

static inline void no_temporary_file_in(const char *folder)
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
static inline unsigned long survive(const struct operation *op, enum sort sort)
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

static inline void survive_all(const struct operation *ops, size_t n)
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

static inline int make_files(void **state)
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

static inline int remove_files(void **state)
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

#define ALL(ops) survive_all(ops, sizeof(ops) / sizeof((ops)[0]))

#endif
