/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/gpucap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/cursor.h"
#include "keys/evidence.h"
#include "keys/tool/tool.h"

#define SENTENCE_BYTES 768

struct gpucap {
	struct evidence evidence;
	bool unverified;
	uint64_t nepochs; /* that may be read */
	struct gpucap_info info;
	char sentence[SENTENCE_BYTES];
	struct gpucap_kind kinds[KINDS_MAX];
	struct gpucap_field *fields; /* of all kinds, FIELDS_MAX each */
};

struct gpucap_events {
	const struct gpucap *capture;
	struct cursor *cursor;
	struct event event; /* the current one: what gpucap_next() gives out points in here */
};

/* The public numbers are ours. */
_Static_assert(GPUCAP_OK == (int)VERDICT_OK && GPUCAP_OK_SLICE == (int)VERDICT_OK_SLICE &&
		       GPUCAP_OK_REDACTED == (int)VERDICT_OK_REDACTED && GPUCAP_UNCHECKED == (int)VERDICT_UNCHECKED &&
		       GPUCAP_UNSEALED == (int)VERDICT_UNSEALED && GPUCAP_UNTRUSTED == (int)VERDICT_UNTRUSTED &&
		       GPUCAP_MALFORMED == (int)VERDICT_MALFORMED && GPUCAP_FORGED == (int)VERDICT_FORGED,
	       "verdicts");
_Static_assert(GPUCAP_ERROR_FORMAT == (int)ERR_FORMAT && GPUCAP_ERROR_FORGED == (int)ERR_FORGED &&
		       GPUCAP_ERROR_CUT == (int)ERR_CUT && GPUCAP_ERROR_VERSION == (int)ERR_VERSION &&
		       GPUCAP_ERROR_IO == (int)ERR_IO && GPUCAP_ERROR_MEMORY == (int)ERR_MEMORY &&
		       GPUCAP_ERROR_INPUT == (int)ERR_INPUT && GPUCAP_ERROR_KEY == (int)ERR_KEY &&
		       GPUCAP_ERROR_DENIED == (int)ERR_DENIED,
	       "errors");
_Static_assert(GPUCAP_TIME == (int)ENC_TIME && GPUCAP_UINT == (int)ENC_UINT && GPUCAP_SINT == (int)ENC_SINT &&
		       GPUCAP_TEXT == (int)ENC_TEXT && GPUCAP_UNIT_ENUM == (int)UNIT_ENUM &&
		       GPUCAP_UNIT_ADDRESS == (int)UNIT_ADDRESS,
	       "encodings and units");
_Static_assert(sizeof(((struct gpucap_info *)0)->capture_id) == CAPTURE_ID_BYTES, "capture id");
_Static_assert(GPUCAP_WHY_BYTES > sizeof(((struct fault *)0)->text), "sentences");

static int say(const struct fault *fault, char *why, size_t why_size)
{
	if (why && why_size)
		snprintf(why, why_size, "%s", fault->text);
	return (int)fault->code;
}

const char *gpucap_version(void)
{
	return TOOL_VERSION;
}

static void describe_kinds(struct gpucap *c)
{
	const struct schema *s = &c->evidence.reader.header.schema;

	for (size_t k = 0; k < s->nkinds; k++) {
		const struct kind *from = &s->kinds[k];
		struct gpucap_field *fields = &c->fields[k * FIELDS_MAX];

		for (size_t f = 0; f < from->nfields; f++)
			fields[f] = (struct gpucap_field){from->fields[f].name,
							  (enum gpucap_encoding)from->fields[f].encoding,
							  (enum gpucap_unit)from->fields[f].unit};
		c->kinds[k] = (struct gpucap_kind){.id = from->id,
						   .name = from->name,
						   .class_name = schema_class_name(s, from->class),
						   .is_call = (from->flags & KIND_CALL) == KIND_CALL,
						   .fields = fields,
						   .nfields = from->nfields};
	}
}

static void describe(struct gpucap *c)
{
	const struct reader *r = &c->evidence.reader;
	const struct verification *v = &c->evidence.verification;

	evidence_sentence(&c->evidence, c->sentence, sizeof(c->sentence));
	c->nepochs = c->unverified || v->nepochs > r->nepochs ? r->nepochs : v->nepochs;
	c->info =
		(struct gpucap_info){.verdict = (enum gpucap_verdict)v->verdict,
				     .verdict_word = verdict_word(v->verdict),
				     .sentence = c->sentence,
				     .signer = c->evidence.signer,
				     .begin_ns = r->header.start_boot_ns,
				     .end_ns = c->nepochs ? r->epochs[c->nepochs - 1].end_ns : r->header.start_boot_ns,
				     .begin_wall_ns = r->header.start_wall_ns,
				     .nevents = v->nevents,
				     .nlost = v->nlost,
				     .nwithheld = v->nwithheld};
	memcpy(c->info.capture_id, r->header.capture_id, CAPTURE_ID_BYTES);
	describe_kinds(c);
}

int gpucap_open(struct gpucap **out, const char *path, const struct gpucap_options *o, char *why, size_t why_size)
{
	struct evidence_options e = {0};
	struct gpucap *c = NULL;
	struct fault fault;
	int r;

	*out = NULL;
	if (o && o->size != sizeof(*o)) {
		fault_set(&fault, ERR_INPUT, FAULT_NOWHERE, "struct gpucap_options is of another version of libgpucap");
		return say(&fault, why, why_size);
	}
	if (o) {
		e.trust_files = o->trust;
		e.ntrust_files = o->ntrust;
		e.unverified = o->unverified != 0;
		e.nthreads = o->threads;
	}
	c = calloc(1, sizeof(*c));
	if (c)
		c->fields = calloc((size_t)KINDS_MAX * FIELDS_MAX, sizeof(*c->fields));
	if (!c || !c->fields) {
		free(c);
		fault_no_memory(&fault);
		return say(&fault, why, why_size);
	}
	c->unverified = e.unverified;
	if (evidence_judge(&c->evidence, path, &e, &fault) < 0 || !evidence_acceptable(&c->evidence, &e, &fault)) {
		r = say(&fault, why, why_size);
		if (c->evidence.verification.verdict == VERDICT_UNTRUSTED)
			r = GPUCAP_ERROR_UNTRUSTED;
		gpucap_close(c);
		return r;
	}
	describe(c);
	*out = c;
	return 0;
}

void gpucap_close(struct gpucap *c)
{
	if (!c)
		return;
	evidence_close(&c->evidence);
	free(c->fields);
	free(c);
}

const struct gpucap_info *gpucap_info(const struct gpucap *c)
{
	return &c->info;
}

uint64_t gpucap_wall_ns(const struct gpucap *c, uint64_t boot_ns)
{
	return reader_wall_ns(&c->evidence.reader, boot_ns);
}

const struct gpucap_kind *gpucap_kinds(const struct gpucap *c, size_t *n)
{
	*n = c->evidence.reader.header.schema.nkinds;
	return c->kinds;
}

const struct gpucap_kind *gpucap_kind(const struct gpucap *c, const char *name)
{
	for (size_t k = 0; k < c->evidence.reader.header.schema.nkinds; k++)
		if (!strcmp(c->kinds[k].name, name))
			return &c->kinds[k];
	return NULL;
}

int gpucap_field(const struct gpucap_kind *k, const char *name)
{
	for (size_t f = 0; f < k->nfields; f++)
		if (!strcmp(k->fields[f].name, name))
			return (int)f;
	return -1;
}

const char *gpucap_probe(const struct gpucap *c, uint64_t probe)
{
	const struct probe *p =
		schema_probe(&c->evidence.reader.header.schema, probe);

	return p ? p->name : NULL;
}

int gpucap_losses(const struct gpucap *c, int (*each)(void *arg, const char *probe, const char *cause, uint64_t n),
		  void *arg)
{
	const struct reader *r = &c->evidence.reader;
	uint32_t n;
	const struct counter *rows = reader_counters(r, c->nepochs, &n);
	int result = 0;

	for (uint32_t i = 0; i < n && result == 0; i++) {
		const struct counter_type *type = schema_counter(&r->header.schema, rows[i].id);
		const char *probe = gpucap_probe(c, rows[i].probe);

		/* Only an unverified capture counts what its header does not name. */
		if (type && probe && type->role == ROLE_LOST)
			result = each(arg, probe, type->name, rows[i].value);
	}
	return result;
}

int gpucap_events_open(struct gpucap_events **out, const struct gpucap *c, uint64_t from_ns, char *why, size_t why_size)
{
	struct gpucap_events *e = calloc(1, sizeof(*e));
	struct fault fault;

	*out = NULL;
	if (!e) {
		fault_no_memory(&fault);
		return say(&fault, why, why_size);
	}
	e->capture = c;
	if (cursor_open(&e->cursor, &c->evidence.reader, c->unverified, &fault) < 0) {
		free(e);
		return say(&fault, why, why_size);
	}
	if (from_ns)
		cursor_seek(e->cursor, from_ns);
	*out = e;
	return 0;
}

void gpucap_events_close(struct gpucap_events *e)
{
	if (!e)
		return;
	cursor_close(e->cursor);
	free(e);
}

int gpucap_next(struct gpucap_events *e, struct gpucap_event *ev, char *why, size_t why_size)
{
	const struct schema *s = &e->capture->evidence.reader.header.schema;
	struct fault fault;
	int r;

	do {
		r = cursor_next(e->cursor, &e->event, &fault);
		if (r < 0)
			return say(&fault, why, why_size);
		if (r == 0 || e->event.epoch->number >= e->capture->nepochs)
			return 0;
	} while (e->event.kind == KIND_epoch);
	*ev = (struct gpucap_event){.kind = &e->capture->kinds[e->event.shape - s->kinds],
				    .at_ns = e->event.at_ns,
				    .epoch = e->event.epoch->number,
				    .value = e->event.v,
				    .text = e->event.text};
	return 1;
}
