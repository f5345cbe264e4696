/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A rule: a detector that sees every event once, in the order of time, and in the end says what it found. The rules are
 * a table (rules.c); each is in a file of its own under analyze/rules/ and in a section of docs/RULES.md.
 */
#ifndef GPUREC_ANALYZE_RULE_H
#define GPUREC_ANALYZE_RULE_H

#include "analyze/stats/callers.h"
#include "analyze/finding.h"
#include "analyze/people.h"
#include "analyze/rules/groups.h"
#include "replay/model/ledger.h"
#include "format/cursor.h"

enum setting_unit { SETTING_COUNT, SETTING_TIMES, SETTING_PERCENT, SETTING_NS, SETTING_BYTES };

struct setting {
	const char *key;
	enum setting_unit unit;
	uint64_t value; /* unless --set */
	uint64_t min, max;
	const char *help; /* what it means, and why this value */
};

#define SETTINGS_MAX 12   /* of one rule */
#define RULE_KINDS_MAX 24 /* and the 0 behind them */

/* What rules may inspect. Events have been taken into all of it before a rule sees them. */
struct context {
	const struct schema *schema;
	const struct reader *reader; /* NULL in tests that have no capture */
	struct names *names;
	struct timeline *timeline;
	bool unverified; /* the evidence was not good, and the user wants a look all the same */
	bool unsealed;   /* there is no END */
	bool damaged;    /* with unverified: FORGED or MALFORMED */
	/* Set by the engine. */
	const struct callers *callers;
	const struct ledger *ledger; /* in finish(): it is settled */
	const struct caller
		*caller;    /* who made the call of the row, before it counts, or who ends; NULL: none, or too many */
	uint64_t waited_ns; /* of a switch: how long who got the CPU had been ready for it */
	uint64_t begin_ns;  /* when recording began: the header says so, or the first event */
	const struct fault *stopped; /* why the events could be read only so far; or NULL */
	uint64_t now_ns;             /* the latest event's time; in finish() the end of what was recorded */
};

/* All kinds of calls. */
#define RULE_CALLS                                                                                                     \
	KIND_launch, KIND_alloc, KIND_free, KIND_copy, KIND_set, KIND_wait, KIND_stream, KIND_graph, KIND_collective,  \
		KIND_context, KIND_map, KIND_load

struct rule {
	const char *name;
	enum severity severity; /* of its findings, where it has no reason to say otherwise */
	const char *summary;
	/* For --explain and as docs/RULES.md has them at length: what a finding means, when it is wrong, what to do. */
	const char *meaning, *wrong, *remedy;
	const struct setting *settings;
	unsigned nsettings;
	/* Of the rows that feed() wants to see, ended by 0. Of switches only those to threads that had waited come. */
	uint16_t kinds[RULE_KINDS_MAX];
	/*
	 * NULL: it sees all calls and switches of these kinds. Else it is spared the usual ones, which are most: calls
	 * that returned 0, took less than this, and came sooner than this after the thread's last one; switches to
	 * threads that had waited less. (It may see some of them.)
	 */
	uint64_t (*unusual_ns)(const uint64_t *set);
	bool marks; /* and the marks between epochs */
	/* Of its state, which the engine allocates, zeroed, and frees; it prepares and clears the groups in it. */
	size_t state_size;
	struct groups_of groups[GROUPS_OF_RULE_MAX];
	/* To set and to clear what else is in the state; may be NULL. */
	void (*open)(void *state, const struct context *ctx);
	void (*close)(void *state);
	/* 0 or ERR_MEMORY, for which the engine has the sentence. */
	int (*feed)(void *state, const struct context *ctx, const uint64_t *set, const struct event *ev);
	/* Lack of memory is noted in `out`, which the engine checks: findings_whole(). */
	void (*finish)(void *state, const struct context *ctx, const uint64_t *set, struct findings *out);
};

/* Members `settings` and `nsettings` of a rule. */
#define RULE_SETTINGS(list) .settings = (list), .nsettings = sizeof(list) / sizeof((list)[0])

/*
 * All rules, in the order in which they are listed and in which findings come that weigh the same: R(oom) is oom_rule.
 */
#define RULES(R)                                                                                                       \
	R(evidence)                                                                                                    \
	R(xid)                                                                                                         \
	R(oom)                                                                                                         \
	R(failed_call)                                                                                                 \
	R(alloc_leak)                                                                                                  \
	R(launch_latency)                                                                                              \
	R(futex_stall)                                                                                                 \
	R(hang)                                                                                                        \
	R(died)                                                                                                        \
	R(starved)                                                                                                     \
	R(first_use)                                                                                                   \
	R(launch_gap)                                                                                                  \
	R(runqueue)                                                                                                    \
	R(sync_stall)                                                                                                  \
	R(memcpy_sync)                                                                                                 \
	R(memcpy_pageable)                                                                                             \
	R(alloc_churn)                                                                                                 \
	R(straggler)                                                                                                   \
	R(throttle)                                                                                                    \
	R(cpu_quota)                                                                                                   \
	R(memory_pressure)                                                                                             \
	R(disk_wait)                                                                                                   \
	R(network_wait)                                                                                                \
	R(stopped)                                                                                                     \
	R(object_leak)

#define RULE_NUMBER(name) RULE_##name,
#define RULE_DECLARE(name) extern const struct rule name##_rule;
enum { RULES(RULE_NUMBER) NRULES };
RULES(RULE_DECLARE)
extern const struct rule *const rules[NRULES];

/* The values of all settings. */
struct settings {
	uint64_t v[NRULES][SETTINGS_MAX];
};

void settings_default(struct settings *s);
/* "rule.key=value", value with a unit as the setting has one ("1ms", "64K", "10"). ERR_INPUT with a sentence. */
int settings_set(struct settings *s, const char *text, struct fault *why);
/* "launch-latency.factor=10\n..." in the order of the tables: what the hash in a report is taken of. */
void settings_text(const struct settings *s, struct text *t);
/* Value with its unit: "1.00 ms", "10 times". */
void setting_text(const struct setting *setting, uint64_t value, struct text *t);
/* Name of the probed function; "" if the capture has no such probe. */
const char *call_name(const struct schema *schema, uint64_t probe);

/* A new finding of this rule, with its severity; never NULL, as findings_add(). */
struct finding *rule_finding(struct findings *out, const struct rule *rule, const char *class,
			     enum confidence confidence);

/* For feed(): tally_add(), and tally_add_call() of the call of this row. 0 or ERR_MEMORY. */
int rule_count(struct tally *t, const struct context *ctx, uint64_t begin_ns, uint64_t end_ns,
	       const struct explained *why);
int rule_count_call(struct tally *t, const struct context *ctx, const struct event *ev, struct explained *scratch);

#endif
