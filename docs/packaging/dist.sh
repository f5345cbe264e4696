#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What is handed to those who install without a network: a source archive, static binaries, Debian packages, a bill of
# materials, and their SHA-256 sums, signed where a key is given. Called by `make dist`, in the root of the sources.
#
#   OUT=folder [SIGN=secret-key-file] [PARTS="source static arm64 deb"] docs/packaging/dist.sh
#
# The same sources and tools give the same bytes, wherever and whenever it is run: times are those of the last change of
# docs/packaging/debian/changelog (or SOURCE_DATE_EPOCH), order and owners are fixed, no path of this machine gets in.
set -euo pipefail

root=$PWD
mkdir -p "$OUT"
out=$(cd "$OUT" && pwd)
parts=" ${PARTS:-source static arm64 deb} "
version=$(sed -n 's/^.define TOOL_VERSION "\(.*\)"/\1/p' keys/tool/tool.h)
machine=$(uname -m)
changelog=docs/packaging/debian/changelog
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(date -u -d "$(sed -n 's/^ -- .*>  //p;T;q' $changelog)" +%s)}
export LC_ALL=C TZ=UTC
# Settings of the caller must not reach these builds: they would build, and clean, another folder.
unset BUILD CFLAGS CPPFLAGS LDFLAGS SAN STATIC BPF PREFIX LIBDIR DESTDIR MAKEFLAGS MAKELEVEL MFLAGS
umask 022
work=$(mktemp -d "${TMPDIR:-/tmp}/gpurec-dist.XXXXXX")
trap 'rm -rf "$work"' EXIT
name=gpurec-$version
tree=$work/$name

need() {
	command -v "$1" >/dev/null || { echo "dist: there is no $1 here: 'sh .ci/deps.sh dist' (as root) installs it" >&2; exit 1; }
}

# pack FOLDER ARCHIVE: what is below $work/FOLDER
pack() {
	tar -C "$work" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --format=gnu \
		-cf - "$1" | xz -9 -T1 >"$2"
}

# The sources as they are here, without what git ignores; in an unpacked archive, all but what was built.
copy_sources() {
	mkdir -p "$tree"
	if git rev-parse --git-dir >/dev/null 2>&1; then
		git ls-files -z | xargs -0 cp --parents -t "$tree"
	else
		tar -cf - --exclude=./build --exclude="./${out#"$root"/}" . | tar -C "$tree" -xf -
	fi
	find "$tree" -type d -exec chmod 755 {} +
	find "$tree" -type f -perm /111 -exec chmod 755 {} +
	find "$tree" -type f ! -perm /111 -exec chmod 644 {} +
}

# static_archive MACHINE STRIP MAKE-ARGUMENT...
static_archive() {
	local folder=$name-linux-$1 strip=$2 # what is built lies inside the sources: its path gets into it
	shift 2
	make -C "$tree" -s -j"$(nproc)" --no-print-directory CI=1 STATIC=1 BUILD=build PREFIX= DESTDIR="$work/$folder" "$@" \
		>"$work/static.log" 2>&1 ||
		{ tail -n 30 "$work/static.log" >&2; echo "dist: the static binaries could not be built" >&2; exit 1; }
	# What is for building against shared libraries has no place among static tools.
	rm -rf "${work:?}/$folder/lib" "$work/$folder/include"
	"$strip" --strip-all "$work/$folder"/bin/*
	rm -rf "${tree:?}/build"
	pack "$folder" "$out/$folder.tar.xz"
}

# By a cross-compiler, with libraries that are fetched: where either is not to be had, there is nothing for arm64.
build_arm64() {
	[ "$machine" != aarch64 ] || return 0
	local sysroot
	if ! command -v aarch64-linux-gnu-gcc >/dev/null; then
		echo "dist: nothing for arm64: there is no aarch64-linux-gnu-gcc here: 'sh .ci/deps.sh vm' (as root) installs it"
	elif ! sysroot=$("$tree/tests/vm/fetch.sh" sysroot arm64 2>"$work/sysroot"); then
		echo "dist: nothing for arm64: $(tail -n 1 "$work/sysroot")"
	else
		static_archive aarch64 aarch64-linux-gnu-strip GOALS="all install" arm64
		SYSROOT=$sysroot build_deb -d -a arm64
	fi
}

# build_deb OPTION...: with these options of dpkg-buildpackage
build_deb() {
	need dpkg-buildpackage
	need dh
	cp -r "$tree/docs/packaging/debian" "$tree/debian"
	(cd "$tree" && DEB_BUILD_OPTIONS="noautodbgsym parallel=$(nproc)" dpkg-buildpackage -b -us -uc -tc "$@") >"$work/deb.log" 2>&1 ||
		{ tail -n 30 "$work/deb.log" >&2; echo "dist: the Debian packages could not be built" >&2; exit 1; }
	rm -rf "$tree/debian"
	cp "$work"/*.deb "$out"
}

need xz
copy_sources
case $parts in *" source "*) pack "$name" "$out/$name.tar.xz" ;; esac
case $parts in *" static "*) static_archive "$machine" strip all install ;; esac
case $parts in *" arm64 "*) build_arm64 ;; esac
case $parts in *" deb "*) build_deb ;; esac
sh docs/packaging/sbom.sh "$version" "$out" >"$out/$name.spdx.json"
(cd "$out" && find . -maxdepth 1 -type f ! -name 'SHA256SUMS*' -printf '%P\0' | sort -z | xargs -0 sha256sum >SHA256SUMS)
if [ -n "${SIGN:-}" ]; then
	"${GPUKEY:-$root/build/gpukey}" sign -s "$SIGN" -f "$out/SHA256SUMS"
else
	echo "dist: not signed: SIGN=secret-key-file signs SHA256SUMS (gpukey sign; minisign -V checks it)"
fi
sed 's/^/  /' "$out/SHA256SUMS"
