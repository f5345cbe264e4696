#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Rules that users write: what they find, where they stand in reports, what they may not do, and how their errors are told.
. "$(dirname "$0")/lib.sh"
cd "$(dirname "$0")/../.." || exit 1
mkcap=$BUILD/tests/mkcap
analyze=$BUILD/gpuanalyze

printf '%s\n' 'process at=+0s pid=200 start=1s tracked=1 name=driver' \
	'thread at=+0s tid=201 pid=200 start=1s name="<b>\x1b\"{pid}"' \
	'repeat 120 2ms launch at=+10ms pid=200 tid=201 dur=17us grid_x=1 grid_y=1 grid_z=1 block_x=16 block_y=1 block_z=1' \
	'repeat 5 20ms copy at=+20ms pid=200 tid=201 dur=9ms bytes=1M direction=1' >"$TMP/script"
"$mkcap" -o "$TMP/run.cap" --pub "$TMP/pub" "$TMP/script" || exit 1

# --- the examples ---
check_exit 0 "the examples of docs/rules run" "$analyze" --trust "$TMP/pub" --rules docs/rules "$TMP/run.cap"
check_prints '^Judged by .*, [0-9]+ rules and 2 of the user, ' "the report says that there were two more rules"
check_prints '^  \[[0-9]+\] slow-copies info: user' "slow-copies finds the slow copies"
check_prints '5 copies of process 200 \(host-to-device\) moved 5\.00 MiB in 45\.0 ms\.$' "and fills in its message"
check_prints 'Process 200 launched 120 kernels of less than 32 threads, which took the host 2\.04 ms\.$' "tiny-kernels the tiny kernels"
check_prints 'It cost 45\.0 ms.* % of the recorded time' "what it cost is a share of the run"
check_prints 'To do: Copy from pinned memory' "with the rule's advice"
check_exit 0 "on a capture without such they find nothing" "$analyze" -q --trust tests/golden/demo.pub --rules docs/rules --json tests/golden/demo.cap
check "and no rule is told in vain" sh -c "! grep -q '\"class\": \"user\"' '$TMP/out'"
check_exit 1 "--fail-on knows their severity" "$analyze" -q --trust "$TMP/pub" --rules docs/rules --fail-on info "$TMP/run.cap"
check_exit 0 "--list-rules shows them" "$analyze" --rules docs/rules --list-rules
check_prints '^slow-copies \(info, yours\): pageable copies' "with their summary"
check_exit 0 "--explain shows one" "$analyze" --rules docs/rules --explain tiny-kernels
check_prints '^  SELECT pid, count' "with its query"

# rule NAME=x HEAD... : a folder with one rule file of these lines
rule() {
	rm -rf "$TMP/r"
	mkdir "$TMP/r"
	printf '%s\n' "$@" >"$TMP/r/x.sql"
}
run_rule() {
	"$analyze" -q --trust "$TMP/pub" --rules "$TMP/r" --json "$TMP/run.cap"
}
head=('-- name: x' '-- severity: warning')
hash_of() {
	run_rule | sed -n 's/.*"hash": "\([0-9a-f]*\)".*/\1/p' | head -n 1
}

# --- what they find ---
rule "${head[@]}" '-- message: {n:hex} {t} {t:ns} {u}' 'SELECT 255 AS n, char(27) || "</td>" || char(10) AS t, NULL AS u, 1.5 AS f, -3 AS m;'
check_exit 0 "a message shows numbers, texts and what is not known" run_rule
check_prints '"headline": "0xff \\\\x1b</td>\\\\x0a 0 ns unknown"' "with control characters made harmless"
check_prints '"f": "1\.5"' "columns are facts"
first=$(hash_of)
check "the hash of the rules is the same each time" test "$(hash_of)" = "$first"
echo '-- a comment' >>"$TMP/r/x.sql"
check "and another one when a byte of a rule is another" test "$(hash_of)" != "$first"
rule "${head[@]}" '-- message: {begin_ns}' 'SELECT start_ns AS begin_ns, at_ns AS end_ns, tid, 7 AS count, dur_ns AS cost_ns FROM calls LIMIT 1'
check_exit 0 "begin_ns, end_ns, tid, count and cost_ns are understood" run_rule
check_prints '"begin_ns": 1000009983000,' "as when it was"
check_prints '"count": 7,' "how often"
check_prints '"weight": 17000,' "and what it cost"
rule "${head[@]}" '-- message: {i}' 'WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 5000) SELECT i FROM c'
check_exit 0 "a rule that finds too much is cut" run_rule
check "at a hundred" test "$(grep -c '"class": "user"' "$TMP/out")" -eq 100
check_prints 'Rule x found more than the 100 that are listed here' "and that is a finding"

# --- each table and view of the documented view can be asked ---
rm -rf "$TMP/r"
mkdir "$TMP/r"
for view in $(sed -n 's/^### \([a-z_]*\)$/\1/p' docs/SCHEMA.md); do
	printf -- '-- name: %s\n-- severity: info\n-- message: {n}\nSELECT count(*) AS n FROM "%s"\n' "t-${view//_/-}" "$view" >"$TMP/r/$view.sql"
done
check_exit 0 "rules can ask all tables and views of docs/SCHEMA.md" run_rule
check "of which there are dozens" test "$(grep -c '"rule": "t-' "$TMP/out")" -ge 40

# --- what they may not do ---
# refuses SENTENCE REGEX LINE...: the rule is refused with exit status 3, in one line that matches; nothing is printed
refuses() {
	local sentence=$1 regex=$2
	shift 2
	rule "$@"
	check_exit 3 "$sentence" run_rule
	check_says "^gpuanalyze: x\.sql, line [0-9]+: $regex" "and is told why"
	check "in one line, without a report" test "$(wc -l <"$TMP/err")-$(wc -c <"$TMP/out")" = 1-0
}
m='-- message: m'
refuses "a rule cannot write a file" 'a rule is one SELECT|ATTACH' "${head[@]}" "$m" "VACUUM INTO '$TMP/stolen'"
refuses "nor attach a database" 'ATTACH and DETACH are not for rules' "${head[@]}" "$m" "ATTACH '$TMP/stolen' AS s"
refuses "nor change the view" 'a rule can only read|may not be modified' "${head[@]}" "$m" 'DELETE FROM calls'
refuses "nor make a table" 'a rule can only read' "${head[@]}" "$m" 'CREATE TABLE t(a)'
refuses "nor ask with PRAGMA" 'PRAGMA table_list is not for rules' "${head[@]}" "$m" 'PRAGMA table_list'
refuses "nor by its table" 'a rule can only read|PRAGMA' "${head[@]}" "$m" 'SELECT name FROM pragma_database_list'
refuses "nor load code" 'the function load_extension\(\) is not for rules' "${head[@]}" "$m" "SELECT load_extension('x') AS x"
refuses "nor open another capture" 'the function gpucap_open\(\)|no such function' "${head[@]}" "$m" "SELECT gpucap_open('x') AS x"
refuses "nor ask for the time" 'the function strftime\(\) is not for rules' "${head[@]}" "$m" "SELECT strftime('%s', 'now') AS x"
refuses "nor for chance" 'the function random\(\) is not for rules' "${head[@]}" "$m" 'SELECT random() AS x'
refuses "nor take much memory" 'string or blob too big|not for rules|out of memory' "${head[@]}" "$m" "SELECT group_concat(a.name || b.name) AS x FROM (WITH RECURSIVE c(name) AS (SELECT hex(hex(hex('123456789'))) UNION ALL SELECT name FROM c LIMIT 20000) SELECT name FROM c) a, probes b"
refuses "two queries are refused" 'a rule is one SELECT, and something follows it' "${head[@]}" "$m" 'SELECT 1 AS a;' 'SELECT 2 AS b'
refuses "so is what is no query" 'a rule is one SELECT' "${head[@]}" "$m" 'EXPLAIN SELECT 1 AS a'
check "nothing was written" test ! -e "$TMP/stolen"

# --- errors are told with file and line ---
at_line() {
	local line=$1
	shift
	refuses "$@"
	check_says "^gpuanalyze: x\.sql, line $line: " "with line $line"
}
at_line 6 "SQL that is wrong is told" 'no such column: nowhere' "${head[@]}" "$m" '' 'SELECT id,' '  nowhere FROM calls'
at_line 3 "a column that the query has not" "'\{b' is not \{column\}" "${head[@]}" '-- message: {b}' 'SELECT 1 AS a'
at_line 3 "a form that there is not" "'\{a:meters' is no" "${head[@]}" '-- message: {a:meters}' 'SELECT 1 AS a'
at_line 3 "a brace that is not closed" "'\{a' is no" "${head[@]}" '-- message: {a' 'SELECT 1 AS a'
at_line 4 "a column without a name" 'column 1 has no plain name; give it one with AS' "${head[@]}" "$m" 'SELECT 1 + 1'
at_line 4 "two columns of one name" 'two columns are called a' "${head[@]}" "$m" 'SELECT 1 AS a, 2 AS a'
at_line 2 "a severity that there is not" 'a severity is info, warning or error' '-- name: x' '-- severity: bad' "$m" 'SELECT 1 AS a'
at_line 1 "a name with blanks" 'a name is up to 64 of a-z' '-- name: X y' '-- severity: info' "$m" 'SELECT 1 AS a'
at_line 1 "a built-in rule's name" 'launch-latency is a built-in rule' '-- name: launch-latency' '-- severity: info' "$m" 'SELECT 1 AS a'
at_line 1 "no message" "there is no line '-- message: ...'" "${head[@]}" 'SELECT 1 AS a'
at_line 3 "two names" "a second 'name'" "${head[@]}" '-- name: y' "$m" 'SELECT 1 AS a'
at_line 4 "no query" 'there is no query' "${head[@]}" "$m"
rule "${head[@]}" "$m" 'SELECT 1 AS a, 2 AS a'
check_exit 3 "an error is told for each capture" "$analyze" -q --trust "$TMP/pub" --trust tests/golden/demo.pub --rules "$TMP/r" "$TMP/run.cap" tests/golden/demo.cap
check "not for the first alone" test "$(grep -c 'two columns are called a' "$TMP/err")" -eq 2
rule "${head[@]}" '-- message: {n}' 'SELECT count(*) AS n FROM calls'
check_exit 0 "a rule runs over each capture" "$analyze" -q --trust "$TMP/pub" --trust tests/golden/demo.pub --rules "$TMP/r" --json "$TMP/run.cap" tests/golden/demo.cap
check "with a finding in each" test "$(grep -c '"rule": "x"' "$TMP/out")" -eq 2
rule "${head[@]}" "$m" 'SELECT 1 AS a'
cp "$TMP/r/x.sql" "$TMP/r/y.sql"
check_exit 3 "two rules of one name" run_rule
check_says '^gpuanalyze: y\.sql, line 1: x\.sql has the same name, x' "are told with both files"
mkdir "$TMP/empty"
check_exit 3 "a folder without rules is no folder of rules" "$analyze" --rules "$TMP/empty" "$TMP/run.cap"
check_says 'empty holds no rule: no file ends in \.sql' "and that is said"
check_exit 3 "nor is one that is not there" "$analyze" --rules "$TMP/none" "$TMP/run.cap"
rule "${head[@]}" "$m" 'SELECT 1 AS a'
head -c 70000 /dev/zero | tr '\0' ' ' >>"$TMP/r/x.sql"
check_exit 3 "a rule that is too long is refused" run_rule
check_says 'x\.sql, line 1: a rule has at most 65536 bytes' "and that is said"

# --- another capture under the name, while the report is made ---
# The rule's finding must be of the capture that the report is about, although the name leads to another one once that
# was opened. Large enough that it is seen open before the rules run.
printf '%s\n' 'process at=+0s pid=300 start=1s tracked=1 name=long' 'thread at=+0s tid=301 pid=300 start=1s name=long' \
	'repeat 3000000 2us launch at=+10ms pid=300 tid=301 dur=1us' >"$TMP/long.script"
"$mkcap" -o "$TMP/long.cap" --pub "$TMP/long.pub" "$TMP/long.script" || exit 1
rule "${head[@]}" '-- message: {n}' 'SELECT count(*) AS n FROM calls'
swapped() {
	local pid
	ln -sf long.cap "$TMP/link.cap"
	"$analyze" -q --trust "$TMP/pub" --trust "$TMP/long.pub" --rules "$TMP/r" --json "$TMP/link.cap" >"$TMP/out" &
	pid=$!
	for _ in $(seq 2000); do
		find "/proc/$pid/fd" -lname '*/long.cap' 2>"$TMP/find.err" | grep -q . && break
		kill -0 $pid 2>"$TMP/find.err" || break
	done
	ln -sf run.cap "$TMP/link.cap.new" && mv -T "$TMP/link.cap.new" "$TMP/link.cap"
	wait $pid
}
check "a capture that gets another's name while it is analysed" swapped
check "a rule sees the capture that was verified" grep -q '"headline": "3000000"' "$TMP/out"

# --- withheld names, unverified captures ---
rule "${head[@]}" '-- message: {n} {v}' 'SELECT count(*) AS n, (SELECT verdict FROM capture) AS v FROM calls'
check_exit 0 "an unverified capture can be asked when it is to be" "$analyze" -q --unverified --rules "$TMP/r" --json "$TMP/run.cap"
check_prints '"headline": "125 UNTRUSTED"' "and rules see that it is"
"$mkcap" --narrow "$TMP/run.cap" -o "$TMP/nameless.cap" --withhold process >/dev/null
check_exit 0 "a capture without names can be asked" "$analyze" -q --trust "$TMP/pub" --rules "$TMP/r" --json "$TMP/nameless.cap"
check_prints '"headline": "125 OK-REDACTED"' "with the same numbers"
finish
