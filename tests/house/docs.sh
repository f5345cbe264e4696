#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The commands of README and of the pages in docs/ do what the pages say: every block that starts with ```sh run is run, those
# of a page one after the other in a folder of their own, with run.cap there; ```sh root where this machine can record. What a
# reader has beforehand, a line <!-- run: COMMAND --> makes; $DEMO is the folder with the capture that is kept. A block that
# cannot be run says why: ```sh example REASON. One that does not, and has a command in it, is an error.
# And the pages hold together: links lead somewhere, messages that are explained exist.
# shellcheck source-path=SCRIPTDIR/../cli
. "$(dirname "$0")/../cli/lib.sh"
repo=$(cd "$(dirname "$0")/../.." && pwd) || exit 1
build=$(cd "$BUILD" && pwd)
export PATH=$build:$PATH DEMO=$repo/tests/golden

can_record=1
[ "$(id -u)" = 0 ] && [ -x "$build/gpurec" ] && [ "${BPF:-1}" != 0 ] && gpurec --check >/dev/null 2>&1 || can_record=

# blocks PAGE WHICH: the page's blocks as files block-N.WHICH, in the order of the page
blocks() {
	awk -v out="$TMP/block" '
		/^<!-- run: .* -->$/ { file = sprintf("%s-%03d.run", out, ++n); print substr($0, 11, length($0) - 14) >file; file = ""; next }
		/^ *```sh (run|root)$/ { file = sprintf("%s-%03d.%s", out, ++n, $2); indent = match($0, /[^ ]/) - 1; printf "" >file; next }
		/^ *```/ { file = "" }
		file { print substr($0, indent + 1) >file }' "$1"
}
run_block() {
	sed -E 's/^! (.*)$/if \1; then exit 1; fi/' "$1" >"$TMP/script"
	(cd "$TMP/page" && bash -euo pipefail "$TMP/script") </dev/null
}

# unmarked PAGE...: blocks, fenced or indented, with a command that nobody runs and no reason why
unmarked() {
	awk '
		function command(s) {
			sub(/^ +/, "", s)
			sub(/^[a-z0-9.-]*[$#] +/, "", s) # a prompt
			return s ~ /^(sudo|gpu(rec|verify|replay|analyze|key)|make|minisign|sqlite3|lz4|apt|apt-get|dpkg|tar|kubectl|sha256sum|install|cc)( |$)/
		}
		FNR == 1 { fenced = 0; blank = 1; list = 0 }
		/^ *```/ && !fenced {
			fenced = 1
			marked = $0 ~ /^ *```sh (run|root)$/ || $0 ~ /^ *```[a-z]+ example ........+/
			next
		}
		/^ *```/ { fenced = 0; next }
		fenced && !marked && command($0) { print FILENAME ":" FNR ": " $0; bad = 1 }
		/^([-*]|[0-9]+\.) / { list = 1 }
		/^[^ ]/ && !/^([-*]|[0-9]+\.) / { list = 0 }
		!fenced && !list && /^(    |\t)/ && command($0) { print FILENAME ":" FNR ": " $0; bad = 1 }
		END { exit bad }' "$@"
}
check "every command in a block is run, or the block says why it is not" unmarked "$repo"/README.md "$repo"/docs/*.md
printf '%s\n' 'Text:' '```' 'host$ gpukey show' '```' >"$TMP/page.md"
noticed() {
	! unmarked "$1" >/dev/null
}
check "a block that says nothing would be noticed" noticed "$TMP/page.md"
printf '%s\n' 'Text:' '' '    gpukey show' >"$TMP/page.md"
check "and one that is indented" noticed "$TMP/page.md"
printf '%s\n' '```sh example' 'gpukey show' '```' >"$TMP/page.md"
check "and one without a reason" noticed "$TMP/page.md"
total=0
for page in "$repo"/README.md "$repo"/docs/*.md; do
	grep -qE '^ *```sh (run|root)$' "$page" || continue
	case ${page##*/} in CONTRIBUTING.md | QUICKSTART.md) continue ;; esac # recipes.sh and quickstart.sh follow them
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

# The lines of a report that README shows are those of the capture that it names.
words() { tr -s ' \n' ' '; }
shown() {
	gpuanalyze -q --trust "$DEMO/demo.pub" "$DEMO/demo.cap" --report | words >"$TMP/report"
	sed -n '/^What matters most$/,/^```$/p' "$repo/README.md" | sed '/^```$/d' | words | sed 's/ $//' >"$TMP/shown"
	[ "$(wc -w <"$TMP/shown")" -gt 20 ] && grep -qFf "$TMP/shown" "$TMP/report"
}
check "the lines of a report in README are what gpuanalyze prints" shown

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
long() { # a table's row, a heading, an address and what is in a block may be as long as they must
	! (cd "$repo" && git ls-files '*.md' 2>/dev/null || ls README.md docs/*.md) | while read -r page; do
		awk '/^ *```/ { block = !block } { print (block || /^ *(\||#|<!--)/ ? "" : FILENAME ":" FNR ": ") $0 }' "$repo/$page"
	done | grep -E '^[^ ]+:[0-9]+: .{101,}'
}
check "the text of no page is wider than 100 columns" long
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
# The tests that THREATS.md calls as witnesses exist: `names_of_functions`, and *sentences* (of a script).
witnesses() {
	local name sentence file missing=0
	while read -r name; do
		grep -rqwF -- "$name" "$repo/tests/unit" || { echo "no test $name"; missing=1; }
	done < <(grep -oE '`[a-z0-9]+(_[a-z0-9]+){3,}`' "$repo/docs/THREATS.md" | tr -d '`')
	while IFS='|' read -r sentence file; do
		cat "$repo"/tests/{cli,unit/*}/"${file%.sh}".{sh,c} 2>/dev/null | grep -qF -- "$sentence" ||
			{ echo "$file has no '$sentence'"; missing=1; }
	done < <(tr '\n' ' ' <"$repo/docs/THREATS.md" | grep -oE '\*[^*]+\*,? +\([a-z_]+(\.sh)?\)' | sed -E 's/^\*([^*]*)\*,? *\(([^)]*)\)$/\1|\2/; s/  +/ /g')
	return $missing
}
check "every test that is called as a witness exists" witnesses
# PRIVILEGES.md names what is attached to, and what switches it off.
attached() {
	local name missing=0
	{
		sed -nE 's/^\t\{"([a-z_]+)", .*/\1/p' "$repo/format/tracepoints.c"
		grep -ohE 'SEC\("tp_btf/[a-z_]+' "$repo"/bpf/*.[ch] | sed 's/.*\///'
		sed -nE 's/^\t\{"(no-[a-z-]+)", .*/--\1/p' "$repo/record/gpurec_options.c" | grep -v -e --no-children
	} | sort -u >"$TMP/names"
	while read -r name; do
		grep -qF -- "\`$name\`" "$repo/docs/PRIVILEGES.md" || { echo "not in PRIVILEGES.md: $name"; missing=1; }
	done <"$TMP/names"
	grep -qx sched_switch "$TMP/names" && grep -qx suspend_resume "$TMP/names" && grep -qx -e --no-futex "$TMP/names" && return $missing
}
check "PRIVILEGES.md names each tracepoint, and each option that switches a probe off" attached
check "the scripts for Slurm are sh" sh -c 'for f in "$1"/docs/deploy/*.sh; do sh -n "$f" || exit 1; done' sh "$repo"
finish
