#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# gpurec from outside: what it refuses, how it ends, what it may do while it runs.
. "$(dirname "$0")/lib.sh"
gpurec=$BUILD/gpurec
driver=$BUILD/workload/driver
cap=$TMP/run.cap

# Wrong input, refused before anything is made ------------------------------------------------------------------------
one_line() { [ "$(wc -l <"$TMP/err")" = 1 ] && [ ! -s "$TMP/out" ]; }
check_exit 127 "a command that is not there is 127, as shells have it" "$gpurec" -o "$TMP/none.cap" -- nosuchcommand
check_says 'cannot run nosuchcommand: there is no such command in PATH' "and is named"
check_exit 127 "so is a path that leads nowhere" "$gpurec" -o "$TMP/none.cap" -- "$TMP/nosuchcommand"
: >"$TMP/plain"
check_exit 126 "as is one that is not executable" "$gpurec" -o "$TMP/none.cap" -- "$TMP/plain"
check_says 'plain: not an executable file' "and that is said"
check "nothing is left of either" [ ! -e "$TMP/none.cap" ]
check_exit 2 "-p takes numbers" "$gpurec" -o "$TMP/none.cap" -p 1,x
check_says "--pid: 'x' is not a decimal number" "and says which is none"
check_exit 2 "each between its commas" "$gpurec" -o "$TMP/none.cap" -p 1,,2
check_exit 2 "no output file is a usage error" "$gpurec"
check "said in one line" one_line
check_exit 2 "a fraction without a unit is no duration" "$gpurec" -o "$cap" -d 1.5
check_exit 2 "so is one of 5x" "$gpurec" -o "$cap" -d 5x
check_says '5x' "which is named"
check_exit 2 "a capture does not go to standard output" "$BUILD/gpurec" -o - -d 1s
check_says 'name a file' "and that is said"
check "in one line" one_line
check_exit 2 "a ring that is no power of two is refused" "$gpurec" -o "$cap" --ring 5000
check_exit 2 "a process number of 12a is refused" "$gpurec" -o "$cap" -p 12a
check_exit 2 "-- without a command is refused" "$gpurec" -o "$cap" --
touch "$TMP/there"
check_exit 3 "an existing file is not replaced" "$gpurec" -o "$TMP/there" -- true
check_says 'force' "and --force is named"
check "it is untouched" test ! -s "$TMP/there"
check_exit 3 "a folder that is not there is refused" "$gpurec" -o "$TMP/no/such/run.cap" -- true
check_exit 3 "a directory is refused as output" "$gpurec" --force -o "$TMP" -- true
check_exit 127 "a command that is not there is refused" "$gpurec" -o "$cap" -- no-such-command-here
check_says 'no-such-command-here' "and named"
check_exit 3 "a process that is not there is refused" "$gpurec" -o "$cap" -p 4194303
check_says 'no process 4194303' "and named"
check "none of this left a file" test ! -e "$cap"

"$gpurec" --check -o "$cap" >"$TMP/check" 2>&1
possible=$?
check "--check says whether recording is possible" grep -q 'Recording is' "$TMP/check"
if [ "$(id -u)" = 0 ] && [ "$possible" = 0 ]; then
	check_exit 3 "without permission it says which is missing" \
		setpriv --reuid 65534 --regid 65534 --clear-groups "$gpurec" -o /tmp/gpurec-nobody.cap -- true
	check_says 'CAP_BPF|cannot|permitted' "in words"
fi
if [ "$possible" != 0 ]; then
	skip "real recordings" "$(grep -m1 '^no' "$TMP/check")"
	finish
fi

check_exit 3 "a library that is not there is refused" "$gpurec" -o "$cap" --lib "$TMP/none.so" -- true
check_says 'none.so' "and named"
check_exit 3 "a library without CUDA functions is refused" "$gpurec" -o "$cap" --lib "$BUILD/gpukey" -- true
check "neither left a file" test ! -e "$cap"

# What it is asked to add, and to leave out ----------------------------------------------------------------------------
for wrong in "" "$(printf 'a\nb')" "$(printf '%300s' x)"; do
	check_exit 2 "an authority of ${#wrong} bytes that is no line of text is refused" "$gpurec" -o "$cap" --authority "$wrong" -- true
done
check_exit 0 "a recording with an authority, and without command lines" "$gpurec" -q -o "$cap" --authority "Jane Doé, ticket 4711" \
	--no-command-lines -- sh -c "exec '$driver' -q --flood 300 # token=s3cr3t"
check_exit 0 "it verifies" "$BUILD/gpuverify" "$cap"
"$BUILD/gpureplay" --json "$cap" >"$TMP/rows"
check "the authority is a fact" grep -q '"name":"authority","value":"Jane Doé, ticket 4711"' "$TMP/rows"
check "no row has an argument" sh -c '! grep -qE "s3cr3t|\"kind\":\"command_line\"" "$1"' sh "$TMP/rows"
check "a fact has that they were left out" grep -q '"name":"command_lines","value":"left out"' "$TMP/rows"
check_exit 0 "a report of it" "$BUILD/gpuanalyze" "$cap" --report
check_prints '^Authority  Jane Doé, ticket 4711$' "names the authority"
check_prints 'The arguments of processes \(--no-command-lines\)' "and what is left out"
check_exit 0 "the same with them" "$gpurec" -q --force -o "$cap" -- sh -c "exec '$driver' -q --flood 300 # token=s3cr3t"
check "has the arguments" sh -c '"$1" --json "$2" | grep -q s3cr3t' sh "$BUILD/gpureplay" "$cap"
# A folder whose name must not be in a capture, and functions whose names are.
mkdir "$TMP/secret-customer"
cp "$BUILD"/workload/{driver,libcudart.so.12,libcuda.so.1} "$TMP/secret-customer"
with_paths() { "$gpurec" -q --force -o "$cap" "$@" -- sh -c "exec '$TMP/secret-customer/driver' -q --flood 300 # secret-argument"; }
paths_in() { { "$BUILD/gpureplay" --json "$1"; "$BUILD/gpuanalyze" -q "$1" --report="$TMP/paths.json" --force && cat "$TMP/paths.json"; } | grep -cE "secret-customer|secret-argument|\"kind\":\"(module|executable|attach|library)\""; }
check_exit 0 "a recording of a program in that folder" with_paths
check "has its paths" [ "$(paths_in "$cap")" -gt 5 ]
check_exit 0 "a recording without paths" with_paths --no-paths
check_exit 0 "it verifies" "$BUILD/gpuverify" "$cap"
check "has none, no file and no argument" [ "$(paths_in "$cap")" = 0 ]
check "it has the calls by name" [ "$("$BUILD/gpureplay" -q --json "$cap" | grep -c '"probe":"cudaLaunchKernel"')" -gt 0 ]
check_exit 0 "a report of it" "$BUILD/gpuanalyze" "$cap" --report
check_prints 'Where files are \(--no-paths\)' "has that they were left out"
check_prints 'The arguments of processes \(--no-command-lines\)' "and that arguments were"
check_exit 0 "a rotation without paths" "$gpurec" -q -o "$TMP/rot.cap" --rotate 1s --no-paths -d 2500ms -- "$TMP/secret-customer/driver" -q --flood 4000 --rate 2000
check "has none in any capture" sh -c 'for c in "$1"/rot*.cap; do "$2" --json "$c" | grep -qE "secret-customer|\"kind\":\"(module|executable|attach|library|command_line)\"" && exit 1; done; [ "$(ls "$1"/rot*.cap | wc -l)" -gt 1 ]' \
	sh "$TMP" "$BUILD/gpureplay"
rm -rf "$cap" "$TMP"/rot*.cap "$TMP/secret-customer"

# How it ends ---------------------------------------------------------------------------------------------------------
check_exit 7 "the command's exit status is passed on" "$gpurec" -q -o "$cap" -- sh -c 'exit 7'
check_exit 0 "the capture verifies" "$BUILD/gpuverify" "$cap"
check_prints 'the command ended with exit status 7' "and tells of it"
check_exit 137 "so is the signal that killed it" "$gpurec" -q -o "$cap" --force -- sh -c 'kill -9 $$'
check_exit 0 "--force replaces a file" "$gpurec" -q -o "$cap" --force -d 200ms
check_exit 0 "it verifies" "$BUILD/gpuverify" "$cap"
check_prints 'duration' "ended by its duration"

# ends_by SIGNAL EXIT: a recording without COMMAND ends by a signal
ends_by() {
	local status=0
	"$gpurec" -q -o "$cap" --force &
	until_recording $! || return
	kill "-$1" $!
	wait $! || status=$?
	[ "$status" = "$2" ] && "$BUILD/gpuverify" "$cap" >"$TMP/said" && grep -q "$3" "$TMP/said"
}
check "SIGTERM seals and ends" ends_by TERM 0 SIGTERM
setsid_int() { # a background job of this shell ignores SIGINT
	local status=0
	(trap - INT; exec env --default-signal=INT "$gpurec" -q -o "$cap" --force) &
	until_recording $! || return
	kill -INT $!
	wait $! || status=$?
	[ "$status" = 0 ] && "$BUILD/gpuverify" "$cap" >"$TMP/said" && grep -q 'Ctrl-C' "$TMP/said"
}
check "Ctrl-C seals and ends" setsid_int
term_reaches_command() {
	local status=0
	"$gpurec" -q -o "$cap" --force -- sleep 60 &
	until_recording $! || return
	kill -TERM $!
	wait $! || status=$?
	[ "$status" = 143 ]
}
check "SIGTERM is passed on to the command" term_reaches_command

ends_with() { # PID
	local recorder
	"$gpurec" -q -o "$cap" --force -p "$1" &
	recorder=$!
	until_recording "$recorder" && kill "$1" && wait $recorder
}
sleep 300 &
check_exit 0 "the end of the last -p process ends it" ends_with $!
"$BUILD/gpuverify" "$cap" >"$TMP/out"
check_prints 'last recorded process ended' "and that is the reason told"

check_exit 3 "a full disk is a failure" sh -c "ulimit -f 8; exec '$gpurec' -o '$TMP/full.cap' -- '$driver' -q --flood 3000"

# What it may do while it runs ----------------------------------------------------------------------------------------
"$gpurec" -q -o "$cap" --force -- sleep 20 &
pid=$!
until_recording "$pid"
cp "/proc/$pid/status" "$TMP/status"
find "/proc/$pid/fd" -lname 'socket:*' >"$TMP/sockets"
kill -TERM "$pid"
wait "$pid"
check "no new privileges" grep -Eq '^NoNewPrivs:\s+1' "$TMP/status"
check "a seccomp filter" grep -Eq '^Seccomp:\s+2' "$TMP/status"
check "an empty bounding set" grep -Eq '^CapBnd:\s+0+$' "$TMP/status"
held() { echo $((0x$(sed -n 's/^CapEff:\s*//p' "$TMP/status") >> $1 & 1)); }
check "no CAP_NET_ADMIN" [ "$(held 12)" = 0 ]
# Before Linux 6.6 it attaches libraries that are loaded later.
check "CAP_SYS_ADMIN where there is no uprobe_multi only" [ "$(held 21)" = "$(grep -q uprobe_multi "$TMP/check"; echo $?)" ]
check "no socket" test ! -s "$TMP/sockets"
"$gpurec" -q -o "$cap" --force --no-late-attach -- sleep 20 &
pid=$!
until_recording "$pid"
cp "/proc/$pid/status" "$TMP/status"
kill -TERM "$pid"
wait "$pid"
check "with --no-late-attach no capability at all" grep -Eq '^CapEff:\s+0+$' "$TMP/status"

# Who woke whom -------------------------------------------------------------------------------------------------------
# Timers that come upon the user code of others: every CPU is kept busy by a process that makes no system calls.
timer_wakings() {
	local i hogs=() status=0
	for i in $(seq "$(nproc)"); do
		sh -c 'while :; do :; done' &
		hogs+=($!)
	done
	"$gpurec" -q -o "$cap" --force -- sh -c 'for i in 1 2 3 4 5 6 7 8 9 10 11 12; do sleep 0.02; done' || status=1
	kill "${hogs[@]}"
	wait "${hogs[@]}" 2>/dev/null
	"$BUILD/gpureplay" -q --json "$cap" >"$TMP/events" || return
	[ "$status" = 0 ] && json_awk '
		value("kind") == "thread" { name[value("tid")] = value("name") }
		# it sleeps in nothing but its timer, once it has begun
		value("kind") == "switch" && name[value("prev_tid")] == "sleep" { slept[value("prev_tid")] = value("prev_state") % 2 }
		value("kind") == "waking" && slept[value("tid")] {
			n++
			if (value("context") != 2) { wrong++; print }
			slept[value("tid")] = 0
		}
		END { print n + 0, "wakings"; exit !(n >= 10 && !wrong) }' "$TMP/events"
}
if "$BUILD/gpureplay" -q --json "$cap" | grep -q '"waking_context".*unknown'; then
	skip "who is woken by its timer is known to be" "this kernel does not let it be known"
else
	check "who is woken by its timer is known to be, whosever user code that came upon" timer_wakings
fi

# Libraries loaded while it runs --------------------------------------------------------------------------------------
if [ ! -x "$driver-dlopen" ]; then
	skip "calls into a library loaded later" "the test double is not built here"
	finish
fi

# A recorder that does not get to attach, and is killed: the stopped command is not left so.
state_of() { sed -n 's/^State:[[:space:]]*\(.\).*/\1/p' "/proc/$1/status"; }
has_state() { [ "$(state_of "$1")" = "$2" ]; }
has_not_state() { ! has_state "$@"; }
killed_while_holding() {
	local pid held
	"$gpurec" -q -o "$cap" --force -- sh -c 'echo $$ >"$0" && exec "$@"' "$TMP/held.pid" \
		"$driver-dlopen" -q --late-dlopen --load-after 1500 --flood 10 &
	pid=$!
	until_true test -s "$TMP/held.pid" || return
	held=$(cat "$TMP/held.pid")
	kill -STOP "$pid"
	until_true has_state "$held" T || { echo "it was not held"; kill -9 "$pid" "$held"; return 1; }
	kill -9 "$pid"
	wait "$pid" 2>/dev/null
	until_true has_not_state "$held" T && return
	kill -9 "$held"
	echo "process $held was left stopped"
	return 1
}
check "a recorder that is killed leaves its command going" killed_while_holding

# all_calls PROGRAM ARGS...: every call that the program says it made is in the capture
all_calls() {
	rm -f "$TMP/view.db"
	"$gpurec" -q -o "$cap" --force --uprobes "${uprobes:-multi}" -- "$@" -q --truth "$TMP/truth.json" || return
	"$BUILD/gpureplay" -q "$cap" -o "$TMP/view.db" || return
	sqlite3 -readonly "$TMP/view.db" "SELECT key, json_extract(value, '\$.calls'), recorded, lost
		FROM json_each(CAST(readfile('$TMP/truth.json') AS TEXT), '\$.functions') LEFT JOIN probe_counts ON name = key
		WHERE json_extract(value, '\$.kind') <> 'other' AND (json_extract(value, '\$.calls') IS NOT recorded
			OR lost > 0)" >"$TMP/rows" || return
	cat "$TMP/rows"
	[ ! -s "$TMP/rows" ]
}
one_by_one() { uprobes=single "$@"; }
first_calls() {
	local i
	for i in $(seq "$late_runs"); do
		all_calls "$driver-dlopen" --late-dlopen --load-after 1 --flood 6 --threads 1 || { echo "in run $i"; return 1; }
	done
}
late_runs=${LATE_RUNS:-${LONG:+50}} late_runs=${late_runs:-15} # 50 with LONG=1
check "no call is missed after dlopen, $late_runs times out of $late_runs" first_calls
check "nor of a program that a shell starts" all_calls sh -c "\"\$@\"; exit \$?" sh "$driver" --flood 60
check "nor of one that changes its user" all_calls setpriv --reuid 0 --clear-groups "$driver-dlopen" --late-dlopen --load-after 1 --flood 60

check "nor where functions are attached one by one, as before Linux 6.6" \
	one_by_one all_calls "$driver-dlopen" --late-dlopen --load-after 1 --flood 600 --threads 2
check "which the capture tells" sh -c '"$1" --json "$2" | grep -q "\"uprobes\".*\"single\""' sh "$BUILD/gpureplay" "$cap"
check_exit 2 "--uprobes takes no other word" "$gpurec" -o "$cap" --uprobes some -- true
threads_of() { "$BUILD/gpureplay" --json "$cap" 2>/dev/null | grep '"kind":"thread"' | grep -c "$1"; }
check "threads are named" test "$(threads_of flood-0)" -ge 1
symbols() { "$BUILD/gpureplay" --json "$cap" 2>/dev/null | grep '"kind":"frame"' | grep -q 'call_cudaMalloc+0x'; }
check "allocations have stacks with the program's functions" symbols
check_exit 0 "-d 1 is one second, and -p takes several processes" "$gpurec" -q --force -o "$cap" -d 1 -p $$,$PPID
check "which the capture bears out" sh -c '"$1" --json "$2" | grep -qE "\"duration\":1[0-9]{9},"' sh "$BUILD/gpuverify" "$cap"
finish
