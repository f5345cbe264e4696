# SPDX-License-Identifier: Apache-2.0
"""A service that nobody records, and a program that waits for it.

usage: follows.py serve WAY SOCKET: answers one client, each time after some work (busy), a sleep (idle), work for which
it seldom has a CPU (hog), reads from a disk, past the page cache (disk:FILE), or once in each of 300 threads (many). Prints its pid when it can be connected to, and in the
end for how long it ran, and waited for a CPU, by the kernel's account, in nanoseconds.

follows.py ask LIBCUDA TIMES SOCKET: launches, and asks; prints how long it waited.
"""
import ctypes
import mmap
import os
import socket
import sys
import threading
import time

MS = 1000000


def work(ns):
    """So much time of its CPU."""
    until = time.thread_time_ns() + ns
    while time.thread_time_ns() < until:
        pass


def account():
    with open("/proc/thread-self/schedstat", encoding="ascii") as f:
        return [int(n) for n in f.read().split()[:2]]


def hog():
    """One CPU for it and another one, which goes before it."""
    cpu = min(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cpu})
    server = os.getpid()
    if os.fork() == 0:
        while os.getppid() == server:
            pass
        os._exit(0)
    os.nice(15)


def answer_many(client):
    """Each answer is another thread's."""
    ready = threading.Barrier(301)

    def one():
        ready.wait()
        with lock:
            if client.recv(1):
                time.sleep(0.002)
                client.send(b".")
        ready.wait()

    lock = threading.Lock()
    threads = [threading.Thread(target=one) for _ in range(300)]
    for thread in threads:
        thread.start()
    ready.wait()
    ready.wait()
    for thread in threads:
        thread.join()


def read_past_cache(name):
    """Reads from the disk in vain, for so long."""
    fd = os.open(name, os.O_RDONLY | os.O_DIRECT)
    room = mmap.mmap(-1, 65536)

    def read(ns):
        until = time.monotonic_ns() + ns
        at = 0
        while time.monotonic_ns() < until:
            at = at + 65536 if os.preadv(fd, [room], at) == 65536 else 0

    return read


def serve(way, path):
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(path)
    listening.listen()
    print(os.getpid(), flush=True)
    client, _ = listening.accept()
    if way == "many":
        answer_many(client)
        return
    if way == "hog":
        hog()
    read = read_past_cache(way[5:]) if way.startswith("disk:") else None
    ran, waited = account()
    while client.recv(1):
        if way == "idle":
            time.sleep(0.008)
        elif read:
            read(8 * MS)
        else:
            work(2 * MS if way == "hog" else 8 * MS)
        client.send(b".")
    ended = account()
    print(ended[0] - ran, ended[1] - waited, flush=True)


def ask(libcuda, times, path):
    cuda = ctypes.CDLL(libcuda)
    none = ctypes.c_void_p(None)
    cuda.cuInit(0)
    service = socket.socket(socket.AF_UNIX)
    service.connect(path)
    waited = 0
    for _ in range(int(times)):
        cuda.cuLaunchKernel(ctypes.c_void_p(0x1000), 1, 1, 1, 1, 1, 1, 0, none, none, none)
        began = time.monotonic_ns()
        service.send(b".")
        service.recv(1)
        waited += time.monotonic_ns() - began
    service.shutdown(socket.SHUT_WR)
    service.recv(1)  # until it has ended
    print(waited)


if sys.argv[1] == "serve":
    serve(*sys.argv[2:])
else:
    ask(*sys.argv[2:])
