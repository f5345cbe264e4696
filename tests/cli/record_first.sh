#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# First calls that take longer than later ones, of Python programs with a library of their own, against the kernel's
# account of how long these were on a CPU.
# records: each checks only what it started itself
. "$(dirname "$0")/lib.sh"
gpurec=$BUILD/gpurec
cap=$TMP/run.cap

needs_recording "first calls"
if ! python3 -c "import os; os.fork" 2>"$TMP/err" || ! command -v "${CC:-cc}" >"$TMP/out"; then
	skip "first calls" "there is no python3, or no C compiler here"
	finish
fi
cuda=$TMP/libcuda.so.1
cat >"$TMP/cuda.c" <<'END'
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
static volatile unsigned long planned, bytes;
void plan(unsigned long ns) { planned = ns; }
void touch(unsigned long n) { bytes = n; }
static unsigned long ran(void) { struct timespec t; clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); return t.tv_sec * 1000000000UL + t.tv_nsec; }
static int work(void) {
	unsigned long until = ran() + planned;
	char *p = bytes ? mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) : MAP_FAILED;
	for (unsigned long i = 0; p != MAP_FAILED && i < bytes; i += 4096) p[i] = 1;
	if (p != MAP_FAILED) munmap(p, bytes);
	while (planned && ran() < until) ;
	planned = bytes = 0;
	return 0;
}
int cuLaunchKernel(void *f) { return f ? work() : 1; }
int cuGraphLaunch(void *g) { return g ? work() : 1; }
int cuMemFree_v2(void *p) { (void)p; return work(); }
int cuMemHostAlloc(void **p, unsigned long n) { (void)p, (void)n; return work(); }
int cuModuleLoadData(void **m, const void *image) { (void)m, (void)image; return work(); }
int cuCtxSynchronize(void) { return work(); }
END
firsts() {
	"$gpurec" -q --force -o "$cap" -- python3 tests/workload/firsts.py "$cuda" "$@" >"$TMP/firsts" || return
	cat "$TMP/firsts"
	[ "$(wc -l <"$TMP/firsts")" = $# ] && "$BUILD/gpuanalyze" -q --json "$cap" >"$TMP/report.json" &&
		"$BUILD/gpureplay" -q --force "$cap" -o "$TMP/run.db"
}
found() { # CLASS: pids of processes with a finding of it, in order
	sqlite3 :memory: "SELECT f.value ->> 'process.pid' FROM json_each(CAST(readfile('$TMP/report.json') AS TEXT), '\$.reports[0].findings') AS f
		WHERE f.value ->> 'rule' = 'first-use' AND f.value ->> 'class' = '$1' ORDER BY 1"
}
alike() { # CLASS WAY...: these have such a finding, and no others
	local class=$1
	shift
	for way; do
		awk -v way="$way" '$1 == way {print $2}' "$TMP/firsts"
	done | sort -n >"$TMP/wanted"
	found "$class" | diff -u "$TMP/wanted" - && return
	sqlite3 -readonly "$TMP/run.db" "SELECT p.pid, l.part, sum(l.ns) FROM ledger l JOIN processes p USING (process) GROUP BY 1, 2"
	return 1
}
# What is unknown (a virtual machine's host may hide switches) may belong to it.
measured() {
	while read -r way pid cpu_ns wall_ns; do
		sqlite3 -readonly "$TMP/run.db" "WITH part AS (SELECT part, sum(ns) AS ns FROM ledger JOIN processes USING (process) WHERE pid = $pid GROUP BY 1),
			got AS (SELECT coalesce((SELECT ns FROM part WHERE part = 'first'), 0) AS first, coalesce((SELECT ns FROM part WHERE part = 'unknown'), 0) AS unknown)
			SELECT '$way', $cpu_ns, first, unknown, $wall_ns FROM got WHERE first + unknown < $cpu_ns * 0.95 - 10000000 OR first > $wall_ns + 20000000"
	done <"$TMP/firsts" >"$TMP/wrong" 2>&1
	cat "$TMP/wrong"
	[ ! -s "$TMP/wrong" ]
}

check "a library whose calls take as long as is asked for is built" "${CC:-cc}" -O1 -shared -fPIC -o "$cuda" "$TMP/cuda.c"
check "programs whose first calls take long are recorded" firsts compiles uploads maps context
check "those that lose by it at work are found" alike at-work compiles uploads maps
check "and the one that loses by it at its start" alike at-start context
check "what they lost is there, as the kernel counts it" measured
check "programs whose calls take long for other reasons are recorded" firsts slow later pins loads waits warms
check "none of them is found" test -z "$(found at-work)$(found at-start)"
check "and they lost nothing else by first calls" measured
finish
