/* SPDX-License-Identifier: Apache-2.0 */
#include "keys/identity.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "keys/files.h"
#include "keys/strict_path.h"
#include "keys/tool/passphrase.h"
#include "keys/store.h"

#define HOST_NAME_MAX_SHOWN 64
#define PUBLIC_MODE 0644
#define SECRET_MODE 0600

static int no_locked_memory(struct fault *why)
{
	return fault_set(why, ERR_MEMORY, FAULT_NOWHERE, "no locked memory for a secret key");
}

/* Open the encrypted key in `raw` with a passphrase from `fd` or a person. */
static int open_encrypted(struct identity *id, uint8_t *raw, const char *path, int fd, struct fault *why)
{
	char *passphrase = sodium_malloc(PASSPHRASE_MAX), prompt[PATH_MAX + 32];
	int r;

	if (!passphrase)
		return no_locked_memory(why);
	snprintf(prompt, sizeof(prompt), "Passphrase for %s: ", path);
	r = passphrase_read(passphrase, fd, prompt, why);
	if (r == 0)
		r = fault_at_path(why, minisign_open_secret(id, raw, passphrase, why), path);
	sodium_free(passphrase);
	return r;
}

static int load_file(struct identity *id, const char *path, int passphrase_fd, struct fault *why)
{
	uint8_t *raw;
	int r;

	if (sodium_init() < 0)
		return fault_set(why, ERR_IO, FAULT_NOWHERE, "the system provides no random numbers");
	raw = sodium_malloc(MINISIGN_SECRET_BYTES);
	if (!raw)
		return no_locked_memory(why);
	r = minisign_read_secret(raw, path, why);
	if (r == 0 && minisign_is_encrypted(raw))
		r = open_encrypted(id, raw, path, passphrase_fd, why);
	else if (r == 0)
		r = fault_at_path(why, minisign_open_secret(id, raw, NULL, why), path);
	sodium_free(raw);
	return r;
}

/* "HOSTNAME-KEYID", of what a name in the trust store may consist of. */
static void host_key_name(char name[TRUST_NAME_MAX + 1], const struct identity *id)
{
	struct utsname host;
	char keyid[KEY_ID_CHARS + 1], shown[HOST_NAME_MAX_SHOWN + 1];
	char *p;

	snprintf(shown, sizeof(shown), "%s", uname(&host) == 0 ? host.nodename : "");
	for (p = shown; *p; p++)
		if (!strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-", *p))
			*p = '_';
	if (!trust_name_valid(shown))
		strcpy(shown, "host");
	snprintf(name, TRUST_NAME_MAX + 1, "%s-%s", shown, key_id(keyid, id->keynum));
}

static int write_secret(const struct identity *id, const char *path, bool replace, const char *passphrase,
			struct fault *why)
{
	char folder[PATH_MAX], *text = sodium_malloc(MINISIGN_SECRET_FILE_MAX);
	size_t len;
	int r;

	if (!text)
		return no_locked_memory(why);
	file_folder(folder, path);
	/* Where others could replace it, it would not be read again. */
	r = strict_check(folder, O_PATH | O_DIRECTORY, "this secret key", why);
	if (r == 0)
		r = minisign_format_secret(text, &len, id, passphrase, &MINISIGN_SENSITIVE, why);
	if (r == 0)
		r = file_make(path, SECRET_MODE, replace, text, len, why);
	sodium_free(text);
	return r;
}

static int write_public(const struct identity *id, const char *path, bool replace, struct fault *why)
{
	char text[MINISIGN_PUBLIC_FILE_MAX];
	struct public_key pk;
	size_t len;

	key_of_identity(&pk, id);
	len = minisign_format_public(text, &pk);
	return file_make(path, PUBLIC_MODE, replace, text, len, why);
}

int identity_write(const struct identity *id, const char *secret_path, const char *public_path, bool replace,
		   const char *passphrase, struct fault *why)
{
	int r;

	/* The public half would be in the way of a later attempt, and is worth nothing alone: the secret one first. */
	r = write_secret(id, secret_path, replace, passphrase, why);
	if (r < 0)
		return r;
	r = write_public(id, public_path, replace, why);
	if (r < 0 && !replace)
		unlink(secret_path);
	return r;
}

/* Trust first: should this stop halfway, a public key whose secret nobody has is trusted, which harms nobody. */
int identity_make_host(struct identity *id, bool replace, const char *passphrase, struct identity_origin *from,
		       struct fault *why)
{
	char public_path[PATH_MAX], trusted_path[PATH_MAX], leaf[sizeof("trust/.pub") + TRUST_NAME_MAX];
	struct identity_origin origin = {.made = true};
	struct public_key pk;
	int r;

	r = store_path(origin.path, "host.key", why);
	if (r == 0)
		r = store_path(public_path, "host.pub", why);
	if (r == 0)
		r = identity_generate(id, why);
	if (r < 0)
		return r;
	(void)sodium_mlock(id, sizeof(*id)); /* refused where RLIMIT_MEMLOCK is small: the key works all the same */
	host_key_name(origin.name, id);
	snprintf(leaf, sizeof(leaf), "trust/%s.pub", origin.name);
	key_of_identity(&pk, id);
	r = store_path(trusted_path, leaf, why);
	if (r == 0)
		r = trust_add(&pk, origin.name, ROLE_RECORD, why);
	if (r == 0) {
		r = write_secret(id, origin.path, replace, passphrase, why);
		if (r < 0)
			unlink(trusted_path);
	}
	if (r == 0)
		r = write_public(id, public_path, true, why);
	if (r == 0)
		*from = origin;
	else
		identity_wipe(id);
	return r;
}

static int load_host(struct identity *id, int passphrase_fd, struct identity_origin *from, struct fault *why)
{
	struct identity_origin origin = {0};
	int r = store_path(origin.path, "host.key", why);

	if (r < 0)
		return r;
	if (faccessat(AT_FDCWD, origin.path, F_OK, AT_EACCESS | AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT) {
		r = identity_make_host(id, false, NULL, from, why);
		if (r != ERR_EXISTS)
			return r;
		/* Another one made it between the two lines above: theirs it is. */
	}
	r = load_file(id, origin.path, passphrase_fd, why);
	if (r == 0)
		*from = origin;
	return r;
}

int identity_load(struct identity *id, const char *path, int passphrase_fd, struct identity_origin *from,
		  struct fault *why)
{
	struct identity_origin origin = {0};
	int r;

	if (!path) {
		r = load_host(id, passphrase_fd, from, why);
	} else if (strlen(path) >= sizeof(origin.path)) {
		r = fault_set(why, ERR_INPUT, FAULT_NOWHERE, "%.100s...: the path is too long", path);
	} else {
		strcpy(origin.path, path);
		r = load_file(id, path, passphrase_fd, why);
		if (r == 0)
			*from = origin;
	}
	if (r == 0)
		(void)sodium_mlock(id, sizeof(*id)); /* as above */
	else
		identity_wipe(id);
	return r;
}

void identity_wipe(struct identity *id)
{
	(void)sodium_munlock(id, sizeof(*id)); /* zeroes in every case; unlocking what was not locked is no fault */
	sodium_memzero(id, sizeof(*id));
}

void identity_introduce(const struct identity *id, const struct identity_origin *from, char *what, size_t what_size,
			char *command, size_t command_size)
{
	char keyid[KEY_ID_CHARS + 1], fingerprint[FINGERPRINT_CHARS + 1], base64[MINISIGN_PUBLIC_CHARS + 1];
	struct public_key pk;

	key_of_identity(&pk, id);
	snprintf(what, what_size, "this host signs with the new key %s, fingerprint %s, kept in %s",
		 key_id(keyid, pk.keynum), key_fingerprint(fingerprint, &pk), from->path);
	snprintf(command, command_size, "to trust it on another machine, run there: gpukey trust %s --name %s",
		 key_base64(base64, &pk), from->name);
}
