#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What being recorded costs a call, beside the kernel's floor: an empty uprobe and uretprobe pair.
#
#   BUILD=build bash tests/bench/overhead.sh [RUNS]          as root; 7 rounds
#
# Runs alternate: untraced, empty pair, gpurec, gpurec --no-futex (no system call is traced then, of which the kernel's
# return probes make one); a round's ratio is of runs that stand side by side: gpurec's added time over the pair's. Each run is bursts of calls of a function that does nothing; its figure is the median burst, in CPU time of the
# calling thread, which other load on the machine disturbs less than wall time.
. "$(dirname "$0")/lib.sh"
runs=${1:-7}
library=$BUILD/workload/every/libcudart.so.12
overhead=$BUILD/tests/bench/overhead

middle() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

# round FUNCTION: one figure of each sort; $lost grows by the events that were lost
round() {
	local bare empty ours plain n
	bare=$("$overhead" "$library" "$1" bare | middle)
	empty=$("$overhead" "$library" "$1" empty | middle)
	ours=$("$BUILD/gpurec" -q --force -o "$scratch/run.cap" -- "$overhead" "$library" "$1" bare 2>"$scratch/said" | middle)
	plain=$("$BUILD/gpurec" -q --no-futex --lib "$library" --force -o "$scratch/plain.cap" -- "$overhead" "$library" "$1" bare 2>"$scratch/said" | middle)
	n=$("$BUILD/gpureplay" -q --json "$scratch/run.cap" | grep '"kind":"lost"' | sed 's/.*"count":\([0-9]*\).*/\1/' |
		awk '{ n += $1 } END { print n + 0 }')
	lost=$((lost + n))
	value "$1-untraced" "$bare"
	value "$1-pair" "$empty"
	value "$1-gpurec" "$ours"
	value "$1-no-futex" "$plain"
	value "$1-no-futex-ratio" "$(awk -v b="$bare" -v e="$empty" -v o="$plain" 'BEGIN { print (o - b) / (e - b) }')"
	value "$1-ratio" "$(awk -v b="$bare" -v e="$empty" -v o="$ours" 'BEGIN { print (o - b) / (e - b) }')"
}

for f in cudaFree cudaStreamSynchronize cudaMemcpyAsync cudaLaunchKernel cudaMalloc; do
	lost=0
	for ((i = 0; i < runs; i++)); do round "$f"; done
	for name in untraced pair; do figure "$f-$name" ns/call; done
	figure "$f-gpurec" ns/call 1 1 lost="$lost"
	figure "$f-ratio" ratio
	figure "$f-no-futex" ns/call
	figure "$f-no-futex-ratio" ratio
done

# Peers, on one function: bpftrace with a script that writes each call, perf record on the same two probes.
f=cudaFree
if have bpftrace; then
	for ((i = 0; i < (runs + 1) / 2; i++)); do
		value "$f-bpftrace" "$(timeout 120 bpftrace -q -o "$scratch/bt.out" -e "uprobe:$library:$f { @at[tid] = nsecs; }
			uretprobe:$library:$f /@at[tid]/ { printf(\"%d %llu %llu %d\\n\", tid, nsecs, nsecs - @at[tid], retval); delete(@at[tid]); }" \
			-c "$overhead $library $f bare" 2>/dev/null | grep -E '^[0-9.]+$' | middle)"
	done
	figure "$f-bpftrace" ns/call
else
	note "bpftrace is not installed: left out"
fi
if have perf && perf probe -q -f -x "$library" "bench_in=$f" >/dev/null 2>&1 && perf probe -q -f -x "$library" "bench_out=$f%return" >/dev/null 2>&1; then
	for ((i = 0; i < (runs + 1) / 2; i++)); do
		value "$f-perf-record" "$(perf record -q -e 'probe_libcudart:bench_in*,probe_libcudart:bench_out*' -o "$scratch/perf.data" -- \
			"$overhead" "$library" "$f" bare 2>/dev/null | grep -E '^[0-9.]+$' | middle)"
	done
	perf probe -q -d 'probe_libcudart:bench_*' >/dev/null 2>&1
	figure "$f-perf-record" ns/call
else
	note "perf cannot set these probes here: left out"
fi
