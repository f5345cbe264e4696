#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `make demo` where nothing can be recorded: it says why, and goes on with a capture that was recorded elsewhere.
# (That it can be recorded is what tests/cli/e2e.sh does with the same program.)
# shellcheck source-path=SCRIPTDIR/../cli
. "$(dirname "$0")/../cli/lib.sh"
cd "$(dirname "$0")/../.." || exit 1

# demo BPF [COMMAND...]: the demo, under COMMAND, in a folder of its own that looks like a build
demo() {
	local bpf=$1
	shift
	rm -rf "$TMP/b" && mkdir "$TMP/b" && ln -s "$BUILD"/gpu* "$TMP/b/" || return
	env BPF="$bpf" BUILD="$TMP/b" "$@" bash tests/demo.sh
}
# What it shows of the recorded faults, and what it leaves.
goes_on() {
	check_prints '^  UNTRUSTED .*run\.cap$' "the capture's signer is a stranger first"
	check_prints '^  OK .*run\.cap$' "and trusted then"
	check_prints '^ *launch  *[0-9]+' "events are counted with SQL"
	check_prints '^ *[123]\. leak_site leaks device memory: ' "the leak is named"
	check_prints '^ *[123]\. .*cudaLaunchKernel took .* asleep in futex .* woken by .* hog ' "so is the stall, with who kept its waker"
	check_prints '^ *[123]\. .*cudaLaunchKernel took .* on CPU' "and the launch that burnt CPU time"
	check "it leaves what it names" test -s "$TMP/b/demo/run.cap" -a -s "$TMP/b/demo/run.db" -a -s "$TMP/b/demo/report.txt"
	check "and says nothing on stderr" test ! -s "$TMP/err"
}

check_exit 0 "the demo of a build without BPF succeeds" demo 0
check_prints 'without BPF' "and says what it is"
goes_on

refused=(setpriv "--bounding-set=-bpf,-perfmon,-sys_admin,-sys_ptrace")
if [ ! -x "$BUILD/gpurec" ]; then
	skip "the demo on a host that refuses" "this build is without gpurec"
elif [ "$(id -u)" != 0 ] || ! "${refused[@]}" true 2>/dev/null; then
	skip "the demo on a host that refuses" "only root can give up what it asks for"
else
	check_exit 0 "the demo on a host that refuses succeeds" demo 1 "${refused[@]}"
	check_prints '^  no    capabilities .*CAP_BPF' "it says which permission is missing and how to get it"
	goes_on
fi
mkdir "$TMP/bin" && printf '#!/bin/sh\nexit 1\n' >"$TMP/bin/sqlite3" && chmod +x "$TMP/bin/sqlite3" || exit 1
check_exit 1 "the demo fails when a step does" demo 0 env PATH="$TMP/bin:$PATH"
check_says '^demo: the query failed$' "and says which"
finish
