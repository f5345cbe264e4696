#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The programs of the kernel's side that copy from a process into their stack have at most 48 bytes on it: with more,
# kernels since 6.13 give them another stack than the task's, and hardened ones take twice as long to copy there
# (bpf/calls.h). Nothing goes wrong then but what a call costs.
. "$(dirname "$0")/../cli/lib.sh"
BYTES_MAX=48

sizes=$BUILD/bpf/gpurec.bpf.su # of clang: file:line:function, bytes, kind
if [ ! -e "$sizes" ]; then
	skip "what copies from a process has a small stack" "this build is without the kernel's side"
	finish
fi
copying='on_call|on_call_multi|on_return_multi|peek_arguments|peek_results|peek_results_waiting|walk_stack'
awk -v names="^($copying)\$" '{ n = split($1, part, ":") } part[n] ~ names { print part[n], $2 }' "$sizes" >"$TMP/sizes"
check "the functions that copy from a process are known by name" [ "$(wc -l <"$TMP/sizes")" -eq 7 ]
small() {
	cat "$TMP/sizes"
	awk -v max=$BYTES_MAX '$2 > max { bad = 1 } END { exit bad }' "$TMP/sizes"
}
check "each has at most $BYTES_MAX bytes on its stack" small
finish
