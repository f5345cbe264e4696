# SPDX-License-Identifier: Apache-2.0
"""A program that feeds the GPU and loses a tenth, three tenths or six tenths of its time in one kind of wait.

usage: exam_waits.py LIBCUDA KIND_PERCENT[_beside]   (--ways: prints their names)

As exam_python.py. A round takes ROUND_S, of which the feeding thread computes what is not lost; beside: as many
programs as there are CPUs compute all that time, as they may ("beside" says so: whom it waits for lacks a CPU, too).
"share" is what was lost of the time of all rounds, in percent, and "lost_cpu_ns" what of "lost_ns" that thread was
ready to run, and "to_cpu_ns" for how long the other one was, while it was waited for.
"""
import ctypes
import fcntl
import json
import multiprocessing
import os
import queue
import select
import signal
import socket
import sys
import tempfile
import threading
import time

import exam_python as exam

ROUND_S = 0.04
ROUNDS = 20
libc = ctypes.CDLL(None, use_errno=True)


def checked(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


# --- kinds of waits for another process: how it is asked, what waits, what answers, and how it is put away ---


def pipe():
    r, w = os.pipe()
    return lambda: os.read(r, 1), lambda: os.write(w, b"x")


def socket_pair():
    ours, theirs = socket.socketpair()
    return lambda: ours.recv(1), lambda: theirs.send(b"x")


def datagram():
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    return lambda: ours.recv(1), lambda: theirs.send(b"x")


def tcp():
    listens = socket.create_server(("127.0.0.1", 0))
    ours = socket.create_connection(listens.getsockname())
    theirs, _ = listens.accept()
    theirs.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return lambda: ours.recv(1), lambda: theirs.send(b"x")


def eventfd():
    fd = checked(libc.eventfd(0, 0))
    return lambda: os.read(fd, 8), lambda: os.write(fd, (1).to_bytes(8, sys.byteorder))


def waits_in(poller):
    """A poller that is told of a pipe."""
    r, w = os.pipe()
    wait = poller(r)
    return lambda: (wait(), os.read(r, 1)), lambda: os.write(w, b"x")


def epoll():
    e = select.epoll()
    return waits_in(lambda fd: (e.register(fd, select.EPOLLIN), e.poll)[1])


def poll():
    p = select.poll()
    return waits_in(lambda fd: (p.register(fd, select.POLLIN), p.poll)[1])


def select_limit():
    """With a time limit, again and again."""
    def wait(fd):
        while not select.select([fd], [], [], 0.003)[0]:
            pass

    return waits_in(lambda fd: lambda: wait(fd))


def semaphore():
    s = multiprocessing.Semaphore(0)
    return s.acquire, s.release


def condition():
    c, state = multiprocessing.Condition(), multiprocessing.Value("i", 0, lock=False)

    def wait():
        with c:
            c.wait_for(lambda: state.value)
            state.value = 0

    def answer():
        with c:
            state.value = 1
            c.notify()

    return wait, answer


def semop():
    """System V's."""
    number = checked(libc.semget(0, 1, 0o600))

    def add(n):
        checked(libc.semop(number, ctypes.byref((ctypes.c_short * 3)(0, n, 0)), 1))

    return lambda: add(-1), lambda: add(1), lambda: libc.semctl(number, 0, 0)


def msgq():
    """System V's messages."""
    number = checked(libc.msgget(0, 0o600))
    message = (ctypes.c_long * 2)(1, 0)
    return (lambda: checked(libc.msgrcv(number, ctypes.byref(message), 8, 0, 0)), lambda: checked(libc.msgsnd(number, ctypes.byref(message), 8, 0)),
            lambda: libc.msgctl(number, 0, None))


def mqueue():
    """POSIX's messages."""
    rt, name = ctypes.CDLL("librt.so.1", use_errno=True), b"/exam-%d" % os.getpid()
    q = checked(rt.mq_open(name, os.O_RDWR | os.O_CREAT, 0o600, None))
    rt.mq_unlink(name)
    room = ctypes.create_string_buffer(1 << 16)
    return lambda: checked(rt.mq_receive(q, room, len(room), None)), lambda: checked(rt.mq_send(q, b"x", 1, 0))


CHANNELS = (pipe, socket_pair, datagram, tcp, eventfd, epoll, poll, select_limit, semaphore, condition, semop, msgq, mqueue)


def fed(wait, own_s, ask=lambda: None):
    """Rounds of own work and a wait; what they lost and of how much time."""
    clock, begin = exam.Clock(), time.monotonic_ns()
    for _ in range(ROUNDS):
        exam.launch()
        exam.compute(own_s)
        ask()
        with clock:
            wait()
    exam.launch()
    return clock, time.monotonic_ns() - begin


def lost(result, to, did="on-cpu"):
    clock, all_ns = result
    return dict(exam.lost(clock.ns, to, did), lost_cpu_ns=clock.cpu_ns, share=round(100 * clock.ns / all_ns))


def computes(share):
    """For how long this one had no CPU meanwhile."""
    clock = exam.Clock()
    with clock:
        exam.compute(share * ROUND_S)
    return clock.ns


class Worker:
    """A child that runs `body` each time that it is asked, and sums up what that returns."""

    def __init__(self, body):
        self.ours, theirs = multiprocessing.Pipe()

        def run():
            ns = 0
            while theirs.recv():
                ns += body(theirs) or 0
            theirs.send(ns)

        self.pid = exam.child(run)

    def ask(self):
        self.ours.send(1)

    def end(self):
        self.ours.send(0)
        ns = self.ours.recv()
        os.waitpid(self.pid, 0)
        return ns


def over(channel, share):
    wait, answer, *end = channel()

    def body(_):
        ns = computes(share)
        answer()
        return ns

    worker = Worker(body)
    result = fed(wait, (1 - share) * ROUND_S, worker.ask)
    without_cpu_ns = worker.end()
    for put_away in end:
        put_away()
    return dict(lost(result, [worker.pid]), to_cpu_ns=without_cpu_ns)


def locked(take, give, share):
    """A lock of a file that another process has while it computes."""
    with tempfile.NamedTemporaryFile() as file:
        def body(theirs):
            with open(file.name, "r+b") as mine:
                take(mine)
                theirs.send(1)
                ns = computes(share)
                give(mine)
                return ns

        worker = Worker(body)
        result = fed(lambda: take(file), (1 - share) * ROUND_S, lambda: (give(file), worker.ask(), worker.ours.recv()))
        return dict(lost(result, [worker.pid]), to_cpu_ns=worker.end())


def flock(share):
    return locked(lambda f: fcntl.flock(f, fcntl.LOCK_EX), lambda f: fcntl.flock(f, fcntl.LOCK_UN), share)


def record_lock(share):
    """fcntl's."""
    return locked(lambda f: fcntl.lockf(f, fcntl.LOCK_EX), lambda f: fcntl.lockf(f, fcntl.LOCK_UN), share)


def wait4(share):
    pids = []
    result = fed(lambda: os.waitpid(pids[-1], 0), (1 - share) * ROUND_S, lambda: pids.append(exam.child(exam.compute, share * ROUND_S)))
    return lost(result, pids)


def thread(share):
    """A queue of Python's, of a thread that sleeps meanwhile but for its own work."""
    ask, done = queue.SimpleQueue(), queue.SimpleQueue()
    to = exam.asked_thread(lambda: exam.compress(share * ROUND_S), ask, done)
    return lost(fed(done.get, (1 - share) * ROUND_S, lambda: ask.put(1)), [to])


def gil(share):
    ask, done = queue.SimpleQueue(), [0]

    def body():
        while ask.get():
            exam.compute(share * ROUND_S)
            done[0] += 1

    to = exam.thread(body)

    def wait():
        before = done[0]
        ask.put(1)
        while done[0] == before:
            exam.launch()

    return lost(fed(wait, (1 - share) * ROUND_S), [to])


def stopped(share):
    """By a neighbour, who lets it go on later."""
    feeder = os.getpid()

    def body(_):
        os.kill(feeder, signal.SIGSTOP)
        time.sleep(share * ROUND_S)
        os.kill(feeder, signal.SIGCONT)

    worker = Worker(body)
    begin = time.monotonic_ns()
    for _ in range(ROUNDS):
        exam.launch()
        worker.ask()
        exam.compute((1 - share) * ROUND_S)
    exam.launch()
    all_ns = time.monotonic_ns() - begin
    worker.end()
    ns = int(ROUNDS * share * ROUND_S * 1e9)
    return {"lost_ns": ns, "part": "stopped", "did": "stopped", "named": [worker.pid], "share": round(100 * ns / all_ns)}


def quota(share):
    """A control group that may have the rest of a CPU."""
    begin = time.monotonic_ns()
    truth = exam.quota(round(100 * (1 - share)))
    return dict(truth, share=round(100 * truth["lost_ns"] / (time.monotonic_ns() - begin)))


KINDS = {c.__name__: lambda share, c=c: over(c, share) for c in CHANNELS}
KINDS.update((f.__name__, f) for f in (flock, record_lock, wait4, thread, gil, stopped, quota))


def beside(way, share):
    hogs = [exam.child(exam.compute, 30) for _ in range(os.cpu_count())]
    try:
        return dict(way(share), beside=True)
    finally:
        for pid in hogs:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def ways(kinds):
    for name, way in kinds.items():
        for percent in (10, 30, 60):
            for suffix, run in (("", lambda way, share: way(share)), ("_beside", beside)):
                def one(way=way, share=percent / 100, run=run):
                    return run(way, share)

                one.__name__ = "%s_%d%s" % (name, percent, suffix)
                yield one


if __name__ == "__main__":
    multiprocessing.set_start_method("fork")
    exam.main(tuple(ways(KINDS)))
