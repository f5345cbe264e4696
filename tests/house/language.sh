#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What the tools print is plain English: words that this project used in senses of its own stay out of its strings.
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
finish
