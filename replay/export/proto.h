/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Protocol buffers, the encoding half (protobuf.dev/programming-guides/encoding): varints, 64-bit numbers, bytes, and
 * messages in messages. The only user writes one message type from a stream of events; the C libraries for protobuf
 * want generated code and the whole message in memory, so these few lines are less than what using one would take.
 */
#ifndef GPUREC_REPLAY_EXPORT_PROTO_H
#define GPUREC_REPLAY_EXPORT_PROTO_H

#include "format/base/bytes.h"

#define PROTO_MESSAGE_MAX ((size_t)1 << 28) /* lengths are written in four bytes; what is longer has failed */

void proto_varint(struct bytes *p, uint64_t value); /* bare, without a tag */
void proto_u64(struct bytes *p, uint32_t field, uint64_t value);
void proto_s64(struct bytes *p, uint32_t field, int64_t value); /* int32 and int64, not sint64 */
void proto_fixed64(struct bytes *p, uint32_t field, uint64_t value);
void proto_bytes(struct bytes *p, uint32_t field, const void *bytes, size_t n);
void proto_string(struct bytes *p, uint32_t field, const char *text);

/* A message inside: what comes between the two belongs to it. The length takes four bytes, whatever it is. */
size_t proto_begin(struct bytes *p, uint32_t field);
void proto_end(struct bytes *p, size_t begun);

#endif
