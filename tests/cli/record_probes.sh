#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every function of the probe table: it fires, it is counted, and what it was given is told.
. "$(dirname "$0")/lib.sh"
gpurec=$BUILD/gpurec
cap=$TMP/run.cap
view=$TMP/view.db

needs_recording "the probe table against libraries"
if [ ! -x "$BUILD/workload/every/every" ]; then
	skip "the probe table against libraries" "the test double is not built here"
	finish
fi

# record COMMAND...: a capture, and its view
record() {
	rm -f "$cap" "$view"
	"$gpurec" -q -o "$cap" "${options[@]}" -- "$@" >"$TMP/made" && "$BUILD/gpureplay" -q "$cap" -o "$view"
}
options=()
ask() { sqlite3 -readonly "$view" "$1"; }

# All of them ---------------------------------------------------------------------------------------------------------
check "a program that calls every function of the table is recorded" record "$BUILD/workload/every/every" 3
cp "$TMP/made" "$TMP/every.made"
is_counted() { # each as often as the program says, and nothing was lost
	ask "SELECT name, recorded FROM probe_counts WHERE lost = 0 AND incomplete = 0" | tr '|' ' ' | sort >"$TMP/counted"
	sort "$TMP/every.made" | comm -23 - "$TMP/counted" >"$TMP/missing"
	head "$TMP/missing"
	[ "$(wc -l <"$TMP/every.made")" -gt 400 ] && [ ! -s "$TMP/missing" ]
}
check "each as often as it was called, with all its arguments" is_counted
rows_are_counted() { # as many rows of a kind as its probes have recorded
	"$BUILD/gpureplay" -q --json "$cap" | awk '
		/"ret":/ && match($0, /"probe":"[^"]*"/) { n[substr($0, RSTART + 9, RLENGTH - 10)]++ }
		END { for (p in n) print p, n[p] }' | sort >"$TMP/rows"
	sort "$TMP/every.made" | comm -23 - "$TMP/rows" >"$TMP/missing"
	head "$TMP/missing"
	[ ! -s "$TMP/missing" ]
}
check "and each of them is a row of its own" rows_are_counted

# What they are given -------------------------------------------------------------------------------------------------
check "a program that passes arguments in all manners is recorded" record "$BUILD/workload/every/typed"
are_told() {
	"$BUILD/gpureplay" -q --json "$cap" >"$TMP/events" || return
	awk '
		FNR == NR { if (/"ret":/ && match($0, /"probe":"[^"]*"/)) row[substr($0, RSTART + 9, RLENGTH - 10)] = $0; next }
		{
			for (i = 2; i <= NF; i++) {
				split($i, part, "=")
				quoted = "\"" part[1] "\":\"" part[2] "\""
				plain = "\"" part[1] "\":" part[2] "[,}]"
				if (!index(row[$1], quoted) && row[$1] !~ plain) {
					print $1 ": wanted " $i " in " row[$1]
					wrong++
				}
				n++
			}
		}
		END { print n, "values"; exit !(n > 100 && !wrong) }
	' "$TMP/events" "$TMP/made"
}
check "and each value is told as it was passed: in registers, on the stack, by value, behind pointers" are_told

# Nesting -------------------------------------------------------------------------------------------------------------
check "a program is recorded whose runtime calls the driver" \
	record "$BUILD/workload/driver" -q --flood 200 --threads 2 --truth "$TMP/truth.json"
counted_twice_told_once() { # the driver's calls, by the double's own count, all of them inside another
	sqlite3 -readonly "$view" "SELECT key, value, recorded FROM json_each(CAST(readfile('$TMP/truth.json') AS TEXT),
		'\$.driver_functions') LEFT JOIN probe_counts ON name = key WHERE value IS NOT recorded AND recorded IS NOT NULL" \
		>"$TMP/wrong"
	cat "$TMP/wrong"
	"$BUILD/gpureplay" -q --json "$cap" | awk '
		!/"ret":/ { next }
		/"probe":"cu[A-Z]/ { /"flags":1[,}]/ ? nested++ : bare++ }
		/"probe":"(__)?cuda[A-Z]/ { /"flags":0[,}]/ ? outer++ : wrong++ }
		END { print nested + 0, bare + 0, outer + 0, wrong + 0; exit !(nested > 1000 && outer > 1000 && !bare && !wrong) }
	' && [ ! -s "$TMP/wrong" ]
}
check "its driver calls are counted, and marked as parts of the runtime's" counted_twice_told_once
finish
