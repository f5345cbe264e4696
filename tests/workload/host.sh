#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What the probes of the host record, made on purpose: a program that is recorded.
#
#	host.sh MADE TIMES MANY PROBE...
#
# Makes what each PROBE records, so many times, and adds a line to MADE.room: PROBE, how many it must have been at least, by
# an account that is not ours, and of what. MANY: then it stops its recorder, makes so many names and signals (MADE.full),
# so that there is no room left, and all of it once more (MADE.lost); 0: not. From the environment: BLOB, a file on a disk;
# MEMORY, QUOTA: folders of control groups with less memory than that, and with a CPU quota; SLEEPS: the program; REMOTE: the
# port's file of remote.py (and of another one: REMOTE.again); CUDA: its library.
here=$(dirname "$0")
out=$1 times=$2 many=$3
shift 3

join() { echo "$BASHPID" >"$1/cgroup.procs"; }
number() { # FILE WORD: $n, that behind it
	local word
	while read -r word n; do [ "$word" != "$2" ] || return 0; done <"$1"
}

disk_request() {
	dd if="$BLOB" of=/dev/null bs=4K count="$times" iflag=direct && made="1 of $times reads"
}
memory_reclaim() {
	(join "$MEMORY" && exec dd if="$BLOB" of=/dev/null bs=256K) && made="1 for a file in a group with a limit"
}
# One thread on one CPU, which begins no other. A period, or several, is as long as it is throttled once.
quota_throttled() {
	local before
	number "$QUOTA/cpu.stat" nr_throttled
	before=$n
	(
		taskset -cp "$(taskset -cp $$ | sed 's/.*[ ,-]//')" "$BASHPID" >/dev/null
		join "$QUOTA"
		until number "$QUOTA/cpu.stat" nr_throttled && [ "$n" -ge $((before + times)) ]; do :; done
	)
	made="1 in $times periods without quota"
}
network_wait() {
	python3 "$here/remote.py" ask "$CUDA" "$REMOTE" "$times" recv >/dev/null && made="1 of $times answers"
}
waker_followed() { made="1, who answers"; } # when network_wait is made
signal_sent() {
	local i
	for ((i = 0; i < times; i++)); do kill -CONT $$; done
	made="$times sent"
}
thread_scheduling() { # of a thread that is known already
	local i
	for ((i = 0; i < times; i++)); do renice -n $((i % 2 + 1)) -p $$ >/dev/null; done
	made="$times nice values"
}
thread_name() {
	local i
	for ((i = 0; i < times; i++)); do echo $i >/proc/$$/comm; done
	made="$times names"
}
page_fault() {
	"$SLEEPS" "$times" >"$out.sleeps" && number "$out.sleeps" slept && made="$n sleeps in faults"
}
futex() {
	"$SLEEPS" "$times" >"$out.sleeps" && made="$(grep -c ^futex "$out.sleeps") calls"
}
sched_switch() { made="1 beside the others"; }
sched_waking() { made="1 beside the others"; }
cpu_metric() { made="1 beside the others"; }

make() { # MADE PROBE...
	local file=$1 probe made
	shift
	for probe; do $probe && echo "$probe $made" >>"$file"; done
}
make "$out.room" "$@"
[ "$many" != 0 ] || exit 0
trap 'kill -CONT $PPID' EXIT
kill -STOP $PPID
until grep -q '^State:.T' /proc/$PPID/status; do :; done
few=$times times=$many
make "$out.full" thread_name signal_sent
times=$few REMOTE=$REMOTE.again
make "$out.lost" "$@"
