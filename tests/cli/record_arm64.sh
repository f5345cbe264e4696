#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The kernel side for the machine that we are not on.
. "$(dirname "$0")/lib.sh"
top=$(cd "$(dirname "$0")/../.." && pwd)
clang=${CLANG:-clang}

if ! command -v "$clang" >/dev/null; then
	skip "the kernel side compiles for arm64 and x86" "there is no $clang here"
	finish
fi
headers=() # of the kernel: what Debian keeps by machine
[ ! -d "/usr/include/$(uname -m)-linux-gnu" ] || headers=(-idirafter "/usr/include/$(uname -m)-linux-gnu")
for arch in arm64 x86; do
	check_exit 0 "the kernel side compiles for $arch, without a warning" "$clang" -O2 -g -Wall -Werror -target bpf -mcpu=v3 \
		-D__TARGET_ARCH_$arch -I"$top" "${headers[@]}" \
		-c "$top/bpf/gpurec.bpf.c" -o "$TMP/$arch.o"
done
finish
