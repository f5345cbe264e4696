/* SPDX-License-Identifier: Apache-2.0 */
/* gpukey: make keys, and say which ones this machine trusts. */
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "format/escape.h"
#include "keys/confine.h"
#include "keys/files.h"
#include "keys/identity.h"
#include "keys/passphrase.h"
#include "keys/store.h"
#include "keys/tool.h"

#define SHOWN_PATH_MAX (PATH_MAX * ESCAPE_GROWTH + 1)
#define FD_MAX 1023

/* Options of the subcommands; one enum, so that no two tables give a number two meanings. */
enum option_id { OPT_NO_PASSWORD = 1, OPT_FORCE, OPT_SECRET, OPT_PUBLIC, OPT_PASSPHRASE_FD, OPT_NAME };

/* For a subcommand without options of its own: index of its first operand, or -1 with *status. */
static int only_operands(const struct tool_options *o, int argc, char **argv, int max, int *status)
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

static int no_memory(void)
{
	tool_error("no locked memory for a secret key");
	return TOOL_FAILED;
}

static bool exists(const char *path)
{
	return faccessat(AT_FDCWD, path, F_OK, AT_EACCESS | AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT;
}

/* --- generate --- */

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
	size_t len = strlen(secret);

	if (len > 4 && strcmp(secret + len - 4, ".key") == 0)
		len -= 4;
	if (snprintf(path, PATH_MAX, "%.*s.pub", (int)len, secret) >= PATH_MAX)
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
	char keyid[KEY_ID_CHARS + 1], fingerprint[FINGERPRINT_CHARS + 1], base64[MINISIGN_PUBLIC_CHARS + 1];
	char path[SHOWN_PATH_MAX];
	struct public_key pk;

	key_of_identity(&pk, id);
	escape_terminal(path, sizeof(path), from->path, strlen(from->path));
	printf("secret key   %s\n", path);
	printf("public key   %s\n", key_base64(base64, &pk));
	printf("key id       %s\n", key_id(keyid, pk.keynum));
	printf("fingerprint  %s\n", key_fingerprint(fingerprint, &pk));
	if (from->name[0])
		printf("trusted as   %s\n", from->name);
	tool_note("to trust it on another machine, run there: gpukey trust %s%s%s", base64,
		  from->name[0] ? " --name " : "", from->name);
}

static int generate_options(struct generate *g, int argc, char **argv, int *status)
{
	static const struct tool_option table[] = {
		{"no-password", 'W', NULL, "do not encrypt the secret key", OPT_NO_PASSWORD},
		{"force", 'f', NULL, "replace a key that is there", OPT_FORCE},
		{"secret", 's', "FILE", "write the secret key here, instead of making the host's identity", OPT_SECRET},
		{"public", 'p', "FILE", "write the public key here (beside the secret one)", OPT_PUBLIC},
		{"passphrase-fd", 0, "N", "read the passphrase from descriptor N, not from the terminal",
		 OPT_PASSPHRASE_FD},
		{0},
	};
	static const struct tool_options o = {
		"generate [-W] [-f] [-s FILE [-p FILE]]\n",
		"Make a key pair in minisign's formats: the identity with which this host signs, or one in files.",
		table,
		NULL,
	};
	const char *value;
	struct fault why;
	int id, operands;
	uint64_t fd;

	while ((id = tool_next_option(&o, false, argc, argv, &value, &operands, status)) > 0) {
		if (id == OPT_NO_PASSWORD) {
			g->no_password = true;
		} else if (id == OPT_FORCE) {
			g->force = true;
		} else if (id == OPT_SECRET) {
			g->secret = value;
		} else if (id == OPT_PUBLIC) {
			g->public = value;
		} else if (tool_parse_number(value, 0, FD_MAX, &fd, &why) == 0) {
			g->passphrase_fd = (int)fd;
		} else {
			*status = tool_usage("--passphrase-fd: %s", why.text);
			return -1;
		}
	}
	if (id < 0)
		return -1;
	if (operands < argc)
		*status = tool_usage("generate takes no operand such as %s; -s FILE names the secret key",
				     argv[operands]);
	else if (g->public && !g->secret)
		*status = tool_usage("-p names the public half of the key that -s names; -s is missing");
	else
		return 0;
	return -1;
}

static int run_generate(int argc, char **argv)
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
	if (r == 0 && !g.force && exists(g.secret ? g.secret : host))
		r = fault_set(&why, ERR_EXISTS, FAULT_NOWHERE, "%.150s: there is a file already; -f replaces it",
			      g.secret ? g.secret : host);
	if (r == 0 && !g.no_password) {
		passphrase = sodium_malloc(PASSPHRASE_MAX);
		if (!passphrase)
			return no_memory();
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

/* --- list --- */

/* This host's public key: 1, or 0 if it has none yet. */
static int own_key(struct public_key *pk, char path[PATH_MAX], struct fault *why)
{
	int r = store_path(path, "host.pub", why);

	if (r < 0)
		return r;
	if (!exists(path))
		return 0;
	r = minisign_read_public(pk, path, why);
	return r < 0 ? r : 1;
}

static void print_row(const struct public_key *pk, const char *name, const char *path, const char *remark)
{
	char keyid[KEY_ID_CHARS + 1], shown[SHOWN_PATH_MAX];

	escape_terminal(shown, sizeof(shown), path, strlen(path));
	printf("%s  %-32s  %s%s\n", key_id(keyid, pk->keynum), name, shown, remark);
}

static int run_list(int argc, char **argv)
{
	static const struct tool_options o = {
		"list\n", "Show the keys that this machine trusts, and its own: key id, name, file.", NULL, NULL};
	struct trust_list list = {0};
	struct public_key own;
	char own_path[PATH_MAX];
	struct fault why;
	int status = TOOL_FINE, has_own;
	const struct trusted *t;
	bool own_listed = false, is_own;

	if (only_operands(&o, argc, argv, 0, &status) < 0)
		return status;
	if (trust_list_read(&list, &why) < 0)
		return tool_fault(NULL, &why);
	has_own = own_key(&own, own_path, &why);
	if (has_own < 0)
		status = tool_fault(NULL, &why);
	for (t = list.keys; t < list.keys + list.nkeys; t++) {
		if (t->broken.code != ERR_NONE) {
			status = tool_fault(NULL, &t->broken);
			continue;
		}
		is_own = has_own > 0 && key_equal(&own, &t->key);
		own_listed |= is_own;
		print_row(&t->key, t->name, t->path, is_own ? " (this host)" : "");
	}
	if (has_own > 0 && !own_listed)
		print_row(&own, "-", own_path, " (this host; not trusted)");
	if (list.nkeys == 0 && has_own == 0)
		tool_note("no key is trusted here yet; gpurec makes one at its first recording, or: gpukey generate");
	trust_list_clear(&list);
	return status;
}

/* --- show, trust, untrust --- */

static bool matches(const struct trusted *t, const char *what)
{
	char keyid[KEY_ID_CHARS + 1];

	if (strcmp(t->name, what) == 0)
		return true;
	return t->broken.code == ERR_NONE && strcasecmp(key_id(keyid, t->key.keynum), what) == 0;
}

/* A key of the store by name or key id, or NULL. */
static const struct trusted *find_by_word(const struct trust_list *list, const char *what)
{
	const struct trusted *t;

	for (t = list->keys; t < list->keys + list->nkeys; t++)
		if (matches(t, what))
			return t;
	return NULL;
}

/* The key that `what` means: base64, a name or key id of the store, or a file; NULL: this host's own. */
static int key_meant(struct public_key *pk, const char *what, const struct trust_list *list, struct fault *why)
{
	const struct trusted *t;
	char path[PATH_MAX];
	int r;

	if (!what) {
		r = own_key(pk, path, why);
		if (r == 0)
			r = fault_set(why, ERR_KEY, FAULT_NOWHERE,
				      "this host has no key yet; gpurec makes one at its first recording, or: gpukey "
				      "generate");
		return r < 0 ? r : 0;
	}
	if (key_parse(pk, what, NULL) == 0)
		return 0;
	t = find_by_word(list, what);
	if (t && t->broken.code != ERR_NONE)
		return fault_set(why, t->broken.code, t->broken.offset, "%s", t->broken.text);
	if (t) {
		*pk = t->key;
		return 0;
	}
	if (!exists(what) && !strchr(what, '/'))
		return fault_set(why, ERR_KEY, FAULT_NOWHERE,
				 "%.150s: neither a file nor the name or id of a trusted key (gpukey list shows them)",
				 what);
	return minisign_read_public(pk, what, why);
}

static int run_show(int argc, char **argv)
{
	static const struct tool_options o = {
		"show [FILE | NAME | KEYID]\n",
		"Show a public key, this host's own when none is named, in a form that can be read out or pasted.",
		NULL, NULL};
	char keyid[KEY_ID_CHARS + 1], fingerprint[FINGERPRINT_CHARS + 1], base64[MINISIGN_PUBLIC_CHARS + 1];
	struct trust_list list = {0};
	const struct trusted *found;
	struct public_key pk;
	struct fault why;
	int status, operand, r;

	operand = only_operands(&o, argc, argv, 1, &status);
	if (operand < 0)
		return status;
	r = trust_list_read(&list, &why);
	if (r == 0)
		r = key_meant(&pk, operand < argc ? argv[operand] : NULL, &list, &why);
	if (r == 0) {
		printf("public key   %s\n", key_base64(base64, &pk));
		printf("key id       %s\n", key_id(keyid, pk.keynum));
		printf("fingerprint  %s\n", key_fingerprint(fingerprint, &pk));
		r = trust_find(&list, &pk, &found, &why);
		if (r >= 0)
			printf("trusted as   %s\n", r > 0 ? found->name : "- (not trusted here)");
	}
	trust_list_clear(&list);
	return r < 0 ? tool_fault(NULL, &why) : TOOL_FINE;
}

/* What a key is called when nobody says: as its file, else as its id. */
static void default_name(char name[TRUST_NAME_MAX + 1], const char *what, const struct public_key *pk)
{
	const char *slash = strrchr(what, '/'), *leaf = slash ? slash + 1 : what;
	size_t len = strlen(leaf);

	if (len > 4 && strcmp(leaf + len - 4, ".pub") == 0)
		len -= 4;
	snprintf(name, TRUST_NAME_MAX + 1, "%.*s", (int)len, leaf);
	if (key_parse(&(struct public_key){0}, what, NULL) == 0 || !trust_name_valid(name))
		key_id(name, pk->keynum);
}

static int trust_key(const char *what, const char *name, struct fault *why)
{
	char chosen[TRUST_NAME_MAX + 1], fingerprint[FINGERPRINT_CHARS + 1], keyid[KEY_ID_CHARS + 1];
	struct trust_list list = {0};
	const struct trusted *found;
	struct public_key pk;
	int r = key_parse(&pk, what, NULL);

	if (r < 0)
		r = minisign_read_public(&pk, what, why);
	if (r == 0)
		r = trust_list_read(&list, why);
	if (r < 0)
		return r;
	/* A broken file in the store does not stop a key from being added to it. */
	if (trust_find(&list, &pk, &found, NULL) > 0) {
		printf("trusted already as %s\n", found->name);
		goto out;
	}
	default_name(chosen, what, &pk);
	r = trust_add(&pk, name ? name : chosen, why);
	if (r == ERR_EXISTS)
		fault_set(why, ERR_EXISTS, FAULT_NOWHERE,
			  "another key is trusted as %.127s; choose a name with --name, or first: gpukey untrust %.60s",
			  name ? name : chosen, name ? name : chosen);
	if (r == 0)
		printf("trusted as %s: key %s, fingerprint %s\n", name ? name : chosen, key_id(keyid, pk.keynum),
		       key_fingerprint(fingerprint, &pk));
out:
	trust_list_clear(&list);
	return r;
}

static int run_trust(int argc, char **argv)
{
	static const struct tool_option table[] = {
		{"name", 0, "NAME", "what to call the key: letters, digits, '.', '_', '-' (the file's name)", OPT_NAME},
		{0},
	};
	static const struct tool_options o = {
		"trust FILE | BASE64 [--name NAME]\n",
		"Trust what a key signs from now on. Compare the fingerprint with 'gpukey show' on its host first.",
		table, NULL};
	const char *value, *name = NULL;
	int id, operands, status;
	struct fault why;

	while ((id = tool_next_option(&o, false, argc, argv, &value, &operands, &status)) > 0)
		name = value;
	if (id < 0)
		return status;
	if (argc - operands != 1)
		return tool_usage("trust needs one key: its file, or the line of base64 that 'gpukey show' prints");
	if (name && !trust_name_valid(name))
		return tool_usage("--name: '%s' cannot name a key: only letters, digits, '.', '_' and '-', at most %d",
				  name, TRUST_NAME_MAX);
	return trust_key(argv[operands], name, &why) < 0 ? tool_fault(NULL, &why) : TOOL_FINE;
}

/* Remove all entries that `what` names; notes under which other names their keys stay trusted. */
static int untrust_key(const struct trust_list *list, const char *what, struct fault *why)
{
	const struct trusted *t, *other;
	size_t n = 0;
	int r;

	for (t = list->keys; t < list->keys + list->nkeys; t++) {
		if (!matches(t, what))
			continue;
		r = trust_remove(t, why);
		if (r < 0)
			return r;
		printf("no longer trusted: %s\n", t->name);
		n++;
		for (other = list->keys; other < list->keys + list->nkeys; other++)
			if (!matches(other, what) && other->broken.code == ERR_NONE && key_equal(&other->key, &t->key))
				tool_note("the same key stays trusted as %s (%s)", other->name, other->path);
	}
	if (n == 0)
		return fault_set(why, ERR_KEY, FAULT_NOWHERE,
				 "no key named %.100s, nor with that id, is trusted here (gpukey list shows them)",
				 what);
	return 0;
}

static int run_untrust(int argc, char **argv)
{
	static const struct tool_options o = {"untrust KEYID | NAME\n", "Trust a key no longer.", NULL, NULL};
	struct trust_list list = {0};
	struct fault why;
	int status, operand, r;

	operand = only_operands(&o, argc, argv, 1, &status);
	if (operand < 0)
		return status;
	if (operand == argc)
		return tool_usage("untrust needs the name or the id of a key");
	r = trust_list_read(&list, &why);
	if (r == 0)
		r = untrust_key(&list, argv[operand], &why);
	trust_list_clear(&list);
	return r < 0 ? tool_fault(NULL, &why) : TOOL_FINE;
}

/* --- the tool --- */

static const struct subcommand {
	const char *name;
	int (*run)(int argc, char **argv);
} subcommands[] = {
	{"generate", run_generate}, {"list", run_list},       {"show", run_show},
	{"trust", run_trust},       {"untrust", run_untrust},
};

int main(int argc, char **argv)
{
	static const struct tool_options o = {
		"generate [-W] [-f] [-s FILE [-p FILE]]\nlist\nshow [FILE | NAME | KEYID]\ntrust FILE | BASE64 [--name "
		"NAME]\n"
		"untrust KEYID | NAME\n",
		"Make keys, and say which ones this machine trusts.",
		NULL,
		"'gpukey generate --help', and so on, shows the options of each. Keys lie in $GPUREC_HOME, else "
		"/etc/gpurec\n"
		"for root, else ~/.config/gpurec.",
	};
	const char *value;
	struct fault why;
	int operands, status;
	size_t i;

	tool_init("gpukey");
	if (tool_next_option(&o, true, argc, argv, &value, &operands, &status) < 0)
		return status;
	if (operands == argc)
		return tool_usage("say what to do: generate, list, show, trust or untrust");
	if (sodium_init() < 0) {
		tool_error("the system gives no random numbers");
		return TOOL_FAILED;
	}
	if (confine_offline(&why) < 0)
		return tool_fault(NULL, &why);
	for (i = 0; i < sizeof(subcommands) / sizeof(subcommands[0]); i++)
		if (strcmp(argv[operands], subcommands[i].name) == 0)
			return tool_finish(subcommands[i].run(argc - operands, argv + operands));
	return tool_usage("there is no '%s': say generate, list, show, trust or untrust", argv[operands]);
}
