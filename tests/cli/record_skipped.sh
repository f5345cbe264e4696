#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What the kernel does not run of our programs, because the same program already runs on that CPU, is lost: by probe, in every
# seal, so that no capture with such a hole reads as complete. Which kernel does so, and when, cannot be ordered; what it
# says of it can (tests/soak/faultio.c).
. "$(dirname "$0")/lib.sh"
gpurec=$BUILD/gpurec
faultio=$BUILD/tests/soak/faultio.so
cap=$TMP/run.cap

if [ ! -e "$faultio" ] || nm -D "$gpurec" | grep -q __asan_; then
	skip "runs of probes that the kernel skips" "what tells of them is not built here, or not with sanitizers"
	finish
fi
needs_recording "runs of probes that the kernel skips"

# record PROGRAM: of which the kernel says so
record() {
	rm -f "$TMP"/run.*
	FAULTIO_SKIPS=$1 LD_PRELOAD=$faultio "$gpurec" -d 2500ms -o "$cap" -- env -u LD_PRELOAD sleep 9 2>"$TMP/said" &&
		"$BUILD/gpureplay" -q "$cap" -o "$TMP/run.db"
}
holds() { # WANT QUERY
	local is
	is=$(sqlite3 -readonly "$TMP/run.db" "$2") && [ "$is" = "$1" ] && return
	echo "$2: $is, not $1"
	return 1
}
told() { # PROGRAM: its skipped runs, as the recorder told them
	sqlite3 -readonly "$TMP/run.db" "SELECT value FROM facts WHERE name = 'probe_runs_skipped'" |
		grep -oE "(^|, )$1 [0-9]+" | grep -oE '[0-9]+$'
}
lost() { echo "SELECT coalesce(sum(num), 0) FROM lost WHERE cause = 'not_run' AND probe = '$1'"; }

for pair in on_sys_exit:futex on_waking:sched_waking on_exec:process_exec; do
	program=${pair%:*} probe=${pair#*:}
	check "the kernel skips runs of $program" record "$program"
	n=$(told "$program")
	check "how many is told" [ "${n:-0}" -ge 14 ]
	check "each of them is lost to $probe" holds "$n" "$(lost "$probe")"
	check "of every probe fired is recorded + lost" holds 0 \
		"SELECT count(*) FROM probe_counts WHERE fired <> recorded + lost"
done
check "they are lost in the epoch in which they were skipped" holds 1 \
	"SELECT count(DISTINCT epoch) > 1 FROM counters JOIN causes USING (cause) WHERE causes.name = 'not_run'"
check_exit 7 "a capture that lacks them is not complete" "$BUILD/gpuverify" --require-complete "$cap"
check_prints "^  lost .*not_run of process_exec $n|process_exec.*$n|$n.*process_exec" "the verdict says what it lacks"
check "the recorder says what is lost" grep -q "process_exec: $n lost: the kernel skipped" "$TMP/said"
check "nothing is skipped where the kernel skips nothing" record none
check "nothing is told then" [ -z "$(told none)$(sqlite3 -readonly "$TMP/run.db" "$(lost process_exec)" | grep -v '^0$')" ]
finish
