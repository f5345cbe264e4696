#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# As a new user would: a fresh Debian root file system with nothing but what README and the packages ask for. Installs what
# `make dist` made, records, verifies, narrows, analyses, uninstalls. Needs root, debootstrap and a Debian mirror.
#
#   tests/stranger.sh DIST-FOLDER [MIRROR]
set -euo pipefail

dist=$(cd "${1:?name the folder that make dist filled}" && pwd)
mirror=${2:-http://deb.debian.org/debian}
root=$(mktemp -d "${TMPDIR:-/var/tmp}/gpurec-stranger.XXXXXX")
cleanup() {
	umount "$root/sys/kernel/btf" "$root/sys" "$root/proc" 2>/dev/null || :
	rm -rf --one-file-system "$root"
}
trap cleanup EXIT

say() { echo "== $*"; }
inside() { chroot "$root" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 "$@"; }

say "a fresh root file system"
debootstrap --variant=minbase bookworm "$root" "$mirror" >"$root.log" 2>&1 || { tail -n 20 "$root.log" >&2; exit 1; }
rm -f "$root.log"
mount -t proc proc "$root/proc"
mount -t sysfs sysfs "$root/sys"
cp "$dist"/gpurec_*.deb "$root/tmp"

say "install"
inside sh -c 'apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends /tmp/gpurec_*.deb' >/dev/null 2>&1
for tool in gpurec gpuverify gpureplay gpuanalyze gpukey; do inside "$tool" --version; done

say "what does the host allow"
inside gpurec --check || say "this host does not allow recording"
say "record, verify, narrow, analyse"
inside sh -ec 'cd /root
	gpurec -d 2s -o run.cap -- sh -c "for i in 1 2 3; do sleep 0.3; done"
	gpuverify run.cap
	gpureplay run.cap -o part.cap --withhold process,path,host,cgroup
	gpuverify -q part.cap
	gpureplay run.cap -o run.db
	gpuanalyze run.cap --report | head -n 20'

say "uninstall"
inside apt-get purge -y -qq gpurec >/dev/null 2>&1
inside sh -c '! ls /usr/bin/gpu* 2>/dev/null && ! ls -d /usr/share/doc/gpurec 2>/dev/null'
say "what stays: the host's keys, which are the owner's to remove"
inside ls -l /etc/gpurec
say "all done"
