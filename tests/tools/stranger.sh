#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# As a new user would: a fresh Debian root file system with nothing but what README's "Build and install" and the packages
# ask for. Checks the sums, installs, records, verifies, narrows, analyses, uninstalls; then the same with the static archive.
# Needs root, debootstrap and, alone among the tests, a network: a Debian mirror. So it is in no tier of `make test`;
# docs/RELEASE.md asks for it before each release, and has the date of the last run.
#
#   tests/tools/stranger.sh DIST-FOLDER [MIRROR]
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
mkdir "$root/root/dist"
cp "$dist"/* "$root/root/dist"

say "what arrived is what was sent"
inside sh -ec 'cd /root/dist && sha256sum --quiet -c SHA256SUMS'

say "install"
inside sh -c 'apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends /root/dist/gpurec_*_$(dpkg --print-architecture).deb' >/dev/null 2>&1
for tool in gpurec gpuverify gpureplay gpuanalyze gpukey; do inside "$tool" --version; done

say "what does the host allow"
inside gpurec --check || say "this host does not allow recording"

# use: what README and QUICKSTART tell to do, in /root, with the tools in the search path
use() {
	inside env PATH="$1:/usr/sbin:/usr/bin:/sbin:/bin" sh -euc 'cd /root; rm -f run.* part.*
	gpurec -d 2s -o run.cap -- sh -c "for i in 1 2 3; do sleep 0.3; done"
	gpuverify run.cap >run.txt && cat run.txt
	grep -q "^OK run.cap" run.txt
	gpureplay run.cap -o part.cap --withhold process,path,host,cgroup
	gpuverify -q part.cap >part.txt && cat part.txt
	grep -q "^OK-REDACTED part.cap" part.txt
	gpureplay run.cap | grep -q "name=\"sleep\""
	! gpureplay part.cap | grep -q "name=\"sleep\""
	gpureplay run.cap -o run.db && test -s run.db
	gpuanalyze run.cap --report | head -n 20
	gpuanalyze run.cap --report=run.html && test -s run.html'
}
say "record, verify, narrow, analyse"
use /usr/bin
say "the pages that README leads to are there"
inside sh -ec 'cd /usr/share/doc/gpurec; ls QUICKSTART.md DEPLOY.md deploy/daemonset.yaml systemd/gpurec.service >/dev/null'

say "uninstall"
inside apt-get purge -y -qq gpurec >/dev/null 2>&1
inside sh -c '! ls /usr/bin/gpu* 2>/dev/null && ! ls -d /usr/share/doc/gpurec 2>/dev/null'

say "the static archive, without an installation"
inside sh -ec 'cd /root && tar -xf dist/gpurec-*-linux-*.tar.xz 2>/dev/null' ||
	tar -C "$root/root" -xf "$dist"/gpurec-*-linux-*.tar.xz # minbase has no xz
use "/$(cd "$root" && echo root/gpurec-*-linux-*/bin)"
say "what stays: the host's keys, which are the owner's to remove"
inside ls -l /etc/gpurec
say "all done"
