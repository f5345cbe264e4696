#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Somebody who may write to a folder above the keys puts his own in their place: nothing of his is trusted or signed with.
. "$(dirname "$0")/lib.sh"
stranger=65534
gpukey=$BUILD/gpukey
mkcap=$BUILD/tests/mkcap

if [ "$(id -u)" != 0 ] || ! command -v setpriv >/dev/null; then
	skip "keys that another user put there" "being two users takes root and setpriv"
	finish
fi
chmod 755 "$TMP"
mkdir -m 755 "$TMP/shared" "$TMP/bin"
cp "$gpukey" "$TMP/bin"
export GPUREC_HOME=$TMP/shared/home
as_stranger() { setpriv --reuid $stranger --regid $stranger --clear-groups "$@"; }
# What the stranger brings along: a key of his own, and a capture that it signed.
install -d -o $stranger -g $stranger "$TMP/his"
printf '%s\n' 'process at=+0s pid=7 start=1s name=forged' 'epoch +1s' 'end duration' >"$TMP/script"
"$mkcap" -o "$TMP/forged.cap" --pub "$TMP/his/own.pub" "$TMP/script" || exit 1
GPUREC_HOME=$TMP/his as_stranger "$TMP/bin/gpukey" generate -W -s "$TMP/his/own.key" -p "$TMP/his/other.pub" >"$TMP/out" || exit 1

check "the host has a key" "$gpukey" generate -W
check_exit 6 "the forged capture is not trusted" "$BUILD/gpuverify" "$TMP/forged.cap"
check_exit 0 "the host's key signs" "$gpukey" sign "$TMP/script"
rm -f "$TMP/script.minisig"

chmod 777 "$TMP/shared"
swap_home() {
	cd "$TMP/shared" && as_stranger sh -c 'mv home .old && mkdir -m 755 home home/trust && cp ../his/own.pub home/trust/node17.pub &&
		cp ../his/own.key home/host.key && chmod 600 home/host.key'
}
check "where anybody may write above, the stranger puts his own folder there" swap_home
check_exit 3 "what he put there is not trusted" "$BUILD/gpuverify" "$TMP/forged.cap"
check_says "shared: anybody can change what is trusted here; run: chmod go-w $TMP/shared" "and who can change it is said"
check_exit 3 "nor signed with" "$gpukey" sign "$TMP/script"
check_says 'shared: anybody can change this secret key; run: chmod go-w ' "and that is said"
chmod 755 "$TMP/shared"
check_exit 3 "once the folder is closed, his are still his" "$BUILD/gpuverify" "$TMP/forged.cap"
check_says "shared/home: user $stranger owns it and can change what is trusted here; run: chown 0 " "and that is said, too"
check_exit 3 "and so is his key" "$gpukey" sign "$TMP/script"
check_exit 3 "no key is made where others could replace it" env GPUREC_HOME="$TMP/shared/home/new" "$gpukey" generate -W
chmod 1777 "$TMP/shared"
rm -rf "$TMP/shared/home"
mv "$TMP/shared/.old" "$TMP/shared/home"
check_exit 6 "in a sticky folder, as /tmp is, the host's own are read again" "$BUILD/gpuverify" "$TMP/forged.cap"
check_exit 0 "and signed with" "$gpukey" sign "$TMP/script"
chgrp $stranger "$TMP/shared/home/trust" && chmod 2775 "$TMP/shared/home/trust"
check_exit 3 "but not what a group may write to" "$BUILD/gpuverify" "$TMP/forged.cap"
check_says 'shared/home/trust: its group can change what is trusted here; run: chmod g-w ' "which is said as well"
finish
