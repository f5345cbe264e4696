#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What the README promises of a fresh Debian 12, on one: a system as debootstrap makes it, with Debian's own kernel (6.1). Both
# commands are typed there by an ordinary user, with sudo. Compiling takes hours in an emulated machine: the first time
# `make demo` is run in the system's folder, where it installs what is missing and builds; then in the guest, which boots
# from that folder's image and has no network. Only as root, for debootstrap; not part of `make test`.
#
#   tests/vm/debian.sh OUT [TEST...]     TEST: of `make test`, as in tests/run; built in the folder, run in the guest
#
# OUT gets demo.folder, demo.guest and tests.guest: what was printed, with times; console: the guest's. The folder is kept
# in $GPUREC_VM_CACHE/debian. In the environment: LIMIT (seconds for the guest, 3600).
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
[ $# -ge 1 ] || { echo "usage: debian.sh OUT [TEST...]" >&2; exit 1; }
mkdir -p "$1"
out=$(cd "$1" && pwd)
shift
tests=$*
cache=${GPUREC_VM_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/gpurec-vm}/debian
root=$cache/root
[ "$(id -u)" = 0 ] || { echo "debian: debootstrap needs root" >&2; exit 3; }
for tool in debootstrap qemu-system-x86_64 mke2fs unshare; do
	PATH=$PATH:/usr/sbin command -v $tool >/dev/null || { echo "debian: there is no $tool here" >&2; exit 3; }
done
work=$(mktemp -d "${TMPDIR:-/tmp}/gpurec-vm.XXXXXX")
trap 'rm -rf "$work"' EXIT
PATH=$PATH:/usr/sbin:/sbin

# A user who may use sudo, as the installer makes one.
make_root() {
	rm -rf "$root"
	mkdir -p "$cache"
	debootstrap --include=linux-image-amd64,make,sudo bookworm "$root" >"$out/debootstrap" 2>&1
	chroot "$root" useradd -m -s /bin/bash -G sudo user
	echo 'user ALL=(ALL) NOPASSWD: ALL' >"$root/etc/sudoers.d/user"
	echo guest >"$root/etc/hostname"
	echo "127.0.0.1 localhost guest" >"$root/etc/hosts"
	touch "$root/made"
}

# inside COMMAND: in the folder, as that user; its mounts end with it
inside() {
	unshare -m sh -c 'mount -t proc proc "$0/proc" && mount --rbind /sys "$0/sys" && mount --rbind /dev "$0/dev" &&
		cp /etc/resolv.conf "$0/etc/resolv.conf" && exec chroot "$0" runuser -u user -- sh -c "cd ~/gpurec && $1"' "$root" "$1"
}

[ -e "$root/made" ] || make_root
rm -rf "$root/home/user/gpurec"
mkdir "$root/home/user/gpurec"
(cd "$here/../.." && git ls-files -z | xargs -0 cp --parents -t "$root/home/user/gpurec")
chroot "$root" chown -R user:user /home/user/gpurec

status=0
began=$SECONDS
inside "sudo make demo" >"$out/demo.folder" 2>&1 || status=1
echo "debian: make demo in the folder, on this machine's kernel: status $status, $((SECONDS - began)) s" | tee -a "$out/demo.folder"
if [ -n "$tests" ]; then
	inside "sudo make deps && sudo make tests" >"$out/tests.folder" 2>&1 || { tail -n 20 "$out/tests.folder" >&2; exit 1; }
fi

# What the guest does once it is up, instead of what a machine does for its users.
cat >"$root/try" <<END
#!/bin/bash
cd /home/user/gpurec
mkdir /tmp/out
try() { # NAME COMMAND: how it ended, and when
	local name=\$1 from
	shift
	read -r from _ </proc/uptime
	runuser -u user -- "\$@" >/tmp/out/\$name 2>&1
	echo "debian: \$* in the guest, \$(uname -r): status \$?, from \$from s to \$(cut -d' ' -f1 /proc/uptime) s" | tee -a /tmp/out/\$name >/dev/console
}
try demo.guest sudo make demo
[ -z "$tests" ] || try tests.guest sudo env JOBS=1 LIMIT=1800 tests/run LIMIT=1800 $tests
tar -C /tmp/out -cf /dev/vdb .
sync
poweroff -f
END
chmod 755 "$root/try"
mib=$(($(du -sm "$root" | cut -f1) * 5 / 4 + 500))
truncate -s ${mib}M "$work/root.img"
mke2fs -q -t ext4 -d "$root" "$work/root.img"
truncate -s 64M "$work/results"
began=$SECONDS
timeout -k 10 "${LIMIT:-3600}" qemu-system-x86_64 -cpu max -accel tcg,thread=single -m 2G -smp 2 -nic none -display none \
	-serial stdio -monitor none -no-reboot -kernel "$(readlink -f "$root"/boot/vmlinuz-*)" -initrd "$(readlink -f "$root"/boot/initrd.img-*)" \
	-append "root=/dev/vda rw console=ttyS0 panic=-1 tsc=reliable systemd.run=/try systemd.run_failure_action=poweroff" \
	-drive "file=$work/root.img,if=virtio,format=raw,snapshot=on" -drive "file=$work/results,if=virtio,format=raw" \
	>"$out/console" 2>&1 </dev/null || status=1
tar -C "$out" -xf "$work/results" || { tail -n 40 "$out/console" | tr -d '\r' >&2; exit 1; }
grep -h '^debian:' "$out"/*.guest || :
echo "debian: the guest took $((SECONDS - began)) s"
for said in "$out"/*.guest; do
	tail -n 1 "$said" | grep -q ': status 0,' || { status=1; tail -n 40 "$said"; }
done
exit $status
