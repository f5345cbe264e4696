// SPDX-License-Identifier: Apache-2.0
#include "analyze/stats/top_threads.h"

void roster_add_times(struct roster *r, const struct who *who, uint64_t ns, uint64_t count)
{
	unsigned i = 0;

	if (who->tid == TID_IDLE || who->tid == TID_NONE)
		return;
	while (i < r->n && r->who[i].tid != who->tid)
		i++;
	if (i == NAMED_MAX) {
		r->more = true;
		return;
	}
	if (i == r->n) {
		r->who[i] = *who;
		r->n++;
	}
	r->ns[i] += ns;
	r->count[i] += count;
}

void roster_add(struct roster *r, const struct who *who, uint64_t ns)
{
	roster_add_times(r, who, ns, 1);
}

void roster_join(struct roster *r, const struct roster *from)
{
	for (unsigned i = 0; i < from->n; i++)
		roster_add_times(r, &from->who[i], from->ns[i], from->count[i]);
	r->more |= from->more;
}

void roster_add_tid(struct roster *r, const struct explained *e, uint32_t tid, uint64_t ns)
{
	const struct who *who = explained_who(e, tid);

	if (who)
		roster_add(r, who, ns);
}

void roster_add_thread(struct roster *r, const struct names *names, uint64_t tid, uint64_t ns)
{
	struct who who;

	names_who(names, tid, &who);
	roster_add(r, &who, ns);
}

const struct who *roster_first(const struct roster *r)
{
	unsigned best = 0;

	for (unsigned i = 1; i < r->n; i++)
		if (r->ns[i] > r->ns[best])
			best = i;
	return r->n ? &r->who[best] : NULL;
}

uint64_t roster_only(const struct roster *r)
{
	return r->n == 1 && !r->more ? r->who[0].tid : 0;
}

void roster_give(const struct roster *r, enum part_played part, struct finding *f)
{
	unsigned first = f->nparties;

	for (unsigned i = 0; i < r->n && f->nparties < PARTIES_MAX; i++) {
		unsigned k = f->nparties++;

		for (; k > first && f->parties[k - 1].ns < r->ns[i]; k--)
			f->parties[k] = f->parties[k - 1];
		f->parties[k] = (struct party){part, r->who[i], r->count[i], r->ns[i]};
	}
}
