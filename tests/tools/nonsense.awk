# SPDX-License-Identifier: Apache-2.0
# Random rows of all kinds that the time of threads is accounted by, which contradict each other now and then, in epochs
# of random length of which some lost rows, for tests/cli/ledger_sums.sh: a script for mkcap. Odd seeds separate chunks by
# process.
#
# Variables: n (rows), seed. Every decision is drawn from one generator, so that a seed gives the same rows with every
# awk.

function draw(below) { # Lehmer's generator (Park and Miller 1988): exact in a double
	seed = (seed * 16807) % 2147483647
	return int(seed / 7) % below
}

function either(list,   words) { return split(list, words, " ") ? words[1 + draw(length(words))] : "" }

function ms(ns) { return sprintf("%d.%06d", ns / 1000000, ns % 1000000) "ms" }

function tid() { return 101 + draw(5) }

function pid(of) { return of < 104 ? 100 : 110 }

# KIND [FIELD=VALUE...]: a row of a thread's own, which took `back`
function own(kind, rest,   t) {
	t = tid()
	printf "%s at=+%s pid=%d tid=%d cpu=%d dur=%dns %s\n", kind, ms(at), pid(t), t, draw(3), back, rest
}

# A row about a thread, not one of a time that it took.
function about(kind, rest,   t) {
	t = tid()
	printf "%s at=+%s pid=%d tid=%d %s\n", kind, ms(at), pid(t), t, rest
}

# Mostly from who has the CPU.
function switches(   cpu, next_tid) {
	cpu = draw(3)
	next_tid = draw(4) ? tid() : 0
	printf "switch at=+%s cpu=%d prev_tid=%d prev_state=%d next_tid=%d prev_syscall=%d prev_flags=%d next_queue=%d\n",
		ms(at), cpu, draw(9) ? on[cpu] : tid(), either("0 0 0 1 1 1 2 4 8 128 1026"), next_tid,
		either("0 1 203 8 233 427"), draw(3) ? 0 : draw(2048), draw(4)
	on[cpu] = next_tid
}

function wakes() {
	printf "waking at=+%s cpu=%d tid=%d waker_tid=%d context=%d\n", ms(at), draw(3), tid(), draw(4) ? tid() : 0,
		draw(3) ? 0 : draw(3)
}

function calls() {
	if (draw(3))
		own("launch", "function=" 4096 * (1 + draw(6)))
	else
		own(either("wait copy set alloc graph collective"), "")
}

# Rare: who goes and comes again, is stopped, or in a call at the end.
function lives(   t, child) {
	t = draw(5)
	if (t == 0) {
		child = tid()
		printf "exit at=+%s pid=%d tid=%d\n", ms(at), pid(child), child
		at += 1000
		printf "fork at=+%s pid=%d tid=%d child_pid=%d child_tid=%d\n", ms(at), pid(child), pid(child), pid(child), child
	} else if (t == 1)
		about("exec", "")
	else if (t == 2)
		about("signal", sprintf("cpu=0 signal=%d sender_tid=%d", either("9 18 19 20"), tid()))
	else if (t == 3)
		about("in_flight", sprintf("moment=2 dur=%dns probe=cudaLaunchKernel", back))
	else
		about("follow", sprintf("cpu=0 waiter_tid=%d slept=%dns", tid(), back))
}

function waits(   t) {
	t = draw(6)
	if (t == 0)
		own("fault", "addr=4096")
	else if (t == 1)
		own("reclaim", sprintf("cause=%d pages=1", draw(5)))
	else if (t == 2)
		own("network", sprintf("connection=%d role=%d unread=%d retransmitted=%d", draw(3), draw(4), draw(2), draw(9)))
	else if (t == 3)
		own("disk", sprintf("service=%dns operation=%d bytes=4096 device=1", draw(back + 1), either("0 1 254")))
	else if (t == 4)
		about("throttled", sprintf("cpu=%d wait=%dns", draw(3), back))
	else
		own("futex", sprintf("addr=%d op=%d ret=%d", 4096 + 8 * draw(3), draw(14), either("0 0 -110 -4")))
}

function happens(what) {
	if (what < 6)
		switches()
	else if (what < 9)
		wakes()
	else if (what < 13)
		calls()
	else if (what < 16)
		waits()
	else if (draw(8) == 0)
		lives()
}

BEGIN {
	nprobes = split("sched_switch switch sched_waking waking futex futex process_fork fork process_exec exec process_exit exit " \
		"page_fault fault quota_throttled throttled signal_sent signal call_in_flight in_flight waker_followed follow " \
		"disk_request disk memory_reclaim reclaim network_wait network cudaLaunchKernel launch cudaStreamSynchronize wait " \
		"cudaMemcpyAsync copy cudaMemset set cudaMalloc alloc cudaGraphLaunch graph ncclAllReduce collective", probes, " ")
	for (i = 1; i < nprobes; i += 2)
		printf "probe %d %s %s\n", (i + 1) / 2 + (i < 29 ? 0 : 32), probes[i], probes[i + 1]
	if (seed % 2)
		print "by-process"
	seed = seed % 2147483646 + 1
	for (i = 0; i < 5; i++)
		draw(2)
	for (p = 100; p <= 110; p += 10)
		if (draw(2))
			printf "process at=+0s pid=%d start=990s ppid=1 tracked=1 name=p%d\n", p, p
	for (t = 101; t <= 105; t++)
		printf "thread at=+0s tid=%d pid=%d start=990s name=t%d\n", t, pid(t), t
	for (i = 0; i < n; i++) {
		at += 1 + (draw(3) ? draw(50000) : draw(draw(200) ? 1000000 : 700000000))
		back = draw(200000) % at
		happens(draw(17))
		if (draw(150) == 0) {
			if (draw(2))
				printf "lost %s %d\n", either("sched_switch sched_waking futex cudaLaunchKernel page_fault") " ring_full", 1 + draw(9)
			printf "epoch +%s\n", ms(++at)
		}
	}
	for (t = 101; t <= 105; t++)
		if (draw(2))
			printf "exit at=+%s pid=%d tid=%d\n", ms(++at), pid(t), t
	print "end duration"
}
