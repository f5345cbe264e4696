/* SPDX-License-Identifier: Apache-2.0 */
/* gpukey: make keys, say which ones this machine trusts, and sign with them. Each subcommand has a file gpukey_*.c. */
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "format/base/output_file.h"
#include "format/base/units.h"
#include "keys/tool/nearest.h"
#include "keys/tool/reach.h"
#include "keys/tool/confine.h"
#include "keys/gpukey/gpukey_internal.h"

int gpukey_operands(const struct tool_options *o, int argc, char **argv, void *settings, int max, int *status)
{
	int operands;

	*status = tool_read_options(o, false, argc, argv, settings, &operands);
	if (*status < 0 && argc - operands > max)
		*status = tool_usage("unexpected argument '%s'", argv[operands + max]);
	return *status < 0 ? operands : -1;
}

int gpukey_no_memory(void)
{
	tool_error("no locked memory for a secret key");
	return TOOL_FAILED;
}

bool gpukey_exists(const char *path)
{
	return faccessat(AT_FDCWD, path, F_OK, AT_EACCESS | AT_SYMLINK_NOFOLLOW) == 0 || !is_absent(errno);
}

/* Where a subcommand writes. */
enum { NOWHERE = 0, TO_STORE = 1, TO_STORE_WITHOUT_SECRET = 2, BESIDE_FILES = 4 };

/* One line for each subcommand; what is said about wrong ones follows from it. */
static const struct subcommand {
	const char *name;
	int (*run)(int argc, char **argv);
	unsigned writes;
	const char *synopsis; /* what follows the name */
} subcommands[] = {
	{"generate", gpukey_generate, TO_STORE_WITHOUT_SECRET | BESIDE_FILES, "[-W] [-f] [-s FILE [-p FILE]]"},
	{"list", gpukey_list, NOWHERE, "[--json]"},
	{"show", gpukey_show, NOWHERE, "[--json] [FILE | NAME | KEYID]"},
	{"trust", gpukey_trust, TO_STORE, "[--role LIST] [--name NAME] [--yes] FILE | BASE64 | NAME | KEYID"},
	{"untrust", gpukey_untrust, TO_STORE, "KEYID | NAME"},
	{"sign", gpukey_sign, TO_STORE_WITHOUT_SECRET | BESIDE_FILES,
	 "[-s FILE] [-t TEXT] [-o SIG] [-f] FILE...\n"
	 "sign --custody ACT [--name WHO] [--note TEXT] [-s FILE] CAPTURE..."},
	{"check", gpukey_check, NOWHERE, "[--signature SIG] [--trust PUB]... FILE"},
	{"delegate", gpukey_delegate, BESIDE_FILES,
	 "--name NAME --for TIME | --until DATE [--from DATE] [-s FILE] [-o FILE] PUB"},
	{"revoke", gpukey_revoke, TO_STORE | BESIDE_FILES,
	 "[--since DATE] [--reason TEXT] [-s FILE] [-o FILE] PUB | DELEGATION"},
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

/* The value in a word that has one after its option's name: "--name=value", "-nvalue"; else the word. */
static const char *value_in(const char *word)
{
	const char *value = word[0] == '-' && word[1] == '-' ? strchr(word, '=') : NULL;

	if (value)
		return value + 1;
	return word[0] == '-' && word[1] != '-' && word[1] && word[2] ? word + 2 : word;
}

/* Whether the word at `i` is the option, or its value; the value is *value then. */
static bool is_option(int argc, char **argv, int i, const char *name, const char **value)
{
	size_t n = strlen(name);

	if (strncmp(argv[i], name, n) != 0 || (name[1] == '-' && argv[i][n] && argv[i][n] != '='))
		return false;
	*value = argv[i][n] ? value_in(argv[i]) : i + 1 < argc ? argv[i + 1] : "";
	return true;
}

/*
 * From here on only what is named is opened, and what lies beside it. The subcommands read their options later: every
 * word may be a file's name.
 */
static int confine(const struct subcommand *s, int argc, char **argv, struct fault *why)
{
	const char *value;
	bool secret = false;
	struct landlock l;
	int keep_fd = -1, r;
	uint64_t n;

	for (int i = 1; i < argc; i++) {
		secret = secret || is_option(argc, argv, i, "-s", &value) ||
			 is_option(argc, argv, i, "--secret", &value);
		/* What is no number is reported when the options are read. */
		if (is_option(argc, argv, i, "--passphrase-fd", &value) &&
		    !number_parse(value, 0, TOOL_DESCRIPTOR_MAX, &n, NULL))
			keep_fd = (int)n;
	}
	r = reach_begin(&l, s->writes & TO_STORE || (s->writes & TO_STORE_WITHOUT_SECRET && !secret), why);
	for (int i = 1; i < argc && r == 0; i++) {
		value = value_in(argv[i]);
		r = reach_capture(&l, value, why);
		if (r == 0 && s->writes & BESIDE_FILES && *value != '-')
			r = reach_output(&l, value, why);
	}
	if (r == 0)
		r = confine_offline(&l, keep_fd, why);
	landlock_close(&l);
	return r;
}

/* A key that was pasted: without the blanks, or the end of a line, around it. */
static char *unpadded(char *word)
{
	static const char blanks[] = " \t\r\n";
	char *inner = word + strspn(word, blanks);
	size_t n = strcspn(inner, blanks);
	bool is_key = inner[n + strspn(inner + n, blanks)] == '\0' && gpukey_is_like_base64(inner, n);

	if (!is_key || gpukey_exists(word))
		return word;
	inner[n] = '\0';
	return inner;
}

int main(int argc, char **argv)
{
	char known[256], lines[1024];
	const struct tool_options o = {
		synopsis(lines, sizeof(lines)),
		"Make keys, choose which ones this machine trusts, and sign with them.",
		NULL,
		"'gpukey generate --help', and so on, shows the options of each. Keys are kept in $GPUREC_HOME, else "
		"/etc/gpurec\n"
		"for root, else ~/.config/gpurec.\n"
		"Exit status: 0 fine; 1 FORGED by check; 2 wrong usage; 3 it could not be done; 4 MALFORMED, 6\n"
		"UNTRUSTED by check.\n",
	};
	struct nearest meant;
	struct fault why;
	int operands, status;
	size_t i;

	tool_init("gpukey");
	status = tool_read_options(&o, true, argc, argv, NULL, &operands);
	if (status >= 0)
		return status;
	if (operands == argc)
		return tool_usage("missing command: one of %s", names(known, sizeof(known)));
	if (sodium_init() < 0) {
		tool_error("the system provides no random numbers");
		return TOOL_FAILED;
	}
	for (int word = operands + 1; word < argc; word++)
		argv[word] = unpadded(argv[word]);
	for (i = 0; i < NSUBCOMMANDS; i++) {
		if (strcmp(argv[operands], subcommands[i].name) != 0)
			continue;
		if (confine(&subcommands[i], argc - operands, argv + operands, &why) < 0)
			return tool_fault(NULL, &why);
		return tool_finish(subcommands[i].run(argc - operands, argv + operands));
	}
	meant = nearest_to(argv[operands]);
	for (i = 0; i < NSUBCOMMANDS; i++)
		nearest_offer(&meant, subcommands[i].name);
	if (meant.best)
		return tool_usage("unknown command '%s'; did you mean '%s'?", argv[operands], meant.best);
	return tool_usage("unknown command '%s'; there are %s", argv[operands], names(known, sizeof(known)));
}
