#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# When the GPU had no work while a program waited, against a GPU of the test's own that knows it.
# records: each checks only what it started itself
. "$(dirname "$0")/lib.sh"
gpurec=$BUILD/gpurec
cap=$TMP/run.cap

needs_recording "when the GPU had no work"
if ! python3 -c "import os; os.fork" 2>"$TMP/err" || ! command -v "${CC:-cc}" >"$TMP/out"; then
	skip "when the GPU had no work" "there is no python3, or no C compiler here"
	finish
fi
cuda=$TMP/libcudart.so.12
cat >"$TMP/cuda.c" <<'END'
#include <time.h>
#define STREAMS 8
#define WORKS 65536
#define ROOM_NS 30000000UL /* a queue is full that has so much work */
typedef unsigned long ulong;
static struct { void *stream; int device; ulong until; } queues[STREAMS];
static struct { ulong begin, end; } works[WORKS];
static ulong planned, marked;
static int n, device;
void plan(ulong ns) { planned = ns; }
static ulong now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1000000000UL + t.tv_nsec; }
static int until(ulong ns) {
	struct timespec t = {ns / 1000000000UL, ns % 1000000000UL};
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, 0)) ;
	return 0;
}
static ulong *queue(void *stream) {
	int i = 0;
	while (i < STREAMS - 1 && queues[i].until && (queues[i].stream != stream || (!stream && queues[i].device != device))) i++;
	queues[i].stream = stream;
	queues[i].device = device;
	return &queues[i].until;
}
static int give(void *stream, ulong ns) {
	ulong *q = queue(stream), at;
	if (*q > now() + ROOM_NS) until(*q - ROOM_NS);
	at = now();
	if (*q < at) *q = at;
	*q += ns;
	if (n < WORKS) works[n].begin = at, works[n++].end = *q;
	return 0;
}
ulong idle(ulong from, ulong to) { /* works begin one after the other */
	ulong sum = 0, busy = 0;
	for (int i = 0; i < n; i++) {
		ulong begin = works[i].begin < to ? works[i].begin : to;
		if (begin > from && begin > busy) sum += begin - (busy > from ? busy : from);
		if (works[i].end > busy) busy = works[i].end;
	}
	return busy < to ? sum + to - (busy > from ? busy : from) : sum;
}
int cudaSetDevice(int d) { device = d; return 0; }
int cudaStreamCreate(void **s) { *s = (void *)0x5000; return 0; }
int cudaLaunchKernel(void *f, ulong g, int gz, ulong b, int bz, void **args, ulong shared, void *stream) { (void)f, (void)g, (void)gz, (void)b, (void)bz, (void)args, (void)shared; return give(stream, planned); }
int cudaGraphLaunch(void *g, void *stream) { (void)g; return give(stream, planned); }
int cudaMemcpyAsync(void *d, void *s, ulong bytes, int direction, void *stream) { (void)d, (void)s, (void)bytes, (void)direction; return give(stream, planned); }
int cudaMemcpy(void *d, void *s, ulong bytes, int direction) { (void)d, (void)s, (void)bytes, (void)direction; return give(0, 1000) + until(*queue(0)); }
int cudaStreamSynchronize(void *stream) { return until(*queue(stream)); }
int cudaDeviceSynchronize(void) {
	for (int i = 0; i < STREAMS; i++) if (queues[i].until && queues[i].device == device) until(queues[i].until);
	return 0;
}
int cudaEventRecord(void *event, void *stream) { (void)event; marked = *queue(stream); return 0; }
int cudaEventSynchronize(void *event) { (void)event; return until(marked); }
int cudaEventQuery(void *event) { (void)event; return now() < marked ? 600 : 0; }
END
idling="streams device result events polled"
working="second full_of_copies"
shown="synced asked ahead elsewhere full_of_launches full_of_graphs full_of_copies_on_the_gpu"
told() { # PID COLUMN PARTS: the sum of that column of its waits, in ns
	sqlite3 -readonly "$TMP/run.db" "SELECT sum(l.$2) FROM ledger l JOIN processes p USING (process) WHERE p.pid = $1 AND l.part IN ($3)"
}
queues() {
	"$gpurec" -q --force -o "$cap" -- python3 tests/workload/queues.py "$cuda" $idling $working $shown >"$TMP/queues" || return
	cat "$TMP/queues"
	[ "$(wc -l <"$TMP/queues")" = 14 ] && "$BUILD/gpureplay" -q --force "$cap" -o "$TMP/run.db" &&
		"$BUILD/gpuanalyze" -q --json "$cap" >"$TMP/report.json"
}
# No more is told than was so; and of those that leave nothing, nearly all.
of_way() {
	local most least
	read -r pid waited idle < <(awk -v way="$1" '$1 == way { print $2, $3, $4 }' "$TMP/queues")
	least=$(told "$pid" gpu_idle_ns "'task'")
	most=$(told "$pid" gpu_idle_ns "'task', 'cpu'")
	echo "waited $waited ns, $idle without work; told: ${least:-nothing}, and with waits for a CPU ${most:-nothing}"
	[ "${least:-x}" != x ] && [ "$least" -le "$idle" ] && [ "$most" -ge $((idle / 10 * $2)) ]
}
check "a GPU is built for it" "${CC:-cc}" -std=gnu11 -Wall -Wextra -O1 -fno-inline -shared -fPIC -o "$cuda" "$TMP/cuda.c"
check "programs that wait beside it are recorded" queues
for way in $idling; do
	check "$way: it had no work while the program waited" of_way "$way" 8
done
for way in $working $shown; do
	check "$way: it had some" of_way "$way" 0
done
# The report lists those only that were waited for longest.
agree() {
	local report="json_extract(CAST(readfile('$TMP/report.json') AS TEXT), '\$.reports[0].ledger"
	sqlite3 -readonly "$TMP/run.db" "SELECT sum(gpu_idle_ns), $report.gpu_idle.ns') FROM ledger WHERE fed > 0;
		WITH listed AS (SELECT value ->> 'tid' AS tid, value ->> 'ns' AS ns, value ->> 'gpu_idle_ns' AS idle
				FROM json_each($report.waited_for')) WHERE value ->> 'part' = 'task' AND tid > 0),
			same AS (SELECT * FROM listed INTERSECT SELECT for_tid, sum(ns), sum(gpu_idle_ns) FROM ledger_waited w
				WHERE part = 'task' AND EXISTS (SELECT * FROM ledger l WHERE l.thread = w.thread AND l.fed > 0) GROUP BY 1)
			SELECT (SELECT count(*) FROM listed WHERE idle > 0), (SELECT count(*) FROM same WHERE idle > 0)" >"$TMP/sums"
	cat "$TMP/sums"
	[ "$(awk -F'|' '$1 > 0 && $1 == $2' "$TMP/sums" | wc -l)" = 2 ]
}
check "the report and the database tell the same" agree
# starved WAY KEY: that key of its finding
starved() {
	local pid
	pid=$(awk -v way="$1" '$1 == way { print $2 }' "$TMP/queues")
	sqlite3 :memory: "SELECT f.value ->> '$2' FROM json_each(CAST(readfile('$TMP/report.json') AS TEXT), '\$.reports[0].findings') AS f
		WHERE f.value ->> 'rule' = 'starved' AND f.value -> 'process' ->> 'pid' = $pid" | tee "$TMP/starved"
}
told_left() { # WAY: that it had work meanwhile is told, no more of it than was so, and most of it
	local waited idle left
	read -r waited idle < <(awk -v way="$1" '$1 == way { print $3, $4 }' "$TMP/queues")
	left=$(starved "$1" '$.facts.gpu_left_ns')
	echo "waited $waited ns, $idle without work; told with some: ${left:-nothing}"
	[ "${left:-0}" -gt $((waited / 10 * $2)) ] && [ "$left" -le $((waited - idle)) ]
}
for way in $shown; do
	check "$way: that it had work left is known" told_left "$way" 5
done
told_none() { [ "$(starved "$1" '$.facts.gpu_left_ns')" = 0 ]; }
for way in $idling $working; do
	check "$way: nothing shows that it had some" told_none "$way"
done
costs() { # WAY SEVERITY TEXT
	[ "$(starved "$1" '$.severity')" = "$2" ] && starved "$1" '$.cost' | grep -q "$3"
}
check "that it had none is in what is found" costs streams warning "the GPU had no work of this process for at least"
check "and that it may have had some" costs full_of_copies info "as far as its calls show, the GPU may have had work left"
had_left() { starved "$1" '$.cost' | grep -q "the GPU had work of this process left for at least\|and some left for at least"; }
for way in full_of_launches full_of_graphs full_of_copies_on_the_gpu; do
	check "$way: its finding has that work was left" had_left $way
done
check "and that it had" costs synced info "the GPU had work of this process left for at least .* this cost the GPU little or nothing"
finish
