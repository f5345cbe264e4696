#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The table of kernels in docs/CROSS.md is what `make vm-all` found, of every kernel that it tries, and what continuous
# integration boots had no failure then.
# shellcheck source-path=SCRIPTDIR/../cli
. "$(dirname "$0")/../cli/lib.sh"
cd "$(dirname "$0")/../.." || exit 1
results=tests/vm/results.txt
kernels=tests/vm/kernels.txt

made_anew() { awk -v results="$1" -f tests/vm/table.awk docs/CROSS.md | diff docs/CROSS.md -; }
check "the table of kernels is made of the results" made_anew $results
sed 's/\t0$/\t1/; s/ 0$/ 1/' $results >"$TMP/other.txt"
check "a result that differs would be noticed" sh -c '! awk -v results="$1" -f tests/vm/table.awk docs/CROSS.md | cmp -s docs/CROSS.md -' \
	sh "$TMP/other.txt"
names() { sed 's/#.*//; s/[ \t].*//; /^$/d' "$1" | sort; }
same_kernels() { diff <(names $kernels) <(names $results); }
check "there is a result for each kernel, and for no other" same_kernels
ci_is_green() { # the last field: "TESTS FAILED"
	awk -F'\t' 'FNR == NR { split($0, row, " "); if (row[5] == "ci") ci[row[1]] = 1; next }
		$1 in ci { n++; if ($NF !~ / 0$/) { print $1 ": " $NF; bad = 1 } }
		END { exit bad || !n }' $kernels $results
}
check "kernels that are part of the tests had no failure" ci_is_green

# Where packages cannot be fetched, guests are skipped by name.
mkdir "$TMP/build" && ln -s "$BUILD"/gpu* "$TMP/build/" || exit 1
unreachable() {
	BUILD=$TMP/build GPUREC_VM_KERNELS=6.1 GPUREC_VM_CACHE=$TMP/cache GPUREC_VM_MIRROR=http://127.0.0.1:1/debian \
		bash tests/house/vm.sh
}
if [ "${BPF:-1}" = 0 ] || ! command -v apt-get >/dev/null; then
	skip "a guest without packages is skipped" "the build is without BPF, or this system is without apt-get"
else
	check_exit 0 "a guest whose packages cannot be fetched is no failure" unreachable
	reason='127\.0\.0\.1'
	command -v qemu-system-x86_64 >/dev/null || reason='there is no qemu'
	check_prints "^ok 1 - guest 6.1 # SKIP .*$reason" "it is skipped, with its name and the reason"
fi
finish
