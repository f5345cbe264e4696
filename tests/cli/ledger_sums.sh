#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Where the time went adds up to the nanosecond, of random rows that contradict each other, with rows lost; and in what is
# left of such captures, too: of a slice, of one process, and where classes of content are withheld. In the database, in
# the report, thread by thread and second by second; and both agree.
. "$(dirname "$0")/lib.sh"

if ! command -v sqlite3 >/dev/null; then
	skip "the time of threads adds up" "no sqlite3 here"
	finish
fi
here=$(cd "$(dirname "$0")/.." && pwd)
cd "$TMP" || exit 1
mkdir -p "$GPUREC_HOME/trust" && chmod 700 "$GPUREC_HOME" "$GPUREC_HOME/trust" || exit 1
seeds=24 # 22 has a thread whose process has no row
case ${LONG:-}$BUILD in 1*) seeds=200 ;; /*/asan) seeds=3 ;; esac

# Where sums differ in the database: nothing. Threads that have a ledger, and have unknown time: how many.
wrong="SELECT 'time of ' || thread FROM ledger GROUP BY thread, begin_ns HAVING sum(ns) <> end_ns - begin_ns
UNION ALL SELECT 'seconds of ' || thread FROM (SELECT thread, part, sum(ns) FROM ledger GROUP BY 1, 2
	EXCEPT SELECT thread, part, sum(ns) FROM ledger_seconds GROUP BY 1, 2)
UNION ALL SELECT 'for whom ' || thread || ' waited' FROM
	(SELECT thread, begin_ns, part, ns FROM ledger WHERE part IN (SELECT part FROM ledger_waited)
	EXCEPT SELECT thread, begin_ns, part, sum(ns) FROM ledger_waited GROUP BY 1, 2, 3)
UNION ALL SELECT 'what they did for whom ' || thread || ' waited' FROM
	(SELECT thread, begin_ns, part, for_tid, for_thread, ns FROM ledger_waited
	EXCEPT SELECT thread, begin_ns, part, for_tid, for_thread, sum(ns) FROM ledger_did GROUP BY 1, 2, 3, 4, 5)"
report="WITH report(l) AS (SELECT json_extract(CAST(readfile('run.json') AS TEXT), '$.reports[0].ledger'))"
wrong_in_report="$report SELECT 'parts' FROM report WHERE l ->> 'total_ns' <> (SELECT sum(value) FROM json_each(l ->> 'parts'))
UNION ALL SELECT 'time of ' || (t.value ->> 'tid') FROM report, json_each(l ->> 'by_thread') t WHERE t.value ->> 'end_ns' -
	t.value ->> 'begin_ns' <> (SELECT sum(p.value) FROM json_each(t.value ->> 'parts') p)
UNION ALL SELECT 'threads' FROM report WHERE l ->> 'total_ns' <>
	(SELECT sum(p.value) FROM json_each(l ->> 'by_thread') t, json_each(t.value ->> 'parts') p)
UNION ALL SELECT 'seconds' FROM report WHERE l ->> 'total_ns' <>
	(SELECT sum(p.value) FROM json_each(l ->> 'by_second') s, json_each(s.value ->> 'parts') p)"
differs="$report SELECT 'in the database: ' || part FROM (SELECT part, sum(ns) FROM ledger WHERE fed > 0 GROUP BY part
	EXCEPT SELECT key, value FROM report, json_each(l ->> 'parts'))
UNION ALL SELECT 'in the report: ' || key FROM (SELECT key, value FROM report, json_each(l ->> 'parts') WHERE value > 0
	EXCEPT SELECT part, sum(ns) FROM ledger WHERE fed > 0 GROUP BY part)"

# adds_up CAPTURE: false, and what does not
adds_up() {
	local found
	"$BUILD/gpureplay" -q --force "$1" -o run.db && "$BUILD/gpuanalyze" -q --json "$1" >run.json || return 1
	found=$(sqlite3 run.db "$wrong; $wrong_in_report; $differs") || return 1
	[ -z "$found" ] || { echo "$1: $found"; return 1; }
	sqlite3 -separator ' ' run.db "SELECT count(*), sum(part = 'unknown' AND ns > 0), sum(part NOT IN ('unknown', 'open') AND ns > 0) FROM ledger" |
		awk '{ exit !($1 > 0 && $2 > 0 && $3 > 0) }' || { echo "$1: no thread, or nothing is known, or all is"; return 1; }
}
# adds_up_left OPTION...: the same in what these leave of each
adds_up_left() {
	local whole left
	for whole in ${captures:-[0-9]*.cap}; do
		left=left-$whole
		"$BUILD/gpureplay" -q --force "$@" "$whole" -o "$left" && "$BUILD/gpuverify" -q "$left" && adds_up "$left" || return 1
	done
}

for seed in $(seq $seeds); do
	awk -v n=3000 -v seed="$seed" -f "$here/tools/nonsense.awk" >"$seed.script" || exit 1
	"$BUILD/tests/mkcap" -o "$seed.cap" --pub "$GPUREC_HOME/trust/lab.pub" "$seed.script" || exit 1
done
all_add_up() {
	local whole
	for whole in [0-9]*.cap; do adds_up "$whole" || return 1; done
}
check "rows are lost in each of $seeds captures" sh -c '[ "$(grep -l ^lost ./*.script | wc -l)" = "$0" ]' "$seeds"
check "the time of each thread adds up" all_add_up
check "in a slice" adds_up_left --from=+0.2s --to=+0.9s
check "without processes" adds_up_left --withhold=process
check "without arguments and paths" adds_up_left --withhold=arguments,path
check "in a slice without processes and symbols" adds_up_left --withhold=process,symbol --from=+0.35s
captures=$(seq -f %g.cap 1 2 $seeds) check "of one process" adds_up_left --pid=110
finish
