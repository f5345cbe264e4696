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
# In the environment: MEM (2G), CPUS (2), LIMIT (seconds, 900), APPEND (more for the kernel's command line),
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

case $arch in
amd64)
	qemu=(qemu-system-x86_64 -cpu max)
	# The clock of a guest that is not always on a CPU is found fault with, and given up for one a hundred times as slow.
	# Its other CPUs are started by guest.sh: kernels before 6.5 do not find them at boot where time is counted in instructions.
	append="console=ttyS0 tsc=reliable maxcpus=1"
	;;
arm64)
	qemu=(qemu-system-aarch64 -M virt -cpu "max,pauth-impdef=on")
	append="console=ttyAMA0"
	;;
*)
	echo "boot: architecture '$arch' must be amd64 or arm64" >&2
	exit 1
	;;
esac
command -v "${qemu[0]}" >/dev/null || { echo "boot: there is no ${qemu[0]} here: 'sh .ci/deps.sh vm' installs it" >&2; exit 3; }

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
# One thread for all CPUs of the guest: with several, QEMU 7.2 may execute a removed breakpoint for ever. The guest's time is
# the number of instructions that it executed, one a nanosecond, and idle time is skipped: the guest sees an idle machine of
# ordinary speed, however busy this one is, and what it measures does not depend on the load here.
timeout -k 10 "${LIMIT:-900}" "${qemu[@]}" -accel tcg,thread=single -icount shift=0,sleep=off -m "${MEM:-2G}" -smp "${CPUS:-2}" -nic none \
	-display none -serial stdio -monitor none -no-reboot -kernel "$work/vmlinuz" -initrd "$work/initrd" \
	-append "$append panic=-1 gpurec.steps=$steps ${APPEND:-}" \
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
