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
check "the JSON is what docs/report.schema.json says" "$python" tests/schema.py docs/report.schema.json "$TMP"/all/*.json
check "the SARIF is what the standard says" "$python" tests/schema.py tests/sarif.schema.json "$TMP"/all/*.sarif
check "the pages hold nothing that runs or fetches, and are well-formed" "$python" tests/page.py "$TMP"/all/*.html
for picture in "Time line" "Distribution of durations" "Who waited for whom" "When it happened" "Health of a GPU"; do
	check "a page shows: $picture" grep -lq "<title>$picture</title>" "$TMP"/all/*.html
done

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
floats() {
	! grep -nE '^[[:space:]]*(static |const )*(double|float) |\((double|float)\)|[(,] *(const )?(double|float) ' analyze/*.[ch] analyze/rules/*.c
}
check "no number of the analysis is a floating-point one, which could differ between machines" floats

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
check "hostile names make no element" "$python" tests/page.py "$TMP/hostile.html"
check "they are there, escaped" grep -q '&lt;/td&gt;&lt;script&gt;' "$TMP/hostile.html"
check "the JSON stands them" "$python" tests/schema.py docs/report.schema.json "$TMP/hostile.json"
check "the SARIF stands them" "$python" tests/schema.py tests/sarif.schema.json "$TMP/hostile.sarif"
check "no control character is in any" sh -c "! cat '$TMP'/hostile.html '$TMP'/hostile.json '$TMP'/hostile.sarif | tr -d '\n\t' | LC_ALL=C grep -q '[[:cntrl:]]'"

# --- verdicts other than OK, several captures, custody ---
check_exit 0 "an unverified capture's page is made" "$analyze" -q --unverified --report="$TMP/u.html" "$TMP/hostile.cap"
check "it says so first" grep -q '<div class="verdict bad"><b>UNVERIFIED</b>' "$TMP/u.html"
report html "$TMP/two" $demo "$TMP/hostile.cap"
check "two captures come into one page" "$python" tests/page.py "$TMP/two.html"
check "with both" test "$(grep -c '<main id="r[12]"' "$TMP/two.html")" -eq 2
for form in json sarif; do report $form "$TMP/two" $demo "$TMP/hostile.cap"; done
check "two captures come into one JSON" "$python" tests/schema.py docs/report.schema.json "$TMP/two.json"
check "and SARIF" "$python" tests/schema.py tests/sarif.schema.json "$TMP/two.sarif"
check "without a chain of custody the page says so" grep -q 'no chain of custody lies beside the capture' "$TMP/a.html"
cp $demo "$TMP/kept.cap"
"$BUILD/gpuverify" --trust tests/golden/demo.pub --custody received --name 'Ann <b>' --note 'by courier' -s "$secret" "$TMP/kept.cap" >/dev/null 2>"$TMP/err"
for form in json html; do report $form "$TMP/kept" "$TMP/kept.cap"; done
check "with one the page tells who had it" grep -q 'received by Ann &lt;b&gt;' "$TMP/kept.html"
check "and that nobody here trusts that key" grep -q 'signed by [0-9A-F]*, not trusted here' "$TMP/kept.html"
report html "$TMP/trusting" "$TMP/kept.cap" --trust "$TMP/secret.pub"
check "or by which name it is trusted" grep -q 'signed by [0-9A-F]* (secret), trusted here' "$TMP/trusting.html"
check "and is well-formed" "$python" tests/page.py "$TMP/kept.html" "$TMP/trusting.html"
check "the JSON tells it, too" grep -q '"act": "received"' "$TMP/kept.json"
check "as the schema says" "$python" tests/schema.py docs/report.schema.json "$TMP/kept.json"
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
check "and its JSON is valid" "$python" tests/schema.py docs/report.schema.json "$TMP/nameless.json"

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
