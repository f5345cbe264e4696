/* SPDX-License-Identifier: Apache-2.0 */
/* The tables, indexes and views of the SQL view, as SQL. docs/SCHEMA.md reports their meaning. */
#ifndef GPUREC_REPLAY_SQL_SQLSCHEMA_H
#define GPUREC_REPLAY_SQL_SQLSCHEMA_H

/*
 * Kinds of events with a table of their own: number and name of the kind, the table, and its columns for the process,
 * the thread and the duration in the view `events`.
 */
#define EVENT_TABLES(T)                                                                                                \
	T(13, thread_stack, thread_stacks, pid, tid, NULL)                                                             \
	T(14, follow, follows, pid, tid, NULL)                                                                         \
	T(15, disk, disk_requests, pid, tid, dur_ns)                                                                   \
	T(16, switch, switches, NULL, prev_tid, NULL)                                                                  \
	T(17, waking, wakeups, NULL, tid, NULL)                                                                        \
	T(18, futex, futexes, pid, tid, dur_ns)                                                                        \
	T(19, fault, faults, pid, tid, dur_ns)                                                                         \
	T(20, fork, forks, pid, tid, NULL)                                                                             \
	T(21, exec, execs, pid, tid, NULL)                                                                             \
	T(22, exit, exits, pid, tid, NULL)                                                                             \
	T(23, oom, ooms, pid, NULL, NULL)                                                                              \
	T(24, health, health, NULL, NULL, NULL)                                                                        \
	T(25, cpu, cpus, NULL, NULL, NULL)                                                                             \
	T(26, reduction, reductions, NULL, NULL, NULL)                                                                 \
	T(27, metric, metrics, NULL, NULL, NULL)                                                                       \
	T(28, throttled, throttles, pid, tid, NULL)                                                                    \
	T(29, signal, signals, pid, nullif(tid, 0), NULL)                                                              \
	T(30, state, states, pid, tid, NULL)                                                                           \
	T(31, in_flight, in_flight, pid, tid, dur_ns)                                                                  \
	T(32, process, process_rows, pid, NULL, NULL)                                                                  \
	T(33, thread, thread_rows, pid, tid, NULL)                                                                     \
	T(34, namespaces, namespaces, pid, NULL, NULL)                                                                 \
	T(35, reclaim, reclaims, pid, tid, dur_ns)                                                                     \
	T(37, network, network_waits, pid, tid, dur_ns)                                                                \
	T(40, module, modules, NULL, NULL, NULL)                                                                       \
	T(41, executable, executables, pid, NULL, NULL)                                                                \
	T(42, attach, attachments, NULL, NULL, NULL)                                                                   \
	T(43, command_line, command_lines, pid, NULL, NULL)                                                            \
	T(44, library, libraries, pid, NULL, NULL)                                                                     \
	T(48, fact, facts, NULL, NULL, NULL)                                                                           \
	T(49, gpu, gpus, NULL, NULL, NULL)                                                                             \
	T(50, xid, xids, pid, NULL, NULL)                                                                              \
	T(51, scheduling, scheduling, pid, tid, NULL)                                                                  \
	T(52, disk_device, disks, NULL, NULL, NULL)                                                                    \
	T(53, connection, connections, NULL, NULL, NULL)                                                               \
	T(56, frame, frames, NULL, NULL, NULL)                                                                         \
	T(57, kernel, kernels, pid, NULL, NULL)                                                                        \
	T(64, cgroup, cgroups, pid, NULL, NULL)                                                                        \
	T(65, quota, quotas, NULL, NULL, NULL)                                                                         \
	T(66, memory_limit, memory_limits, NULL, NULL, NULL)

/* PRAGMA user_version: grows when a query that worked could stop working or mean something else. */
#define SQLVIEW_VERSION 2
/* PRAGMA application_id: "gpuR". */
#define SQLVIEW_APPLICATION_ID 0x67707552

/* Statements, each list ends with NULL. Tables first; indexes when all rows are in; then views. */
extern const char *const sqlschema_tables[];
extern const char *const sqlschema_indexes[];
extern const char *const sqlschema_views[];

#endif
