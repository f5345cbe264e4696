/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The payloads of the signed frames HEADER, SEAL and END, to bytes and back. Parsing is strict about form and fills
 * `hash`; it checks no signature and compares nothing with other frames. Internal to format/.
 */
#ifndef GPUREC_FORMAT_FRAMES_H
#define GPUREC_FORMAT_FRAMES_H

#include "format/base/bytes.h"
#include "format/layout.h"

/*
 * Encoders add the whole frame (head and payload) without its signature, hash the payload into ->hash, and leave the
 * last SIGNATURE_BYTES to record_sign(). They only fail for memory: out->failed.
 */
void header_encode(struct bytes *out, struct header *h, const uint8_t *schema, size_t schema_len);
void seal_encode(struct bytes *out, struct epoch *e);
void end_encode(struct bytes *out, struct end *e);

/*
 * appendix: bytes that the header's second signature takes in such a payload. parted: the header has FEATURE_PARTS.
 * Parse a payload of `len` bytes that is at `at` in the file. On failure
 * nothing is held. header_clear(), epoch_clear() and end_clear() free what was parsed.
 */
int header_parse(struct header *h, const uint8_t *payload, size_t len, uint64_t at, struct fault *why);
int seal_parse(struct epoch *e, const uint8_t *payload, size_t len, uint32_t appendix, bool parted, uint64_t at,
	       struct fault *why);
int end_parse(struct end *e, const uint8_t *payload, size_t len, uint32_t appendix, uint64_t at, struct fault *why);
void header_clear(struct header *h);
void epoch_clear(struct epoch *e);
void end_clear(struct end *e);

#endif
