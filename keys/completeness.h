/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much of what happened is in a capture, from its authentic seals. Whether it may be called complete is decided
 * here and nowhere else: gpuverify, the reports and comparisons all ask this.
 */
#ifndef GPUREC_KEYS_COMPLETENESS_H
#define GPUREC_KEYS_COMPLETENESS_H

#include "keys/evidence.h"

/* Why an event that happened has no row. */
enum absence {
	ABSENCE_NONE,         /* the counter is not of that role */
	ABSENCE_LOST,         /* it should have been recorded */
	ABSENCE_LEFT_OUT,     /* on purpose: --sample, --max-rate */
	ABSENCE_NOT_ATTACHED, /* a library had no probes, or not all, for a while: how many calls it had nobody knows */
	/* Calls without a recorded begin or end. Every host has some; they are no loss: */
	ABSENCE_IN_FLIGHT, /* when recording began or ended */
	ABSENCE_NO_RETURN, /* entered, and left in another way */
};

#define ABSENCES (ABSENCE_NO_RETURN + 1)

/* What each is called: in lines for people; as a name; and as the kind of a line in a stream, in which rows have kinds.
 */
extern const struct absence_word {
	const char *head, *name, *kind;
} absence_words[ABSENCES]; /* NONE: what a recorded event lacks */

struct completeness {
	uint64_t happened;             /* events that the probes saw; the others are parts of it */
	uint64_t lost, left_out, open; /* open: in flight, or left without a return */
	uint64_t not_attached;         /* libraries, each time that a process mapped one */
	uint64_t nwithheld;            /* chunks */
	bool ended;                    /* an authentic END is there */
};

/* Of a counter that counts losses, by its number; one of a later version is a loss. */
enum absence absence_of_loss(uint8_t counter);

/* Of any counter. */
enum absence absence_of(const struct schema *schema, uint8_t counter);

/* Zero for a capture of which nothing is authentic. */
void completeness_of(struct completeness *c, const struct evidence *e);

/* What was lost, left out on purpose and not attached, together. */
uint64_t completeness_absent(const struct completeness *c);

/* Nothing was lost, left out or withheld, each library had its probes, and the end is there. */
bool completeness_is_full(const struct completeness *c);

#define COMPLETENESS_WORDS 256

/*
 * "1922 of 2675 events (71.9 %) were lost", "3 of 20 events (15.0 %) were left out on purpose", "2 libraries had no
 * probes, or not all, for a while", or what of these is so, with commas; "" for none. Returns `buf`, of
 * COMPLETENESS_WORDS bytes.
 */
char *completeness_words(char *buf, const struct completeness *c);
/* The same of a capture. */
char *completeness_missing(char *buf, const struct evidence *e);

/*
 * Where reading with --unverified stopped: *why, which says what is wrong, then begins with how many events were read,
 * "12 of 30 events were read: the capture is damaged at byte 4711 (...)". The whole is what the seals claim. `nread`:
 * cursor_npassed().
 */
void unread_words(struct fault *why, const struct reader *r, uint64_t nread);

/* How many events may be missing: a number, or a share of all that happened. */
struct loss_limit {
	bool is_share;
	uint64_t most; /* events, or millionths */
};

/* "0", "100", "1%", "0.25%". 0 or ERR_INPUT with a sentence. */
int loss_limit_parse(struct loss_limit *l, const char *text, struct fault *why);

/* Whether what was lost, left out on purpose and not attached, together, is within the limit. */
bool completeness_within(const struct completeness *c, const struct loss_limit *l);

#endif
