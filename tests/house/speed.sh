#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# No test rests on how fast the machine is. A line that sleeps, limits time or reads a clock says on itself why its test is
# right on a machine of any speed ("# speed: REASON"), or it is one of these: a loop on one line that waits for a
# condition, a program that is recorded (gpurec ... -- sleep 5), or one that is there to be ended (sleep 60 &).
# shellcheck source-path=SCRIPTDIR/../cli
. "$(dirname "$0")/../cli/lib.sh"
cd "$(dirname "$0")/../.." || exit 1

# unexplained FILE...: FILE:LINE: of each line that gives no reason
unexplained() {
	awk '
		FNR == 1 { c = FILENAME ~ /\.c$/ }
		/speed: [^ ]/ || /^[ \t]*#/ { next }
		c && !/usleep|nanosleep|CLOCK_(MONOTONIC|REALTIME)/ { next }
		!c && !/(^|[^a-zA-Z_])(sleep "?\\?[0-9$]|timeout (-[a-z] )?[0-9."$-]|SECONDS([^_]|$)|date \+%s)/ { next }
		!c && /(until|while) .*; do .*sleep .*; done|-- (.* )?sleep "?[0-9$]|sleep [0-9]+ &|exec sleep [0-9]/ { next }
		{ print FILENAME ":" FNR ": " $0 }
	' "$@"
}
mapfile -t files < <(find tests/cli tests/house tests/unit -name '*.sh' ! -name speed.sh -o -name '*.c' | sort)
unexplained "${files[@]}" >"$TMP/lines"
check "each line of a test that sleeps, limits time or reads a clock says why that is right at any speed" \
	sh -c 'cat "$1"; test ! -s "$1"' sh "$TMP/lines"

cat >"$TMP/bad.sh" <<'END'
sleep 1
timeout 20 true
[ $((SECONDS - began)) -lt 5 ]
now=$(date +%s)
for i in $(seq 10); do [ -e x ] && break; sleep 0.1; done
END
unexplained "$TMP/bad.sh" >"$TMP/lines"
check "one that does not would be seen" test "$(wc -l <"$TMP/lines")" = 5
echo '	usleep(10);' >"$TMP/bad.c"
unexplained "$TMP/bad.c" >"$TMP/lines"
check "also in C" test "$(wc -l <"$TMP/lines")" = 1
finish
