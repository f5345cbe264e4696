#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# However functions are probed (--uprobes), the same calls are in the capture: with what this kernel lets us read at
# once, without that, and one by one as old kernels need.
. "$(dirname "$0")/lib.sh"
gpurec=$BUILD/gpurec
cap=$TMP/run.cap
view=$TMP/view.db
ways="multi plain${LONG:+ single}" # one by one takes minutes: with LONG=1; record.sh tries a part of it

needs_recording "ways of probing functions"
if [ ! -x "$BUILD/workload/leave/leave" ]; then
	skip "ways of probing functions" "the test double is not built here"
	finish
fi
multi=$(grep -c uprobe_multi "$TMP/check") # 0: before Linux 6.6, where each way is one by one

# record WAY COMMAND...: a capture, and its view
record() {
	local way=$1
	shift
	rm -f "$view"
	"$gpurec" -q --force -o "$cap" --uprobes "$way" -- "$@" >"$TMP/made" && "$BUILD/gpureplay" -q "$cap" -o "$view"
}
# setarch(1) calls futex(2) in other locales, at an address that differs in any two runs.
in_c() { LC_ALL=C "$@"; }
is_told() { "$BUILD/gpureplay" -q --json "$cap" | grep '"uprobes"' | grep -q "\"$1\""; }

# Calls that do not return: each is counted, as what it is
counts() {
	sqlite3 -readonly -separator ' ' "$view" \
		"SELECT name, fired, recorded, lost FROM probe_counts WHERE fired > 0 AND name LIKE 'cuda%' ORDER BY name"
	"$BUILD/gpureplay" -q --json "$cap" |
		sed -n 's/.*"kind":"open".*"probe":"\(cuda[A-Za-z]*\)".*"cause":"\([a-z_]*\)","count":\([0-9]*\)}.*/\1 \2 \3/p' | sort
}
cat >"$TMP/expected" <<END
cudaEventSynchronize 8 0 8
cudaStreamSynchronize 39 25 14
cudaEventSynchronize no_return 4
cudaEventSynchronize thread_exit 4
cudaStreamSynchronize no_return 9
cudaStreamSynchronize thread_exit 5
END
are_counted() { counts | diff "$TMP/expected" -; }

# What is told of a call, but for what differs in any two runs
calls() {
	"$BUILD/gpureplay" -q --json "$cap" | grep '"ret":' |
		sed -E 's/"(at|tid|pid|cpu|dur|stack|process)":("[^"]*"|[0-9]+),?//g' | sort
}
are_alike() {
	calls >"$TMP/$1.calls"
	wc -l <"$TMP/$1.calls"
	[ "$(wc -l <"$TMP/$1.calls")" -gt 20 ] && diff "$TMP/multi.calls" "$TMP/$1.calls" | head -20 && cmp "$TMP/multi.calls" "$TMP/$1.calls"
}
# Threads by the dozen, each inside other calls: more than find a seat where there is one
are_all_there() {
	sqlite3 -readonly "$view" "SELECT key, json_extract(value, '\$.calls'), recorded, lost
		FROM json_each(CAST(readfile('$TMP/truth.json') AS TEXT), '\$.functions') LEFT JOIN probe_counts ON name = key
		WHERE json_extract(value, '\$.kind') <> 'other' AND json_extract(value, '\$.calls') IS NOT recorded + lost" >"$TMP/rows"
	cat "$TMP/rows"
	[ ! -s "$TMP/rows" ] && [ "$(sqlite3 -readonly "$view" "SELECT sum(recorded) > 10000 FROM probe_counts")" = 1 ]
}

for way in $ways; do
	check "$way: a program is recorded that leaves calls without returning" record "$way" "$BUILD/workload/leave/leave"
	check "$way: the capture names the way" is_told "$([ "$multi" = 0 ] && echo single || echo "$way")"
	check "$way: each call is counted once, as whole or as what became of it" are_counted
	check "$way: a program that passes arguments in all manners is recorded" \
		in_c record "$way" setarch -R "$BUILD/workload/every/typed"
	check "$way: what is told of its calls is what is told of them otherwise" are_alike "$way"
	check "$way: forty threads are recorded" \
		record "$way" "$BUILD/workload/driver" -q --flood 2000 --threads 40 --truth "$TMP/truth.json"
	check "$way: each of their calls is recorded, or counted as lost" are_all_there
done

# One by one probes come off slowly, which the kernel does once gpurec has ended. Until it is done the next recording that
# attaches so holds no process, which would be held for as long.
detaching() { cat /proc/[0-9]*/comm 2>/dev/null | grep -cx gpurec-detaches || true; }
export -f detaching
if [ "$(detaching)" != 0 ]; then # of the last recording above
	check_exit 0 "while probes come off another recording begins" \
		"$gpurec" --force -o "$cap" --uprobes single -- bash -c "detaching >$TMP/meanwhile"
	check "its command runs once none is coming off any more" [ "$(cat "$TMP/meanwhile")" = 0 ]
else
	skip "probes that come off in the background" "they came off within half a second"
fi

# The process in which it does so is made by a recorder that has given up its rights by then.
if ! command -v strace >/dev/null; then
	skip "the recorder may leave that to another process" "strace is not installed"
else
	leaves() {
		strace -f -o "$TMP/calls" -e trace=clone,fork,vfork,clone3 \
			"$gpurec" -q --force -o "$cap" --uprobes single -- "$BUILD/workload/driver" -q --flood 300 || return
		grep -E '(clone|fork)\(.* = ' "$TMP/calls" | tail -n 1
		grep -qE '(clone|fork)\(.* = [0-9]' "$TMP/calls" && ! grep -E 'clone\(.*SIGCHLD.* = -1' "$TMP/calls"
	}
	check "the recorder may leave that to another process" leaves
fi

# A process that keeps a probe waiting keeps whoever detaches it: the capture is sealed and whole by then. (At the entry
# the kernel waits there, for the stack; no program of ours need be there.)
held() { # WAY CALL [WHAT]
	local recorder status=0
	rm -f "$cap" "$TMP/go" "$TMP/said" # what an earlier program said there is no sign of this one
	mkfifo "$TMP/go"
	"$gpurec" -q --uprobes "$1" -o "$cap" -- "$BUILD/workload/every/held" ${3+"$3"} <"$TMP/go" >"$TMP/said" &
	recorder=$!
	exec 9>"$TMP/go"
	until_true grep -q waiting "$TMP/said"
	kill -TERM "$recorder"
	until_true "$BUILD/gpuverify" -q "$cap"
	sleep 0.5 # speed: time for a recorder that does not wait to end
	# One by one a process of its own goes on with that.
	[ "$multi" = 0 ] || kill -0 "$recorder" || { echo "the recorder did not wait"; status=1; }
	"$BUILD/gpuverify" "$cap" || status=1
	exec 9>&-
	wait "$recorder" || status=1
	"$BUILD/gpureplay" -q --json "$cap" | grep '"probe":"'"$2"'".*"cause":"in_flight","count":1}' || status=1
	return $status
}
if [ ! -x "$BUILD/workload/every/held" ]; then
	skip "a probe that is kept waiting" "its program is for x86-64 only"
elif "$BUILD/workload/every/held" </dev/null >"$TMP/said" 2>&1; then
	for way in multi plain; do
		check "$way: with a probe that is kept waiting, the capture is sealed and tells of the call" held "$way" cudaFree
	done
	result_comes_late() {
		(sleep 0.3) | # speed: the result is recorded, however long it is held
			"$gpurec" -q -o "$cap" --force -- "$BUILD/workload/every/held" result >"$TMP/said" || return
		"$BUILD/gpureplay" -q --json "$cap" | grep '"kind":"alloc"' >"$TMP/rows"
		cat "$TMP/said" "$TMP/rows"
		grep -q waiting "$TMP/said" && [ "$(grep -vc '"addr":"0x0"' "$TMP/rows")" = 1 ]
	}
	if [ "$multi" = 0 ]; then
		# Nothing waits there: what is not in memory is not read.
		unread() {
			"$gpurec" -q -o "$cap" --force -- "$BUILD/workload/every/held" result </dev/null >"$TMP/said" || return
			"$BUILD/gpureplay" -q --json "$cap" | grep '"kind":"incomplete".*"probe":"cudaMalloc".*"cause":"unreadable"'
		}
		check "one by one: a result that is kept waiting is counted as not read" unread
	else
		check "multi: so it is with one that is kept waiting when the call returns" held multi cudaMalloc result
		check "multi: when it may go on, the result is recorded" result_comes_late
	fi
else
	skip "a probe that is kept waiting" "$(tail -n 1 "$TMP/said")"
fi
finish
