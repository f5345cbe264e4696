#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Boots one guest in QEMU, without hardware virtualization, runs steps in it, and fetches the results.
#
#   tests/vm/boot.sh KERNEL BUILD OUT STEP...
#
# KERNEL   a row of kernels.txt, or the path of a vmlinuz of your own: MODULES=FOLDER then names the folder that holds
#          lib/modules/VERSION (none is needed where ext4, virtio_pci and virtio_blk are built in), ARCH its architecture
# BUILD    the build folder to be tried, of the guest's architecture
# OUT      a folder for the results: console (the guest's output), tap (its tests), uname, dmesg, and files of the steps
# STEP     see steps.sh
# In the environment: MEM (2G), CPUS (2), CPU (qemu.sh explains), LIMIT (seconds, 900), APPEND (more for the kernel's command line),
# FILES (files that the guest is to have in /gpurec/vm), GPUREC_VM_CACHE (see fetch.sh).
# Exit status: 0 the guest ended normally (OUT/tap lists its tests); 3 the kernel, packages or QEMU are not available;
# 1 the guest did not end normally: its last lines are on stderr.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
[ $# -ge 4 ] || { echo "usage: boot.sh KERNEL BUILD OUT STEP..." >&2; exit 1; }
kernel=$1 build=$2 out=$3
shift 3
steps=$(IFS=,; echo "$*")
arch=$(awk -v name="$kernel" '$1 == name { print $2 }' "$here/kernels.txt")
arch=${arch:-${ARCH:-amd64}}
work=$(mktemp -d "${TMPDIR:-/tmp}/gpurec-vm.XXXXXX")
trap 'rm -rf "$work"' EXIT

# shellcheck source=tests/vm/qemu.sh
. "$here/qemu.sh"

case $kernel in
*/*)
	vmlinuz=$kernel
	folder=${MODULES:-$work/no-modules}
	[ -r "$vmlinuz" ] || { echo "boot: $vmlinuz cannot be read" >&2; exit 1; }
	;;
*)
	folder=$("$here/fetch.sh" kernel "$kernel")
	vmlinuz=$(find "$folder" -name "vmlinuz*" -type f -print -quit)
	;;
esac
case $arch/$(find "$folder" -path "*/modules/[0-9]*" -prune -printf %f 2>/dev/null) in
amd64/[456].*) CPU=${CPU:-$cpu_before_7} ;;
esac
qemu_for "$arch" "${CPU:-}"
root=$("$here/fetch.sh" root "$arch")
busybox=$("$here/fetch.sh" busybox "$arch")
# The root's image depends on how it is made, too; it is only read.
image=$root-$(sha256sum "$here/images.sh" | cut -c 1-8).img
(
	flock 9
	[ -e "$image" ] || { rm -f "$root"-*.img && "$here/images.sh" root "$root" "$image"; }
) 9>"$root.lock"
"$here/images.sh" kernel "$vmlinuz" "$work/vmlinuz"
"$here/images.sh" initrd "$folder" "$busybox" "$work/initrd"
# shellcheck disable=SC2086 # one word per file
"$here/images.sh" project "$build" "$work/project.img" ${FILES:-}
truncate -s 256M "$work/results"

rm -rf "$out"
mkdir -p "$out"
out=$(cd "$out" && pwd)
began=$SECONDS
status=0
timeout -k 10 "${LIMIT:-900}" "${qemu[@]}" -m "${MEM:-2G}" -smp "${CPUS:-2}" -kernel "$work/vmlinuz" -initrd "$work/initrd" \
	-append "$append gpurec.steps=$steps ${APPEND:-}" \
	-drive "file=$image,if=none,id=root,format=raw,snapshot=on" -device virtio-blk-pci,drive=root \
	-drive "file=$work/project.img,if=none,id=project,format=raw,snapshot=on" -device virtio-blk-pci,drive=project \
	-drive "file=$work/results,if=none,id=results,format=raw" -device virtio-blk-pci,drive=results \
	>"$out/console" 2>&1 </dev/null || status=$?
echo $((SECONDS - began)) >"$out/seconds"
tar -C "$out" --strip-components=1 -xf "$work/results" 2>/dev/null || :
if [ $status -ne 0 ] || [ ! -s "$out/tap" ] || ! grep -q '^guest: the end' "$out/console"; then
	{
		echo "boot: the guest did not end normally (status $status, $((SECONDS - began)) s); its last lines:"
		tail -n 40 "$out/console" | tr -d '\r' | cut -c 1-300 | sed 's/^/| /'
	} >&2
	exit 1
fi
