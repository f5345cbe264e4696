#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Bytes per event on disk: our capture, the same events as raw structs under lz4 and zstd -3, in SQLite, and, of the same
# calls of one function, what perf record writes.
#
#   BUILD=build bash tests/bench/size.sh                      as root, to record
. "$(dirname "$0")/lib.sh"
driver=$BUILD/workload/driver

# of CAPTURE NAME: all forms of it
of() {
	local cap=$1 name=$2 events bytes
	events=$("$BUILD/gpuverify" --json "$cap" | sed -n 's/.*"events":\([0-9]*\).*/\1/p')
	"$BUILD/tests/bench/raw" "$cap" >"$scratch/raw"
	lz4 -q -f "$scratch/raw" "$scratch/raw.lz4"
	"$BUILD/gpureplay" -q --force "$cap" -o "$scratch/run.db"
	bytes=$(stat -c %s "$cap")
	note "$name: $events events, $bytes bytes"
	per() { value "$name-$1" "$(awk -v b="$(stat -c %s "$2")" -v n="$events" 'BEGIN { print b / n }')"; figure "$name-$1" bytes/event; }
	per capture "$cap"
	per raw "$scratch/raw"
	per raw.lz4 "$scratch/raw.lz4"
	if have zstd; then
		zstd -q -3 -f "$scratch/raw" -o "$scratch/raw.zst"
		per raw.zstd-3 "$scratch/raw.zst"
	fi
	per sqlite "$scratch/run.db"
}

"$BUILD/gpurec" -q -o "$scratch/workload.cap" -- "$driver" -q --seconds 10
of "$scratch/workload.cap" workload
"$BUILD/gpurec" -q -o "$scratch/launches.cap" -- "$driver" -q --flood 50000
of "$scratch/launches.cap" calls
"$BUILD/gpurec" -q -o "$scratch/launch.cap" --no-futex -- "$driver" -q --clean --count 200000
of "$scratch/launch.cap" launch-heavy
"$BUILD/gpurec" -q -o "$scratch/switches.cap" -- sh -c 'for i in 1 2 3 4; do (j=0; while [ $j -lt 3000 ]; do /bin/true; j=$((j + 1)); done) & done; wait'
of "$scratch/switches.cap" scheduler-heavy

# The same function under perf: a uprobe and a uretprobe, each hit a sample with its time, thread and CPU.
if have perf; then
	library=$(ldd "$driver" | sed -n 's/.*libcudart[^ ]* => \([^ ]*\).*/\1/p')
	if perf probe -q -x "$library" bench=cudaLaunchKernel >/dev/null 2>&1 && perf probe -q -x "$library" 'bench_ret=cudaLaunchKernel%return' >/dev/null 2>&1; then
		perf record -q -e 'probe_libcudart:bench*' -o "$scratch/perf.data" -- "$driver" -q --flood 20000 >/dev/null 2>&1
		hits=$(perf report -i "$scratch/perf.data" --stats 2>/dev/null | awk '/SAMPLE events:/ { n = $NF } /SAMPLE/ && !n { n = $3 } END { print n + 0 }')
		perf probe -q -d 'probe_libcudart:bench*' >/dev/null 2>&1
		if [ "$hits" -gt 0 ]; then
			# two samples make one call
			value perf.data "$(awk -v b="$(stat -c %s "$scratch/perf.data")" -v n="$hits" 'BEGIN { print b / (n / 2) }')"
			figure perf.data bytes/event calls=$((hits / 2))
		fi
	else
		note "perf cannot set uprobes here: left out"
	fi
else
	note "perf is not installed: left out"
fi
