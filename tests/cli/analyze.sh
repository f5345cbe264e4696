#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# gpuanalyze from outside. Each tests/rules/RULE/NAME.txt is a script for mkcap, and NAME.json what the report must say
# of it under "findings"; BLESS=1 writes those files anew, for a person to look at.
. "$(dirname "$0")/lib.sh"
cd "$(dirname "$0")/../.." || exit 1
mkcap=$BUILD/tests/mkcap
analyze=$BUILD/gpuanalyze

# make_capture SCRIPT OUT [OPTION...]
make_capture() {
	"$mkcap" -o "$2" --pub "$TMP/pub" "${@:3}" "$1"
}

# What a report says under "findings"; what is random in a capture (its id) does not stand there.
findings() {
	sed -n '/^   "findings": /,/^   "calls": /{/^   "calls": /d;p}' "$1"
}

for script in tests/rules/*/*.txt; do
	name=${script#tests/rules/}
	name=${name%.txt}
	make_capture "$script" "$TMP/run.cap" || continue
	check "$name: a report is made" "$analyze" -q --trust "$TMP/pub" --report="$TMP/run.json" --force "$TMP/run.cap"
	findings "$TMP/run.json" >"$TMP/findings"
	[ -z "${BLESS:-}" ] || cp "$TMP/findings" "${script%.txt}.json"
	check "$name: it finds what stands in $name.json" diff -u "${script%.txt}.json" "$TMP/findings"
	"$analyze" -q --trust "$TMP/pub" --json "$TMP/run.cap" >"$TMP/again.json"
	check "$name: the same bytes come again" cmp "$TMP/run.json" "$TMP/again.json"
done

# --- the text ---
stall=$TMP/stall.cap
make_capture tests/rules/futex-stall/preempted-holder.txt "$stall"
check_exit 0 "without options the report is text on standard output" "$analyze" --trust "$TMP/pub" "$stall"
check_prints '^Evidence   OK, signed by [0-9A-F]{16}' "the verdict and the signer come first"
check_prints 'cudaLaunchKernel took 13\.1 ms \(median 17\.. µs\): 13\.0 ms asleep in futex 0x7f00000010c0, woken by 202 tokenizer, which had been preempted on CPU 1 by 203 hog for 12\.9 ms' \
	"the sentence names the futex, the waker and what kept it"
check_prints "A launch's is the time to enqueue it, not the GPU's" "what a launch's time is, is said where it is shown"
check_prints '^  +100\.0 +41\.0 ms +103 .*cudaLaunchKernel$' "the table of calls is there"
check_prints '^What the capture could not see' "so is what could not be seen"
command=$(sed -nE 's/^ +gpureplay CAPTURE (--from .*)/\1/p' "$TMP/out" | head -n 1)
# shellcheck disable=SC2086 # the options are words
check_exit 0 "under each occurrence stands the command that shows it" "$BUILD/gpureplay" -q --trust "$TMP/pub" "$stall" $command
check_prints 'cudaLaunchKernel .*dur=13' "and it does"
check_exit 0 "--report alone is the same" "$analyze" --trust "$TMP/pub" "$stall" --report
"$analyze" -q --trust "$TMP/pub" "$stall" >"$TMP/text"
check "to the byte" cmp "$TMP/text" "$TMP/out"
make_capture tests/rules/evidence/clean.txt "$TMP/clean.cap"
check_exit 0 "a clean capture is no failure, whatever --fail-on says" \
	"$analyze" --fail-on info --trust "$TMP/pub" "$TMP/clean.cap"
check_prints 'No problem was found\.' "and nothing is found in it"

# --- one moment ---
at() { # TIME TID [OPTION...]
	"$analyze" -q --trust "$TMP/pub" "$stall" --at "$1" --tid "$2" "${@:3}"
}
check_exit 0 "--at and --tid explain a moment" at +0.305 201
check_prints '^At \+0\.305000 s thread 201 trainer \(13\.0 ms, from \+0\.300010 s to \+0\.313000 s\): 13\.0 ms asleep in futex 0x7f00000010c0, woken by 202 tokenizer, which had been preempted on CPU 1 by 203 hog for 12\.9 ms\.$' \
	"with what the thread was doing, and why"
check_prints '^It was in a call to cudaLaunchKernel \(13\.1 ms, from \+0\.300000 s to \+0\.313100 s\):$' "the call that it was in"
check_prints '^    asleep in a futex  13\.0 ms \(99\.2 %\)$' "how the time of the call is split"
check_prints '^  woken by 202 tokenizer, mostly waiting for a CPU: ' "whom it waited for"
check_prints '^  \[1\] launch-latency warning: ' "the findings that it is part of"
check_prints '^  gpureplay CAPTURE --from \+0\.300000s --to \+0\.313101s --tid 201$' "and the command that shows its events"
cp "$TMP/out" "$TMP/at.txt"
for time in 305ms 0.305s '+0.305000 s' 00:00.305 1000.305000000 1000305000000 '2027-01-15 08:00:00.305 UTC'; do
	check_exit 0 "--at '$time' is the same moment" at "$time" 201
	check "to the byte" cmp "$TMP/at.txt" "$TMP/out"
done
check_exit 0 "who was kept from running is said, too" at +0.305 202
check_prints '^At .* thread 202 tokenizer .*: 13\.4 ms waiting for a CPU, preempted on CPU 1 by 203 hog\.$' "with the one that had the CPU"
check_prints '^It was in no recorded call\.$' "and that it was in no call"
check_exit 1 "of a thread that no row is about" at +0.305 999
check_prints 'no recorded row shows what it was doing' "this is said"
check_exit 1 "a moment after the end is not in the capture" at 1h 201
check_prints 'this moment is not in the capture, which lasts from \+0 s to \+[0-9.]+ s\.$' "and that is said"
at +0.305 201 --json >"$TMP/at.json"
check "as JSON" [ "$(sqlite3 :memory: "SELECT j ->> '\$.calls[0].function' || ' ' || (j ->> '\$.call_cause[0].keeper.tid') || ' ' || (j ->> '\$.state_cause[0].chain[0].main') || ' ' || (j ->> '\$.findings[0]') FROM (SELECT CAST(readfile('$TMP/at.json') AS TEXT) AS j)")" = "cudaLaunchKernel 203 futex 1" ]
check_exit 2 "--at without --tid is a wrong use" "$analyze" "$stall" --at +0.305
check_exit 2 "a bare number is no time" at 12 201

# --- exit statuses and options ---
check_exit 1 "--fail-on warning fails on a warning" "$analyze" -q --fail-on warning --trust "$TMP/pub" "$stall"
check_exit 0 "--fail-on error does not" "$analyze" -q --fail-on error --trust "$TMP/pub" "$stall"
check_exit 2 "an unknown severity is a wrong use" "$analyze" --fail-on bad "$stall"
check_says 'not one of info, warning, error' "and is told which there are"
check_exit 2 "no file is a wrong use" "$analyze"
check_exit 2 "a report's name behind a blank is a wrong use" "$analyze" --trust "$TMP/pub" "$stall" --report "$TMP/r.html"
check_says "r\.html is not a capture; did you mean --report=.*r\.html, or -o .*r\.html\?" "and is told what it should be"
check_exit 0 "-o takes one" "$analyze" -q --trust "$TMP/pub" "$stall" -o "$TMP/o.html"
"$analyze" -q --trust "$TMP/pub" "$stall" --report="$TMP/o2.html"
check "as --report= does" cmp "$TMP/o.html" "$TMP/o2.html"
rm -f "$TMP/o.html" "$TMP/o2.html"

# --- what is made of a capture may be read by whoever may read that, and by nobody else ---
mode_of() { stat -c %a "$1"; }
modes() { # MODE: of the capture, and so of all that is made of it
	local out
	chmod "$1" "$stall"
	for out in m.html m.json m.txt; do
		"$analyze" -q --force --trust "$TMP/pub" "$stall" -o "$TMP/$out" || return 1
		[ "$(mode_of "$TMP/$out")" = "$1" ] || { echo "$out is $(mode_of "$TMP/$out")"; return 1; }
	done
	for out in m.db m.csv m.cap; do
		"$BUILD/gpureplay" -q --force --trust "$TMP/pub" "$stall" -o "$TMP/$out" --from +0.1s || return 1
		# A capture is never readable by all, whatever it was made of.
		[ "$(mode_of "$TMP/$out")" = "$1" ] || [ "$1 $out $(mode_of "$TMP/$out")" = "644 m.cap 640" ] ||
			{ echo "$out is $(mode_of "$TMP/$out")"; return 1; }
	done
}
for mode in 600 640 644; do
	check "of a capture with mode $mode all outputs have it" modes "$mode"
done
check_exit 3 "gpureplay says that a name is taken" "$BUILD/gpureplay" --trust "$TMP/pub" "$TMP/nowhere.cap" -o "$TMP/m.csv"
check_says 'm\.csv is already there; --force replaces it' "before it reads the capture"
for tool in "$analyze" "$BUILD/gpureplay"; do
	check_exit 2 "${tool##*/} -o '' is a wrong use" "$tool" "$stall" -o ''
	check_says '(the name of a file is missing|the suffix selects the format)' "and says what is missing"
done

# --- misspelt words ---
meant() { # WORD COMMAND...: it is refused, and WORD is offered
	local word=$1
	shift
	check_exit 2 "${*: -1} is no word" "$@"
	check_says "did you mean '?(--)?$word'?\?" "$word is offered"
}
meant warning "$analyze" "$stall" --fail-on warn
meant futex-stall "$analyze" --explain futex-stal
meant futex-stall "$analyze" --explain futex
meant futex-stall.min-wait "$analyze" "$stall" --set futex-stall.min-wat=5ms
meant fail-on "$analyze" "$stall" --fail-no=warning
meant launch "$BUILD/gpureplay" --trust "$TMP/pub" "$stall" --kind=lanuch
meant trust "$BUILD/gpukey" trsut
meant require-complete "$BUILD/gpuverify" "$stall" --requier-complete
check_exit 2 "what resembles nothing" "$BUILD/gpureplay" --trust "$TMP/pub" "$stall" --kind=xyzzy
check_says "'xyzzy' is not a kind of event; gpuverify lists those of a capture \(" "is refused without an offer"
check_exit 2 "an unknown option is a wrong use" "$analyze" --nonsense "$stall"
check_exit 2 "an ending that is not known is a wrong use" "$analyze" --report="$TMP/x.pdf" "$stall"
check_says 'must be \.txt, \.json, \.sarif or \.html' "and is told which there are"
check_exit 2 "a wrong setting is a wrong use" "$analyze" --set launch-latency.min=5x "$stall"
check_says "wants a duration such as .*, not '5x'" "and is told what it should be"
check_exit 0 "--list-rules needs no file" "$analyze" --list-rules
check_prints '^launch-latency \(warning\): ' "and names the rules"
check_prints '^  alloc-leak\.bytes = 64\.0 KiB$' "and their settings"
check_exit 0 "a threshold that is set counts" \
	"$analyze" --trust "$TMP/pub" --set launch-latency.min=1s --set futex-stall.alone=10s --set futex-stall.repeat=9 \
	"$stall" --fail-on info
printf '# ours\n\n launch-latency.min = 1s \nfutex-stall.alone=10s\nfutex-stall.repeat=9\n' >"$TMP/settings"
check_exit 0 "thresholds can stand in a file" "$analyze" --trust "$TMP/pub" --settings "$TMP/settings" "$stall" --fail-on warning
check_exit 1 "what comes later on the command line counts" \
	"$analyze" --trust "$TMP/pub" --settings "$TMP/settings" --set launch-latency.min=1ms "$stall" --fail-on warning
echo 'launch-latency.min=5x' >>"$TMP/settings"
check_exit 3 "a wrong line in it is told" "$analyze" --settings "$TMP/settings" "$stall"
check_says 'settings, line 6: .*launch-latency' "with its number and what it should be"
check_exit 3 "so is a file that is not there" "$analyze" --settings "$TMP/none" "$stall"
check_exit 0 "--explain tells what a rule means" "$analyze" --explain launch-latency
for part in 'What a finding means' 'When it is wrong' 'What to do' 'Settings '; do
	check_prints "^$part" "with: $part"
done
check_exit 2 "a rule that there is not cannot be explained" "$analyze" --explain nonsense
check_says "there is no rule 'nonsense'; --list-rules shows them" "and that is said"
check_exit 0 "--help helps" "$analyze" --help
check_exit 0 "--version says which" "$analyze" --version

# --- outputs ---
check "a text file is written" "$analyze" -q --trust "$TMP/pub" --report="$TMP/r.txt" "$stall"
check "it holds what standard output would" cmp "$TMP/text" "$TMP/r.txt"
check_exit 3 "a file that is there is not replaced" "$analyze" --trust "$TMP/pub" --report="$TMP/r.txt" "$TMP/clean.cap"
check_says 'is already there; --force replaces it' "and that is said"
check "it is as it was" cmp "$TMP/text" "$TMP/r.txt"
check "--force replaces it" "$analyze" -q --force --trust "$TMP/pub" --report="$TMP/r.txt" "$TMP/clean.cap"
check "with the new report" grep -q 'problem was found' "$TMP/r.txt"
check_exit 3 "a folder that is not there is told" "$analyze" --trust "$TMP/pub" --report="$TMP/none/r.txt" "$stall"
mkdir "$TMP/folder.txt"
check_exit 3 "a folder is not replaced" "$analyze" --force --trust "$TMP/pub" --report="$TMP/folder.txt" "$stall"
if [ -w /dev/full ]; then
	"$analyze" -q --trust "$TMP/pub" "$stall" >/dev/full 2>"$TMP/err"
	check "a full disk is told" test $? -eq 3
	check_says '^gpuanalyze: cannot write to standard output: No space left' "with the reason"
fi
ascii() { LC_ALL=C "$@" >"$TMP/ascii" && grep -q '[0-9] us' "$TMP/ascii" && ! LC_ALL=C grep -aP '[\x80-\xff]' "$TMP/ascii"; }
check "in a locale without UTF-8 the text is ASCII" ascii "$analyze" -q --trust "$TMP/pub" "$stall"
check "no temporary file is left" test -z "$(find "$TMP" -name '*.part')"

# --- captures that are not in order ---
check_exit 1 "an untrusted signer is refused" "$analyze" "$stall"
check_says 'UNTRUSTED' "by that word"
check_exit 0 "--unverified reads it all the same" "$analyze" --unverified "$stall"
check_prints '^Evidence   UNVERIFIED' "and says so first"
check_prints 'evidence warning: unverified' "and as a finding"
cp "$stall" "$TMP/flipped.cap"
flip_byte "$TMP/flipped.cap" $(($(stat -c %s "$stall") * 4 / 5))
check_exit 1 "a flipped byte is refused" "$analyze" --trust "$TMP/pub" "$TMP/flipped.cap"
check_says 'FORGED|MALFORMED' "as what it is"
check "nothing is printed then" test ! -s "$TMP/out"
check_exit 1 "and makes no report" "$analyze" --trust "$TMP/pub" --report="$TMP/forged.json" "$TMP/flipped.cap"
check "not even an empty one" test ! -e "$TMP/forged.json"
head -c 5000 /dev/urandom >"$TMP/random.cap"
check_exit 1 "random bytes are refused" "$analyze" "$TMP/random.cap"
: >"$TMP/empty.cap"
"$analyze" "$TMP/empty.cap" >"$TMP/out" 2>"$TMP/err"
check "an empty file is refused" test $? -ne 0
check "in one line" test "$(wc -l <"$TMP/err")" -eq 1
check_exit 3 "a folder cannot be analysed" "$analyze" "$TMP"
check_exit 3 "nor can what is not there" "$analyze" "$TMP/none.cap"
check_exit 3 "of several files the worst decides" "$analyze" -q --trust "$TMP/pub" "$TMP/none.cap" "$stall"
check_prints 'cudaLaunchKernel took' "and the others are reported"

printf '%s\n' 'process at=+0s pid=200 start=1s tracked=1 name=driver' \
	'launch at=+10ms pid=200 tid=201 dur=17us' 'epoch +1s' 'launch at=+1010ms pid=200 tid=201 dur=17us' >"$TMP/script"
make_capture "$TMP/script" "$TMP/unsealed.cap" --no-end
check_exit 0 "a capture without an end is analysed up to its last seal" "$analyze" --trust "$TMP/pub" "$TMP/unsealed.cap"
check_prints 'no end: analysed up to the last seal' "and that is said"
check_prints ' 1 +17\.0 µs .*cudaLaunchKernel$' "with what is sealed"

# --- names that bite, names withheld ---
printf '%s\n' 'process at=+0s pid=200 start=1s tracked=1 name="\x1b[31mred\x07"' \
	'thread at=+0s tid=201 pid=200 start=1s name="<b>\"\\\x9b"' \
	'repeat 50 2ms launch at=+10ms pid=200 tid=201 dur=17us' 'repeat 3 50ms launch at=+200ms pid=200 tid=201 dur=9ms' \
	>"$TMP/script"
make_capture "$TMP/script" "$TMP/hostile.cap"
check_exit 0 "hostile names are shown" "$analyze" --trust "$TMP/pub" "$TMP/hostile.cap"
check "without an escape sequence in text" sh -c "! grep -q '[[:cntrl:]]' '$TMP/out'"
"$analyze" -q --trust "$TMP/pub" --json "$TMP/hostile.cap" >"$TMP/hostile.json"
check "nor in JSON" sh -c "! grep -q '[[:cntrl:]]' '$TMP/hostile.json'"
check "which is valid" sqlite3 :memory: "SELECT json_valid(CAST(readfile('$TMP/hostile.json') AS TEXT)) = 1 OR 1 / 0"

"$mkcap" --narrow "$stall" -o "$TMP/nameless.cap" --withhold process
check_exit 0 "without names the numbers are told" "$analyze" --trust "$TMP/pub" "$TMP/nameless.cap"
check_prints 'asleep in futex 0x7f00000010c0, woken by 202, which had been preempted on CPU 1 by 203 for 12\.9 ms' \
	"in the same sentence"
check_prints 'evidence info: withheld' "and that names are missing is a finding"
make_capture <(sed 's/^end/epoch +450ms\nend/' tests/rules/futex-stall/preempted-holder.txt) "$TMP/two.cap"
"$mkcap" --narrow "$TMP/two.cap" -o "$TMP/slice.cap" --from +450ms
check_exit 0 "of a slice the rest is analysed" "$analyze" --trust "$TMP/pub" "$TMP/slice.cap"

# --- what a person was told is what was planted ---
"$analyze" -q --trust "$TMP/pub" --json "$stall" >"$TMP/stall.json"
cat >"$TMP/truth.json" <<'TRUTH'
{"faults": [
 {"fault": "stall", "function": "cudaLaunchKernel", "begin_ns": 1000300000000, "end_ns": 1000313100000,
  "waiter": {"tid": 201}, "waker": {"tid": 202}, "kept_by": {"tid": 203}, "futex": "0x7f00000010c0"},
 {"fault": "stall", "function": "cudaLaunchKernel", "begin_ns": 1000500000000, "end_ns": 1000513100000,
  "waiter": {"tid": 201}, "waker": {"tid": 202}, "kept_by": {"tid": 203}, "futex": "0x7f00000010c0"},
 {"fault": "stall", "function": "cudaLaunchKernel", "begin_ns": 1000700000000, "end_ns": 1000713100000,
  "waiter": {"tid": 201}, "waker": {"tid": 202}, "kept_by": {"tid": 203}, "futex": "0x7f00000010c0"}],
 "accidents": [], "failed_attempts": []}
TRUTH
score=$BUILD/tests/score
check_exit 0 "score: all that was planted is found" "$score" "$TMP/truth.json" "$TMP/stall.json"
check_prints '^3 as it should be, 0 not$' "and nothing else"
sed 's/"kept_by": {"tid": 203}/"kept_by": {"tid": 204}/' "$TMP/truth.json" >"$TMP/wrong.json"
check_exit 1 "score: a wrong keeper is missed" "$score" "$TMP/wrong.json" "$TMP/stall.json"
check_prints '^MISSED stall: wrong futex, waker or keeper' "and told as that"
sed '/1000700000000/,/203/d; s/0c0"},$/0c0"},/' "$TMP/truth.json" | sed '$!N;s/},\n "acc/}],\n "acc/;P;D' >"$TMP/fewer.json"
check_exit 1 "score: what was not planted is told" "$score" "$TMP/fewer.json" "$TMP/stall.json"
check_prints '^UNPLANTED (launch-latency|futex-stall) ' "with rule and time"
cat >"$TMP/waits.json" <<'REPORT'
{"reports": [{"findings": [{"rule": "runqueue", "class": "preempted", "headline": "201 waited for a CPU", "first": [
 {"tid": 201, "begin_ns": 1000, "end_ns": 3000}, {"tid": 201, "begin_ns": 5000, "end_ns": 6000}]}]}]}
REPORT
waits() { # CPU_WAIT_NS
	echo '{"faults": [], "accidents": [], "failed_attempts": [], "threads": [{"tid": 201, "cpu_wait_ns": '"$1"'}]}' >"$TMP/waits.truth"
	"$score" "$TMP/waits.truth" "$TMP/waits.json"
}
check_exit 0 "score: what a thread waited for a CPU by the kernel's account is excused" waits 3000
check_exit 1 "score: more than that is not" waits 2999
finish
