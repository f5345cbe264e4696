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
	warnings=$(groff -k -t -mandoc -Tutf8 -ww -rLL=78n "$1" 2>&1 >/dev/null) || return 1
	[ -z "$warnings" ] || { echo "$warnings"; return 1; }
}

sections() {
	local section
	for section in NAME SYNOPSIS DESCRIPTION OPTIONS ENVIRONMENT FILES "EXIT STATUS" EXAMPLES "SEE ALSO"; do
		grep -q "^\.Sh $section\$" "$1" || { echo "$1 has no section $section"; return 1; }
	done
}
for tool in gpurec gpuverify gpureplay gpuanalyze gpukey; do
	check "the page of $tool has all sections" sections "docs/man/$tool.1"
	if [ -x "$BUILD/$tool" ]; then
		check "the page of $tool lists the options of --help, all and no other" same_options "$tool"
		check "the page of $tool gives options the same letters as --help" letters "$tool"
	else
		skip "the page of $tool lists the options of --help, all and no other" "this build is without $tool"
	fi
	if command -v groff >/dev/null; then
		check "the page of $tool formats without a warning" formats "docs/man/$tool.1"
	else
		skip "the page of $tool formats without a warning" "groff is not installed"
	fi
done

if command -v groff >/dev/null; then
	check "the page of gpucap formats without a warning" formats docs/man/gpucap.7
else
	skip "the page of gpucap formats without a warning" "groff is not installed"
fi

# The pages that are made from the guides.
says() {
	groff -k -t -man -Tutf8 -rLL=100n -P-cbou "$1" | grep -qF -- "$2"
}
for page in gpurec-format.5 gpurec-rules.7; do
	if command -v groff >/dev/null; then
		check "the page $page formats without a warning" formats "$BUILD/man/$page"
	else
		skip "the page $page formats without a warning" "groff is not installed"
	fi
done
if command -v groff >/dev/null; then
	check "the page of the format has its headings" says "$BUILD/man/gpurec-format.5" "WHAT A STRANGER CAN MEET"
	check "and its tables" says "$BUILD/man/gpurec-format.5" "CHUNK_RAW_MAX"
	check "and its example" says "$BUILD/man/gpurec-format.5" '"gpurecap"'
	check "the page of the rules has its headings" says "$BUILD/man/gpurec-rules.7" "LAUNCH-LATENCY"
	check "and no list of links, which lead nowhere on paper" sh -c '! groff -k -t -man -Tutf8 -P-cbou "$1" | grep -qE "^ *• (oom|evidence|straggler)$"' sh \
		"$BUILD/man/gpurec-rules.7"
else
	skip "what the made pages say" "groff is not installed"
fi

# Completion offers what --help lists.
offers() {
	bash -c '. docs/completion/gpurec.bash; COMP_WORDS=("$1" --); COMP_CWORD=1; PATH=$2:$PATH; _gpurec "$1" -- "$1"
		printf "%s\n" "${COMPREPLY[@]}"' completion "$1" "$(cd "$BUILD" && pwd)" | sed -n 's/^--//p' | sort -u >"$TMP/offered"
	help_of_tool "$1" | sort -u | diff - "$TMP/offered"
}
help_of_tool() {
	"$BUILD/$1" --help | sed -nE 's/^ +((-[A-Za-z0-9]), )?--([a-z][a-z-]+).*/\3/p'
}
for tool in gpurec gpuverify gpureplay gpuanalyze gpukey; do
	if [ ! -x "$BUILD/$tool" ]; then
		skip "bash completes the options of $tool, all and no other" "this build is without it"
		continue
	fi
	check "bash completes the options of $tool, all and no other" offers "$tool"
done
check "and the commands of gpukey" bash -c '. docs/completion/gpurec.bash; COMP_WORDS=(gpukey tru); COMP_CWORD=1; PATH=$1:$PATH
	_gpurec gpukey tru gpukey; [ "${COMPREPLY[*]}" = trust ]' completion "$(cd "$BUILD" && pwd)"

# zsh, as one types: TYPED and the tab key become COMPLETED.
cat >"$TMP/type.zsh" <<'END'
zmodload zsh/zpty
read_until() {
	local part t=0
	while (( t++ < 1200 )) && [[ $said != *$1* ]]; do zpty -r -t shell part && said+=$part || sleep 0.05; done
	[[ $said == *$1* ]]
}
zpty -b shell zsh -f -i
zpty -w shell "PROMPT= RPROMPT=; fpath=($1 \$fpath); PATH=$2:\$PATH; autoload -Uz compinit; compinit -u -d $3"
zpty -w shell $'print rea\'\'dy'
said=; read_until ready || exit 1
zpty -n -w shell "$4"$'\t'
said=; read_until "$5"; r=$?
zpty -d shell
print -r -- "$said"
exit $r
END
typed() {
	zsh -f "$TMP/type.zsh" "$PWD/docs/completion" "$BUILD" "$TMP/zcompdump" "$1" "$2"
}
if command -v zsh >/dev/null; then
	check "zsh completes an option of gpuverify" typed "gpuverify --require-c" "--require-complete"
	check "one of gpureplay" typed "gpureplay --withh" "--withhold"
	check "one of gpuanalyze" typed "gpuanalyze --fail" "--fail-on"
	check "a command of gpukey" typed "gpukey tru" "gpukey trust"
	check "and its options" typed "gpukey delegate --unt" "--until"
	check "else files" typed "gpuverify docs/man/gpuverify" "docs/man/gpuverify.1"
	[ ! -x "$BUILD/gpurec" ] || check "and an option of gpurec" typed "gpurec --no-l" "--no-late-attach"
else
	skip "zsh completes options, commands and files" "zsh is not installed"
fi
finish
