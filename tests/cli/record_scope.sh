#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What a recording covers: what descends from the processes that were named, until when, and what they were in when it
# began and ended. The program counts its own calls.
. "$(dirname "$0")/lib.sh"
gpurec=$BUILD/gpurec
cap=$TMP/run.cap
scope=$BUILD/workload/leave/scope

needs_recording "what a recording covers"

sql() { sqlite3 "$TMP/run.db" "$1"; }
load() { "$BUILD/gpureplay" -q --force "$cap" -o "$TMP/run.db"; }
is() { # WANTED SQL
	local got
	got=$(sql "$2")
	[ "$got" = "$1" ] || { printf 'wanted %s, got %s\n' "$1" "$got"; sqlite3 -box "$TMP/run.db" "SELECT * FROM thread_states; SELECT * FROM calls_in_flight"; return 1; }
}
lines() { [ "$(wc -l <"$1")" -ge "$2" ]; }
finding() { # CLASS: its headline
	"$BUILD/gpuanalyze" -q --json "$cap" >"$TMP/report.json"
	sqlite3 :memory: "SELECT f.value ->> 'headline' FROM json_each(CAST(readfile('$TMP/report.json') AS TEXT),
		'\$.reports[0].findings') AS f WHERE f.value ->> 'class' = '$1'" | tee "$TMP/headline"
}
reports() { # CLASS PATTERN
	finding "$1" | grep -Eq "$2" || { cat "$TMP/headline"; return 1; }
}
RECORDED="SELECT count(*) FROM calls"
MADE="SELECT sum(fired) = sum(recorded) + sum(lost) FROM probe_counts WHERE name LIKE 'cuda%'"

# Descendants ---------------------------------------------------------------------------------------------------------
# attach N OPTION...: N ranks run already when their launcher is attached to; they work once it is recorded
attach() {
	local n=$1
	shift
	rm -f "$TMP/go"
	"$scope" ranks "$n" 50 "$TMP/go" >"$TMP/pids" &
	launcher=$!
	until_true lines "$TMP/pids" "$n" || return
	"$gpurec" --force -o "$cap" -p "$launcher" "$@" 2>"$TMP/err" &
	recorder=$!
	until_recording "$recorder" || return
	: >"$TMP/go"
	wait "$recorder" && load
}
attach 4
check "-p records the children that run already" is 200 "$RECORDED"
check "each call of each of them" is 4 "SELECT count(*) FROM (SELECT 1 FROM calls GROUP BY pid HAVING count(*) = 50)"
check "all that was made" is 1 "$MADE"
check "what they were in when it began is there" \
	is 5 "SELECT count(*) FROM thread_states WHERE moment = 'begin' AND tid = pid AND state IN ('sleeping', 'running')"
check "the launcher waited in a system call" \
	is 1 "SELECT count(*) FROM thread_states WHERE moment = 'begin' AND pid = $launcher AND state = 'sleeping' AND syscall > 0"
check "none of them runs on at the end" is 0 "SELECT count(*) FROM thread_states WHERE moment = 'end' AND state <> 'dead'"
check "which is not reported either" sh -c '! grep "still ran" "$1"' sh "$TMP/err"
attach 3 --no-children
check "--no-children leaves them out" is 0 "$RECORDED"
check "a fact has that" is "not recorded" "SELECT value FROM facts WHERE name = 'children'"
check "only the launcher was asked what it is in" is "$launcher" "SELECT group_concat(DISTINCT pid) FROM thread_states"
check_exit 2 "--no-children alone is refused" "$gpurec" --no-children -o "$TMP/x.cap"
check_says 'goes with -p or COMMAND' "in a sentence"
"$gpurec" -q --force -o "$cap" --no-children -- "$scope" ranks 2 50 /dev/null >"$TMP/pids" && load
check "of COMMAND, too" is 0 "$RECORDED"
"$gpurec" -q --force -o "$cap" -- "$scope" ranks 2 50 /dev/null >"$TMP/pids" && load
check "else its children are recorded" is 100 "$RECORDED"

# What goes on --------------------------------------------------------------------------------------------------------
rm -f "$TMP/go"
"$gpurec" --force -o "$cap" -- "$scope" background 2 50 "$TMP/go" >"$TMP/pids" 2>"$TMP/err"
check "a command that ends before its children ends the recording" grep -q ': the command ended' "$TMP/err"
check "who goes on is reported" grep -Eq '2 recorded processes still ran.*--wait=all.*worker [0-9]+, worker [0-9]+' "$TMP/err"
load
check "and is in the capture" is "$(sort -n "$TMP/pids" | paste -sd,)" \
	"SELECT group_concat(pid) FROM (SELECT DISTINCT pid FROM thread_states WHERE moment = 'end' AND state <> 'dead' ORDER BY pid)"
check "and a finding" reports still-running '^The command ended.*2 recorded processes still ran: process [0-9]+ worker, process [0-9]+ worker'
check "--wait=command is the default" sh -c '"$1" --help | grep -q "has ended (command)"' sh "$gpurec"
: >"$TMP/go"
until_true sh -c '! kill -0 $(cat "$1")' sh "$TMP/pids"
rm -f "$TMP/go"
"$gpurec" --force --wait=all -o "$cap" -- "$scope" background 2 50 "$TMP/go" >"$TMP/pids" 2>"$TMP/err" &
recorder=$!
until_true lines "$TMP/pids" 2
: >"$TMP/go"
wait "$recorder"
check "--wait=all waits for them" test $? = 0
load
check "and all their calls are there" is 100 "$RECORDED"
check "it ends with the last of them" grep -q ': the last recorded process ended' "$TMP/err"
check "nobody is left then" is 0 "SELECT count(*) FROM thread_states WHERE moment = 'end' AND state <> 'dead'"
check "nor is it a finding" test -z "$(finding still-running)"
check_exit 2 "--wait=all alone is refused" "$gpurec" --wait=all -o "$TMP/x.cap"

# What hung before ----------------------------------------------------------------------------------------------------
# hang HOW: attach to one that hangs, for a second
hang() {
	"$scope" hang "$1" >"$TMP/said" &
	hung=$!
	until_true grep -q hangs "$TMP/said" || return
	[ "$1" = poll ] || until_true grep -q '^State:.*sleeping' "/proc/$hung/status" || return
	"$gpurec" --force -o "$cap" -p "$hung" -d 1s 2>"$TMP/err"
	kill -KILL "$hung"
	wait "$hung" 2>"$TMP/waited"
	load
}
# stacks SQL-PATTERN: how many of the two moments have a stack like that
stacks() { echo "SELECT count(*) FROM thread_states s JOIN stacks k USING (stack) WHERE s.tid = $hung AND k.frames LIKE '$1'"; }
for how in call poll lock; do
	hang $how
	[ $how = poll ] && state=running || state=sleeping
	check "hung in a $how: its state at the beginning and the end" is "begin $state,end $state" \
		"SELECT group_concat(moment || ' ' || state) FROM (SELECT * FROM thread_states WHERE tid = $hung ORDER BY at_ns)"
	check "gpurec does not say that it used none" grep -q 'no CUDA calls, although probes were on 1 library' "$TMP/err"
	check "its library was probed" is 1 "SELECT count(*) > 0 FROM libraries WHERE probed > 0"
	case $how in
	call) what="slept in pause inside cudaStreamSynchronize" stack='%sleep_for_ever+% < cudaStreamSynchronize+%' ;;
	poll) what="ran or could inside cudaStreamSynchronize" stack='%run_for_ever+% < cudaStreamSynchronize+%' ;;
	lock) what="slept in futex" stack='%lock_twice+%' ;;
	esac
	check "the report says what it was in all the time" \
		reports no-calls "; process $hung scope $what when the capture began and when recording ended"
	check "its stack at both times is there, down to main and beyond" is 2 "$(stacks "$stack < hang+% < main+% < %_start+%")"
	if [ $how = lock ]; then
		check "it hangs in no call" test -z "$(finding in-flight-before)"
	else
		check "which call it hangs in, and who called that, is a finding" reports in-flight-before \
			"^1 GPU call began before the capture, .*: process $hung scope in cudaStreamSynchronize, called by hang\$"
	fi
done
# The helper that looks names up gets no CPU when the calls are made, and SIGCONT, or not, when recording ends.
# named SIGNAL: recorded, with names or with a count of what has none
named() {
	local child worker
	rm -f "$TMP/go"
	"$scope" stay 1 5 "$TMP/go" >"$TMP/pids" &
	launcher=$!
	until_true lines "$TMP/pids" 1 || return
	"$gpurec" -q --force -o "$cap" -p "$launcher" &
	recorder=$!
	until_recording "$recorder" || return
	read -r child <"/proc/$recorder/task/$recorder/children"
	read -r worker <"/proc/$child/task/$child/children"
	kill -STOP "$worker"
	: >"$TMP/go"
	until_true lines "$TMP/pids" 2 || return
	kill -INT "$recorder"
	sleep 0.3 # speed: so that the recorder is about to end; an earlier signal is no failure
	[ -z "$1" ] || kill -"$1" "$worker"
	wait "$recorder"
	kill -KILL "$launcher" "$(head -1 "$TMP/pids")"
	wait "$launcher" 2>"$TMP/waited"
	load
	[ "$(sql "SELECT count(*) FROM calls JOIN stacks USING (stack) WHERE frames LIKE '%work+%main+%'")" = 5 ]
}
named_in_time() {
	for _ in $(seq 10); do
		named CONT && return
	done
	return 1
}
named_or_counted() {
	named "" || is 1 "SELECT value LIKE '% stack% of which not all functions could be looked up in time' FROM facts WHERE name = 'stacks_unnamed'"
}
check "names of functions that nobody had time for are still looked up when recording ends" named_in_time
check "what has no names is counted" named_or_counted
"$scope" one >"$TMP/said" &
hung=$!
until_true pgrep -P "$hung" stuck
stuck=$(pgrep -P "$hung" stuck)
until_true grep -q '^State:.*sleeping' "/proc/$stuck/status"
"$gpurec" -q --force -o "$cap" -p "$hung" -d 1s
kill -KILL "$hung" "$stuck"
wait "$hung" 2>"$TMP/waited"
load
check "of two, one that goes on calls" is 1 "SELECT count(*) > 10 FROM calls WHERE pid = $hung"
check "the other is found to hang, and it alone" reports in-flight-before \
	"^1 GPU call began .*: process $stuck stuck in cudaStreamSynchronize, called by one_of_two\$"
"$scope" hang trap >"$TMP/said" &
hung=$!
until_true sh -c 'grep -q trapped "$1" || ! kill -0 "$2"' sh "$TMP/said" $hung
if grep -q trapped "$TMP/said"; then
	until_true grep -q '^State:.*sleeping' "/proc/$hung/status"
	"$gpurec" --force -o "$cap" -p "$hung" -d 1s 2>"$TMP/err"
	status=$?
	kill -KILL "$hung"
	wait "$hung" 2>"$TMP/waited"
	load
	check "a stack whose memory its process gives out does not hold the recording up" test $status = 0
	check "the other thread's is there" is 2 "$(stacks '%cudaStreamSynchronize+%hang+%')"
	check "of that one there is where it stands, and no more" is 2 "SELECT count(*) FROM thread_states s JOIN stacks k
		USING (stack) WHERE s.tid <> s.pid AND k.depth = 1 AND s.syscall > 0"
else
	skip "a stack whose memory its process gives out does not hold the recording up" "no userfaultfd here"
fi

# In flight at the end ------------------------------------------------------------------------------------------------
"$gpurec" --force -o "$cap" -d 1s -- "$scope" hang nested >"$TMP/said" 2>"$TMP/err"
hung=$(pgrep -nf "^$scope hang nested")
kill -KILL "$hung"
load
check "calls that are in flight when recording ends are rows" is "cudaStreamSynchronize 0 0,cudaEventSynchronize 1 0" \
	"SELECT group_concat(function_name || ' ' || nested || ' ' || (dur_ns > 1000000000)) FROM (SELECT * FROM calls_in_flight
	 WHERE function_name LIKE 'cuda%' ORDER BY id)"
check "as many as are counted" is 1 "SELECT (SELECT count(*) FROM calls_in_flight WHERE moment = 'end')
	= (SELECT sum(num) FROM lost WHERE cause = 'in_flight')"
check "they are not lost" sh -c 'grep -q " 0 lost" "$1" && ! grep -E "[1-9][0-9]* lost" "$1"' sh "$TMP/err"
check "they began when the thread entered them" is 2 "SELECT count(*) FROM calls_in_flight
	WHERE function_name LIKE 'cuda%' AND start_ns > (SELECT start_ns FROM capture) AND start_ns < at_ns"
check "the report names the longest" \
	reports in-flight '2 GPU calls.*; the longest, cudaStreamSynchronize of process [0-9]+ scope, for [0-9.]+ (s|ms)'
check "the capture is complete" sh -c '"$1" --json "$2" | grep -q "\"complete\":true"' sh "$BUILD/gpuverify" "$cap"
check "gpuverify calls them in flight, not lost" sh -c '"$1" "$2" >"$3"; grep -q "^  lost       nothing" "$3" &&
	grep -q "^  in flight  1 cuda" "$3"' sh "$BUILD/gpuverify" "$cap" "$TMP/out"

# Rotation: each capture begins with what threads are in --------------------------------------------------------------
"$scope" hang call >"$TMP/said" &
hung=$!
until_true grep -q hangs "$TMP/said"
"$gpurec" -q -o "$TMP/turn.cap" -p "$hung" --rotate 1s -d 2500ms
kill -KILL "$hung"
begins() {
	for cap in "$TMP"/turn-*.cap; do
		load && is 1 "SELECT count(*) FROM thread_states WHERE moment = 'begin'" || return
	done
	is 1 "SELECT count(*) FROM thread_states WHERE moment = 'end' AND state <> 'dead'"
}
check "each capture of a series begins with them, and the last ends with them" begins

# Whose number --------------------------------------------------------------------------------------------------------
cap=$TMP/run.cap
if unshare -p -f --mount-proc true 2>"$TMP/err"; then
	rm -f "$TMP/go" "$cap"
	"$gpurec" -q -o "$cap" -- unshare -p -f --mount-proc "$scope" ranks 1 50 "$TMP/go" >"$TMP/pids" &
	recorder=$!
	sealed() { load && sql "SELECT pid_inside FROM processes WHERE name = 'worker'" | grep -q .; }
	load() { "$BUILD/gpureplay" -q --unverified --force "$cap" -o "$TMP/run.db"; }
	until_true sealed
	: >"$TMP/go"
	wait "$recorder"
	load
	check "a process's number inside its namespace is beside the host's" is "$(cat "$TMP/pids")" \
		"SELECT DISTINCT pid_inside FROM processes WHERE name = 'worker'"
	check "it is another one" is 1 "SELECT DISTINCT pid <> pid_inside FROM processes WHERE name = 'worker'"
else
	skip "a process's number inside its namespace is beside the host's" "$(head -n 1 "$TMP/err")"
fi

# Statuses, limits ----------------------------------------------------------------------------------------------------
"$gpurec" -q --force -o "$cap" -- sh -c 'sh -c "exit 3"; exit 1' >"$TMP/out" 2>&1
"$BUILD/gpureplay" -q "$cap" >"$TMP/out"
check_prints 'exit .*code=768 \(exit status 3\)' "exit statuses are in words"
few() { (ulimit -n 24 && "$@"); }
if few sh -c 'ulimit -n 4096' 2>"$TMP/err"; then
	check_exit 0 "root raises the limit of open files" few "$gpurec" -q --force -o "$cap" -- true
else
	skip "root raises the limit of open files" "root may not raise limits here"
fi
unable=(setpriv --bounding-set -sys_resource --inh-caps -sys_resource)
if "${unable[@]}" true 2>"$TMP/err"; then
	check_exit 3 "who may not" few "${unable[@]}" "$gpurec" -q --force -o "$cap" -- true
	check_says 'only 24 files may be open at once here \(ulimit -n\)' "is told which limit it is"
else
	skip "who may not raise it is told which limit it is" "$(head -n 1 "$TMP/err")"
fi
finish
