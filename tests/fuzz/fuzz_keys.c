/* SPDX-License-Identifier: Apache-2.0 */
/*
 * minisign key files and the trust store. The first byte says which:
 *
 *	0 a public key file   1 a secret key file   2 a line of base64   3 the bytes that a secret key file decodes to
 *	4 to 7: a file in the trust store, beside a good key: .pub, .delegation, .revocations, a list's .minisig
 *	8 (itself, not modulo 8): a file of roles of a key that is there
 */
#include <limits.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/sample.h"

#include "keys/store.h"
#include "tests/fuzz/fuzz.h"

#define SCRYPT_OPS_TRIED 65536 /* a key file may ask for more, which only takes longer */
#define SCRYPT_BYTES_TRIED (4u << 20)
#define KDF_AT 2
#define LIMITS_AT 38

static char home[PATH_MAX];

static void remove_home(void)
{
	static const char *const names[] = {"trust/b.pub",
					    "trust/b.roles",
					    "trust/b.delegation",
					    "trust/b.revocations",
					    "trust/good.pub",
					    "trust/b.revocations.minisig",
					    "trust",
					    "key",
					    ""};
	char path[PATH_MAX + 40];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", home, names[i]);
		remove(path);
	}
}

static const char *path_of(const char *leaf)
{
	static char path[PATH_MAX + 40];

	snprintf(path, sizeof(path), "%s/%s", home, leaf);
	return path;
}

static void write_file(const char *leaf, const void *bytes, size_t n)
{
	FILE *f = fopen(path_of(leaf), "wb");

	MUST(f && fchmod(fileno(f), 0600) == 0 && fwrite(bytes, 1, n, f) == n && fclose(f) == 0);
}

/* A folder that GPUREC_HOME names, with a trusted key in it. */
static void make_home(void)
{
	struct identity id = sample_identity(1);
	struct public_key pk;
	struct fault why;

	if (home[0])
		return;
	snprintf(home, sizeof(home), "%s/gpurec-fuzz-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	MUST(sodium_init() >= 0 && mkdtemp(home) && setenv("GPUREC_HOME", home, 1) == 0 && atexit(remove_home) == 0);
	key_of_identity(&pk, &id);
	MUST(trust_add(&pk, "good", ROLE_RECORD, &why) == 0);
}

static bool is_untouched(const void *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (((const uint8_t *)p)[i] != 0xa5)
			return false;
	return true;
}

/* What the second line of a key file is. */
static bool is_second_line(const uint8_t *text, size_t n, const char *base64)
{
	const uint8_t *eol = memchr(text, '\n', n);
	size_t len = strlen(base64), left = eol ? (size_t)(text + n - eol - 1) : 0;

	return eol && left >= len && left <= len + 1 && memcmp(eol + 1, base64, len) == 0;
}

static void try_public(const uint8_t *text, size_t n)
{
	char again[MINISIGN_PUBLIC_FILE_MAX], base64[MINISIGN_PUBLIC_CHARS + 1];
	struct public_key pk, second;
	struct fault why = {0};
	int r;

	write_file("key", text, n);
	memset(&pk, 0xa5, sizeof(pk));
	r = minisign_read_public(&pk, path_of("key"), &why);
	if (r < 0) {
		MUST(r == ERR_KEY && why.code == ERR_KEY && why.text[0] && is_untouched(&pk, sizeof(pk)));
		return;
	}
	MUST(is_second_line(text, n, key_base64(base64, &pk)));
	write_file("key", again, minisign_format_public(again, &pk));
	MUST(minisign_read_public(&second, path_of("key"), &why) == 0 && key_equal(&pk, &second));
}

/* Does a key ask for more scrypt than there is time for here? */
static bool is_costly(const uint8_t *raw)
{
	uint64_t ops = get_le64(raw + LIMITS_AT), memory = get_le64(raw + LIMITS_AT + 8);

	return minisign_is_encrypted(raw) && ops <= MINISIGN_OPSLIMIT_MAX && memory <= MINISIGN_MEMLIMIT_MAX &&
	       (ops > SCRYPT_OPS_TRIED || memory > SCRYPT_BYTES_TRIED);
}

/* An identity that a key file gave must survive being written, with and without a passphrase. */
static void must_write_again(const struct identity *id)
{
	static const struct scrypt_cost cheap = {32768, 1 << 20};
	char text[MINISIGN_SECRET_FILE_MAX];
	uint8_t raw[MINISIGN_SECRET_BYTES];
	struct identity again;
	struct fault why;
	size_t n;

	for (int encrypted = 0; encrypted < 2; encrypted++) {
		MUST(minisign_format_secret(text, &n, id, encrypted ? "word" : NULL, &cheap, &why) == 0);
		write_file("key", text, n);
		MUST(minisign_read_secret(raw, path_of("key"), &why) == 0);
		MUST(minisign_is_encrypted(raw) == (encrypted != 0));
		MUST(minisign_open_secret(&again, raw, encrypted ? "word" : NULL, &why) == 0);
		MUST(memcmp(&again, id, sizeof(again)) == 0);
	}
}

static void try_secret(const uint8_t *text, size_t n)
{
	char base64[MINISIGN_SECRET_CHARS + 1];
	uint8_t raw[MINISIGN_SECRET_BYTES];
	struct fault why = {0};
	struct identity id;
	int r;

	write_file("key", text, n);
	r = minisign_read_secret(raw, path_of("key"), &why);
	if (r < 0) {
		MUST(r == ERR_KEY && why.code == ERR_KEY && why.text[0]);
		return;
	}
	sodium_bin2base64(base64, sizeof(base64), raw, sizeof(raw), sodium_base64_VARIANT_ORIGINAL);
	MUST(is_second_line(text, n, base64));
	if (is_costly(raw))
		return;
	memset(&id, 0xa5, sizeof(id));
	r = minisign_open_secret(&id, raw, "word", &why);
	if (r == 0)
		must_write_again(&id);
	else
		MUST((r == ERR_KEY || r == ERR_MEMORY) && why.code == r && is_untouched(&id, sizeof(id)));
}

/* 158 bytes as they come, zeros behind them, with the magics put right. */
static void try_raw(const uint8_t *bytes, size_t n)
{
	static const char comment[] = "untrusted comment: x\n";
	uint8_t raw[MINISIGN_SECRET_BYTES] = {0};
	char text[sizeof(comment) + MINISIGN_SECRET_CHARS];

	memcpy(raw, bytes, n < sizeof(raw) ? n : sizeof(raw));
	memcpy(raw, "Ed", 2);
	memcpy(raw + KDF_AT, raw[KDF_AT] & 1 ? "ScB2" : "\0\0B2", 4);
	memcpy(text, comment, sizeof(comment));
	sodium_bin2base64(text + sizeof(comment) - 1, MINISIGN_SECRET_CHARS + 1, raw, sizeof(raw),
			  sodium_base64_VARIANT_ORIGINAL);
	try_secret((const uint8_t *)text, strlen(text));
}

static void try_line(const uint8_t *bytes, size_t n)
{
	char *line = malloc(n + 1), again[MINISIGN_PUBLIC_CHARS + 1];
	struct fault why = {0};
	struct public_key pk;

	MUST(line);
	memcpy(line, bytes, n);
	line[n] = '\0';
	memset(&pk, 0xa5, sizeof(pk));
	if (key_parse(&pk, line, &why) == 0)
		MUST(strcmp(key_base64(again, &pk), line) == 0);
	else
		MUST(why.code == ERR_KEY && why.text[0] && is_untouched(&pk, sizeof(pk)));
	free(line);
}

static void check_file(const struct trust_file *f)
{
	MUST(strcmp(f->name, "b") == 0 && !f->system && (f->broken.code == ERR_NONE || f->broken.text[0]));
}

/* Whatever lies beside it, a good key is found, and a broken file is reported. */
static void try_store(const char *leaf, const uint8_t *bytes, size_t n)
{
	struct identity id = sample_identity(1);
	const struct trusted *found = NULL;
	struct trust_list list;
	struct public_key pk;
	struct fault why;

	write_file(leaf, bytes, n);
	MUST(trust_list_read(&list, &why) == 0);
	key_of_identity(&pk, &id);
	MUST(trust_find(&list, &pk, &found, &why) == 1 && found->file.broken.code == ERR_NONE);
	for (size_t i = 0; i < list.nkeys; i++) {
		const struct trusted *t = &list.keys[i];

		MUST(t->file.broken.code == ERR_NONE || (t->file.broken.text[0] && strcmp(t->file.name, "b") == 0));
		MUST(t->file.broken.code != ERR_NONE || trust_find(&list, &t->key, &found, &why) == 1);
	}
	for (size_t i = 0; i < list.ndelegations; i++)
		check_file(&list.delegations[i].file);
	for (size_t i = 0; i < list.nlists; i++)
		check_file(&list.lists[i].file);
	trust_list_clear(&list);
	unlink(path_of(leaf));
}

/* What is believed of the roles of a key is what the file says, in the one way in which it can be written. */
static void try_roles(const uint8_t *bytes, size_t n)
{
	struct identity id = sample_identity(2);
	char text[MINISIGN_PUBLIC_FILE_MAX], again[ROLES_FILE_MAX + 1];
	const struct trusted *found = NULL;
	struct trust_list list;
	struct public_key pk;
	struct fault why = {0};
	int r;

	key_of_identity(&pk, &id);
	write_file("trust/b.pub", text, minisign_format_public(text, &pk));
	write_file("trust/b.roles", bytes, n);
	MUST(trust_list_read(&list, &why) == 0 && list.nkeys == 2);
	r = trust_find(&list, &pk, &found, &why);
	if (r == 1)
		MUST(roles_file_format(again, &pk, found->roles) == n && memcmp(again, bytes, n) == 0);
	else
		MUST(r < 0 && why.text[0] && trust_roles(&list, &pk) == 0);
	trust_list_clear(&list);
	unlink(path_of("trust/b.roles"));
	unlink(path_of("trust/b.pub"));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	static const char *const leaves[] = {"trust/b.pub", "trust/b.delegation", "trust/b.revocations",
					     "trust/b.revocations.minisig"};

	make_home();
	if (n == 0)
		return 0;
	if (bytes[0] == 8) {
		try_roles(bytes + 1, n - 1);
		return 0;
	}
	switch (bytes[0] % 8) {
	case 0:
		try_public(bytes + 1, n - 1);
		break;
	case 1:
		try_secret(bytes + 1, n - 1);
		break;
	case 2:
		try_line(bytes + 1, n - 1);
		break;
	case 3:
		try_raw(bytes + 1, n - 1);
		break;
	default:
		try_store(leaves[bytes[0] % 8 - 4], bytes + 1, n - 1);
	}
	return 0;
}

unsigned fuzz_seeds(void (*give)(void *arg, const uint8_t *bytes, size_t n), void *arg)
{
	static const struct scrypt_cost cheap = {32768, 1 << 20};
	struct identity id = sample_identity(1);
	char text[MINISIGN_SECRET_FILE_MAX + 1];
	struct public_key pk;
	struct fault why;
	size_t n;

	MUST(sodium_init() >= 0);
	key_of_identity(&pk, &id);
	n = minisign_format_public(text + 1, &pk);
	text[0] = 0;
	give(arg, (uint8_t *)text, 1 + n);
	text[0] = 4;
	give(arg, (uint8_t *)text, 1 + n);
	text[0] = 2;
	key_base64(text + 1, &pk);
	give(arg, (uint8_t *)text, 1 + MINISIGN_PUBLIC_CHARS);
	text[0] = 1;
	for (int encrypted = 0; encrypted < 2; encrypted++) {
		MUST(minisign_format_secret(text + 1, &n, &id, encrypted ? "word" : NULL, &cheap, &why) == 0);
		give(arg, (uint8_t *)text, 1 + n);
	}
	memset(text, 0, sizeof(text));
	text[0] = 3;
	memcpy(text + 1 + MINISIGN_SECRET_BYTES - 96, id.secret_key, sizeof(id.secret_key));
	give(arg, (uint8_t *)text, 1 + MINISIGN_SECRET_BYTES);
	give(arg, (const uint8_t *)"\6gpurec revocations 1\n", 22);
	id = sample_identity(2);
	key_of_identity(&pk, &id);
	text[0] = 8;
	give(arg, (uint8_t *)text, 1 + roles_file_format(text + 1, &pk, ROLES_ALL));
	return 8;
}
