/* SPDX-License-Identifier: Apache-2.0 */
#include "keys/signature.h"

#include <assert.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "keys/files.h"

#define UNTRUSTED_PREFIX "untrusted comment: "
#define TRUSTED_PREFIX "trusted comment: "
#define DEFAULT_COMMENT "signature from minisign secret key" /* minisign's */
#define ALGORITHM_HASHED "ED"
#define ALGORITHM_LEGACY "Ed"

#define SIGNATURE_MODE 0644
#define READ_BYTES (64 << 10)

/* The 74 bytes of the second line. */
enum second_line { LINE_AT_KEYNUM = 2, LINE_AT_SIGNATURE = 10, LINE_BYTES = 74 };
#define LINE_CHARS 100
#define GLOBAL_CHARS 88
#define NLINES 4

static_assert(SIGNATURE_BYTES == crypto_sign_BYTES, "signature");
static_assert(sizeof(UNTRUSTED_PREFIX) + SIGNATURE_COMMENT_MAX + sizeof(TRUSTED_PREFIX) + SIGNATURE_TRUSTED_MAX +
			      LINE_CHARS + GLOBAL_CHARS + NLINES + 1 <=
		      SIGNATURE_FILE_MAX,
	      "a signature file has room");

/* --- the file --- */

/* What the fourth line signs: the first signature and the trusted comment. Returns its length. */
static size_t comment_message(uint8_t message[SIGNATURE_BYTES + SIGNATURE_TRUSTED_MAX], const struct signature *sig)
{
	size_t len = strlen(sig->trusted);

	memcpy(message, sig->of_file, SIGNATURE_BYTES);
	memcpy(message + SIGNATURE_BYTES, sig->trusted, len);
	return SIGNATURE_BYTES + len;
}

/* Whether `len` bytes can be a comment: no control character but the tab. */
static bool is_plain(const char *text, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (((unsigned char)text[i] < 0x20 && text[i] != '\t') || text[i] == 0x7f)
			return false;
	return true;
}

struct line {
	const char *text;
	size_t len;
};

/* Exactly four lines of `text`; the last one's end may be missing. */
static int split_lines(struct line lines[NLINES], const char *text, size_t len, struct fault *why)
{
	size_t rest = len;
	const char *eol;
	int i;

	if (len == 0)
		return fault_set(why, ERR_FORMAT, FAULT_NOWHERE, "the file is empty, so no minisign signature");
	for (i = 0; i < NLINES && rest > 0; i++) {
		eol = memchr(text, '\n', rest);
		lines[i].text = text;
		lines[i].len = eol ? (size_t)(eol - text) : rest;
		rest -= lines[i].len + (eol ? 1 : 0);
		text += lines[i].len + (eol ? 1 : 0);
	}
	if (i < NLINES)
		return fault_set(why, ERR_FORMAT, FAULT_NOWHERE,
				 "a signature file that is cut off: %d of 4 lines are there", i);
	if (rest > 0)
		return fault_set(why, ERR_FORMAT, (uint64_t)(len - rest),
				 "not a minisign signature: something follows its fourth line");
	return 0;
}

/* The comment in `line` behind `prefix`, into out[max + 1]. */
static int parse_comment(char *out, size_t max, const char *prefix, const struct line *line, struct fault *why)
{
	size_t skip = strlen(prefix);

	if (line->len < skip || memcmp(line->text, prefix, skip) != 0)
		return fault_set(why, ERR_FORMAT, FAULT_NOWHERE,
				 "not a minisign signature: a line does not begin with \"%s\"", prefix);
	if (line->len - skip > max)
		return fault_set(why, ERR_FORMAT, FAULT_NOWHERE,
				 "not a minisign signature: a comment of %zu bytes, where %zu are the limit",
				 line->len - skip, max);
	if (!is_plain(line->text + skip, line->len - skip))
		return fault_set(why, ERR_FORMAT, FAULT_NOWHERE,
				 "not a minisign signature: a comment with control characters");
	memcpy(out, line->text + skip, line->len - skip);
	out[line->len - skip] = '\0';
	return 0;
}

static int parse_lines(struct signature *sig, const struct line lines[NLINES], struct fault *why)
{
	uint8_t raw[LINE_BYTES];
	int r;

	r = parse_comment(sig->comment, SIGNATURE_COMMENT_MAX, UNTRUSTED_PREFIX, &lines[0], why);
	if (r < 0)
		return r;
	if (lines[1].len != LINE_CHARS || !minisign_decode_base64(raw, sizeof(raw), lines[1].text, LINE_CHARS))
		return fault_set(why, ERR_FORMAT, FAULT_NOWHERE,
				 "not a minisign signature: the second line is not %d characters of base64",
				 LINE_CHARS);
	if (memcmp(raw, ALGORITHM_LEGACY, LINE_AT_KEYNUM) == 0)
		return fault_set(
			why, ERR_FORMAT, FAULT_NOWHERE,
			"a signature of minisign's old kind (minisign -S -l), which is not accepted here; have "
			"the file signed anew, without -l");
	if (memcmp(raw, ALGORITHM_HASHED, LINE_AT_KEYNUM) != 0)
		return fault_set(why, ERR_FORMAT, FAULT_NOWHERE, "not a minisign signature: not of the algorithm ED");
	memcpy(sig->keynum, raw + LINE_AT_KEYNUM, sizeof(sig->keynum));
	memcpy(sig->of_file, raw + LINE_AT_SIGNATURE, sizeof(sig->of_file));
	r = parse_comment(sig->trusted, SIGNATURE_TRUSTED_MAX, TRUSTED_PREFIX, &lines[2], why);
	if (r < 0)
		return r;
	if (!sig->trusted[0])
		return fault_set(why, ERR_FORMAT, FAULT_NOWHERE, "a signature whose trusted comment is empty");
	if (lines[3].len != GLOBAL_CHARS ||
	    !minisign_decode_base64(sig->of_comment, sizeof(sig->of_comment), lines[3].text, GLOBAL_CHARS))
		return fault_set(why, ERR_FORMAT, FAULT_NOWHERE,
				 "not a minisign signature: the fourth line is not %d characters of base64",
				 GLOBAL_CHARS);
	return 0;
}

int signature_parse(struct signature *sig, const char *text, size_t len, struct fault *why)
{
	struct line lines[NLINES];
	struct signature parsed;
	int r = split_lines(lines, text, len, why);

	if (r == 0)
		r = parse_lines(&parsed, lines, why);
	if (r == 0)
		*sig = parsed;
	return r;
}

size_t signature_format(char buf[SIGNATURE_FILE_MAX], const struct signature *sig)
{
	char first[LINE_CHARS + 1], second[GLOBAL_CHARS + 1];
	uint8_t raw[LINE_BYTES];

	memcpy(raw, ALGORITHM_HASHED, LINE_AT_KEYNUM);
	memcpy(raw + LINE_AT_KEYNUM, sig->keynum, sizeof(sig->keynum));
	memcpy(raw + LINE_AT_SIGNATURE, sig->of_file, sizeof(sig->of_file));
	sodium_bin2base64(first, sizeof(first), raw, sizeof(raw), sodium_base64_VARIANT_ORIGINAL);
	sodium_bin2base64(second, sizeof(second), sig->of_comment, sizeof(sig->of_comment),
			  sodium_base64_VARIANT_ORIGINAL);
	return (size_t)snprintf(buf, SIGNATURE_FILE_MAX, UNTRUSTED_PREFIX "%s\n%s\n" TRUSTED_PREFIX "%s\n%s\n",
				sig->comment, first, sig->trusted, second);
}

/* A regular file, opened to be read whole: the descriptor, or an error (`wrong`: it is no regular file). */
static int open_regular(const char *path, struct stat *st, enum err wrong, struct fault *why)
{
	/* Not to hang on a FIFO, nor to adopt a terminal, before fstat() shows what it is. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), r = 0;

	if (fd < 0)
		return fault_errno(why, "%.150s: cannot be opened", path);
	if (fstat(fd, st) < 0)
		r = fault_errno(why, "%.150s: cannot be examined", path);
	else if (!S_ISREG(st->st_mode))
		r = fault_set(why, wrong, FAULT_NOWHERE, "%.150s: not a regular file", path);
	if (r < 0)
		close(fd);
	return r < 0 ? r : fd;
}

int signature_read(struct signature *sig, const char *path, struct fault *why)
{
	char text[SIGNATURE_FILE_MAX];
	struct stat st;
	size_t len = 0;
	int fd = open_regular(path, &st, ERR_FORMAT, why), r;

	if (fd < 0)
		return fd;
	r = file_fill(fd, path, text, sizeof(text), &len, why);
	if (r == 0 && len == sizeof(text))
		r = fault_set(why, ERR_FORMAT, FAULT_NOWHERE, "%.150s: too large for a signature file", path);
	else if (r == 0)
		r = fault_at_path(why, signature_parse(sig, text, file_lines(text, len), why), path);
	close(fd);
	return r;
}

/* --- the hash --- */

void signature_hash_bytes(struct prehash *hash, const void *bytes, size_t len)
{
	crypto_generichash(hash->bytes, sizeof(hash->bytes), bytes, len, NULL, 0);
}

static bool same_state(const struct stat *a, const struct stat *b)
{
	return a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
	       a->st_mtim.tv_nsec == b->st_mtim.tv_nsec && a->st_ctim.tv_sec == b->st_ctim.tv_sec &&
	       a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

int signature_hash(struct prehash *hash, const char *path, struct fault *why)
{
	uint8_t buf[READ_BYTES], bytes[sizeof(hash->bytes)];
	crypto_generichash_state state;
	struct stat before, after;
	uint64_t total = 0;
	size_t n;
	int fd, r;

	if (sodium_init() < 0)
		return fault_set(why, ERR_IO, FAULT_NOWHERE, "the system provides no random numbers");
	fd = open_regular(path, &before, ERR_INPUT, why);
	if (fd < 0)
		return fd;
	crypto_generichash_init(&state, NULL, 0, sizeof(bytes));
	do {
		r = file_fill(fd, path, buf, sizeof(buf), &n, why);
		if (r < 0)
			goto out;
		crypto_generichash_update(&state, buf, n);
		total += n;
	} while (n == sizeof(buf));
	crypto_generichash_final(&state, bytes, sizeof(bytes));
	if (fstat(fd, &after) < 0)
		r = fault_errno(why, "%.150s: cannot be read", path);
	else if (!same_state(&before, &after) || total != (uint64_t)after.st_size)
		r = fault_set(why, ERR_INPUT, FAULT_NOWHERE,
			      "%.150s: the file changed while it was read; wait until nobody writes to it", path);
	else
		memcpy(hash->bytes, bytes, sizeof(bytes));
out:
	close(fd);
	return r;
}

/* --- signing and checking --- */

void signature_default_trusted(char trusted[SIGNATURE_TRUSTED_MAX + 1], const char *path, int64_t unix_s)
{
	char name[NAME_MAX + 1], *p;

	snprintf(name, sizeof(name), "%s", file_leaf(path));
	for (p = name; *p; p++)
		if (!is_plain(p, 1) || *p == '\t')
			*p = '_';
	snprintf(trusted, SIGNATURE_TRUSTED_MAX + 1, "timestamp:%" PRId64 "\tfile:%s\thashed", unix_s, name);
}

/* Whether `text` can be in a line of the file; `what` says which one it is. */
static int check_comment(const char *text, size_t max, const char *what, struct fault *why)
{
	if (strlen(text) > max)
		return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "the %s has %zu bytes; %zu are the limit", what,
				 strlen(text), max);
	if (!is_plain(text, strlen(text)))
		return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "the %s holds a newline or another control character",
				 what);
	return 0;
}

int signature_sign(struct signature *sig, const struct prehash *hash, const struct identity *id, const char *comment,
		   const char *trusted, struct fault *why)
{
	uint8_t message[SIGNATURE_BYTES + SIGNATURE_TRUSTED_MAX];
	int r;

	comment = comment ? comment : DEFAULT_COMMENT;
	r = check_comment(comment, SIGNATURE_COMMENT_MAX, "untrusted comment", why);
	if (r == 0)
		r = check_comment(trusted, SIGNATURE_TRUSTED_MAX, "trusted comment", why);
	/* Alone, the first signature would be signed as 64 bytes: see the header. */
	if (r == 0 && !trusted[0])
		r = fault_set(why, ERR_INPUT, FAULT_NOWHERE, "the trusted comment is empty");
	if (r < 0)
		return r;
	memcpy(sig->keynum, id->keynum, sizeof(sig->keynum));
	strcpy(sig->comment, comment);
	strcpy(sig->trusted, trusted);
	crypto_sign_detached(sig->of_file, NULL, hash->bytes, sizeof(hash->bytes), id->secret_key);
	crypto_sign_detached(sig->of_comment, NULL, message, comment_message(message, sig), id->secret_key);
	return 0;
}

int signature_verify(const struct signature *sig, const struct prehash *hash, const struct public_key *pk,
		     struct fault *why)
{
	uint8_t message[SIGNATURE_BYTES + SIGNATURE_TRUSTED_MAX];
	char of[KEY_ID_CHARS + 1], want[KEY_ID_CHARS + 1];

	if (memcmp(sig->keynum, pk->keynum, sizeof(sig->keynum)) != 0)
		return fault_set(why, ERR_KEY, FAULT_NOWHERE, "signed by the key %s, not by %s",
				 key_id(of, sig->keynum), key_id(want, pk->keynum));
	if (crypto_sign_verify_detached(sig->of_file, hash->bytes, sizeof(hash->bytes), pk->key) != 0)
		return fault_set(why, ERR_FORGED, FAULT_NOWHERE,
				 "the file is not the one that the key %s signed, or the signature was altered",
				 key_id(of, sig->keynum));
	if (crypto_sign_verify_detached(sig->of_comment, message, comment_message(message, sig), pk->key) != 0)
		return fault_set(why, ERR_FORGED, FAULT_NOWHERE,
				 "the trusted comment is not the one that the key %s signed", key_id(of, sig->keynum));
	return 0;
}

int signature_path(char *sig_path, const char *path, struct fault *why)
{
	return file_beside(sig_path, path, SIGNATURE_SUFFIX, why);
}

/* Whether both name one file; not if one is not there. */
static bool same_file(const char *a, const char *b)
{
	struct stat of_a, of_b;

	return stat(a, &of_a) == 0 && stat(b, &of_b) == 0 && of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino;
}

int signature_make(const char *path, const char *sig_path, bool replace, const struct identity *id, const char *comment,
		   const char *trusted, struct fault *why)
{
	char by_default[SIGNATURE_TRUSTED_MAX + 1], text[SIGNATURE_FILE_MAX];
	struct signature sig;
	struct prehash hash;
	int r;

	if (same_file(path, sig_path))
		return fault_set(why, ERR_INPUT, FAULT_NOWHERE,
				 "%.150s: its signature would replace the file itself; name another output", path);
	r = signature_hash(&hash, path, why);
	if (r < 0)
		return r;
	if (!trusted) {
		signature_default_trusted(by_default, path, time(NULL));
		trusted = by_default;
	}
	r = signature_sign(&sig, &hash, id, comment, trusted, why);
	if (r == 0)
		r = file_make(sig_path, SIGNATURE_MODE, replace, text, signature_format(text, &sig), why);
	return r;
}

int signature_check(const char *path, const char *sig_path, const struct public_key *pk, struct signature *sig,
		    struct fault *why)
{
	struct signature read;
	struct prehash hash;
	int r = signature_read(&read, sig_path, why);

	if (r == 0)
		r = signature_hash(&hash, path, why);
	if (r == 0)
		r = fault_at_path(why, signature_verify(&read, &hash, pk, why), path);
	if (r == 0 && sig)
		*sig = read;
	return r;
}
