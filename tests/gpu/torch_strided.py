#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A kernel of one's own in a PyTorch program, for probe.py: strided.cu as a library, on PyTorch's memory and stream. The result is
checked bit by bit, and the launches are said.

usage: torch_strided.py LIBRARY"""
import ctypes
import sys

import torch

LAUNCHES, BLOCKS, THREADS, STRIDE = 7, 64, 256, 3


def main():
    copy = ctypes.CDLL(sys.argv[1]).strided_copy
    copy.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_void_p]
    x = torch.randn(BLOCKS * THREADS * STRIDE, device="cuda")
    for _ in range(LAUNCHES):
        y = torch.zeros_like(x)
        if copy(x.data_ptr(), y.data_ptr(), BLOCKS, THREADS, STRIDE, torch.cuda.current_stream().cuda_stream):
            sys.exit("the launch failed")
        if not torch.equal(y[::STRIDE], x[::STRIDE]) or y[1::STRIDE].any():
            sys.exit("a result is wrong")
    print("strided", LAUNCHES, BLOCKS, THREADS)


main()
