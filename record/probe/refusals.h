/* SPDX-License-Identifier: Apache-2.0 */
/*
 * BPF programs that this kernel refuses, and its verifier's reasons. libbpf loads an object as a whole and does not say
 * which of its programs was refused: that is found by whose log was written.
 */
#ifndef GPUREC_RECORD_REFUSALS_H
#define GPUREC_RECORD_REFUSALS_H

#include <bpf/libbpf.h>
#include <stdbool.h>
#include <stddef.h>

#include "format/base/fault.h"

#define REFUSALS_MAX 32 /* programs of an object */

struct refusal {
	char program[32];
	char tracepoint[32]; /* whose events are not recorded without it; "": of none */
	char reason[200];    /* see verifier_reason() */
};

#define REFUSAL_EFFECT_MAX 192

/* What that means for the capture, in words, into buf, which it returns. */
const char *refusal_effect(const struct refusal *r, char buf[REFUSAL_EFFECT_MAX]);

struct refusals {
	struct refusal list[REFUSALS_MAX];
	size_t n;
	char *log; /* room for the verifier's; NULL: not needed yet */
};

void refusals_clear(struct refusals *r);

/* Before the object is loaded: its programs' logs go to where refusals_culprit() looks. ERR_MEMORY. */
int refusals_watch(struct refusals *r, struct bpf_object *object, struct fault *why);

/* After it could not be loaded: the program that the verifier refused; NULL: it failed for something else. */
const struct bpf_program *refusals_culprit(const struct refusals *r, struct bpf_object *object);
/* What the verifier said of it; "": nothing. */
const char *refusals_log(const struct refusals *r);

/* The program, which is the culprit, is not to be loaded any more. False: there is no room. */
bool refusals_add(struct refusals *r, const struct bpf_program *program, const char *tracepoint);
bool refusals_has(const struct refusals *r, const char *program);

/*
 * The line of a verifier's log that says why it refused a program: the last one before its statistics. "" for a log
 * without any; cut where it does not fit.
 */
void verifier_reason(const char *log, char *buf, size_t size);

#endif
