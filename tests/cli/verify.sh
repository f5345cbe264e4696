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
check "the verdict word is first, and the line says what was lost" first_line "OK run.cap: 3 of 20 events (15.0 %) were lost"
check_prints '^  signed by +[0-9A-F]{16} \(run\), trusted here$' "it says who signed"
check_prints '^  recorded +2027-01-15 08:00:00 UTC, 3\.00 s in 3 epochs$' "it says when, by the wall clock, and how long"
check_prints '^  ended +the command ended with exit status 1$' "it says why recording ended"
check_prints '^  events +21: launch 16, alloc 1, process 1, thread 2, fact 1$' "it counts events by kind"
check_prints '^  lost +3 cudaMalloc: no room in the ring$' "it tells losses by probe and cause, in words"
check_prints '^  incomplete 2 cudaMalloc: no user stack could be taken, or not all of it$' "it tells what recorded events lack"
check_prints '^  withheld +nothing$' "it says that nothing is withheld"
check_exit 0 "with -q" "$verify" -q --trust run.pub run.cap
check "only the verdict line is printed" [ "$(cat out)" = "OK run.cap: 3 of 20 events (15.0 %) were lost" ]

check_exit 0 "the verdict as JSON" "$verify" --json --trust run.pub run.cap
check_prints '^\{"verdict":"OK","file":"run.cap","exit_status":0,"refused":false,.*"launch":16.*\}$' "is one object on one line"
check_prints '"lost":\[\{"probe":"cudaMalloc","cause":"ring_full","count":3\}\]' "with the losses"

# Trust.
check_exit 6 "a key that nothing here trusts is UNTRUSTED" "$verify" run.cap
check "which is the verdict word" first_line "UNTRUSTED run.cap"
check "and the command that would trust it stands there" grep -qF "gpukey trust $(tail -n 1 run.pub)" out
"$BUILD/gpukey" show run.pub >shown || exit 1
fingerprint=$(sed -n 's/^fingerprint  //p' shown)
check "with the fingerprint to compare first, as gpukey show prints it" grep -qxF "  compare    fingerprint $fingerprint" out
check "and the advice where" grep -q "with what 'gpukey show' prints on the recording host" out
check "which stands there once" [ "$(grep -c 'gpukey trust' out)$(grep -c 'gpukey show' out)$(grep -c 'not trusted' out)" = 111 ]
check_exit 6 "it is in the JSON, too" "$verify" --json run.cap
check_prints "\"fingerprint\":\"$fingerprint\"" "as one member"
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
	flip_byte flip.cap "$at" 1
	"$verify" -q --trust run.pub flip.cap >out 2>err
	status=$?
	tried=$((tried + 1))
	case "$status $(head -c 9 out)" in
	"1 FORGED fl" | "4 MALFORMED") ;;
	# A version or feature bit of the header reads as a later version; a changed key as one that is not trusted.
	"3 UNCHECKED" | "6 UNTRUSTED") ;;
	# A length that reaches beyond the end reads as a file that was cut there.
	"5 UNSEALED ") ;;
	*) wrong=$((wrong + 1)); echo "# byte $at: status $status, $(cat out)" ;;
	esac
done
check "none of $tried captures with a flipped bit passes" [ "$wrong" -eq 0 ]
cp run.cap flip.cap
flip_byte flip.cap $((size - 200))
check_exit 1 "a byte changed under a seal is FORGED" "$verify" --trust run.pub flip.cap
check "which is the verdict word" first_line "FORGED flip.cap"
check_prints '^  why +[^ ].*' "with the reason"
check_prints '^  authentic +the first 3 epochs: until 2027-01-15 08:00:03 UTC, 21 events$' "and how far it is authentic"

# Cuts.
check_exit 5 "a capture without an end is UNSEALED" "$verify" --trust run.pub cut.cap
check "which is the verdict word" first_line "UNSEALED cut.cap: 3 of 20 events (15.0 %) were lost"
check_prints '^  authentic +the first 3 epochs' "and it says how much of it stands"
check_prints '^  ended +unknown' "and that its end is unknown"
head -c $((size - 250)) run.cap >torn.cap
check_exit 5 "a capture cut in the middle of something is UNSEALED" "$verify" --trust run.pub torn.cap
{ cat run.cap; echo; } >longer.cap
check_exit 4 "bytes behind the end make it MALFORMED" "$verify" --trust run.pub longer.cap

# What file systems and copies leave behind a capture: zeros, old blocks, a last block that was never written.
cp run.cap padded.cap
truncate -s $((size + 4096)) padded.cap
check_exit 0 "zeros behind the end, as a copy in whole blocks leaves them, change no verdict" "$verify" --trust run.pub padded.cap
check_prints '^  outside    4096 zero bytes after the end are not part of the capture$' "and are not passed over in silence"
check_exit 0 "in JSON" "$verify" --json --trust run.pub padded.cap
check_prints '"bytes_outside":4096,' "likewise"
check_exit 0 "of a capture without them" "$verify" --json --trust run.pub run.cap
check "nothing is reported" eval '! grep -q outside out'
{ cat cut.cap; head -c 8192 /dev/zero; } >zeros.cap
{ cat cut.cap; head -c 3000 /bin/sh; } >block.cap
for tail in "zeros 8192" "block 3000"; do
	set -- $tail
	check_exit 5 "$1 behind the last seal leave it UNSEALED" "$verify" --trust run.pub "$1.cap"
	check_prints "^  authentic  the first 3 epochs: until 2027-01-15 08:00:03 UTC, 21 events" "authentic to there"
	check_prints "^  outside    $2 bytes after the last seal are not part of the capture" "and so many bytes are none of it"
	check_exit 0 "it is read to there" "$BUILD/gpureplay" -q --trust run.pub "$1.cap"
	mv out "$1.txt"
done
"$BUILD/gpureplay" -q --trust run.pub cut.cap >cut.txt
check "with every event that is sealed" cmp zeros.txt cut.txt
check "whatever is behind it" cmp block.txt cut.txt
"$BUILD/gpureplay" -q --trust run.pub --withhold process -o less-zeros.cap zeros.cap
"$BUILD/gpureplay" -q --trust run.pub --withhold process -o less-cut.cap cut.cap
check "a narrowed copy ends where the capture does" cmp less-zeros.cap less-cut.cap
block=$(((size - 1) / 512 * 512))
{ head -c "$block" run.cap; head -c $((size - block)) /dev/zero; } >unwritten.cap
check_exit 5 "a last block that was not written leaves it UNSEALED" "$verify" --trust run.pub unwritten.cap
check_prints "the file ends without an end record: from here on it is all zeros \\(at byte $block\\)" "where it begins"
end=$(LC_ALL=C grep -obUaP '\x54\x2a\x4d\x18' run.cap | tail -n 1 | cut -d: -f1)
{ head -c "$end" run.cap; head -c 512 /dev/zero; tail -c +$((end + 1)) run.cap; } >gap.cap
check_exit 4 "a gap before more of the capture makes it MALFORMED" "$verify" --trust run.pub gap.cap

# Withheld content.
"$mkcap" --narrow run.cap --withhold process -o less.cap >/dev/null || exit 1
"$mkcap" --narrow run.cap --from +1.1s -o slice.cap >/dev/null || exit 1
check_exit 0 "a redacted capture is authentic" "$verify" --trust run.pub less.cap
check "and called OK-REDACTED" first_line "OK-REDACTED less.cap: 3 of 20 events (15.0 %) were lost"
check_prints '^  withheld +process: 3 rows in 2 chunks of epochs 0 to 1, 2027-01-15 08:00:00 UTC to 2027-01-15 08:00:01 UTC \(\+0\.000000000 s to \+1\.400000000 s\)$' \
	"it tells the class, epochs and time of what is withheld"
check_exit 0 "a slice is authentic" "$verify" --trust run.pub slice.cap
check "and called OK-SLICE" first_line "OK-SLICE slice.cap: 3 of 20 events (15.0 %) were lost"
check_exit 7 "--require-complete refuses it" "$verify" --require-complete --trust run.pub slice.cap
check "the verdict word stays" first_line "OK-SLICE slice.cap: 3 of 20 events (15.0 %) were lost"
check_prints '^  refused ' "and the refusal is told"
grep -v ring_full run.script >full.script
"$mkcap" -o full.cap --pub run.pub full.script && "$mkcap" --narrow full.cap --withhold process -o less-full.cap >/dev/null || exit 1
check_exit 0 "--require-complete accepts a whole one" "$verify" --require-complete --trust run.pub full.cap
check "of which the first line says nothing more" first_line "OK full.cap"
check_exit 0 "which is complete as JSON" "$verify" --json --trust run.pub full.cap
check_prints '"complete":true,"happened":[0-9]+,"events_lost":0,"events_left_out":0,"calls_open":0' "with all counts"

# Lost events.
check_exit 7 "--require-complete refuses a capture that lost events" "$verify" --require-complete --trust run.pub run.cap
check "the verdict word stays" first_line "OK run.cap: 3 of 20 events (15.0 %) were lost"
check_prints '^  refused +events are missing' "and the refusal is explained"
check_exit 7 "with -q, too" "$verify" -q --require-complete --trust run.pub run.cap
check_exit 7 "and as JSON" "$verify" --json --require-complete --trust run.pub run.cap
check_prints '"exit_status":7,"refused":true,.*"complete":false,"happened":[0-9]+,"events_lost":3,' "which says so"
for limit in 3 4 15% 15.5% 100%; do
	check_exit 0 "--max-lost=$limit accepts 3 of 20" "$verify" --max-lost=$limit --trust run.pub run.cap
done
for limit in 0 2 0% 14.9% 14.9999%; do
	check_exit 7 "--max-lost=$limit refuses 3 of 20" "$verify" --max-lost=$limit --trust run.pub run.cap
done
check_prints '^  refused +more events are missing than --max-lost allows' "and the refusal is explained"
check_exit 0 "--max-lost says how much --require-complete allows" \
	"$verify" --require-complete --max-lost=3 --trust run.pub run.cap
check_exit 7 "but not that anything may be withheld" \
	"$verify" --require-complete --max-lost=100% --trust run.pub less.cap
check_exit 0 "which --max-lost alone does not judge" "$verify" --max-lost=0 --trust run.pub less-full.cap
for limit in x -1 1x 101% % 1.5 .5% 18446744073709551616; do
	check_exit 2 "--max-lost=$limit is a usage error" "$verify" --max-lost=$limit --trust run.pub run.cap
done
{ grep -v ring_full run.script | grep -v '^end'; echo 'lost cudaMalloc sampled_out 6'; echo 'end command 0'; } >sampled.script
"$mkcap" -o sampled.cap --pub run.pub sampled.script || exit 1
check_exit 7 "--require-complete refuses what was sampled out" "$verify" --require-complete --trust run.pub sampled.cap
check "which the first line says" first_line "OK sampled.cap: 6 of 23 events (26.1 %) were left out on purpose"
check_exit 7 "and --max-lost counts it" "$verify" --max-lost=5 --trust run.pub sampled.cap
{ grep -v ring_full run.script | grep -v '^end'; echo 'lost cudaMalloc in_flight 6'; echo 'end command 0'; } >open.script
"$mkcap" -o open.cap --pub run.pub open.script || exit 1
check_exit 0 "a call in progress when recording ends is no loss" "$verify" --require-complete --trust run.pub open.cap
check "and not on the first line" first_line "OK open.cap"

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
check_exit 3 "a pipe cannot be checked, and is not waited for" timeout 100 "$verify" pipe # speed: a limit for what never ends
check_exit 3 "nor can a device" "$verify" /dev/null

# Every byte, but no row.
check_exit 0 "--bytes-only proves the bytes" "$verify" --bytes-only --trust run.pub run.cap
check "and says on the first line what it did not look at" first_line "OK run.cap (rows not decoded): 3 of 20 events (15.0 %) were lost"
check_prints '^  lost ' "losses are told all the same"
check_exit 1 "a flipped bit is FORGED with --bytes-only too" "$verify" --bytes-only --trust run.pub flip.cap
check_exit 5 "a cut is UNSEALED" "$verify" --bytes-only --trust run.pub cut.cap
check_exit 6 "an unknown signer UNTRUSTED" "$verify" --bytes-only run.cap
check_exit 0 "a redacted capture OK-REDACTED" "$verify" --bytes-only --trust run.pub less.cap
check "and called so" first_line "OK-REDACTED less.cap (rows not decoded): 3 of 20 events (15.0 %) were lost"
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

# A rotation from which captures are taken away.
cat >chain.script <<'END'
series 0123456789abcdef0123456789abcdef
challenge c0ffee
launch at=+10ms pid=100 tid=100 dur=17us
next c2.cap
launch at=+1s pid=100 tid=100 dur=17us
next c3.cap
launch at=+2s pid=100 tid=100 dur=17us
next c4.cap
launch at=+3s pid=100 tid=100 dur=17us
next c5.cap
launch at=+4s pid=100 tid=100 dur=17us
end terminated
END
"$mkcap" -o c1.cap chain.script || exit 1
chain=("$verify" -q --trust run.pub --require-chain)
series="of series 0123456789abcdef0123456789abcdef"
said() { # LINE...: all that was printed beside the verdicts
	diff <(grep '^JOINT' out) <(printf 'JOINT  %s\n' "$@")
}
check_exit 0 "a whole rotation is a chain" "${chain[@]}" c3.cap c1.cap c5.cap c4.cap c2.cap
check "of which nothing more is said with -q" [ "$(grep -vc '^OK ' out)" -eq 0 ]
check_exit 0 "without -q" "$verify" --trust run.pub c1.cap c2.cap
check_prints "^  series +0123456789abcdef0123456789abcdef, capture 2$" "it is said which one of a series each is"
check_prints "^  challenge +c0ffee$" "and which challenge they have, all of them"
check "each" [ "$(grep -c '^  challenge ' out)" -eq 2 ]
check_exit 0 "as JSON" "$verify" --json --trust run.pub c5.cap
check_prints '"challenge":"c0ffee"' "too"
check_exit 7 "one taken away from the middle is refused" "${chain[@]}" c1.cap c2.cap c4.cap c5.cap
check "with a sentence that names it" said "capture 3 $series is missing between c2.cap (2) and c4.cap (4)"
check_exit 7 "so is the first" "${chain[@]}" c2.cap c3.cap c4.cap c5.cap
check "with its sentence" said "capture 1 $series is missing before c2.cap (2)"
check_exit 7 "the last" "${chain[@]}" c1.cap c2.cap c3.cap c4.cap
check "with its sentence" said "capture 5 and any later one $series is missing after c4.cap (4)"
check_exit 7 "several" "${chain[@]}" c1.cap c5.cap
check "with its sentence" said "captures 2 to 4 $series are missing between c1.cap (1) and c5.cap (5)"
check_exit 7 "all but one" "${chain[@]}" c3.cap
check "with two" said "captures 1 to 2 $series are missing before c3.cap (3)" \
	"capture 4 and any later one $series is missing after c3.cap (3)"
check_exit 0 "--require-complete alone does not refuse a gap" "$verify" -q --trust run.pub --require-complete c1.cap c3.cap c4.cap c5.cap
check "but tells it, with -q too" said "capture 2 $series is missing between c1.cap (1) and c3.cap (3)"
check_exit 7 "JSON tells it" "${chain[@]}" --json c2.cap c4.cap c5.cap
check_prints '"series":"0123456789abcdef0123456789abcdef","series_number":4' "each capture its number"
check_prints '^\{"joint":"missing","series":"[0-9a-f]+","first":3,"last":3,"from":"c2.cap","to":"c4.cap"\}$' "and what is missing"
before=$("$verify" --trust run.pub c2.cap | sed -n 's/^  last seal  //p')
check_exit 0 "what was removed on purpose is not missing before the first" "${chain[@]}" --after "$before" c3.cap c4.cap c5.cap
check_exit 7 "but the hash must be right" "${chain[@]}" --after "$before" c4.cap c5.cap
check_exit 2 "and be a hash" "${chain[@]}" --after 12 c4.cap c5.cap
check_exit 2 "--after alone has no meaning" "$verify" --after "$before" c4.cap
check_exit 0 "captures that continue nothing are no chain, and miss nothing" "${chain[@]}" run.cap c1.cap c2.cap c3.cap c4.cap c5.cap
check_exit 6 "a worse verdict counts more" "$verify" -q --require-chain c1.cap c3.cap
head -c $(($(stat -c %s c2.cap) - 50)) c2.cap >c2cut.cap
check_exit 5 "one that was cut at its end is UNSEALED, and not missing" "${chain[@]}" c1.cap c2cut.cap c3.cap c4.cap c5.cap

# A wall clock that is set.
printf '%s\n' 'launch at=+10ms pid=100 tid=100 dur=17us' 'epoch +1s' 'jump -31536000s' 'epoch +2s' 'jump 63072000s' 'epoch +3s' \
	'end terminated' >jump.script
"$mkcap" -o jump.cap jump.script || exit 1
check_exit 0 "a capture whose clock was set is authentic" "$verify" --trust run.pub jump.cap
check_prints '^  clock +set 2 times while recording, at most by \+[0-9.]+ [a-z]+; it read 2027-01-15 08:00:00 UTC first, 2028-01-15 08:00:03 UTC last$' \
	"and its steps are told, with the first and the last reading"
check_exit 0 "in JSON, too" "$verify" --json --trust run.pub jump.cap
check_prints '"clock_steps":2,"clock_step_ns":63072000000000000,"last_wall":[0-9]+' "with the greatest step"
check_exit 0 "of one that was not" "$verify" --trust run.pub run.cap
check "nothing is told" [ "$(grep -c '^  clock' out)" -eq 0 ]

# Names.
cp run.cap $'esc\x1b[31m\n.cap'
check_exit 0 "a file name with control characters" "$verify" --trust run.pub $'esc\x1b[31m\n.cap'
check "is not printed raw" [ "$(LC_ALL=C grep -c $'\x1b' out)" -eq 0 ]
check_prints '^OK esc\\x1b\[31m\\x0a\.cap: ' "but escaped"

# The command line.
check_exit 2 "no file is a usage error" "$verify"
check_says '^gpuverify: .*--help' "which is one line"
check_exit 2 "an unknown option is a usage error" "$verify" --frobnicate run.cap
check_says 'frobnicate' "which names it"
check_exit 0 "--help" "$verify" --help
check_prints 'require-complete' "lists the options"
check_exit 3 "a full disk is told" sh -c '"$0" --trust run.pub run.cap >/dev/full' "$verify"
check_says 'No space left' "in words"


# What --help tells.
check_exit 0 "help is given" "$verify" --help
check_prints '^usage: gpuverify .*\[--bytes-only\].* FILE\.\.\.$' "with each way to check in the usage"
words_of_help() { grep -oE '^  [A-Z][A-Z.,a-z -]* +[0-9]' out | tr -s ' .' ' ' | tr '\n' ';'; }
check "and which of several verdicts is the worst, with its exit status" \
	[ "$(words_of_help)" = " FORGED 1; MALFORMED 4; UNTRUSTED 6; UNSEALED 5; UNCHECKED 3; OK 7; OK 0; OK-SLICE, OK-REDACTED 0;" ]
check_prints 'Wrong usage is status 2' "and the status of wrong usage"
finish
