#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A program that feeds a GPU, and whose files do not fit into the memory that it may have.

usage: squeezed.py LIBCUDA FILE TIMES: launches, and reads a MiB of FILE through the page cache, in turns, and FILE so
often. Prints how many bytes it read.
"""
import ctypes
import os
import sys


def main(libcuda, path, times):
    cuda = ctypes.CDLL(libcuda)
    none = ctypes.c_void_p(None)
    cuda.cuInit(0)
    room = bytearray(1 << 20)
    nbytes = 0
    for _ in range(int(times)):
        fd = os.open(path, os.O_RDONLY)
        n = 1
        while n:
            cuda.cuLaunchKernel(ctypes.c_void_p(0x1000), 1, 1, 1, 1, 1, 1, 0, none, none, none)
            n = os.readv(fd, [room])
            nbytes += n
        os.close(fd)
    print(nbytes)


main(*sys.argv[1:])
