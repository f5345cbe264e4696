#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What an event costs the recorder, from the ring to the disk, at several rates; and the highest rate without a loss.
#
#   BUILD=build bash tests/bench/rate.sh [RUNS]               as root; 5 runs of each
. "$(dirname "$0")/lib.sh"
runs=${1:-5}
rate=$BUILD/tests/bench/rate

for per_second in 10000 100000 1000000; do
	lost=0
	for ((i = 0; i < runs; i++)); do
		read -r _ refused cpu < <("$rate" $per_second 3 "$scratch/rate.cap")
		value "cpu-$per_second" "$cpu"
		lost=$((lost + refused))
	done
	figure "cpu-$per_second" ns/event 1 1 lost=$lost
done

# The highest rate, in steps of a quarter, at which each of three runs lost nothing.
best=0
for per_second in 1000000 1250000 1500000 2000000 2500000 3000000 4000000; do
	ok=1
	for i in 1 2 3; do
		read -r _ refused _ < <("$rate" $per_second 3 "$scratch/rate.cap")
		[ "$refused" = 0 ] || { ok=; break; }
	done
	[ -n "$ok" ] || break
	best=$per_second
done
value lossless "$best"
figure lossless events/s
