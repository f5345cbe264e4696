/* SPDX-License-Identifier: Apache-2.0 */
/* gpukey generate: make a key pair. */
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "keys/gpukey/gpukey_internal.h"
#include "keys/tool/passphrase.h"

struct generate {
	bool no_password, force;
	const char *secret, *public; /* NULL: the host's identity */
	int passphrase_fd;
};

/* A new passphrase into buf: asked for twice on a terminal. */
static int new_passphrase(char *buf, int fd, struct fault *why)
{
	char *again;
	int r = passphrase_read(buf, fd, "Passphrase for the new key (-W makes one without): ", why);

	if (r < 0 || fd >= 0)
		return r;
	again = sodium_malloc(PASSPHRASE_MAX);
	if (!again)
		return fault_set(why, ERR_MEMORY, FAULT_NOWHERE, "no locked memory for a passphrase");
	r = passphrase_read(again, fd, "The same again: ", why);
	if (r == 0 && strcmp(buf, again) != 0)
		r = fault_set(why, ERR_INPUT, FAULT_NOWHERE, "the two passphrases differ; nothing was made");
	sodium_free(again);
	return r;
}

/* "x.key" gives "x.pub", "x" too. */
static int public_beside(char path[PATH_MAX], const char *secret, struct fault *why)
{
	if (snprintf(path, PATH_MAX, "%.*s.pub", (int)file_stem(secret, ".key"), secret) >= PATH_MAX)
		return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "%.100s...: the path is too long", secret);
	return 0;
}

static int make_key(const struct generate *g, const char *passphrase, struct identity *id, struct identity_origin *from,
		    struct fault *why)
{
	char beside[PATH_MAX];
	const char *public = g->public;
	int r = 0;

	if (!g->secret)
		return identity_make_host(id, g->force, passphrase, from, why);
	if (!public) {
		r = public_beside(beside, g->secret, why);
		public = beside;
	}
	if (r == 0)
		r = identity_generate(id, why);
	if (r == 0)
		r = identity_write(id, g->secret, public, g->force, passphrase, why);
	if (r == 0)
		snprintf(from->path, sizeof(from->path), "%s", g->secret);
	return r;
}

/* The made key, for a person and for a pipe. */
static void print_made(const struct identity *id, const struct identity_origin *from)
{
	char base64[MINISIGN_PUBLIC_CHARS + 1], path[SHOWN_PATH_MAX];
	struct public_key pk;

	key_of_identity(&pk, id);
	escape_terminal(path, sizeof(path), from->path, strlen(from->path));
	printf("secret key   %s\n", path);
	gpukey_print_key(&pk);
	if (from->name[0])
		printf("trusted as   %s\n", from->name);
	tool_note("to trust it on another machine, run there: gpukey trust %s%s%s", key_base64(base64, &pk),
		  from->name[0] ? " --name " : "", from->name);
}

static int generate_options(struct generate *g, int argc, char **argv, int *status)
{
	static const struct tool_option table[] = {
		{"no-password", 'W', NULL, "do not encrypt the secret key", TOOL_SET,
		 .at = offsetof(struct generate, no_password)},
		{"force", 'f', NULL, "replace a key that is there", TOOL_SET, .at = offsetof(struct generate, force)},
		{"secret", 's', "FILE", "write the secret key here, instead of making the host's identity", TOOL_FILE,
		 .at = offsetof(struct generate, secret)},
		{"public", 'p', "FILE", "write the public key here (beside the secret one)", TOOL_FILE,
		 .at = offsetof(struct generate, public)},
		{"passphrase-fd", 0, "N", "read the passphrase from descriptor N, not from the terminal",
		 TOOL_DESCRIPTOR, .at = offsetof(struct generate, passphrase_fd)},
		{0},
	};
	static const struct tool_options o = {
		"generate [-W] [-f] [-s FILE [-p FILE]]\n",
		"Make a key pair in minisign's formats: the identity with which this host signs, or one in files.",
		table,
		NULL,
	};
	int operands;

	*status = tool_read_options(&o, false, argc, argv, g, &operands);
	if (*status >= 0)
		return -1;
	if (operands < argc)
		*status = tool_usage("unexpected argument '%s'; -s FILE names the secret key", argv[operands]);
	else if (g->public && !g->secret)
		*status = tool_usage("-p names the public half of the key that -s names; -s is missing");
	else
		return 0;
	return -1;
}

int gpukey_generate(int argc, char **argv)
{
	struct generate g = {.passphrase_fd = -1};
	struct identity_origin from = {0};
	struct identity id = {0};
	char host[PATH_MAX], *passphrase = NULL;
	struct fault why;
	int r, status;

	if (generate_options(&g, argc, argv, &status) < 0)
		return status;
	r = g.secret ? 0 : store_path(host, "host.key", &why);
	if (r == 0 && !g.force && gpukey_exists(g.secret ? g.secret : host))
		r = fault_set(&why, ERR_EXISTS, FAULT_NOWHERE, "%.150s: there is a file already; -f replaces it",
			      g.secret ? g.secret : host);
	if (r == 0 && !g.no_password) {
		passphrase = sodium_malloc(PASSPHRASE_MAX);
		if (!passphrase)
			return gpukey_no_memory();
		r = new_passphrase(passphrase, g.passphrase_fd, &why);
	}
	if (r == 0)
		r = make_key(&g, passphrase, &id, &from, &why);
	if (r == 0)
		print_made(&id, &from);
	identity_wipe(&id);
	sodium_free(passphrase);
	return r < 0 ? tool_fault(NULL, &why) : TOOL_FINE;
}
