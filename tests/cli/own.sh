# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# For tests that need a control group or a disk. Sourced behind lib.sh; what is made is removed at the end.
#
#   own_group CONTROLLER [OF-2]   a control group below the root; $group: its folder, $version: of control groups. OF-2: how
#                                 the controller's name is in version 2, where that differs
#   limit_memory MIB              of that group
#   file_on_disk MIB [COMMAND]    a file that is not in memory only, none of it in the page cache, and for which COMMAND
#                                 succeeds; $blob: its name, $folder: where it is, and nothing of others
#   past_cache                    such a COMMAND: it can be read from the disk itself
#   prepare_host                  all that tests/workload/host.sh needs; $probes: those that can be made to fire here, $unmade:
#                                 a line for each other one, with the reason
#   serve_host                    who answers it; needed once for each time that network_wait is made
own_groups=()
folder='' blob=''
remove_own() {
	local group
	[ "$BASHPID" = "$$" ] || return 0
	for group in "${own_groups[@]}"; do until_true rmdir "$group"; done # once its last process is gone
	[ -z "$folder" ] || rm -r "$folder"
}
trap 'remove_own; lib_cleanup' EXIT

own_group() {
	local root
	version=1
	root=$(awk -v name="$1" '$3 == "cgroup" && $4 ~ "(^|,)" name "(,|$)" { print $2; exit }' /proc/mounts)
	if [ -z "$root" ]; then
		version=2
		root=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
		[ -n "$root" ] && echo "+${2:-$1}" >"$root/cgroup.subtree_control"
	fi
	[ -n "$root" ] && mkdir "$root/gpurec-$1-$$" || return 1
	group=$root/gpurec-$1-$$
	own_groups+=("$group")
} 2>"$TMP/own.err"

limit_memory() {
	local file=memory.limit_in_bytes
	[ "$version" = 1 ] || file=memory.max
	echo "$1M" >"$group/$file"
}

file_on_disk() {
	local at
	for at in "$BUILD" /var/tmp; do
		folder=$(mktemp -d "$at/gpurec-own.XXXXXX") || { folder=; continue; }
		blob=$folder/blob
		[ "$(stat -f -c %T "$folder")" != tmpfs ] && dd if=/dev/urandom of="$blob" bs=1M count="$1" conv=fsync &&
			dd if="$blob" iflag=nocache count=0 && "${2:-true}" && return
		rm -r "$folder"
		folder=
	done
	return 1
} 2>"$TMP/own.err"

limit_quota() { # to a tenth of a CPU, in short periods
	if [ "$version" = 1 ]; then
		echo 10000 >"$group/cpu.cfs_period_us" && echo 1000 >"$group/cpu.cfs_quota_us"
	else
		echo "1000 10000" >"$group/cpu.max"
	fi
}
past_cache() { [ -e "/sys/dev/block/$(stat -c '%Hd:%Ld' "$folder")" ] && dd if="$blob" of=/dev/null bs=256K count=1 iflag=direct; }

# one PROBE REASON COMMAND...: it can be made to fire where the command succeeds
one() {
	local probe=$1 reason=$2
	shift 2
	if "$@" >"$TMP/own.out" 2>"$TMP/own.err"; then probes+=("$probe"); else unmade+=("$probe: $reason"); fi
}
keeps_account() { grep -q "^ok *$1" "$TMP/check"; }
answers() { keeps_account "$1" && python3 -c 'import socket' && [ -e "$CUDA" ]; }
has_disk() { [ -n "$BLOB" ] && ! grep -q block_rq_complete "$TMP/check"; }
has_quota() { keeps_account "CPU quota" && own_group cpu && [ -e "$group/cpu.stat" ] && limit_quota && QUOTA=$group; }
has_limit() { keeps_account memory && ! grep -q mm_vmscan_memcg "$TMP/check" && [ -n "$blob" ] && own_group memory && limit_memory 16 && MEMORY=$group; }
sleeps_in_faults() { ! grep -q "page_fault_user" "$TMP/check" && "$SLEEPS" 1 | grep -q "^slept [1-9]"; }
prepare_host() {
	probes=() unmade=()
	export BLOB='' MEMORY='' QUOTA='' SLEEPS=$BUILD/workload/sleeps CUDA=$BUILD/workload/libcuda.so.1 REMOTE=$TMP/port
	if file_on_disk 32 past_cache; then BLOB=$blob; fi
	one disk_request "there is no disk here that can be read past the page cache, or this kernel does not report requests" has_disk
	one memory_reclaim "no control group with a memory limit can be made here, or this kernel does not report it" has_limit
	one quota_throttled "no control group with a CPU quota can be made here, or this kernel keeps no account of it" has_quota
	one network_wait "there is no python3, or no test double here, or this kernel does not report it" answers network
	one waker_followed "there is no python3, or no test double here, or this kernel does not report it" answers follow
	one signal_sent "this kernel does not report signals" keeps_account signals
	one thread_scheduling "there is no renice" renice -n "$(nice)" -p $$
	one page_fault "this kernel does not report it, or has no userfaultfd" sleeps_in_faults
	one futex "the program that makes them is not built here" sh -c '"$SLEEPS" 1 | grep -q ^futex'
}
serve_host() {
	rm -f "$REMOTE"
	python3 tests/workload/remote.py serve direct "$REMOTE" &
	until_true test -e "$REMOTE"
}
