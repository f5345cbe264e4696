#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The reports of gpuanalyze in all their forms: valid, the same everywhere, naming what they rest on, harmless.
. "$(dirname "$0")/lib.sh"
cd "$(dirname "$0")/../.." || exit 1
mkcap=$BUILD/tests/mkcap
analyze=$BUILD/gpuanalyze
demo=tests/golden/demo.cap
trust="--trust tests/golden/demo.pub"

# A python that has jsonschema (Debian's own, where another one comes first).
for python in python3 /usr/bin/python3 ""; do
	"${python:-false}" -c 'import jsonschema' 2>/dev/null && break
done
if [ -z "$python" ]; then
	check "python3 with jsonschema is there (sh .ci/deps.sh test installs it)" false
	finish
fi

# report FORM OUT CAPTURE [OPTION...]
report() {
	"$analyze" -q --force --trust "$TMP/pub" --trust tests/golden/demo.pub --report="$2.$1" "${@:3}"
}

# --- of everything that rules are tested with, all forms are valid ---
n=0
mkdir "$TMP/all"
for script in tests/rules/*/*.txt; do
	out=$TMP/all/$(basename "$(dirname "$script")")-$(basename "$script" .txt)
	"$mkcap" -o "$TMP/run.cap" --pub "$TMP/pub" "$script" || continue
	for form in json sarif html; do
		report $form "$out" "$TMP/run.cap" >/dev/null 2>&1 || break
		n=$((n + 1))
	done
done
check "reports are made of all captures that rules are tested with" test "$n" -eq $(($(ls tests/rules/*/*.txt | wc -l) * 3))
check "the JSON is what docs/report.schema.json says" "$python" tests/tools/schema.py docs/report.schema.json "$TMP"/all/*.json
check "the SARIF is what the standard says" "$python" tests/tools/schema.py tests/schemas/sarif.schema.json "$TMP"/all/*.sarif
check "the pages hold nothing that runs or fetches, and are well-formed" "$python" tests/tools/page.py "$TMP"/all/*.html
for picture in "Time line" "Distribution of durations" "Who waited for whom" "Where the time went, second by second" "When it happened" "Health of a GPU"; do
	check "a page shows: $picture" grep -lq "<title>$picture</title>" "$TMP"/all/*.html
done

# --- second by second ---
strip() { # LETTERS...: the rows of the strip of $TMP/run.cap are these
	report txt "$TMP/strip" "$TMP/run.cap" >"$TMP/out" 2>&1
	sed -n '/^  What took most/,/^$/{s/^ *[+].* s  //p}' "$TMP/strip.txt" | diff - <(printf '%s\n' "$@")
}
"$mkcap" -o "$TMP/run.cap" --pub "$TMP/pub" tests/rules/stopped/recorder.txt
check_exit 0 "what the recorder stopped itself is reported" "$analyze" -q --trust "$TMP/pub" "$TMP/run.cap" --report
check_prints '^ +by the recorder, to attach its probes \(350 ms\)$' "as that, with its time"
"$mkcap" -o "$TMP/run.cap" --pub "$TMP/pub" tests/rules/first-use/at-start.txt
check "a letter tells what took most of each second" strip f.o
# Asleep, but for the last 30 s of 70 s; and of 20 minutes, in pieces of two seconds, nobody is there in the first 2 s.
printf '%s\n' 'process at=+0s pid=200 start=1s tracked=1 name=it' 'thread at=+0s tid=200 pid=200 start=1s name=it' 'launch at=+1ms pid=200 tid=200 dur=17us' \
	'switch at=+2ms cpu=0 prev_tid=200 prev_state=1 next_tid=0' 'waking at=+40s cpu=0 tid=200 waker_tid=0 context=1' 'switch at=+40s cpu=0 prev_tid=0 next_tid=200' \
	'launch at=+70s pid=200 tid=200 dur=17us' >"$TMP/script"
"$mkcap" -o "$TMP/run.cap" --pub "$TMP/pub" "$TMP/script"
check "a minute in a row" strip "$(printf '.%.0s' {1..40})$(printf 'o%.0s' {1..20})" ooooooooooo
printf '%s\n' 'fork at=+5s pid=1 tid=1 child_pid=200 child_tid=200' 'process at=+5s pid=200 start=1s tracked=1 name=it' 'thread at=+5s tid=200 pid=200 start=1s name=it' \
	'switch at=+5001ms cpu=0 prev_tid=0 next_tid=200' 'launch at=+6s pid=200 tid=200 dur=17us' 'launch at=+1199s pid=200 tid=200 dur=17us' >"$TMP/script"
"$mkcap" -o "$TMP/run.cap" --pub "$TMP/pub" "$TMP/script"
check "and two minutes, where these are too many" strip "  $(printf 'o%.0s' {1..58})" $(for ((i = 0; i < 9; i++)); do printf 'o%.0s' {1..60}; echo; done)

# --- the same bytes: again, in other places, with other settings of the environment ---
for form in txt json sarif html; do
	report $form "$TMP/a" $demo --rules docs/rules
	(cp $demo "$TMP/elsewhere.cap" && umask 077 && cd "$TMP" &&
		LC_ALL=C.UTF-8 LANG=de_DE.UTF-8 LANGUAGE=de TZ=Pacific/Chatham COLUMNS=40 NO_COLOR=1 \
			"$analyze" -q --trust "$OLDPWD/tests/golden/demo.pub" --rules "$OLDPWD/docs/rules" --report="$TMP/b.$form" "$TMP/elsewhere.cap")
	check "the $form is the same from another place, language and time zone" cmp "$TMP/a.$form" "$TMP/b.$form"
	for what in "$(sed -n 's/.*"id": "\([0-9a-f]*\)",/\1/p' "$TMP/a.json" 2>/dev/null | head -n 1)" A4C9D21FFE794699 254697bbd80e851f 'OK' '0\.1\.0'; do
		check "the $form names ${what:-the capture}" grep -q "$what" "$TMP/a.$form"
	done
	hash=$(sed -n 's/.*"hash": "\([0-9a-f]\{16\}\).*/\1/p' "$TMP/a.json" 2>/dev/null)
	[ $form = txt ] || check "the $form has the hash of rules and settings" grep -q "${hash:-none}" "$TMP/a.$form"
done
# Whether two runs differ is judged by replay/diff, whose numbers are; a report of one capture does not have them.
floats() {
	! find analyze -name '*.[ch]' ! -name 'baseline*' -exec grep -nHE '^[[:space:]]*(static |const )*(double|float) |\((double|float)\)|[(,] *(const )?(double|float) ' {} + | grep .
}
check "no number of a report is a floating-point one, which could differ between machines" floats

# --- a report can be signed ---
secret=$TMP/secret.key
"$BUILD/gpukey" generate -W -s "$secret" >/dev/null 2>&1 || exit 1
cp "$TMP/a.html" "$TMP/signed.html"
check "gpukey sign signs a page" "$BUILD/gpukey" sign -s "$secret" "$TMP/signed.html"
check "gpukey check finds it good" "$BUILD/gpukey" check --trust "$TMP/secret.pub" "$TMP/signed.html"
printf ' ' >>"$TMP/signed.html"
check_exit 1 "and not any more when a byte is added" "$BUILD/gpukey" check --trust "$TMP/secret.pub" "$TMP/signed.html"

# --- hostile text ---
printf '%s\n' 'process at=+0s pid=200 start=1s tracked=1 name="</td><script>"' \
	"thread at=+0s tid=201 pid=200 start=1s name=\"'\\\"<img src=x>&\\x1b\"" \
	'thread at=+0s tid=202 pid=200 start=1s name="\xff\xfe{0}]]>\xe2\x80\xae"' \
	'repeat 50 2ms launch at=+10ms pid=200 tid=201 dur=17us' 'repeat 3 50ms launch at=+200ms pid=200 tid=201 dur=30ms' \
	>"$TMP/script"
"$mkcap" -o "$TMP/hostile.cap" --pub "$TMP/pub" "$TMP/script"
for form in json sarif html; do report $form "$TMP/hostile" "$TMP/hostile.cap"; done
check "hostile names make no element" "$python" tests/tools/page.py "$TMP/hostile.html"
check "they are there, escaped" grep -q '&lt;/td&gt;&lt;script&gt;' "$TMP/hostile.html"
check "the JSON stands them" "$python" tests/tools/schema.py docs/report.schema.json "$TMP/hostile.json"
check "the SARIF stands them" "$python" tests/tools/schema.py tests/schemas/sarif.schema.json "$TMP/hostile.sarif"
check "no control character is in any" sh -c "! cat '$TMP'/hostile.html '$TMP'/hostile.json '$TMP'/hostile.sarif | tr -d '\n\t' | LC_ALL=C grep -q '[[:cntrl:]]'"

# --- verdicts other than OK, several captures, custody ---
check_exit 0 "an unverified capture's page is made" "$analyze" -q --unverified --report="$TMP/u.html" "$TMP/hostile.cap"
check "it says so first" grep -q '<div class="verdict bad"><b>UNVERIFIED: ' "$TMP/u.html"
report html "$TMP/two" $demo "$TMP/hostile.cap"
check "two captures come into one page" "$python" tests/tools/page.py "$TMP/two.html"
check "with the names of their files" test "$(grep -A 1 '<dt>File</dt>' "$TMP/two.html" | sed -nE 's|^<dd>.*/([^<]*)</dd>$|\1|p' | paste -sd ' ')" = "demo.cap hostile.cap"
report txt "$TMP/two" $demo "$TMP/hostile.cap"
check "the text has them, too" test "$(sed -n 's/^File  *//p' "$TMP/two.txt" | sed 's/.*[/]//' | paste -sd ' ')" = "demo.cap hostile.cap"
report txt "$TMP/one" $demo
check "a capture alone has no name: its report is the same wherever it lies" test "$(grep -c '^File ' "$TMP/one.txt")" -eq 0
check "with both" test "$(grep -c '<main id="r[12]"' "$TMP/two.html")" -eq 2
for form in json sarif; do report $form "$TMP/two" $demo "$TMP/hostile.cap"; done
check "two captures come into one JSON" "$python" tests/tools/schema.py docs/report.schema.json "$TMP/two.json"
check "and SARIF" "$python" tests/tools/schema.py tests/schemas/sarif.schema.json "$TMP/two.sarif"
check "without a chain of custody the page says so" grep -q 'no chain of custody lies beside the capture' "$TMP/a.html"
cp $demo "$TMP/kept.cap"
"$BUILD/gpuverify" --trust tests/golden/demo.pub --custody received --name 'Ann <b>' --note 'by courier' -s "$secret" "$TMP/kept.cap" >/dev/null 2>"$TMP/err"
for form in json html; do report $form "$TMP/kept" "$TMP/kept.cap"; done
check "with one the page tells who had it" grep -q 'received by Ann &lt;b&gt;' "$TMP/kept.html"
check "and that nobody here trusts that key" grep -q 'signed by [0-9A-F]*, not trusted here' "$TMP/kept.html"
report html "$TMP/trusting" "$TMP/kept.cap" --trust "custody:$TMP/secret.pub"
check "or by which name it is trusted" grep -q 'signed by [0-9A-F]* (secret), trusted here' "$TMP/trusting.html"
check "and is well-formed" "$python" tests/tools/page.py "$TMP/kept.html" "$TMP/trusting.html"
check "the JSON tells it, too" grep -q '"act": "received"' "$TMP/kept.json"
check "as the schema says" "$python" tests/tools/schema.py docs/report.schema.json "$TMP/kept.json"
sed -i 's/courier/corsair/' "$TMP/kept.cap.custody"
report html "$TMP/kept" "$TMP/kept.cap"
check "an altered chain is called FORGED" grep -q '<strong>FORGED</strong>' "$TMP/kept.html"

# --- what is withheld takes names away, not findings ---
"$BUILD/gpureplay" -q --trust tests/golden/demo.pub $demo -o "$TMP/nameless.cap" --withhold process,path,symbol,cgroup >/dev/null 2>&1
report json "$TMP/named" $demo
report json "$TMP/nameless" "$TMP/nameless.cap"
same_findings() {
	"$python" - "$TMP/named.json" "$TMP/nameless.json" <<'COMPARE'
import json, sys
def told(path):
    with open(path) as f:
        report = json.load(f)["reports"][0]
    keys = ("rule", "class", "severity", "count", "weight", "total_ns", "max_ns", "futex", "tid", "function", "durations")
    found = [{k: f.get(k) for k in keys} | {"first": f["first"]} for f in report["findings"] if f["class"] != "withheld"]
    return found, report["capture"]["verdict"]
named, verdict = told(sys.argv[1])
nameless, redacted = told(sys.argv[2])
sys.exit(not (named and named == nameless and (verdict, redacted) == ("OK", "OK-REDACTED")))
COMPARE
}
check "a redacted capture has the same findings" same_findings
check "with numbers in place of names" sh -c "grep -q '3523 trainer' '$TMP/named.json' && ! grep -qE 'trainer|tokenizer|leak_site' '$TMP/nameless.json'"
check "and its JSON is valid" "$python" tests/tools/schema.py docs/report.schema.json "$TMP/nameless.json"

# --- what the capture says itself that it could not see stands in every form, and qualifies what was found ---
# partial SCRIPT: makes reports of it in all forms, as $TMP/partial.FORM
partial() {
	"$mkcap" -o "$TMP/partial.cap" --pub "$TMP/pub" "$1" || return
	for form in txt json sarif html; do
		report $form "$TMP/partial" "$TMP/partial.cap" || return
	done
}
# told WORDS: they stand in all forms
told() {
	for form in txt json sarif html; do
		grep -q -- "$1" "$TMP/partial.$form" || { echo "not in the $form: $1"; return 1; }
	done
}
never() {
	! grep -q -- "$1" "$TMP/partial.txt" "$TMP/partial.json" "$TMP/partial.sarif" "$TMP/partial.html"
}
check "reports are made of a capture whose recorder could not see all" partial tests/rules/evidence/partial.txt
for words in 'Processes of others, which /proc (hidepid) hides' '2 processes of which not all could be read' \
	'1 memory map of a process could not be read' 'the CUDA runtime linked in and stripped' \
	'A library or program, /opt/libcudart.so.12: it is cut' 'who woke a thread, and when (sched_waking)' \
	'Whether a thread or an interrupt woke a sleeper' 'Waits for locks, which are reported as some sleep: futexes were not recorded' \
	'that programs loaded after recording began (--no-late-attach)' 'The health of the GPUs: NVML does not answer' \
	'(Xid)' 'CPU steal time: the hypervisor does not report it' '82 short-lived processes ended before their libraries' \
	'No CUDA calls were recorded, so there is nothing to analyse'; do
	check "all forms tell: $words" told "$words"
done
check "none says that no problem was found" never 'problem was found'
check "none says that nothing is missing" never 'Nothing is missing'
check_exit 1 "--fail-on warning does not pass where no call of a chosen program was seen" \
	"$analyze" -q --fail-on warning --trust "$TMP/pub" "$TMP/partial.cap"

check "a capture of which most was left out has reports" partial tests/rules/evidence/reduced.txt
check "all say how much is not there" told 'No other problem was found in what was recorded, but 977 of 1085 events (90.0 %) were left out on purpose (finding 1)'
check "what was left out is one line for each cause, in words" told '900 events not recorded, left out on purpose (--sample): 900 of cudaLaunchKernel'
check "--fail-on warning does not pass" sh -c "! '$analyze' -q --fail-on warning --trust '$TMP/pub' '$TMP/partial.cap' >/dev/null"
sed 's/^end.*/lost cudaMemcpy over_rate 7\nend command 0/' tests/rules/evidence/clean.txt >"$TMP/little"
check "a capture of which a little was left out has reports" partial "$TMP/little"
check "they are qualified, too" told 'No problem was found in what was recorded, but 7 of [0-9]* events ([0-9.]* %) were left out on purpose (finding 1)'
sed 's/^start.*/&\nfact at=+0s name=futex value="not recorded"/' tests/rules/evidence/clean.txt >"$TMP/no-futex"
check "a capture that was recorded without futexes has reports" partial "$TMP/no-futex"
check "which say that locks could not be judged" told 'No problem was found in what was recorded, but the capture is limited (finding 1)'
check "and why" told 'Waits for locks, which are reported as some sleep: futexes were not recorded'
check "a capture of which nothing is missing has reports" partial tests/rules/evidence/clean.txt
check "they are not qualified" told 'No problem was found'
check "and say that nothing is missing but what came before" told 'running when recording began'

"$mkcap" -o "$TMP/whole.cap" --pub "$TMP/pub" tests/rules/futex-stall/preempted-holder.txt
"$mkcap" --narrow "$TMP/whole.cap" -o "$TMP/partial.cap" --withhold events
for form in txt json sarif html; do report $form "$TMP/partial" "$TMP/partial.cap"; done
check "of withheld events all forms say that they were withheld" told 'The events are withheld from this copy, so there is nothing to analyse'
check "none says that there were none" never 'None was recorded\|problem was found\|No CUDA call'
check "nor do the tables of calls" sh -c "grep -q 'They were withheld from this copy' '$TMP/partial.txt' && grep -q 'They were withheld from this copy' '$TMP/partial.html'"

# A slice: shares are of what is there.
"$mkcap" -o "$TMP/whole.cap" --pub "$TMP/pub" <(sed 's/^# at 700 ms/epoch +690ms/; s/^end/epoch +750ms\nend/' tests/rules/futex-stall/preempted-holder.txt)
"$mkcap" --narrow "$TMP/whole.cap" -o "$TMP/partial.cap" --from +690ms
for form in txt json sarif html; do report $form "$TMP/partial" "$TMP/partial.cap"; done
check "a slice says how much of the time is in it" sh -c "grep -q 'for 750 ms (60.0 ms of it with events in this copy)' '$TMP/partial.txt' && grep -q '60.0 ms of it with events in this copy' '$TMP/partial.html'"

# One tracepoint is not there.
check "a kernel without switches has reports" partial tests/rules/launch-latency/no-switch.txt
check "which call unknown what a slow call did" told '18.0 ms unknown (this kernel does not report it)'
check "and advise a kernel that tells" told 'Record on a kernel that has the tracepoints sched_switch'
"$mkcap" -o "$TMP/whole.cap" --pub "$TMP/pub" <(sed 's/^fact .*/fact at=+0s name=hostname value=node17/' tests/rules/launch-latency/no-switch.txt)
"$mkcap" --narrow "$TMP/whole.cap" -o "$TMP/partial.cap" --withhold host
for form in txt json sarif html; do report $form "$TMP/partial" "$TMP/partial.cap"; done
check "where the facts were withheld, the counters tell that there were no switches" told '18.0 ms unknown (lost, withheld or never recorded)'
check "a kernel without wakings has reports" partial tests/rules/launch-latency/no-waking.txt
check "which call a sleep unknown whose end nobody told" told 'unknown (this kernel does not report it)'
check "with the advice that helps" told 'Record on a kernel that has the tracepoints sched_switch and sched_waking'

# C++ names are told as people write them, and the JSON has what the capture has besides.
check "a capture with C++ names has reports" partial tests/rules/failed-call/one-cause.txt
check "a place is told demangled, behind what nvcc puts before it" told 'at train::step(std::vector'
check "frames are, too" told 'scale_all(float\*, float)'
check "text and page hold no mangled name" sh -c "! grep -E '_Z[0-9NL]' '$TMP/partial.txt' '$TMP/partial.html' | grep -v device_stub"
check "the JSON has both" sh -c "grep -q '\"symbol\": \"_ZN5train4openEPKc+0x34\"' '$TMP/partial.json' && grep -q '\"demangled\": \"train::open(char const\*)+0x34\"' '$TMP/partial.json'"

# A convoy, and one cause that two rules see.
check "a lock that four threads wait for has reports" partial tests/rules/futex-stall/convoy.txt
check "which tell the queue" told 'up to 4 threads queued for it at once (a convoy)'
check "as a number, too" grep -q '"waiters_at_once": 4' "$TMP/partial.json"
check "and the wait once" told 'Same wait as finding 1, seen from the lock'
check "the JSON says so" grep -q '"same_as": 1' "$TMP/partial.json"

# --- the first words: what the verdict is about, and of what the capture is ---
check "printed, the page keeps what is folded on the screen" sh -c "grep -q 'details>\*{display:block!important}' '$TMP/a.html' && ! grep -q 'details:not(.open.){display:none}' '$TMP/a.html'"
check "the page is called by its run" grep -q '<title>Recording on node17, 4.25 s: 1 error, 3 warnings - gpurec</title>' "$TMP/a.html"
check "which is its heading, too" grep -q '<h1>Recording on node17, 4.25 s: 1 error, 3 warnings</h1>' "$TMP/a.html"
check "and a line of the text" grep -q '^Run        Recording on node17, 4.25 s: 1 error, 3 warnings$' "$TMP/a.txt"
check "each mark of the overview says its time when pointed at" grep -q '<title>+2.235 s, 18.1 ms</title>' "$TMP/a.html"
check "a leak has a row in it" grep -q '>1  alloc-leak, growing: 3520 driver<' "$TMP/a.html"
check "the page's first words say what the verdict means" grep -q '<b>Signature valid, nothing lost or withheld</b>' "$TMP/a.html"
check "the text's say so, too" grep -q '^           Signature valid, nothing lost or withheld$' "$TMP/a.txt"
cp tests/golden/lossy.cap "$TMP/partial.cap" && cp tests/golden/demo.pub "$TMP/pub"
for form in txt json sarif html; do report $form "$TMP/partial" "$TMP/partial.cap"; done
check "of a capture that lost events the first words say how many" sh -c "grep -q 'class=.verdict doubt.><b>Signature valid, but 1922 of 2675 events (71.9 %) were lost</b>' '$TMP/partial.html' && grep -q '^           Signature valid, but 1922 of 2675 events (71.9 %) were lost$' '$TMP/partial.txt'"
check "neither calls it complete" sh -c "! grep -iE '[^n]complete' '$TMP/partial.txt' '$TMP/partial.html'"
check "the JSON has the numbers" sh -c "tr -d ' \n' <'$TMP/partial.json' | grep -q '\"complete\":false,\"happened\":2675,\"lost\":1922,\"left_out\":0,\"not_attached\":0,\"open\":0'"
printf '%s\n' 'fact at=+0s name=hostname value=node17' 'fact at=+0s name=nvidia_driver value="NVRM 580 \x1b"' \
	'gpu at=+0s index=0 memory=80G name="NVIDIA <H100>"' 'gpu at=+0s index=1 name=second' 'process at=+0s pid=200 start=1s tracked=1' \
	'command_line at=+0s pid=200 text="env python train.py"' 'command_line at=+1ms pid=200 text="python <train>.py"' \
	'command_line at=+2ms pid=201 text="other"' 'launch at=+10ms pid=200 tid=200 dur=17us' >"$TMP/script"
check "a capture that tells of host, GPUs and command has reports" partial "$TMP/script"
check "the text names them" sh -c "grep -q '^Host       node17, NVRM 580 .x1b\$' '$TMP/partial.txt' && grep -q '^GPUs       0 NVIDIA <H100>, 1 second\$' '$TMP/partial.txt' && grep -q '^Command    python <train>.py\$' '$TMP/partial.txt'"
check "the page, too" sh -c "grep -q 'node17' '$TMP/partial.html' && grep -q '0 NVIDIA &lt;H100&gt;' '$TMP/partial.html' && grep -q 'python &lt;train&gt;.py' '$TMP/partial.html'"
check "and the JSON" grep -q '"command": "python <train>.py"' "$TMP/partial.json"
check "which the schema allows" "$python" tests/tools/schema.py docs/report.schema.json "$TMP/partial.json" "$TMP/a.json"
check "the page is well-formed" "$python" tests/tools/page.py "$TMP/partial.html"

# --- the words ---
"$mkcap" -o "$TMP/one.cap" --pub "$TMP/pub" tests/rules/evidence/clean.txt
check_exit 0 "a clean capture has a report" "$analyze" --trust "$TMP/pub" "$TMP/one.cap"
check_prints '[0-9] events in 1 epoch;' "one epoch is '1 epoch'"
check_exit 0 "findings are told in words" "$analyze" $trust $demo
lines_of_finding() {
	sed -n '/^Findings$/,/^Evidence$/p' "$TMP/out" | awk 'BEGIN { RS = "" } /^  \[/ { n = split($0, line, "\n"); if (n > 5) bad = 1; seen = 1 } END { exit bad || !seen }'
}
check "each in at most five lines" lines_of_finding
check_prints '^      It cost .* % of the recorded time\.$' "with what it cost, as a share of the run"
check_prints '^      To do: ' "and the next step"
finish
