/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/sql/sqlschema.h"

#include <stddef.h>

#include "format/kinds.h"

#define AS_IT_IS(number) #number
#define IN_SQL(constant) AS_IT_IS(constant)

/* clang-format off: one column a line reads better than a filled paragraph */
const char *const sqlschema_tables[] = {
	/* What this is. */
	"CREATE TABLE capture(id TEXT, verdict TEXT, unverified INTEGER, sentence TEXT, signer TEXT, signer_name TEXT,"
	" format TEXT, tool TEXT, start_ns INTEGER, start_wall_ns INTEGER, end_ns INTEGER, end_wall_ns INTEGER,"
	" epochs INTEGER, events INTEGER, lost INTEGER, withheld_chunks INTEGER, sealed INTEGER, reason TEXT,"
	" command_status INTEGER, seal_hash TEXT, filter TEXT, stopped TEXT, checked TEXT)",
	"CREATE TABLE epochs(epoch INTEGER PRIMARY KEY, begin_ns INTEGER, end_ns INTEGER, anchor_boot_ns INTEGER,"
	" anchor_wall_ns INTEGER, anchor_mono_ns INTEGER, wall_offset_ns INTEGER, recorder_cpu_ns INTEGER,"
	" recorder_rss_bytes INTEGER, ring_high_bytes INTEGER, written_bytes INTEGER, events INTEGER,"
	" withheld_chunks INTEGER, seal_hash TEXT)",
	"CREATE TABLE kinds(kind INTEGER PRIMARY KEY, name TEXT, class TEXT, counted INTEGER, call INTEGER,"
	" recorded INTEGER)",
	"CREATE TABLE probes(probe INTEGER PRIMARY KEY, name TEXT, kind INTEGER)",
	"CREATE TABLE causes(cause INTEGER PRIMARY KEY, name TEXT, role TEXT, words TEXT, absence TEXT)",
	"CREATE TABLE counters(epoch INTEGER, begin_ns INTEGER, end_ns INTEGER, probe INTEGER, cause INTEGER,"
	" delta INTEGER, total INTEGER)",
	"CREATE TABLE withheld(epoch INTEGER, class TEXT, begin_ns INTEGER, end_ns INTEGER, rows INTEGER)",
	"CREATE TABLE enums(kind INTEGER, field TEXT, value INTEGER, name TEXT, PRIMARY KEY(kind, field, value))"
	" WITHOUT ROWID",

	/* Who is who. */
	"CREATE TABLE processes(process INTEGER PRIMARY KEY, pid INTEGER, ppid INTEGER, uid INTEGER, tracked INTEGER,"
	" start_ns INTEGER, first_ns INTEGER, end_ns INTEGER, status INTEGER, name TEXT, path TEXT, pid_inside INTEGER)",
	"CREATE TABLE threads(thread INTEGER PRIMARY KEY, tid INTEGER, process INTEGER, start_ns INTEGER,"
	" first_ns INTEGER, end_ns INTEGER, status INTEGER, name TEXT)",

	/* Events: a row for a row. */
	"CREATE TABLE calls(id INTEGER PRIMARY KEY, kind INTEGER, at_ns INTEGER, start_ns INTEGER, dur_ns INTEGER,"
	" process INTEGER, thread INTEGER, pid INTEGER, tid INTEGER, cpu INTEGER, probe INTEGER, ret INTEGER,"
	" flags INTEGER, bytes INTEGER, addr INTEGER, stream INTEGER, memory INTEGER, stack INTEGER, dst INTEGER,"
	" src INTEGER, direction INTEGER, value INTEGER, object INTEGER, function INTEGER, grid_x INTEGER,"
	" grid_y INTEGER, grid_z INTEGER, block_x INTEGER, block_y INTEGER, block_z INTEGER, shared INTEGER,"
	" dst_device INTEGER, src_device INTEGER, count INTEGER, graph INTEGER, exec INTEGER, comm INTEGER,"
	" send INTEGER, receive INTEGER, datatype INTEGER, op INTEGER, peer INTEGER, rank INTEGER, nranks INTEGER,"
	" context INTEGER, device INTEGER, handle INTEGER, offset INTEGER, module INTEGER)",
	"CREATE TABLE switches(id INTEGER PRIMARY KEY, at_ns INTEGER, cpu INTEGER, prev_tid INTEGER, prev INTEGER,"
	" prev_state INTEGER, next_tid INTEGER, next INTEGER, prev_syscall INTEGER, prev_flags INTEGER,"
	" next_queue INTEGER)",
	"CREATE TABLE wakeups(id INTEGER PRIMARY KEY, at_ns INTEGER, cpu INTEGER, tid INTEGER, thread INTEGER,"
	" waker_tid INTEGER, waker INTEGER, context INTEGER)",
	"CREATE TABLE futexes(id INTEGER PRIMARY KEY, at_ns INTEGER, start_ns INTEGER, dur_ns INTEGER, process INTEGER,"
	" thread INTEGER, pid INTEGER, tid INTEGER, cpu INTEGER, op INTEGER, flags INTEGER, addr INTEGER, val INTEGER,"
	" ret INTEGER, addr2 INTEGER)",
	"CREATE TABLE faults(id INTEGER PRIMARY KEY, at_ns INTEGER, start_ns INTEGER, dur_ns INTEGER, process INTEGER,"
	" thread INTEGER, pid INTEGER, tid INTEGER, cpu INTEGER, addr INTEGER)",
	"CREATE TABLE follows(id INTEGER PRIMARY KEY, at_ns INTEGER, pid INTEGER, process INTEGER, tid INTEGER,"
	" thread INTEGER, cpu INTEGER, waiter_tid INTEGER, waiter INTEGER, slept_ns INTEGER)",
	"CREATE TABLE disk_requests(id INTEGER PRIMARY KEY, at_ns INTEGER, start_ns INTEGER, dur_ns INTEGER,"
	" service_ns INTEGER, pid INTEGER, process INTEGER, tid INTEGER, thread INTEGER, cpu INTEGER, operation INTEGER,"
	" bytes INTEGER, error INTEGER, device INTEGER)",
	"CREATE TABLE network_waits(id INTEGER PRIMARY KEY, at_ns INTEGER, start_ns INTEGER, dur_ns INTEGER,"
	" pid INTEGER, process INTEGER, tid INTEGER, thread INTEGER, cpu INTEGER, connection INTEGER, role INTEGER,"
	" unread INTEGER, retransmitted INTEGER, disordered INTEGER, rtt_ns INTEGER,"
	" sender_tid INTEGER, sender INTEGER)",
	"CREATE TABLE reclaims(id INTEGER PRIMARY KEY, at_ns INTEGER, start_ns INTEGER, dur_ns INTEGER, pid INTEGER,"
	" process INTEGER, tid INTEGER, thread INTEGER, cpu INTEGER, cause INTEGER, pages INTEGER)",
	"CREATE TABLE throttles(id INTEGER PRIMARY KEY, at_ns INTEGER, pid INTEGER, process INTEGER, tid INTEGER,"
	" thread INTEGER, cpu INTEGER, wait_ns INTEGER)",
	"CREATE TABLE signals(id INTEGER PRIMARY KEY, at_ns INTEGER, pid INTEGER, process INTEGER, tid INTEGER,"
	" thread INTEGER, cpu INTEGER, signal INTEGER, code INTEGER, sender_tid INTEGER, sender INTEGER)",
	"CREATE TABLE states(id INTEGER PRIMARY KEY, at_ns INTEGER, pid INTEGER, process INTEGER, tid INTEGER,"
	" thread INTEGER, moment INTEGER, state INTEGER, syscall INTEGER, argument INTEGER)",
	"CREATE TABLE thread_stacks(id INTEGER PRIMARY KEY, at_ns INTEGER, pid INTEGER, process INTEGER, tid INTEGER,"
	" thread INTEGER, moment INTEGER, stack INTEGER, flags INTEGER)",
	"CREATE TABLE in_flight(id INTEGER PRIMARY KEY, at_ns INTEGER, pid INTEGER, process INTEGER, tid INTEGER,"
	" thread INTEGER, moment INTEGER, start_ns INTEGER, dur_ns INTEGER, probe INTEGER, argument INTEGER,"
	" flags INTEGER)",
	"CREATE TABLE forks(id INTEGER PRIMARY KEY, at_ns INTEGER, pid INTEGER, process INTEGER, tid INTEGER,"
	" thread INTEGER, child_pid INTEGER, child_tid INTEGER, child INTEGER)",
	"CREATE TABLE execs(id INTEGER PRIMARY KEY, at_ns INTEGER, pid INTEGER, process INTEGER, tid INTEGER,"
	" thread INTEGER)",
	"CREATE TABLE exits(id INTEGER PRIMARY KEY, at_ns INTEGER, pid INTEGER, process INTEGER, tid INTEGER,"
	" thread INTEGER, code INTEGER, last INTEGER)",
	"CREATE TABLE ooms(id INTEGER PRIMARY KEY, at_ns INTEGER, pid INTEGER, process INTEGER, rss INTEGER)",
	"CREATE TABLE health(id INTEGER PRIMARY KEY, at_ns INTEGER, gpu INTEGER, known INTEGER, busy_percent INTEGER,"
	" memory_busy_percent INTEGER, memory_used INTEGER, power_mw INTEGER, temperature_c INTEGER, sm_mhz INTEGER,"
	" memory_mhz INTEGER, throttle INTEGER, ecc_corrected INTEGER, ecc_uncorrected INTEGER, sm_mhz_max INTEGER)",
	"CREATE TABLE cpus(id INTEGER PRIMARY KEY, at_ns INTEGER, cpu INTEGER, steal_ns INTEGER, khz INTEGER,"
	" irq_ns INTEGER, softirq_ns INTEGER)",
	"CREATE TABLE reductions(id INTEGER PRIMARY KEY, at_ns INTEGER, of_kind INTEGER, counter INTEGER, keep INTEGER,"
	" rate INTEGER)",
	"CREATE TABLE metrics(id INTEGER PRIMARY KEY, at_ns INTEGER, cpu INTEGER, busy_ns INTEGER, switches INTEGER,"
	" waiting INTEGER, forced INTEGER)",
	"CREATE TABLE process_rows(id INTEGER PRIMARY KEY, at_ns INTEGER, pid INTEGER, process INTEGER,"
	" start_ns INTEGER, ppid INTEGER, uid INTEGER, tracked INTEGER, name TEXT)",
	"CREATE TABLE thread_rows(id INTEGER PRIMARY KEY, at_ns INTEGER, tid INTEGER, thread INTEGER, pid INTEGER,"
	" process INTEGER, start_ns INTEGER, name TEXT)",
	"CREATE TABLE namespaces(id INTEGER PRIMARY KEY, at_ns INTEGER, pid INTEGER, process INTEGER, start_ns INTEGER,"
	" mount INTEGER, pids INTEGER, net INTEGER, user INTEGER, pid_inside INTEGER)",
	"CREATE TABLE scheduling(id INTEGER PRIMARY KEY, at_ns INTEGER, pid INTEGER, process INTEGER, tid INTEGER,"
	" thread INTEGER, policy INTEGER, nice INTEGER, priority INTEGER, cpus TEXT)",
	"CREATE TABLE connections(id INTEGER PRIMARY KEY, at_ns INTEGER, number INTEGER, net INTEGER, local TEXT,"
	" peer TEXT)",
	"CREATE TABLE disks(id INTEGER PRIMARY KEY, at_ns INTEGER, number INTEGER, name TEXT)",
	"CREATE TABLE modules(id INTEGER PRIMARY KEY, at_ns INTEGER, module INTEGER, device INTEGER, inode INTEGER,"
	" build_id TEXT, path TEXT, deleted INTEGER, mount INTEGER)",
	"CREATE TABLE executables(id INTEGER PRIMARY KEY, at_ns INTEGER, pid INTEGER, process INTEGER,"
	" start_ns INTEGER, path TEXT, module INTEGER)",
	"CREATE TABLE command_lines(id INTEGER PRIMARY KEY, at_ns INTEGER, pid INTEGER, process INTEGER,"
	" start_ns INTEGER, bytes INTEGER, text TEXT)",
	"CREATE TABLE libraries(id INTEGER PRIMARY KEY, at_ns INTEGER, module INTEGER, pid INTEGER, process INTEGER,"
	" role INTEGER, functions INTEGER, probed INTEGER, reason TEXT)",
	"CREATE TABLE attachments(id INTEGER PRIMARY KEY, at_ns INTEGER, module INTEGER, probe INTEGER,"
	" offset INTEGER, error INTEGER)",
	"CREATE TABLE facts(id INTEGER PRIMARY KEY, at_ns INTEGER, name TEXT, value TEXT)",
	"CREATE TABLE gpus(id INTEGER PRIMARY KEY, at_ns INTEGER, gpu INTEGER, memory INTEGER, name TEXT, uuid TEXT,"
	" pci TEXT)",
	"CREATE TABLE xids(id INTEGER PRIMARY KEY, at_ns INTEGER, code INTEGER, pid INTEGER, process INTEGER, pci TEXT,"
	" text TEXT)",
	"CREATE TABLE frames(id INTEGER PRIMARY KEY, at_ns INTEGER, stack INTEGER, depth INTEGER, address INTEGER,"
	" module INTEGER, offset INTEGER, symbol TEXT, symbol_shown TEXT)",
	"CREATE TABLE kernels(id INTEGER PRIMARY KEY, at_ns INTEGER, pid INTEGER, process INTEGER, start_ns INTEGER,"
	" function INTEGER, module INTEGER, offset INTEGER, name TEXT, name_shown TEXT)",
	"CREATE TABLE cgroups(id INTEGER PRIMARY KEY, at_ns INTEGER, pid INTEGER, process INTEGER, start_ns INTEGER,"
	" path TEXT, container TEXT, cpu TEXT, memory_group TEXT)",
	"CREATE TABLE quotas(id INTEGER PRIMARY KEY, at_ns INTEGER, quota_ns INTEGER, period_ns INTEGER,"
	" periods INTEGER, throttled_periods INTEGER, throttled_ns INTEGER, path TEXT)",
	"CREATE TABLE memory_limits(id INTEGER PRIMARY KEY, at_ns INTEGER, max INTEGER, high INTEGER, used INTEGER,"
	" anon INTEGER, file INTEGER, shmem INTEGER, swap INTEGER, times_high INTEGER, times_max INTEGER,"
	" kills INTEGER, holder INTEGER, holder_bytes INTEGER, path TEXT)",
	"CREATE TABLE other_events(id INTEGER PRIMARY KEY, at_ns INTEGER, kind INTEGER)",
	"CREATE TABLE other_fields(id INTEGER, name TEXT, value)",

	/* What follows from them. */
	"CREATE TABLE offcpu(id INTEGER PRIMARY KEY, left_id INTEGER, thread INTEGER, tid INTEGER, cpu INTEGER,"
	" start_ns INTEGER, end_ns INTEGER, dur_ns INTEGER, state INTEGER, wakeup INTEGER, runnable_ns INTEGER,"
	" lossy INTEGER, waker_tid INTEGER, waker INTEGER, context INTEGER, syscall INTEGER, flags INTEGER)",
	"CREATE TABLE allocation_ends(allocation INTEGER PRIMARY KEY, end_ns INTEGER, how TEXT, free INTEGER)",
	"CREATE TABLE inner_calls(call INTEGER PRIMARY KEY)",
	"CREATE TABLE object_lives(object INTEGER PRIMARY KEY, type TEXT, end_ns INTEGER, how TEXT, destroyed_by INTEGER)",
	"CREATE TABLE ledger(thread INTEGER, process INTEGER, tid INTEGER, fed INTEGER, begin_ns INTEGER, end_ns INTEGER,"
	" part TEXT, ns INTEGER, gpu_idle_ns INTEGER)",
	"CREATE TABLE ledger_waited(thread INTEGER, begin_ns INTEGER, part TEXT, for_tid INTEGER, for_thread INTEGER,"
	" ns INTEGER, count INTEGER, did TEXT, gpu_idle_ns INTEGER)",
	"CREATE TABLE ledger_did(thread INTEGER, begin_ns INTEGER, part TEXT, for_tid INTEGER, for_thread INTEGER,"
	" did TEXT, ns INTEGER)",
	"CREATE TABLE ledger_seconds(thread INTEGER, begin_ns INTEGER, end_ns INTEGER, part TEXT, ns INTEGER)",
	NULL,
};

const char *const sqlschema_indexes[] = {
	"CREATE INDEX calls_kind_probe ON calls(kind, probe, dur_ns)",
	"CREATE INDEX offcpu_thread ON offcpu(thread, start_ns)",
	"CREATE INDEX futexes_thread ON futexes(thread, at_ns)",
	"CREATE INDEX frames_stack ON frames(stack, depth)",
	"CREATE INDEX kernels_function ON kernels(process, function)",
	"CREATE INDEX epochs_begin ON epochs(begin_ns)",
	NULL,
};

#define WALL_NS(at)                                                                                                    \
	"(" at " + (SELECT wall_offset_ns FROM epochs WHERE begin_ns <= " at " ORDER BY begin_ns DESC LIMIT 1))"
#define WORD(kind, field, value)                                                                                       \
	"(SELECT name FROM enums WHERE enums.kind = " kind " AND field = '" field "' AND enums.value = " value ")"
/* Columns and joins that every view of calls has. */
#define CALL_COLUMNS                                                                                                   \
	"c.id, c.at_ns, c.start_ns, c.dur_ns, c.process, c.thread, c.pid, c.tid, p.name AS process_name,"              \
	" t.name AS thread_name, f.name AS function_name, c.ret, c.flags & 1 AS nested"
#define CALL_JOINS                                                                                                     \
	" FROM calls c LEFT JOIN processes p ON p.process = c.process LEFT JOIN threads t ON t.thread = c.thread"      \
	" LEFT JOIN probes f ON f.probe = c.probe"
#define HEX(value) "printf('0x%x', " value ")"

/* Frames in a row, innermost first, each by its symbol or, without one, by its address. */
#define FRAMES(symbol) "group_concat(CASE WHEN symbol <> '' THEN " symbol " ELSE " HEX("address") " END, ' < ')"

#define COUNT_OF(number, kind, table, pid, tid, dur) " UNION ALL SELECT " #number ", count(*) FROM " #table
#define EVENTS_OF(number, kind, table, pid, tid, dur)                                                                  \
	" UNION ALL SELECT id, at_ns, " #number ", " #pid ", " #tid ", " #dur " FROM " #table

const char *const sqlschema_views[] = {
	/* clang-format off */
	"CREATE VIEW kind_counts AS SELECT k.kind, k.name, coalesce(n.rows, 0) AS rows, k.recorded,"
	" k.recorded - coalesce(n.rows, 0) AS absent FROM kinds k LEFT JOIN ("
	"SELECT kind, count(*) AS rows FROM calls GROUP BY kind"
	EVENT_TABLES(COUNT_OF)
	" UNION ALL SELECT kind, count(*) FROM other_events GROUP BY kind"
	") n ON n.kind = k.kind ORDER BY k.kind",

	"CREATE VIEW events AS SELECT e.id, e.at_ns, " WALL_NS("e.at_ns") " AS wall_ns,"
	" strftime('%Y-%m-%dT%H:%M:%S', " WALL_NS("e.at_ns") " / 1000000000, 'unixepoch')"
	" || printf('.%09dZ', " WALL_NS("e.at_ns") " % 1000000000) AS wall,"
	" k.name AS kind, e.pid, e.tid, e.dur_ns FROM ("
	"SELECT id, at_ns, kind, pid, tid, dur_ns FROM calls"
	EVENT_TABLES(EVENTS_OF)
	" UNION ALL SELECT id, at_ns, kind, NULL, NULL, NULL FROM other_events"
	") e LEFT JOIN kinds k ON k.kind = e.kind",
	/* clang-format on */

	/* clang-format off */
	/* The name that was reported last before the launch, else the first one after it. */
	"CREATE VIEW launches AS SELECT " CALL_COLUMNS ", " HEX("c.function") " AS kernel, " HEX("c.stream") " AS stream,"
	" c.grid_x, c.grid_y, c.grid_z, c.block_x, c.block_y, c.block_z, c.shared AS shared_bytes, c.stack,"
	" coalesce((SELECT n.name FROM kernels n WHERE n.process = c.process AND n.function = c.function AND n.id < c.id"
	" ORDER BY n.id DESC LIMIT 1), (SELECT n.name FROM kernels n WHERE n.process = c.process"
	" AND n.function = c.function ORDER BY n.id LIMIT 1)) AS kernel_name,"
	" coalesce((SELECT n.name_shown FROM kernels n WHERE n.process = c.process AND n.function = c.function"
	" AND n.id < c.id ORDER BY n.id DESC LIMIT 1), (SELECT n.name_shown FROM kernels n WHERE n.process = c.process"
	" AND n.function = c.function ORDER BY n.id LIMIT 1)) AS kernel_shown" CALL_JOINS " WHERE c.kind = 1",

	"CREATE VIEW allocations AS SELECT " CALL_COLUMNS ", " WORD("2", "memory", "c.memory") " AS memory, c.bytes,"
	" " HEX("c.addr") " AS addr, " HEX("c.stream") " AS stream, c.stack, e.end_ns, e.how, e.free,"
	" e.end_ns - c.at_ns AS lifetime_ns" CALL_JOINS " LEFT JOIN allocation_ends e ON e.allocation = c.id"
	" WHERE c.kind = 2 AND c.ret = 0 AND c.addr <> 0 AND NOT EXISTS (SELECT 1 FROM inner_calls i WHERE i.call = c.id)",

	"CREATE VIEW frees AS SELECT " CALL_COLUMNS ", " WORD("3", "memory", "c.memory") " AS memory,"
	" " HEX("c.addr") " AS addr, " HEX("c.stream") " AS stream, c.stack" CALL_JOINS " WHERE c.kind = 3",

	"CREATE VIEW outstanding AS SELECT at_ns, process, pid, memory, delta_bytes, sum(delta_bytes)"
	" OVER (PARTITION BY process, memory ORDER BY at_ns, id ROWS UNBOUNDED PRECEDING) AS bytes FROM ("
	"SELECT at_ns, id, process, pid, memory, bytes AS delta_bytes FROM allocations"
	" UNION ALL SELECT end_ns, coalesce(free, id), process, pid, memory, -bytes FROM allocations"
	" WHERE end_ns IS NOT NULL)",

	"CREATE VIEW outstanding_at_end AS SELECT process, pid, process_name, memory, stack, count(*) AS num,"
	" sum(bytes) AS bytes, min(at_ns) AS first_ns, max(at_ns) AS last_ns FROM allocations WHERE end_ns IS NULL"
	" GROUP BY process, memory, stack",

	"CREATE VIEW objects AS SELECT " CALL_COLUMNS ", o.type, " HEX("CASE o.type WHEN 'stream' THEN c.stream"
	" WHEN 'event' THEN c.object WHEN 'graph' THEN iif(c.kind = 8, c.graph, c.object) WHEN 'executable graph' THEN c.exec"
	" WHEN 'context' THEN c.context ELSE c.module END") " AS handle, c.stack, o.end_ns, o.how, o.destroyed_by,"
	" o.end_ns - c.at_ns AS lifetime_ns FROM object_lives o JOIN calls c ON c.id = o.object"
	" LEFT JOIN processes p ON p.process = c.process LEFT JOIN threads t ON t.thread = c.thread"
	" LEFT JOIN probes f ON f.probe = c.probe",

	"CREATE VIEW copies AS SELECT " CALL_COLUMNS ", " WORD("4", "direction", "c.direction") " AS direction, c.bytes,"
	" CASE WHEN c.dur_ns > 0 THEN c.bytes * 1e9 / c.dur_ns END AS bytes_per_second, " HEX("c.dst") " AS dst,"
	" " HEX("c.src") " AS src, " HEX("c.stream") " AS stream, nullif(c.dst_device, 0) - 1 AS dst_device,"
	" nullif(c.src_device, 0) - 1 AS src_device, c.count, c.stack" CALL_JOINS " WHERE c.kind = 4",

	"CREATE VIEW sets AS SELECT " CALL_COLUMNS ", " HEX("c.addr") " AS addr, c.bytes, c.value,"
	" " HEX("c.stream") " AS stream, c.stack" CALL_JOINS " WHERE c.kind = 5",

	"CREATE VIEW waits AS SELECT " CALL_COLUMNS ", " HEX("c.object") " AS object, c.stack" CALL_JOINS " WHERE c.kind = 6",

	"CREATE VIEW streams AS SELECT " CALL_COLUMNS ", " HEX("c.stream") " AS stream, " HEX("c.object") " AS object,"
	" c.stack" CALL_JOINS " WHERE c.kind = 7",

	"CREATE VIEW graphs AS SELECT " CALL_COLUMNS ", " HEX("c.graph") " AS graph, " HEX("c.exec") " AS exec,"
	" " HEX("c.stream") " AS stream, c.stack" CALL_JOINS " WHERE c.kind = 8",

	"CREATE VIEW collectives AS SELECT " CALL_COLUMNS ", " HEX("c.comm") " AS comm, " HEX("c.stream") " AS stream,"
	" " HEX("c.send") " AS send, " HEX("c.receive") " AS receive, c.count,"
	" " WORD("9", "datatype", "c.datatype") " AS datatype, c.bytes, " WORD("9", "op", "c.op") " AS op,"
	" nullif(c.peer, 0) - 1 AS peer, c.rank, c.nranks, c.stack" CALL_JOINS " WHERE c.kind = 9",

	"CREATE VIEW contexts AS SELECT " CALL_COLUMNS ", " HEX("c.context") " AS context,"
	" nullif(c.device, 0) - 1 AS device, c.stack" CALL_JOINS " WHERE c.kind = 10",

	"CREATE VIEW maps AS SELECT " CALL_COLUMNS ", " HEX("c.addr") " AS addr, c.bytes, " HEX("c.handle") " AS handle,"
	" c.offset, c.stack" CALL_JOINS " WHERE c.kind = 11",

	"CREATE VIEW loads AS SELECT " CALL_COLUMNS ", " HEX("c.module") " AS module, " HEX("c.function") " AS function,"
	" c.stack" CALL_JOINS " WHERE c.kind = 12",

	"CREATE VIEW thread_states AS SELECT s.id, s.at_ns, s.process, s.thread, s.pid, s.tid, p.name AS process_name,"
	" t.name AS thread_name, " WORD("30", "moment", "s.moment") " AS moment, " WORD("30", "state", "s.state") " AS state,"
	" nullif(s.syscall, 0) - 1 AS syscall, CASE WHEN s.syscall > 0 THEN " HEX("s.argument") " END AS argument,"
	" (SELECT k.stack FROM thread_stacks k WHERE k.pid = s.pid AND k.tid = s.tid AND k.moment = s.moment"
	" AND k.at_ns >= s.at_ns ORDER BY k.at_ns LIMIT 1) AS stack"
	" FROM states s LEFT JOIN processes p ON p.process = s.process LEFT JOIN threads t ON t.thread = s.thread",

	"CREATE VIEW calls_in_flight AS SELECT c.id, c.at_ns, c.start_ns, c.dur_ns, c.process, c.thread,"
	" c.pid, c.tid, p.name AS process_name, t.name AS thread_name, f.name AS function_name,"
	" " WORD("31", "moment", "c.moment") " AS moment, " HEX("c.argument") " AS argument, c.flags & 1 AS nested"
	" FROM in_flight c LEFT JOIN processes p ON p.process = c.process LEFT JOIN threads t ON t.thread = c.thread"
	" LEFT JOIN probes f ON f.probe = c.probe",

	"CREATE VIEW failed_calls AS SELECT " CALL_COLUMNS ", k.name AS kind, c.bytes, c.stack" CALL_JOINS
	" LEFT JOIN kinds k ON k.kind = c.kind WHERE c.ret <> 0",

	"CREATE VIEW futex_waits AS SELECT x.id, x.at_ns, x.start_ns, x.dur_ns, x.process, x.thread, x.pid, x.tid,"
	" p.name AS process_name, t.name AS thread_name, " WORD("18", "op", "x.op") " AS op, " HEX("x.addr") " AS addr,"
	" x.ret FROM futexes x LEFT JOIN processes p ON p.process = x.process"
	" LEFT JOIN threads t ON t.thread = x.thread WHERE x.op IN (0, 6, 9, 11, 13)",

	"CREATE VIEW offcpu_intervals AS SELECT o.id, o.start_ns, o.end_ns, o.dur_ns, o.thread, o.tid, t.process,"
	" p.pid, t.name AS thread_name, " WORD("16", "prev_state", "o.state") " AS state,"
	" CASE WHEN o.runnable_ns IS NOT NULL THEN o.end_ns - o.runnable_ns END AS waited_for_cpu_ns,"
	" o.waker, o.waker_tid, wt.name AS waker_name, " WORD("17", "context", "o.context") " AS waker_context,"
	" o.cpu, o.lossy, nullif(o.syscall, 0) - 1 AS syscall, o.flags & " IN_SQL(SWITCH_IO) " AND o.syscall - 1 <> "
	IN_SQL(SYSCALL_IO_URING_ENTER) " AS waited_for_disk,"
	" o.flags >> 1 & 1 AS in_fault FROM offcpu o"
	" LEFT JOIN threads t ON t.thread = o.thread LEFT JOIN processes p ON p.process = t.process"
	" LEFT JOIN threads wt ON wt.thread = o.waker",
	/* clang-format on */

	/* Standard deviation of the sample; the root by Newton's method, for a SQLite built without mathematics. */
	"CREATE VIEW call_summary AS WITH ranked AS (SELECT probe, dur_ns,"
	" row_number() OVER (PARTITION BY probe ORDER BY dur_ns) AS r, count(*) OVER (PARTITION BY probe) AS n,"
	" avg(dur_ns) OVER (PARTITION BY probe) AS mean FROM calls),"
	" sums AS (SELECT probe, n, sum(dur_ns) AS total, mean, min(dur_ns) AS low, max(dur_ns) AS high,"
	" avg(CASE WHEN r IN ((n + 1) / 2, n / 2 + 1) THEN dur_ns END) AS med,"
	" max(CASE WHEN r = (n * 99 + 99) / 100 THEN dur_ns END) AS p99,"
	" max(CASE WHEN r = (n * 999 + 999) / 1000 THEN dur_ns END) AS p999,"
	" CASE WHEN n > 1 THEN sum((dur_ns - mean) * (dur_ns - mean)) / (n - 1) END AS variance"
	" FROM ranked GROUP BY probe)"
	" SELECT round(100.0 * s.total / nullif((SELECT sum(total) FROM sums), 0), 1) AS time_percent,"
	" s.total AS total_ns, s.n AS num, s.mean AS avg_ns, s.med AS med_ns, s.low AS min_ns, s.high AS max_ns,"
	" CASE WHEN s.variance > 0 THEN (WITH RECURSIVE newton(i, x) AS (SELECT 0, s.variance UNION ALL"
	" SELECT i + 1, (x + s.variance / x) / 2 FROM newton WHERE i < 80) SELECT x FROM newton WHERE i = 80)"
	" ELSE s.variance END AS stddev_ns, s.p99 AS p99_ns, s.p999 AS p999_ns, f.name AS name"
	" FROM sums s LEFT JOIN probes f ON f.probe = s.probe ORDER BY s.total DESC, f.name",

	/* clang-format off */
	/*
	 * Much longer than the median of that function in that process, and where the time went. Intervals off the CPU are
	 * cut to the call; what is left of it was on a CPU. A sleep is a futex's as replay/model/timeline_details.c has it:
	 * when a futex call that waits covers it, unless it was in a page fault, or by force.
	 */
	"CREATE VIEW slow_calls AS WITH ranked AS (SELECT process, probe, dur_ns,"
	" row_number() OVER (PARTITION BY process, probe ORDER BY dur_ns) AS r,"
	" count(*) OVER (PARTITION BY process, probe) AS n FROM calls),"
	" medians AS (SELECT process, probe, avg(dur_ns) AS median_ns FROM ranked WHERE r IN ((n + 1) / 2, n / 2 + 1)"
	" GROUP BY process, probe),"
	" slow AS (SELECT c.*, m.median_ns FROM medians m JOIN calls c ON c.process IS m.process AND c.probe = m.probe"
	" WHERE c.dur_ns >= 100000 AND c.dur_ns > 10 * m.median_ns),"
	" cut AS (SELECT s.id, o.lossy, o.waker, o.waker_tid, max(o.start_ns, s.start_ns) AS begin_ns, min(o.end_ns, s.at_ns) AS end_ns,"
	" o.runnable_ns, (SELECT CASE WHEN x.start_ns <= o.start_ns AND x.op NOT IN (1, 2, 3, 4, 5, 7, 10, 12)"
	" AND o.state & 2 = 0 AND o.flags & 2 = 0 THEN x.addr END FROM futexes x"
	" WHERE x.thread = o.thread AND x.at_ns >= o.end_ns ORDER BY x.at_ns LIMIT 1) AS futex FROM slow s"
	" JOIN offcpu o ON o.thread = s.thread AND o.start_ns < s.at_ns AND o.end_ns > s.start_ns),"
	" part AS (SELECT *, max(0, min(end_ns, runnable_ns) - begin_ns) AS asleep FROM cut),"
	" sums AS (SELECT id, sum(end_ns - begin_ns - asleep) AS runnable_ns,"
	" sum(CASE WHEN asleep IS NULL THEN end_ns - begin_ns END) AS unknown_ns,"
	" sum(CASE WHEN futex IS NULL THEN 0 ELSE asleep END) AS futex_ns,"
	" sum(CASE WHEN futex IS NULL THEN asleep ELSE 0 END) AS asleep_ns, max(lossy) AS lossy FROM part GROUP BY id),"
	" worst AS (SELECT id, futex, waker, waker_tid FROM (SELECT id, futex, waker, waker_tid,"
	" row_number() OVER (PARTITION BY id ORDER BY asleep DESC, begin_ns) AS r FROM part WHERE asleep > 0) WHERE r = 1)"
	" SELECT " CALL_COLUMNS ", c.median_ns,"
	" c.dur_ns - coalesce(s.runnable_ns, 0) - coalesce(s.futex_ns, 0) - coalesce(s.asleep_ns, 0)"
	" - coalesce(s.unknown_ns, 0) AS on_cpu_ns,"
	" coalesce(s.runnable_ns, 0) AS waited_for_cpu_ns, coalesce(s.futex_ns, 0) AS futex_ns,"
	" coalesce(s.asleep_ns, 0) AS asleep_ns, coalesce(s.lossy, 0) AS lossy,"
	" CASE WHEN w.futex IS NOT NULL THEN " HEX("w.futex") " END AS futex, w.waker, w.waker_tid, wt.name AS waker_name,"
	" coalesce(s.unknown_ns, 0) AS unknown_ns"
	" FROM slow c LEFT JOIN sums s ON s.id = c.id LEFT JOIN worst w ON w.id = c.id"
	" LEFT JOIN threads wt ON wt.thread = w.waker"
	" LEFT JOIN processes p ON p.process = c.process LEFT JOIN threads t ON t.thread = c.thread"
	" LEFT JOIN probes f ON f.probe = c.probe ORDER BY c.dur_ns DESC",

	/* Counters are read a little after an epoch's end; what was learnt when recording ended is the last epoch's. */
	"CREATE VIEW launch_gaps AS WITH missed AS MATERIALIZED (SELECT min(coalesce(e.begin_ns,"
	" (SELECT max(begin_ns) FROM epochs), c.begin_ns)) AS begin_ns, max(c.end_ns, coalesce(e.anchor_boot_ns, 0)) AS end_ns,"
	" sum(c.delta) AS num"
	" FROM counters c JOIN causes a ON a.cause = c.cause AND a.role = 'lost'"
	" JOIN probes f ON f.probe = c.probe AND f.kind = 1 LEFT JOIN epochs e ON e.epoch = c.epoch GROUP BY c.epoch)"
	" SELECT g.id, g.previous, g.begin_ns, g.start_ns AS end_ns,"
	" g.start_ns - g.begin_ns AS gap_ns, g.process, g.thread, g.pid, g.tid, p.name AS process_name,"
	" t.name AS thread_name, (SELECT coalesce(sum(m.num), 0) FROM missed m"
	" WHERE m.end_ns > g.begin_ns AND m.begin_ns < g.start_ns) AS missing"
	" FROM (SELECT id, start_ns, process, thread, pid, tid, lag(id) OVER w AS previous,"
	" lag(at_ns) OVER w AS begin_ns FROM calls WHERE kind = 1 AND flags & 1 = 0"
	" WINDOW w AS (PARTITION BY thread ORDER BY at_ns, id)) g LEFT JOIN processes p ON p.process = g.process"
	" LEFT JOIN threads t ON t.thread = g.thread WHERE g.previous IS NOT NULL",
	/* clang-format on */

	"CREATE VIEW losses AS SELECT c.epoch, c.begin_ns, c.end_ns, f.name AS probe, a.name AS cause, a.words, "
	"c.delta,"
	" c.total, a.absence FROM counters c JOIN causes a ON a.cause = c.cause JOIN probes f ON f.probe = c.probe"
	" WHERE a.role = 'lost'",

	"CREATE VIEW lost AS SELECT probe, cause, words, sum(delta) AS num, absence FROM losses GROUP BY probe, cause",

	"CREATE VIEW probe_counts AS SELECT f.probe, f.name,"
	" sum(CASE WHEN a.role = 'fired' THEN c.delta ELSE 0 END) AS fired,"
	" sum(CASE WHEN a.role = 'recorded' THEN c.delta ELSE 0 END) AS recorded,"
	" sum(CASE WHEN a.role = 'lost' THEN c.delta ELSE 0 END) AS lost,"
	" sum(CASE WHEN a.role = 'noted' THEN c.delta ELSE 0 END) AS incomplete"
	" FROM probes f LEFT JOIN counters c ON c.probe = f.probe LEFT JOIN causes a ON a.cause = c.cause"
	" GROUP BY f.probe",

	"CREATE VIEW stacks AS SELECT stack, count(*) AS depth, " FRAMES("symbol") " AS frames, " FRAMES(
		"symbol_shown") " AS shown FROM (SELECT stack, depth, symbol, symbol_shown, address FROM frames ORDER "
				"BY stack, depth)"
				" GROUP BY stack",
	NULL,
};
