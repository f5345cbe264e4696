#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What a recording costs the host: memory under load, CPU when nothing happens. The bounds leave room for a machine that
# is busy with other things; docs/OVERHEAD.md has the figures.
# alone: it measures what a recorder costs on a host where nothing else happens
. "$(dirname "$0")/lib.sh"
gpurec=$BUILD/gpurec
cap=$TMP/run.cap

needs_recording "memory and CPU of the recorder"

# The most memory that it had, in KiB: in shares, for the ring is mapped twice.
memory_of() {
	local pid=$1 now most=0
	while now=$(awk '$1 == "Pss:" { print $2 }' "/proc/$pid/smaps_rollup" 2>/dev/null) && [ -n "$now" ]; do
		[ "$now" -le "$most" ] || most=$now
		sleep 0.05 # speed: a sample each time; one is enough
	done
	echo "$most"
}
"$gpurec" -o "$cap" -- "$BUILD/workload/driver" -q --flood 30000 --threads 4 2>"$TMP/said" &
most=$(memory_of $!)
wait $!
echo "# $most KiB of memory under a flood"
check "under a flood it has not more than 64 MiB" test "$most" -le 65536
check "and that was looked at" test "$most" -ge 16384
check "its summary tells what it cost" grep -Eq 'gpurec itself: [0-9.]+ s of CPU.* of memory, ring up to .* written' "$TMP/said"
check_exit 0 "so do its seals" "$BUILD/gpuverify" "$cap"

[ -n "${LONG:-}" ] || finish # what follows is a measurement, for `make test-long`

# idle ARG...: nanoseconds of CPU a second while nothing happens, in the best of four windows: what another program on this
# machine does to one of them is not the recorder's
idle() {
	local pid before now least=1000000000
	"$gpurec" -q -o "$cap" --force -d 40s "$@" &
	pid=$!
	until_recording "$pid"
	sleep 2.5 # speed: measured, in test-long only
	for _ in 1 2 3 4; do
		before=$(cut -d' ' -f1 "/proc/$pid/schedstat")
		sleep 2 # speed: measured, in test-long only
		now=$(cut -d' ' -f1 "/proc/$pid/schedstat")
		[ $(((now - before) / 2)) -ge $least ] || least=$(((now - before) / 2))
	done
	kill -TERM $pid
	wait $pid
	echo $least
}
sleep 60 &
sleeper=$!
used=$(idle -p $sleeper)
kill $sleeper
echo "# $((used / 1000)) us of CPU a second beside a process that does nothing"
check "while a process does nothing its recorder takes not more than 0.1 % of a CPU" test "$used" -le 1000000
check "and that was looked at" test "$used" -ge 10000
other=$("$gpurec" --check -o "$cap" | sed -n 's/.*; in use by //p' | head -n 1)
if [ -n "$other" ]; then
	skip "on an idle host the recorder of everything takes not more than 0.1 % of a CPU" "a program uses CUDA here: $other"
	finish
fi
used=$(idle)
echo "# $((used / 1000)) us of CPU a second on an idle host"
check "on an idle host the recorder of everything takes not more than 0.1 % of a CPU" test "$used" -le 1000000
finish
