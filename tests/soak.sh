#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Long runs and bad days. After each: what is sealed verifies, the sums hold, nothing hangs, the exit status and the message
# are right. `make soak H=1` gives it an hour of steady load besides; `make test` runs it short (tests/cli/record_soak.sh).
#
#   BUILD=build H=hours KILLS=300 PROCESSES=10000 tests/soak.sh
. "$(dirname "$0")/cli/lib.sh"
H=${H:-1} KILLS=${KILLS:-300} PROCESSES=${PROCESSES:-10000} WRITES=${WRITES:-12} STALL_MS=${STALL_MS:-3000} STOP=${STOP:-10}
build=$(cd "$BUILD" && pwd)
gpurec=$build/gpurec verify=$build/gpuverify replay=$build/gpureplay driver=$build/workload/driver
preload=$build/tests/soak/faultio.so
cd "$TMP" || exit 1
cap=$TMP/run.cap

if [ "$(id -u)" != 0 ] || ! "$gpurec" --check >check 2>&1; then
	skip "long runs and bad days" "this machine cannot record: $(grep -m1 -iE 'not|missing|denied' check 2>/dev/null || echo 'not root')"
	finish
fi
# The sanitizers want to be loaded first; they are not what is tried here.
nm -D "$gpurec" 2>/dev/null | grep -q __asan_ && { skip "long runs and bad days" "not with sanitizers"; finish; }

# with FAULT... -- gpurec's arguments: its exit status, at most two minutes
with() {
	local settings=()
	while [ "$1" != -- ]; do settings+=("$1"); shift; done
	shift
	timeout -k 5 120 env "${settings[@]}" LD_PRELOAD="$preload" "$gpurec" "$@" >out 2>err
}

# verdict FILE STATUS...: gpuverify's exit status is one of these
verdict() {
	local file=$1 status=0 want
	shift
	"$verify" -q "$file" >verdict 2>&1 || status=$?
	for want in "$@"; do [ "$status" -ne "$want" ] || return 0; done
	echo "exit status $status of $(cat verdict), wanted $*"
	return 1
}

# Sealed epochs of a capture, whatever its end.
epochs() {
	"$verify" --json "$1" 2>/dev/null | sed -n 's/.*"epochs":\([0-9]*\).*/\1/p'
}

# 1. SIGKILL at any moment.
kill_at_random() {
	local i status sealed=0 unsealed=0 nothing=0 pid delay
	for ((i = 0; i < KILLS; i++)); do
		rm -f "$cap"
		"$gpurec" -q -o "$cap" -d 20s >out 2>err &
		pid=$!
		delay=$((RANDOM % 3500))
		sleep "$((delay / 1000)).$(printf %03d $((delay % 1000)))"
		kill -KILL $pid
		wait $pid 2>/dev/null
		if [ ! -s "$cap" ]; then
			nothing=$((nothing + 1)) # before the header was there
			continue
		fi
		status=0
		"$verify" -q "$cap" >verdict 2>&1 || status=$?
		case $status in
		5) unsealed=$((unsealed + 1)); [ "$(epochs "$cap")" = 0 ] || sealed=$((sealed + 1)) ;;
		4) # the header itself was cut: nothing can be checked, and nothing is claimed
			[ "$(stat -c %s "$cap")" -lt 65536 ] || { echo "killed after $delay ms: $(cat verdict)"; return 1; } ;;
		*) echo "killed after $delay ms: exit status $status, $(cat verdict)"; return 1 ;;
		esac
	done
	echo "# $KILLS kills: $nothing before there was a file, $unsealed UNSEALED, $sealed of them with sealed epochs" >&3
	[ "$unsealed" -gt 0 ]
}
exec 3>&1
check "killed at $KILLS random moments, what is sealed verifies" kill_at_random

# 2. Every write fails once, as on a full disk and as on a broken one.
every_write() {
	local errno=$1 n status
	for ((n = 1; n <= WRITES; n++)); do
		rm -f "$cap"
		status=0
		with FAULTIO_WRITE=$n FAULTIO_ERRNO="$errno" -- -o "$cap" -d 20s -- "$driver" -q --flood 1000 || status=$?
		if [ "$status" -eq 0 ]; then
			verdict "$cap" 0 && return 0 # fewer writes than that
		fi
		[ "$status" -eq 3 ] || { echo "write $n: exit status $status"; cat err; return 1; }
		grep -qE "$2" err || { echo "write $n: the message does not say why"; cat err; return 1; }
		[ ! -s "$cap" ] || verdict "$cap" 4 5 || { echo "write $n"; return 1; }
	done
}
check "no space at each of the first $WRITES writes: exit status 3, said so, what is sealed verifies" every_write 28 'No space left'
check "an input/output error at each of them" every_write 5 'Input/output error'
every_sync() {
	local n status
	for n in 1 2 3; do
		rm -f "$cap"
		status=0
		with FAULTIO_SYNC=$n FAULTIO_ERRNO=5 -- -o "$cap" -d 20s -- sh -c 'sleep 4' || status=$?
		[ "$status" -eq 3 ] && grep -q 'Input/output error' err || { echo "sync $n: exit status $status"; cat err; return 1; }
		[ ! -s "$cap" ] || verdict "$cap" 4 5 || return 1
	done
}
check "data that does not reach the disk is a failure too" every_sync
check "short and interrupted writes are no failure" with FAULTIO_SHORT=1 -- -q --force -o "$cap" -- "$driver" -q --flood 2000
check "and leave a whole capture" verdict "$cap" 0

# A file system that is really full.
full() {
	local status=0
	mkdir -p small && mount -t tmpfs -o size=4m tmpfs small || return 77
	"$gpurec" -o small/run.cap -- timeout 30 "$driver" -q --flood 400000 >out 2>err || status=$?
	cp small/run.cap full.cap
	umount small
	[ "$status" -eq 3 ] && grep -q 'No space left' err || { echo "exit status $status"; cat err; return 1; }
	verdict full.cap 5
}
status=0
full >full.log 2>&1 || status=$?
if [ "$status" -eq 77 ]; then
	skip "a file system that is full" "no tmpfs can be mounted here"
else
	check "a file system that is full: exit status 3, UNSEALED" sh -c 'cat full.log; exit '"$status"
fi

# 3. A disk that stalls: the ring absorbs, or what it cannot is counted.
sums() { "$replay" -q --json "$1" | grep -c '"kind":"lost"' || :; }
stall() {
	with FAULTIO_STALL=2 FAULTIO_MS="$STALL_MS" -- -q --force -o "$cap" -- "$driver" -q --flood 20000 || return 1
	verdict "$cap" 0
	echo "# stalled for $STALL_MS ms: $("$verify" "$cap" | grep -m1 '^  lost')" >&3
}
check "a disk that stalls for $STALL_MS ms: OK, and every event recorded or counted" stall
tiny_ring() {
	with FAULTIO_STALL=2 FAULTIO_MS="$STALL_MS" -- -q --force --ring 64K -o "$cap" -- "$driver" -q --flood 20000 || return 1
	verdict "$cap" 0 && "$verify" "$cap" | grep -qE '^ +lost .*no room in the ring'
}
check "with a tiny ring too, and there are losses" tiny_ring

# 4. Clocks.
step() {
	with FAULTIO_STEP="$1" FAULTIO_AFTER=4 -- -q --force -o "$cap" -d 3s || return 1
	verdict "$cap" 0 && "$build/gpuanalyze" -q "$cap" --report | grep -qi 'clock'
}
check "the wall clock steps two hours ahead: OK, and told" step 7200
check "and two hours back" step -7200

# 5. A recorder that stands still.
stopped() {
	local pid status=0
	"$gpurec" -q --force -o "$cap" -- "$driver" -q --seconds $((STOP + 3)) --count 1000000 >out 2>err &
	pid=$!
	sleep 2
	kill -STOP $pid
	sleep "$STOP"
	kill -CONT $pid
	sleep 1
	kill -TERM $pid
	wait $pid || status=$?
	verdict "$cap" 0 && [ "$status" -lt 128 ] || [ "$status" -eq 143 ]
}
check "stopped for $STOP seconds: OK, and every event recorded or counted" stopped

# 6. The library is replaced while it is in use.
replaced() {
	local pid
	mkdir -p lib && cp "$build"/workload/libcudart.so.* lib/ || return 1
	"$gpurec" -q --force -o "$cap" -d 4s >out 2>err &
	pid=$!
	sleep 1
	LD_LIBRARY_PATH=$TMP/lib "$driver" -q --clean --seconds 2 &
	sleep 1
	for f in lib/*; do cp "$f" "$f.new" && mv "$f.new" "$f"; done
	LD_LIBRARY_PATH=$TMP/lib "$driver" -q --clean --seconds 1
	wait $pid
	verdict "$cap" 0
	[ "$("$replay" -q --json "$cap" | grep '"kind":"module"' | grep -c 'libcudart')" -ge 2 ] || { echo "one module only"; return 1; }
}
check "a library that is replaced while in use: both are recorded" replaced

# 7. Many processes.
many() {
	timeout -k 5 600 "$gpurec" -q --force -o "$cap" -- sh -c 'i=0; while [ $i -lt '"$PROCESSES"' ]; do /bin/true & i=$((i + 1)); [ $((i % 50)) -ne 0 ] || wait; done; wait' >out 2>err || return 1
	verdict "$cap" 0 || return 1
	local n
	n=$("$verify" "$cap" | sed -n 's/.*exec \([0-9]*\).*/\1/p')
	[ "$n" -ge "$PROCESSES" ] || "$verify" "$cap" | grep -q '^  lost *[0-9]' || { echo "$n execs and no loss"; return 1; }
}
check "$PROCESSES processes: each recorded or counted" many

# 8. No CPU to spare.
starved() {
	local hogs=() i
	for ((i = 0; i < 2 * $(nproc); i++)); do
		( while :; do :; done ) &
		hogs+=($!)
	done
	timeout -k 60 300 nice -n 10 "$gpurec" -q --force -o "$cap" -- "$driver" -q --flood 2000 >out 2>err
	local status=$?
	kill "${hogs[@]}"
	wait "${hogs[@]}" 2>/dev/null
	[ "$status" -eq 0 ] && verdict "$cap" 0
}
check "starved by $((2 * $(nproc))) hogs: OK, and every event recorded or counted" starved

# 9. Steady load, with rotation: memory flat, nothing lost, every joint exact.
steady() {
	local seconds memory_first=0 memory=0 pid end
	seconds=$(awk -v h="$H" 'BEGIN { print int(h * 3600) }')
	[ "$seconds" -ge 5 ] || seconds=5
	rm -f steady*.cap
	"$gpurec" -o steady.cap --rotate "$((seconds / 6 > 1 ? seconds / 6 : 1))s" -- "$driver" -q --clean --seconds "$seconds" >out 2>err &
	pid=$!
	end=$((SECONDS + seconds / 2))
	sleep 3
	memory_first=$(awk '/VmRSS/ { print $2 }' /proc/$pid/status)
	while [ $SECONDS -lt $end ]; do sleep 1; done
	memory=$(awk '/VmRSS/ { print $2 }' /proc/$pid/status)
	wait $pid || { cat err; return 1; }
	echo "# $seconds s: resident $memory_first KiB after 3 s, $memory KiB half way; $(ls steady*.cap | wc -l) captures" >&3
	"$verify" steady*.cap >joints 2>&1 || { cat joints; return 1; }
	[ "$(grep -c '^OK ' joints)" -ge 5 ] || { cat joints; return 1; }
	grep -qE '^ +lost +[0-9]' joints && { grep lost joints; return 1; }
	[ "$memory" -le $((memory_first + 16384)) ]
}
check "$H hours of steady load, rotating: memory flat, nothing lost, every joint exact" steady
finish
