#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# How fast captures go through the default rules on one core, and how much memory that takes as they grow.
#
#   BUILD=build bash tests/bench/detect.sh [MIB...]        (default: 5 50 500: about 1, 10 and 100 million events)
#
# The captures are tests/golden/demo.cap laid down again and again (tests/bench/tile.c). CPU time, not wall time; a
# machine that is busy shows less all the same, so its load is printed.
set -eu
cd "$(dirname "$0")/../.."
BUILD=${BUILD:-build}
[ $# -gt 0 ] || set -- 5 50 500
scratch=$(mktemp -d "${TMPDIR:-/tmp}/gpurec-bench.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
echo "load: $(cut -d' ' -f1-3 /proc/loadavg) on $(nproc) CPUs"
for mib in "$@"; do
	"$BUILD/tests/bench/tile" tests/golden/demo.cap "$scratch/big.cap" "$scratch/big.pub" "$mib" >/dev/null
	"$BUILD/tests/bench/detect" "$scratch/big.cap"
	rm -f "$scratch/big.cap"
done
