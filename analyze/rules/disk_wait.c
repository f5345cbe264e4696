// SPDX-License-Identifier: Apache-2.0
/*
 * Threads that feed the GPU and wait for a disk for a good part of their time: for what they read, or because they
 * write faster than the disk does.
 */
#include "analyze/remedy.h"
#include "analyze/rules/lost_part.h"

static const struct setting settings[] = LOST_SETTINGS(100000000, 20, "waited for a disk");

#define DISK_PROCESSES_MAX 1024

struct disk_process {
	struct table_key key; /* a: process instance */
	struct lost_part lost;
	uint64_t held_ns, known_ns; /* of that time: writes were held back; requests to disks ended it */
	struct disk_use use;        /* of the thread that waited longest; */
	uint64_t most_ns;           /* for so long */
};

struct disk_state {
	struct groups processes;
};

static uint64_t at_most(uint64_t ns, uint64_t most_ns)
{
	return ns < most_ns ? ns : most_ns;
}

static void join(void *state, const struct context *ctx, const struct ledger_thread *t)
{
	struct disk_state *s = state;
	struct disk_process *p = groups_get(&s->processes, t->key.b % LEDGER_AGAIN, 0);
	struct disk_use use;

	if (!p)
		return;
	lost_part_join(&p->lost, ctx, t, LEDGER_DEVICE);
	disk_waits_total(&ctx->names->disks, (uint32_t)t->key.a, &use);
	/* Until it ran again, for which it may have had to wait for a CPU. */
	p->held_ns += at_most(use.held_ns, t->ns[LEDGER_DEVICE]);
	p->known_ns += at_most(use.dur_ns, t->ns[LEDGER_DEVICE]);
	if (t->ns[LEDGER_DEVICE] > p->most_ns) {
		p->most_ns = t->ns[LEDGER_DEVICE];
		p->use = use;
	}
}

/* The kernel counts waits for a network file system as such for a device, too. */
static void report_sure(const struct disk_process *p, struct finding *f)
{
	if (f->confidence == CONFIDENCE_HIGH)
		return;
	text_add(&f->sure, "Medium confidence: no request to a disk is known of ");
	text_add_ns(&f->sure, p->lost.lost_ns - p->known_ns);
	text_add(&f->sure, " of it; a wait for a network file system looks the same");
}

static void report(const struct disk_process *p, struct findings *out)
{
	bool held = p->held_ns > p->lost.lost_ns / 2;
	bool sure = p->known_ns >= p->lost.lost_ns / 10 * 9;
	struct finding *f = lost_part_finding(&p->lost, p->key.a, &disk_wait_rule, held ? "writes-held-back" : "io",
					      sure ? CONFIDENCE_HIGH : CONFIDENCE_MEDIUM, out);

	report_sure(p, f);
	f->count = p->use.requests;
	text_add(&f->headline, " waited for a disk for ");
	text_add_ns(&f->headline, p->lost.lost_ns);
	lost_part_add_share(&p->lost, &f->headline);
	if (p->held_ns) {
		text_add(&f->headline, ", ");
		text_add_ns(&f->headline, p->held_ns);
		text_add(&f->headline,
			 " of that because its writes were held back: so much was still to get to the disk");
	}
	if (p->use.requests) {
		text_add(&f->headline, "; ");
		text_add_disk_use(&f->headline, &p->use);
	}
	text_add(&f->advice, "%s", held ? WRITES_REMEDY : disk_remedy(&p->use) ? disk_remedy(&p->use) : READS_REMEDY);
	finding_number(f, "held_back_ns", p->held_ns);
	finding_number(f, "requests", p->use.requests);
	finding_number(f, "bytes", p->use.bytes);
	finding_number(f, "requests_ns", p->use.dur_ns);
	finding_number(f, "device_ns", p->use.service_ns);
	finding_number(f, "failed", p->use.failed);
	gpu_price_give(&p->lost.price, f);
}

static void disk_finish(void *state, const struct context *ctx, const uint64_t *set, struct findings *out)
{
	struct disk_state *s = state;

	lost_part_threads(ctx, LEDGER_DEVICE, set, join, s);
	out->failed |= s->processes.error != 0;
	for (size_t i = 0; i < s->processes.table.nitems; i++)
		report(groups_at(&s->processes, i), out);
	findings_add_limit(out, disk_wait_rule.name, s->processes.nskipped, "waits");
}

const struct rule disk_wait_rule = {
	.name = "disk-wait",
	.severity = SEVERITY_WARNING,
	.summary = "threads that feed the GPU and wait for a disk for much of their time",
	.meaning =
		"The thread slept until a disk had answered, or, where it writes, until the disk had caught up with what "
		"was written before. Meanwhile it launched nothing.",
	.wrong =
		"Where the GPU had work queued all that time, the wait cost it nothing. io_uring_enter is left out: the "
		"kernel counts all waits in it as such for a device.",
	.remedy =
		"Read ahead and in other threads; write at a steady pace, past the page cache, or from another thread.",
	RULE_SETTINGS(settings),
	.state_size = sizeof(struct disk_state),
	.groups = {{offsetof(struct disk_state, processes), sizeof(struct disk_process), DISK_PROCESSES_MAX, 0}},
	.finish = disk_finish,
};
