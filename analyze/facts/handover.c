// SPDX-License-Identifier: Apache-2.0
#include "analyze/facts/handover.h"

#include <stdlib.h>
#include <string.h>

#define NS_PER_SECOND 1000000000
#define TIME_MAX_S (INT64_MAX / NS_PER_SECOND)

static int ask_trust(struct handover *h, const char *capture, const struct evidence_options *o, struct fault *why)
{
	struct trust_sources sources;
	int r = trust_sources_read(&sources, o->trust_files, o->ntrust_files, o->delegation_files, o->ndelegation_files,
				   capture, why);

	h->trust = calloc(h->chain.nlines + 1, sizeof(*h->trust));
	if (r == 0 && !h->trust)
		r = fault_no_memory(why);
	for (size_t i = 0; r == 0 && i < h->chain.nlines; i++) {
		const struct custody_line *l = &h->chain.lines[i];
		int64_t at_s = l->time_s < 0 ? 0 : l->time_s < TIME_MAX_S ? l->time_s : TIME_MAX_S;

		r = trust_ask(&sources, &l->key, ROLE_CUSTODY, (uint64_t)at_s * NS_PER_SECOND,
			      (uint64_t)at_s * NS_PER_SECOND, &h->trust[i], why);
	}
	trust_sources_clear(&sources);
	return r;
}

int handover_read(struct handover *h, const char *capture, const struct evidence *e, const struct evidence_options *o,
		  struct fault *why)
{
	const struct custody_subject subject = custody_subject_of(e);
	char path[PATH_MAX];
	int r = custody_path(path, capture, why);

	if (r == 0)
		r = custody_read(&h->chain, path, &subject, why);
	h->there = r > 0;
	if (r > 0)
		r = h->chain.state == CUSTODY_INTACT ? ask_trust(h, capture, o, why) : 0;
	return r;
}

void handover_clear(struct handover *h)
{
	custody_clear(&h->chain);
	free(h->trust);
	memset(h, 0, sizeof(*h));
}
