/* SPDX-License-Identifier: Apache-2.0 */
/* gpurec's command line. */
#include <fcntl.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "format/base/units.h"
#include "keys/plain_text.h"
#include "record/gpurec_internal.h"

#define LIBS_MAX 256
#define MS_NS 1000000ull
#define S_NS 1000000000ull

enum uprobes { UPROBES_MULTI, UPROBES_PLAIN, UPROBES_SINGLE };
static const char *const uprobes[] = {
	[UPROBES_MULTI] = "multi", [UPROBES_PLAIN] = "plain", [UPROBES_SINGLE] = "single", NULL};

enum waits { WAIT_COMMAND, WAIT_ALL };
static const char *const waits[] = {[WAIT_COMMAND] = "command", [WAIT_ALL] = "all", NULL};

/* "1200", "1200,1201". */
static int take_pids(void *settings, const char *value, struct fault *why)
{
	struct settings *s = settings;
	char one[24];
	uint64_t pid;

	for (const char *p = value;; p++) {
		size_t n = strcspn(p, ",");

		snprintf(one, sizeof(one), "%.*s", (int)(n < sizeof(one) ? n : sizeof(one) - 1), p);
		if (number_parse(one, 1, 4194304, &pid, why) < 0)
			return ERR_INPUT;
		if (s->o.npids == PIDS_MAX)
			return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "more than %d processes", PIDS_MAX);
		s->pids[s->o.npids++] = (uint32_t)pid;
		p += n;
		if (!*p)
			return 0;
	}
}

static int take_sample(void *settings, const char *value, struct fault *why)
{
	struct settings *s = settings;

	return budget_take_sample(&s->o.budget, value, why);
}

/* An even number of hex digits. */
static int take_challenge(void *settings, const char *value, struct fault *why)
{
	struct recording_options *o = &((struct settings *)settings)->o;
	const char *end = value + strlen(value);

	if (sodium_hex2bin(o->challenge, sizeof(o->challenge), value, strlen(value), NULL, &o->challenge_bytes, &end) ||
	    *end || o->challenge_bytes == 0)
		return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "'%.160s' is not 2 to %d hex digits, two for a byte",
				 value, 2 * CHALLENGE_BYTES_MAX);
	return 0;
}

/* Printable text; a report prints it on one line. */
static int take_authority(void *settings, const char *value, struct fault *why)
{
	struct settings *s = settings;

	if (!plain_text_valid(value, strlen(value), AUTHORITY_BYTES_MAX))
		return fault_set(
			why, ERR_INPUT, FAULT_NOWHERE,
			"1 to %d bytes of printable text without quotation mark, backslash or outer blanks are needed",
			AUTHORITY_BYTES_MAX);
	s->o.authority = value;
	return 0;
}

static int take_ring(void *settings, const char *value, struct fault *why)
{
	struct settings *s = settings;

	if (size_parse(value, &s->o.ring_bytes, why) < 0)
		return ERR_INPUT;
	if (!attach_ring_valid(s->o.ring_bytes))
		return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "'%.64s' is not a power of two from %" PRIu64 "K to 1G",
				 value, attach_ring_min() >> 10);
	return 0;
}

#define AT(member) .at = offsetof(struct settings, member)

static const struct tool_option option_table[] = {
	{"output", 'o', "FILE", "the capture to make", TOOL_FILE, AT(o.path)},
	{"duration", 'd', "TIME", "stop after TIME: 90s, 5m, 1h; a bare number is seconds", TOOL_SECONDS,
	 AT(o.duration_ns), .min = 1},
	{"rotate", 0, "TIME", "begin another capture after each TIME, nothing lost between: FILE-00001.cap, ...",
	 TOOL_DURATION, AT(o.rotate_ns), .min = S_NS},
	{"max-size", 0, "SIZE", "end before the capture (with --rotate: all together) is larger: 10G", TOOL_SIZE,
	 AT(o.budget.max_bytes), .min = BUDGET_BYTES_MIN},
	{"max-rate", 0, "N", "record at most N events a second; the others are counted", TOOL_NUMBER, AT(max_rate),
	 .min = 1, .max = UINT32_MAX},
	{"sample", 0, "KIND=N", "record one in N of this kind, launch for example; the others are counted (repeatable)",
	 TOOL_CALL, .take = take_sample},
	{"metrics", 0, "TIME", "sample how busy each CPU is, once in TIME, from 1ms to 1h", TOOL_DURATION,
	 AT(o.metrics_ns), .min = MS_NS, .max = 3600 * S_NS},
	{"pid", 'p', "PID,...", "record these processes and what descends from them (repeatable)", TOOL_CALL,
	 .take = take_pids},
	{"no-children", 0, NULL, "with -p or COMMAND: do not record the children of these processes", TOOL_SET,
	 AT(o.no_children)},
	{"wait", 0, "FOR",
	 "record until COMMAND, or the last process of -p, has ended (command), or all recorded ones (all)", TOOL_WORD,
	 AT(wait), .words = waits},
	{"lib", 0, "PATH", "probe this library or program too (repeatable)", TOOL_LIST, AT(libs), .max = LIBS_MAX},
	{"key", 0, "FILE", "sign with this secret key instead of the host's", TOOL_FILE, AT(o.key_path)},
	{"passphrase-fd", 0, "N", "read the key's passphrase from descriptor N, not from the terminal", TOOL_DESCRIPTOR,
	 AT(o.passphrase_fd)},
	{"challenge", 0, "HEX", "put these bytes into the signed header: a verifier's, who then knows it is no older",
	 TOOL_CALL, .take = take_challenge},
	{"authority", 0, "TEXT", "seal who allowed this recording, and why", TOOL_CALL, .take = take_authority},
	{"force", 0, NULL, "replace FILE if it is there", TOOL_SET, AT(o.force)},
	{"ring", 0, "SIZE", "kernel buffer, a power of two: 16M", TOOL_CALL, .take = take_ring},
	{"no-futex", 0, NULL, "do not trace futexes; libraries that are loaded later are detected within a second",
	 TOOL_CLEAR, AT(o.futex)},
	{"no-quota", 0, NULL, "do not record CPU quotas, nor when one keeps a thread from running", TOOL_CLEAR,
	 AT(o.quota)},
	{"no-disks", 0, NULL, "do not record for which request to a disk a thread waits", TOOL_CLEAR, AT(o.disks)},
	{"no-network", 0, NULL, "do not record through which connection came what a thread waited for", TOOL_CLEAR,
	 AT(o.network)},
	{"no-reclaim", 0, NULL, "do not record when a thread has to free memory by itself", TOOL_CLEAR, AT(o.reclaim)},
	{"no-signals", 0, NULL, "do not record who stops, continues or ends processes by a signal", TOOL_CLEAR,
	 AT(o.signals)},
	{"no-follow", 0, NULL, "do not follow threads that are not recorded, but keep recorded ones waiting",
	 TOOL_CLEAR, AT(o.follow)},
	{"no-command-lines", 0, NULL, "do not record the arguments of processes, which may hold secrets", TOOL_CLEAR,
	 AT(o.command_lines)},
	{"by-process", 0, NULL, "keep processes apart, so that gpureplay --pid can hand over one of them; larger files",
	 TOOL_SET, AT(o.by_process)},
	{"no-paths", 0, NULL, "do not record where files are, nor the arguments of processes", TOOL_CLEAR, AT(o.paths)},
	{"no-late-attach", 0, NULL, "give up every capability; libraries loaded later are not probed", TOOL_CLEAR,
	 AT(o.late_attach)},
	{"uprobes", 0, "HOW", "how to attach: multi (the default, fastest), plain, or single (kernels before 6.6)",
	 TOOL_WORD, AT(uprobes), .words = uprobes},
	{"nvml", 0, "PATH",
	 "ask this library for the GPUs' health; no: none (libnvidia-ml.so.1, where there is a driver)", TOOL_TEXT,
	 AT(o.nvml)},
	{"check", 0, NULL, "report what this host allows, and exit", TOOL_SET, AT(check)},
	{"json", 0, NULL, "with --check: as one JSON object", TOOL_SET, AT(json)},
	TOOL_VERBOSE("show the kernel's reasons too; given twice, all that its verifier printed"),
	{0},
};

static const struct tool_options options = {
	.synopsis = "-o FILE [-d 5m] [-p PID]... [--lib PATH]... [--key FILE] [-- COMMAND ARG...]\n--check [--json] "
		    "[OPTION]...\n",
	.summary = "Records what GPU programs do on this host into a sealed capture.",
	.table = option_table,
	.more = "Without -p and COMMAND every process that uses CUDA is recorded. Ctrl-C seals and ends.\n"
		"The exit status is COMMAND's; 3: recording failed; 2: wrong usage.\n",
};

/* What the options mean together. -1: go on; else the status to leave with. */
static int check_settings(struct settings *s)
{
	int fd = s->o.passphrase_fd;

	if (s->o.path && !strcmp(s->o.path, "-"))
		return tool_usage("--output: a capture is sealed on disk; name a file");
	/* COMMAND must not find it; the first three it does inherit. */
	if (fd > STDERR_FILENO && fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
		return tool_usage("--passphrase-fd: there is no descriptor %d", fd);
	if (s->o.command && fd >= 0 && fd <= STDERR_FILENO)
		return tool_usage("--passphrase-fd: COMMAND would inherit descriptor %d; use another: 3<FILE", fd);
	if (s->json && !s->check)
		return tool_usage("--json goes with --check; gpureplay --json shows what was recorded");
	if (s->check && s->o.command)
		return tool_usage("--check takes no COMMAND");
	if (s->o.rotate_ns && s->o.force)
		return tool_usage("--rotate and --force cannot be combined: a rotation never replaces a file");
	if (s->o.no_children && !s->o.npids && !s->o.command)
		return tool_usage("--no-children goes with -p or COMMAND");
	if (s->o.wait_all && !s->o.npids && !s->o.command)
		return tool_usage("--wait=all goes with -p or COMMAND");
	if (!s->check && !s->o.path)
		return tool_usage("no output: -o FILE is needed");
	return -1;
}

int settings_read(struct settings *s, int argc, char **argv)
{
	int operands = 0, status;

	s->o = (struct recording_options){.passphrase_fd = -1,
					  .ring_bytes = RING_BYTES_DEFAULT,
					  .futex = true,
					  .quota = true,
					  .signals = true,
					  .disks = true,
					  .network = true,
					  .reclaim = true,
					  .follow = true,
					  .command_lines = true,
					  .paths = true,
					  .late_attach = true};
	status = tool_read_options(&options, true, argc, argv, s, &operands);
	if (status >= 0)
		return status;
	s->o.pids = s->pids;
	s->o.libs = s->libs.items;
	s->o.nlibs = s->libs.n;
	s->o.budget.max_rate = (uint32_t)s->max_rate;
	s->o.wait_all = s->wait == WAIT_ALL;
	s->o.single = s->uprobes == UPROBES_SINGLE;
	s->o.plain = s->uprobes == UPROBES_PLAIN;
	if (operands == argc && !strcmp(argv[argc - 1], "--"))
		return tool_usage("no COMMAND after --");
	if (operands < argc)
		s->o.command = argv + operands;
	return check_settings(s);
}
