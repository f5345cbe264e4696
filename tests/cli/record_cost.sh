#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What a recording costs the host: memory under load, CPU when nothing happens. The bounds leave room for a machine that
# is busy with other things; docs/OVERHEAD.md has the figures.
. "$(dirname "$0")/lib.sh"
gpurec=$BUILD/gpurec
cap=$TMP/run.cap

if ! "$gpurec" --check -o "$cap" >"$TMP/check" 2>&1; then
	skip "memory and CPU of the recorder" "$(grep -m1 '^no' "$TMP/check")"
	finish
fi

# The most memory that it had, in KiB: in shares, for the ring is mapped twice.
memory_of() {
	local pid=$1 now most=0
	while now=$(awk '$1 == "Pss:" { print $2 }' "/proc/$pid/smaps_rollup" 2>/dev/null) && [ -n "$now" ]; do
		[ "$now" -le "$most" ] || most=$now
		sleep 0.05
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

sleep 30 &
idle=$!
"$gpurec" -q -o "$cap" --force -p $idle -d 20s &
pid=$!
sleep 1.5
cpu_ns() { cut -d' ' -f1 "/proc/$pid/schedstat"; }
before=$(cpu_ns)
sleep 5
used=$(($(cpu_ns) - before))
kill -TERM $pid
wait $pid
kill $idle
echo "# $((used / 5000)) us of CPU a second while nothing happens"
check "while nothing happens it takes less than 0.3 % of a CPU" test "$used" -lt 15000000
finish
