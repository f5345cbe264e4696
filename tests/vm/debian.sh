#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What the README promises of a fresh Debian 12, on one: a system as debootstrap makes it, with Debian's own kernel (6.1). The
# commands are typed there by an ordinary user, with sudo. Compiling takes hours in an emulated machine: the first time
# `make demo` is run in the system's folder, where it installs what is missing and builds; then in the guest, which boots
# from that folder's image and has no network. Only as root, for debootstrap; not part of `make test`.
#
#   tests/vm/debian.sh OUT [TEST...]
#
# TEST: as in tests/run. Where there are any, all is built in the folder (`make deps`, `make tests`), and there are two
# guests side by side: one runs `make demo` and `make check`, the other one these tests, as root.
#
# OUT gets a file for each command in a guest, with what was printed and when: demo, check, tests; *.times, seconds of each
# test and of its CPU; demo.folder and tests.folder: what the folder's commands printed; console.N: the guests'. The folder
# is kept in $GPUREC_VM_CACHE/debian. In the environment: LIMIT (seconds for a guest, 14400), SLOW (10): by how much the limits
# of tests are longer in a guest.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
[ $# -ge 1 ] || { echo "usage: debian.sh OUT [TEST...]" >&2; exit 1; }
mkdir -p "$1"
out=$(cd "$1" && pwd)
shift
tests=$*
# shellcheck source=tests/vm/qemu.sh
. "$here/qemu.sh"
qemu_for amd64 "$cpu_before_7"
root=$cache/debian/root
[ "$(id -u)" = 0 ] || { echo "debian: debootstrap needs root" >&2; exit 3; }
for tool in debootstrap mke2fs unshare; do
	PATH=$PATH:/usr/sbin command -v $tool >/dev/null || { echo "debian: there is no $tool here" >&2; exit 3; }
done
work=$(mktemp -d "${TMPDIR:-/tmp}/gpurec-vm.XXXXXX")
trap 'rm -rf "$work"' EXIT
PATH=$PATH:/usr/sbin:/sbin

# A user who may use sudo, as the installer makes one.
make_root() {
	rm -rf "$root"
	mkdir -p "$cache/debian"
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

began=$SECONDS
if inside "sudo make demo" >"$out/demo.folder" 2>&1; then status=0; else status=1; fi
echo "debian: make demo in the folder, on this machine's kernel: status $status, $((SECONDS - began)) s" | tee -a "$out/demo.folder"
if [ -n "$tests" ]; then
	inside "sudo make deps && sudo make -j$(nproc) tests" >"$out/tests.folder" 2>&1 || { tail -n 20 "$out/tests.folder" >&2; exit 1; }
fi

# What a guest does once it is up, instead of what a machine does for its users. Its time is the number of instructions
# that it executed (qemu.sh explains); while it waits for its disk the clock runs ahead, so that it first reads all.
cat >"$root/try" <<END
#!/bin/bash
mount -t tmpfs tmpfs /tmp
echo 1 >/sys/devices/system/cpu/cpu1/online
find /usr/bin /usr/sbin /usr/lib /home -type f -exec cat {} + >/dev/null
cd /home/user/gpurec
mkdir -m 777 /tmp/out
try() { # NAME COMMAND: how it ended, and when
	local name=\$1 from ended
	shift
	read -r from _ </proc/uptime
	runuser -u user -- "\$@" 2>&1 | tee /tmp/out/\$name >/dev/console
	ended="status \${PIPESTATUS[0]}, from \$from s to \$(cut -d' ' -f1 /proc/uptime) s"
	echo "debian: \$* in a guest, \$(uname -r): \$ended" | cut -c 1-300 | tee -a /tmp/out/\$name >/dev/console
}
export SLOW=${SLOW:-10} JOBS=1 LANES=1
case \$(cat /proc/cmdline) in
*gpurec.guest=1*)
	try demo sudo make demo
	[ -z "$tests" ] || try check sudo env SLOW=\$SLOW JOBS=1 LANES=1 TIMES=/tmp/out/check.times make check
	;;
*) try tests sudo env SLOW=\$SLOW JOBS=1 LANES=1 TIMES=/tmp/out/tests.times tests/run LIMIT=900 $tests ;;
esac
tar -C /tmp/out -cf /dev/vdb .
sync
poweroff -f
END
chmod 755 "$root/try"
"$here/images.sh" folder "$root" "$work/root.img"

# guest N
guest() {
	truncate -s 64M "$work/results.$1"
	timeout -k 10 "${LIMIT:-14400}" "${qemu[@]}" -m 6G -smp 2 \
		-kernel "$(readlink -f "$root"/boot/vmlinuz-*)" -initrd "$(readlink -f "$root"/boot/initrd.img-*)" \
		-append "$append root=/dev/vda rw systemd.run=/try systemd.run_failure_action=poweroff gpurec.guest=$1" \
		-drive "file=$work/root.img,if=virtio,format=raw,snapshot=on" -drive "file=$work/results.$1,if=virtio,format=raw" \
		>"$out/console.$1" 2>&1 </dev/null || echo "debian: guest $1 did not end by itself" >&2
	tar -C "$out" -xf "$work/results.$1" || { tail -n 40 "$out/console.$1" | tr -d '\r' >&2; return 1; }
}
rm -f "$out"/{demo,check,tests}{,.times}
began=$SECONDS
guest 1 &
[ -z "$tests" ] || guest 2 &
wait
for said in demo ${tests:+check tests}; do
	if ! tail -n 1 "$out/$said" 2>/dev/null | grep '^debian:.*: status 0,'; then
		status=1
		echo "debian: $said did not end well:"
		tail -n 40 "$out/$said" || :
	fi
done
echo "debian: the guests took $((SECONDS - began)) s"
exit $status
