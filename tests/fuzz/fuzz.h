/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fuzz target is one fuzz_NAME.c with these two functions. `make fuzz` links it with libFuzzer; `make test` with
 * main.c, which runs it over its seeds, over mutations of them, and over what was found (corpus/fuzz_NAME/).
 *
 * A target asserts what must hold for any bytes: nothing here may be compiled out.
 */
#ifndef GPUREC_TESTS_FUZZ_H
#define GPUREC_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

/* Calls `give` for inputs to start from; their number is returned. */
unsigned fuzz_seeds(void (*give)(void *arg, const uint8_t *bytes, size_t n), void *arg);

/* How many mutations `make test` tries; a target whose inputs take long has it smaller than main.c. */
extern const unsigned fuzz_mutations __attribute__((weak));

#define MUST(what)                                                                                                     \
	do {                                                                                                           \
		if (!(what)) {                                                                                         \
			fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #what);                      \
			abort();                                                                                       \
		}                                                                                                      \
	} while (0)

#endif
