#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Threads that nobody records, and for which recorded ones wait: a service in Python, beside the recording.
# records: each checks only what it started itself
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/rows.sh"
gpurec=$BUILD/gpurec

needs_recording "threads that are followed"
if ! python3 -c "import os; os.fork" 2>"$TMP/err" || [ ! -e "$BUILD/workload/libcuda.so.1" ]; then
	skip "threads that are followed" "there is no python3, or no test double here"
	finish
fi
python=$(python3 -c "import sys; print(sys.executable)") # and not a script that looks for one
# ask WAY TIMES OPTION...: the service, and who asks it; $server is its pid
ask() {
	local way=$1 times=$2 status serving
	shift 2
	rm -f "$TMP/socket" "$TMP/server"
	"$python" tests/workload/follows.py serve "$way" "$TMP/socket" >"$TMP/server" &
	serving=$!
	until_true test -s "$TMP/server" || return
	server=$(head -1 "$TMP/server")
	"$gpurec" $([ "$1" = --rotate ] || echo --force) -o "$cap" "$@" -- "$python" tests/workload/follows.py ask "$BUILD/workload/libcuda.so.1" "$times" "$TMP/socket" >"$TMP/asked" 2>"$TMP/err"
	status=$?
	wait "$serving"
	[ "$status" = 0 ] || { cat "$TMP/err"; return 1; }
	[ -e "$cap" ] || return 0
	"$BUILD/gpureplay" -q --force "$cap" -o "$TMP/run.db" && "$BUILD/gpuanalyze" -q --json "$cap" >"$TMP/report.json"
}
starved() { # class of each finding, and whom it names
	sqlite3 :memory: "SELECT f.value ->> 'class', p.value ->> 'tid' FROM json_each(CAST(readfile('$TMP/report.json') AS TEXT), '\$.reports[0].findings') AS f,
		json_each(f.value, '\$.parties') AS p WHERE f.value ->> 'rule' = 'starved' AND p.value ->> 'part' = 'waker'" | tee "$TMP/starved"
}
names() { # CLASSES: one finding, of such a class, about the service
	starved | grep -Eqx "($1)\\|$server" && [ "$(wc -l <"$TMP/starved")" = 1 ] || { cat "$TMP/starved"; return 1; }
}
nobody() { ! starved | grep "$1" || return 1; }
# The recorded thread waited for it, for so much of what it says it waited.
mostly() { # PERCENT
	local waited
	waited=$(cat "$TMP/asked")
	sql "SELECT for_tid, did, ns FROM ledger_waited WHERE part = 'task'"
	[ "$(sql "SELECT sum(ns) FILTER (WHERE for_tid = $server) * 100 / $waited >= $1 FROM ledger_waited WHERE part = 'task'")" = 1 ]
}
# (Beside others it may lack a CPU for longer than it works.)
works="on-cpu|waiting-for-cpu"

check "a program is recorded that waits for a service at work" ask busy 60
check "that one is followed" is 1 "SELECT count(*) FROM follows WHERE tid = $server AND slept_ns >= 1000000 AND waiter IN (SELECT thread FROM ledger WHERE fed > 0)"
check "gpurec says so" grep -q '^gpurec:   [0-9]* threads\? of processes that are not recorded ended waits of recorded ones, and w[a-z]* followed since (--no-follow: not)$' "$TMP/err"
check "what is counted is there" is 1 "SELECT fired = recorded + lost AND recorded = (SELECT count(*) FROM follows) FROM probe_counts WHERE name = 'waker_followed'"
check "that it was waited for is known" mostly 60
check "it is named" names "$works"
check "its own switches are there" is 1 "SELECT count(*) > 20 FROM switches WHERE prev_tid = $server OR next_tid = $server"
check "and nothing else of it" is 0 "SELECT (SELECT count(*) FROM futexes WHERE pid = $server) + (SELECT count(*) FROM faults WHERE pid = $server) +
	(SELECT count(*) FROM exits WHERE pid = $server) + (SELECT count(*) FROM states WHERE pid = $server) +
	(SELECT count(*) FROM thread_stacks WHERE pid = $server) + (SELECT count(*) FROM command_lines WHERE pid = $server) +
	(SELECT count(*) FROM executables WHERE pid = $server) + (SELECT tracked FROM processes WHERE pid = $server)"
check "without the names it is found just so" sh -c '"$1/gpureplay" -q --force "$2" --withhold=process -o "$3/narrow.cap" && "$1/gpuanalyze" -q --json "$3/narrow.cap" >"$3/report.json"' sh "$BUILD" "$cap" "$TMP"
check "(it is)" names "$works"

check "the same with --no-follow" ask busy 60 --no-follow
check "names nobody" nobody ""

check "a program is recorded that waits for a service that sleeps" ask idle 60
check "it is followed" is 1 "SELECT count(*) FROM follows WHERE tid = $server"
check "and not said to have been at work" nobody on-cpu

check "a program is recorded that waits for a service without a CPU" ask hog 12
check "that it was waited for is known" mostly 60
check "and that it lacked one" names waiting-for-cpu

# Each capture of a series has who is followed at its begin.
second() {
	rm "$cap"
	ask busy 350 --rotate 1s || return
	mv "$TMP/run-00002.cap" "$cap" && "$BUILD/gpureplay" -q --force "$cap" -o "$TMP/run.db" && "$BUILD/gpuanalyze" -q --json "$cap" >"$TMP/report.json"
}
check "captures are recorded, one after the other" second
check "who is followed is so from the begin of each" is 1 "SELECT min(at_ns) - (SELECT min(begin_ns) FROM epochs) < 1000000 FROM follows WHERE tid = $server"
check "and named there" names "$works"

# (When these have ended, there is room for the one that closes the connection.)
check "of 300 threads" ask many 300
check "256 are followed at a time" is 1 "SELECT count(*) BETWEEN 250 AND 257 FROM follows WHERE pid = $server"
check "that they ended is known" is 1 "SELECT count(DISTINCT prev_tid) > 200 FROM switches WHERE prev_state & 128 AND prev_tid IN (SELECT tid FROM follows WHERE pid = $server)"
check "and the others counted" is 1 "SELECT CAST(value AS INTEGER) > 0 FROM facts WHERE name = 'follow_beyond'"
finish
