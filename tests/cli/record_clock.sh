#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# In a time namespace the clocks that a program reads are ahead of the kernel's, which events carry, or behind: recording
# there says the same as outside, or is refused.
. "$(dirname "$0")/lib.sh"
gpurec=$BUILD/gpurec
cap=$TMP/run.cap
program=$BUILD/workload/reach/reach

needs_recording "clocks of time namespaces"
if ! unshare -T --boottime 1000 --monotonic 500 --fork true 2>"$TMP/said"; then
	skip "clocks of time namespaces" "none can be made: $(head -n 1 "$TMP/said")"
	finish
fi
if [ ! -x "$program" ]; then
	skip "clocks of time namespaces" "the test double is not built here"
	finish
fi

# The host's boot clock, in milliseconds
boot_ms() { awk '{ printf "%d\n", $1 * 1000 }' /proc/uptime; }
# What /proc says of the program is believed only of the process that started when the kernel says it did. Of what was
# sealed, while it runs.
is_known() {
	"$BUILD/gpureplay" -q --unverified --json "$cap" >"$TMP/events"
	grep -c '"kind":"command_line"' "$TMP/events"
	grep -q '"kind":"executable".*/reach/reach"' "$TMP/events" && grep -q '"kind":"namespaces"' "$TMP/events" &&
		grep -q '"kind":"command_line".*/reach/reach' "$TMP/events" &&
		grep -q '"kind":"frame".*"symbol":"main' "$TMP/events"
}
# The program stays until it is known.
record() { # COMMAND... that runs gpurec
	local recorder
	before=$(boot_ms)
	rm -f "$cap" "$TMP/events" "$TMP/go"
	mkfifo "$TMP/go"
	"$@" <"$TMP/go" &
	recorder=$!
	exec 9>"$TMP/go"
	until_true is_known
	known=$?
	exec 9>&-
	wait "$recorder" || return
	after=$(boot_ms)
	"$BUILD/gpureplay" -q --json "$cap" >"$TMP/events"
}
gpurec_in() { # COMMAND... that runs it
	record "$@" "$gpurec" -q -o "$cap" -- "$program" "$TMP/made" stay
}
# The capture begins, and its calls are made, by the host's clock, at the time that the host knows.
in_time() {
	json_awk '
		/"kind":"capture"/ { print value("start") }
		/"probe":"cudaFree"/ { print value("at") }' "$TMP/events" >"$TMP/times"
	wc -l <"$TMP/times"
	[ "$(wc -l <"$TMP/times")" -gt 100 ] &&
		awk -v before="$before" -v after="$after" '$1 / 1e6 < before - 20 || $1 / 1e6 > after + 20 { print before, $1 / 1e6, after; bad = 1 }
			END { exit bad }' "$TMP/times"
}
# The three clocks of each seal: the machine has not slept, or as long as outside.
asleep() {
	sed -n 's/.*"name":"suspended_ns","value":\(.*\)}/\1/p' "$TMP/events"
}
check "outside a time namespace a program is recorded" gpurec_in env
check "its times are the host's" in_time
check "the program is known" test "$known" = 0
asleep >"$TMP/outside"
check "how long the machine has slept is known" grep -qE '^"[0-9]+"$' "$TMP/outside"
for ahead in "86400 3600" "-100 -50" "7 -50"; do
	read -r boot mono <<<"$ahead"
	set -- unshare -T --boottime "$boot" --monotonic "$mono" --fork
	check "clocks $boot s and $mono s ahead: a program is recorded" gpurec_in "$@"
	check_exit 0 "clocks $boot s ahead: the capture verifies" "$BUILD/gpuverify" -q "$cap"
	check "clocks $boot s ahead: its times are the host's" in_time
	check "clocks $boot s ahead: the program is known" test "$known" = 0
	same_sleep() { asleep | diff "$TMP/outside" -; }
	check "clocks $boot s and $mono s ahead: the machine has slept as long as outside" same_sleep
	word="${boot#-}.000 s $([ "$boot" -gt 0 ] && echo ahead || echo behind)"
	check_exit 0 "clocks $boot s ahead: --check finds that recording is possible" "$@" "$gpurec" --check -o "$cap"
	check_prints "^ok +clock +.*; gpurec's own is $word \\(time namespace\\): corrected\$" "it says by how much they differ"
done

# A program in one, recorded from outside
rm -f "$cap" "$TMP/events"
inside() {
	record "$gpurec" -q -o "$cap" -- unshare -T --boottime 1000 --fork "$program" "$TMP/made" stay
}
check "a program in a time namespace is recorded from outside" inside
check "its times are the host's" in_time
check "the program is known" test "$known" = 0

# Where /proc does not say how they differ: refused, before anything is written.
# shellcheck disable=SC2016 # for the other shell
hidden='mount --bind /dev/null /proc/$$/timens_offsets && exec "$@"'
rm -f "$cap"
if unshare -m -T --boottime 1000 --fork bash -c "$hidden" sh true 2>"$TMP/said"; then
	set -- unshare -m -T --boottime 1000 --fork bash -c "$hidden" sh
	check_exit 3 "where it is not known how clocks differ, recording is refused" "$@" "$gpurec" -o "$cap" -- true
	check_says 'clock and the kernel.s, .*, are (999\.[0-9]|1000\.[0-9]) s apart: it runs in a time namespace, .*: nsenter --time=/proc/1/ns/time gpurec' \
		"with the reason, and what to do"
	check "nothing was written" [ ! -e "$cap" ]
	check_exit 3 "--check refuses it, too" "$@" "$gpurec" --check -o "$cap"
	check_prints '^no +BPF +.*: nsenter --time=/proc/1/ns/time gpurec' "with the same words"
else
	skip "clocks of which it is not known how they differ" "nothing can be mounted: $(head -n 1 "$TMP/said")"
fi
finish
