#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What programs inside kernels cost the start of a program, on a real GPU: seconds from its start to its end, which comes soon.

Pairs of a run alone and one of each arm, in alternation. "nothing": `xpuprof probe` with a glob that names no kernel, so that images
are looked through and loaded as they are. "again": programs in all kernels, which the driver's cache has from an earlier run, as
alone it has the kernels without. "first": the same with an empty cache (CUDA_CACHE_PATH), over a run alone with an empty cache.
xpuprof's own start and end are part of all of them: "xpuprof" is `xpuprof probe ... -- true`, in seconds, for comparison.

The workloads are a module of PTX with one launch (probed_times), and, where PyTorch is installed, a few operators of it in
eager mode. Printed are the median seconds alone, and for each arm the median ratio with its 95 % interval (order statistics); then the
same of CPU time, the program's and xpuprof's.

usage: probe_start.py [--pairs N] [--workloads module,torch] [--arms ARM,...] [--tool TOOL] [--xpuprof FILE]
"""
import argparse
import importlib.util
import os
import random
import resource
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


def cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def seconds(command, cache):
    """From its start to its end, and of CPU time."""
    began, used = time.monotonic(), cpu_seconds()
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, "CUDA_CACHE_PATH": cache}, check=True)
    return time.monotonic() - began, cpu_seconds() - used


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
    alone, arms = WORKLOADS[name], given.arms.split(",")
    probe = [given.xpuprof, "probe", given.tool]
    base, pairs = [], {arm: [] for arm in arms}
    for arm in {"nothing", "again"} & set(arms):
        seconds(alone, caches.of(arm, False))
        seconds([*probe, *ARMS[arm], "--", *alone], caches.of(arm, True))
    for _ in range(given.pairs):
        for arm in random.sample(arms, len(arms)):
            plain = seconds(alone, caches.of(arm, False))
            pairs[arm].append((plain, seconds([*probe, *ARMS[arm], "--", *alone], caches.of(arm, True))))
            if arm != "first":
                base.append(plain)
    print(f"{name}: {statistics.median(b[0] for b in base):.3f} s alone, {statistics.median(b[1] for b in base):.3f} of CPU time")
    for arm, seen in pairs.items():
        for what, n in (("", 0), ("CPU time ", 1)):
            ratios = [probed[n] / plain[n] for plain, probed in seen]
            low, high = overhead.interval(ratios)
            print(f"  {arm:<8} {what}{statistics.median(ratios):.3f} [{low:.3f}, {high:.3f}]", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--workloads", default="module,torch")
    parser.add_argument("--arms", default=",".join(ARMS))
    parser.add_argument("--tool", default="blocktime")
    parser.add_argument("--xpuprof", default=os.path.join(BUILD, "xpuprof"))
    given = parser.parse_args()
    own = statistics.median(seconds([given.xpuprof, "probe", given.tool, "--", "true"], "")[0] for _ in range(5))
    print(f"xpuprof: {own:.3f} s")
    for name in given.workloads.split(","):
        if name == "torch" and not importlib.util.find_spec("torch"):
            print("torch: skipped (it is not installed)")
            continue
        with tempfile.TemporaryDirectory() as folder:
            measure(given, name, Caches(folder))


main()
