#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Prints the tests that concern what changed, one a line, by the table tests/changed.txt.
#
#   tests/tools/changed.sh [FILE...]     FILE: what changed, as a path in the repository; default: what differs from SINCE
#
# SINCE in the environment: a commit; default: where this branch left main. Files that git does not know yet count, too.
# Tests in C are printed as their sources.
cd "$(dirname "$0")/../.." || exit 1

# tests_of FILE: the tests of all lines of the table that it matches; itself, if it is a test
tests_of() {
	local file=$1 pattern tests test
	case $file in
	tests/cli/lib.sh | tests/cli/own.sh | tests/cli/rows.sh | tests/cli/truth.sh) ;;
	tests/cli/*.sh | tests/house/*.sh | tests/unit/*/test_*.c | tests/fuzz/fuzz_*.c) [ ! -e "$file" ] || echo "$file" ;;
	esac
	while read -r pattern tests; do
		# shellcheck disable=SC2053,SC2254 # they are patterns
		case $file in
		$pattern)
			for test in $tests; do compgen -G "$test"; done |
				grep -E '^tests/(cli|house)/[^/]*\.sh$|^tests/unit/[^/]*/test_[^/]*\.c$|^tests/fuzz/fuzz_[^/]*\.c$' |
				grep -vE '^tests/cli/(lib|truth)\.sh$'
			;;
		esac
	done < <(grep -v '^#' tests/changed.txt)
}

if [ $# -eq 0 ]; then
	since=${SINCE:-$(git merge-base main HEAD)} || exit 1
	mapfile -t files < <(git diff --name-only "$since"; git ls-files --others --exclude-standard)
	set -- "${files[@]}"
fi
for file in "$@"; do
	tests_of "$file"
done | sort -u
