#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# User stacks of calls inside calls: where each of these returns to stands a probe of the kernel's on the stack, and the
# capture holds what stood there before, on every kernel, in whichever way functions are probed.
. "$(dirname "$0")/lib.sh"
gpurec=$BUILD/gpurec
cap=$TMP/run.cap
around=$BUILD/workload/around/around

needs_recording "stacks of calls inside calls"
if [ ! -x "$around" ]; then
	skip "stacks of calls inside calls" "the test double is not built here"
	finish
fi

# Of each allocation: its function, and the functions on its stack, from the inside; "?" where no file is.
stacks() {
	"$BUILD/gpureplay" -q --json "$cap" >"$TMP/events" && json_awk '
		/"kind":"frame"/ {
			name = value("symbol"); sub(/[+].*/, "", name)
			if (name ~ /^libc_start|_start|^$/ || value("module") == 0) name = value("module") == 0 ? "?" : ""
			frame[value("stack")] = frame[value("stack")] (name == "" ? "" : " " name)
		}
		/"kind":"alloc"/ { probe[++n] = value("probe"); stack[n] = value("stack") }
		END { for (i = 1; i <= n; i++) { sub(/ main.*/, " main", frame[stack[i]]); print probe[i] frame[stack[i]] } }' "$TMP/events"
}

# Where a frame pointer is left out, the function that it would lead to is not on the stack: the caller of who left it.
expected() {
	local by="middle outermost" second third
	second="cuMemAllocManaged jumped $by main"
	third="cuMemHostAlloc cudaHostAlloc $by second $second"
	echo "cuMemAlloc_v2 cudaMalloc framed $by main"
	echo "cudaMalloc framed $by main"
	echo "cuMemHostAlloc cudaHostAlloc $by main"
	echo "cudaHostAlloc hidden $by main"
	echo "cuMemAllocManaged jumped $by main"
	echo "cudaMallocManaged jumped $by main"
	echo "cuMemAlloc_v2 cudaMalloc framed $by third $third"
	echo "cudaMalloc framed $by third $third"
	echo "cuMemHostAlloc cudaHostAlloc $by second $second"
	echo "cudaHostAlloc hidden $by second $second"
	echo "cuMemAllocManaged jumped $by main"
	echo "cudaMallocManaged jumped $by main"
}
are_right() { expected >"$TMP/expected" && stacks >"$TMP/stacks" && diff "$TMP/expected" "$TMP/stacks"; }
none_cut() { [ "$("$BUILD/gpureplay" -q --json "$cap" | grep -c no_stack)" = 0 ]; }

for way in multi plain single; do
	check "$way: a program with calls inside calls is recorded" "$gpurec" -q --force -o "$cap" --uprobes "$way" -- "$around"
	check "$way: each stack is that of the program, without a probe's address" are_right
	check "$way: none is cut" none_cut
done

# The whole workload: its runtime calls the driver, thousands of times
check "the workload is recorded" "$gpurec" -q --force -o "$cap" -- "$BUILD/workload/driver" -q --clean --seconds 2
nested() {
	"$BUILD/gpureplay" -q "$cap" -o "$TMP/view.db" && sqlite3 -readonly "$TMP/view.db" \
		"SELECT count(*), sum(f.n < 3), sum(f.lost) FROM calls c JOIN (SELECT stack, count(*) AS n, sum(module IS NULL OR module = 0) AS lost
			FROM frames GROUP BY stack) f USING (stack) WHERE c.flags & 1 = 1" >"$TMP/nested"
	cat "$TMP/nested"
	grep -qE '^[1-9][0-9]+\|0\|0$' "$TMP/nested"
}
check "no stack of a nested call has an address that is in no file" nested
finish
