/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A capture taken apart, to be changed anywhere and put together again with all commitments, hashes and signatures
 * repaired: by attack_identity() and attack_session_key(), unless asked otherwise.
 */
#ifndef GPUREC_TESTS_TOOLS_ATTACKS_REMAKE_H
#define GPUREC_TESTS_TOOLS_ATTACKS_REMAKE_H

#include "format/chunk.h"
#include "format/crypt.h"
#include "format/pack.h"
#include "format/frames.h"
#include "tests/tools/attacks.h"

enum remake_part { PART_NONE, PART_HEADER, PART_SEAL, PART_END };

struct remake {
	struct header header;
	struct epoch *epochs;
	uint64_t nepochs;
	struct bytes **frames; /* by epoch and chunk: its LZ4 frame; empty if withheld */
	struct end end;
	bool has_end;
	bool stranger;      /* signed by a key that nobody trusts, and session keys of its own */
	bool keep_identity; /* the header names the true identity, whoever signs */
	bool keep_header;   /* the header stays, byte by byte, with its session key */
	/* A number put into a payload after it was encoded and before it is hashed and signed. */
	struct {
		enum remake_part part;
		uint64_t epoch;
		uint32_t at, width;
		uint64_t value;
	} patch;
	struct bytes original; /* header frame and what stands before it */
};

/* ERR_INPUT for what is no whole capture. remake_clear() also after an error. */
int remake_load(struct remake *m, const uint8_t *bytes, size_t len, struct fault *why);
void remake_clear(struct remake *m);

/* All bytes anew. */
int remake_write(struct remake *m, struct bytes *out, struct fault *why);

/* A chunk's raw content, and new content for it: packed, committed to, its raw and packed bytes set. */
int remake_raw(const struct remake *m, uint64_t epoch, uint32_t chunk, struct bytes *raw, struct fault *why);
int remake_set_raw(struct remake *m, uint64_t epoch, uint32_t chunk, const struct bytes *raw, struct fault *why);
/* A frame as it is: committed to, packed bytes set. Takes *frame over. */
void remake_set_frame(struct remake *m, uint64_t epoch, uint32_t chunk, struct bytes *frame);

/* One more chunk behind those of an epoch, zeroed; NULL without memory. */
struct chunk *remake_add_chunk(struct remake *m, uint64_t epoch);
/* n more rows of a kind in an epoch's counts and in END's. */
int remake_add_count(struct remake *m, uint64_t epoch, uint16_t kind, uint64_t n);

/* A chunk that is there, of the class (0: any), by the attempt's seed. ERR_INPUT if there is none. */
int remake_pick(const struct remake *m, struct attempt *a, uint8_t class, uint64_t *epoch, uint32_t *chunk,
		struct fault *why);

#endif
