/* SPDX-License-Identifier: Apache-2.0 */
#include "format/tail.h"

#include <stdlib.h>
#include <string.h>

#define ZEROS_PIECE 4096u /* mostly the last byte is none, and one piece is all that is read */
#define FIND_PIECE (1u << 20)

int tail_zeros(const struct source *src, uint64_t *at, struct fault *why)
{
	uint8_t piece[ZEROS_PIECE];
	uint64_t end = src->size;

	while (end > 0) {
		size_t n = end > sizeof(piece) ? sizeof(piece) : (size_t)end;
		int r = source_read(src, end - n, piece, n, why);

		if (r < 0)
			return r;
		while (n > 0 && piece[n - 1] == 0) {
			n--;
			end--;
		}
		if (n > 0)
			break;
	}
	*at = end;
	return 0;
}

int tail_find_id(const struct source *src, const uint8_t id[CAPTURE_ID_BYTES], uint64_t from, uint64_t but,
		 uint64_t *at, struct fault *why)
{
	uint8_t *piece = malloc(FIND_PIECE);
	int found = piece ? 0 : fault_no_memory(why);

	while (found == 0 && src->size - from >= CAPTURE_ID_BYTES) {
		size_t n = src->size - from > FIND_PIECE ? FIND_PIECE : (size_t)(src->size - from);
		const uint8_t *hit;

		found = source_read(src, from, piece, n, why);
		if (found < 0)
			break;
		hit = memmem(piece, n, id, CAPTURE_ID_BYTES);
		if (hit) {
			*at = from + (uint64_t)(hit - piece);
			found = *at != but;
			from = *at + 1;
		} else {
			/* One that is cut by the end of this piece is whole in the next. */
			from += n - (CAPTURE_ID_BYTES - 1);
		}
	}
	free(piece);
	return found;
}
