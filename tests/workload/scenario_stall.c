/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A launch that sleeps because the thread that holds its lock was preempted.
 *
 *	tokenizer	takes the lock                                       ........ unlocks
 *	hog		           wakes on tokenizer's CPU, burns ---------|
 *	trainer		                 launches, sleeps in the lock's futex ........ goes on
 *
 * The hog is woken by its own timer, not by tokenizer, and its burst ends when the trainer has slept for as long as
 * was wanted. Each attempt is measured afterwards, and only what was seen to happen is called planted.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "tests/workload/json.h"
#include "tests/workload/worker.h"

#define LOCK_WORK_NS (12 * US)      /* what a launch ordinarily does under the lock */
#define SECTION_WORK_NS (8 * US)    /* what tokenizer ordinarily does under it */
#define HOLDER_PHASE_NS (1200 * US) /* the lock is taken between two launches of the trainer, */
#define HOG_PHASE_NS (1400 * US)    /* and the hog comes before the next */
#define LATE_NS (120 * US)
#define WAIT_MIN_NS (12 * MS)
#define WAIT_MAX_NS (30 * MS)
#define STALL_MIN_NS (10 * MS)
#define OFF_CPU_NS (300 * US) /* a gap in the clock that no interrupt explains */
#define BURST_MAX_NS (60 * MS)
#define SECTION_MAX_NS (80 * MS)
#define HANDOVER_MAX_NS (3 * MS)
#define REPORT_WAIT_NS (60 * MS)

/* Of one attempt. ARMED: tokenizer holds the lock and waits for what comes. OVER: the hog has had its burst. */
enum phase { PHASE_IDLE, PHASE_ARMED, PHASE_OVER };

struct stall {
	pthread_mutex_t lock;
	_Atomic int phase;
	_Atomic uint64_t entering_ns; /* since when (monotonic) the trainer is at the lock; 0: it is not */
	_Atomic uint64_t wanted_ns;   /* how long it shall wait there */
	_Atomic uint64_t hog_cpu_ns;  /* of the latest burst */
	_Atomic bool seen;            /* the trainer came to the lock while ARMED */
	_Atomic bool reported;        /* the trainer's call is over; what follows is its account */
	uint64_t begin_ns, end_ns, wait_ns, acquired_ns;
	long slept; /* voluntary context switches at the lock */
	struct plants plants;
};

static struct rusage usage(void)
{
	struct rusage u = {0};

	getrusage(RUSAGE_THREAD, &u);
	return u;
}

static void trainer_in_launch(struct worker *w)
{
	struct stall *s = w->run->stall;
	uint64_t from = monotonic_ns();
	bool armed;

	atomic_store(&s->entering_ns, from);
	armed = atomic_load(&s->phase) != PHASE_IDLE;
	if (armed) {
		s->slept = usage().ru_nvcsw;
		w->planted = true;
		atomic_store(&s->seen, true);
	}
	pthread_mutex_lock(&s->lock);
	if (armed) {
		s->acquired_ns = boot_ns();
		s->wait_ns = monotonic_ns() - from;
		s->slept = usage().ru_nvcsw - s->slept;
	}
	atomic_store(&s->entering_ns, 0);
	w->run->api.burn_ns(LOCK_WORK_NS);
	pthread_mutex_unlock(&s->lock);
}

static void trainer_tick(struct worker *w)
{
	struct stall *s = w->run->stall;
	static const char kernel[] = "train_step";
	struct dim3 grid = {64, 1, 1}, block = {256, 1, 1};

	CALL(w, cudaLaunchKernel, kernel, grid, block, NULL, 0, w->run->stream);
	atomic_fetch_add(&w->run->trainer_launches, 1);
	if (atomic_load(&s->seen) && !atomic_load(&s->reported)) {
		s->begin_ns = w->call_begin_ns;
		s->end_ns = w->call_end_ns;
		atomic_store(&s->reported, true);
	}
}

static void hog_tick(struct worker *w)
{
	struct stall *s = w->run->stall;
	uint64_t begin = monotonic_ns(), cpu = thread_cpu_ns(), now = begin, at;

	if (atomic_load(&s->phase) != PHASE_ARMED)
		return;
	do {
		w->run->api.burn_ns(20 * US);
		now = monotonic_ns();
		at = atomic_load(&s->entering_ns);
	} while (now - begin < BURST_MAX_NS && !(at && now - at >= atomic_load(&s->wanted_ns)));
	atomic_store(&s->hog_cpu_ns, thread_cpu_ns() - cpu);
	atomic_store(&s->phase, PHASE_OVER);
}

/* What tokenizer does under the lock in an attempt: work until the hog is through. Returns its time off the CPU. */
static uint64_t section(struct stall *s)
{
	uint64_t begin = monotonic_ns(), last = begin, now = begin, off = 0;

	while (atomic_load(&s->phase) == PHASE_ARMED && now - begin < SECTION_MAX_NS) {
		now = monotonic_ns();
		if (now - last > OFF_CPU_NS)
			off += now - last;
		last = now;
	}
	now = monotonic_ns();
	return off + (now - last > OFF_CPU_NS ? now - last : 0);
}

struct judged {
	bool bad;
	const char *sentence;
};

static const char *first_bad(const struct judged *judged, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (judged[i].bad)
			return judged[i].sentence;
	}
	return NULL;
}

static bool wait_for_report(struct stall *s)
{
	uint64_t until = monotonic_ns() + REPORT_WAIT_NS;

	while (!atomic_load(&s->reported) && monotonic_ns() < until)
		sleep_until_ns(monotonic_ns() + MS);
	return atomic_load(&s->reported);
}

static void attempt(struct worker *w)
{
	struct stall *s = w->run->stall;
	struct rusage before, after;
	struct plant p = {.function = FN_cudaLaunchKernel};
	uint64_t unlocked_ns;

	atomic_store(&s->wanted_ns, worker_random(w, WAIT_MIN_NS, WAIT_MAX_NS));
	atomic_store(&s->hog_cpu_ns, 0);
	atomic_store(&s->seen, false);
	atomic_store(&s->reported, false);
	before = usage();
	atomic_store(&s->phase, PHASE_ARMED);
	p.preempted_ns = section(s);
	after = usage();
	unlocked_ns = boot_ns();
	pthread_mutex_unlock(&s->lock);
	atomic_store(&s->phase, PHASE_IDLE);

	if (!atomic_load(&s->seen) || !wait_for_report(s)) {
		p.why_not = "the trainer did not come to the lock";
		p.begin_ns = p.end_ns = unlocked_ns;
		plants_note(&s->plants, w, &p);
		return;
	}
	p.begin_ns = s->begin_ns;
	p.end_ns = s->end_ns;
	p.wait_ns = s->wait_ns;
	p.cpu_ns = atomic_load(&s->hog_cpu_ns);
	p.handover_ns = s->acquired_ns > unlocked_ns ? s->acquired_ns - unlocked_ns : 0;
	const struct judged judged[] = {
		{p.end_ns - p.begin_ns < STALL_MIN_NS, "the launch was not held up for long enough"},
		{s->slept < 1, "the trainer did not sleep at the lock"},
		{s->acquired_ns < unlocked_ns, "the trainer had the lock before tokenizer gave it back"},
		{after.ru_nvcsw != before.ru_nvcsw, "tokenizer slept while it held the lock"},
		{after.ru_nivcsw == before.ru_nivcsw, "tokenizer was not preempted"},
		{p.preempted_ns < p.wait_ns / 10 * 8, "tokenizer ran during much of the wait"},
		{p.cpu_ns < p.preempted_ns / 10 * 9, "something other than the hog had tokenizer's CPU"},
		{p.handover_ns > HANDOVER_MAX_NS, "the trainer did not get a CPU soon after the unlock"},
	};
	p.why_not = first_bad(judged, sizeof(judged) / sizeof(judged[0]));
	plants_note(&s->plants, w, &p);
}

static void tokenizer_tick(struct worker *w)
{
	struct stall *s = w->run->stall;
	bool due = plants_due(&s->plants, w, 0);

	/*
	 * A thread of low priority that takes a lock every few milliseconds is a fault of its own on a
	 * busy machine: without real-time priorities tokenizer takes the lock to plant a stall, and only then.
	 */
	if (!due && w->run->priority != PRIORITY_REALTIME)
		return;
	if (monotonic_ns() - w->run->start_ns - w->tick_ns > LATE_NS)
		return;
	if (pthread_mutex_trylock(&s->lock))
		return;
	if (due) {
		attempt(w);
		return;
	}
	w->run->api.burn_ns(SECTION_WORK_NS);
	pthread_mutex_unlock(&s->lock);
}

static int stall_open(struct run *run)
{
	struct stall *s = calloc(1, sizeof(*s));
	unsigned seconds = (unsigned)(run->duration_ns / SECOND);

	if (!s)
		return ENOMEM;
	pthread_mutex_init(&s->lock, NULL);
	s->plants.wanted = run_plants(run, &stall_scenario) ? (seconds < 6 ? 3 : seconds > 10 ? 5 : seconds / 2) : 0;
	run->stall = s;
	return 0;
}

static bool stall_planted(const struct run *run)
{
	return atomic_load(&run->stall->plants.taken) >= run->stall->plants.wanted;
}

static void thread_json(const struct run *run, struct json *out, const char *member, const char *role)
{
	json_open(out, member, '{');
	json_number(out, "tid", (uint64_t)run_worker(run, role)->tid);
	json_text(out, "name", role);
	json_close(out);
}

static void stall_json(const struct run *run, struct json *out, bool took)
{
	const struct plants *plants = &run->stall->plants;

	for (unsigned i = 0; i < plants->n; i++) {
		const struct plant *p = &plants->all[i];

		if ((p->why_not == NULL) != took)
			continue;
		json_open(out, NULL, '{');
		json_text(out, "fault", stall_scenario.name);
		if (p->why_not)
			json_text(out, "why_not", p->why_not);
		json_text(out, "function", function_info(p->function)->name);
		json_number(out, "begin_ns", p->begin_ns);
		json_number(out, "end_ns", p->end_ns);
		thread_json(run, out, "waiter", "trainer");
		json_address(out, "futex", (uint64_t)(uintptr_t)&run->stall->lock);
		json_number(out, "futex_wait_ns", p->wait_ns);
		thread_json(run, out, "waker", "tokenizer");
		json_text(out, "waker_kept", "preempted");
		thread_json(run, out, "kept_by", "hog");
		json_number(out, "cpu", run->victim_cpu);
		json_number(out, "preempted_ns", p->preempted_ns);
		json_number(out, "hog_cpu_ns", p->cpu_ns);
		json_number(out, "handover_ns", p->handover_ns);
		json_close(out);
	}
}

static void stall_faults_json(const struct run *run, struct json *out)
{
	stall_json(run, out, true);
}

static void stall_failed_json(const struct run *run, struct json *out)
{
	stall_json(run, out, false);
}

static void stall_close(struct run *run)
{
	if (run->stall)
		pthread_mutex_destroy(&run->stall->lock);
	free(run->stall);
	run->stall = NULL;
}

static const struct role roles[] = {
	{"trainer", RANK_TRAINER, false, BEAT_NS, 0, trainer_tick, trainer_in_launch},
	{"tokenizer", RANK_HOLDER, true, 2 * BEAT_NS, HOLDER_PHASE_NS, tokenizer_tick, NULL},
	{"hog", RANK_HOG, true, 2 * SLOT_NS, HOG_PHASE_NS, hog_tick, NULL},
};

const struct scenario stall_scenario = {
	.name = "stall",
	.help = "a launch sleeps in a futex whose holder, tokenizer, was preempted by hog",
	.roles = roles,
	.nroles = sizeof(roles) / sizeof(roles[0]),
	.open = stall_open,
	.planted = stall_planted,
	.faults_json = stall_faults_json,
	.failed_json = stall_failed_json,
	.close = stall_close,
};
