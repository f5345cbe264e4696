#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# How many lines a second gpureplay writes: as text, as JSON, through a condition, into a pipe.
#
#   BUILD=build bash tests/bench/text.sh [MIB [RUNS]]        (40 MiB, 7 runs)
#
# All ways are run in each round, one after the other. Lines go to /dev/null, but for the pipe, which `cat` empties.
# Verifying the capture, which comes first, is part of each figure.
. "$(dirname "$0")/lib.sh"
mib=${1:-40} runs=${2:-7}

"$BUILD/tests/bench/tile" tests/golden/demo.cap "$scratch/big.cap" "$scratch/big.pub" "$mib" >"$scratch/made"
lines=$(sed -n 's/^\([0-9]*\) events.*/\1/p' "$scratch/made")
cat "$scratch/big.cap" >/dev/null # into the page cache
note "$lines events"

# way NAME OPTION...: not with timed(), which keeps what is written
way() {
	local name=$1
	shift
	if [ "$name" = pipe ]; then
		{ time "${bench_nice[@]}" "$BUILD/gpureplay" -q --trust "$scratch/big.pub" "$scratch/big.cap" "$@" | cat >/dev/null; } 2>"$scratch/time"
	else
		{ time "${bench_nice[@]}" "$BUILD/gpureplay" -q --trust "$scratch/big.pub" "$scratch/big.cap" "$@" >/dev/null; } 2>"$scratch/time"
	fi
	awk -v n="$lines" '{ print n / $1 / 1e6, n / ($2 + $3) / 1e6 }' "$scratch/time" >>"$scratch/$name.runs"
}

ways="text boot wall where json pipe"
for ((i = 0; i < runs; i++)); do
	way text
	way boot --time boot
	way wall --time wall
	way where --where 'dur>=0 or not dur>=0'
	way json --json
	way pipe
done
for name in $ways; do
	figure "$name" M-lines/s 1 1 what=wall
	figure "$name" M-lines/s 2 1 what=CPU
done
