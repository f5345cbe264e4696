#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The commands of README and of the pages in docs/ do what the pages say: every block that starts with ```sh run is run, those
# of a page one after the other in a folder of their own, with run.cap there; ```sh root where this machine can record.
# And the pages hold together: links lead somewhere, messages that are explained exist.
# shellcheck source-path=SCRIPTDIR/../cli
. "$(dirname "$0")/../cli/lib.sh"
repo=$(cd "$(dirname "$0")/../.." && pwd) || exit 1
build=$(cd "$BUILD" && pwd)
export PATH=$build:$PATH

can_record=1
[ "$(id -u)" = 0 ] && [ -x "$build/gpurec" ] && [ "${BPF:-1}" != 0 ] && gpurec --check >/dev/null 2>&1 || can_record=

# blocks PAGE WHICH: the page's blocks as files block-N.WHICH, in the order of the page
blocks() {
	awk -v out="$TMP/block" '
		/^ *```sh (run|root)$/ { file = sprintf("%s-%03d.%s", out, ++n, $2); indent = match($0, /[^ ]/) - 1; printf "" >file; next }
		/^ *```/ { file = "" }
		file { print substr($0, indent + 1) >file }' "$1"
}
run_block() {
	sed -E 's/^! (.*)$/if \1; then exit 1; fi/' "$1" >"$TMP/script"
	(cd "$TMP/page" && bash -euo pipefail "$TMP/script") </dev/null
}

total=0
for page in "$repo"/README.md "$repo"/docs/*.md; do
	grep -qE '^ *```sh (run|root)$' "$page" || continue
	[ "${page##*/}" != CONTRIBUTING.md ] || continue # tests/house/recipes.sh follows it
	name=${page#"$repo"/}
	rm -rf "$TMP/page" "$TMP"/block-*
	mkdir "$TMP/page"
	export GPUREC_HOME=$TMP/home-$total
	blocks "$page"
	records=
	grep -q 'gpurec .*-o run\.cap' "$TMP"/block-*.root 2>/dev/null && records=1
	if [ -z "$records" ] || [ -z "$can_record" ]; then
		cp "$repo/tests/golden/demo.cap" "$TMP/page/run.cap"
		gpukey trust "$repo/tests/golden/demo.pub" --name demo >/dev/null || exit 1
	fi
	for block in "$TMP"/block-*; do
		total=$((total + 1))
		first=$(head -n 1 "$block")
		if [ "${block##*.}" = root ] && [ -z "$can_record" ]; then
			skip "$name: $first" "this machine cannot record"
		else
			check "$name: $first" run_block "$block"
		fi
	done
done
check "there are commands to run" [ "$total" -ge 10 ]

# Links between pages lead somewhere.
links() {
	local page target broken=0
	for page in "$repo"/README.md "$repo"/docs/*.md; do
		while read -r target; do
			[ -e "$(dirname "$page")/${target%%#*}" ] || { echo "${page#"$repo"/}: $target"; broken=1; }
		done < <(grep -oE '\]\([^)#][^)]*\)' "$page" | sed 's/^](//; s/)$//' | grep -v '^[a-z]*://')
	done
	return $broken
}
check "every link between the pages leads to a file" links

# Troubleshooting explains messages that the tools can say: the fixed parts of each stand in a source.
messages() {
	local message part missing=0
	while read -r message; do
		while read -r part; do
			[ "${#part}" -ge 8 ] || continue
			grep -rqF --include='*.[ch]' -- "$part" "$repo"/{format,keys,record,replay,analyze} ||
				{ echo "nobody says: $part"; missing=1; }
		done < <(sed 's/…/\n/g; s/^ *//' <<<"$message")
	done < <(sed -nE 's/^### `(.*)`$/\1/p' "$repo/docs/TROUBLESHOOTING.md")
	return $missing
}
check "every message that is explained is one that a tool can say" messages
check "there are messages explained" [ "$(grep -c '^### `' "$repo/docs/TROUBLESHOOTING.md")" -ge 15 ]
check "the scripts for Slurm are sh" sh -c 'for f in "$1"/docs/deploy/*.sh; do sh -n "$f" || exit 1; done' sh "$repo"
finish
