#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Captures that a released recorder made, of format version 1.0: every later version must read them as it did then.
#
# series.cap: of format 1.1, the second capture of a rotation with a challenge, from series.script by tests/tools/mkcap.c.
# demo.cap: the workload's three faults. lossy.cap: a flood into a tiny ring. redacted.cap: demo.cap without names, paths
# and host. demo.pub: who signed them. Beside each stands what was said of it; BLESS=1 writes that anew, to be looked at.
. "$(dirname "$0")/lib.sh"
golden=$(cd "$(dirname "$0")/../golden" && pwd) || exit 1
cd "$golden" || exit 1

# said NAME COMMAND...: prints what it did when NAME was written
said() {
	local expected=$1
	shift
	"$@" >"$TMP/now" 2>"$TMP/err" || { cat "$TMP/err"; return 1; }
	[ -z "${BLESS:-}" ] || cp "$TMP/now" "$expected" || return
	diff -u "$expected" "$TMP/now"
}

counts() {
	rm -f "$TMP/view.db"
	"$BUILD/gpureplay" -q "$1" -o "$TMP/view.db" >&2 &&
		sqlite3 -readonly "$TMP/view.db" "SELECT name, rows, recorded, absent FROM kind_counts;
			SELECT probe, cause, num FROM lost; SELECT name, num, total_ns, max_ns FROM call_summary;
			SELECT class, count(*) FROM withheld GROUP BY class"
}

# What a reader sees of every event, as one number.
events() {
	"$BUILD/gpureplay" -q "$1" --json | cksum
}

check_exit 6 "a golden capture's signer is a stranger at first" "$BUILD/gpuverify" demo.cap
check "its key is trusted" "$BUILD/gpukey" trust demo.pub --name demo
check "and that of the one of format 1.1" "$BUILD/gpukey" trust series.pub --name series
for name in demo lossy redacted series; do
	check "$name.cap is judged as it was" said "$name.verify" "$BUILD/gpuverify" "$name.cap"
	check "$name.cap gives the same counts" said "$name.counts" counts "$name.cap"
	check "$name.cap gives the same events" said "$name.events" events "$name.cap"
	check "stock lz4 reads $name.cap" lz4 -tq "$name.cap"
done
check "demo.cap is explained as it was" said demo.report.json "$BUILD/gpuanalyze" -q demo.cap --json
check "and rightly" "$BUILD/tests/score" demo.truth.json demo.report.json
check_exit 7 "a capture that lost events is not complete" "$BUILD/gpuverify" -q --require-complete lossy.cap
check_prints '^OK lossy.cap: 1922 of 2675 events \(71\.9 %\) were lost$' "and the first line says how many"
check_exit 0 "a limit may allow that" "$BUILD/gpuverify" -q --max-lost=72% lossy.cap
check_exit 0 "one that lost nothing is complete" "$BUILD/gpuverify" -q --require-complete demo.cap
check_exit 7 "what is withheld is not complete" "$BUILD/gpuverify" --require-complete redacted.cap

# Their forged twins.
size=$(stat -c %s demo.cap)
not_authentic() { # FILE: FORGED or MALFORMED
	"$BUILD/gpuverify" "$1" >"$TMP/said" 2>&1
	case $? in
	1) grep -q '^FORGED ' "$TMP/said" ;;
	4) grep -q '^MALFORMED ' "$TMP/said" ;;
	*) cat "$TMP/said"; return 1 ;;
	esac
}
for i in $(seq 1 40); do
	at=$((size * i / 41))
	cp demo.cap "$TMP/twin.cap"
	byte=$(od -An -tu1 -j $at -N1 demo.cap)
	printf '%b' "\\x$(printf %02x $((byte ^ (1 << (i % 8)))))" |
		dd of="$TMP/twin.cap" bs=1 seek=$at conv=notrunc status=none
	check "with byte $at changed it is FORGED or MALFORMED" not_authentic "$TMP/twin.cap"
done
head -c $((size - 1)) demo.cap >"$TMP/cut.cap"
check_exit 5 "without its last byte it is UNSEALED" "$BUILD/gpuverify" "$TMP/cut.cap"
cat demo.cap lossy.cap >"$TMP/two.cap"
check_exit 4 "two in one file are MALFORMED" "$BUILD/gpuverify" "$TMP/two.cap"
finish
