#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What an event costs the recorder, from the ring to the disk, at several rates, beside a program that only drains the ring and
# writes the records as they are; and the highest rate without a loss. And what a call costs gpurec, perf record and bpftrace,
# as processes, when one thread calls as fast as it goes.
#
#   BUILD=build bash tests/bench/rate.sh [RUNS]               as root; 5 runs of each
. "$(dirname "$0")/lib.sh"
runs=${1:-5}
rate=$BUILD/tests/bench/rate
[ "$(id -u)" = 0 ] || { note "not root: left out"; exit 0; }

for per_second in 10000 100000 1000000; do
	lost=0
	for ((i = 0; i < runs; i++)); do
		read -r _ refused cpu < <("$rate" $per_second 3 "$scratch/rate.cap")
		value "cpu-$per_second" "$cpu"
		lost=$((lost + refused))
		read -r _ _ cpu < <("$rate" $per_second 3 "$scratch/rate.cap" bare)
		value "bare-$per_second" "$cpu"
	done
	figure "cpu-$per_second" ns/event 1 1 lost=$lost
	figure "bare-$per_second" ns/event 1 1 note=drained_and_written_only
done

# The highest rate, in steps of a fifth to a third, at which each of three runs lost nothing.
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
figure lossless events/s 1 1 note=on_"$(nproc)"_cores,_generator_included

# The same calls of one thread, each time under another recorder: the CPU time of its process from the first call to its end.
# What the probes cost the caller is not in it (overhead.sh).
library=$BUILD/workload/every/libcudart.so.12 f=cudaFree
calls=$(awk '$2 == "BURSTS" || $2 == "CALLS" { n = n ? n * $3 : $3 } END { print n }' tests/bench/overhead.c)
peer() { # NAME RECORDER...: PID in it is the caller's
	local name=$1 caller shell recorder before
	shift
	rm -f "$scratch/go" && mkfifo "$scratch/go"
	bash -c 'read -r _ <"$1"; exec "$2" "$3" "$4" bare' - "$scratch/go" "$BUILD/tests/bench/overhead" "$library" $f >"$scratch/bursts" &
	caller=$!
	{ time "${@//PID/$caller}" >"$scratch/said" 2>&1 || :; } 2>"$scratch/time" &
	shell=$!
	sleep 3 # to attach
	recorder=$(pgrep -P $shell) || :
	[ -n "$recorder" ] || { echo >"$scratch/go"; wait $caller; note "$name ended by itself: $(tail -n 1 "$scratch/said")"; return 1; }
	before=$(cat /proc/"$recorder"/task/*/schedstat | awk '{ ns += $1 } END { printf "%.0f\n", ns }')
	echo >"$scratch/go"
	wait $caller
	sleep 1
	kill -TERM "$recorder" 2>/dev/null || :
	wait $shell
	value "$name" "$(tail -n 1 "$scratch/time" | awk -v b="$before" -v n="$calls" '{ print (($2 + $3) * 1e9 - b) / n }')"
}
probes=
probes_gone() { ! have perf || perf probe -q -d 'probe_libcudart:rate_*' >/dev/null 2>&1 || :; }
trap 'probes_gone; bench_cleanup' EXIT
probes_gone # of a run that was killed: each would be sampled besides
have perf && perf probe -q -x "$library" "rate_in=$f" >/dev/null 2>&1 && perf probe -q -x "$library" "rate_out=$f%return" >/dev/null 2>&1 && probes=1
with_bpftrace=
! have bpftrace || with_bpftrace=1
for ((i = 0; i < (runs + 1) / 2; i++)); do
	peer call-gpurec "$BUILD/gpurec" -q --force -o "$scratch/run.cap" --lib "$library" -p PID
	[ -z "$probes" ] || peer call-perf-record perf record -q -e 'probe_libcudart:rate_in*,probe_libcudart:rate_out*' -o "$scratch/perf.data" -p PID || probes=
	[ -z "$with_bpftrace" ] || peer call-bpftrace bpftrace -q -o "$scratch/bt.out" -p PID -e "uprobe:$library:$f { @at[tid] = nsecs; }
		uretprobe:$library:$f /@at[tid]/ { printf(\"%d %llu %llu %d\\n\", tid, nsecs, nsecs - @at[tid], retval); delete(@at[tid]); }" || with_bpftrace=
done
written=$("$BUILD/gpuverify" --json "$scratch/run.cap" | sed -n 's/.*"free":\([0-9]*\).*/\1/p')
figure call-gpurec ns/call 1 1 "note=${written:-0}_of_${calls}_calls_recorded"
if [ -e "$scratch/call-perf-record.runs" ]; then
	figure call-perf-record ns/call 1 1 "note=$(perf report -i "$scratch/perf.data" --stats 2>/dev/null | awk '/SAMPLE events:/ { print int($3 / 2); exit }')_of_${calls}_calls_recorded"
	ratio call-perf-record/gpurec call-perf-record call-gpurec
else
	note "perf cannot set these probes here: left out"
fi
if [ -e "$scratch/call-bpftrace.runs" ]; then
	figure call-bpftrace ns/call 1 1 "note=$(grep -c ' ' "$scratch/bt.out")_of_${calls}_calls_recorded"
	ratio call-bpftrace/gpurec call-bpftrace call-gpurec
else
	note "bpftrace is not installed, or cannot trace this: left out"
fi
