#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `make demo` where nothing can be recorded: it says why, and goes on with a capture that was recorded elsewhere.
# (That it can be recorded is what tests/cli/e2e.sh does with the same program.)
# shellcheck source-path=SCRIPTDIR/../cli
. "$(dirname "$0")/../cli/lib.sh"
cd "$(dirname "$0")/../.." || exit 1

demo_user=$(id -u)
# demo BPF [COMMAND...]: the demo, under COMMAND, in a folder of its own that looks like a build
demo() {
	local bpf=$1
	shift
	rm -rf "$TMP/b" && mkdir "$TMP/b" && chown "$demo_user" "$TMP/b" && ln -s "$BUILD"/gpu* "$TMP/b/" || return
	env BPF="$bpf" BUILD="$TMP/b" "$@" bash tests/tools/demo.sh
}
# What it shows of the recorded faults, and what it leaves.
goes_on() {
	check_prints '^  UNTRUSTED .*run\.cap$' "the capture's signer is a stranger first"
	check_prints '^  OK .*run\.cap$' "and trusted then"
	check_prints '^ *launch  *[0-9]+' "events are counted with SQL"
	check_prints '^ *[123]\. leak_site leaks device memory: ' "the leak is named"
	check_prints '^ *[123]\. .*cudaLaunchKernel took .* asleep in futex .* woken by .* hog ' "so is the stall, with who kept its waker"
	check_prints '^ *[123]\. .*cudaLaunchKernel took .* on CPU' "and the launch that burnt CPU time"
	check "it leaves what it names" test -s "$TMP/b/demo/run.cap" -a -s "$TMP/b/demo/run.db" -a -s "$TMP/b/demo/report.txt" -a -s "$TMP/b/demo/report.html"
	check "its last line is where the page is" test "$(tail -n 1 "$TMP/out")" = "Open this in a browser: $TMP/b/demo/report.html"
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
# An ordinary user: sudo is for the recorder alone, and here it refuses.
mkdir "$TMP/sudo" && cat >"$TMP/sudo/sudo" <<-EOF && chmod 755 "$TMP/sudo/sudo"
	#!/bin/sh
	[ "\$*" != "-n true" ] || exit 0
	echo "\$*" >>"$TMP/sudo/asked"
	exit 1
EOF
if [ ! -x "$BUILD/gpurec" ] || [ "$(id -u)" != 0 ]; then
	skip "the demo of an ordinary user" "only root with a recorder can become one"
else
	touch "$TMP/sudo/asked" && chmod 711 "$TMP" && chmod 666 "$TMP/sudo/asked"
	demo_user=65534
	check_exit 0 "the demo of an ordinary user succeeds" demo 1 env PATH="$TMP/sudo:$PATH" setpriv --reuid=65534 --clear-groups
	check "it asked for sudo for the recorder alone" test "$(sed 's/^env GPUREC_HOME=[^ ]* //' "$TMP/sudo/asked")" = "$TMP/b/gpurec --check"
	goes_on
	# `sudo make demo` in a folder of the user's: root takes the keys there for its own.
	check_exit 0 "so does sudo's in a folder of that user" demo 0 env SUDO_UID=65534
	goes_on
	check "what it made is the user's" test "$(stat -c %u "$TMP/b/demo/run.cap" "$TMP/b/demo/keys" | sort -u)" = 65534
	check_exit 1 "another user's folder is refused" demo 0
	demo_user=0
fi
# The build's output is one line, or all of it where it fails.
progress() { printf '%b' "$1" | awk -f tests/tools/progress.awk; }
check_exit 0 "the build is shown as a line" progress '  CC    a.c\n  LINK  a\n'
check_says '^Built 2 files' "with the number of files"
check_exit 1 "a build that fails fails the demo" progress '  CC    a.c\na.c:1: error: no\ndemo: the build failed\n'
check_says '^a\.c:1: error: no$' "and is shown"
mkdir "$TMP/bin" && printf '#!/bin/sh\nexit 1\n' >"$TMP/bin/sqlite3" && chmod +x "$TMP/bin/sqlite3" || exit 1
check_exit 1 "the demo fails when a step does" demo 0 env PATH="$TMP/bin:$PATH"
check_says '^demo: the query failed$' "and says which"
finish
