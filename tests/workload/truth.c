/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/workload/truth.h"

#include <unistd.h>

#include "tests/workload/json.h"
#include "tests/workload/worker.h"

static void threads_json(const struct run *run, struct json *out)
{
	json_open(out, "threads", '[');
	for (unsigned i = 0; i < run->nworkers; i++) {
		json_open(out, NULL, '{');
		json_number(out, "tid", (uint64_t)run->workers[i].tid);
		json_text(out, "name", run->workers[i].role->name);
		json_number(out, "cpu_wait_ns", run->workers[i].cpu_wait_ns);
		json_close(out);
	}
	json_close(out);
}

static void accidents_json(const struct run *run, struct json *out)
{
	json_open(out, "accidents", '[');
	for (unsigned i = 0; i < run->nworkers; i++) {
		const struct worker *w = &run->workers[i];

		for (unsigned k = 0; k < w->naccidents && k < ACCIDENTS_MAX; k++) {
			json_open(out, NULL, '{');
			json_text(out, "function", function_info(w->accidents[k].function)->name);
			json_number(out, "tid", (uint64_t)w->tid);
			json_text(out, "thread", w->role->name);
			json_number(out, "begin_ns", w->accidents[k].begin_ns);
			json_number(out, "end_ns", w->accidents[k].end_ns);
			json_close(out);
		}
	}
	json_close(out);
}

static void driver_functions_json(const struct run *run, struct json *out)
{
#define DRIVER_NAME(name, params) #name,
	static const char *const names[] = {DRIVER_CALLS(DRIVER_NAME)};

	json_open(out, "driver_functions", '{');
	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		uint64_t n = run->api.driver_calls(names[i]);

		if (n > 0)
			json_number(out, names[i], n);
	}
	json_close(out);
}

static void lists_json(const struct run *run, const struct scenario *const scenarios[], unsigned n, struct json *out)
{
	json_open(out, "faults", '[');
	for (unsigned i = 0; i < n; i++) {
		if (scenarios[i]->faults_json)
			scenarios[i]->faults_json(run, out);
	}
	json_close(out);
	json_open(out, "innocent", '[');
	for (unsigned i = 0; i < n; i++) {
		if (scenarios[i]->innocent_json)
			scenarios[i]->innocent_json(run, out);
	}
	json_close(out);
	json_open(out, "failed_attempts", '[');
	for (unsigned i = 0; i < n; i++) {
		if (scenarios[i]->failed_json)
			scenarios[i]->failed_json(run, out);
	}
	json_close(out);
}

int truth_write(const struct run *run, const struct scenario *const scenarios[], unsigned nscenarios, const char *path)
{
	struct json out;

	if (json_start(&out, path))
		return -1;
	json_text(&out, "format", "gpurec-workload-truth");
	json_number(&out, "version", 1);
	json_number(&out, "pid", (uint64_t)getpid());
	json_number(&out, "seed", run->seed);
	json_text(&out, "priority", priority_name(run->priority));
	json_number(&out, "begin_ns", run->begin_boot_ns);
	json_number(&out, "end_ns", run->end_boot_ns);
	threads_json(run, &out);
	tally_json(run->tally, &out);
	driver_functions_json(run, &out);
	lists_json(run, scenarios, nscenarios, &out);
	accidents_json(run, &out);
	return json_finish(&out);
}
