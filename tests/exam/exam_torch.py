# SPDX-License-Identifier: Apache-2.0
"""A training loop that feeds the GPU from torch's DataLoader, as exam_python.py does from other things.

usage: exam_torch.py LIBCUDA WAY         (--ways: prints their names)
"""
import mmap
import os
import signal
import tempfile
import time

import exam_python as exam
import exam_waits

ITEMS = 80
ITEM_S = 0.012


class Items:
    """A data set: each item costs what `work` does."""

    def __init__(self, work):
        self.work = work

    def __len__(self):
        return ITEMS

    def __getitem__(self, i):
        self.work()
        return i


def train(work, did="on-cpu", workers=1, step_s=exam.OWN_S, prepare=lambda pid: None):
    """Of the workers those that are waited for; the first batch, for which they have to start, is not counted."""
    from torch.utils.data import DataLoader
    loader = iter(DataLoader(Items(work), batch_size=2, num_workers=workers, prefetch_factor=2))
    to = [w.pid for w in loader._workers]
    for pid in to:
        prepare(pid)
    clock = exam.Clock()
    next(loader)
    begin = time.monotonic_ns()
    for _ in range(ITEMS // 2 - 1):
        exam.launch()
        exam.compute(step_s)
        with clock:
            next(loader)
    exam.launch()
    return exam_waits.lost((clock, time.monotonic_ns() - begin), to, did)


def loader_computes():
    return train(lambda: exam.compute(ITEM_S))


def loader_two():
    return train(lambda: exam.compute(ITEM_S * 2), workers=2)


def loader_in_c():
    return train(lambda: exam.compress(ITEM_S))


def loader(share):
    """As fast as needed to lose so much."""
    return train(lambda: exam.compute(ITEM_S), step_s=2 * ITEM_S * (1 - share))


def loader_dozes():
    return train(lambda: time.sleep(ITEM_S), "asleep")


def loader_throttled():
    group = exam.Quota(25)
    truth = train(lambda: exam.compute(ITEM_S / 3), "throttled", prepare=group.take)
    os.rmdir(group.path)
    return dict(truth, also="on-cpu")  # as far as it may


def loader_reads():
    """Past the page cache, from a disk."""
    with tempfile.NamedTemporaryFile(dir="/var/tmp") as file:
        file.write(os.urandom(1 << 24))
        file.flush()
        os.fsync(file.fileno())
        fd, room = os.open(file.name, os.O_RDONLY | os.O_DIRECT), mmap.mmap(-1, 1 << 20)

        def read():
            end = time.monotonic() + ITEM_S
            while time.monotonic() < end:
                os.preadv(fd, [room], (time.monotonic_ns() >> 4) % 16 << 20)

        return train(read, "io")


def loader_killed():
    """By somebody else, while it is waited for."""
    dead, killers = [], []

    def kill(pid):
        time.sleep(0.7)
        os.kill(pid, signal.SIGKILL)

    def prepare(pid):
        dead.append(pid)
        killers.append(exam.child(kill, pid))

    try:
        train(lambda: exam.compute(ITEM_S), prepare=prepare)
    except (RuntimeError, OSError, EOFError):  # by what it was told of it first
        pass
    return {"dead": dead, "did": "on-cpu", "named": killers}


def loader_ahead():
    """A decoy: the loader is faster than what it feeds."""
    train(lambda: None, step_s=0.02)


def cpu_operations():
    """A decoy: work that torch does on all CPUs, in threads of its own."""
    import torch
    a = torch.rand(600, 600)
    for _ in range(60):
        exam.launch()
        a = torch.mm(a, a).clamp(0, 1)


WAYS = (loader_computes, loader_two, loader_in_c, loader_dozes, loader_throttled, loader_reads, loader_killed)
DECOYS = (loader_ahead, cpu_operations)

if __name__ == "__main__":
    exam.main(WAYS + tuple(exam_waits.ways({"loader": loader})) + DECOYS)
