#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What the report says of programs of runtimes that we did not write: a small part of the exam of docs/ACCURACY.md. And
# who judges it can say no.
# records: each checks only what it started itself
. "$(dirname "$0")/lib.sh"
cd "$(dirname "$0")/../.." || exit 1
exam=tests/tools/exam.py

if ! command -v python3 >"$TMP/out" || ! command -v "${CC:-cc}" >"$TMP/out"; then
	skip "the exam" "there is no python3, or no C compiler here"
	finish
fi

# --- who judges: of a capture that is made up, in which 201 waits for 300, which is at work ---
"$BUILD/tests/mkcap" -o "$TMP/run.cap" --pub "$TMP/pub" tests/rules/starved/loader.txt
"$BUILD/gpuanalyze" -q --trust "$TMP/pub" --json "$TMP/run.cap" >"$TMP/report.json"
"$BUILD/gpureplay" -q --trust "$TMP/pub" "$TMP/run.cap" -o "$TMP/run.db"
# judged TRUTH: "right_ns lost_ns verdict..."
judged() {
	echo "{\"feeder\": 201, \"cpu_wait_ns\": 0, $1}" >"$TMP/truth.json"
	python3 "$exam" judge "$TMP/truth.json" "$TMP/run.db" "$TMP/report.json" >"$TMP/judged.json" &&
		sqlite3 :memory: "SELECT j ->> 'right_ns' || ' ' || (j ->> 'lost_ns') || ' ' || group_concat(f.value ->> 'verdict', ' ')
			FROM (SELECT CAST(readfile('$TMP/judged.json') AS TEXT) AS j), json_each(j, '\$.findings') f"
}
lost='"lost_ns": 100000000'
check "who is named rightly, and what it did, is right" test "$(judged "$lost, \"to\": [300], \"did\": \"on-cpu\"")" = "99940000 99940000 right"
check "another one is wrong" test "$(judged "$lost, \"to\": [301], \"did\": \"on-cpu\"")" = "0 99940000 wrong"
check "and so is something else that it did" test "$(judged "$lost, \"to\": [300], \"did\": \"io\"")" = "0 99940000 wrong"
check "of a decoy all is wrong" test "$(judged '"nothing": 1')" = "0 0 wrong"
check "a quota is none of it" test "$(judged "$lost, \"part\": \"quota\"")" = "0 100000000 wrong"

# --- programs that are recorded ---
needs_recording "what is found of programs of several runtimes"
ways="openmp.barrier python.gil_bytecode python.mp_pool python.program_output python.steady python.stopped_itself waits.select_limit_60"
sit() {
	# shellcheck disable=SC2086 # words
	python3 "$exam" run 1 "$TMP/exam.jsonl" $ways && python3 "$exam" table "$TMP/exam.jsonl" && [ "$(grep -c '"way"' "$TMP/exam.jsonl")" = 7 ]
}
nothing_wrong() {
	python3 "$exam" show 50 "$TMP/exam.jsonl" >"$TMP/wrong"
	cat "$TMP/wrong"
	[ ! -s "$TMP/wrong" ]
}
check "programs of Python and OpenMP are recorded and judged" sit
check "the ledger adds up, who kept them waiting is found, and nobody else" nothing_wrong
finish
