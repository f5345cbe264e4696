#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `make test-changed` leaves no file out: each one in the repository has tests in tests/changed.txt, and each line of that
# table names files and tests that are there.
# shellcheck source-path=SCRIPTDIR/../cli
. "$(dirname "$0")/../cli/lib.sh"
cd "$(dirname "$0")/../.." || exit 1

if ! git -c safe.directory="$PWD" ls-files >"$TMP/files" 2>/dev/null || [ ! -s "$TMP/files" ]; then
	skip "the tests of changed files" "this is no clone of the repository"
	finish
fi
grep -v '^#' tests/changed.txt >"$TMP/table"

every_file() {
	local file
	while read -r file; do
		[ ! -e "$file" ] || [ -n "$(tests/tools/changed.sh "$file")" ] || echo "$file"
	done <"$TMP/sample"
}
# A folder's files have the same lines: one of each folder and ending, and those with a line of their own.
awk '{ key = $0; sub(/[^\/]*$/, "", key); ending = $0; sub(/.*\//, "", ending); sub(/^[^.]*/, "", ending)
	if (!seen[key ending]++) print }' "$TMP/files" >"$TMP/sample"
every_file >"$TMP/without"
check "each folder's files have tests" sh -c 'cat "$1"; test ! -s "$1"' sh "$TMP/without"

stale() {
	local pattern tests test file
	while read -r pattern tests; do
		# shellcheck disable=SC2053 # it is a pattern
		while read -r file; do [[ $file == $pattern ]] && continue 2; done <"$TMP/files"
		echo "no file: $pattern"
	done <"$TMP/table"
	while read -r pattern tests; do
		for test in $tests; do compgen -G "$test" >/dev/null || echo "no test: $test"; done
	done <"$TMP/table"
}
stale >"$TMP/stale"
check "each line of the table names files and tests that are there" sh -c 'cat "$1"; test ! -s "$1"' sh "$TMP/stale"

finds() { # FILE TEST
	tests/tools/changed.sh "$1" | grep -qx "$2"
}
check "a source file has the unit tests of its folder" finds format/cursor.c tests/unit/format/test_narrow.c
check "and scripts" finds record/rotate.c tests/cli/record_rotate.sh
check "a test has itself" finds tests/cli/diff.sh tests/cli/diff.sh
check "what several scripts share is no test" sh -c '! tests/tools/changed.sh tests/cli/lib.sh | grep -q lib.sh'
finish
