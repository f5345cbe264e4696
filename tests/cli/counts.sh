#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# One capture with every kind of event that format/kinds.h has, hostile bytes in each of its texts: the same number of
# events by kind in every format, and no harm in any. The capture is made from the list itself, so that a kind that is
# added there cannot be forgotten here.
. "$(dirname "$0")/lib.sh"

here=$(cd "$(dirname "$0")/.." && pwd)
replay=$BUILD/gpureplay
mkcap=$BUILD/tests/mkcap
cd "$TMP" || exit 1

# id, name, flags of each kind; kind, field, encoding of each field. Calls have those of CALL_FIELDS, too.
sed -n 's/^\tK(\([0-9]*\), \([a-z_]*\), [a-z]*, \([A-Z]*\)).*/\1 \2 \3/p' "$here/../format/kinds.h" >kinds
sed -n 's/^\tF(\([a-z_]*\), \([a-z_0-9]*\), \([A-Z]*\), .*/\1 \2 \3/p' "$here/../format/kinds.h" >fields
check "the list of kinds could be read" [ "$(grep -cE '^(1 launch CALL|16 switch COUNTED|48 fact PLAIN)$' kinds)" -eq 3 ]

# A formula, escape sequences, markup, what is no UTF-8, what turns text round, separators of every format.
hostile='=cmd|'"'"'/C calc'"'"'!A0,\"x\";y\x1b[2J\x1b]0;own\x07</script>\xff\xc0\xe2\x80\xae\n\x0d\t \\x41 12\n'
HOSTILE=$hostile awk '
	FILENAME == "fields" { has[$1, $2] = 1; if ($3 == "TEXT") texts[$1] = texts[$1] " " $2 "=\"" ENVIRON["HOSTILE"] "\""; next }
	$3 != "PLAIN" { print "probe", ++nprobes, "probe_of_" $2, $2 }
	{ kinds[++n] = $2; call[$2] = $3 == "CALL"; want[$2] = n % 3 + 1 }
	END {
		print "start 500s 1790000000s"
		for (i = 1; i <= n; i++) {
			k = kinds[i]
			row = "repeat " want[k] " 1ms " k " at=+" 100 + 10 * i "ms"
			if (call[k] || has[k, "pid"]) row = row " pid=100"
			if (call[k] || has[k, "tid"]) row = row " tid=101"
			if (call[k] || has[k, "dur"]) row = row " dur=5us"
			if (k == "switch") row = row " prev_tid=101 next_tid=102"
			if (k == "waking") row = row " waker_tid=102"
			if (k == "health") row = row " known=4094 busy_percent=50 memory_used=1M power_mw=250000"
			print row texts[k]
			print k, want[k] >"want.unsorted"
		}
		print "epoch +1s"
		print "end command 0"
	}' fields kinds >run.script
sort want.unsorted >want
"$mkcap" -o run.cap --pub run.pub run.script || exit 1
mkdir -p "$GPUREC_HOME/trust" && chmod 700 "$GPUREC_HOME" "$GPUREC_HOME/trust" && cp run.pub "$GPUREC_HOME/trust/lab.pub" || exit 1

formats="txt jsonl csv db perfetto-trace trace.json otlp.json folded alloc.folded perf.txt"
write_all() {
	local suffix
	for suffix in $formats; do
		"$replay" -q run.cap -o "run.$suffix" || { echo "$suffix"; return 1; }
	done
}
check "a capture with every kind is written in every format" write_all
check "it verifies" "$BUILD/gpuverify" -q run.cap

sum_up() { sort | uniq -c | awk '{ print $2, $1 }'; }
of_kinds() { awk 'NR == FNR { kind[$2]; next } $1 in kind' kinds - | sort; }
sql() { sqlite3 :memory: "$@"; }
in_jsonl() { sed -n 's/^{"at":[0-9]*,"kind":"\([a-z_]*\)".*/\1/p' run.jsonl | sum_up; }
in_text() {
	local kind n
	while read -r _ kind _; do
		n=$("$replay" -q --kind "$kind" run.cap | grep -vc '^#')
		[ "$n" -eq 0 ] || echo "$kind $n"
	done <kinds | sort
}
in_csv() { sql ".import --csv run.csv t" "SELECT kind || ' ' || count(*) FROM t GROUP BY kind" | of_kinds; }
in_db() { sqlite3 run.db "SELECT name || ' ' || rows FROM kind_counts WHERE rows > 0" | sort; }
in_chrome() { sql "SELECT value ->> 'cat' || ' ' || count(*) FROM json_each(CAST(readfile('run.trace.json') AS TEXT), '\$.traceEvents') GROUP BY value ->> 'cat'" | of_kinds; }
in_perf() { sed -n 's/.* [0-9.]*: gpurec:\([a-z_]*\): .*/\1/p; s/.* [0-9.]*: sched:sched_\([a-z]*\): .*/\1/p' run.perf.txt | sum_up; }
in_perfetto() {
	protoc -I "$here" --decode=Trace perfetto.proto <run.perfetto-trace >run.words && awk '
		/^    event_categories/ { list = 1 } /^    (event_names|debug_annotation_names)/ { list = 0 }
		list && /^      iid:/ { iid = $2 } list && /^      name:/ { gsub(/"/, "", $2); name[iid] = $2 }
		/^    category_iids:/ { n[name[$2]]++ }
		/^      sched_switch/ { n["switch"]++ } /^      sched_waking/ { n["waking"]++ }
		END { for (k in n) print k, n[k] }' run.words | sort
}
same() { "$1" >got && diff want got; }
check "lines of JSON have each event" same in_jsonl
check "text has the same counts" same in_text
check "so has CSV" same in_csv
check "the database" same in_db
check "the Chrome trace" same in_chrome
check "and what perf script prints" same in_perf
if command -v protoc >/dev/null; then
	check "the Perfetto trace, too" same in_perfetto
	check "protoc knows every field of it" sh -c '! grep -qE "^ *[0-9]+( \{|:)" run.words'
else
	skip "the Perfetto trace, too" "there is no protoc here"
fi
if [ -e "$BUILD/gpucap.so" ]; then
	in_module() { sqlite3 :memory: ".load $BUILD/gpucap" "SELECT gpucap_open('run.cap')" "SELECT name || ' ' || rows FROM kind_counts WHERE rows > 0" | grep ' [0-9]*$' | sort; }
	check "and the SQLite module, without a copy" same in_module
fi
spans() { # those with a duration
	grep -o '"key":"gpurec.kind","value":{"stringValue":"[a-z_]*"' run.otlp.json | cut -d'"' -f10 | sum_up >got
	diff <(awk 'FILENAME == "kinds" { if ($3 == "CALL") call[$2]; next } $1 in call || $1 == "futex" || $1 == "fault"' kinds want) got
}
check "OpenTelemetry has a span for each call, futex call and page fault" spans
time_of_calls() { awk '{ sum += $NF } END { print sum }' run.folded; }
check "folded stacks have the time of all calls" [ "$(time_of_calls)" = "$(awk 'FILENAME == "kinds" { if ($3 == "CALL") call[$2]; next }
	$1 in call { sum += 5000 * $2 } END { print sum }' kinds want)" ]
same_after_filter() {
	"$replay" -q --where 'dur=5us or not dur=5us' --json run.cap | sed -n 's/^{"at":[0-9]*,"kind":"\([a-z_]*\)".*/\1/p' | sum_up | diff want -
}
check "a condition and its contrary leave nothing out" same_after_filter

# Harm. What may stand in a line of text is letters, signs and line feeds: nothing that moves a cursor, hides or turns.
no_raw() { ! LC_ALL=C grep -qP '[\x00-\x08\x0b-\x1f\x7f]|\xff|\xc0|\xe2\x80\xae' "$1"; }
for suffix in txt jsonl csv trace.json otlp.json folded alloc.folded perf.txt; do
	check "nothing in $suffix could move a cursor, hide or deceive" no_raw "run.$suffix"
done
if [ -s run.words ]; then # in which protoc shows such bytes in octal
	check "nor in a text of the Perfetto trace" sh -c '! grep -qE "\\\\(0[0-3][0-7]|177|377|300|342.200.256|n|r|t)" run.words'
fi
check "no tab breaks a line of text" sh -c '! grep -q "	" run.txt'
{ echo '['; sed '$!s/$/,/' run.jsonl; echo ']'; } >lines.json
check "each line of JSON is JSON" [ "$(sql "SELECT json_valid(CAST(readfile('lines.json') AS TEXT))")" = 1 ]
{ echo '['; sed '$!s/$/,/' run.otlp.json; echo ']'; } >lines.json
check "each line of OTLP, too" [ "$(sql "SELECT json_valid(CAST(readfile('lines.json') AS TEXT))")" = 1 ]
check "the Chrome trace is JSON" [ "$(sql "SELECT json_valid(CAST(readfile('run.trace.json') AS TEXT))")" = 1 ]
check "a row of CSV is a line" [ "$(wc -l <run.csv)" -eq "$(sql ".import --csv run.csv t" "SELECT count(*) + 1 FROM t")" ]
no_formula() {
	local kind
	while read -r _ kind _; do
		"$replay" -q --kind "$kind" --force run.cap -o one.csv && sql ".import --csv one.csv t" ".mode csv" "SELECT * FROM t" |
			grep -qE '(^|,)"*[=@]' && { echo "$kind"; return 1; }
	done <kinds
	! sql ".import --csv run.csv t" ".mode csv" "SELECT * FROM t" | grep -E '(^|,)"*[=@]'
}
check "no cell of CSV is a formula, whichever kind" no_formula
check "each folded stack is a stack and a number" sh -c '! cat run.folded run.alloc.folded | grep -qvE "^[^;]+(;[^;]+)+ [0-9]+$"'
check "lines of text are as many as events" [ "$(grep -vc '^#' run.txt)" -eq "$(awk '{ n += $2 } END { print n }' want)" ]
check "each begins with its time" sh -c '! grep -vE "^(#|\+[0-9]+\.[0-9]{9} )" run.txt'
cat >shown <<'END'
=cmd|'/C calc'!A0,"x";y\x1b[2J\x1b]0;own\x07</script>\xff\xc0\u{202e}\x0a\x0d\x09 \\x41 12\x0a
END
check "the database has texts in a form that can be turned back" [ "$(sqlite3 run.db "SELECT count(*) FROM facts WHERE
	value = name AND name || char(10) = CAST(readfile('shown') AS TEXT)")" = "$(awk '$1 == "fact" { print $2 }' want)" ]
finish
