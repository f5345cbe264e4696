#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The bill of materials (SPDX 2.3, JSON) of what `make dist` made: the artifacts with their hashes, and the libraries that
# are linked in, in the versions of this machine.
#
#   sbom.sh VERSION FOLDER
set -eu

version=$1 folder=$2
stamp=$(date -u -d "@${SOURCE_DATE_EPOCH:-0}" +%Y-%m-%dT%H:%M:%SZ)

# package  Debian's name       supplier's home                          licence              purpose
libraries='
libsodium  libsodium-dev   https://libsodium.org                    ISC                  signatures,hashes
lz4        liblz4-dev      https://lz4.org                          BSD-2-Clause         compression
xxhash     libxxhash-dev   https://xxhash.com                       BSD-2-Clause         checksums
sqlite     libsqlite3-dev  https://sqlite.org                       blessing             SQL
libseccomp libseccomp-dev  https://github.com/seccomp/libseccomp    LGPL-2.1-only        confinement
libcap     libcap-dev      https://sites.google.com/site/fullycapable  BSD-3-Clause      confinement
libbpf     libbpf-dev      https://github.com/libbpf/libbpf         LGPL-2.1-only        recording
elfutils   libdw-dev       https://sourceware.org/elfutils          LGPL-3.0-or-later    recording
zlib       zlib1g-dev      https://zlib.net                         Zlib                 recording
glibc      libc6-dev       https://www.gnu.org/software/libc        LGPL-2.1-or-later    everything
'

installed_version() {
	found=$(dpkg-query -W -f='${Version}' "$1" 2>/dev/null) || found=
	[ -n "$found" ] || found=$(rpm -q --qf '%{VERSION}-%{RELEASE}' "$1" 2>/dev/null) || found=
	echo "${found:-NOASSERTION}"
}

cat <<END
{
  "spdxVersion": "SPDX-2.3",
  "dataLicense": "CC0-1.0",
  "SPDXID": "SPDXRef-DOCUMENT",
  "name": "gpurec-$version",
  "documentNamespace": "https://spdx.org/spdxdocs/gpurec-$version-$(cd "$folder" && find . -maxdepth 1 -type f \( -name '*.xz' -o -name '*.deb' \) | sort | xargs sha256sum | sha256sum | cut -c1-32)",
  "creationInfo": { "created": "$stamp", "creators": ["Tool: gpurec-make-dist-$version"] },
  "documentDescribes": ["SPDXRef-gpurec"],
  "packages": [
    { "SPDXID": "SPDXRef-gpurec", "name": "gpurec", "versionInfo": "$version", "downloadLocation": "NOASSERTION",
      "filesAnalyzed": false, "licenseConcluded": "Apache-2.0 AND GPL-2.0-only", "licenseDeclared": "Apache-2.0 AND GPL-2.0-only",
      "copyrightText": "NOASSERTION", "supplier": "Organization: The gpurec developers" }
END
echo "$libraries" | while read -r library debian home licence purpose; do
	[ -n "$library" ] || continue
	cat <<END
    ,{ "SPDXID": "SPDXRef-$library", "name": "$library", "versionInfo": "$(installed_version "$debian")",
      "downloadLocation": "$home", "filesAnalyzed": false, "licenseConcluded": "$licence", "licenseDeclared": "$licence",
      "copyrightText": "NOASSERTION", "comment": "for $purpose; linked statically into the binaries for Linux" }
END
done
echo '  ],'
echo '  "files": ['
comma=
(cd "$folder" && find . -maxdepth 1 -type f \( -name '*.xz' -o -name '*.deb' \) -printf '%P\n' | sort) | while read -r file; do
	cat <<END
    $comma{ "SPDXID": "SPDXRef-file-$(echo "$file" | tr -c 'A-Za-z0-9.\n' '-')", "fileName": "./$file", "licenseConcluded": "NOASSERTION",
      "copyrightText": "NOASSERTION", "checksums": [{ "algorithm": "SHA256", "checksumValue": "$(sha256sum "$folder/$file" | cut -d' ' -f1)" }, { "algorithm": "SHA1", "checksumValue": "$(sha1sum "$folder/$file" | cut -d' ' -f1)" }] }
END
	comma=,
done
echo '  ],'
echo '  "relationships": ['
echo '    { "spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": "SPDXRef-gpurec" }'
echo "$libraries" | while read -r library _; do
	[ -z "$library" ] ||
		echo "    ,{ \"spdxElementId\": \"SPDXRef-gpurec\", \"relationshipType\": \"STATIC_LINK\", \"relatedSpdxElement\": \"SPDXRef-$library\" }"
done
echo '  ]'
echo '}'
