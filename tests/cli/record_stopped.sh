#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A program that feeds the GPU is stopped: by a signal, a debugger, the freezer of its control group, once for long or often
# for a moment. The report says so, for as long as it was, and by whom; nobody who ran meanwhile is blamed.
# alone: it compares how long a program was stopped with how long it should be
. "$(dirname "$0")/lib.sh"
gpurec=$BUILD/gpurec
cap=$TMP/run.cap
steady=$BUILD/workload/steady
MS=1000000

needs_recording "who stops a program"
if [ ! -x "$steady" ]; then
	skip "who stops a program" "the program that is stopped is not built here"
	finish
fi
if ! grep -q '^ok *signals' "$TMP/check"; then
	skip "who stops a program" "this kernel does not tell of signals"
	finish
fi

now_ns() { date +%s%N; } # speed: bounds of how long the program was stopped, taken around it
# start OPTION...: record steady, in the background; $recorder, $pid: of a program that has made its first hundred launches
start() {
	: >"$TMP/warm"
	"$gpurec" -q --force -o "$cap" "$@" -- "$steady" -j "$TMP/warm" "${run_ms:-1000}" >"$TMP/said" &
	recorder=$!
	until_true test -s "$TMP/warm"
	pid=$(cat "$TMP/warm")
}
# end: the recording is over; its events and findings
end() {
	wait "$recorder" || return 1
	"$BUILD/gpureplay" -q --json "$cap" >"$TMP/events"
	"$BUILD/gpuanalyze" -q --json "$cap" >"$TMP/report.json"
}
# stopped STOP IS-STOPPED LET-GO-ON: for 300 ms; $least_ns, $most_ns: the bounds of that time
stopped() {
	local before after
	before=$(now_ns)
	"$1" || return 1
	until_true "$2" || return 1
	after=$(now_ns)
	sleep 0.3 # speed: how long it was is measured
	least_ns=$(($(now_ns) - after))
	"$3" || return 1
	most_ns=$(($(now_ns) - before))
}
gap() { # COLUMN: of the finding about the gap, or the call, in which it was stopped
	sqlite3 :memory: "SELECT f.value ->> '$1' FROM json_each(CAST(readfile('$TMP/report.json') AS TEXT),
		'\$.reports[0].findings') AS f WHERE f.value ->> 'rule' IN ('launch-gap', 'launch-latency') AND f.value ->> 'class' = 'stopped'"
}
headline() { # PATTERN
	gap headline | tee "$TMP/headline"
	grep -Eq "$1" "$TMP/headline"
}
# in_time: what was found is at least what it was for sure, and at most that and as long as the commands took; a
# millisecond for the clocks, which are two
in_time() {
	local found
	found=$(gap facts.lost_ns)
	echo "found $found, from $least_ns to $most_ns"
	[ "$found" -ge "$((least_ns - MS))" ] && [ "$found" -le "$((most_ns + MS))" ]
}
sure() { [ "$(gap confidence)" = high ]; }
keeper() { # PID: who is to blame, and nobody else
	local keepers
	keepers=$(sqlite3 :memory: "SELECT group_concat(DISTINCT w.value ->> 'keeper_tid') FROM
		json_each(CAST(readfile('$TMP/report.json') AS TEXT), '\$.reports[0].findings') AS f,
		json_each(f.value, '\$.first') AS w WHERE f.value ->> 'class' = 'stopped'")
	echo "keepers: $keepers"
	[ "$keepers" = "$1" ]
}

stop_by_signal() { kill -STOP "$pid"; }
# state LETTER: all threads are in it
state() { [ -z "$(sed 's/.*) //; s/ .*//' "/proc/$pid"/task/*/stat | grep -v "^$1\$")" ]; }
is_stopped() { state T; }
continue_by_signal() { kill -CONT "$pid"; }
start
check "a process is stopped and let go on" stopped stop_by_signal is_stopped continue_by_signal
check "that is recorded" end
check "the report names the signal and who sent it" \
	headline "stopped by SIGSTOP from $$ [a-z_.]+, let go on by $$ [a-z_.]+"
check "for how long" in_time
check "and is sure of it" sure
check "who sent it is to blame, nobody else" keeper $$

start --no-signals
check "without the probe of signals" stopped stop_by_signal is_stopped continue_by_signal
check "a stop is recorded, too" end
check "but not who did it" headline "[0-9] ms stopped, let go on by $$ "
says() { "$BUILD/gpuanalyze" -q "$cap" --report | grep -A9 '^What the capture could not see' | grep -q 'by a signal'; }
check "the report says what is missing" says

if strace -V >/dev/null 2>&1; then
	trace() { strace -f -qq -o /dev/null -p "$pid" & tracer=$!; until_true is_traced; }
	is_traced() { grep -Eq "^TracerPid:[[:space:]]+$tracer$" /proc/"$pid"/task/*/status; }
	untrace() { kill "$tracer"; wait "$tracer" 2>/dev/null; true; }
	start
	check "a debugger attaches" stopped trace true untrace
	check "that is recorded, too" end
	traced() { grep -Eq '"kind":"switch".*"prev_state":(8|264)[,}]' "$TMP/events"; }
	check "with the state of who is traced" traced
else
	skip "a program under a debugger" "strace is not here"
fi

# --- often, for moments, until all is done: single stops are not to be found, however long they take here ---
often=100
halted() { # HOW WHOM: by a program with a clock of its own; $halter: its number
	local status=0
	python3 tests/workload/halts.py "$1" "$2" "$often" >"$TMP/halted" &
	halter=$!
	wait "$halter" || status=$?
	kill "$pid"
	return "$status"
}
stopped_often() {
	wait "$recorder" # with the status of a program that was killed
	"$BUILD/gpuanalyze" -q --json --set stopped.share=1% --set stopped.total=1ms --set launch-gap.min=1000s \
		--set launch-latency.min=1000s "$cap" >"$TMP/report.json"
	sqlite3 :memory: "SELECT f.value ->> 'headline', f.value ->> 'class', f.value ->> 'confidence', f.value ->> 'count',
		f.value ->> 'facts.lost_ns' FROM json_each(CAST(readfile('$TMP/report.json') AS TEXT), '\$.reports[0].findings') AS f
		WHERE f.value ->> 'rule' = 'stopped'" | tee "$TMP/often"
	[ "$(wc -l <"$TMP/often")" = 1 ]
}
is_often() { grep -E "$1" "$TMP/often" || { cat "$TMP/often"; return 1; }; } # PATTERN
# What was found is at least what it was for sure, but for a twentieth (a thread is seen stopped just before it leaves its
# CPU, which the host may have taken), and at most what it took.
as_halted() {
	local found least most
	read -r least most <"$TMP/halted"
	found=$(sed 's/.*|//' "$TMP/often")
	echo "found $found, from $least to $most"
	[ "$found" -ge "$((least - least / 20))" ] && [ "$found" -le "$((most + MS))" ]
}
feeder() { basename "$(dirname "$(grep -lx feeder-0 /proc/"$pid"/task/*/comm)")"; }
run_ms=600000
if python3 -c 'import ctypes' 2>/dev/null; then
	start
	check "signals stop a process many times" halted signal "$pid"
	check "that is one finding" stopped_often
	check "which says how often, and who sent them" is_often \
		"^[0-9]+ feeder-0, which feeds the GPU, was stopped for .*, by $often signals \(SIGSTOP\) from $halter python3"
	check "and is sure of it" is_often "[|]stopped[|]high[|]${often}[|]"
	check "for as long as it was by the sender's clock" as_halted
	start --no-signals
	check "without the probe of signals" halted signal "$pid"
	check "that is one finding as well" stopped_often
	check "which says how often, and who let it go on" is_often \
		"^[0-9]+ feeder-0, .* was stopped for .*, $often times, let go on by $halter python3"
	check "and is not sure of it" is_often "[|]unknown[|]medium[|]${often}[|]"
	check "for as long as it was" as_halted
	start
	check "a tracer stops a thread many times" halted trace "$(feeder)"
	check "that is one finding" stopped_often
	check "which says how often, and which tracer" is_often \
		"^[0-9]+ feeder-0, which feeds the GPU, was stopped for .*, $often times by a tracer \(ptrace\), let go on by $halter python3"
	check "and is sure of it" is_often "[|]traced[|]high[|]${often}[|]"
	check "for as long as it was by the tracer's clock" as_halted
else
	skip "a program that is stopped many times" "there is no python3 with ctypes here"
fi
run_ms=

# A control group with a freezer: $freezer, $version
make_freezer() {
	local root
	root=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
	version=2
	if [ -z "$root" ] || ! mkdir "$root/gpurec-stop-$$" 2>/dev/null || [ ! -e "$root/gpurec-stop-$$/cgroup.freeze" ]; then
		root=$(awk '$3 == "cgroup" && $4 ~ /(^|,)freezer(,|$)/ { print $2; exit }' /proc/mounts)
		version=1
		[ -n "$root" ] && mkdir "$root/gpurec-stop-$$" 2>/dev/null || return 1
	fi
	freezer=$root/gpurec-stop-$$
}
freeze() {
	if [ "$version" = 2 ]; then echo 1 >"$freezer/cgroup.freeze"; else echo FROZEN >"$freezer/freezer.state"; fi
}
thaw() {
	if [ "$version" = 2 ]; then echo 0 >"$freezer/cgroup.freeze"; else echo THAWED >"$freezer/freezer.state"; fi
}
is_frozen() { grep -Eqs '^(frozen 1|FROZEN)$' "$freezer/cgroup.events" "$freezer/freezer.state"; }
remove_freezer() { until_true rmdir "$freezer"; } # once its last process is gone
if make_freezer; then
	trap 'thaw; remove_freezer; lib_cleanup' EXIT
	start
	echo "$pid" >"$freezer/cgroup.procs"
	check "a control group is frozen and thawed (version $version)" stopped freeze is_frozen thaw
	check "that is recorded as well" end
	check "the report says so, and who thawed it" headline "frozen with its control group, let go on by $$ "
	check "and for how long it was" in_time
	run_ms=600000
	if python3 -c 'import ctypes' 2>/dev/null; then
		start
		echo "$pid" >"$freezer/cgroup.procs"
		check "a control group is frozen many times" halted freeze "$freezer"
		check "that is one finding, too" stopped_often
		check "which says how often, and who thawed it" is_often \
			"^[0-9]+ feeder-0, .* was frozen with its control group for .*, $often times, let go on by $halter python3"
		check "and is as sure of it" is_often "[|]frozen[|]high[|]${often}[|]"
		check "for as long as it was by the freezer's clock" as_halted
	else
		skip "a control group that is frozen many times" "there is no python3 with ctypes here"
	fi
	run_ms=
else
	skip "a control group that is frozen" "none can be made here"
fi
finish
