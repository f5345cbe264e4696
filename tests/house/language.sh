#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What the tools print, and what people read, is plain English: words that this project used in senses of its own stay out.
# shellcheck source-path=SCRIPTDIR/../cli
. "$(dirname "$0")/../cli/lib.sh"
cd "$(dirname "$0")/../.." || exit 1

# strings FILE...: FILE:LINE: and each string that is no name of a header; comments are left out
strings() {
	awk 'FNR == 1 { open = 0 }
		{
			line = $0
			if (open && !sub(/.*\*\//, "", line)) next
			open = 0
			gsub(/\/\*[^*]*\*\//, "", line)
			if (sub(/\/\*.*/, "", line)) open = 1
			sub(/\/\/.*/, "", line)
			if (line ~ /^ *# *include/) next
			while (match(line, /"([^"\\]|\\.)*"/)) {
				print FILENAME ":" FNR ": " substr(line, RSTART, RLENGTH)
				line = substr(line, RSTART + RLENGTH)
			}
		}' "$@"
}

# One line for each word or phrase, as an extended regular expression; beside it what to write instead.
words='told|untold => reported, known
tells? => report, show
sa(y|ys|id) => report, show, print
(looks?|looked) at => inspect, check, sample
(stands?|stood) in => is in, is listed in
whoever => the task, the process, the user that
is none( of)? => is not one of, invalid
(leaves?|left) away => omit
pretend(s|ed)? => simulated
(comes?|came) round => reused
under way => in progress
one word too many => unexpected argument'

product() {
	find bpf format keys record replay analyze -name '*.[ch]' ! -path bpf/kernel.h
}
product | xargs cat >"$TMP/all"
product | while read -r file; do strings "$file"; done >"$TMP/strings"
check "there are strings to look through" [ "$(wc -l <"$TMP/strings")" -gt 3000 ]

# Contracts: the name of a list in JSON, and of a setting
contracts='"told"'
clean() {
	! grep -iE "(^|[^a-z_])($1)([^a-z_]|\$)" "$TMP/strings" | grep -vE ": ($contracts)\$"
}
while IFS= read -r line; do
	word=${line%% => *} instead=${line##* => }
	check "no string has '$word' (write: $instead)" clean "$word"
done <<<"$words"

# Phrases that have no good use: neither in strings nor in any page. Words that have good uses (give, take, see, who) are
# not here: a reader judges those.
phrases='\b(is|are|was|were|be|been) told\b
\btells? (of|what|how|when|who|where|which|whether)\b
\btells? it(s|self)?\b
\bnot told\b
\bstands? (in|on|at|below|above|beside|there|behind)\b
\b(come|comes|came|coming) (round|along)\b
\bis none\b
\bare none\b
\bones? that (is|are) none\b
\b(leave|leaves|left|leaving) [a-z, -]{0,24}away\b
\blooked (at|into|for) anew\b
\bmay not be looked at\b
\bcould not be looked at\b
\bis looked at\b
\bpretended\b
\bbegun before\b
\bfor want of\b
\bgiven back\b
\bone word too many\b
\bsay what to do\b
\bis no (time|duration|size|number|date)\b
\bwas had by\b
\bhad it\b
\bthe (very|said) (one|ones|waits)\b
\bof a [a-z]+'"'"'s own\b
\bin all of it\b
\bwhat (came|became) of (it|that|them)\b
\bthat it is none\b
\bthe begin of\b
\bfound out\b
\bis held against\b'

# paragraphs FILE...: FILE:LINE: and each paragraph as one line, since a phrase may be broken over two
paragraphs() {
	awk 'function flush() { if (text != "") print at ": " text; text = "" }
		FNR == 1 || /^[[:space:]]*$/ { flush() }
		/[^[:space:]]/ { if (text == "") at = FILENAME ":" FNR; text = text " " $0 }
		END { flush() }' "$@"
}
pages() { git ls-files '*.md' 'docs/*' Makefile tests/tools/demo.sh | grep -vE '\.(png|symbols)$|^tests/golden/'; }
if git rev-parse --git-dir >/dev/null 2>&1; then
	# shellcheck disable=SC2046 # no name has a blank
	paragraphs $(pages) >"$TMP/pages"
else
	find README.md docs \( -name '*.md' -o -name '*.[1-7]' \) -exec cat {} + >"$TMP/pages"
fi
check "there are pages to look through" [ "$(wc -w <"$TMP/pages")" -gt 50000 ]
without() { # FILE PHRASE: else names the paragraph, and shows what follows there
	! sed -nE "s/^([^ ]+) (.*[^a-z])?(($2).{0,60}).*/\1 \3/Ip" "$1" | grep .
}
while IFS= read -r phrase; do
	check "no string has the phrase $phrase" without "$TMP/strings" "$phrase"
	check "no page has it" without "$TMP/pages" "$phrase"
done <<<"$phrases"
finish
