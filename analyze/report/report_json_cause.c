// SPDX-License-Identifier: Apache-2.0
/* The part of the JSON that shows why: the chain of causes and the time line of an occurrence. */
#include "analyze/report/report_json.h"

void json_tid(struct json *j, const char *key, uint32_t tid)
{
	if (tid == TID_NONE)
		json_null(j, key);
	else
		json_u64(j, key, tid);
}

static void add_who(struct json *j, const struct explained *e, uint32_t tid)
{
	const struct who *who = explained_who(e, tid);

	json_tid(j, "tid", tid);
	if (tid == TID_NONE)
		return;
	json_text(j, "name", who ? who->name.s : "", who ? who->name.len : 0);
}

static void add_part(struct json *j, const struct explained *e, const struct part *p)
{
	static const char *const reasons[] = {"not-recorded", "lost-or-withheld", "too-long-ago", "contradicted"};

	json_open(j, NULL, '{');
	json_string(j, "class", cause_class_name((enum cause_class)p->class));
	json_u64(j, "ns", p->ns);
	json_u64(j, "count", p->count);
	json_u64(j, "longest_begin_ns", p->longest_begin_ns);
	json_u64(j, "longest_end_ns", p->longest_end_ns);
	if (p->joined) {
		json_bool(j, "joined", true);
		json_close(j, '}');
		return;
	}
	switch ((enum cause_class)p->class) {
	case CAUSE_FUTEX:
		json_hex(j, "futex", p->futex);
		json_bool(j, "lock", p->flags & SPAN_LOCK);
		json_bool(j, "timed_out", p->flags & SPAN_TIMED_OUT);
		/* fallthrough */
	case CAUSE_STOPPED:
	case CAUSE_FAULT:
	case CAUSE_IO:
	case CAUSE_NETWORK:
	case CAUSE_ASLEEP:
		if (p->class == CAUSE_STOPPED)
			json_bool(j, "frozen", p->flags & SPAN_FROZEN);
		json_string(j, "state", task_state_letter(p->task_state));
		json_string(j, "woken",
			    p->flags & SPAN_IRQ         ? "interrupt"
			    : p->flags & SPAN_SIGNALLED ? "signal"
			    : p->tid == TID_NONE        ? "unknown"
							: "thread");
		add_who(j, e, p->tid);
		break;
	case CAUSE_RUNNABLE:
		json_u64(j, "cpu", p->cpu);
		json_bool(j, "preempted", p->flags & SPAN_PREEMPTED);
		json_bool(j, "likely", p->likely);
		if (p->idle_cpu)
			json_u64(j, "idle_cpu", p->idle_cpu - 1);
		if (p->idle_barred)
			json_bool(j, "idle_cpu_barred", true);
		add_who(j, e, p->tid);
		break;
	case CAUSE_CPU:
		json_u64(j, "cpu", p->cpu);
		break;
	case CAUSE_MEMORY:
		json_string(j, "why", shortage_word(p->flags));
		break;
	case CAUSE_QUOTA:
		json_bool(j, "at_most", !(p->flags & SPAN_TIMED));
		break;
	default:
		json_string(j, "reason", reasons[p->reason]);
		break;
	}
	json_close(j, '}');
}

/* The signal that stopped a link's thread, and who sent it. */
static void add_stop(struct json *j, const struct explained *e, const struct stop_signal *stop)
{
	const struct who *who = stop->by_kernel ? NULL : explained_who(e, stop->sender_tid);

	if (!stop->number)
		return;
	json_u64(j, "stop_signal", stop->number);
	json_bool(j, "stopped_by_kernel", stop->by_kernel);
	if (!stop->by_kernel)
		json_u64(j, "stopped_by_tid", stop->sender_tid);
	if (who && who->name.len)
		json_text(j, "stopped_by_name", who->name.s, who->name.len);
}

static void add_disk(struct json *j, const struct disk_use *use)
{
	struct text device = {0};

	if (!use->requests)
		return;
	json_open(j, "disk", '{');
	text_add_disk(&device, use);
	json_string(j, "device", text_string(&device));
	text_clear(&device);
	json_bool(j, "others", use->more);
	json_u64(j, "requests", use->requests);
	json_u64(j, "bytes", use->bytes);
	json_u64(j, "ns", use->dur_ns);
	json_u64(j, "timed_ns", use->timed_ns);
	json_u64(j, "device_ns", use->service_ns);
	json_u64(j, "failed", use->failed);
	json_close(j, '}');
}

static void add_network(struct json *j, const struct network_use *use)
{
	const struct network_peer *peer = use->longest.peer;

	if (!use->waits)
		return;
	json_open(j, "network", '{');
	if (peer)
		json_text(j, "peer", peer->s, peer->nbytes);
	json_bool(j, "others", use->more);
	json_u64(j, "waits", use->waits);
	json_u64(j, "ns", use->dur_ns);
	json_u64(j, "longest_rtt_ns", use->longest.rtt_ns);
	json_u64(j, "retransmitted", use->retransmitted);
	json_u64(j, "disordered", use->disordered);
	json_close(j, '}');
}

static void add_split(struct json *j, const struct explained *e, const struct split *s)
{
	json_open(j, NULL, '{');
	add_who(j, e, s->tid);
	json_u64(j, "begin_ns", s->begin_ns);
	json_u64(j, "end_ns", s->end_ns);
	json_string(j, "main", cause_class_name(split_main(s)));
	for (unsigned c = 0; c < CAUSE_CLASSES; c++)
		if (s->ns[c] || (c != CAUSE_QUOTA && c != CAUSE_STOPPED && c != CAUSE_MEMORY &&
				 c != CAUSE_NETWORK)) /* which captures of earlier versions do not report */
			json_u64(j, cause_class_key((enum cause_class)c), s->ns[c]);
	add_stop(j, e, &e->stop[s - e->cause.links]);
	add_disk(j, &e->disk[s - e->cause.links]);
	add_network(j, &e->network[s - e->cause.links]);
	json_open(j, "parts", '[');
	for (unsigned i = 0; i < s->nparts; i++)
		add_part(j, e, &s->parts[i]);
	json_close(j, ']');
	json_close(j, '}');
}

/* What the threads in it did around it, piece by piece. */
static void add_scene(struct json *j, const struct scene *s)
{
	json_open(j, "scene", '{');
	json_u64(j, "begin_ns", s->begin_ns);
	json_u64(j, "end_ns", s->end_ns);
	json_open(j, "rows", '[');
	for (unsigned r = 0; r < s->nrows; r++) {
		json_open(j, NULL, '{');
		json_u64(j, "tid", s->rows[r].tid);
		json_open(j, "pieces", '[');
		for (unsigned i = 0; i < s->rows[r].npieces; i++) {
			const struct scene_piece *p = &s->rows[r].pieces[i];

			json_open(j, NULL, '{');
			json_string(j, "class", cause_class_name((enum cause_class)p->class));
			json_u64(j, "begin_ns", p->begin_ns);
			json_u64(j, "end_ns", p->end_ns);
			if (p->tid != TID_NONE)
				json_u64(j, "tid", p->tid);
			if (p->joined)
				json_bool(j, "joined", true);
			json_close(j, '}');
		}
		json_close(j, ']');
		json_close(j, '}');
	}
	json_close(j, ']');
	json_close(j, '}');
}

void json_worst(struct json *j, const struct worst *w)
{
	const struct explained *e = w->why;
	uint32_t keeper = explained_keeper(e);

	json_open(j, NULL, '{');
	json_u64(j, "begin_ns", w->at.begin_ns);
	json_u64(j, "end_ns", w->at.end_ns);
	json_u64(j, "tid", w->at.tid);
	json_string(j, "chain_end", chain_end_name(e->cause.end));
	if (e->cause.end == CHAIN_CYCLE)
		json_u64(j, "cycle_tid", e->cause.cycle_tid);
	json_open(j, "keeper", '{');
	add_who(j, e, keeper);
	json_close(j, '}');
	json_open(j, "chain", '[');
	for (unsigned i = 0; i < e->cause.nlinks; i++)
		add_split(j, e, &e->cause.links[i]);
	json_close(j, ']');
	if (w->scene)
		add_scene(j, w->scene);
	json_close(j, '}');
}
