#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# On a terminal what takes long says how far it has come; else, and with -q, nothing does. The clock is made fast
# (tests/soak/faultio.c), so that everything takes long.
. "$(dirname "$0")/lib.sh"

faultio=$BUILD/tests/soak/faultio.so
if ! command -v script >/dev/null || ! command -v taskset >/dev/null; then
	skip "on a terminal progress is shown" "there is no script(1) or taskset(1) here"
	finish
elif [ ! -e "$faultio" ] || nm -D "$BUILD/gpuverify" | grep -q __asan_; then
	skip "on a terminal progress is shown" "the clock cannot be made fast in this build"
	finish
fi
cd "$TMP" || exit 1
{
	echo "process at=+0 pid=100 start=+0 tracked=1 name=trainer"
	for s in $(seq 0 19); do
		echo "repeat 20 1ms launch at=+$s.1s pid=100 tid=100 dur=10us"
		echo "epoch +$((s + 1))s"
	done
} >script
"$BUILD/tests/mkcap" -o run.cap --pub pub script || exit 1

# On one CPU, so that the thread that shows progress does all.
cpu=$(sed -nE 's/^Cpus_allowed_list:[[:space:]]*([0-9]+).*/\1/p' /proc/self/status)
on_terminal() { # COMMAND: what the terminal shows
	TERM=xterm taskset -c "$cpu" script -qec "FAULTIO_FAST=1 LD_PRELOAD=$faultio $BUILD/$1" /dev/null 2>&1
}
shows() { # WHAT COMMAND
	on_terminal "$2" >shown.txt
	grep -qaE "$1 \\[#* *\\]  *[0-9]+ %(, [0-9]+ s left)?" shown.txt
}
# The line is erased before anything else is written: what is left is what a file would hold.
leaves() { # COMMAND
	"$BUILD"/$1 >plain.txt 2>/dev/null
	tr -d '\r' <shown.txt | sed 's/^.*\x1b\[K//' >left.txt
	cmp plain.txt left.txt
}
check "gpuverify shows how far it has come" shows verifying "gpuverify --trust pub run.cap"
check "and leaves nothing of it" leaves "gpuverify --trust pub run.cap"
check "with the time that is left" grep -qaE '[0-9]+ s left' shown.txt
check "gpuanalyze verifies" shows verifying "gpuanalyze --trust pub run.cap"
check "and analyses" shows analysing "gpuanalyze --trust pub run.cap"
check "gpuanalyze leaves nothing of it" leaves "gpuanalyze --trust pub run.cap"
check "--baseline, too" shows analysing "gpuanalyze --trust pub --baseline run.cap run.cap"
check "gpureplay --diff reads" shows reading "gpureplay --trust pub --diff run.cap run.cap"
check "gpureplay -o writes" shows writing "gpureplay --trust pub run.cap -o run.csv"
for tool in "gpuverify" "gpuanalyze" "gpureplay --diff run.cap"; do
	on_terminal "$tool -q --trust pub run.cap" >quiet.txt
	check "not with -q: $tool" sh -c '! grep -qa "\[#* *\]" quiet.txt'
	# shellcheck disable=SC2086 # words
	FAULTIO_FAST=1 LD_PRELOAD=$faultio "$BUILD"/$tool --trust pub run.cap >file.txt 2>&1
	check "nor in a file: $tool" sh -c '! grep -qa "\[#* *\]" file.txt'
done
finish
