#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What docs/ARCHITECTURE.md says about folders, checked against the sources and the libraries built from them.
# shellcheck source-path=SCRIPTDIR/../cli
. "$(dirname "$0")/../cli/lib.sh"
cd "$(dirname "$0")/../.." || exit 1

# no_lines: passes when stdin is empty, else shows it
no_lines() {
	local lines
	lines=$(cat)
	[ -z "$lines" ] || { echo "$lines"; return 1; }
}

# The headers in which format/ offers something to the folders above it; its others are its own.
PUBLIC='(base/[a-z_0-9]+|kinds|tracepoints|schema|source|reader|cursor|verify|writer|narrow)'
FORMAT="format/$PUBLIC\.h"
KEYS='keys/(tool/)?[a-z_0-9]+\.h'

# own FOLDER: what matches the headers of a folder and of those in it
own() {
	echo "$1/([a-z_0-9]+/)?[a-z_0-9]+\.h"
}
# includes FOLDER ALLOWED: the project's headers that FOLDER includes but for those that match ALLOWED
includes() {
	find "$1" -name '*.[ch]' -exec grep -HoE '^ *# *include *"[^"]+"' {} + |
		sed -E 's/: *# *include *"/ /; s/"$//' | grep -vE " ($2)$"
}
forbids() {
	includes "$1" "$2" | no_lines
}
check "format/base/ includes nothing but itself" forbids format/base 'format/base/[a-z_0-9]+\.h'
check "format/ includes nothing from above" forbids format "$(own format)"
check "keys/ includes format's public headers only, and its signatures" forbids keys "$FORMAT|format/crypt\.h|$(own keys)"
check "record/ includes format, keys and the ring only" forbids record \
	"$FORMAT|$KEYS|$(own record)|bpf/ring\.h|bpf/gpurec\.skel\.h"
check "replay/ includes format and keys only" forbids replay "$FORMAT|$KEYS|$(own replay)"
check "replay/model/ includes format, keys, itself, and what a pass over a capture takes" forbids replay/model \
	"$FORMAT|$KEYS|$(own replay/model)|replay/demangle/demangle\.h|replay/(filter|playback)\.h"
check "analyze/ includes format, keys, and of replay/ the model, the comparison, the SQLite module and names of C++" forbids analyze \
	"$FORMAT|$KEYS|$(own analyze)|replay/model/[a-z_0-9]+\.h|replay/diff/diff(_stats)?\.h|replay/time_arg\.h|replay/sql/vtab\.h|replay/demangle/demangle\.h"
# defined_in FOLDER...: what objects of replay/ define
defined_in() {
	local folder
	for folder; do
		nm --defined-only "$BUILD/replay/$folder"/*.o 2>/dev/null
	done | sed -nE 's/^[0-9a-f]+ [A-Z] //p' | sort -u
}
shared_symbols() {
	comm -12 <({ nm -u "$BUILD"/analyze/gpuanalyze*.o; nm -u "$BUILD/libanalyze.a"; } | sed -nE 's/^ +[Uw] //p' | sort -u) \
		<(nm --defined-only "$BUILD/libreplay.a" 2>/dev/null | sed -nE 's/^[0-9a-f]+ [A-Z] //p' | sort -u) |
		comm -23 - <(defined_in model diff sql demangle) | grep -vE '^(out_(open|close|finish|flush)|moment_(parse|boot_ns))$' | no_lines
}
check "analyze/ uses nothing else of replay/" shared_symbols
check "bpf/ includes its own headers and the list of kinds only" forbids bpf 'format/kinds\.h|bpf/[a-z_0-9]+\.h'

# Every file that belongs to the project, also where there is no git.
sources() {
	git ls-files --cached --others --exclude-standard 2>/dev/null ||
		find . \( -path ./build -o -path ./.git \) -prune -o -type f -printf '%P\n'
}

# The top level holds what is written here and nothing else.
top_level() {
	sources | cut -d/ -f1 | sort -u |
		grep -vxE 'Makefile|README\.md|bpf|format|keys|record|replay|analyze|tests|docs|LICENSE(\.[A-Za-z0-9.-]+)?|\.ci|\.clang-format|\.gitignore|\.editorconfig' |
		no_lines
}
check "the top level holds only what it should" top_level

# A name says what is inside, wherever it is read: no two sources share one, in whatever folders.
unique_names() {
	sources | grep -E '^(bpf|format|keys|record|replay|analyze)/.*\.[ch]$' | sed 's:.*/::' | sort | uniq -d | no_lines
}
check "no two sources have the same name" unique_names
# Folders that can be read at a glance.
small_folders() {
	sources | grep -E '^(bpf|format|keys|record|replay|analyze)/.*\.[ch]$' | sed 's:/[^/]*$::' | sort | uniq -c |
		awk '$1 > 40 { print $2 " has " $1 " sources" }' | no_lines
}
check "no folder has more than 40 sources" small_folders

# Each folder says in a few lines what it is, and where to start reading; what it names is there.
named_files() { # FOLDER
	grep -oE '`[a-z_0-9/]+(\.[a-z]+)*`' "$1/README.md" | tr -d '`' | while read -r name; do
		[ -e "$1/$name" ] || [ -e "$name" ] || echo "$1/README.md: there is no $name"
	done
}
folders_introduced() {
	sources | grep -E '^(bpf|format|keys|record|replay|analyze)/.*\.[ch]$' | sed 's:/[^/]*$::' | sort -u | while read -r folder; do
		[ -s "$folder/README.md" ] || { echo "$folder has no README.md"; continue; }
		[ "$(wc -l <"$folder/README.md")" -le 12 ] || echo "$folder/README.md has more than twelve lines"
		for part in "May use" "May not" "Start with"; do
			grep -q "^- \*\*$part:\*\* " "$folder/README.md" || echo "$folder/README.md lacks \"$part\""
		done
		named_files "$folder"
	done | no_lines
}
check "each folder has a README that names what is in it" folders_introduced
answers_exist() {
	[ "$(grep -cE '^\| .*\? \| `' docs/ARCHITECTURE.md)" -ge 20 ] || { echo "fewer than twenty questions"; return 1; }
	sed -nE 's/^\| .*\? \| `([^`]+)` \|$/\1/p' docs/ARCHITECTURE.md | while read -r file; do
		[ -f "$file" ] || echo "there is no $file"
	done | no_lines
}
check "twenty questions about where things happen name files that exist" answers_exist

# The names of facts are the recorder's: what a report looks for has to be written.
facts_written() {
	local name unwritten=
	for name in $(sed -n 's/^\t{\.name = "\([a-z_]*\)".*/\1/p' analyze/facts/capture_facts.c); do
		grep -rqF "\"$name\"" record/ --include='*.c' || unwritten+=" $name"
	done
	echo "not written:$unwritten"
	[ -z "$unwritten" ] && [ -n "${name:-}" ]
}
check "every fact that a report reads is one that the recorder writes" facts_written

# undefined_of LIBRARY: what it calls in other libraries
undefined_of() {
	nm -u "$BUILD/$1" | sed -nE 's/^ +[Uw] ([^@]+).*/\1/p' | sort -u
}
PRINTS='_*(v?f?printf|v?dprintf|f?puts|f?putc|putchar|perror|psignal)(_unlocked|_chk)?|_?exit|_Exit|quick_exit|abort|stderr|stdout|v?(err|warn)x?|syslog|system|popen'
ENDS='_?exit|exit|_Exit|quick_exit|abort|system|popen'
silent() {
	[ -s "$BUILD/$1" ] && undefined_of "$1" | grep -xE "$2" | no_lines
}
check "format/ neither prints nor exits" silent libformat.a "$PRINTS"
for library in keys replay analyze record; do
	ends=$ENDS
	[ $library != record ] || ends=${ENDS#_?exit|} # the child that becomes COMMAND ends by _exit() when it cannot
	if [ -e "$BUILD/lib$library.a" ]; then
		check "$library/ does not exit below main()" silent "lib$library.a" "$ends"
	else
		skip "$library/ does not exit below main()" "this build is without it"
	fi
done

SPEAKS='tool_(init|note|progress[a-z_]*|error|usage|fault|finish|read_options|print)'
for library in replay analyze record; do
	if [ -e "$BUILD/lib$library.a" ]; then
		check "$library/ says nothing below main()" silent "lib$library.a" "$SPEAKS|perror|stderr|v?(err|warn)x?|syslog"
	else
		skip "$library/ says nothing below main()" "this build is without it"
	fi
done

# Of keys/, only what tool.h offers to main files speaks; gpukey's own files are in no library.
quiet_keys() {
	nm -A -u "$BUILD/libkeys.a" | sed -nE 's/^[^:]*:(.*\.o): +[Uw] ([^@]+).*/\1 \2/p' | grep -vE '^tool(_[a-z]+)?\.o ' |
		grep -E " ($SPEAKS|_*v?printf(_chk)?|puts|putchar|perror|stdout|stderr|v?(err|warn)x?|syslog)\$" | no_lines
}
check "keys/ says nothing below main(), but by tool.h" quiet_keys
check "gpukey's, gpureplay's and gpuanalyze's own files are in no library" no_lines < <(nm -A "$BUILD"/lib*.a 2>/dev/null | grep -E ':gpu(key|replay|analyze)[._]')

# Mutable data outside main files: sections .data, .bss and .tdata. What is constant but holds addresses stands in
# .data.rel.ro, which is read-only at run time. keys/tool/tool.c is part of every main.
no_globals() {
	[ -s "$BUILD/$1" ] && nm -f sysv "$BUILD/$1" |
		awk -F'|' '/^[A-Za-z_]/ && $7 ~ /^(\.data|\.bss|\*COM\*|\.tdata|\.tbss)(\.|$)/ && $7 !~ /^\.data\.rel\.ro/ { print $1, $7 }' |
		grep -vE '^tool_(quiet|verbose|name|[a-z_]+) ' | no_lines
}
for library in format keys replay analyze record; do
	if [ -e "$BUILD/lib$library.a" ]; then
		check "$library/ has no mutable global data" no_globals "lib$library.a"
	else
		skip "$library/ has no mutable global data" "this build is without it"
	fi
done

# Each limit of the format stands in the document.
limits_told() {
	[ -s docs/FORMAT.md ] || { echo "there is no docs/FORMAT.md"; return 1; }
	grep -hoE '^#define [A-Z][A-Z0-9_]*_(MAX|MIN|LIMIT)(_BYTES)?\b|^#define MAX_[A-Z0-9_]+' format/*.h format/base/*.h |
		awk '{ print $2 }' | sort -u | while read -r limit; do
		grep -qwF "$limit" docs/FORMAT.md || echo "$limit is not in docs/FORMAT.md"
	done | no_lines
}
check "every limit of the format is in docs/FORMAT.md" limits_told

licences() {
	sources | grep -E '\.([ch]|sh|awk|mk|py)$|(^|/)(Makefile|run)$' | while read -r file; do
		[ -e "$file" ] || continue
		want=Apache-2.0
		case $file in
		bpf/ring.h | bpf/busy.h) ;; # user space or a test of it includes it, too
		*.bpf.c | bpf/*) want='GPL-2.0(-only)?' ;;
		esac
		head -n 2 "$file" | grep -qE "SPDX-License-Identifier: $want( |\$)" || echo "$file does not begin with its licence"
	done | no_lines
}
check "every source names its licence first" licences

# Written so that this file does not match itself.
machine_paths() {
	sources | grep -vE '\.(cap|pub|minisig|bin)$' | while read -r file; do
		[ -f "$file" ] && grep -nHE '(^|[^A-Za-z0-9_.])/(wor[k]|User[s])/|/shared/desig[n]' "$file"
	done | no_lines
}
check "no file names a path of somebody's machine" machine_paths

# What clang-format does to a list in a comment whose lines are too long for it: " *and so on".
torn() {
	find bpf format keys record replay analyze tests -name '*.[ch]' -exec grep -nHE '^[[:blank:]]*\*[a-z]+ [a-z]' {} + | no_lines
}
check "no comment is torn" torn
open_ends() {
	find bpf format keys record replay analyze tests -name '*.[ch]' -exec grep -nHwE 'TOD[O]|FIXM[E]|XX[X]|HAC[K]' {} + | no_lines
}
check "no source has an open end" open_ends
finish
