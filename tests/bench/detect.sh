#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# How fast captures go through the default rules on one core, and how much memory that takes as they grow.
#
#   BUILD=build bash tests/bench/detect.sh [RUNS [MIB...]]        (7 runs of 5, 50 and 500 MiB: 1, 10 and 100 million events)
#
# The captures are tests/golden/demo.cap laid down again and again (tests/bench/tile.c). Each run goes through them in turn,
# once with the cursor alone and once through the rules. CPU time, not wall time: `all` is both, `rules` what is left of it
# without reading. `cost` is the nanoseconds an event of the largest over those of the smallest. Memory: of such captures,
# in which each second has a new set of processes, and of `steady` ones, in which the first ones live on.
. "$(dirname "$0")/lib.sh"
runs=${1:-7}
shift $(($# > 0))
[ $# -gt 0 ] || set -- 5 50 500

for mib in "$@"; do
	"$BUILD/tests/bench/tile" tests/golden/demo.cap "$scratch/steady.cap" "$scratch/steady.pub" "$mib" steady >"$scratch/made"
	note "$mib MiB, steady: $(cat "$scratch/made")"
	read -r _ _ _ _ kib < <("${bench_nice[@]}" "$BUILD/tests/bench/detect" "$scratch/steady.cap")
	value "memory-steady-$mib" "$kib"
	figure "memory-steady-$mib" KiB 1 1
	rm "$scratch/steady.cap" "$scratch/steady.pub"
done
for mib in "$@"; do
	"$BUILD/tests/bench/tile" tests/golden/demo.cap "$scratch/$mib.cap" "$scratch/$mib.pub" "$mib" >"$scratch/made"
	note "$mib MiB: $(cat "$scratch/made")"
done
for ((i = 0; i < runs; i++)); do
	for mib in "$@"; do
		read -r events _ read_ns all_ns kib < <("${bench_nice[@]}" "$BUILD/tests/bench/detect" "$scratch/$mib.cap")
		echo "$events" >"$scratch/$mib.events"
		value "read-$mib" "$read_ns"
		value "all-$mib" "$all_ns"
		value "rules-$mib" "$(awk -v all="$all_ns" -v read="$read_ns" 'BEGIN { print all - read }')"
		value "speed-$mib" "$(awk -v ns="$all_ns" 'BEGIN { print 1e3 / ns }')"
		value "rules-speed-$mib" "$(awk -v all="$all_ns" -v read="$read_ns" 'BEGIN { print 1e3 / (all - read) }')"
		value "memory-$mib" "$kib"
	done
done
for mib in "$@"; do
	events=$(cat "$scratch/$mib.events")
	figure "read-$mib" ns/event 1 1 note="$events-events"
	figure "all-$mib" ns/event 1 1 note="$events-events"
	figure "rules-$mib" ns/event 1 1 note="$events-events"
	figure "speed-$mib" M/s/core 1 1 note="$events-events"
	figure "rules-speed-$mib" M/s/core 1 1 note="$events-events"
	figure "memory-$mib" KiB 1 1 note="$events-events"
done
[ $# = 1 ] || ratio cost "all-${*: -1}" "all-$1"
