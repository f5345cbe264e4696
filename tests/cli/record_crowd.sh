#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Many processes that start, fork, run other programs, put themselves into the background, hang and end at random: each
# of their calls is recorded, or counted as what became of it, and who still runs is named. They count their own calls.
# alone: what is in flight, and lost, is counted over all that is recorded
. "$(dirname "$0")/lib.sh"
gpurec=$BUILD/gpurec
cap=$TMP/run.cap
view=$TMP/view.db
crowd=$BUILD/workload/leave/crowd
n=${LONG:+200} n=${n:-50}
seeds=${SEEDS:-${LONG:+1 2 3 4 5}} seeds=${seeds:-1}

needs_recording "many processes that come and go"
if [ ! -x "$crowd" ]; then
	skip "many processes that come and go" "the test double is not built here"
	finish
fi

# What is told of the crowd, against what it told itself: no row is success.
wrong() { # SQL
	local rows
	rows=$(sqlite3 -readonly -header "$view" "
		CREATE TEMP TABLE member(pid INTEGER, s_entered INTEGER, s_returned INTEGER, s_inherited INTEGER, s_open INTEGER,
			e_entered INTEGER, e_returned INTEGER, e_inherited INTEGER, e_open INTEGER, stays INTEGER, status INTEGER);" \
		".separator ' '" ".import --schema temp $TMP/told member" "
		CREATE TEMP VIEW truth AS
			SELECT 'cudaStreamSynchronize' AS name, pid, s_entered AS entered, s_returned AS returned, s_inherited AS inherited,
				s_open AS open, stays, status FROM member
			UNION ALL SELECT 'cudaEventSynchronize', pid, e_entered, e_returned, e_inherited, e_open, stays, status FROM member;
		SELECT 'nobody told anything' WHERE (SELECT count(*) FROM member) <> $n;
		$1") || return
	echo "$rows"
	[ -z "$rows" ]
}
each_call_accounted_for() {
	wrong "SELECT t.name, sum(entered) + sum(inherited) AS made, fired, sum(returned) AS returned, recorded, lost
		FROM truth t LEFT JOIN probe_counts c USING (name) GROUP BY t.name
		HAVING made IS NOT fired OR fired IS NOT recorded + lost"
}
each_call_recorded() {
	wrong "SELECT name, pid, returned, (SELECT count(*) FROM calls c JOIN probes p USING (probe) WHERE c.pid = t.pid AND p.name = t.name)
		AS recorded FROM truth t WHERE recorded <> returned"
}
nothing_lost() {
	wrong "SELECT name, cause, num FROM truth JOIN lost ON probe = name WHERE absence = 'lost' GROUP BY 1, 2"
}
in_flight() {
	wrong "SELECT name, pid, open, (SELECT count(*) FROM calls_in_flight c WHERE c.pid = t.pid AND function_name = name AND moment = 'end')
		AS told FROM truth t WHERE told <> iif(stays, open, 0);
		SELECT name, sum(open) AS made, num FROM truth LEFT JOIN lost ON probe = name AND cause = 'in_flight' WHERE stays
		GROUP BY name HAVING made IS NOT coalesce(num, 0);
		SELECT name, sum(inherited) AS made, num FROM truth LEFT JOIN lost ON probe = name AND cause = 'no_entry'
		GROUP BY name HAVING made IS NOT coalesce(num, 0)"
}
who_still_runs() {
	wrong "SELECT pid, stays, EXISTS (SELECT 1 FROM thread_states s WHERE s.pid = m.pid AND moment = 'end' AND state <> 'dead') AS told
		FROM member m WHERE told <> stays"
}
how_they_ended() {
	wrong "SELECT m.pid, m.status, p.status, end_ns FROM member m LEFT JOIN processes p USING (pid)
		WHERE p.pid IS NULL OR (p.end_ns IS NULL) <> stays OR NOT stays AND p.status IS NOT m.status"
}
stay() { awk '$10 { print $1 }' "$TMP/told"; }
named() { # a sentence: how many stay, and the first of them by number
	local many first
	many=$(stay | wc -l) first=$(stay | sort -n | head -n 1)
	grep -E "$many recorded process(es)? still ran.*[^0-9]$first[^0-9]" "$1"
}
report_names() { # and where all of them are, unless these are all
	"$BUILD/gpuanalyze" --report "$cap" >"$TMP/report" && named "$TMP/report" || return
	[ "$(stay | wc -l)" -le 4 ] || grep 'view thread_states of .* has all that still ran' "$TMP/report"
}
leave() { stay | xargs -r kill -KILL; }
see() { rm -f "$view" && "$BUILD/gpureplay" -q "$cap" -o "$view"; }

as_command() {
	"$gpurec" --force -o "$cap" "$@" -- "$crowd" "$n" "$seed" "$TMP/counts" >"$TMP/told" 2>"$TMP/err" && see
}
# begin GPUREC-OPTION...: the first of the crowd waits until it is recorded; `first` and `recorder` are their numbers
begin() {
	rm -f "$TMP/go"
	mkfifo "$TMP/go"
	"$crowd" "$n" "$seed" "$TMP/counts" wait <"$TMP/go" >"$TMP/said" &
	first=$!
	exec 9>"$TMP/go"
	until_true grep -q waits "$TMP/said" || return
	"$gpurec" --force -o "$cap" "${@/FIRST/$first}" 2>"$TMP/err" &
	recorder=$!
	until_recording "$recorder"
	echo >&9
	exec 9>&-
}
end() { grep -v waits "$TMP/said" >"$TMP/told"; }
by_number() {
	begin -p FIRST && wait "$recorder" && wait "$first" && end && see
}
whole_host() {
	begin && wait "$first" && kill -INT "$recorder" && wait "$recorder" && end && see
}

for seed in $seeds; do
	check "crowd $seed: a command that becomes $n processes is recorded" as_command
	check "crowd $seed: each call is accounted for" each_call_accounted_for
	check "crowd $seed: each that returned is recorded, of its own process" each_call_recorded
	check "crowd $seed: none is lost" nothing_lost
	check "crowd $seed: those that are in flight are told, of those who still run" in_flight
	check "crowd $seed: who still runs is told, and nobody else" who_still_runs
	check "crowd $seed: how each of the others ended is told" how_they_ended
	check "crowd $seed: gpurec names them" named "$TMP/err"
	check "crowd $seed: the report names them" report_names
	check_exit 0 "crowd $seed: the capture verifies" "$BUILD/gpuverify" "$cap"
	leave

	check "crowd $seed: a process is recorded that becomes $n" by_number
	check "crowd $seed: each call of these is accounted for" each_call_accounted_for
	check "crowd $seed: and recorded" each_call_recorded
	check "crowd $seed: or in flight" in_flight
	check "crowd $seed: who of these still runs is told" who_still_runs
	check "crowd $seed: and how the others ended" how_they_ended
	check "crowd $seed: their report names them" report_names
	leave

	check "crowd $seed: a host is recorded on which they come and go" whole_host
	check "crowd $seed: each call on it is accounted for" each_call_accounted_for
	check "crowd $seed: and recorded" each_call_recorded
	check "crowd $seed: or in flight" in_flight
	check "crowd $seed: who of them still runs is told" who_still_runs
	leave

	check "crowd $seed: they are recorded with a buffer that is too small" as_command --ring 64K
	check "crowd $seed: each call is accounted for, however much is lost" each_call_accounted_for
	check "crowd $seed: and who still runs is told" who_still_runs
	leave
done
finish
