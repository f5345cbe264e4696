#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# How fast a capture becomes a database, against a bare loop of prepared inserts of the same rows, paired and in turn.
#
#	tests/bench/load.sh [MIB [RUNS]]        (defaults: 8 MiB of capture, 7 runs; programs in $BUILD, default build)
#
# Prints one line of JSON; the ratios are medians of the pairs' ratios, 1: as fast as SQLite itself. On a busy machine that
# of CPU time says more.
set -eu
BUILD=$(cd "${BUILD:-build}" && pwd)
golden=$(cd "$(dirname "$0")/.." && pwd)/golden
tmp=$(mktemp -d "${TMPDIR:-/tmp}/gpurec-bench.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
export GPUREC_HOME=$tmp/home
"$BUILD/tests/bench/tile" "$golden/demo.cap" "$tmp/big.cap" "$tmp/big.pub" "${1:-8}" >"$tmp/made"
"$BUILD/tests/bench/load" "$tmp/big.cap" "$tmp/big.pub" "$tmp" "${2:-7}"
