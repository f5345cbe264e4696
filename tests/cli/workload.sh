#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The test double and the program that plants faults: what the tests of recording and analysis rely on.
. "$(dirname "$0")/lib.sh"
driver=$BUILD/workload/driver
truth=$TMP/truth.json

if [ ! -x "$driver" ]; then
	skip "the workload does what it says" "it is not built with sanitizers"
	finish
fi

# truth_is VALUE PATH: what the truth has at that JSON path
truth_is() {
	local is
	is=$(sqlite3 :memory: "SELECT json_extract(CAST(readfile('$truth') AS TEXT), '$2')") || return
	echo "$2 is $is, wanted $1"
	[ "$is" = "$1" ]
}

# planted_is COUNT FAULT
planted_is() {
	local is
	is=$(sqlite3 :memory: "SELECT count(*) FROM json_each(CAST(readfile('$truth') AS TEXT), '\$.faults')
		WHERE json_extract(value, '\$.fault') = '$2'") || return
	echo "$is times $2, wanted $1"
	[ "$is" = "$1" ]
}

# The hog has the CPU for 14 ms or more each time; the feeder naps for 1 ms of it at most.
loss_is_told() {
	local is
	is=$(sqlite3 :memory: "SELECT f ->> '\$.count' >= 2 AND f ->> '\$.magnitude' >= 12000000 * (f ->> '\$.count')
		FROM (SELECT CAST(readfile('$truth') AS TEXT) -> '\$.faults[0]' AS f)") || return
	[ "$is" = 1 ]
}

catches() { # PID: it is the driver by now, and has a handler for SIGTERM
	[ "$(readlink "/proc/$1/exe")" = "$(realpath "$driver")" ] && [ $((0x$(sed -n 's/^SigCgt:[[:space:]]*//p' "/proc/$1/status") >> 14 & 1)) = 1 ]
}
stopped_early() {
	"$driver" -q --clean --seconds 60 --truth "$truth" &
	until_true catches $!
	kill -TERM $!
	wait $!
	[ $? -eq 143 ] && [ -s "$truth" ]
}

check "the double keeps its promises" "$BUILD/workload/check_double"

check "a flood ends well, the double having counted the same" "$driver" -q --flood 1000 --threads 3 --truth "$truth"
check "it launches as often as it was told" truth_is 1000 '$.kinds.launch.calls'
check "it copies as often as it was told" truth_is 1000 '$.kinds.copy.calls'
check "it sets as often as it was told" truth_is 1000 '$.kinds.set.calls'
check "it allocates two buffers more" truth_is 1002 '$.kinds.alloc.calls'
check "it frees those, and nothing once" truth_is 1003 '$.kinds.free.calls'
check "it waits once more, at the end" truth_is 1001 '$.kinds.wait.calls'

check "a clean run ends well" "$driver" -q --clean --seconds 1 --truth "$truth"
check "a clean run plants nothing" truth_is '[]' '$.faults'
check_exit 7 "the exit status is the one asked for" "$driver" -q --late-dlopen --clean --seconds 1 --exit 7
check "a signal ends a run early, truth included" stopped_early

if [ "$(id -u)" -eq 0 ]; then
	check_exit 0 "faults take" "$driver" -q --seconds 3 --truth "$truth" --seed 5
	check "three stalls are planted" planted_is 3 stall
	check "three spikes are planted" planted_is 3 spike
	check "one leak is planted" planted_is 1 leak
	check "the working set is level" truth_is plateau_site '$.innocent[0].site'
	check "the cache is left to exit" truth_is 0 '$.innocent[1].freed_count'
	check_exit 0 "a feeder is robbed of its CPU" "$BUILD/workload/plant" --plant gap --weak --truth "$truth"
	check "and says itself what it lost" loss_is_told
else
	skip "faults take" "without real-time priorities, that needs a machine at rest"
fi

check_exit 2 "an unknown fault is refused" "$driver" --faults stall,flood
check_says "no fault 'flood'" "and named"
check_exit 2 "a number must be one" "$driver" --seconds 5x
check_says "'5x'" "and is named"
check_exit 3 "a truth that cannot be written is an error" "$driver" -q --flood 1 --truth "$TMP/none/truth.json"
finish
