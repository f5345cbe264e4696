#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# gpurec --check, and what gpurec shows on a terminal while it records.
. "$(dirname "$0")/lib.sh"
gpurec=$BUILD/gpurec

# --check -------------------------------------------------------------------------------------------------------------
# Of one process: what else uses CUDA here, and when, is not for this test to say.
"$gpurec" --check -p $$ -o "$TMP/x.cap" >"$TMP/out" 2>"$TMP/err"
possible=$?
said() { grep -Eq "^(ok|note|no) +$1 " "$TMP/out" || { cat "$TMP/out"; return 1; }; }
for what in kernel configuration "type information" "pid namespace" "BPF policy" "perf policy" lockdown memlock clock \
	capabilities driver GPUs "kernel log" output "disk speed" "disk space" seccomp Landlock; do
	check "--check tells of: $what" said "$what"
done
check "it makes no file" test -z "$(find "$TMP" -name '*.cap')"
check "its last line is the answer" sh -c 'tail -n 1 "$1" | grep -q "^Recording is"' sh "$TMP/out"
json() { # EXPRESSION on the object: gives 1
	local got
	got=$(sqlite3 :memory: "SELECT $1 FROM (SELECT CAST(readfile('$TMP/json') AS TEXT) AS j)") || return
	echo "$got"
	[ "$got" = 1 ]
}
"$gpurec" --check --json -p $$ -o "$TMP/x.cap" >"$TMP/json" 2>"$TMP/err"
check "with --json it is one object" json 'json_valid(j)'
check "on one line" test "$(wc -l <"$TMP/json")" = 1
check "with as many facts" json "json_array_length(j, '\$.checks') = $(($(wc -l <"$TMP/out") - 1))"
check "and the answer" json "json_extract(j, '\$.possible') = $((possible == 0))"
check "each with a result" json "(SELECT count(*) = sum(json_extract(value, '\$.result') IN ('ok', 'note', 'no'))
	FROM json_each(j, '\$.checks'))"
remedied() { # COMMAND...: nothing is missing without a remedy, in text and in JSON, and something is missing
	"$@" --check -o "$TMP/x.cap" >"$TMP/out" 2>"$TMP/err"
	"$@" --check --json -o "$TMP/x.cap" >"$TMP/json" 2>"$TMP/err"
	json "(SELECT count(*) > 0 AND sum(coalesce(json_extract(value, '\$.remedy'), '') = '') = 0
		FROM json_each(j, '\$.checks') WHERE json_extract(value, '\$.result') <> 'ok')" || { cat "$TMP/json"; return 1; }
	! grep -E '^(no|note) ' "$TMP/out" | grep -v '; '
}
check "what is missing, or less than could be, has a remedy" remedied "$gpurec"
check "so has what cannot be known" sh -c '! grep -Ei "^ok .*(not reported|not known|unknown|cannot be tried)" "$1"' sh "$TMP/out"
check_exit 3 "a folder that is not there is told" "$gpurec" --check -o "$TMP/no/such/x.cap"
check_prints '^no +output .*choose another folder' "with the remedy"
check_exit 2 "--json alone is refused" "$gpurec" --json -o "$TMP/x.cap" -- true
"$gpurec" --check --nvml "$BUILD/workload/libnvidia-ml.so.1" >"$TMP/out"
check_prints '^ok +GPUs +2, driver 999.42' "NVML is asked, where there is one"
NVML_DOUBLE=crash "$gpurec" --check --nvml "$BUILD/workload/libnvidia-ml.so.1" >"$TMP/out"
check_prints '^note +GPUs +.*not answer' "one that crashes is told"
if [ "$(id -u)" = 0 ]; then
	mkdir "$TMP/bin"
	cp "$gpurec" "$TMP/bin"
	chmod 755 "$TMP" "$TMP/bin"
	check_exit 3 "without rights it is not possible" \
		setpriv --reuid 65534 --regid 65534 --clear-groups "$TMP/bin/gpurec" --check -o /tmp/x.cap
	check_prints '^no +capabilities .*missing: CAP_BPF CAP_PERFMON( CAP_SYS_ADMIN)?; .*setcap cap_bpf,cap_perfmon(,cap_sys_admin)?=ep' \
		"and it says which are missing, and how to get them"
	docs=$(dirname "$0")/../../docs
	# The same capabilities are needed, and are for more, wherever it is said; --check asks for CAP_SYS_ADMIN on old kernels.
	in_check() { sed -En 's/^no +capabilities .*missing: ([A-Z_ ]*); .*/\1/p' "$TMP/out" | tr ' ' '\n' | grep -v SYS_ADMIN | sort; }
	in_page() { sed -En 's/^\| `(CAP_[A-Z_]*)` \| nothing is recorded \|.*/\1/p' "$docs/PRIVILEGES.md" | sort; }
	in_man() { sed -n '/^\.It CAP_BPF/p' "$docs/man/gpurec.1" | tr -s '.It,' ' ' | grep -o 'CAP_[A-Z_]*' | sort; }
	others_in_check() { sed -En 's/^note +(CAP_[A-Z_]*) .*/\1/p' "$TMP/out" | sort; }
	others_in_page() { sed -En 's/^\| `(CAP_[A-Z_]*)` \| (less is found|a process may stay).*/\1/p' "$docs/PRIVILEGES.md" | sort; }
	others_in_man() { sed -n '/^Without the others/,/^\.El/s/^\.It //p' "$docs/man/gpurec.1" | sort; }
	same() { local a b; a=$($1); b=$($2); [ -n "$a" ] && [ "$a" = "$b" ] || { printf '%s:\n%s\n%s:\n%s\n' "$1" "$a" "$2" "$b"; return 1; }; }
	check "PRIVILEGES.md calls the same ones needed" same in_check in_page
	check "so does the manual page" same in_check in_man
	check "PRIVILEGES.md has the same ones for more" same others_in_check others_in_page
	check "so has the manual page" same others_in_check others_in_man
	minimum() { ! grep -rhoE '(Linux|kernels? (from|before)) 5\.[0-9]+' "$docs/../README.md" "$docs"/*.md "$docs"/man/* | grep -v '5\.15'; }
	check "no page names another kernel as the oldest" minimum
	check_prints '^note +CAP_SYS_PTRACE +is not held: .*; .*cap_sys_ptrace' "and which would be for more"
	install -d -o 65534 "$TMP/theirs"
	ordinary=(setpriv --reuid 65534 --regid 65534 --clear-groups)
	check "each line that says no has a remedy there, too, the deciding one among them" remedied "${ordinary[@]}" "$TMP/bin/gpurec"
	check_prints '^no +BPF .*not permitted; run as root, or with CAP_BPF and CAP_PERFMON' "which asks for what is needed"
	if "${ordinary[@]}" unshare -U -r true 2>"$TMP/err"; then
		check "root of a user namespace gets a remedy" remedied "${ordinary[@]}" unshare -U -r "$TMP/bin/gpurec"
		check_prints '^no +user namespace +not the host.*; run on the host' "and is told what it is"
		check_prints '^no +capabilities +of a user namespace' "its capabilities count for nothing"
		check "it is not told to run as root of what it is root of" sh -c '! grep -E "^no +BPF .*run as root" "$1"' sh "$TMP/out"
		check_exit 3 "recording says so, too" \
			"${ordinary[@]}" unshare -U -r "$TMP/bin/gpurec" -o "$TMP/theirs/x.cap" -- true
		check_says 'user namespace' "in a sentence"
	else
		skip "root of a user namespace is told what it is" "$(head -n 1 "$TMP/err")"
	fi
	if unshare -p -f --mount-proc true 2>"$TMP/err"; then
		check "another pid namespace gets a remedy" remedied unshare -p -f --mount-proc "$gpurec"
		check_prints '^no +pid namespace +not the host.*; run on the host' "and is told what it is"
		check "no event is said to fail for want of an option of the kernel" sh -c '! grep "did not fire" "$1"' sh "$TMP/out"
	else
		skip "another pid namespace is told" "$(head -n 1 "$TMP/err")"
	fi
fi
# The unit for systemd ------------------------------------------------------------------------------------------------
unit=$(dirname "$0")/../../docs/systemd/gpurec.service
if command -v systemd-analyze >/dev/null && systemd-analyze verify --man=no --help >/dev/null 2>&1; then
	sed -E "s|^(ExecStart=)[^ ]*gpurec |\1$gpurec |" "$unit" >"$TMP/gpurec.service"
	verified() { systemd-analyze verify --man=no "$TMP/gpurec.service" >"$TMP/said" 2>&1; grep gpurec.service "$TMP/said" || return 0; cat "$TMP/said"; return 1; }
	check "systemd finds no fault with the unit" verified
else
	skip "systemd finds no fault with the unit" "there is no systemd-analyze"
fi

if [ "$possible" != 0 ]; then
	skip "the status line" "$(grep -m1 '^no' "$TMP/check")"
	finish
fi
"$gpurec" --check >"$TMP/out"
check_prints '^ok +uprobe +fired' "the proof is an event that fired"

# What is in use, and what is asked for -----------------------------------------------------------------------------------
# In files of its own: who else uses the same file, and how many, is not for this test to say.
mkdir "$TMP/own"
cp "$BUILD/workload/driver" "$BUILD/workload/libcudart.so.12" "$BUILD/workload/libcuda.so.1" "$TMP/own"
"$TMP/own/driver" -q --clean --seconds 60 &
program=$!
until_true grep -q libcudart "/proc/$program/maps"
check_exit 0 "a program that uses CUDA is found" "$gpurec" --check
check_prints "^ok +CUDA library +$TMP/own/libcudart.so.12: ([0-9]+) of \\1 functions probed; in use by $program driver\$" \
	"with its library, the functions, and its name"
check_exit 0 "with -p only that one is looked at" "$gpurec" --check -p $$
check "so it is not listed" sh -c '! grep "$2" "$1"' sh "$TMP/out" "$TMP/own"
check_exit 3 "a process that is not there is told" "$gpurec" --check -p 4194303
check_prints '^no +-p +there is no process 4194303; ' "with a remedy"
check_exit 3 "so is a library without functions" "$gpurec" --check --lib /etc/passwd
check_prints '^no +--lib .*/etc/passwd.*: not an ELF file; ' "with the reason and a remedy"
# Each probe of the host: name, its line, the tracepoint whose line stands there where the kernel lacks it, the option that
# switches it off.
cat >"$TMP/probes" <<'EOF'
sched_switch|sched_switch|sched_switch|
sched_waking|sched_waking|sched_waking|
futex|futex|sys_enter|--no-futex
process_fork|fork|sched_process_fork|
process_exec|exec|sched_process_exec|
process_exit|exit|sched_process_exit|
thread_name|names||
process_name|names||
library_mapped|loading|sys_exit|--no-futex
library_mapped|loading|sys_exit|--no-late-attach
page_fault|page faults|page_fault_user|
oom_victim|OOM killer|mark_victim|
cpu_metric|metrics|sched_switch|no --metrics
quota_throttled|CPU quota||--no-quota
library_call|uprobe||
signal_sent|signals|signal_generate|--no-signals
thread_state|states||
call_in_flight|states||
waker_followed|follow|sched_waking|--no-follow
thread_scheduling|scheduling||
disk_request|disks|block_rq_complete|--no-disks
memory_reclaim|memory|mm_vmscan_direct_reclaim_end|--no-reclaim
network_wait|network|tcp_probe|--no-network
EOF
in_table() { diff <(sed -n 's/^\tHOST([A-Z_]*, \([a-z_]*\),.*/\1/p' "$(dirname "$0")/../../record/probe/probes.c" | sort) <(cut -d'|' -f1 "$TMP/probes" | sort -u); }
check "each probe of the host is known here" in_table
has_line() { grep -Eq "^(ok|note|no) +$1 ${2:+|^note +$2 +this kernel }" "$TMP/out" || { cat "$TMP/out"; return 1; }; } # LINE TRACEPOINT
no_line() { ! grep -E "^(ok|note|no) +$1 " "$TMP/out"; }
check_exit 0 "all that can be recorded is asked for" "$gpurec" --check --metrics 10ms -p $$
while IFS='|' read -r probe line tracepoint _; do
	check "$probe has a line" has_line "$line" "$tracepoint"
done <"$TMP/probes"
for option in $(cut -d'|' -f4 "$TMP/probes" | grep -o '^--.*' | sort -u) ""; do
	check_exit 0 "what is not asked for is not tried: ${option:-metrics}" "$gpurec" --check -p $$ $option ${option:+--metrics 10ms}
	while IFS='|' read -r probe line _ off; do
		[ "$off" != "${option:-no --metrics}" ] || check "$probe has no line then" no_line "$line"
	done <"$TMP/probes"
done
check_exit 0 "one by one is tried when asked for" "$gpurec" --check --uprobes single
check_prints '^ok +uprobe +fired.*one by one' "and works"
kill $program
wait $program 2>/dev/null

# The status line -----------------------------------------------------------------------------------------------------
if ! command -v script >/dev/null; then
	skip "the status line" "there is no script(1) to make a terminal"
	finish
fi
# on_terminal COMMAND: what it shows, carriage returns as line ends
on_terminal() { TERM=${term:-xterm} script -qec "$1" /dev/null </dev/null | tr '\r' '\n' >"$TMP/out"; }
sleep 100 &
sleeper=$!
on_terminal "$gpurec -o $TMP/a.cap -p $sleeper -d 4500ms"
check_prints '^[0-9]+ events/s, 0 lost, [0-9.]+ .?i?B, [0-9]+s left$' "a terminal shows how it goes, and how long it will"
check "once a second" test "$(grep -c 'events/s' "$TMP/out")" -ge 2
check_prints 'gpurec itself' "the summary stands behind it"
on_terminal "$gpurec -o $TMP/b.cap -p $sleeper --max-size 5M -d 1500ms"
check_prints 'B of 5.00 MiB, ' "with --max-size how much of it there is"
on_terminal "stty cols 20; $gpurec -o $TMP/c.cap -p $sleeper -d 1500ms"
check "on a narrow one it is cut" sh -c '! grep events/s "$1" | tr -d "\033" | grep -q "................................"' sh "$TMP/out"
term=dumb on_terminal "$gpurec -o $TMP/d.cap -p $sleeper -d 1500ms"
check "a dumb one shows none" sh -c '! grep -q events/s "$1"' sh "$TMP/out"
on_terminal "$gpurec -q -o $TMP/e.cap -p $sleeper -d 1500ms"
check "nor does -q" test ! -s "$TMP/out"
on_terminal "$gpurec -o $TMP/f.cap -- sleep 1.5"
check "nor is one written over what a command says" sh -c '! grep -q events/s "$1"' sh "$TMP/out"
"$gpurec" -o "$TMP/g.cap" -p $sleeper -d 1500ms >"$TMP/out" 2>&1
check "nor into a file" sh -c '! grep -q "events/s" "$1"' sh "$TMP/out"
kill $sleeper
finish
