#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# However a function is defined (versions, aliases, an IFUNC) and reached (PLT, GOT, dlsym(), a jump within and between
# libraries, preloaded copies, another namespace of the linker): what the functions counted themselves is what is
# recorded, or counted as what became of it; and what cannot be probed is not called nothing lost.
. "$(dirname "$0")/lib.sh"
gpurec=$BUILD/gpurec
cap=$TMP/run.cap
view=$TMP/view.db
reach=$BUILD/workload/reach/reach
preload=LD_PRELOAD=$BUILD/workload/reach/libpreload.so

needs_recording "ways of defining and reaching functions"
if [ ! -x "$reach" ]; then
	skip "ways of defining and reaching functions" "the test double is not built here"
	finish
fi

see() {
	rm -f "$view"
	"$BUILD/gpureplay" -q "$cap" -o "$view"
}
record() { # WAY
	"$gpurec" -q --force -o "$cap" --uprobes "$1" -- env "$preload" "$reach" "$TMP/made" && see
}
# Of each function: how often it was entered, and what became of that.
count() { # FUNCTION...
	local name
	for name; do
		sqlite3 -readonly "$view" "SELECT name, fired, recorded, lost FROM probe_counts WHERE name = '$name'"
	done
}
# A line of the truth each: whole, but for what is left by a jump (every other one), and what cannot be probed.
expect() { # FUNCTION...
	local name
	for name; do
		awk -v name="$name" '$1 == name {
			left = name ~ /Query$/ ? $2 / 2 : 0
			seen = name == "cudaGraphLaunch" ? 0 : $2
			print name "|" seen "|" seen - left "|" left
		}' "$TMP/made"
	done
}
exact() {
	count "$@" >"$TMP/counted"
	expect "$@" >"$TMP/expected"
	[ "$(wc -l <"$TMP/counted")" = $# ] && diff "$TMP/expected" "$TMP/counted"
}
# Nothing else is lost, and each lost call is one that was left.
all_lost() {
	sqlite3 -readonly "$view" "SELECT probe, cause FROM lost ORDER BY 1, 2" >"$TMP/lost"
	printf '%s\n' 'cudaEventQuery|no_return' 'cudaStreamQuery|no_return' 'library_mapped|not_attached' |
		diff - "$TMP/lost"
}

for way in multi plain single; do
	check "$way: a program is recorded that reaches functions in all ways" record "$way"
	check "$way: two versions of a function" exact cudaMalloc
	check "$way: a function that is bound when it is first called" exact cudaFree
	check "$way: one that is called without a PLT" exact cudaFreeHost
	check "$way: two names for one place" exact cudaMemcpy
	check "$way: a jump to another function of the library" exact cudaHostAlloc cudaMallocManaged
	check "$way: a jump to a function of another library" exact cudaStreamSynchronize cuStreamSynchronize
	check "$way: a preloaded copy that jumps to the function of its name" exact cuLaunchKernel
	check "$way: a preloaded copy that calls it" exact cuMemAlloc_v2
	check "$way: a function that dlsym() found" exact cudaMemset
	check "$way: a jump by a local name" exact cudaEventRecord cudaEventRecordWithFlags
	check "$way: a function that calls itself, and jumps to itself" exact cudaDeviceSynchronize
	check "$way: a local function of the program" exact cudaHostRegister
	check "$way: the library in another namespace of the linker" exact cudaMemsetAsync
	check "$way: a copy of its file" exact cudaMemcpyAsync
	check "$way: what is left by a jump out of a function that was jumped to" exact cudaStreamQuery cudaEventQuery
	check "$way: an IFUNC is not recorded" exact cudaGraphLaunch
	check "$way: nothing else is lost" all_lost
done

# What is jumped to is inside: its time is not counted twice.
inside() {
	"$BUILD/gpureplay" -q --json "$cap" | grep '"probe":"cuLaunchKernel"' >"$TMP/rows"
	grep -o '"flags":[0-9]*' "$TMP/rows" | sort | uniq -c | awk '{ print $1, $2 }' >"$TMP/flags"
	cat "$TMP/flags"
	[ "$(cut -d " " -f 2 "$TMP/flags" | tr '\n' ' ')" = '"flags":0 "flags":1 ' ] && [ "$(cut -d " " -f 1 "$TMP/flags" | uniq | wc -l)" = 1 ]
}
check "half of the calls of the preloaded function are inside the others" inside

# What cannot be probed --------------------------------------------------------------------------------------------------
check_exit 0 "the capture verifies" "$BUILD/gpuverify" "$cap"
check_prints '^OK .*: 2 libraries had no probes, or not all, for a while$' "the first line says what had no probes"
check_prints '^  lost       nothing that had probes$' "it is not called nothing lost"
check_prints '^  unattached 2 library_mapped: ' "each is counted"
check_exit 0 "so it is in JSON" "$BUILD/gpuverify" --json "$cap"
check_prints '"not_attached":\[\{"probe":"library_mapped","cause":"not_attached","count":2\}\].*"complete":false.*"events_lost":0.*"libraries_not_attached":2' \
	"as what it is, and the capture is not complete"
check_exit 7 "who requires a complete capture gets a refusal" "$BUILD/gpuverify" -q --require-complete "$cap"
told() {
	"$BUILD/gpureplay" -q --json "$cap" | grep '"kind":"library"' >"$TMP/rows"
	cat "$TMP/rows"
	grep -q '1 function could not be probed, cudaGraphLaunch is the first: which code it is the program chooses' "$TMP/rows"
}
check "the library's row says which function it is, and why" told
found() { # CLASS REGEX
	"$BUILD/gpuanalyze" --report "$cap" >"$TMP/report" && grep -A1 " evidence warning: $1 " "$TMP/report" | grep -E "$2"
}
check "a finding names it" found not-probed 'not in the capture: cudaGraphLaunch'
check "one says that calls are missing" found not-attached '2 libraries had no probes, or not all, for a while: calls'
check "none says that events were lost" sh -c '! grep lost-rows "$1"' sh "$TMP/report"

# One that runs already; and each capture of a recording that is rotated: the process has its libraries in all of them,
# for it outlives the recorder.
running() {
	local pid recorder
	mkfifo "$TMP/go"
	env "$preload" "$reach" "$TMP/made" wait <"$TMP/go" &
	pid=$!
	exec 9>"$TMP/go"
	until_true grep -q copy/libcudart "/proc/$pid/maps"
	"$gpurec" -q -o "$TMP/part.cap" --rotate 1s -p "$pid" &
	recorder=$!
	until_true sh -c 'ls "$1"/part*.cap | grep -c . | grep -qx "[3-9]"' sh "$TMP"
	kill -INT "$recorder" && wait "$recorder" || return
	echo >&9
	exec 9>&-
	wait "$pid" || return
	[ "$(ls "$TMP"/part*.cap | wc -l)" -ge 3 ]
}
check "a process that runs already is recorded, and rotated" running
each_says_so() {
	local file
	for file in "$TMP"/part*.cap; do
		"$BUILD/gpuverify" --json "$file" >"$TMP/verdict" || return
		grep -o '"libraries_not_attached":[0-9]*' "$TMP/verdict" | tee "$TMP/number"
		grep -qx '.*:2' "$TMP/number" || return
	done
}
check "each capture says that its libraries have not all probes" each_says_so
finish
