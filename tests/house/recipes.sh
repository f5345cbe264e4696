#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The recipes of docs/CONTRIBUTING.md, followed to the letter on a scratch copy of the sources: blocks of code go where they
# say (new=FILE; in=FILE after="TEXT", before="TEXT" or instead="TEXT": the first line with that text), blocks of commands are
# run, those that record (sh root) where this machine can. Without LONG=1 only the blocks of code are applied.
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
	/^ *```(c|sh|make) (new|in|after|before|instead|run|root)/ { file = sprintf("%s-%03d", out, ++n); indent = match($0, /[^ ]/) - 1
		sub(/^ *```[a-z]+ /, ""); print >(file ".head"); printf "" >(file ".text"); next }
	/^ *```/ { file = "" }
	file { print substr($0, indent + 1) >(file ".text") }' "$page"

value() { sed -nE "s/(.*[ ^]|^)$1=(\"([^\"]*)\"|([^ ]*)).*/\3\4/p" <<<"$2"; }

follow() {
	local head text=$1.text file anchor where
	head=$(cat "$1.head")
	case $head in
	run | root)
		sed -E -i 's/^! (.*)$/if \1; then exit 1; fi/' "$text"
		(cd "$copy" && env -u BUILD -u MAKEFLAGS -u CMOCKA_MESSAGE_OUTPUT bash -euo pipefail "$text") </dev/null
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
	where=after
	[ -n "$anchor" ] || { where=before; anchor=$(value before "$head"); }
	[ -n "$anchor" ] || { where=instead; anchor=$(value instead "$head"); }
	awk -v a="$anchor" -v t="$text" -v where=$where '
		{ here = !done && index($0, a) }
		!here || where == "after" { print }
		here { while ((getline line <t) > 0) print line; done = 1 }
		here && where == "before" { print }
		END { exit !done }' "$file" >"$TMP/new" || { echo "no line with: $anchor"; return 1; }
	cp "$TMP/new" "$file"
}

export GPUREC_HOME=$TMP/home
export CI=1 # a recipe that compiles with a warning is wrong
can_record=1
[ "$(id -u)" = 0 ] && [ "${BPF:-1}" != 0 ] && "$BUILD/gpurec" --check >/dev/null 2>&1 || can_record=
n=0
for head in "$TMP"/block-*.head; do
	n=$((n + 1))
	name="$(sed -E 's/^(after|before|instead)="[^"]*" in=/into /' "$head"): $(grep -m1 . "${head%.head}.text" | sed 's/^[[:space:]]*//' | cut -c1-70)"
	case $(cat "$head") in
	run | root) [ -n "${LONG:-}" ] || continue ;; # they build everything again
	esac
	if [ "$(cat "$head")" = root ] && [ -z "$can_record" ]; then
		skip "$name" "this machine cannot record"
	else
		check "$name" follow "${head%.head}"
	fi
done
check "there are recipes" [ "$n" -ge 14 ]
# Also those that are not built here: the number of the recipe's kind may have been given to another one since.
sed -n 's/^\tK(\([0-9]*\), .*/\1/p' "$copy/format/kinds.h" >"$TMP/numbers"
check "kinds have numbers of their own, in order" sort -c -n -u "$TMP/numbers"
check "the recipe's too" [ "$(wc -l <"$TMP/numbers")" -gt "$(grep -c "^	K([0-9]" format/kinds.h)" ]
for recipe in "A kind of event" "A probed function" "A rule" "An output"; do
	check "each is followed: $recipe" sh -c 'awk -v r="## $1" "/^## / { here = \$0 == r } here && /\`\`\`(c|sh) (new|in|after|before|instead|run)/ { n++ } END { exit n < 3 }" "$2"' \
		sh "$recipe" "$page"
done
finish
