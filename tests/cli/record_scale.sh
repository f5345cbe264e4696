#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Many at once: two thousand threads that call side by side, and two hundred processes a second that live for a moment.
# recorded + lost = made, for each function and each process instance.
. "$(dirname "$0")/lib.sh"
gpurec=$BUILD/gpurec driver=$BUILD/workload/driver
cap=$TMP/run.cap
threads=2000
rate=200 seconds=3

if [ "$(id -u)" != 0 ] || ! "$gpurec" --check >"$TMP/check" 2>&1; then
	skip "many at once" "this machine cannot record"
	finish
fi

view() {
	rm -f "$TMP/view.db"
	"$BUILD/gpureplay" -q "$cap" -o "$TMP/view.db"
}
ask() { sqlite3 -readonly "$TMP/view.db" "$1"; }
is() {
	local got
	got=$(ask "$1") || return
	echo "$got"
	[ "$got" = 1 ]
}

check_exit 0 "$threads threads that call side by side are recorded" \
	"$gpurec" -q -o "$cap" -- "$driver" -q --flood 20000 --threads $threads --truth "$TMP/truth.json"
check_exit 0 "the capture verifies" "$BUILD/gpuverify" "$cap"
check "it becomes a database" view
check "for each function recorded + lost is what was called" is "SELECT count(*) = 0 AND (SELECT sum(recorded) FROM probe_counts) > 50000
	FROM json_each(CAST(readfile('$TMP/truth.json') AS TEXT), '\$.functions') LEFT JOIN probe_counts ON name = key
	WHERE json_extract(value, '\$.kind') <> 'other' AND json_extract(value, '\$.calls') IS NOT recorded + lost"
check "calls of all threads are there, where none was lost" is \
	"SELECT (SELECT count(DISTINCT tid) FROM calls) >= $threads OR (SELECT sum(lost) FROM probe_counts) > 0"

# Each process makes its own number of calls: 1 to 5 turns. Processes at a steady rate, for some seconds.
short=$TMP/short
cat >"$short" <<END
#!/bin/bash
n=$((rate * seconds))
start=\${EPOCHREALTIME/./}
for ((i = 0; i < n; i++)); do
	"$driver" -q --flood \$((i % 5 + 1)) --threads 1 &
	due=\$((start + (i + 1) * 1000000 / $rate)) now=\${EPOCHREALTIME/./}
	[ \$due -le \$now ] || sleep "0.\$(printf %06d \$((due - now)))"
	[ \$((i % 40)) -ne 39 ] || wait
done
wait
END
chmod +x "$short"
check_exit 0 "$rate processes a second for $seconds seconds are recorded" "$gpurec" -q --force -o "$cap" -- "$short"
check_exit 0 "it verifies" "$BUILD/gpuverify" "$cap"
check "it becomes a database, too" view
check "each process instance has the calls that it made, or losses say what is missing" is \
	"WITH per AS (SELECT process, count(*) n FROM calls WHERE kind = 2 AND flags & 1 = 0 GROUP BY process)
	SELECT (SELECT count(*) FROM per) = $((rate * seconds)) AND (SELECT sum(n) FROM per) = $((rate * seconds * 3))
		OR (SELECT sum(lost) FROM probe_counts) > 0"
lost=$(ask "SELECT sum(lost) FROM probe_counts")
echo "# $((rate * seconds)) processes, $(ask "SELECT count(*) FROM calls") calls, $lost lost"
check "numbers of turns are told apart: as many processes of each" is \
	"SELECT count(*) = 0 FROM (SELECT n, count(*) c FROM (SELECT process, count(*) n FROM calls WHERE kind = 2 AND flags & 1 = 0 GROUP BY process)
	GROUP BY n HAVING c <> $((rate * seconds / 5))) WHERE $lost = 0"
finish
