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
	python3 tests/corpus.py score "$TMP/truth.json" "$TMP/report.json"
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

check "captures that are made up are judged" python3 tests/corpus.py synthetic "$TMP/synthetic.jsonl" 4
check "and rightly" test -z "$(python3 tests/corpus.py show "$TMP/synthetic.jsonl")"
finish
