#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# gpureplay from outside: text, lines of JSON, filters, outputs, refusals.
. "$(dirname "$0")/lib.sh"

replay=$BUILD/gpureplay
mkcap=$BUILD/tests/mkcap
cd "$TMP" || exit 1

cat >run.script <<'END'
start 500s 1790000000s
process at=+0 pid=100 start=+0 uid=1000 tracked=1 name="trainer"
thread at=+0 tid=100 pid=100 start=+0 name="trainer"
thread at=+0 tid=101 pid=100 start=+0 name="t\x1b]0;own\x07<b>\"'\xff\xe2\x80\xae;"
process at=+0 pid=300 start=+0 name="other"
thread at=+0 tid=300 pid=300 start=+0 name="other"
module at=+0 id=1 path="/opt/lib cuda.so"
attach at=+0 module=1 probe=cudaMalloc offset=0x1234
fact at=+0 name=kernel value="6.1"
frame at=+0 stack=1 depth=0 address=0xfffffffffffffff0 module=1 offset=16 symbol=step
executable at=+0 pid=100 start=+0 path=/bin/trainer
alloc at=+10ms pid=100 tid=100 cpu=1 dur=870ns bytes=1M addr=0x7f0000001000 memory=1 stack=1
launch at=+20ms pid=100 tid=100 cpu=1 dur=17.2us grid_x=256 grid_y=2 grid_z=1 block_x=128 block_y=1 block_z=1 flags=1
copy at=+30ms pid=100 tid=100 dur=13.1ms dst=0x1 src=0x2 bytes=9007199254740993 direction=1
futex at=+45ms pid=100 tid=100 dur=13ms op=9 addr=0x7fc0 ret=-110
switch at=+46ms cpu=1 prev_tid=100 prev_state=1 next_tid=0
waking at=+47ms cpu=0 tid=100 waker_tid=101
switch at=+48ms cpu=1 prev_tid=300 next_tid=100
free at=+50ms pid=100 tid=101 dur=20us addr=0x7f0000001000 memory=1
epoch +1s
lost cudaMalloc ring_full 3
lost cudaMalloc no_stack 2
jump 10s
wait at=+1.5s pid=100 tid=100 dur=2.5s
set at=+1.6s pid=100 tid=100 addr=1 bytes=3 value=9
fork at=+1.7s pid=100 tid=100 child_pid=200 child_tid=200
exec at=+1.71s pid=200 tid=200
exit at=+1.8s pid=200 tid=200 code=256 last=1
epoch +2s
lost sched_switch ring_full 7
epoch +3s
launch at=+3.5s pid=100 tid=100 dur=1us
epoch +4s
end command 0
END
"$mkcap" -o run.cap --pub run.pub run.script || exit 1
"$mkcap" -o cut.cap --no-end run.script || exit 1
mkdir -p "$GPUREC_HOME/trust" && chmod 700 "$GPUREC_HOME" "$GPUREC_HOME/trust" && cp run.pub "$GPUREC_HOME/trust/lab.pub"

# no_raw FILE: nothing in it could move a cursor, hide or deceive
no_raw() {
	! LC_ALL=C grep -qP '[\x00-\x08\x0b-\x1f\x7f]|\xff|\xe2\x80\xae' "$1"
}

# Text.
check_exit 0 "a capture is shown as text" "$replay" run.cap
check_says '^gpureplay: run\.cap: OK, signed by [0-9A-F]{16} \(lab\)$' "with the verdict as a note on stderr"
check "one line for each event, and one for each loss" [ "$(grep -vc '^#' out) $(grep -cE '^# (lost|incomplete):' out)" = "24 3" ]
check "the first line has the verdict, and how much is missing" grep -qE '^# OK, signed by [0-9A-F]{16} \(lab\); [0-9]+ of [0-9]+ events \([0-9.]+ %\) were lost$' <(head -n 1 out)
check "in time order" sort -c -s -k1,1 <(grep -v '^#' out)
check_prints '^\+0\.020000000 trainer/100 +cudaLaunchKernel +function=0x0 stream=0x0 grid=256x2x1 block=128x1x1 shared=0 dur=17\.2µs ret=0 nested cpu=1$' \
	"a call has its thread's name, its function, and its fields in words"
check_prints ' cudaMalloc +bytes=1048576 addr=0x7f0000001000 .* memory=device stack=1 dur=870ns ret=0' "an allocation"
check_prints ' cudaMemcpy +.* direction=host-to-device .* dur=13\.1ms ' "a copy"
check_prints ' cudaStreamSynchronize .* dur=2\.50s ' "a wait"
check_prints ' futex +op=wait_bitset .* dur=13\.0ms ret=-110' "a futex call"
check_prints '^\+0\.046000000 trainer/100 +switch +prev_state=sleeping next_tid=idle/0 cpu=1$' "a switch"
check_prints ' waking +tid=trainer/100 context=task cpu=0$' "a wakeup"
check_prints '^# lost: 3 cudaMalloc between \+1\.000000000 and \+2\.000000000: no room in the ring$' "losses stand where they belong"
check_prints '^# incomplete: 2 cudaMalloc between .*: no user stack could be taken, or not all of it$' "and what events lack"
check "a hostile name is escaped" no_raw out
check_prints 't\\x1b\]0;own\\x07<b>"'"'"'\\xff\\u\{202e\};/101' "and still readable"
check_prints 'path="/opt/lib cuda\.so"' "text stands in quotes"

check_exit 0 "--unverified of what would verify" "$replay" --unverified run.cap
check "is said all the same" grep -qE '^# OK, signed by .*; read with --unverified$' <(head -n 1 out)

check_exit 0 "times by the wall clock" "$replay" --time wall run.cap
check_prints '^2026-09-21T14:13:20\.020000000Z trainer/100 +cudaLaunchKernel' "are UTC"
check_prints '^2026-09-21T14:13:33\.500000000Z trainer/100 +cudaLaunchKernel' "and follow a clock step that a seal told of"
check_exit 0 "times by the boot clock" "$replay" --time boot run.cap
check_prints '^500\.020000000 trainer/100 +cudaLaunchKernel' "are the recorder's"

# Lines of JSON.
check_exit 0 "a capture is shown as lines of JSON" "$replay" --json run.cap
cp out all.jsonl
check "the first says what it is" grep -qE '^\{"kind":"capture","id":"[0-9a-f]{32}","verdict":"OK","unverified":false,' <(head -n 1 out)
check "the last says how it ended" [ "$(tail -n 1 out)" = \
	'{"kind":"end","sealed":true,"reason":"the command ended","command_status":0}' ]
check "each event is a line" [ "$(grep -c '^{"at":' out)" -eq 24 ]
check_prints '^\{"at":500020000000,"kind":"launch","pid":100,"tid":100,"cpu":1,"dur":17200,"probe":"cudaLaunchKernel","probe_id":7,"ret":0,"flags":1,"function":"0x0","stream":"0x0","grid_x":256,"grid_y":2,"grid_z":1,"block_x":128,"block_y":1,"block_z":1,"shared":0,"stack":0,"thread":"trainer"\}$' \
	"with every field of the schema"
check_prints '"address":"0xfffffffffffffff0"' "addresses are hex text"
check_prints '"bytes":"9007199254740993"' "numbers that a reader could round are text"
check_prints '"ret":-110' "negative numbers are numbers"
check_prints '^\{"kind":"lost","begin":501000000000,"end":502000000000,"epoch":1,"probe":"cudaMalloc","probe_id":8,"cause":"ring_full","count":3\}$' \
	"a loss is an object"
check_prints '"name_hex":"741b5d303b6f776e073c623e2227ffe280ae3b"' "text that is no UTF-8 is there to the byte"
check "a hostile name is escaped" no_raw out
{ echo '['; sed '$!s/$/,/' out; echo ']'; } >lines.json
check "each line is JSON" test "$(sqlite3 :memory: "SELECT json_valid(CAST(readfile('lines.json') AS TEXT))
	AND json_array_length(CAST(readfile('lines.json') AS TEXT)) = $(wc -l <out)")" = 1
"$replay" -q --json run.cap >again.jsonl
check "the same capture gives the same bytes" cmp all.jsonl again.jsonl

# Filters.
events() { # N OPTIONS...: so many event lines
	local n=$1
	shift
	[ "$("$replay" -q "$@" run.cap | grep -vc '^#')" -eq "$n" ]
}
check "--kind lets some kinds through" events 3 --kind launch,copy
check "--tid what a thread takes part in" events 12 --tid 100
check "--tid several" events 14 --tid 100 --tid 101
check "--pid what a process's threads take part in" events 3 --pid 300
check "--from and --to cut by time since the start" events 2 --from 40ms --to 46500us
check "--from and --to cut by the boot clock" events 2 --from 500040000000 --to 500046500000
check "by the wall clock" events 2 --from 2026-09-21T14:13:20.04Z --to 2026-09-21T14:13:20.0465Z
check "which was set forward meanwhile" events 1 --from 2026-09-21T14:13:33.5Z
check "times can be given as text shows them" events 2 --from +0.040000000 --to 500.046500000
check "--from is included, --to is not" events 1 --from 45ms --to 46ms
check "filters combine" events 1 --kind switch --pid 300
check "names are known though their rows are filtered out" grep -q '^+1\.500000000 trainer/100' <("$replay" -q --kind wait run.cap)
check "losses of other kinds are not shown with --kind" [ "$("$replay" -q --kind launch run.cap | grep -c '^# lost')" -eq 0 ]
check "losses outside the time are not shown" [ "$("$replay" -q --to 1s run.cap | grep -c '^# lost')" -eq 0 ]
check_exit 2 "no kind at all is a usage error" "$replay" --kind "" run.cap
check_exit 2 "so is one too few between commas" "$replay" --kind launch, run.cap
check_exit 2 "an unknown kind is a usage error" "$replay" --kind lunch run.cap
check_says "'lunch' is not a kind of event; did you mean 'launch'\?" "with the one that was meant"
check_exit 2 "a time that is none is a usage error" "$replay" --from 5x run.cap
check_says "5x" "that names it"
check_exit 2 "nothing lies between a time and an earlier one" "$replay" --from 2s --to 1s run.cap
check_exit 2 "an unknown clock is a usage error" "$replay" --time moon run.cap
check_exit 2 "a pid that is none is a usage error" "$replay" --pid x run.cap
check_exit 2 "no file is a usage error" "$replay"
check_exit 2 "two files are one too many" "$replay" run.cap run.cap

# Conditions.
check "--where by a field" events 1 --where 'bytes>=1M and kind=alloc'
check "by a duration" events 4 --where 'dur>1ms and dur<=13.1ms or dur=2.5s or dur=870ns'
check "by names of functions, threads and processes" events 3 --where 'call~cudaM and (thread=trainer or process=other)'
check "by words that text shows" events 1 --where 'prev_state=sleeping or direction=device-to-host'
check "by a name as it is shown" events 3 --where 'thread="t\x1b]0;own\x07<b>\"'"'"'\xff\u{202e};"'
check "by a time since the start" events 5 --where 'at>1.5s'
check "with other filters" events 1 --kind switch --where 'cpu=1' --pid 300
check "in JSON, too" [ "$("$replay" -q --json --where 'ret<0' run.cap | grep -c '^{"at":')" -eq 1 ]
check "and in every file" [ "$("$replay" -q --where 'ret<0' run.cap -o where.csv && grep -c '^futex,' where.csv),$("$replay" -q --where 'ret<0' run.cap -o where.db && sqlite3 where.db "SELECT (SELECT count(*) FROM futexes) || (SELECT count(*) FROM calls) || filter FROM capture")" = "1,10where ret<0" ]
check_exit 2 "a condition that is none is a usage error" "$replay" --where 'dur>1ms and ret==0' run.cap
check_says "--where: '==' means nothing here: write =: at character 16 " "that says what is wrong and where"
check_says '^gpureplay:   dur>1ms and ret==0$' "shows it"
check_says '^gpureplay:                  \^$' "and puts a mark under the place"
check_exit 2 "so is one about a field that no kind has" "$replay" --where 'dur>1ms or byte>1' run.cap
check_says "no kind of event here has a field 'byte'; did you mean bytes\?: at character 12 " "that names the likely one"
check_exit 2 "the mark stands right behind what has to be escaped" "$replay" --where "$(printf 'name="\303\244\033" and x>1')" run.cap
check_says '^gpureplay:                    \^$' "as it is shown"
check_says 'at character 15 ' "and the place is told in characters"
check_exit 2 "two conditions are one too many" "$replay" --where 'dur>1' --where 'dur<5' run.cap
check_exit 2 "a narrower capture takes none" "$replay" --where 'dur>1' --from 1s run.cap -o part.cap

# Times and pace.
check "--json --time wall adds the wall clock" [ "$("$replay" -q --json --time wall --kind copy run.cap | sed -n 's/.*"wall":"\(.*\)".*/\1/p')" = 2026-09-21T14:13:20.030000000Z ]
check "--json --time relative adds the time since the start" [ "$("$replay" -q --json --time relative --kind copy run.cap | sed -n 's/.*"since_start":\(.*\)}/\1/p')" = 30000000 ]
check "--json alone adds nothing" [ "$("$replay" -q --json --kind copy run.cap | grep -cE '"(since_start|wall)":')" = 0 ]
paced() { # LEAST MOST milliseconds that it takes OPTIONS...: never less; with LONG=1 not more either
	local least=$1 most=$2 began took
	shift 2
	began=$(date +%s%N) # speed: a busy machine makes it longer only
	"$replay" -q "$@" run.cap >paced || return 1
	took=$((($(date +%s%N) - began) / 1000000)) # speed: as above
	echo "$took ms"
	[ "$took" -ge "$least" ] && { [ -z "${LONG:-}" ] || [ "$took" -lt "$most" ]; }
}
check "--speed 1x takes as long as it did" paced 300 2500 --speed 1x --from 1500ms --to 1801ms
check "and shows the same" cmp paced <("$replay" -q --from 1500ms --to 1801ms run.cap)
check "--speed 10x a tenth of it" paced 350 2500 --speed 10x
check "also lines of JSON" paced 350 2500 --speed 10x --json
check "which are the same, too" cmp <("$replay" -q --json run.cap) paced
check "--gap cuts what nothing happens in" paced 100 1200 --speed 1x --gap 20ms
gap() { "$replay" -q --speed 0.05x --kind exit,wait run.cap | head -n 3; }
check "a long wait is announced" grep -qE '^# nothing happens until \+1\.800000000: wait (6\.0|5\.9)[0-9]s$' <(gap)
soon() { # the first events are there long before the last ones
	local pid
	"$replay" -q --speed 0.1x --from 1500ms run.cap >soon &
	pid=$!
	until_true grep -q cudaStreamSynchronize soon
	grep -q cudaStreamSynchronize soon && ! grep -q cudaLaunchKernel soon && kill -INT "$pid"
}
check "an event is shown when its time comes" soon
interrupted() {
	"$replay" -q --speed 0.001x run.cap >ctrl &
	until_true test -s ctrl
	kill -TERM $!
	wait $!
	[ $? -eq 143 ] && grep -q "^+0.000000000 .* process" ctrl
}
check "Ctrl-C ends the wait" interrupted
reader_goes_away() {
	{ timeout 100 "$replay" -q --speed 0.001x run.cap; echo $? >status; } | head -n 1 >one # speed: a limit for what never ends
	[ "$(cat status)" = 0 ]
}
check "a reader that goes away ends it, too" reader_goes_away
for wrong in 1 x 0x -1x 1.2345x; do
	check_exit 2 "--speed $wrong is a usage error" "$replay" --speed "$wrong" run.cap
done
check_says "'1\.2345x' is not a speed like 1x, 10x or 0\.5x" "that says what a speed is"
check_exit 2 "--speed with a file is one" "$replay" --speed 1x run.cap -o paced.txt
check_exit 2 "--gap alone is one" "$replay" --gap 1s run.cap

# A closed pipe.
{ for _ in $(seq 200); do echo "repeat 1000 1us launch at=+1ms pid=100 tid=100"; done; } >big.script
"$mkcap" -o big.cap big.script || exit 1
set -o pipefail
check "a reader that goes away ends it quietly" sh -c '{ "$0" -q big.cap; echo $? >status; } 2>noise | head -n 1 >one' "$replay"
check "with status 0 and no word" [ "$(cat status) $(wc -c <noise)" = "0 0" ]
check_exit 3 "a full disk is told" sh -c '"$0" -q big.cap >/dev/full' "$replay"
check_says 'No space left' "in words"
limited() { # COMMAND that writes OUT: what a limit of 8 KiB on files makes of it, and what it leaves
	(ulimit -f 8; exec "$@") 2>limited.err
	[ $? -eq 3 ] && grep -q 'File too large\|disk I/O error' limited.err || { cat limited.err; return 1; }
	[ -z "$(ls limited.out* 2>/dev/null)" ] || { ls limited.out*; return 1; }
}
for suffix in txt jsonl csv db perfetto-trace otlp.json; do
	check "a limit on the size of files is reported like a full disk, and leaves nothing: $suffix" \
		limited "$replay" -q big.cap -o "limited.out.$suffix"
done
check "so it is with a report" limited "$BUILD/gpuanalyze" -q big.cap --report=limited.out.html

# A locale without UTF-8.
check "in a locale without UTF-8 text is ASCII" sh -c \
	'LC_ALL=C "$0" -q run.cap >ascii.txt && grep -q "dur=[0-9.]*us" ascii.txt && ! grep -aP "µ" ascii.txt' "$replay"
check "but for that it is the same" sh -c '"$0" -q run.cap | sed "s/µs/us/" | cmp - ascii.txt' "$replay"
check "files are the same anywhere" sh -c '"$0" -q run.cap -o utf8.txt && LC_ALL=C "$0" -q run.cap -o c.txt && cmp utf8.txt c.txt' "$replay"

# Files.
check_exit 0 "-o out.txt writes text" "$replay" -q run.cap -o out.txt
"$replay" -q run.cap >want.txt
check "the same as on stdout" cmp out.txt want.txt
check_exit 0 "-o out.jsonl writes lines of JSON" "$replay" -q run.cap -o out.jsonl
check "the same as on stdout" cmp out.jsonl all.jsonl
long=$(printf '%0251d' 0)
check_exit 0 "a name as long as names can be serves, too" "$replay" -q run.cap -o "$long.txt"
check "with the same content" cmp "$long.txt" out.txt
check_exit 3 "one that is longer does not" "$replay" -q run.cap -o "x$long.txt"
check_exit 3 "an output that is there is not replaced" "$replay" run.cap -o out.txt
check_says 'out\.txt is already there' "the sentence says so"
check_exit 0 "unless forced" "$replay" --force run.cap -o out.txt
ln -s want.txt link.txt
check_exit 3 "not even by force if it is no regular file" "$replay" --force run.cap -o link.txt
check_exit 2 "an ending that is not known is a usage error" "$replay" run.cap -o out.xyz
check_says '\.txt.*\.db' "that lists the known ones"
check_exit 2 "--json with -o is a usage error" "$replay" --json run.cap -o new.txt
check_exit 3 "a folder that is not there" "$replay" run.cap -o nowhere/out.txt
check "no failure leaves anything behind" [ -z "$(find . -name '*.part' -o -name 'new*' -o -name nowhere)" ]

# What may be read.
check_exit 0 "an unsealed capture is read up to its last seal" "$replay" cut.cap
check_says 'UNSEALED' "the note says so"
check_prints '^# UNSEALED' "and so does the output"
check_prints '^# unsealed: the capture stops here without an end$' "at its end, too"
check_exit 0 "in JSON" "$replay" -q --json cut.cap
check "likewise" [ "$(tail -n 1 out)" = '{"kind":"end","sealed":false}' ]
rm "$GPUREC_HOME/trust/lab.pub"
check_exit 1 "an untrusted capture is refused" "$replay" run.cap
check_says 'UNTRUSTED' "in words"
check "nothing of it is shown" [ ! -s out ]
check_exit 0 "--trust accepts it" "$replay" --trust run.pub run.cap
check_exit 0 "--unverified reads it" "$replay" --unverified run.cap
check "and says so first" grep -q '^# UNVERIFIED: UNTRUSTED' <(head -n 1 out)
check_exit 0 "in JSON" "$replay" --unverified --json run.cap
check "likewise" grep -q '"verdict":"UNTRUSTED","unverified":true' <(head -n 1 out)
size=$(stat -c %s run.cap)
cp run.cap flip.cap
flip_byte flip.cap $((size * 3 / 4))
check_exit 1 "a forged capture is refused" "$replay" --trust run.pub flip.cap
check_exit 1 "also for a file" "$replay" --trust run.pub flip.cap -o new.txt
check "which is not made" [ ! -e new.txt ]
at=$(LC_ALL=C grep -obUaP '\x04\x22\x4d\x18' run.cap | sed -n 2p | cut -d: -f1) # the first chunk's LZ4 frame
cp run.cap hurt.cap
printf '\xff\xff\xff\xff' | dd of=hurt.cap bs=1 seek=$((at + 20)) conv=notrunc 2>/dev/null
{ cat run.cap; echo behind; } >tail.cap
check_exit 1 "bytes behind the end are said to be there" "$replay" -q --unverified tail.cap
check_says "the events end early: 24 events were read: .*7 bytes follow the end record" "in words"
check "after all events" [ "$("$replay" -q --unverified --json tail.cap 2>/dev/null | grep -c '^{"at"')" = "$("$replay" -q --unverified --json run.cap | grep -c '^{"at"')" ]
check_exit 1 "a damaged chunk ends what --unverified reads" "$replay" --unverified hurt.cap
check_prints '^# UNVERIFIED: FORGED' "the output says what it is"
check_prints '^# stopped: ' "and that it stops there"
check_says 'the events end early' "and so does the sentence on stderr"
check_exit 1 "in JSON" "$replay" -q --unverified --json hurt.cap
check_prints '^\{"kind":"end","sealed":false,"stopped":"' "likewise"
check_exit 1 "in a database" "$replay" -q --unverified hurt.cap -o hurt.db
check "likewise" grep -qa 'UNVERIFIED: FORGED' hurt.db
check_exit 1 "without --unverified it is refused" "$replay" --trust run.pub hurt.cap
head -c 3000 /dev/urandom >random.cap
check_exit 1 "random bytes are refused" "$replay" random.cap
check_exit 1 "with --unverified, too" "$replay" --unverified random.cap
: >empty.cap
check_exit 1 "an empty file is refused" "$replay" empty.cap
check_exit 3 "a directory cannot be read" "$replay" .
check_exit 3 "a missing file cannot be read" "$replay" nowhere.cap
check_says 'nowhere\.cap' "the sentence names it"

# Withheld content.
"$mkcap" --narrow run.cap --withhold process -o less.cap >/dev/null || exit 1
check_exit 0 "a redacted capture is read" "$replay" --trust run.pub less.cap
check_prints '^# withheld: 5 rows of class process at \+0\.000000000$' "what is withheld is told"
check_prints ' \?/100 +cudaLaunchKernel ' "and names that are not there are not made up"


check_exit 0 "help is given" "$replay" --help
check_prints '^Exit status: 0 fine; 1 the capture was refused; 2 wrong usage; 3 it could not be done\.$' "with the exit statuses"
# A time that one tool shows is taken by all of them.
trust=(--trust run.pub)
shown() { # TIME...: gpureplay takes each
	local time
	for time; do
		"$replay" -q "${trust[@]}" run.cap --from "$time" >out 2>err || { echo "$time"; cat err; return 1; }
	done
}
mapfile -t relative < <("$replay" -q "${trust[@]}" run.cap | awk '/^\+/ { print $1 }' | head -n 3)
mapfile -t boot < <("$replay" -q "${trust[@]}" --time=boot run.cap | awk '/^[0-9]/ { print $1 }' | head -n 3)
mapfile -t wall < <("$replay" -q "${trust[@]}" --time=wall run.cap | awk '/^20/ { print $1 }' | head -n 3)
mapfile -t ns < <("$replay" -q "${trust[@]}" --json run.cap | sed -nE 's/^\{"at":([0-9]+).*/\1/p' | head -n 3)
mapfile -t verified < <("$BUILD/gpuverify" "${trust[@]}" run.cap | sed -nE 's/^  recorded +(.* UTC),.*/\1/p')
mapfile -t head < <("$BUILD/gpuanalyze" "${trust[@]}" run.cap | sed -nE 's/^Recorded +([^,]*Z),.*/\1/p')
check "the moments that gpureplay, gpuverify and gpuanalyze show are there" \
	[ "${#relative[@]} ${#boot[@]} ${#wall[@]} ${#ns[@]} ${#verified[@]} ${#head[@]}" = "3 3 3 3 1 1" ]
check "each is taken by gpureplay" shown "${relative[@]}" "${boot[@]}" "${wall[@]}" "${ns[@]}" "${verified[@]}" "${head[@]}" "${relative[0]} s"
for time in 90 1.4 0; do
	check_exit 2 "the bare number $time is none" "$replay" -q "${trust[@]}" run.cap --from $time
	check_says "'$time' has no unit: write ${time}s for seconds" "and what it could be is said"
done
check_exit 2 "nor is one a duration" "$replay" -q "${trust[@]}" run.cap --where 'dur>1'
check_says 'dur is a time: write a unit' "which is said"

finish
