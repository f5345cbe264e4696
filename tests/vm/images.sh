#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes the images that a guest is booted from, without mounting anything.
#
#   tests/vm/images.sh kernel VMLINUZ OUT                          a kernel as QEMU takes it
#   tests/vm/images.sh initrd KERNEL-FOLDER BUSYBOX-FOLDER OUT     modules for the disks, and the jump to the root
#   tests/vm/images.sh root ROOT-FOLDER OUT                        the guest's system, from packages as fetch.sh unpacks them
#   tests/vm/images.sh folder FOLDER OUT                           a folder as it is
#   tests/vm/images.sh project BUILD OUT [FILE...]                 the sources as they are here, with BUILD as build/; FILEs in vm/
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/gpurec-vm-images.XXXXXX")
trap 'rm -rf "$work"' EXIT
PATH=$PATH:/usr/sbin:/sbin

# ext4 FOLDER OUT ROOM-MIB: an image of a folder; sparse, of the size of the folder and room to write
ext4() {
	local mib
	mib=$(($(du -sm "$1" | cut -f1) * 5 / 4 + $3))
	rm -f "$2.part"
	truncate -s ${mib}M "$2.part"
	# Features that kernels from 5.10 on have, and no journal, of which an image that is thrown away has no use.
	mke2fs -q -t ext4 -O ^has_journal,^metadata_csum,^orphan_file -E root_owner=0:0 -d "$1" "$2.part"
	mv "$2.part" "$2"
}

# Of the programs for EFI that Ubuntu's kernels for arm64 are: the section that holds one of the kernel's own, and in that,
# from byte 8 on, where the compressed kernel begins, and its size.
kernel() {
	local efi=$work/efi offset size
	cp "$1" "$efi"
	if aarch64-linux-gnu-objdump -h "$1" 2>/dev/null | grep -q ' \.linux '; then
		aarch64-linux-gnu-objcopy -O binary --only-section=.linux "$1" "$efi"
	fi
	if [ "$(dd if="$efi" bs=4 skip=1 count=1 status=none | tr -d '\0')$(dd if="$efi" bs=4 skip=6 count=1 status=none | tr -d '\0')" = zimgzstd ]; then
		read -r offset size < <(od -A n -t u4 -j 8 -N 8 "$efi")
		tail -c +$((offset + 1)) "$efi" | head -c "$size" | zstd -qdc >"$2"
	else
		mv "$efi" "$2"
	fi
}

# What the kernel needs to reach its disks, in the order in which it is to be loaded.
copy_modules() {
	local folder=$1 version base n=0 file module
	base=$folder
	version=$(ls "$folder/lib/modules")
	[ "$(wc -w <<<"$version")" -eq 1 ] || { echo "images: $folder/lib/modules must have one folder" >&2; exit 1; }
	[ -e "$folder/lib/modules/$version/modules.dep.bin" ] || depmod -b "$base" "$version"
	for module in virtio_pci virtio_mmio virtio_blk crc32c_generic crc32c ext4; do
		# One that is built in, or that this kernel does not have, has nothing to load.
		modprobe -d "$base" -S "$version" --show-depends "$module" 2>/dev/null | sed -n 's/^insmod \([^ ]*\).*/\1/p' || :
	done | awk '!seen[$0]++' | while read -r file; do
		n=$((n + 1))
		module=$work/mod/$(printf %02d $n)-$(basename "$file" | sed 's/\.ko.*/.ko/')
		case $file in
		*.xz) xz -dc "$file" ;;
		*.zst) zstd -qdc "$file" ;;
		*.gz) gzip -dc "$file" ;;
		*) cat "$file" ;;
		esac >"$module"
	done
}

initrd() {
	mkdir -p "$work"/{bin,proc,sys,dev,root,mod}
	cp "$2/bin/busybox" "$work/bin/busybox"
	cp "$here/init.sh" "$work/init"
	chmod 755 "$work/init"
	[ ! -d "$1/lib/modules" ] || copy_modules "$1"
	(cd "$work" && find . | sort | cpio -o -H newc -R 0:0 --quiet) | gzip -1 >"$3.part"
	mv "$3.part" "$3"
}

# What the packages' scripts would have done, as far as the guest needs it.
root() {
	cp -a "$1" "$work/root"
	rm -rf "$work"/root/usr/share/{doc,man,locale,info,lintian} "$work/root/boot"
	mkdir -p "$work"/root/{gpurec,proc,sys,dev,run,tmp,root,etc}
	cp "$work"/root/usr/share/base-passwd/passwd.master "$work/root/etc/passwd"
	cp "$work"/root/usr/share/base-passwd/group.master "$work/root/etc/group"
	sed -i 's/^root:\*:/root:x:/' "$work/root/etc/passwd"
	echo guest >"$work/root/etc/hostname"
	echo 8a1d5c4e6b7f40919f3e2d1c0b0a9988 >"$work/root/etc/machine-id"
	[ -e "$work/root/usr/bin/awk" ] || ln -s gawk "$work/root/usr/bin/awk"
	chmod 1777 "$work/root/tmp"
	ext4 "$work/root" "$2" 200
}

project() {
	local build out=$2
	build=$(cd "$1" && pwd)
	shift 2
	mkdir -p "$work/root/build" "$work/root/vm"
	if git rev-parse --git-dir >/dev/null 2>&1; then
		git ls-files -z --cached --others --exclude-standard | while IFS= read -r -d '' f; do
			[ ! -e "$f" ] || printf '%s\0' "$f"
		done | xargs -0 cp --parents -t "$work/root"
	else
		tar -c --exclude=./build --exclude="$build" . | tar -x -C "$work/root"
	fi
	tar -C "$build" -c --exclude='*.o' --exclude='*.a' --exclude='*.d' --exclude=./asan --exclude='./arm64*' \
		--exclude='./tests/fuzz' --exclude='./dist' --exclude='./vm' . | tar -x -C "$work/root/build"
	[ $# -eq 0 ] || cp "$@" "$work/root/vm"
	ext4 "$work/root" "$out" 200
}

case ${1:-}:$# in
kernel:3) kernel "$2" "$3" ;;
initrd:4) initrd "$2" "$3" "$4" ;;
root:3) root "$2" "$3" ;;
folder:3) ext4 "$2" "$3" 500 ;;
project:[3-9] | project:[1-9][0-9]) project "${@:2}" ;;
*)
	echo "usage: images.sh kernel VMLINUZ OUT | initrd KERNEL-FOLDER BUSYBOX-FOLDER OUT | root ROOT-FOLDER OUT | folder FOLDER OUT | project BUILD OUT [FILE...]" >&2
	exit 1
	;;
esac
