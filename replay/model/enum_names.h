/* SPDX-License-Identifier: Apache-2.0 */
/* What numbers in events mean, in a word. */
#ifndef GPUREC_REPLAY_MODEL_ENUM_NAMES_H
#define GPUREC_REPLAY_MODEL_ENUM_NAMES_H

#include <stddef.h>
#include <stdint.h>

struct enum_word {
	uint16_t kind;
	uint8_t field; /* F_... */
	uint64_t value;
	const char *word;
};

/* All of them, grouped by kind and field. */
const struct enum_word *enum_words(size_t *n);

/* NULL: no word for it. */
const char *enum_word(uint16_t kind, uint8_t field, uint64_t value);

/*
 * What a wait(2) status says: "exit status 1", "killed by SIGKILL", "killed by SIGSEGV, core dumped". Returns `buf`, of
 * STATUS_WORDS bytes.
 */
#define STATUS_WORDS 48
char *status_words(char *buf, uint64_t status);

/* Why a thread left its CPU, from the kernel's state bits: "preempted", "sleeping", ... */
const char *state_word(uint64_t state);

#endif
