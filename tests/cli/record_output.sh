#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The output is removed, renamed or replaced while it is written: that ends the recording, and its exit status says so.
. "$(dirname "$0")/lib.sh"
gpurec=$BUILD/gpurec
cap=$TMP/dir/run.cap
mkdir "$TMP/dir"

if ! "$gpurec" --check -o "$TMP/x.cap" >"$TMP/check" 2>&1; then
	skip "real recordings" "$(grep -m1 '^no' "$TMP/check")"
	finish
fi

# meanwhile SENTENCE COMMAND ARG...: it runs once there is a capture; gpurec ends by itself, with 3 (60 s do not pass)
meanwhile() {
	local sentence=$1 pid
	shift
	rm -rf "$TMP/dir"/*
	"$gpurec" -o "$cap" -d 60s 2>"$TMP/said" &
	pid=$!
	until_true test -s "$cap"
	"$@"
	check_exit 3 "$sentence" wait "$pid"
	cp "$TMP/said" "$TMP/err"
}

meanwhile "an output that is removed ends the recording" rm "$cap"
check_says 'run.cap was removed while it was recorded; recording ended' "which is said"
check "and not that it was signed" sh -c '! grep -q "signed by" "$1"' sh "$TMP/err"

meanwhile "so does one that is renamed" mv "$cap" "$TMP/dir/moved.cap"
check_says 'run.cap was renamed while it was recorded' "which is said"
check_exit 0 "under its other name it is whole" "$BUILD/gpuverify" "$TMP/dir/moved.cap"
check_prints 'the output was removed or renamed' "and tells why it ended"

replace() {
	mv "$cap" "$TMP/dir/moved.cap"
	printf 'another\n' >"$cap"
}
meanwhile "so does one in whose place another file is put" replace
check_says 'run.cap was renamed .*another file has its name' "which is said"
check "the other file is untouched" grep -qx another "$cap"

check_exit 3 "the command's exit status does not hide it" \
	"$gpurec" -q -o "$TMP/cmd.cap" -- sh -c 'while [ ! -s "$1" ]; do sleep 0.05; done; rm "$1"; exec sleep 60' sh "$TMP/cmd.cap"
check_says 'cmd.cap was removed' "nor do -q and COMMAND"

finish
