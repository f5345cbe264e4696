#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The page of gpuanalyze in a real browser, where one is installed: tests/tools/browser.py looks at it at the widths of a
# telephone and of a desk, light and dark. SHOTS=folder keeps the screenshots, for a person to look at.
. "$(dirname "$0")/lib.sh"
cd "$(dirname "$0")/../.." || exit 1
analyze=$BUILD/gpuanalyze
mkcap=$BUILD/tests/mkcap

for browser in chromium chromium-browser google-chrome ""; do
	command -v "${browser:-true}" >/dev/null && break
done
if [ -z "$browser" ] || ! command -v python3 >/dev/null; then
	skip "the page is looked at in Chromium" "there is no chromium here ('sh .ci/deps.sh browser' installs it)"
	finish
fi

"$analyze" -q --trust tests/golden/demo.pub --rules docs/rules --report="$TMP/demo.html" tests/golden/demo.cap || exit 1
# What is long, wide or hostile: names of any length, many threads at one futex, a GPU's health.
{
	printf '%s\n' 'process at=+0s pid=200 start=1s tracked=1 name="</td><script>"' \
		"thread at=+0s tid=4194303 pid=200 start=1s name=\"WWWWWWWWWWWWWWW\"" \
		'thread at=+0s tid=4194302 pid=200 start=1s name="\x1b[31m\xff\xfe\x01\x02"'
	for i in 0 1 2 3 4 5 6 7 8 9; do
		printf 'health at=+%s00ms gpu=0 known=0x7fe busy_percent=%s0 power_mw=2%s0000 temperature_c=8%s sm_mhz=1%s00 throttle=0x4%s\n' \
			"$i" "$i" "$i" "$i" "$i" "$((i / 5 * 8))"
	done
	printf '%s\n' 'repeat 50 2ms launch at=+10ms pid=200 tid=4194303 dur=17us' \
		'repeat 3 50ms launch at=+200ms pid=200 tid=4194303 dur=9ms' 'repeat 3 50ms launch at=+230ms pid=200 tid=4194302 dur=9ms'
} >"$TMP/script"
"$mkcap" -o "$TMP/wild.cap" --pub "$TMP/pub" "$TMP/script" || exit 1
"$analyze" -q --trust "$TMP/pub" --report="$TMP/wild.html" "$TMP/wild.cap" || exit 1
"$mkcap" -o "$TMP/stall.cap" --pub "$TMP/pub" tests/rules/futex-stall/preempted-holder.txt || exit 1
"$analyze" -q --unverified --report="$TMP/stall.html" "$TMP/stall.cap" || exit 1
# What lacks something, in one page (no longer than a browser paints at once): unseen, left-out and withheld events.
for name in evidence/partial evidence/reduced; do
	"$mkcap" -o "$TMP/${name#*/}.cap" --pub "$TMP/pub" "tests/rules/$name.txt" || exit 1
done
"$mkcap" --narrow "$TMP/reduced.cap" -o "$TMP/withheld.cap" --withhold events,process || exit 1
"$analyze" -q --trust "$TMP/pub" --report="$TMP/lacking.html" "$TMP/partial.cap" "$TMP/reduced.cap" "$TMP/withheld.cap" || exit 1

mkdir "$TMP/shots"
timeout 200 python3 tests/tools/browser.py "$browser" "$TMP/shots" "$TMP/demo.html" "$TMP/wild.html" "$TMP/stall.html" "$TMP/lacking.html" >"$TMP/seen" 2>"$TMP/err" # speed: a limit for what never ends
check "the browser did its work" test "$(tail -n 1 "$TMP/seen" | cut -c1-3)" = "1.."
tail -n 5 "$TMP/err" | sed 's/^/# /'
# Its results are this test's.
while read -r word rest; do
	case $word in
	ok) check "${rest#* - }" true ;;
	not) check "${rest#* * - }" false ;;
	'#') echo "# $rest" ;;
	esac
done <"$TMP/seen"
[ -z "${SHOTS:-}" ] || cp "$TMP"/shots/*.png "$TMP"/shots/*.pdf "$SHOTS"/
finish
