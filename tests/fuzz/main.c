/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a fuzz target without a fuzzer.
 *
 *	fuzz_NAME                  seeds, mutations of them, and the files of tests/fuzz/corpus/fuzz_NAME, as TAP
 *	fuzz_NAME FILE...          these files
 *	fuzz_NAME --seeds DIR      write the seeds, for libFuzzer to start from
 */
#include <dirent.h>
#include <limits.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"

#define MUTATIONS 4000
#define MUTATIONS_BYTES (64u << 20) /* of input altogether: large seeds get fewer */

struct inputs {
	struct input {
		uint8_t *bytes;
		size_t n;
	} all[64];
	unsigned n;
};

static void keep(void *arg, const uint8_t *bytes, size_t n)
{
	struct inputs *in = arg;
	uint8_t *copy = malloc(n ? n : 1);

	MUST(copy && in->n < sizeof(in->all) / sizeof(in->all[0]));
	if (n)
		memcpy(copy, bytes, n);
	in->all[in->n].bytes = copy;
	in->all[in->n++].n = n;
}

/* xorshift64*: the same mutations on every machine. */
static uint64_t next_random(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * UINT64_C(2685821657736338717);
}

/* Change, cut or repeat something; returns the new length, at most `room`. */
static size_t mutate(uint8_t *b, size_t n, size_t room, uint64_t *state)
{
	static const uint8_t edges[] = {0, 1, 0x7f, 0x80, 0xff};
	uint64_t r = next_random(state);
	size_t at = n ? (size_t)(next_random(state) % n) : 0;
	size_t len = (size_t)(r >> 8) % 16 + 1;

	if (n == 0)
		return 0;
	switch (r % 6) {
	case 0:
		b[at] ^= (uint8_t)(1u << (r >> 16) % 8);
		return n;
	case 1:
		b[at] = edges[(r >> 16) % sizeof(edges)];
		return n;
	case 2:
		memset(b + at, edges[(r >> 16) % sizeof(edges)], len > n - at ? n - at : len);
		return n;
	case 3:
		return at;
	case 4: /* take a piece out */
		len = len > n - at ? n - at : len;
		memmove(b + at, b + at + len, n - at - len);
		return n - len;
	default: /* a piece twice */
		len = len > n - at ? n - at : len;
		if (n + len > room)
			return n;
		memmove(b + at + len, b + at, n - at);
		return n + len;
	}
}

static unsigned run_mutations(const struct inputs *in)
{
	const unsigned most = &fuzz_mutations ? fuzz_mutations : MUTATIONS;
	uint64_t state = UINT64_C(0x9e3779b97f4a7c15);
	size_t spent = 0;
	unsigned i;

	for (i = 0; in->n && i < most && spent < MUTATIONS_BYTES; i++) {
		const struct input *seed = &in->all[i % in->n];
		size_t room = seed->n + 64, n = seed->n;
		uint8_t *b = malloc(room);

		MUST(b);
		memcpy(b, seed->bytes, n);
		for (uint64_t k = next_random(&state) % 4 + 1; k; k--)
			n = mutate(b, n, room, &state);
		LLVMFuzzerTestOneInput(b, n);
		spent += seed->n + 4096;
		free(b);
	}
	return i;
}

static int run_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	uint8_t *b = NULL;
	long n = -1;

	if (f && fseek(f, 0, SEEK_END) == 0 && (n = ftell(f)) >= 0 && fseek(f, 0, SEEK_SET) == 0)
		b = malloc(n ? (size_t)n : 1);
	if (!b || fread(b, 1, (size_t)n, f) != (size_t)n) {
		fprintf(stderr, "%s: cannot be read\n", path);
		n = -1;
	} else {
		LLVMFuzzerTestOneInput(b, (size_t)n);
	}
	free(b);
	if (f)
		fclose(f);
	return n < 0 ? -1 : 0;
}

/* The files of the target's corpus; returns how many could be read, or -1 when one could not. */
static int run_corpus(const char *name)
{
	char dir[PATH_MAX], path[PATH_MAX + 260];
	struct dirent **entries = NULL;
	int n, nrun = 0;

	snprintf(dir, sizeof(dir), "tests/fuzz/corpus/%s", name);
	n = scandir(dir, &entries, NULL, alphasort);
	for (int i = 0; i < n; i++) {
		if (entries[i]->d_name[0] != '.') {
			snprintf(path, sizeof(path), "%s/%s", dir, entries[i]->d_name);
			printf("# %s\n", path); /* the last one named is the one that aborts */
			fflush(stdout);
			nrun = nrun < 0 || run_file(path) < 0 ? -1 : nrun + 1;
		}
		free(entries[i]);
	}
	free(entries);
	return nrun;
}

static int write_seeds(const struct inputs *in, const char *dir)
{
	char path[PATH_MAX];

	for (unsigned i = 0; i < in->n; i++) {
		FILE *f;
		int bad;

		snprintf(path, sizeof(path), "%s/seed-%u", dir, i);
		f = fopen(path, "wb");
		bad = !f || fwrite(in->all[i].bytes, 1, in->all[i].n, f) != in->all[i].n;
		bad |= f && fclose(f) != 0;
		if (bad) {
			perror(path);
			return 1;
		}
	}
	return 0;
}

int main(int argc, char **argv)
{
	const char *name = strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : argv[0];
	struct inputs in = {.n = 0};
	int status = 0, nfiles;

	fuzz_seeds(keep, &in);
	if (argc == 3 && strcmp(argv[1], "--seeds") == 0) {
		status = write_seeds(&in, argv[2]);
	} else if (argc > 1) {
		for (int i = 1; i < argc; i++)
			status |= run_file(argv[i]) < 0;
	} else {
		for (unsigned i = 0; i < in.n; i++)
			LLVMFuzzerTestOneInput(in.all[i].bytes, in.all[i].n);
		printf("%s 1 - %s survives its %u seeds\n", in.n ? "ok" : "not ok", name, in.n);
		printf("ok 2 - %s survives %u mutations of them\n", name, run_mutations(&in));
		nfiles = run_corpus(name);
		printf("%s 3 - %s survives the %d files of its corpus\n", nfiles > 0 ? "ok" : "not ok", name, nfiles);
		printf("1..3\n");
	}
	while (in.n)
		free(in.all[--in.n].bytes);
	return status;
}
