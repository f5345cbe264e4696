// SPDX-License-Identifier: Apache-2.0
/* What anyone can do to a file without a key, or with a key of his own: its frames moved, doubled, replaced. */
#include "tests/tools/attacks_remake.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC_EMPTY 0x184D2204u
#define MAGIC_HIDDEN 0x184D2A5Fu

/* A capture in pieces: EMPTY, and each frame, a CHUNK together with its LZ4 frame. */
struct piece {
	uint32_t magic;
	uint64_t epoch; /* that it is in; for END the number of epochs */
	uint32_t index; /* of a chunk in its epoch */
	struct bytes b;
};

struct pieces {
	struct piece *all;
	size_t n;
};

static int not_there(struct fault *why, const char *what)
{
	return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "the capture has no %s", what);
}

static void pieces_free(struct pieces *p)
{
	for (size_t i = 0; i < p->n; i++)
		bytes_free(&p->all[i].b);
	free(p->all);
	*p = (struct pieces){0};
}

static struct piece *pieces_insert(struct pieces *p, size_t at, uint32_t magic, const void *bytes, size_t n)
{
	struct piece *grown = reallocarray(p->all, p->n + 1, sizeof(*grown));

	if (!grown)
		abort(); /* a test program: nothing else to do */
	p->all = grown;
	memmove(grown + at + 1, grown + at, (p->n - at) * sizeof(*grown));
	grown[at] = (struct piece){.magic = magic};
	bytes_add(&grown[at].b, bytes, n);
	p->n++;
	return &grown[at];
}

static int pieces_split(struct pieces *p, const uint8_t *bytes, size_t len, struct fault *why)
{
	uint64_t epoch = 0;
	uint32_t index = 0;
	size_t at = EMPTY_FRAME_BYTES;

	if (len < EMPTY_FRAME_BYTES)
		return not_there(why, "header");
	pieces_insert(p, 0, MAGIC_EMPTY, bytes, EMPTY_FRAME_BYTES);
	while (len - at >= FRAME_HEAD_BYTES) {
		uint32_t magic = get_le32(bytes + at);
		size_t n = FRAME_HEAD_BYTES + (size_t)get_le32(bytes + at + 4);
		struct piece *piece;

		if (magic == MAGIC_CHUNK && n <= len - at)
			n += get_le32(bytes + at + FRAME_HEAD_BYTES);
		if (n > len - at)
			break;
		piece = pieces_insert(p, p->n, magic, bytes + at, n);
		piece->epoch = epoch;
		piece->index = index++;
		if (magic == MAGIC_SEAL) {
			epoch++;
			index = 0;
		}
		if (magic == MAGIC_HEADER)
			index = 0;
		at += n;
	}
	if (at != len)
		return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "an attack begins with an authentic capture");
	return 0;
}

static void pieces_join(const struct pieces *p, struct bytes *out)
{
	for (size_t i = 0; i < p->n; i++)
		bytes_add(out, p->all[i].b.data, p->all[i].b.len);
}

static void pieces_remove(struct pieces *p, size_t at, size_t n)
{
	for (size_t i = at; i < at + n; i++)
		bytes_free(&p->all[i].b);
	memmove(p->all + at, p->all + at + n, (p->n - at - n) * sizeof(*p->all));
	p->n -= n;
}

static void pieces_copy(struct pieces *p, size_t to, size_t from, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct piece *was = &p->all[from + i + (from >= to ? i : 0)];

		pieces_insert(p, to + i, was->magic, was->b.data, was->b.len);
	}
}

static void pieces_swap(struct pieces *p, size_t i, size_t k)
{
	struct piece was = p->all[i];

	p->all[i] = p->all[k];
	p->all[k] = was;
}

static size_t count_of(const struct pieces *p, uint32_t magic)
{
	size_t n = 0;

	for (size_t i = 0; i < p->n; i++)
		n += p->all[i].magic == magic;
	return n;
}

/* The nth of a magic; p->n if there is none. */
static size_t nth_of(const struct pieces *p, uint32_t magic, size_t nth)
{
	size_t i = 0;

	while (i < p->n && (p->all[i].magic != magic || nth-- > 0))
		i++;
	return i;
}

/* The nth but for `spare` at the end, by chance. */
static int pick(const struct pieces *p, struct attempt *a, uint32_t magic, size_t spare, const char *name, size_t *at,
		struct fault *why)
{
	size_t n = count_of(p, magic);

	if (n <= spare)
		return not_there(why, name);
	*at = nth_of(p, magic, attack_pick(a, n - spare));
	return 0;
}

/* Where the epoch of a seal begins. */
static size_t epoch_start(const struct pieces *p, size_t seal)
{
	while (p->all[seal - 1].magic == MAGIC_CHUNK || p->all[seal - 1].magic == MAGIC_WITHHELD)
		seal--;
	return seal;
}

/* The attacks themselves, distinguished by number: each is short, and what surrounds it is the same. */
enum act {
	DROP_CHUNK = 1,
	DROP_EPOCH,
	DROP_LAST_EPOCH,
	DROP_SEAL,
	DROP_LAST_SEAL,
	DROP_HEADER,
	DROP_END,
	DROP_EMPTY,
	DOUBLE_CHUNK,
	DOUBLE_EPOCH,
	DOUBLE_SEAL,
	DOUBLE_HEADER,
	DOUBLE_END,
	SWAP_CHUNKS,
	SWAP_ACROSS,
	SWAP_EPOCHS,
	SWAP_SEALS,
	HEADER_LAST,
	END_EARLY,
	END_BEFORE_SEAL,
	SPLICE_CHUNK,
	SPLICE_EPOCH,
	SPLICE_SEAL,
	SPLICE_END,
	SPLICE_HEADER,
	SPLICE_BODY,
	SPLICE_SALT,
	MOVE_SIGNATURE,
	SIGNATURE_OF_HEADER,
	SIGNATURE_OF_END,
	STRIP_ALL,
	STRIP_HEADER,
	STRIP_SEAL,
	STRIP_END,
	STRIP_SEALS,
	STRIP_TO_LZ4,
	STRIP_SALT,
	WITHHOLD_CHUNK,
	WITHHOLD_SEAL,
	WITHHOLD_LAST_SEAL,
	WITHHOLD_END,
	WITHHOLD_HEADER,
	WITHHOLD_MORE,
	UNWITHHOLD_RANDOM,
	UNWITHHOLD_SHORTER,
	UNWITHHOLD_OTHER,
	UNWITHHOLD_NONE,
	HIDE_FIRST,
	HIDE_BEFORE_CHUNK,
	HIDE_BEFORE_SEAL,
	HIDE_BEFORE_END,
	HIDE_LAST,
	HIDE_LZ4,
	HIDE_EMPTY,
	TRAIL_BYTE,
	TRAIL_ZEROS,
	ZEROS_FOR_END,
	TRAIL_CAPTURE,
	TRAIL_OTHER,
	TRAIL_FRAME,
	CUT_ANYWHERE,
	CUT_HEADER,
	CUT_CHUNK,
	CUT_SEAL,
	CUT_END,
	CUT_TO_NOTHING,
	FLIP_ANY,
	FLIP_CHUNK,
	FLIP_SEAL,
	FLIP_END,
	FLIP_COUNTER,
	EDIT_SELF_STATS,
	UNREPAIRED_VERSION,
	UNREPAIRED_INCOMPATIBLE,
	UNREPAIRED_CONTINUES,
	UNREPAIRED_COMPATIBLE,
	UNREPAIRED_KEYNUM,
	UNREPAIRED_IDENTITY,
};

static int drop(struct pieces *p, struct attempt *a, enum act act, struct fault *why)
{
	static const struct {
		uint32_t magic;
		size_t spare;
		const char *name;
	} of[] = {
		[DROP_CHUNK] = {MAGIC_CHUNK, 0, "chunk"},    [DROP_EPOCH] = {MAGIC_SEAL, 1, "second epoch"},
		[DROP_LAST_EPOCH] = {MAGIC_SEAL, 0, "seal"}, [DROP_SEAL] = {MAGIC_SEAL, 1, "second epoch"},
		[DROP_LAST_SEAL] = {MAGIC_SEAL, 0, "seal"},  [DROP_HEADER] = {MAGIC_HEADER, 0, "header"},
		[DROP_END] = {MAGIC_END, 0, "end"},          [DROP_EMPTY] = {MAGIC_EMPTY, 0, "begin"},
	};
	size_t at, from;
	int r = pick(p, a, of[act].magic, of[act].spare, of[act].name, &at, why);

	if (r < 0)
		return r;
	if (act == DROP_LAST_EPOCH || act == DROP_LAST_SEAL)
		at = nth_of(p, MAGIC_SEAL, count_of(p, MAGIC_SEAL) - 1);
	from = act == DROP_EPOCH || act == DROP_LAST_EPOCH ? epoch_start(p, at) : at;
	if (act == DROP_LAST_SEAL && epoch_start(p, at) == at)
		return not_there(why, "chunk in its last epoch");
	pieces_remove(p, from, at - from + 1);
	return 0;
}

static int double_it(struct pieces *p, struct attempt *a, enum act act, struct fault *why)
{
	static const uint32_t of[] = {[DOUBLE_CHUNK] = MAGIC_CHUNK,
				      [DOUBLE_EPOCH] = MAGIC_SEAL,
				      [DOUBLE_SEAL] = MAGIC_SEAL,
				      [DOUBLE_HEADER] = MAGIC_HEADER,
				      [DOUBLE_END] = MAGIC_END};
	size_t at, from;
	int r = pick(p, a, of[act], 0, "such frame", &at, why);

	if (r < 0)
		return r;
	from = act == DOUBLE_EPOCH ? epoch_start(p, at) : at;
	pieces_copy(p, at + 1, from, at - from + 1);
	return 0;
}

static int swap(struct pieces *p, struct attempt *a, enum act act, struct fault *why)
{
	size_t i, k;

	switch (act) {
	case SWAP_CHUNKS:
	case SWAP_ACROSS:
		for (int tries = 0; tries < 1000; tries++) {
			if (pick(p, a, MAGIC_CHUNK, 0, "chunk", &i, why) < 0 ||
			    pick(p, a, MAGIC_CHUNK, 0, "chunk", &k, why) < 0)
				return why->code;
			if (i != k && (p->all[i].epoch == p->all[k].epoch) == (act == SWAP_CHUNKS)) {
				pieces_swap(p, i, k);
				return 0;
			}
		}
		return not_there(why, "two such chunks");
	case SWAP_EPOCHS: /* each epoch: its chunks and its seal */
	case SWAP_SEALS:
		if (count_of(p, MAGIC_SEAL) < 2)
			return not_there(why, "second epoch");
		i = nth_of(p, MAGIC_SEAL, attack_pick(a, count_of(p, MAGIC_SEAL) - 1));
		for (k = i + 1; p->all[k].magic != MAGIC_SEAL;)
			k++;
		if (act == SWAP_SEALS) {
			pieces_swap(p, i, k);
		} else {
			size_t start = epoch_start(p, i), n = i - start + 1;

			pieces_copy(p, k + 1, start, n);
			pieces_remove(p, start, n);
		}
		return 0;
	case HEADER_LAST:
		pieces_copy(p, p->n, nth_of(p, MAGIC_HEADER, 0), 1);
		pieces_remove(p, nth_of(p, MAGIC_HEADER, 0), 1);
		return 0;
	default: /* END_EARLY, END_BEFORE_SEAL */
		k = nth_of(p, MAGIC_END, 0);
		if (k == p->n || pick(p, a, MAGIC_SEAL, 0, "seal", &i, why) < 0)
			return not_there(why, "end behind a seal");
		if (act == END_EARLY)
			i = epoch_start(p, i);
		else if (epoch_start(p, i) == i)
			return not_there(why, "chunk in the epoch");
		pieces_copy(p, i, k, 1);
		pieces_remove(p, nth_of(p, MAGIC_END, 1), 1);
		return 0;
	}
}

static void replace(struct pieces *p, size_t at, const struct bytes *with)
{
	bytes_reset(&p->all[at].b);
	bytes_add(&p->all[at].b, with->data, with->len);
}

/* Something of another capture in place of the same thing here. */
static int splice(struct pieces *p, struct attempt *a, enum act act, struct fault *why)
{
	static const uint32_t of[] = {
		[SPLICE_CHUNK] = MAGIC_CHUNK, [SPLICE_EPOCH] = MAGIC_SEAL,    [SPLICE_SEAL] = MAGIC_SEAL,
		[SPLICE_END] = MAGIC_END,     [SPLICE_HEADER] = MAGIC_HEADER, [SPLICE_BODY] = MAGIC_HEADER,
		[SPLICE_SALT] = MAGIC_CHUNK};
	struct pieces o = {0};
	size_t at, from;
	int r;

	if (!a->other)
		return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "this attack takes a second capture");
	r = pieces_split(&o, a->other, a->other_len, why);
	if (r == 0)
		r = pick(p, a, of[act], 0, "such frame", &at, why);
	if (r == 0)
		r = pick(&o, a, of[act], 0, "such frame to take", &from, why);
	if (r == 0 && act == SPLICE_SALT) {
		memcpy(p->all[at].b.data + FRAME_HEAD_BYTES + CHUNK_AT_SALT,
		       o.all[from].b.data + FRAME_HEAD_BYTES + CHUNK_AT_SALT, SALT_BYTES);
	} else if (r == 0 && act == SPLICE_EPOCH) {
		size_t start = epoch_start(p, at), other_start = epoch_start(&o, from);

		pieces_remove(p, start, at - start + 1);
		for (size_t i = other_start; i <= from; i++)
			pieces_insert(p, start++, o.all[i].magic, o.all[i].b.data, o.all[i].b.len);
	} else if (r == 0 && act == SPLICE_BODY) {
		/* Header of this capture, all else of the other. */
		pieces_remove(p, at + 1, p->n - at - 1);
		for (size_t i = from + 1; i < o.n; i++)
			pieces_insert(p, p->n, o.all[i].magic, o.all[i].b.data, o.all[i].b.len);
	} else if (r == 0) {
		replace(p, at, &o.all[from].b);
	}
	pieces_free(&o);
	return r;
}

static uint8_t *signature_of(struct piece *piece)
{
	return piece->b.data + piece->b.len - SIGNATURE_BYTES;
}

static int move_signature(struct pieces *p, struct attempt *a, enum act act, struct fault *why)
{
	size_t to, from;

	if (pick(p, a, MAGIC_SEAL, act == MOVE_SIGNATURE, "second epoch", &to, why) < 0)
		return why->code;
	if (act == MOVE_SIGNATURE)
		for (from = to + 1; p->all[from].magic != MAGIC_SEAL;)
			from++;
	else
		from = nth_of(p, act == SIGNATURE_OF_END ? MAGIC_END : MAGIC_HEADER, 0);
	if (from == p->n)
		return not_there(why, "end");
	memcpy(signature_of(&p->all[to]), signature_of(&p->all[from]), SIGNATURE_BYTES);
	return 0;
}

static int strip(struct pieces *p, struct attempt *a, enum act act, struct fault *why)
{
	size_t at = p->n;

	if (act == STRIP_SEALS || act == STRIP_TO_LZ4) {
		if (act == STRIP_SEALS && count_of(p, MAGIC_CHUNK) + count_of(p, MAGIC_WITHHELD) == 0)
			return not_there(why, "chunk");
		for (size_t i = p->n; i-- > 0;) {
			if (p->all[i].magic == MAGIC_SEAL ||
			    (act == STRIP_TO_LZ4 && p->all[i].magic != MAGIC_CHUNK && p->all[i].magic != MAGIC_EMPTY)) {
				pieces_remove(p, i, 1);
			} else if (act == STRIP_TO_LZ4 && p->all[i].magic == MAGIC_CHUNK) {
				struct bytes *b = &p->all[i].b;

				b->len -= FRAME_HEAD_BYTES + CHUNK_BYTES;
				memmove(b->data, b->data + FRAME_HEAD_BYTES + CHUNK_BYTES, b->len);
			}
		}
		return 0;
	}
	if (act == STRIP_SALT) {
		if (pick(p, a, MAGIC_CHUNK, 0, "chunk", &at, why) < 0)
			return why->code;
		memset(p->all[at].b.data + FRAME_HEAD_BYTES + CHUNK_AT_SALT, 0, SALT_BYTES);
		return 0;
	}
	if (act == STRIP_SEAL && pick(p, a, MAGIC_SEAL, 0, "seal", &at, why) < 0)
		return why->code;
	if (act == STRIP_END && pick(p, a, MAGIC_END, 0, "end", &at, why) < 0)
		return why->code;
	for (size_t i = 0; i < p->n; i++)
		if (i == at || (act == STRIP_HEADER && p->all[i].magic == MAGIC_HEADER) ||
		    (act == STRIP_ALL && (p->all[i].magic == MAGIC_HEADER || p->all[i].magic == MAGIC_SEAL ||
					  p->all[i].magic == MAGIC_END)))
			memset(signature_of(&p->all[i]), act == STRIP_END, SIGNATURE_BYTES);
	return 0;
}

static const uint8_t withheld_frame[FRAME_HEAD_BYTES] = {0x52, 0x2a, 0x4d, 0x18};

static uint8_t *entry_of(const struct pieces *p, size_t chunk)
{
	size_t seal = chunk;

	while (p->all[seal].magic != MAGIC_SEAL)
		seal++;
	return p->all[seal].b.data + FRAME_HEAD_BYTES + SEAL_AT_TABLES + (size_t)p->all[chunk].index * ENTRY_BYTES;
}

static uint8_t class_of(const struct pieces *p, size_t chunk)
{
	return entry_of(p, chunk)[ENTRY_AT_CLASS];
}

static int withhold(struct pieces *p, struct attempt *a, enum act act, struct fault *why)
{
	static const uint32_t of[] = {
		[WITHHOLD_CHUNK] = MAGIC_CHUNK, [WITHHOLD_SEAL] = MAGIC_SEAL,     [WITHHOLD_LAST_SEAL] = MAGIC_SEAL,
		[WITHHOLD_END] = MAGIC_END,     [WITHHOLD_HEADER] = MAGIC_HEADER, [WITHHOLD_MORE] = MAGIC_SEAL};
	size_t at;
	int r = pick(p, a, of[act], act == WITHHOLD_SEAL, "such frame", &at, why);

	if (r < 0)
		return r;
	if (act == WITHHOLD_LAST_SEAL)
		at = nth_of(p, MAGIC_SEAL, count_of(p, MAGIC_SEAL) - 1);
	if (act == WITHHOLD_CHUNK) { /* not of class events, so that it is no slice */
		while (at < p->n && (p->all[at].magic != MAGIC_CHUNK || class_of(p, at) == CLASS_events))
			at++;
		if (at == p->n)
			return not_there(why, "chunk but of events there");
	}
	if (act != WITHHOLD_MORE)
		pieces_remove(p, at, 1);
	pieces_insert(p, at, MAGIC_WITHHELD, withheld_frame, sizeof(withheld_frame));
	return 0;
}

/* A chunk in place of a withheld one: of the length that the seal lists, of another, or of what stands elsewhere. */
static int unwithhold(struct pieces *p, struct attempt *a, enum act act, struct fault *why)
{
	uint8_t head[FRAME_HEAD_BYTES + CHUNK_BYTES];
	size_t at, from;
	struct piece *piece;
	uint32_t packed;
	uint8_t *frame;

	if (pick(p, a, MAGIC_WITHHELD, 0, "withheld chunk", &at, why) < 0)
		return why->code;
	packed = get_le32(entry_of(p, at) + ENTRY_AT_PACKED_BYTES);
	if (act == UNWITHHOLD_NONE) {
		pieces_remove(p, at, 1);
		return 0;
	}
	if (act == UNWITHHOLD_OTHER) {
		if (pick(p, a, MAGIC_CHUNK, 0, "chunk", &from, why) < 0)
			return why->code;
		replace(p, at, &p->all[from].b);
		return 0;
	}
	if (act == UNWITHHOLD_SHORTER && packed > 1)
		packed--;
	put_le32(head, MAGIC_CHUNK);
	put_le32(head + 4, CHUNK_BYTES);
	put_le32(head + FRAME_HEAD_BYTES, packed);
	memset(head + FRAME_HEAD_BYTES + CHUNK_AT_SALT, 0x5a, SALT_BYTES);
	piece = &p->all[at];
	bytes_reset(&piece->b);
	bytes_add(&piece->b, head, sizeof(head));
	frame = bytes_grow(&piece->b, packed);
	for (uint32_t i = 0; frame && i < packed; i++)
		frame[i] = (uint8_t)attack_pick(a, 256);
	return 0;
}

static int hide(struct pieces *p, struct attempt *a, enum act act, struct fault *why)
{
	static const uint8_t hidden[] = {0x5f, 0x2a, 0x4d, 0x18, 6, 0, 0, 0, 'h', 'i', 'd', 'd', 'e', 'n'};
	static const struct {
		uint32_t magic;
		const char *name;
	} before[] = {
		[HIDE_BEFORE_CHUNK] = {MAGIC_CHUNK, "chunk"},
		[HIDE_BEFORE_SEAL] = {MAGIC_SEAL, "seal"},
		[HIDE_LZ4] = {MAGIC_SEAL, "seal"},
		[HIDE_BEFORE_END] = {MAGIC_END, "end"},
	};
	size_t at = p->n;

	if (act == HIDE_FIRST || act == HIDE_EMPTY)
		at = act == HIDE_FIRST ? 0 : 1;
	else if (act < sizeof(before) / sizeof(before[0]) && before[act].name &&
		 pick(p, a, before[act].magic, 0, before[act].name, &at, why) < 0)
		return why->code;
	if (act == HIDE_LAST && count_of(p, MAGIC_END) == 0)
		return not_there(why, "end");
	if (act == HIDE_LZ4 || act == HIDE_EMPTY)
		pieces_insert(p, at, MAGIC_EMPTY, empty_frame, EMPTY_FRAME_BYTES);
	else
		pieces_insert(p, at, MAGIC_HIDDEN, hidden, sizeof(hidden));
	return 0;
}

static int trail(struct pieces *p, struct attempt *a, enum act act, struct fault *why)
{
	static const uint8_t zeros[4096], one = 1;
	size_t end = nth_of(p, MAGIC_END, 0);

	if (end == p->n)
		return not_there(why, "end");
	if (act == TRAIL_OTHER && !a->other)
		return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "this attack takes a second capture");
	if (act == ZEROS_FOR_END)
		pieces_remove(p, end, 1);
	if (act == TRAIL_BYTE)
		pieces_insert(p, p->n, MAGIC_HIDDEN, &one, 1);
	else if (act == TRAIL_ZEROS || act == ZEROS_FOR_END)
		pieces_insert(p, p->n, MAGIC_HIDDEN, zeros, sizeof(zeros));
	else if (act == TRAIL_CAPTURE)
		pieces_insert(p, p->n, MAGIC_HIDDEN, a->bytes, a->len);
	else if (act == TRAIL_OTHER)
		pieces_insert(p, p->n, MAGIC_HIDDEN, a->other, a->other_len);
	else
		pieces_insert(p, p->n, MAGIC_EMPTY, empty_frame, EMPTY_FRAME_BYTES);
	return 0;
}

static int cut(struct pieces *p, struct attempt *a, enum act act, struct fault *why)
{
	static const uint32_t of[] = {
		[CUT_HEADER] = MAGIC_HEADER, [CUT_CHUNK] = MAGIC_CHUNK, [CUT_SEAL] = MAGIC_SEAL, [CUT_END] = MAGIC_END};
	size_t at, header = EMPTY_FRAME_BYTES + p->all[1].b.len;

	if (act == CUT_ANYWHERE || act == CUT_TO_NOTHING) {
		pieces_join(p, &a->out);
		a->out.len = act == CUT_ANYWHERE ? header + attack_pick(a, a->len - header) : 0;
		return 0;
	}
	if (pick(p, a, of[act], 0, "such frame", &at, why) < 0)
		return why->code;
	pieces_remove(p, at + 1, p->n - at - 1);
	p->all[at].b.len = 1 + attack_pick(a, p->all[at].b.len - 1);
	return 0;
}

/* A bit, or a number, and nothing repaired. */
static int flip(struct pieces *p, struct attempt *a, enum act act, struct fault *why)
{
	uint32_t of = act == FLIP_CHUNK ? MAGIC_CHUNK : act == FLIP_END ? MAGIC_END : MAGIC_SEAL;
	size_t at = 0, skip = FRAME_HEAD_BYTES, n;

	if (act == FLIP_ANY) {
		pieces_join(p, &a->out);
		n = attack_pick(a, a->out.len);
		a->out.data[n] ^= (uint8_t)(1u << attack_pick(a, 8));
		return 0;
	}
	if (pick(p, a, of, 0, "such frame", &at, why) < 0)
		return why->code;
	n = p->all[at].b.len;
	if (act == FLIP_CHUNK)
		skip += CHUNK_AT_SALT;
	if (act == FLIP_COUNTER) { /* the last counter's value: losses */
		if (get_le32(p->all[at].b.data + FRAME_HEAD_BYTES + SEAL_AT_NCOUNTERS) == 0)
			return not_there(why, "counter");
		p->all[at].b.data[n - SIGNATURE_BYTES - 1] ^= 1;
	} else if (act == EDIT_SELF_STATS) {
		p->all[at].b.data[FRAME_HEAD_BYTES + SEAL_AT_SELF] ^= 1;
	} else if (act == FLIP_SEAL || act == FLIP_END) { /* the signature, or the hash of the seal before */
		if (attack_pick(a, 2))
			signature_of(&p->all[at])[attack_pick(a, SIGNATURE_BYTES)] ^= 1;
		else
			p->all[at].b.data[FRAME_HEAD_BYTES + SEAL_AT_PREVIOUS + attack_pick(a, HASH_BYTES)] ^= 1;
	} else {
		p->all[at].b.data[skip + attack_pick(a, n - skip)] ^= (uint8_t)(1u << attack_pick(a, 8));
	}
	return 0;
}

static int unrepaired(struct pieces *p, enum act act)
{
	uint8_t *payload = p->all[1].b.data + FRAME_HEAD_BYTES;

	if (act == UNREPAIRED_VERSION)
		put_le16(payload + HEADER_AT_MAJOR, FORMAT_MAJOR + 1);
	else if (act == UNREPAIRED_INCOMPATIBLE)
		payload[HEADER_AT_INCOMPATIBLE + 7] ^= 0x80;
	else if (act == UNREPAIRED_CONTINUES)
		payload[HEADER_AT_INCOMPATIBLE] ^= FEATURE_CONTINUES;
	else if (act == UNREPAIRED_COMPATIBLE)
		payload[HEADER_AT_COMPATIBLE] ^= 1;
	else if (act == UNREPAIRED_KEYNUM)
		payload[HEADER_AT_KEYNUM] ^= 1;
	else
		memset(payload + HEADER_AT_IDENTITY, 0x42, PUBLIC_KEY_BYTES);
	return 0;
}

static int act_on_frames(const struct attack *self, struct attempt *a, struct fault *why)
{
	enum act act = (enum act)self->value;
	struct pieces p = {0};
	int r = pieces_split(&p, a->bytes, a->len, why);

	if (r == 0 && (p.n < 2 || p.all[1].magic != MAGIC_HEADER))
		r = not_there(why, "header");
	if (r < 0)
		goto out;
	r = act <= DROP_EMPTY         ? drop(&p, a, act, why)
	    : act <= DOUBLE_END       ? double_it(&p, a, act, why)
	    : act <= END_BEFORE_SEAL  ? swap(&p, a, act, why)
	    : act <= SPLICE_SALT      ? splice(&p, a, act, why)
	    : act <= SIGNATURE_OF_END ? move_signature(&p, a, act, why)
	    : act <= STRIP_SALT       ? strip(&p, a, act, why)
	    : act <= WITHHOLD_MORE    ? withhold(&p, a, act, why)
	    : act <= UNWITHHOLD_NONE  ? unwithhold(&p, a, act, why)
	    : act <= HIDE_EMPTY       ? hide(&p, a, act, why)
	    : act <= TRAIL_FRAME      ? trail(&p, a, act, why)
	    : act <= CUT_TO_NOTHING   ? cut(&p, a, act, why)
	    : act <= EDIT_SELF_STATS  ? flip(&p, a, act, why)
				      : unrepaired(&p, act);
	if (r == 0 && act != CUT_ANYWHERE && act != CUT_TO_NOTHING && act != FLIP_ANY)
		pieces_join(&p, &a->out);
out:
	pieces_free(&p);
	return r;
}

/* All signed anew by a key of the forger's own. */
static int resign(const struct attack *self, struct attempt *a, struct fault *why)
{
	struct remake m;
	int r = remake_load(&m, a->bytes, a->len, why);

	if (r == 0) {
		m.stranger = true;
		m.keep_identity = self->value == 1;
		m.keep_header = self->value == 2;
		if (self->value == 3 && m.nepochs)
			m.epochs[0].self.cpu_ns += 1;
		r = remake_write(&m, &a->out, why);
	}
	remake_clear(&m);
	return r;
}

#define FRAMES(name, act, verdict, says, what)                                                                         \
	{                                                                                                              \
		name, ANYONE, verdict, says, what, act_on_frames, 0, 0, 0, act, NULL                                   \
	}

const struct attack attacks_on_frames[] = {
	FRAMES("drop-chunk", DROP_CHUNK, VERDICT_FORGED, "precede it", "a chunk is left out"),
	FRAMES("drop-epoch", DROP_EPOCH, VERDICT_FORGED, NULL, "an epoch is left out, with its seal"),
	FRAMES("drop-last-epoch", DROP_LAST_EPOCH, VERDICT_FORGED, "the end record is not signed",
	       "the last epoch is left out, END stays"),
	FRAMES("drop-seal", DROP_SEAL, VERDICT_FORGED, NULL, "a seal is left out, its chunks join the next epoch's"),
	FRAMES("drop-last-seal", DROP_LAST_SEAL, VERDICT_MALFORMED, "chunks without a seal",
	       "the last seal is left out"),
	FRAMES("drop-header", DROP_HEADER, VERDICT_MALFORMED, "the header is missing", "the header is left out"),
	FRAMES("drop-end", DROP_END, VERDICT_UNSEALED, "without an end record", "END is left out"),
	FRAMES("drop-empty", DROP_EMPTY, VERDICT_MALFORMED, "does not begin as one", "the empty LZ4 frame is left out"),
	FRAMES("double-chunk", DOUBLE_CHUNK, VERDICT_FORGED, "precede it", "a chunk stands there twice"),
	FRAMES("double-epoch", DOUBLE_EPOCH, VERDICT_FORGED, NULL, "an epoch stands there twice"),
	FRAMES("double-seal", DOUBLE_SEAL, VERDICT_FORGED, NULL, "a seal stands there twice"),
	FRAMES("double-header", DOUBLE_HEADER, VERDICT_MALFORMED, "an unknown frame", "the header stands there twice"),
	FRAMES("double-end", DOUBLE_END, VERDICT_MALFORMED, "bytes follow the end record", "END stands there twice"),
	FRAMES("swap-chunks", SWAP_CHUNKS, VERDICT_FORGED, NULL, "two chunks of an epoch change places"),
	FRAMES("swap-chunks-across", SWAP_ACROSS, VERDICT_FORGED, NULL, "chunks of two epochs change places"),
	FRAMES("swap-epochs", SWAP_EPOCHS, VERDICT_FORGED, NULL, "two epochs change places"),
	FRAMES("swap-seals", SWAP_SEALS, VERDICT_FORGED, NULL, "two seals change places"),
	FRAMES("header-last", HEADER_LAST, VERDICT_MALFORMED, "the header is missing", "the header moves to the end"),
	FRAMES("end-early", END_EARLY, VERDICT_MALFORMED, "bytes follow the end record", "END moves before an epoch"),
	FRAMES("end-before-seal", END_BEFORE_SEAL, VERDICT_MALFORMED, "chunks without a seal",
	       "END moves before a seal"),
	FRAMES("splice-chunk", SPLICE_CHUNK, VERDICT_FORGED, NULL, "a chunk of another capture of the host"),
	FRAMES("splice-epoch", SPLICE_EPOCH, VERDICT_FORGED, NULL, "an epoch of another capture of the host"),
	FRAMES("splice-seal", SPLICE_SEAL, VERDICT_FORGED, NULL, "a seal of another capture of the host"),
	FRAMES("splice-end", SPLICE_END, VERDICT_FORGED, "the end record", "the END of another capture of the host"),
	FRAMES("splice-header", SPLICE_HEADER, VERDICT_FORGED, "the seal of epoch 0",
	       "the header of another capture of the host"),
	FRAMES("splice-body", SPLICE_BODY, VERDICT_FORGED, "the seal of epoch 0",
	       "all but the header of another capture of the host"),
	FRAMES("splice-salt", SPLICE_SALT, VERDICT_FORGED, "is not what was sealed", "a salt of another capture"),
	FRAMES("move-signature", MOVE_SIGNATURE, VERDICT_FORGED, "is not signed by",
	       "a seal gets the next one's signature"),
	FRAMES("header-signature-on-seal", SIGNATURE_OF_HEADER, VERDICT_FORGED, "is not signed by",
	       "a seal gets the header's signature"),
	FRAMES("end-signature-on-seal", SIGNATURE_OF_END, VERDICT_FORGED, "is not signed by",
	       "a seal gets END's signature"),
	FRAMES("strip-signatures", STRIP_ALL, VERDICT_FORGED, "the header is not signed", "all signatures are zeros"),
	FRAMES("strip-header-signature", STRIP_HEADER, VERDICT_FORGED, "the header is not signed",
	       "the header's signature is zeros"),
	FRAMES("strip-seal-signature", STRIP_SEAL, VERDICT_FORGED, "is not signed by", "a seal's signature is zeros"),
	FRAMES("strip-end-signature", STRIP_END, VERDICT_FORGED, "the end record is not signed",
	       "END's signature is not one: were it zeros, it could be a cut"),
	FRAMES("strip-seals", STRIP_SEALS, VERDICT_MALFORMED, "chunks without a seal", "there are no seals"),
	FRAMES("strip-to-lz4", STRIP_TO_LZ4, VERDICT_MALFORMED, NULL, "nothing is left but the LZ4 frames"),
	FRAMES("strip-salt", STRIP_SALT, VERDICT_FORGED, "is not what was sealed", "a chunk's salt is zeros"),
	FRAMES("withhold-chunk", WITHHOLD_CHUNK, VERDICT_OK_REDACTED, NULL,
	       "a chunk is withheld: anyone may, and it shows"),
	FRAMES("withhold-seal", WITHHOLD_SEAL, VERDICT_FORGED, NULL, "a seal, with its losses, is withheld"),
	FRAMES("withhold-last-seal", WITHHOLD_LAST_SEAL, VERDICT_MALFORMED, "chunks without a seal",
	       "the last seal, with its losses, is withheld"),
	FRAMES("withhold-end", WITHHOLD_END, VERDICT_UNSEALED, "without an end record",
	       "END, with its losses, is withheld"),
	FRAMES("withhold-header", WITHHOLD_HEADER, VERDICT_MALFORMED, "the header is missing",
	       "the header is withheld"),
	FRAMES("withhold-nothing", WITHHOLD_MORE, VERDICT_FORGED, "precede it",
	       "a withheld chunk where there was none"),
	FRAMES("unwithhold-random", UNWITHHOLD_RANDOM, VERDICT_FORGED, "is not what was sealed",
	       "a withheld chunk gets content, of the length that it had"),
	FRAMES("unwithhold-shorter", UNWITHHOLD_SHORTER, VERDICT_FORGED, "packed bytes, its seal has",
	       "a withheld chunk gets content, of another length"),
	FRAMES("unwithhold-other", UNWITHHOLD_OTHER, VERDICT_FORGED, NULL,
	       "a withheld chunk gets another one's content"),
	FRAMES("unwithhold-none", UNWITHHOLD_NONE, VERDICT_FORGED, "precede it", "a withheld chunk is left out"),
	FRAMES("hide-first", HIDE_FIRST, VERDICT_MALFORMED, "does not begin as one", "a hidden frame before all"),
	FRAMES("hide-before-header", HIDE_EMPTY, VERDICT_MALFORMED, "the header is missing",
	       "a second empty frame before the header"),
	FRAMES("hide-before-chunk", HIDE_BEFORE_CHUNK, VERDICT_MALFORMED, "an unknown frame",
	       "a hidden frame before a chunk"),
	FRAMES("hide-before-seal", HIDE_BEFORE_SEAL, VERDICT_MALFORMED, "an unknown frame",
	       "a hidden frame before a seal"),
	FRAMES("hide-before-end", HIDE_BEFORE_END, VERDICT_MALFORMED, "an unknown frame", "a hidden frame before END"),
	FRAMES("hide-last", HIDE_LAST, VERDICT_MALFORMED, "bytes follow the end record", "a hidden frame behind END"),
	FRAMES("hide-lz4", HIDE_LZ4, VERDICT_MALFORMED, "an unknown frame", "an LZ4 frame without a chunk's head"),
	FRAMES("trail-byte", TRAIL_BYTE, VERDICT_MALFORMED, "bytes follow the end record", "a byte behind END"),
	FRAMES("trail-zeros", TRAIL_ZEROS, ATTACK_SAME, NULL, "zeros behind END: padding, and it shows"),
	FRAMES("zeros-for-end", ZEROS_FOR_END, VERDICT_UNSEALED, "without an end record", "zeros in place of END"),
	FRAMES("trail-capture", TRAIL_CAPTURE, VERDICT_MALFORMED, "bytes follow the end record",
	       "the capture is appended to itself"),
	FRAMES("trail-other", TRAIL_OTHER, VERDICT_MALFORMED, "bytes follow the end record",
	       "another capture is appended"),
	FRAMES("trail-lz4", TRAIL_FRAME, VERDICT_MALFORMED, "bytes follow the end record", "an LZ4 frame behind END"),
	FRAMES("cut", CUT_ANYWHERE, VERDICT_UNSEALED, "the file ends", "a cut anywhere behind the header"),
	FRAMES("cut-header", CUT_HEADER, VERDICT_MALFORMED, NULL, "a cut inside the header"),
	FRAMES("cut-chunk", CUT_CHUNK, VERDICT_UNSEALED, "the file ends", "a cut inside a chunk"),
	FRAMES("cut-seal", CUT_SEAL, VERDICT_UNSEALED, "the file ends", "a cut inside a seal"),
	FRAMES("cut-end", CUT_END, VERDICT_UNSEALED, "the file ends", "a cut inside END"),
	FRAMES("cut-to-nothing", CUT_TO_NOTHING, VERDICT_MALFORMED, "the file is empty", "nothing is left"),
	FRAMES("flip", FLIP_ANY, ATTACK_REFUSED, NULL, "one bit, anywhere"),
	FRAMES("flip-chunk", FLIP_CHUNK, VERDICT_FORGED, "is not what was sealed",
	       "one bit of a chunk's salt or content"),
	FRAMES("flip-seal", FLIP_SEAL, VERDICT_FORGED, NULL, "one bit of a seal's signature or chain"),
	FRAMES("flip-end", FLIP_END, VERDICT_FORGED, "the end record", "one bit of END's signature or chain"),
	FRAMES("edit-losses", FLIP_COUNTER, VERDICT_FORGED, "is not signed by", "another number of losses in a seal"),
	FRAMES("edit-overhead", EDIT_SELF_STATS, VERDICT_FORGED, "is not signed by",
	       "another cost of recording in a seal"),
	FRAMES("unsigned-version", UNREPAIRED_VERSION, VERDICT_UNCHECKED, "format version",
	       "the next major version, the signature not repaired"),
	FRAMES("unsigned-incompatible", UNREPAIRED_INCOMPATIBLE, VERDICT_UNCHECKED, "features",
	       "an incompatible bit, the signature not repaired"),
	FRAMES("unsigned-continues", UNREPAIRED_CONTINUES, ATTACK_REFUSED, NULL,
	       "said to continue another capture, or not to, the signature not repaired"),
	FRAMES("unsigned-compatible", UNREPAIRED_COMPATIBLE, VERDICT_FORGED, "the header is not signed",
	       "a compatible bit, the signature not repaired"),
	FRAMES("unsigned-keynum", UNREPAIRED_KEYNUM, VERDICT_FORGED, "the header is not signed", "another key number"),
	FRAMES("unsigned-identity", UNREPAIRED_IDENTITY, VERDICT_FORGED, "the header is not signed",
	       "another public key"),
	{"resign", FORGER, VERDICT_UNTRUSTED, NULL, "everything is signed anew by another key", resign, 0, 0, 0, 0,
	 NULL},
	{"resign-in-his-name", FORGER, VERDICT_FORGED, "the header is not signed",
	 "everything is signed anew, the header names the true identity", resign, 0, 0, 0, 1, NULL},
	{"resign-seals", FORGER, VERDICT_FORGED, "the seal of epoch 0 is not signed",
	 "the header stays, all seals are signed anew", resign, 0, 0, 0, 2, NULL},
	{"resign-changed", FORGER, VERDICT_UNTRUSTED, NULL, "content is changed and everything signed anew", resign, 0,
	 0, 0, 3, NULL},
	{0},
};
