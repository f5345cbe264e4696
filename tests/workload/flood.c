/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/workload/flood.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/workload/variants.h"

#define FLOOD_BYTES (UINT64_C(8) << 10)
#define BURST_NS (5 * MS) /* with a rate: what is due in so long is called at once */

struct flooder {
	struct worker worker;
	pthread_mutex_t *gate; /* held until all threads are there: they call side by side */
	uint64_t first, end;   /* turns */
	uint64_t turn_ns;      /* of this thread; 0: as fast as they go */
	unsigned number;
	int error; /* of a call */
};

static void *flooder_main(void *arg)
{
	struct flooder *f = arg;
	struct worker *w = &f->worker;
	char name[16];
	struct taken taken;
	uint64_t begin_ns, bursts = 0;

	snprintf(name, sizeof(name), "flood-%u", f->number);
	pthread_setname_np(pthread_self(), name);
	pthread_mutex_lock(f->gate);
	pthread_mutex_unlock(f->gate);
	begin_ns = monotonic_ns();
	for (uint64_t turn = f->first; turn < f->end && !atomic_load(&w->run->stop); turn++) {
		uint64_t burst = (turn - f->first) * f->turn_ns / BURST_NS;

		if (burst > bursts) {
			uint64_t due_ns = begin_ns + burst * BURST_NS, now_ns = monotonic_ns();

			/* What a busy machine did not let us do is not made up for: that would be another rate. */
			if (now_ns > due_ns + SECOND)
				begin_ns += now_ns - due_ns;
			else
				sleep_until_ns(due_ns);
			bursts = burst;
		}
		f->error |= variant_alloc(w, turn, FLOOD_BYTES, &taken);
		f->error |= variant_launch(w, turn);
		f->error |= variant_copy(w, turn);
		f->error |= variant_set(w, turn);
		f->error |= variant_wait(w, turn);
		f->error |= variant_free(w, turn, &taken);
	}
	return NULL;
}

int flood(struct run *run, uint64_t ncalls, uint64_t rate, unsigned nthreads)
{
	struct flooder *all = calloc(nthreads, sizeof(*all));
	pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
	unsigned started = 0;
	int error = 0;

	if (!all)
		return ENOMEM;
	run->api.set_cost_ns(0, 0);
	pthread_mutex_lock(&gate);
	for (; started < nthreads && !error; started++) {
		struct flooder *f = &all[started];

		f->worker.run = run;
		f->gate = &gate;
		f->number = started;
		f->first = ncalls * started / nthreads;
		f->end = ncalls * (started + 1) / nthreads;
		f->turn_ns = rate ? SECOND * nthreads / rate : 0;
		error = pthread_create(&f->worker.thread, NULL, flooder_main, f);
	}
	pthread_mutex_unlock(&gate);
	if (error)
		started--;
	for (unsigned i = 0; i < started; i++) {
		pthread_join(all[i].worker.thread, NULL);
		tally_add(run->tally, all[i].worker.tally);
		if (all[i].error && !error)
			error = EPROTO;
	}
	free(all);
	return error;
}
