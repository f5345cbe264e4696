# SPDX-License-Identifier: Apache-2.0
# Random histories of processes that allocate, for tests/cli/one_truth.sh: a script for mkcap on standard output, and
# beside it what must come of it, worked out here a second time and by other means than in replay/model:
#
#   ends    pid at_ns how end_ns     each allocation that counts, by the time of its row (no two of a process agree)
#   held    pid bytes                what the latest process of a PID holds in the end
#   kept    name bytes               what processes of a name never gave back, not even by calls before their exit
#   people  pid n                    how many processes had that PID
#   leaks   pid start_ns bytes n     processes with a site that leaks to the end, and what that site then holds
#
# Variables: n (histories), seed, dir (where the files go). Every decision is drawn from one generator, so that a seed
# gives the same histories with every awk.

function draw(below) { # Lehmer's generator (Park and Miller 1988): exact in a double
	seed = (seed * 16807) % 2147483647
	return seed % below
}

function ms(ns) { return sprintf("%d.%06d", ns / 1000000, ns % 1000000) "ms" }

function row(kind, end, dur, tid, rest) {
	printf "%s at=+%s pid=%d tid=%d dur=%dns %s\n", kind, ms(end), pid, tid, dur, rest
}

# --- what must come of it ---

function end_of(slot, how, at) {
	print pid, START + born[slot], how, START + at >(dir "/ends")
	if (how != "held" && how != "exit") # what an exec took away was given back, as the process goes on
		kept[name] -= size[slot]
	if (how != "held")
		held -= size[slot]
	if (site[slot] == 9) {
		leak_bytes -= size[slot]
		leak_n--
	}
}

# Of several allocations at one address the older ones ended when a younger one got it.
function settle(addr, last,   i) {
	for (i = first[addr]; i < last; i++)
		end_of(addr SUBSEP (i), "unseen", born[addr, i + 1])
	first[addr] = last
}

function allocated(addr, at, bytes, stack,   slot) {
	slot = addr SUBSEP (++last[addr])
	if (last[addr] == 1) {
		first[addr] = 1
		addrs[++naddrs] = addr
	}
	born[slot] = at
	size[slot] = bytes
	site[slot] = stack
	held += bytes
	kept[name] += bytes
	if (stack == 9) {
		leak_bytes += bytes
		leak_n++
	}
}

function freed(addr, begin, at,   i) {
	if (!(addr in last) || first[addr] > last[addr])
		return
	for (i = first[addr]; i < last[addr] && begin >= born[addr, i + 1]; i++)
		;
	settle(addr, i)
	if (i < last[addr] && born[addr, i + 1] < at)
		at = born[addr, i + 1]
	end_of(addr SUBSEP (i), "free", at)
	first[addr] = i + 1
}

function all_end(how, at,   a, addr) {
	for (a = 1; a <= naddrs; a++) {
		addr = addrs[a]
		if (first[addr] > last[addr])
			continue
		settle(addr, last[addr])
		end_of(addr SUBSEP last[addr], how, how == "held" ? -START : at)
		first[addr] = last[addr] + 1
	}
}

function context_gone(device, at) {
	if (device && seen_device && seen_device != device)
		several = 1
	if (device)
		seen_device = device
	if (!several)
		all_end("context", at)
}

# --- what happens ---

function alloc_row(end, dur, tid, addr, bytes, stack, nested, ret) {
	row("alloc", end, dur, tid, sprintf("bytes=%d addr=%d memory=%d stack=%d flags=%d ret=%d probe=%s", bytes, addr,
		1 + addr % 3, stack, nested, ret, nested ? "cuMemAlloc_v2" : "cudaMalloc"))
}

function free_row(end, dur, tid, addr, nested, ret) {
	row("free", end, dur, tid, sprintf("addr=%d flags=%d ret=%d probe=%s", addr, nested, ret,
		nested ? "cuMemFree_v2" : "cudaFree"))
}

# An allocation in one of the ways in which programs come by one; it counts once, at the time of the outermost alloc.
function alloc(addr, bytes, stack, way, tid) {
	if (way == 0) {
		alloc_row(t + 2000, 1000, tid, addr, bytes, stack, 0, 0)
		allocated(addr, t + 2000, bytes, stack)
	} else if (way == 1) { # the runtime's calls the driver's
		alloc_row(t + 2000, 1000, tid, addr, bytes + 512, 8, 1, 0)
		alloc_row(t + 3000, 2500, tid, addr, bytes, stack, 0, 0)
		allocated(addr, t + 3000, bytes, stack)
	} else if (way == 2) { # a launch does
		alloc_row(t + 2000, 1000, tid, addr, bytes, stack, 1, 0)
		row("launch", t + 4000, 3800, tid, "function=4096")
		allocated(addr, t + 2000, bytes, stack)
	} else { # a launch calls the runtime, which calls the driver
		alloc_row(t + 2000, 1000, tid, addr, bytes + 512, 8, 1, 0)
		alloc_row(t + 3000, 2500, tid, addr, bytes, stack, 1, 0)
		row("launch", t + 4000, 3800, tid, "function=4096")
		allocated(addr, t + 3000, bytes, stack)
	}
}

function release(addr, way, tid) {
	if (way == 0) {
		free_row(t + 2000, 1000, tid, addr, 0, 0)
		freed(addr, t + 1000, t + 2000)
	} else if (way == 1) {
		free_row(t + 2000, 1000, tid, addr, 1, 0)
		free_row(t + 3000, 2500, tid, addr, 0, 0)
		freed(addr, t + 500, t + 3000)
	} else { # a wait gives it back
		free_row(t + 2000, 1000, tid, addr, 1, 0)
		row("wait", t + 4000, 3800, tid, "")
		freed(addr, t + 1000, t + 2000)
	}
}

# The address is handed out to another thread before its free has returned.
function late_free(addr, bytes) {
	free_row(t + 4000, 3000, tid1, addr, 0, 0)
	alloc_row(t + 3000, 1000, tid2, addr, bytes, 7, 0, 0)
	allocated(addr, t + 3000, bytes, 7)
	freed(addr, t + 1000, t + 4000)
}

function context(way,   device, ret) {
	device = draw(12) ? 1 : 2
	ret = way == 0 ? 201 : 0
	if (way == 2) # the runtime's calls the driver's
		row("context", t + 2000, 500, tid1, sprintf("device=%d flags=1 probe=cuDevicePrimaryCtxReset", device))
	row("context", t + 3000, 2500, tid1, sprintf("device=%d ret=%d flags=%d probe=%s", device, ret, way == 3,
		draw(2) ? "cudaDeviceReset" : "cuCtxDestroy_v2"))
	if (way == 3)
		row("wait", t + 4000, 3800, tid1, "")
	if (!ret)
		context_gone(device, t + 3000)
}

function start_process() {
	start = t
	printf "process at=+%s pid=%d start=+%s tracked=1 name=%s\n", ms(t), pid, ms(start), name
	printf "thread at=+%s tid=%d pid=%d start=+%s name=%s.%d\n", ms(t), tid1, pid, ms(start), name, ++instances
	held = naddrs = seen_device = several = leak_bytes = leak_n = 0
	split("", first)
	split("", last)
}

# The same process once more, its start read from a clock of coarser ticks.
function tell_again() {
	printf "process at=+%s pid=%d start=+%s tracked=1 name=%s\n", ms(t), pid, ms(start - draw(2) * draw(4000000)), name
}

# Another program in the same process: what the one before held is gone, and with it its contexts.
function exec_program() {
	printf "exec at=+%s pid=%d tid=%d\n", ms(t + 5000), pid, tid1
	all_end("exec", t + 5000)
	seen_device = several = 0
}

function exit_process() {
	printf "exit at=+%s pid=%d tid=%d last=1\n", ms(t + 5000), pid, tid1
	all_end("exit", t + 5000)
}

function step(calm,   what, addr) {
	what = draw(calm ? 14 : 21)
	addr = 4096 * (1 + draw(5))
	if (what < 6)
		alloc(addr, 1000 + draw(100000), 7, draw(4), draw(2) ? tid1 : tid2)
	else if (what < 10)
		release(addr, draw(3), draw(2) ? tid1 : tid2)
	else if (what == 10)
		late_free(addr, 1000 + draw(100000))
	else if (what == 11)
		alloc_row(t + 2000, 1000, tid1, addr, 4096, 7, 0, 2)
	else if (what == 12)
		free_row(t + 2000, 1000, tid1, addr, 0, 1)
	else if (what == 13)
		tell_again()
	else if (what < 18)
		context(draw(4))
	else if (what == 18)
		exec_program()
	else {
		exit_process()
		t += 20000000
		start_process()
	}
	t += 10000
}

function live(leaky,   nsteps, i, reset) {
	nsteps = leaky ? 24 : 4 + draw(12)
	reset = leaky && draw(2) ? 12 : -1
	for (i = 0; i < nsteps; i++) {
		if (leaky) {
			alloc(1048576 * (1 + i), 65536, 9, draw(4), tid1)
			t += 2000000
		}
		if (i == reset) {
			row("context", t + 3000, 2500, tid1, "device=0 probe=cudaDeviceReset")
			context_gone(0, t + 3000)
			t += 10000
		}
		step(leaky)
	}
	if (leaky && reset < 0)
		print pid, START + start, leak_bytes, leak_n >(dir "/leaks")
}

BEGIN {
	OFMT = CONVFMT = "%.0f"
	START = 1000000000000
	split("cudaMalloc alloc cuMemAlloc_v2 alloc cudaFree free cuMemFree_v2 free cudaDeviceReset context " \
		"cuCtxDestroy_v2 context cuDevicePrimaryCtxReset context cudaLaunchKernel launch cudaStreamSynchronize wait", p, " ")
	print "probe 1 process_exit exit\nprobe 2 process_exec exec"
	for (i = 1; (2 * i) in p; i++)
		print "probe", i + 2, p[2 * i - 1], p[2 * i]
	print "frame at=+0s stack=7 depth=0 address=4096 symbol=usual\nframe at=+0s stack=8 depth=0 address=4097 symbol=inner"
	print "frame at=+0s stack=9 depth=0 address=4098 symbol=leaking"
	for (h = 0; h < n; h++) {
		t = (h + 10) * 1000000
		if (h % 1000 == 999)
			print "epoch +" ms(t)
		pid = tid1 = 1000 + 2 * h
		tid2 = tid1 + 1
		name = "p" h % 100
		instances = 0
		kept[name] += 0
		start_process()
		live(h % 16 == 0)
		if (draw(2) || h % 16 == 0) { # of a process that goes on, a leak would have to go on
			exit_process()
			print pid, 0 >(dir "/held")
		} else {
			all_end("held")
			print pid, held >(dir "/held")
		}
		print pid, instances >(dir "/people")
	}
	print "epoch +" ms((n + 1000) * 1000000)
	print "end command 0"
	for (name in kept)
		print name, kept[name] >(dir "/kept")
}
