// SPDX-License-Identifier: Apache-2.0
#include "analyze/facts/disk_waits.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/facts/latest.h"

struct total {
	struct table_key key; /* a: tid */
	struct disk_use use;
	uint64_t held_since_ns; /* 0: it does not sleep for that */
};

/* NULL: there are too many, or there is no memory, which *why has then. */
static struct total *total_of(struct disk_waits *d, uint32_t tid, struct fault *why)
{
	struct total *total = table_find(&d->totals, tid, 0);

	if (total || d->totals.nitems == DISK_THREADS_MAX)
		return total;
	total = table_add(&d->totals, tid, 0, sizeof(*total));
	if (!total)
		(void)fault_no_memory(why);
	return total;
}

static void add(struct disk_use *use, const struct disk_wait *w)
{
	if (use->requests && use->longest.device != w->device)
		use->more = true;
	use->reads = (use->reads || use->requests == 0) && w->operation == DISK_READ;
	if (use->requests == 0 || w->dur_ns > use->longest.dur_ns)
		use->longest = *w;
	use->requests++;
	use->bytes += w->bytes;
	use->dur_ns += w->dur_ns;
	use->service_ns += w->service_ns;
	use->timed_ns += w->service_ns ? w->dur_ns : 0;
	use->failed += w->failed;
}

static const struct disk_name *name_of(const struct disk_waits *d, uint32_t device)
{
	for (unsigned i = 0; i < d->nnames; i++)
		if (d->names[i].device == device)
			return &d->names[i];
	return NULL;
}

static void feed_name(struct disk_waits *d, const struct event *ev)
{
	uint32_t device = (uint32_t)ev->v[F_disk_device_number];
	uint64_t nbytes = ev->v[F_disk_device_name];
	struct disk_name *name = &d->names[d->nnames];

	if (d->nnames == DISK_NAMES_MAX || name_of(d, device) || !ev->text[F_disk_device_name])
		return;
	name->device = device;
	name->nbytes = (uint8_t)(nbytes < DISK_NAME_BYTES ? nbytes : DISK_NAME_BYTES);
	memcpy(name->s, ev->text[F_disk_device_name], name->nbytes);
	d->nnames++;
}

int disk_waits_feed(struct disk_waits *d, const struct event *ev, struct fault *why)
{
	struct total *total;
	struct disk_wait *w;

	if (ev->kind == KIND_disk_device) {
		feed_name(d, ev);
		return 0;
	}
	if (ev->v[F_disk_operation] == DISK_SWAP_IN) /* that is want of memory */
		return 0;
	if (!d->all)
		d->all = calloc(DISK_WAITS_MAX, sizeof(*d->all));
	if (!d->all)
		return fault_no_memory(why);
	w = &d->all[d->n++ % DISK_WAITS_MAX];
	*w = (struct disk_wait){
		.at_ns = ev->at_ns,
		.dur_ns = ev->v[F_disk_dur],
		.service_ns = ev->v[F_disk_service],
		.bytes = ev->v[F_disk_bytes],
		.tid = (uint32_t)ev->v[F_disk_tid],
		.operation = (uint8_t)(ev->v[F_disk_operation] < UINT8_MAX ? ev->v[F_disk_operation] : UINT8_MAX),
		.failed = ev->v[F_disk_error] != 0,
		.device = (uint32_t)ev->v[F_disk_device],
	};
	total = total_of(d, w->tid, why);
	if (total)
		add(&total->use, w);
	return total || d->totals.nitems == DISK_THREADS_MAX ? 0 : ERR_MEMORY;
}

int disk_waits_hold(struct disk_waits *d, const uint64_t *v, struct fault *why)
{
	struct total *next = d->nheld ? table_find(&d->totals, (uint32_t)v[F_switch_next_tid], 0) : NULL, *prev;

	if (next && next->held_since_ns) {
		next->use.held_ns += v[F_switch_at] - next->held_since_ns;
		next->held_since_ns = 0;
		d->nheld--;
	}
	if (!(v[F_switch_prev_flags] & SWITCH_WRITES))
		return 0;
	prev = total_of(d, (uint32_t)v[F_switch_prev_tid], why);
	if (!prev)
		return d->totals.nitems == DISK_THREADS_MAX ? 0 : ERR_MEMORY;
	d->nheld += prev->held_since_ns == 0;
	prev->held_since_ns = v[F_switch_at];
	return 0;
}

void disk_waits_clear(struct disk_waits *d)
{
	free(d->all);
	table_clear(&d->totals);
	*d = (struct disk_waits){0};
}

void disk_waits_sum(const struct disk_waits *d, uint32_t tid, uint64_t begin_ns, uint64_t end_ns, struct disk_use *use)
{
	uint64_t i = latest_since(d->all, sizeof(*d->all), DISK_WAITS_MAX, d->n, begin_ns);

	memset(use, 0, sizeof(*use));
	for (; i < d->n && d->all[i % DISK_WAITS_MAX].at_ns <= end_ns; i++)
		if (d->all[i % DISK_WAITS_MAX].tid == tid)
			add(use, &d->all[i % DISK_WAITS_MAX]);
	use->name = name_of(d, use->longest.device);
}

void disk_waits_total(const struct disk_waits *d, uint32_t tid, struct disk_use *use)
{
	const struct total *total = d->totals.nitems ? table_find(&d->totals, tid, 0) : NULL;

	*use = total ? total->use : (struct disk_use){0};
	use->name = name_of(d, use->longest.device);
}
