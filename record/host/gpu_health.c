/* SPDX-License-Identifier: Apache-2.0 */
#include "record/host/gpu_health.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "keys/tool/confine.h"
#include "record/host/hostfacts.h"
#include "record/row.h"

#define PERIOD_MS 1000

enum said { SAID_DRIVER, SAID_GPU, SAID_SAMPLE, SAID_PROBLEM };

/* Less than a pipe takes at once, so that it comes whole. */
struct message {
	uint32_t said, gpu;
	uint64_t at_ns;
	union {
		struct {
			uint32_t ngpus;
			char version[NVML_TEXT];
		} driver;
		struct nvml_gpu gpu_info;
		uint64_t v[NFIELDS_health];
		char problem[256];
	};
};
_Static_assert(sizeof(struct message) <= 512, "a message must go through a pipe in one piece");

bool health_possible(void)
{
	return access("/dev/nvidiactl", F_OK) == 0 || access("/dev/dxg", F_OK) == 0;
}

/* --- the process that asks --- */

/* Nobody reads any more: there is nothing left to do. A reader that is slow has lost a sample. */
static void say(int fd, struct message *m)
{
	m->at_ns = clock_ns(CLOCK_BOOTTIME);
	if (write(fd, m, sizeof(*m)) < 0 && errno != EAGAIN)
		_exit(0);
}

static void report_problem(int fd, const char *text)
{
	struct message m;

	memset(&m, 0, sizeof(m));
	m.said = SAID_PROBLEM;
	snprintf(m.problem, sizeof(m.problem), "%s", text);
	say(fd, &m);
	_exit(0);
}

static _Noreturn void ask(int fd, const char *library, pid_t parent)
{
	struct pollfd reader = {.fd = fd}; /* shows when it is closed at the other end */
	struct message m;
	struct fault why;
	struct nvml *n;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(0);
	/* First the rights, then the library: it never has more than its user. */
	if (confine_recorder(NULL, 0, NULL, SYSCALLS_FOREIGN, &why) < 0 || nvml_open(&n, library, &why) < 0)
		report_problem(fd, why.text);
	memset(&m, 0, sizeof(m));
	m.said = SAID_DRIVER;
	m.driver.ngpus = nvml_ngpus(n);
	nvml_driver(n, m.driver.version);
	say(fd, &m);
	for (uint32_t i = 0; i < nvml_ngpus(n); i++) {
		memset(&m, 0, sizeof(m));
		m.said = SAID_GPU;
		m.gpu = i;
		nvml_describe(n, i, &m.gpu_info);
		say(fd, &m);
	}
	do {
		for (uint32_t i = 0; i < nvml_ngpus(n); i++) {
			memset(&m, 0, sizeof(m));
			m.said = SAID_SAMPLE;
			m.gpu = i;
			nvml_sample(n, i, m.v);
			say(fd, &m);
		}
	} while (poll(&reader, 1, PERIOD_MS) == 0 || errno == EINTR);
	_exit(0);
}

void health_start(struct health *h, const char *library)
{
	int ends[2];
	pid_t pid, parent = getpid();

	memset(h, 0, sizeof(*h));
	h->fd = -1;
	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0) {
		snprintf(h->problem, sizeof(h->problem), "no pipe: %s", strerror(errno));
		return;
	}
	pid = fork();
	if (pid == 0) {
		close(ends[0]);
		ask(ends[1], library ? library : NVML_LIBRARY, parent);
	}
	close(ends[1]);
	if (pid < 0) {
		snprintf(h->problem, sizeof(h->problem), "no process: %s", strerror(errno));
		close(ends[0]);
		return;
	}
	h->fd = ends[0];
}

/* It sees its pipe closed. One that the driver holds is killed when we end. */
void health_stop(struct health *h)
{
	if (h->fd >= 0)
		close(h->fd);
	h->fd = -1;
}

/* --- what it said --- */

static int emit_gpu(struct writer *w, const struct message *m, uint64_t at_ns, struct fault *why)
{
	struct row row = row_of(KIND_gpu, at_ns);

	row.v[F_gpu_index] = m->gpu;
	row.v[F_gpu_memory] = m->gpu_info.memory_bytes;
	row_text(&row, F_gpu_name, m->gpu_info.name);
	row_text(&row, F_gpu_uuid, m->gpu_info.uuid);
	row_text(&row, F_gpu_pci, m->gpu_info.pci);
	return row_emit(&row, w, why);
}

/* It is our own program at the other end, but with another's code in it: every text is ended here. */
static void learn(struct health *h, struct message *m)
{
	if (m->said == SAID_DRIVER) {
		m->driver.version[sizeof(m->driver.version) - 1] = 0;
		h->ngpus = m->driver.ngpus;
		strcpy(h->driver, m->driver.version);
	} else {
		m->problem[sizeof(m->problem) - 1] = 0;
		strcpy(h->problem, m->problem);
	}
}

static int take(struct health *h, const struct kernel_clock *clock, struct writer *w, struct message *m,
		uint64_t begin_ns, struct fault *why)
{
	uint64_t now = kernel_boot_ns(clock), at_ns = m->at_ns - (uint64_t)clock->boot_ns;

	if (at_ns > now)
		at_ns = now;
	if (at_ns < begin_ns)
		at_ns = begin_ns;
	switch ((enum said)m->said) {
	case SAID_DRIVER:
		learn(h, m);
		return fact_emitf(w, at_ns, why, "nvml", "driver %s, %u GPUs", h->driver, h->ngpus);
	case SAID_GPU:
		m->gpu_info.name[NVML_TEXT - 1] = m->gpu_info.uuid[NVML_TEXT - 1] = m->gpu_info.pci[NVML_TEXT - 1] = 0;
		return emit_gpu(w, m, at_ns, why);
	case SAID_SAMPLE:
		h->nsamples++;
		m->v[F_health_at] = at_ns;
		return writer_add(w, KIND_health, m->v, NULL, why);
	default:
		learn(h, m);
		return fact_emit_pathless(w, at_ns, "nvml", h->problem, why);
	}
}

int health_take(struct health *h, const struct kernel_clock *clock, struct writer *w, uint64_t begin_ns,
		struct fault *why)
{
	struct message m;
	ssize_t n;
	int r = 0;

	while (h->fd >= 0 && r == 0) {
		uint64_t now = kernel_boot_ns(clock);

		n = read(h->fd, &m, sizeof(m));
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			break;
		if (n == (ssize_t)sizeof(m)) {
			r = take(h, clock, w, &m, begin_ns, why);
			continue;
		}
		health_stop(h);
		if (h->problem[0])
			break;
		strcpy(h->problem, "the process that asks NVML has ended");
		r = fact_emit(w, begin_ns > now ? begin_ns : now, "nvml", h->problem, why);
	}
	return r;
}

void health_await(struct health *h, int ms)
{
	struct pollfd p = {.fd = h->fd, .events = POLLIN};
	struct message m;

	if (h->fd < 0)
		return;
	if (poll(&p, 1, ms) <= 0 || read(h->fd, &m, sizeof(m)) != (ssize_t)sizeof(m))
		snprintf(h->problem, sizeof(h->problem), "NVML does not answer");
	else
		learn(h, &m);
}
