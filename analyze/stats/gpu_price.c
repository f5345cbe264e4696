// SPDX-License-Identifier: Apache-2.0
#include "analyze/stats/gpu_price.h"

#include "analyze/rule.h"

static uint64_t beyond(uint64_t ns, uint64_t rest_ns)
{
	return ns > rest_ns ? ns - rest_ns : 0;
}

/* (What is known of the rest of the part may be all that is known.) */
void gpu_price_add_part(struct gpu_price *p, uint64_t lost_ns, uint64_t part_ns, uint64_t idle_ns, uint64_t left_ns)
{
	uint64_t rest_ns = beyond(part_ns, lost_ns), idle = beyond(idle_ns, rest_ns), left = beyond(left_ns, rest_ns);

	p->lost_ns += lost_ns;
	p->idle_ns += idle < lost_ns ? idle : lost_ns;
	p->left_ns += left < beyond(lost_ns, idle) ? left : beyond(lost_ns, idle);
	p->nthreads++;
}

void gpu_price_add(struct gpu_price *p, const struct context *ctx, uint64_t tid, uint64_t process,
		   enum ledger_part part, uint64_t lost_ns)
{
	const struct ledger_thread *t = table_find(&ctx->ledger->threads, tid, process);
	const uint64_t *idle_ns = t ? ledger_idle(t) : NULL, *left_ns = t ? ledger_left(t) : NULL;

	if (!ctx->ledger->schema)
		return;
	if (idle_ns && left_ns) {
		gpu_price_add_part(p, lost_ns, t->ns[part], idle_ns[part], left_ns[part]);
		return;
	}
	p->lost_ns += lost_ns;
	p->nthreads++;
	p->nunknown++;
}

enum ledger_part gpu_price_part(enum cause_class class)
{
	switch (class) {
	case CAUSE_RUNNABLE:
		return LEDGER_CPU;
	case CAUSE_QUOTA:
		return LEDGER_QUOTA;
	case CAUSE_STOPPED:
		return LEDGER_STOPPED;
	case CAUSE_FAULT:
		return LEDGER_KERNEL;
	case CAUSE_MEMORY:
		return LEDGER_MEMORY;
	case CAUSE_NETWORK:
		return LEDGER_NETWORK;
	case CAUSE_IO:
		return LEDGER_DEVICE;
	case CAUSE_CPU:
		return LEDGER_OWN;
	default:
		return LEDGER_TASK;
	}
}

bool gpu_price_is_nothing(const struct gpu_price *p)
{
	return p->nthreads && !p->nunknown && p->left_ns >= p->lost_ns / 10 * 9;
}

void gpu_price_give(const struct gpu_price *p, struct finding *f)
{
	f->price = *p;
	if (!p->nthreads || p->nunknown)
		return;
	finding_number(f, "gpu_idle_ns", p->idle_ns);
	finding_number(f, "gpu_left_ns", p->left_ns);
	if (!gpu_price_is_nothing(p))
		return;
	f->severity = SEVERITY_INFO;
	f->lasted = true;
	text_clear(&f->advice);
	text_add(&f->advice, "%s", GPU_IS_SLOW);
}

void gpu_price_write(struct text *t, const struct gpu_price *p)
{
	if (!p->nthreads)
		return;
	if (p->nunknown) {
		text_add(t, "; whether the GPU had work left meanwhile is not known");
		return;
	}
	if (p->idle_ns) {
		text_add(t, "; the GPU had no work of this process for at least ");
		text_add_ns(t, p->idle_ns);
		text_add(t, " of that");
	}
	if (p->left_ns) {
		text_add(t, p->idle_ns ? ", and some left for at least "
				       : "; the GPU had work of this process left for at least ");
		text_add_ns(t, p->left_ns);
		text_add(t, p->idle_ns ? "" : " of that");
	}
	if (gpu_price_is_nothing(p))
		text_add(t, ": this cost the GPU little or nothing");
	else if (!p->idle_ns && !p->left_ns)
		text_add(t, "; as far as its calls show, the GPU may have had work left all the time");
}
