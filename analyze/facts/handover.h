/* SPDX-License-Identifier: Apache-2.0 */
/* The chain of custody that lies beside a capture, with whether those who signed it are trusted here: for reports. */
#ifndef GPUREC_ANALYZE_FACTS_HANDOVER_H
#define GPUREC_ANALYZE_FACTS_HANDOVER_H

#include "keys/custody.h"

/* A zeroed one is empty. */
struct handover {
	bool there; /* a chain lies beside the capture */
	struct custody chain;
	struct trust_answer *trust; /* owned; of each line of an intact chain; else NULL */
};

/* 0, also when there is none; ERR_IO, ERR_DENIED, ERR_KEY, ERR_MEMORY. The caller clears in every case. */
int handover_read(struct handover *h, const char *capture, const struct evidence *e, const struct evidence_options *o,
		  struct fault *why);
void handover_clear(struct handover *h);

#endif
