#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing to build and test here, and nothing else; says nothing where all is there.
#
#   .ci/deps.sh GROUP...        groups: build bpf demo test exam browser dist lint bench fuzz coverage vm
#
# Debian and Ubuntu: apt-get. Fedora and its kin: dnf. Elsewhere, or without root: says what is to be done.
# Exit status: 0 when all is there (now), 1 when something is missing still.
set -u

# group  what proves that it is there              Debian, Ubuntu       Fedora
#        (program, or header.h; a/b: either one)
table='
build    make                                      make                 make
build    gcc                                       gcc                  gcc
build    ar                                        binutils             binutils
build    stdlib.h                                  libc6-dev            glibc-devel
build    sodium.h                                  libsodium-dev        libsodium-devel
build    lz4frame.h                                liblz4-dev           lz4-devel
build    xxhash.h                                  libxxhash-dev        xxhash-devel
build    sqlite3.h                                 libsqlite3-dev       sqlite-devel
build    seccomp.h                                 libseccomp-dev       libseccomp-devel
build    sys/capability.h                          libcap-dev           libcap-devel
bpf      clang                                     clang                clang
bpf      bpftool                                   @bpftool             bpftool
bpf      bpf/libbpf.h                              libbpf-dev           libbpf-devel
bpf      gelf.h                                    libelf-dev           elfutils-libelf-devel
bpf      elfutils/libdw.h                          libdw-dev            elfutils-devel
bpf      zlib.h                                    zlib1g-dev           zlib-devel
demo     sqlite3                                   sqlite3              sqlite
test     cmocka.h                                  libcmocka-dev        libcmocka-devel
test     lz4                                       lz4                  lz4
test     sqlite3                                   sqlite3              sqlite
test     minisign                                  minisign             minisign
test     protoc                                    protobuf-compiler    protobuf-compiler
test     strace                                    strace               strace
test     zsh                                       zsh                  zsh
test     groff                                     groff-base           groff-base
test     python3                                   python3              python3
test     @jsonschema                               python3-jsonschema   python3-jsonschema
exam     python3                                   python3              python3
exam     @torch                                    python3-torch        python3-torch
exam     ruby                                      ruby                 ruby
exam     node                                      nodejs               nodejs
exam     node/node_api.h                           libnode-dev          nodejs-devel
exam     javac                                     default-jdk-headless java-devel
exam     go                                        golang-go            golang
browser  chromium                                  chromium             chromium
browser  python3                                   python3              python3
dist     dpkg-buildpackage                         dpkg-dev             dpkg-dev
dist     dh                                        debhelper            debhelper
dist     lintian                                   lintian              lintian
dist     xz                                        xz-utils             xz
lint     clang                                     clang                clang
lint     clang-format                              clang-format         clang-tools-extra
lint     clang-tidy                                clang-tidy           clang-tools-extra
lint     cppcheck                                  cppcheck             cppcheck
lint     shellcheck                                shellcheck           ShellCheck
bench    bpftrace                                  bpftrace             bpftrace
bench    perf                                      @perf                perf
bench    zstd                                      zstd                 zstd
bench    pgrep                                     procps               procps-ng
fuzz     clang                                     clang                clang
vm       qemu-system-x86_64                        qemu-system-x86      qemu-system-x86-core
vm       qemu-system-aarch64                       qemu-system-arm      qemu-system-aarch64-core
vm       aarch64-linux-gnu-gcc                     gcc-aarch64-linux-gnu gcc-aarch64-linux-gnu
vm       cpio                                      cpio                 cpio
vm       modprobe                                  kmod                 kmod
vm       debootstrap                               debootstrap          debootstrap
vm       mke2fs                                    e2fsprogs            e2fsprogs
vm       xz                                        xz-utils             xz
vm       zstd                                      zstd                 zstd
coverage gcov                                      gcc                  gcc
fuzz     @fuzzer                                   @fuzzer              compiler-rt
'

PATH=$PATH:/usr/sbin:/sbin

# Whether the thing that $1 stands for is there.
is_there() {
	case $1 in
	*.h) echo "#include <$1>" | ${CC:-gcc} -E -o /dev/null - 2>/dev/null ;;
	bpftool) [ -n "$(sh "$(dirname "$0")/bpftool.sh")" ] ;;
	gcc) set -- ${CC:-gcc}; command -v "$1" >/dev/null ;; # the first word: "ccache gcc"
	@jsonschema) python3 -c 'import jsonschema' 2>/dev/null || /usr/bin/python3 -c 'import jsonschema' 2>/dev/null ;;
	@torch) /usr/bin/python3 -c 'import torch' 2>/dev/null ;;
	@fuzzer) [ -n "$(find /usr/lib -name 'libclang_rt.fuzzer-*.a' -o -name 'libclang_rt.fuzzer.a' 2>/dev/null)" ] ;;
	*) command -v "$1" >/dev/null ;;
	esac
}

# A Debian package whose name differs between systems.
apt_name() {
	case $1 in
	@bpftool) # Ubuntu has it inside another package, up to 24.04
		if grep -qs '^ID=ubuntu' /etc/os-release && ! apt-cache show bpftool >/dev/null 2>&1; then
			echo linux-tools-generic
		else
			echo bpftool
		fi
		;;
	@perf) # Ubuntu has it in the tools of its kernels
		if grep -qs '^ID=ubuntu' /etc/os-release; then echo linux-tools-generic; else echo linux-perf; fi
		;;
	@fuzzer)
		major=$(clang -dumpversion 2>/dev/null | cut -d. -f1)
		echo "libclang-rt-${major:+$major-}dev"
		;;
	*) echo "$1" ;;
	esac
}

# missing COLUMN: the packages of that column that are wanted and not there, one per line
missing() {
	echo "$table" | while read -r group thing debian fedora; do
		[ -n "$group" ] || continue
		case " $groups " in
		*" $group "*) ;;
		*) continue ;;
		esac
		is_there "$thing" && continue
		if [ "$1" = apt ]; then
			apt_name "$debian"
		else
			echo "$fedora"
		fi
	done | sort -u
}

groups="${*:-build bpf test}"
if command -v apt-get >/dev/null; then
	manager=apt
elif command -v dnf >/dev/null; then
	manager=dnf
else
	manager=none
fi

packages=$(missing $manager | tr '\n' ' ')
packages=${packages% }
[ -n "$packages" ] || exit 0

case $manager in
apt) install="apt-get install -y --no-install-recommends" ;;
dnf) install="dnf install -y --setopt=install_weak_deps=False" ;;
none)
	echo "deps: missing here (named as in Fedora): $packages" >&2
	echo "deps: neither apt-get nor dnf is on this system: install them with what it has, then go on" >&2
	exit 1
	;;
esac
if [ "$(id -u)" -ne 0 ]; then
	echo "deps: missing: $packages" >&2
	echo "deps: run 'sudo make deps', or: sudo $install $packages" >&2
	exit 1
fi

echo "deps: installing $packages"
log=$(mktemp "${TMPDIR:-/tmp}/gpurec-deps.XXXXXX") || exit 1
trap 'rm -f "$log"' EXIT
[ $manager != apt ] || DEBIAN_FRONTEND=noninteractive apt-get update >"$log" 2>&1
packages=$(missing $manager | tr '\n' ' ') # again: a name may depend on the lists
# shellcheck disable=SC2086 # one word per package
DEBIAN_FRONTEND=noninteractive $install $packages >>"$log" 2>&1
status=$?
left=$(missing $manager | tr '\n' ' ')
if [ -n "$left" ]; then
	tail -n 15 "$log" >&2
	echo "deps: still missing: ${left% } ($install ended with status $status; is there a network?)" >&2
	exit 1
fi
