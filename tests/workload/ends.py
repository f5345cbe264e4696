# SPDX-License-Identifier: Apache-2.0
"""Programs that feed the GPU, of which each ends badly in another way, or never ends, or only waits.

usage: ends.py LIBCUDA LIBNCCL WAY... (Without LIBNCCL: no way with ranks.) Each way is a process. Prints a line for
each: its name, its pid, and the pid that the trouble is about. Ends when all are as they will stay, and have been so for
longer than it took them.
"""
import ctypes
import mmap
import multiprocessing
import os
import queue
import resource
import signal
import socket
import struct
import sys
import tempfile
import threading
import time

BEGAN = time.monotonic()
cuda = ctypes.CDLL(sys.argv[1])
nccl = ctypes.CDLL(sys.argv[2]) if os.path.exists(sys.argv[2]) else None
none = ctypes.c_void_p(None)
pids = []


def launch():
    for _ in range(20):
        cuda.cuLaunchKernel(ctypes.c_void_p(0x1000), 1, 1, 1, 1, 1, 1, 0, none, none, none)


def child(body, *args):
    """A process that runs body and sleeps on, should that return. It does not outlive the test by long."""
    pid = os.fork()
    if pid == 0:
        signal.alarm(300)
        try:
            body(*args)
        finally:
            os._exit(3)
    return pid


def for_ever(read):
    """Nothing comes."""
    os.read(read, 1)


# --- waits that nobody ends ---


def inherited(tell):
    """A worker is forked while another thread has a lock."""
    lock, held, (read, write) = threading.Lock(), threading.Event(), os.pipe()

    def hold():
        with lock:
            held.set()
            time.sleep(1000)

    threading.Thread(target=hold, daemon=True).start()
    held.wait()
    launch()
    tell(child(lock.acquire))
    for_ever(read)


def pair(tell):
    """Two threads, each of which has the lock that the other one wants."""
    first, second, both = threading.Lock(), threading.Lock(), threading.Barrier(2)

    def other():
        with second:
            both.wait()
            first.acquire()

    threading.Thread(target=other, daemon=True).start()
    launch()
    with first:
        both.wait()
        tell(os.getpid())
        second.acquire()


def event(tell):
    """An event that nobody is left to set."""
    launch()
    tell(os.getpid())
    threading.Event().wait()


# --- waits that somebody may end ---


def server(tell):
    """Idle: a thread waits for tasks from another, and that one for somebody to connect."""
    tasks, listener = queue.Queue(), socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=lambda: tasks.put(listener.accept()), daemon=True).start()
    launch()
    tell(0)
    tasks.get()


def pool(tell):
    """Idle: workers wait in a semaphore of all of them, and who feeds the GPU for a result."""
    work, (read, write) = multiprocessing.Semaphore(0), os.pipe()
    for _ in range(2):
        child(work.acquire)
    launch()
    tell(0)
    for_ever(read)


def timed(tell):
    launch()
    tell(0)
    threading.Event().wait(1000)


# --- waits for one that used to come ---


def asks(tell, fifth):
    """A worker answers four times. That it does not the fifth time nobody notices: the pipe stays open."""
    to_read, to_write = os.pipe()
    from_read, from_write = os.pipe()

    def work():
        for _ in range(4):
            os.read(to_read, 1)
            time.sleep(0.02)
            os.write(from_write, b"x")
        os.read(to_read, 1)
        fifth()

    launch()
    child(work)
    for _ in range(4):
        os.write(to_write, b"x")
        os.read(from_read, 1)
        launch()
    os.write(to_write, b"x")
    tell(os.getpid())
    for_ever(from_read)


def gone_worker(tell):
    asks(tell, lambda: os._exit(3))


def busy_worker(tell):
    asks(tell, busy)


def stopped_worker(tell):
    asks(tell, lambda: os.kill(os.getpid(), signal.SIGSTOP))


def idle_worker(tell):
    """It waits for something from outside."""
    asks(tell, asleep)


def gone_thread(tell):
    """A thread that ends, as by an exception; another one of the process waits for something from outside."""
    asked, done = queue.SimpleQueue(), queue.SimpleQueue()

    def work():
        for _ in range(4):
            asked.get()
            time.sleep(0.02)
            done.put(1)
        asked.get()

    threading.Thread(target=asleep, daemon=True).start()
    threading.Thread(target=work, daemon=True).start()
    launch()
    for _ in range(4):
        asked.put(1)
        done.get()
        launch()
    asked.put(1)
    tell(os.getpid())
    done.get()


def done_worker(tell):
    """It did all that it was asked, and ended well; later its starter waits for something from outside."""
    read, write = os.pipe()

    def work():
        for _ in range(4):
            time.sleep(0.02)
            os.write(write, b"x")

    launch()
    worker = child(lambda: (work(), os._exit(0)))
    for _ in range(4):
        os.read(read, 1)
        launch()
    os.waitpid(worker, 0)
    time.sleep(1.3)
    tell(0)
    for_ever(read)


# --- ranks ---


def rank(number, nranks, rounds):
    comm = ctypes.c_void_p(number + 1)
    nccl.ncclCommInitRank(ctypes.byref(comm), nranks, UniqueId(), number)
    for _ in range(rounds):
        nccl.ncclAllReduce(none, none, ctypes.c_size_t(1000), 7, 0, comm, none)


class UniqueId(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_char * 128)]


def crew(tell, nranks, wait, lag):
    """The last rank does not come to the fourth collective."""

    def body(number):
        launch()
        rank(number, nranks, 3)
        if number == nranks - 1:
            lag()
        else:
            wait(number, nranks)

    ranks = [child(body, i) for i in range(nranks)]
    tell(ranks[-1])
    os.waitpid(ranks[0], 0)


def in_collective(_number, _nranks):
    nccl.stuck()
    rank_on()


def rank_on():
    nccl.ncclAllReduce(none, none, ctypes.c_size_t(1000), 7, 0, none, none)


def in_sync(_number, _nranks):
    rank_on()
    nccl.stuck()
    nccl.cudaStreamSynchronize(none)


def asleep():
    for_ever(os.pipe()[0])


def busy():
    while True:
        pass


def missing_asleep(tell):
    crew(tell, 3, in_collective, asleep)


def missing_busy(tell):
    crew(tell, 4, in_sync, busy)


def missing_gone(tell):
    crew(tell, 5, in_sync, lambda: os._exit(7))


# --- deaths ---


def dies(tell, body):
    """A worker dies that is waited for."""
    read, write = os.pipe()

    def work():
        os.close(read)
        time.sleep(0.1)
        os.write(write, b"x")
        time.sleep(0.1)
        body()

    launch()
    worker = child(work)
    os.close(write)
    tell(worker)
    while os.read(read, 1):
        launch()
    os.waitpid(worker, 0)
    signal.pause()


def beyond_the_file():
    with tempfile.TemporaryFile() as file:
        file.truncate(4096)
        memory = mmap.mmap(file.fileno(), 4096)
        file.truncate(0)
        memory[0] = 1


def bus(tell):
    dies(tell, beyond_the_file)


def segv(tell):
    dies(tell, lambda: ctypes.string_at(8))


def abort(tell):
    dies(tell, os.abort)


def killed(tell):
    """By one that did not start it."""

    def body():
        launch()
        signal.pause()

    target = child(body)
    time.sleep(0.2)
    os.waitpid(child(os.kill, target, signal.SIGKILL), 0)
    tell(target)
    os.waitpid(target, 0)
    signal.pause()


def out_of_memory(tell):
    """By the kernel: it touches more memory than its control group may have."""

    def body():
        launch()
        pages = mmap.mmap(-1, 256 << 20)
        for at in range(0, len(pages), mmap.PAGESIZE):
            pages[at] = 1

    target = child(body)
    tell(target)
    launch()
    os.waitpid(target, 0)
    signal.pause()


def terminated(tell):
    """By who started it: that is meant."""
    launch()
    worker = child(signal.pause)
    os.kill(worker, signal.SIGTERM)
    os.waitpid(worker, 0)
    tell(0)
    signal.pause()


def failed(tell):
    """It reports that it failed, as programs do."""
    launch()
    os.waitpid(child(os._exit, 1), 0)
    tell(0)
    signal.pause()


def start(way):
    read, write = os.pipe()
    pid = child(globals()[way], lambda whom: os.write(write, struct.pack("i", whom)))
    return way, pid, struct.unpack("i", os.read(read, 4))[0]


resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
lines = [start(way) for way in sys.argv[3:]]
time.sleep(max(3, 2 * (time.monotonic() - BEGAN)))
for line in lines:
    print(*line)
sys.stdout.flush()
