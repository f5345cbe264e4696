# SPDX-License-Identifier: Apache-2.0
"""Programs that wait for a loader, while the GPU has work or has none.

usage: queues.py LIBCUDART WAY... LIBCUDART is a GPU whose work takes so much time as plan(ns) said last, in a queue for
each stream; idle(from, to) says how long it had none then. Each way is a process, which waits 40 times for another one
to send it something. Prints a line for each way: its name, its pid, how long it waited, and how long the GPU had no work
meanwhile, in nanoseconds.
"""
import ctypes
import os
import sys
import time

MS = 1000000
STEPS = 40
cuda = ctypes.CDLL(sys.argv[1])
cuda.idle.restype = ctypes.c_ulong
stream, other, event = (ctypes.c_void_p(n) for n in (0x5000, 0x6000, 0x7000))
default = ctypes.c_void_p(None)
host, gpu = ctypes.c_void_p(0x10000), ctypes.c_void_p(0x20000)


def work(n, ns, on=default):
    cuda.plan(ctypes.c_ulong(ns))
    for _ in range(n):
        cuda.cudaLaunchKernel(ctypes.c_void_p(0x1000), ctypes.c_ulong(1), 1, ctypes.c_ulong(1), 1, None, 0, on)


# --- what is done between two waits: nothing is left ---


def streams():
    """Its own stream, waited for."""
    cuda.cudaMemcpyAsync(gpu, host, 4096, 1, stream)
    work(4, MS // 2, stream)
    cuda.cudaStreamSynchronize(stream)


def device():
    """The default stream, and one of its own; the device is waited for."""
    work(2, MS // 2)
    work(2, MS // 2, stream)
    cuda.cudaDeviceSynchronize()


def result():
    """A result is copied to the host."""
    work(4, MS // 2)
    cuda.cudaMemcpy(host, gpu, 4096, 2)


def events():
    """An event is waited for."""
    work(4, MS // 2, stream)
    cuda.cudaEventRecord(event, stream)
    cuda.cudaEventSynchronize(event)


def polled():
    """An event is asked for."""
    work(4, MS // 2, stream)
    cuda.cudaEventRecord(event, stream)
    while cuda.cudaEventQuery(event):
        time.sleep(0.0005)


# --- something is ---


def ahead():
    """Work is given ahead, and nothing is waited for."""
    work(10, 3 * MS, stream)


def elsewhere():
    """One stream is waited for, and another one has work."""
    work(10, 3 * MS, other)
    work(1, MS // 10, stream)
    cuda.cudaStreamSynchronize(stream)


def second():
    """One GPU is waited for, and a second one has work."""
    cuda.cudaSetDevice(1)
    work(10, 3 * MS)
    cuda.cudaSetDevice(0)
    work(1, MS // 10)
    cuda.cudaDeviceSynchronize()


def full_of_launches():
    """The queue is full: launches wait for room in it."""
    work(12, 3 * MS, stream)


def full_of_copies():
    cuda.plan(ctypes.c_ulong(3 * MS))
    for _ in range(12):
        cuda.cudaMemcpyAsync(gpu, host, 1 << 20, 1, stream)


def full_of_copies_on_the_gpu():
    cuda.plan(ctypes.c_ulong(3 * MS))
    for _ in range(12):
        cuda.cudaMemcpyAsync(gpu, gpu, 1 << 20, 3, stream)


def full_of_graphs():
    cuda.plan(ctypes.c_ulong(3 * MS))
    for _ in range(12):
        cuda.cudaGraphLaunch(ctypes.c_void_p(0x8000), stream)


def synced():
    """It is waited for later."""
    cuda.cudaStreamSynchronize(stream)
    work(10, 3 * MS, stream)


def asked():
    """It is asked for later."""
    cuda.cudaEventQuery(event)
    work(10, 3 * MS, stream)
    cuda.cudaEventRecord(event, stream)


def load(pipe):
    """Eight milliseconds of work for each thing that is sent, once one is asked for."""
    ask, answer = pipe
    while os.read(ask, 1):
        until = time.monotonic_ns() + 8 * MS
        while time.monotonic_ns() < until:
            pass
        os.write(answer, b".")


def run(way):
    ask, answer = os.pipe(), os.pipe()
    loader = os.fork()
    if loader == 0:
        os.close(ask[1])
        load((ask[0], answer[1]))
        os._exit(0)
    os.close(ask[0])
    waited = idle = 0
    cuda.cudaStreamCreate(ctypes.byref(ctypes.c_void_p()))
    for _ in range(STEPS):
        globals()[way]()
        began = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        os.write(ask[1], b".")
        os.read(answer[0], 1)
        ended = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        waited += ended - began
        idle += cuda.idle(ctypes.c_ulong(began), ctypes.c_ulong(ended))
    os.close(ask[1])
    os.waitpid(loader, 0)
    print(way, os.getpid(), waited, idle, flush=True)


for name in sys.argv[2:]:
    child = os.fork()
    if child == 0:
        run(name)
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        sys.exit(3)
