#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""ring_over.py PART: launches on the simulated CUDA, maps other memory over the ring that it shares with the recorder
(PART all: over all of it; control: over its first page), launches 20,000 times more, and ends."""
import ctypes
import mmap
import os
import re
import sys

PTX = b".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry axpy(.param .u64 a) { ret; }\n"
BEFORE, AFTER = 1000, 20000

cuda, libc = ctypes.CDLL("libcuda.so.1"), ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
context, module, function = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
cuda.cuInit(0)
cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
cuda.cuCtxSetCurrent(context)
cuda.cuModuleLoadData(ctypes.byref(module), PTX)
cuda.cuModuleGetFunction(ctypes.byref(function), module, b"axpy")
argument = ctypes.c_uint64(0)
parameters = (ctypes.c_void_p * 1)(ctypes.addressof(argument))


def launch(count):
    for _ in range(count):
        cuda.cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, None, parameters, None)
    cuda.cuCtxSynchronize()


def map_over(part):
    with open("/proc/self/maps") as maps:
        begin, end = re.search(r"^(\w+)-(\w+) .*memfd:xpuprof-ring", maps.read(), re.M).groups()
    size = int(end, 16) - int(begin, 16) if part == "all" else 4096
    libc.mmap(int(begin, 16), size, mmap.PROT_READ | mmap.PROT_WRITE, 0x10 | mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)


launch(BEFORE)
map_over(sys.argv[1])
launch(AFTER)
print("launched", flush=True)
if sys.argv[2:] == ["killed"]:
    import time
    time.sleep(1.3)
    os.kill(os.getpid(), 9)
