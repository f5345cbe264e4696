#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# gpuverify from outside: every verdict, its exit status, its words.
. "$(dirname "$0")/lib.sh"

verify=$BUILD/gpuverify
mkcap=$BUILD/tests/mkcap
cd "$TMP" || exit 1

cat >run.script <<'END'
process at=+0 pid=100 start=+0 uid=1000 tracked=1 name="tr\x1b[31mainer"
thread at=+0 tid=100 pid=100 start=+0 name="trainer"
fact at=+0 name=kernel value="6.1"
repeat 10 1ms launch at=+10ms pid=100 tid=100 dur=17us
alloc at=+300ms pid=100 tid=100 bytes=1M addr=0x1000 memory=1
epoch +1s
thread at=+1.4s tid=102 pid=100 start=+1.4s name="late"
repeat 5 1ms launch at=+1.5s pid=100 tid=100 dur=17us
lost cudaMalloc ring_full 3
lost cudaMalloc no_stack 2
epoch +2s
launch at=+2.1s pid=100 tid=100 dur=17us
epoch +3s
end command 256
END
"$mkcap" -o run.cap --pub run.pub run.script || exit 1
"$mkcap" -o cut.cap --no-end run.script || exit 1

first_line() { # of stdout is WORD FILE
	[ "$(head -n 1 out)" = "$1" ]
}

check_exit 0 "an intact capture of a trusted key is OK" "$verify" --trust run.pub run.cap
check "the verdict word is first" first_line "OK run.cap"
check_prints '^  signed by +[0-9A-F]{16} \(run\), trusted here$' "it says who signed"
check_prints '^  recorded +2027-01-15 08:00:00 UTC, 3\.0 s in 3 epochs$' "it says when, by the wall clock, and how long"
check_prints '^  ended +the command ended with exit status 1$' "it says why recording ended"
check_prints '^  events +21: launch 16, alloc 1, process 1, thread 2, fact 1$' "it counts events by kind"
check_prints '^  lost +3 cudaMalloc: no room in the ring$' "it tells losses by probe and cause, in words"
check_prints '^  incomplete +2 cudaMalloc: no user stack could be taken$' "it tells what recorded events lack"
check_prints '^  withheld +nothing$' "it says that nothing is withheld"
check_exit 0 "with -q" "$verify" -q --trust run.pub run.cap
check "only the verdict line is printed" [ "$(cat out)" = "OK run.cap" ]

check_exit 0 "the verdict as JSON" "$verify" --json --trust run.pub run.cap
check_prints '^\{"verdict":"OK","file":"run.cap","exit_status":0,"refused":false,.*"launch":16.*\}$' "is one object on one line"
check_prints '"lost":\[\{"probe":"cudaMalloc","cause":"ring_full","count":3\}\]' "with the losses"

# Trust.
check_exit 6 "a key that nothing here trusts is UNTRUSTED" "$verify" run.cap
check "which is the verdict word" first_line "UNTRUSTED run.cap"
check "and the command that would trust it stands there" grep -qF "gpukey trust $(tail -n 1 run.pub)" out
check_prints 'compare this key with' "with the advice to compare the key first"
mkdir -p "$GPUREC_HOME/trust" && chmod 700 "$GPUREC_HOME" "$GPUREC_HOME/trust" && cp run.pub "$GPUREC_HOME/trust/lab.pub"
check_exit 0 "a key in the local store is trusted" "$verify" run.cap
check_prints '\(lab\), trusted here$' "under its name there"
rm "$GPUREC_HOME/trust/lab.pub"
check_exit 3 "a --trust file that is none is an error" "$verify" --trust run.script run.cap
check_says '^gpuverify: ' "that is told"

# Flipped bytes: sampled over the whole file; the format's own tests try each bit.
size=$(stat -c %s run.cap)
wrong=0 tried=0
for ((at = 0; at < size; at += 1 + size / 60)); do
	cp run.cap flip.cap
	byte=$(od -An -tu1 -j "$at" -N 1 run.cap)
	printf '%b' "\\x$(printf %02x $((byte ^ 1)))" | dd of=flip.cap bs=1 seek="$at" conv=notrunc 2>/dev/null
	"$verify" -q --trust run.pub flip.cap >out 2>err
	status=$?
	tried=$((tried + 1))
	case "$status $(head -c 9 out)" in
	"1 FORGED fl" | "4 MALFORMED") ;;
	# A version or feature bit of the header reads as a later version; a changed key as one that is not trusted.
	"3 UNCHECKED" | "6 UNTRUSTED") ;;
	*) wrong=$((wrong + 1)); echo "# byte $at: status $status, $(cat out)" ;;
	esac
done
check "none of $tried captures with a flipped bit passes" [ "$wrong" -eq 0 ]
cp run.cap flip.cap
printf '\xff' | dd of=flip.cap bs=1 seek=$((size - 200)) conv=notrunc 2>/dev/null
check_exit 1 "a byte changed under a seal is FORGED" "$verify" --trust run.pub flip.cap
check "which is the verdict word" first_line "FORGED flip.cap"
check_prints '^  why +[^ ].*' "with the reason"
check_prints '^  authentic +the first 3 epochs: until 2027-01-15 08:00:03 UTC, 21 events$' "and how far it is authentic"

# Cuts.
check_exit 5 "a capture without an end is UNSEALED" "$verify" --trust run.pub cut.cap
check "which is the verdict word" first_line "UNSEALED cut.cap"
check_prints '^  authentic +the first 3 epochs' "and it says how much of it stands"
check_prints '^  ended +unknown' "and that its end is unknown"
head -c $((size - 250)) run.cap >torn.cap
check_exit 5 "a capture cut in the middle of something is UNSEALED" "$verify" --trust run.pub torn.cap
{ cat run.cap; echo; } >longer.cap
check_exit 4 "trailing bytes make it MALFORMED" "$verify" --trust run.pub longer.cap

# Withheld content.
"$mkcap" --narrow run.cap --withhold process -o less.cap >/dev/null || exit 1
"$mkcap" --narrow run.cap --from +1.1s -o slice.cap >/dev/null || exit 1
check_exit 0 "a redacted capture is authentic" "$verify" --trust run.pub less.cap
check "and called OK-REDACTED" first_line "OK-REDACTED less.cap"
check_prints '^  withheld +process: 3 rows in 2 chunks of epochs 0 to 1, 2027-01-15 08:00:00 UTC to 2027-01-15 08:00:01 UTC \(\+0\.000000000 s to \+1\.400000000 s\)$' \
	"it tells the class, epochs and time of what is withheld"
check_exit 0 "a slice is authentic" "$verify" --trust run.pub slice.cap
check "and called OK-SLICE" first_line "OK-SLICE slice.cap"
check_exit 7 "--require-complete refuses it" "$verify" --require-complete --trust run.pub slice.cap
check "the verdict word stays" first_line "OK-SLICE slice.cap"
check_prints '^  refused ' "and the refusal is told"
check_exit 0 "--require-complete accepts a whole one" "$verify" --require-complete --trust run.pub run.cap

# What is no capture.
: >empty.cap
check_exit 4 "an empty file is MALFORMED" "$verify" empty.cap
check "which is the verdict word" first_line "MALFORMED empty.cap"
check_says '^gpuverify: empty\.cap: [^ ].*$' "with one sentence on stderr"
check "and one only" [ "$(wc -l <err)" -eq 1 ]
head -c 5000 /dev/urandom >random.cap
check_exit 4 "random bytes are MALFORMED" "$verify" random.cap
check_exit 3 "a directory cannot be checked" "$verify" "$TMP"
check_says 'directory' "and the sentence says that it is one"
check_exit 3 "a missing file cannot be checked" "$verify" nowhere.cap
check_says 'nowhere\.cap: .*No such file' "and the sentence says so"
mkfifo pipe
check_exit 3 "a pipe cannot be checked, and is not waited for" timeout 10 "$verify" pipe
check_exit 3 "nor can a device" "$verify" /dev/null

# Every byte, but no row.
check_exit 0 "--bytes-only proves the bytes" "$verify" --bytes-only --trust run.pub run.cap
check "and says on the first line what it did not look at" first_line "OK run.cap (rows not decoded)"
check_prints '^  lost ' "losses are told all the same"
check_exit 1 "a flipped bit is FORGED with --bytes-only too" "$verify" --bytes-only --trust run.pub flip.cap
check_exit 5 "a cut is UNSEALED" "$verify" --bytes-only --trust run.pub cut.cap
check_exit 6 "an unknown signer UNTRUSTED" "$verify" --bytes-only run.cap
check_exit 0 "a redacted capture OK-REDACTED" "$verify" --bytes-only --trust run.pub less.cap
check "and called so" first_line "OK-REDACTED less.cap (rows not decoded)"
check "rows that a trusted signer made wrong" "$BUILD/tests/attack" group-rows-0 run.cap rows.cap --seed 1 --pub insider.pub
check_exit 4 "are MALFORMED to the whole verdict" "$verify" --trust insider.pub rows.cap
check_exit 0 "and not looked at with --bytes-only" "$verify" --bytes-only --trust insider.pub rows.cap
check_exit 0 "JSON says whether rows were decoded" "$verify" --json --bytes-only --trust run.pub run.cap
check_prints '"rows_decoded":false' "no"
check_exit 0 "in the usual case" "$verify" --json --trust run.pub run.cap
check_prints '"rows_decoded":true' "yes"
check_exit 2 "a line of custody needs the whole verdict" "$verify" --bytes-only --custody verified run.cap

# Several files.
check_exit 5 "of several files the worst wins" "$verify" -q --trust run.pub run.cap less.cap nowhere.cap cut.cap run.cap
mv out several
check "each has its verdict line" [ "$(grep -cE '^(OK|OK-REDACTED|UNCHECKED|UNSEALED) ' several)" -eq 5 ]
check_exit 1 "FORGED is worse than anything" "$verify" -q --trust run.pub flip.cap random.cap cut.cap run.cap
check_exit 4 "MALFORMED than all but FORGED" "$verify" -q random.cap run.cap cut.cap
check_exit 6 "UNTRUSTED than UNSEALED" "$verify" -q run.cap nowhere.cap
check_exit 5 "UNSEALED than what could not be checked" "$verify" -q --trust run.pub nowhere.cap cut.cap
check_exit 3 "which is worse than a refusal" "$verify" -q --trust run.pub --require-complete nowhere.cap less.cap
check_exit 7 "which is worse than OK" "$verify" -q --trust run.pub --require-complete less.cap run.cap
check_exit 7 "in either order" "$verify" -q --trust run.pub --require-complete run.cap less.cap

# Names.
cp run.cap $'esc\x1b[31m\n.cap'
check_exit 0 "a file name with control characters" "$verify" --trust run.pub $'esc\x1b[31m\n.cap'
check "is not printed raw" [ "$(LC_ALL=C grep -c $'\x1b' out)" -eq 0 ]
check_prints '^OK esc\\x1b\[31m\\x0a\.cap$' "but escaped"

# The command line.
check_exit 2 "no file is a usage error" "$verify"
check_says '^gpuverify: .*--help' "which is one line"
check_exit 2 "an unknown option is a usage error" "$verify" --frobnicate run.cap
check_says 'frobnicate' "which names it"
check_exit 0 "--help" "$verify" --help
check_prints 'require-complete' "lists the options"
check_exit 3 "a full disk is told" sh -c '"$0" --trust run.pub run.cap >/dev/full' "$verify"


# What --help tells.
check_exit 0 "help is given" "$verify" --help
check_prints '^usage: gpuverify .*\[--bytes-only\].* FILE\.\.\.$' "with each way to check in the usage"
check_prints ' the worst counts: FORGED \(1\), MALFORMED \(4\), UNTRUSTED \(6\), UNSEALED \(5\),$' \
	"and which of several verdicts is the worst"
check_prints ' Status 2: wrong usage' "and the status of wrong usage"
finish
