#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# For which request to which disk a thread slept, against the kernel's own accounts: how much was read, and from what.
# records: each checks only what it started itself
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/rows.sh"
. "$(dirname "$0")/own.sh"

needs_recording "requests to disks"
if ! file_on_disk 16 past_cache; then
	skip "requests to disks" "there is no disk here, or it cannot be read past the page cache"
	finish
fi
number=$(stat -c '%Hd:%Ld' "$folder")
# The disk of which it is a part, as the kernel names it.
device=$(basename "$(readlink -f "/sys/dev/block/$number")")
[ ! -e "/sys/dev/block/$number/partition" ] || device=$(basename "$(dirname "$(readlink -f "/sys/dev/block/$number")")")
reader="(SELECT tid FROM threads WHERE name = 'dd')"
counted="SELECT fired = recorded + lost AND recorded = (SELECT count(*) FROM disk_requests) FROM probe_counts WHERE name = 'disk_request'"
stacked() { [ -n "$(ls "/sys/block/$device/slaves" 2>/dev/null)" ]; }

check "a program is recorded that reads past the page cache" record -- dd if="$blob" of=/dev/null bs=256K iflag=direct
# One read may be several requests, of which the last ends the sleep; and one that is answered at once needs none.
check "reads of it are there, and no more than it read" is 1 "SELECT count(*) > 0 AND sum(bytes) <= 16777216 FROM disk_requests WHERE operation = 0 AND tid IN $reader"
if stacked; then
	skip "the disk is named" "$device is made of others"
else
	check "the disk is named" is "$device" "SELECT DISTINCT name FROM disk_requests JOIN disks ON number = device"
fi
check "none failed, and none was in the device for longer than it took" is 0 "SELECT count(*) FROM disk_requests WHERE error <> 0 OR service_ns > dur_ns OR dur_ns = 0"
sleeps="SELECT count(*) FROM switches WHERE prev_tid IN $reader AND prev_flags & 1"
check "there are no more of them than sleeps for a device, and nearly as many" is 1 "SELECT count(*) <= ($sleeps) AND count(*) * 10 >= ($sleeps) * 9 FROM disk_requests WHERE tid IN $reader"
# Which were made while it slept: not by itself, then.
late="SELECT count(*) FROM disk_requests AS d WHERE tid IN $reader AND operation = 0
	AND start_ns > (SELECT max(at_ns) FROM switches WHERE prev_tid = d.tid AND prev_flags & 1 AND at_ns <= d.at_ns)"
check "it made them before it slept" is 1 "SELECT count(*) >= 10 * ($late) FROM disk_requests WHERE tid IN $reader AND operation = 0"
check "what is counted is there" is 1 "$counted"
check "the text shows them" sh -c '"$1" -q "$2" | grep -q "disk .*operation=read bytes=.*dur="' sh "$BUILD/gpureplay" "$cap"

check "a program is recorded that writes past the page cache" record -- dd if=/dev/zero of="$folder/out" bs=64K count=100 oflag=direct
check "its writes are there" is 1 "SELECT count(*) > 0 AND sum(bytes) <= 6553600 FROM disk_requests WHERE operation = 1 AND tid IN $reader"

held="SELECT count(*) FROM switches WHERE prev_flags & 256"
check "none of that was held back" is 0 "$held"
marked() {
	check "sleeps of it are marked: its writes are held back" is 1 "SELECT count(*) > 0 FROM switches WHERE prev_tid IN $reader AND prev_flags & 256"
	check "each is one for a device, in write" is 0 "$held AND (NOT prev_flags & 1 OR prev_syscall NOT IN (2, 65))"
}
# A disk of our own, of which hardly anything may wait to be written: a program that writes to it is held back. It is
# mounted where nobody else sees it, and gone with the program.
image=$folder/image
at=$folder/at
write_much() {
	record "$@" -- unshare -m sh -c 'mount -o loop "$1" "$2" || exit 77; bdi=/sys/class/bdi/$(stat -c %Hd:%Ld "$2")
		echo 1 >"$bdi/strict_limit" && echo 4194304 >"$bdi/max_bytes" || exit 77
		exec dd if=/dev/zero of="$2/out" bs=1M count=64' sh "$image" "$at" 2>"$TMP/dd.err"
}
own_disk() {
	mkdir "$at" && truncate -s 128M "$image" && mkfs.ext4 -qF "$image" &&
		unshare -m sh -c 'mount -o loop "$1" "$2" && cd "/sys/class/bdi/$(stat -c %Hd:%Ld "$2")" && ls strict_limit max_bytes' sh "$image" "$at"
}
if own_disk >"$TMP/out" 2>"$TMP/err"; then
	check "a program is recorded that writes faster than its disk" write_much
	marked
	check "the text shows them" sh -c '"$1" -q "$2" | grep -q "dd/.* io writes"' sh "$BUILD/gpureplay" "$cap"
	check "the same with --no-disks" write_much --no-disks
	check "has none" is 0 "$held"
else
	skip "writes that are held back" "no disk of our own can be made here, or how much may wait for it cannot be set"
fi

check "the same with --no-disks" record --no-disks -- dd if="$blob" of=/dev/null bs=256K iflag=direct
check "has still that it slept for a device" is 1 "SELECT count(*) > 0 FROM switches WHERE prev_tid IN $reader AND prev_flags & 1"

# Each capture of a series has the names of the disks that it speaks of.
second() {
	rm "$cap"
	"$BUILD/gpurec" -q -o "$cap" --rotate 1s -- sh -c 'for i in 1 2 3 4 5 6 7 8; do dd if="$1" of=/dev/null bs=256K count=8 iflag=direct 2>/dev/null; sleep 0.2; done' sh "$blob" 2>"$TMP/err" || { cat "$TMP/err"; return 1; }
	"$BUILD/gpureplay" -q --force "$TMP/run-00002.cap" -o "$TMP/run.db"
}
check "captures are recorded, one after the other" second
check "the second one names the disk, too" is 1 "SELECT count(*) > 0 AND count(*) = count(name) FROM disk_requests LEFT JOIN disks ON number = device"
rm "$TMP"/run-*.cap

# A service that nobody records, which reads for a program that waits for it.
served() {
	rm -f "$TMP/socket" "$TMP/server"
	"$python" tests/workload/follows.py serve "disk:$blob" "$TMP/socket" >"$TMP/server" &
	until_true test -s "$TMP/server" || return
	server=$(head -1 "$TMP/server")
	record -- "$python" tests/workload/follows.py ask "$BUILD/workload/libcuda.so.1" 60 "$TMP/socket"
}
python=$(python3 -c "import sys; print(sys.executable)" 2>"$TMP/err")
if [ -n "$python" ] && [ -e "$BUILD/workload/libcuda.so.1" ]; then
	check "a program is recorded that waits for a service which reads" served
	check "its reads are known, too" is 1 "SELECT count(*) >= 50 FROM disk_requests WHERE tid = $server AND operation = 0"
else
	skip "reads of a service" "there is no python3, or no test double here"
fi

# A control group may hold requests back before there are any: that is no time of the disk's.
limit="blkio.throttle.read_iops_device" value="$number 10"
if own_group blkio io && [ "$version" = 2 ]; then
	limit=io.max value="$number riops=10"
fi
if [ -n "${group:-}" ] && sh -c 'echo "$1" >"$2"' sh "$value" "$group/$limit" 2>"$TMP/err"; then
	check "a program is recorded that may do 10 reads a second" record -- sh -c 'echo $$ >"$1/cgroup.procs"; exec dd if="$2" of=/dev/null bs=4K count=12 iflag=direct' sh "$group" "$blob"
	check "most of its requests were made only when it slept: they took none of the time before" is 1 "SELECT ($late) >= 8"
else
	skip "requests that are held back" "there is no controller of disks here"
fi
# With a limit of memory, little of what a group writes may wait for the disk.
little_waits() {
	case $(stat -f -c %T "$folder") in ext*|btrfs|xfs) ;; *) return 1 ;; esac
	[ -n "${group:-}" ] && [ $limit = io.max ] && echo +memory >"${group%/*}/cgroup.subtree_control" && echo 32M >"$group/memory.max" &&
		echo "$number wbps=16777216" >"$group/io.max"
}
if little_waits 2>"$TMP/err"; then
	check "a program is recorded that writes faster than its group may" record -- sh -c 'echo $$ >"$1/cgroup.procs"; exec dd if=/dev/zero of="$2" bs=1M count=48' sh "$group" "$folder/out"
	# Linux 7.2 holds nothing back there.
	if [ "$(sql "SELECT count(*) FROM switches WHERE prev_tid IN $reader AND prev_flags & 1 AND prev_syscall IN (2, 65)")" -gt 0 ]; then
		marked
	else
		skip "writes that are held back in a control group" "this kernel holds none back"
	fi
else
	skip "writes that are held back in a control group" "none can be limited so here"
fi
finish
