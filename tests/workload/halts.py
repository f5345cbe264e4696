# SPDX-License-Identifier: Apache-2.0
"""Halts a program many times, by signals, as a tracer or as a freezer, and accounts for it by its own clock.

usage: halts.py signal PID N       the process, by SIGSTOP
       halts.py trace TID N        the thread, by ptrace
       halts.py freeze FOLDER N    all of a control group (of version 1 or 2), which has a freezer

Each time for MS milliseconds, and lets it run as long. Prints for how many nanoseconds it was halted at least (from when
that was seen until it was about to be let go on), and at most (from when that was asked for until it had been).
"""
import ctypes
import glob
import os
import signal
import sys
import time

MS = 5
SEIZE, INTERRUPT, CONT, DETACH = 0x4206, 0x4207, 7, 17
WAIT_ALL = 0x40000000  # __WALL

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
libc.ptrace.restype = ctypes.c_long


def ptrace(request, tid):
    if libc.ptrace(request, tid, None, None) < 0:
        raise OSError(ctypes.get_errno(), f"ptrace {request:#x} of {tid}")


class Signaller:
    def __init__(self, pid):
        self.pid = int(pid)

    def is_stopped(self):
        for path in glob.glob(f"/proc/{self.pid}/task/*/stat"):
            with open(path) as f:
                if f.read().rpartition(") ")[2][0] != "T":
                    return False
        return True

    def halt(self):
        os.kill(self.pid, signal.SIGSTOP)
        while not self.is_stopped():
            time.sleep(0.0001)  # speed: once more, until it is so

    def let_go_on(self, last):
        os.kill(self.pid, signal.SIGCONT)


class Tracer:
    def __init__(self, tid):
        self.tid = int(tid)
        ptrace(SEIZE, self.tid)

    def halt(self):
        ptrace(INTERRUPT, self.tid)
        os.waitpid(self.tid, WAIT_ALL)

    def let_go_on(self, last):
        ptrace(DETACH if last else CONT, self.tid)


class Freezer:
    def __init__(self, folder):
        old = os.path.join(folder, "freezer.state")
        self.old = os.path.exists(old)
        self.file = old if self.old else os.path.join(folder, "cgroup.freeze")
        self.shown = old if self.old else os.path.join(folder, "cgroup.events")

    def write(self, word):
        with open(self.file, "w") as f:
            f.write(word)

    def is_frozen(self):
        with open(self.shown) as f:
            return ("FROZEN\n" if self.old else "frozen 1\n") in f.readlines()

    def halt(self):
        self.write("FROZEN" if self.old else "1")
        while not self.is_frozen():
            time.sleep(0.0001)  # speed: once more, until it is so

    def let_go_on(self, last):
        self.write("THAWED" if self.old else "0")


how, whom, times = sys.argv[1], sys.argv[2], int(sys.argv[3])
halter = {"signal": Signaller, "trace": Tracer, "freeze": Freezer}[how](whom)
least = most = 0
for i in range(times):
    asked = time.monotonic_ns()
    halter.halt()
    seen = time.monotonic_ns()
    time.sleep(MS / 1000)  # speed: how long it was is measured
    about_to = time.monotonic_ns()
    halter.let_go_on(i == times - 1)
    most += time.monotonic_ns() - asked
    least += about_to - seen
    time.sleep(MS / 1000)  # speed: it runs meanwhile, for however long
print(least, most)
