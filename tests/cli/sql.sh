#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The SQL view from outside, through the sqlite3 shell.
. "$(dirname "$0")/lib.sh"

if ! command -v sqlite3 >/dev/null; then
	skip "the SQL view" "no sqlite3 here"
	finish
fi
replay=$BUILD/gpureplay
mkcap=$BUILD/tests/mkcap
schema=$(cd "$(dirname "$0")/../.." && pwd)/docs/SCHEMA.md
cd "$TMP" || exit 1

cat >run.script <<'END'
start 500s 1790000000s
process at=+0 pid=100 start=+0 ppid=1 uid=1000 tracked=1 name="x'); DROP TABLE calls;--"
thread at=+0 tid=100 pid=100 start=+0 name="a\x1b[31m\\\xff"
thread at=+0 tid=101 pid=100 start=+0 name="helper"
process at=+0 pid=300 start=+0 name="bystander"
thread at=+0 tid=300 pid=300 start=+0 name="bystander"
module at=+0 id=7 device=2049 inode=17 build_id=abcd path=/lib/libcudart.so.12
attach at=+0 module=7 probe=cudaMalloc offset=0x1234 error=2
fact at=+0 name=kernel value="6.1"
executable at=+0 pid=100 start=+0 path=/bin/trainer
frame at=+0 stack=1 depth=1 address=0x20 module=7 offset=0x20 symbol=_ZN5Cache4growEm+0x20
frame at=+0 stack=1 depth=0 address=0x10 module=7 offset=0x10
# kept, freed, freed by another thread, failed, nested in that, of address 0
alloc at=+10ms pid=100 tid=100 dur=100us bytes=1M addr=0xf000000000001000 memory=1 stack=1
alloc at=+11ms pid=100 tid=100 dur=100us bytes=4096 addr=0x2000 memory=1
alloc at=+12ms pid=100 tid=100 dur=100us bytes=8192 addr=0x3000 memory=3
alloc at=+13ms pid=100 tid=100 dur=100us bytes=77 addr=0x5000 memory=1 flags=1
alloc at=+13ms pid=100 tid=100 dur=100us bytes=1G addr=0x4000 memory=1 ret=2
free at=+19ms pid=100 tid=100 dur=10us addr=0x2000 memory=1 flags=1
free at=+20ms pid=100 tid=100 dur=2ms addr=0x2000 memory=1
free at=+21ms pid=100 tid=101 dur=20us addr=0x3000 memory=3
free at=+22ms pid=100 tid=101 dur=20us addr=0xf000000000001000 memory=1 ret=1
# one address, handed out again before its free's return was recorded
alloc at=+30ms pid=100 tid=100 dur=1us bytes=10 addr=0x6000 memory=1
alloc at=+32ms pid=100 tid=100 dur=1us bytes=20 addr=0x6000 memory=1
free at=+33ms pid=100 tid=101 dur=2ms addr=0x6000 memory=1
# one address, whose first free was lost
alloc at=+40ms pid=100 tid=100 dur=1us bytes=30 addr=0x7000 memory=1
alloc at=+42ms pid=100 tid=100 dur=1us bytes=40 addr=0x7000 memory=1
free at=+45ms pid=100 tid=100 dur=1us addr=0x7000 memory=1
repeat 100 1ms launch at=+100ms pid=100 tid=100 dur=10us~1us function=0xabc grid_x=4 block_x=64 shared=16
copy at=+300ms pid=100 tid=100 dur=1ms bytes=1M direction=2
set at=+301ms pid=100 tid=100 dur=1us bytes=5 addr=1 value=9
wait at=+302ms pid=100 tid=100 dur=1us object=0xe
futex at=+345ms pid=100 tid=100 dur=13ms op=9 flags=128 addr=0x7fc0 val=2 ret=-110
futex at=+346ms pid=100 tid=100 dur=1us op=1 addr=0x7fc0 val=1 ret=1
switch at=+332.1ms cpu=1 prev_tid=100 prev_state=1 next_tid=0
waking at=+344ms cpu=0 tid=100 waker_tid=101
waking at=+344.1ms cpu=0 tid=100 waker_tid=300 context=1
switch at=+344.5ms cpu=1 prev_tid=300 prev_state=0 next_tid=100
switch at=+350ms cpu=1 prev_tid=100 prev_state=0 next_tid=300
waking at=+351ms cpu=0 tid=100 waker_tid=101
switch at=+353ms cpu=1 prev_tid=300 prev_state=2 next_tid=100
epoch +1s
lost cudaMalloc ring_full 3
lost sched_switch ring_full 2
lost cudaMalloc no_stack 2
# a process that ends holding memory, and another with its pid
fork at=+1.1s pid=100 tid=100 child_pid=200 child_tid=200
process at=+1.1s pid=200 start=+1.1s ppid=100 tracked=1 name=first
thread at=+1.1s tid=200 pid=200 start=+1.1s name=first
exec at=+1.11s pid=200 tid=200
switch at=+1.15s cpu=1 prev_tid=100 prev_state=1 next_tid=0
switch at=+1.16s cpu=1 next_tid=100
alloc at=+1.2s pid=200 tid=200 bytes=500 addr=0x2000 memory=1
exit at=+1.3s pid=200 tid=200 code=256 last=1
fork at=+1.4s pid=100 tid=100 child_pid=200 child_tid=200
process at=+1.4s pid=200 start=+1.4s ppid=100 tracked=1 name=second
thread at=+1.4s tid=200 pid=200 start=+1.4s name=second
free at=+1.45s pid=200 tid=200 addr=0x2000 memory=1
alloc at=+1.5s pid=200 tid=200 bytes=600 addr=0x2000 memory=1
epoch +2s
lost cudaLaunchKernel in_flight 1
end command 256
END
"$mkcap" -o run.cap --pub run.pub run.script || exit 1

sql() { # QUERY [DATABASE]
	sqlite3 "${2:-run.db}" "$1"
}
gives() { # SENTENCE QUERY WANTED [DATABASE]
	check "$1" [ "$(sql "$2" "${4:-run.db}")" = "$3" ]
}

check_exit 0 "a capture becomes a database" "$replay" --trust run.pub run.cap -o run.db
gives "which is sound" "PRAGMA integrity_check" ok
gives "and says what it is" "SELECT application_id, user_version FROM pragma_application_id, pragma_user_version" "1735423314|2"
gives "the verdict stands in it" "SELECT verdict, unverified, signer_name, sealed, reason, command_status, epochs, lost, filter FROM capture" \
	"OK|0|run|1|the command ended|256|2|6|all"
gives "and when it was recorded" "SELECT start_ns, start_wall_ns, end_ns, end_wall_ns FROM capture" \
	"500000000000|1790000000000000000|502000000000|1790000002000000000"

# Counts.
want=$(grep -cE '^(alloc|free|copy|set|wait|futex|switch|waking|process|thread|module|attach|fact|executable|frame|fork|exec|exit) ' run.script)
gives "each row of the capture is a row of a table" "SELECT sum(rows) FROM kind_counts" $((want + 100))
gives "no kind lacks any" "SELECT count(*) FROM kind_counts WHERE absent <> 0 OR rows <> recorded" 0
gives "kinds are counted" "SELECT group_concat(name || ' ' || rows) FROM kind_counts WHERE rows > 0" \
	"launch 100,alloc 11,free 7,copy 1,set 1,wait 1,switch 6,waking 3,futex 2,fork 2,exec 1,exit 1,process 4,thread 5,module 1,executable 1,attach 1,fact 1,frame 2"
gives "the view of all events has them all" "SELECT count(*) = (SELECT events FROM capture) FROM events" 1
gives "in the order of the capture" "SELECT count(*) FROM (SELECT at_ns - lag(at_ns) OVER (ORDER BY id) AS step FROM events) WHERE step < 0" 0
"$replay" -q --trust run.pub --json run.cap | grep '^{"at"' >run.jsonl
gives "as many as lines of JSON" "SELECT events FROM capture" "$(wc -l <run.jsonl)"
gives "wall time is UTC" "SELECT wall FROM events WHERE kind = 'copy'" "2026-09-21T14:13:20.300000000Z"

# Hostile text.
gives "a name that is SQL is a name" "SELECT name FROM processes WHERE pid = 100" "x'); DROP TABLE calls;--"
gives "control characters and invalid bytes are escaped" "SELECT name FROM threads WHERE tid = 100" 'a\x1b[31m\\\xff'
gives "in every table" "SELECT name FROM thread_rows WHERE tid = 100" 'a\x1b[31m\\\xff'
gives "text is text" "SELECT DISTINCT typeof(name) FROM threads" text

# Who is who.
gives "two processes with one pid are two" "SELECT group_concat(name) FROM processes WHERE pid = 200" "first,second"
gives "the first has ended" "SELECT end_ns, status FROM processes WHERE name = 'first'" "501300000000|256"
gives "calls belong to the right one" \
	"SELECT group_concat(p.name) FROM calls c JOIN processes p USING (process) WHERE c.pid = 200" "first,second,second"
gives "bystanders are told apart" "SELECT name FROM processes WHERE NOT tracked" bystander
gives "an executable has its path" "SELECT path FROM processes WHERE pid = 100" /bin/trainer

# Allocations.
gives "a failed, a nested allocation are none" "SELECT count(*) FROM allocations" 9
gives "frees are paired with their allocations, also across threads" \
	"SELECT group_concat(bytes || ' ' || lifetime_ns) FROM allocations WHERE how = 'free' AND at_ns < 500020000000" \
	"4096 9000000,8192 9000000"
gives "an address handed out before its free returned is paired by time" \
	"SELECT group_concat(bytes || ' ' || coalesce(how, 'held')) FROM allocations WHERE addr = '0x6000'" "10 free,20 held"
gives "an address whose free was lost too" \
	"SELECT group_concat(bytes || ' ' || coalesce(how, 'held')) FROM allocations WHERE addr = '0x7000'" "30 unseen,40 free"
gives "what a process held when it ended is said to be so" "SELECT how FROM allocations WHERE bytes = 500" exit
gives "and its pid's next owner does not free it" "SELECT count(*) FROM allocations WHERE bytes = 600 AND how IS NULL" 1
gives "a failed free frees nothing" "SELECT addr, how IS NULL FROM allocations WHERE bytes = 1048576" "0xf000000000001000|1"
gives "what is outstanding at the end is told by site" \
	"SELECT group_concat(pid || ' ' || memory || ' ' || stack || ' ' || num || ' ' || bytes) FROM outstanding_at_end" \
	"100 device 0 1 20,100 device 1 1 1048576,200 device 0 1 600"
gives "memory held over time adds up" "SELECT bytes FROM outstanding WHERE pid = 100 AND memory = 'device' ORDER BY at_ns DESC LIMIT 1" 1048596
gives "and its peak is found" "SELECT max(bytes) FROM outstanding WHERE memory = 'device' AND pid = 100" 1052672

# Calls.
gives "time in calls is summed up as nsys does" \
	"SELECT time_percent, total_ns, num, avg_ns, med_ns, min_ns, max_ns, round(stddev_ns, 6), p99_ns, p999_ns FROM call_summary WHERE name = 'cudaLaunchKernel'" \
	"51.7|5950000|100|59500.0|59500.0|10000|109000|29011.491976|108000|109000"
gives "the shares add up" "SELECT round(sum(time_percent)) FROM call_summary" 100.0
gives "launches have their geometry" "SELECT DISTINCT kernel, grid_x, block_x, shared_bytes FROM launches" "0xabc|4|64|16"
gives "copies their rate" "SELECT direction, bytes_per_second FROM copies" "device-to-host|1048576000.0"
gives "waits their object" "SELECT object FROM waits" 0xe
gives "memory settings their value" "SELECT value, bytes FROM sets" "9|5"
gives "failed calls are found" "SELECT group_concat(function_name || ' ' || ret) FROM failed_calls" "cudaMalloc 2,cudaFree 1"
gives "stacks read from the inside out" "SELECT depth, frames FROM stacks" "2|0x10 < _ZN5Cache4growEm+0x20"
gives "and, for people, as in the source" "SELECT shown FROM stacks" "0x10 < Cache::grow(unsigned long)+0x20"
gives "a frame has both" "SELECT symbol, symbol_shown FROM frames ORDER BY depth DESC LIMIT 1" \
	"_ZN5Cache4growEm+0x20|Cache::grow(unsigned long)+0x20"

# The scheduler.
gives "sleep is told with who ended it" \
	"SELECT dur_ns, state, waited_for_cpu_ns, waker_tid, waker_name, waker_context FROM offcpu_intervals WHERE tid = 100 ORDER BY id LIMIT 1" \
	"12400000|sleeping|500000|101|helper|task"
gives "being preempted, too" \
	"SELECT dur_ns, state, waited_for_cpu_ns, waker_tid IS NULL FROM offcpu_intervals WHERE tid = 100 ORDER BY id LIMIT 1 OFFSET 1" \
	"3000000|preempted|3000000|1"
gives "what was seen while scheduler events were lost is marked" "SELECT group_concat(lossy) FROM offcpu_intervals" 0,0,1
gives "of bystanders no interval is told" "SELECT count(*) FROM offcpu_intervals WHERE tid = 300" 0
gives "futex waits are told apart from wakes" "SELECT group_concat(op || ' ' || addr || ' ' || ret) FROM futex_waits" \
	"wait_bitset 0x7fc0 -110"

# Losses.
gives "losses are told by probe and cause" "SELECT group_concat(probe || ' ' || cause || ' ' || num) FROM lost" \
	"cudaLaunchKernel in_flight 1,cudaMalloc ring_full 3,sched_switch ring_full 2"
gives "and by time" "SELECT epoch, begin_ns, end_ns, delta, total FROM losses WHERE probe = 'sched_switch'" \
	"1|501000000000|502000000000|2|2"
gives "fired is recorded and lost, exactly" "SELECT count(*) FROM probe_counts WHERE fired <> recorded + lost" 0
gives "what recorded events lack is counted" "SELECT incomplete FROM probe_counts WHERE name = 'cudaMalloc'" 2

# Same again.
"$replay" -q --trust run.pub run.cap -o again.db
sqlite3 run.db .dump >one
sqlite3 again.db .dump >two
check "the same capture gives the same rows in the same order" cmp one two

# Indexes cost time to make.
for view in $(sql "SELECT name FROM sqlite_master WHERE type = 'view'"); do
	sql "EXPLAIN QUERY PLAN SELECT * FROM $view"
done | grep -oE 'INDEX [a-z_]+' | cut -d' ' -f2 | sort -u >used
check "each index is used by a view" diff used <(sql "SELECT name FROM sqlite_master WHERE type = 'index' ORDER BY name")

# The document.
documented() {
	awk '/^## /{in_schema = $2 == "Tables" || $2 == "Views"} !in_schema {next} /^### /{name = $2}
	     /^\| [a-z_0-9]+ \|/ && $2 != "column" {print name "." $2}' "$schema"
}
sql "SELECT m.name || '.' || p.name FROM sqlite_master m JOIN pragma_table_info(m.name) p
	WHERE m.type IN ('table', 'view') AND m.name NOT LIKE 'sqlite_%'" >real.txt
documented >documented.txt
check "SCHEMA.md names every table, view and column, and no other, in their order" \
	diff <(sort documented.txt) <(sort real.txt)
check "there is more than one of them" [ "$(wc -l <real.txt)" -gt 200 ]
awk '/^```sql$/{on = 1; next} /^```/{on = 0} on' "$schema" >questions.sql
check "the queries in it run" sqlite3 -bail run.db ".read questions.sql"

# Other captures.
"$mkcap" --narrow run.cap --withhold process,path -o less.cap >/dev/null || exit 1
check_exit 0 "a redacted capture becomes a database" "$replay" --trust run.pub less.cap -o less.db
gives "that says so" "SELECT verdict, withheld_chunks FROM capture" "OK-REDACTED|3" less.db
gives "and what is not there" "SELECT group_concat(name || ' ' || absent) FROM kind_counts WHERE absent > 0" \
	"process 4,thread 5,module 1,executable 1,attach 1" less.db
gives "by class and epoch" "SELECT class, sum(rows) FROM withheld GROUP BY class ORDER BY class" $'path|3\nprocess|9' less.db
gives "withheld names are not there" "SELECT count(*) FROM processes WHERE name IS NOT NULL" 0 less.db
check "nor anywhere in the file" [ "$(grep -c -a -e 'DROP TABLE' -e bystander -e libcudart less.db)" -eq 0 ]
gives "allocations are paired all the same" "SELECT count(*) FROM allocations WHERE how = 'free'" 4 less.db

"$mkcap" -o cut.cap --no-end run.script || exit 1
check_exit 0 "an unsealed capture becomes a database" "$replay" --trust run.pub cut.cap -o cut.db
gives "that says so" "SELECT verdict, sealed, reason IS NULL FROM capture" "UNSEALED|0|1" cut.db
check_exit 0 "an untrusted one does with --unverified" "$replay" --unverified run.cap -o untrusted.db
gives "and says so" "SELECT verdict, unverified, sentence LIKE 'UNVERIFIED%' FROM capture" "UNTRUSTED|1|1" untrusted.db
check_exit 0 "filters work here, too" "$replay" --trust run.pub --kind launch --to 150500000ns run.cap -o some.db
gives "names stay" "SELECT group_concat(name || ' ' || rows) FROM kind_counts WHERE rows > 0" \
	"launch 51,process 4,thread 5,module 1,executable 1,attach 1,fact 1,frame 2" some.db
gives "and the database says so" "SELECT filter FROM capture" "kind launch; to 500150500000 ns" some.db
printf 'end interrupted\n' | "$mkcap" -o nothing.cap || exit 1
check_exit 0 "a capture without events becomes a database" "$replay" --trust run.pub nothing.cap -o nothing.db
gives "without rows" "SELECT count(*) FROM events" 0 nothing.db

# What is allocated in a context goes with it.
cat >context.script <<'END'
probe 1 cudaMalloc alloc
probe 2 cudaDeviceReset context
probe 3 cuDevicePrimaryCtxRetain context
process at=+0 pid=100 start=+0 name=one
process at=+0 pid=200 start=+0 name=two
alloc at=+1ms pid=100 tid=100 bytes=10 addr=0x1000 memory=1
alloc at=+2ms pid=200 tid=200 bytes=11 addr=0x1000 memory=1
context at=+3ms pid=100 tid=100 probe=cudaDeviceReset ret=1
context at=+4ms pid=100 tid=100 probe=cudaDeviceReset
alloc at=+5ms pid=100 tid=100 bytes=12 addr=0x1000 memory=1
context at=+6ms pid=200 tid=200 probe=cuDevicePrimaryCtxRetain device=1
context at=+7ms pid=200 tid=200 probe=cuDevicePrimaryCtxRetain device=2
context at=+8ms pid=200 tid=200 probe=cudaDeviceReset
epoch +1s
end duration
END
"$mkcap" -o context.cap context.script && "$replay" -q --trust run.pub context.cap -o context.db || exit 1
gives "a reset frees what its process held, but says nothing of a process with several devices" \
	"SELECT bytes, coalesce(how, 'held'), free FROM allocations ORDER BY id" "10|context|6
11|held|
12|held|" context.db

# A gap in which launches are missing is none, maybe: the first epoch lost none, the second 7, and the end tells of 1.
cat >gaps.script <<'END'
start 500s 1790000000s
process at=+0 pid=100 start=+0 name=one
repeat 3 100ms launch at=+100ms pid=100 tid=100 dur=1us
epoch +500ms
repeat 2 300ms launch at=+600ms pid=100 tid=100 dur=1us
lost cudaLaunchKernel sampled_out 5
lost cudaLaunchKernel ring_full 2
lost cudaMalloc ring_full 9
epoch +1s
repeat 2 100ms launch at=+1.1s pid=100 tid=100 dur=1us
lost cudaMalloc ring_full 9
epoch +1.5s
repeat 2 100ms launch at=+1.6s pid=100 tid=100 dur=1us
epoch +2s
lost cudaLaunchKernel in_flight 1
end duration
END
"$mkcap" -o gaps.cap gaps.script && "$replay" -q --trust run.pub gaps.cap -o gaps.db || exit 1
gives "a gap has the number of launches that are missing in its epochs" \
	"SELECT ((end_ns - 500000000000) / 1000000) || ' ' || missing FROM launch_gaps ORDER BY id" "199 0
299 0
599 7
899 7
1099 7
1199 0
1599 1
1699 1" gaps.db

# Failures.
check_exit 3 "a database that is there is not replaced" "$replay" --trust run.pub run.cap -o run.db
cp run.cap flip.cap
flip_byte flip.cap $(($(stat -c %s run.cap) - 400))
check_exit 1 "a forged capture becomes none" "$replay" --trust run.pub flip.cap -o flip.db
{ echo "pace 100ms"; for i in $(seq 40); do echo "repeat 20000 1us launch at=+${i}00ms pid=100 tid=100 dur=1us~1ns function=0x123456789~1"; done; } >big.script
"$mkcap" -o big.cap big.script || exit 1
check_exit 3 "a file size limit is told" bash -c 'ulimit -f 2000; exec "$0" --trust run.pub big.cap -o big.db' "$replay"
check_says 'big\.db' "in a sentence that names the output"
"$replay" -q --trust run.pub big.cap -o big.db &
pid=$!
has_begun() { [ -n "$(find . -name '*.part' -size +100k)" ]; }
until_true has_begun
kill -TERM $pid
wait $pid
check "a killed run leaves no database under the final name" [ ! -e big.db ]
check "nor anything else" [ -z "$(find . -name '*.part' -o -name flip.db)" ]

# A progress bar, where somebody can see it.
if command -v script >/dev/null; then
	TERM=xterm script -qec "'$replay' --trust run.pub big.cap -o bar.db" /dev/null >bar.txt 2>&1
	check "on a terminal a bar shows how far it has come" grep -q '\[#* *\]  *[0-9]* %' bar.txt
	check "and the database is whole" [ "$(sql "SELECT count(*) FROM launches" bar.db)" = 800000 ]
	TERM=xterm script -qec "'$replay' -q --trust run.pub --force big.cap -o bar.db" /dev/null >bar.txt 2>&1
	check "but not with -q" [ ! -s bar.txt ]
else
	skip "on a terminal a bar shows how far it has come" "there is no script(1) here"
fi
"$replay" --trust run.pub --force big.cap -o bar.db >bar.txt 2>&1
check "nor in a file" sh -c '! grep -q % bar.txt'

# What SQLite reads along with a database of its name, whosever it is: what a reader left that crashed, or a forger.
"$replay" -q --trust run.pub run.cap -o whole.db
rows="SELECT count(*), sum(dur_ns), sum(ret) FROM calls"
truth=$(sqlite3 whole.db "$rows")
cp whole.db old.db
sqlite3 old.db "PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=0; UPDATE calls SET ret = 999" ".system cp old.db-wal forged-wal" >out 2>err
cp forged-wal side.db-wal
check_exit 3 "beside the log of another database none is made" "$replay" -q --trust run.pub run.cap -o side.db
check_says 'side\.db-wal is there, and would be read along with it; --force removes it' "the sentence says why"
check "and none is there" [ ! -e side.db ]
check_exit 0 "unless it is to be removed" "$replay" -q --trust run.pub --force run.cap -o side.db
check "which it is" [ ! -e side.db-wal ]
check "and all rows are the capture's" [ "$(sqlite3 side.db "$rows")" = "${truth:?}" ]
cp whole.db side.db
cp forged-wal side.db-wal
check "(with it they were not)" [ "$(sqlite3 side.db "$rows")" != "$truth" ]
for ending in journal shm; do
	touch "new.db-$ending"
	check_exit 3 "nor beside $ending" "$replay" -q --trust run.pub run.cap -o new.db
	rm "new.db-$ending"
done
mkdir new.db-wal
check_exit 3 "what cannot be removed is an error, by force as well" "$replay" -q --trust run.pub --force run.cap -o new.db
check "and leaves nothing" [ -z "$(find . -name 'new.db*' -type f)" ]
touch new.txt-wal
check_exit 0 "no other output minds them" "$replay" -q --trust run.pub run.cap -o new.txt
finish
