#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A damaged capture, read with --unverified: every output says how much of it could not be read, and none concludes
# anything about the program from that.
. "$(dirname "$0")/lib.sh"

here=$(cd "$(dirname "$0")/../.." && pwd) || exit 1
analyze=$BUILD/gpuanalyze
replay=$BUILD/gpureplay
cd "$TMP" || exit 1

# flip OFFSET FILE: the golden capture with one byte changed
flip() {
	cp "$here/tests/golden/demo.cap" "$2" && chmod u+w "$2" && flip_byte "$2" "$1"
}
flip 13568 first.cap && flip 80008 later.cap || exit 1
cp "$here/tests/golden/demo.cap" tail.cap && chmod u+w tail.cap && echo "not a capture" >>tail.cap || exit 1
whole=$("$replay" -q --trust "$here/tests/golden/demo.pub" "$here/tests/golden/demo.cap" --json | grep -c '^{"at"')

# said PATTERN FILE...: in each of them, whatever the format wraps or escapes
said() {
	local pattern=$1 file
	shift
	for file; do
		grep -aqE -- "$pattern" "$file" || { echo "not in $file:"; head -c 2000 "$file"; return 1; }
	done
}
never() {
	! grep -aiE 'No CUDA call|None was recorded|No (other )?problem was found|nothing lost' "$@"
}

# What gpuanalyze and gpureplay make of a capture, in every format.
outputs() { # NAME
	local form
	files=()
	for form in txt json sarif html; do
		"$analyze" -q --unverified --force --report="$1.report.$form" "$1.cap" 2>/dev/null
		[ $? -eq 1 ] || { echo "gpuanalyze: a $form of $1.cap"; return 1; }
		files+=("$1.report.$form")
	done
	for form in txt jsonl csv folded perfetto-trace otlp.json; do
		"$replay" -q --unverified --force -o "$1.$form" "$1.cap" 2>err
		[ $? -eq 1 ] || { echo "gpureplay: $1.$form"; cat err; return 1; }
		files+=("$1.$form")
	done
	"$replay" -q --unverified "$1.cap" >"$1.stdout" 2>"$1.stderr"
	"$replay" -q --unverified --json "$1.cap" >"$1.json.stdout" 2>/dev/null
	"$replay" -q --unverified --force -o "$1.db" "$1.cap" 2>/dev/null
	sqlite3 -readonly "$1.db" 'SELECT stopped FROM capture' >"$1.sql"
	files+=("$1.stdout" "$1.stderr" "$1.json.stdout" "$1.sql")
}

check "a capture damaged at its first chunk is read" outputs first
check "every output says that nothing could be read" said "0 of $whole events were read: the capture is damaged at byte [0-9]+" "${files[@]}"
check "none says that there was nothing to be read" never "${files[@]}"
check "the report concludes nothing" said 'Nothing can be concluded about the program: no call could be read' \
	first.report.txt first.report.html
check "it calls the table of calls unread" said 'None could be read\.' first.report.txt first.report.html
check "damage is an error, not a warning" said 'evidence error: unread' first.report.txt
check "a forged capture, too" said 'evidence error: unverified' first.report.txt
check_exit 1 "so that --fail-on error fails" "$analyze" -q --unverified --fail-on error first.cap

check "a capture damaged further on is read up to there" outputs later
check "every output says how many events were" said "[1-9][0-9]* of $whole events were read: the capture is damaged at byte [0-9]+" "${files[@]}"
read_rows=$(sed -nE 's/^([0-9]+) of .*/\1/p' later.sql)
check "as many as there are" [ "$(grep -c '^{"at"' later.json.stdout)" = "$read_rows" ]
check "all outputs with the same number" said "(^|[^0-9])$read_rows of $whole events" "${files[@]}"
check "none calls the run free of problems without saying so" said 'what could be read|Only [0-9]+ of' later.report.txt later.report.html

check "a capture with bytes behind its end is read" outputs tail
check "every output says that all before them was" said "(^|[^0-9])$whole events were read: the capture is damaged at byte [0-9]+" "${files[@]}"
check_exit 1 "two runs are not compared when one cannot be read" \
	"$replay" -q --unverified --diff "$here/tests/golden/demo.cap" first.cap
check_says "0 of $whole events were read" "and that says why"
check "nothing is printed as if they were" [ ! -s out ]
finish
