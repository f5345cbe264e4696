/* SPDX-License-Identifier: Apache-2.0 */
#include "format/schema.h"

#include <stdlib.h>
#include <string.h>

#include "format/base/bytes.h"

/* The kinds of this build, as data. */
struct known_kind {
	uint16_t id;
	uint8_t class;
	uint8_t flags;
	uint8_t nfields;
	const char *name;
	const struct known_field {
		const char *name;
		uint8_t encoding, unit;
	} * fields;
};

#define F(kind, name, encoding, unit) {#name, ENC_##encoding, UNIT_##unit},
#define K(id, name, class, flags) static const struct known_field fields_##name[] = {FIELDS_##name(F)};
KINDS(K)
#undef K
#undef F

static const struct known_kind known_kinds[] = {
#define K(id, name, class, flags) {id, CLASS_##class, KIND_##flags, NFIELDS_##name, #name, fields_##name},
	KINDS(K)
#undef K
};
#define NKNOWN (sizeof(known_kinds) / sizeof(known_kinds[0]))

static const struct class_name known_classes[] = {
#define C(id, name) {#name, id},
	CLASSES(C)
#undef C
};

static const struct counter_type known_counters[] = {
#define C(id, name, role, words) {#name, id, ROLE_##role},
	COUNTERS(C)
#undef C
};

const char *counter_text(uint8_t id)
{
	switch (id) {
#define C(number, name, role, words)                                                                                   \
	case number:                                                                                                   \
		return words;
		COUNTERS(C)
#undef C
	default:
		return NULL;
	}
}

const char *counter_words(const struct counter_type *c)
{
	const char *words = counter_text(c->id);

	return words ? words : c->name;
}

const char *reason_text(uint32_t reason)
{
	switch (reason) {
#define R(id, name, text)                                                                                              \
	case id:                                                                                                       \
		return text;
		REASONS(R)
#undef R
	default:
		return NULL;
	}
}

bool schema_name_valid(const char *name, size_t n)
{
	if (n == 0 || n > NAME_MAX_BYTES)
		return false;
	for (size_t i = 0; i < n; i++) {
		char c = name[i];
		bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');

		if (!letter && c != '_' && c != '.' && c != ':' && c != '-')
			return false;
	}
	return true;
}

static void kind_from_known(struct kind *k, const struct known_kind *from)
{
	*k = (struct kind){.id = from->id, .class = from->class, .flags = from->flags, .nfields = from->nfields};
	strncpy(k->name, from->name, NAME_MAX_BYTES);
	for (size_t i = 0; i < from->nfields; i++) {
		strncpy(k->fields[i].name, from->fields[i].name, NAME_MAX_BYTES);
		k->fields[i].encoding = from->fields[i].encoding;
		k->fields[i].unit = from->fields[i].unit;
	}
}

static int probes_check(const struct probe *probes, size_t nprobes, struct fault *why)
{
	if (nprobes > PROBES_MAX)
		return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "%zu probes, limit %d", nprobes, PROBES_MAX);
	for (size_t i = 0; i < nprobes; i++) {
		if (i && probes[i].id <= probes[i - 1].id)
			return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "probe %u is out of order", probes[i].id);
		if (!schema_name_valid(probes[i].name, strnlen(probes[i].name, sizeof(probes[i].name))))
			return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "probe %u has a bad name", probes[i].id);
	}
	return 0;
}

int schema_build(struct schema *s, const struct probe *probes, size_t nprobes, struct fault *why)
{
	struct schema built = {0};
	int r = probes_check(probes, nprobes, why);

	if (r < 0)
		return r;
	memcpy(built.classes, known_classes, sizeof(known_classes));
	built.nclasses = sizeof(known_classes) / sizeof(known_classes[0]);
	memcpy(built.counters, known_counters, sizeof(known_counters));
	built.ncounters = sizeof(known_counters) / sizeof(known_counters[0]);
	built.kinds = calloc(NKNOWN, sizeof(*built.kinds));
	built.probes = calloc(nprobes ? nprobes : 1, sizeof(*built.probes));
	if (!built.kinds || !built.probes) {
		schema_clear(&built);
		return fault_no_memory(why);
	}
	for (size_t i = 0; i < NKNOWN; i++)
		kind_from_known(&built.kinds[i], &known_kinds[i]);
	built.nkinds = NKNOWN;
	if (nprobes)
		memcpy(built.probes, probes, nprobes * sizeof(*probes));
	built.nprobes = nprobes;
	for (size_t i = 0; i < nprobes; i++) {
		if (probes[i].kind && !schema_kind(&built, probes[i].kind)) {
			schema_clear(&built);
			return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "probe %s yields an unknown kind %u",
					 probes[i].name, probes[i].kind);
		}
	}
	*s = built;
	return 0;
}

void schema_clear(struct schema *s)
{
	free(s->kinds);
	free(s->probes);
	*s = (struct schema){0};
}

static void add_name(struct bytes *b, const char *name)
{
	size_t n = strnlen(name, NAME_MAX_BYTES);

	bytes_add_u8(b, (uint8_t)n);
	bytes_add(b, name, n);
}

static void add_kind(struct bytes *b, const struct kind *k)
{
	bytes_add_le16(b, k->id);
	bytes_add_u8(b, k->class);
	bytes_add_u8(b, k->flags);
	add_name(b, k->name);
	bytes_add_u8(b, k->nfields);
	for (size_t i = 0; i < k->nfields; i++) {
		bytes_add_u8(b, k->fields[i].encoding);
		bytes_add_u8(b, k->fields[i].unit);
		add_name(b, k->fields[i].name);
	}
}

int schema_encode(const struct schema *s, uint8_t **out, size_t *len, struct fault *why)
{
	struct bytes b = {0};

	bytes_add_u8(&b, (uint8_t)s->nclasses);
	for (size_t i = 0; i < s->nclasses; i++) {
		bytes_add_u8(&b, s->classes[i].id);
		add_name(&b, s->classes[i].name);
	}
	bytes_add_le16(&b, (uint16_t)s->nkinds);
	for (size_t i = 0; i < s->nkinds; i++)
		add_kind(&b, &s->kinds[i]);
	bytes_add_u8(&b, (uint8_t)s->ncounters);
	for (size_t i = 0; i < s->ncounters; i++) {
		bytes_add_u8(&b, s->counters[i].id);
		bytes_add_u8(&b, s->counters[i].role);
		add_name(&b, s->counters[i].name);
	}
	bytes_add_le16(&b, (uint16_t)s->nprobes);
	for (size_t i = 0; i < s->nprobes; i++) {
		bytes_add_le16(&b, s->probes[i].id);
		bytes_add_le16(&b, s->probes[i].kind);
		add_name(&b, s->probes[i].name);
	}
	if (b.failed) {
		bytes_free(&b);
		return fault_no_memory(why);
	}
	*out = b.data;
	*len = b.len;
	return 0;
}

/* Parsing: a position in bytes that turns bad once and stays so; the first fault is kept. */
struct scan {
	const uint8_t *p, *end, *base;
	uint64_t at;
	int r;
	struct fault *why;
};

static int scan_fail(struct scan *s, enum err code, const char *what)
{
	if (!s->r)
		s->r = fault_set(s->why, code, s->at + (uint64_t)(s->p - s->base), "schema: %s", what);
	return s->r;
}

static uint64_t scan_le(struct scan *s, size_t n)
{
	uint64_t v = 0;

	if (s->r)
		return 0;
	if ((size_t)(s->end - s->p) < n) {
		scan_fail(s, ERR_FORMAT, "it ends too early");
		return 0;
	}
	for (size_t i = 0; i < n; i++)
		v |= (uint64_t)s->p[i] << (8 * i);
	s->p += n;
	return v;
}

static void scan_name(struct scan *s, char name[NAME_MAX_BYTES + 1])
{
	size_t n = (size_t)scan_le(s, 1);

	if (s->r)
		return;
	if ((size_t)(s->end - s->p) < n) {
		scan_fail(s, ERR_FORMAT, "a name is longer than the schema");
		return;
	}
	if (!schema_name_valid((const char *)s->p, n)) {
		scan_fail(s, ERR_FORMAT, "a name is empty, too long or has forbidden characters");
		return;
	}
	memcpy(name, s->p, n);
	name[n] = '\0';
	s->p += n;
}

static size_t scan_count(struct scan *s, size_t bytes, size_t max, const char *what)
{
	size_t n = (size_t)scan_le(s, bytes);

	if (n > max) {
		scan_fail(s, ERR_FORMAT, what);
		return 0;
	}
	return n;
}

static void scan_ascending(struct scan *s, size_t i, unsigned id, unsigned previous)
{
	if (i && id <= previous)
		scan_fail(s, ERR_FORMAT, "a table is not in ascending order");
}

static void scan_field(struct scan *s, struct field *f, bool first)
{
	f->encoding = (uint8_t)scan_le(s, 1);
	f->unit = (uint8_t)scan_le(s, 1);
	scan_name(s, f->name);
	if (s->r)
		return;
	if (f->encoding < ENC_TIME || f->encoding > ENC_TEXT)
		scan_fail(s, ERR_VERSION, "a field has an encoding that this version does not know");
	else if (first != (f->encoding == ENC_TIME))
		scan_fail(s, ERR_FORMAT, "the time must be the first field, and no other");
}

static bool is_field(const struct field *have, const struct known_field *known)
{
	return strcmp(known->name, have->name) == 0 && known->encoding == have->encoding && known->unit == have->unit;
}

/* Arguments were of class `path` before they got a class of their own. */
static bool is_class_of(const struct known_kind *known, uint8_t class)
{
	return known->class == class || (known->id == KIND_command_line && class == CLASS_path);
}

/* A kind that this build knows must agree with it in the fields that both have. */
static void check_known(struct scan *s, const struct kind *k)
{
	for (size_t i = 0; i < NKNOWN && !s->r; i++) {
		const struct known_kind *known = &known_kinds[i];

		if (known->id != k->id)
			continue;
		if (strcmp(known->name, k->name) != 0 || !is_class_of(known, k->class) || known->flags != k->flags)
			scan_fail(s, ERR_FORMAT, "a known kind has another name, class or flags");
		for (size_t f = 0; f < known->nfields && f < k->nfields; f++)
			if (!is_field(&k->fields[f], &known->fields[f]))
				scan_fail(s, ERR_FORMAT, "a known kind has other fields");
	}
}

/* What all CALL kinds begin with, also those that this build does not know: readers take these fields by index. */
static const struct known_field call_fields[] = {
#define F(kind, name, encoding, unit) {#name, ENC_##encoding, UNIT_##unit},
	CALL_FIELDS(F, call)
#undef F
};

static void check_call(struct scan *s, const struct kind *k)
{
	for (size_t f = 0; f < NFIELDS_call && !s->r && k->flags == KIND_CALL; f++)
		if (f >= k->nfields || !is_field(&k->fields[f], &call_fields[f]))
			scan_fail(s, ERR_FORMAT, "a kind of call lacks a call's fields");
}

/* So that a row can be shown by names. */
static void check_unique(struct scan *s, const struct kind *k)
{
	for (size_t i = 0; i < k->nfields && !s->r; i++)
		for (size_t f = 0; f < i && !s->r; f++)
			if (strcmp(k->fields[i].name, k->fields[f].name) == 0)
				scan_fail(s, ERR_FORMAT, "a kind has two fields of one name");
}

static void scan_kind(struct scan *s, struct kind *k)
{
	k->id = (uint16_t)scan_le(s, 2);
	k->class = (uint8_t)scan_le(s, 1);
	k->flags = (uint8_t)scan_le(s, 1);
	scan_name(s, k->name);
	k->nfields = (uint8_t)scan_count(s, 1, FIELDS_MAX, "a kind has too many fields");
	if (s->r)
		return;
	if (k->id == KIND_epoch || k->nfields == 0)
		scan_fail(s, ERR_FORMAT, "a kind has number 0 or no fields");
	if (k->flags != KIND_PLAIN && k->flags != KIND_COUNTED && k->flags != KIND_CALL)
		scan_fail(s, ERR_VERSION, "a kind has flags that this version does not know");
	for (size_t i = 0; i < k->nfields && !s->r; i++)
		scan_field(s, &k->fields[i], i == 0);
	check_call(s, k);
	check_unique(s, k);
	check_known(s, k);
}

static void check_known_class(struct scan *s, const struct class_name *c)
{
	for (size_t i = 0; i < sizeof(known_classes) / sizeof(known_classes[0]) && !s->r; i++)
		if (known_classes[i].id == c->id && strcmp(known_classes[i].name, c->name) != 0)
			scan_fail(s, ERR_FORMAT, "a known class has another name");
}

static void check_known_counter(struct scan *s, const struct counter_type *c)
{
	for (size_t i = 0; i < sizeof(known_counters) / sizeof(known_counters[0]) && !s->r; i++)
		if (known_counters[i].id == c->id &&
		    (strcmp(known_counters[i].name, c->name) != 0 || known_counters[i].role != c->role))
			scan_fail(s, ERR_FORMAT, "a known counter has another name or role");
}

static void scan_classes(struct scan *s, struct schema *out)
{
	out->nclasses = scan_count(s, 1, CLASSES_MAX, "too many classes");
	for (size_t i = 0; i < out->nclasses && !s->r; i++) {
		out->classes[i].id = (uint8_t)scan_le(s, 1);
		scan_name(s, out->classes[i].name);
		scan_ascending(s, i, out->classes[i].id, i ? out->classes[i - 1].id : 0);
		if (!s->r && (out->classes[i].id == 0 || out->classes[i].id >= CLASSES_MAX))
			scan_fail(s, ERR_FORMAT, "a class number is out of range");
		check_known_class(s, &out->classes[i]);
	}
}

static void scan_kinds(struct scan *s, struct schema *out)
{
	out->nkinds = scan_count(s, 2, KINDS_MAX, "too many kinds");
	out->kinds = calloc(out->nkinds ? out->nkinds : 1, sizeof(*out->kinds));
	if (!out->kinds) {
		scan_fail(s, ERR_MEMORY, "no memory for its kinds");
		return;
	}
	for (size_t i = 0; i < out->nkinds && !s->r; i++) {
		scan_kind(s, &out->kinds[i]);
		scan_ascending(s, i, out->kinds[i].id, i ? out->kinds[i - 1].id : 0);
		if (!s->r && !schema_class_name(out, out->kinds[i].class))
			scan_fail(s, ERR_FORMAT, "a kind is in a class that is not listed");
		for (size_t k = 0; k < i && !s->r; k++)
			if (strcmp(out->kinds[k].name, out->kinds[i].name) == 0)
				scan_fail(s, ERR_FORMAT, "two kinds have one name");
	}
}

static void scan_counters(struct scan *s, struct schema *out)
{
	out->ncounters = scan_count(s, 1, COUNTERS_MAX, "too many counters");
	for (size_t i = 0; i < out->ncounters && !s->r; i++) {
		out->counters[i].id = (uint8_t)scan_le(s, 1);
		out->counters[i].role = (uint8_t)scan_le(s, 1);
		scan_name(s, out->counters[i].name);
		scan_ascending(s, i, out->counters[i].id, i ? out->counters[i - 1].id : 0);
		if (!s->r && (out->counters[i].role < ROLE_FIRED || out->counters[i].role > ROLE_NOTED))
			scan_fail(s, ERR_VERSION, "a counter has a role that this version does not know");
		check_known_counter(s, &out->counters[i]);
	}
}

static void scan_probes(struct scan *s, struct schema *out)
{
	out->nprobes = scan_count(s, 2, PROBES_MAX, "too many probes");
	out->probes = calloc(out->nprobes ? out->nprobes : 1, sizeof(*out->probes));
	if (!out->probes) {
		scan_fail(s, ERR_MEMORY, "no memory for its probes");
		return;
	}
	for (size_t i = 0; i < out->nprobes && !s->r; i++) {
		out->probes[i].id = (uint16_t)scan_le(s, 2);
		out->probes[i].kind = (uint16_t)scan_le(s, 2);
		scan_name(s, out->probes[i].name);
		scan_ascending(s, i, out->probes[i].id, i ? out->probes[i - 1].id : 0);
		if (!s->r && out->probes[i].kind && !schema_kind(out, out->probes[i].kind))
			scan_fail(s, ERR_FORMAT, "a probe yields a kind that is not listed");
	}
}

int schema_parse(struct schema *s, const uint8_t *bytes, size_t len, uint64_t at, struct fault *why)
{
	struct scan scan = {.p = bytes, .end = bytes + len, .base = bytes, .at = at, .why = why};
	struct schema out = {0};

	scan_classes(&scan, &out);
	scan_kinds(&scan, &out);
	scan_counters(&scan, &out);
	scan_probes(&scan, &out);
	if (!scan.r && scan.p != scan.end)
		scan_fail(&scan, ERR_FORMAT, "bytes are left over after it");
	if (scan.r) {
		schema_clear(&out);
		return scan.r;
	}
	*s = out;
	return 0;
}

/* Tables ascend by id: look up by halving. */
#define FIND(table, count, wanted)                                                                                     \
	do {                                                                                                           \
		size_t lo = 0, hi = (count);                                                                           \
		while (lo < hi) {                                                                                      \
			size_t mid = lo + (hi - lo) / 2;                                                               \
			if ((table)[mid].id < (wanted))                                                                \
				lo = mid + 1;                                                                          \
			else                                                                                           \
				hi = mid;                                                                              \
		}                                                                                                      \
		return lo < (count) && (table)[lo].id == (wanted) ? &(table)[lo] : NULL;                               \
	} while (0)

const struct kind *schema_kind(const struct schema *s, uint16_t id)
{
	FIND(s->kinds, s->nkinds, id);
}

size_t kind_nvalues(const struct kind *k)
{
	size_t n = k->nfields > NFIELDS_call ? k->nfields : NFIELDS_call;

	for (size_t i = 0; i < NKNOWN; i++)
		if (known_kinds[i].id == k->id && known_kinds[i].nfields > n)
			n = known_kinds[i].nfields;
	return n;
}

const struct probe *schema_probe(const struct schema *s, uint64_t id)
{
	FIND(s->probes, s->nprobes, id);
}

const struct counter_type *schema_counter(const struct schema *s, uint8_t id)
{
	FIND(s->counters, s->ncounters, id);
}

const char *schema_class_name(const struct schema *s, uint8_t id)
{
	for (size_t i = 0; i < s->nclasses; i++)
		if (s->classes[i].id == id)
			return s->classes[i].name;
	return NULL;
}

uint8_t kind_pid_field(const struct kind *k)
{
	for (uint8_t f = 1; f < k->nfields; f++)
		if (k->fields[f].encoding == ENC_UINT && strcmp(k->fields[f].name, "pid") == 0)
			return f;
	return 0;
}
