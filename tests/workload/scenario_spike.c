/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A launch that takes long because it computes: no sleep, no lock, only CPU time inside the call,
 * now and then among hundreds of quick ones.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "tests/workload/json.h"
#include "tests/workload/worker.h"

#define SPIKE_MIN_NS (7 * MS)
#define SPIKE_MAX_NS (10 * MS)

struct spike {
	uint64_t burn_ns; /* in the encoder's next launch */
	uint64_t cpu_ns;  /* that it took */
	struct plants plants;
};

static void encoder_in_launch(struct worker *w)
{
	struct spike *s = w->run->spike;
	uint64_t begin;

	if (s->burn_ns == 0)
		return;
	begin = thread_cpu_ns();
	while (thread_cpu_ns() - begin < s->burn_ns)
		w->run->api.burn_ns(10 * US);
	s->cpu_ns = thread_cpu_ns() - begin;
}

static void encoder_tick(struct worker *w)
{
	struct spike *s = w->run->spike;
	static const char kernel[] = "encode";
	struct dim3 grid = {16, 1, 1}, block = {128, 1, 1};
	struct plant p = {.function = FN___cudaLaunchKernel};
	struct rusage before, after;
	bool due = plants_due(&s->plants, w, 1);

	if (!due) {
		CALL(w, __cudaLaunchKernel, kernel, grid, block, NULL, 0, w->run->stream);
		return;
	}
	s->burn_ns = worker_random(w, SPIKE_MIN_NS, SPIKE_MAX_NS);
	w->planted = true;
	getrusage(RUSAGE_THREAD, &before);
	CALL(w, __cudaLaunchKernel, kernel, grid, block, NULL, 0, w->run->stream);
	getrusage(RUSAGE_THREAD, &after);
	s->burn_ns = 0;
	p.begin_ns = w->call_begin_ns;
	p.end_ns = w->call_end_ns;
	p.cpu_ns = s->cpu_ns;
	if (after.ru_nvcsw != before.ru_nvcsw)
		p.why_not = "the call slept";
	else if (p.cpu_ns < (p.end_ns - p.begin_ns) / 10 * 8)
		p.why_not = "something else had much of the call's CPU time";
	plants_note(&s->plants, w, &p);
}

static int spike_open(struct run *run)
{
	struct spike *s = calloc(1, sizeof(*s));
	unsigned seconds = (unsigned)(run->duration_ns / SECOND);

	if (!s)
		return ENOMEM;
	s->plants.wanted = run_plants(run, &spike_scenario) ? (seconds < 6 ? 3 : seconds > 10 ? 5 : seconds / 2) : 0;
	run->spike = s;
	return 0;
}

static bool spike_planted(const struct run *run)
{
	return atomic_load(&run->spike->plants.taken) >= run->spike->plants.wanted;
}

static void spike_json(const struct run *run, struct json *out, bool took)
{
	const struct plants *plants = &run->spike->plants;

	for (unsigned i = 0; i < plants->n; i++) {
		const struct plant *p = &plants->all[i];

		if ((p->why_not == NULL) != took)
			continue;
		json_open(out, NULL, '{');
		json_text(out, "fault", spike_scenario.name);
		if (p->why_not)
			json_text(out, "why_not", p->why_not);
		json_text(out, "function", function_info(p->function)->name);
		json_number(out, "begin_ns", p->begin_ns);
		json_number(out, "end_ns", p->end_ns);
		json_number(out, "tid", (uint64_t)run_worker(run, "encoder")->tid);
		json_text(out, "thread", "encoder");
		json_number(out, "cpu_ns", p->cpu_ns);
		json_close(out);
	}
}

static void spike_faults_json(const struct run *run, struct json *out)
{
	spike_json(run, out, true);
}

static void spike_failed_json(const struct run *run, struct json *out)
{
	spike_json(run, out, false);
}

static void spike_close(struct run *run)
{
	free(run->spike);
	run->spike = NULL;
}

static const struct role roles[] = {
	{"encoder", RANK_SPIKE, false, BEAT_NS, 1500 * US, encoder_tick, encoder_in_launch},
};

const struct scenario spike_scenario = {
	.name = "spike",
	.help = "a launch burns CPU time inside the call",
	.roles = roles,
	.nroles = sizeof(roles) / sizeof(roles[0]),
	.open = spike_open,
	.planted = spike_planted,
	.faults_json = spike_faults_json,
	.failed_json = spike_failed_json,
	.close = spike_close,
};
