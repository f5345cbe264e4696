#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Random bad days, one after the other: a disk that stalls or is full, a recorder that is stopped or killed, floods with small
# rings, a file system that does not answer; then a file that lost its end. Each is judged: no capture says more than is true,
# and what is sealed verifies.
#
#   BUILD=build ROUNDS=1000 SEED=1 tests/tools/stalls.sh       `make stalls`; tests/cli/record_stalls.sh and record_days.sh
#
# SCALE=4: everything is so many times shorter. DAYS='stall killed': only such days.
# A round that fails is named with its number: FIRST=NUMBER SEED=.. begins with it. KEEP=FOLDER keeps what it left.
top=$(cd "$(dirname "$0")/../.." && pwd)
. "$top/tests/cli/lib.sh"
ROUNDS=${ROUNDS:-1000} SEED=${SEED:-$$} FIRST=${FIRST:-1} KEEP=${KEEP:-} SCALE=${SCALE:-1}
gpurec=$BUILD/gpurec verify=$BUILD/gpuverify replay=$BUILD/gpureplay
preload=$BUILD/tests/soak/faultio.so attacker=$BUILD/workload/attacker
exec 3>&1
mkdir "$TMP/round" "$TMP/dead"
cd "$TMP/round" || exit 1

if [ "$(id -u)" != 0 ] || ! "$gpurec" --check -o "$TMP/x.cap" >"$TMP/check" 2>&1; then
	skip "random stalls, floods, hangs and kills" "this machine cannot record: $(grep -m1 -iE 'not|missing|denied' "$TMP/check" 2>/dev/null || echo 'not root')"
	finish
fi
# The sanitizers want to be loaded before what makes disks bad; they are not what is tried here.
nm -D "$gpurec" 2>/dev/null | grep -q __asan_ && { skip "random stalls, floods, hangs and kills" "not with sanitizers"; finish; }
calls=$(sed -n 's/^\tK([0-9]*, \([a-z_]*\), [a-z]*, CALL).*/\1/p' "$top/format/kinds.h" | paste -sd' ')

between() { echo $(($1 + RANDOM % ($2 - $1 + 1))); } # LOW HIGH

# A program whose libraries nobody has seen before, every second time.
program() {
	driver=$BUILD/workload/driver
	[ $((RANDOM % 2)) = 0 ] || return 0
	mkdir own
	cp "$BUILD"/workload/{driver,libcudart.so.12,libcuda.so.1} own
	driver=$PWD/own/driver
}

# number KEY: out of the verdict, the first one
number() { sed -n "s/.*\"$1\":\([0-9]*\).*/\1/p" verdict.json | head -n 1; }

# What a capture with an end says of calls must be what the program counted, or it says that there is something it cannot know.
complete() {
	local recorded=0 lost made missing kind
	for kind in $calls; do recorded=$((recorded + $(grep -o "\"$kind\":[0-9]*" verdict.json | sed 's/.*://' | paste -sd+ | sed 's/^$/0/'))); done
	lost=$(grep -o '"probe":"[^"]*cu[^"]*","cause":"[^"]*","count":[0-9]*' verdict.json | sed 's/.*://' | paste -sd+ | sed 's/^$/0/')
	lost=$((lost))
	missing=$(grep -c '"cause":"not_attached"' verdict.json)
	made=$(sqlite3 :memory: "WITH t(j) AS (SELECT CAST(readfile('truth') AS TEXT)) SELECT
		(SELECT sum(f.value ->> 'calls') FROM t, json_each(t.j, '\$.functions') f) +
		(SELECT coalesce(sum(f.value), 0) FROM t, json_each(t.j, '\$.driver_functions') f)")
	[ "${made:-0}" -gt 0 ] || { echo "the program does not say what it did"; return 1; }
	[ $((recorded + lost)) -ne "$made" ] || return 0
	if [ $((recorded + lost)) -lt "$made" ] && [ "$missing" -gt 0 ]; then
		echo not-attached >>"$TMP/counts"
		return 0
	fi
	echo "$recorded recorded, $lost lost, $made made, $missing times without probes, and the verdict is $(cat verdict.json)"
	return 1
}

# judge STATUS: what gpurec left, having ended with this status
judge() {
	local status=0 sealed
	if [ ! -s run.cap ]; then
		[ "$1" != 0 ] || { echo "exit status 0, and there is no capture"; return 1; }
		echo none >>"$TMP/counts"
		return 0
	fi
	"$verify" --json run.cap >verdict.json 2>verdict.err || status=$?
	sealed=$(number epochs)
	case $1/$status in
	0/0 | 137/0) # killed when the end had been written already
		echo whole >>"$TMP/counts"
		complete
		return
		;;
	3/0) # the end was written, and whether it reached the disk is unknown
		grep -q 'disk is unknown' err && { echo doubted >>"$TMP/counts"; return 0; }
		;;
	3/5 | 137/5)
		if [ "$1" = 3 ] && ! grep -qE 'calls it UNSEALED|disk is unknown' err; then
			echo "it does not say that the capture is not whole: $(cat err)"
			return 1
		fi
		[ "${sealed:-0}" = 0 ] || [ "$("$replay" -q --json run.cap 2>/dev/null | grep '^{"at":' | grep -vc '"kind":"lost"')" = "$(number events)" ] ||
			{ echo "not all of $(number events) sealed events can be read"; return 1; }
		echo unsealed >>"$TMP/counts"
		return 0
		;;
	esac
	echo "gpurec ended with $1, gpuverify with $status: $(cat err verdict.err verdict.json)"
	return 1
}

# authentic FILE: gpuverify's status, and how many epochs are authentic
authentic() {
	local status=0
	"$verify" --json "$1" >torn.json 2>/dev/null || status=$?
	echo "$status $(sed -n 's/.*"authentic_epochs":\([0-9]*\).*/\1/p;t;s/.*"epochs":\([0-9]*\).*/\1/p' torn.json)"
}

# The end of the file as a power cut, a file system or a copy may leave it. What is then authentic is what the bytes that
# are left prove, and what is no more than a cut is called one.
torn() {
	local size at how same want got
	size=$(stat -c %s run.cap)
	at=$((RANDOM * 32768 + RANDOM))
	at=$((at % (size + 1)))
	how=$(between 1 4)
	[ "$how" -gt 2 ] || at=$((at / 512 * 512))
	case $how in
	1) { head -c "$at" run.cap && head -c $((size - at)) /dev/zero; } ;;                           # sectors that were not written
	2) { head -c "$at" run.cap && head -c $((size - at + $(between 0 9000))) /dev/zero; } ;;       # and more behind them
	3) { cat run.cap && head -c "$(between 1 9000)" /dev/zero; } ;;                                # a copy in whole blocks
	4) { head -c "$at" run.cap && head -c "$(between 1 9000)" /dev/urandom; } ;;                   # an old block
	esac >torn.cap
	same=$(cmp run.cap torn.cap 2>/dev/null | sed -n 's/.* byte \([0-9]*\),.*/\1/p') # nothing: as far as run.cap goes
	case $same in
	'') want=$(authentic run.cap) ;;
	*) head -c $((same - 1)) run.cap >cut.cap && want=$(authentic cut.cap) ;;
	esac
	got=$(authentic torn.cap)
	[ "$got" != "$want" ] || return 0
	# An old block in place of the rest of a frame is no cut, and what was before it is as authentic as it was.
	[ "$how" != 4 ] || [[ $got != [145]\ * ]] || [ "${got#* }" != "${want#* }" ] || return 0
	echo "torn in way $how at byte $at of $size, same up to ${same:-the end}: $got instead of $want: $(cat torn.json)"
	return 1
}

# started ARG...: gpurec in the background, as $pid, with $faults in its environment
started() {
	env "${faults[@]}" ${faults[0]:+LD_PRELOAD="$preload"} "$gpurec" -q -o run.cap "$@" >out 2>err &
	pid=$!
}

# ended: its exit status into $code; a hang is a failure
ended() {
	local end=$((SECONDS + 120))
	while kill -0 "$pid" 2>/dev/null; do
		[ $SECONDS -lt $end ] || { kill -KILL "$pid"; echo "it hangs"; return 1; }
		sleep 0.02
	done
	code=0
	wait "$pid" || code=$?
}

short() { echo $(($1 / SCALE)); } # NUMBER, at this scale
pause() { # LOW HIGH, in milliseconds
	local ms
	ms=$(short "$(between "$1" "$2")")
	sleep "$((ms / 1000)).$(printf %03d $((ms % 1000)))" # speed: when bad days come is up to chance
}
run_program() { echo "$driver" -q --flood "$(short "$1")" --rate "$2" --threads "$(between 1 3)" --truth "$PWD/truth"; }

day_stall() { # the disk, at one sync, or a little at each
	if [ $((RANDOM % 3)) = 0 ]; then
		faults=(FAULTIO_STALL=0 "FAULTIO_MS=$(short "$(between 20 300)")")
	else
		faults=("FAULTIO_STALL=$(between 1 3)" "FAULTIO_MS=$(short "$(between 200 1500)")")
	fi
	# shellcheck disable=SC2046 # words
	started --ring "$(between 1 16)M" -- $(run_program "$(between 1000 4000)" 2000)
	ended
}
day_full() { # the disk: at a write or a sync, for once or for good
	local what=(WRITE SYNC)
	faults=("FAULTIO_${what[RANDOM % 2]}=$(between 1 6)" FAULTIO_ERRNO=28 "FAULTIO_PART=$((RANDOM % 2))")
	[ $((RANDOM % 2)) = 0 ] || faults+=(FAULTIO_ONCE=1)
	# shellcheck disable=SC2046
	started -- $(run_program 1500 1500)
	ended
}
day_flood() { # of calls, with hardly any ring
	# shellcheck disable=SC2046
	started --ring 64K -- $(run_program "$(between 2000 20000)" "$(between 4000 40000)")
	ended
}
day_stopped() { # the recorder, several times
	local i
	# shellcheck disable=SC2046
	started --ring "$(between 1 4)M" -- $(run_program 4000 2500)
	for ((i = 0; i < 3; i++)); do
		pause 100 900
		kill -STOP "$pid" 2>/dev/null
		pause 100 600
		kill -CONT "$pid" 2>/dev/null
	done
	ended
}
day_killed() {
	# shellcheck disable=SC2046
	started -- $(run_program 4000 2000)
	pause 0 2900
	kill -KILL "$pid" 2>/dev/null
	ended
}
day_ended() { # by a signal, while all goes on
	# shellcheck disable=SC2046
	started -- sh -c 'trap "" TERM; "$@"' sh $(run_program 3000 2000)
	pause 0 1900
	kill -TERM "$pid" 2>/dev/null
	ended
}
day_hang() { # a library on a file system that does not answer, beside the program
	"$attacker" fuse "$TMP/dead" 2>fuse &
	local fuse=$! i
	for ((i = 0; i < 100; i++)); do
		mountpoint -q "$TMP/dead" && break
		sleep 0.02
	done
	# shellcheck disable=SC2046
	started -- sh -c 'a=$1 f=$2; shift 2; "$a" map "$f" '"$(short 1500)"' & "$@"; wait' sh "$attacker" "$TMP/dead/libcuda.so.1" $(run_program 2000 1500)
	ended
	local r=$?
	kill "$fuse" 2>/dev/null
	wait "$fuse" 2>/dev/null
	umount -l "$TMP/dead" 2>/dev/null
	return $r
}
day_busy() { # libraries by the dozen, and mappings by the thousand
	mkdir bad
	# shellcheck disable=SC2046
	started -- sh -c 'a=$1; shift; "$a" flood bad '"$(short 1200)"' & "$@"; wait' sh "$attacker" $(run_program 2000 1500)
	ended
}
read -ra days <<<"${DAYS:-stall full flood stopped killed ended busy hang}"
[ -c /dev/fuse ] || days=("${days[@]/hang/busy}")

one() { # NUMBER
	local day i
	RANDOM=$((SEED * 7919 + $1))
	day=${days[RANDOM % ${#days[@]}]}
	find . -mindepth 1 -delete
	faults=()
	program
	echo "$day" >>"$TMP/days"
	"day_$day" || { echo "$day: it hangs"; return 1; }
	# One that was sent a signal may have been past its end, or not yet begun.
	if [ "$day" = ended ] && [ "$code" = 0 ]; then
		local verdict=0
		"$verify" -q run.cap >verdict 2>&1 || verdict=$?
		[ $verdict = 0 ] || { echo "$day: gpuverify ended with $verdict: $(cat verdict)"; return 1; }
		echo stopped >>"$TMP/counts"
	elif [ "$day" != ended ] || [ "$code" != 143 ]; then
		judge "$code" || { echo "$day, gpurec ended with $code: $(cat err)"; return 1; }
	fi
	[ ! -s run.cap ] || torn || { echo "$day"; return 1; }
	# The program is not held up by what became of the recorder, and writes into no later round.
	for ((i = 0; i < 300; i++)); do
		pgrep -f -- "--truth $PWD/truth" >/dev/null || return 0
		sleep 0.1
	done
	echo "$day: the program that was recorded does not end"
	return 1
}

all() {
	local i failed=0
	true >"$TMP/counts"
	true >"$TMP/days"
	for ((i = FIRST; i < FIRST + ROUNDS; i++)); do
		one "$i" >"$TMP/said" 2>&1 && continue
		echo "round $i of seed $SEED: $(cat "$TMP/said")" | tee -a ${KEEP:+"$KEEP/failed"} /dev/fd/3
		[ -z "$KEEP" ] || cp -r "$TMP/round" "$KEEP/$SEED-$i"
		failed=1
	done
	echo "# $ROUNDS rounds ($(sort "$TMP/days" | uniq -c | awk '{ printf "%s%s %s", (NR > 1 ? ", " : ""), $1, $2 }')): $(
		sort "$TMP/counts" | uniq -c | awk '{ printf "%s%s %s", (NR > 1 ? ", " : ""), $1, $2 }')" >&3
	return $failed
}
check "$ROUNDS random stalls, floods, hangs and kills (seed $SEED): no capture says more than is true" all
finish
