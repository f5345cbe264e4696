/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The event kinds and their fields: the one list. No types stand here, so that the
 * BPF side can include it too. Order and numbers are on disk for ever: add lines at the
 * end of a kind, never move or reuse one (docs/FORMAT.md, "Schema").
 *
 *	CLASSES(C)   C(id, name)                      what a chunk holds; withheld as a whole
 *	KINDS(K)     K(id, name, class, flags)        and, for each, FIELDS_name(F)
 *	             F(kind, name, encoding, unit)
 *
 * Encodings: TIME (never less than the row before), UINT, SINT, TEXT.
 * Every kind's field 0 is `at`: the boot-clock time (ns) at which the event was complete.
 * For a call that is its return: it began at `at - dur`.
 */
#ifndef GPUREC_FORMAT_KINDS_H
#define GPUREC_FORMAT_KINDS_H

#define CLASSES(C)                                                                                                     \
	C(1, events)                                                                                                   \
	C(2, process)                                                                                                  \
	C(3, path)                                                                                                     \
	C(4, host)                                                                                                     \
	C(5, symbol)                                                                                                   \
	C(6, cgroup)                                                                                                   \
	C(7, arguments)

/*
 * Flags. COUNTED: each row is one firing of a probe, so rows = the probes' `recorded`. CALL: counted, and starts with
 * CALL_FIELDS.
 */
#define KINDS(K)                                                                                                       \
	K(1, launch, events, CALL)                                                                                     \
	K(2, alloc, events, CALL)                                                                                      \
	K(3, free, events, CALL)                                                                                       \
	K(4, copy, events, CALL)                                                                                       \
	K(5, set, events, CALL)                                                                                        \
	K(6, wait, events, CALL)                                                                                       \
	K(7, stream, events, CALL)                                                                                     \
	K(8, graph, events, CALL)                                                                                      \
	K(9, collective, events, CALL)                                                                                 \
	K(10, context, events, CALL)                                                                                   \
	K(11, map, events, CALL)                                                                                       \
	K(12, load, events, CALL)                                                                                      \
	K(13, thread_stack, events, PLAIN)                                                                             \
	K(14, follow, events, PLAIN)                                                                                   \
	K(15, disk, events, COUNTED)                                                                                   \
	K(16, switch, events, COUNTED)                                                                                 \
	K(17, waking, events, COUNTED)                                                                                 \
	K(18, futex, events, COUNTED)                                                                                  \
	K(19, fault, events, COUNTED)                                                                                  \
	K(20, fork, events, COUNTED)                                                                                   \
	K(21, exec, events, COUNTED)                                                                                   \
	K(22, exit, events, COUNTED)                                                                                   \
	K(23, oom, events, COUNTED)                                                                                    \
	K(24, health, events, PLAIN)                                                                                   \
	K(25, cpu, events, PLAIN)                                                                                      \
	K(26, reduction, events, PLAIN)                                                                                \
	K(27, metric, events, COUNTED)                                                                                 \
	K(28, throttled, events, COUNTED)                                                                              \
	K(29, signal, events, COUNTED)                                                                                 \
	K(30, state, events, COUNTED)                                                                                  \
	K(31, in_flight, events, COUNTED)                                                                              \
	K(32, process, process, PLAIN)                                                                                 \
	K(33, thread, process, PLAIN)                                                                                  \
	K(34, namespaces, process, PLAIN)                                                                              \
	K(35, reclaim, events, COUNTED)                                                                                \
	K(37, network, events, COUNTED)                                                                                \
	K(40, module, path, PLAIN)                                                                                     \
	K(41, executable, path, PLAIN)                                                                                 \
	K(42, attach, path, PLAIN)                                                                                     \
	K(43, command_line, arguments, PLAIN)                                                                          \
	K(44, library, path, PLAIN)                                                                                    \
	K(48, fact, host, PLAIN)                                                                                       \
	K(49, gpu, host, PLAIN)                                                                                        \
	K(50, xid, host, PLAIN)                                                                                        \
	K(51, scheduling, host, PLAIN)                                                                                 \
	K(52, disk_device, host, PLAIN)                                                                                \
	K(53, connection, host, PLAIN)                                                                                 \
	K(56, frame, symbol, PLAIN)                                                                                    \
	K(57, kernel, symbol, PLAIN)                                                                                   \
	K(64, cgroup, cgroup, PLAIN)                                                                                   \
	K(65, quota, cgroup, PLAIN)                                                                                    \
	K(66, memory_limit, cgroup, PLAIN)

/*
 * pid: process (thread group) id; tid: thread id, both as the initial pid namespace sees them.
 * probe: number in the header's probe table. ret: the function's return value (CUDA: 0 is success).
 * flags: CALL_NESTED.
 */
#define CALL_FIELDS(F, k)                                                                                              \
	F(k, at, TIME, BOOT_NS)                                                                                        \
	F(k, pid, UINT, ID)                                                                                            \
	F(k, tid, UINT, ID)                                                                                            \
	F(k, cpu, UINT, CPU)                                                                                           \
	F(k, dur, UINT, NS)                                                                                            \
	F(k, probe, UINT, ID)                                                                                          \
	F(k, ret, SINT, NUMBER)                                                                                        \
	F(k, flags, UINT, FLAGS)

#define CALL_NESTED 1 /* made from inside another recorded call of the same thread */

#define FIELDS_launch(F)                                                                                               \
	CALL_FIELDS(F, launch)                                                                                         \
	F(launch, function, UINT, ADDRESS)                                                                             \
	F(launch, stream, UINT, ADDRESS)                                                                               \
	F(launch, grid_x, UINT, NUMBER)                                                                                \
	F(launch, grid_y, UINT, NUMBER)                                                                                \
	F(launch, grid_z, UINT, NUMBER)                                                                                \
	F(launch, block_x, UINT, NUMBER)                                                                               \
	F(launch, block_y, UINT, NUMBER)                                                                               \
	F(launch, block_z, UINT, NUMBER)                                                                               \
	F(launch, shared, UINT, BYTES)                                                                                 \
	F(launch, stack, UINT, ID)

/*
 * function: what the call was given: the host stub of a runtime kernel, a CUfunction or CUkernel, an executable graph.
 * A `kernel` row reports its name.
 */

/* stack: number of a stack reported by `frame` rows, 0: none taken. memory: MEM_* */
#define FIELDS_alloc(F)                                                                                                \
	CALL_FIELDS(F, alloc)                                                                                          \
	F(alloc, bytes, UINT, BYTES)                                                                                   \
	F(alloc, addr, UINT, ADDRESS)                                                                                  \
	F(alloc, stream, UINT, ADDRESS)                                                                                \
	F(alloc, memory, UINT, ENUM)                                                                                   \
	F(alloc, stack, UINT, ID)

#define MEM_DEVICE 1     /* on the GPU */
#define MEM_MANAGED 2    /* migrates between both */
#define MEM_PINNED 3     /* host memory, page-locked */
#define MEM_ARRAY 4      /* on the GPU, opaque layout */
#define MEM_PHYSICAL 5   /* on the GPU, by handle (cuMemCreate): has an address only where it is mapped (`map`) */
#define MEM_REGISTERED 6 /* host memory that was there and is page-locked now: no memory of its own */

#define FIELDS_free(F)                                                                                                 \
	CALL_FIELDS(F, free)                                                                                           \
	F(free, addr, UINT, ADDRESS)                                                                                   \
	F(free, stream, UINT, ADDRESS)                                                                                 \
	F(free, memory, UINT, ENUM)                                                                                    \
	F(free, stack, UINT, ID)

/*
 * dst_device, src_device: of a copy between peers, device number + 1; 0: unknown. count: copies of a batch, `bytes` is
 * then 0 or their sum; 0: a single one.
 * direction: cudaMemcpyKind: 0 host to host, 1 host to device, 2 device to host, 3 device to device, 4 by address
 */
#define FIELDS_copy(F)                                                                                                 \
	CALL_FIELDS(F, copy)                                                                                           \
	F(copy, dst, UINT, ADDRESS)                                                                                    \
	F(copy, src, UINT, ADDRESS)                                                                                    \
	F(copy, bytes, UINT, BYTES)                                                                                    \
	F(copy, direction, UINT, ENUM)                                                                                 \
	F(copy, stream, UINT, ADDRESS)                                                                                 \
	F(copy, dst_device, UINT, NUMBER)                                                                              \
	F(copy, src_device, UINT, NUMBER)                                                                              \
	F(copy, count, UINT, NUMBER)                                                                                   \
	F(copy, stack, UINT, ID)

#define FIELDS_set(F)                                                                                                  \
	CALL_FIELDS(F, set)                                                                                            \
	F(set, addr, UINT, ADDRESS)                                                                                    \
	F(set, bytes, UINT, BYTES)                                                                                     \
	F(set, value, UINT, NUMBER)                                                                                    \
	F(set, stream, UINT, ADDRESS)                                                                                  \
	F(set, stack, UINT, ID)

/* object: the stream or event handle waited for; 0: the whole device */
#define FIELDS_wait(F)                                                                                                 \
	CALL_FIELDS(F, wait)                                                                                           \
	F(wait, object, UINT, ADDRESS)                                                                                 \
	F(wait, stack, UINT, ID)

/*
 * Streams and events: made, destroyed, recorded, queried, made to wait, captured; which of these, the probe's name
 * says. object: the event, or the graph that a capture gave.
 */
#define FIELDS_stream(F)                                                                                               \
	CALL_FIELDS(F, stream)                                                                                         \
	F(stream, stream, UINT, ADDRESS)                                                                               \
	F(stream, object, UINT, ADDRESS)                                                                               \
	F(stream, stack, UINT, ID)

/* Graphs: made, instantiated, uploaded, destroyed. Launching one is a `launch`. exec: the executable graph. */
#define FIELDS_graph(F)                                                                                                \
	CALL_FIELDS(F, graph)                                                                                          \
	F(graph, graph, UINT, ADDRESS)                                                                                 \
	F(graph, exec, UINT, ADDRESS)                                                                                  \
	F(graph, stream, UINT, ADDRESS)                                                                                \
	F(graph, stack, UINT, ID)

/*
 * NCCL. count: elements of type `datatype` (ncclDataType_t) that this rank gives; bytes: their size. op: ncclRedOp_t.
 * peer: root, or rank sent to or received from, + 1; 0: none. rank, nranks: of ncclCommInitRank.
 */
#define FIELDS_collective(F)                                                                                           \
	CALL_FIELDS(F, collective)                                                                                     \
	F(collective, comm, UINT, ADDRESS)                                                                             \
	F(collective, stream, UINT, ADDRESS)                                                                           \
	F(collective, send, UINT, ADDRESS)                                                                             \
	F(collective, receive, UINT, ADDRESS)                                                                          \
	F(collective, count, UINT, NUMBER)                                                                             \
	F(collective, datatype, UINT, ENUM)                                                                            \
	F(collective, bytes, UINT, BYTES)                                                                              \
	F(collective, op, UINT, ENUM)                                                                                  \
	F(collective, peer, UINT, NUMBER)                                                                              \
	F(collective, rank, UINT, NUMBER)                                                                              \
	F(collective, nranks, UINT, NUMBER)                                                                            \
	F(collective, stack, UINT, ID)

/*
 * Contexts: made, retained, destroyed, reset; and a device chosen for what the thread calls then. Destroying or
 * resetting one frees what was allocated in it. device: number + 1; 0: unknown.
 */
#define FIELDS_context(F)                                                                                              \
	CALL_FIELDS(F, context)                                                                                        \
	F(context, context, UINT, ADDRESS)                                                                             \
	F(context, device, UINT, NUMBER)                                                                               \
	F(context, stack, UINT, ID)

/* Address ranges reserved, mapped to physical memory (`handle`, at `offset` in it), unmapped, freed. */
#define FIELDS_map(F)                                                                                                  \
	CALL_FIELDS(F, map)                                                                                            \
	F(map, addr, UINT, ADDRESS)                                                                                    \
	F(map, bytes, UINT, BYTES)                                                                                     \
	F(map, handle, UINT, ADDRESS)                                                                                  \
	F(map, offset, UINT, BYTES)                                                                                    \
	F(map, stack, UINT, ID)

/* Code for the GPU loaded or unloaded, functions looked up. module: CUmodule or CUlibrary; function: what was found. */
#define FIELDS_load(F)                                                                                                 \
	CALL_FIELDS(F, load)                                                                                           \
	F(load, module, UINT, ADDRESS)                                                                                 \
	F(load, function, UINT, ADDRESS)                                                                               \
	F(load, stack, UINT, ID)

/*
 * One thread leaves a CPU, another enters it. Recorded when either is a thread of a tracked process, or when a
 * tracked thread that was preempted on this CPU still waits to run again.
 * prev_state: the kernel's task state bits of the leaving thread; 0: still runnable, that is, preempted.
 * prev_syscall: number + 1 of the system call in which it leaves to sleep (the host's numbers: fact `machine`);
 * 0: none, or not known. prev_flags: SWITCH_*.
 */
#define FIELDS_switch(F)                                                                                               \
	F(switch, at, TIME, BOOT_NS)                                                                                   \
	F(switch, cpu, UINT, CPU)                                                                                      \
	F(switch, prev_tid, UINT, ID)                                                                                  \
	F(switch, prev_state, UINT, FLAGS)                                                                             \
	F(switch, next_tid, UINT, ID)                                                                                  \
	F(switch, prev_syscall, UINT, NUMBER)                                                                          \
	F(switch, prev_flags, UINT, FLAGS)                                                                             \
	F(switch, next_queue, UINT, NUMBER)

#define SWITCH_IO 1                /* waits for a block device, or in io_uring_enter(), for whatever */
#define SYSCALL_IO_URING_ENTER 426 /* on all machines */
#define SWITCH_FAULT 2             /* in a page fault, not in a system call */
#define SWITCH_THROTTLED 4 /* still runnable, but the CPU quota of its control group was used up (CFS bandwidth) */
#define SWITCH_PINNED 8    /* still runnable, and on no other CPU it may run */
#define SWITCH_MOVED 16    /* still runnable: the kernel moves it to another CPU */
#define SWITCH_YIELDED 32  /* still runnable: it gave the CPU up (sched_yield) */
#define SWITCH_FROZEN 64   /* asleep because its control group is frozen */
#define SWITCH_MEMORY 128  /* asleep for memory, as the kernel counts that (pressure stall information) */
/* With SWITCH_IO: its writes are held back, so much is still to get to the disk (dirty throttling). */
#define SWITCH_WRITES 256
#define SWITCH_KNOWN 511 /* all of these */

/*
 * A thread of a tracked process is made runnable; others' wakings are not recorded. waker_tid: the thread that ran on
 * `cpu` then. context: WAKE_*; not TASK: an interrupt did it, that thread only happened to be there.
 */
#define FIELDS_waking(F)                                                                                               \
	F(waking, at, TIME, BOOT_NS)                                                                                   \
	F(waking, cpu, UINT, CPU)                                                                                      \
	F(waking, tid, UINT, ID)                                                                                       \
	F(waking, waker_tid, UINT, ID)                                                                                 \
	F(waking, context, UINT, ENUM)

#define WAKE_TASK 0  /* the waker's own doing */
#define WAKE_IRQ 1   /* from an interrupt (a device, or a timer) while the waker happened to run */
#define WAKE_TIMER 2 /* likewise, and known to be that of the timer until which it slept: its time was up */

/* op: futex(2) command without its flag bits; flags: those bits. ret: result, or -errno. A call at its return.
 * addr2: where waiters are moved to, or what FUTEX_WAKE_OP changes; else 0. */
#define FIELDS_futex(F)                                                                                                \
	F(futex, at, TIME, BOOT_NS)                                                                                    \
	F(futex, pid, UINT, ID)                                                                                        \
	F(futex, tid, UINT, ID)                                                                                        \
	F(futex, cpu, UINT, CPU)                                                                                       \
	F(futex, dur, UINT, NS)                                                                                        \
	F(futex, op, UINT, ENUM)                                                                                       \
	F(futex, flags, UINT, FLAGS)                                                                                   \
	F(futex, addr, UINT, ADDRESS)                                                                                  \
	F(futex, val, UINT, NUMBER)                                                                                    \
	F(futex, ret, SINT, NUMBER)                                                                                    \
	F(futex, addr2, UINT, ADDRESS)

/*
 * A page fault in which a tracked thread slept, reported when it runs again; more than once if it slept more than once.
 * dur: since the fault, or since the row before. addr: what it touched.
 */
#define FIELDS_fault(F)                                                                                                \
	F(fault, at, TIME, BOOT_NS)                                                                                    \
	F(fault, pid, UINT, ID)                                                                                        \
	F(fault, tid, UINT, ID)                                                                                        \
	F(fault, cpu, UINT, CPU)                                                                                       \
	F(fault, dur, UINT, NS)                                                                                        \
	F(fault, addr, UINT, ADDRESS)

/*
 * A runnable thread that its control group's CPU quota kept from running is about to run again. wait: for how much of
 * the time that it was runnable until now the quota was used up, by the kernel's own account (since Linux 6.6; before,
 * there are no such rows). The rest of that time it waited for a CPU as any thread does.
 */
#define FIELDS_throttled(F)                                                                                            \
	F(throttled, at, TIME, BOOT_NS)                                                                                \
	F(throttled, pid, UINT, ID)                                                                                    \
	F(throttled, tid, UINT, ID)                                                                                    \
	F(throttled, cpu, UINT, CPU)                                                                                   \
	F(throttled, wait, UINT, NS)

/*
 * A thread had to free memory by itself, in the kernel, before it could go on, for `dur` until now: it may have had
 * a CPU meanwhile, waited for one, or slept. cause: RECLAIM_*. pages: that it got free; 0 of RECLAIM_COMPACT.
 */
#define FIELDS_reclaim(F)                                                                                              \
	F(reclaim, at, TIME, BOOT_NS)                                                                                  \
	F(reclaim, pid, UINT, ID)                                                                                      \
	F(reclaim, tid, UINT, ID)                                                                                      \
	F(reclaim, cpu, UINT, CPU)                                                                                     \
	F(reclaim, dur, UINT, NS)                                                                                      \
	F(reclaim, cause, UINT, ENUM)                                                                                  \
	F(reclaim, pages, UINT, NUMBER)

#define RECLAIM_HOST 1    /* the host has too little (direct reclaim) */
#define RECLAIM_GROUP 2   /* its control group, or one above, is at a limit (memory.max, memory.high) */
#define RECLAIM_COMPACT 3 /* there is enough, but not in one piece (compaction) */

/*
 * Something came through a TCP connection, and that ended a thread's sleep for it: data, room for more, its begin or
 * its end. dur: how long it had slept; 0: not known. connection: the latest `connection` row with this number, up to
 * this time, names it; 0: none does. role: CONNECTION_*. unread: bytes that had come and were not read then.
 * retransmitted: segments that had to be sent more than once from here, disordered: segments that came before one that
 * had been sent earlier, both since the connection began. rtt: how long an answer takes at least, smoothed (TCP's
 * round-trip time); 0: not known. sender_tid: the thread of this host that sent it just then; 0: none was seen to.
 */
#define FIELDS_network(F)                                                                                              \
	F(network, at, TIME, BOOT_NS)                                                                                  \
	F(network, pid, UINT, ID)                                                                                      \
	F(network, tid, UINT, ID)                                                                                      \
	F(network, cpu, UINT, CPU)                                                                                     \
	F(network, dur, UINT, NS)                                                                                      \
	F(network, connection, UINT, ID)                                                                               \
	F(network, role, UINT, ENUM)                                                                                   \
	F(network, unread, UINT, BYTES)                                                                                \
	F(network, retransmitted, UINT, NUMBER)                                                                        \
	F(network, disordered, UINT, NUMBER)                                                                           \
	F(network, rtt, UINT, NS)                                                                                      \
	F(network, sender_tid, UINT, ID)

#define CONNECTION_UNKNOWN 0 /* who began it is not known */
#define CONNECTION_MADE                                                                                                \
	1 /* begun here: it was seen to be, or by its ports: the local one was given out, the other not */
#define CONNECTION_ACCEPTED 2 /* begun by the peer: it was seen to be, or somebody listens at its local port */

/*
 * A thread of a process that is not recorded ended a sleep of a recorded thread, waiter_tid, that had lasted for so
 * long. From now on its own switches have rows, and who wakes it, as those of a recorded thread do. Nothing else of it
 * has.
 */
#define FIELDS_follow(F)                                                                                               \
	F(follow, at, TIME, BOOT_NS)                                                                                   \
	F(follow, pid, UINT, ID)                                                                                       \
	F(follow, tid, UINT, ID)                                                                                       \
	F(follow, cpu, UINT, CPU)                                                                                      \
	F(follow, waiter_tid, UINT, ID)                                                                                \
	F(follow, slept, UINT, NS)

/*
 * A request to a disk (any block device) is done, and that ended a thread's sleep for it, whoever made the request.
 * cpu: where that was seen. device: the kernel's number (major << 20 | minor), of the lowest one where several are
 * stacked; 0: not known. A `disk_device` row has its name. dur: since the request was made; service: of that since it
 * was given to the device, in whose queue it may have waited; 0: not known. error: the kernel's (blk_status_t,
 * before 5.16 an errno), 0: none.
 */
#define FIELDS_disk(F)                                                                                                 \
	F(disk, at, TIME, BOOT_NS)                                                                                     \
	F(disk, pid, UINT, ID)                                                                                         \
	F(disk, tid, UINT, ID)                                                                                         \
	F(disk, cpu, UINT, CPU)                                                                                        \
	F(disk, dur, UINT, NS)                                                                                         \
	F(disk, service, UINT, NS)                                                                                     \
	F(disk, operation, UINT, ENUM)                                                                                 \
	F(disk, bytes, UINT, BYTES)                                                                                    \
	F(disk, error, UINT, NUMBER)                                                                                   \
	F(disk, device, UINT, ID)

/* The kernel's numbers (REQ_OP_*), but for the last one: a read of memory that had been swapped out. */
#define DISK_READ 0
#define DISK_WRITE 1
#define DISK_FLUSH 2
#define DISK_DISCARD 3
#define DISK_SWAP_IN 254

/*
 * A signal that stops, continues or ends a recorded process was sent to it: SIGKILL, SIGSTOP, SIGCONT, and others to
 * which it leaves the default; those of them that are ignored or pending already are no rows, but for SIGCONT. tid: the
 * thread that it was sent to; 0: the process. signal: its number. code: si_code of siginfo_t; 0 (kill), -1 (sigqueue)
 * and -6 (tgkill): sender_tid sent it; others: the kernel did, while sender_tid ran.
 */
#define FIELDS_signal(F)                                                                                               \
	F(signal, at, TIME, BOOT_NS)                                                                                   \
	F(signal, pid, UINT, ID)                                                                                       \
	F(signal, tid, UINT, ID)                                                                                       \
	F(signal, cpu, UINT, CPU)                                                                                      \
	F(signal, signal, UINT, NUMBER)                                                                                \
	F(signal, code, SINT, NUMBER)                                                                                  \
	F(signal, sender_tid, UINT, ID)

#define SIGNAL_BY_KILL 0
#define SIGNAL_BY_QUEUE (-1)
#define SIGNAL_BY_TKILL (-6)
#define SIGNAL_BY_KERNEL 128

#define FIELDS_fork(F)                                                                                                 \
	F(fork, at, TIME, BOOT_NS)                                                                                     \
	F(fork, pid, UINT, ID)                                                                                         \
	F(fork, tid, UINT, ID)                                                                                         \
	F(fork, child_pid, UINT, ID)                                                                                   \
	F(fork, child_tid, UINT, ID)

#define FIELDS_exec(F)                                                                                                 \
	F(exec, at, TIME, BOOT_NS)                                                                                     \
	F(exec, pid, UINT, ID)                                                                                         \
	F(exec, tid, UINT, ID)

/* A thread ends. last: 1 when it was the last of its process. code: wait(2) status, meant for the process when last. */
#define FIELDS_exit(F)                                                                                                 \
	F(exit, at, TIME, BOOT_NS)                                                                                     \
	F(exit, pid, UINT, ID)                                                                                         \
	F(exit, tid, UINT, ID)                                                                                         \
	F(exit, code, UINT, NUMBER)                                                                                    \
	F(exit, last, UINT, NUMBER)

/*
 * What a thread of a recorded process is in at a moment. state: THREAD_*. syscall: number + 1 of the system call that
 * it waits in, 0: none; argument: the first one of that.
 */
#define FIELDS_state(F)                                                                                                \
	F(state, at, TIME, BOOT_NS)                                                                                    \
	F(state, pid, UINT, ID)                                                                                        \
	F(state, tid, UINT, ID)                                                                                        \
	F(state, moment, UINT, ENUM)                                                                                   \
	F(state, state, UINT, ENUM)                                                                                    \
	F(state, syscall, UINT, NUMBER)                                                                                \
	F(state, argument, UINT, ADDRESS)

#define MOMENT_BEGIN 1 /* the capture's: of the recording, or where it continues another */
#define MOMENT_END 2   /* of the recording */

#define THREAD_RUNNING 0 /* or ready to run */
#define THREAD_SLEEPING 1
#define THREAD_UNINTERRUPTIBLE 2 /* asleep, and no signal wakes it */
#define THREAD_STOPPED 3         /* by a signal */
#define THREAD_TRACED 4          /* by a debugger */
#define THREAD_DEAD 5            /* it ends, or waits for its parent to see that */
#define THREAD_OTHER 6

/*
 * The user stack of such a thread, read at `at`. Depth 0 is where it stands; flags: STACK_*. Of a thread that was seen
 * to run it is from when it left user mode last, and of one that has run since, it is what its memory held then: there
 * are only those of both that fit together as a whole.
 */
#define FIELDS_thread_stack(F)                                                                                         \
	F(thread_stack, at, TIME, BOOT_NS)                                                                             \
	F(thread_stack, pid, UINT, ID)                                                                                 \
	F(thread_stack, tid, UINT, ID)                                                                                 \
	F(thread_stack, moment, UINT, ENUM)                                                                            \
	F(thread_stack, stack, UINT, ID)                                                                               \
	F(thread_stack, flags, UINT, FLAGS)

#define STACK_WHOLE 1 /* it goes on to the thread's first function */
#define STACK_STILL 2 /* the thread slept at the moment, and until all of it was read */

/*
 * A call that a recorded thread has entered and not left at a moment. dur: so far. probe: which function, or futex.
 * argument: its first one; of a futex call the address. flags: CALL_NESTED, or of a futex call FLIGHT_*.
 */
#define FIELDS_in_flight(F)                                                                                            \
	F(in_flight, at, TIME, BOOT_NS)                                                                                \
	F(in_flight, pid, UINT, ID)                                                                                    \
	F(in_flight, tid, UINT, ID)                                                                                    \
	F(in_flight, moment, UINT, ENUM)                                                                               \
	F(in_flight, dur, UINT, NS)                                                                                    \
	F(in_flight, probe, UINT, ID)                                                                                  \
	F(in_flight, argument, UINT, ADDRESS)                                                                          \
	F(in_flight, flags, UINT, FLAGS)

#define FLIGHT_PRIVATE 2 /* only a thread of its process can end that wait (FUTEX_PRIVATE_FLAG) */
#define FLIGHT_UNTIMED 4 /* and no time limit does */

/* The kernel chose a process to kill because memory ran out, any process. rss: of it, 0: unknown. */
#define FIELDS_oom(F)                                                                                                  \
	F(oom, at, TIME, BOOT_NS)                                                                                      \
	F(oom, pid, UINT, ID)                                                                                          \
	F(oom, rss, UINT, BYTES)

/*
 * One look at one GPU through NVML. known: bit n set when the field n lines below it was reported, else that field is
 * 0. throttle: NVML's clocks-event reasons. ecc_*: since the driver was loaded. busy: of the time, % in the last
 * period.
 */
#define FIELDS_health(F)                                                                                               \
	F(health, at, TIME, BOOT_NS)                                                                                   \
	F(health, gpu, UINT, ID)                                                                                       \
	F(health, known, UINT, FLAGS)                                                                                  \
	F(health, busy_percent, UINT, NUMBER)                                                                          \
	F(health, memory_busy_percent, UINT, NUMBER)                                                                   \
	F(health, memory_used, UINT, BYTES)                                                                            \
	F(health, power_mw, UINT, NUMBER)                                                                              \
	F(health, temperature_c, UINT, NUMBER)                                                                         \
	F(health, sm_mhz, UINT, NUMBER)                                                                                \
	F(health, memory_mhz, UINT, NUMBER)                                                                            \
	F(health, throttle, UINT, FLAGS)                                                                               \
	F(health, ecc_corrected, UINT, NUMBER)                                                                         \
	F(health, ecc_uncorrected, UINT, NUMBER)                                                                       \
	F(health, sm_mhz_max, UINT, NUMBER)

/*
 * Of one CPU, when it has changed (of the interrupts: by 20 ms or more). steal: taken by the hypervisor since boot.
 * khz: frequency, 0: unknown. irq, softirq: in hard and in soft interrupts since boot.
 */
#define FIELDS_cpu(F)                                                                                                  \
	F(cpu, at, TIME, BOOT_NS)                                                                                      \
	F(cpu, cpu, UINT, CPU)                                                                                         \
	F(cpu, steal, UINT, NS)                                                                                        \
	F(cpu, khz, UINT, NUMBER)                                                                                      \
	F(cpu, irq, UINT, NS)                                                                                          \
	F(cpu, softirq, UINT, NS)

/*
 * From now on some events are left out on purpose, and counted by probe as `counter` (sampled_out, over_rate).
 * of_kind: which; 0: all. keep: one in so many is recorded; rate: at most so many a second. 0: no such limit (any
 * more).
 */
#define FIELDS_reduction(F)                                                                                            \
	F(reduction, at, TIME, BOOT_NS)                                                                                \
	F(reduction, of_kind, UINT, ID)                                                                                \
	F(reduction, counter, UINT, ID)                                                                                \
	F(reduction, keep, UINT, NUMBER)                                                                               \
	F(reduction, rate, UINT, NUMBER)

/*
 * One look at one CPU, about once in the period of fact `metrics`. busy: time in which it did not idle, switches: from
 * one thread to another; both since shortly before recording began: their growth counts. Where a kernel did not report
 * a switch to the idle task, busy is what is proven, and ends with the look before. waiting: threads that are ready to
 * run there and wait. forced: 1 when no switch had come for it to ride along with, so that a timer took it.
 */
#define FIELDS_metric(F)                                                                                               \
	F(metric, at, TIME, BOOT_NS)                                                                                   \
	F(metric, cpu, UINT, CPU)                                                                                      \
	F(metric, busy, UINT, NS)                                                                                      \
	F(metric, switches, UINT, NUMBER)                                                                              \
	F(metric, waiting, UINT, NUMBER)                                                                               \
	F(metric, forced, UINT, NUMBER)

/*
 * A process instance is (pid, start): PIDs are reused. start: boot clock, of ns or of the ticks of 10 ms of /proc; 0:
 * unknown. A later row for the same one renames it.
 */
#define FIELDS_process(F)                                                                                              \
	F(process, at, TIME, BOOT_NS)                                                                                  \
	F(process, pid, UINT, ID)                                                                                      \
	F(process, start, UINT, BOOT_NS)                                                                               \
	F(process, ppid, UINT, ID)                                                                                     \
	F(process, uid, UINT, ID)                                                                                      \
	F(process, tracked, UINT, NUMBER)                                                                              \
	F(process, name, TEXT, NONE)

/* Stands before (in time) the first event that names the thread. A later row renames it. */
#define FIELDS_thread(F)                                                                                               \
	F(thread, at, TIME, BOOT_NS)                                                                                   \
	F(thread, tid, UINT, ID)                                                                                       \
	F(thread, pid, UINT, ID)                                                                                       \
	F(thread, start, UINT, BOOT_NS)                                                                                \
	F(thread, name, TEXT, NONE)

/* The kernel's inode numbers of a process's namespaces. pid_inside: its process id there. */
#define FIELDS_namespaces(F)                                                                                           \
	F(namespaces, at, TIME, BOOT_NS)                                                                               \
	F(namespaces, pid, UINT, ID)                                                                                   \
	F(namespaces, start, UINT, BOOT_NS)                                                                            \
	F(namespaces, mount, UINT, NUMBER)                                                                             \
	F(namespaces, pids, UINT, NUMBER)                                                                              \
	F(namespaces, net, UINT, NUMBER)                                                                               \
	F(namespaces, user, UINT, NUMBER)                                                                              \
	F(namespaces, pid_inside, UINT, ID)

/* A file mapped as code: numbered from 1 by the recorder. build_id: lower-case hex, may be empty.
 * deleted: 1 when no path led to it any more. mount: the mount namespace in which `path` is meant; 0: unknown. */
#define FIELDS_module(F)                                                                                               \
	F(module, at, TIME, BOOT_NS)                                                                                   \
	F(module, id, UINT, ID)                                                                                        \
	F(module, device, UINT, NUMBER)                                                                                \
	F(module, inode, UINT, NUMBER)                                                                                 \
	F(module, build_id, TEXT, NONE)                                                                                \
	F(module, path, TEXT, NONE)                                                                                    \
	F(module, deleted, UINT, NUMBER)                                                                               \
	F(module, mount, UINT, NUMBER)

#define FIELDS_executable(F)                                                                                           \
	F(executable, at, TIME, BOOT_NS)                                                                               \
	F(executable, pid, UINT, ID)                                                                                   \
	F(executable, start, UINT, BOOT_NS)                                                                            \
	F(executable, path, TEXT, NONE)                                                                                \
	F(executable, module, UINT, ID)

/*
 * The arguments, with a space between them. Cut at TEXT_MAX bytes: then `bytes` is greater than the text. A class of
 * their own, for they may hold secrets; before format 1.1 they were of class `path`.
 */
#define FIELDS_command_line(F)                                                                                         \
	F(command_line, at, TIME, BOOT_NS)                                                                             \
	F(command_line, pid, UINT, ID)                                                                                 \
	F(command_line, start, UINT, BOOT_NS)                                                                          \
	F(command_line, bytes, UINT, BYTES)                                                                            \
	F(command_line, text, TEXT, NONE)

/*
 * What happened to a file that was inspected for functions to probe. role: LIBRARY_*. functions: of those that we know
 * it has so many; probed: probes put on. reason: why not all, in words; empty when all.
 */
#define FIELDS_library(F)                                                                                              \
	F(library, at, TIME, BOOT_NS)                                                                                  \
	F(library, module, UINT, ID)                                                                                   \
	F(library, pid, UINT, ID)                                                                                      \
	F(library, role, UINT, ENUM)                                                                                   \
	F(library, functions, UINT, NUMBER)                                                                            \
	F(library, probed, UINT, NUMBER)                                                                               \
	F(library, reason, TEXT, NONE)

#define LIBRARY_RUNTIME 1 /* libcudart */
#define LIBRARY_DRIVER 2  /* libcuda */
#define LIBRARY_NCCL 3
#define LIBRARY_STATIC_RUNTIME 4 /* an executable or library with the runtime linked in */

/* A probe was put on a function of a module, or (error is an errno, not 0) could not be. offset: in the file. */
#define FIELDS_attach(F)                                                                                               \
	F(attach, at, TIME, BOOT_NS)                                                                                   \
	F(attach, module, UINT, ID)                                                                                    \
	F(attach, probe, UINT, ID)                                                                                     \
	F(attach, offset, UINT, BYTES)                                                                                 \
	F(attach, error, UINT, NUMBER)

#define FIELDS_fact(F)                                                                                                 \
	F(fact, at, TIME, BOOT_NS)                                                                                     \
	F(fact, name, TEXT, NONE)                                                                                      \
	F(fact, value, TEXT, NONE)

/* A GPU of the host. index: as `health` rows count them. */
#define FIELDS_gpu(F)                                                                                                  \
	F(gpu, at, TIME, BOOT_NS)                                                                                      \
	F(gpu, index, UINT, ID)                                                                                        \
	F(gpu, memory, UINT, BYTES)                                                                                    \
	F(gpu, name, TEXT, NONE)                                                                                       \
	F(gpu, uuid, TEXT, NONE)                                                                                       \
	F(gpu, pci, TEXT, NONE)

/*
 * An error that the NVIDIA driver wrote to the kernel's log. text: the line; from format 1.1 on without the name of the
 * process, which is left to rows of class `process`.
 */
#define FIELDS_xid(F)                                                                                                  \
	F(xid, at, TIME, BOOT_NS)                                                                                      \
	F(xid, code, UINT, NUMBER)                                                                                     \
	F(xid, pid, UINT, ID)                                                                                          \
	F(xid, pci, TEXT, NONE)                                                                                        \
	F(xid, text, TEXT, NONE)

/* A device that `disk` rows name by this number: as the kernel calls it. */
#define FIELDS_disk_device(F)                                                                                          \
	F(disk_device, at, TIME, BOOT_NS)                                                                              \
	F(disk_device, number, UINT, ID)                                                                               \
	F(disk_device, name, TEXT, NONE)

/*
 * A TCP connection that `network` rows name by this number, until another row has it. net: its network namespace;
 * 0: not known. local, peer: address and port, as "10.0.0.1:80" and "[fe80::1]:80".
 */
#define FIELDS_connection(F)                                                                                           \
	F(connection, at, TIME, BOOT_NS)                                                                               \
	F(connection, number, UINT, ID)                                                                                \
	F(connection, net, UINT, ID)                                                                                   \
	F(connection, local, TEXT, NONE)                                                                               \
	F(connection, peer, TEXT, NONE)

/*
 * How the kernel schedules a thread: when it is first named, and again after that was changed. policy: POLICY_*; nice:
 * from -20, the most time, to 19; priority: of fifo and round_robin, 1 to 99, the most urgent; else 0. cpus: where it
 * may run, by its affinity and the cpuset of its control group, as "0-3,8"; empty: not known.
 */
#define FIELDS_scheduling(F)                                                                                           \
	F(scheduling, at, TIME, BOOT_NS)                                                                               \
	F(scheduling, pid, UINT, ID)                                                                                   \
	F(scheduling, tid, UINT, ID)                                                                                   \
	F(scheduling, policy, UINT, ENUM)                                                                              \
	F(scheduling, nice, SINT, NUMBER)                                                                              \
	F(scheduling, priority, UINT, NUMBER)                                                                          \
	F(scheduling, cpus, TEXT, NONE)

/* The kernel's numbers. */
#define POLICY_NORMAL 0
#define POLICY_FIFO 1 /* real-time, as the next: before all that have neither, until it sleeps */
#define POLICY_ROUND_ROBIN 2
#define POLICY_BATCH 3
#define POLICY_IDLE 5     /* only when nobody else wants the CPU, or nearly so */
#define POLICY_DEADLINE 6 /* real-time, before the others */
#define POLICY_EXT 7      /* by a scheduler that was loaded as a BPF program */

/* One frame of a stack; of a call, depth 0 is the caller of the probed function. module 0: not in a file. offset: in
 * the file. */
#define FIELDS_frame(F)                                                                                                \
	F(frame, at, TIME, BOOT_NS)                                                                                    \
	F(frame, stack, UINT, ID)                                                                                      \
	F(frame, depth, UINT, NUMBER)                                                                                  \
	F(frame, address, UINT, ADDRESS)                                                                               \
	F(frame, module, UINT, ID)                                                                                     \
	F(frame, offset, UINT, BYTES)                                                                                  \
	F(frame, symbol, TEXT, NONE)

/*
 * The name, as its compiler mangled it, of what `launch` rows of that process call `function`. Stands before (in time)
 * the first of them, where it could. module: the file that holds a host stub; 0: a handle of the driver.
 */
#define FIELDS_kernel(F)                                                                                               \
	F(kernel, at, TIME, BOOT_NS)                                                                                   \
	F(kernel, pid, UINT, ID)                                                                                       \
	F(kernel, start, UINT, BOOT_NS)                                                                                \
	F(kernel, function, UINT, ADDRESS)                                                                             \
	F(kernel, module, UINT, ID)                                                                                    \
	F(kernel, offset, UINT, BYTES)                                                                                 \
	F(kernel, name, TEXT, NONE)

/*
 * The control group of a process (version 2; where that is the root, the one of version 1 that says more). container:
 * its id where the path has one. cpu: the group that shares out CPU time, as `quota` rows name it; memory_group: the
 * one that limits memory, as `memory_limit` rows name it; empty: not known.
 */
#define FIELDS_cgroup(F)                                                                                               \
	F(cgroup, at, TIME, BOOT_NS)                                                                                   \
	F(cgroup, pid, UINT, ID)                                                                                       \
	F(cgroup, start, UINT, BOOT_NS)                                                                                \
	F(cgroup, path, TEXT, NONE)                                                                                    \
	F(cgroup, container, TEXT, NONE)                                                                               \
	F(cgroup, cpu, TEXT, NONE)                                                                                     \
	F(cgroup, memory_group, TEXT, NONE)

/*
 * A control group with a CPU quota that a recorded process is in, or a group below it: when it is first seen, once a
 * second where it has changed, and when recording ends. In each `period` its tasks get `quota` of CPU time (0: no limit
 * any more). The rest is the group's cpu.stat, since the group was made: periods that passed, those in which it was
 * throttled, and for how long, which is the sum over all CPUs.
 */
#define FIELDS_quota(F)                                                                                                \
	F(quota, at, TIME, BOOT_NS)                                                                                    \
	F(quota, quota, UINT, NS)                                                                                      \
	F(quota, period, UINT, NS)                                                                                     \
	F(quota, periods, UINT, NUMBER)                                                                                \
	F(quota, throttled_periods, UINT, NUMBER)                                                                      \
	F(quota, throttled, UINT, NS)                                                                                  \
	F(quota, path, TEXT, NONE)

/*
 * A control group with a limit of memory that a recorded process is in, or a group below it; or the host, as "/". When
 * it is first seen, once a second where it has come up against the limit or that was changed, and when recording ends.
 * max: more it cannot have (memory.max; the host's memory), 0: no limit; high: who takes more is made to free some
 * (memory.high), 0: none. used: what it and the groups below it have: anon, memory of processes; file, files that were
 * read or written (page cache), of which shmem is shared memory and files that are nowhere else (tmpfs); the kernel's
 * own is the rest. swap: what is swapped out. times_high, times_max: how often it came up against these, itself and
 * not a group below it, since it was made (of the host: how often a thread had to free memory for there was none,
 * allocstall); kills: how many of its processes were killed for it. holder: where one of the first two
 * grew, the process in it that has most memory, which a `thread` row names, and how much (holder_bytes); 0: not known.
 */
#define FIELDS_memory_limit(F)                                                                                         \
	F(memory_limit, at, TIME, BOOT_NS)                                                                             \
	F(memory_limit, max, UINT, BYTES)                                                                              \
	F(memory_limit, high, UINT, BYTES)                                                                             \
	F(memory_limit, used, UINT, BYTES)                                                                             \
	F(memory_limit, anon, UINT, BYTES)                                                                             \
	F(memory_limit, file, UINT, BYTES)                                                                             \
	F(memory_limit, shmem, UINT, BYTES)                                                                            \
	F(memory_limit, swap, UINT, BYTES)                                                                             \
	F(memory_limit, times_high, UINT, NUMBER)                                                                      \
	F(memory_limit, times_max, UINT, NUMBER)                                                                       \
	F(memory_limit, kills, UINT, NUMBER)                                                                           \
	F(memory_limit, holder, UINT, ID)                                                                              \
	F(memory_limit, holder_bytes, UINT, BYTES)                                                                     \
	F(memory_limit, path, TEXT, NONE)

/*
 * Counters, per probe, cumulative, in every seal. fired = recorded + every LOST row, exactly, in END.
 * NOTED rows count what an event lacks; the event itself was recorded. The words are what tools say of a cause.
 */
#define COUNTERS(C)                                                                                                    \
	C(0, fired, FIRED, "fired")                                                                                    \
	C(1, recorded, RECORDED, "recorded")                                                                           \
	C(2, ring_full, LOST, "no room in the ring")                                                                   \
	C(3, no_state, LOST, "the kernel gave no memory for the thread's state")                                       \
	C(4, too_deep, LOST, "more nested calls than are followed")                                                    \
	C(5, no_entry, LOST, "in flight when recording began, or when their process was forked")                       \
	C(6, thread_exit, LOST, "the thread ended inside the call")                                                    \
	C(7, in_flight, LOST, "still in flight when recording ended")                                                  \
	C(8, no_return, LOST, "left by a jump or an exception")                                                        \
	C(9, not_staged, LOST, "the recorder had no memory for it")                                                    \
	C(10, sampled_out, LOST, "left out on purpose (--sample)")                                                     \
	C(11, over_rate, LOST, "left out on purpose (--max-rate)")                                                     \
	C(12, not_attached, LOST, "a library was mapped, and had no probes, or not all, for a while")                  \
	C(13, not_run, LOST, "the kernel skipped a run of the probe, in any thread")                                   \
	C(64, unreadable, NOTED, "an argument, or what it points to, could not be read")                               \
	C(65, no_stack, NOTED, "no user stack could be taken, or not all of it")

/* Why recording stopped: in END. */
#define REASONS(R)                                                                                                     \
	R(1, interrupted, "interrupted (Ctrl-C)")                                                                      \
	R(2, terminated, "terminated (SIGTERM)")                                                                       \
	R(3, duration, "the asked duration was over")                                                                  \
	R(4, command, "the command ended")                                                                             \
	R(5, processes, "the last recorded process ended")                                                             \
	R(6, rotated, "another capture continues it")                                                                  \
	R(7, size, "the asked size was reached")                                                                       \
	R(8, output, "the output was removed or renamed")

#endif
