#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What the tools read and say depends on their operands and the trust store alone: not on the environment, and not on
# how long a file's name is.
. "$(dirname "$0")/lib.sh"

here=$(cd "$(dirname "$0")/../.." && pwd) || exit 1
verify=$BUILD/gpuverify replay=$BUILD/gpureplay analyze=$BUILD/gpuanalyze gpukey=$BUILD/gpukey
cd "$TMP" || exit 1
cp "$here/tests/golden/demo.cap" run.cap && cp "$here/tests/golden/demo.pub" demo.pub && chmod u+w run.cap || exit 1
"$gpukey" trust --role record,custody --name demo demo.pub >/dev/null || exit 1
"$gpukey" generate -q -W -s carol.key >/dev/null || exit 1
"$gpukey" trust --role record,custody --name carol carol.pub >/dev/null || exit 1
"$gpukey" sign -q -s carol.key --custody recorded --name ops@node17 run.cap >/dev/null || exit 1

# Where the module is built with a sanitizer, that has to be there before all else.
sanitizer=$(ldd "$BUILD/gpucap.so" | awk '/lib[at]san|libubsan/ { print $3 }' | paste -sd:)

# A zone with a leap second of two hours, in the form of zic: a head, no changes, one kind of time, one leap second.
zone() {
	local version
	for version in 0 1; do
		printf 'TZif2\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\1\0\0\0\4\0\0\0\0\0\0UTC\0'
		[ "$version" = 0 ] || printf '\0\0\0\0'
		printf '\4\262\130\0\0\0\34\40'
	done
	printf '\nUTC0\n'
}
zone >leap
check "a zone that changes times is one for date(1)" \
	[ "$(TZ=$TMP/leap date -d @1795255106 +%T)" = 07:58:26 ]

# Everything that they say of the capture, in a folder.
everything() { # FOLDER
	mkdir "$1" || return
	"$verify" run.cap >"$1/verify" 2>&1
	"$verify" run.cap --json >"$1/verify.json" 2>&1
	"$analyze" run.cap --report >"$1/report" 2>&1
	"$analyze" -q run.cap --report="$1/report.json" 2>&1
	"$analyze" run.cap --at 2026-11-21T11:53:26Z >"$1/at" 2>&1
	"$replay" -q run.cap >"$1/text" 2>&1
	"$replay" -q run.cap --from 2026-11-21T11:53:25Z -o "$1/slice.cap" 2>&1
	for form in csv jsonl otlp.json perfetto-trace; do
		"$replay" -q run.cap -o "$1/out.$form" 2>&1
	done
	"$gpukey" list >"$1/list" 2>&1
	if command -v sqlite3 >/dev/null; then
		LD_PRELOAD=$sanitizer sqlite3 -bail :memory: ".load $BUILD/gpucap" "SELECT gpucap_open('run.cap')" \
			"SELECT * FROM run.capture" "SELECT * FROM run.epochs" >"$1/module" 2>&1
	fi
	return 0
}
same() { # FOLDER
	diff -rq plain "$1" || { diff -r plain "$1" | head -n 20; return 1; }
}
check "in a plain environment" everything plain
check "there is something to compare" [ "$(cat plain/* | wc -c)" -gt 1000000 ]
command -v sqlite3 >/dev/null || skip "the SQLite module" "no sqlite3 here"
check "and times in it" grep -q '2026-11-21 11:53:24 UTC' plain/verify
n=0
for set in "TZ=$TMP/leap" TZ=America/St_Johns "TZ=:$TMP/leap" "LC_ALL= LC_CTYPE=C.UTF-8 LC_NUMERIC=de_DE.UTF-8 LC_TIME=de_DE.UTF-8 LANG=tr_TR.UTF-8 LANGUAGE=de" POSIXLY_CORRECT=1 \
	"COLUMNS=20 LINES=5 TERM=xterm" "TMPDIR=/nonexistent SQLITE_TMPDIR=/nonexistent" "HOME=/nonexistent XDG_CONFIG_HOME=/nonexistent" \
	"SUDO_UID=65534 SUDO_USER=nobody LOGNAME=x USER=x HOSTNAME=x"; do
	n=$((n + 1))
	# Each is a list of words.
	check "with $set" env $set bash -c "$(declare -f everything); verify=$verify replay=$replay analyze=$analyze gpukey=$gpukey BUILD=$BUILD sanitizer='$sanitizer'; everything other$n"
	check "they say the same" same "other$n"
done

# A name to which nothing can be added: no file is beside it.
long=$(printf 'n%.0s' {1..251}).cap
cp run.cap "$long"
check_exit 0 "a capture may have the longest name that there is" "$verify" "$long"
check "it is as authentic as by any other" grep -q '^  signed by  A4C9D21FFE794699 (demo), trusted here' out
check "and has no custody beside it" eval '! grep -q custody out'
check_exit 0 "it is replayed" "$replay" -q "$long"
check_exit 0 "and analysed" "$analyze" -q "$long"
check_exit 3 "a signature beside it cannot be made" "$gpukey" sign -q -s carol.key "$long"
check_says 'File name too long' "for that reason"
check_exit 0 "it can elsewhere" "$gpukey" sign -q -s carol.key -o elsewhere "$long"
check_exit 0 "and is checked there" "$gpukey" check --signature elsewhere "$long"
for length in 240 247 252; do
	check_exit 0 "a database of $length letters" "$replay" -q run.cap -o "$(printf 'd%.0s' $(seq "$length")).db"
done
finish
