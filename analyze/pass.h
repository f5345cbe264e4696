/* SPDX-License-Identifier: Apache-2.0 */
/* One capture through the engine and all rules. */
#ifndef GPUREC_ANALYZE_PASS_H
#define GPUREC_ANALYZE_PASS_H

#include "analyze/at.h"
#include "analyze/engine.h"
#include "analyze/facts/gpu_gauges.h"
#include "analyze/facts/handover.h"
#include "analyze/user_rules.h"
#include "keys/evidence.h"

struct pass_options {
	const struct evidence_options *evidence;
	const struct settings *settings;
	struct user_rules *rules;
	void (*progress)(uint64_t epoch, uint64_t nepochs); /* NULL, or called as the pass comes to each */
	struct at *at;                                      /* NULL, or the moment to explain, too */
};

/* What is made of one capture. A zeroed one is empty. */
struct pass {
	struct engine *engine;
	struct findings findings;
	struct gauges gauges;
	struct handover custody;
	/* Where events that were read unverified end before the capture does. */
	bool stopped;
	uint64_t last_ns; /* of the last event that could be read; the start if there is none */
	struct fault stop;
};

/*
 * `evidence` is acceptable, was judged by o->evidence, and stays where it is. 0, also where the events end early
 * (`stopped`, only unverified); else an error: ERR_INPUT is a rule of the user's. pass_clear() in any case.
 */
int pass_run(struct pass *p, const char *path, const struct evidence *evidence, const struct pass_options *o,
	     struct fault *why);
void pass_clear(struct pass *p);

#endif
