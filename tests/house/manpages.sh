#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The man pages say what the tools say: the same options, in both directions, and they format without a warning.
# shellcheck source-path=SCRIPTDIR/../cli
. "$(dirname "$0")/../cli/lib.sh"
cd "$(dirname "$0")/../.." || exit 1

# Long options, one per line: of a page's list (.It Fl d , Fl \-duration Ar TIME), of --help's (  -d, --duration TIME).
page_options() {
	sed -nE '/^\.It Fl/p' "docs/man/$1.1" | grep -oE 'Fl \\?-[a-z][a-z-]+' | sed -E 's/Fl \\?-//' | sort -u
}
# What --help shows; of gpukey also what each of its commands shows.
help() {
	local command
	"$BUILD/$1" --help
	[ "$1" = gpukey ] || return 0
	for command in $("$BUILD/$1" --help | sed -nE 's/^(usage:|      ) gpukey ([a-z]+).*/\2/p'); do
		"$BUILD/$1" "$command" --help
	done
}
help_options() {
	help "$1" | sed -nE 's/^ +((-[A-Za-z0-9]), )?--([a-z][a-z-]+).*/\3/p' | sort -u
}
same_options() {
	[ -n "$(help_options "$1")" ] && diff <(page_options "$1") <(help_options "$1")
}
letters() {
	diff <(sed -nE 's/^\.It Fl ([A-Za-z0-9]) , Fl \\?-([a-z-]+).*/\1 \2/p' "docs/man/$1.1" | sort -u) \
		<(help "$1" | sed -nE 's/^ +-([A-Za-z0-9]), --([a-z][a-z-]+).*/\1 \2/p' | sort -u)
}
formats() {
	local warnings
	warnings=$(groff -mandoc -Tutf8 -ww -rLL=78n "docs/man/$1.1" 2>&1 >/dev/null) || return 1
	[ -z "$warnings" ] || { echo "$warnings"; return 1; }
}

for tool in gpurec gpuverify gpureplay gpuanalyze gpukey; do
	if [ -x "$BUILD/$tool" ]; then
		check "the page of $tool lists the options of --help, all and no other" same_options "$tool"
		check "the page of $tool gives options the same letters as --help" letters "$tool"
	else
		skip "the page of $tool lists the options of --help, all and no other" "this build is without $tool"
	fi
	if command -v groff >/dev/null; then
		check "the page of $tool formats without a warning" formats "$tool"
	else
		skip "the page of $tool formats without a warning" "groff is not installed"
	fi
done
finish
