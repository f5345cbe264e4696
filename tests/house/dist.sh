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
	(cd "$1" && OUT="$2" SIGN="${3:-}" GPUKEY="$gpukey" docs/packaging/dist.sh) </dev/null | tee "$TMP/said"
	return "${PIPESTATUS[0]}"
}
# With what is fetched for arm64 in another folder, too.
again() {
	mkdir -p "$TMP/another/cache/apt"
	cp -al "$GPUREC_VM_CACHE"/libraries-arm64-* "$TMP/another/cache" 2>/dev/null &&
		cp -a "$GPUREC_VM_CACHE/apt/arm64-bookworm" "$TMP/another/cache/apt"
	GPUREC_VM_CACHE=$TMP/another/cache dist "$two" "$TMP/dist-two"
}
gpukey=$(cd "$BUILD" && pwd)/gpukey
one=$TMP/one two=$TMP/some/where/else/two
copy "$one"
copy "$two"
"$gpukey" generate -W -s "$TMP/release.key" -p "$TMP/release.pub" >/dev/null 2>&1 || exit 1
check "make dist makes everything" dist "$one" "$TMP/dist-one" "$TMP/release.key"
cp "$TMP/said" "$TMP/said.one"
check "and again in another folder" again
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

debian_here=$(dpkg --print-architecture)

# Static binaries.
static=$(echo gpurec-*-linux-"$(uname -m)".tar.xz)
tar -C "$TMP" -xf "$static" || exit 1
bin=$TMP/${static%.tar.xz}/bin
for tool in gpurec gpuverify gpureplay gpuanalyze gpukey; do
	check "$tool needs no library" sh -c '! readelf -d "$1" | grep -q NEEDED && ! readelf -l "$1" | grep -q INTERP' sh "$bin/$tool"
	check "$tool runs where there is nothing else" sh -c 'mkdir -p "$1/empty" && cp "$2/$3" "$1/empty" && if [ "$(id -u)" = 0 ]; then
		chroot "$1/empty" "/$3" --version; else "$1/empty/$3" --version; fi' sh "$TMP" "$bin" "$tool"
done
golden=$one/tests/golden
check_exit 0 "the static gpuverify verifies" "$bin/gpuverify" --trust "$golden/demo.pub" "$golden/demo.cap"

# Those for arm64, of another machine.
without=$(sed -n 's/^dist: nothing for arm64: //p' "$TMP/said.one")
if [ "$(uname -m)" = aarch64 ] || [ -n "$without" ]; then
	skip "static binaries and packages for arm64" "${without:-they are those of this machine}"
else
	for_arm64() {
		tar -C "$TMP" -xf gpurec-*-linux-aarch64.tar.xz || return
		for tool in gpurec gpuverify gpureplay gpuanalyze gpukey; do
			readelf -h "$TMP"/gpurec-*-linux-aarch64/bin/$tool | grep -q 'Machine: *AArch64' || { echo "$tool"; return 1; }
			! readelf -ld "$TMP"/gpurec-*-linux-aarch64/bin/$tool | grep -E 'NEEDED|INTERP' || return
		done
	}
	check "static binaries for arm64 need no library" for_arm64
	check "beside them lies what lies beside the others" diff <(cd "$TMP/${static%.tar.xz}" && find . | sort) \
		<(cd "$TMP"/gpurec-*-linux-aarch64 && find . | sort)
	# contents DEB: what lies in it, and by name what it depends on, without the machine
	contents() {
		dpkg-deb --fsys-tarfile "$1" | tar -t | sed "s/$(dpkg-architecture -q DEB_HOST_MULTIARCH)\|aarch64-linux-gnu/MACHINE/" | sort
		dpkg-deb -f "$1" Depends | tr , '\n' | sed 's/^ *//; s/ (.*//' | sort -u
	}
	packages_for_arm64() {
		local deb
		for deb in *_"$debian_here".deb; do
			[ "$(dpkg-deb -f "${deb%_*}_arm64.deb" Architecture)" = arm64 ] || return
			diff <(contents "$deb") <(contents "${deb%_*}_arm64.deb") || return
		done
		dpkg-deb --fsys-tarfile gpurec_*_arm64.deb | tar -xO ./usr/bin/gpurec >"$TMP/packed"
		readelf -h "$TMP/packed" | grep 'Machine: *AArch64'
	}
	check "packages for arm64 have the same contents, and depend on the same packages" packages_for_arm64
fi

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
# The release before, which had a file that this one has no longer, and an old document.
older() {
	local deb dir version
	mkdir "$TMP/older"
	for deb in *_"$debian_here".deb; do
		dir=$TMP/unpacked/$deb
		mkdir -p "$TMP/unpacked"
		dpkg-deb -R "$deb" "$dir" || return 1
		version=$(dpkg-deb -f "$deb" Version)
		sed -i "s/${version//./\\.}/0.0.9/" "$dir/DEBIAN/control"
		if [ -d "$dir/usr/share/doc/gpurec" ]; then
			echo "of 0.0.9" >"$dir/usr/share/doc/gpurec/GONE.md"
			echo "of 0.0.9" >"$dir/usr/share/doc/gpurec/README.md"
		fi
		dpkg-deb --root-owner-group -b "$dir" "$TMP/older/" >/dev/null || return 1
	done
}
versions() {
	dpkg-query --admindir="$root/var/lib/dpkg" -f '${Version} ${Status}\n' -W gpurec libgpucap1 libgpucap-dev | sort -u
}
check "packages of a release before are made" older
check "they install in an empty root" admin -i "$TMP"/older/*.deb
check "and are that release's" [ "$(versions)" = "0.0.9 install ok installed" ]
check "the packages install over them" admin -i ./*_"$debian_here".deb
check "all are this release's then" [ "$(versions)" = "$(dpkg-deb -f gpurec_*_"$debian_here".deb Version) install ok installed" ]
check "a file that the release before had is gone" [ ! -e "$root/usr/share/doc/gpurec/GONE.md" ]
check "a file that both have is this release's" sh -c '! grep -q "of 0.0.9" "$1"' sh "$root/usr/share/doc/gpurec/README.md"
check "the tools are there" [ "$(installed | grep -c '^usr/bin/gpu')" -eq 5 ]
for tool in gpuverify gpureplay gpuanalyze gpukey gpurec; do
	check "the packed $tool runs" "$root/usr/bin/$tool" --version
done
check "with their manual pages" [ "$(installed | grep -cE '^usr/share/man/man[157]/(gpu[a-z]+|gpurec-[a-z]+)\.[157]\.gz$')" -eq 8 ]
# Pages that were installed lead to pages that were installed.
links() {
	local page target broken=0
	for page in "$root"/usr/share/doc/gpurec/*.md; do
		while read -r target; do
			[ -e "${page%/*}/${target%%#*}" ] || { echo "${page##*/}: $target"; broken=1; }
		done < <(grep -oE '\]\([^)#][^)]*\)' "$page" | sed 's/^](//; s/)$//' | grep -v '^[a-z]*://')
	done
	[ -e "$root/usr/share/doc/gpurec/README.md" ] && return $broken
}
check "links of the installed pages lead somewhere" links
check "what they tell to copy is there" [ "$(installed | grep -cE '^usr/share/doc/gpurec/(deploy/(daemonset|sidecar)\.yaml|deploy/slurm-(pro|epi)log\.sh|systemd/gpurec\.service|examples/slowest\.c)$')" -eq 6 ]
check "they are purged" admin -P gpurec libgpucap-dev libgpucap1
check "and nothing is left" [ -z "$(installed)" ]

# The bill of materials.
sbom=$(echo gpurec-*.spdx.json)
check "the bill of materials is JSON" sh -c 'sqlite3 :memory: "SELECT json_valid(readfile(\"$1\"))" | grep -qx 1' sh "$sbom"
named() {
	sqlite3 :memory: "SELECT json_extract(value, '\$.name') || ' ' || json_extract(value, '\$.versionInfo') FROM json_each(readfile('$sbom'), '\$.packages')"
}
for library in libsodium lz4 xxhash sqlite libseccomp libcap libbpf elfutils zlib glibc; do
	check "it names $library and its version" sh -c 'echo "$1" | grep -qE "^$2 [0-9].+"' sh "$(named)" $library
done
hashes() {
	sqlite3 :memory: "SELECT json_extract(value, '\$.checksums[0].checksumValue') || '  ' || substr(json_extract(value, '\$.fileName'), 3) FROM json_each(readfile('$sbom'), '\$.files')" |
		sort | diff - <(grep -v spdx SHA256SUMS | sort)
}
check "its hashes are those of the files" hashes
finish
