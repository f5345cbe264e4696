/* SPDX-License-Identifier: Apache-2.0 */
#include "record/inspect/helper.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "keys/tool/confine.h"

#ifndef __SANITIZE_ADDRESS__
#define MEMORY_MAX (1ull << 30) /* of a worker: names, symbols, answer */
#else
#define MEMORY_MAX RLIM_INFINITY /* AddressSanitizer reserves terabytes */
#endif
#define KEPT_MAX 8 /* descriptors of a keeper that are no links */
/* A keeper begins processes and kills them; it reads nothing that anybody else wrote. */
#define KEEPER (SYSCALLS_SIGNAL | SYSCALLS_FOREIGN)
#define STOP_MS 5000 /* that the keeper has to take the probes off */

/* --- the worker --- */

static void limit(int what, rlim_t most)
{
	const struct rlimit r = {most, most};

	(void)setrlimit(what, &r);
}

/*
 * What record/recording.c keeps for later attachments, but for the rights to signal and to load. Whoever cannot be
 * confined answers nothing.
 */
static void confine(bool late, unsigned keep)
{
	static const int caps[] = {CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH, CAP_CHECKPOINT_RESTORE};
	struct fault why;

	if (confine_recorder(caps, late ? sizeof(caps) / sizeof(caps[0]) : 0, NULL, keep | (late ? SYSCALLS_BPF : 0),
			     &why) < 0)
		_exit(1);
}

/* What keeps the probes on becomes the keeper's. Where there is no room, there are no probes. */
static void publish_links(struct helper_board *board, struct attach *attach, struct attach_site *sites, size_t n)
{
	size_t new = attach_nlinks(attach);

	if (new <= HELPER_LINKS_MAX - board->nlinks) {
		board->nlinks += (uint32_t)attach_take_links(attach, board->links + board->nlinks, new);
		return;
	}
	attach_drop_links(attach);
	for (size_t i = 0; i < n; i++)
		sites[i].error = ENFILE;
}

static _Noreturn void work(int questions, int answers, struct helper_board *board, const struct procfs *fs,
			   struct attach *attach, bool late)
{
	struct procfs own = *fs;
	struct bytes answer = {0};
	struct bench *bench = NULL;
	uint64_t number;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	kernel_clock_open(&own.clock, fs->root_fd);
	limit(RLIMIT_CORE, 0);
	limit(RLIMIT_DATA, MEMORY_MAX);
	confine(late, 0);
	if (bench_new(&bench, &own, attach, NULL) < 0)
		_exit(1);
	bench_publish(bench, publish_links, board);
	while (read(questions, &number, sizeof(number)) == sizeof(number)) {
		const struct inspect_ask ask = board->ask;
		struct helper_bell bell = {.number = number};

		/* One that was asked of a worker before. */
		if (number != __atomic_load_n(&board->number, __ATOMIC_ACQUIRE) || ask.nsites > IMAGE_MATCHES_MAX)
			continue;
		if (!bench_work(bench, &ask, board->sites, &answer) || answer.len > sizeof(board->answer))
			break;
		memcpy(board->answer, answer.data, answer.len);
		bell.bytes = answer.len;
		if (write(answers, &bell, sizeof(bell)) != sizeof(bell))
			break;
	}
	_exit(0);
}

/* --- the keeper --- */

/* Nothing stays open but these. A kernel that does not close them has none that matter. */
static void close_but(int *kept, size_t n)
{
	(void)confine_close_but(kept, n, NULL);
}

/* Of the descriptors that a worker leaves only links stay. */
static void close_but_links(const int *own, size_t nown, const struct helper_board *board)
{
	size_t nlinks = board->nlinks < HELPER_LINKS_MAX ? board->nlinks : HELPER_LINKS_MAX;
	int *kept = malloc((nown + nlinks) * sizeof(*kept));

	if (!kept)
		return;
	memcpy(kept, own, nown * sizeof(*own));
	memcpy(kept + nown, board->links, nlinks * sizeof(*kept));
	close_but(kept, nown + nlinks);
	free(kept);
}

static void silence(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = 0; fd <= STDERR_FILENO && null >= 0; fd++)
		(void)dup2(null, fd);
}

/* A child that shares our descriptors. */
static pid_t begin_worker(void)
{
	return (pid_t)syscall(SYS_clone, CLONE_FILES | SIGCHLD, NULL, NULL, NULL, NULL);
}

static _Noreturn void keep(int questions, int answers, int command, struct helper_board *board, const struct procfs *fs,
			   struct attach *attach)
{
	int own[KEPT_MAX] = {questions, answers, command, fs->root_fd};
	size_t n = 4;
	bool late = true;
	ssize_t got;
	char byte;

	if (attach)
		n += attach_leave_to_child(attach, own + n, KEPT_MAX - n);
	signal(SIGCHLD, SIG_IGN); /* nobody waits for a worker, least of all for one that hangs */
	silence();
	close_but(own, n);
	(void)prctl(PR_SET_NAME, "gpurec-inspect");
	confine(late, KEEPER);
	do {
		pid_t worker = begin_worker();

		if (worker == 0)
			work(questions, answers, board, fs, attach, late);
		do
			got = read(command, &byte, 1);
		while (got < 0 && errno == EINTR);
		if (worker > 0)
			(void)kill(worker, SIGKILL);
		if (got == 1)
			close_but_links(own, n, board);
		if (got == 1 && byte == HELPER_NARROW && late) {
			late = false;
			confine(late, KEEPER);
		}
	} while (got == 1);
	/* All, for one that hangs has them, too. */
	close_but(own, 0);
	_exit(0);
}

/* --- the recorder's side --- */

static void close_pair(const int fds[2])
{
	for (int i = 0; i < 2; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

int helper_start(struct helper *h, const struct procfs *fs, struct attach *attach, struct fault *why)
{
	int ask[2] = {-1, -1}, answer[2] = {-1, -1}, command[2] = {-1, -1};
	struct helper_board *board =
		mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid;

	if (board == MAP_FAILED || pipe2(ask, O_CLOEXEC) < 0 || pipe2(answer, O_CLOEXEC) < 0 ||
	    pipe2(command, O_CLOEXEC) < 0 || (pid = fork()) < 0) {
		fault_errno(why, "cannot begin the process that inspects files");
		close_pair(ask);
		close_pair(answer);
		close_pair(command);
		if (board != MAP_FAILED)
			munmap(board, sizeof(*board));
		return ERR_IO;
	}
	if (pid == 0)
		keep(ask[0], answer[1], command[0], board, fs, attach);
	close(ask[0]);
	close(answer[1]);
	close(command[0]);
	(void)fcntl(ask[1], F_SETFL, O_NONBLOCK);
	(void)fcntl(answer[0], F_SETFL, O_NONBLOCK);
	(void)fcntl(command[1], F_SETFL, O_NONBLOCK);
	*h = (struct helper){.keeper = pid, .ask = ask[1], .answer = answer[0], .command = command[1], .board = board};
	return 0;
}

void helper_replace(const struct helper *h, char how)
{
	while (write(h->command, &how, 1) < 0 && errno == EINTR)
		;
}

void helper_stop(struct helper *h)
{
	if (!h->keeper)
		return;
	close(h->command);
	close(h->ask);
	close(h->answer);
	for (int ms = 0; ms < STOP_MS && waitpid(h->keeper, NULL, WNOHANG) == 0; ms++)
		usleep(1000);
	munmap(h->board, sizeof(*h->board));
	memset(h, 0, sizeof(*h));
}

bool helper_send(const struct helper *h, uint64_t number, const struct inspect_ask *ask,
		 const struct attach_site *sites)
{
	if (ask->nsites > IMAGE_MATCHES_MAX)
		return false;
	h->board->ask = *ask;
	if (ask->nsites)
		memcpy(h->board->sites, sites, ask->nsites * sizeof(*sites));
	__atomic_store_n(&h->board->number, number, __ATOMIC_RELEASE);
	return write(h->ask, &number, sizeof(number)) == sizeof(number);
}

bool helper_receive(const struct helper *h, uint64_t number, struct bytes *answer)
{
	struct helper_bell bell;

	while (read(h->answer, &bell, sizeof(bell)) == sizeof(bell)) {
		if (bell.number != number)
			continue;
		bytes_reset(answer);
		if (bell.bytes <= sizeof(h->board->answer))
			bytes_add(answer, h->board->answer, (size_t)bell.bytes);
		return true;
	}
	return false;
}
