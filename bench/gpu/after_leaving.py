#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What stays of a recording that a running program was joined for, on a real GPU: how long replays of a graph and eager passes
in PyTorch take before anything, when a tool has subscribed to CUPTI and unsubscribed, which is the floor (tests/gpu/floor_tool.c),
and when xpuprof has recorded everything and left. All in one process, one after the other; several processes.

Printed per workload: the median time before, and the medians over processes of the floor and of what is left, over before, and
of what is left over the floor, each with its 95 % interval (order statistics).

usage: after_leaving.py [--processes N] [--seconds SECONDS] [--only WORKLOAD,...] [--xpuprof PATH] [--floor LIB]
"""
import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time

import overhead

SECONDS_A_RUN = 0.05


def medians(worker, counts, seconds):
    """Seconds an iteration, of each workload in turn."""
    took, until = {workload: [] for workload in counts}, time.monotonic() + seconds * len(counts)
    while time.monotonic() < until:
        for workload, count in counts.items():
            took[workload].append(worker.run(workload, count) / count)
    return {workload: statistics.median(of) for workload, of in took.items()}


def record(worker, counts, given, path):
    recorder = subprocess.Popen([given.xpuprof, "record", "-q", "--gpu-only", "-d", "2", "-o", path, "-p", str(worker.process.pid)])
    while recorder.poll() is None:
        for workload, count in counts.items():
            worker.run(workload, count)
    if recorder.returncode:
        sys.exit("after_leaving.py: the recording failed")


def one(given, path):
    worker = overhead.Worker([sys.executable, os.path.join(overhead.HERE, "torch_worker.py"), "--free"], {"XPUPROF_FLOOR": "left"})
    worker.wait_ready()
    counts = {workload: max(1, round(SECONDS_A_RUN / (worker.run(workload, 20) / 20))) for workload in given.only.split(",")}
    before = medians(worker, counts, given.seconds)
    worker.run("load", os.path.abspath(given.floor))
    floor = medians(worker, counts, given.seconds)
    record(worker, counts, given, path)
    left = medians(worker, counts, given.seconds)
    worker.close()
    return before, floor, left


def shown(values):
    low, high = overhead.interval(values)
    return f"{statistics.median(values):.4f} [{low:.4f}, {high:.4f}]"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    build = os.environ.get("XPUPROF_BUILD", os.path.join(overhead.HERE, "../../build"))
    parser.add_argument("--processes", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--only", default="graph,eager")
    parser.add_argument("--xpuprof", default=os.path.join(build, "xpuprof"))
    parser.add_argument("--floor", default=os.path.join(build, "tests/gpu/libfloor_tool.so"))
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        seen = [one(given, os.path.join(folder, "p.xpu")) for _ in range(given.processes)]
    for workload in given.only.split(","):
        before, floor, left = ([of[part][workload] for of in seen] for part in range(3))
        print(f"{workload}: {statistics.median(before) * 1e6:.1f} us before; over that: floor {shown([f / b for f, b in zip(floor, before)])}, "
              f"left {shown([a / b for a, b in zip(left, before)])}; left over floor {shown([a / f for a, f in zip(left, floor)])}", flush=True)


main()
