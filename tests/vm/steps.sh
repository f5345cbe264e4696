#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What is tried in a guest, as tests; each argument is a step:
#
#   check      gpurec --check, of the ordinary and of the static program
#   record     the workload with planted faults: verified, queried, sums, causes
#   flood      into a small ring: sums
#   stacks     of nested calls: no frame that is not of the program
#   metrics    --metrics
#   detach     how long it takes until gpurec has ended, and until the kernel has taken all probes off
#   refused    where the kernel has no memory for threads' state: --check says so, and each call is counted once, as lost
#   peer       captures of the host (/gpurec/vm/*.cap) give the same events as on the host (/gpurec/vm/sums)
#   cli:NAME   tests/cli/NAME.sh
#   unit       the unit tests
#   sh:NAME    the script /gpurec/vm/NAME, if it was given in FILES
#
# Files for the host go into $OUT. A guest's CPUs take turns on one CPU of the host, so that threads really wait for CPUs:
# sums must be exact and no planted fault that took may be missed, but other findings are not wrong.
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source-path=SCRIPTDIR/../cli
. "$here/../cli/lib.sh"
. "$here/../cli/truth.sh"
gpurec=$BUILD/gpurec
driver=$BUILD/workload/driver

# measure NAME COMMAND...: the line "NAME VALUE" of the results is what COMMAND prints
measure() {
	local name=$1 value
	shift
	value=$("$@") || value="?"
	echo "$name ${value:-?}" >>"$OUT/figures"
	echo "# $name ${value:-?}"
}

ask() { sqlite3 -readonly "$@"; }

# keep NAME: the capture, and the sum of its events as JSON, to be compared on the host
keep() {
	cp "$TMP/$1.cap" "$OUT/$1.cap" && echo "$(as_text "$TMP/$1.cap") $1.cap" >>"$OUT/sums"
}
# as_text CAPTURE: the sum of its events as JSON, which does not depend on the signers that this machine trusts
as_text() { GPUREC_HOME=$TMP/nobody "$BUILD/gpureplay" -q --unverified --json "$1" | sha256sum | cut -d' ' -f1; }

step_check() {
	check_exit 0 "--check says that recording is possible" "$gpurec" --check
	cp "$TMP/out" "$OUT/check"
	measure possible sh -c 'tail -n 1 "$1" | grep -q " is possible" && echo yes || echo no' sh "$OUT/check"
	check_exit 0 "so does the static program" "$BUILD/static/gpurec-alone" --check
	check_exit 0 "--check proves --metrics" "$gpurec" --check --metrics 100ms
	"$gpurec" --check -v -v --metrics 100ms >"$OUT/check.vv" 2>&1
}

# record NAME OPTION...: records into $TMP/NAME.cap; a recorder that does not end is killed and its last words are shown
record() {
	local name=$1 out
	shift
	out=$OUT/$name.said
	rm -f "$TMP/$name.cap"
	timeout -s ABRT 200 "$gpurec" -v -o "$TMP/$name.cap" "$@" >"$out" 2>&1 && return
	tail -n 20 "$out"
	return 1
}
view() { "$BUILD/gpureplay" -q --force "$TMP/$1.cap" -o "$TMP/$1.db"; }
sums() { # CAPTURE TRUTH: recorded, lost and made of all functions
	ask "$TMP/$1.db" "SELECT sum(recorded) || ' ' || sum(lost) || ' ' || sum(calls) FROM probe_counts JOIN (
		SELECT key AS name, json_extract(value, '\$.calls') AS calls FROM json_each(CAST(readfile('$2') AS TEXT), '\$.functions')
		WHERE json_extract(value, '\$.kind') <> 'other') USING (name)"
}
exact() { # of every probe, functions or not
	ask "$1" "SELECT name, fired, recorded, lost FROM probe_counts WHERE fired <> recorded + lost" >"$TMP/wrong"
	cat "$TMP/wrong"
	[ ! -s "$TMP/wrong" ]
}

step_record() {
	local truth=$TMP/record.json
	check "the workload is recorded" record_workload || return
	check_exit 0 "its capture verifies" "$BUILD/gpuverify" "$TMP/record.cap"
	check_prints '^OK ' "the verdict is OK"
	measure verdict awk 'NR == 1 { print $1 }' "$TMP/out"
	check "its view is made" view record
	check "for each kind as many rows as calls were made" same_counts "$TMP/record.db" "$truth"
	check "for each function recorded + lost is what was called" nothing_unaccounted "$TMP/record.db" "$truth"
	check "of every probe fired is recorded + lost" exact "$TMP/record.db"
	check "sleeps until a time end by its timer, as far as interrupts end them" ends_by_timer
	check "no frame of a stack is where probed calls return to" no_probe_page
	measure record sums record "$truth"
	check "it is analysed" sh -c '"$0" -q --json "$1" >"$2"' "$BUILD/gpuanalyze" "$TMP/record.cap" "$TMP/report.json"
	"$BUILD/tests/score" "$truth" "$TMP/report.json" >"$OUT/score" 2>&1
	check "planted faults that took are found with their causes" found
	measure found sh -c 'echo "$(grep -c "^found" "$1") $(grep -c "^MISSED" "$1")"' sh "$OUT/score"
	check "it is kept for the host" keep record
	cp "$TMP/report.json" "$OUT"
	cp "$GPUREC_HOME"/*.pub "$OUT" 2>/dev/null
}
# In nanosleep and clock_nanosleep, of x86_64 and of arm64.
ends_by_timer() {
	ask "$TMP/record.db" "SELECT waker_context, count(*) FROM offcpu_intervals WHERE syscall IN (35, 230, 101, 115) AND waker_context <> 'task'
		GROUP BY 1" | tee "$TMP/contexts"
	grep -qE '^timer\|[0-9]{2,}' "$TMP/contexts" && ! grep -q '^irq' "$TMP/contexts"
}
# On a guest it is no failure that a fault could not be planted; the truth lists those that took.
record_workload() {
	local truth=$TMP/record.json
	find_probe_page &
	record record -- "$driver" -q --seconds 6 --truth "$truth" || grep -q '^driver: not all faults took' "$OUT/record.said"
	cp "$truth" "$OUT"
	wait $!
}
# The page to which probed calls return: the kernel maps it into the program, and it is no function's caller.
find_probe_page() {
	local pid
	for _ in $(seq 300); do
		pid=$(pgrep -x driver | head -n 1)
		if [ -n "$pid" ] && grep '\[uprobes' "/proc/$pid/maps" >"$OUT/probe_pages" 2>/dev/null; then
			return
		fi
		sleep 0.02
	done
}
no_probe_page() {
	local from to
	IFS='- ' read -r from to _ <"$OUT/probe_pages" || { echo "the page was not found"; return 1; }
	ask "$TMP/record.db" "SELECT DISTINCT frames FROM stacks JOIN frames AS f USING (stack)
		WHERE f.address BETWEEN $((16#$from)) AND $((16#$to)) LIMIT 20" >"$TMP/wrong"
	cat "$TMP/wrong"
	[ "$(ask "$TMP/record.db" "SELECT count(*) FROM frames")" -gt 20 ] && [ ! -s "$TMP/wrong" ]
}
found() {
	cat "$OUT/score"
	grep -q '^found' "$OUT/score" && ! grep -q '^MISSED' "$OUT/score"
}

step_refused() {
	local truth=$TMP/refused.json
	check_exit 3 "--check says that recording is not possible without memory" "$gpurec" --check
	check_prints '^no +uprobe +fired, but the kernel gave no memory' "it says what the kernel refused"
	check "calls without memory are recorded" record refused -- "$driver" -q --flood 300 --threads 2 --truth "$truth" || return
	check "their capture's view is made" view refused
	check "each is lost, and counted once" nothing_unaccounted "$TMP/refused.db" "$truth"
	check "for want of memory" lost_for no_state
}
lost_for() { # CAUSE: all that is lost of CUDA functions
	ask "$TMP/refused.db" "SELECT DISTINCT cause FROM losses WHERE probe LIKE 'cuda%'" | tee "$TMP/causes"
	[ "$(cat "$TMP/causes")" = "$1" ]
}

step_flood() {
	local truth=$TMP/flood.json ring
	ring=$(getconf PAGESIZE)
	[ "$ring" -ge 8192 ] || ring=8192
	check "a flood into a small ring is recorded" \
		record flood --ring "$ring" -- "$driver" -q --flood 3000 --threads 4 --truth "$truth" || return
	check_exit 0 "its capture verifies" "$BUILD/gpuverify" "$TMP/flood.cap"
	check "its view is made" view flood
	check "for each function recorded + lost is what was called, in a flood" nothing_unaccounted "$TMP/flood.db" "$truth"
	check "of every probe fired is recorded + lost, in a flood" exact "$TMP/flood.db"
	check "calls are lost in a flood" lost_some
	measure flood sums flood "$truth"
}
lost_some() { [ "$(ask "$TMP/flood.db" "SELECT sum(lost) FROM probe_counts WHERE name LIKE 'cuda%'")" -gt 0 ]; }

# Of a driver call that the runtime makes, the first frame is the runtime's and the next one the program's.
step_stacks() {
	check "nested calls are recorded" record nested -- "$driver" -q --flood 300 --threads 2 || return
	check "their view is made" view nested
	check "the capture of nested calls is kept" keep nested
	check "stacks of nested calls lead through the runtime into the program" nested_right
	measure nested ask "$TMP/nested.db" "$nested SELECT count(*), count(*) FILTER (WHERE NOT right) FROM nested"
}
nested="WITH nested AS (SELECT c.id, coalesce(f0.symbol LIKE 'cuda%' AND m0.path LIKE '%/libcudart.so%'
	AND m1.path LIKE '%/driver', 0) AS right, f0.symbol AS s0, f1.symbol AS s1, f1.address AS a1 FROM calls c
	LEFT JOIN frames f0 ON f0.stack = c.stack AND f0.depth = 0 LEFT JOIN modules m0 ON m0.module = f0.module
	LEFT JOIN frames f1 ON f1.stack = c.stack AND f1.depth = 1 LEFT JOIN modules m1 ON m1.module = f1.module
	WHERE c.flags & 1 AND c.stack <> 0)"
nested_right() {
	ask "$TMP/nested.db" "$nested SELECT s0, s1, printf('%x', a1), count(*) FROM nested WHERE NOT right GROUP BY 1, 2, 3 LIMIT 20"
	[ "$(ask "$TMP/nested.db" "$nested SELECT count(*) >= 300 AND sum(right) = count(*) FROM nested")" = 1 ]
}
step_metrics() {
	check "CPUs are sampled" record metrics --metrics 100ms -d 3s -- "$driver" -q --clean --seconds 3 || return
	check_exit 0 "the capture with samples verifies" "$BUILD/gpuverify" "$TMP/metrics.cap"
	check "the view of samples is made" view metrics
	check "there are samples of each CPU" \
		test "$(ask "$TMP/metrics.db" "SELECT count(DISTINCT cpu) FROM metrics")" -eq "$(nproc)"
	check "every sample is recorded or counted as lost" exact "$TMP/metrics.db"
	measure metrics ask "$TMP/metrics.db" "SELECT count(*) FROM metrics"
}

# The driver says when it ends; what then goes on in the kernel is seen by the process that it goes on in.
step_detach() {
	local ended
	rm -f "$TMP/detach.cap"
	check "a recording whose end is timed" timeout 200 "$gpurec" -q -o "$TMP/detach.cap" -- \
		bash -c '"$1" -q --flood 300; cut -d" " -f1 /proc/uptime >"$2"' bash "$driver" "$TMP/ended"
	read -r ended <"$TMP/ended"
	measure ended since "$ended"
	while pgrep -x gpurec-detaches >/dev/null; do sleep 1; done
	measure off since "$ended"
	check "gpurec ends within 15 s of its command" within 15 ended
}
since() { awk -v from="$1" '{ printf "%.1f\n", $1 - from }' /proc/uptime; }
within() { awk -v most="$1" -v name="$2" '$1 == name { if ($2 <= most) ok = 1; print } END { exit !ok }' "$OUT/figures"; }

step_peer() {
	local sum name
	while read -r sum name; do
		check "$name of another machine gives the same events here" same_text "$sum" "/gpurec/vm/$name"
	done </gpurec/vm/sums
}
same_text() {
	local is
	is=$(as_text "$2")
	echo "there: $1"
	echo "here:  $is"
	[ "$is" = "$1" ]
}

# The tests of another script, each under that script's name.
step_cli() {
	local name=$1 line
	while IFS= read -r line; do
		case $line in
		ok\ *) lib_result 0 "$name: $(sed -E 's/^ok [0-9]+ (- )?//' <<<"$line")" ;;
		"not ok "*) lib_result 1 "$name: $(sed -E 's/^not ok [0-9]+ (- )?//' <<<"$line")" </dev/null ;;
		"Bail out"*) lib_result 1 "$name: $line" </dev/null ;;
		"#"*) echo "$line" ;;
		esac
	done < <(timeout 600 bash "$here/../cli/$name.sh" 2>>"$OUT/stderr")
}

step_unit() {
	local test
	for test in "$BUILD"/tests/unit/test_*; do
		check "${test##*/} passes" env CMOCKA_MESSAGE_OUTPUT=STDOUT timeout 600 "$test"
	done
}

for step in "$@"; do
	echo "# step $step at $(cut -d' ' -f1 /proc/uptime) s"
	case $step in
	cli:*) step_cli "${step#cli:}" ;;
	sh:*) check "${step#sh:} runs" sh -c "bash /gpurec/vm/${step#sh:} >$OUT/${step#sh:}.out 2>&1" ;;
	check | record | refused | flood | stacks | metrics | detach | peer | unit) "step_$step" ;;
	*) check "there is a step $step" false ;;
	esac
done
finish
