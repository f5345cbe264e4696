#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# --max-size, --max-rate, --sample: what a recording may cost, and what it then says of what it left out.
. "$(dirname "$0")/lib.sh"
gpurec=$BUILD/gpurec
driver=$BUILD/workload/driver
cap=$TMP/run.cap

check_exit 2 "a sample of no kind is refused" "$gpurec" -o "$cap" --sample launches=10 -- true
check_says 'launch, alloc' "with the kinds that there are"
check_exit 2 "so is one in no number" "$gpurec" -o "$cap" --sample launch=often -- true
check_exit 2 "so is one of what is never left out" "$gpurec" -o "$cap" --sample exit=2 -- true
check_exit 2 "so is one in 0" "$gpurec" -o "$cap" --sample launch=0 -- true
check_exit 2 "a rate of 0 is refused" "$gpurec" -o "$cap" --max-rate 0 -- true
check_exit 2 "a size of 5x is refused" "$gpurec" -o "$cap" --max-size 5x -- true
check_exit 2 "so is one in which nothing has room" "$gpurec" -o "$cap" --max-size 100K -- true
check "none of this left a file" test ! -e "$cap"
needs_recording "real budgets"

# as_called: for each function recorded + lost is what the program says it called
as_called() {
	rm -f "$TMP/view.db"
	"$BUILD/gpureplay" -q "$cap" -o "$TMP/view.db" || return
	sqlite3 -readonly "$TMP/view.db" "SELECT key, json_extract(value, '\$.calls'), recorded, lost
		FROM json_each(CAST(readfile('$TMP/truth.json') AS TEXT), '\$.functions') LEFT JOIN probe_counts ON name = key
		WHERE json_extract(value, '\$.kind') <> 'other'
			AND json_extract(value, '\$.calls') IS NOT recorded + lost" >"$TMP/rows" || return
	cat "$TMP/rows"
	[ ! -s "$TMP/rows" ]
}
is() { # QUERY: gives 1
	local got
	got=$(sqlite3 -readonly "$TMP/view.db" "$1") || return
	echo "$got"
	[ "$got" = 1 ]
}

check_exit 0 "one launch in ten is recorded" \
	"$gpurec" -o "$cap" --sample launch=10 -- "$driver" -q --flood 3000 --threads 2 --truth "$TMP/truth.json"
check_says 'left out by --sample' "the summary says how many were left out"
check_exit 0 "the capture verifies" "$BUILD/gpuverify" "$cap"
check "for each function recorded + lost is what was called" as_called
check "the capture says what it left out" is \
	"SELECT count(*) FROM reductions r JOIN kinds k ON k.kind = r.of_kind WHERE k.name = 'launch' AND keep = 10"
check "about a tenth of the launches are there" is \
	"SELECT count(*) BETWEEN 200 AND 1500 FROM calls JOIN kinds k USING (kind) WHERE k.name = 'launch'"
check "and every allocation" is "SELECT sum(lost) = 0 FROM probe_counts WHERE name LIKE 'cudaMalloc%'"

check_exit 0 "at most 500 events a second are recorded" \
	"$gpurec" -o "$cap" --force --max-rate 500 -- "$driver" -q --flood 3000 --threads 2 --truth "$TMP/truth.json"
check_says 'left out by --max-rate' "the summary says so"
check_exit 0 "it verifies" "$BUILD/gpuverify" "$cap"
check "recorded + lost is what was called" as_called
check "the rate is told" is "SELECT count(*) FROM reductions WHERE of_kind = 0 AND rate = 500"
slow_enough() { # no second has many more
	sqlite3 -readonly "$TMP/view.db" "SELECT at_ns / 1000000000 AS s, count(*) FROM calls GROUP BY s
		HAVING count(*) > 1500" >"$TMP/rows" && cat "$TMP/rows" && [ ! -s "$TMP/rows" ]
}
check "and kept" slow_enough

check_exit 0 "a recording ends before it is larger than 1 MiB" \
	"$gpurec" -o "$cap" --force --max-size 1M -- "$driver" -q --flood 30000 --threads 2 --truth "$TMP/truth.json"
check_says 'the asked size was reached' "and says why"
check "it is not larger" test "$(stat -c %s "$cap")" -le 1048576
check "but not much smaller either" test "$(stat -c %s "$cap")" -ge 500000
check_exit 0 "it verifies" "$BUILD/gpuverify" "$cap"
check_prints 'the asked size was reached' "and its END tells the reason"
"$gpurec" -q -o "$TMP/more.cap" --max-size 1M -d 1s -- sleep 0.1
check_exit 0 "a small one ends for another reason" "$BUILD/gpuverify" "$TMP/more.cap"
check_prints 'the command ended' "which it names"
is_gone() { ! pgrep -f "$TMP/truth.json"; }
until_true is_gone
total() { cat "$TMP"/turn-*.cap | wc -c; }
check_exit 0 "with rotation the size is that of all captures together" \
	"$gpurec" -o "$TMP/turn.cap" --rotate 1s --max-size 1M -- "$driver" -q --flood 30000 --threads 2 --truth "$TMP/truth.json"
check "which is kept" test "$(total)" -le 1048576
check_exit 0 "all verify" "$BUILD/gpuverify" "$TMP"/turn-*.cap
until_true is_gone
finish
