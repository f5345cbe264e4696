#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The SQLite module, in the sqlite3 shell: the same tables, views and answers as the database has, straight from captures.
. "$(dirname "$0")/lib.sh"

if ! command -v sqlite3 >/dev/null; then
	skip "the SQLite module" "no sqlite3 here"
	finish
fi
here=$(cd "$(dirname "$0")/../.." && pwd)
replay=$BUILD/gpureplay
mkcap=$BUILD/tests/mkcap
golden=$here/tests/golden
cd "$TMP" || exit 1

# Where the module is built with a sanitizer, that has to be there before all else.
sanitizer=$(ldd "$BUILD/gpucap.so" | awk '/lib[at]san|libubsan/ { print $3 }' | paste -sd:)
module() { # OPTIONS QUERY...: a shell with run.cap opened by gpucap_open(OPTIONS)
	local options=$1
	shift
	LD_PRELOAD=$sanitizer sqlite3 -bail :memory: ".load $BUILD/gpucap" ".output opened" "SELECT gpucap_open($options)" ".output" "$@"
}
shell() { # QUERY...
	LD_PRELOAD=$sanitizer sqlite3 -bail :memory: ".load $BUILD/gpucap" "$@"
}
gives() { # SENTENCE OPTIONS QUERY WANTED
	check "$1" [ "$(module "$2" "$3")" = "$4" ]
}
fails() { # SENTENCE REGEX COMMAND...
	check_exit 1 "$1" "${@:3}"
	check_says "$2" "and says why"
}

# Captures: golden ones, one with all kinds of events, and what remains of it in a slice, redacted, or cut short.
sed -n 's/^\tK(\([0-9]*\), \([a-z_]*\), [a-z]*, \([A-Z]*\)).*/\1 \2 \3/p' "$here/format/kinds.h" >kinds
sed -n 's/^\tF(\([a-z_]*\), \([a-z_0-9]*\), \([A-Z]*\), .*/\1 \2 \3/p' "$here/format/kinds.h" >fields
awk '
	FILENAME == "fields" { has[$1, $2] = 1; names[$1] = names[$1] " " $2; encoding[$1, $2] = $3; next }
	$3 != "PLAIN" { print "probe", ++nprobes, "probe_of_" $2, $2 }
	{ kinds[++n] = $2; call[$2] = $3 == "CALL" }
	END {
		print "start 500s 1790000000s"
		for (second = 0; second < 3; second++) {
			for (i = 1; i <= n; i++) {
				k = kinds[i]
				if (second == 1 && k == "xid")
					continue
				row = "repeat 2 1ms " k " at=+" second "." 100 + 10 * i "s"
				if (call[k]) row = row " pid=100 tid=101 cpu=1 dur=5us~7 ret=" i % 2
				nnames = split(names[k], list, " ")
				for (f = 1; f <= nnames; f++) {
					if (list[f] == "at" || list[f] == "probe" && !call[k]) continue
					if (encoding[k, list[f]] == "TEXT") v = "\"" k " \\xff " list[f] " " second "\""
					else if (list[f] ~ /pid$/) v = 100
					else if (list[f] ~ /tid$/) v = 100 + f % 3
					else if (list[f] == "start") v = "+0"
					else v = f * 10 + i + second
					row = row " " list[f] "=" v
				}
				print row
			}
			if (second == 1) print "fact at=+1.9s name=Qz7marker1x"
			print "epoch +" second + 1 "s"
			print "lost probe_of_alloc ring_full 2"
		}
		print "end command 0"
	}' fields kinds >every.script
"$mkcap" -o every.cap --pub every.pub every.script || exit 1
"$mkcap" -o cut.cap --no-end every.script || exit 1
"$mkcap" --narrow every.cap -o slice.cap --from 501s --to 502s >narrowed 2>&1 || exit 1
"$mkcap" --narrow every.cap -o redacted.cap --withhold process,symbol >narrowed 2>&1 || exit 1
cp "$golden/demo.cap" "$golden/lossy.cap" .
cp "$golden/redacted.cap" demo-redacted.cap
mkdir -p "$GPUREC_HOME/trust" && chmod 700 "$GPUREC_HOME" "$GPUREC_HOME/trust" || exit 1
cp every.pub "$GPUREC_HOME/trust/lab.pub" && cp "$golden/demo.pub" "$GPUREC_HOME/trust/demo.pub" || exit 1
captures="every cut slice redacted demo lossy demo-redacted"
case ${LONG:-}$BUILD in /*/asan) captures=${captures% *} ;; esac # sanitizers slow this down tenfold
for name in $captures; do
	"$replay" -q $name.cap -o $name.db || { echo "Bail out! $name.cap does not become a database"; exit 1; }
done

# Everything, both ways. Rows that a query does not put in an order are compared without one.
sqlite3 every.db "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%'" >names
check "there are many tables and views" [ "$(wc -l <names)" -gt 60 ]
while read -r name; do
	echo ".print == $name"
	echo "SELECT * FROM $name;"
done <names >everything.sql
sorted() { awk '/^== / { name = $2; next } { print name ": " $0 }' "$1" | sort; }
same_answers() { # NAME FILE
	sqlite3 -bail "$1.db" ".read $2" >by_db || return 1
	module "'$1.cap', 'run', 'verify=rows'" ".read $2" >by_module || return 1
	diff <(sorted by_db) <(sorted by_module)
}
for name in $captures; do
	check "each table and view of $name.cap has the same rows without a copy" same_answers $name everything.sql
done
gives "no table was empty in both" "'every.cap'" "SELECT count(*) FROM kind_counts WHERE rows = 0" 0

# The cookbook, both ways.
awk '/^```sql$/ { inside = 1; n++; next } /^```$/ { inside = 0 } inside { print >sprintf("q%02d.sql", n) }' "$here/docs/COOKBOOK.md"
check "the cookbook has twenty of them" [ "$(find . -name 'q*.sql' | wc -l)" = 20 ]
for q in q*.sql; do
	echo ".print == ${q%.sql}"
	cat "$q"
done >cookbook.sql
for name in $captures; do
	sqlite3 -bail $name.db ".read cookbook.sql" >by_db && sorted by_db >$name.by_db
	module "'$name.cap', 'run', 'verify=rows'" ".read cookbook.sql" >by_module && sorted by_module >$name.by_module
done
same_question() { # NAME
	local name
	for name in $captures; do
		diff <(grep "^$1: " $name.by_db) <(grep "^$1: " $name.by_module) || { echo "$name.cap"; return 1; }
	done
	grep -q "^$1: " ./*.by_module
}
for q in q*.sql; do
	check "question ${q//[^0-9]/} has the same answer" same_question "${q%.sql}"
done

# Constraints: each is asked of both, with and without what spares reading.
cat >constraints.sql <<'END'
.print == window
SELECT id, at_ns, kind, process, thread, dur_ns FROM calls WHERE at_ns >= 500500000000 AND at_ns < 501500000000 ORDER BY at_ns;
.print == before
SELECT id, at_ns FROM calls WHERE at_ns < 500200000000;
.print == until
SELECT id, at_ns FROM calls WHERE at_ns <= 500110000000;
.print == after
SELECT id, at_ns FROM wakeups WHERE at_ns > 501270000000;
.print == between
SELECT id FROM futexes WHERE start_ns BETWEEN 500000000000 AND 501300000000;
.print == backwards
SELECT id FROM calls ORDER BY id DESC LIMIT 3;
.print == byid
SELECT id, at_ns, kind FROM calls WHERE id = 9;
.print == ids
SELECT id, at_ns FROM calls WHERE id IN (1, 9, 8, 9999, -1) OR kind = 5;
.print == either
SELECT id FROM calls WHERE at_ns = 500110000000 OR at_ns = 501110000000 OR dur_ns = 5007;
.print == both
SELECT count(*), sum(dur_ns) FROM calls WHERE (at_ns > 500100000000 AND at_ns < 500300000000) OR (at_ns > 500200000000 AND at_ns < 501200000000);
.print == kind
SELECT id, bytes, memory, value FROM calls WHERE kind = 2 AND pid = 100;
.print == null
SELECT count(*) FROM calls WHERE memory > 0;
.print == missing
SELECT count(*) FROM calls WHERE memory IS NULL AND kind IS 4;
.print == nothing
SELECT count(*) FROM calls WHERE at_ns > NULL OR kind = NULL;
.print == real
SELECT count(*) FROM calls WHERE at_ns > 500500000000.5 AND dur_ns < 1e9;
.print == text
SELECT count(*) FROM calls WHERE at_ns > '500500000000' AND kind < 'x';
.print == negative
SELECT count(*) FROM calls WHERE at_ns > -5 AND at_ns < -1;
.print == far
SELECT count(*) FROM calls WHERE at_ns >= 9223372036854775807 OR id > 9223372036854775806;
.print == thread
SELECT id, thread, at_ns FROM calls WHERE thread = 2 AND at_ns > 501000000000;
.print == nobody
SELECT count(*) FROM calls WHERE thread = 4711 OR process = 0;
.print == rowids
SELECT rowid, id FROM switches WHERE rowid > 100;
.print == texts
SELECT id, name FROM facts WHERE name = 'fact \xff name 1' OR value = 5;
.print == join
SELECT c.id, p.name FROM calls c LEFT JOIN processes p USING (process) WHERE c.kind = 1;
.print == outer
SELECT k.name, count(c.id) FROM kinds k LEFT JOIN calls c ON c.kind = k.kind GROUP BY k.kind;
.print == lookups
SELECT e.number, (SELECT id FROM futexes x WHERE x.thread = 2 AND x.at_ns >= e.number ORDER BY x.at_ns LIMIT 1)
FROM (SELECT begin_ns AS number FROM epochs) e;
.print == order
SELECT name FROM kinds ORDER BY name DESC;
.print == fields
SELECT count(*) FROM other_fields WHERE id > 3;
END
for name in every slice demo; do
	check "constraints and orders of $name.cap hold as in the database" same_answers $name constraints.sql
done

check "rows that two conditions find are told apart by a number that nobody asked for" \
	[ "$(module "'every.cap'" "EXPLAIN QUERY PLAN SELECT sum(dur_ns) FROM calls WHERE (at_ns > 500100000000 AND at_ns < 500300000000)
		OR (at_ns > 500200000000 AND at_ns < 501200000000)" | grep -c 'MULTI-INDEX OR')" = 1 ]

# Trust and seals.
fails "a capture of a stranger is refused" 'UNTRUSTED' env GPUREC_HOME="$TMP/nobody" LD_PRELOAD="$sanitizer" sqlite3 -bail :memory: \
	".load $BUILD/gpucap" "SELECT gpucap_open('every.cap')"
check_exit 0 "but not with its key" env GPUREC_HOME="$TMP/nobody" LD_PRELOAD="$sanitizer" sqlite3 -bail :memory: \
	".load $BUILD/gpucap" "SELECT gpucap_open('every.cap', 'run', 'trust=every.pub')" "SELECT verdict FROM capture"
check_prints '^OK$' "and is authentic"
gives "the seals are checked first, chunks as they are read" "'every.cap'" "SELECT verdict, unverified, checked FROM capture" "OK|0|seals"
gives "or all of it, if asked for" "'every.cap', 'run', 'verify=rows'" "SELECT verdict, checked FROM capture" "OK|rows"
gives "an unsealed capture says so" "'cut.cap'" "SELECT verdict, sealed FROM capture" "UNSEALED|0"
gives "a slice, too" "'slice.cap'" "SELECT verdict, withheld_chunks > 0 FROM capture" "OK-SLICE|1"
gives "and a redacted one" "'redacted.cap'" "SELECT verdict FROM capture" OK-REDACTED
printf 'no capture' >none.cap
fails "what is no capture is refused" 'MALFORMED' shell "SELECT gpucap_open('none.cap')"
fails "what is not there, too" 'absent\.cap|No such file' shell "SELECT gpucap_open('absent.cap')"

# One byte of the second epoch is another: what reads it fails, what does not need it cannot even notice.
at=$(grep -abo Qz7marker1x every.cap | head -n 1 | cut -d: -f1)
check "a text stands in the file as it is" [ -n "$at" ]
cp every.cap forged.cap
printf 'F' | dd of=forged.cap bs=1 seek="$at" conv=notrunc 2>/dev/null
check_exit 1 "gpuverify finds the forged byte" "$BUILD/gpuverify" forged.cap
fails "so does the module when all is to be verified" 'FORGED' shell "SELECT gpucap_open('forged.cap', 'run', 'verify=rows')"
check_exit 0 "else it is opened" shell "SELECT gpucap_open('forged.cap')" "SELECT gpucap_open('every.cap', 'all', 'verify=rows')"
check "and it is not said to be OK, but what was checked of it" [ "$(sed -n 1p out | sed 's/[0-9A-F]\{16\}.*//')" = \
	"seals OK, rows are checked as they are read; signed by " ]
check "as of what was verified to the last row" [ "$(sed -n 2p out | sed 's/[0-9A-F]\{16\}.*//')" = "OK, signed by " ]
fails "else it fails when it comes to that chunk" 'is not what was sealed' module "'forged.cap'" "SELECT count(*) FROM facts"
fails "also when it only has to count its rows" 'is not what was sealed' module "'forged.cap'" "SELECT id FROM calls WHERE at_ns > 501000000000"
gives "what ends before is read" "'forged.cap'" "SELECT count(id), max(at_ns) FROM calls WHERE at_ns < 501000000000" "24|500221000000"
gives "what begins later, too: the epochs between are not read" "'forged.cap'" \
	"SELECT count(id) FROM calls WHERE at_ns >= 502000000000" 24
gives "an epoch without a kind is not read for it" "'forged.cap'" "SELECT count(id) FROM xids" 4
gives "an event is found by its number" "'forged.cap'" "SELECT count(*) FROM calls WHERE id = 2" 1
gives "of losses no event has to be read" "'forged.cap'" "SELECT sum(num) FROM lost" 6
gives "with unverified it is read to where that goes, and says so" "'forged.cap', 'run', 'unverified'" \
	"SELECT verdict, unverified, stopped IS NOT NULL, events = (SELECT count(*) FROM events) FROM capture" "FORGED|1|1|1"
"$replay" -q --unverified forged.cap -o forged.db
check "as the database does" [ "$(sqlite3 forged.db "SELECT count(*), max(id) FROM events")" = \
	"$(module "'forged.cap', 'run', 'unverified'" "SELECT count(*), max(id) FROM events")" ]

# Ways to ask for it.
check "one table can be had by any name" [ "$(shell "CREATE VIRTUAL TABLE mine USING gpucap('every.cap', calls)" \
	"SELECT count(*) FROM mine")" = 72 ]
check "all of them beside one that stands for all" [ "$(shell "CREATE VIRTUAL TABLE run USING gpucap('every.cap')" \
	"SELECT verdict FROM run" "SELECT count(*) FROM launches")" = "OK
6" ]
check "its name can be that of the table" [ "$(shell "CREATE VIRTUAL TABLE capture USING gpucap('every.cap')" \
	"SELECT verdict FROM capture" "SELECT count(*) > 60 FROM sqlite_master")" = "OK
1" ]
check "two captures stand side by side" [ "$(shell ".output opened" "SELECT gpucap_open('every.cap', 'a')" \
	"SELECT gpucap_open('demo.cap', 'b')" ".output" "SELECT (SELECT count(*) FROM a.launches), (SELECT count(*) FROM b.launches)" \
	"DETACH a" "SELECT count(*) FROM launches")" = "6|4408
4408" ]
LD_PRELOAD=$sanitizer sqlite3 kept.db ".load $BUILD/gpucap" "CREATE VIRTUAL TABLE run USING gpucap('every.cap', trust='every.pub')"
check "a database that was told of a capture knows it the next time" \
	[ "$(LD_PRELOAD=$sanitizer sqlite3 kept.db ".load $BUILD/gpucap" "SELECT count(*), (SELECT verdict FROM run) FROM launches")" = "6|OK" ]
fails "a table that there is not is named" "there is no table 'nix'" shell "CREATE VIRTUAL TABLE x USING gpucap('every.cap', nix)"
fails "a wrong option, too" "'verify=some'" shell "SELECT gpucap_open('every.cap', 'run', 'verify=some')"
fails "a capture has to be named" 'which capture' shell "CREATE VIRTUAL TABLE x USING gpucap()"
fails "nothing can be written" 'may not be modified' module "'every.cap'" "DELETE FROM calls"
check "a refused one leaves nothing behind" [ "$(LD_PRELOAD=$sanitizer sqlite3 :memory: 2>/dev/null <<END
.load $BUILD/gpucap
SELECT gpucap_open('none.cap');
CREATE TABLE calls(x);
CREATE VIRTUAL TABLE run USING gpucap('every.cap');
SELECT count(*) FROM sqlite_master;
SELECT count(*) FROM pragma_database_list;
END
)" = "1
1" ]
finish
