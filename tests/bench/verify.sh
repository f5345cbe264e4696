#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# gpuverify against `minisign -V` of the same large capture, side by side.
#
#   BUILD=build bash tests/bench/verify.sh [MIB] [PAIRS]        (default: 400 MiB, 9 pairs)
#
# `gpuverify --bytes-only` checks what minisign checks, every byte of the file against a signature, and all seals;
# gpuverify also decodes every row. Both read from the page cache. Runs alternate, first on all cores, then on one. Wall times mean something on an idle
# machine only, so the load is printed, and the CPU time, which depends on it less.
set -eu

cd "$(dirname "$0")/../.."
BUILD=${BUILD:-build} mib=${1:-400} pairs=${2:-9}
command -v minisign >/dev/null || { echo "verify.sh: minisign is not installed" >&2; exit 1; }
scratch=$(mktemp -d "${TMPDIR:-/tmp}/gpurec-bench.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
export GPUREC_HOME=$scratch/home TIMEFORMAT='%R %U %S' LC_ALL=C
niceness=()
[ "$(id -u)" != 0 ] || niceness=(nice -n -5)

"$BUILD/tests/bench/tile" tests/golden/demo.cap "$scratch/big.cap" "$scratch/big.pub" "$mib"
minisign -G -W -p "$scratch/m.pub" -s "$scratch/m.key" >/dev/null
minisign -S -s "$scratch/m.key" -m "$scratch/big.cap" >/dev/null
bytes=$(stat -c %s "$scratch/big.cap")
cat "$scratch/big.cap" >/dev/null # into the page cache

# timed FILE COMMAND...: wall and CPU seconds, a line in FILE
timed() {
	local file=$1
	shift
	{ time "${niceness[@]}" "$@" >"$scratch/out" 2>&1; } 2>"$scratch/time" || { cat "$scratch/out" >&2; exit 1; }
	awk '{ print $1, $2 + $3 }' "$scratch/time" >>"$file"
}

# middle FILE COLUMN: the median, and from where to where
middle() { awk -v c="$2" '{ print $c }' "$1" | sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)], v[1], v[NR] }'; }

# compare TITLE PREFIX...: gpuverify whole, gpuverify --bytes-only, minisign
compare() {
	local title=$1 i
	shift
	rm -f "$scratch"/*.runs
	for ((i = 0; i < pairs; i++)); do
		timed "$scratch/whole.runs" "$@" "$BUILD/gpuverify" --trust "$scratch/big.pub" "$scratch/big.cap"
		timed "$scratch/bytes.runs" "$@" "$BUILD/gpuverify" --bytes-only --trust "$scratch/big.pub" "$scratch/big.cap"
		timed "$scratch/theirs.runs" "$@" minisign -V -q -p "$scratch/m.pub" -m "$scratch/big.cap"
	done
	for i in whole bytes theirs; do
		echo "$(middle "$scratch/$i.runs" 1) $(middle "$scratch/$i.runs" 2)"
	done | awk -v title="$title" -v bytes="$bytes" '
		BEGIN { split("gpuverify|gpuverify --bytes-only|minisign -V", name, "|"); print title }
		{
			printf "  %-22s %6.3f s (%.3f to %.3f), %5.2f GB/s, CPU %6.3f s\n", name[NR], $1, $2, $3, bytes / $1 / 1e9, $4
			took[NR] = $1
		}
		END {
			printf "  minisign takes %.2f times as long as the whole verdict, %.2f times as long as --bytes-only\n",
				took[3] / took[1], took[3] / took[2]
		}'
}

echo "$pairs pairs of runs, $bytes bytes, $(lz4 -dc "$scratch/big.cap" 2>/dev/null | wc -c) bytes of rows, load $(cut -d' ' -f1-3 /proc/loadavg)"
compare "all $(nproc) cores" env
compare "one core" taskset -c 0
echo "load $(cut -d' ' -f1-3 /proc/loadavg)"
