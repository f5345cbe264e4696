/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers for TCP connections, by which `network` rows name them, and the rows that report which is which. The number
 * of one that was not named for long is given to another.
 */
#ifndef GPUREC_RECORD_CONNECTIONS_H
#define GPUREC_RECORD_CONNECTIONS_H

#include <linux/types.h>

#include "bpf/ring.h"
#include "record/host/procfs.h"
#include "record/row.h"

#define CONNECTIONS_MAX 256    /* that have a number */
#define CONNECTIONS_LOOKS 200u /* at who listens, a second: of more it is not known who began them */

struct connection {
	struct network_ends ends;
	uint32_t net;
	uint64_t used; /* larger: more recently; 0: free */
	uint8_t role;  /* CONNECTION_* */
};

/* A zeroed one with `fs` is empty. */
struct connections {
	const struct procfs *fs; /* borrowed */
	struct connection all[CONNECTIONS_MAX];
	uint64_t clock;
	uint64_t second;
	unsigned looks; /* in it */
};

/* Name the record's connection in the row, of kind network; a row that introduces it is emitted first if need be. */
int connections_name(struct connections *c, struct writer *w, struct row *row, const struct ring_network *n,
		     struct fault *why);

#endif
