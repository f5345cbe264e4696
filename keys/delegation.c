/* SPDX-License-Identifier: Apache-2.0 */
#include "keys/delegation.h"

#include <assert.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "keys/files.h"
#include "keys/plain_text.h"
#include "format/crypt.h"
#include "format/base/bytes.h"

#define COMMENT_PREFIX "untrusted comment: "
#define COMMENT_MAX 1024
#define MAGIC "gD"
#define VERSION_PLAIN 1 /* signed by plain Ed25519 */
#define VERSION 2
#define MEANT "Z0Q" /* how the base64 of MAGIC begins */

/* The statement, as docs/KEYS.md shows it. */
enum statement_at {
	AT_MAGIC = 0,
	AT_VERSION = 2,
	AT_HOST_KEYNUM = 3,
	AT_HOST_KEY = 11,
	AT_AUTHORITY_KEYNUM = 43,
	AT_AUTHORITY_KEY = 51,
	AT_FROM = 83,
	AT_UNTIL = 91,
	AT_NAME_LEN = 99,
	AT_NAME = 100,
};
#define STATEMENT_MAX (AT_NAME + DELEGATION_NAME_MAX)
#define RAW_MIN (AT_NAME + 1 + SIGNATURE_BYTES)
#define RAW_MAX (STATEMENT_MAX + SIGNATURE_BYTES)
#define CHARS_MAX BASE64_CHARS(RAW_MAX)
#define DELEGATION_TEXT_MAX (sizeof(COMMENT_PREFIX) + COMMENT_MAX + CHARS_MAX + 2)

static_assert(CHARS_MAX == BASE64_CHARS_MAX, "the longest delegation can be decoded");

static const char domain[DOMAIN_BYTES] = "gpurec.deleg.1";

/* The statement's bytes into raw; returns how many. */
static size_t lay_out(uint8_t raw[STATEMENT_MAX], const struct delegation *d)
{
	size_t n = strlen(d->name);

	memcpy(raw + AT_MAGIC, MAGIC, AT_VERSION);
	raw[AT_VERSION] = d->version;
	memcpy(raw + AT_HOST_KEYNUM, d->host.keynum, sizeof(d->host.keynum));
	memcpy(raw + AT_HOST_KEY, d->host.key, sizeof(d->host.key));
	memcpy(raw + AT_AUTHORITY_KEYNUM, d->authority.keynum, sizeof(d->authority.keynum));
	memcpy(raw + AT_AUTHORITY_KEY, d->authority.key, sizeof(d->authority.key));
	put_le64(raw + AT_FROM, d->from_ns);
	put_le64(raw + AT_UNTIL, d->until_ns);
	raw[AT_NAME_LEN] = (uint8_t)n;
	memcpy(raw + AT_NAME, d->name, n);
	return AT_NAME + n;
}

int delegation_make(struct delegation *d, const struct public_key *host, const char *name, uint64_t from_ns,
		    uint64_t until_ns, const struct identity *authority, struct fault *why)
{
	uint8_t raw[STATEMENT_MAX];
	struct delegation made = {.host = *host, .from_ns = from_ns, .until_ns = until_ns, .version = VERSION};

	if (!plain_text_valid(name, strlen(name), DELEGATION_NAME_MAX))
		return fault_set(why, ERR_INPUT, FAULT_NOWHERE,
				 "'%.80s' cannot name a host: 1 to %d bytes of printable text without quotation mark, "
				 "backslash or outer blanks",
				 name, DELEGATION_NAME_MAX);
	if (until_ns <= from_ns)
		return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "a delegation must end after it begins");
	strcpy(made.name, name);
	key_of_identity(&made.authority, authority);
	crypt_hash(made.hash, domain, raw, lay_out(raw, &made));
	crypt_sign(made.signature, domain, made.hash, authority->secret_key);
	*d = made;
	return 0;
}

size_t delegation_format(char buf[DELEGATION_FILE_MAX], const struct delegation *d)
{
	char base64[CHARS_MAX + 1];
	uint8_t raw[RAW_MAX];
	size_t n = lay_out(raw, d);

	memcpy(raw + n, d->signature, SIGNATURE_BYTES);
	sodium_bin2base64(base64, sizeof(base64), raw, n + SIGNATURE_BYTES, sodium_base64_VARIANT_ORIGINAL);
	return (size_t)snprintf(buf, DELEGATION_FILE_MAX, COMMENT_PREFIX "gpurec delegation of %s\n%s\n", d->name,
				base64);
}

bool delegation_is_meant(const char *text, size_t len)
{
	const char *eol = memchr(text, '\n', len);

	return eol && len - (size_t)(eol + 1 - text) >= strlen(MEANT) && memcmp(eol + 1, MEANT, strlen(MEANT)) == 0;
}

/* Two lines, the second canonical base64, into raw; returns how many bytes, or ERR_KEY. */
static int decode(uint8_t raw[RAW_MAX], const char *text, size_t len, struct fault *why)
{
	const char *eol = memchr(text, '\n', len);
	size_t prefix = strlen(COMMENT_PREFIX), chars, n;

	if (len < prefix || memcmp(text, COMMENT_PREFIX, prefix) != 0 || !eol || memchr(text, '\0', len) ||
	    (size_t)(eol - text) > prefix + COMMENT_MAX)
		return fault_set(why, ERR_KEY, FAULT_NOWHERE,
				 "not a delegation: no line \"untrusted comment: ...\" before the rest");
	chars = len - (size_t)(eol + 1 - text);
	if (chars > 0 && eol[chars] == '\n')
		chars--;
	if (!base64_decode(raw, RAW_MAX, &n, eol + 1, chars))
		return fault_set(why, ERR_KEY, FAULT_NOWHERE,
				 "not a delegation: its second line is not the base64 of one");
	return (int)n;
}

/* Fields out of `n` bytes whose head and lengths are checked here. */
static int take_fields(struct delegation *d, const uint8_t *raw, size_t n, struct fault *why)
{
	size_t len;

	if (n < 3 || memcmp(raw, MAGIC, AT_VERSION) != 0)
		return fault_set(why, ERR_KEY, FAULT_NOWHERE, "not a delegation: it does not begin like one");
	d->version = raw[AT_VERSION];
	if (d->version != VERSION && d->version != VERSION_PLAIN)
		return fault_set(why, ERR_KEY, FAULT_NOWHERE, "a delegation of version %u; this build knows up to %d",
				 d->version, VERSION);
	len = n < RAW_MIN ? 0 : raw[AT_NAME_LEN];
	if (n != AT_NAME + len + SIGNATURE_BYTES)
		return fault_set(why, ERR_KEY, FAULT_NOWHERE, "a delegation that is cut off or has too many bytes");
	if (!plain_text_valid((const char *)raw + AT_NAME, len, DELEGATION_NAME_MAX))
		return fault_set(why, ERR_KEY, FAULT_NOWHERE, "a delegation of a name that is not plain text");
	memcpy(d->host.keynum, raw + AT_HOST_KEYNUM, sizeof(d->host.keynum));
	memcpy(d->host.key, raw + AT_HOST_KEY, sizeof(d->host.key));
	memcpy(d->authority.keynum, raw + AT_AUTHORITY_KEYNUM, sizeof(d->authority.keynum));
	memcpy(d->authority.key, raw + AT_AUTHORITY_KEY, sizeof(d->authority.key));
	d->from_ns = get_le64(raw + AT_FROM);
	d->until_ns = get_le64(raw + AT_UNTIL);
	memcpy(d->name, raw + AT_NAME, len);
	d->name[len] = '\0';
	memcpy(d->signature, raw + AT_NAME + len, SIGNATURE_BYTES);
	if (d->until_ns <= d->from_ns)
		return fault_set(why, ERR_KEY, FAULT_NOWHERE, "a delegation that ends before it begins");
	return 0;
}

/* Statements of version 1 are signed in another way. */
static bool signed_by_authority(const struct delegation *d)
{
	if (d->version == VERSION_PLAIN)
		return crypt_signed_plainly_by(d->signature, domain, d->hash, d->authority.key);
	return crypt_signed_by(d->signature, domain, d->hash, d->authority.key);
}

int delegation_parse(struct delegation *d, const char *text, size_t len, struct fault *why)
{
	uint8_t raw[RAW_MAX];
	struct delegation taken;
	int n = decode(raw, text, len, why), r;

	if (n < 0)
		return n;
	r = take_fields(&taken, raw, (size_t)n, why);
	if (r < 0)
		return r;
	crypt_hash(taken.hash, domain, raw, (size_t)n - SIGNATURE_BYTES);
	if (!signed_by_authority(&taken))
		return fault_set(why, ERR_FORGED, FAULT_NOWHERE,
				 "a forged delegation: the authority that it names did not sign it");
	*d = taken;
	return 0;
}

int delegation_read(struct delegation *d, const char *path, struct fault *why)
{
	char text[DELEGATION_TEXT_MAX];
	struct fault inner;
	size_t len;
	int r = file_read(path, FILE_PUBLIC, text, sizeof(text), &len, why);

	if (r < 0)
		return r;
	r = delegation_parse(d, text, len, &inner);
	return r < 0 ? fault_set(why, r, inner.offset, "%.140s: %s", path, inner.text) : 0;
}
