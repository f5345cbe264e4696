#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# None of the tools makes a system call about a network, in anything that it does: seen from outside, by strace.
# records: most of its time it waits for recorders
. "$(dirname "$0")/lib.sh"

if ! command -v strace >/dev/null; then
	skip "no tool makes a call about a socket" "strace is not installed"
	finish
fi
if ! strace -o "$TMP/try" true 2>"$TMP/err"; then
	skip "no tool makes a call about a socket" "strace may not trace here"
	finish
fi

calls=$TMP/calls
# traced COMMAND...: with all that it starts; what it calls is added to $calls. Its exit status does not matter, unless
# strace itself failed; -qq leaves only calls and their ends.
traced() {
	strace -f -qq -e trace=%network,execve -o "$TMP/one" "$@" >"$TMP/said" 2>&1 </dev/null
	grep -q 'execve(' "$TMP/one" || { cat "$TMP/said"; return 1; }
	# by name: strace also shows calls that it does not know, the one by which a probed function returns among them
	grep -E '^[0-9]+ +(socket|connect|bind|listen|accept|send|recv|shutdown|getsock|setsock|getpeer)' "$TMP/one" >>"$calls"
	return 0
}
touch "$calls"

check "a control: strace sees a socket where there is one" \
	strace -f -qq -e trace=%network -o "$TMP/control" bash -c ': <>/dev/udp/127.0.0.1/9'
check "by its name" grep -q 'socket(' "$TMP/control"

cap=$TMP/run.cap
golden=$(dirname "$0")/../golden
cp "$golden/demo.cap" "$golden/demo.pub" "$TMP"
demo=$TMP/demo.cap
check "gpukey: a key is made" traced "$BUILD/gpukey" generate -W -s "$TMP/k.key" -p "$TMP/k.pub"
check "trusted" traced "$BUILD/gpukey" trust "$TMP/demo.pub" --name demo
check "listed" traced "$BUILD/gpukey" list
check "shown" traced "$BUILD/gpukey" show
check "a host is vouched for" traced "$BUILD/gpukey" delegate -s "$TMP/k.key" --name node --for 1d -o "$TMP/node.delegation" "$TMP/demo.pub"
check "really" test -s "$TMP/node.delegation"
check "which is taken back" traced "$BUILD/gpukey" revoke -s "$TMP/k.key" -o "$TMP/revoked" "$TMP/node.delegation"
check "really, too" test -s "$TMP/revoked"
check "used to sign" traced "$BUILD/gpukey" sign -s "$TMP/k.key" "$TMP/k.pub"
check "taken back" traced "$BUILD/gpukey" untrust demo
traced "$BUILD/gpukey" trust "$TMP/demo.pub" --name demo
check "gpuverify: a verdict" traced "$BUILD/gpuverify" "$demo"
check "in JSON" traced "$BUILD/gpuverify" --json "$demo"
check "with custody" traced "$BUILD/gpuverify" --custody verified "$demo"
check "gpureplay: text" traced "$BUILD/gpureplay" "$demo"
check "JSON" traced "$BUILD/gpureplay" --json "$demo"
endings=$("$BUILD/gpureplay" --help | sed -n '/^-o FILE writes/,/^Classes/s/^  \.\([a-z.-]*\) .*/\1/p')
check "--help names what can be written" test "$(wc -w <<<"$endings")" -ge 10
for to in $endings; do
	less=
	[ "$to" != cap ] || less=--withhold=host
	# shellcheck disable=SC2086 # nothing, or one option
	check "to .$to" traced "$BUILD/gpureplay" -q $less "$demo" -o "$TMP/out.$to"
	check "which is there" test -s "$TMP/out.$to"
done
check "what differs" traced "$BUILD/gpureplay" --diff "$demo" "$demo"
check "gpuanalyze: a report" traced "$BUILD/gpuanalyze" "$demo" --report
for to in html json sarif txt; do
	check "as .$to" traced "$BUILD/gpuanalyze" "$demo" --report="$TMP/report.$to"
done
check "with rules of one's own" traced "$BUILD/gpuanalyze" "$demo" --rules "$(dirname "$0")/../../docs/rules"
check "that was all of the four that work on files: not one call" test ! -s "$calls"
head -n 5 "$calls"

# With LONG=1 the same in what their other tests do: each tool is a script, in a folder of its own, that runs the real one
# under strace.
if [ -n "${LONG:-}" ]; then
	if strace --seccomp-bpf -f -o "$TMP/try" true 2>/dev/null; then fast=--seccomp-bpf; else fast=; fi
	mkdir "$TMP/traced" "$TMP/log"
	ln -s "$BUILD"/* "$TMP/traced/"
	for tool in gpukey gpuverify gpureplay gpuanalyze; do
		rm "$TMP/traced/$tool"
		# What looks for leaks cannot while it is traced.
		printf '#!/bin/sh\nASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0 exec strace -f -qq %s -e trace=%%network -o "%s.$$" "%s" "$@"\n' \
			"$fast" "$TMP/log/$tool" "$BUILD/$tool" >"$TMP/traced/$tool"
		chmod +x "$TMP/traced/$tool"
	done
	# In a folder with a short name: sentences have room for so much of a path.
	whole() { BUILD=$TMP/traced TMPDIR=/tmp bash "$(dirname "$0")/$1.sh"; }
	for script in gpukey delegate custody verify counts diff user_rules; do
		check "all that $script.sh tries, under strace" whole $script
	done
	for tool in gpukey gpuverify gpureplay gpuanalyze; do
		check "$tool was seen dozens of times" test "$(find "$TMP/log" -name "$tool.*" | wc -l)" -ge 24
	done
	quiet() { ! grep -rHE '(^|[0-9] +)(socket|connect|bind|listen|accept|send|recv|shutdown|getsock|setsock|getpeer)' "$TMP/log"; }
	check "not one call there either" quiet
	echo '77 socket(AF_INET, SOCK_STREAM, IPPROTO_IP) = 3' >"$TMP/log/control"
	loud() { ! quiet; }
	check "one would be seen" loud
fi

gpurec=$BUILD/gpurec
if [ ! -x "$gpurec" ] || ! "$gpurec" --check -o "$cap" >"$TMP/check" 2>&1; then
	skip "gpurec makes no call about a socket" "$(grep -m1 '^no' "$TMP/check" 2>/dev/null || echo 'it is not built')"
	finish
fi
check "gpurec: --check" traced "$gpurec" --check -o "$cap" --nvml "$BUILD/workload/libnvidia-ml.so.1"
check "a command" traced "$gpurec" -q -o "$cap" --nvml "$BUILD/workload/libnvidia-ml.so.1" -- "$BUILD/workload/driver" -q --flood 20
check "which is in the capture" "$BUILD/gpuverify" "$cap"
check "a library that comes later" traced "$gpurec" -q -o "$cap" --force -- "$BUILD/workload/driver-dlopen" -q --late-dlopen --load-after 1 --flood 20
check "the whole host" traced "$gpurec" -q -o "$cap" --force -d 500ms
sleep 300 &
sleeper=$!
check "one process, and metrics" traced "$gpurec" -q -o "$cap" --force -p $sleeper --metrics 10ms -d 500ms
kill $sleeper
check "a library, one by one, without late attachment" traced "$gpurec" -q -o "$cap" --force --uprobes single \
	--lib "$BUILD/workload/libcuda.so.1" --no-futex --no-late-attach -d 300ms
check "rotation, budgets" traced "$gpurec" -q -o "$TMP/turn.cap" --rotate 1s --sample launch=2 -d 2200ms
check "not one call by gpurec either" test ! -s "$calls"
head -n 5 "$calls"
finish
