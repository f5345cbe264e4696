#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What being recorded costs a call, beside the kernel's floor: an empty uprobe and uretprobe pair.
#
#   BUILD=build bash tests/bench/overhead.sh [RUNS]          as root; 7 rounds
#
# One process, in turns: bursts of calls of a function that does nothing, of one of its own with the empty pair, and of
# one that gpurec records; in CPU time of the thread. So what else goes on touches all three alike, and the ratio, gpurec's
# added time over the pair's, is steady on a busy machine. Runs alternate: `gpurec --no-futex`, and gpurec as it is by
# default. The latter traces system calls, of which the kernel's return probes make one: that makes the pair slower, too.
#
#   F-pair, F-gpurec, F-ratio        --no-futex: gpurec's programs beside the floor
#   F-futex-gpurec, F-futex-ratio    by default; the ratio is over the pair without futexes, so that all is in it
#   F-futex-pair, F-futex-ratio-beside   the pair as it is then, and the ratio over that
#
# Whoever else traces system calls meanwhile makes both slower, and takes the difference away. Whoever else probes the
# library is seen afterwards; then the round is tried again, with a copy of the library that he does not know.
. "$(dirname "$0")/lib.sh"
runs=${1:-7}
library=$scratch/libcudart.so.12
overhead=$BUILD/tests/bench/overhead

middle() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

# beside FUNCTION OPTION...: the median turn of each of the three; $lost grows by the events that were lost
beside() {
	local f=$1 i n
	shift
	"$BUILD/gpurec" -q --force -o "$scratch/run.cap" "$@" -- "$overhead" "$library" "$f" beside >"$scratch/turns" 2>"$scratch/said"
	for i in 1 2 3; do cut -d ' ' -f $i "$scratch/turns" | middle; done | tr '\n' ' '
	n=$("$BUILD/gpureplay" -q --json "$scratch/run.cap" | grep '"kind":"lost"' | sed 's/.*"count":\([0-9]*\).*/\1/' |
		awk '{ n += $1 } END { print n + 0 }')
	echo "$n"
}

over() { awk -v b="$1" -v e="$2" -v o="$3" 'BEGIN { print (o - b) / (e - b) }'; }

# round FUNCTION: one figure of each sort
round() {
	local bare pair ours futex_bare futex_pair futex_ours n m tries alone
	for tries in 1 2 3 4 5; do
		cp "$BUILD/workload/every/libcudart.so.12" "$library.new" && mv "$library.new" "$library"
		read -r bare pair ours n < <(beside "$1" --no-futex --lib "$library")
		read -r futex_bare futex_pair futex_ours m < <(beside "$1")
		alone=$("$overhead" "$library" "$1" bare | middle)
		[ "${alone%.*}" -ge 100 ] || break
		note "$1: still $alone ns a call when nobody should probe it (try $tries)"
	done
	lost=$((lost + n + m))
	value "$1-untraced" "$bare"
	value "$1-pair" "$pair"
	value "$1-gpurec" "$ours"
	value "$1-ratio" "$(over "$bare" "$pair" "$ours")"
	value "$1-futex-pair" "$futex_pair"
	value "$1-futex-gpurec" "$futex_ours"
	value "$1-futex-ratio" "$(over "$bare" "$pair" "$futex_ours")"
	value "$1-futex-ratio-beside" "$(over "$futex_bare" "$futex_pair" "$futex_ours")"
}

if ! "$overhead" "$BUILD/workload/every/libcudart.so.12" cudaFree empty >/dev/null 2>"$scratch/said"; then
	note "no empty pair can be attached ($(tail -n 1 "$scratch/said")): left out"
	exit 0
fi
for f in cudaFree cudaStreamSynchronize cudaMemcpyAsync cudaLaunchKernel cudaMalloc; do
	lost=0
	for ((i = 0; i < runs; i++)); do round "$f"; done
	for name in untraced pair; do figure "$f-$name" ns/call; done
	figure "$f-gpurec" ns/call 1 1 lost="$lost"
	figure "$f-ratio" ratio
	for name in futex-pair futex-gpurec; do figure "$f-$name" ns/call; done
	for name in futex-ratio futex-ratio-beside; do figure "$f-$name" ratio; done
done

# Peers, on one function and afterwards: bpftrace with a script that writes each call, perf record on the same two probes.
f=cudaFree
peer_figure() { # NAME
	if [ -e "$scratch/$f-$1.runs" ]; then figure "$f-$1" ns/call; else note "$1 recorded no call: left out"; fi
}
if have bpftrace; then
	for ((i = 0; i < (runs + 1) / 2; i++)); do
		took=$(timeout 120 bpftrace -q -o "$scratch/bt.out" -e "uprobe:$library:$f { @at[tid] = nsecs; }
			uretprobe:$library:$f /@at[tid]/ { printf(\"%d %llu %llu %d\\n\", tid, nsecs, nsecs - @at[tid], retval); delete(@at[tid]); }" \
			-c "$overhead $library $f bare" 2>/dev/null | grep -E '^[0-9.]+$' | middle)
		[ -z "$took" ] || value "$f-bpftrace" "$took"
	done
	peer_figure bpftrace
else
	note "bpftrace is not installed: left out"
fi
if have perf && perf probe -q -f -x "$library" "bench_in=$f" >/dev/null 2>&1 && perf probe -q -f -x "$library" "bench_out=$f%return" >/dev/null 2>&1; then
	for ((i = 0; i < (runs + 1) / 2; i++)); do
		took=$(perf record -q -e 'probe_libcudart:bench_in*,probe_libcudart:bench_out*' -o "$scratch/perf.data" -- \
			"$overhead" "$library" "$f" bare 2>/dev/null | grep -E '^[0-9.]+$' | middle)
		[ -z "$took" ] || value "$f-perf-record" "$took"
	done
	perf probe -q -d 'probe_libcudart:bench_*' >/dev/null 2>&1
	peer_figure perf-record
else
	note "perf cannot set these probes here: left out"
fi
