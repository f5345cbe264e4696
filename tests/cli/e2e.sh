#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The whole road, from a traced process to the report, with the real programs: what the README promises.
# alone: the report finds a recorded program that waits for the CPU of another test, and nobody planted that
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/truth.sh"
driver=$BUILD/workload/driver
cap=$TMP/run.cap
runs=${E2E_RUNS:-${LONG:+20}} runs=${runs:-2} # 20 with LONG=1

if ! "$BUILD/gpurec" --check -o "$TMP/x.cap" >"$TMP/check" 2>&1; then
	skip "a process is recorded, verified, queried and explained" "$(grep -m1 -v '^ok' "$TMP/check")"
	finish
fi

record() {
	local out=$1
	shift
	"$BUILD/gpurec" -q -o "$out" "$@"
}

lost_is() {
	local is
	is=$(sqlite3 -readonly "$1" "SELECT coalesce(sum(num), 0) $2 FROM lost WHERE probe LIKE '%cuda%'") || return
	echo "$is"
	[ "$is" = 1 ]
}

# An easy run ---------------------------------------------------------------------------------------------------------
check "a command is recorded" record "$cap" -- "$driver" -q --seconds 4 --truth "$TMP/truth.json"
check_exit 0 "the capture verifies" "$BUILD/gpuverify" "$cap"
check_prints '^OK ' "the first word is OK"
check_prints 'lost +nothing' "nothing is lost"
check "stock lz4 reads it" lz4 -tq "$cap"
check "stock lz4 reads it from a pipe" sh -c 'cat "$1" | lz4 -dc >"$2" && [ -s "$2" ]' sh "$cap" "$TMP/raw"
check "the view is made" "$BUILD/gpureplay" -q "$cap" -o "$TMP/run.db"
check "for each kind the view counts what the program says it did" same_counts "$TMP/run.db" "$TMP/truth.json"
check "for each function recorded + lost is what was called" nothing_unaccounted "$TMP/run.db" "$TMP/truth.json"

# A flood -------------------------------------------------------------------------------------------------------------
check "a flood into a tiny ring is recorded" \
	record "$TMP/flood.cap" --ring 8K -- "$driver" -q --flood 20000 --threads 4 --truth "$TMP/flood.json"
check_exit 0 "it verifies" "$BUILD/gpuverify" "$TMP/flood.cap"
check "the view of it is made" "$BUILD/gpureplay" -q "$TMP/flood.cap" -o "$TMP/flood.db"
check "calls are lost" lost_is "$TMP/flood.db" '> 0'
check "for each function recorded + lost is what was called, still" \
	nothing_unaccounted "$TMP/flood.db" "$TMP/flood.json"

# What others do to it ------------------------------------------------------------------------------------------------
bad_verdict() {
	"$BUILD/gpuverify" "$1" >"$TMP/said" 2>&1
	case $? in
	1) grep -q '^FORGED ' "$TMP/said" ;;
	4) grep -q '^MALFORMED ' "$TMP/said" ;;
	*) return 1 ;;
	esac
}
size=$(stat -c %s "$cap")
for at in 3 600 $((size / 3)) $((size / 2)) $((size - 1)); do
	cp "$cap" "$TMP/flip.cap" && flip_byte "$TMP/flip.cap" "$at" 1
	check "byte $at changed: FORGED or MALFORMED" bad_verdict "$TMP/flip.cap"
done
head -c $((size / 2)) "$cap" >"$TMP/cut.cap"
check_exit 5 "a cut is UNSEALED" "$BUILD/gpuverify" "$TMP/cut.cap"
check_prints '^UNSEALED ' "and called so"
check_exit 6 "a machine with another trust store calls it UNTRUSTED" \
	env GPUREC_HOME="$TMP/elsewhere" "$BUILD/gpuverify" "$cap"
check_prints '^UNTRUSTED ' "and by that word"

# kill -9 -------------------------------------------------------------------------------------------------------------
"$BUILD/gpurec" -q -o "$TMP/killed.cap" -d 60s -- \
	sh -c 'echo $$ >"$0" && exec "$@"' "$TMP/driver.pid" "$driver" -q --seconds 60 &
sealed() { "$BUILD/gpuverify" --json "$TMP/killed.cap" | grep -Eq '"epochs":([4-9]|[1-9][0-9])'; }
until_true sealed # four epochs, however long the recorder took to begin
kill -9 $!
kill -9 "$(cat "$TMP/driver.pid")"
wait $! 2>/dev/null
check_exit 5 "killed, it leaves an UNSEALED capture" "$BUILD/gpuverify" "$TMP/killed.cap"
check_prints 'first ([4-9]|[1-9][0-9]) epochs' "of which all but the last second is authentic"
check_exit 0 "which can be replayed" "$BUILD/gpureplay" "$TMP/killed.cap"
check_says 'UNSEALED' "and is called so"
check_exit 0 "and queried" "$BUILD/gpureplay" "$TMP/killed.cap" -o "$TMP/killed.db"
check_exit 0 "and analysed" "$BUILD/gpuanalyze" "$TMP/killed.cap" --report
check_prints 'UNSEALED' "the report says it too"

# The causes ----------------------------------------------------------------------------------------------------------
# scored CAPTURE TRUTH: every planted fault is found with its cause and its culprit, and nothing else
scored() {
	"$BUILD/gpuanalyze" -q "$1" --json >"$TMP/report.json" && "$BUILD/tests/score" "$2" "$TMP/report.json"
}
scored_run() {
	rm -f "$TMP/n.cap"
	record "$TMP/n.cap" -- "$driver" -q --seconds 3 --seed "$1" --truth "$TMP/n.json" && scored "$TMP/n.cap" "$TMP/n.json"
}
check "the report names the faults, their causes and culprits" scored "$cap" "$TMP/truth.json"
cp "$TMP/report.json" "$TMP/first.json"
check "and a second time" scored "$cap" "$TMP/truth.json"
check "with the same bytes" cmp "$TMP/first.json" "$TMP/report.json"
for i in $(seq "$runs"); do
	check "run $i of $runs: nobody wrong is blamed" scored_run "$i"
done

check "a clean run is recorded" record "$TMP/clean.cap" -- "$driver" -q --clean --seconds 4 --truth "$TMP/clean.json"
check_exit 0 "its report is made" "$BUILD/gpuanalyze" "$TMP/clean.cap" --report
check_prints 'No problem was found' "and reports nothing"
check "not in JSON either" scored "$TMP/clean.cap" "$TMP/clean.json"
finish
