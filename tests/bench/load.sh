#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# How fast a capture becomes a database, against a bare loop of prepared inserts of the same rows, paired and in turn.
#
#   BUILD=build bash tests/bench/load.sh [MIB [RUNS]]        (8 MiB of capture, 7 runs)
#
# The ratios are the bare loop's seconds over ours, 1: as fast as SQLite itself. On a busy machine that of CPU time says more.
. "$(dirname "$0")/lib.sh"
mib=${1:-8} runs=${2:-7}

"$BUILD/tests/bench/tile" tests/golden/demo.cap "$scratch/big.cap" "$scratch/big.pub" "$mib" >"$scratch/made"
"$BUILD/tests/bench/load" "$scratch/big.cap" "$scratch/big.pub" "$scratch" "$runs" >"$scratch/pairs"
rows=$(head -n 1 "$scratch/pairs")
sed 1d "$scratch/pairs" | awk '{ print $1, $2 }' >"$scratch/loader.runs"
sed 1d "$scratch/pairs" | awk '{ print $3, $4 }' >"$scratch/bare.runs"
awk -v n="$rows" '{ print n / $2 / 1e6, 0 }' "$scratch/loader.runs" >"$scratch/rows.runs"
note "$rows rows, $(cat "$scratch/made")"
figure loader s 1 1 what=wall
figure loader s 2 1 what=CPU
figure bare s 1 1 what=wall
figure bare s 2 1 what=CPU
ratio bare/loader bare loader | sed 's/}$/,"what":"wall"}/'
ratio bare/loader bare loader 2 | sed 's/}$/,"what":"CPU"}/'
figure rows M/s 1 1 what=CPU
