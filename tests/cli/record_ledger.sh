#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Where the time of threads went, of programs that are recorded, against what the kernel keeps of them.
# records: each checks only what it started itself
. "$(dirname "$0")/lib.sh"
gpurec=$BUILD/gpurec
cap=$TMP/run.cap
driver=$BUILD/workload/driver

needs_recording "where the time of recorded threads went"
if [ ! -x "$driver" ]; then
	skip "where the time of recorded threads went" "the test double is not built here"
	finish
fi
see() {
	"$gpurec" -q --force -o "$cap" -- "$@" && "$BUILD/gpureplay" -q --force "$cap" -o "$TMP/run.db"
}
none() { # SQL: no row is success
	sqlite3 -readonly "$TMP/run.db" "CREATE TEMP TABLE told AS SELECT value ->> 'tid' AS tid, value ->> 'name' AS name,
		value ->> 'cpu_wait_ns' AS cpu_wait_ns FROM json_each(CAST(readfile('$TMP/truth.json') AS TEXT), '\$.threads'); $1" >"$TMP/rows"
	cat "$TMP/rows"
	[ ! -s "$TMP/rows" ]
}
check "a program is recorded" see "$driver" -q --seconds 3 --truth "$TMP/truth.json"
check "each of its threads that calls is there" none "SELECT name FROM told JOIN calls USING (tid)
	WHERE tid NOT IN (SELECT tid FROM ledger) GROUP BY tid"
check "all of the time of each has a part" none "SELECT tid, sum(ns), end_ns - begin_ns AS whole FROM ledger
	GROUP BY thread, begin_ns HAVING sum(ns) <> whole"
# But for the time between two rows of a thread that leave a CPU, or enter one: there the host hid the row between them.
check "hardly any is unknown" none "WITH row AS (SELECT at_ns, prev_tid AS tid, 0 AS enters FROM switches UNION ALL SELECT at_ns, next_tid, 1 FROM switches),
	pair AS (SELECT tid, enters, at_ns, lag(enters) OVER w AS before, lag(at_ns) OVER w AS since_ns FROM row WINDOW w AS (PARTITION BY tid ORDER BY at_ns)),
	hidden AS (SELECT tid, sum(at_ns - since_ns) AS hidden_ns FROM pair WHERE enters = before GROUP BY tid)
	SELECT tid, ns, hidden_ns FROM ledger LEFT JOIN hidden USING (tid)
	WHERE part = 'unknown' AND ns - coalesce(hidden_ns, 0) > (end_ns - begin_ns) / 20"
# The kernel counts from when it puts the thread into a queue, which may be long after it was woken: it may be less.
if [ "$(sqlite3 :memory: "SELECT sum(value ->> 'cpu_wait_ns') > 0 FROM json_each(CAST(readfile('$TMP/truth.json') AS TEXT), '\$.threads')")" = 1 ]; then
	check "what they waited for a CPU is there, as the kernel counts it" none "SELECT name, cpu_wait_ns, told FROM (
		SELECT name, cpu_wait_ns, coalesce((SELECT sum(ns) FROM ledger l WHERE l.tid = t.tid AND part IN ('cpu', 'quota')), 0) AS told,
			coalesce((SELECT sum(ns) FROM ledger l WHERE l.tid = t.tid AND part = 'unknown'), 0) AS unknown
			FROM told t WHERE tid IN (SELECT tid FROM ledger))
		WHERE told + unknown < cpu_wait_ns - cpu_wait_ns / 20 - 1000000"
else
	skip "what they waited for a CPU is there, as the kernel counts it" "this kernel keeps no account of it"
fi
told() {
	"$BUILD/gpuanalyze" --report "$cap" >"$TMP/report" && grep -A 14 '^Where the time went of the 3 threads that feed the GPU, ' "$TMP/report"
}
check "the report says where it went" told

# --- for whom they waited: Python's own threads, locks and pipes, and its own clock ---
if ! python3 -c "import os; os.eventfd" 2>"$TMP/err"; then
	skip "for whom a Python program waits" "there is no python3 with os.eventfd() here: $(tail -1 "$TMP/err")"
	finish
fi
waits() {
	"$gpurec" -q --force -o "$cap" -- python3 tests/workload/waits.py "$BUILD/workload/libcuda.so.1" >"$TMP/waits" &&
		"$BUILD/gpureplay" -q --force "$cap" -o "$TMP/run.db" && [ -s "$TMP/waits" ]
}
# Of the time in which nobody lacked a CPU but whom it waited for, and of which it is known what the thread did, no less
# than so many percent went to that one. Some of it passes before the one sleeps, and after it was woken.
for_whom() { # FEEDER WHOM NS PERCENT [DID]
	sqlite3 -readonly "$TMP/run.db" "CREATE TEMP TABLE mine AS SELECT * FROM ledger WHERE tid = $1 AND fed > 0;
		SELECT t.ns || ' ns of ' || ($3 - other) FROM (SELECT coalesce(sum(ns), 0) AS ns FROM ledger_waited
			WHERE thread IN (SELECT thread FROM mine) AND part = 'task' AND for_tid IN ($2)${5:+ AND did IN ($5)}) t,
			(SELECT coalesce(sum(ns), 0) AS other FROM (SELECT ns FROM mine WHERE part IN ('cpu', 'quota', 'unknown')
				UNION ALL SELECT ns FROM ledger_waited WHERE thread IN (SELECT thread FROM mine) AND part = 'task'
					AND for_tid NOT IN ($2) AND did = 'waiting-for-cpu'))
		WHERE t.ns < ($3 - other) / 100 * $4" >"$TMP/rows"
	cat "$TMP/rows"
	[ ! -s "$TMP/rows" ]
}
others() { # FEEDER WHOM NS: nobody else has more than a tenth, but for want of a CPU
	sqlite3 -readonly "$TMP/run.db" "SELECT for_tid, did, ns FROM ledger_waited WHERE thread IN
		(SELECT thread FROM ledger WHERE tid = $1 AND fed > 0) AND part = 'task' AND for_tid NOT IN ($2) AND did <> 'waiting-for-cpu' AND ns > $3 / 10" >"$TMP/rows"
	cat "$TMP/rows"
	[ ! -s "$TMP/rows" ]
}
starved_by() { # FEEDER WHOM: nobody else, but for want of a CPU
	sqlite3 :memory: "SELECT group_concat(tid) FROM (SELECT DISTINCT p.value ->> 'tid' AS tid FROM json_each((SELECT value ->> '$.findings'
		FROM json_each(CAST(readfile('$TMP/waits.json') AS TEXT), '$.reports'))) f, json_each(f.value, '$.parties') p
		WHERE f.value ->> 'rule' = 'starved' AND f.value ->> 'tid' = $1 AND p.value ->> 'part' = 'waker'
			AND (p.value ->> 'tid' IN ($2) OR f.value ->> 'class' <> 'waiting-for-cpu') ORDER BY 1)"
}
# named FEEDER WHOM: by a finding of that rule, and nobody else; or, where the machine is so busy that they lacked a CPU
# most of the time, by one of another rule, to which starved leaves them then (docs/RULES.md)
named() {
	local findings="json_each((SELECT value ->> '$.findings' FROM json_each(CAST(readfile('$TMP/waits.json') AS TEXT), '$.reports'))) f"
	starved=$(starved_by "$1" "$2")
	[ "$2" = "$starved" ] && return
	[ -z "$starved" ] && [ "$(sqlite3 :memory: "SELECT count(*) > 0 FROM $findings, json_each(f.value, '$.parties') p WHERE f.value ->> 'rule' IN ('futex-stall', 'hang')
		AND p.value ->> 'part' <> 'waiter' AND p.value ->> 'tid' IN ($2)")" = 1 ] && return
	sqlite3 :memory: "SELECT f.value ->> 'rule', f.value ->> 'class', f.value ->> 'headline' FROM $findings"
	return 1
}
starved_by_children() { # FEEDER: a finding says so, and no other one of it does
	sqlite3 :memory: "SELECT f.value ->> 'headline' FROM json_each((SELECT value ->> '$.findings' FROM json_each(CAST(readfile('$TMP/waits.json') AS TEXT),
		'$.reports'))) f WHERE f.value ->> 'rule' = 'starved' AND f.value ->> 'tid' = $1" >"$TMP/rows"
	cat "$TMP/rows"
	[ "$(wc -l <"$TMP/rows")" = 1 ] && grep -q ' for [0-9]* of its children, most for ' "$TMP/rows"
}
check "a Python program that waits in many ways is recorded" waits
"$BUILD/gpuanalyze" -q --json "$cap" >"$TMP/waits.json"
while read -r way feeder whom ns; do
	if [ "$feeder" = 0 ]; then
		skip "$way: for whom it waits" "there is none here: $ns"
		continue
	fi
	at_work="'on-cpu', 'waiting-for-cpu', 'throttled', 'unknown'"
	case $way in
	wait4)
		check "$way: its children have most of the time that it waited" none "SELECT ns FROM (SELECT coalesce(sum(w.ns), 0) AS ns
			FROM ledger_waited w JOIN threads t ON t.thread = w.for_thread JOIN processes p ON p.process = t.process
			WHERE w.thread IN (SELECT thread FROM ledger WHERE tid = $feeder AND fed > 0) AND w.part = 'task'
				AND p.ppid = (SELECT pid FROM threads JOIN processes USING (process) WHERE tid = $feeder))
			WHERE ns < $ns / 2"
		check "$way: a finding names its children" starved_by_children "$feeder"
		continue
		;;
	stopped) at_work="'stopped'" percent=80 ;;
	# Each time that the interpreter lock is asked for the host may take the CPU for as long as is waited.
	gil*) percent=50 ;;
	# Before it sleeps it spins for the memory map, in the kernel.
	memory_map) percent=50 ;;
	*) percent=80 ;;
	esac
	check "$way: most of the time that it waited is of whom it waited for" for_whom "$feeder" "$whom" "$ns" "$percent" "$at_work"
	check "$way: and nobody else has much of it" others "$feeder" "$whom" "$ns"
	check "$way: a finding names that one, and nobody else" named "$feeder" "$whom"
done <"$TMP/waits"
"$BUILD/gpuanalyze" --report "$cap" >"$TMP/report"
longest=$(awk '$1 == "gil_long" {print $3}' "$TMP/waits")
check "the report names who kept them waiting longest, and what it did" \
	grep -Eq "^ +for $longest python3 \([0-9.]+ s(: [^)]*(at work|without a CPU)[^)]*)?\)" "$TMP/report"
finish
