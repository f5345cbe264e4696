#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Samples of the CPUs: they agree with what a program used and with what the kernel says of idle time, come once in the
# period, are all accounted for.
# alone: it compares samples of the CPUs with the kernel's counts, beside a program that needs a whole CPU
. "$(dirname "$0")/lib.sh"
gpurec=$BUILD/gpurec
cap=$TMP/run.cap

check_exit 2 "a period below 1 ms is refused" "$gpurec" --metrics 999us -o "$cap" -d 1s
check_says "--metrics: '999us' is less than 1\.00 ms" "with the limits"
check_exit 2 "so is one of more than an hour" "$gpurec" --metrics 61m -o "$cap" -d 1s
check_exit 2 "and what is no time" "$gpurec" --metrics often -o "$cap" -d 1s
needs_recording "samples of the CPUs"

# The last CPU that we may use; a loop on it, which counts as a program of the recorder's interest only by its presence.
cpu=$(taskset -cp $$ | sed 's/.*[ ,-]//')
first=$(taskset -cp $$ | sed 's/.*: //; s/[,-].*//')
ncpus=$(nproc)
taskset -c "$cpu" nice -n -20 sh -c 'while :; do :; done' &
loop=$!
taskset -c "$first" sleep 60 &
quiet=$!

hz=$(getconf CLK_TCK)
# Time, what the loop used, and how long either CPU idled, in one breath: were each read by a process of its own, those would
# have to wait for the loop's CPU in between.
reading() {
	taskset -c "$first" awk -v cpu="cpu$cpu" -v first="cpu$first" -v hz="$hz" '
		FILENAME == "/proc/uptime" { boot = $1 * 1e9 }
		$1 == cpu { idle = ($5 + $6) * 1e9 / hz }
		$1 == first { idle_first = ($5 + $6) * 1e9 / hz }
		END { printf "%.0f %.0f %.0f %.0f\n", boot, $1, idle, idle_first }' /proc/uptime /proc/stat "/proc/$loop/schedstat"
}
"$gpurec" -q --metrics 10ms -o "$cap" -p $quiet &
recorder=$!
until_true test -s "$cap"
sleep 0.5 # speed: samples before the interval
read -r from used idle idle_first < <(reading)
sleep 2 # speed: both accounts are of the same interval, however long it is
read -r until used_then idle_then idle_first_then < <(reading)
used=$((used_then - used)) idle=$((idle_then - idle)) idle_first=$((idle_first_then - idle_first))
kill -TERM $recorder
check "a recording with samples ends well" wait $recorder
kill $loop
check_exit 0 "its capture verifies" "$BUILD/gpuverify" "$cap"
"$BUILD/gpureplay" -q "$cap" -o "$TMP/run.db" || exit 1
ask() { sqlite3 "$TMP/run.db" "$1"; }
busy_of() { ask "SELECT max(busy_ns) - min(busy_ns) FROM metrics WHERE cpu = $1 AND at_ns BETWEEN $from AND $until"; }

wall=$((until - from))
busy=$(busy_of "$cpu")
echo "# of $wall ns the loop had $used on CPU $cpu, which was busy for $busy and idle for $idle"
check "the loop ran" test $((used * 10)) -gt "$wall"
check "the CPU was busy at least for as long as the loop ran on it, within 5 %" test $((busy * 100)) -ge $((used * 95))
check "and not when the kernel says that it idled" test "$busy" -le $((wall - idle + wall / 20))
# Threads whose switches the kernel leaves out, if there are any, ran on it as well: that is no reason to doubt.
gaps="SELECT at_ns - lag(at_ns) OVER w AS gap, busy_ns - lag(busy_ns) OVER w AS busy FROM metrics WHERE cpu = $cpu
	AND at_ns BETWEEN $from AND $until WINDOW w AS (ORDER BY at_ns)"
if [ "$idle" -eq 0 ]; then
	check "as it did not idle, each sample adds busy time" test \
		"$(ask "SELECT count(*) FROM ($gaps) WHERE gap > 1000000 AND busy * 2 < gap")" -eq 0
else
	skip "as it did not idle, each sample adds busy time" "it idled for $idle ns"
fi
quiet_busy=$(busy_of "$first")
echo "# CPU $first was busy for $quiet_busy and idle for $idle_first"
within() { # busy and idle together are the whole time, within 5 %
	local sum=$(($1 + $2))
	test $((sum * 100)) -ge $((wall * 95)) && test $((sum * 100)) -le $((wall * 105))
}
check "of the first CPU busy and idle time make up the whole" within "$quiet_busy" "$idle_first"

check "each CPU is sampled" test "$(ask "SELECT count(DISTINCT cpu) FROM metrics")" -ge "$ncpus"
# Between its begin and its end, at which the recorder works itself.
rows=$(ask "SELECT count(*) FROM metrics WHERE cpu = $cpu AND at_ns BETWEEN $from AND $until")
echo "# $rows samples of CPU $cpu in $((wall / 1000000)) ms"
check "once in the period, or in two where switches are rare" test $((rows * 10000000)) -ge $((wall * 49 / 100))
check "and not more often" test $((rows * 10000000)) -le $((wall * 21 / 20))
check "busy time never outgrows the time" test "$(ask "SELECT count(*) FROM (SELECT at_ns - lag(at_ns) OVER w AS gap,
	busy_ns - lag(busy_ns) OVER w AS busy FROM metrics WINDOW w AS (PARTITION BY cpu ORDER BY at_ns))
	WHERE busy < 0 OR busy > gap + 4000")" -eq 0
check "switches only grow" test "$(ask "SELECT count(*) FROM (SELECT switches - lag(switches) OVER
	(PARTITION BY cpu ORDER BY at_ns) AS more FROM metrics) WHERE more < 0")" -eq 0
exact() { # fired = recorded + lost, and as many rows as were recorded
	ask "SELECT fired, recorded, lost FROM probe_counts WHERE name = 'cpu_metric'" >"$TMP/counts"
	cat "$TMP/counts"
	[ "$(ask "SELECT count(*) FROM probe_counts WHERE name = 'cpu_metric' AND fired = recorded + lost
		AND recorded = (SELECT count(*) FROM metrics) AND recorded > 0")" -eq 1 ]
}
check "every sample is recorded or counted as lost" exact
check "the capture says the period" test "$(ask "SELECT value FROM facts WHERE name = 'metrics'")" = "every 10000000 ns"

# More threads than the CPU can run: some wait. Switches come all the time: samples ride along with them.
for _ in 1 2 3; do taskset -c "$cpu" sh -c 'while :; do :; done' & hogs="${hogs:-} $!"; done
taskset -c "$cpu" sh -c 'while :; do sleep 0.0005; done' & hogs="$hogs $!"
"$gpurec" -q --metrics 100ms --force -o "$cap" -p $quiet -d 2s
# shellcheck disable=SC2086 # one word per process
kill $hogs
"$BUILD/gpureplay" -q --force "$cap" -o "$TMP/run.db"
check "threads that wait are seen" test "$(ask "SELECT max(waiting) FROM metrics WHERE cpu = $cpu")" -ge 2
check "samples ride along with switches" test "$(ask "SELECT count(*) FROM metrics WHERE cpu = $cpu AND NOT forced")" -gt 5
kill $quiet
finish
