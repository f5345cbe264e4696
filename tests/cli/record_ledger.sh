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
check "hardly any is unknown" none "SELECT tid, ns FROM ledger WHERE part = 'unknown' AND ns > (end_ns - begin_ns) / 20"
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
finish
