#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The programs of the kernel's side that run for calls, and the functions that they call, have at most 48 bytes on their
# stack each. With more, kernels since 6.13 give them one for each CPU instead of the task's: these programs can be
# preempted by others of their kind, and hardened kernels take twice as long to copy there (bpf/calls.h).
. "$(dirname "$0")/../cli/lib.sh"
BYTES_MAX=48

sizes=$BUILD/bpf/gpurec.bpf.su # of clang: file:line:function, bytes, kind
if [ ! -e "$sizes" ]; then
	skip "what runs for calls has a small stack" "this build is without the kernel's side"
	finish
fi
names='on_call|on_call_multi|on_return|on_return_multi|calls_begin|call_left_out|peek_arguments|peek_results|walk_stack|returns_to'
names="$names|call_record_name|emit_first|count_rare|count_refused|count_unentered|bulk_wakes"
awk -v names="^($names)\$" '{ n = split($1, part, ":") } part[n] ~ names { print part[n], $2 }' "$sizes" >"$TMP/sizes"
check "they are known by name" [ "$(wc -l <"$TMP/sizes")" -eq 16 ]
small() {
	cat "$TMP/sizes"
	awk -v max=$BYTES_MAX '$2 > max { bad = 1 } END { exit bad }' "$TMP/sizes"
}
check "each has at most $BYTES_MAX bytes on its stack" small
finish
