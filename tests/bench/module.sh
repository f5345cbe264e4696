#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# How soon the SQLite module answers from a large capture: opening it, and the first row of a second in its midst.
#
#   BUILD=build bash tests/bench/module.sh [MIB [RUNS]]      (236 MiB, 51 million events, 9 runs)
#
# Each run is a fresh process. `open`: header and all seals are read, signatures and hash chain checked. `first`: the first
# row of that second, all columns of one event that need no other one. `window`: all calls of that second, summed up.
# `open-rows`: for comparison, opening with verify=rows. The file is in the page cache.
. "$(dirname "$0")/lib.sh"
mib=${1:-236} runs=${2:-9}
"$BUILD/tests/bench/tile" tests/golden/demo.cap "$scratch/big.cap" "$scratch/big.pub" "$mib" >"$scratch/made"
cat "$scratch/big.cap" >/dev/null
note "$(cat "$scratch/made")"

# seconds OPTION: the real times of the statements after opening with it
seconds() {
	sqlite3 :memory: <<END | sed -n 's/.*Run Time.*real \([0-9.]*\).*/\1/p' | paste -sd' '
.load $BUILD/gpucap
CREATE TABLE w(begin, end);
.timer on
SELECT gpucap_open('$scratch/big.cap', 'run', 'trust=$scratch/big.pub', '$1');
.timer off
INSERT INTO w SELECT (start_ns + end_ns) / 2, (start_ns + end_ns) / 2 + 1000000000 FROM capture;
.timer on
SELECT at_ns, start_ns, dur_ns, kind, pid, tid, cpu, probe, ret, flags, id FROM calls
	WHERE at_ns >= (SELECT begin FROM w) AND at_ns < (SELECT end FROM w) LIMIT 1;
SELECT count(*), sum(dur_ns) FROM calls WHERE at_ns >= (SELECT begin FROM w) AND at_ns < (SELECT end FROM w);
END
}
for ((i = 0; i < runs; i++)); do
	read -r open first window < <(seconds verify=seals)
	value open "$open"
	value first "$first"
	value window "$window"
done
read -r open _ < <(seconds verify=rows)
value open-rows "$open"
for name in open first window open-rows; do figure "$name" s; done
