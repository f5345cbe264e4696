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
		print "epoch +250ms\nepoch +1s"
		print "end command 0"
	}' fields kinds >run.script
sort want.unsorted >want
"$mkcap" -o run.cap --pub run.pub run.script || exit 1
mkdir -p "$GPUREC_HOME/trust" && chmod 700 "$GPUREC_HOME" "$GPUREC_HOME/trust" && cp run.pub "$GPUREC_HOME/trust/lab.pub" || exit 1

formats="txt jsonl csv db perfetto-trace otlp.json folded alloc.folded"
write_all() { # NAME
	local suffix
	for suffix in $formats; do
		"$replay" -q "$1.cap" -o "$1.$suffix" || { echo "$suffix"; return 1; }
	done
}
check "a capture with every kind is written in every format" write_all run
check "it verifies" "$BUILD/gpuverify" -q run.cap

sum_up() { sort | uniq -c | awk '{ print $2, $1 }'; }
of_kinds() { awk 'NR == FNR { kind[$2]; next } $1 in kind' kinds - | sort; }
sql() { sqlite3 :memory: "$@"; }
in_jsonl() { sed -n 's/^{"at":[0-9]*,"kind":"\([a-z_]*\)".*/\1/p' "$1.jsonl" | sum_up; }
in_text() {
	local kind n
	while read -r _ kind _; do
		n=$("$replay" -q --kind "$kind" "$1.cap" | grep -vc '^#')
		[ "$n" -eq 0 ] || echo "$kind $n"
	done <kinds | sort
}
in_csv() { sql ".import --csv $1.csv t" "SELECT kind || ' ' || count(*) FROM t GROUP BY kind" | of_kinds; }
in_db() { sqlite3 "$1.db" "SELECT name || ' ' || rows FROM kind_counts WHERE rows > 0" | sort; }
in_perfetto() {
	protoc -I "$here/schemas" --decode=Trace perfetto.proto <"$1.perfetto-trace" >"$1.words" && awk '
		/^    event_categories/ { list = 1 } /^    (event_names|debug_annotation_names)/ { list = 0 }
		list && /^      iid:/ { iid = $2 } list && /^      name:/ { gsub(/"/, "", $2); name[iid] = $2 }
		/^    category_iids:/ { n[name[$2]]++ }
		/^      sched_switch/ { n["switch"]++ } /^      sched_waking/ { n["waking"]++ }
		END { for (k in n) print k, n[k] }' "$1.words" | sort
}
# Where the module is built with a sanitizer, that has to be there before all else.
sanitizer=$(ldd "$BUILD/gpucap.so" | awk '/lib[at]san|libubsan/ { print $3 }' | paste -sd:)
in_module() {
	LD_PRELOAD=$sanitizer sqlite3 -bail :memory: ".load $BUILD/gpucap" ".output opened" "SELECT gpucap_open('$1.cap')" \
		".output" "SELECT name || ' ' || rows FROM kind_counts WHERE rows > 0" | sort
}
same() { # WAY [NAME]
	"$1" "${2:-run}" >got && diff want got
}
check "lines of JSON have each event" same in_jsonl
check "text has the same counts" same in_text
check "so has CSV" same in_csv
check "the database" same in_db
if command -v protoc >/dev/null; then
	check "the Perfetto trace, too" same in_perfetto
	check "protoc knows every field of it" sh -c '! grep -qE "^ *[0-9]+( \{|:)" run.words'
else
	skip "the Perfetto trace, too" "there is no protoc here"
fi
check "and the SQLite module, without a copy" same in_module
spans() { # those with a duration
	grep -o '"key":"gpurec.kind","value":{"stringValue":"[a-z_]*"' run.otlp.json | cut -d'"' -f10 | sum_up >got
	diff <(awk 'FILENAME == "kinds" { if ($3 == "CALL") call[$2]; next } $1 in call || $1 == "futex" || $1 == "fault" || $1 == "reclaim"' kinds want) got
}
check "OpenTelemetry has a span for each call, futex call, page fault and reclaim" spans
time_of_calls() { awk '{ sum += $NF } END { print sum }' run.folded; }
check "folded stacks have the time of all calls" [ "$(time_of_calls)" = "$(awk 'FILENAME == "kinds" { if ($3 == "CALL") call[$2]; next }
	$1 in call { sum += 5000 * $2 } END { print sum }' kinds want)" ]
same_after_filter() {
	"$replay" -q --where 'dur=5us or not dur=5us' --json run.cap | sed -n 's/^{"at":[0-9]*,"kind":"\([a-z_]*\)".*/\1/p' | sum_up | diff want -
}
check "a condition and its contrary leave nothing out" same_after_filter

# Captures of which a part is missing: as many events of each kind in all ways, and each says what it is.
sed '/^end /d' run.script >cut.script
"$mkcap" -o cut.cap --no-end cut.script && "$mkcap" --narrow run.cap --withhold process,host -o redacted.cap >/dev/null &&
	"$mkcap" --narrow run.cap --to 500250ms -o slice.cap >/dev/null || exit 1
cp want want.all
whole_or_not() { # NAME WORD
	local suffix way
	write_all "$1" || return 1
	in_jsonl "$1" >want
	[ -s want ] || return 1
	for way in in_text in_csv in_db in_module $(command -v protoc >/dev/null && echo in_perfetto); do
		same "$way" "$1" || { echo "$way"; return 1; }
	done
	for suffix in $formats; do
		grep -qa "$2" "$1.$suffix" || { echo "$suffix does not say $2"; return 1; }
	done
}
check "an unsealed capture works in every way and says so" whole_or_not cut UNSEALED
check "with all that was sealed" diff want want.all
check "so does a redacted one" whole_or_not redacted OK-REDACTED
check "without what was withheld" [ "$(grep -cE '^(process|thread|namespaces|fact|gpu|xid) ' want)" -eq 0 ]
check "and a slice" whole_or_not slice OK-SLICE
check "which has fewer events" [ "$(wc -l <want)" -lt "$(wc -l <want.all)" ]
cp want.all want

# Harm. What may stand in a line of text is letters, signs and line feeds: nothing that moves a cursor, hides or turns.
no_raw() { ! LC_ALL=C grep -qP '[\x00-\x08\x0b-\x1f\x7f]|\xff|\xc0|\xe2\x80\xae' "$1"; }
for suffix in txt jsonl csv otlp.json folded alloc.folded; do
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
