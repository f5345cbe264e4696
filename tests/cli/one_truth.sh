#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# One capture, one answer: the database, the SQLite module, lines of JSON, counters of Perfetto and OpenTelemetry,
# --diff and the report agree on what memory is held, which process holds it, when and how that ended, and what a slow
# call was waiting for. First on captures of one kind of trouble each, then on ten thousand random histories of processes
# (two thousand under sanitizers without LONG=1) and on some hundred random calls (one hundred there).
. "$(dirname "$0")/lib.sh"

if ! command -v sqlite3 >/dev/null; then
	skip "all outputs agree" "no sqlite3 here"
	finish
fi
here=$(cd "$(dirname "$0")/.." && pwd)
replay=$BUILD/gpureplay
analyze=$BUILD/gpuanalyze
sanitizer=$(ldd "$BUILD/gpucap.so" | awk '/lib[at]san|libubsan/ { print $3 }' | paste -sd:)
cd "$TMP" || exit 1
mkdir -p "$GPUREC_HOME/trust" && chmod 700 "$GPUREC_HOME" "$GPUREC_HOME/trust" || exit 1

# make_capture: run.cap from the script on stdin
make_capture() {
	"$BUILD/tests/mkcap" -o run.cap --pub "$GPUREC_HOME/trust/lab.pub" - || exit 1
}
write() { # FORMAT...
	local format
	for format; do
		"$replay" -q --force run.cap -o "run.$format" || return 1
	done
}
in_db() { sqlite3 run.db "$1"; }
in_module() {
	LD_PRELOAD=$sanitizer sqlite3 -bail :memory: ".load $BUILD/gpucap" ".output opened" \
		"SELECT gpucap_open('run.cap')" ".output" "$1"
}
have_protoc() { command -v protoc >/dev/null; }
in_words() { protoc -I "$here/schemas" --decode=Trace perfetto.proto <run.perfetto-trace; }
# The last values of the counters of memory held, summed up by process.
in_perfetto() {
	in_words | awk '/^  track_descriptor \{/ { uuid = "" }
		/^    uuid: / { uuid = $2 }
		/^      pid: / { pid[uuid] = $2 }
		/^    name: ".* memory held"/ { memory[uuid] }
		/^    parent_uuid: / { parent[uuid] = $2 }
		/^    track_uuid: / { track = $2 }
		/^    counter_value: / && track in memory { held[track] = $2 }
		END {
			for (track in held) sum[pid[parent[track]]] += held[track]
			for (p in sum) printf "%d %.0f\n", p, sum[p]
		}' | sort
}
in_csv() { # COLUMN
	sqlite3 :memory: ".mode csv" ".import run.csv run" ".mode list" "SELECT $1 FROM run"
}
in_otlp() { # of one process
	sqlite3 :memory: "SELECT coalesce(sum(value), 0) FROM (SELECT value, row_number() OVER (PARTITION BY kind ORDER BY at DESC, line DESC) AS n FROM
		(SELECT l.key AS line, p.value ->> 'asInt' + 0 AS value, p.value ->> 'timeUnixNano' + 0 AS at,
			p.value ->> '$.attributes[0].value.stringValue' AS kind
		FROM json_each('[' || replace(rtrim(CAST(readfile('run.otlp.json') AS TEXT), char(10)), char(10), ',') || ']') l,
			json_tree(l.value) m, json_each(m.value, '$.sum.dataPoints') p
		WHERE m.type = 'object' AND m.value ->> 'name' = 'gpurec.memory.held')) WHERE n = 1"
}
in_diff() { # NAME
	"$replay" -q --diff --json run.cap run.cap >run.diff &&
		sqlite3 :memory: "SELECT p.value ->> '$.a.held_bytes' FROM json_each(CAST(readfile('run.diff') AS TEXT), '$.processes') p
			WHERE p.value ->> 'process' = '$1'"
}
# report [OPTION...]
# shellcheck disable=SC2120 # it is called with options by way of check
report() {
	"$analyze" -q --json "$@" run.cap >run.json
}
# Of each site that leaks: pid, start, bytes and allocations.
leaks() {
	sqlite3 -separator ' ' :memory: "SELECT f.value ->> '$.process.pid', f.value ->> '$.process.start_ns',
			f.value ->> '$.facts.bytes', f.value ->> '$.facts.allocations'
		FROM json_each(CAST(readfile('run.json') AS TEXT), '$.reports[0].findings') f
		WHERE f.value ->> 'rule' = 'alloc-leak' AND f.value ->> '$.frames[0].symbol' = 'leaking'" | sort
}
is() { # WANTED GOT
	[ "$1" = "$2" ] || { echo "wanted: $1"; echo "got: $2"; return 1; }
}
held_everywhere() { # NAME BYTES BYTES-OF-DIFF
	is "$2" "$(in_db "SELECT coalesce(sum(bytes), 0) FROM outstanding_at_end")" &&
		is "$2" "$(in_module "SELECT coalesce(sum(bytes), 0) FROM outstanding_at_end")" &&
		is "$2" "$(in_db "SELECT bytes FROM outstanding ORDER BY at_ns DESC, bytes LIMIT 1")" &&
		is "$2" "$(in_otlp)" && is "$3" "$(in_diff "$1")" || return 1
	if have_protoc; then
		is "200 $2" "$(in_perfetto)"
	fi
}

have_protoc || skip "memory held in a Perfetto trace, of each capture" "there is no protoc here"

begin='process at=+0s pid=200 start=999s ppid=1 tracked=1 name=driver
thread at=+0s tid=200 pid=200 start=999s name=driver
frame at=+0s stack=7 depth=0 address=0x1000 offset=16 symbol=leaking'
probes='probe 1 process_exit exit
probe 2 process_exec exec
probe 32 cudaMalloc alloc
probe 33 cudaFree free
probe 34 cudaDeviceReset context
probe 35 cudaLaunchKernel launch'
allocs='repeat 400 20ms alloc at=+10ms pid=200 tid=200 dur=10us bytes=256K addr=0x10000000~0x100000 memory=1 stack=7'

make_capture <<END
$probes
$begin
$allocs
context at=+8.5s pid=200 tid=200 dur=1ms device=1
repeat 100 5ms launch at=+8.6s pid=200 tid=200 dur=17us function=0x1000
end command 0
END
write db otlp.json perfetto-trace && report
check "what a device reset took away is held nowhere" held_everywhere driver 0 0
check "it took all of it" is "context 400" "$(in_db "SELECT how || ' ' || count(*) FROM allocations GROUP BY how")"
check "and the report finds no leak" is "" "$(leaks)"

make_capture <<END
$probes
$begin
$allocs flags=1
repeat 400 20ms launch at=+10.1ms pid=200 tid=200 dur=150us function=0x1000
end command 0
END
write db otlp.json perfetto-trace && report
check "allocations that launches made are held everywhere" held_everywhere driver 104857600 104857600
check "and the report says how much" is "200 999000000000 104857600 400" "$(leaks)"

make_capture <<END
$probes
$begin
repeat 400 20ms alloc at=+10ms pid=200 tid=200 dur=10us bytes=256K addr=0x10000000~0x100000 memory=1 stack=7 flags=1
repeat 400 20ms alloc at=+10.1ms pid=200 tid=200 dur=150us bytes=128K addr=0x10000000~0x100000 memory=1 stack=7 flags=1
repeat 400 20ms launch at=+10.2ms pid=200 tid=200 dur=300us function=0x1000
end command 0
END
write db otlp.json perfetto-trace && report
check "an allocation within an allocation within a launch counts once" held_everywhere driver 52428800 52428800
check "also in the report" is "200 999000000000 52428800 400" "$(leaks)"

make_capture <<END
$probes
$begin
$allocs
exit at=+9s pid=200 tid=200 last=1
end command 0
END
write db otlp.json perfetto-trace && report
check "an exit ends what its process held" held_everywhere driver 0 104857600
check "which the report says" is "200 999000000000 104857600 400" "$(leaks)"

make_capture <<END
$probes
$begin
$allocs
exec at=+9s pid=200 tid=200
end command 0
END
write db otlp.json perfetto-trace && report
check "so does another program in the same process" held_everywhere driver 0 0
check "the database says how" is "exec 400" "$(in_db "SELECT how || ' ' || count(*) FROM allocations GROUP BY how")"
check "and the report, that the one before leaked" is "200 999000000000 104857600 400" "$(leaks)"
check "until then" grep -q 'were never freed before the process ran another program' run.json

make_capture <<END
$probes
$begin
process at=+2s pid=200 start=999.004s ppid=1 tracked=1 name=driver
executable at=+2s pid=200 start=999.004s path=/bin/driver
kernel at=+2s pid=200 start=999.004s function=0x1000 name=_Z4stepi
alloc at=+2.1s pid=200 tid=200 dur=10us bytes=1M addr=0x1000 memory=1
launch at=+2.2s pid=200 tid=200 dur=200us function=0x1000
process at=+3s pid=200 start=998.992s ppid=1 tracked=1 name=driver
process at=+4s pid=200 start=3.99s ppid=1 tracked=1 name=other
end command 0
END
write db
report
check "rows whose starts differ by less than a tick of /proc are of one process" \
	is "driver other" "$(in_db "SELECT group_concat(name, ' ') FROM processes")"
check "and what they say is known of it" is "/bin/driver" "$(in_db "SELECT path FROM processes WHERE name = 'driver'")"
check "also its kernels" is "step(int)" "$("$replay" -q --json run.cap | sed -n 's/.*"kernel":"\([^"]*\)".*/\1/p')"
check "the module counts as many" is 2 "$(in_module "SELECT count(*) FROM processes")"
check "so does the report" is 2 "$(sed -n 's/.*"processes_running_before": \([0-9]*\).*/\1/p' run.json)"

make_capture <<END
$begin
kernel at=+1s pid=200 start=999s function=0x1000 name=_Z4stepi
launch at=+2s pid=200 tid=200 dur=200us function=0x1000
kernel at=+3s pid=200 start=999s function=0x2000 name=_Z4lastPf
launch at=+4s pid=200 tid=200 dur=200us function=0x2000 ret=719
end command 0
END
write db && report
check "the database names the kernels of launches" is "step(int) last(float*)" \
	"$(in_db "SELECT group_concat(kernel_shown, ' ') FROM launches")"
check "so do lines of JSON" is "step(int) last(float*) " \
	"$("$replay" -q --json run.cap | sed -n 's/.*"kind":"launch".*"kernel":"\([^"]*\)".*/\1/p' | tr '\n' ' ')"
check "and a finding names that of the launch that failed" grep -q '"headline": "cudaLaunchKernel of last(float\*) returned error 719' run.json
check "also as a fact" grep -q '"kernel": "last(float\*)"' run.json

make_capture <<END
$probes
probe 40 cudaGraphInstantiate graph
probe 41 cudaGraphExecDestroy graph
probe 42 cudaEventCreate stream
$begin
repeat 400 20ms graph at=+10ms pid=200 tid=200 dur=10us exec=0x10000000~0x100 stack=7 probe=cudaGraphInstantiate
repeat 100 80ms graph at=+15ms pid=200 tid=200 dur=10us exec=0x10000000~0x400 probe=cudaGraphExecDestroy
stream at=+8.5s pid=200 tid=200 dur=10us object=0x20000000 stack=7 probe=cudaEventCreate
end command 0
END
write db && report
ends="event left 1
executable graph left 300
executable graph destroyed 100"
objects="SELECT type || ' ' || coalesce(how, 'left') || ' ' || count(*) FROM objects GROUP BY type, how ORDER BY type, how"
check "the database has each object, and how it ended" is "$ends" "$(in_db "$objects")"
check "so has the module" is "$ends" "$(in_module "$objects")"
check "with its handle" is 0x20000000 "$(in_db "SELECT handle FROM objects WHERE type = 'event'")"
check "and the report says which were not destroyed" is "300 400 100" "$(sqlite3 -separator ' ' :memory: "SELECT
	f.value ->> '$.facts.objects', f.value ->> '$.facts.made', f.value ->> '$.facts.destroyed'
	FROM json_each(CAST(readfile('run.json') AS TEXT), '$.reports[0].findings') f WHERE f.value ->> 'rule' = 'object-leak'")"

# A size that a program computed in 32 bits, of 46341 x 46341 elements.
make_capture <<END
$probes
$begin
alloc at=+1s pid=200 tid=200 dur=10us bytes=18446744071562072601 memory=1 ret=2 probe=cudaMalloc stack=7
end command 0
END
write db perfetto-trace && report
"$replay" -q --force --kind alloc run.cap -o run.csv
"$replay" -q --json run.cap >run.jsonl
"$replay" -q run.cap >run.txt
size=-2147479015
check "a negative size is that number in the database" is $size "$(in_db "SELECT bytes FROM calls")"
check "in the module" is $size "$(in_module "SELECT bytes FROM calls")"
check "in lines of JSON" is $size "$(sed -n 's/.*"kind":"alloc".*"bytes":\([-0-9]*\).*/\1/p' run.jsonl)"
check "in text" grep -qE "alloc .*bytes=$size( |\$)" run.txt
check "in CSV" is $size "$(in_csv bytes)"
if have_protoc; then
	check "in a Perfetto trace" grep -q "int_value: $size\$" <(in_words)
else
	skip "in a Perfetto trace" "there is no protoc here"
fi
check "for a filter" is "1 0" "$("$replay" -q --where 'bytes < 0' run.cap | grep -c cudaMalloc) $("$replay" -q --where 'bytes > 1G' run.cap | grep -c cudaMalloc)"
check "and in the report" is $size "$(sqlite3 :memory: "SELECT f.value ->> '$.facts.bytes'
	FROM json_each(CAST(readfile('run.json') AS TEXT), '$.reports[0].findings') f WHERE f.value ->> 'class' = 'impossible-size'")"
check "which calls it a bug, and no lack of memory" sh -c 'grep -q "\"headline\": \"A negative size: " "$1" && ! grep -q batches "$1"' sh run.json

# --- random histories ---

histories=10000
launches=400
case ${LONG:-}$BUILD in /*/asan) histories=2000 launches=100 ;; esac # sanitizers slow this down tenfold
mkdir want
seed=${SEED:-1}
awk -v n=$histories -v seed="$seed" -v dir=want -f "$here/tools/histories.awk" >script && make_capture <script
check "$histories random histories make a capture (SEED=$seed)" test -s run.cap
for file in ends held kept people leaks; do
	sort -o want/$file want/$file
done
check "it is written as a database and as a trace" write db perfetto-trace
check "and a report is made of it" report --set alloc-leak.life=1ms
agrees() { # FILE COMMAND...
	"${@:2}" | tr '|' ' ' | sort >got && diff want/"$1" got >difference || { head -n 20 difference; return 1; }
}
ends="SELECT pid, at_ns, coalesce(how, 'held'), coalesce(end_ns, 0) FROM allocations"
check "the database has each allocation that counts, and how it ended" agrees ends in_db "$ends"
check "so has the module" agrees ends in_module "$ends"
check "in sum processes hold what they should" agrees held in_db "SELECT p.pid, coalesce(sum(o.bytes), 0)
	FROM processes p LEFT JOIN outstanding_at_end o USING (process) GROUP BY p.pid"
last_outstanding() {
	in_db "SELECT pid, sum(bytes) FROM (SELECT pid, bytes, row_number() OVER (PARTITION BY process, memory ORDER BY n DESC) AS back FROM
		(SELECT *, row_number() OVER () AS n FROM outstanding)) WHERE back = 1 GROUP BY pid"
	in_db "SELECT DISTINCT pid, 0 FROM processes WHERE pid NOT IN (SELECT pid FROM allocations)"
}
check "and the sums over time end there" agrees held last_outstanding
counters() {
	in_perfetto >drawn
	cat drawn
	in_db "SELECT DISTINCT pid, 0 FROM processes" | tr '|' ' ' | awk 'NR == FNR { drawn[$1]; next } !($1 in drawn)' drawn -
}
if have_protoc; then
	check "so do the counters of the trace" agrees held counters
else
	skip "so do the counters of the trace" "there is no protoc here"
fi
kept() {
	"$replay" -q --diff --json run.cap run.cap >run.diff &&
		sqlite3 :memory: "SELECT p.value ->> 'process', p.value ->> '$.a.held_bytes'
			FROM json_each(CAST(readfile('run.diff') AS TEXT), '$.processes') p"
}
check "--diff knows what was never given back" agrees kept kept
check "the report has each site that leaks, to the byte" agrees leaks leaks
check "there are as many processes" agrees people in_db "SELECT pid, count(*) FROM processes GROUP BY pid"
in_jsonl() {
	"$replay" -q --kind alloc --json run.cap | 
		json_awk '/"kind":"alloc"/ { print value("at"), value("pid"), value("thread") }' -
}
in_db "SELECT c.at_ns, c.pid, t.name FROM calls c LEFT JOIN threads t USING (thread) WHERE c.kind = 2" | tr '|' ' ' | sort >want/threads
check "lines of JSON name the same threads" agrees threads in_jsonl

# --- random waits ---

awk -v n=$launches -v seed="$seed" -v want=want/waits -f "$here/tools/waits.awk" >script && make_capture <script
sort -o want/waits want/waits
check "$launches random launches that take long make a capture (SEED=$seed)" test -s run.cap
check "it is written as a database" write db
check "and a report is made of it" report --set launch-latency.min-cpu=1us --set launch-latency.min-wait=1us
waits="SELECT pid, dur_ns, on_cpu_ns, waited_for_cpu_ns, futex_ns, asleep_ns, unknown_ns FROM slow_calls"
check "the database says where their time went" agrees waits in_db "$waits"
check "so does the module" agrees waits in_module "$waits"
explained() {
	sqlite3 :memory: "SELECT c.value ->> 'tid', c.value ->> 'end_ns' - c.value ->> 'begin_ns', c.value ->> 'on_cpu_ns',
			c.value ->> 'waiting_for_cpu_ns', c.value ->> 'futex_ns',
			c.value ->> 'page_fault_ns' + c.value ->> 'io_ns' + c.value ->> 'asleep_ns', c.value ->> 'unknown_ns'
		FROM json_each(CAST(readfile('run.json') AS TEXT), '$.reports[0].findings') f,
			json_each(f.value, '$.worst') w, json_each(w.value, '$.chain') c
		WHERE f.value ->> 'rule' = 'launch-latency' AND c.key = 0"
}
check "and the report explains them so" agrees waits explained
awk '{ print $1, $4, $5, $6 }' want/waits | sort >want/parts
parts() {
	"$replay" -q --diff --json run.cap run.cap >run.diff &&
		sqlite3 :memory: "SELECT substr(p.value ->> 'process', 2), p.value ->> '$.a.waited_for_cpu_ns',
				p.value ->> '$.a.futex_ns',
				p.value ->> '$.a.disk_ns' + p.value ->> '$.a.fault_ns' + p.value ->> '$.a.asleep_ns'
			FROM json_each(CAST(readfile('run.diff') AS TEXT), '$.processes') p"
}
check "--diff sums it up likewise" agrees parts parts

# --- where the time went ---
ledger="SELECT part, sum(ns) FROM ledger WHERE fed > 0 GROUP BY part ORDER BY part"
in_db "$ledger" | tr "|" " " | sort >want/ledger
in_report() {
	sqlite3 :memory: "SELECT key, value FROM json_each((SELECT value ->> '$.ledger.parts'
		FROM json_each(CAST(readfile('run.json') AS TEXT), '$.reports'))) WHERE value > 0 ORDER BY key"
}
check "the report says where the time went" test -s want/ledger
check "as the database does" agrees ledger in_report
check "and the module" agrees ledger in_module "$ledger"
seconds="SELECT begin_ns, part, sum(ns) FROM ledger_seconds WHERE thread IN (SELECT thread FROM ledger WHERE fed > 0) GROUP BY 1, 2"
in_db "$seconds" | tr "|" " " | sort >want/seconds
seconds_in_report() {
	sqlite3 :memory: "SELECT s.value ->> 'begin_ns', p.key, p.value FROM json_each((SELECT value ->> '$.ledger.by_second'
		FROM json_each(CAST(readfile('run.json') AS TEXT), '$.reports') LIMIT 1)) AS s, json_each(s.value ->> 'parts') AS p"
}
check "the report says it second by second" test -s want/seconds
check "as the database does second by second" agrees seconds seconds_in_report
check "and the module second by second" agrees seconds in_module "$seconds"
waited="SELECT w.part, coalesce(w.for_tid, -1), sum(w.ns) FROM ledger_waited w JOIN
	(SELECT DISTINCT thread, begin_ns FROM ledger WHERE fed > 0) USING (thread, begin_ns)
	GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2 LIMIT 16"
in_db "$waited" | tr "|" " " | sort >want/waited
waited_in_report() {
	sqlite3 :memory: "SELECT value ->> 'part', coalesce(value ->> 'tid', -1), value ->> 'ns' FROM json_each((SELECT value ->> '$.ledger.waited_for'
		FROM json_each(CAST(readfile('run.json') AS TEXT), '$.reports'))) ORDER BY 1, 2"
}
check "and for whom it waited" test -s want/waited
check "as the database does, too" agrees waited waited_in_report
check "and the module" agrees waited in_module "$waited"
check "what it waited adds up" is 0 "$(in_db "SELECT count(*) FROM (SELECT thread, begin_ns, part, ns FROM ledger WHERE part IN ('task', 'cpu')
	EXCEPT SELECT thread, begin_ns, part, sum(ns) FROM ledger_waited GROUP BY thread, begin_ns, part)")"
check "and what those did meanwhile" is 0 "$(in_db "SELECT count(*) FROM (SELECT thread, begin_ns, part, for_tid, for_thread, ns FROM ledger_waited
	EXCEPT SELECT thread, begin_ns, part, for_tid, for_thread, sum(ns) FROM ledger_did GROUP BY 1, 2, 3, 4, 5)")"
check "all of it" is 0 "$(in_db "SELECT count(*) FROM (SELECT 1 FROM ledger GROUP BY thread, begin_ns HAVING sum(ns) <> end_ns - begin_ns)")"
check "second by second, too" is 0 "$(in_db "SELECT count(*) FROM (SELECT thread, part, ns FROM ledger EXCEPT
	SELECT thread, part, sum(ns) FROM ledger_seconds GROUP BY thread, part)")"
"$replay" -q --force --kind launch run.cap -o run.db
check "but not what a filter left of it" is 0 "$(in_db "SELECT count(*) FROM ledger")"

# A row may have any number for its probe: one beyond all is of no function, in no output.
printf '%s\n' 'probe 16 cudaLaunchKernel launch' 'launch at=+1ms pid=1 tid=1 dur=1us' 'launch at=+2ms pid=1 tid=1 dur=1us probe=65552' \
	'epoch +1s' 'end duration' | "$BUILD/tests/mkcap" -o run.cap --pub "$GPUREC_HOME/trust/lab.pub" - || exit 1
for way in csv folded otlp.json; do
	"$replay" -q --force run.cap -o "run.$way"
	check "one call is cudaLaunchKernel's: $way" is 1 "$(grep -oE '^launch.*cudaLaunchKernel|;cudaLaunchKernel |"name":"cudaLaunchKernel"' "run.$way" | wc -l)"
done
check "one call is cudaLaunchKernel's: lines of JSON" is 1 "$("$replay" -q --json run.cap | grep -c '"probe":"cudaLaunchKernel"')"
finish
