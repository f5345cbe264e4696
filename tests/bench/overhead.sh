#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What being recorded costs a call, beside the kernel's floor: an empty uprobe and uretprobe pair.
#
#   BUILD=build bash tests/bench/overhead.sh [ROUNDS]        (default: 7)
#
# Runs alternate: untraced, empty pair, gpurec; a round's ratio is of runs that stand side by side. Each run is bursts of
# calls of a function that does nothing; its figure is the median burst, in CPU time of the calling thread, which other
# load on the machine disturbs less than wall time. Reported are medians over the rounds, and the lowest and highest.
# Lines of JSON follow, for programs. Nothing gates.
set -eu

cd "$(dirname "$0")/../.."
BUILD=$(cd "${BUILD:-build}" && pwd) rounds=${1:-7}
scratch=$(mktemp -d "${TMPDIR:-/tmp}/gpurec-bench.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
export GPUREC_HOME=$scratch/home LC_ALL=C
library=$BUILD/workload/every/libcudart.so.12
overhead=$BUILD/tests/bench/overhead

median() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
spread() { sort -n | awk '{ v[NR] = $1 } END { printf "%.2f (%.2f to %.2f)", v[int((NR + 1) / 2)], v[1], v[NR] }'; }

# round FUNCTION: one figure of each sort, and how many events were lost
round() {
	local bare empty ours lost
	bare=$("$overhead" "$library" "$1" bare | median)
	empty=$("$overhead" "$library" "$1" empty | median)
	ours=$("$BUILD/gpurec" -q --force -o "$scratch/run.cap" -- "$overhead" "$library" "$1" bare 2>"$scratch/said" | median)
	lost=$("$BUILD/gpureplay" -q --json "$scratch/run.cap" | grep '"kind":"lost"' | sed 's/.*"count":\([0-9]*\).*/\1/' |
		awk '{ n += $1 } END { print n + 0 }')
	echo "$bare $empty $ours $lost"
}

echo "$rounds rounds, kernel $(uname -r), $(nproc) CPUs, load $(cut -d' ' -f1-3 /proc/loadavg)"
printf '%-22s %9s %11s %11s   %s\n' "ns per call" untraced "empty pair" gpurec "gpurec's overhead / the pair's"
for f in cudaFree cudaStreamSynchronize cudaMemcpyAsync cudaLaunchKernel cudaMalloc; do
	for ((i = 0; i < rounds; i++)); do round "$f"; done >"$scratch/$f"
	ratio=$(awk '{ print ($3 - $1) / ($2 - $1) }' "$scratch/$f" | spread)
	bare=$(awk '{ print $1 }' "$scratch/$f" | median)
	empty=$(awk '{ print $2 }' "$scratch/$f" | median)
	ours=$(awk '{ print $3 }' "$scratch/$f" | median)
	lost=$(awk '{ n += $4 } END { print n + 0 }' "$scratch/$f")
	printf '%-22s %9.1f %11.1f %11.1f   %s%s\n' "$f" "$bare" "$empty" "$ours" "$ratio" \
		"$([ "$lost" = 0 ] || echo ", $lost events lost")"
	echo "{\"bench\":\"overhead\",\"function\":\"$f\",\"untraced_ns\":$bare,\"pair_ns\":$empty,\"gpurec_ns\":$ours,\"ratio\":${ratio%% *},\"lost\":$lost}" >>"$scratch/json"
done
cat "$scratch/json"
echo "load $(cut -d' ' -f1-3 /proc/loadavg)"
