/* SPDX-License-Identifier: Apache-2.0 */
/* How long the key of an epoch is in memory: until the epoch is sealed, not until the disk has it, which may take long.
 */
#include "tests/unit/sample.h"

#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <sys/uio.h>
#include <unistd.h>

#include "format/layout.h"

#define PART (1u << 16)
#define REGION_MAX (64ull << 20) /* larger ones are a sanitizer's */

static uint8_t first_key[PUBLIC_KEY_BYTES];
static int have_header, syncs, found_at_sync;

/* Whether the secret key of `public` begins anywhere in buf: its seed, and the public key behind it. */
static bool holds_secret(const uint8_t *buf, size_t n)
{
	uint8_t key[PUBLIC_KEY_BYTES], secret[SECRET_KEY_BYTES];
	const uint8_t *at = buf, *end = buf + n;
	bool same = false;

	while (!same && (at = memmem(at, (size_t)(end - at), first_key, sizeof(first_key)))) {
		if (at - buf >= PUBLIC_KEY_BYTES) {
			crypto_sign_seed_keypair(key, secret, at - PUBLIC_KEY_BYTES);
			same = memcmp(key, first_key, sizeof(key)) == 0;
		}
		at++;
	}
	sodium_memzero(secret, sizeof(secret));
	return same;
}

static bool region_holds(uint64_t start, uint64_t end)
{
	static uint8_t part[PART + 2 * PUBLIC_KEY_BYTES];
	bool found = false;

	for (uint64_t at = start; at < end && !found; at += PART) {
		size_t n = end - at < sizeof(part) ? (size_t)(end - at) : sizeof(part);
		struct iovec here = {part, n}, there = {(void *)(uintptr_t)at, n}; /* NOLINT */
		ssize_t got = process_vm_readv(getpid(), &here, 1, &there, 1, 0);

		found = got > 0 && holds_secret(part, (size_t)got);
	}
	sodium_memzero(part, sizeof(part));
	return found;
}

static bool memory_holds_the_key(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	unsigned long start, end;
	char line[512], prot[8];
	bool found = false;

	assert_non_null(maps);
	while (!found && fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%lx %7s", &start, &end, prot) == 3 && prot[0] == 'r' && prot[1] == 'w' &&
		    end - start <= REGION_MAX)
			found = region_holds(start, end);
	fclose(maps);
	return found;
}

static int take(void *self, const void *buf, size_t n, struct fault *why)
{
	const size_t at = EMPTY_FRAME_BYTES + FRAME_HEAD_BYTES + HEADER_AT_FIRST_KEY;

	(void)self, (void)why;
	assert_true(have_header || n >= at + sizeof(first_key));
	if (!have_header++)
		memcpy(first_key, (const uint8_t *)buf + at, sizeof(first_key));
	return 0;
}

static int slow_sync(void *self, struct fault *why)
{
	(void)self, (void)why;
	found_at_sync = memory_holds_the_key();
	syncs++;
	return 0;
}

static void nothing(void *self)
{
	(void)self;
}

static void the_key_of_an_epoch_is_gone_before_its_seal_is_written(void **state)
{
	struct identity id = sample_identity(1);
	struct clock_anchor a = sample_anchor(SAMPLE_BOOT);
	struct self_stats self = {0};
	struct writer *w;
	struct fault why;

	(void)state;
	assert_int_equal(writer_open(&w, (struct sink){take, slow_sync, nothing, NULL}, &id, sample_probes,
				     SAMPLE_NPROBES, &a, &why),
			 0);
	assert_true(memory_holds_the_key()); /* a control: the epoch is open */
	a = sample_anchor(SAMPLE_BOOT + 1000);
	assert_int_equal(writer_seal(w, SAMPLE_BOOT + 1000, &a, &self, NULL, 0, &why), 0);
	assert_true(syncs > 0);
	assert_false(found_at_sync);
	assert_false(memory_holds_the_key());
	writer_close(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_key_of_an_epoch_is_gone_before_its_seal_is_written),
	};

	if (sodium_init() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
