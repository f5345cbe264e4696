#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# gpuverify against `minisign -V`, b2sum and sha256sum on the same large capture, side by side, on two cores and on one.
#
#   BUILD=build bash tests/bench/verify.sh [MIB] [PAIRS]        (400 MiB, 9 runs of each)
#
# `gpuverify --bytes-only` checks what minisign checks, every byte of the file against a signature, and all seals; gpuverify
# decodes every row besides. All read from the page cache.
. "$(dirname "$0")/lib.sh"
mib=${1:-400} runs=${2:-9}
big=$scratch/big.cap

"$BUILD/tests/bench/tile" tests/golden/demo.cap "$big" "$scratch/big.pub" "$mib" >"$scratch/tiled"
events=$(sed -n 's/^\([0-9]*\) events.*/\1/p' "$scratch/tiled")
bytes=$(stat -c %s "$big")
peers="b2sum sha256sum"
if have minisign; then
	minisign -G -W -p "$scratch/m.pub" -s "$scratch/m.key" >/dev/null
	minisign -S -s "$scratch/m.key" -m "$big" >/dev/null
	peers="minisign $peers"
else
	note "minisign is not installed: left out"
fi
cat "$big" >/dev/null # into the page cache

run() {
	local prefix=$1 name=$2
	shift 2
	case $name in
	whole) timed whole $prefix "$BUILD/gpuverify" --trust "$scratch/big.pub" "$big" ;;
	bytes-only) timed bytes-only $prefix "$BUILD/gpuverify" --bytes-only --trust "$scratch/big.pub" "$big" ;;
	minisign) timed minisign $prefix minisign -V -q -p "$scratch/m.pub" -m "$big" ;;
	*) timed "$name" $prefix "$name" "$big" ;;
	esac
}

# The CPUs that we may use: 0-3,8
allowed=$(taskset -cp $$ | sed 's/.*: //' | tr ',' '\n' | awk -F- '{ for (i = $1; i <= ($2 == "" ? $1 : $2); i++) print i }')
for cores in 2 1; do
	[ "$cores" -le "$(echo "$allowed" | wc -l)" ] || { note "there is but one core, so two: left out"; continue; }
	prefix="taskset -c $(echo "$allowed" | head -n $cores | paste -sd,)"
	rm -f "$scratch"/*.runs
	for ((i = 0; i < runs; i++)); do
		for name in whole bytes-only $peers; do run "$prefix" "$name"; done
	done
	for name in whole bytes-only $peers; do
		awk -v b="$bytes" '{ print b / $1 / 1e9, $2 }' "$scratch/$name.runs" >"$scratch/$name-gbps.runs"
		mv "$scratch/$name.runs" "$scratch/$name-seconds.runs"
		figure "$name-gbps" GB/s 1 1 cores="$cores"
		figure "$name-seconds" s 2 1 cores="$cores" what=CPU
	done
	awk -v n="$events" '{ print n / $1 / 1e6, 0 }' "$scratch/whole-seconds.runs" >"$scratch/events.runs"
	figure events M/s 1 1 cores="$cores" what=whole
	[ "${peers%% *}" != minisign ] || for name in whole bytes-only; do
		ratio "minisign/$name" minisign-seconds $name-seconds | sed "s/}\$/,\"cores\":\"$cores\"}/"
	done
done
