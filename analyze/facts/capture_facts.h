/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a capture says of itself in rows of kinds fact, gpu, command_line and cpu: on which host it was made, of which
 * command, and what its recorder could not see or do. The recorder's word for a thing that it could not see is a fact;
 * each becomes a sentence in every report.
 */
#ifndef GPUREC_ANALYZE_FACTS_CAPTURE_FACTS_H
#define GPUREC_ANALYZE_FACTS_CAPTURE_FACTS_H

#include "format/base/text.h"
#include "format/cursor.h"

#define ABOUT_VALUE_KEPT 512 /* bytes of a fact's value, or of a command line */
#define ABOUT_GPUS_KEPT 8    /* that are named */

/* What kind of blindness, which is what can be done about it: a finding each. */
enum blind_sort {
	BLIND_RIGHTS = 0,  /* the recorder was not allowed to look */
	BLIND_LIBRARIES,   /* CUDA libraries that could not be probed */
	BLIND_STRIPPED,    /* programs whose runtime has no names */
	BLIND_TRACEPOINTS, /* the kernel does not report */
	BLIND_WAKING,      /* thread or interrupt, the kernel does not prove which */
	BLIND_OPTIONS,     /* switched off for this recording */
	BLIND_HEALTH,      /* the GPUs' health, the driver's errors */
	BLIND_HOST,        /* a hypervisor that does not report */
	BLIND_ORDINARY,    /* happens on any host: reported, but no finding */
	BLIND_SORTS,
};

#define ABOUT_FACTS 41

/* A zeroed one is empty. */
struct about {
	/* Values by their place in the table of capture_facts.c; NULL: not reported. Bytes out of a capture. */
	char *facts[ABOUT_FACTS];
	size_t fact_bytes[ABOUT_FACTS];
	char *command; /* command line of the first recorded process; NULL: not reported */
	size_t command_bytes;
	uint64_t command_pid;
	struct about_gpu {
		uint64_t index;
		char name[64];
		size_t bytes;
	} gpus[ABOUT_GPUS_KEPT];
	unsigned ngpus;  /* beyond what is kept, too */
	bool steal;      /* some time was taken away by the hypervisor, so it does report */
	bool unreported; /* the kernel reports no switches, or no wakings */
};

/* Whether about_feed() does anything with rows of this kind. */
bool about_wants(uint16_t kind);
/* ERR_MEMORY. */
int about_feed(struct about *a, const struct event *ev, struct fault *why);
void about_clear(struct about *a);

/* The value of a fact of the table; NULL: not reported. Not escaped. */
const char *about_fact(const struct about *a, const char *name, size_t *len);
/* The kernel has no such tracepoint. */
bool about_lacks(const struct about *a, const char *tracepoint);
/* It was recorded in a virtual machine that does not show how much time its host takes away. */
bool about_hides_steal(const struct about *a);
/* It was recorded in a virtual machine. */
bool about_is_virtual(const struct about *a);
/* What was recorded was chosen: a command, or some processes. */
bool about_is_chosen(const struct about *a);

/* A line with its newline for each thing of this sort that could not be seen, without full stop; false: nothing. */
bool about_blind(const struct about *a, enum blind_sort sort, struct text *t);
/* How bad that is (enum severity), and what to do about it. */
unsigned blind_severity(const struct about *a, enum blind_sort sort);
const char *blind_advice(enum blind_sort sort);

/* "node17, Linux 6.18, NVIDIA driver 580.1"; nothing if the capture does not say. Escaped, and so are these. */
void about_add_host(const struct about *a, struct text *t);
/* "NVIDIA H100 (GPU 0)", ... */
void about_add_hostname(const struct about *a, struct text *t); /* nothing of it where it is not known */
void about_add_gpus(const struct about *a, struct text *t);
void about_add_command(const struct about *a, struct text *t);
/* Who allowed the recording, and why, as --authority has it; nothing if it was not given. */
void about_add_authority(const struct about *a, struct text *t);

#endif
