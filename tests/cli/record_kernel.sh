#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A kernel that does not have all that gpurec asks for: it records what there is, and says what is missing. The kernel
# looks so by type information in which names are changed, mounted over its own where only the test sees it.
. "$(dirname "$0")/lib.sh"
gpurec=$BUILD/gpurec
driver=$BUILD/workload/driver

if ! "$gpurec" --check -o "$TMP/x.cap" >"$TMP/check" 2>&1; then
	skip "kernels that lack something" "$(grep -m1 '^no' "$TMP/check")"
	finish
fi
if ! unshare -m --propagation private mount --bind /dev/null /sys/kernel/btf/vmlinux 2>"$TMP/err"; then
	skip "kernels that lack something" "nothing may be mounted here: $(cat "$TMP/err")"
	finish
fi

# without NAME...: type information of a kernel that does not have these, which btf() shows to a command
without() {
	local name script=
	for name; do script+="s/\\x00$name\\x00/\\x00X${name#?}\\x00/g;"; done
	sed "$script" /sys/kernel/btf/vmlinux >"$TMP/vmlinux"
	! cmp -s /sys/kernel/btf/vmlinux "$TMP/vmlinux"
}
btf() { # COMMAND...
	# shellcheck disable=SC2016 # $1 is the inner shell's
	unshare -m --propagation private \
		sh -c 'mount --bind "$1" /sys/kernel/btf/vmlinux && shift && exec "$@"' sh "$TMP/vmlinux" "$@"
}
facts() { # CAPTURE REGEX
	"$BUILD/gpureplay" -q --json "$1" | grep '"kind":"fact"' >"$TMP/facts"
	grep -E "$2" "$TMP/facts" || { cat "$TMP/facts"; return 1; }
}
count() { # CAPTURE FUNCTION: how many of its events were recorded
	"$BUILD/gpureplay" -q "$1" -o "$TMP/n.db" --force && sqlite3 -readonly "$TMP/n.db" \
		"SELECT coalesce(sum(recorded), 0) FROM probe_counts WHERE name = '$2'"
}
none_of() { [ "$(count "$@")" = 0 ] || { count "$@"; return 1; }; }
some_of() { [ "$(count "$@")" -gt 0 ]; }

# What does not decide --------------------------------------------------------------------------------------------------
# absent NAME TRACEPOINT 'what is not recorded' PROBE ...: any number of three, all absent at once; the capture is NAME.cap
absent() {
	local name=$1 all='' missing=()
	shift
	for ((i = 1; i <= $#; i += 3)); do missing+=("btf_trace_${!i}"); done
	check "there is something to leave out: $name" without "${missing[@]}"
	check_exit 0 "recording is possible all the same" btf "$gpurec" --check -o "$TMP/x.cap"
	cp "$TMP/out" "$TMP/checked"
	check_exit 0 "a program is recorded" btf "$gpurec" -o "$TMP/$name.cap" -- "$driver" -q --clean --seconds 1
	check "with its calls" some_of "$TMP/$name.cap" cudaLaunchKernel
	while [ $# -gt 0 ]; do
		cp "$TMP/checked" "$TMP/out"
		check_prints "^note +$1 .*$2.*; .*CONFIG_" "--check says what is missing without $1, and what would bring it"
		check_says "kernel has no tracepoint $1; not recorded: .*$2" "the console says it, too"
		[ -z "$3" ] || check "nothing of the kind is recorded" none_of "$TMP/$name.cap" "$3"
		all+=${all:+, }$1
		shift 3
	done
	check "and the capture says so" facts "$TMP/$name.cap" "\"name\":\"tracepoints_absent\",\"value\":\"$all\""
}
absent waking sched_waking 'who woke a thread' sched_waking sched_wakeup 'for which CPU a woken thread waits' ''
absent switch sched_switch 'when threads ran' sched_switch
absent sys_enter sys_enter 'waits in futexes' futex
check "and of futexes in words" facts "$TMP/sys_enter.cap" '"name":"futex","value":"not recorded'
absent lives sched_process_fork 'that recorded ones started' process_fork sched_process_exec 'another program' process_exec \
	sched_process_exit 'processes ended' process_exit task_rename 'new names' '' mark_victim 'memory ran out' oom_victim \
	page_fault_user 'page faults' page_fault

# Both of system calls: libraries that are loaded later are looked for --------------------------------------------------
check "there are both to leave out" without btf_trace_sys_enter btf_trace_sys_exit
check_exit 0 "a library that is loaded later is found without system calls" \
	btf "$gpurec" -o "$TMP/late.cap" -- "$driver" -q --clean --dlopen --load-after 500 --settle 1500 --seconds 3
check_says 'no tracepoint sys_exit; .*within a second' "which is said"
check "its calls are recorded" some_of "$TMP/late.cap" cudaLaunchKernel
check_exit 0 "who leaves system calls alone misses nothing" btf "$gpurec" --check --no-futex -o "$TMP/x.cap"
check "and --check says nothing of it" sh -c '! grep -E "sys_enter|sys_exit|futex" "$1"' sh "$TMP/out"

# Several, and with rotation --------------------------------------------------------------------------------------------
check "there are several to leave out" without btf_trace_sched_waking btf_trace_mark_victim
check_exit 0 "several at once" btf "$gpurec" -o "$TMP/r.cap" --rotate 1s -- "$driver" -q --clean --seconds 2
check "each capture of a rotation says so" facts "$TMP/r-00002.cap" '"tracepoints_absent","value":"sched_waking, mark_victim"'

# Programs that the kernel refuses ----------------------------------------------------------------------------------------
# A member that one program alone reads: without it the verifier refuses just that program.
# refused PROGRAM MEMBER 'what is not recorded' PROBE OPTION...; the capture is PROGRAM.cap
refused() {
	local program=$1 member=$2 words=$3 probe=$4
	shift 4
	check "there is a member to leave out: $member" without "$member"
	check_exit 0 "without $program recording is possible" btf "$gpurec" --check "$@" -o "$TMP/x.cap"
	check_prints "^note +BPF program +$program: this kernel refuses it: $words.*; .*-v " "--check says what is missing"
	check "and not why" sh -c '! grep "^ *the kernel: " "$1"' sh "$TMP/out"
	check_exit 0 "with -v" btf "$gpurec" --check -v "$@" -o "$TMP/x.cap"
	check_prints "^ +the kernel: .*$member" "it gives the verifier's own reason"
	check_exit 0 "with --json" btf "$gpurec" --check --json "$@" -o "$TMP/x.cap"
	check_prints "\"detail\":\"[^\"]*$member" "the reason is there"
	check_exit 0 "a program is recorded" btf "$gpurec" -v "$@" -o "$TMP/$program.cap" -- "$driver" -q --clean --seconds 1
	check_says "refuses the BPF program $program: $words" "what is missing is said"
	check_says "reason to refuse $program: .*$member" "and why, with -v"
	check "calls are recorded" some_of "$TMP/$program.cap" cudaLaunchKernel
	check "nothing of the kind is" none_of "$TMP/$program.cap" "$probe"
	check "the capture names the program and the reason" facts "$TMP/$program.cap" \
		"\"name\":\"programs_refused\",\"value\":\"$program: [^\"]*$member"
}
refused on_exec arg_start 'not recorded: when a process began to run another program' process_exec
check "and whose events are missing" facts "$TMP/on_exec.cap" '"tracepoints_absent","value":"sched_process_exec"'
refused on_switch in_iowait 'not recorded: when threads ran' sched_switch
refused on_metrics nivcsw 'not recorded: how busy the CPUs are' cpu_metrics --metrics 100ms
check "that of metrics takes no event of a tracepoint away" facts "$TMP/on_metrics.cap" '"tracepoints_absent","value":"none"'
check "and they are not said to be there" facts "$TMP/on_metrics.cap" '"metrics","value":"not recorded: this kernel'

# What nothing goes without ---------------------------------------------------------------------------------------------
check "there is a member to leave out" without start_boottime
check_exit 3 "a kernel that does not take the programs is told" btf "$gpurec" -o "$TMP/no.cap" -- true
check_says 'does not load the BPF programs' "in a sentence"
check "without the verifier's log" sh -c '! grep "BEGIN PROG LOAD LOG" "$1"' sh "$TMP/err"
check "no capture is left" test ! -e "$TMP/no.cap"
check_exit 3 "with -v -v" btf "$gpurec" -v -v -o "$TMP/no.cap" -- true
check_says 'BEGIN PROG LOAD LOG' "the verifier's log is shown"
check_exit 3 "--check says that recording is not possible" btf "$gpurec" --check -o "$TMP/no.cap"
check_prints '^no +BPF .*on_call.*start_boottime.*; .*-v -v.*report it' "with the program, the reason, and what to do next"
check_exit 3 "of a kernel that is known to be too old" btf setarch --uname-2.6 "$gpurec" --check -o "$TMP/no.cap"
check_prints '^no +BPF .*; it follows from ' "nobody is asked to report that"
: >"$TMP/vmlinux"
check_exit 3 "so does one without type information" btf "$gpurec" --check -o "$TMP/no.cap"
check_prints '^no +BPF .*type information.*; .*CONFIG_DEBUG_INFO_BTF' "with the remedy"
check_exit 3 "and records nothing" btf "$gpurec" -o "$TMP/no.cap" -- true
check_says 'type information.*CONFIG_DEBUG_INFO_BTF' "with the reason"

# Who forbids it --------------------------------------------------------------------------------------------------------
if ! command -v strace >/dev/null || ! strace -o "$TMP/try" true 2>"$TMP/err"; then
	skip "who forbids it is told apart" "strace is not here, or may not trace"
	finish
fi
forbidden() { strace -f -qq -o "$TMP/try" -e inject=bpf:error="$1" "$gpurec" --check -o "$TMP/no.cap"; }
check_exit 3 "the kernel misses rights" forbidden EPERM
check_prints '^no +BPF .*not permitted; run as root' "then --check names them"
check_exit 3 "a security module forbids it, without a word of the verifier" forbidden EACCES
check_prints '^no +BPF .*a security module forbids it; ' "then --check does not ask for rights that are held"
finish
