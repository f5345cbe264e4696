#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# gpuanalyze --baseline: what changed between two runs. PAIRS pairs of clean runs, whose background noise differs: no
# finding is new; and PAIRS pairs with one planted change: it is found, and stands first.
. "$(dirname "$0")/lib.sh"

analyze=$BUILD/gpuanalyze
case $BUILD in */asan) PAIRS=${PAIRS:-10} ;; *) PAIRS=${PAIRS:-100} ;; esac
cd "$TMP" || exit 1

# run_script SEED PLANT: 12 seconds of a trainer. Launches take about 10 us; now and then one waits in a futex for
# 5 to 15 ms, at random, which is noise. PLANT: none stall leak error rate slow tail
run_script() {
	awk -v seed="$1" -v plant="$2" '
	function stall(at, ms) { # of thread 201, in a futex, woken by 202
		printf "switch at=+%.6fs cpu=0 prev_tid=201 prev_state=1 next_tid=0\n", at + 0.00001
		printf "waking at=+%.6fs cpu=1 tid=201 waker_tid=202\n", at + ms / 1000
		printf "switch at=+%.6fs cpu=0 prev_tid=0 next_tid=201\n", at + ms / 1000 + 0.00001
		printf "futex at=+%.6fs pid=200 tid=201 cpu=0 dur=%dus op=0 addr=0x7f00000010c0 val=2\n", at + ms / 1000 + 0.00002, ms * 1000 + 18
		printf "launch at=+%.6fs pid=200 tid=201 cpu=0 dur=%dus function=0x1000\n", at + ms / 1000 + 0.0001, ms * 1000 + 100
	}
	BEGIN {
		srand(seed)
		print "start 500s 1790000000s"
		print "process at=+0 pid=200 start=1s tracked=1 name=trainer"
		print "thread at=+0 tid=201 pid=200 start=1s name=trainer"
		print "thread at=+0 tid=202 pid=200 start=1s name=tokenizer"
		print "module at=+0 id=1 device=1 inode=2 path=/opt/app/trainer"
		print "frame at=+0 stack=7 depth=0 address=0x401030 module=1 offset=0x1030 symbol=keep+0x30"
		print "frame at=+0 stack=8 depth=0 address=0x402030 module=1 offset=0x2030 symbol=step+0x30"
		for (s = 0; s < 12; s++) {
			n = 110 + int(rand() * 9)
			for (i = 0; i < n * (plant == "rate" ? 2 : 1); i++)
				printf "launch at=+%.6fs pid=200 tid=201 cpu=0 dur=%dns function=0x1000\n", s + 0.01 + i * 0.0015,
					(plant == "slow" ? 25000 : 9000) + rand() * 2000 + (plant == "tail" && i % 25 == 3 ? 800000 : 0)
			printf "repeat 9 10ms alloc at=+%d.5s pid=200 tid=201 dur=5us bytes=1M addr=0x100000000~0x100000 memory=1 stack=8\n", s
			printf "repeat 9 10ms free at=+%d.505s pid=200 tid=201 dur=5us addr=0x100000000~0x100000 memory=1\n", s
			if (plant == "leak")
				printf "repeat 30 2ms alloc at=+%d.601s pid=200 tid=201 dur=5us bytes=128K addr=0x%d00000000~0x100000 memory=1 stack=7\n", s, s + 2
			if (rand() < 0.15)
				stall(s + 0.7 + rand() * 0.1, 5 + rand() * 10)
			if (plant == "stall") {
				stall(s + 0.85, 20 + rand() * 10)
				stall(s + 0.95, 20 + rand() * 10)
			}
			if (plant == "error" && s == 7)
				print "copy at=+7.99s pid=200 tid=201 dur=5us bytes=1M ret=1"
			print "epoch +" (s + 1) "s"
		}
		print "end duration"
	}'
}
capture() { # NAME SEED PLANT
	run_script "$2" "$3" | "$BUILD/tests/mkcap" -o "$1.cap" --pub pub
}
compare() { # A B [OPTION...]
	"$analyze" -q --trust pub --baseline "$1.cap" "$2.cap" "${@:3}"
}

# As many clean runs as give PAIRS pairs, each with each.
runs=2
while [ $((runs * (runs - 1))) -lt "$PAIRS" ]; do runs=$((runs + 1)); done
for i in $(seq "$runs"); do
	capture "clean$i" "$i" none || exit 1
done
new=0 pairs=0
for i in $(seq "$runs"); do
	for k in $(seq "$runs"); do
		if [ "$i" -eq "$k" ] || [ "$pairs" -ge "$PAIRS" ]; then continue; fi
		pairs=$((pairs + 1))
		compare "clean$i" "clean$k" >out || { echo "# clean$i and clean$k: cannot be compared"; new=$((new + 1)); continue; }
		grep -q '^Findings, B against A: 0 new, 0 worse, 0 gone, 0 better,' out && continue
		new=$((new + 1))
		sed 's/^/# /' out
	done
done
check "of $pairs pairs of clean runs none has a finding that is new, worse, gone or better" [ "$new" -eq 0 ]

# How the first line about a planted change begins: among the numbers, and among the findings.
first_number() {
	case $1 in
	stall) echo '  trainer  (cudaLaunchKernel  )?(slow calls|asleep in futexes|p99) ' ;;
	leak) echo '  trainer  memory (not freed 0 B|growth|held)' ;;
	rate) echo '  trainer  cudaLaunchKernel  rate ' ;;
	slow) echo '  trainer  cudaLaunchKernel  median ' ;;
	tail) echo '  trainer  cudaLaunchKernel  p99 ' ;;
	esac
}
first_finding() {
	case $1 in
	stall) echo '  (new|worse) +(warning|error) +(launch-latency|futex-stall): ' ;;
	leak) echo '  new      error    alloc-leak: keep ' ;;
	error) echo '  new      (warning|error) +failed-call: ' ;;
	esac
}
found() { # PLANT FILE
	local number finding
	number=$(first_number "$1") finding=$(first_finding "$1")
	[ -z "$number" ] || sed -n '/ metrics changed by more than noise/{n;p;}' "$2" | grep -qE "^$number" || return 1
	[ -z "$finding" ] || sed -n '/^Findings,/{n;p;}' "$2" | grep -qE "^$finding"
}
plants='stall leak error rate slow tail'
missed=0 pairs=0
for seed in $(seq 101 $((100 + (PAIRS + 5) / 6))); do
	for plant in $plants; do
		[ "$pairs" -lt "$PAIRS" ] || continue
		pairs=$((pairs + 1))
		clean=clean$((pairs % runs + 1))
		capture "$plant" "$seed" "$plant" || exit 1
		compare "$clean" "$plant" >out && found "$plant" out && continue
		missed=$((missed + 1))
		echo "# $plant, seed $seed, against $clean"
		sed 's/^/# /' out
	done
done
check "of $pairs pairs with one planted change each has it first" [ "$missed" -eq 0 ]

capture leak 101 leak && capture stall 101 stall && capture error 101 error && capture rate 101 rate || exit 1
compare clean1 leak >leak.txt
check "both captures are named first" [ "$(sed -n '1,2s/ .*//p' leak.txt | tr '\n' ' ')" = "A B " ]
check "a growth has its bound" grep -qE '^ +0 B/s -> 3\.[0-9]+ MiB/s; noise is ±[0-9.]+ KiB/s$' leak.txt
compare leak clean1 >gone.txt
check "the other way round the finding is gone" grep -qE '^  gone     error    alloc-leak: keep ' gone.txt
compare stall stall >same.txt
check "of a run against itself nothing changed" grep -qE '^Findings, B against A: 0 new, 0 worse, 0 gone, 0 better, 0 that may be chance, [1-9][0-9]* unchanged$' same.txt
check "what did not change is not listed" [ "$(sed -n '/^Findings,/,$p' same.txt | wc -l)" -eq 1 ]
compare stall stall -v >same.txt
check "but with -v" grep -q '^  same ' same.txt
quiet() { run_script 101 none | grep -v '^switch\|^waking\|^futex\|dur=[0-9]*[0-9][0-9][0-9][0-9]us'; }
quiet | sed 's/^epoch +12s$/launch at=+11.99s pid=200 tid=201 dur=60ms function=0x1000\n&/' >once.script
"$BUILD/tests/mkcap" -o once.cap --pub pub once.script || exit 1
quiet | "$BUILD/tests/mkcap" -o quiet.cap --pub pub || exit 1
compare quiet once >once.txt
check "a single slow call may be chance" grep -qE '^  unsure   warning +launch-latency: .*' once.txt

# For scripts.
check_exit 0 "without an option a change is no failure" compare clean1 leak
check_exit 1 "--exit-code: a change is 1" compare clean1 leak --exit-code
check_exit 0 "none is 0" compare clean1 clean1 --exit-code
check_exit 1 "--fail-on: a new error is 1" compare clean1 leak --fail-on error
check_exit 0 "one that is gone is 0" compare leak clean1 --fail-on error
check_exit 0 "one that both have is 0" compare leak leak --fail-on info
quiet | sed 's/^epoch +[0-9]*s$//' | "$BUILD/tests/mkcap" -o brief.cap --pub pub || exit 1
check_exit 3 "where nothing can be concluded it is 3" compare quiet brief --exit-code
check_says 'too little data to compare' "which is said"
compare clean1 leak --json >leak.json
json() { # EXPRESSION
	[ "$(sqlite3 :memory: "SELECT $1 FROM (SELECT CAST(readfile('leak.json') AS TEXT) AS j)")" = "$2" ]
}
check "JSON: the format" json "j ->> '\$.format' || ' ' || (j ->> '\$.version')" "gpurec-baseline 1"
check "JSON: the finding" json "j ->> '\$.findings[0].outcome' || ' ' || (j ->> '\$.findings[0].rule') || ' ' || (j ->> '\$.findings[0].b.count') || ' ' || (j ->> '\$.findings[0].measure')" "new alloc-leak 360 bytes_per_s"
check "JSON: nothing of the first run" json "j -> '\$.findings[0].a'" null
check "JSON: the numbers of gpureplay --diff" sh -c '"$1/gpureplay" -q --trust pub --diff --json clean1.cap leak.cap >diff.json && sqlite3 :memory: "SELECT json(j -> '"'\$.diff'"') = json(CAST(readfile('"'diff.json'"') AS TEXT)) FROM (SELECT CAST(readfile('"'leak.json'"') AS TEXT) AS j)" | grep -qx 1' sh "$BUILD"
check "it can be a file" compare clean1 leak -o out.json
check "with the same bytes" cmp out.json leak.json
check "text, too" compare clean1 leak -o out.txt
check "likewise" cmp out.txt leak.txt
check_exit 2 "no page" compare clean1 leak -o out.html
check_exit 2 "two captures are one too many" "$analyze" --baseline clean1.cap leak.cap leak.cap
check_exit 2 "--exit-code needs --baseline" "$analyze" --exit-code leak.cap
check_exit 1 "an untrusted baseline is refused" "$analyze" -q --baseline clean1.cap leak.cap
check_exit 3 "one that is not there, too" compare nowhere leak
finish
