#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# gpurec --check, and what gpurec shows on a terminal while it records.
. "$(dirname "$0")/lib.sh"
gpurec=$BUILD/gpurec

# --check -------------------------------------------------------------------------------------------------------------
"$gpurec" --check -o "$TMP/x.cap" >"$TMP/out" 2>"$TMP/err"
possible=$?
said() { grep -Eq "^(ok|note|no) +$1 " "$TMP/out" || { cat "$TMP/out"; return 1; }; }
for what in kernel configuration "type information" "pid namespace" "BPF policy" "perf policy" lockdown memlock clock \
	capabilities driver GPUs "kernel log" output "disk speed" "disk space" seccomp; do
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
"$gpurec" --check --json -o "$TMP/x.cap" >"$TMP/json" 2>"$TMP/err"
check "with --json it is one object" json 'json_valid(j)'
check "on one line" test "$(wc -l <"$TMP/json")" = 1
check "with as many facts" json "json_array_length(j, '\$.checks') = $(($(wc -l <"$TMP/out") - 1))"
check "and the answer" json "json_extract(j, '\$.possible') = $((possible == 0))"
check "each with a result" json "(SELECT count(*) = sum(json_extract(value, '\$.result') IN ('ok', 'note', 'no'))
	FROM json_each(j, '\$.checks'))"
check "and what is missing with a remedy" json "(SELECT count(*) = 0 FROM json_each(j, '\$.checks')
	WHERE json_extract(value, '\$.result') = 'no' AND json_extract(value, '\$.remedy') IS NULL
		AND json_extract(value, '\$.what') NOT IN ('BPF', 'ring buffer', '/proc'))"
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
	check_prints '^no +capabilities .*missing: CAP_BPF CAP_PERFMON.*setcap' "and it says which are missing, and how to get them"
fi
# The unit for systemd ------------------------------------------------------------------------------------------------
unit=$(dirname "$0")/../../docs/systemd/gpurec.service
if command -v systemd-analyze >/dev/null && systemd-analyze verify --man=no --help >/dev/null 2>&1; then
	sed "s|/usr/local/bin/gpurec|$gpurec|" "$unit" >"$TMP/gpurec.service"
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

# The status line -----------------------------------------------------------------------------------------------------
if ! command -v script >/dev/null; then
	skip "the status line" "there is no script(1) to make a terminal"
	finish
fi
# on_terminal COMMAND: what it shows, carriage returns as line ends
on_terminal() { TERM=${term:-xterm} script -qec "$1" /dev/null </dev/null | tr '\r' '\n' >"$TMP/out"; }
sleep 20 &
sleeper=$!
on_terminal "$gpurec -o $TMP/a.cap -p $sleeper -d 2500ms"
check_prints '^[0-9]+ events/s, 0 lost, [0-9.]+ .?i?B, [0-9]+s left$' "a terminal shows how it goes, and how long it will"
check "once a second" test "$(grep -c 'events/s' "$TMP/out")" -ge 2
check_prints 'gpurec itself' "the summary stands behind it"
on_terminal "$gpurec -o $TMP/b.cap -p $sleeper --max-size 5M -d 1500ms"
check_prints 'B of 5.0 MiB, ' "with --max-size how much of it there is"
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
