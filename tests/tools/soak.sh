#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Long runs and bad days. After each: what is sealed verifies, the sums hold (recorded + lost = made, by what the program
# itself counted), nothing hangs, the exit status and the message are right. `make soak H=1` gives it an hour of steady load
# besides; `make test-long` runs it short (tests/cli/record_soak.sh).
#
#   BUILD=build H=hours KILLS=300 PROCESSES=10000 tests/tools/soak.sh [PART...]      kills disk clock stands library many starved steady
#
# What was seen is told in lines that begin with "# ". Where RESULTS names a file, it gets them as a table once all went well;
# NOTE is what is to be said there of the machine. docs/BENCHMARKS.md is made with tests/soak/endurance.md.
top=$(cd "$(dirname "$0")/../.." && pwd)
. "$top/tests/cli/lib.sh"
H=${H:-1} KILLS=${KILLS:-300} PROCESSES=${PROCESSES:-10000} STALL_MS=${STALL_MS:-3000} STOP=${STOP:-10} SEED=${SEED:-$$}
gpurec=$BUILD/gpurec verify=$BUILD/gpuverify replay=$BUILD/gpureplay driver=$BUILD/workload/driver
preload=$BUILD/tests/soak/faultio.so
TURNS=${TURNS:-4500} # of the runs in which each write fails: a second has a thousand
RATE=4300            # turns a second that make 50,000 events and more
[ -z "${RESULTS:-}" ] || RESULTS=$(realpath "$RESULTS")
[ $# -gt 0 ] || set -- kills disk clock stands library many starved steady
cd "$TMP" || exit 1
cap=$TMP/run.cap
exec 3>&1

if [ "$(id -u)" != 0 ] || ! "$gpurec" --check >check 2>&1; then
	skip "long runs and bad days" "this machine cannot record: $(grep -m1 -iE 'not|missing|denied' check 2>/dev/null || echo 'not root')"
	finish
fi
# The sanitizers want to be loaded first; they are not what is tried here.
nm -D "$gpurec" 2>/dev/null | grep -q __asan_ && { skip "long runs and bad days" "not with sanitizers"; finish; }

# told WHAT FIGURES: for the reader of the log, and of the table
told() {
	echo "# $1: $2" >&3
	echo "| $1 | $2 |" >>"$TMP/table"
}

# with FAULT... -- gpurec's arguments: its exit status, at most two minutes
with() {
	local settings=()
	while [ "$1" != -- ]; do settings+=("$1"); shift; done
	shift
	timeout -k 5 120 env "${settings[@]}" LD_PRELOAD="$preload" "$gpurec" "$@" >out 2>err
}

# await PID SECONDS: its exit status; longer is a hang, and a failure
await() {
	local end=$((SECONDS + $2))
	while kill -0 "$1" 2>/dev/null; do
		[ $SECONDS -lt $end ] || { kill -KILL "$1"; echo "it hangs"; return 124; }
		sleep 0.1
	done
	wait "$1"
}

# verdict FILE STATUS...: gpuverify's exit status is one of these
verdict() {
	local file=$1 status=0 want
	shift
	timeout 300 "$verify" -q "$file" >verdict 2>&1 || status=$?
	for want in "$@"; do [ "$status" -ne "$want" ] || return 0; done
	echo "exit status $status of $(cat verdict), wanted $*"
	return 1
}

sql() { sqlite3 :memory: "$@"; }

# sums TRUTH FILE...: all captures are OK (each says so only if fired = recorded + lost for each probe, and the rows are as
# many as were recorded), and what they recorded and lost of calls is what the program counted. $recorded, $lost, $made
sums() {
	local truth=$1 calls file
	shift
	calls=$(sed -n 's/^\tK([0-9]*, \([a-z_]*\), [a-z]*, CALL).*/"\1"/p' "$top/format/kinds.h" | paste -sd,)
	for file in "$@"; do
		timeout 600 "$verify" --json "$file" || { "$verify" "$file" | head -n 1; return 1; }
	done >verdicts
	{ echo '['; sed '/^$/d' verdicts | paste -sd,; echo ']'; } >verdicts.json
	read -r recorded lost made < <(sql -separator ' ' "
		CREATE TABLE v AS SELECT value FROM json_each(CAST(readfile('verdicts.json') AS TEXT));
		CREATE TABLE t AS SELECT CAST(readfile('$truth') AS TEXT) AS value;
		SELECT (SELECT coalesce(sum(k.value), 0) FROM v, json_each(v.value, '\$.kinds') k WHERE k.key IN (${calls//\"/\'})),
			(SELECT coalesce(sum(l.value ->> 'count'), 0) FROM v, json_each(v.value, '\$.lost') l WHERE l.value ->> 'probe' LIKE '%cu%'),
			(SELECT sum(f.value ->> 'calls') FROM t, json_each(t.value, '\$.functions') f) +
			(SELECT coalesce(sum(f.value), 0) FROM t, json_each(t.value, '\$.driver_functions') f)")
	[ "${made:-0}" -gt 0 ] && [ $((recorded + lost)) -eq "$made" ] && return 0
	echo "$recorded recorded, $lost lost, ${made:-nothing} made"
	return 1
}
calls_lost() { echo "$lost of $made calls lost and counted"; }



# SIGKILL at any moment: while it starts, while events come and are written, at the joints of rotation. Alternately of a command,
# and of what there is on the host; every third one rotates.
LANES=3
killed() { # NUMBER DELAY_MS: one of them, in this folder; what came of it is a line of counts for each file
	local way=(-o run.cap) delay=$2 pid file status sealed rows last n program=
	local command=(sh -c "echo >began; exec '$driver' -q --flood 7000 --rate 2000 --truth truth")
	rm -f ./*.cap truth began
	[ $(($1 % 3)) -ne 0 ] || way+=(--rotate 1s)
	if [ $(($1 % 2)) -eq 0 ]; then
		way+=(-- "${command[@]}")
	else
		way+=(-d 20s)
		"${command[@]}" &
		program=$!
	fi
	"$gpurec" -q "${way[@]}" >out 2>err &
	pid=$!
	sleep "$((delay / 1000)).$(printf %03d $((delay % 1000)))"
	# The first of each lane comes when something is sealed, however slow this machine is today.
	for ((n = 0; $1 < LANES && n < 100; n++)); do
		! "$verify" --json ./*.cap 2>/dev/null | grep -q '"epochs":[1-9]' || break
		sleep 0.1
	done
	kill -KILL $pid 2>/dev/null || { echo "it had ended: $(cat err)"; return 1; }
	wait $pid 2>/dev/null
	last=$(find . -maxdepth 1 -name '*.cap' | sort | tail -n 1)
	[ -n "$last" ] || echo none >>counts
	for file in $(find . -maxdepth 1 -name '*.cap' | sort); do
		if [ ! -s "$file" ]; then
			echo nothing >>counts # killed before there was a header
			continue
		fi
		status=0
		"$verify" --json "$file" >verdict 2>&1 || status=$?
		sealed=$(sed -n 's/.*"epochs":\([0-9]*\).*/\1/p' verdict) rows=$(sed -n 's/.*"events":\([0-9]*\).*/\1/p' verdict)
		case $status in
		0) # has its end, so another one must continue it
			[ "$file" != "$last" ] || { echo "$file has an end"; return 1; }
			echo complete >>counts
			;;
		5)
			if [ "$sealed" = 0 ]; then
				echo unsealed >>counts
			else
				echo sealed "$rows" >>counts
				[ "$("$replay" -q --json "$file" | grep '^{"at":' | grep -vc '"kind":"lost"')" -eq "$rows" ] ||
					{ echo "not all of $rows sealed events of $file can be read"; return 1; }
			fi
			;;
		*) echo "exit status $status of $file: $(cat verdict)"; return 1 ;;
		esac
	done
	# What was recorded goes on: nobody stays stopped, no probe stays in the way.
	[ -z "$program" ] || await "$program" 60 || { echo "the program that was recorded ended with $?"; return 1; }
	for ((n = 0; n < 200; n++)); do
		[ -e began ] && [ ! -s truth ] || break
		sleep 0.1
	done
	[ -e began ] || { echo early >>counts; return 0; }
	[ -s truth ] || { echo "the command that was recorded does not end"; return 1; }
	echo went-on >>counts
}
lane() { # NUMBER: every LANES-th kill
	local i delay failed=0
	mkdir "lane-$1" && cd "lane-$1" || return 1
	RANDOM=$((SEED + $1))
	for ((i = $1; i < KILLS; i += LANES)); do
		delay=$((RANDOM % 3000))
		killed "$i" "$delay" >said 2>&1 && continue
		echo "kill $i of seed $SEED, after $delay ms: $(cat said)"
		failed=1
	done
	return $failed
}
kill_at_random() {
	local i n failed=0 jobs=()
	rm -rf lane-*
	for ((i = 0; i < LANES; i++)); do
		lane $i >"lane-$i.log" 2>&1 &
		jobs+=($!)
	done
	for i in "${jobs[@]}"; do wait "$i" || failed=1; done
	cat lane-*.log
	n() { cat lane-*/counts | grep -c "^$1"; }
	told "SIGKILL at $KILLS random moments" "$(n none) without a file, $(n nothing) with an empty one, $(n unsealed) with a header only, $(n sealed) \`UNSEALED\` with sealed \
epochs ($(cat lane-*/counts | awk '/^sealed/ { n += $2 } END { print n + 0 }') events, each read again), $(n complete) \`OK\`, completed by rotation before; \
of the programs $(n went-on) went on to their end, $(n early) had not begun"
	[ $failed -eq 0 ] && [ "$(n sealed)" -gt 0 ] && [ "$(n went-on)" -gt 0 ]
}
kills() {
	check "killed at $KILLS random moments: what is sealed verifies and can be read, what was recorded goes on" kill_at_random
}

# Every write fails, one after the other, until a run is through with all its writes: N of them.
fails_each() { # WHAT REGEX FAULT...: FAULT's first setting is counted up
	local what=$1 regex=$2 fault=$3 n status
	shift 3
	for ((n = 1; n <= 60; n++)); do
		rm -f run*.cap truth
		status=0
		with "$fault=$n" "$@" -- -o "$cap" ${rotating:+--rotate 1s} -- "$driver" -q --flood "$TURNS" --rate 1000 --truth truth || status=$?
		if [ "$status" -eq 0 ]; then
			if [ -n "${rotating:-}" ] && grep -q 'cannot begin another capture' err; then
				sums truth run*.cap || return 1 # the old one goes on instead, and nothing is missing
				continue
			fi
			[ $n -gt 3 ] || { echo "$fault=$n: all went well"; return 1; }
			sums truth run*.cap || return 1
			told "$what" "each of $((n - 1)) in turn: exit status 3 and the reason; whole up to the last seal"
			return 0
		fi
		[ "$status" -eq 3 ] || { echo "$fault=$n: exit status $status"; cat err; return 1; }
		grep -qE "run[-0-9]*\.cap: .*$regex" err || { echo "$fault=$n: the message does not say what and why"; cat err; return 1; }
		left "$n" || return 1
		for ((i = 0; i < 100; i++)); do [ ! -s truth ] || break; sleep 0.1; done
		[ -s truth ] || [ "$n" = 1 ] || { echo "$fault=$n: the command did not end"; return 1; }
	done
	echo "$fault: no end after $n"
	return 1
}
left() { # NUMBER: what a failure leaves: nothing, or what is whole up to the last seal; and what the message says of it
	local file last allowed=5
	last=$(find . -maxdepth 1 -name 'run*.cap' | sort | tail -n 1)
	! grep -q 'end of .* reached the disk is unknown' err || allowed="0 5"
	if grep -q 'nothing was sealed; .* was removed' err; then
		allowed=0 # that it is whole, for another one was to continue it
	elif ! grep -qE 'calls it UNSEALED|disk is unknown' err; then
		[ -z "$last" ] || { echo "$1: no word about $last"; cat err; return 1; }
	fi
	for file in $(find . -maxdepth 1 -name 'run*.cap' | sort); do
		[ -s "$file" ] || { echo "$1: $file is empty and was left"; return 1; }
		# shellcheck disable=SC2086 # one word each
		if [ "$file" = "$last" ]; then verdict "$file" $allowed; else verdict "$file" 0; fi || { cat err; return 1; }
	done
}
full() { # a file system that is really full
	local status=0
	mkdir -p small && mount -t tmpfs -o size=2m tmpfs small || return 77
	"$gpurec" -o small/run.cap -- timeout $((60 * ${SLOW:-1})) "$driver" -q --flood 120000 >out 2>err || status=$?
	cp small/run.cap full.cap
	umount small
	[ "$status" -eq 3 ] && grep -q 'No space left' err || { echo "exit status $status"; cat err; return 1; }
	verdict full.cap 5 || return 1
	told "a file system of 2 MiB" "exit status 3 at $(stat -c %s full.cap) bytes, \`UNSEALED\`"
}
short() {
	with FAULTIO_SHORT=1 -- -q --force -o "$cap" -- "$driver" -q --flood 3000 --rate 1500 --truth truth && sums truth "$cap" || return 1
	told "short and interrupted writes" "exit status 0, \`OK\`, $(calls_lost)"
}
stall() { # NTH [OPTION...]
	local nth=$1
	shift
	rm -f truth
	with FAULTIO_STALL="$nth" FAULTIO_MS="$STALL_MS" -- -q --force -o "$cap" "$@" -- "$driver" -q --flood $((STALL_MS * 5 + 10000)) --rate $RATE --truth truth || return 1
	sums truth "$cap" || return 1
	told "a disk that stalls for $STALL_MS ms, paced for 50,000 events a second${1:+, $*}" "\`OK\`, $(calls_lost)"
}
stall_lossy() { stall "$@" && [ "$lost" -gt 0 ]; }
slow() {
	rm -f truth
	with FAULTIO_STALL=0 FAULTIO_MS=400 -- -q --force -o "$cap" -- "$driver" -q --flood 12000 --rate $RATE --truth truth && sums truth "$cap" || return 1
	told "a disk whose every sync takes 400 ms" "\`OK\`, $(calls_lost)"
}
# beside NAME SENTENCE COMMAND...: in a folder of its own, at the same time as others; awaited by beside_end
beside() {
	mkdir "$1"
	(
		cd "$1" || exit 1
		cap=run.cap
		"${@:3}" >said 2>&1
	) &
	besides+=("$1" $! "$2")
}
beside_end() {
	local status i
	for ((i = 0; i < ${#besides[@]}; i += 3)); do
		status=0
		wait "${besides[i + 1]}" || status=$?
		check "${besides[i + 2]}" sh -c "cat '${besides[i]}/said'; exit $status"
	done
	besides=()
	rm -rf write part once sync rotate
}
disk() {
	local status=0
	besides=()
	beside write "no space at each write: exit status 3, said so, whole up to the last seal" \
		fails_each "no space, at every write" 'No space left' FAULTIO_WRITE FAULTIO_ERRNO=28
	beside part "no space in the midst of each write" \
		fails_each "no space in the midst of every write" 'No space left' FAULTIO_WRITE FAULTIO_ERRNO=28 FAULTIO_PART=1
	beside once "an input/output error at each write, though the next would succeed" \
		fails_each "an I/O error at every write" 'Input/output error' FAULTIO_WRITE FAULTIO_ERRNO=5 FAULTIO_ONCE=1
	beside sync "data that does not reach the disk, at each sync" \
		fails_each "an I/O error at every sync" 'Input/output error' FAULTIO_SYNC FAULTIO_ERRNO=5
	rotating=1
	beside rotate "no space at each write, of captures that rotate" \
		fails_each "no space, at every write, rotating" 'No space left' FAULTIO_WRITE FAULTIO_ERRNO=28
	rotating=
	beside_end
	check "short and interrupted writes: OK, and all calls accounted for" short
	full >full.log 2>&1 || status=$?
	if [ "$status" -eq 77 ]; then
		skip "a file system that is full" "no tmpfs can be mounted here"
	else
		check "a file system that is full: exit status 3, UNSEALED" sh -c 'cat full.log; exit '"$status"
	fi
	check "a disk that stalls for $STALL_MS ms: OK, and all calls accounted for" stall 2
	check "with a tiny ring too, and there are losses" stall_lossy 2 --ring 64K
	check "a disk that is slow at each sync" slow
}

# Clocks: a wall clock that is set, and a boot clock that went on while the machine slept.
step() { # SECONDS
	with FAULTIO_STEP="$1" FAULTIO_AFTER=4 -- -q --force -o "$cap" -- "$driver" -q --flood 3000 --rate 1000 --truth truth && sums truth "$cap" || return 1
	"$BUILD/gpuanalyze" -q "$cap" --report >report
	grep -qE "clock was set $([ "$1" -gt 0 ] && echo forward || echo back) by 2\.00 h" report || { head -n 40 report; return 1; }
	told "the wall clock steps by $1 s" "\`OK\`, $(calls_lost); the report: $(grep -m1 'clock was set' report | sed 's/^ *//')"
}
asleep() { # WRITES: from this write to a capture on; the header is the first
	rm -f run*.cap
	with FAULTIO_ASLEEP=7200 FAULTIO_WRITTEN="$1" -- -o "$cap" --rotate 20m -- "$driver" -q --flood 6000 --rate 1000 --truth truth && sums truth run*.cap || { cat err; return 1; }
	"$BUILD/gpuanalyze" -q run*.cap --report >report
	[ "$(grep -cE 'suspended for 2\.00 h' report)" -eq 1 ] || { head -n 40 report; return 1; }
	[ "$(find . -maxdepth 1 -name 'run*.cap' | wc -l)" -le 2 ] || { echo "$(find . -maxdepth 1 -name 'run*.cap' | wc -l) captures to make up for the time asleep"; return 1; }
	told "two hours asleep, rotating each 20 minutes" "\`OK\`, $(find . -maxdepth 1 -name 'run*.cap' | wc -l) captures, $(calls_lost); the report: $(grep -m1 'was suspended' report | sed 's/^ *//')"
}
clock() {
	check "the wall clock steps two hours ahead: OK, and told" step 7200
	check "and two hours back" step -7200
	check "two hours asleep: OK, told, and no capture to make up for it" asleep 4
	check "and when they begin in the first epoch" asleep 1
}

# A recorder that stands still, while all goes on; and one that stands still with all that it records, as a suspension has it.
stopped() { # [OPTION...]
	local pid status=0
	rm -f truth
	"$gpurec" -q --force -o "$cap" "$@" -- "$driver" -q --flood $(((STOP + 3) * RATE)) --rate $RATE --truth truth >out 2>err &
	pid=$!
	sleep 2
	kill -STOP $pid
	sleep "$STOP"
	kill -CONT $pid
	await $pid $((STOP * 10 + 60)) || status=$?
	[ "$status" -eq 0 ] || { echo "exit status $status"; cat err; return 1; }
	sums truth "$cap" || return 1
	told "SIGSTOP for $STOP s, paced for 50,000 events a second${1:+, $*}" "\`OK\`, $(calls_lost)"
}
stopped_lossy() { stopped "$@" && [ "$lost" -gt 0 ]; }
frozen() {
	local group=/sys/fs/cgroup/freezer/gpurec-soak.$$ pid status=0
	mkdir "$group" 2>/dev/null || { group=/sys/fs/cgroup/gpurec-soak.$$; mkdir "$group" 2>/dev/null; } || return 77
	freeze() { if [ -e "$group/freezer.state" ]; then [ "$1" = 1 ] && echo FROZEN || echo THAWED; else echo "$1"; fi >"$group/$([ -e "$group/freezer.state" ] && echo freezer.state || echo cgroup.freeze)"; }
	[ -e "$group/freezer.state" ] || [ -e "$group/cgroup.freeze" ] || { rmdir "$group"; return 77; }
	rm -f truth
	sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$group" "$gpurec" -q --force -o "$cap" -- "$driver" -q --flood 8000 --rate 2000 --truth truth >out 2>err &
	pid=$!
	sleep 2
	freeze 1
	sleep "$STOP"
	freeze 0
	await $pid 120 || status=$?
	rmdir "$group"
	[ "$status" -eq 0 ] || { echo "exit status $status"; cat err; return 1; }
	sums truth "$cap" || return 1
	told "recorder and program frozen for $STOP s" "\`OK\`, $(calls_lost)"
}
stands() {
	local status=0
	check "stopped for $STOP seconds with a small ring: OK, there are losses, and all calls are accounted for" stopped_lossy --ring 64K
	[ "$STOP" -lt 10 ] || check "with the usual ring: OK, and all calls accounted for" stopped
	frozen >frozen.log 2>&1 || status=$?
	if [ "$status" -eq 77 ]; then
		skip "frozen with all that it records" "there is no freezer here"
	else
		check "frozen with all that it records: OK" sh -c 'cat frozen.log; exit '"$status"
	fi
}

# The library is replaced while it is in use: those who have the old one and those who load the new one are recorded.
replaced() {
	rm -rf lib truth* && mkdir lib && cp "$BUILD"/workload/libcud*.so.* lib/ || return 1
	LD_LIBRARY_PATH=$TMP/lib timeout 60 "$gpurec" -q --force -o "$cap" -- sh -c '"$0" -q --flood 2500 --rate 1000 --truth truth.old & sleep 1
		for f in lib/*; do cp "$f" "$f.new" && mv "$f.new" "$f"; done
		"$0" -q --flood 500 --truth truth.new && wait' "$driver" >out 2>err || { cat err; return 1; }
	[ "$("$replay" -q --json "$cap" | grep '"kind":"module"' | grep "$TMP/lib/libcudart" | grep -o '"inode":[0-9]*' | sort -u | wc -l)" -eq 2 ] ||
		{ echo "not two files of that name"; "$replay" -q --json "$cap" | grep '"kind":"module"'; return 1; }
	# One sum of both.
	sqlite3 :memory: "SELECT json_object('functions', json_group_object(n, json_object('calls', c)), 'driver_functions', json('{}')) FROM (
		SELECT 1 AS n, sum(f.value ->> 'calls') AS c FROM (SELECT CAST(readfile('truth.old') AS TEXT) AS t UNION ALL SELECT CAST(readfile('truth.new') AS TEXT)),
			json_each(t, '\$.functions') f UNION ALL
		SELECT 2, sum(f.value) FROM (SELECT CAST(readfile('truth.old') AS TEXT) AS t UNION ALL SELECT CAST(readfile('truth.new') AS TEXT)),
			json_each(t, '\$.driver_functions') f)" >truth
	sums truth "$cap" || return 1
	told "the library replaced while in use" "both files' calls recorded: $recorded of $made, $lost lost and counted"
}
library() {
	check "a library that is replaced while in use: the calls of both are recorded" replaced
}

many_processes() {
	local fired
	timeout -k 5 900 "$gpurec" --force -o "$cap" -- sh -c 'i=0; while [ $i -lt '"$PROCESSES"' ]; do /bin/true & i=$((i + 1)); [ $((i % 50)) -ne 0 ] || wait; done; wait' >out 2>err || { cat err; return 1; }
	verdict "$cap" 0 || return 1
	"$verify" --json "$cap" >verdict.json
	read -r recorded lost < <(sql -separator ' ' "SELECT v.j ->> '\$.kinds.exec', (SELECT coalesce(sum(l.value ->> 'count'), 0)
		FROM json_each(v.j, '\$.lost') l WHERE l.value ->> 'probe' LIKE '%exec%') FROM (SELECT CAST(readfile('verdict.json') AS TEXT) AS j) v")
	fired=$((recorded + lost))
	# sh itself is one
	[ $fired -eq $((PROCESSES + 1)) ] || { echo "$recorded execs recorded, $lost lost, of $((PROCESSES + 1))"; return 1; }
	told "$PROCESSES processes" "\`OK\`, $recorded of $((PROCESSES + 1)) execs recorded, $lost lost and counted; $(grep -o '[0-9.]* MiB of memory' err)"
}
many() {
	check "$PROCESSES processes: each recorded or counted" many_processes
}

# No CPU to spare.
hogged() {
	local hogs=() i status=0
	for ((i = 0; i < 2 * $(nproc); i++)); do
		( while :; do :; done ) &
		hogs+=($!)
	done
	rm -f truth
	timeout -k 60 300 nice -n 10 "$gpurec" -q --force -o "$cap" -- "$driver" -q --flood 20000 --rate $RATE --truth truth >out 2>err || status=$?
	kill "${hogs[@]}"
	wait "${hogs[@]}" 2>/dev/null
	[ "$status" -eq 0 ] && sums truth "$cap" || return 1
	told "starved by $((2 * $(nproc))) hogs, at a nice value of 10" "\`OK\`, $(calls_lost)"
}
starved() {
	check "starved by $((2 * $(nproc))) hogs: OK, and all calls accounted for" hogged
}

# Steady load, with rotation: memory flat, nothing lost, every joint exact.
hold_steady() {
	local seconds pid begin kib n events took early late most
	seconds=$(awk -v h="$H" 'BEGIN { print int(h * 3600) }')
	[ "$seconds" -ge 7 ] || seconds=7
	rm -f steady*.cap truth
	begin=$SECONDS
	"$gpurec" -o steady.cap --rotate "$((seconds / 6))s" -- "$driver" -q --flood "$((seconds * RATE))" --rate $RATE --truth truth >out 2>err &
	pid=$!
	sleep 3
	while kill -0 $pid 2>/dev/null; do
		[ $((SECONDS - begin)) -lt $((3 * seconds + 120)) ] || { kill -KILL $pid; echo "it hangs"; return 1; }
		kib=$(awk '/^(RssAnon|VmSwap)/ { n += $2 } END { if (n) print n }' /proc/$pid/status 2>/dev/null) || :
		[ -z "$kib" ] || echo "$((SECONDS - begin)) $kib" >>memory
		sleep 1
	done
	wait $pid || { cat err; return 1; }
	took=$((SECONDS - begin))
	n=$(find . -maxdepth 1 -name 'steady*.cap' | wc -l)
	events=$(sed -n 's/.*: \([0-9]*\) events.*/\1/p' err | tail -n 1)
	# Its own memory, not the rings' and files' pages, which come and go as the kernel likes.
	# Medians of the second fifth and of the last one: what comes in bursts stays where it was needed once, a leak grows.
	read -r early late most < <(awk '
		function median(from, to,   n, k, v, t) {
			for (k = from; k <= to; k++) { v[++n] = kib[k]; for (t = n; t > 1 && v[t] < v[t - 1]; t--) { x = v[t]; v[t] = v[t - 1]; v[t - 1] = x } }
			return v[int((n + 1) / 2)]
		}
		{ kib[NR] = $2; if ($2 > most) most = $2 }
		END { print median(int(NR / 5) + 1, int(2 * NR / 5) + 1), median(int(4 * NR / 5) + 1, NR), most }' memory)
	sums truth steady*.cap || return 1
	timeout 600 "$verify" steady*.cap >joints 2>&1 || { cat joints; return 1; }
	told "$took s of steady load, rotating" "$((events / took)) events a second ($events), $(calls_lost), $n captures with exact joints, \
its own memory $early KiB in the second fifth and $late in the last (medians; $most at most), $(grep -oE '[0-9.]+ s of CPU' err | head -n 1)"
	[ "$n" -ge 6 ] || { cat joints; return 1; }
	! grep -qE '^ +lost +[0-9]' joints || { grep -E 'lost' joints; return 1; }
	[ "$(grep -c 'hash and time fit' joints)" -eq $((n - 1)) ] || { cat joints; return 1; }
	[ "$seconds" -lt 300 ] || [ $((events / took)) -ge 50000 ] || { echo "only $((events / took)) events a second"; return 1; }
	# A short run is still growing into its buffers.
	[ $((late - early)) -le $((seconds < 300 ? 24576 : 4096)) ] || { awk 'NR % 5 == 1' memory; return 1; }
}
steady() {
	check "$H hours of steady load, rotating: memory flat, nothing lost, every joint exact" hold_steady
}

load_before=$(cut -d' ' -f1 /proc/loadavg) begun=$SECONDS
for part in "$@"; do "$part"; done
if [ -n "${RESULTS:-}" ] && [ "$lib_failed" -eq 0 ]; then
	{
		echo "## Endurance"
		echo "Made by \`make soak\`. After each: what is sealed verifies, *recorded + lost = made* by what the program itself counted,"
		echo "nothing hangs, exit status and message are right."
		echo
		echo "Machine: $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(nproc) cores, Linux $(uname -r); $(date -u +%Y-%m-%d),$(
			git -C "$top" rev-parse --short HEAD 2>/dev/null | sed 's/.*/ commit &,/') $(((SECONDS - begun) / 60)) minutes; load $load_before at its beginning, $(cut -d' ' -f1 /proc/loadavg) at its end.${NOTE:+ $NOTE}"
		echo
		echo "| what | what came of it |"
		echo "| --- | --- |"
		cat table
	} >"$RESULTS"
fi
finish
