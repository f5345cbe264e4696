#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What gpureplay exports, opened by what reads it: SQLite for CSV and JSON, protoc with Perfetto's field names, perl for
# folded stacks. One capture with every kind, in every format, and the golden ones.
. "$(dirname "$0")/lib.sh"

here=$(cd "$(dirname "$0")/.." && pwd)
replay=$BUILD/gpureplay
mkcap=$BUILD/tests/mkcap
golden=$here/golden
cd "$TMP" || exit 1

cat >run.script <<'END'
start 500s 1790000000s
process at=+0 pid=100 start=+0 uid=1000 tracked=1 name="=cmd|' /C calc'!A0"
thread at=+0 tid=100 pid=100 start=+0 name="a;b,\"c\"\n\x1b[2J</script>"
thread at=+0 tid=101 pid=100 start=+0 name="t\x1b]0;own\x07<b>\"'\xff\xe2\x80\xae;\x00x"
process at=+0 pid=300 start=+0 name="@SUM(1+1)"
thread at=+0 tid=300 pid=300 start=+0 name="-other"
module at=+0 id=1 path="/opt/lib,\"cuda\";.so\n1"
attach at=+0 module=1 probe=cudaMalloc offset=0x1234
fact at=+0 name=kernel value="6.1\x0d\n{\"x\":1}"
frame at=+0 stack=1 depth=0 address=0xfffffffffffffff0 module=1 offset=16 symbol="step;\" 12\n\xc0"
frame at=+0 stack=1 depth=1 address=0x1000 module=1 offset=32
executable at=+0 pid=100 start=+0 path="/bin/\"trainer\"\xff"
alloc at=+10ms pid=100 tid=100 cpu=1 dur=870ns bytes=1M addr=0x7f0000001000 memory=1 stack=1
alloc at=+11ms pid=100 tid=100 cpu=1 dur=870ns bytes=64K addr=0x7f0000900000 memory=1 stack=1
alloc at=+12ms pid=100 tid=100 cpu=1 dur=870ns bytes=4K addr=0x7f0000a00000 memory=3
launch at=+20ms pid=100 tid=100 cpu=1 dur=17us grid_x=256 flags=1
launch at=+25ms pid=100 tid=100 cpu=1 dur=20ms grid_x=256
copy at=+39ms pid=100 tid=100 dur=13ms dst=0x1 src=0x2 bytes=9007199254740993 direction=1 ret=700
futex at=+45ms pid=100 tid=100 dur=5ms op=9 addr=0x7fc0 ret=-110
switch at=+46ms cpu=1 prev_tid=100 prev_state=1 next_tid=0
waking at=+47ms cpu=0 tid=100 waker_tid=101
switch at=+48ms cpu=1 prev_tid=300 next_tid=100
waking at=+48500us cpu=0 tid=101 waker_tid=300 context=1
free at=+50ms pid=100 tid=101 dur=20us addr=0x7f0000001000 memory=1
epoch +1s
lost cudaMalloc ring_full 3
lost cudaMalloc no_stack 2
jump 10s
wait at=+1.5s pid=100 tid=100 dur=500ms
set at=+1.6s pid=100 tid=100 addr=1 bytes=3 value=9
fork at=+1.7s pid=100 tid=100 child_pid=200 child_tid=200
exec at=+1.71s pid=200 tid=200
exit at=+1.8s pid=200 tid=200 code=256 last=1
exit at=+1.9s pid=100 tid=100 last=1
epoch +2s
epoch +4s
end command 0
END
"$mkcap" -o run.cap --pub run.pub run.script || exit 1
"$mkcap" -o cut.cap --no-end run.script || exit 1
"$mkcap" --narrow run.cap --withhold process -o redacted.cap >/dev/null || exit 1
"$mkcap" --narrow run.cap --to 501s -o slice.cap >/dev/null || exit 1
mkdir -p "$GPUREC_HOME/trust" && chmod 700 "$GPUREC_HOME" "$GPUREC_HOME/trust" || exit 1
cp run.pub "$GPUREC_HOME/trust/lab.pub" && cp "$golden/demo.pub" "$GPUREC_HOME/trust/demo.pub" || exit 1

formats="csv perfetto-trace otlp.json folded alloc.folded"
kinds="launch alloc free copy set wait switch waking futex fork exec exit process thread module executable attach fact frame"

# export_all NAME: every format of NAME.cap
export_all() {
	local suffix
	for suffix in $formats; do
		rm -f "$1.$suffix"
		"$replay" -q "$1.cap" -o "$1.$suffix" || return 1
	done
}
sql() {
	sqlite3 :memory: "$@"
}
each_json() { # FILE: the lines of it, as one array in SQLite
	{ echo '['; sed '$!s/$/,/' "$1"; echo ']'; } >"$1.array"
	echo "json_each(CAST(readfile('$1.array') AS TEXT))"
}
have_protoc() { command -v protoc >/dev/null; }
decode() { # NAME: the Perfetto trace in words
	protoc -I "$here/schemas" --decode=Trace perfetto.proto <"$1.perfetto-trace" >"$1.words"
}
on_tracks() { # NAME: what is on its tracks, in NAME.tracks
	decode "$1" && awk -f "$here/tools/slices.awk" "$1.words" >"$1.tracks"
}

# Counts by kind, one "KIND N" a line, sorted.
in_json() { "$replay" -q --json "$1.cap" | sed -n 's/^{"at":[0-9]*,"kind":"\([a-z]*\)".*/\1/p' | sort | uniq -c | awk '{print $2, $1}'; }
in_text() {
	local kind n
	for kind in $kinds; do
		n=$("$replay" -q --kind "$kind" "$1.cap" | grep -vc '^#')
		[ "$n" -eq 0 ] || echo "$kind $n"
	done | sort
}
of_kinds() { grep -E "^(${kinds// /|}) "; }
in_csv() { sql ".import --csv $1.csv t" "SELECT kind || ' ' || count(*) FROM t GROUP BY kind" | of_kinds; }
in_perfetto() {
	decode "$1" && awk '
		/^    event_categories/ { list = 1 } /^    (event_names|debug_annotation_names)/ { list = 0 }
		list && /^      iid:/ { iid = $2 } list && /^      name:/ { gsub(/"/, "", $2); name[iid] = $2 }
		/^    category_iids:/ { n[name[$2]]++ }
		/^      sched_switch/ { n["switch"]++ } /^      sched_waking/ { n["waking"]++ }
		END { for (k in n) print k, n[k] }' "$1.words" | sort
}
spans() { grep -o '"key":"gpurec.kind","value":{"stringValue":"[a-z]*"' "$1.otlp.json" | cut -d'"' -f10 | sort | uniq -c | awk '{print $2, $1}'; }

same_counts() { # NAME
	in_json "$1" >want
	[ -s want ] || return 1
	for way in in_text in_csv $(have_protoc && echo in_perfetto); do
		"$way" "$1" >got
		cmp want got || { diff want got; echo "$way"; return 1; }
	done
	spans "$1" >got
	diff <(grep -E '^(launch|alloc|free|copy|set|wait|futex) ' want) got
}

check "every format is written" export_all run
check "the capture has every kind that it names" [ "$(in_json run | wc -l)" -eq "$(wc -w <<<"$kinds")" ]
check "text, JSON, CSV and Perfetto hold the same events, OpenTelemetry the same calls" same_counts run
for name in demo lossy; do
	cp "$golden/$name.cap" . || exit 1
	check "the golden capture $name is written in every format" export_all "$name"
	check "with the same counts in all of them" same_counts "$name"
done
cp run.perfetto-trace first.trace && cp run.otlp.json first.json && export_all run
check "the same capture gives the same bytes" cmp first.trace run.perfetto-trace
check "in OpenTelemetry, too" cmp first.json run.otlp.json

# Perfetto.
if have_protoc; then
	on_tracks run
	check "protoc knows every field of the Perfetto trace" sh -c '! grep -qE "^ *[0-9]+( \{|:)" run.words'
	check "as many slices end as begin" [ "$(grep -c TYPE_SLICE_BEGIN run.words)" -eq "$(grep -c TYPE_SLICE_END run.words)" ]
	check "who wakes and who is woken are connected" [ "$(grep -c ' flow_ids: 1$' run.words) $(grep -c 'terminating_flow_ids: 1$' run.words)" = "1 1" ]
	check "an interrupt wakes in nobody's name" [ "$(grep -c 'name: "wakes"' run.words)" -eq 1 ]
	check "memory that is held is counted, to nothing when its process ends" [ "$(awk '
		/uuid:/ { u = $2 } /name: "device memory held"/ { d[1] = 1 } /track_uuid/ { t = $2 }
		/counter_value/ && $2 > 0 && $2 < 2000000 { print $2 }' run.words | tr '\n' ' ')" = "1048576 1114112 1114112 4096 65536 4096 " ]
	check "losses are slices over the time in which they happened" grep -q 'name: "lost: 3 cudaMalloc: no room in the ring"' run.words
	check "a sleep is told as the kernel tells it" grep -q 'prev_state: 1$' run.words
	check "with its time, its CPU and who comes next" grep -qF 'cpu: 1 event { timestamp: 500046000000 pid: 100 sched_switch { prev_comm: "a;b,\"c\"\\x0a\\x1b[2J</script>" prev_pid: 100 prev_prio: 120 prev_state: 1 next_comm: "swapper" next_pid: 0 next_prio: 120 } }' <(tr -s ' \n' ' ' <run.words)
	check "and a preemption" grep -q 'prev_state: 2048$' run.words
	check "the verdict is a mark" grep -q 'name: "capture: OK, signed by' run.words
	check "of such marks there are no more than these" [ "$(cut -f 5 run.tracks | grep -cxE 'lost|capture')" -eq 2 ]
	check "a slice lasts from the call to its return, on the track of its thread" grep -qP '\t100/100\t500005000000\t500025000000\tlaunch\tcudaLaunchKernel$' run.tracks
	check "what is of no thread is the recorder's, not the idle task's" grep -qP '\tcapture\t500000000000\t500000000000\tfact\tfact$' run.tracks
	check "and nothing of ours is the idle task's" sh -c '! cut -f 2 run.tracks | grep -q "/0$"'
else
	skip "the Perfetto trace is decoded" "there is no protoc here"
fi

# What is lost in one epoch, and withheld over another time, lies across what threads did.
"$mkcap" -o across.cap - <<'END' || exit 1
start 500s 1790000000s
process at=+0 pid=100 start=+0 name="trainer"
fact at=+0 name=kernel value=x
switch at=+900ms cpu=0 prev_tid=100 prev_state=1 next_tid=0
thread at=+950ms tid=100 pid=100 start=+0 name="main"
launch at=+980ms pid=100 tid=100 dur=20ms
lost cudaMalloc ring_full 3
epoch +1s
switch at=+1100ms cpu=0 prev_tid=0 next_tid=100
launch at=+1200ms pid=100 tid=100 dur=350ms
process at=+1500ms pid=101 start=+0 name="other"
fact at=+1600ms name=more value=y
lost cudaMalloc ring_full 3
lost cudaFree ring_full 1
epoch +2s
end command 0
END
"$mkcap" --narrow across.cap --withhold process,host -o across-less.cap >/dev/null || exit 1
nest() { # NAME: no two slices of a track overlap in part
	awk -F'\t' '
		function crosses(a, b) { return begin[a] < begin[b] && begin[b] < end[a] && end[a] < end[b] }
		{ track[NR] = $1; begin[NR] = $3 + 0; end[NR] = $4 + 0 }
		{ for (i = 1; i < NR; i++) if (track[i] == $1 && (crosses(i, NR) || crosses(NR, i))) { print; bad = 1 } }
		END { exit bad || NR < 5 }' "$1.tracks"
}
own_tracks() { # NAME WHAT...: each of these marks is there, and on tracks with nothing else
	awk -F'\t' -v want="${*:2}" '
		{ what = $5 ~ /^(lost|withheld)$/ ? $5 : "event" }
		($1 in on) && on[$1] != what { print; bad = 1 }
		{ on[$1] = what; seen[what] }
		END { for (n = split(want, each, " "); n; n--) if (!(each[n] in seen)) bad = 1; exit bad }' "$1.tracks"
}
for name in $(have_protoc && echo across across-less); do
	withheld=
	[ $name = across ] || withheld=withheld
	check "$name is written as a trace" "$replay" -q $name.cap -o $name.perfetto-trace
	on_tracks $name
	check "of $name no two slices of a track overlap in part, which viewers cannot nest" nest $name
	check "what is lost or withheld has tracks of its own" own_tracks $name event lost $withheld
	check "each track has a name" awk -F'\t' '$2 == "" { print; bad = 1 } END { exit bad || NR < 5 }' $name.tracks
done

# CSV.
check "a row is a line" [ "$(wc -l <run.csv)" -eq "$(sql ".import --csv run.csv t" "SELECT count(*) + 1 FROM t")" ]
check "CSV is lossless: its JSON is that of --json, but for how a semicolon is written" cmp \
	<(sql ".import --csv run.csv t" "SELECT replace(fields, '\u003b', ';') FROM t WHERE kind IN ('${kinds// /\',\'}')") \
	<("$replay" -q --json run.cap | grep '^{"at"' | sed 's/"kind":"[a-z]*",//; s/,"thread":"[^{]*"}$/}/')
check "one kind alone has a column for each field" "$replay" -q --kind copy run.cap -o copies.csv
check "with its values" [ "$(sql ".import --csv copies.csv t" "SELECT at, probe, ret, bytes, dst, capture FROM t")" = \
	"500039000000|cudaMemcpy|700|9007199254740993|0x1|OK, 3 of 21 events (14.3 %) were lost" ]
check "no cell begins like a formula" [ "$("$replay" -q --kind process run.cap -o p.csv && sql ".import --csv p.csv t" \
	"SELECT group_concat(name, ' ') FROM t")" = "\\x3dcmd|' /C calc'!A0 \\x40SUM(1+1)" ]
check "nor in the common columns" [ "$(sql ".import --csv run.csv t" "SELECT count(*) FROM t WHERE process GLOB '[=+@-]*' OR thread GLOB '[=+@-]*'")" = 0 ]
check "what is of a process, a thread or neither is that in the common columns" [ "$(sql ".import --csv run.csv t" "SELECT group_concat(kind || ':' || pid || '/' || tid, ' ')
	FROM t WHERE kind IN ('fact', 'executable', 'free')")" = "executable:100/ fact:/ free:100/101" ]

# Formulas that a spreadsheet would find in a cell. By OWASP's list: = + - @, their full-width forms; and after each list
# separator that a spreadsheet may be set to, whatever quotes or blanks stand before.
cat >formula.script <<'END'
start 500s 1790000000s
probe 1 cudaLaunchKernel launch
process at=+1ms pid=7 start=1s name="x;=1+2"
process at=+2ms pid=8 start=1s name="＝1+2"
process at=+3ms pid=9 start=1s name="a;＋cmd"
process at=+4ms pid=10 start=1s name=" @SUM(1)"
process at=+5ms pid=11 start=1s name="b;\"-1\""
thread at=+6ms pid=7 tid=7 name="y\t=2"
launch at=+7ms pid=7 tid=7 dur=1us
fact at=+8ms name="n;=3" value="v;\"=4\""
epoch +1s
end duration
END
"$BUILD/tests/mkcap" -o formula.cap --pub formula.pub formula.script || exit 1
no_formula() { # FILE: what each separator makes of it, with quotes heeded or not
	perl -CSD -Mutf8 -ne '
		for my $separator (";", "\t", ",") {
			for my $cell (split /\Q$separator\E/) {
				next if $separator eq "," && $cell !~ /^[ "]*[＝＋－＠=@+]/ && $cell !~ /^[ "]*-\D/;
				die "a formula at $separator: $cell\n" if $cell =~ /^[ "\x27]*[＝＋－＠=+\-@]/;
			}
		}' "$1"
}
printf 'a,"x;=1"\n' >control.csv
found() { ! no_formula "$1" 2>/dev/null; }
check "a control: a formula behind a semicolon is found" found control.csv
for kind in '' process thread fact; do
	# shellcheck disable=SC2086 # nothing, or an option
	check "names that are formulas are written as CSV (${kind:-all kinds})" \
		"$replay" -q --trust formula.pub ${kind:+--kind $kind} formula.cap --force -o formula.csv
	check "a spreadsheet finds no formula, whatever separates its cells" no_formula formula.csv
done
check "which can be turned back" [ "$("$replay" -q --trust formula.pub --kind process formula.cap --force -o formula.csv &&
	sql ".import --csv formula.csv t" "SELECT group_concat(name, '|') FROM t")" = \
	'x\x3b=1+2|\u{ff1d}1+2|a\x3b＋cmd| \x40SUM(1)|b\x3b"-1"' ]
check "the JSON inside stays the same object" cmp \
	<("$replay" -q --trust formula.pub formula.cap --force -o formula.csv && sql ".import --csv formula.csv t" \
		"SELECT json_extract(fields, '\$.name'), json_extract(fields, '\$.value') FROM t WHERE kind = 'fact'") \
	<(printf 'n;=3|v;"=4"\n')

# OpenTelemetry.
lines=$(each_json run.otlp.json)
check "each line of OTLP is JSON, and either spans or metrics" [ "$(sql "SELECT count(*) FROM $lines WHERE
	(value -> 'resourceSpans' IS NULL) = (value -> 'resourceMetrics' IS NULL)")" = 0 ]
span="$lines l, json_each(l.value, '\$.resourceSpans') r, json_each(r.value, '\$.scopeSpans') s, json_each(s.value, '\$.spans') p"
check "a span has ids, a name and times by the wall clock" [ "$(sql "SELECT length(p.value ->> 'traceId'), length(p.value ->> 'spanId'),
	p.value ->> 'startTimeUnixNano', p.value ->> 'endTimeUnixNano', p.value ->> '\$.status.code' FROM $span
	WHERE p.value ->> 'name' = 'cudaMemcpy'")" = "32|16|1790000000026000000|1790000000039000000|2" ]
check "no two spans have the same id" [ "$(sql "SELECT count(*) = count(DISTINCT p.value ->> 'spanId') FROM $span")" = 1 ]
check "its resource is the process" grep -q '"key":"process.pid","value":{"intValue":"100"}' run.otlp.json
check "calls are metrics" grep -q '"gpurec.call.duration","unit":"s","histogram".*"cudaLaunchKernel".*"count":"2","sum":0.020017000' run.otlp.json
check "so is memory, and it is given back in the end" [ "$(grep -o '"gpurec.memory.held".*"device".*"asInt":"[0-9]*"' run.otlp.json | sed 's/.*asInt":"\([0-9]*\)"/\1/' | tr '\n' ' ')" = "65536 0 " ]
check "so are losses" grep -q '"gpurec.events.lost".*"cudaMalloc".*"ring_full".*"asInt":"3"' run.otlp.json

# Folded stacks.
folded() { ! grep -qvE '^[^;]+(;[^;]+)+ [0-9]+$' "$1"; }
check "every line of the folded stacks is one" folded run.folded
check "also of those by site" folded run.alloc.folded
check "time inside an inner call is not the outer one's" grep -qF ';cudaLaunchKernel 19983000' run.folded
check "but stands below it" grep -qF ';cudaLaunchKernel;cudaLaunchKernel 17000' run.folded
check "bytes stand below their site, which no name can split" grep -qE ':\.so\\x0a1\+0x20;step:" 12\\x0a\\xc0;cudaMalloc 1114112$' run.alloc.folded
check "what was lost stands in the lowest frame" sh -c '! grep -qv "^OK, signed by [^;]*, 3 of 21 events (14.3 %) were lost;" run.alloc.folded'
"$replay" -q demo.cap -o whole.folded
check "of a whole capture that is the process" grep -qE '^driver \([0-9]+\);' whole.folded

# Hostile text.
no_raw() { ! LC_ALL=C grep -qP '[\x00-\x08\x0b-\x1f\x7f]|\xff|\xc0|\xe2\x80\xae' "$1"; }
for suffix in csv otlp.json folded alloc.folded; do
	check "nothing in $suffix could move a cursor, hide or deceive" no_raw "run.$suffix"
done
check "nor in the Perfetto trace's texts" sh -c '! LC_ALL=C grep -qaP "\x1b\[2J|\x1b\]0|\xe2\x80\xae" run.perfetto-trace'

# What the capture is.
marked() { # NAME REGEX: in every format
	local suffix
	export_all "$1" || return 1
	for suffix in $formats; do
		grep -qaE "$2" "$1.$suffix" || { echo "$suffix"; return 1; }
	done
}
check "an unsealed capture says so in every format" marked cut 'UNSEALED'
check "a redacted one" marked redacted 'OK-REDACTED'
check "a slice" marked slice 'OK-SLICE'
check "also where there is nothing to draw" [ "$("$replay" -q --kind exec cut.cap -o none.folded && grep -cE '^UNSEALED.* 0$' none.folded)" -eq 1 ]
check "in the columns of one kind, too" [ "$("$replay" -q --kind launch cut.cap -o c.csv && sed -E '1d; s/.*,"(UNSEALED)/\1/' c.csv | sort -u)" = 'UNSEALED, 3 of 21 events (14.3 %) were lost"' ]
missing='OK, .*3 of 21 events \(14\.3 %\) were lost|"complete":false,"happened":21,"events_lost":3,"events_left_out":0'
each_says() { # what a filter leaves of the capture is an empty part; that the capture lacks events is no part of it
	local suffix
	for suffix in txt jsonl $formats; do
		rm -f "part.$suffix"
		"$replay" -q "$@" run.cap -o "part.$suffix" && grep -aqE "$missing" "part.$suffix" || { echo "$suffix"; return 1; }
	done
}
check "each export of a part says how many events are missing of the whole" each_says --kind launch
check "also where no event was selected" each_says --kind launch --pid 999999
check "then CSV has one row, of nothing but that" [ "$(sed 1d part.csv | tr -d ,)" = '"OK 3 of 21 events (14.3 %) were lost"' ]
for suffix in csv perfetto-trace; do
	check "what is withheld is marked in $suffix" grep -qa 'withheld: 5 rows of class process' "redacted.$suffix"
	check "and the missing end" grep -qa 'unsealed: the capture stops here without an end' "cut.$suffix"
done
check "names that were withheld are nowhere" sh -c '! grep -laE "SUM\(1|C calc" redacted.csv redacted.*trace* redacted.*json redacted.*folded'
rm "$GPUREC_HOME/trust/lab.pub"
unverified() {
	local suffix
	for suffix in $formats; do
		"$replay" -q --unverified run.cap -o "u.$suffix" && grep -qa 'UNVERIFIED: UNTRUSTED' "u.$suffix" || return 1
	done
}
check "what was not verified says so in every format" unverified
cp run.pub "$GPUREC_HOME/trust/lab.pub"

# Rows that no recorder writes, well signed.
{
	echo "process at=+1ms pid=100 start=+0s tracked=1 name=train"
	echo "launch at=+2ms pid=100 tid=0 cpu=1 dur=10us"
	echo "launch at=+3ms pid=100 tid=4294967296 cpu=1 dur=10us"
	echo "epoch +1s"
} | "$mkcap" -o nobody.cap - || exit 1
check "calls of a thread without a number are written in every format" export_all nobody
{
	echo "process at=+1ms pid=100 start=+0s tracked=1 name=train"
	echo "repeat 300000 1us alloc at=+1ms pid=100 tid=101 addr=0x1000 bytes=64"
	echo "epoch +2s"
} | "$mkcap" -o same.cap - || exit 1
check "many allocations at one address, never freed, do not take for ever" bash -c 'ulimit -t 20; exec "$@"' sh "$replay" -q same.cap -o same.perfetto-trace
check "nor in a database" bash -c 'ulimit -t 20; exec "$@"' sh "$replay" -q same.cap -o same.db

# Files.
check_exit 2 "an ending that is not known is a usage error" "$replay" run.cap -o out.xyz
check_says '\.perfetto-trace.*\.folded' "that lists the known ones"
for name in run.trace.json dir/run.trace.json .trace.json; do
	check_exit 2 "so is $name, which is no longer written" "$replay" run.cap -o "$name"
	check_says ': the Chrome trace format is no longer written; use \.perfetto-trace, ' "the sentence names what to use"
done
check_exit 2 "so is .perf.txt" "$replay" run.cap -o run.perf.txt
check_says '^gpureplay: run\.perf\.txt: the format of perf script is no longer written; use \.folded ' "which names folded stacks"
check "of these nothing is left" [ -z "$(ls -d ./*.trace.json .trace.json ./*.perf.txt 2>/dev/null)" ]
check "the longest ending counts" [ "$(head -c 10 run.otlp.json)" = '{"resource' ]
check_exit 0 "--help" "$replay" --help
for suffix in $formats; do
	check_prints "^ +\\.$suffix +" "names .$suffix"
done
{
	echo "start 500s 1790000000s"
	echo "repeat 300000 1us launch at=+1us pid=100 tid=100 dur=500ns"
	echo "epoch +1s"
} | "$mkcap" -o big.cap - || exit 1
interrupted() {
	local pid status
	"$replay" -q big.cap -o big.perfetto-trace &
	pid=$!
	while kill -0 "$pid" 2>/dev/null && [ -z "$(find . -name '.*big*' -size +0 -o -name '*.part' -size +0)" ]; do :; done
	kill -TERM "$pid"
	wait "$pid"
	status=$?
	[ "$status" -eq 143 ] && [ -z "$(find . -name '*big.perfetto*' -o -name '*.part')" ]
}
check "an interrupted export leaves no half file" interrupted

finish
