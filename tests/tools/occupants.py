# SPDX-License-Identifier: Apache-2.0
"""Who had a CPU while a thread waited for it, by the kernel's own trace of its scheduler.

usage: occupants.py TRACE CPU TID. TRACE: the text of sched_switch and sched_waking. TID may run on this CPU only. Prints
a line for each thread that had the CPU meanwhile: its number, and for how many nanoseconds.
"""
import collections
import re
import sys

SWITCH = re.compile(r"\[(\d+)\].* ([\d.]+): sched_switch: .*prev_pid=(\d+) .*prev_state=(\S+) ==> .*next_pid=(\d+) ")
WAKING = re.compile(r" ([\d.]+): sched_waking: .* pid=(\d+) ")


def main(path, cpu, tid):
    had, since, waits = None, 0.0, False
    spent = collections.Counter()

    def until(at):
        nonlocal since
        if waits and had is not None and had != tid:
            spent[had] += at - since
        since = at

    with open(path, encoding="utf-8", errors="replace") as trace:
        for line in trace:
            woken = WAKING.search(line)
            if woken and int(woken[2]) == tid and had != tid:
                until(float(woken[1]))
                waits = True
            switch = SWITCH.search(line)
            if not switch or int(switch[1]) != cpu:
                continue
            until(float(switch[2]))
            if int(switch[3]) == tid:
                waits = switch[4].startswith("R")
            had = int(switch[5])
            if had == tid:
                waits = False
    for whom, seconds in spent.most_common():
        print(whom, round(seconds * 1e9))


main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
