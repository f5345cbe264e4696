# SPDX-License-Identifier: Apache-2.0
"""Programs whose GPU calls take long when they are first made, or take long for other reasons.

usage: firsts.py LIBCUDA WAY... LIBCUDA has plan(ns): the next call is to take so much time on a CPU; and touch(bytes):
and to touch so much fresh memory. Each way is a process. Prints a line for each when it is over: its name, its pid, how long the calls that are first ones were on a CPU
by the kernel's account, and how long they took, in nanoseconds.
"""
import ctypes
import os
import sys
import time

MS = 1000000
cuda = ctypes.CDLL(sys.argv[1])
none = ctypes.c_void_p(None)
cpu_ns = wall_ns = 0


def plan(ns):
    cuda.plan(ctypes.c_ulong(ns))


def launch(kernel, ns=0):
    plan(ns)
    cuda.cuLaunchKernel(ctypes.c_void_p(kernel), 1, 1, 1, 1, 1, 1, 0, none, none, none)


def steps(kernel, n):
    for _ in range(n):
        launch(kernel)
        time.sleep(0.0005)


def first(call, *args):
    """A first call; what it takes is counted."""
    global cpu_ns, wall_ns
    began_ns, ran_ns = time.monotonic_ns(), time.thread_time_ns()
    call(*args)
    cpu_ns += time.thread_time_ns() - ran_ns
    wall_ns += time.monotonic_ns() - began_ns


# --- first calls ---


def compiles():
    """Kernels are compiled when they are first launched, one after the other, while the program is at work."""
    launch(0x1000)
    steps(0x1000, 60)
    for kernel in 0x2000, 0x3000, 0x4000:
        first(launch, kernel, 90 * MS)
        steps(kernel, 20)


def uploads():
    """Executable graphs are sent to the GPU when they are first launched."""
    steps(0x1000, 60)
    for graph in 0x7000, 0x8000:
        plan(110 * MS)
        first(cuda.cuGraphLaunch, ctypes.c_void_p(graph), none)
        for _ in range(20):
            cuda.cuGraphLaunch(ctypes.c_void_p(graph), none)


def maps():
    """The code of a kernel is mapped when it is first launched: pages come in."""
    steps(0x1000, 60)
    cuda.touch(ctypes.c_ulong(64 << 20))
    first(launch, 0x5000, 110 * MS)
    steps(0x5000, 20)


def context():
    """A context is made in the first call, which frees nothing."""
    plan(250 * MS)
    first(cuda.cuMemFree_v2, none)
    steps(0x1000, 40)
    for _ in range(5):
        cuda.cuMemFree_v2(ctypes.c_void_p(0x10000))


# --- calls that take long for other reasons ---


def slow():
    """A kernel of which each launch is slow."""
    steps(0x1000, 40)
    for _ in range(6):
        launch(0x2000, 40 * MS)


def later():
    """A launch that is not the first one."""
    steps(0x1000, 40)
    launch(0x1000, 150 * MS)
    steps(0x1000, 20)


def pins():
    """Much memory is pinned, then little."""
    steps(0x1000, 40)
    plan(200 * MS)
    cuda.cuMemHostAlloc(none, ctypes.c_size_t(1 << 33), 0)
    for _ in range(5):
        cuda.cuMemHostAlloc(none, ctypes.c_size_t(1 << 12), 0)


def loads():
    """The program itself asks for code to be loaded: a big module, and small ones."""
    steps(0x1000, 40)
    plan(200 * MS)
    cuda.cuModuleLoadData(none, none)
    for _ in range(5):
        cuda.cuModuleLoadData(none, none)
    steps(0x2000, 20)


def waits():
    """The GPU has much to do at first."""
    steps(0x1000, 40)
    plan(200 * MS)
    cuda.cuCtxSynchronize()
    for _ in range(5):
        cuda.cuCtxSynchronize()


def warms():
    """All is launched once before the program is at work, and that is little of its time."""
    for kernel in range(0x1000, 0x9000, 0x1000):
        first(launch, kernel, 5 * MS)
    for kernel in range(0x1000, 0x9000, 0x1000):
        steps(kernel, 10)
    time.sleep(1)


def main():
    pids = []
    for way in sys.argv[2:]:
        pid = os.fork()
        if pid == 0:
            globals()[way]()
            print(way, os.getpid(), cpu_ns, wall_ns, flush=True)
            os._exit(0)
        pids.append(pid)
    return max(os.waitpid(pid, 0)[1] for pid in pids)


sys.exit(main() != 0)
