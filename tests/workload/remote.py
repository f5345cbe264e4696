# SPDX-License-Identifier: Apache-2.0
"""Two programs with a TCP connection between them, of which one feeds a GPU.

usage: remote.py serve HOW FILE: answers one client on a port of 127.0.0.1, which it writes to FILE. direct: it sends
each answer after some work; corked: the kernel holds each back, for 200 ms, and sends it from a timer's interrupt, as
if it came from another host; late: it takes what it is sent only after 200 ms, and answers then.

remote.py ask LIBCUDA FILE TIMES WAY: connects to it, launches, asks, and waits: recv, poll, select or epoll; send: it
sends more than has room, and waits for that. Prints how many nanoseconds it waited, and its own port.

remote.py listen LIBCUDA FILE TIMES: is asked itself, over connections that it accepts, and launches for each question.

remote.py send FILE TIMES: asks it so often, corked.
"""
import ctypes
import os
import select
import socket
import sys
import time

NONE = ctypes.c_void_p(None)
WORK_NS = 5000000
MUCH = 64 << 20


def launcher(libcuda):
    cuda = ctypes.CDLL(libcuda)
    cuda.cuInit(0)
    return lambda: cuda.cuLaunchKernel(ctypes.c_void_p(0x1000), 1, 1, 1, 1, 1, 1, 0, NONE, NONE, NONE)


def listening(path):
    s = socket.create_server(("127.0.0.1", 0))
    with open(path + ".new", "w", encoding="ascii") as f:
        f.write(str(s.getsockname()[1]))
    os.rename(path + ".new", path)
    return s


def connected(path):
    with open(path, encoding="ascii") as f:
        return socket.create_connection(("127.0.0.1", int(f.read())))


def cork(s):
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)


def serve(how, path):
    s, _ = listening(path).accept()
    if how == "corked":
        cork(s)
    while s.recv(16):
        if how == "late":
            time.sleep(0.2)
            left = MUCH - 16
            while left > 0:
                left -= len(s.recv(1 << 20))
        until = time.thread_time_ns() + (WORK_NS if how == "direct" else 0)
        while time.thread_time_ns() < until:
            pass
        s.sendall(b"answer")


def waiter(s, way):
    if way == "poll":
        p = select.poll()
        p.register(s, select.POLLIN)
        return p.poll
    if way == "epoll":
        e = select.epoll()
        e.register(s, select.EPOLLIN)
        return e.poll
    if way == "select":
        return lambda: select.select([s], [], [])
    return lambda: None


def ask(libcuda, path, times, way):
    launch = launcher(libcuda)
    s = connected(path)
    wait = waiter(s, way)
    waited = 0
    for _ in range(int(times)):
        launch()
        begin = time.monotonic_ns()
        s.sendall(bytes(MUCH) if way == "send" else b"question")
        wait()
        s.recv(16)
        waited += time.monotonic_ns() - begin
    print(waited, s.getsockname()[1])


def listen(libcuda, path, times):
    launch = launcher(libcuda)
    s, _ = listening(path).accept()
    for _ in range(int(times)):
        s.recv(16)
        launch()
        s.sendall(b"answer")


def send(path, times):
    s = connected(path)
    cork(s)
    for _ in range(int(times)):
        s.sendall(b"question")
        s.recv(16)


{"serve": serve, "ask": ask, "listen": listen, "send": send}[sys.argv[1]](*sys.argv[2:])
