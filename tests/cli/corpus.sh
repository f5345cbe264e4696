#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The scorer of the corpus can say no: a fault that is not found, a culprit that is not the right one, a magnitude that is
# off, and a finding of what nobody planted, each are told. And some captures that are made up get full marks.
. "$(dirname "$0")/lib.sh"
cd "$(dirname "$0")/../.." || exit 1
if ! command -v python3 >/dev/null; then
	skip "the scorer" "there is no python3"
	finish
fi
score() {
	python3 tests/tools/corpus.py score "$TMP/truth.json" "$TMP/report.json"
}
# truth FAULT...: the truth with these faults; the stalls of tests/rules/futex-stall/preempted-holder.txt are 38.97 ms
truth() {
	local IFS=,
	echo "{\"pid\": 200, \"accidents\": [${accidents:-}], \"faults\": [$*]}" >"$TMP/truth.json"
}
stall='{"fault": "stall-preempted", "pid": 200, "tid": 201, "count": 3, "magnitude": 39000000, "futex": "0x7f00000010c0", "waker": 202, "keeper": 203}'
"$BUILD/tests/mkcap" -o "$TMP/run.cap" --pub "$TMP/pub" tests/rules/futex-stall/preempted-holder.txt
"$BUILD/gpuanalyze" -q --trust "$TMP/pub" --json "$TMP/run.cap" >"$TMP/report.json"

truth "$stall"
check_exit 0 "what was planted and found is right" score
check_prints '^stall-preempted found attributed within' "and told so"
truth "${stall/\"keeper\": 203/\"keeper\": 204}"
check_exit 1 "another culprit is not the right one" score
check_prints 'NOT ATTRIBUTED' "and that is told"
truth "${stall/10c0/20c0}"
check_exit 1 "another futex is not found" score
check_prints '^stall-preempted MISSED' "and told as missed"
check_prints '^FALSE futex-stall' "and the one that was found is nobody's"
truth "${stall/39000000/60000000}"
check_exit 1 "a magnitude that is far off is told" score
check_prints 'OFF BY 35 %' "by how much"
truth "$stall" '{"fault": "leak", "pid": 200, "tid": 201, "count": 9, "magnitude": 1}'
check_exit 1 "one of two that is not found" score
check_prints '^leak MISSED' "is told"
truth
check_exit 1 "without a fault all that is found is false" score
accidents='{"tid": 201, "begin_ns": 1000300000000, "end_ns": 1000800000000}'
truth
check_exit 0 "but for what the program itself knows to have gone wrong" score

# report SCRIPT: what gpuanalyze says of that capture
report() {
	"$BUILD/tests/mkcap" -o "$TMP/run.cap" --pub "$TMP/pub" "$1" &&
		"$BUILD/gpuanalyze" -q --trust "$TMP/pub" --json "$TMP/run.cap" >"$TMP/report.json"
}
# moment PREFIX FIRST LAST: in milliseconds since the begin
moment() {
	echo "{$1\"begin_ns\": $((1000000 + $2))000000, \"end_ns\": $((1000000 + $3))000000}"
}
# What an accident added to a finding is no error of its magnitude; what nobody wrote down is.
sed '/^end/d' tests/rules/launch-latency/on-cpu.txt >"$TMP/spike.txt"
cat >>"$TMP/spike.txt" <<-'END'
	repeat 5 2ms launch at=+11ms pid=200 tid=202 cpu=1 dur=17us function=0x1000
	launch at=+709ms pid=200 tid=202 cpu=1 dur=9ms function=0x1000
	end command 0
END
spike="{\"fault\": \"spike\", \"pid\": 200, \"tid\": 201, \"count\": 3, \"magnitude\": 27000000, \"moments\": [$(moment '' 300 309),
	$(moment '' 400 409), $(moment '' 500 509)]}"
report "$TMP/spike.txt"
accidents=$(moment '"tid": 202, ' 700 709)
truth "$spike"
check_exit 0 "a slow launch by accident is none of those that were planted" score
check_prints '^spike found attributed within' "and their time is told without it"
accidents+=,$(moment '"tid": 201, ' 403 407)
truth "$spike"
check_exit 0 "an accident in the midst of what was planted leaves it found" score
check_prints '^spike found attributed not compared: accident' "but says nothing of its magnitude"
accidents=
truth "$spike"
check_exit 1 "a slow launch that nobody knows of is none either" score
check_prints 'OFF BY 33 %' "but that counts"

cat >"$TMP/gap.txt" <<-'END'
	start 1000s 1800000000s
	process at=+0s pid=200 start=999s ppid=1 tracked=1 name=driver
	exec at=+0s pid=200 tid=200
	thread at=+0s tid=200 pid=200 start=999s name=driver
	thread at=+0s tid=201 pid=200 start=999s name=feeder
	thread at=+0s tid=203 pid=200 start=999s name=hog
	repeat 400 1ms launch at=+10ms pid=200 tid=201 cpu=0 dur=17us function=0x1000
	switch at=+410ms cpu=0 prev_tid=201 prev_state=0 next_tid=203
	switch at=+440ms cpu=0 prev_tid=203 prev_state=0 next_tid=201
	repeat 100 1ms launch at=+441ms pid=200 tid=201 cpu=0 dur=17us function=0x1000
	switch at=+541ms cpu=0 prev_tid=201 prev_state=0 next_tid=203
	switch at=+571ms cpu=0 prev_tid=203 prev_state=0 next_tid=201
	repeat 300 1ms launch at=+572ms pid=200 tid=201 cpu=0 dur=17us function=0x1000
	switch at=+872ms cpu=0 prev_tid=201 prev_state=0 next_tid=900
	switch at=+892ms cpu=0 prev_tid=900 prev_state=0 next_tid=201
	repeat 100 1ms launch at=+893ms pid=200 tid=201 cpu=0 dur=17us function=0x1000
	end command 0
END
gap="{\"fault\": \"gap\", \"pid\": 200, \"tid\": 201, \"count\": 2, \"magnitude\": 60000000, \"keeper\": 203, \"moments\": [$(moment '' 409 441),
	$(moment '' 540 572)]}"
report "$TMP/gap.txt"
accidents=$(moment '"tid": 201, ' 873 893)
truth "$gap"
check_exit 0 "a gap by accident is none of those that were planted" score
check_prints '^gap found attributed within' "and theirs is told without it"
accidents=$(moment '"tid": 201, ' 1500 1520)
truth "$gap"
check_exit 1 "an accident at another time excuses nothing" score
check_prints 'OFF BY 33 %' "and what is too much is told"

check "captures that are made up are judged" python3 tests/tools/corpus.py synthetic "$TMP/synthetic.jsonl" 4
check "and rightly" test -z "$(python3 tests/tools/corpus.py show "$TMP/synthetic.jsonl")"
finish
