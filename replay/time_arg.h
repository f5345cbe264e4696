/* SPDX-License-Identifier: Apache-2.0 */
/* A moment that a person names: --from, --to. */
#ifndef GPUREC_REPLAY_TIME_ARG_H
#define GPUREC_REPLAY_TIME_ARG_H

#include "format/reader.h"

enum moment_clock { MOMENT_BOOT, MOMENT_RELATIVE, MOMENT_WALL };

struct moment {
	bool given;
	enum moment_clock clock;
	uint64_t ns; /* on the boot clock; since recording began; since 1970, UTC */
};

/*
 * After the start of recording: "12s", "250ms", "1.4s", "+12.345678901", "+1.454806 s", "00:01.4", "1:02:03". On the
 * wall clock, UTC or with an offset: "2026-09-21T14:13:20.02Z", "2026-09-21 14:13:20 UTC", "2026-09-21T16:13:20+02:00".
 * On the boot clock: seconds with nine decimals, "500.020000000", as text shows them, or nanoseconds with ten digits or
 * more, as SQL and JSON do. A shorter bare number could be anything, and is refused. ERR_INPUT.
 */
int moment_parse(struct moment *m, const char *text, struct fault *why);

/*
 * On the boot clock of a capture; UINT64_MAX if it is later than that can show. Where the wall clock was set back, the
 * first moment at which it showed this time; where it was set forward over it, the step.
 */
uint64_t moment_boot_ns(const struct moment *m, const struct reader *r);

#endif
