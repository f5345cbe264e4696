#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Fetches from Debian's archive, and kernels from Ubuntu's, what guests are made of. apt checks signatures and sums; nothing is
# installed, and neither the system's package lists nor its architectures are touched. Prints the path of what was asked for.
#
#   tests/vm/fetch.sh kernel NAME     a row of kernels.txt: a folder with a vmlinuz and lib/modules/
#   tests/vm/fetch.sh root ARCH       the programs of a guest, as a folder, with the files of PACKAGES_GUEST below
#   tests/vm/fetch.sh sysroot ARCH    headers and libraries to build for ARCH with a cross-compiler
#   tests/vm/fetch.sh busybox ARCH    a static busybox for the initial RAM disk
#
# Everything stays in $GPUREC_VM_CACHE (default: ~/.cache/gpurec-vm), by package version, and is not fetched again.
# Package lists are refreshed once a day; without a network the last ones are used.
# Exit status: 0; 3 when the archive cannot be reached and the cache does not have it; 1 for all else.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
cache=${GPUREC_VM_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/gpurec-vm}
mkdir -p "$cache"
cache=$(cd "$cache" && pwd)
export LC_ALL=C DEBIAN_FRONTEND=noninteractive

# A guest has what the tests in it call, beside what these packages depend on.
PACKAGES_GUEST="base-files base-passwd bash coreutils dash debianutils diffutils findutils gawk grep gzip hostname iproute2
	kmod libc-bin login lz4 minisign mount ncurses-base passwd procps psmisc python3 sed sqlite3 strace tar util-linux
	util-linux-extra bsdutils xz-utils
	libbpf1 libcap2 libcap2-bin libcmocka0 libdw1 libelf1 liblz4-1 libseccomp2 libsodium23 libsqlite3-0 libxxhash0 zlib1g"
PACKAGES_SYSROOT="libc6-dev linux-libc-dev libgcc-12-dev libbpf-dev libcap-dev libcmocka-dev libdw-dev libelf-dev liblz4-dev
	libseccomp-dev libsodium-dev libsqlite3-dev libxxhash-dev zlib1g-dev"

die() {
	echo "fetch: $2" >&2
	exit "$1"
}

# apt_with ARCH SUITE COMMAND ARG...: apt with lists, cache and (empty) status of its own
apt_with() {
	local arch=$1 suite=$2 command=$3 state=$cache/apt/$1-$2
	shift 3
	[[ $suite != *-backports ]] || set -- -o APT::Default-Release="$suite" "$@"
	"$command" -q \
		-o Dir::State="$state" -o Dir::State::Lists="$state/lists" -o Dir::State::status="$state/status" \
		-o Dir::Cache="$state/cache" -o Dir::Etc::SourceList="$state/sources.list" -o Dir::Etc::SourceParts=/dev/null \
		-o Dir::Etc::Preferences=/dev/null -o Dir::Etc::PreferencesParts=/dev/null -o Debug::NoLocking=1 \
		-o APT::Architecture="$arch" -o APT::Architectures="$arch" -o APT::Install-Recommends=0 \
		-o Acquire::Languages=none -o Acquire::Retries=2 -o APT::Sandbox::User="$(id -un)" "$@"
}

# The mirror that this system uses, if it is a Debian, or the one for everybody.
mirror() {
	local uri
	uri=$(sed -n 's/^URIs: *\([^ ]*\).*/\1/p; s/^deb \(\[[^]]*\] \)\?\([^ ]*\) .*/\2/p' \
		/etc/apt/sources.list /etc/apt/sources.list.d/*.sources /etc/apt/sources.list.d/*.list 2>/dev/null |
		grep -E '/debian/?$' | head -n 1) || :
	echo "${GPUREC_VM_MIRROR:-${uri:-http://deb.debian.org/debian}}"
}

# sources ARCH SUITE: lines for apt
sources() {
	local url keys=/usr/share/keyrings/debian-archive-keyring.gpg suite
	case $2 in
	jammy | noble | resolute)
		keys=$(ubuntu_keys)
		url=${GPUREC_VM_UBUNTU:-http://archive.ubuntu.com/ubuntu}
		for suite in "$2" "$2-updates" "$2-security"; do echo "deb [signed-by=$keys] $url $suite main"; done
		return
		;;
	esac
	[ -r $keys ] || die 3 "there is no $keys, by which Debian's archive is known: install debian-archive-keyring"
	url=$(mirror)
	echo "deb [signed-by=$keys] $url $2 main"
	case $2 in
	sid | experimental) ;;
	*-backports) sources "$1" "${2%-backports}" ;;
	*) echo "deb [signed-by=$keys] ${url%/debian*}/debian-security $2-security main" ;;
	esac
}

# The keys of Ubuntu's archive: this system's own, or those that Debian vouches for.
ubuntu_keys() {
	local keys=usr/share/keyrings/ubuntu-archive-keyring.gpg folder=
	if [ ! -r /$keys ]; then
		lists amd64 trixie
		folder=$(closure amd64 trixie ubuntu-keyring | grep '^ubuntu-' | keep ubuntu-keys amd64 trixie)
	fi
	echo "$folder/$keys"
}

# lists ARCH SUITE: package lists, a day old at most where there is a network
lists() {
	local state=$cache/apt/$1-$2 lines
	lines=$(sources "$1" "$2")
	mkdir -p "$state/lists/partial" "$state/cache/archives/partial"
	: >"$state/status"
	echo "$lines" >"$state/sources.list"
	[ -z "$(find "$state/fresh" -mtime -1 2>/dev/null)" ] || return 0
	if apt_with "$1" "$2" apt-get update --error-on=any >"$state/log" 2>&1; then
		touch "$state/fresh"
	elif [ -e "$state/fresh" ]; then
		echo "fetch: lists of $2 for $1 could not be refreshed: those of $(date -r "$state/fresh" -I) are used" >&2
	else
		die 3 "package lists cannot be fetched: $(grep -E '^(E|W|Err)' "$state/log" | head -n 1)"
	fi
}

# closure ARCH SUITE PACKAGE...: "NAME VERSION" of these packages and of all that they depend on
closure() {
	local arch=$1 suite=$2
	shift 2
	apt_with "$arch" "$suite" apt-get -s install "$@" 2>"$cache/apt/$arch-$suite/log" |
		sed -n 's/^Inst \([^ :]*\)[^(]*(\([^ ]*\) .*/\1 \2/p' | sort -u
	[ "${PIPESTATUS[0]}" -eq 0 ] || die 1 "$(grep -m 1 ^E "$cache/apt/$arch-$suite/log" || echo "apt cannot resolve $*")"
}

# unpack ARCH SUITE FOLDER: packages "NAME VERSION" of stdin, below FOLDER, which is there only when all are
unpack() {
	local arch=$1 suite=$2 folder=$3 debs deb name packages target
	packages=$(tr ' ' =)
	debs=$(mktemp -d "$cache/debs.XXXXXX")
	# shellcheck disable=SC2086 # one word per package
	(cd "$debs" && apt_with "$arch" "$suite" apt-get download $packages) >"$cache/apt/$arch-$suite/log" 2>&1 || {
		rm -rf "$debs"
		die 3 "packages cannot be fetched: $(grep -E '^(E|W|Err)' "$cache/apt/$arch-$suite/log" | head -n 1)"
	}
	rm -rf "$folder.part"
	# As every Debian of today: what is meant for /bin, /lib, ... lies in /usr.
	for name in bin sbin lib lib64; do
		mkdir -p "$folder.part/usr/$name"
		ln -s "usr/$name" "$folder.part/$name"
	done
	mkdir "$folder.part/DEBIAN" # of which package a library is, for dpkg-shlibdeps -S
	for deb in "$debs"/*.deb; do
		dpkg-deb --fsys-tarfile "$deb" | tar -x --keep-directory-symlink -C "$folder.part"
		for name in symbols shlibs; do # most have neither
			dpkg-deb --ctrl-tarfile "$deb" | tar -xO ./$name >>"$folder.part/DEBIAN/$name" 2>/dev/null || :
		done
	done
	rm -rf "$debs"
	# A link to /lib is one to this folder's, not to the system's.
	find "$folder.part" -type l -lname '/*' -printf '%p\0%l\0' | while IFS= read -r -d '' name && IFS= read -r -d '' target; do
		ln -sfnr "$folder.part$target" "$name"
	done
	tr ' ' '\n' <<<"$packages" >"$folder.part/packages"
	mv "$folder.part" "$folder"
}

# keep KIND ARCH SUITE: the folder of the packages on stdin; KIND is the part of its name that people read
keep() {
	local kind=$1 arch=$2 suite=$3 list folder
	list=$(cat)
	[ -n "$list" ] || die 1 "there is nothing to fetch for $kind"
	folder=$cache/$kind-$(sha256sum <<<"$list" | cut -c 1-12)
	[ -d "$folder" ] || unpack "$arch" "$suite" "$folder" <<<"$list"
	echo "$folder"
}

get_kernel() {
	local name=$1 arch suite package
	read -r arch suite package < <(awk -v name="$name" '$1 == name { print $2, $3, $4 }' "$here/kernels.txt") ||
		die 1 "kernels.txt has no kernel '$name'"
	lists "$arch" "$suite"
	closure "$arch" "$suite" "$package" | grep -E '^linux-(image|binary|modules)-[0-9]' |
		keep "kernel-$name" "$arch" "$suite"
}

get_packages() {
	local kind=$1 arch=$2
	shift 2
	lists "$arch" bookworm
	closure "$arch" bookworm "$@" | keep "$kind-$arch" "$arch" bookworm
}

exec 9>"$cache/lock"
flock 9
# shellcheck disable=SC2086 # one word per package
case ${1:-}:${2:-} in
kernel:?*) get_kernel "$2" ;;
root:amd64 | root:arm64) get_packages root "$2" $PACKAGES_GUEST ;;
sysroot:amd64 | sysroot:arm64) get_packages libraries "$2" $PACKAGES_SYSROOT ;;
busybox:amd64 | busybox:arm64) get_packages busybox "$2" busybox-static ;;
*) die 1 "usage: fetch.sh kernel NAME | root ARCH | sysroot ARCH | busybox ARCH" ;;
esac
