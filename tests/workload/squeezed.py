#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A program that feeds a GPU, and whose files do not fit into the memory that it may have.

usage: squeezed.py LIBCUDA FILE TIMES [SECONDS]: launches, and reads a MiB of FILE through the page cache, in turns, and
FILE so often, or more often until SECONDS have passed. Prints how many bytes it read.
"""
import ctypes
import os
import sys
import time


def main(libcuda, path, times, seconds=0):
    cuda = ctypes.CDLL(libcuda)
    none = ctypes.c_void_p(None)
    cuda.cuInit(0)
    room = bytearray(1 << 20)
    nbytes = 0
    left = int(times)
    end = time.monotonic() + float(seconds)
    while left > 0 or time.monotonic() < end:
        left -= 1
        fd = os.open(path, os.O_RDONLY)
        n = 1
        while n:
            cuda.cuLaunchKernel(ctypes.c_void_p(0x1000), 1, 1, 1, 1, 1, 1, 0, none, none, none)
            n = os.readv(fd, [room])
            nbytes += n
        os.close(fd)
    print(nbytes)


main(*sys.argv[1:])
