#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What programs inside kernels cost the start of a program, on a real GPU: seconds from its start to its end, which comes soon.

Pairs of a run alone and one of each arm, in alternation. "nothing": `xpuprof probe` with a glob that names no kernel, so that images
are looked through and loaded as they are. "again": programs in all kernels, which the driver's cache has from an earlier run, as
alone it has the kernels without. "first": the same with an empty cache (CUDA_CACHE_PATH), over a run alone with an empty cache.
xpuprof's own start and end are part of all of them: "xpuprof" is `xpuprof probe ... -- true`, in seconds, for comparison.

The workloads are a module of PTX with one launch (probed_times), and, where PyTorch is installed, a few operators of it in
eager mode. Printed are the median seconds alone, and for each arm the median ratio with its 95 % interval (order statistics).

usage: probe_start.py [--pairs N] [--workloads module,torch] [--tool TOOL] [--xpuprof FILE]
"""
import argparse
import importlib.util
import os
import statistics
import subprocess
import sys
import tempfile
import time

import overhead

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.abspath(os.environ.get("XPUPROF_BUILD", os.path.join(HERE, "..", "..", "build")))
EAGER = """import torch
x = torch.randn(512, 512, device="cuda")
for _ in range(20):
    x = torch.relu(x @ x.T).softmax(-1) + x.sum() / 1e6
torch.cuda.synchronize()
assert torch.isfinite(x).all()
"""
WORKLOADS = {
    "module": [os.path.join(BUILD, "bench", "probed_times"), os.path.join(HERE, "probed_kernels.ptx"), "add", "1024", "1", "0"],
    "torch": [sys.executable, "-c", EAGER],
}
ARMS = {"nothing": ["-k", "no kernel has this name"], "again": [], "first": []}


def seconds(command, cache):
    began = time.monotonic()
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, "CUDA_CACHE_PATH": cache}, check=True)
    return time.monotonic() - began


class Caches:
    """One that stays for the runs of a workload alone, one for those with programs, and new ones."""

    def __init__(self, folder):
        self.folder, self.made = folder, 0

    def of(self, arm, probed):
        if arm != "first":
            return os.path.join(self.folder, "probed" if probed else "alone")
        self.made += 1
        return os.path.join(self.folder, str(self.made))


def measure(given, name, caches):
    alone = WORKLOADS[name]
    probe = [given.xpuprof, "probe", given.tool]
    base, ratios = [], {arm: [] for arm in ARMS}
    for arm in ("nothing", "again"):
        seconds(alone, caches.of(arm, False))
        seconds([*probe, *ARMS[arm], "--", *alone], caches.of(arm, True))
    for _ in range(given.pairs):
        for arm, options in ARMS.items():
            plain = seconds(alone, caches.of(arm, False))
            ratios[arm].append(seconds([*probe, *options, "--", *alone], caches.of(arm, True)) / plain)
            if arm != "first":
                base.append(plain)
    print(f"{name}: {statistics.median(base):.3f} s alone")
    for arm, seen in ratios.items():
        low, high = overhead.interval(seen)
        print(f"  {arm:<8} {statistics.median(seen):.3f} [{low:.3f}, {high:.3f}]", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--workloads", default="module,torch")
    parser.add_argument("--tool", default="blocktime")
    parser.add_argument("--xpuprof", default=os.path.join(BUILD, "xpuprof"))
    given = parser.parse_args()
    own = statistics.median(seconds([given.xpuprof, "probe", given.tool, "--", "true"], "") for _ in range(5))
    print(f"xpuprof: {own:.3f} s")
    for name in given.workloads.split(","):
        if name == "torch" and not importlib.util.find_spec("torch"):
            print("torch: skipped (it is not installed)")
            continue
        with tempfile.TemporaryDirectory() as folder:
            measure(given, name, Caches(folder))


main()
