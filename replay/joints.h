/* SPDX-License-Identifier: Apache-2.0 */
/* Captures of one recording that was rotated: whether each begins where the one that it names has ended. */
#ifndef GPUREC_REPLAY_JOINTS_H
#define GPUREC_REPLAY_JOINTS_H

#include <stdio.h>

#include "keys/evidence.h"

struct joints {
	struct jointed *files;
	size_t n;
};

/* Note a capture that was judged; of one that is not authentic, nothing. 0 or ERR_MEMORY. */
int joints_add(struct joints *j, const char *path, const struct evidence *e, struct fault *why);
void joints_clear(struct joints *j);

/*
 * A line, or with `json` an object on a line, for each joint between two of them, and for each end that hangs in the
 * air; nothing when none continues another. `brief`: only what does not fit. Returns how many joints do not fit.
 */
size_t joints_print(FILE *f, const struct joints *j, bool json, bool brief);

#endif
