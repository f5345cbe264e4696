#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What `make install` puts where, and that `make uninstall` takes all of it away.
# shellcheck source-path=SCRIPTDIR/../cli
. "$(dirname "$0")/../cli/lib.sh"
cd "$(dirname "$0")/../.." || exit 1

make=("${MAKE:-make}" -s --no-print-directory BUILD="$BUILD" BPF="${BPF:-1}" DESTDIR="$TMP/root" PREFIX=/usr)
tools=(gpuverify gpureplay gpuanalyze gpukey)
[ "${BPF:-1}" = 0 ] || tools+=(gpurec)

installed() {
	(cd "$TMP/root/usr" && find . -type f -printf '%m %P\n' | sort -k2)
}
wanted() {
	printf '755 bin/%s\n' "${tools[@]}"
	printf '644 share/man/man1/%s.1\n' "${tools[@]}"
	printf '644 share/doc/gpurec/%s\n' README.md LICENSE LICENSE.GPL-2.0
	(cd docs && printf '644 share/doc/gpurec/%s\n' *.md report.schema.json report.png rules/*.sql deploy/*.yaml deploy/*.sh systemd/*.service examples/*.c)
	printf '644 share/doc/gpurec/examples/%s\n' demo.cap demo.pub
	printf '644 share/man/%s\n' man5/gpurec-format.5 man7/gpucap.7 man7/gpurec-rules.7
	printf '644 share/%s\n' bash-completion/completions/gpurec zsh/site-functions/_gpurec
	printf '%s\n' '755 lib/libgpucap.so.1' '755 lib/gpurec/gpucap.so' '644 lib/libgpucap.a' '644 lib/pkgconfig/gpucap.pc' '644 include/gpucap.h'
}
same_files() {
	diff <(wanted | sort -k2) <(installed)
}
run_installed() {
	local tool
	for tool in "${tools[@]}"; do
		"$TMP/root/usr/bin/$tool" --version || return 1
	done
}
# Pages that were installed lead to pages that were installed.
links() {
	local page target broken=0
	for page in "$TMP"/root/usr/share/doc/gpurec/*.md; do
		while read -r target; do
			[ -e "${page%/*}/${target%%#*}" ] || { echo "${page##*/}: $target"; broken=1; }
		done < <(grep -oE '\]\([^)#][^)]*\)' "$page" | sed 's/^](//; s/)$//' | grep -v '^[a-z]*://')
	done
	return $broken
}
# The module, by the path that the pages give.
module() {
	local page path
	for page in docs/man/gpucap.7 docs/SCHEMA.md; do
		path=$(sed -nE 's/^(sqlite> )?\.load +([^ ]+).*/\2/p' $page | head -n 1)
		[ "$(sqlite3 -bail :memory: ".load $TMP/root/usr/${path#/usr/local/}" \
			"SELECT gpucap_open('tests/golden/demo.cap', 'run', 'trust=tests/golden/demo.pub') LIKE 'seals OK%'")" = 1 ] || { echo "$page: $path"; return 1; }
	done
}
outside() {
	[ "$(cd "$TMP/root" && echo *)" = usr ]
}
nothing_left() {
	[ -z "$(find "$TMP/root" -type f)" ] && [ ! -e "$TMP/root/usr/share/doc/gpurec" ]
}
# What `make BPF=0` would do, for a build of its own.
offline() {
	local plan
	plan=$("${MAKE:-make}" -n --no-print-directory BPF=0 BUILD="$TMP/offline" CLANG=clang-here BPFTOOL=bpftool-here all) || return 1
	! grep -E 'clang-here|bpftool-here|-lbpf|-lelf|record/|[^a-z]bpf/' <<<"$plan" || return 1
	grep -q 'gpuverify' <<<"$plan"
}

check "make install succeeds" "${make[@]}" install
check "it installs the tools, their man pages and the documents, and nothing else" same_files
check "it writes nothing outside of PREFIX" outside
check "the installed tools run" run_installed
check "links of the installed pages lead somewhere" links
check "SQLite loads the module by the path that the pages give" module
check "the library is found by its plain name" [ "$(readlink "$TMP/root/usr/lib/libgpucap.so")" = libgpucap.so.1 ]
check "installing twice is no error" "${make[@]}" install
check "make uninstall succeeds" "${make[@]}" uninstall
check "it leaves nothing behind" nothing_left
check "uninstalling twice is no error" "${make[@]}" uninstall
check "a build without BPF needs neither clang nor bpftool, libbpf or libelf" offline
finish
