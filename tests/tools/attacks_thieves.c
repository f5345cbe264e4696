// SPDX-License-Identifier: Apache-2.0
/*
 * What a thief of the current session key can do, and cannot: the key that the last seal announced. Nothing sealed
 * before can be altered or ended earlier. What comes after the last seal is his.
 */
#include "tests/tools/attacks_remake.h"

#include <string.h>

#include "tests/unit/sign_as.h"

enum theft { ROLL_BACK = 1, ROLL_TO_HEADER, REWRITE_LAST, REWRITE_FIRST, NEW_END, NEW_EPOCH };

static size_t epoch_end(const struct remake *m, const struct attempt *a, uint64_t epoch)
{
	const uint8_t *seal = a->bytes + m->epochs[epoch].seal_offset;

	return (size_t)(m->epochs[epoch].seal_offset + FRAME_HEAD_BYTES + get_le32(seal + 4));
}

static void add_end(struct remake *m, struct attempt *a, uint64_t nepochs, const uint8_t *last_seal)
{
	m->end.nepochs = nepochs;
	memcpy(m->end.last_seal, last_seal, HASH_BYTES);
	end_encode(&a->out, &m->end);
	if (!a->out.failed)
		sign_as(m->header.incompatible, a->out.data + a->out.len - SIGNATURE_BYTES, domain_end, m->end.hash,
			a->stolen);
}

static void add_seal(const struct remake *m, struct attempt *a, struct epoch *e)
{
	seal_encode(&a->out, e);
	if (!a->out.failed)
		sign_as(m->header.incompatible, a->out.data + a->out.len - SIGNATURE_BYTES, domain_seal, e->hash,
			a->stolen);
}

/* An epoch without events behind the last one; its next key is the stolen one, too. */
static void add_epoch(struct remake *m, struct attempt *a)
{
	const struct epoch *last = &m->epochs[m->nepochs - 1];
	struct epoch e = *last;

	e.number++;
	memcpy(e.previous, last->hash, HASH_BYTES);
	e.begin_ns = last->end_ns;
	e.end_ns = last->end_ns + 1;
	e.nchunks = e.ncounts = 0;
	add_seal(m, a, &e);
	add_end(m, a, m->nepochs + 1, e.hash);
}

static int act_as_thief(const struct attack *self, struct attempt *a, struct fault *why)
{
	struct remake m = {0};
	uint64_t n, last;
	int r = 0;

	if (!a->stolen)
		return fault_set(why, ERR_INPUT, FAULT_NOWHERE,
				 "this attack takes the session key that the last seal "
				 "announced");
	r = remake_load(&m, a->bytes, a->len, why);
	if (r == 0 && (!m.has_end || m.nepochs < 2))
		r = fault_set(why, ERR_INPUT, FAULT_NOWHERE, "the capture has no end, or fewer than two epochs");
	if (r == 0 && memcmp(m.epochs[m.nepochs - 1].next_key, a->stolen + SECRET_KEY_BYTES - PUBLIC_KEY_BYTES,
			     PUBLIC_KEY_BYTES) != 0)
		r = fault_set(why, ERR_INPUT, FAULT_NOWHERE, "the key is not the one that the last seal announced");
	if (r < 0)
		goto out;
	n = m.nepochs;
	last = n - 1;
	switch ((enum theft)self->value) {
	case ROLL_BACK:
		last = attack_pick(a, n - 1);
		bytes_add(&a->out, a->bytes, epoch_end(&m, a, last));
		add_end(&m, a, last + 1, m.epochs[last].hash);
		break;
	case ROLL_TO_HEADER:
		bytes_add(&a->out, m.original.data, m.original.len);
		m.end.ntotals = m.end.ncounters = 0;
		add_end(&m, a, 0, m.header.hash);
		break;
	case REWRITE_FIRST:
		last = 0;
		/* fall through */
	case REWRITE_LAST:
		bytes_add(&a->out, a->bytes, (size_t)m.epochs[last].seal_offset);
		m.epochs[last].self.cpu_ns ^= 1;
		add_seal(&m, a, &m.epochs[last]);
		bytes_add(&a->out, a->bytes + epoch_end(&m, a, last), (size_t)m.end.offset - epoch_end(&m, a, last));
		add_end(&m, a, n, m.epochs[n - 1].hash);
		break;
	case NEW_END:
		bytes_add(&a->out, a->bytes, (size_t)m.end.offset);
		m.end.reason = m.end.reason == REASON_terminated ? REASON_interrupted : REASON_terminated;
		add_end(&m, a, n, m.epochs[last].hash);
		break;
	case NEW_EPOCH:
		bytes_add(&a->out, a->bytes, (size_t)m.end.offset);
		add_epoch(&m, a);
		break;
	}
out:
	remake_clear(&m);
	return r;
}

#define THEFT(name, theft, verdict, says, what)                                                                        \
	{                                                                                                              \
		name, THIEF, verdict, says, what, act_as_thief, 0, 0, 0, theft, NULL                                   \
	}

const struct attack attacks_by_thieves[] = {
	THEFT("roll-back", ROLL_BACK, VERDICT_FORGED, "the end record is not signed",
	      "an earlier end, signed by the thief"),
	THEFT("roll-back-to-header", ROLL_TO_HEADER, VERDICT_FORGED, "the end record is not signed",
	      "all epochs vanish, END is signed by the thief"),
	THEFT("rewrite-last-epoch", REWRITE_LAST, VERDICT_FORGED, "is not signed by its session key",
	      "the last epoch is changed and sealed by the thief"),
	THEFT("rewrite-first-epoch", REWRITE_FIRST, VERDICT_FORGED, "is not signed by its session key",
	      "the first epoch is changed and sealed by the thief"),
	THEFT("thief-ends-otherwise", NEW_END, ATTACK_SAME, NULL,
	      "another END after the last seal: a thief of the current key can do that"),
	THEFT("thief-goes-on", NEW_EPOCH, ATTACK_SAME, NULL,
	      "another epoch after the last seal: a thief of the current key can do that"),
	{0},
};
