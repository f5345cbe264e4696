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
	C(6, cgroup)

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
	K(16, switch, events, COUNTED)                                                                                 \
	K(17, waking, events, COUNTED)                                                                                 \
	K(18, futex, events, COUNTED)                                                                                  \
	K(20, fork, events, COUNTED)                                                                                   \
	K(21, exec, events, COUNTED)                                                                                   \
	K(22, exit, events, COUNTED)                                                                                   \
	K(32, process, process, PLAIN)                                                                                 \
	K(33, thread, process, PLAIN)                                                                                  \
	K(40, module, path, PLAIN)                                                                                     \
	K(41, executable, path, PLAIN)                                                                                 \
	K(42, attach, path, PLAIN)                                                                                     \
	K(48, fact, host, PLAIN)                                                                                       \
	K(56, frame, symbol, PLAIN)

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
	F(launch, shared, UINT, BYTES)

/* stack: number of a stack told by `frame` rows, 0: none taken. memory: MEM_* */
#define FIELDS_alloc(F)                                                                                                \
	CALL_FIELDS(F, alloc)                                                                                          \
	F(alloc, bytes, UINT, BYTES)                                                                                   \
	F(alloc, addr, UINT, ADDRESS)                                                                                  \
	F(alloc, stream, UINT, ADDRESS)                                                                                \
	F(alloc, memory, UINT, ENUM)                                                                                   \
	F(alloc, stack, UINT, ID)

#define MEM_DEVICE 1  /* on the GPU */
#define MEM_MANAGED 2 /* migrates between both */
#define MEM_PINNED 3  /* host memory, page-locked */
#define MEM_ARRAY 4   /* on the GPU, opaque layout */

#define FIELDS_free(F)                                                                                                 \
	CALL_FIELDS(F, free)                                                                                           \
	F(free, addr, UINT, ADDRESS)                                                                                   \
	F(free, stream, UINT, ADDRESS)                                                                                 \
	F(free, memory, UINT, ENUM)

/* direction: cudaMemcpyKind: 0 host to host, 1 host to device, 2 device to host, 3 device to device, 4 by address */
#define FIELDS_copy(F)                                                                                                 \
	CALL_FIELDS(F, copy)                                                                                           \
	F(copy, dst, UINT, ADDRESS)                                                                                    \
	F(copy, src, UINT, ADDRESS)                                                                                    \
	F(copy, bytes, UINT, BYTES)                                                                                    \
	F(copy, direction, UINT, ENUM)                                                                                 \
	F(copy, stream, UINT, ADDRESS)

#define FIELDS_set(F)                                                                                                  \
	CALL_FIELDS(F, set)                                                                                            \
	F(set, addr, UINT, ADDRESS)                                                                                    \
	F(set, bytes, UINT, BYTES)                                                                                     \
	F(set, value, UINT, NUMBER)                                                                                    \
	F(set, stream, UINT, ADDRESS)

/* object: the stream or event handle waited for; 0: the whole device */
#define FIELDS_wait(F)                                                                                                 \
	CALL_FIELDS(F, wait)                                                                                           \
	F(wait, object, UINT, ADDRESS)

/*
 * One thread leaves a CPU, another enters it. Recorded when either is a thread of a tracked process, or when a
 * tracked thread that was preempted on this CPU still waits to run again.
 * prev_state: the kernel's task state bits of the leaving thread; 0: still runnable, that is, preempted.
 */
#define FIELDS_switch(F)                                                                                               \
	F(switch, at, TIME, BOOT_NS)                                                                                   \
	F(switch, cpu, UINT, CPU)                                                                                      \
	F(switch, prev_tid, UINT, ID)                                                                                  \
	F(switch, prev_state, UINT, FLAGS)                                                                             \
	F(switch, next_tid, UINT, ID)

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

#define WAKE_TASK 0 /* the waker's own doing */
#define WAKE_IRQ 1  /* from an interrupt (a timer, a device) while the waker happened to run */

/* op: futex(2) command without its flag bits; flags: those bits. ret: result, or -errno. A call at its return. */
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
	F(futex, ret, SINT, NUMBER)

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

/* A process instance is (pid, start): pids come round. start: boot clock. A later row for the same one renames it. */
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

/* A file mapped as code: numbered from 1 by the recorder. build_id: lower-case hex, may be empty. */
#define FIELDS_module(F)                                                                                               \
	F(module, at, TIME, BOOT_NS)                                                                                   \
	F(module, id, UINT, ID)                                                                                        \
	F(module, device, UINT, NUMBER)                                                                                \
	F(module, inode, UINT, NUMBER)                                                                                 \
	F(module, build_id, TEXT, NONE)                                                                                \
	F(module, path, TEXT, NONE)

#define FIELDS_executable(F)                                                                                           \
	F(executable, at, TIME, BOOT_NS)                                                                               \
	F(executable, pid, UINT, ID)                                                                                   \
	F(executable, start, UINT, BOOT_NS)                                                                            \
	F(executable, path, TEXT, NONE)

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

/* One frame of a stack, depth 0 is the caller of the probed function. module 0: not in a file. offset: in the file. */
#define FIELDS_frame(F)                                                                                                \
	F(frame, at, TIME, BOOT_NS)                                                                                    \
	F(frame, stack, UINT, ID)                                                                                      \
	F(frame, depth, UINT, NUMBER)                                                                                  \
	F(frame, address, UINT, ADDRESS)                                                                               \
	F(frame, module, UINT, ID)                                                                                     \
	F(frame, offset, UINT, BYTES)                                                                                  \
	F(frame, symbol, TEXT, NONE)

/*
 * Counters, per probe, cumulative, in every seal. fired = recorded + every LOST row, exactly, in END.
 * NOTED rows count what an event lacks; the event itself was recorded.
 */
#define COUNTERS(C)                                                                                                    \
	C(0, fired, FIRED)                                                                                             \
	C(1, recorded, RECORDED)                                                                                       \
	C(2, ring_full, LOST)    /* no room in the ring */                                                             \
	C(3, no_state, LOST)     /* no per-thread state: the kernel gave no memory */                                  \
	C(4, too_deep, LOST)     /* more nested calls than are followed */                                             \
	C(5, no_entry, LOST)     /* return seen, entry not: in flight when recording began */                          \
	C(6, thread_exit, LOST)  /* the thread ended inside the call */                                                \
	C(7, in_flight, LOST)    /* still inside the call when recording ended */                                      \
	C(8, no_return, LOST)    /* entry seen, return not: left by longjmp or exception */                            \
	C(9, not_staged, LOST)   /* the recorder had no memory for it */                                               \
	C(64, unreadable, NOTED) /* an argument behind a pointer could not be read */                                  \
	C(65, no_stack, NOTED)   /* no user stack could be taken */

/* Why recording stopped: in END. */
#define REASONS(R)                                                                                                     \
	R(1, interrupted, "interrupted (Ctrl-C)")                                                                      \
	R(2, terminated, "terminated (SIGTERM)")                                                                       \
	R(3, duration, "the asked duration was over")                                                                  \
	R(4, command, "the command ended")                                                                             \
	R(5, processes, "the last recorded process ended")

#endif
