# SPDX-License-Identifier: Apache-2.0
"""A Python program that feeds the GPU and loses time in one way, or in none: a subject of tests/tools/exam.py.

usage: exam_python.py LIBCUDA WAY        (--ways: prints their names)

Its last line is one JSON object: "feeder", the thread that launches; "to", for whom it waited (threads, or processes by
the number of their first thread); "did", what these did meanwhile; "lost_ns", how long, by its own clock; "cpu_wait_ns",
how long it was ready to run and had no CPU, as the kernel counts. A decoy prints only "feeder" and that.
"""
import asyncio
import concurrent.futures
import ctypes
import fcntl
import json
import multiprocessing
import os
import queue
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import zlib

ROUNDS = 20
BUSY_S = 0.025
OWN_S = 0.005
DATA = os.urandom(1 << 19)


cuda = None


def open_cuda(path):
    global cuda
    cuda = ctypes.CDLL(path)
    cuda.cuInit(0)
    launch()


def launch():
    none = ctypes.c_void_p(None)
    cuda.cuLaunchKernel(ctypes.c_void_p(0x1000), 1, 1, 1, 1, 1, 1, 0, none, none, none)


def compute(seconds=BUSY_S, clock=time.thread_time):
    """In bytecode, for so long on a CPU."""
    end = clock() + seconds
    while clock() < end:
        pass


def compress(seconds=BUSY_S):
    """In C, without the interpreter lock."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        zlib.compress(DATA[:1 << 16], 9)


def off_cpu_ns():
    return time.monotonic_ns() - time.thread_time_ns()


def without_cpu_ns():
    """Ready to run, as the kernel counts."""
    with open("/proc/thread-self/schedstat", encoding="ascii") as file:
        return int(file.read().split()[1])


class Clock:
    """Time inside `with` in which this thread did not run, summed up, and what of it it was ready to."""

    ns = 0
    cpu_ns = 0

    def __enter__(self):
        self.cpu_begin, self.begin = without_cpu_ns(), off_cpu_ns()

    def __exit__(self, *_):
        self.ns += off_cpu_ns() - self.begin
        self.cpu_ns += without_cpu_ns() - self.cpu_begin


def rounds(wait, n=ROUNDS):
    """Feeds and waits in turn; for how long it waited."""
    clock = Clock()
    for _ in range(n):
        launch()
        compute(OWN_S)
        with clock:
            wait()
    launch()
    return clock.ns


def lost(ns, to, did="on-cpu"):
    return {"lost_ns": ns, "to": to, "did": did}


def thread(body, *args):
    """A thread that runs it; its number."""
    numbers = queue.SimpleQueue()

    def run():
        numbers.put(threading.get_native_id())
        body(*args)

    threading.Thread(target=run, daemon=True).start()
    return numbers.get()


def child(body, *args):
    pid = os.fork()
    if pid == 0:
        try:
            body(*args)
        finally:
            os._exit(0)
    return pid


# --- the interpreter lock: each launch gives it away, and wants it back ---


def interpreter_lock(work, n=1):
    asked = [queue.SimpleQueue() for _ in range(n)]
    done = [0]

    def keep(mine):
        while mine.get():
            work()
            done[0] += 1

    to = [thread(keep, mine) for mine in asked]
    clock = Clock()
    for i in range(ROUNDS):
        for mine in asked:
            mine.put(1)
        with clock:
            while done[0] < n * (i + 1):
                launch()
        compute(OWN_S)
    return lost(clock.ns, to)


def gil_bytecode():
    return interpreter_lock(compute)


def gil_c_call():
    numbers = range(1_500_000)
    return interpreter_lock(lambda: sum(numbers))


def gil_four():
    return interpreter_lock(lambda: compute(BUSY_S / 4), 4)


# --- other threads ---


def asked_thread(work, asked, done):
    def body():
        while asked.get():
            work()
            done.put(1)

    return thread(body)


def queue_get():
    asked, done = queue.Queue(), queue.Queue()
    to = asked_thread(compress, asked, done)
    return lost(rounds(lambda: (asked.put(1), done.get())), [to])


def condition():
    changed, state = threading.Condition(), [0]

    def body():
        while True:
            with changed:
                changed.wait_for(lambda: state[0] == 1)
            compress()
            with changed:
                state[0] = 0
                changed.notify()

    to = thread(body)

    def wait():
        with changed:
            state[0] = 1
            changed.notify()
            changed.wait_for(lambda: state[0] == 0)

    return lost(rounds(wait), [to])


def lock():
    """One that another thread has while it works."""
    asked, has, mine = queue.SimpleQueue(), queue.SimpleQueue(), threading.Lock()

    def body():
        while asked.get():
            with mine:
                has.put(1)
                compress()

    to = thread(body)

    def wait():
        with mine:
            pass

    clock = Clock()
    for _ in range(ROUNDS):
        launch()
        compute(OWN_S)
        asked.put(1)
        has.get()
        with clock:
            wait()
    launch()
    return lost(clock.ns, [to])


def thread_pool():
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        to = pool.submit(threading.get_native_id).result()
        return lost(rounds(lambda: pool.submit(compress).result()), [to])


def event_loop():
    """asyncio, and a thread of its executor."""
    to, clock = set(), Clock()

    def work():
        to.add(threading.get_native_id())
        compress()

    async def feed():
        loop = asyncio.get_running_loop()
        for _ in range(ROUNDS):
            launch()
            compute(OWN_S)
            with clock:
                await loop.run_in_executor(pool, work)
        launch()

    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        asyncio.run(feed())
    return lost(clock.ns, sorted(to))


def idle_thread():
    """A thread that dozes before it answers."""
    asked, done = queue.Queue(), queue.Queue()
    to = asked_thread(lambda: time.sleep(BUSY_S), asked, done)
    return lost(rounds(lambda: (asked.put(1), done.get())), [to], "asleep")


# --- other processes ---


def answers(connection, work):
    while connection.recv():
        work()
        connection.send(os.getpid())


def piped(work, did="on-cpu"):
    ours, theirs = multiprocessing.Pipe()
    worker = multiprocessing.Process(target=answers, args=(theirs, work), daemon=True)
    worker.start()
    ns = rounds(lambda: (ours.send(1), ours.recv()))
    ours.send(0)
    worker.join()
    return lost(ns, [worker.pid], did)


def mp_pipe():
    return piped(compute)


def mp_asleep():
    return piped(lambda: time.sleep(BUSY_S), "asleep")


def big_answers(connection):
    while connection.recv():
        compute(0.002)
        connection.send(DATA * 8)


def mp_big():
    """Answers of several MiB, through a pipe that holds little of them at a time."""
    ours, theirs = multiprocessing.Pipe()
    worker = multiprocessing.Process(target=big_answers, args=(theirs,), daemon=True)
    worker.start()
    clock = Clock()
    for _ in range(ROUNDS * 8):
        launch()
        ours.send(1)
        with clock:
            ours.recv()
    ours.send(0)
    worker.join()
    return lost(clock.ns, [worker.pid])


def takes(asked, done):
    while asked.get():
        compute()
        done.put(1)


def mp_queue():
    asked, done = multiprocessing.Queue(), multiprocessing.Queue()
    worker = multiprocessing.Process(target=takes, args=(asked, done), daemon=True)
    worker.start()
    ns = rounds(lambda: (asked.put(1), done.get()))
    asked.put(0)
    worker.join()
    return lost(ns, [worker.pid])


def work_of_process(_):
    compute()
    return os.getpid()


def mp_pool():
    with multiprocessing.Pool(1) as pool:
        to = pool.map(work_of_process, [0])
        return lost(rounds(lambda: pool.map(work_of_process, [0])), to)


def process_pool():
    with concurrent.futures.ProcessPoolExecutor(1) as pool:
        to = pool.submit(work_of_process, 0).result()
        return lost(rounds(lambda: pool.submit(work_of_process, 0).result()), [to])


def program_output():
    """A program of its own, which reads lines and answers: gzip in a shell."""
    script = "while read -r line; do head -c 700000 /dev/urandom | gzip -9 | wc -c; done"
    with subprocess.Popen(["sh", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as shell:
        ns = rounds(lambda: (shell.stdin.write(b"x\n"), shell.stdin.flush(), shell.stdout.readline()))
        shell.stdin.close()
    return lost(ns, "children")


def program_end():
    def wait():
        subprocess.run(["gzip", "-9"], input=DATA, stdout=subprocess.DEVNULL, check=True)

    return lost(rounds(wait), "children")


def program_of_loop():
    """asyncio, which has a thread that waits for the child's end."""
    clock = Clock()

    async def feed():
        for _ in range(ROUNDS):
            launch()
            compute(OWN_S)
            with clock:
                gzip = await asyncio.create_subprocess_exec("gzip", "-9", stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
                await gzip.communicate(DATA)
        launch()

    asyncio.run(feed())
    return lost(clock.ns, "children")


def file_lock():
    """flock(2) of a file that another process has meanwhile."""
    with tempfile.NamedTemporaryFile() as file:
        ours, theirs = multiprocessing.Pipe()

        def body():
            with open(file.name, "rb") as mine:
                while theirs.recv():
                    fcntl.flock(mine, fcntl.LOCK_EX)
                    theirs.send(1)
                    compute()
                    fcntl.flock(mine, fcntl.LOCK_UN)

        to = child(body)
        clock = Clock()
        for _ in range(ROUNDS):
            launch()
            compute(OWN_S)
            ours.send(1)
            ours.recv()
            with clock:
                fcntl.flock(file, fcntl.LOCK_EX)
            fcntl.flock(file, fcntl.LOCK_UN)
        launch()
        ours.send(0)
        os.waitpid(to, 0)
        return lost(clock.ns, [to])


def stopped():
    """A worker that is stopped, and goes on later."""
    ours, theirs = multiprocessing.Pipe()
    worker = multiprocessing.Process(target=answers, args=(theirs, lambda: compute(OWN_S)), daemon=True)
    worker.start()

    def stop():
        for _ in range(ROUNDS):
            go.get()
            os.kill(worker.pid, signal.SIGSTOP)
            stands.put(1)
            time.sleep(BUSY_S * 2)
            os.kill(worker.pid, signal.SIGCONT)

    go, stands = multiprocessing.SimpleQueue(), multiprocessing.SimpleQueue()
    stopper = child(stop)
    clock = Clock()
    for _ in range(ROUNDS):
        launch()
        compute(OWN_S)
        go.put(1)
        stands.get()
        with clock:
            ours.send(1)
            ours.recv()
    launch()
    os.waitpid(stopper, 0)
    ours.send(0)
    worker.join()
    return {"lost_ns": ROUNDS * int(BUSY_S * 2e9), "to": [worker.pid], "did": "stopped", "named": [stopper]}


def stopped_itself():
    """The one that launches is stopped, and goes on later."""
    ours, theirs = multiprocessing.Pipe()
    feeder = os.getpid()

    def stop():
        while theirs.recv():
            os.kill(feeder, signal.SIGSTOP)
            time.sleep(BUSY_S * 2)
            os.kill(feeder, signal.SIGCONT)

    to = child(stop)
    for _ in range(ROUNDS):
        launch()
        ours.send(1)
        compute(BUSY_S)
    launch()
    ours.send(0)
    os.waitpid(to, 0)
    return {"lost_ns": ROUNDS * int(BUSY_S * 2e9), "part": "stopped", "did": "stopped", "named": [to]}


class Quota:
    """A control group that may have so many hundredths of a CPU, in periods of 20 ms."""

    def __init__(self, percent):
        self.old = os.path.exists("/sys/fs/cgroup/cpu/cpu.cfs_quota_us")
        self.path = "/sys/fs/cgroup%s/exam-%d" % ("/cpu" if self.old else "", os.getpid())
        os.mkdir(self.path)
        if self.old:
            self.write("cpu.cfs_period_us", 20000)
            self.write("cpu.cfs_quota_us", 200 * percent)
        else:
            self.write("cpu.max", "%d 20000" % (200 * percent))

    def write(self, name, value):
        with open(self.path + "/" + name, "w", encoding="ascii") as file:
            file.write(str(value))

    def take(self, pid):
        self.write("cgroup.procs", pid)

    def throttled_ns(self):
        with open(self.path + "/cpu.stat", encoding="ascii") as file:
            of = dict(line.split() for line in file)
        return int(of["throttled_time"]) if self.old else 1000 * int(of["throttled_usec"])

    def end(self):
        """Once nobody is in it."""
        with open(os.path.dirname(self.path) + "/cgroup.procs", "w", encoding="ascii") as above:
            above.write("0")
        os.rmdir(self.path)


def quota(percent):
    group = Quota(percent)
    launch()
    group.take(os.getpid())
    before = group.throttled_ns()
    end = time.monotonic() + 1.2
    while time.monotonic() < end:
        launch()
        compute(0.002)
    ns = group.throttled_ns() - before
    group.end()
    launch()
    return {"lost_ns": ns, "part": "quota"}


def quota_10():
    return quota(10)


def quota_30():
    return quota(30)


def quota_60():
    return quota(60)


def quota_beside():
    """And beside busy neighbours, who are not to blame."""
    hogs = [child(compute, 3) for _ in range(os.cpu_count())]
    for pid in hogs:
        os.setpriority(os.PRIO_PROCESS, pid, 19)
    truth = quota(30)
    for pid in hogs:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    return truth


def quota_of_worker():
    group = Quota(30)
    ours, theirs = multiprocessing.Pipe()
    worker = multiprocessing.Process(target=answers, args=(theirs, compute), daemon=True)
    worker.start()
    group.take(worker.pid)
    before = group.throttled_ns()
    rounds(lambda: (ours.send(1), ours.recv()))
    ns = group.throttled_ns() - before
    ours.send(0)
    worker.join()
    os.rmdir(group.path)
    return lost(ns, [worker.pid], "throttled")


# --- decoys ---


def server():
    """Somebody asks now and then."""
    ours, theirs = socket.socketpair()

    def ask():
        for _ in range(12):
            time.sleep(0.08)
            theirs.send(b"x")
            theirs.recv(1)

    to = child(ask)
    for _ in range(12):
        ours.recv(1)
        for _ in range(5):
            launch()
            compute(0.001)
        ours.send(b"x")
    os.waitpid(to, 0)


def idle_pool():
    """Workers that have nothing to do."""
    with multiprocessing.Pool(4):
        for _ in range(200):
            launch()
            compute(0.004)


def checkpoints():
    """Regular pauses, in its own code."""
    for _ in range(5):
        for _ in range(40):
            launch()
            compute(0.004)
        compress(0.1)


def gpu_bound():
    """It launches more than the GPU can do, and waits for it."""
    cuda.exam_plan(ctypes.c_ulong(5_000_000))
    for _ in range(10):
        for _ in range(20):
            launch()
        cuda.cuCtxSynchronize()


def queued_worker():
    """It waits for a worker, and then for the GPU, which had work for longer."""
    cuda.exam_plan(ctypes.c_ulong(25_000_000))
    asked, done = queue.Queue(), queue.Queue()
    asked_thread(lambda: compress(0.01), asked, done)
    for _ in range(ROUNDS * 2):
        launch()
        asked.put(1)
        done.get()
        cuda.cuCtxSynchronize()


def busy_host():
    """Others are busy, and give way."""
    hogs = [child(compute, 3) for _ in range(os.cpu_count())]
    for pid in hogs:
        os.setpriority(os.PRIO_PROCESS, pid, 19)
    for _ in range(150):
        launch()
        compute(0.004)
        time.sleep(0.002)
    for pid in hogs:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def steady():
    for _ in range(300):
        launch()
        compute(0.003)


def naps():
    """Sleeps by its own choice between its launches."""
    for _ in range(100):
        launch()
        compute(0.002)
        time.sleep(0.008)


WAYS = (gil_bytecode, gil_c_call, gil_four, queue_get, condition, lock, thread_pool, event_loop, idle_thread, mp_pipe, mp_asleep,
        mp_big, mp_queue, mp_pool, process_pool, program_output, program_end, program_of_loop, file_lock, stopped,
        stopped_itself, quota_10, quota_30, quota_60, quota_beside, quota_of_worker)
DECOYS = (server, idle_pool, checkpoints, gpu_bound, queued_worker, busy_host, steady, naps)


def main(ways):
    if sys.argv[2] == "--ways":
        print(*(way.__name__ for way in ways))
        return
    open_cuda(sys.argv[1])
    truth = {way.__name__: way for way in ways}[sys.argv[2]]() or {}
    truth["cpu_wait_ns"] = without_cpu_ns()
    print(json.dumps(dict(truth, feeder=threading.get_native_id())))


if __name__ == "__main__":
    multiprocessing.set_start_method("fork")
    main(WAYS + DECOYS)
