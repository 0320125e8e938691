# SPDX-License-Identifier: MIT
"""A kernel in Triton, for torch_stacks.py and triton_probed.py."""
import torch
import triton
import triton.language as tl


@triton.jit
def add_kernel(x_pointer, y_pointer, out_pointer, count, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < count
    total = tl.load(x_pointer + offsets, mask=mask) + tl.load(y_pointer + offsets, mask=mask)
    tl.store(out_pointer + offsets, total, mask=mask)


def add(x, y):
    out = torch.empty_like(x)
    add_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, out, x.numel(), BLOCK=1024)
    return out
