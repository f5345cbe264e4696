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

/* Why a thread left its CPU, from the kernel's state bits: "preempted", "sleeping", ... */
const char *state_word(uint64_t state);

#endif
