#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs whose kernels Triton compiles, for probe.py: results are checked bit by bit, and launches are said.

usage: triton_probed.py triton|compile"""
import sys

import torch

LAUNCHES, COUNT = 7, 1_000_003


def run_triton(x, y):
    from triton_add import add  # its kernels need a file of their own to be read from
    for _ in range(LAUNCHES):
        if not torch.equal(add(x, y), x + y):
            sys.exit("a result is wrong")
    # Four warps a block, as Triton does where nobody says more.
    print("add_kernel", LAUNCHES, (COUNT + 1023) // 1024, 128)


def run_compile(x, y):
    compiled = torch.compile(lambda a, b: (a + b) * 2)
    for _ in range(LAUNCHES):
        if not torch.equal(compiled(x, y), (x + y) * 2):
            sys.exit("a result is wrong")
    print("compiled", LAUNCHES, 0, 0)


def main():
    x, y = (torch.randn(COUNT, device="cuda") for _ in range(2))
    {"triton": run_triton, "compile": run_compile}[sys.argv[1]](x, y)


main()
