#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What never ends, and what ends badly: of Python programs, and with libraries of their own that hang.
# records: each checks only what it started itself
. "$(dirname "$0")/lib.sh"
gpurec=$BUILD/gpurec
cap=$TMP/run.cap

needs_recording "what never ends, and what ends badly"
if ! python3 -c "import os; os.fork" 2>"$TMP/err" || [ ! -e "$BUILD/workload/libcuda.so.1" ]; then
	skip "what never ends, and what ends badly" "there is no python3, or no test double here"
	finish
fi
nccl=$TMP/libnccl.so.2
# ends WAY...: records them, and ends what is left of them
ends() {
	local status
	"$gpurec" -q --force -o "$cap" -- python3 tests/workload/ends.py "$BUILD/workload/libcuda.so.1" "$nccl" "$@" >"$TMP/ends" 2>"$TMP/err"
	status=$?
	pkill -KILL -f "ends.py $BUILD/workload/libcuda.so.1 $nccl"
	cat "$TMP/err"
	[ "$status" = 0 ] && [ "$(wc -l <"$TMP/ends")" = $# ] && "$BUILD/gpuanalyze" -q --json "$cap" >"$TMP/report.json"
}
# found RULE: class and pid of each process that a finding of it names, in order
found() {
	sqlite3 :memory: "SELECT f.value ->> 'class' || ' ' || (f.value ->> 'process.pid') FROM json_each(CAST(readfile('$TMP/report.json') AS TEXT),
		'\$.reports[0].findings') AS f WHERE f.value ->> 'rule' = '$1' ORDER BY 1"
}
# wanted CLASS WAY...: what found() is to print of these
wanted() {
	local class=$1
	shift
	for way; do
		awk -v way="$way" -v class="$class" '$1 == way {print class, $3}' "$TMP/ends"
	done
}
alike() { # RULE: the findings are those of $TMP/wanted, and no others
	found "$1" >"$TMP/found"
	LC_ALL=C sort "$TMP/wanted" | diff -u - "$TMP/found"
}
headline() { # RULE WAY PATTERN
	local pid
	pid=$(awk -v way="$2" '$1 == way {print $3}' "$TMP/ends")
	sqlite3 :memory: "SELECT f.value ->> 'headline' FROM json_each(CAST(readfile('$TMP/report.json') AS TEXT), '\$.reports[0].findings') AS f
		WHERE f.value ->> 'rule' = '$1' AND f.value ->> 'process.pid' = $pid" >"$TMP/headline"
	grep -Eq "$3" "$TMP/headline" || { cat "$TMP/headline"; return 1; }
}

check "programs that wait, some of them for ever, are recorded" ends inherited pair event server pool timed
wanted lock inherited pair event >"$TMP/wanted"
check "locks that nobody is left to release are found, and no idle server, pool, or wait with a time limit" alike hang
check "who feeds the GPU and waits for the worker is named" headline hang inherited \
	'^[0-9]+ python3 had waited for [0-9.]+ s .*no other thread; [0-9]+ python3, which feeds the GPU'
check "a pair of threads is all of its process" headline hang pair '^All 2 threads of process [0-9]+ python3 had waited'
check "what is in flight is shown with what can end it" sh -c '"$1" -q "$2" | grep -q " in_flight .* dur=.* private untimed"' \
	sh "$BUILD/gpureplay" "$cap"
check "nobody died" test -z "$(found died)"

check "programs whose worker no longer comes are recorded" ends gone_worker busy_worker stopped_worker gone_thread idle_worker done_worker
wanted wait gone_worker busy_worker stopped_worker gone_thread >"$TMP/wanted"
check "those are found that wait for one that ended, computes or is stopped, and no others" alike hang
check "with how it ended" headline hang gone_worker \
	'^[0-9]+ python3, which feeds the GPU, had slept in system call read for .*: [0-9]+ python3, for which it had waited there before, ended [0-9.]+ s before that .exit status 3'
check "that it computes" headline hang busy_worker 'in system call read for .* had waited there before, (was at work|waited for a CPU) (all that time|for the last .* known)'
check "that it was stopped" headline hang stopped_worker 'in system call read for .* had waited there before, was stopped by a signal'
check "or that it, a thread, ended" headline hang gone_thread 'in system call futex for .* had waited there before, ended [0-9.]+ s before that$'

if command -v "${CC:-cc}" >"$TMP/out"; then
	cat >"$TMP/nccl.c" <<'END'
#include <unistd.h>
struct id { char bytes[128]; };
static volatile int is_stuck;
void stuck(void) { is_stuck = 1; }
static int hang(void) { while (is_stuck) pause(); return 0; }
int ncclCommInitRank(void **comm, int nranks, struct id id, int rank) { (void)comm, (void)id; return nranks > rank ? 0 : 1; }
int ncclAllReduce(const void *from, void *to, unsigned long n, int type, int op, void *comm, void *stream)
{ (void)from, (void)to, (void)n, (void)type, (void)op, (void)comm, (void)stream; return hang(); }
int cudaStreamSynchronize(void *stream) { (void)stream; return hang(); }
END
	check "a library that hangs is built" "${CC:-cc}" -O1 -shared -fPIC -o "$nccl" "$TMP/nccl.c"
	check "ranks that wait for one that does not come are recorded" ends missing_asleep missing_busy missing_gone
	wanted missing-rank missing_asleep missing_busy missing_gone >"$TMP/wanted"
	check "it is named, and no other" alike hang
	check "of those that wait in the collective itself" headline hang missing_asleep \
		'^2 of 3 ranks had waited in ncclAllReduce.*rank 2.* came to 3 collectives, the others to 4, and since spent .* asleep in system call read'
	check "of those that wait behind it" headline hang missing_busy '^3 of 4 ranks had waited in cudaStreamSynchronize.*rank 3.*, and (since|of the last [0-9.]+ m?s) spent .*(on (a )?CPU|waiting for a CPU)'
	check "one that ended" headline hang missing_gone '^4 of 5 ranks .*, and ended \(exit status 7\)'
else
	skip "ranks that wait for one that does not come" "there is no C compiler here"
fi

check "workers that die are recorded" ends bus segv abort killed terminated failed
{ wanted crashed bus segv && wanted aborted abort && wanted killed killed; } >"$TMP/wanted"
check "those that crashed, aborted or were killed by a stranger are found, and no others" alike died
check "with the signal, and who waited for it" headline died bus 'was killed by SIGBUS, .*which feeds the GPU, waited for it [0-9.]+ (ms|s) in all'
check "with who sent it" headline died killed 'was killed by SIGKILL, .*; [0-9]+ python3 sent it'
check "nothing hung" test -z "$(found hang)"
finish
