/* SPDX-License-Identifier: Apache-2.0 */
/* How a line of text is put together for each kind of a schema: planned once, then it is copying. */
#ifndef GPUREC_REPLAY_EXPORT_TEXT_PLAN_H
#define GPUREC_REPLAY_EXPORT_TEXT_PLAN_H

#include "format/schema.h"
#include "replay/model/enum_names.h"

#define NO_FIELD 0xff

enum style {
	STYLE_UINT,
	STYLE_SINT,
	STYLE_HEX,
	STYLE_DURATION,
	STYLE_TIME,
	STYLE_TEXT,
	STYLE_NAME, /* a text that a compiler mangled */
	STYLE_THREAD,
	STYLE_ENUM,
	STYLE_STATE,
	STYLE_FLIGHT,       /* words, or nothing */
	STYLE_NESTED,       /* a word, or nothing */
	STYLE_SWITCH_FLAGS, /* likewise */
	STYLE_PROBE,
	STYLE_KIND,
	STYLE_COUNTER,
	STYLE_STATUS,
};

struct step {
	char prefix[NAME_MAX_BYTES + 4]; /* " grid=" */
	uint8_t prefix_len;
	uint8_t field;
	uint8_t style;
	bool unless_zero;              /* 0 means that there is nothing to report */
	bool less_one;                 /* the number reported is one more than what is meant */
	uint8_t known_bit;             /* of health rows: reported if this bit of `known` is set; 0: always */
	const struct enum_word *words; /* STYLE_ENUM */
	size_t nwords;
};

struct plan {
	uint8_t who;         /* field with the thread that did it, or NO_FIELD */
	bool who_is_process; /* it holds the id of a process */
	uint8_t what;        /* field with the probe, or NO_FIELD: the kind's name */
	uint8_t nsteps;
	struct step steps[FIELDS_MAX];
};

void plan_kind(struct plan *p, const struct kind *k);

/* The word for a value, NULL: there is none. */
static inline const char *step_word(const struct step *s, uint64_t value)
{
	for (size_t i = 0; i < s->nwords; i++)
		if (s->words[i].value == value)
			return s->words[i].word;
	return NULL;
}

#endif
