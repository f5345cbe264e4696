/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/verify/withheld.h"

#include <inttypes.h>
#include <string.h>

#include "format/base/units.h"
#include "keys/tool/tool.h"

#define RUNS_SHOWN 16 /* of a class, to people */

uint64_t withheld_runs(const struct reader *r, uint64_t nepochs, uint8_t class,
		       void (*each)(void *arg, const struct withheld_run *run), void *arg)
{
	struct withheld_run run = {0};
	uint64_t n = 0;

	for (uint64_t e = 0; e < nepochs; e++) {
		for (uint32_t i = 0; i < r->epochs[e].nchunks; i++) {
			const struct chunk *c = &r->epochs[e].chunks[i];

			if (c->class != class)
				continue;
			if (!c->withheld) {
				if (run.chunks > 0)
					each(arg, &run);
				run = (struct withheld_run){0};
				continue;
			}
			n += run.chunks == 0;
			withheld_add(&run, e, c);
		}
	}
	if (run.chunks > 0)
		each(arg, &run);
	return n;
}

char *since_start(char *buf, size_t size, const struct reader *r, uint64_t boot_ns)
{
	uint64_t start_ns = r->header.start_boot_ns, ns = boot_ns > start_ns ? boot_ns - start_ns : 0;

	snprintf(buf, size, "+%" PRIu64 ".%09" PRIu64 " s", ns / 1000000000, ns % 1000000000);
	return buf;
}

char *epochs_words(char *buf, size_t size, uint64_t first, uint64_t last)
{
	if (first == last)
		snprintf(buf, size, "epoch %" PRIu64, first);
	else
		snprintf(buf, size, "epochs %" PRIu64 " to %" PRIu64, first, last);
	return buf;
}

const char *wall_second(char buf[64], const struct reader *r, uint64_t boot_ns)
{
	char *dot;

	wall_text(buf, reader_wall_ns(r, boot_ns));
	dot = strchr(buf, '.');
	if (dot)
		strcpy(dot, " UTC");
	return buf;
}

struct printer {
	FILE *f;
	const struct reader *reader;
	const struct withheld_class *class;
	uint64_t nlines, nruns; /* lines: of all classes */
	struct withheld_run rest;
};

static void print_run(struct printer *p, const char *more, const struct withheld_run *run)
{
	char epochs[64], from[64], to[64], first[48], last[48];

	fprintf(p->f, "  %-10s %s: %" PRIu64 "%s row%s in %" PRIu64 " chunk%s of %s, %s to %s (%s to %s)\n",
		p->nlines++ ? "" : "withheld", p->class->name, run->rows, more, plural(run->rows), run->chunks,
		plural(run->chunks), epochs_words(epochs, sizeof(epochs), run->first_epoch, run->last_epoch),
		wall_second(from, p->reader, run->first_ns), wall_second(to, p->reader, run->last_ns),
		since_start(first, sizeof(first), p->reader, run->first_ns),
		since_start(last, sizeof(last), p->reader, run->last_ns));
}

static void print_some(void *arg, const struct withheld_run *run)
{
	struct printer *p = arg;

	if (p->nruns++ < RUNS_SHOWN) {
		print_run(p, "", run);
		return;
	}
	if (p->rest.chunks == 0)
		p->rest = (struct withheld_run){.first_epoch = run->first_epoch, .first_ns = run->first_ns};
	p->rest.rows += run->rows;
	p->rest.chunks += run->chunks;
	p->rest.last_epoch = run->last_epoch;
	if (run->first_ns < p->rest.first_ns)
		p->rest.first_ns = run->first_ns;
	if (run->last_ns > p->rest.last_ns)
		p->rest.last_ns = run->last_ns;
}

void withheld_print(FILE *f, const struct reader *r, const struct summary *s)
{
	struct printer p = {.f = f, .reader = r};

	for (size_t i = 0; i < s->nwithheld; i++) {
		p.class = &s->withheld[i];
		p.nruns = 0;
		p.rest = (struct withheld_run){0};
		withheld_runs(r, s->nepochs, p.class->id, print_some, &p);
		if (p.rest.chunks > 0)
			print_run(&p, " more", &p.rest);
	}
	if (s->nwithheld == 0)
		fprintf(f, "  withheld   nothing\n");
}

/* From "rows" to the last time: of a class and of a run. */
static void json_run(struct json *j, const struct reader *r, const struct withheld_run *run)
{
	json_u64(j, "rows", run->rows);
	json_u64(j, "chunks", run->chunks);
	json_u64(j, "first_epoch", run->first_epoch);
	json_u64(j, "last_epoch", run->last_epoch);
	json_u64(j, "begin", run->first_ns);
	json_u64(j, "end", run->last_ns);
	json_wall(j, "begin_wall", "begin_utc", reader_wall_ns(r, run->first_ns));
	json_wall(j, "end_wall", "end_utc", reader_wall_ns(r, run->last_ns));
}

struct json_printer {
	struct json *j;
	const struct reader *reader;
};

static void json_one(void *arg, const struct withheld_run *run)
{
	const struct json_printer *p = arg;

	json_open(p->j, NULL, '{');
	json_run(p->j, p->reader, run);
	json_close(p->j, '}');
}

void withheld_json(struct json *j, const struct reader *r, const struct summary *s)
{
	struct json_printer p = {j, r};

	json_open(j, "withheld", '[');
	for (size_t i = 0; i < s->nwithheld; i++) {
		const struct withheld_class *w = &s->withheld[i];

		json_open(j, NULL, '{');
		json_string(j, "class", w->name);
		json_run(j, r, &w->all);
		json_open(j, "runs", '[');
		withheld_runs(r, s->nepochs, w->id, json_one, &p);
		json_close(j, ']');
		json_close(j, '}');
	}
	json_close(j, ']');
}
