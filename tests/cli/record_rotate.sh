#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# --rotate: one capture after the other, and nothing lost between two.
. "$(dirname "$0")/lib.sh"
gpurec=$BUILD/gpurec
driver=$BUILD/workload/driver

# Wrong use, and keys -------------------------------------------------------------------------------------------------
check_exit 2 "a rotation without a unit is refused" "$gpurec" -o "$TMP/x.cap" --rotate 5 -- true
check_exit 2 "so is one of less than a second" "$gpurec" -o "$TMP/x.cap" --rotate 10ms -- true
check_exit 2 "so is --force beside it: it never replaces a file" "$gpurec" -o "$TMP/x.cap" --force --rotate 1h -- true
check_says 'never replaces' "which is said"
printf 'x\n' >"$TMP/pass"
locked_key "$TMP/locked.key" x >"$TMP/out" 2>&1
check_exit 3 "a key that needs a passphrase is refused" \
	"$gpurec" -o "$TMP/x.cap" --rotate 1h --key "$TMP/locked.key" --passphrase-fd 3 -- true 3<"$TMP/pass"
check_says 'passphrase' "and that is said"
for wrong in "" c0f xy "$(printf '%0130d' 0)"; do
	check_exit 2 "'$wrong' is no challenge" "$gpurec" -o "$TMP/x.cap" --challenge "$wrong" -- true
done
touch "$TMP/last-99999.cap"
check_exit 3 "when no number is left that is told" "$gpurec" -o "$TMP/last.cap" --rotate 1h -- true
check_says 'last.cap .*99999.*another name' "with what to do"
check "the file with the last one is untouched" test ! -s "$TMP/last-99999.cap"
rm "$TMP/last-99999.cap"

if ! "$gpurec" --check -o "$TMP/x.cap" >"$TMP/check" 2>&1; then
	skip "real rotations" "$(grep -m1 '^no' "$TMP/check")"
	finish
fi

# A service is started again --------------------------------------------------------------------------------------------
mkdir "$TMP/service"
for run in 1 2; do
	check_exit 0 "the same command, time $run" "$gpurec" -o "$TMP/service/node.cap" --rotate 1h --challenge "c0ffee0$run" -- true
done
check "makes a capture each time, the first one untouched" "$BUILD/gpuverify" -q "$TMP"/service/node-0000[12].cap
check_exit 0 "each has the challenge it was started with" "$BUILD/gpuverify" "$TMP/service/node-00002.cap"
check_prints '^  challenge +c0ffee02$' "in its header"
check "and nothing else" test "$(find "$TMP/service" -type f | wc -l)" = 2
check_exit 0 "and is a series of its own: nothing is missing between" "$BUILD/gpuverify" -q --require-chain "$TMP"/service/node-0000[12].cap
rm "$TMP/service/node-00001.cap"
touch "$TMP/service/node-00007.cap" "$TMP/service/node-9.cap" "$TMP/service/node-00042.txt" "$TMP/service/mode-00044.cap"
ln -s nowhere "$TMP/service/node-00008.cap"
check_exit 0 "it goes on behind the last number of its own, also when old ones were removed" \
	"$gpurec" -o "$TMP/service/node.cap" --rotate 1h -- true
check_exit 0 "behind what is no file, too" "$BUILD/gpuverify" "$TMP/service/node-00009.cap"
check "what was there is untouched" sh -c 'test ! -s "$1/node-00007.cap" && test -L "$1/node-00008.cap" && test ! -e "$1/nowhere"' sh "$TMP/service"
mkdir "$TMP/service/plain"
touch "$TMP/service/plain/run-00003"
check_exit 0 "a name without a suffix is continued in the same way" \
	sh -c 'cd "$2" && exec "$1" -o run --rotate 1h -- true' sh "$gpurec" "$TMP/service/plain"
check "behind its own" test -s "$TMP/service/plain/run-00004"

# Under load ----------------------------------------------------------------------------------------------------------
# Somebody else's, made while the one before is written.
sh -c 'while [ ! -s "$1/run-00001.cap" ]; do sleep 0.05; done; : >"$1/run-00003.cap"' sh "$TMP" &
check_exit 0 "a flood over several captures is recorded" \
	"$gpurec" -o "$TMP/run.cap" --rotate 1s --ring 256K -- "$driver" -q --flood "${ROTATE_FLOOD:-50000}" --threads 3 --truth "$TMP/truth.json"
check "a file that is in the way is left alone" test ! -s "$TMP/run-00003.cap"
rm "$TMP/run-00003.cap"
check "there are several" test "$(find "$TMP" -name 'run-*.cap' | wc -l)" -ge 3
check_exit 0 "each verifies, and the joints fit" "$BUILD/gpuverify" "$TMP"/run-*.cap
check_prints 'another capture continues it' "all but the last say so"
check "once less than there are files" test "$(grep -c 'another capture continues it' "$TMP/out")" = \
	$(($(find "$TMP" -name 'run-*.cap' | wc -l) - 1))
check_prints 'the command ended' "the last one says why it ended"
check "every joint fits by hash and time" test "$(grep -c '^JOINT .*: hash and time fit' "$TMP/out")" = \
	$(($(find "$TMP" -name 'run-*.cap' | wc -l) - 1))

check_exit 0 "as a chain, too" "$BUILD/gpuverify" -q --require-chain "$TMP"/run-*.cap
mv "$TMP/run-00002.cap" "$TMP/gone.cap"
check_exit 7 "from which one is missed by its number" "$BUILD/gpuverify" -q --require-chain "$TMP"/run-*.cap
check_prints '^JOINT  capture 2 of series [0-9a-f]{32} is missing between .*run-00001.cap \(1\) and ' "and named"
mv "$TMP/gone.cap" "$TMP/run-00002.cap"

# What the program made is what the files have, by function
in_all() {
	local f n=0
	for f in "$TMP"/run-*.cap; do
		"$BUILD/gpureplay" -q "$f" -o "$TMP/part$n.db" || return
		n=$((n + 1))
	done
	{
		echo "CREATE TABLE sums (name TEXT, recorded INT, lost INT, rows INT);"
		for ((i = 0; i < n; i++)); do
			echo "ATTACH '$TMP/part$i.db' AS p;
				INSERT INTO sums SELECT name, recorded, lost, NULL FROM p.probe_counts;
				INSERT INTO sums SELECT name, NULL, NULL, count(*) FROM p.calls JOIN p.probe_counts USING (probe)
					GROUP BY name;
				DETACH p;"
		done
		echo "SELECT key, json_extract(value, '\$.calls'), sum(recorded), sum(lost), sum(rows)
			FROM json_each(CAST(readfile('$TMP/truth.json') AS TEXT), '\$.functions') LEFT JOIN sums ON name = key
			WHERE json_extract(value, '\$.kind') <> 'other' GROUP BY key
			HAVING json_extract(value, '\$.calls') IS NOT sum(recorded) + sum(lost) OR sum(recorded) IS NOT sum(rows);
			SELECT 'no functions' FROM (SELECT count(*) AS n, sum(rows) AS r FROM sums) WHERE n = 0 OR r < 1000;"
	} | sqlite3 "$TMP/sums.db" >"$TMP/rows" || return
	cat "$TMP/rows"
	[ ! -s "$TMP/rows" ]
}
check "over all files recorded + lost is what the program called, by function" in_all
no_in_flight() { ! sed -n '/another capture/,/lost/p' "$TMP/out" | grep 'in flight\|in_flight'; }
check "no call is lost to a joint" no_in_flight

# named FILE: no thread that makes a call is without a name, and no call without its process
named() {
	sqlite3 -readonly "$1" "SELECT DISTINCT c.tid FROM calls c LEFT JOIN threads t ON t.thread = c.thread
		WHERE t.name IS NULL OR t.name = '' LIMIT 5" >"$TMP/rows" || return
	cat "$TMP/rows"
	[ ! -s "$TMP/rows" ]
}
check "the second one names the threads of its calls" named "$TMP/part1.db"
tells() { "$BUILD/gpureplay" -q --json "$TMP/run-00002.cap" | grep -q "\"kind\":\"$1\".*$2"; }
check "and the program" tells executable workload/driver
check "and its libraries" tells module libcudart
check "what was probed" tells attach probe
check "and the host" tells fact '"kernel"'
frames() {
	sqlite3 -readonly "$TMP/part1.db" "SELECT count(*) FROM calls WHERE kind = 'alloc' AND stack > 0" >"$TMP/n"
	"$BUILD/gpureplay" -q --json "$TMP/run-00002.cap" >"$TMP/events"
	awk -F'"stack":' '/"kind":"frame"/ { split($2, a, /[,}]/); told[a[1]] = 1 }
		/"kind":"alloc"/ { split($2, a, /[,}]/); if (a[1] > 0) used[a[1]] = 1 }
		END { for (i in used) { n++; if (!told[i]) { print "stack", i; bad = 1 } } exit bad || !n }' "$TMP/events"
}
check "and every stack that its calls name" frames

# What does not fit ---------------------------------------------------------------------------------------------------
cp "$TMP/run-00001.cap" "$TMP/first.cap"
last=$(find "$TMP" -name 'run-*.cap' | sort | tail -n 1)
check_exit 0 "a capture whose predecessor is not there verifies alone" "$BUILD/gpuverify" "$last"
check_prints 'continues +[0-9a-f]{64}' "and names it"
check_exit 0 "one that others begin after is at home in any order" "$BUILD/gpuverify" "$last" "$TMP"/run-0*.cap

# When another cannot begin -------------------------------------------------------------------------------------------
"$BUILD/gpukey" generate -W -s "$TMP/mine.key" -p "$TMP/mine.pub" >"$TMP/out" 2>&1
"$gpurec" -o "$TMP/lone.cap" --rotate 1s --key "$TMP/mine.key" -- sleep 4 2>"$TMP/err" &
pid=$!
until_recording "$pid"
rm "$TMP/mine.key"
wait $pid
check_says 'cannot begin another capture.*lone-00001.cap goes on' "when the key is gone that is said"
check "the first capture goes on" test ! -e "$TMP/lone-00002.cap"
check_exit 0 "to its end" "$BUILD/gpuverify" --trust "$TMP/mine.pub" "$TMP/lone-00001.cap"
check_prints 'the command ended' "which it tells"
finish
