# SPDX-License-Identifier: MIT
"""A softmax over rows and a blocked matrix product in Triton, one after the other.

    xpuprof record --stalls -o softmax.xpu -- python3 softmax.py
"""
import torch
import triton
import triton.language as tl


@triton.jit
def row_max(x):
    return tl.max(x, axis=0)


@triton.jit
def softmax_of(x):
    numerator = tl.exp(x - row_max(x))
    return numerator / tl.sum(numerator, axis=0)


@triton.jit
def softmax_kernel(out, x, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    values = tl.load(x + row * columns + offsets, mask=offsets < columns, other=-float("inf"))
    tl.store(out + row * columns + offsets, softmax_of(values), mask=offsets < columns)


@triton.jit
def matmul_kernel(a, b, c, n, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for k in range(0, n, BLOCK):
        inner = k + tl.arange(0, BLOCK)
        left = tl.load(a + rows[:, None] * n + inner[None, :])
        right = tl.load(b + inner[:, None] * n + columns[None, :])
        total += tl.dot(left, right)
    tl.store(c + rows[:, None] * n + columns[None, :], total)


def softmax(x):
    out = torch.empty_like(x)
    softmax_kernel[(x.shape[0],)](out, x, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
    return out


def matmul(a, b):
    c = torch.empty_like(a)
    n = a.shape[0]
    matmul_kernel[(n // 64, n // 64)](a, b, c, n, BLOCK=64)
    return c


def main():
    x = torch.randn(4096, 4096, device="cuda")
    weights = torch.randn(4096, 4096, device="cuda")
    for _ in range(150):
        x = softmax(matmul(x, weights))
    torch.cuda.synchronize()


main()
