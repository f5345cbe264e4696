#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `make demo`: from recording to report in a minute, for somebody who sees this for the first time. Everything stays in
# $BUILD/demo, keys too. Ends with 0 when every step did what it should.
set -u
BUILD=${BUILD:-build}
demo=$BUILD/demo
capture=$demo/run.cap
export GPUREC_HOME=$demo/keys LC_ALL=C.UTF-8 TZ=UTC

bold='' plain='' width=1000
[ ! -t 1 ] || width=$(tput cols 2>/dev/null || echo 80)
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ] && [ "${TERM:-dumb}" != dumb ]; then
	bold=$'\033[1m' plain=$'\033[0m'
fi

heading() {
	printf '\n%s%s%s\n' "$bold" "$*" "$plain"
}

# What stdin has, indented, and broken where the terminal is narrower.
indented() {
	fold -s -w "$((width - 2))" | sed 's/^/  /'
}

# show COMMAND...: the command as one would type it, then its output, indented; ends as the command does
show() {
	local status
	echo "\$ $*"
	"$@" </dev/null 2>&1 | indented
	status=${PIPESTATUS[0]}
	return "$status"
}

query() {
	echo "\$ sqlite3 $demo/run.db \"$1\""
	sqlite3 -cmd ".mode column" "$demo/run.db" "$1" | indented
	[ "${PIPESTATUS[0]}" -eq 0 ] || die "the query failed"
}

die() {
	echo "demo: $*" >&2
	exit 1
}

# An ordinary user is asked for a password, for the recording alone; where nobody can answer, sudo must not need one.
rights=()
if [ "$(id -u)" != 0 ] && command -v sudo >/dev/null && { [ -t 0 ] || sudo -n true 2>/dev/null; }; then
	rights=(sudo env "GPUREC_HOME=$GPUREC_HOME")
fi

rm -rf "$demo" || die "cannot empty $demo; was it made by another user?"
mkdir -p "$demo" || die "cannot make $demo"

recorded=
if [ "${BPF:-1}" = 1 ]; then
	heading "1. What does this host allow?"
	if show "${rights[@]}" "$BUILD/gpurec" --check; then
		heading "2. Record a program for ten seconds"
		echo "The program launches kernels on a simulated GPU, and three things go wrong in it: a launch waits for a"
		echo "lock whose holder has lost its CPU, a launch burns CPU time, and one place allocates and never frees."
		show "${rights[@]}" "$BUILD/gpurec" -o "$capture" -- "$BUILD/workload/driver" -q --seconds 10 \
			--truth "$demo/planted.json" || die "the recording failed"
		[ "${#rights[@]}" -eq 0 ] || sudo chown -R "$(id -u):$(id -g)" "$demo" || die "cannot take $demo over from root"
		recorded=1
	else
		echo
		echo "This host does not let us record; what is missing, and how to get it, is shown above."
	fi
else
	heading "1. A build without BPF"
	echo "It has no recorder (make BPF=0)."
fi
if [ -z "$recorded" ]; then
	heading "2. A capture that was recorded elsewhere"
	echo "The demo goes on with tests/golden/demo.cap, which gpurec recorded on a host that allowed it. Its signer is"
	echo "a stranger here, until somebody decides to trust it:"
	cp tests/golden/demo.cap "$capture" || die "tests/golden/demo.cap cannot be copied"
	show "$BUILD/gpuverify" "$capture"
	show "$BUILD/gpukey" trust tests/golden/demo.pub --name demo || die "the key was not accepted"
fi

heading "3. Is it authentic and whole?"
show "$BUILD/gpuverify" "$capture" || die "the capture does not verify"

heading "4. Ask it with SQL"
show "$BUILD/gpureplay" "$capture" -o "$demo/run.db" || die "no database was made"
query "SELECT name AS event, rows FROM kind_counts WHERE kind < 32 AND rows > 0 ORDER BY kind"
query "SELECT name AS function, num AS calls, med_ns, p99_ns, max_ns FROM call_summary ORDER BY max_ns DESC LIMIT 5"

heading "5. What went wrong, and why?"
show "$BUILD/gpuanalyze" "$capture" --report="$demo/report.txt" || die "the analysis failed"
"$BUILD/gpuanalyze" -q "$capture" --report="$demo/report.html" || die "the page was not made"
# All but the table of calls, which is long.
awk '/^Calls$/ { hidden = 1; next } /^[A-Z]/ { hidden = 0 } !hidden' "$demo/report.txt" | indented

heading "The files are in $demo/"
echo "  run.cap        the capture: $(du -k "$capture" | cut -f1) KiB; lz4 -dc reads it, gpuverify checks it"
echo "  run.db         the same as SQLite: docs/SCHEMA.md describes its tables"
echo "  report.txt     the report, with the time of every function: --report=OUT.json gives it to programs"
echo "  report.html    the same as a page, with pictures"
[ -z "$recorded" ] || echo "  planted.json   what the program really did, to compare the report with"
echo "  keys/          the key that this demo made or trusts; nothing was written outside of $BUILD/"
# What root made under sudo is for the person who typed it.
[ -z "${SUDO_UID:-}" ] || chown -R "$SUDO_UID:${SUDO_GID:-$SUDO_UID}" "$demo" || die "cannot hand $demo over"

heading "Go on from here"
echo "  export GPUREC_HOME=$(cd "$demo" && pwd)/keys   # the demo's keys and trust in place of your own"
echo "  $BUILD/gpureplay $capture | less"
echo "  $BUILD/gpureplay --help"
echo
echo "Open this in a browser: $(cd "$demo" && pwd)/report.html"
