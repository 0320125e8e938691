# SPDX-License-Identifier: MIT
"""A PyTorch program that runs workloads on request, so that one measuring program can time it with and
without a profiler, in turn and in the same minute.

Reads lines "WORKLOAD ITERATIONS" on stdin, answers each with the seconds it took. Workloads:
  eager  forward and backward of a 6-layer transformer, one iteration = one step (about 1 ms: launch bound)
  graph  replay of a captured CUDA graph of 4 decode steps
  gemm   an 8192 x 8192 x 8192 bf16 matrix product
"""
import os
import sys
import time

import torch


def make_eager():
    layer = torch.nn.TransformerEncoderLayer(256, 4, 512, dropout=0.0, batch_first=True)
    model = torch.nn.TransformerEncoder(layer, 6, enable_nested_tensor=False).cuda().eval()
    x = torch.randn(4, 32, 256, device="cuda")

    def step():
        with torch.no_grad():
            model(x)

    return step


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


def main():
    torch.manual_seed(1)
    steps = {"eager": make_eager(), "graph": make_graph(), "gemm": make_gemm()}
    for step in steps.values():
        for _ in range(20):
            step()
    torch.cuda.synchronize()
    # The launching thread stays on one core, the same for every arm; the other threads are free.
    os.sched_setaffinity(0, {os.cpu_count() // 2})
    print("ready", flush=True)
    for line in sys.stdin:
        name, count = line.split()
        step = steps[name]
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(int(count)):
            step()
        torch.cuda.synchronize()
        print(time.perf_counter() - start, flush=True)


main()
