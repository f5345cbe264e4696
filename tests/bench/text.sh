#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# How many lines a second gpureplay writes: as text, as JSON, through a condition, into a pipe.
#
#   BUILD=build bash tests/bench/text.sh [MIB] [ROUNDS]        (default: 40 MiB, 7 rounds)
#
# The capture is the golden one, laid down again and again (tile.c). All ways are run in each round, one after the other,
# so that whatever else the machine does meets all of them; of each the median counts. Lines go to /dev/null, but for the
# pipe, which `cat` empties. Verifying the capture, which comes first, is part of each figure. Wall times mean something
# on an idle machine only, so the load is printed, and the CPU time, which depends on it less.
set -eu

cd "$(dirname "$0")/../.."
BUILD=${BUILD:-build} mib=${1:-40} rounds=${2:-7}
scratch=$(mktemp -d "${TMPDIR:-/tmp}/gpurec-bench.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
export GPUREC_HOME=$scratch/home TIMEFORMAT='%R %U %S' LC_ALL=C

"$BUILD/tests/bench/tile" tests/golden/demo.cap "$scratch/big.cap" "$scratch/big.pub" "$mib" >"$scratch/made"
lines=$(sed -n 's/^\([0-9]*\) events.*/\1/p' "$scratch/made")
cat "$scratch/big.cap" >/dev/null # into the page cache
replay() { "$BUILD/gpureplay" -q --trust "$scratch/big.pub" "$scratch/big.cap" "$@"; }
piped() { replay "$@" | cat; }

# timed NAME COMMAND...: wall and CPU seconds, a line in NAME.runs
timed() {
	local name=$1
	shift
	{ time "$@" >/dev/null; } 2>"$scratch/time"
	awk '{ print $1, $2 + $3 }' "$scratch/time" >>"$scratch/$name.runs"
}

# middle FILE COLUMN: the median, and from where to where
middle() { awk -v c="$2" '{ print $c }' "$1" | sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)], v[1], v[NR] }'; }

ways="text boot wall where json pipe"
echo "$lines events, $rounds rounds, load $(cut -d' ' -f1-3 /proc/loadavg)"
for ((i = 0; i < rounds; i++)); do
	timed text replay
	timed boot replay --time boot
	timed wall replay --time wall
	timed where replay --where 'dur>=0 or not dur>=0'
	timed json replay --json
	timed pipe piped
done
for way in $ways; do
	echo "$way $(middle "$scratch/$way.runs" 1) $(middle "$scratch/$way.runs" 2)" | awk -v lines="$lines" '{
		printf "%-6s %6.3f s (%.3f to %.3f), %6.2f million lines a second; CPU %6.3f s, %.2f million\n",
			$1, $2, $3, $4, lines / $2 / 1e6, $5, lines / $5 / 1e6 }'
done
echo "load $(cut -d' ' -f1-3 /proc/loadavg)"
