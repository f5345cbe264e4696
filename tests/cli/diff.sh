#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# gpureplay --diff: what changed between two runs, against captures whose difference is known.
. "$(dirname "$0")/lib.sh"

replay=$BUILD/gpureplay
cd "$TMP" || exit 1

# Twenty seconds of launches: how many, how long, and how long one in each second sleeps in a futex.
run_script() { # LAUNCHES DURATION HELD
	echo "start 500s 1790000000s"
	echo "process at=+0 pid=100 start=+0 tracked=1 name=trainer"
	echo "thread at=+0 tid=100 pid=100 start=+0 name=trainer"
	echo "thread at=+0 tid=101 pid=100 start=+0 name=tokenizer"
	local s
	for s in $(seq 0 19); do
		echo "repeat $1 1ms launch at=+$s.100s pid=100 tid=100 dur=$(($2 + s * 13 % 7))ns function=0xabc"
		echo "alloc at=+$s.600s pid=100 tid=100 dur=5us bytes=1M addr=0x1000 memory=1"
		echo "free at=+$s.601s pid=100 tid=100 dur=5us addr=0x1000 memory=1"
		echo "switch at=+$s.701s cpu=1 prev_tid=100 prev_state=1 next_tid=0"
		echo "waking at=+$s.709s cpu=0 tid=100 waker_tid=101"
		echo "switch at=+$s.710s cpu=1 prev_tid=0 next_tid=100"
		echo "futex at=+$s.711s pid=100 tid=100 dur=10500us op=0 addr=0x7fc0"
		echo "wait at=+$s.712s pid=100 tid=100 dur=12ms object=0xe"
		echo "epoch +$((s + 1))s"
	done
	[ "$3" = 0 ] || echo "alloc at=+20s pid=100 tid=100 dur=5us bytes=$3 addr=0x9000 memory=1"
	echo "epoch +21s"
	echo "end duration"
}
make_capture() { # NAME LAUNCHES DURATION HELD
	run_script "$2" "$3" "$4" >"$1.script"
	"$BUILD/tests/mkcap" -o "$1.cap" --pub "$1.pub" "$1.script"
}
make_capture a 50 10000 0 && make_capture same 50 10000 0 && make_capture slower 50 20000 0 && make_capture rarer 25 10000 3M || exit 1

compare() { # A B [OPTION...]
	local a=$1 b=$2
	shift 2
	"$replay" -v --trust a.pub --diff "$@" "$a.cap" "$b.cap"
}
part() { # FUNCTION OF: that function's lines
	sed -n "/  $1$/,/^[^ ]/p" "$2" | sed '1!{/^[^ ]/d}'
}
says() { # PATTERN FILE FUNCTION
	part "$3" "$2" | grep -qE "$1"
}

check_exit 0 "two captures are compared" compare a slower
compare a slower >slower.txt
summed() { # FILE: the sum at its beginning is that of its lines
	local more within short
	more=$(grep -c ': more than noise (' "$1") within=$(grep -c ': within noise (' "$1") short=$(grep -c ': too little data$' "$1")
	[ "$more" -gt 0 ] && [ "$short" -gt 0 ] && ! grep -q ': may be noise (' "$1" && sed -n 4p "$1" | grep -qxF \
		"$more of $((more + within + short)) metrics changed by more than noise; $short had too little data:"
}
check "what came of it stands first" summed slower.txt
bounded() { # FILE: noise is never called so without a bound
	! grep -E 'noise' "$1" | grep -vE 'noise \(±|noise is ±|by more than noise|^More than noise:'
}
check "noise is never called so without its bound" bounded slower.txt
check "a longer median is more than noise" says "median +10\.[0-9]* µs -> 20\.[0-9]* µs \(\+[0-9]+ %\): more than noise \(±5\.00 µs\)" slower.txt cudaLaunchKernel
check "an equal rate is not" says "rate +47\.6/s -> 47\.6/s \(\+0 %\): within noise \(±5/s\)" slower.txt cudaLaunchKernel
compare a same >same.txt
check_not_more() { grep -q "^None of [0-9]* metrics changed by more than noise" "$1" && ! grep -q ": more than noise" "$1"; }
check "of two equal runs nothing is more than noise" check_not_more same.txt
compare a rarer >rarer.txt
check "half the rate is more than noise" says "rate +47\.6/s -> 23\.8/s \(-50 %\): more than noise" rarer.txt cudaLaunchKernel
check "what is held at most, and at the end, is judged" [ "$(grep -cxE "  (memory held at most 1\.00 MiB -> 3\.00 MiB \(\+200 %\)|not freed 0 B -> 3\.00 MiB): (within|more than) noise \(±[0-9.]+ MiB\)" rarer.txt)" -eq 2 ]
# 20 waits of 12 ms: 8 ms in the futex, 1 ms until it ran; launches are 10 ms in sum.
check "time in calls is split as planted" [ "$(sed -n '/^Processes/,$p' rarer.txt | grep -E '^    ' | tr '\n' '|')" = \
	"    waiting for a CPU 8.0 % -> 8.2 %: within noise (±2.0 points)|    asleep in futexes 63.9 % -> 65.3 %: within noise (±15.0 points)|" ]
check "for each function, too" [ "$(part cudaStreamSynchronize rarer.txt | grep -E '^    ' | tr '\n' '|')" = \
	"    waiting for a CPU 8.3 % -> 8.3 %: within noise (±2.0 points)|    asleep in futexes 66.7 % -> 66.7 %: within noise (±2.0 points)|" ]
run_script 50 10000 0 | sed 's/ prev_state=1 / prev_state=2 prev_flags=1 /' >disk.script
"$BUILD/tests/mkcap" -o disk.cap --pub disk.pub disk.script || exit 1
compare a disk >disk.txt
check "another cause is more than noise" [ "$(sed -n '/^Processes/,$p' disk.txt | grep -E '^    asleep' | tr '\n' '|')" = \
	"    asleep in futexes 63.9 % -> 0.0 %: more than noise (±2.0 points)|    asleep for a block device 0.0 % -> 63.9 %: more than noise (±2.0 points)|" ]
run_script 50 10000 0 | sed 's/ prev_state=1 / prev_state=4 /' >stopped.script
"$BUILD/tests/mkcap" -o stopped.cap --pub stopped.pub stopped.script || exit 1
compare a stopped >stopped.txt
check "time stopped counts, too" [ "$(sed -n '/^Processes/,$p' stopped.txt | grep -E '^    asleep' | tr '\n' '|')" = \
	"    asleep in futexes 63.9 % -> 0.0 %: more than noise (±2.0 points)|    asleep in something else 0.0 % -> 63.9 %: more than noise (±2.0 points)|" ]
tail_script() { run_script 150 10000 0 | awk -v slow="$1" '/^epoch/ && $2 != "+21s" { n = substr($2, 2) - 1; print "repeat 5 1ms launch at=+" n ".300s pid=100 tid=100 dur=" slow } { print }'; }
tail_script 11us >even.script && tail_script 900us >tail.script
"$BUILD/tests/mkcap" -o even.cap --pub even.pub even.script && "$BUILD/tests/mkcap" -o tail.cap --pub tail.pub tail.script || exit 1
compare even tail >tail.txt
check "a few slow calls in each second show in the p99" says "p99 +11\.[0-9]* µs -> 900 µs \([0-9.]+ times\): more than noise" tail.txt cudaLaunchKernel
compare tail even >untail.txt
check "the other way round it is a part, and not -100 %" says "p99 +900 µs -> 11\.[0-9]* µs \(1/[78][0-9]\.[0-9]\): more than noise" untail.txt cudaLaunchKernel
check "and not in the median" says "median .*: within noise" tail.txt cudaLaunchKernel
check "of too few calls in a second no p99 is compared" says "p99 .*: too little data" slower.txt cudaLaunchKernel
run_script 50 10000 0 | sed '/^alloc/s/$/ stack=0/; s/^alloc at=+20.*//; $d' >leak.script
for s in 1 2 3; do echo "alloc at=+20.$s""s pid=100 tid=100 dur=5us bytes=1M addr=0x500$s memory=3"; done >>leak.script
echo "exit at=+20.9s pid=100 tid=100 last=1" >>leak.script
sed -i '/^epoch +21s/d' leak.script && echo "epoch +21s" >>leak.script
"$BUILD/tests/mkcap" -o leak.cap --pub leak.pub leak.script || exit 1
compare a leak >leak.txt
check "memory is told by kind, also what a process never gave back before it ended" \
	grep -qE "^    pinned 0 B -> 3\.00 MiB; not freed 0 B -> 3\.00 MiB$" leak.txt
run_script 50 10000 0 | sed 's/^epoch +[1-7]s$//; /^epoch +1[0-9]s/d' >short.script
"$BUILD/tests/mkcap" -o short.cap --pub short.pub short.script || exit 1
compare a short >short.txt
check "too few epochs are said to be too few" says "median .*: too little data" short.txt cudaLaunchKernel
run_script 50 10000 0 | sed 's/^wait /copy /; s/ object=0xe//' >copies.script
"$BUILD/tests/mkcap" -o copies.cap --pub copies.pub copies.script || exit 1
compare a copies >copies.txt
check "what only the first run has is named" grep -q "^trainer  cudaStreamSynchronize  only in A" copies.txt
check "what only the second has, too" grep -q "^trainer  cudaMemcpy  only in B" copies.txt
compare a rarer --json >rarer.json
check "and all of it as JSON" sh -c 'python3 -m json.tool <"$1" >/dev/null || sqlite3 :memory: "SELECT json(readfile(\"$1\"))" >/dev/null' sh rarer.json
check "with the same verdict" grep -q '"function":"cudaLaunchKernel","a":{"calls":1000,"failed":0,.*"b":{"calls":500,.*"rate":"more","median":"noise","p99":"too_short","slow":"noise"' rarer.json
check "memory by kind and causes" grep -qE '"process":"trainer","a":\{"peak_bytes":1048576,"held_bytes":0,"memory":\{"device":\{"peak_bytes":1048576,"held_bytes":0\}\},"in_calls_ns":[0-9]+,"waited_for_cpu_ns":[0-9]+,"futex_ns":160000000,.*"held":"noise","growth":"noise","unfreed":"more","slow":"noise","waited_for_cpu":"noise","futex":"noise","disk":"noise"' rarer.json
check "twice the same bytes" sh -c 'compare() { "$1" -v --trust a.pub --diff a.cap slower.cap; }; compare "$1" | cmp - slower.txt' sh "$replay"

# What an engineer asks: each planted fault is named on the first screen, and nothing else is.
# plant NAME AWK: 12 seconds with 50 launches and 50 frees each, changed by AWK; f is the second
plant() {
	{
		echo "start 500s 1790000000s"
		echo "process at=+0 pid=100 start=+0 tracked=1 name=trainer"
		echo "thread at=+0 tid=100 pid=100 start=+0 name=trainer"
		seq 0 11 | awk -v q="'" '{
			f = $1; launches = 50; wait = "10us"; growth = 0
			'"$2"'
			print "repeat " launches " 5ms launch at=+" f ".010s pid=100 tid=100 dur=" (10000 + f * 13 % 7) "ns function=0xabc"
			print "alloc at=+" f ".600s pid=100 tid=100 dur=5us bytes=4M addr=0x1000 memory=1"
			print "free at=+" f ".700s pid=100 tid=100 dur=5us addr=0x1000 memory=1"
			if (growth) print "alloc at=+" f ".800s pid=100 tid=100 dur=5us bytes=3M addr=0x9" f "000 memory=1"
			print "switch at=+" f ".9001s cpu=1 prev_tid=100 prev_state=1 next_tid=0"
			print "switch at=+" f ".900" (wait == "10us" ? "2" : "9") "s cpu=1 prev_tid=0 next_tid=100"
			print "futex at=+" f ".901s pid=100 tid=100 dur=1ms op=0 addr=0x7fc0"
			print "launch at=+" f ".950s pid=100 tid=100 dur=" wait " function=0xabc"
			print "epoch +" (f + 1) "s"
		}'
		echo "end duration"
	} >"$1.script"
	"$BUILD/tests/mkcap" -o "$1.cap" --pub "$1.pub" "$1.script"
}
plant clean '' && plant twice 'launches = 100' && plant leak 'growth = 1' && plant stall 'wait = "20ms"' &&
	plant seldom 'wait = f % 2 ? "20ms" : "10us"' || exit 1
changes() { # A B: the first screen's changes
	"$replay" -q --trust clean.pub --diff "$1.cap" "$2.cap" | sed -n '/ metrics changed by more than noise/,/^Calls/p' | grep '^  '
}
check "of two clean runs nothing changed" [ -z "$(changes clean clean)" ]
check "a doubled rate is the change" [ "$(changes clean twice)" = "  trainer  cudaLaunchKernel  rate 51/s -> 101/s (+98 %); noise is ±10.1/s" ]
check "the other way round, too" [ "$(changes twice clean)" = "  trainer  cudaLaunchKernel  rate 101/s -> 51/s (-50 %); noise is ±10.1/s" ]
check "a leak is: what is not freed, and how it grows" [ "$(changes clean leak | head -n 2 | sed 's/;.*//')" = "  trainer  memory not freed 0 B -> 36.0 MiB
  trainer  memory growth 0 B/s -> 3.00 MiB/s" ]
check "slow calls are" [ "$(changes clean stall | grep -c 'trainer  cudaLaunchKernel  slow calls (over 1.00 ms) 0/min -> 60/min')" -eq 1 ]
check "half as many might be chance, which is said" [ "$(changes clean seldom | grep -c 'trainer  cudaLaunchKernel  slow calls (over 1.00 ms) 0/min -> 30/min')" -eq 1 ]
"$replay" -q --trust clean.pub --diff clean.cap seldom.cap >seldom.txt
check "in so many words" grep -q '^Changes that may be noise (once in 20 to 500 such pairs of runs); longer runs would show which:$' seldom.txt
check "and no all-clear is given for them" sh -c '! grep "over 1.00 ms.*within noise" seldom.txt'
check "without -v the calls that did not change are not listed" [ "$("$replay" -q --trust clean.pub --diff clean.cap twice.cap | sed -n '/^Calls/,/^Processes/p' | grep -c '^trainer')" -eq 1 ]
check "with it all are" [ "$("$replay" -v --trust clean.pub --diff clean.cap twice.cap | sed -n '/^Calls/,/^Processes/p' | grep -c '^trainer')" -eq 3 ]

# For scripts.
check_exit 0 "--exit-code: no change is 0" "$replay" -q --trust clean.pub --diff --exit-code clean.cap clean.cap
check_exit 1 "a change is 1" "$replay" -q --trust clean.pub --diff --exit-code clean.cap twice.cap
check_exit 1 "as JSON, too" "$replay" -q --json --trust clean.pub --diff --exit-code clean.cap twice.cap
check_exit 0 "without the option a change is no failure" "$replay" -q --trust clean.pub --diff clean.cap twice.cap
sed 's/^epoch +[1-9]s$//; s/^epoch +1[01]s//' clean.script >brief.script
"$BUILD/tests/mkcap" -o brief.cap --pub brief.pub brief.script || exit 1
check_exit 3 "where nothing can be concluded it is 3" "$replay" -q --trust clean.pub --diff --exit-code clean.cap brief.cap
check_says 'too little data to compare' "which is said"
check_prints '^Nothing can be concluded: there is too little data for any of [0-9]+ comparisons\.$' "also on standard output"
check_exit 2 "--exit-code without --diff is a usage error" "$replay" --exit-code clean.cap
check_exit 2 "one capture is too few" "$replay" --diff a.cap
check_says "--diff compares two captures: 1 was named" "and it is said"
check_exit 2 "three are too many" "$replay" --diff a.cap a.cap a.cap
check_exit 2 "-o does not go with it" "$replay" --diff a.cap a.cap -o x.txt
check_exit 1 "an untrusted capture is refused" "$replay" -q --diff a.cap a.cap
printf 'x' | dd of=same.cap bs=1 seek=9000 conv=notrunc status=none
check_exit 1 "a forged one, too" compare a same
finish
