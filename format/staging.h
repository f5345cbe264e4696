/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the open epoch, as they came, until they are sorted into chunks. Internal to format/. */
#ifndef GPUREC_FORMAT_STAGING_H
#define GPUREC_FORMAT_STAGING_H

#include "format/base/bytes.h"
#include "format/schema.h"

/* A staged row: where its values stand. Ordered by (class, part, at, kind, seq). */
struct staged {
	uint64_t at_ns;
	uint64_t seq;
	const struct kind *kind;
	uint32_t index; /* row in the kind's table */
	uint32_t part;  /* that its chunk will have */
};

/* Values by row: v[index * nfields + field]; a TEXT field holds (offset in texts << 16 | length). */
struct staged_kind {
	uint64_t *v;
	uint32_t n, room;
	uint8_t pid; /* the field with the process; 0: none, or parts are not asked for */
};

struct staging {
	const struct schema *schema; /* not owned */
	struct staged_kind *kinds;   /* one for each kind of the schema, same order */
	struct staged *rows;
	size_t nrows, room;
	struct bytes texts;
	uint64_t seq;
};

/* Zero and set the schema. ERR_MEMORY. */
int staging_init(struct staging *s, const struct schema *schema, struct fault *why);
void staging_clear(struct staging *s);
/* Rows get parts from now on. */
void staging_separate(struct staging *s);
/* Forget the rows, keep the memory. */
void staging_reset(struct staging *s);

/* As writer_add(); `kind` is one of the schema's. On ERR_MEMORY nothing changed. */
int staging_add(struct staging *s, const struct kind *kind, const uint64_t *v, const char *const *text,
		struct fault *why);

/* Sort by (class, part, at, kind, order of arrival). ERR_MEMORY: they stay as they are. */
int staging_sort(struct staging *s, struct fault *why);

const uint64_t *staging_values(const struct staging *s, const struct staged *row);
size_t staging_text_bytes(uint64_t value);                         /* of a TEXT value */
const char *staging_text(const struct staging *s, uint64_t value); /* its bytes */

/* About how much memory the rows take. */
size_t staging_bytes(const struct staging *s);

#endif
