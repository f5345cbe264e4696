#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# More comes than there is room for, of each thing that is recorded of the host: what fired was recorded or is counted as
# lost, and is not less than the program made, by accounts of its own and of the kernel's.
#
# One recording. First there is room for all. Then the program stops its recorder, fills both of its buffers, and makes
# everything once more: all of that is lost, however fast or busy the machine is.
# records: each checks only what it started itself
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/rows.sh"
. "$(dirname "$0")/own.sh"
few=10 many=12000 # so many signals or names have no room

needs_recording "losses of each probe of the host"
prepare_host
probes+=(sched_switch sched_waking cpu_metric) # which are made whatever is
# (A program that maps a library which nobody has inspected waits for the recorder: not here, where that is stopped.)
flooded() {
	serve_host && REMOTE=$REMOTE.again serve_host &&
		record --metrics 10ms --ring 256K --no-late-attach -- bash tests/workload/host.sh "$TMP/made" $few $many "${probes[@]}"
}
check "a program is recorded that makes all of this, and stops its recorder meanwhile" flooded
made() { awk -v probe="$1" '$1 == probe { n += $2 } END { print n + 0 }' "${@:2}"; } # PROBE FILE...: how many
# Signals are sent by the program alone. A row may stand for several records that are alike, if it is one of scheduling. What
# the kernel does not run is lost, too.
exact() { # PROBE
	local all lost
	all=$(made "$1" "$TMP"/made.room "$TMP"/made.full "$TMP"/made.lost) lost=$(made "$1" "$TMP/made.lost")
	grep -h "^$1 " "$TMP"/made.room "$TMP"/made.full "$TMP"/made.lost
	sql "SELECT fired || ' fired, ' || recorded || ' recorded' FROM probe_counts WHERE name = '$1';
		SELECT num || ' ' || cause FROM lost WHERE probe = '$1'"
	[ "$lost" -gt 0 ] && is 1 "SELECT fired = recorded + full + not_run AND fired >= $all AND full >= $lost AND recorded > 0 AND
			CASE '$1' WHEN 'signal_sent' THEN fired = $all ELSE 1 END AND
			CASE '$1' WHEN 'thread_scheduling' THEN recorded >= rows ELSE recorded = rows END
		FROM (SELECT fired, recorded, probe FROM probe_counts WHERE name = '$1')
		JOIN (SELECT probe, rows FROM probes JOIN kind_counts USING (kind)) USING (probe)
		JOIN (SELECT total(num) FILTER (WHERE cause = 'ring_full') AS full, total(num) FILTER (WHERE cause = 'not_run') AS not_run
			FROM lost WHERE probe = '$1')"
}
for probe in "${probes[@]}"; do
	check "$probe: what fired is recorded or lost, and is not less than was made" exact "$probe"
done
for line in "${unmade[@]}"; do
	skip "${line%%: *}: what fired is recorded or lost" "${line#*: }"
done
check "of every other probe as well" is "" "SELECT name, fired, recorded, lost FROM probe_counts WHERE fired <> recorded + lost"
check "the recording is not complete" sh -c '! "$1" -q --require-complete "$2"' sh "$BUILD/gpuverify" "$cap"
finish
