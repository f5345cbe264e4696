#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Through which TCP connection came what a thread waited for: against what the program measured itself. An answer that
# the kernel holds back, and sends from a timer's interrupt, is one from elsewhere; one that a thread of this host sends
# is that thread's doing.
# records: each checks only what it started itself
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/rows.sh"
port=$TMP/port

needs_recording "waits for the network"
python=$(python3 -c "import sys; print(sys.executable)" 2>"$TMP/err")
cuda=$BUILD/workload/libcuda.so.1
if [ -z "$python" ] || [ ! -e "$cuda" ]; then
	skip "waits for the network" "there is no python3, or no test double here"
	finish
fi
other= # the other end, which nobody records
other() { # ARGUMENT...
	rm -f "$port"
	"$python" tests/workload/remote.py "$@" &
	other=$!
}
# ask HOW WAY TIMES OPTION...: it is recorded how a program asks a server; sets $waited, as that measured it, and $own, its port
ask() {
	local how=$1 way=$2 times=$3
	shift 3
	other serve "$how" "$port"
	until_true test -e "$port"
	record "$@" -- "$python" tests/workload/remote.py ask "$cuda" "$port" "$times" "$way" &&
		"$BUILD/gpuanalyze" -q --force "$cap" --report="$TMP/report.json" || return 1
	wait "$other"
	read -r waited own <"$TMP/said"
}
feeder="(SELECT tid FROM calls GROUP BY tid)"
# What ended the wait is the next waking of that thread.
waking() { echo "(SELECT $1 FROM wakeups w WHERE w.tid = n.tid AND w.at_ns >= n.at_ns ORDER BY w.at_ns LIMIT 1)"; }
counted="SELECT fired = recorded + lost AND recorded = (SELECT count(*) FROM network_waits) FROM probe_counts WHERE name = 'network_wait'"
named="JOIN connections c ON c.id = (SELECT id FROM connections WHERE number = n.connection AND at_ns <= n.at_ns ORDER BY at_ns DESC LIMIT 1)"

for way in recv poll select epoll; do
	check "a program is recorded that waits for answers from elsewhere ($way)" ask corked $way 5
	check "each is recorded, with its connection, which was begun here ($way)" is "5|1" \
		"SELECT count(*), min(role = 1 AND sender_tid = 0 AND peer = '127.0.0.1:$(cat "$port")' AND local = '127.0.0.1:$own') FROM network_waits n $named WHERE tid IN $feeder AND dur_ns > 100000000"
	# What the thread did around its sleep is in what it measured: not much, but a machine may be busy.
	check "for as long as the program found, or less ($way)" is 1 \
		"SELECT sum(dur_ns) BETWEEN 800000000 AND $waited FROM network_waits WHERE tid IN $feeder AND unread > 0"
	check "where the time went has it ($way)" is 1 \
		"SELECT sum(l.ns) BETWEEN 800000000 AND $waited FROM ledger l WHERE part = 'network' AND tid IN $feeder"
	check "what woke it was no thread ($way)" is 0 \
		"SELECT count(*) FROM network_waits n WHERE tid IN $feeder AND dur_ns > 100000000 AND $(waking context) = 0"
	check "what is counted is there ($way)" is 1 "$counted"
done
check "the text shows both" sh -c '"$1" -q "$2" | grep -q "network .*role=made unread=6" && "$1" -q "$2" | grep -q "connection .*peer=\"127.0.0.1:"' sh "$BUILD/gpureplay" "$cap"
check "the report names who did not answer" sh -c '"$1" "$2" --report | grep -q "waited for the network for .*: 127.0.0.1:$3: "' sh "$BUILD/gpuanalyze" "$cap" "$(cat "$port")"
check "the finding is of that rule, and no other is there" is "network-wait network" \
	"SELECT group_concat(f.value ->> 'rule' || ' ' || (f.value ->> 'class')) FROM json_each(CAST(readfile('$TMP/report.json') AS TEXT), '\$.reports') r, json_each(r.value, '\$.findings') f WHERE f.value ->> 'severity' <> 'info'"
check "where hosts are withheld nobody is named, and the rest stays" sh -c '
	"$1/gpureplay" -q --force "$2" --withhold=host -o "$3/part.cap" && "$1/gpuanalyze" "$3/part.cap" --report | grep -q "waited for the network for .*: an unknown peer: "' sh "$BUILD" "$cap" "$TMP"

for way in recv poll select epoll; do
	check "a program is recorded that waits for a program here ($way)" ask direct $way 40
	check "its waits have rows ($way)" is 1 "SELECT count(*) BETWEEN 35 AND 41 FROM network_waits WHERE tid IN $feeder"
	check "but what woke it is that program, always ($way)" is "$other" \
		"SELECT group_concat(DISTINCT $(waking waker_tid)) FROM network_waits n WHERE tid IN $feeder AND unread > 1"
	check "which the rows say, too ($way)" is "$other" "SELECT group_concat(DISTINCT sender_tid) FROM network_waits WHERE tid IN $feeder AND unread > 1"
	check "it was that one's doing ($way)" is 1 "SELECT sum(ns) > 100000000 FROM ledger WHERE part = 'task' AND tid IN $feeder"
	check "and not the network's ($way)" is 0 "SELECT count(*) FROM ledger WHERE part = 'network' AND tid IN $feeder"
done

check "a program is recorded that sends more than has room" ask late send 2
check "it waits until the other end has taken some" is "1|1" \
	"SELECT max(dur_ns) > 100000000, min(role) FROM network_waits WHERE tid IN $feeder AND unread = 0"
check "which is that program's doing" is "$other" \
	"SELECT group_concat(DISTINCT $(waking waker_tid)) FROM network_waits n WHERE tid IN $feeder AND dur_ns > 100000000"

# Who is asked sleeps of its own accord.
listens() {
	rm -f "$port"
	(until_true test -e "$port" && exec "$python" tests/workload/remote.py send "$port" 3) &
	other=$!
	record -- "$python" tests/workload/remote.py listen "$cuda" "$port" 3
}
check "a program is recorded that waits to be asked" listens
wait "$other"
check "its connection was begun by the other end" is "2" "SELECT group_concat(DISTINCT role) FROM network_waits WHERE tid IN $feeder AND dur_ns > 100000000"
check "that is no wait for the network" is "1|1" "SELECT total(CASE part WHEN 'network' THEN ns END) = 0, total(CASE part WHEN 'choice' THEN ns END) > 300000000 FROM ledger WHERE tid IN $feeder"

check "the same with --no-network" ask corked epoll 2 --no-network
check "has no connections either" is 0 "SELECT count(*) FROM connections"
finish
