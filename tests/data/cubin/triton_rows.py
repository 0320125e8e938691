# SPDX-License-Identifier: MIT
"""A Triton kernel that calls functions, compiled without a GPU into argv[1]: .cubin and .ptx."""
import sys

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget


@triton.jit
def shifted(x, columns, mask):
    top = tl.max(tl.where(mask, x, -float("inf")), axis=0)
    return x - top


@triton.jit
def normalized(x, columns, mask):
    e = tl.exp(shifted(x, columns, mask))
    return e / tl.sum(tl.where(mask, e, 0.0), axis=0)


@triton.jit
def softmax_rows(out, data, width, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    mask = columns < width
    x = tl.load(data + row * width + columns, mask=mask, other=0.0)
    tl.store(out + row * width + columns, normalized(x, columns, mask), mask=mask)


if __name__ == "__main__":
    source = triton.compiler.ASTSource(
        fn=softmax_rows, signature={"out": "*fp32", "data": "*fp32", "width": "i32", "BLOCK": "constexpr"},
        constexprs={"BLOCK": 256})
    compiled = triton.compile(source, target=GPUTarget("cuda", 90, 32))
    for kind in "cubin", "ptx":
        text = compiled.asm[kind]
        with open(sys.argv[1] + "." + kind, "wb") as file:
            file.write(text if isinstance(text, bytes) else text.encode())
