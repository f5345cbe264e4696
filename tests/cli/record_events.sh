#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Events of the host: page faults, what threads sleep in, futexes with two addresses; and what is left out on purpose.
. "$(dirname "$0")/lib.sh"
gpurec=$BUILD/gpurec
cap=$TMP/run.cap
view=$TMP/view.db
driver=$BUILD/workload/driver

needs_recording "events of the host"
if [ ! -x "$BUILD/workload/sleeps" ]; then
	skip "events of the host" "the programs that make them are not built here"
	finish
fi

# record COMMAND...: a capture, its events, and its view
options=()
record() {
	rm -f "$cap" "$view"
	"$gpurec" -q -o "$cap" "${options[@]}" -- "$@" >"$TMP/made" && "$BUILD/gpureplay" -q "$cap" -o "$view" &&
		"$BUILD/gpureplay" -q --json "$cap" >"$TMP/events"
}
ask() { sqlite3 -readonly "$view" "$1"; }
has() { grep "\"kind\":\"$1\"" "$TMP/events" | grep "$2" | grep -q "$3"; }

check "a program that sleeps in all manners is recorded" record "$BUILD/workload/sleeps"
if grep -q 'page_fault_user' "$TMP/events" || grep -q 'no userfaultfd' "$TMP/made"; then
	skip "a page fault in which a thread slept" "this kernel does not report it of page faults, or has no userfaultfd"
else
	fault_lasted() { # at least 20 ms, at the address that was touched
		grep '"kind":"fault"' "$TMP/events" | grep "\"addr\":\"$(sed -n 's/^fault //p' "$TMP/made")\"" |
			grep -Eq '"dur":([2-9][0-9]{7}|[1-9][0-9]{8,})[,}]'
	}
	check "a page fault in which a thread slept is told, with its address and how long it took" fault_lasted
	check "and the thread is seen to sleep in it" has switch '"prev_syscall":0' '"prev_flags":2[,}]'
fi
in_system_call() { has switch "\"prev_syscall\":$(sed -n 's/^syscall //p' "$TMP/made")[,}]" '"prev_state":\(1\|8193\)[,}]'; } # interruptible; freezable as well
check "a thread that sleeps in a system call is told with its number" in_system_call
two_addresses() {
	local op addr
	while read -r _ op addr; do
		has futex "\"op\":$op," "\"addr2\":\"$addr\"" || { echo "no futex $op with $addr"; return 1; }
	done < <(grep '^futex' "$TMP/made")
	[ "$(grep -c '^futex' "$TMP/made")" = 3 ]
}
check "futex calls tell their second address, where they have one" two_addresses

# Left out on purpose ------------------------------------------------------------------------------------------------
exact() { # what fired was recorded or is lost for a reason, for every probe
	ask "SELECT * FROM probe_counts WHERE fired <> recorded + lost" >"$TMP/wrong"
	cat "$TMP/wrong"
	[ ! -s "$TMP/wrong" ]
}
recorded() { ask "SELECT sum(recorded) FROM probe_counts WHERE name LIKE '$1'"; }
fired() { ask "SELECT sum(fired) FROM probe_counts WHERE name LIKE '$1'"; }
lost_as() { grep '"kind":"\(lost\|left_out\|open\|incomplete\)"' "$TMP/events" | grep -c "\"cause\":\"$1\""; }

options=(--sample launch=10)
check "one in ten launches is recorded" record "$driver" -q --flood 3000 --threads 2 --truth "$TMP/truth.json"
a_tenth() {
	local n all
	n=$(recorded '%cudaLaunch%') all=$(fired '%cudaLaunch%')
	echo "$n of $all"
	[ "$all" -ge 3000 ] && [ "$n" -gt $((all / 14)) ] && [ "$n" -lt $((all / 7)) ]
}
check "about a tenth of them" a_tenth
check "the sums are exact all the same" exact
check "and the reason is counted" test "$(lost_as sampled_out)" -gt 0
follow() { # calls of the same kind inside a call share its fate
	local runtime driver
	runtime=$(recorded '%cudaLaunch%') driver=$(recorded 'cuLaunch%')
	echo "$runtime launches, $driver of the driver inside them"
	[ "$runtime" -gt 0 ] && [ "$runtime" = "$driver" ]
}
check "a launch of the driver is left out with the launch around it" follow
check "calls of other kinds are all recorded" test "$(recorded 'cudaMalloc%')" = "$(fired 'cudaMalloc%')"
made() { # as many as the program says it made, though not recorded
	local is
	is=$(sqlite3 :memory: "SELECT json_extract(CAST(readfile('$TMP/truth.json') AS TEXT), '\$.kinds.launch.calls')")
	[ "$is" = "$(fired '%cudaLaunch%')" ]
}
check "and as many launches are counted as were made" made

options=(--max-rate 2000)
check "with a limit of 2000 events a second a flood is recorded" record "$driver" -q --flood 4000 --threads 2
limited() { # in no second more than that; names and lives are not counted
	awk '
		/"kind":"(launch|alloc|free|copy|set|wait|stream|switch|waking|futex|fault)"/ {
			match($0, /"at":[0-9]+/)
			n[substr($0, RSTART + 5, RLENGTH - 14)]++
		}
		END { for (s in n) { print s, n[s]; if (n[s] > most) most = n[s] } exit !(most > 500 && most <= 2020) }
	' "$TMP/events"
}
check "and in no second more" limited
check "the sums are exact then, too" exact
check "and that reason is counted" test "$(lost_as over_rate)" -gt 0
finish
