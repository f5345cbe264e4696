#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# How soon the SQLite module answers from a large capture: opening it, and the first row of a second in its midst.
#
#	tests/bench/window.sh [MIB [RUNS]]      (defaults: 236 MiB, 51 million events, 9 runs; programs in $BUILD)
#
# Each run is a fresh process. `open`: header and all seals are read, signatures and hash chain checked. `first`: the first
# row of that second, all columns of one event that need no other one. `window`: all calls of that second, summed up.
# `verified`: for comparison, opening with verify=rows. Prints one line of JSON, medians in seconds; the file is in the
# page cache.
set -eu
BUILD=$(cd "${BUILD:-build}" && pwd)
golden=$(cd "$(dirname "$0")/.." && pwd)/golden
runs=${2:-9}
tmp=$(mktemp -d "${TMPDIR:-/tmp}/gpurec-bench.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
export GPUREC_HOME=$tmp/home
made=$("$BUILD/tests/bench/tile" "$golden/demo.cap" "$tmp/big.cap" "$tmp/big.pub" "${1:-236}")

# timed OPTION: the real times of three statements after opening with it
timed() {
	sqlite3 :memory: <<END
.load $BUILD/gpucap
CREATE TABLE w(begin, end);
.timer on
SELECT gpucap_open('$tmp/big.cap', 'run', 'trust=$tmp/big.pub', '$1');
.timer off
INSERT INTO w SELECT (start_ns + end_ns) / 2, (start_ns + end_ns) / 2 + 1000000000 FROM capture;
.timer on
SELECT at_ns, start_ns, dur_ns, kind, pid, tid, cpu, probe, ret, flags, id FROM calls
	WHERE at_ns >= (SELECT begin FROM w) AND at_ns < (SELECT end FROM w) LIMIT 1;
SELECT count(*), sum(dur_ns) FROM calls WHERE at_ns >= (SELECT begin FROM w) AND at_ns < (SELECT end FROM w);
END
}
times() { grep 'Run Time' | sed 's/.*real \([0-9.]*\).*/\1/' | paste -sd' '; }
for ((i = 0; i < runs; i++)); do
	timed verify=seals | times >>"$tmp/seals"
done
timed verify=rows | times >>"$tmp/rows"
middle() { awk -v c="$2" '{ print $c }' "$1" | sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
printf '{"bench":"window","made":"%s","runs":%d,"open_s":%s,"first_s":%s,"window_s":%s,"verified_open_s":%s}\n' "$made" "$runs" \
	"$(middle "$tmp/seals" 1)" "$(middle "$tmp/seals" 2)" "$(middle "$tmp/seals" 3)" "$(middle "$tmp/rows" 1)"
