#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The kernel's side on kernels that are not here, as far as that can be said without them: no program has a shape that
# an older verifier refuses, and none reads a member that one of the kernels of tests/btf lacks, without asking first.
# Both were seen to go wrong, on the kernels that most hosts have; tests/vm boots them.
. "$(dirname "$0")/../cli/lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
export PYTHONDONTWRITEBYTECODE=1
clang=${CLANG:-clang}
headers=() # of the kernel: what Debian keeps by machine
[ ! -d "/usr/include/$(uname -m)-linux-gnu" ] || headers=(-idirafter "/usr/include/$(uname -m)-linux-gnu")
compile() { # ARCHITECTURE SOURCE OBJECT
	"$clang" -O2 -g -Wall -target bpf "-D__TARGET_ARCH_$1" -I"$top" "${headers[@]}" -c "$2" -o "$3"
}

if ! command -v python3 >/dev/null; then
	skip "no shape that older kernels refuse" "there is no python3 here"
	finish
fi
object=$BUILD/bpf/gpurec.bpf.o
if [ ! -e "$object" ] || ! command -v "$clang" >/dev/null; then
	skip "no shape that older kernels refuse" "this build is without the kernel's side"
	finish
fi

# What must be found ----------------------------------------------------------------------------------------------------
check "a program of each shape compiles" compile x86 "$here/refused.bpf.c" "$TMP/refused.o"
check_exit 1 "their shapes are found" python3 "$here/bpf_shapes.py" "$TMP/refused.o"
check_prints '^on_falls: instruction [0-9]+ falls through to the loop' "a loop whose end falls through to its beginning"
check_prints '^on_key: look_up hands memory of a ring to a map' "memory of a ring as a key, also by way of a function"
check_prints '^on_stack: 640 bytes of stack, 512 is the most: on_stack > fill' "a stack that is too deep with a call"
check "and no other" test "$(wc -l <"$TMP/out")" = 4
check_exit 1 "a member that no kernel has is found" python3 "$here/bpf_fields.py" "$TMP/refused.o" "$top"/tests/btf/x86_64-6.1*.btf
check_prints '/x86_64-6.1[^ ]*: on_field reads task_struct___dreamt.dreamt_of in on_field$' "but not the one that is asked for"

# The kernel's side -----------------------------------------------------------------------------------------------------
check_exit 0 "no program has a shape that an older kernel refuses" python3 "$here/bpf_shapes.py" "$object"
unlisted() { # programs that record events and are not in the table; those five record none
	readelf -sW "$object" | awk '$4 == "FUNC" && $5 == "GLOBAL" && $8 ~ /^on_/ { print $8 }' >"$TMP/programs"
	[ "$(wc -l <"$TMP/programs")" -ge 15 ] || echo "few programs"
	grep -vxE 'on_suspend|on_each_task|on_timer|on_wakeup|on_held_back' "$TMP/programs" | while read -r program; do
		grep -q "{\"$program\", PROBE_" "$top/record/probe/skipped_runs.c" || echo "$program"
	done
}
check "runs that a kernel skips are counted for each program" test -z "$(unlisted)"
for arch in x86 arm64; do
	check "the kernel's side compiles for $arch" compile $arch "$top/bpf/gpurec.bpf.c" "$TMP/$arch.o"
	check_exit 0 "on $arch no shape of it is refused" python3 "$here/bpf_shapes.py" "$TMP/$arch.o"
done
for btf in "$top"/tests/btf/*.btf; do
	arch=x86 kernel=$(basename "$btf" .btf)
	case $kernel in arm64-*) arch=arm64 ;; esac
	check "$kernel has all that is read without asking" python3 "$here/bpf_fields.py" "$TMP/$arch.o" "$btf"
done
finish
