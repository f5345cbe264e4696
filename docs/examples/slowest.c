/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The slowest call of each probed function in a capture, with libgpucap:
 *
 *	cc slowest.c $(pkg-config --cflags --libs gpucap) -o slowest && ./slowest run.cap
 */
#include <gpucap.h>
#include <inttypes.h>
#include <stdio.h>

#define PROBES 4096

static struct {
	uint64_t dur_ns, tid, at_ns, calls;
} slowest[PROBES];

static int print_loss(void *arg, const char *probe, const char *cause, uint64_t n)
{
	(void)arg;
	printf("not seen: %" PRIu64 " of %s (%s)\n", n, probe, cause);
	return 0;
}

int main(int argc, char **argv)
{
	char why[GPUCAP_WHY_BYTES] = "name one capture";
	struct gpucap_events *events = NULL;
	struct gpucap *capture = NULL;
	struct gpucap_event ev;
	int r = argc == 2 ? gpucap_open(&capture, argv[1], NULL, why, sizeof(why)) : -1;

	if (r == 0)
		r = gpucap_events_open(&events, capture, 0, why, sizeof(why));
	while (r >= 0 && (r = gpucap_next(events, &ev, why, sizeof(why))) > 0) {
		if (!ev.kind->is_call)
			continue;
		uint64_t dur = ev.value[gpucap_field(ev.kind, "dur")], probe = ev.value[gpucap_field(ev.kind, "probe")];

		if (probe >= PROBES)
			continue;
		slowest[probe].calls++;
		if (dur >= slowest[probe].dur_ns) {
			slowest[probe].dur_ns = dur;
			slowest[probe].at_ns = ev.at_ns;
			slowest[probe].tid = ev.value[gpucap_field(ev.kind, "tid")];
		}
	}
	if (r == 0) {
		printf("%s\n", gpucap_info(capture)->sentence);
		for (uint64_t p = 0; p < PROBES; p++)
			if (slowest[p].calls)
				printf("%-32s %8" PRIu64 " calls, slowest %10" PRIu64 " ns on thread %" PRIu64
				       " at +%.6f s\n",
				       gpucap_probe(capture, p), slowest[p].calls, slowest[p].dur_ns, slowest[p].tid,
				       (double)(slowest[p].at_ns - gpucap_info(capture)->begin_ns) / 1e9);
		gpucap_losses(capture, print_loss, NULL);
	} else {
		fprintf(stderr, "slowest: %s\n", why);
	}
	gpucap_events_close(events);
	gpucap_close(capture);
	return r < 0;
}
