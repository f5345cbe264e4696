#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Which libraries gpurec finds, where they are, and what it tells of them and of processes.
. "$(dirname "$0")/lib.sh"
gpurec=$BUILD/gpurec
cap=$TMP/run.cap

needs_recording "which libraries are found"

# A stand-in for the runtime, and programs that use it -----------------------------------------------------------------
# As the real library does, its functions begin with a landing pad: no probe can be put on a lock-prefixed instruction.
cflags="-O1 -g -fno-optimize-sibling-calls"
[ "$(uname -m)" != x86_64 ] || cflags="$cflags -fcf-protection=branch"
cat >"$TMP/runtime.c" <<'END'
#define HERE __attribute__((noinline, visibility(VISIBILITY)))
HERE int cudaMalloc(void **p, unsigned long n) { *p = (void *)(n + 4096); return 0; }
HERE int cudaFree(void *p) { return p ? 0 : 1; }
HERE int cudaDeviceSynchronize(void) { static volatile int n; return (n++, 0); }
END
cat >"$TMP/static.c" <<'END'
#define VISIBILITY "hidden"
#include "runtime.c"
#include <stdlib.h>
#include <unistd.h>
__attribute__((section(".nv_fatbin"), used)) static const char kernels[] = "code for a GPU";
int main(int argc, char **argv)
{
	void *p;
	for (int i = argc > 1 ? atoi(argv[1]) : 3; i > 0; i--)
		if (cudaMalloc(&p, 16) || cudaFree(p))
			return 1;
	if (argc > 2)
		usleep((useconds_t)atoi(argv[2]) * 1000);
	return 0;
}
END
# opener MS NCALLS [LIBRARY...]: opens each after MS milliseconds, and calls into it after MS more, once $GO is there
cat >"$TMP/opener.c" <<'END'
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	for (int i = 3; i < argc; i++) {
		void *lib, *p;
		int (*alloc)(void **, unsigned long);
		usleep((useconds_t)atoi(argv[1]) * 1000);
		lib = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
		alloc = lib ? (int (*)(void **, unsigned long))dlsym(lib, "cudaMalloc") : NULL;
		if (!alloc)
			return fprintf(stderr, "%s\n", dlerror()), 1;
		usleep((useconds_t)atoi(argv[1]) * 1000);
		while (getenv("GO") && access(getenv("GO"), F_OK))
			usleep(10000);
		for (int n = atoi(argv[2]); n > 0; n--)
			alloc(&p, (unsigned long)i);
	}
	return 0;
}
END
cc=${CC:-cc}
# shellcheck disable=SC2086 # flags are several words
build() {
	(cd "$TMP" && $cc $cflags -DVISIBILITY='"default"' -shared -fPIC runtime.c -o libcudart.so.12 -Wl,--build-id=0xaa01 &&
		$cc $cflags static.c -o static && strip -o stripped static && $cc $cflags opener.c -o opener -ldl)
}
check "the programs of this test are built" build

# view: what is in the capture, as tables
view() {
	local kind
	rm -f "$TMP/view.db"
	"$BUILD/gpureplay" -q --json "$cap" >"$TMP/events" || return
	{
		printf '.mode ascii\n.separator "\\001" "\\n"\nCREATE TABLE line(t);\n.import "%s" line\n' "$TMP/events"
		for kind in library module alloc process executable command_line cgroup namespaces fact attach; do
			echo "CREATE VIEW $kind AS SELECT t FROM line WHERE json_extract(t, '\$.kind') = '$kind';"
		done
	} | sqlite3 "$TMP/view.db"
}
# of EXPRESSION TABLE [REST]: a query in which [name] stands for a field
of() {
	local sql="SELECT $1 FROM $2 ${3-};"
	sqlite3 "$TMP/view.db" "$(sed -E "s/\[([a-z_]+)\]/json_extract(t, '\$.\1')/g" <<<"$sql")"
}
# holds VALUE EXPRESSION TABLE [REST]
holds() {
	local want=$1 got
	shift
	got=$(of "$@")
	[ "$got" = "$want" ] && return
	grep -E '"kind":"(library|module)"' "$TMP/events" | tail -n 20
	cat "$TMP/said"
	echo "wanted $want, got: $got" # last: of long output the end is shown
	return 1
}
record() { "$gpurec" -v -o "$cap" --force "$@" >"$TMP/said" 2>&1 && view; }

# The runtime linked in ------------------------------------------------------------------------------------------------
check "a program with the runtime linked in is recorded" record -- "$TMP/static" 5
check "it is told as such: all that it has is probed" holds 4:3:3: \
	"[role] || ':' || [functions] || ':' || [probed] || ':' || [reason]" library
check "every call of it is there" holds 5 "count(*)" alloc
check "a program with the runtime linked in and stripped is recorded" record -- "$TMP/stripped" 5
check "it is told that only the driver's calls can be recorded" holds "4:0:0:1" \
	"[role] || ':' || [functions] || ':' || [probed] || ':' || ([reason] LIKE '%stripped%driver%')" library
check "the person is told too" grep -q "$TMP/stripped: the CUDA runtime is linked in and stripped" "$TMP/said"
check "at the end again" grep -q "not recorded: 1 file with the CUDA runtime linked in and stripped" "$TMP/said"
check "nobody claims that it used no CUDA library" grep -q "no CUDA calls in the processes and libraries that could be inspected" "$TMP/said"
check "so is a descendant that runs it" record -- sh -c "true; '$TMP/static' 7; true"
check "of which no call is missed" holds 7 "count(*)" alloc
# Without COMMAND nobody is held: what runs for longer than a moment is seen.
unheld() {
	local recorder pid
	: >"$TMP/said"
	"$gpurec" -v -o "$cap" --force >"$TMP/said" 2>&1 &
	recorder=$!
	until_true grep -q 'recording to' "$TMP/said" || return
	GO=$TMP/seen "$TMP/opener" 1 40 "$TMP/libcudart.so.12" &
	pid=$!
	until_true grep -q "process $pid has a CUDA library" "$TMP/said" && touch "$TMP/seen" && wait $pid || return
	"$TMP/static" 1 60000 &
	pid=$!
	until_true grep -q "process $pid has a CUDA library" "$TMP/said" && kill $pid || return
	kill "$recorder" && wait "$recorder" && view
}
check "libraries that others load later are found while it runs" unheld
check "all calls that came a moment later are there" holds 40 "count(*)" alloc "WHERE [bytes] = 3"
check "within a second, told by the kernel" sh -c 'sed -n "s/.*has a CUDA library; seen after \([0-9]*\)\..*/\1/p" "$1" |
	awk "{ n++; if (\$1 < 1000) soon = 1 } END { exit !(n >= 2 && soon) }"' sh "$TMP/said"
check "a program that begins later, with the runtime linked in, is found as well" holds 1 "count(*)" library "WHERE [role] = 4 AND [functions] = 3"

# What happens while recording begins: a process that is to be recorded becomes another one, and loads its library then.
# becoming COMMAND...: a shell that runs COMMAND, then a program in its place that makes nine calls once $TMP/on is there
becoming() {
	rm -f "$TMP/on" "$cap"
	GO=$TMP/on sh -c '"$@"; exec "$0" 200 9 "$LIB"' "$TMP/opener" "$@" &
	becoming=$!
}
LIB=$TMP/libcudart.so.12
export LIB
from_its_appearance() {
	local recorder
	# shellcheck disable=SC2016 # of that shell
	becoming sh -c 'until [ -s "$0" ]; do :; done' "$cap"
	"$gpurec" -v -o "$cap" -p "$becoming" >"$TMP/said" 2>&1 &
	recorder=$!
	until_true grep -q libcudart "/proc/$becoming/maps" && touch "$TMP/on" && wait "$recorder" && view
}
check "once there is a capture, what a process becomes is followed" from_its_appearance
check "all its calls are there" holds 9 "count(*)" alloc
check "it is told what it became" holds 1 "count(*)" executable "WHERE [path] LIKE '%/opener'"
check "a key with a passphrase" locked_key "$TMP/locked.key" "correct horse battery"
check "which is trusted" "$BUILD/gpukey" trust "$TMP/locked.pub" --name locked
mkfifo "$TMP/passphrase"
asks() { grep -qE '^(0|63) 0x3 ' "/proc/$recorder/syscall"; } # it reads from descriptor 3
# while_asked PID COMMAND...: records it; COMMAND has to succeed before the passphrase is told
while_asked() {
	local pid=$1
	shift
	"$gpurec" -v -o "$cap" -p "$pid" --key "$TMP/locked.key" --passphrase-fd 3 3<>"$TMP/passphrase" >"$TMP/said" 2>&1 &
	recorder=$!
	until_true asks && touch "$TMP/asked" && until_true "$@" || return
	echo "correct horse battery" >"$TMP/passphrase"
}
while_it_asks() {
	local recorder
	# shellcheck disable=SC2016
	becoming sh -c 'until [ -e "$0" ]; do sleep 0.02; done' "$TMP/asked"
	while_asked "$becoming" grep -q libcudart "/proc/$becoming/maps" || return
	until_true grep -q 'recording to' "$TMP/said" && touch "$TMP/on" && wait "$recorder" && view
}
check "so is what it became while the passphrase was awaited" while_it_asks
check "with all its calls" holds 9 "count(*)" alloc
check "it is told as what it is" holds opener:0 \
	"replace([path], rtrim([path], replace([path], '/', '')), '') || ':' || (SELECT count(*) FROM line WHERE t LIKE '%\"kind\":\"exec\"%')" executable

# It had the library, and becomes a program that has none.
leaving() {
	local recorder pid
	rm -f "$TMP/asked" "$cap"
	# shellcheck disable=SC2016
	LD_PRELOAD=$LIB sh -c 'unset LD_PRELOAD; until [ -e "$0" ]; do sleep 0.02; done; exec sleep 60' "$TMP/asked" &
	pid=$!
	while_asked $pid grep -q sleep "/proc/$pid/comm" || return
	until_true grep -q 'recording to' "$TMP/said" && kill $pid && wait "$recorder" && view
}
check "a process that had a library when it was looked at" leaving
check "is not told as one that has it, if it had none any more when recording began" holds 0:1:sleep \
	"(SELECT count(*) FROM library) || ':' || (SELECT count(*) > 0 FROM attach) || ':' || replace([path], rtrim([path], replace([path], '/', '')), '')" executable

nvcc=/usr/local/cuda/bin/nvcc
if [ -x "$nvcc" ]; then
	cat >"$TMP/axpy.cu" <<'END'
__global__ void axpy(float *a, float b) { a[threadIdx.x] += b; }
int main() { float *p = 0; for (int i = 0; i < 4; i++) { cudaMalloc(&p, 16); axpy<<<1, 32>>>(p, 1.f); } return 0; }
END
	nvcc_build() { "$nvcc" -o "$TMP/nv-$1" -cudart "$1" "$TMP/axpy.cu" && strip -o "$TMP/nv-$1-stripped" "$TMP/nv-$1"; }
	launches() { grep -c '"kind":"launch".*"probe":"__cudaLaunchKernel"' "$TMP/events"; }
	check "nvcc builds a program with a static runtime" nvcc_build static
	check "which is recorded" record -- "$TMP/nv-static"
	check "with all its calls" holds 4:4:0 "count(*) || ':$(launches)' || ':' || sum([ret] = 0)" alloc
	check "its runtime is told as linked in" holds 4:1 "[role] || ':' || ([probed] = [functions] AND [probed] > 40)" library
	check "nvcc builds a program with a shared runtime" nvcc_build shared
	LD_LIBRARY_PATH=/usr/local/cuda/lib64:/usr/local/cuda/lib
	export LD_LIBRARY_PATH
	check "which is recorded" record -- "$TMP/nv-shared"
	check "with all its calls" holds 4:4:0 "count(*) || ':$(launches)' || ':' || sum([ret] = 0)" alloc
	check "it is nothing but a library's" holds 1 "group_concat([role])" library
	check "stripped of symbols it has kernels, and a runtime elsewhere" record -- "$TMP/nv-shared-stripped"
	check "so it is the library's still" holds 1 "group_concat([role])" library
	check "a static one that is stripped" record -- "$TMP/nv-static-stripped"
	check "is told as such" holds "4:0:1" "[role] || ':' || [functions] || ':' || ([reason] LIKE '%stripped%')" library
	unset LD_LIBRARY_PATH
else
	skip "programs built by nvcc" "there is no nvcc here"
fi

# A shell with job control tells of stopped jobs: to look at a new program it is not stopped there.
jobs_go_on() {
	cp "$TMP/static" "$TMP/fresh"
	record -- bash -c "set -m; '$TMP/fresh' 3; echo ended \$?; jobs" || return
	cat "$TMP/said"
	grep -q 'ended 0' "$TMP/said" && ! grep -qi stopped "$TMP/said"
}
check "a shell with job control sees none of its jobs stopped" jobs_go_on
check "if it ends before it could be looked at, the capture says so" holds 1 \
	"(SELECT count(*) FROM library) + (SELECT count(*) FROM fact WHERE [name] = 'files_gone') > 0" "(SELECT 1)"

# The recorder stands still until the command has ended, and its time is up.
too_late() {
	local recorder ended
	cp "$TMP/static" "$TMP/fresh"
	"$gpurec" -d 2s -o "$cap" --force -- bash -c "set -m; kill -STOP \$PPID; '$TMP/fresh' 3; true" >"$TMP/said" 2>&1 &
	recorder=$!
	until_true sh -c 'ps --ppid "$1" -o stat= | grep -q Z' sh "$recorder"
	ended=$?
	sleep 2 # speed: the time of -d passes by the clock
	kill -CONT "$recorder"
	wait "$recorder" && [ "$ended" = 0 ] && view
}
check "a program that ends with the recording is recorded, or not" too_late
check "where its file was not looked at any more, the capture says so" holds 1 \
	"(SELECT count(*) FROM library) + (SELECT count(*) FROM fact WHERE [name] = 'files_gone') > 0" "(SELECT 1)"
check "the person is told, too" grep -q "not recorded: .* ended before .* libraries could be inspected" "$TMP/said"
check "and nobody claims that nothing used CUDA" sh -c '! grep "nothing recorded used a CUDA library" "$1"' sh "$TMP/said"

# Several files ---------------------------------------------------------------------------------------------------------
mkdir "$TMP/wheel" "$TMP/copy" "$TMP/gone" "$TMP/none"
cp "$TMP/libcudart.so.12" "$TMP/wheel/libcudart-a1b2c3.so.12.0"
cp "$TMP/libcudart.so.12" "$TMP/wheel/renamed.so"
check "several copies in one process are recorded" record -- "$TMP/opener" 1 6 "$TMP/libcudart.so.12" \
	"$TMP/wheel/libcudart-a1b2c3.so.12.0" "$TMP/wheel/renamed.so"
check "each is found, also under a name that tells nothing" holds 1:1:1:3 \
	"group_concat([role], ':') || ':' || count(DISTINCT [module])" library
check "no call of any is missed, and none is there twice" holds 6:6:6 \
	"sum([bytes] = 3) || ':' || sum([bytes] = 4) || ':' || sum([bytes] = 5)" alloc
cp "$BUILD/gpukey" "$TMP/none/libcudart.so.11" 2>/dev/null
head -c 4096 /dev/urandom >"$TMP/none/libnccl.so.2"
$cc -shared -fPIC -x c - -o "$TMP/none/libcuda.so.1" <<<'int unlike(void) { return 0; } int cudaMalloc_(void) { return 1; }'
opens_none() { record -- sh -c "'$TMP/opener' 1 1 '$TMP/none/libcuda.so.1'; true"; }
check "a library of CUDA's name without its functions does not end the recording" opens_none
check "what it lacks is told" holds "2:0:1" "[role] || ':' || [functions] || ':' || ([reason] LIKE '%none of the functions%')" library

gone() {
	local pid recorder
	cp "$TMP/libcudart.so.12" "$TMP/gone/libcudart.so.12"
	GO=$TMP/go "$TMP/opener" 1 9 "$TMP/gone/libcudart.so.12" &
	pid=$!
	until_true grep -q gone/libcudart "/proc/$pid/maps" && rm "$TMP/gone/libcudart.so.12" || return
	"$gpurec" -v -o "$cap" --force -p "$pid" >"$TMP/said" 2>&1 &
	recorder=$!
	until_true grep -q 'recording to' "$TMP/said" && touch "$TMP/go" && wait "$recorder" && view
}
check "a library that was deleted after it was mapped is recorded" gone
check "it is told that it was" holds 1:1 "[deleted] || ':' || ([path] LIKE '%/gone/libcudart.so.12')" module "WHERE [path] LIKE '%gone%'"
check "all its calls are there" holds 9 "count(*)" alloc
check "a process that was there before is told with its program and arguments" holds "1:1" \
	"([text] LIKE '%opener 1 9 %') || ':' || ([bytes] = length([text]))" command_line

# Mount namespaces and overlays ------------------------------------------------------------------------------------------
cp "$TMP/libcudart.so.12" "$TMP/copy/libcudart.so.12"
if unshare -m true 2>/dev/null; then
	# One path, two files.
	namespaces() {
		record -- sh -c "'$TMP/opener' 100 11 '$TMP/libcudart.so.12' & unshare -m --propagation private sh -c \"
			mount --bind '$TMP/copy/libcudart.so.12' '$TMP/libcudart.so.12' && exec '$TMP/opener' 100 22 '$TMP/libcudart.so.12'\"
			wait"
	}
	check "two mount namespaces with different files at one path are recorded" namespaces
	check "as two modules of one path, each in its namespace" holds 2:1:2:2 \
		"count(*) || ':' || count(DISTINCT [path]) || ':' || count(DISTINCT [inode]) || ':' || count(DISTINCT [mount])" \
		module "WHERE [path] LIKE '%libcudart%'"
	# a module's calls: those of the process that is told to have it
	each=$(sed -E "s/\[([a-z_]+)\]/json_extract(t, '\$.\1')/g" <<<"SELECT group_concat(n, ':') FROM (SELECT count(*) AS n FROM
		(SELECT [pid] AS pid, [module] AS module FROM library) JOIN (SELECT [pid] AS p FROM alloc) ON p = pid GROUP BY module ORDER BY n)")
	each_module() { local got; got=$(sqlite3 "$TMP/view.db" "$each"); echo "$got"; [ "$got" = 11:22 ]; }
	check "whose calls are told apart" each_module
	check "the processes' namespaces are told" holds 2 "count(DISTINCT [mount])" namespaces

	overlays() {
		unshare -m --propagation private sh -c "mkdir '$TMP/low' '$TMP/empty' '$TMP/o1' '$TMP/o2' &&
			cp '$TMP/libcudart.so.12' '$TMP/opener' '$TMP/low' &&
			mount -t overlay overlay -o 'lowerdir=$TMP/low:$TMP/empty' '$TMP/o1' &&
			mount -t overlay overlay -o 'lowerdir=$TMP/low:$TMP/empty' '$TMP/o2' &&
			\"\$@\"" sh "$gpurec" -v -o "$cap" --force -- sh -c \
			"'$TMP/o1/opener' 1 5 '$TMP/o1/libcudart.so.12'; '$TMP/o2/opener' 1 7 '$TMP/o2/libcudart.so.12'" >"$TMP/said" 2>&1 &&
			view
	}
	if grep -q overlay /proc/filesystems && unshare -m sh -c "mkdir '$TMP/try' && mount -t overlay overlay -o \
		'lowerdir=$TMP/copy:$TMP/none' '$TMP/try'" 2>/dev/null; then
		check "two containers of one image, each with an overlay, are recorded" overlays
		check "each call once" holds 12 "count(*)" alloc
		check "and both are told" holds 2:1 "count(DISTINCT [module]) || ':' || sum([reason] LIKE '%overlay%')" library
	else
		skip "two overlays over one file" "overlays cannot be mounted here"
	fi
else
	skip "the same path in two mount namespaces" "mount namespaces cannot be made here"
fi

# Many short processes, and numbers that come round ---------------------------------------------------------------------
short() {
	record -- sh -c "i=0; while [ \$i -lt 300 ]; do '$TMP/static' 3 & i=\$((i + 1)); [ \$((i % 10)) != 0 ] || { wait; sleep 0.04; }; done; wait"
}
check "300 processes that live a moment are recorded" short
check "each with its calls, none lost" holds 300:900:3:3 \
	"count(*) || ':' || sum(n) || ':' || min(n) || ':' || max(n)" "(SELECT count(*) AS n FROM alloc GROUP BY [pid])"
lost_nothing() {
	"$BUILD/gpuverify" "$cap" >"$TMP/verdict"
	grep -Eq "^ +lost +nothing" "$TMP/verdict" || { cat "$TMP/verdict" && false; }
}
check "nothing was lost" lost_nothing
check "all were told with their program, also those that were gone before they could be looked at" \
	holds 300 "count(DISTINCT [pid])" executable "WHERE [path] LIKE '%/static'"
check "and with their arguments" holds 300 "count(DISTINCT [pid])" command_line "WHERE [text] LIKE '%/static 3' AND [bytes] = length([text])"
check "and with the module that holds their runtime" holds 300:1 "count(DISTINCT [pid]) || ':' || count(DISTINCT [module])" library

# A process that ends while it is looked at: its program was read, and its arguments are gone. Nobody waits for it, so that
# its number stays its own.
ends() {
	cp "$TMP/static" "$TMP/fleeting"
	FAULTIO_ENDS=fleeting LD_PRELOAD=$BUILD/tests/soak/faultio.so record -- sh -c "unset LD_PRELOAD; '$TMP/fleeting' 1
		(exec '$TMP/fleeting' 2 20) & (exec '$TMP/fleeting' 3 20) & exec sleep 2"
}
ended="IN (SELECT json_extract(t, '\$.pid') FROM alloc GROUP BY 1 HAVING count(*) > 1)"
if [ ! -e "$BUILD/tests/soak/faultio.so" ] || nm -D "$gpurec" | grep -q __asan_; then
	skip "processes that end while they are looked at" "what makes them is not built here, or not with sanitizers"
else
	check "processes that end while they are looked at are recorded" ends
	check "each is told with its program, as the file that it is" holds 2:2 "count(DISTINCT [pid]) || ':' || count(*)" executable \
		"WHERE [path] LIKE '%/fleeting' AND [module] > 0 AND [pid] $ended"
	check "and with its arguments" holds 2 "count(DISTINCT [pid])" command_line "WHERE [text] LIKE '%/fleeting _ 20' AND [pid] $ended"
	check "no other control group and namespaces are told of one than it was in" holds 1:1:0 \
		"(SELECT count(DISTINCT [path]) FROM cgroup) || ':' || count(DISTINCT [mount]) || ':' || sum([mount] = 0 OR [net] = 0)" namespaces
	check "that not all could be read of them is told" holds 1 "count(*)" fact "WHERE [name] = 'processes_gone'"
	# It was met before; what is read of it takes longer than asking waits, and it ends before it is asked again.
	between() {
		FAULTIO_ENDS=fleeting FAULTIO_AGAIN=1 LD_PRELOAD=$BUILD/tests/soak/faultio.so record -- sh -c "unset LD_PRELOAD
			'$TMP/fleeting' 1; (sleep 1.2; exec '$TMP/fleeting' 1 800) & exec sleep 3"
	}
	check "one that ends between what is asked of it is recorded" between
	check "with its program" holds 2 "count(*)" executable "WHERE [path] LIKE '%/fleeting' AND [module] > 0"
	check "and its arguments" holds 1 "count(*)" command_line "WHERE [text] LIKE '%/fleeting 1 800'"
fi

# What was not read yet when recording ends, as its helpers do not answer.
# shellcheck disable=SC2016 # of that shell
unread='"$0" 3 50; keeper=$(pgrep -P $PPID gpurec-inspect); kill -STOP $keeper $(pgrep -P $keeper); exec "$0" 4'
check "a program that could not be read before recording ended is recorded" record -- sh -c "$unread" "$TMP/static"
check "as the file that the kernel saw" holds 2 "count(DISTINCT [pid])" executable "WHERE [path] LIKE '%/static'"
check "with its arguments" holds 1 "count(*)" command_line "WHERE [text] LIKE '%/static 4'"
check "that not all was read is reported" holds 1 "count(*)" fact "WHERE [name] = 'processes_gone'"

# again: a program whose process gets the number that one before it had
cat >"$TMP/again" <<END
#!/bin/sh
first=
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
	'$TMP/static' 4 & first=\$!
	wait
	echo \$((first - 1)) >/proc/sys/kernel/ns_last_pid || exit 1
	'$TMP/static' 5 & second=\$!
	wait
	[ \$first != \$second ] || exit 0
done
exit 1
END
chmod +x "$TMP/again"
if [ -w /proc/sys/kernel/ns_last_pid ]; then
	check "a process number that comes round is recorded" record -- "$TMP/again"
	check "as two instances" holds 1 "count(*)" \
		"(SELECT 1 FROM executable WHERE [path] LIKE '%/static' GROUP BY [pid] HAVING count(DISTINCT [start]) = 2)"
	check "of 4 and 5 calls" holds 9 "count(*)" alloc "WHERE [pid] IN (SELECT [pid] FROM executable WHERE [path] LIKE '%/static'
		GROUP BY [pid] HAVING count(DISTINCT [start]) = 2)"
else
	skip "a process number that comes round" "the next number cannot be chosen here"
fi

# What cannot be seen ------------------------------------------------------------------------------------------------------
long=$(printf '%05000d' 7)
check "a long command line is recorded" record -- sh -c "'$TMP/static'; true" "$long"
check "it is cut, and its length told" holds 1:1 "(length([text]) = 4096) || ':' || ([bytes] > 5000)" command_line \
	"WHERE [bytes] > 4096"
# blind COMMAND...: without the right to look at others, where /proc hides them
blind() {
	unshare -m --propagation private sh -c 'mount -t proc -o hidepid=2 proc /proc && exec "$@"' sh \
		setpriv --bounding-set=-sys_ptrace --inh-caps=-sys_ptrace "$gpurec" -v -o "$cap" --force "$@" \
		>"$TMP/said" 2>&1 && view
}
hidden() {
	unshare -m --propagation private sh -c 'mount -t proc -o hidepid=2 proc /proc && exec "$@"' sh \
		"$gpurec" -v -o "$cap" --force -- "$TMP/static" 3 >"$TMP/said" 2>&1 && view
}
if unshare -m --propagation private mount -t proc -o hidepid=2 proc /proc 2>/dev/null; then
	check "where /proc hides processes, what can be is recorded" hidden
	check "all calls are there" holds 3 "count(*)" alloc
	check "who holds the right to look behind that has nothing to tell of it" holds 0 "count(*)" fact "WHERE [name] = 'proc_hidepid'"
	check "where nothing of others may be seen, recording goes on" blind -- "$TMP/opener" 1 3 "$TMP/libcudart.so.12"
	check "the capture says that /proc hides" holds 1 "count(*)" fact "WHERE [name] = 'proc_hidepid'"
	check "the person is told what is missing" grep -q 'CUDA library that /proc does not show' "$TMP/said"
	check "in the closing summary, too" grep -q 'not recorded: 1 CUDA library mapped by a process that /proc does not show' "$TMP/said"
	check "and that /proc hides processes" grep -q 'not recorded: /proc (hidepid) hides' "$TMP/said"
	check "and the capture" holds 1 "count(*)" fact "WHERE [name] = 'libraries_unseen' AND [value] LIKE '1 %'"
else
	skip "a /proc that hides processes" "it cannot be mounted here"
fi
# What is left away on purpose ----------------------------------------------------------------------------------------------
check "who leaves late attachment away is told what that leaves out" record --no-late-attach -d 300ms -p $$
check "namely libraries" grep -q 'not recorded: libraries that were loaded after recording began (--no-late-attach)' "$TMP/said"
check "so that no call is nothing to go by, either" grep -q 'no CUDA calls in the processes and libraries that could be inspected' "$TMP/said"
check "who leaves futexes away is told, too" record --no-futex -- true
check "namely waits for locks" grep -q 'not recorded: futexes, and with them waits for locks (--no-futex)' "$TMP/said"
check "who leaves nothing away hears nothing of the kind" record -- true
check "but that nothing used CUDA" grep -q 'no CUDA calls: no recorded process used a CUDA library' "$TMP/said"
check "and nothing is missing" sh -c '! grep "not recorded" "$1"' sh "$TMP/said"
finish
