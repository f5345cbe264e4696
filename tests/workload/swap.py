# SPDX-License-Identifier: Apache-2.0
"""Lends the kernel a file for swapping, or takes it back: where there is no mkswap and swapon, too.

usage: swap.py on|off FILE
"""
import ctypes
import mmap
import os
import struct
import sys

what, path = sys.argv[1:]
libc = ctypes.CDLL(None, use_errno=True)
if what == "on":
    with open(path, "r+b") as file:
        file.seek(1024)  # the kernel's union swap_header: version, last page, bad pages
        file.write(struct.pack("=III", 1, os.path.getsize(path) // mmap.PAGESIZE - 1, 0))
        file.seek(mmap.PAGESIZE - 10)
        file.write(b"SWAPSPACE2")
if (libc.swapon(path.encode(), 0) if what == "on" else libc.swapoff(path.encode())) < 0:
    sys.exit(os.strerror(ctypes.get_errno()))
