#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A host that two programs share: of a capture that is separated by process, one of them is handed over, with all of its
# rows and nothing that is the other's, and it still verifies.
# records: each checks only what it started itself
. "$(dirname "$0")/lib.sh"
gpurec=$BUILD/gpurec
replay=$BUILD/gpureplay
verify=$BUILD/gpuverify
cap=$TMP/run.cap
part=$TMP/part.cap

needs_recording "captures by process"
cd "$TMP" || exit 1
for who in ours theirs; do
	mkdir "$TMP/$who-files" || exit 1
	cp "$BUILD"/workload/{driver,libcudart.so.12,libcuda.so.1} "$TMP/$who-files"
done
cat >start <<'END'
cd "$1" || exit 1
(exec -a ours-argument ours-files/driver -q --flood 700 --threads 2 --truth ours.json) &
(exec -a theirs-argument theirs-files/driver -q --flood 400 --threads 2 --truth theirs.json) &
wait
END
# both ARG...: record both, each in a folder of its own, with a word in its command line
both() { "$gpurec" -q --force -o "$cap" "$@" -- bash start "$TMP"; }
pid_of() { # PROGRAM: whose folder that is
	"$replay" -q --json "$cap" | grep '"kind":"executable"' | grep "$1-files" | head -n 1 | sed 's/.*"pid":\([0-9]*\).*/\1/'
}
# rows FILE PID: of that process, as text, in order
rows() { "$replay" -q --json "$1" | grep "^{\"at\".*\"pid\":$2[,}]" | sed 's/,"probe_id".*//'; }

check_exit 0 "two programs are recorded, separated by process" both --by-process
check_exit 0 "the capture verifies" "$verify" "$cap"
check "and has nothing withheld" grep -q '^  withheld   nothing' out
ours=$(pid_of ours) theirs=$(pid_of theirs)
check "both are in it" [ -n "$ours" -a -n "$theirs" -a "$ours" != "$theirs" ]
check_exit 0 "one of them is kept" "$replay" --force "$cap" -o "$part" --pid "$ours"
check_says 'of other processes, all goes; what is of no single process stays: ' "what stays all the same is said"
check_exit 0 "the part verifies, with the original signature" "$verify" "$part"
check "as a redacted capture" grep -q '^OK-REDACTED ' out
rows "$cap" "$ours" >"$TMP/all"
rows "$part" "$ours" >"$TMP/kept"
check "it has many rows of that process" [ "$(wc -l <"$TMP/kept")" -gt 5000 ]
check "and each one that the capture has" cmp "$TMP/all" "$TMP/kept"
check "none of the other one" [ "$(rows "$part" "$theirs" | wc -l)" = 0 ]
check "which the capture has" [ "$(rows "$cap" "$theirs" | wc -l)" -gt 3000 ]
check "nor its command line" sh -c '! "$1" -q --json "$2" | grep -q theirs-argument' sh "$replay" "$part"
check "which the capture has, too" sh -c '"$1" -q --json "$2" | grep -q theirs-argument' sh "$replay" "$cap"
made() { # PROGRAM: its calls, as it counted them
	sqlite3 :memory: "WITH t(j) AS (SELECT CAST(readfile('$1.json') AS TEXT)) SELECT
		(SELECT sum(f.value ->> 'calls') FROM t, json_each(t.j, '\$.functions') f) +
		(SELECT coalesce(sum(f.value), 0) FROM t, json_each(t.j, '\$.driver_functions') f)"
}
calls() { "$replay" -q --json "$part" | grep '"ret":' | grep -vc '"kind":"futex"'; }
check "its calls are what the program counted" \
	[ "$(calls)" = "$(made ours)" ]
check_exit 0 "a report of the part" "$BUILD/gpuanalyze" "$part" --report
check_exit 0 "both can be kept" "$replay" -q --force "$cap" -o "$part" --pid "$ours" --pid "$theirs"
check "with the calls of both" \
	[ "$(calls)" = $(($(made ours) + $(made theirs))) ]
check_exit 0 "and with a class withheld besides" "$replay" -q --force "$cap" -o "$part" --pid "$ours" --withhold path
check "nothing of either's folder is left" sh -c '! "$1" -q --json "$2" | grep -qE "(ours|theirs)-(files|argument)"' sh "$replay" "$part"
check_exit 0 "the part is narrowed again" "$replay" -q --force "$part" -o "$TMP/again.cap" --pid "$ours" --withhold process
check_exit 0 "and verifies" "$verify" "$TMP/again.cap"
size=$(stat -c %s "$cap")
check_exit 0 "the same without" both
check_exit 2 "cannot be cut by process" "$replay" "$cap" -o "$part" --force --pid "$(pid_of ours)"
check_says "not separated by process" "for that reason"
echo "# $size bytes by process, $(stat -c %s "$cap") bytes not"

# In captures of a rotation.
check_exit 0 "a rotation by process" "$gpurec" -q -o "$TMP/rot.cap" --rotate 1s --by-process -- "$BUILD/workload/driver" -q --flood 5000 --rate 2000
one=$("$replay" -q --json "$(ls "$TMP"/rot*.cap | head -n 1)" | grep -m1 '"kind":"launch"' | sed 's/.*"pid":\([0-9]*\).*/\1/')
check "is one in each capture" sh -c 'for c in "$1"/rot*.cap; do "$2" -q "$c" -o "$1/x.cap" --force --pid "$3" || exit 1; done; [ "$(ls "$1"/rot*.cap | wc -l)" -gt 1 ]' \
	sh "$TMP" "$replay" "$one"
check_exit 0 "and the chain holds" "$verify" -q --require-chain "$TMP"/rot*.cap
finish
