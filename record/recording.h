/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One recording, from nothing to a sealed capture: recording_open() prepares all and starts, recording_run() records
 * until a reason to end comes up, seals and writes END.
 */
#ifndef GPUREC_RECORD_RECORDING_H
#define GPUREC_RECORD_RECORDING_H

#include "format/writer.h"
#include "record/probe/attach.h"
#include "record/limits.h"

#define AUTHORITY_BYTES_MAX 256 /* of recording_options.authority */

struct recording_options {
	const char *path;     /* of the capture; with rotate_ns see rotate_path() */
	bool force;           /* replace an existing file */
	const char *key_path; /* NULL: the host's identity */
	int passphrase_fd;    /* of an encrypted key; -1: the terminal. Not to be inherited by the command. */
	uint8_t challenge[CHALLENGE_BYTES_MAX]; /* for the header; 0 bytes: none */
	size_t challenge_bytes;
	const char *authority; /* who allowed the recording, and why, as a fact; NULL: none */
	uint64_t duration_ns;  /* 0: until something else ends it */
	uint64_t rotate_ns;    /* another capture continues this one after so long; 0: never */
	struct budget budget;
	const char
		*nvml; /* the library to ask for the GPUs' health; "no": none; NULL: NVML_LIBRARY, where a driver is */
	uint64_t ring_bytes;
	uint64_t metrics_ns; /* sample the CPUs once in so long; 0: never */
	bool futex;
	bool disks;         /* report for which request to a disk a thread slept */
	bool network;       /* report through which connection came what a thread slept for */
	bool reclaim;       /* report when a thread has to free memory by itself */
	bool signals;       /* report of signals that stop, continue or end processes, and of their senders */
	bool follow;        /* threads that are not recorded, once they end long sleeps of recorded ones */
	bool quota;         /* report when a CPU quota keeps threads from running */
	bool command_lines; /* record the arguments of processes */
	bool paths;         /* record where files are; else no arguments either */
	bool by_process;    /* so that one process can be taken out of the capture */
	bool late_attach;
	bool no_children;   /* only the processes that were named */
	bool wait_all;      /* until the last recorded process has ended, not only those that were named */
	bool single, plain; /* see struct attach_options */
	const uint32_t *pids;
	size_t npids;
	const char *const *libs;
	size_t nlibs;
	char *const *command; /* argv, or NULL */
	/* Close what this process was started with, but for the standard descriptors. The command gets all of it. */
	bool close_inherited;
	/* Something a person may want to know, one line. level 0: always, 1: with -v. */
	void (*note)(int level, const char *text);
	/* As in struct attach_options. */
	void (*verifier)(const char *program, const char *log);
	/* How it goes, about once a second, one line; NULL: nobody watches. */
	void (*status)(const char *text);
};

/* Something that was not inspected, as a person is reported. */
struct missing {
	char text[200];
	bool ordinary; /* on a busy host it always is so: nobody but who asks (-v) needs to know */
	bool calls;    /* calls may be missing for it, not only names */
};
#define MISSING_MAX 32

/* A recorded process that still ran when recording ended. */
struct survivor {
	uint32_t pid;
	char name[64]; /* raw; "": not known */
};
#define SURVIVORS_NAMED 8

struct recording_result {
	enum reason reason;
	bool command_ended;
	int command_status;  /* wait(2) */
	int64_t command_pid; /* it goes on, unrecorded; 0: it does not */
	struct survivor survivors[SURVIVORS_NAMED];
	uint64_t nfollowed; /* threads */
	size_t nsurvivors;  /* there may be more than are named */
	size_t nlibraries;  /* that carried probes */
	char key_id[32];
	char path[4096];        /* of the last capture */
	uint64_t ncaptures;     /* 1 without rotation */
	uint64_t written_bytes; /* of all of them together */
	uint64_t nepochs;       /* of the last one */
	bool end_unknown;       /* writing its end failed: it may be there */
	char output[80];        /* what happened to the last capture's file while it was written; "": it is there */
	uint64_t nrows;         /* events of all kinds in all of them */
	uint64_t duration_ns;
	uint64_t cpu_ns, peak_bytes; /* of gpurec itself: CPU time; the most memory it had */
	uint64_t ring_high_bytes;    /* the fullest the ring has been */
	struct missing missing[MISSING_MAX];
	size_t nmissing;
	uint64_t skipped_runs; /* attach_skipped() */
	char skipped[200];
	struct counter *counters; /* as in END */
	size_t ncounters;
};

struct recording;

/*
 * The name of the nth capture (from 1) of a recording with rotation: run.cap becomes run-00001.cap. ERR_INPUT: too
 * long.
 */
int rotate_path(char *buf, size_t size, const char *path, uint64_t number, struct fault *why);

/*
 * Starts recording. On failure nothing is left behind: no file that was not there, no process. ERR_INPUT: something the
 * person named is not there; ERR_EXISTS, ERR_DENIED, ERR_IO, ERR_KEY, ERR_MEMORY.
 */
int recording_open(struct recording **s, const struct recording_options *o, struct fault *why);

/*
 * Record to the end. 0 with *result, whose counters the caller frees. On failure the capture holds the epochs that were
 * sealed before, *result shows how many (nepochs) and the command's fate.
 */
int recording_run(struct recording *s, struct recording_result *result, struct fault *why);

/* Returns as attach_close() does. */
uint64_t recording_close(struct recording *s);

#endif
