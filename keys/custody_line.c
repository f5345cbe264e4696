/* SPDX-License-Identifier: Apache-2.0 */
/* One line of custody: its text, its hash, its signature. */
#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "keys/custody.h"
#include "format/base/civil.h"
#include "format/crypt.h"

#define VERSION_PLAIN 1 /* signed by plain Ed25519 */
#define VERSION 2
#define VERSION_STEM "gpurec-custody-"
#define ESCAPED_MAX 3      /* characters for a byte */
#define SIGNATURE_CHARS 88 /* of base64 */

static const char domain_start[DOMAIN_BYTES + 1] = "gpurec.custody.0";
static const char domain_line[DOMAIN_BYTES + 1] = "gpurec.custody.1";

enum line_field {
	AT_VERSION,
	AT_NUMBER,
	AT_PREVIOUS,
	AT_CAPTURE,
	AT_ACTION,
	AT_SEAL,
	AT_FILE,
	AT_VERDICT,
	AT_TIME,
	AT_WHO,
	AT_NOTE,
	AT_KEY,
	AT_SIGNATURE,
	NFIELDS
};

static const char *const action_words[] = {
#define ACTION_WORD(name) #name,
	CUSTODY_ACTIONS(ACTION_WORD)
#undef ACTION_WORD
};

const char *custody_action_word(enum custody_action a)
{
	return action_words[a];
}

int custody_action_parse(enum custody_action *a, const char *word, struct fault *why)
{
	for (int i = 0; i < CUSTODY_NACTIONS; i++) {
		if (strcmp(word, action_words[i]) == 0) {
			*a = (enum custody_action)i;
			return 0;
		}
	}
	return fault_set(why, ERR_INPUT, FAULT_NOWHERE,
			 "'%.60s' is not an act of custody; must be recorded, verified, transferred, narrowed, "
			 "received or archived",
			 word);
}

void custody_start(uint8_t hash[HASH_BYTES], const uint8_t capture_id[CAPTURE_ID_BYTES])
{
	crypt_hash(hash, domain_start, capture_id, CAPTURE_ID_BYTES);
}

/* Printable ASCII but '%' stands as it is, every other byte as %XX. */
static void escape(char *out, const char *text)
{
	for (; *text; text++) {
		uint8_t b = (uint8_t)*text;

		if (b >= ' ' && b <= '~' && b != '%')
			*out++ = (char)b;
		else
			out += snprintf(out, ESCAPED_MAX + 1, "%%%02X", b);
	}
	*out = '\0';
}

/* False if it is longer than `max` bytes or no hex digits follow a '%'. Whether it had to be escaped is not checked. */
static bool unescape(char *out, size_t max, const char *text)
{
	size_t n = 0;

	while (*text) {
		unsigned value = (uint8_t)*text;

		if (n == max)
			return false;
		if (*text == '%') {
			if (!isxdigit((unsigned char)text[1]) || !isxdigit((unsigned char)text[2]) ||
			    sscanf(text + 1, "%2x", &value) != 1)
				return false;
			text += 2;
		}
		text++;
		out[n++] = (char)value;
	}
	out[n] = '\0';
	return true;
}

/* What is hashed: all fields but the signature. */
static size_t format_hashed(char buf[CUSTODY_LINE_MAX], const struct custody_line *l)
{
	char previous[HASH_BYTES * 2 + 1], id[CAPTURE_ID_BYTES * 2 + 1], seal[HASH_BYTES * 2 + 1];
	char file[HASH_BYTES * 2 + 1], at[CIVIL_CHARS + 1], who[CUSTODY_WHO_MAX * ESCAPED_MAX + 1];
	char note[CUSTODY_NOTE_MAX * ESCAPED_MAX + 1], key[MINISIGN_PUBLIC_CHARS + 1];
	int n;

	escape(who, l->who);
	escape(note, l->note);
	n = snprintf(buf, CUSTODY_LINE_MAX, VERSION_STEM "%u\t%" PRIu64 "\t%s\t%s\t%s\t%s\t%s\t%s\t%sZ\t%s\t%s\t%s",
		     l->version, l->number, sodium_bin2hex(previous, sizeof(previous), l->previous, HASH_BYTES),
		     sodium_bin2hex(id, sizeof(id), l->capture_id, CAPTURE_ID_BYTES), action_words[l->action],
		     sodium_bin2hex(seal, sizeof(seal), l->seal, HASH_BYTES),
		     sodium_bin2hex(file, sizeof(file), l->file, HASH_BYTES), verdict_word(l->verdict),
		     civil_text(at, (uint64_t)l->time_s, 'T'), who, note, key_base64(key, &l->key));
	assert(n > 0 && n < CUSTODY_LINE_MAX - SIGNATURE_CHARS - 2);
	return (size_t)n;
}

size_t custody_line_format(char buf[CUSTODY_LINE_MAX], const struct custody_line *l)
{
	size_t n = format_hashed(buf, l);

	buf[n++] = '\t';
	sodium_bin2base64(buf + n, SIGNATURE_CHARS + 1, l->signature, SIGNATURE_BYTES, sodium_base64_VARIANT_ORIGINAL);
	n += SIGNATURE_CHARS;
	buf[n++] = '\n';
	buf[n] = '\0';
	return n;
}

void custody_line_sign(struct custody_line *l, const struct identity *id)
{
	char text[CUSTODY_LINE_MAX];

	l->version = VERSION;
	key_of_identity(&l->key, id);
	crypt_hash(l->hash, domain_line, text, format_hashed(text, l));
	crypt_sign(l->signature, domain_line, l->hash, id->secret_key);
}

bool custody_line_signed(const struct custody_line *l)
{
	if (l->version == VERSION_PLAIN)
		return crypt_signed_plainly_by(l->signature, domain_line, l->hash, l->key.key);
	return crypt_signed_by(l->signature, domain_line, l->hash, l->key.key);
}

static bool parse_hex(uint8_t *out, size_t n, const char *text)
{
	size_t got;

	return sodium_hex2bin(out, n, text, strlen(text), NULL, &got, NULL) == 0 && got == n;
}

static bool parse_number(uint64_t *number, const char *text)
{
	size_t n = strspn(text, "0123456789");

	return n > 0 && n < 20 && !text[n] && sscanf(text, "%" SCNu64, number) == 1;
}

static bool parse_time(int64_t *time_s, const char *text)
{
	uint64_t s;

	if (strlen(text) != CIVIL_CHARS + 1 || text[CIVIL_CHARS] != 'Z' || !civil_parse(&s, text, 'T'))
		return false;
	*time_s = (int64_t)s;
	return true;
}

/* Of those that an act may be recorded under. */
static bool parse_verdict(enum verdict *v, const char *text)
{
	static const enum verdict all[] = {VERDICT_OK, VERDICT_OK_SLICE, VERDICT_OK_REDACTED, VERDICT_UNSEALED,
					   VERDICT_UNTRUSTED};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if (strcmp(text, verdict_word(all[i])) == 0) {
			*v = all[i];
			return true;
		}
	}
	return false;
}

static bool parse_signature(uint8_t signature[SIGNATURE_BYTES], const char *text)
{
	size_t n;

	return strlen(text) == SIGNATURE_CHARS &&
	       sodium_base642bin(signature, SIGNATURE_BYTES, text, SIGNATURE_CHARS, NULL, &n, NULL,
				 sodium_base64_VARIANT_ORIGINAL) == 0 &&
	       n == SIGNATURE_BYTES;
}

/* Cut `text` at its tabs: NFIELDS fields, or false. */
static bool split(char *text, char *fields[NFIELDS])
{
	for (int n = 0; n < NFIELDS; n++) {
		char *tab = strchr(text, '\t');

		fields[n] = text;
		if (!tab)
			return n + 1 == NFIELDS;
		*tab = '\0';
		text = tab + 1;
	}
	return false;
}

/* The first field that cannot be read, in words; NULL if all can. */
static const char *parse_fields(struct custody_line *l, char *fields[NFIELDS])
{
	if (!parse_number(&l->number, fields[AT_NUMBER]))
		return "its number";
	if (!parse_hex(l->previous, HASH_BYTES, fields[AT_PREVIOUS]))
		return "the hash of the line before";
	if (!parse_hex(l->capture_id, CAPTURE_ID_BYTES, fields[AT_CAPTURE]))
		return "the capture id";
	if (custody_action_parse(&l->action, fields[AT_ACTION], NULL) < 0)
		return "the act";
	if (!parse_hex(l->seal, HASH_BYTES, fields[AT_SEAL]))
		return "the seal's hash";
	if (!parse_hex(l->file, HASH_BYTES, fields[AT_FILE]))
		return "the file's hash";
	if (!parse_verdict(&l->verdict, fields[AT_VERDICT]))
		return "the verdict";
	if (!parse_time(&l->time_s, fields[AT_TIME]))
		return "the time";
	if (!unescape(l->who, CUSTODY_WHO_MAX, fields[AT_WHO]) || !l->who[0])
		return "the name";
	if (!unescape(l->note, CUSTODY_NOTE_MAX, fields[AT_NOTE]))
		return "the note";
	if (key_parse(&l->key, fields[AT_KEY], NULL) < 0)
		return "the key";
	if (!parse_signature(l->signature, fields[AT_SIGNATURE]))
		return "the signature";
	return NULL;
}

int custody_line_parse(struct custody_line *l, const char *text, size_t len, struct fault *why)
{
	char copy[CUSTODY_LINE_MAX], again[CUSTODY_LINE_MAX], *fields[NFIELDS];
	struct custody_line parsed = {0};
	const char *wrong;
	size_t digits;

	if (len >= CUSTODY_LINE_MAX)
		return fault_set(why, ERR_FORMAT, FAULT_NOWHERE, "it is longer than %d bytes", CUSTODY_LINE_MAX - 1);
	memcpy(copy, text, len);
	copy[len] = '\0';
	if (strncmp(copy, VERSION_STEM, strlen(VERSION_STEM)) != 0)
		return fault_set(why, ERR_FORMAT, FAULT_NOWHERE, "it does not begin with \"" VERSION_STEM "\"");
	digits = strspn(copy + strlen(VERSION_STEM), "0123456789");
	if (digits == 0 || copy[strlen(VERSION_STEM) + digits] != '\t')
		return fault_set(why, ERR_FORMAT, FAULT_NOWHERE, "it names no version");
	parsed.version = digits == 1 ? (unsigned)(copy[strlen(VERSION_STEM)] - '0') : 0;
	if (parsed.version != VERSION && parsed.version != VERSION_PLAIN)
		return fault_set(why, ERR_VERSION, FAULT_NOWHERE, "it is of a version that this build does not know");
	if (strlen(copy) != len || !split(copy, fields))
		return fault_set(why, ERR_FORMAT, FAULT_NOWHERE, "it does not have %d fields", NFIELDS);
	wrong = parse_fields(&parsed, fields);
	if (wrong)
		return fault_set(why, ERR_FORMAT, FAULT_NOWHERE, "%s cannot be read", wrong);
	/* There is one way to write a line: the one that comes out again. */
	if (custody_line_format(again, &parsed) != len + 1 || memcmp(again, text, len) != 0)
		return fault_set(why, ERR_FORMAT, FAULT_NOWHERE, "it is written in another way than it should be");
	crypt_hash(parsed.hash, domain_line, text, len - SIGNATURE_CHARS - 1);
	*l = parsed;
	return 0;
}
