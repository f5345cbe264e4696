#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A CPU quota (CFS bandwidth) keeps a thread that feeds the GPU from running: the report names the quota and its control
# group, the time agrees with the kernel's own account, and nobody else is blamed, however busy the machine is.
# alone: it compares what a program lost with the kernel's account, beside as many busy neighbours as there are CPUs
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/own.sh"
gpurec=$BUILD/gpurec
cap=$TMP/run.cap
steady=$BUILD/workload/steady
MS=1000000

needs_recording "CPU quotas"
if [ ! -x "$steady" ]; then
	skip "CPU quotas" "the program that is put under one is not built here"
	finish
fi

# set_quota PERCENT: of each 100 ms; while there is some the group goes before all else, so that it is used up
set_quota() {
	if [ "$version" = 1 ]; then
		echo 100000 >"$group/cpu.cfs_period_us" && echo "${1}000" >"$group/cpu.cfs_quota_us" &&
			echo 262144 >"$group/cpu.shares"
	else
		echo "${1}000 100000" >"$group/cpu.max" && echo 10000 >"$group/cpu.weight"
	fi
}

# throttled_ns: the kernel's account of the group
throttled_ns() {
	awk '$1 == "throttled_time" { print $2 } $1 == "throttled_usec" { printf "%.0f\n", $2 * 1000 }' "$group/cpu.stat"
}

if ! own_group cpu || [ ! -e "$group/cpu.stat" ] || ! set_quota 100 2>"$TMP/err"; then
	skip "CPU quotas" "no control group with a CPU quota can be made here"
	finish
fi
if ! grep -q '^ok *CPU quota' "$TMP/check"; then
	skip "how long a quota keeps a thread from running" "this kernel keeps no account of it"
	finish
fi

# record OPTION... -- COMMAND...: a capture, its findings, and what the kernel and the program say of it
record() {
	local before
	before=$(throttled_ns)
	"$gpurec" -q --force -o "$cap" "$@" >"$TMP/said" || return 1
	kernel_ns=$(($(throttled_ns) - before))
	off_ns=$(awk '$1 == "thread" { off += $4 - $6 } END { printf "%.0f", off }' "$TMP/said")
	"$BUILD/gpuanalyze" -q --json "$cap" >"$TMP/report.json"
}
report() { sqlite3 :memory: "SELECT $1 FROM json_each(CAST(readfile('$TMP/report.json') AS TEXT), '\$.reports[0].findings') AS f $2"; }
finding() { report "f.value ->> '$2'" "WHERE f.value ->> 'rule' = '$1'"; }

headline() { # PERCENT
	finding cpu-quota headline >"$TMP/headline"
	cat "$TMP/headline"
	grep -Eq "feeder-0.*throttled by CPU quota \(${1}\.0 ms of 100 ms\) of cgroup /gpurec-cpu-$$ [0-9]+ times" "$TMP/headline"
}
confident() { [ "$(finding cpu-quota confidence)" = high ]; }
agrees() { # what the threads lost by it is what the kernel says, within a tenth
	local found
	found=$(finding cpu-quota total_ns)
	echo "found $found, cpu.stat $kernel_ns"
	[ $((found * 10)) -ge $((kernel_ns * 9)) ] && [ $((found * 10)) -le $((kernel_ns * 11)) ]
}
blames_nobody() { # for the quota's part of the time; the rest of the time off the CPU may be others' doing
	local others keepers
	keepers=$(report "count(*)" ", json_each(f.value, '\$.parties') AS p WHERE f.value ->> 'rule' = 'cpu-quota' AND
		p.value ->> 'part' = 'keeper'")
	others=$(finding runqueue total_ns)
	echo "keepers $keepers, others ${others:-0}, off the CPU $off_ns, cpu.stat $kernel_ns"
	[ "$keepers" = 0 ] && [ "${others:-0}" -le $((off_ns - kernel_ns + 10 * MS)) ]
}
exact() {
	"$BUILD/gpureplay" -q --force "$cap" -o "$TMP/view.db" &&
		[ -z "$(sqlite3 -readonly "$TMP/view.db" 'SELECT * FROM probe_counts WHERE fired <> recorded + lost')" ]
}

for beside in alone "beside busy neighbours"; do
	neighbours=()
	if [ "$beside" != alone ]; then
		for _ in $(seq "$(nproc)"); do
			(while :; do :; done) &
			neighbours+=($!)
		done
	fi
	for percent in 10 30 60; do
		set_quota "$percent"
		check "a quota of $percent % $beside is recorded" record -- "$steady" -j "$group/cgroup.procs" 1500
		check "$percent % $beside: the report names the quota and its control group" headline "$percent"
		check "$percent % $beside: and is sure of it" confident
		check "$percent % $beside: the time agrees with the kernel's account" agrees
		check "$percent % $beside: nobody is blamed for it" blames_nobody
	done
	[ "${#neighbours[@]}" = 0 ] || { kill "${neighbours[@]}" && wait "${neighbours[@]}"; } 2>/dev/null
done
check "what fired was recorded or is counted as lost" exact

set_quota 30
check "without --no-quota nothing is missing" grep -q '"cpu_quota"' <("$BUILD/gpureplay" -q --json "$cap")
check "with --no-quota it is recorded, too" record --no-quota -- "$steady" -j "$group/cgroup.procs" 500
silent() { ! "$BUILD/gpureplay" -q --json "$cap" | grep -Eq '"kind":"(throttled|quota)"'; }
check "but nothing of quotas" silent
says() { "$BUILD/gpuanalyze" -q "$cap" --report | grep -A9 '^What the capture could not see' | grep -q 'CPU quota'; }
check "and the report says so" says
finish
