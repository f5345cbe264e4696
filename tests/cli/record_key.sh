#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# gpurec with a key that has a passphrase: from a descriptor, at a terminal, and never in the command's hands.
. "$(dirname "$0")/lib.sh"
gpurec=$BUILD/gpurec
cd "$TMP" || exit 1
passphrase="correct horse battery"

check_exit 2 "a descriptor of x is a usage error" "$gpurec" -o run.cap --passphrase-fd x -d 100ms
check_exit 2 "so is one that is not open" "$gpurec" -o run.cap --passphrase-fd 9 -d 100ms
check_says "there is no descriptor 9" "which is told"
check_exit 2 "standard input would be the command's, too" "$gpurec" -o run.cap --passphrase-fd 0 -- true <<<"$passphrase"
check_says "COMMAND would inherit descriptor 0" "which is told"

if ! "$gpurec" --check -o run.cap >check 2>&1; then
	skip "real recordings with a passphrase" "$(grep -m1 '^no' check)"
	finish
fi
check_exit 0 "a key with a passphrase" locked_key locked.key "$passphrase"
check_exit 0 "records with it from a descriptor" \
	"$gpurec" -q --key locked.key --passphrase-fd 0 -o run.cap -d 100ms <<<"$passphrase"
check_exit 0 "and the capture is signed by that key" "$BUILD/gpuverify" --trust locked.pub run.cap
check_exit 0 "a command does not get the descriptor" "$gpurec" -q --key locked.key --passphrase-fd 7 -o two.cap -- \
	sh -c '[ ! -e /proc/self/fd/7 ]' 7<<<"$passphrase"
check_exit 0 "and its capture is signed, too" "$BUILD/gpuverify" --trust locked.pub two.cap
check_exit 3 "a wrong passphrase ends it" "$gpurec" --key locked.key --passphrase-fd 3 -o no.cap -d 100ms 3<<<"wrong"
check_says "locked\.key: wrong passphrase" "and is told"
check_exit 3 "without descriptor and terminal it cannot be asked" setsid -w "$gpurec" --key locked.key -o no.cap -d 100ms
check_says "no terminal to ask on" "which is told"
check "neither leaves a capture" test ! -e no.cap
finish
