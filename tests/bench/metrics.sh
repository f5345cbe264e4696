#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What samples of the CPUs cost (gpurec --metrics), beside a process that reads /proc/stat as often; at several periods,
# on a host that is idle but for this and under threads that hand a byte to each other 20000 times a second.
#
# gpurec's cost is what --metrics adds: its program at switches and its timer in the kernel, as measured there, and the
# recorder's CPU time, less that of a recorder without. The poller's is its CPU time. Not in either: the interrupt of the
# timer that both need; and of the poller's waking what the kernel does before and after it is its turn.
#
#   BUILD=build bash tests/bench/metrics.sh [RUNS [SECONDS]]  as root; 5 runs of 3 s of each
. "$(dirname "$0")/lib.sh"
runs=${1:-5} seconds=${2:-3}
poll=$BUILD/tests/bench/metrics_poll
bpftool=$(sh .ci/bpftool.sh || echo bpftool)
periods="1s 100ms 10ms 1ms"

[ "$(id -u)" = 0 ] || { note "not root: left out"; exit 0; }
stats_before=$(sysctl -n kernel.bpf_stats_enabled)
sleep 100000 &
quiet=$!
jobs_end() { kill $quiet 2>/dev/null || :; sysctl -qw kernel.bpf_stats_enabled="$stats_before"; bench_cleanup; }
trap jobs_end EXIT
sysctl -qw kernel.bpf_stats_enabled=1

in_kernel() { # ns since the start in the program and the timer, of all gpurecs there are
	{ "$bpftool" prog show name on_metrics; "$bpftool" map dump name gpurec_b.bss; } 2>/dev/null | awk '
		{ for (i = 1; i < NF; i++) if ($i == "run_time_ns" || $i == "\"metrics_timer_ns\":") ns += $(i + 1) } END { printf "%.0f\n", ns }'
}
of_recorder() { cat /proc/"$1"/task/*/schedstat | awk '{ ns += $1 } END { printf "%.0f\n", ns }'; }
switches() { awk '$1 == "ctxt" { print $2 }' /proc/stat; }

# one WORKLOAD COMMAND...: runs it while the workload does
busy_while() {
	local workload=$1 pid=
	shift
	if [ "$workload" = switches ]; then
		"$poll" churn 20000 $(((seconds + 3) * 1000)) >/dev/null &
		pid=$!
		sleep 0.2
	fi
	"$@"
	[ -z "$pid" ] || { kill $pid && wait $pid || :; } 2>/dev/null
}

record() { # NAME OPTION...: us of CPU a second in the kernel and of the recorder
	local name=$1 pid from_ns kernel own switched
	shift
	"$BUILD/gpurec" -q --force -o "$scratch/run.cap" -p $quiet "$@" &
	pid=$!
	while [ ! -s "$scratch/run.cap" ]; do sleep 0.05; done
	sleep 1
	from_ns=$(date +%s%N) kernel=$(in_kernel) own=$(of_recorder $pid) switched=$(switches)
	sleep "$seconds"
	local wall=$(($(date +%s%N) - from_ns))
	own=$(($(of_recorder $pid) - own)) kernel=$(($(in_kernel) - kernel)) switched=$(($(switches) - switched))
	kill -TERM $pid
	wait $pid
	awk -v k=$kernel -v o=$own -v w=$wall 'BEGIN { print k / w * 1e6, o / w * 1e6 }' >"$scratch/$name.last"
	echo $((switched * 1000000000 / wall)) >"$scratch/switched"
}
poll_for() { # NAME PERIOD_US
	local samples cpu wall
	read -r samples cpu wall < <("$poll" poll "$2" $((seconds * 1000)) "$scratch/polled")
	awk -v c="$cpu" -v w="$wall" 'BEGIN { print c / w * 1e6, 0 }' >>"$scratch/$1.runs"
	awk -v s="$samples" -v c="$cpu" 'BEGIN { print c / s / 1000, 0 }' >>"$scratch/$1-each.runs"
	echo "$samples" >"$scratch/$1.samples"
}
us() { case $1 in *ms) echo $((${1%ms} * 1000)) ;; *) echo $((${1%s} * 1000000)) ;; esac; }

for workload in idle switches; do
	for ((i = 0; i < runs; i++)); do
		busy_while $workload record without
		for period in $periods; do
			name=$period-$workload
			busy_while $workload record with --metrics "$period"
			busy_while $workload poll_for "poll-$name" "$(us "$period")"
			read -r kernel own <"$scratch/with.last"
			[ "${kernel%.*}" -gt 0 ] || { note "bpftool does not tell how long programs ran: left out"; exit 0; }
			read -r _ base <"$scratch/without.last"
			value "kernel-$name" "$kernel"
			value "gpurec-$name" "$(awk -v k="$kernel" -v o="$own" -v b="$base" 'BEGIN { print k + o - b }')"
		done
	done
	for period in $periods; do
		name=$period-$workload
		note="note=$(cat "$scratch/switched")_switches/s_in_the_last_run"
		figure "gpurec-$name" us/s 1 1 peer=poll-$name "$note"
		figure "kernel-$name" us/s 1 1 note=of_it_in_the_kernel
		figure "poll-$name" us/s 1 1 "note=$(cat "$scratch/poll-$name.samples")_samples_in_the_last_${seconds}_s"
		ratio "ratio-$name" "gpurec-$name" "poll-$name"
	done
done
