#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The recipes of docs/CONTRIBUTING.md, followed to the letter on a scratch copy of the sources: blocks of code go where they
# say (new=FILE; in=FILE after="TEXT" or before="TEXT": the first line with that text), blocks of commands are run.
# shellcheck source-path=SCRIPTDIR/../cli
. "$(dirname "$0")/../cli/lib.sh"
cd "$(dirname "$0")/../.." || exit 1
page=$PWD/docs/CONTRIBUTING.md
copy=$TMP/copy
mkdir "$copy"
if git rev-parse --git-dir >/dev/null 2>&1; then
	git ls-files -z --cached --others --exclude-standard | xargs -0 sh -c 'for f; do [ ! -e "$f" ] || cp --parents "$f" "$0"; done' "$copy"
else
	tar -cf - --exclude=./build . | tar -C "$copy" -xf -
fi

# Each block: its head in block-N.head, its text in block-N.text, without the page's indentation.
awk -v out="$TMP/block" '
	/^ *```(c|sh|make) (new|in|after|before|run)/ { file = sprintf("%s-%03d", out, ++n); indent = match($0, /[^ ]/) - 1
		sub(/^ *```[a-z]+ /, ""); print >(file ".head"); printf "" >(file ".text"); next }
	/^ *```/ { file = "" }
	file { print substr($0, indent + 1) >(file ".text") }' "$page"

value() { sed -nE "s/(.*[ ^]|^)$1=(\"([^\"]*)\"|([^ ]*)).*/\3\4/p" <<<"$2"; }

follow() {
	local head text=$1.text file anchor
	head=$(cat "$1.head")
	case $head in
	run*)
		(cd "$copy" && env -u BUILD bash -euo pipefail "$text") </dev/null
		return
		;;
	esac
	file=$(value new "$head")
	if [ -n "$file" ]; then
		[ ! -e "$copy/$file" ] && cp "$text" "$copy/$file"
		return
	fi
	file=$copy/$(value in "$head")
	anchor=$(value after "$head")
	if [ -n "$anchor" ]; then
		awk -v a="$anchor" -v t="$text" '{ print } !done && index($0, a) { while ((getline line <t) > 0) print line; done = 1 } END { exit !done }' \
			"$file" >"$TMP/new" || { echo "no line with: $anchor"; return 1; }
	else
		anchor=$(value before "$head")
		awk -v a="$anchor" -v t="$text" '!done && index($0, a) { while ((getline line <t) > 0) print line; done = 1 } { print } END { exit !done }' \
			"$file" >"$TMP/new" || { echo "no line with: $anchor"; return 1; }
	fi
	cp "$TMP/new" "$file"
}

export GPUREC_HOME=$TMP/home
n=0
for head in "$TMP"/block-*.head; do
	n=$((n + 1))
	check "$(sed -E 's/ (after|before)=.*in=/ /; s/^(after|before)="[^"]*" in=/into /' "$head"): $(grep -m1 . "${head%.head}.text" | sed 's/^[[:space:]]*//' | cut -c1-70)" \
		follow "${head%.head}"
done
check "there are recipes" [ "$n" -ge 8 ]
finish
