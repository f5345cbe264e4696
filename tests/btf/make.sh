#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes a file of this folder anew:  tests/btf/make.sh OBJECT KERNEL OUT.btf
#
# OBJECT: build/bpf/gpurec.bpf.o, of the kernel's architecture. KERNEL: its vmlinuz, as packages hold it, or its type
# information (/sys/kernel/btf/vmlinux). What is kept is what the object asks for, which is a few KiB.
set -eu
object=$1 kernel=$2 out=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The ELF file inside a vmlinuz, however it is packed: found by how each packer's output begins.
unpack() {
	local at magic tool
	while read -r magic tool; do
		# shellcheck disable=SC2086 # a command and its options
		for at in $(LC_ALL=C grep -aobP "$magic" "$kernel" | cut -d: -f1); do
			tail -c "+$((at + 1))" "$kernel" | $tool >"$work/vmlinux" 2>/dev/null || :
			if [ "$(head -c 4 "$work/vmlinux" | tr -d '\177')" = ELF ]; then return; fi
			# arm64's is no ELF file, but holds what is looked for all the same
			if [ "$(wc -c <"$work/vmlinux")" -gt 1000000 ]; then return; fi
		done
	done <<-'END'
		\x1f\x8b\x08 gzip -dc
		\xfd7zXZ\x00 xz -dc
		\x28\xb5\x2f\xfd zstd -dc
		\x02\x21\x4c\x18 lz4 -dc
	END
	cp "$kernel" "$work/vmlinux"
}

if [ "$(head -c 2 "$kernel" | od -An -tx1 | tr -d ' ')" = 9feb ]; then
	cp "$kernel" "$work/btf"
else
	unpack
	python3 - "$work/vmlinux" "$work/btf" <<-'END'
		import struct, sys
		data = open(sys.argv[1], "rb").read()
		best, at = b"", data.find(b"\x9f\xeb\x01\x00\x18\x00\x00\x00")
		while at >= 0:  # the kernel's own is the longest that is whole
		    types, length, strings, size = struct.unpack_from("<IIII", data, at + 8)
		    if types == 0 and strings == length and at + 24 + length + size <= len(data):
		        best = max(best, data[at:at + 24 + length + size], key=len)
		    at = data.find(b"\x9f\xeb\x01\x00\x18\x00\x00\x00", at + 1)
		if not best:
		    sys.exit("no type information in this kernel")
		open(sys.argv[2], "wb").write(best)
	END
fi
bpftool gen min_core_btf "$work/btf" "$out" "$object"
ls -l "$out"
