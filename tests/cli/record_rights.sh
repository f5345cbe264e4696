#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Recording without being root, and what is left of any rights once it has begun.
. "$(dirname "$0")/lib.sh"
nobody=65534

if [ "$(id -u)" != 0 ]; then
	skip "recording with two capabilities" "giving them takes root"
	finish
fi
if ! "$BUILD/gpurec" --check -o "$TMP/x.cap" >"$TMP/check" 2>&1; then
	skip "recording with two capabilities" "$(grep -m1 '^no' "$TMP/check")"
	finish
fi
if ! setpriv --help 2>&1 | grep -q -- --ambient-caps; then
	skip "recording with two capabilities" "there is no setpriv that gives them"
	finish
fi

# Where another user finds them
mkdir "$TMP/bin" "$TMP/theirs"
cp "$BUILD/gpurec" "$BUILD/gpuverify" "$BUILD/gpureplay" "$TMP/bin"
cp -a "$BUILD/workload" "$TMP/bin"
chmod 755 "$TMP" "$TMP/bin"
chown $nobody:$nobody "$TMP/theirs"
# An ordinary user; with one capability; with those that --check asks for: CAP_BPF and CAP_PERFMON, and before Linux 6.6,
# which has no uprobe_multi, CAP_SYS_ADMIN.
user=(env GPUREC_HOME="$TMP/theirs/keys" setpriv --reuid "$nobody" --regid "$nobody" --clear-groups)
cap=$TMP/theirs/run.cap
check_exit 3 "without any capability recording is not possible" "${user[@]}" "$TMP/bin/gpurec" --check -o "$cap"
asked=$(sed -En 's/^no +capabilities .*setcap (cap_[a-z_,]+)=ep on gpurec$/\1/p' "$TMP/out")
multi=$(grep -c uprobe_multi "$TMP/check")
check "CAP_BPF and CAP_PERFMON are asked for, and CAP_SYS_ADMIN without uprobe_multi only" \
	[ "$asked" = "cap_bpf,cap_perfmon$([ "$multi" != 0 ] || echo ,cap_sys_admin)" ]
one=("${user[@]}" --inh-caps +perfmon --ambient-caps +perfmon)
enough=("${user[@]}" --inh-caps "${asked//cap_/+}" --ambient-caps "${asked//cap_/+}")

check_exit 3 "without CAP_BPF nothing is recorded" "${one[@]}" "$TMP/bin/gpurec" -o "$cap" -- true
check_says 'CAP_BPF' "and that is said"
check_exit 0 "with what --check asks for an ordinary user records a program" \
	"${enough[@]}" "$TMP/bin/gpurec" -o "$cap" -- "$TMP/bin/workload/driver" -q --flood 200 --threads 2 --truth "$TMP/theirs/truth.json"
check "all of it" test "$("${user[@]}" "$TMP/bin/gpureplay" -q --json "$cap" | grep -c '"kind":"launch"')" -ge 200
check "the capture is his" test "$(stat -c %u "$cap")" = $nobody
check_exit 0 "and verifies" "${user[@]}" "$TMP/bin/gpuverify" "$cap"
check_exit 0 "a library that is loaded later is recorded, too" \
	"${enough[@]}" "$TMP/bin/gpurec" -o "$TMP/theirs/late.cap" -- "$TMP/bin/workload/driver-dlopen" -q --late-dlopen --load-after 1 --flood 50
check "from its first call" test "$("${user[@]}" "$TMP/bin/gpureplay" -q --json "$TMP/theirs/late.cap" | grep -c '"kind":"launch"')" -ge 50
"${enough[@]}" "$TMP/bin/gpurec" -q -o "$TMP/theirs/own.cap" -- sh -c 'cat /proc/self/status' >"$TMP/command"
check "the command gets none of the capabilities" grep -Eq '^CapEff:\s+0+$' "$TMP/command"
check "nor may it have them later" grep -Eq '^CapAmb:\s+0+$' "$TMP/command"
check_exit 0 "rotation needs no more" "${enough[@]}" "$TMP/bin/gpurec" -o "$TMP/theirs/turn.cap" --rotate 1s -- sleep 2.2
check "there are several captures" test -e "$TMP/theirs/turn-00002.cap"
chmod 755 "$TMP/theirs"
mkdir -m 755 "$TMP/root"
# Of the whole host he may not look at all that others have mapped.
install -d -m 700 "$TMP/closed"
cp "$(command -v sleep)" "$TMP/closed"
"$TMP/closed/sleep" 60 &
foreign=$!
check_exit 0 "a program in another user's closed folder is recorded as far as may be" \
	"${enough[@]}" "$TMP/bin/gpurec" -o "$TMP/theirs/one.cap" -p $foreign -d 1s
check_says 'not recorded: [0-9]+ memory maps? of (a process|processes) could not be read \(permission denied\)' \
	"and it is told how often that was not"
check_says 'no CUDA calls in the processes and libraries that could be inspected$' "that no call was seen does not mean that there was none"
check_exit 0 "--check tells it before" "${enough[@]}" "$TMP/bin/gpurec" --check -o "$TMP/theirs/x.cap"
check_prints '^note +processes .*memory maps? could not be read.*; .*CAP_SYS_PTRACE' "with the remedy"
check_prints "^ok +capabilities +held: CAP_BPF CAP_PERFMON$([ "$multi" != 0 ] && echo '$' || echo ' CAP_SYS_ADMIN')" "what he holds is enough"
kill $foreign
check_exit 3 "a folder that is not writable is refused" "${enough[@]}" "$TMP/bin/gpurec" -o "$TMP/root/x.cap" -- true

# status_of PROGRAM ARGS...: /proc/PID/status of a recording in $TMP/status
status_of() {
	local pid
	"$@" &
	pid=$!
	until_recording "$pid"
	cp "/proc/$pid/status" "$TMP/status"
	find "/proc/$pid/fd" -lname 'socket:*' >"$TMP/sockets"
	kill -TERM "$pid"
	wait "$pid"
}
none_but() { # MASK in hex: no other capability in any set but the bounding one, which no_new_privs makes idle
	local set value
	for set in CapInh CapAmb CapPrm CapEff; do
		value=$(sed -n "s/^$set:[[:space:]]*//p" "$TMP/status")
		[ -n "$value" ] && [ $((0x$value & ~0x$1)) = 0 ] || { cat "$TMP/status"; return 1; }
	done
}
status_of "${enough[@]}" "$TMP/bin/gpurec" -q -o "$TMP/theirs/status.cap" -- sleep 20
# CAP_DAC_READ_SEARCH 2, CAP_SYS_PTRACE 19, CAP_SYS_ADMIN 21, CAP_BPF 39, CAP_CHECKPOINT_RESTORE 40
if [ "$multi" != 0 ]; then
	check "once it records, the ordinary user's recorder has no capability at all" none_but 0
else
	check "once it records, the ordinary user's recorder has what attaching libraries later takes" none_but 8000200000
fi
check "nor privileges to be got" grep -Eq '^NoNewPrivs:\s+1' "$TMP/status"
check "it is filtered" grep -Eq '^Seccomp:\s+2' "$TMP/status"
check "and has no socket" test ! -s "$TMP/sockets"
status_of "$BUILD/gpurec" -q -o "$TMP/root.cap" -d 20s
if [ "$multi" != 0 ] && ! grep -q 'hidepid=' /proc/mounts; then
	check "root's recorder has none either, for another process finds libraries later" none_but 0
else
	check "root's recorder keeps what finding libraries later takes, and nothing more" none_but 18000280004
fi
check "not a right to be got back" grep -Eq '^CapBnd:\s+0+$' "$TMP/status"
status_of "$BUILD/gpurec" -q -o "$TMP/root2.cap" --no-late-attach -d 20s
check "with --no-late-attach nothing" none_but 0
status_of "$BUILD/gpurec" -q -o "$TMP/turn.cap" --rotate 10s --no-late-attach -d 20s
check "nor with --rotate" none_but 0

# What the recorder was started with: a pipe to somebody, a socket. The command gets it, as from any wrapper.
mkfifo "$TMP/to-somebody"
exec 7<>"$TMP/to-somebody" 8<>/dev/udp/127.0.0.1/9
"$BUILD/gpurec" -q -o "$TMP/inherited.cap" -- sleep 20 &
pid=$!
until_recording "$pid"
open_in() { # PID...: what is open there beyond the standard descriptors, and is ours
	local p
	for p in "$@"; do find "/proc/$p/fd" \( -lname 'socket:*' -o -lname '*/to-somebody' \) -printf '%h %f %l\n'; done
}
command=
until_true pgrep -P "$pid" -x sleep && command=$(pgrep -P "$pid" -x sleep)
read -ra children <"/proc/$pid/task/$pid/children"
open_in "$command" >"$TMP/open-command"
open_in "$pid" >"$TMP/open"
for child in "${children[@]}"; do
	[ "$child" != "$command" ] || continue
	read -ra workers <"/proc/$child/task/$child/children"
	open_in "$child" "${workers[@]}" >>"$TMP/open"
done
kill -TERM "$pid"
wait "$pid"
exec 7<&- 8<&-
check "no socket or pipe that it was started with is open in the recorder or what it started for itself" \
	sh -c 'cat "$1"; test ! -s "$1"' sh "$TMP/open"
check "the command has both" test "$(wc -l <"$TMP/open-command")" = 2
finish
