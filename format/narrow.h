/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A narrower capture that still verifies: chunks are withheld, their commitments, the seals, losses and END stay.
 * Needs no key.
 */
#ifndef GPUREC_FORMAT_NARROW_H
#define GPUREC_FORMAT_NARROW_H

#include "format/writer.h"

struct narrowing {
	uint32_t classes;        /* bit CLASS_x: withhold all chunks of that class */
	uint64_t from_ns, to_ns; /* keep only event chunks that reach into [from, to), boot clock; all: 0, UINT64_MAX */
	/* Keep only chunks of these processes, and of none; NULL: all. Only of a capture with FEATURE_PARTS. */
	const uint32_t *parts;
	size_t nparts;
};

/* Whether it takes this chunk away; of one that is gone already: whether it would have. */
bool narrowing_withholds(const struct narrowing *n, const struct chunk *c);

/*
 * Copy the capture to `sink` but for what is withheld. What the reader could not read (a cut or broken tail) is not
 * copied: the copy ends after the last whole epoch. Takes `sink` over, also on failure, when what has been written
 * is worthless and the caller removes it. *nwithheld: chunks withheld by this call.
 */
int narrow(const struct reader *r, const struct narrowing *n, struct sink sink, uint64_t *nwithheld, struct fault *why);

#endif
