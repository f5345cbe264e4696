# SPDX-License-Identifier: Apache-2.0
"""A program that feeds the GPU and uses more memory than it may have, so that some is swapped out.

usage: swapped.py LIBCUDA MIB TIMES. Writes to so much memory, so many times over; prints how often it slept, as the kernel
counts that.
"""
import ctypes
import mmap
import os
import resource
import sys

cuda = ctypes.CDLL(sys.argv[1])
none = ctypes.c_void_p(None)
memory = mmap.mmap(-1, int(sys.argv[2]) << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
for i in range(int(sys.argv[3])):
    for at in range(0, len(memory), mmap.PAGESIZE):
        memory[at] = i
        if at % (1 << 20) == 0:
            cuda.cuLaunchKernel(ctypes.c_void_p(0x1000), 1, 1, 1, 1, 1, 1, 0, none, none, none)
print(resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw, flush=True)
os._exit(0)  # for the interpreter's end sleeps, too
