#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What is switched off costs nothing: its BPF programs are not loaded, it does not fire however much of it there is, and the
# capture and the summary say that it was not recorded.
# records: each checks only what it started itself
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/rows.sh"
. "$(dirname "$0")/own.sh"

# option, fact, its probes, BPF programs that are there for it alone, what the summary says that is missing
cat >"$TMP/table" <<'EOF'
--no-futex|futex|futex library_mapped|on_sys_enter on_sys_exit|futexes, and with them waits for locks
--no-quota|cpu_quota|quota_throttled||when a CPU quota kept threads from running
--no-disks|disks|disk_request|on_request on_held_back|for which request to a disk threads waited
--no-network|network|network_wait|on_segment on_connection|through which connection came what threads waited for
--no-reclaim|reclaim|memory_reclaim|on_reclaim_begin on_reclaim_end on_limit_begin on_limit_end on_compact_begin on_compact_end|when threads had to free memory by themselves
--no-signals|signals|signal_sent|on_signal|who stopped, continued or ended processes by a signal
--no-follow|follow|waker_followed||what those did that are not recorded, and kept recorded threads waiting
no --metrics|metrics|cpu_metric|on_metrics start_metrics|
EOF
others="children command-lines late-attach paths" # what these leave out is no probe's
known() {
	{ sed -n 's/^--no-\([a-z-]*\)|.*/\1/p' "$TMP/table"; printf '%s\n' $others; } | sort >"$TMP/known"
	"$BUILD/gpurec" --help | grep -oE -- '--no-[a-z-]+' | sed 's/^--no-//' | sort -u | diff "$TMP/known" -
}
check "each option that switches off is known here" known

needs_recording "what is switched off"
prepare_host
can() { [[ " ${probes[*]} cpu_metric library_mapped " == *" $1 "* ]]; }
# made PROBE... -- OPTION...: that is made, and recorded with these options; $TMP/loaded: the programs that are loaded for it
made() {
	local which=()
	while [ "$1" != -- ]; do
		case $1 in waker_followed | library_mapped) set -- network_wait "${@:2}" ;; esac # which maps a library
		[[ " ${probes[*]} " != *" $1 "* ]] || which+=("$1")
		shift
	done
	if [[ " ${which[*]} " == *" network_wait "* ]]; then serve_host || return; fi
	# shellcheck disable=SC2016 # $PPID is the recorder
	record "${@:2}" -- bash -c '
		sed -n "s/^prog_id:[[:space:]]*//p" /proc/$PPID/fdinfo/* | sort -u >"$1.ids"
		"$2" prog show | awk "NR == FNR { id[\$1 \":\"]; next } \$1 in id && \$3 == \"name\" { print substr(\$4, 1, 15) }" "$1.ids" - | sort -u >"$1"
		exec bash tests/workload/host.sh "$1" 5 0 "${@:3}"' bash "$TMP/loaded" "${BPFTOOL:-bpftool}" "${which[@]}"
}
short() { printf '%.15s\n' "$@"; } # as the kernel keeps names
can_list=1
"${BPFTOOL:-bpftool}" prog show >"$TMP/out" 2>"$TMP/err" || can_list=
loaded() { # PROGRAM
	short "$1" | grep -xFf - "$TMP/all" || { cat "$TMP/all"; return 1; }
}
not_loaded() { # PROGRAM...: all others are
	short "$@" | grep -vxFf - "$TMP/all" | diff - "$TMP/loaded"
}

check "with everything switched on it is recorded" made "${probes[@]}" library_mapped -- --metrics 10ms
cp "$TMP/loaded" "$TMP/all"
sql "SELECT name FROM probe_counts WHERE fired > 0" >"$TMP/fired"
while IFS='|' read -r option fact its programs missing; do
	for probe in $its; do
		if can "$probe"; then
			check "$probe fires then" grep -qx "$probe" "$TMP/fired"
			[ -z "$can_list" ] || [ -z "$programs" ] || check "a BPF program is loaded for it" loaded "${programs%% *}"
		else
			skip "$probe fires then" "$(printf '%s\n' "${unmade[@]}" | sed -n "s/^$probe: //p")"
		fi
	done
done <"$TMP/table"
[ -n "$can_list" ] || skip "the programs of what is switched off are not loaded" "there is no bpftool"
while IFS='|' read -r option fact its programs missing <&3; do
	if [ "$fact" = metrics ]; then options=(); else options=("$option" --metrics 10ms); fi
	check "with $option it is recorded, too" made $its -- "${options[@]}"
	[ -z "$can_list" ] || check "with $option only the programs are not loaded that are for it: ${programs:-none}" not_loaded $programs
	check "with $option nothing fires of: $its" is 0 "SELECT total(fired) > 0 FROM probe_counts WHERE name IN ('${its// /\', \'}')"
	if [ "$fact" = metrics ]; then
		check "without --metrics the capture does not speak of it" is 0 "SELECT count(*) FROM facts WHERE name = 'metrics'"
		continue
	fi
	check "with $option the capture says so" is "not recorded" "SELECT value FROM facts WHERE name = '$fact'"
	check "with $option the summary says what is missing" grep -qF "not recorded: $missing ($option)" "$TMP/err"
done 3<"$TMP/table"
finish
