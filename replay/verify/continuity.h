/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Captures of one recording that was rotated: whether each begins where the one that it names has ended, and whether
 * one is missing.
 */
#ifndef GPUREC_REPLAY_VERIFY_CONTINUITY_H
#define GPUREC_REPLAY_VERIFY_CONTINUITY_H

#include <stdbool.h>

#include "format/base/text.h"
#include "keys/evidence.h"

struct joints {
	struct jointed *files;
	size_t n;
};

/* Note a capture that was judged; of one that is not authentic, nothing. 0 or ERR_MEMORY. */
int joints_add(struct joints *j, const char *path, const struct evidence *e, struct fault *why);
void joints_clear(struct joints *j);

struct joints_options {
	bool json;
	bool brief; /* only what does not fit, */
	bool open;  /* and also what is missing */
	const uint8_t
		*after; /* the hash of a last seal or END: what continues that capture has it missing rightly; NULL */
};

struct joints_result {
	size_t nwrong;   /* joints that do not fit */
	size_t nmissing; /* places at which one or more captures are missing */
};

/*
 * A line, or with `json` an object on a line, for each joint between two of them, and for each place at which captures
 * are missing: by number where they say which one of a series they are. Nothing when none continues another.
 */
struct joints_result joints_text(struct text *t, const struct joints *j, const struct joints_options *o);

#endif
