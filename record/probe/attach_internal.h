/* SPDX-License-Identifier: Apache-2.0 */
/* What attach.c (loading), attach_links.c (what programs hang on) and attach_run.c (once they do) share. */
#ifndef GPUREC_RECORD_PROBE_ATTACH_INTERNAL_H
#define GPUREC_RECORD_PROBE_ATTACH_INTERNAL_H

#include <bpf/libbpf.h>

#include "record/probe/attach.h"
#include "record/probe/refusals.h"
#include "record/probe/skipped_runs.h"

/* From <linux/bpf.h> of 6.6; older headers do not know it. */
#define ATTACH_TYPE_UPROBE_MULTI 48

struct attach {
	struct gpurec_bpf *skel;
	struct bpf_object *object;
	const struct bpf_program *on_each_task; /* NULL: this kernel refuses it */
	struct refusals refusals;
	int tracked_fd, attached_fd;
	struct attach_facts facts;
	volatile __u32 *running, *life_woken, *bulk_woken;
	volatile __u32 *states_moment;
	volatile __u64 *states_room, *states_beyond;
	volatile __u32 *unfollowed;
	int each_task_fd;        /* ready to go through the threads once; -1: not */
	struct bpf_link **links; /* all but the skeleton's own, in the order to take them off */
	size_t nlinks, room;
	int *multi_fds;
	size_t nmulti;
	/* what is attached to functions */
	struct bpf_program *on_call, *on_return;
	bool no_shortcuts; /* on_call_multi and on_return_multi are not to be loaded */
	bool may_time;     /* CPUs may be sampled by a timer, too */
	struct skipped_runs skipped;
};

/* `what` failed with errno; ERR_DENIED reports the rights that it takes. */
int attach_refused(struct fault *why, const char *what);
/* The link joins the others. -1 with errno; also of NULL, which says that it could not be made. */
int attach_keep(struct attach *a, struct bpf_link *link);
/* In reverse order. Returns as attach_close() does. */
uint64_t attach_detach_all(struct attach *a);

#endif
