# SPDX-License-Identifier: MIT
"""A PyTorch program that runs workloads on request, so that one measuring program can time it with and
without a profiler, in turn and in the same minute.

Reads lines "WORKLOAD ITERATIONS" on stdin, answers each with the seconds it took. "load LIBRARY" puts a tool into it, as
CUDA_INJECTION64_PATH would have at its start. Workloads:
  eager  a forward pass of a 6-layer transformer, small enough to be bound by launching
  fused  the same with PyTorch's own encoder, whose fused path launches faster than anything in Python
  graph  replay of a CUDA graph that holds 4 passes
  gemm   an 8192 x 8192 x 8192 bf16 matrix product
  naive  a matrix product of 1024 x 1024 floats by a kernel that does nothing to be fast
"""
import ctypes
import os
import sys
import time

import torch


class Block(torch.nn.Module):
    """A transformer block as people write it, one module call for each step."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1 = torch.nn.LayerNorm(width)
        self.qkv = torch.nn.Linear(width, 3 * width)
        self.project = torch.nn.Linear(width, width)
        self.norm2 = torch.nn.LayerNorm(width)
        self.mlp = torch.nn.Sequential(torch.nn.Linear(width, 4 * width), torch.nn.GELU(),
                                       torch.nn.Linear(4 * width, width))

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (t.view(batch, length, self.heads, -1).transpose(1, 2)
                   for t in self.qkv(self.norm1(x)).split(width, dim=2))
        y = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.project(y.transpose(1, 2).reshape(batch, length, width))
        return x + self.mlp(self.norm2(x))


def make_step(model):
    model = model.cuda().eval()
    x = torch.randn(4, 32, 256, device="cuda")

    def step():
        with torch.no_grad():
            model(x)

    return step


def make_eager():
    return make_step(torch.nn.Sequential(*(Block(256, 4) for _ in range(6))))


def make_fused():
    layer = torch.nn.TransformerEncoderLayer(256, 4, 512, dropout=0.0, batch_first=True)
    return make_step(torch.nn.TransformerEncoder(layer, 6, enable_nested_tensor=False))


def make_graph():
    step = make_eager()
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(4):
            step()
    return graph.replay


def make_gemm():
    a = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
    b = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
    out = torch.empty_like(a)
    return lambda: torch.mm(a, b, out=out)


NAIVE = """
extern "C" __global__ void naive(const float *a, const float *b, float *c, int n)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;

    for (int k = 0; k < n; k++)
        sum += a[row * n + k] * b[k * n + column];
    c[row * n + column] = sum;
}
"""


def make_naive():
    kernel = torch.cuda._compile_kernel(NAIVE, "naive")  # PyTorch's way to NVRTC, without a promise to stay
    a, b = torch.randn(2, 1024, 1024, device="cuda")
    out = torch.empty_like(a)
    return lambda: kernel(grid=(64, 64, 1), block=(16, 16, 1), args=[a, b, out, 1024])


def main():
    torch.manual_seed(1)
    steps = {"eager": make_eager(), "fused": make_fused(), "graph": make_graph(), "gemm": make_gemm()}
    if hasattr(torch.cuda, "_compile_kernel"):
        steps["naive"] = make_naive()
    for step in steps.values():
        for _ in range(20):
            step()
    torch.cuda.synchronize()
    # The launching thread stays on one core, the same for every arm; the other threads are free.
    if "--free" not in sys.argv[1:]:
        os.sched_setaffinity(0, {os.cpu_count() // 2})
    print("ready", flush=True)
    for line in sys.stdin:
        name, count = line.split()
        torch.cuda.synchronize()
        start = time.perf_counter()
        if name == "load":
            ctypes.CDLL(count).InitializeInjection()
        else:
            for _ in range(int(count)):
                steps[name]()
        torch.cuda.synchronize()
        print(time.perf_counter() - start, flush=True)


main()
