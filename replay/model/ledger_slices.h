/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The slices that the ledger cuts a thread's time into: its own, see ledger.h.
 */
#ifndef GPUREC_REPLAY_MODEL_LEDGER_SLICES_H
#define GPUREC_REPLAY_MODEL_LEDGER_SLICES_H

#include "replay/model/ledger.h"

/* Two of them become one, until they are as long as those of others. */
void ledger_slices_join(struct ledger_thread *t, uint64_t slice_ns);

/* The slice that a moment is in; NULL: no memory. */
struct ledger_slice *ledger_slice_at(struct ledger *l, struct ledger_thread *t, uint64_t at_ns);

#endif
