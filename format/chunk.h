/* SPDX-License-Identifier: Apache-2.0 */
/* A chunk's rows: read, checked against its commitment, decompressed, decoded. Internal to format/. */
#ifndef GPUREC_FORMAT_CHUNK_H
#define GPUREC_FORMAT_CHUNK_H

#include "format/columns.h"
#include "format/reader.h"

/* Start zeroed; can be loaded again and again; content_free() at the end. */
struct content {
	struct bytes packed, raw;
	struct rows groups[KINDS_MAX]; /* ascending by kind */
	size_t ngroups;
	uint64_t *checked; /* values of a column that is only checked */
	uint32_t checked_room;
};

/*
 * Load chunk `index` of epoch `e`, which is not withheld. check: compare with the commitment. Then everything about its
 * form is checked: kinds of its class, number of rows, times within what the seal says, nothing left over.
 * On an error it holds no rows.
 */
int content_load(struct content *c, const struct reader *r, const struct epoch *e, uint32_t index, bool check,
		 struct fault *why);
/*
 * The same, with only some fields decoded: by the kind's place in the schema, bit f for field f. The others are checked
 * and read as 0; of a kind without any bit there is no group; a group always has its times. NULL: all of them. Of kinds
 * without TEXT only the times are decoded, the rest with columns_block() when it is needed.
 */
int content_load_fields(struct content *c, const struct reader *r, const struct epoch *e, uint32_t index, bool check,
			const uint32_t *fields, struct fault *why);
/*
 * Check all that content_load() checks, the commitment too, and add the rows of each kind to seen[], by its index in
 * the schema. It holds no rows afterwards.
 */
int content_check(struct content *c, const struct reader *r, const struct epoch *e, uint32_t index, uint64_t *seen,
		  struct fault *why);
/* Check the commitment alone: the bytes are what was sealed, whatever they hold. */
int content_authentic(struct content *c, const struct reader *r, const struct epoch *e, uint32_t index,
		      struct fault *why);
void content_free(struct content *c);

#endif
