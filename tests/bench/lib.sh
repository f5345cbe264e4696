# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# For the benchmarks: sourced, not run. A benchmark prints one JSON line for each figure on stdout and what it does on stderr:
#
#	{"bench":"verify","figure":"gpuverify","unit":"s","median":0.64,"low":0.62,"high":0.66,"runs":9,"beside":"minisign -V",...}
#
# Figures are medians of runs that alternate with those that they are compared with, so that what changes on the machine
# meanwhile touches all alike. They gate nothing.
set -eu
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
BUILD=$(cd "${BUILD:-build}" && pwd)
bench=$(basename "$0" .sh)
scratch=$(mktemp -d "${TMPDIR:-/tmp}/gpurec-bench.XXXXXX")
bench_cleanup() { rm -rf "$scratch"; }
trap bench_cleanup EXIT
export GPUREC_HOME=$scratch/home TIMEFORMAT='%R %U %S' LC_ALL=C
bench_nice=()
[ "$(id -u)" != 0 ] || bench_nice=(nice -n -5)

note() { echo "  $bench: $*" >&2; }

# need PROGRAM...: without one of them there is nothing to compare with; that is said, and the figure is left out
have() { command -v "$1" >/dev/null; }

# timed NAME COMMAND...: one run; its wall and CPU seconds are a line of $scratch/NAME.runs
timed() {
	local name=$1
	shift
	{ time "${bench_nice[@]}" "$@" >"$scratch/out" 2>&1; } 2>"$scratch/time" || { cat "$scratch/out" >&2; exit 1; }
	awk '{ print $1, $2 + $3 }' "$scratch/time" >>"$scratch/${name//\//-}.runs"
}

# value NAME NUMBER: one run whose figure is known otherwise
value() { echo "$2 0" >>"$scratch/$1.runs"; }

# figure NAME UNIT [COLUMN [FACTOR]] [KEY=VALUE...]: the median of its runs as a JSON line. COLUMN 1: wall or value, 2: CPU
figure() {
	local name=$1 unit=$2 column=${3:-1} factor=${4:-1}
	shift $(($# < 4 ? $# : 4))
	awk -v c="$column" -v f="$factor" '{ print $c * f }' "$scratch/${name//\//-}.runs" | sort -g | awk -v bench="$bench" -v name="$name" \
		-v unit="$unit" -v more="$*" '
		{ v[NR] = $1 }
		END {
			printf "{\"bench\":\"%s\",\"figure\":\"%s\",\"unit\":\"%s\",\"median\":%.6g,\"low\":%.6g,\"high\":%.6g,\"runs\":%d",
				bench, name, unit, NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2, v[1], v[NR], NR
			n = split(more, pair, " ")
			for (i = 1; i <= n; i++) {
				split(pair[i], kv, "=")
				printf ",\"%s\":\"%s\"", kv[1], kv[2]
			}
			print "}"
		}'
}

# ratio FIGURE A B [COLUMN]: the median of A/B of each pair of runs, as a JSON line. What "times as fast" means is B's.
ratio() {
	paste "$scratch/$2.runs" "$scratch/$3.runs" | awk -v c="${4:-1}" '{ if ($(c + 2) > 0) print $c / $(c + 2), 0 }' >"$scratch/${1//\//-}.runs"
	figure "$1" ratio
}
