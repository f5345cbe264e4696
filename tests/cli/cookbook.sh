#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The questions of docs/COOKBOOK.md, each asked of databases made from captures; and the views that they are about.
. "$(dirname "$0")/lib.sh"

if ! command -v sqlite3 >/dev/null; then
	skip "the cookbook" "no sqlite3 here"
	finish
fi
here=$(cd "$(dirname "$0")/../.." && pwd)
replay=$BUILD/gpureplay
cd "$TMP" || exit 1

# One file for each block of SQL.
awk '/^```sql$/ { inside = 1; n++; next } /^```$/ { inside = 0 } inside { print >sprintf("q%02d.sql", n) }' "$here/docs/COOKBOOK.md"
check "the cookbook has twenty questions" [ "$(find . -name 'q*.sql' | wc -l)" = 20 ]
check "and as many headings" [ "$(grep -c '^### [0-9]*\. ' "$here/docs/COOKBOOK.md")" = 20 ]

for name in demo lossy redacted; do
	check_exit 0 "a database is made of $name.cap" "$replay" -q --unverified "$here/tests/golden/$name.cap" -o $name.db
done
# A slow call, to the nanosecond: 13 ms, of which 1 ms before it slept, 11 ms in a futex, 0.4 ms until it ran again.
cat >slow.script <<'END'
start 500s 1790000000s
process at=+0 pid=100 start=+0 tracked=1 name=trainer
thread at=+0 tid=100 pid=100 start=+0 name=trainer
thread at=+0 tid=101 pid=100 start=+0 name=tokenizer
repeat 20 1ms launch at=+100ms pid=100 tid=100 dur=10us function=0xabc
launch at=+200ms pid=100 tid=100 dur=13ms function=0xabc
switch at=+188ms cpu=1 prev_tid=100 prev_state=1 next_tid=0
waking at=+199ms cpu=0 tid=100 waker_tid=101
switch at=+199.4ms cpu=1 prev_tid=0 next_tid=100
futex at=+199.5ms pid=100 tid=100 dur=12ms op=0 addr=0x7fc0
launch at=+300ms pid=100 tid=100 dur=20us function=0xabc
alloc at=+310ms pid=100 tid=100 dur=1us bytes=1G memory=1 ret=2
epoch +1s
end duration
END
"$BUILD/tests/mkcap" -o slow.cap --pub slow.pub slow.script || exit 1
check_exit 0 "a capture with a slow call becomes a database" "$replay" -q --trust slow.pub slow.cap -o slow.db

# Every question, with the answer that follows from the script, worked out by hand.
cat >story.script <<'END'
start 500s 1790000000s
process at=+0 pid=100 ppid=1 uid=1000 start=+0 tracked=1 name=trainer
executable at=+0 pid=100 start=+0 path=/opt/trainer
thread at=+0 tid=100 pid=100 start=+0 name=trainer
thread at=+0 tid=101 pid=100 start=+0 name=tokenizer
process at=+0 pid=200 ppid=1 uid=0 start=+0 name=backup
thread at=+0 tid=200 pid=200 start=+0 name=backup
module at=+0 id=1 path=/opt/trainer
frame at=+0 stack=7 depth=0 address=0x1010 module=1 offset=16 symbol=_ZN5Cache4growEm+0x10
frame at=+0 stack=7 depth=1 address=0x1020 module=1 offset=32 symbol=main+0x20
repeat 20 1ms launch at=+100ms pid=100 tid=100 dur=10us function=0xabc
launch at=+200ms pid=100 tid=100 dur=13ms function=0xabc
switch at=+188ms cpu=1 prev_tid=100 prev_state=1 next_tid=0
waking at=+199ms cpu=0 tid=100 waker_tid=101
switch at=+199.4ms cpu=1 prev_tid=200 prev_state=0 next_tid=100
futex at=+199.5ms pid=100 tid=100 dur=12ms op=0 addr=0x7fc0
launch at=+300ms pid=100 tid=100 dur=20us function=0xabc
alloc at=+310ms pid=100 tid=100 dur=1us bytes=1G memory=1 ret=2
alloc at=+320ms pid=100 tid=100 dur=2us bytes=4M addr=0x1000 memory=1 stack=7
alloc at=+330ms pid=100 tid=100 dur=2us bytes=1M addr=0x9000 memory=1 stack=7
free at=+420ms pid=100 tid=100 dur=3us addr=0x9000 memory=1
copy at=+500ms pid=100 tid=100 dur=1ms bytes=16M direction=1
copy at=+510ms pid=100 tid=100 dur=2ms bytes=8M direction=2
lost cudaMalloc ring_full 3
epoch +1s
alloc at=+1.2s pid=100 tid=101 dur=2us bytes=2M addr=0x5000 memory=1 stack=7
free at=+1.3s pid=100 tid=101 dur=3us addr=0x5000 memory=1
epoch +2s
end duration
END
"$BUILD/tests/mkcap" -o story.cap --pub story.pub story.script &&
	"$BUILD/tests/mkcap" --narrow story.cap --withhold path,symbol -o less.cap >/dev/null || exit 1
for name in story less; do
	check_exit 0 "the story of $name.cap becomes a database" "$replay" -q --trust story.pub $name.cap -o $name.db
done
awk '/^--- / { file = "want" $2; printf "" >file; next } { print >file }' <<'END'
--- 01
OK|59454B5453455401|story|3|0|1|the asked duration was over|all
--- 02
2026-09-21 14:13:20|2.0|43
--- 03
launch|22|22|0
alloc|4|4|0
free|2|2|0
copy|2|2|0
switch|2|2|0
waking|1|1|0
futex|1|1|0
process|2|2|0
thread|3|3|0
module|1|1|0
executable|1|1|0
frame|2|2|0
--- 04
0|cudaMalloc|no room in the ring|3
--- 05
sched_switch|2|2|0|0
sched_waking|1|1|0|0
futex|1|1|0|0
cudaLaunchKernel|22|22|0|0
cudaMalloc|7|4|3|0
cudaFree|2|2|0|0
cudaMemcpy|2|2|0|0
--- 06
path|1|2|500000000000|500000000000
symbol|1|2|500000000000|500000000000
--- 07
100|trainer|/opt/trainer|30
--- 08
81.4|22|600909.090909091|10000.0|13000000|13000000|cudaLaunchKernel
18.5|2|1500000.0|1500000.0|2000000|2000000|cudaMemcpy
0.0|4|1750.0|2000.0|2000|2000|cudaMalloc
0.0|2|3000.0|3000.0|3000|3000|cudaFree
--- 09
cudaLaunchKernel|trainer|13000000|10000.0|1600000|400000|11000000|0|0x7fc0|tokenizer
--- 10
tokenizer|0x7fc0|1|11000000
--- 11
trainer|500200000000|99980000
trainer|500119000000|68000000
--- 12
1|device|6291456
--- 13
0|device|5242880
1|device|6291456
--- 14
1|4194304|device||Cache::grow(unsigned long)+0x10 < main+0x20
--- 15
device|free|2|95000000.0|100000000
--- 16
device-to-host|1|8388608|4194304000.0
host-to-device|1|16777216|16777216000.0
--- 17
alloc|cudaMalloc|2|1|500310000000
--- 18
trainer|0x7fc0|1|12000000|12000000
--- 19
trainer|100|1|400000
--- 20
2026-09-21T14:13:20.188000000Z|switch|
2026-09-21T14:13:20.199000000Z|waking|
2026-09-21T14:13:20.199500000Z|futex|12000000
2026-09-21T14:13:20.200000000Z|launch|13000000
END
answered() { # NUMBER: every database answers without an error, and that of the story with what is true of it
	local name
	for name in demo lossy redacted slow; do
		sqlite3 -bail $name.db <"q$1.sql" >/dev/null || return 1
	done
	name=story
	[ "$1" != 06 ] || name=less # of which something is withheld
	[ -s "want$1" ] && sqlite3 -bail $name.db <"q$1.sql" | diff "want$1" -
}
for q in q*.sql; do
	q=${q//[^0-9]/}
	check "question $q is answered rightly" answered "$q"
done

gives() { # SENTENCE QUERY WANTED
	check "$1" [ "$(sqlite3 slow.db "$2")" = "$3" ]
}
gives "only the slow call is slow" "SELECT count(*) FROM slow_calls" 1
gives "it is split to the nanosecond" \
	"SELECT dur_ns, on_cpu_ns, waited_for_cpu_ns, futex_ns, asleep_ns, lossy FROM slow_calls" \
	"13000000|1600000|400000|11000000|0|0"
gives "and its waker is named" "SELECT futex, waker_tid, waker_name FROM slow_calls" "0x7fc0|101|tokenizer"
gives "gaps between launches are those between return and entry" \
	"SELECT gap_ns FROM launch_gaps ORDER BY gap_ns DESC LIMIT 3" "99980000
68000000
990000"
gives "each launch but the first has one" "SELECT count(*) FROM launch_gaps" 21
finish
