#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What holds for every rule, shown with the scripts of tests/rules: each has one that it speaks of and one that it keeps
# silent about; a capture whose names were withheld gives the same findings, with numbers in place of names; each finding
# says what happened, how sure that is, what it cost and what to do.
. "$(dirname "$0")/lib.sh"
cd "$(dirname "$0")/../.." || exit 1
mkcap=$BUILD/tests/mkcap
analyze=$BUILD/gpuanalyze

# report CAPTURE OUT
report() {
	"$analyze" -q --trust "$TMP/pub" --json "$1" >"$2"
}

# What stays when names go: rules, classes, numbers. Not stacks, whose frames are names, nor findings about the names
# that are not there or that rest on them (which functions a stack shows), nor what else a rule says in words.
numbers() {
	sqlite3 :memory: "SELECT f.value ->> 'rule', f.value ->> 'class', f.value ->> 'severity', f.value ->> 'confidence',
			f.value ->> 'count', f.value ->> 'total_ns', f.value ->> 'max_ns', f.value ->> 'process.pid',
			(SELECT group_concat(key || '=' || value) FROM json_each(f.value, '\$.facts') WHERE type <> 'text'
				OR value LIKE '0x%'),
			(SELECT group_concat(o.value ->> 'begin_ns' || '-' || (o.value ->> 'end_ns') || ':' || (o.value ->> 'tid') || ','
				|| coalesce(o.value ->> 'waker_tid', '') || ',' || coalesce(o.value ->> 'keeper_tid', ''))
				FROM json_each(f.value, '\$.first') AS o),
			(SELECT group_concat(key || '=' || value) FROM json_tree(f.value, '\$.worst')
				WHERE type = 'integer' AND fullkey NOT LIKE '%scene%')
		FROM json_each(CAST(readfile('$1') AS TEXT), '\$.reports[0].findings') AS f
		WHERE f.value ->> 'class' NOT IN ('withheld', 'not-probed', 'in-flight-before', 'killed') ORDER BY 1, 2, 5, 9, 10"
}

for folder in tests/rules/*/; do
	rule=$(basename "$folder")
	speaks=0 silent=0
	for script in "$folder"*.txt; do
		name=$rule/$(basename "$script" .txt)
		if ! "$mkcap" -o "$TMP/run.cap" --pub "$TMP/pub" "$script"; then
			check "$name: its script is one" false
			continue
		fi
		"$mkcap" --narrow "$TMP/run.cap" -o "$TMP/nameless.cap" --withhold process,path,symbol
		report "$TMP/run.cap" "$TMP/run.json"
		report "$TMP/nameless.cap" "$TMP/nameless.json"
		numbers "$TMP/run.json" >"$TMP/run.numbers"
		numbers "$TMP/nameless.json" >"$TMP/nameless.numbers"
		check "$name: without names the same is found" diff -u "$TMP/run.numbers" "$TMP/nameless.numbers"
		if grep -q "^$rule|" "$TMP/run.numbers"; then
			speaks=$((speaks + 1))
		else
			silent=$((silent + 1))
		fi
	done
	check "$rule: there is a script that it speaks of" test "$speaks" -gt 0
	check "$rule: and one that it keeps silent about" test "$silent" -gt 0
	check "$rule: docs/RULES.md has a section on it" grep -q "^## $rule\$" docs/RULES.md
done

"$analyze" --list-rules | sed -n 's/^\([a-z-]*\) (.*/\1/p' | LC_ALL=C sort >"$TMP/rules"
find tests/rules -mindepth 1 -maxdepth 1 -type d -printf '%f\n' | LC_ALL=C sort >"$TMP/folders"
check "every rule has its folder" diff -u "$TMP/rules" "$TMP/folders"
finish
