#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# How fast a capture becomes a database, against a bare loop of prepared inserts of the same rows, and against
# `sqlite3 .import` of them as CSV into the same tables with the same indexes; in turn.
#
#   BUILD=build bash tests/bench/load.sh [MIB [RUNS]]        (4 MiB of capture, 5 runs)
#
# The ratios are the others' seconds over ours, 1: as fast as SQLite itself. On a busy machine that of CPU time says more.
# Neither of the two others works out anything: their rows are there. The CSV is made beforehand.
. "$(dirname "$0")/lib.sh"
mib=${1:-4} runs=${2:-5}

"$BUILD/tests/bench/tile" tests/golden/demo.cap "$scratch/big.cap" "$scratch/big.pub" "$mib" >"$scratch/made"
"$BUILD/gpureplay" -q --trust "$scratch/big.pub" "$scratch/big.cap" -o "$scratch/run.db"
mkdir "$scratch/csv"
echo "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA locking_mode=EXCLUSIVE; PRAGMA cache_size=-65536; BEGIN;" >"$scratch/import.sql"
sqlite3 "$scratch/run.db" "SELECT sql || ';' FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'" >>"$scratch/import.sql"
for table in $(sqlite3 "$scratch/run.db" "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'"); do
	sqlite3 -csv "$scratch/run.db" "SELECT * FROM \"$table\"" >"$scratch/csv/$table"
	[ ! -s "$scratch/csv/$table" ] || echo ".import --csv $scratch/csv/$table $table"
done >>"$scratch/import.sql"
sqlite3 "$scratch/run.db" "SELECT sql || ';' FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL" >>"$scratch/import.sql"
echo "COMMIT;" >>"$scratch/import.sql"

for ((i = 0; i < runs; i++)); do
	"${bench_nice[@]}" "$BUILD/tests/bench/load" "$scratch/big.cap" "$scratch/big.pub" "$scratch" 1 >"$scratch/pair"
	rows=$(head -n 1 "$scratch/pair")
	awk 'NR == 2 { print $1, $2 }' "$scratch/pair" >>"$scratch/loader.runs"
	awk 'NR == 2 { print $3, $4 }' "$scratch/pair" >>"$scratch/bare.runs"
	rm -f "$scratch/import.db"
	timed import sqlite3 -bail "$scratch/import.db" ".read $scratch/import.sql"
done
imported=$(for table in "$scratch"/csv/*; do sqlite3 "$scratch/import.db" "SELECT count(*) FROM \"${table##*/}\""; done | awk '{ n += $1 } END { print n }')
[ "$imported" -ge "$rows" ] || { echo "load: .import took $imported rows of $rows" >&2; exit 1; }
awk -v n="$rows" '{ print n / $2 / 1e6, 0 }' "$scratch/loader.runs" >"$scratch/rows.runs"
note "$rows rows, $(cat "$scratch/made")"
for name in loader bare import; do
	figure "$name" s 1 1 what=wall
	figure "$name" s 2 1 what=CPU
done
for peer in bare import; do
	ratio "$peer/loader" $peer loader | sed 's/}$/,"what":"wall"}/'
	ratio "$peer/loader" $peer loader 2 | sed 's/}$/,"what":"CPU"}/'
done
figure rows M/s 1 1 what=CPU note="$rows"_rows
