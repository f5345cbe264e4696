/* SPDX-License-Identifier: Apache-2.0 */
/* gpukey: make keys, say which ones this machine trusts, and sign with them. Each subcommand has a file gpukey_*.c. */
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "keys/confine.h"
#include "keys/gpukey_inside.h"

#define FD_MAX 1023

int gpukey_operands(const struct tool_options *o, int argc, char **argv, int max, int *status)
{
	const char *value;
	int operands;

	if (tool_next_option(o, false, argc, argv, &value, &operands, status) < 0)
		return -1;
	if (argc - operands > max) {
		*status = tool_usage("%s is one word too many", argv[operands + max]);
		return -1;
	}
	return operands;
}

int gpukey_passphrase_fd(int *fd, const char *value, int *status)
{
	struct fault why;
	uint64_t n;

	if (tool_parse_number(value, 0, FD_MAX, &n, &why) < 0) {
		*status = tool_usage("--passphrase-fd: %s", why.text);
		return -1;
	}
	*fd = (int)n;
	return 0;
}

int gpukey_no_memory(void)
{
	tool_error("no locked memory for a secret key");
	return TOOL_FAILED;
}

bool gpukey_exists(const char *path)
{
	return faccessat(AT_FDCWD, path, F_OK, AT_EACCESS | AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT;
}

/* One line for each subcommand; what is said about wrong ones follows from it. */
static const struct subcommand {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *synopsis; /* what stands behind the name */
} subcommands[] = {
	{"generate", gpukey_generate, "[-W] [-f] [-s FILE [-p FILE]]"},
	{"list", gpukey_list, ""},
	{"show", gpukey_show, "[FILE | NAME | KEYID]"},
	{"trust", gpukey_trust, "FILE | BASE64 [--name NAME]"},
	{"untrust", gpukey_untrust, "KEYID | NAME"},
	{"sign", gpukey_sign,
	 "[-s FILE] [-t TEXT] [-o SIG] [-f] FILE...\n"
	 "sign --custody ACT [--name WHO] [--note TEXT] [-s FILE] CAPTURE..."},
	{"check", gpukey_check, "[--signature SIG] [--trust PUB]... FILE"},
	{"delegate", gpukey_delegate, "--name NAME --for TIME | --until DATE [--from DATE] [-s FILE] [-o FILE] PUB"},
	{"revoke", gpukey_revoke, "[--since DATE] [--reason TEXT] [-s FILE] [-o FILE] PUB | DELEGATION"},
};
#define NSUBCOMMANDS (sizeof(subcommands) / sizeof(subcommands[0]))

/* "generate, list or show" */
static const char *names(char *buf, size_t size)
{
	size_t i, len = 0;

	for (i = 0; i < NSUBCOMMANDS && len < size; i++)
		len += (size_t)snprintf(buf + len, size - len, "%s%s",
					i == 0                  ? ""
					: i + 1 == NSUBCOMMANDS ? " or "
								: ", ",
					subcommands[i].name);
	return buf;
}

/* "generate [-W] ...\nlist\n..." */
static const char *synopsis(char *buf, size_t size)
{
	const struct subcommand *s;
	size_t len = 0;

	for (s = subcommands; s < subcommands + NSUBCOMMANDS && len < size; s++)
		len += (size_t)snprintf(buf + len, size - len, "%s%s%s\n", s->name, s->synopsis[0] ? " " : "",
					s->synopsis);
	return buf;
}

int main(int argc, char **argv)
{
	char known[256], lines[1024];
	const struct tool_options o = {
		synopsis(lines, sizeof(lines)),
		"Make keys, say which ones this machine trusts, and sign with them.",
		NULL,
		"'gpukey generate --help', and so on, shows the options of each. Keys lie in $GPUREC_HOME, else "
		"/etc/gpurec\n"
		"for root, else ~/.config/gpurec.\n"
		"Exit status: 0 fine; 1 FORGED by check; 2 wrong usage; 3 it could not be done; 4 MALFORMED, 6\n"
		"UNTRUSTED by check.\n",
	};
	const char *value;
	struct fault why;
	int operands, status;
	size_t i;

	tool_init("gpukey");
	if (tool_next_option(&o, true, argc, argv, &value, &operands, &status) < 0)
		return status;
	if (operands == argc)
		return tool_usage("say what to do: %s", names(known, sizeof(known)));
	if (sodium_init() < 0) {
		tool_error("the system gives no random numbers");
		return TOOL_FAILED;
	}
	if (confine_offline(&why) < 0)
		return tool_fault(NULL, &why);
	for (i = 0; i < NSUBCOMMANDS; i++)
		if (strcmp(argv[operands], subcommands[i].name) == 0)
			return tool_finish(subcommands[i].run(argc - operands, argv + operands));
	return tool_usage("there is no '%s': say %s", argv[operands], names(known, sizeof(known)));
}
