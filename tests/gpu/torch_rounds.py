# SPDX-License-Identifier: MIT
"""A program that nobody prepared, to be joined while it runs: passes of a network in PyTorch, eager and as replays of a CUDA
graph, until standard input ends. Each pass is a line: what it was, and when it began and ended (CLOCK_MONOTONIC, nanoseconds).
A line "profile" has the next twenty eager passes watched by torch.profiler, "state" has the process say what it holds."""
import os
import select
import sys
import time

import torch


def make_net():
    layer = torch.nn.TransformerEncoderLayer(512, 8, 1024, batch_first=True, dropout=0.0)
    return torch.nn.TransformerEncoder(layer, 6, enable_nested_tensor=False).cuda().half().train()


def make_graph(net, x):
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            net(x)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        net(x)
    return graph


def one_pass(name, work):
    begin = time.monotonic_ns()
    work()
    torch.cuda.synchronize()
    print(name, begin, time.monotonic_ns())


def profile(work):
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profiler:
        for _ in range(20):
            work()
        torch.cuda.synchronize()
    times = [e.time_range for e in profiler.events() if e.device_type == torch.autograd.DeviceType.CUDA]
    print("profiled", len(times), int(all(0 <= t.start <= t.end for t in times)))


def state():
    free, total = torch.cuda.mem_get_info()
    with open("/proc/self/statm", encoding="ascii") as f:
        resident = int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    with open("/proc/self/maps", encoding="utf-8") as f:
        mappings = len(f.readlines())
    print("state", total - free, resident, mappings, len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task")))


def main():
    sys.stdout.reconfigure(line_buffering=True)
    torch.manual_seed(0)
    net = make_net()
    x = torch.randn(1, 16, 512, device="cuda", dtype=torch.half)
    with torch.no_grad():
        for _ in range(20):
            net(x)
        graph = make_graph(net, x)
        print("ready")
        while True:
            for _ in range(20):
                one_pass("eager", lambda: net(x))
                one_pass("graph", graph.replay)
            if select.select([sys.stdin], [], [], 0)[0]:
                line = sys.stdin.readline()
                if not line:
                    break
                profile(lambda: net(x)) if line == "profile\n" else state()
    print("done", bool(torch.isfinite(net(x)).all().item()))


main()
