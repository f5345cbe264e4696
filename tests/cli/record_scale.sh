#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Many at once: two thousand threads that call side by side, and two hundred processes a second that live for a moment.
# recorded + lost = made, for each function and each process instance.
# alone: processes have to start at a given rate
. "$(dirname "$0")/lib.sh"
gpurec=$BUILD/gpurec driver=$BUILD/workload/driver
cap=$TMP/run.cap
threads=2000
rate=200 seconds=3
load=$(cut -d. -f1 /proc/loadavg) # of others: nothing of ours runs yet

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
# Each thread makes 10 turns of 6 calls: one that is missing has lost them all.
check "a thread is missing only where that many calls were lost" is \
	"SELECT 60 * ($threads - (SELECT count(DISTINCT thread) FROM calls JOIN threads USING (thread)
		WHERE name LIKE 'flood-%')) <= (SELECT sum(lost) FROM probe_counts
		WHERE name IN (SELECT key FROM json_each(CAST(readfile('$TMP/truth.json') AS TEXT), '\$.functions')))"

# Each process makes its own number of calls, 1 to 5 turns, and says what it made. Processes at a steady rate, for some seconds.
short=$TMP/short
cat >"$short" <<END
#!/bin/bash
n=$((rate * seconds))
start=\${EPOCHREALTIME/./}
for ((i = 0; i < n; i++)); do
	"$driver" -q --flood \$((i % 5 + 1)) --threads 1 --truth "$TMP/truth/\$i.json" &
	due=\$((start + (i + 1) * 1000000 / $rate)) now=\${EPOCHREALTIME/./}
	[ \$due -le \$now ] || sleep "0.\$(printf %06d \$((due - now)))" # speed: processes come at a given rate
done
echo \$((\${EPOCHREALTIME/./} - start)) >"$TMP/took"
wait
END
chmod +x "$short"
# Nine tenths of the rate at least. A machine that others keep busy gets two more tries, and may be too slow for it.
for try in 1 ${LONG:+2 3}; do
	rm -rf "$TMP/truth"
	mkdir "$TMP/truth"
	check_exit 0 "$rate processes a second for $seconds seconds are recorded (try $try)" "$gpurec" -q --force -o "$cap" -- "$short"
	took=$(cat "$TMP/took")
	echo "# $((rate * seconds)) processes in $((took / 1000)) ms"
	[ "$took" -gt $((seconds * 1100000)) ] || break
done
if [ -z "${LONG:-}" ]; then
	: # the rate is a measurement, for `make test-long`; the sums below are exact at any rate
elif [ "$took" -gt $((seconds * 1100000)) ] && [ "$load" -ge $(($(nproc) * 2)) ]; then
	skip "they came that fast" "others keep this machine busy: $load programs want its $(nproc) CPUs"
else
	check "they came that fast" test "$took" -le $((seconds * 1100000))
fi
check "each said what it made" test "$(find "$TMP/truth" -type f -size +0 | wc -l)" = $((rate * seconds))
check_exit 0 "it verifies" "$BUILD/gpuverify" "$cap"
check "it becomes a database, too" view
check "what each made and what was recorded of each stand side by side" sqlite3 "$TMP/view.db" "
	CREATE TABLE made AS SELECT json_extract(t, '\$.pid') pid, json_extract(t, '\$.begin_ns') begin_ns, key name,
			json_extract(value, '\$.calls') n
		FROM (SELECT CAST(readfile('$TMP/truth/' || value || '.json') AS TEXT) t FROM generate_series(0, $((rate * seconds - 1)))),
			json_each(t, '\$.functions') WHERE json_extract(value, '\$.kind') <> 'other';
	CREATE TABLE got AS SELECT p.process, p.pid, p.start_ns, p.end_ns, c.name, count(*) n
		FROM calls JOIN processes p USING (process) JOIN probe_counts c USING (probe) GROUP BY p.process, c.name;
	CREATE INDEX got_pid ON got(pid, name);"
check "over all processes recorded + lost is what was made, for each function" is "SELECT count(*) = 0 AND (SELECT count(*) FROM made) > 0
	FROM (SELECT name, sum(n) n FROM made GROUP BY name) m LEFT JOIN probe_counts USING (name) WHERE m.n IS NOT recorded + lost"
# A number that comes round is of another instance: the one that lived when its program began.
check "no process instance has a call that it did not make" is "SELECT count(*) = 0 FROM got LEFT JOIN made
	ON made.pid = got.pid AND made.name = got.name AND begin_ns BETWEEN got.start_ns AND coalesce(got.end_ns, begin_ns)
	WHERE got.name IN (SELECT name FROM made) AND (made.n IS NULL OR got.n > made.n)"
# What instances lack is what was counted as lost, for each function: with no loss each has all of its own.
check "and what instances lack is what was lost, for each function" is "SELECT count(*) = 0 FROM
	(SELECT made.name, sum(made.n - coalesce(got.n, 0)) lack FROM made LEFT JOIN got ON made.pid = got.pid AND made.name = got.name
		AND begin_ns BETWEEN got.start_ns AND coalesce(got.end_ns, begin_ns) GROUP BY made.name) JOIN probe_counts USING (name)
	WHERE lack <> lost"
lost=$(ask "SELECT sum(lost) FROM probe_counts")
echo "# $((rate * seconds)) processes, $(ask "SELECT count(*) FROM calls") calls, $lost lost"
finish
