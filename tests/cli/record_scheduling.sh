#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# How threads are scheduled is recorded, of recorded ones and of those that have their CPU, and again when it is changed.
# records: each checks only what it started itself
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/rows.sh"

needs_recording "how threads are scheduled"

# What the kernel's own account of this process is, each time that it has changed it.
cat >"$TMP/changes" <<'EOF'
step() {
	"$@" >>out/err 2>&1 || { echo "$*: failed" >>out/err; exit 1; }
	set -- $(cat /proc/$$/stat)
	echo "${41}|${19}|${40}|$(grep Cpus_allowed_list: "/proc/$$/status" | cut -f2)" >>out/states
	sleep 0.02 # speed: it leaves its CPU, and is seen to get one again
}
echo $$ >out/pid
step true
step renice -n 7 -p $$
step chrt --batch -p 0 $$
step chrt --idle -p 0 $$
step chrt --other -p 0 $$
step renice -n -3 -p $$
step chrt --fifo -p 17 $$
step chrt --rr -p 42 $$
step taskset -p -c 0 $$
EOF
changes() {
	mkdir "$TMP/out" && (cd "$TMP" && record -- sh ./changes)
	cat "$TMP/out/err"
	[ "$(sort -u "$TMP/out/states" | wc -l)" -ge 8 ]
}
BUILD=$(cd "$BUILD" && pwd)
if chrt --fifo 1 true 2>"$TMP/err" && command -v taskset >/dev/null; then
	check "a process is recorded that changes how it is scheduled" changes
	check "each change is there, in order, as the kernel has it" is "$(cat "$TMP/out/states")" "SELECT how FROM (SELECT id, policy || '|' || nice || '|' || priority || '|' || cpus AS how,
		lag(policy || '|' || nice || '|' || priority || '|' || cpus) OVER (ORDER BY id) AS before FROM scheduling WHERE tid = $(cat "$TMP/out/pid"))
		WHERE how IS NOT before ORDER BY id"
	check "the text shows them" sh -c '"$1" -q "$2" | grep -q "scheduling.*policy=SCHED_FIFO.*nice=-3 priority=17"' sh "$BUILD/gpureplay" "$cap"
	check "what is counted is there" is 1 "SELECT fired = recorded + lost AND recorded >= (SELECT count(*) FROM scheduling) AND lost = 0 FROM probe_counts WHERE name = 'thread_scheduling'"
else
	skip "each change is recorded" "this user may not make a thread real-time, or there is no taskset"
fi

# Who has the CPU that a recorded thread waits for, and is not recorded.
beside() {
	taskset -c 0 nice -n 4 sh -c 'while :; do :; done' &
	hog=$!
	record -- taskset -c 0 sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done'
	status=$?
	kill "$hog"
	return "$status"
}
if command -v taskset >/dev/null; then
	check "a process is recorded that shares its CPU" beside
	check "how the other one is scheduled is recorded, too" is "$(($(nice) + 4))|0" "SELECT DISTINCT nice, cpus FROM scheduling WHERE tid = $hog"
	check "and that it is not recorded itself" is 0 "SELECT tracked FROM processes WHERE pid = $hog"
else
	skip "how the other one is scheduled" "there is no taskset"
fi

# Each capture of a series has how those are scheduled that it names.
second() {
	rm "$cap"
	"$BUILD/gpurec" -q -o "$cap" --rotate 1s -- sh -c 'i=0; while [ $i -lt 8 ]; do sleep 0.2; i=$((i + 1)); done' 2>"$TMP/err" || { cat "$TMP/err"; return 1; }
	"$BUILD/gpureplay" -q --force "$TMP/run-00002.cap" -o "$TMP/run.db"
}
check "captures are recorded, one after the other" second
check "in the second one it is known of each recorded thread" is 0 "SELECT count(*) FROM switches AS w JOIN threads AS t ON t.thread = w.prev JOIN processes AS p ON p.process = t.process
	WHERE p.tracked AND t.tid NOT IN (SELECT tid FROM scheduling)"
check "also of one that was there before" is 1 "SELECT count(*) > 0 FROM scheduling WHERE at_ns - (SELECT min(begin_ns) FROM epochs) < 1000000"
finish
