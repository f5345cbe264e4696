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

answered() { # FILE: every database answers without an error, and at least one with a row
	local name
	rm -f answers
	for name in demo lossy redacted slow; do
		sqlite3 -bail $name.db <"$1" >>answers || return 1
	done
	[ -s answers ]
}
for q in q*.sql; do
	check "question ${q//[^0-9]/} is answered" answered "$q"
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
