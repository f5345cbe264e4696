#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Whether a thread that could have run was preempted, gave its CPU up, or was moved to another: what the kernel side tells.
# alone: it needs CPUs on which nobody but its own programs runs
. "$(dirname "$0")/lib.sh"
gpurec=$BUILD/gpurec
cap=$TMP/run.cap
steady=$BUILD/workload/steady

needs_recording "who took whose CPU"
if [ ! -x "$steady" ]; then
	skip "who took whose CPU" "the program that it is taken from is not built here"
	finish
fi
mapfile -t cpus < <(taskset -pc $$ | sed 's/.*: //' | tr , '\n' | awk -F- '{ for (i = $1; i <= (NF > 1 ? $2 : $1); i++) print i }')

# beside_a_hog OPTION...: steady on the first CPU, where a shell computes as well
beside_a_hog() {
	local hog status=0
	taskset -c "${cpus[0]}" bash -c 'while :; do :; done' &
	hog=$!
	"$gpurec" -q --force -o "$cap" -- taskset -c "${cpus[0]}" "$steady" "$@" >"$TMP/said" || status=$?
	{ kill "$hog" && wait "$hog"; } 2>/dev/null
	"$BUILD/gpureplay" -q --json "$cap" >"$TMP/events"
	"$BUILD/gpuanalyze" -q --json "$cap" >"$TMP/report.json"
	tid=$(awk '$1 == "thread" { print $2 }' "$TMP/said")
	return "$status"
}
# left FLAGS: how often the thread left a CPU, still able to run, with these prev_flags
left() { grep '"kind":"switch"' "$TMP/events" | grep "\"prev_tid\":$tid,\"prev_state\":0," | grep -c "\"prev_flags\":$1[,}]"; }

check "a thread beside a hog on its only CPU is recorded" beside_a_hog 500
pinned() { echo "$(left 8) times"; [ "$(left 8)" -gt 5 ] && [ "$(left 0)" = 0 ]; }
check "that it may run nowhere else is told" pinned
preempted() {
	sqlite3 :memory: "SELECT f.value ->> 'class', f.value ->> 'confidence' FROM
		json_each(CAST(readfile('$TMP/report.json') AS TEXT), '\$.reports[0].findings') AS f
		WHERE f.value ->> 'rule' = 'runqueue'" >"$TMP/classes"
	cat "$TMP/classes"
	grep -q '^preempted|high$' "$TMP/classes"
}
check "so it was preempted for sure, whoever else was idle" preempted

check "one that gives its CPU up all the time is recorded" beside_a_hog -y 500
yielded() { echo "$(left 40) times"; [ "$(left 40)" -gt 5 ]; }
check "that it does so is told" yielded

# --- who has the CPU that a woken thread waits for: against the kernel's own trace ---
tracing=/sys/kernel/tracing
instance=$tracing/instances/gpurec-test-$$
own_tracefs=
trace_off() {
	[ ! -d "$instance" ] || rmdir "$instance"
	[ -z "$own_tracefs" ] || umount "$tracing"
	own_tracefs=
}
trap 'trace_off; lib_cleanup' EXIT
if [ ! -d "$tracing/instances" ] && mount -t tracefs tracefs "$tracing" 2>"$TMP/err"; then
	own_tracefs=yes
fi
why=
mkdir "$instance" 2>"$TMP/err" || why="the kernel's trace cannot be read here: $(tail -1 "$TMP/err")"
type -P python3 >/dev/null || why="there is no python3 here"
# Beside one that always computes, and one that does for a millisecond now and then. It matters less than these: on many
# kernels a thread that wakes up has the CPU at once otherwise, and what it waits is what the probes take.
behind_two() {
	local status=0
	taskset -c "${cpus[0]}" bash -c 'while :; do :; done' &
	hog=$!
	taskset -c "${cpus[0]}" python3 -c '
import time
while True:
    end = time.monotonic() + 0.001
    while time.monotonic() < end:
        pass
    time.sleep(0.009)' &
	blip=$!
	echo 32768 >"$instance/buffer_size_kb"
	echo 1 >"$instance/events/sched/sched_switch/enable"
	echo 1 >"$instance/events/sched/sched_waking/enable"
	"$gpurec" -q --force -o "$cap" -- taskset -c "${cpus[0]}" nice -n 10 "$steady" -s 2000 >"$TMP/said" || status=$?
	echo 0 >"$instance/tracing_on"
	cat "$instance/trace" >"$TMP/trace"
	cat "$instance"/per_cpu/cpu*/stats >"$TMP/stats"
	{ kill "$hog" "$blip" && wait "$hog" "$blip"; } 2>/dev/null
	tid=$(awk '$1 == "thread" { print $2 }' "$TMP/said")
	"$BUILD/gpureplay" -q --force "$cap" -o "$TMP/run.db" &&
		python3 tests/tools/occupants.py "$TMP/trace" "${cpus[0]}" "$tid" >"$TMP/truth" && [ -s "$TMP/truth" ] && return "$status"
}
# told TID: how long the thread waited for a CPU that this one had; as the kernel's trace has it, within a tenth of all
as_traced() {
	local whole truth told
	whole=$(awk '{ n += $2 } END { print n + 0 }' "$TMP/truth")
	truth=$(awk -v tid="$1" '$1 == tid { print $2 }' "$TMP/truth")
	told=$(sqlite3 -readonly "$TMP/run.db" "SELECT coalesce(sum(w.ns), 0) FROM ledger_waited w WHERE w.part = 'cpu' AND w.for_tid = $1
		AND w.thread IN (SELECT thread FROM ledger WHERE tid = $tid)")
	echo "told: $told ns; traced: ${truth:-0} of $whole"
	[ "${truth:-0}" -gt 0 ] && [ $((told - truth)) -lt $((whole / 10)) ] && [ $((truth - told)) -lt $((whole / 10)) ]
}
if [ "$why" ]; then
	skip "who has the CPU that a woken thread waits for" "$why"
else
	check "a thread that is woken behind two others is recorded" behind_two
	check "the kernel's trace has room for all" [ "$(awk '$1 == "overrun:" { n += $2 } END { print n + 0 }' "$TMP/stats")" = 0 ]
	check "how long the one had the CPU that always computes is told" as_traced "$hog"
	check "and how long the one that does so now and then" as_traced "$blip"
fi
trace_off

if [ "${#cpus[@]}" -lt 2 ]; then
	skip "a thread that is moved to another CPU" "there is one CPU only"
	finish
fi
moved() {
	"$gpurec" -q --force -o "$cap" -- "$steady" 1200 >"$TMP/said" &
	local recorder=$! pid i
	until_true pgrep -P "$recorder" -x steady && pid=$(pgrep -P "$recorder" -x steady) || return
	for i in $(seq 100); do
		taskset -apc "${cpus[$((i % 2))]}" "$pid" >/dev/null 2>&1
		sleep 0.01 # speed: how often it is moved does not matter, once is enough
	done
	wait "$recorder" || return
	"$BUILD/gpureplay" -q --json "$cap" >"$TMP/events"
	tid=$(awk '$1 == "thread" { print $2 }' "$TMP/said")
	echo "$(left '\(16\|24\)') times"
	[ "$(left '\(16\|24\)')" -gt 0 ]
}
check "that the kernel moves a thread to another CPU is told" moved
finish
