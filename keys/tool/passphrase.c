/* SPDX-License-Identifier: Apache-2.0 */
#include "keys/tool/passphrase.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sodium.h>
#include <string.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

/* An outcome of one attempt on the terminal, beside 0 and errors: Ctrl-Z, and continued since. */
#define STOPPED 1

/* What a person or the system does to end or stop a program at a prompt. */
static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP};

/* One line, without its end, into buf. Reads byte by byte: what follows on a descriptor is not ours. */
static int read_line(char buf[PASSPHRASE_MAX], int fd, struct fault *why)
{
	size_t len = 0;
	ssize_t n;
	char c;

	for (;;) {
		n = read(fd, &c, 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return fault_errno(why, "the passphrase cannot be read");
		if (n == 0 || c == '\n')
			break;
		if (len == PASSPHRASE_MAX - 1 || c == '\0')
			return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "a passphrase is one line of at most %d bytes",
					 PASSPHRASE_MAX - 1);
		buf[len++] = c;
	}
	buf[len] = '\0';
	if (len == 0)
		return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "the passphrase is empty");
	return 0;
}

/* With echo off and the signals blocked: wait for a line, or a signal. */
static int read_silently(char buf[PASSPHRASE_MAX], int tty, int signal_fd, struct fault *why)
{
	struct pollfd fds[2] = {{.fd = tty, .events = POLLIN}, {.fd = signal_fd, .events = POLLIN}};
	sigset_t pending;
	size_t i;

	while (poll(fds, 2, -1) < 0)
		if (errno != EINTR)
			return fault_errno(why, "the terminal cannot be waited for");
	/* Not taken from the descriptor: it is delivered as always, once the terminal is put right. */
	if (fds[1].revents) {
		sigpending(&pending);
		for (i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
			if (signals[i] != SIGTSTP && sigismember(&pending, signals[i]) == 1)
				return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "interrupted at the passphrase");
		return STOPPED;
	}
	return read_line(buf, tty, why);
}

static int ask_once(char buf[PASSPHRASE_MAX], int tty, const char *prompt, struct fault *why)
{
	struct termios before, silent;
	sigset_t block, unblock;
	int signal_fd, r;
	size_t i;

	sigemptyset(&block);
	for (i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaddset(&block, signals[i]);
	signal_fd = signalfd(-1, &block, SFD_CLOEXEC);
	if (signal_fd < 0)
		return fault_errno(why, "signals cannot be waited for");
	sigprocmask(SIG_BLOCK, &block, &unblock);
	if (tcgetattr(tty, &before) < 0) {
		r = fault_errno(why, "the terminal cannot be examined");
		goto out;
	}
	silent = before;
	silent.c_lflag &= ~(tcflag_t)(ECHO | ECHOE | ECHOK);
	silent.c_lflag |= ICANON | ISIG | ECHONL;
	if (tcsetattr(tty, TCSAFLUSH, &silent) < 0 || write(tty, prompt, strlen(prompt)) < 0)
		r = fault_errno(why, "the terminal cannot be used");
	else
		r = read_silently(buf, tty, signal_fd, why);
	if (tcsetattr(tty, TCSAFLUSH, &before) < 0 && r == 0)
		r = fault_errno(why, "the terminal's echo cannot be put back; run: stty echo");
out:
	close(signal_fd);
	sigprocmask(SIG_SETMASK, &unblock, NULL);
	return r;
}

static int ask(char buf[PASSPHRASE_MAX], const char *prompt, struct fault *why)
{
	int tty = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY), r;

	if (tty < 0)
		return fault_set(why, ERR_INPUT, FAULT_NOWHERE,
				 "a passphrase is needed and there is no terminal to ask on; pass it with "
				 "--passphrase-fd, or use a key without one");
	do {
		r = ask_once(buf, tty, prompt, why);
	} while (r == STOPPED);
	close(tty);
	return r;
}

int passphrase_read(char buf[PASSPHRASE_MAX], int fd, const char *prompt, struct fault *why)
{
	int r = fd >= 0 ? read_line(buf, fd, why) : ask(buf, prompt, why);

	if (r < 0)
		sodium_memzero(buf, PASSPHRASE_MAX);
	return r;
}
