/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attacks on captures: the one list, used by the tests and by the program tests/attack. Each takes a capture that is
 * authentic and makes another one of it, on which a verdict is expected.
 */
#ifndef GPUREC_TESTS_TOOLS_ATTACKS_H
#define GPUREC_TESTS_TOOLS_ATTACKS_H

#include "format/base/bytes.h"
#include "format/layout.h"
#include "format/verify.h"
#include "format/writer.h"

/* What the attacker has. The judge trusts the capture's signer and the insider's key. */
enum attacker {
	ANYONE,  /* the file */
	FORGER,  /* a key of his own, which nobody trusts */
	INSIDER, /* a key that is trusted: all hashes and seals are repaired, so that checks of form have to hold alone
		  */
	THIEF,   /* the session key that the last seal announced */
	ATTACKERS,
};

enum {
	ATTACK_SAME = -1,    /* the verdict stays that of the capture attacked: this is allowed */
	ATTACK_REFUSED = -2, /* any but OK, OK-SLICE and OK-REDACTED: depends on the place that chance picks */
};

struct remake;

/* What an attack works on, and what it makes. */
struct attempt {
	const uint8_t *bytes; /* the capture, authentic */
	size_t len;
	const uint8_t *other; /* another one of the same host; or NULL */
	size_t other_len;
	const uint8_t *stolen; /* session secret key, SECRET_KEY_BYTES; or NULL */
	uint64_t seed;         /* picks places; changed on the way */
	struct bytes out;      /* bytes_free() is the caller's */
};

struct attack {
	const char *name;
	enum attacker attacker;
	int verdict;      /* enum verdict, or ATTACK_* */
	const char *says; /* words of the fault; NULL: any */
	const char *what; /* one line for people */
	/* Fills a->out. ERR_INPUT: this capture has not what it takes. */
	int (*run)(const struct attack *self, struct attempt *a, struct fault *why);
	uint32_t where, at, width; /* for those that put a number in a place */
	uint64_t value;
	int (*change)(struct remake *m, struct attempt *a, struct fault *why); /* of attacks_on_records */
};

/* All attacks, in parts that end with a name of NULL. */
extern const struct attack attacks_on_frames[], attacks_by_thieves[], attacks_on_lengths[], attacks_on_records[];
extern const struct attack *const attack_lists[];
#define ATTACK_LISTS 4

const struct attack *attack_by_name(const char *name);

/* Run one. On an error a->out is empty. */
int attack_run(const struct attack *attack, struct attempt *a, struct fault *why);

/* The verdict expected, for a capture whose own is `base`; or ATTACK_REFUSED. */
int attack_expects(const struct attack *attack, enum verdict base);

/* The key that the insider signs with, and the session keys of his captures. */
void attack_identity(struct identity *id);
void attack_session_key(uint64_t epoch, uint8_t public_key[PUBLIC_KEY_BYTES], uint8_t secret_key[SECRET_KEY_BYTES]);

/* A number from 0 to n - 1, by the seed. */
uint64_t attack_pick(struct attempt *a, uint64_t n);

#endif
