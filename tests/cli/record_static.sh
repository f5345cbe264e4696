#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `make static`: programs that run on a machine on which nothing was installed.
. "$(dirname "$0")/lib.sh"

if [ ! -x "$BUILD/static/gpurec-alone" ] || [ ! -x "$BUILD/static/gpureplay" ]; then
	skip "static programs" "$(grep -m1 -o 'cannot find -l[a-z0-9]*' "$BUILD/static.log" || echo 'they could not be linked here')"
	finish
fi
check "they are built" test -x "$BUILD/static/gpurec"
libraries() { ldd "$1" | grep -v 'linux-vdso\|libc\.so\|libm\.so\|ld-linux\|libdl\|libpthread' >"$TMP/more"; cat "$TMP/more"; [ ! -s "$TMP/more" ]; }
for tool in gpurec gpuverify gpureplay gpuanalyze gpukey; do
	check "$tool needs nothing but the C library" libraries "$BUILD/static/$tool"
done
check "gpurec-alone needs not even that" sh -c '! ldd "$1" 2>/dev/null | grep -q libc' sh "$BUILD/static/gpurec-alone"
if ! "$BUILD/gpurec" --check -o "$TMP/x.cap" >"$TMP/check" 2>&1; then
	skip "a static gpurec records" "$(grep -m1 '^no' "$TMP/check")"
	finish
fi
for tool in gpurec gpurec-alone; do
	check_exit 0 "$tool records" "$BUILD/static/$tool" -o "$TMP/$tool.cap" --nvml "$BUILD/workload/libnvidia-ml.so.1" -- \
		"$BUILD/workload/driver" -q --flood 50
	check_exit 0 "what verifies" "$BUILD/static/gpuverify" "$TMP/$tool.cap"
	check_prints 'launch [0-9]' "with its calls"
done
check "with libc beside it, NVML is asked" sh -c '"$1" -q --json "$2" | grep -q "\"kind\":\"gpu\""' sh "$BUILD/static/gpureplay" "$TMP/gpurec.cap"
finish
