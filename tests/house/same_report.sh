#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The analysis built without optimisation gives the same reports, byte for byte, as the one that is tested.
# shellcheck source-path=SCRIPTDIR/../cli
. "$(dirname "$0")/../cli/lib.sh"
cd "$(dirname "$0")/../.." || exit 1
analyze=$BUILD/gpuanalyze
"$analyze" --version >/dev/null || exit 1

# Only analyze/ is built anew; what it stands on has tests of its own.
other=$TMP/other
build() {
	"${MAKE:-make}" -s --no-print-directory BUILD="$other" BPF=0 CFLAGS=-O0 "$other/libanalyze.a" "$other/analyze/gpuanalyze.o" "$other/analyze/gpuanalyze_options.o" &&
		"${CC:-gcc}" -pie -pthread "$other"/analyze/gpuanalyze*.o "$other/libanalyze.a" "$BUILD/libreplay.a" "$BUILD/libkeys.a" \
			"$BUILD/libformat.a" -lsqlite3 -lseccomp -lcap -lsodium -llz4 -lxxhash -lm -o "$other/gpuanalyze"
}
check "the analysis can be built without optimisation" build

same() {
	"$analyze" -q --trust tests/golden/demo.pub --rules docs/rules --force --report="$TMP/a.$1" tests/golden/demo.cap &&
		"$other/gpuanalyze" -q --trust tests/golden/demo.pub --rules docs/rules --force --report="$TMP/b.$1" tests/golden/demo.cap &&
		[ -s "$TMP/a.$1" ] && cmp "$TMP/a.$1" "$TMP/b.$1"
}
for form in txt json sarif html; do
	check "its $form is the same to the byte" same $form
done
finish
