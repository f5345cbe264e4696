# SPDX-License-Identifier: Apache-2.0
# Random launches that take long, each in a process of its own, for tests/cli/one_truth.sh: a script for mkcap on
# standard output, and in the file `want` what must come of it, worked out here a second time and by other means than in
# replay/model:
#
#   pid dur_ns on_cpu_ns waited_for_cpu_ns futex_ns asleep_ns unknown_ns     of each of these launches
#
# Variables: n (launches), seed, want. Every decision is drawn from one generator, so that a seed gives the same
# launches with every awk.

function draw(below) { # Lehmer's generator (Park and Miller 1988): exact in a double
	seed = (seed * 16807) % 2147483647
	return seed % below
}

function ms(ns) { return sprintf("%d.%06d", ns / 1000000, ns % 1000000) "ms" }

function some() { return 200000 + draw(3000000) }

function runs() {
	took = some()
	sum["cpu"] += took
	t += took
}

function leaves(state, flags, to) {
	printf "switch at=+%s cpu=%d prev_tid=%d prev_state=%d next_tid=%d prev_flags=%d\n", ms(t), cpu, pid, state, to, flags
}

function comes(from) {
	printf "switch at=+%s cpu=%d prev_tid=%d prev_state=1 next_tid=%d\n", ms(t), cpu, from, pid
}

function woken(at) {
	printf "waking at=+%s cpu=7 tid=%d waker_tid=%d\n", ms(at), pid, pid + 1
}

# Asleep, then ready, then on the CPU again; what it was asleep in is said by `class`.
function sleeps(class, state, flags, wait,   left) {
	left = t
	leaves(state, flags, 0)
	t += some()
	sum[class] += t - left
	woken(t)
	sum["ready"] += wait
	t += wait
	comes(0)
}

function futex_row(begin, op) {
	printf "futex at=+%s cpu=%d pid=%d tid=%d dur=%dns addr=0x7fc0 op=%d\n", ms(t), cpu, pid, pid, t - begin, op
}

function happens(what,   begin, wait) {
	begin = t - 1000
	wait = draw(3) ? some() : 0 # at once: all in one moment
	if (what == 0) { # preempted
		leaves(0, 0, 999999)
		t += some() + wait
		sum["ready"] += t - begin - 1000
		comes(999999)
	} else if (what == 1) {
		sleeps("asleep", 1, 0, wait)
	} else if (what == 2) { # in a futex, once or twice
		sleeps("futex", 1, 0, wait)
		if (draw(2)) {
			runs()
			sleeps("futex", 1, 0, wait)
		}
		t += 1000
		sum["cpu"] += 1000
		futex_row(begin, 0)
	} else if (what == 3) { # woke another: no wait, whatever it slept for
		sleeps("asleep", 1, 0, wait)
		t += 1000
		sum["cpu"] += 1000
		futex_row(begin, 1)
	} else if (what == 4) { # in a futex's page fault; for a disk; by force
		sleeps("asleep", draw(2) + 1, 2, wait)
		t += 1000
		sum["cpu"] += 1000
		futex_row(begin, 0)
	} else if (what == 5) {
		sleeps("asleep", 2, 1, wait)
	} else if (what == 6) {
		sleeps("asleep", 2, 0, wait)
		t += 1000
		sum["cpu"] += 1000
		futex_row(begin, 0)
	} else if (what == 7) { # the row of the waking stands before that of the sleep
		woken(t - 500)
		leaves(1, 0, 0)
		t += some() + wait
		sum["ready"] += t - begin - 1000
		comes(0)
	} else { # nobody is seen to end it
		leaves(1, 0, 0)
		t += some() + wait
		sum["unknown"] += t - begin - 1000
		comes(0)
	}
}

function launch(dur) {
	printf "launch at=+%s cpu=%d pid=%d tid=%d dur=%dns function=4096 probe=cudaLaunchKernel\n", ms(t), cpu, pid, pid, dur
}

BEGIN {
	print "probe 2 sched_switch switch"
	print "probe 3 sched_waking waking"
	print "probe 4 futex futex"
	print "probe 32 cudaLaunchKernel launch"
	t = 1000000
	for (i = 0; i < n; i++) {
		pid = 10000 + 10 * i
		cpu = draw(4)
		printf "process at=+%s pid=%d start=1s ppid=1 tracked=1 name=p%d\n", ms(t), pid, pid
		printf "thread at=+%s tid=%d pid=%d start=1s name=p%d\n", ms(t), pid, pid, pid
		for (k = 0; k < 50; k++) {
			t += 100000
			launch(10000)
		}
		t += 100000
		begin = t
		split("", sum)
		for (k = 10 + draw(4); k > 0; k--) {
			runs()
			happens(draw(9))
		}
		runs()
		launch(t - begin)
		print pid, t - begin, sum["cpu"] + 0, sum["ready"] + 0, sum["futex"] + 0, sum["asleep"] + 0, sum["unknown"] + 0 >want
		t += 1000000
		leaves(1, 0, 0)
	}
	print "end command 0"
}
