/* SPDX-License-Identifier: Apache-2.0 */
/* Key files, in minisign's formats, each test in a folder of its own. */
#include <setjmp.h>
#include <signal.h>
#include <sodium.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "keys/files.h"
#include "keys/identity.h"
#include "tests/unit/home.h"

/* scrypt at its cheapest: minisign's own cost takes a second and a gigabyte. */
static const struct scrypt_cost cheap = {crypto_pwhash_scryptsalsa208sha256_OPSLIMIT_MIN,
					 crypto_pwhash_scryptsalsa208sha256_MEMLIMIT_MIN};

static void put(const char *path, mode_t mode, const char *text, size_t len)
{
	struct fault why;

	assert_int_equal(file_make(path, mode, true, text, len, &why), 0);
}

static void a_key_id_has_no_leading_zeros_as_minisign_prints_it(void **state)
{
	const uint8_t keynum[KEYNUM_BYTES] = {0x0f, 0, 0, 0, 0, 0, 0, 0x05};
	char id[KEY_ID_CHARS + 1];

	(void)state;
	assert_string_equal(key_id(id, keynum), "50000000000000F");
}

static const char stock_public[] = "untrusted comment: minisign public key BEAF78D76BE4C880\n"
				   "RWSAyORr13ivvoJT0Q1oDmsoXm/xvmZAJZldZuvAt/EVZRXYKVTafsV5\n";
static const char stock_secret[] =
	"untrusted comment: minisign encrypted secret key\n"
	"RWQAAEIyAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAgMjka9d4r74gFlHja51VVwH4VNN1ZuWHSoLRVN"
	"SD"
	"kOBDXIRWQLywlIJT0Q1oDmsoXm/xvmZAJZldZuvAt/EVZRXYKVTafsV5AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n";

static int read_public(struct public_key *pk, const char *text, size_t len, struct fault *why)
{
	put("p.pub", 0644, text, len);
	return minisign_read_public(pk, "p.pub", why);
}

static int read_secret(struct identity *id, const char *text, size_t len, const char *passphrase, struct fault *why)
{
	uint8_t raw[MINISIGN_SECRET_BYTES];
	int r;

	put("s.key", 0600, text, len);
	r = minisign_read_secret(raw, "s.key", why);
	return r < 0 ? r : minisign_open_secret(id, raw, passphrase, why);
}

static void a_public_key_of_the_stock_tool_is_read_and_written_to_the_byte(void **state)
{
	char text[MINISIGN_PUBLIC_FILE_MAX], id[KEY_ID_CHARS + 1], base64[MINISIGN_PUBLIC_CHARS + 1];
	struct public_key pk, again;
	struct fault why;
	size_t len;

	(void)state;
	assert_int_equal(read_public(&pk, stock_public, strlen(stock_public), &why), 0);
	assert_string_equal(key_id(id, pk.keynum), "BEAF78D76BE4C880");
	len = minisign_format_public(text, &pk);
	assert_int_equal(len, strlen(stock_public));
	assert_memory_equal(text, stock_public, len);
	assert_int_equal(key_parse(&again, key_base64(base64, &pk), &why), 0);
	assert_true(key_equal(&pk, &again));
	again.keynum[0] ^= 1;
	assert_false(key_equal(&pk, &again));
	again = pk;
	again.key[31] ^= 0x80;
	assert_false(key_equal(&pk, &again));
}

static void a_secret_key_of_the_stock_tool_is_read_and_written_to_the_byte(void **state)
{
	char text[MINISIGN_SECRET_FILE_MAX];
	struct identity id;
	struct public_key pk, half;
	struct fault why;
	size_t len;

	(void)state;
	assert_int_equal(read_secret(&id, stock_secret, strlen(stock_secret), NULL, &why), 0);
	assert_int_equal(read_public(&pk, stock_public, strlen(stock_public), &why), 0);
	key_of_identity(&half, &id);
	assert_true(key_equal(&pk, &half));
	assert_int_equal(minisign_format_secret(text, &len, &id, NULL, NULL, &why), 0);
	assert_int_equal(len, strlen(stock_secret));
	assert_memory_equal(text, stock_secret, len);
}

static void every_cut_of_a_key_file_is_refused_with_a_sentence(void **state)
{
	struct public_key pk;
	struct identity id;
	struct fault why;
	size_t n;

	(void)state;
	/* All but the final newline is needed. */
	for (n = 0; n + 1 < strlen(stock_public); n++) {
		assert_int_equal(read_public(&pk, stock_public, n, &why), ERR_KEY);
		assert_non_null(strstr(why.text, "p.pub: "));
	}
	assert_int_equal(read_public(&pk, stock_public, n, &why), 0);
	for (n = 0; n + 1 < strlen(stock_secret); n++)
		assert_int_equal(read_secret(&id, stock_secret, n, NULL, &why), ERR_KEY);
	assert_int_equal(read_secret(&id, stock_secret, n, NULL, &why), 0);
}

static void every_flipped_bit_of_a_public_key_gives_another_key_or_none(void **state)
{
	const char *line = strchr(stock_public, '\n') + 1;
	char text[sizeof(stock_public)];
	struct public_key pk, changed;
	struct fault why;
	size_t i, at = (size_t)(line - stock_public);
	int bit;

	(void)state;
	assert_int_equal(read_public(&pk, stock_public, strlen(stock_public), &why), 0);
	for (i = at; i < at + MINISIGN_PUBLIC_CHARS; i++)
		for (bit = 0; bit < 8; bit++) {
			memcpy(text, stock_public, sizeof(text));
			text[i] = (char)(text[i] ^ (1 << bit));
			if (read_public(&changed, text, strlen(stock_public), &why) == 0)
				assert_false(key_equal(&pk, &changed));
		}
}

static void a_text_is_the_same_lines_however_they_end(void **state)
{
	static const char *const texts[][2] = {
		{"", ""},
		{"a\nb\n", "a\nb\n"},
		{"a\r\nb\r\n", "a\nb\n"},
		{"\xef\xbb\xbf"
		 "a\nb\r\n",
		 "a\nb\n"},
		{"\xef\xbb\xbf", ""},
		{"\xef\xbb", "\xef\xbb"},
		{"a\r\nb", "a\nb"},
		{"a\r\nb\r", "a\nb"},
		{"\r\n", "\n"},
		/* nothing else is changed */
		{"a\rb\n", "a\rb\n"},
		{"a\r\r\nb\n", "a\r\nb\n"},
		{"a\n\xef\xbb\xbf"
		 "b\n",
		 "a\n\xef\xbb\xbf"
		 "b\n"},
		{"\xef\xbb\xbf\xef\xbb\xbf"
		 "a\n",
		 "\xef\xbb\xbf"
		 "a\n"},
		{" a \n", " a \n"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		size_t len = strlen(texts[i][0]), n;
		char *text = malloc(len + 1);

		assert_non_null(text);
		memcpy(text, texts[i][0], len);
		n = file_lines(text, len);
		assert_int_equal(n, strlen(texts[i][1]));
		assert_memory_equal(text, texts[i][1], n);
		for (; n < len; n++)
			assert_int_equal(text[n], 0);
		free(text);
	}
}

static void junk_around_a_key_is_refused(void **state)
{
	/* what comes before, between and after the two lines */
	static const char *const junk[][3] = {{"", "\n", "\n\n"},
					      {"", "\n", " \n"},
					      {"", "\n ", "\n"},
					      {"", "\n", "\nmore\n"},
					      {"", "\n", "\n\r\n"},
					      {"", "\n\n", "\n"},
					      {"", "\n\r", "\n"},
					      {"", "\n", "\r\r\n"},
					      {"\r\n", "\n", "\n"},
					      {"", "\r", "\n"},
					      {"\xef\xbb\xbf\xef\xbb\xbf", "\n", "\n"},
					      {"x", "\n", "\n"},
					      {"", "\n", "=\n"},
					      {"\n", "\n", "\n"}};
	char comment[64], base64[64], text[256];
	struct public_key pk;
	struct fault why;
	size_t i;

	(void)state;
	assert_int_equal(sscanf(stock_public, "%63[^\n]\n%63s", comment, base64), 2);
	for (i = 0; i < sizeof(junk) / sizeof(junk[0]); i++) {
		snprintf(text, sizeof(text), "%s%s%s%s%s", junk[i][0], comment, junk[i][1], base64, junk[i][2]);
		assert_int_equal(read_public(&pk, text, strlen(text), &why), ERR_KEY);
	}
	memcpy(text, stock_public, sizeof(stock_public));
	text[25] = '\0';
	assert_int_equal(read_public(&pk, text, strlen(stock_public), &why), ERR_KEY);
}

static void the_lines_of_a_key_file_have_their_lengths(void **state)
{
	static const char prefix[] = "untrusted comment: ";
	char text[2048];
	const char *second = strchr(stock_public, '\n');
	size_t n = strlen(stock_public), first = (size_t)(second - stock_public);
	struct public_key pk;
	struct fault why;

	(void)state;
	for (size_t comment = 1025; comment <= 1026; comment++) {
		memcpy(text, prefix, strlen(prefix));
		memset(text + strlen(prefix), 'c', comment);
		memcpy(text + strlen(prefix) + comment, second, n - first);
		assert_int_equal(read_public(&pk, text, strlen(prefix) + comment + n - first, &why),
				 comment == 1025 ? 0 : ERR_KEY);
	}
	assert_non_null(strstr(why.text, "the comment is too long"));
	memcpy(text, stock_public, n);
	text[first + 9] = '\n';
	assert_int_equal(read_public(&pk, text, n, &why), ERR_KEY);
	assert_non_null(strstr(why.text, "not two lines of plain text"));
	text[first + 9] = '\r';
	assert_int_equal(read_public(&pk, text, n, &why), ERR_KEY);
	assert_non_null(strstr(why.text, "not two lines of plain text"));
	memcpy(text, stock_public, n);
	assert_int_equal(read_public(&pk, text, n - 2, &why), ERR_KEY);
	assert_non_null(strstr(why.text, "a public key that is cut off: 55 of 56 characters"));
}

static void a_secret_key_file_is_of_the_known_kind_and_whole(void **state)
{
	char text[MINISIGN_SECRET_FILE_MAX];
	size_t n = strlen(stock_secret), at = (size_t)(strchr(stock_secret, '\n') - stock_secret) + 1;
	struct identity id;
	struct fault why;

	(void)state;
	assert_int_equal(read_secret(&id, stock_secret, n - 2, NULL, &why), ERR_KEY);
	assert_non_null(strstr(why.text, "a secret key that is cut off: 211 of 212 characters"));
	/* Six bits each: of the algorithm, of how it is encrypted, of the checksum. */
	for (unsigned i = 0; i < 8; i++) {
		memcpy(text, stock_secret, n);
		text[at + i] = text[at + i] == 'w' ? 'x' : 'w';
		assert_int_equal(read_secret(&id, text, n, NULL, &why), ERR_KEY);
		if (i < 2)
			assert_non_null(strstr(why.text, "not of the algorithms Ed and B2"));
	}
}

static void each_wrong_file_has_its_own_sentence(void **state)
{
	char large[4096], noise[64];
	struct public_key pk;
	struct identity id;
	struct fault why;

	(void)state;
	assert_int_equal(read_public(&pk, stock_secret, strlen(stock_secret), &why), ERR_KEY);
	assert_non_null(strstr(why.text, "a secret key, where a public key is needed"));
	assert_int_equal(read_secret(&id, stock_public, strlen(stock_public), NULL, &why), ERR_KEY);
	assert_non_null(strstr(why.text, "a public key, where a secret key is needed"));
	assert_int_equal(read_public(&pk, "", 0, &why), ERR_KEY);
	assert_non_null(strstr(why.text, "empty"));
	assert_int_equal(read_public(&pk, stock_public, 25, &why), ERR_KEY);
	assert_non_null(strstr(why.text, "cut off after its comment"));
	randombytes_buf(noise, sizeof(noise));
	noise[0] = 'x';
	assert_int_equal(read_secret(&id, noise, sizeof(noise), NULL, &why), ERR_KEY);
	assert_non_null(strstr(why.text, "not a minisign key"));
	memset(large, 'a', sizeof(large));
	assert_int_equal(read_public(&pk, large, sizeof(large), &why), ERR_KEY);
	assert_non_null(strstr(why.text, "too large"));
	assert_int_equal(minisign_read_public(&pk, ".", &why), ERR_KEY);
	assert_non_null(strstr(why.text, "not a regular file"));
	assert_int_equal(mkfifo("fifo", 0600), 0);
	assert_int_equal(minisign_read_public(&pk, "fifo", &why), ERR_KEY);
	assert_int_equal(minisign_read_public(&pk, "absent", &why), ERR_IO);
	assert_non_null(strstr(why.text, "No such file"));
}

static void a_secret_key_is_opened_with_its_passphrase_only(void **state)
{
	char text[MINISIGN_SECRET_FILE_MAX];
	struct identity id, again = {0}, zero = {0};
	struct fault why;
	size_t len;

	(void)state;
	assert_int_equal(identity_generate(&id, &why), 0);
	assert_int_equal(minisign_format_secret(text, &len, &id, "open sesame", &cheap, &why), 0);
	assert_int_equal(read_secret(&again, text, len, "open sesam", &why), ERR_KEY);
	assert_non_null(strstr(why.text, "wrong passphrase"));
	assert_memory_equal(&again, &zero, sizeof(zero));
	assert_int_equal(read_secret(&again, text, len, "open sesame", &why), 0);
	assert_memory_equal(&again, &id, sizeof(id));
}

static void a_key_that_asks_for_endless_work_is_refused(void **state)
{
	static const size_t last_byte_of[] = {45, 53};
	uint8_t raw[MINISIGN_SECRET_BYTES];
	char text[MINISIGN_SECRET_FILE_MAX];
	struct identity id;
	struct fault why;
	size_t i, len;

	(void)state;
	assert_int_equal(identity_generate(&id, &why), 0);
	for (i = 0; i < 2; i++) {
		assert_int_equal(minisign_format_secret(text, &len, &id, "x", &cheap, &why), 0);
		put("s.key", 0600, text, len);
		assert_int_equal(minisign_read_secret(raw, "s.key", &why), 0);
		raw[last_byte_of[i]] = 0x7f;
		assert_int_equal(minisign_open_secret(&id, raw, "x", &why), ERR_KEY);
		assert_non_null(strstr(why.text, "too much work"));
	}
}

/* Not a page more of address space: what libsodium takes from the kernel is refused. */
static void without_memory_no_secret_key_is_read(void **state)
{
	static const struct rlimit none = {0, 0};
	uint8_t raw[MINISIGN_SECRET_BYTES];
	struct fault why;
	int status;
	pid_t child;

	(void)state;
	put("s.key", 0600, stock_secret, strlen(stock_secret));
	assert_int_equal(minisign_read_secret(raw, "s.key", &why), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		if (setrlimit(RLIMIT_AS, &none) < 0)
			_exit(2);
		_exit(minisign_read_secret(raw, "s.key", &why) != ERR_MEMORY ||
		      !strstr(why.text, "no locked memory for a secret key"));
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

/* With room for all but what scrypt takes, which is a GiB. */
static void without_memory_for_scrypt_no_key_is_encrypted_by_something_else(void **state)
{
	char text[MINISIGN_SECRET_FILE_MAX];
	struct identity id;
	struct fault why;
	size_t len, pages;
	int status;
	pid_t child;

	(void)state;
	assert_int_equal(identity_generate(&id, &why), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		FILE *f = fopen("/proc/self/statm", "re");
		struct rlimit some;

		if (!f || fscanf(f, "%zu", &pages) != 1)
			_exit(2);
		some.rlim_cur = some.rlim_max = pages * (size_t)sysconf(_SC_PAGESIZE) + (64u << 20);
		if (setrlimit(RLIMIT_AS, &some) < 0)
			_exit(3);
		_exit(minisign_format_secret(text, &len, &id, "x", &MINISIGN_SENSITIVE, &why) != ERR_MEMORY ||
		      !strstr(why.text, "scrypt needs 1024 MiB"));
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

/* It keeps the text for a comparison, in room for a delegation's. */
static void base64_longer_than_a_delegation_is_none(void **state)
{
	uint8_t bytes[BASE64_CHARS_MAX / 4 * 3 + 1] = {1, 2, 3}, out[sizeof(bytes)];
	char text[sodium_base64_ENCODED_LEN(sizeof(bytes), sodium_base64_VARIANT_ORIGINAL)];

	(void)state;
	sodium_bin2base64(text, sizeof(text), bytes, sizeof(bytes), sodium_base64_VARIANT_ORIGINAL);
	assert_false(minisign_decode_base64(out, sizeof(out), text, sizeof(text) - 1));
	sodium_bin2base64(text, sizeof(text), bytes, MINISIGN_SECRET_BYTES, sodium_base64_VARIANT_ORIGINAL);
	assert_true(minisign_decode_base64(out, MINISIGN_SECRET_BYTES, text, MINISIGN_SECRET_CHARS));
	assert_memory_equal(out, bytes, MINISIGN_SECRET_BYTES);
	/* As many characters as a public key has, and a byte less. */
	sodium_bin2base64(text, sizeof(text), bytes, MINISIGN_PUBLIC_BYTES - 1, sodium_base64_VARIANT_ORIGINAL);
	assert_int_equal(strlen(text), MINISIGN_PUBLIC_CHARS);
	assert_false(minisign_decode_base64(out, MINISIGN_PUBLIC_BYTES, text, MINISIGN_PUBLIC_CHARS));
}

static void a_secret_key_whose_halves_differ_is_refused(void **state)
{
	uint8_t raw[MINISIGN_SECRET_BYTES];
	struct identity id;
	struct fault why;
	size_t i;

	(void)state;
	for (i = 62; i < 126; i++) {
		put("s.key", 0600, stock_secret, strlen(stock_secret));
		assert_int_equal(minisign_read_secret(raw, "s.key", &why), 0);
		raw[i] ^= 0x10;
		assert_int_equal(minisign_open_secret(&id, raw, NULL, &why), ERR_KEY);
		assert_non_null(strstr(why.text, "damaged"));
	}
}

static void a_secret_key_that_others_can_read_is_refused_with_the_remedy(void **state)
{
	static const mode_t open_modes[] = {0640, 0604, 0660, 0610, 0644};
	uint8_t raw[MINISIGN_SECRET_BYTES];
	struct fault why;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(open_modes) / sizeof(open_modes[0]); i++) {
		put("s.key", open_modes[i], stock_secret, strlen(stock_secret));
		assert_int_equal(minisign_read_secret(raw, "s.key", &why), ERR_KEY);
		assert_non_null(strstr(why.text, "chmod 600 s.key"));
	}
	put("s.key", 0400, stock_secret, strlen(stock_secret));
	assert_int_equal(minisign_read_secret(raw, "s.key", &why), 0);
	assert_int_equal(symlink("s.key", "link.key"), 0);
	assert_int_equal(minisign_read_secret(raw, "link.key", &why), ERR_KEY);
	assert_non_null(strstr(why.text, "a link"));
}

static void a_file_is_made_whole_or_not_at_all(void **state)
{
	struct fault why;
	struct stat st;
	char text[8];
	size_t len;

	(void)state;
	umask(0);
	assert_int_equal(file_make("f", 0600, false, "one", 3, &why), 0);
	assert_int_equal(stat("f", &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(file_make("f", 0600, false, "two", 3, &why), ERR_EXISTS);
	assert_int_equal(file_read("f", FILE_SECRET, text, sizeof(text), &len, &why), 0);
	assert_memory_equal(text, "one", 3);
	assert_int_equal(file_make("f", 0600, true, "two", 3, &why), 0);
	assert_int_equal(file_read("f", FILE_SECRET, text, sizeof(text), &len, &why), 0);
	assert_memory_equal(text, "two", 3);
	assert_int_equal(file_make("no/such/folder", 0600, false, "x", 1, &why), ERR_IO);
	umask(022);
	/* nothing but f lies here, half-written files neither */
	assert_int_equal(system("test \"$(ls -A)\" = f"), 0);
}

#define IN_HOME(test) cmocka_unit_test_setup_teardown(test, make_home, remove_home)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_key_id_has_no_leading_zeros_as_minisign_prints_it),
		IN_HOME(a_public_key_of_the_stock_tool_is_read_and_written_to_the_byte),
		IN_HOME(a_secret_key_of_the_stock_tool_is_read_and_written_to_the_byte),
		IN_HOME(every_cut_of_a_key_file_is_refused_with_a_sentence),
		IN_HOME(every_flipped_bit_of_a_public_key_gives_another_key_or_none),
		IN_HOME(a_text_is_the_same_lines_however_they_end),
		IN_HOME(junk_around_a_key_is_refused),
		IN_HOME(the_lines_of_a_key_file_have_their_lengths),
		IN_HOME(a_secret_key_file_is_of_the_known_kind_and_whole),
		IN_HOME(each_wrong_file_has_its_own_sentence),
		IN_HOME(a_secret_key_is_opened_with_its_passphrase_only),
		IN_HOME(a_key_that_asks_for_endless_work_is_refused),
		IN_HOME(without_memory_no_secret_key_is_read),
		cmocka_unit_test(without_memory_for_scrypt_no_key_is_encrypted_by_something_else),
		cmocka_unit_test(base64_longer_than_a_delegation_is_none),
		IN_HOME(a_secret_key_whose_halves_differ_is_refused),
		IN_HOME(a_secret_key_that_others_can_read_is_refused_with_the_remedy),
		IN_HOME(a_file_is_made_whole_or_not_at_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
