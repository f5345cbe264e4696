# SPDX-License-Identifier: Apache-2.0
"""A program that feeds the GPU and waits, each of its threads in another way: for a thread or process that computes.

usage: waits.py LIBCUDA [WAY...]. Prints a line for each way: its name, the feeding thread, who it waited for (a process,
a thread, or some of them with commas), and for how many nanoseconds, by its own clock. Where there is no such way here:
its name, 0, 0, and why.
"""
import ctypes
import fcntl
import mmap
import multiprocessing
import os
import queue
import select
import signal
import socket
import struct
import sys
import tempfile
import threading
import time
import zlib

ROUNDS = 8
PR_SET_THP_DISABLE = 41  # of Linux: mmap and prctl of Python 3.9 have no names for them
MAP_POPULATE = 0x8000
BUSY_S = 0.03
cuda = ctypes.CDLL(sys.argv[1])
none = ctypes.c_void_p(None)
libc = ctypes.CDLL(None, use_errno=True)


def launch():
    cuda.cuLaunchKernel(ctypes.c_void_p(0x1000), 1, 1, 1, 1, 1, 1, 0, none, none, none)


def compute(seconds=BUSY_S):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


def child(body):
    pid = os.fork()
    if pid == 0:
        try:
            body()
        finally:
            os._exit(0)
    return pid


def end(pid):
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def checked(result):
    """Of a function of libc."""
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


class Clock:
    """Time inside `with`, summed up."""

    ns = 0

    def __enter__(self):
        self.begin = time.monotonic_ns()

    def __exit__(self, *_):
        self.ns += time.monotonic_ns() - self.begin


# Each way: a generator that waits once between its yields, and first yields for whom.


def answer(read, write):
    """One that computes whenever it is asked, by a byte."""
    while os.read(read, 1):
        compute()
        os.write(write, b"x")


def ask(clock, pid, read, write):
    yield pid
    for _ in range(ROUNDS):
        os.write(write, b"x")
        with clock:
            os.read(read, 1)
        yield
    end(pid)


def pipe(clock):
    to_read, to_write = os.pipe()
    from_read, from_write = os.pipe()
    return ask(clock, child(lambda: answer(to_read, from_write)), from_read, to_write)


def socketpair(clock):
    ours, theirs = socket.socketpair()
    pid = child(lambda: answer(theirs.fileno(), theirs.fileno()))
    yield from ask(clock, pid, ours.fileno(), ours.fileno())


def through(clock):
    """Through a process that only hands on what another one computes."""
    to_read, to_write = os.pipe()
    on_read, on_write = os.pipe()
    back_read, back_write = os.pipe()
    from_read, from_write = os.pipe()
    last = child(lambda: answer(on_read, back_write))

    def hand_on():
        while os.read(to_read, 1):
            os.write(on_write, b"x")
            os.read(back_read, 1)
            os.write(from_write, b"x")

    between = child(hand_on)
    yield from ask(clock, last, from_read, to_write)
    end(between)


def asked_and_answers(clock, wait, post):
    """A process that computes between wait(0) and post(1)."""

    def body():
        while True:
            wait(0)
            compute()
            post(1)

    pid = child(body)
    yield pid
    for _ in range(ROUNDS):
        post(0)
        with clock:
            wait(1)
        yield
    end(pid)


def eventfd(clock):
    both = os.eventfd(0), os.eventfd(0)
    return asked_and_answers(clock, lambda i: os.eventfd_read(both[i]), lambda i: os.eventfd_write(both[i], 1))


def epoll(clock):
    both = os.eventfd(0), os.eventfd(0)
    polls = select.epoll(), select.epoll()
    for poll, fd in zip(polls, both):
        poll.register(fd, select.EPOLLIN)

    def wait(i):
        polls[i].poll()
        os.eventfd_read(both[i])

    return asked_and_answers(clock, wait, lambda i: os.eventfd_write(both[i], 1))


def semaphore(clock):
    both = multiprocessing.Semaphore(0), multiprocessing.Semaphore(0)
    return asked_and_answers(clock, lambda i: both[i].acquire(), lambda i: both[i].release())


def message_queue(clock):
    room = ctypes.create_string_buffer(16)
    attr = struct.pack("8l", 0, 4, 16, 0, 0, 0, 0, 0)
    names = [f"/waits-{os.getpid()}-{i}".encode() for i in range(2)]
    queues = [checked(libc.mq_open(name, os.O_CREAT | os.O_RDWR, 0o600, attr)) for name in names]
    for name in names:
        checked(libc.mq_unlink(name))
    return asked_and_answers(clock, lambda i: checked(libc.mq_receive(queues[i], room, 16, None)),
                             lambda i: checked(libc.mq_send(queues[i], b"x", 1, 0)))


def sysv_semaphore(clock):
    both = checked(libc.semget(0, 2, 0o600))  # 0: private

    def change(i, by):
        checked(libc.semop(both, struct.pack("Hhh", i, by, 0), 1))

    yield from asked_and_answers(clock, lambda i: change(i, -1), lambda i: change(i, 1))
    checked(libc.semctl(both, 0, 0))  # IPC_RMID


def record_lock(clock):
    """fcntl(F_SETLKW)."""
    with tempfile.NamedTemporaryFile() as file:
        asked, done = multiprocessing.Semaphore(0), multiprocessing.Semaphore(0)

        def body():
            while True:
                asked.acquire()
                fcntl.lockf(file.fileno(), fcntl.LOCK_EX)
                done.release()
                compute()
                fcntl.lockf(file.fileno(), fcntl.LOCK_UN)

        pid = child(body)
        yield pid
        for _ in range(ROUNDS):
            asked.release()
            done.acquire()
            with clock:
                fcntl.lockf(file.fileno(), fcntl.LOCK_EX)
            fcntl.lockf(file.fileno(), fcntl.LOCK_UN)
            yield
        end(pid)


class Ring:
    """io_uring(7), for reads one at a time."""

    SETUP, ENTER = 425, 426

    def __init__(self):
        params = ctypes.create_string_buffer(120)
        self.fd = checked(libc.syscall(self.SETUP, 4, params))
        sq, cq = struct.unpack_from("10I", params, 40), struct.unpack_from("10I", params, 80)
        self.tail, self.array, self.head = sq[1], sq[6], cq[0]
        self.sq = mmap.mmap(self.fd, 4096, offset=0)
        self.cq = mmap.mmap(self.fd, 4096, offset=0x8000000)
        self.entries = mmap.mmap(self.fd, 4096, offset=0x10000000)
        self.room = ctypes.create_string_buffer(16)

    def read(self, fd):
        tail, = struct.unpack_from("I", self.sq, self.tail)
        struct.pack_into("BBHiQQII", self.entries, 64 * (tail % 4), 22, 0, 0, fd, 2**64 - 1,
                         ctypes.addressof(self.room), 1, 0)  # 22: IORING_OP_READ
        struct.pack_into("I", self.sq, self.array + 4 * (tail % 4), tail % 4)
        struct.pack_into("I", self.sq, self.tail, tail + 1)
        checked(libc.syscall(self.ENTER, self.fd, 1, 1, 1, None, 0))  # until one is complete
        head, = struct.unpack_from("I", self.cq, self.head)
        struct.pack_into("I", self.cq, self.head, head + 1)


def io_uring(clock):
    ring = Ring()
    to_read, to_write = os.pipe()
    from_read, from_write = os.pipe()
    pid = child(lambda: answer(to_read, from_write))
    yield pid
    for _ in range(ROUNDS):
        os.write(to_write, b"x")
        with clock:
            ring.read(from_read)
        yield
    end(pid)


def flock(clock):
    with tempfile.NamedTemporaryFile() as file:
        asked, done = multiprocessing.Semaphore(0), multiprocessing.Semaphore(0)

        def body():
            own = os.open(file.name, os.O_RDWR)
            while True:
                asked.acquire()
                fcntl.flock(own, fcntl.LOCK_EX)
                done.release()
                compute()
                fcntl.flock(own, fcntl.LOCK_UN)

        pid = child(body)
        yield pid
        for _ in range(ROUNDS):
            asked.release()
            done.acquire()
            with clock:
                fcntl.flock(file.fileno(), fcntl.LOCK_EX)
            fcntl.flock(file.fileno(), fcntl.LOCK_UN)
            yield
        end(pid)


def stopped(clock):
    """One that somebody stops while it is asked."""
    to_read, to_write = os.pipe()
    from_read, from_write = os.pipe()
    pid = child(lambda: answer(to_read, from_write))

    def stop():
        for _ in range(ROUNDS):
            os.read(go_read, 1)
            os.kill(pid, signal.SIGSTOP)
            time.sleep(3 * BUSY_S)
            os.kill(pid, signal.SIGCONT)

    go_read, go_write = os.pipe()
    stopper = child(stop)
    yield pid
    for _ in range(ROUNDS):
        os.write(go_write, b"x")
        os.write(to_write, b"x")
        with clock:
            os.read(from_read, 1)
        yield
    end(stopper)
    end(pid)


def thread_of(body):
    """A thread that runs it; its number."""
    numbers = queue.SimpleQueue()

    def run():
        numbers.put(threading.get_native_id())
        body()

    threading.Thread(target=run, daemon=True).start()
    return numbers.get()


def worker(asked, done):
    """Compresses: computing without the interpreter lock."""
    data = os.urandom(1 << 20)
    while asked.get():
        zlib.compress(data, 9)
        done.put(1)


def simple_queue(clock):
    asked, done = queue.SimpleQueue(), queue.SimpleQueue()
    yield thread_of(lambda: worker(asked, done))
    for _ in range(ROUNDS):
        asked.put(1)
        with clock:
            done.get()
        yield
    asked.put(0)


def condition(clock):
    asked, done = queue.Queue(), queue.Queue()
    yield thread_of(lambda: worker(asked, done))
    for _ in range(ROUNDS):
        asked.put(1)
        with clock:
            done.get()
        yield
    asked.put(0)


def keep(clock, n, rounds, nthreads=1):
    """Threads keep the interpreter lock in one long call: who wants it back after a nap waits, 5 ms at a time."""
    numbers, done = range(n), [0]
    asked = [queue.SimpleQueue() for _ in range(nthreads)]

    def body(mine):
        while mine.get():
            sum(numbers)
            done[0] += 1

    yield ",".join(str(thread_of(lambda mine=mine: body(mine))) for mine in asked)
    for i in range(rounds):
        for mine in asked:
            mine.put(1)
        while done[0] < nthreads * (i + 1):
            nap = Clock()
            with nap:
                time.sleep(0.0001)
            if nap.ns > 2_000_000:
                clock.ns += nap.ns
        yield
    for mine in asked:
        mine.put(0)


def gil(clock):
    return keep(clock, 3_000_000, ROUNDS)


def gil_long(clock):
    """So long that there are more waits than anybody keeps."""
    return keep(clock, 50_000_000, 4)


def gil_many(clock):
    """Three threads keep it in turn."""
    return keep(clock, 3_000_000, ROUNDS, 3)


def memory_map(clock):
    """Another thread forks: until the page tables are copied, nobody else may change what memory the process has."""
    checked(libc.prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0))  # many pages, then
    pages = mmap.mmap(-1, 1 << 30, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | MAP_POPULATE)
    asked, forks = queue.SimpleQueue(), [0]

    def body():
        while asked.get():
            pid = checked(libc.fork())  # (without the interpreter lock, unlike os.fork())
            if pid == 0:
                os._exit(0)
            forks[0] += 1
            end(pid)

    yield thread_of(body)
    for i in range(2 * ROUNDS):
        asked.put(1)
        while forks[0] == i:
            step = Clock()
            with step:
                mmap.mmap(-1, mmap.PAGESIZE).close()
            if step.ns > 1_000_000:
                clock.ns += step.ns
        yield
    asked.put(0)
    pages.close()


WAYS = (pipe, socketpair, through, eventfd, epoll, semaphore, sysv_semaphore, message_queue, io_uring, flock, record_lock,
        stopped, simple_queue, condition, gil, gil_long, gil_many, memory_map)


def feed(way):
    # Until who started this thread no longer wants the interpreter lock: of two who wait for it one is given it, and
    # the other one's wait ends because its time is up.
    time.sleep(0.1)
    clock = Clock()
    try:
        steps = way(clock)
        whom = next(steps)
    except OSError as why:
        print(way.__name__, 0, 0, why.strerror, flush=True)
        return
    launch()
    for _ in steps:
        launch()
    launch()
    print(way.__name__, threading.get_native_id(), whom, clock.ns, flush=True)


def wait4():
    """Each child is another one."""
    clock = Clock()
    launch()
    for _ in range(ROUNDS):
        pid = child(compute)
        with clock:
            os.waitpid(pid, 0)
        launch()
    print("wait4", threading.get_native_id(), 0, clock.ns, flush=True)


cuda.cuInit(0)
names = sys.argv[2:]
for way in WAYS:
    if not names or way.__name__ in names:
        feeder = threading.Thread(target=feed, args=(way,))
        feeder.start()
        feeder.join()
if not names or "wait4" in names:
    feeder = threading.Thread(target=wait4)
    feeder.start()
    feeder.join()
