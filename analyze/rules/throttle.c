// SPDX-License-Identifier: Apache-2.0
/* A GPU that ran slower than it could: for which reason, for how long, and how fast it was meanwhile. */
#include <stdlib.h>
#include <string.h>

#include "analyze/facts/codes.h"
#include "analyze/stats/callsite.h"
#include "replay/model/gauge_fields.h"

enum { SET_TOTAL, SET_SHARE };

static const struct setting settings[] = {
	[SET_TOTAL] = {"total", SETTING_NS, 1000000000, 1000000, 1000000000000000,
		       "a reason counts if it held for so long in all; shorter dips come with every change of load,"},
	[SET_SHARE] = {"share", SETTING_PERCENT, 5, 1, 100,
		       "and for this share of the time in which the GPU was sampled"},
};

#define GPUS_MAX 256
#define REASONS_MAX 8
#define LOOK_MAX_NS 60000000000 /* between two looks; what is longer apart reports nothing of the time between */

struct slowdown {
	uint64_t ns, mhz_ns, known_ns; /* how long; sum of MHz times ns over known_ns */
	uint64_t begin_ns, count, hottest_c;
	bool on;
	struct series series;
};

struct gpu {
	struct table_key key; /* a: index */
	uint64_t last_ns;
	uint64_t throttle, sm_mhz; /* of the last look */
	bool seen, sm_mhz_known;
	uint64_t max_mhz;
	uint64_t looked_ns; /* time in which it is known whether it throttled */
	struct slowdown reasons[REASONS_MAX];
	uint64_t both_ns[REASONS_MAX][REASONS_MAX]; /* in which the first and the second reason held together */
};

/* Reasons that say less of what another says: reported with that one where both hold at the same time. */
static const struct {
	const char *less, *more;
} said_twice[] = {
	{"hardware-slowdown", "hardware-thermal"},
	{"hardware-slowdown", "power-brake"},
	{"thermal", "hardware-thermal"},
};

struct throttle_state {
	struct groups gpus;
};

/* The slowest of each slice; when the slices do not reach, two and two become one. */
static void series_low(struct series *s, uint64_t at_ns, uint64_t value)
{
	uint64_t slice;

	if (s->width_ns == 0) {
		s->width_ns = 1000000;
		s->begin_ns = at_ns;
	}
	while ((at_ns - s->begin_ns) / s->width_ns >= SERIES_MAX) {
		for (size_t i = 0; i < SERIES_MAX / 2; i++) {
			uint64_t a = s->value[2 * i], b = s->value[2 * i + 1];

			s->value[i] = 2 * i + 1 >= s->n || a < b ? a : b;
		}
		s->n = (s->n + 1) / 2;
		s->width_ns *= 2;
	}
	slice = (at_ns - s->begin_ns) / s->width_ns;
	for (; s->n <= slice; s->n++)
		s->value[s->n] = s->n ? s->value[s->n - 1] : value;
	if (value < s->value[slice] || slice + 1 == s->n)
		s->value[slice] = value;
}

static void take_slowdown(struct slowdown *r, const struct gpu *g, const struct event *ev, uint64_t bit,
			  uint64_t passed_ns)
{
	bool on = ev->v[F_health_throttle] & bit;
	uint64_t temperature_c = health_has(ev, F_health_temperature_c) ? ev->v[F_health_temperature_c] : 0;

	if (passed_ns && g->throttle & bit) {
		r->ns += passed_ns;
		if (g->sm_mhz_known) {
			r->mhz_ns += g->sm_mhz * (passed_ns / 1000);
			r->known_ns += passed_ns / 1000;
		}
	}
	if (on && !r->on) {
		r->begin_ns = r->count ? r->begin_ns : ev->at_ns;
		r->count++;
	}
	if (on && temperature_c > r->hottest_c)
		r->hottest_c = temperature_c;
	r->on = on;
	if (health_has(ev, F_health_sm_mhz))
		series_low(&r->series, ev->at_ns, ev->v[F_health_sm_mhz]);
}

static int throttle_feed(void *state, const struct context *ctx, const uint64_t *set, const struct event *ev)
{
	struct throttle_state *s = state;
	struct gpu *g;
	uint64_t passed_ns;

	(void)ctx, (void)set;
	if (!health_has(ev, F_health_throttle))
		return 0;
	g = groups_get(&s->gpus, ev->v[F_health_gpu], 0);
	if (!g)
		return s->gpus.error;
	if (!g->seen)
		g->last_ns = ev->at_ns;
	passed_ns = ev->at_ns - g->last_ns;
	if (passed_ns > LOOK_MAX_NS)
		passed_ns = 0;
	g->looked_ns += passed_ns;
	for (size_t i = 0; i < throttle_nreasons && i < REASONS_MAX; i++)
		for (size_t k = 0; k < throttle_nreasons && k < REASONS_MAX; k++)
			if (g->throttle & throttle_reasons[i].bit && g->throttle & throttle_reasons[k].bit)
				g->both_ns[i][k] += passed_ns;
	for (size_t i = 0; i < throttle_nreasons && i < REASONS_MAX; i++)
		take_slowdown(&g->reasons[i], g, ev, throttle_reasons[i].bit, passed_ns);
	if (health_has(ev, F_health_sm_mhz_max) && ev->v[F_health_sm_mhz_max] > g->max_mhz)
		g->max_mhz = ev->v[F_health_sm_mhz_max];
	if (health_has(ev, F_health_sm_mhz) && ev->v[F_health_sm_mhz] > g->max_mhz)
		g->max_mhz = ev->v[F_health_sm_mhz];
	g->throttle = ev->v[F_health_throttle];
	g->sm_mhz = ev->v[F_health_sm_mhz];
	g->sm_mhz_known = health_has(ev, F_health_sm_mhz);
	g->seen = true;
	g->last_ns = ev->at_ns;
	return 0;
}

static bool counts(const struct gpu *g, size_t reason, const uint64_t *set)
{
	uint64_t ns = g->reasons[reason].ns;

	return ns >= set[SET_TOTAL] && ns >= g->looked_ns / 100 * set[SET_SHARE];
}

/* Whether this reason is nothing but another's shadow: nine tenths of its time that one held too, and is reported. */
static bool is_shadow(const struct gpu *g, size_t reason, size_t of, const uint64_t *set)
{
	for (size_t i = 0; i < sizeof(said_twice) / sizeof(said_twice[0]); i++)
		if (strcmp(said_twice[i].less, throttle_reasons[reason].name) == 0 &&
		    strcmp(said_twice[i].more, throttle_reasons[of].name) == 0)
			return counts(g, of, set) && g->both_ns[reason][of] >= g->reasons[reason].ns / 10 * 9;
	return false;
}

static bool is_any_shadow(const struct gpu *g, size_t reason, const uint64_t *set)
{
	for (size_t of = 0; of < throttle_nreasons && of < REASONS_MAX; of++)
		if (is_shadow(g, reason, of, set))
			return true;
	return false;
}

/* Which reasons are its shadows. */
static void report_shadows(struct finding *f, const struct gpu *g, size_t of, const uint64_t *set)
{
	struct text also = {0};

	for (size_t i = 0; i < throttle_nreasons && i < REASONS_MAX; i++)
		if (counts(g, i, set) && is_shadow(g, i, of, set))
			text_add(&also, "%s%s", also.len ? ", " : "", throttle_reasons[i].name);
	if (also.len) {
		text_add(&f->headline, " (reported as %s, too)", text_string(&also));
		finding_text(f, "also", text_string(&also), also.len);
	}
	f->failed |= also.failed;
	text_clear(&also);
}

static void report_reason(const struct gpu *g, size_t reason, const uint64_t *set, struct findings *out)
{
	const struct slowdown *r = &g->reasons[reason];
	const struct throttle_reason *what = &throttle_reasons[reason];
	struct finding *f = rule_finding(out, &throttle_rule, what->name, CONFIDENCE_HIGH);
	uint64_t mhz = r->known_ns ? r->mhz_ns / r->known_ns : 0;

	f->severity = (enum severity)what->severity;
	f->gpu = g->key.a + 1;
	f->weight = r->ns;
	f->unit = WEIGHT_NS;
	f->lasted = true;
	f->count = r->count;
	text_add(&f->headline, "GPU %llu was slowed down by %s for ", (unsigned long long)g->key.a, what->text);
	text_add_ns(&f->headline, r->ns);
	text_add(&f->headline, ", ");
	share_add(&f->headline, r->ns, g->looked_ns);
	text_add(&f->headline, " of the time in which it was sampled");
	if (mhz && g->max_mhz)
		text_add(&f->headline, ": %llu MHz of at most %llu", (unsigned long long)mhz,
			 (unsigned long long)g->max_mhz);
	if (r->hottest_c)
		text_add(&f->headline, ", at up to %llu °C", (unsigned long long)r->hottest_c);
	report_shadows(f, g, reason, set);
	text_add(&f->sure, "Sure that it was so at each look; between two looks it is taken to have stayed");
	text_add(&f->advice, "%s", what->remedy);
	finding_number(f, "gpu", g->key.a);
	finding_number(f, "ns", r->ns);
	finding_number(f, "first_ns", r->begin_ns);
	finding_number(f, "mhz", mhz);
	finding_number(f, "max_mhz", g->max_mhz);
	finding_number(f, "hottest_c", r->hottest_c);
	f->series = malloc(sizeof(*f->series));
	if (!f->series) {
		f->failed = true;
		return;
	}
	*f->series = r->series;
	f->series->label = "MHz of the GPU's processors, the least in each slice of time";
	f->series->unit = SERIES_MHZ;
}

static void throttle_finish(void *state, const struct context *ctx, const uint64_t *set, struct findings *out)
{
	struct throttle_state *s = state;

	(void)ctx;
	for (size_t i = 0; i < s->gpus.table.nitems; i++) {
		const struct gpu *g = groups_at(&s->gpus, i);

		for (size_t k = 0; k < throttle_nreasons && k < REASONS_MAX; k++)
			if (counts(g, k, set) && !is_any_shadow(g, k, set))
				report_reason(g, k, set, out);
	}
	findings_add_limit(out, throttle_rule.name, s->gpus.nskipped, "readings of GPUs");
}

const struct rule throttle_rule = {
	.name = "throttle",
	.severity = SEVERITY_WARNING,
	.summary = "GPUs that ran slower than they could, with the reason that they give",
	.meaning =
		"The GPU itself reports that it runs below the speed that was asked of it: heat, power, or a signal of "
		"the host. Kernels take longer then, and nothing in the program is to blame.",
	.wrong = "The recorder looks now and then; what happened between two looks is not seen. At its power limit a "
		 "GPU mostly is because it is busy: that is info.",
	.remedy = "Cooling, power supply or power limit, by the reason.",
	RULE_SETTINGS(settings),
	.kinds = {KIND_health, 0},
	.state_size = sizeof(struct throttle_state),
	.groups = {{offsetof(struct throttle_state, gpus), sizeof(struct gpu), GPUS_MAX, 0}},
	.feed = throttle_feed,
	.finish = throttle_finish,
};
