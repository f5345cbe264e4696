/* SPDX-License-Identifier: Apache-2.0 */
#include "keys/roles.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "keys/files.h"

static const struct {
	enum role role;
	const char *word;
} words[] = {{ROLE_RECORD, "record"}, {ROLE_VOUCH, "vouch"}, {ROLE_REVOKE, "revoke"}, {ROLE_CUSTODY, "custody"}};
#define NWORDS (sizeof(words) / sizeof(words[0]))

const char *role_word(enum role role)
{
	size_t i = 0;

	while (i + 1 < NWORDS && words[i].role != role)
		i++;
	return words[i].word;
}

char *roles_format(char buf[ROLES_CHARS + 1], unsigned roles)
{
	size_t len = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < NWORDS; i++)
		if (roles & words[i].role)
			len += (size_t)snprintf(buf + len, ROLES_CHARS + 1 - len, "%s%s", len ? "," : "",
						words[i].word);
	return buf;
}

/* The role that a word of `len` bytes means, or 0. */
static unsigned role_of(const char *word, size_t len)
{
	for (size_t i = 0; i < NWORDS; i++)
		if (strlen(words[i].word) == len && memcmp(words[i].word, word, len) == 0)
			return words[i].role;
	return 0;
}

int roles_parse(unsigned *roles, const char *text, size_t len, struct fault *why)
{
	const char *end = text + len, *comma;
	unsigned all = 0, one;

	for (;; text = comma + 1) {
		comma = memchr(text, ',', (size_t)(end - text));
		comma = comma ? comma : end;
		one = role_of(text, (size_t)(comma - text));
		if (!one)
			return fault_set(why, ERR_INPUT, FAULT_NOWHERE,
					 "'%.*s' is not a role: must be record, vouch, revoke or custody",
					 comma - text > 40 ? 40 : (int)(comma - text), text);
		all |= one;
		if (comma == end)
			break;
	}
	*roles = all;
	return 0;
}

const char *roles_of_argument(unsigned *roles, const char *arg)
{
	const char *colon = strchr(arg, ':');

	if (colon && roles_parse(roles, arg, (size_t)(colon - arg), NULL) == 0)
		return colon + 1;
	*roles = ROLE_RECORD;
	return arg;
}

size_t roles_file_format(char buf[ROLES_FILE_MAX + 1], const struct public_key *pk, unsigned roles)
{
	char base64[MINISIGN_PUBLIC_CHARS + 1], list[ROLES_CHARS + 1];

	return (size_t)snprintf(buf, ROLES_FILE_MAX + 1, "%s %s\n", key_base64(base64, pk), roles_format(list, roles));
}

static int refuse(const char *path, const char *what, struct fault *why)
{
	return fault_set(why, ERR_KEY, FAULT_NOWHERE,
			 "%.120s: %s; remove this file, and the key may only record, until: gpukey trust --role ...",
			 path, what);
}

/* There is one way to write each: what does not format to the same is refused. */
static int parse_file(unsigned *roles, const struct public_key *pk, const char *text, size_t len, const char *path,
		      struct fault *why)
{
	char base64[MINISIGN_PUBLIC_CHARS + 1], again[ROLES_FILE_MAX + 1];
	unsigned read = 0;
	size_t before = MINISIGN_PUBLIC_CHARS + 1;

	if (len <= before + 1 || text[len - 1] != '\n' || text[before - 1] != ' ' ||
	    roles_parse(&read, text + before, len - before - 1, NULL) < 0)
		return refuse(path, "not a line with a public key and its roles", why);
	if (memcmp(text, key_base64(base64, pk), MINISIGN_PUBLIC_CHARS) != 0)
		return refuse(path, "the roles of another key", why);
	if (roles_file_format(again, pk, read) != len || memcmp(again, text, len) != 0)
		return refuse(path, "roles that are not in their order", why);
	*roles = read;
	return 0;
}

int roles_read(unsigned *roles, const struct public_key *pk, const char *path, struct fault *why)
{
	char text[ROLES_FILE_MAX];
	size_t len;
	int r;

	/* A link to nowhere is not "no file". */
	if (faccessat(AT_FDCWD, path, F_OK, AT_EACCESS | AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT) {
		*roles = ROLE_RECORD;
		return 0;
	}
	r = file_read(path, FILE_PUBLIC, text, sizeof(text), &len, why);
	return r < 0 ? r : parse_file(roles, pk, text, len, path, why);
}
