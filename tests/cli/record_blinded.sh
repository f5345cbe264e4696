#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Users of the host want to keep the recorder busy, so that it seals nothing, does not end, or misses what others do.
# alone: its attackers load the whole host
. "$(dirname "$0")/lib.sh"
gpurec=$BUILD/gpurec
attacker=$BUILD/workload/attacker
seconds=${BLINDED_SECONDS:-6}

if [ "$(id -u)" != 0 ]; then
	skip "attacks on the recorder" "only root can be several users"
	finish
fi
if ! "$gpurec" --check -o "$TMP/x.cap" >"$TMP/check" 2>&1; then
	skip "attacks on the recorder" "$(grep -m1 '^no' "$TMP/check")"
	finish
fi
chmod 755 "$TMP"
mkdir "$TMP/bad"
chmod 1777 "$TMP/bad"

as() { # as UID COMMAND ARG...
	local uid=$1
	shift
	setpriv --reuid "$uid" --regid "$uid" --clear-groups "$@"
}
now_ms() { date +%s%3N; } # speed: measured, in test-long only
query() { sqlite3 -readonly "$TMP/run.db" "$1"; }

# A CUDA program with libraries of its own, as a container has: nothing is attached to them before they are mapped.
victim() {
	rm -rf "$TMP/victim"
	mkdir "$TMP/victim"
	cp "$BUILD"/workload/{driver,libcudart.so.12,libcuda.so.1} "$TMP/victim"
	"$TMP/victim/driver" -q --flood 20000 --threads 2 --truth "$TMP/truth.json"
}

# record ATTACK ARG...: a recording, the attack beside it, and a victim in its midst. Sets $longest, the longest epoch,
# and $ended, how long ending took, in milliseconds.
record() {
	local pid at jobs
	rm -f "$TMP/run.cap" "$TMP/run.db"
	"$gpurec" -v -o "$TMP/run.cap" 2>"$TMP/said" &
	pid=$!
	echo "$pid" >"$TMP/recorder"
	until_true test -s "$TMP/run.cap"
	"$@" &
	jobs=$!
	sleep 1 # speed: how long the attack lasts before there is a victim
	victim
	sleep $((seconds - 2)) # speed: how long the attack lasts
	at=$(now_ms)
	kill -TERM "$pid"
	wait "$pid" || return
	ended=$(($(now_ms) - at))
	wait "$jobs"
	"$BUILD/gpuverify" "$TMP/run.cap" >"$TMP/verdict" || return
	"$BUILD/gpureplay" -q "$TMP/run.cap" -o "$TMP/run.db" || return
	longest=$(query "SELECT max(end_ns - begin_ns) / 1000000 FROM epochs")
	made=$(query "SELECT sum(json_extract(value, '\$.calls')) FROM json_each(CAST(readfile('$TMP/truth.json') AS TEXT), '\$.functions')")
	known=$(query "SELECT sum(recorded + lost) FROM probe_counts WHERE probe >= 32")
	unattached=$(query "SELECT coalesce(sum(num), 0) FROM lost WHERE cause = 'not_attached'")
	echo "# longest epoch $longest ms, ended in $ended ms; calls: $made made, $known recorded or counted as lost; $unattached mappings without probes for a while"
}
# What was made is recorded or counted, or it is counted that a library had no probes for a while; then it is told.
accounted() {
	[ "$known" = "$made" ] || [ "$unattached" -gt 0 ] || return
	[ "$unattached" = 0 ] || grep -q '^  unattached .*had no probes, or not all, for a while' "$TMP/verdict"
}

nothing() { :; }
check "a recording that nobody attacks" record nothing
check "accounts for all calls" accounted
# How much later than a second an epoch ends, and how long ending takes, on this machine as it is now. The helper's
# answers are waited for 150 ms of each second at most; the rest is room for eight attackers who compete for the CPUs.
longest_allowed=$((1500 + 2 * (longest > 1000 ? longest - 1000 : 0)))
ended_allowed=$((1000 + 2 * ended))
in_time() {
	[ "$longest" -le "$longest_allowed" ] && [ "$ended" -le "$ended_allowed" ] && return
	echo "longest epoch: $longest ms, allowed $longest_allowed; ended in $ended ms, allowed $ended_allowed"
	return 1
}
# withstands NAME COMMAND ARG...
withstands() {
	local name=$1
	shift
	check "$name: the recording ends and verifies" record "$@"
	grep '^# longest' "$TMP/.check.out"
	check "$name: it seals and ends in time" in_time
	check "$name: all calls are recorded, counted, or said to be missing" accounted
}

# A file of 200 MB, made so that it takes long to read -----------------------------------------------------------------
large() { # large HOW-MANY
	local i
	for i in $(seq "$1"); do
		as 65534 "$attacker" map "$TMP/bad/libcuda.so.evil$i" 3000 &
	done
	wait
}
for i in 1 2 3; do
	as 65534 "$attacker" elf "$TMP/bad/libcuda.so.evil$i"
done
withstands "a library of 200 MB" large 1
check "it is told that it could not be read" sh -c 'grep -q "evil1: more than .* would have to be read" "$1"' sh "$TMP/said"
withstands "three of them" large 3

# Many mappings, and many libraries ------------------------------------------------------------------------------------
withstands "31,000 mappings and a new library every 2 ms" as 65534 "$attacker" flood "$TMP/bad" 3000

# Eight attackers, each another user -----------------------------------------------------------------------------------
eight() {
	local i
	for i in 1 2 3 4; do
		as $((60000 + i)) "$attacker" flood "$TMP/bad" $((seconds * 1000 - 1000)) &
		as $((60010 + i)) sh -c 'for i in $(seq '$((seconds - 1))'); do "$1" map "$2" 1000; cp "$2" "$2.$3" && mv "$2.$3" "$2"; done' \
			sh "$attacker" "$TMP/bad/libcuda.so.eight$i" "$i" &
	done
	wait
}
for i in 1 2 3 4; do
	as $((60010 + i)) "$attacker" elf "$TMP/bad/libcuda.so.eight$i"
done
withstands "eight attackers" eight
rm -f "$TMP"/bad/*

# A file system that does not answer -----------------------------------------------------------------------------------
dead_files() {
	as 65534 "$attacker" map "$TMP/dead/libcuda.so.1" 3000
}
mkdir "$TMP/dead"
if [ ! -c /dev/fuse ]; then
	skip "a file system that does not answer" "there is no /dev/fuse here"
	finish
fi
"$attacker" fuse "$TMP/dead" 2>"$TMP/fuse" &
fuse=$!
until_true mountpoint -q "$TMP/dead"
if ! mountpoint -q "$TMP/dead"; then
	skip "a file system that does not answer" "$(cat "$TMP/fuse")"
	finish
fi
mkdir "$TMP/stack"
"$attacker" fuse "$TMP/stack" 2>"$TMP/fuse" &
fuses="$fuse $!"
until_true mountpoint -q "$TMP/stack"
withstands "a file system that does not answer" dead_files
check "it is told" grep -q 'did not answer within' "$TMP/said"
check "the recorder is not among those that it holds up" test ! -e "/proc/$(cat "$TMP/recorder")"
# A thread whose stack is in such a file's memory.
on_dead_stack() {
	local cap=$TMP/stack.cap
	"$attacker" stack "$TMP/stack/libcuda.so.1" 600000 >"$TMP/sleeps" &
	sleeper=$!
	until_true grep -q sleeps "$TMP/sleeps" || return
	"$gpurec" -q -o "$cap" -p "$sleeper" -p "$$" --no-children -d 3s || return
	"$BUILD/gpureplay" -q "$cap" -o "$TMP/stack.db" || return
	kill -KILL "$sleeper"
	wait "$sleeper" 2>/dev/null
	sqlite3 "$TMP/stack.db" "SELECT moment, state, process_name, stack FROM thread_states; SELECT value FROM facts WHERE name = 'stacks_unread'"
	[ "$(sqlite3 "$TMP/stack.db" "SELECT count(stack) FROM thread_states WHERE pid = $sleeper")" = 0 ] &&
		[ "$(sqlite3 "$TMP/stack.db" "SELECT count(stack) FROM thread_states WHERE pid = $$ AND moment = 'end'")" = 1 ] &&
		[ "$(sqlite3 "$TMP/stack.db" "SELECT substr(value, 1, 10) FROM facts WHERE name = 'stacks_unread'")" = '2 threads ' ]
}
check "a stack in its memory holds nobody up, and is missing" on_dead_stack
# Who hangs in it is let go.
kill $fuses
wait $fuses 2>/dev/null
umount -l "$TMP/dead" "$TMP/stack"
finish
