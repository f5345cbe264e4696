/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A limit by the clock for a query of SQLite. SQLite's progress handler runs between the steps of its machine only, and
 * one step may be a function that takes minutes, so another thread watches the time.
 */
#ifndef GPUREC_ANALYZE_WATCHDOG_H
#define GPUREC_ANALYZE_WATCHDOG_H

#include <pthread.h>
#include <stdbool.h>

#include "format/base/fault.h"

struct sqlite3;

struct watchdog {
	struct sqlite3 *db;
	unsigned seconds;
	/*
	 * Called by the watching thread when a query goes on although it was interrupted, a while after the limit.
	 * There is no way to end a function of SQLite but to end the process.
	 */
	void (*stuck)(void *arg);
	void *arg;
	/* private */
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool done, barked;
};

/*
 * Begin to watch: interrupt what runs in w->db after w->seconds, and call w->stuck when it still runs an eighth of that
 * (and a second) later. The first group of members is the caller's. ERR_MEMORY: no thread could be made.
 */
int watchdog_start(struct watchdog *w, struct fault *why);

/* End it; true: the limit was reached. */
bool watchdog_stop(struct watchdog *w);

#endif
