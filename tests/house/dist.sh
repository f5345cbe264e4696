#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What `make dist` hands out: the same bytes from two folders, static binaries that run without any library, packages that
# satisfy lintian, install, upgrade, and go away again without a trace, a bill of materials, sums that stock tools check.
# shellcheck source-path=SCRIPTDIR/../cli
. "$(dirname "$0")/../cli/lib.sh"
cd "$(dirname "$0")/../.." || exit 1

for tool in dpkg-buildpackage dh xz strip; do
	command -v $tool >/dev/null || { skip "what make dist hands out" "$tool is not installed"; finish; }
done
if [ "${BPF:-1}" = 0 ]; then
	skip "what make dist hands out" "the build is without BPF"
	finish
fi

# Two copies of the sources, far from each other.
copy() {
	mkdir -p "$1"
	if git rev-parse --git-dir >/dev/null 2>&1; then
		git ls-files -z | xargs -0 cp --parents -t "$1"
	else
		tar -cf - --exclude=./build . | tar -C "$1" -xf -
	fi
}
dist() {
	(cd "$1" && OUT="$2" SIGN="${3:-}" GPUKEY="$gpukey" docs/packaging/dist.sh) </dev/null
}
gpukey=$(cd "$BUILD" && pwd)/gpukey
one=$TMP/one two=$TMP/some/where/else/two
copy "$one"
copy "$two"
"$gpukey" generate -W -s "$TMP/release.key" -p "$TMP/release.pub" >/dev/null 2>&1 || exit 1
check "make dist makes everything" dist "$one" "$TMP/dist-one" "$TMP/release.key"
check "and again in another folder" dist "$two" "$TMP/dist-two"
same() {
	diff "$TMP/dist-one/SHA256SUMS" "$TMP/dist-two/SHA256SUMS"
}
check "both times the same bytes" same
cd "$TMP/dist-one" || exit 1
check "sha256sum accepts the sums" sha256sum --quiet -c SHA256SUMS
check "they cover every file" [ "$(wc -l <SHA256SUMS)" -eq "$(find . -type f ! -name 'SHA256SUMS*' | wc -l)" ]
if command -v minisign >/dev/null; then
	check "minisign accepts their signature" minisign -V -q -p "$TMP/release.pub" -m SHA256SUMS
else
	skip "minisign accepts their signature" "minisign is not installed"
fi

# Static binaries.
static=$(echo gpurec-*-linux-*.tar.xz)
tar -C "$TMP" -xf "$static" || exit 1
bin=$TMP/${static%.tar.xz}/bin
for tool in gpurec gpuverify gpureplay gpuanalyze gpukey; do
	check "$tool needs no library" sh -c '! readelf -d "$1" | grep -q NEEDED && ! readelf -l "$1" | grep -q INTERP' sh "$bin/$tool"
	check "$tool runs where there is nothing else" sh -c 'mkdir -p "$1/empty" && cp "$2/$3" "$1/empty" && if [ "$(id -u)" = 0 ]; then
		chroot "$1/empty" "/$3" --version; else "$1/empty/$3" --version; fi' sh "$TMP" "$bin" "$tool"
done
golden=$one/tests/golden
check_exit 0 "the static gpuverify verifies" "$bin/gpuverify" --trust "$golden/demo.pub" "$golden/demo.cap"

# Packages.
if command -v lintian >/dev/null; then
	quiet_lintian() {
		local said
		said=$(lintian --allow-root "$@" 2>&1) || { echo "$said"; return 1; }
		[ -z "$said" ] || { echo "$said"; return 1; }
	}
	check "lintian finds nothing in the packages" quiet_lintian ./*.deb
else
	skip "lintian finds nothing in the packages" "lintian is not installed"
fi
root=$TMP/root
admin() {
	dpkg --root="$root" --force-depends --force-not-root --force-script-chrootless --log="$TMP/dpkg.log" "$@"
}
installed() {
	(cd "$root" && find . -path ./var/lib/dpkg -prune -o \( -type f -o -type l \) -printf '%P\n' | sort)
}
mkdir -p "$root/var/lib/dpkg/info" "$root/var/lib/dpkg/updates" "$root/var/lib/dpkg/triggers"
: >"$root/var/lib/dpkg/status"
check "the packages install in an empty root" admin -i ./*.deb
check "the tools are there" [ "$(installed | grep -c '^usr/bin/gpu')" -eq 5 ]
for tool in gpuverify gpureplay gpuanalyze gpukey gpurec; do
	check "the packed $tool runs" "$root/usr/bin/$tool" --version
done
check "with their manual pages" [ "$(installed | grep -cE '^usr/share/man/man[157]/(gpu[a-z]+|gpurec-[a-z]+)\.[157]\.gz$')" -eq 8 ]
check "the same can be installed over it, as an upgrade is" admin -i ./*.deb
check "they are purged" admin -P gpurec libgpucap-dev libgpucap1
check "and nothing is left" [ -z "$(installed)" ]

# The bill of materials.
sbom=$(echo gpurec-*.spdx.json)
check "the bill of materials is JSON" sh -c 'sqlite3 :memory: "SELECT json_valid(readfile(\"$1\"))" | grep -qx 1' sh "$sbom"
named() {
	sqlite3 :memory: "SELECT json_extract(value, '\$.name') || ' ' || json_extract(value, '\$.versionInfo') FROM json_each(readfile('$sbom'), '\$.packages')"
}
for library in libsodium lz4 sqlite libseccomp libcap libbpf elfutils zlib glibc; do
	check "it names $library and its version" sh -c 'echo "$1" | grep -qE "^$2 [0-9].+"' sh "$(named)" $library
done
hashes() {
	sqlite3 :memory: "SELECT json_extract(value, '\$.checksums[0].checksumValue') || '  ' || substr(json_extract(value, '\$.fileName'), 3) FROM json_each(readfile('$sbom'), '\$.files')" |
		sort | diff - <(grep -v spdx SHA256SUMS | sort)
}
check "its hashes are those of the files" hashes
finish
