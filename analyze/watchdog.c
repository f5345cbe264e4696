// SPDX-License-Identifier: Apache-2.0
#include "analyze/watchdog.h"

#include <errno.h>
#include <sqlite3.h>
#include <string.h>
#include <time.h>

/* Under the lock: until it is done, true, or until that many seconds are over, false. */
static bool wait_done(struct watchdog *w, unsigned seconds)
{
	struct timespec until;
	int r = 0;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += seconds;
	while (!w->done && r != ETIMEDOUT)
		r = pthread_cond_timedwait(&w->wake, &w->lock, &until);
	return w->done;
}

static void *watch(void *arg)
{
	struct watchdog *w = arg;

	pthread_mutex_lock(&w->lock);
	if (!wait_done(w, w->seconds)) {
		w->barked = true;
		sqlite3_interrupt(w->db);
		if (!wait_done(w, 1 + w->seconds / 8))
			w->stuck(w->arg);
	}
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

static void clear(struct watchdog *w)
{
	pthread_cond_destroy(&w->wake);
	pthread_mutex_destroy(&w->lock);
}

int watchdog_start(struct watchdog *w, struct fault *why)
{
	pthread_condattr_t monotonic;
	int error;

	w->done = w->barked = false;
	pthread_mutex_init(&w->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&w->wake, &monotonic);
	pthread_condattr_destroy(&monotonic);
	error = pthread_create(&w->thread, NULL, watch, w);
	if (error == 0)
		return 0;
	clear(w);
	return fault_set(why, ERR_MEMORY, FAULT_NOWHERE, "cannot make a thread that watches the time: %s",
			 strerror(error));
}

bool watchdog_stop(struct watchdog *w)
{
	pthread_mutex_lock(&w->lock);
	w->done = true;
	pthread_cond_signal(&w->wake);
	pthread_mutex_unlock(&w->lock);
	pthread_join(w->thread, NULL);
	clear(w);
	return w->barked;
}
