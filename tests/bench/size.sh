#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Bytes per event on disk: our capture, the same events as raw structs, those under lz4 and zstd -3, in SQLite, and what perf
# record writes of the same program: of a call its entry and its return, and each switch and waking. perf.data/capture is
# whole file over whole file: what either holds besides (forks, names, maps; seals, the recorder's own rows) is in it.
#
#   BUILD=build bash tests/bench/size.sh [SECONDS [RUNS]]    as root; 20: of the launch-heavy run; 3 of each
. "$(dirname "$0")/lib.sh"
seconds=${1:-20} runs=${2:-3}
[ "$(id -u)" = 0 ] || { note "not root: left out"; exit 0; }
driver=$BUILD/workload/driver
tracing=/sys/kernel/tracing
group=gpbench$$

per_event() { # NAME FILE EVENTS
	value "$1" "$(awk -v b="$(stat -c %s "$2")" -v n="$3" 'BEGIN { print b / n }')"
}

probe_events() { # the lines by which the kernel makes a pair of events for each function of the double
	local library at
	for library in libcudart.so.12 libcuda.so.1; do
		at=$(readelf -lW "$BUILD/workload/$library" | awk '$1 == "LOAD" && / R E / { print $2, $3 }')
		nm -D --defined-only "$BUILD/workload/$library" | awk -v g="$group" -v f="$BUILD/workload/$library" -v at="$at" -v name="${library%%.*}" '
			BEGIN { split(at, a, " ") }
			$2 == "T" && a[1] == a[2] { n++; print "p:" g "/" name n " " f ":0x" $1; print "r:" g "/" name n "r " f ":0x" $1 }'
	done
}
probes_off() { [ ! -s "$scratch/probes" ] || sed 's/^[pr]:\([^ ]*\).*/-:\1/' "$scratch/probes" >>$tracing/uprobe_events 2>/dev/null || :; }
probes_gone() {
	probes_off
	bench_cleanup
}
trap probes_gone EXIT

# perf NAME EVENT... -- COMMAND...: two samples of the double's functions make a call
perf_data() {
	local name=$1 with=() samples ours lost events
	shift
	while [ "$1" != -- ]; do with+=(-e "$1"); shift; done
	shift
	perf record -q "${with[@]}" -o "$scratch/perf.data" -- "$@" >"$scratch/perf.said" 2>&1 || { cat "$scratch/perf.said" >&2; return 1; }
	read -r samples ours lost < <(perf report -i "$scratch/perf.data" --stats 2>/dev/null | awk -v g="^$group:" '
		/ stats:$/ { event = $1 }
		/SAMPLE events:/ { if (event == "" || event == "Aggregated") next; all += $3; if (event ~ g) own += $3 }
		/LOST_SAMPLES events:/ { if (event == "Aggregated") lost = $3 }
		END { print all + 0, own + 0, lost + 0 }')
	events=$((samples - ours + ours / 2))
	[ "$events" -gt 0 ] || { note "$name: perf has no sample"; return 0; }
	note "$name: perf.data of $(stat -c %s "$scratch/perf.data") bytes, $samples samples"
	per_event "$name-perf.data" "$scratch/perf.data" "$events"
	echo "note=${events}_events lost=$lost" >"$scratch/$name-perf.data.note"
	value "$name-perf.data-capture" "$(awk -v a="$(stat -c %s "$scratch/perf.data")" -v b="$(cat "$scratch/$name.bytes")" 'BEGIN { print a / b }')"
	rm -f "$scratch/perf.data"
}

# of NAME CAPTURE: all forms of it
of() {
	local name=$1 cap=$2 events
	events=$("$BUILD/gpuverify" --json "$cap" | sed -n 's/.*"events":\([0-9]*\).*/\1/p')
	"$BUILD/tests/bench/raw" "$cap" >"$scratch/raw"
	lz4 -q -f "$scratch/raw" "$scratch/raw.lz4"
	"$BUILD/gpureplay" -q --force "$cap" -o "$scratch/run.db"
	note "$name: $events events, $(stat -c %s "$cap") bytes"
	stat -c %s "$cap" >"$scratch/$name.bytes"
	per_event "$name-capture" "$cap" "$events"
	echo "note=${events}_events" >"$scratch/$name-capture.note"
	per_event "$name-raw" "$scratch/raw" "$events"
	per_event "$name-raw.lz4" "$scratch/raw.lz4" "$events"
	if have zstd; then
		zstd -q -3 -f "$scratch/raw" -o "$scratch/raw.zst"
		per_event "$name-raw.zstd-3" "$scratch/raw.zst" "$events"
	fi
	per_event "$name-sqlite" "$scratch/run.db" "$events"
}
record() { # NAME COMMAND...
	"$BUILD/gpurec" -q --force -o "$scratch/$1.cap" -- "${@:2}"
	of "$1" "$scratch/$1.cap"
}

workload=("$driver" -q --seconds 10)
launches=("$driver" -q --clean --seconds "$seconds")
switches=(sh -c 'for i in 1 2 3 4; do (j=0; while [ $j -lt 3000 ]; do /bin/true; j=$((j + 1)); done) & done; wait')
have zstd || note "zstd is not installed: left out"
with_perf=1
have perf && [ -w $tracing/uprobe_events ] || { with_perf=; note "perf is not installed, or cannot set probes here: left out"; }
[ -z "$with_perf" ] || probe_events >"$scratch/probes"

for ((i = 0; i < runs; i++)); do
	record workload "${workload[@]}"
	record launch-heavy "${launches[@]}"
	record flood "$driver" -q --flood 50000
	record scheduler-heavy "${switches[@]}"
	[ -n "$with_perf" ] || continue
	perf_data scheduler-heavy sched:sched_switch sched:sched_waking -- "${switches[@]}"
	# Only while perf records: gpurec's calls are not to pay for perf's probes.
	if [ -s "$scratch/probes" ] && cat "$scratch/probes" >>$tracing/uprobe_events; then
		perf_data workload "$group:*" sched:sched_switch sched:sched_waking -- "${workload[@]}"
		perf_data launch-heavy "$group:*" sched:sched_switch sched:sched_waking -- "${launches[@]}"
		probes_off
	else
		note "the kernel takes no probes of the double: left out"
	fi
done
for name in workload launch-heavy flood scheduler-heavy; do
	for form in capture raw raw.lz4 raw.zstd-3 sqlite perf.data; do
		[ -e "$scratch/$name-$form.runs" ] || continue
		# shellcheck disable=SC2046 # one word for each
		figure "$name-$form" bytes/event 1 1 $(cat "$scratch/$name-$form.note" 2>/dev/null)
	done
	[ ! -e "$scratch/$name-perf.data-capture.runs" ] || figure "$name-perf.data-capture" ratio 1 1 note=whole_files_of_the_same_program
done
