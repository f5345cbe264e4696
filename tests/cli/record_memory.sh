#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Threads that have to free memory by themselves: a control group's limit, and compaction; and who is killed for want of it. A program that reads more
# through the page cache than it may have must have got free what it read: how many pages is known beforehand.
# records: each checks only what it started itself
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/rows.sh"
. "$(dirname "$0")/own.sh"

needs_recording "threads that free memory"
if ! grep -qs . /sys/kernel/tracing/events/vmscan/mm_vmscan_memcg_reclaim_end/id /sys/kernel/debug/tracing/events/vmscan/mm_vmscan_memcg_reclaim_end/id &&
	"$BUILD/gpurec" --check 2>&1 | grep -q mm_vmscan_memcg_reclaim; then
	skip "threads that free memory" "this kernel does not report it"
	finish
fi
python=$(python3 -c "import sys; print(sys.executable)" 2>"$TMP/err")
cuda=$BUILD/workload/libcuda.so.1
if [ -z "$python" ] || [ ! -e "$cuda" ]; then
	skip "threads that free memory" "there is no python3, or no test double here"
	finish
fi
if ! own_group memory || ! limit_memory 64 2>"$TMP/err"; then
	skip "threads that free memory" "no control group with a memory limit can be made here"
	finish
fi
MIB=96 TIMES=4 SECONDS_LEAST=0
if ! file_on_disk $MIB; then # what is in memory only cannot be got free there
	skip "threads that free memory" "there is no disk here"
	finish
fi
PAGE=$(getconf PAGESIZE)
limit_events() { cat "$group/memory.events.local" "$group/memory.failcnt" 2>"$TMP/err" | awk '$1 == "max" { print $2 } NF == 1'; }
# in_group COMMAND...: recorded, in that control group
in_group() { record "${options[@]}" -- sh -c 'echo $$ >"$1/cgroup.procs"; shift; exec "$@"' sh "$group" "$@"; }
squeezed() { options=("$@") && in_group "$python" tests/workload/squeezed.py "$cuda" "$blob" $TIMES $SECONDS_LEAST; }
counted="SELECT fired = recorded + lost AND recorded = (SELECT count(*) FROM reclaims) FROM probe_counts WHERE name = 'memory_reclaim'"
feeder="(SELECT tid FROM calls GROUP BY tid)"

check "a program is recorded that reads more than it may have" squeezed
# What it read last may still be there, and of its own memory some was got free, too: a part of the limit either way.
check "it got free what it read, for the limit's sake" is 1 "SELECT abs(sum(pages) * $PAGE - $TIMES * $MIB * 1048576) <= 64 * 1048576 FROM reclaims WHERE cause = 2 AND tid IN $feeder"
check "nobody else is in it" is 0 "SELECT count(*) FROM reclaims WHERE cause = 2 AND process NOT IN (SELECT process FROM processes)"
check "each took some time, and not more than the recording" is 0 "SELECT count(*) FROM reclaims WHERE dur_ns = 0 OR start_ns < (SELECT min(at_ns) FROM facts) - 1000000000 OR start_ns + dur_ns <> at_ns"
check "those of a thread do not overlap" is 0 "SELECT count(*) FROM (SELECT start_ns, lag(at_ns) OVER (PARTITION BY tid ORDER BY at_ns) AS before FROM reclaims) WHERE start_ns < before"
check "what is counted is there" is 1 "$counted"
check "the text shows them" sh -c '"$1" -q "$2" | grep -q "reclaim .*cause=limit pages=.*dur="' sh "$BUILD/gpureplay" "$cap"
# What of it the thread had no CPU for is a wait for a CPU.
check "where the time went has it, and no more than that" is 1 "SELECT ns > 0 AND ns <= (SELECT sum(dur_ns) FROM reclaims WHERE tid IN $feeder)
	AND ns >= (SELECT sum(dur_ns) FROM reclaims WHERE tid IN $feeder) - (SELECT coalesce(sum(ns), 0) FROM ledger WHERE part IN ('cpu', 'quota', 'unknown') AND tid IN $feeder)
	FROM ledger WHERE part = 'memory' AND tid IN $feeder"
check "all of its time has a part" is 0 "SELECT count(*) FROM (SELECT 1 FROM ledger GROUP BY thread, begin_ns HAVING sum(ns) <> end_ns - begin_ns)"
check "the report has a line for it" sh -c '"$1" "$2" --report | grep -q " m  short of memory"' sh "$BUILD/gpuanalyze" "$cap"

path=/gpurec-memory-$$
last="FROM memory_limits WHERE path = '$path' ORDER BY id DESC LIMIT 1"
check "the group and its limit are recorded" is "$((64 << 20))|$path" "SELECT max, path $last"
check "it has come up against it as often as the kernel itself counted" is "$(limit_events)" "SELECT times_max $last"
check "and that is more than before" is 1 "SELECT max(times_max) > min(times_max) FROM memory_limits WHERE path = '$path'"
check "what is in use there is no more than it may have, and mostly files" is 1 "SELECT used BETWEEN 1 AND max AND file > used / 2 $last"
check "its process is in it" is 1 "SELECT count(*) > 0 FROM cgroups WHERE memory_group = '$path'"
check "the host has as much as it says" is "$(($(awk '$1 == "MemTotal:" { print $2 }' /proc/meminfo) * 1024))" "SELECT max FROM memory_limits WHERE path = '/' ORDER BY id LIMIT 1"
check "the report names the group" sh -c '"$1" "$2" --report --set memory-pressure.total=1us --set memory-pressure.share=1 | grep -q "control group $3 is at its memory limit of 64.0 MiB"' sh "$BUILD/gpuanalyze" "$cap" "$path"

# Some seconds of it, so that it is looked at while it is at its limit: who has most memory there, the python that reads.
SECONDS_LEAST=3
check "a program is recorded that takes some seconds" squeezed
check "it is the one in the group that has most memory" is 1 "SELECT count(*) > 0 FROM memory_limits l JOIN processes p ON p.pid = l.holder WHERE l.path = '$path'
	AND l.holder_bytes BETWEEN 1 AND $((64 << 20)) AND p.name LIKE 'python%'"
check "and no other is" is 0 "SELECT count(*) FROM memory_limits WHERE path = '$path' AND holder NOT IN (0, (SELECT pid FROM processes WHERE name LIKE 'python%' AND tracked))"
SECONDS_LEAST=0

check "the same with --no-reclaim" squeezed --no-reclaim
check "has no limits either" is 0 "SELECT count(*) FROM memory_limits"

# In the same group: the kernel kills who wants more than it may have, and counts that.
kills() { cat "$group/memory.events" "$group/memory.oom_control" 2>"$TMP/no" | awk '$1 == "oom_kill" { print $2 }'; }
killed() {
	local file
	for file in memory.swap.max memory.swappiness; do # or it would be swapped out
		[ ! -e "$group/$file" ] || echo 0 >"$group/$file"
	done
	before=$(kills)
	options=()
	in_group "$python" tests/workload/ends.py "$cuda" none out_of_memory
	local status=$?
	pkill -KILL -f "ends.py $cuda none out_of_memory"
	target=$(awk '{ print $3 }' "$TMP/said")
	return $status
}
check "a worker that wants more memory than its control group may have is recorded" killed
check "the kernel killed it, as often as it counted itself" is "$(($(kills) - before))|$target" "SELECT count(*), pid FROM ooms"
check "the report names it, and the group's limit" sh -c '"$1" -q "$2" --report >"$3"; grep -q "The kernel killed process $4 python[0-9.]* after .* because its control group $5 came up against its memory limit of 64.0 MiB" "$3"' \
	sh "$BUILD/gpuanalyze" "$cap" "$TMP/report" "$target" "$path"

# What it writes over and over does not fit into that group: the rest is swapped out, and read back in its page faults.
swap=$folder/swap
lend_swap() {
	dd if=/dev/zero of="$swap" bs=1M count=96 2>"$TMP/err" && chmod 600 "$swap" && "$python" tests/workload/swap.py on "$swap" 2>"$TMP/err"
}
trap '[ ! -e "$swap" ] || "$python" tests/workload/swap.py off "$swap" 2>"$TMP/no"; remove_own; lib_cleanup' EXIT
for file in memory.swap.max:max memory.swappiness:60; do # see killed()
	[ ! -e "$group/${file%:*}" ] || echo "${file#*:}" >"$group/${file%:*}"
done
if lend_swap; then
	options=()
	check "a program is recorded of which some is swapped out" in_group "$python" tests/workload/swapped.py "$cuda" 96 3
	slept=$(cat "$TMP/said")
	check "it slept until that was read back, and no more often than it slept at all" is 1 "SELECT count(*) BETWEEN 1 AND $slept
		FROM disk_requests WHERE operation = 254 AND tid IN $feeder AND at_ns < (SELECT max(at_ns) FROM calls)"
	check "nobody reads so what is in a file" is 0 "SELECT count(*) FROM disk_requests WHERE operation = 254 AND tid NOT IN $feeder
		AND tid NOT IN (SELECT tid FROM threads JOIN processes USING (process) WHERE pid IN (SELECT pid FROM cgroups WHERE memory_group = '$path'))"
	check "where the time went has it as memory, and nearly none as a disk" is 1 "SELECT total(ns) FILTER (WHERE part = 'memory') > 10 * total(ns) FILTER (WHERE part = 'device')
		FROM ledger WHERE tid IN $feeder"
	check "the text names it" sh -c '"$1" -q "$2" | grep -q "disk .*operation=swap-in "' sh "$BUILD/gpureplay" "$cap"
else
	skip "memory that is swapped out" "no file can be used for swapping here: $(tail -1 "$TMP/err")"
fi

if [ -w /proc/sys/vm/compact_memory ]; then
	check "a program is recorded that has memory put together" record -- sh -c 'echo 1 >/proc/sys/vm/compact_memory'
	check "that is compaction, and got no page free" is 1 "SELECT count(*) > 0 AND sum(pages) = 0 FROM reclaims WHERE cause = 3"
	check "and counted" is 1 "$counted"
else
	skip "compaction" "this kernel has no compaction"
fi
finish
