/* SPDX-License-Identifier: Apache-2.0 */
/*
 * every [N]: calls each function of the probe table N times (3), once inside a thread that ends, and prints name and
 * count, a line each. All arguments point to readable memory, the first word of which points to a name.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int function(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
		     uint64_t, uint64_t, uint64_t);

#define DECLARE(name) int name(void);
#define ONE(id, name, ...) DECLARE(name)
#define TWO(id, name, suffix, ...) DECLARE(name) DECLARE(name##suffix)
#define EVERY_RUNTIME
#define EVERY_DRIVER
#define EVERY_NCCL
#include "tests/workload/every.h"
#undef ONE
#undef TWO

static const struct {
	const char *name;
	int (*call)(void);
} functions[] = {
#define ENTRY(name) {#name, name},
#define ONE(id, name, ...) ENTRY(name)
#define TWO(id, name, suffix, ...) ENTRY(name) ENTRY(name##suffix)
#include "tests/workload/every.h"
};

static uint64_t words[64];

static void *call_all(void *unused)
{
	uint64_t at = (uint64_t)(uintptr_t)words;

	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		function *f = (function *)(void (*)(void))functions[i].call;

		f(at, at, at, at, at, at, at, at, at, at, at, at, at);
	}
	return unused;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 3;
	pthread_t thread;

	memcpy(&words[32], "a_name", sizeof("a_name")); /* not a constant: its page might not be in memory yet */
	words[0] = (uint64_t)(uintptr_t)&words[32];
	for (int i = 1; i < n; i++)
		call_all(NULL);
	if (n > 0 && pthread_create(&thread, NULL, call_all, NULL) == 0)
		pthread_join(thread, NULL);
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
		printf("%s %d\n", functions[i].name, n);
	return 0;
}
