/* SPDX-License-Identifier: Apache-2.0 */
#include "keys/revocation.h"

#include <assert.h>
#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "keys/files.h"
#include "keys/plain_text.h"
#include "format/base/array.h"

#define FIRST_LINE "gpurec revocations 1"
#define ALWAYS "always"
#define DELEGATION_PREFIX "delegation:"
#define WHAT_MAX (sizeof(DELEGATION_PREFIX) - 1 + (size_t)2 * HASH_BYTES)
#define LINE_MAX_BYTES (WHAT_MAX + 1 + DATE_CHARS + 1 + REVOCATION_REASON_MAX)
#define PUBLIC_MODE 0644
#define NS_PER_S 1000000000ull

static_assert(PUBLIC_KEY_BYTES == HASH_BYTES, "keys and delegations are looked up alike");
static_assert(sizeof(FIRST_LINE) + REVOCATIONS_MAX * (LINE_MAX_BYTES + 1) <= REVOCATIONS_FILE_MAX, "a full list");

/* `about`: 32 bytes of the key, or the delegation's hash. */
static const struct revocation *find(const struct revocations *r, bool is_delegation, const uint8_t *about)
{
	const struct revocation *i;

	for (i = r->items; i && i < r->items + r->n; i++)
		if (i->is_delegation == is_delegation &&
		    memcmp(is_delegation ? i->hash : i->key.key, about, HASH_BYTES) == 0)
			return i;
	return NULL;
}

const struct revocation *revocations_find_key(const struct revocations *r, const struct public_key *pk)
{
	return find(r, false, pk->key);
}

const struct revocation *revocations_find_delegation(const struct revocations *r, const uint8_t hash[HASH_BYTES])
{
	return find(r, true, hash);
}

const struct revocation *revocations_find(const struct revocations *r, const struct revocation *item)
{
	return find(r, item->is_delegation, item->is_delegation ? item->hash : item->key.key);
}

static int append(struct revocations *r, const struct revocation *item, struct fault *why)
{
	struct revocation *added;

	if (r->n >= REVOCATIONS_MAX)
		return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "the list has %d lines already; begin another one",
				 REVOCATIONS_MAX);
	added = array_at(&r->items, &r->room, r->n, sizeof(*added));
	if (!added)
		return fault_no_memory(why);
	*added = *item;
	r->n++;
	return 0;
}

int revocations_add(struct revocations *r, const struct revocation *item, struct fault *why)
{
	struct revocation *same;

	if (!plain_text_valid(item->reason, strlen(item->reason), REVOCATION_REASON_MAX))
		return fault_set(why, ERR_INPUT, FAULT_NOWHERE,
				 "the reason must be 1 to %d bytes of printable text without quotation mark, backslash "
				 "or outer blanks",
				 REVOCATION_REASON_MAX);
	if (item->since_ns % NS_PER_S)
		return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "the date of a revocation is a full second");
	same = (struct revocation *)revocations_find(r, item);
	if (!same)
		return append(r, item, why);
	if (item->since_ns < same->since_ns)
		*same = *item;
	return 0;
}

/* --- text --- */

/* The next word of a line into buf[size] and past its blank. False: there is none, or it is too long. */
static bool take_word(char *buf, size_t size, const char **line, size_t *left)
{
	const char *blank = memchr(*line, ' ', *left);
	size_t n = blank ? (size_t)(blank - *line) : 0;

	if (n == 0 || n >= size)
		return false;
	memcpy(buf, *line, n);
	buf[n] = '\0';
	*line += n + 1;
	*left -= n + 1;
	return true;
}

/* 64 lower-case hex digits and nothing else. */
static bool parse_hash(uint8_t hash[HASH_BYTES], const char *text)
{
	size_t n;

	return strlen(text) == 2 * (size_t)HASH_BYTES && strspn(text, "0123456789abcdef") == 2 * (size_t)HASH_BYTES &&
	       sodium_hex2bin(hash, HASH_BYTES, text, 2 * (size_t)HASH_BYTES, NULL, &n, NULL) == 0 && n == HASH_BYTES;
}

static bool parse_line(struct revocation *item, const char *line, size_t left)
{
	char what[WHAT_MAX + 1], date[DATE_CHARS + 1];
	size_t prefix = strlen(DELEGATION_PREFIX);

	memset(item, 0, sizeof(*item));
	if (memchr(line, '\0', left) || !take_word(what, sizeof(what), &line, &left) ||
	    !take_word(date, sizeof(date), &line, &left))
		return false;
	item->is_delegation = strncmp(what, DELEGATION_PREFIX, prefix) == 0;
	if (item->is_delegation ? !parse_hash(item->hash, what + prefix) : key_parse(&item->key, what, NULL) < 0)
		return false;
	/* 1970-01-01T00:00:00Z would be a second way to write "always". */
	if (strcmp(date, ALWAYS) != 0 &&
	    (strlen(date) != DATE_CHARS || date_parse(&item->since_ns, date, NULL) < 0 || item->since_ns == 0))
		return false;
	if (!plain_text_valid(line, left, REVOCATION_REASON_MAX))
		return false;
	memcpy(item->reason, line, left);
	return true;
}

int revocations_parse(struct revocations *r, const char *text, size_t len, struct fault *why)
{
	struct revocations list = {0};
	const char *line = text, *end = text + len, *eol = memchr(text, '\n', len);
	struct revocation item;
	size_t number = 1;
	int result = 0;

	if (!eol || (size_t)(eol - text) != strlen(FIRST_LINE) || memcmp(text, FIRST_LINE, strlen(FIRST_LINE)) != 0)
		return fault_set(why, ERR_FORMAT, FAULT_NOWHERE,
				 "not a revocation list: its first line is not \"" FIRST_LINE "\"");
	for (line = eol + 1; result == 0 && line < end; line = eol + 1) {
		number++;
		eol = memchr(line, '\n', (size_t)(end - line));
		if (!eol)
			result = fault_set(why, ERR_FORMAT, FAULT_NOWHERE,
					   "a revocation list that is cut off in line %zu", number);
		else if (!parse_line(&item, line, (size_t)(eol - line)))
			result = fault_set(why, ERR_FORMAT, FAULT_NOWHERE,
					   "line %zu of the revocation list is not \"KEY DATE REASON\"", number);
		else if (revocations_find(&list, &item))
			result = fault_set(why, ERR_FORMAT, FAULT_NOWHERE,
					   "line %zu of the revocation list is about the same as one before", number);
		else
			result = append(&list, &item, why);
		if (result < 0)
			break;
	}
	if (result < 0)
		revocations_clear(&list);
	else
		*r = list;
	return result;
}

char *revocations_format(const struct revocations *r, size_t *len)
{
	size_t size = sizeof(FIRST_LINE) + r->n * (LINE_MAX_BYTES + 1) + 1, n;
	char *text = malloc(size), what[WHAT_MAX + 1], date[DATE_CHARS + 1];
	const struct revocation *i;

	if (!text)
		return NULL;
	n = (size_t)snprintf(text, size, FIRST_LINE "\n");
	for (i = r->items; i && i < r->items + r->n; i++) {
		if (i->is_delegation) {
			memcpy(what, DELEGATION_PREFIX, strlen(DELEGATION_PREFIX));
			sodium_bin2hex(what + strlen(DELEGATION_PREFIX), 2 * (size_t)HASH_BYTES + 1, i->hash,
				       HASH_BYTES);
		} else {
			key_base64(what, &i->key);
		}
		n += (size_t)snprintf(text + n, size - n, "%s %s %s\n", what,
				      i->since_ns ? date_format(date, i->since_ns) : ALWAYS, i->reason);
	}
	*len = n;
	return text;
}

/* --- files --- */

int revocations_read(struct revocations *r, const char *path, struct signature *sig, struct prehash *hash,
		     struct fault *why)
{
	char *text = malloc(REVOCATIONS_FILE_MAX + 1), sig_path[PATH_MAX];
	struct fault inner;
	size_t len;
	int result;

	if (!text)
		return fault_no_memory(why);
	result = file_read(path, FILE_PUBLIC, text, REVOCATIONS_FILE_MAX, &len, why);
	if (result < 0)
		goto out;
	result = signature_path(sig_path, path, why);
	if (result == 0)
		result = signature_read(sig, sig_path, why);
	if (result < 0)
		goto out;
	/* What is signed are the lines, and the last one has an end. */
	if (len > 0 && text[len - 1] != '\n')
		text[len++] = '\n';
	signature_hash_bytes(hash, text, len);
	result = revocations_parse(r, text, len, &inner);
	if (result < 0)
		fault_set(why, inner.code, inner.offset, "%.140s: %s", path, inner.text);
out:
	free(text);
	return result;
}

/* The list first: halfway, it reads as forged, and nothing is trusted, rather than too much. */
static int write_both(const char *path, bool replace, const char *text, size_t len, const struct signature *sig,
		      struct fault *why)
{
	char *sig_text = malloc(SIGNATURE_FILE_MAX), sig_path[PATH_MAX];
	int result = sig_text ? signature_path(sig_path, path, why) : fault_no_memory(why);

	if (result == 0)
		result = file_make(path, PUBLIC_MODE, replace, text, len, why);
	if (result == 0)
		result = file_make(sig_path, PUBLIC_MODE, true, sig_text, signature_format(sig_text, sig), why);
	free(sig_text);
	return result;
}

int revocations_write(const struct revocations *r, const char *path, bool replace, const struct identity *signer,
		      struct fault *why)
{
	char trusted[SIGNATURE_TRUSTED_MAX + 1], *text;
	struct signature sig;
	struct prehash hash;
	size_t len;
	int result;

	text = revocations_format(r, &len);
	if (!text)
		return fault_no_memory(why);
	signature_hash_bytes(&hash, text, len);
	signature_default_trusted(trusted, path, (int64_t)time(NULL));
	result = signature_sign(&sig, &hash, signer, NULL, trusted, why);
	if (result == 0)
		result = write_both(path, replace, text, len, &sig, why);
	free(text);
	return result;
}

int revocations_write_signed(const struct revocations *r, const char *path, bool replace, const struct signature *sig,
			     struct fault *why)
{
	size_t len;
	char *text = revocations_format(r, &len);
	int result = text ? write_both(path, replace, text, len, sig, why) : fault_no_memory(why);

	free(text);
	return result;
}

void revocations_clear(struct revocations *r)
{
	free(r->items);
	r->items = NULL;
	r->n = 0;
}
