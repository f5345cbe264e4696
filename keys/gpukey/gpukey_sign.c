/* SPDX-License-Identifier: Apache-2.0 */
/* gpukey sign: a detached signature of any file, as minisign makes it. */
#include <stdio.h>
#include <string.h>

#include "keys/gpukey/gpukey_internal.h"
#include "keys/signature.h"

struct signing {
	const char *secret;  /* NULL: the host's identity */
	const char *comment; /* these three NULL: as minisign */
	const char *trusted;
	const char *output;
	bool force;
	int passphrase_fd;
	struct gpukey_custody custody;
};

#define AT(member) .at = offsetof(struct signing, member)

static const struct tool_option sign_table[] = {
	{"secret", 's', "FILE", "sign with this secret key instead of the host's", TOOL_FILE, AT(secret)},
	{"passphrase-fd", 0, "N", "read the passphrase from descriptor N, not from the terminal", TOOL_DESCRIPTOR,
	 AT(passphrase_fd)},
	{"trusted-comment", 't', "TEXT", "a line that is signed, too (the time and the file's name)", TOOL_TEXT,
	 AT(trusted)},
	{"comment", 'c', "TEXT", "a line that is not signed", TOOL_TEXT, AT(comment)},
	{"output", 'o', "SIG", "write the signature here (FILE.minisig)", TOOL_FILE, AT(output)},
	{"force", 'f', NULL, "replace a signature that is there", TOOL_SET, AT(force)},
	{"custody", 0, "ACT", "add a signed line to FILE.custody instead ('recorded', 'received' ...)", TOOL_TEXT,
	 AT(custody.action)},
	{"name", 0, "WHO", "in that line: who does it (user@host)", TOOL_TEXT, AT(custody.name)},
	{"note", 0, "TEXT", "in that line: a reason", TOOL_TEXT, AT(custody.note)},
	{0},
};

static const struct tool_options sign_help = {
	"sign [-s FILE] [-t TEXT] [-o SIG] [-f] FILE...\n"
	"sign --custody ACT [--name WHO] [--note TEXT] [-s FILE] CAPTURE...\n",
	"Make a detached signature of each FILE, in minisign's format: FILE.minisig.",
	sign_table,
	NULL,
};

/* What does not go together; -1 with *status. */
static int check_together(const struct signing *s, int nfiles, int *status)
{
	if (nfiles == 0)
		*status = tool_usage("missing operand: the file to sign");
	else if (s->output && nfiles > 1)
		*status = tool_usage("-o names one signature, and there are %d files to sign", nfiles);
	else if (!s->custody.action && (s->custody.name || s->custody.note))
		*status = tool_usage("--name and --note go with --custody ACT");
	else if (s->custody.action && (s->comment || s->trusted || s->force))
		*status = tool_usage("-c, -t and -f are about signatures, not about --custody");
	else if (!s->custody.action || gpukey_custody_action(s->custody.action, status) == 0)
		return 0;
	return -1;
}

static int sign_options(struct signing *s, int argc, char **argv, int *status)
{
	int operands;

	*status = tool_read_options(&sign_help, false, argc, argv, s, &operands);
	if (*status >= 0 || check_together(s, argc - operands, status) < 0)
		return -1;
	return operands;
}

static int output_of(char sig_path[PATH_MAX], const struct signing *s, const char *path, struct fault *why)
{
	return s->output ? file_beside(sig_path, s->output, "", why) : signature_path(sig_path, path, why);
}

/* What can be known to be in the way, before a person is asked for a passphrase. */
static int check_outputs(const struct signing *s, char **paths, struct fault *why)
{
	char sig_path[PATH_MAX];
	int r = 0;

	for (; !s->custody.action && r == 0 && *paths; paths++) {
		r = output_of(sig_path, s, *paths, why);
		if (r == 0 && !s->force && gpukey_exists(sig_path))
			r = fault_set(why, ERR_EXISTS, FAULT_NOWHERE, "%.150s: there is a file already; -f replaces it",
				      sig_path);
	}
	return r;
}

static int sign_one(const struct signing *s, const char *path, const struct identity *id, struct fault *why)
{
	char sig_path[PATH_MAX], shown[SHOWN_PATH_MAX], keyid[KEY_ID_CHARS + 1];
	int r;

	if (s->custody.action)
		return gpukey_custody_sign(&s->custody, path, s->output, id, why);
	r = output_of(sig_path, s, path, why);
	if (r == 0)
		r = signature_make(path, sig_path, s->force, id, s->comment, s->trusted, why);
	if (r < 0)
		return r;
	escape_terminal(shown, sizeof(shown), sig_path, strlen(sig_path));
	printf("%s: signed by the key %s\n", shown, key_id(keyid, id->keynum));
	return 0;
}

int gpukey_sign(int argc, char **argv)
{
	struct signing s = {.passphrase_fd = -1};
	struct identity_origin from = {0};
	struct identity id = {0};
	char what[512], command[512];
	int status, operands, r;
	struct fault why;

	operands = sign_options(&s, argc, argv, &status);
	if (operands < 0)
		return status;
	r = check_outputs(&s, argv + operands, &why);
	if (r == 0)
		r = identity_load(&id, s.secret, s.passphrase_fd, &from, &why);
	if (r == 0 && from.made) {
		identity_introduce(&id, &from, what, sizeof(what), command, sizeof(command));
		tool_note("%s", what);
		tool_note("%s", command);
	}
	/* A file that cannot be signed does not keep the others from it. */
	status = r < 0 ? tool_fault(NULL, &why) : TOOL_FINE;
	for (; r == 0 && operands < argc; operands++)
		if (sign_one(&s, argv[operands], &id, &why) < 0)
			status = tool_fault(NULL, &why);
	identity_wipe(&id);
	return status;
}
