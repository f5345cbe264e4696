// SPDX-License-Identifier: Apache-2.0
#include "analyze/rule.h"
#include "format/base/units.h"
#include "keys/tool/nearest.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define RULE_PLACE(name) &name##_rule,
const struct rule *const rules[NRULES] = {RULES(RULE_PLACE)};

void settings_default(struct settings *s)
{
	memset(s, 0, sizeof(*s));
	for (unsigned r = 0; r < NRULES; r++)
		for (unsigned k = 0; k < rules[r]->nsettings; k++)
			s->v[r][k] = rules[r]->settings[k].value;
}

/* How a value of each unit is written. */
static bool parse_value(const char *s, enum setting_unit unit, uint64_t *value)
{
	static const char *const signs[] = {[SETTING_COUNT] = "", [SETTING_TIMES] = "x", [SETTING_PERCENT] = "%"};
	size_t n = strspn(s, "0123456789");
	char digits[24];
	struct fault why;

	if (unit == SETTING_NS)
		return duration_parse(s, value, &why) == 0;
	if (unit == SETTING_BYTES)
		return size_parse(s, value, &why) == 0;
	snprintf(digits, sizeof(digits), "%.*s", n < sizeof(digits) ? (int)n : 0, s);
	return (!s[n] || !strcmp(s + n, signs[unit])) && number_parse(digits, 0, UINT64_MAX, value, &why) == 0;
}

/* "NAME" of the first `n` bytes of text. */
static bool names_it(const char *name, const char *text, size_t n)
{
	return strlen(name) == n && memcmp(name, text, n) == 0;
}

static const struct setting *find_setting(const char *text, size_t n, unsigned *rule, unsigned *key)
{
	const char *dot = memchr(text, '.', n);
	size_t nrule = dot ? (size_t)(dot - text) : n;

	for (unsigned r = 0; dot && r < NRULES; r++) {
		if (!names_it(rules[r]->name, text, nrule))
			continue;
		for (unsigned k = 0; k < rules[r]->nsettings; k++) {
			if (!names_it(rules[r]->settings[k].key, dot + 1, n - nrule - 1))
				continue;
			*rule = r;
			*key = k;
			return &rules[r]->settings[k];
		}
	}
	return NULL;
}

static int refuse_setting(const char *text, size_t n, struct fault *why)
{
	char word[NEAREST_MAX + 1], names[NEAREST_MAX + 1], best[NEAREST_MAX + 1];
	struct nearest meant;

	snprintf(word, sizeof(word), "%.*s", n < sizeof(word) ? (int)n : (int)sizeof(word) - 1, text);
	meant = nearest_to(word);
	for (unsigned r = 0; r < NRULES; r++)
		for (unsigned k = 0; k < rules[r]->nsettings; k++) {
			snprintf(names, sizeof(names), "%s.%s", rules[r]->name, rules[r]->settings[k].key);
			nearest_offer(&meant, names);
			if (meant.best == names) {
				memcpy(best, names, sizeof(best));
				meant.best = best;
			}
		}
	if (meant.best)
		return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "no rule has a setting '%s'; did you mean '%s'?", word,
				 meant.best);
	return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "no rule has a setting '%s'; --list-rules shows them", word);
}

int settings_set(struct settings *s, const char *text, struct fault *why)
{
	static const char *const examples[] = {"a number such as 10", "a number such as 10", "a percentage such as 50",
					       "a duration such as 500us, 5ms or 2s", "a size such as 64K or 1M"};
	const char *equals = strchr(text, '=');
	const struct setting *setting;
	unsigned rule, key;
	uint64_t value;

	if (!equals)
		return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "--set wants RULE.KEY=VALUE, not '%s'", text);
	setting = find_setting(text, (size_t)(equals - text), &rule, &key);
	if (!setting)
		return refuse_setting(text, (size_t)(equals - text), why);
	if (!parse_value(equals + 1, setting->unit, &value))
		return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "%.*s wants %s, not '%s'", (int)(equals - text), text,
				 examples[setting->unit], equals + 1);
	if (value < setting->min || value > setting->max)
		return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "%.*s must be from %" PRIu64 " to %" PRIu64 "%s",
				 (int)(equals - text), text, setting->min, setting->max,
				 setting->unit == SETTING_NS ? " ns" : "");
	s->v[rule][key] = value;
	return 0;
}

void settings_text(const struct settings *s, struct text *t)
{
	for (unsigned r = 0; r < NRULES; r++)
		for (unsigned k = 0; k < rules[r]->nsettings; k++)
			text_add(t, "%s.%s=%" PRIu64 "\n", rules[r]->name, rules[r]->settings[k].key, s->v[r][k]);
}

void setting_text(const struct setting *setting, uint64_t value, struct text *t)
{
	switch (setting->unit) {
	case SETTING_NS:
		text_add_ns(t, value);
		break;
	case SETTING_BYTES:
		text_add_size(t, value);
		break;
	case SETTING_PERCENT:
		text_add(t, "%" PRIu64 " %%", value);
		break;
	case SETTING_TIMES:
		text_add(t, "%" PRIu64 " times", value);
		break;
	case SETTING_COUNT:
		text_add(t, "%" PRIu64, value);
		break;
	}
}

const char *call_name(const struct schema *schema, uint64_t probe)
{
	const struct probe *p = schema_probe(schema, probe);

	return p ? p->name : "";
}

struct finding *rule_finding(struct findings *out, const struct rule *rule, const char *class,
			     enum confidence confidence)
{
	struct finding *f = findings_add(out);

	f->rule = rule->name;
	f->class = class;
	f->severity = rule->severity;
	f->confidence = confidence;
	return f;
}

int rule_count(struct tally *t, const struct context *ctx, uint64_t begin_ns, uint64_t end_ns,
	       const struct explained *why)
{
	return tally_add(t, ctx->timeline, begin_ns, end_ns, why) ? 0 : ERR_MEMORY;
}

int rule_count_call(struct tally *t, const struct context *ctx, const struct event *ev, struct explained *scratch)
{
	uint32_t tid = as_tid(ev->v[F_call_tid]);
	uint64_t begin_ns = call_begin_ns(ev);

	return tally_add_call(t, ctx->timeline, ctx->names, tid, begin_ns, ev->at_ns, scratch) ? 0 : ERR_MEMORY;
}
