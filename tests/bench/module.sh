#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# How soon the SQLite module answers from a large capture: opening it, and the first row of a second in its midst. And, of a
# smaller one, queries by the module beside the same on the database that gpureplay makes of it.
#
#   BUILD=build bash tests/bench/module.sh [MIB [RUNS [MIB]]]      (236 MiB, 51 million events, 9 runs; 12 MiB)
#
# Each run is a fresh process. `open`: header and all seals are read, signatures and hash chain checked. `first`: the first
# row of that second, all columns of one event that need no other one. `window`: all calls of that second, summed up.
# `open-rows`: for comparison, opening with verify=rows. The files are in the page cache.
. "$(dirname "$0")/lib.sh"
mib=${1:-236} runs=${2:-9} small=${3:-12}
"$BUILD/tests/bench/tile" tests/golden/demo.cap "$scratch/big.cap" "$scratch/big.pub" "$mib" >"$scratch/made"
cat "$scratch/big.cap" >/dev/null
note "$(cat "$scratch/made")"

# times: the real times of the statements of stdin, in one line
times() { sqlite3 :memory: | sed -n 's/.*Run Time.*real \([0-9.]*\).*/\1/p' | paste -sd' '; }

# seconds OPTION: after opening with it
seconds() {
	times <<END
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
events=$(cut -d' ' -f1 "$scratch/made")
for name in open first window open-rows; do figure "$name" s 1 1 "note=of_${events}_events"; done
rm -f "$scratch/big.cap"

"$BUILD/tests/bench/tile" tests/golden/demo.cap "$scratch/small.cap" "$scratch/small.pub" "$small" >"$scratch/made"
events=$(cut -d' ' -f1 "$scratch/made")
note "$(cat "$scratch/made")"
names="by-function slowest window thread"
queries() {
	cat <<'END'
SELECT probe, count(*), sum(dur_ns), max(dur_ns) FROM calls GROUP BY probe;
SELECT at_ns, dur_ns, tid, probe FROM calls ORDER BY dur_ns DESC LIMIT 10;
SELECT kind, count(*), sum(dur_ns) FROM calls WHERE at_ns >= (SELECT begin FROM w) AND at_ns < (SELECT end FROM w) GROUP BY kind;
SELECT count(*), sum(dur_ns) FROM calls WHERE tid = (SELECT tid FROM w);
END
}
window="CREATE TEMP TABLE w AS SELECT (start_ns + end_ns) / 2 AS begin, (start_ns + end_ns) / 2 + 100000000 AS end, (SELECT tid FROM calls LIMIT 1) AS tid FROM capture;"
for ((i = 0; i < runs; i++)); do
	read -r opened module < <({
		printf '%s\n' ".load $BUILD/gpucap" .headers\ off ".timer on" \
			"SELECT gpucap_open('$scratch/small.cap', 'run', 'trust=$scratch/small.pub', 'verify=seals');" ".timer off" "$window" ".timer on"
		queries
	} | times)
	timed make-database "$BUILD/gpureplay" -q --force --trust "$scratch/small.pub" "$scratch/small.cap" -o "$scratch/run.db"
	database=$({ printf '%s\n' ".open --readonly $scratch/run.db" "$window" ".timer on"; queries; } | times)
	value "small-open" "$opened"
	set -- $module
	for name in $names; do value "module-$name" "$1"; shift; done
	set -- $database
	for name in $names; do value "database-$name" "$1"; shift; done
done
figure small-open s 1 1 "note=of_${events}_events"
figure make-database s 1 1 "note=of_${events}_events,_before_it_can_be_asked"
for name in $names; do
	figure "module-$name" s
	figure "database-$name" s
	ratio "database/module-$name" "database-$name" "module-$name"
done
