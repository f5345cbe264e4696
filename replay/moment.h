/* SPDX-License-Identifier: Apache-2.0 */
/* A moment that a person names: --from, --to. */
#ifndef GPUREC_REPLAY_MOMENT_H
#define GPUREC_REPLAY_MOMENT_H

#include "format/reader.h"

enum moment_clock { MOMENT_BOOT, MOMENT_RELATIVE, MOMENT_WALL };

struct moment {
	bool given;
	enum moment_clock clock;
	uint64_t ns; /* on the boot clock; since recording began; since 1970, UTC */
};

/*
 * "12s", "250ms" after the start; nanoseconds on the boot clock; or as text shows times: +12.345678901,
 * 500.020000000, 2026-09-21T14:13:20.02Z. ERR_INPUT.
 */
int moment_parse(struct moment *m, const char *text, struct fault *why);

/*
 * On the boot clock of a capture; UINT64_MAX if it is later than that can tell. Where the wall clock was set back, the
 * first moment at which it showed this time; where it was set forward over it, the step.
 */
uint64_t moment_boot_ns(const struct moment *m, const struct reader *r);

#endif
